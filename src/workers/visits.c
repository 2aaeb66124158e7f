/*-------------------------------------------------------------------------
 *
 * visits.c
 *	  Databases that a worker is to visit, to enter their boards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "boards/directory.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "feed/redo.h"
#include "ledger/sweep.h"
#include "workers/tidy.h"
#include "workers/visits.h"
#include "workers/worker.h"

/* Milliseconds to another visit after one has failed. */
#define FAILED_AGAIN 5000

/*
 * The same between two visits that a standby's primary has asked for.  If a
 * board cannot be entered, each commit that changes it asks for one.
 */
#define FED_AGAIN 1000

static List *visits = NIL;

void
lb_visit_all(void)
{
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	list_free(visits);
	visits = NIL;
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database db = (Form_pg_database) GETSTRUCT(tuple);

		/* Not one that is left of a DROP DATABASE. */
		if (db->datallowconn && db->datconnlimit >= -1)
			lb_add_visit(db->oid);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
}

void
lb_add_visit(Oid database)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	visits = list_append_unique_oid(visits, database);
	MemoryContextSwitchTo(old);
}

Oid
lb_next_visit(void)
{
	return visits == NIL ? InvalidOid : linitial_oid(visits);
}

void
lb_visit_begun(void)
{
	visits = list_delete_first(visits);
}

void
lb_visit_later(void)
{
	Oid			database = linitial_oid(visits);

	lb_visit_begun();
	lb_add_visit(database);
}

void
lb_visit_has_failed(Oid database)
{
	lb_want_visit(&lb_shared->failed_visits, database);
}

/* Whether a worker could connect to a database. */
static bool
can_connect(Oid database)
{
	HeapTuple	tuple;
	bool		result;

	StartTransactionCommand();
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	result = HeapTupleIsValid(tuple) &&
		((Form_pg_database) GETSTRUCT(tuple))->datconnlimit >= -1;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	CommitTransactionCommand();
	return result;
}

long
lb_visit_again(void)
{
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();
	Oid			failed[LB_MAX_VISITS];
	int			n;

	if (!lb_elapsed(last, now, FAILED_AGAIN))
		return FAILED_AGAIN;
	n = lb_take_visits(&lb_shared->failed_visits, failed);
	if (n == 0)
		return LB_IDLE_SLEEP;
	last = now;
	if (n > LB_MAX_VISITS)
	{
		lb_visit_all();
		n = 0;
	}
	for (int i = 0; i < n; i++)
	{
		if (can_connect(failed[i]))
			lb_add_visit(failed[i]);
	}
	return LB_IDLE_SLEEP;
}

/* Remove the definitions of databases that have been dropped. */
static void
forget_dropped(void)
{
	List	   *databases = NIL;
	ListCell   *lc;
	dlist_iter	iter;

	StartTransactionCommand();
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
		databases = list_append_unique_oid(databases,
										   dlist_container(LbSharedBoard, node,
														   iter.cur)->database);
	LWLockRelease(&lb_shared->directory_lock);
	foreach(lc, databases)
	{
		if (!SearchSysCacheExists1(DATABASEOID,
								   ObjectIdGetDatum(lfirst_oid(lc))))
			lb_shared_board_remove_database(lfirst_oid(lc));
	}
	CommitTransactionCommand();
}

void
lb_visit_as_fed(void)
{
	static uint32 begun = 0;
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();
	uint32		anew = pg_atomic_read_u32(&lb_shared->feed.anew);
	Oid			wanted[LB_MAX_VISITS];
	int			n;
	bool		all;
	bool		dropped;

	if (begun == anew && !lb_elapsed(last, now, FED_AGAIN))
		return;
	n = lb_take_visits(&lb_shared->feed.visits, wanted);
	all = n > LB_MAX_VISITS || begun != anew;
	dropped = all;
	if (!lb_feed_builds())
		return;
	if (n > 0 || all)
		last = now;
	begun = anew;
	for (int i = 0; i < Min(n, LB_MAX_VISITS); i++)
	{
		if (OidIsValid(wanted[i]))
			lb_add_visit(wanted[i]);
		else
			dropped = true;
	}
	if (dropped)
		forget_dropped();
	if (all)
		lb_visit_all();
}

void
lb_visit_promoted(void)
{
	dlist_iter	iter;

	forget_dropped();
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		lb_request_build(shared, shared->generation, false);
	}
	LWLockRelease(&lb_shared->directory_lock);
	lb_visit_all();
}
