/*-------------------------------------------------------------------------
 *
 * section.h
 *	  Sections of a board, and how a shard's server sends them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SECTION_H
#define LB_SECTION_H

#include "utils/array.h"

#include "boards/definition.h"

/*
 * Consecutive entries of a board, or entries at even distances, and their keys: those
 * from a key on, and before another one.  A key is none (0 words), the word of a score,
 * or a whole key.
 */
typedef struct LbSection
{
	const int64 *from;
	int			from_words;
	const int64 *upto;			/* none: the end */
	int			upto_words;
	int64		back;			/* begin so many entries before from */
	int64		n;				/* the most entries to read */
	bool		even;			/* if there are more, leave out some
								 * everywhere */

	/* Set by the read: entries before these, and better scores than from's. */
	int64		before;
	int64		before_upto;
	int64		better;
} LbSection;

/*
 * A hash of what the words of keys depend on: the same on all servers whose boards
 * have the same columns in the same order.  The definition is resolved.
 */
extern int32 lb_keys_hash(const LbDefinition *defn);

/* The most entries that lb_shard_page() returns. */
#define LB_MAX_SHARD_ROWS 100000

/*
 * What lb_shard_page() returns, an array of bigint: these, and then for each entry its
 * place in the shard, counted from 1, and the words of its key.
 */
enum
{
	LB_SHARD_BEFORE,			/* entries before the first key, and */
	LB_SHARD_UPTO,				/* before the second */
	LB_SHARD_BETTER,			/* those with a better score than the first */
	LB_SHARD_ROWS,				/* how many entries follow */
	LB_SHARD_HEADER
};

/* The elements of an array of bigint without nulls. */
static inline int64 *
lb_bigint_elements(ArrayType *array)
{
	return (int64 *) ((char *) array + ARR_OVERHEAD_NONULLS(ARR_NDIM(array)));
}

#endif							/* LB_SECTION_H */
