# When leaderboard.memory or leaderboard.database_memory is used up, reads run their
# queries, writes go on, and a rebuild makes the board ready again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LbRanks;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
$node->append_conf('postgresql.conf', "leaderboard.memory = '1MB'");
$node->start;

# Some ranks only: without the index each is a query.
sub some_right
{
	my ($database, $board, $table, $when) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, <<"END"), 't|t', "right $when");
SELECT bool_and(rank = lb_rank(player_id, '$board')),
  max(n) = lb_count('$board')
FROM (SELECT player_id, count(*) OVER () AS n,
    row_number() OVER (ORDER BY score DESC, player_id) AS rank
  FROM $table) r
WHERE rank % (n / 20) = 1
END
}

sub is_offline
{
	my ($database, $board, $reason, $when) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok( $node->poll_query_until(
			$database, <<"END"),
SELECT state = 'offline' AND reason ~ '$reason' FROM lb_stat_board
WHERE board = '$board'
END
		"board $board is offline $when, and says why");
}

$node->safe_psql('postgres', <<'END');
CREATE EXTENSION leaderboard;
CREATE TABLE t (player_id bigint PRIMARY KEY, score int NOT NULL);
SELECT lb_create_board('t', 't');
END
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'ready');

#
# By writes.  They go on, and none fails.
#
$node->safe_psql('postgres', <<'END');
CREATE PROCEDURE fill(board text, share float8) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN lb_count(board) / 100 + 1 .. 600 LOOP
    EXIT WHEN (SELECT used >= share * total FROM lb_stat_memory WHERE datname IS NULL);
    EXECUTE format('INSERT INTO %I SELECT i, hashint4(i) %% 1000 FROM generate_series(%s, %s) i',
      board, i * 100 + 1, i * 100 + 100);
    COMMIT;
  END LOOP;
END $$;
CALL fill('t', 0.85);
CREATE TABLE more (player_id bigint PRIMARY KEY, score int NOT NULL);
SELECT lb_create_board('more', 'more');
SELECT lb_wait_ready();
CALL fill('more', 0.955);
END
# The launcher writes the message, if it looks before a board that has gone offline gives
# its memory back.  A small board grows in small steps.
ok($node->wait_for_log(qr/WARNING:  95 %/), 'a warning while there is little left');
$node->safe_psql('postgres', "DROP TABLE more; CALL fill('t', 2)");
is_offline('postgres', 't', 'leaderboard.memory', 'after many inserts');
some_right('postgres', 't', 't', 'with the memory used up');
ok( $node->poll_query_until('postgres',
		"SELECT query_offline > 0 FROM lb_stat_board WHERE board = 't'"),
	'the queries are counted');
my ($rc, $stdout, $stderr) = $node->psql('postgres',
	"SET leaderboard.offline = error; SELECT lb_rank(1, 't')");
like($stderr, qr/board "t" is offline/, 'leaderboard.offline = error');
$node->safe_psql('postgres', <<'END');
UPDATE t SET score = score + 1 WHERE player_id % 3 = 0;
DELETE FROM t WHERE player_id % 100 = 7;
INSERT INTO t SELECT i, i FROM generate_series(70001, 70100) i;
END
some_right('postgres', 't', 't', 'after more writes');

# The log has a message at both thresholds.
my $log = slurp_file($node->logfile);
for my $level (80, 95)
{
	like($log, qr/WARNING:  $level % of the shared memory of "leaderboard.memory" is used/,
		"a warning at $level %")
	  if $level == 95 || $log !~ /WARNING:  95 %/;
}

# No room for it, still.
($rc, $stdout, $stderr) = $node->psql('postgres', "SELECT lb_rebuild('t')");
like($stderr, qr/could not build board "t"/, 'lb_rebuild() fails');
like($stderr, qr/leaderboard.memory/, 'and says why');
is_offline('postgres', 't', 'leaderboard.memory', 'after lb_rebuild()');
some_right('postgres', 't', 't', 'after lb_rebuild() failed');

# A board that does not fit does not prevent another.
$node->safe_psql('postgres', <<'END');
CREATE TABLE small (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO small SELECT i, i % 10 FROM generate_series(1, 100) i;
SELECT lb_create_board('small', 'small');
END
wait_state($node, 'postgres', 'small', 'ready');
is_right($node, 'postgres', 'small', 'small', 'a small board is right');

# With fewer rows it is back, by lb_rebuild() alone.
$node->safe_psql('postgres', 'DELETE FROM t WHERE player_id > 6000');
some_right('postgres', 't', 't', 'after rows were deleted');
is_offline('postgres', 't', 'leaderboard.memory', 'until it is rebuilt');
$node->safe_psql('postgres', "SELECT lb_rebuild('t')");
wait_state($node, 'postgres', 't', 'ready');
is_right($node, 'postgres', 't', 't', 'right after lb_rebuild()');
is_verified($node, 'postgres', 'lb_verify() after lb_rebuild()');

# Old and new do not fit together: the old one is given up for the new one.
$node->safe_psql('postgres',
	'INSERT INTO t SELECT i, i % 1000 FROM generate_series(6001, 10000) i ON CONFLICT DO NOTHING');
$node->safe_psql('postgres', "SELECT lb_rebuild('t')") for 1 .. 3;
wait_state($node, 'postgres', 't', 'ready');
is_right($node, 'postgres', 't', 't', 'right after rebuilds without room for two');
is_verified($node, 'postgres', 'lb_verify() after that');

# One large transaction that does not fit, rolled back and committed.
my $large = <<'END';
INSERT INTO t SELECT i, i % 1000 FROM generate_series(100001, 160000) i;
END
$node->safe_psql('postgres', "BEGIN; $large SELECT lb_rank(100001, 't'); ROLLBACK");
wait_state($node, 'postgres', 't', 'ready');
is_right($node, 'postgres', 't', 't', 'right after a rollback');
$node->safe_psql('postgres', $large);
is_offline('postgres', 't', 'leaderboard.memory', 'after a large transaction');
some_right('postgres', 't', 't', 'after a large transaction');

# And one that is prepared: there is no room for what it leaves.
$node->safe_psql('postgres', "DELETE FROM t WHERE player_id > 6000; SELECT lb_rebuild('t')");
wait_state($node, 'postgres', 't', 'ready');
$node->safe_psql('postgres', "BEGIN; $large PREPARE TRANSACTION 'large'");
some_right('postgres', 't', 't', 'with a large transaction prepared');
$node->safe_psql('postgres', "UPDATE t SET score = score + 1 WHERE player_id < 100");
some_right('postgres', 't', 't', 'with writes beside it');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'large'");
some_right('postgres', 't', 't', 'after it was rolled back');
wait_state($node, 'postgres', 't', 'ready');
is_right($node, 'postgres', 't', 't', 'right when it is built again by itself');
is_verified($node, 'postgres', 'lb_verify() after that too');
$node->safe_psql('postgres', 'DROP TABLE t, small');

#
# The share of one database.
#
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('postgres',
	"ALTER DATABASE other SET leaderboard.database_memory = '300kB'");
$node->safe_psql('other', <<'END');
CREATE EXTENSION leaderboard;
CREATE TABLE t (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO t SELECT i, hashint4(i) % 1000 FROM generate_series(1, 2000) i;
SELECT lb_create_board('t', 't');
END
wait_state($node, 'other', 't', 'ready');
is_right($node, 'other', 't', 't', 'within the share');
is($node->safe_psql('other', <<'END'), 307200, 'the view shows the share');
SELECT total FROM lb_stat_memory WHERE datname = current_database()
END
$node->safe_psql('other',
	'INSERT INTO t SELECT i, hashint4(i) % 1000 FROM generate_series(2001, 12000) i');
is_offline('other', 't', 'leaderboard.database_memory', 'beyond the share');
some_right('other', 't', 't', 'beyond the share');
$node->safe_psql('other', 'UPDATE t SET score = score + 1 WHERE player_id % 3 = 0');
some_right('other', 't', 't', 'after writes beyond the share');
($rc, $stdout, $stderr) = $node->psql('other', 'SELECT lb_rebuild()');
like($stderr, qr/could not build board "t"/, 'lb_rebuild() fails');
like($stderr, qr/leaderboard.database_memory/, 'and says why');

# Another database is not concerned.
$node->safe_psql('postgres', <<'END');
CREATE TABLE t (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO t SELECT i, hashint4(i) % 1000 FROM generate_series(1, 8000) i;
SELECT lb_create_board('t', 't');
END
wait_state($node, 'postgres', 't', 'ready');
is_right($node, 'postgres', 't', 't', 'right in another database');

$node->safe_psql('other', 'DELETE FROM t WHERE player_id > 2000');
$node->safe_psql('other', 'SELECT lb_rebuild()');
wait_state($node, 'other', 't', 'ready');
is_right($node, 'other', 't', 't', 'back within the share');
is_verified($node, 'other');
is_verified($node, 'postgres');

# Each commit finds no memory; the log has one message.
$node->safe_psql('other', <<'END');
CREATE TABLE u (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO u SELECT i, i FROM generate_series(1, 10) i;
SELECT lb_create_board('u', 'u');
END
wait_state($node, 'other', 'u', 'ready');
$node->safe_psql('postgres',
	"ALTER DATABASE other SET leaderboard.database_memory = '64kB'");
$node->safe_psql('other', <<'END');
DO $$
BEGIN
	FOR i IN 1 .. 200 LOOP
		UPDATE u SET score = score + 1 WHERE player_id = i % 10 + 1;
		COMMIT;
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$;
END
is_offline('other', 'u', 'leaderboard.database_memory', 'far beyond the share');
is_right($node, 'other', 'u', 'u', 'far beyond the share');

# The applier obeys the limit of a database, though it is connected to none.  While
# it is stopped, a backlog grows for which the index has no room.  An old snapshot
# keeps the history, whose memory would suffice.
$node->safe_psql('postgres', 'ALTER DATABASE other RESET leaderboard.database_memory');
$node->safe_psql('other', <<'END');
DROP TABLE t, u;
CREATE TABLE v (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO v SELECT i, i FROM generate_series(1, 2000) i;
SELECT lb_create_board('v', 'v');
END
wait_state($node, 'other', 'v', 'ready');
ok( $node->poll_query_until('postgres',
		"SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE backend_type = 'leaderboard applier'"),
	'the applier sleeps');
my $applier = $node->safe_psql('postgres',
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'leaderboard applier'");
my $old = open_session($node, 'other', on_error_stop => 1);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM v');
kill 'STOP', $applier;
$node->safe_psql('other', <<'END');
DO $$
BEGIN
	FOR i IN 1 .. 60 LOOP
		INSERT INTO v SELECT 10000 + i * 100 + j, hashint4(i * 100 + j) % 2000 FROM generate_series(1, 50) j;
		COMMIT;
	END LOOP;
END $$;
END
my $used = 'SELECT used FROM lb_stat_memory WHERE datname = current_database()';
my $before = $node->safe_psql('other', $used);
my $share = int($before / 1024) + 8;
$node->safe_psql('postgres', "ALTER DATABASE other SET leaderboard.database_memory = '${share}kB'");
$node->safe_psql('other', "INSERT INTO v VALUES (9999, 9999)");
kill 'CONT', $applier;
ok($node->poll_query_until('other', "SELECT used < $before / 2 OR used > $share * 1024 FROM ($used) u"),
	'the backlog is applied, or not');
cmp_ok($node->safe_psql('other', $used), '<=', $share * 1024, 'and not beyond the share');
is_offline('other', 'v', 'leaderboard.database_memory', 'by the applier');
is_right($node, 'other', 'v', 'v', 'beyond the share, by the applier');
$old->quit;

$node->stop;
$log = slurp_file($node->logfile);
my @told = $log =~ /LOG:  board "u" of database "other" is offline/g;
cmp_ok(scalar @told, '>=', 1, 'the log is told of a board that is offline');
cmp_ok(scalar @told, '<=', 10, 'and not again at each of 200 commits');
like($log, qr/WARNING:  95 % of the shared memory/, 'a warning at 95 %');
unlike($log, qr/PANIC|TRAP:|terminated by signal|did not hold/,
	'nothing bad in the log');
done_testing();
