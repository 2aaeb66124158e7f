/*-------------------------------------------------------------------------
 *
 * distribute.c
 *	  Tables of leaderboards that Citus distributes.
 *
 * All tables of such a leaderboard are distributed by player and colocated: a
 * player's rows are in shards on one server, and move together.  So a submit
 * is written by one server.  That includes what the extension's own tables
 * record of submits on one server: a distributed table of scores has tables of
 * its own beside it for that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_namespace_d.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "admin/triggers.h"
#include "citus/command.h"
#include "citus/companion.h"
#include "citus/distribute.h"
#include "citus/layout.h"
#include "citus/shard.h"
#include "sql/spi.h"

void
lb_require_distributing(void)
{
	if (!OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("tables cannot be distributed"),
				 errdetail("Citus is not installed in this database."),
				 errhint("Use CREATE EXTENSION citus.")));
	lb_require_coordinator();
}

void
lb_distribute_table(Oid table, Oid as, int count)
{
	(void) lb_exec_once("SELECT pg_catalog.create_distributed_table($1, 'player_id', 'hash', $2, $3)",
						InvalidOid,
						LB_ARGS(lb_arg_regclass(table),
								lb_arg_text(OidIsValid(as) ? lb_qualified_name(as) : "default"),
								lb_arg_or_null(INT4OID, Int32GetDatum(count), count == 0 || OidIsValid(as))));
}

/*
 * Record in the new table who is hidden on all leaderboards; as the current
 * user, who owns the table.
 */
static void
copy_hidden(Oid hidden, const char *type, const LbType *player_type)
{
	static LbPlan plan;
	Datum		players;
	bool		isnull;

	(void) lb_own_exec(&plan,
					   "SELECT pg_catalog.array_agg(h.player_id) FROM @.lb_hidden AS h WHERE h.player_type OPERATOR(pg_catalog.=) $1 "
					   "AND h.board OPERATOR(pg_catalog.=) '' AND (h.owners IS NULL OR $2 OPERATOR(pg_catalog.=) ANY (h.owners))",
					   LB_ARGS(lb_arg_text(player_type->sql_name),
							   lb_arg_name(GetUserNameFromId(lb_table_owner(hidden), false))));
	players = lb_row_nullable(SPI_tuptable, 0, 1, &isnull);
	if (isnull)
		return;
	(void) lb_exec_once(psprintf("INSERT INTO %s (player_id, board, hidden) "
								 "SELECT CAST(u.player AS %s), '', true FROM pg_catalog.unnest($1) AS u (player)",
								 lb_qualified_name(hidden),
								 type),
						hidden, LB_ARGS(lb_arg(TEXTARRAYOID, players)));
}

void
lb_make_companions(Oid scores, const char *declared, const LbType *type)
{
	Oid			schema = get_rel_namespace(scores);
	Oid			hidden;

	for (int i = 0; i < LB_NRECORDS; i++)
	{
		const LbCompanion *companion = &lb_companions[i];
		char	   *name = psprintf("%s%s", get_rel_name(scores),
									companion->suffix);
		char	   *qualified =
			quote_qualified_identifier(get_namespace_name(schema), name);
		StringInfoData buf;

		initStringInfo(&buf);
		appendStringInfo(&buf, "CREATE TABLE %s (player_id %s NOT NULL",
						 qualified, declared);
		for (int c = 0; companion->columns[c].name != NULL; c++)
			appendStringInfo(&buf, ", %s %s", companion->columns[c].name,
							 companion->columns[c].declared);
		if (companion->key != NULL)
			appendStringInfo(&buf, ", PRIMARY KEY (%s)", companion->key);
		appendStringInfoChar(&buf, ')');
		if (companion->options != NULL)
			appendStringInfo(&buf, " WITH (%s)", companion->options);
		lb_execute_utility(buf.data);
		if (companion->index_column != NULL)
			lb_execute_utility(psprintf("CREATE INDEX ON %s USING brin (%s)",
										qualified, companion->index_column));
		/* Citus moves shards by logical replication. */
		if (companion->key == NULL)
			lb_execute_utility(psprintf("ALTER TABLE %s REPLICA IDENTITY FULL",
										qualified));
		lb_distribute_table(get_relname_relid(name, schema), scores, 0);
	}

	/* Players who are hidden on all leaderboards are hidden on this one. */
	hidden = lb_find_companion(get_rel_name(scores), schema, LB_RECORD_HIDDEN);
	if (type != NULL && OidIsValid(hidden))
		copy_hidden(hidden, declared, type);
}
