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
 * The key of a member's row of a board in the active snapshot, palloc'd, or
 * NULL if it is not on the board; in is a resolved definition of the same
 * columns, from whose source a query reads it.  The member is as text.
 * Returns false if no key tells its rank.  Raises likewise.
 */
extern bool lb_key_in(const char *board, text *member, LbDefinition *in,
					  int64 **key);

/*
 * The ranks of a member of a distributed table that has just been written:
 * that of its key, and the one that it would have by its former key, without
 * the row that it has now.  NULL is no key, and leaves the rank as it is.
 * Both ranks are as of the same moment of each server, in the active
 * snapshot.  The method is the board's, but not dense_rank.  Raises likewise.
 */
extern void lb_ranks_of_keys(const char *board, LbForm form, Datum member,
							 bool written, const int64 *former,
							 const int64 *key, int64 *former_rank,
							 int64 *rank);

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
