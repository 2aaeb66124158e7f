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

/*
 * Of long members, the first words are sorted by digits, and then the members
 * that agree in these are compared.
 */
#define MEMBER_WORDS 2

int
lb_entry_stride(const LbShape *shape, const int64 *entry, int stride)
{
	const int64 *old = lb_old_key(entry);
	const int64 *new = lb_new_key(entry, stride);
	int			oldwords;
	int			newwords;

	if (!lb_shape_varies(shape))
		return shape->width;
	oldwords = old == NULL ? 0 : lb_key_words(shape, old);
	newwords = new == NULL ? 0 : lb_key_words(shape, new);
	return Max(oldwords, newwords);
}

void
lb_copy_entries(const LbShape *shape, int64 *to, int stride,
				const LbEntries *entries, uint32 first, uint32 n)
{
	int			words = lb_entry_words(stride);

	if (stride == entries->stride)
	{
		memcpy(to, lb_entry_at(entries, first),
			   (Size) n * words * sizeof(int64));
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		const int64 *entry = lb_entry_at(entries, first + i);

		lb_make_entry(shape, to + (Size) i * words, stride, lb_old_key(entry),
					  lb_new_key(entry, entries->stride),
					  lb_entry_rows(entry));
	}
}

/*
 * Move n keys, which are a distance apart, to a longer one, in place; zeros
 * get behind each.
 */
static void
spread_keys(int64 *keys, int n, int from, int to)
{
	for (int i = n - 1; i >= 0; i--)
	{
		int64	   *key = keys + (Size) i * to;

		memmove(key, keys + (Size) i * from, from * sizeof(int64));
		memset(key + from, 0, (to - from) * sizeof(int64));
	}
}

/* The same for entries. */
static void
spread_entries(int64 *entries, int n, int from, int to)
{
	for (int i = n - 1; i >= 0; i--)
	{
		const int64 *entry = entries + (Size) i * lb_entry_words(from);
		int64	   *place = entries + (Size) i * lb_entry_words(to);
		int64		flags = entry[0];

		/* The new key moves farther than the old one. */
		memmove(place + 1 + to, entry + 1 + from, from * sizeof(int64));
		memset(place + 1 + to + from, 0, (to - from) * sizeof(int64));
		memmove(place + 1, entry + 1, from * sizeof(int64));
		memset(place + 1 + from, 0, (to - from) * sizeof(int64));
		place[0] = flags;
	}
}

bool
lb_changes_fit(LbChanges *changes, int n, int stride)
{
	stride = Max(stride, changes->stride);
	if (((uint64) changes->n + n) * lb_entry_words(stride) > changes->room)
		return false;
	if (stride > changes->stride)
		spread_entries(changes->words, changes->n, changes->stride, stride);
	changes->stride = stride;
	return true;
}

/*
 * Entries by their old keys; first those that have none.  arg is the stride.
 */
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
sum_entries(int64 *entries, int n, int stride)
{
	int			words = lb_entry_words(stride);
	int			first = 0;
	int			nolds = 0;
	int			nnews = 0;
	int64		sum[LB_MAX_ENTRY_WORDS];

	memset(sum, 0, words * sizeof(int64));
	qsort_interruptible(entries, n, words * sizeof(int64), old_cmp, &stride);
	while (first < n && !(entries[(Size) first * words] & LB_HAS_OLD))
		first++;
	for (int i = 0; i < n; i++)
	{
		int64	   *entry = entries + (Size) i * words;
		const int64 *key = lb_entry_new(entry, stride);
		int64	   *old;
		int			lo;
		int			hi;

		if (!(entry[0] & LB_HAS_NEW))
			continue;
		lo = first + lb_keys_before(entries + (Size) first * words + 1,
									n - first, words, key, stride, false);
		if (lo == n)
			continue;

		/* The first with this old key counts how many are matched. */
		old = entries + (Size) lo * words;
		hi = lo + (int) (old[0] >> TAKEN_SHIFT);
		if (hi == n ||
			lb_words_cmp(entries + (Size) hi * words + 1, key, stride) != 0)
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
				   stride * sizeof(int64));
		if ((entry[0] & LB_HAS_NEW) && nnews++ == 0)
			memcpy(lb_entry_new(sum, stride), lb_entry_new(entry, stride),
				   stride * sizeof(int64));
	}
	sum[0] = (nolds > 0 ? LB_HAS_OLD : 0) | (nnews > 0 ? LB_HAS_NEW : 0);
	memcpy(entries, sum, words * sizeof(int64));
	return nolds <= 1 && nnews <= 1;
}

/* With counts: the same for entries of a key, whose sum is one number. */
static void
sum_rows(const LbShape *shape, int64 *entries, int n, int stride)
{
	int			words = lb_entry_words(stride);
	int64		rows = 0;
	int64		key[LB_MAX_WIDTH];

	memcpy(key, lb_entry_member(shape, entries, stride),
		   shape->width * sizeof(int64));
	for (int i = 0; i < n; i++)
		rows += lb_signed_rows(entries + (Size) i * words);
	if (rows == 0)
		entries[0] = 0;
	else
		lb_make_entry(shape, entries, stride, rows < 0 ? key : NULL,
					  rows > 0 ? key : NULL, rows < 0 ? -rows : rows);
}

/*
 * Sum up n entries of a member and leave the sum in the first, whose flags are
 * 0 if there is nothing left.  Returns false if it is ambiguous.
 */
static bool
sum_member(const LbShape *shape, int64 *entries, int n, int stride)
{
	if (!shape->counts)
		return sum_entries(entries, n, stride);
	sum_rows(shape, entries, n, stride);
	return true;
}

/* Steps of a loop between two checks for interrupts. */
#define CHECK_STEPS 4096

/* The member of a change. */
static inline const int64 *
member_at(const LbChanges *changes, int64 i)
{
	return lb_entry_member(&changes->shape, lb_change_at(changes, (int) i),
						   changes->stride);
}

bool
lb_changes_are_net(const LbChanges *changes)
{
	for (int i = 1; i < changes->n; i++)
	{
		if (i % CHECK_STEPS == 0)
			CHECK_FOR_INTERRUPTS();
		if (lb_member_cmp(&changes->shape, member_at(changes, i - 1),
						  member_at(changes, i)) >= 0)
			return false;
	}
	return true;
}

/*
 * Numbers of changes, in the order of their members.  Each is behind the first
 * words of the member, so nwords + 1 words apart.
 */
typedef struct Order
{
	const LbChanges *changes;
	int			nwords;			/* of a member */
	int64	   *tuples;
} Order;

static int
member_cmp(const void *a, const void *b, void *arg)
{
	const Order *order = (const Order *) arg;

	return lb_member_cmp(&order->changes->shape,
						 member_at(order->changes,
								   ((const int64 *) a)[order->nwords]),
						 member_at(order->changes,
								   ((const int64 *) b)[order->nwords]));
}

/* Order the changes.  Uses order->tuples, which has room for them. */
static void
order_changes(Order *order)
{
	const LbShape *shape = &order->changes->shape;
	int			n = order->changes->n;
	int			nwords = order->nwords;
	int			ntuple = nwords + 1;
	int			end;

	for (int i = 0; i < n; i++)
	{
		const int64 *member = member_at(order->changes, i);
		int64	   *tuple = order->tuples + (Size) i * ntuple;
		int			words = lb_member_length(shape, member);

		if (i % CHECK_STEPS == 0)
			CHECK_FOR_INTERRUPTS();
		for (int w = 0; w < nwords; w++)
			tuple[w] = w < words ? member[w] : 0;
		tuple[nwords] = i;
	}
	lb_sort_words(order->tuples, n, ntuple);
	if (!lb_shape_varies(shape) && shape->member_words <= nwords)
		return;

	/* Sort those that agree in their first words. */
	for (int first = 0; first < n; first = end)
	{
		int64	   *tuple = order->tuples + (Size) first * ntuple;

		end = first + 1;
		while (end < n &&
			   lb_words_cmp(tuple, order->tuples + (Size) end * ntuple,
							nwords) == 0)
			end++;
		if (end - first > 1)
			qsort_interruptible(tuple, end - first, ntuple * sizeof(int64),
								member_cmp, order);
	}
}

int
lb_net_changes(LbChanges *changes, int64 *entries, bool *ambiguous)
{
	int			stride = changes->stride;
	int			words = lb_entry_words(stride);
	Size		size = words * sizeof(int64);
	int			n = changes->n;
	int			nentries = 0;
	int			next = 0;
	int			ntuple;
	Order		order;

	lb_count_work(n);
	*ambiguous = false;
	if (lb_changes_are_net(changes))
	{
		memcpy(entries, changes->words, n * size);
		return n;
	}

	/*
	 * Sort only the first words of the members, each with the change's
	 * number.  They fit behind the entries that have been made so far: an
	 * entry takes the place of tuples that have been used.
	 */
	order.changes = changes;
	order.nwords = lb_shape_varies(&changes->shape) ? MEMBER_WORDS :
		Min(MEMBER_WORDS, changes->shape.member_words);
	ntuple = order.nwords + 1;
	order.tuples = entries + (Size) n * (words - ntuple);
	order_changes(&order);

	while (next < n)
	{
		int64	   *sum = entries + (Size) nentries * words;
		int64		number = order.tuples[(Size) next * ntuple + order.nwords];
		const int64 *member = member_at(changes, number);
		int			count = 0;

		do
		{
			memcpy(sum + (Size) count * words, lb_change_at(changes, number),
				   size);
			if (next % CHECK_STEPS == 0)
				CHECK_FOR_INTERRUPTS();
			count++;
			if (++next == n)
				break;
			number = order.tuples[(Size) next * ntuple + order.nwords];
		} while (lb_member_cmp(&changes->shape, member,
							   member_at(changes, number)) == 0);
		if (count > 1 && !sum_member(&changes->shape, sum, count, stride))
			*ambiguous = true;
		if (sum[0] != 0)
			nentries++;
	}
	return nentries;
}

bool
lb_overlay_init(LbOverlay *overlay, const LbShape *shape, Size room)
{
	Size		size = Max(room, 1) * sizeof(int64);
	int			flags = MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM;

	memset(overlay, 0, sizeof(LbOverlay));
	overlay->serial = ++serials;
	overlay->shape = *shape;
	overlay->stride = lb_least_stride(shape);
	overlay->room = room;
	overlay->entries = palloc_extended(size, flags);
	overlay->removed = palloc_extended(size / 2, flags);
	overlay->added = palloc_extended(size / 2, flags);
	if (shape->counts)
	{
		overlay->rows = palloc_extended(size / lb_entry_words(1) +
										sizeof(int64), flags);
		if (overlay->rows != NULL)
			overlay->rows[0] = 0;
	}
	return overlay->entries != NULL && overlay->removed != NULL &&
		overlay->added != NULL && (!shape->counts || overlay->rows != NULL);
}

/* Find the keys that the entries take away, and those that they add. */
static void
fill_keys(LbOverlay *overlay)
{
	int			stride = overlay->stride;
	Size		size = stride * sizeof(int64);

	for (int i = 0; i < overlay->nentries; i++)
	{
		int64	   *entry = overlay->entries +
			(Size) i * lb_entry_words(stride);

		if (entry[0] & LB_HAS_OLD)
			memcpy(overlay->removed + (Size) stride * overlay->nremoved++,
				   lb_entry_old(entry), size);
		if (entry[0] & LB_HAS_NEW)
			memcpy(overlay->added + (Size) stride * overlay->nadded++,
				   lb_entry_new(entry, stride), size);
	}
	lb_sort_words(overlay->removed, overlay->nremoved, stride);
	lb_sort_words(overlay->added, overlay->nadded, stride);
}

/* With counts: add up the rows of the entries. */
static void
add_up_rows(LbOverlay *overlay)
{
	overlay->rows[0] = 0;
	for (int i = 0; i < overlay->nentries; i++)
		overlay->rows[i + 1] = overlay->rows[i] +
			lb_signed_rows(overlay->entries +
						   (Size) i * lb_entry_words(overlay->stride));
}

void
lb_overlay_fill(LbOverlay *overlay, LbChanges *changes)
{
	int			stride = changes->stride;

	Assert((Size) changes->n * lb_entry_words(stride) <= overlay->room);

	/* An overlay that is filled by half would stay with its transaction. */
	HOLD_INTERRUPTS();
	overlay->shape = changes->shape;
	overlay->stride = stride;
	overlay->serial = ++serials;
	overlay->checked = false;
	overlay->nremoved = 0;
	overlay->nadded = 0;
	overlay->nentries = lb_net_changes(changes, overlay->entries,
									   &overlay->ambiguous);
	if (overlay->shape.counts)
		add_up_rows(overlay);
	else
		fill_keys(overlay);
	RESUME_INTERRUPTS();
}

/* Insert a key into n others in order, or remove it. */
static void
change_keys(int64 *keys, int *n, int stride, const int64 *key, bool insert)
{
	int			at = lb_keys_before(keys, *n, stride, key, stride, false);
	int64	   *place = keys + (Size) at * stride;

	if (insert)
	{
		memmove(place + stride, place,
				(Size) (*n - at) * stride * sizeof(int64));
		memcpy(place, key, stride * sizeof(int64));
		(*n)++;
	}
	else
	{
		Assert(at < *n && lb_words_cmp(place, key, stride) == 0);
		(*n)--;
		memmove(place, place + stride,
				(Size) (*n - at) * stride * sizeof(int64));
	}
}

/* Remove the keys of an entry from an overlay's, or insert them. */
static void
change_entry_keys(LbOverlay *overlay, const int64 *entry, bool insert)
{
	const int64 *old = lb_old_key(entry);
	const int64 *new = lb_new_key(entry, overlay->stride);

	if (overlay->shape.counts)
		return;
	if (old != NULL)
		change_keys(overlay->removed, &overlay->nremoved, overlay->stride, old,
					insert);
	if (new != NULL)
		change_keys(overlay->added, &overlay->nadded, overlay->stride, new,
					insert);
}

/* Add an entry to an overlay of the same stride, which has room for it. */
static void
add_entry(LbOverlay *overlay, const int64 *entry)
{
	int			words = lb_entry_words(overlay->stride);
	Size		size = words * sizeof(int64);
	int64		sum[2 * LB_MAX_ENTRY_WORDS];
	bool		found;
	int			at = lb_overlay_find(overlay,
									 lb_entry_member(&overlay->shape, entry,
													 overlay->stride),
									 &found);
	int64	   *place = overlay->entries + (Size) at * words;

	memcpy(sum, entry, size);
	if (found)
	{
		memcpy(sum + words, place, size);
		if (!sum_member(&overlay->shape, sum, 2, overlay->stride))
			overlay->ambiguous = true;
		change_entry_keys(overlay, place, false);
		if (sum[0] == 0)
		{
			overlay->nentries--;
			memmove(place, place + words,
					(Size) (overlay->nentries - at) * size);
			return;
		}
	}
	else
	{
		memmove(place + words, place,
				(Size) (overlay->nentries - at) * size);
		overlay->nentries++;
	}
	memcpy(place, sum, size);
	change_entry_keys(overlay, sum, true);
}

bool
lb_overlay_add(LbOverlay *overlay, LbChanges *changes, int64 *delta, int *n)
{
	bool		ambiguous;
	int			stride;

	if (!lb_changes_fit(changes, 0, overlay->stride))
		return false;
	stride = changes->stride;
	if (((uint64) overlay->nentries + changes->n) * lb_entry_words(stride) >
		overlay->room)
		return false;
	if (stride > overlay->stride)
	{
		spread_entries(overlay->entries, overlay->nentries, overlay->stride,
					   stride);
		spread_keys(overlay->removed, overlay->nremoved, overlay->stride,
					stride);
		spread_keys(overlay->added, overlay->nadded, overlay->stride, stride);
		overlay->stride = stride;
	}
	HOLD_INTERRUPTS();
	*n = lb_net_changes(changes, delta, &ambiguous);
	overlay->serial = ++serials;
	overlay->ambiguous |= ambiguous;
	for (int i = 0; i < *n; i++)
		add_entry(overlay, delta + (Size) i * lb_entry_words(stride));
	if (overlay->shape.counts)
		add_up_rows(overlay);
	RESUME_INTERRUPTS();
	return true;
}

/* What lb_overlay_rows() looks for. */
typedef struct RowsBound
{
	const LbOverlay *overlay;
	const int64 *prefix;
	int			nwords;
	bool		inclusive;
} RowsBound;

static bool
rows_are_before(uint64 i, const void *arg)
{
	const RowsBound *bound = (const RowsBound *) arg;
	LbEntries	entries = lb_overlay_entries(bound->overlay);
	int			c = lb_words_cmp(lb_entry_member(&bound->overlay->shape,
												 lb_entry_at(&entries, i),
												 entries.stride),
								 bound->prefix, bound->nwords);

	return c < 0 || (bound->inclusive && c == 0);
}

int64
lb_overlay_rows(const LbOverlay *overlay, const int64 *prefix, int nwords,
				bool inclusive)
{
	RowsBound	bound = {overlay, prefix, nwords, inclusive};

	return overlay->rows[lb_lower_bound(overlay->nentries, rows_are_before,
										&bound)];
}
