/*-------------------------------------------------------------------------
 *
 * submission.c
 *	  A submit under way: its boards and its players.
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
		lb_denied(defn, "SELECT, INSERT and UPDATE");
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
	if (lb_has_expressions(defn))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("board \"%s\" cannot take submitted scores", defn->name),
				 errdetail("It is made of expressions; scores are submitted to columns."),
				 errhint("Write to the table with SQL.")));
	require_integer_score(defn);
	(void) lb_require_player_type(defn);
	if (defn->nboard > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("family \"%s\" cannot take submitted scores", defn->name),
				 errdetail("It has several board columns; scores are submitted to windows."),
				 errhint("Write to the table with SQL.")));
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
find_submitted(const LbSubmitCall *call, const char *name, bool family)
{
	LbDefinition *defn = call->stand_in == NULL ? NULL :
		lb_find_in(call->stand_in, name);
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
		s->records[record] = s->call->stand_in->table(s->call->stand_in,
													  s->call->leaderboard.name,
													  record);
	return s->records[record];
}

uint64
lb_run_recording(const LbSubmit *s, LbRecord record, LbPlan *plan,
				 const char *own, const char *other, int nargs,
				 const LbArg *args)
{
	if (s->call->stand_in != NULL)
		return lb_run_in(s->records[record], other, nargs, args);
	return lb_own_exec(plan, own, nargs, args);
}

bool
lb_is_forwarded(const LbSubmitTarget *t)
{
	bool		scores = t->scores != NULL && lb_is_distributed(t->scores);
	bool		windows = t->windows != NULL && lb_is_distributed(t->windows);

	if (scores != windows && t->scores != NULL && t->windows != NULL)
		lb_check_both_distributed(t->scores, t->windows);
	return scores || windows;
}

/*
 * The name of the table that lb_create_tables() or lb_create_leaderboard()
 * makes for a leaderboard's scores, or for its windows.
 */
static char *
default_table(const char *leaderboard, bool windows)
{
	return psprintf("%s_%s", strcmp(leaderboard, LB_GLOBAL) == 0 ? "player" :
					leaderboard, windows ? "score_windows" : "scores");
}

void
lb_require_both_tables(const char *leaderboard, const char *family)
{
	bool		scores = lb_find_defn(leaderboard) != NULL;
	const LbDefinition *defn;
	char	   *table;
	char	   *other;
	Oid			relid;

	if (scores == (lb_find_defn(family) != NULL))
		return;
	defn = lb_find_recorded(scores ? leaderboard : family);
	if (defn == NULL || !lb_is_distributed(defn))
		return;

	/* A table of the user's own needs no other one. */
	table = get_rel_name(defn->source);
	if (table == NULL || strcmp(table, default_table(leaderboard, !scores)) != 0)
		return;

	/* If the other one is distributed, only its board was dropped. */
	other = default_table(leaderboard, scores);
	relid = get_relname_relid(other, get_rel_namespace(defn->source));
	if (OidIsValid(relid) && lb_is_distributed_table(relid))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("scores cannot be submitted to leaderboard \"%s\"",
					leaderboard),
			 errdetail("Citus distributes table \"%s\", but not table \"%s\", whose board \"%s\" is gone.",
					   table, other, scores ? family : leaderboard),
			 strcmp(leaderboard, LB_GLOBAL) == 0 ?
			 errhint("On the coordinator, distribute that table again, or undistribute the other one, too. Then lb_create_tables() makes the boards that are missing.") :
			 errhint("Make a leaderboard of another name by lb_create_leaderboard(), and copy the rows of both tables into its own.")));
}

void
lb_refuse_forwarded(const LbSubmitTarget *t)
{
	if (t->scores != NULL)
		lb_refuse_distributed(t->scores);
	if (t->windows != NULL)
		lb_refuse_distributed(t->windows);
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
add_board(LbSubmitTarget *t, const char *name, bool window)
{
	LbSubmitBoard *board = &t->boards[t->nboards++];

	board->name = pstrdup(name);
	board->kind = board->name;
	board->read_as = window ?
		psprintf("%s:%s", t->call->leaderboard.family, name) : board->name;
	board->window = window;
	return board;
}

/* Add the leaderboard's board. */
static void
add_scores(LbSubmitTarget *t)
{
	t->scores = find_submitted(t->call, t->call->leaderboard.name, false);
	(void) add_board(t, t->call->leaderboard.name, false);
}

/*
 * Add a window's span.  If the caller has named the window (given), it is part
 * of the answer even if the moment is not in it.
 */
static void
add_window(LbSubmitTarget *t, LbWindow *window, const char *given)
{
	LbSpan		span;
	LbSubmitBoard *board;
	bool		contains = lb_window_span(window, t->call->at, 0, &span);

	if (given == NULL && (!contains || !window->is_open))
		return;

	/* The caller has named the key of another day. */
	if (given != NULL && strcmp(given, window->calendar.name) != 0 &&
		strcmp(given, span.key) != 0)
	{
		board = add_board(t, given, true);
		board->closed = true;
		return;
	}
	board = add_board(t, span.key, true);
	board->kind = pstrdup(window->calendar.name);
	board->op = window->op;
	board->closes = lb_window_closes(window, &span);
	board->closed = !contains || !window->is_open;
}

/*
 * Whether a window or a key is of the leaderboard, by its name alone.  While
 * another session makes or drops a leaderboard, we can find its windows and
 * not itself: they are not windows of "global" then.
 */
static bool
is_of_leaderboard(const LbSubmitTarget *t, const char *name)
{
	const char *leaderboard = t->call->leaderboard.name;
	size_t		len = strcspn(name, "/:");

	if (name[len] != '/')
		return strcmp(leaderboard, LB_GLOBAL) == 0;
	return strlen(leaderboard) == len && strncmp(name, leaderboard, len) == 0;
}

/* A board of a table of the user's own looks like a window. */
static pg_noinline void
raise_no_window(const LbLeaderboard *leaderboard, const char *name)
{
	const LbDefinition *defn = lb_find_defn(name);
	char	   *hint;

	if (lb_leaderboard_find(name, strlen(name)) != NULL)
		hint = psprintf("\"%s\" is another leaderboard: name it in the argument \"leaderboard\".",
						name);
	else if (defn != NULL)
		hint = psprintf("\"%s\" is a board of a table of your own: write the scores to table \"%s\".",
						name, get_rel_name(defn->source));
	else
		hint = psprintf("Scores are submitted to \"%s\" and to the windows of the table lb_window.",
						leaderboard->name);
	lb_window_not_found(name, hint);
}

/*
 * Add the board that the caller has named.  The privileges are checked first:
 * a caller without them learns nothing of the windows.
 */
static void
add_named(LbSubmitTarget *t, const char *name)
{
	const LbLeaderboard *leaderboard = &t->call->leaderboard;
	LbWindow   *window;
	LbSpan		span;

	if (strcmp(name, leaderboard->name) == 0)
	{
		if (t->scores == NULL)
			add_scores(t);
		return;
	}
	if (t->windows == NULL && lb_find_defn(leaderboard->family) != NULL)
		t->windows = find_submitted(t->call, leaderboard->family, true);
	window = lb_window_find(name, strlen(name));
	if (window == NULL)
		window = lb_window_of_key(name, strlen(name), &span);
	if (window == NULL)
		raise_no_window(leaderboard, name);
	if (!is_of_leaderboard(t, name))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("window \"%s\" is not of leaderboard \"%s\"", name,
						leaderboard->name),
				 errhint("Name its leaderboard in the argument \"leaderboard\".")));
	add_window(t, window, name);
}

static void
add_all_named(LbSubmitTarget *t)
{
	Datum	   *names;
	int			n;

	lb_require_some_write(&t->call->leaderboard);
	n = lb_named_boards(t->call->boards, &names);
	t->boards = palloc0(Max(1, n) * sizeof(LbSubmitBoard));
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_named(t, TextDatumGetCString(names[i]));
	}
}

/*
 * The leaderboard's board, and all its windows that are open at that moment.
 */
static void
add_all(LbSubmitTarget *t)
{
	LbWindow  **windows;
	int			n = lb_windows(&windows);

	t->boards = palloc0((n + 1) * sizeof(LbSubmitBoard));
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_of_leaderboard(t, windows[i]->calendar.name))
			add_window(t, windows[i], NULL);
	}
	add_scores(t);
}

/* The leaderboard's board comes first. */
static int
board_cmp(const void *a, const void *b)
{
	const LbSubmitBoard *ba = (const LbSubmitBoard *) a;
	const LbSubmitBoard *bb = (const LbSubmitBoard *) b;

	return ba->window != bb->window ? ba->window - bb->window :
		strcmp(ba->name, bb->name);
}

/* Sort the boards, each once. */
static void
sort_boards(LbSubmitTarget *t)
{
	int			n = 0;

	qsort(t->boards, t->nboards, sizeof(LbSubmitBoard), board_cmp);
	for (int i = 0; i < t->nboards; i++)
	{
		if (n == 0 || board_cmp(&t->boards[i], &t->boards[n - 1]) != 0)
			t->boards[n++] = t->boards[i];
	}
	t->nboards = n;
}

/*
 * The definition of the leaderboard's board where only windows are written to,
 * if its rows record which players are hidden; or NULL.
 */
static LbDefinition *
find_hides(const LbSubmitTarget *t)
{
	LbDefinition *defn;

	if (t->scores != NULL || t->windows == NULL || !t->windows->has_ranked_if)
		return NULL;
	defn = lb_find_in(t->call->stand_in, t->call->leaderboard.name);
	if (defn != NULL && (defn->family || defn->misfit ||
						 !lb_can_hide(defn) ||
						 lb_player_type(defn) != t->type))
		return NULL;
	return defn;
}

/*
 * Find the definitions of the boards, which checks the caller's privileges,
 * and the type of their players.
 */
static void
set_definitions(LbSubmitTarget *t)
{
	const LbLeaderboard *leaderboard = &t->call->leaderboard;

	if (t->nboards == (t->scores != NULL ? 1 : 0))
		t->windows = NULL;
	else if (t->windows == NULL)
		t->windows = find_submitted(t->call, leaderboard->family, true);
	t->players_of = t->scores != NULL ? t->scores :
		t->windows != NULL ? t->windows :
		find_submitted(t->call, leaderboard->name, false);
	t->type = lb_player_type(t->players_of);
	t->cmp = lb_player_order(t->type);
	if (t->windows != NULL && lb_player_type(t->windows) != t->type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("boards \"%s\" and \"%s\" have players of different types",
						leaderboard->name, leaderboard->family),
				 errdetail("They are of type %s and of type %s.",
						   t->type->sql_name,
						   lb_player_type(t->windows)->sql_name)));
	t->hides = find_hides(t);
}

void
lb_find_boards(LbSubmitTarget *t, const LbSubmitCall *call)
{
	memset(t, 0, sizeof(LbSubmitTarget));
	t->call = call;
	if (call->boards == NULL)
		add_all(t);
	else
		add_all_named(t);
	sort_boards(t);
	set_definitions(t);
	if (call->metadata != (Datum) 0 && t->scores != NULL)
		lb_require_metadata(t->scores);
	if (call->metadata != (Datum) 0 && t->windows != NULL)
		lb_require_metadata(t->windows);
}

void
lb_lock_windows(LbSubmitTarget *t)
{
	for (int b = 0; b < t->nboards; b++)
	{
		LbSubmitBoard *board = &t->boards[b];

		CHECK_FOR_INTERRUPTS();
		if (board->window && !board->closed)
			board->closed = GetCurrentTimestamp() >= board->closes;
		if (board->window && !board->closed)
		{
			lb_window_lock(board->name, strlen(board->name), RowExclusiveLock);

			/*
			 * Again: it may have taken a while to get the lock.  A key can
			 * have been closed though its end is ahead: when the window was
			 * opened with another time zone, or another period.
			 */
			board->closed = GetCurrentTimestamp() >= board->closes ||
				lb_window_locked_is_closed(board->name, strlen(board->name));
		}
		t->nopen += !board->closed;
	}
}

int
lb_window_number(const LbSubmitTarget *t, const char *key, int len)
{
	LbSubmitBoard wanted = {.name = pnstrdup(key, len),.window = true};
	const LbSubmitBoard *found = bsearch(&wanted, t->boards, t->nboards,
										 sizeof(LbSubmitBoard), board_cmp);

	return found == NULL ? -1 : found - t->boards;
}


/* ----------------------------------------------------------------
 *		The players
 * ----------------------------------------------------------------
 */

int
lb_player_cmp(const LbSubmitTarget *t, Datum a, Datum b)
{
	if (t->type->oid == INT8OID)
		return (DatumGetInt64(a) > DatumGetInt64(b)) -
			(DatumGetInt64(a) < DatumGetInt64(b));
	return DatumGetInt32(FunctionCall2Coll(t->cmp, C_COLLATION_OID, a, b));
}

static int
item_cmp(const void *a, const void *b, void *target)
{
	const LbSubmitItem *ia = (const LbSubmitItem *) a;
	const LbSubmitItem *ib = (const LbSubmitItem *) b;
	int			c = lb_player_cmp((const LbSubmitTarget *) target, ia->player,
								  ib->player);

	return c != 0 ? c : ia->number - ib->number;
}

void
lb_set_players(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;

	qsort_interruptible(s->items, s->nitems, sizeof(LbSubmitItem), item_cmp,
						unconstify(LbSubmitTarget *, t));
	s->players = palloc(s->nitems * sizeof(Datum));
	s->first = palloc((s->nitems + 1) * sizeof(int));
	for (int i = 0; i < s->nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0 && lb_player_cmp(t, s->items[i].player,
								   s->items[i - 1].player) == 0)
			continue;
		s->players[s->nplayers] = s->items[i].player;
		s->first[s->nplayers++] = i;
	}
	s->first[s->nplayers] = s->nitems;
	s->ranked = palloc(s->nplayers * sizeof(bool));
	memset(s->ranked, true, s->nplayers * sizeof(bool));
	s->enters = palloc(s->nplayers * sizeof(bool));
	memset(s->enters, true, s->nplayers * sizeof(bool));
	s->results = palloc0(Max(1, t->nboards) * sizeof(LbBoardResult));
	for (int b = 0; b < t->nboards; b++)
	{
		CHECK_FOR_INTERRUPTS();
		s->results[b].players = palloc0(s->nplayers * sizeof(LbPlayerScore));
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
		int			c = lb_player_cmp(s->target, s->players[mid], player);

		if (c == 0)
			return mid;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}
