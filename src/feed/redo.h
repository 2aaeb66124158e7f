/*-------------------------------------------------------------------------
 *
 * redo.h
 *	  A standby follows the feed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_REDO_H
#define LB_REDO_H

#include "boards/definition.h"

/* Why a standby does not use the boards of a table. */
#define LB_MISSED_REASON "the standby may have missed changes"
#define LB_UNLOGGED_REASON "the table is unlogged, and the server a standby"

/* Wrap PostgreSQL's redo routines; from _PG_init. */
extern void lb_redo_init(void);

/*
 * Whether this server may answer by the index of a table: it is no standby, or
 * one that has missed no change that a snapshot taken so far may see.  The
 * definition is resolved.
 */
extern bool lb_feed_answers(const LbDefinition *defn);

/* Whether to build: this server is no standby, or one that is fed. */
extern bool lb_feed_builds(void);

#endif							/* LB_REDO_H */
