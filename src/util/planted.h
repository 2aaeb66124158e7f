/*-------------------------------------------------------------------------
 *
 * planted.h
 *	  Bugs that a test plants, to see that the random client finds them.
 *
 * A server of a test-only build has the bug whose number leaderboard.plant_bug
 * says:
 *
 *	1	a read undoes only the newest publication of those that have settled
 *		after its snapshot
 *	2	a publish settles no predecessor
 *	3	a read does not add what is committed and pending
 *	4	the first bytes of uuids and texts are compared as signed integers
 *	5	a numeric that has no digits behind the point loses its scale
 *	6	-0 is not noticed
 *	7	a text of a multiple of eight bytes has no end of its own
 *	8	the planner takes all columns for NOT NULL
 *	9	a page with ties has one row too many
 *	10	a plan is used though its board's definition has changed, and a build
 *		does not have it made again
 *	11	the number of rows off a board misses own changes
 *	12	... has those of an aborted savepoint
 *	13	... misses those of a prepared transaction
 *	14	... misses a row that moves between boards
 *	15	a snapshot is taken to see each row version that the transaction has
 *		replaced
 *	16	a snapshot of a standby has no running transactions
 *	17	a standby enters a definition without the changes that it has ignored
 *	18	a standby notices that it is not fed after it shows a commit
 *	19	standbys do not hear of -0
 *	20	of a change that is undone, one row counts
 *	21	a build does not add up the rows of a key that it has counted in parts
 *	22	the row at a place is looked for without the snapshot's corrections
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PLANTED_H
#define LB_PLANTED_H

#ifdef LB_PLANT_BUGS

extern int	lb_planted;

#define LB_PLANTED(bug) (lb_planted == (bug))

/* Define the setting, once per process. */
extern void lb_planted_init(void);

#else

#define LB_PLANTED(bug) false
#define lb_planted_init() ((void) 0)

#endif							/* LB_PLANT_BUGS */

#endif							/* LB_PLANTED_H */
