/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  The extension in this database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "boards/cache.h"
#include "boards/catalog.h"

static LbCatalog catalog;
static bool catalog_valid = false;
static bool absent = false;		/* the database does not have the extension,
								 * and no table has been made since */
static uint64 ninvalidations = 0;	/* of lb_board */
static uint64 generation = 0;	/* of what texts of statements are made from */

static void
invalidate(Oid relid, void *arg)
{
	absent = false;
	if (relid == InvalidOid || !catalog_valid || relid == catalog.lb_board)
	{
		catalog_valid = false;
		ninvalidations++;
	}
}

/* A schema was renamed, say. */
static void
namespace_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	generation++;
}

static void
init(void)
{
	static bool done = false;

	if (done)
		return;
	lb_cache_register(invalidate, NULL);
	CacheRegisterSyscacheCallback(NAMESPACEOID, namespace_callback, (Datum) 0);
	done = true;
}

uint64
lb_defns_generation(void)
{
	return generation;
}

void
lb_next_generation(void)
{
	generation++;
}

bool
lb_catalog_valid(void)
{
	return catalog_valid;
}

void
lb_catalog_forget(void)
{
	catalog_valid = false;
	absent = false;
}

static Oid
owner_of(int cacheid, Oid object, AttrNumber column)
{
	HeapTuple	tuple = SearchSysCache1(cacheid, ObjectIdGetDatum(object));
	Oid			owner = InvalidOid;
	bool		isnull;

	if (HeapTupleIsValid(tuple))
	{
		owner = DatumGetObjectId(SysCacheGetAttr(cacheid, tuple, column,
												 &isnull));
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * The schema that is a member of the extension, whatever it is called.  The
 * role that created the extension can add schemas of its own, but not one that
 * belongs to the owner of the extension's tables.
 */
static Oid
find_internal_schema(Oid extension, Oid lb_board)
{
	Oid			owner = owner_of(RELOID, lb_board, Anum_pg_class_relowner);
	Relation	rel = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			found = InvalidOid;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ExtensionRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(extension));
	scan = systable_beginscan(rel, DependReferenceIndexId, true, NULL, 2, keys);
	while (!OidIsValid(found) &&
		   HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->classid == NamespaceRelationId &&
			depend->deptype == DEPENDENCY_EXTENSION &&
			owner_of(NAMESPACEOID, depend->objid,
					 Anum_pg_namespace_nspowner) == owner)
			found = depend->objid;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* A trigger function of the extension. */
static Oid
find_trigger_function(const char *name, Oid schema)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(NULL, 0)),
						   ObjectIdGetDatum(schema));
}

static pg_noinline const LbCatalog *
find_catalog(void)
{
	Relation	rel;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	LbCatalog	found;
	uint64		before;

	init();
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
	{
		/* CREATE EXTENSION makes lb_board, which is an invalidation. */
		absent = ninvalidations == before;
		return NULL;
	}

	found.lb_board = get_relname_relid("lb_board", found.schema);
	if (!OidIsValid(found.lb_board))
		return NULL;
	found.internal_schema = find_internal_schema(found.extension,
												 found.lb_board);
	found.capture = find_trigger_function("lb_capture", found.internal_schema);
	found.set_updated_at = find_trigger_function("lb_set_updated_at",
												 found.internal_schema);

	/* Texts of statements name the extension's schema. */
	if (memcmp(&catalog, &found, sizeof(found)) != 0)
		generation++;
	catalog = found;

	/* An invalidation that came meanwhile makes this stale again. */
	catalog_valid = ninvalidations == before;
	return &catalog;
}

const LbCatalog *
lb_catalog(void)
{
	/* The trigger asks for each row that is written. */
	return catalog_valid ? &catalog : absent ? NULL : find_catalog();
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
