# A hot standby answers by an index of its own, in the snapshots that it takes, and
# keeps the index when it is promoted.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
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

my $standby = standby_of($primary, 'standby');
$standby->start;
$primary->safe_psql('postgres', 'UPDATE player_scores SET score = 1000000 WHERE player_id = 77');
caught_up($primary, $standby);

# Boards are built there by themselves.
wait_ready($standby, 'postgres');
$standby->safe_psql('postgres', 'SELECT lb_stat_reset()');

my @calls = (
	'lb_rank(77)', 'lb_rank(99)', q{lb_rank(12, 'weekly:5')},
	q{lb_rank(99, 'global', 'dense_rank')}, 'lb_rank(-1)', 'lb_score(99)',
	'lb_percentile(99)', '* FROM lb_player(99)', '* FROM lb_top(7)',
	q{* FROM lb_top(3, 'weekly:1', 20)}, '* FROM lb_at(33)',
	'* FROM lb_around(99)', 'lb_count()', q{lb_count('weekly:1')},
	q{lb_top_json(7, 'global', 3) -> 'entries'}, q{lb_rank_json(99)}, q{lb_tier(99, tiers => '{1,10,50}')},
	'lb_count_between(10, NULL)', '* FROM lb_page(7)', q{lb_count_before(50, '{2026-04-09}', 7)}, 'lb_rank_of_score(50)',
	'lb_score_at_percentile(33.3)', q{* FROM lb_ranks('{5,-1,77}')},
	q{* FROM lb_among('{5,6,7,77,-1}')}, '* FROM lb_histogram(4)',
	map { s/\bM\b/(SELECT row(account, tank)::text FROM accounts ORDER BY score, account, tank COLLATE "C" LIMIT 1)/gr }
	q{lb_rank_key(M, 'accounts')}, q{lb_score_key(M, 'accounts')}, q{lb_percentile_key(M, 'accounts')},
	q{* FROM lb_player_key(M, 'accounts')}, q{* FROM lb_around_key(M, 'accounts')}, q{* FROM lb_top_key(7, 'accounts', 3)},
	q{* FROM lb_page_key(7, 'accounts')}, q{* FROM lb_at_key(7, 'accounts')}, q{lb_rank_of_score_key('0.03', 'accounts')},
	q{lb_count_before_key('0.03', '{}', M, 'accounts')}, q{lb_score_at_percentile_key(40, 'accounts')},
	q{lb_rank_json_key(M, 'accounts')}, q{lb_tier_key(M, 'accounts', '{1,10,50}')},
	q{* FROM lb_ranks_key(ARRAY[M], 'accounts')}, q{* FROM lb_among_key(ARRAY[M], 'accounts')},
	q{* FROM lb_histogram_key(4, 'accounts')}, q{lb_count_between_key('0.02', '0.1', 'accounts')});
for my $call (@calls)
{
	my $expected = $primary->safe_psql('postgres', "SELECT $call");
	my ($index, $queries) = reads($standby, 'postgres');

	is($standby->safe_psql('postgres', "SET leaderboard.offline = 'error'; SELECT $call"), $expected, "standby: $call");

	my ($index_after, $queries_after) = reads($standby, 'postgres');
	cmp_ok($index_after, '>', $index, "standby: $call: by the index");
	is($queries_after, $queries, "standby: $call: not by a query");
}
right($standby, 'postgres', 'standby');
is((reads($standby, 'postgres'))[1], '0', 'no read has run its query');
is($standby->safe_psql('postgres', q{SELECT lb_wait_ready('1 ms')}), 't', 'lb_wait_ready()');
is($standby->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', 'lb_verify()');
my $planned = $standby->safe_psql('postgres', q{SET leaderboard.enable_planner = on;
	EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM player_scores ORDER BY score DESC, updated_at, player_id LIMIT 5});
like($planned, qr/global/, 'plain SQL uses the board') or diag($planned);
for my $call (q{lb_create_board('x', 'player_scores')}, q{lb_drop_board('global')}, 'lb_rebuild()')
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
caught_up($primary, $standby);
is($standby->safe_psql('postgres', q{SELECT lb_rank(1, 'late')}), '2', 'a board that was made later');
ready($standby, 'postgres', 'standby, after changes');
is($standby->safe_psql('postgres', q{SELECT lb_stat_reset(); SELECT lb_rank(1, 'late'); SELECT index_reads, query_reads FROM lb_stat_board WHERE board = 'late'}),
	"\n2\n1|0", 'a board that was made later, by its index');

my $session = open_session($standby, 'postgres');
my $look = q{SELECT lb_rank(99), lb_rank(98), lb_count(), (SELECT array_agg(t) FROM lb_top(5) t), lb_rank(12, 'weekly:5'),
	lb_rank(1, 'late'), (SELECT count(*) FROM player_scores)};
my $builds = q{SELECT board, build_seconds, build_total FROM lb_stat_board ORDER BY board};
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $session->query($look);
my $built = $standby->safe_psql('postgres', $builds);
$primary->stop;
$standby->promote;
is($standby->safe_psql('postgres', q{SELECT lb_stat_reset(); SELECT lb_rank(99) IS NOT NULL; SELECT index_reads, query_reads FROM lb_stat_board WHERE board = 'global'}),
	"\nt\n1|0", 'promoted: the first read is by the index');
ok($standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'promoted');
$standby->safe_psql('postgres', q{UPDATE player_scores SET score = 2000000 WHERE player_id = 99;
	DELETE FROM player_scores WHERE player_id = 98;
	UPDATE player_score_windows SET score = 99 WHERE player_id = 12;
	INSERT INTO late VALUES (3, 3)});
is($session->query($look), $before, 'a snapshot of the recovery');
$session->query('COMMIT');
is($session->query('SELECT lb_rank(99), lb_count()'), '1|499', 'and one after it');
$session->quit;
is($standby->safe_psql('postgres', 'SELECT sum(query_reads) FROM lb_stat_board'), '0', 'promoted: no read has run its query');

# The launcher looks at all boards after a promotion, and before it starts this build.
$standby->safe_psql('postgres', 'SELECT lb_rebuild(\'late\')');
is($standby->safe_psql('postgres', "$builds" =~ s/ORDER/WHERE board <> 'late' ORDER/r), $built =~ s/^late.*\n?//mr, 'promoted: boards are not built again');
ready($standby, 'postgres', 'promoted, after changes');
is( $standby->safe_psql('postgres', q{
		SELECT count(*) FROM (SELECT row(account, tank)::text AS member,
			row_number() OVER (ORDER BY score DESC, account, tank COLLATE "C") AS r FROM accounts) AS s
		WHERE r IS DISTINCT FROM lb_rank_key(member, 'accounts')}),
	'0', 'ranks of accounts are right');

$standby->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $_->name)
  for $primary, $standby;
done_testing();
