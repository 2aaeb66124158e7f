/*-------------------------------------------------------------------------
 *
 * resolve.c
 *	  Definitions resolved against their tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/encode.h"
#include "boards/expression.h"
#include "boards/resolve.h"
#include "boards/types.h"
#include "util/compat.h"

const char	lb_partition_problem[] = "a partition is not a plain table";
const char	lb_engine_problem[] = "another engine keeps the rows of the table";
const char	lb_index_problem[] = "there is no valid unique index on the member";

/*
 * Whether the columns of an index are those of the member, in any order, or
 * these and board columns.
 */
static bool
is_on_member(const FormData_pg_index *index, const LbDefinition *defn)
{
	int			nmember = 0;

	for (int i = 0; i < index->indnkeyatts; i++)
	{
		AttrNumber	attno = index->indkey.values[i];

		if (lb_member_place(defn, attno) >= 0)
			nmember++;
		else if (attno == InvalidAttrNumber || lb_board_place(defn, attno) < 0)
			return false;
	}
	return nmember == defn->nmember;
}

/* An index of rel that makes the member unique on its board, or InvalidOid. */
static Oid
find_member_index(Relation rel, const LbDefinition *defn)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;
	Oid			result = InvalidOid;

	foreach(lc, indexes)
	{
		HeapTuple	tuple;
		Form_pg_index index;
		bool		found;

		tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));
		if (!HeapTupleIsValid(tuple))
			continue;
		index = (Form_pg_index) GETSTRUCT(tuple);
		found = index->indisunique && index->indimmediate &&
			index->indisvalid && index->indisready &&
			is_on_member(index, defn) &&
			heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
		ReleaseSysCache(tuple);
		if (found)
		{
			result = lfirst_oid(lc);
			break;
		}
	}
	list_free(indexes);
	return result;
}

AttrNumber
lb_find_column(TupleDesc desc, const char *name)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
			return att->attnum;
	}
	return InvalidAttrNumber;
}

bool
lb_uses_column(const LbDefinition *defn, AttrNumber attno)
{
	/* A column that the definition or the table does not have is 0. */
	if (attno == InvalidAttrNumber)
		return false;
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbExpression *expression = defn->columns[i].expression;

		if (defn->columns[i].attno == attno ||
			(expression != NULL &&
			 bms_is_member(attno - FirstLowInvalidHeapAttributeNumber,
						   expression->attnos)))
			return true;
	}
	return false;
}

/*
 * Whether a column of the board is virtual: a trigger would not see its value.
 */
static bool
has_virtual_column(TupleDesc desc, const LbDefinition *defn)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (LB_VIRTUAL_COLUMN(att->attgenerated) &&
			lb_uses_column(defn, att->attnum))
			return true;
	}
	return false;
}

static bool
is_column_of(const LbDefinition *defn, AttrNumber attno)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		if (defn->columns[i].attno == attno)
			return true;
	}
	return false;
}

/*
 * Whether texts of a column of the board can be equal without being the same.
 */
static bool
has_nondeterministic_column(TupleDesc desc, const LbDefinition *defn)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (OidIsValid(att->attcollation) &&
			is_column_of(defn, att->attnum) &&
			!get_collation_isdeterministic(att->attcollation))
			return true;
	}
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbExpression *expression = defn->columns[i].expression;
		Oid			collation = expression == NULL || expression->context == NULL ?
			InvalidOid : exprCollation(expression->kept);

		if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
			return true;
	}
	return false;
}

/*
 * Citus lists the tables whose rows it keeps in pg_dist_partition, and
 * invalidates their relcache entries when it enters or removes them.  Only
 * superusers can create a table in pg_catalog.
 */
bool
lb_is_distributed_table(Oid relid)
{
	Oid			listid = get_relname_relid("pg_dist_partition",
										   PG_CATALOG_NAMESPACE);
	AttrNumber	attno;
	Relation	list;
	ScanKeyData key;
	SysScanDesc scan;
	bool		result;

	if (!OidIsValid(listid))
		return false;
	attno = get_attnum(listid, "logicalrelid");
	if (attno <= 0 || get_atttype(listid, attno) != REGCLASSOID)
		return false;
	list = try_relation_open(listid, AccessShareLock);
	if (list == NULL)
		return false;
	ScanKeyInit(&key, attno, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(list, InvalidOid, false, NULL, 1, &key);
	result = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	relation_close(list, AccessShareLock);
	return result;
}

/* The problem of a column that is missing, or has a type that does not fit. */
static const char *const misfits[LB_NROLES] = {
	[LB_ROLE_SCORE] = "a rank_by column is missing or of another type",
	[LB_ROLE_TIE] = "a rank_by column is missing or of another type",
	[LB_ROLE_MEMBER] = "the member column is missing or of another type",
	[LB_ROLE_BOARD] = "a board column is missing or of another type",
	[LB_ROLE_RANKED_IF] = "the ranked_if column is missing or of another type"
};

static bool
is_plain(const LbColumn *column)
{
	return column->type == NULL || column->type->plain;
}

/*
 * The shape of keys that are counted, of columns with these words.  What it
 * cannot be is the problem of the definition: see look_up_source().
 */
static LbShape
counts_shape(const uint8 *words, int n)
{
	int			width = 0;

	for (int i = 0; i < n; i++)
		width += words[i] >= LB_TEXT ? 1 : words[i];
	return lb_counts_shape(Min(width, LB_MAX_WIDTH - 1));
}

/* By the types of its columns.  One that does not fit counts as a bigint. */
static void
settle_width(LbDefinition *defn)
{
	uint8		words[LB_MAX_KEY_COLUMNS];
	int			n = lb_nindex_columns(defn);

	for (int i = 0; i < n; i++)
	{
		const LbColumn *column = &defn->columns[i];
		int			nwords = column->type == NULL ? 1 : column->type->words;

		words[i] = nwords == LB_TEXT && column->descending ? LB_TEXT_DOWN :
			(uint8) nwords;
	}
	defn->shape = lb_has_members(defn) ?
		lb_make_shape(words, defn->nrank_by, n) : counts_shape(words, n);
	defn->plain_member = defn->nmember == 1 &&
		is_plain(lb_member_columns(defn));
	defn->plain_score = is_plain(lb_score_column(defn));
	defn->signed_zeros = false;
	for (int i = 0; i < defn->nrank_by; i++)
		defn->signed_zeros = defn->signed_zeros ||
			(defn->columns[i].type != NULL &&
			 lb_has_negative_zero(&defn->columns[i]));
}

/*
 * Why a definition that keeps counts can have no index, or NULL.
 * lb_create_board() makes no such boards, but lb_board can be written by hand,
 * and columns can get other types.
 */
static const char *
counts_problem(const LbDefinition *defn)
{
	int			width = 0;

	for (int i = 0; i < defn->nrank_by; i++)
	{
		const LbType *type = defn->columns[i].type;

		if (type != NULL && type->words == LB_TEXT)
			return "texts cannot be counted";
		width += type == NULL ? 1 : type->words;
	}
	if (width >= LB_MAX_WIDTH)
		return "rank_by takes too many words";
	if (defn->method == LB_ROW_NUMBER)
		return "a board that keeps counts has no row numbers";
	return NULL;
}

/* The type of an expression that may not be resolved. */
static void
kept_type(const LbDefinition *defn, const LbExpression *expression, Oid *type,
		  int32 *typmod)
{
	Node	   *kept = expression->statistics == NULL ? NULL :
		lb_kept_expression(defn->source, expression->statistics);

	*type = InvalidOid;
	if (kept == NULL)
		return;
	*type = exprType(kept);
	*typmod = exprTypmod(kept);
}

void
lb_settle_width(LbDefinition *defn)
{
	if (defn->shape.width > 0)
		return;
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbColumn   *column = &defn->columns[i];
		AttrNumber	attno = get_attnum(defn->source, column->name);
		Oid			type = InvalidOid;
		int32		typmod = -1;
		Oid			collation;

		if (column->expression != NULL)
			kept_type(defn, column->expression, &type, &typmod);
		else if (attno != InvalidAttrNumber)
			get_atttypetypmodcoll(defn->source, attno, &type, &typmod,
								  &collation);
		lb_set_column_type(column, type, typmod);
	}
	settle_width(defn);
}

static void
look_up_column(LbColumn *column, TupleDesc desc)
{
	column->attno = lb_find_column(desc, column->name);
	column->type = NULL;
	if (column->attno != InvalidAttrNumber)
	{
		Form_pg_attribute att = TupleDescAttr(desc, column->attno - 1);

		lb_set_column_type(column, att->atttypid, att->atttypmod);
	}
}

static void
look_up_expression(LbDefinition *defn, LbColumn *column)
{
	LbExpression *expression = column->expression;
	LbExpressionOwner owner = {.role = defn->owner};

	strlcpy(owner.board, defn->name, NAMEDATALEN);
	lb_resolve_expression(expression, defn->source, &owner,
						  GetMemoryChunkContext(defn), lb_is_cached_defn(defn));
	column->type = NULL;
	if (expression->context != NULL)
		lb_set_column_type(column, exprType(expression->kept),
						   exprTypmod(expression->kept));
}

/* Whether a function that an expression calls is not immutable any more. */
static bool
has_mutable_expression(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		if (defn->columns[i].expression != NULL &&
			defn->columns[i].expression->is_mutable)
			return true;
	}
	return false;
}

/*
 * Look up in the source what the definition names.  Whatever prevents an index
 * becomes the problem of the definition.
 */
static void
look_up_source(LbDefinition *defn, Relation rel, const LbCatalog *cat)
{
	TupleDesc	desc = RelationGetDescr(rel);
	char	   *name;
	const char *misfit = NULL;

	defn->checked_user = InvalidOid;
	defn->parts_valid = false;
	defn->problem = NULL;
	defn->relkind = rel->rd_rel->relkind;
	defn->owner = rel->rd_rel->relowner;
	defn->row_security = rel->rd_rel->relrowsecurity;
	defn->unlogged = rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT;
	defn->unlogged_parts = false;

	/* The old name may be in use until the end of the transaction. */
	name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
									  RelationGetRelationName(rel));
	if (defn->source_name == NULL || strcmp(defn->source_name, name) != 0)
	{
		char	   *only = MemoryContextStrdup(GetMemoryChunkContext(defn),
											   psprintf("ONLY %s", name));

		if (defn->source_name != NULL)
			lb_retire_name(defn->source_name - strlen("ONLY "));
		defn->source_name = only + strlen("ONLY ");
		defn->from_name = defn->relkind == RELKIND_PARTITIONED_TABLE ?
			defn->source_name : only;
	}

	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbColumn   *column = &defn->columns[i];

		if (column->expression != NULL)
			look_up_expression(defn, column);
		else
			look_up_column(column, desc);
		if (column->type == NULL && misfit == NULL)
			misfit = column->expression == NULL ? misfits[column->role] :
				"an expression of the board is gone or of another type";
	}
	settle_width(defn);
	if (defn->shape.width > LB_MAX_WIDTH)
		defn->problem = "rank_by and the member take too many words";
	if (defn->counts)
		defn->problem = counts_problem(defn);
	if (has_nondeterministic_column(desc, defn))
		defn->problem = "a column of the board has a nondeterministic collation";
	if (defn->relkind != RELKIND_RELATION &&
		defn->relkind != RELKIND_PARTITIONED_TABLE)
		defn->problem = "the source is not a table";
	else if (defn->relkind == RELKIND_RELATION &&
			 rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		defn->problem = "the source is not a table of the access method heap";
	if (has_virtual_column(desc, defn))
		defn->problem = "a column of the board is a virtual generated column";
	if (has_mutable_expression(defn))
		defn->problem = "an expression of the board is not immutable";
	defn->misfit = misfit != NULL;
	if (defn->misfit)
		defn->problem = misfit;
	if (defn->problem == NULL && lb_is_distributed_table(defn->source))
		defn->problem = lb_engine_problem;
	defn->member_index = defn->nmember > 0 ? find_member_index(rel, defn) :
		InvalidOid;
	if (defn->problem == NULL && defn->nmember > 0 &&
		!OidIsValid(defn->member_index))
		defn->problem = lb_index_problem;
	defn->captured = cat != NULL && lb_has_triggers(rel, cat->capture, false);
	defn->keeps_rows = lb_may_keep_rows(rel, cat);
}

void
lb_resolve_anew(LbDefinition *defn)
{
	const LbCatalog *cat = lb_catalog();
	Relation	rel;
	uint64		changes;

	/*
	 * The relcache entry alone: a transaction that writes to a partition
	 * directly has no lock on the source.
	 */
	rel = RelationIdGetRelation(defn->source);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the source table of board \"%s\" does not exist",
						defn->name),
				 errhint("Use lb_drop_board() to remove the board.")));
	lb_next_generation();

	changes = lb_defns_version();
	look_up_source(defn, rel, cat);

	/* An invalidation that came meanwhile makes it stale again. */
	defn->resolved = lb_defns_version() == changes;
	RelationClose(rel);
}

void
lb_require_fit(const LbDefinition *defn)
{
	if (defn->misfit)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("board \"%s\" does not fit its table any more",
						defn->name),
				 errdetail("Reason: %s.", defn->problem),
				 errhint("Give the table its columns back and use lb_rebuild(), or drop the board and create it again.")));
}

int
lb_defns_of(Oid source, LbDefinition ***defns)
{
	int			n = lb_defns_on(source, defns);

	for (int i = 0; i < n; i++)
		lb_resolve_defn((*defns)[i]);
	return n;
}

LbDefinition *
lb_defn_of(Oid source, Oid catalog, int32 id)
{
	LbDefinition *defn = lb_defn_by_id(id);

	if (defn == NULL || defn->source != source || defn->catalog != catalog)
		return NULL;
	lb_resolve_defn(defn);
	return defn;
}

void
lb_require_member(const LbDefinition *defn)
{
	if (defn->nmember == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("board \"%s\" has no members", defn->name),
				 errdetail("It keeps counts and has no member column."),
				 errhint("lb_count(), lb_count_between(), lb_rank_of_score(), lb_score_at_percentile() and lb_histogram() need none.")));
}

void
lb_require_metadata(const LbDefinition *defn)
{
	AttrNumber	attno = get_attnum(defn->source, "metadata");

	if (attno <= 0 || get_atttype(defn->source, attno) != JSONBOID)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table \"%s\" has no column \"%s\" of type jsonb",
						get_rel_name(defn->source), "metadata"),
				 errhint("Add it: ALTER TABLE %s ADD COLUMN metadata jsonb",
						 defn->source_name)));
}
