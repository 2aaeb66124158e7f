# The startup process of a standby stops between the redo of a commit, which shows its
# rows, and what it then does with the standby's ledger.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../../t";
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', "autovacuum = off\nleaderboard.maintenance_interval = 0", allows_streaming => 1);
$primary->start;
fill($primary, 'postgres', 40);
install_oracle($primary, 'postgres');
my $standby = standby_of($primary, 'standby', 'max_standby_streaming_delay = -1');
$standby->start;
same($primary, $standby, 'at first');

# The startup process waits where it is to while a session holds this lock.
$standby->append_conf('postgresql.conf', "leaderboard.pause_at = 'redo'");
$standby->reload;
my $holder = open_session($standby, 'template1');

# Replay statements of the primary up to the redo of their commit, where a condition
# becomes true, look, and go on.  A session with a snapshot looks, too, unless what it
# has locked is in the way.
sub between
{
	my ($what, $how, $visible, $sql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $session;
	my $before;
	my $look = q{SELECT array_agg(t) FROM (SELECT * FROM lb_top(100) UNION ALL SELECT * FROM lb_top(100, 'weekly:1')) t};

	caught_up($primary, $standby);
	boards_ready($standby, 'postgres');
	if ($how eq 'index')
	{
		$session = open_session($standby, 'postgres');
		$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
		$before = $session->query($look);
	}
	$holder->query('SELECT pg_advisory_lock(20260411)');
	is($standby->safe_psql('postgres', "SELECT $visible"), 'f', "$what: not yet");
	$primary->safe_psql('postgres', $sql);
	my $lsn = $primary->lsn('flush');
	ok($standby->poll_query_until('postgres', "SELECT $visible"), "$what: visible");
	is($standby->safe_psql('postgres', "SELECT pg_last_wal_replay_lsn() < '$lsn'"), 't', "$what: replay has stopped")
	  if $what ne 'without the library';
	same_by($standby, 'postgres', $how, "$what: between redo and settling");
	is($session->query($look), $before, "$what: a snapshot of before") if $session;
	$holder->query('SELECT pg_advisory_unlock(20260411)');
	caught_up($primary, $standby);
	return unless $session;
	is($session->query($look), $before, "$what: and later");
	$session->quit;
	return;
}

my $score = '(SELECT score FROM player_scores WHERE player_id = 7)';

between('update', 'index', "$score = 1001", 'UPDATE player_scores SET score = 1001 WHERE player_id = 7');
same($primary, $standby, 'update');
between('all kinds', 'index', "$score = 1002", q{
	BEGIN; UPDATE player_scores SET score = score + player_id % 5;
	SAVEPOINT s; DELETE FROM player_scores; ROLLBACK TO s;
	SAVEPOINT t; DELETE FROM player_scores WHERE player_id = 8; INSERT INTO player_scores VALUES (1000, 7);
	UPDATE player_score_windows SET window_key = 'weekly:1' WHERE player_id % 3 = 0;
	UPDATE player_scores SET score = 1002 WHERE player_id = 7; COMMIT});
same($primary, $standby, 'all kinds');
$primary->safe_psql('postgres', q{
	BEGIN; UPDATE player_scores SET score = 1003 WHERE player_id = 7; DELETE FROM player_scores WHERE player_id = 9;
	PREPARE TRANSACTION 'p'});
between('commit prepared', 'index', "$score = 1003", q{COMMIT PREPARED 'p'});
same($primary, $standby, 'commit prepared');
between('many messages', 'index', "$score = 1004", q{
	BEGIN; INSERT INTO player_scores SELECT g, g % 17 FROM generate_series(2001, 5000) g;
	UPDATE player_scores SET score = 1004 WHERE player_id = 7; DELETE FROM player_scores WHERE player_id > 2000; COMMIT});
same($primary, $standby, 'many messages');

# What is unknown is read by queries, before rows show that it is.
between('truncate', 'query', "$score = 1005", q{
	BEGIN; TRUNCATE player_scores, player_score_windows; INSERT INTO player_scores SELECT g, g FROM generate_series(1, 20) g;
	UPDATE player_scores SET score = 1005 WHERE player_id = 7;
	INSERT INTO player_score_windows SELECT g, 'weekly:1', g FROM generate_series(1, 20) g; COMMIT});
same($primary, $standby, 'truncate');
verified('the library', $primary, $standby);

# The primary does not have the library.  Replay does not stop at a commit that has fed
# nothing, but where it would, readers already know.
$primary->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$primary->restart;
between('without the library', 'query', "$score = 1006",
	'UPDATE player_scores SET score = 1006 WHERE player_id = 7; UPDATE player_score_windows SET score = 3 WHERE player_id < 9');
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'leaderboard'");
$primary->restart;
same($primary, $standby, 'the library again');

# A promotion between them
$holder->query('SELECT pg_advisory_lock(20260411)');
$primary->safe_psql('postgres', 'UPDATE player_scores SET score = 1007 WHERE player_id = 7');
ok($standby->poll_query_until('postgres', "SELECT $score = 1007"), 'promotion: visible');
$primary->stop('immediate');
$standby->safe_psql('postgres', 'SELECT pg_promote(false)');
same_by($standby, 'postgres', 'index', 'promotion: between redo and settling');
$holder->query('SELECT pg_advisory_unlock(20260411)');
ok($standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'promotion: done');
same_by($standby, 'postgres', 'index', 'promotion');
verified('promotion', $standby);

$holder->quit;
$standby->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $_->name)
  for $primary, $standby;
done_testing();
