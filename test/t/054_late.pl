# Rows that another extension's PRE_COMMIT callback writes in a subtransaction, after the
# transaction's changes were published: on the primary and on its standby no answer lacks
# them, and the board is built again.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', "autovacuum = off\nleaderboard.maintenance_interval = 0\nlog_min_messages = debug1",
	allows_streaming => 1);
my $dir = PostgreSQL::Test::Utils::tempdir();
PostgreSQL::Test::Utils::system_log('cp', "$FindBin::RealBin/late.c", $dir);
build_module($dir, 'late');
$primary->append_conf('postgresql.conf', "shared_preload_libraries = '$dir/late, leaderboard'");
$primary->start;
fill($primary, 'postgres', 40);
install_oracle($primary, 'postgres');
my $standby = standby_of($primary, 'standby');
$standby->start;

# How often a server has started a worker to build.  Two builds of so few rows may take
# the same number of microseconds.
sub started
{
	my ($node) = @_;

	return scalar(() = slurp_file($node->logfile) =~ /starting background worker process "leaderboard worker/g);
}

# Run the first statement in a transaction and the second one late, and then the others.
# Nothing in between is wrong, and a board is built again on those servers to which the
# late one's changes may have come.
sub late
{
	my ($what, $built, $statement, $late, @after) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $end = $statement =~ /PREPARE/ ? '' : 'COMMIT';

	same($primary, $standby, "$what: before");
	my %before = map { $_->name => started($_) } $primary, $standby;
	my ($rc, $out, $err) = $primary->psql('postgres', "BEGIN; SET LOCAL late.statement = \$\$$late\$\$; $statement; $end");
	$late =~ m{1 / 0} ? like($err, qr/division by zero/, "$what: an error") : is($err, '', "$what: no error");
	for (@after, '')
	{
		same_by($primary, 'postgres', 'any', "$what: the primary, before '$_'");
		caught_up($primary, $standby);
		same_by($standby, 'postgres', 'any', "$what: the standby, before '$_'");
		$primary->safe_psql('postgres', $_);
	}
	for my $node ($primary, $standby)
	{
		same_by($node, 'postgres', 'index', "$what: later, " . $node->name);
		is(started($node) != $before{ $node->name }, scalar($built =~ $node->name), "$what: built again, " . $node->name);
	}
	return verified($what, $primary, $standby);
}

my $both = 'primary, standby';
my $update = 'UPDATE public.player_scores SET score = score + 100 WHERE player_id';

late('the same board', $both, "$update = 8", "$update = 7");
late('the same row', $both, "$update = 7", "$update = 7");
late('another board', $both, "$update = 8", q{INSERT INTO public.player_score_windows VALUES (100, 'weekly:1', 17)});
late('nothing before', $both, 'SELECT 1', "$update = 7");
late('truncate', $both, "$update = 8", 'TRUNCATE public.player_score_windows; INSERT INTO public.player_score_windows SELECT g, $w$weekly:1$w$, g FROM generate_series(1, 30) g');
late('after a savepoint', $both, "$update < 5; SAVEPOINT s; DELETE FROM player_scores; ROLLBACK TO s; $update = 9", "$update = 7");
late('an error', '', "$update = 8", "$update = 7; SELECT 1 / 0");
late('prepared, then committed', $both, "$update = 8; PREPARE TRANSACTION 'p'", "$update = 7", q{COMMIT PREPARED 'p'});

# Many rows are told of once.
my $from = $primary->lsn('insert');
late('many rows', $both, "$update = 8", 'UPDATE public.player_scores SET score = score + 3');
my $to = $primary->safe_psql('postgres', q{SELECT pg_logical_emit_message(false, 'end', '') < '0/0'; SELECT pg_switch_wal()}) =~ s/.*\n//r;
my ($out, $err) = ('', '');
IPC::Run::run([ 'pg_waldump', '-p', $primary->data_dir . '/pg_wal', '-s', $from, '-e', $to ], '>', \$out, '2>', \$err)
  or die "pg_waldump: $err";
is(scalar(() = $out =~ /prefix "lb"; payload \(\d+ bytes\): 01 55 /g), 1, 'many rows: one message');

late('prepared, then rolled back', 'primary', "$update = 8; PREPARE TRANSACTION 'p'", "$update = 7", q{ROLLBACK PREPARED 'p'});

$_->stop for $standby, $primary;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $_->name)
  for $primary, $standby;
done_testing();
