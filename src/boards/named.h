/*-------------------------------------------------------------------------
 *
 * named.h
 *	  What expressions name, and the bodies of the functions that they call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_NAMED_H
#define LB_NAMED_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * What the value of an expression depends on besides the row: functions that
 * it calls, by an operator as well; those that the bodies of functions in SQL
 * call in turn, or that have such a name; and domains.  Objects of
 * PostgreSQL's own are left out.  A list of ObjectAddress, palloc'd.  Executes
 * and locks nothing.  Raises what a catalog lookup can raise.
 */
extern List *lb_named_objects(Node *kept);

/* Whether an object is among them. */
extern bool lb_is_named(const List *objects, Oid classId, Oid objectId);

/*
 * A transaction that alters an object which expressions may name takes the
 * first lock, and then looks for the boards.  One that makes a board takes the
 * second, and then analyzes the expression again, so that it sees what the
 * other one did, or is seen.  Both last to the end of the transaction.  Each
 * can wait, and accepts invalidations.  lb_lock_named() adds what it locks to
 * a list, and returns whether that is more.
 */
extern void lb_lock_altered(Oid classId, Oid objectId);
extern bool lb_lock_named(List **locked, List *objects);

#endif							/* LB_NAMED_H */
