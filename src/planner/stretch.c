/*-------------------------------------------------------------------------
 *
 * stretch.c
 *	  Members at consecutive places of a board's order.
 *
 * The range is the places low .. high - 1 of the order, and the stretch some
 * of them.  In the reversed order it is counted from high, but read from its
 * other end, since a cursor of a view only goes forward.
 *
 * A long read releases the lock now and then, and to take memory.  The view
 * that is opened next shows the same members at the same places.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "planner/stretch.h"
#include "reads/rows.h"
#include "util/planted.h"

/* Members that there is room for at first. */
#define FIRST_MEMBERS 64

/* Places of the board's order, from 0. */
typedef struct Places
{
	uint64		first;
	uint64		end;			/* behind the last one */
	uint64		low;			/* of the range: the first one ... */
	uint64		nrange;			/* ... and how many */
} Places;


/* ----------------------------------------------------------------
 *		Places
 * ----------------------------------------------------------------
 */

/* How many words the first columns of a key of fixed width have. */
static int
count_words(const LbDefinition *defn, int ncolumns)
{
	int			n = 0;

	for (int i = 0; i < ncolumns; i++)
		n += defn->columns[i].type->words;
	return n;
}

/*
 * How many keys come before those that tie with the one at a place, or with
 * through, before the next one.
 */
static uint64
find_tie(const LbAccess *access, int ncolumns, uint64 place, bool through)
{
	LbViewCursor cursor;
	int64		key[LB_MAX_KEY_WORDS];
	LbBound		bound;

	if (!lb_view_seek(&access->view, place, &cursor) ||
		!lb_view_next(&access->view, &cursor, key))
		return place;
	bound.n = count_words(access->target.defn, ncolumns);
	bound.after = through;
	memcpy(bound.words, key, bound.n * sizeof(int64));
	return lb_count_before_bound(&access->view, &bound);
}

/* Leave out the places, from *low to *high - 1, that are not counted. */
static void
leave_out(const LbAccess *access, const LbStretch *stretch, uint64 *low,
		  uint64 *high)
{
	uint64		n = Min((uint64) stretch->behind, *high - *low);
	bool		ties = n > 0 && stretch->behind_ties > 0;

	if (stretch->reverse)
	{
		*high -= n;
		if (ties)
			*high = Max(*low, find_tie(access, stretch->behind_ties, *high,
									   false));
	}
	else
	{
		*low += n;
		if (ties)
			*low = Min(*high, find_tie(access, stretch->behind_ties, *low - 1,
									   true));
	}
}

/* Under the lock. */
static void
find_places(const LbAccess *access, const LbStretch *stretch, Places *places)
{
	uint64		low;
	uint64		high;
	uint64		n;

	places->first = places->end = places->nrange = 0;
	if (lb_bound_cmp(&stretch->range.low, &stretch->range.high) >= 0)
		return;
	low = lb_count_before_bound(&access->view, &stretch->range.low);
	high = lb_count_before_bound(&access->view, &stretch->range.high);
	places->low = low;
	places->nrange = high - low;
	leave_out(access, stretch, &low, &high);
	if ((uint64) stretch->skip >= high - low)
		return;
	n = high - low - stretch->skip;
	if (!stretch->all)
		n = Min(n, (uint64) stretch->max_rows);
	if (n == 0)
		return;
	if (stretch->reverse)
	{
		places->end = high - stretch->skip;
		places->first = places->end - n;
		if (stretch->ties > 0)
			places->first = Max(low, find_tie(access, stretch->ties,
											  places->first, false));
	}
	else
	{
		places->first = low + stretch->skip;
		places->end = places->first + n;
		if (stretch->ties > 0)
			places->end = Min(high, find_tie(access, stretch->ties,
											 places->end - 1, true) +
							  (LB_PLANTED(9) ? 1 : 0));
	}
}


/* ----------------------------------------------------------------
 *		Members
 * ----------------------------------------------------------------
 */

static inline bool
has_room(const LbMemberList *list)
{
	return list->used + LB_MAX_KEY_WORDS <= list->max;
}

/* Make room for n members, and for words of one more at least. */
static void
make_room(LbMemberList *list, int64 n)
{
	Size		words = n * LB_MAX_MEMBER_COLUMNS + LB_MAX_KEY_WORDS;
	MemoryContext context = list->context;

	if (list->places == NULL)
	{
		list->places = MemoryContextAllocHuge(context, n * sizeof(Size));
		list->words = MemoryContextAllocHuge(context, words * sizeof(int64));
	}
	else
	{
		list->places = repalloc_huge(list->places,
									 Max(n, list->room) * sizeof(Size));
		words = Max(words, list->max + list->max / 2);
		list->words = repalloc_huge(list->words, words * sizeof(int64));
	}
	list->room = Max(n, list->room);
	list->max = words;
}

/* The first word of the key at a place, under the lock. */
static bool
copy_first_word(const LbView *view, uint64 place, int64 *word)
{
	LbViewCursor cursor;
	int64		key[LB_MAX_KEY_WORDS];

	if (!lb_view_seek(view, place, &cursor) ||
		!lb_view_next(view, &cursor, key))
		return false;
	*word = key[0];
	return true;
}

/* Likewise those at the ends of the range. */
static void
copy_ends(const LbView *view, const Places *places, LbMemberList *list)
{
	list->has_ends = places->nrange > 0;
	if (list->has_ends &&
		(!copy_first_word(view, places->low, &list->ends[0]) ||
		 !copy_first_word(view, places->low + places->nrange - 1,
						  &list->ends[1])))
	{
		/* The index has fewer than it says. */
		list->ends[0] = PG_INT64_MIN;
		list->ends[1] = PG_INT64_MAX;
	}
}

/*
 * Copy members, under the lock, until there are all, there is no room, or it
 * is time to yield.
 */
static void
copy_members(const LbView *view, const Places *places, LbMemberList *list)
{
	int64		total = places->end - places->first;
	LbViewCursor cursor;
	int64		key[LB_MAX_KEY_WORDS];

	if (list->n == total ||
		!lb_view_seek(view, places->first + list->n, &cursor))
		return;
	do
	{
		const int64 *member;
		int			words;

		if (!has_room(list) || !lb_view_next(view, &cursor, key))
			return;
		member = lb_key_member(view->shape, key);
		words = lb_member_length(view->shape, member);
		list->places[list->n++] = list->used;
		memcpy(list->words + list->used, member, words * sizeof(int64));
		list->used += words;
	} while (list->n < total && list->n % LB_YIELD_ROWS != 0);
}

/*
 * The same until there are all.  Returns false if the node must run its child;
 * then the lock is not held.
 */
static bool
copy_all(LbAnswer *a, const Places *places, LbMemberList *list)
{
	int64		n = places->end - places->first;

	while (list->n < n)
	{
		int64		before = list->n;

		if (n <= list->room)
			copy_members(&a->access.view, places, list);
		if (list->n == n)
			break;
		if (n <= list->room && list->n == before && has_room(list))
		{
			/* The index has fewer than it says. */
			lb_answer_refuse_locked(a, LB_CAUSE_SNAPSHOT);
			return false;
		}
		lb_access_release(&a->access);
		if (n > list->room || !has_room(list))
			make_room(list, n);
		CHECK_FOR_INTERRUPTS();
		if (!lb_access_lock(&a->access))
		{
			lb_answer_refuse(a, a->access.cause);
			return false;
		}
	}
	return true;
}

/*
 * Whether the child answers better.  It has to sort a range that has grown
 * since then, but may have to read all of the table for one that has not.
 */
static bool
is_too_long(const LbStretch *stretch, const Places *places)
{
	double		n = places->end - places->first;
	double		growth = (double) places->nrange / Max(stretch->estimated, 1);

	return n > LB_MAX_ROWS ||
		(stretch->most > 0 && n > stretch->most * Max(growth, 1.0));
}

bool
lb_read_stretch(LbAnswer *a, const LbStretch *stretch, LbMemberList *list)
{
	Places		places;

	list->reverse = stretch->reverse;
	make_room(list, stretch->all ? FIRST_MEMBERS :
			  Min(Max(stretch->max_rows, 1), FIRST_MEMBERS));
	if (!lb_answer_lock(a, false))
		return false;
	find_places(&a->access, stretch, &places);
	if (is_too_long(stretch, &places))
	{
		lb_answer_refuse_locked(a, LB_CAUSE_LIMIT);
		return false;
	}
	if (stretch->ends)
		copy_ends(&a->access.view, &places, list);
	if (!copy_all(a, &places, list))
		return false;
	lb_answer_unlock(a);
	return true;
}
