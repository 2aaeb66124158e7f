/*-------------------------------------------------------------------------
 *
 * chaos.c
 *	  Disturbs a server on which oracle.c compares answers.
 *
 *	chaos -d conninfo [-s seed] [-k] [-b] [-q]
 *
 * One action after the other, chosen at random: terminates the extension's
 * processes and backends, cancels statements, reloads settings, rebuilds
 * boards, rewrites tables and indexes, alters triggers, moves a partition out
 * and in, copies and drops databases, prepares transactions and leaves them for
 * a while, keeps old snapshots.  Goes on until SIGTERM, then undoes what it has
 * left.  With -k it also kills processes, and the server with them; it must run
 * as the server's user then.  With -b a process goes on for a moment, and builds a
 * board again and again: what oracle.c compares at its end must bear that.
 *
 * The database is that of a running oracle.c (its -X starts this program).
 * Others are made and dropped.  The actions follow from the seed; how they
 * meet the others does not.  Each is written down, with its time and what came
 * of it.  -q leaves that out.
 *
 * What this program reads from a board it compares too: in copied databases,
 * and in old snapshots.  An error that no action explains, an internal error
 * among them, is a failure.  The last line is "N passed, N failed", in
 * comparisons.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

static const char *conninfo = "";
static bool kills = false;
static bool builds_on = false;
static bool quiet = false;
static uint64_t seed = 1;
static double began;
static volatile sig_atomic_t stopping = 0;

static PGconn *conn;			/* the oracle's database */
static PGconn *old;				/* the same, for an old snapshot */
static bool old_open = false;
static double old_until;
static bool partitioned = false;
static bool memory_reloads = false; /* leaderboard.memory can be reloaded */

static int	copies = 0;			/* databases made so far */
static int	prepared = 0;		/* transactions prepared so far */
static double normal_memory_at = 0; /* when memory suffices again */
static double memory_raised_at = 0; /* when it did last */
static double triggers_at = 0;	/* when a disabled trigger is enabled again */
static double last_kill = 0;

static int64_t passed = 0;

/* How often each action was taken, and how often an error was in its way. */
typedef struct Action
{
	const char *name;
	int			weight;
	void		(*act) (void);
	int			taken;
	int			hindered;
} Action;

static Action *current;
static char what[2000];			/* the current action is about */

/* The oracle's tables and boards. */
static const char *const tables[] = {
	"o_plain", "o_dense", "o_family", "o_parts"
};
static const char *const boards[] = {
	"plain", "worst", "dense", "fam", "*", "plain_counts", "dense_counts",
	"fam_counts", "parts_counts"
};

static void fail(const char *fmt,...)
			__attribute__((format(printf, 1, 2), noreturn));

static void
fail(const char *fmt,...)
{
	va_list		args;
	char	   *message;

	va_start(args, fmt);
	message = format_va(fmt, args);
	va_end(args);
	printf("\nFAILED in chaos (seed %" PRIu64 ", %.3f s, %s): %s\n", seed,
		   now() - began, current == NULL ? "start" : current->name, message);
	printf("%" PRId64 " passed, 1 failed\n", passed);
	fflush(stdout);
	exit(1);
}

static void
write_down(const char *outcome)
{
	if (!quiet)
		printf("chaos %8.3f %s%s%s: %s\n", now() - began,
			   current == NULL ? "end" : current->name,
			   what[0] == '\0' ? "" : " ", what, outcome);
}

/* ----------------------------------------------------------------
 *	Statements
 * ----------------------------------------------------------------
 */

/*
 * A connection to this database, or to the one of conninfo if it is NULL.  The
 * server may be restarting.
 */
static PGconn *
connect_to(const char *dbname)
{
	char	   *s = dbname == NULL ? format("%s", conninfo) :
		format("%s dbname=%s", conninfo, dbname);
	PGconn	   *c = connect_within(s, "SET client_min_messages = error;"
								   "SET application_name = 'chaos';"
								   "SET statement_timeout = '10min';"
								   "SET deadlock_timeout = '20ms';"
								   "SET lock_timeout = '100ms'", PATIENCE);

	if (PQstatus(c) != CONNECTION_OK)
		fail("could not connect: %s", PQerrorMessage(c));
	free(s);
	return c;
}

static void
reconnect(PGconn **c)
{
	if (PQstatus(*c) != CONNECTION_BAD)
		return;
	PQfinish(*c);
	*c = connect_to(NULL);
}

/* Errors that the oracle's statements, or our own, may well cause. */
static bool
expected_error(const char *sqlstate, const char *message)
{
	static const char *const expected[] = {
		"40001",				/* serialization failure */
		"40P01",				/* deadlock */
		"55P03",				/* lock timeout */
		"55006",				/* a database or a table is in use */
		"42P04",				/* a database of an earlier run */
		"23505"					/* a score's update meets a unique index */
	};

	if (is_one_of(sqlstate, expected, LENGTH(expected)))
		return true;
	if (kills && (sqlstate[0] == '\0' || is_shutdown(sqlstate)))
		return true;

	/* A column that a rule of the oracle's names. */
	if (strcmp(sqlstate, "2BP01") == 0 &&
		strstr(message, "rule writes on table lbt.act") != NULL)
		return true;

	/* A rebuild without a worker, or without memory. */
	return (strcmp(sqlstate, "55000") == 0 || strcmp(sqlstate, "53200") == 0) &&
		(strstr(message, "could not build board") != NULL ||
		 strstr(message, "was not built within") != NULL);
}

/* Run a statement; NULL after an error that was to be expected. */
static PGresult *
run_on(PGconn *c, const char *statement)
{
	PGresult   *res = PQexec(c, statement);
	const char *sqlstate;

	if (is_ok(res))
		return res;
	sqlstate = sqlstate_of(res);
	if (!expected_error(sqlstate, PQresultErrorMessage(res)))
		fail("%s\n%s: %s", statement, sqlstate, PQresultErrorMessage(res));
	snprintf(what + strlen(what), sizeof(what) - strlen(what), " [%s]",
			 sqlstate);
	PQclear(res);
	if (current != NULL)
		current->hindered++;
	return NULL;
}

static bool
run_free_on(PGconn *c, char *statement)
{
	PGresult   *res = run_on(c, statement);

	free(statement);
	PQclear(res);
	return res != NULL;
}

/* One statement in the oracle's database, freed; the action is about it. */
static bool
run_free(char *statement)
{
	snprintf(what, sizeof(what), "%s", statement);
	return run_free_on(conn, statement);
}

/* The first value of a query as a number; -1 after an expected error. */
static int64_t
ask(PGconn *c, const char *query)
{
	PGresult   *res = run_on(c, query);
	int64_t		value = -1;

	if (res != NULL && PQntuples(res) > 0)
		value = atoll(PQgetvalue(res, 0, 0));
	PQclear(res);
	return value;
}

/* A query for how many answers are wrong. */
static void
compare(PGconn *c, const char *query)
{
	int64_t		wrong = ask(c, query);

	if (wrong > 0)
		fail("%" PRId64 " answers are wrong: %s", wrong, query);
	if (wrong == 0)
		passed++;
}

/* ----------------------------------------------------------------
 *	Processes
 * ----------------------------------------------------------------
 */
static const char *const processes[] = {
	"backend_type = 'leaderboard applier'",
	"backend_type = 'leaderboard launcher'",
	"backend_type = 'leaderboard worker'",
	"backend_type IN ('leaderboard maintenance', 'leaderboard notifier')",
	"backend_type LIKE 'leaderboard %'",
	"backend_type = 'autovacuum worker'",
	"application_name = 'oracle tested'",
	"application_name = 'oracle tested' AND state = 'active'",
};

static void
signal_process(const char *function, const char *which)
{
	char	   *statement = format("SELECT count(%s(pid)) FROM"
								   " (SELECT pid FROM pg_stat_activity WHERE %s"
								   " ORDER BY random() LIMIT 1) AS p",
								   function, which);

	snprintf(what, sizeof(what), "%s", which);
	if (ask(conn, statement) == 0)
		strcat(what, " (none)");
	free(statement);
}

static void
terminate(void)
{
	signal_process("pg_terminate_backend", ANY(processes));
}

static void
cancel(void)
{
	signal_process("pg_cancel_backend", processes[percent(80) ? 7 : rnd(6)]);
}

/* The server restarts; so not too often. */
static void
kill_process(void)
{
	const char *which = ANY(processes);
	char	   *statement;
	int64_t		pid;

	if (now() - last_kill < 4)
	{
		snprintf(what, sizeof(what), "(not now)");
		return;
	}
	statement = format("SELECT pid FROM pg_stat_activity WHERE %s"
					   " ORDER BY random() LIMIT 1", which);
	snprintf(what, sizeof(what), "%s", which);
	pid = ask(conn, statement);
	free(statement);
	if (pid > 0 && kill((pid_t) pid, SIGKILL) != 0 && errno != ESRCH)
		fail("cannot kill a process: %s", strerror(errno));
	last_kill = now();
}

/* ----------------------------------------------------------------
 *	Settings
 * ----------------------------------------------------------------
 */
static void
set_and_reload(const char *name, const char *value)
{
	run_free(value == NULL ? format("ALTER SYSTEM RESET %s", name) :
			 format("ALTER SYSTEM SET %s = '%s'", name, value));
	PQclear(run_on(conn, "SELECT pg_reload_conf()"));
}

static void
change_settings(void)
{
	static const char *const history[] = {
		"64kB", "64kB", "256kB", "1MB", "16MB", "64MB"
	};
	static const char *const numbers[] = {"1", "2", "4"};
	static const char *const intervals[] = {"0", "1"};
	static const char *const notify[] = {"10", "1000"};

	switch (rnd(6))
	{
		case 0:
		case 1:
			set_and_reload("leaderboard.history_size", ANY(history));
			break;
		case 2:
		case 3:
			set_and_reload("leaderboard.applier", percent(50) ? "on" : "off");
			break;
		case 4:
			set_and_reload("leaderboard.build_workers", ANY(numbers));
			break;
		case 5:
			if (percent(50))
				set_and_reload("leaderboard.maintenance_interval",
							   ANY(intervals));
			else
				set_and_reload("leaderboard.notify_interval", ANY(notify));
			break;
	}
}

static void
enough_memory(void)
{
	if (normal_memory_at == 0 || now() < normal_memory_at)
		return;
	normal_memory_at = 0;
	set_and_reload("leaderboard.database_memory", NULL);
	if (memory_reloads)
		set_and_reload("leaderboard.memory", NULL);

	/* What a limit has taken offline comes back by itself. */
	memory_raised_at = now();
}

/* Fail if boards are still offline for lack of memory, long after there is enough. */
static void
boards_are_back(void)
{
	double		end = memory_raised_at + 150;

	while (memory_raised_at != 0 && normal_memory_at == 0 &&
		   ask(conn, "SELECT count(*) FROM lb_stat_board"
			   " WHERE state = 'offline' AND reason LIKE '%used up%'") > 0)
	{
		if (now() > end)
			fail("boards stay offline although there is enough memory");
		usleep(100000);
		reconnect(&conn);
	}
}

/* For a while memory does not suffice, for the boards or for their changes. */
static void
too_little_memory(void)
{
	static const char *const sizes[] = {
		"64kB", "200kB", "300kB", "500kB", "1MB"
	};

	set_and_reload(memory_reloads && percent(50) ? "leaderboard.memory" :
				   "leaderboard.database_memory", ANY(sizes));
	normal_memory_at = now() + 0.1 + rnd(1000) / 1000.0;
}

/* ----------------------------------------------------------------
 *	Boards and tables
 * ----------------------------------------------------------------
 */
static void
rebuild(void)
{
	if (percent(20))
		run_free(format("SELECT lb_rebuild()"));
	else
		run_free(format("SELECT lb_rebuild('%s')", ANY(boards)));
}

/*
 * While others write: only what differs in one snapshot is a problem.  A transaction
 * may take the board offline, or may not have settled, when it is about to be read.
 */
static void
verify(void)
{
	PGresult   *res;
	char	   *query = format("SELECT board, member, problem"
							   " FROM lb_verify('%s')"
							   " WHERE problem !~ '^the board (is not ready|could not be read)'",
							   ANY(boards));

	snprintf(what, sizeof(what), "%s", query);
	res = run_on(conn, query);
	if (res != NULL && PQntuples(res) > 0)
		fail("lb_verify() returns %d rows, the first: %s, %s, %s",
			 PQntuples(res), PQgetvalue(res, 0, 0), PQgetvalue(res, 0, 1),
			 PQgetvalue(res, 0, 2));
	if (res != NULL)
		passed++;
	PQclear(res);
	free(query);
}

static void
rewrite(void)
{
	const char *table = ANY(tables);

	/* Of a partitioned table both need a transaction for each partition. */
	switch (rnd(7))
	{
		case 0:
		case 1:
			run_free(format("VACUUM FULL %s", table));
			break;
		case 2:
			run_free(format("REINDEX TABLE %s", table));
			break;
		case 3:
			run_free(format("REINDEX TABLE CONCURRENTLY %s", table));
			break;
		case 4:
			run_free(format("VACUUM (FREEZE, ANALYZE) %s", table));
			break;
		case 5:
			/* Of another type, so that rows are written anew. */
			run_free(format("ALTER TABLE %s ADD COLUMN IF NOT EXISTS chaos"
							" double precision DEFAULT random()", table));
			break;
		case 6:
			run_free(format("ALTER TABLE %s DROP COLUMN IF EXISTS chaos",
							table));
			break;
	}
}

static void
enable_triggers(void)
{
	if (triggers_at == 0 || now() < triggers_at)
		return;
	triggers_at = 0;
	for (int i = 0; i < LENGTH(tables); i++)
	{
		char	   *statement;

		statement = format("SELECT count(*) FROM pg_trigger"
						   " WHERE tgrelid = '%s'::regclass AND tgenabled <> 'A'"
						   " AND tgname ~ '^leaderboard'", tables[i]);
		if (ask(conn, statement) != 0 &&
			!run_free(format("ALTER TABLE %s"
							 " ENABLE ALWAYS TRIGGER leaderboard_capture,"
							 " ENABLE ALWAYS TRIGGER leaderboard_capture_truncate",
							 tables[i])))
			triggers_at = now() + 0.1;
		free(statement);
	}
}

/* Rows change unseen, for a moment, or nothing does. */
static void
alter_triggers(void)
{
	const char *table = ANY(tables);

	if (percent(50))
		run_free(format("BEGIN;"
						"ALTER TABLE %s DISABLE TRIGGER leaderboard_capture;"
						"UPDATE %s SET fine = NOT fine WHERE ctid = (SELECT"
						" min(ctid) FROM %s);"
						"ALTER TABLE %s ENABLE ALWAYS TRIGGER leaderboard_capture;"
						"%s", table, table, table, table,
						percent(70) ? "COMMIT" : "ROLLBACK"));
	else if (run_free(format("ALTER TABLE %s DISABLE TRIGGER %s", table,
							 percent(80) ? "leaderboard_capture" :
							 "leaderboard_capture_truncate")))
		triggers_at = now() + rnd(500) / 1000.0;
	if (PQtransactionStatus(conn) != PQTRANS_IDLE)
		PQclear(PQexec(conn, "ROLLBACK"));
}

static void
move_partition(void)
{
	if (!partitioned)
		return;
	run_free(format("BEGIN;"
					"ALTER TABLE o_parts DETACH PARTITION o_parts1;"
					"%s"
					"ALTER TABLE o_parts ATTACH PARTITION o_parts1"
					" FOR VALUES IN (1, 2, 3);"
					"%s",
					percent(50) ? "" :
					"UPDATE o_parts1 SET score = 7 WHERE member = 2;",
					percent(70) ? "COMMIT" : "ROLLBACK"));
	if (PQtransactionStatus(conn) != PQTRANS_IDLE)
		PQclear(PQexec(conn, "ROLLBACK"));
}

/* ----------------------------------------------------------------
 *	Transactions
 * ----------------------------------------------------------------
 */

/* End what is prepared and old enough; all of it at the end. */
static void
end_prepared(double age)
{
	PGresult   *res;
	char	   *query;

	query = format("SELECT gid FROM pg_prepared_xacts"
				   " WHERE database = current_database()"
				   " AND starts_with(gid, 'chaos ')"
				   " AND prepared <= now() - interval '%.3f s'", age);
	res = run_on(conn, query);
	free(query);
	for (int i = 0; res != NULL && i < PQntuples(res); i++)
		run_free(format("%s PREPARED '%s'", percent(60) ? "COMMIT" : "ROLLBACK",
						PQgetvalue(res, i, 0)));
	PQclear(res);
}

static void
prepare(void)
{
	const char *table = ANY(tables);
	const char *member = strcmp(table, "o_dense") == 0 ? "id" :
		strcmp(table, "o_family") == 0 ? "player" :
		strcmp(table, "o_parts") == 0 ? "member" : "player_id";

	run_free(format("BEGIN;"
					"UPDATE %s SET fine = NOT fine WHERE %s %% 37 = %d;"
					"%s"
					"PREPARE TRANSACTION 'chaos %d'", table, member, rnd(37),
					percent(10) ? "TRUNCATE o_dense;" : "", prepared++));
	if (PQtransactionStatus(conn) != PQTRANS_IDLE)
		PQclear(PQexec(conn, "ROLLBACK"));
	if (percent(70))
		end_prepared(2);
}

/* Ranks in a snapshot that was taken a while ago. */
static void
compare_old(void)
{
	compare(old, "SELECT count(*) FROM (SELECT player_id,"
			" row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r"
			" FROM o_plain WHERE player_id IS NOT NULL AND score IS NOT NULL"
			" AND updated_at IS NOT NULL) AS s"
			" WHERE r IS DISTINCT FROM lb_rank(player_id, 'plain')");
	if (PQtransactionStatus(old) == PQTRANS_INTRANS)
		compare(old, "SELECT abs(lb_count('plain_counts') - count(*))"
				" + abs(lb_rank_of_score(5, 'plain_counts')"
				" - rank(5) WITHIN GROUP (ORDER BY score DESC))"
				" FROM o_plain WHERE player_id IS NOT NULL AND score IS NOT NULL");

	/* An error that the first one may raise has ended the transaction. */
	if (PQtransactionStatus(old) != PQTRANS_INTRANS)
		return;
	compare(old, "SELECT count(*) FROM (SELECT kind AS value, player,"
			" rank() OVER (PARTITION BY kind ORDER BY score DESC) AS r"
			" FROM o_family WHERE player IS NOT NULL AND score IS NOT NULL"
			" AND at IS NOT NULL AND kind IS NOT NULL) AS s"
			" WHERE r IS DISTINCT FROM lb_rank(player, 'fam:' || value)");
}

static void
old_snapshot(void)
{
	if (old_open && now() < old_until)
		return;
	reconnect(&old);
	if (old_open)
	{
		if (PQtransactionStatus(old) == PQTRANS_INTRANS)
			compare_old();
		PQclear(PQexec(old, "ROLLBACK"));
		snprintf(what, sizeof(what), "compared");
	}
	else
	{
		PQclear(run_on(old, percent(50) ?
					   "BEGIN ISOLATION LEVEL REPEATABLE READ" :
					   "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY"));
		PQclear(run_on(old, "SELECT pg_current_snapshot()"));
		old_until = now() + rnd(3000) / 1000.0;
		snprintf(what, sizeof(what), "taken");
	}
	old_open = !old_open;
}

/* ----------------------------------------------------------------
 *	Databases
 * ----------------------------------------------------------------
 */
static void
drop_databases(void)
{
	PGresult   *res = run_on(conn, "SELECT datname FROM pg_database"
							 " WHERE starts_with(datname, 'chaos_')");

	for (int i = 0; res != NULL && i < PQntuples(res); i++)
		run_free(format("DROP DATABASE IF EXISTS %s WITH (FORCE)",
						PQgetvalue(res, i, 0)));
	PQclear(res);
}

/*
 * All of it, or again from the beginning: a server that is killed in between
 * leaves a database that cannot be connected to.
 */
static void
make_template(void)
{
	bool		made = false;

	for (int tries = 0; !made; tries++)
	{
		PGconn	   *c;

		if (tries == 100)
			fail("could not make a template");
		reconnect(&conn);
		drop_databases();
		if (PQstatus(conn) == CONNECTION_BAD ||
			!run_free(format("CREATE DATABASE chaos_template")))
			continue;
		c = connect_to("chaos_template");
		made = run_free_on(c, format("CREATE EXTENSION leaderboard;"
									 "CREATE TABLE scores (player_id bigint PRIMARY KEY,"
									 " score bigint);"
									 "INSERT INTO scores SELECT i, i * 7919 %% 301"
									 " FROM generate_series(1, 500) AS i;"
									 "SELECT lb_create_board('copied', 'scores');"
									 "SELECT lb_create_tables();"
									 "SELECT lb_create_leaderboard('kills')"));
		PQfinish(c);
	}
}

/*
 * Matches on two leaderboards, some of them reported before: a statement that was
 * hindered has submitted all of its matches, or none.
 */
static void
submit_matches(PGconn *c)
{
	static const char unequal[] =
		"SELECT count(*) FROM player_scores AS g FULL JOIN kills_scores AS k USING (player_id)"
		" WHERE g.score * 2 IS DISTINCT FROM k.score";
	static const char right[] =
		"SELECT count(*) FROM (SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r"
		" FROM kills_scores WHERE ranked) AS s WHERE r IS DISTINCT FROM lb_rank(player_id, 'kills')";

	for (int i = 0; i < 3; i++)
		run_free_on(c, format("SELECT count(*) FROM generate_series(1, 20) AS i,"
							  " lb_submit_match(i %% 7, jsonb_build_object('global', i, 'kills', 2 * i), 'm' || i + %d)",
							  rnd(40)));
	compare(c, unequal);
	compare(c, right);
}

/* The board of a copy is there, is its own, and goes with it. */
static void
copy_database(void)
{
	static const char right[] =
		"SELECT count(*) FROM (SELECT player_id,"
		" row_number() OVER (ORDER BY score DESC, player_id) AS r"
		" FROM scores) AS s WHERE r IS DISTINCT FROM lb_rank(player_id, 'copied')";
	char	   *name;
	PGconn	   *c;

	if (copies > 0 && percent(40))
		make_template();
	name = format("chaos_%d", copies++);
	if (run_free(format("CREATE DATABASE %s TEMPLATE chaos_template STRATEGY %s",
						name, percent(70) ? "wal_log" : "file_copy")))
	{
		c = connect_to(name);
		PQclear(run_on(c, "SET leaderboard.not_ready = 'query'"));
		if (percent(50))
			compare(c, right);
		PQclear(run_on(c, "UPDATE scores SET score = score + 100"
					   " WHERE player_id % 10 = 3"));
		if (percent(50))
			PQclear(run_on(c, "SELECT lb_wait_ready('1 s')"));
		compare(c, right);
		if (percent(30))
		{
			PQclear(run_on(c, "DELETE FROM scores WHERE player_id % 3 = 1;"
						   "SELECT lb_rebuild('copied')"));
			compare(c, right);
		}
		submit_matches(c);
		PQfinish(c);
		if (percent(60))
			run_free(format("DROP DATABASE IF EXISTS %s%s", name,
							percent(70) ? " WITH (FORCE)" : ""));
	}
	free(name);
}

static void
checkpoint(void)
{
	run_free(format("CHECKPOINT"));
}

static Action actions[] = {
	{"terminate", 25, terminate, 0, 0},
	{"cancel", 15, cancel, 0, 0},
	{"kill", 5, kill_process, 0, 0},
	{"settings", 15, change_settings, 0, 0},
	{"memory", 2, too_little_memory, 0, 0},
	{"rebuild", 5, rebuild, 0, 0},
	{"verify", 6, verify, 0, 0},
	{"rewrite", 12, rewrite, 0, 0},
	{"triggers", 3, alter_triggers, 0, 0},
	{"partition", 2, move_partition, 0, 0},
	{"prepare", 6, prepare, 0, 0},
	{"snapshot", 12, old_snapshot, 0, 0},
	{"databases", 3, copy_database, 0, 0},
	{"checkpoint", 1, checkpoint, 0, 0},
};

static void
act(void)
{
	int			sum = 0;
	int			n;

	for (int i = 0; i < LENGTH(actions); i++)
	{
		if (actions[i].act == kill_process && !kills)
			actions[i].weight = 0;
		sum += actions[i].weight;
	}
	n = rnd(sum);
	for (current = actions; n >= current->weight; current++)
		n -= current->weight;
	what[0] = '\0';
	reconnect(&conn);
	current->taken++;
	current->act();
	write_down("done");
}

/* Leave the server as it was. */
static void
clean_up(void)
{
	static const char *const settings[] = {
		"leaderboard.history_size", "leaderboard.applier",
		"leaderboard.build_workers", "leaderboard.maintenance_interval",
		"leaderboard.notify_interval"
	};
	double		end = now() + PATIENCE;
	bool		again;

	current = NULL;
	PQfinish(old);
	do
	{
		reconnect(&conn);
		what[0] = '\0';
		PQclear(PQexec(conn, "SET lock_timeout = '5s'"));
		end_prepared(0);
		triggers_at = normal_memory_at = 1;
		enable_triggers();
		enough_memory();
		for (int i = 0; i < LENGTH(settings); i++)
			set_and_reload(settings[i], NULL);
		drop_databases();
		again = PQstatus(conn) == CONNECTION_BAD || triggers_at != 0 ||
			normal_memory_at != 0 ||
			ask(conn, "SELECT count(*) FROM pg_database"
				" WHERE starts_with(datname, 'chaos_')") != 0;
		if (again && now() > end)
			fail("could not clean up");
	} while (again);
	boards_are_back();
}

/*
 * Build a board again and again for a moment, in a process that oracle.c does not wait
 * for.  A launcher that was away does so with what was requested meanwhile.
 */
static void
build_on(void)
{
	double		end = now() + 1.5;
	PGconn	   *c;

	fflush(stdout);
	if (fork() != 0)
		return;
	c = connect_to(NULL);
	while (now() < end && PQstatus(c) == CONNECTION_OK)
	{
		PQclear(PQexec(c, "SELECT pg_current_xact_id()"));
		PQclear(PQexec(c, "SELECT lb_rebuild('plain')"));
	}
	PQfinish(c);
	_exit(0);
}

static void
stop(int signo)
{
	(void) signo;
	stopping = 1;
}

int
main(int argc, char **argv)
{
	int			opt;
	int			total = 0;

	while ((opt = getopt(argc, argv, "d:s:kbq")) != -1)
	{
		switch (opt)
		{
			case 'd':
				conninfo = optarg;
				break;
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			case 'k':
				kills = true;
				break;
			case 'b':
				builds_on = true;
				break;
			case 'q':
				quiet = true;
				break;
			default:
				fprintf(stderr,
						"usage: chaos -d conninfo [-s seed] [-k] [-b] [-q]\n");
				return 2;
		}
	}
	signal(SIGTERM, stop);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	random_state = seed;
	began = last_kill = now();

	conn = connect_to(NULL);
	old = connect_to(NULL);
	partitioned = ask(conn, "SELECT count(*) FROM pg_class"
					  " WHERE relname = 'o_parts1'") > 0;
	memory_reloads = ask(conn, "SELECT count(*) FROM pg_settings"
						 " WHERE name = 'leaderboard.memory'"
						 " AND context = 'sighup'") > 0;
	drop_databases();
	make_template();

	while (!stopping)
	{
		act();
		what[0] = '\0';
		reconnect(&conn);
		enough_memory();
		enable_triggers();
		if (percent(2))
			end_prepared(1);
		usleep(rnd(100) < 30 ? 0 : rnd(150000));
	}
	clean_up();

	printf("chaos:");
	for (int i = 0; i < LENGTH(actions); i++)
	{
		printf(" %s %d (%d hindered)", actions[i].name, actions[i].taken,
			   actions[i].hindered);
		total += actions[i].taken;
	}
	printf("; %d actions\n", total);
	printf("%" PRId64 " passed, 0 failed\n", passed);
	PQfinish(conn);
	if (builds_on)
		build_on();
	return 0;
}
