/*-------------------------------------------------------------------------
 *
 * test_counts.c
 *	  Unit tests of the skip list that counts rows.
 *
 * The model is an array of all keys that can be there, in order, and how many
 * rows each has.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

#include "model.h"

typedef struct Counts
{
	World		world;
	LbIndex		index;
	LbIndex		before;			/* as it was some time ago */
	int			width;
	int			universe;		/* keys that can be there */
	int			n;				/* keys that are */
	int64	   *keys;			/* width words each, in order */
	int64	   *rows;			/* of each key */
} Counts;

static int	key_width;			/* for compare_keys */

static int
compare_keys(const void *a, const void *b)
{
	return lb_words_cmp((const int64 *) a, (const int64 *) b, key_width);
}

static const int64 *
counts_key(const Counts *counts, int i)
{
	return counts->keys + (Size) i * counts->width;
}

/*
 * Make the keys.  Of those with several words, about as many as there are for
 * a score have the same first one, and all but the last word have few values.
 */
static void
make_keys(Counts *counts, int scores)
{
	for (int i = 0; i < counts->universe; i++)
	{
		int64	   *key = counts->keys + (Size) i * counts->width;

		for (int j = 1; j + 1 < counts->width; j++)
			key[j] = random_below(8) == 0 ? extreme() :
				(int64) random_below(2);
		if (counts->width > 1)
			key[0] = random_below(50) == 0 ? extreme() :
				(int64) random_below(scores) - scores / 2;
		key[counts->width - 1] = i == 0 ? INT64_MIN :
			i == 1 ? INT64_MAX : (int64) i * 3 - counts->universe;
	}
	key_width = counts->width;
	qsort(counts->keys, counts->universe, counts->width * sizeof(int64),
		  compare_keys);
}

/* Open a model of an empty index; its memory holds anything. */
static bool
counts_open(Counts *counts, int width, int universe, int scores)
{
	LbShape		shape = lb_counts_shape(width);
	LbArena    *arena = &counts->world.arena;

	memset(counts, 0, sizeof(Counts));
	lb_index_init(&counts->index, &shape);
	counts->before = counts->index;
	counts->width = width;
	counts->universe = universe;
	counts->keys = allocate((Size) universe * width * sizeof(int64));
	counts->rows = allocate(universe * sizeof(int64));
	make_keys(counts, scores);
	REQUIRE(world_open(&counts->world,
					   (uint64) universe * (width * 3 + 6) * 8 /
					   LB_PAGE_SIZE + 96));
	memset(lb_ptr(arena, arena->fresh), random_below(2) == 0 ? 0xff : 0x01,
		   (Size) (arena->nchunks - arena->fresh) * LB_CHUNK_SIZE);
	return true;
}

static bool
counts_close(Counts *counts)
{
	lb_index_free(&counts->world.mem, &counts->index);
	free(counts->keys);
	free(counts->rows);
	return world_close(&counts->world);
}

/*--------------------------------------------------------------------------
 * Comparing
 *--------------------------------------------------------------------------
 */

/*
 * Count the rows, and the distinct scores, before the first key that is not
 * before a prefix, or, if inclusive, after it.  Returns that key's number.
 * Checks of this loop would take a third of the run.
 */
__attribute__((no_sanitize("address", "undefined")))
static int
model_spans(const Counts *counts, const int64 *prefix, int nwords,
			bool inclusive, uint64 *rows, uint64 *distinct)
{
	int			end = lb_keys_before(counts->keys, counts->universe,
									 counts->width, prefix, nwords, inclusive);
	const int64 *score = NULL;

	*rows = 0;
	*distinct = 0;
	for (int i = 0; i < end; i++)
	{
		const int64 *key = counts->keys + (Size) i * counts->width;

		if (counts->rows[i] == 0)
			continue;
		*rows += (uint64) counts->rows[i];
		*distinct += score == NULL || *score != *key;
		score = key;
	}
	return end;
}

/* The first key at or after number i that has rows, or universe. */
static int
next_there(const Counts *counts, int i)
{
	while (i < counts->universe && counts->rows[i] == 0)
		i++;
	return i;
}

/* The last key at or before number i that has rows, or -1. */
static int
previous_there(const Counts *counts, int i)
{
	while (i >= 0 && counts->rows[i] == 0)
		i--;
	return i;
}

/* The cursor is at a key of the model, with its rows. */
static bool
cursor_has(const Counts *counts, const LbCursor *cursor, int i)
{
	int64		got[LB_MAX_WIDTH];

	lb_cursor_key(&counts->world.arena, &counts->index, cursor, got);
	REQUIRE(lb_words_cmp(got, counts_key(counts, i), counts->width) == 0);
	REQUIRE(got[counts->width] == counts->rows[i]);
	return true;
}

/* Compare the whole index with the model, and seek each boundary of rows. */
static bool
compare_counts(const Counts *counts)
{
	const LbArena *arena = &counts->world.arena;
	const LbIndex *index = &counts->index;
	LbCursor	cursor;
	LbCursor	place;
	bool		more;
	uint64		rows;
	uint64		distinct;
	uint64		before = 0;
	int			i;

	REQUIRE_NULL(lb_index_check(arena, index));
	REQUIRE(lb_index_bytes(index) == arena->used);
	REQUIRE(index->hash.chunks == 0 && index->cells.chunks == 0);
	model_spans(counts, counts_key(counts, counts->universe - 1),
				counts->width, true, &rows, &distinct);
	REQUIRE(index->members == rows);
	REQUIRE(index->distinct == distinct);

	more = lb_index_seek_place(arena, index, 0, &cursor);
	for (i = next_there(counts, 0); i < counts->universe;
		 i = next_there(counts, i + 1))
	{
		REQUIRE(more);
		REQUIRE(cursor_has(counts, &cursor, i));
		REQUIRE(lb_index_seek_place(arena, index, before, &place));
		REQUIRE(place.leaf == cursor.leaf && place.slot == cursor.slot);
		before += (uint64) counts->rows[i];
		REQUIRE(lb_index_seek_place(arena, index, before - 1, &place));
		REQUIRE(place.leaf == cursor.leaf && place.slot == cursor.slot);
		more = lb_cursor_next(arena, index, &cursor);
	}
	REQUIRE(!more && cursor.leaf == LB_NONE);
	REQUIRE(!lb_index_seek_place(arena, index, before, &cursor));
	if (before == 0)
		return true;
	REQUIRE(lb_index_seek_place(arena, index, before - 1, &cursor));
	for (i = previous_there(counts, counts->universe - 1); i >= 0;
		 i = previous_there(counts, i - 1))
	{
		REQUIRE(cursor_has(counts, &cursor, i));
		more = lb_cursor_prev(arena, index, &cursor);
		REQUIRE(more == (previous_there(counts, i - 1) >= 0));
	}
	return true;
}

/*--------------------------------------------------------------------------
 * Questions
 *--------------------------------------------------------------------------
 */

/* A key of the model, or one beside it.  Returns the number of the former. */
static int
some_key(const Counts *counts, int64 *key)
{
	int			i = (int) random_below(counts->universe);
	int64	   *word = key + random_below(counts->width);

	memcpy(key, counts_key(counts, i), counts->width * sizeof(int64));
	if (random_below(4) == 0)
		*word = random_below(4) == 0 ? extreme() : *word ^ 1;
	return i;
}

/* Several prefixes at once get what each of them gets by itself. */
static bool
ask_many(const Counts *counts, int nwords)
{
	const LbArena *arena = &counts->world.arena;
	const LbIndex *index = &counts->index;
	int64		keys[5][LB_MAX_WIDTH];
	const int64 *prefixes[5];
	LbCursor	places[5];
	uint64		members[5];
	uint64		distinct[5];
	int			n = 1 + (int) random_below(5);
	bool		count_distinct = random_below(2) == 0;

	for (int i = 0; i < n; i++)
	{
		some_key(counts, keys[i]);
		prefixes[i] = keys[i];
		places[i].leaf = LB_NONE;
		if (random_below(2) == 0 &&
			lb_index_seek_key(arena, index, keys[i], nwords, &places[i]))
		{
			int64		found[LB_MAX_WIDTH];

			/* Sometimes not the first that begins with the prefix. */
			if (random_below(2) == 0)
				lb_cursor_next(arena, index, &places[i]);
			if (places[i].leaf == LB_NONE)
				continue;
			lb_cursor_key(arena, index, &places[i], found);
			if (lb_words_cmp(found, keys[i], nwords) != 0)
				places[i].leaf = LB_NONE;
		}
	}
	lb_index_spans_many(arena, index, prefixes, places, n, nwords, members,
						count_distinct ? distinct : NULL);
	for (int i = 0; i < n; i++)
	{
		uint64		m;
		uint64		d;

		model_spans(counts, keys[i], nwords, false, &m, &d);
		REQUIRE(members[i] == m);
		REQUIRE(!count_distinct || distinct[i] == d);
	}
	return true;
}

/* The hint for a key is the path to it. */
static bool
ask_hint(const Counts *counts, const int64 *key)
{
	const LbArena *arena = &counts->world.arena;
	const LbIndex *index = &counts->index;
	LbPath		hint;
	LbPath		path;

	lb_index_prefetch_changes(arena, index, &key, 1, &hint);
	if (index->height < 2)
		return true;
	(void) descend_to_key(arena, index, key, NULL, &path);
	for (int level = 0; level < index->height; level++)
	{
		REQUIRE(hint.ref[level] == path.ref[level]);
		REQUIRE(level == 0 || hint.slot[level] == path.slot[level]);
	}
	return true;
}

/* Compare the answers to random questions. */
static bool
ask_counts(const Counts *counts)
{
	const LbArena *arena = &counts->world.arena;
	const LbIndex *index = &counts->index;
	int			nwords = 1 + (int) random_below(counts->width);
	bool		inclusive = random_below(2) == 0;
	int64		key[LB_MAX_WIDTH];
	int			number = some_key(counts, key);
	LbCursor	cursor;
	uint64		m;
	uint64		d;
	uint64		members;
	uint64		distinct;
	int			next;

	operations++;
	REQUIRE(lb_index_rows(arena, index, counts_key(counts, number)) ==
			counts->rows[number]);
	lb_index_prefetch_hash(arena, index, key);
	REQUIRE(ask_hint(counts, key));
	next = next_there(counts, model_spans(counts, key, nwords, inclusive, &m,
										  &d));
	lb_index_spans(arena, index, key, nwords, inclusive, &members, &distinct);
	REQUIRE(members == m && distinct == d);
	lb_index_spans(arena, index, key, nwords, inclusive, &members, NULL);
	REQUIRE(members == m);
	if (!inclusive)
	{
		REQUIRE(lb_index_seek_key(arena, index, key, nwords, &cursor) ==
				(next < counts->universe));
		REQUIRE(next == counts->universe ||
				cursor_has(counts, &cursor, next));
	}
	REQUIRE(lb_index_seek_place(arena, index, m, &cursor) ==
			(next < counts->universe));
	REQUIRE(next == counts->universe || cursor_has(counts, &cursor, next));
	return ask_many(counts, nwords);
}

/*--------------------------------------------------------------------------
 * Changes
 *--------------------------------------------------------------------------
 */

/* Mostly few rows, sometimes many, up to 2^40. */
static int64
some_rows(void)
{
	return 1 + (int64) (random_below(3) != 0 ? random_below(3) :
						next_random() >> (24 + random_below(40)));
}

/* A hint for the path to a key, now and then to another key. */
static const LbPath *
some_hint(Counts *counts, const int64 *key, LbPath *path)
{
	if (random_below(5) == 0)
		key = counts_key(counts, (int) random_below(counts->universe));
	return make_hint(&counts->world.arena, &counts->index, &counts->before,
					 key, path);
}

/* A change that must fail, and leave everything as it was. */
static bool
cannot_add(Counts *counts, const int64 *key, int64 n, LbResult expected)
{
	LbIndex		index = counts->index;
	uint64		used = counts->world.arena.used;
	LbPath		path;

	REQUIRE(lb_index_add(&counts->world.mem, &counts->index, key, n,
						 some_hint(counts, key, &path)) == expected);
	REQUIRE(memcmp(&index, &counts->index, sizeof(index)) == 0);
	REQUIRE(used == counts->world.arena.used);
	return true;
}

/*
 * Add rows to a key, in both.  starve limits the memory, so that each
 * allocation fails once.
 */
static bool
add(Counts *counts, int i, int64 n, bool starve)
{
	const int64 *key = counts_key(counts, i);
	LbResult	result = LB_NOMEM;
	LbPath		path;
	uint32		chunks = 0;

	operations++;
	while (result == LB_NOMEM)
	{
		LbIndex		index = counts->index;

		if (starve)
			world_limit(&counts->world, chunks++);
		result = lb_index_add(&counts->world.mem, &counts->index, key, n,
							  some_hint(counts, key, &path));
		if (result == LB_NOMEM)
		{
			REQUIRE(starve && counts->rows[i] == 0);
			REQUIRE(memcmp(&index, &counts->index, sizeof(index)) == 0);
			REQUIRE(compare_counts(counts));
		}
	}
	counts->world.mem.limit = 0;
	REQUIRE(result == LB_OK);
	counts->n -= counts->rows[i] > 0;
	counts->rows[i] += n;
	counts->n += counts->rows[i] > 0;
	return true;
}

/* One random change; percent is how often it adds rows. */
static bool
change_counts(Counts *counts, int percent, bool starve)
{
	int			i = (int) random_below(counts->universe);
	int64		rows = counts->rows[i];
	int64		key[LB_MAX_WIDTH];

	if ((int) random_below(100) < percent)
		return add(counts, i, some_rows(), starve);
	if (random_below(8) == 0)
	{
		const int64 more[] = {1, some_rows(), INT64_MAX - rows};

		REQUIRE(cannot_add(counts, counts_key(counts, i),
						   -rows - more[random_below(3)], LB_NOTFOUND));
		REQUIRE(cannot_add(counts, counts_key(counts, i), INT64_MIN,
						   LB_NOTFOUND));
		REQUIRE(cannot_add(counts, counts_key(counts, i), 0, LB_OK));

		/* A key that never is there. */
		memcpy(key, counts_key(counts, i), sizeof(int64) * counts->width);
		key[counts->width - 1] ^= INT64_MIN >> 2;
		REQUIRE(cannot_add(counts, key, -1, LB_NOTFOUND));
		REQUIRE(lb_index_rows(&counts->world.arena, &counts->index, key) == 0);
	}
	if (rows == 0)
	{
		i = next_there(counts, i);
		if (i == counts->universe)
			return true;
		rows = counts->rows[i];
	}

	/* Mostly all of them. */
	return add(counts, i, random_below(4) != 0 ? -rows :
			   -1 - (int64) (next_random() % (uint64) rows), starve);
}

/* Random changes and questions: the index grows, shrinks and grows again. */
static bool
exercise_counts(Counts *counts, int steps, int check_every, bool starve)
{
	int			target = counts->universe;

	for (int step = 0; step < steps; step++)
	{
		if (step % Max(steps / 12, 1) == 0)
			target = step / Max(steps / 12, 1) % 2 == 0 ?
				counts->universe * 9 / 10 :
				(int) random_below(counts->universe / 2 + 1);
		REQUIRE(change_counts(counts, counts->n < target ? 85 : 30,
							  starve && random_below(4) == 0));
		if (random_below(4) == 0)
			REQUIRE(ask_counts(counts));
		if (step % check_every == 0)
			REQUIRE(compare_counts(counts));
	}
	return compare_counts(counts);
}

/* Take all rows away, in random order. */
static bool
empty_counts(Counts *counts)
{
	while (counts->n > 0)
	{
		int			i = next_there(counts,
								   (int) random_below(counts->universe));

		if (i == counts->universe)
			continue;
		REQUIRE(add(counts, i, -counts->rows[i], false));
		if (random_below(counts->n + 50) == 0)
			REQUIRE(compare_counts(counts));
	}
	REQUIRE(compare_counts(counts));
	REQUIRE(counts->world.arena.used == 0 && counts->index.height == 0);
	return true;
}

static bool
test_counts(int width, int universe, int scores, int steps, bool starve)
{
	Counts		counts;

	REQUIRE(counts_open(&counts, width, universe, scores));
	REQUIRE(exercise_counts(&counts, steps, universe / 2 + 1, starve));
	REQUIRE(empty_counts(&counts));
	REQUIRE(exercise_counts(&counts, steps / 20, universe / 2 + 1, starve));
	return counts_close(&counts);
}

/*--------------------------------------------------------------------------
 * Bulk builds
 *--------------------------------------------------------------------------
 */

/*
 * Build the index of a model, which is empty, each key at once or in several
 * parts.  If that fails the index is empty again.
 */
static LbResult
build_counts(Counts *counts, uint64 expected)
{
	LbBulk		bulk;
	int64		key[LB_MAX_WIDTH];
	LbResult	result;

	result = lb_bulk_begin(&bulk, &counts->world.mem, &counts->index,
						   expected);
	for (int i = 0; i < counts->universe; i++)
	{
		int64		rest = counts->rows[i];

		memcpy(key, counts_key(counts, i), counts->width * sizeof(int64));
		while (rest > 0 && result == LB_OK)
		{
			int64		part = random_below(2) == 0 ? rest :
				1 + (int64) (next_random() % (uint64) rest);

			operations++;
			key[counts->width] = part;
			rest -= part;
			result = lb_bulk_add(&bulk, key);
		}
	}
	if (result == LB_OK)
		result = lb_bulk_finish(&bulk);
	if (result != LB_OK)
		lb_index_free(&counts->world.mem, &counts->index);
	return result;
}

/* A key that is smaller than the one before it, by a word. */
static bool
out_of_order(Counts *counts)
{
	LbBulk		bulk;
	int64		key[LB_MAX_WIDTH] = {0};
	int			word = (int) random_below(counts->width);

	REQUIRE(lb_bulk_begin(&bulk, &counts->world.mem, &counts->index,
						  1) == LB_OK);
	key[counts->width] = 5;
	REQUIRE(lb_bulk_add(&bulk, key) == LB_OK);
	key[word]--;
	REQUIRE(lb_bulk_add(&bulk, key) == LB_EXISTS);
	lb_index_free(&counts->world.mem, &counts->index);
	REQUIRE(counts->world.arena.used == 0);
	return true;
}

/* Bulk builds of many sizes, at every limit of memory, and changes after. */
static bool
test_counts_bulk(int width, int to, int step, int scores, int steps)
{
	for (int n = 1; n <= to; n += step)
	{
		Counts		counts;
		LbResult	result = LB_NOMEM;

		REQUIRE(counts_open(&counts, width, n, scores));
		for (int i = 0; i < n; i++)
		{
			counts.rows[i] = random_below(16) == 0 ? 0 : some_rows();
			counts.n += counts.rows[i] > 0;
		}
		for (uint32 chunks = 0; result == LB_NOMEM;
			 chunks += 1 + random_below(n / 20 + 1))
		{
			world_limit(&counts.world, chunks);
			result = build_counts(&counts, random_below(2 * n + 1));
			REQUIRE(result == LB_OK || result == LB_NOMEM);
			REQUIRE(result == LB_OK || counts.world.arena.used == 0);
		}
		counts.world.mem.limit = 0;
		REQUIRE(compare_counts(&counts));
		for (int i = 0; i < 10; i++)
			REQUIRE(ask_counts(&counts));
		if (steps > 0)
			REQUIRE(exercise_counts(&counts, steps, steps / 4 + 1, false));
		lb_index_free(&counts.world.mem, &counts.index);
		REQUIRE(out_of_order(&counts));
		REQUIRE(counts_close(&counts));
	}
	return true;
}

/*--------------------------------------------------------------------------
 * Memory, damage
 *--------------------------------------------------------------------------
 */

/*
 * Memory of n scores after a build, and while rows of them come and go; the
 * estimate is not below that.
 */
static bool
test_counts_memory(int width, int n, double built, double changed)
{
	Counts		counts;
	uint64		most = 0;
	uint64		estimate;

	REQUIRE(counts_open(&counts, width, n, n));
	estimate = lb_index_estimate(n, &counts.index.shape, width);
	for (int i = 0; i < n; i++)
		counts.rows[i] = 1;
	counts.n = n;
	REQUIRE(build_counts(&counts, n) == LB_OK);
	REQUIRE((double) lb_index_bytes(&counts.index) / n <= built);
	for (int i = 0; i < n * 10; i++)
	{
		int			at = (int) random_below(n);

		REQUIRE(add(&counts, at, counts.rows[at] > 0 && random_below(2) == 0 ?
					-1 : 1, false));
		most = Max(most, lb_index_bytes(&counts.index));
	}
	REQUIRE((double) lb_index_bytes(&counts.index) / counts.n <= changed);
	REQUIRE(most <= estimate && estimate <= most * 3 / 2);
	REQUIRE(compare_counts(&counts));
	return counts_close(&counts);
}

/* The check finds each kind of damage. */
static bool
test_counts_damage(int width, int n)
{
	Counts		counts;
	LbIndex    *index = &counts.index;
	LbArena    *arena = &counts.world.arena;
	Block	   *links;
	Block	   *leaf;
	int64	   *rows;

	REQUIRE(counts_open(&counts, width, n, n / 3));
	for (int i = 0; i < n; i++)
		REQUIRE(add(&counts, i, 5, false));
	links = block_ptr(arena, index->root);
	REQUIRE(links->level > 0);
	while (links->level > 1)
		links = block_ptr(arena, link_children(links)[1]);
	leaf = block_ptr(arena, link_children(links)[1]);
	rows = leaf_words(leaf, width);

	DAMAGE(rows[0], 0);
	DAMAGE(rows[1], 4);
	DAMAGE(rows[1], -5);
	DAMAGE(rows[leaf->count - 1], INT64_MAX);
	DAMAGE(link_members(links)[1], link_members(links)[1] + 1);
	DAMAGE(link_members(links)[1], leaf->count);
	DAMAGE(((LinkBlock *) links)->members, 1);
	DAMAGE(index->members, (uint64) n);
	DAMAGE(index->distinct, index->distinct + 1);
	DAMAGE(leaf_words(leaf, 0)[1], INT64_MAX);
	DAMAGE(leaf_words(leaf, 0)[1], INT64_MIN);
	DAMAGE(leaf->width, (uint8) width);
	DAMAGE(leaf->continues, !leaf->continues);
	DAMAGE(leaf->count, leaf->count - 1);
	DAMAGE(index->hash.root, index->first);
	DAMAGE(index->shape.width, (uint8) (width + 1));
	DAMAGE(index->shape.width, LB_MAX_WIDTH);
	DAMAGE(index->shape.counts, false);
	DAMAGE(index->shape.ncolumns, 1);

	/* A key without rows, though all sums are right. */
	rows[0] += rows[1];
	rows[1] = 0;
	REQUIRE(lb_index_check(arena, index) != NULL);
	rows[1] = 5;
	rows[0] -= 5;
	flip_bits(arena, index, short_run ? 200 : 2000);
	REQUIRE_NULL(lb_index_check(arena, index));
	return counts_close(&counts);
}

/*--------------------------------------------------------------------------
 * All of it
 *--------------------------------------------------------------------------
 */

static void
run_counts(const char *name, int width, int universe, int scores, int steps,
		   bool starve)
{
	char		title[128];
	uint64		seed = rng;
	bool		ok = test_counts(width, universe, scores,
								 short_run ? Min(steps / 20, 6000) : steps,
								 starve);

	snprintf(title, sizeof(title), "counts: width %d, %s%s", width, name,
			 starve ? ", little memory" : "");
	report(title, ok);
	if (!ok)
		printf("       state of the random numbers was %" PRIu64 "\n", seed);
}

void
run_counts_tests(void)
{
	static const int widths[] = {1, 2, 5, 15};

	for (int i = 0; i < 4; i++)
	{
		int			width = widths[i];

		run_counts("tiny", width, 20, 5, 40000, true);
		run_counts("many scores", width, 2000, 2000, 60000, false);
		run_counts("ten scores", width, 700, 10, 40000, true);
		report("counts: bulk, every size",
			   test_counts_bulk(width, 400, short_run ? 37 : 1, 20, 0));
		report("counts: bulk, random changes after",
			   test_counts_bulk(width, 2000, short_run ? 499 : 97, 100, 500));
		report("counts: damage is seen", test_counts_damage(width, 400));
	}
	run_counts("one score", 2, 2000, 1, 60000, true);
	run_counts("large", 1, short_run ? 1000 : 15000, 1, 60000, false);
	report("counts: damage is seen, three levels",
		   test_counts_damage(2, 8000));
	report("counts: memory",
		   test_counts_memory(1, short_run ? 20000 : 100000, 20, 28));
	report("counts: memory, width 15",
		   test_counts_memory(15, 3000, 165, 230));
}
