/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Rows of a board in its order, as long as they are asked for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCAN_H
#define LB_SCAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * If a board has the rows of a table of a query in an order that is useful to
 * the query, add paths for a scan in that order to rel, which has the others
 * by now.  Can raise what a catalog lookup can raise.
 */
extern void lb_add_scan_paths(PlannerInfo *root, RelOptInfo *rel);

/*
 * Scans that this backend has planned: it looks for those of a plan only if
 * there are.
 */
extern uint64 lb_scans_planned;

/* Whether a path is one of these. */
extern bool lb_is_scan(const Path *path);

#endif							/* LB_SCAN_H */
