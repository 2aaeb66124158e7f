/*-------------------------------------------------------------------------
 *
 * gather_internal.h
 *	  What the files of gather.h share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_GATHER_INTERNAL_H
#define LB_GATHER_INTERNAL_H

#include "nodes/primnodes.h"

#include "citus/gather.h"

/* What the calls are looked for with. */
typedef struct LbSearch
{
	Oid			extension;
	Oid			schema;			/* of the extension */
	bool		inside;			/* of the arguments of a call */
	bool		fenced;			/* the query's calls have distributed
								 * subqueries */
} LbSearch;

/*
 * Whether it is a call of a read function, of a distributed board.  All of
 * these can raise what a catalog lookup can.
 */
extern bool lb_is_call(Node *node, const LbSearch *search);

/* Whether there is a call, not in subqueries.  context is an LbSearch. */
extern bool lb_has_call(Node *node, void *context);

/* Whether there is one anywhere in the query. */
extern bool lb_has_call_below(Node *node, void *context);

/* Whether there is a call for this query's rows, not in subqueries. */
extern bool lb_has_call_of_column(Node *node, void *context);

/* Whether there is an aggregate of this query in the arguments of a call. */
extern bool lb_calls_aggregate(Node *node, void *context);

/* Whether it reads a table that Citus knows. */
extern bool lb_reads_citus(Node *node);

/*
 * Whether it reads a distributed table: what reads no such table, Citus can
 * run here.
 */
extern bool lb_reads_shards(Node *node);

#endif							/* LB_GATHER_INTERNAL_H */
