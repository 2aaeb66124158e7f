# leaderboard.memory is raised and lowered while the server runs: boards that did
# not fit come back by themselves, nothing that is there is lost; a server that
# cannot reserve address space for it starts, and says so.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LbRanks;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
$node->append_conf('postgresql.conf', "leaderboard.memory = '1MB'\nrestart_after_crash = on");
$node->start;

# The memory that all boards may take, and how much is reserved.
sub limit
{
	my ($server) = @_;

	return split /\|/, $server->safe_psql('postgres',
		'SELECT total, used, reserved FROM lb_stat_memory WHERE datname IS NULL');
}

# Set leaderboard.memory, and wait until the launcher has put it into force.
sub set_memory
{
	my ($server, $memory) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$server->safe_psql('postgres', "ALTER SYSTEM SET leaderboard.memory = '$memory'");
	$server->reload;
	ok( $server->poll_query_until(
			'postgres', <<"END"),
SELECT total BETWEEN 0.98 * pg_size_bytes('$memory') AND pg_size_bytes('$memory')
FROM lb_stat_memory WHERE datname IS NULL
END
		"$memory are in force");
}

# Rows in many transactions, so that the board grows out of its memory.
sub grow
{
	my ($table, $from, $to) = @_;

	$node->safe_psql('postgres', <<"END");
DO \$\$
BEGIN
  FOR i IN $from .. $to LOOP
    INSERT INTO $table SELECT i * 100 + j, hashint4(i * 100 + j) % 1000
    FROM generate_series(1, 100) j;
    COMMIT;
  END LOOP;
END \$\$;
END
}

sub is_full
{
	my ($board, $when) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok( $node->poll_query_until(
			'postgres', <<"END"),
SELECT state = 'offline' AND reason LIKE '%leaderboard.memory%'
FROM lb_stat_board WHERE board = '$board'
END
		"board $board does not fit $when");
}

#
# Outgrown and raised.
#
$node->safe_psql('postgres', <<'END');
CREATE EXTENSION leaderboard;
CREATE TABLE steady (player_id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO steady SELECT i, i % 100 FROM generate_series(1, 500) i;
CREATE TABLE t (player_id bigint PRIMARY KEY, score int NOT NULL);
SELECT lb_create_board('steady', 'steady');
SELECT lb_create_board('Growing', 't');
END
wait_state($node, 'postgres', 'steady', 'ready');
wait_state($node, 'postgres', 'Growing', 'ready');
my ($total, $used, $reserved) = limit($node);
cmp_ok($total, '<=', 1024 * 1024, 'the limit in force is shown');
cmp_ok($reserved, '>', 1024 * 1024 * 1024,
	'what costs nothing is reserved: the memory of the machine');
grow('t', 1, 600);
is_full('Growing', 'after many inserts');

$node->wait_for_log(qr/HINT:  Set "leaderboard.memory" higher/);
my $log = slurp_file($node->logfile);
like($log, qr/WARNING:  \d+ % of the shared memory of "leaderboard.memory" is used\n.*DETAIL:  Used are \d+ of \d+ bytes\. Grown most since the last warning, or since they were built: "Growing" of database "postgres" has \d+ bytes \(\d+ more\)/,
	'the warning names the board that has grown');
like($log, qr/HINT:  Set "leaderboard.memory" higher and reload the configuration; up to $reserved bytes are reserved/,
	'and what to set');

# There is not even room for a definition.
$node->safe_psql('postgres', <<'END');
CREATE TABLE f (player_id bigint, g int, score int NOT NULL, PRIMARY KEY (player_id, g));
SELECT lb_create_board('f', 'f', board_column => 'g');
END
wait_state($node, 'postgres', 'f', 'ready');
$node->safe_psql('postgres',
	'INSERT INTO f SELECT i, i, i FROM generate_series(1, 3000) i');
is_full('f', 'with 3,000 boards');
$node->safe_psql('postgres', 'CREATE TABLE late (player_id bigint PRIMARY KEY, score int NOT NULL);
	INSERT INTO late SELECT i, i % 7 FROM generate_series(1, 20) i');
$node->safe_psql('postgres', "SELECT lb_create_board('late' || i, 'late') FROM generate_series(1, 1200) i");
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM lb_stat_board WHERE board LIKE 'late%' AND state = 'ready'") < 1200,
	1, 'some of 1,200 boards have no definition in memory');

set_memory($node, '64MB');
wait_state($node, 'postgres', 'Growing', 'ready');
wait_state($node, 'postgres', 'f', 'ready');
ok( $node->poll_query_until('postgres',
		"SELECT count(*) = 1200 FROM lb_stat_board WHERE board LIKE 'late%' AND state = 'ready'"),
	'all boards are back by themselves');
is_right($node, 'postgres', 't', 'Growing', 'right with more memory');
is_right($node, 'postgres', 'late', 'late1200', 'right that had no definition');
is($node->safe_psql('postgres', "SELECT lb_count('f:7'), lb_rank(8, 'f:8')"), '1|1', 'right in a family');
is_verified($node, 'postgres', 'lb_verify() with more memory');
grow('t', 601, 700);
is_right($node, 'postgres', 't', 'Growing', 'right when it has grown on');

#
# Lowered below what is used: all that is there stays, and nothing comes.
#
$node->safe_psql('postgres', "SELECT lb_drop_board('late' || i) FROM generate_series(1, 1200) i");
set_memory($node, '1MB');
($total, $used) = limit($node);
cmp_ok($used, '>', $total, 'more is used than the limit');
is($node->safe_psql('postgres', "SELECT string_agg(state, ' ' ORDER BY board) FROM lb_stat()"),
	'ready ready ready', 'all boards stay');
is_right($node, 'postgres', 't', 'Growing', 'right with a limit below');
is_verified($node, 'postgres', 'lb_verify() with a limit below');
grow('t', 701, 1000);
is_full('Growing', 'any more');
is($node->safe_psql('postgres', "SELECT lb_count('Growing')"), 100000, 'its query answers');

# Writes go on meanwhile, and a crash keeps the limit.
my $session = open_session($node, 'postgres');
my $victim = $session->query('SELECT pg_backend_pid()');
kill 'KILL', $victim;
$session->{run}->kill_kill;
ok(runs_without($node, $victim), 'the server is back after a crash');
wait_state($node, 'postgres', 'steady', 'ready');
is_full('Growing', 'after a crash either');
is_right($node, 'postgres', 'steady', 'steady', 'right after a crash');
is($node->safe_psql('postgres', "SELECT * FROM lb_verify() WHERE problem NOT LIKE '%is not ready%'"),
	'', 'lb_verify() after a crash');
($total, $used, my $again) = limit($node);
cmp_ok($used, '<=', $total, 'what was there before is gone');
is($again, $reserved, 'and as much is reserved');

set_memory($node, '64MB');
wait_state($node, 'postgres', 'Growing', 'ready');
is_right($node, 'postgres', 't', 'Growing', 'right when raised after a crash');
is_verified($node, 'postgres', 'lb_verify() when raised after a crash');
$node->stop;

#
# More than is reserved.
#
$node->append_conf('postgresql.conf', "leaderboard.max_memory = '32MB'");
$node->start;
($total, $used, $reserved) = limit($node);
is($reserved, 64 * 1024 * 1024, 'leaderboard.memory is reserved at least');
$node->safe_psql('postgres', "ALTER SYSTEM SET leaderboard.memory = '96MB'");
$node->reload;
ok( $node->wait_for_log(qr/WARNING:  "leaderboard.memory" is more than is reserved\n.*DETAIL:  It is 100663296 bytes, and $reserved were reserved when the server started. So much is in force.\n.*HINT:  Set "leaderboard.max_memory" higher and restart the server/),
	'the log says that it is too much');
($total) = limit($node);
cmp_ok($total, '<=', $reserved, 'what is reserved is in force');
wait_state($node, 'postgres', 'Growing', 'ready');
is_verified($node, 'postgres', 'lb_verify() with all that is reserved');
$node->stop;

#
# Address space is limited.
#
my $limited = $node->basedir . '/limited';
my ($bin) = run_command([ 'pg_config', '--bindir' ]);
append_to_file($limited, <<"END");
#!/bin/sh
ulimit -v 2000000 || exit 1
exec '$bin/postgres' "\$@"
END
chmod 0755, $limited or die "could not change $limited: $!";

sub start_limited
{
	my ($what) = @_;
	my $mark = -s $node->logfile;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	command_ok([ 'pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-p', $limited, '-w', 'start' ],
		"$what: the server starts");
	$node->_update_pid(1);
	wait_state($node, 'postgres', 'Growing', 'ready');
	is_right($node, 'postgres', 't', 'Growing', "$what: right");
	is_verified($node, 'postgres', "$what: lb_verify()");
	return slurp_file($node->logfile, $mark);
}

$node->append_conf('postgresql.conf', "leaderboard.max_memory = '100GB'");
like(start_limited('what is asked for is not to be had'),
	qr/WARNING:  could not reserve memory for boards as "leaderboard.max_memory" says: Cannot allocate memory\n.*DETAIL:  The failed request was for 107374182400 bytes; 100663296 are reserved\./,
	'the log says that less is reserved');
(undef, undef, $reserved) = limit($node);
is($reserved, 96 * 1024 * 1024, 'leaderboard.memory is reserved');
$node->stop;

$node->append_conf('postgresql.conf', 'leaderboard.max_memory = 0');
like(start_limited('by itself'),
	qr/LOG:  "leaderboard.memory" cannot be raised while the server runs\n.*DETAIL:  No more address space is reserved: the server's address space is limited \(ulimit -v\)/,
	'the log says that no more is reserved');
(undef, undef, $reserved) = limit($node);
is($reserved, 96 * 1024 * 1024, 'address space that is scarce is not reserved by itself');
$node->stop;

$node->append_conf('postgresql.auto.conf', "leaderboard.memory = '3GB'");
like(start_limited('not even the memory is available'),
	qr/WARNING:  could not reserve memory for boards as "leaderboard.memory" says/,
	'the log says that there is less than leaderboard.memory');
(undef, undef, $reserved) = limit($node);
cmp_ok($reserved, '<', 2000 * 1024 * 1024, 'so less is reserved');
$node->stop;

unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|did not hold/, 'nothing bad in the log');
done_testing();
