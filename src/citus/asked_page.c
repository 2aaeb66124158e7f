/*-------------------------------------------------------------------------
 *
 * asked_page.c
 *	  Pages of the boards of shards.
 *
 * lb_shard_page() is one of the questions of shard_board.c; merge.c asks it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "citus/asked.h"
#include "citus/words.h"
#include "reads/rows.h"

/* The most bytes of an answer for several shards: with more, each is asked for itself. */
#define MAX_ANSWER (64 * 1024 * 1024)

/* Take a key from an argument; it can have no words. */
static const int64 *
take_key(const LbShape *shape, const LbWords *key)
{
	return key->n == 0 ? NULL : lb_shard_key(shape, key->words, key->n);
}

/* The words to return, of all boards. */
typedef struct Answer
{
	int64	   *words;
	Size		n;
} Answer;

/* Add those of one board. */
static void
pack(Answer *answer, const LbShape *shape, const LbSection *section,
	 const LbRows *rows)
{
	Size		nwords = LB_SHARD_HEADER;
	int64	   *word;

	for (int i = 0; i < rows->n; i++)
		nwords += 1 + lb_key_words(shape, lb_row(rows, i) + LB_ROW_MEMBER);
	answer->words = answer->words == NULL ?
		palloc_extended(nwords * sizeof(int64), MCXT_ALLOC_HUGE) :
		repalloc_huge(answer->words, (answer->n + nwords) * sizeof(int64));
	word = answer->words + answer->n;
	answer->n += nwords;
	word[LB_SHARD_BEFORE] = section->before;
	word[LB_SHARD_UPTO] = section->before_upto;
	word[LB_SHARD_BETTER] = section->better;
	word[LB_SHARD_ROWS] = rows->n;
	word += LB_SHARD_HEADER;
	for (int i = 0; i < rows->n; i++)
	{
		const int64 *row = lb_row(rows, i);
		const int64 *key = row + LB_ROW_MEMBER;
		int			n = lb_key_words(shape, key);

		*word++ = row[LB_ROW_RANK];
		memcpy(word, key, n * sizeof(int64));
		word += n;
	}
}

/*
 * lb_shard_page(..., from_key, upto_key, back, n, even): for each shard the entries of
 * its board as LbSection has them.
 */
PG_FUNCTION_INFO_V1(lb_shard_page);

Datum
lb_shard_page(PG_FUNCTION_ARGS)
{
	LbWords		from = lb_datum_words(PG_GETARG_DATUM(LB_SHARD_ARGS));
	LbWords		upto = lb_datum_words(PG_GETARG_DATUM(LB_SHARD_ARGS + 1));
	LbSection	section = {
		.from_words = from.n,
		.upto_words = upto.n,
		.back = PG_GETARG_INT32(LB_SHARD_ARGS + 2),
		.n = PG_GETARG_INT32(LB_SHARD_ARGS + 3),
		.even = PG_GETARG_BOOL(LB_SHARD_ARGS + 4)
	};
	Answer		answer = {.words = NULL};
	LbAsked		asked;

	if (section.back < 0 || section.n < 0 || section.n > LB_MAX_SHARD_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of rows is out of range")));
	if (!lb_shard_asked(fcinfo, &asked))
		PG_RETURN_NULL();
	for (int i = 0; i < asked.n; i++)
	{
		const LbShape *shape;
		LbCall		call;
		LbRows		rows;

		if (!lb_shard_begin(&call, &asked, i))
			PG_RETURN_NULL();
		shape = &call.access.target.defn->shape;
		section.from = take_key(shape, &from);
		section.upto = take_key(shape, &upto);
		if (!lb_read_section(&call, &section, &rows))
			PG_RETURN_NULL();
		pack(&answer, &call.access.target.defn->shape, &section, &rows);
		lb_free_rows(&rows);
		if (asked.n > 1 && answer.n * sizeof(int64) > MAX_ANSWER)
			PG_RETURN_NULL();
	}
	PG_RETURN_DATUM(lb_words_datum(answer.words, (int) answer.n));
}
