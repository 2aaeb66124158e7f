/*-------------------------------------------------------------------------
 *
 * values.c
 *	  Single answers from the index.
 *
 * All of this runs under the stripe's lock and raises nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "boards/definition.h"
#include "boards/keys.h"
#include "reads/values.h"

/* Entries whose score is better than a score's word. */
static uint64
count_better(const LbCall *call, int64 word)
{
	uint64		members;

	lb_view_spans(&call->access.view, &word, 1, false, &members, NULL);
	return members;
}

int64
lb_rank_of_word(const LbCall *call, int64 word)
{
	uint64		distinct;

	if (call->method != LB_DENSE_RANK)
		return count_better(call, word) + 1;
	lb_view_spans(&call->access.view, &word, 1, false, NULL, &distinct);
	return distinct + 1;
}

static int64
rank_of_key(const LbCall *call, const int64 *key)
{
	const LbView *view = &call->access.view;
	uint64		members;

	if (call->method != LB_ROW_NUMBER)
		return lb_rank_of_word(call, key[0]);
	lb_view_spans(view, key, view->shape->width, false, &members, NULL);
	return members + 1;
}

static double
percentile_of_key(const LbCall *call, const int64 *key)
{
	int64		total = lb_view_members(&call->access.view);
	int64		not_better = total - count_better(call, key[0]);

	return 100 * ((double) not_better / (double) total);
}

/* The key of the member that is the first operand. */
static inline bool
look_up(const LbCall *call, int64 *key)
{
	int64		word;
	const int64 *member;

	if (unlikely(call->access.view.shape->counts))
	{
		if (call->row_key != NULL)
			memcpy(key, call->row_key,
				   call->access.view.shape->width * sizeof(int64));
		return call->row_key != NULL;
	}
	member = lb_call_member(call, &word);
	return member != NULL &&
		lb_view_lookup(&call->access.view, member, key, NULL);
}

bool
lb_rank_value(const LbCall *call, LbNumber *numbers)
{
	int64		key[LB_MAX_KEY_WORDS];

	if (!look_up(call, key))
		return false;
	numbers[0].integer = rank_of_key(call, key);
	return true;
}

bool
lb_score_value(const LbCall *call, LbNumber *numbers)
{
	int64		key[LB_MAX_KEY_WORDS];

	if (!look_up(call, key))
		return false;
	numbers[0].integer = lb_call_score(call, key);
	return true;
}

bool
lb_percentile_value(const LbCall *call, LbNumber *numbers)
{
	int64		key[LB_MAX_KEY_WORDS];

	if (!look_up(call, key))
		return false;
	numbers[0].real = percentile_of_key(call, key);
	return true;
}

bool
lb_player_value(const LbCall *call, LbNumber *numbers)
{
	int64		key[LB_MAX_KEY_WORDS];

	if (!look_up(call, key))
		return false;
	numbers[0].integer = rank_of_key(call, key);
	numbers[1].integer = lb_call_score(call, key);
	numbers[2].real = percentile_of_key(call, key);
	numbers[3].integer = lb_view_members(&call->access.view);
	return true;
}

bool
lb_count_value(const LbCall *call, LbNumber *numbers)
{
	numbers[0].integer = lb_view_members(&call->access.view);
	return true;
}

/* Entries before a score's word, or also those with it (inclusive). */
static uint64
count_to(const LbCall *call, int64 word, bool inclusive)
{
	uint64		members;

	lb_view_spans(&call->access.view, &word, 1, inclusive, &members, NULL);
	return members;
}

int64
lb_scores_between(const LbCall *call, int64 lo, int64 hi)
{
	int64		a = lb_call_score_word(call, lo);
	int64		b = lb_call_score_word(call, hi);

	return count_to(call, Max(a, b), true) - count_to(call, Min(a, b), false);
}

bool
lb_count_between_value(const LbCall *call, LbNumber *numbers)
{
	bool		has_lo = !call->nulls[0];
	bool		has_hi = !call->nulls[1];
	int64		lo = has_lo ? lb_call_score_operand(call, 0).ceil : 0;
	int64		hi = has_hi ? lb_call_score_operand(call, 1).floor : 0;
	bool		descending =
		call->access.target.defn->columns[0].descending;
	uint64		before = 0;
	uint64		upto = lb_view_members(&call->access.view);

	numbers[0].integer = 0;
	if (has_lo && has_hi && lo > hi)
		return true;
	if (descending ? has_hi : has_lo)
		before = count_to(call, lb_call_score_word(call, descending ? hi : lo),
						  false);
	if (descending ? has_lo : has_hi)
		upto = count_to(call, lb_call_score_word(call, descending ? lo : hi),
						true);
	numbers[0].integer = upto - before;
	return true;
}

bool
lb_rank_of_score_value(const LbCall *call, LbNumber *numbers)
{
	LbScoreOperand score = lb_call_score_operand(call, 0);
	bool		descending =
		call->access.target.defn->columns[0].descending;

	numbers[0].integer =
		lb_rank_of_word(call, lb_call_score_word(call, descending ?
												 score.floor : score.ceil));
	return true;
}

int64
lb_score_at(const LbCall *call, uint64 place)
{
	int64		key[LB_MAX_KEY_WORDS];

	lb_view_key_at(&call->access.view, place, key);
	return lb_call_score(call, key);
}

int64
lb_place_of_percentile(double percentile, int64 total)
{
	/* As percentile_disc() finds its row, counted from the worst. */
	int64		row = (int64) ceil(percentile / 100 * total);

	return total - Min(Max(row, 1), total);
}

bool
lb_score_at_percentile_value(const LbCall *call, LbNumber *numbers)
{
	int64		total = lb_view_members(&call->access.view);
	double		percentile = DatumGetFloat8(call->operands[0]);

	if (total == 0)
		return false;
	numbers[0].integer =
		lb_score_at(call, lb_place_of_percentile(percentile, total));
	return true;
}
