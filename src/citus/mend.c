/*-------------------------------------------------------------------------
 *
 * mend.c
 *	  Maintenance of distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "boards/distributed.h"
#include "boards/target.h"
#include "citus/command.h"
#include "citus/companion.h"
#include "citus/companion_rows.h"
#include "citus/layout.h"
#include "citus/mend.h"
#include "citus/settings.h"
#include "citus/shard.h"
#include "citus/shard_boards.h"
#include "leaderboards/leaderboard.h"
#include "sql/spi.h"
#include "windows/maintain.h"
#include "windows/visit.h"

/*
 * Rows that the worker removes from a companion table in a transaction: these
 * tables are searched from the beginning.
 */
#define COMPANION_ROWS 20000

void
lb_list_boards(LbVisit *visit)
{
	LbDefinition **defns;
	int			n = lb_all_defns(&defns);
	MemoryContext old = MemoryContextSwitchTo(visit->context);

	for (int i = 0; i < n; i++)
	{
		if (lb_has_distributed_board(defns[i]) &&
			pg_class_ownercheck(defns[i]->source, GetUserId()))
			visit->mending.boards = lappend(visit->mending.boards, pstrdup(defns[i]->name));
	}
	MemoryContextSwitchTo(old);
}

static void
mend_board(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	int			nestlevel = NewGUCNestLevel();

	lb_limit_waits();
	lb_shards_mend(key);
	lb_mend_settings(key);
	AtEOXact_GUC(true, nestlevel);
}

/* Remove old rows of a companion of a distributed table of scores. */
static void
trim_companion(LbVisit *visit, const char *board, LbRecord record, int retention)
{
	if (retention >= 0)
		visit->done.removed +=
			lb_trim_companion(board, record, GetCurrentTransactionStartTimestamp() -
							  (int64) retention * USECS_PER_SEC);
}

/* The same for what limits have counted, by batches. */
static void
trim_counted(LbVisit *visit, const char *board)
{
	int			max_rows = visit->one ? COMPANION_ROWS : visit->max_rows;
	bool		more = false;

	visit->done.removed += lb_trim_usage(board, max_rows, &more);
	if (lb_anomaly_retention >= 0)
		visit->done.removed +=
			lb_trim_anomalies(board, GetCurrentTransactionStartTimestamp() -
							  (int64) lb_anomaly_retention * USECS_PER_SEC,
							  max_rows, &more);
	visit->mending.trimming = more;
}

static void
trim_companions(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	int			nestlevel;

	if (!lb_is_coordinator() || lb_leaderboard_find(key, strlen(key)) == NULL)
		return;
	nestlevel = NewGUCNestLevel();
	lb_limit_waits();

	/* In the order of submits, and of lb_forget_player(). */
	trim_companion(visit, key, LB_RECORD_APPLIED, lb_applied_retention);
	trim_companion(visit, key, LB_RECORD_EVENT, lb_event_retention);
	trim_counted(visit, key);
	AtEOXact_GUC(true, nestlevel);
}

bool
lb_mend(LbVisit *visit, const char *board)
{
	bool		ended;

	if (!visit->mending.trimming)
		(void) lb_attempt(mend_board,
						  psprintf("make the boards of shards of board \"%s\"", board),
						  visit, NULL, board);
	visit->mending.trimming = false;
	(void) lb_attempt(trim_companions,
					  psprintf("trim the tables beside that of board \"%s\"", board),
					  visit, NULL, board);

	/* lb_maintain() goes on with the next board. */
	ended = !visit->mending.trimming;
	visit->mending.trimming &= visit->one;
	return ended;
}

/*
 * Call lb_maintain() as the owner of a board's table, in a transaction of its
 * own over a connection to this server.  Returns false if that cannot be done.
 */
static bool
maintain_as_owner(LbVisit *visit, const LbDefinition *defn, Oid owner)
{
	List	   *answers;
	const LbShardAnswer *answer;
	LbDone		done;
	char		more;
	LbUser		saved;

	lb_switch_to_owner(&saved, owner, false);
	answers = lb_command(defn, lb_to_self,
						 psprintf("SELECT pg_catalog.concat_ws(' ', (c.m).closed, (c.m).archived, (c.m).removed, (c.m).more) "
								  "FROM (SELECT %s.lb_maintain(%d) AS m FROM %s OFFSET 0) AS c",
								  lb_command_schema(), visit->max_rows,
								  lb_command_waits()));
	lb_restore_user(&saved);
	answer = answers == NIL ? NULL : linitial(answers);
	if (answer == NULL || !answer->success ||
		sscanf(answer->result, INT64_FORMAT " " INT64_FORMAT " " INT64_FORMAT " %c",
			   &done.closed, &done.archived, &done.removed, &more) != 4)
		return false;
	visit->done.closed += done.closed;
	visit->done.archived += done.archived;
	visit->done.removed += done.removed;
	visit->done.more |= more == 't';
	return true;
}

/*
 * Citus lets a transaction use colocated tables of one role only.  So each
 * other role whose distributed tables the caller may maintain gets a
 * transaction of its own, before this one has locked anything.  Superusers are
 * not left to each other: each of them would maintain all tables.
 */
void
lb_leave_to_owners(LbVisit *visit)
{
	List	   *boards;
	List	   *failed = NIL;
	ListCell   *lc;

	lb_list_boards(visit);
	if (visit->mending.boards == NIL || !lb_is_coordinator())
		return;
	boards = visit->mending.boards;
	visit->mending.boards = NIL;
	foreach(lc, boards)
	{
		const LbDefinition *defn = lb_read_defn(lfirst(lc));
		Oid			owner = defn == NULL ? InvalidOid :
			lb_table_owner(defn->source);

		CHECK_FOR_INTERRUPTS();
		if (OidIsValid(owner) && owner != GetUserId() &&
			!superuser_arg(owner) && !list_member_oid(visit->mending.owners, owner) &&
			!list_member_oid(failed, owner))
		{
			if (maintain_as_owner(visit, defn, owner))
				visit->mending.owners = lappend_oid(visit->mending.owners, owner);
			else
				failed = lappend_oid(failed, owner);
		}
		if (!list_member_oid(visit->mending.owners, owner))
			visit->mending.boards = lappend(visit->mending.boards, lfirst(lc));
	}
}
