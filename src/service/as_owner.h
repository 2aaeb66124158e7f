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

/*
 * Run a statement on a board's source with the rights of the source's owner,
 * as a security-restricted operation.  Rows that policies hide from the owner,
 * by FORCE ROW LEVEL SECURITY, are left out unless all_rows is set.  Between
 * SPI_connect and SPI_finish; raises what the statement raises.
 */
extern uint64 lb_run_as_owner(const LbDefinition *defn, bool all_rows,
							  const char *sql, int nargs, const Oid *types,
							  Datum *values);

/*
 * The same for an UPDATE or a DELETE of the source: its deferred constraints
 * are set IMMEDIATE before.
 */
extern uint64 lb_write_as_owner(const LbDefinition *defn, bool all_rows,
								const char *sql, int nargs, const Oid *types,
								Datum *values);

#endif							/* LB_AS_OWNER_H */
