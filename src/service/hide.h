/*-------------------------------------------------------------------------
 *
 * hide.h
 *	  Hiding players: what else waits for a player's submits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_HIDE_H
#define LB_HIDE_H

#include "boards/definition.h"

/*
 * Wait for the transactions that have inserted rows of a player into a board's
 * table and have not ended: an UPDATE or a DELETE does not see these rows.
 * player is a value of the type.  Returns whether there was one.  Raises 40001
 * if there is a row that the snapshot of the whole transaction does not see.
 */
extern bool lb_wait_for_rows(const LbDefinition *defn, const LbType *type,
							 Datum player);

#endif							/* LB_HIDE_H */
