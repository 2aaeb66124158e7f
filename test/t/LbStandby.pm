# Standbys, for the tests of this directory.
package LbStandby;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(standby_of install_oracle caught_up reads builds same same_by
  boards_ready verified crash);

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

	$node->safe_psql($db, '\\i ' . dirname(__FILE__) . '/../lib/oracle.sql');
	return;
}

# Wait until a standby has replayed what the primary has written so far.  If it does
# not, tell what replay waits for.
sub caught_up
{
	my ($primary, $standby) = @_;
	my $lsn = $primary->lsn('flush');

	return if $standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'");
	diag($standby->safe_psql('postgres', q{
		SELECT pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(), (SELECT status FROM pg_stat_wal_receiver);
		SELECT pid, backend_type, wait_event_type, wait_event, state, backend_xmin, xact_start, left(query, 60)
		FROM pg_stat_activity ORDER BY pid;
		SELECT pid, locktype, relation::regclass, mode, granted FROM pg_locks WHERE locktype = 'relation'}));
	my @log = split /\n/, slurp_file($standby->logfile);
	diag(join "\n", @log[($#log > 30 ? -30 : 0) .. -1]);
	die 'replay has not come to ' . $lsn;
}

# How many reads of a database have been answered by the index, and by queries.
sub reads
{
	my ($node, $db) = @_;

	return split /\|/, $node->safe_psql($db,
		'SELECT coalesce(sum(index_reads), 0), coalesce(sum(query_reads), 0) FROM lb_stat_board');
}

# Wait until the boards of a database are ready.  Returns whether they are.
sub boards_ready
{
	my ($node, $db) = @_;

	return 1 if poll_restarting($node, $db, "SELECT lb_wait_ready('100 ms')");
	diag($node->safe_psql($db, 'SELECT board, state, reason FROM lb_stat_board'));
	return 0;
}

# When boards were built: this differs if one of them was built again.
sub builds
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'SELECT board, s.build_seconds FROM lb_stat_board s JOIN lb_board USING (board) ORDER BY board');
}

# The boards that fill() makes, as the arguments of lbt.queries().
my @filled = (
	q{'global', 'player_scores', 'true', 'player_id', 'score', 'DESC', 'updated_at', 'row_number'},
	q{'weekly:1', 'player_score_windows', $$window_key = 'weekly:1'$$, 'player_id', 'score', 'DESC', 'updated_at', 'row_number'});

# Each function equals its query, in one snapshot; the boards are those of fill(), or
# arguments of lbt.queries().  The functions are answered by the "index" alone, by a
# "query" alone, or by "any".
sub same_by
{
	my ($node, $db, $how, $what, @boards) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return fail("$what: boards are ready") if $how eq 'index' && !boards_ready($node, $db);
	@boards = @filled unless @boards;
	my ($index, $queries) = reads($node, $db);
	my $differences = $node->safe_psql($db, join "\n", 'SET jit = off;', map {
			"SELECT query || ' WHERE g IS DISTINCT FROM w LIMIT 5' FROM lbt.queries($_) \\gexec" } @boards);
	my ($index_after, $queries_after) = reads($node, $db);
	my $by = join ' and ', ($index_after > $index ? 'index' : ()), ($queries_after > $queries ? 'query' : ());

	is($differences, '', "$what: functions equal their queries");
	return $how eq 'any' ? isnt($by, '', "$what: there were reads") : is($by, $how, "$what: by the $how");
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
		boards_ready($node, 'postgres');
		is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'),
			'', "$what: lb_verify() on " . $node->name);
	}
	return;
}

# Kill a process, and with it its server.  Wait until it accepts connections again; a
# startup process takes the server down for good, which is then started.  There can be
# several client backends, some of which are about to end: the caller says which.
sub crash
{
	my ($node, $type, $pid) = @_;
	my $postmaster = $node->{_pid};

	$pid //= $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = '$type' LIMIT 1");
	die "there is no $type" if $pid eq '';
	kill 'KILL', $pid;
	if ($type eq 'startup')
	{
		for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
		{
			last unless kill 0, $postmaster;
			select undef, undef, undef, 0.1;
		}
		$node->{_pid} = undef;
		$node->start;
	}
	else
	{
		runs_without($node, $pid) or die 'the server does not come back';
	}
	return;
}

1;
