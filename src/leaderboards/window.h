/*-------------------------------------------------------------------------
 *
 * window.h
 *	  Windows: boards of a leaderboard's family that begin and end by the
 *	  calendar.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WINDOW_H
#define LB_WINDOW_H

#include "leaderboards/calendar.h"
#include "util/compat.h"

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

/*
 * A row of lb_window.  Valid to the end of the transaction; it says what is
 * recorded now until the next invalidation.
 */
typedef struct LbWindow
{
	LbCalendar	calendar;
	LbOp		op;
	Interval	keep;			/* how long its rows stay after its end */
	Interval	late;			/* how long it is written to after its end */
	int			archive_top;	/* how many places are archived; -1 is all */
	bool		is_open;

	/* The span of the last call: most submits are for the same one. */
	bool		has_last;
	LbSpan		last;
	bool		has_closes;
	TimestampTz closes;			/* of that */
} LbWindow;

/*
 * All recorded windows, in the order of their names.  The array belongs to the
 * cache, and is valid to the end of the transaction.  Can raise.
 */
extern int	lb_windows(LbWindow ***windows);

/* The recorded window of that name, or NULL.  Can raise. */
extern LbWindow *lb_window_find(const char *name, int len);

/* Raise 42704: there is no such window.  A null hint is the common one. */
pg_noreturn extern void lb_window_not_found(const char *name,
											const char *hint);

/* As lb_calendar_span(); remembers the span. */
extern bool lb_window_span(LbWindow *window, TimestampTz at, int back,
						   LbSpan *span);

/*
 * The recorded window that a key is of, with the span; NULL if there is none.
 * Can raise.
 */
extern LbWindow *lb_window_of_key(const char *key, int len, LbSpan *span);

/*
 * When a span is closed, so that submits write to it no more, and when its
 * rows are removed.  Raise 22008 if that is beyond what a timestamp can be.
 */
extern TimestampTz lb_window_closes(LbWindow *window, const LbSpan *span);
extern TimestampTz lb_window_goes(const LbWindow *window, const LbSpan *span);

/*
 * The key that a name without a colon, such as "daily" or "daily-1", means
 * now, palloc'd.  NULL if it is no window's.
 */
extern char *lb_window_alias(const char *name, int len, int *keylen);

/* _PG_init: have names of windows lead to their boards. */
extern void lb_leaderboards_init(void);

/* The op that a text names; raises 22023, with more at the end of its hint. */
extern LbOp lb_op_from_text(const char *s, const char *more);

/* And back. */
extern const char *lb_op_name(LbOp op);

/*
 * What windows of a leaderboard with this operation do by default: the day's
 * best is not the change of the best of all time.
 */
static inline LbOp
lb_window_default_op(LbOp op)
{
	return op == LB_OP_INCR ? LB_OP_CHANGE : op;
}

#endif							/* LB_WINDOW_H */
