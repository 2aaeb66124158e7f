/*-------------------------------------------------------------------------
 *
 * visits.h
 *	  Databases that a worker is to visit, to enter their boards.
 *
 * For the launcher alone, but where it is said.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_VISITS_H
#define LB_VISITS_H

/*
 * All databases that accept connections: each may have boards for which there
 * was not even an LbSharedBoard.  Runs a transaction.  Can raise.
 */
extern void lb_visit_all(void);

/* One database, unless it is on the list.  Raises when out of memory. */
extern void lb_add_visit(Oid database);

/*
 * In a worker that ends before its visit is done: have the launcher visit the
 * database again.  Raises nothing.
 */
extern void lb_visit_has_failed(Oid database);

/*
 * Put such databases on the list again, every five seconds at most.  Returns
 * the milliseconds until it may be called again.  Runs a transaction.  Can
 * raise.
 */
extern long lb_visit_again(void);

/*
 * On a standby: those that have new definitions, and all once the primary
 * feeds.  Removes the definitions of databases that are gone.  Can raise.
 */
extern void lb_visit_as_fed(void);

/*
 * The server was a standby.  Databases may have what only a primary looks
 * after, and boards may have been refused because it was one: visit all, and
 * request builds of what is not ready.  Can raise.
 */
extern void lb_visit_promoted(void);

/*
 * The next one, InvalidOid if there is none; take that off the list, or put it
 * at the end.  The last raises when out of memory.
 */
extern Oid	lb_next_visit(void);
extern void lb_visit_begun(void);
extern void lb_visit_later(void);

#endif							/* LB_VISITS_H */
