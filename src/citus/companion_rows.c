/*-------------------------------------------------------------------------
 *
 * companion_rows.c
 *	  Removing what limits have counted beside distributed tables of scores.
 *
 * A submit locks rows that limits have counted before, in the order of
 * submit.c, and those of one shard after those of another.  A DELETE on all
 * shards would lock them in the order in which it finds them, and so wait in a
 * circle with a batch.  So the rows are looked up first, and then locked and
 * deleted in the order of submits, by statements for some players of one
 * shard: Citus lets only such statements lock rows.  Shards that have rows to
 * remove are not moved or split until the transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "boards/target.h"
#include "citus/companion.h"
#include "citus/companion_rows.h"
#include "citus/shard.h"
#include "sql/spi.h"

/* Rows that are removed at once, and fetched at once. */
#define GROUP_ROWS 1000

/* The most parameters of a condition on a row t. */
#define MAX_ARGS 4

typedef struct Removal
{
	const LbDefinition *scores;
	Oid			table;
	const char *condition;
	int			nargs;
	LbArg		args[MAX_ARGS + 2]; /* and two of a group */
	bool		wait;			/* for rows that others have locked */
	int			max_rows;		/* 0: all */
	int64		found;
	int64		removed;
} Removal;

/* Rows of one shard, limit and board. */
typedef struct RowGroup
{
	int64		shard;
	char	   *limit;
	char	   *board;
	int			nplayers;
	Datum		players[GROUP_ROWS];	/* texts */
} RowGroup;

/* Whether there are rows to remove. */
static bool
has_rows(Removal *r)
{
	uint64		n = lb_exec_once(psprintf("SELECT 1 FROM %s AS t WHERE %s LIMIT 1",
										  lb_qualified_name(r->table),
										  r->condition),
								 r->table, r->nargs, r->args);

	SPI_freetuptable(SPI_tuptable);
	return n > 0;
}

static void
lock_all_shards(const LbDefinition *defn)
{
	SPITupleTable *table;
	Datum	   *shards;
	uint64		n;

	n = lb_exec_once("SELECT s.shardid FROM pg_catalog.pg_dist_shard AS s WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1",
					 InvalidOid, LB_ARGS(lb_arg_regclass(defn->source)));
	table = SPI_tuptable;
	shards = palloc(Max(1, n) * sizeof(Datum));
	for (uint64 i = 0; i < n; i++)
		shards[i] = lb_row_datum(table, i, 1);
	lb_lock_shards(defn, shards, (int) n);
	SPI_freetuptable(table);
}

/*
 * The condition for these rows of a group, whose limit and board are the last
 * parameters.
 */
static char *
group_condition(const Removal *r, Datum *players, int n)
{
	Oid			type = get_atttype(r->table, get_attnum(r->table, "player_id"));
	char	   *array = OidOutputFunctionCall(F_ARRAY_OUT,
											  lb_make_array(TEXTOID, players, NULL, n));

	return psprintf("t.player_id OPERATOR(pg_catalog.=) ANY (CAST(%s AS %s[])) "
					"AND t.limit_name OPERATOR(pg_catalog.=) $%d AND t.board OPERATOR(pg_catalog.=) $%d AND (%s)",
					quote_literal_cstr(array),
					format_type_be_qualified(getBaseType(type)),
					r->nargs + 1, r->nargs + 2, r->condition);
}

/*
 * Lock the rows of a group, and delete those that are locked and still meet
 * the condition.
 */
static void
remove_group(Removal *r, RowGroup *group)
{
	int			nargs = r->nargs + 2;
	char	   *table = lb_qualified_name(r->table);
	SPITupleTable *locked;
	Datum	   *players;
	uint64		n;

	r->args[r->nargs] = lb_arg_text(group->limit);
	r->args[r->nargs + 1] = lb_arg_text(group->board);
	n = lb_exec_once(psprintf("SELECT CAST(t.player_id AS pg_catalog.text) FROM %s AS t WHERE %s "
							  "ORDER BY CAST(t.player_id AS pg_catalog.text) COLLATE pg_catalog.\"C\" FOR UPDATE%s",
							  table,
							  group_condition(r, group->players, group->nplayers),
							  r->wait ? "" : " SKIP LOCKED"),
					 r->table, nargs, r->args);
	if (n == 0)
		return;
	locked = SPI_tuptable;
	players = palloc(n * sizeof(Datum));
	for (uint64 i = 0; i < n; i++)
		players[i] = lb_row_datum(locked, i, 1);
	r->removed += lb_exec_once(psprintf("DELETE FROM %s AS t WHERE %s", table,
										group_condition(r, players, (int) n)),
							   r->table, nargs, r->args);
	SPI_freetuptable(locked);
}

/*
 * Remove rows in groups, as they come in the order of submits.  Citus raises
 * an error if a column of varchar is sorted after a cast alone.
 */
static void
remove_rows(Removal *r)
{
	char	   *table = lb_qualified_name(r->table);
	char	   *limit = r->max_rows == 0 ? "" :
		psprintf(" LIMIT %d", r->max_rows);
	Portal		portal = lb_open_cursor(psprintf("SELECT pg_catalog.get_shard_id_for_distribution_column(CAST(%s AS pg_catalog.regclass), CAST(t.player_id AS pg_catalog.text)), "
												 "t.limit_name, t.board, (CAST(t.player_id AS pg_catalog.text) OPERATOR(pg_catalog.||) '') COLLATE pg_catalog.\"C\" "
												 "FROM %s AS t WHERE %s ORDER BY 1, 2, 3, 4%s",
												 quote_literal_cstr(lb_qualified_name(r->scores->source)),
												 table, r->condition, limit),
										r->table, r->nargs, r->args);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "leaderboard rows beside",
												  ALLOCSET_DEFAULT_SIZES);
	RowGroup   *group = palloc(sizeof(RowGroup));
	uint64		n;

	do
	{
		SPITupleTable *rows;
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, GROUP_ROWS);
		n = SPI_processed;
		r->found += n;
		rows = SPI_tuptable;
		old = MemoryContextSwitchTo(context);
		group->nplayers = 0;
		for (uint64 i = 0; i < n; i++)
		{
			int64		shard = DatumGetInt64(lb_row_datum(rows, i, 1));
			char	   *of_limit = lb_row_text(rows, i, 2);
			char	   *board = lb_row_text(rows, i, 3);

			if (group->nplayers > 0 &&
				(shard != group->shard || strcmp(of_limit, group->limit) != 0 ||
				 strcmp(board, group->board) != 0))
			{
				remove_group(r, group);
				group->nplayers = 0;
			}
			group->shard = shard;
			group->limit = of_limit;
			group->board = board;
			group->players[group->nplayers++] = lb_row_datum(rows, i, 4);
		}
		if (group->nplayers > 0)
			remove_group(r, group);
		SPI_freetuptable(rows);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	while (n == GROUP_ROWS);
	MemoryContextDelete(context);
	SPI_cursor_close(portal);
}

/*
 * Remove rows of the table of that kind beside a leaderboard's scores, if
 * there is one.
 */
static void
run_removal(Removal *r, const char *leaderboard, LbRecord beside)
{
	int			nestlevel;
	LbUser		saved;

	r->table = lb_companion_of(leaderboard, beside);
	if (!OidIsValid(r->table))
		return;
	r->scores = lb_find_recorded(leaderboard);
	nestlevel = lb_begin_all_shards();
	lb_switch_to_owner(&saved, r->scores->owner, false);
	if (has_rows(r))
	{
		lock_all_shards(r->scores);
		remove_rows(r);
	}
	lb_restore_user(&saved);
	AtEOXact_GUC(true, nestlevel);
}

/*
 * The same for some of the rows; if there may be others that can be removed,
 * set *more.
 */
static int64
run_trim(Removal *r, const char *leaderboard, LbRecord beside, bool *more)
{
	run_removal(r, leaderboard, beside);
	if (r->found >= r->max_rows && r->removed > 0)
		*more = true;
	return r->removed;
}

void
lb_remove_usage(const char *leaderboard, const char *limit)
{
	Removal		r = {
		.condition = "t.limit_name OPERATOR(pg_catalog.=) $1",
		.nargs = 1,
		.args = {lb_arg_text(limit)},
		.wait = true
	};

	run_removal(&r, leaderboard, LB_RECORD_USAGE);
}

/* A value of the first row, in SPI_tuptable, as an argument. */
static LbArg
arg_of_result(Oid type, int column)
{
	bool		isnull;
	Datum		value = lb_row_nullable(SPI_tuptable, 0, column, &isnull);

	return lb_arg_or_null(type, value, isnull);
}

/* The keys of closed windows among the boards for which rows count. */
static LbArg
closed_boards(const char *leaderboard)
{
	static LbPlan plan;
	const LbDefinition *scores = lb_find_recorded(leaderboard);
	Oid			table = lb_companion_of(leaderboard, LB_RECORD_USAGE);
	Datum	   *boards;
	uint64		n;
	int			nestlevel;
	LbUser		saved;

	if (!OidIsValid(table))
		return lb_arg_null(TEXTARRAYOID);
	nestlevel = lb_begin_all_shards();
	lb_switch_to_owner(&saved, scores->owner, false);
	n = lb_exec_once(psprintf("SELECT DISTINCT t.board FROM %s AS t",
							  lb_qualified_name(table)),
					 table, LB_NO_ARGS);
	lb_restore_user(&saved);
	AtEOXact_GUC(true, nestlevel);
	boards = palloc(Max(1, n) * sizeof(Datum));
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		boards[i] = lb_row_datum(SPI_tuptable, i, 1);
	}
	(void) lb_own_exec(&plan,
					   "SELECT pg_catalog.array_agg(c.board) FROM @.lb_closed AS c WHERE c.board OPERATOR(pg_catalog.=) ANY ($1)",
					   LB_ARGS(lb_arg_array(TEXTOID, boards, NULL, (int) n)));
	return arg_of_result(TEXTARRAYOID, 1);
}

/*
 * As trim_usage() in maintain.c.  The limits and the closed windows are
 * parameters, since their tables are on this server only.
 */
int64
lb_trim_usage(const char *leaderboard, int max_rows, bool *more)
{
	static LbPlan plan;
	Removal		r = {
		.condition = "t.limit_name OPERATOR(pg_catalog.<>) ALL ($1) OR t.board OPERATOR(pg_catalog.=) ANY ($3) "
		"OR pg_catalog.timezone('UTC', t.since) OPERATOR(pg_catalog.+) "
		"($2)[pg_catalog.array_position($1, t.limit_name)] OPERATOR(pg_catalog.<=) pg_catalog.timezone('UTC', $4)",
		.max_rows = max_rows
	};

	(void) lb_own_exec(&plan,
					   "SELECT pg_catalog.array_agg(l.name), pg_catalog.array_agg(l.period) FROM @.lb_limit AS l",
					   LB_NO_ARGS);
	r.args[r.nargs++] = arg_of_result(TEXTARRAYOID, 1);
	r.args[r.nargs++] = arg_of_result(INTERVALARRAYOID, 2);
	r.args[r.nargs++] = closed_boards(leaderboard);
	r.args[r.nargs++] = lb_arg_time(GetCurrentTransactionStartTimestamp());
	return run_trim(&r, leaderboard, LB_RECORD_USAGE, more);
}

int64
lb_trim_anomalies(const char *leaderboard, TimestampTz before,
				  int max_rows, bool *more)
{
	Removal		r = {
		.condition = "t.noted_at OPERATOR(pg_catalog.<) $1",
		.nargs = 1,
		.args = {lb_arg_time(before)},
		.max_rows = max_rows
	};

	return run_trim(&r, leaderboard, LB_RECORD_ANOMALY, more);
}
