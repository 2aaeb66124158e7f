/*-------------------------------------------------------------------------
 *
 * score_rows.h
 *	  Rows of scores that statements return, and reading those that are
 *	  missing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCORE_ROWS_H
#define LB_SCORE_ROWS_H

#include "submit/submission.h"

/* An array of n players. */
extern LbArg lb_players_arg(const LbSubmit *s, Datum *players, int n);

/*
 * Note the scores that a statement has returned, which has written them or
 * read them, and whether the players are ranked.  Frees SPI_tuptable.
 */
extern void lb_take_scores(LbSubmit *s, bool written);

/*
 * Read the scores of n boards, from number first on, that no statement has
 * returned yet.  They are all windows, or the leaderboard's board alone.
 * Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_read_missing_scores(LbSubmit *s, int first, int n);

#endif							/* LB_SCORE_ROWS_H */
