/*-------------------------------------------------------------------------
 *
 * submission.h
 *	  A submit under way, by its phases.
 *
 * What was asked is an LbSubmitCall; the boards that are found for it, and
 * locked, an LbSubmitTarget; and what is being done to them an LbSubmit.  A
 * phase reads what those before it have made, and does not change that.
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

/* What was asked, but for the items. */
typedef struct LbSubmitCall
{
	LbLeaderboard leaderboard;
	LbOp		op;
	TimestampTz at;
	ArrayType  *boards;			/* their names, texts; NULL: all that are open
								 * at that time */
	Datum		metadata;		/* a jsonb, written with scores that change;
								 * 0: none */
	const LbStandIn *stand_in;	/* for the leaderboard's tables, or NULL */
} LbSubmitCall;

/* A board that is, or would be, written to. */
typedef struct LbSubmitBoard
{
	const char *name;			/* the leaderboard, or the key of a window */
	const char *kind;			/* the leaderboard, or the window's name */
	const char *read_as;		/* what reads find it by */
	bool		window;
	LbOp		op;				/* of a window */
	bool		joined;			/* some players have joined it, and only these
								 * are written */
	bool		closed;			/* not written to */
	TimestampTz closes;
} LbSubmitBoard;

/* What was found, and locked. */
typedef struct LbSubmitTarget
{
	const LbSubmitCall *call;
	LbDefinition *scores;		/* the leaderboard's board, if it is written
								 * to */
	LbDefinition *windows;		/* the family, if some of its boards are */
	LbDefinition *hides;		/* the leaderboard's board, if it is not
								 * written to, but records which players are
								 * hidden */
	const LbDefinition *players_of; /* a board of the players */
	const LbType *type;			/* of players */
	FmgrInfo   *cmp;			/* compares them, as btrees in C order do */
	int			nboards;
	int			nopen;			/* not closed, once they are locked */
	LbSubmitBoard *boards;		/* the leaderboard's first, windows by key */
} LbSubmitTarget;

/* One change of one player, as submitted. */
typedef struct LbSubmitItem
{
	Datum		player;			/* of LbSubmitTarget.type */
	text	   *player_text;	/* as the extension's own tables have it */
	int64		amount;
	const char *match_id;		/* or NULL */
	int			number;			/* in the order of arrival */
	int			item;			/* its number in the call of a user, from 1
								 * on; 0: it is the only one */
	const bool *joined;			/* which boards it is for, once they are
								 * locked; NULL: all */
} LbSubmitItem;

/* What became of an item. */
typedef struct LbItemOutcome
{
	const char *status;			/* as lb_submit_each() returns it */
	const char *limit;			/* that refused it, or NULL */
	bool		has_score;
	int64		score;
} LbItemOutcome;

/* A player's score on a board. */
typedef struct LbPlayerScore
{
	int64		score;			/* as it is now */
	int64		before;			/* the submit, if it adds to it or windows get
								 * its change; 0: none */
	bool		known;			/* the row was returned or read */
	bool		has_score;
	bool		had_score;		/* before, on the leaderboard's board */
} LbPlayerScore;

/* What has become of a board. */
typedef struct LbBoardResult
{
	LbPlayerScore *players;

	/* For the only player of lb_submit(): */
	bool		has_previous;
	int64		previous;
	bool		has_rank;
	int64		rank;
	bool		written;		/* ... by a statement that returns it */

	/* If it was forwarded with wants_keys; NULL: it is not on the board. */
	const int64 *former_key;
	const int64 *key;
} LbBoardResult;

/* What is being done. */
typedef struct LbSubmit
{
	const LbSubmitCall *call;
	const LbSubmitTarget *target;
	int			nitems;
	LbSubmitItem *items;		/* by player, in the order of arrival */
	LbItemOutcome *outcomes;	/* by number: limits refuse items, and raise
								 * no error, and so do scores out of range;
								 * NULL: they raise */
	bool		refused;		/* they have refused some */
	bool		wants_keys;		/* of the player, if it is forwarded */
	bool		only_forwarded; /* it was forwarded, and nothing else was
								 * written on other servers */
	int			nplayers;
	Datum	   *players;		/* ascending */
	int		   *first;			/* of each player's items; last nitems */
	LbBoardResult *results;		/* of each board */
	bool		need_scores;
	bool		doubtful;		/* scores may get out of range */
	int128	   *change;			/* of the leaderboard's score */
	bool	   *ranked;			/* whether rows that are there are ranked,
								 * which new ones of windows follow */
	bool	   *enters;			/* whether a new row of the leaderboard's
								 * board is ranked */
	bool	   *exists;			/* whether there is one to lock; NULL if no
								 * row can be hidden */
	struct LbHidden *hidden;	/* hidden.h; NULL: not looked up */
	struct LbLimitCheck *limits;	/* limit.c */
	Oid			records[LB_NRECORDS];	/* lb_find_record() */
} LbSubmit;

/*
 * Find the boards that a call writes to: all of the leaderboard that are open
 * at that time, or those that it names.  Raises 42501 where the caller may not
 * write scores, 42704 where there is no such board or window, 42703 where a
 * table has no room for metadata.
 */
extern void lb_find_boards(LbSubmitTarget *t, const LbSubmitCall *call);

/*
 * Lock the keys of windows against being closed, to the end of the
 * transaction, and note which are closed.  Can raise.
 */
extern void lb_lock_windows(LbSubmitTarget *t);

/* Begin to submit items to boards. */
static inline LbSubmit
lb_submit_of(const LbSubmitTarget *t, LbSubmitItem *items, int nitems)
{
	return (LbSubmit)
	{
		.call = t->call,.target = t,.items = items,.nitems = nitems
	};
}

/*
 * Sort the items by player, and allocate what is known of each player.  After
 * the boards are locked.
 */
extern void lb_set_players(LbSubmit *s);

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

/* The text of player number p. */
static inline text *
lb_player_text(const LbSubmit *s, int p)
{
	return s->items[s->first[p]].player_text;
}

/* The definition of a board. */
static inline LbDefinition *
lb_board_defn(const LbSubmitTarget *t, const LbSubmitBoard *board)
{
	return board->window ? t->windows : t->scores;
}

/* Whether a window gets the change of the leaderboard's score. */
static inline bool
lb_gets_change(const LbSubmitTarget *t, const LbSubmitBoard *board)
{
	return board->window && board->op == LB_OP_CHANGE && t->scores != NULL;
}

/* The operation on the scores of a board: never LB_OP_CHANGE. */
static inline LbOp
lb_effective_op(const LbSubmitTarget *t, const LbSubmitBoard *board)
{
	return !board->window ? t->call->op :
		board->op != LB_OP_CHANGE ? board->op :
		t->scores != NULL ? LB_OP_INCR : t->call->op;
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
extern int	lb_player_cmp(const LbSubmitTarget *t, Datum a, Datum b);

/* The number of a player in s->players, or -1. */
extern int	lb_player_number(const LbSubmit *s, Datum player);

/* The number of the window with this key, or -1. */
extern int	lb_window_number(const LbSubmitTarget *t, const char *key, int len);

/*
 * The table that stands in for one of the extension's, for a submit that has
 * stand_in, or InvalidOid.  Between SPI_connect and SPI_finish; can raise.
 */
extern Oid	lb_find_record(LbSubmit *s, LbRecord record);

/*
 * Run a statement on one of the extension's tables, as lb_own_exec(); or, for
 * a submit that has stand_in, the other one on the table that lb_find_record()
 * has found, as lb_run_in().
 */
extern uint64 lb_run_recording(const LbSubmit *s, LbRecord record, LbPlan *plan,
							   const char *own, const char *other, int nargs,
							   const LbArg *args);

/*
 * Whether a submit to these boards must be forwarded: their tables are
 * distributed.  Raises 0A000 if only one of the two is.  Or raise 0A000 if it
 * must be.
 */
extern bool lb_is_forwarded(const LbSubmitTarget *t);
extern void lb_refuse_forwarded(const LbSubmitTarget *t);

/*
 * Raise 0A000 if Citus distributes one of the tables that lb_create_tables()
 * or lb_create_leaderboard() has made for a leaderboard, and the other has
 * lost its board, since undistribute_table() or DROP TABLE has taken it: a
 * submit would leave that table out.  The names are those of the boards, of
 * which none need be recorded.  Can raise.
 */
extern void lb_require_both_tables(const char *leaderboard, const char *family);

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
