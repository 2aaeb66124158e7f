/*-------------------------------------------------------------------------
 *
 * core.h
 *	  What the index needs of its surroundings: types, assertions, one lock.
 *
 * arena.c, memberhash.c and skiplist.c include this file and nothing of the
 * executor, the transaction system or SPI, so that they also compile into a
 * stand-alone program (-DLB_STANDALONE) for unit tests, fuzzing, valgrind and
 * the sanitizers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CORE_H
#define LB_CORE_H

#ifdef LB_STANDALONE

#include <assert.h>
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

#define Assert(x) assert(x)
#define Min(x, y) ((x) < (y) ? (x) : (y))
#define Max(x, y) ((x) > (y) ? (x) : (y))
#define likely(x) __builtin_expect((x) != 0, 1)
#define unlikely(x) __builtin_expect((x) != 0, 0)
#define FLEXIBLE_ARRAY_MEMBER
#define UINT64CONST(x) UINT64_C(x)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define WORDS_BIGENDIAN 1
#endif
#define StaticAssertDecl(cond, msg) _Static_assert(cond, msg)
#define pg_attribute_always_inline __attribute__((always_inline)) inline
#ifndef pg_attribute_unused
#define pg_attribute_unused() __attribute__((unused))
#endif

/* A stand-alone program has one thread. */
typedef int LbLock;
#define lb_lock_init(lock, tranche) ((void) (*(lock) = 0))
#define lb_lock_acquire(lock) ((void) ++*(lock))
#define lb_lock_release(lock) ((void) --*(lock))

#else							/* !LB_STANDALONE */

#include "postgres.h"

#include "storage/lwlock.h"

typedef LWLock LbLock;
#define lb_lock_init(lock, tranche) LWLockInitialize(lock, tranche)
#define lb_lock_acquire(lock) ((void) LWLockAcquire(lock, LW_EXCLUSIVE))
#define lb_lock_release(lock) LWLockRelease(lock)

#endif							/* LB_STANDALONE */

#if defined(__GNUC__) || defined(__clang__)
#define lb_prefetch(addr) __builtin_prefetch(addr)
#define lb_prefetch_write(addr) __builtin_prefetch(addr, 1)
#else
#define lb_prefetch(addr) ((void) 0)
#define lb_prefetch_write(addr) ((void) 0)
#endif

/* The number of the lowest bit that is set in a word, which is not zero. */
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

/*
 * A key is a tuple of int64 words, mapped so that ascending order is rank
 * order.  The first word is the score, the last LbIndex.member_words words
 * are the member.
 */
#define LB_MAX_WIDTH 8

typedef enum LbResult
{
	LB_OK,
	LB_EXISTS,					/* the member is in the index already */
	LB_NOTFOUND,				/* no such entry */
	LB_NOMEM					/* arena or account used up; nothing changed */
} LbResult;

/* Compare the first n words of two keys. */
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

#endif							/* LB_CORE_H */
