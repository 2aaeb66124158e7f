/*-------------------------------------------------------------------------
 *
 * random.c
 *	  Random values, and random statements that change rows.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "oracle.h"

const char *
keep(char *s)
{
	static char *kept[256];
	static int	next = 0;
	char	  **slot = &kept[next++ % LENGTH(kept)];

	free(*slot);
	*slot = s;
	return s;
}

/* A list with one more item. */
static const char *
append(const char *list, const char *separator, const char *item)
{
	return list[0] == '\0' ? item :
		keep(format("%s%s%s", list, separator, item));
}

const char *
value(const Type *type, int number)
{
	char		digits[20];

	snprintf(digits, sizeof(digits), "%d", number);
	return keep(put_in(type->value, digits));
}

const char *
extreme(const Type *type)
{
	const char *text = type->extremes[rnd(type->nextremes)];
	char	   *quoted;
	const char *result;

	if (type->integer)
		return text;

	quoted = literal(text);
	result = keep(format("%s::%s", quoted, type->name));
	free(quoted);
	return result;
}

/*
 * Of a member of several columns, one column has most of the number, and the
 * others have a digit to base 4 each.
 */
#define BASE 4

static bool
has_most(const Table *t, int column)
{
	return column == (t->spread_last ? t->nmembers - 1 : 0);
}

static int
most_of(const Table *t, int number)
{
	for (int i = 1; i < t->nmembers; i++)
		number /= BASE;
	return number;
}

const char *
part_of_member(const Table *t, int column, int number)
{
	const Type *type = t->members[column].type;

	if (has_most(t, column))
		return value(type, most_of(t, number));
	for (int i = 0; i < column; i++)
	{
		if (!has_most(t, i))
			number /= BASE;
	}
	return value(type, number % BASE);
}

const char *
member_of(const Table *t, int number)
{
	const char *list = "";

	for (int i = 0; i < t->nmembers; i++)
		list = append(list, ", ", part_of_member(t, i, number));
	return list;
}

const char *
member_of_expression(const Table *t, const char *number)
{
	const char *list = "";
	int			all = 1;
	int			divisor = 1;

	for (int i = 1; i < t->nmembers; i++)
		all *= BASE;
	for (int i = 0; i < t->nmembers; i++)
	{
		char	   *part;

		if (t->nmembers == 1)
			part = format("%s", number);
		else if (has_most(t, i))
			part = format("%s / %d", number, all);
		else
		{
			part = format("%s / %d %% %d", number, divisor, BASE);
			divisor *= BASE;
		}
		list = append(list, ", ",
					  keep(put_in(t->members[i].type->value, part)));
		free(part);
	}
	return list;
}

/* A member with one column that is null, or, for -1, with none. */
static const char *
odd_member(const Table *t, int null)
{
	const char *list = "";

	for (int i = 0; i < t->nmembers; i++)
	{
		const Type *type = t->members[i].type;

		list = append(list, ", ",
					  i == null ? keep(format("NULL::%s", type->name)) :
					  t->nmembers == 1 || percent(60) ? extreme(type) :
					  value(type, rnd(BASE)));
	}
	return list;
}

const char *
extreme_member(const Table *t)
{
	return odd_member(t, -1);
}

/* Whether to use a text for which no key has room. */
static bool
too_long(const Type *type)
{
	return long_texts && type->is_text && type->words > 60 && rnd(100) == 0;
}

/* The column of a member that is to be null; -1 where none can be. */
static int
any_null(const Table *t)
{
	return t->strict || (t->tidy && !percent(5)) ? -1 : rnd(t->nmembers);
}

static const char *
a_member(const Table *t)
{
	if (t->nmembers == 1 && too_long(t->members[0].type))
		return "repeat('z', 513)";
	if (percent(3))
		return extreme_member(t);
	/* Many statements choose among a few members, so that transactions meet. */
	if (percent(crowded != NULL ? 60 : 40))
		return member_of(t, 1 + rnd(members / 10));
	return member_of(t, 1 + rnd(members));
}

/* Whether to do what takes a row off its board. */
static bool
is_rare(const Table *t, int n)
{
	return percent(n) && (!t->tidy || percent(5));
}

static const char *
a_score(const Table *t)
{
	if (percent(t->score.type->integer ? 1 : 8))
		return extreme(t->score.type);
	if (!t->strict && is_rare(t, 2))
		return "NULL";
	return value(t->score.type, percent(70) ? rnd(20) : rnd(1000));
}

static const char *
a_tie(const Table *t, const Column *tie)
{
	if (!t->strict && is_rare(t, 2))
		return "NULL";
	if (too_long(tie->type))
		return "repeat('z', 513)";
	if (percent(30))
		return extreme(tie->type);
	if (strcmp(tie->type->name, "timestamptz") == 0 && percent(40))
		return percent(50) ? "now()" : "clock_timestamp()";
	return value(tie->type, rnd(4));
}

/* What the board columns can have, or are made of; NULL if no board has one. */
static const char *const *
kinds_of(const Table *t)
{
	return t->values != NULL ? t->values : t->kinds;
}

/* A value of them that statements write. */
static const char *
a_value(const Table *t)
{
	const char *const *kinds = kinds_of(t);
	int			n = 0;

	while (kinds[n] != NULL)
		n++;
	return kinds[percent(60) || n < 3 ? rnd(2) : rnd(n - 1)];
}

/* What statements write to one of the columns, mostly of a value. */
static const char *
a_group(const Table *t, const char *value, int column)
{
	if (value == NULL || (!t->strict && is_rare(t, t->ngroups > 1 ? 8 : 2)))
		return "NULL";
	if (t->ngroups > 1 && percent(5))
		value = a_value(t);
	return keep(literal(part_of_value(t, value, column)));
}

static const char *
a_flag(const Table *t)
{
	return !is_rare(t, 20) ? "true" : percent(70) ? "false" : "NULL";
}

static const char *
typed(const char *v, const Column *c)
{
	return keep(format("(%s)::%s", v, c->type->name));
}

/* Those of a value, or NULL, with commas between. */
static const char *
typed_groups(const Table *t, const char *value)
{
	const char *list = "";

	for (int i = 0; i < t->ngroups; i++)
		list = append(list, ", ", typed(a_group(t, value, i), &t->groups[i]));
	return list;
}

static const char *
any_groups(const Table *t)
{
	return typed_groups(t, kinds_of(t) == NULL ? NULL : a_value(t));
}

/* Assignments to the columns, or a condition on them. */
static const char *
equal_groups(const Table *t, const char *separator)
{
	const char *value = kinds_of(t) == NULL ? NULL : a_value(t);
	const char *list = "";

	for (int i = 0; i < t->ngroups; i++)
		list = append(list, separator, keep(format("%s = %s", t->groups[i].name,
												   a_group(t, value, i))));
	return list;
}

/* Random values of the tie-breakers, each with a comma before it. */
static const char *
more_ties(const Table *t)
{
	const char *list = "";

	for (int i = 0; i < t->nties; i++)
		list = append(list, "", keep(format(", %s", typed(a_tie(t, &t->ties[i]),
														  &t->ties[i]))));
	return list;
}

/* Assignments to them, likewise; alias is that of the row to take them from. */
static const char *
more_assignments(const Table *t, const char *alias)
{
	const char *list = "";

	for (int i = 0; i < t->nties; i++)
	{
		const char *name = t->ties[i].name;

		list = append(list, "", alias == NULL ?
					  keep(format(", %s = %s", name,
								  a_tie(t, &t->ties[i]))) :
					  keep(format(", %s = %s.%s", name, alias, name)));
	}
	return list;
}

/* A row of all columns, typed as MERGE needs it. */
static const char *
a_row(const Table *t)
{
	const char *member = percent(2) ? odd_member(t, any_null(t)) :
		a_member(t);

	return keep(format("(%s, %s, %s%s, (%s)::boolean, false)", member,
					   any_groups(t), typed(a_score(t), &t->score),
					   more_ties(t), a_flag(t)));
}

/* A column of a member. */
static const char *
a_column(const Table *t)
{
	return t->members[rnd(t->nmembers)].name;
}

static const char *
set_member(const Table *t, const char *member)
{
	return keep(format(t->nmembers == 1 ? "%s = %s" : "(%s) = ROW (%s)",
					   t->member, member));
}

/* A condition that one row may meet. */
static const char *
one_row(const Table *t)
{
	const char *member = keep(format(t->nmembers == 1 ? "%s = %s" :
									 "(%s) = (%s)", t->member, a_member(t)));

	if (t->values != NULL && percent(80))
		return keep(format("%s AND %s", member, equal_groups(t, " AND ")));
	return member;
}

static const char *
many_rows(const Table *t)
{
	const Column *c = &t->members[rnd(t->nmembers)];

	if (percent(50) && c->type->integer)
		return keep(format("%s %% %d = %d", c->name, 3 + rnd(20), rnd(3)));
	if (percent(20))
		return keep(format("%s > %s", c->name, extreme(c->type)));
	return keep(format("%s BETWEEN %s AND %s", t->score.name,
					   value(t->score.type, rnd(20)),
					   value(t->score.type, percent(80) ? rnd(20) : 1000)));
}

/* A condition that leaves out scores which could leave the range of their type. */
static const char *
movable(const Table *t)
{
	if (!t->score.type->integer)
		return keep(format("%s IS NOT NULL", t->score.name));
	return keep(format("%s BETWEEN -20000 AND 20000", t->score.name));
}

/* The score, moved a little, or another one. */
static const char *
moved_score(const Table *t, int by)
{
	char	   *step;
	const char *n;
	const char *result;

	if (t->score.type->step == NULL)
		return value(t->score.type, rnd(20));
	step = put_in(t->score.type->step, t->score.name);
	n = strstr(step, "{n}");
	result = n == NULL ? keep(format("%s", step)) :
		keep(format("%.*s%d%s", (int) (n - step), step, by, n + 3));
	free(step);
	return result;
}

static bool
do_insert(const Table *t)
{
	return run_free(format("INSERT INTO %s (%s) VALUES %s, %s%s", t->name,
						   t->columns, a_row(t), a_row(t),
						   percent(80) ? " ON CONFLICT DO NOTHING" : ""));
}

/* Statements that change a row which is there, to be freed. */
static char *
an_upsert(const Table *t)
{
	return format("INSERT INTO %s AS o (%s) VALUES %s"
				  " ON CONFLICT (%s) DO UPDATE SET %s = %s%s%s",
				  t->name, t->columns, a_row(t), t->conflict,
				  t->score.name, percent(50) ? a_score(t) :
				  keep(format("excluded.%s", t->score.name)),
				  more_assignments(t, "excluded"),
				  percent(20) ? " WHERE o.fine" : "");
}

static char *
an_update(const Table *t)
{
	const Column *tie = &t->ties[rnd(t->nties + 1)];

	switch (rnd(8))
	{
		case 0:
			if (tie->type != NULL)
				return format("UPDATE %s SET %s = %s WHERE %s", t->name,
							  tie->name, a_tie(t, tie), one_row(t));
			/* FALLTHROUGH */
		case 1:
			return format("UPDATE %s SET %s = %s WHERE %s", t->name,
						  t->flag, a_flag(t), one_row(t));
		case 2:
			return format("UPDATE %s SET %s = %s%s WHERE %s", t->name,
						  t->score.name, a_score(t),
						  more_assignments(t, NULL), one_row(t));
		default:
			return format("UPDATE %s SET %s = %s WHERE %s AND %s", t->name,
						  t->score.name, moved_score(t, rnd(7) - 3),
						  one_row(t), movable(t));
	}
}

static char *
a_delete(const Table *t)
{
	return format("DELETE FROM %s WHERE %s", t->name, one_row(t));
}

/* Changes of the member or the board of a row. */
static bool
do_move(const Table *t)
{
	const char *column = a_column(t);
	int			group = rnd(t->ngroups);

	switch (rnd(kinds_of(t) != NULL ? 4 : 2))
	{
		case 0:
			return run_free(format("UPDATE %s SET %s WHERE %s", t->name,
								   set_member(t, percent(5) ?
											  odd_member(t, any_null(t)) :
											  a_member(t)), one_row(t)));
		case 1:
			return run_free(format("UPDATE %s SET %s WHERE %s IS NULL"
								   " AND ctid = (SELECT min(ctid) FROM %s"
								   " WHERE %s IS NULL)", t->name,
								   set_member(t, a_member(t)), column,
								   t->name, column));
		case 2:
			return run_free(format("UPDATE %s SET %s WHERE %s", t->name,
								   equal_groups(t, ", "), one_row(t)));
		default:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->groups[group].name,
								   a_group(t, a_value(t), group), one_row(t)));
	}
}

static bool
do_update_many(const Table *t)
{
	const Column *tie = &t->ties[rnd(t->nties + 1)];

	if (tie->type != NULL && percent(20))
		return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
							   tie->name, a_tie(t, tie), many_rows(t)));
	return run_free(format("UPDATE %s SET %s = %s WHERE %s AND %s",
						   t->name, t->score.name,
						   t->score.type->integer && percent(20) ?
						   keep(format("%s / %d", t->score.name, 1 + rnd(3))) :
						   moved_score(t, 1 + rnd(3)),
						   many_rows(t), movable(t)));
}

/* Only what is tidied up depends on the board. */
static bool
do_delete(const Table *board)
{
	const Table *t = board->written;

	if (t->tidy && percent(40))
		return run_free(percent(50) && t->flagged ?
						format("UPDATE %s SET %s = true WHERE (%s) IS NOT TRUE",
							   t->name, t->flag, t->flag) :
						format("DELETE FROM %s WHERE (%s) IS NOT TRUE", t->name,
							   board->ranked));
	if (percent(10))
		return run_free(format("DELETE FROM %s WHERE %s", t->name,
							   many_rows(t)));
	if (percent(10))
		return run_free(format("DELETE FROM %s WHERE %s IS NULL"
							   " OR %s IS NULL", t->name, a_column(t),
							   t->score.name));
	return run_free(a_delete(t));
}

/* Whether two rows have the same member, in a family on the same board. */
static const char *
same_member(const Table *t, const char *a, const char *b)
{
	const char *list = "";

	for (int i = 0; i < t->nmembers; i++)
		list = append(list, " AND ",
					  keep(format("%s.%s = %s.%s", a, t->members[i].name, b,
								  t->members[i].name)));
	for (int i = 0; i < t->ngroups && t->values != NULL; i++)
		list = append(list, " AND ", keep(format("%s.%s = %s.%s", a,
												 t->groups[i].name, b,
												 t->groups[i].name)));
	return list;
}

static bool
do_merge(const Table *t)
{
	return run_free(format("MERGE INTO %s AS o USING (VALUES %s, %s, %s)"
						   " AS n (%s) ON %s"
						   " WHEN MATCHED AND o.%s > %s THEN DELETE"
						   " WHEN MATCHED THEN UPDATE SET %s = n.%s%s"
						   " WHEN NOT MATCHED AND n.%s IS NOT NULL THEN"
						   " INSERT (%s) VALUES (%s)",
						   t->name, a_row(t), a_row(t), a_row(t), t->columns,
						   same_member(t, "o", "n"), t->score.name,
						   value(t->score.type, 15 + rnd(200)),
						   t->score.name, t->score.name,
						   more_assignments(t, "n"), t->score.name, t->columns,
						   t->columns));
}

/* One statement deletes rows and inserts them again. */
static bool
do_replace(const Table *t)
{
	return run_free(format("WITH d AS (DELETE FROM %s WHERE %s RETURNING *)"
						   " INSERT INTO %s (%s) SELECT %s, %s, %s%s, %s, large"
						   " FROM d", t->name,
						   percent(50) ? one_row(t) : many_rows(t), t->name,
						   t->columns, t->member, t->group,
						   typed(a_score(t), &t->score), more_ties(t),
						   t->flag));
}

/* A column of a line for COPY, and a tab. */
static void
put_field(FILE *f, const char *text)
{
	for (; *text !='\0'; text ++)
	{
		if (*text == '\\' || *text == '\t' || *text == '\n' || *text == '\r')
			fprintf(f, "\\%c", *text == '\t' ? 't' : *text == '\n' ? 'n' :
					*text == '\r' ? 'r' : '\\');
		else
			fputc(*text, f);
	}
	fputc('\t', f);
}

/* A line of a row whose member a number stands for, without nulls in it. */
static void
put_line(FILE *f, const Table *t, int number, const char *board)
{
	int			most = most_of(t, number);

	for (int i = 0; i < t->nmembers; i++)
	{
		const Type *type = t->members[i].type;

		if (has_most(t, i))
			put_field(f, type->texts[most]);
		else
		{
			put_field(f, type->texts[number % BASE]);
			number /= BASE;
		}
	}
	for (int i = 0; i < t->ngroups; i++)
	{
		if (board == NULL)
			fprintf(f, "\\N\t");
		else
			put_field(f, part_of_value(t, board, i));
	}
	put_field(f, t->score.type->texts[rnd(30)]);
	for (int i = 0; i < t->nties; i++)
	{
		const Type *type = t->ties[i].type;

		if (!t->strict && percent(5))
			fprintf(f, "\\N\t");
		else
			put_field(f, percent(10) ? type->extremes[rnd(type->nextremes)] :
					  type->texts[rnd(4)]);
	}
	fprintf(f, "%s\tf\n", percent(80) ? "t" : "f");
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
	const char *board = kinds_of(t) ? a_value(t) : NULL;
	const char *doomed = "";

	for (int i = 0; i < n; i++)
		doomed = append(doomed, ", ",
						keep(format("(%s)", member_of(t, first + i))));
	if (percent(90) &&
		!run_free(format("DELETE FROM %s WHERE (%s) IN (%s)", t->name,
						 t->member, doomed)))
		return false;
	if ((f = open_memstream(&data, &size)) == NULL)
		out_of_memory();
	for (int i = 0; i < n; i++)
		put_line(f, t, first + i, board);
	fclose(f);
	statement = format("COPY %s (%s) FROM STDIN", t->name, t->columns);
	res = run_copy(statement, data);
	PQclear(res);
	free(statement);
	free(data);
	return res != NULL;
}

bool
do_fill(const Table *board)
{
	const Table *t = board->written;
	char	   *score = format("(i %% %d)", 1 + rnd(50));
	bool		ok;

	ok = run_free(format("INSERT INTO %s (%s) SELECT %s, %s, %s%s, %s, false"
						 " FROM generate_series(1, %d) AS i"
						 " ON CONFLICT DO NOTHING", t->name, t->columns,
						 member_of_expression(t, "i"),
						 any_groups(t),
						 keep(put_in(t->score.type->value, score)),
						 more_ties(t), a_flag(t), members));
	free(score);
	return ok;
}

/*
 * More changes than publishing copies.  No other statement inserts these members,
 * and they do not stay for long.
 */
static bool
do_large(const Table *t)
{
	char	   *score;
	const char *const *kinds = kinds_of(t);
	bool		ok;

	switch (rnd(5))
	{
		case 0:
			score = format("(i %% %d)", 1 + rnd(3000));
			ok = run_free(format("INSERT INTO %s (%s) SELECT %s, %s, %s%s,"
								 " true, true FROM generate_series(1, %d) AS i"
								 " ON CONFLICT DO NOTHING", t->name,
								 t->columns,
								 member_of_expression(t, "(20000 + i)"),
								 typed_groups(t, kinds == NULL ? NULL : kinds[rnd(2)]),
								 keep(put_in(t->score.type->value, score)),
								 more_ties(t), 4097 + rnd(400)));
			free(score);
			return ok;
		case 1:
			return run_free(format("UPDATE %s SET %s = %s WHERE large AND %s",
								   t->name, t->score.name, moved_score(t, 1),
								   movable(t)));
		default:
			return run_free(format("DELETE FROM %s WHERE large", t->name));
	}
}

/* Exceptions that PL/pgSQL catches are subtransactions that abort. */
static bool
do_block(const Table *t)
{
	return run_free(format("DO $$BEGIN"
						   " UPDATE %s SET %s = %s WHERE %s AND %s;"
						   " BEGIN"
						   " DELETE FROM %s WHERE %s;"
						   " INSERT INTO %s (%s) VALUES %s"
						   " ON CONFLICT DO NOTHING;"
						   " PERFORM 1 / %d;"
						   " EXCEPTION WHEN division_by_zero THEN"
						   " UPDATE %s SET %s = %s WHERE %s;"
						   " END;"
						   " DELETE FROM %s WHERE %s; END$$",
						   t->name, t->score.name, moved_score(t, 1),
						   one_row(t), movable(t),
						   t->name, one_row(t),
						   t->name, t->columns, a_row(t),
						   rnd(2),
						   t->name, t->score.name, a_score(t), one_row(t),
						   t->name, one_row(t)));
}

/* Compare index and table, beside all others.  A difference is an error. */
bool
do_verify(const Table *t)
{
	Look		look = any_look(t);
	char	   *board = board_literal(&look);
	bool		ok;

	ok = run_free(format("DO $$ DECLARE found text; BEGIN"
						 " SELECT string_agg(board || ': ' || problem, ', ') INTO found"
						 " FROM lb_verify_key(%s) WHERE problem ~ 'off the board|in the index|in the table';"
						 " IF found IS NOT NULL THEN RAISE data_corrupted USING MESSAGE = found; END IF;"
						 " END$$", board));
	free(board);
	return ok;
}

/* Reads without a comparison, for what they might disturb. */
static bool
do_read(const Table *t)
{
	Look		look = any_look(t);
	char	   *board = board_literal(&look);
	const char *row = t->nmembers == 1 ? "" : "row";
	bool		ok;

	ok = run_free(format("SELECT lb_rank_key(%s(%s)::text, %s), lb_count(%s),"
						 " (SELECT count(*) FROM lb_top_key(20, %s)),"
						 " (SELECT count(*) FROM lb_around_key(%s(%s)::text, %s))",
						 row, a_member(t), board, board, board, row,
						 a_member(t), board));
	free(board);
	return ok;
}

/* A match on the two leaderboards, which no table of the client has. */
static bool
do_match(void)
{
	return run_free(format("SELECT count(*) FROM lb_submit_match(%d,"
						   " jsonb_build_object('omatch', %d, 'olap', %d), 'm%d')",
						   rnd(members), rnd(100), rnd(100), rnd(1000)));
}

char *
a_write(const Table *board)
{
	const Table *t = board->written;

	/* Also of a column that no board ranks by. */
	switch (rnd(6))
	{
		case 0:
			return a_delete(t);
		case 1:
			return an_upsert(t);
		case 2:
			return format("UPDATE %s SET large = NOT large WHERE %s", t->name,
						  one_row(t));
		default:
			return an_update(t);
	}
}

bool
do_something(const Table *board)
{
	const Table *t = board->written;
	int			n = rnd(100);

	if (rnd(200) == 0)
		return do_large(t);
	if (rnd(40) == 0)
		return do_verify(board);
	if (!scheduled && rnd(100) == 0)
		return do_match();
	if (n < 30)
		return run_free(an_update(t));
	if (n < 42)
		return do_insert(t);
	if (n < 52)
		return run_free(an_upsert(t));
	if (n < 60)
		return do_delete(board);
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
	return do_read(board);
}
