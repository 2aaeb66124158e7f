/*-------------------------------------------------------------------------
 *
 * read.h
 *	  Reads by the extension's own code.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_READ_H
#define LB_READ_H

#include "postgres.h"

#include "reads/call.h"

/* What lb_rank_now() has found out; false where it does not know. */
typedef struct LbRankNow
{
	bool		has_rank;		/* the member is on the board */
	int64		rank;
	bool		has_score;		/* the index has answered */
	int64		score;			/* if it is of an integer type */
} LbRankNow;

/*
 * What lb_rank(), or lb_rank_key(), would return in the active snapshot, for a
 * transaction that is about to write.  Does not answer, and returns at once,
 * if the board is offline, is being built, or is settling a large
 * transaction.  written is as in LbCall.  Raises what the query may raise, and
 * what lb_find_target() may.
 */
extern void lb_rank_now(const char *board, LbForm form, Datum member,
						bool written, LbRankNow *now);

/*
 * A row of lb_top_key() or lb_ranks_key(), palloc'd.  A member that is not on
 * the board has no rank, 0, and no score, NULL.
 */
typedef struct LbRow
{
	int64		rank;
	char	   *member;
	char	   *score;
} LbRow;

/*
 * What lb_top_key() and lb_ranks_key() would return in the active snapshot,
 * with the current user's rights.  Returns how many rows there are; of
 * lb_read_ranks(), one for each of n members, in their order.  They raise what
 * those functions raise.
 */
extern int	lb_read_top(const char *board, int n, LbRow **rows);
extern int	lb_read_ranks(const char *board, char *const *members, int n,
						  LbRow **rows);

#endif							/* LB_READ_H */
