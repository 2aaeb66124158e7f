/*-------------------------------------------------------------------------
 *
 * rows.h
 *	  Lists of rows from the index.
 *
 * The routines of functions that return rows: see LbReadFunction.rows in
 * call.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ROWS_H
#define LB_ROWS_H

#include "reads/call.h"
#include "reads/row_list.h"

extern bool lb_top_rows(LbCall *call, Datum *result, bool *isnull);
extern bool lb_metadata_rows(LbCall *call, Datum *result, bool *isnull);
extern bool lb_page_rows(LbCall *call, Datum *result, bool *isnull);
extern bool lb_at_rows(LbCall *call, Datum *result, bool *isnull);
extern bool lb_around_rows(LbCall *call, Datum *result, bool *isnull);
extern bool lb_ranks_rows(LbCall *call, Datum *result, bool *isnull);
extern bool lb_among_rows(LbCall *call, Datum *result, bool *isnull);

/*
 * Consecutive entries of a board, or entries at even distances, and their
 * keys: those from a key on, and before another one.  A key is none (0 words),
 * the word of a score, or a whole key.
 */
typedef struct LbSection
{
	const int64 *from;
	int			from_words;
	const int64 *upto;			/* none: the end */
	int			upto_words;
	int64		back;			/* begin this many entries before from */
	int64		n;				/* the most entries to read */
	bool		even;			/* if there are more, leave out some
								 * everywhere */

	/* Set by the read: entries before these, and better scores than from's. */
	int64		before;
	int64		before_upto;
	int64		better;
} LbSection;

/* The most rows that are copied out; a call for more runs its query. */
#define LB_MAX_ROWS 1000000

/* Rows, members or buckets after which the read yields. */
#define LB_YIELD_ROWS 1024

/*
 * After this number of rows, members or buckets, yield if it is time.  Returns
 * false if the query must be run; then the lock is not held.
 */
static inline bool
lb_go_on(LbCall *call, int64 done)
{
	return done == 0 || done % LB_YIELD_ROWS != 0 ||
		lb_access_yield(&call->access);
}

/*
 * For our own code and for JSON: the rows of lb_top(), with operands n and
 * skip, of lb_around(), with operands member and radius, and of lb_ranks(),
 * with the members of lb_array_operand().  They are allocated in the current
 * memory context; false means that the query must be run.
 */
extern bool lb_read_top_rows(LbCall *call, LbRows *rows);
extern bool lb_read_around_rows(LbCall *call, LbRows *rows);
extern bool lb_read_ranks_rows(LbCall *call, const LbMembers *members,
							   LbRows *rows);

/*
 * lb_read_ranks_rows() for a board that keeps counts.  The members of a call
 * as text are those of call->members.
 */
extern bool lb_read_counted_ranks(LbCall *call, const LbMembers *members,
								  LbRows *rows);

/*
 * For a board that keeps counts: find where a page of n rows behind the first
 * skip ones begins, or the rows around the member that is the first operand,
 * so that the query reads these rows alone (LbCall.start).  Returns false if
 * the query must be run; true with no rows if there are none.
 */
extern bool lb_find_page(LbCall *call, int64 skip, int64 n, LbRows *rows);
extern bool lb_find_around(LbCall *call, int64 radius, LbRows *rows);

/*
 * Read the keys of those members that are on the board, with rank and score.
 */
extern bool lb_read_among_rows(LbCall *call, const LbMembers *members,
							   LbRows *rows);

/*
 * Read such keys on this server only.  The ranks in rows mean nothing.
 */
extern bool lb_read_keys_rows(LbCall *call, const LbMembers *members,
							  LbRows *rows);

/*
 * Read a section of a board, with whole keys, and with places, counted
 * from 1, as ranks.  The method of the call is LB_ROW_NUMBER, and its function
 * lb_page().
 */
extern bool lb_read_section(LbCall *call, LbSection *section, LbRows *rows);

#endif							/* LB_ROWS_H */
