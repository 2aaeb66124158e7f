/*-------------------------------------------------------------------------
 *
 * forget.h
 *	  Erasing a player from the tables that scores are submitted to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_FORGET_H
#define LB_FORGET_H

#include "nodes/pg_list.h"

#include "boards/definition.h"

/*
 * Remove the rows of a player, a value of the type, from a board's table;
 * returns how many.  Waits for transactions that are writing such rows.  Of a
 * family, it locks the keys of the windows against being closed, and adds them
 * to *keys, as strings.  The caller owns the table, and policies keep no rows
 * from the owner.  Between SPI_connect and SPI_finish; can raise.
 */
extern uint64 lb_forget_scores(const LbDefinition *defn, const LbType *type,
							   Datum player, List **keys);

/* What another server has removed of a player from a table. */
typedef struct LbForgotten
{
	Oid			table;			/* or InvalidOid: it is gone here */
	int64		removed;
	List	   *keys;			/* of the windows that these rows were of */
} LbForgotten;

#endif							/* LB_FORGET_H */
