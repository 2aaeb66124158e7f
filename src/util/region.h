/*-------------------------------------------------------------------------
 *
 * region.h
 *	  The arena's region: address space, and huge pages for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_REGION_H
#define LB_REGION_H

#include "postgres.h"

/*
 * How many bytes to reserve at server start: most, or if that is 0 as many as
 * leaderboard.memory can sensibly be raised to, where they cost nothing.  At
 * least least bytes.
 */
extern Size lb_region_size(Size least, Size most);

/*
 * How many bytes of the main shared memory segment a region of that size needs.
 * None where the region is a mapping of its own.
 */
extern Size lb_region_in_segment(Size size);

/*
 * Reserve address space for the region, all zeros, which child processes will
 * have at the same address.  In the postmaster, before there are children, or
 * again after a crash when there are none any more.  segment is where the bytes
 * of lb_region_in_segment() are.  Less than *size is reserved where that is not
 * to be had: at least least bytes if possible.  Sets *size to what it is, and
 * tells the log if that is less.  Raises FATAL if there is nothing.
 */
extern char *lb_region_map(char *segment, Size least, Size *size);

/*
 * Have the kernel replace the pages of the region by huge ones, up to so many
 * bytes of it, all in use.  Goes on from where the calling process came to
 * last time, and does so much at once as takes some milliseconds.  Returns
 * whether there is more to do.  No lock is needed; never raises.
 */
extern bool lb_region_collapse(char *region, Size used);

#endif							/* LB_REGION_H */
