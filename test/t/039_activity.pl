# What pg_stat_activity shows of our processes, and of what a session waits for.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('activity', "leaderboard.maintenance_interval = 0");
$node->start;
fill($node, 'postgres', 300);
ready($node, 'postgres', 'made');

# Version 17 has names for what an extension waits for.
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $named = $version >= 170000;

sub event
{
	return $named ? "Leaderboard$_[0]" : 'Extension';
}

sub shown
{
	my ($what, $condition) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok($node->poll_query_until('postgres',
			"SELECT count(*) = 1 FROM pg_stat_activity WHERE $condition"), $what);
}

sub shown_sleeping
{
	my ($kind, $datname) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return shown("the \L$kind", "backend_type = 'leaderboard \L$kind\E' AND $datname"
		  . " AND wait_event_type = 'Extension' AND wait_event = '" . event("${kind}Main") . "'");
}
shown_sleeping('Launcher', 'datname IS NULL');
shown_sleeping('Applier', 'datname IS NULL');

$node->safe_psql('postgres', q{SELECT lb_watch('global', 3)});
shown_sleeping('Notifier', "datname = 'postgres'");

# A launcher that is stopped starts no worker: a rebuild waits.
shown_sleeping('Launcher', 'datname IS NULL');
my $launcher = launcher_pid($node);
my $session = open_session($node, 'postgres');

# It has no lock while it sleeps.
for (1 .. 100)
{
	kill('STOP', $launcher);
	last if $node->safe_psql('postgres', "SELECT wait_event FROM pg_stat_activity WHERE pid = $launcher") eq event('LauncherMain');
	kill('CONT', $launcher);
}
$session->query_until(qr/begun/, "\\echo begun\nSELECT lb_rebuild('global');\n");
shown('a session that waits for a build', "query LIKE 'SELECT lb_rebuild%' AND state = 'active'"
	  . " AND wait_event_type = 'Extension' AND wait_event = '" . event('Build') . "'");
kill('CONT', $launcher);
ready($node, 'postgres', 'built');
$session->quit;

# Our workers' names have their databases.
$node->append_conf('postgresql.conf', "log_min_messages = debug1");
$node->reload;
my $offset = -s $node->logfile;
my $oid = $node->safe_psql('postgres', q{SELECT oid FROM pg_database WHERE datname = current_database()});
$node->safe_psql('postgres', 'SELECT lb_rebuild()');
ok($node->wait_for_log(qr/background worker "leaderboard worker for database $oid"/, $offset),
	'a worker has its database in its name');

$node->stop;
done_testing();
