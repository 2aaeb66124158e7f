/*-------------------------------------------------------------------------
 *
 * tidy.c
 *	  What the launcher does for transactions and snapshots.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/timestamp.h"

#include "boards/shared.h"
#include "ledger/prepared.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"
#include "util/clock.h"
#include "util/pause.h"
#include "workers/tidy.h"
#include "workers/worker.h"

/* Milliseconds. */
#define XID_EVERY 200			/* from one completed xid to the next */
#define TIDY_AGAIN 500			/* prepared transactions, histories */
#define TRIM_INTERVAL 5000		/* between two passes through all histories */

/* Boards taken from one walk through the directory. */
#define AT_ONCE 64

long
lb_complete_xid(void)
{
	static TimestampTz last = 0;

	if (pg_atomic_read_u32(&lb_shared->xid_wanted) == 0)
		return LB_IDLE_SLEEP;
	if (!lb_elapsed(last, GetCurrentTimestamp(), XID_EVERY))
		return XID_EVERY;
	pg_atomic_write_u32(&lb_shared->xid_wanted, 0);
	pg_memory_barrier();
	lb_pause("xid");
	StartTransactionCommand();
	(void) GetTopTransactionId();
	CommitTransactionCommand();
	last = GetCurrentTimestamp();
	return LB_IDLE_SLEEP;
}

/* A definition that has something to tidy. */
typedef struct Untidy
{
	LbSharedRef ref;
	bool		asked;			/* what asked() has returned */
} Untidy;

/*
 * Take the next definitions behind a generation that have something to tidy,
 * or with all any, AT_ONCE at most.  Returns how many.  What is done for them
 * may take long, so the directory's lock is not held meanwhile.
 */
static int
take_some(uint64 done, bool all, bool (*asked) (LbSharedBoard *shared),
		  Untidy *some)
{
	int			n = 0;
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		if (shared->generation <= done)
			continue;
		some[n].asked = asked(shared);
		if (!some[n].asked && !all)
			continue;
		some[n].ref.shared = shared;
		some[n].ref.generation = shared->generation;
		if (++n == AT_ONCE)
			break;
	}
	LWLockRelease(&lb_shared->directory_lock);
	return n;
}

static bool
has_prepared(LbSharedBoard *shared)
{
	return pg_atomic_read_u32(&shared->nprepared) > 0;
}

long
lb_settle_all_prepared(void)
{
	long		sleep = LB_IDLE_SLEEP;
	uint64		done = 0;
	int			n;

	do
	{
		Untidy		some[AT_ONCE];

		n = take_some(done, false, has_prepared, some);
		for (int i = 0; i < n; i++)
		{
			done = some[i].ref.generation;
			if (lb_settle_prepared(some[i].ref.shared, done))
				sleep = TIDY_AGAIN;
		}
	} while (n == AT_ONCE);
	return sleep;
}

/*
 * Whether the launcher must trim all histories, because they take too much
 * memory.  If old snapshots need them, they are full again at once; so it does
 * not do this every time.
 */
static bool
must_trim_all(long *sleep)
{
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (pg_atomic_read_u32(&lb_shared->histories_full) == 0)
		return false;
	if (!lb_elapsed(last, now, TRIM_INTERVAL))
	{
		*sleep = TRIM_INTERVAL;
		return false;
	}
	last = now;
	pg_atomic_write_u32(&lb_shared->histories_full, 0);
	return true;
}

/* Whether histories are to be trimmed; no longer from here on. */
static bool
take_trim(LbSharedBoard *shared)
{
	return pg_atomic_read_u32(&shared->trim) != 0 &&
		pg_atomic_exchange_u32(&shared->trim, 0) != 0;
}

long
lb_trim_histories(void)
{
	long		sleep = LB_IDLE_SLEEP;
	bool		all = must_trim_all(&sleep);
	uint64		done = 0;
	int			n;

	do
	{
		Untidy		some[AT_ONCE];

		n = take_some(done, all, take_trim, some);
		if (n > 0 && done == 0)
			lb_update_horizon(true);
		for (int i = 0; i < n; i++)
		{
			done = some[i].ref.generation;
			if (lb_shared_board_trim(some[i].ref.shared, done) &&
				some[i].asked)
			{
				pg_atomic_write_u32(&some[i].ref.shared->trim, 1);
				sleep = Min(sleep, TIDY_AGAIN);
			}
		}
	} while (n == AT_ONCE);
	return sleep;
}
