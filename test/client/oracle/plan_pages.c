/*-------------------------------------------------------------------------
 *
 * plan_pages.c
 *	  Forms of queries: pages of a board, and its rows in their order.
 *
 * A query whose order leaves rows open has a column k with what it sorts by.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "plans.h"

void
put_k(Question *q, int n)
{
	fputs("ROW(", q->f);
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			fputs(", ", q->f);
		put_column(q, key_column(q->table, i));
		if (key_column(q->table, i)->type->is_float)
			fputs(" + 0", q->f);
	}
	fputs(")::text AS k", q->f);
}

/* Columns, and the rows of the page before its order. */
static void
put_open_rows(Question *q, int nkeys, Range range)
{
	fputs("SELECT ", q->f);
	put_k(q, nkeys);
	fputs(percent(50) ? ", p.*" : ", p.large, p", q->f);
	put_source(q);
	put_board(q);
	put_range(q, range);
	mark_everything(q);
	q->ordered = true;
}

void
put_limit(Question *q)
{
	static const char *const limits[] = {
		"ALL", "NULL", "0", "1", "(SELECT NULL::int)"
	};
	bool		offset = percent(60);

	if (offset && percent(30))
	{
		fputs(" OFFSET ", q->f);
		put_number(q, rnd(percent(80) ? members : 4));
		fputs(percent(50) ? " ROWS" : " ROW", q->f);
		offset = false;
	}
	fputs(" LIMIT ", q->f);
	if (percent(10))
		fputs(ANY(limits), q->f);
	else
		put_number(q, 1 + rnd(percent(80) ? 20 : members));
	if (offset)
	{
		fputs(" OFFSET ", q->f);
		put_number(q, rnd(percent(80) ? members : 4));
	}
}

static int
any_prefix(const Question *q)
{
	return 1 + rnd(key_columns(q->table));
}

/* A column that is computed of an integer, and raises no error for any. */
static void
put_computed(Question *q)
{
	static const char *const computations[] = {
		"{} / 3 + 1", "{} % 1000 * 1000", "-({} / 2)", "({} / 5)::text",
		"CASE WHEN {} > 7 THEN 7 END + 1"
	};

	fprintf(q->f, ", %s", keep(put_in(ANY(computations),
									  column_of(q->alias, &q->table->score))));
}

/* All columns of the key: at most rows that are equal in these are open. */
void
make_page(Question *q)
{
	int			n = key_columns(q->table);

	if (percent(40))
		put_open_rows(q, n, RANGE_ANY);
	else
	{
		fputs("SELECT ", q->f);
		put_key(q, n);
		if (q->table->score.type->integer && percent(30))
			put_computed(q);
		put_source(q);
		put_board(q);
		put_range(q, RANGE_ANY);
		q->ordered = true;
	}
	put_order_by(q, n, percent(50));
	put_limit(q);
}

void
make_open_page(Question *q)
{
	int			n = any_prefix(q);

	put_open_rows(q, n, RANGE_ANY);
	put_order_by(q, n, percent(50));
	put_limit(q);
}

void
make_ties(Question *q)
{
	int			n = any_prefix(q);

	put_open_rows(q, n, RANGE_ANY);
	put_order_by(q, n, percent(50));
	if (percent(50))
		fprintf(q->f, " OFFSET %d ROWS", rnd(percent(50) ? members : 6));
	fprintf(q->f, " FETCH FIRST %d ROWS WITH TIES",
			rnd(percent(50) ? members : 6));
}

/* The page after a row. */
void
make_keyset(Question *q)
{
	int			n = percent(70) ? key_columns(q->table) : any_prefix(q);

	put_open_rows(q, n, percent(60) ? RANGE_ROW : RANGE_SCORE);
	put_order_by(q, n, percent(50));
	fprintf(q->f, " LIMIT %d", 1 + rnd(20));
}

void
make_lateral_page(Question *q)
{
	const Column *score = &q->table->score;
	int			n = key_columns(q->table);
	bool		left = percent(50);

	fprintf(q->f, "SELECT o.y AS x, l.* FROM (VALUES (NULL::%s)",
			score->type->base);
	for (int i = 1 + rnd(4); i > 0; i--)
		fprintf(q->f, ", (%s)", value(score->type, rnd(22)));
	fprintf(q->f, ") AS o (y) %s JOIN LATERAL (SELECT ",
			left ? "LEFT" : "CROSS");
	put_key(q, n);
	put_source(q);
	put_board(q);
	put_and(q);
	put_column(q, score);
	fprintf(q->f, " %s o.y", percent(50) ? ">" : "<=");
	put_order_by(q, n, percent(50));
	fprintf(q->f, " LIMIT %d OFFSET %d) AS l%s", 1 + rnd(5), rnd(5),
			left ? " ON true" : "");
}

/* What is the same of all pages that the order allows. */
void
make_counted_page(Question *q)
{
	int			n = any_prefix(q);

	fputs("SELECT count(*), count(q.x), count(DISTINCT q.x) FROM (SELECT ", q->f);
	fprintf(q->f, "%s AS x", column_of("p", &q->table->score));
	put_source(q);
	put_board(q);
	put_range(q, RANGE_ANY);
	put_order_by(q, n, percent(50));
	put_limit(q);
	fputs(") AS q", q->f);
}

void
make_union_page(Question *q)
{
	static const char *const operations[] = {
		"UNION ALL", "UNION ALL", "UNION", "EXCEPT ALL", "INTERSECT"
	};
	int			n = key_columns(q->table);

	for (int i = 0; i < 2; i++)
	{
		if (i > 0)
			fprintf(q->f, " %s ", ANY(operations));
		fputs("(SELECT ", q->f);
		put_key(q, n);
		put_source(q);
		put_board(q);
		put_range(q, RANGE_ANY);
		put_order_by(q, n, percent(50));
		put_limit(q);
		fputs(")", q->f);
	}
}

/* With conditions on other columns, which the rows of a scan are checked for. */
void
make_filtered_page(Question *q)
{
	int			n = any_prefix(q);

	fputs("SELECT ", q->f);
	put_k(q, n);
	fputs(", p.*", q->f);
	put_source(q);
	put_board(q);
	if (percent(60))
	{
		put_scattered(q, percent(70) ? 0 : rnd(key_columns(q->table)));
		if (percent(30))
			put_range(q, RANGE_ANY);
	}
	else
		put_range(q, RANGE_ANY);
	put_and(q);
	if (percent(40))
		fprintf(q->f, "p.%s IS NOT TRUE", q->table->flag);
	else if (percent(30))
		fputs("NOT p.large", q->f);
	else if (percent(30))
	{
		put_column(q, &q->table->members[0]);
		fputs(" <> ", q->f);
		put_operand(q, &q->table->members[0]);
	}
	else
		fprintf(q->f, "(p.%s OR %s <> (SELECT %s))", q->table->flag,
				column_of("p", &q->table->score),
				value(q->table->score.type, rnd(20)));
	mark_everything(q);
	q->ordered = true;
	put_order_by(q, n, percent(50));
	if (percent(80))
		put_limit(q);
}

void
make_stream(Question *q)
{
	int			n = any_prefix(q);

	put_open_rows(q, n, RANGE_ANY);
	put_order_by(q, n, percent(50));
}

void
make_joined_page(Question *q)
{
	int			n = key_columns(q->table);

	fputs("SELECT ", q->f);
	put_key(q, n);
	fputs(", v.i", q->f);
	put_source(q);
	if (percent(50))
		fprintf(q->f, " %sJOIN (VALUES (1), (2)) AS v (i) ON %s",
				percent(50) ? "LEFT " : "",
				percent(50) ? "true" : "NOT p.large");
	else
	{
		const char *member = q->table->members[0].name;

		/* See make_ranked_self(). */
		fprintf(q->f, " JOIN (SELECT o.%s AS x, 1 AS i FROM %s AS o"
				" WHERE NOT o.large) AS v ON COALESCE(v.x, v.x) = COALESCE(p.%s, p.%s)",
				member, q->table->name, member, member);
	}
	put_board(q);
	put_range(q, RANGE_ANY);
	put_order_by(q, n, percent(50));
	fputs(", v.i", q->f);
	q->ordered = true;
	if (percent(80))
		put_limit(q);
}

/* Two ordered parts, which a merge can append. */
void
make_appended_page(Question *q)
{
	int			n = key_columns(q->table);
	bool		reverse = percent(50);

	fputs("SELECT * FROM (", q->f);
	for (int part = 0; part < 2; part++)
	{
		fputs(part == 0 ? "SELECT " : " UNION ALL SELECT ", q->f);
		/* Expressions have no names. */
		if (q->table->written != q->table)
			fputs("p.*", q->f);
		else
			put_key(q, n);
		put_source(q);
		put_board(q);
		if (percent(40))
			put_range(q, RANGE_ANY);
	}
	fputs(") AS p", q->f);
	put_order_by(q, n, reverse);
	q->ordered = true;
	if (percent(80))
		put_limit(q);
}

void
make_window(Question *q)
{
	int			n = key_columns(q->table);

	fputs("SELECT ", q->f);
	put_key(q, n);
	fprintf(q->f, ", lag(%s) OVER (", column_of("p", &q->table->score));
	put_order_by(q, n, percent(50));
	fputs("), count(*) OVER ()", q->f);
	put_source(q);
	put_board(q);
	put_range(q, RANGE_ANY);
}

void
make_distinct(Question *q)
{
	const char *score = column_of("p", &q->table->score);
	bool		grouped = percent(50);

	/* Of 0 and -0 either stands for the two. */
	if (q->table->score.type->asks)
	{
		make_stream(q);
		return;
	}
	fprintf(q->f, grouped ? "SELECT %s, count(*)" : "SELECT DISTINCT %s",
			score);
	put_source(q);
	put_board(q);
	put_range(q, RANGE_ANY);
	if (grouped)
		fprintf(q->f, " GROUP BY %s", column_of("p", &q->table->score));
	put_order_by(q, 1, percent(50));
	q->ordered = true;
	put_limit(q);
}

/* Whether there are texts, for which put_order_by() may write a COLLATE clause. */
static bool
has_texts(const Table *t, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (key_column(t, i)->type->is_text)
			return true;
	}
	return false;
}

/* The best row, or the worst one, for each of the first columns. */
void
make_distinct_on(Question *q)
{
	int			n = any_prefix(q);

	/* Its expressions have to be those of the order. */
	if (has_texts(q->table, n))
	{
		make_stream(q);
		return;
	}
	fputs("SELECT DISTINCT ON (", q->f);
	put_key(q, n);
	fputs(") ", q->f);
	put_key(q, key_columns(q->table));
	put_source(q);
	put_board(q);
	put_range(q, RANGE_ANY);
	put_order_by(q, key_columns(q->table), percent(50));
	q->ordered = true;
	if (percent(40))
		put_limit(q);
}

/* An order that begins as the board's: what is behind is sorted in parts. */
void
make_partly_ordered(Question *q)
{
	bool		reverse = percent(50);
	int			n = key_columns(q->table);

	fputs("SELECT ", q->f);
	put_key(q, n);
	put_source(q);
	put_board(q);
	put_range(q, RANGE_ANY);
	put_order_by(q, any_prefix(q), reverse);
	fprintf(q->f, ", p.large%s", percent(50) ? " DESC" : "");
	for (int i = 0; i < n; i++)
	{
		fputs(", ", q->f);
		put_column(q, key_column(q->table, i));
	}
	q->ordered = true;
	if (percent(80))
		put_limit(q);
}

/* Rows of an aggregate in the board's order, for the whole or for each score. */
void
make_ordered_aggregate(Question *q)
{
	const Table *t = q->table;
	bool		grouped = percent(60);

	fputs("SELECT count(*), array_agg(", q->f);
	put_column(q, &t->members[0]);
	put_order_by(q, key_columns(t), percent(50));
	fputs(")", q->f);
	put_source(q);
	put_board(q);
	put_range(q, RANGE_ANY);
	if (!grouped)
		return;
	fputs(" GROUP BY ", q->f);
	put_column(q, &t->score);
	put_order_by(q, 1, percent(50));
	q->ordered = true;
	if (percent(30))
		put_limit(q);
}

/*
 * Pairs of rows whose scores are equal, or more of their first columns; not their
 * members, for which see make_ranked_self().
 */
void
make_equal_rows(Question *q)
{
	static const char *const joins[] = {"JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"};
	const Table *t = q->table;
	int			most = key_columns(t) - t->nmembers;
	int			n = percent(70) ? 1 : 1 + rnd(most);
	const char *join = ANY(joins);

	fputs("SELECT ", q->f);
	put_key(q, key_columns(t));
	fprintf(q->f, ", o.%s AS y FROM (SELECT *", t->members[0].name);
	put_source(q);
	put_board(q);
	put_range(q, RANGE_ANY);
	fprintf(q->f, ") AS p %s (SELECT * FROM %s AS z WHERE NOT z.large AND z.%s IN (NULL",
			join, t->name, t->members[0].name);
	for (int i = rnd(12); i >= 0; i--)
		fprintf(q->f, ", (%s)::%s", value(t->members[0].type, rnd(members)),
				t->members[0].type->base);
	fputs(")) AS o ON ", q->f);
	for (int i = 0; i < n; i++)
	{
		const Column *c = key_column(t, i);

		fprintf(q->f, "%s%s = %s", i > 0 ? " AND " : "", column_of("o", c),
				column_of("p", c));
	}
	if (percent(40) && strcmp(join, "FULL JOIN") != 0)
	{
		put_order_by(q, key_columns(t), percent(50));
		fprintf(q->f, ", o.%s", t->members[0].name);
		for (int i = 1; i < t->nmembers; i++)
			fprintf(q->f, ", o.%s", t->members[i].name);
		q->ordered = true;
		put_limit(q);
	}
}

/* Orders that are not the board's. */
void
make_other_page(Question *q)
{
	const Table *t = q->table;
	int			n = key_columns(t);

	fputs("SELECT ", q->f);
	put_key(q, n);
	put_source(q);
	put_board(q);
	put_range(q, RANGE_ANY);
	switch (rnd(3))
	{
		case 0:
			/* One column the other way round. */
			put_order_by(q, 1, true);
			for (int i = 1; i < n; i++)
			{
				fputs(", ", q->f);
				put_column(q, key_column(t, i));
				fputs(key_column(t, i)->descending ? " DESC" : "", q->f);
			}
			break;
		case 1:
			/* Another one first. */
			fputs(" ORDER BY ", q->f);
			for (int i = n; i > 0; i--)
			{
				put_column(q, key_column(t, i % n));
				fputs(i > 1 ? ", " : "", q->f);
			}
			break;
		default:
			fputs(" ORDER BY ", q->f);
			put_column(q, &t->score);
			fputs(" IS NULL, ", q->f);
			put_key(q, n);
			break;
	}
	q->ordered = true;
	put_limit(q);
}
