/*-------------------------------------------------------------------------
 *
 * compare.c
 *	  Comparisons of each function with its defining query.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "oracle.h"

/*
 * What the comparisons share: b is the board's ranked rows, as members m and
 * scores s, with the places and ranks.  Words in braces are put in by
 * expand(); {k} is the column with the rank by the board's own method.
 *
 * A unique index keeps a member from being there twice, with one exception.  A
 * snapshot may still see a row that another transaction has deleted since, and
 * whose member the own transaction has then given to another row.  Functions
 * that take a member return the better row, nth = 1.
 */
const char	ranked_rows[] =
"WITH b AS MATERIALIZED (\n"
"SELECT {member}::bigint AS m, {score}::bigint AS s,\n"
" row_number() OVER (ORDER BY {order}) AS place,\n"
" row_number() OVER (PARTITION BY {member} ORDER BY {order}) AS nth,\n"
" rank() OVER (ORDER BY {score} {direction}) AS r,\n"
" dense_rank() OVER (ORDER BY {score} {direction}) AS d,\n"
" 100 * cume_dist() OVER (ORDER BY {score} {reverse}) AS pct,\n"
" count(*) OVER () AS n\n"
"FROM {table} WHERE {ranked})\n";

#define METHODS \
	"(VALUES (NULL), ('row_number'), ('rank'), ('dense_rank')) AS v (w)"
#define RANK_BY_METHOD \
	"CASE coalesce(w, {method}) WHEN 'row_number' THEN place" \
	" WHEN 'rank' THEN r ELSE d END"

/*
 * Each returns the call, what the function says, and what it should say, as
 * texts.  {keys} is a query for members, {scores} one for scores, {arrays}
 * rows of arrays of members; $A, $B are random numbers.
 */
static const struct Comparison
{
	const char *function;
	const char *query;
}			comparisons[] =

{
	{"lb_rank",
		"SELECT format('lb_rank(%s, %L, %L)', i, {board}, w),"
		" lb_rank(i, {board}, w)::text, (" RANK_BY_METHOD ")::text"
		" FROM {keys} AS k (i) CROSS JOIN " METHODS
	" LEFT JOIN b ON m = i AND nth = 1"},
	{"lb_score",
		"SELECT format('lb_score(%s, %L)', i, {board}),"
		" lb_score(i, {board})::text, s::text"
	" FROM {keys} AS k (i) LEFT JOIN b ON m = i AND nth = 1"},
	{"lb_percentile",
		"SELECT format('lb_percentile(%s, %L)', i, {board}),"
		" lb_percentile(i, {board})::text, pct::text"
	" FROM {keys} AS k (i) LEFT JOIN b ON m = i AND nth = 1"},
	{"lb_player",
		"SELECT format('lb_player(%s, %L)', i, {board}),"
		" row(p.rank, p.score, p.percentile, p.total)::text,"
		" row({k}, s, pct, n)::text"
		" FROM {keys} AS k (i) LEFT JOIN LATERAL lb_player(i, {board}) AS p"
	" ON true LEFT JOIN b ON m = i AND nth = 1"},
	{"lb_top",
		"SELECT format('lb_top(%s, %L, %s)', a.n, {board}, skip),"
		" (SELECT string_agg(row(t.rank, t.member, t.score)::text, ' '"
		" ORDER BY t.ordinality)"
		" FROM lb_top(a.n, {board}, skip) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row({k}, m, s)::text, ' ' ORDER BY place)"
		" FROM b WHERE place > skip AND place - skip <= a.n)"
		" FROM (SELECT count(*) AS total FROM b) AS c CROSS JOIN LATERAL"
		" (VALUES (10, 0), (0, 0), (1, 0), (5, total / 2), (3, total - 2),"
		" (7, total), (9, total + 1), (2147483647, 0), (2147483647, 2),"
		" ($A % 20, ($B % 100)::bigint), (4, 9223372036854775807))"
	" AS a (n, skip) WHERE skip >= 0"},
	{"lb_top_json",
		"SELECT format('lb_top_json(%s, %L, %s)', a.n, {board}, skip),"
		" lb_top_json(a.n, {board}, skip)::text,"
		" (SELECT concat('{\"board\":', to_json({board}::text), ',\"as_of\":',"
		" to_json(now()), ',\"entries\":[', string_agg(concat('{\"rank\":', {k},"
		" ',\"player_id\":', m, ',\"score\":', s, '}'), ',' ORDER BY place), ']}')"
		" FROM b WHERE place > skip AND place - skip <= a.n)"
		" FROM (SELECT count(*) AS total FROM b) AS c CROSS JOIN LATERAL"
		" (VALUES (10, 0), (0, 0), (5, total / 2), (2147483647, 0),"
		" ($A % 20, ($B % 100)::bigint), (4, 9223372036854775807))"
	" AS a (n, skip)"},
	{"lb_at",
		"SELECT format('lb_at(%s, %L)', p, {board}),"
		" row(a.rank, a.member, a.score)::text, row({k}, m, s)::text"
		" FROM (SELECT count(*) AS total FROM b) AS c CROSS JOIN LATERAL"
		" (SELECT generate_series(1, least(total, $A % 5)) UNION ALL"
		" VALUES (total), (total + 1), (total / 2), (total / 3 + 1),"
		" ($B % 100), (9223372036854775807), (NULL)) AS x (p)"
	" LEFT JOIN LATERAL lb_at(p, {board}) AS a ON true LEFT JOIN b ON place = p"},
	{"lb_around",
		"SELECT format('lb_around(%s, %L, %s)', i, {board}, radius),"
		" (SELECT string_agg(row(t.rank, t.member, t.score)::text, ' '"
		" ORDER BY t.ordinality)"
		" FROM lb_around(i, {board}, radius) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row({k}, m, s)::text, ' ' ORDER BY place) FROM b"
		" WHERE place BETWEEN p - radius AND p + radius)"
		" FROM {keys} AS k (i) CROSS JOIN"
		" (VALUES (0), (1), (5), ($A % 100), (2147483647)) AS r (radius)"
	" LEFT JOIN LATERAL (SELECT place FROM b WHERE m = i AND nth = 1) AS x (p) ON true"},
	{"lb_count",
		"SELECT format('lb_count(%L)', {board}::text), lb_count({board})::text,"
	" (SELECT count(*) FROM b)::text"},
	{"lb_count_between",
		"SELECT format('lb_count_between(%L, %L, %L)', lo, hi, {board}),"
		" lb_count_between(lo, hi, {board})::text,"
		" (SELECT count(*) FROM b WHERE (lo IS NULL OR s >= lo)"
		" AND (hi IS NULL OR s <= hi))::text"
		" FROM {scores} AS l (lo) CROSS JOIN (SELECT NULL UNION"
	" SELECT min(s) + $A % 10 FROM b WHERE s < 100 UNION VALUES (5), (900)) AS h (hi)"},
	{"lb_rank_of_score",
		"SELECT format('lb_rank_of_score(%s, %L, %L)', x, {board}, w),"
		" lb_rank_of_score(x, {board}, w)::text,"
		" CASE WHEN x IS NULL THEN NULL"
		" WHEN coalesce(w, {method}) = 'dense_rank' THEN"
		" (SELECT dense_rank(x) WITHIN GROUP (ORDER BY s {direction}) FROM b)"
		" ELSE (SELECT rank(x) WITHIN GROUP (ORDER BY s {direction}) FROM b)"
		" END::text"
	" FROM {scores} AS l (x) CROSS JOIN " METHODS},
	{"lb_score_at_percentile",
		"SELECT format('lb_score_at_percentile(%s, %L)', p, {board}),"
		" lb_score_at_percentile(p, {board})::text,"
		" (SELECT percentile_disc(p / 100) WITHIN GROUP (ORDER BY s {reverse})"
		" FROM b)::text"
		" FROM (SELECT generate_series(0, 10)::float8 * 10 UNION ALL VALUES"
		" (0.1), (33.333333), (99.9), (99.99999999), (1e-300), (NULL),"
	" (($A % 100000)::float8 / 1000)) AS x (p)"},
	{"lb_ranks",
		"SELECT format('lb_ranks(%L, %L, %L)', a, {board}, w),"
		" (SELECT string_agg(row(t.member, t.rank, t.score)::text, ' '"
		" ORDER BY t.ordinality)"
		" FROM lb_ranks(a, {board}, w) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row(i, " RANK_BY_METHOD ", s)::text, ' '"
		" ORDER BY place_in_a)"
		" FROM unnest(a) WITH ORDINALITY AS e (i, place_in_a)"
		" LEFT JOIN b ON m = i AND nth = 1)"
	" FROM {arrays} AS x (a) CROSS JOIN " METHODS},
	{"lb_among",
		"SELECT format('lb_among(%L, %L)', a, {board}),"
		" (SELECT string_agg(row(t.place, t.member, t.score, t.rank)::text,"
		" ' ' ORDER BY t.ordinality)"
		" FROM lb_among(a, {board}) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row(f.n, m, s, {k})::text, ' ' ORDER BY f.n)"
		" FROM (SELECT row_number() OVER (ORDER BY place) AS n, m, s, place, r, d"
		" FROM b WHERE m = ANY (a) AND nth = 1) AS f)"
	" FROM {arrays} AS x (a)"},
	{"lb_histogram",

		/*
		 * The range of R scores is cut into k = least(n, R) buckets; a row at
		 * distance d from the worst score belongs to floor(d * k / R) + 1.
		 */
		"SELECT format('lb_histogram(%s, %L)', n, {board}),"
		" (SELECT string_agg(row(t.bucket, t.lo, t.hi, t.members)::text, ' '"
		" ORDER BY t.ordinality)"
		" FROM lb_histogram(n, {board}) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row(i,"
		" CASE {direction} WHEN 'DESC' THEN worst + d1 ELSE worst - d2 END,"
		" CASE {direction} WHEN 'DESC' THEN worst + d2 ELSE worst - d1 END,"
		" (SELECT count(*) FROM b WHERE div(abs(s - worst) * k, size) + 1 = i)"
		")::text, ' ' ORDER BY i)"
		" FROM (SELECT least(n, size) AS k, size, CASE {direction}"
		" WHEN 'DESC' THEN lo ELSE hi END AS worst"
		" FROM (SELECT min(s)::numeric AS lo, max(s)::numeric AS hi,"
		" max(s)::numeric - min(s) + 1 AS size FROM b) AS e"
		" WHERE lo IS NOT NULL) AS e"
		" CROSS JOIN LATERAL generate_series(1, k::integer) AS i"
		" CROSS JOIN LATERAL (SELECT div((i - 1) * size + k - 1, k) AS d1,"
		" div(i * size + k - 1, k) - 1 AS d2) AS f)"
	" FROM (VALUES (1), (2), (7), (10), (50), ($A % 30 + 1)) AS x (n)"},
};

char *
literal(const char *s)
{
	char	   *quoted = PQescapeLiteral(conn, s, strlen(s));
	char	   *copy;

	if (quoted == NULL || (copy = strdup(quoted)) == NULL)
		out_of_memory();
	PQfreemem(quoted);
	return copy;
}

char *
board_literal(const Look *look)
{
	char	   *name = look->value == NULL ? format("%s", look->table->board)
		: format("%s:%s", look->table->board, look->value);
	char	   *quoted = literal(name);

	free(name);
	return quoted;
}

/* Print the members that a comparison asks for. */
static void
put_keys(FILE *f, const Look *look)
{
	if (look->full)
		fprintf(f, "(SELECT generate_series(0, %d) UNION ALL VALUES"
				" (NULL::bigint), (-1), (9223372036854775807),"
				" (-9223372036854775808), (2147483647), (-2147483648))",
				members + 1);
	else
	{
		fprintf(f, "(VALUES (NULL::bigint), (%s)",
				look->table->extreme_members[rnd(4)]);
		for (int i = 0; i < 8; i++)
			fprintf(f, ", (%d)", 1 + rnd(members));
		fprintf(f, ")");
	}
}

static void
put_scores(FILE *f, const Look *look)
{
	fprintf(f, "(VALUES (NULL::bigint), (0), (1), (-1), (%s), (%s),"
			" (9223372036854775807), (-9223372036854775808)",
			look->table->extreme_scores[0], look->table->extreme_scores[1]);
	for (int i = 0; i < (look->full ? 40 : 5); i++)
		fprintf(f, ", (%d)", percent(50) ? rnd(22) : rnd(1002));
	fprintf(f, ")");
}

static void
put_arrays(FILE *f, const Look *look)
{
	fprintf(f, "(VALUES (NULL::bigint[]), ('{}'), ('{NULL}')");
	for (int i = 0; i < (look->full ? 10 : 2); i++)
	{
		fprintf(f, ", ('{%s", look->table->extreme_members[rnd(4)]);
		for (int n = rnd(30); n > 0; n--)
		{
			if (percent(5))
				fprintf(f, ",NULL");
			else
				fprintf(f, ",%d", rnd(members + 10));
		}
		fprintf(f, "}')");
	}
	fprintf(f, ")");
}

/* Put in what the words in braces stand for. */
static void
expand(FILE *f, const char *s, const Look *look)
{
	const Table *t = look->table;
	char	   *text;

	while (*s != '\0')
	{
		size_t		len = strcspn(s, "{$");

		fwrite(s, 1, len, f);
		s += len;
		if (*s == '\0')
			break;
		if (s[0] == '$' && (s[1] == 'A' || s[1] == 'B'))
		{
			fprintf(f, "%d", rnd(1000000000));
			s += 2;
			continue;
		}
#define WORD(w) (strncmp(s, "{" w "}", sizeof(w) + 1) == 0 && (s += sizeof(w) + 1))
		if (WORD ("member"))
			fputs(t->member, f);
		else if (WORD ("score"))
			fputs(t->score, f);
		else if (WORD ("order"))
			fputs(t->order, f);
		else if (WORD ("reverse"))
			fputs(t->reverse, f);
		else if (WORD ("table"))
			fputs(t->name, f);
		else if (WORD ("k"))
			fputs(t->method[0] == 'd' ? "d" :
				  strcmp(t->method, "rank") == 0 ? "r" : "place", f);
		else if (WORD ("method"))
			fprintf(f, "'%s'", t->method);
		else if (WORD ("board"))
		{
			text = board_literal(look);

			fputs(text, f);
			free(text);
		}
		else if (WORD ("ranked"))
		{
			fprintf(f, "(%s)", t->ranked);
			if (look->value != NULL)
			{
				text = literal(look->value);

				fprintf(f, " AND %s = %s", t->group, text);
				free(text);
			}
		}
		else if (WORD ("keys"))
			put_keys(f, look);
		else if (WORD ("scores"))
			put_scores(f, look);
		else if (WORD ("arrays"))
			put_arrays(f, look);
		else if (WORD ("direction"))
			fputs(t->direction, f);
		else
			fputc(*s++, f);
#undef WORD
	}
}

char *
comparison_statement(const struct Comparison *c, const Look *look)
{
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	if (f == NULL)
		out_of_memory();
	expand(f, ranked_rows, look);
	/* A histogram asks for the direction as a value. */
	if (strcmp(c->function, "lb_histogram") == 0)
	{
		const char *s = c->query;
		const char *found;

		while ((found = strstr(s, "{direction}")) != NULL)
		{
			char	   *part = format("%.*s", (int) (found - s), s);

			expand(f, part, look);
			free(part);
			fprintf(f, "'%s'", look->table->direction);
			s = found + strlen("{direction}");
		}
		expand(f, s, look);
	}
	else
		expand(f, c->query, look);
	fclose(f);
	return text;
}

static bool
same_value(const PGresult *a, int acol, const PGresult *b, int bcol, int row)
{
	return PQgetisnull(a, row, acol) == PQgetisnull(b, row, bcol) &&
		strcmp(PQgetvalue(a, row, acol), PQgetvalue(b, row, bcol)) == 0;
}

int
find_difference(const PGresult *got, int got_col, const PGresult *want,
				int want_col)
{
	for (int i = 0; i < PQntuples(got); i++)
	{
		if (!same_value(got, got_col, want, want_col, i))
			return i;
	}
	return -1;
}

char *
describe_difference(const PGresult *got, int got_col, const PGresult *want,
					int want_col, int row, const char *statement)
{
	return format("%s\n  returns   %s\n  should be %s\n\nin\n%s",
				  PQgetvalue(got, row, 0),
				  PQgetisnull(got, row, got_col) ? "NULL" :
				  PQgetvalue(got, row, got_col),
				  PQgetisnull(want, row, want_col) ? "NULL" :
				  PQgetvalue(want, row, want_col), statement);
}

void
compare_results(const PGresult *got, int got_col, const PGresult *want,
				int want_col, const char *statement)
{
	int			row = find_difference(got, got_col, want, want_col);

	if (row < 0)
	{
		result.passed += PQntuples(got);
		return;
	}
	result.failed++;
	strcpy(failure_kind, "difference");
	fail("%s", describe_difference(got, got_col, want, want_col, row,
								   statement));
}

void
compare_rows(const PGresult *res, const char *statement)
{
	compare_results(res, 1, res, 2, statement);
}

const struct Comparison *
any_comparison(void)
{
	return &ANY(comparisons);
}

/* Returns false after an expected error. */
static bool
compare(const struct Comparison *c, const Look *look)
{
	char	   *statement = comparison_statement(c, look);
	PGresult   *res = run_copy(statement, NULL);

	if (res != NULL)
		compare_rows(res, statement);
	PQclear(res);
	free(statement);
	return res != NULL;
}

bool
compare_some(const Table *table, int n)
{
	Look		look = {table, NULL, false};

	if (table->values != NULL)
		look.value = table->values[rnd(6)];
	while (n-- > 0)
	{
		if (!compare(any_comparison(), &look))
			return false;
	}
	return true;
}

void
compare_all(void)
{
	for (int i = 0; i < ntables; i++)
	{
		const Table *t = &tables[i];
		int			v = 0;

		do
		{
			Look		look = {t, t->values ? t->values[v] : NULL, true};

			for (int c = 0; c < LENGTH(comparisons); c++)
			{
				if (!compare(&comparisons[c], &look))
					fail("%s cannot be compared: %s", comparisons[c].function,
						 PQerrorMessage(conn));
			}
		} while (t->values != NULL && t->values[++v] != NULL);
	}
}
