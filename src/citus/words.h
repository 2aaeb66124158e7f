/*-------------------------------------------------------------------------
 *
 * words.h
 *	  What servers ask the boards of shards, and what these answer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WORDS_H
#define LB_WORDS_H

#include "boards/definition.h"

/*
 * Arguments of lb_shard_ask(): the board's name without the shard's number;
 * what follows it, nothing or a colon and the value of a family's board;
 * lb_keys_hash().  Then a row of places and the table that it is in: the
 * number of the shard, that of the shard of places, tableoid.  Then what
 * shards each server has: how many, and their numbers, for one server after
 * the other.  The function answers for those in whose list the row's shard is
 * the first, or if there are no lists, for that shard alone.  Behind these the
 * question, words in a bytea.
 */
#define LB_SHARD_PARAMS 3
#define LB_SHARD_ARGS (LB_SHARD_PARAMS + 4)

/* The first word of a question. */
enum
{
	LB_ASK_COUNTS,				/* how many entries come before each key */
	LB_ASK_KEYS,				/* the keys of those members that are there */
	LB_ASK_PAGE					/* entries, as LbSection has them */
};

/*
 * A hash of what the words of keys depend on: the same on all servers whose
 * boards have the same columns in the same order, whatever their byte order.
 * The definition is resolved.
 */
extern int32 lb_keys_hash(const LbDefinition *defn);

/* The most entries of a page. */
#define LB_MAX_SHARD_ROWS 100000

/* Words, as they travel in a bytea. */
typedef struct LbWords
{
	int			n;
	const int64 *words;
} LbWords;

/*
 * The answer to LB_ASK_PAGE for each shard: these, and then for each entry its
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

/*
 * In LB_ASK_COUNTS, before the words of each key: how many they are, and
 * whether an entry with that key counts as well (0 or 1).
 */
enum
{
	LB_KEY_NWORDS,
	LB_KEY_INCLUSIVE,
	LB_KEY_HEADER
};

/*
 * In LB_ASK_PAGE, before the words of its two keys.  The length of the first
 * key is among them.
 */
enum
{
	LB_PAGE_BACK,
	LB_PAGE_N,
	LB_PAGE_EVEN,
	LB_PAGE_FROM_WORDS,
	LB_PAGE_HEADER
};

/* So many words as a bytea, palloc'd. */
extern Datum lb_words_datum(const int64 *words, int n);

/* The words in a bytea, palloc'd.  Raises 22023 if it has a part of one. */
extern LbWords lb_datum_words(Datum datum);

#endif							/* LB_WORDS_H */
