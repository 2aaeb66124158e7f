/*-------------------------------------------------------------------------
 *
 * turn.h
 *	  Turns of databases: what the launcher knows of a visit to one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TURN_H
#define LB_TURN_H

#include "nodes/pg_list.h"

/* How far a visit has come.  A worker that ends in a step leaves that. */
typedef enum LbVisitState
{
	LB_VISIT_BETWEEN,			/* between two steps, or it ended by an error */
	LB_VISIT_STEP,				/* in a step */
	LB_VISIT_LATE,				/* ended, since a step took too long */
	LB_VISIT_MORE,				/* ended, since its time is up */
	LB_VISIT_DONE				/* ended: there is no more to do */
} LbVisitState;

/*
 * In the worker, which visits its database: a step of task begins, and may
 * take that many seconds, 0 for any time.  The launcher ends the worker if it
 * takes twice as long.
 */
extern void lb_turn_step(int task, int limit);

/* In the worker: the step has ended, or the visit has. */
extern void lb_turn_note(LbVisitState state);

/*
 * In the launcher, all lists of turns being in TopMemoryContext.  A visit to a
 * database begins: returns the task that it is to begin with.
 */
extern int	lb_turn_begin(List *turns, Oid database);

/*
 * The visit that has begun last has ended.  Returns whether the database is to
 * be visited again in this round.
 */
extern bool lb_turn_end(List **turns);

/*
 * Of the databases that are due in a new round, leave out those that have to
 * wait.  Call it once in each round.
 */
extern List *lb_turns_skip(List **turns, List *due);

/* What has become of a step. */
typedef enum LbStepAge
{
	LB_STEP_YOUNG,				/* or there is none */
	LB_STEP_OLD,				/* its worker is to be terminated */
	LB_STEP_STUCK				/* that was in vain */
} LbStepAge;

/*
 * Whether the step that runs takes too long.  Call it every now and then,
 * during a visit: its time is counted from the first call that finds it.
 */
extern LbStepAge lb_turn_age(void);

#endif							/* LB_TURN_H */
