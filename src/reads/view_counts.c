/*-------------------------------------------------------------------------
 *
 * view_counts.c
 *	  What is different in a view of a board that keeps counts.
 *
 * The corrections are rows of keys, more or less.  They are the entries of an
 * overlay, or the two indexes of sums.  A snapshot has no fewer than no rows
 * of a key.  So the count over a prefix ascends with the prefix, also after
 * the corrections, and a place can be searched for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/shared.h"
#include "reads/view_internal.h"
#include "util/pause.h"
#include "util/planted.h"

bool
lb_counts_fit(const LbOverlay *overlay, const LbIndex *index,
			  const LbEntries *entries)
{
	LbEntries	all = lb_overlay_entries(overlay);

	lb_count_work(entries->n);
	for (uint32 i = 0; i < entries->n; i++)
	{
		const int64 *entry = lb_entry_at(entries, i);
		const int64 *key = lb_entry_member(&overlay->shape, entry,
										   entries->stride);
		int64		rows;
		bool		found;
		int			at = lb_find_entry(&overlay->shape, &all, key, &found);

		/* Their sum may be nothing by now. */
		if (!found)
			continue;
		rows = lb_signed_rows(lb_entry_at(&all, at));
		if (rows < 0 &&
			(index == NULL ||
			 lb_index_rows(&lb_shared->arena, index, key) < -rows))
			return false;
	}
	return true;
}

/* How many rows the index has before a prefix. */
static int64
index_rows(const LbView *view, const int64 *prefix, int nwords, bool inclusive)
{
	uint64		rows;

	if (view->index == NULL)
		return 0;
	lb_index_spans(view->arena, view->index, prefix, nwords, inclusive, &rows,
				   NULL);
	return (int64) rows;
}

void
lb_counts_deltas(LbView *view)
{
	const LbOverlay *overlay = view->overlay;
	LbEntries	entries = lb_overlay_entries(overlay);
	int64		total = 0;

	view->ndeltas = 0;
	for (uint32 i = 0; i < entries.n;)
	{
		int64		score = lb_entry_member(&overlay->shape,
											lb_entry_at(&entries, i),
											entries.stride)[0];
		uint32		first = i;
		int64		before;
		int64		after;
		LbScoreDelta *delta = &view->deltas[view->ndeltas++];

		do
			i++;
		while (i < entries.n &&
			   lb_entry_member(&overlay->shape, lb_entry_at(&entries, i),
							   entries.stride)[0] == score);
		before = index_rows(view, &score, 1, true) -
			index_rows(view, &score, 1, false);
		after = before + overlay->rows[i] - overlay->rows[first];
		delta->score = score;
		delta->before = total;
		delta->delta = (after > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
		total += delta->delta;
	}
	view->delta_total = total;
}

/* How many rows of the view come before a key, or have it. */
static uint64
rows_upto(const LbView *view, const int64 *key)
{
	uint64		rows;

	lb_view_spans(view, key, view->shape->width, true, &rows, NULL);
	return rows;
}


/* ----------------------------------------------------------------
 *		The key at a place
 * ----------------------------------------------------------------
 */

/*
 * What the searches look for: the first corrected key such that the place is
 * in the rows up to it.
 */
typedef struct Sought
{
	const LbView *view;
	const LbIndex *index;		/* of sums, or NULL: the overlay */
	uint64		place;
} Sought;

/*
 * The i-th correction: an entry of the overlay, or a row of an index of sums.
 */
static void
nth_key(const Sought *sought, uint64 i, int64 *key)
{
	const LbView *view = sought->view;
	LbCursor	cursor;

	if (sought->index == NULL)
	{
		LbEntries	entries = lb_overlay_entries(view->overlay);

		memcpy(key, lb_entry_member(view->shape, lb_entry_at(&entries, i),
									entries.stride),
			   view->shape->width * sizeof(int64));
		return;
	}
	(void) lb_index_seek_place(&view->sums->arena, sought->index, i, &cursor);
	lb_cursor_key(&view->sums->arena, sought->index, &cursor, key);
}

static bool
key_is_before(uint64 i, const void *arg)
{
	const Sought *sought = (const Sought *) arg;
	int64		key[LB_MAX_KEY_WORDS];

	nth_key(sought, i, key);
	return rows_upto(sought->view, key) <= sought->place;
}

/*
 * Search n corrections, and copy the key that is sought to found, unless that
 * is set and not behind it.
 */
static void
search(const Sought *sought, uint64 n, int64 *found, bool *any)
{
	uint64		at = lb_lower_bound(n, key_is_before, sought);
	int64		key[LB_MAX_KEY_WORDS];

	if (at == n)
		return;
	nth_key(sought, at, key);
	if (*any && lb_key_cmp(sought->view->shape, found, key) <= 0)
		return;
	memcpy(found, key, sought->view->shape->width * sizeof(int64));
	*any = true;
}

void
lb_counts_key_at(const LbView *view, uint64 place, int64 *key)
{
	Sought		sought = {view, NULL, place};
	bool		any = false;
	uint64		before = 0;
	int64		corrected;
	LbCursor	cursor;

	if (view->sums != NULL && !LB_PLANTED(22))
	{
		sought.index = &view->sums->added;
		search(&sought, sought.index->members, key, &any);
		sought.index = &view->sums->removed;
		search(&sought, sought.index->members, key, &any);
	}
	else if (view->overlay != NULL && !LB_PLANTED(22))
		search(&sought, view->overlay->nentries, key, &any);

	/*
	 * The place is at that key, or before it and behind the corrected key
	 * before it.  In between, what the corrections add up to is the same.
	 */
	if (any)
	{
		lb_view_spans(view, key, view->shape->width, false, &before, NULL);
		if (before <= place)
			return;
		corrected = (int64) before -
			index_rows(view, key, view->shape->width, false);
	}
	else
		corrected = (int64) lb_view_members(view) -
			(view->index == NULL ? 0 : (int64) view->index->members);
	if (view->index == NULL ||
		!lb_index_seek_place(view->arena, view->index, place - corrected,
							 &cursor))
	{
		/* Not with corrections that fit. */
		Assert(false);
		memset(key, 0, view->shape->width * sizeof(int64));
		return;
	}
	lb_cursor_key(view->arena, view->index, &cursor, key);
}


/* ----------------------------------------------------------------
 *		One key after the other
 * ----------------------------------------------------------------
 */

/* Take a key if it is the first so far. */
static void
take_first(const LbView *view, const int64 *key, int64 *first, bool *any)
{
	if (*any && lb_key_cmp(view->shape, first, key) <= 0)
		return;
	memcpy(first, key, view->shape->width * sizeof(int64));
	*any = true;
}

/* The first key of an index behind another one, or NULL. */
static void
take_next(const LbView *view, const LbArena *arena, const LbIndex *index,
		  const int64 *after, int64 *first, bool *any)
{
	int64		key[LB_MAX_KEY_WORDS];
	LbCursor	cursor;
	bool		found = after == NULL ?
		lb_index_seek_place(arena, index, 0, &cursor) :
		lb_index_seek_key(arena, index, after, view->shape->width, &cursor);

	lb_count_work(1);
	if (found)
		lb_cursor_key(arena, index, &cursor, key);
	if (found && after != NULL && lb_key_cmp(view->shape, key, after) == 0)
	{
		found = lb_cursor_next(arena, index, &cursor);
		if (found)
			lb_cursor_key(arena, index, &cursor, key);
	}
	if (found)
		take_first(view, key, first, any);
}

bool
lb_counts_next(const LbView *view, const int64 *after, int64 *key, int64 *rows)
{
	bool		any = false;
	uint64		before;

	if (view->index != NULL)
		take_next(view, view->arena, view->index, after, key, &any);
	if (view->sums != NULL)
		take_next(view, &view->sums->arena, &view->sums->added, after, key,
				  &any);
	if (view->overlay != NULL)
	{
		LbEntries	entries = lb_overlay_entries(view->overlay);
		bool		found = false;
		uint32		at = after == NULL ? 0 :
			lb_find_entry(view->shape, &entries, after, &found);

		at += found;
		if (at < entries.n)
			take_first(view, lb_entry_member(view->shape,
											 lb_entry_at(&entries, at),
											 entries.stride), key, &any);
	}
	if (!any)
		return false;
	lb_view_spans(view, key, view->shape->width, false, &before, NULL);
	if (rows_upto(view, key) == before)
	{
		/*
		 * The corrections take all rows of this key away, and may do so to a
		 * million keys behind it.  The next row there is has the key.
		 */
		if (before == lb_view_members(view))
			return false;
		lb_counts_key_at(view, before, key);
	}
	*rows = (int64) (rows_upto(view, key) - before);
	return true;
}
