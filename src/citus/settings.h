/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  What is recorded of a leaderboard, on all servers of its distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SETTINGS_H
#define LB_SETTINGS_H

#include "boards/definition.h"

/*
 * Lock what is recorded of a leaderboard, on the coordinator: before the names of its
 * windows and their keys, to the end of the transaction.
 */
extern void lb_lock_settings(const char *leaderboard);

/*
 * Before a leaderboard's windows or limits change.  If Citus distributes one of its
 * tables, lock what is recorded; raises 55000 if this server is not the coordinator,
 * 25001 in a transaction block, and 0A000 if another engine has the rows of a table.
 * The leaderboard need not be recorded.
 */
extern void lb_lock_changed_settings(const char *leaderboard);

/*
 * After they have changed: if Citus distributes a table of the leaderboard, make all
 * other servers record them as they are here, with the rights of the current user, in
 * transactions of their own; and which windows are closed.  Raises 55000 if one fails.
 */
extern void lb_send_settings(const char *leaderboard);

/*
 * For lb_shards_create() and its like: a call that makes another server record what is
 * recorded here of the leaderboard of a board, palloc'd; NULL if it is of none.  Locks
 * what is recorded.
 */
extern char *lb_settings_call(const char *board);

/*
 * As lb_send_settings() for the leaderboard of a board whose table is distributed,
 * with the rights of the table's owner, as a security-restricted operation.  Does
 * nothing if there is no such board.  Warns of the first server that fails.
 */
extern void lb_mend_settings(const char *board);

/*
 * Before the final standings of a window of a distributed table are read: have all
 * other servers write to it no more.  Each waits for the submits under way there.  With
 * the rights of the table's owner.  The caller has locked the settings, and holds that
 * to the end of the transaction.  Raises 55000 if one fails.
 */
extern void lb_close_on_servers(const LbDefinition *family, const char *key);

/*
 * The keys of a distributed family that have rows, as the servers of its shards know
 * them (lb_shard_windows()), with the rights of the table's owner; some may be there more
 * than once.  Sets *all if a shard has no board that can tell, and returns false while
 * one is being built.
 */
extern bool lb_keys_of_shards(const LbDefinition *family, List **keys, bool *all);

#endif							/* LB_SETTINGS_H */
