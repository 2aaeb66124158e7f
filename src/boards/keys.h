/*-------------------------------------------------------------------------
 *
 * keys.h
 *	  The columns of a board, their types, and the int64 words of a key.
 *
 * A key is a tuple of int64 words: those of the rank_by columns, then those of
 * the member's columns.  Every column is mapped so that ascending order is
 * rank order; shape.h has the layout.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_KEYS_H
#define LB_KEYS_H

#include "postgres.h"

#include "access/attnum.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"

#include "index/shape.h"

/*
 * A Datum holds a word of a key, and 64-bit fields of shared memory are read
 * at once.
 */
#if SIZEOF_DATUM != 8 || SIZEOF_VOID_P != 8
#error "leaderboard needs a platform of 64 bits"
#endif

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
#define LB_MAX_MEMBER_COLUMNS 4
#define LB_MAX_VALUE_COLUMNS 4	/* of the names of a family's boards */

/* The most digits of a numeric. */
#define LB_MAX_PRECISION 18

/* The most bytes of a text in a key, and its words. */
#define LB_MAX_TEXT 512
#define LB_MAX_TEXT_WORDS (LB_MAX_TEXT / 8 + 1)

/* These, the board columns and ranked_if. */
#define LB_MAX_BOARD_COLUMNS (LB_MAX_RANK_COLUMNS + LB_MAX_MEMBER_COLUMNS + \
							  LB_MAX_VALUE_COLUMNS + 1)

/*
 * The longest value of the board columns, in bytes, whose board gets an index.
 * Boards with longer values are answered by their queries.
 */
#define LB_MAX_VALUE 1024

/* How to_json() shows a value. */
typedef enum LbJson
{
	LB_JSON_NUMBER,				/* its output form; quoted if NaN or infinite */
	LB_JSON_STRING,				/* its output form, quoted and escaped */
	LB_JSON_BOOLEAN,
	LB_JSON_DATETIME			/* as JsonEncodeDateTime() has it, quoted */
} LbJson;

/*
 * The value of the board columns, by which a family's boards differ.  It is
 * what stands in a board's name, but for an enum: see board_value.c.
 */
typedef struct LbValue
{
	int			len;
	const char *data;
} LbValue;

struct LbColumn;

/*
 * A type that a column of a board can have, by itself or below domains.  The
 * table of them is in types.c.
 */
typedef struct LbType
{
	Oid			oid;
	const char *name;			/* in pg_catalog */
	const char *sql_name;		/* as SQL has it, for messages */
	uint32		roles;			/* that it can have, LB_ROLE_BIT() each */

	/*
	 * In a key.  encode puts a value's words, which keep the order, and
	 * returns how many they are: as many as the type says, or
	 * LB_MAX_KEY_WORDS at most.  It returns 0 for a value that no key has: a
	 * text that is too long, or an operand that the column could not hold. It
	 * does not raise, and can palloc what it leaves to its memory context.
	 *
	 * decode makes the value again of the words that encode has put, palloc'd
	 * if the type is by reference.
	 */
	int			words;			/* that a value takes, or LB_TEXT */
	int			(*encode) (const struct LbColumn *column, Datum value,
						   int64 *words);
	Datum		(*decode) (const struct LbColumn *column, const int64 *words);

	/*
	 * PostgreSQL's own functions: in(cstring, oid of the type, -1),
	 * out(value).
	 */
	PGFunction	in;
	PGFunction	out;
	Oid			array;			/* type of an array of it */
	LbJson		json;
	bool		plain;			/* an integer: functions show it as a bigint */
	int64		max;			/* of these; the least is -max - 1 */

	/*
	 * As a board column: see board_value.h.  Texts have no is_value, since
	 * each text is a value.
	 */
	bool		is_text;
	void		(*value) (const struct LbColumn *column, Datum datum,
						  LbValue *value, char *room);
	bool		(*is_value) (const struct LbColumn *column,
							 const LbValue *value);
} LbType;

#define LB_ROLE_BIT(role) (1 << (role))

struct LbExpression;

/* A column of a board's source, or an expression in its place. */
typedef struct LbColumn
{
	char		name[NAMEDATALEN];	/* empty for an expression */
	struct LbExpression *expression;	/* NULL for a column */
	const LbType *type;			/* NULL until resolved, or if it does not fit */
	Oid			oid;			/* of the type below domains; known likewise */
	AttrNumber	attno;			/* of the source; 0 likewise, and for an
								 * expression */
	int16		scale;			/* of a numeric */
	uint8		role;			/* LbRole */
	bool		descending;
} LbColumn;

/* The column's type below domains as SQL text, palloc'd or constant. */
extern const char *lb_sql_type(const LbColumn *column);

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

/*
 * The words of a column's value in a key; returns how many, or 0 if no key has
 * the value.
 */
static inline int
lb_encode(const LbColumn *column, Datum value, int64 *words)
{
	int			n = column->type->encode(column, value, words);

	if (column->descending)
	{
		for (int i = 0; i < n; i++)
			words[i] = ~words[i];
	}
	return n;
}

/* Append a column's words to those of a key; false if no key has that many. */
static inline bool
lb_append_words(int64 *key, int *used, const int64 *words, int n)
{
	if (n == 0 || *used + n > LB_MAX_KEY_WORDS)
		return false;
	memcpy(key + *used, words, n * sizeof(int64));
	*used += n;
	return true;
}

#endif							/* LB_KEYS_H */
