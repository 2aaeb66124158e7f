/*-------------------------------------------------------------------------
 *
 * options.h
 *	  The options of boards.
 *
 * An option is an argument of lb_create_board() and a column of lb_board, both
 * of that name and of type text.  Servers of distributed tables tell each
 * other all of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_OPTIONS_H
#define LB_OPTIONS_H

#include "boards/definition.h"

typedef struct LbBoardOption
{
	const char *name;
	bool		required;		/* null is an error */
	bool		of_index;		/* a board with another value is another board */
	bool		of_columns;		/* it names columns */

	/*
	 * What is recorded of a definition, perhaps palloc'd.  NULL is null, and
	 * the empty string what cannot be parsed.
	 */
	const char *(*text) (const LbDefinition *defn);
} LbBoardOption;

extern const LbBoardOption lb_board_options[LB_NOPTIONS];

/*
 * Set the options of a new definition that has its source, with columns in the
 * current memory context.  texts, by LbOption, are arguments, or NULL.  If the
 * board must have a member and none is given, default_member names a column,
 * for a definition that has the source and the board columns.  Raises what is
 * wrong with the arguments, and what a catalog lookup can raise.
 */
extern void lb_set_options(LbDefinition *defn, char *const *texts,
						   const char *(*default_member) (const LbDefinition *family));

/*
 * The same from a row of lb_board.  Users may have written lb_board by hand.
 * A list that cannot be parsed becomes a column without a name, which no table
 * has: it is a problem of that board, and must not fail a write to the board's
 * table.
 */
extern void lb_read_options(LbDefinition *defn, char *const *texts);

/*
 * Add the columns of rank_by to a new definition, before all others.  Raises
 * what lb_parse_rank_by() finds wrong.
 */
extern void lb_add_rank_by(LbDefinition *defn, const char *rank_by);

/*
 * Add the columns of the member to a new definition that has its source, after
 * those of rank_by; behind them the board column, and ranked_if.  A text that
 * is the name of a column as it stands, "Player Id", is that column.  Raises
 * what the parser of the list (lists.h) finds wrong, and what a catalog lookup
 * can raise.
 */
extern void lb_add_member(LbDefinition *defn, const char *member);
extern void lb_add_board_column(LbDefinition *defn, const char *column);
extern void lb_add_ranked_if(LbDefinition *defn, const char *condition);

/*
 * Whether a board that keeps this has counts.  Raises 22023 if no board can
 * keep it.
 */
extern bool lb_keeps_counts(const char *keeps);

/* The policy that a text is.  Raises 22023 if it is none. */
extern LbPolicy lb_offline_from_text(const char *offline);

#endif							/* LB_OPTIONS_H */
