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

/*
 * Boards whose reads a backend gathers before it adds them to shared memory.
 */
#define MAX_GATHERED 64

/* Milliseconds between two flushes at the end of transactions, at least. */
#define FLUSH_INTERVAL 1000

typedef struct Gathered
{
	LbCounted	board;
	int64		counts[LB_NCOUNTERS];	/* below 0: flushed, and then taken
										 * back */
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

static inline bool
is_of(const Gathered *g, LbSharedBoard *shared, uint64 generation, uint32 hash,
	  int len)
{
	return g->board.shared == shared && g->board.generation == generation &&
		g->board.hash == hash && g->board.len == len;
}

/* What is gathered of a board, or NULL: then the caller adds it. */
static Gathered *
find_gathered(LbSharedBoard *shared, uint64 generation, uint32 hash, int len)
{
	static int	last = 0;

	if (last < ngathered &&
		is_of(&gathered[last], shared, generation, hash, len))
		return &gathered[last];
	for (int i = 0; i < ngathered; i++)
	{
		if (is_of(&gathered[i], shared, generation, hash, len))
		{
			last = i;
			return &gathered[i];
		}
	}
	return NULL;
}

static Gathered *
add_gathered(const LbCounted *board)
{
	Gathered   *g;

	if (ngathered == MAX_GATHERED)
		lb_counters_flush();
	g = &gathered[ngathered++];
	memset(g, 0, sizeof(Gathered));
	g->board = *board;
	if (!exit_registered)
	{
		before_shmem_exit(flush_at_exit, (Datum) 0);
		exit_registered = true;
	}
	return g;
}

void
lb_note_counted(LbCounted *counted, const LbTarget *target,
				LbSharedBoard *shared, uint64 generation)
{
	counted->shared = shared;
	counted->generation = generation;
	counted->hash = target->hash;
	counted->stripe = target->stripe;
	counted->len = target->has_value ? target->value.len : 0;
	if (counted->len > 0)
		memcpy(counted->value, target->value.data,
			   Min(counted->len, LB_INLINE_VALUE));
}

void
lb_count_read(const LbTarget *target, LbSharedBoard *shared, LbCause cause,
			  bool planned)
{
	Gathered   *g;

	if (shared == NULL)
	{
		/* On a standby, no other code enters it. */
		shared = lb_shared_board_attach(target->defn, RecoveryInProgress());
		if (shared == NULL)
			return;
	}
	g = find_gathered(shared, target->defn->generation, target->hash,
					  target->has_value ? target->value.len : 0);
	if (g == NULL)
	{
		LbCounted	board;

		lb_note_counted(&board, target, shared, target->defn->generation);
		g = add_gathered(&board);
	}
	g->counts[counter_of(cause, planned)]++;
}

void
lb_recount_read(const LbCounted *counted, LbCause cause)
{
	Gathered   *g = find_gathered(counted->shared, counted->generation,
								  counted->hash, counted->len);

	if (g == NULL)
		g = add_gathered(counted);
	g->counts[counter_of(LB_CAUSE_NONE, true)]--;
	g->counts[counter_of(cause, true)]++;
}

/*
 * The counters of the live board that was read, which is found by its hash and
 * the beginning of its value; or those of the family, if the board is gone.
 */
static pg_atomic_uint64 *
counters_of(Gathered *g)
{
	const LbCounted *counted = &g->board;
	LbStripe   *stripe = &counted->shared->stripes[counted->stripe];
	LbHashScan	scan;
	LbRef		ref;

	if (!counted->shared->family)
		return lb_live_board_at(stripe->single)->counters;
	for (ref = lb_hash_first(&lb_shared->arena, &stripe->boards, counted->hash,
							 &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		LbLiveBoard *board = lb_live_board_at(ref);
		LbValue		value = lb_live_board_value(board);

		if (value.len == counted->len &&
			memcmp(value.data, counted->value,
				   Min(counted->len, LB_INLINE_VALUE)) == 0)
			return board->counters;
	}
	return counted->shared->counters;
}

/* lb_stat_reset() may have come after a count that is taken back. */
static void
take_back(pg_atomic_uint64 *counter, uint64 n)
{
	uint64		old = pg_atomic_read_u64(counter);

	while (!pg_atomic_compare_exchange_u64(counter, &old, old - Min(old, n)))
		;
}

void
lb_counters_flush(void)
{
	for (int i = 0; i < ngathered; i++)
	{
		Gathered   *g = &gathered[i];
		LbStripe   *stripe = &g->board.shared->stripes[g->board.stripe];

		LWLockAcquire(&stripe->lock, LW_SHARED);
		if (lb_shared_board_is(g->board.shared, g->board.generation))
		{
			pg_atomic_uint64 *counters = counters_of(g);

			for (int j = 0; j < LB_NCOUNTERS; j++)
			{
				if (g->counts[j] > 0)
					pg_atomic_fetch_add_u64(&counters[j], g->counts[j]);
				else if (g->counts[j] < 0)
					take_back(&counters[j], -g->counts[j]);
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

bool
lb_counter_is_shown(int counter)
{
	switch (counter)
	{
			/* The query of a function says which rows are ranked. */
		case LB_CAUSE_OFF_BOARD:
			/* The planner knows of policies, and what a board keeps. */
		case LB_COUNT_PLANNED_CAUSES + LB_CAUSE_ROW_SECURITY:
		case LB_COUNT_PLANNED_CAUSES + LB_CAUSE_COUNTS:
			return false;
		default:
			return true;
	}
}

void
lb_counters_init(void)
{
	lb_at_xact_end(flush_if_due);
}
