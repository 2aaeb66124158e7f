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
#include "windows/visit.h"

/*
 * Close windows whose time has come: find them, archive their standings, enter
 * them in lb_closed.  Returns whether the transaction should end.  Between
 * SPI_connect and SPI_finish; errors of a window are logged.
 */
extern bool lb_close_windows(LbVisit *visit, const LbDefinition *defn);

/*
 * The keys of a family of windows that has rows here, for another server that
 * closes them: of its boards, with the family's name, and now and then those
 * of rows that are on no board.  Returns false while the index is being
 * built.  Between SPI_connect and SPI_finish; can raise.
 */
extern bool lb_window_keys_here(LbDefinition *defn, List **boards,
								List **rows);

#endif							/* LB_CLOSING_H */
