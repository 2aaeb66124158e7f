/*-------------------------------------------------------------------------
 *
 * shard_page.c
 *	  Pages of the board of a shard.
 *
 * lb_shard_page() is one of the questions of shard_board.c; merge.c asks it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "reads/rows.h"
#include "reads/section.h"
#include "reads/shard_board.h"

/* Take a key from an argument; it can have no words. */
static const int64 *
take_key(const LbShape *shape, ArrayType *array, int *nwords)
{
	*nwords = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (*nwords == 0)
		return NULL;
	return lb_shard_key(shape, lb_bigint_elements(array),
						ARR_HASNULL(array) ? 0 : *nwords);
}

/* The array to return. */
static Datum
pack(const LbCall *call, const LbSection *section, const LbRows *rows)
{
	const LbShape *shape = &call->access.target.defn->shape;
	Size		nwords = LB_SHARD_HEADER;
	int64	   *words;
	int64	   *word;

	for (int i = 0; i < rows->n; i++)
		nwords += 1 + lb_key_words(shape, lb_row(rows, i) + LB_ROW_MEMBER);
	words = word = palloc(nwords * sizeof(int64));
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
	return lb_bigint_array(words, (int) nwords);
}

/*
 * lb_shard_page(board, value, keys, shard, self, places, from_key, upto_key, back, n,
 * even): the entries of a shard's board as LbSection has them.
 */
PG_FUNCTION_INFO_V1(lb_shard_page);

Datum
lb_shard_page(PG_FUNCTION_ARGS)
{
	LbSection	section = {
		.back = PG_GETARG_INT32(8),
		.n = PG_GETARG_INT32(9),
		.even = PG_GETARG_BOOL(10)
	};
	const LbShape *shape;
	LbCall		call;
	LbRows		rows;

	if (section.back < 0 || section.n < 0 || section.n > LB_MAX_SHARD_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of rows is out of range")));
	if (!lb_shard_begin(&call, fcinfo))
		PG_RETURN_NULL();
	shape = &call.access.target.defn->shape;
	section.from = take_key(shape, PG_GETARG_ARRAYTYPE_P(6),
							&section.from_words);
	section.upto = take_key(shape, PG_GETARG_ARRAYTYPE_P(7),
							&section.upto_words);
	if (!lb_read_section(&call, &section, &rows))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(pack(&call, &section, &rows));
}
