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
	int64		prev[LB_MAX_KEY_WORDS]; /* the key before */
	Span		seen;
	uint64		chunks;
	LbCellSum	cells;			/* of all entries */
} Check;

/* Room for a key whose texts may not end, and for words that end them. */
#define CHECK_WORDS (LB_MAX_KEY_WORDS + 4 * LB_MAX_KEY_COLUMNS)

/*
 * Copy a key with texts to key, which has CHECK_WORDS words.  Returns false if
 * the handle of its cell leads nowhere, or if the key does not end where its
 * words do.  The entry may be damaged.
 */
static bool
get_text_key(const LbArena *arena, const LbIndex *index, const Block *leaf,
			 int slot, int64 *key)
{
	int			inside = index->shape.width - 1;
	int64		cell = leaf_words(leaf, inside)[slot];
	int			nwords;
	int			n;

	if (cell != 0 && (!lb_cell_valid(arena, cell) ||
					  inside + lb_cell_length(cell) > LB_MAX_KEY_WORDS))
		return false;
	n = lb_text_get_words(arena, leaf, slot, LB_MAX_KEY_WORDS, key);

	/* 0 ends a text that ascends, -1 one that descends. */
	for (int i = n; i < CHECK_WORDS; i++)
		key[i] = -(i % 2);
	nwords = lb_key_words(&index->shape, key);
	if (cell != 0)
		return nwords == n;
	for (int i = nwords; i < n; i++)
	{
		if (key[i] != 0)
			return false;
	}
	return nwords <= n;
}

/* Whether a leaf, which may be any block, has a member of another leaf. */
static bool
other_has_member(const LbArena *arena, const LbIndex *index,
				 const Block *leaf, Member member)
{
	int64		key[CHECK_WORDS];

	if (!member.texts)
		return leaf_find(arena, index, leaf, 0, member) >= 0;
	for (int i = 0; i < leaf->count; i++)
	{
		if (leaf_tags(leaf)[i] == hash_tag(member.hash) &&
			get_text_key(arena, index, leaf, i, key) &&
			lb_words_cmp(lb_key_member(&index->shape, key), member.words,
						 member.nwords) == 0)
			return true;
	}
	return false;
}

/*
 * Check the hash entries of a leaf's entry; same_hash entries have its hash.
 */
static const char *
check_hash(const LbArena *arena, const LbIndex *index, LbRef ref,
		   Member member, int same_hash)
{
	const Block *leaf = block_ptr(arena, ref);
	LbHashScan	scan;
	int			n = 0;

	for (LbRef other = lb_hash_first(arena, &index->hash, member.hash, &scan);
		 other != LB_NONE;
		 other = lb_hash_next(arena, &index->hash, &scan))
	{
		if (other == ref)
			n++;
		else if (!lb_arena_owns(arena, other, LB_MAX_ORDER) ||
				 block_ptr(arena, other)->level != 0 ||
				 block_ptr(arena, other)->width != index->shape.width ||
				 block_ptr(arena, other)->cap != leaf->cap ||
				 block_ptr(arena, other)->count > leaf->cap)
			return "index: the hash leads to a block that is not a leaf";
		else if (other_has_member(arena, index, block_ptr(arena, other),
								  member))
			return "index: a member occurs twice";
	}
	return n == same_hash ? NULL :
		"index: the hash does not lead to a member's leaf";
}

/* Check a leaf's members: their tags, their hash entries, and duplicates. */
static const char *
check_members(const Check *check, LbRef ref, const Block *leaf)
{
	const LbArena *arena = check->arena;
	const LbIndex *index = check->index;
	uint32		hashes[LB_PAGE_SIZE / (2 * sizeof(int64))];
	int64		key[LB_MAX_KEY_WORDS];
	int			i;

	for (i = 0; i < leaf->count; i++)
	{
		Member		member = leaf_member(arena, index, leaf, i, key);

		hashes[i] = member.hash;
		if (leaf_tags(leaf)[i] != hash_tag(hashes[i]))
			return "index: a member's tag is wrong";
		if (leaf_find(arena, index, leaf, i + 1, member) >= 0)
			return "index: a member occurs twice in a leaf";
		if (index_hashed(index))
			lb_hash_prefetch(arena, &index->hash, hashes[i]);
	}

	for (i = 0; i < leaf->count; i++)
	{
		Member		member = leaf_member(arena, index, leaf, i, key);
		const char *problem;
		int			same = 0;

		/* Without a hash, the leaves before this one have been checked. */
		for (LbRef other = index_hashed(index) ? LB_NONE : leaf->prev;
			 other != LB_NONE; other = block_ptr(arena, other)->prev)
		{
			if (leaf_find(arena, index, block_ptr(arena, other), 0,
						  member) >= 0)
				return "index: a member occurs twice";
		}
		if (!index_hashed(index))
			continue;
		for (int j = 0; j < leaf->count; j++)
			same += hashes[j] == hashes[i];
		problem = check_hash(arena, index, ref, member, same);
		if (problem != NULL)
			return problem;
	}
	return NULL;
}

static const char *
check_leaf(Check *check, LbRef ref, const Block *leaf)
{
	const LbArena *arena = check->arena;
	const LbIndex *index = check->index;
	bool		texts = lb_shape_varies(&index->shape);
	int			i;

	if (leaf->prev != check->prev_leaf || ref != check->expect_leaf)
		return "index: leaves are wrongly linked";
	check->prev_leaf = ref;
	check->expect_leaf = leaf->next;

	for (i = 0; i < leaf->count; i++)
	{
		int64		key[CHECK_WORDS];
		int64		cell;
		bool		is_new;

		if (texts && !get_text_key(arena, index, leaf, i, key))
			return "index: a key is not of the index's shape";
		if (!texts)
			block_get_key(leaf, i, key);
		cell = texts ? leaf_words(leaf, leaf->width - 1)[i] : 0;
		if (cell != 0)
			lb_cell_count(arena, cell, &check->cells);
		if (check->any && lb_key_cmp(&index->shape, check->prev, key) >= 0)
			return "index: keys are out of order";
		is_new = !check->any || check->prev[0] != key[0];
		if (i == 0 && leaf->continues != !is_new)
			return "index: a leaf's flag about its first score is wrong";
		check->any = true;
		memcpy(check->prev, key,
			   lb_key_words(&index->shape, key) * sizeof(int64));
		if (index->shape.counts && key[index->shape.width] <= 0)
			return "index: a key has no rows";
		check->seen.members += leaf_members(leaf, i, i + 1,
											index->shape.counts);
		check->seen.distinct += is_new;
	}
	return index->shape.counts ? NULL : check_members(check, ref, leaf);
}

/*
 * Whether the key of a link, as the block stores it, is above all keys before.
 * With texts this follows from what check_leaf checks, since it is the same as
 * that of the first entry.
 */
static bool
link_in_order(const Check *check, const int64 *key)
{
	return lb_shape_varies(&check->index->shape) || !check->any ||
		lb_key_cmp(&check->index->shape, check->prev, key) < 0;
}

/*
 * Whether the first key of a leaf, as it is stored, can be behind a link with
 * the key lower.
 */
static bool
fits_link(const LbIndex *index, const Block *leaf, const int64 *lower)
{
	int64		key[LB_MAX_WIDTH];
	int			cmp;

	block_get_key(leaf, 0, key);
	cmp = lb_words_cmp(key, lower, index->shape.width);
	if (lb_shape_varies(&index->shape) && leaf->prev != LB_NONE)
		return cmp == 0;
	return cmp >= 0;
}

/* Check a block and all below it; lower is the key of the link to it. */
static const char *
check_block(Check *check, LbRef ref, int level, const int64 *lower)
{
	const LbArena *arena = check->arena;
	const LbIndex *index = check->index;
	int			order = block_order(index);
	int			width = block_width(&index->shape);
	const Block *block;
	Span		start = check->seen;
	int			i;

	if (order > LB_MAX_ORDER || !lb_arena_owns(arena, ref, order))
		return "index: a block is not there";
	block = block_ptr(arena, ref);
	if (block->level != level || block->order != order ||
		block->width != width ||
		block->cap != (level == 0 ? leaf_capacity(width, order) :
					   link_capacity(width)))
		return "index: a block's header is wrong";
	if (block->count > block->cap || block->count < (level == 0 ? 1 : 2))
		return "index: a block has too many or too few entries";
	check->chunks += (uint64) 1 << order;
	if (check->chunks > index->chunks)
		return "index: more blocks than accounted for";

	if (level == 0)
	{
		if (!fits_link(index, block, lower))
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
		if (!link_in_order(check, key))
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

static bool
shape_is_possible(const LbShape *shape)
{
	if (shape->counts)
		return shape->width >= 1 && shape->width < LB_MAX_WIDTH &&
			shape->member_words == shape->width && shape->ncolumns == 0;
	if (shape->width < 2 || shape->width > LB_MAX_WIDTH)
		return false;
	if (!lb_shape_varies(shape))
		return shape->member_words >= 1 && shape->member_words <= shape->width;
	return shape->ncolumns <= LB_MAX_KEY_COLUMNS && shape->nrank >= 1 &&
		shape->nrank < shape->ncolumns;
}

const char *
lb_index_check(const LbArena *arena, const LbIndex *index)
{
	Check		check;
	LbCellSum	cells = {0};
	int64		lower[LB_MAX_WIDTH];
	const char *problem;
	int			i;

	if (!shape_is_possible(&index->shape) || index->height > LB_MAX_HEIGHT)
		return "index: impossible header";
	if (index->height == 0)
	{
		if (index->root != LB_NONE || index->first != LB_NONE ||
			index->last != LB_NONE || index->members != 0 ||
			index->distinct != 0 || index->chunks != 0 ||
			index->cells.chunks != 0 || index->hash.root != LB_NONE)
			return "index: an empty index has memory or members";
		return NULL;
	}

	problem = lb_hash_check(arena, &index->hash);
	if (problem == NULL)
		problem = lb_cells_check(arena, &index->cells, &cells);
	if (problem != NULL)
		return problem;
	if (index->shape.counts && index_hashed(index))
		return "index: an index that counts rows has a hash";
	if (!index->shape.counts &&
		(index_hashed(index) ? index->hash.entries != index->members :
		 index->members > HASH_FROM))
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
	if (check.cells.n != cells.n || check.cells.sum != cells.sum)
		return "index: the cells are not those of the entries";
	return NULL;
}
