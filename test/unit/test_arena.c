/*-------------------------------------------------------------------------
 *
 * test_arena.c
 *	  Unit tests of the arena.
 *
 * Includes the source, to reach what is static.
 *
 *-------------------------------------------------------------------------
 */
#include "index/arena.c"

#include "test.h"

static bool
test_arena_small(void)
{
	LbArena		arena;
	World		world;
	LbRef		ref[8];
	char	   *region;
	int			i;

	/* One page is for the state bytes, and the first one is never used. */
	region = aligned_alloc(LB_PAGE_SIZE, 3 * LB_PAGE_SIZE);
	if (region == NULL)
		abort();
	memset(region, 0, 3 * LB_PAGE_SIZE);
	REQUIRE(!lb_arena_init(&arena, region, 0, NULL));
	REQUIRE(!lb_arena_init(&arena, region, 3 * LB_PAGE_SIZE - 1, NULL));
	REQUIRE(!lb_arena_init(&arena, region, LB_PAGE_SIZE, NULL));
	REQUIRE(lb_arena_init(&arena, region, 3 * LB_PAGE_SIZE, NULL));
	REQUIRE(arena.size == LB_PAGE_SIZE);

	/* Of a region with more chunks than references, the arena uses a part. */
	REQUIRE(lb_arena_init(&arena, region, (uint64) 1 << 42, NULL));
	REQUIRE(arena.nchunks > UINT32_MAX - 8 && arena.nchunks % 8 == 0);
	REQUIRE(arena.size > ((uint64) 1 << 40) / 100 * 99 &&
			arena.size < (uint64) 1 << 40);
	free(region);

	/* A page is eight chunks, which are merged again. */
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

	/* The account's limit holds to the byte. */
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

/* The limit changes: nothing is handed out beyond it, and nothing is lost. */
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

	/* After it is raised, more pages are available at once. */
	REQUIRE(lb_arena_set_limit(&world.arena, 8 * LB_PAGE_SIZE) ==
			4 * LB_PAGE_SIZE);
	for (; n < 7; n++)
	{
		ref[n] = lb_alloc(&world.mem, LB_MAX_ORDER);
		REQUIRE(ref[n] != LB_NONE);
	}
	REQUIRE(lb_alloc(&world.mem, 0) == LB_NONE);
	REQUIRE_NULL(lb_arena_check(&world.arena));

	/* After it is lowered, free pages are not used while more is in use. */
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

	/* Limits beyond both ends. */
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

void
run_arena_tests(void)
{
	int			part = short_run ? 50 : 1;

	report("arena: buddies, exhaustion, limit", test_arena_small());
	report("arena: the limit changes", test_arena_limit());
	report("arena: random, 4 pages", test_arena_random(4, 500000 / part));
	report("arena: random, 1000 pages",
		   test_arena_random(1000, 2000000 / part));
	report("arena: damage is seen", test_arena_damage());
}
