/*-------------------------------------------------------------------------
 *
 * hide.h
 *	  Hiding players: what else waits for a player's submits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_HIDE_H
#define LB_HIDE_H

#include "submit/stand_in.h"

/*
 * Wait for the transactions that have inserted rows of a player into a board's
 * table and have not ended: an UPDATE or a DELETE does not see these rows.
 * player is a value of the type.  Returns whether there was one.  Raises 40001
 * if there is a row that the snapshot of the whole transaction does not see.
 */
extern bool lb_wait_for_rows(const LbDefinition *defn, const LbType *type,
							 Datum player);

/*
 * Hide or show the player of tables that stand in for those of a board;
 * returns in how many rows.  Another server has recorded it.  The first raises
 * 42501 unless the caller may do so.  Between SPI_connect and SPI_finish; they
 * raise as lb_hide().
 */
extern void lb_check_hide_in(const LbStandIn *in, const char *board);
extern uint64 lb_hide_in(const LbStandIn *in, const char *board, bool ranked,
						 bool all);

#endif							/* LB_HIDE_H */
