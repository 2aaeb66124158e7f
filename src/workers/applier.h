/*-------------------------------------------------------------------------
 *
 * applier.h
 *	  The process that brings changes into the indexes of large boards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_APPLIER_H
#define LB_APPLIER_H

#include "boards/board.h"

/* Setting: whether there is to be one. */
extern bool lb_applier;

/* Whether somebody is there to be asked.  Needs no lock. */
static inline bool
lb_applier_is_there(void)
{
	return pg_atomic_read_u32(&lb_shared->applier_pid) != 0;
}

/*
 * Whether the applier has been asked to look at stripe n of a definition, and has
 * not begun to.  Needs the stripe's exclusive lock, without which nobody asks.
 */
static inline bool
lb_is_asked(LbSharedBoard *shared, int n)
{
	return (pg_atomic_read_u32(&shared->asked) & (1U << n)) != 0;
}

/*
 * Ask it.  Returns whether it is to be woken, by lb_wake_applier(), which needs no
 * lock and is better done without.  Asking needs the stripe's exclusive lock.
 * Neither raises or allocates: both are called after the commit record.
 */
extern bool lb_ask_applier(LbSharedBoard *shared, int n);
extern void lb_wake_applier(void);

/* Entry point of the process. */
extern PGDLLEXPORT void lb_applier_main(Datum arg);

#endif							/* LB_APPLIER_H */
