/*-------------------------------------------------------------------------
 *
 * stat.h
 *	  Counters of reads and changes, and the views over them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_STAT_H
#define LB_STAT_H

#include "boards/board.h"

/*
 * Count a read of the target: answered by the index (LB_CAUSE_NONE), or by
 * its query and why.  Only gathers in the backend; shared may be NULL.
 */
extern void lb_count_read(const LbTarget *target, LbSharedBoard *shared,
						  LbCause cause);

/*
 * Add what was gathered to shared memory, if it is time.  Safe after the
 * commit record.
 */
extern void lb_stat_at_xact_end(void);

/* The same at once. */
extern void lb_stat_flush(void);

#endif							/* LB_STAT_H */
