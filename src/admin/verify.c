/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  Comparing index and table.
 *
 * The table is scanned under one snapshot, its keys are sorted as a build
 * sorts them, and walked beside the index, corrected to the same snapshot as
 * in every read.  Writers go on meanwhile.  If the history forgets what the
 * snapshot needs, the board is compared again with a lock that keeps writers
 * out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "boards/board_value.h"
#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/distributed.h"
#include "boards/live.h"
#include "boards/resolve.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "boards/target.h"
#include "boards/wait.h"
#include "capture/ddl.h"
#include "feed/redo.h"
#include "ledger/off_board.h"
#include "reads/access_lock.h"
#include "reads/text.h"
#include "util/clock.h"
#include "util/compat.h"
#include "util/pause.h"
#include "workers/table_scan.h"

PG_FUNCTION_INFO_V1(lb_verify);
PG_FUNCTION_INFO_V1(lb_verify_key);

/*
 * Words of keys copied from the index under one hold of the lock.  The keys
 * come one after the other, without zeros behind them.
 */
#define COPY_WORDS 4096

typedef struct Verify
{
	ReturnSetInfo *rsinfo;
	bool		as_text;		/* members; else a bigint, or null if they are
								 * no integers */
	LbDefinition *defn;
	LbSharedBoard *shared;
	uint64		generation;
	Snapshot	snapshot;
	bool		too_old;		/* the history does not reach back far enough */
	List	   *reports;		/* of Report */
	MemoryContext context;		/* where they are */
} Verify;

typedef struct Report
{
	char	   *board;
	bool		has_member;
	Datum		member;
	const char *problem;
} Report;

/* Note a problem of a board, or of one member on it. */
static void
report(Verify *v, const char *board, const int64 *member, const char *problem)
{
	MemoryContext old = MemoryContextSwitchTo(v->context);
	Report	   *r = palloc(sizeof(Report));

	r->board = pstrdup(board);
	r->has_member = member != NULL &&
		(v->as_text || v->defn->plain_member);
	if (r->has_member)
		r->member = v->as_text ? lb_member_words_to_text(v->defn, member) :
			Int64GetDatum(member[0]);
	r->problem = pstrdup(problem);
	v->reports = lappend(v->reports, r);
	MemoryContextSwitchTo(old);
}

static void
put_reports(Verify *v)
{
	ListCell   *lc;

	foreach(lc, v->reports)
	{
		Report	   *r = (Report *) lfirst(lc);
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		values[0] = CStringGetTextDatum(r->board);
		values[1] = r->has_member ? r->member : (Datum) 0;
		nulls[1] = !r->has_member;
		values[2] = CStringGetTextDatum(r->problem);
		tuplestore_putvalues(v->rsinfo->setResult, v->rsinfo->setDesc, values,
							 nulls);
	}
	v->reports = NIL;
}

/*
 * Copy the keys of a board from place on, as the snapshot sees them, as many
 * as fit.  Returns how many, or -1 with a reason why the index cannot be
 * looked at.  At place 0, *off_board is set to the sum of the rows that are
 * not in the index (off_board.h); -1: not known.
 */
static int
copy_keys(Verify *v, const LbTarget *target, uint64 place, int64 *keys,
		  int64 *off_board, const char **why)
{
	LbAccess	r;
	int			n = 0;
	const int64 *end = keys + COPY_WORDS;
	LbViewCursor cursor;

	r.target = *target;
	lb_access_begin(&r, v->snapshot, false, LB_READER_VERIFY);
	if (!lb_access_lock(&r))
	{
		v->too_old |= r.cause == LB_CAUSE_SNAPSHOT;
		*why = "the board could not be read from its index";
		return -1;
	}
	if (place == 0 && !lb_access_off_board(&r, off_board))
		*off_board = -1;
	*why = place > 0 || r.view.board == NULL ? NULL :
		lb_index_check(&lb_shared->arena, r.view.board);
	if (*why != NULL)
		n = -1;
	else if (lb_view_seek(&r.view, place, &cursor))
	{
		while (keys + LB_MAX_KEY_WORDS <= end &&
			   lb_view_next(&r.view, &cursor, keys))
		{
			keys += lb_key_words(&v->defn->shape, keys);
			n++;
		}
	}
	lb_access_unlock(&r);
	return n;
}

/*
 * Compare a board with the run of sorted tuples that starts at *tuple and has
 * number as its first word (a family), or is the whole sort (number < 0).
 * *tuple is left at the first one after it.
 */
static void
verify_keys(Verify *v, const char *name, const LbTarget *target, LbSort *sort,
			int64 number, const int64 **tuple, int64 *counted)
{
	const LbShape *shape = &v->defn->shape;
	int			first = number < 0 ? 0 : 1;
	int64	   *keys = palloc(COPY_WORDS * sizeof(int64));
	const int64 *key = keys;	/* of number at */
	uint64		place = 0;
	int			n = 0;
	int			at = 0;
	bool		more = true;
	const char *why;

	for (;;)
	{
		const int64 *row = NULL;
		int			c;

		CHECK_FOR_INTERRUPTS();
		if (at == n && more)
		{
			n = copy_keys(v, target, place, keys, counted, &why);
			if (n < 0)
			{
				report(v, name, NULL, why);
				n = 0;
				while (*tuple != NULL && (number < 0 || (*tuple)[0] == number))
				{
					CHECK_FOR_INTERRUPTS();
					*tuple = lb_sort_next(sort);
				}
				break;
			}
			at = 0;
			key = keys;
			place += n;
			more = n > 0;
		}
		if (*tuple != NULL && (number < 0 || (*tuple)[0] == number))
			row = *tuple + first;
		if (row == NULL && at == n)
			break;
		c = row == NULL ? 1 : at == n ? -1 :
			lb_key_cmp(shape, row, key);
		if (c < 0)
			report(v, name, lb_key_member(shape, row),
				   "the table's row is not in the index");
		if (c > 0)
			report(v, name, lb_key_member(shape, key),
				   "the index's entry is not in the table");
		if (c <= 0)
			*tuple = lb_sort_next(sort);
		if (c >= 0)
		{
			key += lb_key_words(shape, key);
			at++;
		}
	}
	pfree(keys);
}

/*
 * With counts: copy keys of a board, each with the number of its rows, as
 * copy_keys() does.  They are those behind *after, or the first ones if it is
 * NULL.
 */
static int
copy_counts(Verify *v, const LbTarget *target, const int64 *after, int64 *keys,
			int64 *off_board, const char **why)
{
	LbAccess	r;
	int			width = v->defn->shape.width;
	int			n = 0;

	r.target = *target;
	lb_access_begin(&r, v->snapshot, false, LB_READER_VERIFY);
	if (!lb_access_lock(&r))
	{
		v->too_old |= r.cause == LB_CAUSE_SNAPSHOT;
		*why = "the board could not be read from its index";
		return -1;
	}
	if (after == NULL && !lb_access_off_board(&r, off_board))
		*off_board = -1;
	*why = after != NULL || r.view.board == NULL ? NULL :
		lb_index_check(&lb_shared->arena, r.view.board);
	if (*why != NULL)
		n = -1;
	else
	{
		for (; (n + 1) * (width + 1) <= COPY_WORDS; n++)
		{
			int64	   *key = keys + n * (width + 1);

			if (!lb_counts_next(&r.view, after, key, &key[width]))
				break;
			after = key;
		}
	}
	lb_access_unlock(&r);
	return n;
}

/* Take the tuples of one key off the sort; returns how many rows have it. */
static int64
take_rows(Verify *v, LbSort *sort, int64 number, const int64 **tuple,
		  int64 *key)
{
	int			first = number < 0 ? 0 : 1;
	int			width = v->defn->shape.width;
	int64		rows = 0;

	memcpy(key, *tuple + first, width * sizeof(int64));
	do
	{
		CHECK_FOR_INTERRUPTS();
		rows += (*tuple)[first + width];
		*tuple = lb_sort_next(sort);
	} while (*tuple != NULL && (number < 0 || (*tuple)[0] == number) &&
			 lb_words_cmp(*tuple + first, key, width) == 0);
	return rows;
}

/* Report that table and index have different numbers of rows of a key. */
static void
report_rows(Verify *v, const char *board, const int64 *key, int64 table,
			int64 index)
{
	char	   *score = TextDatumGetCString(lb_score_to_text(v->defn, lb_directed(key[0],
																				  lb_score_column(v->defn)->descending)));

	report(v, board, NULL,
		   psprintf("the index has " INT64_FORMAT " rows of score %s, the table " INT64_FORMAT,
					index, score, table));
}

/* verify_keys() with counts. */
static void
verify_counts(Verify *v, const char *name, const LbTarget *target,
			  LbSort *sort, int64 number, const int64 **tuple,
			  int64 *counted)
{
	const LbShape *shape = &v->defn->shape;
	int			words = shape->width + 1;
	int64	   *keys = palloc(COPY_WORDS * sizeof(int64));
	int64		row[LB_MAX_WIDTH];
	int64		last[LB_MAX_WIDTH];
	int64		rows = 0;		/* that have the key in row, or 0: none is
								 * left */
	int			n = 0;
	int			at = 0;
	bool		any = false;
	bool		more = true;
	const char *why = NULL;

	while (why == NULL)
	{
		const int64 *key;
		int			c;

		CHECK_FOR_INTERRUPTS();
		if (at == n && more)
		{
			n = copy_counts(v, target, any ? last : NULL, keys, counted, &why);
			more = n > 0;
			at = 0;
			if (more)
				memcpy(last, keys + (n - 1) * words,
					   shape->width * sizeof(int64));
			any = true;
			continue;
		}
		if (rows == 0 && *tuple != NULL &&
			(number < 0 || (*tuple)[0] == number))
			rows = take_rows(v, sort, number, tuple, row);
		if (rows == 0 && at == n)
			break;
		key = keys + at * words;
		c = rows == 0 ? 1 : at == n ? -1 : lb_key_cmp(shape, row, key);
		if (c < 0)
			report_rows(v, name, row, rows, 0);
		else if (c > 0)
			report_rows(v, name, key, 0, key[shape->width]);
		else if (rows != key[shape->width])
			report_rows(v, name, row, rows, key[shape->width]);
		if (c <= 0)
			rows = 0;
		if (c >= 0)
			at++;
	}
	if (why != NULL)
	{
		report(v, name, NULL, why);
		while (*tuple != NULL && (number < 0 || (*tuple)[0] == number))
		{
			CHECK_FOR_INTERRUPTS();
			*tuple = lb_sort_next(sort);
		}
	}
	pfree(keys);
}

/*
 * Compare one board with its tuples (see verify_keys).  The scan has met
 * so many rows that are not in the index (off_board.h).
 */
static void
verify_board(Verify *v, const LbTarget *target, LbSort *sort, int64 number,
			 const int64 **tuple, int64 off_board)
{
	char	   *name = v->defn->family ?
		lb_family_board_name(v->defn, &target->value) :
		pstrdup(v->defn->name);
	int64		counted = off_board;

	if (v->defn->shape.counts)
		verify_counts(v, name, target, sort, number, tuple, &counted);
	else
		verify_keys(v, name, target, sort, number, tuple, &counted);
	if (counted != off_board && counted >= 0)
		report(v, name, NULL,
			   psprintf(INT64_FORMAT " rows are off the board and " INT64_FORMAT
						" without a key, the table has " INT64_FORMAT
						" and " INT64_FORMAT,
						lb_rows_off_board(counted),
						lb_rows_without_key(counted),
						lb_rows_off_board(off_board),
						lb_rows_without_key(off_board)));
	pfree(name);
}

typedef struct LiveBoards
{
	int			first;
	int			seen;
	int			n;
	struct
	{
		uint32		hash;
		int			len;
		char		value[LB_MAX_VALUE];
	}			boards[32];
} LiveBoards;

static bool
copy_value(uint32 hash, LbRef ref, void *arg)
{
	LiveBoards *live = (LiveBoards *) arg;
	LbValue		value = lb_live_board_value(lb_live_board_at(ref));

	if (live->seen++ < live->first)
		return true;
	live->boards[live->n].hash = hash;
	live->boards[live->n].len = value.len;
	memcpy(live->boards[live->n].value, value.data, value.len);
	live->n++;
	return live->n < (int) lengthof(live->boards);
}

/*
 * Boards of a family that have rows in the table, or with only, that one.
 * Those with keys come in the order of their numbers, then the others.
 */
static void
verify_numbered(Verify *v, const LbTarget *only, LbSort *sort,
				const LbValues *values)
{
	const int64 *tuple = lb_sort_next(sort);

	for (int pass = 0; pass < 2; pass++)
	{
		for (int i = 0; i < values->nvalues; i++)
		{
			const LbScannedValue *scanned = values->values[i];
			LbTarget	target;

			CHECK_FOR_INTERRUPTS();
			if (scanned->ranked != (pass == 0))
				continue;
			memset(&target, 0, sizeof(target));
			target.defn = v->defn;
			target.has_value = true;
			target.value = scanned->value;
			target.hash = scanned->hash;
			target.stripe = lb_value_stripe(true, target.hash);
			if (only == NULL || lb_value_equal(&only->value, &target.value))
				verify_board(v, &target, sort, i, &tuple, scanned->off_board);
			while (tuple != NULL && tuple[0] == i)
			{
				CHECK_FOR_INTERRUPTS();
				tuple = lb_sort_next(sort);
			}
		}
	}
}

/* Boards of a family that are in the index, but have no row in the table. */
static void
verify_unnumbered(Verify *v, const LbValues *values, LbSort *sort)
{
	LiveBoards *live = palloc(sizeof(LiveBoards));

	for (int s = 0; s < LB_STRIPES; s++)
	{
		live->first = 0;
		do
		{
			live->n = 0;
			live->seen = 0;
			LWLockAcquire(&v->shared->stripes[s].lock, LW_SHARED);
			if (lb_shared_board_is(v->shared, v->generation))
				lb_stripe_walk(&v->shared->stripes[s], true, copy_value, live);
			LWLockRelease(&v->shared->stripes[s].lock);
			live->first += live->n;
			for (int i = 0; i < live->n; i++)
			{
				LbTarget	target;
				const int64 *none = NULL;

				memset(&target, 0, sizeof(target));
				target.defn = v->defn;
				target.has_value = true;
				target.value.len = live->boards[i].len;
				target.value.data = live->boards[i].value;
				target.hash = live->boards[i].hash;
				target.stripe = s;
				if (lb_values_find(values, target.hash, &target.value) == NULL)
					verify_board(v, &target, sort, 0, &none, 0);
			}
			CHECK_FOR_INTERRUPTS();
		} while (live->n == (int) lengthof(live->boards));
	}
	pfree(live);
}

static void
no_poll(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* Compare one definition, or with only, one board of a family. */
static void
compare(Verify *v, const LbTarget *only, LOCKMODE lockmode)
{
	LbDefinition *defn = v->defn;
	Relation	rel = table_open(defn->source, lockmode);
	LbSort	   *sort;
	LbValues	values;
	MemoryContext context;
	MemoryContext old;

	context = AllocSetContextCreate(CurrentMemoryContext, "leaderboard verify",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		(void) find_all_inheritors(defn->source, lockmode, NULL);
	PushActiveSnapshot(GetLatestSnapshot());
	v->snapshot = GetActiveSnapshot();
	lb_pause("verify");
	sort = lb_sort_rows(defn, rel, v->snapshot, &values, false, NULL,
						no_poll);
	if (!defn->family)
	{
		const int64 *tuple = lb_sort_next(sort);
		LbTarget	target;

		memset(&target, 0, sizeof(target));
		target.defn = defn;
		target.value.data = "";
		verify_board(v, &target, sort, -1, &tuple, values.off_board);
	}
	else
	{
		verify_numbered(v, only, sort, &values);
		if (only == NULL)
			verify_unnumbered(v, &values, sort);
		else if (only->value.len <= LB_MAX_VALUE &&
				 lb_values_find(&values, only->hash, &only->value) == NULL)
		{
			const int64 *none = NULL;

			verify_board(v, only, sort, 0, &none, 0);
		}
	}
	if (sort != NULL)
		lb_sort_end(sort);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	table_close(rel, NoLock);
}

/* What a server of a distributed table says of its board. */
static void
report_server(const char *board, const char *problem, void *arg)
{
	report((Verify *) arg, board, NULL, problem);
}

/*
 * Compare.  The index may not go back to the snapshot.  A lock that keeps
 * writers out mends that on a primary, as soon as a build has ended or an xid
 * was completed (lb_want_xid); on a standby the next snapshots are newer.
 */
#define COMPARE_TRIES 100
#define COMPARE_LOCKED 2000000	/* microseconds, but two tries at least */
static void
compare_now(Verify *v, const LbTarget *only)
{
	LOCKMODE	lockmode = RecoveryInProgress() ? AccessShareLock : ShareLock;
	int64		until;

	compare(v, only, AccessShareLock);
	until = lb_clock() + COMPARE_LOCKED;
	for (int tries = 0; v->too_old && tries < COMPARE_TRIES; tries++)
	{
		if (lockmode == ShareLock && tries > 1 && lb_clock() > until)
			break;
		if (tries > 0 || lockmode == AccessShareLock)
			pg_usleep(10000L);
		CHECK_FOR_INTERRUPTS();
		v->reports = NIL;
		v->too_old = false;
		compare(v, only, lockmode);
	}
}

static void
verify_defn(ReturnSetInfo *rsinfo, bool as_text, LbDefinition *defn,
			const LbTarget *only)
{
	Verify		v;
	uint32		state;

	if (!pg_class_ownercheck(defn->source, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE,
					   get_rel_name(defn->source));
	memset(&v, 0, sizeof(v));
	v.rsinfo = rsinfo;
	v.as_text = as_text;
	v.context = CurrentMemoryContext;
	v.defn = defn;
	if (defn->problem == lb_engine_problem && !defn->counts &&
		lb_serves(defn->source))
	{
		lb_distributed->verify(defn, report_server, &v);
		put_reports(&v);
		return;
	}
	v.shared = lb_shared_board_attach(defn, !lb_created_here(defn));
	v.generation = defn->generation;
	if (v.shared != NULL && lb_is_building(v.shared) && !RecoveryInProgress())
		(void) lb_wait_build(v.shared, v.generation, false,
							 lb_wait_timeout_ms);
	state = v.shared == NULL ? LB_OFFLINE
		: lb_state(v.shared);

	/* No process builds it before this transaction commits. */
	if (lb_created_here(defn))
		report(&v, defn->name, NULL,
			   "the board was created by this transaction");
	else if (v.shared == NULL)
		report(&v, defn->name, NULL, lb_shared_board_is_other(defn) ?
			   "another definition of it is being replaced" :
			   "the shared memory of leaderboard.memory is used up");
	else if (defn->problem != NULL)
		report(&v, defn->name, NULL, defn->problem);
	else if (state != LB_READY)
	{
		char		reason[LB_MAX_REASON];

		(void) lb_get_reason(v.shared, reason);
		report(&v, defn->name, NULL, reason[0] == '\0' ?
			   "the board is not ready" :
			   psprintf("the board is not ready: %s", reason));
	}
	else if (!lb_feed_answers(defn))
		report(&v, defn->name, NULL,
			   "the board is not used: " LB_MISSED_REASON);
	else
		compare_now(&v, only);
	put_reports(&v);
}

static Datum
verify(FunctionCallInfo fcinfo, bool as_text)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *name = as_text ? "lb_verify_key()" : "lb_verify()";

	lb_require_preload();
	lb_require_version();
	PreventCommandIfParallelMode(name);
	InitMaterializedSRF(fcinfo, 0);
	if (!PG_ARGISNULL(0))
	{
		text	   *board = PG_GETARG_TEXT_PP(0);
		LbTarget	target;

		lb_find_target(VARDATA_ANY(board), VARSIZE_ANY_EXHDR(board), &target);
		verify_defn(rsinfo, as_text, target.defn,
					target.has_value ? &target : NULL);
	}
	else
	{
		LbDefinition **defns;
		int			n = lb_all_defns(&defns);
		char	  **names = palloc(Max(1, n) * sizeof(char *));
		const char *problem;

		for (int i = 0; i < n; i++)
			names[i] = pstrdup(defns[i]->name);
		for (int i = 0; i < n; i++)
		{
			LbDefinition *defn = lb_find_recorded(names[i]);

			/* Another session may have dropped it. */
			if (defn != NULL)
				verify_defn(rsinfo, as_text, defn, NULL);
		}
		problem = lb_arena_check(&lb_shared->arena);
		if (problem != NULL)
		{
			Verify		v;

			memset(&v, 0, sizeof(v));
			v.rsinfo = rsinfo;
			v.context = CurrentMemoryContext;
			report(&v, "", NULL, problem);
			put_reports(&v);
		}
	}
	return (Datum) 0;
}

Datum
lb_verify(PG_FUNCTION_ARGS)
{
	return verify(fcinfo, false);
}

Datum
lb_verify_key(PG_FUNCTION_ARGS)
{
	return verify(fcinfo, true);
}
