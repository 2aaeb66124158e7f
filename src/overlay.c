/*-------------------------------------------------------------------------
 *
 * overlay.c
 *	  Signed changes of a board, summed up per member.
 *
 * Changes are never replayed as assignments, since they need not come in the
 * order in which they happened: a user's own trigger that updates a row of
 * the same statement is captured before the statement's own change of it, and
 * transactions are undone newest first but brought in oldest first.  Their
 * sum does not depend on the order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "overlay.h"

/* qsort's comparison has no argument, and qsort_arg is no faster. */
static int	cmp_width;

static uint64 serials = 0;

/* By member, which is the key's last word, then by the rest of the key. */
static int
change_cmp(const void *a, const void *b)
{
	const int64 *ca = (const int64 *) a;
	const int64 *cb = (const int64 *) b;

	if (ca[cmp_width] != cb[cmp_width])
		return ca[cmp_width] < cb[cmp_width] ? -1 : 1;
	return lb_words_cmp(ca + 1, cb + 1, cmp_width - 1);
}

static int
key_cmp(const void *a, const void *b)
{
	return lb_words_cmp((const int64 *) a, (const int64 *) b, cmp_width);
}

int
lb_net_changes(LbChanges *changes, int64 *entries, bool *ambiguous)
{
	int			width = changes->width;
	int			stride = lb_change_words(width);
	int			nentries = 0;
	int64	   *at = changes->words;
	int64	   *end = at + (Size) changes->n * stride;

	*ambiguous = false;
	cmp_width = width;
	if (changes->n > 1)
		qsort(changes->words, changes->n, stride * sizeof(int64), change_cmp);

	while (at < end)
	{
		int64		member = at[width];
		int64	   *entry = entries + (Size) nentries * lb_entry_words(width);

		memset(entry, 0, lb_entry_words(width) * sizeof(int64));
		while (at < end && at[width] == member)
		{
			int64	   *key = at + 1;
			int64		sum = 0;

			/* Equal keys are neighbours. */
			while (at < end && lb_words_cmp(at + 1, key, width) == 0)
			{
				sum += at[0];
				at += stride;
			}
			if (sum == 0)
				continue;
			if (sum == -1 && !(entry[0] & LB_HAS_OLD))
			{
				entry[0] |= LB_HAS_OLD;
				memcpy(lb_entry_old(entry), key, width * sizeof(int64));
			}
			else if (sum == 1 && !(entry[0] & LB_HAS_NEW))
			{
				entry[0] |= LB_HAS_NEW;
				memcpy(lb_entry_new(entry, width), key,
					   width * sizeof(int64));
			}
			else
				*ambiguous = true;
		}
		if (entry[0] != 0)
			nentries++;
	}
	return nentries;
}

void
lb_overlay_init(LbOverlay *overlay, int width, int member_words, int max)
{
	memset(overlay, 0, sizeof(LbOverlay));
	overlay->serial = ++serials;
	overlay->width = width;
	overlay->member_words = member_words;
	overlay->max = max;
	if (max > 0)
	{
		Size		size = (Size) max * width * sizeof(int64);

		overlay->entries = MemoryContextAllocHuge(CurrentMemoryContext,
												  (Size) max *
												  lb_entry_words(width) *
												  sizeof(int64));
		overlay->removed = MemoryContextAllocHuge(CurrentMemoryContext, size);
		overlay->added = MemoryContextAllocHuge(CurrentMemoryContext, size);
	}
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
	cmp_width = width;
	if (overlay->nremoved > 1)
		qsort(overlay->removed, overlay->nremoved, width * sizeof(int64),
			  key_cmp);
	if (overlay->nadded > 1)
		qsort(overlay->added, overlay->nadded, width * sizeof(int64),
			  key_cmp);
}

int
lb_overlay_find(const LbOverlay *overlay, const int64 *member, bool *found)
{
	int			width = overlay->width;
	int			lo = 0;
	int			hi = overlay->nentries;

	*found = false;
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		const int64 *entry = overlay->entries +
		(Size) mid * lb_entry_words(width);
		int			c = lb_words_cmp(lb_entry_member(entry, width,
													 overlay->member_words),
									 member, overlay->member_words);

		if (c == 0)
		{
			*found = true;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int
lb_keys_before(const int64 *keys, int n, int width, const int64 *prefix,
			int nwords, bool inclusive)
{
	int			lo = 0;
	int			hi = n;

	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			c = lb_words_cmp(keys + (Size) mid * width, prefix, nwords);

		if (c < 0 || (c == 0 && inclusive))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Put a key among n others in order, or take it out. */
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

/*
 * Sum up two entries of a member into sum.  Returns false if that is not one
 * key less and one key more at most.
 */
static bool
add_entries(int64 *sum, const int64 *a, const int64 *b, int width)
{
	const int64 *terms[2] = {a, b};
	const int64 *olds[2];
	const int64 *news[2];
	int			nolds = 0;
	int			nnews = 0;

	for (int i = 0; i < 2; i++)
	{
		if (terms[i][0] & LB_HAS_OLD)
			olds[nolds++] = terms[i] + 1;
		if (terms[i][0] & LB_HAS_NEW)
			news[nnews++] = terms[i] + 1 + width;
	}
	for (int o = 0; o < nolds; o++)
	{
		for (int n = 0; n < nnews; n++)
		{
			if (lb_words_cmp(olds[o], news[n], width) != 0)
				continue;
			olds[o--] = olds[--nolds];
			news[n] = news[--nnews];
			break;
		}
	}
	memset(sum, 0, lb_entry_words(width) * sizeof(int64));
	if (nolds > 1 || nnews > 1)
		return false;
	if (nolds == 1)
	{
		sum[0] |= LB_HAS_OLD;
		memcpy(lb_entry_old(sum), olds[0], width * sizeof(int64));
	}
	if (nnews == 1)
	{
		sum[0] |= LB_HAS_NEW;
		memcpy(lb_entry_new(sum, width), news[0], width * sizeof(int64));
	}
	return true;
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
		int64		sum[1 + 2 * LB_MAX_WIDTH];
		bool		found;
		int			at = lb_overlay_find(overlay,
										 lb_entry_member(entry, width,
														 overlay->member_words),
										 &found);
		int64	   *place = overlay->entries + (Size) at * words;

		memcpy(sum, entry, size);
		if (found)
		{
			if (!add_entries(sum, place, entry, width))
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
