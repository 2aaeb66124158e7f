# A server that does not preload the library, and one whose library is of another
# version than the SQL objects: functions say what to do, and writes pass.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('preload');

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->start;
my (undef, undef, $warning) = $node->psql('postgres', 'CREATE EXTENSION leaderboard');
like($warning, qr/WARNING:  leaderboard is not loaded at server start\n.*HINT:  .*shared_preload_libraries/s, 'CREATE EXTENSION warns');
$node->safe_psql('postgres', 'CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint)');
my @calls = (
	'lb_rank(1)', 'lb_score(1)', 'lb_percentile(1)', 'lb_player(1)',
	'lb_top(1)', 'lb_top_json(1)', 'lb_at(1)', 'lb_around(1)', 'lb_count()',
	'lb_count_between(1, 2)', q{lb_count_before(1, '{}', 1)}, 'lb_page(1)', 'lb_rank_of_score(1)',
	'lb_score_at_percentile(1)', q{lb_ranks('{1}')}, q{lb_among('{1}')},
	'lb_histogram(1)', q{lb_create_board('global', 'p')},
	q{lb_drop_board('global')}, 'lb_rebuild()', 'lb_wait_ready()',
	'lb_lag()', q{lb_wait_for('0/1')}, 'lb_verify()', 'lb_create_tables()', 'lb_stat_reset()');
for my $call (@calls, '1 FROM lb_stat_board', '1 FROM lb_stat_memory')
{
	fails_with($node, 'postgres', "SELECT $call;", '55000',
		qr/HINT:.*shared_preload_libraries/s, "not preloaded, $call");
}
$node->safe_psql('postgres', 'DROP EXTENSION leaderboard; DROP TABLE p');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'leaderboard'");
$node->restart;
fill($node, 'postgres', 500);
ready($node, 'postgres', 'preloaded');

# Writes pass without it; the boards follow when it is there again.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
fails_with($node, 'postgres', 'SELECT lb_rank(1);', '55000',
	qr/HINT:.*shared_preload_libraries/s, 'preloaded no more');
$node->safe_psql('postgres', q{
	UPDATE player_scores SET score = score + 100 WHERE player_id % 3 = 0;
	DELETE FROM player_scores WHERE player_id % 7 = 0;
	INSERT INTO player_scores VALUES (1001, 77);
	TRUNCATE player_score_windows;
	INSERT INTO player_score_windows VALUES (1, 'weekly:1', 5);
	DROP TABLE IF EXISTS nothing;
	CREATE TABLE other (i int); DROP TABLE other});
isnt($node->psql('postgres', 'SELECT lb_hide(1)'), 0, 'no player is hidden without it, as that is recorded');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'leaderboard'");
$node->restart;
ready($node, 'postgres', 'preloaded again');

# A column that is renamed meanwhile is not followed: the board is answered again
# when it has its name back, or is made anew.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
$node->safe_psql('postgres', q{
	ALTER TABLE player_score_windows RENAME window_key TO span;
	UPDATE player_score_windows SET span = 'weekly:2' WHERE player_id = 1});
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'leaderboard'");
$node->restart;
fails_with($node, 'postgres', q{SELECT lb_rank(1, 'weekly:2');}, '55000',
	qr/DETAIL:.*board column.*HINT:.*lb_rebuild/s, 'renamed without the library');
$node->safe_psql('postgres', q{
	UPDATE player_score_windows SET score = 6;
	ALTER TABLE player_score_windows RENAME span TO window_key;
	SELECT lb_rebuild()});
ready($node, 'postgres', 'with its name back');

# Loaded into one session only it is as good as not loaded.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
fails_with($node, 'postgres', q{LOAD 'leaderboard'; SELECT lb_count();}, '55000',
	qr/HINT:.*shared_preload_libraries/s, 'LOAD');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'leaderboard'");
$node->restart;

# Another version.
my $version = $node->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'leaderboard'});
ready($node, 'postgres', 'before');
my $old = open_session($node, 'postgres');
is($old->query('SELECT lb_count() > 0'), 't', 'a session that has read');
$node->safe_psql('postgres', q{UPDATE pg_extension SET extversion = '0.0.9' WHERE extname = 'leaderboard'});
for my $call (grep { !/stat_reset/ } @calls)
{
	$call =~ s/'p'/'player_scores'/;
	fails_with($node, 'postgres', "SELECT $call;", '55000',
		qr/HINT:.*[Rr]estart the server/s, "another version, $call");
}
$node->safe_psql('postgres', q{
	UPDATE player_scores SET score = score + 10 WHERE player_id % 4 = 0;
	INSERT INTO player_score_windows VALUES (2, 'weekly:1', 6)});
$node->restart;
fails_with($node, 'postgres', 'SELECT lb_rank(1);', '55000',
	qr/HINT:.*[Rr]estart the server/s, 'another version after a restart');
$node->safe_psql('postgres', q{
	UPDATE player_scores SET score = score + 10 WHERE player_id % 5 = 0;
	DELETE FROM player_score_windows WHERE player_id = 1});
$old->{run}->kill_kill;

$node->safe_psql('postgres', "UPDATE pg_extension SET extversion = '$version' WHERE extname = 'leaderboard'");
right($node, 'postgres', 'the same version again');
$node->restart;
ready($node, 'postgres', 'the same version after a restart');

$node->stop;
done_testing();
