/*-------------------------------------------------------------------------
 *
 * functions.c
 *	  The read functions: a row for each.
 *
 * A row says what the function takes and returns, has the template of its
 * defining query, and names the routine that answers from the index; call.c
 * does the rest.  To add a function, add a row and the routine, and the function
 * to the SQL script, the reference and the tests.
 *
 * In a template, $1, $2 ... are the operands.  query_text.c has the words in
 * braces, and says what B, O and P are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/float.h"

#include "reads/functions.h"
#include "reads/json.h"
#include "reads/rows.h"
#include "reads/values.h"

#define MEMBER(arg) \
	{.type = LB_MEMBER_TYPE, .argument = (arg), .null = LB_NULL_NO_ROW}
#define MEMBERS(arg) \
	{.type = LB_MEMBERS_TYPE, .argument = (arg), .null = LB_NULL_TAKEN}
#define INTEGER(arg, oid, argname, min) \
	{.type = (oid), .argument = (arg), .null = LB_NULL_ERROR, \
	 .name = (argname), .least = (min)}

static void check_percentile(Datum value);

PG_FUNCTION_INFO_V1(lb_rank);
PG_FUNCTION_INFO_V1(lb_score);
PG_FUNCTION_INFO_V1(lb_percentile);
PG_FUNCTION_INFO_V1(lb_player);
PG_FUNCTION_INFO_V1(lb_top);
PG_FUNCTION_INFO_V1(lb_top_json);
PG_FUNCTION_INFO_V1(lb_at);
PG_FUNCTION_INFO_V1(lb_around);
PG_FUNCTION_INFO_V1(lb_rank_json);
PG_FUNCTION_INFO_V1(lb_count);
PG_FUNCTION_INFO_V1(lb_count_between);
PG_FUNCTION_INFO_V1(lb_rank_of_score);
PG_FUNCTION_INFO_V1(lb_score_at_percentile);
PG_FUNCTION_INFO_V1(lb_ranks);
PG_FUNCTION_INFO_V1(lb_among);
PG_FUNCTION_INFO_V1(lb_histogram);

/* lb_rank(member, board, method): P's rank. */
const LbReadFunction lb_rank_function = {
	.board = 1,
	.method = 2,
	.ranks = true,
	.columns = {INT8OID},
	.value = lb_rank_value,
	.query = {
		.operands = {MEMBER(0)},
		.text = {"SELECT 1 {+} {preceding} WHERE {P} IS NOT NULL"}
	}
};

/* lb_score(member, board): P's score. */
static const LbReadFunction score_function = {
	.board = 1,
	.columns = {INT8OID},
	.value = lb_score_value,
	.query = {
		.operands = {MEMBER(0)},
		.text = {"SELECT CAST({P} AS {int8})"}
	}
};

/*
 * lb_percentile(member, board): 100 * (rows whose score is not better than P's
 * / N), which is 100 * cume_dist() OVER (ORDER BY score, worst first), in the
 * same floating-point operations.
 */
static const LbReadFunction percentile_function = {
	.board = 1,
	.columns = {FLOAT8OID},
	.value = lb_percentile_value,
	.query = {
		.operands = {MEMBER(0)},
		.text = {
			"SELECT {percentile} FROM (SELECT {totals} {from}) x"
			" WHERE {P} IS NOT NULL"
		}
	}
};

/*
 * lb_player(member, board): P's rank, score and percentile, and N.  One pass
 * counts everything but distinct scores.
 */
static const LbReadFunction player_function = {
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, INT8OID, FLOAT8OID, INT8OID},
	.value = lb_player_value,
	.query = {
		.operands = {MEMBER(0)},
		.text = {
			[LB_ROW_NUMBER] =
			"SELECT 1 {+} x.b, CAST({P} AS {int8}), {percentile}, x.n"
			" FROM (SELECT {totals}, {count} FILTER (WHERE {before}) AS b"
			" {from}) x WHERE {P} IS NOT NULL",
			[LB_RANK] =
			"SELECT 1 {+} (x.n {-} x.a), CAST({P} AS {int8}), {percentile}, x.n"
			" FROM (SELECT {totals} {from}) x WHERE {P} IS NOT NULL",
			[LB_DENSE_RANK] =
			"SELECT 1 {+} {preceding}, CAST({P} AS {int8}), {percentile}, x.n"
			" FROM (SELECT {totals} {from}) x WHERE {P} IS NOT NULL"
		}
	}
};

/*
 * lb_top(n, board, skip): the rows at places skip + 1 ... skip + n of O.
 *
 * By rank and dense_rank, a rank depends on the rows before only, so the window
 * runs over the first skip + n rows.  LEAST keeps that sum in range.
 */
static const char *const top_text[LB_NMETHODS] = {
	[LB_ROW_NUMBER] =
	"SELECT $2 {+} {rankfn}, CAST(m AS {mtype}), CAST(k1 AS {int8})"
	" FROM (SELECT {keys} {from} ORDER BY {order}"
	" LIMIT $1 OFFSET $2) s ORDER BY {korder}",
	[LB_RANK] =
	"SELECT {rankfn}, CAST(m AS {mtype}), CAST(k1 AS {int8})"
	" FROM (SELECT {keys} {from} ORDER BY {order}"
	" LIMIT CAST($1 AS {int8}) {+}"
	" LEAST($2, CAST('4611686018427387904' AS {int8}))) s"
	" ORDER BY {korder} OFFSET $2"
};

#define N_AND_SKIP INTEGER(0, INT4OID, "n", 0), INTEGER(2, INT8OID, "skip", 0)

const LbReadFunction lb_top_function = {
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, INT8OID},
	.set = true,
	.rows = lb_top_rows,
	.query = {
		.operands = {N_AND_SKIP},
		.text = {"{rows}"},
		.rows = top_text
	}
};

/*
 * lb_top_json(n, board, skip): one object of the board's name, the time at which
 * the transaction started, and the rows of lb_top().  row_to_json() leaves no
 * space between the elements of an array of rows.
 */
static const LbReadFunction top_json_function = {
	.board = 1,
	.ranks = true,
	.columns = {JSONOID},
	.rows = lb_top_json_rows,
	.query = {
		.operands = {
			N_AND_SKIP,
			{.type = TEXTOID,.argument = 1,.null = LB_NULL_TAKEN}
		},
		.text = {
			"SELECT pg_catalog.row_to_json(j) FROM (SELECT $3 AS board,"
			" pg_catalog.now() AS as_of, ARRAY(SELECT e FROM ({rows})"
			" e (rank, player_id, score)) AS entries) j"
		},
		.rows = top_text
	}
};

/* lb_at(place, board): the row at one place of O. */
static const LbReadFunction at_function = {
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, INT8OID},
	.rows = lb_at_rows,
	.query = {
		.operands = {
			{.type = INT8OID,.argument = 0,.null = LB_NULL_NO_ROW}
		},
		.text = {
			[LB_ROW_NUMBER] =
			"SELECT $1, CAST({member} AS {mtype}), CAST({score} AS {int8})"
			" {from} AND $1 {>=} 1"
			" ORDER BY {order} OFFSET GREATEST($1, 1) {-} 1 LIMIT 1",
			[LB_RANK] =
			"SELECT {rankfn}, CAST(m AS {mtype}), CAST(k1 AS {int8})"
			" FROM (SELECT {keys} {from} ORDER BY {order}"
			" LIMIT GREATEST($1, 0)) s"
			" ORDER BY {korder} OFFSET GREATEST($1, 1) {-} 1"
		}
	}
};

/*
 * lb_around(member, board, radius): the rows at places p - radius ... p + radius
 * of O, where p is P's place, whatever the method.
 *
 * The first row's place is p - radius, or 1.  So is its rank, by row_number; by
 * the other methods it takes a count of the scores better than its own, and any
 * row with another score than the first has its ties among the rows at hand.
 */
static const LbReadFunction around_function = {
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, INT8OID},
	.set = true,
	.rows = lb_around_rows,
	.query = {
		.operands = {MEMBER(0), INTEGER(2, INT4OID, "radius", 0)},
		.text = {
			[LB_ROW_NUMBER] =
			"{around_rows} SELECT {around_skip} {+} {rankfn},"
			" CAST(m AS {mtype}), CAST(k1 AS {int8})"
			" FROM s ORDER BY {korder}",
			[LB_RANK] =
			"{around_rows} SELECT CASE WHEN {rankfn} {=} 1"
			" THEN 1 {+} (SELECT {count} {from} AND"
			" {score} {better} (SELECT {best}(k1) FROM s))"
			" ELSE {around_skip} {+} {rankfn} END,"
			" CAST(m AS {mtype}), CAST(k1 AS {int8})"
			" FROM s ORDER BY {korder}",
			[LB_DENSE_RANK] =
			"{around_rows} SELECT (SELECT {count} FROM (SELECT 1 {from} AND"
			" {score} {better} (SELECT {best}(k1) FROM s)"
			" GROUP BY {score}) g) {+} {rankfn},"
			" CAST(m AS {mtype}), CAST(k1 AS {int8})"
			" FROM s ORDER BY {korder}"
		}
	}
};

/* lb_count(board): N. */
static const LbReadFunction count_function = {
	.board = 0,
	.columns = {INT8OID},
	.value = lb_count_value,
	.query = {
		.text = {"SELECT {count} {from}"}
	}
};

/*
 * lb_count_between(lo, hi, board): rows with lo <= score <= hi; a null end is
 * open.  The query takes the end of the type's range instead, so that it can use
 * an index in either case.
 */
static const LbReadFunction count_between_function = {
	.board = 2,
	.columns = {INT8OID},
	.value = lb_count_between_value,
	.query = {
		.operands = {
			{.type = INT8OID,.argument = 0,.null = LB_NULL_TAKEN},
			{.type = INT8OID,.argument = 1,.null = LB_NULL_TAKEN}
		},
		.text = {
			"SELECT {count} {from} AND {score} {>=}"
			" COALESCE($1, CAST('-9223372036854775808' AS {int8}))"
			" AND {score} {<=}"
			" COALESCE($2, CAST('9223372036854775807' AS {int8}))"
		}
	}
};

/*
 * lb_rank_of_score(score, board, method): the rank of a row with that score,
 * row_number taken as rank.
 */
static const LbReadFunction rank_of_score_function = {
	.board = 1,
	.method = 2,
	.ranks = true,
	.columns = {INT8OID},
	.value = lb_rank_of_score_value,
	.query = {
		.operands = {
			{.type = INT8OID,.argument = 0,.null = LB_NULL_NO_ROW}
		},
		.text = {
			[LB_ROW_NUMBER] =
			"SELECT 1 {+} (SELECT {count} {from}"
			" AND {score} {better} $1) WHERE $1 IS NOT NULL",
			[LB_DENSE_RANK] =
			"SELECT 1 {+} (SELECT {count} FROM (SELECT 1 {from}"
			" AND {score} {better} $1 GROUP BY {score}) g)"
			" WHERE $1 IS NOT NULL"
		}
	}
};

/*
 * lb_score_at_percentile(p, board): percentile_disc(p / 100) WITHIN GROUP (ORDER
 * BY score, worst first).
 *
 * percentile_disc takes the row at place ceil(p / 100 * N) from the worst, at
 * least 1.  Counted from the best instead, the percentiles that are asked for
 * are near the start.
 */
static const LbReadFunction score_at_percentile_function = {
	.board = 1,
	.columns = {INT8OID},
	.value = lb_score_at_percentile_value,
	.query = {
		.operands = {
			{.type = FLOAT8OID,.argument = 0,.null = LB_NULL_NO_ROW,
			.check = check_percentile}
		},
		.text = {
			"SELECT CAST({score} AS {int8}) {from} AND $1 IS NOT NULL"
			" ORDER BY {score} {dir}"
			" OFFSET (SELECT GREATEST(x.n {-} GREATEST(CAST("
			"pg_catalog.ceil(($1 {/} CAST(100 AS {float8})) {*}"
			" CAST(x.n AS {float8})) AS {int8}), 1), 0)"
			" FROM (SELECT {count} AS n {from}) x) LIMIT 1"
		}
	}
};

/*
 * lb_ranks(members, board, method): each element of the array, in its order,
 * with its rank and score, null if it is not on the board.
 */
const LbReadFunction lb_ranks_function = {
	.board = 1,
	.method = 2,
	.ranks = true,
	.columns = {LB_MEMBER_TYPE, INT8OID, INT8OID},
	.set = true,
	.rows = lb_ranks_rows,
	.query = {
		.operands = {MEMBERS(0)},
		.text = {
			"SELECT a.m, w.r, CAST(w.k1 AS {int8})"
			" FROM pg_catalog.unnest($1) WITH ORDINALITY AS a (m, o)"
			" LEFT JOIN {ranked} w ON w.m {=} a.m ORDER BY a.o"
		}
	}
};

/*
 * lb_among(members, board): the distinct members of the array that are on the
 * board in O, with their place among themselves and their rank.
 */
static const LbReadFunction among_function = {
	.board = 1,
	.ranks = true,
	.columns = {INT8OID, LB_MEMBER_TYPE, INT8OID, INT8OID},
	.set = true,
	.rows = lb_among_rows,
	.query = {
		.operands = {MEMBERS(0)},
		.text = {
			"SELECT pg_catalog.row_number() OVER (ORDER BY {korder}),"
			" CAST(m AS {mtype}), CAST(k1 AS {int8}), r"
			" FROM {ranked} w ORDER BY {korder}"
		}
	}
};

/*
 * lb_histogram(buckets, board): R = |best - worst| + 1 scores cut into k =
 * least(buckets, R) buckets; a row at distance d from the worst score belongs to
 * bucket floor(d * k / R) + 1.
 *
 * The least distance in bucket i is ceil((i - 1) * R / k).  The query computes the
 * bounds from these, in exact numeric arithmetic.  Then one pass finds each row's
 * bucket by a binary search or, if the bounds are too many for an array, computes
 * it.
 */
static const LbReadFunction histogram_function = {
	.board = 1,
	.columns = {INT4OID, INT8OID, INT8OID, INT8OID},
	.set = true,
	.rows = lb_histogram_rows,
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

Datum
lb_rank(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &lb_rank_function);
}

Datum
lb_score(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &score_function);
}

Datum
lb_percentile(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &percentile_function);
}

Datum
lb_player(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &player_function);
}

Datum
lb_top(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &lb_top_function);
}

Datum
lb_top_json(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &top_json_function);
}

Datum
lb_at(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &at_function);
}

Datum
lb_around(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &around_function);
}

/* lb_player() and lb_around() in one object. */
Datum
lb_rank_json(PG_FUNCTION_ARGS)
{
	return lb_call_rank_json(fcinfo, &player_function, &around_function);
}

Datum
lb_count(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &count_function);
}

Datum
lb_count_between(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &count_between_function);
}

Datum
lb_rank_of_score(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &rank_of_score_function);
}

Datum
lb_score_at_percentile(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &score_at_percentile_function);
}

Datum
lb_ranks(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &lb_ranks_function);
}

Datum
lb_among(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &among_function);
}

Datum
lb_histogram(PG_FUNCTION_ARGS)
{
	return lb_call(fcinfo, &histogram_function);
}
