/*-------------------------------------------------------------------------
 *
 * state.h
 *	  The state of a definition in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_STATE_H
#define LB_STATE_H

#include "postgres.h"

#include "boards/shared.h"

/*
 * Ask for a build and wake the launcher; with again, even if one is running or
 * done.  Never raises.
 */
extern void lb_shared_board_want_build(LbSharedBoard *shared,
									   uint64 generation, bool again);

/*
 * The reason to give when a definition's memory could not be had.  A board that
 * is offline for the first of the two is built again when the limit is raised.
 */
extern const char *lb_memory_reason(const LbSharedBoard *shared);

/*
 * Take the index out of service.  Caller holds a stripe's exclusive lock, or
 * knows that shared lives.  Never raises; memory is given back by the launcher.
 * retry says that the launcher may try again by itself; a build that says no
 * leaves it at what others have said since it began.
 */
extern void lb_shared_board_offline(LbSharedBoard *shared, const char *reason,
									bool retry);

/*
 * Say that the index serves.  Caller holds all stripes' exclusive locks.  Never
 * raises.
 */
extern void lb_shared_board_ready(LbSharedBoard *shared);

/*
 * The next build need not be put off since the last one has failed: what has made
 * it fail is being put right.  Never raises.
 */
extern void lb_shared_board_try_soon(LbSharedBoard *shared);

/*
 * Say why the last build has failed, without a change of the state.  Never
 * raises.
 */
extern void lb_shared_board_reason(LbSharedBoard *shared, const char *reason);

#endif							/* LB_STATE_H */
