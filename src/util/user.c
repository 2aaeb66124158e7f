/*-------------------------------------------------------------------------
 *
 * user.c
 *	  The role and the settings that code runs with for a while.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "util/user.h"

void
lb_set_locally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

int
lb_pin_search_path(void)
{
	int			nestlevel = NewGUCNestLevel();

	lb_set_locally("search_path", "pg_catalog, pg_temp");
	lb_set_locally("standard_conforming_strings", "on");
	return nestlevel;
}

void
lb_switch_user(LbUser *saved, Oid user, int context)
{
	GetUserIdAndSecContext(&saved->user, &saved->context);
	SetUserIdAndSecContext(user, saved->context | context);
	saved->nestlevel = NewGUCNestLevel();
}

void
lb_restore_user(const LbUser *saved)
{
	AtEOXact_GUC(false, saved->nestlevel);
	SetUserIdAndSecContext(saved->user, saved->context);
}
