/*-------------------------------------------------------------------------
 *
 * distributed.c
 *	  Tables that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/distributed.h"

const LbDistributed *lb_distributed = NULL;
