/*-------------------------------------------------------------------------
 *
 * player.h
 *	  Players: members of the boards that scores are submitted to.
 *
 * A player is a value of one type for all boards of a submit: a bigint for columns
 * of any integer type, a text for those of varchar.  The extension's own tables
 * have the player as text, as the type's output function gives it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PLAYER_H
#define LB_PLAYER_H

#include "catalog/pg_type_d.h"
#include "fmgr.h"

#include "boards/definition.h"

/* A type of players. */
typedef struct LbPlayerType
{
	Oid			oid;
	Oid			array;			/* type of an array of it */
	const char *name;			/* in pg_catalog */
	const char *sql_name;		/* as SQL has it, for messages */
} LbPlayerType;

/*
 * The type of a board's players, or NULL if its members cannot be players: their
 * text must not depend on settings.  The definition must be resolved.
 */
extern const LbPlayerType *lb_player_type(const LbDefinition *defn);

/* The same for a member column of this type, which may be a domain; can raise. */
extern const LbPlayerType *lb_player_type_of(Oid type);

/* The type of a board's players; raises 42804 if its members cannot be players. */
extern const LbPlayerType *lb_require_player_type(const LbDefinition *defn);

static inline bool
lb_players_are_text(const LbPlayerType *type)
{
	return type->oid == TEXTOID;
}

/*
 * The player that an argument is, which is text if the function has no twin: the
 * function that takes it as text.  Otherwise it is a bigint, and 42804 is raised
 * with a hint that names the twin if the type is another one.
 *
 * Raises what the type's input function raises, with the argument's name as
 * context, and 22001 if a text is too long to be on a board.
 */
extern Datum lb_player_from(const LbPlayerType *type, Datum argument,
							const char *name, const char *twin);

/* A player as text, palloc'd. */
extern text *lb_player_to_text(const LbPlayerType *type, Datum player);

/* What compares two players of a type, in C collation: a btree's function. */
extern FmgrInfo *lb_player_order(const LbPlayerType *type);

#endif							/* LB_PLAYER_H */
