# A standby takes over while its primary is written to, and a session on it compares all
# the time; a standby of that standby goes on; one that has its WAL from an archive; the
# old primary comes back by pg_rewind; commits that wait until they are applied.

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

my $players = 100;
my $old = lb_node('old', <<'END', allows_streaming => 1, has_archiving => 1);
autovacuum = off
leaderboard.feed_standbys = on
leaderboard.maintenance_interval = 0
wal_log_hints = on
hot_standby_feedback = on
END
$old->start;
fill($old, 'postgres', $players);
install_oracle($old, 'postgres');
my $new = standby_of($old, 'new');
$new->start;
caught_up($old, $new);
my $cascaded = standby_of($new, 'cascaded');
$cascaded->start;

# This one never connects to another server.
my $archived = standby_of($old, 'archived', "primary_conninfo = ''", has_streaming => 0, has_restoring => 1);
$archived->start;
same($old, $new, 'streaming');
same($old, $cascaded, 'cascaded');

sub archive_all
{
	my ($node) = @_;

	$node->safe_psql('postgres', 'UPDATE player_scores SET score = score + 1 WHERE player_id = 5');
	$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	return;
}

my $lsn = $old->lsn('flush');
archive_all($old);
$archived->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") or die 'WAL does not come by the archive';
same_by($archived, 'postgres', 'index', 'archive');
my $archived_builds = builds($archived);

# Recovery to a point in time pauses there, and goes on as a primary.
my $sums = 'SELECT count(*), sum(player_id * score) FROM player_scores';
my $then = $old->safe_psql('postgres', $sums);
my $point = $old->safe_psql('postgres', q{SELECT pg_create_restore_point('then')});
archive_all($old);
ok($old->poll_query_until('postgres', "SELECT last_archived_wal >= pg_walfile_name('$point') FROM pg_stat_archiver"), 'WAL is archived');
my $pitr = PostgreSQL::Test::Cluster->new('pitr');
$pitr->init_from_backup($old, 'archived', has_restoring => 1, standby => 0);
$pitr->append_conf('postgresql.conf', "recovery_target_name = 'then'\nrecovery_target_action = pause\narchive_mode = off");
$pitr->start;
ok($pitr->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'}), 'recovery to a point in time: paused');
same_by($pitr, 'postgres', 'index', 'recovery to a point in time: paused');
is($pitr->safe_psql('postgres', $sums), $then, 'recovery to a point in time: the rows');
$pitr->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
ok($pitr->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'recovery to a point in time: a primary');
$pitr->safe_psql('postgres', 'UPDATE player_scores SET score = score + player_id % 3');
same_by($pitr, 'postgres', 'index', 'recovery to a point in time: goes on');
verified('recovery to a point in time', $pitr);
$pitr->stop;

#
# A commit with remote_apply returns when a standby has it in its index.
#

$old->append_conf('postgresql.conf', "synchronous_standby_names = 'new'");
$old->reload;
ok($old->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'}), 'the standby is synchronous');
# The checkpointer tells those that commit.
$old->safe_psql('postgres', 'CHECKPOINT');
my $writer = open_session($old, 'postgres');
my $reader = open_session($new, 'postgres');
my $wrong = 0;
$writer->query('SET synchronous_commit = remote_apply');
my ($index, $queries) = reads($new, 'postgres');
for my $i (1 .. 300)
{
	$writer->query("UPDATE player_scores SET score = 1000 + $i WHERE player_id = 1 + $i % 50");
	my $got = $reader->query("SELECT lb_rank(1 + $i % 50), lb_score(1 + $i % 50)");

	next if $got eq '1|' . (1000 + $i);
	diag("commit $i: $got");
	$wrong++;
}
is($wrong, 0, 'remote_apply: each commit is read on the standby');
$_->quit for $writer, $reader;
my ($index_after, $queries_after) = reads($new, 'postgres');
cmp_ok($index_after - $index, '>=', 600, 'remote_apply: by the index');
is($queries_after, $queries, 'remote_apply: not by queries');
$old->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$old->reload;
ok($old->poll_query_until('postgres', q{SELECT current_setting('synchronous_standby_names') = ''}), 'no longer synchronous');

#
# A session on a standby compares all the time, in statements and in transactions.
#

my $script = $old->basedir . '/compare.sql';
append_to_file($script, <<'END');
SELECT count(*) AS wrong FROM
	(SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r FROM player_scores) s
	WHERE r IS DISTINCT FROM lb_rank(player_id)
\gset
\if :wrong > 0
SELECT wrong_ranks;
\endif
SELECT count(*) AS wrong FROM
	(SELECT player_id, window_key, row_number() OVER (PARTITION BY window_key ORDER BY score DESC, updated_at, player_id) AS r
	FROM player_score_windows) s
	WHERE r IS DISTINCT FROM lb_rank(player_id, window_key)
\gset
\if :wrong > 0
SELECT wrong_ranks_of_windows;
\endif
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT lb_count() AS n, (SELECT sum(member * score) FROM lb_top(100000)) AS sum
\gset
SELECT count(*) AS n2, sum(player_id * score) AS sum2 FROM player_scores
\gset
SELECT lb_count() AS n3, (SELECT sum(member * score) FROM lb_top(100000)) AS sum3
\gset
COMMIT;
\if :n <> :n2 or :sum <> :sum2 or :n <> :n3 or :sum <> :sum3
SELECT wrong_top;
\endif
END

sub start_comparing
{
	my ($node) = @_;
	my %run = (out => '', node => $node);

	$run{handle} = IPC::Run::start(
		[ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-T', 600, '-c', 1, '-f', $script, 'dbname=postgres application_name=comparing' ],
		'<', \undef, '&>', \$run{out});
	return \%run;
}

# Wait for more comparisons.
sub compared
{
	my ($run, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($index, $queries) = reads($run->{node}, 'postgres');

	return ok( $run->{node}->poll_query_until('postgres', "SELECT sum(index_reads) + sum(query_reads) > $index + $queries + 5000 FROM lb_stat_board"),
		"$what: a session compares");
}

sub stop_comparing
{
	my ($run, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is($run->{node}->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'comparing'}), '1', "$what: the session is still there");
	$run->{handle}->kill_kill;
	$run->{handle}->finish;
	return unlike($run->{out}, qr/ERROR|FATAL|abort/, "$what: no comparison has found a difference") || diag($run->{out});
}

my $writers = start_writers($old, 'postgres', $players, 600);
my @comparing = map { start_comparing($_) } $new, $cascaded;
compared($_, 'under load') for @comparing;
my %before = map { $_->name => [ reads($_, 'postgres'), builds($_) ] } $new, $cascaded;
$old->stop('immediate');
stop_writers($writers, 1);
compared($_, 'the primary is down') for @comparing;
$new->promote;
compared($comparing[0], 'promoted');
ok($new->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'promoted: it is a primary');
$writers = start_writers($new, 'postgres', $players, 600);
compared($_, 'promoted, and written to') for @comparing;
for my $node ($new, $cascaded)
{
	my $name = $node->name;
	my ($index, $queries, $builds) = @{ $before{$name} };
	my ($index_after, $queries_after) = reads($node, 'postgres');

	cmp_ok($index_after - $index, '>', 9 * ($queries_after - $queries), "$name: nearly all reads are by the index");
	is(builds($node), $builds, "$name: nothing was built");
}
stop_comparing($_, $_->{node}->name) for @comparing;
$writers->{handle}->kill_kill;
$new->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'}) or die 'there are writers';
same_by($new, 'postgres', 'index', 'promoted, afterwards');
same($new, $cascaded, 'cascaded, afterwards');
verified('promoted', $new, $cascaded);

# The archive has the new timeline, too.
$lsn = $new->lsn('flush');
archive_all($new);
$archived->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") or die 'WAL of the new timeline does not come by the archive';
same_by($archived, 'postgres', 'index', 'archive, another timeline');
is(builds($archived), $archived_builds, 'archive: nothing was built');
$archived->stop;

#
# The old primary has gone on by itself, and comes back as a standby.
#

$old->start;
$old->safe_psql('postgres', 'UPDATE player_scores SET score = 7 * score + 1; DELETE FROM player_score_windows');
$old->stop;
# Before PostgreSQL 16 pg_rewind learns of the new timeline by a checkpoint.
$new->safe_psql('postgres', 'CHECKPOINT');
command_ok([ 'pg_rewind', '--source-server', $new->connstr('postgres'), '--target-pgdata', $old->data_dir ], 'pg_rewind');
$old->append_conf('postgresql.conf', 'port = ' . $old->port . "\nprimary_conninfo = '" . $new->connstr . "'\nunix_socket_directories = '" . $old->host . "'");
$old->append_conf('standby.signal', '');
$old->start;
$new->safe_psql('postgres', 'UPDATE player_scores SET score = score + 2');
same($new, $old, 'after pg_rewind');
$new->safe_psql('postgres', q{UPDATE player_scores SET score = score + player_id % 3; INSERT INTO player_score_windows VALUES (5000, 'weekly:1', 3)});
same($new, $old, 'after pg_rewind, and then');
verified('after pg_rewind', $new, $cascaded, $old);

#
# A switchover, back to the old one: no server builds anything.
#

my $builds = builds($old);
$new->stop;
$old->promote;
same_by($old, 'postgres', 'index', 'switchover');
ok($old->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'switchover: done');
$old->safe_psql('postgres', 'UPDATE player_scores SET score = score + 5');
same_by($old, 'postgres', 'index', 'switchover, and changes');
is(builds($old), $builds, 'switchover: nothing was built');
$new->append_conf('postgresql.conf', "primary_conninfo = '" . $old->connstr . "'");
$new->append_conf('standby.signal', '');
$new->start;
$old->safe_psql('postgres', 'UPDATE player_scores SET score = score + player_id % 4');
same($old, $new, 'switchover, the other one');
same($old, $cascaded, 'switchover, cascaded');
verified('switchover', $old, $new, $cascaded);

$_->stop for $cascaded, $new, $old;
for my $node ($old, $new, $cascaded, $archived, $pitr)
{
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $node->name);
}
done_testing();
