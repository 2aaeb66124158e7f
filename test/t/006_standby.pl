# A hot standby: every function works by its query.  After a promotion the boards
# are built.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', undef, allows_streaming => 1);
$primary->start;
fill($primary, 'postgres', 500);
$primary->safe_psql('postgres', q{
	CREATE TABLE accounts (account uuid, tank text, score numeric(10,2), PRIMARY KEY (tank, account));
	INSERT INTO accounts SELECT md5((g / 3)::text)::uuid, repeat('t', 20 + g % 3) || g, g % 17 * 0.01 FROM generate_series(1, 200) g;
	SELECT lb_create_board('accounts', 'accounts', 'account, tank')});
ready($primary, 'postgres', 'primary');
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', 'UPDATE player_scores SET score = 1000000 WHERE player_id = 77');
$primary->wait_for_catchup($standby);

my @calls = (
	'lb_rank(77)', 'lb_rank(99)', q{lb_rank(12, 'weekly:5')},
	q{lb_rank(99, 'global', 'dense_rank')}, 'lb_rank(-1)', 'lb_score(99)',
	'lb_percentile(99)', '* FROM lb_player(99)', '* FROM lb_top(7)',
	q{* FROM lb_top(3, 'weekly:1', 20)}, '* FROM lb_at(33)',
	'* FROM lb_around(99)', 'lb_count()', q{lb_count('weekly:1')},
	q{lb_top_json(7, 'global', 3) -> 'entries'}, 'lb_count_between(10, NULL)', '* FROM lb_page(7)', q{lb_count_before(50, '{2026-04-09}', 7)}, 'lb_rank_of_score(50)',
	'lb_score_at_percentile(33.3)', q{* FROM lb_ranks('{5,-1,77}')},
	q{* FROM lb_among('{5,6,7,77,-1}')}, '* FROM lb_histogram(4)',
	map { s/\bM\b/(SELECT row(account, tank)::text FROM accounts ORDER BY score, account, tank COLLATE "C" LIMIT 1)/r }
	q{lb_rank_key(M, 'accounts')}, q{* FROM lb_around_key(M, 'accounts')}, q{* FROM lb_top_key(7, 'accounts', 3)},
	q{* FROM lb_ranks_key(ARRAY[M], 'accounts')}, q{* FROM lb_histogram_key(4, 'accounts')},
	q{lb_count_between_key('0.02', '0.1', 'accounts')});
for my $call (@calls)
{
	my $expected = $primary->safe_psql('postgres', "SELECT $call");

	is($standby->safe_psql('postgres', "SELECT $call"), $expected, "standby: $call");
	fails_with($standby, 'postgres', "SET leaderboard.offline = 'error'; SELECT $call;", '55000',
		qr/board ".*" is offline.*DETAIL:  Reason: the server is a standby\.\nHINT:  Ask the primary server/s, "standby, offline = error: $call");
}
right($standby, 'postgres', 'standby');
is( $standby->safe_psql('postgres', q{
		SELECT coalesce(sum(index_reads), 0), sum(query_recovery) > 500, sum(query_reads) = sum(query_recovery)
		FROM lb_stat_board}),
	'0|t|t', 'reads are counted as queries');
is($standby->safe_psql('postgres', q{SELECT lb_wait_ready('1 ms')}), 'f', 'lb_wait_ready() does not wait');
for my $call (q{lb_create_board('x', 'player_scores')}, q{lb_drop_board('global')},
	'lb_rebuild()', 'lb_verify()')
{
	fails_with($standby, 'postgres', "SELECT $call;", '25006',
		qr/during recovery/, "standby: $call");
}

# The primary goes on; a session stays on the standby while it is promoted.
$primary->safe_psql('postgres', q{
	UPDATE player_scores SET score = score + player_id % 13;
	DELETE FROM player_score_windows WHERE player_id % 5 = 0;
	CREATE TABLE late (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO late VALUES (1, 1), (2, 2);
	SELECT lb_create_board('late', 'late')});
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT lb_rank(1, 'late')}), '2', 'a board that was made later');
my $session = $standby->background_psql('postgres', on_error_stop => 0, timeout => 60);
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $session->query('SELECT lb_rank(99), lb_count()');
$primary->stop;
$standby->promote;
ready($standby, 'postgres', 'promoted');
is($standby->safe_psql('postgres', q{SELECT bool_and(state = 'ready') FROM lb_stat_board WHERE board IN ('global', '*', 'late', 'accounts')}),
	't', 'boards are built');
is( $standby->safe_psql('postgres', q{
		SELECT count(*) FROM (SELECT row(account, tank)::text AS member,
			row_number() OVER (ORDER BY score DESC, account, tank COLLATE "C") AS r FROM accounts) AS s
		WHERE r IS DISTINCT FROM lb_rank_key(member, 'accounts')}),
	'0', 'ranks of accounts are right');
$standby->safe_psql('postgres', q{UPDATE player_scores SET score = 2000000 WHERE player_id = 99;
	DELETE FROM player_scores WHERE player_id = 98});
is($session->query('SELECT lb_rank(99), lb_count()'), $before, 'a snapshot of the recovery');
$session->query('COMMIT');
is($session->query('SELECT lb_rank(99), lb_count()'), '1|499', 'and one after it');
$session->quit;
ready($standby, 'postgres', 'promoted, after changes');

$standby->stop;
done_testing();
