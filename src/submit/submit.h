/*-------------------------------------------------------------------------
 *
 * submit.h
 *	  Submitting scores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUBMIT_H
#define LB_SUBMIT_H

#include "fmgr.h"

#include "submit/submission.h"

/*
 * Setting, in seconds: how far a submit may be ahead; below 0 there is no
 * bound.
 */
extern int	lb_max_clock_skew;

/*
 * lb_submit() with the arguments of fcinfo; the first is the player, of which
 * argument says what to call it and whether it is text.  Fills the caller's
 * set of rows.  Raises what docs/reference.md lists.
 */
extern Datum lb_submit_as(FunctionCallInfo fcinfo,
						  const LbPlayerArgument *argument);

/* Define the settings of this folder; from _PG_init. */
extern void lb_submit_init(void);

/* Setting: lb_submit() returns ranks. */
extern bool lb_submit_ranks;

/*
 * Begin a call for a leaderboard, with its own operation.  Raises 42704, and
 * what lb_require_both_tables() does.
 */
extern void lb_begin_call(LbSubmitCall *call, const char *leaderboard);

/*
 * The player of an item, as the table of its board stores it.  Raises what
 * lb_player_from() and lb_player_as_stored() do.
 */
extern void lb_set_player(const LbSubmitTarget *t, LbSubmitItem *item,
						  Datum value, const LbPlayerArgument *argument);

/*
 * The time of a submit.  Raises 22008 if it is infinite, or further ahead of
 * the clock than lb_max_clock_skew.
 */
extern void lb_set_time(LbSubmitCall *call, TimestampTz at);

/*
 * The match of an item, from a text, or 0 if it has none; raises 22001 if it
 * is too long.
 */
extern void lb_set_match(LbSubmitItem *item, Datum match_id);

/*
 * Submit one item to the boards that were found, and fill the caller's set of
 * rows.  Between SPI_connect and SPI_finish; raises as lb_submit().
 */
extern void lb_submit_one(FunctionCallInfo fcinfo, LbSubmitTarget *t,
						  LbSubmitItem *item);

/* Arguments of lb_submit(), which lb_submit_many() has too, but for boards. */
enum
{
	LB_ARG_PLAYER,
	LB_ARG_AMOUNT,
	LB_ARG_OP,
	LB_ARG_MATCH_ID,
	LB_ARG_AT
};

/*
 * Check the arguments that all functions have, and begin a call.  The first
 * arguments have these names where they must not be null; leaderboard_arg is
 * the number of the argument "leaderboard", and op_hint what the error of a
 * wrong operation adds to its hint.  Raises what docs/reference.md lists.
 */
extern void lb_begin_submit(FunctionCallInfo fcinfo, LbSubmitCall *call,
							const LbPlayerArgument *argument,
							const char *const *names, int leaderboard_arg,
							const char *op_hint);

/*
 * Lock what the items' players have joined, and windows against being closed.
 * This can leave out boards.  Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_lock_boards(LbSubmitTarget *t, LbSubmitItem *items, int nitems);

/*
 * Write the submission, check it against the limits, and log it.  With answer,
 * also read what lb_submit() returns.  Raises as lb_submit().
 */
extern void lb_apply(LbSubmit *s, bool answer);

/*
 * Lock the boards, and submit n items, whose players are set, to them; returns
 * how many were applied.  Raises as lb_submit_many().
 */
extern int64 lb_submit_all(LbSubmitTarget *t, LbSubmitItem *items, int n);

/*
 * lb_submit_all() without the items that limits refuse.  Returns what became
 * of each item.
 */
extern LbItemOutcome *lb_submit_each_of(LbSubmitTarget *t, LbSubmitItem *items,
										int n);

#endif							/* LB_SUBMIT_H */
