/*-------------------------------------------------------------------------
 *
 * xact_end.h
 *	  What is done at the end of every transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_XACT_END_H
#define LB_XACT_END_H

/*
 * Call a function at the end of each transaction from now on: at COMMIT, after
 * the commit record, at ABORT and at PREPARE.  The transaction's changes have
 * been settled or discarded then.  The function may neither raise, nor
 * allocate, nor look up a catalog.
 */
extern void lb_at_xact_end(void (*function) (void));

/* Call these functions, for xact.c.  Never raises. */
extern void lb_run_at_xact_end(void);

#endif							/* LB_XACT_END_H */
