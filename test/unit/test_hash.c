/*-------------------------------------------------------------------------
 *
 * test_hash.c
 *	  Unit tests of the member hash.
 *
 * The model is an array of the references in the table; a reference's hash
 * follows from its number.
 *
 * Includes the source, to reach what is static.
 *
 *-------------------------------------------------------------------------
 */
#include "index/memberhash.c"

#include "model.h"

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

/* A table, and a model of it. */
typedef struct HashModel
{
	World		world;
	LbHash		table;
	uint32		groups;			/* different hashes; 0 is any number */
	uint32		most;			/* entries that can be there */
	uint32		n;				/* entries that are */
	LbRef	   *refs;			/* their references */
	int		   *at;				/* by reference: where in refs, or -1 */
} HashModel;

static bool
compare_table(const HashModel *model)
{
	const LbArena *arena = &model->world.arena;
	uint64		sum[3] = {0, 0, 0};
	uint64		expect[3] = {0, 0, 0};
	uint32		i;

	REQUIRE_NULL(lb_hash_check(arena, &model->table));
	REQUIRE(model->table.entries == model->n);
	for (i = 0; i < model->n; i++)
		(void) count_visit(test_hash_of(model->refs[i], model->groups),
						   model->refs[i], expect);
	lb_hash_walk(arena, &model->table, count_visit, sum);
	REQUIRE(memcmp(sum, expect, sizeof(sum)) == 0);
	return true;
}

/* Enter a reference into the model. */
static void
hash_model_insert(HashModel *model, LbRef ref)
{
	model->at[ref] = (int) model->n;
	model->refs[model->n++] = ref;
}

/* Insert many into an empty table that has been reserved. */
static bool
fill_reserved(HashModel *model, uint32 reserve)
{
	uint32		i;

	REQUIRE(lb_hash_reserve(&model->world.mem, &model->table,
							reserve) == LB_OK);
	for (i = 1; i <= Min(reserve, model->most); i++)
	{
		REQUIRE(lb_hash_insert(&model->world.mem, &model->table,
							   test_hash_of(i, model->groups), i) == LB_OK);
		hash_model_insert(model, i);
	}
	return compare_table(model);
}

/* Replace a reference, and put it back. */
static bool
replace_and_back(HashModel *model, LbRef ref, uint32 hash)
{
	const LbArena *arena = &model->world.arena;
	LbRef		other = model->most * 2 + 1;

	REQUIRE(lb_hash_replace(arena, &model->table, hash, ref, other));
	REQUIRE(!lb_hash_replace(arena, &model->table, hash, ref, 1));
	REQUIRE(lb_hash_replace(arena, &model->table, hash, other, ref));
	return true;
}

/* Delete an entry.  A merge takes memory; without memory the pages stay. */
static bool
delete_entry(HashModel *model, LbRef ref, uint32 hash, bool starve)
{
	if (starve)
		world_limit(&model->world, random_below(40));
	REQUIRE(lb_hash_delete(&model->world.mem, &model->table, hash, ref));
	model->world.mem.limit = 0;
	model->refs[model->at[ref]] = model->refs[--model->n];
	model->at[model->refs[model->n]] = model->at[ref];
	model->at[ref] = -1;
	return true;
}

/* Insert an entry; if starve, at times with one chunk of memory more per try. */
static bool
insert_entry(HashModel *model, LbRef ref, uint32 hash, bool starve)
{
	LbMem	   *mem = &model->world.mem;
	LbResult	result = LB_NOMEM;
	uint32		chunks = 0;

	REQUIRE(!lb_hash_delete(mem, &model->table, hash, ref));
	if (starve && random_below(4) == 0)
	{
		while (result == LB_NOMEM)
		{
			uint64		used = model->world.arena.used;

			world_limit(&model->world, chunks++);
			result = lb_hash_insert(mem, &model->table, hash, ref);
			if (result == LB_NOMEM)
			{
				REQUIRE(model->world.arena.used == used);
				REQUIRE(compare_table(model));
			}
		}
		mem->limit = 0;
	}
	else
		result = lb_hash_insert(mem, &model->table, hash, ref);
	REQUIRE(result == LB_OK);
	hash_model_insert(model, ref);
	return true;
}

/* One random operation; growing says which kind is more likely. */
static bool
hash_step(HashModel *model, bool growing, bool starve)
{
	const LbHash *table = &model->table;
	LbRef		ref = 1 + random_below(model->most * 2);
	uint32		hash;

	if (growing ? random_below(8) == 0 : random_below(8) != 0)
	{
		if (model->n > 0 && random_below(4) != 0)
			ref = model->refs[random_below(model->n)];
	}
	hash = test_hash_of(ref, model->groups);
	if (model->groups == 0 || random_below(16) == 0)
		REQUIRE(count_in_table(&model->world.arena, table, hash, ref) ==
				(model->at[ref] >= 0));
	if (model->at[ref] >= 0 && random_below(8) == 0)
		REQUIRE(replace_and_back(model, ref, hash));
	else if (model->at[ref] >= 0)
		REQUIRE(delete_entry(model, ref, hash, starve));
	else if (model->n < model->most)
		REQUIRE(insert_entry(model, ref, hash, starve));
	REQUIRE(table->entries == model->n);
	REQUIRE(table->chunks * LB_CHUNK_SIZE == model->world.arena.used);
	REQUIRE((table->root == LB_NONE) == (model->n == 0));
	return true;
}

/* Empty the table: its memory must shrink with the entries. */
static bool
empty_table(HashModel *model, bool starve)
{
	while (model->n > 0)
	{
		LbRef		ref = model->refs[model->n - 1];

		REQUIRE(delete_entry(model, ref, test_hash_of(ref, model->groups),
							 starve));
		operations++;
		if (model->groups == 0 && !starve)
			REQUIRE(model->table.chunks * LB_CHUNK_SIZE <=
					(uint64) model->n * 8 * 10 + 3 * LB_PAGE_SIZE);
		if (model->n % 511 == 0)
			REQUIRE(compare_table(model));
	}
	return true;
}

/*
 * Random operations on a table of up to most entries, whose references are
 * numbers up to 2 * most.
 */
static bool
test_hash_random(uint32 most, uint32 groups, int steps, uint32 reserve,
				 bool starve)
{
	HashModel	model = {.groups = groups,.most = most};
	int			step;
	bool		growing = true;
	uint32		i;

	REQUIRE(world_open(&model.world, most / 40 + 64));
	lb_hash_init(&model.table);
	model.refs = allocate(most * sizeof(LbRef));
	model.at = allocate((most * 2 + 1) * sizeof(int));
	for (i = 0; i <= most * 2; i++)
		model.at[i] = -1;
	if (reserve > 0)
		REQUIRE(fill_reserved(&model, reserve));
	for (step = 0; step < steps; step++)
	{
		operations++;
		if (model.n == 0)
			growing = true;
		else if (model.n == most)
			growing = false;
		else if (random_below(most * 4) == 0)
			growing = !growing;
		REQUIRE(hash_step(&model, growing, starve));
		if (random_below(model.n + 100) == 0)
			REQUIRE(compare_table(&model));
	}
	REQUIRE(compare_table(&model));
	if (model.n >= 3)
	{
		int			calls = 0;

		lb_hash_walk(&model.world.arena, &model.table, stop_visit, &calls);
		REQUIRE(calls == 3);
	}
	REQUIRE(empty_table(&model, starve));
	free(model.refs);
	free(model.at);
	return world_close(&model.world);
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

		/* Memory ends at a random step. */
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
 * The directory gains and loses a page, and with it perhaps a level, with memory
 * for a part of that.
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
 * Remove an entry from its slot and from the counts, run the check, and put the
 * entry back.  Returns whether the check has found a fault.
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

	/* A page of the smallest size, which only a table of one page may have. */
	entry = dir_entry(&world.arena, &table, 5);
	table.entries -= lb_hash_chain_count(&world.arena, *entry);
	lb_hash_chain_free(&world.mem, &table.chunks, *entry);
	*entry = lb_hash_chunk_new(&world.mem, &table.chunks, 0);
	REQUIRE(lb_hash_check(&world.arena, &table) != NULL);
	lb_hash_free(&world.mem, &table);

	/*
	 * Entries with a single hash follow each other from its home slot on. The
	 * removed entry is not counted either, so only the gap shows.
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

/* The nth value of eight bytes with this hash. */
static void
value_of_hash(uint64 seed, uint32 hash, uint32 n, char *value)
{
	uint64		after_word = (uint64) word_of_hash(sizeof(uint64), hash, n);
	uint64		word = unmix(after_word) ^ seed;

	memcpy(value, &word, sizeof(word));
}

/*
 * Who knows a seed finds any number of words, and of values, with one hash.
 * With another seed they are like any others.
 */
static bool
test_hash_seed(void)
{
	uint64		known = next_random();
	uint32		hash = (uint32) next_random();
	int			same_words = 0;
	int			same_values = 0;

	for (uint32 n = 0; n < 60000; n++)
	{
		int64		word = word_of_hash(known, hash, n);
		char		value[sizeof(uint64)];

		value_of_hash(known, hash, n, value);
		REQUIRE(lb_hash_words(known, &word, 1) == hash);
		REQUIRE(lb_hash_bytes(known, value, sizeof(value)) == hash);

		/* Eight stripes: the upper bits count as well as the lower ones. */
		same_words += lb_hash_words(known ^ 1, &word, 1) >> 16 == hash >> 16;
		same_values += lb_hash_bytes(known ^ 1, value,
									 sizeof(value)) >> 16 == hash >> 16;
	}
	REQUIRE(same_words < 20 && same_values < 20);
	return true;
}

/* Values that differ in their last bytes only, or in their lengths. */
static bool
test_hash_bytes(void)
{
	uint64		seed = next_random();
	char		zeros[32] = {0};
	uint32		hashes[sizeof(zeros) + 256];
	int			n = 0;

	for (int len = 0; len <= (int) sizeof(zeros) - 1; len++)
		hashes[n++] = lb_hash_bytes(seed, zeros, len);
	for (int i = 1; i < 256; i++)
	{
		zeros[12] = (char) i;
		hashes[n++] = lb_hash_bytes(seed, zeros, 13);
	}
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < i; j++)
			REQUIRE(hashes[i] != hashes[j]);
	}
	return true;
}

void
run_hash_tests(void)
{
	int			part = short_run ? 50 : 1;

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
	report("hash: a flood for one seed is none for another",
		   test_hash_seed());
	report("hash: bytes and lengths", test_hash_bytes());
}
