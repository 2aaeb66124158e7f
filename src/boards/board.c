/*-------------------------------------------------------------------------
 *
 * board.c
 *	  Definitions of boards, and the directory of live boards.
 *
 * What lb_board records is read into a cache of the backend and resolved
 * against the source table when it is first used.  An invalidation only marks
 * what it concerns.  When lb_board is read again, a definition whose row is
 * still the same keeps its place in memory and all that it was resolved to, so
 * that one more of thousands of boards costs one more, not all of them anew.
 * Memory that a caller may still look at is kept until the transaction ends.
 *
 * The directory is a list of LbSharedBoards in shared memory, with hash tables by
 * lb_board.id, by source and by lb_board relation.  An LbSharedBoard holds its boards
 * in stripes; a plain board is the single one of stripe 0, a family's boards
 * are found by a hash of their value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "boards/board.h"
#include "ledger/backlog.h"
#include "ledger/publication.h"
#include "ledger/snapshot.h"
#include "reads/query.h"
#include "service/limit.h"
#include "service/watch.h"
#include "service/window.h"
#include "util/compat.h"

/* Columns of lb_board, as the install script has them. */
enum
{
	Anum_lb_board_board = 1,
	Anum_lb_board_id,
	Anum_lb_board_source,
	Anum_lb_board_member,
	Anum_lb_board_rank_by,
	Anum_lb_board_board_column,
	Anum_lb_board_method,
	Anum_lb_board_ranked_if
};

static LbCatalog catalog;
static bool catalog_valid = false;

const char	lb_collation_problem[] = "the board column has a nondeterministic collation";
const char	lb_partition_problem[] = "a partition is not a plain table";
const char	lb_engine_problem[] = "another engine keeps the rows of the table";
const char	lb_index_problem[] = "there is no valid unique index on the member";

static const char memory_used_up[] = "the shared memory of leaderboard.memory is used up";
static const char share_used_up[] = "the database's share, leaderboard.database_memory, is used up";

/* Definitions removed under one hold of the directory's lock. */
#define REMOVED_AT_ONCE 64

/* A definition in the cache. */
typedef struct CachedDefn
{
	LbDefinition defn;			/* must be first */
	uint64		load;			/* number of the load that found it last */
	int			place;			/* where that was, counted from 0 */
	uint32		row_len;
	char	   *row;			/* the row of lb_board that it was made from */
	struct CachedDefn *next;	/* of those that are unfinished or retired */
} CachedDefn;

StaticAssertDecl(sizeof(CachedDefn) <= 1024,
				 "an allocation set gives a definition no more than it needs");

/* The same definitions in several orders. */
static LbDefinition **defns = NULL; /* of their names */
static LbDefinition **defns_by_id = NULL;
static LbDefinition **defns_by_source = NULL;	/* ... and those of one, of
												 * their names */
static LbDefinition **defns_as_read = NULL; /* in which lb_board had them */
static int	ndefns = 0;
static bool defns_valid = false;
static bool any_parts = false;	/* may one of them know its partitions? */
static uint64 nscans = 0;
static CachedDefn *unfinished = NULL;	/* of a load that is not complete */
static CachedDefn *retired = NULL;	/* not recorded any more */
static uint64 nloads = 0;
static uint64 ninvalidations = 0;	/* of lb_board */
static uint64 nrole_changes = 0;
static uint64 generation = 0;	/* of what texts of statements are made from */
static MemoryContext defns_context = NULL;
static List *old_contexts = NIL;	/* in TopMemoryContext */
static List *old_names = NIL;	/* likewise; in defns_context */

/* Definitions by partition, for the trigger. */
typedef struct PartDefns
{
	Oid			relid;			/* hash key; must be first */
	int			n;
	LbDefinition **defns;
} PartDefns;

static HTAB *part_defns = NULL;
static HTAB *part_ancestors = NULL; /* what they are partitions of */
static MemoryContext part_context = NULL;
static bool part_valid = false;
static uint64 part_load = 0;	/* nloads at that time */


/* ----------------------------------------------------------------
 *		Invalidation
 * ----------------------------------------------------------------
 */

/* Where the definitions on a source begin in defns_by_source. */
static int
first_of_source(Oid source)
{
	int			lo = 0;
	int			hi = ndefns;

	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (defns_by_source[mid]->source < source)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
relcache_callback(Datum arg, Oid relid)
{
	if (relid == InvalidOid || !catalog_valid || relid == catalog.lb_board)
	{
		catalog_valid = false;
		defns_valid = false;
		ninvalidations++;
	}
	if (relid != InvalidOid)
	{
		for (int i = first_of_source(relid);
			 i < ndefns && defns_by_source[i]->source == relid; i++)
		{
			defns_by_source[i]->resolved = false;
			part_valid = false;
		}
	}
	for (int i = 0; i < ndefns && (relid == InvalidOid || any_parts); i++)
	{
		if (relid == InvalidOid ||
			(defns[i]->parts_valid && lb_is_part(defns[i], relid)))
		{
			defns[i]->resolved = false;
			part_valid = false;
		}
	}
	if (part_valid &&
		(hash_search(part_defns, &relid, HASH_FIND, NULL) != NULL ||
		 hash_search(part_ancestors, &relid, HASH_FIND, NULL) != NULL))
		part_valid = false;
	lb_window_invalidate(relid);
	lb_limit_invalidate(relid);
}

/* A schema was renamed, say: names in the queries may be wrong. */
static void
namespace_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	for (int i = 0; i < ndefns; i++)
		defns[i]->resolved = false;
	part_valid = false;
	generation++;
}

static void
role_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	for (int i = 0; i < ndefns; i++)
		defns[i]->checked_user = InvalidOid;
	nrole_changes++;
}

void
lb_board_init(void)
{
	static bool installed = false;

	if (installed)
		return;
	CacheRegisterRelcacheCallback(relcache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, namespace_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, role_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, role_callback, (Datum) 0);

	/* Its owner is a member of pg_database_owner. */
	CacheRegisterSyscacheCallback(DATABASEOID, role_callback, (Datum) 0);
	installed = true;
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
		pfree(list->row);
		pfree(list);
		list = next;
	}
}

void
lb_board_at_xact_end(void)
{
	ListCell   *lc;

	lb_window_at_xact_end();
	lb_limit_at_xact_end();
	free_cached(retired);
	retired = NULL;
	list_free_deep(old_names);
	old_names = NIL;
	if (old_contexts == NIL)
		return;
	foreach(lc, old_contexts)
		MemoryContextDelete((MemoryContext) lfirst(lc));
	list_free(old_contexts);
	old_contexts = NIL;
}

void
lb_forget_defns(void)
{
	AcceptInvalidationMessages();
	catalog_valid = false;
	defns_valid = false;
}

uint64
lb_defns_generation(void)
{
	return generation;
}


/* ----------------------------------------------------------------
 *		The extension's own catalog
 * ----------------------------------------------------------------
 */

static pg_noinline const LbCatalog *
find_catalog(void)
{
	Relation	rel;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	LbCatalog	found;
	uint64		before;

	lb_board_init();
	before = ninvalidations;
	memset(&found, 0, sizeof(found));

	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum("leaderboard"));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_extension ext = (Form_pg_extension) GETSTRUCT(tuple);
		Datum		version;
		bool		isnull;

		found.extension = ext->oid;
		found.schema = ext->extnamespace;
		version = heap_getattr(tuple, Anum_pg_extension_extversion,
							   RelationGetDescr(rel), &isnull);
		found.version_ok = !isnull &&
			strcmp(TextDatumGetCString(version), LB_VERSION) == 0;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	if (!OidIsValid(found.extension))
		return NULL;

	found.lb_board = get_relname_relid("lb_board", found.schema);
	if (!OidIsValid(found.lb_board))
		return NULL;
	found.capture = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
									CStringGetDatum("lb_capture"),
									PointerGetDatum(buildoidvector(NULL, 0)),
									ObjectIdGetDatum(found.schema));
	found.set_updated_at =
		GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						CStringGetDatum("lb_set_updated_at"),
						PointerGetDatum(buildoidvector(NULL, 0)),
						ObjectIdGetDatum(found.schema));

	/* Texts name what is in its schema. */
	if (memcmp(&catalog, &found, sizeof(found)) != 0)
		generation++;
	catalog = found;

	/* As load_defns() does. */
	catalog_valid = ninvalidations == before;
	return &catalog;
}

const LbCatalog *
lb_catalog(void)
{
	/* Asked for each row that is written. */
	return catalog_valid ? &catalog : find_catalog();
}

void
lb_require_version(void)
{
	const LbCatalog *cat = lb_catalog();

	if (cat != NULL && !cat->version_ok)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("leaderboard's library and its SQL objects are of different versions"),
				 errdetail("The server has loaded version %s of the library.",
						   LB_VERSION),
				 errhint("Restart the server, or run ALTER EXTENSION leaderboard UPDATE.")));
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

static LbMethod
method_from_text(const char *s)
{
	if (strcmp(s, "rank") == 0)
		return LB_RANK;
	if (strcmp(s, "dense_rank") == 0)
		return LB_DENSE_RANK;
	return LB_ROW_NUMBER;
}

/*
 * rank_by of lb_board, which somebody may have written by hand.  What cannot
 * be parsed becomes a column without a name, which no table has: a problem of
 * that board, and not an error for whoever writes to its table.
 */
static int
parse_recorded(const char *rank_by, LbRankColumn *columns)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int n = 1;

	PG_TRY();
	{
		n = lb_parse_rank_by(rank_by, columns);
	}
	PG_CATCH();
	{
		int			category = ERRCODE_TO_CATEGORY(geterrcode());

		/* That there is no memory, say, is nothing about what is recorded. */
		if (category == ERRCODE_INSUFFICIENT_RESOURCES ||
			category == ERRCODE_OPERATOR_INTERVENTION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		memset(columns, 0, sizeof(LbRankColumn));
		n = 1;
	}
	PG_END_TRY();
	return n;
}

/*
 * A hash of what the keys of an index depend on, lest a definition that was
 * changed by hand be taken for the one that its index was built by.
 */
static uint32
fingerprint(const LbDefinition *defn, const char *rank_by)
{
	StringInfoData buf;
	uint32		hash;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%u %s|%s|%s|%s", defn->source, defn->member,
					 rank_by, defn->board_column, defn->ranked_if);
	hash = hash_bytes((const unsigned char *) buf.data, buf.len);
	pfree(buf.data);
	return hash;
}

/* What lb_board says of a board in a row. */
static void
read_row(LbDefinition *defn, HeapTuple tuple, TupleDesc desc, Oid lb_board)
{
	bool		isnull;
	char	   *string;
	Datum		d;

	memset(defn, 0, sizeof(LbDefinition));
	defn->catalog = lb_board;
	d = heap_getattr(tuple, Anum_lb_board_board, desc, &isnull);
	string = TextDatumGetCString(d);
	strlcpy(defn->name, string, NAMEDATALEN);
	pfree(string);
	defn->id = DatumGetInt32(heap_getattr(tuple, Anum_lb_board_id,
										  desc, &isnull));
	defn->source = DatumGetObjectId(heap_getattr(tuple, Anum_lb_board_source,
												 desc, &isnull));
	d = heap_getattr(tuple, Anum_lb_board_member, desc, &isnull);
	strlcpy(defn->member, NameStr(*DatumGetName(d)), NAMEDATALEN);
	d = heap_getattr(tuple, Anum_lb_board_board_column, desc, &isnull);
	defn->family = !isnull;
	if (!isnull)
		strlcpy(defn->board_column, NameStr(*DatumGetName(d)), NAMEDATALEN);
	d = heap_getattr(tuple, Anum_lb_board_method, desc, &isnull);
	string = TextDatumGetCString(d);
	defn->method = method_from_text(string);
	pfree(string);
	d = heap_getattr(tuple, Anum_lb_board_ranked_if, desc, &isnull);
	if (!isnull)
		strlcpy(defn->ranked_if, NameStr(*DatumGetName(d)), NAMEDATALEN);
	d = heap_getattr(tuple, Anum_lb_board_rank_by, desc, &isnull);
	string = TextDatumGetCString(d);
	defn->ncolumns = parse_recorded(string, defn->columns);
	defn->member_words = 1;
	defn->width = defn->ncolumns + defn->member_words;
	defn->fingerprint = fingerprint(defn, string);
	pfree(string);
}

/* A row without its transaction ids and its place. */
static const char *
row_data(HeapTuple tuple, uint32 *len)
{
	*len = tuple->t_len - offsetof(HeapTupleHeaderData, t_bits);
	return (char *) tuple->t_data + offsetof(HeapTupleHeaderData, t_bits);
}

/* Whether a definition was made from a row that was just like this one. */
static bool
is_of_row(const LbDefinition *defn, HeapTuple tuple, Oid lb_board)
{
	const CachedDefn *cached = (const CachedDefn *) defn;
	uint32		len;
	const char *row = row_data(tuple, &len);

	return cached->load != nscans && defn->catalog == lb_board &&
		cached->row_len == len && memcmp(cached->row, row, len) == 0;
}

/* The cached definition with a number, or NULL. */
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
 * The cached definition of a row, or NULL if it is new or has changed.  Mostly
 * it is the one after that of the row before.
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

/* A definition of a row, in the cache's memory. */
static LbDefinition *
cache_row(HeapTuple tuple, TupleDesc desc, Oid lb_board)
{
	CachedDefn *cached;
	uint32		len;
	const char *row = row_data(tuple, &len);

	cached = MemoryContextAllocZero(defns_context, sizeof(CachedDefn));
	cached->row = MemoryContextAlloc(defns_context, len);
	cached->next = unfinished;
	unfinished = cached;
	memcpy(cached->row, row, len);
	cached->row_len = len;
	read_row(&cached->defn, tuple, desc, lb_board);
	return &cached->defn;
}

/*
 * An order of the definitions as it is now: of the ones before those that are
 * still there, and the added ones, which are sorted here.
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

/* lb_board was read: these are the definitions, as it has them. */
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
	generation++;
	lb_query_forget();
	for (int i = 0; i < 4; i++)
	{
		if (before[i] != NULL)
			pfree(before[i]);
	}
}

/* Read lb_board anew, if need be. */
static void
load_defns(void)
{
	const LbCatalog *cat = lb_catalog();
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

	if (cat != NULL && defns_valid)
		return;

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

	/* What came in meanwhile makes what we have read stale again. */
	defns_valid = ninvalidations == before;
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
		read_row(defn, tuple, RelationGetDescr(rel), RelationGetRelid(rel));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return defn;
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

static LbDefinition *
find_defn(const char *name, int len)
{
	int			lo = 0;
	int			hi = ndefns;

	if (len > LB_MAX_NAME)
		return NULL;
	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;
		int			c = strncmp(defns[mid]->name, name, len);

		if (c == 0 && defns[mid]->name[len] != '\0')
			c = 1;
		if (c == 0)
			return defns[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

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

const Trigger *
lb_capture_trigger(Relation rel, Oid capture, bool row, bool fires)
{
	TriggerDesc *desc = rel->trigdesc;
	const int16 all = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE |
		TRIGGER_TYPE_DELETE;
	const int16 events = row ? all : TRIGGER_TYPE_TRUNCATE;

	for (int i = 0; desc != NULL && i < desc->numtriggers; i++)
	{
		const Trigger *trigger = &desc->triggers[i];

		if (trigger->tgfoid == capture &&
			TRIGGER_FOR_AFTER(trigger->tgtype) &&
			(TRIGGER_FOR_ROW(trigger->tgtype) != 0) == row &&
			(trigger->tgtype & events) == events &&
			trigger->tgqual == NULL && trigger->tgnattr == 0 &&
			!trigger->tgdeferrable &&
			(!fires || trigger->tgenabled == TRIGGER_FIRES_ALWAYS))
			return trigger;
	}
	return NULL;
}

/*
 * Whether our row trigger is there and fires, and unless it is a partition our
 * TRUNCATE trigger.
 */
static bool
has_triggers(Relation rel, Oid capture, bool part)
{
	return lb_capture_trigger(rel, capture, true, true) != NULL &&
		(part || lb_capture_trigger(rel, capture, false, true) != NULL);
}

bool
lb_is_captured(Oid source)
{
	const LbCatalog *cat;
	List	   *rels;
	ListCell   *lc;
	bool		result = true;

	AcceptInvalidationMessages();
	cat = lb_catalog();
	if (cat == NULL)
		return true;
	rels = find_all_inheritors(source, NoLock, NULL);
	foreach(lc, rels)
	{
		Relation	rel = RelationIdGetRelation(lfirst_oid(lc));

		if (rel == NULL)
			continue;

		/* Children of a plain table are not part of the board. */
		if (lfirst_oid(lc) == source)
			result &= has_triggers(rel, cat->capture, false);
		else if (rel->rd_rel->relispartition &&
				 rel->rd_rel->relkind == RELKIND_RELATION)
			result &= has_triggers(rel, cat->capture, true);
		RelationClose(rel);
	}
	list_free(rels);
	return result;
}

bool
lb_has_row_trigger(Oid source)
{
	const LbCatalog *cat = lb_catalog();
	Relation	rel = RelationIdGetRelation(source);
	bool		result = false;

	if (rel == NULL)
		return false;
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		result |= cat != NULL && trigger->tgfoid == cat->capture &&
			TRIGGER_FOR_ROW(trigger->tgtype);
	}
	RelationClose(rel);
	return result;
}

/* Whether a row trigger of the user's comes before what is written. */
static bool
may_keep_rows(Relation rel, const LbCatalog *cat)
{
	TriggerDesc *desc = rel->trigdesc;

	if (desc == NULL ||
		(!desc->trig_insert_before_row && !desc->trig_update_before_row))
		return false;
	for (int i = 0; i < desc->numtriggers; i++)
	{
		Trigger    *trigger = &desc->triggers[i];

		/* No look-ups here: they could have the descriptor made anew. */
		if (trigger->tgenabled != TRIGGER_DISABLED &&
			TRIGGER_FOR_ROW(trigger->tgtype) &&
			TRIGGER_FOR_BEFORE(trigger->tgtype) &&
			(TRIGGER_FOR_INSERT(trigger->tgtype) ||
			 TRIGGER_FOR_UPDATE(trigger->tgtype)) &&
			(cat == NULL || trigger->tgfoid != cat->set_updated_at))
			return true;
	}
	return false;
}

static AttrNumber
find_column(TupleDesc desc, const char *name, Oid *type)
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

/* Free a name at the end of the transaction, if it is of the cache. */
static void
retire_name(char *name)
{
	MemoryContext old;

	if (GetMemoryChunkContext(name) != defns_context)
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	old_names = lappend(old_names, name);
	MemoryContextSwitchTo(old);
}

/*
 * Whether an engine answers queries of a table from rows that it keeps elsewhere:
 * what is in the table itself, and what its triggers see, is not what they return.
 * Citus lists such tables in pg_dist_partition, and has their relcache entries
 * invalidated when it enters or removes them.  Only superusers can make a table in
 * pg_catalog.
 */
static bool
kept_elsewhere(Oid relid)
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

/* Fill in what resolve() looks up, from the definition's source. */
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
			retire_name(defn->source_name - strlen("ONLY "));
		defn->source_name = only + strlen("ONLY ");
		defn->from_name = defn->relkind == RELKIND_PARTITIONED_TABLE ?
			defn->source_name : only;
	}

	defn->member_attno = find_column(desc, defn->member, &defn->member_type);
	if (!lb_member_type_ok(defn->member_type))
		misfit = "the member column is missing or of another type";
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbRankColumn *column = &defn->columns[i];

		column->attno = find_column(desc, column->name, &column->type);
		if (i == 0 ? !lb_score_type_ok(column->type)
			: !lb_tie_type_ok(column->type))
			misfit = "a rank_by column is missing or of another type";
	}
	if (defn->family)
	{
		defn->board_attno = find_column(desc, defn->board_column,
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
		defn->ranked_attno = find_column(desc, defn->ranked_if, &type);
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
	if (defn->problem == NULL && kept_elsewhere(defn->source))
		defn->problem = lb_engine_problem;
	if (defn->problem == NULL && !has_member_index(rel, defn))
		defn->problem = lb_index_problem;
	defn->captured = cat != NULL && has_triggers(rel, cat->capture, false);
	defn->keeps_rows = may_keep_rows(rel, cat);
}

/*
 * Look up what the definition names in its source.  Raises if the source is
 * gone, or what a look-up can raise; what keeps the board from having an index
 * becomes its problem.
 */
static void
resolve(LbDefinition *defn)
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
	lb_query_forget();
	generation++;

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

bool
lb_is_part(const LbDefinition *defn, Oid relid)
{
	return defn->nparts > 0 &&
		bsearch(&relid, defn->parts, defn->nparts, sizeof(Oid),
				oid_cmp) != NULL;
}

/* Lock what is below a partitioned table.  See lb_resolve_parts(). */
static bool
lock_parts(Oid source, bool wait, List **parts)
{
	for (;;)
	{
		List	   *before = find_all_inheritors(source, NoLock, NULL);
		ListCell   *lc;

		foreach(lc, before)
		{
			Oid			relid = lfirst_oid(lc);

			if (wait)
				LockRelationOid(relid, AccessShareLock);
			else if (!ConditionalLockRelationOid(relid, AccessShareLock))
				return false;
		}

		/* They may have changed while we waited. */
		*parts = find_all_inheritors(source, NoLock, NULL);
		if (list_difference_oid(*parts, before) == NIL)
			return true;
	}
}

/* What the partitions, which lb_resolve_parts() has locked, say of the board. */
static void
look_up_parts(LbDefinition *defn, List *parts, const LbCatalog *cat)
{
	ListCell   *lc;

	foreach(lc, parts)
	{
		Relation	rel;

		if (lfirst_oid(lc) == defn->source)
			continue;
		rel = try_relation_open(lfirst_oid(lc), NoLock);
		if (rel == NULL)
			continue;
		if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		{
			if (rel->rd_rel->relkind != RELKIND_RELATION ||
				rel->rd_rel->relam != HEAP_TABLE_AM_OID)
			{
				if (defn->problem == NULL)
					defn->problem = lb_partition_problem;
			}
			else if (defn->problem == NULL && kept_elsewhere(lfirst_oid(lc)))
				defn->problem = lb_engine_problem;
			if (cat == NULL || !has_triggers(rel, cat->capture, true))
				defn->captured = false;
			defn->keeps_rows |= may_keep_rows(rel, cat);
		}
		relation_close(rel, NoLock);
	}
}

bool
lb_resolve_parts(LbDefinition *defn, bool wait)
{
	const LbCatalog *cat;
	List	   *parts;
	ListCell   *lc;
	MemoryContext context;
	Oid		   *oids;
	int			n = 0;

	if (defn->relkind != RELKIND_PARTITIONED_TABLE || defn->parts_valid)
		return true;
	context = AllocSetContextCreate(CurrentMemoryContext,
									"leaderboard partitions",
									ALLOCSET_SMALL_SIZES);
	context = MemoryContextSwitchTo(context);
	if (!lock_parts(defn->source, wait, &parts))
	{
		MemoryContextDelete(MemoryContextSwitchTo(context));
		return false;
	}
	cat = lb_catalog();
	oids = MemoryContextAlloc(GetMemoryChunkContext(defn),
							  list_length(parts) * sizeof(Oid));
	foreach(lc, parts)
	{
		if (lfirst_oid(lc) != defn->source)
			oids[n++] = lfirst_oid(lc);
	}
	qsort(oids, n, sizeof(Oid), oid_cmp);
	if (defn->parts != NULL)
		pfree(defn->parts);
	defn->parts = oids;
	defn->nparts = n;

	/* From here on an invalidation of one of them is noticed. */
	defn->parts_valid = true;
	any_parts = true;
	PG_TRY();
	{
		look_up_parts(defn, parts, cat);
	}
	PG_CATCH();
	{
		defn->parts_valid = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextDelete(MemoryContextSwitchTo(context));
	return true;
}

LbDefinition *
lb_part_defn(const LbDefinition *defn, Relation part)
{
	LbDefinition *copy = palloc(sizeof(LbDefinition));
	TupleDesc	desc = RelationGetDescr(part);
	Oid			type;

	*copy = *defn;
	copy->member_attno = find_column(desc, defn->member, &type);
	for (int i = 0; i < defn->ncolumns; i++)
		copy->columns[i].attno = find_column(desc, defn->columns[i].name,
											 &type);
	if (defn->family)
		copy->board_attno = find_column(desc, defn->board_column, &type);
	if (defn->ranked_if[0] != '\0')
		copy->ranked_attno = find_column(desc, defn->ranked_if, &type);
	return copy;
}

/* A board value of an integer column must be spelled as SQL would print it. */
static void
check_integer_value(const LbDefinition *defn, const char *name, int len,
					const LbValue *value)
{
	char		buf[32];
	bool		ok = value->len > 0 && value->len < (int) sizeof(buf) - 1;

	if (ok)
	{
		char	   *end;
		int64		n;

		memcpy(buf, value->data, value->len);
		buf[value->len] = '\0';
		errno = 0;
		n = strtoi64(buf, &end, 10);
		ok = errno == 0 && *end == '\0';
		if (ok && defn->board_type == INT4OID)
			ok = n >= PG_INT32_MIN && n <= PG_INT32_MAX;
		if (ok && defn->board_type == INT2OID)
			ok = n >= PG_INT16_MIN && n <= PG_INT16_MAX;
		if (ok)
		{
			char		canonical[32];

			snprintf(canonical, sizeof(canonical), INT64_FORMAT, n);
			ok = strcmp(canonical, buf) == 0;
		}
	}
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("board \"%.*s\" does not exist", len, name),
				 errdetail("The boards of \"%s\" are named by integers of type %s.",
						   defn->name, format_type_be(defn->board_type))));
}

/*
 * The definition that a name leads to, or NULL; of the target, fills in the
 * value, its hash and its prefix.
 */
static inline LbDefinition *
find_name(const char *name, int len, LbTarget *target)
{
	LbDefinition *defn = NULL;
	const char *given = name;
	const char *colon;

	load_defns();
	target->has_value = false;
	target->hash = 0;
	target->prefix_len = 0;
	colon = memchr(name, ':', len);
	if (colon == NULL)
	{
		int			keylen;
		char	   *key;

		defn = find_defn(name, len);
		if (defn != NULL)
			return defn;
		key = lb_window_alias(name, len, &keylen);
		if (key == NULL)
			return NULL;

		/* From here on it is the window's key. */
		name = key;
		len = keylen;
		colon = memchr(name, ':', len);
	}
	if (colon != NULL)
		defn = find_defn(name, colon - name);
	if (defn != NULL && defn->family)
	{
		target->value.data = colon + 1;
		target->value.len = len - (colon + 1 - name);
	}
	else
	{
		defn = find_defn("*", 1);
		if (defn != NULL && !defn->family)
			defn = NULL;
		target->value.data = name;
		target->value.len = len;

		/* The key of a window that was named is no mistake. */
		if (name == given)
			target->prefix_len = colon - name;
	}
	target->has_value = true;
	target->hash = lb_value_hash(&target->value);
	return defn;
}

bool
lb_look_up_name(const char *name, int len, LbTarget *target)
{
	target->defn = find_name(name, len, target);
	if (target->defn != NULL)
		target->stripe = lb_value_stripe(target->defn->family, target->hash);
	return target->defn != NULL;
}

void
lb_find_target(const char *name, int len, LbTarget *target)
{
	Oid			locked = InvalidOid;

	for (;;)
	{
		LbDefinition *defn = find_name(name, len, target);

		if (defn == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("board \"%.*s\" does not exist", len, name),
					 lb_catalog() == NULL ?
					 errhint("The extension leaderboard is not installed in this database.") :
					 errhint("The table lb_board lists the boards; lb_create_board() makes one.")));

		/* The lock may bring in invalidations: then look again. */
		if (defn->source != locked)
		{
			locked = defn->source;
			LockRelationOid(locked, AccessShareLock);
			if (!catalog_valid || !defns_valid)
				continue;
		}
		resolve(defn);
		(void) lb_resolve_parts(defn, true);
		if (!catalog_valid || !defns_valid || !defn->resolved)
			continue;
		target->defn = defn;
		if (target->has_value &&
			(defn->board_type == INT2OID || defn->board_type == INT4OID ||
			 defn->board_type == INT8OID))
			check_integer_value(defn, name, len, &target->value);
		target->stripe = lb_value_stripe(defn->family, target->hash);
		return;
	}
}

int
lb_defns_of(Oid source, LbDefinition ***result)
{
	static LbDefinition **found = NULL;
	static int	size = 0;
	static int	n = 0;
	static Oid	last_source = InvalidOid;
	static uint64 last_load = 0;

	load_defns();

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
	for (int i = 0; i < n; i++)
		resolve(found[i]);
	*result = found;
	return n;
}

LbDefinition *
lb_defn_of(Oid source, Oid catalog, int32 id)
{
	LbDefinition *defn = lb_defn_by_id(id);

	if (defn == NULL || defn->source != source || defn->catalog != catalog)
		return NULL;
	resolve(defn);
	return defn;
}

LbDefinition *
lb_defn_by_id(int32 id)
{
	load_defns();
	return find_by_id(id);
}

void
lb_resolve_defn(LbDefinition *defn)
{
	resolve(defn);
}

int
lb_defns_of_rows(Relation rel, LbDefinition ***result)
{
	Oid			relid = RelationGetRelid(rel);
	PartDefns  *entry;
	bool		found;
	List	   *ancestors;
	ListCell   *lc;
	LbDefinition **theirs;
	int			n;
	MemoryContext old;

	if (!rel->rd_rel->relispartition)
		return lb_defns_of(relid, result);

	load_defns();
	if (!part_valid || part_load != nloads)
	{
		HASHCTL		ctl;

		/* Somebody may still look at the old ones. */
		if (part_context != NULL)
		{
			old = MemoryContextSwitchTo(TopMemoryContext);
			old_contexts = lappend(old_contexts, part_context);
			MemoryContextSwitchTo(old);
			part_context = NULL;
		}
		part_valid = false;
		part_context = AllocSetContextCreate(TopMemoryContext,
											 "leaderboard partitions",
											 ALLOCSET_SMALL_SIZES);
		memset(&ctl, 0, sizeof(ctl));
		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(PartDefns);
		ctl.hcxt = part_context;
		part_defns = hash_create("leaderboard partitions", 32, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		ctl.entrysize = sizeof(Oid);
		part_ancestors = hash_create("leaderboard partitioned tables", 32,
									 &ctl,
									 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		part_load = nloads;
		part_valid = true;
	}
	entry = hash_search(part_defns, &relid, HASH_FIND, NULL);
	if (entry != NULL)
	{
		*result = entry->defns;
		return entry->n;
	}

	/* Enter it first, so that an invalidation of it is noticed. */
	entry = hash_search(part_defns, &relid, HASH_ENTER, &found);
	entry->n = 0;
	entry->defns = NULL;
	PG_TRY();
	{
		old = MemoryContextSwitchTo(part_context);
		ancestors = lcons_oid(relid, get_partition_ancestors(relid));
		entry->defns = palloc(Max(1, ndefns) * sizeof(LbDefinition *));
		foreach(lc, ancestors)
		{
			if (lfirst_oid(lc) != relid)
				(void) hash_search(part_ancestors, &lfirst_oid(lc),
								   HASH_ENTER, NULL);
			n = lb_defns_of(lfirst_oid(lc), &theirs);
			for (int i = 0; i < n; i++)
				entry->defns[entry->n++] = lb_part_defn(theirs[i], rel);
		}
		entry->defns = repalloc(entry->defns,
								Max(1, entry->n) * sizeof(LbDefinition *));
		MemoryContextSwitchTo(old);
	}
	PG_CATCH();
	{
		part_valid = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
	*result = entry->defns;
	return entry->n;
}

LbDefinition *
lb_find_defn(const char *name)
{
	load_defns();
	return find_defn(name, strlen(name));
}

int
lb_all_defns(LbDefinition ***result)
{
	load_defns();
	*result = palloc(Max(1, ndefns) * sizeof(LbDefinition *));
	if (ndefns > 0)
		memcpy(*result, defns, ndefns * sizeof(LbDefinition *));
	return ndefns;
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
		ok = pg_attribute_aclcheck(defn->source, defn->member_attno, user,
								   ACL_SELECT) == ACLCHECK_OK;
		for (int i = 0; ok && i < defn->ncolumns; i++)
			ok = pg_attribute_aclcheck(defn->source, defn->columns[i].attno,
									   user, ACL_SELECT) == ACLCHECK_OK;
		if (ok && defn->family)
			ok = pg_attribute_aclcheck(defn->source, defn->board_attno, user,
									   ACL_SELECT) == ACLCHECK_OK;
		if (ok && defn->ranked_attno != InvalidAttrNumber)
			ok = pg_attribute_aclcheck(defn->source, defn->ranked_attno, user,
									   ACL_SELECT) == ACLCHECK_OK;
	}
	/* The query also needs the right to use the schema. */
	if (ok)
		ok = pg_namespace_aclcheck(get_rel_namespace(defn->source), user,
								   ACL_USAGE) == ACLCHECK_OK;
	defn->checked_user = nrole_changes == before ? user : InvalidOid;
	defn->checked_ok = ok;
	return ok;
}

uint32
lb_value_hash(const LbValue *value)
{
	return hash_bytes((const unsigned char *) value->data, value->len);
}


/* ----------------------------------------------------------------
 *		Directory
 * ----------------------------------------------------------------
 */

static inline dlist_head *
bucket(dlist_head *table, uint32 a, uint32 b)
{
	return &table[hash_combine(murmurhash32(a), murmurhash32(b)) %
				  LB_DIRECTORY_BUCKETS];
}

static inline dlist_head *
bucket_of_id(Oid database, int32 id)
{
	return bucket(lb_shared->defs_by_id, database, (uint32) id);
}

static inline dlist_head *
bucket_of_source(Oid database, Oid source)
{
	return bucket(lb_shared->defs_by_source, database, source);
}

static inline dlist_head *
bucket_of_catalog(Oid database, Oid cat)
{
	return bucket(lb_shared->defs_by_catalog, database, cat);
}

static LbSharedBoard *
directory_find(Oid database, Oid cat, int32 id)
{
	dlist_iter	iter;

	dlist_foreach(iter, bucket_of_id(database, id))
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node_by_id,
												iter.cur);

		if (shared->database == database && shared->catalog == cat &&
			shared->id == id)
			return shared;
	}
	return NULL;
}

static LbSharedBoard *
directory_find_source(Oid database, Oid source)
{
	dlist_iter	iter;

	dlist_foreach(iter, bucket_of_source(database, source))
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node_by_source,
												iter.cur);

		if (shared->database == database && shared->source == source)
			return shared;
	}
	return NULL;
}

static LbSharedBoard *
directory_find_catalog(Oid database, Oid cat)
{
	dlist_iter	iter;

	dlist_foreach(iter, bucket_of_catalog(database, cat))
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node_by_catalog,
												iter.cur);

		if (shared->database == database && shared->catalog == cat)
			return shared;
	}
	return NULL;
}

static void
directory_enter(LbSharedBoard *shared)
{
	dlist_push_tail(&lb_shared->defs, &shared->node);
	dlist_push_head(bucket_of_id(shared->database, shared->id),
					&shared->node_by_id);
	dlist_push_head(bucket_of_source(shared->database, shared->source),
					&shared->node_by_source);
	dlist_push_head(bucket_of_catalog(shared->database, shared->catalog),
					&shared->node_by_catalog);
}

static void
directory_delete(LbSharedBoard *shared)
{
	dlist_delete(&shared->node);
	dlist_delete(&shared->node_by_id);
	dlist_delete(&shared->node_by_source);
	dlist_delete(&shared->node_by_catalog);
}

void
lb_directory_init(void)
{
	dlist_init(&lb_shared->defs);
	dlist_init(&lb_shared->free_defs);
	for (int i = 0; i < LB_DIRECTORY_BUCKETS; i++)
	{
		dlist_init(&lb_shared->defs_by_id[i]);
		dlist_init(&lb_shared->defs_by_source[i]);
		dlist_init(&lb_shared->defs_by_catalog[i]);
	}
}

void
lb_shared_board_look_up(Oid relation, bool *source, bool *cat)
{
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	*source = directory_find_source(MyDatabaseId, relation) != NULL;
	*cat = directory_find_catalog(MyDatabaseId, relation) != NULL;
	LWLockRelease(&lb_shared->directory_lock);
}

void
lb_shared_board_visit(Oid relation,
					  void (*visit) (LbSharedBoard *shared, void *arg),
					  void *arg)
{
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, bucket_of_source(MyDatabaseId, relation))
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node_by_source, iter.cur);

		if (shared->database == MyDatabaseId && shared->source == relation)
			visit(shared, arg);
	}
	dlist_foreach(iter, bucket_of_catalog(MyDatabaseId, relation))
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node_by_catalog, iter.cur);

		if (shared->database == MyDatabaseId && shared->catalog == relation)
			visit(shared, arg);
	}
	LWLockRelease(&lb_shared->directory_lock);
}

/*
 * What is kept of a database.  When there are more databases than there is room
 * for, the last entry serves those that are left.
 */
static LbDatabase *
directory_database(Oid database)
{
	LbDatabase *unused = NULL;
	dlist_iter	iter;

	for (int i = 0; i < LB_MAX_DATABASES; i++)
	{
		LbDatabase *db = &lb_shared->databases[i];

		if (db->database == database)
			return db;
		if (!OidIsValid(db->database) && unused == NULL)
			unused = db;
	}
	if (unused == NULL)
	{
		/* One that no definition needs any more? */
		for (int i = 0; i < LB_MAX_DATABASES - 1 && unused == NULL; i++)
		{
			LbDatabase *db = &lb_shared->databases[i];

			if (db->account.used != 0 || db->unknown.last != 0)
				continue;
			unused = db;
			dlist_foreach(iter, &lb_shared->defs)
			{
				if (dlist_container(LbSharedBoard, node, iter.cur)->account == &db->account)
					unused = NULL;
			}
		}
		if (unused == NULL)
			return &lb_shared->databases[LB_MAX_DATABASES - 1];
	}
	unused->database = database;
	return unused;
}

void
lb_note_unknown(LbUnknown *unknown, FullTransactionId fxid)
{
	uint64		xid = U64FromFullTransactionId(fxid);

	SpinLockAcquire(&unknown->mutex);
	if (unknown->first == 0 || unknown->first > xid)
		unknown->first = xid;
	if (unknown->last < xid)
		unknown->last = xid;
	SpinLockRelease(&unknown->mutex);
}

void
lb_note_unknown_here(FullTransactionId xid)
{
	/* Under the lock, or the entry could become another database's. */
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	lb_note_unknown(&directory_database(MyDatabaseId)->unknown, xid);
	LWLockRelease(&lb_shared->directory_lock);
}

static void set_reason(LbSharedBoard *shared, const char *reason, bool tell);

/* A definition's memory for the first time. */
static LbSharedBoard *
def_allocate(LbMem *mem)
{
	LbRef		ref;
	LbSharedBoard *shared;
	int			tranche = lb_shared->directory_lock.tranche;

	if (!dlist_is_empty(&lb_shared->free_defs))
		return dlist_container(LbSharedBoard, node,
							   dlist_pop_head_node(&lb_shared->free_defs));
	ref = lb_alloc(mem, LB_MAX_ORDER);
	if (ref == LB_NONE)
		return NULL;
	shared = (LbSharedBoard *) lb_ptr(mem->arena, ref);
	memset(shared, 0, sizeof(LbSharedBoard));
	ConditionVariableInit(&shared->changed);
	SpinLockInit(&shared->mutex);
	pg_atomic_init_u32(&shared->state, LB_OFFLINE);
	SpinLockInit(&shared->unknown.mutex);
	pg_atomic_init_u64(&shared->build_done, 0);
	pg_atomic_init_u64(&shared->build_total, 0);
	pg_atomic_init_u64(&shared->looked, 0);
	pg_atomic_init_u32(&shared->queue_lost, 0);
	pg_atomic_init_u32(&shared->nunknown, 0);
	pg_atomic_init_u32(&shared->trim, 0);
	pg_atomic_init_u32(&shared->nprepared, 0);
	pg_atomic_init_u32(&shared->requested, 0);
	pg_atomic_init_u32(&shared->memory_kb, 0);
	for (int i = 0; i < LB_NCOUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 0);
	for (int i = 0; i < LB_STRIPES; i++)
	{
		LWLockInitialize(&shared->stripes[i].lock, tranche);
		pg_atomic_init_u32(&shared->stripes[i].nwaiting, 0);
	}
	return shared;
}

LbSharedBoard *
lb_shared_board_attach(LbDefinition *defn, bool create)
{
	LbSharedBoard *shared = defn->shared;
	LbMem		mem;
	bool		changed;

	if (shared != NULL && shared->generation == defn->generation)
		return shared;
	defn->shared = NULL;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	shared = directory_find(MyDatabaseId, defn->catalog, defn->id);
	changed = shared != NULL && shared->fingerprint != defn->fingerprint;
	if (changed)
	{
		/* Transactions that began before may still publish to it. */
		if (pg_atomic_read_u32(&shared->state) != LB_OFFLINE)
			lb_shared_board_offline(shared, "what lb_board says of it was changed by hand",
									false);
	}
	else if (shared != NULL)
	{
		defn->generation = shared->generation;
		defn->shared = shared;
	}
	LWLockRelease(&lb_shared->directory_lock);
	if (changed)
		return NULL;
	if (shared != NULL || !create)
		return shared;

	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	shared = directory_find(MyDatabaseId, defn->catalog, defn->id);
	if (shared != NULL && shared->fingerprint != defn->fingerprint)
	{
		LWLockRelease(&lb_shared->directory_lock);
		return NULL;
	}
	if (shared == NULL)
	{
		LbAccount  *account = &directory_database(MyDatabaseId)->account;

		mem.arena = &lb_shared->arena;
		mem.account = account;
		mem.limit = (uint64) lb_database_memory_kb * 1024;
		mem.taken = NULL;
		shared = def_allocate(&mem);
		if (shared == NULL)
		{
			LWLockRelease(&lb_shared->directory_lock);
			return NULL;
		}
		shared->database = MyDatabaseId;
		shared->catalog = defn->catalog;
		shared->id = defn->id;
		shared->source = defn->source;
		shared->fingerprint = defn->fingerprint;
		shared->account = account;
		shared->width = defn->width;
		shared->member_words = defn->member_words;
		shared->family = defn->family;
		strlcpy(shared->name, defn->name, NAMEDATALEN);
		pg_atomic_write_u32(&shared->state, LB_BUILDING);
		shared->unknown.first = 0;
		shared->unknown.last = 0;
		pg_atomic_write_u64(&shared->build_done, 0);
		pg_atomic_write_u64(&shared->build_total, 0);
		pg_atomic_write_u64(&shared->looked, 0);
		pg_atomic_write_u32(&shared->queue_lost, 0);
		pg_atomic_write_u32(&shared->nunknown, 0);
		pg_atomic_write_u32(&shared->trim, 0);
		pg_atomic_write_u32(&shared->nprepared, 0);
		pg_atomic_write_u32(&shared->memory_kb, lb_database_memory_kb);
		for (int i = 0; i < LB_NCOUNTERS; i++)
			pg_atomic_write_u64(&shared->counters[i], 0);
		shared->wanted = false;
		shared->builder = 0;
		shared->attempts = 0;
		shared->failed = false;
		shared->retry = false;
		shared->awaiting = false;
		shared->release = false;
		set_reason(shared, "", false);
		shared->refused_at = 0;
		shared->taken = 0;
		shared->grown_from = -1;
		shared->build_seconds = 0;
		shared->build_start = 0;
		for (int i = 0; i < LB_STRIPES; i++)
		{
			shared->stripes[i].queueing = false;
			shared->stripes[i].prefetching = false;
			memset(&shared->stripes[i].floor, 0, sizeof(LbFloor));
			shared->stripes[i].single = LB_NONE;
			lb_hash_init(&shared->stripes[i].boards);
			shared->stripes[i].spare = LB_NONE;
			shared->stripes[i].nspare = 0;
			shared->stripes[i].history_bytes = 0;
		}
		if (!shared->family)
		{
			LbValue		none = {0, ""};

			mem.taken = &shared->taken;
			shared->stripes[0].single = lb_live_board_new(&mem, shared, 0,
														  &none);
			if (shared->stripes[0].single == LB_NONE)
			{
				dlist_push_head(&lb_shared->free_defs, &shared->node);
				LWLockRelease(&lb_shared->directory_lock);
				return NULL;
			}
		}
		pg_write_barrier();
		shared->generation = lb_shared->next_generation++;
		directory_enter(shared);
	}
	defn->generation = shared->generation;
	defn->shared = shared;
	LWLockRelease(&lb_shared->directory_lock);
	return shared;
}

void
lb_shared_board_want_build(LbSharedBoard *shared, uint64 generation,
						   bool again)
{
	uint32		offline = LB_OFFLINE;

	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation &&
		(again || (shared->builder == 0 &&
				   pg_atomic_read_u32(&shared->state) != LB_READY)))
	{
		shared->wanted = true;
		shared->retry = false;
		shared->refused_at = 0;
		pg_atomic_compare_exchange_u32(&shared->state, &offline, LB_BUILDING);
	}
	SpinLockRelease(&shared->mutex);
	lb_wake_launcher();
}

const char *
lb_memory_reason(const LbSharedBoard *shared)
{
	/* Only to find words, so without the arena's lock. */
	return shared->account->limited ? share_used_up : memory_used_up;
}

/*
 * The reason that lb_stat_board shows, and whether the log is to be told of it.
 * These two change only here, so that the log never tells a reason that holds no
 * longer.  A board that is ready has no reason, and nothing is left to tell.
 * Caller holds shared->mutex.
 */
static void
set_reason(LbSharedBoard *shared, const char *reason, bool tell)
{
	shared->tell = tell;
	strlcpy(shared->reason, reason, LB_MAX_REASON);
}

void
lb_shared_board_reason(LbSharedBoard *shared, const char *reason)
{
	SpinLockAcquire(&shared->mutex);
	set_reason(shared, reason, shared->tell);
	SpinLockRelease(&shared->mutex);
}

void
lb_shared_board_try_soon(LbSharedBoard *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->failed = false;
	SpinLockRelease(&shared->mutex);
}

void
lb_shared_board_ready(LbSharedBoard *shared)
{
	SpinLockAcquire(&shared->mutex);
	pg_atomic_write_u32(&shared->state, LB_READY);
	set_reason(shared, "", false);
	shared->retry = false;
	SpinLockRelease(&shared->mutex);
}

void
lb_shared_board_offline(LbSharedBoard *shared, const char *reason, bool retry)
{
	SpinLockAcquire(&shared->mutex);
	pg_atomic_write_u32(&shared->state, LB_OFFLINE);

	/* The log is told once: each commit may come here from then on. */
	set_reason(shared, reason, shared->tell ||
			   strncmp(shared->reason, reason, LB_MAX_REASON - 1) != 0);
	shared->refused_at = reason == memory_used_up ? shared->account->refused_at
		: 0;

	/* A build does not take back what was asked for while it was at work. */
	shared->retry = retry || (shared->retry && shared->builder == MyProcPid);
	shared->release = true;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
	lb_wake_launcher();
}

typedef struct Collect
{
	LbRef		refs[256];
	int			n;
	bool		all;			/* also boards without an index */
	bool		history;		/* also boards with a history */
	bool		emptied;		/* all, but for those with this floor ... */
	LbFloor		floor;
	FullTransactionId truncating;	/* ... and nothing pending but its own */
} Collect;

/* Whether others than a transaction have publications pending on a board. */
static bool
others_pending(LbLiveBoard *board, FullTransactionId xid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &board->pending)
	{
		if (!FullTransactionIdEquals(dlist_container(LbPublication, node,
													 iter.cur)->xid, xid))
			return true;
	}
	return false;
}

/*
 * A TRUNCATE has committed.  It has waited for everybody who had changed the
 * table, so what others have pending is of prepared transactions that have
 * ended and were not met since.  Their rows are gone.
 */
static void
forget_others_pending(LbSharedBoard *shared, LbLiveBoard *board,
					  FullTransactionId xid)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &board->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		if (FullTransactionIdEquals(pub->xid, xid))
			continue;
		board->version++;
		lb_discard_publication(shared, pub);
	}
}

static bool
collect_board(uint32 hash, LbRef ref, void *arg)
{
	Collect    *collect = (Collect *) arg;

	LbLiveBoard *board = lb_live_board_at(ref);

	if (lb_index_bytes(&board->index) > 0 ||
		(collect->history && !dlist_is_empty(&board->history)) ||
		(collect->all &&
		 !(collect->emptied && board->floor.next_xid >= collect->floor.next_xid &&
		   !others_pending(board, collect->truncating))))
		collect->refs[collect->n++] = ref;
	return collect->n < (int) lengthof(collect->refs);
}

/*
 * Empty the indexes of all boards.  The memory goes back without a lock, a
 * bunch of boards at a time.  With a truncating transaction all histories go
 * too, and the floors move past it.
 */
static void
empty_indexes(LbSharedBoard *shared, uint64 generation,
			  FullTransactionId truncating)
{
	LbMem		mem = lb_mem(shared);
	bool		truncate = FullTransactionIdIsValid(truncating);

	for (int s = 0; s < LB_STRIPES; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];
		Collect		collect;
		LbIndex		indexes[lengthof(collect.refs)];
		uint64		next_xid = lb_next_xid();

		do
		{
			collect.n = 0;
			collect.all = truncate;
			collect.emptied = true;
			collect.truncating = truncating;
			LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
			collect.history = !stripe->queueing;
			if (lb_shared_board_is(shared, generation) &&
				(truncate || pg_atomic_read_u32(&shared->state) != LB_READY))
			{
				if (truncate)
					lb_raise_floor(&stripe->floor, next_xid,
								   U64FromFullTransactionId(truncating));
				collect.floor = stripe->floor;
				lb_stripe_walk(stripe, shared->family, collect_board,
							   &collect);
			}
			for (int i = 0; i < collect.n; i++)
			{
				LbLiveBoard *board = lb_live_board_at(collect.refs[i]);

				indexes[i] = board->index;
				lb_index_init(&board->index, shared->width,
							  shared->member_words);
				if (truncate)
					forget_others_pending(shared, board, truncating);
				if (collect.history)
					(void) lb_trim_history(shared, board, LB_TRIM_ALL);
				board->applied = ++board->version;
				board->backlog = 0;
				lb_raise_floor(&board->floor, collect.floor.next_xid,
							   collect.floor.xid);
				lb_live_board_release(shared, stripe, collect.refs[i]);
			}
			LWLockRelease(&stripe->lock);
			for (int i = 0; i < collect.n; i++)
				lb_index_free(&mem, &indexes[i]);
		} while (collect.n > 0);
	}
}

void
lb_shared_board_free_indexes(LbSharedBoard *shared, uint64 generation)
{
	empty_indexes(shared, generation, InvalidFullTransactionId);
}

void
lb_shared_board_clear(LbSharedBoard *shared, uint64 generation,
					  FullTransactionId xid)
{
	empty_indexes(shared, generation, xid);
	lb_want_xid();
}

/* Entries brought in, and publications given back, under one hold, about. */
#define MAX_TRIM_STEPS 1024

typedef struct Trim
{
	LbSharedBoard *shared;
	Collect		empty;			/* boards to release */
	uint64		steps;
	bool		left;
} Trim;

static bool
trim_board(uint32 hash, LbRef ref, void *arg)
{
	Trim	   *trim = (Trim *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);
	bool		empty;

	for (;;)
	{
		empty = trim->shared->family && board->index.members == 0;
		while (trim->steps < MAX_TRIM_STEPS &&
			   lb_trim_history(trim->shared, board,
							   empty ? LB_TRIM_TO_LIMIT : LB_TRIM_UNNEEDED))
			trim->steps += LB_MAX_TRIM;
		if (!lb_history_awaits_apply(board))
			break;
		trim->steps += board->backlog;
		lb_apply_backlog(trim->shared, board);
	}
	if (!dlist_is_empty(&board->history))
		trim->left = true;
	else if (empty && dlist_is_empty(&board->pending) &&
			 board->queue_first == LB_NONE)
	{
		trim->empty.refs[trim->empty.n++] = ref;
		if (trim->empty.n == (int) lengthof(trim->empty.refs))
			trim->steps = MAX_TRIM_STEPS;
	}
	return trim->steps < MAX_TRIM_STEPS;
}

bool
lb_shared_board_trim(LbSharedBoard *shared, uint64 generation)
{
	bool		left = false;

	for (int s = 0; s < LB_STRIPES; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];
		Trim		trim;

		trim.shared = shared;
		lb_lock_to_write(stripe);
		for (;;)
		{
			trim.empty.n = 0;
			trim.steps = 0;
			trim.left = false;
			if (lb_shared_board_is(shared, generation))
				lb_stripe_walk(stripe, shared->family, trim_board, &trim);
			for (int i = 0; i < trim.empty.n; i++)
				lb_live_board_release(shared, stripe, trim.empty.refs[i]);
			if (trim.steps < MAX_TRIM_STEPS)
				break;
			LWLockRelease(&stripe->lock);
			lb_yield_to_writers(stripe);
			lb_lock_to_write(stripe);
		}
		if (lb_shared_board_is(shared, generation))
			lb_report_history(stripe);
		LWLockRelease(&stripe->lock);
		left |= trim.left;
	}
	return left;
}

static void
forget_all(LbSharedBoard *shared, dlist_head *list)
{
	while (!dlist_is_empty(list))
		lb_discard_publication(shared, dlist_container(LbPublication, node,
													  dlist_head_node(list)));
}

static bool
forget_publications(uint32 hash, LbRef ref, void *arg)
{
	forget_all((LbSharedBoard *) arg, &lb_live_board_at(ref)->pending);
	forget_all((LbSharedBoard *) arg, &lb_live_board_at(ref)->history);
	return true;
}

/*
 * Take a definition out of the directory, whose lock is held exclusively, and
 * put it into a list of the caller's.  finish_removal() does the rest.
 */
static void
def_remove(LbSharedBoard *shared, dlist_head *removed)
{
	for (int s = 0; s < LB_STRIPES; s++)
		LWLockAcquire(&shared->stripes[s].lock, LW_EXCLUSIVE);
	SpinLockAcquire(&shared->mutex);
	shared->generation = 0;
	shared->wanted = false;
	shared->release = false;
	pg_atomic_write_u32(&shared->state, LB_OFFLINE);
	SpinLockRelease(&shared->mutex);

	/* Owners of publications that have not called back look under the lock. */
	for (int s = 0; s < LB_STRIPES; s++)
		lb_stripe_walk(&shared->stripes[s], shared->family,
					   forget_publications, shared);
	for (int s = LB_STRIPES - 1; s >= 0; s--)
		LWLockRelease(&shared->stripes[s].lock);
	directory_delete(shared);
	dlist_push_tail(removed, &shared->node);
}

/*
 * Give back the memory of definitions that are in the directory no more, with
 * no lock held.
 */
static void
finish_removal(dlist_head *removed)
{
	dlist_iter	iter;

	dlist_foreach(iter, removed)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);
		LbMem		mem = lb_mem(shared);

		/* Nobody looks at the boards of a definition without a generation. */
		for (int s = 0; s < LB_STRIPES; s++)
		{
			LbStripe   *stripe = &shared->stripes[s];
			Collect		collect;

			do
			{
				collect.n = 0;
				collect.all = true;
				collect.history = false;
				collect.emptied = false;
				lb_stripe_walk(stripe, shared->family, collect_board, &collect);
				for (int i = 0; i < collect.n; i++)
				{
					LbLiveBoard *board = lb_live_board_at(collect.refs[i]);

					if (shared->family)
						lb_hash_delete(&mem, &stripe->boards, board->hash,
									   collect.refs[i]);
					else
						stripe->single = LB_NONE;
					lb_live_board_free(&mem, collect.refs[i]);
				}
			} while (collect.n > 0);
			lb_hash_free(&mem, &stripe->boards);
			lb_stripe_reset(shared, stripe);
			stripe->queueing = false;
		}
		ConditionVariableBroadcast(&shared->changed);
	}
	if (dlist_is_empty(removed))
		return;
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	while (!dlist_is_empty(removed))
		dlist_push_head(&lb_shared->free_defs, dlist_pop_head_node(removed));
	LWLockRelease(&lb_shared->directory_lock);
}

void
lb_shared_board_remove(LbSharedBoard *shared, uint64 generation)
{
	dlist_head	removed;

	dlist_init(&removed);
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	if (shared->generation == generation)
		def_remove(shared, &removed);
	LWLockRelease(&lb_shared->directory_lock);
	finish_removal(&removed);
}

void
lb_shared_board_remove_id(Oid cat, int32 id)
{
	LbSharedBoard *shared;
	dlist_head	removed;

	dlist_init(&removed);
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	shared = directory_find(MyDatabaseId, cat, id);
	if (shared != NULL)
		def_remove(shared, &removed);
	LWLockRelease(&lb_shared->directory_lock);
	finish_removal(&removed);
}

/*
 * Remove what a lookup finds, again and again.  There can be thousands: let go
 * of the directory's lock now and then.
 */
static void
remove_found(LbSharedBoard *(*find) (Oid database, Oid relation), Oid database,
			 Oid relation)
{
	LbSharedBoard *shared;
	dlist_head	removed;

	do
	{
		dlist_init(&removed);
		LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
		for (int i = 0; i < REMOVED_AT_ONCE; i++)
		{
			shared = find(database, relation);
			if (shared == NULL)
				break;
			def_remove(shared, &removed);
		}
		LWLockRelease(&lb_shared->directory_lock);
		finish_removal(&removed);
	} while (shared != NULL);
}

void
lb_shared_board_remove_source(Oid source)
{
	remove_found(directory_find_source, MyDatabaseId, source);
}

void
lb_shared_board_remove_catalog(Oid cat)
{
	remove_found(directory_find_catalog, MyDatabaseId, cat);
}

void
lb_shared_board_remove_database(Oid database)
{
	for (;;)
	{
		Oid			cat = InvalidOid;
		dlist_iter	iter;

		LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
		dlist_foreach(iter, &lb_shared->defs)
		{
			LbSharedBoard *shared = dlist_container(LbSharedBoard, node,
													iter.cur);

			if (shared->database == database)
			{
				cat = shared->catalog;
				break;
			}
		}
		LWLockRelease(&lb_shared->directory_lock);
		if (!OidIsValid(cat))
			break;
		remove_found(directory_find_catalog, database, cat);
	}
	lb_watch_forget(database);
}


/* ----------------------------------------------------------------
 *		Live boards
 * ----------------------------------------------------------------
 */

LbValue
lb_live_board_value(const LbLiveBoard *board)
{
	LbValue		value;

	value.len = board->value_len;
	value.data = board->value_chunk == LB_NONE ? board->value :
		(const char *) lb_ptr(&lb_shared->arena, board->value_chunk);
	return value;
}

static int
value_order(int len)
{
	int			order = 0;

	while ((LB_CHUNK_SIZE << order) < len)
		order++;
	Assert(order <= LB_MAX_ORDER);
	return order;
}

LbRef
lb_live_board_new(const LbMem *mem, const LbSharedBoard *shared, uint32 hash,
				  const LbValue *value)
{
	LbRef		ref;
	LbRef		chunk = LB_NONE;
	LbLiveBoard *board;

	Assert(value->len <= LB_MAX_VALUE);
	ref = lb_alloc(mem, LB_BOARD_ORDER);
	if (ref == LB_NONE)
		return LB_NONE;
	if (value->len > LB_INLINE_VALUE)
	{
		chunk = lb_alloc(mem, value_order(value->len));
		if (chunk == LB_NONE)
		{
			lb_free(mem, ref, LB_BOARD_ORDER);
			return LB_NONE;
		}
	}
	board = (LbLiveBoard *) lb_ptr(mem->arena, ref);
	lb_index_init(&board->index, shared->width, shared->member_words);
	dlist_init(&board->pending);
	dlist_init(&board->history);
	memset(&board->floor, 0, sizeof(board->floor));
	board->version = pg_atomic_fetch_add_u64(&lb_shared->versions,
											 UINT64CONST(1) << 32);
	board->applied = board->version;
	board->backlog = 0;
	board->queue_first = LB_NONE;
	board->queue_last = LB_NONE;
	board->hash = hash;
	board->nsettling = 0;
	board->value_len = value->len;
	board->value_chunk = chunk;
	memcpy(chunk == LB_NONE ? board->value :
		   (char *) lb_ptr(mem->arena, chunk),
		   value->data, value->len);
	for (int i = 0; i < LB_NCOUNTERS; i++)
		pg_atomic_init_u64(&board->counters[i], 0);
	return ref;
}

LbLiveBoard *
lb_live_board_find(LbSharedBoard *shared, LbStripe *stripe, uint32 hash,
				   const LbValue *value, LbRef *result)
{
	LbHashScan	scan;
	LbRef		ref;

	if (!shared->family)
	{
		*result = stripe->single;
		return lb_live_board_at(stripe->single);
	}
	for (ref = lb_hash_first(&lb_shared->arena, &stripe->boards, hash, &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		LbLiveBoard *board = lb_live_board_at(ref);
		LbValue		have = lb_live_board_value(board);

		if (have.len == value->len &&
			memcmp(have.data, value->data, value->len) == 0)
		{
			*result = ref;
			return board;
		}
	}
	*result = LB_NONE;
	return NULL;
}

LbLiveBoard *
lb_live_board_make(LbSharedBoard *shared, LbStripe *stripe, uint32 hash,
				   const LbValue *value, LbRef *result)
{
	LbMem		mem = lb_mem(shared);
	LbLiveBoard *board = lb_live_board_find(shared, stripe, hash, value,
											result);

	if (board != NULL)
		return board;
	*result = lb_live_board_new(&mem, shared, hash, value);
	if (*result == LB_NONE)
		return NULL;
	lb_live_board_at(*result)->floor = stripe->floor;
	if (lb_hash_insert(&mem, &stripe->boards, hash, *result) != LB_OK)
	{
		lb_live_board_free(&mem, *result);
		*result = LB_NONE;
		return NULL;
	}
	return lb_live_board_at(*result);
}

void
lb_live_board_free(const LbMem *mem, LbRef ref)
{
	LbLiveBoard *board = lb_live_board_at(ref);

	Assert(dlist_is_empty(&board->pending));
	Assert(dlist_is_empty(&board->history));
	while (board->queue_first != LB_NONE)
	{
		LbRef		page = board->queue_first;

		board->queue_first = *(LbRef *) lb_ptr(mem->arena, page);
		lb_free(mem, page, LB_MAX_ORDER);
	}
	lb_index_free(mem, &board->index);
	if (board->value_chunk != LB_NONE)
		lb_free(mem, board->value_chunk, value_order(board->value_len));
	lb_free(mem, ref, LB_BOARD_ORDER);
}

void
lb_live_board_release(LbSharedBoard *shared, LbStripe *stripe, LbRef ref)
{
	LbLiveBoard *board = lb_live_board_at(ref);
	LbMem		mem = lb_mem(shared);

	if (!shared->family || board->index.members > 0 ||
		lb_index_bytes(&board->index) > 0 ||
		!dlist_is_empty(&board->pending) || board->queue_first != LB_NONE)
		return;
	if (!dlist_is_empty(&board->history))
	{
		(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
		if (!dlist_is_empty(&board->history))
		{
			/* The launcher looks after it when snapshots have gone. */
			if (!pg_atomic_read_u32(&shared->trim))
			{
				pg_atomic_write_u32(&shared->trim, 1);
				lb_wake_launcher();
			}
			return;
		}
	}
	lb_raise_floor(&stripe->floor, board->floor.next_xid, board->floor.xid);
	for (int i = 0; i < LB_NCOUNTERS; i++)
		pg_atomic_fetch_add_u64(&shared->counters[i],
								pg_atomic_read_u64(&board->counters[i]));
	lb_hash_delete(&mem, &stripe->boards, board->hash, ref);
	lb_live_board_free(&mem, ref);
}

void
lb_stripe_walk(LbStripe *stripe, bool family,
			   bool (*visit) (uint32 hash, LbRef ref, void *arg), void *arg)
{
	if (family)
		lb_hash_walk(&lb_shared->arena, &stripe->boards, visit, arg);
	else if (stripe->single != LB_NONE)
		(void) visit(0, stripe->single, arg);
}
