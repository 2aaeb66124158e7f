/*-------------------------------------------------------------------------
 *
 * functions.h
 *	  The read functions that other code calls, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_FUNCTIONS_H
#define LB_FUNCTIONS_H

#include "reads/call.h"

extern const LbReadFunction lb_rank_function;
extern const LbReadFunction lb_top_function;
extern const LbReadFunction lb_page_function;
extern const LbReadFunction lb_ranks_function;

/* Define the settings of this folder; from _PG_init. */
extern void lb_reads_init(void);

#endif							/* LB_FUNCTIONS_H */
