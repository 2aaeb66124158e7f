/*-------------------------------------------------------------------------
 *
 * distribute.h
 *	  Tables of leaderboards that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DISTRIBUTE_H
#define LB_DISTRIBUTE_H

#include "boards/definition.h"

/*
 * Raise 0A000 unless Citus is installed in this database, and 55000 unless this server is
 * its coordinator.
 */
extern void lb_require_distributing(void);

/*
 * Distribute a new table by its column player_id: beside another table, or, if that is
 * InvalidOid, to a number of shards; 0 is what Citus does by default.  Between
 * SPI_connect and SPI_finish; raises what Citus raises.
 */
extern void lb_distribute_table(Oid table, Oid as, int count);

/*
 * Make the tables that a distributed table of scores has in the place of lb_applied,
 * lb_event and the like, for players of a type, also as SQL text.  They go with it, by
 * lb_places_follow_drop().  Likewise.
 */
extern void lb_make_companions(Oid scores, const char *declared,
							   const LbType *type);

#endif							/* LB_DISTRIBUTE_H */
