/*-------------------------------------------------------------------------
 *
 * arena.c
 *	  Chunks of one fixed region of shared memory.
 *
 * The region consists of pages and, behind them, one state byte per chunk.
 * The first page is never used, so that number 0 can stand for none.  A page
 * is handed out whole, or halved repeatedly into buddies, whose numbers differ
 * in one bit.  Two free buddies are merged at once.  The free chunks of a size
 * form a list, linked both ways through the chunks themselves.
 *
 * A page that was never needed is never touched: the state bytes of zeroed
 * memory are valid, and new pages are taken in order of address once the free
 * lists are empty.  So the region can be much larger than the memory in use.
 * The limit is a number that can change.  It holds for the bytes handed out,
 * and for the pages ever touched, parts of which may be free.
 *
 * Disadvantages: there is one lock for everything, and a single small chunk
 * keeps its page from being merged.
 *
 *-------------------------------------------------------------------------
 */
#include "index/arena.h"

/*
 * The state byte of a chunk's first number; those of its other numbers are 0.
 */
#define STATE_ORDER 0x0f
#define STATE_FREE 0x10
#define STATE_USED 0x20

#define CHUNKS_PER_PAGE (1 << LB_MAX_ORDER)

/* What a free chunk holds. */
typedef struct FreeChunk
{
	LbRef		next;
	LbRef		prev;
} FreeChunk;

static inline FreeChunk *
free_chunk(const LbArena *arena, LbRef ref)
{
	return (FreeChunk *) lb_ptr(arena, ref);
}

static void
push_free(LbArena *arena, LbRef ref, int order)
{
	FreeChunk  *chunk = free_chunk(arena, ref);

	chunk->next = arena->free_list[order];
	chunk->prev = LB_NONE;
	if (chunk->next != LB_NONE)
		free_chunk(arena, chunk->next)->prev = ref;
	arena->free_list[order] = ref;
	arena->state[ref] = STATE_FREE | order;
}

static void
unlink_free(LbArena *arena, LbRef ref, int order)
{
	FreeChunk  *chunk = free_chunk(arena, ref);

	Assert(arena->state[ref] == (STATE_FREE | order));
	if (chunk->next != LB_NONE)
		free_chunk(arena, chunk->next)->prev = chunk->prev;
	if (chunk->prev != LB_NONE)
		free_chunk(arena, chunk->prev)->next = chunk->next;
	else
		arena->free_list[order] = chunk->next;
	arena->state[ref] = 0;
}

/* The first chunk that can be handed out. */
#define FIRST_CHUNK CHUNKS_PER_PAGE

/* How many pages fit into this many, together with their state bytes. */
static uint64
pages_within(uint64 pages)
{
	return pages - (pages * CHUNKS_PER_PAGE + LB_PAGE_SIZE - 1) / LB_PAGE_SIZE;
}

uint64
lb_arena_set_limit(LbArena *arena, uint64 bytes)
{
	uint64		limit = pages_within(bytes / LB_PAGE_SIZE) * LB_PAGE_SIZE;
	uint64		before;

	limit = Min(limit, arena->size);
	lb_arena_lock(arena);
	before = arena->limit;
	arena->limit = limit;
	arena->end = FIRST_CHUNK + (uint32) (limit / LB_CHUNK_SIZE);
	lb_arena_unlock(arena);
	return before;
}

bool
lb_arena_init(LbArena *arena, void *region, uint64 size, LbLock *lock)
{
	uint64		pages = pages_within(size / LB_PAGE_SIZE);
	int			order;

	Assert(((uintptr_t) region) % LB_PAGE_SIZE == 0);

	/* A reference has 32 bits. */
	pages = Min(pages, (uint64) UINT32_MAX / CHUNKS_PER_PAGE);
	if (pages < 2)
		return false;

	arena->lock = lock;
	arena->base = (char *) region;
	arena->state = (uint8 *) region + pages * LB_PAGE_SIZE;
	arena->nchunks = (uint32) (pages * CHUNKS_PER_PAGE);
	arena->fresh = FIRST_CHUNK;
	arena->end = arena->nchunks;
	arena->reserved = size;
	arena->size = (pages - 1) * LB_PAGE_SIZE;
	arena->limit = arena->size;
	arena->hash_seed = 0;
	arena->used = 0;
	arena->high = 0;
	for (order = 0; order <= LB_MAX_ORDER; order++)
		arena->free_list[order] = LB_NONE;
	return true;
}

LbRef
lb_alloc(const LbMem *mem, int order)
{
	LbArena    *arena = mem->arena;
	uint64		bytes = (uint64) LB_CHUNK_SIZE << order;
	LbRef		ref = LB_NONE;
	int			have;

	Assert(order >= 0 && order <= LB_MAX_ORDER);

	lb_arena_lock(arena);

	if (mem->limit != 0 && mem->account->used + bytes > mem->limit)
	{
		mem->account->limited = true;
		mem->account->limited_at = mem->limit;
		lb_arena_unlock(arena);
		return LB_NONE;
	}
	if (arena->used + bytes > arena->limit)
	{
		mem->account->limited = false;
		mem->account->refused_at = arena->limit;
		lb_arena_unlock(arena);
		return LB_NONE;
	}

	/* Take the smallest free chunk that is large enough, or a fresh page. */
	for (have = order; have <= LB_MAX_ORDER; have++)
	{
		ref = arena->free_list[have];
		if (ref != LB_NONE)
			break;
	}
	if (ref != LB_NONE)
		unlink_free(arena, ref, have);
	else if (arena->fresh < arena->end)
	{
		ref = arena->fresh;
		arena->fresh += CHUNKS_PER_PAGE;
		have = LB_MAX_ORDER;
	}
	else
	{
		mem->account->limited = false;
		mem->account->refused_at = arena->limit;
		lb_arena_unlock(arena);
		return LB_NONE;
	}

	/* Halve it as often as necessary; the upper halves stay free. */
	while (have > order)
	{
		have--;
		push_free(arena, ref + ((LbRef) 1 << have), have);
	}
	arena->state[ref] = STATE_USED | order;
	arena->used += bytes;
	if (arena->used > arena->high)
		arena->high = arena->used;
	mem->account->used += bytes;
	if (mem->taken != NULL)
		*mem->taken += bytes;

	lb_arena_unlock(arena);
	return ref;
}

void
lb_free(const LbMem *mem, LbRef ref, int order)
{
	LbArena    *arena = mem->arena;
	uint64		bytes = (uint64) LB_CHUNK_SIZE << order;

	Assert(order >= 0 && order <= LB_MAX_ORDER);

	lb_arena_lock(arena);

	Assert(ref != LB_NONE && ref < arena->fresh);
	Assert(arena->state[ref] == (STATE_USED | order));
	Assert(arena->used >= bytes && mem->account->used >= bytes);

	arena->used -= bytes;
	mem->account->used -= bytes;
	if (mem->taken != NULL)
		*mem->taken -= bytes;
	arena->state[ref] = 0;
	while (order < LB_MAX_ORDER)
	{
		LbRef		buddy = ref ^ ((LbRef) 1 << order);

		if (arena->state[buddy] != (STATE_FREE | order))
			break;
		unlink_free(arena, buddy, order);
		ref = Min(ref, buddy);
		order++;
	}
	push_free(arena, ref, order);

	lb_arena_unlock(arena);
}

bool
lb_arena_owns(const LbArena *arena, LbRef ref, int order)
{
	return ref >= FIRST_CHUNK && ref < arena->nchunks &&
		arena->state[ref] == (STATE_USED | order);
}

static const char *
check_locked(LbArena *arena)
{
	uint64		nfree[LB_MAX_ORDER + 1] = {0};
	uint64		used = 0;
	uint32		first = FIRST_CHUNK;
	uint32		ref;
	int			order;

	if (arena->fresh < first || arena->fresh > arena->nchunks ||
		arena->fresh % CHUNKS_PER_PAGE != 0)
		return "arena: the first fresh page is out of range";
	if (arena->size != (uint64) (arena->nchunks - first) * LB_CHUNK_SIZE)
		return "arena: wrong size";

	for (ref = first; ref < arena->fresh;)
	{
		uint8		state = arena->state[ref];
		uint32		n;
		uint32		i;

		order = state & STATE_ORDER;
		if (order > LB_MAX_ORDER)
			return "arena: a chunk has an impossible order";
		n = (uint32) 1 << order;
		if (ref % n != 0)
			return "arena: a chunk is not aligned";
		if (state == (STATE_USED | order))
			used += (uint64) n * LB_CHUNK_SIZE;
		else if (state == (STATE_FREE | order))
		{
			nfree[order]++;
			if (order < LB_MAX_ORDER && arena->state[ref ^ n] == state)
				return "arena: two free buddies are not merged";
		}
		else
			return "arena: a chunk has an impossible state";
		for (i = 1; i < n; i++)
		{
			if (arena->state[ref + i] != 0)
				return "arena: a chunk begins inside another";
		}
		ref += n;
	}

	for (order = 0; order <= LB_MAX_ORDER; order++)
	{
		LbRef		prev = LB_NONE;

		for (ref = arena->free_list[order]; ref != LB_NONE;)
		{
			if (ref < first || ref >= arena->fresh ||
				arena->state[ref] != (STATE_FREE | order))
				return "arena: a free list leads to a chunk that is not free";
			if (free_chunk(arena, ref)->prev != prev)
				return "arena: a free list is wrongly linked";
			if (nfree[order] == 0)
				return "arena: a free list is too long";
			nfree[order]--;
			prev = ref;
			ref = free_chunk(arena, ref)->next;
		}
		if (nfree[order] != 0)
			return "arena: a free chunk is on no list";
	}

	if (used != arena->used)
		return "arena: wrong sum of bytes handed out";
	if (arena->used > arena->high || arena->high > arena->size)
		return "arena: wrong high-water mark";
	return NULL;
}

const char *
lb_arena_check(LbArena *arena)
{
	const char *problem;

	lb_arena_lock(arena);
	problem = check_locked(arena);
	lb_arena_unlock(arena);
	return problem;
}
