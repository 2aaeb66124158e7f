/*-------------------------------------------------------------------------
 *
 * bench.c
 *	  How fast and how large the index is: one board of many members.
 *
 * Usage: bench [members [updates [seed [reads]]]]
 *
 * With HUGE set in the environment, the region is in huge pages, as a server
 * has it with huge_pages = on.
 *
 * Keys have a score, a tie and a member of one word each, unless macros say
 * otherwise: see below.
 *
 *-------------------------------------------------------------------------
 */
#include <sys/mman.h>

#include "bench.h"

/* How many words of a key come before the member: with 1, there is no tie. */
#ifndef RANK_WORDS
#define RANK_WORDS 2
#endif

/* The member has so many words, or is a text of TEXT_BYTES bytes. */
#ifdef TEXT_BYTES
#define MEMBER_WORDS (TEXT_BYTES / 8 + 1)
#endif
#ifndef MEMBER_WORDS
#define MEMBER_WORDS 1
#endif

#define WIDTH (RANK_WORDS + MEMBER_WORDS)
#define SCORES 1000001
#define BATCH 16				/* changes whose cache misses overlap */

static int
compare(const void *a, const void *b)
{
	const int64 *x = (const int64 *) a;
	const int64 *y = (const int64 *) b;
	int			i;

	for (i = 0; i < WIDTH; i++)
	{
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	}
	return 0;
}

/* The words of the member with a number. */
static void
put_member(int64 *words, int64 number)
{
#ifdef TEXT_BYTES
	uint64		h = (uint64) number;

	/* Bytes that follow from the number; none of them is zero. */
	for (int i = 0; i < MEMBER_WORDS; i++)
	{
		h = (h ^ h >> 29) * UINT64CONST(0x9e3779b97f4a7c15);
		words[i] = (int64) (h | UINT64CONST(0x0101010101010101));
	}
	words[TEXT_BYTES / 8] &= ~(int64) (UINT64_MAX >> TEXT_BYTES % 8 * 8);
#else
	for (int i = 0; i < MEMBER_WORDS; i++)
		words[i] = number;
#endif
}

static void
random_member(int64 *words, uint64 members)
{
	put_member(words, (int64) (next_random() % members) * 7 + 1);
}

/* What comes before the member. */
static void
random_score(int64 *key)
{
	key[0] = ~(int64) (next_random() % SCORES);
	if (RANK_WORDS > 1)
		key[1] = (int64) (next_random() % 1000000);
}

static LbShape
make_shape(void)
{
#ifdef TEXT_BYTES
	uint8		columns[RANK_WORDS + 1];

	memset(columns, 1, RANK_WORDS);
	columns[RANK_WORDS] = LB_TEXT;
	return lb_make_shape(columns, RANK_WORDS, RANK_WORDS + 1);
#else
	return lb_fixed_shape(WIDTH, MEMBER_WORDS);
#endif
}

static void
print_size(const LbIndex *index, const char *when)
{
	double		n = (double) index->members;
	double		blocks = (double) index->chunks * LB_CHUNK_SIZE;
	double		cells = (double) index->cells.chunks * LB_CHUNK_SIZE;
	double		hash = (double) index->hash.chunks * LB_CHUNK_SIZE;

	printf("%-34s %8.1f bytes/member (list %.1f, cells %.1f, hash %.1f), "
		   "%d levels\n", when, (double) lb_index_bytes(index) / n, blocks / n,
		   cells / n, hash / n, index->height);
}

/* Look members up, 32 at a time, and rank them. */
static uint64
read_many(const LbArena *arena, const LbIndex *index, uint64 members,
		  uint64 reads, bool rank)
{
	uint64		sum = 0;
	uint64		i;

	for (i = 0; i < reads; i += 32)
	{
		int64		words[32 * MEMBER_WORDS];
		int64		keys[32 * WIDTH];
		bool		found[32];
		LbCursor	places[32];
		const int64 *prefixes[32];
		uint64		before[32];
		LbLookups	lookups = {
			.n = 32,.members = words,.member_stride = MEMBER_WORDS,
			.nwords = rank ? 1 : WIDTH,.key_stride = WIDTH,.keys = keys,
			.found = found,.places = places
		};
		int			j;

		for (j = 0; j < 32; j++)
			random_member(words + j * MEMBER_WORDS, members);
		lb_index_lookup_many(arena, index, &lookups);
		for (j = 0; j < 32; j++)
		{
			if (!found[j])
				die("lookup");
			prefixes[j] = keys + j * WIDTH;
			sum += (uint64) keys[j * WIDTH];
		}
		if (!rank)
			continue;
		lb_index_spans_many(arena, index, prefixes, places, 32, 1, before,
							NULL);
		for (j = 0; j < 32; j++)
			sum += before[j];
	}
	return sum;
}

/* Rank members one by one. */
static uint64
rank(const LbArena *arena, const LbIndex *index, uint64 members, uint64 reads,
	 const char *what)
{
	uint64		sum = 0;
	uint64		i;

	begin();
	for (i = 0; i < reads; i++)
	{
		int64		member[MEMBER_WORDS];
		int64		key[LB_MAX_KEY_WORDS];
		uint64		m;
		uint64		d;

		random_member(member, members);
		if (!lb_index_lookup(arena, index, member, key, NULL))
			die("lookup");
		lb_index_spans(arena, index, key, 1, false, &m, &d);
		sum += m + d;
	}
	end(what, reads);
	return sum;
}

/* Read pages of 100 entries. */
static uint64
read_pages(const LbArena *arena, const LbIndex *index, uint64 members,
		   uint64 reads)
{
	uint64		sum = 0;
	uint64		i;

	begin();
	for (i = 0; i < reads; i += 100)
	{
		LbCursor	cursor;
		int64		key[LB_MAX_KEY_WORDS];
		int			j;

		if (!lb_index_seek_place(arena, index, next_random() % members,
								 &cursor))
			die("select");
		for (j = 0; j < 100; j++)
		{
			lb_cursor_key(arena, index, &cursor, key);
			sum += (uint64) key[0];
			if (!lb_cursor_next(arena, index, &cursor))
				break;
		}
	}
	end("an entry of a page of 100", reads);
	return sum;
}

/* Give random members new keys; keys has the key of each member. */
static void
update(const LbMem *mem, LbIndex *index, int64 *keys, uint64 members,
	   uint64 updates)
{
	uint64		i;

	begin();
	for (i = 0; i < updates; i++)
	{
		uint64		at = next_random() % members;
		int64	   *key = keys + at * WIDTH;
		int64		new[WIDTH];

		memcpy(new, key, sizeof(new));
		random_score(new);
		if (lb_index_replace(mem, index, key, new, NULL, NULL) != LB_OK)
			die("replace");
		memcpy(key, new, sizeof(new));
	}
	end("update (replace)", updates);
}

/* The same, BATCH members at a time. */
static void
update_many(const LbMem *mem, LbIndex *index, int64 *keys, uint64 members,
			uint64 updates)
{
	uint64		i;

	begin();
	for (i = 0; i + BATCH <= updates; i += BATCH)
	{
		int64		words[2 * BATCH][WIDTH];
		const int64 *pointers[2 * BATCH];
		LbPath		paths[2 * BATCH];
		int			j;

		for (j = 0; j < 2 * BATCH; j += 2)
		{
			int64	   *key = keys + next_random() % members * WIDTH;

			memcpy(words[j], key, sizeof(words[j]));
			random_score(key);
			memcpy(words[j + 1], key, sizeof(words[j]));
			pointers[j] = words[j];
			pointers[j + 1] = words[j + 1];
			lb_index_prefetch_hash(mem->arena, index, key + RANK_WORDS);
		}
		lb_index_prefetch_changes(mem->arena, index, pointers, 2 * BATCH, paths);
		for (j = 0; j < 2 * BATCH; j += 2)
		{
			if (lb_index_replace(mem, index, words[j], words[j + 1],
								 &paths[j], &paths[j + 1]) != LB_OK)
				die("replace");
		}
	}
	end("update, 16 at a time", updates / BATCH * BATCH);
}

int
main(int argc, char **argv)
{
	uint64		members = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	uint64		updates = argc > 2 ? strtoull(argv[2], NULL, 10) : members;
	uint64		seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	uint64		reads = argc > 4 ? strtoull(argv[4], NULL, 10) : 2000000;
	uint64		region_size = members * (40 + 16 * WIDTH) + 64 * 1024 * 1024;
	LbArena		arena;
	LbAccount	account = {0};
	LbMem		mem;
	LbIndex		index;
	LbShape		shape = make_shape();
	LbBulk		bulk;
	void	   *region;
	int64	   *keys;
	uint64		sum = 0;
	uint64		i;
	double		start;
	double		added;

	rng = seed;
	printf("members %" PRIu64 ", updates %" PRIu64 ", seed %" PRIu64 "\n",
		   members, updates, seed);
	region = mmap(NULL, region_size, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	keys = malloc(members * WIDTH * sizeof(int64));
	if (region == MAP_FAILED || keys == NULL)
		die("out of memory");
	if (getenv("HUGE") != NULL && madvise(region, region_size,
										  MADV_HUGEPAGE) != 0)
		die("no huge pages");
	if (!lb_arena_init(&arena, region, region_size, NULL))
		die("no arena");
	mem.arena = &arena;
	mem.account = &account;
	mem.limit = 0;
	mem.taken = NULL;

	for (i = 0; i < members; i++)
	{
		random_score(keys + i * WIDTH);
		put_member(keys + i * WIDTH + RANK_WORDS, (int64) i * 7 + 1);
	}
	qsort(keys, members, WIDTH * sizeof(int64), compare);

	CALLGRIND_ZERO_STATS;
	start = now();
	lb_index_init(&index, &shape);
	if (lb_bulk_begin(&bulk, &mem, &index, members) != LB_OK)
		die("bulk begin");
	for (i = 0; i < members; i++)
	{
		if (lb_bulk_add(&bulk, keys + i * WIDTH) != LB_OK)
			die("bulk add");
	}
	added = now();
	if (lb_bulk_finish(&bulk) != LB_OK)
		die("bulk finish");
	CALLGRIND_DUMP_STATS_AT("bulk build from sorted input");
	printf("%-34s %8.2f s (list %.2f, hash %.2f)\n",
		   "bulk build from sorted input", now() - start, added - start,
		   now() - added);
	print_size(&index, "after build");

	sum += rank(&arena, &index, members, reads,
				"rank of a member (lookup + spans)");

	begin();
	for (i = 0; i < reads; i++)
	{
		int64		member[MEMBER_WORDS];
		int64		key[LB_MAX_KEY_WORDS];

		random_member(member, members);
		if (!lb_index_lookup(&arena, &index, member, key, NULL))
			die("lookup");
		sum += (uint64) key[0];
	}
	end("lookup of a member", reads);

	begin();
	sum += read_many(&arena, &index, members, reads, false);
	end("lookup, 32 at a time", reads);

	begin();
	sum += read_many(&arena, &index, members, reads, true);
	end("rank, 32 at a time", reads);

	begin();
	for (i = 0; i < reads; i++)
	{
		LbCursor	cursor;
		int64		key[LB_MAX_KEY_WORDS];

		if (!lb_index_seek_place(&arena, &index, next_random() % members,
								 &cursor))
			die("select");
		lb_cursor_key(&arena, &index, &cursor, key);
		sum += (uint64) key[0];
	}
	end("select by place", reads);

	sum += read_pages(&arena, &index, members, reads);

	/* keys[] becomes the current key of each member, by member. */
	for (i = 0; i < members; i++)
	{
		int64		member[MEMBER_WORDS];

		put_member(member, (int64) i * 7 + 1);
		if (!lb_index_lookup(&arena, &index, member, keys + i * WIDTH, NULL))
			die("lookup");
	}
	update(&mem, &index, keys, members, updates);
	print_size(&index, "after updates");

	sum += rank(&arena, &index, members, reads,
				"rank of a member, after updates");

	update_many(&mem, &index, keys, members, updates);

	if (lb_index_check(&arena, &index) != NULL)
		die(lb_index_check(&arena, &index));
	start = now();
	lb_index_free(&mem, &index);
	printf("%-34s %8.2f s\n", "free", now() - start);
	if (arena.used != 0 || account.used != 0)
		die("memory left");
	printf("(%" PRIu64 ")\n", sum);
	return 0;
}
