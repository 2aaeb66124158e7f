/*-------------------------------------------------------------------------
 *
 * trigger.c
 *	  The row triggers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/combocid.h"
#include "utils/rel.h"

#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/keys.h"
#include "boards/parts.h"
#include "boards/shared.h"
#include "capture/trigger.h"
#include "capture/xact.h"
#include "capture/xactlog.h"

PG_FUNCTION_INFO_V1(lb_capture);
PG_FUNCTION_INFO_V1(lb_set_updated_at);

/*
 * A value of a board column as text, which may point into digits, or into d.
 */
static void
datum_value(Oid type, Datum d, LbValue *value, char *digits)
{
	if (type == TEXTOID || type == VARCHAROID)
	{
		text	   *t = DatumGetTextPP(d);

		value->data = VARDATA_ANY(t);
		value->len = VARSIZE_ANY_EXHDR(t);
	}
	else
	{
		value->len = pg_lltoa(lb_encode(d, type), digits);
		value->data = digits;
	}
}

bool
lb_row_key(LbDefinition *defn, TupleTableSlot *slot, int64 *key,
		   LbValue *value, char *digits)
{
	Datum		d;
	bool		isnull;

	if (defn->ranked_attno != InvalidAttrNumber)
	{
		d = slot_getattr(slot, defn->ranked_attno, &isnull);
		if (isnull || !DatumGetBool(d))
			return false;
	}
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbRankColumn *column = &defn->columns[i];

		d = slot_getattr(slot, column->attno, &isnull);
		if (isnull)
			return false;
		key[i] = lb_directed(lb_encode(d, column->type), column->descending);
	}
	d = slot_getattr(slot, defn->member_attno, &isnull);
	if (isnull)
		return false;
	key[defn->ncolumns] = lb_encode(d, defn->member_type);

	value->len = 0;
	value->data = "";
	if (defn->family)
	{
		d = slot_getattr(slot, defn->board_attno, &isnull);
		if (isnull)
			return false;
		datum_value(defn->board_type, d, value, digits);
		if (value->len > LB_MAX_VALUE)
			return false;
	}
	return true;
}

static void
capture_row(LbDefinition *defn, TriggerData *trigger)
{
	TupleTableSlot *oldslot = NULL;
	TupleTableSlot *newslot = NULL;
	int64		oldkey[LB_MAX_WIDTH];
	int64		newkey[LB_MAX_WIDTH];
	LbValue		oldvalue;
	LbValue		newvalue;
	char		olddigits[32];
	char		newdigits[32];
	bool		had;
	bool		has;
	bool		same_board;
	CommandId	oldcid = InvalidCommandId;
	CommandId	newcid = InvalidCommandId;

	if (defn->problem != NULL)
	{
		lb_xact_rows_unknown(defn, NULL);
		return;
	}
	if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		newslot = trigger->tg_trigslot;
	else if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		oldslot = trigger->tg_trigslot;
	else
	{
		oldslot = trigger->tg_trigslot;
		newslot = trigger->tg_newslot;
	}
	had = oldslot != NULL &&
		lb_row_key(defn, oldslot, oldkey, &oldvalue, olddigits);
	has = newslot != NULL &&
		lb_row_key(defn, newslot, newkey, &newvalue, newdigits);
	same_board = had && has && oldvalue.len == newvalue.len &&
		memcmp(oldvalue.data, newvalue.data, oldvalue.len) == 0;
	if (same_board && lb_words_cmp(oldkey, newkey, defn->width) == 0)
		return;

	if (had)
		oldcid = HeapTupleHeaderGetCmax(trigger->tg_trigtuple->t_data);
	if (has)
	{
		HeapTupleHeader tuple = newslot == trigger->tg_trigslot ?
			trigger->tg_trigtuple->t_data : trigger->tg_newtuple->t_data;

		/* COPY FREEZE rows are there for everybody at once. */
		newcid = HeapTupleHeaderXminFrozen(tuple) ? FirstCommandId :
			HeapTupleHeaderGetCmin(tuple);
	}

	/* An entry is of one member, and of one board. */
	if (same_board && oldcid == newcid &&
		oldkey[defn->ncolumns] == newkey[defn->ncolumns])
		lb_xact_add_change(defn, &oldvalue, oldkey, newkey, oldcid);
	else
	{
		if (had)
			lb_xact_add_change(defn, &oldvalue, oldkey, NULL, oldcid);
		if (has)
			lb_xact_add_change(defn, &newvalue, NULL, newkey, newcid);
	}
}

static void
capture_truncate(LbDefinition *defn)
{
	LbXactDefn *xdefn = lb_xact_make_defn(defn);

	/*
	 * Other triggers of the TRUNCATE, fired before ours, may have written
	 * rows after the table was emptied, or before.
	 */
	if (lb_xact_changed_since(xdefn, xdefn->truncate_began))
		lb_xact_rows_unknown(defn, "another trigger has written to the table in a TRUNCATE");
	lb_xact_add_truncate(xdefn);
}

/* Whether it is this trigger by which the table is captured. */
static bool
is_our_trigger(const TriggerData *trigger, Oid capture)
{
	const Trigger *ours;

	ours = lb_capture_trigger(trigger->tg_relation, capture,
							  TRIGGER_FIRED_FOR_ROW(trigger->tg_event), true);
	return ours != NULL && ours->tgoid == trigger->tg_trigger->tgoid;
}

/*
 * The trigger of every source, for each row and for TRUNCATE.
 */
Datum
lb_capture(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	LbDefinition **defns;
	int			n;
	const LbCatalog *cat;
	bool		version_ok;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"lb_capture")));

	/*
	 * Without shared memory there is no index that could become wrong.  Nor
	 * do we listen to triggers that somebody else has made of this function;
	 * they let every row pass as it is.
	 */
	cat = lb_shared == NULL ? NULL : lb_catalog();
	if (cat == NULL || !is_our_trigger(trigger, cat->capture))
		return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ?
							   trigger->tg_newtuple : trigger->tg_trigtuple);

	version_ok = cat->version_ok;
	n = lb_defns_of_rows(trigger->tg_relation, &defns);
	for (int i = 0; i < n; i++)
	{
		if (lb_xact.published)
			lb_captured_late(defns[i]);
		else if (!version_ok)
			lb_xact_rows_unknown(defns[i], NULL);
		else if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
			capture_row(defns[i], trigger);
		else if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
			capture_truncate(defns[i]);
	}
	PG_RETURN_POINTER(NULL);
}

/*
 * The columns of a default table, by their names or, where one has been renamed,
 * by what a board of the table ranks by.  Returns false if there are none.
 */
static bool
find_score_and_time(Relation rel, int *score, int *updated_at)
{
	TupleDesc	desc = RelationGetDescr(rel);
	LbDefinition **defns;
	int			n;

	*score = SPI_fnumber(desc, "score");
	*updated_at = SPI_fnumber(desc, "updated_at");
	if (*score > 0 && TupleDescAttr(desc, *score - 1)->atttypid != INT8OID)
		*score = 0;
	if (*updated_at > 0 &&
		TupleDescAttr(desc, *updated_at - 1)->atttypid != TIMESTAMPTZOID)
		*updated_at = 0;
	if (*score > 0 && *updated_at > 0)
		return true;
	if (lb_shared == NULL)
		return false;
	n = lb_defns_of_rows(rel, &defns);
	for (int i = 0; i < n; i++)
	{
		const LbDefinition *defn = defns[i];
		int			time = 0;

		for (int c = 1; c < defn->ncolumns && time == 0; c++)
		{
			AttrNumber	attno = defn->columns[c].attno;

			if (attno > 0 &&
				TupleDescAttr(desc, attno - 1)->atttypid == TIMESTAMPTZOID)
				time = attno;
		}
		if (*updated_at > 0)
			time = *updated_at;
		if (time == 0 || defn->columns[0].attno <= 0)
			continue;
		if (*score <= 0)
			*score = defn->columns[0].attno;
		*updated_at = time;
		return true;
	}
	return false;
}

/*
 * BEFORE UPDATE trigger of the default tables: a score that changes is
 * reached now, unless the statement says when.  What has none of the columns
 * passes as it is: a write does not fail because of us.
 */
Datum
lb_set_updated_at(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	TupleDesc	desc;
	int			score;
	int			updated_at;
	Datum		oldscore;
	Datum		newscore;
	bool		oldnull;
	bool		newnull;
	HeapTuple	tuple;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired BEFORE UPDATE FOR EACH ROW",
						"lb_set_updated_at")));

	desc = RelationGetDescr(trigger->tg_relation);
	tuple = trigger->tg_newtuple;
	if (!find_score_and_time(trigger->tg_relation, &score, &updated_at) ||
		bms_is_member(updated_at - FirstLowInvalidHeapAttributeNumber,
					  trigger->tg_updatedcols))
		return PointerGetDatum(tuple);

	/* A score is of an integer type, passed by value. */
	oldscore = heap_getattr(trigger->tg_trigtuple, score, desc, &oldnull);
	newscore = heap_getattr(tuple, score, desc, &newnull);
	if (oldnull != newnull || (!newnull && oldscore != newscore))
	{
		Datum		now = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
		bool		isnull = false;

		tuple = heap_modify_tuple_by_cols(tuple, desc, 1, &updated_at, &now,
										  &isnull);
	}
	return PointerGetDatum(tuple);
}
