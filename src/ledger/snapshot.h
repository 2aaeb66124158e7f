/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *	  Snapshots in full xids.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SNAPSHOT_H
#define LB_SNAPSHOT_H

#include "access/transam.h"
#include "utils/snapshot.h"

#include "boards/shared.h"

/*
 * The next full xid.  Where 64 bits are read at once, not under XidGenLock: it
 * is enough that what led here saw it at least as far, and the locks that did
 * so are barriers.
 */
static inline uint64
lb_next_xid(void)
{
#if PG_VERSION_NUM >= 170000
	volatile TransamVariablesData *vars = TransamVariables;
#else
	volatile	VariableCacheData *vars = ShmemVariableCache;
#endif

#if SIZEOF_VOID_P >= 8
	return vars->nextXid.value;
#else
	(void) vars;
	return U64FromFullTransactionId(ReadNextFullTransactionId());
#endif
}

/* A snapshot, in full xids. */
typedef struct LbSnapshot
{
	Snapshot	snapshot;
	uint64		xmin;
	uint64		xmax;
} LbSnapshot;

extern void lb_snapshot_init(LbSnapshot *s, Snapshot snapshot);

/* Whether a top-level transaction had ended when the snapshot was taken. */
extern bool lb_had_ended(const LbSnapshot *s, FullTransactionId fxid);

/*
 * Whether a transaction from first to last, full xids, may have been running
 * or yet to come when the snapshot was taken.
 */
extern bool lb_any_running(const LbSnapshot *s, uint64 first, uint64 last);

/* Whether a transaction with an xid from first to last is running now. */
extern bool lb_any_in_progress(uint64 first, uint64 last);

/* Whether a snapshot is new enough for an index with this floor. */
static inline bool
lb_above_floor(const LbSnapshot *snapshot, const LbFloor *floor)
{
	return snapshot->xmax > floor->next_xid || snapshot->xmin > floor->xid;
}

/* Find out, now and then, before which xid every snapshot sees everything. */
extern void lb_update_horizon(bool now);

#endif							/* LB_SNAPSHOT_H */
