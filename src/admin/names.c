/*-------------------------------------------------------------------------
 *
 * names.c
 *	  Names of boards that the family "*" answers.
 *
 * The family "*" answers names that begin with any word and a colon, and names
 * of windows that need not be recorded.  A new board must not take such a name
 * if the family has rows for it: in its index, in its table, or in the
 * archive.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "admin/names.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/distributed.h"
#include "boards/live.h"
#include "boards/resolve.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "boards/target.h"
#include "leaderboards/as_owner.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/window.h"
#include "ledger/backlog.h"
#include "ledger/off_board.h"
#include "sql/spi.h"

/* A search for a board of a family whose value begins with a prefix. */
typedef struct PrefixScan
{
	LbSharedBoard *shared;
	const char *prefix;
	int			len;
	bool		found;
} PrefixScan;

static bool
find_prefix(uint32 hash, LbRef ref, void *arg)
{
	PrefixScan *scan = (PrefixScan *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);
	LbValue		value = lb_live_board_value(board);

	if (value.len < scan->len ||
		memcmp(value.data, scan->prefix, scan->len) != 0)
		return true;
	lb_apply_backlog(scan->shared, board);
	scan->found = board->index.members > 0 ||
		lb_rows_without_key(board->off_board) > 0;
	return !scan->found;
}

/*
 * Whether a family has boards that begin with a prefix, by its index.  Returns
 * false if the index does not know: it is not ready, or the transaction may
 * have written rows that are not in it.
 */
static bool
has_boards(LbDefinition *family, const char *prefix, bool *result)
{
	PrefixScan	scan;

	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return false;
	scan.shared = lb_shared_board_attach(family, false);
	scan.prefix = prefix;
	scan.len = strlen(prefix);
	scan.found = false;
	if (scan.shared == NULL)
		return false;
	for (int s = 0; s < LB_STRIPES && !scan.found; s++)
	{
		LbStripe   *stripe = &scan.shared->stripes[s];
		bool		ready;

		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
		ready = lb_shared_board_is(scan.shared, family->generation) &&
			lb_is_ready(scan.shared);
		if (ready)
			lb_stripe_walk(stripe, true, find_prefix, &scan);
		LWLockRelease(&stripe->lock);
		if (!ready)
			return false;
	}
	*result = scan.found;
	return true;
}

/*
 * The same by the table's rows, hidden ones included, with their owner's
 * rights.
 */
static bool
has_rows(const LbDefinition *family, const char *prefix)
{
	char	   *sql = psprintf("SELECT 1 FROM %s AS t WHERE pg_catalog.starts_with(CAST(t.%s AS pg_catalog.text), $1) LIMIT 1",
							   family->from_name,
							   lb_quoted(lb_board_column(family)));
	int			nestlevel = NewGUCNestLevel();
	bool		found;

	if (lb_distributed != NULL && family->problem == lb_engine_problem)
		lb_distributed->set_up(true);
	found = lb_run_as_owner(family, true, sql,
							LB_ARGS(lb_arg_text(prefix))) > 0;
	AtEOXact_GUC(true, nestlevel);
	return found;
}

/*
 * Whether windows with this prefix have been closed, or have archived
 * standings that are read through the family.
 */
static bool
has_past(const LbDefinition *family, const char *prefix)
{
	static LbPlan plan;
	char	   *end = pstrdup(prefix);

	/*
	 * These columns are in C order: the range ends before the next character.
	 */
	end[strlen(end) - 1]++;
	return lb_own_exec(&plan,
					   "SELECT FROM @.lb_closed c WHERE c.board OPERATOR(pg_catalog.>=) $1 "
					   "AND c.board OPERATOR(pg_catalog.<) $2 "
					   "UNION ALL "
					   "SELECT FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.>=) $1 "
					   "AND a.board OPERATOR(pg_catalog.<) $2 "
					   "AND (a.owner OPERATOR(pg_catalog.=) $3 OR a.source OPERATOR(pg_catalog.=) "
					   "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $4)) "
					   "LIMIT 1",
					   LB_ARGS(lb_arg_text(prefix), lb_arg_text(end),
							   lb_arg_name(GetUserNameFromId(family->owner, false)),
							   lb_arg_regclass(family->source))) > 0;
}

/*
 * Whether the table has archived standings with this prefix.  Those of an
 * earlier leaderboard, whose tables are gone, do not count.
 */
static bool
has_archived(const LbDefinition *family, const char *prefix)
{
	static LbPlan plan;

	return lb_own_exec(&plan,
					   "SELECT FROM @.lb_archive a WHERE pg_catalog.starts_with(a.board, $1) "
					   "AND a.source OPERATOR(pg_catalog.=) "
					   "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $2) "
					   "LIMIT 1",
					   LB_ARGS(lb_arg_text(prefix), lb_arg_regclass(family->source))) > 0;
}

static void
check_prefix(LbDefinition *family, const char *board, const char *prefix,
			 bool (*past) (const LbDefinition *family, const char *prefix))
{
	bool		found;

	SPI_connect();
	if (!has_boards(family, prefix, &found))
		found = has_rows(family, prefix);
	if (!found)
		found = past(family, prefix);
	SPI_finish();
	if (found)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("names of board \"%s\" are in use", board),
				 errdetail("The family \"*\" has boards, or has had windows, whose names begin with \"%s\".",
						   prefix),
				 errhint("Use another name.")));
}

/* The family "*", its table locked, if its values are texts; or NULL. */
static LbDefinition *
find_star(void)
{
	LbDefinition *star = lb_read_defn("*");
	LbTarget	target;

	if (star == NULL ||
		!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(star->source)))
		return NULL;
	lb_find_target("*", 1, &target);
	return target.defn->family && !target.defn->misfit &&
		lb_has_text_boards(target.defn) ? target.defn : NULL;
}

void
lb_check_answers(const char *board, bool family)
{
	LbDefinition *star;
	char	   *key;
	int			keylen;

	if (strcmp(board, "*") == 0)
		return;
	key = lb_window_alias(board, strlen(board), &keylen);
	if (key == NULL && !family)
		return;
	star = find_star();
	if (star == NULL)
		return;
	if (family)
		check_prefix(star, board, psprintf("%s:", board), has_past);
	if (key != NULL)
		check_prefix(star, board, pnstrdup(key, strcspn(key, ":") + 1), has_past);
}

/* Raise 42710 if a name begins with a prefix. */
static void
check_no_prefix(const char *name, const char *prefix, const char *what)
{
	if (strncmp(name, prefix, strlen(prefix)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("%s \"%s\" already exists", what, name),
				 errdetail("Windows of the leaderboard would have names that begin with \"%s\".",
						   prefix),
				 errhint("Use another name.")));
}

/*
 * Raise 42501 unless the caller may read all rows of the family "*": whether a
 * name is in use tells whether some of them have it.
 */
static void
require_rows(LbDefinition *star)
{
	char	   *table = get_rel_name(star->source);

	if (!lb_may_read(star))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for table %s", table),
				 errdetail("The names of windows must not be in use in the table of the family \"*\"."),
				 errhint("The table's owner can grant SELECT on it.")));
	if (check_enable_rls(star->source, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security of table \"%s\" hides names that may be in use",
						table),
				 errhint("A role to which no policies of the table apply can create the leaderboard.")));
}

void
lb_check_slash_names(const char *leaderboard)
{
	char	   *prefix = psprintf("%s/", leaderboard);
	LbDefinition *star;
	LbDefinition **defns;
	LbWindow  **windows;
	int			n = lb_all_defns(&defns);

	for (int i = 0; i < n; i++)
		check_no_prefix(defns[i]->name, prefix, "board");
	n = lb_windows(&windows);
	for (int i = 0; i < n; i++)
		check_no_prefix(windows[i]->calendar.name, prefix, "window");
	star = find_star();
	if (star == NULL)
		return;
	require_rows(star);
	check_prefix(star, leaderboard, prefix, has_archived);
}

void
lb_check_leaderboard_names(const char *board)
{
	const LbLeaderboard *leaderboard = lb_leaderboard_of_window(board);

	const char *rest;

	if (strcmp(leaderboard->name, LB_GLOBAL) == 0 ||
		strcmp(leaderboard->family, board) == 0)
		return;

	/* The family of a part of a distributed table: "kills/_102008". */
	rest = board + strlen(leaderboard->family);
	if (rest[0] == '_' && rest[1] != '\0' &&
		rest[1 + strspn(rest + 1, "0123456789")] == '\0')
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("leaderboard \"%s\" already exists", leaderboard->name),
			 errdetail("\"%s\" is the name of a window of it.", board),
			 errhint("Use another name.")));
}
