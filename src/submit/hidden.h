/*-------------------------------------------------------------------------
 *
 * hidden.h
 *	  Who is hidden: lb_hidden.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_HIDDEN_H
#define LB_HIDDEN_H

#include "storage/lockdefs.h"

#include "submit/submission.h"

/* The board of a row of lb_hidden that is for all leaderboards. */
#define LB_ALL_BOARDS ""

/* What is recorded of a player on a board. */
typedef enum LbHiding
{
	LB_NOT_RECORDED,
	LB_HIDDEN,
	LB_EXCEPTED					/* shown, though hidden on all leaderboards */
} LbHiding;

/* What is recorded of the players of a submit. */
typedef struct LbHidden
{
	LbHiding   *scores;			/* for the leaderboard's board */
	LbHiding   *windows;
	uint64		seen;			/* hidden.c: when it was looked up */
	bool		changed;		/* ... and that this was not the first time */
} LbHidden;

/*
 * Lock what is recorded of a player on a leaderboard: in RowExclusiveLock
 * while a submit inserts the first row of the player there, in ExclusiveLock
 * to hide and to show the player.  To the end of the transaction, or for a
 * submit until it is unlocked.
 */
extern void lb_lock_hidden(const char *leaderboard, text *player,
						   LOCKMODE mode);
extern void lb_unlock_hidden(const char *leaderboard, text *player);

/*
 * Look up what is recorded of the players of a submit in the newest state, and
 * set s->hidden, palloc'd.  Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_look_up_hidden(LbSubmit *s);

/*
 * Look them up again if lb_hidden has changed since; returns whether it has.
 * The caller has waited for a lock that lb_hide() takes as well: so what that
 * has committed is seen.
 */
extern bool lb_look_up_hidden_again(LbSubmit *s);

/*
 * Whether the owner of a board's table is among these, an array of names; with
 * any, it always is.
 */
extern bool lb_is_of_owners(const LbDefinition *defn, Datum owners, bool any);

/*
 * Record that a player, of a type of this name, is hidden on a board or a
 * family, or LB_ALL_BOARDS.  That is for the leaderboards of the owners, an
 * array of names, or of any owner if it is 0; and replaces what is recorded
 * for the boards, an array of texts.  reason is a text, or 0.  Between
 * SPI_connect and SPI_finish; can raise.
 */
extern void lb_record_hidden(text *player, const char *type, const char *board,
							 Datum owners, Datum boards, Datum reason);

/*
 * Record that a player is shown on these boards, or with all on all
 * leaderboards.  Likewise.  Unless the current user is a superuser, what a
 * superuser has recorded for all leaderboards stays, and these boards are
 * exceptions to it.
 */
extern void lb_record_shown(text *player, const char *type, Datum boards,
							bool all);

/*
 * Remove what is recorded of a player on these boards, and on all
 * leaderboards; returns how many rows.  Likewise.
 */
extern int64 lb_forget_hidden(text *player, const char *type, Datum boards);

/* A board or a family of that name is gone.  Likewise. */
extern void lb_hidden_end(const char *board);

#endif							/* LB_HIDDEN_H */
