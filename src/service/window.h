/*-------------------------------------------------------------------------
 *
 * window.h
 *	  Windows: boards of the family "*" that begin and end by the calendar.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WINDOW_H
#define LB_WINDOW_H

#include "service/calendar.h"

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

/* As lb_calendar_span(), which it asks unless it knows the span. */
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

/* _PG_init: have names of windows lead to their boards. */
extern void lb_window_init(void);

/* The op that a text names; raises 22023.  change is allowed for windows. */
extern LbOp lb_op_from_text(const char *s);

#endif							/* LB_WINDOW_H */
