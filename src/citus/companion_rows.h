/*-------------------------------------------------------------------------
 *
 * companion_rows.h
 *	  Removing what limits have counted in companions of distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COMPANION_ROWS_H
#define LB_COMPANION_ROWS_H

#include "datatype/timestamp.h"

/* See LbDistributed.remove_usage. */
extern void lb_remove_usage(const char *leaderboard, const char *limit);

/*
 * Remove rows that lb_maintain() would remove from lb_usage, max_rows at most,
 * and none that another transaction has locked.  Returns how many, and sets
 * *more if there can be others.  Between SPI_connect and SPI_finish; raises
 * what Citus raises.
 */
extern int64 lb_trim_usage(const char *leaderboard, int max_rows, bool *more);

/* The same for rows of lb_anomaly that have been noted before this. */
extern int64 lb_trim_anomalies(const char *leaderboard, TimestampTz before,
							   int max_rows, bool *more);

#endif							/* LB_COMPANION_ROWS_H */
