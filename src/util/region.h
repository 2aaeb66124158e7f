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
 * How many bytes to reserve at server start: most, or, if that is 0 and
 * address space costs nothing, all that leaderboard.memory can sensibly be
 * raised to.  Never less than least.
 */
extern Size lb_region_size(Size least, Size most);

/*
 * How many bytes of the main shared memory segment a region of that size
 * needs: 0 if the region is a mapping of its own.
 */
extern Size lb_region_in_segment(Size size);

/*
 * Reserve address space for the region, all zeros, at an address that child
 * processes share.  For the postmaster, before it has children, and again
 * after a crash, when it has none any more.  segment has the bytes of
 * lb_region_in_segment().
 *
 * If *size bytes are not available, reserves fewer, but at least least bytes
 * if possible.  Sets *size to what it has reserved, with a WARNING if that is
 * less.  Raises FATAL if it can reserve nothing.
 */
extern char *lb_region_map(char *segment, Size least, Size *size);

/*
 * Ask the kernel to replace pages in the first used bytes of the region by
 * huge ones.  Starts where the calling process stopped last time, and takes
 * some milliseconds.  Returns whether there is more to do.  Needs no lock;
 * never raises.
 */
extern bool lb_region_collapse(char *region, Size used);

#endif							/* LB_REGION_H */
