/*-------------------------------------------------------------------------
 *
 * trigger.c
 *	  The triggers of sources, and the keys of their rows.
 *
 * lb_capture() is an AFTER trigger, ENABLE ALWAYS, for each row and for
 * TRUNCATE.  For each board of the table, it appends the change of the row to
 * the list of xactlog.c.  What it cannot capture becomes an unknown change:
 * the write itself does not fail.
 *
 * lb_set_updated_at() is a BEFORE UPDATE trigger of the default tables, which
 * lb_create_tables() makes.
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
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "boards/board_value.h"
#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/directory.h"
#include "boards/encode.h"
#include "boards/expression.h"
#include "boards/keys.h"
#include "boards/parts.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "capture/trigger.h"
#include "capture/unseen.h"
#include "capture/xact.h"
#include "capture/xactlog.h"
#include "util/planted.h"
#include "util/subxact.h"

PG_FUNCTION_INFO_V1(lb_capture);
PG_FUNCTION_INFO_V1(lb_set_updated_at);

/*
 * Put the words of a column's value behind the n words of a key where there
 * may not be room for the longest text.  Returns how many, or 0 if no key has
 * the value or there are too many.
 */
static pg_noinline int
encode_near_end(const LbColumn *column, Datum value, int64 *key, int n)
{
	int64		words[LB_MAX_TEXT_WORDS];
	int			more = lb_encode(column, value, words);

	if (n + more > LB_MAX_KEY_WORDS)
		return 0;
	memcpy(key + n, words, more * sizeof(int64));
	return more;
}

/* Whether a row has a -0 in a column of rank_by. */
static bool
has_negative_zero(const LbDefinition *defn, TupleTableSlot *slot)
{
	for (int i = 0; i < defn->nrank_by; i++)
	{
		const LbColumn *column = &defn->columns[i];
		bool		isnull;
		Datum		value = lb_column_value(column, slot, &isnull);

		if (!isnull && lb_is_negative_zero(column, value))
			return true;
	}
	return false;
}

/*
 * Note that the board has had a -0, if the row has one.  Returns false if the
 * board is not in shared memory.
 */
static pg_noinline bool
note_negative_zero(LbDefinition *defn, TupleTableSlot *slot)
{
	LbSharedBoard *shared;

	if (!has_negative_zero(defn, slot))
		return true;
	shared = lb_shared_board_attach(defn, false);
	if (shared != NULL)
		shared->negative_zero = true;
	return shared != NULL;
}

/*
 * The words of the columns of a key: of rank_by, and of the member unless rows
 * are counted.  A row with a null in any of them is off the board, also if one
 * of the texts is too long.
 */
static inline LbRowState
put_words(LbDefinition *defn, TupleTableSlot *slot, int64 *key)
{
	LbRowState	state = LB_RANKED;
	int			nindex = lb_nindex_columns(defn);
	int			n = 0;

	for (int i = 0; i < lb_nkey_columns(defn); i++)
	{
		const LbColumn *column = &defn->columns[i];
		bool		isnull;
		Datum		d = lb_column_value(column, slot, &isnull);
		int			more;

		if (isnull)
			return LB_OFF_BOARD;
		if (unlikely(state == LB_NO_KEY || i >= nindex))
			continue;
		more = likely(n <= LB_MAX_KEY_WORDS - LB_MAX_TEXT_WORDS) ?
			lb_encode(column, d, key + n) : encode_near_end(column, d, key, n);
		if (more == 0)
			state = LB_NO_KEY;
		n += more;
	}
	if (unlikely(defn->signed_zeros) && !note_negative_zero(defn, slot))
		return LB_UNNOTED;
	return state;
}

LbRowState
lb_row_key(LbDefinition *defn, TupleTableSlot *slot, int64 *key,
		   LbValue *value, char *room)
{
	const LbColumn *ranked_if = lb_ranked_if_column(defn);
	LbRowState	state = LB_RANKED;
	Datum		values[LB_MAX_VALUE_COLUMNS];
	Datum		d;
	bool		isnull;

	if (ranked_if != NULL)
	{
		d = lb_column_value(ranked_if, slot, &isnull);
		if (isnull || !DatumGetBool(d))
			state = LB_OFF_BOARD;
	}
	if (likely(state == LB_RANKED))
		state = put_words(defn, slot, key);
	value->len = 0;
	value->data = "";
	if (!defn->family)
		return state;
	for (int i = 0; i < defn->nboard; i++)
	{
		values[i] = lb_column_value(&lb_board_columns(defn)[i], slot, &isnull);
		if (isnull)
			return LB_NOT_RANKED;
	}
	lb_board_value(defn, values, value, room);
	return value->len > LB_MAX_VALUE ? LB_NOT_RANKED : state;
}

/* A row before or after a change, as a board ranks it. */
typedef struct RankedRow
{
	LbRowState	state;
	int64		key[LB_MAX_KEY_WORDS];
	LbValue		value;
	char		room[LB_ROW_ROOM];	/* value may point into it */
	CommandId	cid;			/* of the command that changed it */
} RankedRow;

/* slot is NULL if there is no such row. */
static void
read_row(LbDefinition *defn, TupleTableSlot *slot, RankedRow *row)
{
	row->state = slot == NULL ? LB_NOT_RANKED :
		lb_row_key(defn, slot, row->key, &row->value, row->room);
	row->cid = InvalidCommandId;
}

/* What lb_try() reads. */
typedef struct OldRow
{
	LbDefinition *defn;
	TupleTableSlot *slot;
	RankedRow  *row;
} OldRow;

static void
read_it(void *arg)
{
	const OldRow *old = arg;

	read_row(old->defn, old->slot, old->row);
}

/*
 * Read a row as it was, which may be from before the board: an expression can
 * raise an error for it, and the change may be what mends that.  Returns false
 * then.
 */
static pg_noinline bool
read_unproven_row(LbDefinition *defn, TupleTableSlot *slot, RankedRow *row)
{
	OldRow		old = {defn, slot, row};
	ErrorData  *error = lb_try(read_it, &old);

	if (error == NULL)
		return true;

	/* A statement that is cancelled, or a want of memory, is no such. */
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES)
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

/*
 * Whether the rows that a table has are known to raise no error.  Those of a
 * board that is ready have raised none, but what a function does, or the
 * constraints of a domain, may have changed since then.
 */
static bool
is_proven(LbDefinition *defn)
{
	LbSharedBoard *shared;

	if (lb_runs_others(defn))
		return false;
	shared = lb_shared_board_attach(defn, false);
	return shared != NULL && lb_is_ready(shared);
}

/*
 * Read a row as it was.  Returns false if it has no key, for what an
 * expression raises.
 */
static inline bool
read_old_row(LbDefinition *defn, TupleTableSlot *slot, RankedRow *row)
{
	if (slot != NULL && unlikely(lb_has_expressions(defn)) && !is_proven(defn))
		return read_unproven_row(defn, slot, row);
	read_row(defn, slot, row);
	return true;
}

/* The command that inserted a tuple. */
static CommandId
inserting_command(HeapTupleHeader tuple)
{
	/* All snapshots see rows of COPY FREEZE at once. */
	if (HeapTupleHeaderXminFrozen(tuple))
		return FirstCommandId;
	return HeapTupleHeaderGetCmin(tuple);
}

static void
capture_row(LbDefinition *defn, TriggerData *trigger)
{
	bool		inserted = TRIGGER_FIRED_BY_INSERT(trigger->tg_event);
	bool		deleted = TRIGGER_FIRED_BY_DELETE(trigger->tg_event);
	RankedRow	old;
	RankedRow	new;
	const LbShape *shape = &defn->shape;
	TupleTableSlot *newslot = deleted ? NULL :
		inserted ? trigger->tg_trigslot : trigger->tg_newslot;
	bool		same_board;
	bool		known;

	if (defn->problem != NULL)
	{
		lb_xact_set_unknown(defn, defn->problem);
		return;
	}
	known = read_old_row(defn, inserted ? NULL : trigger->tg_trigslot, &old);
	read_row(defn, newslot, &new);
	if (unlikely(!known))
	{
		lb_xact_set_unknown(defn, "an expression of the board has raised an error");
		return;
	}

	/*
	 * A -0 has the words of the 0 that it may replace, and then the row has
	 * no change.  Standbys are told of it all the same.
	 */
	if (unlikely(defn->signed_zeros) && newslot != NULL &&
		has_negative_zero(defn, newslot))
		lb_xact_make_defn(defn)->negative_zero = true;
	if (unlikely(old.state == LB_UNNOTED || new.state == LB_UNNOTED))
	{
		lb_xact_set_unknown(defn, "a row has a -0");
		return;
	}
	same_board = old.state == new.state && old.state != LB_NOT_RANKED &&
		lb_value_equal(&old.value, &new.value);
	if (LB_PLANTED(14))
		same_board |= old.state == LB_OFF_BOARD && new.state == LB_OFF_BOARD;
	if (same_board && (old.state != LB_RANKED ||
					   lb_key_cmp(shape, old.key, new.key) == 0))
		return;

	/*
	 * Plans that were made beside such a row have done without the board.  A
	 * source whose partition this was until now may be gone.
	 */
	if (unlikely(old.state == LB_NO_KEY && new.state != LB_NO_KEY) &&
		SearchSysCacheExists1(RELOID, ObjectIdGetDatum(defn->source)))
		CacheInvalidateRelcacheByRelid(defn->source);
	if (old.state != LB_NOT_RANKED)
		old.cid = HeapTupleHeaderGetCmax(trigger->tg_trigtuple->t_data);
	if (new.state != LB_NOT_RANKED)
		new.cid = inserting_command(inserted ?
									trigger->tg_trigtuple->t_data :
									trigger->tg_newtuple->t_data);

	/* A change is of one member, on one board, by one command. */
	if (same_board && old.cid == new.cid &&
		lb_member_cmp(shape, lb_key_member(shape, old.key),
					  lb_key_member(shape, new.key)) == 0)
		lb_xact_add_change(defn, &old.value, old.key, new.key, old.cid);
	else
	{
		if (old.state == LB_RANKED)
			lb_xact_add_change(defn, &old.value, old.key, NULL, old.cid);
		else if (old.state != LB_NOT_RANKED)
			lb_xact_add_off_board(defn, &old.value,
								  -lb_row_off_board(old.state), old.cid);
		if (new.state == LB_RANKED)
			lb_xact_add_change(defn, &new.value, NULL, new.key, new.cid);
		else if (new.state != LB_NOT_RANKED)
			lb_xact_add_off_board(defn, &new.value,
								  lb_row_off_board(new.state), new.cid);
	}
}

static void
capture_truncate(LbDefinition *defn)
{
	LbXactDefn *xdefn = lb_xact_make_defn(defn);

	/*
	 * Triggers of the TRUNCATE that fired before this one may have written
	 * rows, before the table was emptied or after.
	 */
	if (lb_xact_changed_since(xdefn, xdefn->truncate_began))
		lb_xact_set_unknown(defn, "another trigger has written to the table in a TRUNCATE");
	lb_xact_add_truncate(xdefn);
}

/*
 * Whether the table is captured by this trigger.  A user may have made other
 * triggers of the function, which capture nothing.
 */
static bool
is_our_trigger(const TriggerData *trigger, Oid capture)
{
	const Trigger *ours;

	ours = lb_capture_trigger(trigger->tg_relation, capture,
							  TRIGGER_FIRED_FOR_ROW(trigger->tg_event), true);
	return ours != NULL && ours->tgoid == trigger->tg_trigger->tgoid;
}

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
	 * Without shared memory there is no index that could become wrong.  If a
	 * user has made it a BEFORE trigger, every row passes unchanged.
	 */
	cat = lb_shared == NULL ? NULL : lb_catalog();
	if (cat == NULL || !is_our_trigger(trigger, cat->capture))
		return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ?
							   trigger->tg_newtuple : trigger->tg_trigtuple);

	if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event) &&
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		lb_unseen_note(trigger->tg_trigtuple);
	version_ok = cat->version_ok;
	n = lb_defns_of_rows(trigger->tg_relation, &defns);
	for (int i = 0; i < n; i++)
	{
		if (lb_xact.published)
			lb_captured_late(defns[i]);
		else if (!version_ok)
			lb_xact_set_unknown(defns[i], "the library and its SQL objects were of different versions");
		else if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
			capture_row(defns[i], trigger);
		else if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
			capture_truncate(defns[i]);
	}
	PG_RETURN_POINTER(NULL);
}

/*
 * The columns of a default table: by their names or, if one has been renamed,
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

		for (int c = 1; c < defn->nrank_by && time == 0; c++)
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
 * If the score changes, it was reached now, unless the statement sets the
 * time.  If the table does not have these columns, the row passes unchanged: a
 * write does not fail because of this trigger.
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
	Form_pg_attribute att;

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

	att = TupleDescAttr(desc, score - 1);
	oldscore = heap_getattr(trigger->tg_trigtuple, score, desc, &oldnull);
	newscore = heap_getattr(tuple, score, desc, &newnull);
	if (oldnull != newnull ||
		(!newnull && !datumIsEqual(oldscore, newscore, att->attbyval,
								   att->attlen)))
	{
		Datum		now = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
		bool		isnull = false;

		tuple = heap_modify_tuple_by_cols(tuple, desc, 1, &updated_at, &now,
										  &isnull);
	}
	return PointerGetDatum(tuple);
}
