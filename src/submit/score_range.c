/*-------------------------------------------------------------------------
 *
 * score_range.c
 *	  Scores within the ranges of their columns.
 *
 * The changes of a player in a batch are written as one, but fail where they
 * would fail one by one: a change may lead to a score that is out of range,
 * though the changes after it lead back.  scores.c notes in s->doubtful that
 * this could be so.  That is rare: as long as no sum of the first changes
 * leaves the range from 0 to the sum of all, no score leaves the range from
 * the old score to the new one.
 *
 * The sums have 128 bits: a batch has fewer than 2^31 changes of 64 bits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "submit/score_range.h"

bool
lb_score_fits(const LbDefinition *defn, int128 score)
{
	int64		max = lb_score_column(defn)->type->max;

	return score <= max && score >= -max - 1;
}

char *
lb_int128_text(int128 value)
{
	char		digits[41];
	char	   *p = &digits[sizeof(digits) - 1];
	uint128		rest = value < 0 ? -(uint128) value : (uint128) value;

	*p = '\0';
	do
		*--p = '0' + (int) (rest % 10);
	while ((rest /= 10) > 0);
	if (value < 0)
		*--p = '-';
	return pstrdup(p);
}

/* A change that leads out of range. */
typedef struct OutOfRange
{
	const LbSubmitItem *item;	/* NULL: there is none */
	int			board;
	const char *does;			/* to the score */
	int128		amount;
	int128		score;			/* before it */
} OutOfRange;

/* The scores of one player. */
typedef struct Scores
{
	int128	   *score;			/* of each board */
	bool		has_score;		/* on the leaderboard's board */
} Scores;

/* The score on the leaderboard's board after a change of it. */
static int128
score_after(const LbSubmit *s, int64 amount, const Scores *before)
{
	bool		descending = s->target->scores->columns[0].descending;
	int128		score = before->score[0];

	switch (s->call->op)
	{
		case LB_OP_INCR:
			return score + amount;
		case LB_OP_BEST:
		case LB_OP_WORST:
			if (!before->has_score)
				return amount;
			return (s->call->op == LB_OP_BEST) == descending ?
				Max(score, amount) : Min(score, amount);
		case LB_OP_SET:
		case LB_OP_CHANGE:
		case LB_NOPS:
			break;
	}
	return amount;
}

/*
 * Apply an item to the scores of player number p.  Returns true, or false if
 * that leads out of range.  Then out has where, and after is undefined.
 */
static bool
apply_item(const LbSubmit *s, int p, const LbSubmitItem *item,
		   const Scores *before, Scores *after, OutOfRange *out)
{
	const LbSubmitTarget *t = s->target;
	int128		change = item->amount;

	after->has_score = true;
	out->item = item;
	for (int b = 0; b < t->nboards; b++)
	{
		const LbSubmitBoard *board = &t->boards[b];
		const LbDefinition *defn = lb_board_defn(t, board);
		bool		changes = lb_gets_change(t, board);
		bool		adds = lb_effective_op(t, board) == LB_OP_INCR;

		if (board->closed || !lb_takes_part(s, b, p))
			continue;
		out->board = b;
		out->amount = changes ? change : item->amount;
		out->score = before->score[b];
		out->does = !adds ? "sets" : changes ? "changes" : "adds";
		if (!lb_score_fits(defn, out->amount))
			return false;
		if (!board->window)
		{
			after->score[b] = score_after(s, item->amount, before);
			change = after->score[b] - before->score[b];
		}
		else if (adds)
			after->score[b] = before->score[b] + out->amount;
		else
			continue;
		if (!lb_score_fits(defn, after->score[b]))
			return false;
	}
	return true;
}

pg_noreturn static void
raise_out_of_range(const LbSubmit *s, const OutOfRange *out)
{
	const LbSubmitBoard *board = &s->target->boards[out->board];
	const LbDefinition *defn = lb_board_defn(s->target, board);
	const char *amount = lb_int128_text(out->amount);
	const char *item = out->item->item == 0 ? "The submit" :
		psprintf("Item %d", out->item->item);
	const char *change;

	if (strcmp(out->does, "adds") == 0)
		change = psprintf("%s adds %s to %s", item, amount,
						  lb_int128_text(out->score));
	else if (strcmp(out->does, "changes") == 0)
		change = psprintf("%s changes it by %s from %s", item, amount,
						  lb_int128_text(out->score));
	else
		change = psprintf("%s has the amount %s", item, amount);
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("score of player \"%s\" is out of range on board \"%s\"",
					text_to_cstring(out->item->player_text), board->name),
			 errdetail("%s; column \"%s\" of table \"%s\" is of type %s.",
					   change, lb_score_column(defn)->name,
					   get_rel_name(defn->source),
					   lb_score_column(defn)->type->sql_name)));
}

/*
 * Take the changes of player number p one by one.  With s->outcomes, refuse
 * the items that lead out of range, and go on without them; else set out to
 * the first one.
 */
static void
check_player(LbSubmit *s, int p, Scores *before, Scores *after,
			 OutOfRange *out)
{
	before->has_score = s->target->scores != NULL &&
		s->results[0].players[p].had_score;
	for (int b = 0; b < s->target->nboards; b++)
		before->score[b] = after->score[b] = s->results[b].players[p].before;
	for (int i = s->first[p]; i < s->first[p + 1]; i++)
	{
		OutOfRange	found;

		CHECK_FOR_INTERRUPTS();
		if (apply_item(s, p, &s->items[i], before, after, &found))
		{
			Scores		last = *before;

			/* Boards that are only set keep 0 in both. */
			*before = *after;
			*after = last;
		}
		else if (s->outcomes != NULL)
		{
			s->outcomes[s->items[i].number].status = "overflow";
			s->refused = true;
		}
		else
		{
			if (out->item == NULL || found.item->number < out->item->number)
				*out = found;
			return;
		}
	}
}

void
lb_check_range(LbSubmit *s)
{
	OutOfRange	out = {.item = NULL};
	Scores		before;
	Scores		after;

	if (!s->doubtful)
		return;
	before.score = palloc(s->target->nboards * sizeof(int128));
	after.score = palloc(s->target->nboards * sizeof(int128));
	for (int p = 0; p < s->nplayers; p++)
		check_player(s, p, &before, &after, &out);
	if (out.item != NULL)
		raise_out_of_range(s, &out);
}
