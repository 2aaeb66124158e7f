# Dump and restore, and databases made from a template: the boards of the copy
# work by themselves.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('dump');
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE source');
fill($node, 'source', 2000);
$node->safe_psql('source', q{
	CREATE SCHEMA "My Games";
	CREATE TABLE "My Games"."Scores" ("Who" integer PRIMARY KEY, points integer, ok boolean NOT NULL);
	INSERT INTO "My Games"."Scores" SELECT g, g % 17, g % 3 > 0 FROM generate_series(1, 100) g;
	SELECT lb_create_board('mine', '"My Games"."Scores"', 'Who', 'points ASC', NULL, 'rank', 'ok');
	ALTER TABLE "My Games"."Scores" RENAME points TO "How Much";
	CREATE TABLE accounts (guild text, id uuid, balance numeric(12,2), PRIMARY KEY (guild, id));
	INSERT INTO accounts SELECT 'guild ' || g % 3, md5(g::text)::uuid, g / 4.0 FROM generate_series(1, 50) g;
	SELECT lb_create_board('richest', 'accounts', 'guild, id', 'balance DESC');
	CREATE ROLE maker;
	CREATE ROLE reader;
	GRANT EXECUTE ON FUNCTION lb_create_board TO maker});
ready($node, 'source', 'source');
$node->safe_psql('source', q{SELECT lb_watch('mine', 3), lb_watch_member(2, 'mine'),
	lb_watch_member_key((SELECT member FROM lb_at_key(7, 'richest')), 'richest')});

my $answers = q{
SELECT 'global', player_id, lb_rank(player_id) FROM player_scores WHERE player_id % 10 = 0 ORDER BY player_id;
SELECT window_key, player_id, lb_rank(player_id, window_key) FROM player_score_windows WHERE player_id % 10 = 0 ORDER BY 2;
SELECT 'mine', "Who", lb_rank("Who", 'mine') FROM "My Games"."Scores" ORDER BY 2;
SELECT * FROM lb_top(10);
SELECT * FROM lb_top(100, 'mine');
SELECT * FROM lb_top_key(100, 'richest');
};
my $expected = $node->safe_psql('source', $answers);

my $me = $node->safe_psql('source', 'SELECT current_user');

sub same
{
	my ($db, $what) = @_;

	is($node->safe_psql($db, $answers), $expected, "$what: same answers");
	ready($node, $db, $what);
	is( $node->safe_psql($db, q{SELECT string_agg(board || ' ' || source::text, ', ' ORDER BY board) FROM lb_board}),
		'* player_score_windows, global player_scores, mine "My Games"."Scores", richest accounts',
		"$what: same boards");
	is( $node->safe_psql($db, q{SELECT string_agg(r, ' ') FROM unnest('{maker,pg_database_owner,reader}'::name[]) r
			WHERE has_function_privilege(r, (SELECT oid FROM pg_proc WHERE proname = 'lb_create_board'), 'EXECUTE')}),
		'maker pg_database_owner', "$what: the same roles may make boards");

	# Numbers go on where they were.
	is( $node->safe_psql($db, q{
			CREATE TABLE more (player_id integer PRIMARY KEY, score integer);
			INSERT INTO more VALUES (1, 10), (2, 20);
			SELECT FROM lb_create_board('more', 'more');
			SELECT lb_rank(1, 'more'), (SELECT count(DISTINCT id) = 5 AND max(id) = 6 FROM lb_board)}),
		'2|t', "$what: another board");
	$node->safe_psql($db, q{
		UPDATE player_scores SET score = score + 5 WHERE player_id % 2 = 0;
		DELETE FROM player_score_windows WHERE player_id % 3 = 0;
		UPDATE "My Games"."Scores" SET ok = NOT ok});
	ready($node, $db, "$what, after changes");

	# Watches are of the same boards and the same role, and compared.
	is( $node->safe_psql($db, q{
			SELECT string_agg(concat_ws(' ', w.board, w.member, w.watcher), ', ' ORDER BY w.member NULLS FIRST)
			FROM lb_watched w JOIN lb_board b ON b.board = w.board AND b.id = w.board_id}),
		qq{mine $me, richest ("guild 2",f7177163-c833-dff4-b38f-c8d2872f1ec6) $me, mine 2 $me},
		"$what: same watches");
	ok($node->poll_query_until($db, q{SELECT last_members = ARRAY(SELECT member::text FROM lb_top(3, 'mine')) AND problem IS NULL
		FROM lb_watched WHERE member IS NULL}), "$what: they are notified");
	$node->safe_psql($db, q{UPDATE accounts SET balance = 100 WHERE balance = 1.25});
	ok($node->poll_query_until($db, q{SELECT (last_scores, last_ranks) = (ARRAY[lb_score_key(member, board)], ARRAY[lb_rank_key(member, board)])
		AND problem IS NULL FROM lb_watched WHERE board = 'richest'}), "$what: of members of any type, too");
	return;
}

# Plain
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('source') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('plain') ], 'psql');
same('plain', 'pg_dump, psql');

# In parallel
$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$dump.d", '-d', $node->connstr('source') ], 'pg_dump -Fd');
$node->safe_psql('postgres', 'CREATE DATABASE parallel');
$node->command_ok([ 'pg_restore', '-j2', '--exit-on-error', '-d', $node->connstr('parallel'), "$dump.d" ], 'pg_restore -j2');
same('parallel', 'pg_restore -j2');

# Schema first, then data without triggers
$node->safe_psql('postgres', 'CREATE DATABASE apart');
$node->command_ok([ 'pg_restore', '--section=pre-data', '-d', $node->connstr('apart'), "$dump.d" ], 'pre-data');
$node->command_ok([ 'pg_restore', '--section=post-data', '-d', $node->connstr('apart'), "$dump.d" ], 'post-data');
$node->command_ok([ 'pg_restore', '--section=data', '--disable-triggers', '-d', $node->connstr('apart'), "$dump.d" ], 'data');

# It enables all triggers afterwards, but not as those that always fire: that is
# not enough, and it is said so.  lb_rebuild() puts it right.
is($node->safe_psql('apart', $answers), $expected, 'sections, triggers disabled: same answers');
$node->safe_psql('apart', 'SELECT lb_wait_ready()');
is($node->safe_psql('apart', q{SELECT count(*), bool_and(state = 'offline' AND reason LIKE '%trigger%') FROM lb_stat_board WHERE board IN ('global', '*', 'mine')}),
	'3|t', 'sections, triggers disabled: offline');
$node->safe_psql('apart', 'SELECT lb_rebuild()');
same('apart', 'sections, triggers disabled');

# --clean over what is there
$node->safe_psql('plain', 'DROP TABLE more');
$node->command_ok([ 'pg_restore', '--clean', '--if-exists', '--exit-on-error', '-d', $node->connstr('plain'), "$dump.d" ],
	'pg_restore --clean');
same('plain', 'pg_restore --clean');

# Several leaderboards: their records, windows, limits and matches.
$node->safe_psql('postgres', 'CREATE DATABASE several');
$node->safe_psql('several', q{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_tables();
	SELECT lb_create_leaderboard('kills');
	SELECT lb_create_leaderboard('Lap Time', 'best', 'asc', '{monthly}', 'text');
	SELECT lb_set_limit('fair', 'kills/daily', max_amount => 100);
	SELECT lb_open_window('kills/cup:1', starts => '2020-01-01', ends => '9999-01-01');
	SELECT lb_set_entry('kills/cup:1', 2, '-2 days');
	SELECT lb_join_key('7', 'kills/cup:1');
	SELECT lb_hide(60, reason => 'speed hack'), lb_show(60, '{kills}'), lb_hide(61, '{kills,kills/}');
	CREATE FUNCTION pay(text, jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT lb_set_reward('kills/cup:1', 'pay(text, jsonb)');
	SELECT FROM lb_submit_match_key('7', '{"global": 1, "kills": 5, "Lap Time": 90}', 'm1', '2026-04-09');
	SELECT FROM generate_series(1, 50) p CROSS JOIN LATERAL lb_submit_key(p::text, p, leaderboard => 'kills')});
$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$dump.l", '-d', $node->connstr('several') ], 'pg_dump of leaderboards');
$node->safe_psql('postgres', 'CREATE DATABASE leaderboards');
$node->command_ok([ 'pg_restore', '-j2', '--exit-on-error', '-d', $node->connstr('leaderboards'), "$dump.l" ], 'pg_restore');
my $leaderboards = q{
	SELECT name, op FROM lb_leaderboard ORDER BY 1;
	SELECT board, source, rank_by FROM lb_board ORDER BY 1;
	SELECT name, period, op, keep FROM lb_window ORDER BY 1;
	SELECT name, board FROM lb_limit;
	SELECT * FROM lb_reward; SELECT * FROM lb_entry; SELECT * FROM lb_entry_count; SELECT * FROM lb_entrant;
	SELECT * FROM lb_hidden ORDER BY player_id, board; SELECT * FROM lb_hidden_player ORDER BY player_id, board;
	SELECT * FROM lb_top(10, 'kills/cup:1');
	SELECT player_id, match_id, leaderboard, boards, scores FROM lb_applied ORDER BY 3;
	SELECT * FROM lb_top(10, 'kills');
	SELECT * FROM lb_top(10, 'kills/daily');
	SELECT * FROM lb_top_key(10, 'Lap Time')};
is($node->safe_psql('leaderboards', $leaderboards), $node->safe_psql('several', $leaderboards), 'leaderboards as they were');
for my $db ('several', 'leaderboards')
{
	# While a board is built, a submit has no rank of it.
	wait_ready($node, $db);
	is($node->safe_psql($db, q{SELECT bool_or(applied), count(*) > 2 FROM lb_submit_match_key('7', '{"Lap Time": 1, "kills": 1, "global": 1}', 'm1')}),
		'f|t', "$db: a match that has been applied");
	is($node->safe_psql($db, q{SELECT score FROM lb_submit(7, 100, leaderboard => 'kills') WHERE board = 'kills'}),
		'112', "$db: another one");
	is($node->safe_psql($db, q{SELECT count(rank) FROM lb_submit_match(60, '{"global": 1, "kills": 1}') WHERE board <> 'kills'; SELECT count(rank) FROM lb_submit(61, 1, leaderboard => 'kills');
		SELECT rank > 0 FROM lb_submit(60, 1, leaderboard => 'kills') WHERE board = 'kills'}), "0\n0\nt", "$db: players who are hidden");
	$node->safe_psql($db, 'SELECT lb_show(60), lb_show(61)');
	is($node->safe_psql($db, q{SELECT lb_join(7, 'kills/cup:1'), lb_join(8, 'kills/cup:1')}), 'f|t', "$db: players join");
	like(($node->psql($db, q{SELECT lb_join(9, 'kills/cup:1')}))[2], qr/is full/, "$db: up to their number");
	ready($node, $db, $db);
}

# Boards that keep counts, with a member and without one.
$node->safe_psql('postgres', 'CREATE DATABASE counted');
$node->safe_psql('counted', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE seen (at date, who bigint, score integer, ok boolean);
	CREATE TABLE game (id bigint PRIMARY KEY, score integer, guild text, level smallint);
	INSERT INTO seen SELECT NULL, g % 7, g % 31, g % 3 > 0 FROM generate_series(1, 500) g;
	INSERT INTO game SELECT g, g % 17, 'guild ' || g % 3, g % 2 FROM generate_series(1, 100) g;
	SELECT lb_create_board('seen', 'seen', keeps => 'counts', ranked_if => 'ok', offline => 'error');
	SELECT lb_create_board('game', 'game', 'id', 'score ASC, level DESC', NULL, 'dense_rank', NULL, 'counts');
	SELECT lb_create_board('guild', 'game', board_column => 'guild', keeps => 'counts');
	SELECT lb_set_offline('guild', 'query')});
my $counted = q{
	SELECT board, id, source, member, rank_by, board_column, method, ranked_if, keeps, offline FROM lb_board ORDER BY board;
	SELECT lb_count('seen'), lb_count_between(5, NULL, 'seen'), lb_rank_of_score(9, 'seen'), lb_score_at_percentile(90, 'seen');
	SELECT * FROM lb_histogram(4, 'guild:guild 1');
	SELECT lb_rank(id, 'game'), lb_percentile(id, 'game') FROM game ORDER BY id;
	SELECT * FROM lb_top(9, 'game', 5)};
my $counts = $node->safe_psql('counted', $counted);
like($counts, qr/^seen\|\d+\|seen\|\|score DESC\|\|rank\|ok\|counts\|error$/m, 'a board without a member');
like($counts, qr/^guild\|.*\|counts\|query$/m, 'what its reads do while it is offline');
$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$dump.c", '-d', $node->connstr('counted') ], 'pg_dump of counts boards');
$node->safe_psql('postgres', 'CREATE DATABASE recounted');
$node->command_ok([ 'pg_restore', '-j2', '--exit-on-error', '-d', $node->connstr('recounted'), "$dump.c" ], 'pg_restore');
wait_ready($node, 'recounted');
is($node->safe_psql('recounted', $counted), $counts, 'counts boards as they were');
for my $db ('counted', 'recounted')
{
	$node->safe_psql($db, q{INSERT INTO seen VALUES (NULL, NULL, 1000, true); UPDATE game SET score = 40 WHERE id = 3;
		ALTER TABLE seen RENAME score TO points});
	is($node->safe_psql($db, q{SELECT lb_score_at_percentile(100, 'seen'), lb_rank(3, 'game'), (SELECT rank_by FROM lb_board WHERE board = 'seen')}),
		'1000|18|points DESC', "$db: counts boards after changes");
	$node->safe_psql($db, 'ALTER TABLE seen DISABLE TRIGGER leaderboard_capture; ALTER TABLE game DISABLE TRIGGER leaderboard_capture');
	fails_with($node, $db, q{SELECT lb_count('seen')}, '55000', qr/board "seen" is offline/, "$db: offline, error");
	is($node->safe_psql($db, q{SET leaderboard.offline = error; SELECT lb_count('guild:guild 1')}), '34', "$db: offline, query");
}

# A dump whose tables have gone holds no boards of them.
$node->safe_psql('apart', q{DROP TABLE more; DROP TABLE "My Games"."Scores"});
$node->command_ok([ 'pg_dump', '-f', "$dump.2", '-d', $node->connstr('apart') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE less');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dump.2", '-d', $node->connstr('less') ], 'psql');
ready($node, 'less', 'after DROP TABLE');
is($node->safe_psql('less', 'SELECT DISTINCT board FROM lb_watched'), 'richest', 'nor what was watched of them');

# Templates, also with a build under way
for my $strategy ('wal_log', 'file_copy')
{
	retry_accessed($node, "CREATE DATABASE t_$strategy TEMPLATE source STRATEGY $strategy");
	same("t_$strategy", "template, $strategy");
}
my $rows = 300000;
retry_accessed($node, 'CREATE DATABASE big TEMPLATE source');
$node->safe_psql('big', qq{INSERT INTO player_scores SELECT g, g FROM generate_series(10001, $rows) g});
wait_ready($node, 'big');
for my $i (1 .. 3)
{
	# A request for which no session waits.
	$node->psql('big', q{SET statement_timeout = '1ms'; SELECT lb_rebuild()});
	retry_accessed($node, "CREATE DATABASE big$i TEMPLATE big");
	is($node->safe_psql("big$i", "SELECT lb_rank($rows), lb_count() > 290000"), '1|t', "template during a build, $i");
}
ready($node, 'big', 'template');
ready($node, 'big3', 'copy');

# By the database's owner, not a superuser; players are uuids
$node->safe_psql('postgres', q{CREATE ROLE landlord LOGIN; CREATE DATABASE rented OWNER landlord});
$node->safe_psql('rented', q{
	CREATE EXTENSION leaderboard;
	SET ROLE landlord;
	SELECT lb_create_tables(player_type => 'uuid');
	CREATE FUNCTION u(g integer) RETURNS text LANGUAGE sql AS $$SELECT '00000000-0000-0000-0000-' || pg_catalog.lpad(g::text, 12, '0')$$;
	SELECT lb_wait_ready();
	SELECT lb_set_limit('x', 'global', max_amount => 5, max_submits => 1000, action => 'flag');
	SELECT lb_submit_many_key(array_agg(u(g)), array_agg(g), match_ids => array_agg('m' || g)) FROM generate_series(1, 10) g;
	SELECT lb_hide_key(u(7));
	SELECT lb_close_season('global', 'S1', reset_to => 1);
	SELECT lb_submit_many_key(array_agg(u(g)), array_agg(g)) FROM generate_series(1, 10) g;
	SELECT lb_watch('global', 3)});
$node->command_ok([ 'pg_dump', '-f', "$dump.3", '-d', $node->connstr('rented') . ' user=landlord' ], 'pg_dump by the owner');
$node->safe_psql('postgres', 'CREATE DATABASE moved OWNER landlord');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dump.3", '-d', $node->connstr('moved') ], 'restored');
wait_ready($node, 'moved');
is($node->safe_psql('moved', 'SELECT count(*) FROM lb_verify_key()'), '0', 'dump by the owner: index and table are equal');
my $recorded = q{
	SELECT * FROM lb_top_key(20); SELECT board FROM lb_board ORDER BY 1; SELECT * FROM lb_window ORDER BY 1; SELECT * FROM lb_limit;
	SELECT player_id, match_id, applied_at FROM lb_applied ORDER BY 1; SELECT count(*), sum(amount) FROM lb_event;
	SELECT limit_name, board, player_id, amount, submits FROM lb_usage ORDER BY 3; SELECT * FROM lb_anomaly ORDER BY 1;
	SELECT board, season, place, member, score, owner FROM lb_archive ORDER BY 1, 2, 3, 4; SELECT * FROM lb_archive_top_key('global', 20);
	SELECT board, season, members, owner FROM lb_season ORDER BY 2; SELECT board, top FROM lb_watched};
is($node->safe_psql('moved', $recorded), $node->safe_psql('rented', $recorded), 'dump by the owner: all that was recorded');
is($node->safe_psql('moved', q{SET ROLE landlord; SELECT count(*) FROM lb_submit_key(u(3), 100); SELECT lb_rank_key(u(3)); SELECT lb_close_season('global', 'S2')}),
	"3\n1\n9", 'and the boards work');

# Boards on expressions, with names that need quotes, of a role that is no
# superuser.  What keeps the expressions comes after the rows of lb_board.
$node->safe_psql('postgres', 'CREATE DATABASE expressed OWNER landlord');
$node->safe_psql('expressed', q{
	CREATE EXTENSION leaderboard;
	SET ROLE landlord;
	CREATE SCHEMA "o'dd ""s";
	CREATE FUNCTION "o'dd ""s"."We(igh"(integer, text) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 * 3 % 17 + length($2); END';
	CREATE TABLE "o'dd ""s"."El,o" (id integer PRIMARY KEY, points integer, games integer NOT NULL, "La""nd (x)" text, level integer);
	INSERT INTO "o'dd ""s"."El,o" SELECT g, nullif(g * 31 % 100, 7), g % 9, (ARRAY['fr', 'DE', 'us', NULL])[1 + g % 4], g % 5 FROM generate_series(1, 300) g;
	SET search_path = "o'dd ""s", public;
	SELECT lb_create_board('ratio', '"El,o"', 'id', ranked_if => 'games > 0 AND level <> 3',
		rank_by => '((points::numeric / games)::numeric(12,3)) DESC, (lower("La""nd (x)") COLLATE "C")');
	SELECT lb_create_board('la"nds (1)', '"El,o"', 'id', rank_by => $$"We(igh"(points, E'\\\\)''') DESC$$, board_column => 'upper("La""nd (x)")');
	SELECT lb_create_board('counted', '"El,o"', rank_by => '(points % 20) DESC', ranked_if => 'level > 1', keeps => 'counts')});
my $expressions = q{
	SELECT * FROM lb_top_key(300, 'ratio'); SELECT * FROM lb_top(300, 'la"nds (1):FR'); SELECT * FROM lb_histogram(5, 'counted');
	SELECT lb_rank(id, 'la"nds (1):US') FROM "o'dd ""s"."El,o" ORDER BY id;
	SELECT board, source, member, rank_by, board_column, ranked_if, expressions FROM lb_board ORDER BY board;
	SELECT s.stxname, s.stxnamespace::regnamespace, s.stxowner::regrole, s.stxstattarget, obj_description(s.oid, 'pg_statistic_ext'),
		pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext s ORDER BY 1};

# A query would be counted, too.
sub by_index
{
	my ($db, $what) = @_;

	wait_ready($node, $db);
	$node->safe_psql($db, q{SELECT lb_stat_reset()});
	$node->safe_psql($db, q{SELECT lb_rank(5, 'ratio'), lb_count('la"nds (1):FR'), lb_count('counted')});
	is($node->safe_psql($db, q{SELECT sum(index_reads), sum(query_reads) FROM lb_stat_board}), '3|0', "$what: by the index");
	is($node->safe_psql($db, 'SELECT * FROM lb_verify_key()'), '', "$what: index and table are equal");
	return;
}

by_index('expressed', 'expressions');
my $expressed = $node->safe_psql('expressed', $expressions);
like($expressed, qr/^El,o_ratio_lb1\|.*\|landlord\|0\|expression of the leaderboard board "ratio"\|/m, 'what keeps an expression');

sub expressed
{
	my ($db, $what) = @_;

	by_index($db, $what);
	is($node->safe_psql($db, $expressions), $expressed, "$what: answers, and what keeps the expressions");
	is($node->safe_psql($db, "SET leaderboard.enable_index = off; $expressions"), $expressed, "$what: answers by queries");
	$node->safe_psql($db, q{SET ROLE landlord;
		ANALYZE "o'dd ""s"."El,o";
		UPDATE "o'dd ""s"."El,o" SET games = games + 1, "La""nd (x)" = 'it' WHERE id % 3 = 0;
		ALTER TABLE "o'dd ""s"."El,o" RENAME points TO "po'ints"});
	by_index($db, "$what, after changes");
	is($node->safe_psql($db, q{SELECT count(*) FROM lb_board WHERE rank_by LIKE '%"po''ints"%'}), '3', "$what: a rename");
	return;
}

$node->command_ok([ 'pg_dump', '-f', "$dump.e", '-d', $node->connstr('expressed') . ' user=landlord' ], 'pg_dump of expressions by the owner');
$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$dump.ed", '-d', $node->connstr('expressed') ], 'pg_dump -Fd');
$node->safe_psql('postgres', "CREATE DATABASE e_$_ OWNER landlord") for 'plain', 'parallel', 'apart';
retry_accessed($node, 'CREATE DATABASE e_template TEMPLATE expressed');
expressed('e_template', 'expressions, template');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dump.e", '-d', $node->connstr('e_plain') ], 'psql');
expressed('e_plain', 'expressions, pg_dump, psql');
$node->command_ok([ 'pg_restore', '-j2', '--exit-on-error', '-d', $node->connstr('e_parallel'), "$dump.ed" ], 'pg_restore -j2');
expressed('e_parallel', 'expressions, pg_restore -j2');
$node->command_ok([ 'pg_restore', '--clean', '--if-exists', '--exit-on-error', '-d', $node->connstr('e_parallel'), "$dump.ed" ],
	'pg_restore --clean');
expressed('e_parallel', 'expressions, pg_restore --clean');

# The rows of lb_board come last.
$node->command_ok([ 'pg_restore', "--section=$_", '-d', $node->connstr('e_apart'), "$dump.ed" ], $_) for 'pre-data', 'post-data', 'data';
expressed('e_apart', 'expressions, sections');

$node->stop;
done_testing();
