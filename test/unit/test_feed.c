/*-------------------------------------------------------------------------
 *
 * test_feed.c
 *	  Unit tests of the feed's messages, and of the states of a standby.
 *
 *-------------------------------------------------------------------------
 */
#include "feed/format.h"
#include "feed/life.h"
#include "test.h"

/*--------------------------------------------------------------------------
 * Messages
 *--------------------------------------------------------------------------
 */

#define MAX_BOARDS 20
#define MAX_ENTRIES 400

typedef struct Entry
{
	int			board;
	int			nold;
	int			nnew;
	int64		rows;
	int64		old[LB_MAX_KEY_WORDS];
	int64		new[LB_MAX_KEY_WORDS];
} Entry;

/* A transaction, in the order in which it is put. */
typedef struct Changes
{
	LbFeedHeader header;
	int			nboards;
	LbFeedBoard boards[MAX_BOARDS];
	char		values[MAX_BOARDS][1024];
	int			nentries;
	Entry		entries[MAX_ENTRIES];
} Changes;

/* Mostly small, at times any. */
static int64
random_word(void)
{
	switch (random_below(4))
	{
		case 0:
			return (int64) next_random();
		case 1:
			return random_below(2) ? INT64_MIN : INT64_MAX;
		default:
			return (int64) random_below(100000) - 50000;
	}
}

static void
random_board(LbFeedBoard *board, char *value)
{
	memset(board, 0, sizeof(LbFeedBoard));
	board->catalog = (uint32) next_random();
	board->id = random_below(1000);
	board->fingerprint = (uint32) next_random();
	board->flags = (uint8) random_below(4);
	board->stride = (uint8) (1 + random_below(random_below(4) ? 8 : LB_MAX_KEY_WORDS));
	board->value_len = (uint16) (random_below(3) ? 0 : random_below(1025));
	for (int i = 0; i < board->value_len; i++)
		value[i] = (char) next_random();
	board->value = value;
	board->off_board = random_below(2) ? 0 : random_word();
}

static int
random_key(const LbFeedBoard *board, int64 *key, const int64 *like)
{
	int			n = board->stride;

	if (board->flags & LB_FEED_TEXTS)
		n = 1 + (int) random_below(board->stride);
	for (int i = 0; i < n; i++)
		key[i] = like != NULL && random_below(3) ? like[i] : random_word();
	return n;
}

static void
random_changes(Changes *c)
{
	c->header.kind = LB_FEED_CHANGES;
	c->header.database = (uint32) next_random();
	c->header.since = 0;
	c->nboards = (int) random_below(MAX_BOARDS);
	for (int i = 0; i < c->nboards; i++)
		random_board(&c->boards[i], c->values[i]);
	c->nentries = 0;
	for (int i = 0; i < c->nboards; i++)
	{
		int			n = (int) random_below(random_below(4) ? 4 : MAX_ENTRIES / MAX_BOARDS);

		for (; n > 0; n--)
		{
			Entry	   *entry = &c->entries[c->nentries++];
			const LbFeedBoard *board = &c->boards[i];
			int			keys = 1 + (int) random_below(3);

			memset(entry, 0, sizeof(Entry));
			entry->board = i;
			if (random_below(3) == 0)
				entry->rows = random_below(2) ? 1 + random_below(100) :
					random_word() & INT64_MAX;
			if (keys & 1)
				entry->nold = random_key(board, entry->old, NULL);
			if (keys & 2)
				entry->nnew = random_key(board, entry->new,
										 entry->nold > 0 ? entry->old : NULL);
		}
	}
}

typedef struct Message
{
	uint8	   *data;
	Size		size;
} Message;

/* Put an entry, or a board, behind what must be in the next message. */
static bool
next_message(LbFeedWriter *w, Message *messages, int *n, Size room,
			 const LbFeedHeader *header)
{
	messages[(*n)++].size = w->used;
	messages[*n].data = allocate(room);
	lb_feed_begin(w, messages[*n].data, room, header);
	return true;
}

/* The messages of a transaction, each of them of room bytes at most. */
static int
write_changes(const Changes *c, Message *messages, Size room)
{
	LbFeedWriter w;
	int			n = 0;
	int			e = 0;

	messages[0].data = allocate(room);
	lb_feed_begin(&w, messages[0].data, room, &c->header);
	for (int i = 0; i < c->nboards; i++)
	{
		LbFeedBoard again = c->boards[i];

		if (!lb_feed_put_board(&w, &c->boards[i]))
		{
			next_message(&w, messages, &n, room, &c->header);
			if (!lb_feed_put_board(&w, &c->boards[i]))
				abort();
		}
		again.off_board = 0;
		for (; e < c->nentries && c->entries[e].board == i; e++)
		{
			const Entry *entry = &c->entries[e];

			if (lb_feed_put_entry(&w, entry->old, entry->nold, entry->new,
								  entry->nnew, entry->rows))
				continue;
			lb_feed_put_end(&w);
			next_message(&w, messages, &n, room, &c->header);
			if (!lb_feed_put_board(&w, &again) ||
				!lb_feed_put_entry(&w, entry->old, entry->nold, entry->new,
								   entry->nnew, entry->rows))
				abort();
		}
		lb_feed_put_end(&w);
	}
	messages[n++].size = w.used;
	return n;
}

static bool
same_board(const LbFeedBoard *a, const LbFeedBoard *b)
{
	return a->catalog == b->catalog && a->id == b->id &&
		a->fingerprint == b->fingerprint && a->flags == b->flags &&
		a->stride == b->stride && a->value_len == b->value_len &&
		memcmp(a->value, b->value, a->value_len) == 0;
}

/* The messages have all of the transaction, in order. */
static bool
read_changes(const Changes *c, const Message *messages, int n)
{
	int			e = 0;
	int64		off_board[MAX_BOARDS] = {0};
	int			at = -1;

	for (int m = 0; m < n; m++)
	{
		LbFeedReader r;
		LbFeedHeader header;
		LbFeedBoard board;
		LbFeedNext	next;

		REQUIRE(lb_feed_read(&r, messages[m].data, messages[m].size, &header));
		REQUIRE(header.kind == LB_FEED_CHANGES &&
				header.database == c->header.database && header.since == 0);
		while ((next = lb_feed_next_board(&r, &board)) == LB_FEED_NEXT)
		{
			Entry		entry;

			if (at < 0 || !same_board(&board, &c->boards[at]) ||
				e == c->nentries || c->entries[e].board != at)
				at++;
			REQUIRE(at < c->nboards && same_board(&board, &c->boards[at]));
			off_board[at] += board.off_board;
			while ((next = lb_feed_next_entry(&r, entry.old, &entry.nold,
											  entry.new, &entry.nnew,
											  &entry.rows)) == LB_FEED_NEXT)
			{
				const Entry *wanted = &c->entries[e++];

				REQUIRE(e <= c->nentries && wanted->board == at);
				REQUIRE(wanted->nold == entry.nold && wanted->nnew == entry.nnew);
				REQUIRE(wanted->rows == entry.rows);
				REQUIRE(lb_words_cmp(wanted->old, entry.old, entry.nold) == 0);
				REQUIRE(lb_words_cmp(wanted->new, entry.new, entry.nnew) == 0);
				operations++;
			}
			REQUIRE(next == LB_FEED_END);
		}
		REQUIRE(next == LB_FEED_END);
	}
	REQUIRE(e == c->nentries && at == c->nboards - 1);
	for (int i = 0; i < c->nboards; i++)
		REQUIRE(off_board[i] == c->boards[i].off_board);
	return true;
}

/* Read whatever there is: nothing outside of it, and to an end. */
static bool
read_anything(const uint8 *data, Size size)
{
	/* So that the sanitizer sees what is read behind its end. */
	uint8	   *copy = allocate(size);
	LbFeedReader r;
	LbFeedHeader header;
	Size		n = 0;

	memcpy(copy, data, size);
	if (lb_feed_read(&r, copy, size, &header) &&
		header.kind == LB_FEED_CHANGES)
	{
		LbFeedBoard board;
		LbFeedNext	next = LB_FEED_NEXT;

		while (next != LB_FEED_BROKEN &&
			   (next = lb_feed_next_board(&r, &board)) == LB_FEED_NEXT)
		{
			int64		old[LB_MAX_KEY_WORDS];
			int64		new[LB_MAX_KEY_WORDS];
			int			nold;
			int			nnew;
			int64		rows;

			REQUIRE(board.stride > 0 && board.stride <= LB_MAX_KEY_WORDS);
			REQUIRE(++n <= size);
			while ((next = lb_feed_next_entry(&r, old, &nold, new, &nnew, &rows)) == LB_FEED_NEXT)
			{
				REQUIRE(rows >= 0);
				REQUIRE(nold >= 0 && nold <= board.stride);
				REQUIRE(nnew >= 0 && nnew <= board.stride && nold + nnew > 0);
				REQUIRE(++n <= size);
			}
		}
	}
	else if (header.kind == LB_FEED_UNKNOWN)
	{
		LbFeedUnknown unknown;

		while (lb_feed_next_unknown(&r, &unknown) == LB_FEED_NEXT)
			REQUIRE(++n <= size);
	}
	operations++;
	free(copy);
	return true;
}

/* A message that has been cut off, or changed, or is no message. */
static bool
damage(const Message *message)
{
	uint8	   *data = allocate(message->size);
	bool		ok = true;

	memcpy(data, message->data, message->size);
	for (int i = 0; i < 20 && ok; i++)
	{
		Size		size = message->size;

		if (random_below(2))
			size = random_below((uint32) size + 1);
		else
			data[random_below((uint32) size)] = (uint8) next_random();
		ok = read_anything(data, size);
	}
	for (Size i = 2; i < message->size && ok; i++)
		data[i] = (uint8) (random_below(4) ? random_below(8) : next_random());
	ok = ok && read_anything(data, message->size);
	free(data);
	return ok;
}

static bool
test_messages(int steps)
{
	Changes    *c = allocate(sizeof(Changes));
	Message		messages[MAX_BOARDS + MAX_ENTRIES + 1];

	for (int i = 0; i < steps; i++)
	{
		bool		ok;
		int			n;

		random_changes(c);
		n = write_changes(c, messages,
						  random_below(2) ? LB_FEED_ROOM : 4096 + random_below(2000));
		ok = read_changes(c, messages, n);
		for (int m = 0; m < n; m++)
		{
			ok = ok && damage(&messages[m]);
			free(messages[m].data);
		}
		REQUIRE(ok);
	}
	free(c);
	return true;
}

static bool
test_other_messages(void)
{
	uint8		data[LB_FEED_ROOM];
	LbFeedWriter w;
	LbFeedReader r;
	LbFeedHeader header = {.kind = LB_FEED_HELLO,.since = UINT64CONST(0x123456789abcdef0)};
	LbFeedHeader got;
	LbFeedUnknown put[] = {
		{LB_FEED_DEFINITION, UINT32_MAX, 7}, {LB_FEED_SOURCE, 16384, 0},
		{LB_FEED_CATALOG, 1, 0}, {LB_FEED_DATABASE, 0, 0}
	};
	LbFeedUnknown unknown;
	int			n = 0;

	lb_feed_begin(&w, data, sizeof(data), &header);
	REQUIRE(lb_feed_read(&r, data, w.used, &got));
	REQUIRE(got.kind == LB_FEED_HELLO && got.since == header.since);
	REQUIRE(!lb_feed_read(&r, data, w.used - 1, &got));
	data[w.used] = 0;
	REQUIRE(!lb_feed_read(&r, data, w.used + 1, &got));
	data[0]++;
	REQUIRE(!lb_feed_read(&r, data, w.used, &got));

	header.kind = LB_FEED_BYE;
	lb_feed_begin(&w, data, sizeof(data), &header);
	REQUIRE(lb_feed_read(&r, data, w.used, &got) && got.kind == LB_FEED_BYE);
	REQUIRE(!lb_feed_read(&r, data, 0, &got));

	header.kind = LB_FEED_UNKNOWN;
	header.database = 5;
	header.xid = 4000000000U;
	lb_feed_begin(&w, data, sizeof(data), &header);
	while (lb_feed_put_unknown(&w, &put[n % 4]))
		n++;
	REQUIRE(n > LB_FEED_ROOM / 20 && w.used <= sizeof(data));
	REQUIRE(lb_feed_read(&r, data, w.used, &got));
	REQUIRE(got.kind == LB_FEED_UNKNOWN && got.database == 5 &&
			got.xid == header.xid);
	for (int i = 0; i < n; i++)
	{
		REQUIRE(lb_feed_next_unknown(&r, &unknown) == LB_FEED_NEXT);
		REQUIRE(unknown.scope == put[i % 4].scope &&
				unknown.oid == put[i % 4].oid && unknown.id == put[i % 4].id);
	}
	REQUIRE(lb_feed_next_unknown(&r, &unknown) == LB_FEED_END);
	return true;
}

/* What an UPDATE of the default table takes. */
static bool
test_bytes(void)
{
	uint8		data[1024];
	LbFeedWriter w;
	LbFeedHeader header = {.kind = LB_FEED_CHANGES,.database = 16384};
	LbFeedBoard board = {.catalog = 16500,.id = 1,.fingerprint = (uint32) next_random(),.stride = 3,.value = ""};
	int64		old[3] = {-123456, INT64_C(828000000000000), 1234567};
	int64		new[3] = {-123656, INT64_C(828000003600000), 1234567};

	lb_feed_begin(&w, data, sizeof(data), &header);
	REQUIRE(lb_feed_put_board(&w, &board));
	REQUIRE(lb_feed_put_entry(&w, old, 3, new, 3, 0));
	lb_feed_put_end(&w);
	REQUIRE(w.used <= 50);
	return true;
}

/*--------------------------------------------------------------------------
 * States
 *--------------------------------------------------------------------------
 */

/* A primary that feeds or does not, and what a standby makes of that. */
typedef struct Pair
{
	bool		library;		/* of this life of the primary */
	bool		feeds;
	bool		whole;			/* since this life has begun */
	bool		missed;			/* a change that the standby has never seen */
	LbFeedState state;
} Pair;

static void
meet(Pair *p, LbFeedEvent event)
{
	LbFeedStep	step = lb_feed_step(p->state, event);

	p->state = step.state;
	/* Boards are built again, with all that had ended before. */
	if (step.unknown)
		p->missed = false;
}

static bool
test_states(int steps)
{
	Pair		p = {true, true, true, true, LB_STALE};
	int64		complete = 0;

	for (int i = 0; i < steps; i++)
	{
		switch (random_below(12))
		{
			case 0:
				meet(&p, LB_LIFE_ENDS);
				p.library = random_below(4) > 0;
				p.feeds = p.whole = p.library && random_below(4) > 0;
				break;
			case 1:
				if (p.library && !p.feeds)
				{
					p.feeds = true;
					meet(&p, LB_HELLO_XID);
					REQUIRE(p.state == LB_FOLLOWING);
				}
				break;
			case 2:
				if (p.feeds)
				{
					meet(&p, LB_BYE);
					p.feeds = p.whole = false;
				}
				break;
			case 3:
			case 4:
				if (p.feeds)
				{
					meet(&p, p.whole ? LB_HELLO_LIFE : LB_HELLO_XID);
					REQUIRE(p.state == LB_FOLLOWING);
				}
				break;
			case 5:
				/* The standby starts. */
				if (random_below(10) == 0)
				{
					p.state = LB_STALE;
					p.missed = true;
				}
				break;
			default:
				p.missed |= !p.feeds;
				meet(&p, LB_XACT_ENDS);
				break;
		}
		REQUIRE(!(lb_feed_is_complete(p.state) && p.missed));
		complete += lb_feed_is_complete(p.state);
		operations++;
	}
	REQUIRE(complete > steps / 10);
	return true;
}

void
run_feed_tests(void)
{
	report("feed: messages", test_messages(short_run ? 200 : 3000));
	report("feed: other messages", test_other_messages());
	report("feed: bytes of an UPDATE", test_bytes());
	report("feed: states", test_states(short_run ? 100000 : 3000000));
}
