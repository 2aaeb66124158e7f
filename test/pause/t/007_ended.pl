# Prepared transactions have ended, and the launcher has not settled what they have
# published.  A reader looks up the outcomes of many at a time, and the launcher holds no
# lock that the creation of a board waits for.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../../t";
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $many = 200;
my $node = lb_node('primary', "autovacuum = off\nleaderboard.maintenance_interval = 0\nmax_prepared_transactions = $many");
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION leaderboard;
	CREATE TABLE p (id integer PRIMARY KEY, score integer NOT NULL);
	INSERT INTO p SELECT g, g FROM generate_series(1, 1000) g;
	SELECT lb_create_board('board', 'p', rank_by => 'score DESC');
	CREATE TABLE q (id integer PRIMARY KEY, score integer NOT NULL)});
wait_ready($node, 'postgres');

# The launcher is in no database: its lock is in template1.
my $control = open_session($node, 'template1');
my $reader = open_session($node, 'postgres');
$control->query('SELECT pg_advisory_lock(20260411)');
$node->safe_psql('postgres', "ALTER SYSTEM SET leaderboard.pause_at = 'left'");
$node->reload;
$node->poll_query_until('postgres', q{SELECT current_setting('leaderboard.pause_at') = 'left'}) or die 'the setting does not come';

$node->safe_psql('postgres', join('', map { qq{
	BEGIN; UPDATE p SET score = score + 5000 WHERE id = $_; PREPARE TRANSACTION 'p$_';} } 1 .. $many));
$node->safe_psql('postgres', "COMMIT PREPARED 'p1'");
ok( $node->poll_query_until('postgres', q{
		SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'leaderboard launcher' AND wait_event = 'advisory'}),
	'the launcher has found one that has ended');

# A session of its own: it would wait for an LWLock, in which it cannot be interrupted.
my $created = '';
my $creator = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres'),
		'-c', q{SELECT lb_create_board('other', 'q', rank_by => 'score DESC')} ], '<', \undef, '>', \$created, '2>&1');
ok($node->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM lb_board WHERE board = 'other')}),
	'a board is created meanwhile');

$node->safe_psql('postgres', join('', map { "COMMIT PREPARED 'p$_';" } 2 .. $many));
my $before = $reader->query('SHOW leaderboard.work');
is($reader->query(q{SELECT lb_rank(1, 'board')}), "$many", 'all of them count for a reader');
my $work = $reader->query('SHOW leaderboard.work') - $before;
cmp_ok($work, '<', 20 * $many, 'the reader has not looked at each of them for each of them');

$control->query('SELECT pg_advisory_unlock(20260411)');
$creator->finish;
$node->safe_psql('postgres', 'ALTER SYSTEM RESET leaderboard.pause_at');
$node->reload;
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'lb_verify() finds nothing wrong');
$_->quit for $control, $reader;

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing bad in the log');
done_testing();
