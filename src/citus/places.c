/*-------------------------------------------------------------------------
 *
 * places.c
 *	  The table of places of a table that Citus distributes.
 *
 * Citus has no way to call a function once for each shard of a table, but it
 * calls one for each row of a table, on the server that has the row.  So such
 * a table has a table of places beside it, scores_lb_places beside scores,
 * which is colocated with it: wherever a shard is, there is the shard of
 * places with the same range of hash values, also after it has been moved.  It
 * has one row for each shard:
 *
 *	place		a value of the distribution column that hashes into the range;
 *				found by trying, since the hash function has no inverse
 *	shard		the number of the source's shard
 *	self		the number of the shard of places that the row is in
 *	width		how many hash values the range has, of 2^32 in all
 *
 * Nothing that users may read depends on what the rows say: readers compare
 * them with what Citus knows of the shards (layout.c).  When a shard has been
 * split, rows are missing, and the old one says another shard than the one it
 * is in, until maintenance makes all rows anew.
 *
 * The table belongs to the source's owner, who may have put code into it: so
 * it is made and filled with the owner's rights, whoever calls.  It goes with
 * the source, by our event trigger, and with the source's last board.  Where a
 * dependency in pg_depend drops a table, Citus takes it for a partition and
 * leaves its shards behind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "admin/triggers.h"
#include "boards/resolve.h"
#include "citus/companion.h"
#include "citus/layout.h"
#include "citus/places.h"
#include "citus/shard.h"
#include "sql/spi.h"

/* How many values are tried at first for the shards' ranges, and at most. */
#define FIRST_VALUES 1024
#define MOST_VALUES (1 << 22)

/* How Citus distributes a table. */
typedef struct Distribution
{
	bool		hashed;			/* by the hash of a column */
	bool		everywhere;		/* a reference table */
	Oid			type;			/* of that column, below domains */
	char	   *declared;		/* its type as SQL text ... */
	char	   *collate;		/* ... and what follows it in CREATE TABLE */
} Distribution;

/*
 * A value of the column's type that is made of u.n, a number from 1, as SQL
 * text; or NULL.
 */
static const char *
value_text(const Distribution *d)
{
	switch (d->type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
			return psprintf("CAST(CAST(u.n AS pg_catalog.text) AS %s)",
							d->declared);
		case UUIDOID:
			return psprintf("CAST(pg_catalog.md5(CAST(u.n AS pg_catalog.text)) AS %s)",
							d->declared);
		default:
			return NULL;
	}
}

/* How many of them there are to try. */
static int
count_values(const Distribution *d)
{
	return d->type == INT2OID ? PG_INT16_MAX : MOST_VALUES;
}

static void
declare_type(Distribution *d, Oid source, AttrNumber attno)
{
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(source, attno, &type, &typmod, &collation);
	d->type = getBaseType(type);
	d->declared = format_type_extended(type, -1, FORMAT_TYPE_FORCE_QUALIFY);
	if (OidIsValid(collation) && collation != get_typcollation(type))
		d->collate = psprintf(" COLLATE %s",
							  generate_collation_name(collation));
}

/*
 * Find out how a table is distributed.  Returns false if it can have no
 * places.
 */
static bool
find_distribution(Oid source, Distribution *d)
{
	char	   *method;
	char	   *column;

	if (lb_exec_once("SELECT CAST(p.partmethod AS pg_catalog.text), pg_catalog.column_to_column_name(p.logicalrelid, p.partkey), "
					 "CAST(p.repmodel AS pg_catalog.text) OPERATOR(pg_catalog.=) 't', p.colocationid OPERATOR(pg_catalog.<>) 0 "
					 "FROM pg_catalog.pg_dist_partition AS p WHERE p.logicalrelid OPERATOR(pg_catalog.=) $1",
					 InvalidOid, LB_ARGS(lb_arg_regclass(source))) != 1)
		return false;
	method = lb_row_text(SPI_tuptable, 0, 1);
	column = lb_row_text(SPI_tuptable, 0, 2);
	d->everywhere = lb_row_bool(SPI_tuptable, 0, 3);
	d->hashed = method[0] == 'h';
	d->type = INT8OID;
	d->declared = "pg_catalog.int8";
	d->collate = "";
	if (d->hashed && column != NULL)
		declare_type(d, source, get_attnum(source, column));
	if (!lb_row_bool(SPI_tuptable, 0, 4))
		return false;
	return method[0] == 'n' || (d->hashed && value_text(d) != NULL);
}

/* The qualified name of the table of places. */
static char *
places_name(Oid source)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(source)),
									  lb_places_name(get_rel_name(source)));
}

/* Make the table.  Returns its OID. */
static Oid
create(Oid source, const Distribution *d)
{
	char	   *name = places_name(source);
	Oid			places;

	lb_execute_utility(psprintf("CREATE TABLE %s (place %s%s PRIMARY KEY, shard pg_catalog.int8, self pg_catalog.int8, width pg_catalog.int8)",
								name, d->declared, d->collate));
	places = lb_places(source);
	if (!OidIsValid(places))
		elog(ERROR, "could not find the table of places %s", name);
	if (d->everywhere)
		lb_execute_utility(psprintf("SELECT pg_catalog.create_reference_table(%s)",
									quote_literal_cstr(name)));
	/* In a schema that is distributed, the table is already. */
	else if (!lb_is_distributed_table(places))
		lb_execute_utility(psprintf("SELECT pg_catalog.create_distributed_table(%s, %s, 'hash', %s)",
									quote_literal_cstr(name), d->hashed ? "'place'" : "NULL",
									quote_literal_cstr(lb_qualified_name(source))));
	lb_execute_utility(psprintf("COMMENT ON TABLE %s IS %s", name,
								quote_literal_cstr("made by the extension leaderboard: a row for each shard, so that queries can ask each shard's board")));
	lb_execute_utility(psprintf("GRANT SELECT ON TABLE %s TO PUBLIC", name));
	return places;
}

/* The shards of a table and those of its places. */
#define PAIRS \
	"SELECT s.shardid AS shard, q.shardid AS self, CAST(s.shardminvalue AS pg_catalog.int4) AS low, " \
	"CAST(s.shardmaxvalue AS pg_catalog.int8) OPERATOR(pg_catalog.-) CAST(s.shardminvalue AS pg_catalog.int8) OPERATOR(pg_catalog.+) 1 AS width " \
	"FROM pg_catalog.pg_dist_shard AS s JOIN pg_catalog.pg_dist_shard AS q " \
	"ON COALESCE(q.shardminvalue, '') OPERATOR(pg_catalog.=) COALESCE(s.shardminvalue, '') " \
	"WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1 AND q.logicalrelid OPERATOR(pg_catalog.=) $2"

/*
 * Find a value for the range of each shard.  Leaves a row of arrays in
 * SPI_tuptable: numbers from which values are made, shards, those of places,
 * widths.  Returns false if some shards have none.
 */
static bool
find_values(Oid source, Oid places, const Distribution *d)
{
	for (int n = FIRST_VALUES; d->hashed && n <= count_values(d); n *= 16)
	{
		(void) lb_exec_once(psprintf("WITH p AS MATERIALIZED (" PAIRS "), "
									 "r AS MATERIALIZED (SELECT pg_catalog.array_agg(p.low ORDER BY p.low) AS lows FROM p), "
									 "v AS (SELECT pg_catalog.min(u.n) AS n, r.lows[pg_catalog.width_bucket(pg_catalog.worker_hash(%s), r.lows)] AS low "
									 "FROM r CROSS JOIN pg_catalog.generate_series(1, $3) AS u (n) GROUP BY 2) "
									 "SELECT pg_catalog.array_agg(v.n), pg_catalog.array_agg(p.shard), pg_catalog.array_agg(p.self), pg_catalog.array_agg(p.width), "
									 "pg_catalog.bool_and(v.n IS NOT NULL) "
									 "FROM p LEFT JOIN v ON v.low OPERATOR(pg_catalog.=) p.low", value_text(d)),
							InvalidOid,
							LB_ARGS(lb_arg_regclass(source), lb_arg_regclass(places), lb_arg_int4(n)));
		if (lb_row_bool(SPI_tuptable, 0, 5))
			return true;
	}
	if (d->hashed)
		return false;
	return lb_exec_once("SELECT ARRAY[1], ARRAY[p.shard], ARRAY[p.self], ARRAY[CAST(4294967296 AS pg_catalog.int8)] FROM (" PAIRS ") AS p",
						InvalidOid,
						LB_ARGS(lb_arg_regclass(source), lb_arg_regclass(places))) == 1;
}

/* Make all rows anew. */
static void
fill(Oid source, Oid places, const Distribution *d)
{
	char	   *name = places_name(source);
	SPITupleTable *found;

	if (!find_values(source, places, d))
		return;
	found = SPI_tuptable;
	lb_execute_utility(psprintf("DELETE FROM %s", name));
	(void) lb_exec_once(psprintf("INSERT INTO %s (place, shard, self, width) SELECT %s, u.shard, u.self, u.width "
								 "FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4)) AS u (n, shard, self, width)",
								 name, d->hashed ? value_text(d) : "u.n"),
						InvalidOid,
						LB_ARGS(lb_arg(INT4ARRAYOID, lb_row_datum(found, 0, 1)),
								lb_arg(INT8ARRAYOID, lb_row_datum(found, 0, 2)),
								lb_arg(INT8ARRAYOID, lb_row_datum(found, 0, 3)),
								lb_arg(INT8ARRAYOID, lb_row_datum(found, 0, 4))));
}

/* Whether the rows are what they should be, as far as readers need it. */
static bool
is_right(Oid source, Oid places)
{
	int64	   *shards;
	int64	   *selves;
	int			n;

	n = (int) lb_exec_once(psprintf("SELECT p.shard, p.self FROM %s AS p",
									lb_qualified_name(places)),
						   places, LB_NO_ARGS);
	shards = palloc(Max(1, n) * sizeof(int64));
	selves = palloc(Max(1, n) * sizeof(int64));
	for (int i = 0; i < n; i++)
	{
		(void) lb_row_int8(SPI_tuptable, i, 1, &shards[i]);
		(void) lb_row_int8(SPI_tuptable, i, 2, &selves[i]);
	}
	return lb_are_all_shards(source, places, n, shards, selves);
}

/*
 * The table of places that was made when the source had another name, or was
 * in another schema, which it gets now; or InvalidOid.
 */
static Oid
follow_rename(Oid source)
{
	const char *name = lb_places_name(get_rel_name(source));
	Oid			schema = get_rel_namespace(source);
	uint64		n;
	SPITupleTable *tables;

	n = lb_exec_once("SELECT p.oid FROM pg_catalog.pg_class AS s JOIN pg_catalog.pg_class AS p "
					 "ON p.relowner OPERATOR(pg_catalog.=) s.relowner "
					 "WHERE s.oid OPERATOR(pg_catalog.=) $1 AND p.relkind OPERATOR(pg_catalog.=) 'r' "
					 "AND pg_catalog.right(CAST(p.relname AS pg_catalog.text), 10) OPERATOR(pg_catalog.=) '_lb_places'",
					 InvalidOid, LB_ARGS(lb_arg_regclass(source)));
	tables = SPI_tuptable;
	for (uint64 i = 0; i < n; i++)
	{
		Oid			places = DatumGetObjectId(lb_row_datum(tables, i, 1));

		if (!lb_is_places(places) || !lb_is_distributed_table(places) ||
			!is_right(source, places))
			continue;
		if (get_rel_namespace(places) != schema)
			lb_execute_utility(psprintf("ALTER TABLE %s SET SCHEMA %s", lb_qualified_name(places),
										quote_identifier(get_namespace_name(schema))));
		if (strcmp(get_rel_name(places), name) != 0)
			lb_execute_utility(psprintf("ALTER TABLE %s RENAME TO %s", lb_qualified_name(places),
										quote_identifier(name)));
		return places;
	}
	return InvalidOid;
}

/* Whether Citus keeps shards of both where the other's are. */
static bool
are_colocated(Oid source, Oid places)
{
	return lb_exec_once("SELECT FROM pg_catalog.pg_dist_partition AS s JOIN pg_catalog.pg_dist_partition AS p "
						"ON p.colocationid OPERATOR(pg_catalog.=) s.colocationid "
						"WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1 AND p.logicalrelid OPERATOR(pg_catalog.=) $2",
						InvalidOid,
						LB_ARGS(lb_arg_regclass(source), lb_arg_regclass(places))) == 1;
}

static void
drop(Oid source)
{
	lb_execute_utility(psprintf("DROP TABLE %s", places_name(source)));
}

/*
 * Whether the current user, the owner, may create tables in the source's
 * schema, and log in: Citus connects to other servers as that role.
 */
static bool
may_create(Oid source)
{
	HeapTuple	role = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
	bool		may = HeapTupleIsValid(role) &&
		((Form_pg_authid) GETSTRUCT(role))->rolcanlogin;

	if (HeapTupleIsValid(role))
		ReleaseSysCache(role);
	return may &&
		pg_namespace_aclcheck(get_rel_namespace(source), GetUserId(),
							  ACL_CREATE) == ACLCHECK_OK;
}

/* Make the table, or put it right. */
static void
make(Oid source, const Distribution *d)
{
	Oid			places = lb_places(source);
	char	   *name = lb_places_name(get_rel_name(source));

	if (OidIsValid(places))
		LockRelationOid(places, ShareUpdateExclusiveLock);
	else if (OidIsValid(get_relname_relid(name, get_rel_namespace(source))))
	{
		ereport(NOTICE,
				(errmsg("relation \"%s\" is not a table of places of the same owner", name),
				 errdetail("Reads run queries on the shards instead."),
				 errhint("Rename the relation, or give it to the owner of table \"%s\" if it was made for that, and use lb_rebuild().",
						 get_rel_name(source))));
		return;
	}

	/* It was restored from a dump, or tables have exchanged their names. */
	if (OidIsValid(places) && !are_colocated(source, places))
	{
		drop(source);
		places = InvalidOid;
	}
	if (!OidIsValid(places) && !may_create(source))
	{
		ereport(NOTICE,
				(errmsg("table of places \"%s\" cannot be made", name),
				 errdetail("The owner of table \"%s\" may not create tables in its schema, or may not log in.  Reads run queries on the shards instead.",
						   get_rel_name(source)),
				 errhint("Grant the owner CREATE on the schema and LOGIN, and use lb_rebuild().")));
		return;
	}
	if (!OidIsValid(places))
		places = follow_rename(source);
	if (!OidIsValid(places))
		places = create(source, d);
	if (!is_right(source, places))
		fill(source, places, d);
}

void
lb_places_make(Oid source)
{
	Distribution d;
	int			nestlevel = NewGUCNestLevel();
	LbUser		saved;

	SPI_connect();

	/* Citus refuses to make a table after statements that ran in parallel. */
	lb_set_locally("citus.multi_shard_modify_mode", "sequential");
	lb_switch_to_owner(&saved, lb_table_owner(source), false);
	if (find_distribution(source, &d))
		make(source, &d);
	lb_restore_user(&saved);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
}

void
lb_places_drop(Oid source)
{
	if (!OidIsValid(lb_places(source)))
		return;
	SPI_connect();
	drop(source);
	SPI_finish();
}

/* Drop a table that went with a source, if it is there and the caller may. */
static void
follow_drop(Oid relid)
{
	if (OidIsValid(relid) && lb_is_distributed_table(relid) &&
		pg_class_ownercheck(relid, GetUserId()))
		lb_execute_utility(psprintf("DROP TABLE %s", lb_qualified_name(relid)));
}

void
lb_places_follow_drop(Datum *sources, int n)
{
	uint64		ndropped;
	SPITupleTable *dropped;

	ndropped = lb_exec_once("SELECT CAST(d.schema_name AS pg_catalog.text), CAST(d.object_name AS pg_catalog.text) FROM pg_catalog.pg_event_trigger_dropped_objects() AS d "
							"WHERE d.classid OPERATOR(pg_catalog.=) CAST('pg_catalog.pg_class' AS pg_catalog.regclass) "
							"AND d.objsubid OPERATOR(pg_catalog.=) 0 AND d.objid OPERATOR(pg_catalog.=) ANY ($1)",
							InvalidOid, LB_ARGS(lb_arg_array(OIDOID, sources, NULL, n)));
	dropped = SPI_tuptable;
	if (ndropped == 0 || !lb_is_coordinator())
		return;
	for (uint64 i = 0; i < ndropped; i++)
	{
		char	   *name = lb_row_text(dropped, i, 2);
		Oid			schemaid = get_namespace_oid(lb_row_text(dropped, i, 1), true);
		Oid			places = get_relname_relid(lb_places_name(name), schemaid);

		if (OidIsValid(places) && lb_is_places(places))
			follow_drop(places);
		for (int beside = 0; beside < LB_NRECORDS; beside++)
			follow_drop(lb_find_companion(name, schemaid, beside));
	}
}
