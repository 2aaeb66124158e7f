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

#include "datatype/timestamp.h"
#include "nodes/parsenodes.h"

#include "boards/definition.h"

struct LbCall;
struct LbForgotten;
struct LbForwarded;
struct LbItemOutcome;
struct LbType;
struct LbVisit;
struct LbMembers;
struct LbRows;
struct LbSubmit;
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
	 * The ranks that n keys have, or would have, by the call's method.
	 */
	bool		(*ranks_of_keys) (struct LbCall *call, int n,
								  const int64 *const *keys, int64 *ranks);

	/*
	 * Before such a query is run although leaderboard.offline is "error":
	 * raise 55000 if an index is missing or offline.
	 */
	void		(*require_indexes) (struct LbCall *call);

	/* Before a query is planned: returns it, or one with the same rows. */
	Query	   *(*plan) (Query *query);

	/*
	 * Whether the servers of a distributed table can have indexes: then the
	 * routines below serve it.  If not, only its query can be run.  Can
	 * raise.
	 */
	bool		(*serves) (Oid source);

	/*
	 * Whether this server is the coordinator, which changes what all servers
	 * have of a distributed table; can raise.  Raise 55000 unless it is: what
	 * names the function that would change a board.
	 */
	bool		(*is_coordinator) (void);
	void		(*require_coordinator) (const LbDefinition *defn,
										const char *what);

	/*
	 * Lock the table of a resolved definition against writers, on all
	 * servers, to the end of the transaction.  Waits for writers, also for
	 * prepared transactions.  On the coordinator, between SPI_connect and
	 * SPI_finish; can raise, also 40001 if the table is renamed at that
	 * moment.
	 */
	void		(*lock) (const LbDefinition *defn);

	/*
	 * A board has been recorded, or is going to be dropped: make its indexes
	 * on all servers, or drop them, in transactions of their own.  Raise
	 * 55000 with what a server has said if one fails, or if this one is not
	 * the coordinator; and 42622 if the name is too long.  The source is
	 * locked.
	 */
	void		(*create) (const LbDefinition *defn);
	void		(*drop) (const LbDefinition *defn);

	/*
	 * The same for lb_rebuild(), lb_wait_ready() and lb_verify() of a board.
	 * rebuild returns false if there is no board of that name; wait_ready,
	 * whether all indexes are ready by that moment of lb_clock().  verify
	 * calls report with the name of a server's board and what is wrong.
	 */
	bool		(*rebuild) (const char *board);
	bool		(*wait_ready) (const LbDefinition *defn, int64 until);
	void		(*verify) (const LbDefinition *defn,
						   void (*report) (const char *board,
										   const char *problem, void *arg),
						   void *arg);

	/*
	 * In an event trigger, between SPI_connect and SPI_finish: these tables
	 * of boards, by OID, are gone; some of them may only be boards' no more.
	 */
	void		(*dropped) (Datum *sources, int n);

	/*
	 * Before and after the windows or limits of a leaderboard change.  Do
	 * nothing unless its table is distributed.  The first locks what is
	 * recorded of the leaderboard, and raises 55000 unless this server is the
	 * coordinator, and 25001 in a transaction block.  The second has all
	 * servers record it, in transactions of their own; raises 55000 if one
	 * fails.
	 */
	void		(*begin_settings) (const char *leaderboard);
	void		(*end_settings) (const char *leaderboard);

	/*
	 * A limit of a leaderboard of a distributed table is dropped: remove what
	 * it has counted.  Waits for submits.  Between SPI_connect and
	 * SPI_finish.
	 */
	void		(*remove_usage) (const char *leaderboard, const char *limit);

	/*
	 * Closing a window of a distributed family.  The first locks what is
	 * recorded of the leaderboard, before the window's key.  The second has
	 * all servers write to the window no more, and waits for the submits
	 * under way there; raises 55000 if one fails.  Then its standings are
	 * final.
	 */
	void		(*lock_settings) (const char *leaderboard);
	void		(*close_window) (const LbDefinition *family, const char *key);

	/*
	 * The keys of such a family that have rows; some may be there twice. Sets
	 * *all if a server cannot tell, so that all rows have to be read, and
	 * returns false while an index is being built.
	 */
	bool		(*window_keys) (const LbDefinition *family, List **keys,
								bool *all);

	/*
	 * Maintenance.  Set visit->mending.boards to the boards of distributed
	 * tables that belong to the caller.
	 */
	void		(*list_boards) (struct LbVisit *visit);

	/*
	 * Of one of these, make what servers lack, and remove old rows of
	 * companion tables.  Returns false if there are more rows.
	 */
	bool		(*mend) (struct LbVisit *visit, const char *board);

	/*
	 * Before lb_maintain(): maintain the boards of other owners, in
	 * transactions of their own, and set visit->mending.owners to these
	 * owners.
	 */
	void		(*leave_to_owners) (struct LbVisit *visit);

	/*
	 * A submit of one item whose players are set: send it to the server that
	 * has the player's rows.  Sets s->only_forwarded and, with wants_keys,
	 * the keys in s->results, and returns the number of rows.  Between
	 * SPI_connect and SPI_finish, as the next ones; they raise what that
	 * server raises, and 0A000 where the table is not distributed by players.
	 */
	int			(*forward) (struct LbSubmit *s, struct LbForwarded **rows);

	/*
	 * The same for each item.  Returns how many were applied; or, with
	 * outcomes, fills in what became of each.
	 */
	int64		(*forward_many) (const struct LbSubmit *s,
								 struct LbItemOutcome *outcomes);

	/*
	 * Set ranked_if in a player's rows of a board, and record that the player
	 * is hidden there, or with all on all leaderboards; returns how many rows
	 * have changed.
	 */
	uint64		(*forward_ranked) (const LbDefinition *defn, text *player,
								   bool ranked, bool all);

	/* Whether one server has all rows of a player. */
	bool		(*is_on_one_server) (const LbDefinition *defn, text *player);

	/*
	 * Have it remove these, of n boards of one leaderboard, and those of
	 * companion tables.  Returns the number of rows.
	 */
	int			(*forward_forget) (const LbDefinition **defns, int n,
								   text *player, struct LbForgotten **rows);

	/*
	 * Whether submits to a leaderboard have a companion table for one of the
	 * extension's; record is an LbRecord.
	 */
	bool		(*has_companion) (const char *leaderboard, int record);

	/*
	 * Making tables of a leaderboard.  The first raises 0A000 unless tables
	 * can be distributed in this database, and 55000 unless this server is
	 * the coordinator.  The second distributes a new table by its column
	 * player_id: as another table is, or if that is InvalidOid, in count
	 * parts; 0 is the default.  The third makes the companion tables of a
	 * distributed table of scores, for players of a type, also as SQL text.
	 * The last two between SPI_connect and SPI_finish; they raise what Citus
	 * raises.
	 */
	void		(*require_distributing) (void);
	void		(*distribute) (Oid table, Oid as, int count);
	void		(*make_companions) (Oid scores, const char *declared,
									const struct LbType *type);

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

/* The same; raises 0A000 if it is NULL. */
extern const LbDistributed *lb_require_distributed(void);

/* LbDistributed.serves; false where it is NULL. */
extern bool lb_serves(Oid source);

/*
 * Whether a board is one whose servers have indexes.  A table that was
 * captured and then distributed has none: lb_rebuild() makes them.  Can raise.
 */
extern bool lb_has_distributed_board(const LbDefinition *defn);

/* Whether a resolved definition's table is distributed.  Can raise. */
extern bool lb_is_distributed(const LbDefinition *defn);

/*
 * Raise 0A000 if it does: what the caller is about to do does not work there.
 */
extern void lb_refuse_distributed(const LbDefinition *defn);

/*
 * Raise 0A000 if one of the tables of two definitions, which are the boards of
 * a leaderboard, is distributed, and the other is not.  The tables must exist.
 */
extern void lb_check_both_distributed(const LbDefinition *a,
									  const LbDefinition *b);

/* LbDistributed.begin_settings and .end_settings, unless there are none. */
extern void lb_begin_settings(const char *leaderboard);
extern void lb_end_settings(const char *leaderboard);

#endif							/* LB_DISTRIBUTED_H */
