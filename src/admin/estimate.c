/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  How much memory a board will take.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "boards/definition.h"
#include "boards/options.h"
#include "boards/shared.h"
#include "boards/types.h"
#include "index/skiplist.h"

PG_FUNCTION_INFO_V1(lb_estimate_memory);
PG_FUNCTION_INFO_V1(lb_estimate_memory_key);

/* The bytes that a board takes at most, after any updates. */
static int64
estimate(int64 members, const LbShape *shape, int key_words)
{
	if (members < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: " INT64_FORMAT,
						"members", members)));

	/* With the longest keys a member takes about half of that. */
	if (members > PG_INT64_MAX / 4096)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range")));
	return (LB_CHUNK_SIZE << LB_BOARD_ORDER) +
		(int64) lb_index_estimate(members, shape, key_words);
}

/*
 * The entries of a board: one for each member, or for each distinct score.
 * Raises 22023 or 22004 if the number of these is not given, or given in vain.
 */
static int64
count_entries(FunctionCallInfo fcinfo, bool counts)
{
	int64		members = PG_GETARG_INT64(0);

	if (!counts && PG_ARGISNULL(3))
		return members;
	if (!counts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is of boards that keep counts",
						"distinct_scores"),
				 errhint("Give keeps => 'counts' as well.")));
	if (PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", "distinct_scores"),
				 errdetail("A board that keeps counts takes memory for each distinct score."),
				 errhint("SELECT count(DISTINCT score) says how many there are.")));
	if (PG_GETARG_INT64(3) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: " INT64_FORMAT,
						"distinct_scores", PG_GETARG_INT64(3))));
	return Min(members, PG_GETARG_INT64(3));
}

Datum
lb_estimate_memory(PG_FUNCTION_ARGS)
{
	int32		columns;
	int64		entries;
	bool		counts;
	LbShape		shape;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	columns = PG_GETARG_INT32(1);
	if (columns < 1 || columns > LB_MAX_RANK_COLUMNS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d",
						"columns", columns),
				 errhint("A board ranks by 1 to %d columns.",
						 LB_MAX_RANK_COLUMNS)));
	counts = lb_keeps_counts(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	entries = count_entries(fcinfo, counts);
	shape = counts ? lb_counts_shape(columns) : lb_fixed_shape(columns + 1, 1);
	PG_RETURN_INT64(estimate(entries, &shape, shape.width));
}

/*
 * Append the words of columns of these types to words[], which has n.  Returns
 * how many it has then.
 */
static int
add_types(ArrayType *array, LbRole first, LbRole further, uint8 *words, int n)
{
	const char *argument = first == LB_ROLE_SCORE ? "rank_by" : "member";
	int			max = first == LB_ROLE_SCORE ? LB_MAX_RANK_COLUMNS :
		LB_MAX_MEMBER_COLUMNS;
	Datum	   *types;
	bool	   *nulls;
	int			ntypes;

	deconstruct_array(array, REGTYPEOID, sizeof(Oid), true, TYPALIGN_INT,
					  &types, &nulls, &ntypes);
	if (ntypes < 1 || ntypes > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must have 1 to %d types", argument,
						max)));
	for (int i = 0; i < ntypes; i++)
	{
		LbRole		role = i == 0 ? first : further;
		Oid			type = nulls[i] ? InvalidOid : DatumGetObjectId(types[i]);
		int			type_words = lb_type_words(type, role);

		if (type_words == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("argument \"%s\" has an unsupported type: %s",
							argument, nulls[i] ? "null" :
							format_type_extended(type, -1, FORMAT_TYPE_ALLOW_INVALID)),
					 errhint("Accepted types: %s.", lb_types_for(role))));
		words[n++] = (uint8) type_words;
	}
	return n;
}

Datum
lb_estimate_memory_key(PG_FUNCTION_ARGS)
{
	int64		members = PG_GETARG_INT64(0);
	int32		text_bytes = PG_GETARG_INT32(3);
	uint8		words[LB_MAX_KEY_COLUMNS];
	int			key_words = 0;
	int			nrank;
	int			n;
	LbShape		shape;

	nrank = add_types(PG_GETARG_ARRAYTYPE_P(1), LB_ROLE_SCORE, LB_ROLE_TIE,
					  words, 0);
	n = add_types(PG_GETARG_ARRAYTYPE_P(2), LB_ROLE_MEMBER, LB_ROLE_MEMBER,
				  words, nrank);
	if (text_bytes < 0 || text_bytes > LB_MAX_TEXT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d",
						"text_bytes", text_bytes),
				 errhint("A text in a key has at most %d bytes.",
						 LB_MAX_TEXT)));
	shape = lb_make_shape(words, nrank, n);
	for (int i = 0; i < n; i++)
		key_words += words[i] == LB_TEXT ? text_bytes / 8 + 1 : words[i];
	if (key_words > LB_MAX_KEY_WORDS || shape.width > LB_MAX_WIDTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the columns make a key that is too long for the index")));
	PG_RETURN_INT64(estimate(members, &shape, key_words));
}
