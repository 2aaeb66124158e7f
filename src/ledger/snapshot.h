/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *	  Snapshots in full xids, and the horizon of all snapshots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SNAPSHOT_H
#define LB_SNAPSHOT_H

#include "access/transam.h"
#include "utils/snapshot.h"

#include "boards/shared.h"

/* A 32-bit xid that is not far from the next one, in full. */
static inline uint64
lb_full_xid(TransactionId xid, uint64 next)
{
	return next + (int32) (xid - (uint32) next);
}

/* A snapshot, in full xids. */
typedef struct LbSnapshot
{
	Snapshot	snapshot;		/* NULL: made by lb_running_init() */
	const TransactionId *xip;	/* top-level transactions that were running,
								 * and on a standby subtransactions */
	uint32		nxip;
	uint64		xmin;
	uint64		xmax;
	uint64		serial;			/* no other one's */
} LbSnapshot;

/*
 * Take over an MVCC snapshot, which must live as long as s.  Allocates, at its
 * first call in a process or for more transactions, without raising.
 */
extern void lb_snapshot_init(LbSnapshot *s, Snapshot snapshot);

/*
 * Note which transactions are running now, prepared ones included.  Unlike a
 * snapshot of PostgreSQL's this holds no horizon back, and needs no
 * transaction.  For a primary.  s is good until the next call.  Raises only
 * when out of memory at the first call in a process.  Takes XidGenLock and
 * ProcArrayLock.
 */
extern void lb_running_init(LbSnapshot *s);

/*
 * Whether a top-level transaction had ended when the snapshot was taken.
 * Allocates nothing and never raises.
 */
extern bool lb_had_ended(const LbSnapshot *s, FullTransactionId fxid);

/*
 * Whether a transaction from first to last, full xids, may have been running
 * or yet to come when the snapshot was taken.
 */
extern bool lb_any_running(const LbSnapshot *s, uint64 first, uint64 last);

/*
 * Whether a transaction with a full xid from first to last is running now.
 * Takes XidGenLock and ProcArrayLock.
 */
extern bool lb_any_in_progress(uint64 first, uint64 last);

/* Whether a snapshot is new enough for an index with this floor (LbFloor). */
static inline bool
lb_above_floor(const LbSnapshot *snapshot, const LbFloor *floor)
{
	return snapshot->xmax > floor->next_xid || snapshot->xmin > floor->xid;
}

/*
 * Update LbSharedState.horizon, the full xid before which every snapshot sees
 * everything: at every 32nd call, or now.  Takes the ProcArrayLock.
 */
extern void lb_update_horizon(bool now);

#endif							/* LB_SNAPSHOT_H */
