# A board that has no room even for its definition, since its database's share of
# the memory is used up: changes of its rows are kept nowhere.  Builds of its own
# database wait for transactions that may have made such changes; those of other
# databases do not.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('main');
$node->start;
$node->safe_psql('postgres', <<'END');
CREATE EXTENSION leaderboard;
CREATE TABLE t AS SELECT i AS player_id, i AS score FROM generate_series(1, 100) i;
ALTER TABLE t ADD PRIMARY KEY (player_id);
SELECT lb_create_board('t', 't');
CREATE DATABASE small;
ALTER DATABASE small SET leaderboard.database_memory = '64kB';
END
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'ready');
$node->safe_psql('small', <<'END');
CREATE EXTENSION leaderboard;
CREATE TABLE s (player_id bigint PRIMARY KEY, score int);
SELECT count(lb_create_board('s' || i, 's')) FROM generate_series(1, 100) i;
INSERT INTO s VALUES (1, 1);
END

# A transaction that has begun between two of such.
my $open = $node->background_psql('postgres', on_error_stop => 1);
$open->query_safe('BEGIN; SELECT pg_current_xact_id()');
$node->safe_psql('small', 'INSERT INTO s VALUES (2, 2)');
$node->safe_psql('postgres', 'ALTER DATABASE small RESET leaderboard.database_memory');

my ($rc, $stdout, $stderr) = $node->psql('small', "SELECT lb_rebuild('s1')");
isnt($rc, 0, 'a build in the database does not overlook them');
like($stderr, qr/changes are unknown/, 'and says why');
($rc, $stdout, $stderr) = $node->psql('postgres', "SELECT lb_rebuild('t')");
is($rc, 0, 'a build in another database is not concerned');
is($stderr, '', 'and says nothing');
$open->query_safe('COMMIT');
$open->quit;

$node->safe_psql('small', 'SELECT lb_rebuild()');
is($node->safe_psql('small', "SELECT count(*) FROM lb_stat_board WHERE state = 'ready'"),
	'100', 'all boards are ready when it has ended');
is($node->safe_psql('small', 'SELECT count(*) FROM lb_verify()'), '0',
	'and equal to their table');
$node->stop;
done_testing();
