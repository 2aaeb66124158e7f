/*-------------------------------------------------------------------------
 *
 * applier.h
 *	  The process that brings changes into the indexes of large boards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_APPLIER_H
#define LB_APPLIER_H

#include "postgres.h"

/* Setting: whether there is to be one. */
extern bool lb_applier;

/* Entry point of the process. */
extern PGDLLEXPORT void lb_applier_main(Datum arg);

#endif							/* LB_APPLIER_H */
