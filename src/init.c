/*-------------------------------------------------------------------------
 *
 * init.c
 *	  Library entry: settings, hooks, background workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/guc.h"

#include "admin/manage.h"
#include "boards/counters.h"
#include "boards/shared.h"
#include "capture/ddl.h"
#include "capture/xact.h"
#include "citus/citus.h"
#include "leaderboards/window.h"
#include "ledger/publication.h"
#include "planner/answer.h"
#include "planner/hooks.h"
#include "reads/access.h"
#include "reads/corrections.h"
#include "reads/json.h"
#include "reads/mistyped.h"
#include "submit/event.h"
#include "submit/submit.h"
#include "util/pause.h"
#include "watch/notify.h"
#include "windows/maintain.h"
#include "windows/trim.h"
#include "windows/reward.h"
#include "workers/applier.h"
#include "workers/build.h"
#include "workers/launcher.h"

#ifdef PG_MODULE_MAGIC_EXT		/* version 18 */
PG_MODULE_MAGIC_EXT(
					.name = "leaderboard",
					.version = LB_VERSION
);
#else
PG_MODULE_MAGIC;
#endif

static const struct config_enum_entry not_ready_options[] = {
	{"wait", LB_POLICY_WAIT, false},
	{"query", LB_POLICY_QUERY, false},
	{"error", LB_POLICY_ERROR, false},
	{NULL, 0, false}
};

static const struct config_enum_entry json_bigint_options[] = {
	{"number", LB_JSON_BIGINT_NUMBER, false},
	{"string", LB_JSON_BIGINT_STRING, false},
	{NULL, 0, false}
};

static const struct config_enum_entry offline_options[] = {
	{"query", LB_POLICY_QUERY, false},
	{"error", LB_POLICY_ERROR, false},
	{NULL, 0, false}
};

static const struct config_enum_entry planner_child_options[] = {
	{"off", LB_CHILD_ON_DEMAND, false},
	{"force", LB_CHILD_FORCE, false},
	{"eager", LB_CHILD_EAGER, false},
	{NULL, 0, false}
};

static const struct config_enum_entry unknown_board_options[] = {
	{"notice", LB_UNKNOWN_NOTICE, false},
	{"error", LB_UNKNOWN_ERROR, false},
	{"ignore", LB_UNKNOWN_IGNORE, false},
	{NULL, 0, false}
};

void		_PG_init(void);

void
_PG_init(void)
{
	BackgroundWorker worker;

	/*
	 * Loaded by CREATE EXTENSION, LOAD or pg_upgrade on a server that does
	 * not preload us: the functions say what is missing, the triggers let
	 * every write through.
	 */
	if (!process_shared_preload_libraries_in_progress)
		return;

	DefineCustomIntVariable("leaderboard.anomaly_retention",
							"Sets how long lb_anomaly keeps players who have exceeded a limit.",
							"-1 keeps them forever.",
							&lb_anomaly_retention,
							90 * 86400, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.applied_retention",
							"Sets how long lb_applied remembers which matches have been applied.",
							"-1 keeps them forever.",
							&lb_applied_retention,
							7 * 86400, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("leaderboard.applier",
							 "Enables a process that applies changes to the indexes of large boards.",
							 "When off, the committing session applies them.",
							 &lb_applier,
							 true,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.build_workers",
							"Sets how many boards are built at the same time.",
							NULL,
							&lb_build_workers,
							2, 1, 64,
							PGC_SIGHUP, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.database_memory",
							"Sets the most memory that one database's boards may take.",
							"Zero is no limit.",
							&lb_database_memory_kb,
							0, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("leaderboard.enable_index",
							 "Enables answering reads from the index.",
							 "When off, every read runs its defining query.",
							 &lb_enable_index,
							 true,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("leaderboard.enable_planner",
							 "Enables plans that use boards.",
							 "When off, only the functions of the extension use them.",
							 &lb_enable_planner,
							 true,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.event_retention",
							"Sets how long lb_event keeps what has been submitted.",
							"-1 keeps them forever.",
							&lb_event_retention,
							30 * 86400, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("leaderboard.events",
							 "Enables logging what is submitted in lb_event.",
							 NULL,
							 &lb_events,
							 true,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.history_size",
							"Sets the most memory for settled changes that older snapshots may not see.",
							NULL,
							&lb_history_size,
							16 * 1024, 64, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.maintenance_interval",
							"Sets the time between two visits of a worker that closes windows.",
							"Zero turns it off: lb_maintain() does the same.",
							&lb_maintenance_interval,
							300, 0, 86400,
							PGC_SIGHUP, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.maintenance_timeout",
							"Sets how long a step of maintenance may take in the worker.",
							"Zero is any time.",
							&lb_maintenance_timeout,
							60, 0, INT_MAX / 1000,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.max_clock_skew",
							"Sets how far ahead of the server's clock the time of a submit may be.",
							"-1 is any time.",
							&lb_max_clock_skew,
							300, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.max_memory",
							"Sets what leaderboard.memory can be raised to while the server runs.",
							"Zero is the machine's memory, if reserving address space is free.",
							&lb_max_memory_kb,
							0, 0, INT_MAX,
							PGC_POSTMASTER, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.memory",
							"Sets the shared memory for all boards of the server.",
							NULL,
							&lb_memory_kb,
							256 * 1024, 64, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.json_bigint",
							 "Sets how JSON shows members and scores of type bigint.",
							 "A number, or a string for clients whose numbers are exact up to 2^53 only.",
							 &lb_json_bigint,
							 LB_JSON_BIGINT_NUMBER, json_bigint_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.not_ready",
							 "Sets what a read does while its board is building.",
							 NULL,
							 &lb_not_ready,
							 LB_POLICY_WAIT, not_ready_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.notify_interval",
							"Sets the time between two notifications of what is watched.",
							NULL,
							&lb_notify_interval,
							1000, 10, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.offline",
							 "Sets what a read does when its board is offline, or on a standby.",
							 NULL,
							 &lb_offline,
							 LB_POLICY_QUERY, offline_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.debug_planner_child",
							 "Sets what plans that use boards do with the ordinary plan below them.",
							 "This is for tests.",
							 &lb_planner_child,
							 LB_CHILD_ON_DEMAND, planner_child_options,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.reward_timeout",
							"Sets how long a function of lb_set_reward() may run in the worker.",
							"Zero is any time.",
							&lb_reward_timeout,
							60, 0, INT_MAX / 1000,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("leaderboard.submit_ranks",
							 "Enables the ranks that lb_submit() returns.",
							 NULL,
							 &lb_submit_ranks,
							 true,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.unknown_board",
							 "Sets what a read does if the family of a board seems to be mistyped.",
							 NULL,
							 &lb_unknown_board,
							 LB_UNKNOWN_NOTICE, unknown_board_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.wait_timeout",
							"Sets how long a read waits for its board to be built.",
							NULL,
							&lb_wait_timeout_ms,
							10000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	lb_pause_init();
#if PG_VERSION_NUM >= 150000
	MarkGUCPrefixReserved("leaderboard");
#endif
	lb_shared_init();
	lb_counters_init();
	lb_corrections_init();
	lb_citus_init();
	lb_planner_init();
	lb_xact_init();
	lb_ddl_init(lb_follow_rename);
	lb_window_init();
	lb_maintain_init();
	lb_notify_init();

	/* No worker may read the tables of pg_upgrade's servers. */
	if (IsBinaryUpgrade)
		return;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "leaderboard", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "lb_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "leaderboard launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "leaderboard launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
	strlcpy(worker.bgw_function_name, "lb_applier_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "leaderboard applier", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "leaderboard applier", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
