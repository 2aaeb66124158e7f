/*-------------------------------------------------------------------------
 *
 * companion.c
 *	  Companions of a distributed table of scores.
 *
 * A submit runs on the server of the player's shard, in one transaction with
 * the scores.  So what it records there is in tables that are colocated with
 * that of the scores, and not in the extension's own.  They are found by their
 * names, which begin with that of the table of scores.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "boards/resolve.h"
#include "boards/target.h"
#include "citus/companion.h"
#include "citus/shard.h"
#include "sql/spi.h"

const LbCompanion lb_companions[LB_NRECORDS] = {
	[LB_RECORD_APPLIED] = {
		.suffix = "_applied",
		.columns = {
			{"match_id", TEXTOID, "pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL"},
			{"applied_at", TIMESTAMPTZOID, "pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()"},
			{"boards", TEXTARRAYOID, "pg_catalog.text[]"},
			{"scores", INT8ARRAYOID, "pg_catalog.int8[]"}
		},
		.key = "player_id, match_id",
		.index_column = "applied_at"
	},
	[LB_RECORD_EVENT] = {
		.suffix = "_event",
		.columns = {
			{"op", TEXTOID, "pg_catalog.text NOT NULL"},
			{"amount", INT8OID, "pg_catalog.int8 NOT NULL"},
			{"match_id", TEXTOID, "pg_catalog.text"},
			{"at", TIMESTAMPTZOID, "pg_catalog.timestamptz NOT NULL"},
			{"boards", TEXTARRAYOID, "pg_catalog.text[] NOT NULL"},
			{"scores", INT8ARRAYOID, "pg_catalog.int8[] NOT NULL"},
			{"submitted_at", TIMESTAMPTZOID, "pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()"}
		},
		.index_column = "submitted_at"
	},
	[LB_RECORD_USAGE] = {
		.suffix = "_usage",
		.columns = {
			{"limit_name", TEXTOID, "pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL"},
			{"board", TEXTOID, "pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL"},
			{"since", TIMESTAMPTZOID, "pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()"},
			{"amount", NUMERICOID, "pg_catalog.numeric NOT NULL"},
			{"submits", INT8OID, "pg_catalog.int8 NOT NULL"}
		},
		.key = "player_id, limit_name, board",
		.options = "fillfactor = 80"
	},
	[LB_RECORD_ANOMALY] = {
		.suffix = "_anomaly",
		.columns = {
			{"limit_name", TEXTOID, "pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL"},
			{"board", TEXTOID, "pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL"},
			{"submits", INT8OID, "pg_catalog.int8 NOT NULL"},
			{"first_noted_at", TIMESTAMPTZOID, "pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()"},
			{"noted_at", TIMESTAMPTZOID, "pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()"},
			{"max_amount", INT8OID, "pg_catalog.int8 NOT NULL"},
			{"measure", TEXTOID, "pg_catalog.text NOT NULL"},
			{"value", NUMERICOID, "pg_catalog.numeric NOT NULL"},
			{"bound", INT8OID, "pg_catalog.int8 NOT NULL"},
			{"amount", INT8OID, "pg_catalog.int8 NOT NULL"},
			{"match_id", TEXTOID, "pg_catalog.text"},
			{"at", TIMESTAMPTZOID, "pg_catalog.timestamptz NOT NULL"},
			{"reviewed", BOOLOID, "boolean NOT NULL DEFAULT false"}
		},
		.key = "player_id, limit_name, board",
		.options = "fillfactor = 80"
	},
	[LB_RECORD_HIDDEN] = {
		.suffix = "_hidden",
		.columns = {
			{"board", TEXTOID, "pg_catalog.text COLLATE pg_catalog.\"C\" NOT NULL"},
			{"hidden", BOOLOID, "boolean NOT NULL"}
		},
		.key = "player_id, board"
	}
};

/* Whether a table has the columns of one of that kind. */
static bool
has_columns(Oid table, LbRecord record)
{
	const LbCompanion *kind = &lb_companions[record];

	for (int i = 0; kind->columns[i].name != NULL; i++)
	{
		AttrNumber	attno = get_attnum(table, kind->columns[i].name);

		if (attno <= 0 ||
			get_atttype(table, attno) != kind->columns[i].type)
			return false;
	}
	return get_attnum(table, "player_id") > 0;
}

Oid
lb_find_companion(const char *name, Oid schema, LbRecord record)
{
	Oid			table = get_relname_relid(psprintf("%s%s", name,
												   lb_companions[record].suffix),
										  schema);

	return OidIsValid(table) && lb_is_distributed_table(table) &&
		has_columns(table, record) ? table : InvalidOid;
}

/* The companion of a distributed table of scores; or InvalidOid. */
static Oid
find_companion(const LbDefinition *defn, LbRecord record)
{
	Oid			table = lb_find_companion(get_rel_name(defn->source),
										  get_rel_namespace(defn->source),
										  record);

	return OidIsValid(table) && lb_table_owner(table) == defn->owner ?
		table : InvalidOid;
}

Oid
lb_companion_of(const char *name, LbRecord record)
{
	const LbDefinition *defn = lb_find_recorded(name);

	return defn == NULL ? InvalidOid : find_companion(defn, record);
}

Oid
lb_shard_companion(const char *name, LbRecord record, text *player)
{
	Oid			table = lb_companion_of(name, record);
	int64		shard = OidIsValid(table) ?
		lb_find_shard(table, "player_id", player) : 0;

	return shard == 0 ? InvalidOid : lb_shard_table(table, shard);
}

uint64
lb_trim_companion(const char *name, LbRecord record, TimestampTz before)
{
	const LbDefinition *defn = lb_find_recorded(name);
	Oid			table = defn == NULL ? InvalidOid : find_companion(defn, record);
	int			nestlevel;
	uint64		n;
	LbUser		saved;

	if (!OidIsValid(table))
		return 0;
	nestlevel = lb_begin_all_shards();
	lb_switch_to_owner(&saved, defn->owner, false);
	n = lb_exec_once(psprintf("DELETE FROM %s AS t WHERE t.%s OPERATOR(pg_catalog.<) $1",
							  lb_qualified_name(table),
							  lb_companions[record].index_column),
					 table, LB_ARGS(lb_arg_time(before)));
	lb_restore_user(&saved);
	AtEOXact_GUC(true, nestlevel);
	return n;
}

static LbDefinition *
find_definition(const LbStandIn *in, const char *name)
{
	return lb_shard_defn(name, in->player);
}

static Oid
find_table(const LbStandIn *in, const char *leaderboard, LbRecord record)
{
	return lb_shard_companion(leaderboard, record, in->player);
}

void
lb_shard_stand_in(LbStandIn *in, text *player)
{
	in->player = player;
	in->definition = find_definition;
	in->table = find_table;
}
