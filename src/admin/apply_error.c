/*-------------------------------------------------------------------------
 *
 * apply_error.c
 *	  The last error of each subscription.
 *
 * PostgreSQL counts the errors of a subscription, and writes them to the log.
 * A count does not say whether the worker has met a row that it cannot write,
 * which takes a person, or a publisher that is away.  So the workers note
 * their last error in shared memory when it goes to the log.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "replication/worker_internal.h"
#include "utils/elog.h"
#include "utils/timestamp.h"

#include "admin/apply_error.h"

static emit_log_hook_type prev_emit_log_hook = NULL;

/*
 * Whether an error comes back at each attempt, until someone does something
 * about it.  These classes are about connections, resources, other sessions
 * and the system.
 */
static bool
is_conflict(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_CONNECTION_EXCEPTION:
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
			return false;
		default:
			break;
	}

	/* A worker that copies a table is in no transaction of the publisher. */
	return in_remote_transaction || OidIsValid(MyLogicalRepWorker->relid);
}

/* The place of a subscription; else a free one, or the one of the oldest. */
static LbApplyError *
find_place(Oid subscription)
{
	LbApplyError *place = &lb_shared->apply_errors[0];

	for (int i = 0; i < LB_MAX_APPLY_ERRORS; i++)
	{
		LbApplyError *error = &lb_shared->apply_errors[i];

		if (error->subscription == subscription)
			return error;
		if (error->at < place->at)
			place = error;
	}
	return place;
}

/*
 * A worker that has failed to apply a transaction goes on to fail by
 * connections and the like; that does not end the conflict.
 */
static bool
is_covered(const LbApplyError *old, const LbApplyError *new)
{
	return old->subscription == new->subscription && old->conflict &&
		!new->conflict && old->lsn >= new->lsn;
}

/*
 * Of version 16 on: a worker that applies for another one gets no messages of
 * the publisher itself.  When it has failed, the other one fails.
 */
static bool
is_relayed(const LbApplyError *old, const LbApplyError *new)
{
	return old->subscription == new->subscription && old->conflict &&
		!new->conflict && !OidIsValid(old->relid) &&
		XLogRecPtrIsInvalid(old->lsn);
}

static void
note_error(const ErrorData *edata)
{
	LbApplyError error;
	LbApplyError *place;

	memset(&error, 0, sizeof(error));
	error.subscription = MyLogicalRepWorker->subid;
	error.relid = MyLogicalRepWorker->relid;
	error.lsn = MyLogicalRepWorker->last_lsn;
	error.at = GetCurrentTimestamp();
	error.conflict = is_conflict(edata->sqlerrcode);
	if (edata->message != NULL)
	{
		int			len = strlen(edata->message);

		/* Half a character is no text. */
		len = pg_mbcliplen(edata->message, len, sizeof(error.message) - 1);
		memcpy(error.message, edata->message, len);
	}

	SpinLockAcquire(&lb_shared->apply_mutex);
	place = find_place(error.subscription);
	if (is_relayed(place, &error))
		place->lsn = error.lsn;
	else if (!is_covered(place, &error))
		*place = error;
	SpinLockRelease(&lb_shared->apply_mutex);
}

/*
 * The end of a worker by a signal is no error: ALTER SUBSCRIPTION ends it so.
 */
static void
emit_log(ErrorData *edata)
{
	if (edata->elevel >= ERROR && edata->elevel < PANIC &&
		edata->sqlerrcode != ERRCODE_ADMIN_SHUTDOWN &&
		MyLogicalRepWorker != NULL && lb_shared != NULL)
		note_error(edata);
	if (prev_emit_log_hook)
		prev_emit_log_hook(edata);
}

void
lb_apply_error_init(void)
{
	prev_emit_log_hook = emit_log_hook;
	emit_log_hook = emit_log;
}

bool
lb_last_apply_error(Oid subscription, LbApplyError *error)
{
	bool		found = false;

	SpinLockAcquire(&lb_shared->apply_mutex);
	for (int i = 0; i < LB_MAX_APPLY_ERRORS && !found; i++)
	{
		if (lb_shared->apply_errors[i].subscription != subscription)
			continue;
		*error = lb_shared->apply_errors[i];
		found = true;
	}
	SpinLockRelease(&lb_shared->apply_mutex);
	return found;
}
