/*-------------------------------------------------------------------------
 *
 * sums.c
 *	  Signed changes of a board, summed up per member, one after the other.
 *
 * The sums are two indexes (skiplist.c) in process-local memory: the keys that
 * they take away from the board's index, and the keys that they add to it.  So
 * a count over a prefix, a place, and a member's sum are one descent or one
 * look-up each, and a change costs as much as a change of the board itself.
 *
 * A change is its old key less and its new key more.  A key less and the same
 * key more cancel each other.  Otherwise the key goes into its index, if it
 * is the member's only one of its sign, or else it is surplus: the sum of its
 * member is ambiguous until a key comes that cancels one of them.  The result
 * does not depend on the order of the changes.  Adding the reverse of a change
 * takes it back.
 *
 * All memory but the context is allocated without raising: an aborted
 * subtransaction's callback takes changes back, and reads add some under a
 * stripe's lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "boards/shared.h"
#include "capture/sums.h"
#include "util/pause.h"
#include "util/sort.h"

/* Size of a new arena, in bytes. */
#define FIRST_SIZE (128 * 1024)

/* Bytes that must be free before a change, which may split blocks and pages. */
#define MARGIN (24 * LB_PAGE_SIZE)

/* If more scores than this have changed, the next read looks at all scores. */
#define MAX_SCORES(sums) \
	(4 * ((sums)->removed.members + (sums)->added.members) + 4096)

static LbMem
mem_in(LbArena *arena, LbAccount *account)
{
	LbMem		mem = {0};

	mem.arena = arena;
	mem.account = account;
	return mem;
}

static LbMem
mem_of(LbSums *sums)
{
	return mem_in(&sums->arena, &sums->account);
}

static void *
alloc(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

/* Lay out an arena of size bytes.  Returns its memory, or NULL. */
static char *
make_arena(MemoryContext context, LbArena *arena, Size size)
{
	char	   *region = alloc(context, size + LB_PAGE_SIZE);
	char	   *aligned;

	if (region == NULL)
		return NULL;
	aligned = (char *) TYPEALIGN(LB_PAGE_SIZE, region);

	if (!lb_arena_init(arena, aligned, size, NULL))
	{
		pfree(region);
		return NULL;
	}

	/* The state bytes of its chunks must be zero. */
	memset(arena->state, 0, arena->nchunks);
	arena->hash_seed = lb_shared->arena.hash_seed;
	return region;
}

LbSums *
lb_sums_make(MemoryContext parent, int width, int member_words)
{
	MemoryContext context = AllocSetContextCreate(parent, "leaderboard sums",
												  ALLOCSET_SMALL_SIZES);
	LbSums	   *sums = alloc(context, sizeof(LbSums));
	LbShape		shape = lb_fixed_shape(width, member_words);
	LbShape		score = lb_fixed_shape(2, 1);

	if (sums == NULL)
	{
		MemoryContextDelete(context);
		return NULL;
	}
	memset(sums, 0, sizeof(LbSums));
	sums->context = context;
	sums->width = width;
	sums->member_words = member_words;
	sums->size = FIRST_SIZE;
	sums->free_surplus = -1;
	sums->merged.width = width;
	sums->region = make_arena(context, &sums->arena, sums->size);
	if (sums->region == NULL)
	{
		MemoryContextDelete(context);
		return NULL;
	}
	lb_index_init(&sums->removed, &shape);
	lb_index_init(&sums->added, &shape);
	lb_index_init(&sums->lost, &score);
	lb_index_init(&sums->gained, &score);
	return sums;
}

void
lb_sums_free(LbSums *sums)
{
	MemoryContextDelete(sums->context);
}


/* ----------------------------------------------------------------
 *		Room
 * ----------------------------------------------------------------
 */

/*
 * Make room for "more" elements in an array of n elements, of "words" words
 * each.  Returns false if there is no memory.
 */
static bool
lengthen(LbSums *sums, int64 **array, int words, int n, int *max, int64 more)
{
	int64		need = n + more;
	int64		newmax = Max(need, (int64) *max * 2);
	int64	   *new;

	if (need <= *max)
		return true;
	if (newmax > INT_MAX)
		return false;
	new = alloc(sums->context, newmax * words * sizeof(int64));
	if (new == NULL)
		return false;
	if (*array != NULL)
	{
		memcpy(new, *array, (Size) n * words * sizeof(int64));
		pfree(*array);
	}
	*array = new;
	*max = (int) newmax;
	return true;
}

/* Copy an index to another arena.  Returns false if the arena is too small. */
static bool
copy_index(const LbArena *from, const LbIndex *index, const LbMem *mem,
		   LbIndex *copy)
{
	LbCursor	cursor;
	LbBulk		bulk;
	int64		key[LB_MAX_WIDTH];
	bool		more;

	lb_index_init(copy, &index->shape);
	if (index->members == 0)
		return true;
	if (lb_bulk_begin(&bulk, mem, copy, index->members) != LB_OK)
		return false;
	more = lb_index_seek_place(from, index, 0, &cursor);
	while (more)
	{
		lb_cursor_key(from, index, &cursor, key);
		if (lb_bulk_add(&bulk, key) != LB_OK)
			return false;
		more = lb_cursor_next(from, index, &cursor);
	}
	return lb_bulk_finish(&bulk) == LB_OK;
}

/* Move to an arena of size bytes.  Returns false if there is no memory. */
static bool
enlarge(LbSums *sums, Size size)
{
	LbArena		arena;
	LbAccount	account = {0};
	LbMem		mem = mem_in(&arena, &account);
	LbIndex    *indexes[] = {
		&sums->removed, &sums->added, &sums->lost, &sums->gained
	};
	LbIndex		copies[4];
	char	   *region = make_arena(sums->context, &arena, size);

	if (region == NULL)
		return false;
	for (int i = 0; i < 4; i++)
	{
		if (!copy_index(&sums->arena, indexes[i], &mem, &copies[i]))
		{
			pfree(region);
			return false;
		}
	}
	for (int i = 0; i < 4; i++)
		*indexes[i] = copies[i];
	pfree(sums->region);
	sums->region = region;
	sums->size = size;
	sums->arena = arena;
	sums->account = account;
	return true;
}

/* Bytes that must be free for n changes. */
static uint64
room_for(const LbSums *sums, int n)
{
	uint64		bytes = 2 * lb_index_estimate(n, &sums->removed.shape,
											  sums->width) + MARGIN;

	if (sums->distinct)
		bytes += 2 * lb_index_estimate(2 * (uint64) n, &sums->lost.shape, 2);
	return bytes;
}

bool
lb_sums_has_room(const LbSums *sums, int n)
{
	return sums->arena.size - sums->arena.used >= room_for(sums, n) &&
		sums->max_unchecked - sums->nunchecked >= n * sums->member_words &&
		sums->merged.max - sums->merged.n >= n &&
		(!sums->distinct || sums->max_scores - sums->nscores >= 2 * n);
}

/* Make room in the arena.  Returns false if there is no memory. */
static bool
reserve_arena(LbSums *sums, int n)
{
	uint64		need = room_for(sums, n);
	Size		size = sums->size;

	/* The state bytes of its chunks and its first page are not available. */
	while (size - size / 128 - 2 * LB_PAGE_SIZE < sums->arena.used + need)
		size *= 2;
	return size == sums->size || enlarge(sums, size);
}

bool
lb_sums_reserve(LbSums *sums, int n)
{
	if (sums->broken || !reserve_arena(sums, n))
		return false;
	if (sums->distinct && (uint64) sums->nscores > MAX_SCORES(sums))
		sums->distinct = false;
	return lengthen(sums, &sums->merged.words, lb_entry_words(sums->width),
					sums->merged.n, &sums->merged.max, n) &&
		lengthen(sums, &sums->unchecked, 1, sums->nunchecked,
				 &sums->max_unchecked, (int64) n * sums->member_words) &&
		(!sums->distinct ||
		 lengthen(sums, &sums->scores, 1, sums->nscores, &sums->max_scores,
				  2 * (int64) n));
}


/* ----------------------------------------------------------------
 *		Surplus keys
 * ----------------------------------------------------------------
 */

static uint32
bucket_of(const LbSums *sums, const int64 *key)
{
	return hash_bytes((const unsigned char *) (key + sums->width -
											   sums->member_words),
					  sums->member_words * sizeof(int64)) &
		(sums->max_surplus - 1);
}

/* Put a surplus key into its bucket. */
static void
chain_surplus(LbSums *sums, int number)
{
	LbSurplus  *surplus = &sums->surplus[number];
	int		   *bucket = &sums->buckets[bucket_of(sums, surplus->key)];

	surplus->next = *bucket;
	*bucket = number;
}

/* Make room for more surplus keys.  Returns false if there is no memory. */
static bool
lengthen_surplus(LbSums *sums)
{
	int			old = sums->max_surplus;
	int			max = Max(16, old * 2);
	LbSurplus  *surplus = alloc(sums->context, max * sizeof(LbSurplus));
	int		   *buckets = alloc(sums->context, max * sizeof(int));

	if (surplus == NULL || buckets == NULL)
		return false;
	if (old > 0)
	{
		memcpy(surplus, sums->surplus, old * sizeof(LbSurplus));
		pfree(sums->surplus);
		pfree(sums->buckets);
	}
	sums->surplus = surplus;
	sums->buckets = buckets;
	sums->max_surplus = max;
	for (int i = 0; i < max; i++)
		buckets[i] = -1;

	/* All the old ones are in use. */
	for (int i = 0; i < old; i++)
		chain_surplus(sums, i);
	for (int i = old; i < max; i++)
		surplus[i].next = i + 1 < max ? i + 1 : -1;
	sums->free_surplus = old;
	return true;
}

/* Returns false if there is no memory. */
static bool
add_surplus(LbSums *sums, const int64 *key, bool negative)
{
	int			number;

	if (sums->free_surplus < 0 && !lengthen_surplus(sums))
		return false;
	number = sums->free_surplus;
	sums->free_surplus = sums->surplus[number].next;
	sums->nsurplus++;
	memcpy(sums->surplus[number].key, key, sums->width * sizeof(int64));
	sums->surplus[number].negative = negative;
	chain_surplus(sums, number);
	return true;
}

/*
 * Take out a surplus key of this sign, of key's member or (exact) equal to
 * key, and leave it in found.  Returns false if there is none.
 */
static bool
take_surplus(LbSums *sums, const int64 *key, bool negative, bool exact,
			 int64 *found)
{
	int			width = sums->width;
	int			first = exact ? 0 : width - sums->member_words;
	int		   *place;

	if (sums->nsurplus == 0)
		return false;
	for (place = &sums->buckets[bucket_of(sums, key)]; *place >= 0;
		 place = &sums->surplus[*place].next)
	{
		LbSurplus  *surplus = &sums->surplus[*place];
		int			number = *place;

		if (surplus->negative != negative ||
			lb_words_cmp(surplus->key + first, key + first, width - first) != 0)
			continue;
		memcpy(found, surplus->key, width * sizeof(int64));
		*place = surplus->next;
		surplus->next = sums->free_surplus;
		sums->free_surplus = number;
		sums->nsurplus--;
		return true;
	}
	return false;
}


/* ----------------------------------------------------------------
 *		Changes
 * ----------------------------------------------------------------
 */

/*
 * Add one key, less (negative) or more, to its member's sum.  Returns false if
 * there is no memory.
 */
static bool
add_key(LbSums *sums, const int64 *key, bool negative)
{
	LbMem		mem = mem_of(sums);
	LbIndex    *same = negative ? &sums->removed : &sums->added;
	LbIndex    *opposite = negative ? &sums->added : &sums->removed;
	LbResult	result;
	int64		other[LB_MAX_WIDTH];

	if (lb_index_remove(&mem, opposite, key) == LB_OK)
	{
		/* A surplus key of that sign takes its place. */
		if (!take_surplus(sums, key, !negative, false, other))
			return true;
		result = lb_index_insert(&mem, opposite, other);
		Assert(result != LB_EXISTS);
		return result == LB_OK;
	}
	if (take_surplus(sums, key, !negative, true, other))
		return true;
	result = lb_index_insert(&mem, same, key);
	if (result == LB_EXISTS)
		return add_surplus(sums, key, negative);
	return result == LB_OK;
}

bool
lb_sums_add(LbSums *sums, const int64 *entry, bool undo)
{
	int			width = sums->width;
	bool		has_less = (entry[0] & (undo ? LB_HAS_NEW : LB_HAS_OLD)) != 0;
	bool		has_more = (entry[0] & (undo ? LB_HAS_OLD : LB_HAS_NEW)) != 0;
	const int64 *less = entry + 1 + (undo ? width : 0);
	const int64 *more = entry + 1 + (undo ? 0 : width);
	const int64 *member = lb_entry_member(entry, width, sums->member_words);

	lb_count_work(1);
	if (sums->broken)
		return false;

	/* A failure halfway must leave them broken. */
	sums->broken = true;
	if (!lengthen(sums, &sums->unchecked, 1, sums->nunchecked,
				  &sums->max_unchecked, sums->member_words))
		return false;
	for (int i = 0; i < sums->member_words; i++)
		sums->unchecked[sums->nunchecked++] = member[i];
	if (sums->distinct)
	{
		if (!lengthen(sums, &sums->scores, 1, sums->nscores,
					  &sums->max_scores, 2))
			return false;
		if (has_less)
			sums->scores[sums->nscores++] = less[0];
		if (has_more)
			sums->scores[sums->nscores++] = more[0];
	}
	if (has_less && !add_key(sums, less, true))
		return false;
	if (has_more && !add_key(sums, more, false))
		return false;
	sums->broken = false;
	return true;
}

/*
 * Build the index of the old keys of n entries, or that of the new ones; keys
 * has room for n.  Returns false if there is no memory.
 */
static bool
load_keys(LbSums *sums, int64 *entries, int n, bool old, int64 *keys)
{
	LbMem		mem = mem_of(sums);
	LbIndex    *index = old ? &sums->removed : &sums->added;
	int			width = sums->width;
	int			nkeys = 0;
	LbBulk		bulk;

	for (int i = 0; i < n; i++)
	{
		int64	   *entry = entries + (Size) i * lb_entry_words(width);

		if (entry[0] & (old ? LB_HAS_OLD : LB_HAS_NEW))
			memcpy(keys + (Size) nkeys++ * width,
				   old ? lb_entry_old(entry) : lb_entry_new(entry, width),
				   width * sizeof(int64));
	}
	if (nkeys == 0)
		return true;
	lb_sort_words(keys, nkeys, width);
	if (lb_bulk_begin(&bulk, &mem, index, nkeys) != LB_OK)
		return false;
	for (int i = 0; i < nkeys; i++)
	{
		if (lb_bulk_add(&bulk, keys + (Size) i * width) != LB_OK)
			return false;
	}
	return lb_bulk_finish(&bulk) == LB_OK;
}

bool
lb_sums_load(LbSums *sums, LbChanges *changes)
{
	int			width = sums->width;
	int			words = sums->member_words;
	int			n = changes->n;
	int64	   *entries;
	int64	   *keys;
	bool		ambiguous;
	bool		ok = true;

	Assert(sums->removed.members == 0 && sums->added.members == 0 &&
		   sums->nsurplus == 0);

	/* A failure halfway must leave them broken. */
	sums->broken = true;
	sums->nunchecked = 0;
	sums->distinct = false;
	entries = alloc(sums->context, (Size) Max(n, 1) * lb_entry_words(width) *
					sizeof(int64));
	keys = alloc(sums->context, (Size) Max(n, 1) * width * sizeof(int64));
	if (entries == NULL || keys == NULL || !reserve_arena(sums, n) ||
		!lengthen(sums, &sums->unchecked, 1, 0, &sums->max_unchecked,
				  (int64) n * words))
		return false;
	n = lb_net_changes(changes, entries, &ambiguous);
	if (ambiguous)
	{
		sums->broken = false;
		for (int i = 0; i < changes->n && ok; i++)
			ok = lb_sums_add(sums, changes->words +
							 (Size) i * lb_entry_words(width), false);
	}
	else if (load_keys(sums, entries, n, true, keys) &&
			 load_keys(sums, entries, n, false, keys))
	{
		for (int i = 0; i < n; i++)
		{
			memcpy(sums->unchecked + sums->nunchecked,
				   lb_entry_member(entries + (Size) i * lb_entry_words(width),
								   width, words), words * sizeof(int64));
			sums->nunchecked += words;
		}
		sums->broken = false;
	}
	pfree(entries);
	pfree(keys);
	return !sums->broken;
}

bool
lb_sums_lookup(const LbSums *sums, const int64 *member, int64 *key,
			   bool *there)
{
	int64		old[LB_MAX_WIDTH];
	bool		adds = lb_index_lookup(&sums->arena, &sums->added, member, key,
									   NULL);

	if (!adds && !lb_index_lookup(&sums->arena, &sums->removed, member, old,
								  NULL))
		return false;
	*there = adds;
	return true;
}

bool
lb_sums_check(LbSums *sums, const LbArena *arena, const LbIndex *index,
			  int n)
{
	int			words = sums->member_words;
	int			width = sums->width;

	while (n > 0 && sums->nunchecked > 0)
	{
		int64		removed[LB_PREFETCH_KEYS * LB_MAX_WIDTH];
		int64		held[LB_PREFETCH_KEYS * LB_MAX_WIDTH];
		bool		takes[LB_PREFETCH_KEYS];
		bool		holds[LB_PREFETCH_KEYS];
		LbCursor	places[LB_PREFETCH_KEYS];
		int			batch = Min(Min(n, LB_PREFETCH_KEYS),
								sums->nunchecked / words);
		const int64 *members = sums->unchecked + sums->nunchecked -
			batch * words;
		LbLookups	in_removed = {
			.n = batch,.members = members,.member_stride = words,
			.nwords = width,.key_stride = width,.keys = removed,
			.found = takes,.places = places
		};
		LbLookups	in_index = in_removed;

		in_index.keys = held;
		in_index.found = holds;

		lb_count_work(batch);

		/* The cache misses of a batch overlap. */
		lb_index_lookup_many(&sums->arena, &sums->removed, &in_removed);
		if (index != NULL)
			lb_index_lookup_many(arena, index, &in_index);
		else
			memset(holds, false, sizeof(holds));
		for (int i = 0; i < batch; i++)
		{
			int64		added[LB_MAX_WIDTH];

			if (holds[i] && takes[i])
			{
				if (lb_words_cmp(held + i * width, removed + i * width,
								 width) != 0)
					return false;
			}
			else if (takes[i] ||
					 (holds[i] &&
					  lb_index_lookup(&sums->arena, &sums->added,
									  members + i * words, added, NULL)))
				return false;
		}
		sums->nunchecked -= batch * words;
		n -= batch;
	}
	return true;
}

/* Append nwords words, from the one numbered first, of all keys of an index. */
static void
append_words(const LbArena *arena, const LbIndex *index, int first, int nwords,
			 int64 *array, int *n)
{
	LbCursor	cursor;
	int64		key[LB_MAX_WIDTH];
	bool		more = lb_index_seek_place(arena, index, 0, &cursor);

	while (more)
	{
		lb_cursor_key(arena, index, &cursor, key);
		for (int i = 0; i < nwords; i++)
			array[(*n)++] = key[first + i];
		more = lb_cursor_next(arena, index, &cursor);
	}
}

bool
lb_sums_check_all(LbSums *sums)
{
	int			words = sums->member_words;
	int			first = sums->width - words;
	int64		need = (int64) words *
		(sums->removed.members + sums->added.members);

	sums->nunchecked = 0;
	if (!lengthen(sums, &sums->unchecked, 1, 0, &sums->max_unchecked, need))
		return false;
	append_words(&sums->arena, &sums->removed, first, words, sums->unchecked,
				 &sums->nunchecked);
	append_words(&sums->arena, &sums->added, first, words, sums->unchecked,
				 &sums->nunchecked);
	sums->check_all = false;
	return true;
}


/* ----------------------------------------------------------------
 *		Distinct scores
 * ----------------------------------------------------------------
 */

bool
lb_sums_distinct_begin(LbSums *sums)
{
	LbMem		mem = mem_of(sums);
	int64		need = sums->removed.members + sums->added.members;

	lb_index_free(&mem, &sums->lost);
	lb_index_free(&mem, &sums->gained);
	sums->distinct = true;
	sums->nscores = 0;
	if (need > INT_MAX ||
		!lengthen(sums, &sums->scores, 1, 0, &sums->max_scores, need))
	{
		sums->distinct = false;
		return false;
	}
	append_words(&sums->arena, &sums->removed, 0, 1, sums->scores,
				 &sums->nscores);
	append_words(&sums->arena, &sums->added, 0, 1, sums->scores,
				 &sums->nscores);
	return true;
}

bool
lb_sums_touch_score(LbSums *sums, int64 score)
{
	if (sums->nscores == sums->max_scores)
		return false;
	sums->scores[sums->nscores++] = score;
	return true;
}

/* How many entries of an index have a score. */
static uint64
count_score(const LbArena *arena, const LbIndex *index, int64 score)
{
	uint64		before;
	uint64		upto;

	if (index == NULL || index->members == 0)
		return 0;
	lb_index_spans(arena, index, &score, 1, false, &before, NULL);
	lb_index_spans(arena, index, &score, 1, true, &upto, NULL);
	return upto - before;
}

void
lb_sums_count_scores(LbSums *sums, const LbArena *arena, const LbIndex *index,
					 int n)
{
	LbMem		mem = mem_of(sums);

	while (n-- > 0 && sums->nscores > 0)
	{
		int64		score = sums->scores[--sums->nscores];
		int64		key[2] = {score, score};
		int64		change;
		int64		before = 0;
		LbResult	result = LB_OK;

		change = (int64) count_score(&sums->arena, &sums->added, score) -
			(int64) count_score(&sums->arena, &sums->removed, score);
		if (change != 0)
			before = count_score(arena, index, score);
		(void) lb_index_remove(&mem, &sums->lost, key);
		(void) lb_index_remove(&mem, &sums->gained, key);
		if (before > 0 && before + change == 0)
			result = lb_index_insert(&mem, &sums->lost, key);
		else if (before == 0 && change > 0)
			result = lb_index_insert(&mem, &sums->gained, key);
		if (result != LB_OK)
			sums->broken = true;
	}
}
