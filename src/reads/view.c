/*-------------------------------------------------------------------------
 *
 * view.c
 *	  A board as a snapshot sees it: the index, corrected.
 *
 * R are the keys of the index that the snapshot does not see, A the keys that
 * only the snapshot sees, both in order.
 *
 * A count over a prefix is the index's count - |R before it| + |A before it|.
 *
 * To find the entry at a place, a binary search over A tells how many of A
 * come before the place.  The rest is a place among those entries of the index
 * that are not in R; a binary search over R turns it into a place of the
 * index.
 *
 * Distinct scores need one look at the index for each corrected score.
 *
 * R and A are sorted arrays (LbOverlay), or the indexes of LbSums if there are
 * many.  In arrays a search takes O(log n) steps of O(log n) each, as the
 * index is asked in every step.
 *
 * With counts, view_counts.c does what is different.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/shared.h"
#include "reads/view_internal.h"
#include "util/pause.h"

static inline const int64 *
removed_key(const LbView *view, int i)
{
	return view->overlay->removed + (Size) i * view->overlay->stride;
}

static inline const int64 *
added_key(const LbView *view, int i)
{
	return view->overlay->added + (Size) i * view->overlay->stride;
}

/*
 * How many of n keys of the overlay come before a prefix: a score, or with
 * nwords above 1, a whole key.
 */
static inline int
keys_before(const LbView *view, const int64 *keys, int n, const int64 *prefix,
			int nwords, bool inclusive)
{
	if (nwords > 1)
		nwords = lb_key_words(view->shape, prefix);
	return lb_keys_before(keys, n, view->overlay->stride, prefix, nwords,
						  inclusive);
}

static uint64
index_before(const LbView *view, const int64 *prefix, int nwords,
			 bool inclusive)
{
	uint64		members;

	if (view->index == NULL)
		return 0;
	lb_index_spans(view->arena, view->index, prefix, nwords, inclusive,
				   &members, NULL);
	return members;
}

/* Fill in what the corrections do to the distinct scores. */
static void
compute_deltas(LbView *view)
{
	LbOverlay  *overlay = view->overlay;
	int			r = 0;
	int			a = 0;
	int64		total = 0;

	view->ndeltas = 0;
	while (r < overlay->nremoved || a < overlay->nadded)
	{
		int64		score;
		int64		nremoved = 0;
		int64		nadded = 0;
		int64		nindex;
		LbScoreDelta *delta = &view->deltas[view->ndeltas++];

		if (a == overlay->nadded ||
			(r < overlay->nremoved &&
			 removed_key(view, r)[0] <= added_key(view, a)[0]))
			score = removed_key(view, r)[0];
		else
			score = added_key(view, a)[0];
		while (r < overlay->nremoved && removed_key(view, r)[0] == score)
		{
			r++;
			nremoved++;
		}
		while (a < overlay->nadded && added_key(view, a)[0] == score)
		{
			a++;
			nadded++;
		}
		nindex = index_before(view, &score, 1, true) -
			index_before(view, &score, 1, false);
		delta->score = score;
		delta->before = total;
		delta->delta = (nindex - nremoved + nadded > 0 ? 1 : 0) -
			(nindex > 0 ? 1 : 0);
		total += delta->delta;
	}
	view->delta_total = total;
}

bool
lb_overlay_fits(const LbOverlay *overlay, const LbIndex *index,
				const LbEntries *entries)
{
	LbEntries	all = lb_overlay_entries(overlay);

	if (overlay->shape.counts)
		return lb_counts_fit(overlay, index, entries);
	lb_count_work(entries->n);
	for (uint32 i = 0; i < entries->n; i++)
	{
		const int64 *entry = lb_entry_at(entries, i);
		const int64 *member = lb_entry_member(&overlay->shape, entry,
											  entries->stride);
		const int64 *old;
		int64		key[LB_MAX_KEY_WORDS];
		bool		found = false;

		if (entries->words != all.words)
		{
			int			at = lb_overlay_find(overlay, member, &found);

			/* The member is back at what it was. */
			if (!found)
				continue;
			entry = lb_entry_at(&all, at);
			found = false;
		}
		if (index != NULL)
			found = lb_index_lookup(&lb_shared->arena, index, member, key,
									NULL);
		old = lb_old_key(entry);
		if (found != (old != NULL) ||
			(found && lb_key_cmp(&overlay->shape, key, old) != 0))
			return false;
	}
	return true;
}

bool
lb_view_open(LbView *view, const LbIndex *index, LbOverlay *overlay,
			 const LbShape *shape, LbScoreDelta *deltas)
{
	view->arena = &lb_shared->arena;
	view->board = index;
	view->index = index;
	view->overlay = overlay;
	view->sums = NULL;
	view->shape = shape;
	view->deltas = deltas;
	view->ndeltas = 0;
	view->delta_total = 0;
	if (overlay == NULL)
		return true;
	if (overlay->ambiguous)
		return false;
	if (overlay->truncated)
		view->index = NULL;

	/*
	 * What the transaction replaced must be what the index holds.  It may not
	 * be while the transaction that wrote it has left the proc array but not
	 * yet settled.  Once it has settled, our row locks keep it so.
	 */
	if (!overlay->checked)
	{
		LbEntries	entries = lb_overlay_entries(overlay);

		if (!lb_overlay_fits(overlay, view->index, &entries))
			return false;
		overlay->checked = true;
	}
	if (deltas != NULL && shape->counts)
		lb_counts_deltas(view);
	else if (deltas != NULL)
		compute_deltas(view);
	return true;
}

void
lb_view_open_sums(LbView *view, const LbIndex *index, LbSums *sums,
				  bool truncated)
{
	memset(view, 0, sizeof(LbView));
	view->arena = &lb_shared->arena;
	view->board = index;
	view->index = truncated ? NULL : index;
	view->sums = sums;
	view->shape = &sums->shape;
}

uint64
lb_view_members(const LbView *view)
{
	uint64		n = view->index == NULL ? 0 : view->index->members;

	if (view->sums != NULL)
		n = n - view->sums->removed.members + view->sums->added.members;
	if (view->overlay != NULL && view->shape->counts)
		n += view->overlay->rows[view->overlay->nentries];
	else if (view->overlay != NULL)
		n = n - view->overlay->nremoved + view->overlay->nadded;
	return n;
}

static inline void
copy_key(const LbView *view, int64 *to, const int64 *key)
{
	memcpy(to, key, lb_key_words(view->shape, key) * sizeof(int64));
}

/*
 * Whether the corrections have a member; then *there tells whether it is on
 * the board, and key is its key.
 */
static bool
corrected_member(const LbView *view, const int64 *member, int64 *key,
				 bool *there)
{
	LbOverlay  *overlay = view->overlay;
	const int64 *new;
	bool		found;
	int			at;

	if (view->sums != NULL)
		return lb_sums_lookup(view->sums, member, key, there);
	if (overlay == NULL || overlay->nentries == 0)
		return false;
	at = lb_overlay_find(overlay, member, &found);
	if (!found)
		return false;
	new = lb_new_key(overlay->entries +
					 (Size) at * lb_entry_words(overlay->stride),
					 overlay->stride);
	*there = new != NULL;
	if (*there)
		copy_key(view, key, new);
	return true;
}

bool
lb_view_lookup(const LbView *view, const int64 *member, int64 *key,
			   LbCursor *cursor)
{
	bool		there;

	if (corrected_member(view, member, key, &there))
	{
		if (cursor != NULL)
			cursor->leaf = LB_NONE;
		return there;
	}
	return view->index != NULL &&
		lb_index_lookup(view->arena, view->index, member, key, cursor);
}

void
lb_view_lookup_many(const LbView *view, const LbLookups *lookups)
{
	if (view->index != NULL)
		lb_index_lookup_many(view->arena, view->index, lookups);
	else
		memset(lookups->found, false, lookups->n * sizeof(bool));
	if (view->sums == NULL &&
		(view->overlay == NULL || view->overlay->nentries == 0))
		return;
	for (int i = 0; i < lookups->n; i++)
	{
		int64		key[LB_MAX_KEY_WORDS];

		if (!corrected_member(view,
							  lookups->members + i * lookups->member_stride,
							  key, &lookups->found[i]))
			continue;
		if (lookups->found[i])
			memcpy(lookups->keys + i * lookups->key_stride, key,
				   Min(lookups->key_stride, lb_key_words(view->shape, key)) *
				   sizeof(int64));
		lookups->places[i].leaf = LB_NONE;
	}
}

/* How many keys of an index of sums come before a prefix. */
static uint64
sums_before(const LbSums *sums, const LbIndex *index, const int64 *prefix,
			int nwords, bool inclusive)
{
	uint64		members;

	if (index->members == 0)
		return 0;
	lb_index_spans(&sums->arena, index, prefix, nwords, inclusive, &members,
				   NULL);
	return members;
}

/* What a binary search of this file looks for. */
typedef struct Sought
{
	const LbView *view;
	uint64		before;			/* a place, by the entries before it */
	int64		score;
} Sought;

static bool
delta_is_before(uint64 i, const void *arg)
{
	const Sought *sought = (const Sought *) arg;

	return sought->view->deltas[i].score < sought->score;
}

/* Add what the corrections change to the index's spans before a prefix. */
static void
correct_spans(const LbView *view, const int64 *prefix, int nwords,
			  bool inclusive, uint64 *members, uint64 *distinct)
{
	LbOverlay  *overlay = view->overlay;
	const LbSums *sums = view->sums;

	if (sums != NULL)
	{
		*members += sums_before(sums, &sums->added, prefix, nwords, inclusive) -
			sums_before(sums, &sums->removed, prefix, nwords, inclusive);
		if (distinct != NULL)
			*distinct += sums_before(sums, &sums->gained, prefix, 1, inclusive) -
				sums_before(sums, &sums->lost, prefix, 1, inclusive);
		return;
	}
	if (overlay == NULL)
		return;
	if (unlikely(view->shape->counts))
		*members += lb_overlay_rows(overlay, prefix, nwords, inclusive);
	else
		*members += keys_before(view, overlay->added, overlay->nadded, prefix,
								nwords, inclusive) -
			keys_before(view, overlay->removed, overlay->nremoved, prefix,
						nwords, inclusive);
	if (distinct != NULL && view->ndeltas > 0)
	{
		Sought		sought = {view, 0, prefix[0]};
		int			lo;

		/* The first corrected score at or after the prefix. */
		lo = (int) lb_lower_bound((uint64) view->ndeltas, delta_is_before,
								  &sought);
		if (lo == view->ndeltas)
			*distinct += view->delta_total;
		else
		{
			*distinct += view->deltas[lo].before;
			if (inclusive && view->deltas[lo].score == prefix[0])
				*distinct += view->deltas[lo].delta;
		}
	}
}

void
lb_view_spans(const LbView *view, const int64 *prefix, int nwords,
			  bool inclusive, uint64 *members, uint64 *distinct)
{
	uint64		m = 0;
	uint64		d = 0;

	if (view->index != NULL)
		lb_index_spans(view->arena, view->index, prefix, nwords, inclusive,
					   &m, distinct == NULL ? NULL : &d);
	correct_spans(view, prefix, nwords, inclusive, &m,
				  distinct == NULL ? NULL : &d);
	if (members != NULL)
		*members = m;
	if (distinct != NULL)
		*distinct = d;
}

void
lb_view_spans_many(const LbView *view, const int64 *const *prefixes,
				   const LbCursor *places, int n, int nwords,
				   uint64 *members, uint64 *distinct)
{
	if (view->index != NULL)
		lb_index_spans_many(view->arena, view->index, prefixes, places, n,
							nwords, members, distinct);
	else
	{
		memset(members, 0, n * sizeof(uint64));
		if (distinct != NULL)
			memset(distinct, 0, n * sizeof(uint64));
	}
	if (view->overlay == NULL && view->sums == NULL)
		return;
	for (int i = 0; i < n; i++)
		correct_spans(view, prefixes[i], nwords, false, &members[i],
					  distinct == NULL ? NULL : &distinct[i]);
}


/* ----------------------------------------------------------------
 *		By place
 * ----------------------------------------------------------------
 */

/* The key at a place of an index of sums, counted from 0. */
static void
sums_key(const LbSums *sums, const LbIndex *index, uint64 place, int64 *key)
{
	LbCursor	cursor;

	(void) lb_index_seek_place(&sums->arena, index, place, &cursor);
	lb_cursor_key(&sums->arena, index, &cursor, key);
}

/* How many keys R and A have. */
static inline uint64
count_removed(const LbView *view)
{
	if (view->sums != NULL)
		return view->sums->removed.members;
	return view->overlay != NULL ? view->overlay->nremoved : 0;
}

static inline uint64
count_added(const LbView *view)
{
	if (view->sums != NULL)
		return view->sums->added.members;
	return view->overlay != NULL ? view->overlay->nadded : 0;
}

/* The i-th key of R or A; buf is memory for it. */
static inline const int64 *
nth_removed(const LbView *view, uint64 i, int64 *buf)
{
	if (view->sums == NULL)
		return removed_key(view, i);
	sums_key(view->sums, &view->sums->removed, i, buf);
	return buf;
}

static inline const int64 *
nth_added(const LbView *view, uint64 i, int64 *buf)
{
	if (view->sums == NULL)
		return added_key(view, i);
	sums_key(view->sums, &view->sums->added, i, buf);
	return buf;
}

/* How many of the index's entries before a key are not in R. */
static uint64
remaining_before(const LbView *view, const int64 *key)
{
	int			nwords = view->shape->width;
	uint64		removed;

	if (view->sums != NULL)
		removed = sums_before(view->sums, &view->sums->removed, key, nwords,
							  false);
	else
		removed = keys_before(view, view->overlay->removed,
							  view->overlay->nremoved, key, nwords, false);
	return index_before(view, key, nwords, false) - removed;
}

/* Whether the place of A's i-th key is before the one that is sought. */
static bool
added_is_before(uint64 i, const void *arg)
{
	const Sought *sought = (const Sought *) arg;
	int64		buf[LB_MAX_KEY_WORDS];
	const int64 *key = nth_added(sought->view, i, buf);

	return remaining_before(sought->view, key) + i < sought->before;
}

/* Whether R's i-th key comes before the entry that is sought. */
static bool
removed_is_before(uint64 i, const void *arg)
{
	const Sought *sought = (const Sought *) arg;
	const LbView *view = sought->view;
	int64		buf[LB_MAX_KEY_WORDS];
	const int64 *key = nth_removed(view, i, buf);

	return index_before(view, key, view->shape->width, false) - i <=
		sought->before;
}

/* How many of A are among the first "before" entries. */
static uint64
added_before(const LbView *view, uint64 before)
{
	Sought		sought = {view, before, 0};

	return lb_lower_bound(count_added(view), added_is_before, &sought);
}

/*
 * The place in the index of an entry that is not in R, from its place among
 * such entries.
 */
static uint64
place_of_remaining(const LbView *view, uint64 remaining)
{
	Sought		sought = {view, remaining, 0};

	return remaining + lb_lower_bound(count_removed(view), removed_is_before,
									  &sought);
}


/* ----------------------------------------------------------------
 *		Cursors
 *
 * A cursor merges the index's entries that are not in R with A.  Over sums it
 * has a cursor in R and one in A as well.
 * ----------------------------------------------------------------
 */

/*
 * After this number of entries in a row that are in R, the cursor seeks the
 * next one that is not, instead of looking at each.
 */
#define MAX_REMOVED_IN_A_ROW 16

/* Read the keys at the cursors in R, in A and in the index, which exist. */
static inline void
read_removed(const LbView *view, LbViewCursor *cursor)
{
	if (cursor->in_removed)
		lb_cursor_key(&view->sums->arena, &view->sums->removed,
					  &cursor->removed_cursor, cursor->removed_key);
}

static inline void
read_added(const LbView *view, LbViewCursor *cursor)
{
	if (cursor->in_added)
		lb_cursor_key(&view->sums->arena, &view->sums->added,
					  &cursor->added_cursor, cursor->added_key);
}

static inline void
read_index(const LbView *view, LbViewCursor *cursor)
{
	if (cursor->in_index)
		lb_cursor_key(view->arena, view->index, &cursor->cursor,
					  cursor->index_key);
}

/*
 * Move the cursor to the index's entry at place cursor->remaining among those
 * that are not in R.  Over sums, move the cursor in R to what comes after it.
 */
static void
seek_remaining(const LbView *view, LbViewCursor *cursor)
{
	const LbSums *sums = view->sums;

	cursor->in_removed = false;
	cursor->in_index = view->index != NULL &&
		lb_index_seek_place(view->arena, view->index,
							place_of_remaining(view, cursor->remaining),
							&cursor->cursor);
	read_index(view, cursor);
	if (!cursor->in_index || sums == NULL)
		return;
	cursor->in_removed = lb_index_seek_key(&sums->arena, &sums->removed,
										   cursor->index_key,
										   view->shape->width,
										   &cursor->removed_cursor);
	read_removed(view, cursor);
}

/* Whether the entry of the index at the cursor is in R. */
static bool
is_removed(const LbView *view, LbViewCursor *cursor)
{
	const LbOverlay *overlay = view->overlay;
	int			c = -1;

	if (view->sums == NULL)
	{
		int			at;

		if (overlay == NULL || overlay->nremoved == 0)
			return false;
		at = keys_before(view, overlay->removed, overlay->nremoved,
						 cursor->index_key, view->shape->width, false);
		return at < overlay->nremoved &&
			lb_key_cmp(view->shape, removed_key(view, at),
					   cursor->index_key) == 0;
	}
	while (cursor->in_removed &&
		   (c = lb_key_cmp(view->shape, cursor->removed_key,
						   cursor->index_key)) < 0)
	{
		cursor->in_removed = lb_cursor_next(&view->sums->arena,
											&view->sums->removed,
											&cursor->removed_cursor);
		read_removed(view, cursor);
	}
	return cursor->in_removed && c == 0;
}

/* Move on in the index to the next entry that is not in R. */
static void
next_remaining(const LbView *view, LbViewCursor *cursor)
{
	int			nremoved = 0;

	cursor->remaining++;
	do
	{
		if (nremoved++ == MAX_REMOVED_IN_A_ROW)
		{
			seek_remaining(view, cursor);
			return;
		}
		cursor->in_index = lb_cursor_next(view->arena, view->index,
										  &cursor->cursor);
		read_index(view, cursor);
	} while (cursor->in_index && is_removed(view, cursor));
}

/* The key of A at the cursor, or NULL at its end. */
static inline const int64 *
current_added(const LbView *view, const LbViewCursor *cursor)
{
	if (view->sums != NULL)
		return cursor->in_added ? cursor->added_key : NULL;
	if (view->overlay == NULL || cursor->added == (uint64) view->overlay->nadded)
		return NULL;
	return added_key(view, cursor->added);
}

/* Move on in A. */
static void
next_added(const LbView *view, LbViewCursor *cursor)
{
	const LbSums *sums = view->sums;

	cursor->added++;
	if (sums == NULL)
		return;
	cursor->in_added = lb_cursor_next(&sums->arena, &sums->added,
									  &cursor->added_cursor);
	read_added(view, cursor);
}

bool
lb_view_seek(const LbView *view, uint64 before, LbViewCursor *cursor)
{
	const LbSums *sums = view->sums;

	Assert(!view->shape->counts);
	if (before >= lb_view_members(view))
		return false;
	cursor->added = added_before(view, before);
	cursor->remaining = before - cursor->added;
	if (sums != NULL)
	{
		cursor->in_added = lb_index_seek_place(&sums->arena, &sums->added,
											   cursor->added,
											   &cursor->added_cursor);
		read_added(view, cursor);
	}
	seek_remaining(view, cursor);
	return true;
}

bool
lb_view_next(const LbView *view, LbViewCursor *cursor, int64 *key)
{
	const int64 *added = current_added(view, cursor);

	if (added != NULL &&
		(!cursor->in_index ||
		 lb_key_cmp(view->shape, added, cursor->index_key) < 0))
	{
		copy_key(view, key, added);
		next_added(view, cursor);
		return true;
	}
	if (!cursor->in_index)
		return false;
	copy_key(view, key, cursor->index_key);
	next_remaining(view, cursor);
	return true;
}

void
lb_view_key_at(const LbView *view, uint64 place, int64 *key)
{
	LbViewCursor cursor;

	if (view->shape->counts)
		lb_counts_key_at(view, place, key);
	else if (lb_view_seek(view, place, &cursor))
		lb_view_next(view, &cursor, key);
}
