/*-------------------------------------------------------------------------
 *
 * memberhash_check.c
 *	  Checking the invariants of a hash.
 *
 *-------------------------------------------------------------------------
 */
#include "index/hashpage.h"
#include "index/memberhash_internal.h"

/* The state of a check. */
typedef struct HashCheck
{
	const LbArena *arena;
	const LbHash *table;
	uint64		entries;		/* so far */
	uint64		chunks;
} HashCheck;

/* Check the chain of one page. */
static const char *
check_chain(HashCheck *check, uint32 number, LbRef ref)
{
	const LbArena *arena = check->arena;
	const LbHash *table = check->table;
	bool		first = true;

	do
	{
		const HashPage *page;
		uint32		nslots;
		uint32		used = 0;
		uint32		i;

		if (ref == LB_NONE || ref >= arena->nchunks)
			return "hash: a page is missing";
		page = page_ptr(arena, ref);
		if (page->order > LB_MAX_ORDER ||
			!lb_arena_owns(arena, ref, page->order))
			return "hash: a page is not the table's";
		if (first && page->order < LB_MAX_ORDER && table_pages(table) > 1)
			return "hash: a page is too small";
		check->chunks += (uint64) 1 << page->order;
		if (check->chunks > table->chunks)
			return "hash: more memory than accounted for";
		nslots = PAGE_SLOTS(page->order);
		for (i = 0; i < nslots; i++)
		{
			uint32		hash = page->slots[i].hash;
			uint32		j;

			if (page->slots[i].ref == LB_NONE)
				continue;
			used++;
			if (page_of(table, hash) != number)
				return "hash: an entry is in the wrong page";
			for (j = home_slot(hash, nslots); j != i;
				 j = (j + 1 == nslots ? 0 : j + 1))
			{
				if (page->slots[j].ref == LB_NONE)
					return "hash: an entry is cut off from its home slot";
			}
		}
		if (used != page->count)
			return "hash: wrong number of entries in a page";
		if (page->overflow != LB_NONE && used < nslots)
			return "hash: a page overflows but is not full";
		if (!first && used == 0)
			return "hash: an overflow page is empty";
		check->entries += used;
		ref = page->overflow;
		first = false;
	} while (ref != LB_NONE);
	return NULL;
}

/* Check a directory page, or a page's chain if depth is 0. */
static const char *
check_dir(HashCheck *check, LbRef ref, uint32 depth, uint32 number)
{
	const LbRef *children;
	uint64		step;
	uint32		i;

	if (depth == 0)
		return check_chain(check, number, ref);

	if (!lb_arena_owns(check->arena, ref, LB_MAX_ORDER))
		return "hash: a directory page is missing";
	check->chunks += (uint64) 1 << LB_MAX_ORDER;
	children = (const LbRef *) lb_ptr(check->arena, ref);
	step = dir_capacity(depth - 1);
	for (i = 0; i < DIR_FANOUT; i++)
	{
		uint64		at = number + i * step;
		const char *problem;

		if (at >= table_pages(check->table))
		{
			if (children[i] != LB_NONE)
				return "hash: the directory names too many pages";
			continue;
		}
		problem = check_dir(check, children[i], depth - 1, (uint32) at);
		if (problem != NULL)
			return problem;
	}
	return NULL;
}

const char *
lb_hash_check(const LbArena *arena, const LbHash *table)
{
	HashCheck	check = {arena, table, 0, 0};
	const char *problem;

	if (table->root == LB_NONE)
	{
		if (table->entries != 0 || table->chunks != 0)
			return "hash: entries without memory";
		return NULL;
	}
	if (table->base == 0 || table->level > 31 ||
		((uint64) table->base << table->level) > UINT32_MAX / 2 ||
		table->split >= table->base << table->level)
		return "hash: impossible number of pages";
	if (table->depth > 4 || table_pages(table) > dir_capacity(table->depth) ||
		(table->depth > 0 &&
		 table_pages(table) <= dir_capacity(table->depth - 1)))
		return "hash: wrong depth of the directory";

	problem = check_dir(&check, table->root, table->depth, 0);
	if (problem != NULL)
		return problem;
	if (check.entries != table->entries)
		return "hash: wrong number of entries";
	if (check.entries == 0)
		return "hash: memory without entries";
	if (check.chunks != table->chunks)
		return "hash: wrong sum of memory";
	return NULL;
}
