/*-------------------------------------------------------------------------
 *
 * options.c
 *	  The options of boards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "boards/lists.h"
#include "boards/options.h"

/* By LbDefinition.counts. */
static const char *const keeps_names[2] = {"members", "counts"};

static const char *const offline_names[] = {
	[LB_POLICY_QUERY] = "query",
	[LB_POLICY_ERROR] = "error"
};

bool
lb_keeps_counts(const char *keeps)
{
	bool		counts = strcmp(keeps, keeps_names[true]) == 0;

	if (strcmp(keeps, keeps_names[counts]) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a board cannot keep \"%s\"", keeps),
				 errhint("It keeps \"members\", or \"counts\": the number of rows of each distinct score.")));
	return counts;
}

/* The policy of that name, or none. */
static LbPolicy
find_policy(const char *offline)
{
	for (int p = 0; p < (int) lengthof(offline_names); p++)
	{
		if (offline_names[p] != NULL && strcmp(offline_names[p], offline) == 0)
			return p;
	}
	return LB_POLICY_NONE;
}

LbPolicy
lb_offline_from_text(const char *offline)
{
	LbPolicy	policy = find_policy(offline);

	if (policy == LB_POLICY_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for \"offline\": \"%s\"", offline),
				 errhint("While a board is offline, its reads run their \"query\" or raise an \"error\"; null leaves that to \"leaderboard.offline\".")));
	return policy;
}

/*
 * Add a column to a new definition, whose columns are in the current memory
 * context.  They are added in the order of columns[].
 */
static void
add_column(LbDefinition *defn, const LbColumn *column)
{
	if (defn->columns == NULL)
		defn->columns = palloc(LB_MAX_BOARD_COLUMNS * sizeof(LbColumn));
	defn->columns[defn->ncolumns++] = *column;
	if (column->role == LB_ROLE_MEMBER)
		defn->nmember++;
	if (column->role == LB_ROLE_BOARD)
	{
		defn->family = true;
		defn->nboard++;
	}
	if (column->role == LB_ROLE_RANKED_IF)
		defn->has_ranked_if = true;
}

static void
add_name(LbDefinition *defn, LbRole role, const char *name)
{
	LbColumn	column;

	memset(&column, 0, sizeof(LbColumn));
	strlcpy(column.name, name, NAMEDATALEN);
	column.role = role;
	add_column(defn, &column);
}

static void
parse_rank_by(LbDefinition *defn, const char *rank_by, LbListError *error)
{
	LbColumn	columns[LB_MAX_RANK_COLUMNS];

	defn->nrank_by = lb_parse_rank_by(rank_by, columns, error);
	for (int i = 0; i < defn->nrank_by; i++)
		add_column(defn, &columns[i]);
}

void
lb_add_rank_by(LbDefinition *defn, const char *rank_by)
{
	LbListError error;

	parse_rank_by(defn, rank_by, &error);
	if (defn->nrank_by == 0)
		lb_raise_list_error(&error);
	if (!error.directed)
		lb_raise_undirected(&defn->columns[0]);
}

/* One of the parsers of lists.h. */
typedef int (*ListParser) (const char *list, LbColumn *columns,
						   LbListError *error);

/*
 * The columns of a list, which have the source's names.  Unless the list is as
 * it would be recorded, it may be the name of a column, without quotes.
 */
static bool
parse_names(LbDefinition *defn, LbRole role, const char *list,
			ListParser parse, LbListError *error)
{
	LbColumn	columns[LB_MAX_MEMBER_COLUMNS];
	int			n = parse(list, columns, error);

	if ((n == 0 || strcmp(lb_format_member(columns, n), list) != 0) &&
		get_attnum(defn->source, list) != InvalidAttrNumber)
	{
		add_name(defn, role, list);
		return true;
	}
	for (int i = 0; i < n; i++)
		add_column(defn, &columns[i]);
	return n > 0;
}

static void
add_names(LbDefinition *defn, LbRole role, const char *list,
		  ListParser parse)
{
	LbListError error;

	if (!parse_names(defn, role, list, parse, &error))
		lb_raise_list_error(&error);
}

void
lb_add_member(LbDefinition *defn, const char *member)
{
	add_names(defn, LB_ROLE_MEMBER, member, lb_parse_member);
}

void
lb_add_board_column(LbDefinition *defn, const char *column)
{
	add_names(defn, LB_ROLE_BOARD, column, lb_parse_board_column);
}

void
lb_add_ranked_if(LbDefinition *defn, const char *condition)
{
	add_names(defn, LB_ROLE_RANKED_IF, condition, lb_parse_ranked_if);
}


/* ----------------------------------------------------------------
 *		All options
 * ----------------------------------------------------------------
 */

static void
take_method(LbDefinition *defn, const char *method)
{
	defn->method = method != NULL ? lb_method_from_text(method) :
		defn->counts ? LB_RANK : LB_ROW_NUMBER;
	if (defn->counts && defn->method == LB_ROW_NUMBER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a board that keeps counts has no row numbers"),
				 errhint("Use the method \"rank\" or \"dense_rank\", or let the board keep members.")));
}

void
lb_set_options(LbDefinition *defn, char *const *texts,
			   const char *(*default_member) (const LbDefinition *family))
{
	defn->counts = lb_keeps_counts(texts[LB_OPTION_KEEPS]);
	take_method(defn, texts[LB_OPTION_METHOD]);
	if (texts[LB_OPTION_OFFLINE] != NULL)
		defn->offline = lb_offline_from_text(texts[LB_OPTION_OFFLINE]);
	lb_add_rank_by(defn, texts[LB_OPTION_RANK_BY]);
	if (texts[LB_OPTION_MEMBER] != NULL)
		lb_add_member(defn, texts[LB_OPTION_MEMBER]);
	else if (!defn->counts)
	{
		LbDefinition family = {.source = defn->source};

		if (texts[LB_OPTION_BOARD_COLUMN] != NULL)
			lb_add_board_column(&family, texts[LB_OPTION_BOARD_COLUMN]);
		lb_add_member(defn, quote_identifier(default_member(&family)));
	}
	if (texts[LB_OPTION_BOARD_COLUMN] != NULL)
		lb_add_board_column(defn, texts[LB_OPTION_BOARD_COLUMN]);
	if (texts[LB_OPTION_RANKED_IF] != NULL)
		lb_add_ranked_if(defn, texts[LB_OPTION_RANKED_IF]);
}

static void
read_names(LbDefinition *defn, LbRole role, const char *list, ListParser parse)
{
	LbListError error;

	if (list != NULL && !parse_names(defn, role, list, parse, &error))
		add_name(defn, role, "");
}

void
lb_read_options(LbDefinition *defn, char *const *texts)
{
	LbListError error;

	parse_rank_by(defn, texts[LB_OPTION_RANK_BY], &error);
	if (defn->nrank_by == 0)
		add_name(defn, LB_ROLE_SCORE, "");
	defn->nrank_by = defn->ncolumns;
	defn->counts = strcmp(texts[LB_OPTION_KEEPS], keeps_names[true]) == 0;
	if (texts[LB_OPTION_MEMBER] == NULL && !defn->counts)
		add_name(defn, LB_ROLE_MEMBER, "");
	read_names(defn, LB_ROLE_MEMBER, texts[LB_OPTION_MEMBER], lb_parse_member);
	read_names(defn, LB_ROLE_BOARD, texts[LB_OPTION_BOARD_COLUMN],
			   lb_parse_board_column);
	read_names(defn, LB_ROLE_RANKED_IF, texts[LB_OPTION_RANKED_IF],
			   lb_parse_ranked_if);
	if (!lb_find_method(texts[LB_OPTION_METHOD], &defn->method))
		defn->method = LB_ROW_NUMBER;
	if (texts[LB_OPTION_OFFLINE] != NULL)
		defn->offline = find_policy(texts[LB_OPTION_OFFLINE]);
}

/* What is recorded of n columns, in their canonical spelling. */
static const char *
list_text(const LbColumn *columns, int n,
		  char *(*format) (const LbColumn *columns, int n))
{
	if (n == 0)
		return NULL;
	return columns[0].name[0] == '\0' && columns[0].expression == NULL ? "" :
		format(columns, n);
}

static const char *
member_text(const LbDefinition *defn)
{
	return list_text(lb_member_columns(defn), defn->nmember, lb_format_member);
}

static const char *
rank_by_text(const LbDefinition *defn)
{
	return list_text(defn->columns, defn->nrank_by, lb_format_rank_by);
}

static const char *
board_column_text(const LbDefinition *defn)
{
	return list_text(lb_board_columns(defn), defn->nboard, lb_format_member);
}

static const char *
method_text(const LbDefinition *defn)
{
	return lb_method_names[defn->method];
}

static const char *
ranked_if_text(const LbDefinition *defn)
{
	return list_text(lb_ranked_if_column(defn), defn->has_ranked_if, lb_format_member);
}

static const char *
keeps_text(const LbDefinition *defn)
{
	return keeps_names[defn->counts];
}

static const char *
offline_text(const LbDefinition *defn)
{
	return offline_names[defn->offline];
}

const LbBoardOption lb_board_options[LB_NOPTIONS] = {
	[LB_OPTION_MEMBER] = {
		.name = "member",.of_index = true,.of_columns = true,
		.text = member_text
	},
	[LB_OPTION_RANK_BY] = {
		.name = "rank_by",.required = true,.of_index = true,.of_columns = true,
		.text = rank_by_text
	},
	[LB_OPTION_BOARD_COLUMN] = {
		.name = "board_column",.of_index = true,.of_columns = true,
		.text = board_column_text
	},
	[LB_OPTION_METHOD] = {
		.name = "method",.of_index = true,.text = method_text
	},
	[LB_OPTION_RANKED_IF] = {
		.name = "ranked_if",.of_index = true,.of_columns = true,
		.text = ranked_if_text
	},
	[LB_OPTION_KEEPS] = {
		.name = "keeps",.required = true,.of_index = true,.text = keeps_text
	},
	[LB_OPTION_OFFLINE] = {
		.name = "offline",.text = offline_text
	}
};
