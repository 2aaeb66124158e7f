/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  Lists of rows from the index.
 *
 * A read copies rows under the lock into memory taken beforehand, and returns
 * them after it has released the lock.  If the list is long, the read releases the
 * lock now and then, so that writers and interrupts do not wait for all of it; the
 * view that is opened next shows the same rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "boards/definition.h"
#include "boards/keys.h"
#include "reads/rows.h"
#include "reads/text.h"
#include "reads/values.h"
#include "util/compat.h"

/* Rows that there is room for at first: most lists take the lock only once. */
#define LB_FIRST_ROWS 256

/* Members whose cache misses overlap. */
#define LB_BATCH 64

StaticAssertDecl(LB_BATCH <= LB_PREFETCH_KEYS &&
				 LB_YIELD_ROWS % LB_BATCH == 0,
				 "a batch is for one look-up, and a read yields between two");

/*
 * Where a function puts its rows.  Rows of bigint columns have the same length:
 * the first is formed, and then only its values change.  Rows with texts are
 * formed each.
 */
typedef struct Output
{
	LbCall	   *call;
	Tuplestorestate *store;
	TupleDesc	desc;
	bool		texts;
	TupleTableSlot *slot;		/* without texts */
	int64	   *places[LB_MAX_COLUMNS]; /* likewise: of values in the slot */
	Datum		values[LB_MAX_COLUMNS]; /* with texts */
	bool		nulls[LB_MAX_COLUMNS];
	MemoryContext context;		/* of these values */
	MemoryContext outside;
} Output;


/* ----------------------------------------------------------------
 *		What the functions have in common
 * ----------------------------------------------------------------
 */

/* Form a row of bigint columns that output_put() puts again and again. */
static void
form_row(Output *out)
{
	Datum		values[LB_MAX_COLUMNS];
	bool		nulls[LB_MAX_COLUMNS] = {false};
	MinimalTuple tuple;
	char	   *place;

	for (int i = 0; i < out->desc->natts; i++)
	{
		Assert(TupleDescAttr(out->desc, i)->atttypid == INT8OID);
		values[i] = Int64GetDatum(0);
	}
	tuple = LB_FORM_MINIMAL_TUPLE(out->desc, values, nulls);
	out->slot = MakeSingleTupleTableSlot(out->desc, &TTSOpsMinimalTuple);
	ExecStoreMinimalTuple(tuple, out->slot, true);
	place = (char *) tuple + tuple->t_hoff - MINIMAL_TUPLE_OFFSET;
	for (int i = 0; i < out->desc->natts; i++)
		out->places[i] = (int64 *) place + i;
}

static void
output_begin(Output *out, LbCall *call)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) call->fcinfo->resultinfo;

	out->call = call;
	out->store = rsinfo->setResult;
	out->desc = rsinfo->setDesc;
	out->texts = call->form != LB_AS_BIGINT;
	Assert(out->desc->natts <= LB_MAX_COLUMNS);
	if (!out->texts)
	{
		form_row(out);
		return;
	}
	memset(out->nulls, 0, sizeof(out->nulls));
	out->context = AllocSetContextCreate(CurrentMemoryContext,
										 "leaderboard texts",
										 ALLOCSET_DEFAULT_SIZES);
	out->outside = MemoryContextSwitchTo(out->context);
}

/* Set a column of the row to be put next. */
static inline void
output_int(Output *out, int column, int64 value)
{
	if (out->texts)
		out->values[column] = Int64GetDatum(value);
	else
		*out->places[column] = value;
}

/* The same for the column of the member ... */
static inline void
output_member(Output *out, int column, const int64 *member)
{
	if (out->texts)
		out->values[column] = lb_call_member_datum(out->call, member);
	else
		*out->places[column] = member[0];
}

/* ... and that of the score. */
static inline void
output_score(Output *out, int column, int64 score)
{
	if (out->texts)
		out->values[column] = lb_call_score_datum(out->call, score);
	else
		*out->places[column] = score;
}

/* Add the row. */
static inline void
output_put(Output *out)
{
	if (out->texts)
	{
		tuplestore_putvalues(out->store, out->desc, out->values, out->nulls);
		MemoryContextReset(out->context);
	}
	else
		tuplestore_puttupleslot(out->store, out->slot);
}

static void
output_end(Output *out)
{
	if (out->texts)
	{
		MemoryContextSwitchTo(out->outside);
		MemoryContextDelete(out->context);
	}
	else
		ExecDropSingleTupleTableSlot(out->slot);
}

static void
make_rows(LbRows *rows, const LbCall *call, int64 room)
{
	rows->n = 0;
	rows->room = room;
	rows->width = LB_ROW_MEMBER + call->access.target.defn->shape.member_words;
	rows->words = MemoryContextAllocHuge(CurrentMemoryContext,
										 Max(1, room) * rows->width *
										 sizeof(int64));
}

static inline void
set_row(const LbCall *call, int64 *row, int64 rank, const int64 *key)
{
	const LbView *view = &call->access.view;

	row[LB_ROW_RANK] = rank;
	row[LB_ROW_SCORE] = lb_call_score(call, key);
	for (int i = 0; i < view->member_words; i++)
		row[LB_ROW_MEMBER + i] = key[view->width - view->member_words + i];
}

/* Copy n entries after the first before ones to rows, under one hold. */
static int
copy_slice(const LbCall *call, uint64 before, int n, LbRows *rows)
{
	const LbView *view = &call->access.view;
	LbViewCursor cursor;
	int64		key[LB_MAX_WIDTH];
	int64		word = 0;
	int64		rank = 0;
	int			i;

	if (n == 0 || !lb_view_seek(view, before, &cursor))
		return 0;
	for (i = 0; i < n && lb_view_next(view, &cursor, key); i++)
	{
		if (call->method == LB_ROW_NUMBER)
			rank = before + i + 1;
		else if (i == 0)
			rank = lb_rank_of_word(call, key[0]);
		else if (key[0] != word)
			rank = call->method == LB_RANK ? (int64) before + i + 1 : rank + 1;
		word = key[0];
		set_row(call, lb_row(rows, rows->n++), rank, key);
	}
	return i;
}

/*
 * Copy n entries after the first before ones to rows, and release the lock.
 * Returns false if the query must be run.
 */
static bool
copy_rows(LbCall *call, uint64 before, int64 n, LbRows *rows)
{
	n = Min(n, rows->room);
	for (;;)
	{
		int			slice = Min(n - rows->n, LB_YIELD_ROWS);

		if (copy_slice(call, before + rows->n, slice, rows) < slice ||
			rows->n == n)
			break;
		if (!lb_go_on(call, rows->n))
			return false;
	}
	lb_access_unlock(&call->access);
	return true;
}

/*
 * Lock the board with room for n rows, or for as many as the board has.  Returns
 * false if the query must be run.
 */
static bool
lock_with_room(LbCall *call, int64 n, LbRows *rows)
{
	make_rows(rows, call, Min(n, LB_FIRST_ROWS));
	for (;;)
	{
		int64		need;

		if (!lb_access_lock(&call->access))
			return false;
		need = Min(n, (int64) lb_view_members(&call->access.view));
		if (need <= rows->room)
			return true;
		lb_access_release(&call->access);
		if (need > LB_MAX_ROWS)
		{
			lb_access_fall_back(&call->access, LB_CAUSE_LIMIT);
			return false;
		}

		/* A little more, since the board may grow meanwhile. */
		pfree(rows->words);
		make_rows(rows, call, Min(n, need + 64));
	}
}

/* Put rows into the call's tuplestore. */
static void
put_rows(LbCall *call, const LbRows *rows)
{
	Output		out;

	output_begin(&out, call);
	for (int i = 0; i < rows->n; i++)
	{
		const int64 *row = lb_row(rows, i);

		output_int(&out, 0, row[LB_ROW_RANK]);
		output_member(&out, 1, row + LB_ROW_MEMBER);
		output_score(&out, 2, row[LB_ROW_SCORE]);
		output_put(&out);
	}
	output_end(&out);
}

void
lb_query_row_list(LbCall *call, LbRows *rows)
{
	const Oid  *columns = call->function->columns;
	int			rank = columns[0] == LB_MEMBER_TYPE ? 1 : 0;
	TupleTableSlot *slot;
	Tuplestorestate *store = lb_call_query_rows(call, &slot);

	Assert(call->form == LB_AS_BIGINT);
	make_rows(rows, call, tuplestore_tuple_count(store));
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		int64	   *row = lb_row(rows, rows->n++);

		slot_getallattrs(slot);
		memset(row, 0, rows->width * sizeof(int64));
		if (!slot->tts_isnull[rank])
			row[LB_ROW_RANK] = DatumGetInt64(slot->tts_values[rank]);
		if (!slot->tts_isnull[1 - rank])
			row[LB_ROW_MEMBER] = DatumGetInt64(slot->tts_values[1 - rank]);
		if (!slot->tts_isnull[2])
			row[LB_ROW_SCORE] = DatumGetInt64(slot->tts_values[2]);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
}


/* ----------------------------------------------------------------
 *		By place
 * ----------------------------------------------------------------
 */

bool
lb_read_top_rows(LbCall *call, LbRows *rows)
{
	int64		n = DatumGetInt32(call->operands[0]);
	int64		skip = DatumGetInt64(call->operands[1]);

	return lock_with_room(call, n, rows) && copy_rows(call, skip, n, rows);
}

bool
lb_top_rows(LbCall *call, Datum *result, bool *isnull)
{
	LbRows		rows;

	if (!lb_read_top_rows(call, &rows))
		return false;
	put_rows(call, &rows);
	return true;
}

bool
lb_at_rows(LbCall *call, Datum *result, bool *isnull)
{
	int64		place = DatumGetInt64(call->operands[0]);
	LbRows		rows;
	Datum		values[3];

	make_rows(&rows, call, 1);
	if (!lb_access_lock(&call->access))
		return false;
	if (!copy_rows(call, place - 1, place < 1 ? 0 : 1, &rows))
		return false;
	*isnull = rows.n == 0;
	if (*isnull)
		return true;
	values[0] = Int64GetDatum(rows.words[LB_ROW_RANK]);
	values[1] = lb_call_member_datum(call, rows.words + LB_ROW_MEMBER);
	values[2] = lb_call_score_datum(call, rows.words[LB_ROW_SCORE]);
	*result = lb_call_record(call, values);
	return true;
}

bool
lb_read_around_rows(LbCall *call, LbRows *rows)
{
	const LbView *view = &call->access.view;
	int64		radius = DatumGetInt32(call->operands[1]);
	int64		word;
	const int64 *member = lb_call_member(call, &word);
	int64		key[LB_MAX_KEY_WORDS];
	uint64		place;
	uint64		first;

	if (!lock_with_room(call, 2 * radius + 1, rows))
		return false;
	if (member == NULL || !lb_view_lookup(view, member, key, NULL))
	{
		lb_access_unlock(&call->access);
		return true;
	}
	lb_view_spans(view, key, view->width, false, &place, NULL);
	first = place < (uint64) radius ? 0 : place - radius;
	return copy_rows(call, first, (int64) (place - first) + radius + 1, rows);
}

bool
lb_around_rows(LbCall *call, Datum *result, bool *isnull)
{
	LbRows		rows;

	if (!lb_read_around_rows(call, &rows))
		return false;
	put_rows(call, &rows);
	return true;
}


/* ----------------------------------------------------------------
 *		By members
 * ----------------------------------------------------------------
 */

/* The words of a member of the operand; returns whether a key can have them. */
static bool
encode_operand(const LbCall *call, int i, int64 *words)
{
	const LbDefinition *defn = call->access.target.defn;
	Size		at = (Size) i * defn->nmember;

	for (int j = 0; j < defn->nmember; j++)
	{
		if (call->members.nulls[at + j])
			return false;
	}
	return lb_encode_member(defn, call->members.values + at, words) > 0;
}

/*
 * The words of the members in the array that is the first operand, and which of
 * them no key has.  Returns how many there are, none if it is null.
 */
static int
array_operand(const LbCall *call, int64 **members, bool **absent)
{
	int			words = call->access.target.defn->shape.member_words;
	bool		texts = call->form != LB_AS_BIGINT;
	int			n = call->members.n;
	Datum	   *elements = NULL;

	if (call->nulls[0])
		return 0;
	if (texts)
		*absent = palloc_extended(n + 1, MCXT_ALLOC_HUGE);
	else
		deconstruct_array(DatumGetArrayTypeP(call->operands[0]), INT8OID,
						  sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
						  &elements, absent, &n);
	*members = MemoryContextAllocHuge(CurrentMemoryContext,
									  (Size) Max(1, n) * words *
									  sizeof(int64));
	for (int i = 0; i < n; i++)
	{
		int64	   *member = *members + (Size) i * words;

		if (texts)
			(*absent)[i] = !encode_operand(call, i, member);
		else
			member[0] = DatumGetInt64(elements[i]);
	}
	if (!texts)
		pfree(elements);
	return n;
}

/* Those of LB_BATCH members that are on the board. */
typedef struct Ranked
{
	int			n;
	int			numbers[LB_BATCH];	/* in the array */
	uint64		ranks[LB_BATCH];
	const int64 *keys[LB_BATCH];
	int64		words[LB_BATCH * LB_MAX_WIDTH]; /* of the keys */
} Ranked;

/*
 * The ranks of those of n members, LB_BATCH at most, that are on the board, and
 * the first nwords words of their keys, or more.
 */
static void
rank_members(const LbCall *call, const int64 *members, const bool *nulls,
			 int n, int nwords, Ranked *ranked)
{
	const LbView *view = &call->access.view;
	int64		wanted[LB_BATCH * LB_MAX_WIDTH];
	bool		found[LB_BATCH];
	LbCursor	places[LB_BATCH] = {{LB_NONE, 0}};
	uint64		before[LB_BATCH];
	bool		dense = call->method == LB_DENSE_RANK;
	int			ranked_by = call->method == LB_ROW_NUMBER ? view->width : 1;
	int			nwanted = 0;
	LbLookups	lookups = {
		.members = wanted,.member_stride = view->member_words,
		.nwords = Max(nwords, ranked_by),
		.key_stride = view->width,.keys = ranked->words,
		.found = found,.places = places
	};

	wanted[0] = 0;
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			continue;
		for (int w = 0; w < view->member_words; w++)
			wanted[nwanted * view->member_words + w] =
				members[i * view->member_words + w];
		ranked->numbers[nwanted++] = i;
	}
	lookups.n = nwanted;
	lb_view_lookup_many(view, &lookups);
	ranked->n = 0;
	for (int i = 0; i < nwanted; i++)
	{
		if (!found[i])
			continue;
		ranked->numbers[ranked->n] = ranked->numbers[i];
		ranked->keys[ranked->n] = ranked->words + i * view->width;
		places[ranked->n++] = places[i];
	}
	lb_view_spans_many(view, ranked->keys, places, ranked->n, ranked_by,
					   dense ? before : ranked->ranks,
					   dense ? ranked->ranks : NULL);
	for (int i = 0; i < ranked->n; i++)
		ranked->ranks[i]++;
}

bool
lb_read_ranks_rows(LbCall *call, const int64 *members, const bool *nulls,
				   int n, LbRows *rows)
{
	int			words = call->access.target.defn->shape.member_words;
	Ranked		ranked;

	make_rows(rows, call, n);
	if (!lb_access_lock(&call->access))
		return false;
	for (int i = 0; i < n; i += LB_BATCH)
	{
		int			batch = Min(LB_BATCH, n - i);

		if (!lb_go_on(call, i))
			return false;
		rank_members(call, members + (Size) i * words, nulls + i, batch, 1,
					 &ranked);
		for (int j = 0; j < batch; j++)
			lb_row(rows, i + j)[LB_ROW_RANK] = 0;
		for (int j = 0; j < ranked.n; j++)
		{
			int64	   *row = lb_row(rows, i + ranked.numbers[j]);

			row[LB_ROW_RANK] = (int64) ranked.ranks[j];
			row[LB_ROW_SCORE] = lb_call_score(call, ranked.keys[j]);
		}
	}
	rows->n = n;
	lb_access_unlock(&call->access);
	return true;
}

/* Set the column of a member of the operand. */
static void
output_operand(Output *out, int column, int i, const int64 *member)
{
	const LbDefinition *defn = out->call->access.target.defn;
	const LbMembersOperand *members = &out->call->members;
	Size		at = (Size) i * defn->nmember;

	if (!out->texts)
	{
		output_member(out, column, member);
		return;
	}
	out->nulls[column] = true;
	for (int j = 0; j < defn->nmember; j++)
		out->nulls[column] = out->nulls[column] && members->nulls[at + j];
	if (!out->nulls[column])
		out->values[column] = lb_member_to_text(defn, members->values + at,
												members->nulls + at);
}

/* Add the row of one that is not on the board, and may be null. */
static void
put_absent(Output *out, int i, const int64 *member, bool isnull)
{
	Datum		values[3] = {(Datum) 0, (Datum) 0, (Datum) 0};
	bool		nulls[3] = {isnull, true, true};

	if (out->texts)
	{
		output_operand(out, 0, i, member);
		values[0] = out->values[0];
		nulls[0] = out->nulls[0];
		out->nulls[0] = false;
	}
	else if (!isnull)
		values[0] = Int64GetDatum(member[0]);
	tuplestore_putvalues(out->store, out->desc, values, nulls);
	if (out->texts)
		MemoryContextReset(out->context);
}

bool
lb_ranks_rows(LbCall *call, Datum *result, bool *isnull)
{
	int			words = call->access.target.defn->shape.member_words;
	int64	   *members = NULL;
	bool	   *absent = NULL;
	int			n = array_operand(call, &members, &absent);
	LbRows		rows;
	Output		out;

	if (!lb_read_ranks_rows(call, members, absent, n, &rows))
		return false;
	output_begin(&out, call);
	for (int i = 0; i < n; i++)
	{
		const int64 *row = lb_row(&rows, i);
		const int64 *member = members + (Size) i * words;

		CHECK_FOR_INTERRUPTS();
		if (row[LB_ROW_RANK] != 0)
		{
			output_operand(&out, 0, i, member);
			output_int(&out, 1, row[LB_ROW_RANK]);
			output_score(&out, 2, row[LB_ROW_SCORE]);
			output_put(&out);
		}
		else
			put_absent(&out, i, member, absent[i]);
	}
	output_end(&out);
	return true;
}

/* Compare two keys of *arg words. */
static int
among_cmp(const void *a, const void *b, void *arg)
{
	return lb_words_cmp((const int64 *) a, (const int64 *) b,
						*(const int *) arg);
}

/*
 * The keys of those members that are on the board, with the rank after each.
 * Returns how many there are, or -1 if the query must be run.
 */
static int
among_keys(LbCall *call, const int64 *members, const bool *nulls, int n,
		   int64 *keys)
{
	int			words = call->access.target.defn->shape.member_words;
	int			width = call->access.target.defn->shape.width;
	int			nfound = 0;
	Ranked		ranked;

	if (!lb_access_lock(&call->access))
		return -1;
	for (int i = 0; i < n; i += LB_BATCH)
	{
		if (!lb_go_on(call, i))
			return -1;
		rank_members(call, members + (Size) i * words, nulls + i,
					 Min(LB_BATCH, n - i), width, &ranked);
		for (int j = 0; j < ranked.n; j++)
		{
			int64	   *key = keys + (Size) nfound++ * (width + 1);

			memcpy(key, ranked.keys[j], width * sizeof(int64));
			key[width] = (int64) ranked.ranks[j];
		}
	}
	lb_access_unlock(&call->access);
	return nfound;
}

bool
lb_among_rows(LbCall *call, Datum *result, bool *isnull)
{
	int			width = call->access.target.defn->shape.width;
	int			words = call->access.target.defn->shape.member_words;
	int64	   *members = NULL;
	bool	   *nulls = NULL;
	int			n = array_operand(call, &members, &nulls);
	int64	   *keys;
	int64		place = 0;
	Output		out;

	keys = MemoryContextAllocHuge(CurrentMemoryContext,
								  (Size) Max(1, n) * (width + 1) *
								  sizeof(int64));
	n = among_keys(call, members, nulls, n, keys);
	if (n < 0)
		return false;
	output_begin(&out, call);
	qsort_interruptible(keys, n, (width + 1) * sizeof(int64), among_cmp,
						&width);
	for (int i = 0; i < n; i++)
	{
		const int64 *key = keys + (Size) i * (width + 1);
		const int64 *member = key + width - words;

		CHECK_FOR_INTERRUPTS();

		/* The same member twice in the array counts once. */
		if (i > 0 && lb_words_cmp(member, member - (width + 1), words) == 0)
			continue;
		output_int(&out, 0, ++place);
		output_member(&out, 1, member);
		output_score(&out, 2, lb_call_score(call, key));
		output_int(&out, 3, key[width]);
		output_put(&out);
	}
	output_end(&out);
	return true;
}
