/*-------------------------------------------------------------------------
 *
 * applied.h
 *	  Matches that have been submitted already: lb_applied.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_APPLIED_H
#define LB_APPLIED_H

#include "submit/submission.h"

/* A row that lb_submit() returns. */
typedef struct LbAnswer
{
	const char *board;
	bool		has_score;
	bool		has_rank;
	bool		has_previous;
	int64		score;
	int64		rank;
	int64		previous;
} LbAnswer;

/* A row of a submit that was forwarded, without ranks. */
typedef struct LbForwarded
{
	LbAnswer	answer;
	bool		applied;
	bool		repeated;		/* the match had been submitted before */
} LbForwarded;

/*
 * Enter the matches of all items in lb_applied, and drop the items whose match
 * is there.  Locks the new rows, and waits for those of other transactions.
 * Between SPI_connect and SPI_finish, as the other two.
 */
extern void lb_claim_matches(LbSubmit *s);

/* Keep the rows that are returned for a match, to return them again for it. */
extern void lb_keep_answers(const LbSubmit *s, const LbSubmitItem *item,
							const LbAnswer *answers,
							int n);

/*
 * What was returned for a match, palloc'd.  Returns their number: 0 if they
 * have not been kept, or if they are of boards that the caller may not read.
 */
extern int	lb_kept_answers(const LbSubmit *s, const LbSubmitItem *item,
							LbAnswer **answers);

#endif							/* LB_APPLIED_H */
