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

/*
 * What lb_rank() would return in the active snapshot, for a transaction that is
 * about to write.  member is of the board's member_type.  Returns false, at once, if the board is offline, is being
 * built, or is settling a large transaction.
 *
 * *isnull is set if the member is not on the board.  *has_score is set if the
 * index has answered; then *score is the member's score.  Raises what the query
 * may raise, and what lb_find_target() may.
 */
extern bool lb_rank_now(const char *board, int len, Datum member,
						int64 *rank, bool *isnull, int64 *score,
						bool *has_score);

/* A row of lb_top() or lb_ranks(); a rank of 0 is none. */
typedef struct LbRow
{
	int64		rank;
	int64		member;
	int64		score;
} LbRow;

/*
 * What lb_top() and lb_ranks() would return in the active snapshot, with the
 * current user's rights.  lb_read_top() allocates *rows and returns how many
 * there are; lb_read_ranks() fills in a row for each of n members, in their
 * order.  They raise what those functions raise.
 */
extern int	lb_read_top(const char *board, int len, int n, LbRow **rows);
extern void lb_read_ranks(const char *board, int len, const int64 *members,
						  int n, LbRow *rows);

#endif							/* LB_READ_H */
