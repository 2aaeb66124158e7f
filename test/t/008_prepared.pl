# Prepared transactions with changes: no rank is ever wrong, whichever session ends
# them, in whatever order, and whatever happened in between.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LbRanks;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
$node->append_conf('postgresql.conf', 'checkpoint_timeout = 1h');
$node->start;

$node->safe_psql('postgres', <<'END');
CREATE EXTENSION leaderboard;
CREATE TABLE plain (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO plain SELECT i, i * 7 % 100 FROM generate_series(1, 400) i;
CREATE TABLE guild (player_id bigint PRIMARY KEY, guild text, score int NOT NULL);
INSERT INTO guild SELECT i, 'g' || i % 2, i * 31 % 50
FROM generate_series(1, 200) i;
SELECT lb_create_board('global', 'plain');
SELECT lb_create_board('guild', 'guild', board_column => 'guild');
END
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'ready');

sub all_right
{
	my ($when, $session) = @_;
	my $wrong =
	  wrong_ranks('plain', 'global') . ' UNION ALL ' .
	  wrong_ranks('guild', 'guild:g0', where => "guild = 'g0'") . ' UNION ALL ' .
	  wrong_ranks('guild', 'guild:g1', where => "guild = 'g1'");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( defined $session ? $session->query_safe($wrong) :
		  $node->safe_psql('postgres', $wrong),
		"0\n0\n0",
		"all ranks are right $when");
}

sub prepare
{
	my ($name, $sql) = @_;

	$node->safe_psql('postgres', "BEGIN; $sql; PREPARE TRANSACTION '$name'");
}

sub finish
{
	my ($how, $name) = @_;

	$node->safe_psql('postgres', "$how PREPARED '$name'");
}

# Whether reads are answered by the index.
sub by_index
{
	my ($when) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $node->safe_psql('postgres', <<'END'),
SELECT lb_stat_reset();
SELECT lb_rank(1) > 0, lb_rank(1, 'guild:g1') > 0;
SELECT pg_sleep(0) FROM (SELECT pg_stat_clear_snapshot()) s;
END
		"\nt|t\n", "two reads $when");
	ok( $node->poll_query_until('postgres', <<'END'), "by index $when");
SELECT sum(index_reads) = 2 AND sum(query_reads) = 0 FROM lb_stat_board
END
}

all_right('at first');

#
# One at a time, from another session.
#
for my $how ('COMMIT', 'ROLLBACK')
{
	my $session = open_session($node, 'postgres', on_error_stop => 1);

	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	all_right("in a snapshot before ($how)", $session);
	prepare('one', <<'END');
UPDATE plain SET score = score + 50 WHERE player_id % 4 = 0;
DELETE FROM plain WHERE player_id % 9 = 1;
INSERT INTO plain SELECT 1000 + i, i FROM generate_series(1, 20) i;
SAVEPOINT s;
UPDATE plain SET score = -1;
ROLLBACK TO s;
UPDATE plain SET player_id = -player_id WHERE player_id % 50 = 3;
UPDATE guild SET guild = 'g' || player_id / 2 % 2, score = score + 1
WHERE player_id % 3 = 0;
END
	all_right("while one is prepared ($how)");
	all_right("while one is prepared, for an older snapshot ($how)", $session);
	by_index("while one is prepared ($how)");
	$node->safe_psql('postgres',
		'UPDATE plain SET score = score - 7 WHERE player_id % 12 = 5 AND player_id % 50 <> 3');
	all_right("after changes of other rows ($how)");
	finish($how, 'one');
	all_right("after $how PREPARED");
	all_right("after $how PREPARED, for an older snapshot", $session);
	$node->safe_psql('postgres',
		'UPDATE plain SET score = score + 3 WHERE player_id % 2 = 0');
	all_right("after changes of the same rows ($how)");
	all_right("after that, for an older snapshot ($how)", $session);
	$session->query_safe('COMMIT');
	all_right("in a new snapshot of that session ($how)", $session);
	$session->quit;
	is_verified($node, 'postgres', "lb_verify() after $how PREPARED");
	$node->safe_psql('postgres', <<'END');
DELETE FROM plain WHERE player_id NOT BETWEEN 1 AND 400;
INSERT INTO plain SELECT i, i FROM generate_series(1, 400) i ON CONFLICT DO NOTHING;
END
}

# Statistics count what has just been committed, before any read has met it.
is( $node->safe_psql('postgres', <<'END'),
BEGIN;
INSERT INTO plain SELECT 2000 + i, i FROM generate_series(1, 20) i;
PREPARE TRANSACTION 'counted';
COMMIT PREPARED 'counted';
SELECT members - (SELECT count(*) FROM plain) FROM lb_stat_board
WHERE board = 'global';
DELETE FROM plain WHERE player_id > 2000;
END
	'0', 'lb_stat_board counts what was prepared and committed');

# In one session, one right after the other, without time to settle.
$node->safe_psql('postgres', <<"END");
@{[ map { my $end = $_ % 3 ? 'COMMIT' : 'ROLLBACK'; <<"TX" } 1 .. 60 ]}
BEGIN;
UPDATE plain SET score = score * 5 % 101 + $_ WHERE player_id % 7 < 3;
PREPARE TRANSACTION 'fast';
$end PREPARED 'fast';
TX
END
all_right('after many in a row');

# More rolled back on one member than outcomes are remembered, then a change.
my $rolled_back = join('', map { <<"TX" } 1 .. 40);
BEGIN;
UPDATE plain SET score = $_ WHERE player_id = 1;
PREPARE TRANSACTION 'fast';
ROLLBACK PREPARED 'fast';
TX
$node->safe_psql('postgres', <<"END");
SET statement_timeout = '10min';
$rolled_back
UPDATE plain SET score = 77 WHERE player_id = 1;
END
all_right('after many were rolled back');

#
# Several at once on one table, ended in either order; the session that
# prepared them is gone.
#
for my $order ([1 .. 6], [reverse 1 .. 6])
{
	for my $i (1 .. 6)
	{
		prepare("several $i", <<"END");
UPDATE plain SET score = score + $i * 10 WHERE player_id % 6 = $i - 1;
UPDATE guild SET score = score + $i WHERE player_id % 6 = $i - 1
END
	}
	all_right("with six prepared (@$order)");
	for my $i (@$order)
	{
		finish($i % 3 == 0 ? 'ROLLBACK' : 'COMMIT', "several $i");
		all_right("after the end of number $i (@$order)");
	}
	is_verified($node, 'postgres', "lb_verify() after @$order");
}

# Locks of a prepared transaction, and a writer that waits for them.
{
	my $session = open_session($node, 'postgres', on_error_stop => 1);

	prepare('waited for', 'UPDATE plain SET score = 60 WHERE player_id <= 10');
	$session->query_until(qr/start/, <<'END');
\echo start
UPDATE plain SET score = score + 1 WHERE player_id <= 20;
END
	ok( $node->poll_query_until('postgres', <<'END'), 'a writer waits');
SELECT count(*) = 1 FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE%'
END
	all_right('while a writer waits');
	finish('COMMIT', 'waited for');
	all_right('when the writer continues', $session);
	all_right('after that');
	$session->quit;
}

#
# A large one.
#
$node->safe_psql('postgres', <<'END');
CREATE TABLE large (player_id int PRIMARY KEY, score int NOT NULL);
INSERT INTO large SELECT i, hashint4(i) % 1000 FROM generate_series(1, 20000) i;
SELECT lb_create_board('large', 'large');
END
wait_state($node, 'postgres', 'large', 'ready');
for my $how ('ROLLBACK', 'COMMIT')
{
	prepare('large', 'UPDATE large SET score = -score');
	is_right($node, 'postgres', 'large', 'large',
		"with 20,000 changed rows prepared ($how)");
	finish($how, 'large');
	is_right($node, 'postgres', 'large', 'large',
		"after $how PREPARED of 20,000 changed rows");
}
is_verified($node, 'postgres', 'lb_verify() after large ones');

#
# TRUNCATE.  Its lock keeps readers out, and the query too.
#
for my $how ('ROLLBACK', 'COMMIT')
{
	prepare('truncate', "TRUNCATE large; INSERT INTO large VALUES (1, 1), (2, 2)");
	my ($rc, $stdout, $stderr) = $node->psql('postgres',
		"SET lock_timeout = '50ms'; SELECT lb_rank(1, 'large')");
	like($stderr, qr/lock timeout/, "a read waits for the lock ($how)");
	all_right("of other boards while TRUNCATE is prepared ($how)");
	finish($how, 'truncate');
	is( $node->safe_psql('postgres', <<'END'),
SELECT bool_and(lb_rank(m, 'large') IS NOT DISTINCT FROM (SELECT rank FROM (SELECT player_id,
    row_number() OVER (ORDER BY score DESC, player_id) AS rank FROM large) r
  WHERE player_id = m)), lb_count('large') = (SELECT count(*) FROM large)
FROM unnest(ARRAY[1, 2, 3, 20000]) m
END
		't|t', "right after $how PREPARED of TRUNCATE");
	wait_state($node, 'postgres', 'large', 'ready');
	is_right($node, 'postgres', 'large', 'large',
		"when it is built again after $how PREPARED of TRUNCATE");
	is_verified($node, 'postgres', "lb_verify() after $how PREPARED of TRUNCATE");
}

#
# Through the end of the server.
#
for my $mode ('fast', 'immediate')
{
	# 20 changes are below and above where the index is looked up alike.
	for my $i (1 .. 3)
	{
		prepare("restart $i", <<"END");
UPDATE plain SET score = score + $i * 20 WHERE player_id % 3 = $i - 1;
INSERT INTO guild VALUES ($i + 1000 * (SELECT max(player_id) FROM guild), 'g1', $i)
END
	}
	$node->stop($mode);
	$node->start;
	all_right("after a restart ($mode)");
	isnt(
		$node->safe_psql('postgres', <<'END'),
SELECT state FROM lb_stat_board WHERE board = 'global'
END
		'ready', "the board waits for their end ($mode)");
	my ($rc, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT lb_rebuild('global')");
	like($stderr, qr/could not build board/, "lb_rebuild() says so ($mode)");
	finish('COMMIT', 'restart 2');
	all_right("after the first has ended ($mode)");
	$node->safe_psql('postgres',
		'UPDATE plain SET score = score + 1 WHERE player_id % 3 = 1');
	all_right("after changes of its rows ($mode)");
	finish('ROLLBACK', 'restart 1');
	prepare('new', 'UPDATE plain SET score = score + 9 WHERE player_id % 3 = 1');
	finish('COMMIT', 'restart 3');
	all_right("after all have ended but a new one ($mode)");
	wait_state($node, 'postgres', 'global', 'ready');
	all_right("when the board is built again ($mode)");
	finish('COMMIT', 'new');
	all_right("after all have ended ($mode)");
	ok( $node->poll_query_until('postgres',
			"SELECT bool_and(state = 'ready') FROM lb_stat_board"),
		"all boards are ready again ($mode)");
	all_right("with all boards ready ($mode)");
	is_verified($node, 'postgres', "lb_verify() after a restart ($mode)");
}

$node->stop;
unlike(slurp_file($node->logfile),
	qr/PANIC|TRAP:|terminated by signal|did not hold/,
	'nothing bad in the log');
done_testing();
