/*-------------------------------------------------------------------------
 *
 * histogram.h
 *	  Histograms of a board's scores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_HISTOGRAM_H
#define LB_HISTOGRAM_H

#include "reads/call.h"

/* The routine of lb_histogram(): see LbReadFunction.rows in call.h. */
extern bool lb_histogram_rows(LbCall *call, Datum *result, bool *isnull);

#endif							/* LB_HISTOGRAM_H */
