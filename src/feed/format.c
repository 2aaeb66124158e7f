/*-------------------------------------------------------------------------
 *
 * format.c
 *	  Messages of the feed: what standbys read in WAL.
 *
 *	message		version, kind, and
 *	  CHANGES	database, boards
 *	  UNKNOWN	database, xid, scopes
 *	  HELLO		since
 *	board		BOARD, catalog, id, fingerprint, flags, stride, length of
 *				value, value, off_board, entries, END
 *	entry		which keys, and whether rows; rows; keys
 *	key			with texts: the number of words; words
 *
 * A word is the difference from the same word of the key before: the old key
 * for the new one, else the last key of the entry before.  The words of the
 * member, which are the same in both keys, so take a byte each, as does a
 * score that changes a little.
 *
 *-------------------------------------------------------------------------
 */
#include "feed/format.h"

/* What follows: a board, or in it an entry of these keys, or its end. */
#define END 0
#define HAS_OLD 1
#define HAS_NEW 2
#define BOARD 4
#define HAS_ROWS 8

/* The most bytes of a number. */
#define NUMBER_BYTES 10

/* The most bytes of a board without its value. */
#define BOARD_BYTES (3 + 4 + 4 * NUMBER_BYTES)

/* ----------------------------------------------------------------
 *		Numbers
 * ----------------------------------------------------------------
 */

static inline uint64
zigzag(uint64 word)
{
	return (word << 1) ^ (0 - (word >> 63));
}

static inline uint64
unzigzag(uint64 number)
{
	return (number >> 1) ^ (0 - (number & 1));
}

/* There must be room for NUMBER_BYTES. */
static void
put_number(LbFeedWriter *w, uint64 number)
{
	while (number >= 0x80)
	{
		w->data[w->used++] = (uint8) (number | 0x80);
		number >>= 7;
	}
	w->data[w->used++] = (uint8) number;
}

/* A number of any size, in so many bytes. */
static void
put_fixed(LbFeedWriter *w, uint64 number, int bytes)
{
	for (int i = 0; i < bytes; i++)
		w->data[w->used++] = (uint8) (number >> (8 * i));
}

static inline bool
read_byte(LbFeedReader *r, uint8 *byte)
{
	if (r->at == r->end)
		return false;
	*byte = *r->at++;
	return true;
}

/* A number of more than one byte, up to max. */
static bool
read_long_number(LbFeedReader *r, uint64 max, uint64 *number)
{
	uint8		byte;

	*number = 0;
	for (int shift = 0; shift < 64; shift += 7)
	{
		if (!read_byte(r, &byte))
			return false;
		/* The tenth byte has one bit. */
		if (shift == 63 && byte > 1)
			return false;
		*number |= (uint64) (byte & 0x7f) << shift;
		if (byte < 0x80)
			return *number <= max;
	}
	return false;
}

/* A number up to max, which is 127 at least. */
static inline bool
read_number(LbFeedReader *r, uint64 max, uint64 *number)
{
	if (r->at < r->end && *r->at < 0x80)
	{
		*number = *r->at++;
		return true;
	}
	return read_long_number(r, max, number);
}

static bool
read_uint32(LbFeedReader *r, uint32 *number)
{
	uint64		n;

	if (!read_number(r, UINT32_MAX, &n))
		return false;
	*number = (uint32) n;
	return true;
}

static bool
read_fixed(LbFeedReader *r, int bytes, uint64 *number)
{
	if (r->end - r->at < bytes)
		return false;
	*number = 0;
	for (int i = 0; i < bytes; i++)
		*number |= (uint64) *r->at++ << (8 * i);
	return true;
}

/* ----------------------------------------------------------------
 *		Writing
 * ----------------------------------------------------------------
 */

void
lb_feed_begin(LbFeedWriter *w, uint8 *data, Size room,
			  const LbFeedHeader *header)
{
	Assert(room >= LB_FEED_LEAST);
	w->data = data;
	w->room = room;
	w->used = 0;
	w->board = NULL;
	data[w->used++] = LB_FEED_VERSION;
	data[w->used++] = (uint8) header->kind;
	switch (header->kind)
	{
		case LB_FEED_CHANGES:
			put_number(w, header->database);
			break;
		case LB_FEED_UNKNOWN:
			put_number(w, header->database);
			put_number(w, header->xid);
			break;
		case LB_FEED_HELLO:
			put_fixed(w, header->since, 8);
			break;
		case LB_FEED_BYE:
			break;
	}
}

/* Whether so many bytes fit, and behind them the end of a board. */
static bool
has_room(const LbFeedWriter *w, Size bytes)
{
	return w->room - w->used > bytes;
}

bool
lb_feed_put_board(LbFeedWriter *w, const LbFeedBoard *board)
{
	Assert(w->board == NULL);
	if (!has_room(w, BOARD_BYTES + board->value_len))
		return false;
	w->data[w->used++] = BOARD;
	put_number(w, board->catalog);
	put_number(w, board->id);
	put_fixed(w, board->fingerprint, 4);
	w->data[w->used++] = board->flags;
	w->data[w->used++] = board->stride;
	put_number(w, board->value_len);
	memcpy(w->data + w->used, board->value, board->value_len);
	w->used += board->value_len;
	put_number(w, zigzag((uint64) board->off_board));
	w->board = board;
	memset(w->base, 0, board->stride * sizeof(int64));
	return true;
}

static void
put_key(LbFeedWriter *w, const int64 *key, int n)
{
	Assert(n > 0 && n <= w->board->stride);
	if (w->board->flags & LB_FEED_TEXTS)
		w->data[w->used++] = (uint8) n;
	else
		Assert(n == w->board->stride);
	for (int i = 0; i < n; i++)
	{
		put_number(w, zigzag((uint64) key[i] - (uint64) w->base[i]));
		w->base[i] = key[i];
	}
}

bool
lb_feed_put_entry(LbFeedWriter *w, const int64 *old, int nold,
				  const int64 *new, int nnew, int64 rows)
{
	Assert(nold + nnew > 0 && rows >= 0);
	if (!has_room(w, 3 + (Size) (1 + nold + nnew) * NUMBER_BYTES))
		return false;
	w->data[w->used++] = (nold > 0 ? HAS_OLD : 0) | (nnew > 0 ? HAS_NEW : 0) |
		(rows > 0 ? HAS_ROWS : 0);
	if (rows > 0)
		put_number(w, (uint64) rows);
	if (nold > 0)
		put_key(w, old, nold);
	if (nnew > 0)
		put_key(w, new, nnew);
	return true;
}

void
lb_feed_put_end(LbFeedWriter *w)
{
	Assert(w->board != NULL && w->used < w->room);
	w->data[w->used++] = END;
	w->board = NULL;
}

bool
lb_feed_put_unknown(LbFeedWriter *w, const LbFeedUnknown *unknown)
{
	if (!has_room(w, 1 + 2 * NUMBER_BYTES))
		return false;
	w->data[w->used++] = (uint8) unknown->scope;
	if (unknown->scope != LB_FEED_DATABASE)
		put_number(w, unknown->oid);
	if (unknown->scope == LB_FEED_DEFINITION)
		put_number(w, unknown->id);
	return true;
}

/* ----------------------------------------------------------------
 *		Reading
 * ----------------------------------------------------------------
 */

bool
lb_feed_read(LbFeedReader *r, const uint8 *data, Size size,
			 LbFeedHeader *header)
{
	uint8		version;
	uint8		kind;

	memset(header, 0, sizeof(LbFeedHeader));
	r->at = data;
	r->end = data + size;
	r->texts = false;
	r->stride = 0;
	if (!read_byte(r, &version) || version != LB_FEED_VERSION ||
		!read_byte(r, &kind))
		return false;
	header->kind = (LbFeedKind) kind;
	switch (kind)
	{
		case LB_FEED_CHANGES:
			return read_uint32(r, &header->database);
		case LB_FEED_UNKNOWN:
			return read_uint32(r, &header->database) &&
				read_uint32(r, &header->xid);
		case LB_FEED_HELLO:
			return read_fixed(r, 8, &header->since) && r->at == r->end;
		case LB_FEED_BYE:
			return r->at == r->end;
	}
	return false;
}

/* Point to n bytes of the message. */
static bool
read_bytes(LbFeedReader *r, uint64 n, const char **bytes)
{
	if ((uint64) (r->end - r->at) < n)
		return false;
	*bytes = (const char *) r->at;
	r->at += n;
	return true;
}

static bool
read_board(LbFeedReader *r, LbFeedBoard *board)
{
	uint64		number;

	if (!read_uint32(r, &board->catalog) || !read_uint32(r, &board->id) ||
		!read_fixed(r, 4, &number))
		return false;
	board->fingerprint = (uint32) number;
	if (!read_byte(r, &board->flags) ||
		(board->flags & ~(LB_FEED_NEGATIVE_ZERO | LB_FEED_TEXTS)) != 0 ||
		!read_byte(r, &board->stride) ||
		board->stride == 0 || board->stride > LB_MAX_KEY_WORDS ||
		!read_number(r, UINT16_MAX, &number))
		return false;
	board->value_len = (uint16) number;
	if (!read_bytes(r, board->value_len, &board->value) ||
		!read_number(r, UINT64_MAX, &number))
		return false;
	board->off_board = (int64) unzigzag(number);
	return true;
}

LbFeedNext
lb_feed_next_board(LbFeedReader *r, LbFeedBoard *board)
{
	uint8		what;

	if (!read_byte(r, &what))
		return LB_FEED_END;
	if (what != BOARD || !read_board(r, board))
		return LB_FEED_BROKEN;
	r->texts = (board->flags & LB_FEED_TEXTS) != 0;
	r->stride = board->stride;
	memset(r->base, 0, board->stride * sizeof(int64));
	return LB_FEED_NEXT;
}

static bool
read_key(LbFeedReader *r, int64 *key, int *n)
{
	uint8		words = (uint8) r->stride;

	if (r->texts && !read_byte(r, &words))
		return false;
	if (words == 0 || words > r->stride)
		return false;
	for (int i = 0; i < words; i++)
	{
		uint64		number;

		if (!read_number(r, UINT64_MAX, &number))
			return false;
		key[i] = (int64) ((uint64) r->base[i] + unzigzag(number));
		r->base[i] = key[i];
	}
	*n = words;
	return true;
}

LbFeedNext
lb_feed_next_entry(LbFeedReader *r, int64 *old, int *nold, int64 *new,
				   int *nnew, int64 *rows)
{
	uint8		has;
	uint64		number = 0;

	*nold = *nnew = 0;
	if (!read_byte(r, &has))
		return LB_FEED_BROKEN;
	if (has == END)
		return LB_FEED_END;
	if ((has & ~(HAS_OLD | HAS_NEW | HAS_ROWS)) != 0 ||
		(has & (HAS_OLD | HAS_NEW)) == 0)
		return LB_FEED_BROKEN;
	if ((has & HAS_ROWS) && !read_number(r, INT64_MAX, &number))
		return LB_FEED_BROKEN;
	*rows = (int64) number;
	if (((has & HAS_OLD) && !read_key(r, old, nold)) ||
		((has & HAS_NEW) && !read_key(r, new, nnew)))
		return LB_FEED_BROKEN;
	return LB_FEED_NEXT;
}

LbFeedNext
lb_feed_next_unknown(LbFeedReader *r, LbFeedUnknown *unknown)
{
	uint8		scope;

	memset(unknown, 0, sizeof(LbFeedUnknown));
	if (!read_byte(r, &scope))
		return LB_FEED_END;
	unknown->scope = (LbFeedScope) scope;
	switch (scope)
	{
		case LB_FEED_DEFINITION:
			return read_uint32(r, &unknown->oid) &&
				read_uint32(r, &unknown->id) ? LB_FEED_NEXT : LB_FEED_BROKEN;
		case LB_FEED_SOURCE:
		case LB_FEED_CATALOG:
			return read_uint32(r, &unknown->oid) ? LB_FEED_NEXT : LB_FEED_BROKEN;
		case LB_FEED_DATABASE:
			return LB_FEED_NEXT;
	}
	return LB_FEED_BROKEN;
}
