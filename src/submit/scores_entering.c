/*-------------------------------------------------------------------------
 *
 * scores_entering.c
 *	  Players whose first rows of scores a submit inserts: locks, and whether
 *	  these rows are ranked.
 *
 * "Global" is the leaderboard's board of scores here.  A player who is hidden
 * has ranked_if false in the rows of "global" and of windows.  New rows of
 * such a player must not be ranked either.  Whether they are is looked up in
 * lb_hidden.  What that does not tell they take from a row that is there,
 * which the user may have changed: windows from "global", and "global" from
 * windows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "leaderboards/as_owner.h"
#include "submit/hidden.h"
#include "submit/scores.h"

/* Players who are locked at once, since the first row of each is inserted. */
#define MAX_LOCKED 64

/*
 * Whether a new row of "global" is ranked, as far as lb_hidden tells.  What
 * the rows of windows tell stays.
 */
static void
set_enters(LbSubmit *s, int first, int end)
{
	for (int p = first; p < end; p++)
	{
		CHECK_FOR_INTERRUPTS();
		if (s->hidden->scores[p] != LB_NOT_RECORDED)
			s->enters[p] = s->hidden->scores[p] == LB_EXCEPTED;
	}
}

int
lb_lock_entering(LbSubmit *s, int first)
{
	int			nlocked = 0;
	int			p;

	if (s->exists == NULL || s->nplayers == 1)
		return s->nplayers;
	for (p = first; p < s->nplayers && nlocked < MAX_LOCKED; p++)
	{
		CHECK_FOR_INTERRUPTS();
		if (s->exists[p])
			continue;
		lb_lock_hidden(s->call->leaderboard.name, lb_player_text(s, p),
					   RowExclusiveLock);
		nlocked++;
	}
	if (nlocked > 0 && lb_look_up_hidden_again(s))
		set_enters(s, first, p);
	return p;
}

void
lb_unlock_entering(LbSubmit *s, int first, int end)
{
	for (int p = first; s->exists != NULL && p < end; p++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!s->exists[p])
			lb_unlock_hidden(s->call->leaderboard.name, lb_player_text(s, p));
	}
}

/*
 * Note which of some players are hidden by rows of a board; with as_owner for
 * a caller that need not be allowed to read the table.
 */
static void
run_hidden(LbSubmit *s, const LbDefinition *defn, bool as_owner,
		   Datum *players, int n, bool *ranked)
{
	LbScoreStatement st = {
		.kind = LB_SCORES_HIDDEN,.defn = defn,.as_owner = as_owner
	};
	SPITupleTable *rows;

	(void) lb_run_scores(&st, LB_ARGS(lb_players_arg(s, players, n)));
	rows = SPI_tuptable;
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		int			p = lb_player_number(s, lb_row_datum(rows, i, 1));

		CHECK_FOR_INTERRUPTS();
		if (p < 0)
			continue;
		if (!defn->family && s->exists != NULL)
			s->exists[p] = true;
		if (!lb_row_bool(rows, i, 2))
			ranked[p] = false;
	}
	SPI_freetuptable(rows);
}

/* Whether some boards may get a new row of a player, which could be hidden. */
static bool
may_hide(const LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;
	bool		hides = false;
	bool		inserts = t->scores == NULL;

	for (int b = 0; b < t->nboards; b++)
	{
		if (t->boards[b].closed)
			continue;
		hides |= lb_board_defn(t, &t->boards[b])->has_ranked_if;

		/* A player with a rank has a row. */
		inserts |= !s->results[b].has_previous;
	}
	return hides && inserts;
}

/*
 * Find out which players have a row of "global".  If it is not written to,
 * these rows are locked.
 */
static void
find_existing(LbSubmit *s)
{
	s->exists = palloc0(s->nplayers * sizeof(bool));
	if (s->target->scores == NULL)
	{
		if (s->target->hides != NULL)
			run_hidden(s, s->target->hides, true, s->players, s->nplayers,
					   s->ranked);
		return;
	}
	if (s->results[0].has_previous)
	{
		s->exists[0] = true;
		return;
	}
	lb_read_missing_scores(s, 0, 1);
	for (int p = 0; p < s->nplayers; p++)
	{
		LbPlayerScore *score = &s->results[0].players[p];

		CHECK_FOR_INTERRUPTS();
		s->exists[p] = score->known;

		/* Nothing has been written yet. */
		score->known = false;
		score->has_score = false;
		score->score = 0;

		s->ranked[p] = true;
	}
}

/*
 * The rows of windows say who is hidden in them, and a new row of "global" is
 * not ranked then: where lb_hidden does not tell, the user has set that.
 */
static void
find_hidden_in_windows(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;
	LbDefinition *windows = t->windows;
	Datum	   *players;
	int			n = 0;

	if (t->scores == NULL || !t->scores->has_ranked_if)
		return;
	if (windows == NULL)
		windows = lb_find_in(t->call->stand_in, t->call->leaderboard.family);
	if (windows == NULL || !windows->family || windows->misfit ||
		!windows->has_ranked_if || lb_player_type(windows) != t->type)
		return;
	players = palloc(s->nplayers * sizeof(Datum));
	for (int p = 0; p < s->nplayers; p++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!s->exists[p] && s->hidden->windows[p] == LB_NOT_RECORDED)
			players[n++] = s->players[p];
	}
	if (n > 0)
		run_hidden(s, windows, true, players, n, s->enters);
}

void
lb_find_entering(LbSubmit *s)
{
	if (!may_hide(s))
		return;
	find_existing(s);
	if (s->nplayers == 1 && !s->exists[0])
		lb_lock_hidden(s->call->leaderboard.name, lb_player_text(s, 0),
					   RowExclusiveLock);
	lb_look_up_hidden(s);
	find_hidden_in_windows(s);
	set_enters(s, 0, s->nplayers);
}

/*
 * Hide rows of n players that were written before another session had recorded
 * that they are hidden, and that it has not seen.  The owner of the table
 * hides them, as lb_hide() would.
 */
static void
hide_late(LbSubmit *s, const LbDefinition *defn, Datum *players, int n)
{
	const LbSubmitTarget *t = s->target;
	Datum	   *keys = palloc(Max(1, t->nboards) * sizeof(Datum));
	const char *ranked;
	StringInfoData sql;
	int			nkeys = 0;

	if (n == 0 || defn == NULL || !defn->has_ranked_if)
		return;
	ranked = lb_quoted(lb_ranked_if_column(defn));
	for (int b = 0; b < t->nboards; b++)
	{
		if (t->boards[b].window && !t->boards[b].closed)
			keys[nkeys++] = CStringGetTextDatum(t->boards[b].name);
	}
	initStringInfo(&sql);
	appendStringInfo(&sql, "UPDATE %s SET %s = false WHERE %s OPERATOR(pg_catalog.=) ANY ($1) AND %s",
					 defn->from_name, ranked,
					 lb_quoted(lb_member_column(defn)), ranked);
	if (defn->family)
		appendStringInfo(&sql, " AND %s OPERATOR(pg_catalog.=) ANY ($2)",
						 lb_quoted(lb_board_column(defn)));
	(void) lb_write_as_owner(defn, false, sql.data,
							 LB_ARGS(lb_players_arg(s, players, n),
									 lb_arg_array(TEXTOID, keys, NULL, nkeys)));
}

void
lb_end_entering(LbSubmit *s)
{
	const LbHidden *before = s->hidden;
	Datum	   *scores;
	Datum	   *windows;
	int			nscores = 0;
	int			nwindows = 0;

	if (before == NULL)
		return;
	if (s->nplayers == 1)
		lb_unlock_entering(s, 0, 1);
	if (!lb_look_up_hidden_again(s) && !s->hidden->changed)
		return;
	scores = palloc(s->nplayers * sizeof(Datum));
	windows = palloc(s->nplayers * sizeof(Datum));
	for (int p = 0; p < s->nplayers; p++)
	{
		CHECK_FOR_INTERRUPTS();
		if (s->hidden->scores[p] == LB_HIDDEN && s->enters[p])
			scores[nscores++] = s->players[p];
		if (s->hidden->windows[p] == LB_HIDDEN &&
			before->windows[p] != LB_HIDDEN)
			windows[nwindows++] = s->players[p];
	}
	hide_late(s, s->target->scores, scores, nscores);
	hide_late(s, s->target->windows, windows, nwindows);
}

/*
 * If "global" is written to, its rows are known, and locked.  Otherwise both
 * the row of "global" and those of other windows are read, and the row of
 * "global" is locked.  So a concurrent lb_hide() has either hidden the player
 * before this submit reads the row, or waits for it and sees the new rows.
 */
void
lb_find_hidden(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;

	if (!t->windows->has_ranked_if)
		return;
	(void) lb_look_up_hidden_again(s);
	if (t->scores != NULL && t->scores->has_ranked_if)
		lb_read_missing_scores(s, 0, 1);
	else
		run_hidden(s, t->windows, false, s->players, s->nplayers, s->ranked);
}

bool
lb_is_ranked_in_windows(const LbSubmit *s, int p)
{
	if (s->hidden == NULL || s->hidden->windows[p] == LB_NOT_RECORDED)
		return s->ranked[p];
	return s->hidden->windows[p] == LB_EXCEPTED;
}
