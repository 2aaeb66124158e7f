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
	LbPlan		read[2];		/* by whether windows are read */
	LbPlan		scores[2][2][LB_NOPS];	/* by whether new rows are hidden, and
										 * whether metadata is written */
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
	const char *leaderboard = s->call->leaderboard.name;
	Oid			source = s->call->stand_in != NULL ?
		s->target->players_of->source : InvalidOid;
	Plans	   *found;

	for (int i = 0; i < nplans; i++)
	{
		if (plans[i].source == source &&
			strcmp(plans[i].leaderboard, leaderboard) == 0)
			return &plans[i];
	}
	found = &plans[next];
	next = (next + 1) % MAX_PLANNED;
	nplans = Max(nplans, found - plans + 1);
	strlcpy(found->leaderboard, leaderboard, sizeof(found->leaderboard));
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
 * lb_write_scores().  If changes is set, the increment is not zero.
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
	const LbSubmitTarget *t = (const LbSubmitTarget *) arg;
	bool		stamp = lb_has_updated_at(t->scores);
	bool		hide;
	StringInfoData buf;

	initStringInfo(&buf);
	if (t->nopen > 1)
		appendStringInfoString(&buf, "WITH g (ranked) AS (");
	append_insert(&buf, t->scores, stamp, false, false);
	appendStringInfo(&buf, "VALUES ($1, $2%s)", stamp ? ", $3" : "");
	append_conflict(&buf, t->scores, LB_OP_INCR, stamp, false, true);
	if (t->nopen == 1)
		return buf.data;

	appendStringInfoString(&buf, " RETURNING ");
	if (t->scores->has_ranked_if)
		appendStringInfo(&buf, "t.%s IS TRUE",
						 lb_quoted(lb_ranked_if_column(t->scores)));
	else
		appendStringInfoString(&buf, "true");
	stamp = lb_has_updated_at(t->windows);
	hide = t->windows->has_ranked_if;
	appendStringInfoString(&buf, ") ");
	append_insert(&buf, t->windows, stamp, hide, false);
	appendStringInfo(&buf, "SELECT $1, $2%s, k.key%s FROM g, (VALUES ",
					 stamp ? ", $3" : "", hide ? ", g.ranked" : "");
	for (int i = 1; i < t->nopen; i++)
		appendStringInfo(&buf, "%s($%d)", i > 1 ? ", " : "", i + 3);
	appendStringInfoString(&buf, ") AS k (key)");
	append_conflict(&buf, t->windows, LB_OP_INCR, stamp, false, true);
	appendStringInfo(&buf, " RETURNING CAST(t.%s AS pg_catalog.text)",
					 lb_quoted(lb_board_column(t->windows)));
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
	const LbType *type = s->target->type;

	return lb_arg(type->array, lb_make_array(type->oid, players, NULL, n));
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
	return lb_arg_or_null(JSONBOID, s->call->metadata, s->call->metadata == (Datum) 0);
}

/*
 * Remember the scores that a statement has returned, whether it wrote or read
 * them.
 */
static void
take_scores(LbSubmit *s, bool written)
{
	const LbSubmitTarget *t = s->target;
	SPITupleTable *rows = SPI_tuptable;
	int			b = -1;

	/* The leaderboard's board has no key. */
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		player = lb_row_nullable(rows, i, 1, &isnull);
		bool		scores;
		Datum		value = lb_row_nullable(rows, i, 4, &scores);
		LbPlayerScore *score;
		int			p;

		/* A trigger may have set it to null. */
		if (isnull)
			continue;
		p = lb_player_number(s, player);
		if (scores)
			b = 0;
		else
		{
			text	   *key = DatumGetTextPP(value);
			int			len = VARSIZE_ANY_EXHDR(key);

			/* Mostly the board of the row before. */
			if (b < 0 || (int) strlen(t->boards[b].name) != len ||
				memcmp(t->boards[b].name, VARDATA_ANY(key), len) != 0)
				b = lb_window_number(t, VARDATA_ANY(key), len);
		}
		if (p < 0 || b < 0)
			continue;
		score = &s->results[b].players[p];
		score->known = true;
		s->results[b].written |= written;
		score->has_score = lb_row_int8(rows, i, 2, &score->score);
		if (scores)
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

/* Read the scores of boards' rows that no statement has returned. */
void
lb_read_missing_scores(LbSubmit *s, int first, int n)
{
	const LbSubmitTarget *t = s->target;
	TextArg		arg = {.defn = lb_board_defn(t, &t->boards[first])};
	Datum	   *keys = palloc(n * sizeof(Datum));
	Datum	   *players = palloc(s->nplayers * sizeof(Datum));
	int			nplayers = 0;

	for (int p = 0; p < s->nplayers; p++)
	{
		bool		missing = false;

		for (int b = first; b < first + n; b++)
			missing |= !s->results[b].players[p].known;
		if (missing)
			players[nplayers++] = s->players[p];
	}
	if (nplayers == 0)
		return;
	for (int b = 0; b < n; b++)
		keys[b] = CStringGetTextDatum(t->boards[first + b].name);
	run_on_source(&plans_of(s)->read[t->boards[first].window], read_text, &arg,
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
		int128		amount = s->items[s->first[p]].amount;
		int128		lowest = Min(0, amount);
		int128		highest = Max(0, amount);

		s->doubtful |= !lb_score_fits(defn, amount);
		for (int i = s->first[p] + 1; i < s->first[p + 1]; i++)
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
	bool		metadata = s->call->metadata != (Datum) 0;
	TextArg		arg = {s->target->scores, op, hidden, metadata};

	run_on_source(&plans_of(s)->scores[hidden][metadata][op], write_text, &arg,
				  LB_ARGS(players_arg(s, players, n), amounts_arg(amounts, n),
						  lb_arg_time(s->call->at), metadata_arg(s)));
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
		if (s->hidden->scores[p] != LB_NOT_RECORDED)
			s->enters[p] = s->hidden->scores[p] == LB_EXCEPTED;
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
		lb_lock_hidden(s->call->leaderboard.name, lb_player_text(s, p),
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
			lb_unlock_hidden(s->call->leaderboard.name, lb_player_text(s, p));
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
			run_scores(s, op, s->players + p, amounts + p, n, !s->enters[p]);
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
	Datum	   *players = palloc(s->nplayers * sizeof(Datum));
	int64	   *targets = palloc(s->nplayers * sizeof(int64));
	int			n = 0;

	for (int p = 0; p < s->nplayers; p++)
	{
		const LbPlayerScore *score = &s->results[0].players[p];

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
		returned[p] = scores[p].known;
		s->doubtful |= note_before(&scores[p], amounts[p]);
	}
	if (!s->doubtful && !s->need_scores)
		return;
	lb_read_missing_scores(s, 0, 1);
	for (int p = 0; p < s->nplayers; p++)
	{
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
		inserted[p] = s->results[0].players[p].known;
	lb_read_missing_scores(s, 0, 1);
	s->change = palloc(s->nplayers * sizeof(int128));
	for (int p = 0; p < s->nplayers; p++)
	{
		LbPlayerScore *score = &s->results[0].players[p];
		int128		new = amounts[p];
		bool		has_score = !inserted[p] && score->has_score;
		int128		old = inserted[p] ? 0 : score->score;

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

/* Note which of some players are hidden by rows of "global", or of windows. */
static void
run_hidden(LbSubmit *s, LbPlan *plan, const LbDefinition *defn,
		   Datum *players, int n, bool *ranked)
{
	SPITupleTable *rows;
	TextArg		arg = {.defn = defn};

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
			run_hidden_as_owner(s, &plans_of(s)->hidden[0], s->target->hides,
								s->players, s->nplayers, s->ranked);
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
		if (!s->exists[p] && s->hidden->windows[p] == LB_NOT_RECORDED)
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
	const Oid	types[] = {t->type->array, TEXTARRAYOID};
	Datum	   *keys = palloc(Max(1, t->nboards) * sizeof(Datum));
	const char *ranked;
	Datum		values[2];
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
	const LbHidden *before = s->hidden;
	Datum	   *scores;
	Datum	   *windows;
	int			nscores = 0;
	int			nwindows = 0;

	if (before == NULL)
		return;
	if (s->nplayers == 1)
		unlock_entering(s, 0, 1);
	if (!lb_look_up_hidden_again(s) && !s->hidden->changed)
		return;
	scores = palloc(s->nplayers * sizeof(Datum));
	windows = palloc(s->nplayers * sizeof(Datum));
	for (int p = 0; p < s->nplayers; p++)
	{
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
 * Find the players that are hidden, whose new rows of windows are not ranked.
 * If "global" is written to, its rows are known, and locked.  Otherwise both
 * the row of "global" and those of other windows are read, and the row of
 * "global" is locked.  So a concurrent lb_hide() has either hidden the player
 * before this submit reads the row, or waits for it and sees the new rows.
 */
static void
find_hidden(LbSubmit *s)
{
	const LbSubmitTarget *t = s->target;

	if (!t->windows->has_ranked_if)
		return;
	(void) lb_look_up_hidden_again(s);
	if (t->scores != NULL && t->scores->has_ranked_if)
		lb_read_missing_scores(s, 0, 1);
	else
		run_hidden(s, &plans_of(s)->hidden[1], t->windows, s->players,
				   s->nplayers, s->ranked);
}

/* Whether a new row of a player is ranked in windows. */
static bool
is_ranked_in_windows(const LbSubmit *s, int p)
{
	if (s->hidden == NULL || s->hidden->windows[p] == LB_NOT_RECORDED)
		return s->ranked[p];
	return s->hidden->windows[p] == LB_EXCEPTED;
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
	bool		metadata = s->call->metadata != (Datum) 0;
	TextArg		arg = {s->target->windows, op, false, metadata};
	Datum	   *players = palloc(n * sizeof(Datum));
	Datum	   *amounts = palloc(n * sizeof(Datum));
	Datum	   *keys = palloc(n * sizeof(Datum));
	Datum	   *ranked = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
	{
		const WindowRow *row = &rows[i];

		players[i] = s->players[row->p];
		amounts[i] = Int64GetDatum(row->amount);
		keys[i] = i > 0 && row[-1].board == row->board ? keys[i - 1] :
			CStringGetTextDatum(s->target->boards[row->board].name);
		ranked[i] = BoolGetDatum(is_ranked_in_windows(s, row->p));
	}
	run_on_source(&plans_of(s)->windows[metadata][op], write_text, &arg,
				  LB_ARGS(players_arg(s, players, n),
						  lb_arg_int8s(amounts, NULL, n),
						  lb_arg_time(s->call->at),
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
		LbPlayerScore *score = &s->results[rows[i].board].players[rows[i].p];

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
			find_hidden(s);
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
	LbArg		args[3 + MAX_SINGLE];
	int			n = 3;
	uint64		nrows;

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
	nrows = lb_plan_exec(&plans_of(s)->single[n - 3], plan_key(t->scores),
						 single_text, t, t->scores->source,
						 n > 3 ? t->windows->source : InvalidOid, n, args);
	if (nrows < (uint64) Max(1, t->nopen - 1))
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
