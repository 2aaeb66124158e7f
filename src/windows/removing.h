/*-------------------------------------------------------------------------
 *
 * removing.h
 *	  Removing the rows of closed windows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_REMOVING_H
#define LB_REMOVING_H

#include "boards/definition.h"
#include "windows/visit.h"

/*
 * Remove rows of closed windows that are not kept any longer, visit->max_rows
 * at most.  Keys that have a partition of their own are appended to *drops
 * instead, where a transaction goes on.  Returns whether the transaction
 * should end.  Between SPI_connect and SPI_finish; errors of a window are
 * logged.
 */
extern bool lb_remove_windows(LbVisit *visit, const LbDefinition *defn,
							  List **drops);

/*
 * Drop the partition of the first of these keys whose locks are granted.  The
 * last step of a transaction, which holds the lock on the table to its end.
 */
extern void lb_remove_partitions(LbVisit *visit, const LbDefinition *defn,
								 List *drops);

#endif							/* LB_REMOVING_H */
