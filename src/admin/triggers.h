/*-------------------------------------------------------------------------
 *
 * triggers.h
 *	  The capture triggers of a source.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TRIGGERS_H
#define LB_TRIGGERS_H

/*
 * Make or enable the capture triggers that are missing or disabled on a source
 * and its partitions.  Returns whether there were any.  The source must be
 * locked in ShareRowExclusiveLock.  Between SPI_connect and SPI_finish; can
 * raise.
 */
extern bool lb_make_triggers(Oid source);

/*
 * Drop all triggers of our function that a table has of its own.  The table
 * must be locked in AccessExclusiveLock.  Between SPI_connect and SPI_finish;
 * can raise.
 */
extern void lb_drop_triggers(Oid source);

/* Run a statement of DDL by SPI, or raise. */
extern void lb_execute_utility(const char *sql);

#endif							/* LB_TRIGGERS_H */
