/*-------------------------------------------------------------------------
 *
 * corrections.h
 *	  What a snapshot sees differently from a board's index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CORRECTIONS_H
#define LB_CORRECTIONS_H

#include "reads/access.h"

/* The most changes of others by which a snapshot may differ from the index. */
#define LB_MAX_CORRECTIONS 100000

/*
 * Before each attempt to lock the board: do what the sums need done without
 * the lock.  Returns false if there is no memory.  Can raise.
 */
extern bool lb_corrections_prepare(LbAccess *a);

/*
 * Gather the corrections of the read.  Needs the stripe's lock, shared.
 * Returns LB_COLLECTED with a->overlay or a->sums filled and a->fits set;
 * otherwise what the caller has to do after it has released the lock.  *room
 * then is what room the changes need, if it is LB_COLLECT_ROOM.
 */
extern LbCollect lb_corrections_collect(LbAccess *a, LbRef ref,
										const LbLiveBoard *board,
										LbChangesRoom *room);

/*
 * Open a->view of board (NULL: it has no rows), through what
 * lb_corrections_collect() has left.  Needs the stripe's lock, shared.
 * Returns false if the corrections do not fit the index.
 */
extern bool lb_corrections_open_view(LbAccess *a, const LbLiveBoard *board);

/*
 * Make room for n changes of a stride.  Returns false if there is no memory.
 */
extern bool lb_corrections_make_room(int n, int stride);

/* The same for n corrections of distinct scores, and whether there is. */
extern bool lb_corrections_make_deltas(int n);
extern bool lb_corrections_has_deltas(int n);

/*
 * Have others' changes added to sums from now on.  Returns false if there is
 * no memory.  The caller holds no lock.
 */
extern bool lb_corrections_use_sums(LbAccess *a);

/*
 * Whether gathering more for a board with this number of members is quicker
 * than the query.  Needs no lock.
 */
extern bool lb_corrections_worth_it(const LbAccess *a, uint64 members);

/* Whether an earlier read of this snapshot has found that it is not. */
extern bool lb_corrections_too_many(const LbAccess *a);

/* Whether the read before this one was of the same board and snapshot. */
extern bool lb_corrections_again(const LbAccess *a);

/* _PG_init: have the corrections forgotten at the end of transactions. */
extern void lb_corrections_init(void);

#endif							/* LB_CORRECTIONS_H */
