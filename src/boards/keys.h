/*-------------------------------------------------------------------------
 *
 * keys.h
 *	  Column values as int64 key tuples, and the rank_by list.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_KEYS_H
#define LB_KEYS_H

#include "postgres.h"

#include "catalog/pg_type_d.h"

#include "access/attnum.h"

#include "index/core.h"

/* Columns that rank_by can name; with the member they make a key. */
#define LB_MAX_RANK_COLUMNS (LB_MAX_WIDTH - 1)

/* One column of rank_by. */
typedef struct LbRankColumn
{
	char		name[NAMEDATALEN];
	bool		descending;
	AttrNumber	attno;			/* of the source table; 0 until resolved */
	Oid			type;
} LbRankColumn;

/*
 * Parse an ORDER BY list over plain columns, "score DESC, updated_at ASC",
 * with identifiers quoted and folded as in SQL.  Fills name and descending of
 * at most LB_MAX_RANK_COLUMNS columns and returns how many there are.  Raises
 * ERRCODE_SYNTAX_ERROR, ERRCODE_FEATURE_NOT_SUPPORTED (expressions, USING,
 * NULLS FIRST/LAST, COLLATE), ERRCODE_TOO_MANY_COLUMNS,
 * ERRCODE_DUPLICATE_COLUMN.
 */
extern int	lb_parse_rank_by(const char *rank_by, LbRankColumn *columns);

/* rank_by in its canonical spelling, palloc'd. */
extern char *lb_format_rank_by(const LbRankColumn *columns, int ncolumns);

/*
 * Whether a type can be the score (the first column of rank_by), a further
 * column, a member, a family's board column.
 */
extern bool lb_score_type_ok(Oid type);
extern bool lb_tie_type_ok(Oid type);
extern bool lb_member_type_ok(Oid type);
extern bool lb_board_type_ok(Oid type);

/*
 * A value of an accepted type as an int64 that keeps the type's order, and
 * back.  Infinities of dates and timestamps keep their place at the ends.
 */
static inline int64
lb_encode(Datum value, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/*
 * A key word of a column: ascending order is rank order, so a descending
 * column is complemented.  Its own inverse.
 */
static inline int64
lb_directed(int64 value, bool descending)
{
	return descending ? ~value : value;
}

#endif							/* LB_KEYS_H */
