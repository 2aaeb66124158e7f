/*-------------------------------------------------------------------------
 *
 * visit.c
 *	  A visit of the maintenance worker, or a call of lb_maintain().
 *
 * Steps of a visit that may fail run in subtransactions, so that an error of
 * one window, or a lock that is not granted, does not keep the others from
 * being closed and removed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/resowner.h"
#include "utils/timeout.h"

#include "sql/spi.h"
#include "util/clock.h"
#include "windows/visit.h"
#include "workers/turn.h"

int			lb_maintenance_timeout = 60;

List *
lb_keys_of_result(uint64 n)
{
	List	   *keys = NIL;

	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		keys = lappend(keys, lb_row_text(SPI_tuptable, i, 1));
	}
	SPI_freetuptable(SPI_tuptable);
	return keys;
}

void
lb_limit_waits(void)
{
	int			timeout = lb_lock_timeout(LB_VISIT_LOCK_TIMEOUT);

	if (LockTimeout == 0 || LockTimeout > timeout)
		lb_set_locally("lock_timeout", psprintf("%d", timeout));
}

bool
lb_listed(List *list, const char *key)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		if (strcmp((char *) lfirst(lc), key) == 0)
			return true;
	}
	return false;
}

/*
 * Whether an error is a cancel of this session.  Code of users can raise an
 * error of the same SQLSTATE, or pass on one of another server.
 */
static bool
is_cancel(const ErrorData *edata)
{
	return edata->sqlerrcode == ERRCODE_QUERY_CANCELED &&
		edata->funcname != NULL &&
		strcmp(edata->funcname, "ProcessInterrupts") == 0;
}

/*
 * The same of a cancel by lb_begin_limit()'s timer.  Then the timer has run
 * out, and ProcessInterrupts() has taken notice of that: had it run out after
 * a cancel by a user, its indicator would be set.
 */
static bool
is_late(const LbVisit *visit, int timeout, const ErrorData *edata)
{
	return visit->one && timeout > 0 && is_cancel(edata) &&
		!get_timeout_active(STATEMENT_TIMEOUT) &&
		!get_timeout_indicator(STATEMENT_TIMEOUT, false);
}

void
lb_begin_limit(const LbVisit *visit, int timeout)
{
	if (!visit->one)
		return;
	lb_turn_step(visit->tasks.number, timeout);
	if (timeout > 0)
		enable_timeout_after(STATEMENT_TIMEOUT, timeout * 1000);
}

/* If the time has just passed, the step has ended all the same. */
void
lb_end_limit(const LbVisit *visit)
{
	if (!visit->one)
		return;
	if (get_timeout_indicator(STATEMENT_TIMEOUT, true))
		QueryCancelPending = false;
	disable_timeout(STATEMENT_TIMEOUT, false);
	lb_turn_note(visit->limits.late ? LB_VISIT_LATE : LB_VISIT_BETWEEN);
}

bool
lb_visit_must_end(LbVisit *visit)
{
	/* A call that has been noted as an attempt is made. */
	if (!visit->one || visit->paying.key != NULL)
		return false;
	if (lb_clock_was_set(&visit->limits.offset) > 0)
		visit->limits.clock_set = true;
	if (lb_maintenance_timeout > 0 &&
		lb_clock() - visit->begun > lb_maintenance_timeout * USECS_PER_SEC)
		visit->limits.long_enough = true;
	return visit->limits.late || visit->limits.clock_set || visit->limits.long_enough;
}

bool
lb_attempt(LbAction action, const char *what, LbVisit *visit,
		   const LbDefinition *defn, const char *key)
{
	return lb_attempt_within(lb_maintenance_timeout, action, what, visit, defn,
							 key);
}

bool
lb_attempt_within(int timeout, LbAction action, const char *what,
				  LbVisit *visit, const LbDefinition *defn, const char *key)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool ok = true;
	LbDone		before = visit->done;

	visit->limits.problem = NULL;
	if (lb_visit_must_end(visit))
		return false;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	lb_begin_limit(visit, timeout);
	PG_TRY();
	{
		action(visit, defn, key);
		lb_end_limit(visit);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		visit->limits.late = is_late(visit, timeout, edata);
		lb_end_limit(visit);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		visit->done = before;

		/* A cancel ends the whole visit. */
		if (is_cancel(edata) && !visit->limits.late)
			ReThrowError(edata);
		ereport(edata->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ? LOG : WARNING,
				(errcode(edata->sqlerrcode),
				 errmsg("could not %s: %s", what, edata->message)));
		visit->limits.problem = MemoryContextStrdup(visit->context, edata->message);
		ok = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return ok;
}

bool
lb_attempt_key(LbAction action, LbVisit *visit, const LbDefinition *defn,
			   const char *key)
{
	return lb_attempt(action, psprintf("close or remove window \"%s\"", key),
					  visit, defn, key);
}
