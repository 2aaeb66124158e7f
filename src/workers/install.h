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
#include "workers/table_scan.h"

/* The reason of a board whose build cannot be installed yet. */
#define LB_UNKNOWN_CHANGES "a transaction whose changes are unknown has not ended"

/* A build under way, in its worker. */
typedef struct LbBuild
{
	LbSharedBoard *shared;
	uint64		generation;
	uint32		ended_before;	/* builds that had ended when it was claimed */
	LbMem		mem;
	LbSnapshot	before;			/* taken before the definition was resolved */
	LbSnapshot	snapshot;		/* of the scan */
	LbFloor		floor;			/* of the new boards */
	bool		installed;
	bool		ended;
	bool		evaluates;		/* the board has expressions */

	/* The new boards, which no other process can reach; then the old ones. */
	LbRef		single;
	LbHash		boards[LB_STRIPES];
} LbBuild;

typedef enum LbBuildResult
{
	LB_BUILD_DONE,
	LB_BUILD_NOMEM,
	LB_BUILD_DUPLICATE,			/* a member has two rows */
	LB_BUILD_GONE,				/* the definition is not in the directory */
	LB_BUILD_AGAIN				/* a queue was lost, or changes are unknown */
} LbBuildResult;

/*
 * Have all stripes queue what settles, or not.  Frees what the queues hold.
 * Takes one stripe's lock after the other.
 */
extern void lb_set_queueing(LbBuild *build, bool on);

/*
 * Free the build's boards, which no other process can reach.  Takes no lock.
 */
extern void lb_free_new_boards(LbBuild *build);

/*
 * Fill new boards with sorted keys.  In a family's tuples the number of the
 * board's value, which is its place in values, precedes the key.  Yields, and
 * so can raise.
 */
extern LbBuildResult lb_fill_boards(LbBuild *build, LbSort *sort,
									const LbValues *values);

/*
 * Apply what the stripes have queued to the new boards, in rounds until one
 * applies little.  Takes one stripe's lock at a time.  Yields, and so can
 * raise.
 */
extern LbBuildResult lb_drain(LbBuild *build);

/*
 * Whether a transaction whose changes are unknown may have been running when
 * the snapshot build->before was taken.  Such a transaction may be missing in
 * the scan and in the queues, or may have altered triggers after the build
 * looked at them.
 */
extern bool lb_misses_changes(const LbBuild *build);

/*
 * Put the new boards in the place of the old ones and say that the index
 * serves.  Takes the locks of all stripes; raises nothing.  With another
 * result than LB_BUILD_DONE the old boards stay.  Either way the build has no
 * boards after it.
 */
extern LbBuildResult lb_install(LbBuild *build);

#endif							/* LB_INSTALL_H */
