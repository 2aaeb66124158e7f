/*-------------------------------------------------------------------------
 *
 * stat.c
 *	  What the views lb_stat_board, lb_stat_ledger and lb_stat_memory show.
 *
 * lb_stat_boards() and lb_stat() show boards as they are in shared memory.
 * Boards of a stripe are copied under its lock, some hundreds at a time, and
 * put into rows without it.  The backend adds the reads that it has counted
 * before it shows them (counters.c).
 *
 * A view must not wait for another server, so these show nothing of the
 * servers of a distributed table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type_d.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "admin/stat.h"
#include "boards/board_value.h"
#include "boards/counters.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/distributed.h"
#include "boards/keys.h"
#include "boards/live.h"
#include "boards/resolve.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "boards/target.h"
#include "feed/emit.h"
#include "feed/life.h"
#include "feed/redo.h"
#include "ledger/backlog.h"
#include "ledger/off_board.h"
#include "ledger/prepared.h"
#include "sql/check.h"
#include "sql/spi.h"

PG_FUNCTION_INFO_V1(lb_stat_boards);
PG_FUNCTION_INFO_V1(lb_stat);
PG_FUNCTION_INFO_V1(lb_stat_ledger_row);
PG_FUNCTION_INFO_V1(lb_stat_memory_rows);
PG_FUNCTION_INFO_V1(lb_stat_reset);
PG_FUNCTION_INFO_V1(lb_stat_feed_row);

/* A board as the view shows it, copied from shared memory. */
typedef struct BoardRow
{
	char	   *name;
	uint64		members;
	uint64		distinct;
	int64		off_board;
	uint64		bytes;
	uint64		counts[LB_NCOUNTERS];
} BoardRow;

static void
copy_counters(uint64 *to, pg_atomic_uint64 *from)
{
	for (int i = 0; i < LB_NCOUNTERS; i++)
		to[i] = pg_atomic_read_u64(&from[i]);
}

static uint64
board_bytes(const LbLiveBoard *board)
{
	return lb_index_bytes(&board->index) + (LB_CHUNK_SIZE << LB_BOARD_ORDER);
}

typedef enum RowKind
{
	ROW_BOARD,
	ROW_FAMILY,					/* sums of its boards */
	ROW_FAMILY_BOARD
} RowKind;

static const char *const kind_names[] = {"board", "family", "family board"};

/* Columns that all boards of a definition have in common. */
typedef struct DefRow
{
	Oid			source;
	uint32		state;
	bool		distributed;	/* only other servers have indexes */
	char		reason[LB_MAX_REASON];
	int64		build_done;
	int64		build_total;
	double		build_seconds;
} DefRow;

static const char *
state_name(const DefRow *def)
{
	if (def->distributed)
		return "distributed";
	switch (def->state)
	{
		case LB_READY:
			return "ready";
		case LB_BUILDING:
			return "building";
		default:
			return "offline";
	}
}

/*
 * Columns of a row of lb_stat_boards(): before the counters, and at most.
 */
#define FIRST_COLUMNS 14
#define MAX_COLUMNS (FIRST_COLUMNS + LB_NCOUNTERS)

/* The rows of a definition, as they are put into the result. */
typedef struct Listing
{
	ReturnSetInfo *rsinfo;
	LbDefinition *defn;
	const LbTarget *one;		/* the one board of a family, or NULL */
	bool		each;			/* each board of a family */
	DefRow		def;
	BoardRow	all;			/* sums of a family's boards */

	/* Boards of a stripe, copied under its lock. */
	LbSharedBoard *shared;
	uint64		generation;
	int			first;			/* boards to skip */
	int			seen;
	int			n;
	struct
	{
		BoardRow	row;
		int			len;
		char		value[LB_MAX_VALUE];
	}			rows[256];
} Listing;

static bool
copy_board(uint32 hash, LbRef ref, void *arg)
{
	Listing    *list = (Listing *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);
	LbValue		value;
	BoardRow   *row;

	if (list->seen++ < list->first)
		return true;
	value = lb_live_board_value(board);
	row = &list->rows[list->n].row;
	lb_apply_backlog(list->shared, board);
	row->members = board->index.members;
	row->distinct = board->index.distinct;
	row->off_board = board->off_board;
	row->bytes = board_bytes(board);
	copy_counters(row->counts, board->counters);
	list->rows[list->n].len = value.len;
	memcpy(list->rows[list->n].value, value.data, value.len);
	list->n++;
	return list->n < (int) lengthof(list->rows);
}

static uint64
sum_causes(const uint64 *counts)
{
	uint64		sum = 0;

	for (int i = 0; i < LB_NCAUSES; i++)
		sum += counts[i];
	return sum;
}

static void
put_row(Listing *list, const char *name, const BoardRow *row, RowKind kind)
{
	const DefRow *def = &list->def;
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS];
	const char *reason = "";
	int			i = 0;

	memset(nulls, 0, sizeof(nulls));
	values[i++] = CStringGetTextDatum(name);
	values[i++] = ObjectIdGetDatum(def->source);
	values[i++] = CStringGetTextDatum(state_name(def));
	if (def->state != LB_READY)
		reason = def->reason;
	else if (lb_rows_without_key(row->off_board) > 0)
		reason = lb_no_key_reason;
	nulls[i] = reason[0] == '\0';
	values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(reason);
	i++;
	nulls[i] = def->state != LB_READY;
	nulls[i + 1] = def->state != LB_READY || kind == ROW_FAMILY;
	nulls[i + 2] = def->state != LB_READY;
	values[i++] = Int64GetDatum(row->members);
	values[i++] = Int64GetDatum(row->distinct);
	values[i++] = Int64GetDatum(lb_rows_off_board(row->off_board));
	values[i++] = Int64GetDatum(row->bytes);
	values[i++] = Int64GetDatum(def->build_done);
	values[i++] = Int64GetDatum(def->build_total);
	nulls[i] = def->build_seconds == 0;
	values[i++] = Float8GetDatum(def->build_seconds);
	values[i++] = CStringGetTextDatum(kind_names[kind]);
	values[i++] = Int64GetDatum(sum_causes(row->counts));
	values[i++] = Int64GetDatum(sum_causes(&row->counts[LB_COUNT_PLANNED_CAUSES]));
	Assert(i == FIRST_COLUMNS);
	for (int j = 0; j < LB_NCOUNTERS; j++)
	{
		if (lb_counter_is_shown(j))
			values[i++] = Int64GetDatum(row->counts[j]);
	}
	Assert(i == list->rsinfo->setDesc->natts);
	tuplestore_putvalues(list->rsinfo->setResult, list->rsinfo->setDesc,
						 values, nulls);
}

/* Boards that are prefetched while the walk goes on. */
#define AHEAD 16

typedef struct Sum
{
	LbSharedBoard *shared;
	BoardRow   *row;
	int			n;
	LbLiveBoard *boards[AHEAD];
} Sum;

static void
sum_boards(Sum *sum)
{
	for (int i = 0; i < sum->n; i++)
	{
		lb_apply_backlog(sum->shared, sum->boards[i]);
		sum->row->members += sum->boards[i]->index.members;
		sum->row->off_board += sum->boards[i]->off_board;
		sum->row->bytes += board_bytes(sum->boards[i]);
	}
	sum->n = 0;
}

static bool
sum_board(uint32 hash, LbRef ref, void *arg)
{
	Sum		   *sum = (Sum *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);

	lb_prefetch(board);
	lb_prefetch(&board->backlog);
	sum->boards[sum->n++] = board;
	if (sum->n == AHEAD)
		sum_boards(sum);
	return true;
}

/* Fill in those columns; shared is NULL if the definition is not entered. */
static void
describe(const LbDefinition *defn, LbSharedBoard *shared, DefRow *row)
{
	memset(row, 0, sizeof(DefRow));
	row->source = defn->source;
	row->distributed = lb_has_distributed_board(defn);
	if (row->distributed)
		row->state = LB_OFFLINE;
	else if (shared != NULL)
	{
		row->build_seconds = lb_get_reason(shared, row->reason);
		row->state = lb_state(shared);
		row->build_done = pg_atomic_read_u64(&shared->build_done);
		row->build_total = Max((int64) pg_atomic_read_u64(&shared->build_total),
							   row->build_done);
	}
	else if (lb_is_distributed_table(defn->source))
	{
		row->state = LB_OFFLINE;
		strlcpy(row->reason, lb_engine_problem, LB_MAX_REASON);
	}
	else
		row->state = LB_BUILDING;	/* recorded, and not asked for yet */
	if (!lb_feed_answers(defn) || (row->distributed && RecoveryInProgress()))
	{
		strlcpy(row->reason, row->distributed ? "the server is a standby" :
				lb_is_unlogged(defn) ? LB_UNLOGGED_REASON : LB_MISSED_REASON,
				LB_MAX_REASON);
		row->distributed = false;
		row->state = LB_OFFLINE;
	}
}

/*
 * Copy boards of a stripe, from number list->first on, while there is room.
 * If not each board of a family is listed, sum them up instead.
 */
static void
copy_stripe(Listing *list, int s)
{
	LbSharedBoard *shared = list->shared;
	LbStripe   *stripe = &shared->stripes[s];

	list->n = 0;
	list->seen = 0;
	LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
	if (!lb_shared_board_is(shared, list->generation))
		;						/* it is gone */
	else if (list->one != NULL)
	{
		LbRef		ref;

		if (lb_live_board_find(shared, stripe, list->one->hash,
							   &list->one->value, &ref) != NULL)
			(void) copy_board(list->one->hash, ref, list);
	}
	else if (list->each || !list->defn->family)
		lb_stripe_walk(stripe, shared->family, copy_board, list);
	else
	{
		Sum			sum = {.shared = shared,.row = &list->all};

		lb_stripe_walk(stripe, true, sum_board, &sum);
		sum_boards(&sum);
	}
	LWLockRelease(&stripe->lock);
}

/* Put the boards of a stripe into rows, and add them to list->all. */
static void
put_stripe(Listing *list, int s)
{
	LbDefinition *defn = list->defn;

	list->first = 0;
	do
	{
		copy_stripe(list, s);
		for (int i = 0; i < list->n; i++)
		{
			const BoardRow *row = &list->rows[i].row;
			LbValue		value = {list->rows[i].len, list->rows[i].value};

			if (defn->family)
				put_row(list, lb_family_board_name(defn, &value), row,
						ROW_FAMILY_BOARD);
			else
				put_row(list, defn->name, row, ROW_BOARD);
			list->all.members += row->members;
			list->all.off_board += row->off_board;
			list->all.bytes += row->bytes;
		}
		list->first += list->n;
		CHECK_FOR_INTERRUPTS();
	} while (list->n == (int) lengthof(list->rows));
}

/*
 * Put the rows of a definition: of the one board of a family that target
 * names, or of the family, and if each is set of all its boards.
 */
static void
put_def(ReturnSetInfo *rsinfo, LbDefinition *defn, const LbTarget *target,
		bool each)
{
	LbSharedBoard *shared = lb_shared_board_attach(defn, false);
	Listing    *list = palloc(sizeof(Listing));

	list->rsinfo = rsinfo;
	list->defn = defn;
	list->one = target != NULL && target->has_value ? target : NULL;
	list->each = each;
	list->shared = shared;
	list->generation = defn->generation;
	memset(&list->all, 0, sizeof(BoardRow));
	describe(defn, shared, &list->def);
	if (shared == NULL)
	{
		if (list->one == NULL)
			put_row(list, defn->name, &list->all,
					defn->family ? ROW_FAMILY : ROW_BOARD);
		pfree(list);
		return;
	}

	/* Settle the changes of prepared transactions that have ended. */
	if (pg_atomic_read_u32(&shared->nprepared) > 0)
		(void) lb_settle_prepared(shared, list->generation);
	for (int s = 0; s < LB_STRIPES; s++)
	{
		if (list->one == NULL || s == list->one->stripe)
			put_stripe(list, s);
	}

	/*
	 * The family itself: its boards' size in all, and the reads that found no
	 * live board.
	 */
	if (defn->family && list->one == NULL)
	{
		copy_counters(list->all.counts, shared->counters);
		put_row(list, defn->name, &list->all, ROW_FAMILY);
	}
	pfree(list);
}

/* Rows of all definitions, those that the caller may see. */
static void
put_all(ReturnSetInfo *rsinfo, bool each)
{
	bool		monitor = has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
	LbDefinition **defns;
	int			n = lb_all_defns(&defns);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (monitor || lb_may_see(defns[i]))
			put_def(rsinfo, defns[i], NULL, each);
	}
}

Datum
lb_stat_boards(PG_FUNCTION_ARGS)
{
	lb_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	lb_counters_flush();
	put_all((ReturnSetInfo *) fcinfo->resultinfo, true);
	return (Datum) 0;
}

/*
 * Find the board that a name leads to.  Returns false if the caller may not
 * see it, and raises 42704 if there is none.
 */
bool
lb_stat_look_up(text *name, LbTarget *target)
{
	if (!lb_look_up_name(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), target))
		lb_board_not_found(text_to_cstring(name), "The table lb_board lists the boards.");
	return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR) ||
		lb_may_see(target->defn);
}

Datum
lb_stat(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	LbTarget	target;

	(void) lb_require_catalog();
	InitMaterializedSRF(fcinfo, 0);
	lb_counters_flush();
	if (PG_ARGISNULL(0))
	{
		put_all(rsinfo, false);
		return (Datum) 0;
	}
	if (lb_stat_look_up(PG_GETARG_TEXT_PP(0), &target))
		put_def(rsinfo, target.defn, &target, false);
	return (Datum) 0;
}

static bool
sum_backlog(uint32 hash, LbRef ref, void *arg)
{
	*(int64 *) arg += lb_live_board_at(ref)->backlog;
	return true;
}

/*
 * Add what a definition's stripes have not added to the sum of all histories.
 */
static void
sum_ledger(LbDefinition *defn, int64 *history, int64 *backlog)
{
	LbSharedBoard *shared = lb_shared_board_attach(defn, false);
	uint64		generation = defn->generation;

	for (int s = 0; shared != NULL && s < LB_STRIPES; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];

		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(&stripe->lock, LW_SHARED);
		if (lb_shared_board_is(shared, generation))
		{
			*history += stripe->history_bytes;
			lb_stripe_walk(stripe, shared->family, sum_backlog, backlog);
		}
		LWLockRelease(&stripe->lock);
	}
}

/*
 * The history of the server's boards, and the backlog of those of the database
 * that the caller may see.
 */
Datum
lb_stat_ledger_row(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	LbDefinition **defns;
	int64		history;
	int64		backlog = 0;
	Datum		values[2];
	bool		nulls[2] = {false, false};
	bool		monitor = has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
	int			n;

	lb_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	history = (int64) pg_atomic_read_u64(&lb_shared->history_bytes);
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
	{
		if (monitor || lb_may_see(defns[i]))
			sum_ledger(defns[i], &history, &backlog);
	}
	values[0] = Int64GetDatum(Max(history, 0));
	values[1] = Int64GetDatum(backlog);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

Datum
lb_stat_memory_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			databases[LB_MAX_DATABASES];
	uint64		used[LB_MAX_DATABASES];
	uint64		total_used;
	uint64		limit;
	int			n = 0;
	Datum		values[4];
	bool		nulls[4] = {true, false, false, false};
	bool		all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);

	lb_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	lb_arena_lock(&lb_shared->arena);
	total_used = lb_shared->arena.used;
	limit = lb_shared->arena.limit;
	for (int i = 0; i < LB_MAX_DATABASES; i++)
	{
		if (!OidIsValid(lb_shared->databases[i].database))
			continue;
		databases[n] = lb_shared->databases[i].database;
		used[n++] = lb_shared->databases[i].account.used;
	}
	lb_arena_unlock(&lb_shared->arena);
	LWLockRelease(&lb_shared->directory_lock);

	values[0] = (Datum) 0;
	values[1] = Int64GetDatum(limit);
	values[2] = Int64GetDatum(total_used);
	values[3] = Int64GetDatum(lb_shared->arena.reserved);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	nulls[0] = false;
	nulls[3] = true;
	for (int i = 0; i < n; i++)
	{
		char	   *name;
		NameData	datname;

		/* The memory of other databases needs a privilege. */
		if (!all && databases[i] != MyDatabaseId)
			continue;
		name = get_database_name(databases[i]);
		if (name == NULL)
			continue;
		namestrcpy(&datname, name);
		values[0] = NameGetDatum(&datname);
		nulls[1] = databases[i] != MyDatabaseId || lb_database_memory_kb == 0;
		values[1] = Int64GetDatum((int64) lb_database_memory_kb * 1024);
		values[2] = Int64GetDatum(used[i]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}

static bool
reset_board(uint32 hash, LbRef ref, void *arg)
{
	for (int i = 0; i < LB_NCOUNTERS; i++)
		pg_atomic_write_u64(&lb_live_board_at(ref)->counters[i], 0);
	return true;
}

Datum
lb_stat_reset(PG_FUNCTION_ARGS)
{
	LbDefinition **defns;
	int			n;

	lb_require_preload();
	lb_counters_forget();
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
	{
		LbSharedBoard *shared = lb_shared_board_attach(defns[i], false);

		if (shared == NULL)
			continue;
		for (int j = 0; j < LB_NCOUNTERS; j++)
			pg_atomic_write_u64(&shared->counters[j], 0);
		for (int s = 0; s < LB_STRIPES; s++)
		{
			CHECK_FOR_INTERRUPTS();
			LWLockAcquire(&shared->stripes[s].lock, LW_EXCLUSIVE);
			if (lb_shared_board_is(shared, defns[i]->generation))
				lb_stripe_walk(&shared->stripes[s], shared->family,
							   reset_board, NULL);
			LWLockRelease(&shared->stripes[s].lock);
		}
	}
	PG_RETURN_VOID();
}

/* By LbFeedState. */
static const char *const feed_states[] = {
	[LB_STALE] = "stale",
	[LB_FOLLOWING] = "following",
	[LB_QUIET] = "quiet",
	[LB_PENDING] = "pending"
};

Datum
lb_stat_feed_row(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		standby = RecoveryInProgress();
	LbFeed	   *feed;
	TimestampTz settled;
	int64		lag;
	Interval	lag_interval = {0};
	const char *state;
	Datum		values[7];
	bool		nulls[7] = {false};

	lb_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	feed = &lb_shared->feed;
	SpinLockAcquire(&feed->mutex);
	settled = feed->settled;
	lag = feed->lag;
	SpinLockRelease(&feed->mutex);
	if (standby)
		state = feed_states[pg_atomic_read_u32(&feed->state)];
	else
		state = lb_feeding() ? "feeding" : "off";
	lag_interval.time = lag;
	values[0] = CStringGetTextDatum(standby ? "standby" : "primary");
	values[1] = CStringGetTextDatum(state);
	values[2] = TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&feed->state_since));
	values[3] = Int64GetDatum(pg_atomic_read_u64(&feed->messages));
	values[4] = Int64GetDatum(pg_atomic_read_u64(&feed->bytes));
	values[5] = TimestampTzGetDatum(settled);
	values[6] = IntervalPGetDatum(&lag_interval);
	nulls[5] = nulls[6] = settled == 0 || !standby;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}
