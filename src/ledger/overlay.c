/*-------------------------------------------------------------------------
 *
 * overlay.c
 *	  Signed changes of a board, summed up per member.
 *
 * Changes are never replayed as assignments, since they need not come in the
 * order in which they happened: if a user's own trigger updates a row of the
 * same statement, its change is captured before the statement's own; and
 * transactions are undone newest first but applied oldest first.  The sum of
 * changes does not depend on their order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "ledger/overlay.h"
#include "util/pause.h"
#include "util/sort.h"

static uint64 serials = 0;

/* Entries by their old keys; first those that have none.  arg is the width. */
static int
old_cmp(const void *a, const void *b, void *arg)
{
	const int64 *ea = (const int64 *) a;
	const int64 *eb = (const int64 *) b;
	int			c = (int) (ea[0] & LB_HAS_OLD) - (int) (eb[0] & LB_HAS_OLD);

	if (c != 0 || !(ea[0] & LB_HAS_OLD))
		return c;
	return lb_words_cmp(ea + 1, eb + 1, *(int *) arg);
}

/*
 * While entries are summed up, the first entry with an old key counts, in its
 * flags from this bit on, how many of these keys have been matched.
 */
#define TAKEN_SHIFT 2

/*
 * Sum up n entries of a member and leave the sum in the first.  Returns false
 * if the sum is more than one key less and one key more.
 *
 * Mostly each change begins where another one ended, but they need not be in
 * that order.  A key that is new in one and old in another is not in the sum.
 */
static bool
sum_entries(int64 *entries, int n, int width)
{
	int			words = lb_entry_words(width);
	int			first = 0;
	int			nolds = 0;
	int			nnews = 0;
	int64		sum[1 + 2 * LB_MAX_WIDTH] = {0};

	qsort_arg(entries, n, words * sizeof(int64), old_cmp, &width);
	while (first < n && !(entries[(Size) first * words] & LB_HAS_OLD))
		first++;
	for (int i = 0; i < n; i++)
	{
		int64	   *entry = entries + (Size) i * words;
		const int64 *key = lb_entry_new(entry, width);
		int64	   *old;
		int			lo;
		int			hi;

		if (!(entry[0] & LB_HAS_NEW))
			continue;
		lo = first + lb_keys_before(entries + (Size) first * words + 1,
									n - first, words, key, width, false);
		if (lo == n)
			continue;

		/* The first with this old key counts how many are matched. */
		old = entries + (Size) lo * words;
		hi = lo + (int) (old[0] >> TAKEN_SHIFT);
		if (hi == n ||
			lb_words_cmp(entries + (Size) hi * words + 1, key, width) != 0)
			continue;
		old[0] += 1 << TAKEN_SHIFT;
		entries[(Size) hi * words] &= ~LB_HAS_OLD;
		entry[0] &= ~LB_HAS_NEW;
	}
	for (int i = 0; i < n; i++)
	{
		int64	   *entry = entries + (Size) i * words;

		if ((entry[0] & LB_HAS_OLD) && nolds++ == 0)
			memcpy(lb_entry_old(sum), lb_entry_old(entry),
				   width * sizeof(int64));
		if ((entry[0] & LB_HAS_NEW) && nnews++ == 0)
			memcpy(lb_entry_new(sum, width), lb_entry_new(entry, width),
				   width * sizeof(int64));
	}
	sum[0] = (nolds > 0 ? LB_HAS_OLD : 0) | (nnews > 0 ? LB_HAS_NEW : 0);
	memcpy(entries, sum, words * sizeof(int64));
	return nolds <= 1 && nnews <= 1;
}

/* Sort without an interrupt: the callers must not raise. */
static void
sort_words(int64 *tuples, int n, int nwords)
{
	HOLD_INTERRUPTS();
	lb_sort_words(tuples, n, nwords);
	RESUME_INTERRUPTS();
}

bool
lb_changes_are_net(const LbChanges *changes)
{
	int			width = changes->width;
	int			words = lb_entry_words(width);
	const int64 *entry = changes->words;

	for (int i = 1; i < changes->n; i++, entry += words)
	{
		if (*lb_entry_member(entry, width, 1) >=
			*lb_entry_member(entry + words, width, 1))
			return false;
	}
	return true;
}

int
lb_net_changes(LbChanges *changes, int64 *entries, bool *ambiguous)
{
	int			width = changes->width;
	int			words = lb_entry_words(width);
	Size		size = words * sizeof(int64);
	int			n = changes->n;
	int			nentries = 0;
	int			next = 0;
	int64	   *order;

	lb_count_work(n);
	*ambiguous = false;
	if (lb_changes_are_net(changes))
	{
		memcpy(entries, changes->words, n * size);
		return n;
	}

	/*
	 * Sort only pairs of a member and the change's number.  They fit behind
	 * the entries that have been made so far: an entry takes the place of
	 * pairs that have been used.
	 */
	order = entries + (Size) n * (words - 2);
	for (int i = 0; i < n; i++)
	{
		order[(Size) i * 2] = *lb_entry_member(changes->words +
											   (Size) i * words, width, 1);
		order[(Size) i * 2 + 1] = i;
	}
	sort_words(order, n, 2);

	while (next < n)
	{
		int64	   *sum = entries + (Size) nentries * words;
		int64		member = order[(Size) next * 2];
		int			count = 0;

		while (next < n && order[(Size) next * 2] == member)
		{
			int64		number = order[(Size) next * 2 + 1];

			memcpy(sum + (Size) count * words,
				   changes->words + (Size) number * words, size);
			count++;
			next++;
		}
		if (count > 1 && !sum_entries(sum, count, width))
			*ambiguous = true;
		if (sum[0] != 0)
			nentries++;
	}
	return nentries;
}

bool
lb_overlay_init(LbOverlay *overlay, int width, int member_words, int max)
{
	Size		size = (Size) Max(max, 1) * sizeof(int64);
	int			flags = MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM;

	memset(overlay, 0, sizeof(LbOverlay));
	overlay->serial = ++serials;
	overlay->width = width;
	overlay->member_words = member_words;
	overlay->max = max;
	overlay->entries = palloc_extended(lb_entry_words(width) * size, flags);
	overlay->removed = palloc_extended(width * size, flags);
	overlay->added = palloc_extended(width * size, flags);
	return overlay->entries != NULL && overlay->removed != NULL &&
		overlay->added != NULL;
}

void
lb_overlay_fill(LbOverlay *overlay, LbChanges *changes)
{
	int			width = overlay->width;

	Assert(changes->n <= overlay->max);
	overlay->serial = ++serials;
	overlay->checked = false;
	overlay->nremoved = 0;
	overlay->nadded = 0;
	overlay->nentries = lb_net_changes(changes, overlay->entries,
									   &overlay->ambiguous);
	for (int i = 0; i < overlay->nentries; i++)
	{
		int64	   *entry = overlay->entries +
			(Size) i * lb_entry_words(width);

		if (entry[0] & LB_HAS_OLD)
			memcpy(overlay->removed + (Size) width * overlay->nremoved++,
				   lb_entry_old(entry), width * sizeof(int64));
		if (entry[0] & LB_HAS_NEW)
			memcpy(overlay->added + (Size) width * overlay->nadded++,
				   lb_entry_new(entry, width), width * sizeof(int64));
	}
	sort_words(overlay->removed, overlay->nremoved, width);
	sort_words(overlay->added, overlay->nadded, width);
}

int
lb_overlay_find(const LbOverlay *overlay, const int64 *member, bool *found)
{
	return lb_find_entry(overlay->entries, overlay->nentries, overlay->width,
						 member, overlay->member_words, found);
}

/* Insert a key into n others in order, or remove it. */
static void
change_keys(int64 *keys, int *n, int width, const int64 *key, bool insert)
{
	int			at = lb_keys_before(keys, *n, width, key, width, false);
	int64	   *place = keys + (Size) at * width;

	if (insert)
	{
		memmove(place + width, place,
				(Size) (*n - at) * width * sizeof(int64));
		memcpy(place, key, width * sizeof(int64));
		(*n)++;
	}
	else
	{
		Assert(at < *n && lb_words_cmp(place, key, width) == 0);
		(*n)--;
		memmove(place, place + width,
				(Size) (*n - at) * width * sizeof(int64));
	}
}

int
lb_overlay_add(LbOverlay *overlay, LbChanges *changes, int64 *delta)
{
	int			width = overlay->width;
	int			words = lb_entry_words(width);
	Size		size = words * sizeof(int64);
	bool		ambiguous;
	int			n = lb_net_changes(changes, delta, &ambiguous);

	overlay->serial = ++serials;
	overlay->ambiguous |= ambiguous;
	for (int i = 0; i < n; i++)
	{
		const int64 *entry = delta + (Size) i * words;
		int64		sum[2 * (1 + 2 * LB_MAX_WIDTH)];
		bool		found;
		int			at = lb_overlay_find(overlay,
										 lb_entry_member(entry, width,
														 overlay->member_words),
										 &found);
		int64	   *place = overlay->entries + (Size) at * words;

		memcpy(sum, entry, size);
		if (found)
		{
			memcpy(sum + words, place, size);
			if (!sum_entries(sum, 2, width))
				overlay->ambiguous = true;
			if (place[0] & LB_HAS_OLD)
				change_keys(overlay->removed, &overlay->nremoved, width,
							lb_entry_old(place), false);
			if (place[0] & LB_HAS_NEW)
				change_keys(overlay->added, &overlay->nadded, width,
							lb_entry_new(place, width), false);
			if (sum[0] == 0)
			{
				overlay->nentries--;
				memmove(place, place + words,
						(Size) (overlay->nentries - at) * size);
				continue;
			}
		}
		else
		{
			memmove(place + words, place,
					(Size) (overlay->nentries - at) * size);
			overlay->nentries++;
		}
		memcpy(place, sum, size);
		if (sum[0] & LB_HAS_OLD)
			change_keys(overlay->removed, &overlay->nremoved, width,
						lb_entry_old(sum), true);
		if (sum[0] & LB_HAS_NEW)
			change_keys(overlay->added, &overlay->nadded, width,
						lb_entry_new(sum, width), true);
	}
	return n;
}
