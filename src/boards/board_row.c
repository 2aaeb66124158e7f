/*-------------------------------------------------------------------------
 *
 * board_row.c
 *	  Values of several board columns, as the text of a row.
 *
 * "(FR,10)", as PostgreSQL writes it: record_out().  Each row of the table
 * needs one, so we write it ourselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "parser/scansup.h"

#include "boards/board_row.h"

/* Whether a byte makes quotes necessary. */
static bool
is_special(char c)
{
	return c == '"' || c == '\\' || c == '(' || c == ')' || c == ',' ||
		c == '\v' || scanner_isspace(c);
}

static bool
needs_quotes(const LbValue *column)
{
	for (int i = 0; i < column->len; i++)
	{
		if (is_special(column->data[i]))
			return true;
	}
	return column->len == 0;
}

/* A row that is being written. */
typedef struct RowText
{
	char	   *room;
	int			size;
	int			len;			/* also of what has found no room */
} RowText;

static inline void
put(RowText *row, char c)
{
	if (row->len < row->size)
		row->room[row->len] = c;
	row->len++;
}

int
lb_write_row_text(const LbValue *columns, int n, char *room, int size)
{
	RowText		row = {room, size, 0};

	put(&row, '(');
	for (int i = 0; i < n; i++)
	{
		bool		quotes = needs_quotes(&columns[i]);

		if (i > 0)
			put(&row, ',');
		if (quotes)
			put(&row, '"');
		for (int j = 0; j < columns[i].len; j++)
		{
			char		c = columns[i].data[j];

			if (c == '"' || c == '\\')
				put(&row, c);
			put(&row, c);
		}
		if (quotes)
			put(&row, '"');
	}
	put(&row, ')');
	return row.len;
}

/* Read a text in quotes, which begins at p.  Returns its end, or NULL. */
static const char *
read_quoted(const char *p, const char *end, LbValue *column)
{
	char	   *chars = palloc(end - p);

	column->data = chars;
	column->len = 0;
	for (p++; p < end; p++)
	{
		if (*p == '"' && (p + 1 == end || p[1] != '"'))
			return p + 1;
		if ((*p == '"' || *p == '\\') && ++p == end)
			return NULL;
		chars[column->len++] = *p;
	}
	return NULL;
}

bool
lb_read_row_text(const LbValue *row, LbValue *columns, int n)
{
	const char *p = row->data;
	const char *end = p + row->len - 1;

	if (row->len < 2 || *p != '(' || *end != ')')
		return false;
	for (int i = 0; i < n; i++)
	{
		/* The parenthesis, or the comma. */
		if (p == end || (i > 0 && *p != ','))
			return false;
		p++;
		if (p < end && *p == '"')
		{
			p = read_quoted(p, end, &columns[i]);
			if (p == NULL)
				return false;
			continue;
		}
		columns[i].data = p;
		while (p < end && !is_special(*p))
			p++;
		columns[i].len = p - columns[i].data;
	}
	return p == end;
}

LbValue
lb_make_row_text(const LbValue *columns, int n)
{
	int			len = lb_write_row_text(columns, n, NULL, 0);
	char	   *room = palloc(len + 1);

	(void) lb_write_row_text(columns, n, room, len);
	room[len] = '\0';
	return (LbValue)
	{
		len, room
	};
}

/* The end of the column that begins at p. */
static const char *
skip_column(const char *p, const char *end)
{
	bool		quoted = false;

	for (; p < end && (quoted || *p != ','); p++)
	{
		if (*p == '"')
			quoted = !quoted;
	}
	return p;
}

bool
lb_row_text_has(const LbValue *row, const LbValue *texts, int n)
{
	const char *p = row->data + 1;
	const char *end = row->data + row->len - 1;

	for (int i = 0; i < n; i++)
	{
		const char *next = skip_column(p, end);

		if (texts[i].data != NULL &&
			(texts[i].len != next - p ||
			 memcmp(texts[i].data, p, texts[i].len) != 0))
			return false;
		p = Min(next + 1, end);
	}
	return true;
}
