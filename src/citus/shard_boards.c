/*-------------------------------------------------------------------------
 *
 * shard_boards.c
 *	  Boards of the shards of tables that Citus distributes.
 *
 * Citus keeps the rows of such a table in shards: tables on the workers, whose
 * names end in the shard's number.  The table itself is empty, so its board
 * has no index.  Each shard has a board of its own instead, which is an
 * ordinary board of the worker, named by the board and the shard:
 * global_102008.  What the coordinator's queries ask a shard, the planner of
 * its worker answers from there.
 *
 * Shards' numbers are never used again, so the name of a shard's board never
 * leads to other rows.  A shard that has been moved or split has no board
 * until the maintenance worker, or lb_rebuild(), makes it; until then its
 * server runs the query.  The old one goes with its table, to which Citus
 * sends no queries any more.
 *
 * Commands to the servers make them (command.c).  The lock on the board's name
 * keeps sessions from making the same boards at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "admin/stat.h"
#include "boards/board_value.h"
#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/options.h"
#include "boards/resolve.h"
#include "boards/state.h"
#include "citus/command.h"
#include "citus/layout.h"
#include "citus/places.h"
#include "citus/settings.h"
#include "citus/shard_boards.h"
#include "leaderboards/window_name.h"
#include "sql/spi.h"
#include "util/clock.h"
#include "util/subxact.h"

PG_FUNCTION_INFO_V1(lb_stat_shards);

/* Digits of a shard's number, and what separates it from the name. */
#define SHARD_SUFFIX 20

/* How often the shards are asked whether they are ready, in microseconds. */
#define POLL_INTERVAL 100000

/* Of a shard's server: its board of the shard. */
#define SHARDS_BOARD "b.board OPERATOR(pg_catalog.=) %%2$L"

bool
lb_shards_serve(Oid source)
{
	Oid			types[] = {TEXTARRAYOID, INT4ARRAYOID, TEXTARRAYOID, BOOLOID};
	List	   *name = list_make2(makeString("pg_catalog"),
								  makeString("master_run_on_worker"));

	return lb_is_distributed_table(source) &&
		OidIsValid(LookupFuncName(name, lengthof(types), types, true)) &&
		OidIsValid(get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE)) &&
		OidIsValid(get_relname_relid("pg_dist_shard_placement",
									 PG_CATALOG_NAMESPACE));
}

/*
 * The arguments of a command that makes the board of a shard, or records the
 * board with all its options.
 */
static char *
board_arguments(const LbDefinition *defn, bool recording)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%%2$L, CAST(%%1$L AS pg_catalog.regclass)");
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		const LbBoardOption *option = &lb_board_options[i];
		const char *text = recording || option->of_index ?
			option->text(defn) : NULL;

		appendStringInfo(&buf, ", %s",
						 text == NULL ? "NULL" : lb_command_literal(text));
	}
	return buf.data;
}

/* A condition: lb_board's row b is of another board than a definition. */
static char *
differs(const LbDefinition *defn)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "NOT (b.source OPERATOR(pg_catalog.=) CAST(%%1$L AS pg_catalog.regclass)");
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		const LbBoardOption *option = &lb_board_options[i];

		if (option->of_index)
			appendStringInfo(&buf, " AND COALESCE(b.%s, '') OPERATOR(pg_catalog.=) %s",
							 option->name, lb_command_literal(option->text(defn)));
	}
	appendStringInfoChar(&buf, ')');
	return buf.data;
}

/* Called by lb_try(). */
static void
make_places_of(void *arg)
{
	lb_places_make(*(const Oid *) arg);
}

/*
 * Make the table of places.  Citus refuses that if the transaction has used
 * colocated tables of another role: then it is left to lb_maintain().
 */
static void
make_places(Oid source)
{
	ErrorData  *error = lb_try(make_places_of, &source);

	if (error == NULL)
		return;
	if (error->sqlerrcode != ERRCODE_ACTIVE_SQL_TRANSACTION)
		ReThrowError(error);
	ereport(NOTICE,
			(errmsg("the table of places of table \"%s\" cannot be made in this transaction",
					get_rel_name(source)),
			 errdetail("Citus has said: %s", error->message),
			 errhint("lb_maintain() makes it. Until then reads run queries on the shards.")));
}

/*
 * Make what shards and other servers lack.  What these refuse is reported at
 * that level.  Another server records the board only with its settings:
 * without the windows of the leaderboard it would leave them out of submits.
 */
static void
make_boards(const LbDefinition *defn, const char *settings, int elevel)
{
	const char *schema = lb_command_schema();

	if (strlen(defn->name) + SHARD_SUFFIX > LB_MAX_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("board name \"%s\" is too long for a distributed table",
						defn->name),
				 errdetail("Boards of shards have the shard's number after the name, which may take %d bytes.",
						   SHARD_SUFFIX)));

	/* A board of that name may be left from one that is dropped. */
	(void) lb_command_reporting(defn, lb_to_shards,
								psprintf("SELECT %s.lb_drop_board(b.board) FROM %s CROSS JOIN %s.lb_board AS b "
										 "WHERE " SHARDS_BOARD " AND %s",
										 schema, lb_command_waits(), schema,
										 differs(defn)), elevel);
	(void) lb_command_reporting(defn, lb_to_shards,
								psprintf("SELECT %s.lb_create_board(%s) FROM %s WHERE NOT EXISTS (SELECT FROM %s.lb_board AS b WHERE " SHARDS_BOARD ")",
										 schema, board_arguments(defn, false),
										 lb_command_waits(), schema), elevel);
	(void) lb_command_reporting(defn, lb_to_others,
								psprintf("WITH r AS MATERIALIZED (SELECT %s.lb_record_board(%s) FROM %s) SELECT %s FROM r",
										 lb_command_internal_schema(),
										 board_arguments(defn, true), lb_command_waits(),
										 settings == NULL ? "1" : settings), elevel);
	make_places(defn->source);
}

void
lb_shards_create(const LbDefinition *defn)
{
	char	   *settings = lb_settings_call(defn->name);

	lb_require_coordinator();
	make_boards(defn, settings, ERROR);
}

void
lb_shards_drop(const LbDefinition *defn)
{
	const char *schema = lb_command_schema();

	lb_require_coordinator();
	(void) lb_command_reporting(defn, lb_to_shards,
								psprintf("SELECT %s.lb_drop_board(b.board) FROM %s CROSS JOIN %s.lb_board AS b "
										 "WHERE " SHARDS_BOARD, schema,
										 lb_command_waits(), schema), ERROR);
	(void) lb_command_reporting(defn, lb_to_others,
								psprintf("SELECT %s.lb_unrecord_board(%%2$L) FROM %s",
										 lb_command_internal_schema(),
										 lb_command_waits()), ERROR);
	if (!lb_has_others(defn))
		lb_places_drop(defn->source);
}

void
lb_shards_mend(const char *board)
{
	char	   *settings = lb_settings_call(board);
	LbDefinition *defn = lb_read_defn(board);
	Oid			source;
	LbUser		saved;

	if (defn == NULL)
		return;

	/* A session that drops the board has locked the table. */
	source = defn->source;
	if (!ConditionalLockRelationOid(source, AccessShareLock))
		return;
	lb_window_lock_name(board);
	defn = lb_read_defn(board);
	if (defn == NULL || defn->source != source ||
		!lb_has_distributed_board(defn) || !lb_is_coordinator())
		return;
	lb_resolve_defn(defn);
	lb_switch_to_owner(&saved, defn->owner, false);
	make_boards(defn, settings, WARNING);
	lb_restore_user(&saved);
}

bool
lb_shards_rebuild(const char *board)
{
	char	   *settings = lb_settings_call(board);
	LbDefinition *defn;

	lb_window_lock_name(board);
	defn = lb_read_defn(board);
	if (defn == NULL)
		return false;
	lb_require_coordinator();
	make_boards(defn, settings, ERROR);
	(void) lb_command_reporting(defn, lb_to_shards,
								psprintf("SELECT %s.lb_rebuild(%%2$L) FROM %s",
										 lb_command_schema(), lb_command_waits()), ERROR);
	return true;
}

/* The worst state of the shards' boards. */
static uint32
worst_state(const LbDefinition *defn)
{
	/*
	 * One of these servers can be our own, so lb_wait_ready() would come
	 * back.
	 */
	List	   *answers = lb_command(defn, lb_to_shards,
									 psprintf("SELECT b.state FROM %s.lb_stat_board AS b WHERE " SHARDS_BOARD,
											  lb_command_schema()));
	uint32		worst = LB_READY;
	ListCell   *lc;

	foreach(lc, answers)
	{
		LbShardAnswer *answer = lfirst(lc);

		if (answer->success && strcmp(answer->result, "building") == 0)
			worst = LB_BUILDING;
		else if (!answer->success || strcmp(answer->result, "ready") != 0)
			return LB_OFFLINE;
	}
	return worst;
}

bool
lb_shards_wait_ready(const LbDefinition *defn, int64 until)
{
	uint32		state;

	while ((state = worst_state(defn)) == LB_BUILDING &&
		   lb_clock() < until)
	{
		pg_usleep(POLL_INTERVAL);
		CHECK_FOR_INTERRUPTS();
	}
	return state == LB_READY;
}

void
lb_shards_verify(const LbDefinition *defn,
				 void (*report) (const char *board, const char *problem, void *arg),
				 void *arg)
{
	List	   *answers = lb_command(defn, lb_to_shards,
									 psprintf("SELECT pg_catalog.string_agg(pg_catalog.concat_ws(': ', v.member, v.problem), '; ') "
											  "FROM %s.lb_verify_key(%%2$L) AS v",
											  lb_command_schema()));
	ListCell   *lc;

	foreach(lc, answers)
	{
		LbShardAnswer *answer = lfirst(lc);

		if (!answer->success || answer->result[0] != '\0')
			report(answer->board, answer->result, arg);
	}
}

/*
 * Ask the servers what lb_stat() has of each shard's board: of the whole
 * board, or of the one with that value in a family.  Returns a list of
 * LbShardAnswer whose results are arrays of texts {state, reason, members,
 * bytes}, or '' where the server has no such board or the caller may not see
 * it.
 */
static List *
ask_stat(const LbDefinition *defn, const char *value)
{
	const char *schema = lb_command_schema();
	char	   *suffix = value == NULL ? "" : psprintf(":%s", value);

	return lb_command(defn, lb_to_shards,
					  psprintf("SELECT ARRAY[f.state, f.reason, CASE WHEN f.state OPERATOR(pg_catalog.=) 'ready' THEN n.members END, n.bytes] FROM %s.lb_board AS b "
							   "CROSS JOIN LATERAL %s.lb_stat(b.board) AS f CROSS JOIN LATERAL ("
							   "SELECT CAST(COALESCE(pg_catalog.sum(s.members), 0) AS pg_catalog.text) AS members, "
							   "CAST(COALESCE(pg_catalog.sum(s.bytes), 0) AS pg_catalog.text) AS bytes "
							   "FROM %s.lb_stat(pg_catalog.concat(b.board, %s)) AS s) AS n WHERE " SHARDS_BOARD,
							   schema, schema, schema, lb_command_literal(suffix)));
}

/* A row of lb_stat_shards(). */
static void
put_shard(ReturnSetInfo *rsinfo, const LbShardAnswer *answer)
{
	Datum		values[6];
	bool		nulls[6];
	Datum	   *stat;
	bool	   *stat_nulls;
	int			n;

	memset(nulls, true, sizeof(nulls));
	values[0] = Int64GetDatum(answer->shard);
	values[1] = CStringGetTextDatum(answer->server);
	nulls[0] = nulls[1] = false;
	if (answer->success && answer->result[0] != '\0')
	{
		deconstruct_array(DatumGetArrayTypeP(OidInputFunctionCall(F_ARRAY_IN, answer->result, TEXTOID, -1)),
						  TEXTOID, -1, false, TYPALIGN_INT,
						  &stat, &stat_nulls, &n);
		for (int i = 0; i < Min(n, 4); i++)
		{
			nulls[2 + i] = stat_nulls[i];
			if (!stat_nulls[i])
				values[2 + i] = i < 2 ? stat[i] :
					DirectFunctionCall1(int8in, CStringGetDatum(TextDatumGetCString(stat[i])));
		}
	}
	else
	{
		values[2] = CStringGetTextDatum("offline");
		values[3] = CStringGetTextDatum(answer->success ?
										psprintf("the server has no board \"%s\"", answer->board) :
										answer->result);
		nulls[2] = nulls[3] = false;
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
lb_stat_shards(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	LbTarget	target;
	ListCell   *lc;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	InitMaterializedSRF(fcinfo, 0);
	if (lb_stat_look_up(PG_GETARG_TEXT_PP(0), &target) &&
		lb_has_distributed_board(target.defn))
	{
		foreach(lc, ask_stat(target.defn, target.has_value ?
							 lb_value_to_name(target.defn, &target.value) : NULL))
			put_shard(rsinfo, lfirst(lc));
	}
	return (Datum) 0;
}
