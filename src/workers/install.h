/*-------------------------------------------------------------------------
 *
 * install.h
 *	  The new boards of a build: filled, caught up, installed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_INSTALL_H
#define LB_INSTALL_H

#include "boards/definition.h"
#include "boards/shared.h"
#include "ledger/snapshot.h"
#include "workers/scan.h"

/* Why a build that is not installed begins again, or waits. */
#define LB_UNKNOWN_CHANGES "a transaction whose changes are unknown has not ended"

/* A build under way, in the worker. */
typedef struct LbBuild
{
	LbSharedBoard *shared;
	uint64		generation;
	LbMem		mem;
	LbSnapshot	before;			/* from before the definition was resolved */
	LbSnapshot	snapshot;
	LbFloor		floor;			/* of the new boards */
	bool		installed;
	bool		ended;

	/* The new boards, not reachable by others yet. */
	LbRef		single;
	LbHash		boards[LB_STRIPES];
} LbBuild;

typedef enum LbBuildResult
{
	BUILD_DONE,
	BUILD_NOMEM,
	BUILD_DUPLICATE,
	BUILD_GONE,
	BUILD_AGAIN					/* the queue was lost, or changes are unknown */
} LbBuildResult;

/* Turn queueing on or off, without anything left in the queues. */
extern void lb_set_queueing(LbBuild *build, bool on);

/* Free the boards that nobody else can reach. */
extern void lb_free_new_boards(LbBuild *build);

/* Pack the sorted keys into new boards. */
extern LbBuildResult lb_pack(LbBuild *build, LbDefinition *defn, LbSort *sort,
							 LbValues *values);

/*
 * Apply what a stripe has queued, a bunch of boards at a time.  With locked
 * the caller holds the stripe's lock; else more may have come when we are done.
 */
extern LbBuildResult lb_drain_stripe(LbBuild *build, int s, bool locked,
									 uint64 *napplied);

/*
 * Whether a transaction with unknown changes may have been running when the
 * snapshot was taken.  Or before: what it has done to the triggers may have
 * come after we looked at them.
 */
extern bool lb_misses_changes(const LbBuild *build);

/* The new boards take the place of the old ones. */
extern LbBuildResult lb_install(LbBuild *build);

#endif							/* LB_INSTALL_H */
