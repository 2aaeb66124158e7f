/*-------------------------------------------------------------------------
 *
 * trim.h
 *	  Old rows of the extension's own tables are removed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TRIM_H
#define LB_TRIM_H

#include "windows/visit.h"

/* Settings, in seconds: how long rows are kept; -1: for ever. */
extern int	lb_event_retention;
extern int	lb_applied_retention;
extern int	lb_anomaly_retention;

/*
 * Remove old rows, visit->max_rows at most of each table; visit->done says
 * how many, and whether there are more.  What fails is logged.  Between
 * SPI_connect and SPI_finish.
 */
extern void lb_trim_tables(LbVisit *visit);

#endif							/* LB_TRIM_H */
