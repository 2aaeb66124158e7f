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
	return $node->background_psql('postgres', on_error_stop => 0, timeout => 120);
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
		return 1 if told($board) == $times;
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

# A worker that is about to build waits for the lock, and the launcher is stopped.
my $launcher = launcher_pid($node);

$locker->query('BEGIN; LOCK TABLE lb_board IN ACCESS EXCLUSIVE MODE');
$builder->query_until(qr/now/, "\\echo now\nSELECT lb_rebuild('global');\n");
ok( $node->poll_query_until('postgres', q{
		SELECT count(*) = 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
		WHERE NOT granted AND backend_type = 'leaderboard worker'}),
	'a worker waits');
kill('STOP', $launcher);
is(alter($altering, 'player_scores'), 'altered', 'the board goes offline');
$locker->query('ROLLBACK');
like($builder->query('SELECT lb_rank(1) > 0'), qr/^t$/m, 'the board is built');
is(state($node, 'postgres', 'global'), 'ready', 'and ready');
kill('CONT', $launcher);

# The launcher reports boards in the order in which they were created.
alter($altering, 'player_score_windows');
ok(wait_told('*', 1), 'another board that goes offline is told of');
is(told('global'), 1, 'the board that is ready is not told of again');
unlike(slurp_file($node->logfile), qr/Reason: \./, 'nothing is told without a reason');
ready($node, 'postgres', 'at the end');

$_->quit for ($locker, $builder, $altering);
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log');
done_testing();
