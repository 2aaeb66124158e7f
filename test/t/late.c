/*
 * late.c
 *	  Another extension that writes when a transaction is about to end.  If
 *	  the setting late.statement is not empty, each PRE_COMMIT and PRE_PREPARE
 *	  runs it, in a subtransaction.  PostgreSQL calls callbacks in the opposite
 *	  order of the libraries' loading: loaded before the extension that is
 *	  tested, this one comes after it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/guc.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static char *statement;

static void
write_late(XactEvent event, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	if ((event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE) ||
		statement[0] == '\0')
		return;
	BeginInternalSubTransaction(NULL);
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	if (SPI_execute(statement, false, 0) < 0)
		elog(ERROR, "late.statement has failed");
	SPI_finish();
	PopActiveSnapshot();
	ReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

void
_PG_init(void)
{
	DefineCustomStringVariable("late.statement", "Runs at the end of a transaction.",
							   NULL, &statement, "", PGC_USERSET, 0, NULL, NULL, NULL);
	RegisterXactCallback(write_late, NULL);
}
