/*-------------------------------------------------------------------------
 *
 * checks.c
 *	  What keeps a table from having a board.
 *
 * Each error says which argument of lb_create_board() it is about, and what to
 * write or to do instead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/catalog.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "admin/checks.h"
#include "boards/board_value.h"
#include "boards/distributed.h"
#include "boards/expression.h"
#include "boards/lists.h"
#include "boards/resolve.h"
#include "boards/types.h"
#include "leaderboards/leaderboard.h"
#include "sql/spi.h"
#include "util/compat.h"
#include "util/nearest.h"

/* The member of a table that has such a column, and no key of one column. */
#define DEFAULT_MEMBER "player_id"


/* ----------------------------------------------------------------
 *		Columns
 * ----------------------------------------------------------------
 */

static pg_noinline void
raise_no_column(Relation rel, const LbColumn *column)
{
	LbNearest	nearest = lb_nearest_to(column->name);
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			lb_nearest_try(&nearest, NameStr(TupleDescAttr(desc, i)->attname));
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of table \"%s\" does not exist",
					column->name, RelationGetRelationName(rel)),
			 errhint("%sThe argument \"%s\" names columns of the table%s.",
					 lb_nearest_hint(&nearest), lb_list_names[column->role],
					 column->role == LB_ROLE_SCORE &&
					 strcmp(column->name, "score") == 0 ?
					 "; by default the score" : "")));
}

/* A column of the source that the board uses. */
static void
require_column(Relation rel, const LbColumn *column, Oid *type, int32 *typmod)
{
	const char *name = column->name;
	AttrNumber	attno = get_attnum(RelationGetRelid(rel), name);
	Oid			collation;

	if (attno == InvalidAttrNumber)
		raise_no_column(rel, column);
	if (attno < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot rank by system column \"%s\"", name),
				 errhint("The argument \"%s\" names columns that the table was created with.",
						 lb_list_names[column->role])));
	if (LB_VIRTUAL_COLUMN(get_attgenerated(RelationGetRelid(rel), attno)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot rank by virtual generated column \"%s\"", name),
				 errdetail("A board is kept in step by row triggers, which see only what is stored."),
				 errhint("Use a generated column that is STORED.")));
	get_atttypetypmodcoll(RelationGetRelid(rel), attno, type, typmod,
						  &collation);
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" has a nondeterministic collation", name),
				 errdetail("Texts can be equal there without being the same."),
				 errhint("Use a stored generated column of another collation, such as lower(%s).",
						 quote_identifier(name))));
}

static void
type_error(const char *role, const LbColumn *column, Oid type, int32 typmod)
{
	const char *name = format_type_with_typemod(type, typmod);

	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 column->expression == NULL ?
			 errmsg("%s column \"%s\" is of unsupported type %s",
					role, column->name, name) :
			 errmsg("%s expression %s is of unsupported type %s",
					role, column->expression->text, name),
			 errhint("%s", lb_type_hint(type, typmod, column->role))));
}

static void
check_source(Relation rel)
{
	const char *name = RelationGetRelationName(rel);

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table", name),
					 errdetail("A board is kept in step by row triggers, which only tables have."),
					 rel->rd_rel->relkind == RELKIND_MATVIEW ?
					 errhint("Make a table of its rows, and refresh that instead: CREATE TABLE ... AS.") :
					 rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE ?
					 errhint("Make the board on the server that has the rows.") :
					 errhint("Use the table below it.")));
	}
	if (IsCatalogRelation(rel) || IsToastRelation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot rank system table \"%s\"", name),
				 errhint("Use a table of your own.")));
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot rank temporary table \"%s\"", name),
				 errdetail("Its rows are seen by one session only."),
				 errhint("Use an unlogged table.")));
	if (rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" uses an unsupported access method", name),
				 errhint("Only the access method heap is supported.")));
}

/*
 * A partition has one row trigger of ours: its own, or a clone of its
 * partitioned table's.  It cannot have both.
 */
static void
check_partitions(Relation rel)
{
	List	   *above = NIL;
	LbDefinition **defns;
	int			n;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE &&
		!rel->rd_rel->relispartition)
		return;
	n = lb_all_defns(&defns);
	if (rel->rd_rel->relispartition)
		above = get_partition_ancestors(RelationGetRelid(rel));
	for (int i = 0; i < n; i++)
	{
		Oid			source = defns[i]->source;

		if (list_member_oid(above, source))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot rank partition \"%s\"",
							RelationGetRelationName(rel)),
					 errdetail("Its partitioned table \"%s\" has the board \"%s\".",
							   get_rel_name(source), defns[i]->name),
					 errhint("Drop that board first.")));
		if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE &&
			get_rel_relispartition(source) &&
			list_member_oid(get_partition_ancestors(source),
							RelationGetRelid(rel)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot rank partitioned table \"%s\"",
							RelationGetRelationName(rel)),
					 errdetail("Its partition \"%s\" has the board \"%s\" of its own.",
							   get_rel_name(source), defns[i]->name),
					 errhint("Drop that board first.")));
	}
}

void
lb_check_board_name(const char *board, bool recording)
{
	bool		windows;

	if (board[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("a board's name must not be empty"),
				 errhint("Give it one by which it is read, as in lb_top(10, 'tower').")));
	if (strchr(board, ':') != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("board name \"%s\" contains a colon", board),
				 errdetail("A colon separates a family's name from the value of one of its boards."),
				 errhint("Use another character.")));
	if (lb_windows_prefix(board) > 0 &&
		!(recording && lb_leaderboard_of_board(board, &windows) != NULL))
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("board name \"%s\" is reserved", board),
				 errdetail("The family of a leaderboard's windows has such a name."),
				 errhint("Use another name, or lb_create_leaderboard().")));
	if (strlen(board) > LB_MAX_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("board name \"%s\" is too long", board),
				 errdetail("A board's name has at most %d bytes.", LB_MAX_NAME)));
}

/*
 * Raise 42701 if a column or an expression is twice in one list.  (c) has
 * become the column c, and an expression what PostgreSQL makes of it.
 */
static void
check_duplicates(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		for (int j = 0; j < i; j++)
		{
			const char *list = lb_list_names[defn->columns[i].role];

			if (strcmp(lb_list_names[defn->columns[j].role], list) == 0 &&
				strcmp(lb_recorded(&defn->columns[j]),
					   lb_recorded(&defn->columns[i])) == 0)
				lb_raise_twice(list, &defn->columns[i]);
		}
	}
}

/* Raise an error if the definition's columns cannot have an index. */
static void
check_columns(const LbDefinition *defn, Relation rel)
{
	static const char *const roles[LB_NROLES] = {
		[LB_ROLE_SCORE] = "score",
		[LB_ROLE_TIE] = "rank_by",
		[LB_ROLE_MEMBER] = "member",
		[LB_ROLE_BOARD] = "board",
		[LB_ROLE_RANKED_IF] = "ranked_if"
	};

	check_duplicates(defn);
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbColumn	column = defn->columns[i];
		Oid			type;
		int32		typmod;

		if (column.expression == NULL)
			require_column(rel, &column, &type, &typmod);
		else
		{
			type = exprType(column.expression->kept);
			typmod = exprTypmod(column.expression->kept);
		}
		lb_set_column_type(&column, type, typmod);
		if (column.type == NULL)
			type_error(roles[column.role], &column, type, typmod);
		if (i < defn->nrank_by && defn->counts &&
			column.type->words == LB_TEXT)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot keep counts of %s column %s",
							roles[column.role],
							column.expression == NULL ?
							psprintf("\"%s\"", column.name) :
							column.expression->text),
					 errdetail("Texts cannot be counted."),
					 errhint("Leave it out of rank_by, or let the board keep members.")));
	}
}

static int
index_hint(const LbDefinition *defn)
{
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = 0; i < defn->nmember; i++)
		appendStringInfo(&columns, "%s%s", i > 0 ? ", " : "",
						 lb_quoted(&lb_member_columns(defn)[i]));
	for (int i = 0; i < defn->nboard; i++)
	{
		if (lb_board_columns(defn)[i].expression == NULL)
			appendStringInfo(&columns, ", %s",
							 lb_quoted(&lb_board_columns(defn)[i]));
	}
	return errhint("It must be immediate, valid, and not partial: CREATE UNIQUE INDEX ON %s (%s).",
				   lb_qualified_name(defn->source), columns.data);
}

int
lb_problem_hint(const LbDefinition *defn)
{
	if (defn->problem == lb_partition_problem)
		return errhint("All partitions must be tables of the access method heap.");
	if (defn->problem == lb_engine_problem)
		return errhint("Make boards of the tables that have the rows, such as its shards.");
	if (defn->problem != lb_index_problem)
		return 0;
	return index_hint(defn);
}

/* Raise 0A000 if the family must have a single board column. */
static void
check_board_columns(const LbDefinition *defn)
{
	if (lb_windows_prefix(defn->name) >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("family \"%s\" cannot have several board columns",
						defn->name),
				 errdetail("The names of its boards are those of windows."),
				 errhint("Use another name.")));
	if (lb_is_distributed_table(defn->source))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a family of distributed table \"%s\" cannot have several board columns",
						get_rel_name(defn->source)),
				 errhint("Use one; a generated column can hold the values of several.")));
}

/* Raise 0A000 if the board must be made of columns. */
static void
check_expressions(const LbDefinition *defn)
{
	if (lb_windows_prefix(defn->name) >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("family \"%s\" cannot have expressions", defn->name),
				 errdetail("Its boards can be windows, which are written to by the names of their columns."),
				 errhint("Use another name, or columns.")));
	if (lb_is_distributed_table(defn->source))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a board of distributed table \"%s\" cannot have expressions",
						get_rel_name(defn->source)),
				 errhint("Use columns; a generated column can hold the value.")));
}

void
lb_check_counts(const LbDefinition *defn)
{
	if (lb_windows_prefix(defn->name) >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("family \"%s\" cannot keep counts", defn->name),
				 errdetail("Its boards can be windows, whose standings have members."),
				 errhint("Use another name, or let the family keep members.")));
	if (lb_is_distributed_table(defn->source))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot keep counts of distributed table \"%s\"",
						get_rel_name(defn->source)),
				 errhint("Let the board keep members.")));
}


void
lb_check_source(Relation rel)
{
	check_source(rel);
	check_partitions(rel);
}

void
lb_check_definition(const LbDefinition *defn, Relation rel)
{
	if (lb_has_expressions(defn))
		check_expressions(defn);
	if (defn->nboard > 1)
		check_board_columns(defn);
	check_columns(defn, rel);
}


/* ----------------------------------------------------------------
 *		The member, unless it is named
 * ----------------------------------------------------------------
 */

/* Whether an item of a list is a column.  (c) is not yet the column c. */
static bool
is_column(const LbColumn *item, const char *name)
{
	return item->expression == NULL ? strcmp(item->name, name) == 0 :
		strcmp(item->expression->text,
			   psprintf("(%s)", quote_identifier(name))) == 0;
}

/* The columns of a primary key without those that tell boards apart. */
static List *
key_without(Bitmapset *key, const LbDefinition *family)
{
	List	   *names = NIL;
	int			x = -1;

	while ((x = bms_next_member(key, x)) >= 0)
	{
		char	   *name = get_attname(family->source,
									   x + FirstLowInvalidHeapAttributeNumber,
									   true);
		bool		of_board = name == NULL;

		for (int i = 0; i < family->nboard && !of_board; i++)
			of_board = is_column(&lb_board_columns(family)[i], name);
		if (!of_board)
			names = lappend(names, name);
	}
	return names;
}

const char *
lb_default_member(const LbDefinition *family)
{
	Oid			source = family->source;
	char		relkind = get_rel_relkind(source);
	Oid			constraint = InvalidOid;
	Bitmapset  *key = get_primary_key_attnos(source, false, &constraint);
	List	   *names = key_without(key, family);

	if (list_length(names) == 1)
		return linitial(names);

	/* Of what is no table, other errors say more. */
	if (get_attnum(source, DEFAULT_MEMBER) != InvalidAttrNumber ||
		(relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE))
		return DEFAULT_MEMBER;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the member of the board is not named"),
			 key == NULL ?
			 errdetail("Table \"%s\" has no primary key.",
					   get_rel_name(source)) :
			 errdetail("The primary key of table \"%s\" is not one column%s.",
					   get_rel_name(source), family->nboard == 0 ? "" :
					   " beside the board column"),
			 errhint("Name the column that identifies who is ranked, or several: member => 'id'.")));
}
