/*-------------------------------------------------------------------------
 *
 * scores.c
 *	  The statements on the users' tables that write and read scores.
 *
 * "Global" is the leaderboard's board of scores here.  The texts of the
 * statements are made from its definition and that of the family of windows,
 * and their plans are kept until a definition changes.  What a statement
 * returns is kept in the submission: scores, and whether the player is ranked.
 *
 * A player who is hidden has ranked_if false in the rows of "global" and of
 * windows.  New rows of such a player must not be ranked either.  Whether they
 * are is looked up in lb_hidden.  What that does not tell they take from a row
 * that is there, which the user may have changed: windows from "global", and
 * "global" from windows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "boards/definition.h"
#include "leaderboards/as_owner.h"
#include "leaderboards/player.h"
#include "sql/spi.h"
#include "submit/hidden.h"
#include "submit/score_range.h"
#include "submit/scores.h"

/* Windows that one statement writes to with "global". */
#define MAX_SINGLE 5

/* Players who are locked at once, since the first row of each is inserted. */
#define MAX_LOCKED 64

/*
 * Leaderboards, or tables that stand in for theirs, whose plans a backend
 * keeps.
 */
#define MAX_PLANNED 64

/* The plans of the statements on a leaderboard's tables. */
typedef struct Plans
{
	char		leaderboard[LB_MAX_LEADERBOARD + 1];
	Oid			source;			/* that stands in, or InvalidOid */
	LbPlan		read[2];		/* by whether "global" is read */
	LbPlan		scores_board[2][2][LB_NOPS];	/* by whether new rows are
												 * hidden, and whether
												 * metadata is written */
	LbPlan		entering;
	LbPlan		hidden[2];
	LbPlan		windows[2][LB_NOPS];	/* by whether metadata is written */
	LbPlan		single[MAX_SINGLE + 1]; /* by the number of windows */
} Plans;

/*
 * The plans for a leaderboard.  If there is no room for another, it takes
 * those of one that came before, whose statements are planned again when they
 * are run: a plan is kept for one definition (lb_plan_run).
 */
static Plans *
plans_of(const LbSubmit *s)
{
	static Plans plans[MAX_PLANNED];
	static int	nplans = 0;
	static int	next = 0;
	Oid			source = s->stand_in != NULL ? s->players_of->source : InvalidOid;
	Plans	   *found;

	for (int i = 0; i < nplans; i++)
	{
		if (plans[i].source == source &&
			strcmp(plans[i].leaderboard, s->leaderboard.name) == 0)
			return &plans[i];
	}
	found = &plans[next];
	next = (next + 1) % MAX_PLANNED;
	nplans = Max(nplans, found - plans + 1);
	strlcpy(found->leaderboard, s->leaderboard.name,
			sizeof(found->leaderboard));
	found->source = source;
	return found;
}

/* What tells definitions apart, and tables that stand in for the same one. */
static uint64
plan_key(const LbDefinition *defn)
{
	return ((uint64) defn->source << 32) | (uint32) defn->id;
}


/* ----------------------------------------------------------------
 *		Texts
 * ----------------------------------------------------------------
 */

typedef struct TextArg
{
	const LbDefinition *defn;
	LbOp		op;
	bool		hidden;			/* new rows of "global" are not ranked */
	bool		metadata;		/* the last parameter is written */
} TextArg;

bool
lb_has_updated_at(const LbDefinition *defn)
{
	AttrNumber	attno = get_attnum(defn->source, "updated_at");

	return attno > 0 && get_atttype(defn->source, attno) == TIMESTAMPTZOID;
}

/* Whether the score is never null. */
static bool
is_not_null(const LbDefinition *defn)
{
	HeapTuple	tuple = SearchSysCacheAttName(defn->source,
											  defn->columns[0].name);
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
		ReleaseSysCache(tuple);
	}
	return result;
}

/* The columns of a row t that every statement returns. */
static void
append_returned(StringInfo buf, const LbDefinition *defn)
{
	appendStringInfo(buf, "CAST(t.%s AS pg_catalog.%s), CAST(t.%s AS pg_catalog.int8), ",
					 lb_quoted(lb_member_column(defn)),
					 lb_player_type(defn)->name,
					 lb_quoted(lb_score_column(defn)));
	if (defn->has_ranked_if)
		appendStringInfo(buf, "t.%s, ", lb_quoted(lb_ranked_if_column(defn)));
	else
		appendStringInfoString(buf, "true, ");
	if (defn->family)
		appendStringInfo(buf, "CAST(t.%s AS pg_catalog.text)",
						 lb_quoted(lb_board_column(defn)));
	else
		appendStringInfoString(buf, "CAST(NULL AS pg_catalog.text)");
}

/* The head of an INSERT, up to where its rows come from. */
static void
append_insert(StringInfo buf, const LbDefinition *defn, bool stamp, bool hide,
			  bool metadata)
{
	appendStringInfo(buf, "INSERT INTO %s AS t (%s, %s", defn->source_name,
					 lb_quoted(lb_member_column(defn)),
					 lb_quoted(lb_score_column(defn)));
	if (stamp)
		appendStringInfoString(buf, ", updated_at");
	if (defn->family)
		appendStringInfo(buf, ", %s", lb_quoted(lb_board_column(defn)));
	if (hide)
		appendStringInfo(buf, ", %s", lb_quoted(lb_ranked_if_column(defn)));
	if (metadata)
		appendStringInfoString(buf, ", metadata");
	appendStringInfoString(buf, ") ");
}

/*
 * The score that an increment finds in a row t.
 */
static char *
old_score(const LbDefinition *defn)
{
	const char *score = lb_quoted(lb_score_column(defn));

	return is_not_null(defn) ? psprintf("t.%s", score) :
		psprintf("COALESCE(t.%s, 0)", score);
}

/*
 * That an increment does not lead out of the range of the column.  Where it
 * does, the row is only locked, and the caller finds that it has not been
 * returned.
 */
static void
append_fits(StringInfo buf, const LbDefinition *defn)
{
	const LbColumn *column = lb_score_column(defn);
	const char *score = lb_quoted(column);
	const char *old = old_score(defn);
	int64		max = column->type->max;

	appendStringInfo(buf, "CASE WHEN excluded.%s OPERATOR(pg_catalog.<) 0 "
					 "THEN %s OPERATOR(pg_catalog.>=) (CAST('" INT64_FORMAT "' AS pg_catalog.%s) OPERATOR(pg_catalog.-) excluded.%s) "
					 "ELSE %s OPERATOR(pg_catalog.<=) (CAST('" INT64_FORMAT "' AS pg_catalog.%s) OPERATOR(pg_catalog.-) excluded.%s) END",
					 score, old, -max - 1, column->type->name, score, old, max,
					 column->type->name, score);
}

/*
 * The change of a row that is there.  LB_OP_CHANGE only locks the row; see
 * lb_write_global().  If changes is set, the increment is not zero.
 */
static void
append_conflict(StringInfo buf, const LbDefinition *defn, LbOp op, bool stamp,
				bool metadata, bool changes)
{
	const char *score = lb_quoted(lb_score_column(defn));
	bool		descending = defn->columns[0].descending;

	appendStringInfo(buf, " ON CONFLICT (%s", lb_quoted(lb_member_column(defn)));
	if (defn->family)
		appendStringInfo(buf, ", %s", lb_quoted(lb_board_column(defn)));
	appendStringInfo(buf, ") DO UPDATE SET %s = ", score);
	if (op == LB_OP_INCR)
		appendStringInfo(buf, "%s OPERATOR(pg_catalog.+) excluded.%s",
						 old_score(defn), score);
	else
		appendStringInfo(buf, "excluded.%s", score);
	if (stamp)
		appendStringInfoString(buf, ", updated_at = GREATEST(t.updated_at, excluded.updated_at)");
	if (metadata)
		appendStringInfoString(buf, ", metadata = excluded.metadata");

	/*
	 * A score that does not change is not written, and keeps its updated_at.
	 */
	if (op == LB_OP_CHANGE)
		appendStringInfoString(buf, " WHERE false");
	else if (op == LB_OP_INCR)
	{
		appendStringInfoString(buf, " WHERE ");
		if (!changes)
			appendStringInfo(buf, "excluded.%s OPERATOR(pg_catalog.<>) 0 AND ",
							 score);
		append_fits(buf, defn);
	}
	else
		appendStringInfo(buf, " WHERE t.%s IS NULL OR excluded.%s OPERATOR(pg_catalog.%s) t.%s",
						 score, score,
						 op == LB_OP_SET ? "<>" :
						 (op == LB_OP_BEST) == descending ? ">" : "<", score);
}

/*
 * $1 players, $2 amounts, $3 at; of windows $4 keys, $5 whether ranked; last
 * the metadata.  The arrays are unnested in a target list: as functions in
 * FROM each of them would be put in a tuplestore first.
 */
static char *
write_text(const void *arg)
{
	const LbDefinition *defn = ((const TextArg *) arg)->defn;
	bool		stamp = lb_has_updated_at(defn);
	bool		hide = defn->family && defn->has_ranked_if;
	bool		hidden = ((const TextArg *) arg)->hidden;
	bool		metadata = ((const TextArg *) arg)->metadata;
	StringInfoData buf;

	initStringInfo(&buf);
	append_insert(&buf, defn, stamp, hide || hidden, metadata);
	appendStringInfo(&buf, "SELECT u.member, u.amount%s%s%s%s FROM (SELECT pg_catalog.unnest($1), pg_catalog.unnest($2)%s%s) AS u (member, amount%s%s)",
					 stamp ? ", $3" : "", defn->family ? ", u.key" : "",
					 hide ? ", u.ranked" : hidden ? ", false" : "",
					 !metadata ? "" : defn->family ? ", $6" : ", $4",
					 defn->family ? ", pg_catalog.unnest($4)" : "",
					 hide ? ", pg_catalog.unnest($5)" : "",
					 defn->family ? ", key" : "", hide ? ", ranked" : "");
	append_conflict(&buf, defn, ((const TextArg *) arg)->op, stamp, metadata,
					false);
	appendStringInfoString(&buf, " RETURNING ");
	append_returned(&buf, defn);
	return buf.data;
}

/*
 * One player's increment on "global" and in all windows at once: $1 player, $2
 * amount, $3 at, $4 ... keys.  The windows' rows come from the row of
 * "global", so it is locked first.  No scores are returned: the boards are
 * read afterwards.  The keys are, of the windows whose scores do not get out
 * of range.
 */
static char *
single_text(const void *arg)
{
	const LbSubmit *s = (const LbSubmit *) arg;
	bool		stamp = lb_has_updated_at(s->scores_board);
	bool		hide;
	StringInfoData buf;

	initStringInfo(&buf);
	if (s->nopen > 1)
		appendStringInfoString(&buf, "WITH g (ranked) AS (");
	append_insert(&buf, s->scores_board, stamp, false, false);
	appendStringInfo(&buf, "VALUES ($1, $2%s)", stamp ? ", $3" : "");
	append_conflict(&buf, s->scores_board, LB_OP_INCR, stamp, false, true);
	if (s->nopen == 1)
		return buf.data;

	appendStringInfoString(&buf, " RETURNING ");
	if (s->scores_board->has_ranked_if)
		appendStringInfo(&buf, "t.%s IS TRUE",
						 lb_quoted(lb_ranked_if_column(s->scores_board)));
	else
		appendStringInfoString(&buf, "true");
	stamp = lb_has_updated_at(s->windows);
	hide = s->windows->has_ranked_if;
	appendStringInfoString(&buf, ") ");
	append_insert(&buf, s->windows, stamp, hide, false);
	appendStringInfo(&buf, "SELECT $1, $2%s, k.key%s FROM g, (VALUES ",
					 stamp ? ", $3" : "", hide ? ", g.ranked" : "");
	for (int i = 1; i < s->nopen; i++)
		appendStringInfo(&buf, "%s($%d)", i > 1 ? ", " : "", i + 3);
	appendStringInfoString(&buf, ") AS k (key)");
	append_conflict(&buf, s->windows, LB_OP_INCR, stamp, false, true);
	appendStringInfo(&buf, " RETURNING CAST(t.%s AS pg_catalog.text)",
					 lb_quoted(lb_board_column(s->windows)));
	return buf.data;
}

/* $1 players; of windows $2 keys. */
static char *
read_text(const void *arg)
{
	const LbDefinition *defn = ((const TextArg *) arg)->defn;
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "SELECT ");
	append_returned(&buf, defn);
	appendStringInfo(&buf, " FROM %s AS t WHERE t.%s OPERATOR(pg_catalog.=) ANY ($1)",
					 defn->from_name, lb_quoted(lb_member_column(defn)));
	if (defn->family)
		appendStringInfo(&buf, " AND t.%s OPERATOR(pg_catalog.=) ANY ($2)",
						 lb_quoted(lb_board_column(defn)));
	return buf.data;
}

/*
 * The players that have a row, and whether it is ranked; for windows only
 * those that are hidden.  $1 players.  The rows of "global" are locked, which
 * lb_hide() locks first.
 */
static char *
hidden_text(const void *arg)
{
	const LbDefinition *defn = ((const TextArg *) arg)->defn;
	const LbType *type = lb_player_type(defn);
	const char *member = lb_quoted(lb_member_column(defn));
	const char *ranked = lb_quoted(lb_ranked_if_column(defn));
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "SELECT CAST(t.%s AS pg_catalog.%s), t.%s FROM %s AS t WHERE t.%s OPERATOR(pg_catalog.=) ANY ($1)",
					 member, type->name, ranked, defn->from_name, member);
	if (defn->family)
		appendStringInfo(&buf, " AND NOT t.%s", ranked);
	else
		appendStringInfo(&buf, " ORDER BY t.%s%s FOR NO KEY UPDATE", member,
						 type->is_text ? " COLLATE pg_catalog.\"C\"" : "");
	return buf.data;
}


/* ----------------------------------------------------------------
 *		Running them
 * ----------------------------------------------------------------
 */

static LbArg
players_arg(const LbSubmit *s, Datum *players, int n)
{
	return lb_arg(s->type->array, lb_make_array(s->type->oid, players, NULL, n));
}

static LbArg
amounts_arg(const int64 *amounts, int n)
{
	Datum	   *datums = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
		datums[i] = Int64GetDatum(amounts[i]);
	return lb_arg_int8s(datums, NULL, n);
}

static LbArg
metadata_arg(const LbSubmit *s)
{
	return lb_arg_or_null(JSONBOID, s->metadata, !s->has_metadata);
}

/*
 * Remember the scores that a statement has returned, whether it wrote or read
 * them.
 */
static void
take_scores(LbSubmit *s, bool written)
{
	SPITupleTable *rows = SPI_tuptable;
	LbSubmitBoard *board = NULL;

	/* "global" has no key. */
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		player = lb_row_nullable(rows, i, 1, &isnull);
		bool		scores_board;
		Datum		value = lb_row_nullable(rows, i, 4, &scores_board);
		int			p;

		/* A trigger may have set it to null. */
		if (isnull)
			continue;
		p = lb_player_number(s, player);
		if (scores_board)
			board = &s->boards[0];
		else
		{
			text	   *key = DatumGetTextPP(value);
			int			len = VARSIZE_ANY_EXHDR(key);

			/* Mostly the board of the row before. */
			if (board == NULL || (int) strlen(board->name) != len ||
				memcmp(board->name, VARDATA_ANY(key), len) != 0)
				board = lb_find_submit_window(s, VARDATA_ANY(key), len);
		}
		if (p < 0 || board == NULL)
			continue;
		board->known[p] = true;
		board->written |= written;
		board->has_score[p] = lb_row_int8(rows, i, 2, &board->scores[p]);
		if (scores_board)
			s->ranked[p] = lb_row_bool(rows, i, 3);
	}
	SPI_freetuptable(rows);
}

/*
 * Run a statement on a board's table.  A superuser lends no rights to the
 * triggers of another role's table.
 */
static void
run_on_source(LbPlan *plan, LbPlanText text, const TextArg *arg, int nargs,
			  const LbArg *args)
{
	const LbDefinition *defn = arg->defn;
	LbUser		saved;
	bool		switched = lb_switch_from_superuser(&saved, defn,
													text == write_text);

	(void) lb_plan_exec(plan, plan_key(defn), text, arg, defn->source,
						InvalidOid, nargs, args);
	if (switched)
		lb_restore_user(&saved);
}

/* Read the scores of a board's rows that no statement has returned. */
void
lb_read_missing_scores(LbSubmit *s, int first, int n)
{
	TextArg		arg;
	Datum	   *keys = palloc(n * sizeof(Datum));
	Datum	   *players = palloc(s->nplayers * sizeof(Datum));
	int			nplayers = 0;
	bool		scores_board = s->write_global && first == 0;

	for (int p = 0; p < s->nplayers; p++)
	{
		bool		missing = false;

		for (int b = first; b < first + n; b++)
			missing |= !s->boards[b].known[p];
		if (missing)
			players[nplayers++] = s->players[p];
	}
	if (nplayers == 0)
		return;
	for (int b = 0; b < n; b++)
		keys[b] = CStringGetTextDatum(s->boards[first + b].name);
	arg.defn = scores_board ? s->scores_board : s->windows;
	arg.op = LB_OP_CHANGE;
	run_on_source(&plans_of(s)->read[scores_board], read_text, &arg,
				  LB_ARGS(players_arg(s, players, nplayers),
						  lb_arg_texts(keys, NULL, n)));
	take_scores(s, false);
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
		int			end = p + 1 < s->nplayers ? s->first[p + 1] : s->nitems;
		int128		amount = s->items[s->first[p]].amount;
		int128		lowest = Min(0, amount);
		int128		highest = Max(0, amount);

		s->doubtful |= !lb_score_fits(defn, amount);
		for (int i = s->first[p] + 1; i < end; i++)
		{
			int128		next = s->items[i].amount;

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
		result[i] = lb_score_fits(defn, amounts[i]) ? (int64) amounts[i] : 0;
	return result;
}

/*
 * A statement has added an amount to a player's score on a board, if it has
 * returned the row.  Note the score before.  Returns whether the row is
 * missing, though the amount should have changed it.
 */
static bool
note_before(LbSubmitBoard *board, int p, int64 amount)
{
	int128		before;

	if (!board->known[p])
		return amount != 0;
	before = (int128) board->scores[p] - amount;
	/* A trigger may have changed the score. */
	board->before[p] = (int64) Max(PG_INT64_MIN, Min(PG_INT64_MAX, before));
	return false;
}

/*
 * The rows that no statement has returned have been read.  Returns whether a
 * sum that the column cannot have, and that no statement has added therefore,
 * leads to a score that it can have.
 */
static bool
adds_later(const LbDefinition *defn, LbSubmitBoard *board, int p,
		   const int128 *sums)
{
	return !lb_score_fits(defn, sums[p]) &&
		lb_score_fits(defn, board->before[p] + sums[p]);
}

static void
run_global(LbSubmit *s, LbOp op, Datum *players, const int64 *amounts, int n,
		   bool hidden)
{
	TextArg		arg;

	arg.defn = s->scores_board;
	arg.op = op;
	arg.hidden = hidden;
	arg.metadata = s->has_metadata;
	run_on_source(&plans_of(s)->scores_board[hidden][s->has_metadata][op],
				  write_text, &arg,
				  LB_ARGS(players_arg(s, players, n), amounts_arg(amounts, n),
						  lb_arg_time(s->at), metadata_arg(s)));
	take_scores(s, true);
}

/*
 * Whether a new row of "global" is ranked, as far as lb_hidden tells.  What
 * the rows of windows tell stays.
 */
static void
set_enters(LbSubmit *s, int first, int end)
{
	for (int p = first; p < end; p++)
	{
		if (s->on_scores[p] != LB_NOT_RECORDED)
			s->enters[p] = s->on_scores[p] == LB_EXCEPTED;
	}
}

/*
 * Lock the players from number first on who have no row of "global", up to
 * MAX_LOCKED of them; returns the number of the player behind them.
 */
static int
lock_entering(LbSubmit *s, int first)
{
	int			nlocked = 0;
	int			p;

	if (s->exists == NULL || s->nplayers == 1)
		return s->nplayers;
	for (p = first; p < s->nplayers && nlocked < MAX_LOCKED; p++)
	{
		if (s->exists[p])
			continue;
		lb_lock_hidden(s->leaderboard.name, s->player_texts[p],
					   RowExclusiveLock);
		nlocked++;
	}
	if (nlocked > 0 && lb_look_up_hidden_again(s))
		set_enters(s, first, p);
	return p;
}

static void
unlock_entering(LbSubmit *s, int first, int end)
{
	for (int p = first; s->exists != NULL && p < end; p++)
	{
		if (!s->exists[p])
			lb_unlock_hidden(s->leaderboard.name, s->player_texts[p]);
	}
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
		end = lock_entering(s, first);
		for (int p = first; p < end; p += n)
		{
			for (n = 1; p + n < end; n++)
			{
				if (s->enters[p + n] != s->enters[p])
					break;
			}
			run_global(s, op, s->players + p, amounts + p, n, !s->enters[p]);
		}
		if (s->nplayers > 1)
			unlock_entering(s, first, end);
	}
}

/*
 * Write sums to "global" that the column can have only together with the
 * scores that are there.
 */
static void
add_later(LbSubmit *s, const int128 *sums)
{
	LbSubmitBoard *scores_board = &s->boards[0];
	Datum	   *players = palloc(s->nplayers * sizeof(Datum));
	int64	   *targets = palloc(s->nplayers * sizeof(int64));
	int			n = 0;

	for (int p = 0; p < s->nplayers; p++)
	{
		if (!adds_later(s->scores_board, scores_board, p, sums))
			continue;
		players[n] = s->players[p];
		targets[n++] = (int64) (scores_board->before[p] + sums[p]);
	}
	if (n > 0)
		run_global(s, LB_OP_SET, players, targets, n, false);
}

/* Add to the scores of "global", and note what they were before. */
static void
add_to_global(LbSubmit *s, const int128 *sums)
{
	LbSubmitBoard *scores_board = &s->boards[0];
	int64	   *amounts = statement_amounts(s->scores_board, sums, s->nplayers);
	bool	   *returned = palloc(s->nplayers * sizeof(bool));

	run_enter(s, LB_OP_INCR, amounts);
	for (int p = 0; p < s->nplayers; p++)
	{
		returned[p] = scores_board->known[p];
		s->doubtful |= note_before(scores_board, p, amounts[p]);
	}
	if (!s->doubtful && !s->need_scores)
		return;
	lb_read_missing_scores(s, 0, 1);
	for (int p = 0; p < s->nplayers; p++)
	{
		if (!returned[p])
			scores_board->before[p] = scores_board->scores[p];
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
	int			end = p + 1 < s->nplayers ? s->first[p + 1] : s->nitems;
	int128		change = s->change[p];

	if (change < PG_INT64_MIN || change > PG_INT64_MAX)
		s->doubtful = true;

	/*
	 * The best or the worst of the scores goes one way, but not to the first
	 * score.
	 */
	if (s->op != LB_OP_SET)
		end = s->boards[0].had_score[p] ? s->first[p] : s->first[p] + 1;
	for (int i = s->first[p]; i < end; i++)
	{
		int128		sum = (int128) s->items[i].amount - s->boards[0].before[p];

		s->doubtful |= sum < Min(0, change) || sum > Max(0, change);
	}
}

/*
 * Set the scores of "global", where windows get the changes.  These depend on
 * the old scores, so a first pass locks or inserts the rows.
 */
static void
change_global(LbSubmit *s, const int128 *amounts)
{
	LbSubmitBoard *scores_board = &s->boards[0];
	bool		descending = s->scores_board->columns[0].descending;
	Datum	   *players = palloc(s->nplayers * sizeof(Datum));
	int64	   *targets = palloc(s->nplayers * sizeof(int64));
	bool	   *inserted = palloc(s->nplayers * sizeof(bool));
	int			n = 0;

	run_enter(s, LB_OP_CHANGE,
			  statement_amounts(s->scores_board, amounts, s->nplayers));
	memcpy(inserted, scores_board->known, s->nplayers * sizeof(bool));
	lb_read_missing_scores(s, 0, 1);
	s->change = palloc(s->nplayers * sizeof(int128));
	for (int p = 0; p < s->nplayers; p++)
	{
		int128		new = amounts[p];
		bool		has_score = !inserted[p] && scores_board->has_score[p];
		int128		old = inserted[p] ? 0 : scores_board->scores[p];

		scores_board->before[p] = (int64) old;
		scores_board->had_score[p] = has_score;
		if (s->op != LB_OP_SET && has_score)
			new = (s->op == LB_OP_BEST) == descending ? Max(old, new) :
				Min(old, new);
		s->change[p] = new - old;
		note_changes(s, p);
		if (inserted[p] || (new == old && has_score) ||
			!lb_score_fits(s->scores_board, new))
			continue;
		players[n] = s->players[p];
		targets[n++] = (int64) new;
	}
	if (n > 0)
		run_global(s, LB_OP_SET, players, targets, n, false);
}

void
lb_write_global(LbSubmit *s)
{
	int128	   *amounts = coalesce(s, s->op, s->scores_board);
	bool		change = false;

	for (int b = 1; b < s->nboards; b++)
		change |= !s->boards[b].closed && s->boards[b].op == LB_OP_CHANGE;
	s->change = amounts;
	if (s->op == LB_OP_INCR)
		add_to_global(s, amounts);
	else if (change)
		change_global(s, amounts);
	else
	{
		run_enter(s, s->op,
				  statement_amounts(s->scores_board, amounts, s->nplayers));
		if (s->need_scores)
			lb_read_missing_scores(s, 0, 1);
	}
}

/* Note which of some players are hidden by rows of "global", or of windows. */
static void
run_hidden(LbSubmit *s, LbPlan *plan, const LbDefinition *defn,
		   Datum *players, int n, bool *ranked)
{
	SPITupleTable *rows;
	TextArg		arg;

	arg.defn = defn;
	arg.op = LB_OP_CHANGE;
	run_on_source(plan, hidden_text, &arg, LB_ARGS(players_arg(s, players, n)));
	rows = SPI_tuptable;
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		int			p = lb_player_number(s, lb_row_datum(rows, i, 1));

		if (p < 0)
			continue;
		if (!defn->family && s->exists != NULL)
			s->exists[p] = true;
		if (!lb_row_bool(rows, i, 2))
			ranked[p] = false;
	}
	SPI_freetuptable(rows);
}

/*
 * The same with the rights of the table's owner, for a caller that need not be
 * allowed to read the table.
 */
static void
run_hidden_as_owner(LbSubmit *s, LbPlan *plan, const LbDefinition *defn,
					Datum *players, int n, bool *ranked)
{
	LbUser		saved;

	lb_switch_to_owner(&saved, defn->owner, false);
	run_hidden(s, plan, defn, players, n, ranked);
	lb_restore_user(&saved);
}

/* Whether some boards may get a new row of a player, which could be hidden. */
static bool
may_hide(const LbSubmit *s)
{
	bool		hides = false;
	bool		inserts = !s->write_global;

	for (int b = 0; b < s->nboards; b++)
	{
		const LbSubmitBoard *board = &s->boards[b];

		if (board->closed)
			continue;
		hides |= board->window ? s->windows->has_ranked_if :
			s->scores_board->has_ranked_if;

		/* A player with a rank has a row. */
		inserts |= !board->has_previous;
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
	LbSubmitBoard *scores_board = &s->boards[0];

	s->exists = palloc0(s->nplayers * sizeof(bool));
	if (!s->write_global)
	{
		if (s->hides != NULL)
			run_hidden_as_owner(s, &plans_of(s)->hidden[0], s->hides,
								s->players, s->nplayers, s->ranked);
		return;
	}
	if (scores_board->has_previous)
	{
		s->exists[0] = true;
		return;
	}
	lb_read_missing_scores(s, 0, 1);
	for (int p = 0; p < s->nplayers; p++)
	{
		s->exists[p] = scores_board->known[p];

		/* Nothing has been written yet. */
		scores_board->known[p] = false;
		scores_board->has_score[p] = false;
		scores_board->scores[p] = 0;

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
	LbDefinition *windows = s->windows;
	Datum	   *players;
	int			n = 0;

	if (!s->write_global || !s->scores_board->has_ranked_if)
		return;
	if (windows == NULL)
		windows = lb_find_in(s->stand_in, s->leaderboard.family);
	if (windows == NULL || !windows->family || windows->misfit ||
		!windows->has_ranked_if || lb_player_type(windows) != s->type)
		return;
	players = palloc(s->nplayers * sizeof(Datum));
	for (int p = 0; p < s->nplayers; p++)
	{
		if (!s->exists[p] && s->on_windows[p] == LB_NOT_RECORDED)
			players[n++] = s->players[p];
	}
	if (n > 0)
		run_hidden_as_owner(s, &plans_of(s)->entering, windows, players, n, s->enters);
}

void
lb_find_entering(LbSubmit *s)
{
	if (!may_hide(s))
		return;
	find_existing(s);
	if (s->nplayers == 1 && !s->exists[0])
		lb_lock_hidden(s->leaderboard.name, s->player_texts[0],
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
	const Oid	types[] = {s->type->array, TEXTARRAYOID};
	Datum	   *keys = palloc(Max(1, s->nboards) * sizeof(Datum));
	const char *ranked;
	Datum		values[2];
	StringInfoData sql;
	int			nkeys = 0;

	if (n == 0 || defn == NULL || !defn->has_ranked_if)
		return;
	ranked = lb_quoted(lb_ranked_if_column(defn));
	for (int b = 0; b < s->nboards; b++)
	{
		if (s->boards[b].window && !s->boards[b].closed)
			keys[nkeys++] = CStringGetTextDatum(s->boards[b].name);
	}
	values[0] = players_arg(s, players, n).value;
	values[1] = lb_make_array(TEXTOID, keys, NULL, nkeys);
	initStringInfo(&sql);
	appendStringInfo(&sql, "UPDATE %s SET %s = false WHERE %s OPERATOR(pg_catalog.=) ANY ($1) AND %s",
					 defn->from_name, ranked,
					 lb_quoted(lb_member_column(defn)), ranked);
	if (defn->family)
		appendStringInfo(&sql, " AND %s OPERATOR(pg_catalog.=) ANY ($2)",
						 lb_quoted(lb_board_column(defn)));
	(void) lb_write_as_owner(defn, false, sql.data, defn->family ? 2 : 1, types,
							 values);
}

void
lb_end_entering(LbSubmit *s)
{
	Datum	   *scores;
	Datum	   *windows;
	LbHiding   *before;
	int			nscores = 0;
	int			nwindows = 0;

	if (s->on_scores == NULL)
		return;
	if (s->nplayers == 1)
		unlock_entering(s, 0, 1);
	before = s->on_windows;
	if (!lb_look_up_hidden_again(s) && !s->hidden_changed)
		return;
	scores = palloc(s->nplayers * sizeof(Datum));
	windows = palloc(s->nplayers * sizeof(Datum));
	for (int p = 0; p < s->nplayers; p++)
	{
		if (s->on_scores[p] == LB_HIDDEN && s->enters[p])
			scores[nscores++] = s->players[p];
		if (s->on_windows[p] == LB_HIDDEN && before[p] != LB_HIDDEN)
			windows[nwindows++] = s->players[p];
	}
	hide_late(s, s->scores_board, scores, nscores);
	hide_late(s, s->windows, windows, nwindows);
}

/*
 * Find the players that are hidden, whose new rows of windows are not ranked.
 * If "global" is written to, its rows are known, and locked.  Otherwise both
 * the row of "global" and those of other windows are read, and the row of
 * "global" is locked.  So a concurrent lb_hide() has either hidden the player
 * before this submit reads the row, or waits for it and sees the new rows.
 */
static void
find_hidden(LbSubmit *s)
{
	if (!s->windows->has_ranked_if)
		return;
	(void) lb_look_up_hidden_again(s);
	if (s->write_global && s->scores_board->has_ranked_if)
		lb_read_missing_scores(s, 0, 1);
	else
		run_hidden(s, &plans_of(s)->hidden[1], s->windows, s->players,
				   s->nplayers, s->ranked);
}

/* Whether a new row of a player is ranked in windows. */
static bool
is_ranked_in_windows(const LbSubmit *s, int p)
{
	if (s->on_windows == NULL || s->on_windows[p] == LB_NOT_RECORDED)
		return s->ranked[p];
	return s->on_windows[p] == LB_EXCEPTED;
}

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
	Datum	   *players = palloc(n * sizeof(Datum));
	Datum	   *amounts = palloc(n * sizeof(Datum));
	Datum	   *keys = palloc(n * sizeof(Datum));
	Datum	   *ranked = palloc(n * sizeof(Datum));
	TextArg		arg;

	for (int i = 0; i < n; i++)
	{
		const WindowRow *row = &rows[i];

		players[i] = s->players[row->p];
		amounts[i] = Int64GetDatum(row->amount);
		keys[i] = i > 0 && row[-1].board == row->board ? keys[i - 1] :
			CStringGetTextDatum(s->boards[row->board].name);
		ranked[i] = BoolGetDatum(is_ranked_in_windows(s, row->p));
	}
	arg.defn = s->windows;
	arg.op = op;
	arg.hidden = false;
	arg.metadata = s->has_metadata;
	run_on_source(&plans_of(s)->windows[s->has_metadata][op], write_text, &arg,
				  LB_ARGS(players_arg(s, players, n),
						  lb_arg_int8s(amounts, NULL, n), lb_arg_time(s->at),
						  lb_arg_texts(keys, NULL, n),
						  lb_arg(BOOLARRAYOID, lb_make_array(BOOLOID, ranked, NULL, n)),
						  metadata_arg(s)));
	take_scores(s, true);
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
		LbSubmitBoard *board = &s->boards[rows[i].board];

		rows[i].returned = board->known[rows[i].p];
		s->doubtful |= note_before(board, rows[i].p, rows[i].amount);
	}
	if (!s->doubtful)
		return;
	lb_read_missing_scores(s, first, n);
	for (int i = 0; i < nrows; i++)
	{
		WindowRow  *row = &rows[i];
		LbSubmitBoard *board = &s->boards[row->board];

		if (!row->returned)
			board->before[row->p] = board->scores[row->p];
		if (lb_score_fits(s->windows, row->sum) ||
			!lb_score_fits(s->windows, board->before[row->p] + row->sum))
			continue;
		rows[later] = *row;
		rows[later++].amount = (int64) (board->before[row->p] + row->sum);
	}
	if (later > 0)
		run_rows(s, LB_OP_SET, rows, later);
}

/* Write to n windows, from number first on, that have the same operation. */
static void
run_windows(LbSubmit *s, int first, int n)
{
	LbOp		op = lb_effective_op(s, &s->boards[first]);
	WindowRow  *rows = palloc((Size) n * s->nplayers * sizeof(WindowRow));
	int128	   *coalesced = NULL;
	int			k = 0;

	for (int b = first; b < first + n; b++)
	{
		const int128 *from = s->change;

		if (s->boards[b].op != LB_OP_CHANGE || !s->write_global)
		{
			if (coalesced == NULL)
				coalesced = coalesce(s, op, s->windows);
			from = coalesced;
		}
		for (int p = 0; p < s->nplayers; p++)
		{
			bool		fits = lb_score_fits(s->windows, from[p]);

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
	int			b = s->write_global ? 1 : 0;
	bool		hidden_known = false;

	while (b < s->nboards)
	{
		int			n = 1;

		if (s->boards[b].closed)
		{
			b++;
			continue;
		}
		if (!hidden_known)
			find_hidden(s);
		hidden_known = true;
		while (b + n < s->nboards && !s->boards[b + n].closed &&
			   lb_effective_op(s, &s->boards[b + n]) ==
			   lb_effective_op(s, &s->boards[b]))
			n++;
		run_windows(s, b, n);
		b += n;
	}
}

/*
 * A statement has written a submit to fewer boards than it should have.  It
 * has returned the keys of windows.  Read all scores, and note those before.
 */
static void
note_single(LbSubmit *s)
{
	int64		amount = s->items[0].amount;
	uint64		nkeys = s->nopen > 1 ? SPI_processed : 0;
	bool		all_out = true;

	for (uint64 i = 0; i < nkeys; i++)
	{
		text	   *key = DatumGetTextPP(lb_row_datum(SPI_tuptable, i, 1));
		LbSubmitBoard *board = lb_find_submit_window(s, VARDATA_ANY(key),
													 VARSIZE_ANY_EXHDR(key));

		if (board != NULL)
			board->written = true;
	}
	for (int b = 0; b < s->nboards; b++)
	{
		LbSubmitBoard *board = &s->boards[b];

		if (board->closed)
			continue;
		lb_read_missing_scores(s, b, 1);
		board->before[0] = board->scores[0];
		if (b > 0)
			all_out &= !lb_score_fits(s->windows, (int128) board->scores[0] + amount);
		if (board->written)
			board->before[0] -= amount;
		board->written = false;
	}

	/*
	 * Without the row of "global", no row of windows is written.  If all of
	 * them are out of range, then one of them may be named as well.
	 */
	if (nkeys > 0 || (s->nopen > 1 && all_out))
		s->boards[0].before[0] -= amount;
	s->doubtful = true;
}

/*
 * The usual submit is one statement: an increment that all boards get.  It
 * does not suit a table with a trigger that may keep rows from being written:
 * without the row of "global", no row of windows would be written.
 */
bool
lb_write_single(LbSubmit *s)
{
	LbArg		args[3 + MAX_SINGLE];
	int			n = 3;
	uint64		nrows;

	/* Where other tables stand in, no board is read. */
	if (s->stand_in != NULL)
		return false;
	if (s->nitems != 1 || s->has_metadata || !s->write_global || s->op != LB_OP_INCR ||
		s->items[0].amount == 0 || s->nopen - 1 > MAX_SINGLE ||
		!s->enters[0] || !lb_score_fits(s->scores_board, s->items[0].amount) ||
		(s->on_windows != NULL && s->on_windows[0] != LB_NOT_RECORDED) ||
		s->scores_board->keeps_rows || lb_lends_no_rights(s->scores_board) ||
		(s->windows != NULL &&
		 (s->windows->keeps_rows || lb_lends_no_rights(s->windows))) ||
		(s->windows != NULL && s->windows->has_ranked_if &&
		 !s->scores_board->has_ranked_if))
		return false;
	args[0] = lb_arg(s->type->oid, s->items[0].player);
	args[1] = lb_arg_int8(s->items[0].amount);
	args[2] = lb_arg_time(s->at);
	for (int b = 1; b < s->nboards; b++)
	{
		if (s->boards[b].closed)
			continue;
		if (lb_effective_op(s, &s->boards[b]) != LB_OP_INCR ||
			!lb_score_fits(s->windows, s->items[0].amount))
			return false;
		args[n++] = lb_arg_text(s->boards[b].name);
	}
	nrows = lb_plan_exec(&plans_of(s)->single[n - 3], plan_key(s->scores_board),
						 single_text, s, s->scores_board->source,
						 n > 3 ? s->windows->source : InvalidOid, n, args);
	if (nrows < (uint64) Max(1, s->nopen - 1))
		note_single(s);
	return true;
}

bool
lb_kept_out(const LbSubmit *s, const LbSubmitBoard *board)
{
	const LbDefinition *defn = board->window ? s->windows : s->scores_board;
	bool		change = board->window && board->op == LB_OP_CHANGE &&
		s->write_global;
	int128		amount;
	int128		score = board->scores[0];

	if (!defn->keeps_rows || board->written)
		return false;
	if (!board->has_score[0])
		return true;
	amount = change ? s->change[0] : s->items[0].amount;
	switch (board->window ? lb_effective_op(s, board) : s->op)
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
