/*-------------------------------------------------------------------------
 *
 * stand_in.h
 *	  Tables that stand in for those of a leaderboard.
 *
 * A submit of a player, or hiding one, writes to the tables of the
 * leaderboard, and records what it does in tables of the extension.  It can be
 * told to use other tables in the place of both.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_STAND_IN_H
#define LB_STAND_IN_H

#include "boards/definition.h"
#include "sql/spi.h"

/* The extension's tables that submits read or record in. */
typedef enum LbRecord
{
	LB_RECORD_APPLIED,			/* lb_applied */
	LB_RECORD_EVENT,			/* lb_event */
	LB_RECORD_USAGE,			/* lb_usage */
	LB_RECORD_ANOMALY,			/* lb_anomaly */
	LB_RECORD_HIDDEN,			/* lb_hidden */
	LB_NRECORDS
} LbRecord;

/*
 * What stands in, for the players that are in these tables.  Its caller sets
 * it.
 */
typedef struct LbStandIn
{
	text	   *player;			/* one of them */

	/*
	 * The recorded definition of that name, with the table that stands in for
	 * its source, locked in AccessShareLock; NULL if none is recorded.  Valid
	 * as the definition itself is.  Between SPI_connect and SPI_finish; can
	 * raise.
	 */
	LbDefinition *(*definition) (const struct LbStandIn *in,
								 const char *name);

	/*
	 * The table that stands in for one of the extension's, for a leaderboard;
	 * InvalidOid if there is none.  Likewise.
	 */
	Oid			(*table) (const struct LbStandIn *in, const char *leaderboard,
						  LbRecord record);
} LbStandIn;

/* LbStandIn.definition; or lb_find_recorded() if in is NULL. */
extern LbDefinition *lb_find_in(const LbStandIn *in, const char *name);

/*
 * Run a statement on a table that stands in, as its owner, as a
 * security-restricted operation.  In the text, a constant, the first %s is the
 * table and the second the type of its players.  Returns and raises as
 * lb_plan_exec().
 */
extern uint64 lb_run_in(Oid table, const char *sql, int nargs,
						const LbArg *args);

#endif							/* LB_STAND_IN_H */
