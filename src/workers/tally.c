/*-------------------------------------------------------------------------
 *
 * tally.c
 *	  Rows counted by their keys.
 *
 * A board that keeps counts has few keys for many rows.  A hash table with
 * linear probing counts them: a slot is the words of a tuple and the number of
 * its rows, 0 for a slot that is free.  When the table has used up its memory,
 * it gives its tuples away and begins anew.  Their reader adds up equal ones.
 *
 * With a million keys each row is a cache miss.  So tuples are gathered, and
 * their slots prefetched, before they are counted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "boards/shared.h"
#include "index/core.h"
#include "index/memberhash.h"
#include "util/sort.h"
#include "workers/tally.h"

/* Slots of a new table. */
#define FIRST_SLOTS 1024

/* Tuples that are gathered before they are counted. */
#define GATHERED 32

struct LbTally
{
	LbTakeTuple take;
	void	   *arg;
	int			nwords;			/* of a tuple */
	uint64		max_slots;
	uint64		nslots;			/* a power of two */
	uint64		n;				/* in use */
	int64	   *slots;
	int			ngathered;
	uint64		places[GATHERED];	/* where the search for each begins */
	int64		gathered[GATHERED * LB_SORT_MAX_WORDS];
};

static inline int64 *
slot_at(const LbTally *t, uint64 i)
{
	return t->slots + i * (t->nwords + 1);
}

static inline uint64
first_slot(const LbTally *t, const int64 *tuple)
{
	return lb_hash_words(lb_shared->arena.hash_seed, tuple, t->nwords) &
		(t->nslots - 1);
}

/* The slot of a tuple, from place i on, or the free one where it belongs. */
static inline int64 *
find_slot(const LbTally *t, const int64 *tuple, uint64 i)
{
	for (;; i = (i + 1) & (t->nslots - 1))
	{
		int64	   *slot = slot_at(t, i);

		if (slot[t->nwords] == 0 || lb_words_cmp(slot, tuple, t->nwords) == 0)
			return slot;
	}
}

static Size
slots_size(const LbTally *t, uint64 nslots)
{
	return nslots * (t->nwords + 1) * sizeof(int64);
}

LbTally *
lb_tally_begin(int nwords, Size memory, LbTakeTuple take, void *arg)
{
	LbTally    *t = palloc0(sizeof(LbTally));

	Assert(nwords < LB_SORT_MAX_WORDS);
	t->take = take;
	t->arg = arg;
	t->nwords = nwords;
	t->nslots = FIRST_SLOTS;
	t->max_slots = FIRST_SLOTS;

	/* While a table grows, the old one is there, too. */
	while (slots_size(t, t->max_slots * 2) + slots_size(t, t->max_slots) <= memory)
		t->max_slots *= 2;
	t->slots = palloc0(slots_size(t, t->nslots));
	return t;
}

/* Give all tuples away. */
static void
flush(LbTally *t)
{
	for (uint64 i = 0; i < t->nslots; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (slot_at(t, i)[t->nwords] > 0)
			t->take(t->arg, slot_at(t, i));
	}
	memset(t->slots, 0, slots_size(t, t->nslots));
	t->n = 0;
}

/* Make the table twice as large. */
static void
grow(LbTally *t)
{
	int64	   *old = t->slots;
	uint64		nold = t->nslots;
	Size		size = (t->nwords + 1) * sizeof(int64);

	t->slots = MemoryContextAllocExtended(CurrentMemoryContext,
										  slots_size(t, nold * 2),
										  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	t->nslots = nold * 2;
	for (uint64 i = 0; i < nold; i++)
	{
		const int64 *tuple = old + i * (t->nwords + 1);

		CHECK_FOR_INTERRUPTS();
		if (tuple[t->nwords] > 0)
			memcpy(find_slot(t, tuple, first_slot(t, tuple)), tuple, size);
	}
	pfree(old);
}

/* Count the tuples that are gathered. */
static void
count_gathered(LbTally *t)
{
	/* At most three quarters of the slots are in use. */
	if ((t->n + GATHERED) * 4 > t->nslots * 3)
	{
		if (t->nslots < t->max_slots)
			grow(t);
		else
			flush(t);
		for (int i = 0; i < t->ngathered; i++)
			t->places[i] = first_slot(t, t->gathered + i * t->nwords);
	}
	for (int i = 0; i < t->ngathered; i++)
	{
		const int64 *tuple = t->gathered + i * t->nwords;
		int64	   *slot = find_slot(t, tuple, t->places[i]);

		if (slot[t->nwords]++ > 0)
			continue;
		t->n++;
		for (int w = 0; w < t->nwords; w++)
			slot[w] = tuple[w];
	}
	t->ngathered = 0;
}

void
lb_tally_add(LbTally *t, const int64 *tuple)
{
	int64	   *gathered = t->gathered + t->ngathered * t->nwords;
	uint64		place;

	for (int w = 0; w < t->nwords; w++)
		gathered[w] = tuple[w];
	place = first_slot(t, tuple);
	lb_prefetch_write(slot_at(t, place));
	t->places[t->ngathered++] = place;
	if (t->ngathered == GATHERED)
		count_gathered(t);
}

void
lb_tally_end(LbTally *t)
{
	count_gathered(t);
	flush(t);
	pfree(t->slots);
	pfree(t);
}
