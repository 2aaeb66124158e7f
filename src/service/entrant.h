/*-------------------------------------------------------------------------
 *
 * entrant.h
 *	  Players who have joined windows: lb_entrant.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ENTRANT_H
#define LB_ENTRANT_H

#include "service/submission.h"
#include "service/visit.h"

/*
 * Take the boards of a submit whose players join them from those who have
 * not: close a board that the caller has named and none of the players has
 * joined, leave out one that is not named, and set items' joined.  Locks the
 * rows of lb_entrant.  After the items' players are set.  Between SPI_connect
 * and SPI_finish; can raise.
 */
extern void lb_lock_entrants(LbSubmit *s);

/*
 * Remove the players of windows whose rows are not kept any longer,
 * visit->max_rows at most.  An LbAction.
 */
extern void lb_trim_entrants(LbVisit *visit, const LbDefinition *defn,
							 const char *key);

#endif							/* LB_ENTRANT_H */
