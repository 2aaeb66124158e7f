# What happens to tables and databases on a primary, as a standby's boards see it: a table
# that is unlogged for a while, partitions, rewrites, databases from templates, the
# extension made again; and a standby that is promoted when it may have missed changes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', "autovacuum = off\nleaderboard.maintenance_interval = 0", allows_streaming => 1);
$primary->start;
fill($primary, 'postgres', 40);
install_oracle($primary, 'postgres');
$primary->safe_psql('postgres', q{
	CREATE TABLE game (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO game SELECT g, g % 10 FROM generate_series(1, 20) g;
	SELECT lb_create_board('game', 'game');
	CREATE TABLE parted (player_id bigint PRIMARY KEY, score bigint) PARTITION BY RANGE (player_id);
	CREATE TABLE parted_a PARTITION OF parted FOR VALUES FROM (0) TO (20);
	CREATE TABLE parted_b PARTITION OF parted FOR VALUES FROM (20) TO (40);
	INSERT INTO parted SELECT g, g * 7 % 11 FROM generate_series(1, 39) g;
	SELECT lb_create_board('parted', 'parted');
	CREATE TABLE clan (realm text, name text, score int, PRIMARY KEY (realm, name));
	INSERT INTO clan SELECT realm, realm || g, g FROM generate_series(1, 20) g, unnest('{A,B}'::text[]) realm;
	SELECT lb_create_board('clans', 'clan', 'name', board_column => 'realm')});
my $standby = standby_of($primary, 'standby');
my $game = q{'game', 'game', 'true', 'player_id', 'score', 'DESC', NULL, 'row_number'};
my $parted = $game =~ s/game/parted/gr;
$standby->start;
same($primary, $standby, 'at first', $game, $parted);

# Statements of the primary, each a transaction of its own
sub run
{
	my ($db, @statements) = @_;

	$primary->safe_psql($db, $_) for @statements;
	caught_up($primary, $standby);
	return;
}

# Nothing tells a standby of changes to a table that is unlogged.
run('postgres', 'ALTER TABLE game SET UNLOGGED', 'ALTER TABLE parted_a SET UNLOGGED',
	'UPDATE game SET score = score + player_id % 4', 'UPDATE parted SET score = score + player_id % 4');
is($standby->safe_psql('postgres', q{SELECT DISTINCT state, reason FROM lb_stat_board WHERE board IN ('game', 'parted')}),
	'offline|the table is unlogged, and the server a standby', 'unlogged');
run('postgres', 'ALTER TABLE game SET LOGGED', 'ALTER TABLE parted_a SET LOGGED');
same_by($standby, 'postgres', 'any', 'logged again, at once', $game, $parted);
same($primary, $standby, 'logged again', $game, $parted);

for (
	[ 'attached', 'CREATE TABLE parted_c (player_id bigint PRIMARY KEY, score bigint)', 'INSERT INTO parted_c SELECT g, g % 3 FROM generate_series(40, 50) g',
		'ALTER TABLE parted ATTACH PARTITION parted_c FOR VALUES FROM (40) TO (60)' ],
	[ 'detached', 'ALTER TABLE parted DETACH PARTITION parted_b', 'UPDATE parted_b SET score = 100' ],
	[ 'attached again', 'ALTER TABLE parted ATTACH PARTITION parted_b FOR VALUES FROM (20) TO (40)' ],
	[ 'detached beside writers', 'ALTER TABLE parted DETACH PARTITION parted_b CONCURRENTLY', 'UPDATE parted_b SET score = 50' ],
	[ 'dropped', 'DROP TABLE parted_c', 'UPDATE parted SET score = score + 1' ],
	[ 'truncated', 'TRUNCATE parted_a', 'INSERT INTO parted VALUES (3, 3)' ])
{
	my ($what, @statements) = @$_;

	run('postgres', @statements);
	same($primary, $standby, "partition $what", $parted);
}
run('postgres', 'VACUUM FULL game', 'CLUSTER game USING game_pkey', 'UPDATE game SET score = 5 WHERE player_id = 4', 'REINDEX TABLE game');
same($primary, $standby, 'rewritten', $game);

# A row that no key can have costs its board the index, on the standby as well.
my $clans = q{SELECT board, lb_rank_key(right(board, 1) || 5, board), state, reason FROM lb_stat_board WHERE board LIKE 'clans:_' ORDER BY 1};
my $reason = 'a row has a text that is too long for the index';

run('postgres', q{INSERT INTO clan VALUES ('A', repeat('x', 600), 9)}, q{INSERT INTO clan VALUES ('C', repeat('y', 600), 8)});
is($standby->safe_psql('postgres', $clans), "clans:A|17|ready|$reason\nclans:B|16|ready|\nclans:C||ready|$reason", 'long texts');
is($standby->safe_psql('postgres', q{SELECT lb_top_key(1, 'clans:C') IS NOT NULL, query_limit FROM lb_stat('clans:C')}), 't|1', 'long texts: by the query');
run('postgres', q{UPDATE clan SET name = 'short' WHERE realm = 'A' AND score = 9 AND length(name) > 512}, q{DELETE FROM clan WHERE realm = 'C'});
is($standby->safe_psql('postgres', $clans), "clans:A|17|ready|\nclans:B|16|ready|", 'long texts have gone');
is($standby->safe_psql('postgres', q{SELECT * FROM lb_verify('clans')}), '', 'long texts have gone: lb_verify()');

# The primary cannot keep the index of a board.  A standby is told so by each commit that
# changes its table; it tries again now and then, and keeps the reason.
run('postgres', q{CREATE TABLE keyless (player_id bigint CONSTRAINT keyless_key UNIQUE, score bigint)},
	q{SELECT lb_create_board('keyless', 'keyless', 'player_id', 'score DESC')}, q{INSERT INTO keyless VALUES (1, 1), (2, 2)});
my $keyless = $game =~ s/game/keyless/gr;
my $offline = q{SELECT state, reason FROM lb_stat_board WHERE board = 'keyless'};
my $no_key = 'offline|there is no valid unique index on the member';
same($primary, $standby, 'with a key', $keyless);
run('postgres', 'ALTER TABLE keyless DROP CONSTRAINT keyless_key', 'UPDATE keyless SET score = 5 WHERE player_id = 1');
ok($standby->poll_query_until('postgres', "SELECT s = '$no_key' FROM (SELECT state || '|' || reason s FROM lb_stat_board WHERE board = 'keyless') s"),
	'without a key');
$standby->append_conf('postgresql.conf', 'log_min_messages = debug1');
$standby->reload;
ok($standby->poll_query_until('postgres', q{SELECT current_setting('log_min_messages') = 'debug1'}), 'workers are logged');
my $log_size = -s $standby->logfile;
my $begin = time;
for (1 .. 20)
{
	run('postgres', join ';', map { ('UPDATE keyless SET score = score + 1', 'SELECT pg_sleep(0.02)') } 1 .. 10);
	is($standby->safe_psql('postgres', $offline), $no_key, "without a key, $_") if $_ % 10 == 0;
}
same_by($standby, 'postgres', 'query', 'without a key', $keyless);
my $workers = () = substr(slurp_file($standby->logfile), $log_size) =~ /starting background worker process "leaderboard worker/g;
cmp_ok($workers, '<=', 10 + time - $begin, 'without a key: few workers have started');

# Without a commit it goes on trying: lb_rebuild() cannot be called there.
caught_up($primary, $standby);
$log_size = -s $standby->logfile;
$standby->wait_for_log(qr/background worker "leaderboard worker" \(PID \d+\) exited/, $log_size);
$standby->append_conf('postgresql.conf', 'log_min_messages = warning');
$standby->reload;
run('postgres', 'ALTER TABLE keyless ADD UNIQUE (player_id)', q{SELECT lb_rebuild('keyless')});
same($primary, $standby, 'with a key again', $keyless);

# Databases
sub database
{
	my ($db, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	right($standby, $db, "$what, at once");
	ok(boards_ready($standby, $db), "$what: boards are ready");
	right($standby, $db, $what);
	return is($standby->safe_psql($db, 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify()");
}

my $update = 'UPDATE player_scores SET score = score + player_id % 3';
run('postgres', 'CREATE DATABASE two');
fill($primary, 'two', 30);
wait_ready($primary, 'two');
retry_accessed($primary, $_) for 'CREATE DATABASE three TEMPLATE two STRATEGY wal_log', 'CREATE DATABASE four TEMPLATE two STRATEGY file_copy';
caught_up($primary, $standby);
run($_, $update) for 'three', 'four';
database($_, "database $_") for 'two', 'three', 'four';
run('postgres', 'ALTER DATABASE three RENAME TO trois');
run('trois', $update);
database('trois', 'database renamed');
run('two', 'DROP EXTENSION leaderboard CASCADE', 'DROP TABLE player_scores, player_score_windows');
fill($primary, 'two', 33);
caught_up($primary, $standby);
database('two', 'extension made again');
verified('tables and databases', $primary, $standby);

# The primary has lost its library, and then the standby takes over.
$primary->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$primary->restart;
run('postgres', 'UPDATE game SET score = score + player_id % 3', 'UPDATE player_scores SET score = score + player_id % 7');
$primary->stop;
same_by($standby, 'postgres', 'query', 'changes are missing', $game);
$standby->promote;
same_by($standby, 'postgres', 'any', 'promoted when changes are missing', $game);
ok($standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'promoted when changes are missing: a primary');
same_by($standby, 'postgres', 'index', 'promoted when changes are missing, and built', $game);
verified('promoted when changes are missing', $standby);

$standby->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $_->name)
  for $primary, $standby;
done_testing();
