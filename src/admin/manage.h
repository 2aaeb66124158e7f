/*-------------------------------------------------------------------------
 *
 * manage.h
 *	  Making, changing and dropping boards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MANAGE_H
#define LB_MANAGE_H

#include "fmgr.h"

#include "boards/definition.h"

/*
 * Make a board of a definition that has its name, source, method, what it
 * keeps, what its reads do while it is offline and the names of its columns:
 * check it, make its triggers, record it.  Locks the source in
 * ShareRowExclusiveLock, to the end of the transaction.  Raises if the board
 * cannot be made.  With if_not_exists, a board of that name is left as it is.
 */
extern void lb_make_board(LbDefinition *defn, bool if_not_exists);

/*
 * The definition that the arguments of lb_create_board() are; with recording,
 * the same ones of a function that records a board that another server has
 * made.  Raises what they raise.
 */
extern void lb_take_definition(FunctionCallInfo fcinfo, LbDefinition *defn,
							   bool recording);

/*
 * Record a definition, and return it as recorded.  With distributed, make no
 * triggers: its indexes are on other servers.  Keeps the name from other
 * boards and windows to the end of the transaction; raises if it is taken, or
 * if the board can have no index.
 */
extern LbDefinition *lb_record_defn(LbDefinition *defn,
									bool distributed);

/*
 * Record the options of a recorded board that its index does not depend on, as
 * the definition has them.  Its source must be locked, so that no other
 * session drops the board.  Raises what writing to lb_board can raise.
 */
extern void lb_record_options(const LbDefinition *defn);

/*
 * Lock sources, and their partitions, against writers, to the end of the
 * transaction.  A transaction that does not know a definition yet captures
 * nothing for it: wait until it has ended, and make the next one wait for us.
 * A source without a row trigger is not locked: in a restore there are no
 * triggers yet, and COPY may take hours.
 */
extern void lb_lock_captured(List *sources);

/* Delete the row of lb_board. */
extern void lb_unrecord_defn(const LbDefinition *defn);

/*
 * Columns of a table were renamed, or have other types, or what an expression
 * names was altered: record for the board old, as it was before, what its
 * columns and expressions are called now.  The board gets a new number, so
 * that it is another board from then on.  Does nothing if this transaction has
 * done that.  Locks the table as lb_lock_captured().  Raises what writing to
 * lb_board can raise.
 */
extern void lb_follow_rename(const LbDefinition *old);

/*
 * Have a board built again when the transaction commits, as after an
 * alteration of what its expressions name.
 */
extern void lb_record_anew(LbDefinition *defn, const char *reason);

#endif							/* LB_MANAGE_H */
