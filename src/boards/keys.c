/*-------------------------------------------------------------------------
 *
 * keys.c
 *	  The rank_by list, and the types that can take part in a key.
 *
 * rank_by is an ORDER BY list over plain columns.  It is read by hand instead
 * of by the server's grammar because almost everything that the grammar takes
 * has to be refused here anyway, and a hand-written reader can say of each
 * such thing why, and what to write instead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/keywords.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "parser/scansup.h"
#include "utils/builtins.h"

#include "boards/keys.h"
#include "util/compat.h"

static const char *skip_space(const char *p);
static bool is_ident_start(char c);
static bool is_ident_cont(char c);
static const char *word_end(const char *p);
static bool word_is(const char *start, const char *end, const char *word);
static const char *read_column(const char *p, char *name);
static const char *read_quoted_column(const char *p, char *name);
static const char *read_direction(const char *p, bool *descending);
static void check_after_item(const char *p, bool after_column);
pg_noreturn static void refuse(const char *what, const char *hint);
pg_noreturn static void syntax_error_at(const char *p);

/* Words that continue an expression after a column: "score IS NULL". */
static const char *const expression_words[] = {
	"and", "at", "between", "ilike", "in", "is", "isnull", "like", "not",
	"notnull", "operator", "or", "overlaps", "similar", NULL
};

/*
 * Parse rank_by.  See keys.h.
 */
int
lb_parse_rank_by(const char *rank_by, LbRankColumn *columns)
{
	const char *p = skip_space(rank_by);
	int			n = 0;

	if (*p == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("rank_by is empty"),
				 errhint("Name at least the score, for example \"score DESC\".")));

	for (;;)
	{
		char		name[NAMEDATALEN];
		bool		descending = false;
		int			i;

		p = skip_space(p);
		if (*p == '\0')
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("rank_by ends with a comma"),
					 errhint("Remove the comma or name another column after it.")));

		p = skip_space(read_column(p, name));
		check_after_item(p, true);
		if (is_ident_start(*p))
		{
			p = skip_space(read_direction(p, &descending));
			check_after_item(p, false);
		}

		for (i = 0; i < n; i++)
		{
			if (strcmp(columns[i].name, name) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("column \"%s\" appears more than once in rank_by",
								name),
						 errhint("Only its first appearance can decide anything; remove the others.")));
		}
		if (n >= LB_MAX_RANK_COLUMNS)
			ereport(ERROR,
					(errcode(ERRCODE_TOO_MANY_COLUMNS),
					 errmsg("rank_by has more than %d columns",
							LB_MAX_RANK_COLUMNS)));

		memset(&columns[n], 0, sizeof(LbRankColumn));
		strlcpy(columns[n].name, name, NAMEDATALEN);
		columns[n].descending = descending;
		n++;

		if (*p == '\0')
			return n;
		Assert(*p == ',');
		p++;
	}
}

/*
 * rank_by in its canonical spelling: names quoted where SQL needs it, the
 * direction always written.
 */
char *
lb_format_rank_by(const LbRankColumn *columns, int ncolumns)
{
	StringInfoData buf;
	int			i;

	initStringInfo(&buf);
	for (i = 0; i < ncolumns; i++)
		appendStringInfo(&buf, "%s%s %s", i > 0 ? ", " : "",
						 quote_identifier(columns[i].name),
						 columns[i].descending ? "DESC" : "ASC");
	return buf.data;
}

bool
lb_score_type_ok(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

bool
lb_tie_type_ok(Oid type)
{
	return lb_score_type_ok(type) || type == DATEOID ||
		type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

bool
lb_member_type_ok(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

bool
lb_board_type_ok(Oid type)
{
	return type == TEXTOID || type == VARCHAROID ||
		type == INT2OID || type == INT4OID || type == INT8OID;
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
read_column(const char *p, char *name)
{
	const char *end;
	char	   *ident;
	int			keyword;

	if (*p == '"')
		return read_quoted_column(p, name);

	if ((*p >= '0' && *p <= '9') ||
		(*p == '.' && p[1] >= '0' && p[1] <= '9'))
		refuse("numbers", "Name the column itself instead of its position.");
	if (*p == '\'' || *p == '$')
		refuse("constants", "Name a column of the table.");
	if (*p == '-' && p[1] == '-')
		refuse("comments", "Leave the comment out.");
	if (*p == '/' && p[1] == '*')
		refuse("comments", "Leave the comment out.");
	if (*p == '-' || *p == '+' || *p == '(' || *p == '~' || *p == '@' ||
		*p == '|' || *p == '!')
		refuse("expressions",
			   "Rank by a plain column; a generated column can hold the expression's value.");
	if (!is_ident_start(*p))
		syntax_error_at(p);

	end = word_end(p);

	/* U&"..." is a quoted identifier with escapes, not a column named u. */
	if (end - p == 1 && (*p == 'u' || *p == 'U') &&
		end[0] == '&' && end[1] == '"')
		refuse("identifiers with Unicode escapes",
			   "Write the name in double quotes, with the characters themselves.");

	ident = downcase_truncate_identifier(p, end - p, true);
	keyword = ScanKeywordLookup(ident, &ScanKeywords);
	if (keyword >= 0 &&
		(ScanKeywordCategories[keyword] == RESERVED_KEYWORD ||
		 ScanKeywordCategories[keyword] == TYPE_FUNC_NAME_KEYWORD))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("syntax error in rank_by at or near \"%s\"", ident),
				 errdetail("It is a key word of SQL and cannot stand here as a column."),
				 errhint("If a column has this name, write it in double quotes.")));

	strlcpy(name, ident, NAMEDATALEN);
	pfree(ident);
	return end;
}

/* The same for a name in double quotes, in which "" stands for one quote. */
static const char *
read_quoted_column(const char *p, char *name)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (p++;; p++)
	{
		if (*p == '\0')
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("unterminated quoted identifier in rank_by"),
					 errhint("Close the name with a double quote.")));
		if (*p == '"')
		{
			if (p[1] != '"')
				break;
			p++;
		}
		appendStringInfoChar(&buf, *p);
	}
	if (buf.len == 0)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("zero-length identifier in rank_by"),
				 errhint("Name a column between the double quotes.")));

	truncate_identifier(buf.data, buf.len, true);
	strlcpy(name, buf.data, NAMEDATALEN);
	pfree(buf.data);
	return p + 1;
}

/* Read ASC or DESC, where a word follows a column. */
static const char *
read_direction(const char *p, bool *descending)
{
	const char *end = word_end(p);
	int			i;

	if (word_is(p, end, "asc"))
	{
		*descending = false;
		return end;
	}
	if (word_is(p, end, "desc"))
	{
		*descending = true;
		return end;
	}
	if (word_is(p, end, "using"))
		refuse("USING operators", "Write ASC or DESC.");
	if (word_is(p, end, "collate"))
		refuse("COLLATE clauses", "Columns that can rank have no collation.");
	for (i = 0; expression_words[i] != NULL; i++)
	{
		if (word_is(p, end, expression_words[i]))
			refuse("expressions",
				   "Rank by a plain column; a generated column can hold the expression's value.");
	}
	/* NULLS, and garbage */
	check_after_item(p, false);
	syntax_error_at(p);
}

/*
 * What follows a column, or its direction, has to be a comma, the end or,
 * after the column only, a word.  Raise the error that fits anything else.
 */
static void
check_after_item(const char *p, bool after_column)
{
	const char *end = word_end(p);

	if (*p == '\0' || *p == ',')
		return;
	if (is_ident_start(*p) && word_is(p, end, "nulls"))
		refuse("NULLS FIRST and NULLS LAST",
			   "Leave it out: a row with a null in a column of rank_by is not ranked.");
	if (after_column)
	{
		if (is_ident_start(*p))
			return;
		if (*p == '.')
			refuse("qualified names", "Name the column without its table.");
		if (*p == '(')
			refuse("function calls",
				   "Rank by a plain column; a generated column can hold the function's value.");
		if (*p == '-' && p[1] == '-')
			refuse("comments", "Leave the comment out.");
		if (*p == '/' && p[1] == '*')
			refuse("comments", "Leave the comment out.");
		if (strchr("+-*/<>=~!@#%^&|`?[:", *p) != NULL)
			refuse("expressions",
				   "Rank by a plain column; a generated column can hold the expression's value.");
	}
	syntax_error_at(p);
}

static void
refuse(const char *what, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s are not supported in rank_by", what),
			 errdetail("rank_by is a list of columns, each with ASC or DESC."),
			 errhint("%s", hint)));
}

/* Name the word, or else the character, that does not fit. */
static void
syntax_error_at(const char *p)
{
	int			len;

	if (is_ident_cont(*p))
		len = word_end(p) - p;
	else
		len = pg_mblen(p);

	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("syntax error in rank_by at or near \"%.*s\"", len, p),
			 errdetail("rank_by is a list of columns, each with ASC or DESC."),
			 errhint("Write for example \"score DESC, updated_at ASC\".")));
}
