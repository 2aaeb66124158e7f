/*-------------------------------------------------------------------------
 *
 * event.h
 *	  The log of submits: lb_event.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_EVENT_H
#define LB_EVENT_H

#include "submit/submission.h"

/* Setting: submits are logged. */
extern bool lb_events;

/*
 * Append a row to lb_event for each item of a submit that has been written.
 * Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_log_events(LbSubmit *s);

#endif							/* LB_EVENT_H */
