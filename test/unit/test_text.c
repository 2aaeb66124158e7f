/*-------------------------------------------------------------------------
 *
 * test_text.c
 *	  Unit tests of cells, and of the skip list with texts in its keys.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

#include "model.h"

/*--------------------------------------------------------------------------
 * Cells
 *--------------------------------------------------------------------------
 */

#define MAX_CELLS 3000

/* The words of a cell that a number was given to. */
static void
fill_cell(int64 *words, int number, int length)
{
	for (int i = 0; i < length; i++)
		words[i] = (int64) number * 1000 + i;
}

/* The cells are those that are there, with their words. */
static bool
compare_cells(const World *world, const LbCells *cells, const int64 *there)
{
	LbCellSum	expected = {0};
	LbCellSum	sum = {0};
	int64		words[LB_MAX_KEY_WORDS];

	for (int i = 0; i < MAX_CELLS; i++)
	{
		if (there[i] == 0)
			continue;
		REQUIRE(lb_cell_valid(&world->arena, there[i]));
		fill_cell(words, i, lb_cell_length(there[i]));
		REQUIRE(lb_words_cmp(lb_cell_words(&world->arena, there[i]), words,
							 lb_cell_length(there[i])) == 0);
		lb_cell_count(&world->arena, there[i], &expected);
	}
	REQUIRE_NULL(lb_cells_check(&world->arena, cells, &sum));
	REQUIRE(sum.n == expected.n && sum.sum == expected.sum);
	REQUIRE((uint64) cells->chunks * LB_CHUNK_SIZE == world->arena.used);
	return true;
}

/* Random cells of up to so many words, with little memory now and then. */
static bool
test_cells(int max_words, int steps)
{
	World		world;
	LbCells		cells = {0};
	int64	   *there = allocate(MAX_CELLS * sizeof(int64));
	int64		words[LB_MAX_KEY_WORDS];
	int			range = MAX_CELLS;

	REQUIRE(world_open(&world, 2000));
	for (int step = 0; step < steps; step++)
	{
		int			i;

		/* The number of cells goes up and down. */
		if (step % 5000 == 0)
			range = 1 + (int) random_below(MAX_CELLS);
		i = (int) random_below(range);
		operations++;
		if (there[i] != 0)
		{
			lb_cell_free(&world.mem, &cells, there[i]);
			there[i] = 0;
		}
		else
		{
			int			length = 1 + (int) random_below(max_words);

			fill_cell(words, i, length);
			if (random_below(8) == 0)
				world_limit(&world, random_below(3));
			there[i] = lb_cell_new(&world.mem, &cells, words, length);
			world.mem.limit = 0;
			REQUIRE(there[i] == 0 || lb_cell_length(there[i]) == length);
		}
		if (step % 997 == 0)
			REQUIRE(compare_cells(&world, &cells, there));
	}
	for (int i = 0; i < MAX_CELLS; i++)
	{
		if (there[i] != 0 && random_below(8) != 0)
		{
			lb_cell_free(&world.mem, &cells, there[i]);
			there[i] = 0;
		}
	}
	REQUIRE(compare_cells(&world, &cells, there));
	lb_cells_free(&world.mem, &cells);
	free(there);
	return world_close(&world);
}

/* Cells of one length, added or replaced, take no more than the estimate. */
static bool
test_cells_estimate(void)
{
	for (int length = 1; length <= LB_MAX_KEY_WORDS; length++)
	{
		for (int n = 1; n <= 400; n += 1 + n / 3)
		{
			World		world;
			LbCells		cells = {0};
			int64		words[LB_MAX_KEY_WORDS] = {0};
			int64		there[400];

			REQUIRE(world_open(&world, 500));
			for (int i = 0; i < n; i++)
				there[i] = lb_cell_new(&world.mem, &cells, words, length);
			for (int i = 0; i < n; i++)
			{
				int			at = (int) random_below(n);

				lb_cell_free(&world.mem, &cells, there[at]);
				there[at] = lb_cell_new(&world.mem, &cells, words, length);
			}
			REQUIRE((uint64) cells.chunks * LB_CHUNK_SIZE <=
					lb_cells_estimate(n, length));
			lb_cells_free(&world.mem, &cells);
			REQUIRE(world_close(&world));
			operations += 2 * n;
		}
	}
	return true;
}

/*--------------------------------------------------------------------------
 * The skip list
 *--------------------------------------------------------------------------
 */

#define UP LB_TEXT
#define DOWN LB_TEXT_DOWN

/* Columns of keys, and how many of them are those of rank_by. */
typedef struct Columns
{
	const char *name;
	int			n;
	int			nrank;
	uint8		words[6];
} Columns;

static const Columns shapes[] = {
	{"text member", 2, 1, {1, UP}},
	{"text member after a tie", 3, 2, {1, 1, UP}},
	{"text tie", 3, 2, {1, UP, 1}},
	{"text tie, descending", 3, 2, {1, DOWN, 2}},
	{"two texts", 3, 2, {1, DOWN, UP}},
	{"member of two texts", 4, 1, {1, UP, 1, UP}},
	{"five texts", 6, 4, {1, UP, DOWN, UP, UP, UP}}
};

#define NSHAPES ((int) (sizeof(shapes) / sizeof(shapes[0])))

static LbShape
shape_of(int i)
{
	return lb_make_shape(shapes[i].words, shapes[i].nrank, shapes[i].n);
}

static bool
test_texts(int shape_number, Texts texts, int universe, int64 score_range,
		   int steps, bool starve)
{
	LbShape		shape = shape_of(shape_number);
	Model		model;

	REQUIRE(model_open_texts(&model, &shape, texts, universe, SCORES_RANDOM,
							 score_range));
	return exercise_all(&model, steps, universe, starve);
}

/* Bulk builds of all sizes, at every limit of memory. */
static bool
test_text_bulk(int shape_number, Texts texts, int to, int step)
{
	LbShape		shape = shape_of(shape_number);

	for (int n = 1; n <= to; n += step)
	{
		Model		model;
		LbResult	result = LB_NOMEM;
		int64	   *last;

		REQUIRE(model_open_texts(&model, &shape, texts, n + 1, SCORES_RANDOM,
								 1 + n / 10));
		for (int i = 0; i < n; i++)
			model_insert(&model, i);

		/* A member twice: the last key comes again, with a higher score. */
		last = model_key(&model, model.order[n - 1]);
		memcpy(model_key(&model, n), last, model.stride * sizeof(int64));
		model_key(&model, n)[0]++;
		model_insert(&model, n);
		REQUIRE(bulk_build(&model, n) == LB_EXISTS);
		model_remove(&model, n);
		make_key(&model, n, model_key(&model, n));
		for (uint32 chunks = 0; result == LB_NOMEM; chunks += 1 + chunks / 8)
		{
			REQUIRE(model.world.arena.used == 0);
			world_limit(&model.world, chunks);
			result = bulk_build(&model, n);
		}
		REQUIRE(result == LB_OK);
		model.world.mem.limit = 0;
		REQUIRE(compare_index(&model));
		for (int i = 0; i < 10; i++)
			REQUIRE(ask(&model));
		REQUIRE(empty_again(&model));
		REQUIRE(model_close(&model));
	}
	return true;
}

/* Updates at random take no more memory than the estimate. */
static bool
test_text_estimate(int shape_number, int key_words, int universe)
{
	LbShape		shape = shape_of(shape_number);

	for (int size = 1; size <= universe; size += 1 + size / 3)
	{
		uint64		estimate = lb_index_estimate(size, &shape, key_words);
		Model		model;

		REQUIRE(model_open_texts(&model, &shape, TEXTS_PREFIX, size,
								 SCORES_RANDOM, 1000));
		for (int i = 0; i < size; i++)
			REQUIRE(insert(&model, i, false));
		for (int i = 0; i < size * 3; i++)
		{
			REQUIRE(replace(&model, (int) random_below(size), false));
			REQUIRE(lb_index_bytes(&model.index) <= estimate);
		}
		REQUIRE(size < 10 || estimate <= lb_index_bytes(&model.index) * 3 / 2);
		REQUIRE(model_close(&model));
	}
	return true;
}

/* What a member takes after a bulk build, with a text of this many bytes. */
static bool
test_text_bytes(int bytes, uint64 most, int n)
{
	LbShape		shape = shape_of(1);
	World		world;
	LbIndex		index;
	LbBulk		bulk;

	REQUIRE(world_open(&world, (uint64) n * most * 2 / LB_PAGE_SIZE));
	lb_index_init(&index, &shape);
	REQUIRE(lb_bulk_begin(&bulk, &world.mem, &index, n) == LB_OK);
	for (int i = 0; i < n; i++)
	{
		uint8		chars[MAX_TEXT];
		int64		key[LB_MAX_KEY_WORDS] = {i, i};

		memset(chars, 'a', bytes);
		snprintf((char *) chars, bytes, "%d", i);
		chars[strlen((char *) chars)] = 'a';
		(void) encode_text(chars, bytes, UP, key + 2);
		REQUIRE(lb_bulk_add(&bulk, key) == LB_OK);
	}
	REQUIRE(lb_bulk_finish(&bulk) == LB_OK);
	REQUIRE(lb_index_bytes(&index) <= most * n);
	REQUIRE_NULL(lb_index_check(&world.arena, &index));
	lb_index_free(&world.mem, &index);
	operations += n;
	return world_close(&world);
}

/* A few members with long texts take little. */
static bool
test_text_small(void)
{
	LbShape		shape = shape_of(0);
	Model		model;

	REQUIRE(model_open_texts(&model, &shape, TEXTS_ONE_BYTE, 30,
							 SCORES_RANDOM, 1000));
	for (int i = 0; i < 10; i++)
	{
		REQUIRE(insert(&model, i, false));
		REQUIRE(lb_index_bytes(&model.index) <= 1024);
	}
	return model_close(&model);
}

/*
 * A member gets a key whose words behind those in the block are the first of its old
 * ones, or go on behind them: a number has the word that ends a text.
 */
static bool
test_text_tail(void)
{
	static const uint8 columns[] = {1, UP, 1, 1};
	LbShape		shape = lb_make_shape(columns, 3, 4);
	int			inside = shape.width - 1;
	int64		longer[LB_MAX_KEY_WORDS] = {10};
	int64		shorter[LB_MAX_KEY_WORDS] = {20};
	int64		other[LB_MAX_KEY_WORDS] = {30};
	int64		key[LB_MAX_KEY_WORDS];
	uint8		chars[MAX_TEXT];
	World		world;
	LbIndex		index;
	int			nwords;

	memset(chars, 'a', MAX_TEXT);

	/* Behind the block's words: "aaaaaaa", 7, 7, and the same as a number, 7. */
	nwords = 1 + encode_text(chars, 8 * inside - 1, UP, longer + 1);
	REQUIRE(nwords == inside + 1);
	longer[nwords] = longer[nwords + 1] = 7;
	REQUIRE(1 + encode_text(chars, 8 * inside - 9, UP, shorter + 1) == inside);
	shorter[inside] = longer[inside];
	shorter[inside + 1] = 7;
	nwords = 1 + encode_text(chars, 1, UP, other + 1);
	other[nwords] = other[nwords + 1] = 8;

	/* All words of a key have the form of one; fewer and more do not. */
	nwords = lb_key_words(&shape, longer);
	for (int n = 0; n <= LB_MAX_KEY_WORDS; n++)
		REQUIRE(lb_is_key(&shape, longer, n) == (n == nwords));

	REQUIRE(world_open(&world, 100));
	lb_index_init(&index, &shape);
	REQUIRE(lb_index_insert(&world.mem, &index, longer) == LB_OK);
	REQUIRE(lb_index_insert(&world.mem, &index, other) == LB_OK);
	for (int i = 0; i < 10; i++)
	{
		const int64 *old = i % 2 == 0 ? longer : shorter;
		const int64 *new = i % 2 == 0 ? shorter : longer;

		REQUIRE(lb_index_replace(&world.mem, &index, old, new, NULL,
								 NULL) == LB_OK);
		REQUIRE_NULL(lb_index_check(&world.arena, &index));
		REQUIRE(lb_index_lookup(&world.arena, &index,
								lb_key_member(&shape, new), key, NULL));
		REQUIRE(lb_words_cmp(key, new, lb_key_words(&shape, new)) == 0);
		operations++;
	}
	lb_index_free(&world.mem, &index);
	return world_close(&world);
}

/*--------------------------------------------------------------------------
 * Damage
 *--------------------------------------------------------------------------
 */

/* The check finds damage to cells, and to the words that lead to them. */
static bool
test_text_damage(int n)
{
	LbShape		shape = shape_of(0);
	Model		model;
	LbIndex    *index = &model.index;
	LbArena    *arena = &model.world.arena;
	Block	   *links;
	Block	   *leaf;
	int64	   *cells;
	int64	   *words;
	int			last = shape.width - 1;

	REQUIRE(model_open_texts(&model, &shape, TEXTS_PREFIX, n, SCORES_RANDOM,
							 n / 3));
	for (int i = 0; i < n; i++)
		REQUIRE(insert(&model, i, false));
	REQUIRE(index->height > 1);
	links = block_ptr(arena, index->root);
	while (links->level > 1)
		links = block_ptr(arena, link_children(links)[1]);
	leaf = block_ptr(arena, link_children(links)[1]);
	cells = leaf_words(leaf, last);
	words = lb_cell_words(arena, cells[1]);

	DAMAGE(cells[1], 0);
	DAMAGE(cells[1], cells[2]);
	DAMAGE(cells[1], cells[1] - 1);
	DAMAGE(cells[1], cells[1] + 1);
	DAMAGE(cells[1], cells[1] + 256);
	DAMAGE(cells[1], -1);
	DAMAGE(cells[1], INT64_MAX);
	DAMAGE(link_words(links, last)[1], 0);
	DAMAGE(link_words(links, last)[1], cells[1]);
	DAMAGE(leaf_words(leaf, 1)[1], 1);
	DAMAGE(words[0], words[0] + 1);
	DAMAGE(words[1], 0);
	DAMAGE(words[lb_cell_length(cells[1]) - 1], -1);
	DAMAGE(index->cells.chunks, index->cells.chunks + 1);
	DAMAGE(index->cells.chunks, index->cells.chunks - 1);
	DAMAGE(index->cells.classes, LB_NONE);
	DAMAGE(index->cells.classes, index->root);
	for (int offset = 0; offset < 16; offset++)
	{
		uint8	   *byte = (uint8 *) lb_ptr(arena, lb_cell_slab(cells[1])) +
			offset;

		DAMAGE(*byte, *byte ^ 1);
	}
	flip_bits(arena, index, short_run ? 300 : 3000);
	REQUIRE_NULL(lb_index_check(arena, index));
	return model_close(&model);
}

/*--------------------------------------------------------------------------
 * All of it
 *--------------------------------------------------------------------------
 */

static void
run_texts(void)
{
	static const struct
	{
		const char *name;
		Texts		texts;
	}			kinds[] = {
		{"short", TEXTS_SHORT},
		{"mixed lengths", TEXTS_MIXED},
		{"a common beginning", TEXTS_PREFIX},
		{"around multiples of eight", TEXTS_EIGHTS},
		{"one byte apart", TEXTS_ONE_BYTE}
	};
	int			steps = short_run ? 1500 : 60000;

	for (int shape = 0; shape < NSHAPES; shape++)
	{
		for (int i = 0; i < 5; i++)
		{
			bool		starve = (shape + i) % 2 == 0;
			uint64		seed = rng;
			char		title[128];
			bool		ok;

			/* Many scores, few, and one. */
			ok = test_texts(shape, kinds[i].texts, 500, 100000, steps,
							starve) &&
				test_texts(shape, kinds[i].texts, 800, 4, steps, !starve) &&
				test_texts(shape, kinds[i].texts, 300, 1, steps, starve);
			snprintf(title, sizeof(title), "texts: %s, %s", shapes[shape].name,
					 kinds[i].name);
			report(title, ok);
			if (!ok)
				printf("       state of the random numbers was %" PRIu64 "\n",
					   seed);
			snprintf(title, sizeof(title), "texts: bulk, %s, %s",
					 shapes[shape].name, kinds[i].name);
			report(title, test_text_bulk(shape, kinds[i].texts, 400,
										 short_run ? 133 : 23));
		}
	}
}

void
run_text_tests(void)
{
	int			part = short_run ? 10 : 1;

	report("cells: up to three words", test_cells(3, 300000 / part));
	report("cells: of any length", test_cells(LB_MAX_KEY_WORDS, 300000 / part));
	report("cells: estimate", test_cells_estimate());
	report("texts: small boards", test_text_small());
	report("texts: behind the block", test_text_tail());
	report("texts: estimate", test_text_estimate(0, 66, short_run ? 150 : 600));
	report("texts: 20 bytes take 72", test_text_bytes(20, 72, 50000));
	report("texts: 36 bytes take 92", test_text_bytes(36, 92, 50000));
	run_texts();
	report("texts: damage is seen, no hash", test_text_damage(90));
	report("texts: damage is seen", test_text_damage(1500));
}
