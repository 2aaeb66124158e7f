/*-------------------------------------------------------------------------
 *
 * format.h
 *	  Messages of the feed: what standbys read in WAL.
 *
 * A message has bytes only, in an order that no machine's byte order changes.
 * Numbers take fewer bytes the smaller they are: seven bits each (LEB128);
 * signed ones alternate (0, -1, 1, -2, ...).
 *
 * This file includes no header of PostgreSQL, as those of index/ do: the unit
 * tests compile it too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_FEED_FORMAT_H
#define LB_FEED_FORMAT_H

#include "index/shape.h"

/* The prefix of our logical messages, which are in no database. */
#define LB_FEED_PREFIX "lb"

/* A server does not read messages of another version. */
#define LB_FEED_VERSION 1

/*
 * The most bytes of a message; a transaction may write several.  There is room
 * for a board, and for the longest entry behind it.
 */
#define LB_FEED_ROOM 8192

typedef enum LbFeedKind
{
	LB_FEED_CHANGES = 'C',		/* a transaction's changes of boards */
	LB_FEED_UNKNOWN = 'U',		/* it has changes that are not known */
	LB_FEED_HELLO = 'H',		/* the primary feeds */
	LB_FEED_BYE = 'B'			/* it will no longer */
} LbFeedKind;

/* Flags of a board. */
#define LB_FEED_NEGATIVE_ZERO 1 /* some row has had a -0 */
#define LB_FEED_TEXTS 2			/* keys are not all of the same length */

/*
 * A board of CHANGES.  Its entries follow.  A board whose entries do not fit
 * into one message comes again in the next, with off_board 0.
 */
typedef struct LbFeedBoard
{
	uint32		catalog;		/* OID of lb_board */
	uint32		id;				/* lb_board.id */
	uint32		fingerprint;	/* of the definition */
	uint8		flags;
	uint8		stride;			/* words of its longest key */
	uint16		value_len;		/* of the board column; 0: no family */
	const char *value;			/* in the message */
	int64		off_board;		/* rows off the board, more or less */
} LbFeedBoard;

/* What UNKNOWN is about. */
typedef enum LbFeedScope
{
	LB_FEED_DEFINITION = 'D',	/* a catalog's OID and an id */
	LB_FEED_SOURCE = 'S',		/* a table's OID */
	LB_FEED_CATALOG = 'C',		/* a catalog's OID */
	LB_FEED_DATABASE = 'A'		/* nothing: some database was dropped */
} LbFeedScope;

typedef struct LbFeedUnknown
{
	LbFeedScope scope;
	uint32		oid;			/* 0 for a database */
	uint32		id;				/* 0 but for a definition */
} LbFeedUnknown;

/* What a message begins with. */
typedef struct LbFeedHeader
{
	LbFeedKind	kind;
	uint32		database;		/* of CHANGES and UNKNOWN, else 0 */
	uint32		xid;			/* of UNKNOWN, top-level; else 0.  CHANGES has
								 * that of its record */
	uint64		since;			/* HELLO: the full xid from which on it feeds,
								 * or 0: since the server has started; else 0 */
} LbFeedHeader;

/* ----------------------------------------------------------------
 *		Writing
 *
 * Each function that puts something returns false, and puts nothing, if the
 * message has no room for it.  None raises.
 * ----------------------------------------------------------------
 */

typedef struct LbFeedWriter
{
	uint8	   *data;
	Size		room;
	Size		used;
	const LbFeedBoard *board;	/* whose entries are being put */
	int64		base[LB_MAX_KEY_WORDS]; /* the last key */
} LbFeedWriter;

/* Begin a message in a place of at least LB_FEED_LEAST bytes. */
#define LB_FEED_LEAST 32
extern void lb_feed_begin(LbFeedWriter *writer, uint8 *data, Size room,
						  const LbFeedHeader *header);

/*
 * Put a board, which must live until its end is put; then entries, an old key,
 * a new key or both, of so many words, and a number of rows, not below 0; then
 * its end, for which there is always room.
 */
extern bool lb_feed_put_board(LbFeedWriter *writer, const LbFeedBoard *board);
extern bool lb_feed_put_entry(LbFeedWriter *writer, const int64 *old, int nold,
							  const int64 *new, int nnew, int64 rows);
extern void lb_feed_put_end(LbFeedWriter *writer);

extern bool lb_feed_put_unknown(LbFeedWriter *writer,
								const LbFeedUnknown *unknown);

/* ----------------------------------------------------------------
 *		Reading
 *
 * The bytes may be anything.  Nothing is read outside of them, and what is
 * returned is within the limits of this file; whether keys have the form of
 * the board's is for the caller to find out (lb_is_key).  None raises.
 * ----------------------------------------------------------------
 */

typedef enum LbFeedNext
{
	LB_FEED_NEXT,				/* here is one */
	LB_FEED_END,				/* there are no more */
	LB_FEED_BROKEN				/* the bytes are no message */
} LbFeedNext;

typedef struct LbFeedReader
{
	const uint8 *at;
	const uint8 *end;
	bool		texts;
	int			stride;
	int64		base[LB_MAX_KEY_WORDS];
} LbFeedReader;

/* Read the beginning of a message.  Returns false if it is broken. */
extern bool lb_feed_read(LbFeedReader *reader, const uint8 *data, Size size,
						 LbFeedHeader *header);

/* The next board of CHANGES, after the end of the one before. */
extern LbFeedNext lb_feed_next_board(LbFeedReader *reader, LbFeedBoard *board);

/*
 * The next entry of a board.  The keys go to places of LB_MAX_KEY_WORDS words;
 * nold or nnew is 0 if there is no such key.  *rows is 0 unless the message
 * has a number of them.
 */
extern LbFeedNext lb_feed_next_entry(LbFeedReader *reader,
									 int64 *old, int *nold,
									 int64 *new, int *nnew, int64 *rows);

/* The next one of UNKNOWN. */
extern LbFeedNext lb_feed_next_unknown(LbFeedReader *reader,
									   LbFeedUnknown *unknown);

#endif							/* LB_FEED_FORMAT_H */
