# Builds on a standby, beside everything that replay does there; what makes boards
# unknown; and transactions of every kind, also over a restart and a promotion.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', <<'END', allows_streaming => 1);
autovacuum = off
leaderboard.maintenance_interval = 0
END
$primary->start;
fill($primary, 'postgres', 60);
install_oracle($primary, 'postgres');


# A table whose build takes a while and sleeps now and then; and the worker that builds it,
# once it sleeps.
$primary->safe_psql('postgres', q{
	CREATE TABLE slow (player_id bigint PRIMARY KEY, score bigint);
	CREATE TABLE other (x integer);
	CREATE TABLE sleeps ();
	INSERT INTO sleeps DEFAULT VALUES;
	CREATE FUNCTION slowly(bigint, bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
		IF $2 % 100 = 0 THEN
			PERFORM pg_sleep(0.001) FROM public.sleeps;
		END IF;
		RETURN $1;
	END $$;
	INSERT INTO slow SELECT g, g % 50 FROM generate_series(1, 300000) g;
	ANALYZE slow;
	SELECT lb_create_board('slow', 'slow', rank_by => 'slowly(score, player_id) DESC');
	CREATE FUNCTION builder() RETURNS integer LANGUAGE plpgsql AS $$
	DECLARE
		now_in text;
		pid integer;
	BEGIN
		LOOP
			SELECT state INTO now_in FROM lb_stat_board WHERE board = 'slow';
			EXIT WHEN now_in = 'ready';
			PERFORM pg_stat_clear_snapshot();
			SELECT a.pid INTO pid FROM pg_stat_activity AS a
			WHERE a.backend_type = 'leaderboard worker' AND a.wait_event = 'PgSleep';
			EXIT WHEN found;
			PERFORM pg_sleep(0.001);
		END LOOP;
		RETURN pid;
	END $$});
boards_ready($primary, 'postgres');

my $standby = standby_of($primary, 'standby', <<'END');
hot_standby_feedback = off
max_standby_streaming_delay = -1
log_recovery_conflict_waits = on
END
my $slow = q{'slow', 'slow', 'true', 'player_id', 'score', 'DESC', NULL, 'row_number'};
$standby->start;
same($primary, $standby, 'at first');

#
# Replay goes on beside a build, whatever it wants.  The worker stops amid its scan until
# replay waits for it.
#

sub stop_builder
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	for (1 .. 20)
	{
		$standby->restart;
		my $pid = $standby->safe_psql('postgres', 'SELECT builder()');

		next if $pid eq '';
		kill 'STOP', $pid;
		# If it still sleeps it has no lock that others wait for.
		if ($standby->safe_psql('postgres', "SELECT wait_event FROM pg_stat_activity WHERE pid = $pid") eq 'PgSleep')
		{
			pass("$what: a build has begun");
			return $pid;
		}
		kill 'CONT', $pid;
	}
	die "$what: builds are too fast";
}

sub beside_build
{
	my ($statement, $conflict, $log_has) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $pid = stop_builder($statement);
	my $log = -s $standby->logfile;

	$primary->safe_psql('postgres', $_) for split /; /, $statement;
	ok($standby->wait_for_log(qr/recovery still waiting after .*recovery conflict on $conflict/, $log), "$statement: replay waits for it");
	kill 'CONT', $pid;
	caught_up($primary, $standby);
	ok($standby->wait_for_log($log_has, $log), "$statement: the build makes way");
	ok(boards_ready($standby, 'postgres'), "$statement: it is built later");
	is($standby->safe_psql('postgres', q{SELECT lb_count('slow') = count(*), lb_score(1000, 'slow') IS NOT DISTINCT FROM max(score) FILTER (WHERE player_id = 1000) FROM slow}),
		't|t', "$statement: answers");
	return;
}

my $yields = qr/the build yields to a command on the database or the table/;
beside_build('ALTER TABLE slow ADD COLUMN note text', 'lock', $yields);
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = 10ms');
beside_build('DELETE FROM slow WHERE player_id % 15000 = 1; VACUUM slow', 'snapshot', qr/conflict with recovery/);
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
beside_build('TRUNCATE slow', 'lock', $yields);
$primary->safe_psql('postgres', 'DELETE FROM sleeps');

#
# What an expression calls is replaced, which PostgreSQL does not tell, and the board is
# built again, on the standby as well.
#

$primary->safe_psql('postgres', q{
	CREATE TABLE called (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO called SELECT g, g FROM generate_series(1, 30) g;
	CREATE FUNCTION inner_f(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
	CREATE FUNCTION outer_f(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN public.inner_f($1); END';
	SELECT lb_create_board('called', 'called', rank_by => 'outer_f(score) DESC')});
boards_ready($primary, 'postgres');
caught_up($primary, $standby);
ok(boards_ready($standby, 'postgres'), 'a board that calls functions');
is($standby->safe_psql('postgres', q{SELECT lb_rank(1, 'called')}), '30', 'a board that calls functions: answers');
$primary->safe_psql('postgres', q{CREATE OR REPLACE FUNCTION inner_f(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN -$1; END';
	SELECT lb_rebuild('called')});
boards_ready($primary, 'postgres');
caught_up($primary, $standby);
ok(boards_ready($standby, 'postgres'), 'a function is replaced, and the board built again');
is($standby->safe_psql('postgres', q{SELECT lb_rank(1, 'called')}), '1', 'the standby has built it again, too');
verified('functions', $primary, $standby);

#
# An old transaction on a primary that is idle
#

my $old = open_session($primary, 'postgres');
$old->query('BEGIN; INSERT INTO other VALUES (1)');
$primary->safe_psql('postgres', 'TRUNCATE slow; INSERT INTO slow SELECT g, g % 7 FROM generate_series(1, 30) g');
caught_up($primary, $standby);
same_by($standby, 'postgres', 'any', 'built beside an old transaction', $slow);
ok(boards_ready($standby, 'postgres'), 'built beside an old transaction: ready');

# Snapshots may be too old for a new index until the next transaction ends.
$primary->safe_psql('postgres', 'INSERT INTO other VALUES (2)');
same($primary, $standby, 'built beside an old transaction, and a commit', $slow);

# To a standby that has just started any transaction may have changed any board.
$standby->restart;
$primary->safe_psql('postgres', 'UPDATE player_scores SET score = score + 1');
caught_up($primary, $standby);
same_by($standby, 'postgres', 'any', 'started beside an old transaction');
$old->query('UPDATE player_scores SET score = 77 WHERE player_id = 7; COMMIT');
$old->quit;
same($primary, $standby, 'the old transaction has ended');
verified('builds', $primary, $standby);

#
# Boards and tables
#

my $game = q{'game', 'game', 'true', 'player_id', 'score', 'DESC', 'level', 'row_number'};
$primary->safe_psql('postgres', q{
	CREATE TABLE game (player_id bigint PRIMARY KEY, score integer, level smallint);
	INSERT INTO game SELECT g, g * 7 % 13, g % 4 FROM generate_series(1, 40) g;
	SELECT lb_create_board('game', 'game', rank_by => 'score DESC, level ASC')});
same($primary, $standby, 'created', $game);
$primary->safe_psql('postgres', 'ALTER TABLE game RENAME score TO points; UPDATE game SET points = points + player_id % 3');
same($primary, $standby, 'renamed', $game =~ s/'score'/'points'/r);
$primary->safe_psql('postgres', 'ALTER TABLE game RENAME points TO score; ALTER TABLE game ALTER score TYPE bigint; UPDATE game SET score = score + 5000000000');
boards_ready($primary, 'postgres');
same($primary, $standby, 'another type', $game);
$primary->safe_psql('postgres', 'ALTER TABLE game DISABLE TRIGGER USER; UPDATE game SET score = score - player_id WHERE player_id < 9');
caught_up($primary, $standby);
same_by($standby, 'postgres', 'query', 'triggers disabled', $game);
$primary->safe_psql('postgres', 'UPDATE game SET score = score - player_id WHERE player_id > 9');
caught_up($primary, $standby);
same_by($standby, 'postgres', 'query', 'triggers disabled, changes', $game);
$primary->safe_psql('postgres', q{
	DO $$ DECLARE t name; BEGIN
		FOR t IN SELECT tgname FROM pg_trigger WHERE tgrelid = 'game'::regclass LOOP
			EXECUTE format('ALTER TABLE game ENABLE ALWAYS TRIGGER %I', t);
		END LOOP; END $$});
$primary->safe_psql('postgres', q{SELECT lb_rebuild('game')});
$primary->safe_psql('postgres', 'UPDATE game SET score = score - 1 WHERE player_id > 9');
same($primary, $standby, 'triggers enabled', $game);
$primary->safe_psql('postgres', 'BEGIN; TRUNCATE game; INSERT INTO game SELECT g, g, 1 FROM generate_series(1, 20) g; COMMIT; UPDATE game SET score = 2 WHERE player_id = 5');
same($primary, $standby, 'truncated', $game);
$primary->safe_psql('postgres', 'BEGIN; TRUNCATE game; ROLLBACK; UPDATE game SET score = 3 WHERE player_id = 6');
same($primary, $standby, 'not truncated', $game);
$primary->safe_psql('postgres', q{SELECT lb_drop_board('game')});
caught_up($primary, $standby);
fails_with($standby, 'postgres', q{SELECT lb_count('game');}, '42704', qr/board "game" does not exist/, 'dropped');
$primary->safe_psql('postgres', q{SELECT lb_create_board('game', 'game', rank_by => 'score DESC, level ASC')});
same($primary, $standby, 'created again', $game);
$primary->safe_psql('postgres', 'DROP TABLE game');
caught_up($primary, $standby);
fails_with($standby, 'postgres', q{SELECT lb_count('game');}, '42704', qr/board "game" does not exist/, 'table dropped');

# A database that comes and goes takes its memory with it.
$primary->safe_psql('postgres', 'CREATE DATABASE two');
fill($primary, 'two', 50);
caught_up($primary, $standby);
ok(boards_ready($standby, 'two'), 'another database');
is($standby->safe_psql('two', 'SELECT * FROM lb_verify_key()'), '', 'another database: lb_verify()');
retry_accessed($primary, 'DROP DATABASE two');
caught_up($primary, $standby);
ok($standby->poll_query_until('postgres', q{SELECT string_agg(datname, ',') = 'postgres' FROM lb_stat_memory WHERE used > 0 AND datname IS NOT NULL}),
	'a database that is dropped: no memory is left');
ok($standby->poll_query_until('postgres', 'SELECT count(*) <= 2 FROM lb_stat_memory'), 'a database that is dropped: nothing is left');

# Boards of a family come and go.
for my $round (1 .. 3)
{
	$primary->safe_psql('postgres', qq{
		UPDATE player_score_windows SET window_key = 'daily:' || (player_id + $round) % 5;
		INSERT INTO player_score_windows SELECT g, 'weekly:1', g % 11 FROM generate_series(1, 20 * $round) g;
		DELETE FROM player_score_windows WHERE window_key = 'daily:3'});
	same($primary, $standby, "families $round");
	$primary->safe_psql('postgres', q{DELETE FROM player_score_windows WHERE window_key = 'weekly:1'});
	same($primary, $standby, "families $round, gone");
}

#
# Transactions
#

# A row that changes from 0 to -0, and nothing else.
my $floats = q{'floats', 'floats', 'true', 'player_id', 'score', 'DESC', NULL, 'row_number'};
$primary->safe_psql('postgres', q{
	CREATE TABLE floats (player_id bigint PRIMARY KEY, score float8);
	INSERT INTO floats SELECT g, g - 10 FROM generate_series(1, 20) g;
	SELECT lb_create_board('floats', 'floats')});
same($primary, $standby, 'floats', $floats);
$primary->safe_psql('postgres', q{UPDATE floats SET score = '-0' WHERE score = 0});
caught_up($primary, $standby);
same_by($standby, 'postgres', 'any', '0 has become -0', $floats);
is($standby->safe_psql('postgres', q{SELECT lb_score_key('10', 'floats')}), '-0', '0 has become -0: its score');
$primary->safe_psql('postgres', q{BEGIN; UPDATE floats SET score = 0 WHERE player_id = 10; UPDATE floats SET score = '-0' WHERE player_id = 11; COMMIT});
caught_up($primary, $standby);
same_by($standby, 'postgres', 'any', 'and back', $floats);
is($standby->safe_psql('postgres', q{SELECT lb_score_key('10', 'floats'), lb_score_key('11', 'floats')}), '0|-0', 'and back: the scores');

# Texts of all lengths
my $texts = q{'texts', 'texts', 'true', 'name', 'score', 'DESC', NULL, 'row_number'};
$primary->safe_psql('postgres', q{
	CREATE TABLE texts (name text COLLATE "C" PRIMARY KEY, score bigint);
	INSERT INTO texts SELECT repeat(chr(97 + g % 3), g * 11 % 300) || g, g % 5 FROM generate_series(1, 40) g;
	SELECT lb_create_board('texts', 'texts', 'name')});
same($primary, $standby, 'texts', $texts);
$primary->safe_psql('postgres', q{
	UPDATE texts SET score = score + length(name) % 3;
	UPDATE texts SET name = name || repeat('é', 200 - length(name) / 2) WHERE score = 2;
	DELETE FROM texts WHERE score = 3;
	INSERT INTO texts VALUES ('', 2), (repeat('x', 512), 2)});
same($primary, $standby, 'texts change', $texts);

$primary->safe_psql('postgres', join ';', 'BEGIN', (map {
		"SAVEPOINT s$_; UPDATE player_scores SET score = score + $_ WHERE player_id = 1 + $_ % 60;"
		  . ($_ % 3 == 0 ? "ROLLBACK TO s$_" : $_ % 7 == 0 ? "RELEASE s$_" : '') } 1 .. 100), 'COMMIT');
same($primary, $standby, '100 savepoints');

# With more subtransactions than snapshots have room for
my $many = open_session($primary, 'postgres');
$many->query(join ';', 'BEGIN', map { "SAVEPOINT s$_; UPDATE player_scores SET score = score + $_ WHERE player_id = 1 + $_ % 60" } 1 .. 100);
$primary->safe_psql('postgres', q{INSERT INTO other VALUES (1); UPDATE floats SET score = score + 1});
same($primary, $standby, '100 savepoints are open');
my $reader = open_session($standby, 'postgres');
my $look = 'SELECT array_agg(t) FROM lb_top(100) t';
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $reader->query($look);
$many->query('COMMIT');
$many->quit;
same($primary, $standby, '100 savepoints have ended');
is($reader->query($look), $before, '100 savepoints: a snapshot from before');
isnt($standby->safe_psql('postgres', $look), $before, '100 savepoints: and one from after');
$reader->quit;

# Many messages; and more changes than are fed, which are built.
my $large = q{
	SELECT lb_count('large') = count(*), lb_rank(7, 'large') = 1 + (SELECT count(*) FROM large WHERE (score, -player_id) > (SELECT score, -7 FROM large WHERE player_id = 7)),
		(SELECT sum(member * score) FROM lb_top(1000000, 'large')) = sum(player_id * score) FROM large};
$primary->safe_psql('postgres', q{
	CREATE TABLE large (player_id bigint PRIMARY KEY, score bigint);
	SELECT lb_create_board('large', 'large');
	INSERT INTO large VALUES (7, 7)});
caught_up($primary, $standby);
boards_ready($standby, 'postgres');
my $built = builds($standby);
$primary->safe_psql('postgres', 'INSERT INTO large SELECT g, g * 31 % 1000 FROM generate_series(8, 60000) g');
caught_up($primary, $standby);
is($standby->safe_psql('postgres', $large), 't|t|t', '60,000 rows');
$primary->safe_psql('postgres', 'UPDATE large SET score = score + 1');
caught_up($primary, $standby);
is($standby->safe_psql('postgres', $large), 't|t|t', '60,000 rows are updated');
boards_ready($standby, 'postgres');
is(builds($standby), $built, '60,000 rows: nothing was built');
$primary->safe_psql('postgres', 'BEGIN; INSERT INTO large SELECT g, g * 31 % 1000 FROM generate_series(100001, 400000) g; ROLLBACK');
caught_up($primary, $standby);
is($standby->safe_psql('postgres', $large), 't|t|t', '300,000 rows that are rolled back');
$primary->safe_psql('postgres', 'INSERT INTO large SELECT g, g * 31 % 1000 FROM generate_series(100001, 400000) g');
caught_up($primary, $standby);
is($standby->safe_psql('postgres', $large), 't|t|t', '300,000 rows');
boards_ready($standby, 'postgres');
isnt(builds($standby), $built, '300,000 rows: the board was built');
is($standby->safe_psql('postgres', $large), 't|t|t', '300,000 rows, built');
verified('transactions', $primary, $standby);

#
# A standby with less memory than its primary
#

my $small = standby_of($primary, 'small', 'leaderboard.memory = 2MB');
$small->start;
caught_up($primary, $small);
ok($small->poll_query_until('postgres', q{SELECT state = 'offline' AND reason LIKE '%memory% is used up%' FROM lb_stat_board WHERE board = 'large'}),
	'a small standby: its board is offline, with the reason');
$primary->safe_psql('postgres', 'UPDATE large SET score = 3 WHERE player_id = 7; UPDATE player_scores SET score = score + 3');
caught_up($primary, $small);
is($small->safe_psql('postgres', $large), 't|t|t', 'a small standby: queries');
is($small->safe_psql('postgres', q{SELECT query_offline + query_building > 2 FROM lb_stat_board WHERE board = 'large'}), 't', 'a small standby: counted');
is($primary->safe_psql('postgres', q{SELECT state FROM lb_stat_board WHERE board = 'large'}), 'ready', 'a small standby: its primary is not concerned');
same($primary, $standby, 'a small standby: nor is another one');
$primary->safe_psql('postgres', 'DELETE FROM large WHERE player_id > 1000');
caught_up($primary, $small);
$small->append_conf('postgresql.conf', 'leaderboard.memory = 256MB');
$small->restart;
same($primary, $small, 'a small standby, with more memory');
verified('a small standby', $primary, $standby, $small);
$small->stop;

#
# Unlogged tables: a standby has nothing in them.
#

$primary->safe_psql('postgres', 'CREATE DATABASE unlogged');
$primary->safe_psql('unlogged', q{
	CREATE EXTENSION leaderboard;
	CREATE UNLOGGED TABLE sessions (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO sessions SELECT g, g FROM generate_series(1, 50) g;
	SELECT lb_create_board('sessions', 'sessions');
	CREATE TABLE parted (player_id bigint, realm text, score bigint, PRIMARY KEY (player_id, realm)) PARTITION BY LIST (realm);
	CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a');
	CREATE UNLOGGED TABLE parted_b PARTITION OF parted FOR VALUES IN ('b');
	INSERT INTO parted SELECT g, realm, g * 7 % 11 FROM generate_series(1, 30) g, unnest('{a,b}'::text[]) realm;
	SELECT lb_create_board('realm', 'parted', 'player_id', board_column => 'realm');
	CREATE TABLE later (player_id bigint PRIMARY KEY, score bigint) PARTITION BY RANGE (player_id);
	CREATE TABLE later_logged PARTITION OF later FOR VALUES FROM (0) TO (100);
	INSERT INTO later SELECT g, g FROM generate_series(1, 20) g;
	SELECT lb_create_board('later', 'later')});
ok(boards_ready($primary, 'unlogged'), 'unlogged: ready on the primary');
$primary->safe_psql('unlogged', q{UPDATE sessions SET score = 100 WHERE player_id = 5; UPDATE parted SET score = 100 WHERE player_id = 5});
caught_up($primary, $standby);
ok( $standby->poll_query_until('unlogged', q{SELECT state = 'ready' AND members = 20 FROM lb_stat_board WHERE board = 'later'}),
	'unlogged: a board whose partitions are all logged');

# It is empty when it comes, and it is lost in a promotion.
my $builds_of_later = $primary->safe_psql('unlogged', q{SELECT build_seconds FROM lb_stat_board WHERE board = 'later'});
$primary->safe_psql('unlogged', q{
	CREATE UNLOGGED TABLE later_unlogged PARTITION OF later FOR VALUES FROM (100) TO (200);
	INSERT INTO later SELECT g, g FROM generate_series(101, 110) g});
caught_up($primary, $standby);
ok( $standby->poll_query_until('unlogged', q{SELECT state = 'offline' FROM lb_stat_board WHERE board = 'later'}),
	'unlogged: a partition has come');
is($primary->safe_psql('unlogged', q{SELECT build_seconds FROM lb_stat_board WHERE board = 'later'}), $builds_of_later, 'unlogged: the primary builds nothing for that');
is($standby->safe_psql('unlogged', q{SELECT DISTINCT state, reason FROM lb_stat_board WHERE board <> 'later'}), 'offline|the table is unlogged, and the server a standby', 'unlogged: the reason');
is($standby->safe_psql('unlogged', q{SELECT lb_rank(5, 'realm:a'), lb_count('realm:a'), lb_count_between(100, NULL, 'realm:a')}), '1|30|1', 'unlogged: a partition that is not');
for my $sql (q{lb_count('sessions')}, q{count(*) FROM sessions}, q{lb_count('realm:b')})
{
	fails_with($standby, 'unlogged', "SELECT $sql;", '0A000', qr/unlogged relations during recovery/, "unlogged: $sql");
}
fails_with($standby, 'unlogged', q{SET leaderboard.offline = 'error'; SELECT lb_count('sessions');}, '55000',
	qr/board "sessions" is offline.*DETAIL:  Reason: the table is unlogged, and the server a standby\./s, 'unlogged, offline = error');

#
# Prepared transactions: a restart of the standby, and its promotion
#

sub prepare
{
	my ($name, $player) = @_;

	$primary->safe_psql('postgres', qq{BEGIN; UPDATE player_scores SET score = 700 + $player WHERE player_id = $player;
		INSERT INTO player_score_windows VALUES ($player, 'weekly:1', $player); PREPARE TRANSACTION '$name'});
	return;
}

prepare("p$_", $_) for 1 .. 3;
same($primary, $standby, 'prepared');
$standby->restart;
prepare("p$_", $_) for 4 .. 6;
$primary->safe_psql('postgres', "COMMIT PREPARED 'p1'; ROLLBACK PREPARED 'p2'; COMMIT PREPARED 'p4'; ROLLBACK PREPARED 'p5'");
caught_up($primary, $standby);

# Boards wait for the one of before the restart.
same_by($standby, 'postgres', 'any', 'prepared before a restart and after');
$primary->safe_psql('postgres', "COMMIT PREPARED 'p3'");
same($primary, $standby, 'those of before have ended');
$primary->safe_psql('postgres', "ROLLBACK PREPARED 'p6'");
prepare("q$_", $_) for 7 .. 10;
same($primary, $standby, 'others are prepared');
$primary->stop;
$standby->promote;
same_by($standby, 'postgres', 'index', 'promoted');
ok($standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'promoted: it is a primary');
my $settled = q{SELECT changes FROM lb_stat_board WHERE board = 'global'};
my $changes = $standby->safe_psql('postgres', $settled);
$standby->safe_psql('postgres', "COMMIT PREPARED 'q7'");
ok($standby->poll_query_until('postgres', "SELECT ($settled) = $changes + 1"), 'promoted: what was prepared is settled');
$standby->safe_psql('postgres', "ROLLBACK PREPARED 'q8'; UPDATE player_scores SET score = score + 1 WHERE player_id IN (7, 8)");
same_by($standby, 'postgres', 'index', 'prepared transactions end after a promotion');

# What they have changed before the promotion is not known to a build.
fails_with($standby, 'postgres', q{SELECT lb_rebuild('global');}, '55000', qr/a transaction whose changes are unknown has not ended/, 'built beside prepared transactions');
same_by($standby, 'postgres', 'index', 'not built beside prepared transactions');
$standby->safe_psql('postgres', "COMMIT PREPARED 'q9'; ROLLBACK PREPARED 'q10'");
same_by($standby, 'postgres', 'index', 'none is left');
$standby->safe_psql('postgres', 'SELECT lb_rebuild()');
same_by($standby, 'postgres', 'index', 'built when none is left');
verified('promoted', $standby);
ok($standby->poll_query_until('unlogged', q{SELECT count(*) = 3 AND bool_and(state = 'ready') FROM lb_stat_board JOIN lb_board USING (board)}), 'unlogged: boards of a primary');
is($standby->safe_psql('unlogged', q{SELECT lb_count('sessions'), lb_count('realm:a'), lb_count('realm:b'), lb_count('later')}), '0|30|0|20', 'unlogged: empty after a promotion');
is($standby->safe_psql('unlogged', 'SELECT * FROM lb_verify_key()'), '', 'unlogged: lb_verify()');

$standby->stop;
for my $node ($primary, $standby, $small)
{
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $node->name);
}
done_testing();
