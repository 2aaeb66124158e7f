/*-------------------------------------------------------------------------
 *
 * sweep.h
 *	  Give back the memory of boards: of indexes, histories, definitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SWEEP_H
#define LB_SWEEP_H

#include "postgres.h"

#include "access/transam.h"

#include "boards/shared.h"

/*
 * Give back the memory of a definition's indexes, unless the definition is
 * ready.  Never raises.  Takes one stripe's lock after the other.
 */
extern void lb_shared_board_free_indexes(LbSharedBoard *shared,
										 uint64 generation);

/*
 * Empty all boards of a definition, history included: the transaction xid has
 * truncated its table.  Never raises.  Takes one stripe's lock after the
 * other.
 */
extern void lb_shared_board_clear(LbSharedBoard *shared, uint64 generation,
								  FullTransactionId xid);

/*
 * Give back the histories that no snapshot needs any more, and the family's
 * boards that wait for that.  Backlogs among these histories are applied
 * first.  Returns whether some histories are left.  Never raises.  Takes one
 * stripe's lock after the other, each several times if there is much to do.
 */
extern bool lb_shared_board_trim(LbSharedBoard *shared, uint64 generation);

/*
 * Remove a definition with its boards.  Never raises.  Takes the directory's
 * lock and all stripes' locks.
 */
extern void lb_shared_board_remove(LbSharedBoard *shared, uint64 generation);

/*
 * Remove the definitions of the current database with a number of lb_board,
 * with a source, or with an lb_board; or remove all of a database.  If there
 * are many, the directory's lock is released in between.  Never raises.
 */
extern void lb_shared_board_remove_id(Oid catalog, int32 id);
extern void lb_shared_board_remove_source(Oid source);
extern void lb_shared_board_remove_catalog(Oid catalog);
extern void lb_shared_board_remove_database(Oid database);

#endif							/* LB_SWEEP_H */
