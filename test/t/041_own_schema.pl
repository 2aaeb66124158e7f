# The extension in a schema that no search_path has: the roles that write, plain SQL,
# views and dumps work.

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
	my ($db) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, "CREATE SCHEMA leaderboard; CREATE EXTENSION leaderboard SCHEMA leaderboard");
	return;
}

create_database('game');
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

# Every function for users, from an empty search_path, once there is a place for tables: none looks for an object of the
# extension, or for an operator, by a name without its schema.
create_database('every');
$node->safe_psql('every', q{
	CREATE FUNCTION public.pay(text, jsonb) RETURNS void LANGUAGE sql AS '';
	CREATE TABLE public.made (player_id bigint PRIMARY KEY, score bigint NOT NULL);
	SELECT leaderboard.lb_create_tables(), leaderboard.lb_create_leaderboard('kills');
	ALTER DATABASE every SET search_path = '';
	ALTER DATABASE every SET track_functions = 'all'});
my $calls = q{
	lb_wait_ready(); lb_create_board('made', 'public.made');
	lb_open_window('cup:1', starts => '2020-01-01', ends => '2020-02-01', late => '1 day', keep => '2 days');
	lb_set_reward('cup:1', 'public.pay(text, jsonb)'); lb_set_limit('fair', 'global', max_amount => 1000);
	lb_watch('global', 3); lb_watch_member(1); lb_watch_member_key('2');
	lb_open_window('cup:2', starts => '2020-01-01', ends => '9999-01-01'); lb_set_entry('cup:2', 5);
	lb_join(1, 'cup:2'); lb_join_key('2', 'cup:2'); lb_entry_status(1, 'cup:2'); lb_entry_status_key('1', 'cup:2');
	lb_submit(1, 10, match_id => 'm'); lb_submit_key('2', 20); lb_submit_many('{3,4}', '{30,40}'); lb_submit_many_key('{5}', '{50}');
	lb_submit_each('{6}', '{60}'); lb_submit_each_key('{7}', '{70}'); lb_submit_json('{"player_id": 8, "amount": 80}');
	lb_submit_match(1, '{"global": 1, "kills": 2}', 'm1'); lb_submit_match_key('2', '{"kills": 3}');
	lb_rank(1); lb_rank_key('1'); lb_score(1); lb_score_key('1'); lb_percentile(1); lb_percentile_key('1'); lb_player(1); lb_player_key('1');
	lb_tier(1); lb_tier_key('1'); lb_at(1); lb_at_key(1); lb_count(); lb_count_between(1, 50); lb_count_between_key('1', '50');
	lb_rank_of_score(5); lb_rank_of_score_key('5'); lb_score_at_percentile(50); lb_score_at_percentile_key(50);
	lb_top(); lb_top_key(); lb_around(1); lb_around_key('1'); lb_ranks('{1,2}'); lb_ranks_key('{1,2}'); lb_among('{1,2}'); lb_among_key('{1,2}');
	lb_histogram(3); lb_histogram_key(3); lb_rank_json(1); lb_rank_json_key('1'); lb_top_json(); lb_resolve_board('daily'); lb_window_at('daily');
	lb_hide(1); lb_show(1); lb_hide_key('1'); lb_show_key('1'); lb_notify(); lb_maintain();
	lb_close_season('global', 's1'); lb_archive_top('global'); lb_archive_top_key('global');
	lb_verify(); lb_verify_key(); lb_rebuild(); lb_estimate_memory(10); lb_estimate_memory_key(10, '{bigint}', '{bigint}'); lb_stat_reset();
	lb_unwatch_member(1); lb_unwatch_member_key('2'); lb_unwatch('global'); lb_forget_player(3); lb_forget_player_key('4');
	lb_leave(1, 'cup:2'); lb_leave_key('2', 'cup:2'); lb_drop_entry('cup:2');
	lb_close_window('cup:1'); lb_drop_limit('fair'); lb_set_offline('made', 'error'); lb_drop_board('made'); lb_drop_leaderboard('kills')};
for my $call ($calls =~ /(lb_\w+\(.*?\))(?=;|$)/gs)
{
	my ($rc, undef, $err) = $node->psql('every', "SELECT * FROM leaderboard.$call");

	is($err, '', $call);
}
# The others, such as those of columns that the tables do not have, with nulls: whatever
# they raise, it is not that a name is unknown.
my $others = $node->safe_psql('every', q{
	SELECT format('leaderboard.%I(%s)', p.proname, (SELECT pg_catalog.string_agg('NULL::' || pg_catalog.format_type(t, NULL), ', ') FROM pg_catalog.unnest(p.proargtypes) t))
	FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_stat_user_functions s ON s.funcid = p.oid
	WHERE p.pronamespace = 'leaderboard'::pg_catalog.regnamespace AND s.calls IS NULL AND p.prorettype NOT IN ('pg_catalog.trigger'::pg_catalog.regtype, 'pg_catalog.event_trigger'::pg_catalog.regtype, 'pg_catalog.internal'::pg_catalog.regtype)
	ORDER BY 1});
for my $call (split /\n/, $others)
{
	my ($rc, undef, $err) = $node->psql('every', "\\set VERBOSITY verbose\nSELECT * FROM $call");

	unlike($err, qr/ERROR:  (?:42P01|42883|42704|42P02|XX)/, $call);
}
is($node->safe_psql('every', 'SELECT * FROM leaderboard.lb_verify()'), '', 'index and table are equal');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal 11/, 'nothing has crashed');
done_testing();
