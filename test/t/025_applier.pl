# The applier: it applies what has settled; without it, or if it is stuck, every
# answer is the same.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

# A snapshot of another process would keep histories, whose memory is measured.
my $node = lb_node('applier', "autovacuum = off\nleaderboard.maintenance_interval = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint NOT NULL) WITH (autovacuum_enabled = off);
	INSERT INTO p SELECT i, i % 1000 FROM generate_series(1, 5000) i;
	SELECT lb_create_board('p', 'p');
	CREATE PROCEDURE commits(n int) LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 1 .. n LOOP
				UPDATE p SET score = (score * 31 + i) % 5000 WHERE player_id = 1 + (i * 7919) % 5000;
				COMMIT;
			END LOOP;
		END
		$$;
	SELECT lb_wait_ready();
	CREATE DATABASE families});
$node->safe_psql('families', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE f (player_id bigint, board bigint, score bigint NOT NULL, PRIMARY KEY (board, player_id));
	INSERT INTO f SELECT i, b, i % 1000 FROM generate_series(1, 2000) i, generate_series(1, 20) b;
	SELECT lb_create_board('f', 'f', board_column => 'board');
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

# Stop it while it is idle: at work, it could hold a lock.
sub stop_applier
{
	ok($node->poll_query_until('postgres', "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE backend_type = 'leaderboard applier'"),
		'it sleeps');
	my $pid = applier();
	kill 'STOP', $pid;
	return $pid;
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
	is( $node->safe_psql('families', q{
			SELECT count(*), count(*) FILTER (WHERE lb_rank(player_id, 'f:' || board) IS DISTINCT FROM r) FROM
				(SELECT player_id, board, row_number() OVER (PARTITION BY board ORDER BY score DESC, player_id) AS r FROM f) s}),
		'40000|0', "$what: ranks in a family");
	is($node->safe_psql($_, 'SELECT * FROM lb_verify()'), '', "$what: index and table of $_ are equal")
		for ('postgres', 'families');
	return;
}

# What is not in the index stays in the history, whose memory is counted.  Commits
# that many times, and returns how much larger the memory is than at first.  A
# snapshot from before them must still be answered as of then.
my $session = open_session($node, 'postgres', on_error_stop => 1);
my $used = 'SELECT used FROM lb_stat_memory WHERE datname = current_database()';

# An index whose blocks have been split does not grow much any more.
$node->safe_psql('postgres', 'CALL commits(10000); SELECT lb_count(\'p\'); CALL commits(100)');
my $at_first = $node->safe_psql('postgres', $used);

sub kept
{
	my ($commits) = @_;

	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM p');
	$node->safe_psql('postgres', 'CALL commits(200)');
	my $sum = $session->query_safe(q{SELECT sum(lb_rank(player_id, 'p')) FROM p; COMMIT});
	is($sum =~ s/\s//gr, 5000 * 5001 / 2, 'ranks as of 200 commits before');
	$node->safe_psql('postgres', "CALL commits($commits)");
	return $node->safe_psql('postgres', $used) - $at_first;
}

my $pid = applier();
like($pid, qr/^\d+$/, 'it is there');

# Stopped, it leaves everything to the reads.
stop_applier();
cmp_ok(kept(800), '>', 150_000, 'stopped, it has applied nothing');
all_right('stopped');

# ... but settles do not defer more than this.
cmp_ok(kept(6000), '<', 400_000, 'settles apply what is too much');
$node->safe_psql('postgres', 'CALL commits(300)');
$node->safe_psql('families', 'CALL commits_f(3000)');
kill 'CONT', $pid;
all_right('it goes on');

# Running, it applies what no session has read.
my $kept;
for my $round (1 .. 200)
{
	last if ($kept = kept(900)) < 100_000;
}
cmp_ok($kept, '<', 100_000, 'running, it has applied changes');
$node->safe_psql('families', 'CALL commits_f(3000)');
all_right('running');

# Terminated, beside writers, it comes back.
my $script = $node->basedir . '/applier.sql';
append_to_file($script, "CALL commits(500);\n");
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
$node->safe_psql('postgres', 'CALL commits(500)');
$node->safe_psql('families', 'CALL commits_f(500)');
all_right('back');

# Turned off: a commit applies a backlog that is too long, as soon as the applier
# has read the setting.
$node->append_conf('postgresql.conf', 'leaderboard.applier = off');
$node->reload;
for my $round (1 .. 200)
{
	stop_applier();
	$kept = kept(900);
	kill 'CONT', applier();
	last if $kept < 100_000;
}
cmp_ok($kept, '<', 100_000, 'turned off, commits apply');
all_right('turned off');
$node->append_conf('postgresql.conf', 'leaderboard.applier = on');
$node->reload;
$node->safe_psql('postgres', 'CALL commits(1000)');
$node->safe_psql('families', 'CALL commits_f(500)');
all_right('turned on');

# A board that goes while the applier is requested for it; and the next one in its
# place
for my $round (1 .. 5)
{
	stop_applier();
	$node->safe_psql('postgres', q{CALL commits(200); SELECT lb_drop_board('p')});
	$node->safe_psql('postgres', q{SELECT lb_create_board('p', 'p')}) if $round % 2 == 0;
	kill 'CONT', applier();
	$node->safe_psql('postgres', q{SELECT lb_create_board('p', 'p')}) if $round % 2 == 1;
	$node->safe_psql('postgres', q{SELECT lb_wait_ready(); CALL commits(300)});
	all_right("board $round");
}

# The same of a family's board
stop_applier();
$node->safe_psql('families', q{CALL commits_f(3000); DELETE FROM f WHERE board = 5; DELETE FROM f WHERE board = 6});
$node->safe_psql('families', q{INSERT INTO f SELECT i, 6, i FROM generate_series(1, 2000) i; INSERT INTO f SELECT i, 5, i FROM generate_series(1, 2000) i});
kill 'CONT', applier();
all_right('boards that have gone and come');

$session->quit;

# Boards without traffic have backlogs that take all that histories may take.  So
# the histories of other boards are given back at once, and queries answer older
# snapshots of these; but not for long.
$pid = stop_applier();
$node->safe_psql('families', 'CALL commits_f(1200)');
$kept = $node->safe_psql('families', $used);
$node->append_conf('postgresql.conf', 'leaderboard.history_size = 64kB');
$node->reload;
my $less = 0;
for my $round (1 .. 3000)
{
	$node->safe_psql('families', "UPDATE f SET score = score + 1 WHERE board = 1 AND player_id = $round % 2000 + 1");
	last if ($less = $kept - $node->safe_psql('families', $used)) > 80_000;
}
cmp_ok($less, '>', 80_000, 'the backlogs of all boards are applied when histories are full');
kill 'CONT', $pid;
all_right('histories full');

# Rows off a board leave nothing to apply, but wait behind what is to be applied.
$node->safe_psql('postgres', q{
	CREATE TABLE q (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO q SELECT i, i FROM generate_series(1, 2000) i;
	SELECT lb_create_board('q', 'q', rank_by => 'score DESC');
	CREATE PROCEDURE unranked(n integer) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. n LOOP
			INSERT INTO q VALUES (10000 + i, NULL);
			COMMIT;
		END LOOP;
	END $$;
	SELECT lb_wait_ready()});
$node->safe_psql('postgres', 'UPDATE q SET score = 0 WHERE player_id = 5');
$node->safe_psql('postgres', 'CALL unranked(4000)');
cmp_ok($node->safe_psql('postgres', 'SELECT history FROM lb_stat_ledger'), '<', 600_000,
	'rows off the board do not make a history long');
is($node->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', 'and are counted');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal 11/, 'nothing has crashed');

# A family goes while the applier is requested for its boards, and its memory
# becomes a plain definition's, which has one stripe.  An assertion notices a
# mistake there.
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
$pid = stop_applier();
$node->safe_psql('postgres', $_)
	for ('UPDATE f SET score = score + 1 WHERE player_id <= 100', q{SELECT lb_drop_board('f')}, q{SELECT lb_create_board('p', 'p')});
ready_all($node, 'in the memory of a family');
kill 'CONT', $pid;

# The next round begins with what this one has left.
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'leaderboard applier' AND pid <> $pid AND wait_event_type = 'Extension'"),
	'it comes back');
ready_all($node, 'in the memory of a family, looked at');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing has crashed');
done_testing();
