/*-------------------------------------------------------------------------
 *
 * rows_pages.c
 *	  Pages, for boards that keep counts.
 *
 * Such a board does not know its rows, but it knows the key at each place, and
 * how many rows come before that key.  So the query reads the rows of a page
 * from the key on, by a B-tree of the table on rank_by and the member if there
 * is one, and it leaves out only rows that tie at the key.  A member's place
 * is the number of rows before its key, and of those before it that tie.
 *
 * Place, ties and rows are of one snapshot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "reads/key.h"
#include "reads/rows.h"
#include "reads/values.h"

static bool
no_rows(const LbCall *call, LbRows *rows)
{
	lb_make_rows(rows, &call->access.target.defn->shape, 0, LB_NO_TAIL);
	return true;
}

/* The rows before a key, with the lock held. */
static int64
rows_before(const LbCall *call, const int64 *key)
{
	const LbView *view = &call->access.view;
	uint64		before;

	lb_view_spans(view, key, view->shape->width, false, &before, NULL);
	return (int64) before;
}

bool
lb_find_page(LbCall *call, int64 skip, int64 n, LbRows *rows)
{
	LbStart    *start = palloc(sizeof(LbStart));
	int64		key[LB_MAX_WIDTH];
	bool		any;

	if (!lb_access_lock(&call->access))
		return false;
	any = n > 0 && skip < (int64) lb_view_members(&call->access.view);
	if (any)
	{
		lb_view_key_at(&call->access.view, skip, key);
		start->n = n;
		start->before = rows_before(call, key);
		start->skip = skip - start->before;
		start->rank = lb_rank_of_word(call, key[0]);
	}
	lb_access_unlock(&call->access);
	if (!any)
		return no_rows(call, rows);
	lb_decode_rank_by(call->access.target.defn, key, start->key);
	call->start = start;
	return false;
}

/*
 * The place of the member that is the first operand, from 0, whose row has
 * been read.  Returns false if the query must be run.
 */
static bool
find_place(LbCall *call, int64 *place)
{
	LbStart		start;
	int64		ties;

	lb_decode_rank_by(call->access.target.defn, call->row_key, start.key);
	ties = lb_call_count_ties(call, &start);
	lb_call_begin_again(call);
	if (call->access.query || !lb_access_lock(&call->access))
		return false;
	*place = rows_before(call, call->row_key) + ties;
	lb_access_release(&call->access);
	return true;
}

bool
lb_find_around(LbCall *call, int64 radius, LbRows *rows)
{
	int64		place;
	int64		first;

	if (!lb_read_member_row(call))
		return false;
	if (call->row_key == NULL)
		return lb_find_page(call, 0, 0, rows);
	if (!find_place(call, &place))
		return false;
	first = Max(0, place - radius);
	return lb_find_page(call, first, place - first + radius + 1, rows);
}
