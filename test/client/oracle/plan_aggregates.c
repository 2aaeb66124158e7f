/*-------------------------------------------------------------------------
 *
 * plan_aggregates.c
 *	  Forms of queries: aggregates over a board, or over a range of it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "plans.h"

static bool
has_ends(const Table *t)
{
	return strcmp(t->score.type->base, "boolean") != 0;
}

/* The rows of the aggregates. */
static void
put_rows(Question *q, Range range)
{
	put_source(q);
	put_board(q);
	put_range(q, range);
}

static void
put_count_column(Question *q)
{
	if (percent(20))
		fputs("count(1)", q->f);
	else
	{
		fputs("count(", q->f);
		put_column(q, key_column(q->table, rnd(key_columns(q->table))));
		fputs(")", q->f);
	}
}

/* Of 0 and -0 either stands for the two: make it 0. */
static void
put_sign(Question *q)
{
	if (q->table->score.type->asks)
		fputs("0 + ", q->f);
}

static void
put_end(Question *q)
{
	if (!has_ends(q->table))
	{
		fputs("count(*)", q->f);
		return;
	}
	put_sign(q);
	fputs(percent(50) ? "min(" : "max(", q->f);
	put_column(q, &q->table->score);
	fputs(")", q->f);
}

static void
put_fraction(Question *q)
{
	static const char *const fractions[] = {
		"0", "1", "0.5", "0.25", "0.999", "1e-300", "NULL::float8", "(SELECT 0.3)",
		"0.1::real", "2"
	};

	if (percent(50))
		fputs(ANY(fractions), q->f);
	else
		fprintf(q->f, "0.%d", rnd(1000));
}

static void
put_percentile(Question *q)
{
	put_sign(q);
	fputs("percentile_disc(", q->f);
	put_fraction(q);
	fputs(") WITHIN GROUP (ORDER BY ", q->f);
	put_column(q, &q->table->score);
	fputs(percent(50) ? ")" : " DESC)", q->f);
}

/* A rank that a row with these first n columns of the key would have. */
static void
put_rank(Question *q, int n)
{
	static const char *const ranks[] = {
		"rank", "dense_rank", "percent_rank", "cume_dist"
	};
	bool		reverse = percent(40);

	fprintf(q->f, "%s(", ANY(ranks));
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			fputs(", ", q->f);
		put_operand(q, key_column(q->table, i));
	}
	fputs(") WITHIN GROUP (", q->f);
	put_order_by(q, n, reverse);
	fputs(")", q->f);
}

static void
put_aggregate(Question *q)
{
	switch (rnd(7))
	{
		case 0:
			fputs("count(*)", q->f);
			break;
		case 1:
			put_count_column(q);
			break;
		case 2:
			fputs("count(DISTINCT ", q->f);
			put_column(q, &q->table->score);
			fputs(")", q->f);
			break;
		case 3:
		case 4:
			put_end(q);
			break;
		case 5:
			put_percentile(q);
			break;
		default:
			put_rank(q, 1);
			break;
	}
}

void
make_count(Question *q)
{
	fputs(percent(70) ? "SELECT count(*)" : "SELECT count(*) + 1 AS rank", q->f);
	put_rows(q, RANGE_ANY);
}

void
make_count_column(Question *q)
{
	fputs("SELECT ", q->f);
	put_count_column(q);
	put_rows(q, RANGE_ANY);
}

void
make_count_distinct(Question *q)
{
	fputs("SELECT count(DISTINCT ", q->f);
	put_column(q, &q->table->score);
	fputs(")", q->f);
	put_rows(q, RANGE_ANY);
}

void
make_ends(Question *q)
{
	fputs("SELECT ", q->f);
	put_end(q);
	if (percent(50))
	{
		fputs(", ", q->f);
		put_end(q);
	}
	put_rows(q, RANGE_ANY);
}

void
make_percentile(Question *q)
{
	fputs("SELECT ", q->f);
	put_percentile(q);
	put_rows(q, RANGE_ANY);
}

void
make_hypothetical(Question *q)
{
	fputs("SELECT ", q->f);
	put_rank(q, 1);
	put_rows(q, RANGE_ANY);
}

void
make_row_rank(Question *q)
{
	fputs("SELECT ", q->f);
	put_rank(q, 2 + rnd(key_columns(q->table) - 1));
	put_rows(q, RANGE_ANY);
}

void
make_several(Question *q)
{
	for (int n = 2 + rnd(4), i = 0; i < n; i++)
	{
		fputs(i == 0 ? "SELECT " : ", ", q->f);
		put_aggregate(q);
	}
	put_rows(q, RANGE_ANY);
	if (percent(20))
		fprintf(q->f, " HAVING count(*) > %d", rnd(members));
	if (percent(5))
		fprintf(q->f, " LIMIT %d", rnd(2));
}

void
make_row_range(Question *q)
{
	fputs("SELECT count(*), ", q->f);
	put_aggregate(q);
	put_rows(q, RANGE_ROW);
}

void
make_prefix_range(Question *q)
{
	fputs("SELECT count(*), ", q->f);
	put_end(q);
	put_rows(q, RANGE_PREFIX);
}

/* For each row of the same table. */
void
make_correlated(Question *q)
{
	const Column *member = &q->table->members[0];

	fprintf(q->f, "SELECT o.%s, %s, (SELECT ", member->name,
			column_of("o", &q->table->score));
	q->outer = "o";
	if (percent(60))
		fputs("count(*) + 1", q->f);
	else
		put_aggregate(q);
	put_rows(q, percent(70) ? RANGE_SCORE : RANGE_ANY);
	q->outer = NULL;
	fprintf(q->f, ") AS x FROM %s AS o WHERE NOT o.large", q->table->name);
	q->alias = "o";
	q->has_where = true;
	put_comparison(q, percent(70) ? &q->table->score : member);
}

/* For each of some values, which a nested loop sets one after the other. */
void
make_per_value(Question *q)
{
	const Column *score = &q->table->score;

	fprintf(q->f, "SELECT o.y, x.* FROM (VALUES (NULL::%s)",
			score->type->base);
	for (int n = 1 + rnd(4); n > 0; n--)
		fprintf(q->f, ", (%s)", percent(70) ? value(score->type, rnd(22)) :
				extreme(score->type));
	fputs(") AS o (y) CROSS JOIN LATERAL (SELECT ", q->f);
	put_aggregate(q);
	put_source(q);
	put_board(q);
	put_and(q);
	put_column(q, score);
	fprintf(q->f, " %s o.y) AS x", percent(50) ? ">" : "<=");
}

void
make_in_cte(Question *q)
{
	fprintf(q->f, "WITH c (a, b) AS %s(SELECT ",
			percent(40) ? "MATERIALIZED " : percent(50) ? "NOT MATERIALIZED " :
			"");
	put_aggregate(q);
	fputs(", count(*)", q->f);
	put_rows(q, RANGE_ANY);
	fputs(percent(50) ? ") SELECT * FROM c" :
		  ") SELECT c.*, d.a FROM c JOIN c AS d ON d.b >= c.b", q->f);
}

void
make_in_union(Question *q)
{
	static const char *const operations[] = {
		"UNION ALL", "UNION", "EXCEPT", "INTERSECT ALL"
	};

	fputs("SELECT count(*)", q->f);
	put_rows(q, RANGE_ANY);
	fprintf(q->f, " %s SELECT count(*)", ANY(operations));
	put_rows(q, RANGE_ANY);
	fputs(" UNION ALL SELECT 1", q->f);
}

/* It does not matter which rows a limit leaves, as far as they are counted. */
void
make_limited_count(Question *q)
{
	const Column *key = key_column(q->table, rnd(key_columns(q->table)));

	fputs(percent(60) ? "SELECT count(*)" : percent(50) ? "SELECT count(*), count(s.x)" :
		  "SELECT count(s.x) > 0, count(1)", q->f);
	fputs(" FROM (SELECT ", q->f);
	if (percent(50))
		fputs("1", q->f);
	else
		put_column(q, key);
	fputs(" AS x", q->f);
	put_rows(q, RANGE_ANY);
	if (percent(30))
	{
		fputs(" ORDER BY ", q->f);
		put_column(q, key);
	}
	put_limit(q);
	fputs(") AS s", q->f);
	if (percent(5))
		fputs(" WHERE s.x IS NOT NULL", q->f);
	if (percent(10))
		fprintf(q->f, " HAVING count(*) > %d", rnd(members));
}

/* Values of a board column, some of them more than once, or null. */
static const char *
any_values(const Table *t, int column, int n)
{
	const char *list = "";

	for (int i = 0; i < n; i++)
	{
		char	   *quoted = literal(part_of_value(t, any_value(t), column));

		list = keep(format("%s%s%s", list, i > 0 ? ", " : "",
						   percent(10) ? "NULL" : quoted));

		free(quoted);
	}
	return list;
}

/* A list of values for one of the board columns. */
static void
put_list(Question *q)
{
	const Table *t = q->table;
	int			c = rnd(t->ngroups);
	const char *base = t->groups[c].type->base;
	const char *array = keep(format("ARRAY[%s]::%s[]", any_values(t, c, rnd(6)), base));

	put_and(q);
	put_column(q, &t->groups[c]);
	if (percent(30))
		fprintf(q->f, " IN (%s, %s)", any_values(t, c, 1),
				any_values(t, c, 1 + rnd(4)));
	else if (percent(30) && q->nparams < MAX_PARAMS)
	{
		fputs(" = ANY (", q->f);
		put_param(q, keep(format("%s[]", base)), array);
		fputs(")", q->f);
	}
	else
		fprintf(q->f, " = ANY (%s)", array);

	/* The other columns equal something, or one more has a list. */
	q->open = 1 << c;
	if (t->ngroups > 1)
		put_group(q);
	q->open = 0;
}

void
make_several_boards(Question *q)
{
	const Table *t = q->table;
	const char *value = q->value;

	fputs("SELECT count(*), ", q->f);
	if (percent(60))
		put_end(q);
	else if (percent(80))
		put_count_column(q);
	else
		put_aggregate(q);
	put_source(q);

	/* The list instead of one value. */
	q->value = NULL;
	put_board(q);
	q->value = value;
	if (t->values != NULL)
		put_list(q);
	put_range(q, RANGE_ANY);
}

void
make_exists(Question *q)
{
	fputs("SELECT EXISTS (SELECT", q->f);
	put_rows(q, RANGE_ANY);
	fputs("), (SELECT count(*) > 0", q->f);
	put_rows(q, RANGE_ANY);
	fputs(")", q->f);
}

/* Statements that write rows of the board which they ask. */
void
make_update(Question *q)
{
	const Table *t = q->table;

	fprintf(q->f, "UPDATE %s AS o SET %s = (SELECT count(*) %% 2 = 0", t->name,
			percent(50) ? t->flag : "large");
	q->outer = "o";
	put_rows(q, RANGE_SCORE);
	q->outer = NULL;
	fputs(") WHERE NOT o.large", q->f);
	q->alias = "o";
	q->has_where = true;
	put_comparison(q, &t->score);
	fprintf(q->f, " RETURNING o.%s, o.large, (SELECT ", t->flag);
	q->alias = "p";
	put_aggregate(q);
	put_rows(q, RANGE_ANY);
	fputs(")", q->f);
}

void
make_delete(Question *q)
{
	const Table *t = q->table;

	fprintf(q->f, "DELETE FROM %s AS o WHERE NOT o.large AND %d < (SELECT count(*)",
			t->name, rnd(members / 2));
	q->outer = "o";
	put_rows(q, RANGE_SCORE);
	q->outer = NULL;
	fprintf(q->f, ") RETURNING o.%s, (SELECT ", t->members[0].name);
	put_aggregate(q);
	put_rows(q, RANGE_ANY);
	fputs(")", q->f);
}

void
make_insert(Question *q)
{
	const Table *t = q->table;

	fprintf(q->f, "WITH n AS (INSERT INTO %s (%s) SELECT %s FROM %s AS o"
			" WHERE NOT o.large AND %d < (SELECT count(*)", t->name,
			t->columns, t->columns, t->name, rnd(members / 2));
	put_rows(q, RANGE_ANY);

	/* How many rows it inserts depends on what others have deleted since. */
	fputs(") ON CONFLICT DO NOTHING RETURNING 1)"
		  " SELECT count(*) < 0, (SELECT ", q->f);
	put_aggregate(q);
	put_rows(q, RANGE_ANY);
	fputs(") FROM n", q->f);
}

/* What no board knows. */
void
make_other_aggregate(Question *q)
{
	const Table *t = q->table;

	switch (rnd(8))
	{
		case 0:
			fprintf(q->f, "SELECT count(*) FILTER (WHERE p.%s)", t->flag);
			put_rows(q, RANGE_ANY);
			break;
		case 1:
			fprintf(q->f, "SELECT count(p.%s), count(*)", t->flag);
			put_rows(q, RANGE_ANY);
			break;
		case 2:
			/* Of 0 and -0 either stands for the two. */
			if (t->score.type->asks)
				fputs("SELECT count(*)", q->f);
			else
				fprintf(q->f, "SELECT %s, count(*)", column_of("p", &t->score));
			put_rows(q, RANGE_ANY);
			fprintf(q->f, " GROUP BY %s", column_of("p", &t->score));
			break;
		case 3:
			fprintf(q->f, "SELECT %s, count(*)", column_of("p", &t->groups[0]));
			put_source(q);
			put_range(q, RANGE_ANY);
			fprintf(q->f, " GROUP BY GROUPING SETS ((%s), ())",
					column_of("p", &t->groups[0]));
			break;
		case 4:
			fprintf(q->f, "SELECT count(DISTINCT (%s, p.%s))",
					column_of("p", &t->score), t->members[0].name);
			put_rows(q, RANGE_ANY);
			break;
		case 5:
			fputs("SELECT count(*)", q->f);
			put_rows(q, RANGE_ANY);
			put_and(q);
			fprintf(q->f, "%s IS NULL", column_of("p", &t->score));
			break;
		case 6:
			fputs("SELECT count(*)", q->f);
			put_source(q);
			put_range(q, RANGE_SCORE);
			break;
		default:
			fprintf(q->f, "SELECT count(*), count(%s)",
					column_of("o", &t->score));
			put_source(q);
			/* See make_ranked_self(). */
			fprintf(q->f, " LEFT JOIN %s AS o ON COALESCE(o.%s, o.%s) = COALESCE(p.%s, p.%s)"
					" AND NOT o.large", t->name, t->members[0].name, t->members[0].name,
					t->members[0].name, t->members[0].name);
			put_board(q);
			put_range(q, RANGE_ANY);
			break;
	}
}
