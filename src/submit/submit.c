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
#include "boards/encode.h"
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
	const LbSubmitTarget *t = s->target;
	bool		number = t->players_of->plain_member;

	if (!lb_submit_ranks || s->call->stand_in != NULL)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	for (int b = 0; b < t->nboards; b++)
	{
		LbBoardResult *result = &s->results[b];
		LbRankNow	now;

		lb_rank_now(t->boards[b].read_as, number ? LB_AS_BIGINT : LB_AS_TEXT,
					number ? s->players[0] :
					PointerGetDatum(lb_player_text(s, 0)),
					s->only_forwarded, &now);
		if (previous)
		{
			result->has_previous = now.has_rank;
			result->previous = now.rank;
			continue;
		}
		result->has_rank = now.has_rank;
		result->rank = now.rank;
		if (now.has_score && !result->players->known)
		{
			result->players->known = true;
			result->players->has_score = true;
			result->players->score = now.score;
		}
	}
	PopActiveSnapshot();
}

/* Read the scores of the only player that are not known. */
static void
read_missing_scores(LbSubmit *s)
{
	for (int b = 0; b < s->target->nboards; b++)
	{
		if (!s->results[b].players->known)
			lb_read_missing_scores(s, b, 1);
	}
}

/*
 * lb_submit()'s answer: ranks and scores as they are now.  A hidden player's
 * score is in the table only.
 */
static void
read_answer(LbSubmit *s)
{
	read_ranks(s, false);
	read_missing_scores(s);
}

void
lb_apply(LbSubmit *s, bool answer)
{
	bool		single;

	if (s->target->nopen == 0)
	{
		if (answer)
			read_answer(s);
		return;
	}
	s->need_scores = answer || s->outcomes != NULL || lb_events ||
		lb_limits_need_scores(s);
	lb_limits_before(s);
	if (s->refused)
		return;
	lb_find_entering(s);
	single = lb_write_single(s);
	if (!single)
	{
		if (s->target->scores != NULL)
			lb_write_scores(s);
		lb_write_windows(s);
	}
	lb_end_entering(s);
	if (single && !answer && s->need_scores)
		read_missing_scores(s);
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
lb_set_match(LbSubmitItem *item, Datum match_id)
{
	if (match_id == (Datum) 0)
		return;
	item->match_id = TextDatumGetCString(match_id);
	if (strlen(item->match_id) > MAX_MATCH_ID)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("match_id is too long"),
				 errdetail("It has %d bytes, the most is %d.",
						   (int) strlen(item->match_id), MAX_MATCH_ID)));
}

void
lb_begin_call(LbSubmitCall *call, const char *leaderboard)
{
	const LbLeaderboard *found = lb_leaderboard_find(leaderboard,
													 strlen(leaderboard));

	/* A leaderboard's record goes with the board of its scores. */
	lb_require_both_tables(leaderboard, found != NULL ? pstrdup(found->family) :
						   psprintf("%s/", leaderboard));
	memset(call, 0, sizeof(LbSubmitCall));
	call->leaderboard = *lb_require_leaderboard(leaderboard);
	call->op = call->leaderboard.op;
}

/* Check that the function can be called. */
static void
check_call(const LbPlayerArgument *argument)
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
lb_set_time(LbSubmitCall *call, TimestampTz at)
{
	call->at = at;
	if (TIMESTAMP_NOT_FINITE(at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" must be finite", "at")));

	/* now() is no such time, also if the clock was set back since. */
	if (lb_max_clock_skew >= 0 &&
		at - lb_max_clock_skew * USECS_PER_SEC >
		Max(GetCurrentTimestamp(), GetCurrentTransactionStartTimestamp()))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" is in the future: \"%s\"", "at",
						timestamptz_to_str(at)),
				 errdetail("It is more than %d seconds ahead of the server's clock.",
						   lb_max_clock_skew),
				 errhint("Submit scores when they have been made; \"leaderboard.max_clock_skew\" sets how far ahead another clock may be.")));
}

void
lb_begin_submit(FunctionCallInfo fcinfo, LbSubmitCall *call,
				const LbPlayerArgument *argument, const char *const *names,
				int leaderboard_arg, const char *op_hint)
{
	check_call(argument);
	for (int i = 0; i <= LB_ARG_AT; i++)
	{
		if (names[i] != NULL && PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	if (PG_ARGISNULL(leaderboard_arg))
		lb_null_argument("leaderboard");
	lb_begin_call(call, text_to_cstring(PG_GETARG_TEXT_PP(leaderboard_arg)));
	if (!PG_ARGISNULL(LB_ARG_OP))
		call->op = lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(LB_ARG_OP)),
								   op_hint);
	lb_set_time(call, PG_GETARG_TIMESTAMPTZ(LB_ARG_AT));
}


/* ----------------------------------------------------------------
 *		lb_submit
 * ----------------------------------------------------------------
 */

/*
 * Return a row.  A function that is forwarded has more columns, which other
 * functions do not show: whether the match has been submitted before, and two
 * of rows of its own.
 */
static void
return_row(FunctionCallInfo fcinfo, const LbAnswer *answer, bool applied,
		   bool repeated)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[8];
	bool		nulls[8] = {[6] = true,[7] = true};

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
	int			n = s->target->nboards;
	LbAnswer   *answers = palloc(Max(1, n) * sizeof(LbAnswer));

	for (int b = 0; b < n; b++)
	{
		const LbSubmitBoard *board = &s->target->boards[b];
		const LbBoardResult *result = &s->results[b];
		LbAnswer   *answer = &answers[b];

		answer->board = board->name;
		answer->has_score = result->players->has_score;
		answer->has_rank = result->has_rank;
		answer->has_previous = result->has_previous;
		answer->score = result->players->score;
		answer->rank = result->rank;
		answer->previous = result->previous;
		return_row(fcinfo, answer,
				   applied && !board->closed && !lb_kept_out(s, b), !applied);
	}
	return answers;
}

void
lb_set_player(const LbSubmitTarget *t, LbSubmitItem *item, Datum value,
			  const LbPlayerArgument *argument)
{
	value = lb_player_from(t->players_of, t->type, value, argument);
	item->player = lb_player_as_stored(t->players_of, value);
	item->player_text = DatumGetTextPP(lb_value_to_text(t->type, item->player));
}

void
lb_lock_boards(LbSubmitTarget *t, LbSubmitItem *items, int nitems)
{
	lb_lock_entrants(t, items, nitems);
	lb_lock_windows(t);

	/*
	 * Before ranks and rows are read: a player who has a row on "global" is
	 * not looked up in lb_hidden, so lb_close_season() must not remove it
	 * meanwhile.
	 */
	if (t->scores != NULL)
		LockRelationOid(t->scores->source, RowExclusiveLock);
}

/* The boards are locked, and the match is claimed: write, and return rows. */
static void
submit_item(FunctionCallInfo fcinfo, LbSubmit *s, const LbSubmitItem *item,
			bool applied)
{
	bool		claimed = item->match_id != NULL && s->target->nopen > 0;
	LbAnswer   *answers;

	if (!applied && return_kept(fcinfo, s, item))
		return;
	read_ranks(s, true);
	if (applied)
		lb_apply(s, true);
	else
		read_answer(s);
	answers = return_answers(fcinfo, s, applied);
	if (applied && claimed)
		lb_keep_answers(s, item, answers, s->target->nboards);
}

void
lb_submit_one(FunctionCallInfo fcinfo, LbSubmitTarget *t, LbSubmitItem *item)
{
	LbSubmit	s = lb_submit_of(t, item, 1);

	lb_lock_boards(t, item, 1);
	lb_set_players(&s);
	/* A submit that writes nothing does not use up the match. */
	if (item->match_id != NULL && t->nopen > 0)
		lb_claim_matches(&s);
	submit_item(fcinfo, &s, item, s.nitems == 1);
}

/*
 * Whether the player's keys tell both ranks on all boards once the submit is
 * written.  A rank by dense_rank is no count of rows; and the words of a key
 * do not tell -0 from 0, and have no room for long texts.
 */
static bool
keys_tell_ranks(const LbSubmitTarget *t, const LbSubmitItem *item)
{
	const LbDefinition *defns[] = {t->scores, t->windows};

	for (int i = 0; i < (int) lengthof(defns); i++)
	{
		const LbDefinition *defn = defns[i];

		if (defn == NULL)
			continue;
		if (defn->method == LB_DENSE_RANK || defn->counts)
			return false;
		for (int c = 0; c < defn->nrank_by; c++)
		{
			if (defn->columns[c].type->is_text ||
				lb_has_negative_zero(&defn->columns[c]))
				return false;
		}
	}
	return VARSIZE_ANY_EXHDR(item->player_text) <= LB_MAX_TEXT / 2;
}

/*
 * Read both ranks on each board of a submit that was forwarded, by the keys
 * that it has brought: all servers are asked once for each board.
 */
static void
rank_keys(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;
	bool		number = t->players_of->plain_member;

	PushActiveSnapshot(GetTransactionSnapshot());
	for (int b = 0; b < t->nboards; b++)
	{
		LbBoardResult *result = &s->results[b];

		result->has_previous = result->former_key != NULL;
		result->has_rank = result->key != NULL;
		lb_ranks_of_keys(t->boards[b].read_as,
						 number ? LB_AS_BIGINT : LB_AS_TEXT,
						 number ? s->players[0] :
						 PointerGetDatum(lb_player_text(s, 0)),
						 s->only_forwarded, result->former_key, result->key,
						 &result->previous, &result->rank);
	}
	PopActiveSnapshot();
}

/*
 * Forward a submit to the server that has the player's rows, and read the
 * ranks here: both afterwards, or else the former ones before.  Returns
 * whether its match had been submitted before.
 */
static bool
forward_one(FunctionCallInfo fcinfo, const LbSubmitTarget *t,
			LbSubmitItem *item)
{
	LbSubmit	s = lb_submit_of(t, item, 1);
	LbForwarded *rows;
	bool		repeated = false;
	int			n;

	lb_set_players(&s);
	s.wants_keys = lb_submit_ranks && keys_tell_ranks(t, item);
	if (!s.wants_keys)
		read_ranks(&s, true);
	n = lb_require_distributed()->forward(&s, &rows);
	if (s.wants_keys)
		rank_keys(&s);
	else
		read_ranks(&s, false);
	for (int i = 0; i < n; i++)
	{
		LbAnswer   *answer = &rows[i].answer;

		CHECK_FOR_INTERRUPTS();
		for (int b = 0; b < t->nboards; b++)
		{
			if (strcmp(t->boards[b].name, answer->board) != 0)
				continue;
			answer->has_rank = s.results[b].has_rank;
			answer->has_previous = s.results[b].has_previous;
			answer->rank = s.results[b].rank;
			answer->previous = s.results[b].previous;
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
	LbSubmitCall call;
	LbSubmitTarget target;
	LbSubmitItem item = {.amount = 0};

	lb_begin_submit(fcinfo, &call, argument, names, ARG_LEADERBOARD,
					" Boards are named in \"boards\", a leaderboard in \"leaderboard\".");
	item.amount = PG_GETARG_INT64(LB_ARG_AMOUNT);
	if (!PG_ARGISNULL(LB_ARG_MATCH_ID))
		lb_set_match(&item, PG_GETARG_DATUM(LB_ARG_MATCH_ID));
	if (!PG_ARGISNULL(ARG_BOARDS))
		call.boards = PG_GETARG_ARRAYTYPE_P(ARG_BOARDS);
	if (!PG_ARGISNULL(ARG_METADATA))
		call.metadata = PG_GETARG_DATUM(ARG_METADATA);
	/* The caller has looked up the columns already. */
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	lb_find_boards(&target, &call);
	lb_set_player(&target, &item, PG_GETARG_DATUM(LB_ARG_PLAYER), argument);
	SPI_connect();
	if (lb_is_forwarded(&target))
		(void) forward_one(fcinfo, &target, &item);
	else
		lb_submit_one(fcinfo, &target, &item);
	SPI_finish();
	return (Datum) 0;
}

static Datum
submit(FunctionCallInfo fcinfo, bool as_text)
{
	const LbPlayerArgument player = {{"member", "lb_submit"}, as_text};

	return lb_submit_as(fcinfo, &player);
}

LB_TWINS(lb_submit, submit)


/* ----------------------------------------------------------------
 *		lb_submit_match
 * ----------------------------------------------------------------
 */

/* What a match submits to a leaderboard. */
typedef struct Part
{
	LbSubmitCall call;
	LbSubmitTarget target;
	LbSubmitItem item;
	LbSubmit	submit;
} Part;

static int
part_cmp(const void *a, const void *b)
{
	return strcmp(((const Part *) a)->call.leaderboard.name,
				  ((const Part *) b)->call.leaderboard.name);
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
 * The parts of a match, whose object has an amount for each leaderboard, in
 * the order in which their rows are locked; returns how many.
 */
static int
match_parts(Jsonb *amounts, const LbSubmitItem *item, TimestampTz at,
			Part **parts)
{
	JsonbIterator *it = JsonbIteratorInit(&amounts->root);
	JsonbIteratorToken token;
	JsonbValue	v;
	Part	   *part = NULL;
	int			n = 0;

	if (!JB_ROOT_IS_OBJECT(amounts))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the amounts of a match must be a json object"),
				 errhint("It has leaderboards and amounts, as in %s.",
						 "'{\"kills\": 7, \"wins\": 1}'")));
	*parts = palloc(Max(1, JB_ROOT_COUNT(amounts)) * sizeof(Part));
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			part = &(*parts)[n++];
			lb_begin_call(&part->call, pnstrdup(v.val.string.val, v.val.string.len));
			lb_set_time(&part->call, at);
		}
		else if (token == WJB_VALUE)
		{
			part->item = *item;
			part->item.amount = match_amount(&v, part->call.leaderboard.name);
		}
	}
	qsort(*parts, n, sizeof(Part), part_cmp);
	return n;
}

/*
 * Raise 23505 if the match is new on one leaderboard and old on another, each
 * NULL if there is none: then it is not the same match.
 */
static void
check_same_match(const Part *new, const Part *old)
{
	if (new != NULL && old != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("match \"%s\" of player \"%s\" has been submitted to leaderboard \"%s\", but not to \"%s\"",
						new->item.match_id,
						text_to_cstring(new->item.player_text),
						old->call.leaderboard.name, new->call.leaderboard.name),
				 errhint("Submit a match to all its leaderboards by one call.")));
}

/*
 * Claim the match on each leaderboard.  Returns whether it is new on all of
 * them, and raises if it is on some only.
 */
static bool
claim_match(Part *parts, int n)
{
	const Part *new = NULL;
	const Part *old = NULL;

	for (int i = 0; i < n; i++)
	{
		lb_claim_matches(&parts[i].submit);
		if (parts[i].submit.nitems == 1)
			new = &parts[i];
		else
			old = &parts[i];
	}
	check_same_match(new, old);
	return old == NULL;
}

/* Submit the parts where the tables of all leaderboards are distributed. */
static void
forward_match(FunctionCallInfo fcinfo, Part *parts, int n)
{
	const Part *new = NULL;
	const Part *old = NULL;

	for (int i = 0; i < n; i++)
	{
		if (forward_one(fcinfo, &parts[i].target, &parts[i].item))
			old = &parts[i];
		else
			new = &parts[i];
	}
	check_same_match(new, old);
}

/* The same where none is. */
static void
apply_match(FunctionCallInfo fcinfo, Part *parts, int n)
{
	bool		applied;

	for (int i = 0; i < n; i++)
	{
		lb_lock_boards(&parts[i].target, &parts[i].item, 1);
		parts[i].submit = lb_submit_of(&parts[i].target, &parts[i].item, 1);
		lb_set_players(&parts[i].submit);
	}
	applied = n == 0 || parts->item.match_id == NULL || claim_match(parts, n);
	for (int i = 0; i < n; i++)
		submit_item(fcinfo, &parts[i].submit, &parts[i].item, applied);
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
	LbSubmitItem item = {.amount = 0};
	Part	   *parts;
	int			nforwarded = 0;
	int			n;

	check_call(&argument);
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (names[i] != NULL && PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	if (!PG_ARGISNULL(2))
		lb_set_match(&item, PG_GETARG_DATUM(2));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	n = match_parts(PG_GETARG_JSONB_P(1), &item, PG_GETARG_TIMESTAMPTZ(3),
					&parts);
	for (int i = 0; i < n; i++)
	{
		lb_find_boards(&parts[i].target, &parts[i].call);
		nforwarded += lb_is_forwarded(&parts[i].target);
		lb_set_player(&parts[i].target, &parts[i].item, PG_GETARG_DATUM(0), &argument);
	}
	SPI_connect();
	for (int i = 0; nforwarded < n && i < n; i++)
		lb_refuse_forwarded(&parts[i].target);
	if (nforwarded > 0)
		forward_match(fcinfo, parts, n);
	else
		apply_match(fcinfo, parts, n);
	SPI_finish();
	return (Datum) 0;
}

LB_TWINS(lb_submit_match, submit_match)

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
