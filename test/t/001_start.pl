# Boards are built at server start, in every database; what reads do meanwhile.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('start');
$node->start;

retry_accessed($node, "CREATE DATABASE $_") for 'a', 'b', 'none';
fill($node, 'a', 20000);
fill($node, 'b', 3000);
ready($node, 'a', 'made');
ready($node, 'b', 'made');

for my $mode ('fast', 'immediate')
{
	$node->stop($mode);
	$node->start;

	# No session reads before the boards are ready.
	for my $db ('a', 'b')
	{
		ok( $node->poll_query_until(
				$db, q{SELECT count(*) = 2 FROM lb_stat_board
				WHERE board IN ('global', '*') AND state = 'ready'}),
			"$mode: boards of $db are built at server start");
		is($node->safe_psql($db, 'SELECT lb_wait_ready()'), 't',
			"$mode: lb_wait_ready() in $db");
	}
	is( $node->safe_psql(
			'a', q{SELECT members, build_done, build_total, build_seconds > 0,
				reason IS NULL, query_reads
			FROM lb_stat_board WHERE board = 'global'}),
		'20000|20000|20000|t|t|0',
		"$mode: progress");
	ready($node, 'a', $mode);
	ready($node, 'b', $mode);
}

# While the launcher is stopped nothing is built.
$node->safe_psql('a', q{CREATE TABLE p AS SELECT g AS player_id, g % 10 AS score FROM generate_series(1, 100) g;
ALTER TABLE p ADD PRIMARY KEY (player_id)});
ok( $node->poll_query_until('postgres', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'leaderboard worker')}),
	'no worker is left that would build');
ok( $node->poll_query_until(
		'postgres', q{SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE backend_type = 'leaderboard launcher'}),
	'the launcher sleeps');
my $launcher = launcher_pid($node);
kill 'STOP', $launcher;
$node->safe_psql('a', q{SELECT lb_create_board('p', 'p')});
is(state($node, 'a', 'p'), 'building', 'it is building');
is( $node->safe_psql('a', q{SET leaderboard.not_ready = 'query'; SELECT lb_rank(19, 'p')}),
	'2', 'not_ready = query');
is( $node->safe_psql('a', q{SELECT query_building, query_reads, index_reads FROM lb_stat_board WHERE board = 'p'}),
	'1|1|0', 'it is counted');
fails_with($node, 'a', q{SET leaderboard.not_ready = 'error'; SELECT lb_rank(19, 'p');},
	'55000', qr/board "p" is being built.*HINT:.*lb_wait_ready/s, 'not_ready = error');
fails_with($node, 'a', q{SET leaderboard.wait_timeout = '50ms'; SELECT lb_rank(19, 'p');},
	'55000', qr/board "p" was not built within 50 ms/, 'not_ready = wait, too long');
is($node->safe_psql('a', q{SELECT lb_wait_ready('50 ms')}), 'f', 'lb_wait_ready() has a limit');
is($node->safe_psql('a', q{SELECT lb_rank(1)::text IS NOT NULL}), 't', 'other boards are served');
$node->safe_psql('a', q{UPDATE p SET score = 100 WHERE player_id = 50});

my $reader = open_session($node, 'a', on_error_stop => 1);
$reader->query_until(qr/asked/, "\\echo asked\nSELECT lb_rank(50, 'p'), 'waited' AS w;\n");
ok( $node->poll_query_until(
		'a', q{SELECT count(*) = 1 FROM pg_stat_activity
			WHERE query LIKE '%waited%' AND wait_event_type = 'Extension' AND pid <> pg_backend_pid()}),
	'a reader waits');
kill 'CONT', $launcher;
is($reader->query(q{SELECT 'and then'}) =~ s/\s+/ /gr, '1|waited and then', 'and goes on');
$reader->quit;
is($node->safe_psql('a', 'SELECT lb_wait_ready()'), 't', 'lb_wait_ready()');
is(state($node, 'a', 'p'), 'ready', 'it is ready');
ready($node, 'a', 'at the end');

# A launcher that is terminated comes back.  When it sleeps, sessions can find it.
$node->safe_psql('postgres', "SELECT pg_terminate_backend($launcher)");
ok( $node->poll_query_until(
		'postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
			WHERE backend_type = 'leaderboard launcher' AND wait_event_type = 'Extension' AND pid <> } . $launcher),
	'the launcher comes back');
$node->safe_psql('a', 'SELECT lb_rebuild()');
ready($node, 'a', 'with another launcher');

$node->stop;
done_testing();
