/*-------------------------------------------------------------------------
 *
 * captured.h
 *	  The triggers by which tables are captured.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CAPTURED_H
#define LB_CAPTURED_H

#include "postgres.h"

#include "utils/relcache.h"
#include "utils/reltrigger.h"

#include "boards/catalog.h"

/* The names that we give the triggers of a source. */
#define LB_ROW_TRIGGER "leaderboard_capture"
#define LB_TRUNCATE_TRIGGER "leaderboard_capture_truncate"

/*
 * The trigger by which an open relation is captured: the row trigger, or the
 * one for TRUNCATE.  It is recognized by its function, capture, and its
 * events, since users may rename it.  If there are several, it is the first by
 * name, so that all callers agree on one.  With fires it must also be enabled
 * as ALWAYS.  NULL if there is none.
 */
extern const Trigger *lb_capture_trigger(Relation rel, Oid capture, bool row,
										 bool fires);

/*
 * Whether an open relation has our row trigger, and if it is no partition also
 * our TRUNCATE trigger, and they fire.
 */
extern bool lb_has_triggers(Relation rel, Oid capture, bool part);

/*
 * Whether a BEFORE ROW trigger of the user may prevent that a row is written.
 * Raises nothing and looks nothing up.
 */
extern bool lb_may_keep_rows(Relation rel, const LbCatalog *cat);

/*
 * Whether a source and its partitions have all capture triggers, and these
 * fire.  Takes no lock.  Can raise.
 */
extern bool lb_is_captured(Oid source);

/*
 * Whether a table has our row trigger, enabled or not, as the catalog has it
 * now: the caches may not show yet what a transaction did that has ended.  Can
 * raise.
 */
extern bool lb_has_row_trigger(Oid source);

#endif							/* LB_CAPTURED_H */
