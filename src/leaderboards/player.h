/*-------------------------------------------------------------------------
 *
 * player.h
 *	  Players: members of the boards that scores are submitted to.
 *
 * A player is a value of one type for all boards of a submit: a bigint for
 * columns of any integer type, a text for those of varchar.  The extension's
 * own tables have the player as text, as the type's output function gives it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PLAYER_H
#define LB_PLAYER_H

#include "fmgr.h"

#include "boards/definition.h"
#include "reads/text.h"

/*
 * The type of a board's players, or NULL if its members cannot be players: a
 * player is one column, whose text does not depend on settings.  The
 * definition must be resolved.
 */
extern const LbType *lb_player_type(const LbDefinition *defn);

/*
 * The same for a member column of this type, which may be a domain; can raise.
 */
extern const LbType *lb_player_type_of(Oid type);

/*
 * The type of a board's players; raises 42804 if its members cannot be
 * players, and 0A000 if it has no members.
 */
extern const LbType *lb_require_player_type(const LbDefinition *defn);

/* An argument that is a player. */
typedef struct LbPlayerArgument
{
	LbArgument	argument;
	bool		as_text;		/* or as bigint */
} LbPlayerArgument;

/* The name of the function, or of its twin, with brackets. */
extern const char *lb_player_function(const LbPlayerArgument *argument);

/*
 * Define a function of SQL, and its twin whose player is text, or of any type:
 * body(fcinfo, as_text) returns a Datum.
 */
#define LB_TWINS(name, body) \
	PG_FUNCTION_INFO_V1(name); \
	PG_FUNCTION_INFO_V1(name##_key); \
	Datum name(PG_FUNCTION_ARGS) { return body(fcinfo, false); } \
	Datum name##_key(PG_FUNCTION_ARGS) { return lb_call_with_text(fcinfo, body); }

/*
 * The player that a value of the argument is, of the type of the board's
 * players.  Raises 42804 if it is a bigint and players are not, what the
 * type's input function raises, and 22001 if a text is too long to be on a
 * board.
 */
extern Datum lb_player_from(const LbDefinition *defn, const LbType *type,
							Datum value, const LbPlayerArgument *argument);

/*
 * A player as a write to the board's table stores it: varchar(n) cuts blanks
 * that it has no room for off the end.  Raises 22001, as a write does, if
 * there is no room for the other characters.
 */
extern Datum lb_player_as_stored(const LbDefinition *defn, Datum player);

/*
 * The same for a player who is looked for: one for whom there is no room has
 * no row, and stays as it is.  Can raise what a catalog lookup can raise.
 */
extern Datum lb_player_as_sought(const LbDefinition *defn, Datum player);

/* What compares two players of a type, in C collation: a btree's function. */
extern FmgrInfo *lb_player_order(const LbType *type);

#endif							/* LB_PLAYER_H */
