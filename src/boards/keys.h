/*-------------------------------------------------------------------------
 *
 * keys.h
 *	  The columns of a board, their types, and the int64 words of a key.
 *
 * A key is a tuple of int64 words: those of the rank_by columns, then those of
 * the member.  Every column is mapped so that ascending order is rank order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_KEYS_H
#define LB_KEYS_H

#include "postgres.h"

#include "access/attnum.h"
#include "catalog/pg_type_d.h"

#include "index/shape.h"

/* What a column of the source is to its board. */
typedef enum LbRole
{
	LB_ROLE_SCORE,				/* the first column of rank_by */
	LB_ROLE_TIE,				/* a further one */
	LB_ROLE_MEMBER,
	LB_ROLE_BOARD,				/* of a family: the name of the row's board */
	LB_ROLE_RANKED_IF,
	LB_NROLES
} LbRole;

#define LB_MAX_RANK_COLUMNS 7

/* These, the member, the board column and ranked_if. */
#define LB_MAX_BOARD_COLUMNS (LB_MAX_RANK_COLUMNS + 3)

/*
 * A type that a column of a board can have.  The table of them is in keys.c.
 * encode and to_json neither raise nor allocate; decode can palloc its result.
 */
typedef struct LbType
{
	Oid			oid;
	const char *name;			/* in pg_catalog */
	const char *sql_name;		/* as SQL has it, for messages */
	uint32		roles;			/* that it can have, LB_ROLE_BIT() each */

	/* In a key. */
	int			words;			/* that a value takes */
	void		(*encode) (Datum value, int64 *words);	/* keeps the order */

	/*
	 * As a member.  Reads take and return it as the type shown, which takes
	 * as many words, has a fixed length, and has the fields below in its row.
	 * to_json writes json_len bytes at most, with a NUL, and returns the
	 * length.
	 */
	Oid			shown;
	Oid			array;			/* type of an array of it */
	Datum		(*decode) (const int64 *words);
	int			(*to_json) (const int64 *words, char *json);
	int			json_len;

	/* As the name of a family's board. */
	bool		is_text;		/* the value is the name */
	int64		max;			/* else an integer of -max - 1 to max */
} LbType;

#define LB_ROLE_BIT(role) (1 << (role))

/* A column of a board's source. */
typedef struct LbColumn
{
	char		name[NAMEDATALEN];
	const LbType *type;			/* NULL until resolved, or if it does not fit */
	AttrNumber	attno;			/* of the source; 0 likewise */
	uint8		role;			/* LbRole */
	bool		descending;
} LbColumn;

/* The type, if columns of it can have that role; else NULL. */
extern const LbType *lb_type_for(Oid type, LbRole role);

/* The types that can have a role, for a message, palloc'd: "smallint, bigint". */
extern char *lb_types_for(LbRole role);

/* The column's name as SQL text, quoted where that is needed. */
extern const char *lb_quoted(const LbColumn *column);

/*
 * A word of a column: ascending order is rank order, so that of a descending
 * column is complemented.  Its own inverse.
 */
static inline int64
lb_directed(int64 value, bool descending)
{
	return descending ? ~value : value;
}

/* The words of a column's value in a key; returns how many. */
static inline int
lb_encode(const LbColumn *column, Datum value, int64 *words)
{
	const LbType *type = column->type;

	type->encode(value, words);
	if (column->descending)
	{
		for (int i = 0; i < type->words; i++)
			words[i] = ~words[i];
	}
	return type->words;
}

#endif							/* LB_KEYS_H */
