/*-------------------------------------------------------------------------
 *
 * miss.h
 *	  Why a query does not use a board.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MISS_H
#define LB_MISS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "boards/definition.h"

/*
 * Reasons.  Where several attempts have failed, the last reason in this list
 * is the one that is told: that of the attempt that came farthest, or one that
 * forbids all of them.  miss.c has the text of each, and docs/plain-sql.md the
 * same texts.
 */
typedef enum LbMiss
{
	LB_MISS_NOT_ASKED,
	LB_MISS_OTHER,

	/* Forms that have no attempt, or only that of a scan. */
	LB_MISS_APART,
	LB_MISS_SCAN_COST,
	LB_MISS_ALL_RANKS,
	LB_MISS_DISTINCT,
	LB_MISS_GROUPS,
	LB_MISS_JOIN,
	LB_MISS_SUBQUERY,
	LB_MISS_PARTITIONED,
	LB_MISS_COUNTS,
	LB_MISS_VOLATILE,
	LB_MISS_SYSTEM_COLUMN,
	LB_MISS_OFFSET,

	/* Conditions. */
	LB_MISS_CONSTANT,
	LB_MISS_CONDITION,
	LB_MISS_RANGE,
	LB_MISS_WHICH_BOARD,
	LB_MISS_OFF_BOARD,

	/* What is computed, and the order. */
	LB_MISS_AGGREGATE,
	LB_MISS_FILTER,
	LB_MISS_DISTINCT_SCORES,
	LB_MISS_WINDOW_FUNCTION,
	LB_MISS_WINDOW,
	LB_MISS_ORDER,
	LB_MISS_TEXT,
	LB_MISS_FEW_ROWS,
	LB_MISS_VIEW_ORDER,

	/* All of it is recognized. */
	LB_MISS_NOT_READY,
	LB_MISS_MEMBER_INDEX,
	LB_MISS_MEMORY,
	LB_MISS_COST,

	/* The table, as the query reads it. */
	LB_MISS_NO_ROWS,
	LB_MISS_WRITES,
	LB_MISS_LOCKS,
	LB_MISS_SAMPLE,
	LB_MISS_INHERITED,
	LB_MISS_PARTITION,
	LB_MISS_POLICIES,
	LB_MISS_OFFLINE,
	LB_MISS_DISABLED,

	LB_MISS_OTHER_BOARD,
	LB_NMISSES
} LbMiss;

/*
 * A reason's text.  One %s at most is a detail; the hint may have it as well.
 */
typedef struct LbMissText
{
	const char *reason;
	const char *hint;
} LbMissText;

extern const LbMissText lb_miss_texts[LB_NMISSES];

/* A board of a table that a query, or a subquery, reads. */
typedef struct LbMissed
{
	PlannerInfo *root;			/* of the query ... */
	Index		relid;			/* ... and the table there */
	Oid			table;			/* a partition, if the board is of a table
								 * above it */
	const LbDefinition *defn;	/* in memory of the transaction */
	bool		asked;			/* the query orders, counts or ranks by its
								 * score */
	LbMiss		miss;
	const char *detail;			/* for the text, or NULL */
	int64		off_board;		/* with LB_MISS_OFF_BOARD */
} LbMissed;

/* A column of a subquery.  Many expressions above it may have it. */
typedef struct LbMissedOutput
{
	PlannerInfo *subroot;
	AttrNumber	attno;
} LbMissedOutput;

/* Whether two definitions are of one board, or family. */
static inline bool
lb_is_same_board(const LbDefinition *a, const LbDefinition *b)
{
	return a->catalog == b->catalog && a->id == b->id;
}

/* What is noted while a statement is planned. */
typedef struct LbMisses
{
	MemoryContext context;		/* of the rest */
	List	   *boards;			/* of LbMissed */
	List	   *outputs;		/* of LbMissedOutput, those that have been
								 * looked at */
	bool		logged;			/* to be logged when it is planned */
} LbMisses;

/* Of the statement that is planned now; NULL if its misses are not wanted. */
extern LbMisses *lb_misses;

/*
 * The boards of a table of a query, LbMissed; those of the tables above it if
 * the query reads a single partition.  NIL if there are none, or if that
 * cannot be told without waiting.  Only with lb_misses.  Can raise what a
 * catalog lookup can raise.
 */
extern List *lb_missed_boards(PlannerInfo *root, Index relid);

/*
 * Note why a board is not used for a table of a query; of a query, or of all
 * its tables if relid is 0, the same for all boards.  An expression of the
 * query may be the detail.  Only with lb_misses.  Can raise likewise.
 */
extern void lb_note_miss(PlannerInfo *root, Index relid,
						 const LbDefinition *defn, LbMiss miss,
						 const char *detail);
extern void lb_note_miss_of_all(PlannerInfo *root, Index relid, LbMiss miss);
extern void lb_note_missed_expr(PlannerInfo *root, Index relid,
								const LbDefinition *defn, LbMiss miss,
								Node *expr);

/*
 * Note that rows of the table are off the board, with their number, and which
 * conditions leave them out.
 */
extern void lb_note_off_board(PlannerInfo *root, Index relid,
							  const LbDefinition *defn, int64 rows,
							  const char *conditions);

/*
 * No board is used for a table of a query, or for any of its tables, for a
 * reason.  These return false, as those of match.h do, for a caller that gives
 * up.
 */
static inline bool
lb_miss_table(PlannerInfo *root, Index relid, LbMiss miss)
{
	if (unlikely(lb_misses != NULL))
		lb_note_miss_of_all(root, relid, miss);
	return false;
}

static inline bool
lb_miss_query(PlannerInfo *root, LbMiss miss)
{
	return lb_miss_table(root, 0, miss);
}

#endif							/* LB_MISS_H */
