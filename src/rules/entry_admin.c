/*-------------------------------------------------------------------------
 *
 * entry_admin.c
 *	  lb_set_entry() and lb_drop_entry().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "boards/distributed.h"
#include "boards/target.h"
#include "leaderboards/entry.h"
#include "leaderboards/leaderboard.h"
#include "sql/spi.h"

PG_FUNCTION_INFO_V1(lb_set_entry);
PG_FUNCTION_INFO_V1(lb_drop_entry);

/*
 * Raise 42704 if there is no such window, 42501 unless the caller owns its
 * table.  Returns the family of its leaderboard's windows, resolved.
 */
static const LbDefinition *
require_window_owner(const char *name)
{
	const char *family = lb_leaderboard_of_window(name)->family;
	LbTarget	target;

	if (lb_window_find(name, strlen(name)) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("window \"%s\" does not exist", name),
				 errhint("The table lb_window lists the windows; lb_open_window() opens one.")));
	lb_find_target(family, strlen(family), &target);
	lb_require_owner(target.defn->source);
	return target.defn;
}

/*
 * Raise 0A000 if the table of the windows is distributed: its servers have no
 * rows of lb_entrant, so no player could join.
 */
static void
refuse_distributed(const LbDefinition *family, const char *name)
{
	if (lb_is_distributed(family))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("players cannot join window \"%s\"", name),
				 errdetail("Citus distributes its table \"%s\".",
						   get_rel_name(family->source)),
				 errhint("Tournaments need a leaderboard whose tables are not distributed, as lb_create_leaderboard() makes it by default.")));
}

/*
 * Wait for players who are joining a window, and keep others from joining it
 * to the end of the transaction.
 */
static void
lock_entry(Datum name)
{
	static const Oid types[] = {TEXTOID};

	/* Another transaction may drop the row and set it again: a new one. */
	lb_lock_entries_of("lb_entry", name, ExclusiveLock);
	(void) lb_own_run_latest("SELECT FROM @.lb_entry WHERE name OPERATOR(pg_catalog.=) $1 FOR UPDATE",
							 1, types, &name, NULL);
}

/* Arguments of lb_set_entry(), in the order of the columns. */
enum
{
	ARG_NAME,
	ARG_MAX_ENTRANTS,
	ARG_OPENS,
	ARG_CLOSES,
	NARGS
};

/* Raise 22023 or 22008 for arguments with which no player can join. */
static void
check_entry(FunctionCallInfo fcinfo)
{
	if (!PG_ARGISNULL(ARG_MAX_ENTRANTS) &&
		PG_GETARG_INT64(ARG_MAX_ENTRANTS) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: " INT64_FORMAT,
						"max_entrants", PG_GETARG_INT64(ARG_MAX_ENTRANTS)),
				 errhint("\"%s\" must be at least 1; null is any number.",
						 "max_entrants")));

	/* They are added to the starts of spans, of years 1 to 9999. */
	for (int arg = ARG_OPENS; arg <= ARG_CLOSES; arg++)
	{
		static const int years[] = {1, 10000};

		for (int i = 0; !PG_ARGISNULL(arg) && i < (int) lengthof(years); i++)
			(void) lb_calendar_after((TimestampTz) (date2j(years[i], 1, 1) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY,
									 PG_GETARG_INTERVAL_P(arg));
	}
	if (!PG_ARGISNULL(ARG_OPENS) && !PG_ARGISNULL(ARG_CLOSES) &&
		DatumGetInt32(DirectFunctionCall2(interval_cmp,
										  PG_GETARG_DATUM(ARG_OPENS),
										  PG_GETARG_DATUM(ARG_CLOSES))) >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must be after \"%s\"", "closes", "opens"),
				 errhint("Both are from the start of the window: '-2 days' is before it.")));
}

Datum
lb_set_entry(PG_FUNCTION_ARGS)
{
	static LbPlan plan;
	static const Oid types[NARGS] = {TEXTOID, INT8OID, INTERVALOID,
	INTERVALOID};
	char	   *name;
	Datum		values[NARGS];
	char		nulls[NARGS];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_set_entry()");
	if (PG_ARGISNULL(ARG_NAME))
		lb_null_argument("window_name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_NAME));
	refuse_distributed(require_window_owner(name), name);
	check_entry(fcinfo);
	for (int i = 0; i < NARGS; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i) ? 'n' : ' ';
	}
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	lock_entry(values[ARG_NAME]);
	(void) lb_own_run(&plan,
					  "INSERT INTO @.lb_entry (name, max_entrants, opens, closes) VALUES ($1, $2, $3, $4) "
					  "ON CONFLICT (name) DO UPDATE SET max_entrants = excluded.max_entrants, "
					  "opens = excluded.opens, closes = excluded.closes",
					  NARGS, types, values, nulls);
	SPI_finish();
	PG_RETURN_VOID();
}

Datum
lb_drop_entry(PG_FUNCTION_ARGS)
{
	static const Oid types[] = {TEXTOID};
	Datum		values[1];
	char	   *name;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_drop_entry()");
	if (PG_ARGISNULL(0))
		lb_null_argument("window_name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	(void) require_window_owner(name);
	values[0] = PG_GETARG_DATUM(0);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	lock_entry(values[0]);

	/*
	 * Wait for submits under way in the order in which they lock rows.  An
	 * older snapshot would not see those who have joined since.
	 */
#define ENTRANTS \
	"@.lb_entrant t WHERE t.board OPERATOR(pg_catalog.=) ANY (ARRAY(" \
	"SELECT c.board FROM @.lb_entry_count c WHERE c.name OPERATOR(pg_catalog.=) $1))"
	(void) lb_own_run_latest("SELECT pg_catalog.count(*) FROM (SELECT FROM " ENTRANTS " ORDER BY t.board, t.player_id FOR UPDATE) e",
							 1, types, values, NULL);
	(void) lb_own_run_latest("DELETE FROM " ENTRANTS, 1, types, values, NULL);
#undef ENTRANTS
	(void) lb_own_run_latest("DELETE FROM @.lb_entry_count WHERE name OPERATOR(pg_catalog.=) $1",
							 1, types, values, NULL);
	if (lb_own_run_latest("DELETE FROM @.lb_entry WHERE name OPERATOR(pg_catalog.=) $1",
						  1, types, values, NULL) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("players do not join window \"%s\"", name),
				 errhint("The table lb_entry lists the windows that they join.")));
	SPI_finish();
	PG_RETURN_VOID();
}
