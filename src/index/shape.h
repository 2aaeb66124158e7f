/*-------------------------------------------------------------------------
 *
 * shape.h
 *	  The shape of a board's keys: how many words their columns take.
 *
 * A key is a sequence of int64 words: those of the rank_by columns in their
 * order, then those of the member's columns.  Every column is mapped so that
 * ascending order is rank order.  The first word is the score.
 *
 * Most types take the same number of words for every value.  The words of a
 * text follow its length: they are its bytes, eight to a word, the first one
 * highest, and zeros behind the last.  The sign bit of each word is flipped,
 * so that comparing words as signed integers compares bytes.  No text has a
 * zero byte.  So the last word of a text is the first one whose lowest byte is
 * zero; a text whose length is a multiple of eight ends with a word of zeros.
 * The words of a descending column are complemented.
 *
 * So no key is the beginning of another one of the same shape.  Comparing two
 * keys word by word ends at a difference that is within both, or at the end of
 * both.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SHAPE_H
#define LB_SHAPE_H

#include "index/core.h"

/*
 * The most words of a key that a block holds, and so of a key whose columns
 * all take a fixed number of words.
 */
#define LB_MAX_WIDTH 16

/* The most words of any key, 1016 bytes. */
#define LB_MAX_KEY_WORDS 127

/* The most columns of a key. */
#define LB_MAX_KEY_COLUMNS 11

/* Instead of a number of words: a text, ascending or descending. */
#define LB_TEXT 254
#define LB_TEXT_DOWN 255

/* How many words of each text of a key a block holds. */
#define LB_INLINE_TEXT_WORDS 3

/*
 * Without texts, a key has width words, the last member_words of them the
 * member's, and ncolumns is 0.
 *
 * With texts, columns[] has the words of each column.  width is what a block
 * holds of a key: its first width - 1 words (zeros behind a shorter key), and
 * a word that leads to the rest.
 *
 * With counts, an index keeps how many rows have a key, and not which rows.
 * The key has the columns of rank_by only, none of them a text.  Wherever
 * changes are summed up per member, the whole key takes the member's place.
 * In a block, one more word behind the key is the number of rows.
 */
typedef struct LbShape
{
	uint8		width;
	uint8		member_words;	/* 0 with texts; with counts, all of them */
	uint8		ncolumns;
	uint8		nrank;			/* of the columns: those of rank_by */
	bool		counts;
	uint8		columns[LB_MAX_KEY_COLUMNS];
} LbShape;

StaticAssertDecl(sizeof(LbShape) == 16, "it is a part of each board's memory");

/* The shape of columns, the first nrank of them those of rank_by. */
extern LbShape lb_make_shape(const uint8 *columns, int nrank, int ncolumns);

/*
 * The shape of an index that counts rows, whose keys have width words, less
 * than LB_MAX_WIDTH.
 */
static inline LbShape
lb_counts_shape(int width)
{
	LbShape		shape = {.width = (uint8) width,.member_words = (uint8) width,.counts = true};

	Assert(width >= 1 && width < LB_MAX_WIDTH);
	return shape;
}

/* The shape of keys of fixed width. */
static inline LbShape
lb_fixed_shape(int width, int member_words)
{
	LbShape		shape = {.width = (uint8) width,.member_words = (uint8) member_words};

	Assert(width >= 2 && width <= LB_MAX_WIDTH);
	Assert(member_words >= 1 && member_words <= width);
	return shape;
}

/* Whether keys have texts, and so no fixed number of words. */
static inline bool
lb_shape_varies(const LbShape *shape)
{
	return shape->ncolumns != 0;
}

/*
 * With texts: the words of columns first .. last - 1 of a key, whose words of
 * column first begin at words.
 */
extern int	lb_count_words(const LbShape *shape, int first, int last,
						   const int64 *words);

/*
 * Whether nwords words that come from elsewhere have the form of one whole
 * key, or member.
 */
extern bool lb_is_key(const LbShape *shape, const int64 *words, int nwords);
extern bool lb_is_member(const LbShape *shape, const int64 *words, int nwords);

/* How many words a key has. */
static inline int
lb_key_words(const LbShape *shape, const int64 *key)
{
	return lb_shape_varies(shape) ?
		lb_count_words(shape, 0, shape->ncolumns, key) : shape->width;
}

/* How many words a member has. */
static inline int
lb_member_length(const LbShape *shape, const int64 *member)
{
	return lb_shape_varies(shape) ?
		lb_count_words(shape, shape->nrank, shape->ncolumns, member) :
		shape->member_words;
}

/* The member of a key. */
static inline const int64 *
lb_key_member(const LbShape *shape, const int64 *key)
{
	return key + (lb_shape_varies(shape) ?
				  lb_count_words(shape, 0, shape->nrank, key) :
				  shape->width - shape->member_words);
}

/* Compare two keys, or two members: below 0, 0, or above 0. */
static inline int
lb_key_cmp(const LbShape *shape, const int64 *a, const int64 *b)
{
	return lb_words_cmp(a, b, lb_key_words(shape, a));
}

static inline int
lb_member_cmp(const LbShape *shape, const int64 *a, const int64 *b)
{
	return lb_words_cmp(a, b, lb_member_length(shape, a));
}

#endif							/* LB_SHAPE_H */
