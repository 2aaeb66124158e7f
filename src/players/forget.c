/*-------------------------------------------------------------------------
 *
 * forget.c
 *	  Erasing a player: lb_forget_player() and its twin.
 *
 * One transaction removes the player's rows from the tables that scores are
 * submitted to, and from the extension's own tables.  The caller owns the
 * former, and their statements run as those of lb_close_season().
 *
 * Rows are locked in the order of submits (submit.c), of lb_entrant and
 * lb_usage too one leaderboard after the other.  The player is locked first,
 * against joining windows (join.c).  A submit of the player that is under
 * way may have inserted rows that a DELETE does not see.  So the transaction
 * first waits for it where it inserts scores (hide.c).  A submit that comes
 * later waits for the deleted rows of scores, and the player begins anew when
 * this transaction has committed.  What such submits have committed to
 * lb_applied and lb_usage before the scores were deleted is removed in a
 * second pass, which waits for no row: the row of a submit that waits for us
 * is that submit's.
 *
 * The keys of the player's windows are locked against being closed: standings
 * are archived before the player's name is taken out of lb_archive, or without
 * the player.
 *
 * Of distributed tables, the server that has the player's rows removes them,
 * by the same code, where submits of the player write them.  All else is on
 * the coordinator, with the archives: there the function is called.  The keys
 * of windows are locked here as well, at last when that server has told which
 * they were: the standings are looked at after that.  Where the player's rows
 * are on no certain server, submits write none.  Then the table is locked
 * against writers, and its owner's statement removes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/resolve.h"
#include "boards/target.h"
#include "leaderboards/as_owner.h"
#include "leaderboards/closed.h"
#include "leaderboards/entry.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/player.h"
#include "players/forget.h"
#include "players/hide.h"
#include "sql/spi.h"
#include "submit/hidden.h"
#include "submit/submission.h"
#include "windows/archive.h"
#include "windows/visit.h"

/* A call under way. */
typedef struct Forget
{
	FunctionCallInfo fcinfo;
	LbPlayerArgument argument;
	Datum		given;			/* the argument's value */
	Datum text;					/* the player as the extension's tables have
								 * it */
	const LbType *type;			/* of players */
	int			ndefns;
	const LbDefinition **defns; /* boards of these players */
	LbArg		foreign;		/* leaderboards of other players, for
								 * LB_IN_FAMILY() */
} Forget;

/* The extension's own tables, in the order of submits' locks. */
enum
{
	OWN_ENTRANT,
	OWN_APPLIED,
	OWN_USAGE,
	OWN_ANOMALY,
	OWN_EVENT,
	OWN_ARCHIVE,
	OWN_WATCHED,
	OWN_HIDDEN,
	NOWN
};

static const char *const own_tables[NOWN] = {
	"lb_entrant", "lb_applied", "lb_usage", "lb_anomaly", "lb_event",
	"lb_archive", "lb_watched", "lb_hidden"
};

static void
return_row(const Forget *f, Oid relation, int64 removed)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) f->fcinfo->resultinfo;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = ObjectIdGetDatum(relation);
	values[1] = Int64GetDatum(removed);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Add a board if it is recorded and has players of the type; returns false if
 * it has others.
 */
static bool
add_board(Forget *f, const char *name)
{
	const LbDefinition *defn = lb_find_recorded(name);

	if (defn == NULL)
		return true;
	lb_require_fit(unconstify(LbDefinition *, defn));
	if (lb_is_distributed(defn))
		lb_require_distributed()->require_coordinator(defn,
													  lb_player_function(&f->argument));
	if (f->type == NULL)
		f->type = lb_require_player_type(defn);
	if (lb_player_type(defn) != f->type)
		return false;
	f->defns[f->ndefns++] = defn;
	return true;
}

/*
 * Find the boards of all leaderboards whose players are of the type of those
 * of "global", in the order of submits, with the tables locked.  The caller
 * must own them.  Raises 42704 if there is none.
 */
static void
find_boards(Forget *f)
{
	const char **names;
	int			n = lb_leaderboard_boards(&names);
	const LbDefinition *first = lb_find_recorded(LB_GLOBAL);
	Datum	   *foreign = palloc((n + 1) * sizeof(Datum));
	int			nforeign = 0;
	LbTarget	target;

	if (first != NULL)
		f->type = lb_require_player_type(first);
	f->defns = palloc(n * sizeof(LbDefinition *));
	foreign[nforeign++] = CStringGetTextDatum("");
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();

		/* Of both boards, the name of the leaderboard. */
		if (!add_board(f, names[i]))
			foreign[nforeign++] = CStringGetTextDatum(names[i - i % 2]);
	}
	f->foreign = lb_arg_array(TEXTOID, foreign, NULL, nforeign);
	if (f->ndefns == 0)
		lb_find_target(LB_GLOBAL, strlen(LB_GLOBAL), &target);
	for (int i = 0; i < f->ndefns; i++)
	{
		lb_require_owner(f->defns[i]->source);
		lb_require_all_rows(f->defns[i], "A player is removed from all rows, and policies can keep rows from the owner.");
	}
}

/*
 * Read the player's keys of a family, with the rows locked if lock is set,
 * lock these windows, and add their keys to *keys.
 */
static void
lock_windows(const LbDefinition *defn, LbArg player, bool lock, List **keys)
{
	const char *column = lb_quoted(lb_board_column(defn));
	uint64		n;
	ListCell   *lc;

	n = lb_run_as_owner(defn, true,
						psprintf("SELECT CAST(%s AS pg_catalog.text) FROM %s WHERE %s OPERATOR(pg_catalog.=) $1 "
								 "ORDER BY CAST(%s AS pg_catalog.text) COLLATE pg_catalog.\"C\"%s",
								 column, defn->from_name,
								 lb_quoted(lb_member_column(defn)), column,
								 lock ? " FOR UPDATE" : ""),
						LB_ARGS(player));
	foreach(lc, lb_keys_of_result(n))
	{
		char	   *key = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (key == NULL)
			continue;
		lb_window_lock(key, strlen(key), RowExclusiveLock);
		*keys = lappend(*keys, key);
	}
}

/* The DELETE of a player, $1, from a board's table. */
static char *
delete_text(const LbDefinition *defn)
{
	return psprintf("DELETE FROM %s WHERE %s OPERATOR(pg_catalog.=) $1",
					defn->from_name, lb_quoted(lb_member_column(defn)));
}

uint64
lb_forget_scores(const LbDefinition *defn, const LbType *type, Datum player,
				 List **keys)
{
	LbArg		arg = lb_arg(type->oid, player);
	const char *sql = delete_text(defn);
	uint64		n = 0;

	do
	{
		if (defn->family)
			lock_windows(defn, arg, true, keys);
		n += lb_write_for_owner(defn, sql, LB_ARGS(arg));
	}
	while (lb_wait_for_rows(defn, type, player));
	return n;
}

/* The player on a board. */
static LbArg
player_on(const Forget *f, const LbDefinition *defn)
{
	Datum		player = lb_player_from(defn, f->type, f->given, &f->argument);

	return lb_arg(f->type->oid, lb_player_as_sought(defn, player));
}

/* Remove the player's rows of a board's table. */
static void
forget_scores(Forget *f, const LbDefinition *defn)
{
	LbArg		player = player_on(f, defn);
	List	   *keys = NIL;

	if (!lb_is_distributed(defn))
	{
		return_row(f, defn->source,
				   (int64) lb_forget_scores(defn, f->type, player.value, &keys));
		return;
	}
	lb_require_distributed()->lock(defn);
	if (defn->family)
		lock_windows(defn, player, false, &keys);
	return_row(f, defn->source,
			   (int64) lb_write_for_owner(defn, delete_text(defn), LB_ARGS(player)));
}

/*
 * Have the server that has the player's rows of n boards, which are of one
 * leaderboard, remove them.  The keys of windows are locked before, as far as
 * they are known, since closing a window may lock them here first as well.
 */
static void
forward_forget(Forget *f, const LbDefinition **defns, int n)
{
	LbForgotten *rows;
	List	   *keys = NIL;
	int			nrows;

	for (int i = 0; i < n; i++)
	{
		if (defns[i]->family)
			lock_windows(defns[i], player_on(f, defns[i]), false, &keys);
	}
	nrows = lb_distributed->forward_forget(defns, n, DatumGetTextPP(f->text),
										   &rows);
	for (int i = 0; i < nrows; i++)
	{
		ListCell   *lc;

		foreach(lc, rows[i].keys)
			lb_window_lock(lfirst(lc), strlen(lfirst(lc)), RowExclusiveLock);
		if (OidIsValid(rows[i].table))
			return_row(f, rows[i].table, rows[i].removed);
	}
}

/*
 * Whether one server has a player's rows of a board's table, which is
 * distributed.
 */
static bool
is_forwarded(const Forget *f, const LbDefinition *defn)
{
	return lb_is_distributed(defn) &&
		lb_require_distributed()->is_on_one_server(defn, DatumGetTextPP(f->text));
}

/*
 * Remove the player's rows of n boards, which are of one leaderboard, and of
 * the companions of their tables.
 */
static void
forget_leaderboard(Forget *f, const LbDefinition **defns, int n)
{
	const LbDefinition **forwarded = palloc(n * sizeof(LbDefinition *));
	int			nforwarded = 0;

	for (int i = 0; i < n; i++)
	{
		if (is_forwarded(f, defns[i]))
			forwarded[nforwarded++] = defns[i];
	}
	if (nforwarded > 0)
		forward_forget(f, forwarded, nforwarded);
	for (int i = 0; i < n; i++)
	{
		if (!is_forwarded(f, defns[i]))
			forget_scores(f, defns[i]);
	}
}

/* Whether a board's name is of none of the leaderboards $2. */
#define OF_NONE(column) "(" LB_IN_FAMILY(column, "$2") ")"

/*
 * Remove the player's rows, $1, of one of the extension's own tables; returns
 * how many.  $2 are names of leaderboards.
 */
static int64
run_own(const Forget *f, const char *sql, LbArg leaderboards)
{
	return (int64) lb_own_exec_once(sql,
									LB_ARGS(lb_arg(TEXTOID, f->text), leaderboards));
}

/* The player's rows t of a table that meet a condition. */
static const char *
rows_of(const char *table, const char *condition)
{
	return psprintf("FROM @.%s t WHERE t.player_id OPERATOR(pg_catalog.=) $1 AND %s",
					table, condition);
}

/* Lock these rows in an order. */
static void
lock_rows(const Forget *f, const char *rows, const char *order,
		  LbArg leaderboards)
{
	(void) run_own(f, psprintf("SELECT pg_catalog.count(*) FROM (SELECT %s ORDER BY %s FOR UPDATE) l",
							   rows, order),
				   leaderboards);
}

/* Remove them; returns how many. */
static int64
delete_rows(const Forget *f, const char *rows, LbArg leaderboards)
{
	return run_own(f, psprintf("DELETE %s", rows), leaderboards);
}

/*
 * The condition that a row t is of a board of a leaderboard, for run_own(),
 * and the names of leaderboards that it takes.  All that is of no other
 * leaderboard is of "global".
 */
static const char *
of_leaderboard(const char *leaderboard, LbArg *names)
{
	Datum		name[] = {CStringGetTextDatum(""), CStringGetTextDatum(leaderboard)};

	if (strcmp(leaderboard, LB_GLOBAL) == 0)
	{
		*names = lb_arg_family("*");
		return OF_NONE("t.board");
	}
	*names = lb_arg_array(TEXTOID, name, NULL, 2);
	return "NOT " OF_NONE("t.board");
}

/* Take the player out of the windows of a leaderboard that players join. */
static int64
forget_entries(const Forget *f, const char *leaderboard)
{
	LbArg		names;
	const char *rows = rows_of("lb_entrant", of_leaderboard(leaderboard, &names));

	lock_rows(f, rows, "t.board", names);
	(void) run_own(f, psprintf("SELECT pg_catalog.count(*) FROM (SELECT FROM @.lb_entry_count c WHERE c.board OPERATOR(pg_catalog.=) ANY (ARRAY("
							   "SELECT t.board %s)) ORDER BY c.board FOR NO KEY UPDATE) l", rows),
				   names);
	(void) run_own(f, psprintf("UPDATE @.lb_entry_count c SET entrants = c.entrants OPERATOR(pg_catalog.-) 1 "
							   "%s AND c.board OPERATOR(pg_catalog.=) t.board", rows),
				   names);
	return delete_rows(f, rows, names);
}

/* Remove what limits have counted on a leaderboard. */
static int64
forget_usage(const Forget *f, const char *leaderboard)
{
	LbArg		names;
	const char *rows = rows_of("lb_usage", of_leaderboard(leaderboard, &names));

	lock_rows(f, rows, "t.limit_name, t.board", names);
	return delete_rows(f, rows, names);
}

/*
 * The leaderboard that a board is of, if it is the first of f->defns of this
 * leaderboard; else NULL.
 */
static const char *
first_of_leaderboard(const Forget *f, int i)
{
	bool		windows;
	const LbLeaderboard *this = lb_leaderboard_of_board(f->defns[i]->name,
														&windows);
	const LbLeaderboard *before = i == 0 ? NULL :
		lb_leaderboard_of_board(f->defns[i - 1]->name, &windows);

	return this == NULL ||
		(before != NULL && strcmp(this->name, before->name) == 0) ? NULL :
		pstrdup(this->name);
}

/* The player is hidden no more. */
static int64
forget_hidden(const Forget *f)
{
	Datum	   *names = palloc(f->ndefns * sizeof(Datum));

	for (int i = 0; i < f->ndefns; i++)
		names[i] = CStringGetTextDatum(f->defns[i]->name);
	return lb_forget_hidden(DatumGetTextPP(f->text), f->type->sql_name,
							lb_make_array(TEXTOID, names, NULL, f->ndefns));
}

/*
 * Remove what the player has joined, the matches, and leaderboard by
 * leaderboard usage and scores.
 */
static void
forget_boards(Forget *f, int64 *removed)
{
	const char *leaderboard;

	removed[OWN_ENTRANT] = 0;
	for (int i = 0; i < f->ndefns; i++)
	{
		leaderboard = first_of_leaderboard(f, i);
		if (leaderboard != NULL)
			removed[OWN_ENTRANT] += forget_entries(f, leaderboard);
	}
	removed[OWN_APPLIED] =
		run_own(f, "DELETE FROM @.lb_applied WHERE player_id OPERATOR(pg_catalog.=) $1 "
				"AND leaderboard OPERATOR(pg_catalog.<>) ALL ($2)",
				f->foreign);
	removed[OWN_USAGE] = 0;
	for (int i = 0, n; i < f->ndefns; i += n)
	{
		leaderboard = first_of_leaderboard(f, i);

		/* It can have gone with one of its tables; the other one is locked. */
		if (leaderboard != NULL)
		{
			removed[OWN_USAGE] += forget_usage(f, leaderboard);
			lb_lock_hidden(leaderboard, DatumGetTextPP(f->text), ExclusiveLock);
		}
		for (n = 1; i + n < f->ndefns; n++)
		{
			if (first_of_leaderboard(f, i + n) != NULL)
				break;
		}
		forget_leaderboard(f, f->defns + i, n);
	}
}

/* What submits write after them, and what was written meanwhile. */
static void
forget_after(const Forget *f, int64 *removed)
{
	const char *anomalies = rows_of("lb_anomaly", OF_NONE("t.board"));
	const char *events = rows_of("lb_event", "EXISTS (SELECT FROM pg_catalog.unnest(t.boards) AS b (name) WHERE "
								 OF_NONE("b.name") ")");

	lock_rows(f, anomalies, "t.limit_name, t.board", f->foreign);
	removed[OWN_ANOMALY] = delete_rows(f, anomalies, f->foreign);
	removed[OWN_EVENT] = delete_rows(f, events, f->foreign);
	removed[OWN_APPLIED] +=
		run_own(f, "DELETE FROM @.lb_applied WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
				"SELECT ctid FROM @.lb_applied WHERE player_id OPERATOR(pg_catalog.=) $1 "
				"AND leaderboard OPERATOR(pg_catalog.<>) ALL ($2) FOR UPDATE SKIP LOCKED))",
				f->foreign);
	removed[OWN_USAGE] +=
		run_own(f, "DELETE FROM @.lb_usage WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
				"SELECT t.ctid FROM @.lb_usage t WHERE t.player_id OPERATOR(pg_catalog.=) $1 AND "
				OF_NONE("t.board") " FOR UPDATE SKIP LOCKED))",
				f->foreign);
}

/*
 * Remove the player from standings and watches: standings that came from these
 * tables, or from earlier tables of the same owners.  The places of the others
 * stay as they were, so the row stays without its member.
 */
static void
forget_standings(const Forget *f, int64 *removed)
{
	LbArg		player = lb_arg(TEXTOID, f->text);
	Datum	   *sources = palloc(f->ndefns * sizeof(Datum));
	Datum	   *owners = palloc(f->ndefns * sizeof(Datum));
	Datum	   *names = palloc(f->ndefns * sizeof(Datum));
	Datum	   *ids = palloc(f->ndefns * sizeof(Datum));

	for (int i = 0; i < f->ndefns; i++)
	{
		sources[i] = ObjectIdGetDatum(f->defns[i]->source);
		owners[i] = lb_arg_owner(f->defns[i]).value;
		names[i] = CStringGetTextDatum(f->defns[i]->name);
		ids[i] = Int32GetDatum(f->defns[i]->id);
	}
	removed[OWN_ARCHIVE] = (int64)
		lb_own_exec_once("UPDATE @.lb_archive AS a SET member = NULL WHERE a.member OPERATOR(pg_catalog.=) $1 AND ("
						 "EXISTS (SELECT FROM @.lb_archive_source s WHERE s.id OPERATOR(pg_catalog.=) a.source "
						 "AND s.source OPERATOR(pg_catalog.=) ANY ($2)) "
						 "OR (a.owner OPERATOR(pg_catalog.=) ANY ($3) "
						 "AND (a.season OPERATOR(pg_catalog.=) '' OR a.board OPERATOR(pg_catalog.=) ANY ($4))))",
						 LB_ARGS(player, lb_arg_array(REGCLASSOID, sources, NULL, f->ndefns),
								 lb_arg_array(NAMEOID, owners, NULL, f->ndefns),
								 lb_arg_array(TEXTOID, names, NULL, f->ndefns)));
	removed[OWN_WATCHED] = (int64)
		lb_own_exec_once("DELETE FROM @.lb_watched WHERE member OPERATOR(pg_catalog.=) $1 "
						 "AND board_id OPERATOR(pg_catalog.=) ANY ($2)",
						 LB_ARGS(player, lb_arg_array(INT4OID, ids, NULL, f->ndefns)));

	/* The next round notifies that the player is gone from these places. */
	removed[OWN_WATCHED] += (int64)
		lb_own_exec_once("UPDATE @.lb_watched SET last_members = pg_catalog.array_replace(last_members, $1, NULL) "
						 "WHERE $1 OPERATOR(pg_catalog.=) ANY (last_members) AND board_id OPERATOR(pg_catalog.=) ANY ($2)",
						 LB_ARGS(player, lb_arg_array(INT4OID, ids, NULL, f->ndefns)));
}

/* lb_forget_player(), or its twin. */
static Datum
forget_player(FunctionCallInfo fcinfo, bool as_text)
{
	Forget		f = {
		.fcinfo = fcinfo,
		.argument = {{"member", "lb_forget_player"}, as_text},
		.given = PG_GETARG_DATUM(0)
	};
	const char *function = lb_player_function(&f.argument);
	int64		removed[NOWN];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
	if (PG_ARGISNULL(0))
		lb_null_argument("member");
	lb_require_read_committed(function);
	InitMaterializedSRF(fcinfo, 0);
	find_boards(&f);
	f.text = lb_value_to_text(f.type, player_on(&f, f.defns[0]).value);
	SPI_connect();
	lb_lock_entries_of("lb_entrant", f.text, ExclusiveLock);
	removed[OWN_HIDDEN] = forget_hidden(&f);
	forget_boards(&f, removed);
	forget_after(&f, removed);
	forget_standings(&f, removed);
	SPI_finish();
	for (int i = 0; i < NOWN; i++)
		return_row(&f, lb_own_table(own_tables[i]), removed[i]);
	return (Datum) 0;
}

LB_TWINS(lb_forget_player, forget_player)
