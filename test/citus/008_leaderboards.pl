# Leaderboards beside "global" whose tables Citus distributes: submits to them and to
# several at once are those of one server, and they go with all that is theirs.

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

# What a statement returns on the coordinator and on a plain server
sub same
{
	my ($sql, $what, $on) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $expected = $node->safe_psql('plain', $sql);

	return is(($on // $node)->safe_psql('postgres', $sql), $expected, $what);
}

sub mended
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('postgres', 'SELECT lb_maintain()');
	ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), "$what: ready");
	return is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify_key()");
}

my %arguments = (kills => q{'kills', windows => '{daily,weekly,hourly}'}, lap => q{'lap', 'best', 'asc', '{daily}'}, sets => q{'sets', 'set', windows => '{}'});

$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->safe_psql('plain', 'CREATE EXTENSION leaderboard; SELECT lb_create_tables()');
$node->safe_psql('postgres', 'SELECT lb_create_tables(distributed => true, shard_count => 4)');
for my $name (sort keys %arguments)
{
	$node->safe_psql('plain', "SELECT lb_create_leaderboard($arguments{$name})");
	$node->safe_psql('postgres', "SELECT lb_create_leaderboard($arguments{$name}, distributed => true, shard_count => 4)");
}
fails_with($node, 'plain', q{SELECT lb_create_leaderboard('other', distributed => true)}, '0A000', qr/Citus is not installed/, 'without Citus');
fails_with($node, 'postgres', q{SELECT lb_create_leaderboard('other', distributed => NULL)}, '22004', qr/distributed/, 'neither');
fails_with($node, 'postgres', q{SELECT lb_create_leaderboard('other', distributed => true, shard_count => 0)}, '22023', qr/shard_count/, 'no shards');
mended('new leaderboards');
same('SELECT name, op FROM lb_leaderboard ORDER BY 1', 'leaderboards on ' . $_->name, $_) for @nodes;
same('SELECT name, period, op, keep FROM lb_window ORDER BY 1', 'their windows on ' . $_->name, $_) for @nodes;
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_stat_shards('kills/') WHERE state = 'ready'}), '4', 'boards of the shards of windows');

# The same submits on both; each part of them on another server
srand(42);
my $now = $node->safe_psql('postgres', 'SELECT now()');
my @names = ('global', sort keys %arguments);
for my $part (0 .. 5)
{
	my @calls;

	for my $n (1 .. 30)
	{
		my $player = int(rand(10)) + 1;
		my $name = $names[ int(rand(4)) ];
		my $match = rand() < 0.3 ? "'m" . int(rand(9)) . "'" : 'NULL';
		my $at = sprintf(q{timestamptz '%s' - interval '%d s'}, $now, 600 - $part * 40 - $n);
		my $columns = 'board, score, CASE WHEN applied THEN rank END, CASE WHEN applied THEN previous_rank END, applied';
		my @some = grep { rand() < 0.7 } @names;

		if (rand() < 0.3) { push @calls, sprintf("SELECT $columns FROM lb_submit_match($player, '{%s}', %s, $at)", join(',', map { qq("$_": ) . int(rand(50)) } @some), rand() < 0.3 ? "'all $n $part'" : 'NULL') }
		elsif (rand() < 0.2) { push @calls, "SELECT lb_submit_many('{$player, 7, 8}', '{1, 2, 3}', at => $at, leaderboard => '$name')" }
		elsif ($part % 3 == 0 && rand() < 0.3) { push @calls, rand() < 0.5 ? "SELECT lb_hide($player)" : "SELECT lb_show($player)" }
		else { push @calls, "SELECT $columns FROM lb_submit($player, " . int(rand(100)) . ", match_id => $match, at => $at, leaderboard => '$name')" }
		push @calls, ("SELECT lb_rank($player, 'lap'), lb_score($player, 'kills/daily'), lb_count('lap/daily'), lb_percentile($player, 'sets')",
			q{SELECT * FROM lb_top(5, 'kills/hourly')}, q{SELECT * FROM lb_top(5, 'lap')}, "SELECT * FROM lb_around($player, 'kills')")[ int(rand(4)) ];
	}
	my $calls = join(";\n", @calls);

	is($nodes[ $part % 3 ]->safe_psql('postgres', $calls), $node->safe_psql('plain', $calls), "the same answers on server " . ($part % 3));
}
for my $table (map { ("${_}_scores", "${_}_score_windows") } sort keys %arguments)
{
	same("SELECT t.* FROM $table t ORDER BY t::text", "rows of $table");
}
is($node->safe_psql('postgres', join(' UNION ALL ', map { "SELECT '$_', player_id, match_id FROM ${_}_scores_applied" } sort keys %arguments) . ' ORDER BY 1, 2, 3'),
	$node->safe_psql('plain', q{SELECT leaderboard, player_id::bigint, match_id FROM lb_applied WHERE leaderboard <> 'global' ORDER BY 1, 2, 3}), 'the same matches');
mended('submits');

# Citus makes the tables of a server anew, and a visit records all of them again.
$node->safe_psql('postgres', sprintf(q{SELECT citus_activate_node('127.0.0.1', %d)}, $_->port)) for @workers;
mended('activated again');
same('SELECT name, op FROM lb_leaderboard ORDER BY 1', 'leaderboards again on ' . $_->name, $_) for @nodes;
same('SELECT name, period, op, keep FROM lb_window ORDER BY 1', 'their windows again on ' . $_->name, $_) for @nodes;
is($_->safe_psql('postgres', q{SELECT count(*) FROM generate_series(21, 40) p, lb_submit(p, 1, leaderboard => 'kills')}), '80', 'submits by ' . $_->name) for @nodes;

# Some distributed and some not; a player of several is one match
$node->safe_psql('postgres', q{SELECT lb_create_leaderboard('local', windows => '{}')});
fails_with($node, 'postgres', q{SELECT lb_submit_match(1, '{"kills": 1, "local": 1}')}, '0A000', qr/Citus distributes/, 'one is distributed');
$node->safe_psql('postgres', q{SELECT lb_submit(1, 1, match_id => 'half', leaderboard => 'kills')});
fails_with($node, 'postgres', q{SELECT lb_submit_match(1, '{"kills": 1, "lap": 1}', 'half')}, '23505', qr/match "half" .* has been submitted to leaderboard "kills", but not to "lap"/, 'a match of one');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lap_scores_applied WHERE match_id = 'half'}), '0', 'and nothing is written');

# A leaderboard goes with all that other servers have of it.
is($node->safe_psql('postgres', q{SELECT lb_drop_leaderboard('kills'), lb_drop_leaderboard('local')}), '|', 'dropped');
is($_->safe_psql('postgres', q{SELECT name FROM lb_leaderboard ORDER BY 1}), "global\nlap\nsets", 'not on ' . $_->name) for @nodes;
is($_->safe_psql('postgres', q{SELECT count(*) FROM lb_window WHERE name ~ 'kills'}), '0', 'nor its windows') for @nodes;
is($_->safe_psql('postgres', q{SELECT count(*) FROM lb_board WHERE board ~ 'kills'}), '0', 'nor its boards') for @nodes;
is($node->safe_psql('postgres', q{SELECT count(*) FROM citus_tables WHERE table_name::text ~ 'kills'}), '0', 'nor tables');
$node->safe_psql('postgres', q{SELECT lb_create_leaderboard('kills', 'best', player_type => 'text', distributed => true, shard_count => 2)});
mended('created again');
is($_->safe_psql('postgres', q{SELECT board, score FROM lb_submit_key('O''Neil', 7, leaderboard => 'kills') WHERE board = 'kills'}), 'kills|7', 'texts, by ' . $_->name) for @nodes;
mended('texts');
citus_stop(@nodes);
done_testing();
