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
#include "utils/guc.h"
#include "utils/resowner.h"
#include "utils/timeout.h"

#include "boards/shared.h"
#include "boards/spi.h"
#include "service/visit.h"

int			lb_maintenance_timeout = 60;

/* Ends the session. */
static TimeoutId exit_timer;

List *
lb_keys_of_result(uint64 n)
{
	List	   *keys = NIL;

	for (uint64 i = 0; i < n; i++)
		keys = lappend(keys, SPI_getvalue(SPI_tuptable->vals[i],
										  SPI_tuptable->tupdesc, 1));
	SPI_freetuptable(SPI_tuptable);
	return keys;
}

void
lb_limit_waits(void)
{
	int			timeout = lb_lock_timeout(LB_VISIT_LOCK_TIMEOUT);

	if (LockTimeout == 0 || LockTimeout > timeout)
		(void) set_config_option("lock_timeout", psprintf("%d", timeout),
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
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
 * Whether an error is a cancel of this session.  Code of users can raise an error of
 * the same SQLSTATE, or pass on one of another server.
 */
static bool
is_cancel(const ErrorData *edata)
{
	return edata->sqlerrcode == ERRCODE_QUERY_CANCELED &&
		edata->funcname != NULL &&
		strcmp(edata->funcname, "ProcessInterrupts") == 0;
}

/* The same of an error of the timer, which in the worker is of one action. */
static bool
is_late(const LbVisit *visit, const ErrorData *edata)
{
	return visit->one && is_cancel(edata) && edata->message_id != NULL &&
		strcmp(edata->message_id, "canceling statement due to statement timeout") == 0;
}

/* As in die(), without the wait for a client. */
static void
end_session(void)
{
	ProcDiePending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

void
lb_limit_init(void)
{
	exit_timer = RegisterTimeout(USER_TIMEOUT, end_session);
}

void
lb_begin_limit(const LbVisit *visit)
{
	int			msec = visit->timeout * 1000;

	if (!visit->one)
		return;
	pg_atomic_write_u32(&lb_shared->maintenance_late, MyDatabaseId);
	if (msec == 0)
		return;
	enable_timeout_after(STATEMENT_TIMEOUT, msec);
	enable_timeout_after(exit_timer, msec > INT_MAX / 2 ? INT_MAX : msec * 2);
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
	disable_timeout(exit_timer, false);
	if (!visit->late)
		pg_atomic_write_u32(&lb_shared->maintenance_late, 0);
}

bool
lb_attempt(LbAction action, const char *what, LbVisit *visit,
		   const LbDefinition *defn, const char *key)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool ok = true;
	LbDone		before = visit->done;

	/* Other databases come first. */
	if (visit->late)
		return false;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	lb_begin_limit(visit);
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
		visit->late = is_late(visit, edata);
		lb_end_limit(visit);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		visit->done = before;

		/* A cancel ends the whole visit. */
		if (is_cancel(edata) && !visit->late)
			ReThrowError(edata);
		ereport(edata->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ? LOG : WARNING,
				(errcode(edata->sqlerrcode),
				 errmsg("could not %s: %s", what, edata->message)));
		visit->problem = MemoryContextStrdup(visit->context, edata->message);
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

List *
lb_pass_over(LbVisit *visit, List *names)
{
	int			n = Min(visit->pass_over, list_length(names));

	visit->pass_over -= n;
	return list_copy_tail(names, n);
}
