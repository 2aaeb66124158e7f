/*-------------------------------------------------------------------------
 *
 * shard_submit.c
 *	  Submits on the server of a shard: lb_shard_submit(),
 *	  lb_shard_submit_many().
 *
 * They do what lb_submit() and lb_submit_many() do, with the shards in the
 * place of the distributed tables (shard.c), and without ranks, which this
 * server does not know.  For these lb_shard_submit() can return, behind its
 * rows, a row for each board with the keys that the player had and has there.
 * The caller needs the same privileges, on the shards; Citus grants on them
 * what is granted on the table.
 *
 * The time comes as a number, since Citus would send a timestamptz as a text
 * in the style of the session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "boards/target.h"
#include "citus/companion.h"
#include "citus/shard.h"
#include "citus/words.h"
#include "reads/read.h"
#include "sql/spi.h"
#include "submit/submit.h"

PG_FUNCTION_INFO_V1(lb_shard_submit);
PG_FUNCTION_INFO_V1(lb_shard_submit_many);

/*
 * Arguments of lb_shard_submit(); lb_shard_submit_many() has arrays of some.
 */
enum
{
	ARG_PLAYER_ID,
	ARG_SHARD,
	ARG_LEADERBOARD,
	ARG_AMOUNT,
	ARG_OP,
	ARG_MATCH_ID,
	ARG_AT,
	ARG_BOARDS,
	ARG_METADATA,
	ARG_KEYS,
	ARG_EACH = ARG_BOARDS,
	ARG_ITEMS
};

/*
 * Begin a submit on the shard that has a player; returns what AtEOXact_GUC()
 * needs.  The arguments that it takes have the same numbers in both functions.
 */
static int
begin_on_shard(FunctionCallInfo fcinfo, LbSubmitCall *call, LbStandIn *in,
			   text *player)
{
	int			nestlevel;

	lb_begin_call(call, text_to_cstring(PG_GETARG_TEXT_PP(ARG_LEADERBOARD)));
	lb_shard_stand_in(in, player);
	call->stand_in = in;
	nestlevel = lb_begin_shard(call->leaderboard.name, call->leaderboard.family,
							   player, PG_GETARG_INT64(ARG_SHARD));
	call->op = lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(ARG_OP)), "");
	if (!IS_VALID_TIMESTAMP(PG_GETARG_INT64(ARG_AT)))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" is out of range", "at")));
	lb_set_time(call, PG_GETARG_INT64(ARG_AT));
	return nestlevel;
}

/* A board of a submit, and the player's key there before it. */
typedef struct BoardKey
{
	const char *name;
	const char *read_as;
	LbDefinition *defn;
	int64	   *former;
} BoardKey;

/* The player's keys on the boards, in a snapshot of their own. */
static BoardKey *
former_keys(const LbSubmitTarget *t, text *player)
{
	BoardKey   *keys = palloc(Max(1, t->nboards) * sizeof(BoardKey));

	PushActiveSnapshot(GetTransactionSnapshot());
	for (int b = 0; b < t->nboards; b++)
	{
		const LbSubmitBoard *board = &t->boards[b];
		BoardKey   *key = &keys[b];

		key->name = board->name;
		key->read_as = board->read_as;
		key->defn = lb_board_defn(t, board);
		if (!lb_key_in(key->read_as, player, key->defn, &key->former))
			key->former = NULL;
	}
	PopActiveSnapshot();
	return keys;
}

/* A key in a bytea, behind the hash of its columns. */
static Datum
key_datum(const LbDefinition *defn, const int64 *key)
{
	int64		words[1 + LB_MAX_KEY_WORDS];
	int			n = lb_key_words(&defn->shape, key);

	words[0] = lb_keys_hash(defn);
	memcpy(words + 1, key, n * sizeof(int64));
	return lb_words_datum(words, 1 + n);
}

/* Return a row for each of n boards, with the former key and that of now. */
static void
return_keys(FunctionCallInfo fcinfo, const BoardKey *keys, int n, text *player)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	PushActiveSnapshot(GetTransactionSnapshot());
	for (int i = 0; i < n; i++)
	{
		const BoardKey *key = &keys[i];
		int64	   *now;
		Datum		values[8] = {CStringGetTextDatum(key->name)};
		bool		nulls[8] = {false, true, true, true, true, true, true, true};

		if (key->former != NULL)
		{
			nulls[6] = false;
			values[6] = key_datum(key->defn, key->former);
		}
		if (lb_key_in(key->read_as, player, key->defn, &now) && now != NULL)
		{
			nulls[7] = false;
			values[7] = key_datum(key->defn, now);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	PopActiveSnapshot();
}

Datum
lb_shard_submit(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"member", "shard", "leaderboard",
	"amount", "op", NULL, "at", NULL, NULL, "keys"};
	const LbPlayerArgument player = {{names[ARG_PLAYER_ID], "lb_submit"}, true};
	LbSubmitCall call;
	LbSubmitTarget target;
	LbStandIn	in;
	LbSubmitItem item = {.amount = 0};
	BoardKey   *keys = NULL;
	int			nkeys = 0;
	int			nestlevel;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_shard_submit()");
	PreventCommandIfReadOnly("lb_shard_submit()");
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (names[i] != NULL && PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	SPI_connect();
	nestlevel = begin_on_shard(fcinfo, &call, &in,
							   PG_GETARG_TEXT_PP(ARG_PLAYER_ID));
	if (!PG_ARGISNULL(ARG_BOARDS))
		call.boards = PG_GETARG_ARRAYTYPE_P(ARG_BOARDS);
	if (!PG_ARGISNULL(ARG_METADATA))
		call.metadata = PG_GETARG_DATUM(ARG_METADATA);
	lb_find_boards(&target, &call);
	item.amount = PG_GETARG_INT64(ARG_AMOUNT);
	if (!PG_ARGISNULL(ARG_MATCH_ID))
		lb_set_match(&item, PG_GETARG_DATUM(ARG_MATCH_ID));
	lb_set_player(&target, &item, PG_GETARG_DATUM(ARG_PLAYER_ID), &player);
	if (PG_GETARG_BOOL(ARG_KEYS))
	{
		/* The lock on the boards can leave out some. */
		nkeys = target.nboards;
		keys = former_keys(&target, item.player_text);
	}
	lb_submit_one(fcinfo, &target, &item);
	if (nkeys > 0)
		return_keys(fcinfo, keys, nkeys, item.player_text);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
	return (Datum) 0;
}

/* Raise 40001 unless all players are in the shard. */
static void
check_players(const char *leaderboard, Datum *players, int n, int64 shard)
{
	int64	   *shards = palloc(n * sizeof(int64));

	lb_shards_of(lb_find_recorded(leaderboard), players, n, shards);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (shards[i] != shard)
			lb_raise_other_shard(leaderboard, DatumGetTextPP(players[i]), shard);
	}
}

/* The items of lb_shard_submit_many(), for the boards that were found. */
static LbSubmitItem *
make_items(FunctionCallInfo fcinfo, const LbSubmitTarget *t, Datum *players,
		   int n)
{
	LbSubmitItem *submitted = palloc0(n * sizeof(LbSubmitItem));
	const LbPlayerArgument argument = {{"members", "lb_submit_many"}, true};
	Datum	   *amounts;
	Datum	   *matches;
	Datum	   *items;
	bool	   *nulls;
	int			namounts;
	int			nmatches;
	int			nitems;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_AMOUNT), INT8OID, sizeof(int64),
					  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &amounts, NULL,
					  &namounts);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_MATCH_ID), TEXTOID, -1, false,
					  TYPALIGN_INT, &matches, &nulls, &nmatches);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_ITEMS), INT4OID, sizeof(int32),
					  true, TYPALIGN_INT, &items, NULL, &nitems);
	if (namounts != n || nmatches != n || nitems != n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must be of the same length")));
	for (int i = 0; i < n; i++)
	{
		LbSubmitItem *item = &submitted[i];

		CHECK_FOR_INTERRUPTS();
		item->amount = DatumGetInt64(amounts[i]);
		item->number = i;
		item->item = DatumGetInt32(items[i]);
		if (!nulls[i])
			lb_set_match(item, matches[i]);
		lb_set_player(t, item, players[i], &argument);
	}
	return submitted;
}

static void
return_outcome(FunctionCallInfo fcinfo, int number, const LbItemOutcome *outcome)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[4];
	bool		nulls[4] = {false, outcome == NULL,
		outcome == NULL || !outcome->has_score,
	outcome == NULL || outcome->limit == NULL};

	values[0] = Int32GetDatum(number);
	values[1] = nulls[1] ? (Datum) 0 : CStringGetTextDatum(outcome->status);
	values[2] = nulls[2] ? (Datum) 0 : Int64GetDatum(outcome->score);
	values[3] = nulls[3] ? (Datum) 0 : CStringGetTextDatum(outcome->limit);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* A row for each item, or one with the number of those that were applied. */
Datum
lb_shard_submit_many(PG_FUNCTION_ARGS)
{
	LbSubmitCall call;
	LbSubmitTarget target;
	LbSubmitItem *items;
	LbStandIn	in;
	Datum	   *players;
	int			n;
	int			nestlevel;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_shard_submit_many()");
	PreventCommandIfReadOnly("lb_shard_submit_many()");
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_PLAYER_ID), TEXTOID, -1, false,
					  TYPALIGN_INT, &players, NULL, &n);
	if (n == 0)
		return (Datum) 0;
	SPI_connect();
	nestlevel = begin_on_shard(fcinfo, &call, &in, DatumGetTextPP(players[0]));
	check_players(call.leaderboard.name, players, n, PG_GETARG_INT64(ARG_SHARD));
	lb_find_boards(&target, &call);
	items = make_items(fcinfo, &target, players, n);
	if (PG_GETARG_BOOL(ARG_EACH))
	{
		LbItemOutcome *outcomes = lb_submit_each_of(&target, items, n);

		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			return_outcome(fcinfo, i + 1, &outcomes[i]);
		}
	}
	else
		return_outcome(fcinfo, (int) lb_submit_all(&target, items, n), NULL);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
	return (Datum) 0;
}
