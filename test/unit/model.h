/*-------------------------------------------------------------------------
 *
 * model.h
 *	  A model of the skip list, and random operations on both.
 *
 * The model is the key of each member that is there, and an array of the
 * members in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MODEL_H
#define LB_MODEL_H

#include "index/skiplist.h"

/* Make an empty index whose keys have a fixed width. */
static inline void
init_fixed(LbIndex *index, int width, int member_words)
{
	LbShape		shape = lb_fixed_shape(width, member_words);

	lb_index_init(index, &shape);
}
#include "test.h"

/* The finalizer that lb_hash_words chains, backwards. */
extern uint64 unmix(uint64 h);

/* The nth word with this hash. */
extern int64 word_of_hash(uint64 hash_seed, uint32 hash, uint32 n);

typedef enum Scores
{
	SCORES_RANDOM,				/* below score_range */
	SCORES_EXTREME,				/* at the ends of what int64 can be */
	SCORES_ASCENDING,
	SCORES_DESCENDING
} Scores;

/* The longest text, in bytes. */
#define MAX_TEXT 512

/* What the texts of keys are like. */
typedef enum Texts
{
	TEXTS_NONE,					/* keys have none */
	TEXTS_SHORT,				/* as short as can be */
	TEXTS_MIXED,				/* of any length, up to the longest */
	TEXTS_PREFIX,				/* the longest, with a common beginning */
	TEXTS_EIGHTS,				/* around multiples of eight bytes */
	TEXTS_ONE_BYTE				/* of 40 bytes, each with another one in one
								 * place */
} Texts;

typedef struct Model
{
	World		world;
	LbIndex		index;
	LbIndex		before;			/* as it was some time ago */
	int			width;
	int			member_words;
	int			stride;			/* words from key to key */
	Texts		texts;
	int			max_text;		/* bytes of the longest text */
	Scores		scores;
	int64		score_range;
	int64		counter;
	int			universe;		/* members that can be there */
	int			n;				/* members that are */
	int64	   *keys;			/* by member, stride words each */
	bool	   *there;			/* by member */
	int		   *order;			/* members in order of key */
} Model;

/* This many members of a model share each hash; 0 leaves hashes to chance. */
extern int	same_hash;

/*
 * Open a model of an empty index, with members 0 .. universe - 1.  Scores are
 * numbers below score_range, or, if they ascend or descend, score_range members
 * in a row have the same.
 */
extern bool model_open(Model *model, int width, int member_words,
					   int universe, Scores scores, int64 score_range);

/* The same for keys of any shape. */
extern bool model_open_texts(Model *model, const LbShape *shape, Texts texts,
							 int universe, Scores scores, int64 score_range);

/* Free the index and the model.  Fails if memory is left in the arena. */
extern bool model_close(Model *model);

/*
 * A hint for the path to a key: none, the path itself, the path in the index of
 * some time ago, or anything.  before is that index, and now and then becomes
 * the index as it is.  The path is the caller's room for the hint.
 */
extern const LbPath *make_hint(const LbArena *arena, const LbIndex *index,
							   LbIndex *before, const int64 *key,
							   LbPath *path);

/* The key of a member, which it has or last had. */
extern int64 *model_key(const Model *model, int member);

/* Make a random key that a member could have. */
extern void make_key(Model *model, int member, int64 *key);

/* A number at an end of what int64 can be, or near 0. */
extern int64 extreme(void);

/* Insert a member with its key, or remove it, in the model only. */
extern void model_insert(Model *model, int member);
extern void model_remove(Model *model, int member);

/* Compare the whole index with the model. */
extern bool compare_index(const Model *model);

/* Compare the answers to one random question. */
extern bool ask(Model *model);

/*
 * Insert a member with a new key, or replace its key, in both.  starve limits
 * the memory, so that some tries fail and must change nothing.
 */
extern bool insert(Model *model, int member, bool starve);
extern bool replace(Model *model, int member, bool starve);

/*
 * Random changes and questions: the index grows, shrinks and grows again.
 * Every check_every steps all of it is compared.
 */
extern bool exercise(Model *model, int steps, int check_every, bool starve);

/* Remove all members in random order. */
extern bool empty_again(Model *model);

/* Both, and some changes more.  Closes the model. */
extern bool exercise_all(Model *model, int steps, int check_every,
						 bool starve);

/*
 * Build the index of a model, which is empty, from its members in order.  If that
 * fails the index is empty again.
 */
extern LbResult bulk_build(Model *model, uint64 expected);

/*
 * The check of a whole index finds what damages it: a place in it that gets
 * another value, and then its own again.  The caller has arena and index.
 */
#define DAMAGE(place, value) \
	do { \
		int64		saved_ = (int64) (place); \
		REQUIRE_NULL(lb_index_check(arena, index)); \
		(place) = (value); \
		REQUIRE(lb_index_check(arena, index) != NULL); \
		(place) = saved_; \
		REQUIRE_NULL(lb_index_check(arena, index)); \
	} while (0)

/* The check survives damage to any bit of the arena: try n bits. */
extern void flip_bits(const LbArena *arena, const LbIndex *index, int n);

/*--------------------------------------------------------------------------
 * texts.c
 *--------------------------------------------------------------------------
 */

/*
 * Write the words of a text; column is LB_TEXT or LB_TEXT_DOWN.  Returns how many
 * there are.
 */
extern int	encode_text(const uint8 *chars, int length, uint8 column,
						int64 *words);

/*
 * Make a text of at most max bytes.  That of a member is always the same, and no
 * other member has it.  Returns the length in bytes.
 */
extern int	member_text(Texts texts, int max, int member, uint8 *chars);
extern int	tie_text(Texts texts, int max, uint8 *chars);

#endif							/* LB_MODEL_H */
