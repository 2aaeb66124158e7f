/*-------------------------------------------------------------------------
 *
 * companion.h
 *	  Companions of a distributed table of scores: tables that take the place
 *	  of those of the extension that submits record in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COMPANION_H
#define LB_COMPANION_H

#include "datatype/timestamp.h"

#include "submit/stand_in.h"

#define LB_MAX_COMPANION_COLUMNS 13

/*
 * What follows the name of the table of scores, and the columns but player_id.
 */
typedef struct LbCompanion
{
	const char *suffix;
	struct
	{
		const char *name;		/* NULL behind the last one */
		Oid			type;
		const char *declared;	/* as SQL text */
	}			columns[LB_MAX_COMPANION_COLUMNS + 1];
	const char *key;			/* its primary key, as SQL text, or NULL */
	const char *index_column;	/* of a brin index, or NULL */
	const char *options;		/* of storage, as SQL text, or NULL */
} LbCompanion;

extern const LbCompanion lb_companions[LB_NRECORDS];

/*
 * The table of that kind beside a table of that name in a schema, if Citus
 * distributes it and it has the columns; or InvalidOid.  Can raise.
 */
extern Oid	lb_find_companion(const char *name, Oid schema, LbRecord beside);

/*
 * The table of that kind beside the distributed table of scores of the
 * recorded board of that name, if it has the same owner; or InvalidOid.  Can
 * raise.
 */
extern Oid	lb_companion_of(const char *name, LbRecord beside);

/*
 * The player's shard of a table beside the distributed table of scores of the
 * recorded board of that name; InvalidOid if there is no such table.  Raises
 * likewise.
 */
extern Oid	lb_shard_companion(const char *name, LbRecord beside, text *player);

/*
 * Remove the rows of such a table, on all shards, that are older than this, as
 * its owner; returns how many.  Does nothing if there is no such table.
 * Between SPI_connect and SPI_finish; raises what Citus raises.
 */
extern uint64 lb_trim_companion(const char *name, LbRecord beside,
								TimestampTz before);

/* The shards that have a player stand in for a leaderboard's tables. */
extern void lb_shard_stand_in(LbStandIn *in, text *player);

#endif							/* LB_COMPANION_H */
