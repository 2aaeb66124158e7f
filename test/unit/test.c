/*-------------------------------------------------------------------------
 *
 * test.c
 *	  Unit tests of arena, member hash and skip list.
 *
 * Usage: test [seed [short]]
 *
 * Each structure does random operations next to a simple model and is
 * compared with it; its own check runs every so many operations.  That the
 * checks find something is tested by planting damage.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "index/arena.c"
#include "index/memberhash.c"
#include "index/skiplist.c"

static int	passed = 0;
static int	failed = 0;
static uint64 operations = 0;
static bool short_run = false;

/* Give up the test at hand, which returns bool. */
#define REQUIRE(cond) \
	do { \
		if (!(cond)) \
		{ \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return false; \
		} \
	} while (0)

/* The same for a check that returns a string, or NULL. */
#define REQUIRE_NULL(call) \
	do { \
		const char *problem_ = (call); \
		if (problem_ != NULL) \
		{ \
			printf("%s:%d: %s\n", __FILE__, __LINE__, problem_); \
			return false; \
		} \
	} while (0)

static void
report(const char *name, bool ok)
{
	if (ok)
		passed++;
	else
		failed++;
	printf("%-6s %s\n", ok ? "ok" : "FAILED", name);
	fflush(stdout);
}

/* splitmix64 (S. Vigna) */
static uint64 rng;

static uint64
next_random(void)
{
	uint64		z = (rng += UINT64CONST(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint32
random_below(uint32 n)
{
	return (uint32) (next_random() % n);
}

/* A lock that is taken once at a time. */
struct LbLock
{
	bool		held;
};

void
lb_lock_acquire(LbLock *lock)
{
	Assert(!lock->held);
	lock->held = true;
}

void
lb_lock_release(LbLock *lock)
{
	Assert(lock->held);
	lock->held = false;
}

static void *
allocate(Size size)
{
	void	   *memory = calloc(1, Max(size, 1));

	if (memory == NULL)
		abort();
	return memory;
}

/* An arena with so many pages to give, and one account. */
typedef struct World
{
	LbArena		arena;
	LbLock		lock;
	LbAccount	account;
	LbMem		mem;
	void	   *region;
} World;

static bool
world_open(World *world, uint64 pages)
{
	uint64		size;

	/* State bytes take a page for 256, and one page stands for none. */
	size = (pages + 1 + (pages + 255) / 255 + 1) * LB_PAGE_SIZE;
	memset(world, 0, sizeof(World));
	if (posix_memalign(&world->region, LB_PAGE_SIZE, size) != 0)
		abort();
	memset(world->region, 0, size);
	world->mem.arena = &world->arena;
	world->mem.account = &world->account;
	if (!lb_arena_init(&world->arena, world->region, size, &world->lock))
		return false;
	world->arena.hash_seed = next_random();
	return true;
}

/* Nothing may be left, and all pages be whole again. */
static bool
world_close(World *world)
{
	int			order;

	REQUIRE(world->arena.used == 0);
	REQUIRE(world->account.used == 0);
	for (order = 0; order < LB_MAX_ORDER; order++)
		REQUIRE(world->arena.free_list[order] == LB_NONE);
	REQUIRE_NULL(lb_arena_check(&world->arena));
	REQUIRE(!world->lock.held);
	free(world->region);
	return true;
}

/* Allow only so many more chunks. */
static void
world_limit(World *world, uint32 chunks)
{
	world->mem.limit = Max(world->account.used +
						   (uint64) chunks * LB_CHUNK_SIZE, 1);
}

/*--------------------------------------------------------------------------
 * Arena
 *--------------------------------------------------------------------------
 */

static bool
test_arena_small(void)
{
	LbArena		arena;
	World		world;
	LbRef		ref[8];
	char	   *region;
	int			i;

	/* One page is for the state bytes, and one stands for none. */
	region = aligned_alloc(LB_PAGE_SIZE, 3 * LB_PAGE_SIZE);
	if (region == NULL)
		abort();
	memset(region, 0, 3 * LB_PAGE_SIZE);
	REQUIRE(!lb_arena_init(&arena, region, 0, NULL));
	REQUIRE(!lb_arena_init(&arena, region, 3 * LB_PAGE_SIZE - 1, NULL));
	REQUIRE(!lb_arena_init(&arena, region, LB_PAGE_SIZE, NULL));
	REQUIRE(lb_arena_init(&arena, region, 3 * LB_PAGE_SIZE, NULL));
	REQUIRE(arena.size == LB_PAGE_SIZE);

	/* Of more than can be referred to, a part is used. */
	REQUIRE(lb_arena_init(&arena, region, (uint64) 1 << 42, NULL));
	REQUIRE(arena.nchunks > UINT32_MAX - 8 && arena.nchunks % 8 == 0);
	REQUIRE(arena.size > ((uint64) 1 << 40) / 100 * 99 &&
			arena.size < (uint64) 1 << 40);
	free(region);

	/* A page is eight chunks, and comes together again. */
	REQUIRE(world_open(&world, 1));
	for (i = 0; i < 8; i++)
	{
		ref[i] = lb_alloc(&world.mem, 0);
		REQUIRE(ref[i] != LB_NONE);
		REQUIRE(lb_arena_owns(&world.arena, ref[i], 0));
		REQUIRE(!lb_arena_owns(&world.arena, ref[i], 1));
		REQUIRE_NULL(lb_arena_check(&world.arena));
	}
	for (i = 0; i < 8; i += 2)
		lb_free(&world.mem, ref[i], 0);
	while (world.arena.fresh < world.arena.nchunks)
		REQUIRE(lb_alloc(&world.mem, LB_MAX_ORDER) != LB_NONE);
	REQUIRE(lb_alloc(&world.mem, 1) == LB_NONE);
	for (i = 1; i < 8; i += 2)
		lb_free(&world.mem, ref[i], 0);
	REQUIRE(lb_alloc(&world.mem, LB_MAX_ORDER) != LB_NONE);
	world.account.limited = true;
	REQUIRE(lb_alloc(&world.mem, 0) == LB_NONE);
	REQUIRE(!world.account.limited);
	REQUIRE(world.arena.used == world.arena.size);
	REQUIRE(world.arena.high == world.arena.size);
	REQUIRE_NULL(lb_arena_check(&world.arena));
	free(world.region);

	/* The limit counts what this account has, to the byte. */
	REQUIRE(world_open(&world, 8));
	world.mem.limit = LB_PAGE_SIZE + LB_CHUNK_SIZE;
	ref[0] = lb_alloc(&world.mem, LB_MAX_ORDER);
	REQUIRE(ref[0] != LB_NONE);
	REQUIRE(!world.account.limited);
	REQUIRE(lb_alloc(&world.mem, 1) == LB_NONE);
	REQUIRE(world.account.limited);
	ref[1] = lb_alloc(&world.mem, 0);
	REQUIRE(ref[1] != LB_NONE);
	REQUIRE(lb_alloc(&world.mem, 0) == LB_NONE);
	REQUIRE(world.account.used == world.mem.limit);
	lb_free(&world.mem, ref[0], LB_MAX_ORDER);
	lb_free(&world.mem, ref[1], 0);
	REQUIRE(world.arena.high == world.mem.limit);
	return world_close(&world);
}

/* A limit that is moved: nothing new beyond it, and nothing is lost. */
static bool
test_arena_limit(void)
{
	World		world;
	LbRef		ref[16];
	int64		taken = 0;
	int			n;

	REQUIRE(world_open(&world, 16));
	world.mem.taken = &taken;
	REQUIRE(world.arena.limit == world.arena.size);

	/* Four pages and the one for their state bytes. */
	REQUIRE(lb_arena_set_limit(&world.arena, 5 * LB_PAGE_SIZE) ==
			world.arena.size);
	REQUIRE(world.arena.limit == 4 * LB_PAGE_SIZE);
	for (n = 0; n < 4; n++)
	{
		ref[n] = lb_alloc(&world.mem, LB_MAX_ORDER);
		REQUIRE(ref[n] != LB_NONE);
	}
	world.account.limited = true;
	REQUIRE(lb_alloc(&world.mem, 0) == LB_NONE);
	REQUIRE(!world.account.limited);
	REQUIRE(world.arena.used == world.arena.limit);
	REQUIRE(taken == (int64) world.arena.used);

	/* Raised, there are more at once. */
	REQUIRE(lb_arena_set_limit(&world.arena, 8 * LB_PAGE_SIZE) ==
			4 * LB_PAGE_SIZE);
	for (; n < 7; n++)
	{
		ref[n] = lb_alloc(&world.mem, LB_MAX_ORDER);
		REQUIRE(ref[n] != LB_NONE);
	}
	REQUIRE(lb_alloc(&world.mem, 0) == LB_NONE);
	REQUIRE_NULL(lb_arena_check(&world.arena));

	/* Lowered, free pages are not taken as long as more is in use. */
	(void) lb_arena_set_limit(&world.arena, 4 * LB_PAGE_SIZE);
	REQUIRE(world.arena.limit == 3 * LB_PAGE_SIZE);
	for (; n > 3; n--)
	{
		REQUIRE(lb_alloc(&world.mem, 0) == LB_NONE);
		lb_free(&world.mem, ref[n - 1], LB_MAX_ORDER);
	}
	REQUIRE(lb_alloc(&world.mem, 0) == LB_NONE);
	lb_free(&world.mem, ref[2], LB_MAX_ORDER);
	ref[2] = lb_alloc(&world.mem, LB_MAX_ORDER);
	REQUIRE(ref[2] != LB_NONE);
	REQUIRE_NULL(lb_arena_check(&world.arena));

	/* Never more than there is, and never less than nothing. */
	(void) lb_arena_set_limit(&world.arena, UINT64_MAX / 2);
	REQUIRE(world.arena.limit == world.arena.size);
	REQUIRE(world.arena.end == world.arena.nchunks);
	(void) lb_arena_set_limit(&world.arena, 0);
	REQUIRE(world.arena.limit == 0);
	REQUIRE(lb_alloc(&world.mem, 0) == LB_NONE);
	for (n = 0; n < 3; n++)
		lb_free(&world.mem, ref[n], LB_MAX_ORDER);
	REQUIRE(taken == 0);
	return world_close(&world);
}

static bool
test_arena_random(int pages, int steps)
{
	World		world;
	int			capacity = pages * 8;
	LbRef	   *refs = allocate(capacity * sizeof(LbRef));
	uint8	   *orders = allocate(capacity);
	int			n = 0;
	int			step;
	bool		growing = true;
	uint64		used = 0;
	Size		size;

	REQUIRE(world_open(&world, pages));

	/* Memory that was never handed out must not be written to. */
	size = (Size) (world.arena.nchunks - world.arena.fresh) * LB_CHUNK_SIZE;
	memset(lb_ptr(&world.arena, world.arena.fresh), 0xa5, size);

	for (step = 0; step < steps; step++)
	{
		operations++;
		if (random_below(1000) == 0)
			growing = !growing;
		if (n == 0 || (n < capacity && random_below(3) < (growing ? 2 : 1)))
		{
			int			order = random_below(LB_MAX_ORDER + 1);
			uint32		fresh = world.arena.fresh;
			LbRef		ref = lb_alloc(&world.mem, order);

			if (ref == LB_NONE)
			{
				int			i;

				REQUIRE(world.arena.fresh == world.arena.nchunks);
				for (i = order; i <= LB_MAX_ORDER; i++)
					REQUIRE(world.arena.free_list[i] == LB_NONE);
				growing = false;
				continue;
			}
			if (world.arena.fresh != fresh)
				REQUIRE(world.arena.fresh == world.arena.nchunks ||
						((uint8 *) lb_ptr(&world.arena, world.arena.fresh))
						[random_below(LB_PAGE_SIZE)] == 0xa5);
			memset(lb_ptr(&world.arena, ref), (int) (ref & 0xff),
				   (Size) LB_CHUNK_SIZE << order);
			refs[n] = ref;
			orders[n++] = (uint8) order;
			used += (uint64) LB_CHUNK_SIZE << order;
		}
		else
		{
			int			i = random_below(n);
			const uint8 *memory = lb_ptr(&world.arena, refs[i]);
			Size		bytes = (Size) LB_CHUNK_SIZE << orders[i];

			REQUIRE(memory[0] == (refs[i] & 0xff));
			REQUIRE(memory[random_below(bytes)] == (refs[i] & 0xff));
			REQUIRE(memory[bytes - 1] == (refs[i] & 0xff));
			lb_free(&world.mem, refs[i], orders[i]);
			used -= bytes;
			refs[i] = refs[--n];
			orders[i] = orders[n];
		}
		REQUIRE(world.arena.used == used && world.account.used == used);
		if (step % 1021 == 0)
			REQUIRE_NULL(lb_arena_check(&world.arena));
	}
	while (n > 0)
	{
		n--;
		lb_free(&world.mem, refs[n], orders[n]);
	}
	free(refs);
	free(orders);
	return world_close(&world);
}

static bool
test_arena_damage(void)
{
	World		world;
	LbRef		a;
	LbRef		b;

	REQUIRE(world_open(&world, 8));
	a = lb_alloc(&world.mem, 0);
	b = lb_alloc(&world.mem, LB_MAX_ORDER);

	world.arena.used++;
	REQUIRE(lb_arena_check(&world.arena) != NULL);
	world.arena.used--;
	world.arena.state[a] ^= 1;
	REQUIRE(lb_arena_check(&world.arena) != NULL);
	world.arena.state[a] ^= 1;
	world.arena.state[b + 1] = STATE_USED;
	REQUIRE(lb_arena_check(&world.arena) != NULL);
	world.arena.state[b + 1] = 0;
	world.arena.free_list[1] = LB_NONE;
	REQUIRE(lb_arena_check(&world.arena) != NULL);
	world.arena.free_list[1] = a + 2;
	free_chunk(&world.arena, a + 2)->prev = b;
	REQUIRE(lb_arena_check(&world.arena) != NULL);
	free_chunk(&world.arena, a + 2)->prev = LB_NONE;
	world.arena.fresh++;
	REQUIRE(lb_arena_check(&world.arena) != NULL);
	world.arena.fresh--;
	unlink_free(&world.arena, a + 2, 1);
	push_free(&world.arena, a + 2, 0);
	push_free(&world.arena, a + 3, 0);
	REQUIRE(lb_arena_check(&world.arena) != NULL);
	unlink_free(&world.arena, a + 2, 0);
	unlink_free(&world.arena, a + 3, 0);
	push_free(&world.arena, a + 2, 1);
	REQUIRE_NULL(lb_arena_check(&world.arena));

	lb_free(&world.mem, a, 0);
	lb_free(&world.mem, b, LB_MAX_ORDER);
	return world_close(&world);
}

/*--------------------------------------------------------------------------
 * Hash
 *
 * The model is an array of the references in the table; a reference's hash
 * follows from its number.
 *--------------------------------------------------------------------------
 */

static uint32
test_hash_of(LbRef ref, uint32 groups)
{
	int64		word = groups == 0 ? ref : ref % groups;

	return lb_hash_words(0, &word, 1);
}

static int
count_in_table(const LbArena *arena, const LbHash *table, uint32 hash,
			   LbRef ref)
{
	LbHashScan	scan;
	LbRef		found;
	int			n = 0;

	for (found = lb_hash_first(arena, table, hash, &scan); found != LB_NONE;
		 found = lb_hash_next(arena, table, &scan))
		n += found == ref;
	return n;
}

static bool
count_visit(uint32 hash, LbRef ref, void *arg)
{
	uint64	   *sum = (uint64 *) arg;

	sum[0]++;
	sum[1] += ref;
	sum[2] += hash;
	return true;
}

static bool
stop_visit(uint32 hash, LbRef ref, void *arg)
{
	(void) hash;
	(void) ref;
	return ++* (int *) arg < 3;
}

static bool
compare_table(const LbArena *arena, const LbHash *table, const LbRef *refs,
			  uint32 n, uint32 groups)
{
	uint64		sum[3] = {0, 0, 0};
	uint64		expect[3] = {0, 0, 0};
	uint32		i;

	REQUIRE_NULL(lb_hash_check(arena, table));
	REQUIRE(table->entries == n);
	for (i = 0; i < n; i++)
		(void) count_visit(test_hash_of(refs[i], groups), refs[i], expect);
	lb_hash_walk(arena, table, count_visit, sum);
	REQUIRE(memcmp(sum, expect, sizeof(sum)) == 0);
	return true;
}

/*
 * groups: so many different hashes, 0 is no restriction.  refs go up to
 * 2 * most, and those below have a chance to be there.
 */
static bool
test_hash_random(uint32 most, uint32 groups, int steps, uint32 reserve,
				 bool starve)
{
	World		world;
	LbHash		table;
	uint32		universe = most * 2;
	LbRef	   *refs = allocate(most * sizeof(LbRef));
	int		   *at = allocate((universe + 1) * sizeof(int));
	uint32		n = 0;
	int			step;
	bool		growing = true;
	uint32		i;

	REQUIRE(world_open(&world, most / 40 + 64));
	lb_hash_init(&table);
	for (i = 0; i <= universe; i++)
		at[i] = -1;
	if (reserve > 0)
	{
		REQUIRE(lb_hash_reserve(&world.mem, &table, reserve) == LB_OK);
		for (i = 1; i <= Min(reserve, most); i++)
		{
			REQUIRE(lb_hash_insert(&world.mem, &table,
								   test_hash_of(i, groups), i) == LB_OK);
			at[i] = (int) n;
			refs[n++] = i;
		}
		REQUIRE(compare_table(&world.arena, &table, refs, n, groups));
	}

	for (step = 0; step < steps; step++)
	{
		LbRef		ref = 1 + random_below(universe);
		uint32		hash;

		operations++;
		if (n == 0)
			growing = true;
		else if (n == most)
			growing = false;
		else if (random_below(most * 4) == 0)
			growing = !growing;

		/* Go all the way up and down. */
		if (growing ? random_below(8) == 0 : random_below(8) != 0)
		{
			if (n > 0 && random_below(4) != 0)
				ref = refs[random_below(n)];
		}
		hash = test_hash_of(ref, groups);
		if (groups == 0 || random_below(16) == 0)
			REQUIRE(count_in_table(&world.arena, &table, hash, ref) ==
					(at[ref] >= 0));
		if (at[ref] >= 0 && random_below(8) == 0)
		{
			/* Away and back, by the slot's reference only. */
			REQUIRE(lb_hash_replace(&world.arena, &table, hash, ref,
									universe + 1));
			REQUIRE(!lb_hash_replace(&world.arena, &table, hash, ref, 1));
			REQUIRE(lb_hash_replace(&world.arena, &table, hash, universe + 1,
									ref));
		}
		else if (at[ref] >= 0)
		{
			/* Getting smaller takes memory; without, it stays as it is. */
			if (starve)
				world_limit(&world, random_below(40));
			REQUIRE(lb_hash_delete(&world.mem, &table, hash, ref));
			world.mem.limit = 0;
			refs[at[ref]] = refs[--n];
			at[refs[n]] = at[ref];
			at[ref] = -1;
		}
		else if (n < most)
		{
			LbResult	result = LB_NOMEM;
			uint32		chunks = 0;

			REQUIRE(!lb_hash_delete(&world.mem, &table, hash, ref));
			if (starve && random_below(4) == 0)
			{
				/* Give it a little more memory at a time. */
				while (result == LB_NOMEM)
				{
					uint64		used = world.arena.used;

					world_limit(&world, chunks++);
					result = lb_hash_insert(&world.mem, &table, hash, ref);
					if (result == LB_NOMEM)
					{
						REQUIRE(world.arena.used == used);
						REQUIRE(compare_table(&world.arena, &table, refs, n,
											  groups));
					}
				}
				world.mem.limit = 0;
			}
			else
				result = lb_hash_insert(&world.mem, &table, hash, ref);
			REQUIRE(result == LB_OK);
			at[ref] = (int) n;
			refs[n++] = ref;
		}
		REQUIRE(table.entries == n);
		REQUIRE(table.chunks * LB_CHUNK_SIZE == world.arena.used);
		REQUIRE((table.root == LB_NONE) == (n == 0));
		if (random_below(n + 100) == 0)
			REQUIRE(compare_table(&world.arena, &table, refs, n, groups));
	}
	REQUIRE(compare_table(&world.arena, &table, refs, n, groups));
	if (n >= 3)
	{
		int			calls = 0;

		lb_hash_walk(&world.arena, &table, stop_visit, &calls);
		REQUIRE(calls == 3);
	}

	/* Empty it: memory must go down with the entries. */
	while (n > 0)
	{
		n--;
		if (starve)
			world_limit(&world, random_below(40));
		REQUIRE(lb_hash_delete(&world.mem, &table,
							   test_hash_of(refs[n], groups), refs[n]));
		world.mem.limit = 0;
		operations++;
		if (groups == 0 && !starve)
			REQUIRE(table.chunks * LB_CHUNK_SIZE <=
					(uint64) n * 8 * 10 + 3 * LB_PAGE_SIZE);
		if (n % 511 == 0)
			REQUIRE(compare_table(&world.arena, &table, refs, n, groups));
	}
	free(refs);
	free(at);
	return world_close(&world);
}

static bool
test_hash_reserve(void)
{
	uint32		n;

	for (n = 0; n < 100000; n = n < 600 ? n + 1 : n * 3 / 2)
	{
		World		world;
		LbHash		table;
		uint32		i;

		REQUIRE(world_open(&world, 800));
		lb_hash_init(&table);

		/* No memory, at any step. */
		for (i = 0; n > 0 && i < 40; i++)
		{
			world_limit(&world, random_below((n * 8 + 1) / LB_CHUNK_SIZE + 1));
			if (lb_hash_reserve(&world.mem, &table, n) == LB_OK)
				lb_hash_free(&world.mem, &table);
			REQUIRE(world.arena.used == 0);
			REQUIRE(table.root == LB_NONE && table.chunks == 0);
		}
		world.mem.limit = 0;
		REQUIRE(lb_hash_reserve(&world.mem, &table, n) == LB_OK);
		for (i = 1; i <= n; i++)
			REQUIRE(lb_hash_insert(&world.mem, &table, test_hash_of(i, 0),
								   i) == LB_OK);
		operations += n;
		REQUIRE_NULL(lb_hash_check(&world.arena, &table));
		if (n > 20000)
			REQUIRE(world.arena.used < (uint64) n * 106 / 10);
		lb_hash_free(&world.mem, &table);
		REQUIRE(world_close(&world));
	}
	return true;
}

/*
 * Where the directory gets a page more, and with it perhaps a level, up and
 * down, with memory for a part of what that takes.
 */
static bool
test_hash_directory(uint32 parts)
{
	uint32		pages = parts * DIR_FANOUT;
	uint32		depth = parts == 1 ? 1 : 2;
	uint32		n = pages * FULL_PAGE_SLOTS / 100 * RESERVE_LOAD;
	uint32		full = pages * FULL_PAGE_SLOTS / 100 * SPLIT_FROM;
	uint32		top;
	World		world;
	LbHash		table;
	LbRef		i;

	REQUIRE(world_open(&world, parts * 600 + 400));
	lb_hash_init(&table);
	REQUIRE(lb_hash_reserve(&world.mem, &table, n) == LB_OK);
	REQUIRE(table_pages(&table) == pages && table.depth == depth);
	for (i = 1; i <= full - 5; i++)
		REQUIRE(lb_hash_insert(&world.mem, &table, test_hash_of(i, 0),
							   i) == LB_OK);
	REQUIRE(table_pages(&table) == pages);
	for (; table_pages(&table) == pages; i++)
	{
		LbResult	result;

		/* Two chains, perhaps their overflow, two directory pages. */
		world_limit(&world, random_below(40));
		result = lb_hash_insert(&world.mem, &table, test_hash_of(i, 0), i);
		REQUIRE_NULL(lb_hash_check(&world.arena, &table));
		world.mem.limit = 0;
		if (result == LB_NOMEM)
			i--;
	}
	REQUIRE(table.depth == 2);
	top = i + 2000;
	for (; i < top; i++)
		REQUIRE(lb_hash_insert(&world.mem, &table, test_hash_of(i, 0),
							   i) == LB_OK);
	REQUIRE_NULL(lb_hash_check(&world.arena, &table));
	while (table_pages(&table) > pages)
	{
		i--;
		if (i % 2 == 0)
			world_limit(&world, random_below(30));
		REQUIRE(lb_hash_delete(&world.mem, &table, test_hash_of(i, 0), i));
		world.mem.limit = 0;
		if (table_pages(&table) < pages + 3 && i % 16 == 0)
			REQUIRE_NULL(lb_hash_check(&world.arena, &table));
	}
	REQUIRE(table.depth == depth);
	REQUIRE_NULL(lb_hash_check(&world.arena, &table));
	while (--i > 0)
	{
		REQUIRE(lb_hash_delete(&world.mem, &table, test_hash_of(i, 0), i));
		if (i % 5003 == 0)
			REQUIRE_NULL(lb_hash_check(&world.arena, &table));
	}
	operations += 2 * top;
	return world_close(&world);
}

/*
 * Does the check see that an entry is gone from its slot, and from the counts?
 * It is put back.
 */
static bool
lacks_entry(const LbArena *arena, LbHash *table, HashPage *page, uint32 slot)
{
	HashSlot	saved = page->slots[slot];
	bool		seen;

	page->slots[slot].ref = LB_NONE;
	page->count--;
	table->entries--;
	seen = lb_hash_check(arena, table) != NULL;
	page->slots[slot] = saved;
	page->count++;
	table->entries++;
	return seen;
}

static bool
test_hash_damage(void)
{
	World		world;
	LbHash		table;
	HashPage   *page;
	HashSlot	saved;
	LbRef		i;
	uint32		slot = 0;
	LbRef	   *entry;
	LbRef		ref;

	REQUIRE(world_open(&world, 200));
	lb_hash_init(&table);
	for (i = 1; i <= 10000; i++)
		REQUIRE(lb_hash_insert(&world.mem, &table, test_hash_of(i, 0),
							   i) == LB_OK);
	REQUIRE_NULL(lb_hash_check(&world.arena, &table));

	page = page_ptr(&world.arena, dir_get(&world.arena, &table, 3));
	while (page->slots[slot].ref == LB_NONE)
		slot++;
	saved = page->slots[slot];
	page->slots[slot].ref = LB_NONE;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	page->slots[slot] = saved;
	page->slots[slot].hash ^= 1;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	page->slots[slot] = saved;
	page->count++;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	page->count--;
	table.entries++;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	table.entries--;
	table.chunks++;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	table.chunks--;
	table.split ^= 1;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	table.split ^= 1;
	entry = dir_entry(&world.arena, &table, 5);
	ref = *entry;
	*entry = LB_NONE;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	*entry = ref + 1;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	*entry = UINT32_MAX;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	*entry = ref;
	REQUIRE(table.depth == 1);
	entry = (LbRef *) lb_ptr(&world.arena, table.root) + DIR_FANOUT - 1;
	*entry = ref;
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	*entry = LB_NONE;
	REQUIRE_NULL(lb_hash_check(&world.arena, &table));

	/* A page of the least size, which only a table of one page may have. */
	entry = dir_entry(&world.arena, &table, 5);
	table.entries -= chain_count(&world.arena, *entry);
	chain_free(&world.mem, &table, *entry);
	*entry = chunk_new(&world.mem, &table, 0);
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	lb_hash_free(&world.mem, &table);

	/*
	 * Entries of a single hash follow each other from its home slot on.  What
	 * goes is no longer counted either, so that only its place is missed.
	 */
	for (i = 1; i <= FULL_PAGE_SLOTS + 9; i++)
		REQUIRE(lb_hash_insert(&world.mem, &table, 0, i) == LB_OK);
	REQUIRE_NULL(lb_hash_check(&world.arena, &table));
	page = page_ptr(&world.arena, dir_get(&world.arena, &table,
										  page_of(&table, 0)));
	slot = home_slot(0, FULL_PAGE_SLOTS) + FULL_PAGE_SLOTS - 1;
	slot %= FULL_PAGE_SLOTS;
	REQUIRE(lacks_entry(&world.arena, &table, page, slot));
	REQUIRE_NULL(lb_hash_check(&world.arena, &table));
	page = page_ptr(&world.arena, page->overflow);
	slot = home_slot(0, PAGE_SLOTS(page->order));
	REQUIRE(lacks_entry(&world.arena, &table, page, slot));
	REQUIRE_NULL(lb_hash_check(&world.arena, &table));
	table.entries -= page->count;
	page->count = 0;
	memset(page->slots, 0, PAGE_SLOTS(page->order) * sizeof(HashSlot));
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	lb_hash_free(&world.mem, &table);
	return world_close(&world);
}

/*--------------------------------------------------------------------------
 * Skip list
 *
 * The model is the key of each member that is there, and an array of the
 * members in order.
 *--------------------------------------------------------------------------
 */

typedef enum Scores
{
	SCORES_RANDOM,				/* below score_range */
	SCORES_EXTREME,				/* at the ends of what int64 can be */
	SCORES_ASCENDING,
	SCORES_DESCENDING
} Scores;

typedef struct Model
{
	World		world;
	LbIndex		index;
	LbIndex		before;			/* as it was some time ago */
	int			width;
	int			member_words;
	Scores		scores;
	int64		score_range;
	int64		counter;
	int			universe;		/* members that can be there */
	int			n;				/* members that are */
	int64	   *keys;			/* by member, LB_MAX_WIDTH words each */
	bool	   *there;			/* by member */
	int		   *order;			/* members in order of key */
} Model;

/* So many members of a model have the same hash; 0: as it comes. */
static int	same_hash = 0;

/*
 * The nth of the words that have this hash: lb_hash_words, step by step
 * backwards.
 */
static int64
word_of_hash(uint64 hash_seed, uint32 hash, uint32 n)
{
	uint64		h = (uint64) n << 32 | (n ^ hash);

	h ^= h >> 33;
	h *= UINT64CONST(0x9cb4b2f8129337db);
	h ^= h >> 33;
	h *= UINT64CONST(0x4f74430c22a54005);
	h ^= h >> 33;
	return (int64) (h ^ hash_seed);
}

static int64 *
model_key(const Model *model, int member)
{
	return model->keys + (Size) member * LB_MAX_WIDTH;
}

static int64
extreme(void)
{
	static const int64 values[] = {
		INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX
	};

	return values[random_below(7)];
}

/* A key that the member could have; its last words are fixed. */
static void
make_key(Model *model, int member, int64 *key)
{
	int			first = model->width - model->member_words;
	int			i;

	for (i = 0; i < first; i++)
		key[i] = (int64) random_below(3);
	if (first > 0)
	{
		switch (model->scores)
		{
			case SCORES_RANDOM:
				key[0] = ~(int64) (next_random() %
								   (uint64) model->score_range);
				break;
			case SCORES_EXTREME:
				for (i = 0; i < first; i++)
					key[i] = extreme();
				break;
			case SCORES_ASCENDING:
				key[0] = model->counter++ / model->score_range;
				break;
			case SCORES_DESCENDING:
				key[0] = -(model->counter++ / model->score_range);
				break;
		}
	}
	for (i = first; i < model->width; i++)
		key[i] = member % 5;
	key[model->width - 1] = member == 0 ? INT64_MIN :
		member == 1 ? INT64_MAX : (int64) member / 5 * 3 - 100 + member % 2;
	if (model->member_words == 1)
		key[model->width - 1] = member == 0 ? INT64_MIN :
			member == 1 ? INT64_MAX : (int64) member * 3 - 100;
	if (same_hash > 0)
	{
		Assert(model->member_words == 1);
		key[model->width - 1] =
			word_of_hash(model->world.arena.hash_seed,
						 (uint32) (member / same_hash) * 2654435769U,
						 (uint32) (member % same_hash));
	}
}

static bool
model_open(Model *model, int width, int member_words, int universe,
		   Scores scores, int64 score_range)
{
	int			i;

	memset(model, 0, sizeof(Model));
	model->width = width;
	model->member_words = member_words;
	model->universe = universe;
	model->scores = scores;
	model->score_range = score_range;
	model->keys = allocate((Size) universe * LB_MAX_WIDTH * sizeof(int64));
	model->there = allocate(universe * sizeof(bool));
	model->order = allocate(universe * sizeof(int));
	REQUIRE(world_open(&model->world,
					   (uint64) universe * (width * 4 + 40) / LB_PAGE_SIZE +
					   (uint64) universe * width * 8 / LB_PAGE_SIZE + 64));
	for (i = 0; i < universe; i++)
		make_key(model, i, model_key(model, i));
	lb_index_init(&model->index, width, member_words);
	model->before = model->index;
	return true;
}

static bool
model_close(Model *model)
{
	lb_index_free(&model->world.mem, &model->index);
	free(model->keys);
	free(model->there);
	free(model->order);
	return world_close(&model->world);
}

/* How many keys of the model are before prefix (or equal, if inclusive)? */
static int
model_before(const Model *model, const int64 *prefix, int nwords,
			 bool inclusive)
{
	int			low = 0;
	int			high = model->n;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			c = lb_words_cmp(model_key(model, model->order[middle]),
									 prefix, nwords);

		if (c < 0 || (c == 0 && inclusive))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64
model_distinct(const Model *model, int before)
{
	uint64		n = 0;
	int			i;

	for (i = 0; i < before; i++)
		n += i == 0 || model_key(model, model->order[i])[0] !=
			model_key(model, model->order[i - 1])[0];
	return n;
}

static void
model_insert(Model *model, int member)
{
	const int64 *key = model_key(model, member);
	int			at = model_before(model, key, model->width, false);

	memmove(model->order + at + 1, model->order + at,
			(model->n - at) * sizeof(int));
	model->order[at] = member;
	model->there[member] = true;
	model->n++;
}

static void
model_remove(Model *model, int member)
{
	const int64 *key = model_key(model, member);
	int			at = model_before(model, key, model->width, false);

	model->n--;
	memmove(model->order + at, model->order + at + 1,
			(model->n - at) * sizeof(int));
	model->there[member] = false;
}

/* Everything is as in the model. */
static bool
compare_index(const Model *model)
{
	const LbArena *arena = &model->world.arena;
	const LbIndex *index = &model->index;
	LbCursor	cursor;
	bool		more;
	int			i;

	REQUIRE_NULL(lb_index_check(arena, index));
	REQUIRE(lb_index_bytes(index) == model->world.arena.used);
	REQUIRE(index->members == (uint64) model->n);
	REQUIRE(index->distinct == model_distinct(model, model->n));
	more = lb_index_seek_place(arena, index, 0, &cursor);
	for (i = 0; i < model->n; i++)
	{
		int64		key[LB_MAX_WIDTH];

		REQUIRE(more);
		lb_cursor_key(arena, index, &cursor, key);
		REQUIRE(lb_words_cmp(key, model_key(model, model->order[i]),
							 model->width) == 0);
		if (i + 1 < model->n)
			more = lb_cursor_next(arena, index, &cursor);
	}
	if (model->n == 0)
	{
		REQUIRE(!more);
		return true;
	}
	for (i = model->n - 2; i >= 0; i--)
	{
		int64		key[LB_MAX_WIDTH];

		REQUIRE(lb_cursor_prev(arena, index, &cursor));
		lb_cursor_key(arena, index, &cursor, key);
		REQUIRE(lb_words_cmp(key, model_key(model, model->order[i]),
							 model->width) == 0);
	}
	REQUIRE(!lb_cursor_prev(arena, index, &cursor));
	REQUIRE(cursor.leaf == LB_NONE);
	REQUIRE(!lb_cursor_prev(arena, index, &cursor));
	REQUIRE(!lb_cursor_next(arena, index, &cursor));
	return true;
}

/* What is asked for several prefixes at once must be what each would get. */
static bool
ask_many(Model *model, int nwords)
{
	const LbArena *arena = &model->world.arena;
	const LbIndex *index = &model->index;
	int64		keys[5][LB_MAX_WIDTH];
	const int64 *prefixes[5];
	LbPath		paths[5];
	LbCursor	places[5];
	uint64		members[5];
	uint64		distinct[5];
	int			n = 1 + (int) random_below(5);
	bool		count_distinct = random_below(2) == 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		make_key(model, (int) random_below(model->universe), keys[i]);
		places[i].leaf = LB_NONE;
		if (random_below(8) == 0)
			keys[i][random_below(model->width)] = extreme();
		else if (random_below(4) > 0)
		{
			const int64 *member = key_member(index, keys[i]);

			if (!lb_index_lookup(arena, index, member, keys[i], &places[i]))
				places[i].leaf = LB_NONE;
		}
		prefixes[i] = keys[i];
	}
	lb_index_prefetch_changes(arena, index, prefixes, n, paths);
	lb_index_spans_many(arena, index, prefixes, places, n, nwords, members,
						count_distinct ? distinct : NULL);
	for (i = 0; i < n; i++)
	{
		uint64		m;
		uint64		d;

		lb_index_spans(arena, index, keys[i], nwords, false, &m, &d);
		REQUIRE(members[i] == m);
		REQUIRE(!count_distinct || distinct[i] == d);
	}
	return true;
}

/* Several members looked for at once. */
static bool
look_up_many(Model *model, int nwords)
{
	const LbIndex *index = &model->index;
	int			who[LB_PREFETCH_KEYS];
	int64		members[LB_PREFETCH_KEYS * LB_MAX_WIDTH] = {0};
	int64		keys[LB_PREFETCH_KEYS * LB_MAX_WIDTH];
	bool		found[LB_PREFETCH_KEYS];
	LbCursor	places[LB_PREFETCH_KEYS];
	int			n = (int) random_below(LB_PREFETCH_KEYS + 1);
	int			i;

	for (i = 0; i < n; i++)
	{
		who[i] = (int) random_below(model->universe);
		memcpy(members + i * index->member_words,
			   key_member(index, model_key(model, who[i])),
			   index->member_words * sizeof(int64));
	}
	lb_index_lookup_many(&model->world.arena, index, members, n, nwords, keys,
						 found, places);
	for (i = 0; i < n; i++)
	{
		int64		at[LB_MAX_WIDTH];

		REQUIRE(found[i] == model->there[who[i]]);
		if (!found[i])
			continue;
		REQUIRE(lb_words_cmp(keys + i * model->width,
							 model_key(model, who[i]), nwords) == 0);
		lb_cursor_key(&model->world.arena, index, &places[i], at);
		REQUIRE(lb_words_cmp(model_key(model, who[i]), at, model->width) == 0);
	}
	return true;
}

/* One random question, answered by index and model. */
static bool
ask(Model *model)
{
	const LbArena *arena = &model->world.arena;
	const LbIndex *index = &model->index;
	int			member = (int) random_below(model->universe);
	int64		key[LB_MAX_WIDTH];
	int64		got[LB_MAX_WIDTH];
	int			nwords = 1 + (int) random_below(model->width);
	bool		inclusive = random_below(2) == 0;
	int			before;
	LbCursor	cursor;
	uint64		members;
	uint64		distinct;
	int			steps;

	operations++;
	memcpy(key, model_key(model, member), sizeof(key));
	if (random_below(8) == 0)
	{
		REQUIRE(ask_many(model, nwords));
		REQUIRE(look_up_many(model, nwords));
	}
	switch (random_below(4))
	{
		case 0:					/* where is this member? */
			lb_index_prefetch_hash(arena, index, key_member(index, key));
			REQUIRE(lb_index_lookup(arena, index, key_member(index, key),
									got, NULL) == model->there[member]);
			if (model->there[member])
				REQUIRE(lb_words_cmp(key, got, model->width) == 0);
			break;

		case 1:					/* how many are before this prefix? */
			if (random_below(2) == 0)
				make_key(model, member, key);
			if (random_below(8) == 0)
				key[random_below(model->width)] = extreme();
			before = model_before(model, key, nwords, inclusive);
			if (before > 2000 && random_below(16) != 0)
			{
				lb_index_spans(arena, index, key, nwords, inclusive,
							   &members, NULL);
				REQUIRE(members == (uint64) before);
				break;
			}
			lb_index_spans(arena, index, key, nwords, inclusive,
						   NULL, &distinct);
			REQUIRE(distinct == model_distinct(model, before));
			lb_index_spans(arena, index, key, nwords, inclusive,
						   &members, &distinct);
			REQUIRE(members == (uint64) before);
			REQUIRE(distinct == model_distinct(model, before));
			break;

		case 2:					/* who is at this place? */
			before = (int) random_below(model->n + 2);
			REQUIRE(lb_index_seek_place(arena, index, before, &cursor) ==
					(before < model->n));
			if (before < model->n)
			{
				lb_cursor_key(arena, index, &cursor, got);
				REQUIRE(lb_words_cmp(got,
									 model_key(model, model->order[before]),
									 model->width) == 0);
			}
			else
				REQUIRE(cursor.leaf == LB_NONE);
			break;

		case 3:					/* go there and look around */
			if (random_below(4) == 0)
				make_key(model, member, key);
			before = model_before(model, key, nwords, false);
			REQUIRE(lb_index_seek_key(arena, index, key, nwords, &cursor) ==
					(before < model->n));
			for (steps = (int) random_below(8); steps > 0; steps--)
			{
				if (before >= model->n || before < 0)
				{
					REQUIRE(cursor.leaf == LB_NONE);
					break;
				}
				lb_cursor_key(arena, index, &cursor, got);
				REQUIRE(lb_words_cmp(got,
									 model_key(model, model->order[before]),
									 model->width) == 0);
				if (inclusive)
				{
					before++;
					REQUIRE(lb_cursor_next(arena, index, &cursor) ==
							(before < model->n));
				}
				else
				{
					before--;
					REQUIRE(lb_cursor_prev(arena, index, &cursor) ==
							(before >= 0));
				}
			}
			break;
	}
	return true;
}

/* Insert a member that is not there; with little memory, if starve. */
static bool
insert(Model *model, int member, bool starve)
{
	LbMem	   *mem = &model->world.mem;
	LbIndex    *index = &model->index;
	int64	   *key = model_key(model, member);
	LbResult	result = LB_NOMEM;
	uint32		chunks = 0;

	operations++;
	make_key(model, member, key);
	while (starve && result == LB_NOMEM)
	{
		uint64		distinct = index->distinct;

		world_limit(&model->world, chunks++);
		result = lb_index_insert(mem, index, key);
		if (result == LB_NOMEM)
		{
			REQUIRE(index->members == (uint64) model->n);
			REQUIRE(index->distinct == distinct);
			if (model->n < 300 || random_below(10) == 0)
				REQUIRE(compare_index(model));
		}
	}
	mem->limit = 0;
	if (!starve)
		result = lb_index_insert(mem, index, key);
	REQUIRE(result == LB_OK);
	model_insert(model, member);
	return true;
}

/*
 * Where the way to a key may lead, or NULL: as it is, as it was for the index
 * some time ago, or anything.
 */
static const LbPath *
make_hint(Model *model, const int64 *key, LbPath *path)
{
	const LbIndex *index = &model->index;

	if (random_below(20) == 0)
		model->before = *index;
	switch (random_below(4))
	{
		case 0:
			return NULL;
		case 1:
			index = &model->before;
			break;
		case 2:
			for (int i = 0; i < LB_MAX_HEIGHT; i++)
			{
				path->ref[i] = i == (int) index->height - 1 ? index->root :
					(LbRef) random_below(model->world.arena.nchunks * 2);
				path->slot[i] = (int) random_below(200) - 50;
			}
			return path;
	}
	lb_index_prefetch_changes(&model->world.arena, index, &key, 1, path);
	return path;
}

/* Give a member another key, sometimes with little memory. */
static bool
replace(Model *model, int member, bool starve)
{
	LbMem	   *mem = &model->world.mem;
	LbIndex    *index = &model->index;
	int64		old[LB_MAX_WIDTH];
	int64		key[LB_MAX_WIDTH];
	LbPath		paths[2];
	const LbPath *old_hint;
	const LbPath *new_hint;
	LbResult	result;

	operations++;
	memcpy(old, model_key(model, member), sizeof(old));
	make_key(model, member, key);
	if (random_below(8) == 0)
	{
		/* Not far from where it was. */
		memcpy(key, old, sizeof(key));
		key[random_below(model->width - model->member_words)] ^= 1;
	}
	if (memcmp(old, key, model->width * sizeof(int64)) == 0)
		return true;
	old_hint = make_hint(model, old, &paths[0]);
	new_hint = make_hint(model, key, &paths[1]);
	if (random_below(8) == 0)
	{
		old[random_below(model->width - model->member_words)] ^= 5;
		REQUIRE(lb_index_replace(mem, index, old, key, old_hint,
								 new_hint) == LB_NOTFOUND);
		memcpy(old, model_key(model, member), sizeof(old));
	}
	if (!model->there[member])
	{
		REQUIRE(lb_index_replace(mem, index, old, key, old_hint,
								 new_hint) == LB_NOTFOUND);
		return true;
	}
	if (starve)
		world_limit(&model->world, 0);
	result = lb_index_replace(mem, index, old, key, old_hint, new_hint);
	mem->limit = 0;
	REQUIRE(result == LB_OK || (starve && result == LB_NOMEM));
	model_remove(model, member);
	if (result == LB_OK)
	{
		memcpy(model_key(model, member), key, model->width * sizeof(int64));
		model_insert(model, member);
	}
	return true;
}

static bool
change(Model *model, int percent_insert, bool starve)
{
	LbMem	   *mem = &model->world.mem;
	LbIndex    *index = &model->index;
	int			member = (int) random_below(model->universe);
	int64		key[LB_MAX_WIDTH];

	if (random_below(3) == 0 && model->width > model->member_words)
	{
		if (model->n > 0 && random_below(20) != 0)
			member = model->order[random_below(model->n)];
		return replace(model, member, starve && random_below(4) == 0);
	}
	operations++;
	if ((int) random_below(100) < percent_insert)
	{
		if (model->there[member])
		{
			make_key(model, member, key);
			REQUIRE(lb_index_insert(mem, index, key) == LB_EXISTS);
			return true;
		}
		return insert(model, member, starve && random_below(4) == 0);
	}

	if (model->n > 0 && random_below(10) != 0)
		member = model->order[random_below(model->n)];
	memcpy(key, model_key(model, member), sizeof(key));
	if (model->there[member])
	{
		if (random_below(8) == 0 && model->width > model->member_words)
		{
			key[random_below(model->width - model->member_words)] ^= 5;
			REQUIRE(lb_index_remove(mem, index, key) == LB_NOTFOUND);
			memcpy(key, model_key(model, member), sizeof(key));
		}
		REQUIRE(lb_index_remove(mem, index, key) == LB_OK);
		model_remove(model, member);
	}
	else
		REQUIRE(lb_index_remove(mem, index, key) == LB_NOTFOUND);
	return true;
}

/* Up and down and up, and down to nothing, with questions in between. */
static bool
exercise(Model *model, int steps, int check_every, bool starve)
{
	int			target = model->universe;
	int			step;

	for (step = 0; step < steps; step++)
	{
		int			percent = 50;

		if (step % Max(steps / 12, 1) == 0)
			target = step / Max(steps / 12, 1) % 2 == 0 ?
				model->universe * 9 / 10 :
				(int) random_below(model->universe / 2 + 1);
		if (model->n < target)
			percent = 85;
		else if (model->n > target)
			percent = 30;
		REQUIRE(change(model, percent, starve));
		if (random_below(2) == 0)
			REQUIRE(ask(model));
		if (step % check_every == 0)
			REQUIRE(compare_index(model));
	}
	REQUIRE(compare_index(model));
	return true;
}

static bool
empty_again(Model *model)
{
	while (model->n > 0)
	{
		int			member = model->order[random_below(model->n)];

		operations++;
		REQUIRE(lb_index_remove(&model->world.mem, &model->index,
								model_key(model, member)) == LB_OK);
		model_remove(model, member);
		if (random_below(model->n + 50) == 0)
			REQUIRE(compare_index(model));
	}
	REQUIRE(compare_index(model));
	REQUIRE(model->world.arena.used == 0);
	return true;
}

static bool
test_list(int width, int member_words, int universe, Scores scores,
		  int64 score_range, int steps, int check_every, bool starve)
{
	Model		model;

	REQUIRE(model_open(&model, width, member_words, universe, scores,
					   score_range));
	REQUIRE(exercise(&model, steps, check_every, starve));
	REQUIRE(empty_again(&model));
	REQUIRE(exercise(&model, steps / 10, check_every, starve));
	return model_close(&model);
}

/* Fill in order of score, one way or the other, and see to the fill. */
static bool
test_in_order(Scores scores, int64 score_range, int n)
{
	Model		model;
	int			i;

	REQUIRE(model_open(&model, 3, 1, n, scores, score_range));
	model.counter = 0;
	for (i = 0; i < n; i++)
		REQUIRE(insert(&model, i, false));
	REQUIRE(compare_index(&model));
	if (score_range == 1 && n > 1000)
		REQUIRE(model.index.chunks * LB_CHUNK_SIZE < (uint64) n * 30);
	for (i = 0; i < n; i++)
		REQUIRE(ask(&model));
	for (i = 0; i < n; i++)
	{
		int			member = scores == SCORES_ASCENDING ? i : n - 1 - i;

		operations++;
		REQUIRE(lb_index_remove(&model.world.mem, &model.index,
								model_key(&model, member)) == LB_OK);
		model_remove(&model, member);
		if (i % 499 == 0)
			REQUIRE(compare_index(&model));
	}
	REQUIRE(model.world.arena.used == 0);
	return model_close(&model);
}

/* What a small board may take. */
static bool
test_small(void)
{
	Model		model;
	int			i;

	REQUIRE(model_open(&model, 3, 1, 200, SCORES_RANDOM, 1000));
	for (i = 0; i < 200; i++)
	{
		REQUIRE(insert(&model, i, false));
		REQUIRE(compare_index(&model));
		if (i < 10)
			REQUIRE(lb_index_bytes(&model.index) <= 512);
		if (i < 50)
			REQUIRE(lb_index_bytes(&model.index) <= 2048);
		if (i < 96)
			REQUIRE(model.index.hash.chunks == 0);
	}
	REQUIRE(model.index.hash.chunks != 0);
	for (i = 199; i >= 0; i--)
	{
		operations++;
		REQUIRE(lb_index_remove(&model.world.mem, &model.index,
								model_key(&model, i)) == LB_OK);
		model_remove(&model, i);
		REQUIRE(compare_index(&model));
		if (i < 5)
			REQUIRE(lb_index_bytes(&model.index) <= 512);
		if (i < 40)
			REQUIRE(model.index.hash.chunks == 0);
	}
	return model_close(&model);
}

/*
 * New memory holds anything, even what looks like the key at hand just beside
 * where a block's keys are.
 */
static bool
test_any_memory(int width)
{
	static const uint8 patterns[] = {0, 1, 0x80, 0xff};
	int			i;

	for (i = 0; i < 4; i++)
	{
		World		world;
		LbIndex		index;
		int64		key[LB_MAX_WIDTH];
		int64		above[LB_MAX_WIDTH];
		int			step;

		REQUIRE(world_open(&world, 8));
		memset(lb_ptr(&world.arena, world.arena.fresh), patterns[i],
			   (Size) (world.arena.nchunks - world.arena.fresh) *
			   LB_CHUNK_SIZE);
		lb_index_init(&index, width, 1);
		memset(key, patterns[i], sizeof(key));
		memcpy(above, key, sizeof(above));
		above[0] ^= 2;
		above[width - 1] ^= 2;
		for (step = 0; step < 2; step++)
		{
			REQUIRE(lb_index_remove(&world.mem, &index, key) == LB_NOTFOUND);
			REQUIRE(lb_index_insert(&world.mem, &index, key) == LB_OK);
			REQUIRE_NULL(lb_index_check(&world.arena, &index));
			REQUIRE(lb_index_insert(&world.mem, &index, above) == LB_OK);
			REQUIRE(lb_index_insert(&world.mem, &index, above) == LB_EXISTS);
			REQUIRE_NULL(lb_index_check(&world.arena, &index));
			REQUIRE(lb_index_remove(&world.mem, &index, key) == LB_OK);
			REQUIRE(lb_index_remove(&world.mem, &index, key) == LB_NOTFOUND);
			REQUIRE_NULL(lb_index_check(&world.arena, &index));
			REQUIRE(lb_index_remove(&world.mem, &index, above) == LB_OK);
			operations += 8;
		}
		REQUIRE(world_close(&world));
	}
	return true;
}

/*
 * What indexes of many sizes take at most while they are updated at random is
 * what has been foretold, and nearly all of that.
 */
static bool
test_estimate(int width, int universe, int step)
{
	int			size;

	for (size = 1; size <= universe; size += 1 + size / step)
	{
		Model		model;
		uint64		estimate = lb_index_estimate(size, width);
		uint64		most = 0;
		int			i;

		REQUIRE(model_open(&model, width, 1, size, SCORES_RANDOM, 1000000));
		for (i = 0; i < size; i++)
			REQUIRE(insert(&model, i, false));
		for (i = 0; i < size * 5; i++)
		{
			REQUIRE(replace(&model, random_below(size), false));
			most = Max(most, lb_index_bytes(&model.index));
		}
		REQUIRE(most <= estimate);
		REQUIRE(estimate <= most * 3 / 2);
		REQUIRE(model_close(&model));
	}
	return true;
}

/* A bulk build of the first n members of a model. */
static LbResult
bulk_build(Model *model, uint64 expected)
{
	LbBulk		bulk;
	LbResult	result;
	int			i;

	result = lb_bulk_begin(&bulk, &model->world.mem, &model->index, expected);
	for (i = 0; i < model->n && result == LB_OK; i++)
	{
		operations++;
		result = lb_bulk_add(&bulk, model_key(model, model->order[i]));
	}
	if (result == LB_OK)
		result = lb_bulk_finish(&bulk);
	if (result != LB_OK)
		lb_index_free(&model->world.mem, &model->index);
	return result;
}

static bool
test_bulk(int width, int member_words, int from, int to, int step,
		  int64 score_range, int steps)
{
	int			n;

	for (n = from; n <= to; n += step)
	{
		Model		model;
		int			i;

		REQUIRE(model_open(&model, width, member_words, Max(n, 2),
						   SCORES_RANDOM, score_range));
		for (i = 0; i < n; i++)
			model_insert(&model, i);

		/* With little memory first. */
		world_limit(&model.world, random_below(n * 36 / LB_CHUNK_SIZE + 2));
		i = bulk_build(&model, n);
		REQUIRE(i == LB_OK || i == LB_NOMEM);
		lb_index_free(&model.world.mem, &model.index);
		REQUIRE(model.world.arena.used == 0);
		model.world.mem.limit = 0;

		/* A key out of order, or twice; a member twice. */
		if (n > 2)
		{
			int			a = (int) random_below(n - 1);
			int			member = model.order[a];
			int			b = (int) random_below(n);
			int64		saved[LB_MAX_WIDTH];

			model.order[a] = model.order[a + 1];
			REQUIRE(bulk_build(&model, n) == LB_EXISTS);
			model.order[a + 1] = member;
			REQUIRE(bulk_build(&model, n) == LB_EXISTS);
			model.order[a + 1] = model.order[a];
			model.order[a] = member;
			REQUIRE(model.world.arena.used == 0);

			/* The same member under a second key. */
			if (a != b && width > member_words)
			{
				int64	   *key = model_key(&model, model.order[a]);
				const int64 *other = model_key(&model, model.order[b]);

				memcpy(saved, key, sizeof(saved));
				memcpy(key + width - member_words,
					   other + width - member_words,
					   member_words * sizeof(int64));
				REQUIRE(bulk_build(&model, n) == LB_EXISTS);
				memcpy(key, saved, sizeof(saved));
				REQUIRE(model.world.arena.used == 0);
			}
		}

		/* expected is only a hint */
		REQUIRE(bulk_build(&model, n % 3 == 0 ? (uint64) n :
						   random_below(2 * n + 1)) == LB_OK);
		REQUIRE(compare_index(&model));
		for (i = 0; i < 10; i++)
			REQUIRE(ask(&model));
		if (steps > 0)
		{
			REQUIRE(exercise(&model, steps, steps / 4 + 1, n % 2 == 0));
			REQUIRE(empty_again(&model));
		}
		REQUIRE(model_close(&model));
	}
	return true;
}

/*
 * Changes on both sides of where the links of the root part, of scores near by:
 * what they do to the next leaf goes up and down all of four levels.
 */
static bool
test_top(int n, int rounds)
{
	Model		model;
	int			i;

	REQUIRE(model_open(&model, 8, 1, n, SCORES_RANDOM, n / 5));
	for (i = 0; i < n; i++)
		model_insert(&model, i);
	REQUIRE(bulk_build(&model, n) == LB_OK);
	REQUIRE(model.index.height == 4);
	for (i = 0; i < rounds; i++)
	{
		const Block *root = block_ptr(&model.world.arena, model.index.root);
		int			part = 1 + (int) random_below(root->count - 1);
		int			place = (int) link_members(root)[part] - 3;
		int			member = model.order[place + random_below(6)];
		int			like = model.order[place + random_below(6)];
		int64		key[LB_MAX_WIDTH];

		operations++;
		make_key(&model, member, key);
		key[0] = model_key(&model, like)[0] + (int64) random_below(3) - 1;
		if (random_below(2) == 0)
			REQUIRE(lb_index_replace(&model.world.mem, &model.index,
									 model_key(&model, member), key, NULL,
									 NULL) == LB_OK);
		else
		{
			REQUIRE(lb_index_remove(&model.world.mem, &model.index,
									model_key(&model, member)) == LB_OK);
			REQUIRE(lb_index_insert(&model.world.mem, &model.index,
									key) == LB_OK);
		}
		model_remove(&model, member);
		memcpy(model_key(&model, member), key, sizeof(key));
		model_insert(&model, member);
		if (i % 50 == 0)
			REQUIRE_NULL(lb_index_check(&model.world.arena, &model.index));
	}
	REQUIRE(compare_index(&model));
	return model_close(&model);
}

/* Each kind of damage must be seen. */
static bool
test_list_damage(int width, int n)
{
	Model		model;
	LbIndex    *index = &model.index;
	LbArena    *arena = &model.world.arena;
	Block	   *root;
	Block	   *links;
	Block	   *leaf;
	const Block *other;
	LbRef		ref;
	int			i;

	REQUIRE(model_open(&model, width, 1, n, SCORES_RANDOM, n / 3));
	for (i = 0; i < n; i++)
		REQUIRE(insert(&model, i, false));
	REQUIRE(compare_index(&model));
	REQUIRE(index->height > 1 && index->chunks >= 4 << LB_MAX_ORDER);
	root = block_ptr(arena, index->root);
	links = root;
	while (links->level > 1)
		links = block_ptr(arena, link_children(links)[1]);
	ref = link_children(links)[1];
	leaf = block_ptr(arena, ref);
	other = block_ptr(arena, link_children(links)[0]);

#define DAMAGE(place, value) \
	do { \
		int64		saved_ = (int64) (place); \
		REQUIRE_NULL(lb_index_check(arena, index)); \
		(place) = (value); \
		REQUIRE(lb_index_check(arena, index) != NULL); \
		(place) = saved_; \
		REQUIRE_NULL(lb_index_check(arena, index)); \
	} while (0)

	for (i = 0; i < width; i++)
	{
		DAMAGE(link_words(root, i)[0], 7);
		DAMAGE(link_words(links, i)[0], 7);
	}
	DAMAGE(leaf_words(leaf, 0)[3], INT64_MIN);
	DAMAGE(leaf_words(leaf, 0)[3], INT64_MAX);
	DAMAGE(leaf_words(leaf, 0)[0], INT64_MIN);
	DAMAGE(leaf_words(leaf, 0)[leaf->count - 1], INT64_MAX);
	if (n > HASH_FROM)
		DAMAGE(leaf_words(leaf, width - 1)[3],
			   leaf_words(leaf, width - 1)[3] ^ 1);
	DAMAGE(leaf_words(leaf, width - 1)[3], leaf_words(leaf, width - 1)[4]);
	DAMAGE(leaf_words(leaf, width - 1)[3], leaf_words(other, width - 1)[4]);
	DAMAGE(leaf_tags(leaf)[0], leaf_tags(leaf)[0] ^ 1);
	DAMAGE(link_words(links, 0)[1], INT64_MIN);
	DAMAGE(link_words(links, 0)[1], INT64_MAX);
	DAMAGE(link_members(links)[1], link_members(links)[1] + 1);
	DAMAGE(link_distinct(links)[1], link_distinct(links)[1] - 1);
	DAMAGE(link_members(root)[0], 1);
	DAMAGE(link_distinct(root)[0], 1);
	DAMAGE(((LinkBlock *) links)->members, 1);
	DAMAGE(((LinkBlock *) links)->distinct, 1);
	DAMAGE(((LinkBlock *) root)->members, 1);
	DAMAGE(((LinkBlock *) root)->distinct, 1);
	DAMAGE(link_children(links)[1], link_children(links)[0]);
	DAMAGE(link_children(links)[1], LB_NONE);
	DAMAGE(link_children(links)[1], UINT32_MAX);
	DAMAGE(link_children(root)[0], index->root);
	DAMAGE(leaf->continues, !leaf->continues);
	DAMAGE(leaf->count, leaf->count - 1);
	DAMAGE(leaf->count, 0);
	DAMAGE(leaf->count, UINT16_MAX);
	DAMAGE(leaf->cap, leaf->cap - 1);
	DAMAGE(leaf->level, 1);
	DAMAGE(leaf->order, 2);
	DAMAGE(leaf->width, 2);
	DAMAGE(leaf->prev, LB_NONE);
	DAMAGE(leaf->next, LB_NONE);
	DAMAGE(leaf->next, UINT32_MAX);
	DAMAGE(root->count, 1);
	DAMAGE(links->count, links->count - 1);
	DAMAGE(index->root, ref);
	DAMAGE(index->first, ref);
	DAMAGE(index->last, ref);
	DAMAGE(index->members, index->members - 1);
	DAMAGE(index->distinct, index->distinct + 1);
	DAMAGE(index->chunks, index->chunks + 1);
	DAMAGE(index->chunks, index->chunks - 1);
	DAMAGE(index->height, index->height - 1);
	DAMAGE(index->height, 0);
	if (n > HASH_FROM)
		DAMAGE(index->hash.entries, 0);

	/* The hash leads to another leaf, or to none. */
	if (n > HASH_FROM)
	{
		uint32		hash = leaf_hash(arena, index, leaf, 0);
		LbRef		wrong[3];

		wrong[0] = index->first;
		wrong[1] = index->root;
		wrong[2] = UINT32_MAX;
		for (i = 0; i < 3; i++)
		{
			REQUIRE(lb_hash_replace(arena, &index->hash, hash, ref, wrong[i]));
			REQUIRE(lb_index_check(arena, index) != NULL);
			REQUIRE(lb_hash_replace(arena, &index->hash, hash, wrong[i], ref));
			REQUIRE_NULL(lb_index_check(arena, index));
		}
	}

	/* Whatever bit is turned over, the check must not run wild. */
	for (i = 0; same_hash == 0 && i < (short_run ? 200 : 2000); i++)
	{
		uint32		first = FIRST_CHUNK;
		uint64		bytes = (uint64) (arena->fresh - first) * LB_CHUNK_SIZE;
		char	   *byte = (char *) lb_ptr(arena, first) +
			next_random() % bytes;
		char		bit = (char) (1 << random_below(8));

		operations++;
		if (random_below(2) == 0)
			byte = (char *) lb_ptr(arena, first) +
				next_random() % (bytes / LB_PAGE_SIZE) * LB_PAGE_SIZE +
				random_below(64);
		*byte ^= bit;
		(void) lb_index_check(arena, index);
		*byte ^= bit;
	}
	REQUIRE_NULL(lb_index_check(arena, index));
	return model_close(&model);
}

/*--------------------------------------------------------------------------
 * Looking ahead without a lock
 *--------------------------------------------------------------------------
 */

/* What somebody else may have written meanwhile: anything, anywhere. */
static void
scribble(const LbArena *arena)
{
	uint32		pages = arena->nchunks / (LB_PAGE_SIZE / LB_CHUNK_SIZE);
	uint64	   *page = (uint64 *) (arena->base +
								   (uint64) random_below(pages) * LB_PAGE_SIZE);

	/* Mostly a header, with the count. */
	page[random_below(2) == 0 ? 0 : random_below(LB_PAGE_SIZE / 8)] =
		random_below(4) == 0 ? random_below(arena->nchunks) : next_random();
}

/* Whatever it reads, it stays within the region, and its slots within blocks. */
static bool
test_look_ahead(int width, int rounds)
{
	World		world;
	LbIndex		index;
	LbIndex		copy;
	int			i;

	if (!world_open(&world, 400))
		return false;
	lb_index_init(&index, width, 1);
	for (i = 0; i < 6000; i++)
	{
		int64		key[LB_MAX_WIDTH] = {0};

		key[0] = (int64) random_below(1000000);
		key[width - 1] = i;
		REQUIRE(lb_index_insert(&world.mem, &index, key) == LB_OK);
	}
	REQUIRE(index.height >= 3);
	copy = index;
	for (i = 0; i < rounds; i++)
	{
		int64		keys[8][LB_MAX_WIDTH] = {{0}};
		const int64 *pointers[8];
		LbPath		paths[8];
		int			j;

		for (j = 0; j < 8; j++)
		{
			keys[j][0] = (int64) random_below(1000000);
			pointers[j] = keys[j];
		}
		scribble(&world.arena);
		lb_index_prefetch_changes(&world.arena, &copy, pointers, 8, paths);
		for (j = 0; j < 8; j++)
		{
			int			level;

			for (level = 1; level < copy.height; level++)
				REQUIRE(paths[j].slot[level] >= 0 &&
						paths[j].slot[level] < link_capacity(width));
		}
		operations += 8;
	}
	free(world.region);
	return true;
}

/*--------------------------------------------------------------------------
 * All of it
 *--------------------------------------------------------------------------
 */

static void
run_list(const char *name, int width, int member_words, int universe,
		 Scores scores, int64 score_range, int steps, bool starve)
{
	char		title[128];
	uint64		seed = rng;
	bool		ok;

	if (short_run)
	{
		universe = Min(universe, 3000);
		steps = Min(steps / 40, 6000);
	}
	ok = test_list(width, member_words, universe, scores, score_range, steps,
				   universe < 500 ? 50 : universe / 2, starve);
	snprintf(title, sizeof(title), "list: width %d, %d member words, %s%s",
			 width, member_words, name, starve ? ", little memory" : "");
	report(title, ok);
	if (!ok)
		printf("       state of the random numbers was %" PRIu64 "\n", seed);
}

int
main(int argc, char **argv)
{
	uint64		seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int			part;			/* a short run does a part of the steps */
	int			width;

	short_run = argc > 2 && strcmp(argv[2], "short") == 0;
	part = short_run ? 50 : 1;
	printf("seed %" PRIu64 "%s\n", seed, short_run ? ", short run" : "");
	rng = seed;

	report("arena: buddies, exhaustion, limit", test_arena_small());
	report("arena: a limit that is moved", test_arena_limit());
	report("arena: random, 4 pages", test_arena_random(4, 500000 / part));
	report("arena: random, 1000 pages",
		   test_arena_random(1000, 2000000 / part));
	report("arena: damage is seen", test_arena_damage());

	report("hash: random, small",
		   test_hash_random(600, 0, 1000000 / part, 0, false));
	report("hash: random, large",
		   test_hash_random(short_run ? 3000 : 100000, 0, 2000000 / part, 0,
							false));
	report("hash: random, large, reserved",
		   test_hash_random(short_run ? 3000 : 60000, 0, 500000 / part,
							short_run ? 2900 : 50000, false));
	report("hash: little memory",
		   test_hash_random(short_run ? 700 : 5000, 0, 30000 / part, 0,
							true));
	report("hash: few different hashes",
		   test_hash_random(3000, 20, 200000 / part, 0, false));
	report("hash: a single hash", test_hash_random(2000, 1, 30000 / part, 0,
												   false));
	report("hash: few hashes, little memory",
		   test_hash_random(1500, 3, 6000 / part, 0, true));
	report("hash: a single hash, reserved, little memory",
		   test_hash_random(3000, 1, 2000 / part, 3000, true));
	report("hash: reserve", short_run || test_hash_reserve());
	report("hash: directory, little memory",
		   short_run || test_hash_directory(1));
	report("hash: larger directory, little memory",
		   short_run || test_hash_directory(2));
	report("hash: damage is seen", test_hash_damage());

	report("list: small boards", test_small());
	for (width = 2; width <= LB_MAX_WIDTH; width++)
		report("list: in memory that holds anything", test_any_memory(width));
	report("list: estimate", test_estimate(3, short_run ? 400 : 3000, 20));
	report("list: estimate, width 2",
		   test_estimate(2, short_run ? 400 : 1500, 12));
	report("list: estimate, width 8",
		   test_estimate(8, short_run ? 400 : 1500, 12));
	for (width = 2; width <= LB_MAX_WIDTH; width++)
	{
		run_list("random scores", width, 1 + width % 2, 2000, SCORES_RANDOM,
				 1000000, 250000, false);
		run_list("ten scores", width, 1 + (width + 1) % 2, 1000,
				 SCORES_RANDOM, 10, 100000, true);
	}
	run_list("tiny", 2, 1, 30, SCORES_RANDOM, 10, 200000, true);
	run_list("tiny", 3, 1, 90, SCORES_RANDOM, 10, 200000, true);
	run_list("around the hash's threshold", 3, 1, 150, SCORES_RANDOM, 100,
			 400000, true);
	run_list("around the hash's threshold", 8, 2, 150, SCORES_RANDOM, 100,
			 100000, true);
	run_list("the member is all", 2, 2, 2000, SCORES_RANDOM, 1, 100000,
			 false);
	run_list("one score", 3, 1, 3000, SCORES_RANDOM, 1, 200000, false);
	run_list("one score", 3, 2, 3000, SCORES_RANDOM, 1, 200000, true);
	run_list("ten scores", 3, 1, 5000, SCORES_RANDOM, 10, 300000, false);
	run_list("extreme scores", 4, 1, 3000, SCORES_EXTREME, 1, 200000, true);
	run_list("ascending", 3, 1, 5000, SCORES_ASCENDING, 3, 200000, false);
	run_list("descending", 3, 1, 5000, SCORES_DESCENDING, 3, 200000, true);
	run_list("large", 3, 1, 40000, SCORES_RANDOM, 1000000, 300000, false);
	run_list("large, ties", 3, 2, 40000, SCORES_RANDOM, 2000, 100000, true);

	/* In a large board, members with the same hash are common. */
	same_hash = 3;
	run_list("three to a hash", 3, 1, 1000, SCORES_RANDOM, 1000, 100000, true);
	run_list("three to a hash", 8, 1, 3000, SCORES_RANDOM, 100, 100000, false);
	report("bulk: three to a hash, random operations after",
		   test_bulk(3, 1, 90, 1000, short_run ? 499 : 13, 300, 300));
	same_hash = 150;
	run_list("a single hash", 3, 1, 150, SCORES_RANDOM, 100, 20000, true);
	report("list: damage is seen, a single hash", test_list_damage(8, 150));
	same_hash = 90;
	report("list: damage is seen, no hash", test_list_damage(8, 90));
	same_hash = 0;

	report("list: ascending", test_in_order(SCORES_ASCENDING, 1,
											20000 / part));
	report("list: descending", test_in_order(SCORES_DESCENDING, 1,
											 20000 / part));
	report("list: ascending with ties",
		   test_in_order(SCORES_ASCENDING, 100, 20000 / part));
	report("list: descending with ties",
		   test_in_order(SCORES_DESCENDING, 100, 20000 / part));

	report("bulk: every size, width 3",
		   test_bulk(3, 1, 0, 2000, short_run ? 173 : 1, 1000, 0));
	report("bulk: sizes, width 2, random operations after",
		   test_bulk(2, 1, 0, 2000, short_run ? 499 : 41, 300, 2000));
	report("bulk: sizes, width 8, random operations after",
		   test_bulk(8, 2, 0, 2000, short_run ? 499 : 41, 10, 2000));
	report("bulk: the last block of links has a single one at first",
		   test_bulk(8, 1, 616, 646, short_run ? 10 : 3, 100, 200));
	report("bulk: large, random operations after",
		   short_run || test_bulk(3, 1, 30011, 30011, 1, 3000, 30000));
	report("bulk: large, one score",
		   short_run || test_bulk(5, 2, 20001, 20001, 1, 1, 20000));

	report("list: where the way parts at the top",
		   test_top(30000, short_run ? 300 : 5000));

	report("list: looking ahead at anything",
		   test_look_ahead(3, 1000000 / part));
	report("list: looking ahead at anything, width 8",
		   test_look_ahead(8, 1000000 / part));

	report("list: damage is seen, two levels", test_list_damage(3, 400));
	report("list: damage is seen, three levels", test_list_damage(3, 6000));

	printf("%" PRIu64 " operations\n", operations);
	printf("%d passed, %d failed\n", passed, failed);
	return failed == 0 ? 0 : 1;
}
