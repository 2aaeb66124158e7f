/*-------------------------------------------------------------------------
 *
 * rank_by.h
 *	  The rank_by list.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANK_BY_H
#define LB_RANK_BY_H

#include "postgres.h"

#include "boards/keys.h"
#include "util/compat.h"

/* Why a text is not a rank_by list.  Texts are palloc'd or constant; detail may be NULL. */
typedef struct LbRankByError
{
	int			sqlerrcode;
	const char *message;
	const char *detail;
	const char *hint;
} LbRankByError;

/*
 * Parse an ORDER BY list over plain columns, "score DESC, updated_at ASC",
 * with identifiers quoted and folded as in SQL.  Fills name, role and descending
 * of at most LB_MAX_RANK_COLUMNS columns and returns how many there are.  Returns
 * 0 if it is not such a list, and why: ERRCODE_SYNTAX_ERROR,
 * ERRCODE_FEATURE_NOT_SUPPORTED (expressions, USING, NULLS FIRST/LAST, COLLATE),
 * ERRCODE_TOO_MANY_COLUMNS, ERRCODE_DUPLICATE_COLUMN.
 */
extern int	lb_parse_rank_by(const char *rank_by, LbColumn *columns,
							 LbRankByError *error);

/* Raise that. */
pg_noreturn extern void lb_raise_rank_by(const LbRankByError *error);

/* rank_by in its canonical spelling, palloc'd. */
extern char *lb_format_rank_by(const LbColumn *columns, int ncolumns);

#endif							/* LB_RANK_BY_H */
