/*-------------------------------------------------------------------------
 *
 * emit.h
 *	  The messages of a primary.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_EMIT_H
#define LB_EMIT_H

#include "boards/definition.h"
#include "feed/format.h"
#include "ledger/ledger.h"

/* Whether transactions write what they change to WAL. */
extern bool lb_feeding(void);

/*
 * A transaction's messages: begin, then any of the others, then end.  They
 * go out as they fill up, and with the end, which must be before the commit
 * record.  The transaction has an xid.  Raise only when interrupted, or if
 * WAL cannot be written.
 */
extern void lb_emit_begin(void);

/*
 * Net changes of a board of a definition.  negative_zero: a row may have had a
 * -0.  If there are too many, the definition's changes are unknown.
 */
extern void lb_emit_changes(const LbDefinition *defn, const LbNetChanges *net,
							bool negative_zero);

/* A row has a -0, in a definition that may have no other change. */
extern void lb_emit_negative_zero(const LbDefinition *defn);

/* Changes that are not known: of a definition, a table or a catalog. */
extern void lb_emit_unknown(LbFeedScope scope, Oid oid, int32 id);

extern void lb_emit_end(void);

/*
 * For the launcher: begin to feed, in the middle of this server's life; say
 * again that it feeds; end it.  Raise if WAL cannot be written.
 */
extern void lb_feed_start(void);
extern void lb_feed_say_hello(bool important);
extern void lb_feed_stop(void);

#endif							/* LB_EMIT_H */
