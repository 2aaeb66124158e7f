/*-------------------------------------------------------------------------
 *
 * spi_old.c
 *	  Statements with arrays of types, values and nulls; goes when nothing uses
 *	  it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sql/spi.h"

static LbArg *
join_args(int nargs, const Oid *types, Datum *values, const char *nulls)
{
	LbArg	   *args = palloc(Max(1, nargs) * sizeof(LbArg));

	for (int i = 0; i < nargs; i++)
		args[i] = lb_arg_or_null(types[i], values[i],
								 nulls != NULL && nulls[i] == 'n');
	return args;
}

uint64
lb_plan_run(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
			Oid table, Oid other, int nargs, const Oid *types, Datum *values)
{
	return lb_plan_exec(kept, key, text, arg, table, other, nargs,
						join_args(nargs, types, values, NULL));
}

uint64
lb_plan_run_with_nulls(LbPlan *kept, uint64 key, LbPlanText text,
					   const void *arg, Oid table, int nargs,
					   const Oid *types, Datum *values, const char *nulls)
{
	return lb_plan_exec(kept, key, text, arg, table, InvalidOid, nargs,
						join_args(nargs, types, values, nulls));
}

uint64
lb_plan_read(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
			 Oid table, int nargs, const Oid *types, Datum *values)
{
	return lb_plan_exec_read(kept, key, text, arg, table, nargs,
							 join_args(nargs, types, values, NULL));
}

uint64
lb_run_once(const char *text, Oid table, int nargs, const Oid *types,
			Datum *values)
{
	return lb_exec_once(text, table, nargs,
						join_args(nargs, types, values, NULL));
}

uint64
lb_run_once_with_nulls(const char *text, Oid table, int nargs,
					   const Oid *types, Datum *values, const char *nulls)
{
	return lb_exec_once(text, table, nargs,
						join_args(nargs, types, values, nulls));
}

uint64
lb_own_run(LbPlan *kept, const char *text, int nargs, const Oid *types,
		   Datum *values, const char *nulls)
{
	return lb_own_exec(kept, text, nargs,
					   join_args(nargs, types, values, nulls));
}

uint64
lb_own_run_once(const char *text, int nargs, const Oid *types, Datum *values)
{
	return lb_own_exec_once(text, nargs,
							join_args(nargs, types, values, NULL));
}

uint64
lb_own_run_latest(const char *text, int nargs, const Oid *types,
				  Datum *values, const char *nulls)
{
	return lb_own_exec_latest(text, nargs,
							  join_args(nargs, types, values, nulls));
}
