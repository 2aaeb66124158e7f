/*-------------------------------------------------------------------------
 *
 * counters.h
 *	  Counters of reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COUNTERS_H
#define LB_COUNTERS_H

#include "boards/shared.h"
#include "boards/target.h"

/*
 * Count a read of the target: answered by the index (LB_CAUSE_NONE), or by its
 * query, with the cause.  Reads by nodes of plans (planned) are counted
 * apart.  shared may be NULL.  Counts in the backend only; takes the locks of
 * lb_counters_flush() when it has no room for another board.  Can raise only
 * if shared is NULL.
 */
extern void lb_count_read(const LbTarget *target, LbSharedBoard *shared,
						  LbCause cause, bool planned);

/*
 * A board of which a read has been counted, without its definition, which may
 * go.
 */
typedef struct LbCounted
{
	LbSharedBoard *shared;
	uint64		generation;
	uint32		hash;
	int			stripe;
	int			len;			/* of the value */
	char		value[LB_INLINE_VALUE]; /* its beginning */
} LbCounted;

/*
 * The board of a target, whose definition in shared memory has that
 * generation.
 */
extern void lb_note_counted(LbCounted *counted, const LbTarget *target,
							LbSharedBoard *shared, uint64 generation);

/*
 * A read by a plan's node, counted as one by the index, turns out to need the
 * plan below: count it so, with the cause.  As lb_count_read(); never raises.
 */
extern void lb_recount_read(const LbCounted *counted, LbCause cause);

/*
 * Add what the backend has counted to shared memory, under the shared lock of
 * a stripe at a time.  Never raises; safe after the commit record.
 */
extern void lb_counters_flush(void);

/* Discard what the backend has counted since the last flush. */
extern void lb_counters_forget(void);

/* Whether lb_stat_board has a column for a counter: not for one always 0. */
extern bool lb_counter_is_shown(int counter);

/* _PG_init: flush the counters at the end of transactions. */
extern void lb_counters_init(void);

#endif							/* LB_COUNTERS_H */
