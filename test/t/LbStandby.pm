# Standbys, for the tests of this directory.
package LbStandby;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(standby_of install_oracle caught_up reads same same_by verified
  kill_process);

# A standby of a server, with more settings; not started yet.
sub standby_of
{
	my ($primary, $name, $settings, %init) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup($name);
	$standby->init_from_backup($primary, $name,
		has_streaming => $init{has_streaming} // 1, %init);
	$standby->append_conf('postgresql.conf', $settings) if defined $settings;
	return $standby;
}

# lbt.differences(), which compares functions with their queries.
sub install_oracle
{
	my ($node, $db) = @_;

	$node->safe_psql($db, "\\i $FindBin::RealBin/../lib/oracle.sql");
	return;
}

# Wait until a standby has replayed what the primary has written so far.
sub caught_up
{
	my ($primary, $standby) = @_;
	my $lsn = $primary->lsn('insert');

	$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'")
	  or die 'replay has not come to ' . $lsn;
	return;
}

# How many reads of a database have been answered by the index, and by queries.
sub reads
{
	my ($node, $db) = @_;

	return split /\|/, $node->safe_psql($db,
		'SELECT coalesce(sum(index_reads), 0), coalesce(sum(query_reads), 0) FROM lb_stat_board');
}

# Statements of lbt.differences() for the boards that fill() makes.
my @filled = (
	q{'global', 'player_scores', ties => 'updated_at'},
	q{'weekly:1', 'player_score_windows', $$window_key = 'weekly:1'$$, ties => 'updated_at'});

# The functions of boards equal their queries.  How they are to answer: "index", "query"
# or "any".  The boards are those of fill(), or arguments of lbt.differences().
sub same_by
{
	my ($node, $db, $how, $what, @boards) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $by = { index => 'false', query => 'true', any => 'NULL' }->{$how};

	wait_ready($node, $db) if $how eq 'index';
	return is(
		$node->safe_psql($db,
			join ';', map { "SELECT * FROM lbt.differences($_, query_reads => $by)" }
			  @boards ? @boards : @filled),
		'', "$what: functions equal their queries, by $how");
}

# The same on a standby that follows, and by the index.
sub same
{
	my ($primary, $standby, $what, @boards) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	caught_up($primary, $standby);
	return same_by($standby, 'postgres', 'index', $what, @boards);
}

# On each of the servers the boards equal their tables.
sub verified
{
	my ($what, @nodes) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	for my $node (@nodes)
	{
		wait_ready($node, 'postgres');
		is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'),
			'', "$what: lb_verify() on " . $node->name);
	}
	return;
}

# Kill a process of a server like the kernel does when memory is short.
sub kill_process
{
	my ($node, $type) = @_;
	my $pid = $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = '$type' LIMIT 1");

	die "there is no $type" if $pid eq '';
	kill 'KILL', $pid;
	return;
}

1;
