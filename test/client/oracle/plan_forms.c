/*-------------------------------------------------------------------------
 *
 * plan_forms.c
 *	  The forms of queries that the planner may answer by boards.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "plans.h"

const Form	forms[] = {
	{"count", make_count, "Aggregate", false, false},
	{"count of a column", make_count_column, "Aggregate", false, false},
	{"count of distinct scores", make_count_distinct, "Aggregate", false, false},
	{"min and max", make_ends, "Aggregate", false, false},
	{"percentile_disc", make_percentile, "Aggregate", false, false},
	{"rank of a score", make_hypothetical, "Aggregate", false, false},
	{"rank of several columns", make_row_rank, "Aggregate", false, false},
	{"several aggregates", make_several, "Aggregate", false, false},
	{"aggregates of a range of rows", make_row_range, "Aggregate", false, false},
	{"aggregates with equal first columns", make_prefix_range, "Aggregate", false, false},
	{"aggregates for each row", make_correlated, "Aggregate", false, false},
	{"aggregates for each value", make_per_value, "Aggregate", false, false},
	{"aggregates in a WITH query", make_in_cte, "Aggregate", false, false},
	{"aggregates in a set operation", make_in_union, "Aggregate", false, false},
	{"count up to a limit", make_limited_count, "Aggregate", false, false},
	{"aggregates of several boards", make_several_boards, "Aggregate", false, false},
	{"EXISTS", make_exists, "Aggregate", false, false},
	{"aggregates that no board knows", make_other_aggregate, NULL, false, false},
	{"UPDATE with aggregates", make_update, "Aggregate", false, true},
	{"DELETE with aggregates", make_delete, "Aggregate", false, true},
	{"INSERT with aggregates", make_insert, "Aggregate", false, true},

	{"page", make_page, "Page", false, false},
	{"page by some columns", make_open_page, "Page", false, false},
	{"page with ties", make_ties, "Page", false, false},
	{"page after a row", make_keyset, "Page", false, false},
	{"page for each value", make_lateral_page, "Page", false, false},
	{"aggregates of a page", make_counted_page, "Page", false, false},
	{"pages in a set operation", make_union_page, "Page", false, false},
	{"page with other conditions", make_filtered_page, "Scan", false, false},
	{"all rows in order", make_stream, "Scan", false, false},
	{"page of a join", make_joined_page, "Scan", false, false},
	{"page of two queries", make_appended_page, "Scan", true, false},
	{"window in order", make_window, "Scan", false, false},
	{"distinct scores in order", make_distinct, "Scan", false, false},
	{"best rows of each score", make_distinct_on, "Scan", false, false},
	{"rows partly in order", make_partly_ordered, "Scan", false, false},
	{"aggregates in order", make_ordered_aggregate, "Scan", false, false},
	{"rows with equal scores", make_equal_rows, "Scan", false, false},
	{"page in another order", make_other_page, NULL, false, false},

	{"ranked row of a member", make_ranked_member, "Rank", false, false},
	{"ranked rows of a join", make_ranked_join, "Rank", false, false},
	{"ranked row for each row", make_ranked_self, "Rank", false, false},
	{"ranked rows of a range", make_ranked_range, "Rank", false, false},
	{"ranked rows in order", make_ranked_page, "Rank", false, false},
	{"page with ranks", make_ranked_top, "Rank", false, false},
	{"aggregates of ranked rows", make_ranked_count, "Rank", false, false},
	{"aggregates of a subquery", make_ranked_total, "Aggregate", false, false},
	{"ranked rows in a WITH query", make_ranked_cte, "Rank", false, false},
};
const int	nforms = LENGTH(forms);

void
make_question(Question *q, const Form *form, const Table *t)
{
	Look		look = any_look(t);
	size_t		size;

	memset(q, 0, sizeof(Question));
	q->form = form;
	q->table = t;
	q->value = look.value;
	q->complete = percent(80);
	q->alias = "p";
	q->f = open_memstream(&q->query, &size);
	if (q->f == NULL)
		out_of_memory();
	form->make(q);
	fclose(q->f);
	q->f = NULL;
}

void
free_question(Question *q)
{
	free(q->query);
	free(q->everything);
	for (int i = 0; i < q->nparams; i++)
	{
		free(q->params[i]);
		free(q->types[i]);
	}
	memset(q, 0, sizeof(Question));
}
