/*-------------------------------------------------------------------------
 *
 * turn.c
 *	  Turns of databases: what the launcher knows of a visit to one.
 *
 * One maintenance worker after the other visits a database.  Code of users
 * that runs in it must not keep it from the other databases.  So each step
 * has a limit, and a visit that has gone on for long ends between two steps,
 * and goes on when the others have had their turn.  A visit consists of
 * tasks: the next one begins with the task behind that in which this one
 * ended, so that this task comes last.
 *
 * A database in which a step took too long waits for 1, 2, 4, and so on
 * rounds, twice as many after each such visit, until a visit has done all of
 * its tasks.
 *
 * The worker cancels a late step itself.  Code of users can catch the error,
 * and timers of a process go by the server's clock, which can be set back.
 * So the launcher terminates the worker after twice the time, by its own
 * clock.  If that does not end it, since the code does not look for
 * interrupts, the launcher leaves it alone after three times the time, and
 * goes on with the other databases.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "boards/shared.h"
#include "util/clock.h"
#include "workers/turn.h"

/* Most rounds that pass without a database: two to the power of this. */
#define MAX_SKIP_POWER 4

/* A database whose last visit did not do everything. */
typedef struct Turn
{
	Oid			database;
	int			first;			/* the task to begin with */
	int			times;			/* visits in which a step took too long */
	int			skip;			/* rounds that pass without it */
} Turn;


/* ----------------------------------------------------------------
 *		In the worker
 * ----------------------------------------------------------------
 */

void
lb_turn_step(int task, int limit)
{
	/* The launcher has left this worker alone. */
	if (pg_atomic_read_u32(&lb_shared->visited) != MyDatabaseId)
		return;

	/*
	 * In this order: see lb_turn_age().  The addition is a full barrier.
	 */
	pg_write_barrier();
	pg_atomic_write_u32(&lb_shared->visit_task, task);
	pg_atomic_write_u32(&lb_shared->visit_limit, limit);
	pg_atomic_fetch_add_u32(&lb_shared->visit_step, 1);
	pg_atomic_write_u32(&lb_shared->visit_state, LB_VISIT_STEP);
}

void
lb_turn_note(LbVisitState state)
{
	if (pg_atomic_read_u32(&lb_shared->visited) == MyDatabaseId)
		pg_atomic_write_u32(&lb_shared->visit_state, state);
}


/* ----------------------------------------------------------------
 *		In the launcher
 * ----------------------------------------------------------------
 */

static Turn *
find_turn(List *turns, Oid database)
{
	ListCell   *lc;

	foreach(lc, turns)
	{
		Turn	   *turn = lfirst(lc);

		if (turn->database == database)
			return turn;
	}
	return NULL;
}

int
lb_turn_begin(List *turns, Oid database)
{
	Turn	   *turn = find_turn(turns, database);

	pg_atomic_write_u32(&lb_shared->visit_state, LB_VISIT_BETWEEN);
	pg_atomic_write_u32(&lb_shared->visited, database);
	return turn == NULL ? 0 : turn->first;
}

bool
lb_turn_end(List **turns)
{
	Oid			database = pg_atomic_exchange_u32(&lb_shared->visited, InvalidOid);
	LbVisitState state = pg_atomic_read_u32(&lb_shared->visit_state);
	Turn	   *turn = find_turn(*turns, database);
	MemoryContext old;

	if (state == LB_VISIT_DONE && turn != NULL)
	{
		*turns = list_delete_ptr(*turns, turn);
		pfree(turn);
	}
	if (state == LB_VISIT_DONE || state == LB_VISIT_BETWEEN)
		return false;
	if (turn == NULL)
	{
		old = MemoryContextSwitchTo(TopMemoryContext);
		turn = palloc0(sizeof(Turn));
		turn->database = database;
		*turns = lappend(*turns, turn);
		MemoryContextSwitchTo(old);
	}
	turn->first = pg_atomic_read_u32(&lb_shared->visit_task) + 1;
	if (state == LB_VISIT_MORE)
		return true;
	turn->skip = 1 << Min(turn->times, MAX_SKIP_POWER);
	turn->times++;
	return false;
}

List *
lb_turns_skip(List **turns, List *due)
{
	ListCell   *lc;

	foreach(lc, *turns)
	{
		Turn	   *turn = lfirst(lc);

		if (!list_member_oid(due, turn->database))
		{
			/* It has no boards any more. */
			*turns = foreach_delete_current(*turns, lc);
			pfree(turn);
		}
		else if (turn->skip > 0)
		{
			turn->skip--;
			due = list_delete_oid(due, turn->database);
		}
	}
	return due;
}

LbStepAge
lb_turn_age(void)
{
	static uint32 seen = 0;
	static int64 since = 0;
	uint32		step;
	uint32		state;
	int64		limit;
	int64		age;

	/*
	 * The state and the limit of one step: the worker notes the end of a step
	 * before it stores the limit of the next one, then counts that, then
	 * notes its beginning.
	 */
	do
	{
		step = pg_atomic_read_u32(&lb_shared->visit_step);
		pg_read_barrier();
		limit = pg_atomic_read_u32(&lb_shared->visit_limit) * USECS_PER_SEC;
		pg_read_barrier();
		state = pg_atomic_read_u32(&lb_shared->visit_state);
		pg_read_barrier();
	} while (step != pg_atomic_read_u32(&lb_shared->visit_step));

	if (step != seen || since == 0)
	{
		seen = step;
		since = lb_clock();
	}
	if (limit == 0 || state != LB_VISIT_STEP)
		return LB_STEP_YOUNG;
	age = lb_clock() - since;
	return age > 3 * limit ? LB_STEP_STUCK : age > 2 * limit ? LB_STEP_OLD :
		LB_STEP_YOUNG;
}
