/*-------------------------------------------------------------------------
 *
 * definition_row.c
 *	  Definitions from rows of lb_board, and from the arguments that make one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "boards/definition.h"
#include "boards/definition_internal.h"
#include "boards/expression.h"
#include "boards/lists.h"
#include "boards/row_cache.h"
#include "util/compat.h"

const char *const lb_keeps_names[2] = {"members", "counts"};

static const char *const offline_names[] = {
	[LB_POLICY_QUERY] = "query",
	[LB_POLICY_ERROR] = "error"
};

bool
lb_keeps_counts(const char *keeps)
{
	bool		counts = strcmp(keeps, lb_keeps_names[true]) == 0;

	if (strcmp(keeps, lb_keeps_names[counts]) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a board cannot keep \"%s\"", keeps),
				 errhint("It keeps \"members\", or \"counts\": the number of rows of each distinct score.")));
	return counts;
}

const char *
lb_offline_name(LbPolicy policy)
{
	return offline_names[policy];
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

/*
 * The columns of rank_by.  Users may have written lb_board by hand.  A list
 * that cannot be parsed becomes a column without a name, which no table has:
 * it is a problem of that board, and must not fail a write to the board's
 * table.
 */
static void
read_rank_by(LbDefinition *defn, const char *rank_by)
{
	LbListError error;

	parse_rank_by(defn, rank_by, &error);
	if (defn->nrank_by == 0)
		add_name(defn, LB_ROLE_SCORE, "");
	defn->nrank_by = defn->ncolumns;
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

/* The same of a row of lb_board, in which it may be wrong, as rank_by. */
static void
read_names(LbDefinition *defn, LbRole role, Datum list, ListParser parse)
{
	LbListError error;

	if (!parse_names(defn, role, TextDatumGetCString(list), parse, &error))
		add_name(defn, role, "");
}

/* The names of the objects that keep the expressions, in their order. */
static void
read_expressions(LbDefinition *defn, Datum array)
{
	Datum	   *names;
	int			n;
	int			next = 0;

	deconstruct_array(DatumGetArrayTypeP(array), NAMEOID, NAMEDATALEN, false,
					  TYPALIGN_CHAR, &names, NULL, &n);
	for (int i = 0; i < defn->ncolumns && next < n; i++)
	{
		LbExpression *expression = defn->columns[i].expression;

		if (expression != NULL)
			expression->statistics = pstrdup(NameStr(*DatumGetName(names[next++])));
	}
}

/*
 * A hash of what the keys of an index depend on.  A definition that was
 * changed by hand must not be taken for the one that its index was built by.
 */
static uint32
fingerprint(const LbDefinition *defn)
{
	StringInfoData buf;
	uint32		hash;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%u", defn->source);
	if (defn->counts)
		appendStringInfoString(&buf, "|counts");
	for (int i = 0; i < defn->ncolumns; i++)
		appendStringInfo(&buf, "|%d%d%s", defn->columns[i].role,
						 defn->columns[i].descending,
						 defn->columns[i].expression == NULL ? defn->columns[i].name :
						 defn->columns[i].expression->text);
	hash = hash_bytes((const unsigned char *) buf.data, buf.len);
	pfree(buf.data);
	return hash;
}

void
lb_read_row(LbDefinition *defn, HeapTuple tuple, TupleDesc desc, Oid lb_board)
{
	Datum		values[Natts_lb_board];
	bool		nulls[Natts_lb_board];
	char	   *string;

	lb_row_values(tuple, desc, Natts_lb_board, values, nulls);
#define VALUE(column) (values[Anum_lb_board_##column - 1])
#define IS_NULL(column) (nulls[Anum_lb_board_##column - 1])
	memset(defn, 0, sizeof(LbDefinition));
	defn->catalog = lb_board;
	defn->xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	string = TextDatumGetCString(VALUE(board));
	strlcpy(defn->name, string, NAMEDATALEN);
	pfree(string);
	defn->id = DatumGetInt32(VALUE(id));
	defn->source = DatumGetObjectId(VALUE(source));
	string = TextDatumGetCString(VALUE(rank_by));
	read_rank_by(defn, string);
	pfree(string);
	string = TextDatumGetCString(VALUE(keeps));
	defn->counts = strcmp(string, lb_keeps_names[true]) == 0;
	pfree(string);
	if (!IS_NULL(member))
		read_names(defn, LB_ROLE_MEMBER, VALUE(member), lb_parse_member);
	else if (!defn->counts)
		add_name(defn, LB_ROLE_MEMBER, "");
	if (!IS_NULL(board_column))
		read_names(defn, LB_ROLE_BOARD, VALUE(board_column),
				   lb_parse_board_column);
	if (!IS_NULL(ranked_if))
		read_names(defn, LB_ROLE_RANKED_IF, VALUE(ranked_if),
				   lb_parse_ranked_if);
	if (!IS_NULL(expressions))
		read_expressions(defn, VALUE(expressions));
	string = TextDatumGetCString(VALUE(method));
	if (!lb_find_method(string, &defn->method))
		defn->method = LB_ROW_NUMBER;
	pfree(string);
	if (!IS_NULL(offline))
	{
		string = TextDatumGetCString(VALUE(offline));
		defn->offline = find_policy(string);
		pfree(string);
	}
#undef VALUE
#undef IS_NULL
	defn->fingerprint = fingerprint(defn);
}

int32
lb_recorded_id(TupleTableSlot *slot, Oid *source)
{
	bool		isnull;

	*source = DatumGetObjectId(slot_getattr(slot, Anum_lb_board_source,
											&isnull));
	return DatumGetInt32(slot_getattr(slot, Anum_lb_board_id, &isnull));
}

char *
lb_recorded_name(TupleTableSlot *slot)
{
	bool		isnull;

	return TextDatumGetCString(slot_getattr(slot, Anum_lb_board_board,
											&isnull));
}

bool
lb_recorded_same_index(TupleTableSlot *a, TupleTableSlot *b)
{
	TupleDesc	desc = a->tts_tupleDescriptor;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		bool		null_a;
		bool		null_b;
		Datum		value_a = slot_getattr(a, i + 1, &null_a);
		Datum		value_b = slot_getattr(b, i + 1, &null_b);

		if (i + 1 != Anum_lb_board_offline &&
			(null_a != null_b ||
			 (!null_a && !datum_image_eq(value_a, value_b, att->attbyval,
										 att->attlen))))
			return false;
	}
	return true;
}
