/*-------------------------------------------------------------------------
 *
 * skiplist_check.c
 *	  Check everything that a skip list stores.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

/* The state of a check, which goes through the list from left to right. */
typedef struct Check
{
	const LbArena *arena;
	const LbIndex *index;
	LbRef		prev_leaf;
	LbRef		expect_leaf;	/* its next */
	bool		any;			/* there is a key before */
	int64		prev[LB_MAX_WIDTH]; /* the key before */
	Span		seen;
	uint64		chunks;
} Check;

/* Check a leaf's members: their tags, their hash entries, and duplicates. */
static const char *
check_members(const Check *check, LbRef ref, const Block *leaf)
{
	const LbArena *arena = check->arena;
	const LbIndex *index = check->index;
	uint32		hashes[LB_PAGE_SIZE / (2 * sizeof(int64))];
	int			i;

	for (i = 0; i < leaf->count; i++)
	{
		int64		member[LB_MAX_WIDTH];

		leaf_get_member(index, leaf, i, member);
		hashes[i] = member_hash(arena, index, member);
		if (leaf_tags(leaf)[i] != hash_tag(hashes[i]))
			return "index: a member's tag is wrong";
		if (leaf_find(index, leaf, i + 1, member, hashes[i]) >= 0)
			return "index: a member occurs twice in a leaf";
	}

	if (!index_hashed(index))
	{
		/* The leaves before this one have been checked. */
		LbRef		other;

		for (other = leaf->prev; other != LB_NONE;
			 other = block_ptr(arena, other)->prev)
		{
			for (i = 0; i < leaf->count; i++)
			{
				if (leaf_has_same_member(arena, index, block_ptr(arena, other),
										 leaf, i))
					return "index: a member occurs twice";
			}
		}
		return NULL;
	}

	for (i = 0; i < leaf->count; i++)
		lb_hash_prefetch(arena, &index->hash, hashes[i]);
	for (i = 0; i < leaf->count; i++)
	{
		LbHashScan	scan;
		LbRef		other;
		int			slots = 0;
		int			same = 0;
		int			j;

		for (other = lb_hash_first(arena, &index->hash, hashes[i], &scan);
			 other != LB_NONE;
			 other = lb_hash_next(arena, &index->hash, &scan))
		{
			if (other == ref)
				slots++;
			else if (!lb_arena_owns(arena, other, LB_MAX_ORDER) ||
					 block_ptr(arena, other)->level != 0 ||
					 block_ptr(arena, other)->width != index->shape.width ||
					 block_ptr(arena, other)->cap != leaf->cap ||
					 block_ptr(arena, other)->count > leaf->cap)
				return "index: the hash leads to a block that is not a leaf";
			else if (leaf_has_same_member(arena, index, block_ptr(arena, other),
										  leaf, i))
				return "index: a member occurs twice";
		}
		for (j = 0; j < leaf->count; j++)
			same += hashes[j] == hashes[i];
		if (slots != same)
			return "index: the hash does not lead to a member's leaf";
	}
	return NULL;
}

static const char *
check_leaf(Check *check, LbRef ref, const Block *leaf)
{
	const LbIndex *index = check->index;
	int			i;

	if (leaf->prev != check->prev_leaf || ref != check->expect_leaf)
		return "index: leaves are wrongly linked";
	check->prev_leaf = ref;
	check->expect_leaf = leaf->next;

	for (i = 0; i < leaf->count; i++)
	{
		int64		key[LB_MAX_WIDTH];
		bool		is_new;

		block_get_key(leaf, i, key);
		if (check->any && lb_words_cmp(check->prev, key, index->shape.width) >= 0)
			return "index: keys are out of order";
		is_new = !check->any || check->prev[0] != key[0];
		if (i == 0 && leaf->continues != !is_new)
			return "index: a leaf's flag about its first score is wrong";
		check->any = true;
		memcpy(check->prev, key, sizeof(key));
		check->seen.members++;
		check->seen.distinct += is_new;
	}
	return check_members(check, ref, leaf);
}

/* Check a block and all below it; lower is the key of the link to it. */
static const char *
check_block(Check *check, LbRef ref, int level, const int64 *lower)
{
	const LbArena *arena = check->arena;
	const LbIndex *index = check->index;
	int			order = block_order(index);
	const Block *block;
	Span		start = check->seen;
	int			i;

	if (order > LB_MAX_ORDER || !lb_arena_owns(arena, ref, order))
		return "index: a block is not there";
	block = block_ptr(arena, ref);
	if (block->level != level || block->order != order ||
		block->width != index->shape.width ||
		block->cap != (level == 0 ? leaf_capacity(index->shape.width, order) :
					   link_capacity(index->shape.width)))
		return "index: a block's header is wrong";
	if (block->count > block->cap || block->count < (level == 0 ? 1 : 2))
		return "index: a block has too many or too few entries";
	check->chunks += (uint64) 1 << order;
	if (check->chunks > index->chunks)
		return "index: more blocks than accounted for";

	if (level == 0)
	{
		int64		key[LB_MAX_WIDTH];

		block_get_key(block, 0, key);
		if (lb_words_cmp(key, lower, index->shape.width) < 0)
			return "index: a key is below that of its link";
		return check_leaf(check, ref, block);
	}

	for (i = 0; i < block->count; i++)
	{
		int64		key[LB_MAX_WIDTH];
		Span		before = span_before(block, i);
		const char *problem;

		block_get_key(block, i, key);
		if (i == 0 && lb_words_cmp(key, lower, index->shape.width) != 0)
			return "index: the first key of a block is not that of its link";
		if (check->any && lb_words_cmp(check->prev, key, index->shape.width) >= 0)
			return "index: a link's key is not above the keys before it";
		if (before.members != check->seen.members - start.members)
			return "index: wrong sum of members";
		if (before.distinct != check->seen.distinct - start.distinct)
			return "index: wrong sum of distinct scores";
		problem = check_block(check, link_children(block)[i], level - 1, key);
		if (problem != NULL)
			return problem;
	}
	if (((const LinkBlock *) block)->members !=
		check->seen.members - start.members)
		return "index: wrong total of members";
	if (((const LinkBlock *) block)->distinct !=
		check->seen.distinct - start.distinct)
		return "index: wrong total of distinct scores";
	return NULL;
}

const char *
lb_index_check(const LbArena *arena, const LbIndex *index)
{
	Check		check;
	int64		lower[LB_MAX_WIDTH];
	const char *problem;
	int			i;

	if (index->shape.width < 2 || index->shape.width > LB_MAX_WIDTH ||
		index->shape.member_words < 1 || index->shape.member_words > index->shape.width ||
		index->height > LB_MAX_HEIGHT)
		return "index: impossible header";
	if (index->height == 0)
	{
		if (index->root != LB_NONE || index->first != LB_NONE ||
			index->last != LB_NONE || index->members != 0 ||
			index->distinct != 0 || index->chunks != 0 ||
			index->hash.root != LB_NONE)
			return "index: an empty index has memory or members";
		return NULL;
	}

	problem = lb_hash_check(arena, &index->hash);
	if (problem != NULL)
		return problem;
	if (index_hashed(index) ? index->hash.entries != index->members :
		index->members > HASH_FROM)
		return "index: the hash and the index have different numbers of entries";

	memset(&check, 0, sizeof(check));
	check.arena = arena;
	check.index = index;
	check.prev_leaf = LB_NONE;
	check.expect_leaf = index->first;
	for (i = 0; i < LB_MAX_WIDTH; i++)
		lower[i] = INT64_MIN;
	problem = check_block(&check, index->root, index->height - 1, lower);
	if (problem != NULL)
		return problem;
	if (check.expect_leaf != LB_NONE || check.prev_leaf != index->last)
		return "index: the last leaf is not the last";
	if (check.seen.members != index->members)
		return "index: wrong number of members";
	if (check.seen.distinct != index->distinct)
		return "index: wrong number of distinct scores";
	if (check.chunks != index->chunks)
		return "index: wrong sum of memory";
	return NULL;
}
