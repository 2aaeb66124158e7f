/*-------------------------------------------------------------------------
 *
 * row_list.h
 *	  Rows of a board in memory, and members to look for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ROW_LIST_H
#define LB_ROW_LIST_H

#include "postgres.h"

#include "index/shape.h"

/* What is behind the rank and the score of a row. */
typedef enum LbTail
{
	LB_NO_TAIL,
	LB_MEMBER_TAIL,
	LB_KEY_TAIL
} LbTail;

/*
 * Rows of a board: a rank (0: none), a score and the words of a member for
 * each.  lb_among() and lb_page() have the whole key there, lb_ranks()
 * nothing.
 */
typedef struct LbRows
{
	LbTail		tail;
	int			n;
	int			room;			/* rows that there is room for */
	int			width;			/* words of a row, the most with texts */
	Size		used;			/* words of the rows */
	Size		max;			/* room in words */
	uint32	   *places;			/* with texts, the word at which each row
								 * begins; else NULL */
	int64	   *words;
} LbRows;

#define LB_ROW_RANK 0
#define LB_ROW_SCORE 1
#define LB_ROW_MEMBER 2

static inline int64 *
lb_row(const LbRows *rows, int i)
{
	return rows->words +
		(rows->places == NULL ? (Size) i * rows->width : rows->places[i]);
}

/* Members to read: their words, and which of them no key has. */
typedef struct LbMembers
{
	int			n;
	int			width;			/* words of a member */
	const uint32 *places;		/* with texts, the word at which each begins;
								 * else NULL */
	const int64 *words;
	const bool *absent;
} LbMembers;

static inline const int64 *
lb_member_at(const LbMembers *members, int i)
{
	return members->words +
		(members->places == NULL ? (Size) i * members->width :
		 members->places[i]);
}

/*
 * Make an empty list, in the current memory context, with room for this number
 * of rows of a board with that shape.
 */
extern void lb_make_rows(LbRows *rows, const LbShape *shape, int64 room,
						 LbTail tail);
extern void lb_free_rows(LbRows *rows);

/*
 * Whether there is room for the words of n more rows, whatever their length.
 */
static inline bool
lb_rows_have_room(const LbRows *rows, int n)
{
	return rows->places == NULL ||
		rows->used + (Size) n * rows->width <= rows->max;
}

/* Make room for them.  Raises an error if there is no memory. */
extern void lb_enlarge_rows(LbRows *rows, int n);

/*
 * One more row, for which there is room, with tail words behind the score.
 */
static inline int64 *
lb_add_row(LbRows *rows, int tail)
{
	if (rows->places != NULL)
	{
		rows->places[rows->n] = (uint32) rows->used;
		rows->used += LB_ROW_MEMBER + tail;
	}
	return lb_row(rows, rows->n++);
}

#endif							/* LB_ROW_LIST_H */
