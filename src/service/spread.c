/*-------------------------------------------------------------------------
 *
 * spread.c
 *	  Boards of tables that Citus spreads over servers.
 *
 * Citus keeps the rows of such a table in shards: tables on the workers, whose names
 * end in the shard's number.  The table itself is empty, so its board has no index.
 * Each shard has a board of its own instead, which is an ordinary board of the
 * worker, named by the board and the shard: global_102008.  What the coordinator's
 * queries ask a shard, the planner of its worker answers from there.
 *
 * Shards' numbers are never used again, so the name of a shard's board never leads to
 * other rows.  A shard that has been moved or split has no board until the maintenance
 * worker, or lb_rebuild(), makes it; until then its server runs the query.  The old one
 * goes with its table, to which Citus sends no queries any more.
 *
 * Citus's own function carries the commands to the workers: over connections of
 * their own, as the current user.  They take part in no transaction of ours, so each
 * can be given again, and does nothing where nothing is to be done.  One that waits
 * for a lock that our own transaction holds would wait forever, since no server sees
 * that: so it does not wait long.  The lock on the board's name keeps sessions from
 * making the same boards at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/lists.h"
#include "boards/method.h"
#include "boards/resolve.h"
#include "boards/shards.h"
#include "boards/spi.h"
#include "boards/state.h"
#include "service/spread.h"
#include "service/spread_places.h"
#include "service/window_admin.h"

/* Digits of a shard's number, and what separates it from the name. */
#define SHARD_SUFFIX 20

/* How often the shards are asked whether they are ready, in microseconds. */
#define POLL_INTERVAL 100000

/* The most of what lock_timeout() returns. */
#define LOCK_TIMEOUT 10000

/*
 * In each command, format() replaces %1$L by the shard's table, and %2$L by the
 * name of its board.
 */
#define LIMIT_WAITS "(SELECT pg_catalog.set_config('lock_timeout', '%d', true)) AS l"
#define SHARDS_BOARD "b.board OPERATOR(pg_catalog.=) %%2$L"

bool
lb_is_spread(Oid source)
{
	Oid			types[] = {TEXTARRAYOID, INT4ARRAYOID, TEXTARRAYOID, BOOLOID};
	List	   *name = list_make2(makeString("pg_catalog"),
								  makeString("master_run_on_worker"));

	return lb_kept_elsewhere(source) &&
		OidIsValid(LookupFuncName(name, lengthof(types), types, true)) &&
		OidIsValid(get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE)) &&
		OidIsValid(get_relname_relid("pg_dist_shard_placement",
									 PG_CATALOG_NAMESPACE));
}

static void
require_coordinator(void)
{
	if (!lb_is_coordinator())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change boards of a distributed table on a worker"),
				 errhint("Connect to the coordinator.")));
}

/*
 * Which servers get a command for the board $3 of table $1: those of all shards, or
 * all other ones that run Citus's queries themselves.  $2 is the command.
 */
static const char to_shards[] =
"SELECT s.shardid AS shard, p.placementid AS id, p.nodename AS node, CAST(p.nodeport AS pg_catalog.int4) AS port, "
"pg_catalog.concat($3, '_', s.shardid) AS board, "
"pg_catalog.format($2, pg_catalog.shard_name(s.logicalrelid, s.shardid, false), pg_catalog.concat($3, '_', s.shardid)) AS command "
"FROM pg_catalog.pg_dist_shard AS s "
"JOIN pg_catalog.pg_dist_shard_placement AS p ON p.shardid OPERATOR(pg_catalog.=) s.shardid "
"WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1";

static const char to_others[] =
"SELECT CAST(0 AS pg_catalog.int8) AS shard, CAST(n.nodeid AS pg_catalog.int8) AS id, n.nodename AS node, n.nodeport AS port, $3 AS board, "
"pg_catalog.format($2, pg_catalog.format('%I.%I', s.nspname, t.relname), $3) AS command "
"FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_namespace AS s ON s.oid OPERATOR(pg_catalog.=) t.relnamespace "
"CROSS JOIN pg_catalog.pg_dist_node AS n "
"WHERE t.oid OPERATOR(pg_catalog.=) $1 AND n.isactive AND n.hasmetadata AND CAST(n.noderole AS pg_catalog.text) OPERATOR(pg_catalog.=) 'primary' "
"AND n.groupid OPERATOR(pg_catalog.<>) ALL (SELECT g.groupid FROM pg_catalog.pg_dist_local_group AS g)";

/*
 * Give a command to servers, all at once.  Returns a list of their answers, in the
 * order of the shards.  A server can be away without a word, and each connection would
 * wait for that (citus.node_connection_timeout), one after the other: so a server is
 * tried once, and gets commands if it answers.
 *
 * The commands name our functions by their schema, which mostly belongs to the
 * database's owner, and they run with the rights of the current user.  The owner could put
 * another schema in its place there.  So the first command asks whether it is ours: by a
 * statement of its own, since planning one can run functions that it names.
 */
static List *
command_servers(const LbDefinition *defn, const char *servers,
				const char *command)
{
	Oid			types[] = {REGCLASSOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID};
	Datum		values[lengthof(types)];
	char	   *schema = get_namespace_name(lb_require_catalog()->schema);
	MemoryContext context = CurrentMemoryContext;
	List	   *answers = NIL;

	values[0] = ObjectIdGetDatum(defn->source);
	values[1] = CStringGetTextDatum(command);
	values[2] = CStringGetTextDatum(defn->name);
	values[3] = CStringGetTextDatum(psprintf("SELECT 1 FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace "
											 "WHERE e.extname OPERATOR(pg_catalog.=) 'leaderboard' AND n.nspname OPERATOR(pg_catalog.=) %s",
											 quote_literal_cstr(schema)));
	values[4] = CStringGetTextDatum(psprintf("schema \"%s\" is not that of the extension leaderboard",
											 schema));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) lb_run_once(psprintf("WITH p AS MATERIALIZED (%s), "
								"n AS MATERIALIZED (SELECT r.node, r.port, r.success AND r.result OPERATOR(pg_catalog.=) '1' AS success, "
								"CASE WHEN r.success THEN $5 ELSE r.result END AS result FROM ("
								"SELECT pg_catalog.array_agg(d.node) AS nodes, pg_catalog.array_agg(d.port) AS ports, "
								"pg_catalog.array_agg($4) AS commands "
								"FROM (SELECT DISTINCT p.node, p.port FROM p) AS d) AS c "
								"CROSS JOIN LATERAL pg_catalog.master_run_on_worker(c.nodes, c.ports, c.commands, true) AS r (node, port, success, result)), "
								"a AS MATERIALIZED (SELECT c.ids[r.n] AS id, r.success, r.result FROM ("
								"SELECT pg_catalog.array_agg(p.id) AS ids, pg_catalog.array_agg(p.node) AS nodes, "
								"pg_catalog.array_agg(p.port) AS ports, pg_catalog.array_agg(p.command) AS commands "
								"FROM p JOIN n ON n.node OPERATOR(pg_catalog.=) p.node AND n.port OPERATOR(pg_catalog.=) p.port AND n.success) AS c "
								"CROSS JOIN LATERAL pg_catalog.master_run_on_worker(c.nodes, c.ports, c.commands, true) "
								"WITH ORDINALITY AS r (node, port, success, result, n)) "
								"SELECT p.board, pg_catalog.concat(p.node, ':', p.port), COALESCE(a.success, false), COALESCE(a.result, n.result, ''), p.shard "
								"FROM p JOIN n ON n.node OPERATOR(pg_catalog.=) p.node AND n.port OPERATOR(pg_catalog.=) p.port "
								"LEFT JOIN a ON a.id OPERATOR(pg_catalog.=) p.id ORDER BY p.id", servers),
					   InvalidOid, lengthof(types), types, values);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		MemoryContext old = MemoryContextSwitchTo(context);
		LbShardAnswer *answer = palloc(sizeof(LbShardAnswer));
		bool		isnull;

		answer->board = SPI_getvalue(row, desc, 1);
		answer->server = SPI_getvalue(row, desc, 2);
		answer->success = DatumGetBool(SPI_getbinval(row, desc, 3, &isnull));
		answer->result = SPI_getvalue(row, desc, 4);
		answer->shard = DatumGetInt64(SPI_getbinval(row, desc, 5, &isnull));
		answers = lappend(answers, answer);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return answers;
}

/* The same; the first server that fails is reported, at that level. */
static void
report_servers(const LbDefinition *defn, const char *servers,
			   const char *command, int elevel)
{
	List	   *answers = command_servers(defn, servers, command);
	ListCell   *lc;

	foreach(lc, answers)
	{
		LbShardAnswer *answer = lfirst(lc);

		if (answer->success)
			continue;
		ereport(elevel,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 servers == to_shards ?
				 errmsg("command for board \"%s\" of a shard has failed",
						answer->board) :
				 errmsg("command for board \"%s\" of another server has failed",
						answer->board),
				 errdetail("The server %s has answered: %s",
						   answer->server, answer->result),
				 errhint("Commands to other servers have transactions of their own: commit what the transaction has done to the table before. They can be repeated.")));
		break;
	}
}

/* For how long a command may wait for a lock, in milliseconds. */
static int
lock_timeout(void)
{
	return LockTimeout > 0 ? Min(LockTimeout, LOCK_TIMEOUT) : LOCK_TIMEOUT;
}

/* A text for a command: format() is to leave it as it is. */
static char *
verbatim(const char *text)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (const char *p = text; *p != '\0'; p++)
	{
		if (*p == '%')
			appendStringInfoChar(&buf, '%');
		appendStringInfoChar(&buf, *p);
	}
	return buf.data;
}

/* A literal for a command.  NULL is an empty one. */
static char *
literal(const char *text)
{
	return verbatim(quote_literal_cstr(text == NULL ? "" : text));
}

/* The schema of the extension, which is the same on all servers, for a command. */
static const char *
schema_name(void)
{
	return verbatim(quote_identifier(get_namespace_name(lb_require_catalog()->schema)));
}

static const char *
column_name(const LbColumn *column)
{
	return column == NULL ? NULL : column->name;
}

/* The arguments of a command that makes the board of a shard, or records the board. */
static char *
board_arguments(const LbDefinition *defn)
{
	const LbColumn *columns[] = {lb_board_column(defn),
	lb_ranked_if_column(defn)};
	char	   *names[lengthof(columns)];

	for (int i = 0; i < (int) lengthof(columns); i++)
		names[i] = psprintf("CAST(%s AS pg_catalog.name)",
							columns[i] == NULL ? "NULL" :
							literal(columns[i]->name));
	return psprintf("%%2$L, CAST(%%1$L AS pg_catalog.regclass), %s, %s, %s, %s, %s",
					literal(lb_format_member(lb_member_columns(defn),
											 defn->nmember)),
					literal(lb_format_rank_by(defn->columns, defn->nrank_by)),
					names[0], literal(lb_method_names[defn->method]),
					names[1]);
}

/*
 * Make what shards and other servers lack.  What these refuse is reported at that
 * level.
 */
static void
make_boards(const LbDefinition *defn, int elevel)
{
	const char *schema = schema_name();
	char	   *arguments = board_arguments(defn);
	char	   *member = literal(lb_format_member(lb_member_columns(defn),
												  defn->nmember));
	char	   *rank_by = literal(lb_format_rank_by(defn->columns,
													defn->nrank_by));
	char	   *board_column = literal(column_name(lb_board_column(defn)));
	char	   *ranked_if = literal(column_name(lb_ranked_if_column(defn)));
	char	   *method = literal(lb_method_names[defn->method]);

	if (strlen(defn->name) + SHARD_SUFFIX > LB_MAX_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("board name \"%s\" is too long for a distributed table",
						defn->name),
				 errdetail("Boards of shards have the shard's number after the name, which may take %d bytes.",
						   SHARD_SUFFIX)));

	/* A board of that name may be left from one that is dropped. */
	report_servers(defn, to_shards,
				   psprintf("SELECT %s.lb_drop_board(b.board) FROM " LIMIT_WAITS " CROSS JOIN %s.lb_board AS b "
							"WHERE " SHARDS_BOARD " AND NOT (b.source OPERATOR(pg_catalog.=) CAST(%%1$L AS pg_catalog.regclass) "
							"AND b.member OPERATOR(pg_catalog.=) %s AND b.rank_by OPERATOR(pg_catalog.=) %s "
							"AND COALESCE(CAST(b.board_column AS pg_catalog.text), '') OPERATOR(pg_catalog.=) %s "
							"AND COALESCE(CAST(b.ranked_if AS pg_catalog.text), '') OPERATOR(pg_catalog.=) %s "
							"AND b.method OPERATOR(pg_catalog.=) %s)",
							schema, lock_timeout(), schema, member,
							rank_by, board_column, ranked_if, method), elevel);
	report_servers(defn, to_shards,
				   psprintf("SELECT %s.lb_create_board(%s) FROM " LIMIT_WAITS " WHERE NOT EXISTS (SELECT FROM %s.lb_board AS b WHERE " SHARDS_BOARD ")",
							schema, arguments, lock_timeout(), schema), elevel);
	report_servers(defn, to_others,
				   psprintf("SELECT %s.lb_record_board(%s) FROM " LIMIT_WAITS,
							schema, arguments, lock_timeout()), elevel);
	lb_places_make(defn->source);
}

void
lb_spread_create(const LbDefinition *defn)
{
	require_coordinator();
	make_boards(defn, ERROR);
}

void
lb_spread_drop(const LbDefinition *defn)
{
	const char *schema = schema_name();

	require_coordinator();
	report_servers(defn, to_shards,
				   psprintf("SELECT %s.lb_drop_board(b.board) FROM " LIMIT_WAITS " CROSS JOIN %s.lb_board AS b "
							"WHERE " SHARDS_BOARD, schema,
							lock_timeout(), schema), ERROR);
	report_servers(defn, to_others,
				   psprintf("SELECT %s.lb_unrecord_board(%%2$L) FROM " LIMIT_WAITS,
							schema, lock_timeout()), ERROR);
	if (!lb_has_others(defn))
		lb_places_drop(defn->source);
}

bool
lb_has_spread_board(const LbDefinition *defn)
{
	return lb_is_spread(defn->source) && !lb_is_captured(defn->source);
}

void
lb_spread_mend(const char *board)
{
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
		!lb_has_spread_board(defn) || !lb_is_coordinator())
		return;
	lb_resolve_defn(defn);
	lb_switch_to_owner(&saved, defn->owner, false);
	make_boards(defn, WARNING);
	lb_restore_user(&saved);
}

bool
lb_spread_rebuild(const char *board)
{
	LbDefinition *defn;

	lb_window_lock_name(board);
	defn = lb_read_defn(board);
	if (defn == NULL)
		return false;
	lb_spread_create(defn);
	report_servers(defn, to_shards,
				   psprintf("SELECT %s.lb_rebuild(%%2$L) FROM " LIMIT_WAITS,
							schema_name(), lock_timeout()), ERROR);
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
	List	   *answers = command_servers(defn, to_shards,
										  psprintf("SELECT b.state FROM %s.lb_stat_board AS b WHERE " SHARDS_BOARD,
												   schema_name()));
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
lb_spread_wait_ready(const LbDefinition *defn, TimestampTz until)
{
	uint32		state;

	while ((state = worst_state(defn)) == LB_BUILDING &&
		   GetCurrentTimestamp() < until)
	{
		pg_usleep(POLL_INTERVAL);
		CHECK_FOR_INTERRUPTS();
	}
	return state == LB_READY;
}

void
lb_spread_verify(const LbDefinition *defn,
				 void (*report) (const char *board, const char *problem, void *arg),
				 void *arg)
{
	List	   *answers = command_servers(defn, to_shards,
										  psprintf("SELECT pg_catalog.string_agg(pg_catalog.concat_ws(': ', v.member, v.problem), '; ') "
												   "FROM %s.lb_verify_key(%%2$L) AS v",
												   schema_name()));
	ListCell   *lc;

	foreach(lc, answers)
	{
		LbShardAnswer *answer = lfirst(lc);

		if (!answer->success || answer->result[0] != '\0')
			report(answer->board, answer->result, arg);
	}
}

List *
lb_spread_stat(const LbDefinition *defn, const char *value)
{
	const char *schema = schema_name();
	char	   *suffix = value == NULL ? "" : psprintf(":%s", value);

	return command_servers(defn, to_shards,
						   psprintf("SELECT ARRAY[f.state, f.reason, CASE WHEN f.state OPERATOR(pg_catalog.=) 'ready' THEN n.members END, n.bytes] FROM %s.lb_board AS b "
									"CROSS JOIN LATERAL %s.lb_stat(b.board) AS f CROSS JOIN LATERAL ("
									"SELECT CAST(COALESCE(pg_catalog.sum(s.members), 0) AS pg_catalog.text) AS members, "
									"CAST(COALESCE(pg_catalog.sum(s.bytes), 0) AS pg_catalog.text) AS bytes "
									"FROM %s.lb_stat(pg_catalog.concat(b.board, %s)) AS s) AS n WHERE " SHARDS_BOARD,
									schema, schema, schema, literal(suffix)));
}
