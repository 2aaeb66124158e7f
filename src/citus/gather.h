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

/* Routines of LbDistributed: plan and explain. */
extern Query *lb_gather_calls(Query *query);
extern void lb_explain_nested(const ErrorData *error);

#endif							/* LB_GATHER_H */
