/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  The shards of a table that Citus distributes.
 *
 * Citus lists them in pg_dist_shard: their numbers, and the least hash value
 * of each, as text; a table with one shard has none there.  pg_dist_partition
 * has a number for the tables whose shards are always on the same servers, and
 * pg_dist_placement the server of each shard: the number of a group, of which
 * one server is written to.  Only superusers can create a table in pg_catalog.
 *
 * Each backend keeps the layouts of some tables, which say what shards each
 * server has.  Citus keeps the same in a cache, by which it plans.  When it
 * changes these catalogs, it invalidates the relcache entries of the tables
 * concerned, and that makes both stale.  Citus invalidates them before it lets
 * writers go to the new server.  So if a
 * layout is still valid after a statement, the statement has seen all that was
 * committed when it began.
 *
 * Beside the table there can be a table of places, which places.c makes and
 * describes.  It is found by its name, since servers know no more of each
 * other's tables.  It belongs to the source's owner, who may write anything
 * into it: so nothing in it is trusted.
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
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "boards/cache.h"
#include "boards/resolve.h"
#include "citus/layout.h"
#include "sql/spi.h"

/* What the name of a table of places ends with. */
#define PLACES "lb_places"

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
	SPI_connect();
	n = lb_exec_once("SELECT FROM pg_catalog.pg_dist_local_group AS g WHERE g.groupid OPERATOR(pg_catalog.=) 0",
					 InvalidOid, LB_NO_ARGS);
	SPI_finish();
	return n > 0;
}

char *
lb_places_name(const char *source)
{
	pg_crc32c	hash;

	if (strlen(source) + strlen("_" PLACES) < NAMEDATALEN)
		return makeObjectName(source, NULL, PLACES);

	/* Names that begin alike must not lead to one table. */
	INIT_CRC32C(hash);
	COMP_CRC32C(hash, source, strlen(source));
	FIN_CRC32C(hash);
	return makeObjectName(source, psprintf("%08x", hash), PLACES);
}

/*
 * Whether a column is of a type that places are made with: queries compare it,
 * and cast it to text, by nothing that the table's owner could have made.
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

/*
 * Call a routine with each row of one of Citus's catalogs in which a column of
 * this type has a value.
 */
static void
scan_catalog(const char *catalog, const char *index, const char *column,
			 Oid type, Datum value,
			 void (*take) (HeapTuple row, TupleDesc desc, void *arg), void *arg)
{
	Oid			catid = get_relname_relid(catalog, PG_CATALOG_NAMESPACE);
	Oid			indexid = get_relname_relid(index, PG_CATALOG_NAMESPACE);
	AttrNumber	attno = get_attnum(catid, column);
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	if (attno <= 0 || get_atttype(catid, attno) != type)
		return;
	rel = try_relation_open(catid, AccessShareLock);
	if (rel == NULL)
		return;
	ScanKeyInit(&key, attno, BTEqualStrategyNumber,
				type == INT8OID ? F_INT8EQ : F_OIDEQ, value);
	scan = systable_beginscan(rel, indexid, OidIsValid(indexid), NULL, 1,
							  &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
		take(row, RelationGetDescr(rel), arg);
	systable_endscan(scan);
	relation_close(rel, AccessShareLock);
}

/* A column of that type; the other value if there is none, or it is null. */
static Datum
column_value(HeapTuple row, TupleDesc desc, const char *name, Oid type,
			 Datum other)
{
	AttrNumber	attno = lb_find_column(desc, name);
	bool		null = true;
	Datum		value = 0;

	if (attno > 0 && TupleDescAttr(desc, attno - 1)->atttypid == type)
		value = heap_getattr(row, attno, desc, &null);
	return null ? other : value;
}

/* Add a row of pg_dist_shard to a list. */
static void
take_shard(HeapTuple row, TupleDesc desc, void *arg)
{
	List	  **list = (List **) arg;
	Datum		low = column_value(row, desc, "shardminvalue", TEXTOID, 0);
	Shard	   *shard = palloc0(sizeof(Shard));

	shard->number = DatumGetInt64(column_value(row, desc, "shardid", INT8OID,
											   Int64GetDatum(0)));
	shard->low = low == 0 ? pstrdup("") : TextDatumGetCString(low);
	*list = lappend(*list, shard);
}

/* The shards of a table in the order of their numbers.  Returns how many. */
static int
read_shards(Oid relid, Shard **shards)
{
	List	   *list = NIL;
	int			n = 0;
	ListCell   *lc;

	scan_catalog("pg_dist_shard", "pg_dist_shard_logicalrelid_index",
				 "logicalrelid", REGCLASSOID, ObjectIdGetDatum(relid),
				 take_shard, &list);
	*shards = palloc(Max(1, list_length(list)) * sizeof(Shard));
	foreach(lc, list)
		(*shards)[n++] = *(Shard *) lfirst(lc);
	qsort(*shards, n, sizeof(Shard), shard_cmp);
	return n;
}

/* What a row of pg_dist_partition says of a table. */
typedef struct Partition
{
	bool		has_shards;		/* of its own */
	int32		colocation;		/* the number of its group; 0: it is in none */
} Partition;

/*
 * Reference tables and local tables that Citus knows have no distribution
 * column, and neither have the tables of a distributed schema, which are
 * colocated.
 */
static void
take_partition(HeapTuple row, TupleDesc desc, void *arg)
{
	Partition  *partition = (Partition *) arg;
	char		method = DatumGetChar(column_value(row, desc, "partmethod",
												   CHAROID, CharGetDatum('h')));
	char		model = DatumGetChar(column_value(row, desc, "repmodel", CHAROID,
												  CharGetDatum('s')));

	partition->colocation = DatumGetInt32(column_value(row, desc, "colocationid",
													   INT4OID, Int32GetDatum(0)));
	partition->has_shards = method != 'n' ||
		(model == 's' &&
		 DatumGetInt32(column_value(row, desc, "colocationid", INT4OID,
									Int32GetDatum(1))) != 0);
}

static Partition
read_partition(Oid relid)
{
	Partition	partition = {false, 0};

	scan_catalog("pg_dist_partition", "pg_dist_partition_logical_relid_index",
				 "logicalrelid", REGCLASSOID, ObjectIdGetDatum(relid),
				 take_partition, &partition);
	return partition;
}

bool
lb_has_shards(Oid relid)
{
	return read_partition(relid).has_shards;
}

static int32
colocation(Oid relid)
{
	return read_partition(relid).colocation;
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

		CHECK_FOR_INTERRUPTS();
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

/* The group that has a shard, and how many have a copy of it. */
typedef struct Placement
{
	int32		group;
	int			n;
} Placement;

static void
take_placement(HeapTuple row, TupleDesc desc, void *arg)
{
	Placement  *placement = (Placement *) arg;

	placement->group = DatumGetInt32(column_value(row, desc, "groupid", INT4OID,
												  Int32GetDatum(-1)));
	placement->n++;
}

/* The group that has a shard; -1 if there is none, or several have copies. */
static int32
find_group(int64 shard)
{
	Placement	placement = {-1, 0};

	scan_catalog("pg_dist_placement", "pg_dist_placement_shardid_index",
				 "shardid", INT8OID, Int64GetDatum(shard), take_placement,
				 &placement);
	return placement.n == 1 ? placement.group : -1;
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
 * Find the shard of places with the same range, and the group that has both.
 * Returns false if there are none.
 */
static bool
fill_slot(LbShardSlot *slot, const Shard *shard, const Shard *of_places,
		  int nplaces)
{
	int			i = 0;

	while (i < nplaces && strcmp(of_places[i].low, shard->low) != 0)
		i++;
	if (i == nplaces)
		return false;
	slot->shard = shard->number;
	slot->self = of_places[i].number;
	slot->place = NULL;
	slot->group = find_group(slot->shard);
	return slot->group >= 0 &&
		find_group(slot->self) == slot->group;
}

/*
 * Read a layout into the current memory context, or return NULL if there is
 * none.
 */
static LbLayout *
read_layout(Oid source, Oid places)
{
	LbLayout   *layout = palloc0(sizeof(LbLayout));
	int32		group = colocation(source);
	Shard	   *of_source;
	Shard	   *of_places;
	int			n = read_shards(source, &of_source);
	int			nplaces = read_shards(places, &of_places);

	if (n == 0 || nplaces == 0 || group == 0 || colocation(places) != group)
		return NULL;
	layout->slots = palloc(n * sizeof(LbShardSlot));
	while (layout->n < n && fill_slot(&layout->slots[layout->n],
									  &of_source[layout->n], of_places,
									  nplaces))
	{
		CHECK_FOR_INTERRUPTS();
		layout->n++;
	}
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
