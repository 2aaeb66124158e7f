/*-------------------------------------------------------------------------
 *
 * quals.h
 *	  Recognizing what the quals of a query ask of a board.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_QUALS_H
#define LB_QUALS_H

#include "postgres.h"

#include "planner/columns.h"

/*
 * The quals of a query on a board, by what they are to the board.  Lists are
 * palloc'd, and their expressions are the query's own.
 */
typedef struct LbQuals
{
	List	   *clauses;		/* on columns of the key, column first */
	List	   *conds;			/* a list of integers for each that limits the
								 * key: see lb_make_cond() */
	List	   *operands;		/* a list of expressions for each of these:
								 * with one more than operands, the qual is
								 * optional, and limits the key unless the
								 * last one is true */
	int			nequal;			/* first columns of the key that equal an
								 * operand each */
	List	   *enclosed;		/* other clauses, whose rows conds enclose */
	Expr	   *board;			/* the clauses on the board columns, or NULL
								 * unless all have one */
	Expr	   *boards[LB_MAX_VALUE_COLUMNS];	/* each of them ... */
	Expr	   *values[LB_MAX_VALUE_COLUMNS];	/* ... and what it equals */
	int			open;			/* a bit for each place of a board column that
								 * may have several values; the one above is a
								 * null constant then */
	Expr	   *unless;			/* the clause is optional: if this is true,
								 * rows of all boards satisfy it; or NULL */
	bool		policy;			/* the clause that is being sorted is one of a
								 * policy */
	List	   *one_time;		/* clauses that do not depend on the row */
	Expr	   *ranked_if;		/* the clause on ranked_if, or NULL */
	Bitmapset  *not_null;		/* columns that are not null in rows that
								 * satisfy the clauses */
	bool		complete;		/* the rows are those of the board only while
								 * none is off it: lb_quals_imply_board() */
} LbQuals;

/*
 * Sort the quals of a query, clauses or RestrictInfos, into *quals.  Returns
 * false if one of them is no qual on the board's columns by which a range of
 * the board's order follows.  With others, those on other columns are added to
 * that list instead; but not those of policies, which say which board it is,
 * or do not depend on the row.
 */
extern bool lb_sort_quals(const LbSource *source, const LbDefinition *defn,
						  List *clauses, LbQuals *quals, List **others);

/*
 * Whether the rows that satisfy the quals are rows of one board: no column of
 * the key is null in them, ranked_if is true, and the board is known.  With
 * score_null, rows whose score is null do not matter.
 *
 * If the quals do not say that of the rows that are off the board, this sets
 * quals->complete, and returns whether there are no such rows now.  The node
 * must look for them in its snapshot.
 */
extern bool lb_quals_imply_board(const LbSource *source, LbDefinition *defn,
								 LbQuals *quals, bool score_null);

/*
 * Whether conditions, LbQuals.conds, limit the score and no other column:
 * distinct scores are counted up to a score only.
 */
extern bool lb_limits_score_only(const List *conds);

/*
 * Enter the clause on the board column at that place, and what it equals, or
 * NULL.  Returns false if there is one.
 */
extern bool lb_add_board_qual(const LbDefinition *defn, LbQuals *quals,
							  int place, Expr *clause, Expr *value);

/*
 * Leave the board columns open that have no clause, if some have one.  Returns
 * whether the rows that satisfy the quals are then those of boards with any
 * values of these columns: they are not null, and no text, which could be too
 * long for an index.  Does nothing if all have a clause.
 */
extern bool lb_open_board_columns(const LbSource *source,
								  const LbDefinition *defn, LbQuals *quals);

/* How many values of board columns the quals tell, the first ones. */
extern int	lb_count_values(const LbQuals *quals);

/*
 * Whether equal values of the board column have the same bytes, under a
 * collation.  If texts have none, those of the two sides conflict, which is an
 * error of the query.  Can raise what a catalog lookup can raise.
 */
extern bool lb_is_plain_equality(Oid collation, Oid type);

/*
 * A qual as range.h takes it: columns first .. first + list_length(types) - 1.
 */
extern List *lb_make_cond(int first, int strategy, List *types);

/* Whether such a qual, with its list of LbQuals.operands, is optional. */
extern bool lb_is_optional_cond(const List *cond, const List *operands);

#endif							/* LB_QUALS_H */
