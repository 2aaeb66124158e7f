/*-------------------------------------------------------------------------
 *
 * core.h
 *	  Types, assertions and small helpers of the index.
 *
 * The files of this folder include no header of PostgreSQL: the server and the
 * unit tests compile the same source.  A file of the server includes
 * postgres.h before the headers of this folder, and has the types from there.
 *
 * USE_ASSERT_CHECKING makes assertions real, as in PostgreSQL; the Makefile
 * sets it if the server was configured with --enable-cassert.  An assertion
 * that fails ends the process with SIGABRT.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CORE_H
#define LB_CORE_H

#ifndef POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int64_t int64;
typedef int32_t int32;
typedef int16_t int16;
typedef uint64_t uint64;
typedef uint32_t uint32;
typedef uint16_t uint16;
typedef uint8_t uint8;
typedef size_t Size;

#ifdef USE_ASSERT_CHECKING
#include <assert.h>
#define Assert(cond) assert(cond)
#else
#define Assert(cond) ((void) 0)
#endif

#define Min(x, y) ((x) < (y) ? (x) : (y))
#define Max(x, y) ((x) > (y) ? (x) : (y))
#define FLEXIBLE_ARRAY_MEMBER
#define UINT64CONST(x) UINT64_C(x)
#define StaticAssertDecl(cond, msg) _Static_assert(cond, msg)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define WORDS_BIGENDIAN 1
#endif

#if defined(__GNUC__) || defined(__clang__)
#define pg_attribute_always_inline __attribute__((always_inline)) inline
#define pg_attribute_unused() __attribute__((unused))
#define pg_noinline __attribute__((noinline))
#define unlikely(x) __builtin_expect((x) != 0, 0)
#else
#define pg_attribute_always_inline inline
#define pg_attribute_unused()
#define pg_noinline
#define unlikely(x) ((x) != 0)
#endif

#endif							/* POSTGRES_H */

#if defined(__GNUC__) || defined(__clang__)
#define lb_prefetch(addr) __builtin_prefetch(addr)
#define lb_prefetch_write(addr) __builtin_prefetch(addr, 1)
#else
#define lb_prefetch(addr) ((void) 0)
#define lb_prefetch_write(addr) ((void) 0)
#endif

/* The number of the lowest bit that is set in a word other than zero. */
static inline int
lb_lowest_bit(uint64 word)
{
#if defined(__GNUC__) || defined(__clang__)
	return __builtin_ctzll(word);
#else
	int			n = 0;

	for (; (word & 1) == 0; word >>= 1)
		n++;
	return n;
#endif
}

typedef enum LbResult
{
	LB_OK,
	LB_EXISTS,					/* the member is in the index already */
	LB_NOTFOUND,				/* no such entry */
	LB_NOMEM					/* a limit on memory was reached */
} LbResult;

/* Compare n words: below 0, 0, or above 0. */
static inline int
lb_words_cmp(const int64 *a, const int64 *b, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/*
 * Binary search: the first of n elements, which are in order, that is not
 * before a place; n if all are.  before(i, arg) tells whether element i is
 * before it.  Inlined together with before.
 */
static pg_attribute_always_inline uint64
lb_lower_bound(uint64 n, bool (*before) (uint64 i, const void *arg),
			   const void *arg)
{
	uint64		lo = 0;
	uint64		hi = n;

	while (lo < hi)
	{
		uint64		mid = lo + (hi - lo) / 2;

		if (before(mid, arg))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* What lb_keys_before looks for. */
typedef struct LbKeysBound
{
	const int64 *keys;
	int			stride;
	const int64 *prefix;
	int			nwords;
	bool		inclusive;
} LbKeysBound;

static inline bool
lb_key_is_before(uint64 i, const void *arg)
{
	const LbKeysBound *bound = (const LbKeysBound *) arg;

	return lb_words_cmp(bound->keys + i * bound->stride, bound->prefix,
						bound->nwords) < (bound->inclusive ? 1 : 0);
}

/*
 * How many of n keys in order come before prefix, which has nwords words; if
 * inclusive, also those that begin with it.  Keys are stride words apart.
 */
static inline int
lb_keys_before(const int64 *keys, int n, int stride, const int64 *prefix,
			   int nwords, bool inclusive)
{
	LbKeysBound bound = {keys, stride, prefix, nwords, inclusive};

	return (int) lb_lower_bound((uint64) n, lb_key_is_before, &bound);
}

#endif							/* LB_CORE_H */
