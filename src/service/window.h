/*-------------------------------------------------------------------------
 *
 * window.h
 *	  Windows: boards of the family "*" that begin and end by the calendar.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WINDOW_H
#define LB_WINDOW_H

#include "datatype/timestamp.h"
#include "pgtime.h"

#include "storage/lockdefs.h"

#include "boards/board.h"

/* The longest name of a window, and so roughly of a window's key, in bytes. */
#define LB_MAX_WINDOW_NAME 200
#define LB_MAX_WINDOW_KEY (LB_MAX_WINDOW_NAME + 16)

typedef enum LbPeriod
{
	LB_ONCE,					/* has a start and an end of its own */
	LB_HOURLY,
	LB_DAILY,
	LB_WEEKLY,
	LB_MONTHLY
} LbPeriod;

/* What a submit does to a score. */
typedef enum LbOp
{
	LB_OP_CHANGE,				/* of a window: what "global" has got */
	LB_OP_INCR,
	LB_OP_SET,
	LB_OP_BEST,
	LB_OP_WORST,
	LB_NOPS
} LbOp;

/* One window of a kind: the day, the week, the tournament. */
typedef struct LbSpan
{
	char		key[LB_MAX_WINDOW_KEY + 1];
	TimestampTz starts;
	TimestampTz ends;			/* the first moment that is not in it */
} LbSpan;

/*
 * A row of lb_window.  Valid to the end of the transaction, and as what is
 * recorded now until the next invalidation.
 */
typedef struct LbWindow
{
	char		name[LB_MAX_WINDOW_NAME + 1];
	LbPeriod	period;
	char	   *time_zone;
	pg_tz	   *tz;				/* NULL if there is no such time zone */
	int			first_day;		/* of a week: 1 is Monday */
	TimestampTz starts;			/* of LB_ONCE */
	TimestampTz ends;
	LbOp		op;
	Interval	keep;			/* how long its rows stay after its end */
	Interval	late;			/* how long it is written to after its end */
	int			archive_top;	/* how many places are archived; -1 is all */
	bool		is_open;

	/* The span asked for last, if there is one: submits come for today. */
	bool		has_last;
	LbSpan		last;
	bool		has_closes;
	TimestampTz closes;			/* of that */
} LbWindow;

/*
 * All recorded windows, in the order of their names.  The array is the
 * cache's, valid until the next invalidation.  Can raise.
 */
extern int	lb_windows(LbWindow ***windows);

/* The recorded window of that name, or NULL.  Can raise. */
extern LbWindow *lb_window_find(const char *name, int len);

/*
 * The window that contains a moment, back (0 is that one, 1 the one before).
 * False if there is none, which is so of LB_ONCE only.  Raises 22008 where the
 * calendar ends.
 */
extern bool lb_window_span(LbWindow *window, TimestampTz at, int back,
						   LbSpan *span);

/*
 * The kind of window and the span that a key stands for; NULL if it is none
 * that is recorded.
 */
extern LbWindow *lb_window_of_key(const char *key, int len, LbSpan *span);

/* When a span is written to no more, and when its rows go. */
extern TimestampTz lb_window_closes(LbWindow *window, const LbSpan *span);
extern TimestampTz lb_window_goes(const LbWindow *window, const LbSpan *span);

/*
 * The key that a name without a colon, such as "daily" or "daily-1", means
 * now, palloc'd.  NULL if it is no window's.
 */
extern char *lb_window_alias(const char *name, int len, int *keylen);

/*
 * Lock a key against being closed (RowExclusiveLock), or to close it
 * (ExclusiveLock), to the end of the transaction.  Waits; can raise.
 */
extern void lb_window_lock(const char *key, int len, LOCKMODE mode);

/* The same without waiting for long.  Returns whether it was to be had. */
extern bool lb_window_try_lock(const char *key, int len, LOCKMODE mode);

/*
 * Whether a key has been closed, in the newest state of the database.  The
 * key must be locked for the answer to last.
 */
extern bool lb_window_is_closed(const char *key, int len);

/*
 * The same of a key that the transaction has locked, which is remembered to be
 * open from one transaction to the next.
 */
extern bool lb_window_locked_is_closed(const char *key, int len);

/*
 * Keep others from recording a board or a window whose name could be taken for
 * this one, to the end of the transaction; after it, what they have recorded
 * before is known.  Who has recorded two that clash would not have seen each
 * other: they are in two tables.
 */
extern void lb_window_lock_name(const char *name);

/*
 * Raise 42710 if a board of that name would be found where a recorded window is
 * meant: one of the window's name, or of one that counts back from it, or a
 * family that its key seems to be of.
 */
extern void lb_window_check_board(const char *board, bool family);

/*
 * The family "*" is gone, or is another table's: remove all windows.  Between
 * SPI_connect and SPI_finish; can raise.
 */
extern void lb_windows_end(void);

/*
 * The family "*" has been made: keys can be used again that an earlier one had
 * closed, but not those whose final standings are of the same table or owner.
 * Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_windows_begin(const LbDefinition *family);

/*
 * Raise 22023 if an interval is negative in any part, or 22008 if it reaches
 * from the last of windows beyond what a timestamp can be.
 */
extern void lb_check_interval(const char *name, const Interval *interval);

/* The op that a text names; raises 22023.  change is allowed for windows. */
extern LbOp lb_op_from_text(const char *s);

/* A relation's cache entry was invalidated; InvalidOid is all. */
extern void lb_window_invalidate(Oid relid);

/* End of transaction: forget what earlier invalidations left behind. */
extern void lb_window_at_xact_end(void);

#endif							/* LB_WINDOW_H */
