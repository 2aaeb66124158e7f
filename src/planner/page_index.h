/*-------------------------------------------------------------------------
 *
 * page_index.h
 *	  Pages of a board that keeps counts, by an index of the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PAGE_INDEX_H
#define LB_PAGE_INDEX_H

#include "postgres.h"

#include "planner/match.h"

/*
 * As lb_add_page_path(), for one board of the query's table, which keeps
 * counts.  Returns whether the board has the page.  Can raise what a catalog
 * lookup can raise.
 */
extern bool lb_add_page_index_path(const LbSource *source, LbDefinition *defn,
								   const FinalPathExtraData *limit,
								   RelOptInfo *final);

#endif							/* LB_PAGE_INDEX_H */
