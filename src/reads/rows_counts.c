/*-------------------------------------------------------------------------
 *
 * rows_counts.c
 *	  Ranks of many members, for boards that keep counts.
 *
 * First the rows of the members are read, one after the other.  Then, under
 * the lock, their scores are ranked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "reads/members.h"
#include "reads/rows.h"
#include "reads/text.h"
#include "reads/values.h"

/* The score of a member's row, as the first word of its key. */
typedef struct Score
{
	int64		word;
	bool		found;			/* it is on the board */
} Score;

/*
 * The values of a member of the operand; returns whether a row can have them.
 */
static bool
values_of(const LbCall *call, const LbMembers *members, int i, Datum *values)
{
	const LbDefinition *defn = call->access.target.defn;

	if (members->absent[i])
		return false;
	if (call->form == LB_AS_BIGINT)
		return lb_member_from_bigint(defn, lb_member_at(members, i)[0], values);
	memcpy(values, call->members.values + (Size) i * defn->nmember,
		   defn->nmember * sizeof(Datum));
	return true;
}

/*
 * Read the scores of all members.  Returns false if only the query can tell.
 */
static bool
read_scores(LbCall *call, const LbMembers *members, Score *scores)
{
	LbMemberRows rows;
	bool		known = true;

	if (!lb_member_rows_begin(&rows, call))
		return false;
	for (int i = 0; known && i < members->n; i++)
	{
		Datum		values[LB_MAX_MEMBER_COLUMNS];
		int64		key[LB_MAX_WIDTH];

		CHECK_FOR_INTERRUPTS();
		scores[i].found = false;
		if (!values_of(call, members, i, values))
			continue;
		known = lb_member_rows_read(&rows, values, key, &scores[i].found);
		if (known && scores[i].found)
			scores[i].word = key[0];
	}
	lb_member_rows_end(&rows);
	return known;
}

bool
lb_read_counted_ranks(LbCall *call, const LbMembers *members, LbRows *rows)
{
	Score	   *scores;
	bool		sure = true;

	if (call->access.query)
		return false;
	scores = MemoryContextAllocHuge(CurrentMemoryContext,
									Max(1, members->n) * sizeof(Score));
	if (!read_scores(call, members, scores))
		lb_access_fall_back(&call->access, LB_CAUSE_COUNTS);
	if (call->access.query)
		return false;
	lb_make_rows(rows, &call->access.target.defn->shape, members->n, LB_NO_TAIL);
	if (!lb_access_lock(&call->access))
		return false;
	for (int i = 0; i < members->n; i++)
	{
		int64	   *row = lb_row(rows, i);

		if (!lb_go_on(call, i))
			return false;
		row[LB_ROW_RANK] = 0;
		if (!scores[i].found)
			continue;
		row[LB_ROW_RANK] = lb_rank_of_word(call, scores[i].word);
		row[LB_ROW_SCORE] = lb_call_score(call, &scores[i].word);
		sure = sure && (!call->access.shared->negative_zero ||
						lb_call_is_sure(call, row[LB_ROW_SCORE]));
	}
	rows->n = members->n;
	return lb_call_unlock(call, sure);
}
