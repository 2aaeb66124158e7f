/*-------------------------------------------------------------------------
 *
 * asked.c
 *	  What the boards of shards answer the server that asks all shards.
 *
 * A table that Citus distributes is one of many shards, tables on several servers,
 * and each shard has a board.  ask.c calls one of the functions lb_shard_... on each
 * server, for all shards there, or for each shard.
 *
 * They return null, or no counts, if a board cannot answer exactly, and then the other
 * server runs the query.  So they check that they read the right boards.  The row of places
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

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "boards/catalog.h"
#include "boards/spi.h"
#include "citus/asked.h"
#include "citus/layout.h"
#include "citus/words.h"
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

/* Whether a board's table is in the schema of a shard of places, and of its owner. */
static bool
is_beside(const LbDefinition *defn, Oid places)
{
	return get_rel_namespace(defn->source) == get_rel_namespace(places) &&
		defn->owner == lb_table_owner(places);
}

/*
 * Find the list that begins with a shard, among lists of so many shards in all, each
 * behind their number.  Returns false if there is none.
 */
static bool
find_list(LbAsked *asked, const int64 *lists, int n, int64 shard)
{
	for (int at = 0; at < n; at += 1 + asked->n)
	{
		if (lists[at] < 1 || lists[at] >= n - at)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("not lists of shards")));
		asked->n = (int) lists[at];
		asked->shards = lists + at + 1;
		if (asked->shards[0] == shard)
			return true;
	}
	return false;
}

bool
lb_shard_asked(FunctionCallInfo fcinfo, LbAsked *asked)
{
	ArrayType  *lists = PG_GETARG_ARRAYTYPE_P(6);
	int			n = ArrayGetNItems(ARR_NDIM(lists), ARR_DIMS(lists));
	int64	   *shard = palloc(sizeof(int64));

	lb_require_preload();
	lb_require_version();
	asked->board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	asked->value = text_to_cstring(PG_GETARG_TEXT_PP(1));
	asked->keys_hash = PG_GETARG_INT32(2);
	asked->places = PG_GETARG_OID(5);
	*shard = PG_GETARG_INT64(3);
	asked->n = 1;
	asked->shards = shard;
	return shard_of(asked->places) == PG_GETARG_INT64(4) &&
		!ARR_HASNULL(lists) &&
		(n == 0 ||
		 find_list(asked, (const int64 *) ((char *) lists +
										   ARR_OVERHEAD_NONULLS(ARR_NDIM(lists))),
				   n, *shard));
}

bool
lb_shard_begin(LbCall *call, const LbAsked *asked, int i)
{
	CHECK_FOR_INTERRUPTS();
	if (!find_board(call, asked->board, asked->value, asked->shards[i]) ||
		!is_beside(call->access.target.defn, asked->places) ||
		lb_keys_hash(call->access.target.defn) != asked->keys_hash)
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

/* How many keys there are in so many words; raises 22023 if these are none. */
static int
check_keys(const LbShape *shape, const LbWords *wanted)
{
	int			n = 0;
	int			at = 0;

	for (; at + LB_KEY_HEADER <= wanted->n; n++)
	{
		int64		length = wanted->words[at + LB_KEY_NWORDS];

		if (length < 1 || length > wanted->n - at - LB_KEY_HEADER)
			raise_words();
		at += LB_KEY_HEADER;
		(void) lb_shard_key(shape, wanted->words + at, (int) length);
		at += (int) length;
	}
	if (at != wanted->n)
		raise_words();
	return n;
}

/* Keys of scores, or whole keys, one behind the other: their cache misses overlap. */
typedef struct Batch
{
	int			n;
	const int64 *keys[LB_PREFETCH_KEYS];
} Batch;

/*
 * Take the next of n keys that can be counted together.  Returns the words behind them.
 */
static const int64 *
take_batch(const int64 *words, int n, Batch *batch)
{
	bool		score = words[LB_KEY_NWORDS] == 1;
	int64		inclusive = words[LB_KEY_INCLUSIVE];

	for (batch->n = 0; batch->n < Min(n, LB_PREFETCH_KEYS) &&
		 (words[LB_KEY_NWORDS] == 1) == score &&
		 words[LB_KEY_INCLUSIVE] == inclusive; batch->n++)
	{
		batch->keys[batch->n] = words + LB_KEY_HEADER;
		words += LB_KEY_HEADER + words[LB_KEY_NWORDS];
	}
	return words;
}

/* Add how many entries come before each, with the lock held. */
static void
count_batch(const LbView *view, const Batch *batch, int64 *counts)
{
	const int64 *header = batch->keys[0] - LB_KEY_HEADER;
	int			nwords = header[LB_KEY_NWORDS] == 1 ? 1 : view->shape->width;
	LbCursor	places[LB_PREFETCH_KEYS];
	uint64		before[LB_PREFETCH_KEYS];

	if (header[LB_KEY_INCLUSIVE] != 0)
	{
		for (int i = 0; i < batch->n; i++)
			lb_view_spans(view, batch->keys[i], nwords, true, &before[i],
						  NULL);
	}
	else
	{
		for (int i = 0; i < batch->n; i++)
			places[i] = (LbCursor) {LB_NONE, 0};
		lb_view_spans_many(view, batch->keys, places, batch->n, nwords,
						   before, NULL);
	}
	for (int i = 0; i < batch->n; i++)
		counts[i] += (int64) before[i];
}

/*
 * Add how many entries a board has, and how many come before each of n keys.  Returns
 * false if the query must be run.
 */
static bool
count_keys(LbCall *call, const int64 *words, int n, int64 *counts)
{
	Batch		batch;

	if (!lb_access_lock(&call->access))
		return false;
	*counts++ += (int64) lb_view_members(&call->access.view);
	for (int i = 0; i < n; i += batch.n)
	{
		if (i > 0 && i / LB_YIELD_ROWS != (i - batch.n) / LB_YIELD_ROWS &&
			!lb_access_yield(&call->access))
			return false;
		words = take_batch(words, n - i, &batch);
		count_batch(&call->access.view, &batch, counts + i);
	}
	lb_access_unlock(&call->access);
	return true;
}

/* Whether a board could not count since it is offline. */
static bool
is_offline(const LbAccess *access)
{
	switch (access->cause)
	{
		case LB_CAUSE_OFFLINE:
		case LB_CAUSE_RECOVERY:
		case LB_CAUSE_TRIGGER:
			return true;
		default:
			return false;
	}
}

/*
 * lb_shard_counts(..., keys): how many entries the boards have, and how many of them
 * come before each key.  Null if a board is offline, and no numbers if one cannot count
 * for another cause.
 */
PG_FUNCTION_INFO_V1(lb_shard_counts);

Datum
lb_shard_counts(PG_FUNCTION_ARGS)
{
	LbWords		wanted = lb_datum_words(PG_GETARG_DATUM(LB_SHARD_ARGS));
	int64	   *counts = palloc0((1 + wanted.n) * sizeof(int64));
	int			n = 0;
	bool		counted = true;
	LbAsked		asked;

	if (!lb_shard_asked(fcinfo, &asked))
		PG_RETURN_NULL();
	for (int i = 0; i < asked.n; i++)
	{
		LbCall		call;

		if (!lb_shard_begin(&call, &asked, i))
			PG_RETURN_NULL();
		n = check_keys(&call.access.target.defn->shape, &wanted);
		if (!count_keys(&call, wanted.words, n, counts))
		{
			if (is_offline(&call.access))
				PG_RETURN_NULL();
			counted = false;
		}
	}
	PG_RETURN_DATUM(lb_words_datum(counts, counted ? n + 1 : 0));
}

/*
 * Take members from words, each with their number before them.  Raises 22023 if they
 * are none.
 */
static void
take_members(const LbShape *shape, const LbWords *words, LbMembers *members)
{
	uint32	   *places = palloc((1 + words->n / 2) * sizeof(uint32));

	memset(members, 0, sizeof(LbMembers));
	for (int at = 0; at < words->n; at += 1 + (int) words->words[at])
	{
		const int64 *member = words->words + at;

		if (member[0] < 1 || member[0] >= words->n - at ||
			!lb_is_member(shape, member + 1, (int) member[0]))
			raise_words();
		places[members->n++] = (uint32) at + 1;
	}
	members->words = words->words;
	members->places = places;
	members->absent = palloc0(Max(1, members->n) * sizeof(bool));
}

/* Keys, one behind the other. */
typedef struct Keys
{
	int64	   *words;
	Size		n;
	Size		room;
} Keys;

/* Add those of a board's rows. */
static void
add_keys(Keys *keys, const LbShape *shape, const LbRows *rows)
{
	for (int i = 0; i < rows->n; i++)
	{
		const int64 *key = lb_row(rows, i) + LB_ROW_MEMBER;
		int			n = lb_key_words(shape, key);

		if (keys->n + n > keys->room)
		{
			keys->room *= 2;
			keys->words = repalloc_huge(keys->words,
										keys->room * sizeof(int64));
		}
		memcpy(keys->words + keys->n, key, n * sizeof(int64));
		keys->n += n;
	}
}

/*
 * lb_shard_keys(..., members): the keys of those members that the boards have.
 */
PG_FUNCTION_INFO_V1(lb_shard_keys);

Datum
lb_shard_keys(PG_FUNCTION_ARGS)
{
	LbWords		wanted = lb_datum_words(PG_GETARG_DATUM(LB_SHARD_ARGS));
	Keys		keys = {.room = 8 * LB_MAX_KEY_WORDS};
	LbAsked		asked;

	if (!lb_shard_asked(fcinfo, &asked))
		PG_RETURN_NULL();
	keys.words = palloc(keys.room * sizeof(int64));
	for (int i = 0; i < asked.n; i++)
	{
		LbCall		call;
		const LbShape *shape;
		LbMembers	members;
		LbRows		rows;

		if (!lb_shard_begin(&call, &asked, i))
			PG_RETURN_NULL();
		shape = &call.access.target.defn->shape;
		take_members(shape, &wanted, &members);
		if (!lb_read_keys_rows(&call, &members, &rows))
			PG_RETURN_NULL();
		add_keys(&keys, &call.access.target.defn->shape, &rows);
		lb_free_rows(&rows);
	}
	PG_RETURN_DATUM(lb_words_datum(keys.words, (int) keys.n));
}
