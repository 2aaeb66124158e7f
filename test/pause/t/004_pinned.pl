# A page of a board that keeps counts skips ties by the visibility map.  A row that is
# dead when the index is read must not count: VACUUM, which removes it and sets the map,
# waits for the index page until the row has been looked at.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../../t";
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('primary', "autovacuum = off\nleaderboard.maintenance_interval = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE seen (id integer PRIMARY KEY, score integer NOT NULL, pad text DEFAULT 'x');
	INSERT INTO seen SELECT g, g % 1000 FROM generate_series(1, 30000) g;
	CREATE INDEX ON seen (score DESC, id);
	VACUUM ANALYZE seen;
	SELECT lb_create_board('seen', 'seen', keeps => 'counts');
	SELECT lb_wait_ready();
	DELETE FROM seen WHERE id = 3000});

my $page = 'SELECT id, pad FROM seen ORDER BY score DESC, id LIMIT 2 OFFSET 29985';
like($node->safe_psql('postgres', "SET leaderboard.enable_planner = on; EXPLAIN $page"), qr/Leaderboard Index Page/, 'by the index');

my $holder = open_session($node, 'postgres');
$holder->query('SELECT pg_advisory_lock(20260411)');
my ($found, $errors) = ('', '');
my $reader = IPC::Run::start(
	[ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres'), '-c', q{SET leaderboard.pause_at = 'tie'; SET leaderboard.enable_planner = on}, '-c', $page ],
	'<', \undef, '>', \$found, '2>', \$errors);
ok( $node->poll_query_until('postgres', q{
		SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE 'SELECT id, pad%')}),
	'the reader has found a tie');

# It cannot end, unless the page is not pinned.
my $vacuum = IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-c', 'VACUUM (INDEX_CLEANUP on) seen' ],
	'<', \undef, '>', \$errors, '2>', \$errors);
ok( $node->poll_query_until('postgres', q{
		SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type LIKE 'Buffer%' AND query LIKE 'VACUUM%')
			OR (SELECT vacuum_count > 1 FROM pg_stat_user_tables WHERE relname = 'seen')}),
	'VACUUM waits, or has ended');
$holder->query('SELECT pg_advisory_unlock(20260411)');
$reader->finish;
$vacuum->finish;
is($errors, '', 'no errors');
is($found, "17000|x\n18000|x\n", 'the page has the right rows');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'lb_verify()');
$holder->quit;

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing bad in the log');
done_testing();
