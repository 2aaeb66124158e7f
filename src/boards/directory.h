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
 * Find a definition in the directory.  With create, enter it if it is not
 * there; its width must be settled then.  NULL if it is not there, if memory
 * is used up, or if it has changed: another one of the same number is in the
 * directory, and is taken offline until a worker has built the one that
 * lb_board records, unless this transaction has changed that.  Never raises.
 * Takes the directory's lock.
 */
extern LbSharedBoard *lb_shared_board_attach_anew(LbDefinition *defn,
												  bool create);

/* The same, without the lock if the definition is where it was found last. */
static inline LbSharedBoard *
lb_shared_board_attach(LbDefinition *defn, bool create)
{
	if (defn->shared != NULL && defn->shared->generation == defn->generation)
		return defn->shared;
	return lb_shared_board_attach_anew(defn, create);
}

/*
 * Whether another definition of that number is in the directory, until a
 * worker replaces it.  Never raises.  Takes the directory's lock.
 */
extern bool lb_shared_board_is_other(const LbDefinition *defn);

/*
 * Whether a definition in shared memory has the same keys as defn.  Widths are
 * compared if that of defn is settled.
 */
extern bool lb_shared_board_fits(const LbSharedBoard *shared,
								 const LbDefinition *defn);

/*
 * Find a definition of a database by lb_board and number, one by source, or
 * one by lb_board.  NULL if there is none.  Need the directory's lock.
 */
extern LbSharedBoard *lb_directory_find(Oid database, Oid cat, int32 id);
extern LbSharedBoard *lb_directory_find_source(Oid database, Oid source);
extern LbSharedBoard *lb_directory_find_catalog(Oid database, Oid cat);

/* Remove a definition.  Needs the directory's exclusive lock. */
extern void lb_directory_delete(LbSharedBoard *shared);

/* Widen a range so that it contains a transaction.  Never raises. */
extern void lb_note_unknown(LbUnknown *unknown, FullTransactionId xid);

/*
 * Widen a range so that it contains all transactions before a full xid.  Never
 * raises.
 */
extern void lb_note_all_unknown(LbUnknown *unknown, uint64 before);

/*
 * Note that a transaction has changed rows of a board in the current database
 * that could not be entered in the directory.  Never raises.  Takes the
 * directory's lock.
 */
extern void lb_note_unknown_here(FullTransactionId xid);

/*
 * When maintenance has last read one of the extension's tables in this
 * database to its end, by a number below LB_LOOKED_TABLES, and a note of
 * that.  0 is: not since the server's start, or unknown.  Never raise.  Take
 * the directory's lock.
 */
extern TimestampTz lb_last_looked(int table);
extern void lb_note_looked(int table, TimestampTz when);

/*
 * Whether a relation of the current database is the source of definitions in
 * the directory, and whether it is the lb_board of any.  Never raises.  Takes
 * the directory's lock.
 */
extern void lb_shared_board_look_up(Oid relation, bool *source, bool *catalog);

/*
 * Call visit for every definition of the current database with this source or
 * this lb_board, holding the directory's shared lock.
 */
extern void lb_shared_board_visit(Oid relation,
								  void (*visit) (LbSharedBoard *shared,
												 void *arg),
								  void *arg);

/*
 * The databases that have watches: enter one, remove one, list them.  The
 * launcher keeps a worker for each.  lb_watch_list() copies max of them at
 * most and returns how many.  Never raise.
 */
extern void lb_watch_enter(Oid database);
extern void lb_watch_forget(Oid database);
extern int	lb_watch_list(Oid *databases, int max);

/*
 * Add a database to those that the launcher is to have visited, for new
 * definitions or for missing ones; InvalidOid: a database was dropped.  The
 * launcher takes the list, of LB_MAX_VISITS at most; if lb_take_visits()
 * returns more, all databases want a visit, and some may have been dropped.
 * Take the list's mutex.  Never raise.
 */
extern void lb_want_visit(LbVisits *visits, Oid database);
extern int	lb_take_visits(LbVisits *visits, Oid *databases);

#endif							/* LB_DIRECTORY_H */
