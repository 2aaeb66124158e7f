/*-------------------------------------------------------------------------
 *
 * board_row.h
 *	  Values of several board columns, as the text of a row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BOARD_ROW_H
#define LB_BOARD_ROW_H

#include "boards/keys.h"

/*
 * Write the texts of n columns as a row into room, at most size bytes of it.
 * Returns how long it is.  Does not raise.
 */
extern int	lb_write_row_text(const LbValue *columns, int n, char *room,
							  int size);

/* The same into palloc'd memory, with a zero behind it. */
extern LbValue lb_make_row_text(const LbValue *columns, int n);

/*
 * Read the texts of n columns from a row, palloc'd where they have quotes.
 * Returns false if the row does not have so many, or is none.
 */
extern bool lb_read_row_text(const LbValue *row, LbValue *columns, int n);

/*
 * Whether a row has these texts of n columns, as rows have them; data is NULL
 * for a column that may have any.  Does not raise or allocate.
 */
extern bool lb_row_text_has(const LbValue *row, const LbValue *texts, int n);

#endif							/* LB_BOARD_ROW_H */
