# The extension in a schema that no search_path has: the roles that write, plain SQL,
# views and dumps work, and so do upgrades in either schema.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('own_schema', 'leaderboard.enable_planner = on');
$node->start;

sub create_database
{
	my ($db, $version) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, "CREATE SCHEMA leaderboard; CREATE EXTENSION leaderboard SCHEMA leaderboard $version");
	return;
}

create_database('game', '');
$node->safe_psql('game', q{
	SELECT leaderboard.lb_create_tables();
	INSERT INTO player_scores SELECT i, i % 50 FROM generate_series(1, 3000) i;
	SELECT leaderboard.lb_submit(7, 1);
	CREATE VIEW ranked AS SELECT player_id, score, leaderboard.lb_rank(player_id) FROM player_scores;
	CREATE ROLE writer;
	GRANT SELECT, INSERT, UPDATE, DELETE ON player_scores TO writer;
	SELECT leaderboard.lb_wait_ready();
	ANALYZE player_scores});

my $tables = q{SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.tables
	WHERE table_schema = 'public'};
is($node->safe_psql('game', $tables), 'player_score_windows player_scores ranked',
	'public has the tables of the user');
is($node->safe_psql('game', q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace}), '0',
	'and no function');

# A writer may not even look into the schema.
is( $node->safe_psql('game', q{
		SET ROLE writer;
		INSERT INTO player_scores VALUES (3001, 1000);
		UPDATE player_scores SET score = 999 WHERE player_id = 7;
		DELETE FROM player_scores WHERE player_id = 49;
		SELECT has_schema_privilege('leaderboard', 'USAGE'), count(*) + 1 FROM player_scores WHERE ranked AND score > 48}),
	'f|62', 'a role without a right on the schema writes and ranks');
like( $node->safe_psql('game', q{
		SET ROLE writer;
		EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off)
		SELECT count(*) FROM player_scores WHERE ranked AND score > 48}),
	qr/global/, 'by the board');
is($node->safe_psql('game', q{SELECT lb_rank FROM ranked WHERE player_id = 7}), '2', 'a view knows its function');
is($node->safe_psql('game', q{SELECT * FROM leaderboard.lb_verify()}), '', 'index and table are equal');

# A dump restores it where it was.
my $dump = $node->basedir . '/game.sql';
my $before = $node->safe_psql('game', 'SELECT * FROM ranked ORDER BY player_id');
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('game') ], 'a dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'is restored');
is($node->safe_psql('restored', q{SELECT leaderboard.lb_wait_ready()}), 't', 'boards are built');
is($node->safe_psql('restored', 'SELECT * FROM ranked ORDER BY player_id'), $before, 'with the same ranks');
is($node->safe_psql('restored', q{SELECT count(*), max(score) FROM leaderboard.lb_submit(3001, 1)}), '3|1001',
	'and take submits');
is($node->safe_psql('restored', q{SELECT * FROM leaderboard.lb_verify()}), '', 'index and table are equal');

# The update of an older version keeps the schema, here and in public.
create_database('older', "VERSION '0.1.0'");
$node->safe_psql('postgres', 'CREATE DATABASE older_public');
$node->safe_psql('older_public', q{CREATE EXTENSION leaderboard VERSION '0.1.0'});
for my $db ([ 'older', 'leaderboard' ], [ 'older_public', 'public' ])
{
	my ($name, $schema) = @$db;

	$node->safe_psql($name, 'ALTER EXTENSION leaderboard UPDATE');
	is( $node->safe_psql($name, qq{
			SELECT $schema.lb_create_tables();
			INSERT INTO player_scores VALUES (1, 10), (2, 20);
			SELECT $schema.lb_rank(1), extnamespace::regnamespace FROM pg_extension WHERE extname = 'leaderboard'}),
		"\n2|$schema", "an update in $schema");
	is($node->safe_psql($name, "SELECT * FROM $schema.lb_verify()"), '', 'index and table are equal');
}
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal 11/, 'nothing has crashed');
done_testing();
