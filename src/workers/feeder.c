/*-------------------------------------------------------------------------
 *
 * feeder.c
 *	  Whether this server feeds standbys.
 *
 * leaderboard.feed_standbys = auto feeds while a walsender serves a standby,
 * and for ten minutes after: a standby that restarts finds that it has missed
 * nothing.  A server that starts feeds for as long, since its standbys come
 * back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/timestamp.h"

#include "boards/shared.h"
#include "feed/emit.h"
#include "feed/feed.h"
#include "workers/feeder.h"
#include "workers/tidy.h"
#include "workers/worker.h"

/* Milliseconds. */
#define FEED_AFTER 600000		/* after the last standby has gone */
#define LOOK_EVERY 1000

/* Whether a walsender serves a standby, or a base backup. */
static bool
has_standby(void)
{
	for (int i = 0; i < max_wal_senders; i++)
	{
		WalSnd	   *sender = &WalSndCtl->walsnds[i];
		PGPROC	   *proc;
		pid_t		pid;

		SpinLockAcquire(&sender->mutex);
		pid = sender->pid;
		SpinLockRelease(&sender->mutex);
		if (pid == 0)
			continue;

		/* One for logical decoding is connected to a database. */
		proc = BackendPidGetProc(pid);
		if (proc != NULL && !OidIsValid(proc->databaseId))
			return true;
	}
	return false;
}

long
lb_look_after_feed(void)
{
	static TimestampTz seen = 0;	/* a standby, or the launcher's start */
	static bool said = false;
	static XLogRecPtr said_after;	/* where redo began then */
	TimestampTz now = GetCurrentTimestamp();
	bool		feeding = lb_feeding();
	XLogRecPtr	redo;
	bool		feeds;

	if (!XLogStandbyInfoActive())
		return LB_IDLE_SLEEP;
	if (seen == 0 || has_standby())
		seen = now;
	feeds = lb_feed_standbys == LB_FEED_ON ||
		(lb_feed_standbys == LB_FEED_AUTO &&
		 !lb_elapsed(seen, now, FEED_AFTER));
	redo = GetRedoRecPtr();
	if (feeds && !feeding)
		lb_feed_start();
	else if (!feeds && feeding)
		lb_feed_stop();
	else if (feeds && (!said || redo != said_after))
		lb_feed_say_hello(!said);
	said = feeds;
	said_after = redo;
	return LOOK_EVERY;
}
