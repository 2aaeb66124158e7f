/*-------------------------------------------------------------------------
 *
 * entrants.h
 *	  Submits to windows that players join: lb_entrant.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ENTRANTS_H
#define LB_ENTRANTS_H

#include "submit/submission.h"

/*
 * Take the boards of a submit whose players join them from those who have
 * not: close a board that the caller has named and none of the items' players
 * has joined, leave out one that is not named, and set items' joined.  Locks
 * the rows of lb_entrant.  Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_lock_entrants(LbSubmitTarget *t, LbSubmitItem *items,
							 int nitems);

#endif							/* LB_ENTRANTS_H */
