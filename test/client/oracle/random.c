/*-------------------------------------------------------------------------
 *
 * random.c
 *	  Random values, and random statements that change rows.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include "oracle.h"

static const char *
keep(char *s)
{
	static char *kept[64];
	static int	next = 0;
	char	  **slot = &kept[next++ % 64];

	free(*slot);
	*slot = s;
	return s;
}

static const char *
a_member(const Table *t)
{
	if (percent(3))
		return t->extreme_members[rnd(4)];
	/* Many statements choose among a few members, so that transactions meet. */
	if (percent(crowded != NULL ? 60 : 40))
		return keep(format("%d", 1 + rnd(members / 10)));
	return keep(format("%d", 1 + rnd(members)));
}

static const char *
a_score(const Table *t)
{
	if (percent(1))
		return t->extreme_scores[rnd(4)];
	if (percent(2))
		return "NULL";
	return keep(format("%d", percent(70) ? rnd(20) : rnd(1000)));
}

static const char *
a_tie(const Table *t)
{
	int			n = 0;

	if (percent(2))
		return "NULL";
	while (t->ties[n] != NULL)
		n++;
	return t->ties[rnd(n)];
}

static const char *
a_group(const Table *t)
{
	char	   *quoted;

	if (t->values == NULL || percent(2))
		return "NULL";
	quoted = literal(t->values[percent(60) ? rnd(2) : rnd(5)]);
	return keep(quoted);
}

static const char *
a_flag(void)
{
	return percent(80) ? "true" : percent(70) ? "false" : "NULL";
}

/* The columns, and a row of them, typed as MERGE needs it. */
static const char *
columns(const Table *t)
{
	return keep(format("%s, %s, %s, %s, %s", t->member, t->group, t->score,
					   t->tie, t->flag));
}

static const char *
a_row(const Table *t)
{
	return keep(format("((%s)::%s, (%s)::%s, (%s)::%s, (%s)::%s,"
					   " (%s)::boolean)",
					   percent(2) ? "NULL" : a_member(t), t->member_type,
					   a_group(t), t->group_type, a_score(t), t->score_type,
					   a_tie(t), t->tie_type, a_flag()));
}

/* A condition that one row may meet. */
static const char *
one_row(const Table *t)
{
	if (t->values != NULL && percent(80))
		return keep(format("%s = %s AND %s = %s", t->member, a_member(t),
						   t->group, a_group(t)));
	return keep(format("%s = %s", t->member, a_member(t)));
}

static const char *
many_rows(const Table *t)
{
	if (percent(50))
		return keep(format("%s %% %d = %d", t->member, 3 + rnd(20), rnd(3)));
	return keep(format("%s BETWEEN %d AND %d", t->score, rnd(20),
					   percent(80) ? rnd(20) : 1000));
}

/* A condition that leaves out scores which could leave the range of their type. */
static const char *
movable(const Table *t)
{
	return keep(format("%s BETWEEN -20000 AND 20000", t->score));
}

static bool
do_insert(const Table *t)
{
	return run_free(format("INSERT INTO %s (%s) VALUES %s, %s%s", t->name,
						   columns(t), a_row(t), a_row(t),
						   percent(80) ? " ON CONFLICT DO NOTHING" : ""));
}

static bool
do_upsert(const Table *t)
{
	return run_free(format("INSERT INTO %s AS o (%s) VALUES %s"
						   " ON CONFLICT (%s) DO UPDATE SET %s = %s,"
						   " %s = excluded.%s%s",
						   t->name, columns(t), a_row(t), t->conflict,
						   t->score, percent(50) ? a_score(t) :
						   keep(format("excluded.%s", t->score)),
						   t->tie, t->tie,
						   percent(20) ? " WHERE o.fine" : ""));
}

static bool
do_update(const Table *t)
{
	switch (rnd(8))
	{
		case 0:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->tie, a_tie(t), one_row(t)));
		case 1:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->flag, a_flag(), one_row(t)));
		case 2:
			return run_free(format("UPDATE %s SET %s = %s, %s = %s WHERE %s",
								   t->name, t->score, a_score(t), t->tie,
								   a_tie(t), one_row(t)));
		default:
			return run_free(format("UPDATE %s SET %s = %s + %d"
								   " WHERE %s AND %s", t->name, t->score,
								   t->score, rnd(7) - 3, one_row(t),
								   movable(t)));
	}
}

/* Changes of the member or the board of a row. */
static bool
do_move(const Table *t)
{
	switch (rnd(t->values != NULL ? 4 : 2))
	{
		case 0:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->member, percent(5) ? "NULL" :
								   a_member(t), one_row(t)));
		case 1:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s IS NULL"
								   " AND ctid = (SELECT min(ctid) FROM %s"
								   " WHERE %s IS NULL)", t->name, t->member,
								   a_member(t), t->member, t->name,
								   t->member));
		default:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->group, a_group(t), one_row(t)));
	}
}

static bool
do_update_many(const Table *t)
{
	if (percent(20))
		return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
							   t->tie, a_tie(t),
							   many_rows(t)));
	return run_free(format("UPDATE %s SET %s = %s %s %d WHERE %s AND %s",
						   t->name, t->score, t->score,
						   percent(80) ? "+" : "/", 1 + rnd(3),
						   many_rows(t), movable(t)));
}

static bool
do_delete(const Table *t)
{
	if (percent(10))
		return run_free(format("DELETE FROM %s WHERE %s", t->name,
							   many_rows(t)));
	if (percent(10))
		return run_free(format("DELETE FROM %s WHERE %s IS NULL OR %s IS NULL"
							   " OR %s IS NULL", t->name, t->member,
							   t->score, t->tie));
	return run_free(format("DELETE FROM %s WHERE %s", t->name, one_row(t)));
}

static bool
do_merge(const Table *t)
{
	return run_free(format("MERGE INTO %s AS o USING (VALUES %s, %s, %s)"
						   " AS n (%s) ON o.%s = n.%s%s"
						   " WHEN MATCHED AND o.%s > %d THEN DELETE"
						   " WHEN MATCHED THEN UPDATE SET %s = n.%s, %s = n.%s"
						   " WHEN NOT MATCHED AND n.%s IS NOT NULL THEN"
						   " INSERT (%s) VALUES (n.%s, n.%s, n.%s, n.%s, n.%s)",
						   t->name, a_row(t), a_row(t), a_row(t), columns(t),
						   t->member, t->member,
						   t->values == NULL ? "" :
						   keep(format(" AND o.%s = n.%s", t->group,
									   t->group)),
						   t->score, 15 + rnd(200), t->score, t->score,
						   t->tie, t->tie, t->score, columns(t), t->member,
						   t->group, t->score, t->tie, t->flag));
}

/* One statement deletes rows and inserts them again. */
static bool
do_replace(const Table *t)
{
	return run_free(format("WITH d AS (DELETE FROM %s WHERE %s RETURNING *)"
						   " INSERT INTO %s (%s) SELECT %s, %s, %s, %s, %s"
						   " FROM d", t->name,
						   percent(50) ? one_row(t) : many_rows(t), t->name,
						   columns(t), t->member, t->group, a_score(t),
						   a_tie(t), t->flag));
}

/* COPY has no ON CONFLICT, so delete rows with these members first. */
static bool
do_copy(const Table *t)
{
	char	   *data = NULL;
	size_t		size;
	FILE	   *f;
	char	   *statement;
	PGresult   *res;
	int			first = 1 + rnd(members);
	int			n = 1 + rnd(10);
	const char *group = t->values ? t->values[rnd(5)] : "\\N";

	if (percent(90) &&
		!run_free(format("DELETE FROM %s WHERE %s BETWEEN %d AND %d", t->name,
						 t->member, first, first + n - 1)))
		return false;
	if ((f = open_memstream(&data, &size)) == NULL)
		out_of_memory();
	for (int i = 0; i < n; i++)
	{
		if (percent(3))
			fprintf(f, "\\N\t");
		else
			fprintf(f, "%d\t", first + i);
		fprintf(f, "%s\t%d\t%s\t%s\n", group, rnd(30),
				percent(5) ? "\\N" : percent(10) ? "infinity" :
				"2026-01-01", percent(80) ? "t" : "f");
	}
	fclose(f);
	statement = format("COPY %s (%s) FROM STDIN", t->name, columns(t));
	res = run_copy(statement, data);
	PQclear(res);
	free(statement);
	free(data);
	return res != NULL;
}

bool
do_fill(const Table *t)
{
	return run_free(format("INSERT INTO %s (%s) SELECT i, %s, i %% %d, %s, %s"
						   " FROM generate_series(1, %d) i"
						   " ON CONFLICT DO NOTHING", t->name, columns(t),
						   a_group(t), 1 + rnd(50), a_tie(t), a_flag(),
						   members));
}

/*
 * More changes than publishing copies.  No other statement uses these members,
 * and they do not stay for long.
 */
static bool
do_large(const Table *t)
{
	const char *where = keep(format("%s BETWEEN 20001 AND 24500", t->member));

	switch (rnd(5))
	{
		case 0:
			return run_free(format("INSERT INTO %s (%s)"
								   " SELECT 20000 + i, %s, i %% %d, %s, true"
								   " FROM generate_series(1, %d) i"
								   " ON CONFLICT DO NOTHING", t->name,
								   columns(t), t->values == NULL ? "NULL" :
								   keep(literal(t->values[rnd(2)])),
								   1 + rnd(3000), t->ties[0],
								   4097 + rnd(400)));
		case 1:
			return run_free(format("UPDATE %s SET %s = %s + 1 WHERE %s",
								   t->name, t->score, t->score, where));
		default:
			return run_free(format("DELETE FROM %s WHERE %s", t->name, where));
	}
}

/* Exceptions that PL/pgSQL catches are subtransactions that abort. */
static bool
do_block(const Table *t)
{
	return run_free(format("DO $$BEGIN"
						   " UPDATE %s SET %s = %s + 1 WHERE %s AND %s;"
						   " BEGIN"
						   " DELETE FROM %s WHERE %s;"
						   " INSERT INTO %s (%s) VALUES %s"
						   " ON CONFLICT DO NOTHING;"
						   " PERFORM 1 / %d;"
						   " EXCEPTION WHEN division_by_zero THEN"
						   " UPDATE %s SET %s = %s WHERE %s;"
						   " END;"
						   " DELETE FROM %s WHERE %s; END$$",
						   t->name, t->score, t->score, one_row(t), movable(t),
						   t->name, one_row(t),
						   t->name, columns(t), a_row(t),
						   rnd(2),
						   t->name, t->score, a_score(t), one_row(t),
						   t->name, one_row(t)));
}

/* Reads without a comparison, for what they might disturb. */
static bool
do_read(const Table *t)
{
	Look		look = {t, t->values ? t->values[rnd(6)] : NULL, false};
	char	   *board = board_literal(&look);
	bool		ok;

	ok = run_free(format("SELECT lb_rank(%s, %s), lb_count(%s),"
						 " (SELECT count(*) FROM lb_top(20, %s)),"
						 " (SELECT count(*) FROM lb_around(%s, %s))",
						 a_member(t), board, board, board, a_member(t),
						 board));
	free(board);
	return ok;
}

bool
do_something(const Table *t)
{
	int			n = rnd(100);

	if (rnd(200) == 0)
		return do_large(t);
	if (n < 30)
		return do_update(t);
	if (n < 42)
		return do_insert(t);
	if (n < 52)
		return do_upsert(t);
	if (n < 60)
		return do_delete(t);
	if (n < 68)
		return do_move(t);
	if (n < 73)
		return do_update_many(t);
	if (n < 78)
		return do_merge(t);
	if (n < 82)
		return do_replace(t);
	if (n < 86)
		return do_copy(t);
	if (n < 88)
		return do_fill(t);
	if (n < 93)
		return do_block(t);
	return do_read(t);
}
