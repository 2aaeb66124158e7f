/*-------------------------------------------------------------------------
 *
 * visit_trim.c
 *	  Old rows of the extension's own tables are removed.
 *
 * The extension's own tables are trimmed without waiting for row locks:
 * submits lock the rows of lb_usage in another order than a scan does.  A
 * table is read once in a visit: a batch begins where the one before it has
 * ended.  Once the space of removed rows has been used again, no index by time
 * leads to the old rows of lb_event alone.  So the worker reads a table only
 * when a hundredth of the time that its rows are kept has passed since it did
 * so last.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "boards/directory.h"
#include "leaderboards/entry.h"
#include "sql/spi.h"
#include "windows/visit.h"

StaticAssertDecl((int) LB_NTRIMMED <= LB_LOOKED_TABLES, "a note for each table");

int			lb_event_retention = 30 * 86400;
int			lb_applied_retention = 7 * 86400;
int			lb_anomaly_retention = 90 * 86400;


/*
 * Whether a table whose rows are kept for this long, in seconds, is to be
 * read: at each call of lb_maintain(), and by the worker now and then.  The
 * clock may have been set back.
 */
static bool
is_trim_due(const LbVisit *visit, LbTrimmed number, int retention)
{
	TimestampTz now = GetCurrentTransactionStartTimestamp();
	TimestampTz last;

	/* A batch of this visit has begun. */
	if (!visit->one || ItemPointerIsValid(&visit->trims[number].after))
		return true;
	last = lb_last_looked(number);
	return now < last ||
		now - last >= (int64) retention * (USECS_PER_SEC / 100);
}

/*
 * Remove old rows of one table, visit->max_rows at most, and none that another
 * transaction has locked.  A row t is old if it meets the condition, in which
 * $1 is the oldest time that is kept.  A concurrent update may hide other rows
 * from this scan; the next visit finds them.
 */
static void
trim(LbVisit *visit, LbTrimmed number, const char *table, const char *condition,
	 int retention)
{
	LbTrimPlace *trim = &visit->trims[number];
	Datum		last;
	int64		n;
	int			nestlevel;
	bool		isnull;

	if (retention < 0 || trim->ended)
		return;
	if (!is_trim_due(visit, number, retention))
	{
		trim->ended = true;
		return;
	}

	/*
	 * Rows come in physical order, from the first one on, and not in the
	 * order of an index that a user has made.
	 */
	nestlevel = NewGUCNestLevel();
	lb_set_locally("synchronize_seqscans", "off");
	lb_set_locally("enable_indexscan", "off");
	(void) lb_own_exec_once(psprintf("WITH d AS (DELETE FROM @.%s AS t WHERE t.ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
									 "SELECT t.ctid FROM @.%s AS t WHERE t.ctid OPERATOR(pg_catalog.>) $3 AND (%s) "
									 "LIMIT $2 FOR UPDATE SKIP LOCKED)) AND (%s) RETURNING t.ctid) "
									 "SELECT pg_catalog.count(*), pg_catalog.max(d.ctid) FROM d",
									 table, table, condition, condition),
							LB_ARGS(lb_arg_time(GetCurrentTransactionStartTimestamp() -
												(int64) retention * USECS_PER_SEC),
									lb_arg_int4(visit->max_rows),
									lb_arg(TIDOID, PointerGetDatum(&trim->after))));
	n = DatumGetInt64(lb_row_datum(SPI_tuptable, 0, 1));
	last = lb_row_nullable(SPI_tuptable, 0, 2, &isnull);
	if (!isnull)
		trim->after = *(ItemPointer) DatumGetPointer(last);
	SPI_freetuptable(SPI_tuptable);
	AtEOXact_GUC(true, nestlevel);
	visit->done.removed += n;
	if (n >= visit->max_rows)
		visit->done.more = true;
	else
	{
		trim->ended = true;
		lb_note_looked(number, GetCurrentTransactionStartTimestamp());
	}
}

static void
trim_events(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	trim(visit, LB_TRIM_EVENT, "lb_event",
		 "t.submitted_at OPERATOR(pg_catalog.<) $1", lb_event_retention);
}

static void
trim_applied(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	trim(visit, LB_TRIM_APPLIED, "lb_applied",
		 "t.applied_at OPERATOR(pg_catalog.<) $1", lb_applied_retention);
}

static void
trim_anomalies(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	trim(visit, LB_TRIM_ANOMALY, "lb_anomaly",
		 "t.noted_at OPERATOR(pg_catalog.<) $1", lb_anomaly_retention);
}

/*
 * What has been counted in a period or a window that is over, or for no limit:
 * unless there are none at all, as while a dump is restored.
 */
static void
trim_usage(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	trim(visit, LB_TRIM_USAGE, "lb_usage",
		 "(NOT EXISTS (SELECT FROM @.lb_limit l WHERE l.name OPERATOR(pg_catalog.=) t.limit_name) "
		 "AND EXISTS (SELECT FROM @.lb_limit)) "
		 "OR EXISTS (SELECT FROM @.lb_closed c WHERE c.board OPERATOR(pg_catalog.=) t.board) "
		 "OR pg_catalog.timezone('UTC', t.since) OPERATOR(pg_catalog.+) "
		 "(SELECT l.period FROM @.lb_limit l WHERE l.name OPERATOR(pg_catalog.=) t.limit_name) "
		 "OPERATOR(pg_catalog.<=) pg_catalog.timezone('UTC', $1)",
		 0);
}

/* The keys whose rows are not kept any longer. */
static List *
keys_to_trim(void)
{
	static LbPlan plan;
	TimestampTz now = GetCurrentTimestamp();
	List	   *due = NIL;
	ListCell   *lc;

	foreach(lc, lb_keys_of_result(lb_own_exec(&plan, "SELECT board FROM @.lb_entry_count", LB_NO_ARGS)))
	{
		char	   *key = lfirst(lc);
		LbSpan		span;
		LbWindow   *window = lb_window_of_key(key, strlen(key), &span);

		CHECK_FOR_INTERRUPTS();
		if (window != NULL && now >= lb_window_goes(window, &span))
			due = lappend(due, key);
	}
	return due;
}

/* The players of windows whose rows are not kept any longer. */
static void
trim_entrants(LbVisit *visit, const LbDefinition *defn, const char *no_key)
{
	List	   *keys = lb_has_entries() ? keys_to_trim() : NIL;
	int64		n;

	if (keys == NIL)
		return;
	(void) lb_own_exec_once("WITH d AS (DELETE FROM @.lb_entrant t WHERE t.ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
							"SELECT t.ctid FROM @.lb_entrant t WHERE t.board OPERATOR(pg_catalog.=) ANY ($1) "
							"LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING t.ctid) "
							"SELECT pg_catalog.count(*) FROM d",
							LB_ARGS(lb_arg_text_list(keys), lb_arg_int4(visit->max_rows)));
	n = DatumGetInt64(lb_row_datum(SPI_tuptable, 0, 1));
	SPI_freetuptable(SPI_tuptable);
	visit->done.removed += n;
	if (n >= visit->max_rows)
		visit->done.more = true;
	else
		(void) lb_own_exec_once("DELETE FROM @.lb_entry_count c WHERE c.board OPERATOR(pg_catalog.=) ANY ($1) "
								"AND NOT EXISTS (SELECT FROM @.lb_entrant t WHERE t.board OPERATOR(pg_catalog.=) c.board)",
								LB_ARGS(lb_arg_text_list(keys)));
}

void
lb_trim_tables(LbVisit *visit)
{
	(void) lb_attempt(trim_events, "trim \"lb_event\"", visit, NULL, NULL);
	(void) lb_attempt(trim_applied, "trim \"lb_applied\"", visit, NULL, NULL);
	(void) lb_attempt(trim_anomalies, "trim \"lb_anomaly\"", visit, NULL, NULL);
	(void) lb_attempt(trim_usage, "trim \"lb_usage\"", visit, NULL, NULL);
	(void) lb_attempt(trim_entrants, "trim \"lb_entrant\"", visit, NULL, NULL);
}
