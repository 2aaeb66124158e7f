/*-------------------------------------------------------------------------
 *
 * distributed.h
 *	  Tables that Citus distributes: what tells them from others, and the
 *	  routines for them.
 *
 * A board of a distributed table has no index here: its rows are on several
 * servers.  The folder citus/, above all others, knows how to read it, how to
 * forward a submit, and what its servers must be told.  Lower folders call it
 * through the table of routines below.  A build without the folder has none.
 * Then the defining query answers reads, and all else raises 0A000.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DISTRIBUTED_H
#define LB_DISTRIBUTED_H

#include "nodes/parsenodes.h"

#include "boards/definition.h"

struct LbCall;
struct LbMembers;
struct LbRows;
union LbNumber;

typedef struct LbDistributed
{
	/*
	 * Reads, for a call whose query must be run, without a lock.  They return
	 * false if it must be run all the same: if the table is not distributed,
	 * or its servers have not answered exactly.  Afterwards the definition in
	 * the call can be another one.  They raise what a statement raises, and
	 * 40001 if the board is gone.
	 *
	 * value does what LbReadFunction.value does.
	 */
	bool		(*value) (struct LbCall *call, union LbNumber *numbers,
						  bool *isnull);

	/* How many rows come before the key that is an operand, or are at it. */
	bool		(*count_before) (struct LbCall *call, bool inclusive,
								 int64 *count);

	/*
	 * For n pairs of words of the key, how many rows have scores from one to
	 * the other; and how many rows have none of these.
	 */
	bool		(*count_scores) (struct LbCall *call, int64 n,
								 const int64 *words, int64 *counts,
								 int64 *others);

	/* The rows at places skip + 1 ... skip + n; tail is an LbTail. */
	bool		(*page) (struct LbCall *call, int64 skip, int64 n, int tail,
						 struct LbRows *rows);

	/* The rows around the member that is the first operand. */
	bool		(*around) (struct LbCall *call, int64 radius,
						   struct LbRows *rows);

	/*
	 * The rows of members, in the order of the board and with their keys; or
	 * for each, in their order, the rank and the score alone.
	 */
	bool		(*among) (struct LbCall *call, const struct LbMembers *members,
						  struct LbRows *rows);
	bool		(*ranks) (struct LbCall *call, const struct LbMembers *members,
						  struct LbRows *rows);

	/*
	 * Before such a query is run although leaderboard.offline is "error":
	 * raise 55000 if an index is missing or offline.
	 */
	void		(*require_indexes) (struct LbCall *call);

	/* Before a query is planned: returns it, or one with the same rows. */
	Query	   *(*plan) (Query *query);

	/*
	 * Before a statement on a distributed table, with the rights of any role:
	 * make settings, until the caller's nest level of settings ends.  After a
	 * sequential one, a table can still be made.
	 */
	void		(*set_up) (bool sequential);

	/* If the error that has been caught is one to be explained, raise that. */
	void		(*explain) (const ErrorData *error);
} LbDistributed;

/* NULL in a build without the folder, and before _PG_init. */
extern const LbDistributed *lb_distributed;

#endif							/* LB_DISTRIBUTED_H */
