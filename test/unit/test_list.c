/*-------------------------------------------------------------------------
 *
 * test_list.c
 *	  Unit tests of the skip list.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

#include "model.h"

static bool
test_list(int width, int member_words, int universe, Scores scores,
		  int64 score_range, int steps, int check_every, bool starve)
{
	Model		model;

	REQUIRE(model_open(&model, width, member_words, universe, scores,
					   score_range));
	return exercise_all(&model, steps, check_every, starve);
}

/* Insert in order of score, ascending or descending, and look at the fill. */
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

/* How much memory a small board may take. */
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
 * A bulk build that does not know the number of keys leaves room in all leaves
 * but the first, and none in a single one.
 */
static bool
test_unknown_number(int width)
{
	int			cap = leaf_capacity(width, LB_MAX_ORDER);

	for (int n = cap - 1; n <= 20 * cap; n += n < cap + 1 ? 1 : 97)
	{
		World		world;
		LbIndex		index;
		LbBulk		bulk;

		REQUIRE(world_open(&world, 1000));
		init_fixed(&index, width, 1);
		REQUIRE(lb_bulk_begin(&bulk, &world.mem, &index, 0) == LB_OK);
		for (int i = 0; i < n; i++)
		{
			int64		key[LB_MAX_KEY_WORDS] = {i};

			key[width - 1] = i;
			REQUIRE(lb_bulk_add(&bulk, key) == LB_OK);
			operations++;
		}
		REQUIRE(lb_bulk_finish(&bulk) == LB_OK);
		REQUIRE_NULL(lb_index_check(&world.arena, &index));
		REQUIRE((index.height == 1) == (n <= cap));
		for (LbRef ref = index.first; ref != LB_NONE;
			 ref = block_ptr(&world.arena, ref)->next)
			REQUIRE(ref == index.first ||
					block_ptr(&world.arena, ref)->count <= cap - cap / 10);
		lb_index_free(&world.mem, &index);
		REQUIRE(world_close(&world));
	}
	return true;
}

/*
 * New memory holds anything, even words that look like the key beside the keys
 * of a block.
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
		int64		key[LB_MAX_KEY_WORDS];
		int64		above[LB_MAX_KEY_WORDS];
		int			step;

		REQUIRE(world_open(&world, 8));
		memset(lb_ptr(&world.arena, world.arena.fresh), patterns[i],
			   (Size) (world.arena.nchunks - world.arena.fresh) *
			   LB_CHUNK_SIZE);
		init_fixed(&index, width, 1);
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
 * Indexes of many sizes, updated at random, take no more memory than the
 * estimate, and most of it.
 */
static bool
test_estimate(int width, int universe, int step)
{
	int			size;

	for (size = 1; size <= universe; size += 1 + size / step)
	{
		Model		model;
		uint64		estimate;
		uint64		most = 0;
		int			i;

		REQUIRE(model_open(&model, width, 1, size, SCORES_RANDOM, 1000000));
		estimate = lb_index_estimate(size, &model.index.shape, width);
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

		/* A key out of order, a key twice, a member twice. */
		if (n > 2)
		{
			int			a = (int) random_below(n - 1);
			int			member = model.order[a];
			int			b = (int) random_below(n);
			int64		saved[LB_MAX_KEY_WORDS];

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

				memcpy(saved, key, width * sizeof(int64));
				memcpy(key + width - member_words,
					   other + width - member_words,
					   member_words * sizeof(int64));
				REQUIRE(bulk_build(&model, n) == LB_EXISTS);
				memcpy(key, saved, width * sizeof(int64));
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
 * Changes beside the boundaries between the children of the root: a change of
 * the next leaf's flag goes up and down all of four levels.
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
		int64		key[LB_MAX_KEY_WORDS];

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
		memcpy(model_key(&model, member), key, model.width * sizeof(int64));
		model_insert(&model, member);
		if (i % 50 == 0)
			REQUIRE_NULL(lb_index_check(&model.world.arena, &model.index));
	}
	REQUIRE(compare_index(&model));
	return model_close(&model);
}

/* The check finds each kind of damage. */
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
		uint32		hash;
		LbRef		wrong[3];

		leaf_hashes(arena, index, leaf, 0, 1, &hash);
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

	if (same_hash == 0)
		flip_bits(arena, index, short_run ? 200 : 2000);
	REQUIRE_NULL(lb_index_check(arena, index));
	return model_close(&model);
}

/*--------------------------------------------------------------------------
 * Prefetching without the lock
 *--------------------------------------------------------------------------
 */

/* Another process may have written anything, anywhere. */
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

/*
 * Whatever lb_index_prefetch_changes reads, it stays within the region, and its
 * slots within blocks.
 */
static bool
test_prefetch(int width, int rounds)
{
	World		world;
	LbIndex		index;
	LbIndex		copy;
	int			i;

	if (!world_open(&world, 800))
		return false;
	init_fixed(&index, width, 1);
	for (i = 0; i < 6000; i++)
	{
		int64		key[LB_MAX_KEY_WORDS] = {0};

		key[0] = (int64) random_below(1000000);
		key[width - 1] = i;
		REQUIRE(lb_index_insert(&world.mem, &index, key) == LB_OK);
	}
	REQUIRE(index.height >= 3);
	copy = index;
	for (i = 0; i < rounds; i++)
	{
		int64		keys[8][LB_MAX_KEY_WORDS] = {{0}};
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

void
run_list_tests(void)
{
	int			part = short_run ? 50 : 1;
	int			width;

	report("list: small boards", test_small());
	report("list: built without knowing the number",
		   test_unknown_number(2) && test_unknown_number(3) &&
		   test_unknown_number(LB_MAX_WIDTH));
	for (width = 2; width <= LB_MAX_WIDTH; width++)
		report("list: in memory that holds anything", test_any_memory(width));
	report("list: estimate", test_estimate(3, short_run ? 400 : 3000, 20));
	report("list: estimate, width 2",
		   test_estimate(2, short_run ? 400 : 1500, 12));
	report("list: estimate, width 16",
		   test_estimate(16, short_run ? 400 : 1500, 12));
	for (width = 2; width <= LB_MAX_WIDTH; width++)
	{
		/* Few keys of the wide ones fill many blocks. */
		int			less = short_run && width > 8 ? 4 : 1;

		run_list("random scores", width, 1 + width % 2, 2000 / less,
				 SCORES_RANDOM, 1000000, 250000 / less, false);
		run_list("ten scores", width, 1 + (width + 1) % 2, 1000 / less,
				 SCORES_RANDOM, 10, 100000 / less, true);
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
	report("bulk: sizes, width 16, random operations after",
		   test_bulk(16, 3, 0, 2000, short_run ? 499 : 41, 10, 2000));
	report("bulk: the last block of links has a single one at first",
		   test_bulk(8, 1, 616, 646, short_run ? 10 : 3, 100, 200));
	report("bulk: large, random operations after",
		   short_run || test_bulk(3, 1, 30011, 30011, 1, 3000, 30000));
	report("bulk: large, one score",
		   short_run || test_bulk(5, 2, 20001, 20001, 1, 1, 20000));

	report("list: beside the boundaries of the root's children",
		   test_top(30000, short_run ? 300 : 5000));

	report("list: prefetching from random memory",
		   test_prefetch(3, 1000000 / part));
	report("list: prefetching from random memory, width 16",
		   test_prefetch(16, 1000000 / part));

	report("list: damage is seen, two levels", test_list_damage(3, 400));
	report("list: damage is seen, three levels", test_list_damage(3, 6000));
}
