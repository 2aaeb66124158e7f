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

/*
 * A function lb_name, and its twin lb_name_key, whose players are texts:
 * name(fcinfo, whether they are) returns a Datum.
 */
#define TWINS(name) \
	PG_FUNCTION_INFO_V1(lb_##name); \
	PG_FUNCTION_INFO_V1(lb_##name##_key); \
	Datum lb_##name(PG_FUNCTION_ARGS) { return name(fcinfo, false); } \
	Datum lb_##name##_key(PG_FUNCTION_ARGS) { return name(fcinfo, true); }


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
static LbSubmitItem *
make_items(FunctionCallInfo fcinfo, int n)
{
	LbSubmitItem *items;
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
	items = palloc0(Max(1, n) * sizeof(LbSubmitItem));
	for (int i = 0; i < n; i++)
	{
		LbSubmitItem *item = &items[i];

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			lb_null_element("amounts");
		item->amount = DatumGetInt64(amounts[i]);
		item->number = i;
		item->item = i + 1;
		if (matches != NULL && !match_nulls[i])
			lb_set_match(item, matches[i]);
	}
	return items;
}

/*
 * Check the arguments of a call for many players, and find its boards and its
 * items; returns how many items there are.
 */
static int
begin_many(FunctionCallInfo fcinfo, const LbPlayerArgument *argument,
		   LbSubmitCall *call, LbSubmitTarget *t, LbSubmitItem **items)
{
	static const char *const names[] = {"members", "amounts", NULL, NULL, "at"};
	Datum	   *players;
	bool	   *nulls;
	int			n;

	lb_begin_submit(fcinfo, call, argument, names, LB_ARG_AT + 1, "");
	lb_require_some_write(&call->leaderboard);
	if (argument->as_text)
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(LB_ARG_PLAYER), TEXTOID, -1, false,
						  TYPALIGN_INT, &players, &nulls, &n);
	else
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(LB_ARG_PLAYER), INT8OID, sizeof(int64),
						  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &players, &nulls,
						  &n);
	*items = make_items(fcinfo, n);
	if (n == 0)
		return 0;
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			lb_null_element("members");
	}
	lb_find_boards(t, call);
	check_size(n, t->nboards);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		lb_set_player(t, &(*items)[i], players[i], argument);
	}
	return n;
}

/* Claim the matches of the items, and write those that are not repeated. */
static void
apply_many(LbSubmit *s)
{
	if (s->target->nopen > 0)
		lb_claim_matches(s);
	if (s->nitems > 0)
	{
		lb_set_players(s);
		lb_apply(s, false);
	}
}

int64
lb_submit_all(LbSubmitTarget *t, LbSubmitItem *items, int n)
{
	LbSubmit	s = lb_submit_of(t, items, n);

	lb_lock_boards(t, items, n);
	apply_many(&s);
	return t->nopen > 0 ? s.nitems : 0;
}

/* lb_submit_many(), or its twin, which takes elements of text. */
static Datum
submit_many(FunctionCallInfo fcinfo, bool as_text)
{
	const LbPlayerArgument argument = {{"members", "lb_submit_many"}, as_text};
	LbSubmitCall call;
	LbSubmitTarget target;
	LbSubmitItem *items;
	LbSubmit	s;
	int64		n = begin_many(fcinfo, &argument, &call, &target, &items);

	if (n == 0)
		PG_RETURN_INT64(0);
	s = lb_submit_of(&target, items, n);
	SPI_connect();
	n = lb_is_forwarded(&target) ?
		lb_require_distributed()->forward_many(&s, NULL) :
		lb_submit_all(&target, items, n);
	SPI_finish();
	PG_RETURN_INT64(n);
}

TWINS(submit_many)


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

/* The items have been applied. */
static void
set_applied(const LbSubmit *s)
{
	for (int p = 0; p < s->nplayers; p++)
	{
		const LbPlayerScore *score = &s->results[0].players[p];

		for (int i = s->first[p]; i < s->first[p + 1]; i++)
		{
			LbItemOutcome *outcome = &s->outcomes[s->items[i].number];

			CHECK_FOR_INTERRUPTS();
			outcome->status = s->ranked[p] ? "applied" : "hidden";
			outcome->has_score = score->has_score;
			outcome->score = score->score;
		}
	}
}

/*
 * Changes of one player are one change.  So if a limit refuses their sum or
 * the score, it refuses all of them; but an amount that is too large, only
 * that item.  If a score gets out of range on the way, that item is refused,
 * too.
 */
LbItemOutcome *
lb_submit_each_of(LbSubmitTarget *t, LbSubmitItem *items, int n)
{
	LbItemOutcome *outcomes = palloc0(n * sizeof(LbItemOutcome));
	LbSubmitItem *left = palloc(n * sizeof(LbSubmitItem));
	LbSubmit	s;

	lb_lock_boards(t, items, n);
	do
	{
		s = lb_submit_of(t, left, 0);
		s.outcomes = outcomes;
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (outcomes[i].status == NULL)
				left[s.nitems++] = items[i];
		}
	} while (!attempt(&s));
	set_applied(&s);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (outcomes[i].status == NULL)
			outcomes[i].status = "duplicate";
	}
	return outcomes;
}

/* lb_submit_each(), or its twin. */
static Datum
submit_each(FunctionCallInfo fcinfo, bool as_text)
{
	const LbPlayerArgument argument = {{"members", "lb_submit_each"}, as_text};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	LbSubmitCall call;
	LbSubmitTarget target;
	LbSubmitItem *items;
	LbSubmit	s;
	LbItemOutcome *outcomes;
	int			n;

	InitMaterializedSRF(fcinfo, 0);
	n = begin_many(fcinfo, &argument, &call, &target, &items);
	if (n == 0)
		return (Datum) 0;
	s = lb_submit_of(&target, items, n);
	SPI_connect();
	if (lb_is_forwarded(&target))
	{
		outcomes = palloc0(n * sizeof(LbItemOutcome));
		(void) lb_require_distributed()->forward_many(&s, outcomes);
	}
	else
		outcomes = lb_submit_each_of(&target, items, n);
	for (int i = 0; i < n; i++)
	{
		const LbItemOutcome *outcome = &outcomes[i];
		Datum		values[5];
		bool		nulls[5] = {false};

		CHECK_FOR_INTERRUPTS();
		values[0] = Int32GetDatum(i + 1);
		values[1] = as_text ? PointerGetDatum(items[i].player_text) :
			items[i].player;
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

TWINS(submit_each)
