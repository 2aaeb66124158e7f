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

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "boards/resolve.h"
#include "reads/query_text.h"

/* A text under way. */
typedef struct Text
{
	StringInfoData buf;
	const LbDefinition *defn;
	const LbQuery *query;
	LbMethod	method;
	bool		own_types;
	int			nparams;		/* without the board's value */
	int			given;			/* the number of parameters before P's rank_by
								 * columns; -1: these are subqueries */
	bool		key;			/* P is the key that is the operands */
} Text;

static void expand(Text *t, const char *template);
static void append_from(Text *t, const char *alias, bool prefix);
static void append_order(Text *t, const char *alias, bool reverse);
static void append_lookup(Text *t, int column);
static void append_beside(Text *t, int column, bool before);
static void append_given(Text *t, int column);
static void member_is_t(Text *t, int i);

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

/* Append a column of a relation. */
static void
append_column(Text *t, const char *alias, const char *name)
{
	appendStringInfo(&t->buf, "%s.%s", alias, quote_identifier(name));
}

/*
 * What follows a column where it is ordered: texts are in order of their
 * bytes.
 */
static const char *
collate(const LbColumn *column)
{
	return column->type->words == LB_TEXT ? " COLLATE pg_catalog.\"C\"" : "";
}

/* Append a column of a relation to be ordered by. */
static void
append_ordered(Text *t, const char *alias, const LbColumn *column)
{
	append_column(t, alias, column->name);
	appendStringInfoString(&t->buf, collate(column));
}

/* FROM source t WHERE the row is in B. */
static void
word_from(Text *t)
{
	append_from(t, "t", false);
}

/* The same for all boards of a family whose value begins with $1. */
static void
word_from_prefix(Text *t)
{
	append_from(t, "t", true);
}

/* t's score. */
static void
word_score(Text *t)
{
	append_column(t, "t", t->defn->columns[0].name);
}

/* The type, in pg_catalog, as which queries return a column. */
static const char *
returned_type(const Text *t, const LbColumn *column)
{
	return t->own_types ? column->type->name : "int8";
}

static void
word_stype(Text *t)
{
	appendStringInfo(&t->buf, "pg_catalog.%s",
					 returned_type(t, lb_score_column(t->defn)));
}

/* What is in the place of the i-th column of members, from 0. */
typedef void (*AppendMember) (Text *t, int i);

static void
append_members(Text *t, const char *separator, AppendMember append)
{
	for (int i = 0; i < t->defn->nmember; i++)
	{
		if (i > 0)
			appendStringInfoString(&t->buf, separator);
		append(t, i);
	}
}

/* t's member. */
static void
member_of_t(Text *t, int i)
{
	append_column(t, "t", lb_member_columns(t->defn)[i].name);
}

static void
word_member(Text *t)
{
	append_members(t, ", ", member_of_t);
}

/* The same from "keys". */
static void
member_of_keys(Text *t, int i)
{
	appendStringInfo(&t->buf, "m%d", i + 1);
}

static void
word_m(Text *t)
{
	append_members(t, ", ", member_of_keys);
}

/* A member and its score as the query returns them: of t ... */
static void
member_out_of_t(Text *t, int i)
{
	const LbColumn *column = &lb_member_columns(t->defn)[i];

	appendStringInfo(&t->buf, "CAST(t.%s AS pg_catalog.%s)",
					 lb_quoted(column), returned_type(t, column));
}

static void
word_row_of_t(Text *t)
{
	append_members(t, ", ", member_out_of_t);
	expand(t, ", CAST({score} AS {stype})");
}

/* ... and of "keys". */
static void
member_out(Text *t, int i)
{
	appendStringInfo(&t->buf, "CAST(m%d AS pg_catalog.%s)", i + 1,
					 returned_type(t, &lb_member_columns(t->defn)[i]));
}

static void
word_row(Text *t)
{
	append_members(t, ", ", member_out);
	expand(t, ", CAST(k1 AS {stype})");
}

/* The parameter of the i-th column of the operand that is a member. */
static int
member_param(Text *t, int i)
{
	return i == 0 ? 1 : lb_query_noperands(t->query) + i;
}

/* Of an array of members, $1: its members as rows ... */
static void
asked_column(Text *t, int i)
{
	appendStringInfo(&t->buf, "pg_catalog.unnest($%d)", member_param(t, i));
}

static void
word_asked(Text *t)
{
	appendStringInfoString(&t->buf, "ROWS FROM (");
	append_members(t, ", ", asked_column);
	appendStringInfoChar(&t->buf, ')');
}

/* ... and their columns, in a. */
static void
member_of_a(Text *t, int i)
{
	appendStringInfo(&t->buf, "a%d", i + 1);
}

static void
word_a(Text *t)
{
	append_members(t, ", ", member_of_a);
}

/* The member of "keys", in w, is the one in a. */
static void
joined_column(Text *t, int i)
{
	appendStringInfo(&t->buf, "w.m%d OPERATOR(pg_catalog.=) a.a%d", i + 1, i + 1);
}

static void
word_joined(Text *t)
{
	append_members(t, " AND ", joined_column);
}

/* Aggregates over scores: boolean has its own. */
static void
word_min(Text *t)
{
	appendStringInfo(&t->buf, "pg_catalog.%s",
					 lb_score_column(t->defn)->type->oid == BOOLOID ?
					 "bool_and" : "min");
}

static void
word_max(Text *t)
{
	appendStringInfo(&t->buf, "pg_catalog.%s",
					 lb_score_column(t->defn)->type->oid == BOOLOID ?
					 "bool_or" : "max");
}

/* t's rank_by columns as k1, k2 ... and its member as m1 ... */
static void
key_member(Text *t, int i)
{
	member_of_t(t, i);
	appendStringInfo(&t->buf, " AS m%d", i + 1);
}

static void
word_keys(Text *t)
{
	for (int i = 0; i < t->defn->nrank_by; i++)
	{
		append_column(t, "t", t->defn->columns[i].name);
		appendStringInfo(&t->buf, " AS k%d, ", i + 1);
	}
	append_members(t, ", ", key_member);
}

/* O over t. */
static void
word_order(Text *t)
{
	append_order(t, "t", false);
}

/* O read backwards. */
static void
word_reverse(Text *t)
{
	append_order(t, "t", true);
}

/* O over the columns of "keys". */
static void
member_order(Text *t, int i)
{
	appendStringInfo(&t->buf, "m%d%s ASC", i + 1,
					 collate(&lb_member_columns(t->defn)[i]));
}

static void
word_korder(Text *t)
{
	for (int i = 0; i < t->defn->nrank_by; i++)
	{
		const LbColumn *column = &t->defn->columns[i];

		appendStringInfo(&t->buf, "k%d%s %s, ", i + 1, collate(column),
						 column->descending ? "DESC" : "ASC");
	}
	append_members(t, ", ", member_order);
}

/*
 * The tie-breakers of "keys" behind other columns.  Their texts are not the
 * query's.
 */
static void
word_ties(Text *t)
{
	for (int i = 1; i < t->defn->nrank_by; i++)
		appendStringInfo(&t->buf, ", CAST(k%d AS pg_catalog.%s)", i + 1,
						 t->defn->columns[i].type->name);
}

/* P's score, or null if the member is not on the board. */
static void
word_p(Text *t)
{
	append_lookup(t, 0);
}

/* t's metadata.  Raises 42703 if the table has none. */
static void
word_metadata(Text *t)
{
	lb_require_metadata(t->defn);
	append_column(t, "t", "metadata");
}

/* t is a row of the member asked for. */
static void
word_is_member(Text *t)
{
	append_members(t, " AND ", member_is_t);
}

/* t's rank_by columns. */
static void
word_rank_by(Text *t)
{
	for (int i = 0; i < t->defn->nrank_by; i++)
	{
		if (i > 0)
			appendStringInfoString(&t->buf, ", ");
		append_column(t, "t", t->defn->columns[i].name);
	}
}

/* t comes before P in O. */
static void
word_before(Text *t)
{
	append_beside(t, 0, true);
}

/* t is P or comes after it in O. */
static void
word_after(Text *t)
{
	append_beside(t, 0, false);
}

/* t comes before K in O. */
static void
word_before_key(Text *t)
{
	t->key = true;
	append_beside(t, 0, true);
	t->key = false;
}

/* t is K. */
static void
word_is_key(Text *t)
{
	for (int i = 0; i < lb_nkey_columns(t->defn); i++)
	{
		if (i > 0)
			appendStringInfoString(&t->buf, " AND ");
		append_ordered(t, "t", &t->defn->columns[i]);
		expand(t, " {=} ");
		append_given(t, i);
	}
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
	void		(*append) (Text *t);
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
};

Oid
lb_query_type(const LbDefinition *defn, Oid type, bool own_types)
{
	const LbType *member = lb_member_columns(defn)->type;
	const LbType *score = lb_score_column(defn)->type;

	switch (type)
	{
		case LB_MEMBER_TYPE:
			return own_types ? member->oid : INT8OID;
		case LB_MEMBERS_TYPE:
			return own_types ? member->array : INT8ARRAYOID;
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
	const char *const *const texts[] = {
		[LB_STEP_WHOLE] = query->text,
		[LB_STEP_KEY] = key,
		[LB_STEP_GIVEN] = query->given
	};
	Oid			types[LB_MAX_PARAMS];
	Text		t;

	initStringInfo(&t.buf);
	t.defn = defn;
	t.query = query;
	t.method = method;
	t.own_types = own_types;
	t.key = false;
	t.nparams = lb_query_params(defn, query, own_types, types);
	t.given = -1;
	if (step == LB_STEP_GIVEN)
	{
		t.given = t.nparams;
		t.nparams += defn->nrank_by;
	}
	expand(&t, by_method(texts[step], method));
	return t.buf.data;
}

/* Append what a word stands for. */
static void
expand_word(Text *t, const char *word, int len)
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
expand(Text *t, const char *template)
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

/*
 * Whether a column of the source is declared NOT NULL, and its collation.  A
 * caller that does not need one of them passes NULL.
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

/*
 * AND column IS NOT NULL.  A test that can never fail would still keep the
 * planner from reading an index on the score alone, so it is left out.
 */
static void
append_not_null(Text *t, const char *alias, AttrNumber attno, const char *name)
{
	bool		notnull;

	column_facts(t->defn, attno, &notnull, NULL);
	if (notnull)
		return;
	appendStringInfoString(&t->buf, " AND ");
	append_column(t, alias, name);
	appendStringInfoString(&t->buf, " IS NOT NULL");
}

/* AND the row is of the board whose value is the last parameter. */
static void
append_board(Text *t, const char *alias)
{
	const LbDefinition *defn = t->defn;
	const char *name = lb_quoted(lb_board_column(defn));
	int			n = t->nparams + 1;
	Oid			collation;

	if (!lb_has_text_boards(defn))
	{
		const char *type = lb_sql_type(lb_board_column(defn));

		/* A domain over an enum has no operators of its own. */
		appendStringInfo(&t->buf, " AND CAST(%s.%s AS %s) OPERATOR(pg_catalog.=) CAST($%d AS %s)",
						 alias, name, type, n, type);
		return;
	}
	appendStringInfo(&t->buf, " AND %s.%s OPERATOR(pg_catalog.=) $%d",
					 alias, name, n);

	/*
	 * Boards differ where their names differ in any byte.  Not every
	 * collation agrees.
	 */
	column_facts(defn, lb_board_column(defn)->attno, NULL, &collation);
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		appendStringInfo(&t->buf, " AND %s.%s COLLATE pg_catalog.\"C\" OPERATOR(pg_catalog.=) $%d",
						 alias, name, n);
}

/*
 * FROM source WHERE the row is in B; with prefix, in B of any board of the
 * family whose value begins with $1.  More conditions can follow with AND.
 *
 * Children of a plain table by inheritance are not part of the board: neither
 * its unique index nor its triggers reach them.
 */
static void
append_from(Text *t, const char *alias, bool prefix)
{
	const LbDefinition *defn = t->defn;

	appendStringInfo(&t->buf, "FROM %s %s WHERE true", defn->from_name, alias);
	for (int i = 0; i < lb_nkey_columns(defn); i++)
		append_not_null(t, alias, defn->columns[i].attno,
						defn->columns[i].name);
	if (prefix)
		appendStringInfo(&t->buf, " AND pg_catalog.starts_with(CAST(%s.%s AS pg_catalog.text) COLLATE pg_catalog.\"C\", $1)",
						 alias, lb_quoted(lb_board_column(defn)));
	else if (defn->family)
		append_board(t, alias);
	if (defn->has_ranked_if)
	{
		appendStringInfoString(&t->buf, " AND ");
		append_column(t, alias, lb_ranked_if_column(defn)->name);
	}
}

/* O; reverse reads it backwards. */
static void
append_order(Text *t, const char *alias, bool reverse)
{
	for (int i = 0; i < lb_nkey_columns(t->defn); i++)
	{
		const LbColumn *column = &t->defn->columns[i];

		if (i > 0)
			appendStringInfoString(&t->buf, ", ");
		append_ordered(t, alias, column);
		appendStringInfoString(&t->buf, column->descending != reverse ?
							   " DESC" : " ASC");
	}
}

static void
append_operator(Text *t, bool less, bool or_equal)
{
	appendStringInfo(&t->buf, "OPERATOR(pg_catalog.%s%s)",
					 less ? "<" : ">", or_equal ? "=" : "");
}

/* A column of the operand that is a member. */
static void
member_operand(Text *t, int i)
{
	appendStringInfo(&t->buf, "$%d", member_param(t, i));
}

/* A row is that of the member: p, and t. */
static void
append_is_member(Text *t, const char *alias, int i)
{
	append_column(t, alias, lb_member_columns(t->defn)[i].name);
	appendStringInfoString(&t->buf, " OPERATOR(pg_catalog.=) ");
	member_operand(t, i);
}

static void
member_of_p(Text *t, int i)
{
	append_is_member(t, "p", i);
}

static void
member_is_t(Text *t, int i)
{
	append_is_member(t, "t", i);
}

/*
 * A rank_by column of P, as a scalar subquery.  If the member has several
 * rows, P is the first of them in O.
 */
static void
append_subquery(Text *t, int column)
{
	appendStringInfoString(&t->buf, "(SELECT ");
	append_column(t, "p", t->defn->columns[column].name);
	appendStringInfoChar(&t->buf, ' ');
	append_from(t, "p", false);
	appendStringInfoString(&t->buf, " AND ");
	append_members(t, " AND ", member_of_p);
	appendStringInfoString(&t->buf, " ORDER BY ");
	append_order(t, "p", false);
	appendStringInfoString(&t->buf, " LIMIT 1)");
}

/* A column of K.  A subquery converts a text once, not for each row. */
static void
append_given(Text *t, int column)
{
	if (column >= t->defn->nrank_by)
		member_operand(t, column - t->defn->nrank_by);
	else if (column == 0)
		appendStringInfoString(&t->buf, "$2");
	else
		appendStringInfo(&t->buf, "(SELECT CAST(($3)[%d] AS pg_catalog.%s))",
						 column, t->defn->columns[column].type->name);
}

/* A key column of P; of the member, the operand.  Or one of K. */
static void
append_lookup(Text *t, int column)
{
	if (t->key)
	{
		append_given(t, column);
		return;
	}
	if (column >= t->defn->nrank_by)
	{
		member_operand(t, column - t->defn->nrank_by);
		return;
	}
	if (t->given >= 0)
	{
		appendStringInfo(&t->buf, "$%d", t->given + column + 1);
		return;
	}
	append_subquery(t, column);
}

/*
 * The same condition as append_beside() where all columns ascend: one row
 * comparison.
 */
static void
append_row_comparison(Text *t, int column, bool before)
{
	const LbDefinition *defn = t->defn;

	appendStringInfoString(&t->buf, "ROW(");
	for (int i = column; i < lb_nkey_columns(defn); i++)
	{
		if (i > column)
			appendStringInfoString(&t->buf, ", ");
		append_ordered(t, "t", &defn->columns[i]);
	}
	appendStringInfoString(&t->buf, ") ");
	append_operator(t, before, !before);
	appendStringInfoString(&t->buf, " ROW(");
	for (int i = column; i < lb_nkey_columns(defn); i++)
	{
		if (i > column)
			appendStringInfoString(&t->buf, ", ");
		append_lookup(t, i);
	}
	appendStringInfoChar(&t->buf, ')');
}

/* t's column equals P's, and ... */
static void
append_equal_and(Text *t, int column)
{
	appendStringInfoChar(&t->buf, '(');
	append_ordered(t, "t", &t->defn->columns[column]);
	expand(t, " {=} ");
	append_lookup(t, column);
	appendStringInfoString(&t->buf, " AND ");
}

/* t's column compared with P's. */
static void
append_comparison(Text *t, int column, bool less, bool or_equal)
{
	append_ordered(t, "t", &t->defn->columns[column]);
	appendStringInfoChar(&t->buf, ' ');
	append_operator(t, less, or_equal);
	appendStringInfoChar(&t->buf, ' ');
	append_lookup(t, column);
}

/*
 * The condition that t comes before P in O, or that it does not, judged by
 * the columns from the given one on.
 *
 * If these all ascend, as the member does, it is a row comparison.  Otherwise
 * the column is compared twice, since an index scan can only begin at a
 * comparison that is joined to the others by AND.  Where P's columns are
 * parameters, a server's planner that gets the text shall recognize a key
 * (keyset.c): below the first column it takes equalities, not row comparisons.
 */
static void
append_beside(Text *t, int column, bool before)
{
	const LbDefinition *defn = t->defn;
	bool		below = t->given >= 0 && column > 0;
	bool		uniform = !below;
	bool		less = before != defn->columns[column].descending;

	for (int i = column; i < defn->nrank_by; i++)
		uniform = uniform && !defn->columns[i].descending;
	if (column == lb_nkey_columns(defn) - 1)
	{
		append_comparison(t, column, before, !before);
		return;
	}
	if (uniform)
	{
		append_row_comparison(t, column, before);
		return;
	}
	appendStringInfoChar(&t->buf, '(');
	if (!below)
	{
		append_comparison(t, column, less, true);
		appendStringInfoString(&t->buf, " AND (");
	}
	append_comparison(t, column, less, false);
	appendStringInfoString(&t->buf, " OR ");
	if (below)
		append_equal_and(t, column);
	append_beside(t, column + 1, before);
	appendStringInfoString(&t->buf, "))");
}
