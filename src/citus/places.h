/*-------------------------------------------------------------------------
 *
 * places.h
 *	  The table of places of a table that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PLACES_H
#define LB_PLACES_H

#include "postgres.h"

/*
 * Make the table of places of a table that Citus distributes, or put it right,
 * with the rights of its owner, as a security-restricted operation.  Does
 * nothing if it is right, or if the table can have none.  Raises what Citus
 * raises, such as 08006 if a server is away.
 */
extern void lb_places_make(Oid source);

/* Drop it, if there is one. */
extern void lb_places_drop(Oid source);

/*
 * In an event trigger, between SPI_connect and SPI_finish: drop those of n
 * tables, by OID, that the command has dropped, and the tables beside these
 * (shard.h).  Does nothing if the caller may not.
 */
extern void lb_places_follow_drop(Datum *sources, int n);

#endif							/* LB_PLACES_H */
