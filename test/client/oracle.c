/*-------------------------------------------------------------------------
 *
 * oracle.c
 *	  Random transactions on several connections, compared with SQL.
 *
 *	oracle [-d conninfo] [-c connections] [-t seconds] [-n transactions]
 *		   [-s seed] [-m members] [-i percent] [-S] [-x] [-k] [-l] [-p]
 *		   [-X command]
 *
 * The extension must exist in the database, which needs nothing else; tables
 * of earlier runs are dropped.  Several connections, each with random numbers
 * of its own, run transactions on the same tables: every kind of statement
 * that changes rows, few rows or thousands, savepoints, rollbacks, two-phase
 * commits, now and then a TRUNCATE or a rebuild.  All the time every read
 * function is compared with its defining query, which is written down here
 * once more, from the description of the functions, with window functions.
 *
 * A comparison is a single SQL statement that returns, for a set of arguments,
 * what the function says and what the query says.  Both are computed under
 * the same snapshot, so where a function promises to be exact in a snapshot,
 * the comparison is exact while others write.  Comparisons are made
 *
 *	  - in transactions of every isolation level, at any time, before and after
 *		the transaction's own changes;
 *	  - in REPEATABLE READ and SERIALIZABLE also in two statements, of which the
 *		first asks the function and the second the query, later;
 *	  - through cursors that were opened before further own changes, and
 *		through cursors that are held beyond the end of the transaction;
 *	  - while a prepared transaction waits to be ended;
 *	  - at the end, when all is quiet, for every member, with and without the
 *		index, and lb_verify() must find nothing.
 *
 * A comparison of the query with itself would prove nothing: of all reads at
 * least so many percent (-i, 50 by default) must have been answered by the
 * index, going by lb_stat_board.  The share is printed.  No board may ever be
 * offline because its index was wrong, though reads are right then.
 *
 * There are two modes.
 *
 * Free running: each connection belongs to a process of its own, which is
 * deterministic for its seed as far as the others let it.  The races are real.
 * After a difference or an unexpected error the last statements of all
 * connections are printed.
 *
 * Scheduled (-S): one process has all connections and lets one of them take
 * one step at a time, a statement; which one the seed says.  A statement that
 * has to wait for another connection's lock is left waiting.  In a server with
 * pause points (LB_PAUSE_POINTS) transactions also stop at these, inside their
 * callbacks, while others go on.  So a run can be done again, and parts of it:
 * the steps are written down, and after a difference those are left out that
 * the difference does not need, and the rest is printed.  The tables are made
 * anew every few hundred steps, so there is not much to leave out.  -n counts
 * steps then.
 *
 * With -x backends are terminated now and then, with -k they are killed, and
 * the server with them; this must run as the server's user then.  What a
 * connection loses that way is made up for by a new connection.  In the
 * scheduled mode -x is always on, and -k is not possible.
 *
 * To tell an error that needs concurrency from one that does not, -l leaves
 * those in READ COMMITTED to transactions that hold a ShareLock on the table, so
 * that nobody else has changes under way.
 *
 * With -p one of the tables is partitioned.
 *
 * With -X a shell command runs beside the connections, from when the tables are
 * there until all connections have ended; then it gets a SIGTERM, and must exit
 * with 0.  It may cancel, terminate, run short of memory, stop workers: errors
 * that this explains are no failures any more.  Wrong answers are.  Not in the
 * scheduled mode.
 *
 * The last line is "N passed, N failed", in comparisons.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "libpq-fe.h"

#include "client.h"

#define MAX_CONNECTIONS 256
#define MAX_LOG 60				/* statements remembered for a report */
#define MAX_SHARED_LOG 12		/* of them, what others' reports show */
#define MAX_SHARED_TEXT 600
#define MAX_SAVEPOINTS 5

/* ----------------------------------------------------------------
 *	The tables, and what is ranked of them
 * ----------------------------------------------------------------
 */

/*
 * All tables have the same five parts under different names and of different
 * types, so that the statements can be made for any of them.
 */
typedef struct Table
{
	const char *name;
	const char *create;			/* NULL: another entry has made the table */
	const char *create_partitioned; /* instead, with -p; or NULL */
	const char *create_board;

	const char *board;			/* as recorded */
	const char *method;
	const char *member;
	const char *score;
	const char *tie;
	const char *group;			/* the board column where values is not NULL */
	const char *flag;

	const char *member_type;
	const char *score_type;
	const char *tie_type;
	const char *group_type;
	const char *conflict;		/* columns of the unique index */

	const char *direction;		/* of the score */
	const char *reverse;
	const char *order;
	const char *ranked;			/* which rows are on a board */

	const char *ties[8];		/* values of the tie-breaker, beside NULL */
	const char *extreme_members[5];
	const char *extreme_scores[5];
	const char *const *values;	/* of the board column; NULL: no family */
} Table;

/* The last of each of these is never written. */
static const char *const kinds[] = {
	"A", "B", "", "x:y", "Gr\303\266\303\237e", "never", NULL
};
static const char *const realms[] = {
	"7", "0", "-7", "2147483647", "-2147483648", "12345", NULL
};

static const Table tables[] = {
	{
		.name = "o_plain",
		.create = "CREATE TABLE o_plain (note text, player_id bigint UNIQUE,"
		" score bigint, updated_at timestamptz, kind text, fine boolean)"
		" WITH (fillfactor = 80)",
		.create_board = "SELECT lb_create_board('plain', 'o_plain',"
		" rank_by => 'score DESC, updated_at ASC')",
		.board = "plain",
		.method = "row_number",
		.member = "player_id",
		.score = "score",
		.tie = "updated_at",
		.group = "kind",
		.flag = "fine",
		.member_type = "bigint",
		.score_type = "bigint",
		.tie_type = "timestamptz",
		.group_type = "text",
		.conflict = "player_id",
		.direction = "DESC",
		.reverse = "ASC",
		.order = "score DESC, updated_at ASC, player_id ASC",
		.ranked = "player_id IS NOT NULL AND score IS NOT NULL"
		" AND updated_at IS NOT NULL",
		.ties = {"'2026-01-01 00:00+00'", "'2026-01-01 00:00:00.000001+00'",
			"'2026-01-02 03:04:05+00'", "'infinity'", "'-infinity'", "now()",
			"clock_timestamp()"},
		.extreme_members = {"9223372036854775807", "-9223372036854775808",
			"0", "-1"},
		.extreme_scores = {"9223372036854775807", "-9223372036854775808",
			"9223372036854775806", "-9223372036854775807"},
	},
	{
		/* A second board on the same table. */
		.name = "o_plain",
		.create_board = "SELECT lb_create_board('worst', 'o_plain',"
		" rank_by => 'score ASC, updated_at DESC', method => 'rank',"
		" ranked_if => 'fine')",
		.board = "worst",
		.method = "rank",
		.member = "player_id",
		.score = "score",
		.tie = "updated_at",
		.group = "kind",
		.flag = "fine",
		.member_type = "bigint",
		.score_type = "bigint",
		.tie_type = "timestamptz",
		.group_type = "text",
		.conflict = "player_id",
		.direction = "ASC",
		.reverse = "DESC",
		.order = "score ASC, updated_at DESC, player_id ASC",
		.ranked = "player_id IS NOT NULL AND score IS NOT NULL"
		" AND updated_at IS NOT NULL AND fine",
		.ties = {"'2026-01-01 00:00+00'", "'2026-01-02 03:04:05+00'",
			"'infinity'", "'-infinity'", "now()"},
		.extreme_members = {"9223372036854775807", "-9223372036854775808",
			"0", "-1"},
		.extreme_scores = {"9223372036854775807", "-9223372036854775808",
			"9223372036854775806", "-9223372036854775807"},
	},
	{
		.name = "o_dense",
		.create = "CREATE TABLE o_dense (fine boolean, points integer,"
		" gone text, id integer UNIQUE, kind text, day date)",
		.create_board = "SELECT lb_create_board('dense', 'o_dense',"
		" member => 'id', rank_by => 'points ASC, day DESC',"
		" method => 'dense_rank', ranked_if => 'fine')",
		.board = "dense",
		.method = "dense_rank",
		.member = "id",
		.score = "points",
		.tie = "day",
		.group = "kind",
		.flag = "fine",
		.member_type = "integer",
		.score_type = "integer",
		.tie_type = "date",
		.group_type = "text",
		.conflict = "id",
		.direction = "ASC",
		.reverse = "DESC",
		.order = "points ASC, day DESC, id ASC",
		.ranked = "id IS NOT NULL AND points IS NOT NULL"
		" AND day IS NOT NULL AND fine",
		.ties = {"'2026-01-01'", "'2026-01-02'", "'1999-12-31'",
			"'infinity'", "'-infinity'"},
		.extreme_members = {"2147483647", "-2147483648", "0", "-1"},
		.extreme_scores = {"2147483647", "-2147483648", "2147483646",
			"-2147483647"},
	},
	{
		.name = "o_family",
		.create = "CREATE TABLE o_family (player bigint, kind text,"
		" score smallint, at timestamp, fine boolean, UNIQUE (kind, player))",
		.create_board = "SELECT lb_create_board('fam', 'o_family',"
		" member => 'player', rank_by => 'score DESC, at DESC',"
		" board_column => 'kind', method => 'rank')",
		.board = "fam",
		.method = "rank",
		.member = "player",
		.score = "score",
		.tie = "at",
		.group = "kind",
		.flag = "fine",
		.member_type = "bigint",
		.score_type = "smallint",
		.tie_type = "timestamp",
		.group_type = "text",
		.conflict = "kind, player",
		.direction = "DESC",
		.reverse = "ASC",
		.order = "score DESC, at DESC, player ASC",
		.ranked = "player IS NOT NULL AND score IS NOT NULL"
		" AND at IS NOT NULL",
		.ties = {"'2026-01-01 00:00'", "'2026-01-01 00:00:00.000001'",
			"'2026-01-02 03:04:05'", "'infinity'", "'-infinity'"},
		.extreme_members = {"9223372036854775807", "-9223372036854775808",
			"0", "-1"},
		.extreme_scores = {"32767", "-32768", "32766", "-32767"},
		.values = kinds,
	},
	{
		.name = "o_parts",
		.create = "CREATE TABLE o_parts (at timestamp, score integer,"
		" gone text, member smallint, realm integer, fine boolean,"
		" UNIQUE (member, realm));"
		"ALTER TABLE o_parts DROP COLUMN gone",
		.create_partitioned = "CREATE TABLE o_parts (at timestamp,"
		" score integer, member smallint, realm integer, fine boolean,"
		" UNIQUE (member, realm)) PARTITION BY LIST (member);"
		"CREATE TABLE o_parts1 PARTITION OF o_parts FOR VALUES IN (1, 2, 3);"
		"CREATE TABLE o_parts2 (fine boolean, gone text, realm integer,"
		" member smallint, at timestamp, score integer,"
		" UNIQUE (member, realm));"
		"ALTER TABLE o_parts2 DROP COLUMN gone;"
		"ALTER TABLE o_parts ATTACH PARTITION o_parts2 DEFAULT",
		.create_board = "SELECT lb_create_board('*', 'o_parts',"
		" member => 'member', rank_by => 'score', board_column => 'realm',"
		" method => 'dense_rank', ranked_if => 'fine')",
		.board = "*",
		.method = "dense_rank",
		.member = "member",
		.score = "score",
		.tie = "at",
		.group = "realm",
		.flag = "fine",
		.member_type = "smallint",
		.score_type = "integer",
		.tie_type = "timestamp",
		.group_type = "integer",
		.conflict = "member, realm",
		.direction = "ASC",
		.reverse = "DESC",
		.order = "score ASC, member ASC",
		.ranked = "member IS NOT NULL AND score IS NOT NULL AND fine",
		.ties = {"'2026-01-01 00:00'", "'infinity'"},
		.extreme_members = {"32767", "-32768", "0", "-1"},
		.extreme_scores = {"2147483647", "-2147483648", "2147483646",
			"-2147483647"},
		.values = realms,
	},
};

#define NTABLES ((int) (sizeof(tables) / sizeof(tables[0])))

/* ----------------------------------------------------------------
 *	Options and state of a process
 * ----------------------------------------------------------------
 */
static const char *conninfo = "";
static int	connections = 8;
static double seconds = 20;
static int64_t transactions = 0;	/* 0: as many as there is time for */
static uint64_t seed;
static int	members = 0;
static bool locked = false;
static bool can_prepare = false;
static bool partitioned = false;
static bool scheduled = false;
static bool terminates = false;
static bool kills = false;
static int	least_share = 50;	/* percent of the reads by index */
static const char *disturber = NULL;	/* the command of -X */
static pid_t disturber_pid = 0;

typedef struct Result
{
	int64_t		committed;
	int64_t		rolled_back;
	int64_t		errors;			/* expected ones */
	int64_t		lost;			/* connections */
	int64_t		passed;
	int64_t		failed;
} Result;

static int	me = -1;			/* number of the process; -1 is the parent */
static pid_t pids[MAX_CONNECTIONS];	/* of the processes */
static PGconn *conn;
static Result result;

static char *statement_log[MAX_LOG];
static int	statement_count;

static bool tx_failed;			/* only a rollback helps */
static bool lost;				/* the connection is gone */

/* What each process has done last, for the reports of all. */
typedef struct SharedLog
{
	int			count;
	bool		running;		/* the last one has not ended */
	double		at[MAX_SHARED_LOG];
	char		text[MAX_SHARED_LOG][MAX_SHARED_TEXT];
} SharedLog;

static SharedLog *shared_logs;

/* Where a server with pause points makes a scheduled transaction stop. */
static bool can_pause = false;
static const char *const pause_points[] = {
	"settle", "settle", "publish", "publish,settle", "publish,drop", "drop",
	"backlog"
};

#define NPAUSE_POINTS \
	((int) (sizeof(pause_points) / sizeof(pause_points[0])))

/* The advisory lock that makes them stop. */
#define PAUSE_LOCK "20260411"

/*
 * What went wrong, in a word: what the scheduled mode must see again when it
 * leaves out steps.  "difference", "lost", "offline", "verify", or a SQLSTATE.
 */
static char failure_kind[16] = "";

static PGresult *scheduled_exec(const char *statement, const char *copy_data);
static void shrink_and_report(const char *message);
static void set_scheduled_connection(int number, PGconn *new_conn);

/* ----------------------------------------------------------------
 *	Small things
 * ----------------------------------------------------------------
 */
static void
remember(const char *statement)
{
	char	  **slot = &statement_log[statement_count++ % MAX_LOG];

	free(*slot);
	if ((*slot = strdup(statement)) == NULL)
		out_of_memory();
	if (shared_logs != NULL && me >= 0)
	{
		SharedLog  *log = &shared_logs[me];
		int			i = log->count % MAX_SHARED_LOG;

		snprintf(log->text[i], MAX_SHARED_TEXT, "%s", statement);
		log->at[i] = now();
		log->count++;
		log->running = true;
	}
}

static void
print_other_logs(FILE *f)
{
	if (shared_logs == NULL)
		return;
	for (int p = 0; p < connections; p++)
	{
		SharedLog  *log = &shared_logs[p];
		int			count = log->count;
		int			i = count > MAX_SHARED_LOG ? count - MAX_SHARED_LOG : 0;

		if (p == me)
			continue;
		for (; i < count; i++)
			fprintf(f, "[%d] %.3f s ago%s: %.*s;\n", p,
					now() - log->at[i % MAX_SHARED_LOG],
					i == count - 1 && log->running ? ", running" : "",
					MAX_SHARED_TEXT, log->text[i % MAX_SHARED_LOG]);
	}
}

/* Tell what has gone wrong and end the process. */
static void fail(const char *fmt,...)
			__attribute__((format(printf, 1, 2), noreturn));

static void
fail(const char *fmt,...)
{
	va_list		args;
	int			first;
	char	   *message;
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	va_start(args, fmt);
	if (f == NULL || vasprintf(&message, fmt, args) < 0)
		out_of_memory();
	va_end(args);
	if (scheduled)
		shrink_and_report(message);
	else
	{
		fprintf(f, "\n");
		print_other_logs(f);
		first = statement_count > MAX_LOG ? statement_count - MAX_LOG : 0;
		for (int i = first; i < statement_count; i++)
			fprintf(f, "[%d] %.2000s;\n", me, statement_log[i % MAX_LOG]);
		fprintf(f, "\nFAILED in process %d (seed %" PRIu64 "): %s\n", me,
				seed, message);
	}
	fclose(f);
	if (me < 0)
	{
		for (int i = 0; i < connections; i++)
		{
			if (pids[i] > 0)
				kill(pids[i], SIGTERM);
		}
		if (disturber_pid > 0)
			kill(disturber_pid, SIGTERM);
	}

	/* All at once, for others write to the same place. */
	fputs(text, stdout);
	fflush(stdout);
	if (me < 0 || scheduled)
		printf("%" PRId64 " passed, %" PRId64 " failed\n", result.passed,
			   result.failed > 0 ? result.failed : 1);
	exit(1);
}

static PGconn *
connect_or_fail(void)
{
	PGconn	   *c = PQconnectdb(conninfo);

	if (PQstatus(c) != CONNECTION_OK)
		fail("could not connect: %s", PQerrorMessage(c));
	PQsetClientEncoding(c, "UTF8");
	PQclear(PQexec(c, "SET client_min_messages = error"));
	return c;
}

/* One of the connections that are tested. */
static PGconn *
connect_tested(void)
{
	static const char settings[] =
	"SET client_min_messages = error;"
	"SET application_name = 'oracle tested';"
	"SET deadlock_timeout = '%s';"
	"SET lock_timeout = '%s';"
	"SET statement_timeout = '%s'";
	double		end = now() + (kills || scheduled || disturber != NULL ? 60 : 0);
	PGconn	   *c;
	char	   *s;
	PGresult   *res;

	/*
	 * Whoever waits longer than the statement timeout waits for good: that is
	 * an error nobody expects.  When scheduled, locks are waited for as long
	 * as the scheduler likes.
	 */
	s = scheduled ? format(settings, "5ms", "0", "0") :
		format(settings, "50ms", "200ms", "60s");
	for (;;)
	{
		c = PQconnectdb(conninfo);
		if (PQstatus(c) == CONNECTION_OK)
		{
			PQsetClientEncoding(c, "UTF8");
			res = PQexec(c, s);
			if (PQresultStatus(res) == PGRES_COMMAND_OK)
			{
				PQclear(res);
				free(s);
				return c;
			}
			PQclear(res);
		}
		/* The server may be in recovery. */
		if (now() >= end)
			fail("could not connect: %s", PQerrorMessage(c));
		PQfinish(c);
		usleep(50000);
	}
}

/* ----------------------------------------------------------------
 *	Running statements
 * ----------------------------------------------------------------
 */

/* Errors that others' or our own random changes may well cause. */
static bool
expected_error(const char *sqlstate)
{
	static const char *const expected[] = {
		"40001",				/* serialization failure */
		"40P01",				/* deadlock */
		"55P03",				/* lock timeout */
		"23505",				/* unique violation */
		"22003",				/* a score left its type's range */
		"21000",				/* ON CONFLICT or MERGE met a row twice */
		"57014",				/* cancelled, or the statement timeout */
		NULL
	};

	for (int i = 0; expected[i] != NULL; i++)
	{
		if (strcmp(sqlstate, expected[i]) == 0)
			return true;
	}
	return false;
}

/*
 * Errors that a disturber explains.  A cancel is one, but the statement timeout
 * is not: whatever takes that long waits for good.  A read may find no index for
 * longer than it waits for one, and a rebuild no worker, no lock or no memory.
 * A write has no such excuse.
 */
static bool
disturbed_error(const char *sqlstate, const char *statement,
				const char *message)
{
	if (disturber == NULL)
		return false;
	if (strcmp(sqlstate, "57014") == 0)
		return strstr(message, "user request") != NULL;
	if (strncmp(statement, "SELECT lb_rebuild(", 18) == 0 &&
		strcmp(sqlstate, "53200") == 0)
		return true;
	return strcmp(sqlstate, "55000") == 0 &&
		strstr(statement, "lb_") != NULL &&
		(strstr(message, "was not built within") != NULL ||
		 strstr(message, "could not build board") != NULL);
}

static PGresult *
exec_copy(const char *statement, const char *copy_data)
{
	PGresult   *res = PQexec(conn, statement);

	if (PQresultStatus(res) == PGRES_COPY_IN)
	{
		PQclear(res);
		/* If this fails the result says so. */
		(void) PQputCopyData(conn, copy_data, strlen(copy_data));
		(void) PQputCopyEnd(conn, NULL);
		res = PQgetResult(conn);
		PQclear(PQgetResult(conn));
	}
	return res;
}

/*
 * Run a statement.  Returns NULL after an expected error or the loss of the
 * connection, which cannot be used from then on; other errors end the process.
 * copy_data is what a COPY FROM STDIN is to read.
 */
static PGresult *
run_copy(const char *statement, const char *copy_data)
{
	PGresult   *res;
	const char *sqlstate;

	if (lost)
	{
		tx_failed = true;
		return NULL;
	}
	remember(statement);
	if (copy_data != NULL)
		remember(copy_data);
	if (scheduled && me >= 0)
		res = scheduled_exec(statement, copy_data);
	else
		res = exec_copy(statement, copy_data);
	if (shared_logs != NULL && me >= 0)
		shared_logs[me].running = false;
	if (PQresultStatus(res) == PGRES_COMMAND_OK ||
		PQresultStatus(res) == PGRES_TUPLES_OK)
		return res;

	sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	if (sqlstate == NULL)
		sqlstate = "";
	if (me >= 0 && (terminates || kills || disturber != NULL) &&
		(lost || PQstatus(conn) == CONNECTION_BAD ||
		 strncmp(sqlstate, "57P0", 4) == 0))
	{
		remember("(connection lost)");
		result.lost++;
		lost = true;
		tx_failed = true;
		PQclear(res);
		return NULL;
	}
	/* Only a disturber cancels in the free running mode. */
	if ((!expected_error(sqlstate) ||
		 (!scheduled && strcmp(sqlstate, "57014") == 0)) &&
		!(me >= 0 && disturbed_error(sqlstate, statement,
									 PQresultErrorMessage(res))))
	{
		snprintf(failure_kind, sizeof(failure_kind), "%s",
				 PQstatus(conn) == CONNECTION_BAD ? "lost" : sqlstate);
		fail("%s\n%s: %s", statement, sqlstate, PQerrorMessage(conn));
	}
	remember(sqlstate);
	result.errors++;
	tx_failed = true;
	PQclear(res);
	return NULL;
}

static bool
run(const char *statement)
{
	PGresult   *res = run_copy(statement, NULL);

	PQclear(res);
	return res != NULL;
}

/* The same, and the statement is freed. */
static bool
run_free(char *statement)
{
	bool		ok = run(statement);

	free(statement);
	return ok;
}

/* Run what must not fail, and return its first value, to be freed. */
static char *
run_value(const char *statement)
{
	PGresult   *res = run_copy(statement, NULL);
	char	   *value;

	if (res == NULL)
		fail("%s", statement);
	value = strdup(PQntuples(res) > 0 ? PQgetvalue(res, 0, 0) : "");
	PQclear(res);
	return value;
}

/* ----------------------------------------------------------------
 *	Comparisons
 * ----------------------------------------------------------------
 */

/*
 * What the comparisons share: b is the board's ranked rows, as members m and
 * scores s, with the places and ranks.  Words in braces are put in by
 * expand(); {k} is the column with the rank by the board's own method.
 *
 * A unique index keeps a member from being there twice, except in a snapshot
 * that still sees a row which others have deleted since, after which the
 * transaction itself has given its member to another row.  Then who asks for
 * the member is told of the better row, nth = 1.
 */
static const char ranked_rows[] =
"WITH b AS MATERIALIZED (\n"
"SELECT {member}::bigint AS m, {score}::bigint AS s,\n"
" row_number() OVER (ORDER BY {order}) AS place,\n"
" row_number() OVER (PARTITION BY {member} ORDER BY {order}) AS nth,\n"
" rank() OVER (ORDER BY {score} {direction}) AS r,\n"
" dense_rank() OVER (ORDER BY {score} {direction}) AS d,\n"
" 100 * cume_dist() OVER (ORDER BY {score} {reverse}) AS pct,\n"
" count(*) OVER () AS n\n"
"FROM {table} WHERE {ranked})\n";

#define METHODS \
	"(VALUES (NULL), ('row_number'), ('rank'), ('dense_rank')) AS v (w)"
#define RANK_BY_METHOD \
	"CASE coalesce(w, {method}) WHEN 'row_number' THEN place" \
	" WHEN 'rank' THEN r ELSE d END"

/*
 * Each returns the call, what the function says, and what it should say, as
 * texts.  {keys} is a query for members, {scores} one for scores, {arrays}
 * rows of arrays of members; $A, $B are random numbers.
 */
static const struct Comparison
{
	const char *function;
	const char *query;
}			comparisons[] =
{
	{"lb_rank",
		"SELECT format('lb_rank(%s, %L, %L)', i, {board}, w),"
		" lb_rank(i, {board}, w)::text, (" RANK_BY_METHOD ")::text"
		" FROM {keys} AS k (i) CROSS JOIN " METHODS
	" LEFT JOIN b ON m = i AND nth = 1"},
	{"lb_score",
		"SELECT format('lb_score(%s, %L)', i, {board}),"
		" lb_score(i, {board})::text, s::text"
	" FROM {keys} AS k (i) LEFT JOIN b ON m = i AND nth = 1"},
	{"lb_percentile",
		"SELECT format('lb_percentile(%s, %L)', i, {board}),"
		" lb_percentile(i, {board})::text, pct::text"
	" FROM {keys} AS k (i) LEFT JOIN b ON m = i AND nth = 1"},
	{"lb_player",
		"SELECT format('lb_player(%s, %L)', i, {board}),"
		" row(p.rank, p.score, p.percentile, p.total)::text,"
		" row({k}, s, pct, n)::text"
		" FROM {keys} AS k (i) LEFT JOIN LATERAL lb_player(i, {board}) AS p"
	" ON true LEFT JOIN b ON m = i AND nth = 1"},
	{"lb_top",
		"SELECT format('lb_top(%s, %L, %s)', a.n, {board}, skip),"
		" (SELECT string_agg(row(t.rank, t.member, t.score)::text, ' '"
		" ORDER BY t.ordinality)"
		" FROM lb_top(a.n, {board}, skip) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row({k}, m, s)::text, ' ' ORDER BY place)"
		" FROM b WHERE place > skip AND place - skip <= a.n)"
		" FROM (SELECT count(*) AS total FROM b) AS c CROSS JOIN LATERAL"
		" (VALUES (10, 0), (0, 0), (1, 0), (5, total / 2), (3, total - 2),"
		" (7, total), (9, total + 1), (2147483647, 0), (2147483647, 2),"
		" ($A % 20, ($B % 100)::bigint), (4, 9223372036854775807))"
	" AS a (n, skip) WHERE skip >= 0"},
	{"lb_top_json",
		"SELECT format('lb_top_json(%s, %L, %s)', a.n, {board}, skip),"
		" lb_top_json(a.n, {board}, skip)::text,"
		" (SELECT concat('{\"board\":', to_json({board}::text), ',\"as_of\":',"
		" to_json(now()), ',\"entries\":[', string_agg(concat('{\"rank\":', {k},"
		" ',\"player_id\":', m, ',\"score\":', s, '}'), ',' ORDER BY place), ']}')"
		" FROM b WHERE place > skip AND place - skip <= a.n)"
		" FROM (SELECT count(*) AS total FROM b) AS c CROSS JOIN LATERAL"
		" (VALUES (10, 0), (0, 0), (5, total / 2), (2147483647, 0),"
		" ($A % 20, ($B % 100)::bigint), (4, 9223372036854775807))"
	" AS a (n, skip)"},
	{"lb_at",
		"SELECT format('lb_at(%s, %L)', p, {board}),"
		" row(a.rank, a.member, a.score)::text, row({k}, m, s)::text"
		" FROM (SELECT count(*) AS total FROM b) AS c CROSS JOIN LATERAL"
		" (SELECT generate_series(1, least(total, $A % 5)) UNION ALL"
		" VALUES (total), (total + 1), (total / 2), (total / 3 + 1),"
		" ($B % 100), (9223372036854775807), (NULL)) AS x (p)"
	" LEFT JOIN LATERAL lb_at(p, {board}) AS a ON true LEFT JOIN b ON place = p"},
	{"lb_around",
		"SELECT format('lb_around(%s, %L, %s)', i, {board}, radius),"
		" (SELECT string_agg(row(t.rank, t.member, t.score)::text, ' '"
		" ORDER BY t.ordinality)"
		" FROM lb_around(i, {board}, radius) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row({k}, m, s)::text, ' ' ORDER BY place) FROM b"
		" WHERE place BETWEEN p - radius AND p + radius)"
		" FROM {keys} AS k (i) CROSS JOIN"
		" (VALUES (0), (1), (5), ($A % 100), (2147483647)) AS r (radius)"
	" LEFT JOIN LATERAL (SELECT place FROM b WHERE m = i AND nth = 1) AS x (p) ON true"},
	{"lb_count",
		"SELECT format('lb_count(%L)', {board}::text), lb_count({board})::text,"
	" (SELECT count(*) FROM b)::text"},
	{"lb_count_between",
		"SELECT format('lb_count_between(%L, %L, %L)', lo, hi, {board}),"
		" lb_count_between(lo, hi, {board})::text,"
		" (SELECT count(*) FROM b WHERE (lo IS NULL OR s >= lo)"
		" AND (hi IS NULL OR s <= hi))::text"
		" FROM {scores} AS l (lo) CROSS JOIN (SELECT NULL UNION"
	" SELECT min(s) + $A % 10 FROM b WHERE s < 100 UNION VALUES (5), (900)) AS h (hi)"},
	{"lb_rank_of_score",
		"SELECT format('lb_rank_of_score(%s, %L, %L)', x, {board}, w),"
		" lb_rank_of_score(x, {board}, w)::text,"
		" CASE WHEN x IS NULL THEN NULL"
		" WHEN coalesce(w, {method}) = 'dense_rank' THEN"
		" (SELECT dense_rank(x) WITHIN GROUP (ORDER BY s {direction}) FROM b)"
		" ELSE (SELECT rank(x) WITHIN GROUP (ORDER BY s {direction}) FROM b)"
		" END::text"
	" FROM {scores} AS l (x) CROSS JOIN " METHODS},
	{"lb_score_at_percentile",
		"SELECT format('lb_score_at_percentile(%s, %L)', p, {board}),"
		" lb_score_at_percentile(p, {board})::text,"
		" (SELECT percentile_disc(p / 100) WITHIN GROUP (ORDER BY s {reverse})"
		" FROM b)::text"
		" FROM (SELECT generate_series(0, 10)::float8 * 10 UNION ALL VALUES"
		" (0.1), (33.333333), (99.9), (99.99999999), (1e-300), (NULL),"
	" (($A % 100000)::float8 / 1000)) AS x (p)"},
	{"lb_ranks",
		"SELECT format('lb_ranks(%L, %L, %L)', a, {board}, w),"
		" (SELECT string_agg(row(t.member, t.rank, t.score)::text, ' '"
		" ORDER BY t.ordinality)"
		" FROM lb_ranks(a, {board}, w) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row(i, " RANK_BY_METHOD ", s)::text, ' '"
		" ORDER BY place_in_a)"
		" FROM unnest(a) WITH ORDINALITY AS e (i, place_in_a)"
		" LEFT JOIN b ON m = i AND nth = 1)"
	" FROM {arrays} AS x (a) CROSS JOIN " METHODS},
	{"lb_among",
		"SELECT format('lb_among(%L, %L)', a, {board}),"
		" (SELECT string_agg(row(t.place, t.member, t.score, t.rank)::text,"
		" ' ' ORDER BY t.ordinality)"
		" FROM lb_among(a, {board}) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row(f.n, m, s, {k})::text, ' ' ORDER BY f.n)"
		" FROM (SELECT row_number() OVER (ORDER BY place) AS n, m, s, place, r, d"
		" FROM b WHERE m = ANY (a) AND nth = 1) AS f)"
	" FROM {arrays} AS x (a)"},
	{"lb_histogram",

		/*
		 * The range of R scores is cut into k = least(n, R) buckets; a row at
		 * distance d from the worst score belongs to floor(d * k / R) + 1.
		 */
		"SELECT format('lb_histogram(%s, %L)', n, {board}),"
		" (SELECT string_agg(row(t.bucket, t.lo, t.hi, t.members)::text, ' '"
		" ORDER BY t.ordinality)"
		" FROM lb_histogram(n, {board}) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row(i,"
		" CASE {direction} WHEN 'DESC' THEN worst + d1 ELSE worst - d2 END,"
		" CASE {direction} WHEN 'DESC' THEN worst + d2 ELSE worst - d1 END,"
		" (SELECT count(*) FROM b WHERE div(abs(s - worst) * k, size) + 1 = i)"
		")::text, ' ' ORDER BY i)"
		" FROM (SELECT least(n, size) AS k, size, CASE {direction}"
		" WHEN 'DESC' THEN lo ELSE hi END AS worst"
		" FROM (SELECT min(s)::numeric AS lo, max(s)::numeric AS hi,"
		" max(s)::numeric - min(s) + 1 AS size FROM b) AS e"
		" WHERE lo IS NOT NULL) AS e"
		" CROSS JOIN LATERAL generate_series(1, k::integer) AS i"
		" CROSS JOIN LATERAL (SELECT div((i - 1) * size + k - 1, k) AS d1,"
		" div(i * size + k - 1, k) - 1 AS d2) AS f)"
	" FROM (VALUES (1), (2), (7), (10), (50), ($A % 30 + 1)) AS x (n)"},
};

#define NCOMPARISONS \
	((int) (sizeof(comparisons) / sizeof(comparisons[0])))

/* What is compared: a table, for a family one of its boards, and how much. */
typedef struct Look
{
	const Table *table;
	const char *value;			/* of the board column, or NULL */
	bool		full;			/* every member, else a few */
} Look;

/* A literal for SQL, to be freed. */
static char *
literal(const char *s)
{
	char	   *quoted = PQescapeLiteral(conn, s, strlen(s));
	char	   *copy;

	if (quoted == NULL || (copy = strdup(quoted)) == NULL)
		out_of_memory();
	PQfreemem(quoted);
	return copy;
}

static char *
board_literal(const Look *look)
{
	char	   *name = look->value == NULL ? format("%s", look->table->board)
		: format("%s:%s", look->table->board, look->value);
	char	   *quoted = literal(name);

	free(name);
	return quoted;
}

/* Print the members that a comparison asks for. */
static void
put_keys(FILE *f, const Look *look)
{
	if (look->full)
		fprintf(f, "(SELECT generate_series(0, %d) UNION ALL VALUES"
				" (NULL::bigint), (-1), (9223372036854775807),"
				" (-9223372036854775808), (2147483647), (-2147483648))",
				members + 1);
	else
	{
		fprintf(f, "(VALUES (NULL::bigint), (%s)",
				look->table->extreme_members[rnd(4)]);
		for (int i = 0; i < 8; i++)
			fprintf(f, ", (%d)", 1 + rnd(members));
		fprintf(f, ")");
	}
}

static void
put_scores(FILE *f, const Look *look)
{
	fprintf(f, "(VALUES (NULL::bigint), (0), (1), (-1), (%s), (%s),"
			" (9223372036854775807), (-9223372036854775808)",
			look->table->extreme_scores[0], look->table->extreme_scores[1]);
	for (int i = 0; i < (look->full ? 40 : 5); i++)
		fprintf(f, ", (%d)", percent(50) ? rnd(22) : rnd(1002));
	fprintf(f, ")");
}

static void
put_arrays(FILE *f, const Look *look)
{
	fprintf(f, "(VALUES (NULL::bigint[]), ('{}'), ('{NULL}')");
	for (int i = 0; i < (look->full ? 10 : 2); i++)
	{
		fprintf(f, ", ('{%s", look->table->extreme_members[rnd(4)]);
		for (int n = rnd(30); n > 0; n--)
		{
			if (percent(5))
				fprintf(f, ",NULL");
			else
				fprintf(f, ",%d", rnd(members + 10));
		}
		fprintf(f, "}')");
	}
	fprintf(f, ")");
}

/* Put in what the words in braces stand for. */
static void
expand(FILE *f, const char *s, const Look *look)
{
	const Table *t = look->table;
	char	   *text;

	while (*s != '\0')
	{
		size_t		len = strcspn(s, "{$");

		fwrite(s, 1, len, f);
		s += len;
		if (*s == '\0')
			break;
		if (s[0] == '$' && (s[1] == 'A' || s[1] == 'B'))
		{
			fprintf(f, "%d", rnd(1000000000));
			s += 2;
			continue;
		}
#define WORD(w) (strncmp(s, "{" w "}", sizeof(w) + 1) == 0 && (s += sizeof(w) + 1))
		if (WORD("member"))
			fputs(t->member, f);
		else if (WORD("score"))
			fputs(t->score, f);
		else if (WORD("order"))
			fputs(t->order, f);
		else if (WORD("reverse"))
			fputs(t->reverse, f);
		else if (WORD("table"))
			fputs(t->name, f);
		else if (WORD("k"))
			fputs(t->method[0] == 'd' ? "d" :
				  strcmp(t->method, "rank") == 0 ? "r" : "place", f);
		else if (WORD("method"))
			fprintf(f, "'%s'", t->method);
		else if (WORD("board"))
		{
			text = board_literal(look);
			fputs(text, f);
			free(text);
		}
		else if (WORD("ranked"))
		{
			fprintf(f, "(%s)", t->ranked);
			if (look->value != NULL)
			{
				text = literal(look->value);
				fprintf(f, " AND %s = %s", t->group, text);
				free(text);
			}
		}
		else if (WORD("keys"))
			put_keys(f, look);
		else if (WORD("scores"))
			put_scores(f, look);
		else if (WORD("arrays"))
			put_arrays(f, look);
		else if (WORD("direction"))
			fputs(t->direction, f);
		else
			fputc(*s++, f);
#undef WORD
	}
}

/* The statement of a comparison, to be freed. */
static char *
comparison_statement(const struct Comparison *c, const Look *look)
{
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	if (f == NULL)
		out_of_memory();
	expand(f, ranked_rows, look);
	/* A histogram asks for the direction as a value. */
	if (strcmp(c->function, "lb_histogram") == 0)
	{
		const char *s = c->query;
		const char *found;

		while ((found = strstr(s, "{direction}")) != NULL)
		{
			char	   *part = format("%.*s", (int) (found - s), s);

			expand(f, part, look);
			free(part);
			fprintf(f, "'%s'", look->table->direction);
			s = found + strlen("{direction}");
		}
		expand(f, s, look);
	}
	else
		expand(f, c->query, look);
	fclose(f);
	return text;
}

static bool
same_value(const PGresult *a, int acol, const PGresult *b, int bcol, int row)
{
	return PQgetisnull(a, row, acol) == PQgetisnull(b, row, bcol) &&
		strcmp(PQgetvalue(a, row, acol), PQgetvalue(b, row, bcol)) == 0;
}

/*
 * The row where the function's answers, in a column of a result, differ from
 * the query's, or -1.
 */
static int
find_difference(const PGresult *got, int got_col, const PGresult *want,
				int want_col)
{
	for (int i = 0; i < PQntuples(got); i++)
	{
		if (!same_value(got, got_col, want, want_col, i))
			return i;
	}
	return -1;
}

/* Return a text about a difference, to be freed. */
static char *
describe_difference(const PGresult *got, int got_col, const PGresult *want,
					int want_col, int row, const char *statement)
{
	return format("%s\n  returns   %s\n  should be %s\n\nin\n%s",
				  PQgetvalue(got, row, 0),
				  PQgetisnull(got, row, got_col) ? "NULL" :
				  PQgetvalue(got, row, got_col),
				  PQgetisnull(want, row, want_col) ? "NULL" :
				  PQgetvalue(want, row, want_col), statement);
}

static void
compare_results(const PGresult *got, int got_col, const PGresult *want,
				int want_col, const char *statement)
{
	int			row = find_difference(got, got_col, want, want_col);

	if (row < 0)
	{
		result.passed += PQntuples(got);
		return;
	}
	result.failed++;
	strcpy(failure_kind, "difference");
	fail("%s", describe_difference(got, got_col, want, want_col, row,
								   statement));
}

/* Compare the columns of each row of a comparison's result. */
static void
compare_rows(const PGresult *res, const char *statement)
{
	compare_results(res, 1, res, 2, statement);
}

/* Returns false after an expected error. */
static bool
compare(const struct Comparison *c, const Look *look)
{
	char	   *statement = comparison_statement(c, look);
	PGresult   *res = run_copy(statement, NULL);

	if (res != NULL)
		compare_rows(res, statement);
	PQclear(res);
	free(statement);
	return res != NULL;
}

/* Compare a few functions on one board of a table. */
static bool
compare_some(const Table *table, int n)
{
	Look		look = {table, NULL, false};

	if (table->values != NULL)
		look.value = table->values[rnd(6)];
	while (n-- > 0)
	{
		if (!compare(&comparisons[rnd(NCOMPARISONS)], &look))
			return false;
	}
	return true;
}

/* Compare every function for every member on every board. */
static void
compare_all(void)
{
	for (int i = 0; i < NTABLES; i++)
	{
		const Table *t = &tables[i];
		int			v = 0;

		do
		{
			Look		look = {t, t->values ? t->values[v] : NULL, true};

			for (int c = 0; c < NCOMPARISONS; c++)
			{
				if (!compare(&comparisons[c], &look))
					fail("%s cannot be compared: %s", comparisons[c].function,
						 PQerrorMessage(conn));
			}
		} while (t->values != NULL && t->values[++v] != NULL);
	}
}

/* ----------------------------------------------------------------
 *	Random values
 *
 * They return a string that is good until as many more were asked for.
 * ----------------------------------------------------------------
 */
static const char *
keep(char *s)
{
	static char *kept[64];
	static int	next = 0;
	char	  **slot = &kept[next++ % 64];

	free(*slot);
	*slot = s;
	return s;
}

static const char *
a_member(const Table *t)
{
	if (percent(3))
		return t->extreme_members[rnd(4)];
	/* A few are in great demand, so that transactions meet. */
	return keep(format("%d", 1 + rnd(percent(40) ? members / 10 : members)));
}

static const char *
a_score(const Table *t)
{
	if (percent(1))
		return t->extreme_scores[rnd(4)];
	if (percent(2))
		return "NULL";
	return keep(format("%d", percent(70) ? rnd(20) : rnd(1000)));
}

static const char *
a_tie(const Table *t)
{
	int			n = 0;

	if (percent(2))
		return "NULL";
	while (t->ties[n] != NULL)
		n++;
	return t->ties[rnd(n)];
}

static const char *
a_group(const Table *t)
{
	char	   *quoted;

	if (t->values == NULL || percent(2))
		return "NULL";
	quoted = literal(t->values[percent(60) ? rnd(2) : rnd(5)]);
	return keep(quoted);
}

static const char *
a_flag(void)
{
	return percent(80) ? "true" : percent(70) ? "false" : "NULL";
}

/* The columns, and a row of them, typed as MERGE needs it. */
static const char *
columns(const Table *t)
{
	return keep(format("%s, %s, %s, %s, %s", t->member, t->group, t->score,
					   t->tie, t->flag));
}

static const char *
a_row(const Table *t)
{
	return keep(format("((%s)::%s, (%s)::%s, (%s)::%s, (%s)::%s,"
					   " (%s)::boolean)",
					   percent(2) ? "NULL" : a_member(t), t->member_type,
					   a_group(t), t->group_type, a_score(t), t->score_type,
					   a_tie(t), t->tie_type, a_flag()));
}

/* Which row a statement is after. */
static const char *
one_row(const Table *t)
{
	if (t->values != NULL && percent(80))
		return keep(format("%s = %s AND %s = %s", t->member, a_member(t),
						   t->group, a_group(t)));
	return keep(format("%s = %s", t->member, a_member(t)));
}

static const char *
many_rows(const Table *t)
{
	if (percent(50))
		return keep(format("%s %% %d = %d", t->member, 3 + rnd(20), rnd(3)));
	return keep(format("%s BETWEEN %d AND %d", t->score, rnd(20),
					   percent(80) ? rnd(20) : 1000));
}

/* Scores of either end would leave their type. */
static const char *
movable(const Table *t)
{
	return keep(format("%s BETWEEN -20000 AND 20000", t->score));
}

/* ----------------------------------------------------------------
 *	Random statements
 *
 * Each returns false if the transaction has failed.
 * ----------------------------------------------------------------
 */
static bool
do_insert(const Table *t)
{
	return run_free(format("INSERT INTO %s (%s) VALUES %s, %s%s", t->name,
						   columns(t), a_row(t), a_row(t),
						   percent(80) ? " ON CONFLICT DO NOTHING" : ""));
}

static bool
do_upsert(const Table *t)
{
	return run_free(format("INSERT INTO %s AS o (%s) VALUES %s"
						   " ON CONFLICT (%s) DO UPDATE SET %s = %s,"
						   " %s = excluded.%s%s",
						   t->name, columns(t), a_row(t), t->conflict,
						   t->score, percent(50) ? a_score(t) :
						   keep(format("excluded.%s", t->score)),
						   t->tie, t->tie,
						   percent(20) ? " WHERE o.fine" : ""));
}

static bool
do_update(const Table *t)
{
	switch (rnd(8))
	{
		case 0:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->tie, a_tie(t), one_row(t)));
		case 1:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->flag, a_flag(), one_row(t)));
		case 2:
			return run_free(format("UPDATE %s SET %s = %s, %s = %s WHERE %s",
								   t->name, t->score, a_score(t), t->tie,
								   a_tie(t), one_row(t)));
		default:
			return run_free(format("UPDATE %s SET %s = %s + %d"
								   " WHERE %s AND %s", t->name, t->score,
								   t->score, rnd(7) - 3, one_row(t),
								   movable(t)));
	}
}

/* Changes of what a row is found by. */
static bool
do_move(const Table *t)
{
	switch (rnd(t->values != NULL ? 4 : 2))
	{
		case 0:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->member, percent(5) ? "NULL" :
								   a_member(t), one_row(t)));
		case 1:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s IS NULL"
								   " AND ctid = (SELECT min(ctid) FROM %s"
								   " WHERE %s IS NULL)", t->name, t->member,
								   a_member(t), t->member, t->name,
								   t->member));
		default:
			return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
								   t->group, a_group(t), one_row(t)));
	}
}

static bool
do_update_many(const Table *t)
{
	if (percent(20))
		return run_free(format("UPDATE %s SET %s = %s WHERE %s", t->name,
							   t->tie, a_tie(t),
							   many_rows(t)));
	return run_free(format("UPDATE %s SET %s = %s %s %d WHERE %s AND %s",
						   t->name, t->score, t->score,
						   percent(80) ? "+" : "/", 1 + rnd(3),
						   many_rows(t), movable(t)));
}

static bool
do_delete(const Table *t)
{
	if (percent(10))
		return run_free(format("DELETE FROM %s WHERE %s", t->name,
							   many_rows(t)));
	if (percent(10))
		return run_free(format("DELETE FROM %s WHERE %s IS NULL OR %s IS NULL"
							   " OR %s IS NULL", t->name, t->member,
							   t->score, t->tie));
	return run_free(format("DELETE FROM %s WHERE %s", t->name, one_row(t)));
}

static bool
do_merge(const Table *t)
{
	return run_free(format("MERGE INTO %s AS o USING (VALUES %s, %s, %s)"
						   " AS n (%s) ON o.%s = n.%s%s"
						   " WHEN MATCHED AND o.%s > %d THEN DELETE"
						   " WHEN MATCHED THEN UPDATE SET %s = n.%s, %s = n.%s"
						   " WHEN NOT MATCHED AND n.%s IS NOT NULL THEN"
						   " INSERT (%s) VALUES (n.%s, n.%s, n.%s, n.%s, n.%s)",
						   t->name, a_row(t), a_row(t), a_row(t), columns(t),
						   t->member, t->member,
						   t->values == NULL ? "" :
						   keep(format(" AND o.%s = n.%s", t->group,
									   t->group)),
						   t->score, 15 + rnd(200), t->score, t->score,
						   t->tie, t->tie, t->score, columns(t), t->member,
						   t->group, t->score, t->tie, t->flag));
}

/* The same row out and in again by one statement. */
static bool
do_replace(const Table *t)
{
	return run_free(format("WITH d AS (DELETE FROM %s WHERE %s RETURNING *)"
						   " INSERT INTO %s (%s) SELECT %s, %s, %s, %s, %s"
						   " FROM d", t->name,
						   percent(50) ? one_row(t) : many_rows(t), t->name,
						   columns(t), t->member, t->group, a_score(t),
						   a_tie(t), t->flag));
}

/* COPY has no ON CONFLICT: make room for the rows first. */
static bool
do_copy(const Table *t)
{
	char	   *data = NULL;
	size_t		size;
	FILE	   *f;
	char	   *statement;
	PGresult   *res;
	int			first = 1 + rnd(members);
	int			n = 1 + rnd(10);
	const char *group = t->values ? t->values[rnd(5)] : "\\N";

	if (percent(90) &&
		!run_free(format("DELETE FROM %s WHERE %s BETWEEN %d AND %d", t->name,
						 t->member, first, first + n - 1)))
		return false;
	if ((f = open_memstream(&data, &size)) == NULL)
		out_of_memory();
	for (int i = 0; i < n; i++)
	{
		if (percent(3))
			fprintf(f, "\\N\t");
		else
			fprintf(f, "%d\t", first + i);
		fprintf(f, "%s\t%d\t%s\t%s\n", group, rnd(30),
				percent(5) ? "\\N" : percent(10) ? "infinity" :
				"2026-01-01", percent(80) ? "t" : "f");
	}
	fclose(f);
	statement = format("COPY %s (%s) FROM STDIN", t->name, columns(t));
	res = run_copy(statement, data);
	PQclear(res);
	free(statement);
	free(data);
	return res != NULL;
}

/* Many rows at once, which also makes up for what was deleted. */
static bool
do_fill(const Table *t)
{
	return run_free(format("INSERT INTO %s (%s) SELECT i, %s, i %% %d, %s, %s"
						   " FROM generate_series(1, %d) i"
						   " ON CONFLICT DO NOTHING", t->name, columns(t),
						   a_group(t), 1 + rnd(50), a_tie(t), a_flag(),
						   members));
}

/*
 * More changes than are copied when they are published.  The members are none
 * of those of the other statements, and do not stay for long.
 */
static bool
do_large(const Table *t)
{
	const char *where = keep(format("%s BETWEEN 20001 AND 24500", t->member));

	switch (rnd(5))
	{
		case 0:
			return run_free(format("INSERT INTO %s (%s)"
								   " SELECT 20000 + i, %s, i %% %d, %s, true"
								   " FROM generate_series(1, %d) i"
								   " ON CONFLICT DO NOTHING", t->name,
								   columns(t), t->values == NULL ? "NULL" :
								   keep(literal(t->values[rnd(2)])),
								   1 + rnd(3000), t->ties[0],
								   4097 + rnd(400)));
		case 1:
			return run_free(format("UPDATE %s SET %s = %s + 1 WHERE %s",
								   t->name, t->score, t->score, where));
		default:
			return run_free(format("DELETE FROM %s WHERE %s", t->name, where));
	}
}

/* Exceptions that PL/pgSQL catches are subtransactions that abort. */
static bool
do_block(const Table *t)
{
	return run_free(format("DO $$BEGIN"
						   " UPDATE %s SET %s = %s + 1 WHERE %s AND %s;"
						   " BEGIN"
						   " DELETE FROM %s WHERE %s;"
						   " INSERT INTO %s (%s) VALUES %s"
						   " ON CONFLICT DO NOTHING;"
						   " PERFORM 1 / %d;"
						   " EXCEPTION WHEN division_by_zero THEN"
						   " UPDATE %s SET %s = %s WHERE %s;"
						   " END;"
						   " DELETE FROM %s WHERE %s; END$$",
						   t->name, t->score, t->score, one_row(t), movable(t),
						   t->name, one_row(t),
						   t->name, columns(t), a_row(t),
						   rnd(2),
						   t->name, t->score, a_score(t), one_row(t),
						   t->name, one_row(t)));
}

/* Reads whose answers are looked at by nobody, for what they might disturb. */
static bool
do_read(const Table *t)
{
	Look		look = {t, t->values ? t->values[rnd(6)] : NULL, false};
	char	   *board = board_literal(&look);
	bool		ok;

	ok = run_free(format("SELECT lb_rank(%s, %s), lb_count(%s),"
						 " (SELECT count(*) FROM lb_top(20, %s)),"
						 " (SELECT count(*) FROM lb_around(%s, %s))",
						 a_member(t), board, board, board, a_member(t),
						 board));
	free(board);
	return ok;
}

static bool
do_something(const Table *t)
{
	int			n = rnd(100);

	if (rnd(200) == 0)
		return do_large(t);
	if (n < 30)
		return do_update(t);
	if (n < 42)
		return do_insert(t);
	if (n < 52)
		return do_upsert(t);
	if (n < 60)
		return do_delete(t);
	if (n < 68)
		return do_move(t);
	if (n < 73)
		return do_update_many(t);
	if (n < 78)
		return do_merge(t);
	if (n < 82)
		return do_replace(t);
	if (n < 86)
		return do_copy(t);
	if (n < 88)
		return do_fill(t);
	if (n < 93)
		return do_block(t);
	return do_read(t);
}

/* ----------------------------------------------------------------
 *	Random transactions
 * ----------------------------------------------------------------
 */

/*
 * A cursor compares with what it saw when it was opened, though rows change
 * before it is read.
 */
static bool
compare_through_cursor(const Table *t)
{
	Look		look = {t, t->values ? t->values[rnd(6)] : NULL, false};
	const struct Comparison *c = &comparisons[rnd(NCOMPARISONS)];
	char	   *query = comparison_statement(c, &look);
	PGresult   *res = NULL;

	if (run_free(format("DECLARE c %s CURSOR FOR %s",
						percent(50) ? "NO SCROLL" : "SCROLL", query)) &&
		do_something(t) &&
		(!percent(50) || do_something(t)) &&
		(res = run_copy("FETCH ALL FROM c", NULL)) != NULL)
	{
		compare_rows(res, query);
		run("CLOSE c");
	}
	PQclear(res);
	free(query);
	return !tx_failed;
}

/* A cursor that is read when its transaction has committed. */
static void
compare_through_held_cursor(const Table *t)
{
	Look		look = {t, t->values ? t->values[rnd(6)] : NULL, false};
	char	   *query = comparison_statement(&comparisons[rnd(NCOMPARISONS)],
											 &look);
	PGresult   *res;

	if (run_free(format("DECLARE h CURSOR WITH HOLD FOR %s", query)))
	{
		/* Some of it may be read before. */
		if (percent(50) &&
			(res = run_copy("FETCH 2 FROM h", NULL)) != NULL)
		{
			compare_rows(res, query);
			PQclear(res);
		}
		if (!tx_failed && percent(60))
			do_something(t);
		if (!tx_failed && run("COMMIT"))
		{
			result.committed++;
			if (percent(50))
				do_something(t);
			tx_failed = false;
			if ((res = run_copy("FETCH ALL FROM h", NULL)) != NULL)
			{
				compare_rows(res, query);
				PQclear(res);
			}
			tx_failed = false;
			run("CLOSE h");
			free(query);
			return;
		}
	}
	free(query);
	tx_failed = false;
	run("ROLLBACK");
	result.rolled_back++;
}

/*
 * The function is asked in one statement and the query in another.  Both say
 * what snapshot they have: without that a history from which steps are left
 * out could have the two in different ones.
 */
static void
compare_in_two(const Table *t)
{
	Look		look = {t, t->values ? t->values[rnd(6)] : NULL, false};
	char	   *query = comparison_statement(&comparisons[rnd(NCOMPARISONS)],
											 &look);
	PGresult   *got;
	PGresult   *want = NULL;
	char	   *statement;

	statement = format("SELECT call, got, pg_current_snapshot() AS at"
					   " FROM (%s) AS c (call, got, want) ORDER BY call, got",
					   query);
	got = run_copy(statement, NULL);
	free(statement);
	if (got != NULL && (!percent(50) || compare_some(t, 1)))
	{
		statement = format("SELECT call, want, pg_current_snapshot() AS at"
						   " FROM (%s) AS c (call, got, want)"
						   " ORDER BY call, want", query);
		want = run_copy(statement, NULL);
		if (want != NULL)
			compare_results(got, 1, want, 1, statement);
		free(statement);
	}
	PQclear(got);
	PQclear(want);
	free(query);
}

/*
 * End a transaction in two phases.  It keeps its locks meanwhile, so not for
 * long.
 */
static void
prepare(void)
{
	bool		commits = percent(70);

	if (!run_free(format("PREPARE TRANSACTION 'oracle %d'", me)))
	{
		result.rolled_back++;	/* which a failing PREPARE does */
		return;
	}
	for (int n = rnd(4); n > 0; n--)
	{
		compare_some(&tables[rnd(NTABLES)], 1);
		tx_failed = false;
	}
	/* Whoever had to wait for our locks gets an error; we must not. */
	while (!run_free(format("%s PREPARED 'oracle %d'",
							commits ? "COMMIT" : "ROLLBACK", me)))
	{
		if (lost)
			return;
		if (disturber == NULL)
			fail("a prepared transaction could not be ended");
		/* Cancelled: it is still prepared. */
	}
	tx_failed = false;
	/* Nobody may have met its changes yet. */
	if (percent(50))
		compare_some(&tables[rnd(NTABLES)], 2);
	if (commits)
		result.committed++;
	else
		result.rolled_back++;
}

static void
transaction(void)
{
	const Table *t = &tables[rnd(NTABLES)];
	bool		exact = !locked;	/* comparisons may be made */
	bool		truncated = false;
	bool		one_snapshot = false;
	int			depth = 0;

	tx_failed = false;

	/* A build goes on while the others write. */
	if (rnd(400) == 0)
	{
		char	   *statement = format("SELECT lb_rebuild('%s')", t->board);

		/* It may not get its lock. */
		PQclear(run_copy(statement, NULL));
		free(statement);
		return;
	}

	switch (rnd(20))
	{
		case 0:
		case 1:
		case 2:
			run("BEGIN ISOLATION LEVEL REPEATABLE READ");
			exact = one_snapshot = true;
			break;
		case 3:
		case 4:
			run("BEGIN ISOLATION LEVEL SERIALIZABLE");
			exact = one_snapshot = true;
			break;
		case 5:
		case 6:
			run("BEGIN");
			if (percent(50))
				do_something(t);
			if (!tx_failed &&
				run_free(format("LOCK TABLE %s IN SHARE MODE", t->name)))
				exact = true;
			break;
		default:
			run("BEGIN");
			break;
	}

	for (int n = 1 + rnd(6); n > 0; n--)
	{
		/* Others' locks are not for this one to wait for. */
		if (!tx_failed && rnd(300) == 0)
		{
			run_free(format("TRUNCATE %s", t->name));
			truncated = true;
		}

		if (!tx_failed)
		{
			if (one_snapshot && percent(15))
				compare_in_two(t);
			else if (exact && percent(one_snapshot ? 55 : 40))
				compare_some(t, 1 + rnd(3));
			else if (exact && percent(10))
				compare_through_cursor(t);
			else
				do_something(t);
		}
		if (!tx_failed && depth < MAX_SAVEPOINTS && percent(25))
		{
			depth++;
			run_free(format("SAVEPOINT s%d", depth));
		}
		else if (!tx_failed && depth > 0 && percent(20))
		{
			run_free(format("RELEASE s%d", depth));
			depth--;
		}
		else if (depth > 0 && percent(tx_failed ? 70 : 20))
		{
			int			to = 1 + rnd(depth);

			tx_failed = false;
			run_free(format("ROLLBACK TO s%d", to));
			depth = to;
		}
		if (tx_failed)
			break;
	}

	if (!tx_failed && exact && percent(30))
		compare_some(t, 1);
	if (!tx_failed && truncated && percent(70))
		do_fill(t);

	if (!tx_failed && can_prepare && percent(scheduled ? 10 : 4))
	{
		prepare();
		return;
	}
	if (!tx_failed && exact && percent(3))
	{
		compare_through_held_cursor(t);
		return;
	}
	if (!tx_failed && can_pause && percent(25))
		run_free(format("SET LOCAL leaderboard.pause_at = '%s'",
						pause_points[rnd(NPAUSE_POINTS)]));
	if (!tx_failed && percent(75))
	{
		if (run("COMMIT"))
		{
			result.committed++;
			return;
		}
		/* A COMMIT that fails has ended the transaction. */
		result.rolled_back++;
		return;
	}
	tx_failed = false;
	run("ROLLBACK");
	result.rolled_back++;
}

/*
 * Start over on a new connection.  What the old one had prepared is still
 * there.  Called again if this one is lost at once.
 */
static void
connect_again(void)
{
	double		end = now() + 60;

	PQfinish(conn);
	conn = connect_tested();
	if (scheduled)
		set_scheduled_connection(me, conn);
	lost = false;
	for (;;)
	{
		char	   *statement;
		PGresult   *res;
		bool		none;

		statement = format("SELECT FROM pg_prepared_xacts"
						   " WHERE database = current_database()"
						   " AND gid = 'oracle %d'", me);
		res = run_copy(statement, NULL);
		free(statement);
		none = res == NULL || PQntuples(res) == 0;
		PQclear(res);

		/* This connection may be lost as well. */
		if (none || now() > end)
			return;
		/* The old backend may still be at it, or have just finished it. */
		statement = format("%s PREPARED 'oracle %d'",
						   percent(50) ? "COMMIT" : "ROLLBACK", me);
		remember(statement);
		PQclear(scheduled ? scheduled_exec(statement, NULL) :
				PQexec(conn, statement));
		free(statement);
	}
}

/* The life of one process; its results go into the pipe. */
static void
worker(int number, int out)
{
	double		end = now() + seconds;

	me = number;
	random_state = seed * UINT64_C(1000003) + (uint64_t) number;
	conn = connect_tested();
	for (int64_t i = 0; transactions == 0 || i < transactions; i++)
	{
		if (seconds > 0 && now() >= end)
			break;
		transaction();
		if (lost)
			connect_again();
	}
	while (lost)
		connect_again();
	if (write(out, &result, sizeof(result)) != sizeof(result))
		fail("pipe: %s", strerror(errno));
	PQfinish(conn);
	exit(0);
}

/* ----------------------------------------------------------------
 *	The whole
 * ----------------------------------------------------------------
 */
static void
drop_all(void)
{
	for (int i = 0; i < NTABLES; i++)
		run_free(format("SELECT lb_drop_board(board) FROM lb_board"
						" WHERE board = '%s'", tables[i].board));
	for (int i = 0; i < NTABLES; i++)
		run_free(format("DROP TABLE IF EXISTS %s", tables[i].name));
}

/* Roll back what somebody has prepared and was killed before he knew it. */
static void
end_prepared(void)
{
	PGresult   *res = run_copy("SELECT gid FROM pg_prepared_xacts"
							   " WHERE database = current_database()"
							   " AND starts_with(gid, 'oracle ')", NULL);

	for (int i = 0; i < PQntuples(res); i++)
		run_free(format("ROLLBACK PREPARED '%s'", PQgetvalue(res, i, 0)));
	PQclear(res);
}

static void
set_up(void)
{
	char	   *value;

	value = run_value("SHOW max_prepared_transactions");
	can_prepare = atoi(value) >= connections;
	free(value);

	/* An earlier run that did not come to its end may have left some. */
	end_prepared();

	drop_all();
	for (int i = 0; i < NTABLES; i++)
	{
		const Table *t = &tables[i];

		if (t->create != NULL)
			run(partitioned && t->create_partitioned != NULL ?
				t->create_partitioned : t->create);
		/* When a worker looks at a table must make no difference. */
		if (scheduled && !partitioned)
			run_free(format("ALTER TABLE %s SET (autovacuum_enabled = off)",
							t->name));
		/* Some start with rows in the table, some without. */
		if (i % 2 == 0)
			do_fill(t);
		run(t->create_board);
		do_fill(t);
	}
}

static void
print_statistics(void)
{
	PGresult   *res;

	res = run_copy("SELECT board, state, coalesce(reason, '') AS reason,"
				   " members, index_reads, query_reads, query_building,"
				   " query_offline, query_own_changes, query_snapshot, changes"
				   " FROM lb_stat_board ORDER BY board", NULL);
	for (int c = 0; c < PQnfields(res); c++)
		printf("%s%s", c > 0 ? " | " : "", PQfname(res, c));
	printf("\n");
	for (int i = 0; i < PQntuples(res); i++)
	{
		for (int c = 0; c < PQnfields(res); c++)
			printf("%s%s", c > 0 ? " | " : "", PQgetvalue(res, i, c));
		printf("\n");
	}
	PQclear(res);
}

/* Comparisons with queries that ran instead of the index prove nothing. */
static void
check_index_was_used(void)
{
	for (int i = 0; i < NTABLES; i++)
	{
		char	   *statement;
		char	   *value;

		statement = format("SELECT coalesce(sum(index_reads), 0) > 0 AND"
						   " coalesce(sum(query_reads), 0) = 0"
						   " FROM lb_stat_board WHERE board = '%s'"
						   " OR starts_with(board, '%s:')",
						   tables[i].board, tables[i].board);
		value = run_value(statement);
		if (strcmp(value, "t") != 0)
		{
			print_statistics();
			fail("when all was quiet not every read of board \"%s\" used the index",
				 tables[i].board);
		}
		free(value);
		free(statement);
	}
}

/*
 * Reads by index and by query that were counted for boards that still are,
 * since the server's start or the last time that the counters were set to
 * zero.
 */
static int64_t index_reads;
static int64_t query_reads;

/* Add to these, and set the counters to zero; a lock may be in the way. */
static void
gather_share(PGconn *c)
{
	PGresult   *res = PQexec(c, "SELECT coalesce(sum(index_reads), 0),"
							 " coalesce(sum(query_reads), 0)"
							 " FROM lb_stat_board");

	if (PQresultStatus(res) == PGRES_TUPLES_OK)
	{
		index_reads += atoll(PQgetvalue(res, 0, 0));
		query_reads += atoll(PQgetvalue(res, 0, 1));
		PQclear(PQexec(c, "SELECT lb_stat_reset()"));
	}
	PQclear(res);
}

static void
check_share(void)
{
	int64_t		all = index_reads + query_reads;
	double		share = all == 0 ? 0 : 100.0 * index_reads / all;

	printf("%" PRId64 " of %" PRId64 " reads by index: %.1f %%\n",
		   index_reads, all, share);
	if (share < least_share)
	{
		result.failed++;
		fail("only %.1f %% of the reads used the index, which compares queries with themselves",
			 share);
	}
}

/* Backends that have not yet gone have not yet counted their reads. */
static void
wait_for_backends(PGconn *c)
{
	double		end = now() + 60;

	for (;;)
	{
		PGresult   *res = PQexec(c, "SELECT FROM pg_stat_activity"
								 " WHERE application_name = 'oracle tested'"
								 " AND datname = current_database()");
		bool		none = PQresultStatus(res) == PGRES_TUPLES_OK &&
		PQntuples(res) == 0;

		PQclear(res);
		if (none)
			return;
		if (now() > end)
			fail("a backend does not end: %s", PQerrorMessage(c));

		/* One that was killed takes all connections with it. */
		if (PQstatus(c) == CONNECTION_BAD)
			PQreset(c);
		usleep(1000);
	}
}

/*
 * Reads of a board that went offline because its index was wrong are right.
 * Returns a text, to be freed, or NULL.
 */
static char *
find_wrong_index(PGconn *c)
{
	PGresult   *res = PQexec(c, "SELECT board, reason FROM lb_stat_board"
							 " WHERE reason ~ 'did not hold|is there twice'");
	char	   *found = NULL;

	if (PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0)
		found = format("board %s is offline: %s", PQgetvalue(res, 0, 0),
					   PQgetvalue(res, 0, 1));
	PQclear(res);
	return found;
}

static void
check_wrong_index(PGconn *c)
{
	char	   *found = find_wrong_index(c);

	if (found == NULL)
		return;
	result.failed++;
	strcpy(failure_kind, "offline");
	fail("%s", found);
}

static void
final_comparison(void)
{
	PGresult   *res;
	char	   *value;

	end_prepared();
	value = run_value("SELECT lb_wait_ready('1 min')");
	if (strcmp(value, "t") != 0)
	{
		print_statistics();
		fail("the boards do not become ready");
	}
	free(value);
	print_statistics();

	/* The counters are added up at the end of a transaction. */
	run("SELECT lb_stat_reset()");
	compare_all();
	check_index_was_used();
	run("SET leaderboard.enable_index = off");
	compare_all();
	run("RESET leaderboard.enable_index");

	res = run_copy("SELECT board, member, problem FROM lb_verify()", NULL);
	if (res == NULL || PQntuples(res) > 0)
	{
		result.failed++;
		strcpy(failure_kind, "verify");
		fail("lb_verify() returns %d rows, the first: %s, %s, %s",
			 PQntuples(res), PQgetvalue(res, 0, 0), PQgetvalue(res, 0, 1),
			 PQgetvalue(res, 0, 2));
	}
	PQclear(res);
	result.passed++;

	drop_all();
}

static void
usage(void)
{
	fprintf(stderr, "usage: oracle [-d conninfo] [-c connections]"
			" [-t seconds] [-n transactions]\n"
			"              [-s seed] [-m members] [-i percent]"
			" [-S] [-x] [-k] [-l] [-p]\n"
			"              [-X command]\n");
	exit(2);
}

/* ----------------------------------------------------------------
 *	The scheduled mode
 *
 * A connection's transactions are made by the same functions as in the free
 * running mode.  Each connection has a stack of its own for them, which is
 * left when a statement has been sent, and entered again when the scheduler
 * wants the next one.
 *
 * What the scheduler decides must not depend on time.  After each step it
 * waits until every statement under way has either ended or waits for a lock,
 * for longer than the deadlock detector takes.
 * ----------------------------------------------------------------
 */
#define EPISODE_STEPS 500
#define STACK_SIZE (1024 * 1024)
#define MAX_FIRST_REPLAYS 20
#define MAX_REPLAYS 600
#define MAX_SHRINK_SECONDS 120

typedef struct Client
{
	PGconn	   *conn;
	int			pid;
	bool		busy;			/* has a statement under way ... */
	bool		blocked;		/* ... which waits, perhaps ... */
	bool		paused;			/* ... at a pause point */
	bool		dying;			/* was terminated */
	bool		lost;
	bool		tx_failed;
	bool		ended;			/* its stack is not in use */
	double		since;			/* when the statement was sent */
	const char *copy_data;
	PGresult   *res;			/* of the last statement that has ended */
	const char *statement;		/* that one */
	PGresult   *got;			/* first half of a comparison, in a replay */
	uint64_t	random_state;
	char	   *stack;
	ucontext_t	context;
} Client;

typedef enum StepKind
{
	STEP_STATEMENT,
	STEP_CANCEL,
	STEP_TERMINATE,
	STEP_RELEASE				/* let go on who stands at a pause point */
} StepKind;

typedef struct Step
{
	StepKind	kind;
	int			client;
	char	   *text;
	char	   *copy_data;
} Step;

static Client *clients;
static PGconn *monitor;			/* looks at locks, and holds that of pauses */
static ucontext_t scheduler_context;
static bool episode_over;
static uint64_t episode;
static bool replaying = false;
static bool crashed;			/* a connection was lost for no reason */

static Step *history;
static int	nhistory;
static int	max_history;

static void
add_step(StepKind kind, int client, const char *text, const char *copy_data)
{
	Step	   *step;

	if (nhistory == max_history)
	{
		max_history = max_history == 0 ? 1024 : max_history * 2;
		history = realloc(history, max_history * sizeof(Step));
		if (history == NULL)
			out_of_memory();
	}
	step = &history[nhistory++];
	step->kind = kind;
	step->client = client;
	step->text = text == NULL ? NULL : format("%s", text);
	step->copy_data = copy_data == NULL ? NULL : format("%s", copy_data);
}

static void
forget_history(void)
{
	while (nhistory > 0)
	{
		nhistory--;
		free(history[nhistory].text);
		free(history[nhistory].copy_data);
	}
}

static bool
is_comparison(const Step *step)
{
	return step->kind == STEP_STATEMENT &&
		strncmp(step->text, ranked_rows, 20) == 0;
}

/* Ask the monitor; NULL if it has gone with the server. */
static PGresult *
ask_monitor(const char *query)
{
	PGresult   *res = PQexec(monitor, query);

	if (PQstatus(monitor) == CONNECTION_BAD)
	{
		crashed = true;
		PQclear(res);
		return NULL;
	}
	return res;
}

/* Take in what has come from the server. */
static void
pump(Client *c)
{
	PGresult   *res;

	if (PQconsumeInput(c->conn) == 0 ||
		PQstatus(c->conn) == CONNECTION_BAD)
	{
		c->busy = false;
		c->lost = true;
	}
	while (c->busy && !PQisBusy(c->conn))
	{
		res = PQgetResult(c->conn);
		if (res == NULL)
			c->busy = false;
		else if (PQresultStatus(res) == PGRES_COPY_IN)
		{
			const char *data = c->copy_data == NULL ? "" : c->copy_data;

			(void) PQputCopyData(c->conn, data, strlen(data));
			(void) PQputCopyEnd(c->conn, NULL);
			PQclear(res);
		}
		else
		{
			PQclear(c->res);
			c->res = res;
		}
		if (PQstatus(c->conn) == CONNECTION_BAD)
		{
			c->busy = false;
			c->lost = true;
		}
	}
	if (!c->busy)
		c->blocked = c->paused = false;
	if (c->lost && !c->dying)
		crashed = true;
}

/* Which connections wait for a lock that they will not get by themselves? */
static void
find_blocked(void)
{
	PGresult   *res;
	bool		any_paused = false;

	res = ask_monitor("SELECT pid, bool_or(locktype = 'advisory')"
					  " FROM pg_locks WHERE NOT granted AND"
					  " waitstart < clock_timestamp() - interval '15 ms'"
					  " GROUP BY pid");
	for (int i = 0; i < connections; i++)
		clients[i].blocked = clients[i].paused = false;
	for (int r = 0; r < PQntuples(res); r++)
	{
		for (int i = 0; i < connections; i++)
		{
			if (clients[i].busy && clients[i].pid == atoi(PQgetvalue(res, r, 0)))
			{
				clients[i].blocked = true;
				clients[i].paused = PQgetvalue(res, r, 1)[0] == 't';
				any_paused |= clients[i].paused;
			}
		}
	}
	PQclear(res);

	/*
	 * Who stands in the middle of a callback can keep others waiting for
	 * something that is no lock.
	 */
	for (int i = 0; i < connections && any_paused; i++)
	{
		if (clients[i].busy && now() - clients[i].since > 0.3)
			clients[i].blocked = true;
	}
}

/* Wait until nothing moves. */
static void
settle_down(void)
{
	double		end = now() + 40;

	for (;;)
	{
		struct pollfd fds[MAX_CONNECTIONS];
		int			n = 0;
		bool		moving = false;

		for (int i = 0; i < connections; i++)
		{
			Client	   *c = &clients[i];

			if (c->busy || (c->dying && !c->lost))
				pump(c);
			if (c->lost || !(c->busy || c->dying))
				continue;
			fds[n].fd = PQsocket(c->conn);
			fds[n++].events = POLLIN;
		}
		if (crashed || n == 0)
			return;
		if (poll(fds, n, 2) > 0)
			continue;
		find_blocked();
		for (int i = 0; i < connections; i++)
			moving |= clients[i].busy && !clients[i].blocked;
		for (int i = 0; i < connections; i++)
			moving |= clients[i].dying && !clients[i].lost && !clients[i].busy;
		if (crashed || !moving)
			return;
		if (now() > end)
		{
			if (replaying)
				return;
			strcpy(failure_kind, "stuck");
			fail("a statement does not end");
		}
	}
}

static void
send_statement(Client *c, const char *statement, const char *copy_data)
{
	PQclear(c->res);
	c->res = NULL;
	c->statement = statement;
	c->copy_data = copy_data;
	c->since = now();
	c->busy = true;
	if (PQsendQuery(c->conn, statement) != 1)
		pump(c);
}

/* Called on a connection's stack, which it leaves meanwhile. */
static PGresult *
scheduled_exec(const char *statement, const char *copy_data)
{
	Client	   *c = &clients[me];
	PGresult   *res;

	add_step(STEP_STATEMENT, me, statement, copy_data);
	send_statement(c, statement, copy_data);
	swapcontext(&c->context, &scheduler_context);
	res = c->res;
	c->res = NULL;
	return res;
}

static void
client_main(void)
{
	while (!episode_over)
	{
		transaction();
		if (lost && !episode_over)
			connect_again();
	}
	clients[me].ended = true;
	swapcontext(&clients[me].context, &scheduler_context);
}

/* Let a connection's functions go on to the next statement. */
static void
resume(Client *c)
{
	PGconn	   *own_conn = conn;
	uint64_t	own_random = random_state;

	conn = c->conn;
	me = c - clients;
	lost = c->lost;
	tx_failed = c->tx_failed;
	random_state = c->random_state;
	swapcontext(&scheduler_context, &c->context);
	c->lost |= lost;
	c->tx_failed = tx_failed;
	c->random_state = random_state;
	conn = own_conn;
	me = -1;
	lost = false;
	random_state = own_random;
}

/* Give a client the connection that it has made, or make it. */
static void
set_connection(Client *c, PGconn *new_conn)
{
	c->conn = new_conn;
	c->pid = PQbackendPID(new_conn);
	c->busy = c->blocked = c->paused = c->dying = c->lost = false;
	PQclear(c->res);
	PQclear(c->got);
	c->res = c->got = NULL;
}

static void
set_scheduled_connection(int number, PGconn *new_conn)
{
	set_connection(&clients[number], new_conn);
}

static void
hold_pauses(bool hold)
{
	PGresult   *res = ask_monitor(hold ? "SELECT pg_advisory_lock(" PAUSE_LOCK ")"
								  : "SELECT pg_advisory_unlock_all()");

	PQclear(res);
}

static void
release_paused(void)
{
	hold_pauses(false);
	hold_pauses(true);
	for (int i = 0; i < connections; i++)
		clients[i].blocked = clients[i].paused = false;
}

static void
signal_client(Client *c, const char *function)
{
	char	   *statement = format("SELECT %s(%d)", function, c->pid);

	PQclear(ask_monitor(statement));
	free(statement);
}

/* Close all connections, after which no backend of theirs is left. */
static void
close_connections(void)
{
	if (monitor != NULL)
		PQfinish(monitor);
	monitor = NULL;
	for (int i = 0; i < connections; i++)
	{
		Client	   *c = &clients[i];

		if (c->conn == NULL)
			continue;
		/* It would end its statement first. */
		if (c->busy)
		{
			char		error[256];
			PGcancel   *cancel = PQgetCancel(c->conn);

			PQcancel(cancel, error, sizeof(error));
			PQfreeCancel(cancel);
		}
		PQfinish(c->conn);
		c->conn = NULL;
	}
	for (double end = now() + 60;;)
	{
		if (PQstatus(conn) == CONNECTION_BAD)
		{
			PQreset(conn);
			usleep(10000);
		}
		else
		{
			PQclear(PQexec(conn, "SELECT pg_terminate_backend(pid)"
						   " FROM pg_stat_activity"
						   " WHERE application_name = 'oracle tested'"
						   " AND datname = current_database()"));
			break;
		}
		if (now() > end)
			fail("the server does not come back");
	}
	wait_for_backends(conn);
}

/* New tables and new connections, the same for the same episode. */
static void
begin_episode(void)
{
	char	   *value;

	close_connections();
	gather_share(conn);
	crashed = false;
	random_state = seed * UINT64_C(1000003) + episode;
	set_up();
	value = run_value("SELECT lb_wait_ready('1 min')");
	if (strcmp(value, "t") != 0)
		fail("the boards do not become ready");
	free(value);
	monitor = connect_or_fail();
	PQclear(ask_monitor("SET lock_timeout = '1s'"));
	hold_pauses(true);
	for (int i = 0; i < connections; i++)
	{
		Client	   *c = &clients[i];

		set_connection(c, connect_tested());
		c->random_state = random64();
		c->tx_failed = false;
	}
}

/*
 * lb_verify() when nothing goes on; a text to be freed, or NULL.  Who had no
 * more statements may have left a prepared transaction, which can keep a
 * board offline and its table locked.
 */
static char *
verify_all(void)
{
	PGresult   *res;
	char	   *found = NULL;
	char	   *ready;

	end_prepared();
	ready = run_value("SELECT lb_wait_ready('1 min')");
	if (strcmp(ready, "t") != 0)
		found = format("the boards do not become ready");
	free(ready);
	if (found != NULL)
		return found;

	res = PQexec(conn, "SELECT board, member, problem FROM lb_verify()");
	if (PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0)
		found = format("lb_verify() returns %d rows, the first: %s, %s, %s",
					   PQntuples(res), PQgetvalue(res, 0, 0),
					   PQgetvalue(res, 0, 1), PQgetvalue(res, 0, 2));
	PQclear(res);
	return found;
}

/* One step, as the random numbers say. */
static void
take_step(void)
{
	int			runnable[MAX_CONNECTIONS];
	int			busy[MAX_CONNECTIONS];
	int			nrunnable = 0;
	int			nbusy = 0;
	bool		any_paused = false;

	for (int i = 0; i < connections; i++)
	{
		if (clients[i].busy)
			busy[nbusy++] = i;
		else
			runnable[nrunnable++] = i;
		any_paused |= clients[i].paused;
	}
	if (any_paused && (nrunnable == 0 || percent(8)))
	{
		add_step(STEP_RELEASE, -1, NULL, NULL);
		release_paused();
	}
	else if (nbusy > 0 && (nrunnable == 0 || percent(2)))
	{
		int			i = busy[rnd(nbusy)];

		add_step(STEP_CANCEL, i, NULL, NULL);
		signal_client(&clients[i], "pg_cancel_backend");
	}
	else if (rnd(300) == 0)
	{
		int			i = rnd(connections);

		if (!clients[i].lost)
		{
			add_step(STEP_TERMINATE, i, NULL, NULL);
			clients[i].dying = true;
			signal_client(&clients[i], "pg_terminate_backend");
		}
	}
	else
		resume(&clients[runnable[rnd(nrunnable)]]);
	settle_down();
	if (crashed)
	{
		strcpy(failure_kind, "lost");
		fail("the server has closed a connection");
	}
}

static void
run_episode(void)
{
	char	   *found;

	forget_history();
	begin_episode();
	episode_over = false;
	for (int i = 0; i < connections; i++)
	{
		Client	   *c = &clients[i];

		if (c->stack == NULL && (c->stack = malloc(STACK_SIZE)) == NULL)
			out_of_memory();
		getcontext(&c->context);
		c->context.uc_stack.ss_sp = c->stack;
		c->context.uc_stack.ss_size = STACK_SIZE;
		c->context.uc_link = NULL;
		c->ended = false;
		makecontext(&c->context, client_main, 0);
	}
	while (nhistory < EPISODE_STEPS)
	{
		take_step();
		/* The next read may want a build, and be right. */
		if (nhistory > 0 && !is_comparison(&history[nhistory - 1]))
			check_wrong_index(conn);
	}

	/* Let them come to an end, with no more statements. */
	release_paused();
	settle_down();
	episode_over = true;
	for (int i = 0; i < connections; i++)
	{
		clients[i].lost = true;
		while (!clients[i].ended)
			resume(&clients[i]);
	}
	check_wrong_index(conn);
	close_connections();
	if ((found = verify_all()) != NULL)
	{
		result.failed++;
		strcpy(failure_kind, "verify");
		fail("%s", found);
	}
	result.passed++;
}

static void
run_scheduled(void)
{
	double		end = now() + seconds;
	int64_t		steps = 0;
	char	   *value;

	clients = calloc(connections, sizeof(Client));
	if (clients == NULL)
		out_of_memory();
	value = run_value("SELECT count(*) FROM pg_settings"
					  " WHERE name = 'leaderboard.pause_at'");
	can_pause = strcmp(value, "1") == 0;
	free(value);
	while ((transactions == 0 || steps < transactions) &&
		   (seconds <= 0 || now() < end))
	{
		run_episode();
		steps += nhistory;
		episode++;
	}
	gather_share(conn);
	printf("%" PRId64 " steps in %" PRIu64 " episodes%s, %" PRId64
		   " committed, %" PRId64 " rolled back, %" PRId64
		   " errors that were to be expected, %" PRId64 " connections lost, %"
		   PRId64 " comparisons\n", steps, episode,
		   can_pause ? " with pauses" : "", result.committed,
		   result.rolled_back, result.errors, result.lost, result.passed);
	random_state = seed;
	set_up();
	run("SELECT lb_stat_reset()");
	check_share();
	final_comparison();
}

/* ----------------------------------------------------------------
 *	Leaving out steps
 * ----------------------------------------------------------------
 */

static char *replay_message;	/* what the last replay has found */

/* The same failure again, by the result of a statement? */
static char *
look_at_result(Client *c)
{
	PGresult   *res = c->res;
	char	   *found = NULL;
	int			row;

	c->res = NULL;
	if (PQresultStatus(res) == PGRES_TUPLES_OK && PQnfields(res) == 3)
	{
		bool		difference = strcmp(failure_kind, "difference") == 0;

		if (strcmp(PQfname(res, 2), "at") != 0)
		{
			row = find_difference(res, 1, res, 2);
			if (row >= 0 && difference)
				found = describe_difference(res, 1, res, 2, row, c->statement);
		}
		else if (strcmp(PQfname(res, 1), "got") == 0)
		{
			/* The first half of a comparison. */
			PQclear(c->got);
			c->got = res;
			return NULL;
		}
		else if (c->got != NULL && PQntuples(c->got) == PQntuples(res))
		{
			/* The second, if it is of the same and has the same snapshot. */
			if (find_difference(c->got, 0, res, 0) < 0 &&
				find_difference(c->got, 2, res, 2) < 0 &&
				(row = find_difference(c->got, 1, res, 1)) >= 0 && difference)
				found = describe_difference(c->got, 1, res, 1, row,
											c->statement);
		}
	}
	else
	{
		const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);

		if (sqlstate != NULL && strcmp(sqlstate, failure_kind) == 0)
			found = format("%s\n%s", c->statement, PQresultErrorMessage(res));
	}
	PQclear(res);
	return found;
}

static bool
take_step_again(const Step *step)
{
	Client	   *c = step->client < 0 ? NULL : &clients[step->client];
	bool		any_paused = false;

	switch (step->kind)
	{
		case STEP_STATEMENT:
			if (c->busy || c->dying)
				return false;
			send_statement(c, step->text, step->copy_data);
			break;
		case STEP_CANCEL:
			if (!c->busy)
				return false;
			signal_client(c, "pg_cancel_backend");
			break;
		case STEP_TERMINATE:
			if (c->dying)
				return false;
			c->dying = true;
			signal_client(c, "pg_terminate_backend");
			break;
		case STEP_RELEASE:
			for (int i = 0; i < connections; i++)
				any_paused |= clients[i].paused;
			if (!any_paused)
				return false;
			release_paused();
			break;
	}
	return true;
}

/*
 * Do these steps once more, from new tables on.  Those that cannot be done,
 * because their connection is waiting, are left out.  Returns whether they
 * fail in the same way; then the steps that were done are in done.
 */
static bool
replay(Step *const *steps, int n, Step **done, int *ndone)
{
	char	   *found = NULL;
	bool		is_lost = strcmp(failure_kind, "lost") == 0;
	bool		is_offline = strcmp(failure_kind, "offline") == 0;

	*ndone = 0;
	begin_episode();
	for (int s = 0; s < n && found == NULL && !crashed; s++)
	{
		if (!take_step_again(steps[s]))
			continue;
		done[(*ndone)++] = steps[s];
		settle_down();
		for (int i = 0; i < connections; i++)
		{
			Client	   *c = &clients[i];

			if (!c->busy && c->res != NULL && found == NULL)
				found = look_at_result(c);
			if (c->lost && c->dying)
			{
				PQfinish(c->conn);
				set_connection(c, connect_tested());
			}
		}
		if (is_offline && found == NULL && !is_comparison(steps[s]))
			found = find_wrong_index(conn);
	}
	if (crashed && is_lost)
		found = format("the server has closed a connection");
	if (!crashed)
	{
		release_paused();
		settle_down();
		if (is_offline && found == NULL)
			found = find_wrong_index(conn);
	}
	if (strcmp(failure_kind, "verify") == 0 && !crashed)
	{
		close_connections();
		found = verify_all();
	}
	if (found == NULL)
		return false;
	free(replay_message);
	replay_message = found;
	return true;
}

static void
print_steps(Step *const *steps, int n)
{
	for (int i = 0; i < n; i++)
	{
		switch (steps[i]->kind)
		{
			case STEP_STATEMENT:
				printf("[%d] %s;\n", steps[i]->client, steps[i]->text);
				if (steps[i]->copy_data != NULL)
					printf("%s\\.\n", steps[i]->copy_data);
				break;
			case STEP_CANCEL:
				printf("[%d] is cancelled\n", steps[i]->client);
				break;
			case STEP_TERMINATE:
				printf("[%d] is terminated\n", steps[i]->client);
				break;
			case STEP_RELEASE:
				printf("those at a pause point go on\n");
				break;
		}
	}
}

/* What is left of the history, and how much was tried. */
typedef struct Shrink
{
	Step	  **steps;
	int			n;
	Step	  **tried;
	Step	  **done;
	int			replays;
	double		end;
} Shrink;

static bool
shrink_is_over(const Shrink *shrink)
{
	return shrink->replays >= MAX_REPLAYS || now() > shrink->end;
}

/* If the first n steps in tried fail as well, they are what is left. */
static bool
try_shorter(Shrink *shrink, int n)
{
	int			ndone;

	shrink->replays++;
	if (!replay(shrink->tried, n, shrink->done, &ndone))
		return false;
	memcpy(shrink->steps, shrink->done, ndone * sizeof(Step *));
	shrink->n = ndone;
	return true;
}

static bool
leave_out(Shrink *shrink, int from, int to)
{
	int			n = 0;

	for (int i = 0; i < shrink->n; i++)
	{
		if (i < from || i >= to)
			shrink->tried[n++] = shrink->steps[i];
	}
	return try_shorter(shrink, n);
}

/* Zeller's delta debugging, with complements only. */
static void
shrink_steps(Shrink *shrink)
{
	bool		again;

	/* A whole connection first, then all comparisons but the last step. */
	for (int c = 0; c < connections && !shrink_is_over(shrink); c++)
	{
		int			n = 0;

		for (int i = 0; i < shrink->n; i++)
		{
			if (shrink->steps[i]->client != c)
				shrink->tried[n++] = shrink->steps[i];
		}
		if (n < shrink->n)
			try_shorter(shrink, n);
	}
	if (!shrink_is_over(shrink))
	{
		int			n = 0;

		for (int i = 0; i < shrink->n; i++)
		{
			if (i == shrink->n - 1 || !is_comparison(shrink->steps[i]))
				shrink->tried[n++] = shrink->steps[i];
		}
		try_shorter(shrink, n);
	}
	for (int chunk = (shrink->n + 1) / 2; chunk > 0; chunk = again ? 1 : chunk / 2)
	{
		again = false;
		/* From the end, where what matters less is more often found. */
		for (int from = shrink->n - chunk; from > -chunk; from -= chunk)
		{
			if (shrink_is_over(shrink))
				return;
			if (from + chunk > shrink->n)
				continue;
			if (leave_out(shrink, from < 0 ? 0 : from, from + chunk))
				again |= chunk == 1;
		}
	}

	/* A comparison that is still there may only be there for its snapshot. */
	for (int i = 0; i < shrink->n - 1 && !shrink_is_over(shrink); i++)
	{
		char	   *text = shrink->steps[i]->text;

		if (!is_comparison(shrink->steps[i]))
			continue;
		shrink->steps[i]->text = "SELECT 1";
		memcpy(shrink->tried, shrink->steps, shrink->n * sizeof(Step *));
		if (!try_shorter(shrink, shrink->n))
			shrink->steps[i]->text = text;
	}
}

/* The end of a scheduled run that has failed, whoever found out. */
static void
shrink_and_report(const char *message)
{
	static bool reporting = false;
	Shrink		shrink;
	int			nall = nhistory;
	bool		again = false;

	/* A failure on the way there ends everything. */
	printf("\nFAILED (seed %" PRIu64 ", episode %" PRIu64 "): %s\n", seed,
		   episode, message);
	if (reporting)
		return;
	reporting = true;
	replaying = true;
	me = -1;
	lost = false;
	conn = connect_tested();
	PQclear(PQexec(conn, "SET application_name = 'oracle'"));

	memset(&shrink, 0, sizeof(shrink));
	shrink.steps = calloc(nall + 1, sizeof(Step *));
	shrink.tried = calloc(nall + 1, sizeof(Step *));
	shrink.done = calloc(nall + 1, sizeof(Step *));
	if (shrink.steps == NULL || shrink.tried == NULL || shrink.done == NULL)
		out_of_memory();
	for (int i = 0; i < nall; i++)
		shrink.steps[shrink.n++] = shrink.tried[i] = &history[i];
	shrink.end = now() + MAX_SHRINK_SECONDS;
	fflush(stdout);

	/* Those let go on together race with each other, so not at the first. */
	if (failure_kind[0] != '\0' && strcmp(failure_kind, "stuck") != 0)
	{
		while (!again && shrink.replays < MAX_FIRST_REPLAYS &&
			   !shrink_is_over(&shrink))
			again = try_shorter(&shrink, nall);
	}
	if (!again)
	{
		printf("\nDone again it does not fail (%d steps):\n\n", nall);
		print_steps(shrink.steps, nall);
		return;
	}
	shrink_steps(&shrink);
	printf("\n%d of %d steps are enough, found in %d replays, on the tables of set_up():\n\n",
		   shrink.n, nall, shrink.replays);
	print_steps(shrink.steps, shrink.n);
	printf("\n%s\n", replay_message);
}

/* ----------------------------------------------------------------
 *	The free running mode
 * ----------------------------------------------------------------
 */

/*
 * Make life hard for the others, now and then, and look after them.  Called
 * again and again by the process that waits for them.
 */
static void
disturb(void)
{
	static double last_terminate = 0;
	static double last_kill = 0;
	static double last_check = 0;
	PGresult   *res;
	pid_t		pid = 0;

	if (PQstatus(conn) == CONNECTION_BAD)
	{
		PQreset(conn);
		return;
	}
	if (last_terminate == 0)
		last_terminate = last_kill = last_check = now();
	if (now() - last_check > 0.5)
	{
		check_wrong_index(conn);
		last_check = now();
	}
	if (terminates && now() - last_terminate > 0.2)
	{
		PQclear(PQexec(conn, "SELECT pg_terminate_backend(pid)"
					   " FROM pg_stat_activity"
					   " WHERE application_name = 'oracle tested'"
					   " AND datname = current_database()"
					   " ORDER BY random() LIMIT 1"));
		last_terminate = now();
	}
	if (!kills || now() - last_kill < 4)
		return;
	gather_share(conn);
	res = PQexec(conn, "SELECT pid FROM pg_stat_activity"
				 " WHERE application_name = 'oracle tested'"
				 " AND datname = current_database() AND state <> 'idle'"
				 " ORDER BY random() LIMIT 1");
	if (PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0)
		pid = atoi(PQgetvalue(res, 0, 0));
	PQclear(res);
	if (pid > 0 && kill(pid, SIGKILL) != 0 && errno != ESRCH)
		fail("cannot kill a backend: %s", strerror(errno));
	last_kill = now();
}

/* The command of -X, in a process of its own. */
static void
start_disturber(void)
{
	fflush(stdout);
	disturber_pid = fork();
	if (disturber_pid < 0)
		fail("fork: %s", strerror(errno));
	if (disturber_pid == 0)
	{
		char	   *command = format("exec %s", disturber);

		execl("/bin/sh", "sh", "-c", command, (char *) NULL);
		_exit(127);
	}
}

/* Returns whether it has done well. */
static bool
stop_disturber(void)
{
	pid_t		pid = disturber_pid;
	int			status;

	if (pid == 0)
		return true;
	disturber_pid = 0;
	kill(pid, SIGTERM);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		WEXITSTATUS(status) == 0;
}

static void
run_free_mode(void)
{
	int			pipes[2];
	bool		failed = false;
	Result		part;

	shared_logs = mmap(NULL, connections * sizeof(SharedLog),
					   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
					   0);
	if (shared_logs == MAP_FAILED)
		out_of_memory();
	set_up();
	run("SELECT lb_stat_reset()");
	run("SET lock_timeout = '20ms'");

	if (pipe(pipes) != 0)
		fail("pipe: %s", strerror(errno));
	fflush(stdout);
	for (int i = 0; i < connections; i++)
	{
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork: %s", strerror(errno));
		if (pids[i] == 0)
		{
			close(pipes[0]);
			worker(i, pipes[1]);
		}
	}
	close(pipes[1]);
	if (disturber != NULL)
		start_disturber();

	for (int left = connections; left > 0;)
	{
		int			status;
		pid_t		pid = waitpid(-1, &status, WNOHANG);

		if (pid == 0)
		{
			usleep(20000);
			if (!failed)
				disturb();
			continue;
		}
		if (pid == disturber_pid)
			disturber_pid = 0;
		else
			left--;
		for (int i = 0; i < connections; i++)
		{
			if (pids[i] == pid)
				pids[i] = 0;
		}
		if (status == 0 || failed)
			continue;
		/* One has found something; the others need not go on. */
		failed = true;
		for (int i = 0; i < connections; i++)
		{
			if (pids[i] > 0)
				kill(pids[i], SIGTERM);
		}
	}
	if (!stop_disturber())
		failed = true;
	while (read(pipes[0], &part, sizeof(part)) == sizeof(part))
	{
		result.committed += part.committed;
		result.rolled_back += part.rolled_back;
		result.errors += part.errors;
		result.lost += part.lost;
		result.passed += part.passed;
	}
	printf("%" PRId64 " committed, %" PRId64 " rolled back, %" PRId64
		   " errors that were to be expected, %" PRId64
		   " connections lost, %" PRId64 " comparisons\n",
		   result.committed, result.rolled_back, result.errors, result.lost,
		   result.passed);
	if (failed)
	{
		printf("%" PRId64 " passed, 1 failed\n", result.passed);
		exit(1);
	}

	/* After a crash it takes a moment. */
	for (double end = now() + 60; PQstatus(conn) == CONNECTION_BAD &&
		 now() < end;)
	{
		PQreset(conn);
		usleep(20000);
	}
	wait_for_backends(conn);
	check_wrong_index(conn);
	run("SET lock_timeout = 0");
	gather_share(conn);
	check_share();
	final_comparison();
}

int
main(int argc, char **argv)
{
	int			opt;

	seed = (uint64_t) time(NULL) ^ ((uint64_t) getpid() << 20);
	while ((opt = getopt(argc, argv, "d:c:i:klt:n:s:Sm:pxX:")) != -1)
	{
		switch (opt)
		{
			case 'd':
				conninfo = optarg;
				break;
			case 'c':
				connections = atoi(optarg);
				break;
			case 'i':
				least_share = atoi(optarg);
				break;
			case 'k':
				kills = true;
				break;
			case 'l':
				locked = true;
				break;
			case 't':
				seconds = atof(optarg);
				break;
			case 'n':
				transactions = atoll(optarg);
				break;
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			case 'S':
				scheduled = true;
				terminates = true;
				break;
			case 'm':
				members = atoi(optarg);
				break;
			case 'p':
				partitioned = true;
				break;
			case 'x':
				terminates = true;
				break;
			case 'X':
				disturber = optarg;
				break;
			default:
				usage();
		}
	}
	if (optind < argc || connections < 1 || connections > MAX_CONNECTIONS ||
		(members != 0 && members < 10) || (seconds <= 0 && transactions <= 0) ||
		(scheduled && (kills || disturber != NULL)))
		usage();

	/* Where connections take turns, few members make more of them meet. */
	if (members == 0)
		members = scheduled ? 24 : 120;

	/* Writing to a backend that has gone is not the end. */
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("seed %" PRIu64 "\n", seed);
	random_state = seed;
	conn = connect_or_fail();
	if (scheduled)
		run_scheduled();
	else
		run_free_mode();
	printf("%" PRId64 " passed, %" PRId64 " failed\n", result.passed,
		   result.failed);
	PQfinish(conn);
	return result.failed > 0;
}
