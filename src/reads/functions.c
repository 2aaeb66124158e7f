/*-------------------------------------------------------------------------
 *
 * functions.c
 *	  The read functions: a row for each.
 *
 * A row says what the function takes and returns, has the template of its
 * defining query, names the routine that answers from the index, and says
 * whether an index that keeps counts is enough for it; call.c does the rest,
 * for the function and for its twin.  To add a function, add a
 * row and the routine, and the two functions to the SQL script, the reference
 * and the tests.  A twin that takes a member or a score has more signatures in
 * the script, which take it in any type; for C they are the same function.
 *
 * In a template, $1, $2 ... are the operands.  query_text.c has the words in
 * braces, and says what B, O, P and K are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"

#include "reads/access.h"
#include "reads/functions.h"
#include "reads/histogram.h"
#include "reads/json.h"
#include "reads/key.h"
#include "reads/mistyped.h"
#include "reads/rows.h"
#include "reads/tier.h"
#include "reads/values.h"

#define MEMBER(arg) \
	{.type = LB_MEMBER_TYPE, .argument = (arg), .null = LB_NULL_NO_ROW, \
	 .name = "member"}
#define MEMBERS(arg) \
	{.type = LB_MEMBERS_TYPE, .argument = (arg), .null = LB_NULL_TAKEN, \
	 .name = "members"}
#define SCORE(arg, nulls, argname) \
	{.type = LB_SCORE_TYPE, .argument = (arg), .null = (nulls), \
	 .name = (argname)}
#define INTEGER(arg, oid, argname, min) \
	{.type = (oid), .argument = (arg), .null = LB_NULL_ERROR, \
	 .name = (argname), .least = (min)}

/*
 * The rows at places skip + 1 ... skip + n of O, where $1 is n and $2 is skip.
 *
 * By rank and dense_rank, a rank depends on the rows before only, so the
 * window runs over the first skip + n rows.  LEAST keeps that sum in range,
 * also where an engine sends it to its servers.
 */
#define MAX_SKIP "LEAST($2, CAST('4611686018427387904' AS {int8}))"
#define PAGE(columns) { \
	.operands = { \
		INTEGER(0, INT4OID, "n", 0), INTEGER(2, INT8OID, "skip", 0) \
	}, \
	.text = { \
		[LB_ROW_NUMBER] = \
		"SELECT $2 {+} {rankfn}, " columns \
		" FROM (SELECT {keys} {from} ORDER BY {order}" \
		" LIMIT $1 OFFSET " MAX_SKIP ") s ORDER BY {korder}", \
		[LB_RANK] = \
		"SELECT {rankfn}, " columns \
		" FROM (SELECT {keys} {from} ORDER BY {order}" \
		" LIMIT CAST($1 AS {int8}) {+} " MAX_SKIP ") s" \
		" ORDER BY {korder} OFFSET $2" \
	}, \
	.page = PAGE_FROM(columns) \
}

/* The rows of a page that begins where LbStart says. */
#define PAGE_FROM(columns) { \
	[LB_RANK] = \
	"SELECT {page_rank}, " columns \
	" FROM (SELECT {keys} {from} AND {from_start} ORDER BY {order}" \
	" LIMIT {start_n} OFFSET {start_skip}) s ORDER BY {korder}" \
}

static void check_percentile(Datum value);

/* lb_rank(member, board, method): P's rank. */
const LbReadFunction lb_rank_function = {
	.name = "lb_rank",
	.board = 1,
	.method = 2,
	.ranks = true,
	.columns = {INT8OID},
	.value = lb_rank_value,
	.by_counts = true,
	.query = {
		.operands = {MEMBER(0)},
		.text = {"SELECT 1 {+} {preceding} WHERE {P} IS NOT NULL"},
		.given = {
			[LB_ROW_NUMBER] = "SELECT 1 {+} {count} {from} AND {before}",
			[LB_RANK] = "SELECT 1 {+} {count} {from} AND {score} {better} {P}",
			[LB_DENSE_RANK] =
			"SELECT 1 {+} {count} FROM (SELECT 1 {from}"
			" AND {score} {better} {P} GROUP BY {score}) g"
		}
	}
};

/* lb_score(member, board): P's score. */
static const LbReadFunction score_function = {
	.name = "lb_score",
	.board = 1,
	.columns = {LB_SCORE_TYPE},
	.value = lb_score_value,
	.by_counts = true,
	.query = {
		.operands = {MEMBER(0)},
		.text = {
			"SELECT CAST({score} AS {stype}) {from} AND {is_member}"
			" ORDER BY {order} LIMIT 1"
		}
	}
};

/*
 * lb_percentile(member, board): 100 * (rows whose score is not better than P's
 * / N), which is 100 * cume_dist() OVER (ORDER BY score, worst first), in the
 * same floating-point operations.
 */
static const LbReadFunction percentile_function = {
	.name = "lb_percentile",
	.board = 1,
	.columns = {FLOAT8OID},
	.value = lb_percentile_value,
	.by_counts = true,
	.query = {
		.operands = {MEMBER(0)},
		.text = {
			"SELECT {percentile} FROM (SELECT {totals} {from}) x"
			" WHERE {P} IS NOT NULL"
		},
		.given = {"SELECT {percentile_of_t} {from} HAVING {count} {>=} 1"}
	}
};

/*
 * lb_player(member, board): P's rank, score and percentile, and N.  One pass
 * counts everything but distinct scores.
 */
static const LbReadFunction player_function = {
	.name = "lb_player",
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_SCORE_TYPE, FLOAT8OID, INT8OID},
	.value = lb_player_value,
	.by_counts = true,
	.query = {
		.operands = {MEMBER(0)},
		.text = {
			[LB_ROW_NUMBER] =
			"SELECT 1 {+} x.b, CAST({P} AS {stype}), {percentile}, x.n"
			" FROM (SELECT {totals}, {count} FILTER (WHERE {before}) AS b"
			" {from}) x WHERE {P} IS NOT NULL",
			[LB_RANK] =
			"SELECT 1 {+} (x.n {-} x.a), CAST({P} AS {stype}), {percentile}, x.n"
			" FROM (SELECT {totals} {from}) x WHERE {P} IS NOT NULL",
			[LB_DENSE_RANK] =
			"SELECT 1 {+} {preceding}, CAST({P} AS {stype}), {percentile}, x.n"
			" FROM (SELECT {totals} {from}) x WHERE {P} IS NOT NULL"
		},
		.given = {
			[LB_ROW_NUMBER] =
			"SELECT 1 {+} {count} FILTER (WHERE {before}), CAST({P} AS {stype}),"
			" {percentile_of_t}, {count} {from} HAVING {count} {>=} 1",
			[LB_RANK] =
			"SELECT 1 {+} {count} FILTER (WHERE {score} {better} {P}),"
			" CAST({P} AS {stype}), {percentile_of_t}, {count} {from}"
			" HAVING {count} {>=} 1",
			[LB_DENSE_RANK] =
			"SELECT 1 {+} {preceding}, CAST({P} AS {stype}), {percentile}, x.n"
			" FROM (SELECT {totals} {from}) x WHERE x.n {>=} 1"
		}
	}
};

/*
 * lb_metadata(member, board): P's metadata, by the query always: no index has
 * it, whatever it keeps.
 */
static const LbReadFunction metadata_function = {
	.name = "lb_metadata",
	.board = 1,
	.columns = {JSONBOID},
	.rows = lb_metadata_rows,
	.by_counts = true,
	.query = {
		.operands = {MEMBER(0)},
		.text = {
			"SELECT {metadata} {from} AND {is_member}"
			" ORDER BY {order} LIMIT 1"
		}
	}
};

/* lb_top(n, board, skip): those rows. */
const LbReadFunction lb_top_function = {
	.name = "lb_top",
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, LB_SCORE_TYPE},
	.set = true,
	.rows = lb_top_rows,
	.by_counts = true,
	.query = PAGE("{row}")
};

/* lb_page(n, board, skip): the same with their tie-breakers, as texts. */
const LbReadFunction lb_page_function = {
	.name = "lb_page",
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, LB_SCORE_TYPE, TEXTARRAYOID},
	.set = true,
	.rows = lb_page_rows,
	.by_counts = true,
	.query = PAGE("{row}{ties}")
};

/* lb_at(place, board): the row at one place of O. */
static const LbReadFunction at_function = {
	.name = "lb_at",
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, LB_SCORE_TYPE},
	.rows = lb_at_rows,
	.by_counts = true,
	.query = {
		.operands = {
			{.type = INT8OID,.argument = 0,.null = LB_NULL_NO_ROW}
		},
		.text = {
			[LB_ROW_NUMBER] =
			"SELECT $1, {row_of_t}"
			" {from} AND $1 {>=} 1"
			" ORDER BY {order} OFFSET GREATEST($1, 1) {-} 1 LIMIT 1",
			[LB_RANK] =
			"SELECT {rankfn}, {row}"
			" FROM (SELECT {keys} {from} ORDER BY {order}"
			" LIMIT GREATEST($1, 0)) s"
			" ORDER BY {korder} OFFSET GREATEST($1, 1) {-} 1"
		},
		.page = PAGE_FROM("{row}")
	}
};

/*
 * lb_around(member, board, radius): the rows at places p - radius ... p +
 * radius of O, where p is P's place, whatever the method.
 *
 * The first row's place is p - radius, or 1.  So is its rank, by row_number;
 * by the other methods it takes a count of the scores better than its own, and
 * any row with another score than the first has its ties among the rows at
 * hand.
 */
#define AROUND { \
	[LB_ROW_NUMBER] = \
		"{around_rows} SELECT {around_skip} {+} {rankfn}," \
		" {row}" \
		" FROM s ORDER BY {korder}", \
	[LB_RANK] = \
		"{around_rows} SELECT CASE WHEN {rankfn} {=} 1" \
		" THEN 1 {+} (SELECT {count} {from} AND" \
		" {score} {better} (SELECT {best}(k1) FROM s))" \
		" ELSE {around_skip} {+} {rankfn} END," \
		" {row}" \
		" FROM s ORDER BY {korder}", \
	[LB_DENSE_RANK] = \
		"{around_rows} SELECT (SELECT {count} FROM (SELECT 1 {from} AND" \
		" {score} {better} (SELECT {best}(k1) FROM s)" \
		" GROUP BY {score}) g) {+} {rankfn}," \
		" {row}" \
		" FROM s ORDER BY {korder}" \
}

static const LbReadFunction around_function = {
	.name = "lb_around",
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, LB_SCORE_TYPE},
	.set = true,
	.rows = lb_around_rows,
	.by_counts = true,
	.query = {
		.operands = {MEMBER(0), INTEGER(2, INT4OID, "radius", 0)},
		.text = AROUND,
		.given = AROUND,
		.page = PAGE_FROM("{row}")
	}
};

/* lb_count(board): N. */
static const LbReadFunction count_function = {
	.name = "lb_count",
	.board = 0,
	.columns = {INT8OID},
	.value = lb_count_value,
	.by_counts = true,
	.query = {
		.text = {"SELECT {count} {from}"}
	}
};

/*
 * lb_count_between(lo, hi, board): rows with lo <= score <= hi; a null end is
 * open.  A plan for the ends at hand has no OR.
 */
static const LbReadFunction count_between_function = {
	.name = "lb_count_between",
	.board = 2,
	.columns = {INT8OID},
	.value = lb_count_between_value,
	.by_counts = true,
	.query = {
		.operands = {
			SCORE(0, LB_NULL_TAKEN, "lo"),
			SCORE(1, LB_NULL_TAKEN, "hi")
		},
		.text = {
			"SELECT {count} {from} AND ($1 IS NULL OR {score} {>=} $1)"
			" AND ($2 IS NULL OR {score} {<=} $2)"
		}
	}
};

/*
 * lb_count_before(score, ties, member, board, inclusive): the rows before a
 * key in O, be it a row's or not; with inclusive also the row that has it.
 */
static const LbReadFunction count_before_function = {
	.name = "lb_count_before",
	.board = 3,
	.columns = {INT8OID},
	.rows = lb_count_before_rows,
	.convert = lb_convert_key,
	.query = {
		.operands = {
			MEMBER(2), SCORE(0, LB_NULL_NO_ROW, "score"),
			{.type = TEXTARRAYOID,.argument = 1,.null = LB_NULL_NO_ROW},
			{.type = BOOLOID,.argument = 4,.null = LB_NULL_ERROR,
			.name = "inclusive"}
		},
		.text = {
			"SELECT (SELECT {count} {from} AND {before_key}) {+}"
			" CASE WHEN $4 THEN (SELECT {count} {from} AND {is_key}) ELSE 0 END"
			" WHERE $1 IS NOT NULL"
		}
	}
};

/*
 * lb_rank_of_score(score, board, method): the rank of a row with that score,
 * row_number taken as rank.
 */
static const LbReadFunction rank_of_score_function = {
	.name = "lb_rank_of_score",
	.board = 1,
	.method = 2,
	.ranks = true,
	.columns = {INT8OID},
	.value = lb_rank_of_score_value,
	.by_counts = true,
	.query = {
		.operands = {SCORE(0, LB_NULL_NO_ROW, "score")},
		.text = {
			[LB_ROW_NUMBER] =
			"SELECT 1 {+} {count} {from} AND {score} {better} $1"
			" HAVING $1 IS NOT NULL",
			[LB_DENSE_RANK] =
			"SELECT 1 {+} (SELECT {count} FROM (SELECT 1 {from}"
			" AND {score} {better} $1 GROUP BY {score}) g)"
			" WHERE $1 IS NOT NULL"
		}
	}
};

/*
 * lb_score_at_percentile(p, board): percentile_disc(p / 100) WITHIN GROUP
 * (ORDER BY score, worst first), the row at place ceil(p / 100 * N), at least
 * 1.
 */
static const LbReadFunction score_at_percentile_function = {
	.name = "lb_score_at_percentile",
	.board = 1,
	.columns = {LB_SCORE_TYPE},
	.value = lb_score_at_percentile_value,
	.by_counts = true,
	.query = {
		.operands = {
			{.type = FLOAT8OID,.argument = 0,.null = LB_NULL_NO_ROW,
			.check = check_percentile}
		},
		.text = {
			"SELECT CAST(pg_catalog.percentile_disc("
			"$1 {/} CAST(100 AS {float8}))"
			" WITHIN GROUP (ORDER BY {score} {worstdir}) AS {stype}) {from}"
		}
	}
};

/*
 * lb_ranks(members, board, method): each element of the array, in its order,
 * with its rank and score, null if it is not on the board.
 */
const LbReadFunction lb_ranks_function = {
	.name = "lb_ranks",
	.board = 1,
	.method = 2,
	.ranks = true,
	.columns = {LB_MEMBER_TYPE, INT8OID, LB_SCORE_TYPE},
	.set = true,
	.rows = lb_ranks_rows,
	.by_counts = true,
	.query = {
		.operands = {MEMBERS(0)},
		.text = {
			"SELECT {a}, w.r, CAST(w.k1 AS {stype})"
			" FROM {asked} WITH ORDINALITY AS a ({a}, o)"
			" LEFT JOIN {ranked} w ON {joined} ORDER BY a.o"
		}
	}
};

/*
 * lb_among(members, board): the distinct members of the array that are on the
 * board in O, with their place among themselves and their rank.
 */
static const LbReadFunction among_function = {
	.name = "lb_among",
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, LB_SCORE_TYPE, INT8OID},
	.set = true,
	.rows = lb_among_rows,
	.query = {
		.operands = {MEMBERS(0)},
		.text = {
			"SELECT pg_catalog.row_number() OVER (ORDER BY {korder}),"
			" {row}, r"
			" FROM {ranked} w ORDER BY {korder}"
		}
	}
};

/*
 * lb_histogram(buckets, board): R = |best - worst| + 1 scores cut into k =
 * least(buckets, R) buckets; a row at distance d from the worst score belongs
 * to bucket floor(d * k / R) + 1.
 *
 * The least distance in bucket i is ceil((i - 1) * R / k).  The query computes
 * the bounds from these, in exact numeric arithmetic.  Then one pass finds
 * each row's bucket by a binary search or, if the bounds are too many for an
 * array, computes it.
 */
static const LbReadFunction histogram_function = {
	.name = "lb_histogram",
	.board = 1,
	.columns = {INT4OID, LB_SCORE_TYPE, LB_SCORE_TYPE, INT8OID},
	.set = true,
	.rows = lb_histogram_rows,
	.by_counts = true,
	.query = {
		.operands = {INTEGER(0, INT4OID, "buckets", 1)},
		.text = {
			"WITH x AS MATERIALIZED (SELECT e.{worst_end},"
			" (e.hi {-} e.lo) {+} 1 AS r,"
			" LEAST(CAST($1 AS {numeric}), (e.hi {-} e.lo) {+} 1) AS k"
			" FROM (SELECT"
			" CAST(pg_catalog.min({score}) AS {numeric}) AS lo,"
			" CAST(pg_catalog.max({score}) AS {numeric}) AS hi {from}"
			") e WHERE e.lo IS NOT NULL),"
			" g AS MATERIALIZED (SELECT b.i, {histogram_bounds}"
			" FROM x, pg_catalog.generate_series("
			"CAST(1 AS {numeric}), x.k) AS b (i)),"
			" c AS MATERIALIZED (SELECT COALESCE({histogram_search},"
			" CAST({histogram_bucket} AS {int4})) AS j,"
			" {count} AS n {from} GROUP BY 1)"
			" SELECT CAST(g.i AS {int4}), g.lo, g.hi, COALESCE(c.n, 0)"
			" FROM g LEFT JOIN c ON c.j {=} CAST(g.j AS {int4})"
			" ORDER BY g.i"
		}
	}
};

/* The operand of lb_score_at_percentile(). */
static void
check_percentile(Datum value)
{
	double		p = DatumGetFloat8(value);

	if (isnan(p) || p < 0 || p > 100)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("percentile %s is not between 0 and 100",
						float8out_internal(p)),
				 errhint("The best score is at percentile 100, the worst at 0.")));

	/* An underflow is an error here as in the query. */
	(void) float8_div(p, 100);
}

/* Define a function of SQL; define it and its twin. */
#define SQL_FUNCTION(name, answer) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) { return (answer); }
#define TWINS(name, row) \
	SQL_FUNCTION(name, lb_call(fcinfo, &(row))) \
	SQL_FUNCTION(name##_key, lb_call_as_text(fcinfo, &(row)))

TWINS(lb_rank, lb_rank_function)
TWINS(lb_score, score_function)
TWINS(lb_percentile, percentile_function)
TWINS(lb_player, player_function)
TWINS(lb_metadata, metadata_function)
TWINS(lb_top, lb_top_function)
TWINS(lb_page, lb_page_function)
TWINS(lb_at, at_function)
TWINS(lb_around, around_function)
TWINS(lb_count_between, count_between_function)
TWINS(lb_count_before, count_before_function)
TWINS(lb_rank_of_score, rank_of_score_function)
TWINS(lb_score_at_percentile, score_at_percentile_function)
TWINS(lb_ranks, lb_ranks_function)
TWINS(lb_among, among_function)
TWINS(lb_histogram, histogram_function)
SQL_FUNCTION(lb_count, lb_call(fcinfo, &count_function))

/* lb_around(member, radius): of the board "global". */
static Datum
around_global(FunctionCallInfo fcinfo,
			  Datum (*call) (FunctionCallInfo, const LbReadFunction *))
{
	LOCAL_FCINFO(whole, 3);
	Datum		result;

	memcpy(whole, fcinfo, SizeForFunctionCallInfo(1));
	whole->nargs = 3;
	whole->args[1].value = CStringGetTextDatum("global");
	whole->args[1].isnull = false;
	whole->args[2] = fcinfo->args[1];
	result = call(whole, &around_function);
	fcinfo->isnull = whole->isnull;
	return result;
}

SQL_FUNCTION(lb_around_global, around_global(fcinfo, lb_call))
SQL_FUNCTION(lb_around_global_key, around_global(fcinfo, lb_call_as_text))

/* lb_top() as one object, and lb_player() and lb_around() in one. */
SQL_FUNCTION(lb_top_json, lb_call_top_json(fcinfo, &lb_top_function))
SQL_FUNCTION(lb_rank_json, lb_call_rank_json(fcinfo, LB_AS_JSON, &player_function, &around_function))
SQL_FUNCTION(lb_rank_json_key, lb_call_rank_json(fcinfo, LB_AS_TEXT, &player_function, &around_function))

/* What lb_player() says about shares of the board. */
SQL_FUNCTION(lb_tier, lb_call_tier(fcinfo, LB_AS_JSON, &player_function))
SQL_FUNCTION(lb_tier_key, lb_call_tier(fcinfo, LB_AS_TEXT, &player_function))

static const struct config_enum_entry json_bigint_options[] = {
	{"number", LB_JSON_BIGINT_NUMBER, false},
	{"string", LB_JSON_BIGINT_STRING, false},
	{NULL, 0, false}
};

static const struct config_enum_entry not_ready_options[] = {
	{"wait", LB_POLICY_WAIT, false},
	{"query", LB_POLICY_QUERY, false},
	{"error", LB_POLICY_ERROR, false},
	{NULL, 0, false}
};

static const struct config_enum_entry offline_options[] = {
	{"query", LB_POLICY_QUERY, false},
	{"error", LB_POLICY_ERROR, false},
	{NULL, 0, false}
};

static const struct config_enum_entry unknown_board_options[] = {
	{"notice", LB_UNKNOWN_NOTICE, false},
	{"error", LB_UNKNOWN_ERROR, false},
	{"ignore", LB_UNKNOWN_IGNORE, false},
	{NULL, 0, false}
};

void
lb_reads_init(void)
{
	DefineCustomBoolVariable("leaderboard.enable_index",
							 "Enables answering reads from the index.",
							 "When off, every read runs its defining query.",
							 &lb_enable_index,
							 true,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.json_bigint",
							 "Sets how JSON shows members and scores of type bigint.",
							 "A number, or a string for clients whose numbers are exact up to 2^53 only.",
							 &lb_json_bigint,
							 LB_JSON_BIGINT_NUMBER, json_bigint_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.not_ready",
							 "Sets what a read does while its board is building.",
							 NULL,
							 &lb_not_ready,
							 LB_POLICY_WAIT, not_ready_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.offline",
							 "Sets what a read does when its board is offline, or on a standby.",
							 "A board for which lb_set_offline() has set something does that.",
							 &lb_offline,
							 LB_POLICY_QUERY, offline_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.unknown_board",
							 "Sets what a read does if the family of a board seems to be mistyped.",
							 NULL,
							 &lb_unknown_board,
							 LB_UNKNOWN_NOTICE, unknown_board_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.wait_timeout",
							"Sets how long a read waits for its board to be built.",
							NULL,
							&lb_wait_timeout_ms,
							10000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}
