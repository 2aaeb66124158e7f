/*-------------------------------------------------------------------------
 *
 * archive.c
 *	  Final standings: lb_archive, lb_archive_top() and lb_archive_top_key().
 *
 * lb_archive keeps the standings of windows that have been closed and of
 * seasons, with the owner and the table of the board: a board of the same name
 * may belong to another role later.  Members and scores are text, which does
 * not depend on the settings of the session that archives them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "boards/board_value.h"
#include "leaderboards/player.h"
#include "reads/read.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "windows/archive.h"

LbArg
lb_arg_owner(const LbDefinition *defn)
{
	return lb_arg_name(GetUserNameFromId(defn->owner, false));
}

int32
lb_archive_source(const LbDefinition *defn)
{
	static LbPlan plans[2];
	int32		result;

	(void) lb_own_exec(&plans[0],
					   "INSERT INTO @.lb_archive_source (source) VALUES ($1) ON CONFLICT (source) DO NOTHING",
					   LB_ARGS(lb_arg_regclass(defn->source)));

	/* In a new snapshot: another transaction may have entered it. */
	if (lb_own_exec(&plans[1],
					"SELECT id FROM @.lb_archive_source WHERE source OPERATOR(pg_catalog.=) $1",
					LB_ARGS(lb_arg_regclass(defn->source))) != 1)
		elog(ERROR, "table %u is missing in \"lb_archive_source\"",
			 defn->source);
	result = DatumGetInt32(lb_row_datum(SPI_tuptable, 0, 1));
	SPI_freetuptable(SPI_tuptable);
	return result;
}

char *
lb_window_board(const LbDefinition *family, const char *key)
{
	return psprintf("%s:%s", family->name, key);
}

const char *
lb_archived_name(const LbTarget *target, const char *board)
{
	return target->has_value ?
		lb_family_board_name(target->defn, &target->value) : board;
}

#define ARCHIVE \
	"INSERT INTO @.lb_archive (board, season, place, rank, member, score, owner, source) " \
	"SELECT $1, $2, t.place, t.rank, t.member, t.score, $4, $5 " \
	"FROM ROWS FROM (@.lb_top_key($3, $6, CAST(0 AS pg_catalog.int8))) WITH ORDINALITY AS t (rank, member, score, place) "

/*
 * The standings of a window are final: if they are there, they are not copied
 * again.  The statement that copies them also enters the window in lb_closed,
 * so that a concurrent lb_hide() is seen by both or by neither.
 */
int64
lb_archive(const LbDefinition *defn, const char *board, const char *season,
		   int64 top)
{
	static LbPlan plans[2];
	bool		window = season[0] == '\0';
	int32		source;
	int			nestlevel;
	uint64		n;

	if (top == 0 && !window)
		return 0;
	if (top < 0 || top > PG_INT32_MAX)
		top = PG_INT32_MAX;
	source = lb_archive_source(defn);
	nestlevel = lb_begin_texts();
	n = lb_own_exec(&plans[window], window ?
					"WITH c AS (INSERT INTO @.lb_closed (board, members) VALUES ($1, @.lb_count($6))) "
					ARCHIVE
					"WHERE NOT EXISTS (SELECT FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.=) $1 "
					"AND a.season OPERATOR(pg_catalog.=) $2 AND a.owner OPERATOR(pg_catalog.=) $4) "
					"ON CONFLICT DO NOTHING" : ARCHIVE,
					LB_ARGS(lb_arg_text(board), lb_arg_text(season), lb_arg_int4((int32) top),
							lb_arg_owner(defn), lb_arg_int4(source),
							lb_arg_text(window ? lb_window_board(defn, board) : board)));
	AtEOXact_GUC(true, nestlevel);
	return (int64) n;
}

/* Raise 42501 unless the caller may read a board, and so its past. */
static void
require_past(LbDefinition *defn)
{
	if (!lb_may_read(defn))
		lb_denied(defn, "SELECT");
	if (check_enable_rls(defn->source, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security of table \"%s\" does not apply to its archive",
						get_rel_name(defn->source)),
				 errhint("Grant SELECT on the table lb_archive to roles that may read all of it.")));
}

/*
 * The rows of lb_archive that lb_archive_top() returns.  A board of the same
 * name may have been another owner's, over another table: what was archived
 * then is not for readers of this one.
 */
static uint64
read_archive(const LbDefinition *defn, const char *board, int32 n,
			 LbArg season)
{
	static LbPlan plan;

	return lb_own_exec(&plan,
					   "SELECT a.rank, a.member, a.score FROM @.lb_archive a, "
					   "(SELECT l.season, l.owner FROM @.lb_archive l WHERE l.board OPERATOR(pg_catalog.=) $1 "
					   "AND l.season OPERATOR(pg_catalog.=) COALESCE($3, l.season) AND l.place OPERATOR(pg_catalog.=) 1 "
					   "AND (l.owner OPERATOR(pg_catalog.=) $4 OR l.source OPERATOR(pg_catalog.=) "
					   "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $5)) "
					   "ORDER BY l.closed_at DESC, l.season DESC, l.owner LIMIT 1) s "
					   "WHERE a.board OPERATOR(pg_catalog.=) $1 AND a.season OPERATOR(pg_catalog.=) s.season "
					   "AND a.owner OPERATOR(pg_catalog.=) s.owner "
					   "AND a.place OPERATOR(pg_catalog.<=) $2 ORDER BY a.place",
					   LB_ARGS(lb_arg_text(board), lb_arg_int4(n), season,
							   lb_arg_owner(defn), lb_arg_regclass(defn->source)));
}

/* A text as bigint; raises 42804 if it is no bigint. */
static Datum
bigint_from_text(const char *board, Datum value)
{
	char	   *s = TextDatumGetCString(value);
	char	   *end;
	int64		number;

	errno = 0;
	number = strtoi64(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the archive of board \"%s\" has members or scores that are not integers",
						board),
				 errdetail("One of them is \"%s\".", s),
				 errhint("Use %s(), which returns text.",
						 "lb_archive_top_key")));
	return Int64GetDatum(number);
}

/* lb_archive_top(), or its twin. */
static Datum
archive_top(FunctionCallInfo fcinfo, bool as_text)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *board;
	LbTarget	target;
	uint64		n;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	if (PG_ARGISNULL(1))
		lb_null_argument("n");
	lb_require_at_least("n", PG_GETARG_INT32(1), 0, NULL);
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	lb_find_one_board(board, &target);
	require_past(target.defn);
	board = lb_archived_name(&target, board);
	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	n = read_archive(target.defn, board, PG_GETARG_INT32(1),
					 lb_arg_given(fcinfo, 2, TEXTOID));
	for (uint64 i = 0; i < n; i++)
	{
		Datum		columns[3];
		bool		isnull[3];

		CHECK_FOR_INTERRUPTS();
		for (int c = 0; c < 3; c++)
		{
			columns[c] = lb_row_nullable(SPI_tuptable, i, c + 1, &isnull[c]);
			if (c > 0 && !isnull[c] && !as_text)
				columns[c] = bigint_from_text(board, columns[c]);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, columns,
							 isnull);
	}
	SPI_finish();
	return (Datum) 0;
}

LB_TWINS(lb_archive_top, archive_top)
