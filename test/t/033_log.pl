# The log's messages about boards that go offline.  There is none about a board that
# is ready again before the launcher looks: the message would have no reason.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = lb_node('log');
$node->start;
fill($node, 'postgres', 300);
ready($node, 'postgres', 'made');

sub session
{
	return open_session($node, 'postgres');
}

# Takes a board offline: rows may have changed without the triggers.
sub alter
{
	my ($session, $table) = @_;

	return $session->query("BEGIN;
		ALTER TABLE $table DISABLE TRIGGER leaderboard_capture;
		ALTER TABLE $table ENABLE ALWAYS TRIGGER leaderboard_capture;
		COMMIT; SELECT 'altered'");
}

sub told
{
	my ($board) = @_;
	my $log = slurp_file($node->logfile);

	return () = $log =~ /LOG:  board "\Q$board\E" of database "postgres" is offline\n[^\n]*DETAIL:  Reason: /g;
}

sub wait_told
{
	my ($board, $times) = @_;

	for (1 .. 1800)
	{
		return 1 if told($board) >= $times;
		usleep(100_000);
	}
	return 0;
}

my ($locker, $builder, $altering) = map { session() } 1 .. 3;

# They know the definitions, which cannot be read when lb_board is locked.
$_->query('SELECT lb_rank(1)') for ($builder, $altering);

alter($altering, 'player_scores');
ok(wait_told('global', 1), 'a board that goes offline is told of');
wait_ready($node, 'postgres');

# A worker that is about to build waits for the lock, and the launcher is stopped.  The worker
# waits for a second: where that was not long enough, all of it is done again.
my $launcher = launcher_pid($node);
my ($told, $is_built);

for (1 .. 60)
{
	$locker->query('BEGIN; LOCK TABLE lb_board IN ACCESS EXCLUSIVE MODE');
	$builder->query_until(qr/now/, "\\echo now\nSELECT lb_rebuild('global');\n");
	$node->poll_query_until('postgres', q{
			SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND backend_type = 'leaderboard worker') OR
				NOT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT lb_rebuild%')})
	  or die 'no worker waits';
	# It has no lock while it sleeps.
	for (1 .. 100)
	{
		kill('STOP', $launcher);
		last if $node->safe_psql('postgres', "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $launcher") eq 'Extension';
		kill('CONT', $launcher);
	}
	$told = told('global');
	alter($altering, 'player_scores');
	$locker->query('ROLLBACK');
	$builder->query('SELECT lb_rank(1) > 0');
	$is_built = state($node, 'postgres', 'global') eq 'ready';
	kill('CONT', $launcher);
	last if $is_built;
	wait_told('global', $told + 1);
	wait_ready($node, 'postgres');
}
ok($is_built, 'a board that has gone offline is built while the launcher is stopped');

# The launcher reports boards in the order in which they were created.
alter($altering, 'player_score_windows');
ok(wait_told('*', 1), 'another board that goes offline is told of');
is(told('global'), $told, 'the board that is ready is not told of again');
unlike(slurp_file($node->logfile), qr/Reason: \./, 'nothing is told without a reason');
ready($node, 'postgres', 'at the end');

$_->quit for ($locker, $builder, $altering);
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log');
done_testing();
