/*-------------------------------------------------------------------------
 *
 * sweep.h
 *	  What gives back the memory of boards: of indexes, histories, definitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SWEEP_H
#define LB_SWEEP_H

#include "postgres.h"

#include "access/transam.h"

#include "boards/shared.h"

/* Give back the memory of a definition's indexes; it must not be ready. */
extern void lb_shared_board_free_indexes(LbSharedBoard *shared,
										 uint64 generation);

/*
 * Empty all boards of a definition, which the transaction xid has truncated,
 * history included.  Never raises.
 */
extern void lb_shared_board_clear(LbSharedBoard *shared, uint64 generation,
								  FullTransactionId xid);

/*
 * Give back the histories that no snapshot needs any more, having brought in the
 * backlogs among them, and the family's boards that wait for that.  Returns
 * whether some are left.  Takes one stripe's lock after the other, each several
 * times if there is much to do.
 */
extern bool lb_shared_board_trim(LbSharedBoard *shared, uint64 generation);

/* Remove a definition with its boards.  Never raises. */
extern void lb_shared_board_remove(LbSharedBoard *shared, uint64 generation);

/*
 * Remove what the current database has of a number of lb_board, of a source, or
 * of lb_board, or remove all of a database.  Where there are many, the
 * directory's lock is let go of in between.  Never raises.
 */
extern void lb_shared_board_remove_id(Oid catalog, int32 id);
extern void lb_shared_board_remove_source(Oid source);
extern void lb_shared_board_remove_catalog(Oid catalog);
extern void lb_shared_board_remove_database(Oid database);

#endif							/* LB_SWEEP_H */
