/*-------------------------------------------------------------------------
 *
 * query_text.c
 *	  The texts of the defining queries.
 *
 * functions.c has a template for each query.  Words in braces stand for what
 * depends on the board or is needed more than once; they are listed below.
 *
 * B is the board's ranked rows: member, every column of rank_by and the board
 * column are not null, ranked_if is true, and the board column equals the
 * board's value.  O is rank_by followed by the member's columns, ascending;
 * texts are in the order of their bytes.  P is the row of the member asked
 * for.  "Better" is strictly before in the score's own direction.  A rank is,
 * by method,
 *
 *	row_number		1 + rows of B that come before the row in O
 *	rank			1 + rows of B with a better score
 *	dense_rank		1 + distinct better scores in B
 *
 * The queries have no window functions over all of B, which would sort it each
 * time.  They are written so that an index on the score or else one pass over
 * the table serves: a rank counts the rows before P; the top list computes
 * ranks over its own first rows only, which is exact because no rank depends
 * on a row further down; neighbours come from a short scan to either side.
 *
 * K is the key that the operands are, in this order: the member, the score,
 * the tie-breakers as texts.
 *
 * P's columns appear in the text as scalar subqueries.  The planner makes each
 * an InitPlan, which is evaluated once, can be the bound of an index scan, and
 * leaves the count that depends on it parallel; a join would not.  They have
 * LIMIT 1 because a query must not fail on a duplicate member: a board whose
 * unique index was dropped is offline, and can have some.
 *
 * Citus runs each subquery for itself, and brings its result to all servers.
 * So for its tables a first statement reads P's columns, and they are
 * parameters of the second one (LB_STEP_GIVEN), which counts on each server.
 *
 * Everything in the text is qualified: no search_path changes its meaning.
 * Under row-level security and in any snapshot it says what the user's own
 * query would say.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "boards/resolve.h"
#include "reads/query_text_internal.h"

static void expand(LbText *t, const char *template);

/* Words that stand for a template. */
static const struct
{
	const char *word;
	enum
	{
		ALWAYS,					/* text[0] */
		BY_METHOD,
		BY_DIRECTION			/* of the score: ascending, descending */
	}			by;
	const char *text[LB_NMETHODS];
}			words[] =

{
	{"+", ALWAYS, {"OPERATOR(pg_catalog.+)"}},
	{"-", ALWAYS, {"OPERATOR(pg_catalog.-)"}},
	{"*", ALWAYS, {"OPERATOR(pg_catalog.*)"}},
	{"/", ALWAYS, {"OPERATOR(pg_catalog./)"}},
	{"=", ALWAYS, {"OPERATOR(pg_catalog.=)"}},
	{"<=", ALWAYS, {"OPERATOR(pg_catalog.<=)"}},
	{">=", ALWAYS, {"OPERATOR(pg_catalog.>=)"}},
	{"count", ALWAYS, {"pg_catalog.count(*)"}},
	{"int4", ALWAYS, {"pg_catalog.int4"}},
	{"int8", ALWAYS, {"pg_catalog.int8"}},
	{"float8", ALWAYS, {"pg_catalog.float8"}},
	{"numeric", ALWAYS, {"pg_catalog.numeric"}},

	/* The score's direction, and the other one. */
	{"dir", BY_DIRECTION, {"ASC", "DESC"}},
	{"worstdir", BY_DIRECTION, {"DESC", "ASC"}},

	/* Operators: how the left score compares with the right one. */
	{"better", BY_DIRECTION, {"OPERATOR(pg_catalog.<)", "OPERATOR(pg_catalog.>)"}},
	{"notbetter", BY_DIRECTION, {"OPERATOR(pg_catalog.>=)", "OPERATOR(pg_catalog.<=)"}},
	{"notworse", BY_DIRECTION, {"OPERATOR(pg_catalog.<=)", "OPERATOR(pg_catalog.>=)"}},

	/* Aggregates: the best and the worst of scores. */
	{"best", BY_DIRECTION, {"{min}", "{max}"}},
	{"worst", BY_DIRECTION, {"{max}", "{min}"}},

	/* The method's window function over the columns of "keys". */
	{"rankfn", BY_METHOD, {
			"pg_catalog.row_number() OVER (ORDER BY {korder})",
			"pg_catalog.rank() OVER (ORDER BY k1 {dir})",
			"pg_catalog.dense_rank() OVER (ORDER BY k1 {dir})"
	}},

	/* The same on a page whose first row's rank is known. */
	{"page_rank", BY_METHOD, {
			[LB_RANK] = "CASE WHEN {rankfn} {=} 1 THEN {start_rank}"
			" ELSE ({start_before} {+} {start_skip}) {+} {rankfn} END",
			[LB_DENSE_RANK] = "({start_rank} {-} 1) {+} {rankfn}"
	}},

	/* How many rows, or distinct scores, P's rank counts. */
	{"preceding", BY_METHOD, {
			"(SELECT {count} {from} AND {before})",
			"(SELECT {count} {from} AND {score} {better} {P})",
			"(SELECT {count} FROM (SELECT 1 {from}"
			" AND {score} {better} {P} GROUP BY {score}) g)"
	}},

	/* Of one pass over B: its rows, and those not better than P. */
	{"totals", ALWAYS, {
			"{count} AS n, {count} FILTER (WHERE {score} {notbetter} {P}) AS a"
	}},

	/* P's percentile from these, in x. */
	{"percentile", ALWAYS, {
			"CAST(100 AS {float8}) {*}"
			" (CAST(x.a AS {float8}) {/} CAST(x.n AS {float8}))"
	}},

	/* The same in one pass over t. */
	{"percentile_of_t", ALWAYS, {
			"CAST(100 AS {float8}) {*} (CAST({count}"
			" FILTER (WHERE {score} {notbetter} {P}) AS {float8})"
			" {/} CAST({count} AS {float8}))"
	}},

	/* The rows around P, with $2 on either side, as s. */
	{"around_rows", ALWAYS, {
			"WITH s AS MATERIALIZED ("
			"(SELECT {keys} {from} AND {P} IS NOT NULL AND {before}"
			" ORDER BY {reverse} LIMIT $2) UNION ALL"
			" (SELECT {keys} {from} AND {P} IS NOT NULL AND {after}"
			" ORDER BY {order} LIMIT CAST($2 AS {int8}) {+} 1))"
	}},

	/* How many places come before the first of them. */
	{"around_skip", ALWAYS, {
			"GREATEST((SELECT {count} {from} AND {before}) {-} $2, 0)"
	}},

	/*
	 * For an array of members, $1: those on the board, with their keys and r,
	 * their rank.  For many members one sort beats a count for each.  Rows
	 * worse than all of the members change no rank and stay out of it.
	 *
	 * The members are compared with a subselect, which can be hashed whatever
	 * the types.  With the array itself, = ANY, and IS NOT NULL the planner
	 * would also leave out a default partition that has some.
	 */
	{"ranked", ALWAYS, {
			"(SELECT DISTINCT ON ({m}) v.* FROM"
			" (SELECT {rankfn} AS r, s.* FROM (SELECT {keys} {from}"
			" AND {score} {notworse} (SELECT {worst}({score}) {from}"
			" AND ROW({member}) {=} ANY (SELECT {a} FROM {asked} AS a ({a}))))"
			" s) v WHERE ROW({m}) {=} ANY (SELECT {a} FROM {asked} AS a ({a}))"
			" ORDER BY {m}, {korder})"
	}},

	/*
	 * Of a histogram: the name in x of the worst score; a bucket's number
	 * counted from the least score (j) and its bounds; the bucket of t.
	 */
	{"worst_end", BY_DIRECTION, {"hi", "lo"}},
	{"near", ALWAYS, {"pg_catalog.div(((b.i {-} 1) {*} x.r) {+} (x.k {-} 1), x.k)"}},
	{"far", ALWAYS, {"pg_catalog.div((b.i {*} x.r) {+} (x.k {-} 1), x.k)"}},
	{"histogram_bounds", BY_DIRECTION, {
			"(x.k {-} b.i) {+} 1 AS j, CAST((x.hi {-} {far}) {+} 1 AS {int8}) AS lo,"
			" CAST(x.hi {-} {near} AS {int8}) AS hi",
			"b.i AS j, CAST(x.lo {+} {near} AS {int8}) AS lo,"
			" CAST((x.lo {+} {far}) {-} 1 AS {int8}) AS hi"
	}},
	{"histogram_bucket", BY_DIRECTION, {
			"(SELECT x.k FROM x) {-} pg_catalog.div(("
			"(SELECT x.hi FROM x) {-} CAST({score} AS {numeric}))"
			" {*} (SELECT x.k FROM x), (SELECT x.r FROM x))",
			"pg_catalog.div((CAST({score} AS {numeric})"
			" {-} (SELECT x.lo FROM x)) {*} (SELECT x.k FROM x),"
			" (SELECT x.r FROM x)) {+} 1"
	}},

	/* The same by a search among the bounds, or null if they are many. */
	{"histogram_search", ALWAYS, {
			"pg_catalog.width_bucket(CAST({score} AS {int8}),"
			" (SELECT pg_catalog.array_agg(g.lo ORDER BY g.lo) FROM g"
			" WHERE (SELECT x.k FROM x) {<=} 100000))"
	}},
};

/* FROM source t WHERE the row is in B. */
static void
word_from(LbText *t)
{
	lb_text_from(t, "t", false);
}

/* The same for all boards of a family whose value begins with $1. */
static void
word_from_prefix(LbText *t)
{
	lb_text_from(t, "t", true);
}

/* t's score. */
static void
word_score(LbText *t)
{
	lb_text_column(t, "t", lb_score_column(t->defn));
}

/* The type, in pg_catalog, as which queries return a column. */
static const char *
returned_type(const LbText *t, const LbColumn *column)
{
	return t->own_types ? column->type->name : "int8";
}

static void
word_stype(LbText *t)
{
	appendStringInfo(&t->buf, "pg_catalog.%s",
					 returned_type(t, lb_score_column(t->defn)));
}

/* t's member. */
static void
member_of_t(LbText *t, int i)
{
	lb_text_column(t, "t", &lb_member_columns(t->defn)[i]);
}

static void
word_member(LbText *t)
{
	lb_text_members(t, ", ", member_of_t);
}

/* The same from "keys". */
static void
member_of_keys(LbText *t, int i)
{
	appendStringInfo(&t->buf, "m%d", i + 1);
}

static void
word_m(LbText *t)
{
	lb_text_members(t, ", ", member_of_keys);
}

/* A member and its score as the query returns them: of t ... */
static void
member_out_of_t(LbText *t, int i)
{
	const LbColumn *column = &lb_member_columns(t->defn)[i];

	appendStringInfo(&t->buf, "CAST(t.%s AS pg_catalog.%s)",
					 lb_quoted(column), returned_type(t, column));
}

static void
word_row_of_t(LbText *t)
{
	lb_text_members(t, ", ", member_out_of_t);
	expand(t, ", CAST({score} AS {stype})");
}

/* ... and of "keys". */
static void
member_out(LbText *t, int i)
{
	appendStringInfo(&t->buf, "CAST(m%d AS pg_catalog.%s)", i + 1,
					 returned_type(t, &lb_member_columns(t->defn)[i]));
}

static void
word_row(LbText *t)
{
	lb_text_members(t, ", ", member_out);
	expand(t, ", CAST(k1 AS {stype})");
}

/* Of an array of members, $1: its members as rows ... */
static void
asked_column(LbText *t, int i)
{
	appendStringInfo(&t->buf, "pg_catalog.unnest($%d)", lb_text_param(t, i));
}

static void
word_asked(LbText *t)
{
	appendStringInfoString(&t->buf, "ROWS FROM (");
	lb_text_members(t, ", ", asked_column);
	appendStringInfoChar(&t->buf, ')');
}

/* ... and their columns, in a. */
static void
member_of_a(LbText *t, int i)
{
	appendStringInfo(&t->buf, "a%d", i + 1);
}

static void
word_a(LbText *t)
{
	lb_text_members(t, ", ", member_of_a);
}

/* The member of "keys", in w, is the one in a. */
static void
joined_column(LbText *t, int i)
{
	appendStringInfo(&t->buf, "w.m%d OPERATOR(pg_catalog.=) a.a%d", i + 1, i + 1);
}

static void
word_joined(LbText *t)
{
	lb_text_members(t, " AND ", joined_column);
}

/* Aggregates over scores: boolean has its own. */
static void
word_min(LbText *t)
{
	appendStringInfo(&t->buf, "pg_catalog.%s",
					 lb_score_column(t->defn)->type->oid == BOOLOID ?
					 "bool_and" : "min");
}

static void
word_max(LbText *t)
{
	appendStringInfo(&t->buf, "pg_catalog.%s",
					 lb_score_column(t->defn)->type->oid == BOOLOID ?
					 "bool_or" : "max");
}

/* t's rank_by columns as k1, k2 ... and its member as m1 ... */
static void
key_member(LbText *t, int i)
{
	member_of_t(t, i);
	appendStringInfo(&t->buf, " AS m%d", i + 1);
}

static void
word_keys(LbText *t)
{
	for (int i = 0; i < t->defn->nrank_by; i++)
	{
		lb_text_column(t, "t", &t->defn->columns[i]);
		appendStringInfo(&t->buf, " AS k%d, ", i + 1);
	}
	lb_text_members(t, ", ", key_member);
}

/* O over t. */
static void
word_order(LbText *t)
{
	lb_text_order(t, "t", false);
}

/* O read backwards. */
static void
word_reverse(LbText *t)
{
	lb_text_order(t, "t", true);
}

/* O over the columns of "keys". */
static void
member_order(LbText *t, int i)
{
	appendStringInfo(&t->buf, "m%d%s ASC", i + 1,
					 lb_text_collation(&lb_member_columns(t->defn)[i]));
}

static void
word_korder(LbText *t)
{
	for (int i = 0; i < t->defn->nrank_by; i++)
	{
		const LbColumn *column = &t->defn->columns[i];

		appendStringInfo(&t->buf, "k%d%s %s, ", i + 1, lb_text_collation(column),
						 column->descending ? "DESC" : "ASC");
	}
	lb_text_members(t, ", ", member_order);
}

/*
 * The tie-breakers of "keys" behind other columns.  Their texts are not the
 * query's.
 */
static void
word_ties(LbText *t)
{
	for (int i = 1; i < t->defn->nrank_by; i++)
		appendStringInfo(&t->buf, ", CAST(k%d AS pg_catalog.%s)", i + 1,
						 t->defn->columns[i].type->name);
}

/* P's score, or null if the member is not on the board. */
static void
word_p(LbText *t)
{
	lb_text_lookup(t, 0);
}

/* t's metadata.  Raises 42703 if the table has none. */
static void
word_metadata(LbText *t)
{
	lb_require_metadata(t->defn);
	appendStringInfoString(&t->buf, "t.metadata");
}

/* t is a row of the member asked for. */
static void
word_is_member(LbText *t)
{
	lb_text_members(t, " AND ", lb_text_is_member);
}

/* t's rank_by columns. */
static void
word_rank_by(LbText *t)
{
	for (int i = 0; i < t->defn->nrank_by; i++)
	{
		if (i > 0)
			appendStringInfoString(&t->buf, ", ");
		lb_text_column(t, "t", &t->defn->columns[i]);
	}
}

/* t comes before P in O. */
static void
word_before(LbText *t)
{
	lb_text_beside(t, 0, true);
}

/* t is P or comes after it in O. */
static void
word_after(LbText *t)
{
	lb_text_beside(t, 0, false);
}

/* t comes before K in O. */
static void
word_before_key(LbText *t)
{
	t->key = true;
	lb_text_beside(t, 0, true);
	t->key = false;
}

/* t is K. */
static void
word_is_key(LbText *t)
{
	for (int i = 0; i < lb_nkey_columns(t->defn); i++)
	{
		if (i > 0)
			appendStringInfoString(&t->buf, " AND ");
		lb_text_ordered(t, "t", &t->defn->columns[i]);
		expand(t, " {=} ");
		lb_text_given(t, i);
	}
}

/* t has P's rank_by columns. */
static void
word_ties_with(LbText *t)
{
	for (int i = 0; i < t->defn->nrank_by; i++)
	{
		if (i > 0)
			appendStringInfoString(&t->buf, " AND ");
		lb_text_ordered(t, "t", &t->defn->columns[i]);
		expand(t, " {=} ");
		lb_text_lookup(t, i);
	}
}

/* t's member comes before P's. */
static void
word_member_before(LbText *t)
{
	lb_text_beside(t, t->defn->nrank_by, true);
}

/* t has the first key of a page, or one behind it. */
static void
word_from_start(LbText *t)
{
	t->ncompared = t->defn->nrank_by;
	lb_text_beside(t, 0, false);
	t->ncompared = lb_nkey_columns(t->defn);
}

/* What else LbStart has. */
static void
append_start(LbText *t, int i)
{
	appendStringInfo(&t->buf, "$%d", t->given + t->defn->nrank_by + i);
}

static void
word_start_n(LbText *t)
{
	append_start(t, 1);
}

static void
word_start_skip(LbText *t)
{
	append_start(t, 2);
}

static void
word_start_before(LbText *t)
{
	append_start(t, 3);
}

static void
word_start_rank(LbText *t)
{
	append_start(t, 4);
}

static const char *
by_method(const char *const *text, LbMethod method)
{
	int			i = method;

	while (text[i] == NULL)
		i--;
	return text[i];
}

/* Words that stand for names of the board's, or for what is made of them. */
static const struct
{
	const char *word;
	void		(*append) (LbText *t);
}			board_words[] =

{
	{"from", word_from},
	{"from_prefix", word_from_prefix},
	{"score", word_score},
	{"member", word_member},
	{"m", word_m},
	{"row_of_t", word_row_of_t},
	{"row", word_row},
	{"asked", word_asked},
	{"a", word_a},
	{"joined", word_joined},
	{"stype", word_stype},
	{"min", word_min},
	{"max", word_max},
	{"keys", word_keys},
	{"order", word_order},
	{"reverse", word_reverse},
	{"korder", word_korder},
	{"ties", word_ties},
	{"P", word_p},
	{"metadata", word_metadata},
	{"is_member", word_is_member},
	{"rank_by", word_rank_by},
	{"before", word_before},
	{"after", word_after},
	{"before_key", word_before_key},
	{"is_key", word_is_key},
	{"ties_with", word_ties_with},
	{"member_before", word_member_before},
	{"from_start", word_from_start},
	{"start_n", word_start_n},
	{"start_skip", word_start_skip},
	{"start_before", word_start_before},
	{"start_rank", word_start_rank},
};

Oid
lb_query_type(const LbDefinition *defn, Oid type, bool own_types)
{
	const LbType *score = lb_score_column(defn)->type;

	switch (type)
	{
		case LB_MEMBER_TYPE:
			return own_types ? lb_member_columns(defn)->type->oid : INT8OID;
		case LB_MEMBERS_TYPE:
			return own_types ? lb_member_columns(defn)->type->array : INT8ARRAYOID;
		case LB_SCORE_TYPE:
			return own_types ? score->oid : INT8OID;
		case LB_SCORES_TYPE:
			return score->array;
		default:
			return type;
	}
}

int
lb_query_params(const LbDefinition *defn, const LbQuery *query,
				bool own_types, Oid *types)
{
	int			n = lb_query_noperands(query);
	bool		array = query->operands[0].type == LB_MEMBERS_TYPE;

	for (int i = 0; i < n; i++)
		types[i] = lb_query_type(defn, query->operands[i].type, own_types);
	if (array || query->operands[0].type == LB_MEMBER_TYPE)
	{
		for (int i = 1; i < defn->nmember; i++)
		{
			const LbType *type = lb_member_columns(defn)[i].type;

			types[n++] = array ? type->array : type->oid;
		}
	}
	return n;
}

char *
lb_query_text(const LbDefinition *defn, const LbQuery *query, LbQueryStep step,
			  LbMethod method, bool own_types)
{
	static const char *const key[LB_NMETHODS] = {
		"SELECT {rank_by}, {member} {from} AND {is_member} ORDER BY {order} LIMIT 1"
	};
	static const char *const ties[LB_NMETHODS] = {
		"SELECT {count} {from} AND {ties_with} AND {member_before}"
	};
	const char *const *const texts[] = {
		[LB_STEP_WHOLE] = query->text,
		[LB_STEP_KEY] = key,
		[LB_STEP_GIVEN] = query->given,
		[LB_STEP_TIES] = ties,
		[LB_STEP_PAGE] = query->page
	};
	Oid			types[LB_MAX_PARAMS];
	LbText		t;

	initStringInfo(&t.buf);
	t.defn = defn;
	t.query = query;
	t.method = method;
	t.own_types = own_types;
	t.key = false;
	t.nparams = lb_query_params(defn, query, own_types, types);
	t.ncompared = lb_nkey_columns(defn);
	t.given = -1;
	if (step != LB_STEP_WHOLE && step != LB_STEP_KEY)
	{
		t.given = t.nparams;
		t.nparams += defn->nrank_by;
	}
	if (step == LB_STEP_PAGE)
		t.nparams += LB_START_NUMBERS;
	expand(&t, by_method(texts[step], method));
	return t.buf.data;
}

/* Append what a word stands for. */
static void
expand_word(LbText *t, const char *word, int len)
{
#define WORD_IS(w) (strncmp(word, w, len) == 0 && (w)[len] == '\0')

	for (int i = 0; i < (int) lengthof(board_words); i++)
	{
		if (WORD_IS(board_words[i].word))
		{
			board_words[i].append(t);
			return;
		}
	}
	for (int i = 0; i < (int) lengthof(words); i++)
	{
		if (!WORD_IS(words[i].word))
			continue;
		switch (words[i].by)
		{
			case ALWAYS:
				expand(t, words[i].text[0]);
				return;
			case BY_METHOD:
				expand(t, words[i].text[t->method]);
				return;
			case BY_DIRECTION:
				expand(t, words[i].text[t->defn->columns[0].descending ? 1 : 0]);
				return;
		}
	}
	elog(ERROR, "unknown word in the template of a query: \"%.*s\"",
		 len, word);

#undef WORD_IS
}

/*
 * Append a template with the words in braces replaced.  What they stand for
 * can be a template in turn, but names are appended as they are, so that
 * braces in a name mean nothing.
 */
static void
expand(LbText *t, const char *template)
{
	const char *p = template;

	while (*p != '\0')
	{
		const char *end;

		if (*p != '{')
		{
			size_t		len = strcspn(p, "{");

			appendBinaryStringInfo(&t->buf, p, len);
			p += len;
			continue;
		}
		end = strchr(p, '}');
		Assert(end != NULL);
		expand_word(t, p + 1, end - p - 1);
		p = end + 1;
	}
}
