/*-------------------------------------------------------------------------
 *
 * members.c
 *	  Members in an array that is an operand.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "reads/members.h"
#include "reads/text.h"

/* Whether a member of the operand has a null. */
static bool
has_null(const LbCall *call, int i)
{
	const LbDefinition *defn = call->access.target.defn;

	for (int j = 0; j < defn->nmember; j++)
	{
		if (call->members.nulls[(Size) i * defn->nmember + j])
			return true;
	}
	return false;
}

/*
 * The words of a member of the operand; returns whether a key can have them.
 */
static bool
encode_operand(const LbCall *call, int i, int64 *words)
{
	const LbDefinition *defn = call->access.target.defn;

	return !has_null(call, i) &&
		lb_encode_member(defn, call->members.values + (Size) i * defn->nmember,
						 words) > 0;
}

/*
 * With texts: add the words of a member of the operand to those of the others.
 * Returns whether a key can have it.
 */
static bool
append_operand(const LbCall *call, int i, LbMembers *members, Size *used,
			   Size *max)
{
	int64		words[LB_MAX_KEY_WORDS];
	int			nwords;

	if (!encode_operand(call, i, words))
		return false;
	nwords = lb_member_length(&call->access.target.defn->shape, words);
	if (*used + nwords > *max)
	{
		*max = Max(*max * 2, *used + nwords);
		members->words = repalloc_huge((int64 *) members->words,
									   *max * sizeof(int64));
	}
	((uint32 *) members->places)[i] = (uint32) *used;
	memcpy((int64 *) members->words + *used, words, nwords * sizeof(int64));
	*used += nwords;
	return true;
}

void
lb_array_operand(const LbCall *call, LbMembers *members)
{
	const LbShape *shape = &call->access.target.defn->shape;
	bool		texts = call->form != LB_AS_BIGINT;
	Datum	   *elements = NULL;
	bool	   *absent = NULL;
	int64	   *words;
	Size		used = 0;
	Size		max;

	memset(members, 0, sizeof(LbMembers));
	if (call->nulls[0])
		return;
	members->n = call->members.n;
	if (texts)
		absent = palloc_extended(members->n + 1, MCXT_ALLOC_HUGE);
	else
		deconstruct_array(DatumGetArrayTypeP(call->operands[0]), INT8OID,
						  sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
						  &elements, &absent, &members->n);

	/* With counts, the values are used: rows_counts.c. */
	for (int i = 0; texts && shape->counts && i < members->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		absent[i] = has_null(call, i);
	}
	if (texts && shape->counts)
	{
		members->absent = absent;
		return;
	}
	members->width = texts ? shape->member_words : 1;
	max = (Size) Max(1, members->n) * Max(1, members->width);
	words = MemoryContextAllocHuge(CurrentMemoryContext, max * sizeof(int64));
	members->words = words;
	members->absent = absent;
	if (texts && lb_shape_varies(shape))
		members->places = MemoryContextAllocHuge(CurrentMemoryContext,
												 Max(1, members->n) *
												 sizeof(uint32));
	for (int i = 0; i < members->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!texts)
			words[i] = DatumGetInt64(elements[i]);
		else if (members->places == NULL)
			absent[i] = !encode_operand(call, i,
										words + (Size) i * members->width);
		else
			absent[i] = !append_operand(call, i, members, &used, &max);
	}
	if (!texts)
		pfree(elements);
}
