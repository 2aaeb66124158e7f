/*-------------------------------------------------------------------------
 *
 * test.h
 *	  What the unit tests share: a small arena, random numbers, checks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TEST_H
#define LB_TEST_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "index/arena.h"

/* Fail the test that this is in, a function that returns bool. */
#define REQUIRE(cond) \
	do { \
		if (!(cond)) \
		{ \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return false; \
		} \
	} while (0)

/* The same for a check that returns a string, or NULL. */
#define REQUIRE_NULL(call) \
	do { \
		const char *problem_ = (call); \
		if (problem_ != NULL) \
		{ \
			printf("%s:%d: %s\n", __FILE__, __LINE__, problem_); \
			return false; \
		} \
	} while (0)

/* Operations on the structures so far, for the summary. */
extern uint64 operations;

/* Whether each test does a part of its random steps only. */
extern bool short_run;

/* The state of the random numbers. */
extern uint64 rng;

/* A lock that a single thread takes, once at a time. */
struct LbLock
{
	bool		held;
};

/* An arena and one account. */
typedef struct World
{
	LbArena		arena;
	LbLock		lock;
	LbAccount	account;
	LbMem		mem;
	void	   *region;
} World;


/* Report the result of one test, which has a name. */
extern void report(const char *name, bool ok);

extern uint64 next_random(void);
extern uint32 random_below(uint32 n);

/* Memory of zeros. */
extern void *allocate(Size size);

/* Open a world whose arena has this many pages to hand out. */
extern bool world_open(World *world, uint64 pages);

/*
 * Free a world.  Fails if anything is left in the arena, or if pages were not
 * merged again.
 */
extern bool world_close(World *world);

/* Let the account take this many more chunks and no more. */
extern void world_limit(World *world, uint32 chunks);

/* Run all tests of a structure. */
extern void run_arena_tests(void);
extern void run_counts_tests(void);
extern void run_feed_tests(void);
extern void run_hash_tests(void);
extern void run_list_tests(void);
extern void run_text_tests(void);

#endif							/* LB_TEST_H */
