/*-------------------------------------------------------------------------
 *
 * as_owner.c
 *	  Statements on a user's table, with the rights of its owner.
 *
 * Such a statement runs as a security-restricted operation, as VACUUM would
 * run the owner's functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "boards/distributed.h"
#include "leaderboards/as_owner.h"
#include "sql/spi.h"

uint64
lb_run_as_owner(const LbDefinition *defn, bool all_rows, const char *sql,
				int nargs, const LbArg *args)
{
	LbUser		saved;
	uint64		n;

	lb_switch_to_owner(&saved, defn->owner, all_rows);
	n = lb_exec_once(sql, defn->source, nargs, args);
	lb_restore_user(&saved);
	return n;
}

uint64
lb_write_as_owner(const LbDefinition *defn, bool all_rows, const char *sql,
				  int nargs, const LbArg *args)
{
	lb_check_at_once(defn);
	return lb_run_as_owner(defn, all_rows, sql, nargs, args);
}

bool
lb_is_guest(const LbDefinition *defn)
{
	return defn->owner != GetUserId();
}

uint64
lb_write_for_owner(const LbDefinition *defn, const char *sql, int nargs,
				   const LbArg *args)
{
	if (!lb_is_guest(defn))
		return lb_exec_once(sql, defn->source, nargs, args);
	return lb_write_as_owner(defn, has_bypassrls_privilege(GetUserId()), sql,
							 nargs, args);
}

void
lb_require_all_rows(const LbDefinition *defn, const char *why)
{
	/* The servers of a distributed table know the owner only. */
	if (lb_is_guest(defn) && has_bypassrls_privilege(GetUserId()) &&
		!lb_is_distributed(defn))
		return;
	if (check_enable_rls(defn->source, defn->owner, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security of table \"%s\" applies to its owner",
						get_rel_name(defn->source)),
				 errdetail_internal("%s", why),
				 errhint("Use ALTER TABLE ... NO FORCE ROW LEVEL SECURITY, or a role with BYPASSRLS.")));
}
