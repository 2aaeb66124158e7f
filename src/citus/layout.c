/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  The shards of a table that Citus distributes.
 *
 * Citus lists them in pg_dist_shard: their numbers, and the least hash value of
 * each, as text; a table with one shard has none there.  pg_dist_partition has a number
 * for the tables whose shards are always on the same servers, and pg_dist_placement the
 * server of each shard: the number of a group, of which one server is written to.  Only
 * superusers can create a table in pg_catalog.
 *
 * Each backend keeps the layouts of some tables, which say what shards each server has.
 * Citus keeps the same in a cache, by which it plans.  When it changes these catalogs,
 * it invalidates the relcache entries of the tables concerned, and that makes both stale.
 * It does so before it releases the lock for which writes wait that the change sends to
 * another server.  So if a layout is still valid after a statement, the statement has
 * seen all that was committed when it began.
 *
 * Beside the table there can be a table of places, which places.c
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
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "boards/cache.h"
#include "boards/resolve.h"
#include "boards/spi.h"
#include "citus/layout.h"

/* The columns of places. */
static const struct
{
	const char *name;
	Oid			type;			/* InvalidOid: see has_place_type() */
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

/* Layouts that are kept, each for another table. */
#define LAYOUTS 8

typedef struct KeptLayout
{
	Oid			source;
	Oid			places;
	bool		valid;			/* no invalidation of the two has come */
	uint64		ninvalidations;
	MemoryContext context;		/* NULL: no layout */
	LbLayout   *layout;
} KeptLayout;

static KeptLayout kept_layouts[LAYOUTS];
static uint64 last_layout = 0;

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

/*
 * Whether a column is of a type that places are made with: queries compare it, and cast
 * it to text, by nothing that the table's owner could have made.
 */
static bool
has_place_type(Oid relid, AttrNumber attno)
{
	switch (getBaseType(get_atttype(relid, attno)))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
		case UUIDOID:
			return true;
		default:
			return false;
	}
}

bool
lb_is_places(Oid relid)
{
	for (int i = 0; i < (int) lengthof(place_columns); i++)
	{
		AttrNumber	attno = get_attnum(relid, place_columns[i].name);

		if (attno <= 0 ||
			(OidIsValid(place_columns[i].type) ?
			 get_atttype(relid, attno) != place_columns[i].type :
			 !has_place_type(relid, attno)))
			return false;
	}
	return true;
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

/* A column of that type; the other value if there is none, or it is null. */
static Datum
listed_value(HeapTuple row, TupleDesc desc, const char *name, Oid type,
			 Datum other)
{
	AttrNumber	attno = lb_find_column(desc, name);
	bool		null = true;
	Datum		value = 0;

	if (attno > 0 && TupleDescAttr(desc, attno - 1)->atttypid == type)
		value = heap_getattr(row, attno, desc, &null);
	return null ? other : value;
}

/*
 * Reference tables and local tables that Citus knows have no distribution column, and
 * neither have the tables of a distributed schema, which are colocated.
 */
static int32
has_own_shards(HeapTuple row, TupleDesc desc)
{
	if (DatumGetChar(listed_value(row, desc, "partmethod", CHAROID,
								  CharGetDatum('h'))) != 'n')
		return 1;
	return DatumGetChar(listed_value(row, desc, "repmodel", CHAROID,
									 CharGetDatum('s'))) == 's' &&
		DatumGetInt32(listed_value(row, desc, "colocationid", INT4OID,
								   Int32GetDatum(1))) != 0;
}

/*
 * Call a routine with a table's row of pg_dist_partition.  Returns what it does, or 0 if
 * there is none.
 */
static int32
partition_value(Oid relid, int32 (*take) (HeapTuple row, TupleDesc desc))
{
	Oid			listid = get_relname_relid("pg_dist_partition",
										   PG_CATALOG_NAMESPACE);
	Oid			index = get_relname_relid("pg_dist_partition_logical_relid_index",
										  PG_CATALOG_NAMESPACE);
	AttrNumber	table = get_attnum(listid, "logicalrelid");
	int32		result = 0;
	Relation	list;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (table <= 0 || get_atttype(listid, table) != REGCLASSOID)
		return 0;
	list = try_relation_open(listid, AccessShareLock);
	if (list == NULL)
		return 0;
	ScanKeyInit(&key, table, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(list, index, OidIsValid(index), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		result = take(tuple, RelationGetDescr(list));
	systable_endscan(scan);
	relation_close(list, AccessShareLock);
	return result;
}

bool
lb_has_shards(Oid relid)
{
	return partition_value(relid, has_own_shards) != 0;
}

static int32
colocation_id(HeapTuple row, TupleDesc desc)
{
	return DatumGetInt32(listed_value(row, desc, "colocationid", INT4OID,
									  Int32GetDatum(0)));
}

/* The number of a table's colocation group; 0 if it is in none. */
static int32
colocation(Oid relid)
{
	return partition_value(relid, colocation_id);
}

int64
lb_only_shard(Oid relid)
{
	Shard	   *shards;

	return read_shards(relid, &shards) == 1 && colocation(relid) == 0 ?
		shards[0].number : 0;
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

	if (source == places)
		return n == 1 && shards[0] != 0 && shards[0] == lb_only_shard(source);
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


/* ----------------------------------------------------------------
 *		Layouts
 * ----------------------------------------------------------------
 */

/* lb_cache_register(): a relation has changed, or all have. */
static void
invalidate(Oid relid, void *arg)
{
	for (int i = 0; i < LAYOUTS; i++)
	{
		KeptLayout *kept = &kept_layouts[i];

		if (!OidIsValid(relid) || relid == kept->source ||
			relid == kept->places)
		{
			kept->valid = false;
			kept->ninvalidations++;
		}
	}
}

/* The columns of pg_dist_placement, opened. */
typedef struct Placements
{
	Relation	list;
	Oid			index;
	AttrNumber	shard;
	AttrNumber	group;
} Placements;

static bool
open_placements(Placements *p)
{
	Oid			listid = get_relname_relid("pg_dist_placement",
										   PG_CATALOG_NAMESPACE);

	p->index = get_relname_relid("pg_dist_placement_shardid_index",
								 PG_CATALOG_NAMESPACE);
	p->shard = get_attnum(listid, "shardid");
	p->group = get_attnum(listid, "groupid");
	if (!OidIsValid(p->index) || p->shard <= 0 || p->group <= 0 ||
		get_atttype(listid, p->shard) != INT8OID ||
		get_atttype(listid, p->group) != INT4OID)
		return false;
	p->list = try_relation_open(listid, AccessShareLock);
	return p->list != NULL;
}

/* The group that has a shard; -1 if there is none, or several have copies. */
static int32
find_group(const Placements *p, int64 shard)
{
	int32		group = -1;
	int			n = 0;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, p->shard, BTEqualStrategyNumber, F_INT8EQ,
				Int64GetDatum(shard));
	scan = systable_beginscan(p->list, p->index, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, p->group,
										 RelationGetDescr(p->list), &isnull);

		group = isnull ? -1 : DatumGetInt32(value);
		n++;
	}
	systable_endscan(scan);
	return n == 1 ? group : -1;
}

static int
slot_cmp(const void *a, const void *b)
{
	const LbShardSlot *x = (const LbShardSlot *) a;
	const LbShardSlot *y = (const LbShardSlot *) b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->shard < y->shard ? -1 : x->shard > y->shard;
}

/*
 * Find the shard of places with the same range, and the group that has both.  Returns
 * false if there are none.
 */
static bool
fill_slot(LbShardSlot *slot, const Shard *shard, const Shard *of_places,
		  int nplaces, const Placements *placements)
{
	int			i = 0;

	while (i < nplaces && strcmp(of_places[i].low, shard->low) != 0)
		i++;
	if (i == nplaces)
		return false;
	slot->shard = shard->number;
	slot->self = of_places[i].number;
	slot->place = NULL;
	slot->group = find_group(placements, slot->shard);
	return slot->group >= 0 &&
		find_group(placements, slot->self) == slot->group;
}

/* Read a layout into the current memory context, or return NULL if there is none. */
static LbLayout *
read_layout(Oid source, Oid places)
{
	LbLayout   *layout = palloc0(sizeof(LbLayout));
	int32		group = colocation(source);
	Shard	   *of_source;
	Shard	   *of_places;
	int			n = read_shards(source, &of_source);
	int			nplaces = read_shards(places, &of_places);
	Placements	placements;

	if (n == 0 || nplaces == 0 || group == 0 || colocation(places) != group ||
		!open_placements(&placements))
		return NULL;
	layout->slots = palloc(n * sizeof(LbShardSlot));
	while (layout->n < n && fill_slot(&layout->slots[layout->n],
									  &of_source[layout->n], of_places,
									  nplaces, &placements))
		layout->n++;
	relation_close(placements.list, AccessShareLock);
	if (layout->n < n)
		return NULL;
	qsort(layout->slots, n, sizeof(LbShardSlot), slot_cmp);
	layout->id = ++last_layout;
	return layout;
}

/* Read a layout, and keep it.  Returns NULL if there is none. */
static LbLayout *
keep_layout(KeptLayout *kept, Oid source, Oid places)
{
	MemoryContext context;
	MemoryContext old;
	LbLayout   *layout;
	uint64		ninvalidations = kept->ninvalidations;

	lb_cache_register(invalidate, NULL);
	if (kept->context != NULL)
		lb_cache_retire(kept->context);
	kept->context = NULL;
	kept->valid = false;
	kept->source = source;
	kept->places = places;
	context = AllocSetContextCreate(CurrentMemoryContext,
									"leaderboard layout",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	layout = read_layout(source, places);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, TopMemoryContext);
	kept->context = context;
	kept->layout = layout;
	kept->valid = kept->ninvalidations == ninvalidations;
	return kept->valid ? layout : NULL;
}

/* Where a source's layout is kept, or NULL. */
static KeptLayout *
find_kept(Oid source)
{
	for (int i = 0; i < LAYOUTS; i++)
	{
		if (kept_layouts[i].source == source)
			return &kept_layouts[i];
	}
	return NULL;
}

LbLayout *
lb_layout(Oid source, Oid places)
{
	static unsigned int next = 0;
	KeptLayout *kept = find_kept(source);

	if (kept == NULL)
		kept = &kept_layouts[next++ % LAYOUTS];
	AcceptInvalidationMessages();
	if (kept->valid && kept->source == source && kept->places == places)
		return kept->layout;
	return keep_layout(kept, source, places);
}

void
lb_layout_set_place(LbLayout *layout, int64 shard, int64 self,
					const char *place)
{
	for (int i = 0; i < layout->n; i++)
	{
		LbShardSlot *slot = &layout->slots[i];

		if (slot->shard == shard && slot->self == self &&
			slot->place == NULL)
			slot->place = MemoryContextStrdup(GetMemoryChunkContext(layout),
											  place);
	}
}

void
lb_layout_forget(Oid source)
{
	KeptLayout *kept = find_kept(source);

	if (kept != NULL)
		kept->valid = false;
}

bool
lb_in_distributed_transaction(void)
{
	oidvector  *args = buildoidvector(NULL, 0);
	Oid			function;
	HeapTupleHeader tuple;
	Datum		number;
	bool		isnull;

	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							   CStringGetDatum("get_current_transaction_id"),
							   PointerGetDatum(args),
							   ObjectIdGetDatum(PG_CATALOG_NAMESPACE));
	if (!OidIsValid(function) || get_func_rettype(function) != RECORDOID)
		return true;
	tuple = DatumGetHeapTupleHeader(OidFunctionCall0(function));
	number = GetAttributeByName(tuple, "transaction_number", &isnull);
	return isnull || DatumGetInt64(number) != 0;
}
