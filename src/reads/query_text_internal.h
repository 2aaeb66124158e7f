/*-------------------------------------------------------------------------
 *
 * query_text_internal.h
 *	  What the files of query_text.h share.
 *
 * The top comment of query_text.c says what B, O, P and K are.  The functions
 * append to the text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_QUERY_TEXT_INTERNAL_H
#define LB_QUERY_TEXT_INTERNAL_H

#include "lib/stringinfo.h"

#include "reads/query_text.h"

/* A text under way. */
typedef struct LbText
{
	StringInfoData buf;
	const LbDefinition *defn;
	const LbQuery *query;
	LbMethod	method;
	bool		own_types;
	int			nparams;		/* without the board's values */
	int			given;			/* the number of parameters before P's rank_by
								 * columns, or the first key's of a page; -1:
								 * these are subqueries */
	int			ncompared;		/* columns of O that lb_text_beside() looks at */
	bool		key;			/* P is the key that is the operands */
} LbText;

/* What is in the place of the i-th column of members, from 0. */
typedef void (*LbTextMember) (LbText *t, int i);

/*
 * A column of a relation.  An expression is evaluated only for rows that
 * ranked_if is true for, since for others it could raise an error.
 */
extern void lb_text_column(LbText *t, const char *alias, const LbColumn *column);

/*
 * Returns what follows a column where it is ordered: texts are in order of
 * their bytes.
 */
extern const char *lb_text_collation(const LbColumn *column);

/* The same to be ordered by. */
extern void lb_text_ordered(LbText *t, const char *alias, const LbColumn *column);

/* All columns of the member, each as append makes it. */
extern void lb_text_members(LbText *t, const char *separator, LbTextMember append);

/*
 * Returns the number of the parameter of the i-th column of the operand that
 * is a member.
 */
extern int	lb_text_param(LbText *t, int i);

/*
 * FROM source WHERE the row is in B; with prefix, in B of any board of the
 * family whose value begins with $1.  More conditions can follow with AND.
 *
 * Children of a plain table by inheritance are not part of the board: neither
 * its unique index nor its triggers reach them.
 */
extern void lb_text_from(LbText *t, const char *alias, bool prefix);

/* O; reverse reads it backwards. */
extern void lb_text_order(LbText *t, const char *alias, bool reverse);

/* The i-th column of t's member is that of the operand. */
extern void lb_text_is_member(LbText *t, int i);

/* A key column of P; of the member, the operand.  Or one of K. */
extern void lb_text_lookup(LbText *t, int column);

/* A column of K.  A subquery converts a text once, not for each row. */
extern void lb_text_given(LbText *t, int column);

/*
 * The condition that t comes before P in O, or that it does not, judged by
 * the columns from the given one on.
 *
 * If these all ascend, as the member does, it is a row comparison.  Otherwise
 * the column is compared twice, since an index scan can only begin at a
 * comparison that is joined to the others by AND.  Where P's columns are
 * parameters, a server's planner that gets the text shall recognize a key
 * (keyset.c): below the first column it takes equalities, not row comparisons.
 */
extern void lb_text_beside(LbText *t, int column, bool before);

#endif							/* LB_QUERY_TEXT_INTERNAL_H */
