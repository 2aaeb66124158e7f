/*-------------------------------------------------------------------------
 *
 * test.c
 *	  Unit tests of arena, member hash, skip list and cells.
 *
 * Usage: test [seed [short]]
 *
 * Each test does random operations on a structure and on a simple model of it,
 * and compares them.  The structure's own check runs now and then.  Tests that
 * damage the structure see whether the check finds that.
 *
 *-------------------------------------------------------------------------
 */
#include "test.h"

static int	passed = 0;
static int	failed = 0;
uint64		operations = 0;
bool		short_run = false;

void
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
uint64		rng;

uint64
next_random(void)
{
	uint64		z = (rng += UINT64CONST(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint32
random_below(uint32 n)
{
	return (uint32) (next_random() % n);
}

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

void *
allocate(Size size)
{
	void	   *memory = calloc(1, Max(size, 1));

	if (memory == NULL)
		abort();
	return memory;
}

bool
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

bool
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

void
world_limit(World *world, uint32 chunks)
{
	world->mem.limit = Max(world->account.used +
						   (uint64) chunks * LB_CHUNK_SIZE, 1);
}

int
main(int argc, char **argv)
{
	uint64		seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

	short_run = argc > 2 && strcmp(argv[2], "short") == 0;
	printf("seed %" PRIu64 "%s\n", seed, short_run ? ", short run" : "");
	rng = seed;

	run_arena_tests();
	run_feed_tests();
	run_hash_tests();
	run_list_tests();
	run_text_tests();
	run_counts_tests();

	printf("%" PRIu64 " operations\n", operations);
	printf("%d passed, %d failed\n", passed, failed);
	return failed == 0 ? 0 : 1;
}
