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


#include "boards/spi.h"
#include "service/as_owner.h"

uint64
lb_run_as_owner(const LbDefinition *defn, bool all_rows, const char *sql,
				int nargs, const Oid *types, Datum *values)
{
	LbUser		saved;
	uint64		n;

	lb_switch_to_owner(&saved, defn->owner, all_rows);
	n = lb_run_once(sql, defn->source, nargs, types, values);
	lb_restore_user(&saved);
	return n;
}

uint64
lb_write_as_owner(const LbDefinition *defn, bool all_rows, const char *sql,
				  int nargs, const Oid *types, Datum *values)
{
	lb_check_at_once(defn);
	return lb_run_as_owner(defn, all_rows, sql, nargs, types, values);
}
