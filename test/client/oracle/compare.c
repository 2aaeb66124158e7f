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
	char	   *uses;
	char	   *query;
};

static struct Comparison *comparisons;
static int	ncomparisons;
const char *ranked_rows;

void
load_comparisons(void)
{
	PGresult   *res = run_copy("SELECT function, uses, query FROM lbt.comparison"
							   " ORDER BY function", NULL);

	comparisons = calloc(PQntuples(res), sizeof(struct Comparison));
	if (comparisons == NULL)
		out_of_memory();
	for (int i = 0; i < PQntuples(res); i++)
	{
		const char *function = PQgetvalue(res, i, 0);
		char	   *query = format("%s", PQgetvalue(res, i, 2));

		if (strncmp(function, "lb_", 3) != 0)
			ranked_rows = query;
		else
		{
			comparisons[ncomparisons].function = format("%s", function);
			comparisons[ncomparisons].uses = format("%s", PQgetvalue(res, i, 1));
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

const char *
one_of(const char *const *list)
{
	int			n = 0;

	while (list[n] != NULL)
		n++;
	return list[rnd(n)];
}

const char *
any_value(const Table *t)
{
	return one_of(t->values);
}

Look
any_look(const Table *t)
{
	Look		look = {.table = t,.by = t->same != NULL && percent(50) ? t->same : t};

	if (t->values != NULL)
		look.value = any_value(t);
	return look;
}

/* Whether functions take and return the member, or the score, as a bigint. */
static bool
plain_member(const Look *look)
{
	const Table *t = look->table;

	return !look->twin && t->nmembers == 1 && t->members[0].type->integer;
}

static bool
plain_score(const Look *look)
{
	return !look->twin && look->table->score.type->integer;
}

/* Whether a function, or its twin, serves a board. */
static bool
serves(const struct Comparison *c, const Look *look)
{
	if (strchr(c->uses, look->table->score.type->is_float ? 'u' : 'f') != NULL)
		return false;
	if (look->twin)
		return strstr(c->query, "{_key}") != NULL;
	return (strchr(c->uses, 'm') == NULL || plain_member(look)) &&
		(strchr(c->uses, 's') == NULL || plain_score(look));
}

/* Whether the index of a board that keeps counts answers a function. */
static bool
is_counted(const struct Comparison *c)
{
	static const char *const counted[] = {
		"lb_rank", "lb_percentile", "lb_player", "lb_score", "lb_tier", "lb_ranks",
		"lb_count", "lb_count_between", "lb_rank_of_score",
		"lb_score_at_percentile", "lb_histogram", "lb_histogram_floats", "lb_top",
		"lb_page", "lb_top_json", "lb_at", "lb_around", "lb_rank_json"
	};

	return is_one_of(c->function, counted, LENGTH(counted));
}

const struct Comparison *
any_comparison(Look *look)
{
	const struct Comparison *c;
	bool		counted = look->table->counts && percent(90);

	do
	{
		c = &comparisons[rnd(ncomparisons)];
		look->twin = percent(50);
		look->typed = look->twin && percent(40);
	} while (!serves(c, look) || (counted && !is_counted(c)));
	return c;
}

const struct Comparison *
any_whole_comparison(Look *look)
{
	static const char *const whole[] = {
		"lb_top", "lb_page", "lb_top_json", "lb_at", "lb_count",
		"lb_count_between", "lb_rank_of_score", "lb_score_at_percentile",
		"lb_histogram", "lb_histogram_floats"
	};
	const struct Comparison *c;

	for (;;)
	{
		c = any_comparison(look);
		for (int i = 0; i < LENGTH(whole); i++)
		{
			if (strcmp(c->function, whole[i]) == 0)
				return c;
		}
	}
}

/* Print the text of a member, as its type has it. */
static void
put_text(FILE *f, const Table *t, const char *member)
{
	bool		styled = false;

	/* Texts of dates and times would depend on DateStyle. */
	for (int i = 0; i < t->nmembers; i++)
		styled |= strncmp(t->members[i].type->base, "date", 4) == 0 ||
			strncmp(t->members[i].type->base, "time", 4) == 0;
	fprintf(f, styled ? "lbt.without_loss(%s(%s))" : "%s(%s)::text",
			t->nmembers == 1 ? "" : "row", member);
}

/* Print the member as JSON. */
static void
put_json(FILE *f, const Table *t)
{
	if (t->nmembers == 1)
	{
		fprintf(f, "lbt.json(%s)", t->member);
		return;
	}
	fprintf(f, "to_json((SELECT x FROM (SELECT ");
	for (int i = 0; i < t->nmembers; i++)
		fprintf(f, "%slbt.json(%s) AS %s", i == 0 ? "" : ", ",
				t->members[i].name, t->members[i].name);
	fprintf(f, ") AS x))");
}

/* Print the members that a comparison asks for. */
static void
put_keys(FILE *f, const Look *look)
{
	const Table *t = look->table;

	if (plain_member(look) && look->full)
		fprintf(f, "(SELECT generate_series(0, %d) UNION ALL VALUES"
				" (NULL::bigint), (-1), (9223372036854775807),"
				" (-9223372036854775808), (2147483647), (-2147483648))",
				members + 1);
	else if (plain_member(look))
	{
		fprintf(f, "(VALUES (NULL::bigint), (%s)", extreme_member(t));
		for (int i = 0; i < 8; i++)
			fprintf(f, ", (%d)", 1 + rnd(members));
		fprintf(f, ")");
	}
	else
	{
		fprintf(f, "(VALUES (NULL::text)");
		for (int i = 0; i < (look->full ? 10 : 2); i++)
		{
			fprintf(f, ", (");
			put_text(f, t, extreme_member(t));
			fprintf(f, ")");
		}
		for (int i = 0; i < 8 && !look->full; i++)
		{
			fprintf(f, ", (");
			put_text(f, t, member_of(t, 1 + rnd(members)));
			fprintf(f, ")");
		}
		if (look->full)
		{
			fprintf(f, " UNION ALL SELECT ");
			put_text(f, t, member_of_expression(t, "i"));
			fprintf(f, " FROM generate_series(0, %d) AS i", members + 1);
		}
		fprintf(f, ")");
	}
}

/* Print n of these texts, as rows of VALUES; all of them, or any. */
static void
put_values(FILE *f, char **texts, int ntexts, int n)
{
	for (int i = 0; i < n; i++)
	{
		char	   *text = literal(texts[n == ntexts ? i : rnd(ntexts)]);

		fprintf(f, ", (%s)", text);
		free(text);
	}
}

static void
put_scores(FILE *f, const Look *look, int n)
{
	const Type *type = look->table->score.type;

	if (plain_score(look))
	{
		fprintf(f, "(VALUES (NULL::bigint), (0), (1), (-1),"
				" (9223372036854775807), (-9223372036854775808)");
		for (int i = 0; i < 2 && n > 5; i++)
			fprintf(f, ", (%s)", type->extremes[rnd(type->nextremes)]);
		for (int i = 0; i < n; i++)
			fprintf(f, ", (%d)", percent(50) ? rnd(22) : rnd(1002));
	}
	else
	{
		fprintf(f, "(VALUES (NULL::text)");
		put_values(f, type->extremes, type->nextremes,
				   look->full ? type->nextremes : 2);
		if (type->noperands > 0)
			put_values(f, type->operands, type->noperands,
					   look->full ? type->noperands : 1);
		put_values(f, type->texts, type->ntexts, n);
	}
	fprintf(f, ")");
}

static void
put_arrays(FILE *f, const Look *look)
{
	const Table *t = look->table;
	bool		plain = plain_member(look);

	fprintf(f, "(VALUES (NULL::%s[]), ('{}'), ('{NULL}')",
			plain ? "bigint" : "text");
	for (int i = 0; i < (look->full ? 10 : 2); i++)
	{
		fprintf(f, ", (ARRAY[");
		if (plain)
			fprintf(f, "%s", extreme_member(t));
		else
			put_text(f, t, extreme_member(t));
		for (int n = rnd(30); n > 0; n--)
		{
			fprintf(f, ", ");
			if (percent(5))
				fprintf(f, "NULL");
			else if (plain)
				fprintf(f, "%d", rnd(members + 10));
			else
				put_text(f, t, member_of(t, rnd(members + 10)));
		}
		fprintf(f, "]::%s[])", plain ? "bigint" : "text");
	}
	fprintf(f, ")");
}

/* Replace the words in braces, and $A and $B, as oracle.sql describes them. */
static void
expand(FILE *f, const char *s, const Look *look)
{
	const Table *t = look->by;
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
		else if (IS_WORD("m"))
		{
			if (plain_member(look))
				fprintf(f, "%s::bigint", t->member);
			else
			{
				fprintf(f, "(");
				put_text(f, t, t->member);
				fprintf(f, " COLLATE \"C\")");
			}
		}
		else if (IS_WORD("json"))
			put_json(f, t);
		else if (IS_WORD("_key"))
			fputs(look->twin ? "_key" : "", f);
		else if (IS_WORD(":m"))
		{
			if (look->typed && t->nmembers == 1)
				fprintf(f, "::%s", t->members[0].type->base);
		}
		else if (IS_WORD(":s"))
		{
			if (look->typed)
				fprintf(f, "::%s", t->score.type->base);
		}
		else if (IS_WORD("score"))
			fputs(column_of(NULL, &t->score), f);
		else if (IS_WORD("type"))
			fputs(plain_score(look) ? "bigint" : t->score.type->base, f);
		else if (IS_WORD("order"))
			fputs(t->order, f);
		else if (IS_WORD("tie_order"))
			fputs(t->tie_order, f);
		else if (IS_WORD("member_order"))
			fputs(t->member_order, f);
		else if (IS_WORD("ties"))
			fputs(t->tie_array, f);
		else if (IS_WORD("key_score"))
			fprintf(f, plain_score(look) ? "%s::bigint" :
					"lbt.without_loss(%s)", column_of(NULL, &t->score));
		else if (IS_WORD("score_text"))
			fprintf(f, plain_score(look) ? "format('%%s', %s)" :
					"lbt.without_loss(%s)", column_of(NULL, &t->score));
		else if (IS_WORD("reverse"))
			fputs(t->score.descending ? "ASC" : "DESC", f);
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
				fprintf(f, " AND %s", on_board(t, look->value));
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
			fputs(t->score.descending ? "true" : "false", f);
		else if (IS_WORD("scores"))
			put_scores(f, look, look->full ? 40 : 5);
		else if (IS_WORD("few_scores"))
			put_scores(f, look, 2);
		else if (IS_WORD("arrays"))
			put_arrays(f, look);
		else if (IS_WORD("direction"))
			fputs(t->score.descending ? "DESC" : "ASC", f);
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

static int
count_lines(const char *lines)
{
	int			n = lines[0] != '\0';

	for (; *lines != '\0'; lines++)
		n += *lines == '\n';
	return n;
}

/*
 * Move to the first line in which two texts differ.  It is empty where a text has no
 * more lines.
 */
static void
find_line(const char **a, const char **b)
{
	const char *x = *a;
	const char *y = *b;

	for (; *x == *y && *x != '\0'; x++, y++)
	{
		if (*x == '\n')
		{
			*a = x + 1;
			*b = y + 1;
		}
	}
	if ((*x == '\n' && *y == '\0') || (*x == '\0' && *y == '\n'))
	{
		*a = x + (*x == '\n');
		*b = y + (*y == '\n');
	}
}

/*
 * The long values may be cut from what is kept of a run's output.  So the line that
 * differs has a line of its own.
 */
char *
describe_difference(const PGresult *got, int got_col, const PGresult *want,
					int want_col, int row, const char *statement)
{
	const char *returns = PQgetisnull(got, row, got_col) ? "NULL" :
		PQgetvalue(got, row, got_col);
	const char *should = PQgetisnull(want, row, want_col) ? "NULL" :
		PQgetvalue(want, row, want_col);
	const char *line = returns;
	const char *other = should;

	find_line(&line, &other);
	return format("%s\nFAILED as it returns %d lines and should return %d, and has \"%.*s\" where \"%.*s\" should be\n"
				  "  returns   %s\n  should be %s\n\nin\n%s",
				  PQgetvalue(got, row, 0), count_lines(returns),
				  count_lines(should), (int) strcspn(line, "\n"), line,
				  (int) strcspn(other, "\n"), other, returns, should,
				  statement);
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

static bool
compare_look(Look *look, int n)
{
	while (n-- > 0)
	{
		if (!compare(any_comparison(look), look))
			return false;
	}
	return true;
}

bool
compare_some(const Table *table, int n)
{
	Look		look = any_look(table);

	return compare_look(&look, n);
}

bool
compare_by(const Table *table, const Table *by, int n)
{
	Look		look = any_look(table);

	look.by = by;
	return compare_look(&look, n);
}

/*
 * Compare every function, or every twin, on one board.  A twin differs by the
 * types that it takes and returns: a few members will do if the function
 * serves the board.
 */
static void
compare_board(const Look *look)
{
	Look		own = *look;

	own.twin = false;
	for (int i = 0; i < ncomparisons; i++)
	{
		Look		asked = *look;

		if (!take_next() || !serves(&comparisons[i], look))
			continue;
		if (look->twin && look->by == look->table && serves(&comparisons[i], &own))
			asked.full = false;
		if (!compare(&comparisons[i], &asked))
			fail("%s cannot be compared: %s", comparisons[i].function,
				 PQerrorMessage(conn));
	}
}

static void
compare_tables(bool full)
{
	for (int i = 0; i < ntables; i++)
	{
		const Table *t = &tables[i];
		int			v = 0;

		do
		{
			Look		look = {t, t, t->values ? t->values[v] : NULL, full, false, false};

			compare_board(&look);
			look.twin = true;
			if (t->same != NULL)
				look.by = t->same;
			compare_board(&look);
		} while (t->values != NULL && t->values[++v] != NULL);
	}
}

static void
compare_by_index(void)
{
	compare_tables(true);
}

static void
compare_few_by_query(void)
{
	run("SET leaderboard.enable_index = off");
	compare_tables(false);
}

void
compare_all(void)
{
	share_out(compare_by_index);
}

/*
 * What a query returns does not depend on how the board has come to its state,
 * and it takes longer than an answer by the index: a few members will do.
 */
void
compare_by_query(void)
{
	share_out(compare_few_by_query);
}
