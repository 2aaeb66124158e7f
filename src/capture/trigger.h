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
#include "ledger/off_board.h"

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
	LB_NO_KEY,					/* the row is ranked, but a text is too long
								 * for a key: it is counted on its board */
	LB_UNNOTED					/* it has a -0, and the board is not in shared
								 * memory, where that is noted */
} LbRowState;

/* What a row of a board that is not LB_RANKED adds to the sum of those. */
static inline int64
lb_row_off_board(LbRowState state)
{
	return state == LB_NO_KEY ? LB_NO_KEY_ROW : 1;
}

/*
 * The key of a row of defn's source, as the board ranks it, and the value of
 * its board, which is set for all rows that are counted.  key has room for
 * LB_MAX_KEY_WORDS.  value may point into room, which has LB_ROW_ROOM bytes,
 * or into the row, or into memory that is palloc'd.  Notes a score of -0 in
 * shared memory.  Can raise, since values may be toasted.
 */
extern LbRowState lb_row_key(LbDefinition *defn, TupleTableSlot *slot,
							 int64 *key, LbValue *value, char *room);

#endif							/* LB_TRIGGER_H */
