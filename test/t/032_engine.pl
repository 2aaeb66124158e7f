# Tables whose rows another engine keeps: their boards are answered by the query.
# The engine is a module that copies the parameters of a query that it plans, and
# the list of its tables is like that of Citus.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
PostgreSQL::Test::Utils::append_to_file("$dir/engine.c", <<'END');
#include "postgres.h"
#include "fmgr.h"
#include "nodes/params.h"
#include "optimizer/planner.h"

PG_MODULE_MAGIC;
void		_PG_init(void);
PG_FUNCTION_INFO_V1(engine_plans);

/* Version 19 has one more argument. */
#if PG_VERSION_NUM >= 190000
#include "commands/explain_state.h"
#define EXPLAINED , ExplainState *es
#define EXPLAIN_STATE , es
#else
#define EXPLAINED
#define EXPLAIN_STATE
#endif

static int	nplans = 0;
static planner_hook_type prev_planner = NULL;

static PlannedStmt *
plan(Query *parse, const char *query_string, int options, ParamListInfo params EXPLAINED)
{
	/* A copy of an empty list is NULL. */
	if (params != NULL && copyParamList(params) == NULL)
		elog(ERROR, "the list of parameters is empty");
	nplans++;
	return prev_planner ? prev_planner(parse, query_string, options, params EXPLAIN_STATE) :
		standard_planner(parse, query_string, options, params EXPLAIN_STATE);
}

/* How often this backend has planned. */
Datum
engine_plans(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(nplans);
}

void
_PG_init(void)
{
	prev_planner = planner_hook;
	planner_hook = plan;
}
END
build_module($dir, 'engine');

my $node = lb_node('engine');
$node->append_conf('postgresql.conf', "shared_preload_libraries = '$dir/engine, leaderboard'");
$node->start;
fill($node, 'postgres', 300);
ready($node, 'postgres', 'made');

# Queries with and without parameters
is($node->safe_psql('postgres', q{SET leaderboard.enable_index = off; SELECT lb_count(), lb_count('weekly:1') > 0, lb_rank(1) > 0}),
	'300|t|t', 'queries by the engine');

$node->safe_psql('postgres', qq{
	SET allow_system_table_mods = on;
	CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass PRIMARY KEY, partmethod "char");
	CREATE FUNCTION engine_plans() RETURNS int LANGUAGE c AS '$dir/engine';
	CREATE FUNCTION engine_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
	CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint) PARTITION BY RANGE (player_id);
	CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
	CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (100);
	INSERT INTO p SELECT g, g FROM generate_series(1, 50) g;
	SELECT lb_create_board('p', 'p')});
ready($node, 'postgres', 'none is listed');

# As the engine does: entered or removed, and the relcache entry invalidated.  A table
# that is entered gets a trigger.
sub list
{
	my ($table, $change) = @_;
	my $trigger = $change =~ /INSERT/ ?
		"CREATE TRIGGER engine_trigger AFTER TRUNCATE ON $table EXECUTE FUNCTION engine_trigger()" :
		"DROP TRIGGER engine_trigger ON $table";

	return $node->safe_psql('postgres', qq{
		BEGIN; SET allow_system_table_mods = on; $change;
		REVOKE TRUNCATE ON $table FROM CURRENT_USER; GRANT TRUNCATE ON $table TO CURRENT_USER; $trigger; COMMIT});
}

for my $case ([ 'player_scores', 'global', 'lb_rank(1)' ], [ 'p2', 'p', q{lb_rank(1, 'p')} ])
{
	my ($table, $board, $read) = @$case;
	my $session = open_session($node, 'postgres');

	isnt($session->query("SELECT $read"), '', "$table: a session reads");

	# A transaction that has the table locked, and processes no invalidation
	my $open = open_session($node, 'postgres');

	$open->query("BEGIN; PREPARE c AS SELECT lb_count('$board'), engine_plans()");
	$open->query("SET LOCAL leaderboard.enable_index = off");
	my ($count, $plans) = split(/\|/, $open->query('EXECUTE c'));
	is($open->query('EXECUTE c'), "$count|$plans", "$table: an open transaction keeps the plan of its query");
	$open->query(q{SET LOCAL leaderboard.enable_index = on; SELECT lb_stat_reset(); EXECUTE c});
	list($table, "INSERT INTO pg_dist_partition VALUES ('$table', 'h')");
	is($open->query('EXECUTE c'), "$count|" . ($plans + 2), "$table: it plans the query anew");
	is($open->query("SELECT index_reads, query_reads FROM lb_stat_board WHERE board = '$board'"), '1|1', "$table: the index is not asked");
	$open->query('COMMIT');
	$open->quit;
	$node->safe_psql('postgres', "UPDATE $table SET score = score + 1 WHERE player_id % 3 = 0");
	is($session->query("SELECT lb_stat_reset(); SELECT $read IS NULL; SELECT pg_sleep(0) IS NULL"), "\nf\nf", "$table: it reads again");
	# A build that was asked for finds out, too.
	ok($node->poll_query_until('postgres', qq{SELECT state = 'offline' FROM lb_stat_board WHERE board = '$board'}), "$table: offline");
	is( $session->query("SELECT state, reason, query_offline > 0 FROM lb_stat_board WHERE board = '$board'"),
		'offline|another engine keeps the rows of the table|t', "$table: answered by the query");
	$session->quit;
	right($node, 'postgres', $table);
	is($node->safe_psql('postgres', "SELECT problem FROM lb_verify('$board')"),
		'another engine keeps the rows of the table', "$table: lb_verify() says so");
	fails_with($node, 'postgres', "SELECT lb_rebuild('$board');", '55000', qr/another engine keeps the rows/, "$table: lb_rebuild()");
	fails_with($node, 'postgres', "SELECT lb_create_board('another', '" . ($table eq 'p2' ? 'p' : $table) . "');",
		'55000', qr/another engine keeps the rows.*HINT:/s, "$table: lb_create_board()");
	$node->restart;
	ok($node->poll_query_until('postgres', qq{SELECT state = 'offline' FROM lb_stat_board WHERE board = '$board'}),
		"$table: after a restart");
	right($node, 'postgres', "$table, after a restart");
	list($table, "DELETE FROM pg_dist_partition WHERE logicalrelid = '$table'::regclass");
	$node->safe_psql('postgres', "SELECT lb_rebuild('$board')");
	ready($node, 'postgres', "$table: not listed any more");
}

# Another access method
$node->safe_psql('postgres', q{
	CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
	ALTER TABLE player_scores SET ACCESS METHOD heap2;
	UPDATE player_scores SET score = score + 1 WHERE player_id % 3 = 0});
right($node, 'postgres', 'another access method');
ok( $node->poll_query_until('postgres', q{
		SELECT state = 'offline' AND reason = 'the source is not a table of the access method heap'
		FROM lb_stat_board WHERE board = 'global'}),
	'another access method: offline');
$node->safe_psql('postgres', q{ALTER TABLE player_scores SET ACCESS METHOD heap});
ready($node, 'postgres', 'heap again');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log');
done_testing();
