/*-------------------------------------------------------------------------
 *
 * redo.c
 *	  A standby follows the feed.
 *
 * The startup process replays WAL.  We wrap the redo routines of three of
 * PostgreSQL's resource managers, which see every record of theirs:
 *
 *	logical messages	what a transaction has changed is published
 *	transactions		after a commit or an abort it is settled or discarded
 *	xlog				a life of the primary ends
 *
 * So a standby has the same ledger as a primary, with the startup process as
 * the owner of all publications.
 *
 * A publication has no predecessors here.  A second writer of a member has
 * waited for the first one, so the first one's commit record is before the
 * second one's message, and is settled when that is published.
 *
 * Nothing here raises: an error in the startup process ends the server.
 * Nothing allocates without a way to go on if there is no memory, looks up a
 * catalog, or waits for longer than a stripe's or the directory's lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogutils.h"
#include "catalog/pg_control.h"
#include "postmaster/startup.h"
#include "replication/message.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "boards/directory.h"
#include "boards/live.h"
#include "boards/state.h"
#include "feed/format.h"
#include "feed/inflight.h"
#include "feed/life.h"
#include "feed/redo.h"
#include "ledger/ledger.h"
#include "ledger/snapshot.h"
#include "util/compat.h"
#include "util/pause.h"
#include "util/planted.h"

#define NOT_FED_REASON "the primary has not fed all changes"
#define UNKNOWN_REASON "a transaction of the primary has changed the table or the board"
#define LOST_REASON "changes of a transaction could not be kept"

/* Entries of a message, or of a part of it. */
static struct
{
	int64	   *words;
	Size		room;			/* words */
}			entries;

/*
 * Commits within so many microseconds, but at most so many of them, for which
 * the lag is noted once.
 */
#define LAG_EVERY 10000
#define MAX_SKIPPED 32

/* Words of entries whose room is kept for the next message. */
#define KEEP_WORDS 65536


/* ----------------------------------------------------------------
 *		Whether changes are missing
 * ----------------------------------------------------------------
 */

static LbFeedState
feed_state(void)
{
	return (LbFeedState) pg_atomic_read_u32(&lb_shared->feed.state);
}

bool
lb_feed_answers(const LbDefinition *defn)
{
	return !RecoveryInProgress() ||
		(!lb_is_unlogged(defn) && lb_feed_is_complete(feed_state()));
}

bool
lb_feed_builds(void)
{
	return !RecoveryInProgress() || feed_state() != LB_STALE;
}

/*
 * Take all boards offline: they may miss changes of transactions up to, and
 * without, a full xid.
 */
static void
take_all_offline(uint64 before)
{
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		lb_note_all_unknown(&shared->unknown, before);
		lb_take_offline(shared, shared->generation, NOT_FED_REASON, true);
	}
	LWLockRelease(&lb_shared->directory_lock);
}

/* Full barriers order these stores with the redo that follows. */
static void
set_state(LbFeedState state)
{
	if (state == feed_state())
		return;
	pg_atomic_write_u64(&lb_shared->feed.state_since,
						(uint64) GetCurrentTimestamp());
	(void) pg_atomic_exchange_u32(&lb_shared->feed.state, state);
	lb_wake_launcher();
}

/* since is that of a HELLO. */
static void
on_event(LbFeedEvent event, uint64 since)
{
	LbFeedState old = feed_state();
	LbFeedStep	step = lb_feed_step(old, event);

	if (step.unknown)
	{
		take_all_offline(Max(since, lb_next_xid()));
		(void) pg_atomic_fetch_add_u32(&lb_shared->feed.anew, 1);
	}
	set_state(step.state);
	if (step.state == LB_STALE && old != LB_STALE)
		take_all_offline(lb_next_xid());
}

/* The feed cannot be followed, until the primary says HELLO again. */
static void
lose_feed(void)
{
	on_event(LB_BYE, 0);
}


/* ----------------------------------------------------------------
 *		Messages
 * ----------------------------------------------------------------
 */

/* The definition that a message is about, or NULL.  Sets *generation. */
static LbSharedBoard *
find_definition(Oid database, Oid catalog, int32 id, uint64 *generation)
{
	static LbSharedBoard *last = NULL;
	static uint64 last_generation;
	LbSharedBoard *shared;

	/*
	 * Its memory is type-stable.  If the generation has ended, that is seen
	 * here or under the stripe's lock.
	 */
	if (last != NULL && last->generation == last_generation &&
		last->id == id && last->catalog == catalog &&
		last->database == database)
	{
		*generation = last_generation;
		return last;
	}
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	shared = lb_directory_find(database, catalog, id);
	if (shared != NULL)
		*generation = shared->generation;
	LWLockRelease(&lb_shared->directory_lock);
	last = shared;
	last_generation = *generation;
	return shared;
}

/*
 * The standby cannot keep these changes.  In this order: a build that is about
 * to be installed looks at the xids after it has said that the board is ready.
 */
static void
lose_board(LbSharedBoard *shared, uint64 generation, FullTransactionId xid)
{
	lb_note_unknown(&shared->unknown, xid);
	lb_take_offline(shared, generation, LOST_REASON, true);
}

/* Room for one more entry of this stride behind n. */
static bool
make_room(uint32 n, int stride)
{
	Size		need = ((Size) n + 1) * lb_entry_words(stride);
	int64	   *words;

	if (need <= entries.room)
		return true;
	need = Max(need * 2, KEEP_WORDS);
	words = MemoryContextAllocExtended(TopMemoryContext,
									   need * sizeof(int64),
									   MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);
	if (words == NULL)
		return false;
	if (entries.words != NULL)
	{
		memcpy(words, entries.words, entries.room * sizeof(int64));
		pfree(entries.words);
	}
	entries.words = words;
	entries.room = need;
	return true;
}

/* Whether a key that a message has is one of a board's. */
static bool
is_key(const LbShape *shape, const int64 *key, int n, int stride)
{
	return n <= stride && lb_is_key(shape, key, n);
}

/* Whether an entry has as many keys and rows as one of a board's can have. */
static bool
is_entry(const LbShape *shape, int nold, int nnew, int64 rows)
{
	return shape->counts ? rows > 0 && rows <= LB_MAX_ENTRY_ROWS &&
		(nold == 0 || nnew == 0) : rows == 0;
}

/*
 * Read the entries of a board into "entries".  Returns false if the message is
 * broken, or there is no memory.
 */
static bool
read_entries(LbFeedReader *reader, const LbShape *shape, int stride,
			 LbEntries *result)
{
	int64		old[LB_MAX_KEY_WORDS];
	int64		new[LB_MAX_KEY_WORDS];
	int			nold;
	int			nnew;
	int64		rows;
	uint32		n = 0;
	LbFeedNext	next;

	while ((next = lb_feed_next_entry(reader, old, &nold, new, &nnew,
									  &rows)) == LB_FEED_NEXT)
	{
		if (!is_entry(shape, nold, nnew, rows) ||
			(nold > 0 && !is_key(shape, old, nold, stride)) ||
			(nnew > 0 && !is_key(shape, new, nnew, stride)) ||
			!make_room(n, stride))
			return false;
		lb_make_entry(shape, entries.words + n * lb_entry_words(stride),
					  stride, nold > 0 ? old : NULL, nnew > 0 ? new : NULL,
					  rows);
		n++;
	}
	result->words = entries.words;
	result->n = n;
	result->stride = stride;
	return next == LB_FEED_END;
}

/* Skip the entries of a board that is not here. */
static bool
skip_entries(LbFeedReader *reader)
{
	int64		old[LB_MAX_KEY_WORDS];
	int64		new[LB_MAX_KEY_WORDS];
	int			nold;
	int			nnew;
	int64		rows;
	LbFeedNext	next;

	while ((next = lb_feed_next_entry(reader, old, &nold, new, &nnew,
									  &rows)) == LB_FEED_NEXT)
		;
	return next == LB_FEED_END;
}

/* Publish what a transaction has changed on a board. */
static void
publish(LbInFlight *xact, const LbNetChanges *net, FullTransactionId xid)
{
	LbPublication *pub = lb_publish_replayed(net, xid);

	if (pub == NULL)
	{
		lose_board(net->shared, net->generation, xid);
		return;
	}
	if (lb_inflight_add(xact, pub))
		return;
	lb_discard(pub);
	lose_board(net->shared, net->generation, xid);
}

/*
 * Read a board of a message, and publish it.  Returns false if the message is
 * broken, or there is no memory.
 */
static bool
redo_board(LbFeedReader *reader, const LbFeedHeader *header,
		   const LbFeedBoard *board, LbInFlight *xact, FullTransactionId xid)
{
	LbValue		value = {.len = board->value_len,.data = board->value};
	LbNetChanges net = {.value = &value,.off_board = board->off_board};
	uint64		generation = 0;
	LbSharedBoard *shared = find_definition(header->database, board->catalog,
											(int32) board->id, &generation);

	/*
	 * The process that enters it later notes this transaction:
	 * create_shared().
	 */
	if (shared == NULL)
		return skip_entries(reader);

	/*
	 * Fixed while the generation lasts; if it has ended, publishing fails, as
	 * it does if the entry is of another definition by now.
	 */
	if (shared->fingerprint != board->fingerprint ||
		lb_shape_varies(&shared->shape) !=
		((board->flags & LB_FEED_TEXTS) != 0) ||
		board->value_len > LB_MAX_VALUE)
	{
		lose_board(shared, generation, xid);
		return skip_entries(reader);
	}
	if ((board->flags & LB_FEED_NEGATIVE_ZERO) && !LB_PLANTED(19))
		shared->negative_zero = true;
	net.shared = shared;
	net.generation = generation;
	net.hash = shared->family ? lb_value_hash(&value) : 0;
	if (!read_entries(reader, &shared->shape, board->stride, &net.entries))
		return false;
	if (net.entries.n > 0 || net.off_board != 0)
		publish(xact, &net, xid);
	return true;
}

/*
 * Take a board offline for what a transaction has changed.  A board can be
 * offline for something else, which each build of it finds again.  Then that
 * stays its reason, so that it is not logged after each commit.
 */
static void
take_unknown_offline(LbSharedBoard *shared, uint64 generation)
{
	char		reason[LB_MAX_REASON] = UNKNOWN_REASON;

	if (lb_is_offline(shared))
		(void) lb_get_reason(shared, reason);
	lb_take_offline(shared, generation, reason, true);
}

/* Count the transaction in the nunknown of a definition. */
static void
count_unknown(LbInFlight *xact, LbSharedBoard *shared, FullTransactionId xid)
{
	lb_note_unknown(&shared->unknown, xid);
	if (lb_inflight_count(xact, shared, shared->generation))
		pg_atomic_fetch_add_u32(&shared->nunknown, 1);
	else
		take_unknown_offline(shared, shared->generation);
}

/*
 * The same for all definitions that UNKNOWN is about.  Returns whether its
 * database wants a visit: there may be new definitions, or a database may be
 * gone.  One that is here is built, or removed, since it goes offline.
 */
static bool
count_all_unknown(LbInFlight *xact, const LbFeedUnknown *unknown, Oid database,
				  FullTransactionId xid)
{
	dlist_iter	iter;

	if (unknown->scope == LB_FEED_DEFINITION)
	{
		LbSharedBoard *shared = lb_directory_find(database, unknown->oid,
												  (int32) unknown->id);

		if (shared != NULL)
			count_unknown(xact, shared, xid);
		return shared == NULL;
	}
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);
		bool		here = shared->database == database;

		if ((unknown->scope == LB_FEED_SOURCE && here &&
			 shared->source == unknown->oid) ||
			(unknown->scope == LB_FEED_CATALOG && here &&
			 shared->catalog == unknown->oid))
			count_unknown(xact, shared, xid);
	}
	return true;
}

static bool
redo_unknown(LbFeedReader *reader, const LbFeedHeader *header,
			 LbInFlight *xact, FullTransactionId xid)
{
	LbFeedUnknown unknown;
	LbFeedNext	next;

	while ((next = lb_feed_next_unknown(reader, &unknown)) == LB_FEED_NEXT)
	{
		bool		visits;

		LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
		visits = count_all_unknown(xact, &unknown, header->database, xid);
		LWLockRelease(&lb_shared->directory_lock);
		if (!visits)
			continue;
		xact->visits = true;
		xact->visit = unknown.scope == LB_FEED_DATABASE ? InvalidOid :
			header->database;
	}
	return next == LB_FEED_END;
}

static bool
redo_changes(LbFeedReader *reader, const LbFeedHeader *header,
			 LbInFlight *xact, FullTransactionId xid)
{
	LbFeedBoard board;
	LbFeedNext	next;

	while ((next = lb_feed_next_board(reader, &board)) == LB_FEED_NEXT)
	{
		if (!redo_board(reader, header, &board, xact, xid))
			return false;
	}
	if (entries.room > KEEP_WORDS)
	{
		pfree(entries.words);
		entries.words = NULL;
		entries.room = 0;
	}
	return next == LB_FEED_END;
}

/* A transaction's message.  Returns false if it cannot be followed. */
static bool
redo_transaction(LbFeedReader *reader, const LbFeedHeader *header,
				 TransactionId xid)
{
	LbInFlight *xact;
	FullTransactionId full;

	if (!TransactionIdIsNormal(xid))
		return false;
	xact = lb_inflight_find(xid, true);
	if (xact == NULL)
		return false;
	full = FullTransactionIdFromU64(lb_full_xid(xid, lb_next_xid()));
	return header->kind == LB_FEED_CHANGES ?
		redo_changes(reader, header, xact, full) :
		redo_unknown(reader, header, xact, full);
}

/* Find our message in a record.  Returns false if it is not one of ours. */
static bool
get_message(XLogReaderState *record, const uint8 **data, Size *size)
{
	const xl_logical_message *message = (xl_logical_message *) XLogRecGetData(record);

	if ((XLogRecGetInfo(record) & ~XLR_INFO_MASK) != XLOG_LOGICAL_MESSAGE ||
		message->dbId != InvalidOid ||
		message->prefix_size != sizeof(LB_FEED_PREFIX) ||
		memcmp(message->message, LB_FEED_PREFIX, sizeof(LB_FEED_PREFIX)) != 0)
		return false;
	*data = (const uint8 *) message->message + message->prefix_size;
	*size = message->message_size;
	return true;
}

/* Add to a counter that only this process changes. */
static inline void
count(pg_atomic_uint64 *counter, uint64 n)
{
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + n);
}

static void
redo_message(XLogReaderState *record)
{
	const uint8 *data;
	Size		size;
	LbFeedReader reader;
	LbFeedHeader header;
	bool		ok;

	logicalmsg_redo(record);
	if (standbyState == STANDBY_DISABLED ||
		!get_message(record, &data, &size))
		return;
	count(&lb_shared->feed.messages, 1);
	count(&lb_shared->feed.bytes, size);
	ok = lb_feed_read(&reader, data, size, &header);
	if (ok)
	{
		switch (header.kind)
		{
			case LB_FEED_CHANGES:
			case LB_FEED_UNKNOWN:

				/* All boards wait for HELLO, and for this transaction. */
				if (feed_state() != LB_STALE)
					ok = redo_transaction(&reader, &header,
										  header.kind == LB_FEED_UNKNOWN ?
										  header.xid : XLogRecGetXid(record));
				break;
			case LB_FEED_HELLO:
				on_event(header.since == 0 ? LB_HELLO_LIFE : LB_HELLO_XID,
						 header.since);
				break;
			case LB_FEED_BYE:
				on_event(LB_BYE, 0);
				break;
		}
	}
	if (!ok)
		lose_feed();
}


/* ----------------------------------------------------------------
 *		Transactions
 * ----------------------------------------------------------------
 */

/*
 * Take the definitions offline in whose nunknown the transaction counts; or
 * end that.  No lock keeps a definition in place.
 */
static void
visit_counted(LbInFlight *xact, bool offline)
{
	if (xact->ncounted == 0)
		return;
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	for (int i = 0; i < xact->ncounted; i++)
	{
		LbSharedBoard *shared = xact->counted[i].shared;
		uint64		generation = xact->counted[i].generation;

		if (shared->generation != generation)
			continue;
		if (offline)
			take_unknown_offline(shared, generation);
		else
			pg_atomic_fetch_sub_u32(&shared->nunknown, 1);
	}
	LWLockRelease(&lb_shared->directory_lock);
	if (!offline)
		lb_wake_launcher();
}

/*
 * When the last commit with changes was settled here, and how late that was.
 */
static void
note_lag(TimestampTz committed)
{
	static TimestampTz last = 0;
	static int	skipped = 0;
	LbFeed	   *feed = &lb_shared->feed;
	TimestampTz now;

	/* The clock is not read for each of many commits. */
	if (committed >= last && committed - last < LAG_EVERY &&
		++skipped < MAX_SKIPPED)
		return;
	last = committed;
	skipped = 0;
	now = GetCurrentTimestamp();
	SpinLockAcquire(&feed->mutex);
	feed->settled = now;
	feed->lag = now - committed;
	SpinLockRelease(&feed->mutex);
}

static void
end_transaction(LbInFlight *xact, bool committed)
{
	/*
	 * First of all: what it has published may not fit the index, of a table
	 * that it has truncated.
	 */
	if (committed)
		visit_counted(xact, true);
	for (int i = 0; i < xact->npubs; i++)
	{
		/*
		 * They may be many.  A shutdown ends the process here, as it does
		 * between two records: the next start replays the record again.
		 */
		LB_STARTUP_INTERRUPTS();
		if (committed)
			lb_settle(xact->pubs[i]);
		else
			lb_discard(xact->pubs[i]);
	}
	visit_counted(xact, false);
	if (committed && xact->visits)
		lb_want_visit(&lb_shared->feed.visits, xact->visit);
	lb_inflight_delete(xact);
	lb_update_horizon(false);
}

/* A record of a transaction that is in flight, after its redo. */
static void
transaction_redone(XLogReaderState *record, uint8 info)
{
	LbInFlight *xact;
	TransactionId xid = XLogRecGetXid(record);

	if (info == XLOG_XACT_COMMIT_PREPARED)
	{
		xl_xact_parsed_commit parsed;

		ParseCommitRecord(XLogRecGetInfo(record),
						  (xl_xact_commit *) XLogRecGetData(record), &parsed);
		xid = parsed.twophase_xid;
	}
	else if (info == XLOG_XACT_ABORT_PREPARED)
	{
		xl_xact_parsed_abort parsed;

		ParseAbortRecord(XLogRecGetInfo(record),
						 (xl_xact_abort *) XLogRecGetData(record), &parsed);
		xid = parsed.twophase_xid;
	}
	xact = lb_inflight_find(xid, false);
	if (xact == NULL)
		return;
	switch (info)
	{
		case XLOG_XACT_COMMIT:
		case XLOG_XACT_COMMIT_PREPARED:
			lb_pause("redo");
			if (xact->npubs > 0)
				note_lag(((xl_xact_commit *) XLogRecGetData(record))->xact_time);
			end_transaction(xact, true);
			break;
		case XLOG_XACT_ABORT:
		case XLOG_XACT_ABORT_PREPARED:
			end_transaction(xact, false);
			break;
		case XLOG_XACT_PREPARE:
			xact->prepared = true;
			break;
	}
}

static void
redo_xact(XLogReaderState *record)
{
	uint8		info = XLogRecGetInfo(record) & XLOG_XACT_OPMASK;
	bool		follow = standbyState != STANDBY_DISABLED;

	if (LB_PLANTED(18))
	{
		xact_redo(record);
		lb_pause("redo");
	}

	/* Before its rows are visible. */
	if (follow && (info == XLOG_XACT_COMMIT || info == XLOG_XACT_PREPARE ||
				   info == XLOG_XACT_COMMIT_PREPARED))
		on_event(LB_XACT_ENDS, 0);
	if (!LB_PLANTED(18))
		xact_redo(record);
	if (follow && lb_inflight_number() > 0)
		transaction_redone(record, info);
}


/* ----------------------------------------------------------------
 *		Lives of the primary, and the end of redo
 * ----------------------------------------------------------------
 */

/* A transaction that was running when the primary's life ended. */
static void
end_with_life(LbInFlight *xact)
{
	if (!xact->prepared)
		end_transaction(xact, false);
}

static void
redo_xlog(XLogReaderState *record)
{
	uint8		info = XLogRecGetInfo(record) & ~XLR_INFO_MASK;

	xlog_redo(record);
	if (standbyState == STANDBY_DISABLED ||
		(info != XLOG_CHECKPOINT_SHUTDOWN && info != XLOG_END_OF_RECOVERY))
		return;
	lb_inflight_visit(end_with_life);
	on_event(LB_LIFE_ENDS, 0);
}

/*
 * From now on a prepared transaction is left to others, as on a primary after
 * PREPARE.
 */
static void
leave_prepared(LbInFlight *xact)
{
	for (int i = 0; i < xact->npubs; i++)
		lb_disown_prepared(xact->pubs[i]);
	visit_counted(xact, true);
	visit_counted(xact, false);
	lb_inflight_delete(xact);
}

/* The server is going to be a primary. */
static void
end_of_redo(void)
{
	if (standbyState == STANDBY_DISABLED)
		return;
	lb_inflight_visit(end_with_life);
	lb_inflight_visit(leave_prepared);
	if (!lb_feed_is_complete(feed_state()))
		take_all_offline(lb_next_xid());

	/*
	 * The ledger need not have the transactions that were prepared before,
	 * for boards that are entered from now on.
	 */
	pg_atomic_write_u64(&lb_shared->first_xid, lb_next_xid());
	lb_wake_launcher();
}


/* ----------------------------------------------------------------
 *		Setup
 * ----------------------------------------------------------------
 */

/*
 * In PostgreSQL 15 to 19 the table of resource managers can be written to.  If
 * it is constant in a later version, standbys run their queries.
 */
#define TABLE_IS_WRITABLE \
	_Generic(&RmgrTable[0], const RmgrData *: false, default: true)

void
lb_redo_init(void)
{
	RmgrData   *table = (RmgrData *) (uintptr_t) RmgrTable;

	if (!TABLE_IS_WRITABLE ||
		table[RM_LOGICALMSG_ID].rm_redo != logicalmsg_redo ||
		table[RM_LOGICALMSG_ID].rm_cleanup != NULL ||
		table[RM_XACT_ID].rm_redo != xact_redo ||
		table[RM_XLOG_ID].rm_redo != xlog_redo)
	{
		ereport(LOG,
				(errmsg("leaderboard does not follow changes on a standby"),
				 errdetail("The redo routines of this server are not those that it knows."),
				 errhint("Reads on a standby run their queries.")));
		return;
	}
	table[RM_LOGICALMSG_ID].rm_redo = redo_message;
	table[RM_LOGICALMSG_ID].rm_cleanup = end_of_redo;
	table[RM_XACT_ID].rm_redo = redo_xact;
	table[RM_XLOG_ID].rm_redo = redo_xlog;
}
