/*-------------------------------------------------------------------------
 *
 * limit_admin.h
 *	  Setting and dropping limits of what may be submitted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LIMIT_ADMIN_H
#define LB_LIMIT_ADMIN_H

#include "postgres.h"

/*
 * A leaderboard's board of scores, or the family of its windows, is gone or is
 * another table's: remove its limits, and what has been counted for them in
 * lb_usage.  Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_limits_end(const char *board, bool windows);

#endif							/* LB_LIMIT_ADMIN_H */
