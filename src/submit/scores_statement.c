/*-------------------------------------------------------------------------
 *
 * scores_statement.c
 *	  The statements on tables of scores: their texts and their plans.
 *
 * The texts are made from the definitions of the leaderboard's board, which is
 * called "global" here, and of the family of windows.  Plans are kept until a
 * definition changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "leaderboards/player.h"
#include "submit/scores.h"


/* ----------------------------------------------------------------
 *		Texts
 * ----------------------------------------------------------------
 */

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
 * scores.c.  If changes is set, the increment is not zero.
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
	const LbScoreStatement *st = (const LbScoreStatement *) arg;
	const LbDefinition *defn = st->defn;
	bool		stamp = lb_has_updated_at(defn);
	bool		hide = defn->family && defn->has_ranked_if;
	StringInfoData buf;

	initStringInfo(&buf);
	append_insert(&buf, defn, stamp, hide || st->hidden, st->metadata);
	appendStringInfo(&buf, "SELECT u.member, u.amount%s%s%s%s FROM (SELECT pg_catalog.unnest($1), pg_catalog.unnest($2)%s%s) AS u (member, amount%s%s)",
					 stamp ? ", $3" : "", defn->family ? ", u.key" : "",
					 hide ? ", u.ranked" : st->hidden ? ", false" : "",
					 !st->metadata ? "" : defn->family ? ", $6" : ", $4",
					 defn->family ? ", pg_catalog.unnest($4)" : "",
					 hide ? ", pg_catalog.unnest($5)" : "",
					 defn->family ? ", key" : "", hide ? ", ranked" : "");
	append_conflict(&buf, defn, st->op, stamp, st->metadata, false);
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
	const LbScoreStatement *st = (const LbScoreStatement *) arg;
	bool		stamp = lb_has_updated_at(st->defn);
	bool		hide;
	StringInfoData buf;

	initStringInfo(&buf);
	if (st->nwindows > 0)
		appendStringInfoString(&buf, "WITH g (ranked) AS (");
	append_insert(&buf, st->defn, stamp, false, false);
	appendStringInfo(&buf, "VALUES ($1, $2%s)", stamp ? ", $3" : "");
	append_conflict(&buf, st->defn, LB_OP_INCR, stamp, false, true);
	if (st->nwindows == 0)
		return buf.data;

	appendStringInfoString(&buf, " RETURNING ");
	if (st->defn->has_ranked_if)
		appendStringInfo(&buf, "t.%s IS TRUE",
						 lb_quoted(lb_ranked_if_column(st->defn)));
	else
		appendStringInfoString(&buf, "true");
	stamp = lb_has_updated_at(st->windows);
	hide = st->windows->has_ranked_if;
	appendStringInfoString(&buf, ") ");
	append_insert(&buf, st->windows, stamp, hide, false);
	appendStringInfo(&buf, "SELECT $1, $2%s, k.key%s FROM g, (VALUES ",
					 stamp ? ", $3" : "", hide ? ", g.ranked" : "");
	for (int i = 0; i < st->nwindows; i++)
		appendStringInfo(&buf, "%s($%d)", i > 0 ? ", " : "", i + 4);
	appendStringInfoString(&buf, ") AS k (key)");
	append_conflict(&buf, st->windows, LB_OP_INCR, stamp, false, true);
	appendStringInfo(&buf, " RETURNING CAST(t.%s AS pg_catalog.text)",
					 lb_quoted(lb_board_column(st->windows)));
	return buf.data;
}

/* $1 players; of windows $2 keys. */
static char *
read_text(const void *arg)
{
	const LbDefinition *defn = ((const LbScoreStatement *) arg)->defn;
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
	const LbDefinition *defn = ((const LbScoreStatement *) arg)->defn;
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

/* What a plan is kept by: what the text depends on. */
typedef struct ScorePlanKey
{
	Oid			source;			/* which can stand in for the definition's */
	int			defn;			/* its number */
	uint8		kind;
	uint8		op;
	uint8		nwindows;
	bool		hidden;
	bool		metadata;
	bool		as_owner;		/* it is another role's plan */
	uint16		unused;			/* keys are compared byte by byte */
} ScorePlanKey;

uint64
lb_run_scores(const LbScoreStatement *st, int nargs, const LbArg *args)
{
	static const LbPlanText texts[] = {write_text, single_text, read_text, hidden_text};
	static LbPlans plans = {
		.name = "leaderboard statements on scores",.keysize = sizeof(ScorePlanKey)
	};
	ScorePlanKey key = {
		.source = st->defn->source,.defn = st->defn->id,.kind = st->kind,
		.op = st->op,.nwindows = st->nwindows,.hidden = st->hidden,
		.metadata = st->metadata,.as_owner = st->as_owner
	};
	LbUser		saved;
	bool		switched = true;
	uint64		n;

	/* A superuser lends no rights to the triggers of another role's table. */
	if (st->as_owner)
		lb_switch_to_owner(&saved, st->defn->owner, false);
	else
		switched = lb_switch_from_superuser(&saved, st->defn,
											st->kind == LB_SCORES_WRITE);
	n = lb_plan_exec(lb_plan_of(&plans, &key), 0, texts[st->kind], st,
					 st->defn->source,
					 st->nwindows > 0 ? st->windows->source : InvalidOid,
					 nargs, args);
	if (switched)
		lb_restore_user(&saved);
	return n;
}
