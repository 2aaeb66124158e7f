/*-------------------------------------------------------------------------
 *
 * shard_board.c
 *	  What the board of a shard answers the server that asks all shards.
 *
 * A table that Citus distributes is one of many shards, tables on several servers,
 * and each shard has a board.  ask.c calls one of the functions lb_shard_... on each.
 *
 * They return null, or no counts, if the board cannot answer exactly, and then the other
 * server runs the query.  So they check that they read the right board.  The row of places
 * was made in the shard of places whose number it has: after a split it is in another
 * one.  The board has the shard's number in its name, and so has the board's table:
 * where a shard has moved to there is no such board at first.  That table is in the
 * schema of the shard of places, and of the same owner: a role that may make boards could
 * else take the name for a table of its own.  The columns are the same as on the server
 * that asks.
 *
 * All roles may call them: they read with the caller's rights, as lb_page() does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "boards/catalog.h"
#include "boards/shards.h"
#include "boards/spi.h"
#include "reads/functions.h"
#include "reads/rows.h"
#include "reads/section.h"
#include "reads/shard_board.h"

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

/* Whether a board's table is in the schema of a shard of places, and of its owner. */
static bool
is_beside(const LbDefinition *defn, Oid places)
{
	return get_rel_namespace(defn->source) == get_rel_namespace(places) &&
		defn->owner == lb_table_owner(places);
}

bool
lb_shard_begin(LbCall *call, FunctionCallInfo fcinfo)
{
	char	   *board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *value = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Oid			places = PG_GETARG_OID(5);

	lb_require_preload();
	lb_require_version();
	if (shard_of(places) != PG_GETARG_INT64(4) ||
		!find_board(call, board, value, PG_GETARG_INT64(3)) ||
		!is_beside(call->access.target.defn, places) ||
		lb_keys_hash(call->access.target.defn) != PG_GETARG_INT32(2))
		return false;
	lb_access_begin(&call->access, GetActiveSnapshot(), false,
					LB_READER_WRITE);
	return true;
}

static void
raise_words(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("not the words of a key")));
}

const int64 *
lb_shard_key(const LbShape *shape, const int64 *words, int nwords)
{
	if (nwords < 1 || nwords > LB_MAX_KEY_WORDS ||
		(nwords > 1 && !lb_is_key(shape, words, nwords)))
		raise_words();
	return words;
}

/* How many entries come before the key of that header, with the lock held. */
static int64
count_key(const LbView *view, const int64 *header)
{
	uint64		members;

	lb_view_spans(view, header + LB_KEY_HEADER,
				  header[LB_KEY_NWORDS] == 1 ? 1 : view->shape->width,
				  header[LB_KEY_INCLUSIVE] != 0, &members, NULL);
	return (int64) members;
}

/* How many keys there are in so many words; raises 22023 if these are none. */
static int
check_keys(const LbShape *shape, const int64 *words, int nwords)
{
	int			n = 0;
	int			at = 0;

	for (; at + LB_KEY_HEADER <= nwords; n++)
	{
		int64		length = words[at + LB_KEY_NWORDS];

		if (length < 1 || length > nwords - at - LB_KEY_HEADER)
			raise_words();
		at += LB_KEY_HEADER;
		(void) lb_shard_key(shape, words + at, (int) length);
		at += (int) length;
	}
	if (at != nwords)
		raise_words();
	return n;
}

/*
 * The answer of a board that cannot count: null if it is offline, and no numbers if the
 * cause is another one.
 */
static Datum
no_counts(FunctionCallInfo fcinfo, const LbAccess *access)
{
	switch (access->cause)
	{
		case LB_CAUSE_OFFLINE:
		case LB_CAUSE_RECOVERY:
		case LB_CAUSE_TRIGGER:
			PG_RETURN_NULL();
		default:
			return lb_bigint_array(NULL, 0);
	}
}

/*
 * lb_shard_counts(..., keys): how many entries the board has, and how many of them
 * come before each key.
 */
PG_FUNCTION_INFO_V1(lb_shard_counts);

Datum
lb_shard_counts(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(LB_SHARD_ARGS);
	const int64 *words = lb_bigint_elements(array);
	int64	   *counts;
	int			n;
	LbCall		call;

	if (!lb_shard_begin(&call, fcinfo) || ARR_HASNULL(array))
		PG_RETURN_NULL();
	n = check_keys(&call.access.target.defn->shape, words,
				   ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
	counts = palloc((n + 1) * sizeof(int64));
	if (!lb_access_lock(&call.access))
		return no_counts(fcinfo, &call.access);
	counts[0] = (int64) lb_view_members(&call.access.view);
	for (int i = 0; i < n; i++)
	{
		if (!lb_go_on(&call, i))
			return no_counts(fcinfo, &call.access);
		counts[i + 1] = count_key(&call.access.view, words);
		words += LB_KEY_HEADER + words[LB_KEY_NWORDS];
	}
	lb_access_unlock(&call.access);
	PG_RETURN_DATUM(lb_bigint_array(counts, n + 1));
}

/*
 * Take members from so many words, each with their number before them.  Raises 22023
 * if they are none.
 */
static void
take_members(const LbShape *shape, const int64 *words, int nwords,
			 LbMembers *members)
{
	uint32	   *places = palloc((1 + nwords / 2) * sizeof(uint32));

	memset(members, 0, sizeof(LbMembers));
	for (int at = 0; at < nwords; at += 1 + (int) words[at])
	{
		if (words[at] < 1 || words[at] >= nwords - at ||
			!lb_is_member(shape, words + at + 1, (int) words[at]))
			raise_words();
		places[members->n++] = (uint32) at + 1;
	}
	members->words = words;
	members->places = places;
	members->absent = palloc0(Max(1, members->n) * sizeof(bool));
}

/*
 * lb_shard_keys(..., members): the keys of those members that the board has, one
 * behind the other.
 */
PG_FUNCTION_INFO_V1(lb_shard_keys);

Datum
lb_shard_keys(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(LB_SHARD_ARGS);
	const LbShape *shape;
	LbMembers	members;
	LbRows		rows;
	int64	   *keys;
	int			used = 0;
	LbCall		call;

	if (!lb_shard_begin(&call, fcinfo) || ARR_HASNULL(array))
		PG_RETURN_NULL();
	shape = &call.access.target.defn->shape;
	take_members(shape, lb_bigint_elements(array),
				 ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)), &members);
	if (!lb_read_among_rows(&call, &members, &rows))
		PG_RETURN_NULL();
	for (int i = 0; i < rows.n; i++)
		used += lb_key_words(shape, lb_row(&rows, i) + LB_ROW_MEMBER);
	keys = palloc_extended(Max(1, used) * sizeof(int64), MCXT_ALLOC_HUGE);
	used = 0;
	for (int i = 0; i < rows.n; i++)
	{
		const int64 *key = lb_row(&rows, i) + LB_ROW_MEMBER;
		int			n = lb_key_words(shape, key);

		memcpy(keys + used, key, n * sizeof(int64));
		used += n;
	}
	PG_RETURN_DATUM(lb_bigint_array(keys, used));
}
