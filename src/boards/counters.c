/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  Counters of reads.
 *
 * Counting a read must not write to shared memory each time.  So the backend
 * gathers the counts of the boards that it reads, and adds them to the
 * counters in shared memory at the end of a transaction, but once a second at
 * most, and at its exit.  stat.c flushes them before it shows a view.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "boards/counters.h"
#include "boards/directory.h"
#include "boards/live.h"
#include "boards/xact_end.h"

/* Boards whose reads a backend gathers before it adds them to shared memory. */
#define MAX_GATHERED 64

/* Milliseconds between two flushes at the end of transactions, at least. */
#define FLUSH_INTERVAL 1000

typedef struct Gathered
{
	LbSharedBoard *shared;
	uint64		generation;
	uint32		hash;
	int			stripe;
	int			len;			/* of the value */
	char		value[LB_INLINE_VALUE]; /* its beginning */
	uint64		counts[LB_NCOUNTERS];
} Gathered;

static Gathered gathered[MAX_GATHERED];
static int	ngathered = 0;
static TimestampTz last_flush = 0;
static bool exit_registered = false;

static void
flush_at_exit(int code, Datum arg)
{
	lb_counters_flush();
}

static int
counter_of(LbCause cause, bool planned)
{
	if (cause == LB_CAUSE_NONE)
		return planned ? LB_COUNT_PLANNED_READS : LB_COUNT_INDEX_READS;
	return planned ? LB_COUNT_PLANNED_CAUSES + (int) cause : (int) cause;
}

void
lb_count_read(const LbTarget *target, LbSharedBoard *shared, LbCause cause,
			  bool planned)
{
	static int	last = 0;
	Gathered   *g;
	int			len = target->has_value ? target->value.len : 0;

	if (shared == NULL)
	{
		/* On a standby, no other code enters it. */
		shared = lb_shared_board_attach(target->defn, RecoveryInProgress());
		if (shared == NULL)
			return;
	}
	g = &gathered[last];
	if (last >= ngathered || g->shared != shared ||
		g->generation != target->defn->generation ||
		g->hash != target->hash || g->len != len)
	{
		for (last = 0; last < ngathered; last++)
		{
			g = &gathered[last];
			if (g->shared == shared &&
				g->generation == target->defn->generation &&
				g->hash == target->hash && g->len == len)
				break;
		}
		if (last == ngathered)
		{
			if (ngathered == MAX_GATHERED)
			{
				lb_counters_flush();
				last = 0;
			}
			g = &gathered[last];
			memset(g, 0, sizeof(Gathered));
			g->shared = shared;
			g->generation = target->defn->generation;
			g->hash = target->hash;
			g->stripe = target->stripe;
			g->len = len;
			memcpy(g->value, target->has_value ? target->value.data : "",
				   Min(len, LB_INLINE_VALUE));
			ngathered++;
		}
		if (!exit_registered)
		{
			before_shmem_exit(flush_at_exit, (Datum) 0);
			exit_registered = true;
		}
	}
	g->counts[counter_of(cause, planned)]++;
}

/*
 * The counters of the live board that was read, which is found by its hash and
 * the beginning of its value; or those of the family, if the board is gone.
 */
static pg_atomic_uint64 *
counters_of(Gathered *g)
{
	LbStripe   *stripe = &g->shared->stripes[g->stripe];
	LbHashScan	scan;
	LbRef		ref;

	if (!g->shared->family)
		return lb_live_board_at(stripe->single)->counters;
	for (ref =
		 lb_hash_first(&lb_shared->arena, &stripe->boards, g->hash, &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		LbLiveBoard *board = lb_live_board_at(ref);
		LbValue		value = lb_live_board_value(board);

		if (value.len == g->len &&
			memcmp(value.data, g->value, Min(g->len, LB_INLINE_VALUE)) == 0)
			return board->counters;
	}
	return g->shared->counters;
}

void
lb_counters_flush(void)
{
	for (int i = 0; i < ngathered; i++)
	{
		Gathered   *g = &gathered[i];
		LbStripe   *stripe = &g->shared->stripes[g->stripe];

		LWLockAcquire(&stripe->lock, LW_SHARED);
		if (lb_shared_board_is(g->shared, g->generation))
		{
			pg_atomic_uint64 *counters = counters_of(g);

			for (int j = 0; j < LB_NCOUNTERS; j++)
			{
				if (g->counts[j] > 0)
					pg_atomic_fetch_add_u64(&counters[j], g->counts[j]);
			}
		}
		LWLockRelease(&stripe->lock);
	}
	ngathered = 0;
}

void
lb_counters_forget(void)
{
	ngathered = 0;
}

static void
flush_if_due(void)
{
	TimestampTz now;

	if (ngathered == 0)
		return;
	now = GetCurrentStatementStartTimestamp();
	if (now - last_flush < FLUSH_INTERVAL * INT64CONST(1000) &&
		now >= last_flush)
		return;
	last_flush = now;
	lb_counters_flush();
}

void
lb_counters_init(void)
{
	lb_at_xact_end(flush_if_due);
}
