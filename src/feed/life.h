/*-------------------------------------------------------------------------
 *
 * life.h
 *	  Whether a standby has seen all changes that its snapshots see.
 *
 * A life of the primary ends when the server stops, crashes or is promoted:
 * with a shutdown checkpoint, or a record of the end of recovery.  In a life
 * without the library the primary changes rows and feeds nothing.  So after a
 * life has ended the stream is complete as long as nothing commits, and a
 * HELLO that speaks for the whole new life says that nothing was missed.
 *
 * This file includes no header of PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_FEED_LIFE_H
#define LB_FEED_LIFE_H

#include "index/core.h"

typedef enum LbFeedState
{
	LB_STALE,					/* changes may be missing, until a HELLO */
	LB_FOLLOWING,				/* none is missing */
	LB_QUIET,					/* none: nothing has ended in this life */
	LB_PENDING					/* none, if this life's HELLO says so */
} LbFeedState;

/* What redo meets. */
typedef enum LbFeedEvent
{
	LB_LIFE_ENDS,
	LB_XACT_ENDS,				/* a commit, or a PREPARE */
	LB_HELLO_LIFE,				/* feeding since this life has begun */
	LB_HELLO_XID,				/* feeding since some xid */
	LB_BYE,
	LB_NEVENTS
} LbFeedEvent;

typedef struct LbFeedStep
{
	LbFeedState state;
	bool		unknown;		/* all boards miss changes of xids so far */
} LbFeedStep;

/* What follows from an event. */
extern LbFeedStep lb_feed_step(LbFeedState state, LbFeedEvent event);

/* Whether a reader may use boards that are ready. */
extern bool lb_feed_is_complete(LbFeedState state);

#endif							/* LB_FEED_LIFE_H */
