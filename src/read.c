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
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "build.h"
#include "capture.h"
#include "ledger.h"
#include "query.h"
#include "stat.h"
#include "view.h"

/* The most rows that are copied out under one hold of a lock. */
#define LB_MAX_ROWS 1000000

/* Members whose cache misses overlap. */
#define LB_BATCH 16

PG_FUNCTION_INFO_V1(lb_rank);
PG_FUNCTION_INFO_V1(lb_score);
PG_FUNCTION_INFO_V1(lb_percentile);
PG_FUNCTION_INFO_V1(lb_player);
PG_FUNCTION_INFO_V1(lb_top);
PG_FUNCTION_INFO_V1(lb_at);
PG_FUNCTION_INFO_V1(lb_around);
PG_FUNCTION_INFO_V1(lb_count);
PG_FUNCTION_INFO_V1(lb_count_between);
PG_FUNCTION_INFO_V1(lb_rank_of_score);
PG_FUNCTION_INFO_V1(lb_score_at_percentile);
PG_FUNCTION_INFO_V1(lb_ranks);
PG_FUNCTION_INFO_V1(lb_among);
PG_FUNCTION_INFO_V1(lb_histogram);

/* The most changes by which a snapshot may differ from the index. */
#define LB_MAX_CORRECTIONS 1000000

/* A read under way. */
typedef struct Read
{
	FunctionCallInfo fcinfo;
	LbTarget	target;
	LbMethod	method;
	bool		distinct;		/* distinct scores will be asked for */
	bool		query;			/* the query must be run ... */
	LbCause		cause;			/* ... for this reason */
	LbDef	   *def;
	uint64		generation;
	LbStripe   *stripe;
	LbSnapshot	snapshot;
	Relation	serializable;	/* the source, where SSI must know of this */
	LbOutcomes	outcomes;
	LbUnseen	unseen;
	LbOverlay  *own;			/* the transaction's own changes, or NULL */
	LbView		view;
} Read;

/*
 * What the last read had to correct, own changes included.  Many reads of one
 * snapshot find it as they left it, as long as nobody commits meanwhile.
 */
typedef struct Corrections
{
	MemoryContext context;
	bool		valid;
	LbDef	   *def;
	uint64		generation;
	LbRef		board;
	uint64		version;		/* of the board */
	uint64		xmin;			/* of the snapshot ... */
	uint64		xmax;
	uint32		xcnt;
	CommandId	curcid;
	LbOverlay  *own;			/* ... and what it was merged with */
	LbChanges	changes;
	LbOverlay	overlay;
	LbScoreDelta *deltas;
} Corrections;

static Corrections corrections;

/* A row of lb_top and its like. */
typedef struct Row
{
	int64		rank;
	int64		member;
	int64		score;
} Row;


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
	char	   *s;

	if (argno < 0 || PG_ARGISNULL(argno))
		return otherwise;
	s = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	if (strcmp(s, "row_number") == 0)
		return LB_ROW_NUMBER;
	if (strcmp(s, "rank") == 0)
		return LB_RANK;
	if (strcmp(s, "dense_rank") == 0)
		return LB_DENSE_RANK;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown ranking method \"%s\"", s),
			 errhint("The methods are \"row_number\", \"rank\" and \"dense_rank\".")));
}


/* ----------------------------------------------------------------
 *		Opening a board for reading
 * ----------------------------------------------------------------
 */

static void
offline_error(const LbDefn *defn, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("board \"%s\" is offline", defn->name),
			 reason[0] != '\0' ? errdetail("Reason: %s.", reason) : 0,
			 errhint("Use lb_rebuild() to build its index again, or set \"leaderboard.offline\" to \"query\".")));
}

/* Why the index cannot be asked at all, whatever its state. */
static LbCause
cause_before_index(Read *r)
{
	LbDefn	   *defn = r->target.defn;
	Snapshot	snapshot = GetActiveSnapshot();

	if (!lb_enable_index)
		return LB_CAUSE_DISABLED;
	if (RecoveryInProgress())
	{
		if (lb_offline == LB_POLICY_ERROR)
			offline_error(defn, "the server is a standby");
		return LB_CAUSE_RECOVERY;
	}

	if (snapshot->takenDuringRecovery ||
		snapshot->snapshot_type != SNAPSHOT_MVCC)
		return LB_CAUSE_SNAPSHOT;
	if (defn->row_security &&
		check_enable_rls(defn->source, InvalidOid, true) == RLS_ENABLED)
		return LB_CAUSE_ROW_SECURITY;
	if (defn->problem != NULL || !defn->captured)
	{
		LbDef	   *def = lb_def_attach(defn, false);

		/* It cannot be followed from here on. */
		if (def != NULL && pg_atomic_read_u32(&def->state) != LB_OFFLINE)
			lb_def_offline(def, defn->problem ? defn->problem :
						   "a capture trigger is missing or disabled", false);
		if (lb_offline == LB_POLICY_ERROR)
			offline_error(defn, defn->problem ? defn->problem :
						  "a capture trigger is missing or disabled");
		return defn->problem ? LB_CAUSE_OFFLINE : LB_CAUSE_TRIGGER;
	}
	if (r->target.has_value && r->target.value.len > LB_MAX_VALUE)
		return LB_CAUSE_LIMIT;

	/* While a statement runs, what it has changed is not all captured yet. */
	if (AfterTriggerPendingOnRel(defn->source))
		return LB_CAUSE_OWN_CHANGES;
	return LB_CAUSE_NONE;
}

static void
run_query_because(Read *r, LbCause cause)
{
	if (r->serializable != NULL)
		table_close(r->serializable, NoLock);
	r->serializable = NULL;
	r->query = true;
	r->cause = cause;
}

/*
 * Find the board that argument board names, and see whether its index may be
 * asked.  distinct says that a dense_rank needs more than other methods.
 */
static void
read_begin(Read *r, FunctionCallInfo fcinfo, int board_arg, int method_arg)
{
	text	   *name;
	LbDefn	   *defn;
	LbCause		cause;

	lb_require_preload();
	if (PG_ARGISNULL(board_arg))
		null_argument("board");
	lb_require_version();
	name = PG_GETARG_TEXT_PP(board_arg);

	r->fcinfo = fcinfo;
	r->serializable = NULL;
	lb_find_target(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &r->target);
	defn = r->target.defn;
	if (defn->family && !r->target.has_value)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", defn->name),
				 errhint("Name one of its boards, as in \"%s:value\".",
						 defn->name)));
	r->method = method_argument(fcinfo, method_arg, defn->method);
	r->distinct = r->method == LB_DENSE_RANK;
	r->query = false;
	r->cause = LB_CAUSE_NONE;
	r->def = NULL;
	r->own = NULL;

	/* Without the privileges, the query raises the error that it raises. */
	if (!lb_may_read(defn))
	{
		run_query_because(r, LB_CAUSE_NONE);
		return;
	}
	cause = cause_before_index(r);
	if (cause != LB_CAUSE_NONE)
	{
		run_query_because(r, cause);
		return;
	}

	r->def = lb_def_attach(defn, false);
	if (r->def == NULL)
	{
		/* Not committed: nobody else can build it. */
		if (lb_created_here(defn))
		{
			run_query_because(r, LB_CAUSE_BUILDING);
			return;
		}
		/* A database that was restored, or made from a template. */
		r->def = lb_def_attach(defn, true);
		if (r->def == NULL)
		{
			run_query_because(r, LB_CAUSE_OFFLINE);
			return;
		}
	}
	r->generation = defn->generation;
	r->stripe = &r->def->stripes[r->target.stripe];
	r->own = lb_own_changes(&r->target, GetActiveSnapshot()->curcid);
	lb_snapshot_init(&r->snapshot, GetActiveSnapshot());
	memset(&r->outcomes, 0, sizeof(r->outcomes));
	memset(&r->unseen, 0, sizeof(r->unseen));

	/*
	 * As the query's scan would: before the read, so that whoever publishes
	 * later finds the lock.
	 */
	if (IsolationIsSerializable())
	{
		r->serializable = table_open(defn->source, NoLock);
		PredicateLockRelation(r->serializable, r->snapshot.snapshot);
	}
}

/* Make room for n changes. */
static void
make_room(int n)
{
	MemoryContext old;

	corrections.valid = false;
	if (n <= corrections.changes.max && corrections.context != NULL)
		return;
	if (corrections.context == NULL)
		corrections.context = AllocSetContextCreate(TopMemoryContext,
													"leaderboard corrections",
													ALLOCSET_SMALL_SIZES);
	corrections.changes.max = 0;
	MemoryContextReset(corrections.context);
	old = MemoryContextSwitchTo(corrections.context);
	n = Max(n + n / 4, 64);
	corrections.changes.words =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   (Size) n * lb_change_words(LB_MAX_WIDTH) *
							   sizeof(int64));
	lb_overlay_init(&corrections.overlay, LB_MAX_WIDTH, 1, n);
	corrections.deltas = MemoryContextAllocHuge(CurrentMemoryContext,
												n * sizeof(LbScoreDelta));
	corrections.changes.max = n;
	MemoryContextSwitchTo(old);
}

/* Whether the corrections made last are those of this read. */
static bool
same_corrections(const Read *r, LbRef ref, const LbBoard *board)
{
	const Corrections *c = &corrections;

	return c->valid && board != NULL && c->def == r->def &&
		c->generation == r->generation && c->board == ref &&
		c->version == board->version && c->xmin == r->snapshot.xmin &&
		c->xmax == r->snapshot.xmax &&
		c->xcnt == r->snapshot.snapshot->xcnt &&
		c->curcid == r->snapshot.snapshot->curcid && c->own == r->own &&
		r->serializable == NULL;
}

/*
 * Find out what is to be corrected, with the stripe's lock held.  Leaves in
 * *overlay what the view needs, or NULL.  Anything but LB_COLLECTED is to be
 * dealt with by the caller without the lock.
 */
static LbCollect
collect(Read *r, LbRef ref, const LbBoard *board, LbOverlay **overlay,
		int *room)
{
	Corrections *c = &corrections;
	LbDefn	   *defn = r->target.defn;
	int			width = defn->width;
	LbCollect	result;

	*overlay = r->own;

	/* An own TRUNCATE leaves nothing of others. */
	if (r->own != NULL && r->own->truncated)
		return LB_COLLECTED;
	if (same_corrections(r, ref, board))
	{
		if (c->changes.n > 0)
			*overlay = &c->overlay;
		return LB_COLLECTED;
	}
	c->valid = false;
	c->changes.width = width;
	result = lb_collect(r->def, r->stripe, board, &r->snapshot, &r->outcomes,
						&c->changes,
						r->serializable == NULL ? NULL : &r->unseen);
	*room = c->changes.n;
	if (result != LB_COLLECTED)
		return result;
	if (c->changes.n > 0)
	{
		/* Own changes and those of others correct each other. */
		if (r->own != NULL)
		{
			*room += 2 * r->own->nentries;
			if (*room > c->changes.max)
				return LB_COLLECT_ROOM;
			for (int i = 0; i < r->own->nentries; i++)
			{
				int64	   *entry = r->own->entries +
				(Size) i * lb_entry_words(width);

				if (entry[0] & LB_HAS_OLD)
					lb_add_change(&c->changes, -1, lb_entry_old(entry));
				if (entry[0] & LB_HAS_NEW)
					lb_add_change(&c->changes, 1, lb_entry_new(entry, width));
			}
		}
		c->overlay.width = width;
		c->overlay.member_words = defn->member_words;
		lb_overlay_fill(&c->overlay, &c->changes);
		if (r->own != NULL && r->own->ambiguous)
			c->overlay.ambiguous = true;
		*overlay = &c->overlay;
	}
	c->valid = true;
	c->def = r->def;
	c->generation = r->generation;
	c->board = ref;
	c->version = board == NULL ? 0 : board->version;
	c->xmin = r->snapshot.xmin;
	c->xmax = r->snapshot.xmax;
	c->xcnt = r->snapshot.snapshot->xcnt;
	c->curcid = r->snapshot.snapshot->curcid;
	c->own = r->own;
	return LB_COLLECTED;
}

/* Let the state of the board and the settings decide. */
static bool
read_wait(Read *r, uint32 state)
{
	LbDefn	   *defn = r->target.defn;

	if (state == LB_OFFLINE)
	{
		if (lb_offline == LB_POLICY_ERROR)
		{
			char		reason[LB_MAX_REASON];

			SpinLockAcquire(&r->def->mutex);
			strlcpy(reason, r->def->reason, LB_MAX_REASON);
			SpinLockRelease(&r->def->mutex);
			offline_error(defn, reason);
		}
		run_query_because(r, LB_CAUSE_OFFLINE);
		return false;
	}
	if (lb_not_ready == LB_POLICY_ERROR)
	{
		lb_def_want_build(r->def, r->generation);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("board \"%s\" is being built", defn->name),
				 errhint("Wait with lb_wait_ready(), or set \"leaderboard.not_ready\" to \"query\".")));
	}
	if (lb_not_ready == LB_POLICY_QUERY)
	{
		lb_def_want_build(r->def, r->generation);
		run_query_because(r, LB_CAUSE_BUILDING);
		return false;
	}
	switch (lb_wait_build(r->def, r->generation, false, lb_wait_timeout_ms))
	{
		case LB_WAIT_READY:
			return true;
		case LB_WAIT_FAILED:
			run_query_because(r, LB_CAUSE_BUILDING);
			return false;
		case LB_WAIT_TIMEOUT:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("board \"%s\" was not built within %d ms",
					defn->name, lb_wait_timeout_ms),
			 errhint("See lb_stat_board for the build's progress; \"leaderboard.wait_timeout\" sets how long reads wait.")));
}

/*
 * Lock the board and open a view of it.  Returns false if the query must be
 * run.  After true, nothing may raise until read_unlock.
 */
static bool
read_lock(Read *r)
{
	bool		waited = false;

	if (r->query)
		return false;
	for (;;)
	{
		uint32		state = pg_atomic_read_u32(&r->def->state);
		LbBoard    *board;
		LbRef		ref;
		LbOverlay  *overlay;
		LbCollect	result;
		int			room = 0;

		if (state != LB_READY)
		{
			if (!read_wait(r, state))
				return false;
			continue;
		}
		LWLockAcquire(&r->stripe->lock, LW_SHARED);
		if (!lb_def_is(r->def, r->generation))
		{
			/* Dropped and gone, which our lock on the table rules out. */
			LWLockRelease(&r->stripe->lock);
			run_query_because(r, LB_CAUSE_OFFLINE);
			return false;
		}
		if (pg_atomic_read_u32(&r->def->state) != LB_READY)
		{
			LWLockRelease(&r->stripe->lock);
			continue;
		}
		if (pg_atomic_read_u32(&r->def->nunknown) > 0)
		{
			LWLockRelease(&r->stripe->lock);
			run_query_because(r, LB_CAUSE_UNSETTLED);
			return false;
		}
		board = lb_board_find(r->def, r->stripe, r->target.hash,
							  &r->target.value, &ref);
		result = collect(r, ref, board, &overlay, &room);
		switch (result)
		{
			case LB_COLLECTED:
				break;
			case LB_COLLECT_ROOM:
				LWLockRelease(&r->stripe->lock);
				if (room > LB_MAX_CORRECTIONS)
				{
					run_query_because(r, LB_CAUSE_SNAPSHOT);
					return false;
				}
				make_room(room + (r->own == NULL ? 0 : 2 * r->own->nentries));
				if (r->unseen.n > r->unseen.max)
				{
					r->unseen.max = r->unseen.n * 2;
					r->unseen.xids = palloc(r->unseen.max *
											sizeof(TransactionId));
				}
				continue;
			case LB_COLLECT_OUTCOME:
				LWLockRelease(&r->stripe->lock);
				lb_look_up_outcome(&r->outcomes);
				continue;
			case LB_COLLECT_WAIT:
				/* A large transaction is being brought in: not for long. */
				ConditionVariablePrepareToSleep(&r->def->changed);
				LWLockRelease(&r->stripe->lock);
				if (waited)
				{
					ConditionVariableCancelSleep();
					run_query_because(r, LB_CAUSE_UNSETTLED);
					return false;
				}
				waited = ConditionVariableTimedSleep(&r->def->changed,
													 Min(lb_wait_timeout_ms, 2000),
													 PG_WAIT_EXTENSION);
				ConditionVariableCancelSleep();
				continue;
			case LB_COLLECT_TOO_OLD:
				LWLockRelease(&r->stripe->lock);
				run_query_because(r, LB_CAUSE_SNAPSHOT);
				return false;
		}

		/* Room for the distinct scores of own changes alone. */
		if (r->distinct && lb_view_max_deltas(overlay) > corrections.changes.max)
		{
			LWLockRelease(&r->stripe->lock);
			make_room(lb_view_max_deltas(overlay));
			continue;
		}
		if (!lb_view_open(&r->view, board == NULL ? NULL : &board->index,
						  overlay, r->target.defn->width,
						  r->target.defn->member_words,
						  r->distinct ? corrections.deltas : NULL))
		{
			LWLockRelease(&r->stripe->lock);
			corrections.valid = false;
			run_query_because(r, LB_CAUSE_OWN_CHANGES);
			return false;
		}
		return true;
	}
}

/*
 * Tell SSI of the transactions whose changes this snapshot does not see.
 */
static void
note_conflicts(Read *r)
{
	Snapshot	snapshot = r->snapshot.snapshot;

	if (CheckForSerializableConflictOutNeeded(r->serializable, snapshot))
	{
		for (int i = 0; i < r->unseen.n; i++)
			CheckForSerializableConflictOut(r->serializable,
											r->unseen.xids[i], snapshot);
	}
	r->unseen.n = 0;
}

static void
read_unlock(Read *r)
{
	LWLockRelease(&r->stripe->lock);
	lb_count_read(&r->target, r->def, LB_CAUSE_NONE);
	if (r->serializable != NULL)
	{
		note_conflicts(r);
		table_close(r->serializable, NoLock);
		r->serializable = NULL;
	}
}

static Datum
query_value(Read *r, LbQueryKind kind, const Datum *args, const char *nulls,
			bool *isnull)
{
	if (r->cause != LB_CAUSE_NONE)
		lb_count_read(&r->target, r->def, r->cause);
	return lb_query_value(r->target.defn, kind, r->method, args, nulls,
						  r->target.has_value ? &r->target.value : NULL,
						  isnull);
}

static void
query_rows(Read *r, LbQueryKind kind, const Datum *args, const char *nulls)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) r->fcinfo->resultinfo;

	if (r->cause != LB_CAUSE_NONE)
		lb_count_read(&r->target, r->def, r->cause);
	lb_query_rows(r->target.defn, kind, r->method, args, nulls,
				  r->target.has_value ? &r->target.value : NULL,
				  rsinfo->setResult, rsinfo->setDesc);
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
	return lb_directed(key[0], r->target.defn->columns[0].descending);
}

static inline int64
score_word(const Read *r, int64 score)
{
	return lb_directed(score, r->target.defn->columns[0].descending);
}

static inline int64
member_of(const Read *r, const int64 *key)
{
	return key[r->target.defn->width - 1];
}

/* Entries whose score is better than a score's word. */
static uint64
count_better(const Read *r, int64 word)
{
	uint64		members;

	lb_view_spans(&r->view, &word, 1, false, &members, NULL);
	return members;
}

static int64
rank_of_word(const Read *r, int64 word, LbMethod method)
{
	uint64		distinct;

	if (method != LB_DENSE_RANK)
		return count_better(r, word) + 1;
	lb_view_spans(&r->view, &word, 1, false, NULL, &distinct);
	return distinct + 1;
}

static int64
rank_of_key(const Read *r, const int64 *key)
{
	uint64		members;

	if (r->method != LB_ROW_NUMBER)
		return rank_of_word(r, key[0], r->method);
	lb_view_spans(&r->view, key, r->view.width, false, &members, NULL);
	return members + 1;
}

static double
percentile_of_key(const Read *r, const int64 *key)
{
	int64		total = lb_view_members(&r->view);
	int64		not_better = total - count_better(r, key[0]);

	return 100 * ((double) not_better / (double) total);
}

/* Entries with lo <= score <= hi; an end may be open. */
static int64
count_between(const Read *r, bool has_lo, int64 lo, bool has_hi, int64 hi)
{
	bool		descending = r->target.defn->columns[0].descending;
	uint64		before = 0;
	uint64		upto = lb_view_members(&r->view);
	bool		has_first = descending ? has_hi : has_lo;
	bool		has_last = descending ? has_lo : has_hi;
	int64		first = score_word(r, descending ? hi : lo);
	int64		last = score_word(r, descending ? lo : hi);

	if (has_lo && has_hi && lo > hi)
		return 0;
	if (has_first)
		lb_view_spans(&r->view, &first, 1, false, &before, NULL);
	if (has_last)
		lb_view_spans(&r->view, &last, 1, true, &upto, NULL);
	return upto - before;
}

/* Copy n entries after the first before ones, which exist. */
static int
copy_rows(const Read *r, uint64 before, int n, Row *rows)
{
	LbViewCursor cursor;
	int64		key[LB_MAX_WIDTH];
	int64		word = 0;
	int64		rank = 0;
	int			i;

	if (n == 0 || !lb_view_seek(&r->view, before, &cursor))
		return 0;
	for (i = 0; i < n && lb_view_next(&r->view, &cursor, key); i++)
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

static void
return_rows(Read *r, const Row *rows, int n)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) r->fcinfo->resultinfo;
	bool		nulls[3] = {false, false, false};

	for (int i = 0; i < n; i++)
	{
		Datum		values[3];

		values[0] = Int64GetDatum(rows[i].rank);
		values[1] = Int64GetDatum(rows[i].member);
		values[2] = Int64GetDatum(rows[i].score);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
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

	if (r->cause != LB_CAUSE_NONE)
		lb_count_read(&r->target, r->def, r->cause);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);
	store = tuplestore_begin_heap(false, false, work_mem);
	lb_query_rows(r->target.defn, kind, r->method, &arg, &null,
				  r->target.has_value ? &r->target.value : NULL,
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
	if (!r.query && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (read_lock(&r))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];
		int64		rank = 0;

		isnull = !lb_view_lookup(&r.view, &member, key);
		if (!isnull)
			rank = rank_of_key(&r, key);
		read_unlock(&r);
		result = Int64GetDatum(rank);
	}
	else
		result = query_value_1(&r, LB_QUERY_RANK, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

Datum
lb_score(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = false;
	Datum		result = (Datum) 0;

	read_begin(&r, fcinfo, 1, -1);
	r.distinct = false;
	if (!r.query && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (read_lock(&r))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];

		isnull = !lb_view_lookup(&r.view, &member, key);
		read_unlock(&r);
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
	r.distinct = false;
	if (!r.query && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (read_lock(&r))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];
		double		percentile = 0;

		isnull = !lb_view_lookup(&r.view, &member, key);
		if (!isnull)
			percentile = percentile_of_key(&r, key);
		read_unlock(&r);
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
	if (!r.query && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (read_lock(&r))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];
		int64		rank = 0;
		int64		total = 0;
		double		percentile = 0;

		isnull = !lb_view_lookup(&r.view, &member, key);
		if (!isnull)
		{
			rank = rank_of_key(&r, key);
			percentile = percentile_of_key(&r, key);
			total = lb_view_members(&r.view);
		}
		read_unlock(&r);
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
read_lock_rows(Read *r, int64 n, Row **rows, int *room)
{
	*room = 0;
	*rows = NULL;
	for (;;)
	{
		int64		need;

		if (!read_lock(r))
			return false;
		need = Min(n, (int64) lb_view_members(&r->view));
		if (need <= *room)
			return true;
		LWLockRelease(&r->stripe->lock);
		if (need > LB_MAX_ROWS)
		{
			run_query_because(r, LB_CAUSE_LIMIT);
			return false;
		}

		/* A little more, since the board may grow before we are back. */
		*room = Min(n, need + 64);
		*rows = palloc(Max(1, *room) * sizeof(Row));
	}
}

Datum
lb_top(PG_FUNCTION_ARGS)
{
	Read		r;
	int64		n = int_argument(fcinfo, 0, "n", false, 0);
	int64		skip = int_argument(fcinfo, 2, "skip", true, 0);
	Row		   *rows;
	int			room;

	read_begin(&r, fcinfo, 1, -1);
	InitMaterializedSRF(fcinfo, 0);
	if (read_lock_rows(&r, n, &rows, &room))
	{
		int			got = 0;

		if ((uint64) skip < lb_view_members(&r.view))
			got = copy_rows(&r, skip, Min(n, room), rows);
		read_unlock(&r);
		return_rows(&r, rows, got);
	}
	else
	{
		Datum		args[2];

		args[0] = fcinfo->args[0].value;
		args[1] = fcinfo->args[2].value;
		query_rows(&r, LB_QUERY_TOP, args, NULL);
	}
	return (Datum) 0;
}

Datum
lb_at(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = true;
	Datum		result = (Datum) 0;

	read_begin(&r, fcinfo, 1, -1);
	if (!r.query && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (read_lock(&r))
	{
		int64		place = PG_GETARG_INT64(0);
		Row			row;

		isnull = place < 1 || copy_rows(&r, place - 1, 1, &row) == 0;
		read_unlock(&r);
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

Datum
lb_around(PG_FUNCTION_ARGS)
{
	Read		r;
	int64		radius = int_argument(fcinfo, 2, "radius", false, 0);
	Row		   *rows;
	int			room;

	read_begin(&r, fcinfo, 1, -1);
	InitMaterializedSRF(fcinfo, 0);
	if (!r.query && PG_ARGISNULL(0))
		return (Datum) 0;
	if (read_lock_rows(&r, 2 * radius + 1, &rows, &room))
	{
		int64		member = PG_GETARG_INT64(0);
		int64		key[LB_MAX_WIDTH];
		int			got = 0;

		if (lb_view_lookup(&r.view, &member, key))
		{
			uint64		place;
			uint64		first;

			lb_view_spans(&r.view, key, r.view.width, false, &place, NULL);
			first = place < (uint64) radius ? 0 : place - radius;
			got = copy_rows(&r, first,
							Min((int64) (place - first) + radius + 1, room),
							rows);
		}
		read_unlock(&r);
		return_rows(&r, rows, got);
	}
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

Datum
lb_count(PG_FUNCTION_ARGS)
{
	Read		r;
	bool		isnull = false;

	read_begin(&r, fcinfo, 0, -1);
	r.distinct = false;
	if (read_lock(&r))
	{
		int64		n = lb_view_members(&r.view);

		read_unlock(&r);
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
	r.distinct = false;
	if (read_lock(&r))
	{
		int64		n;

		n = count_between(&r, !PG_ARGISNULL(0),
						  PG_ARGISNULL(0) ? 0 : PG_GETARG_INT64(0),
						  !PG_ARGISNULL(1),
						  PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1));
		read_unlock(&r);
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
	if (!r.query && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (read_lock(&r))
	{
		int64		rank = rank_of_word(&r, score_word(&r, PG_GETARG_INT64(0)),
										r.method);

		read_unlock(&r);
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

	if (!PG_ARGISNULL(0))
	{
		p = PG_GETARG_FLOAT8(0);
		if (isnan(p) || p < 0 || p > 100)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("percentile %g is not between 0 and 100", p),
					 errhint("The best score is at percentile 100, the worst at 0.")));
	}
	read_begin(&r, fcinfo, 1, -1);
	r.distinct = false;
	if (!r.query && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (read_lock(&r))
	{
		int64		total = lb_view_members(&r.view);
		int64		score = 0;

		if (total > 0)
		{
			/* As percentile_disc() finds its row. */
			int64		row = (int64) ceil(p / 100 * total);
			LbViewCursor cursor;
			int64		key[LB_MAX_WIDTH];

			row = Max(row, 1);
			if (lb_view_seek(&r.view, total - row, &cursor) &&
				lb_view_next(&r.view, &cursor, key))
			{
				score = score_of(&r, key);
				isnull = false;
			}
		}
		read_unlock(&r);
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

/* Have the memory of the next members on its way. */
static void
prefetch_members(const Read *r, const Datum *members, const bool *nulls, int n)
{
	if (r->view.index == NULL)
		return;
	for (int i = 0; i < n; i++)
	{
		int64		member = DatumGetInt64(members[i]);

		if (!nulls[i])
			lb_index_prefetch_hash(r->view.arena, r->view.index, &member);
	}
	for (int i = 0; i < n; i++)
	{
		int64		member = DatumGetInt64(members[i]);

		if (!nulls[i])
			lb_index_prefetch_leaf(r->view.arena, r->view.index, &member);
	}
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
	if (read_lock(&r))
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

		for (int i = 0; i < n; i++)
		{
			int64		member = DatumGetInt64(members[i]);
			int64		key[LB_MAX_WIDTH];

			if (i % LB_BATCH == 0)
				prefetch_members(&r, members + i, nulls + i,
								 Min(LB_BATCH, n - i));
			rows[i].rank = 0;
			if (nulls[i] || !lb_view_lookup(&r.view, &member, key))
				continue;
			rows[i].rank = rank_of_key(&r, key);
			rows[i].score = score_of(&r, key);
		}
		read_unlock(&r);
		for (int i = 0; i < n; i++)
		{
			Datum		values[3];
			bool		isnull[3];

			values[0] = members[i];
			isnull[0] = nulls[i];
			isnull[1] = isnull[2] = rows[i].rank == 0;
			values[1] = Int64GetDatum(rows[i].rank);
			values[2] = isnull[2] ? (Datum) 0 : Int64GetDatum(rows[i].score);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
								 isnull);
		}
	}
	else
	{
		Datum		arg = fcinfo->args[0].value;
		char		null = fcinfo->args[0].isnull ? 'n' : ' ';

		query_rows(&r, LB_QUERY_RANKS, &arg, &null);
	}
	return (Datum) 0;
}

static int	among_width;

static int
among_cmp(const void *a, const void *b)
{
	const int64 *ka = (const int64 *) a;
	const int64 *kb = (const int64 *) b;

	for (int i = 0; i < among_width; i++)
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

	read_begin(&r, fcinfo, 1, -1);
	InitMaterializedSRF(fcinfo, 0);
	n = array_argument(fcinfo, 0, &members, &nulls);
	width = r.target.defn->width;

	/* A key, and the rank after it. */
	found = MemoryContextAllocHuge(CurrentMemoryContext,
								   (Size) Max(1, n) * (width + 1) *
								   sizeof(int64));
	if (read_lock(&r))
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
		int			nfound = 0;
		int			place = 0;

		for (int i = 0; i < n; i++)
		{
			int64		member = DatumGetInt64(members[i]);
			int64	   *key = found + (Size) nfound * (width + 1);

			if (i % LB_BATCH == 0)
				prefetch_members(&r, members + i, nulls + i,
								 Min(LB_BATCH, n - i));
			if (nulls[i] || !lb_view_lookup(&r.view, &member, key))
				continue;
			key[width] = rank_of_key(&r, key);
			nfound++;
		}
		read_unlock(&r);
		among_width = width;
		qsort(found, nfound, (width + 1) * sizeof(int64), among_cmp);
		for (int i = 0; i < nfound; i++)
		{
			int64	   *key = found + (Size) i * (width + 1);
			Datum		values[4];
			bool		isnull[4] = {false, false, false, false};

			/* The same member twice in the array counts once. */
			if (i > 0 && member_of(&r, key) ==
				member_of(&r, key - (width + 1)))
				continue;
			values[0] = Int64GetDatum(++place);
			values[1] = Int64GetDatum(member_of(&r, key));
			values[2] = Int64GetDatum(score_of(&r, key));
			values[3] = Int64GetDatum(key[width]);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
								 isnull);
		}
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
	r.distinct = false;
	InitMaterializedSRF(fcinfo, 0);
	if (!r.query && n > LB_MAX_ROWS)
		run_query_because(&r, LB_CAUSE_LIMIT);
	while (read_lock(&r))
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
		bool		descending = r.target.defn->columns[0].descending;
		LbViewCursor cursor;
		int64		key[LB_MAX_WIDTH];
		int64		best;
		int64		worst;
		int64		total = lb_view_members(&r.view);
		uint128		range;
		uint128		k;

		if (total == 0)
		{
			read_unlock(&r);
			return (Datum) 0;
		}
		lb_view_seek(&r.view, 0, &cursor);
		lb_view_next(&r.view, &cursor, key);
		best = score_of(&r, key);
		lb_view_seek(&r.view, total - 1, &cursor);
		lb_view_next(&r.view, &cursor, key);
		worst = score_of(&r, key);
		range = descending ? (uint128) ((int128) best - worst) + 1 :
			(uint128) ((int128) worst - best) + 1;
		k = Min((uint128) n, range);
		if ((int64) k > room)
		{
			LWLockRelease(&r.stripe->lock);
			room = n;
			counts = MemoryContextAllocHuge(CurrentMemoryContext,
											room * sizeof(int64));
			continue;
		}

		/* Bucket i holds the distances from the worst score d1 .. d2. */
#define DISTANCE(i) (((uint128) (i) * range + k - 1) / k)
#define SCORE(d) (descending ? (int64) ((int128) worst + (int128) (d)) : \
				  (int64) ((int128) worst - (int128) (d)))
		for (int64 i = 0; i < (int64) k; i++)
		{
			int64		near = SCORE(DISTANCE(i));
			int64		far = SCORE(DISTANCE(i + 1) - 1);

			counts[i] = count_between(&r, true, Min(near, far),
									  true, Max(near, far));
		}
		read_unlock(&r);
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
