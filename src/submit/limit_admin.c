/*-------------------------------------------------------------------------
 *
 * limit_admin.c
 *	  Setting and dropping limits of what may be submitted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "boards/distributed.h"
#include "boards/target.h"
#include "leaderboards/leaderboard.h"
#include "sql/spi.h"
#include "submit/limit.h"
#include "util/same.h"

PG_FUNCTION_INFO_V1(lb_set_limit);
PG_FUNCTION_INFO_V1(lb_drop_limit);

/*
 * The leaderboard that a limit's board is of, or NULL if there is no such
 * board.
 */
static const char *
limited_leaderboard(const char *board)
{
	if (lb_window_find(board, strlen(board)) != NULL)
		return pstrdup(lb_leaderboard_of_window(board)->name);
	return lb_leaderboard_find(board, strlen(board)) == NULL ? NULL : board;
}

/*
 * The leaderboard that a limit's board is of.  Raises 42704 if there is no
 * such board, 42501 unless the caller owns its table.
 */
static const char *
require_limit_owner(const char *board)
{
	const char *leaderboard = limited_leaderboard(board);
	LbTarget	target;

	if (leaderboard == NULL)
		lb_window_not_found(board, "A limit is for \"global\", another leaderboard or a window of the table lb_window.");
	if (strcmp(leaderboard, board) != 0)
		(void) lb_require_window_owner(board);
	else
	{
		lb_find_target(board, strlen(board), &target);
		lb_require_owner(target.defn->source);
	}
	return leaderboard;
}

/* Whether a table of a leaderboard, which may be NULL, is distributed. */
static bool
is_distributed(const char *leaderboard)
{
	const LbLeaderboard *found = leaderboard == NULL ? NULL :
		lb_leaderboard_find(leaderboard, strlen(leaderboard));
	const LbDefinition *scores = found == NULL ? NULL :
		lb_find_recorded(leaderboard);
	const LbDefinition *windows = found == NULL ? NULL :
		lb_find_recorded(found->family);

	return (scores != NULL && lb_is_distributed(scores)) ||
		(windows != NULL && lb_is_distributed(windows));
}

/* Arguments of lb_set_limit(), in the order of the columns that it writes. */
enum
{
	ARG_NAME,
	ARG_BOARD,
	ARG_MAX_AMOUNT,
	ARG_PERIOD,
	ARG_MAX_PERIOD_AMOUNT,
	ARG_MIN_SCORE,
	ARG_MAX_SCORE,
	ARG_MAX_SUBMITS,
	ARG_ACTION
};

/* Raise 22004 or 22023 for arguments that make no limit. */
static void
check_limit(FunctionCallInfo fcinfo)
{
	static const struct
	{
		int			arg;
		const char *name;
	}			sizes[] = {
		{ARG_MAX_AMOUNT, "max_amount"},
		{ARG_MAX_PERIOD_AMOUNT, "max_period_amount"},
		{ARG_MAX_SUBMITS, "max_submits"}
	};
	char	   *action = text_to_cstring(PG_GETARG_TEXT_PP(ARG_ACTION));
	bool		any = !PG_ARGISNULL(ARG_MIN_SCORE) || !PG_ARGISNULL(ARG_MAX_SCORE);

	if (strcmp(action, "reject") != 0 && strcmp(action, "flag") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown action \"%s\"", action),
				 errhint("The actions are \"reject\" and \"flag\".")));
	for (int i = 0; i < (int) lengthof(sizes); i++)
	{
		if (PG_ARGISNULL(sizes[i].arg))
			continue;
		any = true;
		lb_require_at_least(sizes[i].name, PG_GETARG_INT64(sizes[i].arg), 0,
							NULL);
	}
	if (!any)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the limit limits nothing"),
				 errhint("Give it at least one of \"max_amount\", \"max_period_amount\", \"min_score\", \"max_score\" and \"max_submits\"; lb_drop_limit() removes a limit.")));
	if (!PG_ARGISNULL(ARG_MIN_SCORE) && !PG_ARGISNULL(ARG_MAX_SCORE) &&
		PG_GETARG_INT64(ARG_MIN_SCORE) > PG_GETARG_INT64(ARG_MAX_SCORE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"min_score\" is above \"max_score\""),
				 errdetail("No score would be within the limit.")));
	if (!PG_ARGISNULL(ARG_PERIOD))
	{
		Interval   *period = PG_GETARG_INTERVAL_P(ARG_PERIOD);

		lb_check_interval("period", period);
		if (period->month == 0 && period->day == 0 && period->time == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("argument \"%s\" must not be zero", "period")));
	}
	if (!PG_ARGISNULL(ARG_MAX_PERIOD_AMOUNT) && PG_ARGISNULL(ARG_PERIOD))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" needs a \"%s\"", "max_period_amount",
						"period")));
}

/*
 * Raise 0A000 if a limit needs tables to count in that a leaderboard does not
 * have beside its distributed table.
 */
static void
require_counts(FunctionCallInfo fcinfo, const char *leaderboard)
{
	bool		flags = strcmp(text_to_cstring(PG_GETARG_TEXT_PP(ARG_ACTION)),
							   "flag") == 0;
	bool		counts = !PG_ARGISNULL(ARG_MAX_PERIOD_AMOUNT) ||
		!PG_ARGISNULL(ARG_MAX_SUBMITS);
	const LbDistributed *distributed = lb_require_distributed();

	if ((flags && !distributed->has_companion(leaderboard, LB_RECORD_ANOMALY)) ||
		(counts && !distributed->has_companion(leaderboard, LB_RECORD_USAGE)))
		lb_raise_no_counts(leaderboard);
}

/*
 * Raise 40001: a limit was for another board, or for none, before this one was
 * locked.
 */
static void
raise_changed(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("limit \"%s\" has just been changed", name),
			 errhint("The transaction might succeed if retried.")));
}

/*
 * Before a limit of a leaderboard gets the name of one that is for a board, or
 * for none: check that the caller may change that one, and lock the settings
 * of both leaderboards, in the order of their names.
 */
static void
lock_settings(const char *leaderboard, const char *old)
{
	const char *other = old == NULL ? NULL : limited_leaderboard(old);
	bool		both = other != NULL && strcmp(other, leaderboard) != 0;

	if (old != NULL && !superuser())
		(void) require_limit_owner(old);
	if (both && strcmp(other, leaderboard) < 0)
		lb_begin_settings(other);
	lb_begin_settings(leaderboard);
	if (both && strcmp(other, leaderboard) > 0)
		lb_begin_settings(other);
}

/*
 * The board of a limit, now that lb_limit is locked, which may not be what it
 * was before.  Then raise 40001 if the settings of its leaderboard should have
 * been locked.
 */
static const char *
changed_board(const char *name, const char *old, bool distributed)
{
	const char *now = lb_limit_board(name);

	if (lb_same_string(now, old))
		return old;
	if (distributed || (now != NULL && is_distributed(limited_leaderboard(now))))
		raise_changed(name);
	if (now != NULL && !superuser())
		(void) require_limit_owner(now);
	return now;
}

Datum
lb_set_limit(PG_FUNCTION_ARGS)
{
	static LbPlan plan;
	const char *name;
	const char *leaderboard;
	const char *old;			/* the board that it is for now, or NULL */
	const char *other;			/* the leaderboard of that */
	bool		distributed;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_set_limit()");
	if (PG_ARGISNULL(ARG_NAME))
		lb_null_argument("limit_name");
	if (PG_ARGISNULL(ARG_BOARD))
		lb_null_argument("board");
	if (PG_ARGISNULL(ARG_ACTION))
		lb_null_argument("action");
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_NAME));
	leaderboard = require_limit_owner(text_to_cstring(PG_GETARG_TEXT_PP(ARG_BOARD)));
	check_limit(fcinfo);
	old = lb_limit_board(name);
	lock_settings(leaderboard, old);
	distributed = is_distributed(leaderboard);
	if (distributed)
		require_counts(fcinfo, leaderboard);
	LockRelationOid(lb_own_table("lb_limit"), ShareRowExclusiveLock);
	old = changed_board(name, old, distributed);
	SPI_connect();
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_limit (name, board, max_amount, period, max_period_amount, min_score, max_score, max_submits, action) "
					   "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
					   "ON CONFLICT (name) DO UPDATE SET board = excluded.board, "
					   "max_amount = excluded.max_amount, period = excluded.period, "
					   "max_period_amount = excluded.max_period_amount, "
					   "min_score = excluded.min_score, max_score = excluded.max_score, "
					   "max_submits = excluded.max_submits, action = excluded.action",
					   LB_ARGS(lb_arg_given(fcinfo, ARG_NAME, TEXTOID),
							   lb_arg_given(fcinfo, ARG_BOARD, TEXTOID),
							   lb_arg_given(fcinfo, ARG_MAX_AMOUNT, INT8OID),
							   lb_arg_given(fcinfo, ARG_PERIOD, INTERVALOID),
							   lb_arg_given(fcinfo, ARG_MAX_PERIOD_AMOUNT, INT8OID),
							   lb_arg_given(fcinfo, ARG_MIN_SCORE, INT8OID),
							   lb_arg_given(fcinfo, ARG_MAX_SCORE, INT8OID),
							   lb_arg_given(fcinfo, ARG_MAX_SUBMITS, INT8OID),
							   lb_arg_given(fcinfo, ARG_ACTION, TEXTOID)));

	/* What a limit of that name has counted that went with its board. */
	if (old == NULL && distributed)
		lb_distributed->remove_usage(leaderboard, name);
	SPI_finish();
	other = old == NULL ? NULL : limited_leaderboard(old);
	if (other != NULL && strcmp(other, leaderboard) != 0)
		lb_end_settings(other);
	lb_end_settings(leaderboard);
	PG_RETURN_VOID();
}

Datum
lb_drop_limit(PG_FUNCTION_ARGS)
{
	static LbPlan plans[3];
	char	   *name;
	const char *board;
	const char *leaderboard;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_drop_limit()");
	if (PG_ARGISNULL(0))
		lb_null_argument("limit_name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	board = lb_limit_board(name);
	if (board == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("limit \"%s\" does not exist", name),
				 errhint("%sThe table lb_limit lists the limits.",
						 lb_nearest_limit(name))));

	/* The limit of a board that is gone can be dropped by a superuser only. */
	if (!superuser())
		(void) require_limit_owner(board);
	leaderboard = limited_leaderboard(board);
	if (leaderboard != NULL)
		lb_begin_settings(leaderboard);
	if (is_distributed(leaderboard))
	{
		(void) lb_require_distributed();
		if (!lb_same_string(lb_limit_board(name), board))
			raise_changed(name);
	}
	SPI_connect();
	(void) lb_own_exec(&plans[0],
					   "DELETE FROM @.lb_limit WHERE name OPERATOR(pg_catalog.=) $1",
					   LB_ARGS(lb_arg_text(name)));

	/* Wait for the rows of submits under way in the order that they have. */
	(void) lb_own_exec(&plans[1],
					   "SELECT pg_catalog.count(*) FROM (SELECT FROM @.lb_usage WHERE limit_name OPERATOR(pg_catalog.=) $1 "
					   "ORDER BY board, player_id FOR UPDATE) u",
					   LB_ARGS(lb_arg_text(name)));
	(void) lb_own_exec(&plans[2],
					   "DELETE FROM @.lb_usage WHERE limit_name OPERATOR(pg_catalog.=) $1",
					   LB_ARGS(lb_arg_text(name)));
	SPI_finish();
	if (!is_distributed(leaderboard))
		PG_RETURN_VOID();

	/* Servers that know the limit no more count nothing again. */
	lb_end_settings(leaderboard);
	SPI_connect();
	lb_distributed->remove_usage(leaderboard, name);
	SPI_finish();
	PG_RETURN_VOID();
}

void
lb_limits_end(const char *board, bool windows)
{
	static LbPlan plans[2];

#define LIMITS_END(condition) \
	"WITH l AS (DELETE FROM @.lb_limit t WHERE " condition " RETURNING t.name) " \
	"DELETE FROM @.lb_usage u USING l WHERE u.limit_name OPERATOR(pg_catalog.=) l.name"
	(void) lb_own_exec(&plans[windows], windows ?
					   LIMITS_END("t.board OPERATOR(pg_catalog.<>) 'global' AND " LB_IN_FAMILY("t.board", "$1")) :
					   LIMITS_END("t.board OPERATOR(pg_catalog.=) $1"),
					   LB_ARGS(windows ? lb_arg_family(board) : lb_arg_text(board)));
#undef LIMITS_END
}
