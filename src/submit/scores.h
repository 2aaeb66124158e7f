/*-------------------------------------------------------------------------
 *
 * scores.h
 *	  Scores in the users' tables: the statements that write and read them,
 *	  whether new rows are ranked, and which scores are written.
 *
 * All functions that take a submit or a statement run between SPI_connect and
 * SPI_finish, and can raise what the users' tables and triggers raise.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCORES_H
#define LB_SCORES_H

#include "submit/submission.h"

/* scores_statement.c: statements and their plans */

/*
 * The kinds of statements, with their parameters.  Those of the first two that
 * are not written can be null.
 */
typedef enum LbScoreKind
{
	/*
	 * Write rows: players, amounts, the time; of windows keys, and whether
	 * new rows are ranked; last metadata.  Returns rows as LB_SCORES_READ.
	 */
	LB_SCORES_WRITE,

	/*
	 * Add to a player's scores on the leaderboard's board and in windows: the
	 * player, the amount, the time, a key for each window.  Returns the keys
	 * of the windows that were written.
	 */
	LB_SCORES_ADD_ONE,

	/*
	 * Read the rows of players, and for windows of keys: player, score,
	 * whether ranked, key or null.
	 */
	LB_SCORES_READ,

	/*
	 * Read which players have a row, and whether it is ranked; for windows
	 * only those that are not.  Locks rows of the leaderboard's board.
	 */
	LB_SCORES_HIDDEN
} LbScoreKind;

/* A statement on a table. */
typedef struct LbScoreStatement
{
	LbScoreKind kind;
	const LbDefinition *defn;
	LbOp		op;				/* LB_OP_CHANGE only locks rows */
	bool		hidden;			/* new rows of the leaderboard's board are not
								 * ranked */
	bool		metadata;		/* is written */
	bool		as_owner;		/* with the rights of the table's owner */
	const LbDefinition *windows;	/* of LB_SCORES_ADD_ONE */
	int			nwindows;
} LbScoreStatement;

/* Whether a table has a column that submits set to their time. */
extern bool lb_has_updated_at(const LbDefinition *defn);

/*
 * Run a statement, with the caller's privileges or the owner's, as
 * lb_plan_exec().
 */
extern uint64 lb_run_scores(const LbScoreStatement *st, int nargs,
							const LbArg *args);


/* scores_rows.c: rows that are returned, and missing ones */

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
 */
extern void lb_read_missing_scores(LbSubmit *s, int first, int n);


/* scores_entering.c: players whose first rows a submit inserts */

/*
 * Before anything is written: look up who is hidden, and note which players
 * have no row of the leaderboard's board (s->exists), and for which a new one
 * is not ranked (s->enters).  If there is one player without that row, the
 * player is locked.
 */
extern void lb_find_entering(LbSubmit *s);

/*
 * Of several players: before rows of the leaderboard's board are written, lock
 * those from number first on who have none, a limited number of them; returns
 * the number of the player behind them.  And unlock them.
 */
extern int	lb_lock_entering(LbSubmit *s, int first);
extern void lb_unlock_entering(LbSubmit *s, int first, int end);

/*
 * Before rows of windows are written: find the players that are hidden
 * (s->ranked).  Then tell whether a new row of player number p is ranked.
 */
extern void lb_find_hidden(LbSubmit *s);
extern bool lb_is_ranked_in_windows(const LbSubmit *s, int p);

/*
 * After the rows are written: unlock the player of lb_find_entering(), and
 * hide rows of players who have been hidden meanwhile.
 */
extern void lb_end_entering(LbSubmit *s);


/* scores.c: writing scores, with the caller's privileges */

/*
 * Write a submit of one change by one statement, if it is an increment that
 * all boards get.  Returns false, and writes nothing, if it is not.
 */
extern bool lb_write_single(LbSubmit *s);

/*
 * Write to the leaderboard's board, and then to the windows that are open.
 * The scores of the rows that are written are known afterwards if
 * s->need_scores.
 */
extern void lb_write_scores(LbSubmit *s);
extern void lb_write_windows(LbSubmit *s);

/*
 * Whether a trigger of the user has kept lb_submit()'s change from being
 * written: no row was, and the score is not what the change would leave as it
 * is.
 */
extern bool lb_kept_out(const LbSubmit *s, int board);

#endif							/* LB_SCORES_H */
