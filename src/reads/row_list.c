/*-------------------------------------------------------------------------
 *
 * row_list.c
 *	  Rows of a board in memory.
 *
 * Rows without texts have the same length.  Those with texts are one behind
 * the other, and the list has the place of each.  There is room for a number
 * of rows; their texts can need more, so a caller asks before it adds one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "reads/row_list.h"

/* With texts, room for this many words of it at first. */
#define FIRST_TAIL 8

void
lb_make_rows(LbRows *rows, const LbShape *shape, int64 room, LbTail tail)
{
	bool		varies = lb_shape_varies(shape) && tail != LB_NO_TAIL;
	MemoryContext context = CurrentMemoryContext;

	memset(rows, 0, sizeof(LbRows));
	rows->tail = tail;
	rows->room = room;
	room = Max(1, room);
	rows->width = LB_ROW_MEMBER;
	if (varies)
		rows->width += LB_MAX_KEY_WORDS;
	else if (tail != LB_NO_TAIL)
		rows->width += tail == LB_KEY_TAIL ? shape->width : shape->member_words;
	rows->max = varies ? room * (LB_ROW_MEMBER + FIRST_TAIL) + rows->width :
		room * rows->width;
	rows->words = MemoryContextAllocHuge(context, rows->max * sizeof(int64));
	if (varies)
		rows->places = MemoryContextAllocHuge(context, room * sizeof(uint32));
}

void
lb_free_rows(LbRows *rows)
{
	pfree(rows->words);
	if (rows->places != NULL)
		pfree(rows->places);
}

void
lb_enlarge_rows(LbRows *rows, int n)
{
	rows->max = Max(rows->max * 2, rows->used + (Size) n * rows->width);
	rows->words = repalloc_huge(rows->words, rows->max * sizeof(int64));
}
