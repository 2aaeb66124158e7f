/*-------------------------------------------------------------------------
 *
 * stand_in.c
 *	  Tables that stand in for those of a leaderboard.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "boards/target.h"
#include "sql/spi.h"
#include "submit/stand_in.h"

LbDefinition *
lb_find_in(const LbStandIn *in, const char *name)
{
	return in != NULL ? in->definition(in, name) : lb_find_recorded(name);
}

/* A statement on a table that stands in, by which its plan is kept. */
typedef struct StatementKey
{
	const char *sql;
	Oid			table;
} StatementKey;

/* An LbPlanText: the text of a StatementKey. */
static char *
statement_text(const void *arg)
{
	const StatementKey *key = (const StatementKey *) arg;
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(key->table, get_attnum(key->table, "player_id"),
						  &type, &typmod, &collation);
	return psprintf(key->sql,
					lb_qualified_name(key->table),
					format_type_extended(type, typmod,
										 FORMAT_TYPE_TYPEMOD_GIVEN |
										 FORMAT_TYPE_FORCE_QUALIFY));
}

uint64
lb_run_in(Oid table, const char *sql, int nargs, const LbArg *args)
{
	static LbPlans plans = {
		.name = "leaderboard statements on other tables",
		.keysize = offsetof(StatementKey, table) + sizeof(Oid)
	};
	StatementKey key = {.sql = sql,.table = table};
	LbUser		saved;
	uint64		n;

	lb_switch_to_owner(&saved, lb_table_owner(table), false);
	n = lb_plan_exec(lb_plan_of(&plans, &key), 0, statement_text, &key, table,
					 InvalidOid, nargs, args);
	lb_restore_user(&saved);
	return n;
}
