/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  What is recorded of a leaderboard, on all servers of its distributed
 *	  tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SETTINGS_H
#define LB_SETTINGS_H

#include "boards/definition.h"

/* Routines of LbDistributed. */
extern void lb_lock_settings(const char *leaderboard);
extern void lb_lock_changed_settings(const char *leaderboard);
extern void lb_send_settings(const char *leaderboard);
extern void lb_close_on_servers(const LbDefinition *family, const char *key);
extern bool lb_keys_of_shards(const LbDefinition *family, List **keys,
							  bool *all);

/*
 * For lb_shards_create() and its like: a call that makes another server record
 * what is recorded here of the leaderboard of a board, palloc'd; NULL if it is
 * of none.  Locks what is recorded.
 */
extern char *lb_settings_call(const char *board);

/*
 * As lb_send_settings() for the leaderboard of a board whose table is
 * distributed, with the rights of the table's owner, as a security-restricted
 * operation.  Does nothing if there is no such board.  Warns of the first
 * server that fails.
 */
extern void lb_mend_settings(const char *board);

#endif							/* LB_SETTINGS_H */
