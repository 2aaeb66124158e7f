/*-------------------------------------------------------------------------
 *
 * submission.c
 *	  A submit under way: its boards and its players.
 *
 * A submission is filled in three steps: its boards; locks on the windows
 * against being closed; and its players, who have one or more changes each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation_d.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "boards/distributed.h"
#include "boards/resolve.h"
#include "boards/target.h"
#include "leaderboards/closed.h"
#include "leaderboards/player.h"
#include "submit/submission.h"

/* The most boards that a caller names: each window is a lock. */
#define MAX_NAMED_BOARDS 1000


/* ----------------------------------------------------------------
 *		The boards
 * ----------------------------------------------------------------
 */

void
lb_null_element(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("an element of \"%s\" must not be null", name)));
}

/* Whether the caller may write scores to the board's table. */
static bool
may_write(const LbDefinition *defn)
{
	static const AclMode modes[] = {ACL_INSERT, ACL_UPDATE};

	/* The statements check every privilege; no statement may be run. */
	for (int i = 0; i < 2; i++)
	{
		if (pg_class_aclcheck(defn->source, GetUserId(), modes[i]) != ACLCHECK_OK &&
			pg_attribute_aclcheck(defn->source, defn->columns[0].attno,
								  GetUserId(), modes[i]) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/* Raise 42501 unless the caller may write scores to the board's table. */
static void
require_write(const LbDefinition *defn)
{
	if (!may_write(defn))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   get_rel_name(defn->source));
}

/* Raise 42804 unless scores are integers, as amounts are. */
static void
require_integer_score(const LbDefinition *defn)
{
	if (!defn->plain_score)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of board \"%s\" cannot take submitted scores",
						lb_score_column(defn)->name, defn->name),
				 errdetail("It is of type %s; scores are submitted to integers.",
						   format_type_be(lb_score_column(defn)->oid)),
				 errhint("Write to the table with SQL.")));
}

/* Raise unless scores can be submitted to a board, and the caller may. */
static void
check_submitted(LbDefinition *defn, const char *name, bool family)
{
	if (defn->family != family)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", name),
				 errdetail("Scores are submitted to the boards of leaderboards, as \"global\", and to windows, as those in the family \"*\".")));
	lb_require_fit(defn);
	require_integer_score(defn);
	(void) lb_require_player_type(defn);
	if (family && !lb_has_text_boards(defn))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of family \"%s\" cannot hold the keys of windows",
						lb_board_column(defn)->name, name),
				 errdetail("It is of type %s.",
						   format_type_be(get_atttype(defn->source,
													  lb_board_column(defn)->attno)))));
	require_write(defn);
}

LbDefinition *
lb_find_submitted(const char *name, bool family)
{
	LbTarget	target;

	lb_find_target(name, strlen(name), &target);
	lb_refuse_distributed(target.defn);
	check_submitted(target.defn, name, family);
	return target.defn;
}

/* The same for a submit. */
static LbDefinition *
find_submitted(const LbSubmit *s, const char *name, bool family)
{
	LbDefinition *defn = s->stand_in == NULL ? NULL :
		lb_find_in(s->stand_in, name);
	LbTarget	target;

	/* It raises if there is none. */
	if (defn == NULL)
	{
		lb_find_target(name, strlen(name), &target);
		defn = target.defn;
	}
	check_submitted(defn, name, family);
	return defn;
}

Oid
lb_find_record(LbSubmit *s, LbRecord record)
{
	if (!OidIsValid(s->records[record]))
		s->records[record] = s->stand_in->table(s->stand_in,
												s->leaderboard.name, record);
	return s->records[record];
}

uint64
lb_run_recording(const LbSubmit *s, LbRecord record, LbPlan *plan,
				 const char *own, const char *other, int nargs,
				 const LbArg *args)
{
	if (s->stand_in != NULL)
		return lb_run_in(s->records[record], other, nargs, args);
	return lb_own_exec(plan, own, nargs, args);
}

bool
lb_is_forwarded(const LbSubmit *s)
{
	bool		scores = s->scores_board != NULL && lb_is_distributed(s->scores_board);
	bool		windows = s->windows != NULL && lb_is_distributed(s->windows);

	if (scores != windows && s->scores_board != NULL && s->windows != NULL)
		lb_check_both_distributed(s->scores_board, s->windows);
	return scores || windows;
}

void
lb_refuse_forwarded(const LbSubmit *s)
{
	if (s->scores_board != NULL)
		lb_refuse_distributed(s->scores_board);
	if (s->windows != NULL)
		lb_refuse_distributed(s->windows);
}

void
lb_require_some_write(const LbLeaderboard *leaderboard)
{
	const char *const names[] = {leaderboard->name, leaderboard->family};
	const LbDefinition *denied = NULL;

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		const LbDefinition *defn = lb_find_recorded(names[i]);

		if (defn == NULL)
			continue;
		if (may_write(defn))
			return;
		if (denied == NULL)
			denied = defn;
	}
	if (denied != NULL)
		require_write(denied);
}

int
lb_named_boards(ArrayType *names, Datum **elements)
{
	bool	   *nulls;
	int			n = ArrayGetNItems(ARR_NDIM(names), ARR_DIMS(names));

	if (n > MAX_NAMED_BOARDS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many boards for one call"),
				 errdetail("\"%s\" has %d elements; the most is %d.", "boards",
						   n, MAX_NAMED_BOARDS),
				 errhint("Name them in several calls.")));
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, elements,
					  &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			lb_null_element("boards");
	}
	return n;
}

/*
 * Add a board.  A window is read as a board of the family whose rows are
 * written: another family may have the name that the key begins with.  The
 * same board may be added twice, until sort_boards().
 */
static LbSubmitBoard *
add_board(LbSubmit *s, const char *name, bool window)
{
	LbSubmitBoard *board;

	if (s->nboards == s->maxboards)
	{
		s->maxboards = Max(8, s->maxboards * 2);
		s->boards = s->boards == NULL ?
			palloc(s->maxboards * sizeof(LbSubmitBoard)) :
			repalloc(s->boards, s->maxboards * sizeof(LbSubmitBoard));
	}
	board = &s->boards[s->nboards++];
	memset(board, 0, sizeof(LbSubmitBoard));
	board->name = pstrdup(name);
	board->kind = board->name;
	board->read_as = window ?
		psprintf("%s:%s", s->leaderboard.family, name) : board->name;
	board->window = window;
	return board;
}

/*
 * Add a window's span.  If the caller has named the window (given), it is part
 * of the answer even if the moment is not in it.
 */
static void
add_window(LbSubmit *s, LbWindow *window, const char *given)
{
	LbSpan		span;
	LbSubmitBoard *board;
	bool		contains = lb_window_span(window, s->at, 0, &span);

	if (given == NULL && (!contains || !window->is_open))
		return;

	/* The caller has named the key of another day. */
	if (given != NULL && strcmp(given, window->calendar.name) != 0 &&
		strcmp(given, span.key) != 0)
	{
		board = add_board(s, given, true);
		board->closed = true;
		return;
	}
	board = add_board(s, span.key, true);
	board->kind = pstrdup(window->calendar.name);
	board->op = window->op;
	board->closes = lb_window_closes(window, &span);
	board->closed = !contains || !window->is_open;
}

/* Whether a window or a key is of the leaderboard, by its name. */
static bool
is_of_leaderboard(const LbSubmit *s, const char *name)
{
	return strcmp(lb_leaderboard_of_window(name)->name,
				  s->leaderboard.name) == 0;
}

/*
 * Add the board that the caller has named.  The privileges are checked first:
 * a caller without them learns nothing of the windows.
 */
static void
named_board(LbSubmit *s, const char *name)
{
	LbWindow   *window;
	LbSpan		span;

	if (strcmp(name, s->leaderboard.name) == 0)
	{
		if (s->scores_board == NULL)
			s->scores_board = find_submitted(s, name, false);
		s->write_global = true;
		return;
	}
	if (s->windows == NULL && lb_find_defn(s->leaderboard.family) != NULL)
		s->windows = find_submitted(s, s->leaderboard.family, true);
	window = lb_window_find(name, strlen(name));
	if (window == NULL)
		window = lb_window_of_key(name, strlen(name), &span);
	if (window == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("window \"%s\" does not exist", name),
				 errhint("Scores are submitted to \"%s\" and to the windows of the table lb_window.",
						 s->leaderboard.name)));
	if (!is_of_leaderboard(s, name))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("window \"%s\" is not of leaderboard \"%s\"", name,
						s->leaderboard.name),
				 errhint("Name its leaderboard in the argument \"leaderboard\".")));
	add_window(s, window, name);
}

static int
board_cmp(const void *a, const void *b)
{
	return strcmp(((const LbSubmitBoard *) a)->name,
				  ((const LbSubmitBoard *) b)->name);
}

/* Sort the windows by key, each once, and put "global" before them. */
static void
sort_boards(LbSubmit *s)
{
	int			n = 0;

	if (s->nboards > 1)
		qsort(s->boards, s->nboards, sizeof(LbSubmitBoard), board_cmp);
	for (int i = 0; i < s->nboards; i++)
	{
		if (n == 0 || board_cmp(&s->boards[i], &s->boards[n - 1]) != 0)
			s->boards[n++] = s->boards[i];
	}
	s->nboards = n;
	if (s->write_global)
	{
		LbSubmitBoard scores_board = *add_board(s, s->leaderboard.name, false);

		memmove(s->boards + 1, s->boards, n * sizeof(LbSubmitBoard));
		s->boards[0] = scores_board;
	}
}

/*
 * The leaderboard's board, and all its windows that are open at that moment.
 */
static void
add_all(LbSubmit *s)
{
	LbWindow  **windows;
	int			n = lb_windows(&windows);

	s->write_global = true;
	for (int i = 0; i < n; i++)
	{
		if (is_of_leaderboard(s, windows[i]->calendar.name))
			add_window(s, windows[i], NULL);
	}
}

static void
add_named(LbSubmit *s, ArrayType *names)
{
	Datum	   *elements;
	int			n;

	lb_require_some_write(&s->leaderboard);
	n = lb_named_boards(names, &elements);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		named_board(s, TextDatumGetCString(elements[i]));
	}
}

/*
 * The definition of "global" where only windows are written to, if its rows
 * record which players are hidden; or NULL.
 */
static LbDefinition *
find_hides(const LbSubmit *s)
{
	LbDefinition *scores_board;

	if (s->write_global || s->windows == NULL ||
		!s->windows->has_ranked_if)
		return NULL;
	scores_board = lb_find_in(s->stand_in, s->leaderboard.name);

	if (scores_board != NULL && (scores_board->family || scores_board->misfit ||
								 !scores_board->has_ranked_if ||
								 lb_player_type(scores_board) != s->type))
		return NULL;
	return scores_board;
}

/*
 * Find the definitions of the boards, which checks the caller's privileges,
 * and the type of their players.
 */
static void
set_definitions(LbSubmit *s)
{
	bool		windows = s->nboards > (s->write_global ? 1 : 0);

	if (s->write_global && s->scores_board == NULL)
		s->scores_board = find_submitted(s, s->leaderboard.name, false);
	if (!windows)
		s->windows = NULL;
	else if (s->windows == NULL)
		s->windows = find_submitted(s, s->leaderboard.family, true);
	s->players_of = s->scores_board != NULL ? s->scores_board :
		s->windows != NULL ? s->windows : find_submitted(s, s->leaderboard.name, false);
	s->type = lb_player_type(s->players_of);
	s->cmp = lb_player_order(s->type);
	if (windows && lb_player_type(s->windows) != s->type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("boards \"%s\" and \"%s\" have players of different types",
						s->leaderboard.name, s->leaderboard.family),
				 errdetail("They are of type %s and of type %s.",
						   s->type->sql_name,
						   lb_player_type(s->windows)->sql_name)));
	s->hides = find_hides(s);
}

void
lb_submission_lock(LbSubmit *s)
{
	for (int b = s->write_global ? 1 : 0; b < s->nboards; b++)
	{
		LbSubmitBoard *board = &s->boards[b];

		CHECK_FOR_INTERRUPTS();
		if (board->closed || GetCurrentTimestamp() >= board->closes)
		{
			board->closed = true;
			continue;
		}
		lb_window_lock(board->name, strlen(board->name), RowExclusiveLock);

		/*
		 * Again: it may have taken a while to get the lock.  A key can have
		 * been closed though its end is ahead: when the window was opened
		 * with another time zone, or another period.
		 */
		board->closed = GetCurrentTimestamp() >= board->closes ||
			lb_window_locked_is_closed(board->name, strlen(board->name));
	}
	for (int b = 0; b < s->nboards; b++)
		s->nopen += !s->boards[b].closed;
}

void
lb_submission_set_boards(LbSubmit *s, ArrayType *names)
{
	if (names == NULL)
		add_all(s);
	else
		add_named(s, names);
	s->named = names != NULL;
	sort_boards(s);
	set_definitions(s);
}

LbSubmitBoard *
lb_find_submit_window(LbSubmit *s, const char *key, int len)
{
	int			first = s->write_global ? 1 : 0;
	LbSubmitBoard wanted;

	wanted.name = pnstrdup(key, len);
	return bsearch(&wanted, s->boards + first, s->nboards - first,
				   sizeof(LbSubmitBoard), board_cmp);
}

LbOp
lb_effective_op(const LbSubmit *s, const LbSubmitBoard *board)
{
	if (board->op != LB_OP_CHANGE)
		return board->op;
	return s->write_global ? LB_OP_INCR : s->op;
}


/* ----------------------------------------------------------------
 *		The players
 * ----------------------------------------------------------------
 */

int
lb_player_cmp(const LbSubmit *s, Datum a, Datum b)
{
	if (s->type->oid == INT8OID)
		return (DatumGetInt64(a) > DatumGetInt64(b)) -
			(DatumGetInt64(a) < DatumGetInt64(b));
	return DatumGetInt32(FunctionCall2Coll(s->cmp, C_COLLATION_OID, a, b));
}

static int
item_cmp(const void *a, const void *b, void *submit)
{
	const LbSubmitItem *ia = (const LbSubmitItem *) a;
	const LbSubmitItem *ib = (const LbSubmitItem *) b;
	int			c = lb_player_cmp((const LbSubmit *) submit, ia->player,
								  ib->player);

	return c != 0 ? c : ia->number - ib->number;
}

void
lb_submission_set_players(LbSubmit *s)
{
	qsort_interruptible(s->items, s->nitems, sizeof(LbSubmitItem), item_cmp,
						s);
	s->players = palloc(s->nitems * sizeof(Datum));
	s->player_texts = palloc(s->nitems * sizeof(text *));
	s->first = palloc(s->nitems * sizeof(int));
	for (int i = 0; i < s->nitems; i++)
	{
		if (i > 0 && lb_player_cmp(s, s->items[i].player,
								   s->items[i - 1].player) == 0)
			continue;
		s->players[s->nplayers] = s->items[i].player;
		s->player_texts[s->nplayers] = s->items[i].player_text;
		s->first[s->nplayers++] = i;
	}
	s->ranked = palloc(s->nplayers * sizeof(bool));
	memset(s->ranked, true, s->nplayers * sizeof(bool));
	s->enters = palloc(s->nplayers * sizeof(bool));
	memset(s->enters, true, s->nplayers * sizeof(bool));
	s->exists = NULL;
	s->on_scores = NULL;
	s->on_windows = NULL;
	s->hidden_changed = false;
	for (int b = 0; b < s->nboards; b++)
	{
		s->boards[b].scores = palloc0(s->nplayers * sizeof(int64));
		s->boards[b].has_score = palloc0(s->nplayers * sizeof(bool));
		s->boards[b].known = palloc0(s->nplayers * sizeof(bool));
		s->boards[b].before = palloc0(s->nplayers * sizeof(int64));
		s->boards[b].had_score = palloc0(s->nplayers * sizeof(bool));
	}
}

int
lb_player_number(const LbSubmit *s, Datum player)
{
	int			lo = 0;
	int			hi = s->nplayers;

	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			c = lb_player_cmp(s, s->players[mid], player);

		if (c == 0)
			return mid;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}
