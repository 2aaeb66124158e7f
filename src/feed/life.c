/*-------------------------------------------------------------------------
 *
 * life.c
 *	  Whether a standby has seen all changes that its snapshots see.
 *
 *-------------------------------------------------------------------------
 */
#include "feed/life.h"

#define STAYS(state) {state, false}
#define GOES(state) {state, false}
#define ANEW {LB_FOLLOWING, true}

/*
 * HELLO of this life says that nothing was missed since it began.  That helps
 * where nothing was missed before.  One since an xid is written after the
 * feed was switched on: transactions before it may have changed rows, so every
 * board is built again, and waits for those that still run.
 *
 * PENDING at the end of a life: that life has ended transactions, and no HELLO
 * has spoken for it.
 */
static const LbFeedStep steps[][LB_NEVENTS] = {
	[LB_STALE] = {
		[LB_LIFE_ENDS] = STAYS(LB_STALE),
		[LB_XACT_ENDS] = STAYS(LB_STALE),
		[LB_HELLO_LIFE] = ANEW,
		[LB_HELLO_XID] = ANEW,
		[LB_BYE] = STAYS(LB_STALE)
	},
	[LB_FOLLOWING] = {
		[LB_LIFE_ENDS] = GOES(LB_QUIET),
		[LB_XACT_ENDS] = STAYS(LB_FOLLOWING),
		[LB_HELLO_LIFE] = STAYS(LB_FOLLOWING),
		[LB_HELLO_XID] = STAYS(LB_FOLLOWING),
		[LB_BYE] = GOES(LB_STALE)
	},
	[LB_QUIET] = {
		[LB_LIFE_ENDS] = STAYS(LB_QUIET),
		[LB_XACT_ENDS] = GOES(LB_PENDING),
		[LB_HELLO_LIFE] = GOES(LB_FOLLOWING),
		[LB_HELLO_XID] = ANEW,
		[LB_BYE] = GOES(LB_STALE)
	},
	[LB_PENDING] = {
		[LB_LIFE_ENDS] = GOES(LB_STALE),
		[LB_XACT_ENDS] = STAYS(LB_PENDING),
		[LB_HELLO_LIFE] = GOES(LB_FOLLOWING),
		[LB_HELLO_XID] = ANEW,
		[LB_BYE] = GOES(LB_STALE)
	}
};

LbFeedStep
lb_feed_step(LbFeedState state, LbFeedEvent event)
{
	return steps[state][event];
}

bool
lb_feed_is_complete(LbFeedState state)
{
	return state == LB_FOLLOWING || state == LB_QUIET;
}
