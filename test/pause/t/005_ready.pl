# An old transaction is open, and no other one ends.  Then snapshots are too old for a
# new index until the build has completed an xid, a moment after the board is ready.
# lb_wait_ready() waits for that moment, and lb_verify() tries again.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../../t";
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('primary', "autovacuum = off\nleaderboard.maintenance_interval = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE p (id integer PRIMARY KEY, score integer NOT NULL);
	INSERT INTO p SELECT g, g FROM generate_series(1, 100) g});
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'leaderboard worker'})
  or die 'a worker does not end';
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET leaderboard.pause_at = 'install,ready'});

# One session after the other has the lock, the worker between them: it stops at both points.
my ($first, $second, $old, $look, $next) = map { open_session($node, 'postgres') } 1 .. 5;

# What a session of its own prints.
sub start_query
{
	my ($query, $output) = @_;

	return IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres'), '-c', $query ],
		'<', \undef, '>', $output, '2>&1');
}

$first->query('SELECT pg_advisory_lock(20260411)');
$old->query('BEGIN; SELECT pg_current_xact_id()');
$node->safe_psql('postgres', q{SELECT lb_create_board('board', 'p')});
ok( $node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'leaderboard worker' AND wait_event = 'advisory'}),
	'the index is being installed');

$second->query_until(qr/asks/, "\\echo asks\nSELECT pg_advisory_lock(20260411);\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}),
	'the lock has a queue');

my ($waited, $verified) = ('', '');
my $waiter = start_query('SELECT lb_wait_ready()', \$waited);
ok( $node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'SELECT lb_wait_ready()' AND wait_event_type = 'Extension'}),
	'a session waits');
$first->query('SELECT pg_advisory_unlock(20260411)');
ok( $node->poll_query_until('postgres', q{
		SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'leaderboard worker' AND wait_event = 'advisory')
			AND (SELECT state FROM lb_stat_board) = 'ready'}),
	'the board is ready, and the build has not ended');

# lb_verify() has a lock of its own, by which it stops at its first look and, behind the
# next session, at its second one.
my $verifier;

$look->query('SELECT pg_advisory_lock(1)');
{
	local $ENV{PGOPTIONS} = '-c leaderboard.pause_at=verify -c leaderboard.pause_key=1';

	$verifier = start_query('SELECT problem FROM lb_verify()', \$verified);
}
my $queue = q{FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted};

$node->poll_query_until('postgres', "SELECT count(*) = 1 $queue") or die 'lb_verify() does not stop';
$next->query_until(qr/asks/, "\\echo asks\nSELECT pg_advisory_lock(1);\n");
$node->poll_query_until('postgres', "SELECT count(*) = 2 $queue") or die 'the lock has no queue';
$look->query('SELECT pg_advisory_unlock(1)');
ok( $node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'p'::regclass AND mode = 'ShareLock' AND granted}),
	'lb_verify() keeps writers out, and compares again');
is($node->safe_psql('postgres', q{SELECT state FROM pg_stat_activity WHERE query = 'SELECT lb_wait_ready()'}),
	'active', 'the session still waits');
$second->query('SELECT pg_advisory_unlock(20260411)');
$waiter->finish;
$next->query('SELECT pg_advisory_unlock(1)');
$verifier->finish;
is($waited, "t\n", 'lb_wait_ready() has seen the end');
is($verified, '', 'lb_verify() finds nothing wrong');
$old->query('COMMIT');
$_->quit for $first, $second, $old, $look, $next;
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'lb_verify() afterwards');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing bad in the log');
done_testing();
