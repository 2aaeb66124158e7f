/*-------------------------------------------------------------------------
 *
 * live.h
 *	  Live boards: the boards of a definition in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LIVE_H
#define LB_LIVE_H

#include "postgres.h"

#include "boards/encode.h"
#include "boards/keys.h"
#include "boards/shared.h"

static inline bool
lb_value_equal(const LbValue *a, const LbValue *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/*
 * Whether the table may have another value in a column of rank_by than the one
 * that a key's word stands for: -0 instead of 0.  Only the query knows then.
 * Needs the lock of the stripe that has the key.
 */
static inline bool
lb_is_unsure(const LbSharedBoard *shared, const LbColumn *column, int64 word)
{
	return unlikely(shared->negative_zero) &&
		lb_has_negative_zero(column) &&
		word == lb_directed(0, column->descending);
}

/*
 * Hash and stripe of a board's value.  Whoever writes rows chooses the values,
 * so the hash has the arena's seed: it is the same in all processes of a
 * server, and another one after the next start.
 */
extern uint32 lb_value_hash(const LbValue *value);
static inline int
lb_value_stripe(bool family, uint32 hash)
{
	return family ? hash >> 29 : 0;
}

StaticAssertDecl(LB_STRIPES == 8, "lb_value_stripe uses three bits");

/* The value of a live board, in shared memory.  Needs the stripe's lock. */
extern LbValue lb_live_board_value(const LbLiveBoard *board);

/*
 * The live board of a value in a stripe, or NULL.  Needs the stripe's lock.
 */
extern LbLiveBoard *lb_live_board_find(LbSharedBoard *shared, LbStripe *stripe,
									   uint32 hash, const LbValue *value,
									   LbRef *ref);

/*
 * The live board of a value, created if it does not exist.  NULL if memory is
 * used up.  Needs the stripe's exclusive lock.
 */
extern LbLiveBoard *lb_live_board_make(LbSharedBoard *shared, LbStripe *stripe,
									   uint32 hash, const LbValue *value,
									   LbRef *ref);

/*
 * A new board, which no stripe has yet.  LB_NONE if memory is used up.  Needs
 * no lock, but takes the arena's.
 */
extern LbRef lb_live_board_new(const LbMem *mem, const LbSharedBoard *shared,
							   uint32 hash, const LbValue *value);

/*
 * Free a board with its index and its queue.  It has no publications, and no
 * stripe has it any more.
 */
extern void lb_live_board_free(const LbMem *mem, LbRef ref);

static inline LbLiveBoard *
lb_live_board_at(LbRef ref)
{
	return (LbLiveBoard *) lb_ptr(&lb_shared->arena, ref);
}

static inline LbRef
lb_live_board_ref(const LbLiveBoard *board)
{
	return (LbRef) (((const char *) board - lb_shared->arena.base) /
					LB_CHUNK_SIZE);
}

/*
 * Call visit for every live board of a stripe, whose lock is held, until it
 * returns false.
 */
extern void lb_stripe_walk(LbStripe *stripe, bool family,
						   bool (*visit) (uint32 hash, LbRef ref, void *arg),
						   void *arg);

#endif							/* LB_LIVE_H */
