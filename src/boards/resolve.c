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
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/resolve.h"
#include "util/compat.h"

const char	lb_collation_problem[] = "the board column has a nondeterministic collation";
const char	lb_partition_problem[] = "a partition is not a plain table";
const char	lb_engine_problem[] = "another engine keeps the rows of the table";
const char	lb_index_problem[] = "there is no valid unique index on the member";

/* Whether an index of rel makes the member unique on its board. */
static bool
has_member_index(Relation rel, const LbDefinition *defn)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;
	bool		found = false;

	foreach(lc, indexes)
	{
		HeapTuple	tuple;
		Form_pg_index index;
		bool		member = false;
		bool		other = false;

		tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));
		if (!HeapTupleIsValid(tuple))
			continue;
		index = (Form_pg_index) GETSTRUCT(tuple);
		for (int i = 0; i < index->indnkeyatts; i++)
		{
			AttrNumber	attno = index->indkey.values[i];

			if (attno == defn->member_attno)
				member = true;
			else if (!(defn->family && attno == defn->board_attno))
				other = true;
		}
		if (index->indisunique && index->indimmediate && index->indisvalid &&
			index->indisready && member && !other &&
			heap_attisnull(tuple, Anum_pg_index_indpred, NULL))
			found = true;
		ReleaseSysCache(tuple);
		if (found)
			break;
	}
	list_free(indexes);
	return found;
}

AttrNumber
lb_find_column(TupleDesc desc, const char *name, Oid *type)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
		{
			*type = att->atttypid;
			return att->attnum;
		}
	}
	*type = InvalidOid;
	return InvalidAttrNumber;
}

bool
lb_uses_column(const LbDefinition *defn, AttrNumber attno)
{
	/* What the definition does not have, or the table not any more, is 0. */
	if (attno == InvalidAttrNumber)
		return false;
	for (int i = 0; i < defn->ncolumns; i++)
	{
		if (defn->columns[i].attno == attno)
			return true;
	}
	return defn->member_attno == attno || defn->board_attno == attno ||
		defn->ranked_attno == attno;
}

/* Whether a trigger would not find the value of one of the board's columns. */
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

/*
 * Whether an engine answers queries of a table from rows that it keeps elsewhere:
 * what is in the table itself, and what its triggers see, is not what they return.
 * Citus lists such tables in pg_dist_partition, and has their relcache entries
 * invalidated when it enters or removes them.  Only superusers can make a table in
 * pg_catalog.
 */
bool
lb_kept_elsewhere(Oid relid)
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

/* Fill in what lb_resolve_defn() looks up, from the definition's source. */
static void
look_up_source(LbDefinition *defn, Relation rel, const LbCatalog *cat)
{
	TupleDesc	desc = RelationGetDescr(rel);
	char	   *name;
	Oid			type;
	const char *misfit = NULL;

	defn->checked_user = InvalidOid;
	defn->parts_valid = false;
	defn->problem = NULL;
	defn->relkind = rel->rd_rel->relkind;
	defn->owner = rel->rd_rel->relowner;
	defn->row_security = rel->rd_rel->relrowsecurity;

	/* The old one may be in use: the transaction frees it. */
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

	defn->member_attno = lb_find_column(desc, defn->member, &defn->member_type);
	if (!lb_member_type_ok(defn->member_type))
		misfit = "the member column is missing or of another type";
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbRankColumn *column = &defn->columns[i];

		column->attno = lb_find_column(desc, column->name, &column->type);
		if (i == 0 ? !lb_score_type_ok(column->type)
			: !lb_tie_type_ok(column->type))
			misfit = "a rank_by column is missing or of another type";
	}
	if (defn->family)
	{
		defn->board_attno = lb_find_column(desc, defn->board_column,
										   &defn->board_type);
		if (!lb_board_type_ok(defn->board_type))
			misfit = "the board column is missing or of another type";
		else
		{
			Oid			collation;

			collation = TupleDescAttr(desc, defn->board_attno - 1)->attcollation;
			if (OidIsValid(collation) &&
				!get_collation_isdeterministic(collation))
				defn->problem = lb_collation_problem;
		}
	}
	defn->ranked_attno = InvalidAttrNumber;
	if (defn->ranked_if[0] != '\0')
	{
		defn->ranked_attno = lb_find_column(desc, defn->ranked_if, &type);
		if (type != BOOLOID)
			misfit = "the ranked_if column is missing or of another type";
	}
	if (defn->relkind != RELKIND_RELATION &&
		defn->relkind != RELKIND_PARTITIONED_TABLE)
		defn->problem = "the source is not a table";
	else if (defn->relkind == RELKIND_RELATION &&
			 rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		defn->problem = "the source is not a table of the access method heap";
	if (has_virtual_column(desc, defn))
		defn->problem = "a column of the board is a virtual generated column";
	defn->misfit = misfit != NULL;
	if (defn->misfit)
		defn->problem = misfit;
	if (defn->problem == NULL && lb_kept_elsewhere(defn->source))
		defn->problem = lb_engine_problem;
	if (defn->problem == NULL && !has_member_index(rel, defn))
		defn->problem = lb_index_problem;
	defn->captured = cat != NULL && lb_has_triggers(rel, cat->capture, false);
	defn->keeps_rows = lb_may_keep_rows(rel, cat);
}

/*
 * Look up what the definition names in its source.  Raises if the source is
 * gone, or what a look-up can raise; what keeps the board from having an index
 * becomes its problem.
 */
void
lb_resolve_defn(LbDefinition *defn)
{
	const LbCatalog *cat = lb_catalog();
	Relation	rel;

	if (defn->resolved)
		return;

	/*
	 * A transaction that writes to a partition itself has no lock on the
	 * source.
	 */
	rel = RelationIdGetRelation(defn->source);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the source table of board \"%s\" does not exist",
						defn->name),
				 errhint("Use lb_drop_board() to remove the board.")));
	lb_defns_changed();

	/* Said first, so that an invalidation meanwhile takes it back. */
	defn->resolved = true;
	PG_TRY();
	{
		look_up_source(defn, rel, cat);
	}
	PG_CATCH();
	{
		defn->resolved = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
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
