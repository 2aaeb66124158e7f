/*-------------------------------------------------------------------------
 *
 * captured.c
 *	  The triggers by which tables are captured.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "boards/captured.h"

const Trigger *
lb_capture_trigger(Relation rel, Oid capture, bool row, bool fires)
{
	TriggerDesc *desc = rel->trigdesc;
	const int16 all = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE |
		TRIGGER_TYPE_DELETE;
	const int16 events = row ? all : TRIGGER_TYPE_TRUNCATE;

	for (int i = 0; desc != NULL && i < desc->numtriggers; i++)
	{
		const Trigger *trigger = &desc->triggers[i];

		if (trigger->tgfoid == capture &&
			TRIGGER_FOR_AFTER(trigger->tgtype) &&
			(TRIGGER_FOR_ROW(trigger->tgtype) != 0) == row &&
			(trigger->tgtype & events) == events &&
			trigger->tgqual == NULL && trigger->tgnattr == 0 &&
			!trigger->tgdeferrable &&
			(!fires || trigger->tgenabled == TRIGGER_FIRES_ALWAYS))
			return trigger;
	}
	return NULL;
}

bool
lb_has_triggers(Relation rel, Oid capture, bool part)
{
	return lb_capture_trigger(rel, capture, true, true) != NULL &&
		(part || lb_capture_trigger(rel, capture, false, true) != NULL);
}

bool
lb_is_captured(Oid source)
{
	const LbCatalog *cat;
	List	   *rels;
	ListCell   *lc;
	bool		result = true;

	AcceptInvalidationMessages();
	cat = lb_catalog();
	if (cat == NULL)
		return true;
	rels = find_all_inheritors(source, NoLock, NULL);
	foreach(lc, rels)
	{
		Relation	rel = RelationIdGetRelation(lfirst_oid(lc));

		if (rel == NULL)
			continue;

		/* Children of a plain table are not part of the board. */
		if (lfirst_oid(lc) == source)
			result &= lb_has_triggers(rel, cat->capture, false);
		else if (rel->rd_rel->relispartition &&
				 rel->rd_rel->relkind == RELKIND_RELATION)
			result &= lb_has_triggers(rel, cat->capture, true);
		RelationClose(rel);
	}
	list_free(rels);
	return result;
}

bool
lb_has_row_trigger(Oid source)
{
	const LbCatalog *cat = lb_catalog();
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	if (cat == NULL)
		return false;
	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(source));
	scan = systable_beginscan(rel, TriggerRelidNameIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger trigger = (Form_pg_trigger) GETSTRUCT(tuple);

		found = trigger->tgfoid == cat->capture &&
			TRIGGER_FOR_ROW(trigger->tgtype);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

bool
lb_may_keep_rows(Relation rel, const LbCatalog *cat)
{
	TriggerDesc *desc = rel->trigdesc;

	if (desc == NULL ||
		(!desc->trig_insert_before_row && !desc->trig_update_before_row))
		return false;
	for (int i = 0; i < desc->numtriggers; i++)
	{
		Trigger    *trigger = &desc->triggers[i];

		/* A lookup here could rebuild the descriptor. */
		if (trigger->tgenabled != TRIGGER_DISABLED &&
			TRIGGER_FOR_ROW(trigger->tgtype) &&
			TRIGGER_FOR_BEFORE(trigger->tgtype) &&
			(TRIGGER_FOR_INSERT(trigger->tgtype) ||
			 TRIGGER_FOR_UPDATE(trigger->tgtype)) &&
			(cat == NULL || trigger->tgfoid != cat->set_updated_at))
			return true;
	}
	return false;
}
