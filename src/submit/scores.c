/*-------------------------------------------------------------------------
 *
 * scores.c
 *	  Writing scores to the users' tables.
 *
 * The usual submit is one statement.  Others write to the leaderboard's board,
 * which is called "global" here, and then to windows, by one statement for
 * each run of windows with the same operation.  What a statement returns is
 * kept in the submission: scores, and whether the player is ranked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "submit/hidden.h"
#include "submit/score_range.h"
#include "submit/scores.h"

/* Windows that one statement writes to with "global". */
#define MAX_SINGLE 5


/* ----------------------------------------------------------------
 *		The leaderboard's board
 * ----------------------------------------------------------------
 */

static LbArg
amounts_arg(const int64 *amounts, int n)
{
	Datum	   *datums = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		datums[i] = Int64GetDatum(amounts[i]);
	}
	return lb_arg_array(INT8OID, datums, NULL, n);
}

static LbArg
metadata_arg(const LbSubmit *s)
{
	return lb_arg_or_null(JSONBOID, s->call->metadata, s->call->metadata == (Datum) 0);
}

/*
 * The changes of each player as one, by the operation on a board.  Notes
 * whether scores may get out of range on the way.
 */
static int128 *
coalesce(LbSubmit *s, LbOp op, const LbDefinition *defn)
{
	bool		descending = defn->columns[0].descending;
	int128	   *amounts = palloc(s->nplayers * sizeof(int128));

	for (int p = 0; p < s->nplayers; p++)
	{
		int128		amount = s->items[s->first[p]].amount;
		int128		lowest = Min(0, amount);
		int128		highest = Max(0, amount);

		CHECK_FOR_INTERRUPTS();
		s->doubtful |= !lb_score_fits(defn, amount);
		for (int i = s->first[p] + 1; i < s->first[p + 1]; i++)
		{
			int128		next = s->items[i].amount;

			CHECK_FOR_INTERRUPTS();
			s->doubtful |= !lb_score_fits(defn, next);
			switch (op)
			{
				case LB_OP_INCR:
					amount += next;
					lowest = Min(lowest, amount);
					highest = Max(highest, amount);
					break;
				case LB_OP_SET:
					amount = next;
					break;
				case LB_OP_BEST:
				case LB_OP_WORST:
					if ((op == LB_OP_BEST) == descending)
						amount = Max(amount, next);
					else
						amount = Min(amount, next);
					break;
				case LB_OP_CHANGE:
				case LB_NOPS:
					Assert(false);
					break;
			}
		}
		amounts[p] = amount;
		if (op == LB_OP_INCR)
			s->doubtful |= !lb_score_fits(defn, amount) ||
				lowest < Min(0, amount) || highest > Max(0, amount);
	}
	return amounts;
}

/*
 * The amounts as a statement can take them: 0 for those that the column cannot
 * have.
 */
static int64 *
statement_amounts(const LbDefinition *defn, const int128 *amounts, int n)
{
	int64	   *result = palloc(n * sizeof(int64));

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		result[i] = lb_score_fits(defn, amounts[i]) ? (int64) amounts[i] : 0;
	}
	return result;
}

/*
 * A statement has added an amount to a player's score, if it has returned the
 * row.  Note the score before.  Returns whether the row is missing, though the
 * amount should have changed it.
 */
static bool
note_before(LbPlayerScore *score, int64 amount)
{
	int128		before;

	if (!score->known)
		return amount != 0;
	before = (int128) score->score - amount;
	/* A trigger may have changed the score. */
	score->before = (int64) Max(PG_INT64_MIN, Min(PG_INT64_MAX, before));
	return false;
}

/*
 * The rows that no statement has returned have been read.  Returns whether a
 * sum that the column cannot have, and that no statement has added therefore,
 * leads to a score that it can have.
 */
static bool
adds_later(const LbDefinition *defn, const LbPlayerScore *score, int128 sum)
{
	return !lb_score_fits(defn, sum) && lb_score_fits(defn, score->before + sum);
}

/* Write to rows of the leaderboard's board by one operation. */
static void
run_scores(LbSubmit *s, LbOp op, Datum *players, const int64 *amounts, int n,
		   bool hidden)
{
	LbScoreStatement st = {
		.kind = LB_SCORES_WRITE,.defn = s->target->scores,.op = op,
		.hidden = hidden,.metadata = s->call->metadata != (Datum) 0
	};

	(void) lb_run_scores(&st,
						 LB_ARGS(lb_players_arg(s, players, n),
								 amounts_arg(amounts, n),
								 lb_arg_time(s->call->at), metadata_arg(s)));
	lb_take_scores(s, true);
}

/*
 * Write to "global", in the order of the players.  Runs of new rows that are
 * hidden and of new rows that are not need statements of their own.  Players
 * who get their first row are locked until it is there.
 */
static void
run_enter(LbSubmit *s, LbOp op, const int64 *amounts)
{
	int			end;
	int			n;

	for (int first = 0; first < s->nplayers; first = end)
	{
		end = lb_lock_entering(s, first);
		for (int p = first; p < end; p += n)
		{
			for (n = 1; p + n < end; n++)
			{
				CHECK_FOR_INTERRUPTS();
				if (s->enters[p + n] != s->enters[p])
					break;
			}
			run_scores(s, op, s->players + p, amounts + p, n, !s->enters[p]);
		}
		if (s->nplayers > 1)
			lb_unlock_entering(s, first, end);
	}
}

/*
 * Write sums to "global" that the column can have only together with the
 * scores that are there.
 */
static void
add_later(LbSubmit *s, const int128 *sums)
{
	Datum	   *players = palloc(s->nplayers * sizeof(Datum));
	int64	   *targets = palloc(s->nplayers * sizeof(int64));
	int			n = 0;

	for (int p = 0; p < s->nplayers; p++)
	{
		const LbPlayerScore *score = &s->results[0].players[p];

		CHECK_FOR_INTERRUPTS();
		if (!adds_later(s->target->scores, score, sums[p]))
			continue;
		players[n] = s->players[p];
		targets[n++] = (int64) (score->before + sums[p]);
	}
	if (n > 0)
		run_scores(s, LB_OP_SET, players, targets, n, false);
}

/* Add to the scores of "global", and note what they were before. */
static void
add_to_scores(LbSubmit *s, const int128 *sums)
{
	LbPlayerScore *scores = s->results[0].players;
	int64	   *amounts = statement_amounts(s->target->scores, sums, s->nplayers);
	bool	   *returned = palloc(s->nplayers * sizeof(bool));

	run_enter(s, LB_OP_INCR, amounts);
	for (int p = 0; p < s->nplayers; p++)
	{
		CHECK_FOR_INTERRUPTS();
		returned[p] = scores[p].known;
		s->doubtful |= note_before(&scores[p], amounts[p]);
	}
	if (!s->doubtful && !s->need_scores)
		return;
	lb_read_missing_scores(s, 0, 1);
	for (int p = 0; p < s->nplayers; p++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!returned[p])
			scores[p].before = scores[p].score;
	}
	if (s->doubtful)
		add_later(s, sums);
}

/*
 * Note in s->doubtful whether windows that get the changes of "global" may get
 * out of range on the way: the change of player number p is the sum of those
 * one by one.
 */
static void
note_changes(LbSubmit *s, int p)
{
	const LbPlayerScore *score = &s->results[0].players[p];
	int			end = s->first[p + 1];
	int128		change = s->change[p];

	if (change < PG_INT64_MIN || change > PG_INT64_MAX)
		s->doubtful = true;

	/*
	 * The best or the worst of the scores goes one way, but not to the first
	 * score.
	 */
	if (s->call->op != LB_OP_SET)
		end = score->had_score ? s->first[p] : s->first[p] + 1;
	for (int i = s->first[p]; i < end; i++)
	{
		int128		sum = (int128) s->items[i].amount - score->before;

		CHECK_FOR_INTERRUPTS();
		s->doubtful |= sum < Min(0, change) || sum > Max(0, change);
	}
}

/*
 * Set the scores of "global", where windows get the changes.  These depend on
 * the old scores, so a first pass locks or inserts the rows.
 */
static void
change_scores(LbSubmit *s, const int128 *amounts)
{
	const LbDefinition *defn = s->target->scores;
	LbOp		op = s->call->op;
	bool		descending = defn->columns[0].descending;
	Datum	   *players = palloc(s->nplayers * sizeof(Datum));
	int64	   *targets = palloc(s->nplayers * sizeof(int64));
	bool	   *inserted = palloc(s->nplayers * sizeof(bool));
	int			n = 0;

	run_enter(s, LB_OP_CHANGE, statement_amounts(defn, amounts, s->nplayers));
	for (int p = 0; p < s->nplayers; p++)
	{
		CHECK_FOR_INTERRUPTS();
		inserted[p] = s->results[0].players[p].known;
	}
	lb_read_missing_scores(s, 0, 1);
	s->change = palloc(s->nplayers * sizeof(int128));
	for (int p = 0; p < s->nplayers; p++)
	{
		LbPlayerScore *score = &s->results[0].players[p];
		int128		new = amounts[p];
		bool		has_score = !inserted[p] && score->has_score;
		int128		old = inserted[p] ? 0 : score->score;

		CHECK_FOR_INTERRUPTS();
		score->before = (int64) old;
		score->had_score = has_score;
		if (op != LB_OP_SET && has_score)
			new = (op == LB_OP_BEST) == descending ? Max(old, new) :
				Min(old, new);
		s->change[p] = new - old;
		note_changes(s, p);
		if (inserted[p] || (new == old && has_score) ||
			!lb_score_fits(defn, new))
			continue;
		players[n] = s->players[p];
		targets[n++] = (int64) new;
	}
	if (n > 0)
		run_scores(s, LB_OP_SET, players, targets, n, false);
}

void
lb_write_scores(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;
	int128	   *amounts = coalesce(s, t->call->op, t->scores);
	bool		change = false;

	for (int b = 1; b < t->nboards; b++)
		change |= !t->boards[b].closed && lb_gets_change(t, &t->boards[b]);
	s->change = amounts;
	if (t->call->op == LB_OP_INCR)
		add_to_scores(s, amounts);
	else if (change)
		change_scores(s, amounts);
	else
	{
		run_enter(s, t->call->op,
				  statement_amounts(t->scores, amounts, s->nplayers));
		if (s->need_scores)
			lb_read_missing_scores(s, 0, 1);
	}
}


/* ----------------------------------------------------------------
 *		Windows
 * ----------------------------------------------------------------
 */

/* A player's row of a window. */
typedef struct WindowRow
{
	int			board;
	int			p;
	int128		sum;
	int64		amount;			/* what the statement takes */
	bool		returned;
} WindowRow;

/* Write n rows of windows by one operation. */
static void
run_rows(LbSubmit *s, LbOp op, const WindowRow *rows, int n)
{
	LbScoreStatement st = {
		.kind = LB_SCORES_WRITE,.defn = s->target->windows,.op = op,
		.metadata = s->call->metadata != (Datum) 0
	};
	Datum	   *players = palloc(n * sizeof(Datum));
	Datum	   *amounts = palloc(n * sizeof(Datum));
	Datum	   *keys = palloc(n * sizeof(Datum));
	Datum	   *ranked = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
	{
		const WindowRow *row = &rows[i];

		CHECK_FOR_INTERRUPTS();
		players[i] = s->players[row->p];
		amounts[i] = Int64GetDatum(row->amount);
		keys[i] = i > 0 && row[-1].board == row->board ? keys[i - 1] :
			CStringGetTextDatum(s->target->boards[row->board].name);
		ranked[i] = BoolGetDatum(lb_is_ranked_in_windows(s, row->p));
	}
	(void) lb_run_scores(&st,
						 LB_ARGS(lb_players_arg(s, players, n),
								 lb_arg_array(INT8OID, amounts, NULL, n),
								 lb_arg_time(s->call->at),
								 lb_arg_array(TEXTOID, keys, NULL, n),
								 lb_arg(BOOLARRAYOID, lb_make_array(BOOLOID, ranked, NULL, n)),
								 metadata_arg(s)));
	lb_take_scores(s, true);
}

/*
 * Increments of windows have been written.  Note the scores before, and write
 * sums that the column can have only together with these.
 */
static void
note_windows(LbSubmit *s, int first, int n, WindowRow *rows, int nrows)
{
	int			later = 0;

	for (int i = 0; i < nrows; i++)
	{
		LbPlayerScore *score = &s->results[rows[i].board].players[rows[i].p];

		CHECK_FOR_INTERRUPTS();
		rows[i].returned = score->known;
		s->doubtful |= note_before(score, rows[i].amount);
	}
	if (!s->doubtful)
		return;
	lb_read_missing_scores(s, first, n);
	for (int i = 0; i < nrows; i++)
	{
		const WindowRow *row = &rows[i];
		LbPlayerScore *score = &s->results[row->board].players[row->p];

		CHECK_FOR_INTERRUPTS();
		if (!row->returned)
			score->before = score->score;
		if (!adds_later(s->target->windows, score, row->sum))
			continue;
		rows[later] = *row;
		rows[later].amount = (int64) (score->before + rows[later].sum);
		later++;
	}
	if (later > 0)
		run_rows(s, LB_OP_SET, rows, later);
}

/* Write to n windows, from number first on, that have the same operation. */
static void
run_windows(LbSubmit *s, int first, int n)
{
	const LbSubmitTarget *t = s->target;
	LbOp		op = lb_effective_op(t, &t->boards[first]);
	WindowRow  *rows = palloc((Size) n * s->nplayers * sizeof(WindowRow));
	int128	   *coalesced = NULL;
	int			k = 0;

	for (int b = first; b < first + n; b++)
	{
		const int128 *from = s->change;

		if (!lb_gets_change(t, &t->boards[b]))
		{
			if (coalesced == NULL)
				coalesced = coalesce(s, op, t->windows);
			from = coalesced;
		}
		for (int p = 0; p < s->nplayers; p++)
		{
			bool		fits = lb_score_fits(t->windows, from[p]);

			CHECK_FOR_INTERRUPTS();
			if (!lb_takes_part(s, b, p))
				continue;
			s->doubtful |= !fits;
			rows[k].board = b;
			rows[k].p = p;
			rows[k].sum = from[p];
			rows[k++].amount = fits ? (int64) from[p] : 0;
		}
	}
	run_rows(s, op, rows, k);
	if (op == LB_OP_INCR)
		note_windows(s, first, n, rows, k);
	if (s->need_scores)
		lb_read_missing_scores(s, first, n);
}

/* Write to all windows that are open, in the order of their keys. */
void
lb_write_windows(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;
	bool		hidden_known = false;
	int			n;

	for (int b = 0; b < t->nboards; b += n)
	{
		n = 1;
		if (!t->boards[b].window || t->boards[b].closed)
			continue;
		if (!hidden_known)
			lb_find_hidden(s);
		hidden_known = true;
		while (b + n < t->nboards && !t->boards[b + n].closed &&
			   lb_effective_op(t, &t->boards[b + n]) ==
			   lb_effective_op(t, &t->boards[b]))
			n++;
		run_windows(s, b, n);
	}
}

/*
 * A statement has written a submit to fewer boards than it should have.  It
 * has returned the keys of windows.  Read all scores, and note those before.
 */
static void
note_single(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;
	int64		amount = s->items[0].amount;
	uint64		nkeys = t->nopen > 1 ? SPI_processed : 0;
	bool		all_out = true;

	for (uint64 i = 0; i < nkeys; i++)
	{
		text	   *key = DatumGetTextPP(lb_row_datum(SPI_tuptable, i, 1));
		int			b = lb_window_number(t, VARDATA_ANY(key),
										 VARSIZE_ANY_EXHDR(key));

		if (b >= 0)
			s->results[b].written = true;
	}
	for (int b = 0; b < t->nboards; b++)
	{
		LbBoardResult *result = &s->results[b];
		LbPlayerScore *score = result->players;

		if (t->boards[b].closed)
			continue;
		lb_read_missing_scores(s, b, 1);
		score->before = score->score;
		if (b > 0)
			all_out &= !lb_score_fits(t->windows, (int128) score->score + amount);
		if (result->written)
			score->before -= amount;
		result->written = false;
	}

	/*
	 * Without the row of "global", no row of windows is written.  If all of
	 * them are out of range, then one of them may be named as well.
	 */
	if (nkeys > 0 || (t->nopen > 1 && all_out))
		s->results[0].players->before -= amount;
	s->doubtful = true;
}


/* ----------------------------------------------------------------
 *		One statement for all boards
 * ----------------------------------------------------------------
 */

/*
 * Whether one statement can write a submit: an increment that all boards get.
 * It does not suit a table with a trigger that may keep rows from being
 * written: without the row of "global", no row of windows would be written.
 */
static bool
is_single(const LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;
	const LbSubmitItem *item = s->items;

	/* Where other tables stand in, no board is read. */
	if (t->call->stand_in != NULL)
		return false;
	if (s->nitems != 1 || t->call->metadata != (Datum) 0 ||
		t->scores == NULL || t->call->op != LB_OP_INCR || item->amount == 0 ||
		t->nopen - 1 > MAX_SINGLE || !s->enters[0] ||
		!lb_score_fits(t->scores, item->amount) ||
		(s->hidden != NULL && s->hidden->windows[0] != LB_NOT_RECORDED) ||
		t->scores->keeps_rows || lb_lends_no_rights(t->scores))
		return false;
	return t->windows == NULL ||
		(!t->windows->keeps_rows && !lb_lends_no_rights(t->windows) &&
		 (!t->windows->has_ranked_if || t->scores->has_ranked_if));
}

bool
lb_write_single(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;
	LbScoreStatement st = {
		.kind = LB_SCORES_ADD_ONE,.defn = t->scores,.windows = t->windows
	};
	LbArg		args[3 + MAX_SINGLE];
	int			n = 3;

	if (!is_single(s))
		return false;
	args[0] = lb_arg(t->type->oid, s->items[0].player);
	args[1] = lb_arg_int8(s->items[0].amount);
	args[2] = lb_arg_time(t->call->at);
	for (int b = 1; b < t->nboards; b++)
	{
		if (t->boards[b].closed)
			continue;
		if (lb_effective_op(t, &t->boards[b]) != LB_OP_INCR ||
			!lb_score_fits(t->windows, s->items[0].amount))
			return false;
		args[n++] = lb_arg_text(t->boards[b].name);
	}
	st.nwindows = n - 3;
	if (lb_run_scores(&st, n, args) < (uint64) Max(1, st.nwindows))
		note_single(s);
	return true;
}

bool
lb_kept_out(const LbSubmit *s, int b)
{
	const LbSubmitTarget *t = s->target;
	const LbSubmitBoard *board = &t->boards[b];
	const LbDefinition *defn = lb_board_defn(t, board);
	int128		amount;
	int128		score = s->results[b].players->score;

	if (!defn->keeps_rows || s->results[b].written)
		return false;
	if (!s->results[b].players->has_score)
		return true;
	amount = lb_gets_change(t, board) ? s->change[0] : s->items[0].amount;
	switch (lb_effective_op(t, board))
	{
		case LB_OP_SET:
			return score != amount;
		case LB_OP_BEST:
			return defn->columns[0].descending ? amount > score :
				amount < score;
		case LB_OP_WORST:
			return defn->columns[0].descending ? amount < score :
				amount > score;
		case LB_OP_INCR:
		case LB_OP_CHANGE:
		case LB_NOPS:
			break;
	}
	return amount != 0;
}
