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

/* A row of lbt.comparison, which test/lib/oracle.sql describes. */
struct Comparison
{
	char	   *function;
	char	   *query;
};

static struct Comparison *comparisons;
static int	ncomparisons;
const char *ranked_rows;

void
load_comparisons(void)
{
	PGresult   *res = run_copy("SELECT function, query FROM lbt.comparison"
							   " ORDER BY function", NULL);

	comparisons = calloc(PQntuples(res), sizeof(struct Comparison));
	if (comparisons == NULL)
		out_of_memory();
	for (int i = 0; i < PQntuples(res); i++)
	{
		const char *function = PQgetvalue(res, i, 0);
		char	   *query = format("%s", PQgetvalue(res, i, 1));

		if (strncmp(function, "lb_", 3) != 0)
			ranked_rows = query;
		else
		{
			comparisons[ncomparisons].function = format("%s", function);
			comparisons[ncomparisons++].query = query;
		}
	}
	PQclear(res);
	if (ranked_rows == NULL || ncomparisons < 10)
		fail("there are no comparisons in lbt.comparison");
}

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

/* Replace the words in braces, and $A and $B, as oracle.sql describes them. */
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
#define IS_WORD(w) (strncmp(s, "{" w "}", sizeof(w) + 1) == 0 && (s += sizeof(w) + 1))
		if (IS_WORD("member"))
			fputs(t->member, f);
		else if (IS_WORD("score"))
			fputs(t->score, f);
		else if (IS_WORD("order"))
			fputs(t->order, f);
		else if (IS_WORD("reverse"))
			fputs(t->reverse, f);
		else if (IS_WORD("table"))
			fputs(t->name, f);
		else if (IS_WORD("k"))
			fputs(t->method[0] == 'd' ? "d" :
				  strcmp(t->method, "rank") == 0 ? "r" : "place", f);
		else if (IS_WORD("method"))
			fprintf(f, "'%s'", t->method);
		else if (IS_WORD("board"))
		{
			text = board_literal(look);

			fputs(text, f);
			free(text);
		}
		else if (IS_WORD("ranked"))
		{
			fprintf(f, "(%s)", t->ranked);
			if (look->value != NULL)
			{
				text = literal(look->value);

				fprintf(f, " AND %s = %s", t->group, text);
				free(text);
			}
		}
		else if (IS_WORD("keys") || IS_WORD("few_keys"))
			put_keys(f, look);
		else if (IS_WORD("places"))
			fprintf(f, "(SELECT p FROM (SELECT count(*) AS total FROM b) AS c"
					" CROSS JOIN LATERAL (SELECT generate_series(1,"
					" least(total, %d)) UNION ALL VALUES (total), (total + 1),"
					" (total / 2), (total / 3 + 1), (%d),"
					" (9223372036854775807), (NULL)) AS x (p))", rnd(5),
					rnd(100));
		else if (IS_WORD("percents"))
			fprintf(f, "(SELECT generate_series(0, 10)::float8 * 10 UNION ALL"
					" VALUES (0.1), (33.333333), (99.9), (99.99999999),"
					" (1e-300), (NULL), (%d::float8 / 1000))", rnd(100000));
		else if (IS_WORD("descending"))
			fputs(t->direction[0] == 'D' ? "true" : "false", f);
		else if (IS_WORD("scores"))
			put_scores(f, look);
		else if (IS_WORD("arrays"))
			put_arrays(f, look);
		else if (IS_WORD("direction"))
			fputs(t->direction, f);
		else
			fputc(*s++, f);
#undef IS_WORD
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
	return &comparisons[rnd(ncomparisons)];
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

			for (int c = 0; c < ncomparisons; c++)
			{
				if (!compare(&comparisons[c], &look))
					fail("%s cannot be compared: %s", comparisons[c].function,
						 PQerrorMessage(conn));
			}
		} while (t->values != NULL && t->values[++v] != NULL);
	}
}
