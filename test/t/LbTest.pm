# What the tests of this directory share.
package LbTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  init_node lb_node fill right ready wait_ready state fails_with start_writers
  stop_writers launcher_pid build_module poll_restarting runs_without open_session
  retry_accessed
);

# A psql in the background.  By itself its time limit is for all of its life, which can be
# long on a busy machine; this one is for a query, and for what the test does between two.
sub open_session
{
	my ($node, $db, %params) = @_;
	my $session = $node->background_psql($db, on_error_stop => 0, timeout => 4 * $PostgreSQL::Test::Utils::timeout_default, %params);

	$session->set_query_timer_restart;
	return $session;
}

# poll_query_until() of a server that may be restarting.  That function writes the query
# to the standard input of a psql that then may be gone, and dies of it.
sub poll_restarting
{
	my ($node, $db, $query) = @_;
	my $output = '';

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		IPC::Run::run([ 'psql', '-X', '-A', '-t', '-d', $node->connstr($db), '-c', $query ],
			'<', \undef, '>', \$output, '2>', \my $errors);
		return 1 if $output eq "t\n";
		select undef, undef, undef, 0.1;
	}
	diag("no answer but $output to $query");
	return 0;
}

# Waits until a process is gone.  After a crash that is when the server has come back.
sub runs_without
{
	my ($node, $pid) = @_;

	return poll_restarting($node, 'postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
}

# CREATE DATABASE ... TEMPLATE and DROP DATABASE wait 5 s for other sessions to leave the
# database, which on a busy machine is too short.  Does it again while that is the error,
# and dies of any other.
sub retry_accessed
{
	my ($node, $sql) = @_;
	my $until = time + 4 * $PostgreSQL::Test::Utils::timeout_default;

	for (;;)
	{
		my ($rc, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 1);

		return 1 if $rc == 0;
		die "$sql: $err" if $err !~ /being accessed by other users/ || time > $until;
	}
}

# Makes a node's data directory: a copy of the one that run-tests.sh has made for all.
# From version 17 on init() copies it by itself.
sub init_node
{
	my ($node, %init) = @_;
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;

	no warnings 'redefine';
	local *PostgreSQL::Test::Utils::system_or_bail = sub {
		@_ = ('cp', '-RPp', $ENV{INITDB_TEMPLATE}, $node->data_dir)
		  if $_[0] eq 'initdb' && defined $ENV{INITDB_TEMPLATE} && !$init{extra};
		goto &$run;
	};
	return $node->init(%init);
}

# A server that preloads the library, with more settings.  Plain SQL is what the
# tests compare with, so plans do not use boards.
sub lb_node
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	init_node($node, %init);
	$node->append_conf('postgresql.conf', <<"END");
shared_preload_libraries = 'leaderboard'
max_worker_processes = 12
max_prepared_transactions = 20
autovacuum_naptime = 5s
restart_after_crash = on
log_statement = none
leaderboard.enable_planner = off
END
	# A checkpoint must not remove what a standby on a busy machine has not received.
	$node->append_conf('postgresql.conf', 'wal_keep_size = 1GB') if $init{allows_streaming};
	$node->append_conf('postgresql.conf', $settings) if defined $settings;
	return $node;
}

# Builds a library of another extension from name.c in a directory.
sub build_module
{
	my ($dir, $name) = @_;

	PostgreSQL::Test::Utils::append_to_file("$dir/Makefile", <<"END");
MODULES = $name
PGXS := \$(shell pg_config --pgxs)
include \$(PGXS)
END
	PostgreSQL::Test::Utils::system_log('make', '-s', '-C', $dir, 'with_llvm=no') == 0
	  or die 'the module cannot be built';
	return;
}

# The default tables with n players, made in a database.
sub fill
{
	my ($node, $db, $players) = @_;

	$node->safe_psql($db, <<"END");
CREATE EXTENSION leaderboard;
SELECT lb_create_tables();
INSERT INTO player_scores
	SELECT g, (g * 7919) % ($players / 3 + 1), timestamptz '2026-01-01' + g % 5 * interval '1 s'
	FROM generate_series(1, $players) g;
INSERT INTO player_score_windows
	SELECT g, 'weekly:' || g % 7, g * 31 % 50, timestamptz '2026-01-01'
	FROM generate_series(1, $players) g;
END
	return;
}

# Ranks that differ from those of SQL, of no more than some hundred players:
# where no index answers, each is a query.
my $wrong = q{
SELECT count(*) FROM
	(SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r,
		count(*) OVER () AS n FROM player_scores) s
	WHERE player_id % (n / 300 + 1) = 0 AND r IS DISTINCT FROM lb_rank(player_id)
UNION ALL
SELECT count(*) FROM
	(SELECT player_id, window_key, row_number() OVER (PARTITION BY window_key ORDER BY score DESC, updated_at, player_id) AS r,
		count(*) OVER () AS n FROM player_score_windows) s
	WHERE player_id % (n / 300 + 1) = 0 AND r IS DISTINCT FROM lb_rank(player_id, window_key)
UNION ALL
SELECT count(*) - lb_count() FROM player_scores};

# Every rank is what SQL says, whatever answers.
sub right
{
	my ($node, $db, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is($node->safe_psql($db, $wrong), "0\n0\n0", "$what: ranks are right");
}

# ... and the boards are ready and equal to their tables.
sub ready
{
	my ($node, $db, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	wait_ready($node, $db);
	is( $node->safe_psql($db, 'SELECT * FROM lb_verify_key()'),
		'', "$what: index and table are equal");
	return right($node, $db, $what);
}

# Wait until the boards are there by themselves.
sub wait_ready
{
	my ($node, $db) = @_;

	poll_restarting($node, $db, "SELECT lb_wait_ready('10 s')")
	  or die "boards of $db are not built: "
	  . $node->safe_psql($db, 'SELECT board, state, reason FROM lb_stat_board');
	return;
}

sub state
{
	my ($node, $db, $board) = @_;

	return $node->safe_psql($db,
		"SELECT state FROM lb_stat_board WHERE board = '$board'");
}

# A statement raises an error with this code, and text, and hint.
sub fails_with
{
	my ($node, $db, $sql, $code, $like, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($rc, $out, $err) =
	  $node->psql($db, "\\set VERBOSITY verbose\n$sql", on_error_stop => 1);

	isnt($rc, 0, "$what: fails");
	like($err, qr/ERROR:  \Q$code\E:/, "$what: error code");
	return like($err, $like, "$what: message");
}

# Writers in the background: updates of everything that can change, deletes and
# inserts, on both tables.
sub start_writers
{
	my ($node, $db, $players, $seconds, $clients) = @_;
	my $script = $node->basedir . "/writers_${db}_$players.sql";

	PostgreSQL::Test::Utils::append_to_file($script, <<"END")
\\set a random(1, $players)
\\set b random(1, $players)
\\set s random(0, 1000)
\\set w random(0, 9)
BEGIN;
UPDATE player_scores SET score = :s WHERE player_id = :a;
SAVEPOINT s;
DELETE FROM player_score_windows WHERE player_id = :a;
INSERT INTO player_score_windows (player_id, window_key, score)
	VALUES (:a, 'weekly:' || :w, :s)
	ON CONFLICT (player_id, window_key) DO UPDATE SET score = EXCLUDED.score;
COMMIT;
BEGIN;
DELETE FROM player_scores WHERE player_id = :b;
UPDATE player_score_windows SET window_key = 'daily:' || :w, score = score + 1
	WHERE player_id = :b AND NOT EXISTS
		(SELECT FROM player_score_windows WHERE player_id = :b AND window_key = 'daily:' || :w)
	AND window_key = (SELECT min(window_key) FROM player_score_windows WHERE player_id = :b);
INSERT INTO player_scores (player_id, score) VALUES (:b, :s) ON CONFLICT DO NOTHING;
COMMIT;
BEGIN;
UPDATE player_scores SET score = score + 1 WHERE player_id = :a;
ROLLBACK;
END
	  unless -e $script;
	my %run = (out => '');

	$run{handle} = IPC::Run::start(
		[
			'pgbench', '-n', '-h', $node->host, '-p', $node->port,
			'-T', $seconds, '-c', $clients // 2, '--max-tries=100',
			'-f', $script, "dbname=$db application_name=writer"
		],
		'<', \undef, '&>', \$run{out});
	return \%run;
}

# Wait for their end.  Unless the server has gone they must have done well.
sub stop_writers
{
	my ($run, $failure) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$run->{handle}->finish;
	return if $failure;
	unlike($run->{out}, qr/ERROR|FATAL|aborted in command/, 'no write has failed')
	  or diag($run->{out});
	return;
}

sub launcher_pid
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'leaderboard launcher'");
}

1;
