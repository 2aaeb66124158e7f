# Parallel workers of a build stop before they scan, and one of them is terminated, or the
# build's own worker.  The build is tried again, and nothing is left of the first.  And the
# database is dropped before they connect.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../../t";
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Each segment is a file.
my $node = lb_node('primary', <<'END');
autovacuum = off
max_worker_processes = 24
max_parallel_maintenance_workers = 2
min_parallel_table_scan_size = 0
dynamic_shared_memory_type = mmap
leaderboard.maintenance_interval = 0
END
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE seen (score integer);
	INSERT INTO seen SELECT g % 1000 FROM generate_series(1, 100000) g;
	SELECT lb_create_board('seen', 'seen', keeps => 'counts')});

my $idle = q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type IN ('leaderboard worker', 'parallel worker')};

# What builds could leave.  The history of the changes takes a few hundred bytes more with
# each of them, the index 20 kB.
my $used = q{SELECT used FROM lb_stat_memory WHERE datname = 'postgres'};

sub left
{
	my ($less_than) = @_;

	$node->poll_query_until('postgres', $idle) or die 'a worker does not end';
	my @segments = glob($node->data_dir . '/pg_dynshmem/*');
	my @files = grep { -d } glob($node->data_dir . '/base/pgsql_tmp/*');

	return join ', ', scalar(@segments) . ' segments', scalar(@files) . ' sets of files',
	  $node->safe_psql('postgres', $used) < $less_than ? 'little memory' : 'much memory';
}

sub paused
{
	my ($n) = @_;

	return $node->poll_query_until('postgres', qq{
		SELECT count(*) = $n FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND wait_event = 'advisory'});
}

boards_ready($node, 'postgres') or die 'the board is not ready';
$node->safe_psql('postgres', 'SELECT lb_rebuild()');
boards_ready($node, 'postgres');
my $less_than = $node->safe_psql('postgres', $used) + 10000;
my $before = left($less_than);
my $holder = open_session($node, 'postgres');

for my $how (
	[ 'a parallel worker', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1} ],
	[ 'all parallel workers', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker'} ],
	[ 'the build', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'leaderboard worker'} ])
{
	my ($what, $pids) = @$how;
	my $log = -s $node->logfile;

	$holder->query('SELECT pg_advisory_lock(20260411)');
	$node->safe_psql('postgres', q{ALTER DATABASE postgres SET leaderboard.pause_at = 'scan'});
	my $output = '';
	my $rebuild = IPC::Run::start([ 'psql', '-X', '-q', '-c', 'SELECT lb_rebuild()', '-d', $node->connstr('postgres') ],
		'<', \undef, '>', \$output, '2>', \$output);
	ok(paused(2), "$what: both parallel workers have stopped");
	# Changes that come into the queue of the build.
	$node->safe_psql('postgres', 'INSERT INTO seen SELECT g FROM generate_series(1, 10) g');
	$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET leaderboard.pause_at');
	my @first = split /\n/, $node->safe_psql('postgres', $pids);

	$node->safe_psql('postgres', "SELECT pg_terminate_backend($_)") for @first;
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_activity WHERE pid IN (' . join(', ', @first) . ')'),
		"$what: terminated");
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event = 'advisory'}),
		"$what: no worker waits");
	$holder->query('SELECT pg_advisory_unlock(20260411)');
	$rebuild->finish;
	ok(boards_ready($node, 'postgres'), "$what: the board is ready");
	is($node->safe_psql('postgres', q{SELECT lb_count('seen') = count(*) AND lb_rank_of_score(500, 'seen') = count(*) FILTER (WHERE score > 500) + 1 FROM seen}),
		't', "$what: the board has the changes");
	is(left($less_than), $before, "$what: nothing is left");
	like(slurp_file($node->logfile, $log), qr/terminating .* due to administrator command/, "$what: in the log");
	verified($what, $node);
}
$holder->quit;

# The parallel workers wait for DROP DATABASE, and it for the build, which yields after it
# has scanned the few rows.  The command waits for five seconds: on a machine that is too
# busy for that, another one.
my $dropped = '';

$node->safe_psql('postgres', q{
	SELECT lb_drop_board('seen');
	DELETE FROM seen WHERE score > 10;
	VACUUM FULL seen;
	SELECT lb_create_board('seen', 'seen', keeps => 'counts')});
boards_ready($node, 'postgres') or die 'the board is not ready';

for my $try (1 .. 5)
{
	last if $dropped eq 'dropped';
	$node->safe_psql('postgres', "DROP DATABASE IF EXISTS gone$_") for 1 .. $try;
	$node->safe_psql('postgres', "CREATE DATABASE gone$try TEMPLATE postgres");
	$node->safe_psql('postgres', "ALTER DATABASE gone$try SET leaderboard.pause_at = 'workers'");
	my $inside = open_session($node, "gone$try");

	$inside->query('SELECT pg_advisory_lock(20260411)');
	# A read requests the build.
	$inside->query(q{SET leaderboard.not_ready = 'query'; SELECT lb_count('seen')});
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'leaderboard worker' AND wait_event = 'advisory'})
	  or die 'no build';
	my $drop = IPC::Run::start([ 'psql', '-X', '-q', '-c', "DROP DATABASE gone$try", '-c', q{\\echo dropped}, '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') ],
		'<', \undef, '>', \$dropped, '2>', \my $error);
	$node->poll_query_until('postgres', qq{
		SELECT EXISTS (SELECT FROM pg_locks WHERE classid = 'pg_database'::regclass AND mode = 'AccessExclusiveLock' AND granted)
			OR NOT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'DROP DATABASE gone$try')})
	  or die 'no DROP';
	$inside->quit;
	$drop->finish;
	chomp $dropped;
	$node->poll_query_until('postgres', $idle) or die 'a worker does not end';
}
is($dropped, 'dropped', 'the build yields to DROP DATABASE while its parallel workers connect');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold|leak/, 'nothing bad in the log');
done_testing();
