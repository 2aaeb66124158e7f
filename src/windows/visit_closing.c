/*-------------------------------------------------------------------------
 *
 * visit_closing.c
 *	  Closing windows that are over.
 *
 * A window is closed some time after its end: one transaction writes the final
 * standings to lb_archive and the key to lb_closed, under the lock on the key
 * that submits hold (closed.h).
 *
 * Which windows have rows is known from the boards.  A window whose rows are
 * all hidden has no board, so the table itself is read now and then as well.
 * The worker reads a part of the table in each transaction, so that other
 * sessions never wait for long for the table or the database.  If its visit
 * ends meanwhile, the next one goes on with that part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "boards/directory.h"
#include "boards/distributed.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "boards/wait.h"
#include "capture/ddl.h"
#include "leaderboards/as_owner.h"
#include "leaderboards/closed.h"
#include "leaderboards/leaderboard.h"
#include "reads/access.h"
#include "sql/spi.h"
#include "windows/archive.h"
#include "windows/reward.h"
#include "windows/visit.h"
#include "workers/worker.h"

/*
 * A table of up to this many blocks is read at every visit, for windows that
 * have no board.  A larger one is read after LB_SCAN_HOURS, this many blocks
 * in a transaction.
 */
#define SCAN_BLOCKS 4096

/* Builds that lb_maintain() waits for, while each fails. */
#define MOST_BUILDS 10

/*
 * Close a window whose time has come, unless a transaction that has written to
 * it, or opened it again, is still running.  No new one can begin to.
 */
static void
close_window(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	LbSpan		span;
	LbWindow   *window;
	bool		distributed = lb_is_distributed(defn);

	if (distributed)
		lb_distributed->lock_settings(lb_leaderboard_of_window(key)->name);
	if (!lb_window_try_lock(key, strlen(key), ExclusiveLock) ||
		lb_window_is_closed(key, strlen(key)))
		return;

	/* The window as it is recorded now may be open longer. */
	AcceptInvalidationMessages();
	window = lb_window_in_family(defn, key, &span);
	if (window == NULL ||
		GetCurrentTimestamp() < lb_window_closes(window, &span))
		return;
	if (distributed)
		lb_distributed->close_window(defn, key);
	visit->done.archived += lb_archive(defn, key, "", window->archive_top);
	lb_note_reward(defn, window->calendar.name, key);
	visit->done.closed++;
}

/*
 * The keys of the rows in blocks from begin on and before end of the table, or
 * of each of its partitions; with an invalid end, in all blocks.  With
 * unranked, only those of rows that are on no board.
 */
static List *
keys_of_rows(const LbDefinition *defn, bool unranked, BlockNumber begin,
			 BlockNumber end)
{
	const char *column = lb_quoted(lb_board_column(defn));
	ItemPointerData tids[2];
	LbArg		args[] = {lb_arg(TIDOID, PointerGetDatum(&tids[0])), lb_arg(TIDOID, PointerGetDatum(&tids[1]))};
	StringInfoData sql;
	uint64		n;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT DISTINCT CAST(%s AS pg_catalog.text) FROM %s WHERE %s IS NOT NULL",
					 column, defn->from_name, column);
	if (BlockNumberIsValid(end))
		appendStringInfoString(&sql, " AND ctid OPERATOR(pg_catalog.>=) $1 AND ctid OPERATOR(pg_catalog.<) $2");
	if (unranked)
	{
		appendStringInfo(&sql, " AND (%s IS NULL",
						 lb_quoted(lb_score_column(defn)));
		for (int i = 1; i < lb_nkey_columns(defn); i++)
			appendStringInfo(&sql, " OR %s IS NULL",
							 lb_quoted(&defn->columns[i]));
		if (defn->has_ranked_if)
			appendStringInfo(&sql, " OR %s IS NOT TRUE",
							 lb_quoted(lb_ranked_if_column(defn)));
		appendStringInfoChar(&sql, ')');
	}
	ItemPointerSet(&tids[0], begin, InvalidOffsetNumber);
	ItemPointerSet(&tids[1], end, InvalidOffsetNumber);
	n = lb_run_as_owner(defn, false, sql.data,
						BlockNumberIsValid(end) ? 2 : 0, args);
	return lb_keys_of_result(n);
}

/*
 * The keys that have a board with ranked rows.  Its index may lack some or all
 * of them: then it has a reason.  If there is no index, *all is set: the keys
 * of all rows of the table are needed instead.  Returns false while the index
 * is being built.
 */
static bool
keys_of_boards(const LbDefinition *defn, List **result, bool *all)
{
	static LbPlan plan;
	List	   *keys = NIL;
	bool		offline = true;
	bool		ready = false;
	uint64		n;

	/* The other servers have looked for rows that are on no board. */
	if (lb_is_distributed(defn))
		return lb_distributed->window_keys(defn, result, all);
	n = lb_own_exec(&plan,
					"SELECT s.board, s.state FROM @.lb_stat_board s WHERE s.source OPERATOR(pg_catalog.=) $1 "
					"AND (s.members OPERATOR(pg_catalog.>) 0 OR s.reason IS NOT NULL OR s.board OPERATOR(pg_catalog.=) $2)",
					LB_ARGS(lb_arg_oid(defn->source), lb_arg_text(defn->name)));
	for (uint64 i = 0; i < n; i++)
	{
		char	   *board = lb_row_text(SPI_tuptable, i, 1);
		char	   *state = lb_row_text(SPI_tuptable, i, 2);

		CHECK_FOR_INTERRUPTS();
		if (strcmp(board, defn->name) == 0)
		{
			ready = strcmp(state, "ready") == 0;
			offline = strcmp(state, "offline") == 0;
		}
		else
			keys = lappend(keys, board);
	}
	SPI_freetuptable(SPI_tuptable);
	*all = !ready && offline;
	*result = *all ? NIL : keys;
	return ready || offline;
}

/*
 * The number of blocks of the table, or of its largest partition.  Sets *total
 * to the blocks of all partitions, and *npartitions to how many of them have
 * more than begin.
 */
static BlockNumber
blocks_of(const LbDefinition *defn, BlockNumber begin, int *npartitions,
		  uint64 *total)
{
	BlockNumber most = 0;
	ListCell   *lc;

	*npartitions = 0;
	*total = 0;
	foreach(lc, find_all_inheritors(defn->source, AccessShareLock, NULL))
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);

		CHECK_FOR_INTERRUPTS();
		if (rel->rd_rel->relkind == RELKIND_RELATION)
		{
			BlockNumber blocks = RelationGetNumberOfBlocks(rel);

			most = Max(most, blocks);
			*total += blocks;
			*npartitions += blocks > begin;
		}
		table_close(rel, NoLock);
	}
	return most;
}

/* Whether to read the table for keys that have no board. */
static bool
must_scan(const LbDefinition *defn, LbSharedBoard *shared)
{
	int			npartitions;
	uint64		total;

	if (shared == NULL ||
		lb_elapsed((TimestampTz) pg_atomic_read_u64(&shared->looked),
				   GetCurrentTimestamp(), LB_SCAN_HOURS * 3600 * 1000))
		return true;
	(void) blocks_of(defn, 0, &npartitions, &total);
	return total <= SCAN_BLOCKS;
}

/*
 * Enter those of these keys that are due in closing.due.  If rows of a
 * window have been written after its removal, it is removed again, but not at
 * every visit: a trigger of the user may keep the rows.
 */
static void
enter_due(LbVisit *visit, const LbDefinition *defn, List *keys)
{
	LbClosing  *closing = &visit->closing;
	static LbPlan plan;
	TimestampTz now = GetCurrentTimestamp();
	List	   *again = NIL;
	ListCell   *lc;

	foreach(lc, keys)
	{
		char	   *key = lfirst(lc);
		LbSpan		span;
		LbWindow   *window = lb_window_in_family(defn, key, &span);

		CHECK_FOR_INTERRUPTS();
		if (window == NULL || now < lb_window_closes(window, &span) ||
			lb_listed(closing->due, key))
			continue;
		if (!lb_window_is_closed(key, strlen(key)))
		{
			MemoryContext old = MemoryContextSwitchTo(visit->context);

			closing->due = lappend(closing->due, pstrdup(key));
			MemoryContextSwitchTo(old);
		}
		else if (now >= lb_window_goes(window, &span))
			again = lappend(again, key);
	}

	/* Or the clock was ahead when they were removed. */
	if (closing->scan_began != 0 && again != NIL)
		(void) lb_own_exec(&plan,
						   "UPDATE @.lb_closed SET removed_at = NULL "
						   "WHERE board OPERATOR(pg_catalog.=) ANY ($1) "
						   "AND (removed_at OPERATOR(pg_catalog.<) $2 OR removed_at OPERATOR(pg_catalog.>) $3)",
						   LB_ARGS(lb_arg_text_list(again),
								   lb_arg_time(now - LB_SCAN_HOURS * USECS_PER_HOUR),
								   lb_arg_time(now + LB_SCAN_HOURS * USECS_PER_HOUR)));
}

/* If another visit has read a part of the table, go on behind that. */
static void
go_on_with_scan(LbClosing *closing, LbSharedBoard *shared)
{
	uint64		began = pg_atomic_read_u64(&shared->scan_began);

	if (began == 0)
		return;
	pg_read_barrier();
	closing->scan_began = (TimestampTz) began;
	closing->next_block = pg_atomic_read_u32(&shared->scan_block);
}

/*
 * Find the windows that are due among the boards, and whether to read the
 * table as well.
 */
static void
scan_boards(LbVisit *visit, const LbDefinition *defn, const char *no_key)
{
	LbClosing  *closing = &visit->closing;
	LbSharedBoard *shared = lb_shared_board_attach(unconstify(LbDefinition *,
															  defn),
												   false);
	bool		distributed = lb_is_distributed(defn);
	bool		thorough = !distributed && must_scan(defn, shared);
	bool		waits = !visit->one && shared != NULL && !lb_created_here(defn);
	bool		found;
	int			nbuilds = 0;
	List	   *keys;
	LbWait		wait = LB_WAIT_READY;

	/*
	 * lb_maintain() waits for a build, and for the next one if that has
	 * failed; the worker visits the database again.
	 */
	do
	{
		if (waits && lb_is_building(shared))
			wait = lb_wait_build(shared, defn->generation, false,
								 lb_wait_timeout_ms);
		found = keys_of_boards(defn, &keys, &closing->all_rows);
	} while (!found && waits && wait != LB_WAIT_TIMEOUT &&
			 ++nbuilds < MOST_BUILDS);

	/* The index is still being built. */
	if (!found)
	{
		visit->done.more |= waits;
		return;
	}
	if (thorough || distributed)
		closing->scan_began = GetCurrentTimestamp();
	if (thorough || closing->all_rows)
		closing->scanning = defn->source;
	if (visit->one && thorough && !closing->all_rows && shared != NULL)
		go_on_with_scan(closing, shared);
	enter_due(visit, defn, keys);
}

/*
 * Remember, for another visit, where the scan goes on.  Where all rows are
 * read, or a window could not be closed, it will begin anew.
 */
static void
note_part(const LbVisit *visit, const LbDefinition *defn, BlockNumber begin)
{
	LbSharedBoard *shared = lb_shared_board_attach(unconstify(LbDefinition *,
															  defn),
												   false);
	bool		keeps = visit->closing.scan_began != 0 && !visit->closing.all_rows;

	if (shared == NULL)
		return;
	pg_atomic_write_u32(&shared->scan_block, begin);
	pg_write_barrier();
	pg_atomic_write_u64(&shared->scan_began,
						keeps ? (uint64) visit->closing.scan_began : 0);
}

/*
 * Read a part of the table, or all of it if there is one transaction only.
 * This may miss a row that is updated between two parts; the next scan finds
 * it.
 */
static void
scan_table(LbVisit *visit, const LbDefinition *defn, const char *no_key)
{
	LbClosing  *closing = &visit->closing;
	BlockNumber begin = closing->next_block;
	BlockNumber end = InvalidBlockNumber;
	BlockNumber most;
	int			npartitions;
	uint64		total;

	/* The family has another table now. */
	if (defn->source != closing->scanning)
	{
		closing->scanning = InvalidOid;
		closing->scan_began = 0;
		return;
	}
	most = blocks_of(defn, begin, &npartitions, &total);
	if (visit->one && total > SCAN_BLOCKS)
	{
		end = begin + Max(1, SCAN_BLOCKS / Max(1, npartitions));

		/* All windows that were found before have been closed. */
		note_part(visit, defn, begin);
	}
	enter_due(visit, defn, keys_of_rows(defn, !closing->all_rows, begin, end));
	closing->next_block = end;
	if (end >= most)
		closing->scanning = InvalidOid;
}

/*
 * Remember that all of the table was read, after closing what was found has
 * been committed.  Before that, an error would leave it for the next scan.
 */
static void
note_scanned(LbVisit *visit, const LbDefinition *defn, const char *no_key)
{
	LbSharedBoard *shared = lb_shared_board_attach(unconstify(LbDefinition *,
															  defn),
												   false);

	if (shared != NULL)
	{
		pg_atomic_write_u64(&shared->looked, (uint64) visit->closing.scan_began);
		pg_atomic_write_u64(&shared->scan_began, 0);
	}
}

/*
 * Close the windows that are due.  Returns whether the transaction should end.
 */
static bool
close_found(LbVisit *visit, const LbDefinition *defn)
{
	LbClosing  *closing = &visit->closing;

	while (closing->due != NIL)
	{
		char	   *key = linitial(closing->due);
		int64		closed = visit->done.closed;

		closing->due = list_delete_first(closing->due);
		(void) lb_attempt_key(close_window, visit, defn, key);
		if (visit->done.closed == closed)
			closing->scan_began = 0;	/* to be found again */
		else if (visit->one)
		{
			visit->done.more = true;
			return true;
		}
	}
	return false;
}

bool
lb_close_windows(LbVisit *visit, const LbDefinition *defn)
{
	LbClosing  *closing = &visit->closing;
	static const char *const what = "look for windows that are over";

	if (!closing->scanned_boards)
	{
		if (!lb_attempt(scan_boards, what, visit, defn, NULL))
			closing->scan_began = 0;
		closing->scanned_boards = true;
	}
	else if (closing->scan_began != 0 && !OidIsValid(closing->scanning) &&
			 closing->due == NIL)
	{
		(void) lb_attempt(note_scanned, what, visit, defn, NULL);
		closing->scan_began = 0;
	}
	if (close_found(visit, defn))
		return true;
	if (OidIsValid(closing->scanning))
	{
		if (!lb_attempt(scan_table, what, visit, defn, NULL))
		{
			closing->scanning = InvalidOid;
			closing->scan_began = 0;
		}

		/*
		 * note_scanned() has a transaction after those that close what was
		 * found.
		 */
		if (visit->one)
		{
			visit->done.more = true;
			return true;
		}
		return close_found(visit, defn);
	}
	return false;
}


/* ----------------------------------------------------------------
 *		For another server, which closes windows
 * ----------------------------------------------------------------
 */

/* Whether a window is to be closed. */
static bool
is_due(const char *key)
{
	LbSpan		span;
	LbWindow   *window = lb_window_of_key(key, strlen(key), &span);

	return window != NULL &&
		GetCurrentTimestamp() >= lb_window_closes(window, &span) &&
		!lb_window_is_closed(key, strlen(key));
}

bool
lb_window_keys_here(LbDefinition *defn, List **boards, List **rows)
{
	LbSharedBoard *shared = lb_shared_board_attach(defn, false);
	bool		thorough = must_scan(defn, shared);
	bool		all;
	ListCell   *lc;

	*rows = NIL;
	if (!keys_of_boards(defn, boards, &all))
		return false;
	if (all || thorough)
	{
		*rows = keys_of_rows(defn, !all, 0, InvalidBlockNumber);
		foreach(lc, *rows)
		{
			CHECK_FOR_INTERRUPTS();
			thorough &= !is_due(lfirst(lc));
		}
	}

	/* A window that is to be closed is found again, until it is. */
	if (thorough && shared != NULL)
		pg_atomic_write_u64(&shared->looked, (uint64) GetCurrentTimestamp());
	return true;
}
