/*-------------------------------------------------------------------------
 *
 * spi_internal.h
 *	  What the files of spi.h share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SPI_INTERNAL_H
#define LB_SPI_INTERNAL_H

#include "utils/snapshot.h"

#include "sql/spi.h"

/* Arguments, as SPI takes them. */
typedef struct LbSplitArgs
{
	int			n;
	Oid			types[LB_MOST_ARGS];
	Datum		values[LB_MOST_ARGS];
	char		nulls[LB_MOST_ARGS];
} LbSplitArgs;

/* Raises XX000 if there are more than LB_MOST_ARGS. */
extern void lb_split_args(LbSplitArgs *split, int nargs, const LbArg *args);

/*
 * The plan of lb_plan_exec(), for arguments of these types, which is kept if
 * kept->running is 0.  Raises as lb_prepare().
 */
extern SPIPlanPtr lb_kept_plan(LbPlan *kept, uint64 key, LbPlanText text,
							   const void *arg, Oid table,
							   const LbSplitArgs *args, int options);

/*
 * Run a plan, and count it in *running meanwhile: a trigger on the user's
 * table may call us again, which must not free the plan that fired it.  If
 * snapshot is InvalidSnapshot, one is taken now.  Returns the number of rows.
 * Raises what the statement raises, without the statement in its context.
 */
extern uint64 lb_run_prepared(SPIPlanPtr plan, int *running, LbSplitArgs *args,
							  Snapshot snapshot, bool read_only, Oid table);

#endif							/* LB_SPI_INTERNAL_H */
