/*-------------------------------------------------------------------------
 *
 * shard_lock.c
 *	  Locking tables that Citus distributes, on all servers.
 *
 * Each server that runs queries on such a table has the table itself, empty,
 * and locks it there for each statement that writes, to the end of the
 * transaction: so do submits (forward.c).  Citus takes a LOCK TABLE to all of
 * these servers, one after the other in an order of its own.  A writer holds
 * the lock on one server only.  So none of them waits in a circle.
 *
 * The shards are locked as well.  A transaction in doubt holds locks on shards
 * only: prepared on the server of a shard when the server that it came from
 * has ended.  So does a statement on a shard itself.
 *
 * All of that is done as the table's owner, as are the statements that follow:
 * Citus has connections of its own for each role, and what one of them has
 * locked another waits for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "boards/resolve.h"
#include "citus/layout.h"
#include "citus/shard.h"
#include "sql/spi.h"

/*
 * Lock the shards of a table that is locked.  The table of places has a row
 * for each.  Without it, the query asks each shard for one row, in which it is
 * named; then one without rows stays unlocked.
 */
static void
lock_shards(Oid table)
{
	char	   *name = lb_qualified_name(table);
	Oid			places = lb_places(table);
	char	   *places_name = OidIsValid(places) ? lb_qualified_name(places) : NULL;

	if (name == NULL)
		lb_wrong_table(table);
	if (places_name != NULL)
	{
		(void) lb_exec_once(psprintf("SELECT pg_catalog.lock_relation_if_exists(pg_catalog.shard_name(CAST(%s AS pg_catalog.regclass), p.shard, false), 'SHARE ROW EXCLUSIVE') "
									 "FROM %s AS p", quote_literal_cstr(name),
									 places_name),
							places, LB_NO_ARGS);
		SPI_freetuptable(SPI_tuptable);
	}
	(void) lb_exec_once(psprintf("SELECT pg_catalog.lock_relation_if_exists(CAST(CAST(t.tableoid AS pg_catalog.regclass) AS pg_catalog.text), 'SHARE ROW EXCLUSIVE') "
								 "FROM ONLY %s AS t LIMIT 1", name),
						table, LB_NO_ARGS);
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Have Citus commit by two phases.  It does if several shards are written to.
 * If there is one, it would commit there first: if this server ended then,
 * what the caller has written here would be lost.  Rows that are copied to
 * shards, none here, are always committed by two phases.
 */
static void
commit_by_two_phases(const LbDefinition *defn)
{
	if (lb_exec_once("SELECT COALESCE(pg_catalog.column_to_column_name(p.logicalrelid, p.partkey), "
					 "(SELECT CAST(a.attname AS pg_catalog.text) FROM pg_catalog.pg_attribute AS a WHERE a.attrelid OPERATOR(pg_catalog.=) $1 "
					 "AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped AND a.attgenerated OPERATOR(pg_catalog.=) '' LIMIT 1)) "
					 "FROM pg_catalog.pg_dist_partition AS p WHERE p.logicalrelid OPERATOR(pg_catalog.=) $1 "
					 "AND (SELECT pg_catalog.count(*) FROM pg_catalog.pg_dist_shard AS s WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1) OPERATOR(pg_catalog.=) 1",
					 InvalidOid, LB_ARGS(lb_arg_regclass(defn->source))) > 0)
	{
		const char *column = lb_row_text(SPI_tuptable, 0, 1);

		(void) lb_exec_once(psprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT NULL FROM pg_catalog.generate_series(1, 0)",
									 lb_qualified_name(defn->source),
									 quote_identifier(column)),
							defn->source, LB_NO_ARGS);
	}
}

void
lb_lock_distributed(const LbDefinition *defn)
{
	static const char *const settings[] = {
		"citus.enable_ddl_propagation", "citus.enable_metadata_sync"
	};
	Oid			source = defn->source;
	char	   *before = lb_qualified_name(source);
	char	   *after;
	int			nestlevel = NewGUCNestLevel();
	List	   *tables;
	ListCell   *lc;
	LbUser		saved;

	if (before == NULL)
		lb_wrong_table(source);

	/* Without these Citus takes the statement nowhere. */
	for (int i = 0; i < (int) lengthof(settings); i++)
		lb_set_locally(settings[i], "on");
	lb_switch_to_owner(&saved, defn->owner, false);
	(void) lb_exec_once(psprintf("LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE", before),
						InvalidOid, LB_NO_ARGS);

	/* The name may have led to another table. */
	LockRelationOid(source, ShareRowExclusiveLock);
	after = lb_qualified_name(source);
	if (after == NULL || strcmp(before, after) != 0)
		lb_wrong_table(source);
	if (defn->relkind == RELKIND_PARTITIONED_TABLE)
		tables = find_all_inheritors(source, ShareRowExclusiveLock, NULL);
	else
		tables = list_make1_oid(source);
	foreach(lc, tables)
	{
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_RELATION &&
			lb_is_distributed_table(lfirst_oid(lc)))
			lock_shards(lfirst_oid(lc));
	}
	commit_by_two_phases(defn);
	lb_restore_user(&saved);
	AtEOXact_GUC(true, nestlevel);
}
