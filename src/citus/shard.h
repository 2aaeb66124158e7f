/*-------------------------------------------------------------------------
 *
 * shard.h
 *	  The shards of distributed tables that a player's rows are in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SHARD_H
#define LB_SHARD_H

#include "boards/definition.h"
#include "util/compat.h"

/*
 * The number of the shard of a distributed table that has a player in a
 * column; 0 if there is none.  Between SPI_connect and SPI_finish.
 */
extern int64 lb_find_shard(Oid table, const char *column, text *player);

/*
 * The table on this server that is a shard.  Likewise; raises 55000 if there
 * is none.
 */
extern Oid	lb_shard_table(Oid table, int64 shard);

/*
 * The number of the shard that a player of a board is in, or 0 where
 * lb_shard_of() raises.  Between SPI_connect and SPI_finish.
 */
extern int64 lb_find_shard_of(const LbDefinition *defn, text *player);

/*
 * The number of the shard of a board's table that a player is in.  Raises
 * 0A000 unless Citus distributes the table by hash of the column of players.
 * Between SPI_connect and SPI_finish.
 */
extern int64 lb_shard_of(const LbDefinition *defn, text *player);

/*
 * The shards of n players, which are texts.  Likewise.
 */
extern void lb_shards_of(const LbDefinition *defn, Datum *players, int n,
						 int64 *shards);

/*
 * Lock n shards of a board's table against being moved or split, to the end of
 * the transaction, as Citus does for a write.  Likewise.
 */
extern void lb_lock_shards(const LbDefinition *defn, Datum *shards, int n);

/* The same for the shard that a player is in; returns its number. */
extern int64 lb_lock_shard(const LbDefinition *defn, text *player);

/*
 * Lock a board's table on all servers; a routine of LbDistributed.  Citus then
 * commits by two phases.
 */
extern void lb_lock_distributed(const LbDefinition *defn);

/*
 * The recorded definition of that name, with the table of a player's shard in
 * the place of the distributed table, locked in AccessShareLock; NULL if none
 * is recorded.  Valid as the definition itself is.  Raises likewise, and 55000
 * if this server does not have the shard.  Between SPI_connect and SPI_finish.
 */
extern LbDefinition *lb_shard_defn(const char *name, text *player);

/*
 * Begin statements on all shards, as the owner of their table: they run on one
 * shard after the other, and their times are sent as text that all servers
 * read in the same way, until AtEOXact_GUC() of what is returned.  Can raise.
 */
extern int	lb_begin_all_shards(void);

/*
 * Begin what another server has sent to a player's shard of the recorded board
 * of that name, or of the other name, which may be NULL: let statements of
 * this session write to shards, until AtEOXact_GUC() of what is returned.
 * Raises 40001 unless the player is in this shard by what this server knows,
 * and 55000 if there is no such board.
 */
extern int	lb_begin_shard(const char *name, const char *other, text *player,
						   int64 shard);

/* Raise 55000: the board is not recorded on this server. */
pg_noreturn extern void lb_raise_not_recorded(const char *name);

/* Raise that 40001. */
pg_noreturn extern void lb_raise_other_shard(const char *name, text *player,
											 int64 shard);

/*
 * Whether a statement for other servers may call functions of the extension by
 * name, as the current user.  There the owner of the schema could have put
 * another in its place: not as a superuser, unless that owner is one.  Raises
 * that there is no extension.
 */
extern bool lb_may_call_others(void);

#endif							/* LB_SHARD_H */
