/*-------------------------------------------------------------------------
 *
 * trigger.h
 *	  Row keys, as the triggers and the builds make them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TRIGGER_H
#define LB_TRIGGER_H

#include "executor/tuptable.h"

#include "boards/definition.h"
#include "boards/live.h"

/*
 * The key of a row of defn's source, as the board ranks it, and the value of
 * its board.  Returns false if the row is not ranked.  value may point into
 * digits, which has room for 32 characters, or into the row.  Can raise,
 * since values may be toasted.
 */
extern bool lb_row_key(LbDefinition *defn, TupleTableSlot *slot, int64 *key,
					   LbValue *value, char *digits);

#endif							/* LB_TRIGGER_H */
