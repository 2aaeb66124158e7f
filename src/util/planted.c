/*-------------------------------------------------------------------------
 *
 * planted.c
 *	  Which bug a test plants.
 *
 * All of it is empty unless LB_PLANT_BUGS is defined.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "util/planted.h"

#ifdef LB_PLANT_BUGS

int			lb_planted = 0;

void
lb_planted_init(void)
{
	DefineCustomIntVariable("leaderboard.plant_bug",
							"Plants a bug.",
							"For tests; 0 plants none.",
							&lb_planted,
							0, 0, INT_MAX,
							PGC_POSTMASTER, 0,
							NULL, NULL, NULL);
}

#endif							/* LB_PLANT_BUGS */
