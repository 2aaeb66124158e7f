/*-------------------------------------------------------------------------
 *
 * view.c
 *	  A board as a snapshot sees it: the index, corrected.
 *
 * With R the keys of the index that the snapshot does not see and A the keys
 * that only it sees, both in order, a count over a prefix is the index's count
 * - |R before it| + |A before it|: two binary searches.  Selecting by place
 * looks for the last of A that comes before the place; what is left is a
 * place among the index's entries that are not in R, found by a binary search
 * over R.  Distinct scores need one look at the index for each corrected
 * score.
 *
 * R and A are arrays, or where they are large and change, the indexes of LbSums.
 * Then a binary search among n of them is O(log n) steps of O(log n) each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/shared.h"
#include "reads/view.h"
#include "util/pause.h"

static inline const int64 *
removed_key(const LbView *view, int i)
{
	return view->overlay->removed + (Size) i * view->width;
}

static inline const int64 *
added_key(const LbView *view, int i)
{
	return view->overlay->added + (Size) i * view->width;
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
				const int64 *entries, int n)
{
	int			width = overlay->width;
	int			words = overlay->member_words;

	lb_count_work(n);
	for (int i = 0; i < n; i++)
	{
		const int64 *entry = entries + (Size) i * lb_entry_words(width);
		const int64 *member = lb_entry_member(entry, width, words);
		int64		key[LB_MAX_WIDTH];
		bool		found = false;

		if (entries != overlay->entries)
		{
			int			at = lb_overlay_find(overlay, member, &found);

			/* It has gone back to what it was. */
			if (!found)
				continue;
			entry = overlay->entries + (Size) at * lb_entry_words(width);
			found = false;
		}
		if (index != NULL)
			found = lb_index_lookup(&lb_shared->arena, index, member, key,
									NULL);
		if (found != ((entry[0] & LB_HAS_OLD) != 0) ||
			(found && lb_words_cmp(key, entry + 1, width) != 0))
			return false;
	}
	return true;
}

bool
lb_view_open(LbView *view, const LbIndex *index, LbOverlay *overlay,
			 int width, int member_words, LbScoreDelta *deltas)
{
	view->arena = &lb_shared->arena;
	view->board = index;
	view->index = index;
	view->overlay = overlay;
	view->sums = NULL;
	view->width = width;
	view->member_words = member_words;
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
	 * be while the one who wrote it before us has left the proc array but not
	 * yet settled.  Once it is, our row locks keep it so.
	 */
	if (!overlay->checked)
	{
		if (!lb_overlay_fits(overlay, view->index, overlay->entries,
							 overlay->nentries))
			return false;
		overlay->checked = true;
	}
	if (deltas != NULL)
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
	view->width = sums->width;
	view->member_words = sums->member_words;
}

uint64
lb_view_members(const LbView *view)
{
	uint64		n = view->index == NULL ? 0 : view->index->members;

	if (view->sums != NULL)
		n = n - view->sums->removed.members + view->sums->added.members;
	if (view->overlay != NULL)
		n = n - view->overlay->nremoved + view->overlay->nadded;
	return n;
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
	int64	   *entry;
	bool		found;
	int			at;

	if (view->sums != NULL)
		return lb_sums_lookup(view->sums, member, key, there);
	if (overlay == NULL || overlay->nentries == 0)
		return false;
	at = lb_overlay_find(overlay, member, &found);
	if (!found)
		return false;
	entry = overlay->entries + (Size) at * lb_entry_words(view->width);
	*there = (entry[0] & LB_HAS_NEW) != 0;
	if (*there)
		memcpy(key, lb_entry_new(entry, view->width),
			   view->width * sizeof(int64));
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
lb_view_lookup_many(const LbView *view, const int64 *members, int n,
					int nwords, int64 *keys, bool *found, LbCursor *places)
{
	if (view->index != NULL)
		lb_index_lookup_many(view->arena, view->index, members, n, nwords,
							 keys, found, places);
	else
		memset(found, false, n * sizeof(bool));
	if (view->sums == NULL &&
		(view->overlay == NULL || view->overlay->nentries == 0))
		return;
	for (int i = 0; i < n; i++)
	{
		if (corrected_member(view, members + i * view->member_words,
							 keys + i * view->width, &found[i]))
			places[i].leaf = LB_NONE;
	}
}

/* How many keys of an index of sums come before prefix. */
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

/* What the corrections add to spans before a prefix, which are the index's. */
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
	*members += lb_keys_before(overlay->added, overlay->nadded, view->width,
							   prefix, nwords, inclusive) -
		lb_keys_before(overlay->removed, overlay->nremoved, view->width,
					   prefix, nwords, inclusive);
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

/* The key of an index of sums that has so many before it. */
static void
sums_key(const LbSums *sums, const LbIndex *index, uint64 place, int64 *key)
{
	LbCursor	cursor;

	(void) lb_index_seek_place(&sums->arena, index, place, &cursor);
	lb_cursor_key(&sums->arena, index, &cursor, key);
}

/* Whether a removed entry's place is at or before the one that is sought. */
static bool
sums_removed_is_before(uint64 i, const void *arg)
{
	const Sought *sought = (const Sought *) arg;
	const LbView *view = sought->view;
	int64		key[LB_MAX_WIDTH];

	sums_key(view->sums, &view->sums->removed, i, key);
	return index_before(view, key, view->width, false) - i <= sought->before;
}

/* Whether an added entry's place is before the one that is sought. */
static bool
sums_added_is_before(uint64 i, const void *arg)
{
	const Sought *sought = (const Sought *) arg;
	const LbView *view = sought->view;
	int64		key[LB_MAX_WIDTH];

	sums_key(view->sums, &view->sums->added, i, key);
	return index_before(view, key, view->width, false) -
		sums_before(view->sums, &view->sums->removed, key, view->width,
					false) + i < sought->before;
}

/*
 * The place in the index of its entry that has so many before it, those not
 * counted that sums take away.
 */
static uint64
place_of_remaining(const LbView *view, uint64 remaining)
{
	Sought		sought = {view, remaining, 0};

	return remaining + lb_lower_bound(view->sums->removed.members,
									  sums_removed_is_before, &sought);
}

/*
 * Removed entries after which it is not the next one that is looked at, but what
 * comes after all that are in a row.
 */
#define MAX_REMOVED_IN_A_ROW 16

/* Move the cursor to an entry that sums do not take away, and read it. */
static void
settle_sums_cursor(const LbView *view, LbViewCursor *cursor)
{
	const LbSums *sums = view->sums;
	int			nremoved = 0;

	while (cursor->in_index)
	{
		int			c = -1;

		lb_cursor_key(view->arena, view->index, &cursor->cursor,
					  cursor->index_key);
		while (cursor->in_removed &&
			   (c = lb_words_cmp(cursor->removed_key, cursor->index_key,
								 view->width)) < 0)
		{
			cursor->in_removed = lb_cursor_next(&sums->arena, &sums->removed,
												&cursor->removed_cursor);
			if (cursor->in_removed)
				lb_cursor_key(&sums->arena, &sums->removed,
							  &cursor->removed_cursor, cursor->removed_key);
		}
		if (!cursor->in_removed || c != 0)
			return;
		if (++nremoved < MAX_REMOVED_IN_A_ROW)
		{
			cursor->in_index = lb_cursor_next(view->arena, view->index,
											  &cursor->cursor);
			continue;
		}
		cursor->in_index =
			lb_index_seek_place(view->arena, view->index,
								place_of_remaining(view, cursor->remaining),
								&cursor->cursor);
		if (!cursor->in_index)
			return;
		lb_cursor_key(view->arena, view->index, &cursor->cursor,
					  cursor->index_key);
		cursor->in_removed = lb_index_seek_key(&sums->arena, &sums->removed,
											   cursor->index_key, view->width,
											   &cursor->removed_cursor);
		if (cursor->in_removed)
			lb_cursor_key(&sums->arena, &sums->removed,
						  &cursor->removed_cursor, cursor->removed_key);
		return;
	}
}

/* lb_view_seek() through sums, to a place that exists. */
static void
seek_sums(const LbView *view, uint64 before, LbViewCursor *cursor)
{
	const LbSums *sums = view->sums;
	Sought		sought = {view, before, 0};
	uint64		lo;

	lo = lb_lower_bound(sums->added.members, sums_added_is_before, &sought);
	cursor->in_added = lb_index_seek_place(&sums->arena, &sums->added, lo,
										   &cursor->added_cursor);
	if (cursor->in_added)
		lb_cursor_key(&sums->arena, &sums->added, &cursor->added_cursor,
					  cursor->added_key);

	/* So many of the index's remaining entries come before. */
	cursor->remaining = before - lo;
	cursor->in_index = false;
	cursor->in_removed = false;
	if (view->index == NULL)
		return;
	cursor->in_index =
		lb_index_seek_place(view->arena, view->index,
							place_of_remaining(view, cursor->remaining),
							&cursor->cursor);
	if (!cursor->in_index)
		return;
	lb_cursor_key(view->arena, view->index, &cursor->cursor,
				  cursor->index_key);
	cursor->in_removed = lb_index_seek_key(&sums->arena, &sums->removed,
										   cursor->index_key, view->width,
										   &cursor->removed_cursor);
	if (cursor->in_removed)
		lb_cursor_key(&sums->arena, &sums->removed, &cursor->removed_cursor,
					  cursor->removed_key);
}

/* lb_view_next() through sums. */
static bool
next_of_sums(const LbView *view, LbViewCursor *cursor, int64 *key)
{
	const LbSums *sums = view->sums;

	if (cursor->in_added &&
		(!cursor->in_index ||
		 lb_words_cmp(cursor->added_key, cursor->index_key, view->width) < 0))
	{
		memcpy(key, cursor->added_key, view->width * sizeof(int64));
		cursor->in_added = lb_cursor_next(&sums->arena, &sums->added,
										  &cursor->added_cursor);
		if (cursor->in_added)
			lb_cursor_key(&sums->arena, &sums->added, &cursor->added_cursor,
						  cursor->added_key);
		return true;
	}
	if (!cursor->in_index)
		return false;
	memcpy(key, cursor->index_key, view->width * sizeof(int64));
	cursor->remaining++;
	cursor->in_index = lb_cursor_next(view->arena, view->index,
									  &cursor->cursor);
	settle_sums_cursor(view, cursor);
	return true;
}

/* Move the cursor to an entry that is not removed, and read it. */
static void
settle_cursor(const LbView *view, LbViewCursor *cursor)
{
	LbOverlay  *overlay = view->overlay;

	while (cursor->in_index)
	{
		int			at;

		lb_cursor_key(view->arena, view->index, &cursor->cursor,
					  cursor->index_key);
		if (overlay == NULL || overlay->nremoved == 0)
			return;
		at = lb_keys_before(overlay->removed, overlay->nremoved, view->width,
							cursor->index_key, view->width, false);
		if (at == overlay->nremoved ||
			lb_words_cmp(removed_key(view, at), cursor->index_key,
						 view->width) != 0)
			return;
		cursor->in_index = lb_cursor_next(view->arena, view->index,
										  &cursor->cursor);
	}
}

/* The same for the overlay. */
static bool
added_is_before(uint64 i, const void *arg)
{
	const Sought *sought = (const Sought *) arg;
	const LbView *view = sought->view;
	const int64 *key = added_key(view, (int) i);

	return index_before(view, key, view->width, false) -
		lb_keys_before(view->overlay->removed, view->overlay->nremoved,
					   view->width, key, view->width, false) + i <
		sought->before;
}

static bool
removed_is_before(uint64 i, const void *arg)
{
	const Sought *sought = (const Sought *) arg;
	const LbView *view = sought->view;

	return index_before(view, removed_key(view, (int) i), view->width,
						false) - i <= sought->before;
}

bool
lb_view_seek(const LbView *view, uint64 before, LbViewCursor *cursor)
{
	LbOverlay  *overlay = view->overlay;
	uint64		place = before;

	cursor->added = 0;
	cursor->in_index = false;
	if (before >= lb_view_members(view))
		return false;
	if (view->sums != NULL)
	{
		seek_sums(view, before, cursor);
		return true;
	}
	if (overlay != NULL && (overlay->nadded > 0 || overlay->nremoved > 0))
	{
		Sought		sought = {view, before, 0};

		cursor->added = (int) lb_lower_bound((uint64) overlay->nadded,
											 added_is_before, &sought);

		/* This many of the index's remaining entries come before. */
		place = before - cursor->added;
		sought.before = place;
		place += lb_lower_bound((uint64) overlay->nremoved, removed_is_before,
								&sought);
	}
	if (view->index != NULL)
		cursor->in_index = lb_index_seek_place(view->arena, view->index,
											   place, &cursor->cursor);
	settle_cursor(view, cursor);
	return true;
}

bool
lb_view_next(const LbView *view, LbViewCursor *cursor, int64 *key)
{
	LbOverlay  *overlay = view->overlay;
	bool		have_added = overlay != NULL && cursor->added < overlay->nadded;

	if (view->sums != NULL)
		return next_of_sums(view, cursor, key);
	if (have_added &&
		(!cursor->in_index ||
		 lb_words_cmp(added_key(view, cursor->added), cursor->index_key,
					  view->width) < 0))
	{
		memcpy(key, added_key(view, cursor->added),
			   view->width * sizeof(int64));
		cursor->added++;
		return true;
	}
	if (!cursor->in_index)
		return false;
	memcpy(key, cursor->index_key, view->width * sizeof(int64));
	cursor->in_index = lb_cursor_next(view->arena, view->index,
									  &cursor->cursor);
	settle_cursor(view, cursor);
	return true;
}
