/*-------------------------------------------------------------------------
 *
 * memory.h
 *	  What the launcher does about the memory of all boards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEMORY_H
#define LB_MEMORY_H

#include "postgres.h"

#include "boards/shared.h"

/*
 * Put leaderboard.memory into force as it is set now, and log what has
 * changed.  Returns whether boards may take more than before.  Takes the
 * arena's lock.
 */
extern bool lb_apply_memory_limit(void);

/*
 * Note a board's size after its build, from where growth is counted.  Needs
 * the directory's lock.
 */
extern void lb_note_growth(LbSharedBoard *shared);

/*
 * Log a warning when 80 or 95 % of the memory is used, with the boards that
 * have grown most.  Takes the arena's lock, and the directory's.
 */
extern void lb_warn_memory(void);

/*
 * Have some memory that is in use replaced by huge pages.  Returns whether
 * there is more to do.  Takes the arena's lock.
 */
extern bool lb_collapse_pages(void);

#endif							/* LB_MEMORY_H */
