/*-------------------------------------------------------------------------
 *
 * own.h
 *	  The transaction's changes, summed up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_OWN_H
#define LB_OWN_H

#include "capture/xactlog.h"

/*
 * What the transaction has changed on a board: a few changes in arrays
 * (overlay), more of them as sums, to which each further change is added.
 * Neither is set if there are no changes.
 */
typedef struct LbOwn
{
	bool		truncated;		/* rows older than these changes do not count */
	LbOverlay  *overlay;
	LbSums	   *sums;
} LbOwn;

/*
 * What the transaction has changed on the target's board, as a snapshot with
 * this command id sees it.  With as_sums, even a few changes come as sums.
 *
 * The result belongs to the transaction.  It is valid until the transaction's
 * next change, or the next call for the board.  Returns false if the changes
 * are unknown, or if there is no memory for the result.  Raises when
 * interrupted, and a few changes also when out of memory.
 */
extern bool lb_own_changes(const LbTarget *target, CommandId curcid,
						   bool as_sums, LbOwn *own);

/*
 * By how many rows the transaction has changed the number of those that are
 * off the target's board, as a snapshot with this command id sees it.  With
 * *truncated these are all: older rows do not count.  Returns false if that is
 * unknown, or takes too long to find out.  Never raises.
 */
extern bool lb_own_off_board(const LbTarget *target, CommandId curcid,
							 bool *truncated, int64 *rows);

/*
 * Whether the transaction has changed the number of the target's rows without
 * a key, and may have taken that back.  Never raises.
 */
extern bool lb_own_no_key(const LbTarget *target);

/*
 * Sum up all changes of a board, whose definition is attached, to be
 * published.  The entries are in the transaction's memory.  Returns false if
 * a sum is ambiguous, or if there is no memory.  Raises only when interrupted.
 */
extern bool lb_xact_net_changes(const LbXactBoard *board, LbNetChanges *net);

#endif							/* LB_OWN_H */
