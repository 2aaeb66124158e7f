/*-------------------------------------------------------------------------
 *
 * stretch.h
 *	  Members at consecutive places of a board's order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_STRETCH_H
#define LB_STRETCH_H

#include "postgres.h"

#include "planner/answer.h"
#include "planner/range.h"

/* Which places of a range. */
typedef struct LbStretch
{
	LbRange		range;
	bool		reverse;		/* counted from the end of the range */
	bool		all;			/* to its end, else */
	int64		max_rows;
	int64		behind;			/* places before those that are counted ... */
	int			behind_ties;	/* ... and those that tie with the last of
								 * them: columns of the key that are equal
								 * then; 0: without */
	int64		skip;			/* places before the first one */
	int			ties;			/* with the members that tie with the last
								 * one: columns of the key that are equal
								 * then; 0: without */
	int			most;			/* members; the child is cheaper for more of
								 * them.  0: never */
	bool		ends;			/* the ends of the range are wanted, too */
	int			estimated;		/* places of the range when that was planned */
} LbStretch;

/* Whether no place is left, whatever the range is. */
static inline bool
lb_stretch_is_empty(const LbStretch *stretch)
{
	return !stretch->all && stretch->max_rows == 0;
}

/* Their members, in the order in which the stretch counts. */
typedef struct LbMemberList
{
	MemoryContext context;		/* of the rest */
	bool		reverse;
	bool		has_ends;		/* the stretch's range has places: */
	int64		ends[2];		/* the first words of the keys at the first
								 * and at the last one */
	int64		n;
	int64		room;
	Size	   *places;			/* of each, in words[] */
	int64	   *words;
	Size		used;
	Size		max;
} LbMemberList;

/*
 * After lb_answer_prepare(): lock the board, and read the members of a stretch
 * into an empty list, zeroed but for its context.  Returns false if the node
 * must run its child.  The caller does not have the lock afterwards.  Can
 * raise: a serialization failure, or that it was interrupted.
 */
extern bool lb_read_stretch(LbAnswer *a, const LbStretch *stretch,
							LbMemberList *list);

/* The words of a member. */
static inline const int64 *
lb_listed_member(const LbMemberList *list, int64 i)
{
	return list->words +
		list->places[list->reverse ? list->n - 1 - i : i];
}

#endif							/* LB_STRETCH_H */
