/*-------------------------------------------------------------------------
 *
 * as_owner.h
 *	  Statements on a user's table, with the rights of its owner.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_AS_OWNER_H
#define LB_AS_OWNER_H

#include "boards/definition.h"
#include "sql/args.h"

/*
 * Run a statement on a board's source with the rights of the source's owner,
 * as a security-restricted operation.  Rows that policies hide from the owner,
 * by FORCE ROW LEVEL SECURITY, are left out unless all_rows is set.  Between
 * SPI_connect and SPI_finish; raises what the statement raises.
 */
extern uint64 lb_run_as_owner(const LbDefinition *defn, bool all_rows,
							  const char *sql, int nargs, const LbArg *args);

/*
 * The same for an UPDATE or a DELETE of the source: its deferred constraints
 * are set IMMEDIATE before.
 */
extern uint64 lb_write_as_owner(const LbDefinition *defn, bool all_rows,
								const char *sql, int nargs, const LbArg *args);

/*
 * Whether the current user, who has the rights of the source's owner, is
 * another role.
 */
extern bool lb_is_guest(const LbDefinition *defn);

/*
 * Run an UPDATE or a DELETE for a caller with the rights of the source's
 * owner: as the owner's own statement if the owner is the caller, else by
 * lb_write_as_owner(), without policies if none apply to the caller.
 */
extern uint64 lb_write_for_owner(const LbDefinition *defn, const char *sql,
								 int nargs, const LbArg *args);

/*
 * Raise 42501, with why as the detail, if policies can keep rows from
 * lb_write_for_owner().
 */
extern void lb_require_all_rows(const LbDefinition *defn, const char *why);

#endif							/* LB_AS_OWNER_H */
