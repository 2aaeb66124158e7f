/*-------------------------------------------------------------------------
 *
 * sums_distinct.c
 *	  What sums do to distinct scores.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "capture/sums_internal.h"

/* Look at a key's score again. */
static bool
note_score(LbSums *sums, const int64 *key)
{
	if (!lb_sums_lengthen(sums, &sums->scores, sums->nscores, &sums->max_scores, 1))
		return false;
	sums->scores[sums->nscores++] = key[0];
	return true;
}

bool
lb_sums_distinct_begin(LbSums *sums)
{
	LbMem		mem = lb_sums_mem(sums);

	lb_index_free(&mem, &sums->lost);
	lb_index_free(&mem, &sums->gained);
	sums->nscores = 0;
	sums->distinct = lb_sums_visit(sums, &sums->removed, note_score) &&
		lb_sums_visit(sums, &sums->added, note_score);
	return sums->distinct;
}

bool
lb_sums_touch_score(LbSums *sums, int64 score)
{
	if (sums->nscores == sums->max_scores)
		return false;
	sums->scores[sums->nscores++] = score;
	return true;
}

/* How many entries of an index have a score. */
static uint64
count_score(const LbArena *arena, const LbIndex *index, int64 score)
{
	uint64		before;
	uint64		upto;

	if (index == NULL || index->members == 0)
		return 0;
	lb_index_spans(arena, index, &score, 1, false, &before, NULL);
	lb_index_spans(arena, index, &score, 1, true, &upto, NULL);
	return upto - before;
}

void
lb_sums_count_scores(LbSums *sums, const LbArena *arena, const LbIndex *index,
					 int n)
{
	LbMem		mem = lb_sums_mem(sums);

	while (n-- > 0 && sums->nscores > 0)
	{
		int64		score = sums->scores[--sums->nscores];
		int64		key[2] = {score, score};
		int64		change;
		int64		before = 0;
		LbResult	result = LB_OK;

		change = (int64) count_score(&sums->arena, &sums->added, score) -
			(int64) count_score(&sums->arena, &sums->removed, score);
		if (change != 0)
			before = count_score(arena, index, score);
		(void) lb_index_remove(&mem, &sums->lost, key);
		(void) lb_index_remove(&mem, &sums->gained, key);
		if (before > 0 && before + change == 0)
			result = lb_index_insert(&mem, &sums->lost, key);
		else if (before == 0 && change > 0)
			result = lb_index_insert(&mem, &sums->gained, key);
		if (result != LB_OK)
			sums->broken = true;
	}
}
