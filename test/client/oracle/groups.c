/*-------------------------------------------------------------------------
 *
 * groups.c
 *	  Board columns: a family's boards, by their names and the columns' values.
 *
 * A family with one board column has the values in a list.  With several columns,
 * a board is a row of values.  PostgreSQL writes the rows, which are the names of the
 * boards.  Some rows mix the values of others, so that boards differ in one column.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "oracle.h"

#define MAX_ROWS 8

/* The boards of a table. */
typedef struct Rows
{
	const char *parts[MAX_ROWS][MAX_GROUPS];
	char	   *names[MAX_ROWS + 1];
	int			n;
} Rows;

static Rows *
rows_of(const Table *t)
{
	static Rows *rows;

	if (rows == NULL && (rows = calloc(ntables, sizeof(Rows))) == NULL)
		out_of_memory();
	return &rows[t - tables];
}

/* Let PostgreSQL write the rows. */
static void
name_rows(Table *t, Rows *rows)
{
	char	   *query = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&query, &size);
	PGresult   *res;

	if (f == NULL)
		out_of_memory();
	fputs("SELECT r FROM (VALUES ", f);
	for (int i = 0; i < rows->n; i++)
	{
		fprintf(f, "%s(%d, ROW(", i == 0 ? "" : ", ", i);
		for (int c = 0; c < t->ngroups; c++)
		{
			char	   *text = literal(rows->parts[i][c]);

			fprintf(f, "%s%s::%s", c == 0 ? "" : ", ", text,
					t->groups[c].type->name);
			free(text);
		}
		fputs(")::text)", f);
	}
	fputs(") AS v (i, r) ORDER BY i", f);
	fclose(f);
	res = run_copy(query, NULL);
	for (int i = 0; i < rows->n; i++)
	{
		free(rows->names[i]);
		rows->names[i] = format("%s", PQgetvalue(res, i, 0));
	}
	free(rows->names[rows->n]);
	rows->names[rows->n] = NULL;
	PQclear(res);
	free(query);
	t->values = (const char *const *) rows->names;
	t->boards = rows;
}

/* A row of the values of any others. */
static void
mix_row(const Table *t, Rows *rows)
{
	for (int c = 0; c < t->ngroups; c++)
		rows->parts[rows->n][c] = rows->parts[rnd(rows->n)][c];
	rows->n++;
}

void
choose_rows(Table *t, const char *const *given)
{
	Rows	   *rows = rows_of(t);
	int			size = t->ngroups * sizeof(char *);

	rows->n = 0;
	for (; given[t->ngroups] != NULL; given += t->ngroups)
		memcpy(rows->parts[rows->n++], given, size);
	while (rows->n < MAX_ROWS - 1)
		mix_row(t, rows);
	memcpy(rows->parts[rows->n++], given, size);
	name_rows(t, rows);
}

void
choose_rows_of_lists(Table *t, const char *const *const *lists)
{
	Rows	   *rows = rows_of(t);

	for (rows->n = 0; rows->n < MAX_ROWS; rows->n++)
	{
		for (int c = 0; c < t->ngroups; c++)
		{
			const char *const *list = lists[c];
			int			n = 0;

			while (list[n] != NULL)
				n++;
			rows->parts[rows->n][c] = rows->n == MAX_ROWS - 1 ? list[n - 1] :
				percent(60) ? list[rnd(n < 2 ? n : 2)] : list[rnd(n)];
		}
	}
	name_rows(t, rows);
}

const char *
part_of_value(const Table *t, const char *value, int column)
{
	const Rows *rows = t->boards;
	int			i = 0;

	if (t->ngroups == 1)
		return value;
	while (strcmp(rows->names[i], value) != 0)
		i++;
	return rows->parts[i][column];
}

const char *
on_board(const Table *t, const char *value)
{
	const char *conditions = "";

	for (int c = 0; c < t->ngroups; c++)
	{
		char	   *text = literal(part_of_value(t, value, c));

		conditions = keep(format("%s%s%s = %s", conditions, c > 0 ? " AND " : "",
								 column_of(NULL, &t->groups[c]), text));
		free(text);
	}
	return conditions;
}
