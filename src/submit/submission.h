/*-------------------------------------------------------------------------
 *
 * submission.h
 *	  A submit under way: the changes, their players, the boards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUBMISSION_H
#define LB_SUBMISSION_H

#include "fmgr.h"
#include "utils/array.h"

#include "boards/definition.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/player.h"
#include "submit/stand_in.h"

/* One change of one player, as submitted. */
typedef struct LbSubmitItem
{
	Datum		player;			/* of LbSubmit.type */
	text	   *player_text;	/* as the extension's own tables have it */
	int64		amount;
	const char *match_id;		/* or NULL */
	int			number;			/* in the order of arrival */
	int			item;			/* its number in the call of a user, from 1
								 * on; 0: it is the only one */
	const char *refused;		/* the limit that rejects it; NULL: none yet */
	bool		overflows;		/* it leads to a score out of range */
	const bool *joined;			/* which boards it is for; NULL: all */
} LbSubmitItem;

/* What became of an item. */
typedef struct LbItemOutcome
{
	const char *status;			/* as lb_submit_each() returns it */
	const char *limit;			/* that refused it, or NULL */
	bool		has_score;
	int64		score;
} LbItemOutcome;

/* A board that is, or would be, written to. */
typedef struct LbSubmitBoard
{
	const char *name;			/* the leaderboard, or the key of a window */
	const char *kind;			/* the leaderboard, or the window's name */
	const char *read_as;		/* what reads find it by */
	bool		window;
	LbOp		op;
	bool		joined;			/* some players have joined it, and only these
								 * are written */
	bool		closed;			/* not written to */
	TimestampTz closes;

	/* For each player: */
	bool	   *known;			/* the row was returned or read */
	bool	   *has_score;
	int64	   *scores;			/* as they are now */
	bool	   *had_score;		/* "global": before the submit */
	int64	   *before;			/* the score then, if the submit adds to it or
								 * windows get its change; 0: none */

	/* For the only player of lb_submit(): */
	bool		has_previous;
	int64		previous;
	bool		has_rank;
	int64		rank;
	bool		written;		/* ... by a statement that returns it */
} LbSubmitBoard;

/* Changes of a player that have exceeded a limit which flags them. */
typedef struct LbAnomaly
{
	const char *limit;			/* its name */
	int			board;			/* number of the board */
	const LbSubmitItem *item;	/* the last of them */
	int64		submits;		/* how many */
	int64		max_amount;		/* of them, without its sign */
	const char *measure;
	const char *value;
	int64		bound;
} LbAnomaly;

/* What is recorded of a player on a board. */
typedef enum LbHiding
{
	LB_NOT_RECORDED,
	LB_HIDDEN,
	LB_EXCEPTED					/* shown, though hidden on all leaderboards */
} LbHiding;

/* A submit under way. */
typedef struct LbSubmit
{
	LbLeaderboard leaderboard;
	LbOp		op;
	TimestampTz at;
	const LbStandIn *stand_in;	/* for the leaderboard's tables, or NULL */
	Oid			records[LB_NRECORDS];	/* its tables: lb_find_record() */
	bool		only_forwarded; /* it was forwarded, and nothing else was
								 * written on other servers */
	bool		has_metadata;	/* ... is written with scores that change: */
	Datum		metadata;		/* a jsonb */
	const LbDefinition *players_of; /* a board of the players */
	const LbType *type;			/* of players */
	FmgrInfo   *cmp;			/* compares them, as btrees in C order do */
	bool		write_global;	/* "global" is the leaderboard's board of
								 * scores, here and in what follows */
	LbDefinition *scores_board; /* if it is written to */
	LbDefinition *windows;		/* the family, if there are windows */
	LbDefinition *hides;		/* "global", if it is not written to, but
								 * records which players are hidden */
	bool		named;			/* the caller has named the boards */
	int			nboards;
	int			maxboards;
	int			nopen;			/* not closed */
	LbSubmitBoard *boards;		/* "global" first, then windows by key */
	bool		need_scores;
	bool		each;			/* limits refuse items and raise no error, and
								 * so do scores out of range */
	bool		refused;		/* they have refused some */
	bool		doubtful;		/* scores may get out of range */
	int			nitems;
	LbSubmitItem *items;		/* by player, in the order of arrival */
	int			nplayers;
	Datum	   *players;		/* ascending */
	text	  **player_texts;
	int		   *by_text;		/* limit.c */
	int		   *first;			/* of the player's items */
	int128	   *change;			/* of the score on "global" */
	bool	   *ranked;			/* whether rows that are there are ranked,
								 * which new ones of windows follow */
	bool	   *enters;			/* whether a new row of "global" is ranked */
	bool	   *exists;			/* whether there is one to lock; NULL if no
								 * row can be hidden */
	LbHiding   *on_scores;		/* what is recorded for "global" and for */
	LbHiding   *on_windows;		/* windows; both NULL: not looked up */
	uint64		hidden_seen;	/* hidden.c: when they were looked up */
	bool		hidden_changed; /* ... and that this was not the first time */
	int			nanomalies;
	int			maxanomalies;
	LbAnomaly  *anomalies;		/* in the order in which they were found */
} LbSubmit;

/*
 * Find the boards that a submit writes to: all of the leaderboard that are
 * open at s->at, or those that an array of text names.  Raises 42501 where
 * the caller may not write scores, 42704 where there is no such board or
 * window.
 */
extern void lb_submission_set_boards(LbSubmit *s, ArrayType *names);

/*
 * Lock the keys of windows against being closed, to the end of the
 * transaction, and note which are closed.  Can raise.
 */
extern void lb_submission_lock(LbSubmit *s);

/*
 * Sort the items by player, and allocate what is known of each player.  After
 * lb_submission_lock().
 */
extern void lb_submission_set_players(LbSubmit *s);

/*
 * Whether player number p takes part in a board: all do, unless players join
 * it.
 */
static inline bool
lb_takes_part(const LbSubmit *s, int board, int p)
{
	const bool *joined = s->items[s->first[p]].joined;

	return joined == NULL || joined[board];
}

/*
 * The definition of a leaderboard's board of scores, or of its family of
 * windows.  Raises 42501 where the caller may not write scores to its table,
 * 42804 or 42809 where scores cannot be submitted to it, and 0A000 where it is
 * distributed.
 */
extern LbDefinition *lb_find_submitted(const char *name, bool family);

/*
 * Compare two players: below 0, 0, or above 0.  This is the order in which
 * every function locks rows of several players.
 */
extern int	lb_player_cmp(const LbSubmit *s, Datum a, Datum b);

/* The number of a player in s->players, or -1. */
extern int	lb_player_number(const LbSubmit *s, Datum player);

/* The window with this key, or NULL. */
extern LbSubmitBoard *lb_find_submit_window(LbSubmit *s, const char *key,
											int len);

/* The operation on the scores of a window: never LB_OP_CHANGE. */
extern LbOp lb_effective_op(const LbSubmit *s, const LbSubmitBoard *board);

/*
 * The table that stands in for one of the extension's, for a submit that has
 * stand_in, or InvalidOid.  Between SPI_connect and SPI_finish; can raise.
 */
extern Oid	lb_find_record(LbSubmit *s, LbRecord record);

/*
 * Run a statement on one of the extension's tables, as lb_own_exec(); or, for a
 * submit that has stand_in, the other one on the table that lb_find_record()
 * has found, as lb_run_in().
 */
extern uint64 lb_run_recording(const LbSubmit *s, LbRecord record, LbPlan *plan,
							   const char *own, const char *other, int nargs,
							   const LbArg *args);

/*
 * Whether a submit whose boards are set must be forwarded: their tables are
 * distributed.  Raises 0A000 if only one of the two is.  Or raise 0A000 if it
 * must be.
 */
extern bool lb_is_forwarded(const LbSubmit *s);
extern void lb_refuse_forwarded(const LbSubmit *s);

/*
 * Raise 42501 if the leaderboard has boards and the caller may write to none
 * of them.
 */
extern void lb_require_some_write(const LbLeaderboard *leaderboard);

/*
 * The elements of an array of boards' names, palloc'd.  Raises 54000 if there
 * are too many, 22004 if one is null.
 */
extern int	lb_named_boards(ArrayType *names, Datum **elements);

/*
 * Raise 22004 because the array that is the argument of that name has a null.
 */
extern void lb_null_element(const char *name);

#endif							/* LB_SUBMISSION_H */
