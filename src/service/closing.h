/*-------------------------------------------------------------------------
 *
 * closing.h
 *	  Closing windows that are over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CLOSING_H
#define LB_CLOSING_H

#include "boards/definition.h"
#include "service/visit.h"

/*
 * Close windows whose time has come: find them, archive their standings, enter
 * them in lb_closed.  Returns whether the transaction should end.  Between
 * SPI_connect and SPI_finish; errors of a window are logged.
 */
extern bool lb_close_windows(LbVisit *visit, const LbDefinition *defn);

#endif							/* LB_CLOSING_H */
