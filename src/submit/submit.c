/*-------------------------------------------------------------------------
 *
 * submit.c
 *	  Submitting scores: lb_submit(), lb_submit_match() and their twins.
 *
 * A submit writes to the row of a player on the board of a leaderboard, which
 * is called "global" here, and in each of its windows that contains a moment.
 * All functions run the same code: lb_submit() is a batch of one change that
 * returns ranks as well, lb_submit_each() submits a batch again without what
 * limits refuse, and the twins take players as text.  The definitions of
 * "global" and of the family "*" say which tables of the user are written to,
 * and what their columns are called.
 *
 * Each table gets one statement, or one for each run of windows with the same
 * operation (scores.c).  Every submit takes its locks in this order, so that
 * concurrent batches never wait for each other in a circle:
 *
 * 	1. rows of lb_entrant, by board and the player's text (FOR KEY SHARE)
 * 	2. keys of windows, against being closed (lb_window_lock, shared)
 * 	3. rows of lb_applied, by player and match
 * 	4. rows of lb_usage, by limit, board and the player's text
 * 	5. players who have no row of "global" (lb_lock_hidden), by player, and
 * 	   rows of "global", by player
 * 	6. rows of windows, by key and player
 * 	7. rows of lb_anomaly, by player, limit and board
 *
 * lb_hide() records that the player is hidden, in lb_hidden, and then takes of
 * each leaderboard locks 5 and 6.  A submit locks the row of "global" even if
 * only windows are written to, and looks into lb_hidden afterwards.  So either
 * lb_hide() waits for it and sees its new rows of windows, or it waits for
 * lb_hide() and sees the record.  A player without that row is locked in its
 * place before the look-up, and until rows of the player are there, for which
 * lb_hide() waits by itself (hide.c).  A batch locks some of these players at
 * a time: locks would not suffice for all of them.
 *
 * The order holds for rows that do not
 * exist yet as well, since inserting one makes other transactions wait at its
 * unique index.  So one pass locks and inserts rows, by ON CONFLICT, in the
 * order of the arrays that the statement unnests.
 *
 * lb_submit_match() writes to several leaderboards: it locks the rows of
 * lb_entrant and the keys of all, then the rows of lb_applied of all, and then
 * the other rows of one leaderboard after the other.  Each step takes the
 * leaderboards in the order of their names.
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
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "boards/distributed.h"
#include "boards/resolve.h"
#include "leaderboards/player.h"
#include "reads/read.h"
#include "sql/spi.h"
#include "submit/applied.h"
#include "submit/entrants.h"
#include "submit/event.h"
#include "submit/limit.h"
#include "submit/score_range.h"
#include "submit/scores.h"
#include "submit/submit.h"

/* The longest match_id, in bytes: it must fit into an index. */
#define MAX_MATCH_ID 1000

PG_FUNCTION_INFO_V1(lb_submit);
PG_FUNCTION_INFO_V1(lb_submit_key);
PG_FUNCTION_INFO_V1(lb_submit_match);
PG_FUNCTION_INFO_V1(lb_submit_match_key);

int			lb_max_clock_skew = 300;
bool		lb_submit_ranks = true;


/* ----------------------------------------------------------------
 *		The core
 * ----------------------------------------------------------------
 */

/*
 * The player's ranks, in a snapshot of their own.  Where other tables stand in
 * there are none: the server that has forwarded the submit reads them.
 */
static void
read_ranks(LbSubmit *s, bool previous)
{
	bool		number = s->players_of->plain_member;

	if (!lb_submit_ranks || s->stand_in != NULL)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	for (int b = 0; b < s->nboards; b++)
	{
		LbSubmitBoard *board = &s->boards[b];
		LbRankNow	now;

		lb_rank_now(board->read_as, number ? LB_AS_BIGINT : LB_AS_TEXT,
					number ? s->players[0] :
					PointerGetDatum(s->player_texts[0]),
					s->only_forwarded, &now);
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

void
lb_apply(LbSubmit *s, bool answer)
{
	bool		single;

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
	single = lb_write_single(s);
	if (!single)
	{
		if (s->write_global)
			lb_write_global(s);
		lb_write_windows(s);
	}
	lb_end_entering(s);
	if (single && !answer && s->need_scores)
	{
		for (int b = 0; b < s->nboards; b++)
			lb_read_missing_scores(s, b, 1);
	}
	lb_check_range(s);
	if (s->refused)
		return;
	if (answer)
		read_answer(s);
	lb_limits_after(s);
	if (lb_events)
		lb_log_events(s);
}

void
lb_check_match_id(const char *match_id)
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

void
lb_set_time(LbSubmit *s, TimestampTz at)
{
	s->at = at;
	if (TIMESTAMP_NOT_FINITE(s->at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" must be finite", "at")));

	/* now() is no such time, also if the clock was set back since. */
	if (lb_max_clock_skew >= 0 &&
		s->at - lb_max_clock_skew * USECS_PER_SEC >
		Max(GetCurrentTimestamp(), GetCurrentTransactionStartTimestamp()))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" is in the future: \"%s\"", "at",
						timestamptz_to_str(s->at)),
				 errdetail("It is more than %d seconds ahead of the server's clock.",
						   lb_max_clock_skew),
				 errhint("Submit scores when they have been made; \"leaderboard.max_clock_skew\" sets how far ahead another clock may be.")));
}

void
lb_begin_submit(FunctionCallInfo fcinfo, LbSubmit *s,
				const LbPlayerArgument *argument, const char *const *names,
				int leaderboard_arg, const char *op_hint)
{
	begin_call(argument);
	for (int i = 0; i <= LB_ARG_AT; i++)
	{
		if (names[i] != NULL && PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	if (PG_ARGISNULL(leaderboard_arg))
		lb_null_argument("leaderboard");
	lb_begin_leaderboard(s, text_to_cstring(PG_GETARG_TEXT_PP(leaderboard_arg)));
	if (!PG_ARGISNULL(LB_ARG_OP))
		s->op = lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(LB_ARG_OP)),
								op_hint);
	lb_set_time(s, PG_GETARG_TIMESTAMPTZ(LB_ARG_AT));
}


/* ----------------------------------------------------------------
 *		lb_submit
 * ----------------------------------------------------------------
 */

/*
 * Return a row.  A function that is forwarded has a last column, whether the
 * match has been submitted before, which other functions do not show.
 */
static void
return_row(FunctionCallInfo fcinfo, const LbAnswer *answer, bool applied,
		   bool repeated)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[6];
	bool		nulls[6];

	memset(nulls, false, sizeof(nulls));
	values[0] = CStringGetTextDatum(answer->board);
	values[1] = Int64GetDatum(answer->score);
	nulls[1] = !answer->has_score;
	values[2] = Int64GetDatum(answer->rank);
	nulls[2] = !answer->has_rank;
	values[3] = Int64GetDatum(answer->previous);
	nulls[3] = !answer->has_previous;
	values[4] = BoolGetDatum(applied);
	values[5] = BoolGetDatum(repeated);
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
		return_row(fcinfo, &answers[i], false, true);
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
				   applied && !board->closed && !lb_kept_out(s, board),
				   !applied);
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
		lb_require_metadata(s->scores_board);
	if (s->windows != NULL)
		lb_require_metadata(s->windows);
}

void
lb_lock_boards(LbSubmit *s)
{
	lb_lock_entrants(s);
	lb_submission_lock(s);

	/*
	 * Before ranks and rows are read: a player who has a row on "global" is
	 * not looked up in lb_hidden, so lb_close_season() must not remove it
	 * meanwhile.
	 */
	if (s->write_global)
		LockRelationOid(s->scores_board->source, RowExclusiveLock);
}

void
lb_submit_one(FunctionCallInfo fcinfo, LbSubmit *s, LbSubmitItem *item)
{
	LbAnswer   *answers;
	bool		applied = true;

	s->items = item;
	s->nitems = 1;
	lb_lock_boards(s);
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
		lb_apply(s, true);
	else
		read_answer(s);
	answers = return_answers(fcinfo, s, applied);
	if (applied && item->match_id != NULL && s->nopen > 0)
		lb_keep_answers(s, item, answers, s->nboards);
}

/*
 * Forward a submit to the server that has the player's rows, and read the
 * ranks here.  Returns whether its match had been submitted before.
 */
static bool
forward_one(FunctionCallInfo fcinfo, LbSubmit *s, LbSubmitItem *item,
			Datum boards)
{
	LbForwarded *rows;
	bool		repeated = false;
	int			n;

	s->items = item;
	s->nitems = 1;
	lb_submission_set_players(s);
	read_ranks(s, true);
	n = lb_require_distributed()->forward(s, boards, &rows);
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
		return_row(fcinfo, answer, rows[i].applied, rows[i].repeated);
		repeated |= rows[i].repeated;
	}
	return repeated;
}

/* Arguments of lb_submit() after those that lb_submit_many() has too. */
enum
{
	ARG_BOARDS = LB_ARG_AT + 1,
	ARG_LEADERBOARD,
	ARG_METADATA
};

Datum
lb_submit_as(FunctionCallInfo fcinfo, const LbPlayerArgument *argument)
{
	static const char *const names[] = {"member", "amount", NULL, NULL, "at"};
	LbSubmit	s;
	LbSubmitItem item;
	Datum		boards = PG_ARGISNULL(ARG_BOARDS) ? (Datum) 0 :
		PG_GETARG_DATUM(ARG_BOARDS);

	lb_begin_submit(fcinfo, &s, argument, names, ARG_LEADERBOARD,
					" Boards are named in \"boards\", a leaderboard in \"leaderboard\".");
	memset(&item, 0, sizeof(item));
	item.amount = PG_GETARG_INT64(LB_ARG_AMOUNT);
	if (!PG_ARGISNULL(LB_ARG_MATCH_ID))
	{
		item.match_id = text_to_cstring(PG_GETARG_TEXT_PP(LB_ARG_MATCH_ID));
		lb_check_match_id(item.match_id);
	}
	/* The caller has looked up the columns already. */
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	lb_submission_set_boards(&s, boards == 0 ? NULL :
							 DatumGetArrayTypeP(boards));
	if (!PG_ARGISNULL(ARG_METADATA))
		lb_set_metadata(&s, PG_GETARG_DATUM(ARG_METADATA));
	lb_set_player(&s, &item, PG_GETARG_DATUM(LB_ARG_PLAYER), argument);

	SPI_connect();
	if (lb_is_forwarded(&s))
		(void) forward_one(fcinfo, &s, &item, boards);
	else
		lb_submit_one(fcinfo, &s, &item);
	SPI_finish();
	return (Datum) 0;
}

Datum
lb_submit(PG_FUNCTION_ARGS)
{
	const LbPlayerArgument player = {{"member", "lb_submit"}, false};

	return lb_submit_as(fcinfo, &player);
}

Datum
lb_submit_key(PG_FUNCTION_ARGS)
{
	const LbPlayerArgument player = {{"member", "lb_submit"}, true};

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
 * The submits of an object with an amount for each leaderboard, in the order
 * in which their rows are locked; returns how many.
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
			lb_set_time(s, at);
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
 * Raise 23505 if the match is new on one leaderboard and old on another, each
 * NULL if there is none: then it is not the same match.
 */
static void
check_same_match(const LbSubmit *new, const LbSubmit *old)
{
	if (new != NULL && old != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("match \"%s\" of player \"%s\" has been submitted to leaderboard \"%s\", but not to \"%s\"",
						new->items->match_id,
						text_to_cstring(new->items->player_text),
						old->leaderboard.name, new->leaderboard.name),
				 errhint("Submit a match to all its leaderboards by one call.")));
}

/*
 * Claim the match on each leaderboard.  Returns whether it is new on all of
 * them, and raises if it is on some only.
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
	check_same_match(new, old);
	return old == NULL;
}

/* The submits where the tables of all leaderboards are distributed. */
static void
forward_match(FunctionCallInfo fcinfo, LbSubmit *submits, int n)
{
	const LbSubmit *new = NULL;
	const LbSubmit *old = NULL;

	for (int i = 0; i < n; i++)
	{
		if (forward_one(fcinfo, &submits[i], submits[i].items, (Datum) 0))
			old = &submits[i];
		else
			new = &submits[i];
	}
	check_same_match(new, old);
}

/* Those where none is. */
static void
apply_match(FunctionCallInfo fcinfo, LbSubmit *submits, int n)
{
	bool		has_match = n > 0 && submits->items->match_id != NULL;
	bool		applied;

	for (int i = 0; i < n; i++)
	{
		lb_lock_boards(&submits[i]);
		lb_submission_set_players(&submits[i]);
	}
	applied = !has_match || claim_match(submits, n);
	for (int i = 0; i < n; i++)
	{
		LbSubmit   *s = &submits[i];
		LbSubmitItem item = *s->items;
		LbAnswer   *answers;

		if (!applied && return_kept(fcinfo, s, &item))
			continue;
		read_ranks(s, true);
		if (applied)
			lb_apply(s, true);
		else
			read_answer(s);
		answers = return_answers(fcinfo, s, applied);
		if (applied && has_match)
			lb_keep_answers(s, &item, answers, s->nboards);
	}
}

/*
 * lb_submit_match(), or its twin.  Each step is done on all leaderboards
 * before the next, except that the rows of one are all written before those of
 * the next.
 */
static Datum
submit_match(FunctionCallInfo fcinfo, bool as_text)
{
	static const char *const names[] = {"member", "amounts", NULL, "at"};
	const LbPlayerArgument argument = {{names[0], "lb_submit_match"}, as_text};
	LbSubmitItem item;
	LbSubmit   *submits;
	int			nforwarded = 0;
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
		lb_check_match_id(item.match_id);
	}
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	n = match_submits(PG_GETARG_JSONB_P(1), &item, PG_GETARG_TIMESTAMPTZ(3),
					  &submits);
	for (int i = 0; i < n; i++)
	{
		lb_submission_set_boards(&submits[i], NULL);
		nforwarded += lb_is_forwarded(&submits[i]);
		lb_set_player(&submits[i], submits[i].items, PG_GETARG_DATUM(0), &argument);
	}
	SPI_connect();
	for (int i = 0; nforwarded < n && i < n; i++)
		lb_refuse_forwarded(&submits[i]);
	if (nforwarded > 0)
		forward_match(fcinfo, submits, n);
	else
		apply_match(fcinfo, submits, n);
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

void
lb_submit_init(void)
{
	DefineCustomBoolVariable("leaderboard.events",
							 "Enables logging what is submitted in lb_event.",
							 NULL,
							 &lb_events,
							 true,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.max_clock_skew",
							"Sets how far ahead of the server's clock the time of a submit may be.",
							"-1 is any time.",
							&lb_max_clock_skew,
							300, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("leaderboard.submit_ranks",
							 "Enables the ranks that lb_submit() returns.",
							 NULL,
							 &lb_submit_ranks,
							 true,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
}
