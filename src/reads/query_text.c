/*-------------------------------------------------------------------------
 *
 * query_text.c
 *	  The texts of the defining queries.
 *
 * B is the board's ranked rows: member, every column of rank_by and the board
 * column are not null, ranked_if is true, and the board column equals the
 * board's value.  O is rank_by followed by the member, ascending; P is the row
 * of the member asked for; "better" is strictly before in the score's own
 * direction.  A rank is, by method,
 *
 *	row_number		1 + rows of B that come before the row in O
 *	rank			1 + rows of B with a better score
 *	dense_rank		1 + distinct better scores in B
 *
 * and the queries are, in words:
 *
 *	rank			P's rank
 *	score			P's score
 *	percentile		100 * (rows whose score is not better than P's / N), which
 *					is 100 * cume_dist() OVER (ORDER BY score, worst first), in
 *					the same floating-point operations
 *	player			P's rank, score and percentile, and N
 *	top				the rows at places skip + 1 ... skip + n of O
 *	top_json		one object: the board's name, the time that the
 *					transaction has started, and the rows of top
 *	at				the row at one place of O
 *	around			the rows at places p - radius ... p + radius of O, where p
 *					is P's place, whatever the method
 *	count			N
 *	count_between	rows with lo <= score <= hi; a null end is open
 *	rank_of_score	the rank of a row with that score, row_number taken as rank
 *	score_at_percentile
 *					percentile_disc(p / 100) WITHIN GROUP (ORDER BY score,
 *					worst first)
 *	ranks			each element of the array, in its order, with its rank and
 *					score, null if it is not on the board
 *	among			the distinct members of the array that are on the board in
 *					O, with their place among themselves and their rank
 *	prefix			whether B of all boards of a family has a row whose board
 *					column begins with a text; no function's own
 *	histogram		R = |best - worst| + 1 scores cut into k = least(n, R)
 *					buckets; a row at distance d from the worst score belongs
 *					to bucket floor(d * k / R) + 1
 *
 * They are not written with window functions over all of B, which would sort
 * it each time, but so that an index on the score or else one pass over the
 * table serves: a rank counts the rows before P; the top list computes ranks
 * over its own first rows only, which is exact because no rank depends on a
 * row further down; neighbours come from a short scan to either side.
 *
 * P's columns appear in the text as scalar subqueries.  The planner makes
 * each an InitPlan, so it is looked up once, its value can be the bound of an
 * index scan, and the count that depends on it can still be parallel, which
 * is not so with a join.  They have LIMIT 1 because a board that is offline
 * since its unique index was dropped must not fail on a duplicate member.
 *
 * Everything in the text is qualified: no search_path changes its meaning.
 * Under row-level security and in any snapshot it says what the user's own
 * query would say.
 *
 * The text is put together from templates, in which words in braces stand for
 * what depends on the board; see expand().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "reads/query_text.h"

/* The types of the operands of each kind of query. */
static const struct
{
	int			n;
	Oid			types[LB_MAX_OPERANDS];
}			operands[LB_NQUERIES] =

{
	[LB_QUERY_RANK] = {1, {INT8OID}},
	[LB_QUERY_SCORE] = {1, {INT8OID}},
	[LB_QUERY_PERCENTILE] = {1, {INT8OID}},
	[LB_QUERY_PLAYER] = {1, {INT8OID}},
	[LB_QUERY_TOP] = {2, {INT4OID, INT8OID}},
	[LB_QUERY_TOP_JSON] = {3, {INT4OID, INT8OID, TEXTOID}},
	[LB_QUERY_AT] = {1, {INT8OID}},
	[LB_QUERY_AROUND] = {2, {INT8OID, INT4OID}},
	[LB_QUERY_COUNT] = {0},
	[LB_QUERY_COUNT_BETWEEN] = {2, {INT8OID, INT8OID}},
	[LB_QUERY_RANK_OF_SCORE] = {1, {INT8OID}},
	[LB_QUERY_SCORE_AT_PERCENTILE] = {1, {FLOAT8OID}},
	[LB_QUERY_RANKS] = {1, {INT8ARRAYOID}},
	[LB_QUERY_AMONG] = {1, {INT8ARRAYOID}},
	[LB_QUERY_HISTOGRAM] = {1, {INT4OID}},
	[LB_QUERY_PREFIX] = {0},
};

/* Words that mean the same in every query. */
static const struct
{
	const char *word;
	const char *text;
}			fixed_words[] =

{
	{"+", "OPERATOR(pg_catalog.+)"},
	{"-", "OPERATOR(pg_catalog.-)"},
	{"*", "OPERATOR(pg_catalog.*)"},
	{"/", "OPERATOR(pg_catalog./)"},
	{"=", "OPERATOR(pg_catalog.=)"},
	{"<=", "OPERATOR(pg_catalog.<=)"},
	{">=", "OPERATOR(pg_catalog.>=)"},
	{"count", "pg_catalog.count(*)"},
	{"int4", "pg_catalog.int4"},
	{"int8", "pg_catalog.int8"},
	{"float8", "pg_catalog.float8"},
	{"numeric", "pg_catalog.numeric"},
};

static void expand(StringInfo buf, const LbDefinition *defn, LbQueryKind kind,
				   LbMethod method, const char *template);
static bool expand_word(StringInfo buf, const LbDefinition *defn,
						LbQueryKind kind, LbMethod method, const char *word,
						int len);
static const char *template_of(LbQueryKind kind, LbMethod method,
							   bool descending);
static void append_from(StringInfo buf, const LbDefinition *defn,
						LbQueryKind kind, const char *alias);
static void append_order(StringInfo buf, const LbDefinition *defn,
						 const char *alias, bool reverse, int first);
static void append_key_order(StringInfo buf, const LbDefinition *defn);
static void append_operator(StringInfo buf, bool less, bool or_equal);
static void append_lookup(StringInfo buf, const LbDefinition *defn,
						  LbQueryKind kind, int column);
static void append_beside(StringInfo buf, const LbDefinition *defn,
						  LbQueryKind kind, int column, bool before);
static void column_facts(const LbDefinition *defn, AttrNumber attno,
						 bool *notnull, Oid *collation);

int
lb_query_operands(LbQueryKind kind, const Oid **types)
{
	*types = operands[kind].types;
	return operands[kind].n;
}

/*
 * The text of a query.  See query_text.h.
 */
char *
lb_query_text(const LbDefinition *defn, LbQueryKind kind, LbMethod method)
{
	StringInfoData buf;

	initStringInfo(&buf);
	expand(&buf, defn, kind, method,
		   template_of(kind, method, defn->columns[0].descending));
	return buf.data;
}

/*
 * The templates.  $1, $2 ... are the operands.  Words in braces:
 *
 *	from		FROM source t WHERE the row is in B
 *	score		t's score
 *	member		t's member
 *	keys		t's rank_by columns as k1, k2 ... and its member as m
 *	order		O over t; "reverse" is O read backwards
 *	korder		O over k1, k2 ..., m
 *	dir			the score's direction
 *	better		operator: the left score is better than the right one
 *	notbetter	operator: it is not
 *	P			P's score, or null if the member is not on the board
 *	before		t comes before P in O
 *	after		t is P or comes after it in O
 *	best		aggregate function: the best of scores; "worst" the worst
 *	rankfn		the window function of the method over k1, k2 ..., m
 *	preceding	how many rows, or distinct scores, P's rank counts
 *	ranked		for an array of members: those on the board, with their keys
 *				and r, their rank
 *	top			the query of the top list
 *	search		t's bucket in a histogram, counted from the least score, or null
 */
static const char *
template_of(LbQueryKind kind, LbMethod method, bool descending)
{
	bool		row_number = (method == LB_ROW_NUMBER);
	bool		dense = (method == LB_DENSE_RANK);

	switch (kind)
	{
		case LB_QUERY_RANK:
			return "SELECT 1 {+} {preceding} WHERE {P} IS NOT NULL";

		case LB_QUERY_SCORE:
			return "SELECT CAST({P} AS {int8})";

		case LB_QUERY_PERCENTILE:
			return "SELECT CAST(100 AS {float8}) {*}"
				" (CAST(x.a AS {float8}) {/} CAST(x.n AS {float8}))"
				" FROM (SELECT {count} AS n,"
				" {count} FILTER (WHERE {score} {notbetter} {P}) AS a"
				" {from}) x WHERE {P} IS NOT NULL";

		case LB_QUERY_PLAYER:
			/* One pass counts everything but distinct scores. */
			if (row_number)
				return "SELECT 1 {+} x.b, CAST({P} AS {int8}),"
					" CAST(100 AS {float8}) {*}"
					" (CAST(x.a AS {float8}) {/} CAST(x.n AS {float8})), x.n"
					" FROM (SELECT {count} AS n,"
					" {count} FILTER (WHERE {score} {notbetter} {P}) AS a,"
					" {count} FILTER (WHERE {before}) AS b"
					" {from}) x WHERE {P} IS NOT NULL";
			if (dense)
				return "SELECT 1 {+} {preceding}, CAST({P} AS {int8}),"
					" CAST(100 AS {float8}) {*}"
					" (CAST(x.a AS {float8}) {/} CAST(x.n AS {float8})), x.n"
					" FROM (SELECT {count} AS n,"
					" {count} FILTER (WHERE {score} {notbetter} {P}) AS a"
					" {from}) x WHERE {P} IS NOT NULL";
			return "SELECT 1 {+} (x.n {-} x.a), CAST({P} AS {int8}),"
				" CAST(100 AS {float8}) {*}"
				" (CAST(x.a AS {float8}) {/} CAST(x.n AS {float8})), x.n"
				" FROM (SELECT {count} AS n,"
				" {count} FILTER (WHERE {score} {notbetter} {P}) AS a"
				" {from}) x WHERE {P} IS NOT NULL";

		case LB_QUERY_TOP:
			if (row_number)
				return "SELECT $2 {+} {rankfn},"
					" CAST(m AS {int8}), CAST(k1 AS {int8})"
					" FROM (SELECT {keys} {from} ORDER BY {order}"
					" LIMIT $1 OFFSET $2) s ORDER BY {korder}";

			/*
			 * A rank depends on the rows before only, so the window runs over
			 * the first skip + n rows.  LEAST keeps that sum in range.
			 */
			return "SELECT {rankfn}, CAST(m AS {int8}), CAST(k1 AS {int8})"
				" FROM (SELECT {keys} {from} ORDER BY {order}"
				" LIMIT CAST($1 AS {int8}) {+}"
				" LEAST($2, CAST('4611686018427387904' AS {int8}))) s"
				" ORDER BY {korder} OFFSET $2";

		case LB_QUERY_TOP_JSON:
			/* Of an array of rows row_to_json() leaves no space between. */
			return "SELECT pg_catalog.row_to_json(j) FROM (SELECT $3 AS board,"
				" pg_catalog.now() AS as_of, ARRAY(SELECT e FROM ({top})"
				" e (rank, player_id, score)) AS entries) j";

		case LB_QUERY_PREFIX:
			return "SELECT EXISTS (SELECT {from})";

		case LB_QUERY_AT:
			if (row_number)
				return "SELECT $1, CAST({member} AS {int8}),"
					" CAST({score} AS {int8}) {from} AND $1 {>=} 1"
					" ORDER BY {order} OFFSET GREATEST($1, 1) {-} 1 LIMIT 1";
			return "SELECT {rankfn}, CAST(m AS {int8}), CAST(k1 AS {int8})"
				" FROM (SELECT {keys} {from} ORDER BY {order}"
				" LIMIT GREATEST($1, 0)) s"
				" ORDER BY {korder} OFFSET GREATEST($1, 1) {-} 1";

		case LB_QUERY_AROUND:

			/*
			 * The first row's place is p - radius, or 1.  So is its rank, by
			 * row_number; by the other methods it takes a count of the scores
			 * better than its own, and any row with another score than the
			 * first has its ties among the rows at hand.
			 */
			if (row_number)
				return "WITH s AS MATERIALIZED ("
					"(SELECT {keys} {from} AND {P} IS NOT NULL AND {before}"
					" ORDER BY {reverse} LIMIT $2) UNION ALL"
					" (SELECT {keys} {from} AND {P} IS NOT NULL AND {after}"
					" ORDER BY {order} LIMIT CAST($2 AS {int8}) {+} 1))"
					" SELECT GREATEST((SELECT {count} {from} AND {before})"
					" {-} $2, 0) {+} {rankfn},"
					" CAST(m AS {int8}), CAST(k1 AS {int8})"
					" FROM s ORDER BY {korder}";
			if (dense)
				return "WITH s AS MATERIALIZED ("
					"(SELECT {keys} {from} AND {P} IS NOT NULL AND {before}"
					" ORDER BY {reverse} LIMIT $2) UNION ALL"
					" (SELECT {keys} {from} AND {P} IS NOT NULL AND {after}"
					" ORDER BY {order} LIMIT CAST($2 AS {int8}) {+} 1))"
					" SELECT (SELECT {count} FROM (SELECT 1 {from} AND"
					" {score} {better} (SELECT {best}(k1) FROM s)"
					" GROUP BY {score}) g) {+} {rankfn},"
					" CAST(m AS {int8}), CAST(k1 AS {int8})"
					" FROM s ORDER BY {korder}";
			return "WITH s AS MATERIALIZED ("
				"(SELECT {keys} {from} AND {P} IS NOT NULL AND {before}"
				" ORDER BY {reverse} LIMIT $2) UNION ALL"
				" (SELECT {keys} {from} AND {P} IS NOT NULL AND {after}"
				" ORDER BY {order} LIMIT CAST($2 AS {int8}) {+} 1))"
				" SELECT CASE WHEN {rankfn} {=} 1"
				" THEN 1 {+} (SELECT {count} {from} AND"
				" {score} {better} (SELECT {best}(k1) FROM s))"
				" ELSE GREATEST((SELECT {count} {from} AND {before})"
				" {-} $2, 0) {+} {rankfn} END,"
				" CAST(m AS {int8}), CAST(k1 AS {int8})"
				" FROM s ORDER BY {korder}";

		case LB_QUERY_COUNT:
			return "SELECT {count} {from}";

		case LB_QUERY_COUNT_BETWEEN:
			/* An open end is the type's own: an index can serve either way. */
			return "SELECT {count} {from} AND {score} {>=}"
				" COALESCE($1, CAST('-9223372036854775808' AS {int8}))"
				" AND {score} {<=}"
				" COALESCE($2, CAST('9223372036854775807' AS {int8}))";

		case LB_QUERY_RANK_OF_SCORE:
			if (dense)
				return "SELECT 1 {+} (SELECT {count} FROM (SELECT 1 {from}"
					" AND {score} {better} $1 GROUP BY {score}) g)"
					" WHERE $1 IS NOT NULL";
			return "SELECT 1 {+} (SELECT {count} {from}"
				" AND {score} {better} $1) WHERE $1 IS NOT NULL";

		case LB_QUERY_SCORE_AT_PERCENTILE:

			/*
			 * percentile_disc takes the row at place ceil(p / 100 * N) from
			 * the worst, at least 1.  Counted from the best instead, the
			 * percentiles that are asked for are near the start.
			 */
			return "SELECT CAST({score} AS {int8}) {from} AND $1 IS NOT NULL"
				" ORDER BY {score} {dir}"
				" OFFSET (SELECT GREATEST(x.n {-} GREATEST(CAST("
				"pg_catalog.ceil(($1 {/} CAST(100 AS {float8})) {*}"
				" CAST(x.n AS {float8})) AS {int8}), 1), 0)"
				" FROM (SELECT {count} AS n {from}) x) LIMIT 1";

		case LB_QUERY_RANKS:
			return "SELECT a.m, w.r, CAST(w.k1 AS {int8})"
				" FROM pg_catalog.unnest($1) WITH ORDINALITY AS a (m, o)"
				" LEFT JOIN {ranked} w ON w.m {=} a.m ORDER BY a.o";

		case LB_QUERY_AMONG:
			return "SELECT pg_catalog.row_number() OVER (ORDER BY {korder}),"
				" CAST(m AS {int8}), CAST(k1 AS {int8}), r"
				" FROM {ranked} w ORDER BY {korder}";

		case LB_QUERY_HISTOGRAM:

			/*
			 * The least distance in bucket i is ceil((i - 1) * R / k); from
			 * these the bounds, in exact numeric arithmetic, and then one
			 * pass that finds each row's bucket by binary search; or works it
			 * out, where there are too many bounds for an array.
			 */
			if (descending)
				return "WITH x AS MATERIALIZED (SELECT e.lo,"
					" (e.hi {-} e.lo) {+} 1 AS r,"
					" LEAST(CAST($1 AS {numeric}), (e.hi {-} e.lo) {+} 1) AS k"
					" FROM (SELECT"
					" CAST(pg_catalog.min({score}) AS {numeric}) AS lo,"
					" CAST(pg_catalog.max({score}) AS {numeric}) AS hi {from}"
					") e WHERE e.lo IS NOT NULL),"
					" g AS MATERIALIZED (SELECT b.i, b.i AS j,"
					" CAST(x.lo {+} pg_catalog.div(((b.i {-} 1) {*} x.r)"
					" {+} (x.k {-} 1), x.k) AS {int8}) AS lo,"
					" CAST((x.lo {+} pg_catalog.div((b.i {*} x.r)"
					" {+} (x.k {-} 1), x.k)) {-} 1 AS {int8}) AS hi"
					" FROM x, pg_catalog.generate_series("
					"CAST(1 AS {numeric}), x.k) AS b (i)),"
					" c AS MATERIALIZED (SELECT COALESCE({search},"
					" CAST(pg_catalog.div((CAST({score} AS {numeric})"
					" {-} (SELECT x.lo FROM x)) {*} (SELECT x.k FROM x),"
					" (SELECT x.r FROM x)) {+} 1 AS {int4})) AS j,"
					" {count} AS n {from} GROUP BY 1)"
					" SELECT CAST(g.i AS {int4}), g.lo, g.hi,"
					" COALESCE(c.n, 0)"
					" FROM g LEFT JOIN c ON c.j {=} CAST(g.j AS {int4})"
					" ORDER BY g.i";
			return "WITH x AS MATERIALIZED (SELECT e.hi,"
				" (e.hi {-} e.lo) {+} 1 AS r,"
				" LEAST(CAST($1 AS {numeric}), (e.hi {-} e.lo) {+} 1) AS k"
				" FROM (SELECT"
				" CAST(pg_catalog.min({score}) AS {numeric}) AS lo,"
				" CAST(pg_catalog.max({score}) AS {numeric}) AS hi {from}"
				") e WHERE e.lo IS NOT NULL),"
				" g AS MATERIALIZED (SELECT b.i, (x.k {-} b.i) {+} 1 AS j,"
				" CAST((x.hi {-} pg_catalog.div((b.i {*} x.r)"
				" {+} (x.k {-} 1), x.k)) {+} 1 AS {int8}) AS lo,"
				" CAST(x.hi {-} pg_catalog.div(((b.i {-} 1) {*} x.r)"
				" {+} (x.k {-} 1), x.k) AS {int8}) AS hi"
				" FROM x, pg_catalog.generate_series("
				"CAST(1 AS {numeric}), x.k) AS b (i)),"
				" c AS MATERIALIZED (SELECT COALESCE({search},"
				" CAST((SELECT x.k FROM x) {-} pg_catalog.div(("
				"(SELECT x.hi FROM x) {-} CAST({score} AS {numeric}))"
				" {*} (SELECT x.k FROM x),"
				" (SELECT x.r FROM x)) AS {int4})) AS j,"
				" {count} AS n {from} GROUP BY 1)"
				" SELECT CAST(g.i AS {int4}), g.lo, g.hi,"
				" COALESCE(c.n, 0)"
				" FROM g LEFT JOIN c ON c.j {=} CAST(g.j AS {int4})"
				" ORDER BY g.i";

		case LB_NQUERIES:
			break;
	}
	elog(ERROR, "unknown kind of query: %d", (int) kind);
}

/*
 * Append a template to buf with the words in braces replaced.  Replacements
 * can be templates in turn, but never hold names: those are appended as they
 * are, so braces in a name mean nothing.
 */
static void
expand(StringInfo buf, const LbDefinition *defn, LbQueryKind kind,
	   LbMethod method, const char *template)
{
	const char *p = template;

	while (*p != '\0')
	{
		const char *end;

		if (*p != '{')
		{
			size_t		len = strcspn(p, "{");

			appendBinaryStringInfo(buf, p, len);
			p += len;
			continue;
		}
		end = strchr(p, '}');
		Assert(end != NULL);
		if (!expand_word(buf, defn, kind, method, p + 1, end - p - 1))
			elog(ERROR, "unknown word in the template of query %d: \"%s\"",
				 (int) kind, p);
		p = end + 1;
	}
}

static bool
expand_word(StringInfo buf, const LbDefinition *defn, LbQueryKind kind,
			LbMethod method, const char *word, int len)
{
	bool		descending = defn->columns[0].descending;
	int			i;

#define WORD_IS(w) (len == (int) strlen(w) && strncmp(word, w, len) == 0)

	for (i = 0; i < (int) lengthof(fixed_words); i++)
	{
		if (WORD_IS(fixed_words[i].word))
		{
			appendStringInfoString(buf, fixed_words[i].text);
			return true;
		}
	}

	if (WORD_IS("from"))
		append_from(buf, defn, kind, "t");
	else if (WORD_IS("score"))
		appendStringInfo(buf, "t.%s", quote_identifier(defn->columns[0].name));
	else if (WORD_IS("member"))
		appendStringInfo(buf, "t.%s", quote_identifier(defn->member));
	else if (WORD_IS("keys"))
	{
		for (i = 0; i < defn->ncolumns; i++)
			appendStringInfo(buf, "t.%s AS k%d, ",
							 quote_identifier(defn->columns[i].name), i + 1);
		appendStringInfo(buf, "t.%s AS m", quote_identifier(defn->member));
	}
	else if (WORD_IS("order"))
		append_order(buf, defn, "t", false, 0);
	else if (WORD_IS("reverse"))
		append_order(buf, defn, "t", true, 0);
	else if (WORD_IS("korder"))
		append_key_order(buf, defn);
	else if (WORD_IS("dir"))
		appendStringInfoString(buf, descending ? "DESC" : "ASC");
	else if (WORD_IS("better"))
		append_operator(buf, !descending, false);
	else if (WORD_IS("notbetter"))
		append_operator(buf, descending, true);
	else if (WORD_IS("notworse"))
		append_operator(buf, !descending, true);
	else if (WORD_IS("best"))
		appendStringInfo(buf, "pg_catalog.%s", descending ? "max" : "min");
	else if (WORD_IS("worst"))
		appendStringInfo(buf, "pg_catalog.%s", descending ? "min" : "max");
	else if (WORD_IS("P"))
		append_lookup(buf, defn, kind, 0);
	else if (WORD_IS("before"))
		append_beside(buf, defn, kind, 0, true);
	else if (WORD_IS("after"))
		append_beside(buf, defn, kind, 0, false);
	else if (WORD_IS("rankfn"))
		expand(buf, defn, kind, method,
			   method == LB_ROW_NUMBER ?
			   "pg_catalog.row_number() OVER (ORDER BY {korder})" :
			   method == LB_RANK ?
			   "pg_catalog.rank() OVER (ORDER BY k1 {dir})" :
			   "pg_catalog.dense_rank() OVER (ORDER BY k1 {dir})");
	else if (WORD_IS("preceding"))
		expand(buf, defn, kind, method,
			   method == LB_ROW_NUMBER ?
			   "(SELECT {count} {from} AND {before})" :
			   method == LB_RANK ?
			   "(SELECT {count} {from} AND {score} {better} {P})" :
			   "(SELECT {count} FROM (SELECT 1 {from}"
			   " AND {score} {better} {P} GROUP BY {score}) g)");
	else if (WORD_IS("ranked"))
	{
		/*
		 * For many members one sort beats a count for each.  Rows worse than
		 * all of them rank nobody and stay out of it.
		 *
		 * They are compared with a subselect, which can be hashed whatever
		 * the types.  With the array itself, = ANY, and IS NOT NULL the
		 * planner would also leave out a default partition that has some.
		 */
		expand(buf, defn, kind, method,
			   "(SELECT DISTINCT ON (v.m) v.* FROM"
			   " (SELECT {rankfn} AS r, s.* FROM (SELECT {keys} {from}"
			   " AND {score} {notworse} (SELECT {worst}({score}) {from}"
			   " AND {member} {=} ANY (SELECT u FROM pg_catalog.unnest($1) u)))"
			   " s) v WHERE v.m {=} ANY (SELECT u FROM pg_catalog.unnest($1) u)"
			   " ORDER BY v.m, {korder})");
	}
	else if (WORD_IS("search"))
		expand(buf, defn, kind, method,
			   "pg_catalog.width_bucket(CAST({score} AS {int8}),"
			   " (SELECT pg_catalog.array_agg(g.lo ORDER BY g.lo) FROM g"
			   " WHERE (SELECT x.k FROM x) {<=} 100000))");
	else if (WORD_IS("top"))
		expand(buf, defn, kind, method,
			   template_of(LB_QUERY_TOP, method, descending));
	else
		return false;

#undef WORD_IS

	return true;
}

/*
 * FROM source WHERE the row is in B.  More conditions can follow with AND.
 *
 * Children of a plain table by inheritance are not part of the board: neither
 * its unique index nor its triggers reach them.
 */
static void
append_from(StringInfo buf, const LbDefinition *defn, LbQueryKind kind,
			const char *alias)
{
	bool		notnull;
	Oid			collation;
	int			i;

	appendStringInfo(buf, "FROM %s %s WHERE true", defn->from_name, alias);

	/*
	 * A test that can never fail would still keep the planner from reading an
	 * index on the score alone, so leave it out.
	 */
	for (i = 0; i < defn->ncolumns; i++)
	{
		column_facts(defn, defn->columns[i].attno, &notnull, NULL);
		if (!notnull)
			appendStringInfo(buf, " AND %s.%s IS NOT NULL", alias,
							 quote_identifier(defn->columns[i].name));
	}
	column_facts(defn, defn->member_attno, &notnull, NULL);
	if (!notnull)
		appendStringInfo(buf, " AND %s.%s IS NOT NULL", alias,
						 quote_identifier(defn->member));

	if (kind == LB_QUERY_PREFIX)
		appendStringInfo(buf, " AND pg_catalog.starts_with(CAST(%s.%s AS pg_catalog.text)"
						 " COLLATE pg_catalog.\"C\", $1)",
						 alias, quote_identifier(defn->board_column));
	else if (defn->family)
	{
		const char *name = quote_identifier(defn->board_column);
		int			n = operands[kind].n + 1;

		switch (defn->board_type)
		{
			case INT2OID:
			case INT4OID:
			case INT8OID:
				appendStringInfo(buf, " AND %s.%s OPERATOR(pg_catalog.=)"
								 " CAST($%d AS pg_catalog.%s)",
								 alias, name, n,
								 defn->board_type == INT2OID ? "int2" :
								 defn->board_type == INT4OID ? "int4" :
								 "int8");
				break;
			default:
				appendStringInfo(buf, " AND %s.%s OPERATOR(pg_catalog.=) $%d",
								 alias, name, n);

				/*
				 * Boards differ where their names differ in any byte.  Not
				 * every collation agrees.
				 */
				column_facts(defn, defn->board_attno, NULL, &collation);
				if (OidIsValid(collation) &&
					!get_collation_isdeterministic(collation))
					appendStringInfo(buf, " AND %s.%s COLLATE pg_catalog.\"C\""
									 " OPERATOR(pg_catalog.=) $%d",
									 alias, name, n);
				break;
		}
	}

	if (defn->ranked_attno != InvalidAttrNumber)
		appendStringInfo(buf, " AND %s.%s", alias,
						 quote_identifier(defn->ranked_if));
}

/* O, or from the first-th column of it on; reverse reads it backwards. */
static void
append_order(StringInfo buf, const LbDefinition *defn, const char *alias,
			 bool reverse, int first)
{
	int			i;

	for (i = first; i < defn->ncolumns; i++)
		appendStringInfo(buf, "%s.%s %s, ", alias,
						 quote_identifier(defn->columns[i].name),
						 defn->columns[i].descending != reverse ?
						 "DESC" : "ASC");
	appendStringInfo(buf, "%s.%s %s", alias, quote_identifier(defn->member),
					 reverse ? "DESC" : "ASC");
}

/* O over the columns that "keys" has renamed. */
static void
append_key_order(StringInfo buf, const LbDefinition *defn)
{
	int			i;

	for (i = 0; i < defn->ncolumns; i++)
		appendStringInfo(buf, "k%d %s, ", i + 1,
						 defn->columns[i].descending ? "DESC" : "ASC");
	appendStringInfoString(buf, "m ASC");
}

static void
append_operator(StringInfo buf, bool less, bool or_equal)
{
	appendStringInfo(buf, "OPERATOR(pg_catalog.%s%s)",
					 less ? "<" : ">", or_equal ? "=" : "");
}

/*
 * A column of P, the row of member $1, as a scalar subquery.  Should there be
 * several rows of the member, P is the first in O.
 */
static void
append_lookup(StringInfo buf, const LbDefinition *defn, LbQueryKind kind,
			  int column)
{
	appendStringInfo(buf, "(SELECT p.%s ",
					 quote_identifier(defn->columns[column].name));
	append_from(buf, defn, kind, "p");
	appendStringInfo(buf, " AND p.%s OPERATOR(pg_catalog.=) $1 ORDER BY ",
					 quote_identifier(defn->member));
	append_order(buf, defn, "p", false, 0);
	appendStringInfoString(buf, " LIMIT 1)");
}

/*
 * The condition that t comes before P in O, or that it does not, judged by
 * the columns from the given one on.
 *
 * Where these and the member agree in direction it is a row comparison.
 * Otherwise the column is compared twice, once for its own sake: an AND'ed
 * comparison is what an index scan can start from.
 */
static void
append_beside(StringInfo buf, const LbDefinition *defn, LbQueryKind kind,
			  int column, bool before)
{
	bool		uniform = true;
	bool		less;
	int			i;

	for (i = column; i < defn->ncolumns; i++)
		uniform = uniform && !defn->columns[i].descending;

	if (column == defn->ncolumns)
	{
		appendStringInfo(buf, "t.%s ", quote_identifier(defn->member));
		append_operator(buf, before, !before);
		appendStringInfoString(buf, " $1");
	}
	else if (uniform)
	{
		appendStringInfoString(buf, "ROW(");
		for (i = column; i < defn->ncolumns; i++)
			appendStringInfo(buf, "t.%s, ",
							 quote_identifier(defn->columns[i].name));
		appendStringInfo(buf, "t.%s) ", quote_identifier(defn->member));
		append_operator(buf, before, !before);
		appendStringInfoString(buf, " ROW(");
		for (i = column; i < defn->ncolumns; i++)
		{
			append_lookup(buf, defn, kind, i);
			appendStringInfoString(buf, ", ");
		}
		appendStringInfoString(buf, "$1)");
	}
	else
	{
		less = (before != defn->columns[column].descending);

		appendStringInfo(buf, "(t.%s ",
						 quote_identifier(defn->columns[column].name));
		append_operator(buf, less, true);
		appendStringInfoChar(buf, ' ');
		append_lookup(buf, defn, kind, column);
		appendStringInfo(buf, " AND (t.%s ",
						 quote_identifier(defn->columns[column].name));
		append_operator(buf, less, false);
		appendStringInfoChar(buf, ' ');
		append_lookup(buf, defn, kind, column);
		appendStringInfoString(buf, " OR ");
		append_beside(buf, defn, kind, column + 1, before);
		appendStringInfoString(buf, "))");
	}
}

/*
 * Whether a column of the source is declared NOT NULL, and its collation.
 * Either may be unwanted.
 *
 * From version 17 on the planner sees for itself that a test for null cannot
 * fail, and later versions have NOT NULL constraints that are not valid yet:
 * there, the test stays.
 */
static void
column_facts(const LbDefinition *defn, AttrNumber attno, bool *notnull,
			 Oid *collation)
{
	HeapTuple	tuple;
	Form_pg_attribute att;

	if (notnull)
		*notnull = false;
	if (collation)
		*collation = InvalidOid;

	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(defn->source),
							Int16GetDatum(attno));
	if (!HeapTupleIsValid(tuple))
		return;
	att = (Form_pg_attribute) GETSTRUCT(tuple);
#if PG_VERSION_NUM < 170000
	if (notnull)
		*notnull = att->attnotnull;
#endif
	if (collation)
		*collation = att->attcollation;
	ReleaseSysCache(tuple);
}
