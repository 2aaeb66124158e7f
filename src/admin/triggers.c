/*-------------------------------------------------------------------------
 *
 * triggers.c
 *	  The capture triggers of a source: making, mending and dropping them.
 *
 * A table has one row trigger and one TRUNCATE trigger of ours, for all its
 * boards. They are known by their function, and may have been renamed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "admin/triggers.h"
#include "boards/captured.h"
#include "boards/catalog.h"
#include "sql/spi.h"

void
lb_execute_utility(const char *sql)
{
	if (SPI_execute(sql, false, 0) < 0)
		elog(ERROR, "could not execute \"%s\"", sql);
}

/* The name of a table in a statement. */
static char *
table_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/*
 * Make or enable one of the capture triggers of a table.  A trigger of our
 * function may have been renamed.
 */
static void
make_trigger(Oid source, bool row)
{
	const LbCatalog *cat = lb_require_catalog();
	const char *name = row ? LB_ROW_TRIGGER : LB_TRUNCATE_TRIGGER;
	char	   *table = table_name(source);
	Relation	rel = relation_open(source, NoLock);
	const Trigger *found = lb_capture_trigger(rel, cat->capture, row, false);
	bool		exists = found != NULL;
	bool		replace = false;
	bool		drop = false;

	if (exists)
		name = pstrdup(found->tgname);
	for (int i = 0; !exists && rel->trigdesc != NULL &&
		 i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgfoid != cat->capture ||
			strcmp(trigger->tgname, name) != 0)
			continue;

		/* Replacing a trigger need not wait for readers. */
		drop = OidIsValid(trigger->tgconstraint);
		replace = !drop;
	}

	/* ALTER TABLE refuses a table that is open. */
	relation_close(rel, NoLock);
	name = quote_identifier(name);
	if (drop)
		lb_execute_utility(psprintf("DROP TRIGGER %s ON %s", name, table));
	if (!exists)
		lb_execute_utility(psprintf("CREATE %s TRIGGER %s AFTER %s ON %s "
									"FOR EACH %s EXECUTE FUNCTION %s.lb_capture()",
									replace ? "OR REPLACE" : "", name,
									row ? "INSERT OR UPDATE OR DELETE" : "TRUNCATE",
									table, row ? "ROW" : "STATEMENT",
									lb_internal_schema()));
	lb_execute_utility(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", table,
								name));
}

bool
lb_make_triggers(Oid source)
{
	if (lb_is_captured(source))
		return false;
	make_trigger(source, true);
	make_trigger(source, false);
	return true;
}

void
lb_drop_triggers(Oid source)
{
	const LbCatalog *cat = lb_require_catalog();
	Relation	rel = relation_open(source, NoLock);
	List	   *names = NIL;
	ListCell   *lc;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgfoid == cat->capture && !trigger->tgisclone)
			names = lappend(names, pstrdup(trigger->tgname));
	}
	relation_close(rel, NoLock);
	foreach(lc, names)
		lb_execute_utility(psprintf("DROP TRIGGER IF EXISTS %s ON %s",
									quote_identifier(lfirst(lc)),
									table_name(source)));
}
