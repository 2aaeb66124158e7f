/*-------------------------------------------------------------------------
 *
 * memory.c
 *	  What the launcher does about the memory of all boards.
 *
 * It puts leaderboard.memory into force, warns when that runs low, and has the
 * kernel use huge pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "boards/state.h"
#include "util/region.h"
#include "workers/memory.h"
#include "workers/worker.h"

/* Boards that a warning names. */
#define NAMED 3

typedef struct Growth
{
	Oid			database;
	char		name[NAMEDATALEN];
	int64		taken;
	int64		by;
} Growth;

/* The level of which the log was warned, 80 or 95 per cent, or 0. */
static int	warned = 0;

void
lb_note_growth(LbSharedBoard *shared)
{
	/* What a build takes is no growth. */
	if (!lb_is_ready(shared) || lb_build_is_running(shared))
		shared->grown_from = -1;
	else if (shared->grown_from < 0)
		shared->grown_from = shared->taken;
}

/*
 * Insert a board, in the order of growth or else of size; the last one may go.
 */
static int
insert_growth(Growth *top, int n, const LbSharedBoard *shared, int64 taken,
			  int64 by)
{
	int			i = n;

	for (; i > 0 && (by > 0 ? top[i - 1].by < by :
					 top[i - 1].taken < taken); i--)
	{
		if (i < NAMED)
			top[i] = top[i - 1];
	}
	if (i == NAMED)
		return n;
	top[i].database = shared->database;
	memcpy(top[i].name, shared->name, NAMEDATALEN);
	top[i].taken = taken;
	top[i].by = by;
	return Min(n + 1, NAMED);
}

/*
 * The boards that have grown most since the last warning, or since their
 * build; if none has, the largest.  Fills in top, the first one first, and
 * returns how many there are.  Sizes are read without the arena's lock.
 */
static int
find_growth(Growth *top)
{
	int			n = 0;
	bool		any = false;
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		any |= shared->grown_from >= 0 && shared->taken > shared->grown_from;
	}
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);
		int64		taken = shared->taken;
		int64		by = 0;

		if (shared->grown_from >= 0)
		{
			by = taken - shared->grown_from;
			shared->grown_from = taken;
		}
		if (any ? by > 0 : taken > 0)
			n = insert_growth(top, n, shared, taken, any ? by : 0);
	}
	LWLockRelease(&lb_shared->directory_lock);
	return n;
}

static void
log_warning(int level, uint64 used, uint64 limit)
{
	LbArena    *arena = &lb_shared->arena;
	uint64		bytes = (uint64) lb_memory_kb * 1024;
	Growth		top[NAMED];
	int			n = find_growth(top);
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < n; i++)
	{
		appendStringInfo(&names, "%s\"%s\" of database %s has " INT64_FORMAT " bytes",
						 i == 0 ? "" : ", ", top[i].name,
						 lb_logged_database(top[i].database), top[i].taken);
		if (top[i].by > 0)
			appendStringInfo(&names, " (" INT64_FORMAT " more)", top[i].by);
	}
	ereport(WARNING,
			(errmsg("%d %% of the shared memory of \"%s\" is used",
					level, "leaderboard.memory"),
			 n == 0 ?
			 errdetail("Used are " UINT64_FORMAT " of " UINT64_FORMAT " bytes.",
					   used, limit) :
			 errdetail("Used are " UINT64_FORMAT " of " UINT64_FORMAT " bytes. %s: %s.",
					   used, limit, top[0].by > 0 ?
					   "Grown most since the last warning, or since they were built" :
					   "The largest", names.data),
			 arena->reserved > bytes ?
			 errhint("Set \"%s\" higher and reload the configuration; up to " UINT64_FORMAT " bytes are reserved. A board that does not fit is answered by queries.",
					 "leaderboard.memory", arena->reserved) :
			 errhint("Set \"%s\" and \"%s\" higher and restart the server; no more is reserved. A board that does not fit is answered by queries.",
					 "leaderboard.memory", "leaderboard.max_memory")));
	pfree(names.data);
}

void
lb_warn_memory(void)
{
	LbArena    *arena = &lb_shared->arena;
	uint64		used;
	uint64		limit;
	int			level;

	lb_arena_lock(arena);
	used = arena->used;
	limit = arena->limit;
	lb_arena_unlock(arena);
	level = used >= limit / 100 * 95 ? 95 : used >= limit / 100 * 80 ? 80 : 0;
	if (level > warned)
		log_warning(level, used, limit);

	/* Changes around a level do not warn again. */
	if (level > warned || used < limit / 100 * 75)
		warned = level;
	pg_atomic_write_u64(&lb_shared->warn_at,
						warned == 95 ? PG_UINT64_MAX :
						limit / 100 * (warned == 80 ? 95 : 80));
}

bool
lb_apply_memory_limit(void)
{
	static uint64 logged = 0;
	LbArena    *arena = &lb_shared->arena;
	uint64		bytes = (uint64) lb_memory_kb * 1024;
	uint64		before = lb_arena_set_limit(arena, bytes);
	uint64		limit = arena->limit;

	if (bytes > arena->reserved && bytes != logged)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("\"%s\" is more than is reserved", "leaderboard.memory"),
				 errdetail("It is " UINT64_FORMAT " bytes, and " UINT64_FORMAT " were reserved when the server started. So much is in force.",
						   bytes, arena->reserved),
				 errhint("Set \"%s\" higher and restart the server.",
						 "leaderboard.max_memory")));
	logged = bytes;
	if (limit == before)
		return false;
	ereport(LOG,
			(errmsg("boards may now take " UINT64_FORMAT " bytes of shared memory instead of " UINT64_FORMAT,
					limit, before)));
	warned = 0;
	return limit > before;
}

bool
lb_collapse_pages(void)
{
	LbArena    *arena = &lb_shared->arena;
	Size		used;

	lb_arena_lock(arena);
	used = (Size) arena->fresh * LB_CHUNK_SIZE;
	lb_arena_unlock(arena);
	return lb_region_collapse(arena->base, used);
}
