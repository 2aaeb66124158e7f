/*-------------------------------------------------------------------------
 *
 * submit.c
 *	  Submitting scores: lb_submit(), lb_submit_many() and their twins.
 *
 * A submit writes to the row of a player on the board of a leaderboard, which is
 * called "global" here, and in each of its windows that contains a moment.  All functions run the same code: lb_submit()
 * is a batch of one change that returns ranks as well, lb_submit_each() submits a
 * batch again without what limits refuse, and the twins take players as text.  The
 * definitions of "global" and of the family "*" say which tables of the user
 * are written to, and what their columns are called.
 *
 * Each table gets one statement, or one for each run of windows with the same
 * operation (scores.c).  Every submit takes its locks in this order, so that
 * concurrent batches never wait for each other in a circle:
 *
 * 	1. rows of lb_entrant, by board and the player's text (FOR KEY SHARE)
 * 	2. keys of windows, against being closed (lb_window_lock, shared)
 * 	3. rows of lb_applied, by player and match
 * 	4. rows of lb_usage, by limit, board and the player's text
 * 	5. rows of "global", by player
 * 	6. rows of windows, by key and player
 * 	7. rows of lb_anomaly, by player, limit and board
 *
 * The row of "global" is locked even if only windows are written to: it
 * records whether the player is hidden.  The order holds for rows that do not
 * exist yet as well, since inserting one makes other transactions wait at its
 * unique index.  So one pass locks and inserts rows, by ON CONFLICT, in the
 * order of the arrays that the statement unnests.
 *
 * lb_submit_match() writes to several leaderboards: it locks the rows of lb_entrant
 * and the keys of all, then the rows of lb_applied of all, and then the other rows of
 * one leaderboard after the other.  Each step takes the leaderboards in the order of
 * their names.
 *
 * Ranks are read between the statements, in snapshots of their own: while a
 * statement is running, the index does not know its changes.
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
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "boards/resolve.h"
#include "boards/spi.h"
#include "reads/read.h"
#include "service/applied.h"
#include "service/entrant.h"
#include "service/event.h"
#include "service/forward.h"
#include "service/limit.h"
#include "service/player.h"
#include "service/scores.h"
#include "service/submit.h"

/* The longest match_id, in bytes: it must fit into an index. */
#define MAX_MATCH_ID 1000

PG_FUNCTION_INFO_V1(lb_submit);
PG_FUNCTION_INFO_V1(lb_submit_key);
PG_FUNCTION_INFO_V1(lb_submit_many);
PG_FUNCTION_INFO_V1(lb_submit_match);
PG_FUNCTION_INFO_V1(lb_submit_match_key);
PG_FUNCTION_INFO_V1(lb_submit_many_key);
PG_FUNCTION_INFO_V1(lb_submit_each);
PG_FUNCTION_INFO_V1(lb_submit_each_key);

int			lb_max_clock_skew = 300;
bool		lb_submit_ranks = true;


/* ----------------------------------------------------------------
 *		The core
 * ----------------------------------------------------------------
 */

/*
 * The player's ranks, in a snapshot of their own.  On a shard there are none: the
 * server that has sent the submit reads them.
 */
static void
read_ranks(LbSubmit *s, bool previous)
{
	bool		number = s->players_of->plain_member;

	if (!lb_submit_ranks || s->on_shard != NULL)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	for (int b = 0; b < s->nboards; b++)
	{
		LbSubmitBoard *board = &s->boards[b];
		LbRankNow	now;

		lb_rank_now(board->read_as, number ? LB_AS_BIGINT : LB_AS_TEXT,
					number ? s->players[0] :
					PointerGetDatum(s->player_texts[0]), &now);
		if (previous)
		{
			board->has_previous = now.has_rank;
			board->previous = now.rank;
			continue;
		}
		board->has_rank = now.has_rank;
		board->rank = now.rank;
		if (now.has_score && !board->known[0])
		{
			board->known[0] = true;
			board->has_score[0] = true;
			board->scores[0] = now.score;
		}
	}
	PopActiveSnapshot();
}

/* lb_submit()'s answer: ranks and scores as they are now. */
static void
read_answer(LbSubmit *s)
{
	read_ranks(s, false);

	/* A hidden player's score is in the table only. */
	for (int b = 0; b < s->nboards; b++)
	{
		if (!s->boards[b].known[0])
			lb_read_missing_scores(s, b, 1);
	}
}

/*
 * Write the submission, check it against the limits, and log it.  With answer,
 * also read what lb_submit() returns.  Between SPI_connect and SPI_finish.
 */
static void
apply(LbSubmit *s, bool answer)
{
	if (s->nopen == 0)
	{
		if (answer)
			read_answer(s);
		return;
	}
	s->need_scores = answer || s->each || lb_events ||
		lb_limits_need_scores(s);
	lb_limits_before(s);
	if (s->refused)
		return;
	lb_find_entering(s);
	if (!lb_write_single(s))
	{
		if (s->write_global)
			lb_write_global(s);
		lb_write_windows(s);
	}
	else if (!answer && s->need_scores)
	{
		for (int b = 0; b < s->nboards; b++)
			lb_read_missing_scores(s, b, 1);
	}
	if (answer)
		read_answer(s);
	lb_limits_after(s);
	if (lb_events)
		lb_log_events(s);
}

static void
check_match_id(const char *match_id)
{
	if (strlen(match_id) > MAX_MATCH_ID)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("match_id is too long"),
				 errdetail("It has %d bytes, the most is %d.",
						   (int) strlen(match_id), MAX_MATCH_ID)));
}

void
lb_begin_leaderboard(LbSubmit *s, const char *name)
{
	memset(s, 0, sizeof(LbSubmit));
	s->leaderboard = *lb_require_leaderboard(name);
	s->op = s->leaderboard.op;
}

/* Check that the function can be called. */
static void
begin_call(const LbPlayerArgument *argument)
{
	const char *function = argument->argument.function == NULL ?
		"lb_submit_json()" : psprintf("%s%s()", argument->argument.function,
									  argument->as_text ? "_key" : "");

	(void) lb_require_catalog();
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
}

/* Set the time of a submit; raises 22008. */
static void
set_time(LbSubmit *s, TimestampTz at)
{
	s->at = at;
	if (TIMESTAMP_NOT_FINITE(s->at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" must be finite", "at")));
	if (lb_max_clock_skew >= 0 &&
		s->at - lb_max_clock_skew * USECS_PER_SEC > GetCurrentTimestamp())
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" is in the future: \"%s\"", "at",
						timestamptz_to_str(s->at)),
				 errdetail("It is more than %d seconds ahead of the server's clock.",
						   lb_max_clock_skew),
				 errhint("Submit scores when they have been made; \"leaderboard.max_clock_skew\" sets how far ahead another clock may be.")));
}

/*
 * Check the arguments that all functions have.  The last one names the leaderboard;
 * the functions of version 0.2.0 do not have it.  lb_submit() has boards before it.
 */
static void
begin_submit(FunctionCallInfo fcinfo, LbSubmit *s,
			 const LbPlayerArgument *argument, const char *const *names,
			 int last)
{
	bool		named = PG_NARGS() > last;

	begin_call(argument);
	for (int i = 0; i < 5; i++)
	{
		if (names[i] != NULL && PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	if (named && PG_ARGISNULL(last))
		lb_null_argument("leaderboard");
	lb_begin_leaderboard(s, named ? text_to_cstring(PG_GETARG_TEXT_PP(last)) :
						 LB_GLOBAL);
	if (!PG_ARGISNULL(2))
		s->op = lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(2)),
								last <= 5 ? "" : " Boards are named in \"boards\", a leaderboard in \"leaderboard\".");
	set_time(s, PG_GETARG_TIMESTAMPTZ(4));
}


/* ----------------------------------------------------------------
 *		lb_submit
 * ----------------------------------------------------------------
 */

static void
return_row(FunctionCallInfo fcinfo, const LbAnswer *answer, bool applied)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[5];
	bool		nulls[5];

	memset(nulls, false, sizeof(nulls));
	values[0] = CStringGetTextDatum(answer->board);
	values[1] = Int64GetDatum(answer->score);
	nulls[1] = !answer->has_score;
	values[2] = Int64GetDatum(answer->rank);
	nulls[2] = !answer->has_rank;
	values[3] = Int64GetDatum(answer->previous);
	nulls[3] = !answer->has_previous;
	values[4] = BoolGetDatum(applied);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return what was returned for this match before, if it has been kept. */
static bool
return_kept(FunctionCallInfo fcinfo, const LbSubmit *s,
			const LbSubmitItem *item)
{
	LbAnswer   *answers;
	int			n = lb_kept_answers(s, item, &answers);

	for (int i = 0; i < n; i++)
		return_row(fcinfo, &answers[i], false);
	return n > 0;
}

/* Return the scores and ranks that have been read. */
static LbAnswer *
return_answers(FunctionCallInfo fcinfo, const LbSubmit *s, bool applied)
{
	LbAnswer   *answers = palloc(Max(1, s->nboards) * sizeof(LbAnswer));

	for (int b = 0; b < s->nboards; b++)
	{
		const LbSubmitBoard *board = &s->boards[b];
		LbAnswer   *answer = &answers[b];

		answer->board = board->name;
		answer->has_score = board->has_score[0];
		answer->has_rank = board->has_rank;
		answer->has_previous = board->has_previous;
		answer->score = board->scores[0];
		answer->rank = board->rank;
		answer->previous = board->previous;
		return_row(fcinfo, answer,
				   applied && !board->closed && !lb_kept_out(s, board));
	}
	return answers;
}

void
lb_set_player(const LbSubmit *s, LbSubmitItem *item, Datum value,
			  const LbPlayerArgument *argument)
{
	value = lb_player_from(s->players_of, s->type, value, argument);
	item->player = lb_player_as_stored(s->players_of, value);
	item->player_text = DatumGetTextPP(lb_value_to_text(s->type, item->player));
}

void
lb_set_metadata(LbSubmit *s, Datum metadata)
{
	s->has_metadata = true;
	s->metadata = metadata;
	if (s->write_global)
		lb_require_metadata(s->global);
	if (s->windows != NULL)
		lb_require_metadata(s->windows);
}

/*
 * Lock what the items' players have joined, and windows against being closed.
 * This can leave out boards, which the players are set for afterwards.  Between
 * SPI_connect and SPI_finish.
 */
static void
lock_boards(LbSubmit *s)
{
	lb_lock_entrants(s);
	lb_submission_lock(s);
}

void
lb_submit_one(FunctionCallInfo fcinfo, LbSubmit *s, LbSubmitItem *item)
{
	LbAnswer   *answers;
	bool		applied = true;

	s->items = item;
	s->nitems = 1;
	lock_boards(s);
	lb_submission_set_players(s);
	/* A submit that writes nothing does not use up the match. */
	if (item->match_id != NULL && s->nopen > 0)
	{
		lb_claim_matches(s);
		applied = s->nitems == 1;
		if (!applied && return_kept(fcinfo, s, item))
			return;
	}
	read_ranks(s, true);
	if (applied)
		apply(s, true);
	else
		read_answer(s);
	answers = return_answers(fcinfo, s, applied);
	if (applied && item->match_id != NULL && s->nopen > 0)
		lb_keep_answers(s, item, answers, s->nboards);
}

/* Send a submit to the player's shard, and read the ranks from all shards. */
static void
forward_one(FunctionCallInfo fcinfo, LbSubmit *s, LbSubmitItem *item,
			Datum boards)
{
	LbForwarded *rows;
	int			n;

	s->items = item;
	s->nitems = 1;
	lb_submission_set_players(s);
	read_ranks(s, true);
	n = lb_forward(s, boards, &rows);
	read_ranks(s, false);
	for (int i = 0; i < n; i++)
	{
		LbAnswer   *answer = &rows[i].answer;

		for (int b = 0; b < s->nboards; b++)
		{
			const LbSubmitBoard *board = &s->boards[b];

			if (strcmp(board->name, answer->board) != 0)
				continue;
			answer->has_rank = board->has_rank;
			answer->has_previous = board->has_previous;
			answer->rank = board->rank;
			answer->previous = board->previous;
		}
		return_row(fcinfo, answer, rows[i].applied);
	}
}

Datum
lb_submit_as(FunctionCallInfo fcinfo, const LbPlayerArgument *argument)
{
	static const char *const names[] = {"player_id", "amount", NULL, NULL, "at"};
	LbSubmit	s;
	LbSubmitItem item;
	Datum		boards = PG_ARGISNULL(5) ? (Datum) 0 : PG_GETARG_DATUM(5);

	begin_submit(fcinfo, &s, argument, names, 6);
	memset(&item, 0, sizeof(item));
	item.amount = PG_GETARG_INT64(1);
	if (!PG_ARGISNULL(3))
	{
		item.match_id = text_to_cstring(PG_GETARG_TEXT_PP(3));
		check_match_id(item.match_id);
	}
	/* The caller has looked up the columns already. */
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	lb_submission_set_boards(&s, PG_ARGISNULL(5) ? NULL :
							 DatumGetArrayTypeP(boards));
	if (PG_NARGS() > 7 && !PG_ARGISNULL(7))
		lb_set_metadata(&s, PG_GETARG_DATUM(7));
	lb_set_player(&s, &item, PG_GETARG_DATUM(0), argument);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (lb_is_forwarded(&s))
		forward_one(fcinfo, &s, &item, boards);
	else
		lb_submit_one(fcinfo, &s, &item);
	SPI_finish();
	return (Datum) 0;
}

Datum
lb_submit(PG_FUNCTION_ARGS)
{
	const LbPlayerArgument player = {{"player_id", "lb_submit"}, false};

	return lb_submit_as(fcinfo, &player);
}

Datum
lb_submit_key(PG_FUNCTION_ARGS)
{
	const LbPlayerArgument player = {{"player_id", "lb_submit"}, true};

	return lb_submit_as(fcinfo, &player);
}


/* ----------------------------------------------------------------
 *		lb_submit_match
 * ----------------------------------------------------------------
 */

static int
submit_cmp(const void *a, const void *b)
{
	return strcmp(((const LbSubmit *) a)->leaderboard.name,
				  ((const LbSubmit *) b)->leaderboard.name);
}

/* The amount that a value of the object is; raises 22023, 22P02 or 22003. */
static int64
match_amount(const JsonbValue *v, const char *leaderboard)
{
	LbArgument	argument = {.name = leaderboard};
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = lb_argument_context,
		.arg = &argument
	};
	int64		amount;

	if (v->type != jbvNumeric)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the amount for leaderboard \"%s\" must be a number",
						leaderboard)));

	/* Through text: a fraction is an error. */
	error_context_stack = &context;
	amount = DatumGetInt64(DirectFunctionCall1(int8in,
											   DirectFunctionCall1(numeric_out,
																   NumericGetDatum(v->val.numeric))));
	error_context_stack = context.previous;
	return amount;
}

/*
 * The submits of an object with an amount for each leaderboard, in the order in
 * which their rows are locked; returns how many.
 */
static int
match_submits(Jsonb *amounts, const LbSubmitItem *item, TimestampTz at,
			  LbSubmit **submits)
{
	JsonbIterator *it = JsonbIteratorInit(&amounts->root);
	JsonbIteratorToken token;
	JsonbValue	v;
	LbSubmit   *s = NULL;
	int			n = 0;

	if (!JB_ROOT_IS_OBJECT(amounts))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the amounts of a match must be a json object"),
				 errhint("It has leaderboards and amounts, as in %s.",
						 "'{\"kills\": 7, \"wins\": 1}'")));
	*submits = palloc(Max(1, JB_ROOT_COUNT(amounts)) * sizeof(LbSubmit));
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			s = &(*submits)[n++];
			lb_begin_leaderboard(s, pnstrdup(v.val.string.val, v.val.string.len));
			set_time(s, at);
		}
		else if (token == WJB_VALUE)
		{
			s->items = palloc(sizeof(LbSubmitItem));
			*s->items = *item;
			s->items->amount = match_amount(&v, s->leaderboard.name);
			s->nitems = 1;
		}
	}
	qsort(*submits, n, sizeof(LbSubmit), submit_cmp);
	return n;
}

/*
 * Claim the match on each leaderboard.  Returns whether it is new on all of them, and
 * raises 23505 if it is on some only: then it is not the same match.
 */
static bool
claim_match(LbSubmit *submits, int n)
{
	const LbSubmit *new = NULL;
	const LbSubmit *old = NULL;

	for (int i = 0; i < n; i++)
	{
		lb_claim_matches(&submits[i]);
		if (submits[i].nitems == 1)
			new = &submits[i];
		else
			old = &submits[i];
	}
	if (new != NULL && old != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("match \"%s\" of player \"%s\" has been submitted to leaderboard \"%s\", but not to \"%s\"",
						new->items->match_id,
						text_to_cstring(new->items->player_text),
						old->leaderboard.name, new->leaderboard.name),
				 errhint("Submit a match to all its leaderboards by one call.")));
	return old == NULL;
}

/*
 * lb_submit_match(), or its twin.  Each step is done on all leaderboards before the
 * next, except that the rows of one are all written before those of the next.
 */
static Datum
submit_match(FunctionCallInfo fcinfo, bool as_text)
{
	static const char *const names[] = {"player_id", "amounts", NULL, "at"};
	const LbPlayerArgument argument = {{names[0], "lb_submit_match"}, as_text};
	LbSubmitItem item;
	LbSubmit   *submits;
	bool		applied = true;
	int			n;

	begin_call(&argument);
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (names[i] != NULL && PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	memset(&item, 0, sizeof(item));
	if (!PG_ARGISNULL(2))
	{
		item.match_id = text_to_cstring(PG_GETARG_TEXT_PP(2));
		check_match_id(item.match_id);
	}
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	n = match_submits(PG_GETARG_JSONB_P(1), &item, PG_GETARG_TIMESTAMPTZ(3),
					  &submits);
	for (int i = 0; i < n; i++)
	{
		lb_submission_set_boards(&submits[i], NULL);
		lb_refuse_forwarded(&submits[i]);
		lb_set_player(&submits[i], submits[i].items, PG_GETARG_DATUM(0), &argument);
	}
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0; i < n; i++)
	{
		lock_boards(&submits[i]);
		lb_submission_set_players(&submits[i]);
	}
	if (item.match_id != NULL)
		applied = claim_match(submits, n);
	for (int i = 0; i < n; i++)
	{
		LbSubmit   *s = &submits[i];
		LbAnswer   *answers;

		if (!applied && return_kept(fcinfo, s, s->items))
			continue;
		read_ranks(s, true);
		if (applied)
			apply(s, true);
		else
			read_answer(s);
		answers = return_answers(fcinfo, s, applied);
		if (applied && item.match_id != NULL)
			lb_keep_answers(s, s->items, answers, s->nboards);
	}
	SPI_finish();
	return (Datum) 0;
}

Datum
lb_submit_match(PG_FUNCTION_ARGS)
{
	return submit_match(fcinfo, false);
}

Datum
lb_submit_match_key(PG_FUNCTION_ARGS)
{
	return submit_match(fcinfo, true);
}


/* ----------------------------------------------------------------
 *		lb_submit_many
 * ----------------------------------------------------------------
 */

/* The rows to be written must fit into arrays. */
static void
check_size(int nchanges, int nboards)
{
	if (nchanges > (int) (MaxAllocSize / sizeof(LbSubmitItem)) ||
		(int64) nchanges * nboards > (int64) (MaxAllocSize / sizeof(Datum)))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many changes for one call"),
				 errdetail("There are %d changes on %d boards.", nchanges,
						   nboards),
				 errhint("Submit them in several calls.")));
}

/* Raise 2202E unless an array has as many elements as player_ids. */
static void
require_length(const char *name, int length, int nplayers)
{
	if (length != nplayers)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must be of the same length"),
				 errdetail("\"%s\" has %d elements and \"%s\" has %d.",
						   "player_ids", nplayers, name, length)));
}

/* The items of lb_submit_many(), without their players. */
static void
set_items(FunctionCallInfo fcinfo, LbSubmit *s, int n)
{
	Datum	   *amounts;
	Datum	   *matches = NULL;
	bool	   *nulls;
	bool	   *match_nulls = NULL;
	int			length;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), INT8OID, sizeof(int64),
					  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &amounts, &nulls,
					  &length);
	require_length("amounts", length, n);
	if (!PG_ARGISNULL(3))
	{
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(3), TEXTOID, -1, false,
						  TYPALIGN_INT, &matches, &match_nulls, &length);
		require_length("match_ids", length, n);
	}
	check_size(n, 1);
	s->items = palloc0(Max(1, n) * sizeof(LbSubmitItem));
	s->nitems = n;
	for (int i = 0; i < n; i++)
	{
		LbSubmitItem *item = &s->items[i];

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			lb_null_element("amounts");
		item->amount = DatumGetInt64(amounts[i]);
		item->number = i;
		if (matches != NULL && !match_nulls[i])
		{
			item->match_id = TextDatumGetCString(matches[i]);
			check_match_id(item->match_id);
		}
	}
}

/*
 * Check the arguments of a call for many players, and find its boards and its
 * items; returns how many items there are.
 */
static int
begin_many(FunctionCallInfo fcinfo, LbSubmit *s,
		   const LbPlayerArgument *argument)
{
	static const char *const names[] = {"player_ids", "amounts", NULL, NULL, "at"};
	Datum	   *players;
	bool	   *nulls;
	int			n;

	begin_submit(fcinfo, s, argument, names, 5);
	lb_require_some_write(&s->leaderboard);
	if (argument->as_text)
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false,
						  TYPALIGN_INT, &players, &nulls, &n);
	else
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), INT8OID, sizeof(int64),
						  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &players, &nulls,
						  &n);
	set_items(fcinfo, s, n);
	if (n == 0)
		return 0;
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			lb_null_element("player_ids");
	}
	lb_submission_set_boards(s, NULL);
	lb_refuse_forwarded(s);
	check_size(n, s->nboards);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		lb_set_player(s, &s->items[i], players[i], argument);
	}
	return n;
}

/* Claim the matches of the items, and write those that are not repeated. */
static void
apply_many(LbSubmit *s)
{
	if (s->nopen > 0)
		lb_claim_matches(s);
	if (s->nitems > 0)
	{
		lb_submission_set_players(s);
		apply(s, false);
	}
}

/* lb_submit_many(), or its twin, which takes elements of text. */
static Datum
submit_many(FunctionCallInfo fcinfo, bool as_text)
{
	const LbPlayerArgument argument = {{"player_ids", "lb_submit_many"}, as_text};
	LbSubmit	s;

	if (begin_many(fcinfo, &s, &argument) == 0)
		PG_RETURN_INT64(0);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	lock_boards(&s);
	apply_many(&s);
	SPI_finish();
	PG_RETURN_INT64(s.nopen > 0 ? s.nitems : 0);
}

Datum
lb_submit_many(PG_FUNCTION_ARGS)
{
	return submit_many(fcinfo, false);
}

Datum
lb_submit_many_key(PG_FUNCTION_ARGS)
{
	return submit_many(fcinfo, true);
}


/* ----------------------------------------------------------------
 *		lb_submit_each
 * ----------------------------------------------------------------
 */

/* What became of an item. */
typedef struct Outcome
{
	const char *status;
	const char *limit;			/* that refused it, or NULL */
	bool		has_score;
	int64		score;
} Outcome;

/*
 * Submit items whose players are not found yet.  Returns false, with nothing
 * written, if limits have refused some.  A subtransaction releases the locks of
 * rows, so the next attempt takes its locks in the order of submits.
 */
static bool
attempt(LbSubmit *s)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	s->refused = false;
	s->nplayers = 0;
	s->by_text = NULL;
	s->nanomalies = 0;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		apply_many(s);
	}
	PG_CATCH();
	{
		/* The transaction is aborted only where its own level is. */
		RollbackAndReleaseCurrentSubTransaction();
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (s->refused)
		RollbackAndReleaseCurrentSubTransaction();
	else
		ReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return !s->refused;
}

/*
 * Submit n items, and say what became of each.  Changes of one player are one
 * change.  So if a limit refuses their sum or the score, it refuses all of
 * them; but an amount that is too large, only that item.
 */
static Outcome *
submit_items(LbSubmit *s)
{
	int			n = s->nitems;
	LbSubmitItem *all = s->items;
	Outcome    *outcomes = palloc0(n * sizeof(Outcome));
	int			left = n;
	bool		done = false;

	while (left > 0 && !done)
	{
		LbSubmitItem *items = palloc(left * sizeof(LbSubmitItem));

		s->items = items;
		s->nitems = 0;
		for (int i = 0; i < n; i++)
		{
			if (all[i].refused == NULL)
				items[s->nitems++] = all[i];
		}
		done = attempt(s);
		for (int i = 0; i < s->nitems; i++)
		{
			int			number = items[i].number;

			if (!done && items[i].refused == NULL)
				continue;
			all[number].refused = items[i].refused;
			outcomes[number].limit = items[i].refused;
			outcomes[number].status = done ? "applied" : "limit";
			left -= !done;
		}
	}
	for (int p = 0; done && p < s->nplayers; p++)
	{
		int			end = p + 1 < s->nplayers ? s->first[p + 1] : s->nitems;

		for (int i = s->first[p]; i < end; i++)
		{
			Outcome    *outcome = &outcomes[s->items[i].number];

			if (!s->ranked[p])
				outcome->status = "hidden";
			outcome->has_score = s->boards[0].has_score[p];
			outcome->score = s->boards[0].scores[p];
		}
	}
	s->items = all;
	s->nitems = n;
	return outcomes;
}

/* lb_submit_each(), or its twin. */
static Datum
submit_each(FunctionCallInfo fcinfo, bool as_text)
{
	const LbPlayerArgument argument = {{"player_ids", "lb_submit_each"}, as_text};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	LbSubmit	s;
	Outcome    *outcomes;

	InitMaterializedSRF(fcinfo, 0);
	if (begin_many(fcinfo, &s, &argument) == 0)
		return (Datum) 0;
	s.each = true;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	lock_boards(&s);
	outcomes = submit_items(&s);
	for (int i = 0; i < s.nitems; i++)
	{
		const Outcome *outcome = &outcomes[i];
		Datum		values[5];
		bool		nulls[5] = {false};

		values[0] = Int32GetDatum(i + 1);
		values[1] = as_text ? PointerGetDatum(s.items[i].player_text) :
			s.items[i].player;
		values[2] = CStringGetTextDatum(outcome->status == NULL ? "duplicate" :
										outcome->status);
		nulls[3] = !outcome->has_score;
		values[3] = Int64GetDatum(outcome->score);
		nulls[4] = outcome->limit == NULL;
		values[4] = nulls[4] ? (Datum) 0 : CStringGetTextDatum(outcome->limit);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	SPI_finish();
	return (Datum) 0;
}

Datum
lb_submit_each(PG_FUNCTION_ARGS)
{
	return submit_each(fcinfo, false);
}

Datum
lb_submit_each_key(PG_FUNCTION_ARGS)
{
	return submit_each(fcinfo, true);
}
