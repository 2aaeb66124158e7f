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
#include "leaderboards/entry.h"
#include "leaderboards/leaderboard.h"
#include "sql/spi.h"

PG_FUNCTION_INFO_V1(lb_set_entry);
PG_FUNCTION_INFO_V1(lb_drop_entry);

/*
 * The window that the first argument of a function names.  Raises 42704 if
 * there is none, 42501 unless the caller owns its table.  *family is that of
 * its leaderboard's windows, resolved.
 */
static char *
window_argument(FunctionCallInfo fcinfo, const char *function,
				const LbDefinition **family)
{
	char	   *name;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery(function);
	if (PG_ARGISNULL(0))
		lb_null_argument("window_name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (lb_window_find(name, strlen(name)) == NULL)
		lb_window_not_found(name, NULL);
	*family = lb_require_window_owner(name);
	return name;
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
lock_entry(LbArg name)
{
	/* Another transaction may drop the row and set it again: a new one. */
	lb_lock_entries_of("lb_entry", name.value, ExclusiveLock);
	(void) lb_own_exec_latest("SELECT FROM @.lb_entry WHERE name OPERATOR(pg_catalog.=) $1 FOR UPDATE",
							  LB_ARGS(name));
}

/* Arguments of lb_set_entry(), behind the window's name. */
enum
{
	ARG_MAX_ENTRANTS = 1,
	ARG_OPENS,
	ARG_CLOSES
};

/* Raise 22023 or 22008 for arguments with which no player can join. */
static void
check_entry(FunctionCallInfo fcinfo)
{
	if (!PG_ARGISNULL(ARG_MAX_ENTRANTS))
		lb_require_at_least("max_entrants", PG_GETARG_INT64(ARG_MAX_ENTRANTS),
							1, "any number");

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
	const LbDefinition *family;
	const char *name = window_argument(fcinfo, "lb_set_entry()", &family);
	LbArg		arg = lb_arg_text(name);

	refuse_distributed(family, name);
	check_entry(fcinfo);
	SPI_connect();
	lock_entry(arg);
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_entry (name, max_entrants, opens, closes) VALUES ($1, $2, $3, $4) "
					   "ON CONFLICT (name) DO UPDATE SET max_entrants = excluded.max_entrants, "
					   "opens = excluded.opens, closes = excluded.closes",
					   LB_ARGS(arg,
							   lb_arg_given(fcinfo, ARG_MAX_ENTRANTS, INT8OID),
							   lb_arg_given(fcinfo, ARG_OPENS, INTERVALOID),
							   lb_arg_given(fcinfo, ARG_CLOSES, INTERVALOID)));
	SPI_finish();
	PG_RETURN_VOID();
}

Datum
lb_drop_entry(PG_FUNCTION_ARGS)
{
	const LbDefinition *family;
	const char *name = window_argument(fcinfo, "lb_drop_entry()", &family);
	LbArg		arg = lb_arg_text(name);

	SPI_connect();
	lock_entry(arg);

	/*
	 * Wait for submits under way in the order in which they lock rows.  An
	 * older snapshot would not see those who have joined since.
	 */
#define ENTRANTS \
	"@.lb_entrant t WHERE t.board OPERATOR(pg_catalog.=) ANY (ARRAY(" \
	"SELECT c.board FROM @.lb_entry_count c WHERE c.name OPERATOR(pg_catalog.=) $1))"
	(void) lb_own_exec_latest("SELECT pg_catalog.count(*) FROM (SELECT FROM " ENTRANTS " ORDER BY t.board, t.player_id FOR UPDATE) e",
							  LB_ARGS(arg));
	(void) lb_own_exec_latest("DELETE FROM " ENTRANTS, LB_ARGS(arg));
#undef ENTRANTS
	(void) lb_own_exec_latest("DELETE FROM @.lb_entry_count WHERE name OPERATOR(pg_catalog.=) $1",
							  LB_ARGS(arg));
	if (lb_own_exec_latest("DELETE FROM @.lb_entry WHERE name OPERATOR(pg_catalog.=) $1",
						   LB_ARGS(arg)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("players do not join window \"%s\"", name),
				 errhint("The table lb_entry lists the windows that they join.")));
	SPI_finish();
	PG_RETURN_VOID();
}
