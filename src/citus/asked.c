/*-------------------------------------------------------------------------
 *
 * asked.c
 *	  What the boards of shards answer the server that asks all shards.
 *
 * A table that Citus distributes is one of many shards, tables on several
 * servers, and each shard has a board.  ask.c calls one of the functions
 * lb_shard_... on each server, for all shards there, or for each shard.
 *
 * They return null, or no counts, if a board cannot answer exactly, and then
 * the other server runs the query.  So they check that they read the right
 * boards.  The row of places was made in the shard of places whose number it
 * has: after a split it is in another one.  The board has the shard's number
 * in its name, and so has the board's table: where a shard has moved to there
 * is no such board at first.  That table is in the schema of the shard of
 * places, and of the same owner: a role that may make boards could else take
 * the name for a table of its own.  The columns are the same as on the server
 * that asks.
 *
 * All roles may call them: they read with the caller's rights, as lb_page()
 * does.
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
#include "citus/layout.h"
#include "citus/words.h"
#include "reads/functions.h"
#include "reads/rows.h"
#include "sql/spi.h"

PG_FUNCTION_INFO_V1(lb_shard_ask);

/*
 * The most bytes of an answer for several shards: with more, each is asked for
 * itself.
 */
#define MAX_ANSWER (64 * 1024 * 1024)

/* What is asked of the boards of this server's shards. */
typedef struct LbAsked
{
	char	   *board;			/* the first LB_SHARD_ARGS (words.h) */
	char	   *value;
	int32		keys_hash;
	Oid			places;
	int			n;				/* shards that an answer is wanted for */
	const int64 *shards;
} LbAsked;

/* The number of the shard that a table is, which its name ends with; or 0. */
static int64
shard_of(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *number = name == NULL ? NULL : strrchr(name, '_');

	return number == NULL ? 0 : strtoll(number + 1, NULL, 10);
}

/*
 * Find the shard's board, and begin to read it.  value is what follows the
 * name of the shard's board: nothing, or a colon and the value of a family's
 * board.
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

/*
 * Whether a board's table is in the schema of a shard of places, and of its
 * owner.
 */
static bool
is_beside(const LbDefinition *defn, Oid places)
{
	return get_rel_namespace(defn->source) == get_rel_namespace(places) &&
		defn->owner == lb_table_owner(places);
}

/*
 * Find the list that begins with a shard.  Each list has the number of its
 * shards in front.  Returns false if there is none.
 */
static bool
find_list(LbAsked *asked, const int64 *lists, int n, int64 shard)
{
	for (int at = 0; at < n; at += 1 + asked->n)
	{
		CHECK_FOR_INTERRUPTS();
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

/*
 * Take the first LB_SHARD_ARGS.  Returns false if the row of places is of
 * another shard, or the first in none of the lists.  Raises 22023 if they are
 * no lists.
 */
static bool
take_asked(FunctionCallInfo fcinfo, LbAsked *asked)
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

/*
 * Find the board of the i-th of these shards, and begin to read it.  Returns
 * false if there is no such board.  Can raise.
 */
static bool
begin_shard(LbCall *call, const LbAsked *asked, int i)
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

/*
 * Returns the words if they are a score's or a whole key's.  Else raises
 * 22023.
 */
static const int64 *
check_key(const LbShape *shape, const int64 *words, int nwords)
{
	if (nwords < 1 || nwords > LB_MAX_KEY_WORDS ||
		(nwords > 1 && !lb_is_key(shape, words, nwords)))
		raise_words();
	return words;
}

/* How many keys the words are; raises 22023 if they are no keys. */
static int
check_keys(const LbShape *shape, const LbWords *wanted)
{
	int			n = 0;
	int			at = 0;

	for (; at + LB_KEY_HEADER <= wanted->n; n++)
	{
		int64		length = wanted->words[at + LB_KEY_NWORDS];

		CHECK_FOR_INTERRUPTS();
		if (length < 1 || length > wanted->n - at - LB_KEY_HEADER)
			raise_words();
		at += LB_KEY_HEADER;
		(void) check_key(shape, wanted->words + at, (int) length);
		at += (int) length;
	}
	if (at != wanted->n)
		raise_words();
	return n;
}

/*
 * Keys of scores, or whole keys, one behind the other: their cache misses
 * overlap.
 */
typedef struct Batch
{
	int			n;
	const int64 *keys[LB_PREFETCH_KEYS];
} Batch;

/*
 * Take the next of n keys that can be counted together.  Returns the words
 * behind them.
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

static const LbCursor nowhere = {LB_NONE, 0};

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
			places[i] = nowhere;
		lb_view_spans_many(view, batch->keys, places, batch->n, nwords,
						   before, NULL);
	}
	for (int i = 0; i < batch->n; i++)
		counts[i] += (int64) before[i];
}

/*
 * Add how many entries a board has, and how many come before each of n keys.
 * Returns false if the query must be run.
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

/*
 * Whether a board could not count since it is offline, or has a row whose text
 * is too long for a key.
 */
static bool
is_offline(const LbAccess *access)
{
	switch (access->cause)
	{
		case LB_CAUSE_OFFLINE:
		case LB_CAUSE_RECOVERY:
		case LB_CAUSE_TRIGGER:
			return true;
		case LB_CAUSE_LIMIT:
			return lb_access_lacks_row(access);
		default:
			return false;
	}
}

/*
 * LB_ASK_COUNTS: how many entries the boards have, and how many of them come
 * before each key.  Null as is_offline() says, and no numbers if a board
 * cannot count for another cause.
 */
static Datum
answer_counts(FunctionCallInfo fcinfo, const LbWords *wanted)
{
	int64	   *counts = palloc0((1 + wanted->n) * sizeof(int64));
	int			n = 0;
	bool		counted = true;
	LbAsked		asked;

	if (!take_asked(fcinfo, &asked))
		PG_RETURN_NULL();
	for (int i = 0; i < asked.n; i++)
	{
		LbCall		call;

		if (!begin_shard(&call, &asked, i))
			PG_RETURN_NULL();
		n = check_keys(&call.access.target.defn->shape, wanted);
		if (!count_keys(&call, wanted->words, n, counts))
		{
			if (is_offline(&call.access))
				PG_RETURN_NULL();
			counted = false;
		}
	}
	PG_RETURN_DATUM(lb_words_datum(counts, counted ? n + 1 : 0));
}

/*
 * Take members from words, each with their number before them.  Raises 22023
 * if they are none.
 */
static void
take_members(const LbShape *shape, const LbWords *words, LbMembers *members)
{
	uint32	   *places = palloc((1 + words->n / 2) * sizeof(uint32));

	memset(members, 0, sizeof(LbMembers));
	for (int at = 0; at < words->n; at += 1 + (int) words->words[at])
	{
		const int64 *member = words->words + at;

		CHECK_FOR_INTERRUPTS();
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

		CHECK_FOR_INTERRUPTS();
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

/* LB_ASK_KEYS: the keys of those members that the boards have. */
static Datum
answer_keys(FunctionCallInfo fcinfo, const LbWords *wanted)
{
	Keys		keys = {.room = 8 * LB_MAX_KEY_WORDS};
	LbAsked		asked;

	if (!take_asked(fcinfo, &asked))
		PG_RETURN_NULL();
	keys.words = palloc(keys.room * sizeof(int64));
	for (int i = 0; i < asked.n; i++)
	{
		LbCall		call;
		const LbShape *shape;
		LbMembers	members;
		LbRows		rows;

		if (!begin_shard(&call, &asked, i))
			PG_RETURN_NULL();
		shape = &call.access.target.defn->shape;
		take_members(shape, wanted, &members);
		if (!lb_read_keys_rows(&call, &members, &rows))
			PG_RETURN_NULL();
		add_keys(&keys, &call.access.target.defn->shape, &rows);
		lb_free_rows(&rows);
	}
	PG_RETURN_DATUM(lb_words_datum(keys.words, (int) keys.n));
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
	{
		CHECK_FOR_INTERRUPTS();
		nwords += 1 + lb_key_words(shape, lb_row(rows, i) + LB_ROW_MEMBER);
	}
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

		CHECK_FOR_INTERRUPTS();
		*word++ = row[LB_ROW_RANK];
		memcpy(word, key, n * sizeof(int64));
		word += n;
	}
}

/* LB_ASK_PAGE: for each shard the entries of its board. */
static Datum
answer_page(FunctionCallInfo fcinfo, const LbWords *wanted)
{
	const int64 *page = wanted->words;
	int			nkeys = wanted->n - LB_PAGE_HEADER;
	LbSection	section;
	Answer		answer = {.words = NULL};
	LbAsked		asked;

	if (nkeys < 0 || page[LB_PAGE_FROM_WORDS] < 0 ||
		page[LB_PAGE_FROM_WORDS] > nkeys)
		raise_words();
	if (page[LB_PAGE_BACK] < 0 || page[LB_PAGE_BACK] > PG_INT32_MAX ||
		page[LB_PAGE_N] < 0 || page[LB_PAGE_N] > LB_MAX_SHARD_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of rows is out of range")));
	section = (LbSection)
	{
		.back = page[LB_PAGE_BACK],
			.n = page[LB_PAGE_N],
			.even = page[LB_PAGE_EVEN] != 0,
			.from = page + LB_PAGE_HEADER,
			.from_words = (int) page[LB_PAGE_FROM_WORDS],
			.upto = page + LB_PAGE_HEADER + page[LB_PAGE_FROM_WORDS],
			.upto_words = nkeys - (int) page[LB_PAGE_FROM_WORDS]
	};
	if (!take_asked(fcinfo, &asked))
		PG_RETURN_NULL();
	for (int i = 0; i < asked.n; i++)
	{
		const LbShape *shape;
		LbCall		call;
		LbRows		rows;

		if (!begin_shard(&call, &asked, i))
			PG_RETURN_NULL();
		shape = &call.access.target.defn->shape;
		if (section.from_words > 0)
			(void) check_key(shape, section.from, section.from_words);
		if (section.upto_words > 0)
			(void) check_key(shape, section.upto, section.upto_words);
		if (!lb_read_section(&call, &section, &rows))
			PG_RETURN_NULL();
		pack(&answer, &call.access.target.defn->shape, &section, &rows);
		lb_free_rows(&rows);
		if (asked.n > 1 && answer.n * sizeof(int64) > MAX_ANSWER)
			PG_RETURN_NULL();
	}
	PG_RETURN_DATUM(lb_words_datum(answer.words, (int) answer.n));
}

/* Answer a question for shards of this server; null if that cannot be done. */
Datum
lb_shard_ask(PG_FUNCTION_ARGS)
{
	LbWords		question = lb_datum_words(PG_GETARG_DATUM(LB_SHARD_ARGS));
	LbWords		rest = {question.n - 1, question.words + 1};

	switch (question.n == 0 ? -1 : question.words[0])
	{
		case LB_ASK_COUNTS:
			return answer_counts(fcinfo, &rest);
		case LB_ASK_KEYS:
			return answer_keys(fcinfo, &rest);
		case LB_ASK_PAGE:
			return answer_page(fcinfo, &rest);
		default:
			raise_words();
			PG_RETURN_NULL();
	}
}
