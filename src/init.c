/*-------------------------------------------------------------------------
 *
 * init.c
 *	  Library entry: each folder sets itself up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "admin/apply_error.h"
#include "admin/denied.h"
#include "admin/manage.h"
#include "boards/counters.h"
#include "boards/shared.h"
#include "capture/ddl.h"
#include "capture/xact.h"
#include "citus/citus.h"
#include "feed/feed.h"
#include "leaderboards/window.h"
#include "ledger/ledger.h"
#include "planner/hooks.h"
#include "reads/corrections.h"
#include "reads/functions.h"
#include "submit/submit.h"
#include "util/pause.h"
#include "util/planted.h"
#include "watch/notify.h"
#include "windows/maintain.h"
#include "workers/launcher.h"

#ifdef PG_MODULE_MAGIC_EXT		/* version 18 */
PG_MODULE_MAGIC_EXT(
					.name = "leaderboard",
					.version = LB_VERSION
);
#else
PG_MODULE_MAGIC;
#endif

void		_PG_init(void);

void
_PG_init(void)
{
	/*
	 * Loaded by CREATE EXTENSION, LOAD or pg_upgrade on a server that does
	 * not preload us: the functions say what is missing, the triggers let
	 * every write through.
	 */
	if (!process_shared_preload_libraries_in_progress)
	{
		if (creating_extension && !IsBinaryUpgrade)
			ereport(WARNING,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("leaderboard is not loaded at server start"),
					 errdetail("Its functions raise an error until it is."),
					 errhint("Add \"leaderboard\" to shared_preload_libraries and restart the server.")));
		return;
	}

	lb_pause_init();
	lb_planted_init();
	lb_shared_init();
	lb_counters_init();
	lb_ledger_init();
	lb_feed_init();
	lb_reads_init();
	lb_corrections_init();
	lb_citus_init();
	lb_planner_init();
	lb_denied_init();
	lb_xact_init();
	lb_ddl_init(lb_lock_captured, lb_follow_rename);
	lb_leaderboards_init();
	lb_submit_init();
	lb_windows_init();
	lb_notify_init();
	lb_apply_error_init();
	lb_workers_init();
#if PG_VERSION_NUM >= 150000
	MarkGUCPrefixReserved("leaderboard");
#endif
}
