/*-------------------------------------------------------------------------
 *
 * shard.c
 *	  The shards of distributed tables that a player's rows are in.
 *
 * On its server a shard is an ordinary table, whose name ends in the shard's
 * number.  There a submit runs the statements that it would run on the
 * distributed table.  They need a definition whose source is the shard: a copy
 * of the recorded one, resolved against the shard.  Each backend keeps the
 * copies.  They are made again when the
 * recorded definitions change, or the shard does.
 *
 * The shard's own board is another definition with the same source.  It is not
 * used here, since a shard that has just been moved has none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "boards/cache.h"
#include "boards/catalog.h"
#include "boards/distributed.h"
#include "boards/resolve.h"
#include "boards/target.h"
#include "citus/layout.h"
#include "citus/shard.h"
#include "sql/spi.h"

/* A copy of a definition. */
typedef struct ShardKey
{
	int32		id;				/* of the definition */
	Oid			source;			/* the shard */
} ShardKey;

typedef struct ShardEntry
{
	ShardKey	key;
	bool		valid;			/* no invalidation of the shard has come */
	uint64		version;		/* lb_defns_version() of the definition */
	MemoryContext context;		/* NULL: no copy */
	LbDefinition *defn;
} ShardEntry;

static HTAB *entries = NULL;

/* An LbPlanText: a copy of the text arg. */
static char *
constant_text(const void *arg)
{
	return pstrdup((const char *) arg);
}

/* Run a text, which is a constant. */
static uint64
run(LbPlan *plan, const char *text, int nargs, const LbArg *args)
{
	return lb_plan_exec(plan, 0, constant_text, text, InvalidOid, InvalidOid,
						nargs, args);
}

/*
 * Citus tells it to roles that may read the table; it is a hash of the player.
 */
int64
lb_find_shard(Oid table, const char *column, text *player)
{
	static LbPlan plan;
	int64		shard = 0;
	LbUser		saved;

	lb_switch_to_owner(&saved, lb_table_owner(table), false);
	if (run(&plan,
			"SELECT pg_catalog.get_shard_id_for_distribution_column($1, $2) "
			"FROM pg_catalog.pg_dist_partition AS p WHERE p.logicalrelid OPERATOR(pg_catalog.=) $1 "
			"AND p.partmethod OPERATOR(pg_catalog.=) 'h' "
			"AND pg_catalog.column_to_column_name(p.logicalrelid, p.partkey) OPERATOR(pg_catalog.=) $3",
			LB_ARGS(lb_arg_regclass(table), lb_arg(TEXTOID, PointerGetDatum(player)),
					lb_arg_text(column))) > 0)
		(void) lb_row_int8(SPI_tuptable, 0, 1, &shard);
	lb_restore_user(&saved);
	SPI_freetuptable(SPI_tuptable);
	return shard;
}

int64
lb_find_shard_of(const LbDefinition *defn, text *player)
{
	return defn->relkind == RELKIND_PARTITIONED_TABLE ? 0 :
		lb_find_shard(defn->source, lb_member_column(defn)->name, player);
}

int64
lb_shard_of(const LbDefinition *defn, text *player)
{
	int64		shard = lb_find_shard_of(defn, player);

	if (shard == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("scores cannot be submitted to board \"%s\"", defn->name),
				 errdetail("Its table is not distributed by hash of column \"%s\".",
						   lb_member_column(defn)->name),
				 errhint("Distribute the table by its players, as lb_create_tables(distributed => true) does.")));
	return shard;
}

void
lb_shards_of(const LbDefinition *defn, Datum *players, int n, int64 *shards)
{
	static LbPlan plan;
	LbUser		saved;

	/* Whether there are shards of players. */
	(void) lb_shard_of(defn, DatumGetTextPP(players[0]));
	lb_switch_to_owner(&saved, defn->owner, false);
	(void) run(&plan,
			   "SELECT pg_catalog.get_shard_id_for_distribution_column($1, u.player) "
			   "FROM pg_catalog.unnest($2) WITH ORDINALITY AS u (player, n) ORDER BY u.n",
			   LB_ARGS(lb_arg_regclass(defn->source), lb_arg_array(TEXTOID, players, NULL, n)));
	lb_restore_user(&saved);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(void) lb_row_int8(SPI_tuptable, i, 1, &shards[i]);
	}
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Citus lets the owner of the table call the function, which raises an error
 * for a shard that is gone.
 */
void
lb_lock_shards(const LbDefinition *defn, Datum *shards, int n)
{
	static LbPlan plan;
	LbUser		saved;

	lb_switch_to_owner(&saved, defn->owner, false);
	(void) run(&plan,
			   "SELECT pg_catalog.lock_shard_metadata($1, ARRAY[s.shardid]) FROM "
			   "(SELECT s.shardid FROM pg_catalog.pg_dist_shard AS s WHERE s.shardid OPERATOR(pg_catalog.=) ANY ($2) ORDER BY s.shardid) AS s",
			   LB_ARGS(lb_arg_int4(ShareLock), lb_arg_array(INT8OID, shards, NULL, n)));
	lb_restore_user(&saved);
	AcceptInvalidationMessages();
}

int64
lb_lock_shard(const LbDefinition *defn, text *player)
{
	int64		locked = 0;
	int64		shard;

	while ((shard = lb_shard_of(defn, player)) != locked)
	{
		Datum		value = Int64GetDatum(shard);

		lb_lock_shards(defn, &value, 1);
		locked = shard;
	}
	return shard;
}

Oid
lb_shard_table(Oid table, int64 shard)
{
	static LbPlan plan;
	Datum		value;
	bool		isnull;

	(void) run(&plan,
			   "SELECT pg_catalog.to_regclass(pg_catalog.shard_name($1, $2, false))",
			   LB_ARGS(lb_arg_regclass(table), lb_arg_int8(shard)));
	value = lb_row_nullable(SPI_tuptable, 0, 1, &isnull);
	SPI_freetuptable(SPI_tuptable);
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard " INT64_FORMAT " of table \"%s\" is not on this server",
						shard, get_rel_name(table)),
				 errhint("The tables of a leaderboard must be colocated, as those of lb_create_tables(distributed => true) are.")));
	return DatumGetObjectId(value);
}

/* lb_cache_register(): a relation has changed, or all have. */
static void
invalidate(Oid relid, void *arg)
{
	HASH_SEQ_STATUS status;
	ShardEntry *entry;

	hash_seq_init(&status, entries);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (!OidIsValid(relid) || relid == entry->key.source)
			entry->valid = false;
	}
}

/* Forget the copies that are stale: their shards may be gone. */
static void
forget_stale(void)
{
	HASH_SEQ_STATUS status;
	ShardEntry *entry;

	hash_seq_init(&status, entries);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->valid && entry->version == lb_defns_version())
			continue;
		if (entry->context != NULL)
			lb_cache_retire(entry->context);
		entry->context = NULL;
		hash_search(entries, &entry->key, HASH_REMOVE, NULL);
	}
}

/* The copy of a definition for a shard, which may be stale. */
static ShardEntry *
find_entry(const LbDefinition *defn, Oid source)
{
	ShardKey	key = {.id = defn->id,.source = source};
	ShardEntry *entry;

	if (entries == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(ShardKey),.entrysize = sizeof(ShardEntry)};

		entries = hash_create("leaderboard shards", 32, &ctl,
							  HASH_ELEM | HASH_BLOBS);
		lb_cache_register(invalidate, NULL);
	}
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	if (entry != NULL)
		return entry;
	forget_stale();
	entry = hash_search(entries, &key, HASH_ENTER, NULL);
	entry->valid = false;
	entry->context = NULL;
	return entry;
}

/* Copy a definition for a shard, and resolve the copy against the shard. */
static void
make_copy(ShardEntry *entry, const LbDefinition *defn)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "leaderboard shard",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	LbDefinition *copy = palloc(sizeof(LbDefinition));

	lb_copy_defn(copy, defn);
	copy->source = entry->key.source;
	copy->source_name = NULL;
	copy->from_name = NULL;
	copy->shared = NULL;
	copy->parts = NULL;
	copy->nparts = 0;
	if (entry->context != NULL)
		lb_cache_retire(entry->context);
	entry->context = NULL;
	entry->version = lb_defns_version();
	entry->valid = true;
	lb_resolve_anew(copy);
	MemoryContextSwitchTo(old);
	if (!copy->resolved)
		entry->valid = false;
	MemoryContextSetParent(context, TopMemoryContext);
	entry->context = context;
	entry->defn = copy;
}

LbDefinition *
lb_shard_defn(const char *name, text *player)
{
	for (;;)
	{
		LbDefinition *defn = lb_find_recorded(name);
		ShardEntry *entry;
		Oid			source;

		CHECK_FOR_INTERRUPTS();
		if (defn == NULL)
			return NULL;
		source = lb_shard_table(defn->source, lb_shard_of(defn, player));
		LockRelationOid(source, AccessShareLock);

		/* Again: invalidations may have come meanwhile. */
		defn = lb_find_recorded(name);
		if (defn == NULL || !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
			continue;
		entry = find_entry(defn, source);
		if (entry->context == NULL || !entry->valid ||
			entry->version != lb_defns_version())
			make_copy(entry, defn);
		if (!entry->valid)
			continue;

		/* The caller's privileges may have changed. */
		entry->defn->checked_user = InvalidOid;
		return entry->defn;
	}
}

int
lb_begin_all_shards(void)
{
	static const char *const settings[][2] = {
		{"citus.multi_shard_modify_mode", "sequential"},
		{"DateStyle", "ISO"},
		{"IntervalStyle", "postgres"}
	};
	int			nestlevel = NewGUCNestLevel();

	for (int i = 0; i < (int) lengthof(settings); i++)
		lb_set_locally(settings[i][0], settings[i][1]);
	return nestlevel;
}

void
lb_raise_not_recorded(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("board \"%s\" is not recorded on this server", name),
			 errhint("lb_maintain() on the coordinator records boards on all servers, as the owner of the table.")));
}

void
lb_raise_other_shard(const char *name, text *player, int64 shard)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("player \"%s\" of board \"%s\" is not in shard " INT64_FORMAT " here",
					text_to_cstring(player), name, shard),
			 errhint("The transaction might succeed if retried.")));
}

/*
 * Whether a player is in a shard of the table of the board of that name.  Sets
 * *found if there is such a board.  With lock, a split that is being committed
 * is waited for: the shard's lock shows it here as well.
 */
static bool
is_in_shard(const char *name, text *player, int64 shard, bool lock,
			bool *found)
{
	const LbDefinition *defn = name == NULL ? NULL : lb_find_recorded(name);

	if (defn == NULL)
		return false;
	*found = true;
	if (!lb_is_distributed(defn))
		return false;
	return (lock ? lb_lock_shard(defn, player) :
			lb_shard_of(defn, player)) == shard;
}

int
lb_begin_shard(const char *name, const char *other, text *player, int64 shard)
{
	bool		found = false;
	int			nestlevel;

	if (!is_in_shard(name, player, shard, false, &found) &&
		!is_in_shard(other, player, shard, false, &found) &&
		!is_in_shard(name, player, shard, true, &found) &&
		!is_in_shard(other, player, shard, true, &found))
	{
		if (!found)
			lb_raise_not_recorded(name);
		lb_raise_other_shard(name, player, shard);
	}
	nestlevel = NewGUCNestLevel();
	lb_set_locally("citus.enable_manual_changes_to_shards", "on");
	return nestlevel;
}

/* The owner of the extension's schema; InvalidOid if it is gone. */
static Oid
schema_owner(void)
{
	HeapTuple	tuple;
	Oid			owner = InvalidOid;

	tuple = SearchSysCache1(NAMESPACEOID,
							ObjectIdGetDatum(lb_require_catalog()->schema));
	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
		ReleaseSysCache(tuple);
	}
	if (owner != ROLE_PG_DATABASE_OWNER)
		return owner;

	/* Its member is the owner of the database. */
	owner = InvalidOid;
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_database) GETSTRUCT(tuple))->datdba;
		ReleaseSysCache(tuple);
	}
	return owner;
}

bool
lb_may_call_others(void)
{
	return !superuser() || superuser_arg(schema_owner());
}
