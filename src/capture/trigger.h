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

/* What a board has of a row. */
typedef enum LbRowState
{
	LB_NOT_RANKED,				/* it is of no board: there is no row, or no
								 * value of the board column that a live board
								 * can have */
	LB_OFF_BOARD,				/* it is counted on its board, which does not
								 * rank it: ranked_if is not true, or a column
								 * of the key is null */
	LB_RANKED,					/* a key */
	LB_NO_KEY					/* the row is ranked, but no key can have it */
} LbRowState;

/* Why a board with such a row has no index. */
extern const char lb_no_key_reason[];

/*
 * The key of a row of defn's source, as the board ranks it, and the value of
 * its board, which is set for LB_OFF_BOARD too.  key has room for
 * LB_MAX_KEY_WORDS.  value may point into room, which has LB_ROW_ROOM bytes,
 * or into the row, or into memory that is palloc'd.  Notes a score of -0 in
 * shared memory.  Can raise, since values may be toasted.
 */
extern LbRowState lb_row_key(LbDefinition *defn, TupleTableSlot *slot,
							 int64 *key, LbValue *value, char *room);

#endif							/* LB_TRIGGER_H */
