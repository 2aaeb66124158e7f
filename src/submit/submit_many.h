/*-------------------------------------------------------------------------
 *
 * submit_many.h
 *	  Submitting many scores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUBMIT_MANY_H
#define LB_SUBMIT_MANY_H

#include "submit/submission.h"

/*
 * Submit the items of a submit whose boards and players are set; returns how
 * many were applied.  Between SPI_connect and SPI_finish; raises as
 * lb_submit_many().
 */
extern int64 lb_submit_all(LbSubmit *s);

/* The same without what limits refuse; returns what became of each item. */
extern LbItemOutcome *lb_submit_each_of(LbSubmit *s);

#endif							/* LB_SUBMIT_MANY_H */
