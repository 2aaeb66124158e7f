# What the scripts show of a server that has crashed (../lib/crash.sh).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('crash');
init_node($node);
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
# As much of a core as the system allows.
PostgreSQL::Test::Utils::system_or_bail('pg_ctl', '-c', '-w', '-D',
	$node->data_dir, '-l', $node->logfile, '-o', '--cluster-name=crash', 'start');
$node->_update_pid(1);

sub report
{
	my ($out) = run_command([ 'bash', '-euc', '. "$0"; crash_report "$1" "$2"',
			"$FindBin::RealBin/../lib/crash.sh", $node->logfile, $node->data_dir ]);

	return $out;
}

is(report(), '', 'nothing of a server that has not crashed');
$node->psql('postgres', q{COPY (SELECT 'the last statement') TO PROGRAM 'kill -SEGV $PPID'});
$node->wait_for_log(qr/all server processes terminated/);

my $report = report();

like($report, qr/was terminated by signal 11/, 'which signal');
like($report, qr/Failed process was running: COPY .*the last statement/, 'the statement');
SKIP:
{
	my $pattern = slurp_file('/proc/sys/kernel/core_pattern');

	chomp($pattern);
	skip 'cores are not written there', 1
	  if $pattern ne 'core' || `bash -c 'ulimit -H -c'` =~ /^0$/m;
	skip 'there is no gdb', 1 if !grep { -x "$_/gdb" } split /:/, $ENV{PATH};
	like($report, qr{Stack, \S+/core\S*:.*#\d+ .*DoCopy}s, 'the stack');
}
poll_restarting($node, 'postgres', 'SELECT true') or die 'the server does not come back';
$node->stop;
done_testing();
