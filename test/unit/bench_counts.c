/*-------------------------------------------------------------------------
 *
 * bench_counts.c
 *	  How fast and how large an index that counts rows is.
 *
 * Usage: bench-counts [scores [changes [seed [reads]]]]
 *
 *-------------------------------------------------------------------------
 */
#include <sys/mman.h>

#include "bench.h"

#define BATCH 32				/* changes whose cache misses overlap */

/* The key of a score with a number. */
static int64
score_key(uint64 number)
{
	return ~(int64) number;
}

static int64
random_key(uint64 scores)
{
	return score_key(next_random() % scores);
}

static void
print_size(const LbIndex *index, uint64 scores, const char *when)
{
	printf("%-34s %8.1f bytes/score, %d levels\n", when,
		   (double) lb_index_bytes(index) / (double) scores, index->height);
}

/* Build the index: each score has a thousand rows. */
static void
build(const LbMem *mem, LbIndex *index, uint64 scores)
{
	LbBulk		bulk;

	begin();
	if (lb_bulk_begin(&bulk, mem, index, scores) != LB_OK)
		die("bulk begin");
	for (uint64 i = scores; i > 0; i--)
	{
		int64		key[2] = {score_key(i - 1), 1000};

		if (lb_bulk_add(&bulk, key) != LB_OK)
			die("bulk add");
	}
	if (lb_bulk_finish(&bulk) != LB_OK)
		die("bulk finish");
	end("bulk build, a score", scores);
	print_size(index, index->distinct, "after build");
}

/* Rows move from one score to another; there are many rows of each. */
static void
move_rows(const LbMem *mem, LbIndex *index, uint64 scores, uint64 changes)
{
	begin();
	for (uint64 i = 0; i < changes; i++)
	{
		int64		from = random_key(scores);
		int64		to = random_key(scores);

		/* Few scores have lost all of their rows. */
		if (lb_index_add(mem, index, &from, -1, NULL) == LB_OK &&
			lb_index_add(mem, index, &to, 1, NULL) != LB_OK)
			die("add");
	}
	end("move a row (two changes)", changes);
}

/* The same, BATCH changes at a time. */
static void
move_many(const LbMem *mem, LbIndex *index, uint64 scores, uint64 changes)
{
	begin();
	for (uint64 i = 0; i < changes; i += BATCH / 2)
	{
		int64		keys[BATCH];
		const int64 *pointers[BATCH];
		LbPath		paths[BATCH];

		for (int j = 0; j < BATCH; j++)
		{
			keys[j] = random_key(scores);
			pointers[j] = &keys[j];
		}
		lb_index_prefetch_changes(mem->arena, index, pointers, BATCH, paths);
		for (int j = 0; j < BATCH; j += 2)
		{
			if (lb_index_add(mem, index, &keys[j], -1, &paths[j]) == LB_OK &&
				lb_index_add(mem, index, &keys[j + 1], 1,
							 &paths[j + 1]) != LB_OK)
				die("add");
		}
	}
	end("move a row, 16 at a time", changes);
}

/*
 * Scores come and go: each change adds a row to a score or takes one away, as
 * likely, if there is one.
 */
static void
churn(const LbMem *mem, LbIndex *index, uint64 scores, uint64 changes)
{
	begin();
	for (uint64 i = 0; i < changes; i++)
	{
		int64		key = random_key(scores);
		int64		n = next_random() % 2 == 0 ? 1 : -1;
		LbResult	result = lb_index_add(mem, index, &key, n, NULL);

		if (result != LB_OK && !(n < 0 && result == LB_NOTFOUND))
			die("add");
	}
	end("add or remove a row", changes);
}

/* Count the rows before random scores, one by one and 32 at a time. */
static uint64
rank_scores(const LbArena *arena, const LbIndex *index, uint64 scores,
			uint64 reads)
{
	LbCursor	places[32];
	uint64		sum = 0;

	begin();
	for (uint64 i = 0; i < reads; i++)
	{
		int64		key = random_key(scores);
		uint64		m;
		uint64		d;

		lb_index_spans(arena, index, &key, 1, false, &m, &d);
		sum += m + d;
	}
	end("rank of a score", reads);

	for (int j = 0; j < 32; j++)
		places[j].leaf = LB_NONE;
	begin();
	for (uint64 i = 0; i < reads; i += 32)
	{
		int64		keys[32];
		const int64 *prefixes[32];
		uint64		before[32];

		for (int j = 0; j < 32; j++)
		{
			keys[j] = random_key(scores);
			prefixes[j] = &keys[j];
		}
		lb_index_spans_many(arena, index, prefixes, places, 32, 1, before,
							NULL);
		for (int j = 0; j < 32; j++)
			sum += before[j];
	}
	end("rank, 32 at a time", reads);
	return sum;
}

/* Seek random rows. */
static uint64
seek_rows(const LbArena *arena, const LbIndex *index, uint64 reads)
{
	uint64		sum = 0;

	begin();
	for (uint64 i = 0; i < reads; i++)
	{
		LbCursor	cursor;
		int64		key[2];

		if (!lb_index_seek_place(arena, index, next_random() % index->members,
								 &cursor))
			die("seek");
		lb_cursor_key(arena, index, &cursor, key);
		sum += (uint64) key[0];
	}
	end("score of a row by place", reads);
	return sum;
}

int
main(int argc, char **argv)
{
	uint64		scores = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64		changes = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000;
	uint64		reads = argc > 4 ? strtoull(argv[4], NULL, 10) : 2000000;
	uint64		region_size = scores * 80 + 64 * 1024 * 1024;
	LbShape		shape = lb_counts_shape(1);
	LbArena		arena;
	LbAccount	account = {0};
	LbMem		mem = {.arena = &arena,.account = &account};
	LbIndex		index;
	void	   *region;
	uint64		sum = 0;

	rng = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	printf("scores %" PRIu64 ", changes %" PRIu64 ", seed %" PRIu64 "\n",
		   scores, changes, rng);
	region = mmap(NULL, region_size, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED)
		die("out of memory");
	if (!lb_arena_init(&arena, region, region_size, NULL))
		die("no arena");

	lb_index_init(&index, &shape);
	build(&mem, &index, scores);
	sum += rank_scores(&arena, &index, scores, reads);
	sum += seek_rows(&arena, &index, reads);
	move_rows(&mem, &index, scores, changes);
	move_many(&mem, &index, scores, changes);
	lb_index_free(&mem, &index);

	churn(&mem, &index, scores, changes);
	print_size(&index, index.distinct, "after random changes");
	if (lb_index_check(&arena, &index) != NULL)
		die(lb_index_check(&arena, &index));
	lb_index_free(&mem, &index);

	/* The same from a full set of scores. */
	build(&mem, &index, scores);
	for (uint64 i = 0; i < scores; i++)
	{
		int64		key = score_key(i);

		if (lb_index_add(&mem, &index, &key, -999, NULL) != LB_OK)
			die("add");
	}
	churn(&mem, &index, scores, changes);
	print_size(&index, index.distinct, "after random changes of all");
	lb_index_free(&mem, &index);
	if (arena.used != 0 || account.used != 0)
		die("memory left");
	printf("(%" PRIu64 ")\n", sum);
	return 0;
}
