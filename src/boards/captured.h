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

/* The triggers that every source has, by the names that we give them. */
#define LB_ROW_TRIGGER "leaderboard_capture"
#define LB_TRUNCATE_TRIGGER "leaderboard_capture_truncate"

/*
 * The trigger by which an open relation is captured: for each row, or for
 * TRUNCATE.  It is known by its function, capture, and by what it fires for, since
 * others may give it another name.  Of several it is the first in the order of
 * their names, as all who ask must agree on one.  With fires it must also be
 * enabled as ALWAYS.  NULL if there is none.
 */
extern const Trigger *lb_capture_trigger(Relation rel, Oid capture, bool row,
										 bool fires);

/*
 * Whether our row trigger is there and fires, and unless it is a partition our
 * TRUNCATE trigger.
 */
extern bool lb_has_triggers(Relation rel, Oid capture, bool part);

/* Whether a row trigger of the user's comes before what is written. */
extern bool lb_may_keep_rows(Relation rel, const LbCatalog *cat);

/*
 * Whether a source and its partitions have all capture triggers, and these
 * fire.  Takes no lock.
 */
extern bool lb_is_captured(Oid source);

/* Whether what is written to a table is captured, for whatever boards. */
extern bool lb_has_row_trigger(Oid source);

#endif							/* LB_CAPTURED_H */
