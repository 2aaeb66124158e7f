/*-------------------------------------------------------------------------
 *
 * definition.c
 *	  Definitions of boards: what lb_board records, in a cache of the backend.
 *
 * An invalidation only marks what it concerns.  When lb_board is read again, a
 * definition whose row is still the same keeps its place in memory and what it
 * was resolved to (resolve.c).  So a new board beside thousands costs the work
 * for one.  Memory that a caller may still look at is kept until the
 * transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "boards/cache.h"
#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/definition_internal.h"
#include "boards/expression.h"
#include "boards/row_cache.h"
#include "boards/xact_end.h"
#include "index/core.h"
#include "util/compat.h"

/* A definition in the cache; its columns follow it. */
typedef struct CachedDefn
{
	LbDefinition defn;			/* must be first */
	uint64		load;			/* number of the load that found it last */
	int			place;			/* where that was, counted from 0 */
	uint32		row_len;
	char	   *row;			/* the row of lb_board that it was made from */
	struct CachedDefn *next;	/* of those that are unfinished or retired */
} CachedDefn;

StaticAssertDecl(sizeof(CachedDefn) + 7 * sizeof(LbColumn) <= 1024,
				 "an allocation set gives no more to a definition of a few columns");

/* The definitions, in several orders: */
static LbDefinition **defns = NULL; /* by name */
static LbDefinition **defns_by_id = NULL;
static LbDefinition **defns_by_source = NULL;	/* and name */
static LbDefinition **defns_as_read = NULL; /* as lb_board has them */
static int	ndefns = 0;
static bool defns_valid = false;
static bool any_parts = false;	/* may one of them have a list of partitions? */
static uint64 nscans = 0;
static CachedDefn *unfinished = NULL;	/* of a load that is not complete */
static CachedDefn *retired = NULL;	/* not recorded any more */
static uint64 nloads = 0;
static uint64 nchanges = 0;		/* of lb_defns_version() */
static uint64 ninvalidations = 0;	/* of lb_board */
static uint64 nrole_changes = 0;
static MemoryContext defns_context = NULL;
static List *old_names = NIL;	/* in TopMemoryContext; the names in
								 * defns_context */

static bool
source_is_before(uint64 i, const void *arg)
{
	return defns_by_source[i]->source < *(const Oid *) arg;
}

/* Where the definitions on a source begin in defns_by_source. */
static int
first_of_source(Oid source)
{
	return (int) lb_lower_bound((uint64) ndefns, source_is_before, &source);
}

static void
invalidate(Oid relid, void *arg)
{
	/* The callback of catalog.c, which is called first, looks at lb_board. */
	if (!lb_catalog_valid())
	{
		defns_valid = false;
		ninvalidations++;
	}
	if (relid != InvalidOid)
	{
		for (int i = first_of_source(relid);
			 i < ndefns && defns_by_source[i]->source == relid; i++)
		{
			defns_by_source[i]->resolved = false;
			nchanges++;
		}
	}
	for (int i = 0; i < ndefns && (relid == InvalidOid || any_parts); i++)
	{
		if (relid == InvalidOid || lb_is_part(defns[i], relid))
		{
			defns[i]->resolved = false;
			nchanges++;
		}
	}
}

/* A schema may have been renamed, which the texts of queries name. */
static void
namespace_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	for (int i = 0; i < ndefns; i++)
		defns[i]->resolved = false;
	nchanges++;
}

/* What an expression calls may have another name, rights or properties. */
static void
function_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	for (int i = 0; i < ndefns; i++)
	{
		if (!lb_has_expressions(defns[i]))
			continue;
		defns[i]->resolved = false;
		nchanges++;
	}
}

static bool
checks_domain(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbExpression *expression = defn->columns[i].expression;

		if (expression != NULL && expression->checks)
			return true;
	}
	return false;
}

/* What a domain checks, which the evaluation of an expression has compiled. */
static void
domain_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	for (int i = 0; i < ndefns; i++)
	{
		if (!defns[i]->resolved || !checks_domain(defns[i]))
			continue;
		defns[i]->resolved = false;
		nchanges++;
	}
}

static void
role_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	for (int i = 0; i < ndefns; i++)
		defns[i]->checked_user = InvalidOid;
	nrole_changes++;
}

static void
free_cached(CachedDefn *list)
{
	while (list != NULL)
	{
		CachedDefn *next = list->next;

		if (list->defn.source_name != NULL)
			pfree(list->defn.source_name - strlen("ONLY "));
		if (list->defn.parts != NULL)
			pfree(list->defn.parts);
		for (int i = 0; i < list->defn.ncolumns; i++)
		{
			if (list->defn.columns[i].expression != NULL)
				lb_free_expression(list->defn.columns[i].expression);
		}
		pfree(list->row);
		pfree(list);
		list = next;
	}
}

static void
free_retired(void)
{
	free_cached(retired);
	retired = NULL;
	list_free_deep(old_names);
	old_names = NIL;
}

static void
init(void)
{
	static bool done = false;

	if (done)
		return;
	lb_cache_register(invalidate, NULL);
	lb_at_xact_end(free_retired);
	CacheRegisterSyscacheCallback(NAMESPACEOID, namespace_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, function_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, domain_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(CONSTROID, domain_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, role_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, role_callback, (Datum) 0);

	/* The owner of the database is a member of pg_database_owner. */
	CacheRegisterSyscacheCallback(DATABASEOID, role_callback, (Datum) 0);
	done = true;
}

void
lb_forget_defns(void)
{
	AcceptInvalidationMessages();
	lb_catalog_forget();
	defns_valid = false;
}

static int
name_cmp(const void *a, const void *b)
{
	return strcmp((*(LbDefinition *const *) a)->name,
				  (*(LbDefinition *const *) b)->name);
}

static int
id_cmp(const void *a, const void *b)
{
	int32		x = (*(LbDefinition *const *) a)->id;
	int32		y = (*(LbDefinition *const *) b)->id;

	return x < y ? -1 : x > y;
}

static int
source_cmp(const void *a, const void *b)
{
	Oid			x = (*(LbDefinition *const *) a)->source;
	Oid			y = (*(LbDefinition *const *) b)->source;

	return x < y ? -1 : x > y ? 1 : name_cmp(a, b);
}

bool
lb_is_cached_defn(const LbDefinition *defn)
{
	return GetMemoryChunkContext(unconstify(LbDefinition *, defn)) == defns_context;
}

void
lb_copy_defn(LbDefinition *copy, const LbDefinition *defn)
{
	Size		size = defn->ncolumns * sizeof(LbColumn);

	*copy = *defn;
	copy->columns = palloc(size);
	memcpy(copy->columns, defn->columns, size);
}

/* The bytes of a row that do not change when it is written again unchanged. */
static const char *
row_data(HeapTuple tuple, uint32 *len)
{
	*len = tuple->t_len - offsetof(HeapTupleHeaderData, t_bits);
	return (char *) tuple->t_data + offsetof(HeapTupleHeaderData, t_bits);
}

/* Whether a definition was made from a row with the same bytes. */
static bool
is_of_row(const LbDefinition *defn, HeapTuple tuple, Oid lb_board)
{
	const CachedDefn *cached = (const CachedDefn *) defn;
	uint32		len;
	const char *row = row_data(tuple, &len);

	return cached->load != nscans && defn->catalog == lb_board &&
		cached->row_len == len && memcmp(cached->row, row, len) == 0;
}

/* The cached definition with that id, or NULL. */
static LbDefinition *
find_by_id(int32 id)
{
	LbDefinition key;
	LbDefinition *keyp = &key;
	LbDefinition **found;

	if (ndefns == 0)
		return NULL;
	key.id = id;
	found = bsearch(&keyp, defns_by_id, ndefns, sizeof(LbDefinition *),
					id_cmp);
	return found == NULL ? NULL : *found;
}

/*
 * The cached definition of a row, or NULL if the row is new or has changed.
 * In most cases it is the one that follows the previous row's.
 */
static LbDefinition *
known_row(HeapTuple tuple, TupleDesc desc, Oid lb_board, int *next)
{
	LbDefinition *defn;
	bool		isnull;

	if (*next < ndefns && is_of_row(defns_as_read[*next], tuple, lb_board))
		return defns_as_read[(*next)++];
	defn = find_by_id(DatumGetInt32(heap_getattr(tuple, Anum_lb_board_id,
												 desc, &isnull)));
	if (defn == NULL || !is_of_row(defn, tuple, lb_board))
		return NULL;
	*next = ((CachedDefn *) defn)->place + 1;
	return defn;
}

static LbExpression *
cache_expression(const LbExpression *expression)
{
	MemoryContext old;
	LbExpression *copy;

	if (expression == NULL)
		return NULL;
	old = MemoryContextSwitchTo(defns_context);
	copy = lb_copy_expression(expression);
	MemoryContextSwitchTo(old);
	return copy;
}

/* Make a definition of a row, in the memory of the cache. */
static LbDefinition *
cache_row(HeapTuple tuple, TupleDesc desc, Oid lb_board)
{
	LbDefinition defn;
	CachedDefn *cached;
	Size		size;
	uint32		len;
	const char *row = row_data(tuple, &len);

	lb_read_row(&defn, tuple, desc, lb_board);
	size = defn.ncolumns * sizeof(LbColumn);
	cached = MemoryContextAllocZero(defns_context, sizeof(CachedDefn) + size);
	cached->defn = defn;
	cached->defn.columns = (LbColumn *) (cached + 1);
	memcpy(cached->defn.columns, defn.columns, size);
	for (int i = 0; i < defn.ncolumns; i++)
		cached->defn.columns[i].expression = cache_expression(defn.columns[i].expression);
	pfree(defn.columns);
	cached->row = MemoryContextAlloc(defns_context, len);
	cached->next = unfinished;
	unfinished = cached;
	memcpy(cached->row, row, len);
	cached->row_len = len;
	return &cached->defn;
}

/*
 * The new array of one order: merges those of the old array that are still
 * recorded with the added ones, which are sorted here.
 */
static LbDefinition **
merge_defns(LbDefinition **before, LbDefinition **added, int nadded, int n,
			int (*cmp) (const void *, const void *))
{
	LbDefinition **result;
	int			a = 0;
	int			k = 0;

	result = MemoryContextAllocHuge(defns_context,
									Max(1, n) * sizeof(LbDefinition *));
	qsort(added, nadded, sizeof(LbDefinition *), cmp);
	for (int b = 0; b < ndefns; b++)
	{
		if (((CachedDefn *) before[b])->load != nscans)
			continue;
		while (a < nadded && cmp(&added[a], &before[b]) < 0)
			result[k++] = added[a++];
		result[k++] = before[b];
	}
	while (a < nadded)
		result[k++] = added[a++];
	Assert(k == n);
	return result;
}

/* Replace the definitions after lb_board was read; as_read is in its order. */
static void
replace_defns(LbDefinition **as_read, int n, LbDefinition **added, int nadded)
{
	LbDefinition **orders[4];
	LbDefinition **before[4];

	before[0] = defns;
	before[1] = defns_by_id;
	before[2] = defns_by_source;
	before[3] = defns_as_read;
	orders[0] = merge_defns(defns, added, nadded, n, name_cmp);
	orders[1] = merge_defns(defns_by_id, added, nadded, n, id_cmp);
	orders[2] = merge_defns(defns_by_source, added, nadded, n, source_cmp);
	orders[3] = MemoryContextAllocHuge(defns_context,
									   Max(1, n) * sizeof(LbDefinition *));
	if (n > 0)
		memcpy(orders[3], as_read, n * sizeof(LbDefinition *));

	/* Nothing fails from here on. */
	for (int i = 0; i < ndefns; i++)
	{
		CachedDefn *cached = (CachedDefn *) defns[i];

		if (cached->load == nscans)
			continue;
		cached->next = retired;
		retired = cached;
	}
	for (int i = 0; i < n; i++)
		((CachedDefn *) as_read[i])->place = i;
	unfinished = NULL;
	defns = orders[0];
	defns_by_id = orders[1];
	defns_by_source = orders[2];
	defns_as_read = orders[3];
	ndefns = n;
	nloads++;
	nchanges++;
	lb_next_generation();
	for (int i = 0; i < 4; i++)
	{
		if (before[i] != NULL)
			pfree(before[i]);
	}
}

/* Read lb_board; cat is NULL if the extension is not installed. */
static pg_noinline void
load_defns(const LbCatalog *cat)
{
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	LbDefinition **found;
	LbDefinition **added;
	int			n = 0;
	int			nadded = 0;
	int			next = 0;
	int			size = ndefns + 16;
	uint64		before = ninvalidations;

	init();
	if (defns_context == NULL)
		defns_context = AllocSetContextCreate(TopMemoryContext,
											  "leaderboard boards",
											  ALLOCSET_DEFAULT_SIZES);
	free_cached(unfinished);
	unfinished = NULL;
	nscans++;
	if (cat == NULL)
	{
		if (ndefns > 0)
			replace_defns(NULL, 0, NULL, 0);
		return;
	}

	found = palloc(size * sizeof(LbDefinition *));
	added = palloc(size * sizeof(LbDefinition *));
	rel = table_open(cat->lb_board, AccessShareLock);

	/* A catalog scan: the newest state, also in parallel mode. */
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		TupleDesc	desc = RelationGetDescr(rel);
		LbDefinition *defn = known_row(tuple, desc, cat->lb_board, &next);

		if (n == size)
		{
			size *= 2;
			found = repalloc_huge(found, size * sizeof(LbDefinition *));
			added = repalloc_huge(added, size * sizeof(LbDefinition *));
		}
		if (defn == NULL)
			defn = added[nadded++] = cache_row(tuple, desc, cat->lb_board);
		((CachedDefn *) defn)->load = nscans;
		found[n++] = defn;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	if (nadded > 0 || n < ndefns)
		replace_defns(found, n, added, nadded);
	pfree(found);
	pfree(added);

	/* An invalidation that came meanwhile makes it stale again. */
	defns_valid = ninvalidations == before;
}

void
lb_load_defns(void)
{
	const LbCatalog *cat = lb_catalog();

	if (cat == NULL || !defns_valid)
		load_defns(cat);
}

bool
lb_try_load_defns(void)
{
	const LbCatalog *cat = lb_catalog();
	Oid			lb_board;

	if (cat == NULL || defns_valid)
		return cat != NULL;
	lb_board = cat->lb_board;
	if (!ConditionalLockRelationOid(lb_board, AccessShareLock))
		return false;

	/* The lock may have come with an invalidation: the table may be gone. */
	cat = lb_catalog();
	if (cat != NULL && cat->lb_board == lb_board)
		load_defns(cat);
	UnlockRelationOid(lb_board, AccessShareLock);
	return lb_defns_valid();
}

LbDefinition *
lb_read_defn(const char *name)
{
	const LbCatalog *cat = lb_catalog();
	Relation	rel;
	Oid			index;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	LbDefinition *defn = NULL;

	if (cat == NULL)
		return NULL;
	rel = table_open(cat->lb_board, AccessShareLock);
	index = get_relname_relid("lb_board_pkey", RelationGetNamespace(rel));
	ScanKeyInit(&key, Anum_lb_board_board, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(name));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		defn = palloc(sizeof(LbDefinition));
		lb_read_row(defn, tuple, RelationGetDescr(rel), RelationGetRelid(rel));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return defn;
}

bool
lb_number_is_used(int32 id)
{
	Relation	rel = table_open(lb_catalog()->lb_board, AccessShareLock);
	Oid			index = get_relname_relid("lb_board_id_key",
										  RelationGetNamespace(rel));
	SnapshotData dirty;
	SysScanDesc scan;
	ScanKeyData key;
	bool		used;

	InitDirtySnapshot(dirty);
	ScanKeyInit(&key, Anum_lb_board_id, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(id));
	scan = systable_beginscan(rel, index, OidIsValid(index), &dirty, 1, &key);
	used = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return used;
}

bool
lb_has_others(const LbDefinition *defn)
{
	Relation	rel = table_open(defn->catalog, AccessShareLock);
	Oid			index = get_relname_relid("lb_board_source_idx",
										  RelationGetNamespace(rel));
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_lb_board_source, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(defn->source));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;

		found = DatumGetInt32(heap_getattr(tuple, Anum_lb_board_id,
										   RelationGetDescr(rel),
										   &isnull)) != defn->id;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

bool
lb_runs_others(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbExpression *expression = defn->columns[i].expression;

		if (expression != NULL && !expression->trusted)
			return true;
	}
	return false;
}

LbDefinition *
lb_find_defn_len(const char *name, int len)
{
	if (len > LB_MAX_NAME)
		return NULL;
	return lb_find_by_name((void *const *) defns, ndefns,
						   offsetof(LbDefinition, name), name, len);
}

LbDefinition *
lb_find_defn(const char *name)
{
	lb_load_defns();
	return lb_find_defn_len(name, strlen(name));
}

LbDefinition *
lb_defn_by_id(int32 id)
{
	lb_load_defns();
	return find_by_id(id);
}

int
lb_all_defns(LbDefinition ***result)
{
	lb_load_defns();
	*result = palloc(Max(1, ndefns) * sizeof(LbDefinition *));
	if (ndefns > 0)
		memcpy(*result, defns, ndefns * sizeof(LbDefinition *));
	return ndefns;
}

int
lb_defns_on(Oid source, LbDefinition ***result)
{
	static LbDefinition **found = NULL;
	static int	size = 0;
	static int	n = 0;
	static Oid	last_source = InvalidOid;
	static uint64 last_load = 0;

	lb_load_defns();

	/* The trigger asks for the same table again and again. */
	if (source != last_source || last_load != nloads)
	{
		n = 0;
		last_source = InvalidOid;
	}
	for (int i = source == last_source ? ndefns : first_of_source(source);
		 i < ndefns && defns_by_source[i]->source == source; i++)
	{
		if (n == size)
		{
			int			newsize = Max(8, size * 2);

			if (found == NULL)
				found = MemoryContextAlloc(TopMemoryContext,
										   newsize * sizeof(LbDefinition *));
			else
				found = repalloc(found, newsize * sizeof(LbDefinition *));
			size = newsize;
		}
		found[n++] = defns_by_source[i];
	}
	last_source = source;
	last_load = nloads;
	*result = found;
	return n;
}

bool
lb_defns_valid(void)
{
	return lb_catalog_valid() && defns_valid;
}

uint64
lb_defns_version(void)
{
	return nchanges;
}

void
lb_defns_have_parts(void)
{
	any_parts = true;
}

void
lb_retire_name(char *name)
{
	MemoryContext old;

	if (GetMemoryChunkContext(name) != defns_context)
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	old_names = lappend(old_names, name);
	MemoryContextSwitchTo(old);
}

bool
lb_is_part(const LbDefinition *defn, Oid relid)
{
	return defn->nparts > 0 &&
		bsearch(&relid, defn->parts, defn->nparts, sizeof(Oid),
				oid_cmp) != NULL;
}

static bool
may_read_column(const LbDefinition *defn, const LbColumn *column, Oid user)
{
	int			x = -1;

	if (column->expression == NULL)
		return pg_attribute_aclcheck(defn->source, column->attno, user,
									 ACL_SELECT) == ACLCHECK_OK;
	while ((x = bms_next_member(column->expression->attnos, x)) >= 0)
	{
		if (pg_attribute_aclcheck(defn->source,
								  x + FirstLowInvalidHeapAttributeNumber,
								  user, ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

static bool
may_evaluate(const LbExpression *expression, Oid user)
{
	ListCell   *lc;

	if (expression == NULL)
		return true;

	/* The query finds what it names by its name. */
	foreach(lc, expression->schemas)
	{
		if (pg_namespace_aclcheck(lfirst_oid(lc), user, ACL_USAGE) != ACLCHECK_OK)
			return false;
	}
	foreach(lc, expression->functions)
	{
		if (pg_proc_aclcheck(lfirst_oid(lc), user, ACL_EXECUTE) != ACLCHECK_OK ||
			pg_namespace_aclcheck(get_func_namespace(lfirst_oid(lc)), user,
								  ACL_USAGE) != ACLCHECK_OK)
			return false;
	}
	return true;
}

bool
lb_may_read(LbDefinition *defn)
{
	Oid			user = GetUserId();
	uint64		before = nrole_changes;
	bool		ok;

	if (defn->checked_user == user)
		return defn->checked_ok;

	ok = pg_class_aclcheck(defn->source, user, ACL_SELECT) == ACLCHECK_OK;
	if (!ok && defn->problem == NULL)
	{
		ok = true;
		for (int i = 0; ok && i < defn->ncolumns; i++)
			ok = may_read_column(defn, &defn->columns[i], user);
	}
	for (int i = 0; ok && i < defn->ncolumns; i++)
		ok = may_evaluate(defn->columns[i].expression, user);

	/* The query also needs the right to use the schema. */
	if (ok)
		ok = pg_namespace_aclcheck(get_rel_namespace(defn->source), user,
								   ACL_USAGE) == ACLCHECK_OK;
	defn->checked_user = nrole_changes == before ? user : InvalidOid;
	defn->checked_ok = ok;
	return ok;
}

void
lb_denied(const LbDefinition *defn, const char *privileges)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for table %s", get_rel_name(defn->source)),
			 errhint("The function runs with the privileges of the caller, who needs %s on the table.",
					 privileges)));
}
