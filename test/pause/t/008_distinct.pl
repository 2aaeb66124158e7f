# A transaction follows distinct scores while two large ones are settled, before any
# other xid is taken: the second one does not raise the floor's next xid.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../../t";
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('primary', "autovacuum = off\nleaderboard.maintenance_interval = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE p (id integer PRIMARY KEY, score integer NOT NULL);
	INSERT INTO p SELECT g, g * 10 FROM generate_series(1, 12000) g;
	SELECT lb_create_board('board', 'p', rank_by => 'score DESC', method => 'dense_rank')});
wait_ready($node, 'postgres');
my ($first, $second, $reader) = map { open_session($node, 'postgres') } 1 .. 3;

# The launcher is in no database: its lock is in template1.  It completes no xid.
my $control = open_session($node, 'template1');
$control->query('SELECT pg_advisory_lock(20260411)');
$node->safe_psql('postgres', "ALTER SYSTEM SET leaderboard.pause_at = 'xid'");
$node->reload;
$node->poll_query_until('postgres', q{SELECT current_setting('leaderboard.pause_at') = 'xid'}) or die 'the setting does not come';

my $same = q{SELECT lb_rank(1, 'board') = (SELECT count(DISTINCT score) + 1 FROM p WHERE score > (SELECT score FROM p WHERE id = 1))};
$first->query('BEGIN; UPDATE p SET score = score + 1 WHERE id BETWEEN 1001 AND 6000');
$second->query('BEGIN; UPDATE p SET score = 100 WHERE id BETWEEN 6001 AND 11500');
$reader->query('BEGIN; UPDATE p SET score = score + 5 WHERE id <= 100');
$first->query('COMMIT');
is($reader->query($same), 't', 'a rank after the first');
$second->query('COMMIT');
is($reader->query($same), 't', 'a rank after the second, which has brought a score back');
$reader->query('COMMIT');
is($node->safe_psql('postgres', $same), 't', 'a rank afterwards');

$node->safe_psql('postgres', 'ALTER SYSTEM RESET leaderboard.pause_at');
$node->reload;
$control->query('SELECT pg_advisory_unlock(20260411)');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'lb_verify() finds nothing wrong');
$_->quit for $control, $first, $second, $reader;

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing bad in the log');
done_testing();
