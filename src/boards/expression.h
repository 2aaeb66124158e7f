/*-------------------------------------------------------------------------
 *
 * expression.h
 *	  Expressions in the place of columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_EXPRESSION_H
#define LB_EXPRESSION_H

#include "postgres.h"

#include "access/attmap.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"

#include "boards/keys.h"

/* What an expression belongs to. */
typedef struct LbExpressionOwner
{
	char		board[NAMEDATALEN]; /* for messages */
	Oid			role;			/* the owner of the table */
} LbExpressionOwner;

/* An expression over the columns of one row. */
typedef struct LbExpression
{
	char	   *text;			/* as lb_board has it, in parentheses */
	char	   *statistics;		/* name of the statistics object that keeps
								 * it, or NULL: none does yet */

	/*
	 * What follows is resolved, in a memory context of its own.  If context
	 * is NULL, that object is not there.
	 */
	MemoryContext context;
	LbExpressionOwner owner;
	Node	   *kept;			/* of a table that is range table entry 1 */
	Expr	   *simplified;		/* the same as the planner simplifies it */
	bool		is_mutable;
	bool		trusted;		/* it calls functions of PostgreSQL's only */
	bool		checks;			/* a domain's constraints */
	Bitmapset  *attnos;			/* columns that it reads */
	List	   *functions;		/* OIDs of those that it calls */
	List	   *schemas;		/* OIDs of those that its text names, but of
								 * functions */

	/* Its evaluation, made when it is first needed. */
	MemoryContext state_context;
	ExprState  *state;			/* NULL: none yet */
	bool		running;		/* it is; not known of a trusted one */
} LbExpression;

/*
 * Make an expression that is not resolved, of its text, with parentheses or
 * without, in the current memory context.
 */
extern LbExpression *lb_make_expression(const char *text, int len);

/* Copy what is recorded of an expression to the current memory context. */
extern LbExpression *lb_copy_expression(const LbExpression *expression);

/* Free such a copy. */
extern void lb_free_expression(LbExpression *expression);

/*
 * The end of a text in parentheses that begins at p, or NULL if a parenthesis
 * or a quote is not closed.
 */
extern const char *lb_parentheses_end(const char *p);

/*
 * The tree that a statistics object of a table keeps, palloc'd; NULL if there
 * is no such object.  Raises what a catalog lookup can raise.
 */
extern Node *lb_kept_expression(Oid table, const char *statistics);

/* That object, or InvalidOid.  Raises likewise. */
extern Oid	lb_kept_object(Oid table, const char *statistics);

/*
 * Resolve an expression of a table, into a child of a memory context.  What it
 * was resolved to before is kept as long as that, or, if the context is that
 * of a cache, until the end of the transaction.  Raises what simplifying it
 * can raise.
 */
extern void lb_resolve_expression(LbExpression *expression, Oid table,
								  const LbExpressionOwner *owner,
								  MemoryContext parent, bool cached);

/*
 * A copy of a resolved expression, in the current memory context, for a
 * partition whose columns have these numbers; NULL: the same ones.
 */
extern LbExpression *lb_map_expression(const LbExpression *expression,
									   const AttrMap *map);

/*
 * An expression of a table as SQL text, palloc'd, in parentheses; what it
 * means depends on search_path as far as that is not pg_catalog, pg_temp.
 * With an alias, the columns are qualified by it.  Raises what a catalog
 * lookup can raise.
 */
extern char *lb_expression_sql(Node *expr, Oid table, const char *alias);

/*
 * Whether an expression calls functions of PostgreSQL's only: what others do
 * can change.
 */
extern bool lb_is_trusted(Node *expr);

/*
 * Evaluate a resolved expression for a row, with the rights of the table's
 * owner unless it is trusted.  The result is in the current memory context, or
 * in the slot's.  Raises what the expression raises, with the board as
 * context.
 */
extern Datum lb_evaluate(LbExpression *expression, TupleTableSlot *slot,
						 bool *isnull);

/* What a row has in a column of its board.  Raises as lb_evaluate(). */
static inline Datum
lb_column_value(const LbColumn *column, TupleTableSlot *slot, bool *isnull)
{
	if (unlikely(column->expression != NULL))
		return lb_evaluate(column->expression, slot, isnull);
	return slot_getattr(slot, column->attno, isnull);
}

#endif							/* LB_EXPRESSION_H */
