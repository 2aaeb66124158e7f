/*-------------------------------------------------------------------------
 *
 * xact_end.c
 *	  What is done at the end of every transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/xact_end.h"

#define MAX_FUNCTIONS 8

static void (*functions[MAX_FUNCTIONS]) (void);
static int	nfunctions = 0;

void
lb_at_xact_end(void (*function) (void))
{
	if (nfunctions == MAX_FUNCTIONS)
		elog(ERROR, "too many functions for the end of transactions");
	functions[nfunctions++] = function;
}

void
lb_run_at_xact_end(void)
{
	for (int i = 0; i < nfunctions; i++)
		functions[i] ();
}
