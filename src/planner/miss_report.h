/*-------------------------------------------------------------------------
 *
 * miss_report.h
 *	  Which misses of a statement are told, and to whom.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MISS_REPORT_H
#define LB_MISS_REPORT_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "planner/miss.h"

/* leaderboard.log_misses */
enum
{
	LB_LOG_MISSES_OFF,
	LB_LOG_MISSES_NOTICE,		/* to the client */
	LB_LOG_MISSES_LOG			/* to the server's log */
};

extern int	lb_log_misses;		/* LB_LOG_MISSES_* */

/* A board of a statement's tables, as it is told. */
typedef struct LbMissReport
{
	const LbMissed *missed;		/* the entry that is told; of a board that the
								 * statement uses, any one */
	bool		used;
	LbMiss		miss;			/* unless it is used */
} LbMissReport;

/*
 * Collect the misses of the next statement that is planned in *misses, whose
 * context is set; NULL: do not.
 */
extern void lb_request_misses(LbMisses *misses);

/*
 * The collector for a statement that is going to be planned with these cursor
 * options: the one that was requested, or a new one, in the current memory
 * context, if misses are logged; NULL if they are not wanted.
 */
extern LbMisses *lb_take_misses(int options);

/*
 * A query or a subquery is planned, with all its paths: note its boards, and
 * of which it asks something.  Only with lb_misses.  Can raise what a catalog
 * lookup can raise.
 */
extern void lb_note_query(PlannerInfo *root);

/*
 * Each board of the statement's tables, LbMissReport, given its finished plan.
 * The lists are palloc'd.
 */
extern List *lb_report_misses(const LbMisses *misses, const PlannedStmt *stmt);

/*
 * The texts of a report on a miss, palloc'd.  The numbers of rows in them are
 * for roles that may read the table's rows.
 */
extern void lb_miss_message(const LbMissReport *report, bool rows,
							char **reason, char **hint);

/*
 * Log the misses of a statement, as leaderboard.log_misses says: one for each
 * table of whose boards it asks something and uses none.  Raises no error but
 * what a catalog lookup can raise.
 */
extern void lb_log_missed(const LbMisses *misses, const PlannedStmt *stmt);

#endif							/* LB_MISS_REPORT_H */
