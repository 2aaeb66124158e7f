/*-------------------------------------------------------------------------
 *
 * directory.h
 *	  The directory of the definitions in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DIRECTORY_H
#define LB_DIRECTORY_H

#include "postgres.h"

#include "access/transam.h"

#include "boards/definition.h"
#include "boards/shared.h"

/*
 * The shared definition of defn, entered if it is not there (create).  NULL
 * if it is not there, or if the arena is used up.  Never raises.  Takes the
 * directory's lock.
 */
extern LbSharedBoard *lb_shared_board_attach(LbDefinition *defn, bool create);

/*
 * Definitions of a database by what lb_board says; NULL if there is none.  Need
 * the directory's lock.
 */
extern LbSharedBoard *lb_directory_find(Oid database, Oid cat, int32 id);
extern LbSharedBoard *lb_directory_find_source(Oid database, Oid source);
extern LbSharedBoard *lb_directory_find_catalog(Oid database, Oid cat);

/* Take a definition out.  Needs the directory's lock, exclusive. */
extern void lb_directory_delete(LbSharedBoard *shared);

/* Widen a range so that a transaction is in it. */
extern void lb_note_unknown(LbUnknown *unknown, FullTransactionId xid);

/*
 * Note that a transaction has changed rows of a board of the current database
 * that could not be entered in the directory.  Takes the directory's lock.
 */
extern void lb_note_unknown_here(FullTransactionId xid);

/*
 * Whether a relation of the current database is the source of definitions in
 * the directory, and whether it is the lb_board of some.  Takes the directory's
 * lock.
 */
extern void lb_shared_board_look_up(Oid relation, bool *source, bool *catalog);

/*
 * Call visit for every definition of the current database with this source, or
 * in this lb_board.  Holds the directory's lock.
 */
extern void lb_shared_board_visit(
								  Oid relation, void (*visit) (LbSharedBoard *shared, void *arg), void *arg);

/*
 * The databases that have watches, of which the launcher keeps a worker each:
 * enter one, remove one, list them.  Never raise.  lb_watch_list copies at
 * most max and returns how many.
 */
extern void lb_watch_enter(Oid database);
extern void lb_watch_forget(Oid database);
extern int	lb_watch_list(Oid *databases, int max);

#endif							/* LB_DIRECTORY_H */
