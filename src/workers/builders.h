/*-------------------------------------------------------------------------
 *
 * builders.h
 *	  Workers that build, and what the launcher does for boards.
 *
 * For the launcher alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BUILDERS_H
#define LB_BUILDERS_H

extern int	lb_build_workers;	/* leaderboard.build_workers */

/*
 * Do what boards need: log which have gone offline, free their indexes, start
 * workers for builds and visits.  Returns the milliseconds until the next
 * call.  Takes the directory's lock.  Can raise.
 */
extern long lb_look_at_boards(void);

/*
 * No worker was to be had for a build: the next is not for one that stays.
 */
extern bool lb_builds_wait(void);

/*
 * leaderboard.database_memory may be another: have databases visited whose
 * boards it keeps offline.
 */
extern void lb_limits_have_changed(void);

/* lb_look_at_workers() for all of them. */
extern long lb_look_at_builders(void);

#endif							/* LB_BUILDERS_H */
