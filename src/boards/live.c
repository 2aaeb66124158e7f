/*-------------------------------------------------------------------------
 *
 * live.c
 *	  Live boards: the boards of a definition in shared memory.
 *
 * A definition holds its boards in stripes.  A plain definition has one board,
 * in stripe 0.  The boards of a family are found by a hash of their value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/live.h"
#include "index/memberhash.h"

uint32
lb_value_hash(const LbValue *value)
{
	/* Without the library in shared memory, no table has values. */
	uint64		seed = lb_shared == NULL ? 0 : lb_shared->arena.hash_seed;

	return lb_hash_bytes(seed, value->data, value->len);
}

LbValue
lb_live_board_value(const LbLiveBoard *board)
{
	LbValue		value;

	value.len = board->value_len;
	value.data = board->value_chunk == LB_NONE ? board->value :
		(const char *) lb_ptr(&lb_shared->arena, board->value_chunk);
	return value;
}

static int
value_order(int len)
{
	int			order = 0;

	while ((LB_CHUNK_SIZE << order) < len)
		order++;
	Assert(order <= LB_MAX_ORDER);
	return order;
}

LbRef
lb_live_board_new(const LbMem *mem, const LbSharedBoard *shared, uint32 hash,
				  const LbValue *value)
{
	LbRef		ref;
	LbRef		chunk = LB_NONE;
	LbLiveBoard *board;

	Assert(value->len <= LB_MAX_VALUE);
	ref = lb_alloc(mem, LB_BOARD_ORDER);
	if (ref == LB_NONE)
		return LB_NONE;
	if (value->len > LB_INLINE_VALUE)
	{
		chunk = lb_alloc(mem, value_order(value->len));
		if (chunk == LB_NONE)
		{
			lb_free(mem, ref, LB_BOARD_ORDER);
			return LB_NONE;
		}
	}
	board = (LbLiveBoard *) lb_ptr(mem->arena, ref);
	lb_index_init(&board->index, &shared->shape);
	dlist_init(&board->pending);
	dlist_init(&board->history);
	memset(&board->floor, 0, sizeof(board->floor));
	board->version = pg_atomic_fetch_add_u64(&lb_shared->versions,
											 UINT64CONST(1) << 32);
	board->applied = board->history_from = board->version;
	board->backlog = 0;
	board->off_board = 0;
	board->off_board_xid = 0;
	board->no_key = false;
	board->queue_first = LB_NONE;
	board->queue_last = LB_NONE;
	board->next_queued = LB_NONE;
	board->hash = hash;
	board->nsettling = 0;
	board->value_len = value->len;
	board->value_chunk = chunk;
	memcpy(chunk == LB_NONE ? board->value :
		   (char *) lb_ptr(mem->arena, chunk),
		   value->data, value->len);
	for (int i = 0; i < LB_NCOUNTERS; i++)
		pg_atomic_init_u64(&board->counters[i], 0);
	return ref;
}

LbLiveBoard *
lb_live_board_find(LbSharedBoard *shared, LbStripe *stripe, uint32 hash,
				   const LbValue *value, LbRef *result)
{
	LbHashScan	scan;
	LbRef		ref;

	if (!shared->family)
	{
		*result = stripe->single;
		return lb_live_board_at(stripe->single);
	}
	for (ref = lb_hash_first(&lb_shared->arena, &stripe->boards, hash, &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		LbLiveBoard *board = lb_live_board_at(ref);
		LbValue		have = lb_live_board_value(board);

		if (lb_value_equal(&have, value))
		{
			*result = ref;
			return board;
		}
	}
	*result = LB_NONE;
	return NULL;
}

LbLiveBoard *
lb_live_board_make(LbSharedBoard *shared, LbStripe *stripe, uint32 hash,
				   const LbValue *value, LbRef *result)
{
	LbMem		mem = lb_mem(shared);
	LbLiveBoard *board = lb_live_board_find(shared, stripe, hash, value,
											result);

	if (board != NULL)
		return board;
	*result = lb_live_board_new(&mem, shared, hash, value);
	if (*result == LB_NONE)
		return NULL;
	lb_live_board_at(*result)->floor = stripe->floor;
	if (lb_hash_insert(&mem, &stripe->boards, hash, *result) != LB_OK)
	{
		lb_live_board_free(&mem, *result);
		*result = LB_NONE;
		return NULL;
	}
	return lb_live_board_at(*result);
}

void
lb_live_board_free(const LbMem *mem, LbRef ref)
{
	LbLiveBoard *board = lb_live_board_at(ref);

	Assert(dlist_is_empty(&board->pending));
	Assert(dlist_is_empty(&board->history));
	while (board->queue_first != LB_NONE)
	{
		LbRef		page = board->queue_first;

		board->queue_first = *(LbRef *) lb_ptr(mem->arena, page);
		lb_free(mem, page, LB_MAX_ORDER);
	}
	lb_index_free(mem, &board->index);
	if (board->value_chunk != LB_NONE)
		lb_free(mem, board->value_chunk, value_order(board->value_len));
	lb_free(mem, ref, LB_BOARD_ORDER);
}

void
lb_stripe_walk(LbStripe *stripe, bool family,
			   bool (*visit) (uint32 hash, LbRef ref, void *arg), void *arg)
{
	if (family)
		lb_hash_walk(&lb_shared->arena, &stripe->boards, visit, arg);
	else if (stripe->single != LB_NONE)
		(void) visit(0, stripe->single, arg);
}
