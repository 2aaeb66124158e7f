/*-------------------------------------------------------------------------
 *
 * plans.h
 *	  Queries that the planner may answer by boards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PLANS_H
#define LB_PLANS_H

#include "oracle.h"

#define MAX_PARAMS 9

/* A query while it is made, and then. */
typedef struct Question
{
	const struct Form *form;
	const Table *table;
	const char *value;			/* of its board, or NULL */
	int			open;			/* which of several board columns may have any
								 * value: bits */
	bool		complete;		/* it has all conditions of a board */

	/* While it is made. */
	FILE	   *f;
	const char *alias;			/* of the table */
	const char *outer;			/* of a row of the same table that operands
								 * can come from, or NULL */
	bool		has_where;

	/* Its text. */
	char	   *query;
	char	   *everything;		/* it leaves rows open: without a limit */
	bool		ordered;		/* else it has one answer, in this order */
	int			nparams;		/* $1 ... */
	char	   *params[MAX_PARAMS];
	char	   *types[MAX_PARAMS];
} Question;

/* A form of queries. */
typedef struct Form
{
	const char *name;
	void		(*make) (Question *q);	/* writes the query */
	const char *node;			/* that answers such queries, at least now and
								 * then, or NULL */
	bool		bare;			/* only on tables all of whose rows are on one
								 * board, without a COLLATE clause */
	bool		writes;			/* they write, and return rows */
} Form;

/* plan_forms.c */

extern const Form forms[];
extern const int nforms;

/* Make a query on any board of a table; to be freed by the second. */
extern void make_question(Question *q, const Form *form, const Table *t);
extern void free_question(Question *q);

/* plan_parts.c: what the forms consist of */

/* The columns of the board's order. */
extern int	key_columns(const Table *t);
extern const Column *key_column(const Table *t, int i);

/* Write " WHERE " or " AND ". */
extern void put_and(Question *q);

/* Write the alias and a column. */
extern void put_column(Question *q, const Column *c);

/* Write the first n columns of the key, with commas between. */
extern void put_key(Question *q, int n);

/*
 * Write a column k: the first n columns of the key as one text, by which the rows of a
 * query are compared whose order leaves some open.  -0 and 0 are the same key.
 */
extern void put_k(Question *q, int n);

/* Write " FROM " and the table. */
extern void put_source(Question *q);

/* Which rows of a board a query wants. */
typedef enum Range
{
	RANGE_ANY,
	RANGE_ALL,
	RANGE_SCORE,				/* comparisons of the score */
	RANGE_ROW,					/* a comparison of rows */
	RANGE_PREFIX				/* equal first columns, and the next one */
} Range;

/*
 * Write the condition for the table's rows to be those of the board, now and then with
 * a part missing or with one too many; and that for a range.
 */
extern void put_board(Question *q);
extern void put_range(Question *q, Range range);

/*
 * Write conditions that the first columns of the key equal operands, and one on the next
 * column whose rows are in several places of the order.
 */
extern void put_scattered(Question *q, int nequal);

/* Write a comparison of a column with operands. */
extern void put_comparison(Question *q, const Column *c);

/* Write parts of the former; the first for those board columns that are not open. */
extern void put_group(Question *q);
extern void put_not_null(Question *q, const Column *c);

/* Write a parameter; there must be room for one. */
extern void put_param(Question *q, const char *type, const char *text);

/* Write what a column can be compared with. */
extern void put_operand(Question *q, const Column *c);

/* Write a number of rows. */
extern void put_number(Question *q, int n);

/* Write LIMIT, and now and then OFFSET. */
extern void put_limit(Question *q);

/* Write " ORDER BY " and the first n columns of the key. */
extern void put_order_by(Question *q, int n, bool reverse);

/* What has been written is the query of everything. */
extern void mark_everything(Question *q);

/* plan_aggregates.c, plan_pages.c, plan_ranked.c: the forms */

extern void make_count(Question *q);
extern void make_count_column(Question *q);
extern void make_count_distinct(Question *q);
extern void make_ends(Question *q);
extern void make_percentile(Question *q);
extern void make_hypothetical(Question *q);
extern void make_row_rank(Question *q);
extern void make_several(Question *q);
extern void make_row_range(Question *q);
extern void make_prefix_range(Question *q);
extern void make_correlated(Question *q);
extern void make_per_value(Question *q);
extern void make_in_cte(Question *q);
extern void make_in_union(Question *q);
extern void make_limited_count(Question *q);
extern void make_several_boards(Question *q);
extern void make_exists(Question *q);
extern void make_other_aggregate(Question *q);

extern void make_update(Question *q);
extern void make_delete(Question *q);
extern void make_insert(Question *q);

extern void make_page(Question *q);
extern void make_open_page(Question *q);
extern void make_ties(Question *q);
extern void make_keyset(Question *q);
extern void make_lateral_page(Question *q);
extern void make_counted_page(Question *q);
extern void make_union_page(Question *q);
extern void make_filtered_page(Question *q);
extern void make_stream(Question *q);
extern void make_joined_page(Question *q);
extern void make_appended_page(Question *q);
extern void make_window(Question *q);
extern void make_distinct(Question *q);
extern void make_distinct_on(Question *q);
extern void make_partly_ordered(Question *q);
extern void make_ordered_aggregate(Question *q);
extern void make_equal_rows(Question *q);
extern void make_other_page(Question *q);

extern void make_ranked_member(Question *q);
extern void make_ranked_join(Question *q);
extern void make_ranked_self(Question *q);
extern void make_ranked_range(Question *q);
extern void make_ranked_page(Question *q);
extern void make_ranked_top(Question *q);
extern void make_ranked_count(Question *q);
extern void make_ranked_total(Question *q);
extern void make_ranked_cte(Question *q);

/* plans.c */

/* The tables are going to be other ones. */
extern void forget_questions(void);

/*
 * Compare the ways of some random queries on a table.  With a steady snapshot, they
 * may take more than one statement.  Returns false after an expected error.
 */
extern bool compare_plans(const Table *t, int n, bool steady);

/* The same through cursors, with changes in between; held ones end the transaction. */
extern bool compare_plans_through_cursors(const Table *t);
extern void compare_plans_through_held_cursors(const Table *t);

/*
 * When no transaction runs: fail if there is a form that no board answers, though it
 * is to be recognized.
 */
extern void check_forms(void);

/* Plans are kept while the definition of their board changes, by hand. */
extern void check_stale_plans(void);

/* Print how many queries of each form were answered by a board. */
extern void print_forms(void);

#endif							/* LB_PLANS_H */
