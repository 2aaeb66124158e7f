/*-------------------------------------------------------------------------
 *
 * gather.h
 *	  Calls of read functions for rows of distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_GATHER_H
#define LB_GATHER_H

#include "nodes/parsenodes.h"

/*
 * Returns a query with the same rows that calls the read functions of distributed boards
 * where Citus does not send them to shards: a changed copy, or the query itself.  Raises
 * what a catalog lookup raises.  Needs no lock.
 */
extern Query *lb_gather_calls(Query *query);

/*
 * If an error that has been caught is Citus's that shards cannot be asked from a shard,
 * raise 0A000 instead, with what to do.
 */
extern void lb_explain_nested(const ErrorData *error);

#endif							/* LB_GATHER_H */
