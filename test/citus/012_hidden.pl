# Who is hidden, on distributed tables: recorded on the coordinator, and beside the
# scores, where submits of all servers obey it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use LbCitus;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = citus_nodes();
my ($node, @workers) = @nodes;

# Whether a player's rows of a leaderboard are ranked, after a submit on each server
sub ranked
{
	my ($player, $leaderboard, $more) = @_;

	for my $server (@nodes)
	{
		$server->safe_psql('postgres', "SELECT count(*) FROM lb_submit($player, 1, leaderboard => '$leaderboard'" . ($more // '') . ')');
		$server->safe_psql('postgres', "SELECT lb_submit_many('{$player}', '{1}', leaderboard => '$leaderboard')");
	}
	my $scores = $leaderboard eq 'global' ? 'player_score' : "${leaderboard}_score";

	return $node->safe_psql('postgres', "SELECT (SELECT string_agg(ranked::text, '') FROM ${scores}s WHERE player_id = $player), (SELECT string_agg(DISTINCT ranked::text, '') FROM ${scores}_windows WHERE player_id = $player)");
}

$node->safe_psql('postgres', 'SELECT lb_create_tables(distributed => true, shard_count => 4)');
$node->safe_psql('postgres', q{SELECT lb_create_leaderboard('kills', windows => '{daily}', distributed => true, shard_count => 4)});
$node->safe_psql('postgres', 'SELECT lb_maintain()');
ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), 'ready');

# Without any row, and on leaderboards that are made later
is($node->safe_psql('postgres', q{SELECT lb_hide(7, reason => 'speed hack'), lb_hide(8), lb_hide(9, '{kills}')}), '0|0|0', 'hidden without rows');
is($node->safe_psql('postgres', 'SELECT player_id, board, reason FROM lb_hidden_player ORDER BY 1'), "7||speed hack\n8||\n9|kills|", 'the record');
$node->safe_psql('postgres', q{SELECT lb_create_leaderboard('wins', windows => '{daily}', distributed => true, shard_count => 4)});
$node->safe_psql('postgres', 'SELECT lb_maintain()');
ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), 'ready');
is(ranked(7, $_), 'false|false', "hidden on $_") for qw(global kills wins);
is(ranked(8, 'global', ", boards => '{daily}'"), 'false|false', 'windows only');
is(ranked(9, 'kills'), 'false|false', 'hidden on one leaderboard');
is(ranked(9, 'wins'), 'true|true', 'and on no other');
$node->safe_psql('postgres', $_) for 'DELETE FROM player_scores WHERE player_id = 7', 'DELETE FROM player_score_windows WHERE player_id = 7';
is(ranked(7, 'global'), 'false|false', 'also when the rows have gone');
$node->safe_psql('postgres', q{SELECT lb_close_season('kills', 'S1', reset_to => NULL)});
is(ranked(7, 'kills'), 'false|false', 'and after a season');

# An exception, and the end
is($node->safe_psql('postgres', q{SELECT lb_show(7, '{wins}')}), '1', 'shown on one board');
$node->safe_psql('postgres', $_) for 'DELETE FROM wins_scores', 'DELETE FROM wins_score_windows';
is(ranked(7, 'wins'), 'true|false', 'an exception');
ok($node->safe_psql('postgres', 'SELECT lb_show(7) > 0'), 'shown');
is($node->safe_psql('postgres', 'SELECT player_id FROM lb_hidden_player ORDER BY 1'), "8\n9", 'no record');
is($node->safe_psql('postgres', 'SELECT count(*) FROM player_scores_hidden WHERE player_id = 7'), '0', 'nor beside the scores');
$node->safe_psql('postgres', $_) for 'DELETE FROM player_scores WHERE player_id = 7', 'DELETE FROM player_score_windows WHERE player_id = 7';
is(ranked(7, 'global'), 'true|true', 'ranked again');
is($node->safe_psql('postgres', q{SELECT relation, removed FROM lb_forget_player(8) WHERE relation::text ~ 'hidden' AND removed > 0 ORDER BY relation::text}),
	"kills_scores_hidden|1\nlb_hidden|1\nplayer_scores_hidden|1\nwins_scores_hidden|1", 'forgotten');
is(ranked(8, 'kills'), 'true|true', 'and begins anew');

# The record is the coordinator's.
fails_with($_, 'postgres', 'SELECT lb_hide(7)', '55000', qr/coordinator/, 'on ' . $_->name) for @workers;
fails_with($_, 'postgres', q{SELECT lb_show(7, '{kills}')}, '55000', qr/coordinator/, 'on ' . $_->name) for @workers;
$node->safe_psql('postgres', 'CREATE ROLE guest LOGIN; GRANT SELECT ON player_scores, player_score_windows, kills_scores, kills_score_windows, wins_scores, wins_score_windows TO guest');
fails_with($node, 'postgres', 'SET ROLE guest; SELECT lb_hide(7)', '42501', qr/permission denied/, 'a role without privileges');
is($node->safe_psql('postgres', 'SET ROLE guest; SELECT count(*) FROM lb_hidden_player'), '0', 'which sees no player');
is($node->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', 'lb_verify()');
citus_stop(@nodes);
done_testing();
