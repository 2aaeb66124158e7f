/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  Windows that players join: lb_entry.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ENTRY_H
#define LB_ENTRY_H

#include "storage/lockdefs.h"

#include "boards/definition.h"
#include "leaderboards/window.h"

/* A row of lb_entry.  Valid to the end of the transaction. */
typedef struct LbEntry
{
	char		name[LB_MAX_WINDOW_NAME + 1];	/* of the window */
	bool		has_max;
	int64		max;			/* how many can join a span */
	Interval   *opens;			/* from a span's start, or NULL */
	Interval   *closes;
} LbEntry;

/*
 * Whether players join any window.  Can raise, as the next one; both say what
 * is recorded now until the next invalidation.
 */
extern bool lb_has_entries(void);

/* The row of a window, or NULL if players do not join it. */
extern const LbEntry *lb_entry_find(const char *name);

/*
 * The recorded window that a name or a key means now, and its span.  Raises
 * 42704 if there is none.
 */
extern LbWindow *lb_require_window(const char *board, LbSpan *span);

/*
 * When players can join a span: from *opens on and before *closes, each of
 * which may be infinite.  Raises 22008 if that is beyond what a timestamp can
 * be.
 */
extern void lb_entry_times(const LbEntry *entry, const LbSpan *span,
						   TimestampTz *opens, TimestampTz *closes);

/*
 * Lock what one of the extension's tables, lb_entrant or lb_entry, has of a
 * player or a window, a text, be there rows or not.  Players are locked in
 * RowExclusiveLock to join and leave windows, or in ExclusiveLock against
 * that.  To the end of the transaction; can raise.
 */
extern void lb_lock_entries_of(const char *table, Datum name, LOCKMODE mode);

#endif							/* LB_ENTRY_H */
