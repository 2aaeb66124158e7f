/*-------------------------------------------------------------------------
 *
 * lists.h
 *	  The lists of columns that define a board: rank_by and member.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LISTS_H
#define LB_LISTS_H

#include "postgres.h"

#include "boards/keys.h"
#include "util/compat.h"

/*
 * Why a text is no such list.  Texts are palloc'd or constant; detail may be
 * NULL.
 */
typedef struct LbListError
{
	const char *list;			/* "rank_by", "member", "board_column" or
								 * "ranked_if" */
	bool		expressions;	/* it can have some */
	bool		directed;		/* the first item has ASC or DESC, also if
								 * there is no error */
	int			sqlerrcode;
	const char *message;
	const char *detail;
	const char *hint;
} LbListError;

/*
 * Parse an ORDER BY list over columns and expressions, "(points / games) DESC,
 * updated_at ASC", with identifiers quoted and folded as in SQL.  Fills name
 * or expression, role and descending of at most LB_MAX_RANK_COLUMNS columns
 * and returns how many there are.  An expression is in parentheses or the call
 * of a function; it is not parsed itself.  Returns 0 if it is not such a list,
 * and why: ERRCODE_SYNTAX_ERROR, ERRCODE_FEATURE_NOT_SUPPORTED (USING, NULLS
 * FIRST/LAST, COLLATE), ERRCODE_TOO_MANY_COLUMNS, ERRCODE_DUPLICATE_COLUMN.
 */
extern int	lb_parse_rank_by(const char *rank_by, LbColumn *columns,
							 LbListError *error);

/*
 * The same for a list of at most LB_MAX_MEMBER_COLUMNS columns without
 * directions, "uid, tank_id".
 */
extern int	lb_parse_member(const char *member, LbColumn *columns,
							LbListError *error);

/*
 * The same for the board columns of a family, or expressions for them, at most
 * LB_MAX_VALUE_COLUMNS.
 */
extern int	lb_parse_board_column(const char *list, LbColumn *columns,
								  LbListError *error);

/*
 * The same for a column of type boolean or a condition, which needs no
 * parentheses.
 */
extern int	lb_parse_ranked_if(const char *condition, LbColumn *column,
							   LbListError *error);

/* The list that columns of a role are in: an argument of lb_create_board(). */
extern const char *const lb_list_names[LB_NROLES];

/* Raise that. */
pg_noreturn extern void lb_raise_list_error(const LbListError *error);

/* Raise 42601: what is best of a new board is not guessed. */
pg_noreturn extern void lb_raise_undirected(const LbColumn *score);

/*
 * Raise 42701: that column or expression is twice in the list that is the
 * argument of this name.
 */
pg_noreturn extern void lb_raise_twice(const char *list,
									   const LbColumn *column);

/* A column or an expression as the lists have it. */
extern const char *lb_recorded(const LbColumn *column);

/* The lists in their canonical spelling, palloc'd. */
extern char *lb_format_rank_by(const LbColumn *columns, int ncolumns);
extern char *lb_format_member(const LbColumn *columns, int ncolumns);

#endif							/* LB_LISTS_H */
