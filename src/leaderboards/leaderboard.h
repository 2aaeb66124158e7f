/*-------------------------------------------------------------------------
 *
 * leaderboard.h
 *	  Leaderboards: a board of scores with windows of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LEADERBOARD_H
#define LB_LEADERBOARD_H

#include "boards/definition.h"
#include "leaderboards/window.h"
#include "sql/args.h"

/* The first leaderboard, which always exists; its windows are in "*". */
#define LB_GLOBAL "global"

/*
 * The longest name of a leaderboard in bytes: names of windows begin with it.
 */
#define LB_MAX_LEADERBOARD 32

/* A row of lb_leaderboard.  Valid to the end of the transaction. */
typedef struct LbLeaderboard
{
	char		name[LB_MAX_LEADERBOARD + 1];	/* of the board of scores, too */
	char		family[LB_MAX_LEADERBOARD + 2]; /* of its windows: "kills/" */
	LbOp		op;				/* of submits that name none */
} LbLeaderboard;

/*
 * All leaderboards in the order in which their rows are locked, which is that
 * of their names.  The array is valid until the next invalidation.  Can raise.
 */
extern int	lb_leaderboards(LbLeaderboard ***leaderboards);

/*
 * The names of all their boards in that order, of the scores before the
 * windows, copied.  Returns how many.  Can raise.
 */
extern int	lb_leaderboard_boards(const char ***names);

/* The leaderboard of that name, or NULL.  Can raise. */
extern const LbLeaderboard *lb_leaderboard_find(const char *name, int len);

/* The leaderboard of a name; raises 42704 if there is none. */
extern const LbLeaderboard *lb_require_leaderboard(const char *name);

/*
 * The leaderboard that a window or a key is of, by its name: what is before
 * the first slash, if that is before a colon and a leaderboard's name; else
 * "global".  Can raise.
 */
extern const LbLeaderboard *lb_leaderboard_of_window(const char *name);

/*
 * The leaderboard that has a recorded board, and whether that is the family of
 * its windows; or NULL.  Can raise.
 */
extern const LbLeaderboard *lb_leaderboard_of_board(const char *board,
													bool *windows);

/*
 * The resolved family of the windows of a window's leaderboard.  Raises 42704
 * if it is not recorded, 42501 unless the caller owns its table.
 */
extern const LbDefinition *lb_require_window_owner(const char *name);

/*
 * As lb_window_of_key(), if the window is of this family, whatever keys the
 * rows of its table have.  Can raise.
 */
extern LbWindow *lb_window_in_family(const LbDefinition *family,
									 const char *key, LbSpan *span);

/*
 * Which names are of a family of windows, for a statement, an array of text:
 * what they begin with, and then the leaderboards whose own names, and those
 * that begin with these and a slash, are not of it.  Can raise.
 */
extern LbArg lb_arg_family(const char *family);

/* The condition on a column of names, for this parameter. */
#define LB_IN_FAMILY(column, family) \
	"pg_catalog.starts_with(" column ", (" family ")[1]) AND NOT EXISTS " \
	"(SELECT FROM pg_catalog.unnest((" family ")[2:]) AS o (name) WHERE o.name OPERATOR(pg_catalog.=) " column " " \
	"OR pg_catalog.starts_with(" column ", o.name OPERATOR(pg_catalog.||) '/'))"

#endif							/* LB_LEADERBOARD_H */
