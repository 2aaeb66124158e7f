/*-------------------------------------------------------------------------
 *
 * follow.c
 *	  Following what changes beside our functions: rows of lb_board, and DROP.
 *
 * lb_board can be written by hand, by a restore or by logical replication, and
 * a table can be dropped with its boards.  Triggers here do then what
 * lb_create_board() and lb_drop_board() do themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "admin/manage.h"
#include "boards/board_value.h"
#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/shared.h"
#include "capture/ddl.h"
#include "leaderboards/leaderboard.h"
#include "sql/spi.h"
#include "submit/hidden.h"
#include "submit/limit.h"
#include "windows/window_admin.h"

PG_FUNCTION_INFO_V1(lb_board_changed);
PG_FUNCTION_INFO_V1(lb_skip_row);
PG_FUNCTION_INFO_V1(lb_on_drop);

/*
 * A row of lb_board is removed or replaced.  Unless our own functions do that,
 * its index must not be found again by a row with the same number.
 */
static void
erase_defn(LbDefinition *defn)
{
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(defn->source)))
		lb_note_erased(defn);
}

static void
erase_recorded(Oid lb_board, int32 id)
{
	LbDefinition *defn;

	/* First, since this does not need the cache. */
	if (lb_dropped_here(lb_board, id))
		return;
	defn = lb_defn_by_id(id);
	if (defn != NULL)
		erase_defn(defn);
}

/*
 * A board is gone, or has another table: remove what other tables of the
 * extension record under its name.  A leaderboard's record goes with the board
 * of its scores, and its windows with either: without the record they would be
 * windows of "global".
 */
static void
end_name(const char *board)
{
	static LbPlan plan;
	bool		windows = lb_windows_prefix(board) >= 0;
	bool		other = !windows && strcmp(board, LB_GLOBAL) != 0;
	const char *family = other ? psprintf("%s/", board) : board;

	SPI_connect();
	lb_hidden_end(board);
	if (!windows && lb_leaderboard_find(board, strlen(board)) == NULL)
	{
		SPI_finish();
		return;
	}
	lb_limits_end(board, windows);
	if (other)
		lb_limits_end(family, true);
	if (other || windows)
		lb_windows_end(family);
	if (other)
		(void) lb_own_exec(&plan, "DELETE FROM @.lb_leaderboard WHERE name OPERATOR(pg_catalog.=) $1",
						   LB_ARGS(lb_arg_text(board)));
	SPI_finish();
}

/* The same for all boards. */
static void
end_all_names(void)
{
	LbLeaderboard **leaderboards;
	int			n = lb_leaderboards(&leaderboards);
	LbLeaderboard *all = palloc(n * sizeof(LbLeaderboard));

	/* The first statement makes the cache stale. */
	for (int i = 0; i < n; i++)
		all[i] = *leaderboards[i];
	for (int i = 0; i < n; i++)
	{
		end_name(all[i].family);
		end_name(all[i].name);
	}
}

/*
 * Whether an UPDATE of lb_board concerns no index, nor what the triggers
 * capture for it.
 */
static bool
is_same_index(const TriggerData *trigger)
{
	return TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) &&
		lb_recorded_same_index(trigger->tg_trigslot, trigger->tg_newslot);
}

/* A row of lb_board comes, goes or changes. */
static void
follow_row(const TriggerData *trigger)
{
	Oid			source;
	Oid			new_source;
	int32		id = lb_recorded_id(trigger->tg_trigslot, &source);
	char	   *name = lb_recorded_name(trigger->tg_trigslot);

	lb_lock_captured(list_make1_oid(source));
	if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		erase_recorded(RelationGetRelid(trigger->tg_relation), id);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		(void) lb_recorded_id(trigger->tg_newslot, &new_source);
		lb_lock_captured(list_make1_oid(new_source));
		if (new_source != source ||
			strcmp(name, lb_recorded_name(trigger->tg_newslot)) != 0)
			end_name(name);
	}
	else if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		end_name(name);
}

/*
 * Trigger on the extension's tables: every backend must read them again.  It
 * is a row trigger, since a worker of logical replication fires no others.
 */
Datum
lb_board_changed(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	const LbCatalog *cat;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"lb_board_changed")));
	cat = lb_shared == NULL ? NULL : lb_catalog();
	if (cat != NULL && cat->version_ok &&
		cat->lb_board == RelationGetRelid(trigger->tg_relation))
	{
		if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
		{
			LbDefinition **defns;
			int			n = lb_all_defns(&defns);
			List	   *sources = NIL;

			/* A lock can make the definitions be read again. */
			for (int i = 0; i < n; i++)
				sources = list_append_unique_oid(sources, defns[i]->source);
			lb_lock_captured(sources);
			n = lb_all_defns(&defns);
			for (int i = 0; i < n; i++)
			{
				if (!lb_dropped_here(defns[i]->catalog, defns[i]->id))
					erase_defn(defns[i]);
			}
			end_all_names();
		}
		else if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event) &&
				 !is_same_index(trigger))
			follow_row(trigger);
	}
	CacheInvalidateRelcache(trigger->tg_relation);
	PG_RETURN_POINTER(NULL);
}

/*
 * After a DROP: remove the boards whose tables are gone.  A dump with their
 * rows could not be restored.
 */
Datum
lb_on_drop(PG_FUNCTION_ARGS)
{
	const LbCatalog *cat;
	LbDefinition **defns;
	int			n;
	Datum	   *gone;
	Datum	   *sources;
	int			ngone = 0;
	Oid			looked = InvalidOid;
	bool		exists = false;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"lb_on_drop")));
	cat = lb_catalog();
	if (cat == NULL || !cat->version_ok)
		PG_RETURN_NULL();
	n = lb_all_defns(&defns);
	gone = palloc(Max(1, n) * sizeof(Datum));
	sources = palloc(Max(1, n) * sizeof(Datum));
	for (int i = 0; i < n; i++)
	{
		/* Boards of one table often have names that are alike. */
		if (defns[i]->source != looked)
		{
			looked = defns[i]->source;
			exists = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(looked));
		}
		if (exists)
			continue;
		sources[ngone] = ObjectIdGetDatum(looked);
		gone[ngone++] = Int32GetDatum(defns[i]->id);
	}
	if (ngone > 0)
	{
		SPI_connect();

		/*
		 * All at once: after each statement, every session reads lb_board
		 * again.
		 */
		(void) lb_own_exec_latest("DELETE FROM @.lb_board WHERE id OPERATOR(pg_catalog.=) ANY ($1)",
								  LB_ARGS(lb_arg_array(INT4OID, gone, NULL, ngone)));
		if (lb_distributed != NULL)
			lb_distributed->dropped(sources, ngone);
		SPI_finish();
	}
	PG_RETURN_NULL();
}

/*
 * Trigger on lb_leaderboard: a row of "global" is not inserted, since it is
 * there.  Logical replication copies it from one database to another.
 */
Datum
lb_skip_row(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"lb_skip_row")));
	return PointerGetDatum(NULL);
}
