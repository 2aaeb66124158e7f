# The worker that closes windows: by itself, after a crash, beside commands on the
# database.  Its results survive dump and restore.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $players = 20000;
my $node = lb_node('maintenance', "leaderboard.maintenance_interval = '1s'\n");
$node->start;

sub make
{
	my ($db, $n) = @_;

	$node->safe_psql($db, qq{
		CREATE EXTENSION leaderboard;
		SELECT lb_create_tables();
		SELECT lb_open_window('daily', keep => '1000 years', archive_top => 5);
		SELECT lb_open_window('weekly', keep => '1000 years');
		SELECT lb_submit_many(array_agg(g), array_agg(g), at => '2026-04-09') FROM generate_series(1, $n) g;
		SELECT lb_submit_many(array_agg(g), array_agg(g), at => '2026-04-10') FROM generate_series(1, 10) g;
		UPDATE player_score_windows SET ranked = false WHERE player_id = $n});
	wait_ready($node, $db);
	return;
}

sub over
{
	my ($db) = @_;

	$node->safe_psql($db, q{UPDATE lb_window SET keep = '1 day' WHERE name = 'daily'});
	return;
}

sub gone
{
	my ($db, $what) = @_;

	ok($node->poll_query_until($db, q{SELECT count(*) = 2 FROM lb_closed WHERE removed_at IS NOT NULL}), "$what: removed");
	is($node->safe_psql($db, q{SELECT board, members FROM lb_closed ORDER BY 1}),
		'daily:20260409|' . ($players - 1) . "\ndaily:20260410|10", "$what: closed");
	is($node->safe_psql($db, q{SELECT board, place, member, score FROM lb_archive WHERE place IN (1, 5) ORDER BY 1, 2}),
		join("\n", 'daily:20260409|1|' . ($players - 1) . '|' . ($players - 1),
			'daily:20260409|5|' . ($players - 5) . '|' . ($players - 5), 'daily:20260410|1|10|10', 'daily:20260410|5|6|6'),
		"$what: archived, once");
	is($node->safe_psql($db, q{SELECT DISTINCT window_key FROM player_score_windows}), 'weekly:202615', "$what: rows");
	ok($node->poll_query_until($db, q{SELECT NOT EXISTS (SELECT FROM lb_stat_board WHERE board LIKE 'daily:%')}),
		"$what: the memory is back");
	is($node->safe_psql($db, q{SELECT * FROM lb_verify()}), '', "$what: index and table are equal");
	return;
}

# By itself; what is not due stays.
make('postgres', $players);
$node->safe_psql('postgres', q{
	SELECT lb_open_window('tourney:due', starts => now() - interval '2 s', ends => now() - interval '1 s', late => '0', keep => '1000 years');
	INSERT INTO player_score_windows VALUES (1, 'tourney:due', 1)});
ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM lb_closed})
	  && $node->poll_query_until('postgres', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = 'postgres' AND backend_type = 'leaderboard maintenance')}),
	'a visit');
is($node->safe_psql('postgres', q{SELECT board FROM lb_closed}), 'tourney:due', 'nothing else is due');
$node->safe_psql('postgres', q{
	DELETE FROM lb_window WHERE name = 'tourney:due';
	DELETE FROM player_score_windows WHERE window_key = 'tourney:due';
	DELETE FROM lb_archive;
	DELETE FROM lb_closed});
over('postgres');
gone('postgres', 'by itself');
is($node->safe_psql('postgres', q{SELECT string_agg(board || ' ' || applied, ', ') FROM lb_submit(1, 1, at => '2026-04-09')}),
	'global true, daily:20260409 false, weekly:202615 true', 'a closed window is not written to');

# A crash in the middle.
$node->safe_psql('postgres', 'CREATE DATABASE crash');
make('crash', $players);
over('crash');
ok($node->poll_query_until('crash', q{SELECT count(*) > 0 FROM lb_closed}), 'it has begun');
$node->stop('immediate');
$node->start;
gone('crash', 'after a crash');

# A command on the database does not wait for it, though it has much to do: more than
# the command may take.
$node->safe_psql('postgres', 'CREATE DATABASE busy');
make('busy', $players);
$node->safe_psql('busy', q{
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.player_id % 20 = 0 THEN PERFORM pg_sleep(0.1); END IF; RETURN OLD; END $$;
	CREATE TRIGGER slow BEFORE DELETE ON player_score_windows FOR EACH ROW EXECUTE FUNCTION slow()});
over('busy');
ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = 'busy' AND backend_type = 'leaderboard maintenance'}),
	'the worker is at work');
ok(retry_accessed($node, 'CREATE DATABASE copy TEMPLATE busy', 20), 'a copy of the database can be made');
ok(retry_accessed($node, 'DROP DATABASE busy', 20), 'the database can be dropped');
$node->safe_psql('copy', 'DROP TRIGGER slow ON player_score_windows');
wait_ready($node, 'copy');
gone('copy', 'in the copy');

# A superuser's worker runs a trigger of the owner's as the owner.  It waits for a lock for
# half of deadlock_timeout.
$node->safe_psql('postgres', q{CREATE ROLE owner; CREATE DATABASE owned});
make('owned', $players);
$node->safe_psql('owned', q{
	CREATE TABLE who (name name, waits text);
	GRANT INSERT ON who TO owner;
	ALTER TABLE player_score_windows OWNER TO owner;
	CREATE FUNCTION who() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.who VALUES (current_user, current_setting('lock_timeout')); RETURN NULL; END $$;
	CREATE TRIGGER who AFTER DELETE ON player_score_windows EXECUTE FUNCTION who()});
over('owned');
gone('owned', 'of another owner');
is($node->safe_psql('owned', 'SELECT DISTINCT name, waits FROM who'), 'owner|500ms', 'triggers run as the owner, and wait for so long');

# The worker does not wait for a locked table, and tries again later.  It also closes
# and removes a window that is on no board because all its players are hidden.
$node->safe_psql('postgres', 'CREATE DATABASE hidden');
make('hidden', $players);
$node->safe_psql('hidden', q{
	UPDATE player_score_windows SET ranked = false WHERE window_key LIKE 'daily:%';
	BEGIN;
	LOCK TABLE player_score_windows;
	PREPARE TRANSACTION 'lock'});
over('hidden');
ok($node->wait_for_log(qr/LOG:  could not .*lock timeout/), 'the worker does not wait for a lock for long');
$node->safe_psql('hidden', q{COMMIT PREPARED 'lock'});
ok($node->poll_query_until('hidden', q{SELECT count(*) = 2 FROM lb_closed WHERE removed_at IS NOT NULL AND members = 0}),
	'windows without a board are removed');
is($node->safe_psql('hidden', q{SELECT DISTINCT window_key FROM player_score_windows}), 'weekly:202615', 'with all rows');

# The worker removes old counts of limits in batches, and reads the table once rather
# than from its beginning for each batch.
# Each visit reads what has stayed, so there are few.
$node->safe_psql('postgres', 'CREATE DATABASE counted');
make('counted', 10);
$node->append_conf('postgresql.conf', "leaderboard.maintenance_interval = '10s'");
$node->reload;
$node->safe_psql('counted', q{
	SELECT lb_set_limit('stays', 'global', max_submits => 10);
	INSERT INTO lb_usage (limit_name, board, player_id, amount, submits) SELECT 'stays', 'global', g, 1, 1 FROM generate_series(1, 40000) g;
	INSERT INTO lb_usage (limit_name, board, player_id, amount, submits) SELECT 'gone', 'global', g, 1, 1 FROM generate_series(1, 60000) g});
ok($node->poll_query_until('counted', q{SELECT n_tup_del = 60000 FROM pg_stat_user_tables WHERE relname = 'lb_usage'}), 'counts are trimmed');
my $read = $node->safe_psql('counted', q{SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'lb_usage'});
cmp_ok($read, '<', 800000, 'they have not been read for each batch');
$node->append_conf('postgresql.conf', "leaderboard.maintenance_interval = '1s'");
is($node->safe_psql('counted', q{SELECT limit_name, count(*) FROM lb_usage GROUP BY 1}), 'stays|40000', 'what counts has stayed');

# One visit removes all old rows, also where a user's index has them in another order
# than the table.
$node->safe_psql('counted', q{
	BEGIN;
	ALTER TABLE lb_event SET (autovacuum_enabled = off);
	CREATE INDEX ON lb_event (submitted_at);
	CREATE TABLE visits (pid integer, removed bigint);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.visits SELECT pg_backend_pid(), count(*) FROM gone; RETURN NULL; END $$;
	CREATE TRIGGER note AFTER DELETE ON lb_event REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note();
	INSERT INTO lb_event (player_id, op, amount, at, boards, scores, submitted_at)
	SELECT g, 'incr', 1, now(), '{global}', '{1}', now() - interval '1 day' - g * interval '1 s' FROM generate_series(1, 100000) g;
	INSERT INTO lb_event (player_id, op, amount, at, boards, scores, submitted_at)
	SELECT g, 'incr', 1, now(), '{global}', '{1}', now() - interval '31 days' - g * interval '1 s' FROM generate_series(1, 10000) g;
	ANALYZE lb_event;
	COMMIT});
# The log is read once in a while; a server that has just started has not read it.
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_timeout = 0');
$node->restart;
ok($node->poll_query_until('counted', q{SELECT min(submitted_at) > now() - interval '30 days' FROM lb_event}), 'events are trimmed');
is($node->safe_psql('counted', q{SELECT count(DISTINCT pid), sum(removed) FROM visits WHERE removed > 0}), '1|10000', 'all of them at once');
$node->append_conf('postgresql.conf', "leaderboard.maintenance_timeout = '1min'");

# No session becomes the victim of a deadlock with the worker, which gives up first.
$node->append_conf('postgresql.conf', "deadlock_timeout = '10s'");
$node->reload;
$node->safe_psql('postgres', 'CREATE DATABASE parted');
$node->safe_psql('parted', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE w (player_id bigint, window_key text, score bigint, PRIMARY KEY (player_id, window_key)) PARTITION BY HASH (player_id);
	CREATE TABLE w0 PARTITION OF w FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE w1 PARTITION OF w FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	SELECT lb_create_board('*', 'w', board_column => 'window_key')});
wait_ready($node, 'parted');
for my $time (1 .. 3)
{
	my ($rc, $out, $err) = $node->psql('parted', q{
		BEGIN;
		LOCK TABLE w1;
		DO $$ BEGIN
			WHILE NOT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE NOT l.granted AND l.relation = 'w1'::regclass AND a.backend_type = 'leaderboard maintenance') LOOP
				PERFORM pg_stat_clear_snapshot(), pg_sleep(0.001);
			END LOOP;
		END $$;
		LOCK TABLE w0;
		COMMIT}, on_error_stop => 1);
	is($rc, 0, "locked in the other order: $err");
}
unlike(slurp_file($node->logfile), qr/deadlock detected/, 'nor the worker');
$node->append_conf('postgresql.conf', "deadlock_timeout = '1s'");

# A large table is read in parts for windows without a board: never all of it in
# one transaction.
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 0');
$node->reload;
$node->safe_psql('postgres', 'CREATE DATABASE large');
make('large', 10);
$node->safe_psql('large', q{
	UPDATE lb_window SET late = '1 day';
	ALTER TABLE player_score_windows ADD pad text, ALTER pad SET STORAGE PLAIN;
	INSERT INTO player_score_windows (player_id, window_key, score, pad)
	SELECT g, 'other:1', g, repeat('x', 7000) FROM generate_series(1, 9000) g;
	INSERT INTO player_score_windows (player_id, window_key, score, ranked) VALUES (1, 'daily:20260401', 1, false)});
wait_ready($node, 'large');
# What sessions have read is counted when they have left.
ok($node->poll_query_until('postgres', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'large')}), 'no session is left');
my $scans = q{SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'player_score_windows'};
my $scanned = $node->safe_psql('large', $scans);
$node->append_conf('postgresql.conf', "leaderboard.maintenance_interval = '1s'");
$node->reload;
ok($node->poll_query_until('large', q{SELECT count(*) = 1 FROM lb_closed WHERE board = 'daily:20260401'}), 'the last row is found');
is($node->safe_psql('large', $scans), $scanned, 'and there was no scan of the whole table');

# If one partition holds most of a partitioned table, the others do not make the
# batches smaller: that many transactions have begun from one window to the next.
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 0');
$node->reload;
$node->safe_psql('postgres', 'CREATE DATABASE skewed');
$node->safe_psql('skewed', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE w (player_id bigint, window_key text, score bigint, ranked boolean, pad text, PRIMARY KEY (player_id, window_key)) PARTITION BY LIST (window_key);
	ALTER TABLE w ALTER pad SET STORAGE PLAIN;
	CREATE TABLE w0 PARTITION OF w DEFAULT;
	DO $$ BEGIN
		FOR i IN 1 .. 100 LOOP
			EXECUTE format('CREATE TABLE w%s PARTITION OF w FOR VALUES IN (%L)', i, 'other:' || i);
		END LOOP;
	END $$;
	SELECT lb_create_board('*', 'w', board_column => 'window_key', ranked_if => 'ranked');
	SELECT lb_open_window('daily', keep => '1000 years', late => '0');
	CREATE TABLE visits (transaction bigint);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO public.visits SELECT DISTINCT split_part(virtualtransaction, '/', 2)::bigint FROM pg_locks WHERE pid = pg_backend_pid();
		RETURN NULL;
	END $$;
	CREATE TRIGGER note AFTER INSERT ON lb_closed FOR EACH ROW EXECUTE FUNCTION note();
	INSERT INTO w VALUES (1, 'daily:20260401', 1, false);
	INSERT INTO w SELECT g, 'other:0', g, true, repeat('x', 7000) FROM generate_series(1, 9000) g;
	INSERT INTO w VALUES (1, 'daily:20260402', 1, false)});
wait_ready($node, 'skewed');
$node->append_conf('postgresql.conf', "leaderboard.maintenance_interval = '1s'");
$node->reload;
ok($node->poll_query_until('skewed', q{SELECT count(*) = 2 FROM lb_closed}), 'the first and the last row are found');
my $begun = $node->safe_psql('skewed', q{SELECT max(transaction) - min(transaction) FROM visits});
cmp_ok($begun, '>', 0, 'in parts');
cmp_ok($begun, '<', 20, 'that are large');

# Windows, what is closed and the archive survive a dump.
$node->safe_psql('crash', q{
	SELECT lb_set_limit('x', 'global', max_amount => 100000);
	SELECT lb_open_window('tourney:x', starts => '2026-04-01', ends => '2026-05-01', keep => '1000 years');
	SELECT lb_submit(7, 7, match_id => 'm', at => '2026-04-11')});
my $what = q{
	SELECT * FROM lb_window ORDER BY 1; SELECT * FROM lb_closed ORDER BY 1; SELECT * FROM lb_archive ORDER BY 1, 2, 3;
	SELECT * FROM lb_limit; SELECT player_id, match_id, boards, scores, ranks FROM lb_applied;
	SELECT count(*), sum(amount) FROM lb_event; SELECT * FROM lb_top(3); SELECT * FROM lb_top(3, 'tourney:x')};
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 0');
$node->reload;
my $before = $node->safe_psql('crash', $what);
my $dump = $node->basedir . '/crash.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('crash') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'restored');
wait_ready($node, 'restored');
is($node->safe_psql('restored', $what), $before, 'the same after the restore');
is($node->safe_psql('restored', q{SELECT string_agg(board || ' ' || applied, ', ') FROM lb_submit(7, 7, match_id => 'm', at => '2026-04-11')}),
	'global false, daily:20260411 false, tourney:x false, weekly:202615 false', 'a match is remembered');
is($node->safe_psql('restored', q{SELECT string_agg(board || ' ' || applied, ', ') FROM lb_submit(7, 7, at => '2026-04-09')}),
	'global true, daily:20260409 false, tourney:x true, weekly:202615 true', 'a closed window stays closed');

# The archive stays when its table is dropped.  When the table is renamed and another
# gets its name, the archive belongs to the renamed one, in a restored database too.
my $past = q{SELECT board, season, place, member, score, owner FROM lb_archive WHERE board LIKE 'old%' ORDER BY 1, 3};
$node->safe_psql('crash', q{
	CREATE ROLE heir;
	GRANT CREATE ON SCHEMA public TO heir;
	CREATE TABLE gone (player_id bigint PRIMARY KEY, score bigint);
	CREATE TABLE given (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO gone VALUES (1, 10), (2, 20);
	INSERT INTO given VALUES (3, 30);
	GRANT EXECUTE ON FUNCTION lb_create_board TO heir;
	SELECT lb_create_board('old_gone', 'gone'), lb_create_board('old_given', 'given');
	SELECT lb_close_season('old_gone', 'x'), lb_close_season('old_given', 'x');
	DROP TABLE gone;
	ALTER TABLE given RENAME TO "The Heir's";
	ALTER TABLE "The Heir's" OWNER TO heir});
is($node->safe_psql('crash', $past), "old_given|x|1|3|30|postgres\nold_gone|x|1|2|20|postgres\nold_gone|x|2|1|10|postgres", 'archived');
$node->command_ok([ 'pg_dump', '-f', "$dump.2", $node->connstr('crash') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE without');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dump.2", $node->connstr('without') ], 'restored');
for my $db ('crash', 'without')
{
	is($node->safe_psql($db, $past), $node->safe_psql('crash', $past), "$db: the same archive");
	is($node->safe_psql($db, q{SET ROLE heir; SELECT * FROM lb_archive_top('old_given')}), '1|3|30', "$db: of the one that has the table now");
	$node->safe_psql($db, q{
		SET ROLE heir;
		CREATE TABLE gone (player_id bigint PRIMARY KEY, score bigint);
		SELECT lb_create_board('old_gone', 'gone')});
	is($node->safe_psql($db, q{SET ROLE heir; SELECT * FROM lb_archive_top('old_gone')}), '', "$db: another table of the same name");
}
is($node->safe_psql('without', q{SELECT count(*) FROM lb_archive_source s WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = s.source)}),
	'0', 'no number of a table that is gone has been restored');

# Turned off.
$node->safe_psql('restored', q{UPDATE lb_window SET keep = '1 day' WHERE name = 'tourney:x'});
usleep(2_000_000);
is($node->safe_psql('restored', q{SELECT count(*) FROM lb_closed WHERE board = 'tourney:x'}), '0', 'turned off');
is($node->safe_psql('restored', q{SELECT closed, archived, removed FROM lb_maintain()}), '1|1|1', 'lb_maintain()');

# If a visit is rolled back, the next one finds again what a large table was read for.
$node->safe_psql('restored', q{
	ALTER TABLE player_score_windows ADD pad text, ALTER pad SET STORAGE PLAIN;
	INSERT INTO player_score_windows (player_id, window_key, score, pad)
	SELECT g, 'other:1', g, repeat('x', 7000) FROM generate_series(1, 4200) g;
	INSERT INTO player_score_windows (player_id, window_key, score, ranked) VALUES (1, 'daily:20260401', 1, false)});
wait_ready($node, 'restored');
is($node->safe_psql('restored', q{BEGIN; SELECT closed, removed FROM lb_maintain(); ROLLBACK}), '1|1', 'hidden, rolled back');
is($node->safe_psql('restored', q{SELECT closed, removed FROM lb_maintain()}), '1|1', 'hidden, once more');
is($node->safe_psql('restored', q{SELECT closed, removed FROM lb_maintain()}), '0|0', 'there was no other');

# The worker reads the log of submits once, and not at each visit; lb_maintain() does.
$node->safe_psql('postgres', 'CREATE DATABASE log');
$node->safe_psql('log', q{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_tables();
	ALTER TABLE lb_event SET (autovacuum_enabled = off);
	ALTER TABLE lb_applied SET (autovacuum_enabled = off);
	SELECT count(*) FROM generate_series(1, 500) g, lb_submit(g, 1, match_id => 'm' || g, at => '2026-04-09')});

# A visit has ended when it has closed the window that was due.
sub visited
{
	my ($key) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('log', "INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, '$key', 1)");
	ok( $node->poll_query_until('log', "SELECT count(*) = 1 FROM lb_closed WHERE board = '$key'")
		  && $node->poll_query_until('log', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = 'log' AND backend_type = 'leaderboard maintenance')}),
		"a visit has closed $key");
	return $node->safe_psql('log', q{SELECT sum(heap_blks_read + heap_blks_hit) FROM pg_statio_all_tables
		WHERE relname IN ('lb_event', 'lb_applied')});
}
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 1s');
$node->reload;
my $blocks = visited('daily:20200101');
is(visited('daily:20200102'), $blocks, 'the log is not read again');
is(visited('daily:20200103'), $blocks, 'nor once more');
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 0');
$node->reload;
is($node->safe_psql('log', q{SET leaderboard.event_retention = 0; SET leaderboard.applied_retention = 0;
	SELECT removed > 900 FROM lb_maintain()}), 't', 'lb_maintain() reads it');

# The worker leaves a locked row for the next visit.
$node->safe_psql('restored', q{
	INSERT INTO player_score_windows (player_id, window_key, score) SELECT g, 'daily:20260402', g FROM generate_series(1, 3) g;
	BEGIN;
	SELECT FROM player_score_windows WHERE player_id = 2 AND window_key = 'daily:20260402' FOR UPDATE;
	PREPARE TRANSACTION 'row'});
is($node->safe_psql('restored', q{SET statement_timeout = '10min'; SELECT closed, removed FROM lb_maintain()}), '1|0', 'a row is locked');
$node->safe_psql('restored', q{COMMIT PREPARED 'row'});
is($node->safe_psql('restored', q{SELECT closed, removed FROM lb_maintain()}), '0|3', 'and then not');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal 11/, 'nothing has crashed');
done_testing();
