/*-------------------------------------------------------------------------
 *
 * feed.h
 *	  Setup of the feed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_FEED_H
#define LB_FEED_H

/* Setting: leaderboard.feed_standbys. */
typedef enum LbFeedStandbys
{
	LB_FEED_OFF,
	LB_FEED_ON,
	LB_FEED_AUTO				/* while a standby is connected */
} LbFeedStandbys;

extern int	lb_feed_standbys;

/* Define the settings, and follow the feed in redo; from _PG_init. */
extern void lb_feed_init(void);

#endif							/* LB_FEED_H */
