/*-------------------------------------------------------------------------
 *
 * memberhash_internal.h
 *	  Where the pages of a hash are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEMBERHASH_INTERNAL_H
#define LB_MEMBERHASH_INTERNAL_H

#include "index/memberhash.h"

/* References in a page of the directory. */
#define DIR_BITS 9
#define DIR_FANOUT ((uint32) 1 << DIR_BITS)

StaticAssertDecl(LB_PAGE_SIZE / sizeof(LbRef) == (1 << DIR_BITS),
				 "a directory page is a page");

/* How many pages a table has. */
static inline uint32
table_pages(const LbHash *table)
{
	return (table->base << table->level) + table->split;
}

/* The page where a hash belongs. */
static inline uint32
page_of(const LbHash *table, uint32 hash)
{
	uint32		pages = table->base << table->level;
	uint32		number = hash % pages;

	if (number < table->split)
		number = hash % (pages * 2);
	return number;
}

/* How many pages a directory of this depth can have. */
static inline uint64
dir_capacity(uint32 depth)
{
	return (uint64) 1 << (DIR_BITS * depth);
}

#endif							/* LB_MEMBERHASH_INTERNAL_H */
