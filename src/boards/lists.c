/*-------------------------------------------------------------------------
 *
 * lists.c
 *	  The lists of columns that define a board: rank_by and member.
 *
 * rank_by is an ORDER BY list over columns, and over expressions as CREATE
 * INDEX has them; member is a list of columns.  A parser of our own reads them
 * instead of the server's grammar: almost everything that the grammar accepts
 * must be refused here anyway, and this parser can say for each such thing
 * why, and what to write instead.  It raises nothing, since lb_board may hold
 * a list that was written by hand, which must not fail a write to the board's
 * table.  Of an expression it finds the end only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/keywords.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "parser/scansup.h"
#include "utils/builtins.h"

#include "boards/expression.h"
#include "boards/lists.h"
#include "util/compat.h"

static const char *skip_space(const char *p);
static bool is_ident_start(char c);
static bool is_ident_cont(char c);
static const char *word_end(const char *p);
static bool word_is(const char *start, const char *end, const char *word);
static const char *read_column(const char *p, char *name, LbListError *error);
static const char *read_quoted_column(const char *p, char *name,
									  LbListError *error);
static const char *read_direction(const char *p, bool *descending,
								  LbListError *error);
static const char *check_after_item(const char *p, bool after_column,
									LbListError *error);
static bool has_directions(const LbListError *error);
static void *fail(LbListError *error, int sqlerrcode, const char *message,
				  const char *detail, const char *hint);
static void *refuse(LbListError *error, const char *what, const char *hint);
static void *refuse_expression(LbListError *error, const char *what);
static void *syntax_error_at(LbListError *error, const char *p);

const char *const lb_list_names[LB_NROLES] = {
	[LB_ROLE_SCORE] = "rank_by",
	[LB_ROLE_TIE] = "rank_by",
	[LB_ROLE_MEMBER] = "member",
	[LB_ROLE_BOARD] = "board_column",
	[LB_ROLE_RANKED_IF] = "ranked_if"
};

/* Words that continue an expression after a column: "score IS NULL". */
static const char *const expression_words[] = {
	"and", "at", "between", "ilike", "in", "is", "isnull", "like", "not",
	"notnull", "operator", "or", "overlaps", "similar", NULL
};

/*
 * The end of an expression that begins at p: in parentheses, or the call of a
 * function.  NULL if there is none.
 */
static const char *
expression_end(const char *p)
{
	while (*p != '(')
	{
		if (*p == '"')
		{
			p = strchr(p + 1, '"');
			if (p == NULL)
				return NULL;
			p++;
		}
		else if (is_ident_start(*p))
			p = word_end(p);
		else
			return NULL;
		p = skip_space(p);
		if (*p == '.')
			p = skip_space(p + 1);
		else if (*p != '(')
			return NULL;
	}
	return lb_parentheses_end(p);
}

/*
 * Read one item of the list at p, a column or an expression, and perhaps its
 * direction.  Returns where it ends, or NULL with the error.
 */
static const char *
read_item(const char *p, LbColumn *column, bool *directed, LbListError *error)
{
	const char *end = error->expressions ? expression_end(p) : NULL;

	memset(column, 0, sizeof(LbColumn));
	if (end != NULL)
	{
		column->expression = lb_make_expression(p, end - p);
		p = end;
	}
	else
		p = read_column(p, column->name, error);
	if (p == NULL)
		return NULL;
	p = check_after_item(skip_space(p), true, error);
	if (p == NULL || !is_ident_start(*p))
		return p;
	p = read_direction(p, &column->descending, error);
	if (p == NULL)
		return NULL;
	*directed = true;
	return check_after_item(skip_space(p), false, error);
}

static char *
twice_message(const char *list, const LbColumn *column)
{
	return column->expression != NULL ?
		psprintf("expression %s appears more than once in %s",
				 column->expression->text, list) :
		psprintf("column \"%s\" appears more than once in %s",
				 column->name, list);
}

#define TWICE_HINT "Only its first appearance can decide anything; remove the others."

static bool
same_item(const LbColumn *a, const LbColumn *b)
{
	if (a->expression == NULL || b->expression == NULL)
		return a->expression == b->expression && strcmp(a->name, b->name) == 0;
	return strcmp(a->expression->text, b->expression->text) == 0;
}

/*
 * Parse a list of at most max columns, the first of the role first, the
 * further ones of that role.
 */
static int
parse_list(const char *list, LbColumn *columns, int max, LbRole first,
		   LbRole further, LbListError *error)
{
	const char *p = skip_space(list);
	int			n = 0;

	error->list = lb_list_names[first];
	error->directed = false;
	if (*p == '\0')
		fail(error, ERRCODE_SYNTAX_ERROR,
			 psprintf("%s is empty", error->list), NULL,
			 first == LB_ROLE_SCORE ?
			 "Name at least the score, for example \"score DESC\"." :
			 first == LB_ROLE_BOARD ?
			 "Name the column, or the columns, with one board for each of their values." :
			 "Name the column, or the columns, that identify who is ranked.");
	while (*p != '\0')
	{
		LbColumn	column;
		bool		directed = false;

		p = read_item(p, &column, &directed, error);
		if (p == NULL)
			return 0;
		error->directed |= directed && n == 0;
		for (int i = 0; i < n; i++)
		{
			if (same_item(&columns[i], &column))
			{
				fail(error, ERRCODE_DUPLICATE_COLUMN,
					 twice_message(error->list, &column), NULL, TWICE_HINT);
				return 0;
			}
		}
		if (n >= max)
		{
			fail(error, ERRCODE_TOO_MANY_COLUMNS,
				 psprintf("%s has more than %d columns", error->list, max),
				 NULL, first == LB_ROLE_SCORE ?
				 "Leave out the last ones: the member breaks the last ties." :
				 "A generated column can hold the value of several.");
			return 0;
		}
		column.role = n == 0 ? first : further;
		columns[n++] = column;

		if (*p == '\0')
			break;
		Assert(*p == ',');
		p = skip_space(p + 1);
		if (*p == '\0')
		{
			fail(error, ERRCODE_SYNTAX_ERROR,
				 psprintf("%s ends with a comma", error->list), NULL,
				 "Remove the comma or name another column after it.");
			return 0;
		}
	}
	return n;
}

int
lb_parse_rank_by(const char *rank_by, LbColumn *columns, LbListError *error)
{
	error->expressions = true;
	return parse_list(rank_by, columns, LB_MAX_RANK_COLUMNS, LB_ROLE_SCORE,
					  LB_ROLE_TIE, error);
}

int
lb_parse_member(const char *member, LbColumn *columns, LbListError *error)
{
	error->expressions = false;
	return parse_list(member, columns, LB_MAX_MEMBER_COLUMNS, LB_ROLE_MEMBER,
					  LB_ROLE_MEMBER, error);
}

int
lb_parse_board_column(const char *list, LbColumn *columns, LbListError *error)
{
	error->expressions = true;
	return parse_list(list, columns, LB_MAX_VALUE_COLUMNS, LB_ROLE_BOARD,
					  LB_ROLE_BOARD, error);
}

int
lb_parse_ranked_if(const char *condition, LbColumn *column, LbListError *error)
{
	const char *p = skip_space(condition);
	const char *end;

	error->list = lb_list_names[LB_ROLE_RANKED_IF];
	error->expressions = true;
	memset(column, 0, sizeof(LbColumn));
	column->role = LB_ROLE_RANKED_IF;
	if (*p == '\0')
	{
		fail(error, ERRCODE_SYNTAX_ERROR, "ranked_if is empty", NULL,
			 "Name a column of type boolean, or write a condition on columns of the table.");
		return 0;
	}
	end = read_column(p, column->name, error);
	if (end != NULL && *skip_space(end) == '\0')
		return 1;
	column->name[0] = '\0';
	for (end = p + strlen(p); end > p && scanner_isspace(end[-1]);)
		end--;
	column->expression = lb_make_expression(p, end - p);
	return 1;
}

void
lb_raise_list_error(const LbListError *error)
{
	ereport(ERROR,
			(errcode(error->sqlerrcode),
			 errmsg("%s", error->message),
			 error->detail == NULL ? 0 : errdetail("%s", error->detail),
			 error->hint == NULL ? 0 : errhint("%s", error->hint)));
}

void
lb_raise_undirected(const LbColumn *score)
{
	const char *name = lb_recorded(score);

	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("the score in rank_by has no direction"),
			 errhint("Write '%s DESC' if the highest is the best, or '%s ASC' if the lowest is.",
					 name, name)));
}

void
lb_raise_twice(const char *list, const LbColumn *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_COLUMN),
			 errmsg("%s", twice_message(list, column)),
			 errhint(TWICE_HINT)));
}

/*
 * In the canonical spelling names are quoted where SQL needs it, and
 * directions are always written.
 */
static char *
format_list(const LbColumn *columns, int ncolumns, bool directions)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < ncolumns; i++)
		appendStringInfo(&buf, "%s%s%s", i > 0 ? ", " : "",
						 lb_recorded(&columns[i]), !directions ? "" :
						 columns[i].descending ? " DESC" : " ASC");
	return buf.data;
}

const char *
lb_recorded(const LbColumn *column)
{
	return column->expression != NULL ? column->expression->text :
		lb_quoted(column);
}

char *
lb_format_rank_by(const LbColumn *columns, int ncolumns)
{
	return format_list(columns, ncolumns, true);
}

char *
lb_format_member(const LbColumn *columns, int ncolumns)
{
	return format_list(columns, ncolumns, false);
}

/* White space as the server's scanner knows it. */
static const char *
skip_space(const char *p)
{
	while (scanner_isspace(*p))
		p++;
	return p;
}

static bool
is_ident_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		IS_HIGHBIT_SET(c);
}

static bool
is_ident_cont(char c)
{
	return is_ident_start(c) || (c >= '0' && c <= '9') || c == '$';
}

/* The end of the unquoted word that begins at p. */
static const char *
word_end(const char *p)
{
	while (is_ident_cont(*p))
		p++;
	return p;
}

static bool
word_is(const char *start, const char *end, const char *word)
{
	size_t		len = strlen(word);

	return (size_t) (end - start) == len &&
		pg_strncasecmp(start, word, len) == 0;
}

/*
 * Read the name of a column at p into name, folded and cut as SQL does, and
 * return where it ends.
 */
static const char *
read_column(const char *p, char *name, LbListError *error)
{
	const char *end;
	char	   *ident;
	int			keyword;

	if (*p == '"')
		return read_quoted_column(p, name, error);

	if ((*p >= '0' && *p <= '9') ||
		(*p == '.' && p[1] >= '0' && p[1] <= '9'))
		return refuse(error, "numbers", "Name the column itself instead of its position.");
	if (*p == '\'' || *p == '$')
		return refuse(error, "constants", "Name a column of the table.");
	if (*p == '-' && p[1] == '-')
		return refuse(error, "comments", "Leave the comment out.");
	if (*p == '/' && p[1] == '*')
		return refuse(error, "comments", "Leave the comment out.");
	if (*p == '-' || *p == '+' || *p == '(' || *p == '~' || *p == '@' ||
		*p == '|' || *p == '!')
		return refuse_expression(error, "expressions");
	if (!is_ident_start(*p))
		return syntax_error_at(error, p);

	end = word_end(p);

	/* U&"..." is a quoted identifier with escapes, not a column named u. */
	if (end - p == 1 && (*p == 'u' || *p == 'U') &&
		end[0] == '&' && end[1] == '"')
		return refuse(error, "identifiers with Unicode escapes",
					  "Write the name in double quotes, with the characters themselves.");

	ident = downcase_truncate_identifier(p, end - p, true);
	keyword = ScanKeywordLookup(ident, &ScanKeywords);
	if (keyword >= 0 &&
		(ScanKeywordCategories[keyword] == RESERVED_KEYWORD ||
		 ScanKeywordCategories[keyword] == TYPE_FUNC_NAME_KEYWORD))
		return fail(error, ERRCODE_SYNTAX_ERROR,
					psprintf("syntax error in %s at or near \"%s\"",
							 error->list, ident),
					"It is a key word of SQL and cannot stand here as a column.",
					"If a column has this name, write it in double quotes.");

	strlcpy(name, ident, NAMEDATALEN);
	pfree(ident);
	return end;
}

/* The same for a name in double quotes, in which "" stands for one quote. */
static const char *
read_quoted_column(const char *p, char *name, LbListError *error)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (p++;; p++)
	{
		if (*p == '\0')
			return fail(error, ERRCODE_SYNTAX_ERROR,
						psprintf("unterminated quoted identifier in %s",
								 error->list), NULL,
						"Close the name with a double quote.");
		if (*p == '"')
		{
			if (p[1] != '"')
				break;
			p++;
		}
		appendStringInfoChar(&buf, *p);
	}
	if (buf.len == 0)
		return fail(error, ERRCODE_SYNTAX_ERROR,
					psprintf("zero-length identifier in %s", error->list), NULL,
					"Name a column between the double quotes.");

	truncate_identifier(buf.data, buf.len, true);
	strlcpy(name, buf.data, NAMEDATALEN);
	pfree(buf.data);
	return p + 1;
}

/* Read ASC or DESC, where a word follows a column. */
static const char *
read_direction(const char *p, bool *descending, LbListError *error)
{
	const char *end = word_end(p);
	bool		asc = word_is(p, end, "asc");
	int			i;

	*descending = word_is(p, end, "desc");
	if (asc || *descending)
	{
		if (has_directions(error))
			return end;
		return refuse(error, "ASC and DESC", error->expressions ?
					  "Leave it out: boards have no order." :
					  "Leave it out: a member's columns break the last ties, ascending. An order is the argument \"rank_by\".");
	}
	if (word_is(p, end, "using"))
		return refuse(error, "USING operators", "Write ASC or DESC.");
	if (word_is(p, end, "collate"))
		return refuse(error, "COLLATE clauses", "Leave it out: texts rank in the order of the collation \"C\".");
	for (i = 0; expression_words[i] != NULL; i++)
	{
		if (word_is(p, end, expression_words[i]))
			return refuse_expression(error, "expressions");
	}
	/* NULLS, and garbage */
	if (check_after_item(p, false, error) == NULL)
		return NULL;
	return syntax_error_at(error, p);
}

/*
 * What follows a column, or its direction, must be a comma, the end or, after
 * the column only, a word.  Returns p, or NULL with the error that fits
 * anything else.
 */
static const char *
check_after_item(const char *p, bool after_column, LbListError *error)
{
	const char *end = word_end(p);

	if (*p == '\0' || *p == ',')
		return p;
	if (is_ident_start(*p) && word_is(p, end, "nulls"))
		return refuse(error, "NULLS FIRST and NULLS LAST",
					  "Leave it out: a row with a null in one of the columns is not ranked.");
	if (after_column)
	{
		if (is_ident_start(*p))
			return p;
		if (*p == '.')
			return refuse(error, "qualified names", "Name the column without its table.");
		if (*p == '(')
			return refuse_expression(error, "function calls");
		if (*p == '-' && p[1] == '-')
			return refuse(error, "comments", "Leave the comment out.");
		if (*p == '/' && p[1] == '*')
			return refuse(error, "comments", "Leave the comment out.");
		if (strchr("+-*/<>=~!@#%^&|`?[:", *p) != NULL)
			return refuse_expression(error, "expressions");
	}
	return syntax_error_at(error, p);
}

/* These three fill in the error and return NULL. */
static void *
fail(LbListError *error, int sqlerrcode, const char *message,
	 const char *detail, const char *hint)
{
	error->sqlerrcode = sqlerrcode;
	error->message = message;
	error->detail = detail;
	error->hint = hint;
	return NULL;
}

static bool
has_directions(const LbListError *error)
{
	return strcmp(error->list, "rank_by") == 0;
}

static const char *
what_it_is(const LbListError *error)
{
	if (has_directions(error))
		return "rank_by is a list of columns and expressions, each with ASC or DESC.";
	return error->expressions ? "board_column is a list of columns and expressions." :
		"member is a list of columns.";
}

static void *
refuse(LbListError *error, const char *what, const char *hint)
{
	return fail(error, ERRCODE_FEATURE_NOT_SUPPORTED,
				psprintf("%s are not supported in %s", what, error->list),
				what_it_is(error), hint);
}

/* An expression without its parentheses, or where there can be none. */
static void *
refuse_expression(LbListError *error, const char *what)
{
	if (!error->expressions)
		return refuse(error, what,
					  "Name a plain column; a generated column can hold the value.");
	return fail(error, ERRCODE_SYNTAX_ERROR,
				psprintf("expression without parentheses in %s", error->list),
				what_it_is(error), has_directions(error) ?
				"Write the whole expression in parentheses, as in '(points / games) DESC'." :
				"Write the whole expression in parentheses, as in '(level / 10)'.");
}

/* Name the word, or else the character, that does not fit. */
static void *
syntax_error_at(LbListError *error, const char *p)
{
	int			len;

	if (is_ident_cont(*p))
		len = word_end(p) - p;
	else
		len = pg_mblen(p);
	return fail(error, ERRCODE_SYNTAX_ERROR,
				psprintf("syntax error in %s at or near \"%.*s\"",
						 error->list, len, p),
				what_it_is(error), has_directions(error) ?
				"Write for example \"score DESC, updated_at ASC\"." :
				error->expressions ? "Write for example \"region\"." :
				"Write for example \"player_id\".");
}
