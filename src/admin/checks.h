/*-------------------------------------------------------------------------
 *
 * checks.h
 *	  What keeps a table from having a board.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CHECKS_H
#define LB_CHECKS_H

#include "utils/relcache.h"

#include "boards/definition.h"

/*
 * Raise 42602, 42622 or 42939 unless a board can have that name.  Another
 * server may record the windows of a leaderboard that is recorded here.
 */
extern void lb_check_board_name(const char *board, bool recording);

/* Raise unless a relation, which is locked, can have a board. */
extern void lb_check_source(Relation rel);

/*
 * Raise if the columns of a definition cannot have an index.  Its expressions
 * are analyzed.
 */
extern void lb_check_definition(const LbDefinition *defn, Relation rel);

/* Raise 0A000 if the board must keep members. */
extern void lb_check_counts(const LbDefinition *defn);

/* A hint for the problem that keeps a new board from having an index. */
extern int	lb_problem_hint(const LbDefinition *defn);

/*
 * The member of a board for which none is named: the table's primary key
 * without the board columns of the definition, which has nothing else but the
 * source; or a column called player_id.  Raises 22023 if there is neither.
 */
extern const char *lb_default_member(const LbDefinition *family);

#endif							/* LB_CHECKS_H */
