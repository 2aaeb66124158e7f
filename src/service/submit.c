/*-------------------------------------------------------------------------
 *
 * submit.c
 *	  Submitting scores: lb_submit() and lb_submit_many().
 *
 * A submit writes to the row of a player on the board "global" and in each
 * window that contains a moment.  Both functions are one: lb_submit() is a
 * batch of one change that is told ranks as well.  What the users' tables are,
 * and what their columns are called, comes from the definitions of "global"
 * and of the family "*".
 *
 * There is one statement for each table, or rather for each run of windows
 * with the same operation.  To keep concurrent batches from waiting for each
 * other in a circle everybody takes his locks in this order:
 *
 *	1. keys of windows, against being closed (lb_window_lock, shared)
 *	2. rows of lb_applied, by player and match
 *	3. rows of lb_usage, by limit, board and player
 *	4. rows of "global", by player
 *	5. rows of windows, by key and player
 *	6. rows of lb_anomaly, by player, limit and board
 *
 * A row of "global" is locked also where only windows are written to, for it
 * tells who is hidden.  A row that does not exist yet counts as well: its
 * unique index makes others wait.  So rows are locked and inserted in one pass,
 * by ON CONFLICT, and the order is that of the arrays that the statement
 * unnests.
 *
 * Ranks are read between the statements, in snapshots of their own: while a
 * statement is running, its changes are not known to the index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "boards/own.h"
#include "reads/reader.h"
#include "service/limit.h"
#include "service/submission.h"
#include "service/submit.h"
#include "service/window.h"
#include "util/compat.h"

/* Columns of lb_event, as the script has them. */
static const struct
{
	const char *name;
	Oid			type;
	bool		nullable;
}			event_columns[] =

{
	{"player_id", INT8OID, false},
	{"op", TEXTOID, false},
	{"amount", INT8OID, false},
	{"match_id", TEXTOID, true},
	{"at", TIMESTAMPTZOID, false},
	{"boards", TEXTARRAYOID, false},
	{"scores", INT8ARRAYOID, false},
	{"submitted_at", TIMESTAMPTZOID, false},
};
#define Natts_lb_event ((int) lengthof(event_columns))

/* The longest match_id, in bytes: it must fit into an index. */
#define MAX_MATCH_ID 1000

/* Windows that one statement writes to with "global". */
#define MAX_SINGLE 5

/* The most boards that a caller names: each window is a lock. */
#define MAX_NAMED_BOARDS 1000

PG_FUNCTION_INFO_V1(lb_submit);
PG_FUNCTION_INFO_V1(lb_submit_json);
PG_FUNCTION_INFO_V1(lb_submit_many);
PG_FUNCTION_INFO_V1(lb_hide);
PG_FUNCTION_INFO_V1(lb_show);

bool		lb_events = true;
int			lb_max_clock_skew = 300;


/* ----------------------------------------------------------------
 *		Which boards
 * ----------------------------------------------------------------
 */

static void
null_element(const char *name)
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

	/* The statements check all of it; this is for when none is run. */
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
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   get_rel_name(defn->source));
}

static LbDefinition *
find_source(const char *name, bool family)
{
	LbTarget	target;
	LbDefinition *defn;

	lb_find_target(name, strlen(name), &target);
	defn = target.defn;
	if (defn->family != family)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", name),
				 errdetail("Scores are submitted to the board \"global\" and to the windows in the family \"*\".")));
	lb_require_fit(defn);
	if (family && defn->board_type != TEXTOID &&
		defn->board_type != VARCHAROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of family \"*\" cannot hold the keys of windows",
						defn->board_column),
				 errdetail("It is of type %s.",
						   format_type_be(defn->board_type))));
	require_write(defn);
	return defn;
}

/* A board that is recorded by that very name, or NULL. */
static LbDefinition *
find_recorded(const char *name)
{
	LbTarget	target;

	if (lb_find_defn(name) == NULL)
		return NULL;
	lb_find_target(name, strlen(name), &target);
	return target.defn;
}

/*
 * Raise 42501 if the caller may write to no board that scores are submitted to:
 * then nothing is done with what the caller has handed in.
 */
static void
require_some_write(void)
{
	static const char *const names[] = {"global", "*"};
	const LbDefinition *denied = NULL;

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		const LbDefinition *defn = find_recorded(names[i]);

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

/*
 * Raise 54000 if an array of boards' names is too long, and 22004 for a null in
 * it.  Returns its elements.
 */
static int
named_boards(ArrayType *names, Datum **elements)
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
			null_element("boards");
	}
	return n;
}

/*
 * A window is read as a board of the family "*", which its rows are written to:
 * another family may have the name that its key begins with.  The same board
 * may be added twice, until sort_boards().
 */
static LbSubmitBoard *
add_board(LbSubmit *s, const char *name, bool window)
{
	LbSubmitBoard *board;

	if (s->nboards == s->maxboards)
	{
		s->maxboards = Max(8, s->maxboards * 2);
		s->boards = s->boards == NULL ?
			palloc(s->maxboards * sizeof(LbSubmitBoard)) :
			repalloc(s->boards, s->maxboards * sizeof(LbSubmitBoard));
	}
	board = &s->boards[s->nboards++];
	memset(board, 0, sizeof(LbSubmitBoard));
	board->name = pstrdup(name);
	board->kind = board->name;
	board->read_as = window ? psprintf("*:%s", name) : board->name;
	board->window = window;
	return board;
}

/*
 * Add a window's span.  With given it has been asked for by name, and is
 * answered even if the moment is not in it.
 */
static void
add_window(LbSubmit *s, LbWindow *window, const char *given)
{
	LbSpan		span;
	LbSubmitBoard *board;
	bool		contains = lb_window_span(window, s->at, 0, &span);

	if (given == NULL && (!contains || !window->is_open))
		return;

	/* The key of another day was given. */
	if (given != NULL && strcmp(given, window->name) != 0 &&
		strcmp(given, span.key) != 0)
	{
		board = add_board(s, given, true);
		board->closed = true;
		return;
	}
	board = add_board(s, span.key, true);
	board->kind = pstrdup(window->name);
	board->op = window->op;
	board->closes = lb_window_closes(window, &span);
	board->closed = !contains || !window->is_open;
}

/* A caller that may not write to a board learns nothing of it, at no cost. */
static void
named_board(LbSubmit *s, const char *name)
{
	LbWindow   *window;
	LbSpan		span;

	if (strcmp(name, "global") == 0)
	{
		if (s->global == NULL)
			s->global = find_source("global", false);
		s->write_global = true;
		return;
	}
	if (s->windows == NULL && lb_find_defn("*") != NULL)
		s->windows = find_source("*", true);
	window = lb_window_find(name, strlen(name));
	if (window == NULL)
		window = lb_window_of_key(name, strlen(name), &span);
	if (window == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("window \"%s\" does not exist", name),
				 errhint("Scores are submitted to \"global\" and to the windows of the table lb_window.")));
	add_window(s, window, name);
}

static int
board_cmp(const void *a, const void *b)
{
	return strcmp(((const LbSubmitBoard *) a)->name,
				  ((const LbSubmitBoard *) b)->name);
}

/* Sort the windows by key, each once, and put "global" before them. */
static void
sort_boards(LbSubmit *s)
{
	int			n = 0;

	if (s->nboards > 1)
		qsort(s->boards, s->nboards, sizeof(LbSubmitBoard), board_cmp);
	for (int i = 0; i < s->nboards; i++)
	{
		if (n == 0 || board_cmp(&s->boards[i], &s->boards[n - 1]) != 0)
			s->boards[n++] = s->boards[i];
	}
	s->nboards = n;
	if (s->write_global)
	{
		LbSubmitBoard global = *add_board(s, "global", false);

		memmove(s->boards + 1, s->boards, n * sizeof(LbSubmitBoard));
		s->boards[0] = global;
	}
}

/*
 * Find out which boards are to be written to, and keep windows from being
 * closed meanwhile.
 */
static void
find_boards(LbSubmit *s, ArrayType *names)
{
	int			first = 0;
	bool		windows = false;

	if (names == NULL)
	{
		LbWindow  **all;
		int			n = lb_windows(&all);

		s->write_global = true;
		for (int i = 0; i < n; i++)
			add_window(s, all[i], NULL);
	}
	else
	{
		Datum	   *elements;
		int			n;

		require_some_write();
		n = named_boards(names, &elements);
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			named_board(s, TextDatumGetCString(elements[i]));
		}
	}
	windows = s->nboards > 0;
	sort_boards(s);
	if (s->write_global)
		first = 1;
	if (s->write_global && s->global == NULL)
		s->global = find_source("global", false);
	if (!windows)
		s->windows = NULL;
	else if (s->windows == NULL)
		s->windows = find_source("*", true);
	if (windows && !s->write_global && s->windows->ranked_if[0] != '\0')
	{
		s->hides = find_recorded("global");
		if (s->hides != NULL &&
			(s->hides->family || s->hides->misfit ||
			 s->hides->ranked_if[0] == '\0'))
			s->hides = NULL;
	}
	if (s->nboards == 0)
		(void) find_source("global", false);	/* for the privileges */

	for (int i = first; i < s->nboards; i++)
	{
		LbSubmitBoard *board = &s->boards[i];

		CHECK_FOR_INTERRUPTS();
		if (board->closed || GetCurrentTimestamp() >= board->closes)
		{
			board->closed = true;
			continue;
		}
		lb_window_lock(board->name, strlen(board->name), RowExclusiveLock);

		/*
		 * Again: it may have taken a while to get the lock.  A key can have
		 * been closed though its end is ahead: when the window was opened
		 * with another time zone, or another period.
		 */
		board->closed = GetCurrentTimestamp() >= board->closes ||
			lb_window_locked_is_closed(board->name, strlen(board->name));
	}
	for (int i = 0; i < s->nboards; i++)
		s->nopen += !s->boards[i].closed;
}


/* ----------------------------------------------------------------
 *		The statements on the users' tables
 * ----------------------------------------------------------------
 */

typedef struct TextArg
{
	const LbDefinition *defn;
	LbOp		op;
	bool		returning;		/* the scores of what is written */
	bool		hidden;			/* new rows of "global" are not ranked */
} TextArg;

static bool
has_updated_at(const LbDefinition *defn)
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

/* What every statement returns of a row t. */
static void
append_returned(StringInfo buf, const LbDefinition *defn)
{
	appendStringInfo(buf, "CAST(t.%s AS pg_catalog.int8), CAST(t.%s AS pg_catalog.int8), ",
					 quote_identifier(defn->member),
					 quote_identifier(defn->columns[0].name));
	if (defn->ranked_if[0] != '\0')
		appendStringInfo(buf, "t.%s, ", quote_identifier(defn->ranked_if));
	else
		appendStringInfoString(buf, "true, ");
	if (defn->family)
		appendStringInfo(buf, "CAST(t.%s AS pg_catalog.text)",
						 quote_identifier(defn->board_column));
	else
		appendStringInfoString(buf, "CAST(NULL AS pg_catalog.text)");
}

/* The head of an INSERT, up to where its rows come from. */
static void
append_insert(StringInfo buf, const LbDefinition *defn, bool stamp, bool hide)
{
	appendStringInfo(buf, "INSERT INTO %s AS t (%s, %s", defn->source_name,
					 quote_identifier(defn->member),
					 quote_identifier(defn->columns[0].name));
	if (stamp)
		appendStringInfoString(buf, ", updated_at");
	if (defn->family)
		appendStringInfo(buf, ", %s", quote_identifier(defn->board_column));
	if (hide)
		appendStringInfo(buf, ", %s", quote_identifier(defn->ranked_if));
	appendStringInfoString(buf, ") ");
}

/*
 * What becomes of a row that is there.  The op LB_OP_CHANGE changes nothing and
 * locks the row; see write_global().  With changes, an increment is known not
 * to be zero.
 */
static void
append_conflict(StringInfo buf, const LbDefinition *defn, LbOp op, bool stamp,
				bool changes)
{
	const char *score = quote_identifier(defn->columns[0].name);
	bool		descending = defn->columns[0].descending;

	appendStringInfo(buf, " ON CONFLICT (%s", quote_identifier(defn->member));
	if (defn->family)
		appendStringInfo(buf, ", %s", quote_identifier(defn->board_column));
	appendStringInfo(buf, ") DO UPDATE SET %s = ", score);
	if (op == LB_OP_INCR && is_not_null(defn))
		appendStringInfo(buf, "t.%s OPERATOR(pg_catalog.+) excluded.%s",
						 score, score);
	else if (op == LB_OP_INCR)
		appendStringInfo(buf, "COALESCE(t.%s, 0) OPERATOR(pg_catalog.+) excluded.%s",
						 score, score);
	else
		appendStringInfo(buf, "excluded.%s", score);
	if (stamp)
		appendStringInfoString(buf, ", updated_at = GREATEST(t.updated_at, excluded.updated_at)");

	/* A score that stays is not written, and keeps its time. */
	if (op == LB_OP_CHANGE)
		appendStringInfoString(buf, " WHERE false");
	else if (op == LB_OP_INCR && changes)
		return;
	else if (op == LB_OP_INCR)
		appendStringInfo(buf, " WHERE excluded.%s OPERATOR(pg_catalog.<>) 0",
						 score);
	else
		appendStringInfo(buf, " WHERE t.%s IS NULL OR excluded.%s OPERATOR(pg_catalog.%s) t.%s",
						 score, score,
						 op == LB_OP_SET ? "<>" :
						 (op == LB_OP_BEST) == descending ? ">" : "<", score);
}

/*
 * $1 players, $2 amounts, $3 at; of windows $4 keys, $5 whether ranked.  The
 * arrays are unnested in a target list: as functions in FROM each of them would
 * be put in a tuplestore first.
 */
static char *
write_text(const void *arg)
{
	const LbDefinition *defn = ((const TextArg *) arg)->defn;
	bool		stamp = has_updated_at(defn);
	bool		hide = defn->family && defn->ranked_if[0] != '\0';
	bool		hidden = ((const TextArg *) arg)->hidden;
	StringInfoData buf;

	initStringInfo(&buf);
	append_insert(&buf, defn, stamp, hide || hidden);
	appendStringInfo(&buf, "SELECT u.member, u.amount%s%s%s FROM (SELECT pg_catalog.unnest($1), pg_catalog.unnest($2)%s%s) AS u (member, amount%s%s)",
					 stamp ? ", $3" : "", defn->family ? ", u.key" : "",
					 hide ? ", u.ranked" : hidden ? ", false" : "",
					 defn->family ? ", pg_catalog.unnest($4)" : "",
					 hide ? ", pg_catalog.unnest($5)" : "",
					 defn->family ? ", key" : "", hide ? ", ranked" : "");
	append_conflict(&buf, defn, ((const TextArg *) arg)->op, stamp, false);
	if (((const TextArg *) arg)->returning)
	{
		appendStringInfoString(&buf, " RETURNING ");
		append_returned(&buf, defn);
	}
	return buf.data;
}

/*
 * One player's increment on "global" and in all windows at once: $1 player,
 * $2 amount, $3 at, $4 ... keys.  The windows' rows come from the row of
 * "global", so it is locked first.  Nothing is returned: the boards are read
 * afterwards.
 */
static char *
single_text(const void *arg)
{
	const LbSubmit *s = (const LbSubmit *) arg;
	bool		stamp = has_updated_at(s->global);
	bool		hide;
	StringInfoData buf;

	initStringInfo(&buf);
	if (s->nopen > 1)
		appendStringInfoString(&buf, "WITH g (ranked) AS (");
	append_insert(&buf, s->global, stamp, false);
	appendStringInfo(&buf, "VALUES ($1, $2%s)", stamp ? ", $3" : "");
	append_conflict(&buf, s->global, LB_OP_INCR, stamp, true);
	if (s->nopen == 1)
		return buf.data;

	appendStringInfoString(&buf, " RETURNING ");
	if (s->global->ranked_if[0] != '\0')
		appendStringInfo(&buf, "t.%s IS TRUE",
						 quote_identifier(s->global->ranked_if));
	else
		appendStringInfoString(&buf, "true");
	stamp = has_updated_at(s->windows);
	hide = s->windows->ranked_if[0] != '\0';
	appendStringInfoString(&buf, ") ");
	append_insert(&buf, s->windows, stamp, hide);
	appendStringInfo(&buf, "SELECT $1, $2%s, k.key%s FROM g, (VALUES ",
					 stamp ? ", $3" : "", hide ? ", g.ranked" : "");
	for (int i = 1; i < s->nopen; i++)
		appendStringInfo(&buf, "%s($%d)", i > 1 ? ", " : "", i + 3);
	appendStringInfoString(&buf, ") AS k (key)");
	append_conflict(&buf, s->windows, LB_OP_INCR, stamp, true);
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
					 defn->from_name, quote_identifier(defn->member));
	if (defn->family)
		appendStringInfo(&buf, " AND t.%s OPERATOR(pg_catalog.=) ANY ($2)",
						 quote_identifier(defn->board_column));
	return buf.data;
}

/*
 * The players that have a row, and whether it is ranked; of windows only those
 * that are hidden.  $1 players.  Rows of "global" are locked, as lb_hide() does
 * first.
 */
static char *
hidden_text(const void *arg)
{
	const LbDefinition *defn = ((const TextArg *) arg)->defn;
	const char *member = quote_identifier(defn->member);
	const char *ranked = quote_identifier(defn->ranked_if);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "SELECT CAST(t.%s AS pg_catalog.int8), t.%s FROM %s AS t WHERE t.%s OPERATOR(pg_catalog.=) ANY ($1)",
					 member, ranked, defn->from_name, member);
	if (defn->family)
		appendStringInfo(&buf, " AND NOT t.%s", ranked);
	else
		appendStringInfo(&buf, " ORDER BY t.%s FOR NO KEY UPDATE", member);
	return buf.data;
}

static int
player_number(const LbSubmit *s, int64 player)
{
	int			lo = 0;
	int			hi = s->nplayers;

	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (s->players[mid] == player)
			return mid;
		if (s->players[mid] < player)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

/* The window with this key, or NULL. */
static LbSubmitBoard *
find_window(LbSubmit *s, const char *key, int len)
{
	int			first = s->write_global ? 1 : 0;
	LbSubmitBoard wanted;

	wanted.name = pnstrdup(key, len);
	return bsearch(&wanted, s->boards + first, s->nboards - first,
				   sizeof(LbSubmitBoard), board_cmp);
}

static Datum
int8_array(const int64 *values, int n)
{
	Datum	   *datums = palloc(Max(1, n) * sizeof(Datum));

	for (int i = 0; i < n; i++)
		datums[i] = Int64GetDatum(values[i]);
	return lb_make_array(INT8OID, datums, NULL, n);
}

/* Remember the scores that a statement has returned, of what it wrote or read. */
static void
take_scores(LbSubmit *s, bool written)
{
	SPITupleTable *table = SPI_tuptable;
	LbSubmitBoard *board = NULL;

	/* "global" has no key. */
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = table->vals[i];
		bool		isnull;
		int			p = player_number(s, DatumGetInt64(SPI_getbinval(tuple, table->tupdesc, 1, &isnull)));
		Datum		score = SPI_getbinval(tuple, table->tupdesc, 2, &isnull);
		bool global;
		Datum		value = SPI_getbinval(tuple, table->tupdesc, 4, &global);

		if (global)
			board = &s->boards[0];
		else
		{
			text	   *key = DatumGetTextPP(value);
			int			len = VARSIZE_ANY_EXHDR(key);

			/* Mostly the board of the row before. */
			if (board == NULL || (int) strlen(board->name) != len ||
				memcmp(board->name, VARDATA_ANY(key), len) != 0)
				board = find_window(s, VARDATA_ANY(key), len);
		}
		if (p < 0 || board == NULL)
			continue;
		board->known[p] = true;
		board->written |= written;
		board->has_score[p] = !isnull;
		board->scores[p] = isnull ? 0 : DatumGetInt64(score);
		if (global)
		{
			value = SPI_getbinval(tuple, table->tupdesc, 3, &isnull);
			s->ranked[p] = !isnull && DatumGetBool(value);
		}
	}
	SPI_freetuptable(table);
}

/*
 * Run a statement on a board's table.  A superuser lends no rights to the
 * triggers of another role's table.
 */
static void
run_on_source(LbPlan *plan, const LbDefinition *defn, LbPlanText text,
			  const void *arg, bool writes, int nargs, const Oid *types,
			  Datum *values)
{
	LbUser		saved;
	bool		switched = lb_switch_from_superuser(&saved, defn, writes);

	(void) lb_plan_run(plan, defn->id, text, arg, defn->source, InvalidOid,
					   nargs, types, values, NULL);
	if (switched)
		lb_restore_user(&saved);
}

/* Read the scores of a board's rows that no statement has returned. */
static void
read_missing(LbSubmit *s, int first, int n)
{
	static LbPlan plans[2];
	static const Oid types[] = {INT8ARRAYOID, TEXTARRAYOID};
	TextArg		arg;
	Datum		values[2];
	Datum	   *keys = palloc(n * sizeof(Datum));
	int64	   *players = palloc(s->nplayers * sizeof(int64));
	int			nplayers = 0;
	bool global = s->write_global && first == 0;

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
	values[0] = int8_array(players, nplayers);
	values[1] = lb_make_array(TEXTOID, keys, NULL, n);
	arg.defn = global ? s->global : s->windows;

	arg.op = LB_OP_CHANGE;
	run_on_source(&plans[global], arg.defn, read_text, &arg, false,
				  global ? 1 : 2, types, values);
	take_scores(s, false);
}

/* Several changes of one player are one, by what the operation does. */
static int64 *
coalesce(const LbSubmit *s, LbOp op, bool descending)
{
	int64	   *amounts = palloc(s->nplayers * sizeof(int64));

	for (int p = 0; p < s->nplayers; p++)
	{
		int			end = p + 1 < s->nplayers ? s->first[p + 1] : s->nitems;
		int64		amount = s->items[s->first[p]].amount;

		for (int i = s->first[p] + 1; i < end; i++)
		{
			int64		next = s->items[i].amount;

			switch (op)
			{
				case LB_OP_INCR:
					if (pg_add_s64_overflow(amount, next, &amount))
						ereport(ERROR,
								(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
								 errmsg("bigint out of range")));
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
	}
	return amounts;
}

static void
run_global(LbSubmit *s, LbOp op, const int64 *players, const int64 *amounts,
		   int n, bool hidden)
{
	static LbPlan plans[2][LB_NOPS];
	static const Oid types[] = {INT8ARRAYOID, INT8ARRAYOID, TIMESTAMPTZOID};
	TextArg		arg;
	Datum		values[3];

	values[0] = int8_array(players, n);
	values[1] = int8_array(amounts, n);
	values[2] = TimestampTzGetDatum(s->at);
	arg.defn = s->global;
	arg.op = op;
	arg.returning = true;
	arg.hidden = hidden;
	run_on_source(&plans[hidden][op], s->global, write_text, &arg, true, 3,
				  types, values);
	take_scores(s, true);
}

/* Who comes to be hidden needs a statement of his own, in the same order. */
static void
run_enter(LbSubmit *s, LbOp op, const int64 *amounts)
{
	int			n;

	for (int p = 0; p < s->nplayers; p += n)
	{
		for (n = 1; p + n < s->nplayers; n++)
		{
			if (s->enters[p + n] != s->enters[p])
				break;
		}
		run_global(s, op, s->players + p, amounts + p, n, !s->enters[p]);
	}
}

/*
 * Write to "global".  Where windows get the change that it gets, and that is
 * not known beforehand, the rows are locked, or inserted, in a first pass.
 */
static void
write_global(LbSubmit *s)
{
	int64	   *amounts = coalesce(s, s->op, s->global->columns[0].descending);
	bool		descending = s->global->columns[0].descending;
	bool		change = false;
	int64	   *players;
	int64	   *targets;
	bool	   *inserted;
	int			n = 0;

	for (int b = 1; b < s->nboards; b++)
		change |= !s->boards[b].closed && s->boards[b].op == LB_OP_CHANGE;
	if (s->op == LB_OP_INCR || !change)
	{
		run_enter(s, s->op, amounts);
		s->change = amounts;
		if (s->need_scores)
			read_missing(s, 0, 1);
		return;
	}

	run_enter(s, LB_OP_CHANGE, amounts);
	inserted = palloc(s->nplayers * sizeof(bool));
	memcpy(inserted, s->boards[0].known, s->nplayers * sizeof(bool));
	read_missing(s, 0, 1);
	s->change = palloc(s->nplayers * sizeof(int64));
	players = palloc(s->nplayers * sizeof(int64));
	targets = palloc(s->nplayers * sizeof(int64));
	for (int p = 0; p < s->nplayers; p++)
	{
		int64		old = s->boards[0].scores[p];
		int64		new = amounts[p];

		if (inserted[p])
		{
			s->change[p] = new;
			continue;
		}
		if (s->op != LB_OP_SET && s->boards[0].has_score[p])
			new = (s->op == LB_OP_BEST) == descending ? Max(old, new) :
				Min(old, new);
		if (pg_sub_s64_overflow(new, old, &s->change[p]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("bigint out of range")));
		if (new == old && s->boards[0].has_score[p])
			continue;
		players[n] = s->players[p];
		targets[n++] = new;
	}
	if (n > 0)
		run_global(s, LB_OP_SET, players, targets, n, false);
}

/* Note which of some players are hidden by rows of "global", or of windows. */
static void
run_hidden(LbSubmit *s, LbPlan *plan, const LbDefinition *defn,
		   const int64 *players, int n, bool *ranked)
{
	static const Oid types[] = {INT8ARRAYOID};
	SPITupleTable *table;
	TextArg		arg;
	Datum		values[1];

	values[0] = int8_array(players, n);
	arg.defn = defn;
	arg.op = LB_OP_CHANGE;
	run_on_source(plan, defn, hidden_text, &arg, false, 1, types, values);
	table = SPI_tuptable;
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		int			p = player_number(s, DatumGetInt64(SPI_getbinval(table->vals[i],
																	 table->tupdesc, 1, &isnull)));
		Datum		value = SPI_getbinval(table->vals[i], table->tupdesc, 2,
										  &isnull);

		if (p >= 0 && (isnull || !DatumGetBool(value)))
			ranked[p] = false;
	}
	SPI_freetuptable(table);
}

/*
 * The same for who need not be allowed to read the table: its owner does.
 */
static void
run_hidden_as_owner(LbSubmit *s, LbPlan *plan, const LbDefinition *defn,
					const int64 *players, int n, bool *ranked)
{
	LbUser		saved;

	lb_switch_to_owner(&saved, defn->owner, false);
	run_hidden(s, plan, defn, players, n, ranked);
	lb_restore_user(&saved);
}

/*
 * Who has been hidden when he had no row of "global" is not ranked there when he
 * gets one: his windows tell.  Who is known to be on the board has a row.
 */
static void
find_entering(LbSubmit *s)
{
	static LbPlan plan;
	LbSubmitBoard *global = &s->boards[0];
	LbDefinition *windows = s->windows;
	int64	   *players;
	int			n = 0;

	if (!s->write_global || global->has_previous ||
		s->global->ranked_if[0] == '\0')
		return;
	if (windows == NULL)
		windows = find_recorded("*");
	if (windows == NULL || !windows->family || windows->misfit ||
		windows->ranked_if[0] == '\0')
		return;

	read_missing(s, 0, 1);
	players = palloc(s->nplayers * sizeof(int64));
	for (int p = 0; p < s->nplayers; p++)
	{
		if (!global->known[p])
			players[n++] = s->players[p];

		/* Nothing has been written yet. */
		global	  ->known[p] = false;
		global	  ->has_score[p] = false;
		global	  ->scores[p] = 0;

		s->ranked[p] = true;
	}
	if (n > 0)
		run_hidden_as_owner(s, &plan, windows, players, n, s->enters);
}

/*
 * New rows of a player who has been hidden are not ranked either.  What the
 * row of "global" says is known, and locked; else the other windows tell, and
 * the row of "global" all the same.  That is locked too: who is being hidden
 * is hidden here as well, or the new row is there when his others are hidden.
 */
static void
find_hidden(LbSubmit *s)
{
	static LbPlan plans[2];

	if (s->windows->ranked_if[0] == '\0')
		return;
	if (s->write_global && s->global->ranked_if[0] != '\0')
	{
		read_missing(s, 0, 1);
		return;
	}
	if (s->hides != NULL)
		run_hidden_as_owner(s, &plans[0], s->hides, s->players, s->nplayers,
							s->ranked);
	run_hidden(s, &plans[1], s->windows, s->players, s->nplayers, s->ranked);
}

static LbOp
effective_op(const LbSubmit *s, const LbSubmitBoard *board)
{
	if (board->op != LB_OP_CHANGE)
		return board->op;
	return s->write_global ? LB_OP_INCR : s->op;
}

/*
 * Write to n windows, beginning with one, that have the same operation.  What
 * their scores are then is asked for only where somebody wants to know.
 */
static void
run_windows(LbSubmit *s, int first, int n)
{
	static LbPlan plans[2][LB_NOPS];
	static const Oid types[] = {INT8ARRAYOID, INT8ARRAYOID, TIMESTAMPTZOID,
	TEXTARRAYOID, BOOLARRAYOID};
	LbOp		op = effective_op(s, &s->boards[first]);
	bool		descending = s->windows->columns[0].descending;
	int			total = n * s->nplayers;
	Datum	   *players = palloc(total * sizeof(Datum));
	Datum	   *amounts = palloc(total * sizeof(Datum));
	Datum	   *keys = palloc(total * sizeof(Datum));
	Datum	   *ranked = palloc(total * sizeof(Datum));
	int64	   *coalesced = NULL;
	TextArg		arg;
	Datum		values[5];
	int			k = 0;

	for (int b = first; b < first + n; b++)
	{
		Datum		key = CStringGetTextDatum(s->boards[b].name);
		const int64 *from = s->change;

		if (s->boards[b].op != LB_OP_CHANGE || !s->write_global)
		{
			if (coalesced == NULL)
				coalesced = coalesce(s, op, descending);
			from = coalesced;
		}
		for (int p = 0; p < s->nplayers; p++, k++)
		{
			players[k] = Int64GetDatum(s->players[p]);
			amounts[k] = Int64GetDatum(from[p]);
			keys[k] = key;
			ranked[k] = BoolGetDatum(s->ranked[p]);
		}
	}
	values[0] = lb_make_array(INT8OID, players, NULL, total);
	values[1] = lb_make_array(INT8OID, amounts, NULL, total);
	values[2] = TimestampTzGetDatum(s->at);
	values[3] = lb_make_array(TEXTOID, keys, NULL, total);
	values[4] = lb_make_array(BOOLOID, ranked, NULL, total);
	arg.defn = s->windows;
	arg.op = op;
	arg.returning = s->need_scores;
	arg.hidden = false;
	run_on_source(&plans[s->need_scores][op], s->windows, write_text, &arg,
				  true, 5, types, values);
	if (!s->need_scores)
		return;
	take_scores(s, true);
	read_missing(s, first, n);
}

/* Write to all windows that are open, in the order of their keys. */
static void
write_windows(LbSubmit *s)
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
			   effective_op(s, &s->boards[b + n]) ==
			   effective_op(s, &s->boards[b]))
			n++;
		run_windows(s, b, n);
		b += n;
	}
}

/*
 * The usual submit is one statement: an increment that all boards get.
 * Returns false if it is not that.  A trigger that keeps the row of "global"
 * from being written would keep the windows' rows as well, which come from it.
 */
static bool
write_single(LbSubmit *s)
{
	static LbPlan plans[MAX_SINGLE + 1];
	static const Oid types[] = {INT8OID, INT8OID, TIMESTAMPTZOID, TEXTOID,
	TEXTOID, TEXTOID, TEXTOID, TEXTOID};
	Datum		values[3 + MAX_SINGLE];
	int			n = 3;

	StaticAssertStmt(lengthof(types) == lengthof(values), "a type for each");
	if (s->nitems != 1 || !s->write_global || s->op != LB_OP_INCR ||
		s->items[0].amount == 0 || s->nopen - 1 > MAX_SINGLE ||
		!s->enters[0] ||
		s->global->keeps_rows || lb_lends_no_rights(s->global) ||
		(s->windows != NULL &&
		 (s->windows->keeps_rows || lb_lends_no_rights(s->windows))) ||
		(s->windows != NULL && s->windows->ranked_if[0] != '\0' &&
		 s->global->ranked_if[0] == '\0'))
		return false;
	values[0] = Int64GetDatum(s->items[0].player);
	values[1] = Int64GetDatum(s->items[0].amount);
	values[2] = TimestampTzGetDatum(s->at);
	for (int b = 1; b < s->nboards; b++)
	{
		if (s->boards[b].closed)
			continue;
		if (effective_op(s, &s->boards[b]) != LB_OP_INCR)
			return false;
		values[n++] = CStringGetTextDatum(s->boards[b].name);
	}
	(void) lb_plan_run(&plans[n - 3], s->global->id, single_text, s,
					   s->global->source,
					   n > 3 ? s->windows->source : InvalidOid, n, types, values,
					   NULL);
	return true;
}


/* ----------------------------------------------------------------
 *		What has been applied already, and the log
 * ----------------------------------------------------------------
 */

static int
match_cmp(const void *a, const void *b, void *arg)
{
	const LbSubmitItem *items = (const LbSubmitItem *) arg;
	const LbSubmitItem *ia = &items[*(const int *) a];
	const LbSubmitItem *ib = &items[*(const int *) b];
	int			c;

	if (ia->player != ib->player)
		return ia->player < ib->player ? -1 : 1;
	c = strcmp(ia->match_id, ib->match_id);
	return c != 0 ? c : *(const int *) a - *(const int *) b;
}

/* Note the matches of all items, and drop the items whose match is known. */
static void
claim_matches(LbSubmit *s)
{
	static LbPlan plan;
	static const Oid types[] = {INT8ARRAYOID, TEXTARRAYOID};
	int		   *order = palloc(s->nitems * sizeof(int));
	Datum	   *players = palloc(s->nitems * sizeof(Datum));
	Datum	   *matches = palloc(s->nitems * sizeof(Datum));
	bool	   *repeated = palloc0(s->nitems * sizeof(bool));
	Datum		values[2];
	int			n = 0;
	int			kept = 0;
	uint64		row = 0;

	for (int i = 0; i < s->nitems; i++)
	{
		if (s->items[i].match_id != NULL)
			order[n++] = i;
	}
	if (n == 0)
		return;
	qsort_interruptible(order, n, sizeof(int), match_cmp, s->items);
	for (int i = 0; i < n; i++)
	{
		players[i] = Int64GetDatum(s->items[order[i]].player);
		matches[i] = CStringGetTextDatum(s->items[order[i]].match_id);
	}
	values[0] = lb_make_array(INT8OID, players, NULL, n);
	values[1] = lb_make_array(TEXTOID, matches, NULL, n);
	(void) lb_own_run(&plan,
					  "INSERT INTO @.lb_applied (player_id, match_id) "
					  "SELECT u.player, u.match FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (player, match) "
					  "ON CONFLICT (player_id, match_id) DO NOTHING "
					  "RETURNING player_id, match_id",
					  2, types, values, NULL);

	/* They come in our order, without those that were there. */
	for (int i = 0; i < n; i++)
	{
		const LbSubmitItem *item = &s->items[order[i]];
		bool		isnull;

		repeated[order[i]] = true;
		if (row < SPI_processed &&
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[row],
										SPI_tuptable->tupdesc, 1, &isnull)) == item->player &&
			strcmp(TextDatumGetCString(SPI_getbinval(SPI_tuptable->vals[row],
													 SPI_tuptable->tupdesc, 2, &isnull)),
				   item->match_id) == 0)
		{
			repeated[order[i]] = false;
			row++;
		}
	}
	Assert(row == SPI_processed);
	SPI_freetuptable(SPI_tuptable);
	for (int i = 0; i < s->nitems; i++)
	{
		if (!repeated[i])
			s->items[kept++] = s->items[i];
	}
	s->nitems = kept;
}

/* The boards that were written to, as an array of text. */
static Datum
open_boards(const LbSubmit *s)
{
	Datum	   *names = palloc(Max(1, s->nboards) * sizeof(Datum));
	int			n = 0;

	for (int b = 0; b < s->nboards; b++)
	{
		if (!s->boards[b].closed)
			names[n++] = CStringGetTextDatum(s->boards[b].name);
	}
	return lb_make_array(TEXTOID, names, NULL, n);
}

/* Whether a row of lb_event can be formed, and inserted, as it stands. */
static bool
event_table_is_ours(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relispartition || rel->rd_rel->relrowsecurity ||
		rel->rd_rel->relhasrules || rel->trigdesc != NULL ||
		RelationGetNumberOfAttributes(rel) != Natts_lb_event ||
		rel->rd_att->constr == NULL || rel->rd_att->constr->num_check > 0)
		return false;
	for (int i = 0; i < Natts_lb_event; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(rel->rd_att, i);

		if (attr->attisdropped || attr->attgenerated != '\0' ||
			attr->atttypid != event_columns[i].type ||
			(attr->attnotnull && event_columns[i].nullable) ||
			strcmp(NameStr(attr->attname), event_columns[i].name) != 0)
			return false;
	}
	return true;
}

/*
 * Append to lb_event without a statement, which would cost more than all else
 * that a submit does beside its writes.  Returns false where somebody has made
 * something else of the table than the script did.
 */
static bool
append_event(const Datum *values, const char *nulls)
{
	Relation	rel = table_open(lb_own_table("lb_event"), RowExclusiveLock);
	ResultRelInfo *info;
	TupleTableSlot *slot;
	EState	   *estate;

	if (!event_table_is_ours(rel))
	{
		table_close(rel, NoLock);
		return false;
	}
	estate = CreateExecutorState();
	info = makeNode(ResultRelInfo);
	InitResultRelInfo(info, rel, 1, NULL, 0);
	ExecOpenIndices(info, false);
	slot = table_slot_create(rel, NULL);
	ExecClearTuple(slot);
	for (int i = 0; i < Natts_lb_event - 1; i++)
	{
		slot->tts_values[i] = values[i];
		slot->tts_isnull[i] = nulls[i] == 'n';
	}
	slot->tts_values[Natts_lb_event - 1] =
		TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	slot->tts_isnull[Natts_lb_event - 1] = false;
	ExecStoreVirtualTuple(slot);
	simple_table_tuple_insert(rel, slot);
	if (info->ri_NumIndices > 0)
		(void) LB_INSERT_INDEX_TUPLES(info, slot, estate);
	ExecCloseIndices(info);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	table_close(rel, NoLock);
	CommandCounterIncrement();
	return true;
}

/* The event of one change, without the arrays of arrays. */
static void
log_event(LbSubmit *s, text *op)
{
	static LbPlan plan;
	static const Oid types[] = {INT8OID, TEXTOID, INT8OID, TEXTOID,
	TIMESTAMPTZOID, TEXTARRAYOID, INT8ARRAYOID};
	const LbSubmitItem *item = &s->items[0];
	Datum	   *scores = palloc(s->nopen * sizeof(Datum));
	bool	   *unknown = palloc(s->nopen * sizeof(bool));
	Datum		values[7];
	char		nulls[] = "       ";
	int			k = 0;

	for (int b = 0; b < s->nboards; b++)
	{
		if (s->boards[b].closed)
			continue;
		unknown[k] = !s->boards[b].has_score[0];
		scores[k++] = Int64GetDatum(s->boards[b].scores[0]);
	}
	values[0] = Int64GetDatum(item->player);
	values[1] = PointerGetDatum(op);
	values[2] = Int64GetDatum(item->amount);
	values[3] = item->match_id == NULL ? (Datum) 0 :
		CStringGetTextDatum(item->match_id);
	nulls[3] = item->match_id == NULL ? 'n' : ' ';
	values[4] = TimestampTzGetDatum(s->at);
	values[5] = open_boards(s);
	values[6] = lb_make_array(INT8OID, scores, unknown, k);
	if (!append_event(values, nulls))
		(void) lb_own_run(&plan,
						  "INSERT INTO @.lb_event (player_id, op, amount, match_id, at, boards, scores) "
						  "VALUES ($1, $2, $3, $4, $5, $6, $7)",
						  7, types, values, nulls);
}

static void
log_events(LbSubmit *s, text *op)
{
	static LbPlan plan;
	static const Oid types[] = {INT8ARRAYOID, INT8ARRAYOID, TEXTARRAYOID,
		TEXTOID, TIMESTAMPTZOID, TEXTARRAYOID, INT8ARRAYOID, INT4OID,
	INT4ARRAYOID};
	Datum	   *players = palloc(s->nitems * sizeof(Datum));
	Datum	   *amounts = palloc(s->nitems * sizeof(Datum));
	Datum	   *matches = palloc(s->nitems * sizeof(Datum));
	Datum	   *numbers = palloc(s->nitems * sizeof(Datum));
	bool	   *nulls = palloc(s->nitems * sizeof(bool));
	Datum	   *scores = palloc(s->nopen * s->nplayers * sizeof(Datum));
	bool	   *unknown = palloc(s->nopen * s->nplayers * sizeof(bool));
	Datum		values[9];
	int			k = 0;

	for (int p = 0; p < s->nplayers; p++)
	{
		int			end = p + 1 < s->nplayers ? s->first[p + 1] : s->nitems;

		for (int i = s->first[p]; i < end; i++)
		{
			players[i] = Int64GetDatum(s->items[i].player);
			amounts[i] = Int64GetDatum(s->items[i].amount);
			nulls[i] = s->items[i].match_id == NULL;
			matches[i] = nulls[i] ? (Datum) 0 :
				CStringGetTextDatum(s->items[i].match_id);
			numbers[i] = Int32GetDatum(p);
		}
		for (int b = 0; b < s->nboards; b++)
		{
			if (s->boards[b].closed)
				continue;
			unknown[k] = !s->boards[b].has_score[p];
			scores[k++] = Int64GetDatum(s->boards[b].scores[p]);
		}
	}
	values[0] = lb_make_array(INT8OID, players, NULL, s->nitems);
	values[1] = lb_make_array(INT8OID, amounts, NULL, s->nitems);
	values[2] = lb_make_array(TEXTOID, matches, nulls, s->nitems);
	values[3] = PointerGetDatum(op);
	values[4] = TimestampTzGetDatum(s->at);
	values[5] = open_boards(s);
	values[6] = lb_make_array(INT8OID, scores, unknown, k);
	values[7] = Int32GetDatum(s->nopen);
	values[8] = lb_make_array(INT4OID, numbers, NULL, s->nitems);

	/* Each player's scores are a slice of all. */
	(void) lb_own_run(&plan,
					  "INSERT INTO @.lb_event (player_id, op, amount, match_id, at, boards, scores) "
					  "SELECT u.player, $4, u.amount, u.match, $5, $6, "
					  "$7[u.number OPERATOR(pg_catalog.*) $8 OPERATOR(pg_catalog.+) 1:"
					  "(u.number OPERATOR(pg_catalog.+) 1) OPERATOR(pg_catalog.*) $8] "
					  "FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($9)) AS u (player, amount, match, number)",
					  9, types, values, NULL);
}


/* ----------------------------------------------------------------
 *		The core
 * ----------------------------------------------------------------
 */

static int
item_cmp(const void *a, const void *b, void *unused)
{
	const LbSubmitItem *ia = (const LbSubmitItem *) a;
	const LbSubmitItem *ib = (const LbSubmitItem *) b;

	if (ia->player != ib->player)
		return ia->player < ib->player ? -1 : 1;
	return ia->number - ib->number;
}

/* Gather the items by player, and make room for their scores. */
static void
prepare_players(LbSubmit *s)
{
	qsort_interruptible(s->items, s->nitems, sizeof(LbSubmitItem), item_cmp,
						NULL);
	s->players = palloc(s->nitems * sizeof(int64));
	s->first = palloc(s->nitems * sizeof(int));
	for (int i = 0; i < s->nitems; i++)
	{
		if (i > 0 && s->items[i].player == s->items[i - 1].player)
			continue;
		s->players[s->nplayers] = s->items[i].player;
		s->first[s->nplayers++] = i;
	}
	s->ranked = palloc(s->nplayers * sizeof(bool));
	memset(s->ranked, true, s->nplayers * sizeof(bool));
	s->enters = palloc(s->nplayers * sizeof(bool));
	memset(s->enters, true, s->nplayers * sizeof(bool));
	for (int b = 0; b < s->nboards; b++)
	{
		s->boards[b].scores = palloc0(s->nplayers * sizeof(int64));
		s->boards[b].has_score = palloc0(s->nplayers * sizeof(bool));
		s->boards[b].known = palloc0(s->nplayers * sizeof(bool));
	}
}

/* The player's ranks, in a snapshot of their own. */
static void
read_ranks(LbSubmit *s, bool previous)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	for (int b = 0; b < s->nboards; b++)
	{
		LbSubmitBoard *board = &s->boards[b];
		int64		rank = 0;
		int64		score = 0;
		bool		isnull = false;
		bool		has_score;
		bool		known;

		known = lb_rank_now(board->read_as, strlen(board->read_as),
							s->players[0], &rank, &isnull, &score,
							&has_score) && !isnull;
		if (previous)
		{
			board->has_previous = known;
			board->previous = rank;
			continue;
		}
		board->has_rank = known;
		board->rank = rank;
		if (has_score && !board->known[0])
		{
			board->known[0] = true;
			board->has_score[0] = true;
			board->scores[0] = score;
		}
	}
	PopActiveSnapshot();
}

/* lb_submit()'s answer: ranks and scores as they are now. */
static void
read_answer(LbSubmit *s)
{
	read_ranks(s, false);

	/* Who is hidden is in the table alone. */
	for (int b = 0; b < s->nboards; b++)
	{
		if (!s->boards[b].known[0])
			read_missing(s, b, 1);
	}
}

/*
 * Write, and log it; with answer, as lb_submit() does.  Between SPI_connect and
 * SPI_finish.
 */
static void
apply(LbSubmit *s, text *op, bool answer)
{
	if (s->nopen == 0)
	{
		if (answer)
			read_answer(s);
		return;
	}
	s->need_scores = answer || lb_events || lb_limits_need_scores(s);
	lb_limits_before(s);
	find_entering(s);
	if (!write_single(s))
	{
		if (s->write_global)
			write_global(s);
		write_windows(s);
	}
	else if (!answer && s->need_scores)
	{
		for (int b = 0; b < s->nboards; b++)
			read_missing(s, b, 1);
	}
	if (answer)
		read_answer(s);
	lb_limits_after(s);
	if (lb_events && s->nitems == 1)
		log_event(s, op);
	else if (lb_events)
		log_events(s, op);
}

static void
check_match_id(const char *match_id)
{
	if (strlen(match_id) > MAX_MATCH_ID)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("match_id is too long"),
				 errdetail("It has %d bytes, the most is %d.",
						   (int) strlen(match_id), MAX_MATCH_ID)));
}

static void
begin_submit(FunctionCallInfo fcinfo, LbSubmit *s, const char *function,
			 const char *const *names)
{
	memset(s, 0, sizeof(LbSubmit));
	(void) lb_require_catalog();
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
	for (int i = 0; i < 5; i++)
	{
		if (names[i] != NULL && PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	s->op = lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	s->at = PG_GETARG_TIMESTAMPTZ(4);
	if (TIMESTAMP_NOT_FINITE(s->at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" must be finite", "at")));
	if (lb_max_clock_skew >= 0 &&
		s->at - lb_max_clock_skew * USECS_PER_SEC > GetCurrentTimestamp())
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" is in the future: \"%s\"", "at",
						timestamptz_to_str(s->at)),
				 errdetail("It is more than %d seconds ahead of the server's clock.",
						   lb_max_clock_skew),
				 errhint("Submit scores when they have been made; \"leaderboard.max_clock_skew\" sets how far ahead another clock may be.")));
}


/* ----------------------------------------------------------------
 *		lb_submit
 * ----------------------------------------------------------------
 */

static void
return_row(FunctionCallInfo fcinfo, const char *board, bool has_score,
		   int64 score, bool has_rank, int64 rank, bool has_previous,
		   int64 previous, bool applied)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[5];
	bool		nulls[5];

	memset(nulls, false, sizeof(nulls));
	values[0] = CStringGetTextDatum(board);
	values[1] = Int64GetDatum(score);
	nulls[1] = !has_score;
	values[2] = Int64GetDatum(rank);
	nulls[2] = !has_rank;
	values[3] = Int64GetDatum(previous);
	nulls[3] = !has_previous;
	values[4] = BoolGetDatum(applied);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Keep what is returned, for the same match_id again. */
static void
keep_result(const LbSubmit *s, Datum player, Datum match_id)
{
	static LbPlan plan;
	static const Oid types[] = {INT8OID, TEXTOID, TEXTARRAYOID, INT8ARRAYOID,
	INT8ARRAYOID, INT8ARRAYOID};
	Datum	   *columns[3];
	bool	   *nulls[3];
	Datum	   *names = palloc(Max(1, s->nboards) * sizeof(Datum));
	Datum		values[6];

	for (int i = 0; i < 3; i++)
	{
		columns[i] = palloc(Max(1, s->nboards) * sizeof(Datum));
		nulls[i] = palloc(Max(1, s->nboards) * sizeof(bool));
	}
	for (int b = 0; b < s->nboards; b++)
	{
		const LbSubmitBoard *board = &s->boards[b];

		names[b] = CStringGetTextDatum(board->name);
		columns[0][b] = Int64GetDatum(board->scores[0]);
		nulls[0][b] = !board->has_score[0];
		columns[1][b] = Int64GetDatum(board->rank);
		nulls[1][b] = !board->has_rank;
		columns[2][b] = Int64GetDatum(board->previous);
		nulls[2][b] = !board->has_previous;
	}
	values[0] = player;
	values[1] = match_id;
	values[2] = lb_make_array(TEXTOID, names, NULL, s->nboards);
	for (int i = 0; i < 3; i++)
		values[3 + i] = lb_make_array(INT8OID, columns[i], nulls[i],
									  s->nboards);
	(void) lb_own_run(&plan,
					  "UPDATE @.lb_applied SET boards = $3, scores = $4, ranks = $5, previous_ranks = $6 "
					  "WHERE player_id OPERATOR(pg_catalog.=) $1 AND match_id OPERATOR(pg_catalog.=) $2",
					  6, types, values, NULL);
}

/* Whether the caller may be told what a board's scores and ranks were. */
static bool
may_be_told(LbDefinition *defn)
{
	return defn != NULL && lb_may_read(defn) &&
		check_enable_rls(defn->source, InvalidOid, true) != RLS_ENABLED;
}

/*
 * The match has been submitted before: the rows of that time.  False if they
 * have not been kept, or are not for the caller: they can be of boards that he
 * has not named now.
 */
static bool
return_kept(FunctionCallInfo fcinfo, const LbSubmit *s, Datum player,
			Datum match_id)
{
	static LbPlan plan;
	static const Oid types[] = {INT8OID, TEXTOID};
	Datum		values[2];
	SPITupleTable *table;
	uint64		n;
	bool global = false;
	bool		windows = false;

	values[0] = player;
	values[1] = match_id;
	n = lb_own_run(&plan,
				   "SELECT u.board, u.score, u.rank, u.previous FROM @.lb_applied a, "
				   "ROWS FROM (pg_catalog.unnest(a.boards), pg_catalog.unnest(a.scores), "
				   "pg_catalog.unnest(a.ranks), pg_catalog.unnest(a.previous_ranks)) AS u (board, score, rank, previous) "
				   "WHERE a.player_id OPERATOR(pg_catalog.=) $1 AND a.match_id OPERATOR(pg_catalog.=) $2",
				   2, types, values, NULL);
	table = SPI_tuptable;
	for (uint64 i = 0; i < n; i++)
	{
		char	   *board = SPI_getvalue(table->vals[i], table->tupdesc, 1);

		if (strcmp(board, "global") == 0)
			global = true;

		else
			windows = true;
	}
	if ((global &&!may_be_told(s->global !=NULL ? s->global :
							   find_recorded("global"))) ||
		(windows && !may_be_told(s->windows != NULL ? s->windows :
								 find_recorded("*"))))
		n = 0;
	for (uint64 i = 0; i < n; i++)
	{
		Datum		columns[4];
		bool		nulls[4];

		for (int c = 0; c < 4; c++)
			columns[c] = SPI_getbinval(table->vals[i], table->tupdesc, c + 1,
									   &nulls[c]);
		return_row(fcinfo, TextDatumGetCString(columns[0]),
				   !nulls[1], nulls[1] ? 0 : DatumGetInt64(columns[1]),
				   !nulls[2], nulls[2] ? 0 : DatumGetInt64(columns[2]),
				   !nulls[3], nulls[3] ? 0 : DatumGetInt64(columns[3]),
				   false);
	}
	SPI_freetuptable(table);
	return n > 0;
}

/*
 * Whether a trigger of the user's has kept lb_submit()'s change from being
 * written: no row was, and the score is not what the change would leave as it
 * is.
 */
static bool
kept_out(const LbSubmit *s, const LbSubmitBoard *board)
{
	const LbDefinition *defn = board->window ? s->windows : s->global;
	bool		change = board->window && board->op == LB_OP_CHANGE &&
		s->write_global;
	int64		amount;
	int64		score = board->scores[0];

	if (!defn->keeps_rows || board->written)
		return false;
	if (!board->has_score[0])
		return true;
	amount = change ? s->change[0] : s->items[0].amount;
	switch (board->window ? effective_op(s, board) : s->op)
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

Datum
lb_submit(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"player_id", "amount", "op", NULL, "at"};
	LbSubmit	s;
	LbSubmitItem item;
	text	   *op;
	bool		applied = true;

	begin_submit(fcinfo, &s, "lb_submit()", names);
	op = PG_GETARG_TEXT_PP(2);
	memset(&item, 0, sizeof(item));
	item.player = PG_GETARG_INT64(0);
	item.amount = PG_GETARG_INT64(1);
	if (!PG_ARGISNULL(3))
	{
		item.match_id = text_to_cstring(PG_GETARG_TEXT_PP(3));
		check_match_id(item.match_id);
	}
	/* Columns as the caller has found them, not looked up once more. */
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	find_boards(&s, PG_ARGISNULL(5) ? NULL : PG_GETARG_ARRAYTYPE_P(5));

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	s.items = &item;
	s.nitems = 1;
	prepare_players(&s);
	/* What writes nothing uses no match up. */
	if (item.match_id != NULL && s.nopen > 0)
	{
		claim_matches(&s);
		applied = s.nitems == 1;
		if (!applied &&
			return_kept(fcinfo, &s, PG_GETARG_DATUM(0), PG_GETARG_DATUM(3)))
		{
			SPI_finish();
			return (Datum) 0;
		}
	}
	read_ranks(&s, true);
	if (applied)
		apply(&s, op, true);
	else
		read_answer(&s);
	for (int b = 0; b < s.nboards; b++)
	{
		const LbSubmitBoard *board = &s.boards[b];

		return_row(fcinfo, board->name, board->has_score[0], board->scores[0],
				   board->has_rank, board->rank, board->has_previous,
				   board->previous,
				   applied && !board->closed && !kept_out(&s, board));
	}
	if (applied && item.match_id != NULL && s.nopen > 0)
		keep_result(&s, PG_GETARG_DATUM(0), PG_GETARG_DATUM(3));
	SPI_finish();
	return (Datum) 0;
}


/*
 * The statement of lb_submit_json(): $1 is what it has got.  The score is that of
 * "global", which comes first, or else of the first window.  Triggers of the
 * user's run in it, so it is qualified instead of having a search_path.
 */
static const char json_text[] =
"SELECT pg_catalog.json_build_object("
"'player_id', CAST($1 OPERATOR(pg_catalog.->>) 'player_id' AS pg_catalog.int8), "
"'new_score', (pg_catalog.array_agg(s.score ORDER BY s.o))[1], "
"'rank', (pg_catalog.array_agg(s.rank ORDER BY s.o))[1], "
"'previous_rank', (pg_catalog.array_agg(s.previous_rank ORDER BY s.o))[1], "
"'applied', COALESCE(pg_catalog.bool_or(s.applied), false), "
"'boards', COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object("
"'board', s.board, 'score', s.score, 'rank', s.rank, "
"'previous_rank', s.previous_rank, 'applied', s.applied) ORDER BY s.o), '[]')) "
"FROM ROWS FROM (@.lb_submit("
"CAST($1 OPERATOR(pg_catalog.->>) 'player_id' AS pg_catalog.int8), "
"CAST($1 OPERATOR(pg_catalog.->>) 'amount' AS pg_catalog.int8), "
"COALESCE($1 OPERATOR(pg_catalog.->>) 'op', 'incr'), "
"$1 OPERATOR(pg_catalog.->>) 'match_id', "
"COALESCE(CAST($1 OPERATOR(pg_catalog.->>) 'at' AS pg_catalog.timestamptz), pg_catalog.now()), "
"CASE WHEN pg_catalog.jsonb_typeof($1 OPERATOR(pg_catalog.->) 'boards') OPERATOR(pg_catalog.=) 'array' "
"THEN ARRAY(SELECT e FROM pg_catalog.jsonb_array_elements_text($1 OPERATOR(pg_catalog.->) 'boards') AS e) END"
")) WITH ORDINALITY AS s (board, score, rank, previous_rank, applied, o)";

/* Raise 22023 unless it is an object with no fields but those that we know. */
static void
check_fields(Jsonb *submit)
{
	static const char *const names[] = {"player_id", "amount", "op", "match_id",
	"at", "boards"};
	JsonbIterator *it = JsonbIteratorInit(&submit->root);
	JsonbIteratorToken token;
	JsonbValue	v;
	bool		is_boards = false;
	bool		no_array = false;

	if (!JB_ROOT_IS_OBJECT(submit))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a submit must be a json object")));
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		size_t		n = 0;

		if (token == WJB_VALUE && is_boards)
			no_array = v.type != jbvNull &&
				!(v.type == jbvBinary && JsonContainerIsArray(v.val.binary.data));
		if (token != WJB_KEY)
			continue;
		while (n < lengthof(names) &&
			   (strlen(names[n]) != (size_t) v.val.string.len ||
				memcmp(names[n], v.val.string.val, v.val.string.len) != 0))
			n++;
		if (n == lengthof(names))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a submit has no field \"%s\"",
							pnstrdup(v.val.string.val, v.val.string.len)),
					 errhint("Its fields are \"player_id\", \"amount\", \"op\", \"match_id\", \"at\" and \"boards\".")));
		is_boards = strcmp(names[n], "boards") == 0;
	}
	if (no_array)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("field \"boards\" of a submit must be an array")));
}

Datum
lb_submit_json(PG_FUNCTION_ARGS)
{
	static LbPlan plan;
	static const Oid types[] = {JSONBOID};
	Datum		values[] = {PG_GETARG_DATUM(0)};
	bool		isnull = PG_ARGISNULL(0);
	Datum		answer;

	/* With nothing it is lb_submit() that says so. */
	(void) lb_require_catalog();
	if (!isnull)
		check_fields(PG_GETARG_JSONB_P(0));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) lb_plan_run(&plan, 0, lb_own_text, json_text, InvalidOid, InvalidOid,
					   lengthof(types), types, values, isnull ? "n" : NULL);
	answer = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						   &isnull);
	answer = SPI_datumTransfer(answer, false, -1);
	SPI_finish();
	return answer;
}


/* ----------------------------------------------------------------
 *		lb_submit_many
 * ----------------------------------------------------------------
 */

/* What is to be written must fit into arrays. */
static void
check_size(int nchanges, int nboards)
{
	if (nchanges > (int) (MaxAllocSize / sizeof(LbSubmitItem)) ||
		(int64) nchanges * nboards > (int64) (MaxAllocSize / sizeof(Datum)))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many changes for one call"),
				 errdetail("There are %d changes on %d boards.", nchanges,
						   nboards),
				 errhint("Submit them in several calls.")));
}

Datum
lb_submit_many(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"player_ids", "amounts", "op", NULL, "at"};
	LbSubmit	s;
	text	   *op;
	Datum	   *players;
	Datum	   *amounts;
	Datum	   *matches = NULL;
	bool	   *player_nulls;
	bool	   *amount_nulls;
	bool	   *match_nulls = NULL;
	int			n;
	int			namounts;
	int			nmatches;

	begin_submit(fcinfo, &s, "lb_submit_many()", names);
	op = PG_GETARG_TEXT_PP(2);

	require_some_write();
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), INT8OID, sizeof(int64),
					  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &players,
					  &player_nulls, &n);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), INT8OID, sizeof(int64),
					  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &amounts,
					  &amount_nulls, &namounts);
	nmatches = n;
	if (!PG_ARGISNULL(3))
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(3), TEXTOID, -1, false,
						  TYPALIGN_INT, &matches, &match_nulls, &nmatches);
	if (n != namounts || n != nmatches)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must be of the same length"),
				 errdetail("\"%s\" has %d elements and \"%s\" has %d.",
						   "player_ids", n,
						   n != namounts ? "amounts" : "match_ids",
						   n != namounts ? namounts : nmatches)));
	if (n == 0)
		PG_RETURN_INT64(0);
	check_size(n, 1);
	s.items = palloc0(n * sizeof(LbSubmitItem));
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (player_nulls[i])
			null_element("player_ids");
		if (amount_nulls[i])
			null_element("amounts");
		s.items[i].player = DatumGetInt64(players[i]);
		s.items[i].amount = DatumGetInt64(amounts[i]);
		s.items[i].number = i;
		if (matches != NULL && !match_nulls[i])
		{
			s.items[i].match_id = TextDatumGetCString(matches[i]);
			check_match_id(s.items[i].match_id);
		}
	}
	s.nitems = n;
	find_boards(&s, NULL);
	check_size(n, s.nboards);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (s.nopen > 0)
		claim_matches(&s);
	if (s.nitems > 0)
	{
		prepare_players(&s);
		apply(&s, op, false);
	}
	SPI_finish();
	PG_RETURN_INT64(s.nopen > 0 ? s.nitems : 0);
}


/* ----------------------------------------------------------------
 *		lb_hide, lb_show
 * ----------------------------------------------------------------
 */

/* An index by which a member's rows are found, locked; or NULL. */
static Relation
open_member_index(Relation rel, AttrNumber member)
{
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisunique && index->rd_index->indisvalid &&
			index->rd_rel->relam == BTREE_AM_OID &&
			index->rd_index->indkey.values[0] == member &&
			RelationGetIndexPredicate(index) == NIL)
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

/* A value of a member's type; false if it cannot be one. */
static bool
member_datum(Oid type, int64 player, Datum *result)
{
	switch (type)
	{
		case INT2OID:
			*result = Int16GetDatum((int16) player);
			return player == (int16) player;
		case INT4OID:
			*result = Int32GetDatum((int32) player);
			return player == (int32) player;
		default:
			*result = Int64GetDatum(player);
			return type == INT8OID;
	}
}

/*
 * Wait for a transaction that has inserted a row of a player and has not ended.
 * Returns whether there was one.  Raises 40001 if there is a row that the
 * snapshot of the whole transaction does not see.
 */
static bool
wait_for_row(Oid relid, const char *member, int64 player)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	Relation	index;
	SnapshotData dirty;
	ScanKeyData key;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	Datum		value;
	TransactionId xid = InvalidTransactionId;
	uint32		token = 0;
	bool		unseen = false;

	if (rel == NULL)
		return false;
	index = rel->rd_rel->relkind != RELKIND_RELATION ? NULL :
		open_member_index(rel, get_attnum(relid, member));
	if (index == NULL ||
		!member_datum(index->rd_opcintype[0], player, &value))
	{
		if (index != NULL)
			index_close(index, AccessShareLock);
		relation_close(rel, NoLock);
		return false;
	}
	ScanKeyInit(&key, 1, BTEqualStrategyNumber,
				get_opcode(get_opfamily_member(index->rd_opfamily[0],
											   index->rd_opcintype[0],
											   index->rd_opcintype[0],
											   BTEqualStrategyNumber)),
				value);
	InitDirtySnapshot(dirty);
	slot = table_slot_create(rel, NULL);
	scan = LB_INDEX_BEGINSCAN(rel, index, &dirty, 1);
	index_rescan(scan, &key, 1, NULL, 0);
	while (!TransactionIdIsValid(xid) &&
		   index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		xid = dirty.xmin;
		token = dirty.speculativeToken;
		if (!TransactionIdIsValid(xid) && IsolationUsesXactSnapshot())
			unseen |= !table_tuple_satisfies_snapshot(rel, slot,
													  GetTransactionSnapshot());
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	if (TransactionIdIsValid(xid) && token != 0)
		SpeculativeInsertionWait(xid, token);
	else if (TransactionIdIsValid(xid))
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
	if (TransactionIdIsValid(xid) && IsolationUsesXactSnapshot())
		unseen = TransactionIdDidCommit(xid);
	relation_close(rel, NoLock);
	if (unseen)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
	return TransactionIdIsValid(xid);
}

/*
 * Wait for those who have inserted rows of a player in a board's table and have
 * not committed: an UPDATE does not see these rows.  Returns whether there was one.
 */
static bool
wait_for_rows(const LbDefinition *defn, int64 player)
{
	bool		waited = false;

	/* The UPDATE raises the error for a caller that may not hide the player. */
	if (pg_class_aclcheck(defn->source, GetUserId(), ACL_UPDATE) != ACLCHECK_OK &&
		pg_attribute_aclcheck(defn->source,
							  get_attnum(defn->source, defn->ranked_if),
							  GetUserId(), ACL_UPDATE) != ACLCHECK_OK)
		return false;
	if (defn->relkind != RELKIND_PARTITIONED_TABLE)
	{
		while (wait_for_row(defn->source, defn->member, player))
			waited = true;
		return waited;
	}
	for (int i = 0; i < defn->nparts; i++)
	{
		while (wait_for_row(defn->parts[i], defn->member, player))
			waited = true;
	}
	return waited;
}

/* Set ranked_if in a player's rows of a board, and count those that had not. */
static uint64
set_ranked(const char *board, Datum player, bool ranked)
{
	static const Oid types[] = {INT8OID, BOOLOID};
	LbDefinition *defn = find_recorded(board);
	Datum		values[2];
	Oid			source;
	const char *member;
	const char *column;
	char	   *lock = NULL;
	char	   *update;
	LbUser		saved;
	bool		switched;
	uint64		n;

	if (defn == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("board \"%s\" does not exist", board),
				 errhint("The table lb_board lists the boards; of a family, name the family itself.")));
	if (defn->ranked_if[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("board \"%s\" has been made without \"ranked_if\"",
						board),
				 errdetail("Players are hidden by a boolean column of the table, which the board is created with."),
				 errhint("Add a column to the table, drop the board, and create it again with \"ranked_if\".")));
	source = defn->source;
	member = quote_identifier(defn->member);
	column = quote_identifier(defn->ranked_if);

	/* In the order of submits, whatever the column's collation. */
	if (defn->family)
		lock = psprintf("SELECT FROM %s WHERE %s OPERATOR(pg_catalog.=) $1 "
						"ORDER BY CAST(%s AS pg_catalog.text) COLLATE pg_catalog.\"C\" FOR NO KEY UPDATE",
						defn->from_name, member,
						quote_identifier(defn->board_column));
	update = psprintf("UPDATE %s SET %s = $2 WHERE %s OPERATOR(pg_catalog.=) $1 "
					  "AND (%s IS NULL OR %s OPERATOR(pg_catalog.<>) $2)",
					  defn->from_name, column, member, column, column);
	values[0] = player;
	values[1] = BoolGetDatum(ranked);

	/* Before we have locks on the player's rows that a submit waits for. */
	(void) wait_for_rows(defn, DatumGetInt64(player));
	switched = lb_switch_from_superuser(&saved, defn, true);
	if (lock != NULL)
		(void) lb_run_once(lock, source, 1, types, values);
	n = lb_run_once(update, source, 2, types, values);

	/*
	 * While there is no row at all we have none, and a transaction may insert
	 * one.
	 */
	while (lock == NULL && n == 0 &&
		   wait_for_rows(defn, DatumGetInt64(player)))
		n = lb_run_once(update, source, 2, types, values);
	if (switched)
		lb_restore_user(&saved);
	return n;
}

/* "global" first, whose row tells a submit that waits for it who is hidden. */
static int
hide_cmp(const void *a, const void *b)
{
	const char *na = *(const char *const *) a;
	const char *nb = *(const char *const *) b;
	bool		ga = strcmp(na, "global") == 0;
	bool		gb = strcmp(nb, "global") == 0;

	return ga != gb ? (ga ? -1 : 1) : strcmp(na, nb);
}

/* With the caller's privileges, and triggers of the user's. */
static int64
set_all_ranked(FunctionCallInfo fcinfo, bool ranked)
{
	const char **names;
	int			n = 0;
	uint64		total = 0;

	if (PG_ARGISNULL(1))
	{
		static const char *const all[] = {"global", "*"};

		names = palloc(lengthof(all) * sizeof(char *));
		for (int i = 0; i < (int) lengthof(all); i++)
		{
			if (lb_find_defn(all[i]) != NULL)
				names[n++] = all[i];
		}
	}
	else
	{
		Datum	   *elements;
		int			nelements = named_boards(PG_GETARG_ARRAYTYPE_P(1),
											 &elements);

		names = palloc(Max(1, nelements) * sizeof(char *));
		for (int i = 0; i < nelements; i++)
			names[i] = TextDatumGetCString(elements[i]);
		qsort(names, nelements, sizeof(char *), hide_cmp);
		for (int i = 0; i < nelements; i++)
		{
			if (n == 0 || strcmp(names[i], names[n - 1]) != 0)
				names[n++] = names[i];
		}
	}

	/* Nobody's rows. */
	if (PG_ARGISNULL(0))
		return 0;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0; i < n; i++)
		total += set_ranked(names[i], PG_GETARG_DATUM(0), ranked);
	SPI_finish();
	return (int64) total;
}

Datum
lb_hide(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(set_all_ranked(fcinfo, false));
}

Datum
lb_show(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(set_all_ranked(fcinfo, true));
}
