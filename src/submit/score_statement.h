/*-------------------------------------------------------------------------
 *
 * score_statement.h
 *	  The statements on tables of scores: their texts and their plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCORE_STATEMENT_H
#define LB_SCORE_STATEMENT_H

#include "boards/definition.h"
#include "leaderboards/window.h"
#include "sql/spi.h"

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
}			LbScoreKind;

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
}			LbScoreStatement;

/* Whether a table has a column that submits set to their time. */
extern bool lb_has_updated_at(const LbDefinition *defn);

/*
 * Run a statement, with the caller's privileges or the owner's, as
 * lb_plan_exec().  Between SPI_connect and SPI_finish; raises what the users'
 * tables and triggers raise.
 */
extern uint64 lb_run_scores(const LbScoreStatement * st, int nargs,
							const LbArg * args);

#endif							/* LB_SCORE_STATEMENT_H */
