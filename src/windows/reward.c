/*-------------------------------------------------------------------------
 *
 * reward.c
 *	  Rewards: a function of the owner's for each window that is closed.
 *
 * lb_reward has the functions, by windows.  The transaction that closes a
 * window enters the key in lb_payout.  Later the worker, or lb_maintain(),
 * calls the function with the final standings.  The same transaction sets
 * paid_at.  So what the function did and the note that it did it are committed
 * together, or neither is: after an error or a crash, it is called again, and
 * never after it has succeeded.  The row of lb_payout is locked meanwhile, so
 * that of two sessions only one calls the function.
 *
 * A payout belongs to the table that has the window's rows, by its number in
 * lb_archive_source: a later leaderboard of the same name has another one.
 * Payouts that are due end with their window.  If a session is calling the
 * function meanwhile, the payout stays, and no other table's function is
 * called for it.  So DROP TABLE waits for no function, which may itself wait
 * for the table.
 *
 * The function runs in a subtransaction, with the rights of the owner of the
 * windows' table, as a security-restricted operation.  It must belong to that
 * owner.  In the worker the step has leaderboard.reward_timeout (visit.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "boards/catalog.h"
#include "boards/distributed.h"
#include "boards/target.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/window.h"
#include "reads/json.h"
#include "reads/read.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "windows/archive.h"
#include "windows/reward.h"

PG_FUNCTION_INFO_V1(lb_set_reward);

int			lb_reward_timeout = 60;

/* What a function takes: the key of the window, and the standings. */
static const Oid argument_types[] = {TEXTOID, JSONBOID};

/* A leaderboard's windows, or NULL. */
static const LbDefinition *
find_family(const char *family)
{
	const LbDefinition *defn = lb_find_recorded(family);

	return defn != NULL && defn->family ? defn : NULL;
}

/*
 * The same, with no lock on the table when it returns: the function may run
 * for long, and a session that waits to alter the table keeps all others from
 * it.
 */
static const LbDefinition *
find_family_unlocked(const char *family)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	const LbDefinition *volatile defn = NULL;

	/* Its locks end with a subtransaction that is rolled back. */
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		defn = find_family(family);
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		/* If the table is locked, the next visit tries again. */
		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		if (edata->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			PG_RE_THROW();
		FlushErrorState();
		FreeErrorData(edata);
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return defn;
}


/* ----------------------------------------------------------------
 *		lb_set_reward
 * ----------------------------------------------------------------
 */

/*
 * Raise an error unless the owner of the windows' table may have this function
 * called for them.
 */
static void
check_function(const LbDefinition *family, Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc proc;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", function)));
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	if (proc->prokind != PROKIND_FUNCTION || proc->pronargs != 2 ||
		proc->proargtypes.values[0] != TEXTOID ||
		proc->proargtypes.values[1] != JSONBOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s cannot be called for rewards",
						format_procedure(function)),
				 errhint("Use a function of (text, jsonb): the key of a window, and its standings.")));
	if (proc->proowner != family->owner)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("function %s must belong to the owner of table \"%s\"",
						format_procedure(function),
						get_rel_name(family->source)),
				 errdetail("It is called with the rights of that role.")));
	ReleaseSysCache(tuple);
}

Datum
lb_set_reward(PG_FUNCTION_ARGS)
{
	static LbPlan plans[2];
	bool		drop = PG_ARGISNULL(1);
	char	   *name;
	char	   *function_name = NULL;
	const LbDefinition *family;
	Oid			function = PG_GETARG_OID(1);

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_set_reward()");
	if (PG_ARGISNULL(0))
		lb_null_argument("window_name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	family = lb_window_find(name, strlen(name)) == NULL ? NULL :
		find_family(lb_leaderboard_of_window(name)->family);
	if (family == NULL)
		lb_window_not_found(name, NULL);
	lb_require_owner(family->source);

	/* The coordinator closes windows of distributed tables, and calls it. */
	if (lb_is_distributed(family))
		lb_require_distributed()->require_coordinator(family, "lb_set_reward()");
	if (!drop)
	{
		check_function(family, function);
		function_name = quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
												   get_func_name(function));
	}
	SPI_connect();
	(void) lb_own_exec(&plans[drop], drop ?
					   "DELETE FROM @.lb_reward WHERE name OPERATOR(pg_catalog.=) $1" :
					   "INSERT INTO @.lb_reward (name, function) VALUES ($1, $2) "
					   "ON CONFLICT (name) DO UPDATE SET function = excluded.function",
					   LB_ARGS(lb_arg_text(name), lb_arg_text(function_name)));
	SPI_finish();
	PG_RETURN_VOID();
}


/* ----------------------------------------------------------------
 *		Closed windows
 * ----------------------------------------------------------------
 */

/*
 * A key can be closed again, after the tables were dropped.  It is not
 * rewarded twice.
 */
void
lb_note_reward(const LbDefinition *family, const char *window, const char *key)
{
	static LbPlan plan;

	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_payout AS p (board, name, source) SELECT $1, r.name, $3 FROM @.lb_reward r "
					   "WHERE r.name OPERATOR(pg_catalog.=) $2 ON CONFLICT (board) DO UPDATE SET name = excluded.name, "
					   "source = excluded.source, closed_at = excluded.closed_at, attempts = excluded.attempts, "
					   "problem = excluded.problem WHERE p.paid_at IS NULL",
					   LB_ARGS(lb_arg_text(key), lb_arg_text(window), lb_arg_int4(lb_archive_source(family))));
}

void
lb_rewards_end(const char *family)
{
	(void) lb_own_exec_latest("DELETE FROM @.lb_payout d WHERE d.paid_at IS NULL AND d.ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
							  "SELECT p.ctid FROM @.lb_payout p WHERE p.paid_at IS NULL AND "
							  LB_IN_FAMILY("p.name", "$1") " FOR UPDATE SKIP LOCKED))",
							  LB_ARGS(lb_arg_family(family)));
}

/*
 * The standings of a closed window, as an array of objects.  Members that have
 * been erased are left out.
 */
static Datum
read_standings(const LbDefinition *family, const char *key)
{
	static LbPlan plan;
	SPITupleTable *rows;
	StringInfoData buf;
	uint64		n;
	int			nestlevel;

	n = lb_own_exec(&plan,
					"SELECT CAST(a.place AS pg_catalog.text), CAST(a.rank AS pg_catalog.text), a.member, a.score "
					"FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.=) $1 AND a.season OPERATOR(pg_catalog.=) '' "
					"AND (a.owner OPERATOR(pg_catalog.=) $2 OR a.source OPERATOR(pg_catalog.=) $3) "
					"AND a.member IS NOT NULL ORDER BY a.place",
					LB_ARGS(lb_arg_text(key), lb_arg_owner(family),
							lb_arg_int4(lb_archive_source(family))));
	rows = SPI_tuptable;
	initStringInfo(&buf);
	appendStringInfoChar(&buf, '[');

	/* Whatever the session has set. */
	nestlevel = lb_begin_texts();
	lb_set_locally("leaderboard.json_bigint", "number");
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		appendStringInfo(&buf, "%s{\"place\":%s,\"rank\":%s,\"player_id\":",
						 i > 0 ? "," : "", lb_row_text(rows, i, 1),
						 lb_row_text(rows, i, 2));
		lb_append_member_json(&buf, family, lb_row_text(rows, i, 3));
		appendStringInfoString(&buf, ",\"score\":");
		lb_append_score_json(&buf, family, lb_row_text(rows, i, 4));
		appendStringInfoChar(&buf, '}');
	}
	AtEOXact_GUC(true, nestlevel);
	appendStringInfoChar(&buf, ']');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(buf.data));
}

/* Call it with the owner's rights. */
static void
call(LbVisit *visit, const LbDefinition *defn, LbArg key, LbArg standings)
{
	LbUser		saved;

	lb_switch_to_owner(&saved, defn->owner, false);
	(void) lb_exec_once(psprintf("SELECT %s($1, $2)", visit->paying.function),
						InvalidOid, LB_ARGS(key, standings));
	lb_restore_user(&saved);
}

/*
 * Call the function that paying.function names for a key of family defn, and
 * note that.  The note comes first: after it nothing of ours can fail.
 */
static void
pay(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	static LbPlan plan;
	LbArg		standings;

	check_function(defn, LookupFuncName(textToQualifiedNameList(cstring_to_text(visit->paying.function)),
										2, argument_types, false));
	standings = lb_arg(JSONBOID, read_standings(defn, key));
	(void) lb_own_exec(&plan,
					   "UPDATE @.lb_payout SET paid_at = pg_catalog.clock_timestamp(), problem = NULL "
					   "WHERE board OPERATOR(pg_catalog.=) $1",
					   LB_ARGS(lb_arg_text(key)));

	/*
	 * The owner's rights end with the call, so no trigger may wait for the
	 * commit.
	 */
	(void) SPI_execute("SET CONSTRAINTS ALL IMMEDIATE", false, 0);
	call(visit, defn, lb_arg_text(key), standings);
}

/*
 * Note that the function is going to be called.  The worker commits that
 * before the call: one that ends the worker, or the server, comes last the
 * next time.
 */
static void
note_attempt(const char *key)
{
	static LbPlan plan;

	(void) lb_own_exec(&plan,
					   "UPDATE @.lb_payout SET attempts = attempts OPERATOR(pg_catalog.+) 1, "
					   "problem = COALESCE(problem, 'the call has not ended') WHERE board OPERATOR(pg_catalog.=) $1",
					   LB_ARGS(lb_arg_text(key)));
}

/* Note that a call has failed, and why. */
static void
note_problem(const char *key, const char *problem)
{
	static LbPlan plan;

	(void) lb_own_exec(&plan,
					   "UPDATE @.lb_payout SET problem = $2 WHERE board OPERATOR(pg_catalog.=) $1",
					   LB_ARGS(lb_arg_text(key), lb_arg_text(problem)));
}

/*
 * The key of a window of this family that is to be rewarded, with its
 * function, and its row of lb_payout locked; NULL if there is no other in this
 * visit.  Those that have failed come last.  If paying.key is set, it is that
 * one, or none.
 */
static char *
next_payout(LbVisit *visit, const LbDefinition *family)
{
	static LbPlan plan;
	char	   *key = NULL;
	MemoryContext old;

	if (lb_own_exec(&plan,
					"SELECT p.board, r.function FROM @.lb_payout p, @.lb_reward r, @.lb_archive_source s "
					"WHERE p.paid_at IS NULL AND r.name OPERATOR(pg_catalog.=) p.name "
					"AND s.id OPERATOR(pg_catalog.=) p.source AND s.source OPERATOR(pg_catalog.=) $2 "
					"AND (p.board OPERATOR(pg_catalog.=) $3 OR ($3 IS NULL AND p.board OPERATOR(pg_catalog.<>) ALL ($1))) "
					"ORDER BY p.attempts, p.closed_at, p.board LIMIT 1 FOR NO KEY UPDATE OF p SKIP LOCKED",
					LB_ARGS(lb_arg_text_list(visit->paying.tried), lb_arg_regclass(family->source),
							lb_arg_text(visit->paying.key))) > 0)
	{
		visit->paying.function = lb_row_text(SPI_tuptable, 0, 2);
		old = MemoryContextSwitchTo(visit->context);
		key = lb_row_text(SPI_tuptable, 0, 1);
		visit->paying.tried = lappend(visit->paying.tried, key);
		MemoryContextSwitchTo(old);
	}
	SPI_freetuptable(SPI_tuptable);
	return key;
}

/*
 * The same for one family of windows.  The worker needs two transactions for
 * each: in the first it notes the attempt, and sets visit->paying.key.
 */
static bool
pay_one(LbVisit *visit, const LbDefinition *family)
{
	char	   *key;

	while ((key = next_payout(visit, family)) != NULL)
	{
		bool		paid;

		if (visit->paying.key == NULL)
		{
			if (lb_visit_must_end(visit))
				return true;
			note_attempt(key);
		}
		if (visit->one && visit->paying.key == NULL)
		{
			visit->paying.key = key;
			visit->done.more = true;
			return true;
		}
		paid = lb_attempt_within(lb_reward_timeout, pay,
								 psprintf("reward window \"%s\"", key), visit,
								 family, key);
		visit->paying.key = NULL;
		if (!paid && visit->limits.problem != NULL)
			note_problem(key, visit->limits.problem);
		if (paid || visit->one)
		{
			visit->done.more = true;
			return true;
		}
	}
	return false;
}

bool
lb_pay_reward(LbVisit *visit)
{
	const char **boards;
	int			n = lb_leaderboard_boards(&boards);

	for (int i = 1; i < n; i += 2)
	{
		const LbDefinition *family = find_family_unlocked(boards[i]);

		/* lb_maintain() does what is its caller's. */
		if (family != NULL && !family->misfit &&
			pg_class_ownercheck(family->source, GetUserId()) &&
			pay_one(visit, family))
			return true;
	}

	/* Another session pays that one, or has dropped its leaderboard. */
	if (visit->paying.key != NULL)
	{
		visit->paying.key = NULL;
		return true;
	}
	return false;
}
