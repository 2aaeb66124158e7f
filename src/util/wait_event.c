/*-------------------------------------------------------------------------
 *
 * wait_event.c
 *	  What a process of ours waits for, as pg_stat_activity names it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/wait_event.h"

#include "util/wait_event.h"

#if PG_VERSION_NUM >= 170000
static const char *const names[LB_NWAIT_EVENTS] = {
	[LB_WAIT_EVENT_APPLIED] = "LeaderboardApplied",
	[LB_WAIT_EVENT_APPLIER_MAIN] = "LeaderboardApplierMain",
	[LB_WAIT_EVENT_BUILD] = "LeaderboardBuild",
	[LB_WAIT_EVENT_LARGE_TRANSACTION] = "LeaderboardLargeTransaction",
	[LB_WAIT_EVENT_LAUNCHER_MAIN] = "LeaderboardLauncherMain",
	[LB_WAIT_EVENT_NOTIFIER_MAIN] = "LeaderboardNotifierMain"
};
#endif

uint32
lb_wait_event(LbWaitEvent event)
{
#if PG_VERSION_NUM >= 170000
	static uint32 known[LB_NWAIT_EVENTS];

	if (known[event] == 0)
		known[event] = WaitEventExtensionNew(names[event]);
	return known[event];
#else
	return PG_WAIT_EXTENSION;
#endif
}
