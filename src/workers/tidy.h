/*-------------------------------------------------------------------------
 *
 * tidy.h
 *	  What the launcher does for transactions and snapshots.
 *
 * Each of these returns how long the launcher may sleep after it, in
 * milliseconds.  They can raise.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TIDY_H
#define LB_TIDY_H

/* Nothing to do: milliseconds. */
#define LB_IDLE_SLEEP 60000

/* Settle what prepared transactions have left, once they have ended. */
extern long lb_settle_all_prepared(void);

/*
 * Give back histories that snapshots needed when their boards were emptied, or
 * all that no snapshot needs.  Takes some boards at a time, in the order of
 * their generations, so that the directory's lock is not held meanwhile.
 */
extern long lb_trim_histories(void);

/*
 * Complete an xid if one is wanted (lb_want_xid), a few times a second at
 * most: on a server with more transactions, others complete theirs.
 */
extern long lb_complete_xid(void);

#endif							/* LB_TIDY_H */
