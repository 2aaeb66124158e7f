/*-------------------------------------------------------------------------
 *
 * feed.c
 *	  Setup of the feed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "boards/shared.h"
#include "feed/feed.h"
#include "feed/life.h"
#include "feed/redo.h"

int			lb_feed_standbys = LB_FEED_AUTO;

static const struct config_enum_entry feed_options[] = {
	{"auto", LB_FEED_AUTO, false},
	{"on", LB_FEED_ON, false},
	{"off", LB_FEED_OFF, false},
	{"true", LB_FEED_ON, true},
	{"false", LB_FEED_OFF, true},
	{"yes", LB_FEED_ON, true},
	{"no", LB_FEED_OFF, true},
	{"1", LB_FEED_ON, true},
	{"0", LB_FEED_OFF, true},
	{NULL, 0, false}
};

static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

/*
 * A server that may have standbys feeds from its first transaction on, so that
 * they need not build anything after it has started, crashed or been promoted.
 */
static void
shmem_startup(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	if (!lb_shared->feed.initialized)
	{
		LbFeed	   *feed = &lb_shared->feed;

		pg_atomic_init_u32(&feed->feeding, lb_feed_standbys != LB_FEED_OFF &&
						   !IsBinaryUpgrade);
		pg_atomic_init_u64(&feed->since, 0);
		pg_atomic_init_u32(&feed->state, LB_STALE);
		pg_atomic_init_u64(&feed->state_since, (uint64) GetCurrentTimestamp());
		pg_atomic_init_u32(&feed->anew, 0);
		pg_atomic_init_u64(&feed->messages, 0);
		pg_atomic_init_u64(&feed->bytes, 0);
		SpinLockInit(&feed->visits.mutex);
		SpinLockInit(&feed->mutex);
		feed->initialized = true;
	}
	LWLockRelease(AddinShmemInitLock);
}

void
lb_feed_init(void)
{
	DefineCustomEnumVariable("leaderboard.feed_standbys",
							 "Sets whether changes are written to WAL for the boards of standbys.",
							 "\"auto\" does so while a standby is connected, and for ten minutes after.",
							 &lb_feed_standbys,
							 LB_FEED_AUTO, feed_options,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
	lb_redo_init();
}
