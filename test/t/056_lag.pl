# How far a server is behind the one that it follows: a subscriber of a server that does
# not have the library, and a standby.  What lb_wait_for() says is there is visible.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $main = PostgreSQL::Test::Cluster->new('main');
init_node($main, allows_streaming => 'logical');
$main->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 5\nlogical_decoding_work_mem = 64kB");
my $subscriber = lb_node('subscriber', <<'END', allows_streaming => 1);
autovacuum = off
max_worker_processes = 16
wal_retrieve_retry_interval = 200ms
leaderboard.maintenance_interval = 0
END
$_->start for $main, $subscriber;

my $players = 500;
$main->safe_psql('postgres', qq{
CREATE TABLE player_scores (player_id bigint PRIMARY KEY, score bigint NOT NULL, updated_at timestamptz NOT NULL DEFAULT '2026-01-01');
INSERT INTO player_scores SELECT g, g * 1000 FROM generate_series(1, $players) g;
CREATE TABLE apart (i int);
CREATE TABLE later (i int PRIMARY KEY);
INSERT INTO later SELECT generate_series(1, 10);
CREATE PUBLICATION p FOR TABLE player_scores});
$subscriber->safe_psql('postgres', q{
CREATE EXTENSION leaderboard;
SELECT lb_create_tables();
CREATE TABLE later (i int PRIMARY KEY);
CREATE ROLE app;
GRANT SELECT ON player_scores TO app});
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM lb_lag()'), '0', 'no subscription, no row');
my $connstr = $main->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p");

# Write on the main server, and return the LSN after it.
sub write_main
{
	my ($sql) = @_;

	$main->safe_psql('postgres', $sql);
	return $main->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
}

# lb_wait_for() on a server
sub wait_for
{
	my ($node, $lsn, $timeout, $subscription) = @_;

	return $node->safe_psql('postgres', "SELECT lb_wait_for('$lsn', '$timeout'" . (defined $subscription ? ", '$subscription'" : '') . ')');
}

sub lag_is
{
	my ($condition, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok($subscriber->poll_query_until('postgres', "SELECT $condition FROM lb_lag() WHERE subscription = 's'"), $what)
	  || diag($subscriber->safe_psql('postgres', 'SELECT * FROM lb_lag()'));
}

# Each write is there, with its rank on the board.
sub writes_are_there
{
	my ($what, $n, $write) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $writer = open_session($main, 'postgres', on_error_stop => 1);
	my $reader = open_session($subscriber, 'postgres', on_error_stop => 1);
	my @wrong;

	for my $i (1 .. $n)
	{
		my $player = 1 + $i * 37 % $players;
		my $score = 1000 * (1 + $i * 7919 % $players) + $i % 900 + 1;
		my $lsn = $writer->query($write->($player, $score) . '; SELECT pg_current_wal_insert_lsn()');
		my $rank = $writer->query("SELECT count(*) + 1 FROM player_scores WHERE player_id < 10000
			AND (score > $score OR score = $score AND player_id < $player)");

		push @wrong, "$i: not there in time" if $reader->query("SELECT lb_wait_for('$lsn', '5 min')") ne 't';
		my $found = $reader->query("SELECT lb_score($player) || ' ' || lb_rank($player)");
		push @wrong, "$i: $found, not $score $rank" if $found ne "$score $rank";
	}
	$_->quit for $writer, $reader;
	return is(join("\n", @wrong), '', "$what: what is written is there, $n times");
}

my $update = sub { "UPDATE player_scores SET score = $_[1] WHERE player_id = $_[0]" };

my $lsn = write_main(q{UPDATE player_scores SET score = 7 WHERE player_id = 1});
is(wait_for($subscriber, $lsn, '5 min'), 't', 'the copy is waited for');
is($subscriber->safe_psql('postgres', 'SELECT count(*), min(score) FROM player_scores'), "$players|7", 'and is there');
wait_ready($subscriber, 'postgres');
writes_are_there('idle', 200, $update);
writes_are_there('savepoints', 30, sub { 'BEGIN; SAVEPOINT x; ' . $update->(@_) . '; RELEASE x; COMMIT' });

# While others write; these players are behind all others.
$main->safe_psql('postgres', 'INSERT INTO player_scores SELECT g, -g FROM generate_series(10001, 10100) g');
my $file = $main->basedir . '/busy.sql';
PostgreSQL::Test::Utils::append_to_file($file, <<'END');
\set a random(10001, 10100)
UPDATE player_scores SET score = score - 1 WHERE player_id = :a;
END
my $out = '';
my $busy = IPC::Run::start([ 'pgbench', '-n', '-h', $main->host, '-p', $main->port, '-T', 600, '-c', 2, '-f', $file, 'postgres' ],
	'<', \undef, '&>', \$out);
writes_are_there('busy', 200, $update);
$busy->signal('TERM');
$busy->finish;

# What lb_lag() shows of a server that follows
$lsn = write_main('SELECT');
is(wait_for($subscriber, $lsn, '5 min'), 't', 'nothing is behind');
lag_is(q{state = 'streaming' AND reason IS NULL AND received_lsn IS NOT NULL AND applied_lsn >= received_lsn AND lag_bytes = 0
	AND as_of <= clock_timestamp() AND lag >= '0' AND copying = 0}, 'streaming');

# Nothing of a commit is published, or changes anything here; or the next record begins
# behind the header of a page.
is(wait_for($subscriber, write_main('INSERT INTO apart VALUES (1)'), '5 min'), 't', 'a commit of which nothing is published');
$subscriber->safe_psql('postgres', 'DELETE FROM player_scores WHERE player_id = 2');
is(wait_for($subscriber, write_main('UPDATE player_scores SET score = 8 WHERE player_id = 2'), '5 min'), 't', 'a commit that finds no row');

# The background writer would write the next record within seconds.
my $background_writer = $main->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'});
kill 'STOP', $background_writer;
is(wait_for($subscriber, write_main('DELETE FROM player_scores WHERE player_id = 2; SELECT pg_switch_wal()'), '1 min'), 't', 'the end of a segment');
kill 'CONT', $background_writer;
my $after = $main->safe_psql('postgres', q{SELECT pg_current_wal_insert_lsn() + 100000000});
is(wait_for($subscriber, $after, '100 ms'), 'f', 'what was never written');
is($subscriber->safe_psql('postgres', "SELECT lb_wait_for('$lsn', NULL), lb_wait_for('$lsn', '-1 s'), lb_wait_for('$lsn', '0', 's')"), 't|t|t', 'timeouts');

# Large transactions, which come in pieces
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s SET (streaming = on)');
for my $i (1 .. 5)
{
	$lsn = write_main("UPDATE player_scores SET score = 1000 * player_id + $i WHERE player_id < 1000; INSERT INTO player_scores SELECT g, -g FROM generate_series(20000 + 5000 * $i, 24999 + 5000 * $i) g");
	is(wait_for($subscriber, $lsn, '5 min'), 't', "streamed, $i");
	is($subscriber->safe_psql('postgres', 'SELECT lb_score(7), count(*) FROM player_scores WHERE player_id >= 20000'), 7000 + $i . '|' . 5000 * $i, "... and there, $i");
}

# The worker has written its commit record, and set its progress; the commit is not
# visible yet, since the worker waits for a standby that there is not.
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s SET (synchronous_commit = on)');
is(wait_for($subscriber, write_main('UPDATE player_scores SET score = 30 WHERE player_id = 3'), '5 min'), 't', 'before');
for my $prepared (0, 1)
{
	my $what = $prepared ? 'COMMIT PREPARED' : 'COMMIT';
	my $score = 31 + $prepared;

	if ($prepared)
	{
		# Only a new subscription has it.
		$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
		$subscriber->safe_psql('postgres',
			"CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p WITH (two_phase = on, copy_data = off, synchronous_commit = on)");
		$main->poll_query_until('postgres', q{SELECT two_phase FROM pg_replication_slots WHERE slot_name = 's'}) or die 'no two_phase';
		$lsn = write_main("BEGIN; UPDATE player_scores SET score = $score WHERE player_id = 3; PREPARE TRANSACTION 'x'");
		is(wait_for($subscriber, $lsn, '5 min'), 't', 'prepared');
	}
	my $before = $subscriber->safe_psql('postgres', 'SELECT lb_score(3)');

	$subscriber->append_conf('postgresql.conf', q{synchronous_standby_names = 'nobody'});
	$subscriber->reload;
	$subscriber->poll_query_until('postgres', q{SELECT current_setting('synchronous_standby_names') = 'nobody'});
	# The checkpointer tells the others.
	$subscriber->safe_psql('postgres', 'CHECKPOINT');
	my $begin = $main->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	$lsn = write_main($prepared ? q{COMMIT PREPARED 'x'} : "UPDATE player_scores SET score = $score WHERE player_id = 3");
	ok($subscriber->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
			WHERE backend_type LIKE 'logical replication%worker' AND wait_event = 'SyncRep'}), "$what: the worker is between its record and its end");
	is($subscriber->safe_psql('postgres', "SELECT remote_lsn > '$begin' FROM pg_replication_origin_status WHERE remote_lsn > '0/0' ORDER BY remote_lsn DESC LIMIT 1"),
		't', "$what: with the progress");
	is(wait_for($subscriber, $lsn, '300 ms'), 'f', "$what: it is not there yet");
	is($subscriber->safe_psql('postgres', 'SELECT lb_score(3)'), $before, "$what: as reads see");
	$subscriber->append_conf('postgresql.conf', q{synchronous_standby_names = ''});
	$subscriber->reload;
	is(wait_for($subscriber, $lsn, '5 min'), 't', "$what: now it is");
	is($subscriber->safe_psql('postgres', 'SELECT lb_score(3)'), $score, "$what: as reads see");
}
writes_are_there('two phases', 30, sub { 'BEGIN; ' . $update->(@_) . q{; PREPARE TRANSACTION 'y'; COMMIT PREPARED 'y'} });
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p WITH (copy_data = off)");

# The worker waits for a lock: what was before is there.
my $locker = open_session($subscriber, 'postgres', on_error_stop => 1);
$locker->query_safe('BEGIN; UPDATE player_scores SET score = score WHERE player_id = 5');
my $first = write_main('UPDATE player_scores SET score = 60 WHERE player_id = 6');
$lsn = write_main('UPDATE player_scores SET score = 50 WHERE player_id = 5');
lag_is(q{state = 'streaming' AND reason = 'the worker waits for a lock'}, 'the worker waits for a lock');
is(wait_for($subscriber, $first, '5 min'), 't', '... and what was before is there');
is($subscriber->safe_psql('postgres', 'SELECT lb_score(6)'), '60', '... to be read');
is(wait_for($subscriber, $lsn, '100 ms'), 'f', '... and no more');
is($subscriber->safe_psql('postgres', q{SET ROLE app; SELECT state, reason IS NULL FROM lb_lag()}), 'streaming|t', 'others see no reason');
is($subscriber->safe_psql('postgres', "SET ROLE app; SELECT lb_wait_for('$first')"), 't', '... and may wait');
$locker->query_safe('ROLLBACK');
is(wait_for($subscriber, $lsn, '5 min'), 't', '... until it has the lock');

# A table is copied: it waits for a lock.
$main->safe_psql('postgres', 'ALTER PUBLICATION p ADD TABLE later');
$subscriber->safe_psql('postgres', 'INSERT INTO later VALUES (5)');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s REFRESH PUBLICATION');
lag_is(q{state = 'conflict' AND reason LIKE '%duplicate key%later_pkey%' AND copying = 1}, 'a copy that fails');
$lsn = write_main('INSERT INTO later VALUES (11)');
is(wait_for($subscriber, $lsn, '100 ms'), 'f', 'a table that is not copied is not there');
$locker->query_safe('BEGIN; LOCK TABLE later; DELETE FROM later');
lag_is(q{copying = 1}, 'a copy that waits');
is(wait_for($subscriber, $lsn, '100 ms'), 'f', '... is not there');
$locker->query_safe('COMMIT');
is(wait_for($subscriber, $lsn, '5 min'), 't', 'the copy is done');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM later'), '11', '... and there');
lag_is(q{state = 'streaming' AND reason IS NULL AND copying = 0}, '... and over');

# A conflict
$subscriber->safe_psql('postgres', 'INSERT INTO player_scores VALUES (999, 5)');
$lsn = write_main('INSERT INTO player_scores VALUES (999, 6)');
lag_is(q{state = 'conflict' AND reason LIKE '%player_scores%'}, 'a conflict');
is(wait_for($subscriber, $lsn, '300 ms'), 'f', '... keeps what comes after away');
is($subscriber->safe_psql('postgres', q{SET ROLE app; SELECT state, reason IS NULL FROM lb_lag()}), 'conflict|t', '... others see no reason');
is($subscriber->safe_psql('postgres', q{GRANT pg_monitor TO app; SET ROLE app; SELECT reason IS NULL FROM lb_lag(); RESET ROLE; REVOKE pg_monitor FROM app}), 'f', '... but pg_monitor');
$subscriber->safe_psql('postgres', 'DELETE FROM player_scores WHERE player_id = 999');
is(wait_for($subscriber, $lsn, '5 min'), 't', '... until the row is gone');
is($subscriber->safe_psql('postgres', 'SELECT lb_score(999)'), '6', '... and then it is there');
lag_is(q{state = 'streaming' AND reason IS NULL}, '... and over');

# A long message is cut between two characters.
$main->safe_psql('postgres', 'CREATE PUBLICATION texts FOR TABLE later');
$subscriber->safe_psql('postgres', q{CREATE DATABASE texts TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'});
$subscriber->safe_psql('texts', qq{CREATE EXTENSION leaderboard;
CREATE TABLE later (i int PRIMARY KEY);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN RAISE '%', repeat(chr(233), 200); END \$\$;
CREATE TRIGGER refuse BEFORE INSERT ON later FOR EACH ROW EXECUTE FUNCTION refuse();
ALTER TABLE later ENABLE ALWAYS TRIGGER refuse;
CREATE SUBSCRIPTION texts CONNECTION '$connstr' PUBLICATION texts});
ok($subscriber->poll_query_until('texts', q{SELECT state = 'conflict' AND reason = repeat(chr(233), 127) FROM lb_lag()}), 'a long message');
$subscriber->safe_psql('texts', 'DROP SUBSCRIPTION texts');
retry_accessed($subscriber, 'DROP DATABASE texts');
$main->safe_psql('postgres', 'DROP PUBLICATION texts');

# The main server is away
$first = $lsn;
$main->stop;
lag_is(q{state = 'stalled' AND reason LIKE '%could not connect%' AND lag IS NULL}, 'the main server is away');
is(wait_for($subscriber, $first, '5 min'), 't', '... and what was before is there');
is(wait_for($subscriber, $after, '100 ms'), 'f', '... and no more');
$main->start;
is(wait_for($subscriber, write_main('SELECT'), '5 min'), 't', '... until it is back');
lag_is(q{state = 'streaming' AND reason IS NULL}, '... and over');

# Disabled, and another subscription
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION other CONNECTION '$connstr' PUBLICATION p WITH (enabled = off, create_slot = off, connect = off)");
is($subscriber->safe_psql('postgres', q{SELECT subscription, state, received_lsn IS NULL, lag_bytes IS NULL, lag IS NULL FROM lb_lag() ORDER BY 1}),
	"other|disabled|t|t|t\ns|streaming|f|f|f", 'a subscription that is disabled');
$lsn = write_main('UPDATE player_scores SET score = 70 WHERE player_id = 7');
is(wait_for($subscriber, $lsn, '1 h'), 'f', '... is not waited for');
is(wait_for($subscriber, $lsn, '5 min', 's'), 't', '... nor by those who wait for another one');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION other SET (slot_name = NONE); DROP SUBSCRIPTION other');
$first = $lsn;
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s DISABLE');
lag_is(q{state = 'disabled' AND applied_lsn IS NOT NULL}, 'disabled');
$lsn = write_main('UPDATE player_scores SET score = 80 WHERE player_id = 8');
is(wait_for($subscriber, $first, '1 h'), 't', '... and what was before is there');
is(wait_for($subscriber, $lsn, '1 h'), 'f', '... and no more');
my $waiter = open_session($subscriber, 'postgres');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s ENABLE');
is(wait_for($subscriber, $lsn, '5 min'), 't', 'enabled again');

# A wait ends with what it waits for, and by a signal.
my $pid = $waiter->query('SELECT pg_backend_pid()');
$waiter->query_until(qr/begun/, "\\echo begun\nSELECT lb_wait_for('$after', NULL);\n");
$subscriber->poll_query_until('postgres', "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not wait';
is($subscriber->safe_psql('postgres', "SELECT pg_cancel_backend($pid)"), 't', 'cancelled');
ok($subscriber->poll_query_until('postgres', "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid"), '... and it has ended');
$waiter->query_until(qr/begun/, "\\echo begun\nSELECT lb_wait_for('$after', NULL);\n");
$subscriber->poll_query_until('postgres', "SELECT state = 'active' AND wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not wait';
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
ok($subscriber->poll_query_until('postgres', "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid"), 'it ends with the subscription');
$waiter->quit;
fails_with($subscriber, 'postgres', "SELECT lb_wait_for('$lsn');", '55000', qr/this server follows no other one.*HINT/s, 'no subscription any more');

# What the main server knows, by the statement of the documentation; a slot is lost.
my ($of_slots) = slurp_file("$FindBin::RealBin/../../docs/monitoring.md") =~ /^### On the main server\n.*?^```sql\n(.*?);\n```/ms;
my $slot = sub { return "SELECT $_[0] FROM ($of_slots) s WHERE slot_name = 's'" };
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p WITH (copy_data = off)");
is(wait_for($subscriber, write_main('SELECT'), '5 min'), 't', 'subscribed again');
ok($main->poll_query_until('postgres', $slot->(q{state = 'streaming' AND lag_bytes = 0 AND kept_bytes >= 0 AND bytes_to_full IS NULL})), 'the slot on the main server');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s DISABLE');
$main->append_conf('postgresql.conf', "max_slot_wal_keep_size = '1MB'\nwal_keep_size = 0\nmax_wal_size = 1GB");
$main->reload;
$lsn = write_main('UPDATE player_scores SET score = 2 WHERE player_id = 4');
ok($main->poll_query_until('postgres', $slot->(q{state = 'not connected' AND lag_bytes > 0 AND bytes_to_full > 0})), '... is not used');
$main->safe_psql('postgres', 'SELECT pg_switch_wal(); INSERT INTO apart VALUES (1)') for 1 .. 3;
is($main->safe_psql('postgres', $slot->(q{state})), 'full', '... is full');
$main->safe_psql('postgres', 'CHECKPOINT; CHECKPOINT');
is($main->safe_psql('postgres', $slot->(q{state})), 'lost', '... is lost');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s ENABLE');
lag_is(q{state = 'stalled' AND reason LIKE '%replication slot%'}, 'and the subscriber is stalled');
is(wait_for($subscriber, $lsn, '100 ms'), 'f', '... and waits');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s');

# The subscriber's standby.  Replay waits for ever for those who need what it removes.
my $standby = standby_of($subscriber, 'standby', <<'END');
hot_standby_feedback = off
max_standby_streaming_delay = -1
END
$standby->start;

sub write_primary
{
	my ($sql) = @_;

	$subscriber->safe_psql('postgres', $sql);
	return $subscriber->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
}

my @wrong;
for my $i (1 .. 50)
{
	$lsn = write_primary("UPDATE player_scores SET score = 100 * $i WHERE player_id = 9");
	push @wrong, "$i: not there in time" if wait_for($standby, $lsn, '5 min') ne 't';
	my $found = $standby->safe_psql('postgres', 'SELECT lb_score(9)');
	push @wrong, "$i: $found" if $found ne 100 * $i;
}
is(join("\n", @wrong), '', 'a standby: what is written is there');
ok($standby->poll_query_until('postgres', q{SELECT subscription IS NULL AND state = 'streaming' AND lag_bytes = 0 AND lag IS NOT NULL
	AND applied_lsn >= received_lsn AND copying = 0 FROM lb_lag()}), 'a standby: lb_lag()');
is(wait_for($standby, write_primary('SELECT pg_switch_wal()'), '5 min'), 't', 'a standby: the end of a segment');
fails_with($standby, 'postgres', "SELECT lb_wait_for('$lsn', '1 s', 's');", '55000', qr/standby applies no subscription/, 'a standby: a subscription');

$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'});
$first = $lsn;
$lsn = write_primary('UPDATE player_scores SET score = 1 WHERE player_id = 9');
is(wait_for($standby, $first, '5 min'), 't', 'paused: what was before is there');
is(wait_for($standby, $lsn, '100 ms'), 'f', 'paused: and no more');
ok($standby->poll_query_until('postgres', q{SELECT state = 'paused' AND lag_bytes > 0 FROM lb_lag()}), 'paused: lb_lag()');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
is(wait_for($standby, $lsn, '5 min'), 't', 'resumed');

# Replay removes rows that the waiting statement could have seen.
$lsn = write_primary('CREATE TABLE gone AS SELECT generate_series(1, 1000) AS i');
is(wait_for($standby, $lsn, '5 min'), 't', 'before');
$waiter = open_session($standby, 'postgres');
$pid = $waiter->query('SELECT pg_backend_pid()');
$lsn = $subscriber->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn() + 200000');
$waiter->query_until(qr/begun/, "\\echo begun\nSELECT lb_wait_for('$lsn', NULL) AS there;\n");
$standby->poll_query_until('postgres', "SELECT state = 'active' AND wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not wait';
$subscriber->safe_psql('postgres', 'DELETE FROM gone');
$subscriber->safe_psql('postgres', 'VACUUM gone');
$subscriber->safe_psql('postgres', q{CREATE TABLE much AS SELECT repeat('x', 1000) AS x FROM generate_series(1, 1000)});
ok($standby->poll_query_until('postgres', "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid"), 'a waiting statement does not hold up replay');
is($waiter->query('SELECT count(*) FROM gone'), "t\n0", 'and has waited');

# A query within a statement that still reads by the same snapshot holds it.
$lsn = write_primary(q{CREATE FUNCTION waits(lsn pg_lsn) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
DECLARE
	there boolean;
BEGIN
	FOR there IN SELECT lb_wait_for(lsn, NULL) LOOP
	END LOOP;
	RETURN there;
END $$});
is(wait_for($standby, $lsn, '5 min'), 't', 'a function');
$lsn = $subscriber->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn() + 200000');
$waiter->query_until(qr/begun/, "\\echo begun\nSELECT waits('$lsn') AS there;\n");
$standby->poll_query_until('postgres', "SELECT state = 'active' AND wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not wait';
is($standby->safe_psql('postgres', "SELECT backend_xmin IS NOT NULL FROM pg_stat_activity WHERE pid = $pid"), 't', 'a snapshot that is needed is held');
$subscriber->safe_psql('postgres', q{CREATE TABLE more AS SELECT repeat('x', 1000) AS x FROM generate_series(1, 1000)});
is($waiter->query('SELECT 1'), "t\n1", 'and the function has waited');

# Promoted: what was not replayed never will be.
$waiter->query_until(qr/begun/, "\\echo begun\nSELECT lb_wait_for('FFFF/0', NULL) AS there;\n");
$standby->poll_query_until('postgres', "SELECT state = 'active' AND wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not wait';
$standby->promote;
is($waiter->query('SELECT pg_is_in_recovery()'), "f\nf", 'a promotion ends the wait');
$waiter->quit;

$locker->quit;
$_->stop for $standby, $subscriber, $main;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $_->name)
  for $standby, $subscriber, $main;
done_testing();
