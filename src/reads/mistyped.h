/*-------------------------------------------------------------------------
 *
 * mistyped.h
 *	  Names of boards that look mistyped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MISTYPED_H
#define LB_MISTYPED_H

#include "boards/target.h"

/* leaderboard.unknown_board */
enum
{
	LB_UNKNOWN_NOTICE,
	LB_UNKNOWN_ERROR,
	LB_UNKNOWN_IGNORE
};

extern int	lb_unknown_board;

/*
 * If the name that led to target looks like that of a mistyped family, give a
 * notice, once in a session, or raise 42704, as leaderboard.unknown_board
 * says.  target->prefix_len must not be 0.
 *
 * Does nothing if it cannot know quickly and for sure: if the first part is
 * longer than a name, if the transaction has written to the table, or if the
 * role may not read it.
 *
 * Returns true if an invalidation may have been processed, so that the target
 * must be looked up again.
 */
extern bool lb_check_prefix(LbTarget *target);

#endif							/* LB_MISTYPED_H */
