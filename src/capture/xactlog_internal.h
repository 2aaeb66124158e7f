/*-------------------------------------------------------------------------
 *
 * xactlog_internal.h
 *	  What xactlog.c and xactlog_compact.c share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_XACTLOG_INTERNAL_H
#define LB_XACTLOG_INTERNAL_H

#include "capture/xactlog.h"

/*
 * Changes from number seq on are unknown, for a reason or NULL.  If seq is
 * rolled back, so are all of them, and no change was lost.  Never raises.
 */
extern void lb_xact_unknown_from(LbXactDefn *xdefn, uint64 seq,
								 const char *reason);

/*
 * Append a change; rows is 1 except with counts.  Returns false if there is no
 * memory.  Never raises.
 */
extern bool lb_xact_append(LbXactBoard *board, uint64 seq, CommandId cid,
						   const int64 *old, const int64 *new, int64 rows);

/*
 * The least number of changes that will be cut off together and voided
 * together: no subtransaction and no TRUNCATE has begun since.
 */
extern uint64 lb_xact_stretch_start(const LbXactDefn *xdefn);

/* Compact again when as many changes as these n have come. */
extern void lb_xact_schedule_compaction(LbXactBoard *board, int n);

/*
 * Add up changes at the end of a board's list that have the same key and the
 * same command id.  Without memory to sort them, the list stays as it is.
 * Raises only when interrupted, and then it stays as it is, too.
 */
extern void lb_xact_compact(LbXactBoard *board);

#endif							/* LB_XACTLOG_INTERNAL_H */
