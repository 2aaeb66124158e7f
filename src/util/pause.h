/*-------------------------------------------------------------------------
 *
 * pause.h
 *	  Pause points for tests, and a count of work done.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PAUSE_H
#define LB_PAUSE_H

#ifdef LB_PAUSE_POINTS

/*
 * A test-only build waits here, if the session's leaderboard.pause_at names
 * the point, for an advisory lock that another session holds.  Can raise when
 * interrupted where interrupts are allowed.
 */
extern void lb_pause(const char *point);

/* Define the settings of this file, once per process. */
extern void lb_pause_init(void);

/*
 * Read the database's settings again.  Must be called outside a transaction:
 * it runs one.  Raises what reading a catalog can raise.
 */
extern void lb_pause_settings(void);

/* How many changes this process has summed up or compared. */
extern uint64 lb_work;
#define lb_count_work(n) (lb_work += (n))

#else

#define lb_pause(point) ((void) 0)
#define lb_pause_init() ((void) 0)
#define lb_pause_settings() ((void) 0)
#define lb_count_work(n) ((void) 0)

#endif							/* LB_PAUSE_POINTS */

#endif							/* LB_PAUSE_H */
