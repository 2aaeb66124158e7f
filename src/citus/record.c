/*-------------------------------------------------------------------------
 *
 * record.c
 *	  Boards of distributed tables that the coordinator has made: recording
 *	  them on another server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "admin/checks.h"
#include "admin/manage.h"
#include "admin/names.h"
#include "boards/catalog.h"
#include "boards/options.h"
#include "boards/resolve.h"
#include "boards/target.h"
#include "citus/command.h"
#include "leaderboards/window_name.h"
#include "sql/spi.h"
#include "util/same.h"

PG_FUNCTION_INFO_V1(lb_record_board);
PG_FUNCTION_INFO_V1(lb_unrecord_board);

/* The source must be the caller's, and no rows of it be here. */
static void
require_distributed(Oid source)
{
	lb_require_owner(source);
	if (!lb_is_distributed_table(source))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is not distributed",
						get_rel_name(source)),
				 errhint("Use lb_create_board() and lb_drop_board().")));
}

/*
 * Whether two definitions that are not resolved have the same options: those
 * of the index, or the others.
 */
static bool
same_options(const LbDefinition *a, const LbDefinition *b, bool of_index)
{
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		const LbBoardOption *option = &lb_board_options[i];

		if (option->of_index == of_index &&
			!lb_same_string(option->text(a), option->text(b)))
			return false;
	}
	return true;
}

/*
 * Remove a board of a distributed table from lb_board.  Its table can be gone,
 * and then any owner of the new one of that name may do so.
 */
static void
unrecord(const LbDefinition *defn)
{
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(defn->source)))
		require_distributed(defn->source);
	lb_unrecord_defn(defn);
	CommandCounterIncrement();
}

Datum
lb_record_board(PG_FUNCTION_ARGS)
{
	LbDefinition defn;
	LbDefinition *recorded;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_record_board()");
	lb_take_definition(fcinfo, &defn, true);
	require_distributed(defn.source);
	if (defn.counts)
		lb_check_counts(&defn);
	lb_refuse_coordinator("lb_record_board");
	recorded = lb_read_defn(defn.name);
	if (recorded != NULL && recorded->source == defn.source &&
		same_options(recorded, &defn, true))
	{
		defn.id = recorded->id;
		if (!same_options(recorded, &defn, false))
			lb_record_options(&defn);
		PG_RETURN_VOID();
	}
	if (recorded != NULL)
		unrecord(recorded);
	lb_window_check_board(defn.name, defn.family);
	lb_check_answers(defn.name, defn.family);
	(void) lb_record_defn(&defn, true);
	PG_RETURN_VOID();
}

Datum
lb_unrecord_board(PG_FUNCTION_ARGS)
{
	LbDefinition *recorded;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_unrecord_board()");
	lb_refuse_coordinator("lb_unrecord_board");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	recorded = lb_read_defn(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (recorded != NULL)
		unrecord(recorded);
	PG_RETURN_VOID();
}
