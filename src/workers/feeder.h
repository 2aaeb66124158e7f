/*-------------------------------------------------------------------------
 *
 * feeder.h
 *	  Whether this server feeds standbys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_FEEDER_H
#define LB_FEEDER_H

/*
 * The launcher of a primary: begin to feed, say so where a standby may start,
 * or end it.  Returns how long the launcher may sleep, in milliseconds.
 * Raises if WAL cannot be written.
 */
extern long lb_look_after_feed(void);

#endif							/* LB_FEEDER_H */
