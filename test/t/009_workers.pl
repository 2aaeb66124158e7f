# All slots of background workers are in use: reads run their queries, and nothing hangs.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('workers');
$node->start;
fill($node, 'postgres', 300);
ready($node, 'postgres', 'made');

# One worker is the launcher of logical replication, two are our launcher too,
# three our applier.
for my $n (1, 2, 3)
{
	$node->append_conf('postgresql.conf', "max_worker_processes = $n");
	$node->restart;
	ok($node->poll_query_until('postgres', qq{SELECT count(*) = $n - 1 FROM pg_stat_activity WHERE backend_type IN ('leaderboard launcher', 'leaderboard applier')}),
		"$n: launcher and applier");

	# A read that waited would fail in the end.
	is($node->safe_psql('postgres', 'SELECT lb_rank(5), lb_count()'),
		$node->safe_psql('postgres', 'SELECT r, n FROM (SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r, count(*) OVER () AS n FROM player_scores) s WHERE player_id = 5'),
		"$n: a read that does not wait");
	isnt(state($node, 'postgres', 'global'), 'ready', "$n: the board is not built");
	cmp_ok($node->safe_psql('postgres', q{SELECT query_building + query_offline FROM lb_stat_board WHERE board = 'global'}),
		'>', 0, "$n: counted");
	is($node->safe_psql('postgres', q{SET leaderboard.not_ready = 'query'; SELECT lb_rank(5) > 0}), 't', "$n: not_ready = query");
	$node->safe_psql('postgres', q{
		UPDATE player_scores SET score = 5000 WHERE player_id = 7;
		DELETE FROM player_scores WHERE player_id = 8;
		INSERT INTO player_scores VALUES (8, 4000)});
	is($node->safe_psql('postgres', 'SELECT lb_rank(7), lb_rank(8)'), '1|2', "$n: writes go on");
	fails_with($node, 'postgres', 'SELECT lb_rebuild();', '55000',
		qr/could not build board.*DETAIL:  Reason: .*(launcher|worker).*HINT:/s, "$n: lb_rebuild()");
	is($node->safe_psql('postgres', q{SELECT lb_wait_ready('300 ms')}), 'f', "$n: lb_wait_ready()");
	is($node->safe_psql('postgres', q{SELECT problem LIKE 'the board is not ready%' FROM lb_verify('global')}), 't', "$n: lb_verify()");
	$node->safe_psql('postgres', q{
		CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint);
		INSERT INTO p VALUES (1, 1), (2, 2);
		SELECT lb_create_board('p', 'p')});
	is($node->safe_psql('postgres', q{SELECT lb_rank(1, 'p')}), '2', "$n: a new board");
	$node->safe_psql('postgres', q{DROP TABLE p});
}

$node->append_conf('postgresql.conf', 'max_worker_processes = 4');
$node->restart;
ready($node, 'postgres', 'one worker is enough');
$node->safe_psql('postgres', 'SELECT lb_rebuild()');
ready($node, 'postgres', 'and rebuilds');

# Others hold it for a while: the build comes when it is free.
$node->append_conf('postgresql.conf', "max_worker_processes = 3");
$node->restart;
is($node->safe_psql('postgres', 'SELECT lb_rank(7)'), '1', 'none again');
$node->append_conf('postgresql.conf', "max_worker_processes = 12\nleaderboard.build_workers = 1");
$node->restart;
ready($node, 'postgres', 'all are free');

$node->stop;
done_testing();
