/*-------------------------------------------------------------------------
 *
 * user.h
 *	  The role and the settings that code runs with for a while.
 *
 * Nothing here needs undoing after an error: the end of the transaction or
 * subtransaction does that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_USER_H
#define LB_USER_H

#include "postgres.h"

/* The role and the settings before the switch to another role. */
typedef struct LbUser
{
	Oid			user;
	int			context;
	int			nestlevel;		/* of settings */
} LbUser;

/*
 * Make a setting until the current nest level of settings ends.  Raises if the
 * value cannot be set.
 */
extern void lb_set_locally(const char *name, const char *value);

/*
 * Make search_path pg_catalog, pg_temp, and standard_conforming_strings on,
 * until AtEOXact_GUC() ends the nest level that this returns.  The text of an
 * expression is written and read with these.
 */
extern int	lb_pin_search_path(void);

/*
 * Switch to another role, with these flags of a security context added, and
 * begin a nest level of settings.
 */
extern void lb_switch_user(LbUser *saved, Oid user, int context);

/* Undo that, and end the nest level. */
extern void lb_restore_user(const LbUser *saved);

#endif							/* LB_USER_H */
