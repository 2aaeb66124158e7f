/*-------------------------------------------------------------------------
 *
 * reward.h
 *	  Rewards: a function of the owner's for each window that is closed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_REWARD_H
#define LB_REWARD_H

#include "windows/visit.h"

/* How long a function may take in the worker, in seconds; 0 is any time. */
extern int	lb_reward_timeout;

/*
 * Note that a window of this family which the transaction has just closed is
 * to be rewarded, if there is a function for it.  Between SPI_connect and
 * SPI_finish; can raise.
 */
extern void lb_note_reward(const LbDefinition *family, const char *window,
						   const char *key);

/*
 * The windows of a family are dropped: those that are closed and not rewarded
 * will not be.  Waits for no lock on a row.  Between SPI_connect and
 * SPI_finish; can raise.
 */
extern void lb_rewards_end(const char *family);

/*
 * Call the function for one closed window, in this transaction.  An error of
 * the function is noted, and the next visit tries again.  Returns whether a
 * function was called, so that there may be more in another transaction.
 * Between SPI_connect and SPI_finish.
 */
extern bool lb_pay_reward(LbVisit *visit);

#endif							/* LB_REWARD_H */
