/*-------------------------------------------------------------------------
 *
 * hugepage.h
 *	  Huge pages for the arena's region.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_HUGEPAGE_H
#define LB_HUGEPAGE_H

#include "postgres.h"

/* To be had in addition to what the region needs, in bytes. */
extern Size lb_huge_slack(void);

/*
 * Prepare size bytes somewhere in the main shared memory segment at start,
 * which has lb_huge_slack() bytes more, and return where they begin, aligned
 * to align.  In the postmaster, before there are other processes.
 */
extern char *lb_huge_prepare(char *start, Size size, Size align);

/*
 * Have the kernel replace the pages of the region by huge ones, up to so many
 * bytes of it, all in use.  Goes on from where the calling process came to
 * last time, and does so much at once as takes some milliseconds.  Returns
 * whether there is more to do.  No lock is needed; never raises.
 */
extern bool lb_huge_collapse(char *region, Size used);

#endif							/* LB_HUGEPAGE_H */
