/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  Lists of rows from the index.
 *
 * A read copies rows under the lock into memory taken beforehand, and returns
 * them after it has released the lock.  If the list is long, the read releases
 * the lock now and then, so that writers and interrupts do not wait for all of
 * it; the view that is opened next shows the same rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/keys.h"
#include "reads/key.h"
#include "reads/members.h"
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
 * Where a function puts its rows.  Rows of bigint columns have the same
 * length: the first is formed, and then only its values change.  Rows with
 * texts are formed each.
 */
typedef struct Output
{
	LbCall	   *call;
	Tuplestorestate *store;
	TupleDesc	desc;
	bool		texts;			/* ... or other values than bigint */
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
	out->texts = call->form != LB_AS_BIGINT || lb_returns_ties(call);
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

/*
 * Make room for the words of n more rows.  Releases the lock meanwhile.
 * Returns false if the query must be run; then the lock is not held.
 */
static bool
enlarge_rows(LbCall *call, LbRows *rows, int n)
{
	lb_access_release(&call->access);
	lb_enlarge_rows(rows, n);
	return lb_access_lock(&call->access);
}

/*
 * Release the lock after rows were copied.  Returns false if the query must be
 * run: only it knows one of the scores, or the lock was let go meanwhile.
 */
static bool
unlock_with_rows(LbCall *call, const LbRows *rows)
{
	bool		sure = true;

	for (int i = 0; unlikely(call->access.shared->negative_zero) &&
		 i < rows->n; i++)
	{
		const int64 *row = lb_row(rows, i);

		if (!lb_go_on(call, i))
			return false;
		if (row[LB_ROW_RANK] != 0)
			sure = sure && (lb_returns_ties(call) ?
							lb_key_is_sure(call, row + LB_ROW_MEMBER) :
							lb_call_is_sure(call, row[LB_ROW_SCORE]));
	}
	return lb_call_unlock(call, sure);
}

/* Copy n entries after the first before ones to rows, under one hold. */
static int
copy_slice(const LbCall *call, uint64 before, int n, LbRows *rows)
{
	const LbView *view = &call->access.view;
	const LbShape *shape = view->shape;
	bool		varies = lb_shape_varies(shape);
	LbViewCursor cursor;
	int64		key[LB_MAX_KEY_WORDS];
	bool		whole = rows->tail == LB_KEY_TAIL;
	int			words = whole ? shape->width : shape->member_words;
	const int64 *tail = key + shape->width - words;
	int64		word = 0;
	int64		rank = 0;
	int			i;

	if (n == 0 || !lb_view_seek(view, before, &cursor))
		return 0;
	for (i = 0; i < n && lb_rows_have_room(rows, 1) &&
		 lb_view_next(view, &cursor, key); i++)
	{
		int64	   *row;

		if (varies)
		{
			tail = whole ? key : lb_key_member(shape, key);
			words = whole ? lb_key_words(shape, key) :
				lb_member_length(shape, tail);
		}
		row = lb_add_row(rows, words);
		if (call->method == LB_ROW_NUMBER)
			rank = before + i + 1;
		else if (i == 0)
			rank = lb_rank_of_word(call, key[0]);
		else if (key[0] != word)
			rank = call->method == LB_RANK ? (int64) before + i + 1 : rank + 1;
		word = key[0];
		row[LB_ROW_RANK] = rank;
		row[LB_ROW_SCORE] = lb_call_score(call, key);
		for (int w = 0; w < words; w++)
			row[LB_ROW_MEMBER + w] = tail[w];
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
		int			slice = Min(n - rows->n, LB_YIELD_ROWS -
								rows->n % LB_YIELD_ROWS);
		int			copied = copy_slice(call, before + rows->n, slice, rows);

		if (copied < slice && !lb_rows_have_room(rows, 1))
		{
			if (!enlarge_rows(call, rows, 1))
				return false;
			continue;
		}
		if (copied < slice || rows->n == n)
			break;
		if (!lb_go_on(call, rows->n))
			return false;
	}
	return unlock_with_rows(call, rows);
}

/*
 * Lock the board with room for n rows, or for as many as the board has.
 * Returns false if the query must be run.
 */
static bool
lock_with_room(LbCall *call, int64 n, LbRows *rows, LbTail tail)
{
	lb_make_rows(rows, &call->access.target.defn->shape, Min(n, LB_FIRST_ROWS), tail);
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
		lb_free_rows(rows);
		lb_make_rows(rows, &call->access.target.defn->shape, Min(n, need + 64), tail);
	}
}

/* The entries before a key, with the lock held. */
static int64
count_to_key(const LbView *view, const int64 *key, int nwords)
{
	uint64		members;

	lb_view_spans(view, key, nwords == 1 ? 1 : view->shape->width, false,
				  &members, NULL);
	return (int64) members;
}

/*
 * Copy n entries, evenly spread over those at places before + 1 to before +
 * entries, and release the lock.
 */
static bool
copy_even(LbCall *call, uint64 before, uint64 entries, int64 n, LbRows *rows)
{
	while (rows->n < n)
	{
		uint64		place = before + entries * rows->n / n;

		if (copy_slice(call, place, 1, rows) == 0)
		{
			if (lb_rows_have_room(rows, 1))
				break;
			if (!enlarge_rows(call, rows, 1))
				return false;
		}
		else if (rows->n < n && !lb_go_on(call, rows->n))
			return false;
	}
	return unlock_with_rows(call, rows);
}

bool
lb_read_section(LbCall *call, LbSection *section, LbRows *rows)
{
	const LbView *view = &call->access.view;
	int64		first;
	int64		entries;

	if (!lock_with_room(call, section->n, rows, LB_KEY_TAIL))
		return false;
	section->before = section->better = 0;
	section->before_upto = lb_view_members(view);
	if (section->from_words > 0)
	{
		section->before = count_to_key(view, section->from,
									   section->from_words);
		section->better = count_to_key(view, section->from, 1);
	}
	if (section->upto_words > 0)
		section->before_upto = count_to_key(view, section->upto,
											section->upto_words);
	first = Max(0, section->before - section->back);
	entries = Max(0, section->before_upto - first);
	return section->even && entries > rows->room ?
		copy_even(call, first, entries, rows->room, rows) :
		copy_rows(call, first, entries, rows);
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

		CHECK_FOR_INTERRUPTS();
		output_int(&out, 0, row[LB_ROW_RANK]);
		output_member(&out, 1, row + LB_ROW_MEMBER);
		output_score(&out, 2, row[LB_ROW_SCORE]);
		output_put(&out);
	}
	output_end(&out);
}


/* ----------------------------------------------------------------
 *		By place
 * ----------------------------------------------------------------
 */

static bool
read_page(LbCall *call, LbRows *rows, LbTail tail)
{
	int64		n = DatumGetInt32(call->operands[0]);
	int64		skip = DatumGetInt64(call->operands[1]);

	if (call->access.query)
		return lb_distributed != NULL &&
			lb_distributed->page(call, skip, n, tail, rows);
	if (call->access.target.defn->counts)
		return lb_find_page(call, skip, n, rows);
	return lock_with_room(call, n, rows, tail) &&
		copy_rows(call, skip, n, rows);
}

bool
lb_read_top_rows(LbCall *call, LbRows *rows)
{
	return read_page(call, rows, LB_MEMBER_TAIL);
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
lb_page_rows(LbCall *call, Datum *result, bool *isnull)
{
	LbShape		shape = call->access.target.defn->shape;
	LbRows		rows;
	Output		out;

	if (!read_page(call, &rows, LB_KEY_TAIL))
		return false;
	output_begin(&out, call);
	for (int i = 0; i < rows.n; i++)
	{
		const int64 *row = lb_row(&rows, i);
		const int64 *key = row + LB_ROW_MEMBER;

		CHECK_FOR_INTERRUPTS();
		output_int(&out, 0, row[LB_ROW_RANK]);
		output_member(&out, 1, lb_key_member(&shape, key));
		output_score(&out, 2, row[LB_ROW_SCORE]);
		out.values[3] = lb_ties_of_key(call, key);
		output_put(&out);
	}
	output_end(&out);
	return true;
}

/* The query answers, whatever the index knows. */
bool
lb_metadata_rows(LbCall *call, Datum *result, bool *isnull)
{
	lb_access_fall_back(&call->access, LB_CAUSE_NONE);
	return false;
}

bool
lb_at_rows(LbCall *call, Datum *result, bool *isnull)
{
	int64		place = DatumGetInt64(call->operands[0]);
	LbRows		rows;
	Datum		values[3];

	if (call->access.query)
	{
		if (lb_distributed == NULL ||
			!lb_distributed->page(call, Max(place, 1) - 1, place < 1 ? 0 : 1,
								  LB_MEMBER_TAIL, &rows))
			return false;
	}
	else if (call->access.target.defn->counts)
	{
		if (!lb_find_page(call, Max(place, 1) - 1, place < 1 ? 0 : 1, &rows))
			return false;
	}
	else
	{
		lb_make_rows(&rows, &call->access.target.defn->shape, 1, LB_MEMBER_TAIL);
		if (!lb_access_lock(&call->access) ||
			!copy_rows(call, place - 1, place < 1 ? 0 : 1, &rows))
			return false;
	}
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

	if (call->access.query)
		return lb_distributed != NULL &&
			lb_distributed->around(call, radius, rows);
	if (call->access.target.defn->counts)
		return lb_find_around(call, radius, rows);
	if (!lock_with_room(call, 2 * radius + 1, rows, LB_MEMBER_TAIL))
		return false;
	if (member == NULL || !lb_view_lookup(view, member, key, NULL))
	{
		lb_access_unlock(&call->access);
		return true;
	}
	lb_view_spans(view, key, view->shape->width, false, &place, NULL);
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

/* Those of LB_BATCH members that are on the board. */
typedef struct Ranked
{
	int			n;
	int			numbers[LB_BATCH];	/* in the array */
	uint64		ranks[LB_BATCH];
	const int64 *keys[LB_BATCH];

	bool		whole;			/* the keys are wanted, not only their scores */
	bool		counted;		/* the ranks are wanted; else each is 1 */

	/* Memory for members and for keys, and how far apart they are there. */
	int			stride;
	int64	   *wanted;
	int64	   *words;
} Ranked;

static Ranked *
make_ranked(const LbCall *call, bool whole, bool counted)
{
	const LbShape *shape = &call->access.target.defn->shape;
	Ranked	   *ranked = palloc(sizeof(Ranked));

	ranked->whole = whole;
	ranked->counted = counted;
	ranked->stride = lb_shape_varies(shape) ? LB_MAX_KEY_WORDS : shape->width;
	ranked->wanted = palloc(LB_BATCH * ranked->stride * sizeof(int64));
	ranked->words = palloc(LB_BATCH * ranked->stride * sizeof(int64));
	return ranked;
}

/*
 * The keys, and the ranks, of those of LB_BATCH members, from the first-th on,
 * that are on the board.
 */
static void
rank_members(const LbCall *call, const LbMembers *members, int first,
			 Ranked *ranked)
{
	const LbView *view = &call->access.view;
	const LbShape *shape = view->shape;
	int			stride = ranked->stride;
	bool		found[LB_BATCH];
	LbCursor	places[LB_BATCH] = {{LB_NONE, 0}};
	uint64		before[LB_BATCH];
	bool		dense = call->method == LB_DENSE_RANK;
	bool		by_key = call->method == LB_ROW_NUMBER;
	LbLookups	lookups = {
		.members = ranked->wanted,.member_stride = stride,
		.nwords = ranked->whole || by_key ? stride : 1,
		.key_stride = stride,.keys = ranked->words,
		.found = found,.places = places
	};

	for (int i = first; i < Min(first + LB_BATCH, members->n); i++)
	{
		const int64 *member = lb_member_at(members, i);
		int64	   *wanted = ranked->wanted + lookups.n * stride;
		int			words;

		if (members->absent[i])
			continue;
		words = lb_member_length(shape, member);
		for (int w = 0; w < words; w++)
			wanted[w] = member[w];
		ranked->numbers[lookups.n++] = i;
	}
	lb_view_lookup_many(view, &lookups);
	ranked->n = 0;
	for (int i = 0; i < lookups.n; i++)
	{
		if (!found[i])
			continue;
		ranked->numbers[ranked->n] = ranked->numbers[i];
		ranked->keys[ranked->n] = ranked->words + i * stride;
		ranked->ranks[ranked->n] = 1;
		places[ranked->n++] = places[i];
	}
	if (!ranked->counted)
		return;
	lb_view_spans_many(view, ranked->keys, places, ranked->n,
					   by_key ? shape->width : 1,
					   dense ? before : ranked->ranks,
					   dense ? ranked->ranks : NULL);
	for (int i = 0; i < ranked->n; i++)
		ranked->ranks[i]++;
}

bool
lb_read_ranks_rows(LbCall *call, const LbMembers *members, LbRows *rows)
{
	Ranked	   *ranked;

	if (unlikely(call->access.target.defn->counts))
		return lb_read_counted_ranks(call, members, rows);
	if (call->access.query)
		return lb_distributed != NULL &&
			lb_distributed->ranks(call, members, rows);
	ranked = make_ranked(call, false, true);
	lb_make_rows(rows, &call->access.target.defn->shape, members->n, LB_NO_TAIL);
	if (!lb_access_lock(&call->access))
		return false;
	for (int i = 0; i < members->n; i += LB_BATCH)
	{
		if (!lb_go_on(call, i))
			return false;
		rank_members(call, members, i, ranked);
		for (int j = i; j < Min(i + LB_BATCH, members->n); j++)
			lb_row(rows, j)[LB_ROW_RANK] = 0;
		for (int j = 0; j < ranked->n; j++)
		{
			int64	   *row = lb_row(rows, ranked->numbers[j]);

			row[LB_ROW_RANK] = (int64) ranked->ranks[j];
			row[LB_ROW_SCORE] = lb_call_score(call, ranked->keys[j]);
		}
	}
	rows->n = members->n;
	return unlock_with_rows(call, rows);
}

/* With texts: set the column of a member of the operand. */
static void
output_operand(Output *out, int column, int i)
{
	const LbDefinition *defn = out->call->access.target.defn;
	const LbMembersOperand *members = &out->call->members;
	Size		at = (Size) i * defn->nmember;

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
		output_operand(out, 0, i);
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
	LbMembers	members;
	LbRows		rows;
	Output		out;

	lb_array_operand(call, &members);
	if (!lb_read_ranks_rows(call, &members, &rows))
		return false;
	output_begin(&out, call);
	for (int i = 0; i < members.n; i++)
	{
		const int64 *row = lb_row(&rows, i);
		const int64 *member = lb_member_at(&members, i);

		CHECK_FOR_INTERRUPTS();
		if (row[LB_ROW_RANK] != 0)
		{
			if (out.texts)
				output_operand(&out, 0, i);
			else
				output_member(&out, 0, member);
			output_int(&out, 1, row[LB_ROW_RANK]);
			output_score(&out, 2, row[LB_ROW_SCORE]);
			output_put(&out);
		}
		else
			put_absent(&out, i, member, members.absent[i]);
	}
	output_end(&out);
	return true;
}

/* Compare two rows by their keys.  arg is the shape of these. */
static int
among_cmp(const void *a, const void *b, void *arg)
{
	return lb_key_cmp((const LbShape *) arg,
					  *(const int64 *const *) a + LB_ROW_MEMBER,
					  *(const int64 *const *) b + LB_ROW_MEMBER);
}

/* The rows of those members that are on the board, with or without ranks. */
static bool
read_among(LbCall *call, const LbMembers *members, bool counted, LbRows *rows)
{
	const LbShape *shape = &call->access.target.defn->shape;
	Ranked	   *ranked = make_ranked(call, true, counted);

	lb_make_rows(rows, &call->access.target.defn->shape, members->n, LB_KEY_TAIL);
	if (!lb_access_lock(&call->access))
		return false;
	for (int i = 0; i < members->n; i += LB_BATCH)
	{
		if (!lb_go_on(call, i))
			return false;
		if (!lb_rows_have_room(rows, LB_BATCH) &&
			!enlarge_rows(call, rows, LB_BATCH))
			return false;
		rank_members(call, members, i, ranked);
		for (int j = 0; j < ranked->n; j++)
		{
			int			words = lb_key_words(shape, ranked->keys[j]);
			int64	   *row = lb_add_row(rows, words);

			row[LB_ROW_RANK] = (int64) ranked->ranks[j];
			row[LB_ROW_SCORE] = lb_call_score(call, ranked->keys[j]);
			memcpy(row + LB_ROW_MEMBER, ranked->keys[j],
				   words * sizeof(int64));
		}
	}
	return unlock_with_rows(call, rows);
}

bool
lb_read_among_rows(LbCall *call, const LbMembers *members, LbRows *rows)
{
	if (call->access.query)
		return lb_distributed != NULL &&
			lb_distributed->among(call, members, rows);
	return read_among(call, members, true, rows);
}

bool
lb_read_keys_rows(LbCall *call, const LbMembers *members, LbRows *rows)
{
	return !call->access.query && read_among(call, members, false, rows);
}

bool
lb_among_rows(LbCall *call, Datum *result, bool *isnull)
{
	LbShape		shape = call->access.target.defn->shape;
	LbMembers	members;
	LbRows		rows;
	const int64 **order;
	int64		place = 0;
	Output		out;

	lb_array_operand(call, &members);
	if (!lb_read_among_rows(call, &members, &rows))
		return false;
	order = MemoryContextAllocHuge(CurrentMemoryContext,
								   Max(1, rows.n) * sizeof(int64 *));
	for (int i = 0; i < rows.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		order[i] = lb_row(&rows, i);
	}
	qsort_interruptible(order, rows.n, sizeof(int64 *), among_cmp, &shape);
	output_begin(&out, call);
	for (int i = 0; i < rows.n; i++)
	{
		const int64 *key = order[i] + LB_ROW_MEMBER;

		CHECK_FOR_INTERRUPTS();

		/* The same member twice in the array counts once. */
		if (i > 0 &&
			lb_key_cmp(&shape, key, order[i - 1] + LB_ROW_MEMBER) == 0)
			continue;
		output_int(&out, 0, ++place);
		output_member(&out, 1, lb_key_member(&shape, key));
		output_score(&out, 2, order[i][LB_ROW_SCORE]);
		output_int(&out, 3, order[i][LB_ROW_RANK]);
		output_put(&out);
	}
	output_end(&out);
	return true;
}
