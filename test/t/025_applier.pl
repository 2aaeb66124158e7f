# The applier: it brings in what has settled; and without it, or if it does not
# get on, everything is as before.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

# With the least history, what is in the index cannot be undone for long.
my $node = lb_node('applier', 'leaderboard.history_size = 64');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint NOT NULL);
	INSERT INTO p SELECT i, i % 1000 FROM generate_series(1, 5000) i;
	SELECT lb_create_board('p', 'p');
	CREATE TABLE f (player_id bigint, board bigint, score bigint NOT NULL, PRIMARY KEY (board, player_id));
	INSERT INTO f SELECT i, b, i % 1000 FROM generate_series(1, 2000) i, generate_series(1, 20) b;
	SELECT lb_create_board('f', 'f', board_column => 'board');
	CREATE PROCEDURE commits(n int) LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 1 .. n LOOP
				UPDATE p SET score = (score * 31 + i) % 5000 WHERE player_id = 1 + (i * 7919) % 5000;
				COMMIT;
			END LOOP;
		END
		$$;
	CREATE PROCEDURE commits_f(n int) LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 1 .. n LOOP
				UPDATE f SET score = (score * 31 + i) % 5000 WHERE board = i % 20 + 1 AND player_id = 1 + (i * 7919) % 2000;
				COMMIT;
			END LOOP;
		END
		$$;
	SELECT lb_wait_ready()});

sub applier
{
	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'leaderboard applier'");
}

# Every board is ready, and equal to its table.
sub ready_all
{
	my ($node, $what) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', 'SELECT lb_wait_ready(); SELECT * FROM lb_verify()'), 't', "$what: equal");
	return;
}

sub all_right
{
	my ($what) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $node->safe_psql('postgres', q{
			SELECT count(*), count(*) FILTER (WHERE lb_rank(player_id, 'p') IS DISTINCT FROM r) FROM
				(SELECT player_id, row_number() OVER (ORDER BY score DESC, player_id) AS r FROM p) s}),
		'5000|0', "$what: ranks");
	is( $node->safe_psql('postgres', q{
			SELECT count(*), count(*) FILTER (WHERE lb_rank(player_id, 'f:' || board) IS DISTINCT FROM r) FROM
				(SELECT player_id, board, row_number() OVER (PARTITION BY board ORDER BY score DESC, player_id) AS r FROM f) s}),
		'40000|0', "$what: ranks in a family");
	is($node->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', "$what: index and table are equal");
	return;
}

# Whether a snapshot from before so many commits is answered by the query.  It is by
# the index while there is nothing to undo, since what was committed is not in it,
# and by the query when what is in it has left the history.
my $session = $node->background_psql('postgres', on_error_stop => 1, timeout => 180);

sub undone
{
	my ($commits) = @_;
	my $count = "SELECT query_snapshot FROM lb_stat_board WHERE board = 'p';";
	my $before = $session->query_safe($count);

	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM p');
	$node->safe_psql('postgres', "CALL commits($commits)");
	my $sum = $session->query_safe(q{SELECT sum(lb_rank(player_id, 'p')) FROM p});
	is($sum =~ s/\s//gr, 5000 * 5001 / 2, "ranks as of $commits commits before");
	$session->query_safe('COMMIT');
	return $session->query_safe($count) > $before;
}

my $pid = applier();
like($pid, qr/^\d+$/, 'it is there');

# Stopped, it leaves everything to who reads.
kill 'STOP', $pid;
ok(!undone(1000), 'stopped, it has brought in nothing');
all_right('stopped');

# ... or others do, when it is too much.
ok(undone(6000), 'others have brought it in');
$node->safe_psql('postgres', 'CALL commits(300); CALL commits_f(3000)');
kill 'CONT', $pid;
all_right('it goes on');

# Running, it brings in what nobody has read.
my $brought_in = 0;
for my $round (1 .. 200)
{
	$brought_in = undone(1000) and last;
}
ok($brought_in, 'running, it has brought in changes');
$node->safe_psql('postgres', 'CALL commits_f(3000)');
all_right('running');

# Terminated, beside writers, it comes back.
my $script = $node->basedir . '/applier.sql';
append_to_file($script, "CALL commits(500);\nCALL commits_f(500);\n");
my $out = '';
my $writers = IPC::Run::start(
	[ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-t', 10, '-c', 2, '-f', $script, 'postgres' ],
	'<', \undef, '&>', \$out);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
$writers->finish;
unlike($out, qr/ERROR|FATAL|aborted in command/, 'no write has failed') or diag($out);
all_right('terminated');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'leaderboard applier' AND pid <> $pid"),
	'it comes back');
$node->safe_psql('postgres', 'CALL commits(500); CALL commits_f(500)');
all_right('back');

# Turned off: who commits brings in a backlog that is too long.  From when it has
# heard of that.
$node->append_conf('postgresql.conf', 'leaderboard.applier = off');
$node->reload;
$brought_in = 0;
for my $round (1 .. 200)
{
	kill 'STOP', applier();
	$brought_in = undone(1000);
	kill 'CONT', applier();
	last if $brought_in;
}
ok($brought_in, 'turned off, others bring in');
all_right('turned off');
$node->append_conf('postgresql.conf', 'leaderboard.applier = on');
$node->reload;
$node->safe_psql('postgres', 'CALL commits(1000); CALL commits_f(500)');
all_right('turned on');

# A board that goes while it is asked for; and the next one in its place
for my $round (1 .. 5)
{
	kill 'STOP', applier();
	$node->safe_psql('postgres', q{CALL commits(200); SELECT lb_drop_board('p')});
	$node->safe_psql('postgres', q{SELECT lb_create_board('p', 'p')}) if $round % 2 == 0;
	kill 'CONT', applier();
	$node->safe_psql('postgres', q{SELECT lb_create_board('p', 'p')}) if $round % 2 == 1;
	$node->safe_psql('postgres', q{SELECT lb_wait_ready(); CALL commits(300)});
	all_right("board $round");
}

# The same of a family's board
kill 'STOP', applier();
$node->safe_psql('postgres', q{CALL commits_f(3000); DELETE FROM f WHERE board = 5; DELETE FROM f WHERE board = 6});
$node->safe_psql('postgres', q{INSERT INTO f SELECT i, 6, i FROM generate_series(1, 2000) i; INSERT INTO f SELECT i, 5, i FROM generate_series(1, 2000) i});
kill 'CONT', applier();
all_right('boards that have gone and come');

$session->quit;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal 11/, 'nothing has crashed');

# A family goes while its boards are asked for, and its memory becomes a plain
# definition's, which has one stripe.  That is an assertion's to notice.
$node = lb_node('reused');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint NOT NULL);
	INSERT INTO p SELECT i, i % 1000 FROM generate_series(1, 2000) i;
	CREATE TABLE f (player_id bigint, board bigint, score bigint NOT NULL, PRIMARY KEY (board, player_id));
	INSERT INTO f SELECT i, b, i % 1000 FROM generate_series(1, 1100) i, generate_series(1, 20) b;
	SELECT lb_create_board('f', 'f', board_column => 'board');
	SELECT lb_wait_ready()});
$pid = applier();
kill 'STOP', $pid;
$node->safe_psql('postgres', $_)
	for ('UPDATE f SET score = score + 1 WHERE player_id <= 100', q{SELECT lb_drop_board('f')}, q{SELECT lb_create_board('p', 'p')});
ready_all($node, 'in the memory of a family');
kill 'CONT', $pid;

# The next one begins with what this one has left.
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'leaderboard applier' AND pid <> $pid AND wait_event = 'Extension'"),
	'it comes back');
ready_all($node, 'in the memory of a family, looked at');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing has crashed');
done_testing();
