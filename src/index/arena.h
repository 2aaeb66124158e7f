/*-------------------------------------------------------------------------
 *
 * arena.h
 *	  Chunks of one fixed region of shared memory.
 *
 * The region is cut into pages of LB_PAGE_SIZE bytes, a page by binary
 * buddies (Knowlton 1965) into chunks of LB_CHUNK_SIZE << order bytes, so
 * that a board of ten members stays small.  A reference is the chunk's number
 * in units of LB_CHUNK_SIZE; number 0 is never handed out and means none.
 * No function raises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ARENA_H
#define LB_ARENA_H

#include "index/core.h"

#define LB_CHUNK_SIZE 256
#define LB_MAX_ORDER 3
#define LB_PAGE_SIZE (LB_CHUNK_SIZE << LB_MAX_ORDER)

typedef uint32 LbRef;

#define LB_NONE ((LbRef) 0)

/* What one database has taken, in bytes; protected by the arena's lock. */
typedef struct LbAccount
{
	uint64		used;
	bool		limited;		/* its own limit refused memory last, and not
								 * that of the arena */
	uint64		limited_at;		/* its own limit when that last refused memory */
	uint64		refused_at;		/* the arena's when that did */
} LbAccount;

/*
 * A lock that the program supplies, with these two functions.  In the server
 * it is an LWLock (util/lock.h), taken exclusively.
 */
typedef struct LbLock LbLock;
extern void lb_lock_acquire(LbLock *lock);
extern void lb_lock_release(LbLock *lock);

typedef struct LbArena
{
	/* Constant and often read, so in other cache lines than what changes. */
	char	   *base;			/* address of chunk 0; the same in every
								 * process */
	uint8	   *state;			/* per chunk: its order and whether it is free */
	uint64		reserved;		/* bytes of the region */
	uint64		size;			/* bytes that the highest limit allows */
	uint32		nchunks;		/* chunks of the region, chunk 0 included */
	uint64		hash_seed;		/* for the hashes of what users choose; the
								 * caller sets it before it makes the first
								 * index */
	LbLock	   *lock;			/* for everything below and for state; NULL if
								 * one process uses the arena alone */
	char		pad[128];

	uint64		used;			/* bytes handed out */
	uint64		high;			/* most bytes ever handed out at once */
	uint64		limit;			/* bytes that may be handed out now */
	uint32		end;			/* first chunk beyond the limit; starts a page */
	uint32		fresh;			/* first chunk never touched; starts a page */
	LbRef		free_list[LB_MAX_ORDER + 1];
} LbArena;

/*
 * Where memory comes from: the arena, and the account of a database with its
 * limit in bytes (0 is no limit).  taken, unless it is NULL, counts what one
 * definition has taken, in bytes, protected by the arena's lock.  Local to a
 * process, and cheap to fill in.
 */
typedef struct LbMem
{
	LbArena    *arena;
	LbAccount  *account;
	uint64		limit;
	int64	   *taken;
} LbMem;

/*
 * Lay out an arena over the size bytes at region, which are aligned to
 * LB_PAGE_SIZE and zero (or at least arena->state will be, before the first
 * lb_alloc).  Touches nothing of the region.  lock is the arena's lock,
 * initialized by the caller, or NULL.  Returns false if size is too small for
 * a single page.
 */
extern bool lb_arena_init(LbArena *arena, void *region, uint64 size,
						  LbLock *lock);

/*
 * Set the limit, in bytes of memory including what the arena itself needs.
 * What is handed out already stays.  The limit is at first the region's size,
 * and never more.  Returns the limit before; the new one is arena->limit.
 * Takes the arena's lock.
 */
extern uint64 lb_arena_set_limit(LbArena *arena, uint64 bytes);

/*
 * Take a chunk of LB_CHUNK_SIZE << order bytes, not zeroed.  Returns LB_NONE
 * if the arena's or the account's limit is reached.  Takes the arena's lock.
 */
extern LbRef lb_alloc(const LbMem *mem, int order);

/*
 * Free a chunk; order is the one that it was taken with.  Takes the arena's
 * lock.
 */
extern void lb_free(const LbMem *mem, LbRef ref, int order);

/*
 * Check the arena's invariants: every chunk is in exactly one place, the sums
 * agree.  Returns NULL, or a static string with a fault.  Takes the arena's
 * lock.
 */
extern const char *lb_arena_check(LbArena *arena);

/*
 * Whether ref is a chunk of this order that is handed out.  For checks of
 * structures that may be damaged.  Needs no lock if no other process can free
 * the chunk meanwhile.
 */
extern bool lb_arena_owns(const LbArena *arena, LbRef ref, int order);

/* Take and release the arena's lock, to read the numbers that it protects. */
static inline void
lb_arena_lock(LbArena *arena)
{
	if (arena->lock != NULL)
		lb_lock_acquire(arena->lock);
}

static inline void
lb_arena_unlock(LbArena *arena)
{
	if (arena->lock != NULL)
		lb_lock_release(arena->lock);
}

/* The address of a chunk. */
static inline void *
lb_ptr(const LbArena *arena, LbRef ref)
{
	Assert(ref != LB_NONE && ref < arena->nchunks);
	return arena->base + (uint64) ref * LB_CHUNK_SIZE;
}

#endif							/* LB_ARENA_H */
