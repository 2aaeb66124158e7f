/*-------------------------------------------------------------------------
 *
 * command.c
 *	  Commands to the other servers of Citus.
 *
 * Citus's own function carries them: over connections of their own, as the
 * current user.  They take part in no transaction of ours, so each can be
 * given again, and does nothing where nothing is to be done.  One that waits
 * for a lock that our own transaction holds would wait forever, since no
 * server sees that: so it does not wait long.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "boards/catalog.h"
#include "citus/command.h"
#include "citus/layout.h"
#include "sql/spi.h"

/* The longest that a command waits for a lock, in milliseconds. */
#define LOCK_TIMEOUT 10000

void
lb_require_coordinator(void)
{
	if (!lb_is_coordinator())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change boards of a distributed table on a worker"),
				 errhint("Connect to the coordinator.")));
}

void
lb_require_coordinator_for(const LbDefinition *defn, const char *what)
{
	if (!lb_is_coordinator())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s does not work on a worker for board \"%s\"", what,
						defn->name),
				 errdetail("Citus distributes its table \"%s\".",
						   get_rel_name(defn->source)),
				 errhint("Connect to the coordinator.")));
}

void
lb_refuse_coordinator(const char *function)
{
	if (lb_is_coordinator())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s() is for other servers than the coordinator", function)));
}

const char	lb_to_shards[] =
"SELECT s.shardid AS shard, p.placementid AS id, p.nodename AS node, CAST(p.nodeport AS pg_catalog.int4) AS port, "
"pg_catalog.concat($3, '_', s.shardid) AS board, "
"pg_catalog.format($2, pg_catalog.shard_name(s.logicalrelid, s.shardid, false), pg_catalog.concat($3, '_', s.shardid)) AS command "
"FROM pg_catalog.pg_dist_shard AS s "
"JOIN pg_catalog.pg_dist_shard_placement AS p ON p.shardid OPERATOR(pg_catalog.=) s.shardid "
"WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1";

const char	lb_to_others[] =
"SELECT CAST(0 AS pg_catalog.int8) AS shard, CAST(n.nodeid AS pg_catalog.int8) AS id, n.nodename AS node, n.nodeport AS port, $3 AS board, "
"pg_catalog.format($2, pg_catalog.format('%I.%I', s.nspname, t.relname), $3) AS command "
"FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_namespace AS s ON s.oid OPERATOR(pg_catalog.=) t.relnamespace "
"CROSS JOIN pg_catalog.pg_dist_node AS n "
"WHERE t.oid OPERATOR(pg_catalog.=) $1 AND n.isactive AND n.hasmetadata AND CAST(n.noderole AS pg_catalog.text) OPERATOR(pg_catalog.=) 'primary' "
"AND n.groupid OPERATOR(pg_catalog.<>) ALL (SELECT g.groupid FROM pg_catalog.pg_dist_local_group AS g)";

const char	lb_to_self[] =
"SELECT CAST(0 AS pg_catalog.int8) AS shard, CAST(n.nodeid AS pg_catalog.int8) AS id, n.nodename AS node, n.nodeport AS port, $3 AS board, "
"pg_catalog.format($2, CAST($1 AS pg_catalog.text), $3) AS command "
"FROM pg_catalog.pg_dist_node AS n JOIN pg_catalog.pg_dist_local_group AS g ON g.groupid OPERATOR(pg_catalog.=) n.groupid "
"WHERE n.isactive AND CAST(n.noderole AS pg_catalog.text) OPERATOR(pg_catalog.=) 'primary'";

/*
 * A server can be away without a word, and each connection would wait for that
 * (citus.node_connection_timeout), one after the other: so a server is tried
 * once, and gets commands if it answers.
 *
 * The commands name our functions by their schema, which mostly belongs to the
 * database's owner, and they run with the rights of the current user.  The
 * owner could put another schema in its place there.  So the first command
 * asks whether it is ours: by a statement of its own, since planning one can
 * run functions that it names.
 */
List *
lb_command(const LbDefinition *defn, const char *servers,
		   const char *command)
{
	char	   *schema = get_namespace_name(lb_require_catalog()->schema);
	MemoryContext context = CurrentMemoryContext;
	List	   *answers = NIL;
	char	   *is_ours = psprintf("SELECT 1 FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace "
								   "WHERE e.extname OPERATOR(pg_catalog.=) 'leaderboard' AND n.nspname OPERATOR(pg_catalog.=) %s",
								   quote_literal_cstr(schema));
	char	   *not_ours = psprintf("schema \"%s\" is not that of the extension leaderboard",
									schema);

	SPI_connect();
	(void) lb_exec_once(psprintf("WITH p AS MATERIALIZED (%s), "
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
						InvalidOid,
						LB_ARGS(lb_arg_regclass(defn->source), lb_arg_text(command),
								lb_arg_text(defn->name), lb_arg_text(is_ours),
								lb_arg_text(not_ours)));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		LbShardAnswer *answer = palloc(sizeof(LbShardAnswer));

		CHECK_FOR_INTERRUPTS();
		answer->board = lb_row_text(SPI_tuptable, i, 1);
		answer->server = lb_row_text(SPI_tuptable, i, 2);
		answer->success = lb_row_bool(SPI_tuptable, i, 3);
		answer->result = lb_row_text(SPI_tuptable, i, 4);
		(void) lb_row_int8(SPI_tuptable, i, 5, &answer->shard);
		answers = lappend(answers, answer);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return answers;
}

List *
lb_command_reporting(const LbDefinition *defn, const char *servers,
					 const char *command, int elevel)
{
	List	   *answers = lb_command(defn, servers, command);
	ListCell   *lc;

	foreach(lc, answers)
	{
		LbShardAnswer *answer = lfirst(lc);

		if (answer->success)
			continue;
		ereport(elevel,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 servers == lb_to_shards ?
				 errmsg("command for board \"%s\" of a shard has failed",
						answer->board) :
				 errmsg("command for board \"%s\" of another server has failed",
						answer->board),
				 errdetail("The server %s has answered: %s",
						   answer->server, answer->result),
				 errhint("Commands to other servers have transactions of their own: commit what the transaction has done to the table before. They can be repeated.")));
		break;
	}
	return answers;
}

char *
lb_command_waits(void)
{
	int			timeout = LockTimeout > 0 ? Min(LockTimeout, LOCK_TIMEOUT) :
		LOCK_TIMEOUT;

	return psprintf("(SELECT pg_catalog.set_config('lock_timeout', '%d', true)) AS l",
					timeout);
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

char *
lb_command_literal(const char *text)
{
	return verbatim(quote_literal_cstr(text == NULL ? "" : text));
}

const char *
lb_command_schema(void)
{
	return verbatim(quote_identifier(get_namespace_name(lb_require_catalog()->schema)));
}

const char *
lb_command_internal_schema(void)
{
	return verbatim(lb_internal_schema());
}
