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
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "leaderboards/window.h"
#include "reads/read.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "windows/archive.h"

PG_FUNCTION_INFO_V1(lb_archive_top);
PG_FUNCTION_INFO_V1(lb_archive_top_key);

Datum
lb_owner_name(const LbDefinition *defn)
{
	return DirectFunctionCall1(namein,
							   CStringGetDatum(GetUserNameFromId(defn->owner, false)));
}

Datum
lb_archive_source(const LbDefinition *defn)
{
	static LbPlan plans[2];
	static const Oid types[] = {REGCLASSOID};
	Datum		values[1];
	Datum		result;
	bool		isnull;

	values[0] = ObjectIdGetDatum(defn->source);
	(void) lb_own_run(&plans[0],
					  "INSERT INTO @.lb_archive_source (source) VALUES ($1) ON CONFLICT (source) DO NOTHING",
					  1, types, values, NULL);

	/* In a new snapshot: another transaction may have entered it. */
	if (lb_own_run(&plans[1],
				   "SELECT id FROM @.lb_archive_source WHERE source OPERATOR(pg_catalog.=) $1",
				   1, types, values, NULL) != 1)
		elog(ERROR, "table %u is missing in \"lb_archive_source\"",
			 defn->source);
	result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						   &isnull);
	SPI_freetuptable(SPI_tuptable);
	return result;
}

Datum
lb_window_board(const LbDefinition *family, const char *key)
{
	return CStringGetTextDatum(psprintf("%s:%s", family->name, key));
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
	static const Oid types[] = {TEXTOID, TEXTOID, INT4OID, NAMEOID, INT4OID,
	TEXTOID};
	bool		window = season[0] == '\0';
	Datum		values[6];
	int			nestlevel;
	uint64		n;

	if (top == 0 && !window)
		return 0;
	values[0] = CStringGetTextDatum(board);
	values[1] = CStringGetTextDatum(season);
	values[2] = Int32GetDatum(top < 0 || top > PG_INT32_MAX ? PG_INT32_MAX :
							  (int32) top);
	values[3] = lb_owner_name(defn);
	values[4] = lb_archive_source(defn);
	values[5] = window ? lb_window_board(defn, board) : values[0];
	nestlevel = lb_begin_texts();
	n = lb_own_run(&plans[window], window ?
				   "WITH c AS (INSERT INTO @.lb_closed (board, members) VALUES ($1, @.lb_count($6))) "
				   ARCHIVE
				   "WHERE NOT EXISTS (SELECT FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.=) $1 "
				   "AND a.season OPERATOR(pg_catalog.=) $2 AND a.owner OPERATOR(pg_catalog.=) $4) "
				   "ON CONFLICT DO NOTHING" : ARCHIVE,
				   6, types, values, NULL);
	AtEOXact_GUC(true, nestlevel);
	return (int64) n;
}

/* Raise 42501 unless the caller may read a board, and so its past. */
static void
require_past(LbDefinition *defn)
{
	if (!lb_may_read(defn))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   get_rel_name(defn->source));
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
			 const Datum *season)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTOID, INT4OID, TEXTOID, NAMEOID, REGCLASSOID};
	Datum		values[5];
	char		nulls[] = "     ";

	values[0] = CStringGetTextDatum(board);
	values[1] = Int32GetDatum(n);
	values[2] = season == NULL ? (Datum) 0 : *season;
	nulls[2] = season == NULL ? 'n' : ' ';
	values[3] = lb_owner_name(defn);
	values[4] = ObjectIdGetDatum(defn->source);
	return lb_own_run(&plan,
					  "SELECT a.rank, a.member, a.score FROM @.lb_archive a, "
					  "(SELECT l.season, l.owner FROM @.lb_archive l WHERE l.board OPERATOR(pg_catalog.=) $1 "
					  "AND l.season OPERATOR(pg_catalog.=) COALESCE($3, l.season) AND l.place OPERATOR(pg_catalog.=) 1 "
					  "AND (l.owner OPERATOR(pg_catalog.=) $4 OR l.source OPERATOR(pg_catalog.=) "
					  "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $5)) "
					  "ORDER BY l.closed_at DESC, l.season DESC, l.owner LIMIT 1) s "
					  "WHERE a.board OPERATOR(pg_catalog.=) $1 AND a.season OPERATOR(pg_catalog.=) s.season "
					  "AND a.owner OPERATOR(pg_catalog.=) s.owner "
					  "AND a.place OPERATOR(pg_catalog.<=) $2 ORDER BY a.place",
					  5, types, values, nulls);
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
static void
archive_top(FunctionCallInfo fcinfo, bool as_text)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *board;
	char	   *key;
	int			keylen;
	LbTarget	target;
	Datum		season = PG_GETARG_DATUM(2);
	uint64		n;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	if (PG_ARGISNULL(1))
		lb_null_argument("n");
	if (PG_GETARG_INT32(1) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "n",
						PG_GETARG_INT32(1)),
				 errhint("\"%s\" must be at least %d.", "n", 0)));
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	lb_find_one_board(board, &target);
	require_past(target.defn);
	if (target.has_value && strchr(board, ':') == NULL)
	{
		key = lb_window_alias(board, strlen(board), &keylen);
		if (key != NULL)
			board = key;
	}
	InitMaterializedSRF(fcinfo, 0);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	n = read_archive(target.defn, board, PG_GETARG_INT32(1),
					 PG_ARGISNULL(2) ? NULL : &season);
	for (uint64 i = 0; i < n; i++)
	{
		Datum		columns[3];
		bool		isnull[3];

		for (int c = 0; c < 3; c++)
		{
			columns[c] = SPI_getbinval(SPI_tuptable->vals[i],
									   SPI_tuptable->tupdesc, c + 1,
									   &isnull[c]);
			if (c > 0 && !isnull[c] && !as_text)
				columns[c] = bigint_from_text(board, columns[c]);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, columns,
							 isnull);
	}
	SPI_finish();
}

Datum
lb_archive_top(PG_FUNCTION_ARGS)
{
	archive_top(fcinfo, false);
	return (Datum) 0;
}

Datum
lb_archive_top_key(PG_FUNCTION_ARGS)
{
	archive_top(fcinfo, true);
	return (Datum) 0;
}
