/*-------------------------------------------------------------------------
 *
 * hashpage.c
 *	  A page of the member hash: a chain of chunks.
 *
 *-------------------------------------------------------------------------
 */
#include "index/hashpage.h"

LbRef
lb_hash_chunk_new(const LbMem *mem, uint64 *chunks, int order)
{
	LbRef		ref = lb_alloc(mem, order);

	if (ref != LB_NONE)
	{
		HashPage   *page = page_ptr(mem->arena, ref);

		memset(page, 0, (Size) LB_CHUNK_SIZE << order);
		page->order = (uint16) order;
		*chunks += (uint64) 1 << order;
	}
	return ref;
}

void
lb_hash_chunk_free(const LbMem *mem, uint64 *chunks, LbRef ref, int order)
{
	lb_free(mem, ref, order);
	*chunks -= (uint64) 1 << order;
}

static inline bool
chunk_full(const HashPage *page)
{
	return page->count == PAGE_SLOTS(page->order);
}

void
lb_hash_chunk_remove(HashPage *page, uint32 slot)
{
	uint32		nslots = PAGE_SLOTS(page->order);
	uint32		hole = slot;
	uint32		i = slot;

	for (;;)
	{
		uint32		home;

		if (++i == nslots)
			i = 0;
		if (i == slot || page->slots[i].ref == LB_NONE)
			break;
		home = home_slot(page->slots[i].hash, nslots);

		/* An entry may move to a hole between its home slot and itself. */
		if ((i >= home ? i - home : i + nslots - home) >=
			(i >= hole ? i - hole : i + nslots - hole))
		{
			page->slots[hole] = page->slots[i];
			hole = i;
		}
	}
	page->slots[hole].hash = 0;
	page->slots[hole].ref = LB_NONE;
	page->count--;
}

void
lb_hash_chain_free(const LbMem *mem, uint64 *chunks, LbRef ref)
{
	while (ref != LB_NONE)
	{
		HashPage   *page = page_ptr(mem->arena, ref);
		LbRef		next = page->overflow;

		lb_hash_chunk_free(mem, chunks, ref, page->order);
		ref = next;
	}
}

LbRef
lb_hash_chain_new(const LbMem *mem, uint64 *chunks, uint64 entries, bool only)
{
	LbRef		first = LB_NONE;
	LbRef		last = LB_NONE;

	do
	{
		int			order = LB_MAX_ORDER;
		LbRef		ref;

		if (first != LB_NONE || only)
		{
			order = 0;
			while (order < LB_MAX_ORDER && PAGE_SLOTS(order) < entries)
				order++;
		}
		ref = lb_hash_chunk_new(mem, chunks, order);
		if (ref == LB_NONE)
		{
			lb_hash_chain_free(mem, chunks, first);
			return LB_NONE;
		}
		if (first == LB_NONE)
			first = ref;
		else
			page_ptr(mem->arena, last)->overflow = ref;
		last = ref;
		entries -= Min(entries, PAGE_SLOTS(order));
	} while (entries > 0);
	return first;
}

/* Put an entry into a chain that has room. */
static inline void
chain_put(const LbArena *arena, LbRef ref, uint32 hash, LbRef value)
{
	HashPage   *page = page_ptr(arena, ref);

	while (chunk_full(page))
		page = page_ptr(arena, page->overflow);
	chunk_put(page, hash, value);
}

bool
lb_hash_chain_insert(const LbMem *mem, uint64 *chunks, LbRef *head, uint32 hash,
					 LbRef value)
{
	LbArena    *arena = mem->arena;
	HashPage   *page = page_ptr(arena, *head);
	LbRef		new;

	while (chunk_full(page))
	{
		if (page->order < LB_MAX_ORDER)
		{
			/* Move to a chunk of twice the size, the last of the chain. */
			HashPage   *bigger;
			LbRef		old = *head;
			uint32		i;

			Assert(page->overflow == LB_NONE);
			new = lb_hash_chunk_new(mem, chunks, page->order + 1);
			if (new == LB_NONE)
				return false;
			bigger = page_ptr(arena, new);
			for (i = 0; i < PAGE_SLOTS(page->order); i++)
				chunk_put(bigger, page->slots[i].hash, page->slots[i].ref);
			*head = new;
			lb_hash_chunk_free(mem, chunks, old, page->order);
			page = bigger;
			break;
		}
		if (page->overflow == LB_NONE)
		{
			new = lb_hash_chunk_new(mem, chunks, 0);
			if (new == LB_NONE)
				return false;
			page->overflow = new;
		}
		head = &page->overflow;
		page = page_ptr(arena, *head);
	}
	chunk_put(page, hash, value);
	return true;
}

void
lb_hash_chain_distribute(const LbArena *arena, LbRef from, LbRef low, LbRef high,
						 uint32 pages, uint32 high_page)
{
	while (from != LB_NONE)
	{
		const HashPage *page = page_ptr(arena, from);
		uint32		nslots = PAGE_SLOTS(page->order);
		uint32		i;

		for (i = 0; i < nslots; i++)
		{
			const HashSlot *slot = &page->slots[i];

			if (slot->ref == LB_NONE)
				continue;
			if (high != LB_NONE && slot->hash % pages == high_page)
				chain_put(arena, high, slot->hash, slot->ref);
			else
				chain_put(arena, low, slot->hash, slot->ref);
		}
		from = page->overflow;
	}
}

uint64
lb_hash_chain_count(const LbArena *arena, LbRef ref)
{
	uint64		count = 0;

	while (ref != LB_NONE)
	{
		const HashPage *page = page_ptr(arena, ref);

		count += page->count;
		ref = page->overflow;
	}
	return count;
}
