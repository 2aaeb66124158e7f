/*-------------------------------------------------------------------------
 *
 * plan_ranked.c
 *	  Forms of queries: subqueries that rank the rows of a table.
 *
 * A subquery v has the table's columns, and window functions w0, w1 ...  Each of these
 * has one answer, since row_number() and ntile() are of all columns of the key.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "plans.h"

/* How many window functions a subquery has. */
#define NFUNCTIONS 3

/* All board columns of a table, or some of them: bits, or 0 for none. */
static unsigned
any_partitions(const Table *t)
{
	int			all = (1 << t->ngroups) - 1;

	if (t->values == NULL || percent(50))
		return 0;
	return percent(50) ? all : 1 + rnd(all);
}

/* Partitions by these board columns, which can have any order. */
static void
put_window(Question *q, int partitions, int n, bool reverse)
{
	const Table *t = q->table;
	int			first = rnd(t->ngroups);
	const char *separator = "PARTITION BY ";

	fputs(" OVER (", q->f);
	for (int i = 0; i < t->ngroups; i++)
	{
		int			c = (first + i) % t->ngroups;

		if ((partitions & 1 << c) == 0)
			continue;
		fputs(separator, q->f);
		put_column(q, &t->groups[c]);
		separator = ", ";
	}
	if (n > 0)
		put_order_by(q, n, reverse);
	fputs(")", q->f);
}

/* A window function; the first one is a rank.  Few are what no board knows. */
static void
put_function(Question *q, int number, int partitions)
{
	static const char *const functions[] = {
		"rank()", "dense_rank()", "percent_rank()", "cume_dist()", "count(*)",
		"row_number()", "count(*)", "ntile(3)", "sum(1)"
	};
	int			i = number == 0 ? rnd(2) : rnd(percent(10) ? LENGTH(functions) : 7);
	int			all = key_columns(q->table);

	if (number == 0 && percent(50))
		i = 5;
	fputs(functions[i], q->f);
	put_window(q, partitions, i == 5 || i == 7 ? all : i == 6 ? 0 :
			   percent(i == 1 ? 95 : 70) ? 1 : 1 + rnd(all), percent(20));
	fprintf(q->f, " AS w%d", number);
}

/* " FROM ", or with outer what follows it, and the subquery. */
static void
put_ranked(Question *q)
{
	const Table *t = q->table;
	int			partitions = any_partitions(t);

	fputs("(SELECT p.*", q->f);
	for (int i = 0; i < NFUNCTIONS; i++)
	{
		fputs(", ", q->f);
		put_function(q, i, partitions);
	}
	put_source(q);

	/* The query above may say which board it wants. */
	if (partitions != 0 && percent(60))
	{
		q->open = partitions;
		for (int i = 0; i < t->ngroups; i++)
		{
			if (partitions & 1 << i)
				put_not_null(q, &t->groups[i]);
		}
	}
	put_board(q);
	if (percent(15))
		put_range(q, RANGE_SCORE);
	q->open = 0;
	fputs(") AS v", q->f);
	q->alias = "v";
	q->has_where = false;
}

static void
put_output(Question *q)
{
	static const char *const outputs[] = {
		"v.*", "v", "v.w0, v.w1", "v.w0, v.large, row_to_json(v)", "v.w2 + v.w0"
	};

	fprintf(q->f, "SELECT %s", ANY(outputs));
}

/* Which board, where the subquery has several. */
static void
put_group_above(Question *q)
{
	if (q->table->values != NULL && percent(60))
		put_group(q);
}

/* The number of a member, of those that there are or nearly. */
static int
any_number(void)
{
	return 1 + rnd(percent(50) ? members / 10 : members + 2);
}

/* A member that is one column is one of several. */
static void
put_members(Question *q)
{
	const Table *t = q->table;
	bool		array = percent(50);

	put_and(q);
	put_column(q, &t->members[0]);
	fputs(array ? " = ANY (ARRAY[" : " IN (", q->f);
	for (int n = 1 + rnd(5); n > 0; n--)
		fprintf(q->f, "%s, ", percent(5) ? "NULL" :
				part_of_member(t, 0, any_number()));
	fputs(extreme(t->members[0].type), q->f);
	if (array)
		fprintf(q->f, "]::%s[]", t->members[0].type->base);
	fputs(")", q->f);
}

/* The member equals what a number stands for. */
static void
put_member(Question *q)
{
	const Table *t = q->table;
	int			number = any_number();

	if (t->nmembers == 1 && percent(30))
	{
		put_members(q);
		return;
	}
	for (int i = 0; i < t->nmembers; i++)
	{
		const char *text = percent(97) ? part_of_member(t, i, number) :
			extreme(t->members[i].type);

		put_and(q);
		put_column(q, &t->members[i]);
		if (percent(15) && q->nparams < MAX_PARAMS)
		{
			fputs(" = ", q->f);
			put_param(q, t->members[i].type->base, text);
		}
		else
			fprintf(q->f, percent(10) ? " = (SELECT %s)" : " = %s", text);
	}
}

/* A comparison of a rank. */
static void
put_rank_condition(Question *q)
{
	int			number = percent(70) ? 0 : rnd(NFUNCTIONS);

	put_and(q);
	fprintf(q->f, "v.w%d ", number);
	if (percent(30))
	{
		fputs("BETWEEN ", q->f);
		put_number(q, rnd(percent(50) ? members : 10));
		fputs(" AND ", q->f);
	}
	else
	{
		static const char *const operators[] = {"=", "<", "<=", ">", ">=", "<="};

		fprintf(q->f, "%s ", ANY(operators));
	}
	put_number(q, rnd(percent(50) ? members : 20));
}

static void
put_other_condition(Question *q)
{
	put_and(q);
	fprintf(q->f, percent(50) ? "v.large IS NOT TRUE" : "v.w1 > %d", rnd(20));
}

/* The rows of members. */
void
make_ranked_member(Question *q)
{
	put_output(q);
	fputs(" FROM ", q->f);
	put_ranked(q);
	put_group_above(q);
	put_member(q);
	if (percent(20))
		put_rank_condition(q);
	if (percent(20))
		put_other_condition(q);
}

/* The rows of members of another table. */
void
make_ranked_join(Question *q)
{
	static const char *const joins[] = {"JOIN", "JOIN", "LEFT JOIN"};
	const Table *t = q->table;
	int			n = 1 + rnd(6);

	put_output(q);
	fputs(", f.* FROM (VALUES ", q->f);
	for (int i = 0; i < n; i++)
		fprintf(q->f, "%s(%s)", i > 0 ? ", " : "",
				percent(90) ? member_of(t, any_number()) : extreme_member(t));
	fputs(") AS f (", q->f);
	for (int i = 0; i < t->nmembers; i++)
		fprintf(q->f, "%sf%d", i > 0 ? ", " : "", i);
	fprintf(q->f, ") %s ", ANY(joins));
	put_ranked(q);
	for (int i = 0; i < t->nmembers; i++)
		fprintf(q->f, " %s f.f%d = v.%s", i == 0 ? "ON" : "AND", i,
				t->members[i].name);
	put_group_above(q);
	if (percent(20))
		put_rank_condition(q);
}

/*
 * For each row of the table, ranked.
 *
 * A snapshot that is older than a command of its transaction may see two rows of one
 * key: one that another transaction has deleted since, and one that this transaction
 * has inserted then.  PostgreSQL's planner takes the key for unique all the same, so
 * what a join with it returns depends on the plan.  It must not know here that the
 * columns are the key.
 */
void
make_ranked_self(Question *q)
{
	const Table *t = q->table;
	bool		subquery = percent(50);

	fprintf(q->f, subquery ?
			"SELECT o.%s, v.w0, v.w2 FROM (SELECT * FROM %s OFFSET 0) AS o" :
			"SELECT o.%s, v.w0, v.w2 FROM %s AS o",
			t->members[0].name, t->name);
	fputs(" CROSS JOIN LATERAL (SELECT * FROM ", q->f);
	put_ranked(q);
	for (int i = 0; i < t->nmembers; i++)
	{
		const char *name = t->members[i].name;

		put_and(q);
		put_column(q, &t->members[i]);
		if (subquery)
			fprintf(q->f, " = o.%s", name);
		else
			fprintf(q->f, " = COALESCE(o.%s, o.%s)", name, name);
	}
	put_group_above(q);
	fputs(") AS v WHERE NOT o.large", q->f);
	q->alias = "o";
	q->has_where = true;
	put_comparison(q, percent(70) ? &t->score : &t->members[0]);
}

void
make_ranked_range(Question *q)
{
	put_output(q);
	fputs(" FROM ", q->f);
	put_ranked(q);
	put_group_above(q);
	put_rank_condition(q);
	if (percent(20))
		put_rank_condition(q);
	if (percent(20))
		put_other_condition(q);
}

/* In the order of ranks, which may leave rows open. */
void
make_ranked_page(Question *q)
{
	int			n = percent(60) ? 0 : rnd(key_columns(q->table) + 1);

	fputs("SELECT v.w0::text AS k, v.* FROM ", q->f);
	put_ranked(q);
	put_group_above(q);
	if (percent(50))
		put_rank_condition(q);
	if (percent(10))
		put_other_condition(q);
	mark_everything(q);
	q->ordered = true;
	fputs(" ORDER BY v.w0", q->f);
	for (int i = 0; i < n; i++)
	{
		fputs(", ", q->f);
		put_column(q, key_column(q->table, i));
		fputs(key_column(q->table, i)->descending ? " DESC" : "", q->f);
	}
	fprintf(q->f, " LIMIT %d", 1 + rnd(20));
	if (percent(40))
		fprintf(q->f, " OFFSET %d", rnd(percent(50) ? members : 10));
}

/*
 * The columns by which a window function sorts rows, and whether in reverse.  The first
 * columns of the key decide its order.
 */
static int
put_sorting_function(Question *q, int partitions, bool *reverse)
{
	static const char *const functions[] = {
		"rank()", "dense_rank()", "percent_rank()", "cume_dist()", "count(*)",
		"row_number()"
	};
	int			all = key_columns(q->table);
	int			i = rnd(LENGTH(functions));
	int			n = i == 5 ? all : percent(70) ? 1 : 1 + rnd(all);

	*reverse = percent(30);
	fputs(functions[i], q->f);
	put_window(q, partitions, n, *reverse);
	return n;
}

/*
 * A page of a query with window functions.  It sorts by one of them and further columns
 * of the key, or by these.
 */
void
make_ranked_top(Question *q)
{
	const Table *t = q->table;
	int			partitions = any_partitions(t);
	bool		reverse;
	bool		by_function = percent(60);
	int			all = key_columns(t);
	int			n = 1 + rnd(all);
	int			sorted;

	fputs("SELECT ", q->f);
	sorted = put_sorting_function(q, partitions, &reverse);
	fputs(" AS s, ", q->f);
	put_k(q, by_function && sorted > n ? sorted : n);
	fputs(percent(50) ? ", p.*, " : ", p.large, ", q->f);
	put_function(q, 0, partitions);
	fputs(", ", q->f);
	put_function(q, 2, partitions);
	put_source(q);
	put_board(q);
	if (percent(20))
		put_range(q, percent(50) ? RANGE_SCORE : RANGE_ANY);
	mark_everything(q);
	q->ordered = true;
	if (by_function)
	{
		bool		down = percent(20);

		fprintf(q->f, " ORDER BY s%s", down ? " DESC" : "");
		for (int i = 0; i < n; i++)
		{
			const Column *c = key_column(t, i);

			fputs(", ", q->f);
			put_column(q, c);
			fputs(c->descending != (reverse != down) ? " DESC" : "", q->f);
		}
	}
	else
		put_order_by(q, n, reverse);
	put_limit(q);
}

void
make_ranked_count(Question *q)
{
	fputs("SELECT count(*), min(v.w0), max(v.w1) FROM ", q->f);
	put_ranked(q);
	put_group_above(q);
	if (percent(50))
		put_member(q);
	else
		put_rank_condition(q);
}

/*
 * Aggregates that do not need the window functions, or of a subquery that may leave out
 * rows.
 */
void
make_ranked_total(Question *q)
{
	static const char *const others[] = {
		"count(v.large)", "1", "count(*) FILTER (WHERE v.large)", "count(1) + 1"
	};
	const Column *score = &q->table->score;

	fprintf(q->f, "SELECT count(*), count(%s), count(DISTINCT %s), %s FROM ",
			column_of("v", score), column_of("v", score), ANY(others));
	if (percent(50))
		put_ranked(q);
	else
	{
		if (q->table->written != q->table)
			fputs("(SELECT p.*", q->f);
		else
		{
			fprintf(q->f, "(SELECT p.%s, p.large", score->name);
			for (int i = 0; i < q->table->ngroups; i++)
				fprintf(q->f, ", p.%s", q->table->groups[i].name);
		}
		put_source(q);
		put_board(q);
		fputs(" OFFSET ", q->f);
		put_number(q, percent(70) ? 0 : rnd(members));
		fputs(") AS v", q->f);
		q->alias = "v";
		q->has_where = false;
	}
	if (percent(30))
		put_group_above(q);
	if (percent(40))
		put_comparison(q, score);
}

/*
 * In a WITH query, once or twice.  The planner moves conditions into it unless it is
 * materialized, as one that is read twice is if it does not say otherwise.
 */
void
make_ranked_cte(Question *q)
{
	bool		twice = percent(40);

	fprintf(q->f, "WITH v AS %s(SELECT * FROM ",
			percent(15) ? "MATERIALIZED " :
			percent(twice ? 80 : 30) ? "NOT MATERIALIZED " : "");
	put_ranked(q);
	fputs(") SELECT v.w0, v.w2 FROM v", q->f);
	put_member(q);
	if (!twice)
		return;
	fputs(" UNION ALL SELECT v.w0, v.w2 FROM v", q->f);
	q->has_where = false;
	put_member(q);
}
