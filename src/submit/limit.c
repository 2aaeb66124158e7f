/*-------------------------------------------------------------------------
 *
 * limit.c
 *	  Limits of what may be submitted.
 *
 * Each backend caches the rows of lb_limit.  A submit to boards that have no
 * limit costs nothing for it.  What has been submitted so far is counted in
 * lb_usage, if a limit needs it.
 *
 * Changes that exceed a limit which flags are gathered while the limits are
 * checked, and counted in lb_anomaly at the end.  Counted at once, the rows of
 * lb_anomaly and those of players would be locked in another order by each
 * batch.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "boards/catalog.h"
#include "boards/row_cache.h"
#include "sql/spi.h"
#include "submit/limit.h"
#include "submit/score_range.h"
#include "util/nearest.h"

/* Columns of lb_limit, as the script has them. */
enum
{
	Anum_lb_limit_name = 1,
	Anum_lb_limit_board,
	Anum_lb_limit_max_amount,
	Anum_lb_limit_period,
	Anum_lb_limit_max_period_amount,
	Anum_lb_limit_min_score,
	Anum_lb_limit_max_score,
	Anum_lb_limit_max_submits,
	Anum_lb_limit_action,
	Natts_lb_limit = Anum_lb_limit_action
};

typedef struct Bound
{
	bool		set;
	int64		value;
} Bound;

/* A row of lb_limit. */
typedef struct LbLimit
{
	char	   *name;
	char	   *board;			/* "global", or a window's name */
	Interval   *period;			/* or NULL */
	Bound		max_amount;
	Bound		max_period_amount;
	Bound		min_score;
	Bound		max_score;
	Bound		max_submits;
	bool		reject;
} LbLimit;


/* ----------------------------------------------------------------
 *		The cache
 * ----------------------------------------------------------------
 */

static int
limit_cmp(const void *a, const void *b)
{
	return strcmp((*(LbLimit *const *) a)->name, (*(LbLimit *const *) b)->name);
}

static void *
limit_from_tuple(HeapTuple tuple, TupleDesc desc)
{
	LbLimit    *limit = palloc0(sizeof(LbLimit));
	Datum		values[Natts_lb_limit];
	bool		nulls[Natts_lb_limit];

	lb_row_values(tuple, desc, Natts_lb_limit, values, nulls);
#define VALUE(column) (values[Anum_lb_limit_##column - 1])
#define BOUND(column) \
	(limit->column.set = !nulls[Anum_lb_limit_##column - 1], \
	 limit->column.value = limit->column.set ? DatumGetInt64(VALUE(column)) : 0)
	limit->name = TextDatumGetCString(VALUE(name));
	limit->board = TextDatumGetCString(VALUE(board));
	if (!nulls[Anum_lb_limit_period - 1])
	{
		limit->period = palloc(sizeof(Interval));
		*limit->period = *DatumGetIntervalP(VALUE(period));
	}
	BOUND(max_amount);
	BOUND(max_period_amount);
	BOUND(min_score);
	BOUND(max_score);
	BOUND(max_submits);
	limit->reject = strcmp(TextDatumGetCString(VALUE(action)),
						   "reject") == 0;
#undef VALUE
#undef BOUND
	return limit;
}

static LbRowCache cache = {.table = "lb_limit",.from_tuple = limit_from_tuple,.cmp = limit_cmp};

/*
 * All limits, in the order of their names; valid to the end of the
 * transaction.
 */
static int
load_limits(LbLimit ***limits)
{
	return lb_cached_rows(&cache, (void ***) limits);
}

const char *
lb_limit_board(const char *name)
{
	LbLimit   **limits;
	int			n = load_limits(&limits);

	for (int i = 0; i < n; i++)
	{
		if (strcmp(limits[i]->name, name) == 0)
			return limits[i]->board;
	}
	return NULL;
}

const char *
lb_nearest_limit(const char *name)
{
	LbNearest	nearest = lb_nearest_to(name);
	LbLimit   **limits;
	int			n = load_limits(&limits);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		lb_nearest_try(&nearest, limits[i]->name);
	}
	return lb_nearest_hint(&nearest);
}

static bool
limit_applies(const LbLimit *limit, const LbSubmitBoard *board)
{
	return !board->closed && (strcmp(limit->board, board->kind) == 0 ||
							  strcmp(limit->board, board->name) == 0);
}


/* ----------------------------------------------------------------
 *		Checking
 * ----------------------------------------------------------------
 */

/* The absolute value of an amount. */
static int128
size_of(int64 amount)
{
	return amount >= 0 ? amount : -(int128) amount;
}

void
lb_raise_no_counts(const char *leaderboard)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("submits to leaderboard \"%s\" cannot be counted for limits",
					leaderboard),
			 errdetail("Its table is distributed, and there is no table of its counts beside it."),
			 errhint("lb_create_tables(distributed => true) makes both when it makes the table of scores. Limits of \"max_amount\", \"min_score\" and \"max_score\" that reject count nothing.")));
}

/* Raise that if there is no table to count in. */
static void
require_record(LbSubmit *s, LbRecord record)
{
	if (s->call->stand_in != NULL && !OidIsValid(lb_find_record(s, record)))
		lb_raise_no_counts(s->call->leaderboard.name);
}

/* Changes of a player that have exceeded a limit which flags them. */
typedef struct Anomaly
{
	const char *limit;			/* its name */
	int			board;			/* number of the board */
	const LbSubmitItem *item;	/* the last of them */
	int64		submits;		/* how many */
	int64		max_amount;		/* of them, without its sign */
	const char *measure;
	const char *value;
	int64		bound;
} Anomaly;

/* The check of a submit. */
typedef struct LbLimitCheck
{
	int		   *by_text;		/* the players' numbers, by their texts */
	int			nanomalies;
	int			maxanomalies;
	Anomaly    *anomalies;		/* in the order in which they were found */
} LbLimitCheck;

static LbLimitCheck *
check_of(LbSubmit *s)
{
	if (s->limits == NULL)
		s->limits = palloc0(sizeof(LbLimitCheck));
	return s->limits;
}

/* What exceeds a limit: a measure of changes on a board. */
typedef struct Excess
{
	const LbLimit *limit;
	int			board;			/* its number in the submit */
	const char *measure;
	const char *value;
	int64		bound;
} Excess;

/* Room for another anomaly, zeroed. */
static Anomaly *
add_anomaly(LbLimitCheck *check)
{
	Anomaly    *last;

	if (check->nanomalies == check->maxanomalies)
	{
		check->maxanomalies = Max(8, check->maxanomalies * 2);
		check->anomalies = check->anomalies == NULL ?
			palloc(check->maxanomalies * sizeof(Anomaly)) :
			repalloc_huge(check->anomalies, check->maxanomalies * sizeof(Anomaly));
	}
	last = &check->anomalies[check->nanomalies++];
	memset(last, 0, sizeof(Anomaly));
	return last;
}

/*
 * On its way to another server an error keeps its SQLSTATE, message, detail
 * and hint, but not its constraint.  So where other tables stand in, a limit
 * raises an SQLSTATE of its own, with its name as the hint.
 */
#define ERRCODE_FORWARDED_EXCEEDS_LIMIT MAKE_SQLSTATE('L', 'B', '0', '0', '1')

void
lb_explain_forwarded(ErrorData *error)
{
	if (error->sqlerrcode != ERRCODE_FORWARDED_EXCEEDS_LIMIT)
		return;
	error->sqlerrcode = ERRCODE_CHECK_VIOLATION;
	error->constraint_name = error->hint;
	error->hint = NULL;
}

/* A change exceeds a limit: raise 23514, refuse it, or gather it. */
static void
exceeded(LbSubmit *s, const Excess *e, const LbSubmitItem *item)
{
	const LbLimit *limit = e->limit;
	bool		stands_in = s->call->stand_in != NULL;
	LbLimitCheck *check = check_of(s);
	Anomaly    *last = check->nanomalies == 0 ? NULL :
		&check->anomalies[check->nanomalies - 1];

	if (limit->reject && s->outcomes != NULL)
	{
		s->refused = true;
		s->outcomes[item->number].status = "limit";
		s->outcomes[item->number].limit = pstrdup(limit->name);
		return;
	}
	if (limit->reject)
		ereport(ERROR,
				(errcode(!stands_in ? ERRCODE_CHECK_VIOLATION :
						 ERRCODE_FORWARDED_EXCEEDS_LIMIT),
				 errmsg("submit of player \"%s\" exceeds limit \"%s\"",
						text_to_cstring(item->player_text), limit->name),
				 errdetail("On board \"%s\", %s is %s; the limit is " INT64_FORMAT ".",
						   s->target->boards[e->board].name, e->measure, e->value,
						   e->bound),
				 !stands_in ? 0 : errhint("%s", limit->name),
				 err_generic_string(PG_DIAG_CONSTRAINT_NAME, limit->name)));

	/* Changes of one player come one after the other. */
	if (last == NULL || last->limit != limit->name ||
		last->board != e->board || last->measure != e->measure ||
		lb_player_cmp(s->target, last->item->player, item->player) != 0)
	{
		last = add_anomaly(check);
		last->limit = limit->name;
		last->board = e->board;
		last->measure = e->measure;
	}
	last->item = item;
	last->submits++;
	last->max_amount = Max(last->max_amount,
						   (int64) Min(PG_INT64_MAX, size_of(item->amount)));
	last->value = e->value;
	last->bound = e->bound;
}

/* The same for the sum of all changes of player number p. */
static void
player_exceeded(LbSubmit *s, const Excess *e, int p)
{
	for (int i = s->first[p]; i < s->first[p + 1]; i++)
	{
		CHECK_FOR_INTERRUPTS();
		exceeded(s, e, &s->items[i]);
	}
}

/* In the order of lb_anomaly's key; "global" comes before all windows. */
static int
row_cmp(const LbSubmitTarget *t, const Anomaly *a, const Anomaly *b)
{
	int			c = lb_player_cmp(t, a->item->player, b->item->player);

	if (c == 0)
		c = strcmp(a->limit, b->limit);
	return c != 0 ? c : a->board - b->board;
}

static int
anomaly_cmp(const void *a, const void *b, void *target)
{
	const Anomaly *aa = (const Anomaly *) a;
	const Anomaly *ab = (const Anomaly *) b;
	int			c = row_cmp((const LbSubmitTarget *) target, aa, ab);

	return c != 0 ? c : strcmp(aa->measure, ab->measure);
}

/*
 * Count in lb_anomaly what has been gathered, a row for each player and limit.
 */
static void
count_anomalies(LbSubmit *s)
{
	static LbPlan plan;
	LbLimitCheck *check = s->limits;
	Datum	   *columns[10];	/* by the number of the parameter */
	bool	   *no_match;
	int			n = 0;

	if (check == NULL || check->nanomalies == 0)
		return;
	qsort_interruptible(check->anomalies, check->nanomalies, sizeof(Anomaly),
						anomaly_cmp, unconstify(LbSubmitTarget *, s->target));

	/*
	 * The same changes may exceed several measures of one limit: one row for
	 * them.
	 */
	for (int i = 1; i < check->nanomalies; i++)
	{
		Anomaly    *to = &check->anomalies[n];
		const Anomaly *from = &check->anomalies[i];

		CHECK_FOR_INTERRUPTS();
		if (row_cmp(s->target, to, from) != 0)
			check->anomalies[++n] = *from;
		else
		{
			to->submits = Max(to->submits, from->submits);
			to->max_amount = Max(to->max_amount, from->max_amount);
		}
	}
	n++;
	for (int c = 0; c < (int) lengthof(columns); c++)
		columns[c] = MemoryContextAllocHuge(CurrentMemoryContext,
											n * sizeof(Datum));
	no_match = MemoryContextAllocHuge(CurrentMemoryContext, n * sizeof(bool));
	for (int i = 0; i < n; i++)
	{
		const Anomaly *anomaly = &check->anomalies[i];
		const LbSubmitItem *item = anomaly->item;

		CHECK_FOR_INTERRUPTS();
		columns[0][i] = PointerGetDatum(item->player_text);
		columns[1][i] = CStringGetTextDatum(anomaly->limit);
		columns[2][i] = CStringGetTextDatum(s->target->boards[anomaly->board].name);
		columns[3][i] = Int64GetDatum(anomaly->submits);
		columns[4][i] = Int64GetDatum(anomaly->max_amount);
		columns[5][i] = CStringGetTextDatum(anomaly->measure);
		columns[6][i] = CStringGetTextDatum(anomaly->value);
		columns[7][i] = Int64GetDatum(anomaly->bound);
		columns[8][i] = Int64GetDatum(item->amount);
		no_match[i] = item->match_id == NULL;
		columns[9][i] = no_match[i] ? (Datum) 0 :
			CStringGetTextDatum(item->match_id);
	}
#define COUNT_ANOMALIES(table, player) \
	"INSERT INTO " table " AS t (player_id, limit_name, board, submits, max_amount, measure, value, bound, amount, match_id, at) " \
	"SELECT " player ", u.name, u.board, u.submits, u.max_amount, u.measure, CAST(u.value AS pg_catalog.numeric), u.bound, u.amount, u.match, $11 " \
	"FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4), " \
	"pg_catalog.unnest($5), pg_catalog.unnest($6), pg_catalog.unnest($7), pg_catalog.unnest($8), " \
	"pg_catalog.unnest($9), pg_catalog.unnest($10)) " \
	"AS u (player, name, board, submits, max_amount, measure, value, bound, amount, match) " \
	"ON CONFLICT (player_id, limit_name, board) DO UPDATE SET " \
	"submits = t.submits OPERATOR(pg_catalog.+) excluded.submits, " \
	"noted_at = GREATEST(t.noted_at, excluded.noted_at), " \
	"max_amount = GREATEST(t.max_amount, excluded.max_amount), " \
	"measure = excluded.measure, value = excluded.value, bound = excluded.bound, " \
	"amount = excluded.amount, match_id = excluded.match_id, at = excluded.at, reviewed = false"
	require_record(s, LB_RECORD_ANOMALY);
	(void) lb_run_recording(s, LB_RECORD_ANOMALY, &plan,
							COUNT_ANOMALIES("@.lb_anomaly", "u.player"),
							COUNT_ANOMALIES("%s", "CAST(u.player AS %s)"),
							LB_ARGS(lb_arg_array(TEXTOID, columns[0], NULL, n),
									lb_arg_array(TEXTOID, columns[1], NULL, n),
									lb_arg_array(TEXTOID, columns[2], NULL, n),
									lb_arg_array(INT8OID, columns[3], NULL, n),
									lb_arg_array(INT8OID, columns[4], NULL, n),
									lb_arg_array(TEXTOID, columns[5], NULL, n),
									lb_arg_array(TEXTOID, columns[6], NULL, n),
									lb_arg_array(INT8OID, columns[7], NULL, n),
									lb_arg_array(INT8OID, columns[8], NULL, n),
									lb_arg_array(TEXTOID, columns[9], no_match, n),
									lb_arg_time(s->call->at)));
#undef COUNT_ANOMALIES
}

static char *
int64_text(int64 value)
{
	return psprintf(INT64_FORMAT, value);
}

/*
 * The sum of the sizes of player number p's amounts, and how many there are.
 */
static void
sum_up(const LbSubmit *s, int p, int128 *amount, int64 *submits)
{
	*amount = 0;
	for (int i = s->first[p]; i < s->first[p + 1]; i++)
	{
		CHECK_FOR_INTERRUPTS();
		*amount += size_of(s->items[i].amount);
	}
	*submits = s->first[p + 1] - s->first[p];
}

static int
text_cmp(const void *a, const void *b, void *submit)
{
	const text *ta = lb_player_text((const LbSubmit *) submit, *(const int *) a);
	const text *tb = lb_player_text((const LbSubmit *) submit, *(const int *) b);

	return varstr_cmp(VARDATA_ANY(ta), VARSIZE_ANY_EXHDR(ta),
					  VARDATA_ANY(tb), VARSIZE_ANY_EXHDR(tb),
					  C_COLLATION_OID);
}

/*
 * The numbers of the players by their texts.  This is the order in which
 * lb_drop_limit() locks rows of lb_usage, whatever type players have.
 */
static const int *
players_by_text(LbSubmit *s)
{
	LbLimitCheck *check = check_of(s);

	if (check->by_text == NULL)
	{
		check->by_text = palloc(s->nplayers * sizeof(int));
		for (int p = 0; p < s->nplayers; p++)
		{
			CHECK_FOR_INTERRUPTS();
			check->by_text[p] = p;
		}
		qsort_interruptible(check->by_text, s->nplayers, sizeof(int), text_cmp, s);
	}
	return check->by_text;
}

static Datum
int128_numeric(int128 value)
{
	return DirectFunctionCall3(numeric_in,
							   CStringGetDatum(lb_int128_text(value)),
							   ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

static LbArg
bound_arg(const Bound *bound)
{
	return lb_arg_or_null(INT8OID, Int64GetDatum(bound->value), !bound->set);
}

/*
 * Add to what n players have submitted so far; return a row for each of them,
 * in this order, which is that of their texts: amount, submits, and whether
 * they exceed the limit.  A period is over at the same time in all sessions,
 * whatever their time zones; and if it begins a period from now or later,
 * since the clock has been set back.
 */
static uint64
add_usage(const LbLimit *limit, LbSubmit *s, int board, const int *order,
		  int n)
{
	static LbPlan plan;
	Datum	   *players = palloc(n * sizeof(Datum));
	Datum	   *amounts = palloc(n * sizeof(Datum));
	Datum	   *submits = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
	{
		int128		amount;
		int64		count;

		sum_up(s, order[i], &amount, &count);
		players[i] = PointerGetDatum(lb_player_text(s, order[i]));
		amounts[i] = int128_numeric(amount);
		submits[i] = Int64GetDatum(count);
	}
#define ADD_USAGE(table, player) \
	"INSERT INTO " table " AS t (limit_name, board, player_id, amount, submits) " \
	"SELECT $1, $2, " player ", u.amount, u.submits " \
	"FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5)) AS u (player, amount, submits) " \
	"ON CONFLICT (limit_name, board, player_id) DO UPDATE SET (since, amount, submits) = " \
	"(SELECT CASE WHEN o.over THEN excluded.since ELSE t.since END, " \
	"CASE WHEN o.over THEN excluded.amount ELSE t.amount OPERATOR(pg_catalog.+) excluded.amount END, " \
	"CASE WHEN o.over THEN excluded.submits ELSE t.submits OPERATOR(pg_catalog.+) excluded.submits END " \
	"FROM (SELECT pg_catalog.timezone('UTC', t.since) OPERATOR(pg_catalog.+) $6 OPERATOR(pg_catalog.<=) " \
	"pg_catalog.timezone('UTC', excluded.since) " \
	"OR pg_catalog.timezone('UTC', excluded.since) OPERATOR(pg_catalog.+) $6 OPERATOR(pg_catalog.<=) " \
	"pg_catalog.timezone('UTC', t.since) AS over) AS o) " \
	"RETURNING CAST(amount AS pg_catalog.text), CAST(submits AS pg_catalog.text), " \
	"amount OPERATOR(pg_catalog.>) $7, submits OPERATOR(pg_catalog.>) $8"
	require_record(s, LB_RECORD_USAGE);
	return lb_run_recording(s, LB_RECORD_USAGE, &plan,
							ADD_USAGE("@.lb_usage", "u.player"),
							ADD_USAGE("%s", "CAST(u.player AS %s)"),
							LB_ARGS(lb_arg_text(limit->name),
									lb_arg_text(s->target->boards[board].name),
									lb_arg_array(TEXTOID, players, NULL, n),
									lb_arg(NUMERICARRAYOID, lb_make_array(NUMERICOID, amounts, NULL, n)),
									lb_arg_array(INT8OID, submits, NULL, n),
									lb_arg_or_null(INTERVALOID, IntervalPGetDatum(limit->period),
												   limit->period == NULL),
									bound_arg(&limit->max_period_amount),
									bound_arg(&limit->max_submits)));
#undef ADD_USAGE
}

static void
count_usage(const LbLimit *limit, LbSubmit *s, int board)
{
	const int  *by_text = players_by_text(s);
	int		   *order = palloc(s->nplayers * sizeof(int));
	int			nplayers = 0;
	uint64		n;
	SPITupleTable *rows;

	for (int i = 0; i < s->nplayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (lb_takes_part(s, board, by_text[i]))
			order[nplayers++] = by_text[i];
	}
	n = add_usage(limit, s, board, order, nplayers);
	rows = SPI_tuptable;
	for (uint64 row = 0; row < n; row++)
	{
		Excess		e = {.limit = limit,.board = board};

		CHECK_FOR_INTERRUPTS();

		/* A bound that is not set makes it null. */
		if (lb_row_bool(rows, row, 3))
		{
			e.measure = "the amount within the period";
			e.value = lb_row_text(rows, row, 1);
			e.bound = limit->max_period_amount.value;
			player_exceeded(s, &e, order[row]);
		}
		if (lb_row_bool(rows, row, 4))
		{
			e.measure = "the number of submits";
			e.value = lb_row_text(rows, row, 2);
			e.bound = limit->max_submits.value;
			player_exceeded(s, &e, order[row]);
		}
	}
	SPI_freetuptable(rows);
}

/* Check the amounts of the changes on a board against a limit. */
static void
check_amounts(const LbLimit *limit, LbSubmit *s, int b)
{
	for (int i = 0; i < s->nitems; i++)
	{
		const bool *joined = s->items[i].joined;
		Excess		e = {limit, b, "the amount", NULL, limit->max_amount.value};

		CHECK_FOR_INTERRUPTS();
		if ((joined != NULL && !joined[b]) ||
			size_of(s->items[i].amount) <= limit->max_amount.value)
			continue;
		e.value = int64_text(s->items[i].amount);
		exceeded(s, &e, &s->items[i]);
	}
}

/*
 * A change whose amount is refused is no part of what its player has
 * submitted: the next attempt counts the others.
 */
void
lb_limits_before(LbSubmit *s)
{
	LbLimit   **limits;
	int			n = load_limits(&limits);

	for (int l = 0; l < n; l++)
	{
		for (int b = 0; limits[l]->max_amount.set && b < s->target->nboards; b++)
		{
			CHECK_FOR_INTERRUPTS();
			if (limit_applies(limits[l], &s->target->boards[b]))
				check_amounts(limits[l], s, b);
		}
	}
	if (s->refused)
		return;
	for (int l = 0; l < n; l++)
	{
		if (!limits[l]->max_period_amount.set && !limits[l]->max_submits.set)
			continue;
		for (int b = 0; b < s->target->nboards; b++)
		{
			CHECK_FOR_INTERRUPTS();
			if (limit_applies(limits[l], &s->target->boards[b]))
				count_usage(limits[l], s, b);
		}
	}
}

bool
lb_limits_need_scores(const LbSubmit *s)
{
	LbLimit   **limits;
	int			n = load_limits(&limits);

	for (int l = 0; l < n; l++)
	{
		if (!limits[l]->min_score.set && !limits[l]->max_score.set)
			continue;
		for (int b = 0; b < s->target->nboards; b++)
		{
			CHECK_FOR_INTERRUPTS();
			if (limit_applies(limits[l], &s->target->boards[b]))
				return true;
		}
	}
	return false;
}

/* Check the scores of a board against a limit. */
static void
check_scores(const LbLimit *limit, LbSubmit *s, int b)
{
	for (int p = 0; p < s->nplayers; p++)
	{
		const LbPlayerScore *player = &s->results[b].players[p];
		bool		low = limit->min_score.set &&
			player->score < limit->min_score.value;
		bool		high = limit->max_score.set &&
			player->score > limit->max_score.value;
		Excess		e = {.limit = limit,.board = b,.measure = "the score"};

		CHECK_FOR_INTERRUPTS();
		if (!player->has_score || (!low && !high) || !lb_takes_part(s, b, p))
			continue;
		e.value = int64_text(player->score);
		e.bound = limit->min_score.value;
		if (low)
			player_exceeded(s, &e, p);
		e.bound = limit->max_score.value;
		if (high)
			player_exceeded(s, &e, p);
	}
}

void
lb_limits_after(LbSubmit *s)
{
	LbLimit   **limits;
	int			n = load_limits(&limits);

	for (int l = 0; l < n; l++)
	{
		const LbLimit *limit = limits[l];

		if (!limit->min_score.set && !limit->max_score.set)
			continue;
		for (int b = 0; b < s->target->nboards; b++)
		{
			CHECK_FOR_INTERRUPTS();
			if (limit_applies(limit, &s->target->boards[b]))
				check_scores(limit, s, b);
		}
	}
	count_anomalies(s);
}
