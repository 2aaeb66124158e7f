/*-------------------------------------------------------------------------
 *
 * names.h
 *	  Names of boards that the family "*" answers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_NAMES_H
#define LB_NAMES_H

/*
 * Raise 42710 if a new board would take names that the family "*" answers:
 * "country:FR", which a family "country" would answer, or "monthly" and
 * "monthly-1", which mean windows that need not be recorded.  Can read a whole
 * table, with its owner's rights.
 */
extern void lb_check_answers(const char *board, bool family);

#endif							/* LB_NAMES_H */
