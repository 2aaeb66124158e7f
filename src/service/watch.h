/*-------------------------------------------------------------------------
 *
 * watch.h
 *	  Boards and members that are watched.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WATCH_H
#define LB_WATCH_H

#include "boards/definition.h"
#include "reads/read.h"

/*
 * Whether there are watches in this database, or may be when a transaction
 * that is open has committed.  Takes its own snapshots; outside of SPI.  Can
 * raise.
 */
extern bool lb_has_watches(void);

/*
 * A place of a board, or the place of a member.  Each number may be missing.
 */
typedef struct LbPlace
{
	LbRow		row;
	bool		has_rank;
	bool		has_member;
	bool		has_score;
} LbPlace;

/* The key that a board's name means, and the places that are watched. */
typedef struct LbPlaces
{
	char	   *key;
	int			n;
	LbPlace    *places;
} LbPlaces;

/*
 * Find a board that is watched, or is going to be, and its key.  Raises if
 * there is none of that name, or if the key is read as a board of another
 * definition.
 */
extern LbDefinition *lb_find_watched(const char *board, char **key);

/*
 * Set what reading with an owner's rights needs, until AtEOXact_GUC() of what
 * is returned: a search_path of PostgreSQL's own, and row_security off, which
 * raises instead of answering from a part of the rows.
 */
extern int	lb_begin_reading(void);

/*
 * Read, with the rights of the table's owner, the first places of the board of
 * a key, or those of n members: one place for each.  Policies that apply to
 * the owner are an error, not fewer rows, after lb_begin_reading().
 */
extern int	lb_read_places(Oid owner, const char *key, int top,
						   const int64 *members, int n, LbPlace **places);

/*
 * One of the three numbers of each place, as an array: 0 members, 1 ranks,
 * 2 scores.
 */
extern Datum lb_places_array(const LbPlaces *state, int number);

#endif							/* LB_WATCH_H */
