/*-------------------------------------------------------------------------
 *
 * block.c
 *	  Making blocks of the skip list, and moving what is in them.
 *
 *-------------------------------------------------------------------------
 */
#include "index/block.h"

Block *
lb_block_init(const LbArena *arena, int width, LbRef ref, int level, int order)
{
	Block	   *block = block_ptr(arena, ref);

	Assert(level == 0 || order == LB_MAX_ORDER);
	block->level = (uint8) level;
	block->order = (uint8) order;
	block->width = (uint8) width;
	block->continues = false;
	block->count = 0;
	block->cap = (uint16) (level == 0 ? leaf_capacity(width, order) :
						   link_capacity(width));
	block->prev = LB_NONE;
	block->next = LB_NONE;
	if (level > 0)
	{
		((LinkBlock *) block)->members = 0;
		((LinkBlock *) block)->distinct = 0;
	}
	return block;
}

LbRef
lb_block_alloc(const LbMem *mem, uint64 *chunks, int order)
{
	LbRef		ref = lb_alloc(mem, order);

	if (ref != LB_NONE)
		*chunks += (uint64) 1 << order;
	return ref;
}

void
lb_block_free(const LbMem *mem, uint64 *chunks, LbRef ref, int order)
{
	lb_free(mem, ref, order);
	*chunks -= (uint64) 1 << order;
}

uint64
lb_leaf_rows(const Block *leaf, int from, int to)
{
	const int64 *rows = leaf_words(leaf, leaf->width - 1);
	uint64		n = 0;

	for (int i = from; i < to; i++)
		n += (uint64) rows[i];
	return n;
}

void
lb_link_insert(Block *block, int slot, LbRef child)
{
	uint64	   *members = link_members(block);
	uint64	   *distinct = link_distinct(block);
	LbRef	   *children = link_children(block);
	int			tail = block->count - slot;
	Span		before = span_before(block, slot);

	Assert(block->count < block->cap && slot <= block->count);
	copy_keys(block, slot + 1, block, slot, tail);
	memmove(members + slot + 1, members + slot, tail * sizeof(uint64));
	memmove(distinct + slot + 1, distinct + slot, tail * sizeof(uint64));
	memmove(children + slot + 1, children + slot, tail * sizeof(LbRef));
	members[slot] = before.members;
	distinct[slot] = before.distinct;
	children[slot] = child;
	block->count++;
}

void
lb_link_delete(Block *block, int slot)
{
	uint64	   *members = link_members(block);
	uint64	   *distinct = link_distinct(block);
	LbRef	   *children = link_children(block);
	int			tail = block->count - slot - 1;

	Assert(span_before(block, slot).members ==
		   span_before(block, slot + 1).members);
	Assert(span_before(block, slot).distinct ==
		   span_before(block, slot + 1).distinct);
	copy_keys(block, slot, block, slot + 1, tail);
	memmove(members + slot, members + slot + 1, tail * sizeof(uint64));
	memmove(distinct + slot, distinct + slot + 1, tail * sizeof(uint64));
	memmove(children + slot, children + slot + 1, tail * sizeof(LbRef));
	block->count--;
}

/* Copy n links to another block or within one, and add to their sums. */
static void
link_copy(Block *to, int at, const Block *from, int slot, int n, Span by)
{
	uint64	   *members = link_members(to) + at;
	uint64	   *distinct = link_distinct(to) + at;
	int			i;

	copy_keys(to, at, from, slot, n);
	memmove(members, link_members(from) + slot, n * sizeof(uint64));
	memmove(distinct, link_distinct(from) + slot, n * sizeof(uint64));
	memmove(link_children(to) + at, link_children(from) + slot,
			n * sizeof(LbRef));
	for (i = 0; i < n; i++)
	{
		members[i] += by.members;
		distinct[i] += by.distinct;
	}
}

/* lb_block_shift for leaves. */
static Span
shift_entries(Block *left, Block *right, int n, bool counts)
{
	Span		moved;

	if (n > 0)
	{
		moved.members = leaf_members(right, 0, n, counts);
		moved.distinct = leaf_distinct(right, 0, n);
		if (left->count == 0)
			left->continues = right->continues;
		copy_keys(left, left->count, right, 0, n);
		copy_keys(right, 0, right, n, right->count - n);
		left->count += n;
		right->count -= n;
	}
	else
	{
		n = -n;
		moved.members = leaf_members(left, left->count - n, left->count,
									 counts);
		moved.distinct = leaf_distinct(left, left->count - n, left->count);
		if (left->count == n)
			right->continues = left->continues;
		copy_keys(right, n, right, 0, right->count);
		copy_keys(right, 0, left, left->count - n, n);
		left->count -= n;
		right->count += n;
	}
	if (left->count > 0 && right->count > 0)
		right->continues = leaf_words(left, 0)[left->count - 1] ==
			leaf_words(right, 0)[0];
	return moved;
}

/* lb_block_shift for blocks of links. */
static Span
shift_links(Block *left, Block *right, int n)
{
	LinkBlock  *left_sum = (LinkBlock *) left;
	LinkBlock  *right_sum = (LinkBlock *) right;
	Span		zero = {0, 0};
	Span		left_all = span_before(left, left->count);
	Span		kept;
	Span		moved;

	if (n > 0)
	{
		moved = span_before(right, n);
		link_copy(left, left->count, right, 0, n, left_all);
		link_copy(right, 0, right, n, right->count - n,
				  span_minus(zero, moved));
		left->count += n;
		right->count -= n;
		left_sum->members += moved.members;
		left_sum->distinct += moved.distinct;
		right_sum->members -= moved.members;
		right_sum->distinct -= moved.distinct;
	}
	else
	{
		n = -n;
		kept = span_before(left, left->count - n);
		moved = span_minus(left_all, kept);
		link_copy(right, n, right, 0, right->count, moved);
		link_copy(right, 0, left, left->count - n, n, span_minus(zero, kept));
		left->count -= n;
		right->count += n;
		left_sum->members -= moved.members;
		left_sum->distinct -= moved.distinct;
		right_sum->members += moved.members;
		right_sum->distinct += moved.distinct;
	}
	return moved;
}

Span
lb_block_shift(Block *left, Block *right, int n, bool counts)
{
	return left->level == 0 ? shift_entries(left, right, n, counts) :
		shift_links(left, right, n);
}
