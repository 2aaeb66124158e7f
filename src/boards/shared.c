/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  Shared memory: how it is set up, and what all files need of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/guc.h"

#include "boards/shared.h"
#include "util/region.h"

/* The names of our locks in pg_stat_activity.wait_event. */
#define DIRECTORY_TRANCHE "LeaderboardDirectory"
#define STRIPE_TRANCHE "LeaderboardStripe"
#define ARENA_TRANCHE "LeaderboardArena"

LbSharedState *lb_shared = NULL;

int			lb_memory_kb = 256 * 1024;
int			lb_max_memory_kb = 0;
int			lb_database_memory_kb = 0;

#if PG_VERSION_NUM >= 150000
static shmem_request_hook_type prev_shmem_request_hook = NULL;
#endif
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

/*
 * How many bytes to reserve.  Computed once, since that may write to the log.
 */
static Size
region_size(void)
{
	static Size size = 0;

	if (size == 0)
		size = lb_region_size((Size) lb_memory_kb * 1024,
							  (Size) lb_max_memory_kb * 1024);
	return size;
}

static Size
shared_size(void)
{
	return add_size(MAXALIGN(sizeof(LbSharedState)),
					lb_region_in_segment(region_size()));
}

static void
shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche(DIRECTORY_TRANCHE, 1);
	RequestNamedLWLockTranche(STRIPE_TRANCHE, 1);
	RequestNamedLWLockTranche(ARENA_TRANCHE, 1);
}

/* Make the directory empty. */
static void
directory_init(void)
{
	dlist_init(&lb_shared->boards);
	dlist_init(&lb_shared->free_boards);
	for (int i = 0; i < LB_DIRECTORY_BUCKETS; i++)
	{
		dlist_init(&lb_shared->boards_by_id[i]);
		dlist_init(&lb_shared->boards_by_source[i]);
		dlist_init(&lb_shared->boards_by_catalog[i]);
	}
}

/* A tranche is known by the lock that was requested with it. */
static int
tranche_of(const char *name)
{
	return GetNamedLWLockTranche(name)->lock.tranche;
}

/*
 * Runs at server start, again after a crash in the same postmaster, and with
 * EXEC_BACKEND in every process.
 */
static void
shmem_startup(void)
{
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	lb_shared = ShmemInitStruct("leaderboard", shared_size(), &found);
	if (!found)
	{
		char	   *region;
		Size		size = region_size();

		memset(lb_shared, 0, sizeof(LbSharedState));
		LWLockInitialize(&lb_shared->directory_lock,
						 tranche_of(DIRECTORY_TRANCHE));
		lb_shared->stripe_tranche = tranche_of(STRIPE_TRANCHE);
		directory_init();
		lb_shared->next_generation = 1;
		for (int i = 0; i < LB_MAX_DATABASES; i++)
			SpinLockInit(&lb_shared->databases[i].unknown.mutex);
		SpinLockInit(&lb_shared->watch_mutex);
		SpinLockInit(&lb_shared->apply_mutex);
		pg_atomic_init_u64(&lb_shared->versions, UINT64CONST(1) << 32);
		pg_atomic_init_u64(&lb_shared->history_bytes, 0);
		pg_atomic_init_u32(&lb_shared->histories_full, 0);
		pg_atomic_init_u64(&lb_shared->horizon, 0);
		pg_atomic_init_u64(&lb_shared->first_xid, 0);
		pg_atomic_init_u32(&lb_shared->builds_begun, 0);
		pg_atomic_init_u32(&lb_shared->builds_ended, 0);
		pg_atomic_init_u32(&lb_shared->launcher_pid, 0);
		pg_atomic_init_u32(&lb_shared->follows, 0);
		pg_atomic_init_u32(&lb_shared->applier_pid, 0);
		pg_atomic_init_u64(&lb_shared->requested, 0);
		pg_atomic_init_u32(&lb_shared->xid_wanted, 0);
		SpinLockInit(&lb_shared->failed_visits.mutex);
		pg_atomic_init_u32(&lb_shared->visited, 0);
		pg_atomic_init_u32(&lb_shared->visit_state, 0);
		pg_atomic_init_u32(&lb_shared->visit_task, 0);
		pg_atomic_init_u32(&lb_shared->visit_step, 0);
		pg_atomic_init_u32(&lb_shared->visit_limit, 0);
		region = lb_region_map((char *) lb_shared + MAXALIGN(sizeof(LbSharedState)),
							   (Size) lb_memory_kb * 1024, &size);
		LWLockInitialize(&lb_shared->arena_lock.lwlock,
						 tranche_of(ARENA_TRANCHE));
		if (!lb_arena_init(&lb_shared->arena, region, size,
						   &lb_shared->arena_lock))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"%s\" is too small", "leaderboard.memory")));
		if (!pg_strong_random(&lb_shared->arena.hash_seed,
							  sizeof(lb_shared->arena.hash_seed)))
			lb_shared->arena.hash_seed = (uint64) GetCurrentTimestamp();
		(void) lb_arena_set_limit(&lb_shared->arena,
								  (uint64) lb_memory_kb * 1024);
		pg_atomic_init_u64(&lb_shared->warn_at,
						   lb_shared->arena.limit / 100 * 80);
	}
	LWLockRelease(AddinShmemInitLock);
}

void
lb_require_preload(void)
{
	if (lb_shared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("leaderboard is not loaded at server start"),
				 errdetail("The index lives in shared memory, which can only be asked for when the server starts."),
				 errhint("Add \"leaderboard\" to shared_preload_libraries and restart the server.")));
}

LbMem
lb_mem(LbSharedBoard *shared)
{
	LbMem		mem;

	mem.arena = &lb_shared->arena;
	mem.account = shared->account;
	mem.taken = &shared->taken;
	mem.limit = (uint64) 1024 *
		(OidIsValid(MyDatabaseId) ? (uint32) lb_database_memory_kb :
		 pg_atomic_read_u32(&shared->memory_kb));
	return mem;
}

void
lb_wake_launcher(void)
{
	if (pg_atomic_read_u32(&lb_shared->launcher_pid) == 0)
		return;
	pg_read_barrier();
	SetLatch(lb_shared->launcher_latch);
}

void
lb_want_xid(void)
{
	/*
	 * The caller has read the next xid.  If the flag were read before that,
	 * it could be one that the launcher has cleared meanwhile, for an xid
	 * that is not above.
	 */
	pg_read_barrier();
	if (pg_atomic_read_u32(&lb_shared->xid_wanted) == 0 &&
		pg_atomic_exchange_u32(&lb_shared->xid_wanted, 1) == 0)
		lb_wake_launcher();
}

void
lb_shared_init(void)
{
	DefineCustomIntVariable("leaderboard.database_memory",
							"Sets the most memory that one database's boards may take.",
							"Zero is no limit.",
							&lb_database_memory_kb,
							0, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_KB,
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

#if PG_VERSION_NUM >= 150000
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = shmem_request;
#else
	shmem_request();
#endif
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
}
