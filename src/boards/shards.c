/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  The shards of a table that Citus distributes.
 *
 * Citus lists them in pg_dist_shard: their numbers, and the least hash value of
 * each, as text; a table with one shard has none there.  pg_dist_partition has a number
 * for the tables whose shards are always on the same servers.  Only superusers can create
 * a table in pg_catalog.
 *
 * Beside the table there can be a table of places, which service/spread_places.c
 * makes and describes.  It is found by its name, since servers know no more of each
 * other's tables.  It belongs to the source's owner, who may write anything into it:
 * so nothing in it is trusted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "boards/shards.h"
#include "boards/spi.h"

/* The columns of places. */
static const struct
{
	const char *name;
	Oid			type;			/* InvalidOid: any */
}			place_columns[] =

{
	{"place", InvalidOid},
	{"shard", INT8OID},
	{"self", INT8OID},
	{"width", INT8OID}
};

typedef struct Shard
{
	int64		number;
	char	   *low;			/* the least hash value, or "" */
	bool		found;
} Shard;

bool
lb_is_coordinator(void)
{
	uint64		n;

	if (!OidIsValid(get_relname_relid("pg_dist_local_group",
									  PG_CATALOG_NAMESPACE)))
		return false;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	n = lb_run_once("SELECT FROM pg_catalog.pg_dist_local_group AS g WHERE g.groupid OPERATOR(pg_catalog.=) 0",
					InvalidOid, 0, NULL, NULL);
	SPI_finish();
	return n > 0;
}

char *
lb_places_name(const char *source)
{
	return makeObjectName(source, NULL, "lb_places");
}

bool
lb_is_places(Oid relid)
{
	for (int i = 0; i < (int) lengthof(place_columns); i++)
	{
		AttrNumber	attno = get_attnum(relid, place_columns[i].name);

		if (attno <= 0 ||
			(OidIsValid(place_columns[i].type) &&
			 get_atttype(relid, attno) != place_columns[i].type))
			return false;
	}
	return true;
}

Oid
lb_table_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class rel;
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	rel = (Form_pg_class) GETSTRUCT(tuple);
	owner = rel->relkind == RELKIND_RELATION ||
		rel->relkind == RELKIND_PARTITIONED_TABLE ? rel->relowner : InvalidOid;
	ReleaseSysCache(tuple);
	return owner;
}

Oid
lb_places(Oid source)
{
	char	   *name = get_rel_name(source);
	Oid			relid;
	Oid			owner;

	if (name == NULL)
		return InvalidOid;
	relid = get_relname_relid(lb_places_name(name),
							  get_rel_namespace(source));
	if (!OidIsValid(relid))
		return InvalidOid;
	owner = lb_table_owner(relid);
	return OidIsValid(owner) && owner == lb_table_owner(source) &&
		lb_is_places(relid) ? relid : InvalidOid;
}

static int
shard_cmp(const void *a, const void *b)
{
	int64		x = ((const Shard *) a)->number;
	int64		y = ((const Shard *) b)->number;

	return x < y ? -1 : x > y;
}

/* The shards of a table in the order of their numbers.  Returns how many. */
static int
read_shards(Oid relid, Shard **shards)
{
	Oid			listid = get_relname_relid("pg_dist_shard",
										   PG_CATALOG_NAMESPACE);
	Oid			index = get_relname_relid("pg_dist_shard_logicalrelid_index",
										  PG_CATALOG_NAMESPACE);
	AttrNumber	table = get_attnum(listid, "logicalrelid");
	AttrNumber	number = get_attnum(listid, "shardid");
	AttrNumber	low = get_attnum(listid, "shardminvalue");
	int			size = 32;
	int			n = 0;
	Relation	list;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (table <= 0 || number <= 0 || low <= 0 ||
		get_atttype(listid, table) != REGCLASSOID ||
		get_atttype(listid, number) != INT8OID ||
		get_atttype(listid, low) != TEXTOID)
		return 0;
	list = try_relation_open(listid, AccessShareLock);
	if (list == NULL)
		return 0;
	*shards = palloc(size * sizeof(Shard));
	ScanKeyInit(&key, table, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(list, index, OidIsValid(index), NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Shard	   *shard;
		Datum		value;
		bool		isnull;

		if (n == size)
		{
			size *= 2;
			*shards = repalloc(*shards, size * sizeof(Shard));
		}
		shard = &(*shards)[n++];
		shard->number = DatumGetInt64(heap_getattr(tuple, number,
												   RelationGetDescr(list),
												   &isnull));
		value = heap_getattr(tuple, low, RelationGetDescr(list), &isnull);
		shard->low = isnull ? pstrdup("") : TextDatumGetCString(value);
		shard->found = false;
	}
	systable_endscan(scan);
	relation_close(list, AccessShareLock);
	qsort(*shards, n, sizeof(Shard), shard_cmp);
	return n;
}

/* The number of a table's colocation group; 0 if it is in none. */
static int32
colocation(Oid relid)
{
	Oid			listid = get_relname_relid("pg_dist_partition",
										   PG_CATALOG_NAMESPACE);
	Oid			index = get_relname_relid("pg_dist_partition_logical_relid_index",
										  PG_CATALOG_NAMESPACE);
	AttrNumber	table = get_attnum(listid, "logicalrelid");
	AttrNumber	number = get_attnum(listid, "colocationid");
	int32		result = 0;
	bool		isnull = true;
	Relation	list;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (table <= 0 || number <= 0 ||
		get_atttype(listid, table) != REGCLASSOID ||
		get_atttype(listid, number) != INT4OID)
		return 0;
	list = try_relation_open(listid, AccessShareLock);
	if (list == NULL)
		return 0;
	ScanKeyInit(&key, table, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(list, index, OidIsValid(index), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		result = DatumGetInt32(heap_getattr(tuple, number,
											RelationGetDescr(list), &isnull));
	systable_endscan(scan);
	relation_close(list, AccessShareLock);
	return isnull ? 0 : result;
}

static Shard *
find_shard(Shard *shards, int n, int64 number)
{
	Shard		key = {.number = number};

	return bsearch(&key, shards, n, sizeof(Shard), shard_cmp);
}

bool
lb_are_all_shards(Oid source, Oid places, int n, const int64 *shards,
				  const int64 *selves)
{
	Shard	   *of_source;
	Shard	   *of_places;
	int			nshards = read_shards(source, &of_source);
	int			nplaces = read_shards(places, &of_places);
	int32		group = colocation(source);

	if (n != nshards || n == 0 || nplaces == 0 || group == 0 ||
		colocation(places) != group)
		return false;
	for (int i = 0; i < n; i++)
	{
		Shard	   *shard = find_shard(of_source, nshards, shards[i]);
		Shard	   *self = find_shard(of_places, nplaces, selves[i]);

		if (shard == NULL || self == NULL || shard->found ||
			strcmp(shard->low, self->low) != 0)
			return false;
		shard->found = true;
	}
	return true;
}
