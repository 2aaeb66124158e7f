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

/*
 * Raise 42710 if there are boards or windows whose names begin with this one
 * and a slash, as those of a leaderboard's windows do; or if the family "*"
 * has rows of such names, or has had.  Can read a whole table, with its
 * owner's rights.  So it raises 42501 before that if the caller may not read
 * all rows of that family.
 */
extern void lb_check_slash_names(const char *leaderboard);

/* Raise 42710 if a leaderboard's windows have names such as this one. */
extern void lb_check_leaderboard_names(const char *board);

#endif							/* LB_NAMES_H */
