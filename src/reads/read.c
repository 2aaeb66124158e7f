/*-------------------------------------------------------------------------
 *
 * read.c
 *	  The SQL read functions.
 *
 * Each function finds its board, and either answers from the index under the
 * stripe's shared lock, or runs its defining query (query.c) and counts why.
 * Nothing that can raise runs under the lock: what the lock holds for is
 * copied into memory taken beforehand.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/float.h"
#include "utils/hsearch.h"
#include "utils/json.h"
#include "utils/snapmgr.h"
#include "utils/memutils.h"
#include "utils/rls.h"

#include "boards/catalog.h"
#include "boards/counters.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/keys.h"
#include "boards/live.h"
#include "boards/own.h"
#include "boards/resolve.h"
#include "boards/shared.h"
#include "boards/target.h"
#include "capture/ddl.h"
#include "capture/xactlog.h"
#include "reads/access_lock.h"
#include "reads/query.h"
#include "reads/read.h"
#include "util/compat.h"

/* The most rows that are copied out. */
#define LB_MAX_ROWS 1000000

/* Rows, members or buckets after which writers get the lock. */
#define LB_GIVE_WAY 1024

/* Rows that there is room for at first: most lists take the lock only once. */
#define LB_FIRST_ROWS 256

/* Members whose cache misses overlap. */
#define LB_BATCH 64

StaticAssertDecl(LB_BATCH <= LB_PREFETCH_KEYS && LB_GIVE_WAY % LB_BATCH == 0,
				 "a batch is for one look-up, and the lock is let go of between two");

PG_FUNCTION_INFO_V1(lb_rank);
PG_FUNCTION_INFO_V1(lb_score);
PG_FUNCTION_INFO_V1(lb_percentile);
PG_FUNCTION_INFO_V1(lb_player);
PG_FUNCTION_INFO_V1(lb_top);
PG_FUNCTION_INFO_V1(lb_top_json);
PG_FUNCTION_INFO_V1(lb_at);
PG_FUNCTION_INFO_V1(lb_around);
PG_FUNCTION_INFO_V1(lb_count);
PG_FUNCTION_INFO_V1(lb_count_between);
PG_FUNCTION_INFO_V1(lb_rank_of_score);
PG_FUNCTION_INFO_V1(lb_score_at_percentile);
PG_FUNCTION_INFO_V1(lb_ranks);
PG_FUNCTION_INFO_V1(lb_among);
PG_FUNCTION_INFO_V1(lb_histogram);
PG_FUNCTION_INFO_V1(lb_rank_json);

/* A call under way. */
typedef struct Read
{
	FunctionCallInfo fcinfo;
	LbMethod	method;
	LbAccess	read;
} Read;

typedef LbRow Row;

/* Columns of the functions that return rows of numbers only. */
#define MAX_COLUMNS 4

/* Where such a function puts its rows. */
typedef struct Output
{
	Tuplestorestate *store;
	TupleTableSlot *slot;
	int64	   *values;			/* of the row to be put next */
} Output;


/* ----------------------------------------------------------------
 *		Arguments
 * ----------------------------------------------------------------
 */

static void
null_argument(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("argument \"%s\" must not be null", name)));
}

static void
argument_too_small(const char *name, int64 value, int64 least)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" is out of range: " INT64_FORMAT,
					name, value),
			 errhint("\"%s\" must be at least " INT64_FORMAT ".", name, least)));
}

static int64
int_argument(FunctionCallInfo fcinfo, int argno, const char *name,
			 bool wide, int64 least)
{
	int64		value;

	if (PG_ARGISNULL(argno))
		null_argument(name);
	value = wide ? PG_GETARG_INT64(argno) : PG_GETARG_INT32(argno);
	if (value < least)
		argument_too_small(name, value, least);
	return value;
}

static LbMethod
method_argument(FunctionCallInfo fcinfo, int argno, LbMethod otherwise)
{
	if (argno < 0 || PG_ARGISNULL(argno))
		return otherwise;
	return lb_method_from_text(text_to_cstring(PG_GETARG_TEXT_PP(argno)));
}


/*
 * A board that does not exist is an error.  But where the family "*" is, any name
 * with a colon is one of its boards, and a mistyped family goes unnoticed: it is
 * empty.  So a name is told of whose first part is nowhere to be found.
 */

/* The most first parts of names that a session remembers. */
#define MAX_PREFIXES 1000

/*
 * The most boards in a stripe that are looked through for one, under its lock.
 * Where there are more, none is missed.
 */
#define MAX_LOOK 20000

typedef struct Prefix
{
	char		name[NAMEDATALEN];	/* hash key */
	bool		known;			/* else it was told of */
} Prefix;

static HTAB *prefixes = NULL;
static int32 prefixes_of = 0;	/* lb_board.id of the family */

typedef struct PrefixScan
{
	LbValue		prefix;			/* with the colon */
	bool		found;
} PrefixScan;

static bool
has_prefix(uint32 hash, LbRef ref, void *arg)
{
	PrefixScan *scan = (PrefixScan *) arg;
	LbValue		value = lb_live_board_value(lb_live_board_at(ref));

	scan->found = value.len >= scan->prefix.len &&
		memcmp(value.data, scan->prefix.data, scan->prefix.len) == 0;
	return !scan->found;
}

/*
 * Whether a ranked row of the family has that prefix.  The index tells quickly,
 * where it may be asked; else the query does.
 */
static bool
any_board_has(LbDefinition *defn, const LbValue *prefix)
{
	LbSharedBoard *shared = lb_shared_board_attach(defn, false);
	uint64		generation = defn->generation;
	PrefixScan	scan;
	Datum		d;
	bool		isnull;

	if (shared == NULL || pg_atomic_read_u32(&shared->state) != LB_READY ||
		!lb_enable_index || RecoveryInProgress() || defn->problem != NULL ||
		!defn->captured ||
		(defn->row_security &&
		 check_enable_rls(defn->source, InvalidOid, true) == RLS_ENABLED))
	{
		d = lb_query_value(defn, LB_QUERY_PREFIX, LB_ROW_NUMBER, NULL, NULL,
						   prefix, &isnull);
		return isnull || DatumGetBool(d);
	}
	scan.prefix = *prefix;
	scan.found = false;
	for (int s = 0; s < LB_STRIPES && !scan.found; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];

		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(&stripe->lock, LW_SHARED);
		if (!lb_shared_board_is(shared, generation) ||
			stripe->boards.entries > MAX_LOOK)
			scan.found = true;
		else
			lb_stripe_walk(stripe, true, has_prefix, &scan);
		LWLockRelease(&stripe->lock);
	}
	return scan.found;
}

/* The session's entry of a prefix, made if it is not there, or NULL. */
static Prefix *
prefix_entry(const char *name, int32 id, bool make)
{
	Prefix	   *prefix;
	bool		found;

	if (prefixes != NULL &&
		(prefixes_of != id ||
		 (make && hash_get_num_entries(prefixes) >= MAX_PREFIXES)))
	{
		hash_destroy(prefixes);
		prefixes = NULL;
	}
	if (prefixes == NULL)
	{
		HASHCTL		ctl;

		if (!make)
			return NULL;
		memset(&ctl, 0, sizeof(ctl));
		ctl.keysize = NAMEDATALEN;
		ctl.entrysize = sizeof(Prefix);
		prefixes = hash_create("leaderboard prefixes", 16, &ctl,
							   HASH_ELEM | HASH_STRINGS);
		prefixes_of = id;
	}
	prefix = hash_search(prefixes, name, make ? HASH_ENTER : HASH_FIND, &found);
	if (make && !found)
		prefix->known = false;
	return prefix;
}

/*
 * Tell of a name whose first part looks like a mistyped family, once in a session,
 * or raise an error.  Says nothing where it cannot be told quickly or for sure: of
 * a first part longer than a name, in a transaction that writes to the table, and
 * to who may not read it.  Returns whether something was done by which the target
 * may be out of date.
 */
static bool
check_prefix(LbTarget *target)
{
	static char last[NAMEDATALEN] = ""; /* known, of last_of */
	static int	last_len = 0;
	static int32 last_of = 0;
	LbDefinition *defn = target->defn;
	int32		id = defn->id;
	int			len = target->prefix_len;
	LbValue		with_colon = {len + 1, target->value.data};
	char		name[NAMEDATALEN];
	Prefix	   *prefix;
	bool		known;

	if (len == last_len && id == last_of &&
		memcmp(last, target->value.data, len) == 0)
		return false;
	if (lb_unknown_board == LB_UNKNOWN_IGNORE || len > LB_MAX_NAME ||
		lb_own_running() || lb_changed_here(defn->source) ||
		!lb_may_read(defn))
		return false;
	memcpy(name, target->value.data, len);
	name[len] = '\0';
	prefix = prefix_entry(name, id, false);
	if (prefix != NULL && !prefix->known &&
		lb_unknown_board == LB_UNKNOWN_NOTICE)
		return false;
	known = prefix != NULL && prefix->known;
	if (!known)
	{
		known = any_board_has(defn, &with_colon) ||
			lb_alias_has_prefix(name, len);
		prefix_entry(name, id, true)->known = known;
	}
	if (known)
	{
		memcpy(last, name, len);
		last_len = len;
		last_of = id;
	}
	else
		ereport(lb_unknown_board == LB_UNKNOWN_ERROR ? ERROR : NOTICE,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("board \"%.*s\" does not exist", target->value.len,
						target->value.data),
				 errdetail("There is no family \"%s\", and no window and no row of the family \"*\" has a name that begins with \"%s:\".",
						   name, name),
				 errhint("The table lb_board lists the families. To read any such name as an empty board, set \"leaderboard.unknown_board\" to \"ignore\".")));
	return true;
}

/* Find a board by its name.  r->method is the board's then. */
static void
find_board(Read *r, const char *name, int len)
{
	LbDefinition *defn;

	lb_find_target(name, len, &r->read.target);
	defn = r->read.target.defn;
	if (defn->family && !r->read.target.has_value)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", defn->name),
				 errhint("Name one of its boards, as in \"%s:value\".",
						 defn->name)));
	lb_require_fit(defn);
	r->method = defn->method;
}

/*
 * Find the board that argument board names, and see whether its index may be
 * asked.
 */
static void
read_begin(Read *r, FunctionCallInfo fcinfo, int board_arg, int method_arg)
{
	text	   *name;

	lb_require_preload();
	if (PG_ARGISNULL(board_arg))
		null_argument("board");
	lb_require_version();
	name = PG_GETARG_TEXT_PP(board_arg);

	r->fcinfo = fcinfo;
	find_board(r, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	if (r->read.target.prefix_len > 0 && check_prefix(&r->read.target))
		find_board(r, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	r->method = method_argument(fcinfo, method_arg, r->method);
	lb_access_begin(&r->read, GetActiveSnapshot(), r->method == LB_DENSE_RANK,
					false);
}

/*
 * A null operand has a null answer, or no row.  Ends the read if so; where the
 * query must be run, it gives that answer, or the error that it raises.
 */
static bool
null_operand(Read *r)
{
	if (r->read.query || !r->fcinfo->args[0].isnull)
		return false;
	lb_access_fall_back(&r->read, LB_CAUSE_NONE);
	return true;
}

static Datum
query_value(Read *r, LbQueryKind kind, const Datum *args, const char *nulls,
			bool *isnull)
{
	if (r->read.cause != LB_CAUSE_NONE)
		lb_count_read(&r->read.target, r->read.shared, r->read.cause);
	return lb_query_value(r->read.target.defn, kind, r->method, args, nulls,
						  r->read.target.has_value ? &r->read.target.value : NULL,
						  isnull);
}

static void
query_rows(Read *r, LbQueryKind kind, const Datum *args, const char *nulls)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) r->fcinfo->resultinfo;

	if (r->read.cause != LB_CAUSE_NONE)
		lb_count_read(&r->read.target, r->read.shared, r->read.cause);
	lb_query_rows(r->read.target.defn, kind, r->method, args, nulls,
				  r->read.target.has_value ? &r->read.target.value : NULL,
				  rsinfo->setResult, rsinfo->setDesc);
}

/*
 * The rows of a query whose columns are of these types, as slots to be fetched
 * from the tuplestore that is returned.
 */
static Tuplestorestate *
query_store(Read *r, LbQueryKind kind, const Datum *args, const char *nulls,
			const Oid *types, int ntypes, TupleTableSlot **slot)
{
	TupleDesc	desc = CreateTemplateTupleDesc(ntypes);
	Tuplestorestate *store;

	for (int i = 0; i < ntypes; i++)
		TupleDescInitEntry(desc, i + 1, NULL, types[i], -1, 0);
	if (r->read.cause != LB_CAUSE_NONE)
		lb_count_read(&r->read.target, r->read.shared, r->read.cause);
	store = tuplestore_begin_heap(false, false, work_mem);
	lb_query_rows(r->read.target.defn, kind, r->method, args, nulls,
				  r->read.target.has_value ? &r->read.target.value : NULL,
				  store, desc);
	*slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	return store;
}

/*
 * The same of a query that returns three numbers a row, of which the rank is
 * in one column and the member in another.  Returns how many rows there are.
 */
static int
query_numbers(Read *r, LbQueryKind kind, const Datum *args, const char *nulls,
			  int rank, int member, Row * *rows)
{
	static const Oid types[] = {INT8OID, INT8OID, INT8OID};
	TupleTableSlot *slot;
	Tuplestorestate *store = query_store(r, kind, args, nulls, types,
										 lengthof(types), &slot);
	int			n = 0;

	*rows = MemoryContextAllocHuge(CurrentMemoryContext,
								   Max(1, tuplestore_tuple_count(store)) *
								   sizeof(Row));
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		Row		   *row = &(*rows)[n++];

		slot_getallattrs(slot);
		row->rank = slot->tts_isnull[rank] ? 0 :
			DatumGetInt64(slot->tts_values[rank]);
		row->member = slot->tts_isnull[member] ? 0 :
			DatumGetInt64(slot->tts_values[member]);
		row->score = slot->tts_isnull[2] ? 0 :
			DatumGetInt64(slot->tts_values[2]);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
	return n;
}

/* The query of a function with one operand. */
static Datum
query_value_1(Read *r, LbQueryKind kind, bool *isnull)
{
	Datum		arg = r->fcinfo->args[0].value;
	char		null = r->fcinfo->args[0].isnull ? 'n' : ' ';

	return query_value(r, kind, &arg, &null, isnull);
}


/* ----------------------------------------------------------------
 *		What the functions have in common, under the lock
 * ----------------------------------------------------------------
 */

static inline int64
score_of(const Read *r, const int64 *key)
{
	return lb_directed(key[0], r->read.target.defn->columns[0].descending);
}

static inline int64
score_word(const Read *r, int64 score)
{
	return lb_directed(score, r->read.target.defn->columns[0].descending);
}

static inline int64
member_of(const Read *r, const int64 *key)
{
	return key[r->read.target.defn->width - 1];
}

/* Entries whose score is better than a score's word. */
static uint64
count_better(const Read *r, int64 word)
{
	uint64		members;

	lb_view_spans(&r->read.view, &word, 1, false, &members, NULL);
	return members;
}

static int64
rank_of_word(const Read *r, int64 word, LbMethod method)
{
	uint64		distinct;

	if (method != LB_DENSE_RANK)
		return count_better(r, word) + 1;
	lb_view_spans(&r->read.view, &word, 1, false, NULL, &distinct);
	return distinct + 1;
}

static int64
rank_of_key(const Read *r, const int64 *key)
{
	uint64		members;

	if (r->method != LB_ROW_NUMBER)
		return rank_of_word(r, key[0], r->method);
	lb_view_spans(&r->read.view, key, r->read.view.width, false, &members, NULL);
	return members + 1;
}

static double
percentile_of_key(const Read *r, const int64 *key)
{
	int64		total = lb_view_members(&r->read.view);
	int64		not_better = total - count_better(r, key[0]);

	return 100 * ((double) not_better / (double) total);
}

/* Entries with lo <= score <= hi; an end may be open. */
static int64
count_between(const Read *r, bool has_lo, int64 lo, bool has_hi, int64 hi)
{
	bool		descending = r->read.target.defn->columns[0].descending;
	uint64		before = 0;
	uint64		upto = lb_view_members(&r->read.view);
	bool		has_first = descending ? has_hi : has_lo;
	bool		has_last = descending ? has_lo : has_hi;
	int64		first = score_word(r, descending ? hi : lo);
	int64		last = score_word(r, descending ? lo : hi);

	if (has_lo && has_hi && lo > hi)
		return 0;
	if (has_first)
		lb_view_spans(&r->read.view, &first, 1, false, &before, NULL);
	if (has_last)
		lb_view_spans(&r->read.view, &last, 1, true, &upto, NULL);
	return upto - before;
}

/*
 * Whether a long read goes on after so many rows, members or buckets; now and
 * then others get the lock.  If not, the query must be run, and the lock is gone.
 */
static inline bool
go_on(Read *r, int64 done)
{
	return done == 0 || done % LB_GIVE_WAY != 0 || lb_access_yield(&r->read);
}

/* Copy n entries after the first before ones, which exist, at one go. */
static int
copy_slice(const Read *r, uint64 before, int n, Row * rows)
{
	LbViewCursor cursor;
	int64		key[LB_MAX_WIDTH];
	int64		word = 0;
	int64		rank = 0;
	int			i;

	if (n == 0 || !lb_view_seek(&r->read.view, before, &cursor))
		return 0;
	for (i = 0; i < n && lb_view_next(&r->read.view, &cursor, key); i++)
	{
		if (r->method == LB_ROW_NUMBER)
			rank = before + i + 1;
		else if (i == 0)
			rank = rank_of_word(r, key[0], r->method);
		else if (key[0] != word)
			rank = r->method == LB_RANK ? (int64) before + i + 1 : rank + 1;
		word = key[0];
		rows[i].rank = rank;
		rows[i].member = member_of(r, key);
		rows[i].score = score_of(r, key);
	}
	return i;
}

/*
 * Copy n entries after the first before ones, which exist.  Returns their
 * number, or -1 if the query must be run: then the lock is gone.
 */
static int
copy_rows(Read *r, uint64 before, int n, Row * rows)
{
	int			got = 0;

	for (;;)
	{
		int			slice = Min(n - got, LB_GIVE_WAY);
		int			copied = copy_slice(r, before + got, slice, rows + got);

		got += copied;
		if (copied < slice || got == n)
			return got;
		if (!go_on(r, got))
			return -1;
	}
}

/*
 * Rows of numbers without NULLs are as long as each other: the first is formed,
 * and then only its values change.
 */
static void
output_begin(Output *out, FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TupleDesc	desc = rsinfo->setDesc;
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS] = {false};
	MinimalTuple tuple;

	Assert(desc->natts <= MAX_COLUMNS);
	for (int i = 0; i < desc->natts; i++)
	{
		Assert(TupleDescAttr(desc, i)->atttypid == INT8OID);
		values[i] = Int64GetDatum(0);
	}
	tuple = LB_FORM_MINIMAL_TUPLE(desc, values, nulls);
	out->store = rsinfo->setResult;
	out->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	ExecStoreMinimalTuple(tuple, out->slot, true);
	out->values = (int64 *) ((char *) tuple + tuple->t_hoff -
							 MINIMAL_TUPLE_OFFSET);
}

/* Add a row of out->values. */
static inline void
output_put(Output *out)
{
	tuplestore_puttupleslot(out->store, out->slot);
}

static void
output_end(Output *out)
{
	ExecDropSingleTupleTableSlot(out->slot);
}

static void
return_rows(Read *r, const Row * rows, int n)
{
	Output		out;

	output_begin(&out, r->fcinfo);
	for (int i = 0; i < n; i++)
	{
		out.values[0] = rows[i].rank;
		out.values[1] = rows[i].member;
		out.values[2] = rows[i].score;
		output_put(&out);
	}
	output_end(&out);
}

/* The result of a function that returns one record. */
static Datum
return_record(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc = (TupleDesc) fcinfo->flinfo->fn_extra;

	if (desc == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		desc = BlessTupleDesc(CreateTupleDescCopy(desc));
		MemoryContextSwitchTo(old);
		fcinfo->flinfo->fn_extra = desc;
	}
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/* The one row of a query, as a record; isnull if there is none. */
static Datum
query_record(Read *r, LbQueryKind kind, bool *isnull)
{
	FunctionCallInfo fcinfo = r->fcinfo;
	Datum		arg = fcinfo->args[0].value;
	char		null = fcinfo->args[0].isnull ? 'n' : ' ';
	Tuplestorestate *store;
	TupleDesc	desc;
	TupleTableSlot *slot;
	Datum		result = (Datum) 0;

	if (r->read.cause != LB_CAUSE_NONE)
		lb_count_read(&r->read.target, r->read.shared, r->read.cause);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);
	store = tuplestore_begin_heap(false, false, work_mem);
	lb_query_rows(r->read.target.defn, kind, r->method, &arg, &null,
				  r->read.target.has_value ? &r->read.target.value : NULL,
				  store, desc);
	slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	*isnull = !tuplestore_gettupleslot(store, true, false, slot);
	if (!*isnull)
		result = ExecFetchSlotHeapTupleDatum(slot);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
	return result;
}


/* ----------------------------------------------------------------
 *		The functions
 * ----------------------------------------------------------------
 */

Datum
lb_rank(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = false;
	Datum		result = (Datum) 0;

	read_begin(&r, fcinfo, 1, 2);
	if (null_operand(&r))
		PG_RETURN_NULL();
	if (lb_access_lock(&r.read))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];
		int64		rank = 0;

		isnull = !lb_view_lookup(&r.read.view, &member, key, NULL);
		if (!isnull)
			rank = rank_of_key(&r, key);
		lb_access_unlock(&r.read);
		result = Int64GetDatum(rank);
	}
	else
		result = query_value_1(&r, LB_QUERY_RANK, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

bool
lb_rank_now(const char *board, int len, int64 member, int64 *rank,
			bool *isnull, int64 *score, bool *has_score)
{
	Read		r;
	int			save_not_ready = lb_not_ready;
	int			save_offline = lb_offline;
	int			save_timeout = lb_wait_timeout_ms;
	volatile bool locked = false;
	int64		key[LB_MAX_WIDTH];

	*has_score = false;
	memset(&r, 0, sizeof(r));
	lb_find_target(board, len, &r.read.target);
	r.method = r.read.target.defn->method;

	/* A write neither fails nor waits because of the index. */
	PG_TRY();
	{
		lb_not_ready = LB_POLICY_QUERY;
		lb_offline = LB_POLICY_QUERY;
		lb_wait_timeout_ms = 0;
		lb_access_begin(&r.read, GetActiveSnapshot(),
						r.method == LB_DENSE_RANK, false);
		locked = lb_access_lock(&r.read);
	}
	PG_FINALLY();
	{
		lb_not_ready = save_not_ready;
		lb_offline = save_offline;
		lb_wait_timeout_ms = save_timeout;
	}
	PG_END_TRY();
	if (locked)
	{
		*isnull = !lb_view_lookup(&r.read.view, &member, key, NULL);
		if (!*isnull)
			*rank = rank_of_key(&r, key);
		lb_access_unlock(&r.read);
		*has_score = !*isnull;
		if (!*isnull)
			*score = score_of(&r, key);
		return true;
	}

	/* The query of a large table that has no index takes too long. */
	if (r.read.cause == LB_CAUSE_OFFLINE || r.read.cause == LB_CAUSE_TRIGGER ||
		r.read.cause == LB_CAUSE_UNSETTLED ||
		(r.read.cause == LB_CAUSE_BUILDING &&
		 !lb_created_here(r.read.target.defn)))
		return false;
	{
		Datum		arg = Int64GetDatum(member);

		*rank = DatumGetInt64(query_value(&r, LB_QUERY_RANK, &arg, NULL,
										  isnull));
	}
	return true;
}

Datum
lb_score(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = false;
	Datum		result = (Datum) 0;

	read_begin(&r, fcinfo, 1, -1);
	r.read.distinct = false;
	if (null_operand(&r))
		PG_RETURN_NULL();
	if (lb_access_lock(&r.read))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];

		isnull = !lb_view_lookup(&r.read.view, &member, key, NULL);
		lb_access_unlock(&r.read);
		if (!isnull)
			result = Int64GetDatum(score_of(&r, key));
	}
	else
		result = query_value_1(&r, LB_QUERY_SCORE, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

Datum
lb_percentile(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = false;
	Datum		result = (Datum) 0;

	read_begin(&r, fcinfo, 1, -1);
	r.read.distinct = false;
	if (null_operand(&r))
		PG_RETURN_NULL();
	if (lb_access_lock(&r.read))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];
		double		percentile = 0;

		isnull = !lb_view_lookup(&r.read.view, &member, key, NULL);
		if (!isnull)
			percentile = percentile_of_key(&r, key);
		lb_access_unlock(&r.read);
		result = Float8GetDatum(percentile);
	}
	else
		result = query_value_1(&r, LB_QUERY_PERCENTILE, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

Datum
lb_player(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = false;
	Datum		result = (Datum) 0;

	read_begin(&r, fcinfo, 1, -1);
	if (null_operand(&r))
		PG_RETURN_NULL();
	if (lb_access_lock(&r.read))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];
		int64		rank = 0;
		int64		total = 0;
		double		percentile = 0;

		isnull = !lb_view_lookup(&r.read.view, &member, key, NULL);
		if (!isnull)
		{
			rank = rank_of_key(&r, key);
			percentile = percentile_of_key(&r, key);
			total = lb_view_members(&r.read.view);
		}
		lb_access_unlock(&r.read);
		if (!isnull)
		{
			Datum		values[4];
			bool		nulls[4] = {false, false, false, false};

			values[0] = Int64GetDatum(rank);
			values[1] = Int64GetDatum(score_of(&r, key));
			values[2] = Float8GetDatum(percentile);
			values[3] = Int64GetDatum(total);
			result = return_record(fcinfo, values, nulls);
		}
	}
	else
		result = query_record(&r, LB_QUERY_PLAYER, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

/*
 * Lock the board with room for rows: at most n of them, from the place that
 * first names (a function of the view).  Returns false for the query.
 */
static bool
read_lock_rows(Read *r, int64 n, Row * *rows, int *room)
{
	*room = Min(n, LB_FIRST_ROWS);
	*rows = palloc(Max(1, *room) * sizeof(Row));
	for (;;)
	{
		int64		need;

		if (!lb_access_lock(&r->read))
			return false;
		need = Min(n, (int64) lb_view_members(&r->read.view));
		if (need <= *room)
			return true;
		lb_access_release(&r->read);
		if (need > LB_MAX_ROWS)
		{
			lb_access_fall_back(&r->read, LB_CAUSE_LIMIT);
			return false;
		}

		/* A little more, since the board may grow before we are back. */
		*room = Min(n, need + 64);
		pfree(*rows);
		*rows = palloc(Max(1, *room) * sizeof(Row));
	}
}

/*
 * The rows at n places after the first skip ones.  Returns their number, or -1
 * if the query must be run.
 */
static int
top_rows(Read *r, int64 n, int64 skip, Row * *rows)
{
	int			room;
	int			got = 0;

	if (!read_lock_rows(r, n, rows, &room))
		return -1;
	if ((uint64) skip < lb_view_members(&r->read.view))
		got = copy_rows(r, skip, Min(n, room), *rows);
	if (got >= 0)
		lb_access_unlock(&r->read);
	return got;
}

int
lb_read_top(const char *board, int len, int n, LbRow **rows)
{
	Read		r;
	Datum		args[2];
	int			got;

	memset(&r, 0, sizeof(r));
	find_board(&r, board, len);
	lb_access_begin(&r.read, GetActiveSnapshot(), r.method == LB_DENSE_RANK,
					false);
	got = top_rows(&r, n, 0, rows);
	if (got >= 0)
		return got;
	args[0] = Int32GetDatum(n);
	args[1] = Int64GetDatum(0);
	return query_numbers(&r, LB_QUERY_TOP, args, NULL, 0, 1, rows);
}

Datum
lb_top(PG_FUNCTION_ARGS)
{
	Read		r;
	int64		n = int_argument(fcinfo, 0, "n", false, 0);
	int64		skip = int_argument(fcinfo, 2, "skip", true, 0);
	Row		   *rows;
	int			got;

	read_begin(&r, fcinfo, 1, -1);
	InitMaterializedSRF(fcinfo, 0);
	got = top_rows(&r, n, skip, &rows);
	if (got >= 0)
		return_rows(&r, rows, got);
	else
	{
		Datum		args[2];

		args[0] = fcinfo->args[0].value;
		args[1] = fcinfo->args[2].value;
		query_rows(&r, LB_QUERY_TOP, args, NULL);
	}
	return (Datum) 0;
}

/* Room for an entry of lb_top_json, with a comma before it. */
#define LB_MAX_ENTRY \
	(sizeof(",{\"rank\":,\"player_id\":,\"score\":}") + 3 * MAXINT8LEN)

#define put_literal(p, s) \
	(memcpy(p, s, sizeof(s) - 1), (p) += sizeof(s) - 1)

/* The same text as row_to_json() makes in the query. */
Datum
lb_top_json(PG_FUNCTION_ARGS)
{
	Read		r;
	int64		n = int_argument(fcinfo, 0, "n", false, 0);
	int64		skip = int_argument(fcinfo, 2, "skip", true, 0);
	Row		   *rows;
	int			got;
	char		as_of[MAXDATELEN + 1];
	StringInfoData buf;
	char	   *p;

	read_begin(&r, fcinfo, 1, -1);
	got = top_rows(&r, n, skip, &rows);
	if (got < 0)
	{
		Datum		args[3];
		bool		isnull;
		Datum		result;

		args[0] = fcinfo->args[0].value;
		args[1] = fcinfo->args[2].value;
		args[2] = fcinfo->args[1].value;
		result = query_value(&r, LB_QUERY_TOP_JSON, args, NULL, &isnull);
		if (isnull)
			PG_RETURN_NULL();
		PG_RETURN_DATUM(result);
	}

	JsonEncodeDateTime(as_of,
					   TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()),
					   TIMESTAMPTZOID, NULL);

	/* What is built becomes the result as it is. */
	initStringInfo(&buf);
	appendStringInfoSpaces(&buf, VARHDRSZ);
	appendStringInfoString(&buf, "{\"board\":");
	escape_json(&buf, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	appendStringInfo(&buf, ",\"as_of\":\"%s\",\"entries\":[", as_of);

	/* Most of the time goes here: room is made once, for all. */
	enlargeStringInfo(&buf, got * LB_MAX_ENTRY + sizeof("]}"));
	p = buf.data + buf.len;
	for (int i = 0; i < got; i++)
	{
		if (i > 0)
			*p++ = ',';
		put_literal(p, "{\"rank\":");
		p += pg_lltoa(rows[i].rank, p);
		put_literal(p, ",\"player_id\":");
		p += pg_lltoa(rows[i].member, p);
		put_literal(p, ",\"score\":");
		p += pg_lltoa(rows[i].score, p);
		*p++ = '}';
	}
	put_literal(p, "]}");
	SET_VARSIZE(buf.data, p - buf.data);
	PG_RETURN_DATUM(PointerGetDatum(buf.data));
}

Datum
lb_at(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = true;
	Datum		result = (Datum) 0;

	read_begin(&r, fcinfo, 1, -1);
	if (null_operand(&r))
		PG_RETURN_NULL();
	if (lb_access_lock(&r.read))
	{
		int64		place = PG_GETARG_INT64(0);
		Row			row;

		isnull = place < 1 || copy_rows(&r, place - 1, 1, &row) == 0;
		lb_access_unlock(&r.read);
		if (!isnull)
		{
			Datum		values[3];
			bool		nulls[3] = {false, false, false};

			values[0] = Int64GetDatum(row.rank);
			values[1] = Int64GetDatum(row.member);
			values[2] = Int64GetDatum(row.score);
			result = return_record(fcinfo, values, nulls);
		}
	}
	else
		result = query_record(&r, LB_QUERY_AT, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

/*
 * The rows of a member, the call's first argument, and of its neighbours.
 * Returns their number, or -1 if the query must be run.
 */
static int
around_rows(Read *r, int64 radius, Row * *rows)
{
	int64		member = DatumGetInt64(r->fcinfo->args[0].value);
	int64		key[LB_MAX_WIDTH];
	int			room;
	int			got = 0;

	if (!read_lock_rows(r, 2 * radius + 1, rows, &room))
		return -1;
	if (lb_view_lookup(&r->read.view, &member, key, NULL))
	{
		uint64		place;
		uint64		first;

		lb_view_spans(&r->read.view, key, r->read.view.width, false, &place, NULL);
		first = place < (uint64) radius ? 0 : place - radius;
		got = copy_rows(r, first,
						Min((int64) (place - first) + radius + 1, room),
						*rows);
	}
	if (got >= 0)
		lb_access_unlock(&r->read);
	return got;
}

Datum
lb_around(PG_FUNCTION_ARGS)
{
	Read		r;
	int64		radius = int_argument(fcinfo, 2, "radius", false, 0);
	Row		   *rows;
	int			got;

	read_begin(&r, fcinfo, 1, -1);
	InitMaterializedSRF(fcinfo, 0);
	if (null_operand(&r))
		return (Datum) 0;
	got = around_rows(&r, radius, &rows);
	if (got >= 0)
		return_rows(&r, rows, got);
	else
	{
		Datum		args[2];
		char		nulls[2];

		args[0] = fcinfo->args[0].value;
		args[1] = fcinfo->args[2].value;
		nulls[0] = PG_ARGISNULL(0) ? 'n' : ' ';
		nulls[1] = ' ';
		query_rows(&r, LB_QUERY_AROUND, args, nulls);
	}
	return (Datum) 0;
}

/* What lb_player() returns.  False if the member is not on the board. */
static bool
read_player(Read *r, int64 *rank, int64 *score, double *percentile)
{
	static const Oid types[] = {INT8OID, INT8OID, FLOAT8OID, INT8OID};
	Datum		arg = r->fcinfo->args[0].value;
	bool		found;

	if (lb_access_lock(&r->read))
	{
		int64		member = DatumGetInt64(arg);
		int64		key[LB_MAX_WIDTH];

		found = lb_view_lookup(&r->read.view, &member, key, NULL);
		if (found)
		{
			*rank = rank_of_key(r, key);
			*percentile = percentile_of_key(r, key);
		}
		lb_access_unlock(&r->read);
		if (found)
			*score = score_of(r, key);
	}
	else
	{
		char		null = r->fcinfo->args[0].isnull ? 'n' : ' ';
		TupleTableSlot *slot;
		Tuplestorestate *store = query_store(r, LB_QUERY_PLAYER, &arg, &null,
											 types, lengthof(types), &slot);

		found = tuplestore_gettupleslot(store, true, false, slot);
		if (found)
		{
			slot_getallattrs(slot);
			*rank = DatumGetInt64(slot->tts_values[0]);
			*score = DatumGetInt64(slot->tts_values[1]);
			*percentile = DatumGetFloat8(slot->tts_values[2]);
		}
		ExecDropSingleTupleTableSlot(slot);
		tuplestore_end(store);
	}
	return found;
}

/*
 * lb_player() and lb_around() in one object.  Both read the same snapshot, so
 * they fit each other.
 */
Datum
lb_rank_json(PG_FUNCTION_ARGS)
{
	Read		r;
	int64		radius = int_argument(fcinfo, 2, "radius", false, 0);
	int64		rank;
	int64		score;
	double		percentile;
	Row		   *rows;
	int			got;
	StringInfoData buf;

	read_begin(&r, fcinfo, 1, -1);
	if (null_operand(&r) || !read_player(&r, &rank, &score, &percentile))
		PG_RETURN_NULL();
	read_begin(&r, fcinfo, 1, -1);
	got = around_rows(&r, radius, &rows);
	if (got < 0)
	{
		Datum		args[2];

		args[0] = fcinfo->args[0].value;
		args[1] = fcinfo->args[2].value;
		got = query_numbers(&r, LB_QUERY_AROUND, args, NULL, 0, 1, &rows);
	}

	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"player_id\":" INT64_FORMAT ",\"board\":",
					 PG_GETARG_INT64(0));
	escape_json(&buf, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	appendStringInfo(&buf, ",\"rank\":" INT64_FORMAT ",\"score\":" INT64_FORMAT
					 ",\"percentile\":%s,\"top_percentile\":%s,\"surrounding_players\":[",
					 rank, score, float8out_internal(percentile),
					 float8out_internal(100 - percentile));
	for (int i = 0; i < got; i++)
		appendStringInfo(&buf, "%s{\"rank\":" INT64_FORMAT ",\"player_id\":"
						 INT64_FORMAT ",\"score\":" INT64_FORMAT "}",
						 i > 0 ? "," : "", rows[i].rank, rows[i].member,
						 rows[i].score);
	appendStringInfoString(&buf, "]}");
	PG_RETURN_TEXT_P(cstring_to_text_with_len(buf.data, buf.len));
}

Datum
lb_count(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = false;

	read_begin(&r, fcinfo, 0, -1);
	r.read.distinct = false;
	if (lb_access_lock(&r.read))
	{
		int64		n = lb_view_members(&r.read.view);

		lb_access_unlock(&r.read);
		PG_RETURN_INT64(n);
	}
	PG_RETURN_DATUM(query_value(&r, LB_QUERY_COUNT, NULL, NULL, &isnull));
}

Datum
lb_count_between(PG_FUNCTION_ARGS)
{
	Read		r;
	Datum		args[2];
	char		nulls[2];
	bool		isnull = false;

	read_begin(&r, fcinfo, 2, -1);
	r.read.distinct = false;
	if (lb_access_lock(&r.read))
	{
		int64		n;

		n = count_between(&r, !PG_ARGISNULL(0),
						  PG_ARGISNULL(0) ? 0 : PG_GETARG_INT64(0),
						  !PG_ARGISNULL(1),
						  PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1));
		lb_access_unlock(&r.read);
		PG_RETURN_INT64(n);
	}
	for (int i = 0; i < 2; i++)
	{
		args[i] = fcinfo->args[i].value;
		nulls[i] = PG_ARGISNULL(i) ? 'n' : ' ';
	}
	PG_RETURN_DATUM(query_value(&r, LB_QUERY_COUNT_BETWEEN, args, nulls,
								&isnull));
}

Datum
lb_rank_of_score(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = false;
	Datum		result;

	read_begin(&r, fcinfo, 1, 2);
	if (null_operand(&r))
		PG_RETURN_NULL();
	if (lb_access_lock(&r.read))
	{
		int64		rank = rank_of_word(&r, score_word(&r, PG_GETARG_INT64(0)),
										r.method);

		lb_access_unlock(&r.read);
		PG_RETURN_INT64(rank);
	}
	result = query_value_1(&r, LB_QUERY_RANK_OF_SCORE, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

Datum
lb_score_at_percentile(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = true;
	Datum		result = (Datum) 0;
	double		p = 0;
	double		fraction;

	if (!PG_ARGISNULL(0))
	{
		p = PG_GETARG_FLOAT8(0);
		if (isnan(p) || p < 0 || p > 100)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("percentile %s is not between 0 and 100",
							float8out_internal(p)),
					 errhint("The best score is at percentile 100, the worst at 0.")));
	}
	read_begin(&r, fcinfo, 1, -1);
	r.read.distinct = false;
	if (null_operand(&r))
		PG_RETURN_NULL();
	fraction = float8_div(p, 100);	/* can raise, as the query's does */
	if (lb_access_lock(&r.read))
	{
		int64		total = lb_view_members(&r.read.view);
		int64		score = 0;

		if (total > 0)
		{
			/* As percentile_disc() finds its row. */
			int64		row = (int64) ceil(fraction * total);
			LbViewCursor cursor;
			int64		key[LB_MAX_WIDTH];

			row = Max(row, 1);
			if (lb_view_seek(&r.read.view, total - row, &cursor) &&
				lb_view_next(&r.read.view, &cursor, key))
			{
				score = score_of(&r, key);
				isnull = false;
			}
		}
		lb_access_unlock(&r.read);
		result = Int64GetDatum(score);
	}
	else
		result = query_value_1(&r, LB_QUERY_SCORE_AT_PERCENTILE, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

/* The elements of a bigint[] argument. */
static int
array_argument(FunctionCallInfo fcinfo, int argno, Datum **elements,
			   bool **nulls)
{
	ArrayType  *array;
	int			n;

	if (PG_ARGISNULL(argno))
		return 0;
	array = PG_GETARG_ARRAYTYPE_P(argno);
	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, elements, nulls, &n);
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
 * of their keys the first nwords words or more.
 */
static void
rank_members(const Read *r, const Datum *members, const bool *nulls, int n,
			 int nwords, Ranked *ranked)
{
	int64		wanted[LB_BATCH] = {0};
	bool		found[LB_BATCH];
	LbCursor	places[LB_BATCH] = {{LB_NONE, 0}};
	uint64		before[LB_BATCH];
	bool		dense = r->method == LB_DENSE_RANK;
	int			width = r->read.view.width;
	int			ranked_by = r->method == LB_ROW_NUMBER ? width : 1;
	int			nwanted = 0;

	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			continue;
		wanted[nwanted] = DatumGetInt64(members[i]);
		ranked->numbers[nwanted++] = i;
	}
	lb_view_lookup_many(&r->read.view, wanted, nwanted, Max(nwords, ranked_by),
						ranked->words, found, places);
	ranked->n = 0;
	for (int i = 0; i < nwanted; i++)
	{
		if (!found[i])
			continue;
		ranked->numbers[ranked->n] = ranked->numbers[i];
		ranked->keys[ranked->n] = ranked->words + i * width;
		places[ranked->n++] = places[i];
	}
	lb_view_spans_many(&r->read.view, ranked->keys, places, ranked->n,
					   ranked_by, dense ? before : ranked->ranks,
					   dense ? ranked->ranks : NULL);
	for (int i = 0; i < ranked->n; i++)
		ranked->ranks[i]++;
}

/*
 * The ranks and scores of members by the index.  Returns false if the query
 * must be run.
 */
static bool
ranks_rows(Read *r, const Datum *members, const bool *nulls, int n, Row * rows)
{
	Ranked		ranked;

	(void) lb_access_lock(&r->read);
	for (int i = 0; !r->read.query && i < n && go_on(r, i); i += LB_BATCH)
	{
		int			batch = Min(LB_BATCH, n - i);

		rank_members(r, members + i, nulls + i, batch, 1, &ranked);
		for (int j = 0; j < batch; j++)
			rows[i + j].rank = 0;
		for (int j = 0; j < ranked.n; j++)
		{
			Row		   *row = &rows[i + ranked.numbers[j]];

			row->rank = (int64) ranked.ranks[j];
			row->score = score_of(r, ranked.keys[j]);
		}
	}
	if (r->read.query)
		return false;
	lb_access_unlock(&r->read);
	return true;
}

void
lb_read_ranks(const char *board, int len, const int64 *members, int n,
			  LbRow *rows)
{
	Read		r;
	Datum	   *values = palloc(Max(1, n) * sizeof(Datum));
	bool	   *nulls = palloc0(Max(1, n) * sizeof(bool));

	for (int i = 0; i < n; i++)
		values[i] = Int64GetDatum(members[i]);
	memset(&r, 0, sizeof(r));
	find_board(&r, board, len);
	lb_access_begin(&r.read, GetActiveSnapshot(), r.method == LB_DENSE_RANK,
					false);
	if (!ranks_rows(&r, values, nulls, n, rows))
	{
		Datum		arg = PointerGetDatum(construct_array(values, n, INT8OID,
														  sizeof(int64),
														  FLOAT8PASSBYVAL,
														  TYPALIGN_DOUBLE));
		Row		   *got;

		if (query_numbers(&r, LB_QUERY_RANKS, &arg, NULL, 1, 0, &got) != n)
			elog(ERROR, "the defining query has lost a member");
		memcpy(rows, got, n * sizeof(Row));
		pfree(got);
	}
	for (int i = 0; i < n; i++)
		rows[i].member = members[i];
}

Datum
lb_ranks(PG_FUNCTION_ARGS)
{
	Read		r;
	Datum	   *members = NULL;
	bool	   *nulls = NULL;
	int			n;
	Row		   *rows;

	read_begin(&r, fcinfo, 1, 2);
	InitMaterializedSRF(fcinfo, 0);
	n = array_argument(fcinfo, 0, &members, &nulls);
	rows = MemoryContextAllocHuge(CurrentMemoryContext,
								  Max(1, n) * sizeof(Row));
	if (ranks_rows(&r, members, nulls, n, rows))
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
		Output		out;

		output_begin(&out, fcinfo);
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (rows[i].rank != 0)
			{
				out.values[0] = DatumGetInt64(members[i]);
				out.values[1] = rows[i].rank;
				out.values[2] = rows[i].score;
				output_put(&out);
			}
			else
			{
				Datum		values[3] = {members[i], (Datum) 0, (Datum) 0};
				bool		isnull[3] = {nulls[i], true, true};

				tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
									 isnull);
			}
		}
		output_end(&out);
	}
	else
	{
		Datum		arg = fcinfo->args[0].value;
		char		null = fcinfo->args[0].isnull ? 'n' : ' ';

		query_rows(&r, LB_QUERY_RANKS, &arg, &null);
	}
	return (Datum) 0;
}

/* Compare two keys of *arg words. */
static int
among_cmp(const void *a, const void *b, void *arg)
{
	const int64 *ka = (const int64 *) a;
	const int64 *kb = (const int64 *) b;
	int			width = *(const int *) arg;

	for (int i = 0; i < width; i++)
	{
		if (ka[i] != kb[i])
			return ka[i] < kb[i] ? -1 : 1;
	}
	return 0;
}

Datum
lb_among(PG_FUNCTION_ARGS)
{
	Read		r;
	Datum	   *members = NULL;
	bool	   *nulls = NULL;
	int			n;
	int64	   *found;
	int			width;
	int			nfound = 0;
	Ranked		ranked;

	read_begin(&r, fcinfo, 1, -1);
	InitMaterializedSRF(fcinfo, 0);
	n = array_argument(fcinfo, 0, &members, &nulls);
	width = r.read.target.defn->width;

	/* A key, and the rank after it. */
	found = MemoryContextAllocHuge(CurrentMemoryContext,
								   (Size) Max(1, n) * (width + 1) *
								   sizeof(int64));
	(void) lb_access_lock(&r.read);
	for (int i = 0; !r.read.query && i < n && go_on(&r, i); i += LB_BATCH)
	{
		rank_members(&r, members + i, nulls + i, Min(LB_BATCH, n - i), width,
					 &ranked);
		for (int j = 0; j < ranked.n; j++)
		{
			int64	   *key = found + (Size) nfound * (width + 1);

			memcpy(key, ranked.keys[j], width * sizeof(int64));
			key[width] = (int64) ranked.ranks[j];
			nfound++;
		}
	}
	if (!r.read.query)
	{
		Output		out;
		int64		place = 0;

		lb_access_unlock(&r.read);
		output_begin(&out, fcinfo);
		qsort_interruptible(found, nfound, (width + 1) * sizeof(int64),
							among_cmp, &width);
		for (int i = 0; i < nfound; i++)
		{
			int64	   *key = found + (Size) i * (width + 1);

			CHECK_FOR_INTERRUPTS();

			/* The same member twice in the array counts once. */
			if (i > 0 && member_of(&r, key) ==
				member_of(&r, key - (width + 1)))
				continue;
			out.values[0] = ++place;
			out.values[1] = member_of(&r, key);
			out.values[2] = score_of(&r, key);
			out.values[3] = key[width];
			output_put(&out);
		}
		output_end(&out);
	}
	else
	{
		Datum		arg = fcinfo->args[0].value;
		char		null = fcinfo->args[0].isnull ? 'n' : ' ';

		query_rows(&r, LB_QUERY_AMONG, &arg, &null);
	}
	return (Datum) 0;
}

Datum
lb_histogram(PG_FUNCTION_ARGS)
{
	Read		r;
	int64		n = int_argument(fcinfo, 0, "buckets", false, 1);
	int64	   *counts = NULL;
	int64		room = 0;

	read_begin(&r, fcinfo, 1, -1);
	r.read.distinct = false;
	InitMaterializedSRF(fcinfo, 0);
	if (!r.read.query && n > LB_MAX_ROWS)
		lb_access_fall_back(&r.read, LB_CAUSE_LIMIT);
	while (lb_access_lock(&r.read))
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
		bool		descending = r.read.target.defn->columns[0].descending;
		LbViewCursor cursor;
		int64		key[LB_MAX_WIDTH];
		int64		best;
		int64		worst;
		int64		total = lb_view_members(&r.read.view);
		uint128		range;
		uint128		k;

		if (total == 0)
		{
			lb_access_unlock(&r.read);
			return (Datum) 0;
		}
		lb_view_seek(&r.read.view, 0, &cursor);
		lb_view_next(&r.read.view, &cursor, key);
		best = score_of(&r, key);
		lb_view_seek(&r.read.view, total - 1, &cursor);
		lb_view_next(&r.read.view, &cursor, key);
		worst = score_of(&r, key);
		range = descending ? (uint128) ((int128) best - worst) + 1 :
			(uint128) ((int128) worst - best) + 1;
		k = Min((uint128) n, range);
		if ((int64) k > room)
		{
			lb_access_release(&r.read);
			room = n;
			counts = MemoryContextAllocHuge(CurrentMemoryContext,
											room * sizeof(int64));
			continue;
		}

		/* Bucket i holds the distances from the worst score d1 .. d2. */
#define DISTANCE(i) (((uint128) (i) * range + k - 1) / k)
#define SCORE(d) (descending ? (int64) ((int128) worst + (int128) (d)) : \
				  (int64) ((int128) worst - (int128) (d)))
		for (int64 i = 0; i < (int64) k && go_on(&r, i); i++)
		{
			int64		near = SCORE(DISTANCE(i));
			int64		far = SCORE(DISTANCE(i + 1) - 1);

			counts[i] = count_between(&r, true, Min(near, far),
									  true, Max(near, far));
		}
		if (r.read.query)
			break;
		lb_access_unlock(&r.read);
		for (int64 i = 0; i < (int64) k; i++)
		{
			int64		near = SCORE(DISTANCE(i));
			int64		far = SCORE(DISTANCE(i + 1) - 1);
			Datum		values[4];
			bool		isnull[4] = {false, false, false, false};

			values[0] = Int32GetDatum((int32) (i + 1));
			values[1] = Int64GetDatum(Min(near, far));
			values[2] = Int64GetDatum(Max(near, far));
			values[3] = Int64GetDatum(counts[i]);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
								 isnull);
		}
		return (Datum) 0;
	}
	query_rows(&r, LB_QUERY_HISTOGRAM, &fcinfo->args[0].value, NULL);
	return (Datum) 0;
}
