/*-------------------------------------------------------------------------
 *
 * expressions.h
 *	  Expressions of a new board: analysis, and the objects that keep them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_EXPRESSIONS_H
#define LB_EXPRESSIONS_H

#include "postgres.h"

#include "utils/rel.h"

#include "boards/definition.h"
#include "sql/args.h"

/*
 * Lock what the expressions of a new definition name, as lb_lock_named(),
 * before the table is locked.  Raises what the parser raises.
 */
extern void lb_lock_expressions(const LbDefinition *defn, Oid source);

/*
 * Analyze the expressions of a new definition on a table that is open.  Each
 * gets its tree, LbExpression.kept, and its canonical text; one that is a
 * column in parentheses becomes a column.  Raises what the parser raises, and
 * 0A000 or 42P17 if a board cannot have the expression.
 */
extern void lb_analyze_expressions(LbDefinition *defn, Relation rel);

/*
 * Make the statistics objects that keep analyzed expressions, for the owner of
 * the table.  Between SPI_connect and SPI_finish.  Raises what CREATE
 * STATISTICS raises.
 */
extern void lb_keep_expressions(LbDefinition *defn, Oid owner);

/* Drop these objects, as far as they are there.  Can raise. */
extern void lb_drop_expressions(const LbDefinition *defn);

/*
 * Give these objects the owner of the table, and have ANALYZE collect nothing
 * for them.  Can raise.
 */
extern void lb_tidy_expressions(const LbDefinition *defn);

/* Their names as lb_board has them: null if there are none. */
extern LbArg lb_names_of_expressions(const LbDefinition *defn);

/*
 * Give each expression of a definition in a caller's memory the text that it
 * has now.  Raises what a catalog lookup can raise.
 */
extern void lb_refresh_expressions(LbDefinition *defn);

/* Whether an object is not there that should keep a recorded expression. */
extern bool lb_lacks_expressions(const LbDefinition *defn);

/*
 * Make the objects of recorded expressions that are not there, from their
 * texts, as after a restore of lb_board alone.  Returns whether any was
 * missing.  The table must be locked in ShareRowExclusiveLock; between
 * SPI_connect and SPI_finish.  Raises as the functions above.
 */
extern bool lb_mend_expressions(const LbDefinition *defn);

#endif							/* LB_EXPRESSIONS_H */
