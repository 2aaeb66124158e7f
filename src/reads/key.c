/*-------------------------------------------------------------------------
 *
 * key.c
 *	  Whole keys as operands, and tie-breakers as answers.
 *
 * A place in the order of a board is a key: a score, the tie-breakers, a
 * member.  Where a page ends, the next one begins behind the key of its last
 * row, whatever has become of that row since.  Rows of several boards with the
 * same columns are in one order by their keys.
 *
 * Tie-breakers are texts in an array, in the form of their types, since there
 * can be several of several types.  The query returns their values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/lists.h"
#include "boards/live.h"
#include "boards/resolve.h"
#include "reads/key.h"
#include "reads/text.h"
#include "sql/spi.h"

/* How many words column i of a key has there, where they begin at words. */
static int
column_words(const LbDefinition *defn, int i, const int64 *words)
{
	int			n = defn->columns[i].type->words;

	return n == LB_TEXT ? lb_count_words(&defn->shape, i, i + 1, words) : n;
}

static pg_noinline void
raise_ties(const LbDefinition *defn, int n)
{
	int			nties = defn->nrank_by - 1;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("wrong number of tie-breakers for board \"%s\": %d instead of %d",
					defn->name, n, nties),
			 nties == 0 ?
			 errhint("It is ranked by \"%s\": pass '{}'.",
					 lb_format_rank_by(defn->columns, defn->nrank_by)) :
			 errhint("It is ranked by \"%s\": pass a value of each column but the first, as text.",
					 lb_format_rank_by(defn->columns, defn->nrank_by))));
}

/*
 * Append the words of the score and of the tie-breakers.  If another engine
 * keeps the rows, make these what can be sent there.  Returns false if no key
 * has them.
 */
static bool
append_rank_by(const LbCall *call, Datum *ties, int64 *key, int *used)
{
	const LbDefinition *defn = call->access.target.defn;
	LbScoreOperand score = lb_call_score_operand(call, 1);
	bool		fits = score.floor == score.ceil;

	key[(*used)++] = lb_call_score_word(call, score.floor);
	for (int i = 1; i < defn->nrank_by; i++)
	{
		const LbColumn *column = &defn->columns[i];
		Datum		value = lb_value_from_text(column->type, ties[i - 1]);
		int64		words[LB_MAX_KEY_WORDS];

		if (defn->problem == lb_engine_problem)
			ties[i - 1] = lb_value_to_text(column->type, value);

		/* Each text is converted, as the query does. */
		fits = lb_append_words(key, used, words,
							   lb_encode(column, value, words)) && fits;
	}
	return fits;
}

/* Append the words of the member.  Returns false if no key has them. */
static bool
append_member(const LbCall *call, int64 *key, int *used)
{
	const LbShape *shape = &call->access.target.defn->shape;
	int64		word;
	const int64 *member = lb_call_member(call, &word);

	return member != NULL &&
		lb_append_words(key, used, member, lb_member_length(shape, member));
}

/* An ErrorContextCallback for these. */
static void
ties_context(void *arg)
{
	const LbCall *call = (const LbCall *) arg;

	errcontext("argument \"ties\" of %s%s()", call->name,
			   call->form == LB_AS_BIGINT ? "" : "_key");
}

void
lb_convert_key(LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;
	int64	   *key = palloc0(LB_MAX_KEY_WORDS * sizeof(int64));
	Datum	   *ties;
	bool	   *nulls;
	int			n;
	int			used = 0;
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = ties_context,
		.arg = call
	};

	call->key = NULL;
	call->nulls[0] = call->nulls[0] || call->nulls[1] || call->nulls[2];
	if (call->nulls[2])
		return;
	deconstruct_array(DatumGetArrayTypeP(call->operands[2]), TEXTOID, -1,
					  false, TYPALIGN_INT, &ties, &nulls, &n);
	if (n != defn->nrank_by - 1)
		raise_ties(defn, n);
	for (int i = 0; i < n; i++)
		call->nulls[0] = call->nulls[0] || nulls[i];
	if (call->nulls[0])
		return;

	error_context_stack = &context;
	if (append_rank_by(call, ties, key, &used) &&
		append_member(call, key, &used))
		call->key = key;
	error_context_stack = context.previous;

	/* The query has them by subscripts from 1. */
	call->operands[2] = lb_make_array(TEXTOID, ties, nulls, n);
}

bool
lb_count_before_rows(LbCall *call, Datum *result, bool *isnull)
{
	bool		inclusive = DatumGetBool(call->operands[3]);
	const LbView *view = &call->access.view;
	uint64		members;
	int64		count;

	if (call->access.query)
	{
		if (lb_distributed == NULL ||
			!lb_distributed->count_before(call, inclusive, &count))
			return false;
		*result = Int64GetDatum(count);
		return true;
	}
	if (!lb_access_lock(&call->access))
		return false;
	if (call->key == NULL)
	{
		/* Only a comparison of values says where it would be. */
		return lb_call_unlock(call, false);
	}
	lb_view_spans(view, call->key, view->shape->width, inclusive, &members,
				  NULL);
	lb_access_unlock(&call->access);
	*result = Int64GetDatum((int64) members);
	return true;
}

void
lb_decode_rank_by(const LbDefinition *defn, const int64 *key, Datum *values)
{
	for (int i = 0; i < defn->nrank_by; i++)
	{
		const LbColumn *column = &defn->columns[i];
		int64		words[LB_MAX_KEY_WORDS];
		int			n = column_words(defn, i, key);

		for (int w = 0; w < n; w++)
			words[w] = lb_directed(key[w], column->descending);
		values[i] = column->type->decode(column, words);
		key += n;
	}
}

Datum
lb_ties_of_key(const LbCall *call, const int64 *key)
{
	const LbDefinition *defn = call->access.target.defn;
	Datum		values[LB_MAX_RANK_COLUMNS];

	lb_decode_rank_by(defn, key, values);
	return lb_ties_to_text(defn, values + 1);
}

bool
lb_key_is_sure(const LbCall *call, const int64 *key)
{
	const LbDefinition *defn = call->access.target.defn;
	bool		sure = true;

	for (int i = 0; i < defn->nrank_by; i++)
	{
		sure = sure && !lb_is_unsure(call->access.shared, &defn->columns[i],
									 key[0]);
		key += column_words(defn, i, key);
	}
	return sure;
}
