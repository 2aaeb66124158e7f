/*-------------------------------------------------------------------------
 *
 * season.c
 *	  The end of seasons: lb_close_season().
 *
 * A season of a board ends when lb_close_season() is called: one transaction
 * locks the table against writers, copies the standings to lb_archive, and
 * resets the scores or removes the rows.  The owner's own statement resets the
 * table if the owner is the caller; otherwise the reset runs with the owner's
 * rights.
 *
 * If the table is distributed, the transaction is the coordinator's.  The
 * statements are the same: Citus merges what it reads, and commits by two
 * phases what it writes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "boards/board_value.h"
#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/live.h"
#include "boards/resolve.h"
#include "boards/target.h"
#include "leaderboards/as_owner.h"
#include "leaderboards/closed.h"
#include "leaderboards/window.h"
#include "reads/read.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "submit/scores.h"
#include "windows/archive.h"

PG_FUNCTION_INFO_V1(lb_close_season);

/* Rows of the user's table that are copied to lb_archive by one statement. */
#define ARCHIVE_ROWS 10000

/*
 * A window has no seasons: it ends by itself.  Its season would remove its
 * rows, or be archived before its final standings.
 */
static void
refuse_window(const char *board, const LbTarget *target)
{
	const LbValue *value = &target->value;
	LbSpan		span;
	bool		closed;

	if (!target->has_value || lb_windows_prefix(target->defn->name) < 0)
		return;
	closed = lb_window_is_closed(value->data, value->len);
	if (!closed && strchr(board, ':') != NULL &&
		lb_window_of_key(value->data, value->len, &span) == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is a window", board),
			 closed ?
			 errdetail("It has been closed; lb_archive_top() returns its final standings.") :
			 errdetail("It is archived when it is over, and its rows are removed when they are no longer to be kept."),
			 closed ?
			 errhint("DELETE what rows it still has, if they are not to be kept.") :
			 errhint("Windows are closed after their end by the worker, or lb_maintain().")));
}

/*
 * Standings have members, and a row that is counted may have none.  Scores
 * that are computed cannot be set.
 */
static void
refuse_board(const LbDefinition *defn)
{
	if (lb_has_expressions(defn))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("board \"%s\" has no seasons", defn->name),
				 errdetail("It is made of expressions, and the end of a season sets columns."),
				 errhint("Close seasons of a board on columns.")));
	if (defn->nboard > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("family \"%s\" has no seasons", defn->name),
				 errdetail("It has several board columns."),
				 errhint("Close seasons of a family with one board column.")));
	if (!lb_has_members(defn))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("board \"%s\" has no seasons", defn->name),
				 errdetail("It keeps counts, and standings have members."),
				 errhint("Close seasons of a board that keeps members.")));
}

/*
 * The condition for a row t to be of a board, whose value is $1 in a family.
 */
static void
append_of_board(StringInfo sql, const LbTarget *target)
{
	const LbDefinition *defn = target->defn;

	/* A row without a member is on no board. */
	for (int i = 0; i < defn->nmember; i++)
		appendStringInfo(sql, "%st.%s IS NOT NULL", i > 0 ? " AND " : "",
						 lb_quoted(&lb_member_columns(defn)[i]));
	if (target->has_value)
	{
		const char *type = lb_has_text_boards(defn) ? "pg_catalog.text" :
			lb_sql_type(lb_board_column(defn));

		appendStringInfo(sql, " AND CAST(t.%s AS %s) OPERATOR(pg_catalog.=) CAST($1 AS %s)",
						 lb_quoted(lb_board_column(defn)), type, type);
	}
}

static LbArg
value_of_board(const LbTarget *target)
{
	const char *name = target->has_value ?
		lb_value_to_name(target->defn, &target->value) : "";

	return lb_arg_text(name == NULL ? "" : name);
}

/* Raise 42804 unless scores can be set to an integer. */
static void
require_number_score(const LbDefinition *defn)
{
	const LbType *type = lb_score_column(defn)->type;

	if (type->json != LB_JSON_NUMBER)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("scores of board \"%s\" are not numbers", defn->name),
				 errdetail("They are of type %s.", type->sql_name),
				 errhint("Use null for \"%s\", which deletes the rows.",
						 "reset_to")));
}

/* Enter a season in lb_season; raises 23505 if it has been closed before. */
static void
record_season(const LbDefinition *defn, const char *board, const char *season,
			  LbArg top)
{
	static LbPlan plans[2];
	LbArg		owner = lb_arg_owner(defn);
	LbArg		source = lb_arg_int4(lb_archive_source(defn));

	/* A board of that name may have been another owner's, of another table. */
	if (lb_own_exec(&plans[0],
					"SELECT FROM @.lb_season s WHERE s.board OPERATOR(pg_catalog.=) $1 AND s.season OPERATOR(pg_catalog.=) $2 "
					"AND (s.owner OPERATOR(pg_catalog.=) $3 OR s.source OPERATOR(pg_catalog.=) $4) LIMIT 1",
					LB_ARGS(lb_arg_text(board), lb_arg_text(season), owner, source)) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("season \"%s\" of board \"%s\" has been closed",
						season, board),
				 errdetail("The name of a season is used once."),
				 errhint("Use another name.")));
	(void) lb_own_exec(&plans[1],
					   "INSERT INTO @.lb_season (board, season, owner, source, archive_top, members) "
					   "VALUES ($1, $2, $3, $4, $5, @.lb_count($1))",
					   LB_ARGS(lb_arg_text(board), lb_arg_text(season), owner, source, top));
}

/* A query for the rows of a board that have a score and no place. */
static char *
unranked_text(const LbTarget *target)
{
	const LbDefinition *defn = target->defn;
	const char *score = lb_quoted(lb_score_column(defn));
	const char *or = "";
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	for (int i = 0; i < defn->nmember; i++)
		appendStringInfo(&sql, "t.%s, ", lb_quoted(&lb_member_columns(defn)[i]));
	appendStringInfo(&sql, "t.%s FROM %s AS t WHERE ", score, defn->from_name);
	append_of_board(&sql, target);
	appendStringInfo(&sql, " AND t.%s IS NOT NULL AND (", score);
	for (int i = 1; i < defn->nrank_by; i++)
	{
		appendStringInfo(&sql, "%st.%s IS NULL", or,
						 lb_quoted(&defn->columns[i]));
		or = " OR ";
	}
	if (defn->has_ranked_if)
		appendStringInfo(&sql, "%st.%s IS NOT TRUE", or,
						 lb_quoted(lb_ranked_if_column(defn)));
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/* Write n rows that SPI has just returned to lb_archive, and free them. */
static void
archive_rows(const LbDefinition *defn, const char *board, const char *season,
			 uint64 n)
{
	static LbPlan plan;
	const LbType *score = lb_score_column(defn)->type;
	Datum	   *members = palloc(Max(1, n) * sizeof(Datum));
	Datum	   *scores = palloc(Max(1, n) * sizeof(Datum));
	int			nestlevel = lb_begin_texts();

	for (uint64 i = 0; i < n; i++)
	{
		Datum		columns[LB_MAX_MEMBER_COLUMNS + 1];
		bool		nulls[LB_MAX_MEMBER_COLUMNS + 1];

		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
						  columns, nulls);
		members[i] = lb_member_to_text(defn, columns, nulls);
		scores[i] = lb_value_to_text(score, columns[defn->nmember]);
	}
	AtEOXact_GUC(true, nestlevel);
	SPI_freetuptable(SPI_tuptable);
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_archive (board, season, member, score, owner, source) "
					   "SELECT $1, $2, u.member, u.score, $5, $6 "
					   "FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS u (member, score)",
					   LB_ARGS(lb_arg_text(board), lb_arg_text(season),
							   lb_arg_array(TEXTOID, members, NULL, (int) n),
							   lb_arg_array(TEXTOID, scores, NULL, (int) n),
							   lb_arg_owner(defn),
							   lb_arg_int4(lb_archive_source(defn))));
}

/*
 * Copy the scores that are about to be reset and have no place to lb_archive:
 * those of rows that are hidden, or lack what else the board ranks by.  The
 * table is read with the rights with which it is going to be reset.
 */
static void
archive_unranked(const LbTarget *target, const char *board,
				 const char *season)
{
	const LbDefinition *defn = target->defn;
	bool		guest = lb_is_guest(defn);
	bool		all_rows = guest && has_bypassrls_privilege(GetUserId());
	LbArg		value = value_of_board(target);
	SPIPlanPtr	plan;
	Portal		portal;
	MemoryContext batch;
	LbUser		saved;
	uint64		n;

	if (defn->nrank_by == 1 && !defn->has_ranked_if)
		return;
	if (guest)
		lb_switch_to_owner(&saved, defn->owner, all_rows);
	plan = lb_prepare(unranked_text(target), defn->source, 1, &value.type, 0);
	portal = SPI_cursor_open(NULL, plan, &value.value, NULL, false);
	if (!lb_plan_has(plan, defn->source))
		lb_wrong_table(defn->source);
	if (guest)
		lb_restore_user(&saved);
	batch = AllocSetContextCreate(CurrentMemoryContext,
								  "leaderboard season", ALLOCSET_DEFAULT_SIZES);
	do
	{
		MemoryContext old;

		if (guest)
			lb_switch_to_owner(&saved, defn->owner, all_rows);
		SPI_cursor_fetch(portal, true, ARCHIVE_ROWS);
		if (guest)
			lb_restore_user(&saved);
		n = SPI_processed;
		old = MemoryContextSwitchTo(batch);
		archive_rows(defn, board, season, n);
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch);
	}
	while (n == ARCHIVE_ROWS);
	MemoryContextDelete(batch);
	SPI_cursor_close(portal);
	SPI_freeplan(plan);
}

static void
require_all_rows(const LbDefinition *defn)
{
	lb_require_all_rows(defn, "A season is reset as a whole, and policies can keep rows from the owner.");
}

/*
 * Find the board, and lock its table against writers: no score may be written
 * between the standings and the reset.  A transaction that writes to a
 * partition itself holds no lock on the source, so partitions are locked as
 * well.
 */
static void
lock_board(const char *board, LbTarget *target)
{
	bool		distributed;

	lb_find_one_board(board, target);
	refuse_window(board, target);
	refuse_board(target->defn);
	lb_require_owner(target->defn->source);
	do
	{
		distributed = lb_is_distributed(target->defn);
		if (distributed)
		{
			lb_require_distributed()->require_coordinator(target->defn,
														  "lb_close_season()");
			require_all_rows(target->defn);
			lb_distributed->lock(target->defn);
		}
		LockRelationOid(target->defn->source, ShareRowExclusiveLock);
		lb_find_one_board(board, target);
	}
	while (lb_is_distributed(target->defn) != distributed);
	if (target->defn->relkind == RELKIND_PARTITIONED_TABLE)
	{
		list_free(find_all_inheritors(target->defn->source,
									  ShareRowExclusiveLock, NULL));
		lb_find_one_board(board, target);
	}
	lb_require_owner(target->defn->source);
	lb_require_fit(target->defn);
	require_all_rows(target->defn);
}

/*
 * Set the scores of a board to a score, or delete its rows if it is null.
 * Tables that are distributed have no trigger that sets updated_at.
 *
 * The owner resets the table by a statement of the owner's own.  For any other
 * role that may, a superuser or a member of the owner's role, the triggers of
 * the table run with the owner's rights.
 */
static void
reset_board(const LbTarget *target, LbArg score)
{
	const LbDefinition *defn = target->defn;
	bool		stamp = lb_is_distributed(defn) && lb_has_updated_at(defn);
	int			nestlevel = 0;
	StringInfoData sql;

	initStringInfo(&sql);
	if (score.isnull)
		appendStringInfo(&sql, "DELETE FROM %s AS t WHERE ", defn->from_name);
	else
		appendStringInfo(&sql, "UPDATE %s AS t SET %s = $2%s WHERE t.%s OPERATOR(pg_catalog.<>) $2 AND ",
						 defn->from_name,
						 lb_quoted(lb_score_column(defn)),
						 stamp ? ", updated_at = pg_catalog.now()" : "",
						 lb_quoted(lb_score_column(defn)));
	append_of_board(&sql, target);

	/* Citus sends now() as text. */
	if (stamp)
		nestlevel = lb_begin_texts();
	(void) lb_write_for_owner(defn, sql.data, LB_ARGS(value_of_board(target), score));
	if (stamp)
		AtEOXact_GUC(true, nestlevel);
}

Datum
lb_close_season(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"board", "season"};
	const char *board;
	char	   *season;
	int64		top = PG_ARGISNULL(2) ? -1 : PG_GETARG_INT64(2);
	LbTarget	target;
	int64		archived;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_close_season()");
	for (int i = 0; i < 2; i++)
	{
		if (PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	season = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (season[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a season's name must not be empty")));
	if (!PG_ARGISNULL(2))
		lb_require_at_least("archive_top", top, 0, "all places");
	lb_require_read_committed("lb_close_season()");
	SPI_connect();
	lock_board(board, &target);
	board = lb_archived_name(&target, board);
	if (!PG_ARGISNULL(3))
		require_number_score(target.defn);
	record_season(target.defn, board, season, lb_arg_given(fcinfo, 2, INT8OID));
	archived = lb_archive(target.defn, board, season, top);
	if (top != 0)
		archive_unranked(&target, board, season);
	reset_board(&target, lb_arg_given(fcinfo, 3, INT8OID));
	SPI_finish();
	PG_RETURN_INT64(archived);
}
