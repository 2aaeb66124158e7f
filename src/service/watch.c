/*-------------------------------------------------------------------------
 *
 * watch.c
 *	  Notification of boards and members that somebody watches.
 *
 * NOTIFY takes a lock at commit that all who notify share, so it is not for
 * those who write scores.  A worker does it, for as long as a database has
 * something in lb_watched: at every leaderboard.notify_interval it does what
 * lb_notify() does, which compares what is watched with what it was at the last
 * time, sends what is different, and records it in the same transaction.  So
 * nothing is lost when a worker ends, and writers pay nothing at all.  What
 * cannot be compared, for whatever error, is recorded as well and told once.
 *
 * Every role that may connect can LISTEN.  So a watch says by whom and of which
 * board it was made: it is of the board's number in lb_board, which no other
 * board gets that has the same name later, and goes with it
 * (lb_watch_follow).  Each round looks again whether the role that watches
 * owns the board's table and may read it; what it may not is not notified.  A
 * board is read with the rights of its table's owner, since a defining query
 * can run functions that the owner has made.
 *
 * A round reads all watched members of a board at one go.  Boards are read in
 * one subtransaction as long as none fails.  When one fails, the boards are
 * split in two, each half in a subtransaction of its own, until the board that
 * fails is alone: a round where nothing fails costs one subtransaction.
 *
 * The launcher keeps a worker for each database that is listed in shared
 * memory.  A database is entered when a transaction commits or is prepared that
 * has written to lb_watched, and by the first worker that visits it after a
 * start.  The worker of a database where nobody watches any more leaves.  It
 * leaves as well when somebody wants the database to itself, and is started
 * again later.
 *
 * COMMIT PREPARED runs no callback of ours, so the worker stays while somebody
 * has a lock to write to lb_watched, prepared transactions included: what he
 * has written may become visible at any time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "boards/own.h"
#include "reads/reader.h"
#include "service/watch.h"
#include "service/window.h"
#include "workers/worker.h"

PG_FUNCTION_INFO_V1(lb_watch_changed);
PG_FUNCTION_INFO_V1(lb_watch_follow);
PG_FUNCTION_INFO_V1(lb_board_key);
PG_FUNCTION_INFO_V1(lb_watch);
PG_FUNCTION_INFO_V1(lb_unwatch);
PG_FUNCTION_INFO_V1(lb_watch_member);
PG_FUNCTION_INFO_V1(lb_unwatch_member);
PG_FUNCTION_INFO_V1(lb_notify);

/* The most places that are watched. */
#define MAX_TOP 1000

/*
 * The longest name in JSON, in bytes.  A payload has it twice, where its key is
 * not shorter, and must have room for a few places as well.
 */
#define MAX_JSON_NAME 3500

/* A column of lb_watched. */
#define Anum_lb_watched_board_id 4

/* The most bytes of a payload; NOTIFY takes less than 8000. */
#define MAX_PAYLOAD 7900

/* How long the worker waits for a lock at most, in milliseconds. */
#define LOCK_TIMEOUT 100

int			lb_notify_interval = 1000;

/* The transaction has written to lb_watched. */
static bool changed_here = false;


/* ----------------------------------------------------------------
 *		The list of databases
 * ----------------------------------------------------------------
 */

void
lb_watch_enter(Oid database)
{
	bool		found = false;

	SpinLockAcquire(&lb_shared->watch_mutex);
	for (int i = 0; i < lb_shared->nwatching && !found; i++)
		found = lb_shared->watching[i] == database;
	if (!found && lb_shared->nwatching < LB_MAX_DATABASES)
		lb_shared->watching[lb_shared->nwatching++] = database;
	SpinLockRelease(&lb_shared->watch_mutex);
	if (!found)
		lb_wake_launcher();
}

void
lb_watch_forget(Oid database)
{
	SpinLockAcquire(&lb_shared->watch_mutex);
	for (int i = 0; i < lb_shared->nwatching; i++)
	{
		if (lb_shared->watching[i] != database)
			continue;
		lb_shared->watching[i] = lb_shared->watching[--lb_shared->nwatching];
		break;
	}
	SpinLockRelease(&lb_shared->watch_mutex);
}

static int
list_databases(Oid *databases, int max)
{
	int			n;

	SpinLockAcquire(&lb_shared->watch_mutex);
	n = Min(max, lb_shared->nwatching);
	memcpy(databases, lb_shared->watching, n * sizeof(Oid));
	SpinLockRelease(&lb_shared->watch_mutex);
	return n;
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
			if (changed_here)
				lb_watch_enter(MyDatabaseId);
			changed_here = false;
			break;
		case XACT_EVENT_ABORT:
			changed_here = false;
			break;
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			break;
	}
}

/* Trigger on lb_watched. */
Datum
lb_watch_changed(PG_FUNCTION_ARGS)
{
	static bool registered = false;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"lb_watch_changed")));
	if (lb_shared == NULL)
		PG_RETURN_POINTER(NULL);
	if (!registered)
		RegisterXactCallback(xact_callback, NULL);
	registered = true;
	changed_here = true;
	PG_RETURN_POINTER(NULL);
}

/* Whether anybody watches a board, by the newest state. */
static bool
is_watched(int32 board_id)
{
	Relation	rel = table_open(lb_own_table("lb_watched"), RowExclusiveLock);
	ScanKeyData skey;
	SysScanDesc scan;
	bool		found;

	ScanKeyInit(&skey, Anum_lb_watched_board_id, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(board_id));
	scan = systable_beginscan(rel, lb_own_table("lb_watched_board_id_idx"),
							  true, NULL, 1, &skey);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, NoLock);
	return found;
}

/*
 * Trigger on lb_board: watches go with their board.  A column that is renamed
 * gives a board another number, which its watches get too.
 */
Datum
lb_watch_follow(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	static const Oid types[] = {INT4OID, INT4OID};
	const LbCatalog *cat;
	Oid			source;
	Datum		values[2];

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager for a row",
						"lb_watch_follow")));

	/* Any role may make a trigger of it on a table of its own. */
	cat = lb_catalog();
	if (cat == NULL || cat->lb_board != RelationGetRelid(trigger->tg_relation) ||
		TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		PG_RETURN_POINTER(NULL);
	values[0] = Int32GetDatum(lb_recorded_id(trigger->tg_trigslot, &source));
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		values[1] = Int32GetDatum(lb_recorded_id(trigger->tg_newslot, &source));
		if (values[0] == values[1])
			PG_RETURN_POINTER(NULL);
	}
	if (!is_watched(DatumGetInt32(values[0])))
		PG_RETURN_POINTER(NULL);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		(void) lb_own_run_latest("UPDATE @.lb_watched SET board_id = $2 "
								 "WHERE board_id OPERATOR(pg_catalog.=) $1",
								 2, types, values, NULL);
	else
		(void) lb_own_run_latest("DELETE FROM @.lb_watched "
								 "WHERE board_id OPERATOR(pg_catalog.=) $1",
								 1, types, values, NULL);
	SPI_finish();
	PG_RETURN_POINTER(NULL);
}


/* ----------------------------------------------------------------
 *		What is watched, and what it is now
 * ----------------------------------------------------------------
 */

/* A place of a board, or a member's; each number is there or not. */
typedef struct Place
{
	LbRow		row;
	bool		has_rank;
	bool		has_member;
	bool		has_score;
} Place;

/* What a board's name means, and the members on the places that are watched. */
typedef struct State
{
	char	   *key;
	int			n;
	Place	   *places;
} State;

/* A row of lb_watched. */
typedef struct Watch
{
	ItemPointerData tid;
	char	   *board;
	bool		is_member;		/* a member's rank, or the first places */
	int64		member;
	int			top;
	int32		board_id;
	char	   *watcher;
	State		last;
	char	   *problem;		/* NULL if none */
} Watch;

/* The key of a board's name now, which leads to a target: mostly the name. */
static char *
key_of(const LbTarget *target, const char *board)
{
	char	   *key = NULL;
	int			keylen;

	if (target->has_value && strchr(board, ':') == NULL)
		key = lb_window_alias(board, strlen(board), &keylen);
	return key == NULL ? pstrdup(board) : key;
}

/*
 * Find a board that is watched, or is going to be, and its key.  Raises if the
 * name leads to none, or what is read by the key is a board of another
 * definition.
 */
static LbDefinition *
find_watched(const char *board, char **key)
{
	LbTarget	target;
	int32		id;

	lb_find_target(board, strlen(board), &target);
	if (target.defn->family && !target.has_value)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", board),
				 errhint("Name one of its boards, as in \"%s:value\".", board)));
	*key = key_of(&target, board);
	id = target.defn->id;
	lb_find_target(*key, strlen(*key), &target);
	if (target.defn->id != id)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a board of the family \"%s\"", *key,
						target.defn->name)));
	return target.defn;
}

/*
 * Read, with the rights of the table's owner, the first places of the board of
 * a key, or those of n members: one place for each.  Policies that apply to the
 * owner are an error, not fewer rows: the caller has set row_security.
 */
static int
read_places(Oid owner, const char *key, int top, const int64 *members, int n,
			Place **places)
{
	LbUser		saved;
	LbRow	   *rows;

	lb_switch_to_owner(&saved, owner, false);
	if (members == NULL)
		n = lb_read_top(key, strlen(key), top, &rows);
	else
	{
		rows = palloc(Max(1, n) * sizeof(LbRow));
		lb_read_ranks(key, strlen(key), members, n, rows);
	}
	lb_restore_user(&saved);
	*places = palloc(Max(1, n) * sizeof(Place));
	for (int i = 0; i < n; i++)
	{
		(*places)[i].row = rows[i];
		(*places)[i].has_member = true;
		(*places)[i].has_rank = (*places)[i].has_score = rows[i].rank != 0;
	}
	pfree(rows);
	return n;
}

/*
 * What reading for others needs, until AtEOXact_GUC() of what is returned:
 * nobody's search_path, and no answer from a part of the rows.
 */
static int
begin_reading(void)
{
	int			nestlevel = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	(void) set_config_option("row_security", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

/* One of the three numbers of each place, as an array. */
static Datum
places_array(const State *state, int number)
{
	Datum	   *values = palloc(Max(1, state->n) * sizeof(Datum));
	bool	   *nulls = palloc(Max(1, state->n) * sizeof(bool));

	for (int i = 0; i < state->n; i++)
	{
		const Place *place = &state->places[i];

		values[i] = Int64GetDatum(number == 0 ? place->row.member :
								  number == 1 ? place->row.rank :
								  place->row.score);
		nulls[i] = !(number == 0 ? place->has_member :
					 number == 1 ? place->has_rank : place->has_score);
	}
	return lb_make_array(INT8OID, values, nulls, state->n);
}

/* The reverse, of three arrays; one that is shorter has no more numbers. */
static void
places_of_arrays(State *state, const Datum *arrays)
{
	Datum	   *values[3];
	bool	   *nulls[3];
	int			n[3];

	for (int i = 0; i < 3; i++)
		deconstruct_array(DatumGetArrayTypeP(arrays[i]), INT8OID,
						  sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
						  &values[i], &nulls[i], &n[i]);
	state->n = Max(n[0], Max(n[1], n[2]));
	state->places = palloc0(Max(1, state->n) * sizeof(Place));
	for (int i = 0; i < state->n; i++)
	{
		Place	   *place = &state->places[i];

		place->has_member = i < n[0] && !nulls[0][i];
		place->has_rank = i < n[1] && !nulls[1][i];
		place->has_score = i < n[2] && !nulls[2][i];
		if (place->has_member)
			place->row.member = DatumGetInt64(values[0][i]);
		if (place->has_rank)
			place->row.rank = DatumGetInt64(values[1][i]);
		if (place->has_score)
			place->row.score = DatumGetInt64(values[2][i]);
	}
}

static bool
same_number(bool has_a, int64 a, bool has_b, int64 b)
{
	return has_a == has_b && (!has_a || a == b);
}

static bool
same_place(const Place *a, const Place *b)
{
	return same_number(a->has_rank, a->row.rank, b->has_rank, b->row.rank) &&
		same_number(a->has_member, a->row.member,
					b->has_member, b->row.member) &&
		same_number(a->has_score, a->row.score, b->has_score, b->row.score);
}

static bool
same_state(const State *a, const State *b)
{
	if (a->n != b->n || strcmp(a->key, b->key) != 0)
		return false;
	for (int i = 0; i < a->n; i++)
	{
		if (!same_place(&a->places[i], &b->places[i]))
			return false;
	}
	return true;
}


/* ----------------------------------------------------------------
 *		SQL functions
 * ----------------------------------------------------------------
 */

/* What a board's name means now: of a window's name its key. */
Datum
lb_board_key(PG_FUNCTION_ARGS)
{
	char	   *board;
	LbTarget	target;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	lb_find_target(board, strlen(board), &target);

	/* Or anybody could hold a lock on the table. */
	if (!lb_may_read(target.defn))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   get_rel_name(target.defn->source));
	PG_RETURN_TEXT_P(cstring_to_text(key_of(&target, board)));
}

static void
require_short_name(const char *board)
{
	StringInfoData buf;

	initStringInfo(&buf);
	escape_json(&buf, board);
	if (buf.len > MAX_JSON_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("board name is too long to be watched"),
				 errdetail("A notification has it in JSON, as %d bytes; the most is %d.",
						   buf.len, MAX_JSON_NAME)));
	pfree(buf.data);
}

/* The columns of lb_watched that a watch is made of. */
static const Oid watch_types[] = {TEXTOID, INT8OID, INT4OID, INT4OID, NAMEOID,
TEXTOID, INT8ARRAYOID, INT8ARRAYOID, INT8ARRAYOID};

/* What a row of lb_watched is told by, as its unique indexes have it. */
#define WATCH(key) \
	"INSERT INTO @.lb_watched (board, member, top, board_id, watcher, last_key, last_members, last_ranks, last_scores) " \
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT " key " " \
	"DO UPDATE SET top = excluded.top, board_id = excluded.board_id, watcher = excluded.watcher, " \
	"last_key = excluded.last_key, last_members = excluded.last_members, last_ranks = excluded.last_ranks, " \
	"last_scores = excluded.last_scores, problem = NULL"

/*
 * Watch the first places of a board, or a member if there is one, from what
 * there is now on.  What is notified can be heard by everybody in the
 * database, so a board is watched by the owner of its table, if the owner may
 * read it.
 */
static void
watch(const char *board, int top, const int64 *member)
{
	static LbPlan plans[2];
	LbDefinition *defn;
	Oid			owner;
	State		now;
	int			nestlevel;
	NameData	watcher;
	Datum		values[lengthof(watch_types)];
	char		nulls[lengthof(watch_types) + 1] = "         ";

	defn = find_watched(board, &now.key);
	lb_require_owner(defn->source);
	if (!lb_may_read(defn))
		aclcheck_error(ACLCHECK_NO_PRIV,
					   get_relkind_objtype(get_rel_relkind(defn->source)),
					   get_rel_name(defn->source));
	require_short_name(board);
	owner = defn->owner;
	values[3] = Int32GetDatum(defn->id);
	nestlevel = begin_reading();
	now.n = read_places(owner, now.key, top, member, 1, &now.places);
	AtEOXact_GUC(true, nestlevel);

	values[0] = CStringGetTextDatum(board);
	values[1] = member == NULL ? (Datum) 0 : Int64GetDatum(*member);
	values[2] = Int32GetDatum(top);
	nulls[member == NULL ? 1 : 2] = 'n';
	namestrcpy(&watcher, GetUserNameFromId(GetUserId(), false));
	values[4] = NameGetDatum(&watcher);
	values[5] = CStringGetTextDatum(now.key);
	for (int i = 0; i < 3; i++)
		values[6 + i] = places_array(&now, i);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (member == NULL)
		(void) lb_own_run(&plans[0], WATCH("(board) WHERE member IS NULL"),
						  lengthof(watch_types), watch_types, values, nulls);
	else
		(void) lb_own_run(&plans[1],
						  WATCH("(board, member) WHERE member IS NOT NULL"),
						  lengthof(watch_types), watch_types, values, nulls);
	SPI_finish();
}

Datum
lb_watch(PG_FUNCTION_ARGS)
{
	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_watch()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	if (PG_ARGISNULL(1))
		lb_null_argument("top");
	if (PG_GETARG_INT32(1) < 1 || PG_GETARG_INT32(1) > MAX_TOP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "top",
						PG_GETARG_INT32(1)),
				 errhint("\"%s\" must be from 1 to %d.", "top", MAX_TOP)));
	watch(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), NULL);
	PG_RETURN_VOID();
}

Datum
lb_watch_member(PG_FUNCTION_ARGS)
{
	int64		member;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_watch_member()");
	if (PG_ARGISNULL(0))
		lb_null_argument("member");
	if (PG_ARGISNULL(1))
		lb_null_argument("board");
	member = PG_GETARG_INT64(0);
	watch(text_to_cstring(PG_GETARG_TEXT_PP(1)), 0, &member);
	PG_RETURN_VOID();
}

/*
 * Forget a watch; member is null for a board's first places.  A board that is
 * gone can be no longer watched by a superuser.
 */
static bool
end_watch(Datum *values, const char *nulls)
{
	static LbPlan plan;
	uint64		n;

	if (!superuser())
	{
		char	   *key;

		lb_require_owner(find_watched(TextDatumGetCString(values[0]),
									  &key)->source);
	}
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	n = lb_own_run(&plan,
				   "DELETE FROM @.lb_watched w WHERE w.board OPERATOR(pg_catalog.=) $1 "
				   "AND CASE WHEN $2 IS NULL THEN w.member IS NULL "
				   "ELSE w.member OPERATOR(pg_catalog.=) $2 END",
				   2, watch_types, values, nulls);
	SPI_finish();
	return n > 0;
}

Datum
lb_unwatch(PG_FUNCTION_ARGS)
{
	Datum		values[2];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_unwatch()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	values[0] = PG_GETARG_DATUM(0);
	values[1] = (Datum) 0;
	PG_RETURN_BOOL(end_watch(values, " n"));
}

Datum
lb_unwatch_member(PG_FUNCTION_ARGS)
{
	Datum		values[2];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_unwatch_member()");
	if (PG_ARGISNULL(0))
		lb_null_argument("member");
	if (PG_ARGISNULL(1))
		lb_null_argument("board");
	values[0] = PG_GETARG_DATUM(1);
	values[1] = PG_GETARG_DATUM(0);
	PG_RETURN_BOOL(end_watch(values, NULL));
}


/* ----------------------------------------------------------------
 *		A round
 * ----------------------------------------------------------------
 */

/* A round under way. */
typedef struct Round
{
	Watch	   *watches;
	int			n;
	int64		sent;
	MemoryContext context;		/* of a board that is looked at */
	char		as_of[MAXDATELEN + 1];
} Round;

/* All that is watched, boards of one definition beside each other. */
static void
read_watches(Round *round)
{
	static LbPlan plan;
	SPITupleTable *table;

	round->n = (int) lb_own_run(&plan,
								"SELECT w.ctid, w.board, w.member, w.top, w.board_id, w.watcher, w.last_key, "
								"w.last_members, w.last_ranks, w.last_scores, w.problem FROM @.lb_watched AS w "
								"ORDER BY w.board_id, w.board, w.member NULLS FIRST",
								0, NULL, NULL, NULL);
	table = SPI_tuptable;
	round->watches = MemoryContextAllocHuge(CurrentMemoryContext,
											Max(1, round->n) * sizeof(Watch));
	for (int i = 0; i < round->n; i++)
	{
		Watch	   *w = &round->watches[i];
		Datum		values[11];
		bool		nulls[11];

		Assert(table->tupdesc->natts == lengthof(values));
		heap_deform_tuple(table->vals[i], table->tupdesc, values, nulls);
		ItemPointerCopy((ItemPointer) DatumGetPointer(values[0]), &w->tid);
		w->board = TextDatumGetCString(values[1]);
		w->is_member = !nulls[2];
		w->member = nulls[2] ? 0 : DatumGetInt64(values[2]);
		w->top = nulls[3] ? 0 : DatumGetInt32(values[3]);
		w->board_id = DatumGetInt32(values[4]);
		w->watcher = pstrdup(NameStr(*DatumGetName(values[5])));
		w->last.key = TextDatumGetCString(values[6]);
		places_of_arrays(&w->last, values + 7);
		w->problem = nulls[10] ? NULL : TextDatumGetCString(values[10]);
	}
	SPI_freetuptable(table);
}

/*
 * Write to the row of a watch, unless somebody has locked it or has written to
 * it since it was read: who has is either another round, which has told of the
 * change, or has begun to watch anew.  Returns whether it was written.
 */
#define UPDATE_WATCH(set) \
	"UPDATE @.lb_watched AS w SET " set " " \
	"WHERE w.ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT v.ctid FROM @.lb_watched AS v " \
	"WHERE v.ctid OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE SKIP LOCKED))"

static bool
write_state(const Watch *w, const State *now)
{
	static LbPlan plan;
	static const Oid types[] = {TIDOID, TEXTOID, INT8ARRAYOID, INT8ARRAYOID,
	INT8ARRAYOID};
	Datum		values[lengthof(types)];

	values[0] = PointerGetDatum(&w->tid);
	values[1] = CStringGetTextDatum(now->key);
	for (int i = 0; i < 3; i++)
		values[2 + i] = places_array(now, i);
	return lb_own_run(&plan,
					  UPDATE_WATCH("last_key = $2, last_members = $3, last_ranks = $4, last_scores = $5, problem = NULL"),
					  lengthof(types), types, values, NULL) > 0;
}

/* Record why some watches of a board are not notified, and tell it once. */
static void
write_problem(const Watch *watches, int n, const char *problem)
{
	static LbPlan plan;
	static const Oid types[] = {TIDOID, TEXTOID};
	const char *board = watches[0].board;
	bool		written = false;
	Datum		values[lengthof(types)];

	values[1] = CStringGetTextDatum(problem);
	for (int i = 0; i < n; i++)
	{
		if (watches[i].problem != NULL &&
			strcmp(watches[i].problem, problem) == 0)
			continue;
		values[0] = PointerGetDatum(&watches[i].tid);
		written |= lb_own_run(&plan, UPDATE_WATCH("problem = $2"),
							  lengthof(types), types, values, NULL) > 0;
	}
	if (written)
		ereport(WARNING,
				(errmsg("could not notify of board \"%s\": %s",
						pnstrdup(board, pg_mbcharcliplen(board, strlen(board), 100)),
						problem)));
}

/*
 * Why a role's watch of a board is not notified: its rights have gone, since
 * it has begun to watch.  NULL if they are all there.
 */
static const char *
missing_right(LbDefinition *defn, const char *watcher)
{
	Oid			role = get_role_oid(watcher, true);
	Oid			save_user;
	int			save_context;
	bool		may_read;

	if (!OidIsValid(role))
		return psprintf("role \"%s\" does not exist", watcher);
	if (!pg_class_ownercheck(defn->source, role))
		return psprintf("role \"%s\" is not the owner of table \"%s\"", watcher,
						get_rel_name(defn->source));
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(role, save_context | SECURITY_RESTRICTED_OPERATION);
	may_read = lb_may_read(defn) &&
		check_enable_rls(defn->source, role, true) != RLS_ENABLED;
	SetUserIdAndSecContext(save_user, save_context);
	return may_read ? NULL :
		psprintf("role \"%s\" may not read all of table \"%s\"", watcher,
				 get_rel_name(defn->source));
}

static void
append_number(StringInfo buf, bool exists, int64 value)
{
	if (exists)
		appendStringInfo(buf, INT64_FORMAT, value);
	else
		appendStringInfoString(buf, "null");
}

/* The payload for a watch, or NULL if nothing is to be told. */
static char *
make_payload(const Round *round, const Watch *w, const State *now)
{
	static const Place none = {{0, 0, 0}, false, false, false};
	const State *last = &w->last;
	StringInfoData buf;
	bool		any = false;
	bool		more = false;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "{\"board\": ");
	escape_json(&buf, w->board);
	appendStringInfoString(&buf, ", \"key\": ");
	escape_json(&buf, now->key);
	appendStringInfo(&buf, ", \"as_of\": \"%s\", ", round->as_of);
	if (w->is_member)
	{
		const Place *was = last->n > 0 ? &last->places[0] : &none;
		const Place *is = &now->places[0];

		if (same_number(was->has_rank, was->row.rank,
						is->has_rank, is->row.rank))
			return NULL;
		appendStringInfo(&buf, "\"player_id\": " INT64_FORMAT ", \"old\": ",
						 w->member);
		append_number(&buf, was->has_rank, was->row.rank);
		appendStringInfoString(&buf, ", \"new\": ");
		append_number(&buf, is->has_rank, is->row.rank);
		appendStringInfoString(&buf, ", \"score\": ");
		append_number(&buf, is->has_score, is->row.score);
		appendStringInfoChar(&buf, '}');
		return buf.data;
	}
	appendStringInfoString(&buf, "\"places\": [");
	for (int i = 0; i < Max(now->n, last->n) && !more; i++)
	{
		const Place *was = i < last->n ? &last->places[i] : &none;
		const Place *is = i < now->n ? &now->places[i] : &none;
		int			before = buf.len;

		if (same_place(was, is))
			continue;
		appendStringInfo(&buf, "%s{\"place\": %d, \"rank\": ", any ? ", " : "",
						 i + 1);
		append_number(&buf, is->has_rank, is->row.rank);
		appendStringInfoString(&buf, ", \"player_id\": ");
		append_number(&buf, is->has_member, is->row.member);
		appendStringInfoString(&buf, ", \"score\": ");
		append_number(&buf, is->has_score, is->row.score);
		appendStringInfoChar(&buf, '}');
		more = buf.len > MAX_PAYLOAD;
		if (more)
		{
			buf.len = before;
			buf.data[before] = '\0';
		}
		else
			any = true;
	}

	/* A window that has turned from empty to empty. */
	if (!any && !more)
		return NULL;
	appendStringInfo(&buf, "], \"more\": %s}", more ? "true" : "false");
	return buf.data;
}

/* Compare a watch with what it is now: record that, and notify it. */
static void
compare(Round *round, const Watch *w, const State *now)
{
	char	   *payload;

	if (w->problem == NULL && same_state(now, &w->last))
		return;
	payload = make_payload(round, w, now);
	if (!write_state(w, now) || payload == NULL)
		return;
	Async_Notify("leaderboard", payload);
	round->sent++;
}

/* Look at the watches of one board, which were all made for the same one. */
static void
look_at_board(Round *round, const Watch *watches, int n)
{
	LbDefinition *defn;
	const char *problem = NULL;
	const Watch **seen = palloc(n * sizeof(Watch *));
	int64	   *members = palloc(n * sizeof(int64));
	State		now;
	Oid			owner;
	int			nseen = 0;
	int			nmembers = 0;
	Place	   *places;

	defn = find_watched(watches[0].board, &now.key);
	if (defn->id != watches[0].board_id)
	{
		write_problem(watches, n, "another board has this name now");
		return;
	}
	for (int i = 0; i < n; i++)
	{
		const Watch *w = &watches[i];

		if (i == 0 || strcmp(w->watcher, watches[i - 1].watcher) != 0)
			problem = missing_right(defn, w->watcher);
		if (problem == NULL)
			seen[nseen++] = w;
		else
			write_problem(w, 1, problem);
	}
	owner = defn->owner;
	for (int i = 0; i < nseen; i++)
	{
		if (seen[i]->is_member)
		{
			members[nmembers++] = seen[i]->member;
			continue;
		}
		now.n = read_places(owner, now.key, seen[i]->top, NULL, 0,
							&now.places);
		compare(round, seen[i], &now);
	}
	if (nmembers == 0)
		return;
	(void) read_places(owner, now.key, 0, members, nmembers, &places);
	nmembers = 0;
	for (int i = 0; i < nseen; i++)
	{
		if (!seen[i]->is_member)
			continue;
		now.n = 1;
		now.places = &places[nmembers++];
		compare(round, seen[i], &now);
	}
}

/* The end of the watches that are of the board, or definition, of the first. */
static int
end_of_board(const Watch *watches, int from, int to)
{
	int			i = from;

	while (i < to && watches[i].board_id == watches[from].board_id &&
		   strcmp(watches[i].board, watches[from].board) == 0)
		i++;
	return i;
}

static int
end_of_definition(const Watch *watches, int from, int to)
{
	int			i = from;

	while (i < to && watches[i].board_id == watches[from].board_id)
		i++;
	return i;
}

/*
 * Where to split watches that are of more than one board: between two
 * definitions if there are several, and near the middle.
 */
static int
split(const Watch *watches, int from, int to)
{
	int			(*end) (const Watch *, int, int) =
		end_of_definition(watches, from, to) < to ? end_of_definition :
		end_of_board;
	int			at = end(watches, from, to);

	for (;;)
	{
		int			next = end(watches, at, to);

		if (next >= to || next - from > (to - from) / 2)
			return at;
		at = next;
	}
}

/*
 * Whether an error only says that a board is gone, locked, or not ready: at the
 * next time.
 */
static bool
is_passing(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_UNDEFINED_OBJECT ||
		sqlerrcode == ERRCODE_UNDEFINED_TABLE ||
		sqlerrcode == ERRCODE_WRONG_OBJECT_TYPE ||
		sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
}

/*
 * Look at the boards of some watches, in a subtransaction.  Returns the error
 * that has undone it, or NULL.
 */
static ErrorData *
try_boards(Round *round, int from, int to)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	int64		sent = round->sent;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		for (int i = from; i < to;)
		{
			int			end = end_of_board(round->watches, i, to);

			CHECK_FOR_INTERRUPTS();
			MemoryContextReset(round->context);
			MemoryContextSwitchTo(round->context);
			look_at_board(round, &round->watches[i], end - i);
			i = end;
		}
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		round->sent = sent;
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(error);
	}
	PG_END_TRY();
	return error;
}

/*
 * Look at some boards, and at each part of them for itself if that fails.  A
 * lock that is not to be had, or an index that is not ready, is that of a
 * whole definition: then its other boards wait for the next round as well.
 */
static void
look_at_boards(Round *round, int from, int to)
{
	ErrorData  *error;
	bool		one_definition;

	check_stack_depth();
	if (from == to || (error = try_boards(round, from, to)) == NULL)
		return;

	/*
	 * All that is watched waits for one lock in all, not for one each: others
	 * may wait for those that this transaction has got.
	 */
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		(void) set_config_option("lock_timeout", "1ms", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
	one_definition = end_of_definition(round->watches, from, to) == to;
	if (one_definition &&
		(error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		 error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE))
		 /* at the next time */ ;
	else if (end_of_board(round->watches, from, to) < to)
	{
		int			middle = split(round->watches, from, to);

		look_at_boards(round, from, middle);
		look_at_boards(round, middle, to);
	}
	else if (!is_passing(error->sqlerrcode))
		write_problem(&round->watches[from], to - from, error->message);
	FreeErrorData(error);
}

/* Compare all that is watched; returns how many notifications were sent. */
static int64
notify_all(void)
{
	Round		round;
	int			nestlevel;

	memset(&round, 0, sizeof(round));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	round.context = AllocSetContextCreate(CurrentMemoryContext,
										  "leaderboard watched board",
										  ALLOCSET_DEFAULT_SIZES);
	nestlevel = begin_reading();
	read_watches(&round);
	JsonEncodeDateTime(round.as_of,
					   TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()),
					   TIMESTAMPTZOID, NULL);

	/* Newer than what they are compared with. */
	PushActiveSnapshot(GetTransactionSnapshot());
	look_at_boards(&round, 0, round.n);
	PopActiveSnapshot();
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
	return round.sent;
}

Datum
lb_notify(PG_FUNCTION_ARGS)
{
	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_notify()");
	PG_RETURN_INT64(notify_all());
}


/* ----------------------------------------------------------------
 *		Worker
 * ----------------------------------------------------------------
 */

/*
 * Whether there are watches, or may be when a transaction that is open has
 * committed.  Takes its own snapshots.
 */
static bool
anybody_watches(void)
{
	const LbCatalog *cat = lb_catalog();
	Oid			relid;
	LOCKTAG		tag;
	int			writers;
	uint64		n;

	if (cat == NULL || !cat->version_ok || RecoveryInProgress())
		return false;
	relid = get_relname_relid("lb_watched", cat->schema);
	if (!OidIsValid(relid))
		return false;

	/* First: who has no lock any more is visible. */
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	(void) GetLockConflicts(&tag, ShareLock, &writers);
	if (writers > 0)
		return true;
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	n = lb_own_run_once("SELECT FROM @.lb_watched LIMIT 1", 0, NULL, NULL);
	SPI_finish();
	PopActiveSnapshot();
	return n > 0;
}

static void
enter_here(void)
{
	if (anybody_watches())
		lb_watch_enter(MyDatabaseId);
}

/* Send what has changed.  Returns whether anybody watches. */
static bool
notify_round(void)
{
	bool		any;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	any = anybody_watches();
	if (any)
	{
		pgstat_report_activity(STATE_RUNNING, "comparing what is watched");
		PushActiveSnapshot(GetTransactionSnapshot());
		(void) notify_all();
		PopActiveSnapshot();
	}
	CommitTransactionCommand();
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
	return any;
}

static const LbWorkerKind notifier_kind = {
	.type = "leaderboard notifier",
	.function = "lb_watch_main",
	.databases = list_databases,
	.visit = enter_here
};

void
lb_watch_init(void)
{
	lb_register_worker(&notifier_kind);
}

void
lb_watch_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	lb_worker_settings();
	pgstat_report_appname("leaderboard notifier");

	/*
	 * A table that is locked is looked at later: others are watched as well.
	 * Nor is anybody to become the victim of a deadlock with us.
	 */
	SetConfigOption("lock_timeout",
					psprintf("%d", lb_lock_timeout(LOCK_TIMEOUT)),
					PGC_USERSET, PGC_S_OVERRIDE);

	/* A board that has no index now is looked at when it has one. */
	SetConfigOption("leaderboard.not_ready", "error", PGC_USERSET,
					PGC_S_OVERRIDE);
	SetConfigOption("leaderboard.offline", "error", PGC_USERSET,
					PGC_S_OVERRIDE);
	for (;;)
	{
		TimestampTz begun;

		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		begun = GetCurrentTimestamp();
		if (!notify_round())
		{
			/* Whoever commits from here on enters the database again. */
			lb_watch_forget(database);
			if (!notify_round())
				break;
			lb_watch_enter(database);
		}
		for (;;)
		{
			TimestampTz now = GetCurrentTimestamp();
			long		left;

			CHECK_FOR_INTERRUPTS();
			if (lb_must_yield())
				return;
			if (lb_elapsed(begun, now, lb_notify_interval))
				break;
			left = lb_notify_interval -
				TimestampDifferenceMilliseconds(begun, now);
			(void) WaitLatch(MyLatch,
							 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 Max(1, Min(left, 500)), PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
		}
	}
}
