/*-------------------------------------------------------------------------
 *
 * emit.c
 *	  The messages of a primary.
 *
 * A transaction writes its net changes to WAL at its PRE_COMMIT, as a record
 * of a logical message in no database.  Only this file writes such records:
 * pg_logical_emit_message(), which every role may call, names its database.
 * Logical decoding skips what is not of the slot's database.  A server
 * without the library replays the record as nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "replication/message.h"
#include "utils/timestamp.h"

#include "boards/shared.h"
#include "feed/emit.h"
#include "ledger/snapshot.h"
#include "util/compat.h"

/*
 * The most entries of a board that one transaction feeds.  It takes a standby
 * less to build the board than to apply more.
 */
#define MAX_ENTRIES (256 * 1024)

/* The message that is being filled. */
static struct
{
	LbFeedWriter writer;
	LbFeedKind	kind;
	bool		begun;
	uint8		data[LB_FEED_ROOM];
}			message;

bool
lb_feeding(void)
{
	return lb_shared != NULL &&
		pg_atomic_read_u32(&lb_shared->feed.feeding) != 0 &&
		XLogStandbyInfoActive();
}

/* Write a message to WAL.  Returns the end of its record. */
static XLogRecPtr
write_message(const uint8 *data, Size size, uint8 flags)
{
	xl_logical_message record;
	static char prefix[] = LB_FEED_PREFIX;

	memset(&record, 0, sizeof(record));
	record.dbId = InvalidOid;
	record.transactional = false;
	record.prefix_size = sizeof(prefix);
	record.message_size = size;
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfLogicalMessage);
	XLogRegisterData(prefix, sizeof(prefix));
	XLogRegisterData((char *) data, size);
	XLogSetRecordFlags(flags);
	pg_atomic_fetch_add_u64(&lb_shared->feed.messages, 1);
	pg_atomic_fetch_add_u64(&lb_shared->feed.bytes, size);
	return XLogInsert(RM_LOGICALMSG_ID, XLOG_LOGICAL_MESSAGE);
}


/* ----------------------------------------------------------------
 *		A transaction's messages
 * ----------------------------------------------------------------
 */

void
lb_emit_begin(void)
{
	message.begun = false;
}

void
lb_emit_end(void)
{
	if (message.begun)
		(void) write_message(message.data, message.writer.used, 0);
	message.begun = false;
}

/* Begin a message of that kind, unless one has begun. */
static void
begin(LbFeedKind kind)
{
	LbFeedHeader header = {.kind = kind,.database = MyDatabaseId};

	/* Another PRE_COMMIT callback may have written in a subtransaction. */
	if (kind == LB_FEED_UNKNOWN)
		header.xid = GetTopTransactionIdIfAny();
	if (message.begun && message.kind == kind)
		return;
	lb_emit_end();
	lb_feed_begin(&message.writer, message.data, LB_FEED_ROOM, &header);
	message.kind = kind;
	message.begun = true;
}

static void
put_board(const LbFeedBoard *board)
{
	bool		put PG_USED_FOR_ASSERTS_ONLY;

	begin(LB_FEED_CHANGES);
	if (lb_feed_put_board(&message.writer, board))
		return;
	lb_emit_end();
	begin(LB_FEED_CHANGES);
	put = lb_feed_put_board(&message.writer, board);
	Assert(put);
}

static bool
put_entry(const LbShape *shape, const LbEntries *entries, uint32 i)
{
	const int64 *entry = lb_entry_at(entries, i);
	const int64 *old = lb_old_key(entry);
	const int64 *new = lb_new_key(entry, entries->stride);

	return lb_feed_put_entry(&message.writer,
							 old, old == NULL ? 0 : lb_key_words(shape, old),
							 new, new == NULL ? 0 : lb_key_words(shape, new),
							 lb_entry_rows(entry));
}

/* The message is full: go on with the same board in the next one. */
static void
next_message(LbFeedBoard *board)
{
	CHECK_FOR_INTERRUPTS();
	lb_feed_put_end(&message.writer);
	lb_emit_end();
	board->off_board = 0;
	put_board(board);
}

void
lb_emit_changes(const LbDefinition *defn, const LbNetChanges *net,
				bool negative_zero)
{
	const LbShape *shape = &defn->shape;
	LbFeedBoard board = {
		.catalog = defn->catalog,
		.id = (uint32) defn->id,
		.fingerprint = defn->fingerprint,
		.flags = (negative_zero ? LB_FEED_NEGATIVE_ZERO : 0) |
		(lb_shape_varies(shape) ? LB_FEED_TEXTS : 0),
		.stride = net->entries.n > 0 ? net->entries.stride : lb_least_stride(shape),
		.value_len = net->value->len,
		.value = net->value->data,
		.off_board = net->off_board
	};

	if (net->entries.n > MAX_ENTRIES)
	{
		lb_emit_unknown(LB_FEED_DEFINITION, defn->catalog, defn->id);
		return;
	}
	put_board(&board);
	for (uint32 i = 0; i < net->entries.n; i++)
	{
		bool		put = put_entry(shape, &net->entries, i);

		if (put)
			continue;
		next_message(&board);
		put = put_entry(shape, &net->entries, i);
		Assert(put);
	}
	lb_feed_put_end(&message.writer);
}

void
lb_emit_negative_zero(const LbDefinition *defn)
{
	LbValue		none = {0, ""};
	LbNetChanges net = {.value = &none};

	lb_emit_changes(defn, &net, true);
}

void
lb_emit_unknown(LbFeedScope scope, Oid oid, int32 id)
{
	LbFeedUnknown unknown = {.scope = scope,.oid = oid,.id = (uint32) id};
	bool		put PG_USED_FOR_ASSERTS_ONLY;

	begin(LB_FEED_UNKNOWN);
	if (lb_feed_put_unknown(&message.writer, &unknown))
		return;
	lb_emit_end();
	begin(LB_FEED_UNKNOWN);
	put = lb_feed_put_unknown(&message.writer, &unknown);
	Assert(put);
}


/* ----------------------------------------------------------------
 *		Whether this server feeds
 * ----------------------------------------------------------------
 */

static XLogRecPtr
write_short(const LbFeedHeader *header, uint8 flags)
{
	LbFeedWriter writer;
	uint8		data[LB_FEED_LEAST];

	lb_feed_begin(&writer, data, sizeof(data), header);
	return write_message(data, writer.used, flags);
}

void
lb_feed_say_hello(bool important)
{
	LbFeedHeader header = {
		.kind = LB_FEED_HELLO,
		.since = pg_atomic_read_u64(&lb_shared->feed.since)
	};

	if (important)
		pg_atomic_write_u64(&lb_shared->feed.state_since,
							(uint64) GetCurrentTimestamp());

	/* On an idle server no other process would flush it. */
	XLogFlush(write_short(&header, important ? 0 : XLOG_MARK_UNIMPORTANT));
}

void
lb_feed_start(void)
{
	/*
	 * A transaction that finds the flag not set had its xid before that, so
	 * its xid is below the next one that is read here.
	 */
	pg_atomic_write_u32(&lb_shared->feed.feeding, 1);
	pg_memory_barrier();
	pg_atomic_write_u64(&lb_shared->feed.since, lb_next_xid());
	lb_feed_say_hello(true);
}

void
lb_feed_stop(void)
{
	LbFeedHeader header = {.kind = LB_FEED_BYE};

	/* In this order: what commits without a message does so after BYE. */
	XLogFlush(write_short(&header, 0));
	pg_atomic_write_u32(&lb_shared->feed.feeding, 0);
	pg_atomic_write_u64(&lb_shared->feed.state_since,
						(uint64) GetCurrentTimestamp());
}
