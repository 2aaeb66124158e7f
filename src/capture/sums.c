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
 * With counts, the two indexes have rows of keys that they take away, and of
 * keys that they add.  Rows of a key in the one cancel those in the other.  No
 * sum is ambiguous.
 *
 * All memory but the context is allocated without raising: an aborted
 * subtransaction's callback takes changes back, and reads add some under a
 * stripe's lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "boards/shared.h"
#include "capture/sums_internal.h"
#include "index/memberhash.h"
#include "util/pause.h"
#include "util/sort.h"

/* Size of a new arena, in bytes. */
#define FIRST_SIZE (128 * 1024)

/*
 * Bytes that must be free before a change, which may split blocks and pages.
 */
#define MARGIN (24 * LB_PAGE_SIZE)

/* If more scores than this have changed, the next read looks at all scores. */
#define MAX_SCORES(sums) \
	(4 * ((sums)->removed.members + (sums)->added.members) + 4096)

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
lb_sums_make(MemoryContext parent, const LbShape *shape)
{
	MemoryContext context = AllocSetContextCreate(parent, "leaderboard sums",
												  ALLOCSET_SMALL_SIZES);
	LbSums	   *sums = alloc(context, sizeof(LbSums));
	LbShape		score = lb_fixed_shape(2, 1);

	if (sums == NULL)
	{
		MemoryContextDelete(context);
		return NULL;
	}
	memset(sums, 0, sizeof(LbSums));
	sums->context = context;
	sums->shape = *shape;
	sums->stride = lb_least_stride(shape);
	sums->size = FIRST_SIZE;
	sums->free_surplus = -1;
	lb_changes_begin(&sums->merged, shape);
	sums->region = make_arena(context, &sums->arena, sums->size);
	if (sums->region == NULL)
	{
		MemoryContextDelete(context);
		return NULL;
	}
	lb_index_init(&sums->removed, shape);
	lb_index_init(&sums->added, shape);
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

bool
lb_sums_lengthen(LbSums *sums, int64 **array, int n, int *max, int64 more)
{
	int64		need = n + more;
	int64		newmax = Max(need, (int64) *max * 2);
	int64	   *new;

	if (need <= *max)
		return true;
	if (newmax > INT_MAX)
		return false;
	new = alloc(sums->context, newmax * sizeof(int64));
	if (new == NULL)
		return false;
	if (*array != NULL)
	{
		memcpy(new, *array, (Size) n * sizeof(int64));
		pfree(*array);
	}
	*array = new;
	*max = (int) newmax;
	return true;
}

/* LbBulk.poll */
static void
look_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* Copy an index to another arena.  Returns false if the arena is too small. */
static bool
copy_index(const LbArena *from, const LbIndex *index, const LbMem *mem,
		   LbIndex *copy)
{
	LbCursor	cursor;
	LbBulk		bulk;
	int64		key[LB_MAX_KEY_WORDS];
	bool		more;

	lb_index_init(copy, &index->shape);
	if (index->members == 0)
		return true;
	if (lb_bulk_begin(&bulk, mem, copy, index->members) != LB_OK)
		return false;
	bulk.poll = look_for_interrupts;
	more = lb_index_seek_place(from, index, 0, &cursor);
	while (more)
	{
		CHECK_FOR_INTERRUPTS();
		lb_cursor_key(from, index, &cursor, key);
		if (lb_bulk_add(&bulk, key) != LB_OK)
			return false;
		more = lb_cursor_next(from, index, &cursor);
	}
	return lb_bulk_finish(&bulk) == LB_OK;
}

/*
 * Move to an arena of size bytes.  Returns false if there is no memory.  If it
 * is interrupted the sums are as before, and the new arena goes with them.
 */
static bool
enlarge(LbSums *sums, Size size)
{
	LbArena		arena;
	LbAccount	account = {0};
	LbMem		mem = lb_sums_mem_in(&arena, &account);
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
room_for(const LbSums *sums, int n, int stride)
{
	uint64		bytes = 2 * lb_index_estimate(n, &sums->shape, stride) + MARGIN;

	if (sums->distinct)
		bytes += 2 * lb_index_estimate(2 * (uint64) n, &sums->lost.shape, 2);
	return bytes;
}

/* The most words of a member of such a key. */
static int
most_member_words(const LbSums *sums, int stride)
{
	return lb_shape_varies(&sums->shape) ? stride : sums->shape.member_words;
}

/* Words of room that "merged" needs for n more changes. */
static uint64
merged_room(const LbSums *sums, int n, int stride)
{
	return ((uint64) sums->merged.n + n) *
		lb_entry_words(Max(sums->merged.stride, stride));
}

bool
lb_sums_has_room(const LbSums *sums, int n, int stride)
{
	stride = Max(stride, sums->stride);
	return sums->arena.size - sums->arena.used >= room_for(sums, n, stride) &&
		sums->max_unchecked - sums->nunchecked >=
		n * most_member_words(sums, stride) &&
		sums->merged.room >= merged_room(sums, n, stride) &&
		(!sums->distinct || sums->max_scores - sums->nscores >= 2 * n);
}

/* Make room in "merged".  Returns false if there is no memory. */
static bool
reserve_merged(LbSums *sums, int n, int stride)
{
	LbChanges  *merged = &sums->merged;
	uint64		need = merged_room(sums, n, stride);
	int64	   *new;

	if (need <= merged->room)
		return true;
	need = Max(need, 2 * merged->room);
	new = alloc(sums->context, need * sizeof(int64));
	if (new == NULL)
		return false;
	if (merged->words != NULL)
	{
		memcpy(new, merged->words, (Size) merged->n *
			   lb_entry_words(merged->stride) * sizeof(int64));
		pfree(merged->words);
	}
	merged->words = new;
	merged->room = need;
	return true;
}

/* Make room in the arena.  Returns false if there is no memory. */
static bool
reserve_arena(LbSums *sums, int n, int stride)
{
	uint64		need = room_for(sums, n, stride);
	Size		size = sums->size;

	/* The state bytes of its chunks and its first page are not available. */
	while (size - size / 128 - 2 * LB_PAGE_SIZE < sums->arena.used + need)
		size *= 2;
	return size == sums->size || enlarge(sums, size);
}

bool
lb_sums_reserve(LbSums *sums, int n, int stride)
{
	stride = Max(stride, sums->stride);
	if (sums->broken || !reserve_arena(sums, n, stride))
		return false;
	if (sums->distinct && (uint64) sums->nscores > MAX_SCORES(sums))
		sums->distinct = false;
	return reserve_merged(sums, n, stride) &&
		lb_sums_lengthen(sums, &sums->unchecked, sums->nunchecked,
						 &sums->max_unchecked,
						 (int64) n * most_member_words(sums, stride)) &&
		(!sums->distinct ||
		 lb_sums_lengthen(sums, &sums->scores, sums->nscores, &sums->max_scores,
						  2 * (int64) n));
}


/* ----------------------------------------------------------------
 *		Surplus keys
 * ----------------------------------------------------------------
 */

static uint32
bucket_of(const LbSums *sums, const int64 *key)
{
	const int64 *member = lb_key_member(&sums->shape, key);

	return lb_hash_words(sums->arena.hash_seed, member,
						 lb_member_length(&sums->shape, member)) &
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
	Size		size = lb_key_words(&sums->shape, key) * sizeof(int64);
	int64	   *copy = alloc(sums->context, size);
	int			number;

	if (copy == NULL ||
		(sums->free_surplus < 0 && !lengthen_surplus(sums)))
		return false;
	memcpy(copy, key, size);
	number = sums->free_surplus;
	sums->free_surplus = sums->surplus[number].next;
	sums->nsurplus++;
	sums->surplus[number].key = copy;
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
	const LbShape *shape = &sums->shape;
	int		   *place;

	if (sums->nsurplus == 0)
		return false;
	for (place = &sums->buckets[bucket_of(sums, key)]; *place >= 0;
		 place = &sums->surplus[*place].next)
	{
		LbSurplus  *surplus = &sums->surplus[*place];
		int			number = *place;

		if (surplus->negative != negative ||
			(exact ? lb_key_cmp(shape, surplus->key, key) :
			 lb_member_cmp(shape, lb_key_member(shape, surplus->key),
						   lb_key_member(shape, key))) != 0)
			continue;
		memcpy(found, surplus->key,
			   lb_key_words(shape, surplus->key) * sizeof(int64));
		pfree(surplus->key);
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
	LbMem		mem = lb_sums_mem(sums);
	LbIndex    *same = negative ? &sums->removed : &sums->added;
	LbIndex    *opposite = negative ? &sums->added : &sums->removed;
	LbResult	result;
	int64		other[LB_MAX_KEY_WORDS];

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

/*
 * With counts: add n rows of a key, or take them away.  Returns false if there
 * is no memory.
 */
static bool
add_rows(LbSums *sums, const int64 *key, int64 n)
{
	LbMem		mem = lb_sums_mem(sums);
	LbIndex    *same = n < 0 ? &sums->removed : &sums->added;
	LbIndex    *opposite = n < 0 ? &sums->added : &sums->removed;
	int64		cancelled;

	n = n < 0 ? -n : n;
	cancelled = Min(n, lb_index_rows(&sums->arena, opposite, key));
	return (cancelled == 0 ||
			lb_index_add(&mem, opposite, key, -cancelled, NULL) == LB_OK) &&
		(cancelled == n ||
		 lb_index_add(&mem, same, key, n - cancelled, NULL) == LB_OK);
}

/* Add a change of one member, whose scores and place have been noted. */
static bool
add_keys(LbSums *sums, const int64 *less, const int64 *more, int64 rows)
{
	if (sums->shape.counts)
		return less != NULL ? add_rows(sums, less, -rows) :
			add_rows(sums, more, rows);
	return (less == NULL || add_key(sums, less, true)) &&
		(more == NULL || add_key(sums, more, false));
}

/* Remember that a member's sum has changed.  Needs room for it. */
static void
note_unchecked(LbSums *sums, const int64 *member)
{
	int			words = lb_member_length(&sums->shape, member);

	Assert(sums->nunchecked + words <= sums->max_unchecked);
	for (int i = 0; i < words; i++)
		sums->unchecked[sums->nunchecked++] = member[i];
}

bool
lb_sums_add(LbSums *sums, const int64 *less, const int64 *more, int64 rows)
{
	const LbShape *shape = &sums->shape;
	const int64 *member = lb_key_member(shape, less != NULL ? less : more);
	int			stride = sums->stride;

	lb_count_work(1);
	if (sums->broken)
		return false;

	/* A failure halfway must leave them broken. */
	sums->broken = true;
	if (!lb_sums_lengthen(sums, &sums->unchecked, sums->nunchecked,
						  &sums->max_unchecked, lb_member_length(shape, member)))
		return false;
	note_unchecked(sums, member);
	if (lb_shape_varies(shape))
	{
		if (less != NULL)
			stride = Max(stride, lb_key_words(shape, less));
		if (more != NULL)
			stride = Max(stride, lb_key_words(shape, more));
		sums->stride = stride;
	}
	if (sums->distinct)
	{
		if (!lb_sums_lengthen(sums, &sums->scores, sums->nscores, &sums->max_scores, 2))
			return false;
		if (less != NULL)
			sums->scores[sums->nscores++] = less[0];
		if (more != NULL)
			sums->scores[sums->nscores++] = more[0];
	}
	if (!add_keys(sums, less, more, rows))
		return false;
	sums->broken = false;
	return true;
}

/*
 * Build the index of the old keys of entries, or that of the new ones; keys
 * has room for them.  Returns false if there is no memory.
 */
static bool
load_keys(LbSums *sums, const LbEntries *entries, bool old, int64 *keys)
{
	LbMem		mem = lb_sums_mem(sums);
	LbIndex    *index = old ? &sums->removed : &sums->added;
	int			stride = entries->stride;
	int			more = sums->shape.counts ? 1 : 0;
	uint64		nkeys = 0;
	LbBulk		bulk;

	for (uint32 i = 0; i < entries->n; i++)
	{
		const int64 *entry = lb_entry_at(entries, i);
		const int64 *key = old ? lb_old_key(entry) : lb_new_key(entry, stride);

		CHECK_FOR_INTERRUPTS();
		if (key == NULL)
			continue;
		memcpy(keys + nkeys * (stride + more), key, stride * sizeof(int64));
		if (more > 0)
			keys[nkeys * (stride + more) + stride] = lb_entry_rows(entry);
		nkeys++;
	}
	if (nkeys == 0)
		return true;

	/* With counts, the entries are in the order of their keys. */
	if (more == 0)
		lb_sort_words(keys, nkeys, stride);
	if (lb_bulk_begin(&bulk, &mem, index, nkeys) != LB_OK)
		return false;
	bulk.poll = look_for_interrupts;
	for (uint64 i = 0; i < nkeys; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (lb_bulk_add(&bulk, keys + i * (stride + more)) != LB_OK)
			return false;
	}
	return lb_bulk_finish(&bulk) == LB_OK;
}

bool
lb_sums_load(LbSums *sums, LbChanges *changes)
{
	int			stride = changes->stride;
	int			n = changes->n;
	int64	   *words;
	int64	   *keys;
	LbEntries	entries;
	bool		ambiguous;
	bool		ok = true;

	Assert(sums->removed.members == 0 && sums->added.members == 0 &&
		   sums->nsurplus == 0);

	/* A failure halfway must leave them broken. */
	sums->broken = true;
	sums->nchecked = sums->nunchecked = 0;
	sums->distinct = false;
	words = alloc(sums->context, (Size) Max(n, 1) * lb_entry_words(stride) *
				  sizeof(int64));
	keys = alloc(sums->context, (Size) Max(n, 1) * (stride + 1) *
				 sizeof(int64));
	if (words == NULL || keys == NULL || !reserve_arena(sums, n, stride) ||
		!lb_sums_lengthen(sums, &sums->unchecked, 0, &sums->max_unchecked,
						  (int64) n * most_member_words(sums, stride)))
		return false;
	entries.n = lb_net_changes(changes, words, &ambiguous);
	entries.words = words;
	entries.stride = stride;
	if (ambiguous)
	{
		for (int i = 0; i < n && ok; i++)
		{
			const int64 *entry = lb_change_at(changes, i);

			/* An interrupt must leave them broken, too. */
			sums->broken = true;
			CHECK_FOR_INTERRUPTS();
			sums->broken = false;
			ok = lb_sums_add(sums, lb_old_key(entry),
							 lb_new_key(entry, stride), lb_entry_rows(entry));
		}
	}
	else if (load_keys(sums, &entries, true, keys) &&
			 load_keys(sums, &entries, false, keys))
	{
		for (uint32 i = 0; i < entries.n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			note_unchecked(sums, lb_entry_member(&sums->shape,
												 lb_entry_at(&entries, i),
												 stride));
		}
		sums->stride = Max(sums->stride, stride);
		sums->broken = false;
	}
	pfree(words);
	pfree(keys);
	return !sums->broken;
}

bool
lb_sums_lookup(const LbSums *sums, const int64 *member, int64 *key,
			   bool *there)
{
	int64		old[LB_MAX_KEY_WORDS];
	bool		adds = lb_index_lookup(&sums->arena, &sums->added, member, key,
									   NULL);

	if (!adds && !lb_index_lookup(&sums->arena, &sums->removed, member, old,
								  NULL))
		return false;
	*there = adds;
	return true;
}

/* Room for the members, or the keys, that are compared together. */
#define CHECK_WORDS (LB_PREFETCH_KEYS * LB_MAX_WIDTH)

/*
 * The next n unchecked members at most, as lookups->members; buf is memory for
 * them.  Returns how many words of "unchecked" they are.
 */
static int
next_unchecked(const LbSums *sums, int n, int64 *buf, LbLookups *lookups)
{
	const LbShape *shape = &sums->shape;
	const int64 *from = sums->unchecked + sums->nchecked;
	const int64 *end = sums->unchecked + sums->nunchecked;
	const int64 *at = from;

	lookups->nwords = lookups->key_stride = sums->stride;
	n = Min(n, Min(LB_PREFETCH_KEYS, CHECK_WORDS / sums->stride));
	if (!lb_shape_varies(shape))
	{
		lookups->members = from;
		lookups->member_stride = shape->member_words;
		lookups->n = Min(n, (int) (end - from) / shape->member_words);
		return lookups->n * shape->member_words;
	}
	lookups->members = buf;
	lookups->member_stride = sums->stride;
	lookups->n = 0;
	while (lookups->n < n && at < end)
	{
		int			words = lb_member_length(shape, at);

		memcpy(buf + lookups->n++ * sums->stride, at, words * sizeof(int64));
		at += words;
	}
	return (int) (at - from);
}

/*
 * Whether the sums take away what the index holds, for members that have been
 * looked up in both.
 */
static bool
members_fit(const LbSums *sums, const LbLookups *removed,
			const LbLookups *held)
{
	for (int i = 0; i < removed->n; i++)
	{
		bool		takes = removed->found[i];
		bool		holds = held->found[i];
		int64		added[LB_MAX_KEY_WORDS];

		if (holds && takes)
		{
			if (lb_key_cmp(&sums->shape, removed->keys + i * removed->key_stride,
						   held->keys + i * held->key_stride) != 0)
				return false;
		}
		else if (takes ||
				 (holds && lb_index_lookup(&sums->arena, &sums->added,
										   held->members +
										   i * held->member_stride,
										   added, NULL)))
			return false;
	}
	return true;
}

/* lb_sums_check() with counts. */
static bool
check_rows(LbSums *sums, const LbArena *arena, const LbIndex *index, int n)
{
	lb_count_work(n);
	for (; n > 0 && sums->nunchecked > 0; n--)
	{
		const int64 *key = sums->unchecked + sums->nchecked;
		int64		removed = lb_index_rows(&sums->arena, &sums->removed, key);

		if (removed > 0 &&
			(index == NULL || lb_index_rows(arena, index, key) < removed))
			return false;
		sums->nchecked += sums->shape.width;
		if (sums->nchecked == sums->nunchecked)
			sums->nchecked = sums->nunchecked = 0;
	}
	return true;
}

bool
lb_sums_check(LbSums *sums, const LbArena *arena, const LbIndex *index,
			  int n)
{
	if (sums->shape.counts)
		return check_rows(sums, arena, index, n);
	while (n > 0 && sums->nunchecked > 0)
	{
		int64		members[CHECK_WORDS];
		int64		removed_keys[CHECK_WORDS];
		int64		held_keys[CHECK_WORDS];
		bool		takes[LB_PREFETCH_KEYS];
		bool		holds[LB_PREFETCH_KEYS] = {false};
		LbCursor	places[LB_PREFETCH_KEYS];
		LbLookups	removed = {
			.keys = removed_keys,.found = takes,.places = places
		};
		LbLookups	held;
		int			words = next_unchecked(sums, n, members, &removed);

		lb_count_work(removed.n);

		/* Look-ups in a batch wait for memory together. */
		lb_index_lookup_many(&sums->arena, &sums->removed, &removed);
		held = removed;
		held.keys = held_keys;
		held.found = holds;
		if (index != NULL)
			lb_index_lookup_many(arena, index, &held);
		if (!members_fit(sums, &removed, &held))
			return false;
		n -= removed.n;
		sums->nchecked += words;
		if (sums->nchecked == sums->nunchecked)
			sums->nchecked = sums->nunchecked = 0;
	}
	return true;
}

bool
lb_sums_visit(LbSums *sums, const LbIndex *index,
			  bool (*visit) (LbSums *sums, const int64 *key))
{
	LbCursor	cursor;
	int64		key[LB_MAX_KEY_WORDS];
	bool		more = lb_index_seek_place(&sums->arena, index, 0, &cursor);

	while (more)
	{
		CHECK_FOR_INTERRUPTS();
		lb_cursor_key(&sums->arena, index, &cursor, key);
		if (!visit(sums, key))
			return false;
		more = lb_cursor_next(&sums->arena, index, &cursor);
	}
	return true;
}

static bool
uncheck_key(LbSums *sums, const int64 *key)
{
	const int64 *member = lb_key_member(&sums->shape, key);

	if (!lb_sums_lengthen(sums, &sums->unchecked, sums->nunchecked,
						  &sums->max_unchecked,
						  lb_member_length(&sums->shape, member)))
		return false;
	note_unchecked(sums, member);
	return true;
}

bool
lb_sums_check_all(LbSums *sums)
{
	sums->nchecked = sums->nunchecked = 0;
	if (!lb_sums_visit(sums, &sums->removed, uncheck_key) ||
		!lb_sums_visit(sums, &sums->added, uncheck_key))
		return false;
	sums->check_all = false;
	return true;
}
