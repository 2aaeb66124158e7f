/*-------------------------------------------------------------------------
 *
 * shard_page.c
 *	  What the board of a shard answers the server that merges the shards.
 *
 * A table that Citus distributes is one of many shards, tables on several servers,
 * and each shard has a board.  A server that reads all of them calls the function
 * below on each, in one statement that Citus sends to where the shards are: it reads
 * the table of places, which is distributed as the source is and has one row for
 * each shard.  merge.c makes one answer of the shards' answers.
 *
 * The function returns null if the board cannot answer exactly, and then the other
 * server runs the query.  So it checks that it reads the right board.  The row of
 * places was made in the shard of places whose number it has: after a split it is in
 * another one.  The board has the shard's number in its name, and so has the board's
 * table: where a shard has moved to there is no such board at first.  The columns are
 * the same as on the server that asks.
 *
 * Everyone may call it: it reads with the caller's rights, as lb_page() does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "boards/catalog.h"
#include "boards/spi.h"
#include "reads/functions.h"
#include "reads/rows.h"

/* The number of the shard that a table is, which its name ends with; or 0. */
static int64
shard_of(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *number = name == NULL ? NULL : strrchr(name, '_');

	return number == NULL ? 0 : strtoll(number + 1, NULL, 10);
}

/*
 * Find the shard's board, and begin to read it.  value is what follows the name of
 * the shard's board: nothing, or a colon and the value of a family's board.
 */
static bool
find_board(LbCall *call, const char *board, const char *value, int64 shard)
{
	char	   *name = psprintf("%s_" INT64_FORMAT, board, shard);
	int			len = strlen(name);
	char	   *whole = psprintf("%s%s", name, value);
	LbTarget	target;

	if (len > LB_MAX_NAME || !lb_look_up_name(whole, strlen(whole), &target) ||
		strcmp(target.defn->name, name) != 0 ||
		target.defn->family != target.has_value ||
		shard_of(target.defn->source) != shard)
		return false;
	memset(call, 0, sizeof(LbCall));
	call->form = LB_AS_TEXT;
	lb_call_find_own(call, whole, strlen(whole), &lb_page_function);
	call->method = LB_ROW_NUMBER;
	return true;
}

/* Take a key from an argument: nothing, a score's word, or all words. */
static const int64 *
take_key(const LbShape *shape, ArrayType *array, int *nwords)
{
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const int64 *words = lb_bigint_elements(array);

	if (ARR_HASNULL(array) || n > LB_MAX_KEY_WORDS ||
		(n > 1 && !lb_is_key(shape, words, n)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("not the words of a key")));
	*nwords = n;
	return words;
}

/* The array to return. */
static Datum
pack(const LbCall *call, const LbSection *section, const LbRows *rows)
{
	const LbShape *shape = &call->access.target.defn->shape;
	Size		nwords = LB_SHARD_HEADER;
	Size		size;
	ArrayType  *array;
	int64	   *word;

	for (int i = 0; i < rows->n; i++)
		nwords += 1 + lb_key_words(shape, lb_row(rows, i) + LB_ROW_MEMBER);
	size = ARR_OVERHEAD_NONULLS(1) + nwords * sizeof(int64);
	array = palloc(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = INT8OID;
	ARR_DIMS(array)[0] = (int) nwords;
	ARR_LBOUND(array)[0] = 1;
	word = lb_bigint_elements(array);
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
	return PointerGetDatum(array);
}

/*
 * lb_shard_page(board, value, keys, shard, self, places, from_key, upto_key, back, n,
 * even): the entries of a shard's board as LbSection has them.
 */
PG_FUNCTION_INFO_V1(lb_shard_page);

Datum
lb_shard_page(PG_FUNCTION_ARGS)
{
	char	   *board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *value = text_to_cstring(PG_GETARG_TEXT_PP(1));
	LbSection	section = {
		.back = PG_GETARG_INT32(8),
		.n = PG_GETARG_INT32(9),
		.even = PG_GETARG_BOOL(10)
	};
	const LbShape *shape;
	LbCall		call;
	LbRows		rows;

	lb_require_preload();
	lb_require_version();
	if (section.back < 0 || section.n < 0 || section.n > LB_MAX_SHARD_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of rows is out of range")));
	if (shard_of(PG_GETARG_OID(5)) != PG_GETARG_INT64(4) ||
		!find_board(&call, board, value, PG_GETARG_INT64(3)) ||
		lb_keys_hash(call.access.target.defn) != PG_GETARG_INT32(2))
		PG_RETURN_NULL();
	shape = &call.access.target.defn->shape;
	section.from = take_key(shape, PG_GETARG_ARRAYTYPE_P(6),
							&section.from_words);
	section.upto = take_key(shape, PG_GETARG_ARRAYTYPE_P(7),
							&section.upto_words);
	lb_access_begin(&call.access, GetActiveSnapshot(), false, LB_READER_WRITE);
	if (!lb_read_section(&call, &section, &rows))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(pack(&call, &section, &rows));
}
