/*-------------------------------------------------------------------------
 *
 * submit_many.c
 *	  Submitting many scores: lb_submit_many(), lb_submit_each() and their
 *	  twins.
 *
 * lb_submit_many() is one submit of all its items (submit.c).
 * lb_submit_each() submits a batch again without what limits refuse and what
 * gets out of range, until there is nothing of that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/tuplestore.h"

#include "boards/distributed.h"
#include "leaderboards/player.h"
#include "sql/spi.h"
#include "submit/applied.h"
#include "submit/submit.h"
#include "submit/submit_many.h"

PG_FUNCTION_INFO_V1(lb_submit_many);
PG_FUNCTION_INFO_V1(lb_submit_many_key);
PG_FUNCTION_INFO_V1(lb_submit_each);
PG_FUNCTION_INFO_V1(lb_submit_each_key);


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
						   "members", nplayers, name, length)));
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

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(LB_ARG_AMOUNT), INT8OID, sizeof(int64),
					  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &amounts, &nulls,
					  &length);
	require_length("amounts", length, n);
	if (!PG_ARGISNULL(LB_ARG_MATCH_ID))
	{
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(LB_ARG_MATCH_ID), TEXTOID, -1, false,
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
		item->item = i + 1;
		if (matches != NULL && !match_nulls[i])
		{
			item->match_id = TextDatumGetCString(matches[i]);
			lb_check_match_id(item->match_id);
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
	static const char *const names[] = {"members", "amounts", NULL, NULL, "at"};
	Datum	   *players;
	bool	   *nulls;
	int			n;

	lb_begin_submit(fcinfo, s, argument, names, LB_ARG_AT + 1, "");
	lb_require_some_write(&s->leaderboard);
	if (argument->as_text)
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(LB_ARG_PLAYER), TEXTOID, -1, false,
						  TYPALIGN_INT, &players, &nulls, &n);
	else
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(LB_ARG_PLAYER), INT8OID, sizeof(int64),
						  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &players, &nulls,
						  &n);
	set_items(fcinfo, s, n);
	if (n == 0)
		return 0;
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			lb_null_element("members");
	}
	lb_submission_set_boards(s, NULL);
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
		lb_apply(s, false);
	}
}

int64
lb_submit_all(LbSubmit *s)
{
	lb_lock_boards(s);
	apply_many(s);
	return s->nopen > 0 ? s->nitems : 0;
}

/* lb_submit_many(), or its twin, which takes elements of text. */
static Datum
submit_many(FunctionCallInfo fcinfo, bool as_text)
{
	const LbPlayerArgument argument = {{"members", "lb_submit_many"}, as_text};
	LbSubmit	s;
	int64		n;

	if (begin_many(fcinfo, &s, &argument) == 0)
		PG_RETURN_INT64(0);
	SPI_connect();
	n = lb_is_forwarded(&s) ?
		lb_require_distributed()->forward_many(&s, NULL) : lb_submit_all(&s);
	SPI_finish();
	PG_RETURN_INT64(n);
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

/*
 * Submit items whose players are not found yet.  Returns false, with nothing
 * written, if limits have refused some, or scores get out of range.  A
 * subtransaction releases the locks of rows, so the next attempt takes its
 * locks in the order of submits.
 */
static bool
attempt(LbSubmit *s)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	s->refused = false;
	s->doubtful = false;
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
 * Changes of one player are one change.  So if a limit refuses their sum or
 * the score, it refuses all of them; but an amount that is too large, only
 * that item.  If a score gets out of range on the way, that item is refused,
 * too.
 */
LbItemOutcome *
lb_submit_each_of(LbSubmit *s)
{
	int			n = s->nitems;
	LbSubmitItem *all = s->items;
	LbItemOutcome *outcomes = palloc0(n * sizeof(LbItemOutcome));
	int			left = n;
	bool		done = false;

	s->each = true;
	lb_lock_boards(s);
	while (left > 0 && !done)
	{
		LbSubmitItem *items = palloc(left * sizeof(LbSubmitItem));

		s->items = items;
		s->nitems = 0;
		for (int i = 0; i < n; i++)
		{
			if (all[i].refused == NULL && !all[i].overflows)
				items[s->nitems++] = all[i];
		}
		done = attempt(s);
		for (int i = 0; i < s->nitems; i++)
		{
			int			number = items[i].number;

			if (!done && items[i].refused == NULL && !items[i].overflows)
				continue;
			all[number].refused = items[i].refused;
			all[number].overflows = items[i].overflows;
			outcomes[number].limit = items[i].refused;
			outcomes[number].status = done ? "applied" :
				items[i].overflows ? "overflow" : "limit";
			left -= !done;
		}
	}
	for (int p = 0; done && p < s->nplayers; p++)
	{
		int			end = p + 1 < s->nplayers ? s->first[p + 1] : s->nitems;

		for (int i = s->first[p]; i < end; i++)
		{
			LbItemOutcome *outcome = &outcomes[s->items[i].number];

			if (!s->ranked[p])
				outcome->status = "hidden";
			outcome->has_score = s->boards[0].has_score[p];
			outcome->score = s->boards[0].scores[p];
		}
	}
	for (int i = 0; i < n; i++)
	{
		if (outcomes[i].status == NULL)
			outcomes[i].status = "duplicate";
	}
	s->items = all;
	s->nitems = n;
	return outcomes;
}

/* lb_submit_each(), or its twin. */
static Datum
submit_each(FunctionCallInfo fcinfo, bool as_text)
{
	const LbPlayerArgument argument = {{"members", "lb_submit_each"}, as_text};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	LbSubmit	s;
	LbItemOutcome *outcomes;

	InitMaterializedSRF(fcinfo, 0);
	if (begin_many(fcinfo, &s, &argument) == 0)
		return (Datum) 0;
	SPI_connect();
	if (lb_is_forwarded(&s))
	{
		outcomes = palloc0(s.nitems * sizeof(LbItemOutcome));
		(void) lb_require_distributed()->forward_many(&s, outcomes);
	}
	else
		outcomes = lb_submit_each_of(&s);
	for (int i = 0; i < s.nitems; i++)
	{
		const LbItemOutcome *outcome = &outcomes[i];
		Datum		values[5];
		bool		nulls[5] = {false};

		values[0] = Int32GetDatum(i + 1);
		values[1] = as_text ? PointerGetDatum(s.items[i].player_text) :
			s.items[i].player;
		values[2] = CStringGetTextDatum(outcome->status);
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
