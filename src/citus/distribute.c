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
	Oid			types[] = {REGCLASSOID, TEXTOID, INT4OID};
	Datum		values[3];
	char		nulls[] = "   ";

	values[0] = ObjectIdGetDatum(table);
	values[1] = CStringGetTextDatum(OidIsValid(as) ? lb_qualified_name(as) :
									"default");
	values[2] = Int32GetDatum(count);
	nulls[2] = count == 0 || OidIsValid(as) ? 'n' : ' ';
	(void) lb_run_once_with_nulls("SELECT pg_catalog.create_distributed_table($1, 'player_id', 'hash', $2, $3)",
								  InvalidOid, lengthof(types), types, values,
								  nulls);
}

/*
 * Record in the new table who is hidden on all leaderboards; as the current
 * user, who owns the table.
 */
static void
copy_hidden(Oid hidden, const char *type, const LbType *player_type)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTOID, NAMEOID};
	Oid			array = TEXTARRAYOID;
	Datum		values[2];
	bool		isnull;

	values[0] = CStringGetTextDatum(player_type->sql_name);
	values[1] = DirectFunctionCall1(namein,
									CStringGetDatum(GetUserNameFromId(lb_table_owner(hidden), false)));
	(void) lb_own_run(&plan,
					  "SELECT pg_catalog.array_agg(h.player_id) FROM @.lb_hidden AS h WHERE h.player_type OPERATOR(pg_catalog.=) $1 "
					  "AND h.board OPERATOR(pg_catalog.=) '' AND (h.owners IS NULL OR $2 OPERATOR(pg_catalog.=) ANY (h.owners))",
					  lengthof(types), types, values, NULL);
	values[0] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
							  &isnull);
	if (isnull)
		return;
	(void) lb_run_once(psprintf("INSERT INTO %s (player_id, board, hidden) "
								"SELECT CAST(u.player AS %s), '', true FROM pg_catalog.unnest($1) AS u (player)",
								lb_qualified_name(hidden),
								type),
					   hidden, 1, &array, values);
}

void
lb_make_companions(Oid scores, const char *declared, const LbType *type)
{
	Oid			schema = get_rel_namespace(scores);
	Oid			hidden;

	for (int i = 0; i < LB_NRECORDS; i++)
	{
		const		LbCompanion *companion = &lb_companions[i];
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
