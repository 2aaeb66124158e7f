# lb_verify() stops between its snapshot and its look at the index, until the history has
# forgotten what the snapshot needs.  It compares once more, with a newer snapshot.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../../t";
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', <<'END', allows_streaming => 1);
autovacuum = off
leaderboard.maintenance_interval = 0
leaderboard.history_size = 64kB
END
$primary->start;
fill($primary, 'postgres', 40);
my $standby = standby_of($primary, 'standby', 'max_standby_streaming_delay = -1');
$standby->start;

sub scans
{
	my ($node) = @_;

	return $node->safe_psql('postgres', q{SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'player_scores'});
}

my $players = 40;

for my $node ($primary, $standby)
{
	my $name = $node->name;

	caught_up($primary, $standby);
	boards_ready($node, 'postgres');
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'leaderboard worker'})
	  or die 'a worker does not end';
	my $scans = scans($node);
	my $holder = open_session($node, 'postgres');
	my $session = open_session($node, 'postgres');

	$holder->query('SELECT pg_advisory_lock(20260411)');
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->query("SET leaderboard.pause_at = 'verify'");
	$session->query_until(qr/begun/, "\\echo begun\nSELECT count(*) FROM lb_verify('global');\n");
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory'}),
		"$name: lb_verify() has its snapshot");
	# Not updates: replay of what prunes old versions would wait for the snapshot.
	$primary->safe_psql('postgres', qq{
		DO \$\$ BEGIN FOR i IN 1 .. 300 LOOP
			INSERT INTO player_scores SELECT $players + 40 * i + g, g FROM generate_series(1, 40) g; COMMIT;
		END LOOP; END \$\$});
	$players += 300 * 40;
	caught_up($primary, $standby);
	$holder->query('SELECT pg_advisory_unlock(20260411)');
	is($session->query('SELECT 1'), "0\n1", "$name: index and table are equal");
	$session->quit;
	$holder->quit;
	# A session tells of its scans when it ends.
	runs_without($node, $pid) or die 'the session does not end';
	is(scans($node) - $scans, 2, "$name: they are compared twice");
	verified($name, $node);
}

$_->stop for $standby, $primary;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $_->name)
  for $primary, $standby;
done_testing();
