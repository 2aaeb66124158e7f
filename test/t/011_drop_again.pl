# Tables, extensions and databases that go, and come again: nothing is left
# behind, and no build stands in the way.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LbRanks;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
$node->start;

# One database stays, for looking at the memory.
$node->safe_psql('postgres', 'CREATE EXTENSION leaderboard');

my $tables = <<'END';
CREATE TABLE plain (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO plain SELECT i, i * 7919 % 5000 FROM generate_series(1, 20000) i;
CREATE TABLE guild (player_id bigint, guild int, score int NOT NULL,
  PRIMARY KEY (player_id, guild));
INSERT INTO guild SELECT i, i % 20, i * 31 % 1000
FROM generate_series(1, 5000) i;
END
my $boards = <<'END';
SELECT lb_create_board('global', 'plain');
SELECT lb_create_board('guild', 'guild', board_column => 'guild');
END

# Ready, and right.
sub boards_work
{
	my ($database, $when) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, "SELECT lb_wait_ready()"),
		't', "ready $when");
	is($node->safe_psql($database,
			"SELECT count(*), bool_and(state = 'ready') FROM lb_stat_board"),
		'22|t', "all boards are ready $when");
	is_right($node, $database, 'plain', 'global', "plain board $when");
	is_right($node, $database, 'guild', 'guild:7', "board of the family $when",
		where => 'guild = 7');
	is_verified($node, $database, "lb_verify() $when");
}

$node->safe_psql('postgres', 'CREATE DATABASE work');
$node->safe_psql('work', "CREATE EXTENSION leaderboard; $tables $boards");
boards_work('work', 'at first');

# Memory must return to what it was, but for what each definition took, less
# than 2 kB, which is kept for the next one.
sub memory_is_back
{
	my ($title) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok( $node->poll_query_until(
			'postgres',
			'SELECT used < 50000 FROM lb_stat_memory WHERE datname IS NULL'),
		$title);
}

#
# DROP TABLE
#
$node->safe_psql('work', 'DROP TABLE plain, guild');
is($node->safe_psql('work', 'SELECT count(*) FROM lb_board'),
	'0', 'the records went with the tables');
is($node->safe_psql('work', 'SELECT count(*) FROM lb_stat_board'),
	'0', 'and so did the boards');
my ($rc, $stdout, $stderr) =
  $node->psql('work', "SELECT lb_rank(1)", on_error_stop => 1);
like($stderr, qr/board "global" does not exist/, 'a read does not find it');
memory_is_back('the boards have given their memory back');

# Again with the same names, rolled back first.
$node->safe_psql('work', "$tables $boards");
boards_work('work', 'after creating them again');
cmp_ok(memory_used($node, 'postgres'), '>', 500000, 'boards take memory');
$node->safe_psql('work', 'BEGIN; DROP TABLE plain; ROLLBACK');
boards_work('work', 'after DROP TABLE was rolled back');
$node->safe_psql('work', <<'END');
BEGIN;
SAVEPOINT s;
DROP TABLE plain, guild;
ROLLBACK TO s;
UPDATE plain SET score = score + 1 WHERE player_id % 10 = 3;
COMMIT;
END
boards_work('work', 'after DROP TABLE was rolled back to a savepoint');

# Dropped and created again, in one transaction; with reads in between.
$stdout = $node->safe_psql('work', <<END);
BEGIN;
SELECT lb_rank(1) > 0;
DROP TABLE plain, guild;
$tables
$boards
SELECT lb_rank(77) = (SELECT rank FROM (SELECT player_id,
    row_number() OVER (ORDER BY score DESC, player_id) AS rank FROM plain) r
  WHERE player_id = 77);
COMMIT;
DO 'BEGIN PERFORM lb_wait_ready(); END';
@{[wrong_ranks('plain', 'global')]}
END
is(join(',', $stdout =~ /(\S+)/g), 't,t,0', 'read before, inside and after');
boards_work('work', 'after DROP and CREATE in one transaction');

# Another session that knows the old tables.
{
	my $session = open_session($node, 'work', on_error_stop => 1);

	is($session->query_safe(wrong_ranks('plain', 'global')),
		'0', 'another session reads');
	$node->safe_psql('work', "DROP TABLE plain, guild; $tables $boards");
	$session->query_safe('SELECT lb_wait_ready()');
	is($session->query_safe(wrong_ranks('plain', 'global')),
		'0', 'and reads the new board');
	$session->query_safe('UPDATE plain SET score = 0 WHERE player_id < 10');
	is($session->query_safe(wrong_ranks('plain', 'global')),
		'0', 'and writes it');
	$session->quit;
}
boards_work('work', 'after DROP and CREATE under another session');

# Schemas, and owners.
$node->safe_psql('work', <<'END');
CREATE ROLE owner;
CREATE SCHEMA games AUTHORIZATION owner;
GRANT EXECUTE ON FUNCTION lb_create_board TO owner;
SET ROLE owner;
CREATE TABLE games.t (player_id int PRIMARY KEY, score int);
INSERT INTO games.t SELECT i, i FROM generate_series(1, 1000) i;
SELECT lb_create_board('games', 'games.t');
SELECT lb_rank(1, 'games');
RESET ROLE;
DROP OWNED BY owner CASCADE;
DROP ROLE owner;
END
boards_work('work', 'after DROP OWNED');
$node->safe_psql('work', 'DROP TABLE plain, guild');
memory_is_back('all memory has come back');

#
# DROP EXTENSION
#
$node->safe_psql('work', "$tables $boards");
boards_work('work', 'before DROP EXTENSION');
($rc, $stdout, $stderr) = $node->psql('work', 'DROP EXTENSION leaderboard');
like($stderr, qr/other objects depend on it/, 'DROP EXTENSION is refused');
boards_work('work', 'after it was refused');
$node->safe_psql('work', 'BEGIN; DROP EXTENSION leaderboard CASCADE; ROLLBACK');
boards_work('work', 'after DROP EXTENSION CASCADE was rolled back');

$node->safe_psql('work', 'DROP EXTENSION leaderboard CASCADE');
is( $node->safe_psql(
		'work',
		"SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'leaderboard%'"),
	'0', 'DROP EXTENSION CASCADE takes the triggers');
$node->safe_psql('work', 'UPDATE plain SET score = score + 1');
memory_is_back('DROP EXTENSION gives the memory back');

# In the same session, in the same transaction, and under another session.
$stdout = $node->safe_psql('work', <<END);
CREATE EXTENSION leaderboard;
$boards
DO 'BEGIN PERFORM lb_wait_ready(); END';
@{[wrong_ranks('plain', 'global')]};
DROP EXTENSION leaderboard CASCADE;
UPDATE plain SET score = score + player_id % 7;
CREATE EXTENSION leaderboard;
$boards
UPDATE plain SET score = score + player_id % 5;
DO 'BEGIN PERFORM lb_wait_ready(); END';
@{[wrong_ranks('plain', 'global')]}
END
is(join(',', $stdout =~ /(\S+)/g), '0,0', 'created again in the same session');
boards_work('work', 'after that');

my $session = open_session($node, 'work', on_error_stop => 1);
is($session->query_safe(wrong_ranks('guild', 'guild:7', where => 'guild = 7')),
	'0', 'another session reads');
$stdout = $node->safe_psql('work', <<END);
BEGIN;
DROP EXTENSION leaderboard CASCADE;
CREATE EXTENSION leaderboard;
$boards
UPDATE plain SET score = score + player_id % 3;
SELECT lb_rank(77) = (SELECT rank FROM (SELECT player_id,
    row_number() OVER (ORDER BY score DESC, player_id) AS rank FROM plain) r
  WHERE player_id = 77);
COMMIT;
DO 'BEGIN PERFORM lb_wait_ready(); END';
@{[wrong_ranks('plain', 'global')]}
END
is(join(',', $stdout =~ /(\S+)/g), 't,0', 'created again in the same transaction');
$session->query_safe('UPDATE guild SET score = score + player_id % 3');
is($session->query_safe(wrong_ranks('guild', 'guild:7', where => 'guild = 7')),
	'0', 'the other session goes on');
$session->quit;
boards_work('work', 'after that too');

# Without boards nothing depends on it.
$node->safe_psql('work', 'DROP TABLE plain, guild; DROP EXTENSION leaderboard');
$node->safe_psql('work', 'CREATE EXTENSION leaderboard');
is_verified($node, 'work', 'lb_verify() with nothing there');
memory_is_back('memory has come back');

# To the byte, now that there are definitions enough.
my $used = memory_used($node, 'postgres');
for my $drop ('DROP TABLE plain, guild', 'DROP EXTENSION leaderboard CASCADE',
	"SELECT lb_drop_board('global'), lb_drop_board('guild')")
{
	$node->safe_psql('work', "$tables $boards");
	$node->safe_psql('work', 'SELECT lb_wait_ready()');
	$node->safe_psql('work', "UPDATE plain SET score = score + 1; $drop");
	wait_used($node, 'postgres', $used, "the same is used after $drop");
	$node->safe_psql('work', 'DROP TABLE IF EXISTS plain, guild;
		CREATE EXTENSION IF NOT EXISTS leaderboard');
}

#
# DROP DATABASE and CREATE DATABASE ... TEMPLATE, at rest and during a build.
#

# Waits until a build of a database runs, then goes on.
my $wait_build = <<'END';
DO $$
BEGIN
  FOR i IN 1 .. 3000 LOOP
    PERFORM FROM pg_stat_activity
    WHERE datname = 'work' AND backend_type = 'leaderboard worker';
    EXIT WHEN FOUND;
    PERFORM pg_stat_clear_snapshot(), pg_sleep(0.002);
  END LOOP;
  IF NOT FOUND THEN
    RAISE 'there is no build';
  END IF;
END $$;
END

# Several boards of one table, so that there are builds for a while.
my $large = <<'END';
CREATE UNLOGGED TABLE large (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO large SELECT i, hashint4(i) % 100000
FROM generate_series(1, 200000) i;
END
my $many_boards =
  "SELECT lb_create_board('large' || i, 'large') FROM generate_series(1, 40) i";

# Creates these boards, and runs a command on the database while they are built.  Once
# more if all builds had ended before, or sessions have not left the database in time.
sub during_builds
{
	my ($command) = @_;

	for my $round (1 .. 20)
	{
		$node->safe_psql('work', "DO \$\$ BEGIN PERFORM lb_drop_board(board)
		  FROM lb_board WHERE board LIKE 'large%'; END \$\$");
		$node->safe_psql('work', $many_boards);
		my ($rc, $out, $err) = $node->psql('postgres', "$wait_build $command", on_error_stop => 1);

		return 1 if $rc == 0;
		die "$command: $err" if $err !~ /there is no build|being accessed by other users/;
	}
	return 0;
}

$node->safe_psql('work', "$tables $boards $large");
boards_work('work', 'before copying the database');
retry_accessed($node, 'CREATE DATABASE copy TEMPLATE work');
$node->safe_psql('copy', 'UPDATE plain SET score = score + player_id % 3');
boards_work('copy', 'in a copy');
boards_work('work', 'in the original');
retry_accessed($node, 'DROP DATABASE copy');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM lb_stat_memory WHERE datname = 'copy'"),
	'0', 'the copy has no account any more');

ok(during_builds('CREATE DATABASE copy TEMPLATE work'), 'a database can be copied while boards are built');
is($node->safe_psql('work', "SELECT lb_wait_ready('10 min')"),
	't', 'the builds go on after that');
boards_work('copy', 'in the copy')
  if $node->safe_psql('copy', <<'END');
SELECT lb_drop_board(board) FROM lb_board WHERE board LIKE 'large%';
SELECT 1;
END
is_right($node, 'work', 'large', "large40", 'a board built after that');
is_verified($node, 'work');

ok(during_builds('DROP DATABASE work'), 'a database can be dropped while boards are built');
retry_accessed($node, 'DROP DATABASE copy WITH (FORCE)');
ok( $node->poll_query_until(
		'postgres',
		'SELECT used < 300000 FROM lb_stat_memory WHERE datname IS NULL'),
	'databases give their memory back');
my $rest = memory_used($node, 'postgres');

# Once more, with a session and a build that FORCE ends.
$node->safe_psql('postgres', 'CREATE DATABASE work');
$node->safe_psql('work',
	"CREATE EXTENSION leaderboard; $large");
ok(during_builds('DROP DATABASE work WITH (FORCE)'), 'and by force');
wait_used($node, 'postgres', $rest, 'DROP DATABASE WITH (FORCE) likewise');

# The same name again.
$node->safe_psql('postgres', 'CREATE DATABASE work');
$node->safe_psql('work', "CREATE EXTENSION leaderboard; $tables $boards");
boards_work('work', 'in a new database of that name');
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM lb_stat_memory WHERE used > 0'),
	'2', 'only it has an account');

is_verified($node, 'postgres');
$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP:|terminated by signal/, 'no crash in the log');

done_testing();
