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
#include "sql/args.h"

/*
 * Whether there are watches in this database, or may be when a transaction
 * that is open has committed.  Takes its own snapshots; outside of SPI.  Can
 * raise.
 */
extern bool lb_has_watches(void);

/*
 * The key that a board's name means, and the places that are watched: a row
 * without a rank, and without a member or a score, where there is none.
 */
typedef struct LbPlaces
{
	char	   *key;
	int			n;
	LbRow	   *rows;
} LbPlaces;

/*
 * Find a board that is watched, or is going to be, and its key.  Raises if
 * there is none of that name, or if the key is read as a board of another
 * definition.
 */
extern LbDefinition *lb_find_watched(const char *board, char **key);

/*
 * Set what reading with an owner's rights needs, until AtEOXact_GUC() of what
 * is returned: what lb_begin_texts() sets, a search_path of PostgreSQL's own,
 * and row_security off, which raises instead of answering from a part of the
 * rows.
 */
extern int	lb_begin_reading(void);

/*
 * Read, with the rights of the table's owner, the first places of the board of
 * a key, or those of n members: one place for each.  Policies that apply to
 * the owner are an error, not fewer rows, after lb_begin_reading().
 */
extern int	lb_read_places(Oid owner, const char *key, int top,
						   char *const *members, int n, LbRow **rows);

/* The columns last_members, last_ranks and last_scores, from 0 on. */
extern LbArg lb_arg_places(const LbPlaces *state, int column);

#endif							/* LB_WATCH_H */
