/*-------------------------------------------------------------------------
 *
 * load.c
 *	  Submits under load while the server is killed, and nothing is lost.
 *
 *	load -b bindir -D datadir [-c connections] [-t seconds] [-k seconds]
 *		 [-p players] [-s seed]
 *
 * The server runs with this data directory, has the extension and its default
 * tables in the database that libpq's environment names, which is empty
 * otherwise, and logs to the file "log" beside the directory.  This program
 * must run as the server's user.
 *
 * Each connection belongs to a process of its own, which submits: single
 * scores, batches, each with a match_id.  A ledger in memory of these processes
 * has, for each player, the sum of what the server has acknowledged.  A
 * process that has lost the connection before the answer submits the same again,
 * under the same match_id, until it is acknowledged.  One process closes a season of
 * "global" every few seconds, and opens short windows, which the maintenance
 * worker closes.  Now and then a process hides a player or shows one again, or
 * compares a rank with its query.
 *
 * Every -k seconds (60) all processes of the server get a SIGKILL at once.  The
 * server is started again, the processes submit again what was not acknowledged,
 * and wait.  Then
 *
 *	  - for every player, the sum of all archived seasons and the present score
 *		is what the ledger says;
 *	  - a window has at least what was acknowledged for it, and its archived
 *		standings are its rows;
 *	  - the boards become ready, lb_verify() finds nothing, and every rank and
 *		the first places are those of the query, by the index.
 *
 * The last line is "N passed, N failed", in comparisons.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define MAX_CONNECTIONS 512
#define MAX_PLAYERS 100000
#define MAX_WINDOWS 4096
#define MAX_BATCH 30
#define HIDDEN 20				/* players who may be hidden */

typedef struct Shared
{
	int			pause;			/* clients are to wait */
	int			end;			/* ... or to end */
	int			waiting[MAX_CONNECTIONS];
	int64_t		ledger[MAX_PLAYERS + 1];
	int64_t		windows[MAX_WINDOWS];	/* acknowledged for window load:N */
	int			nwindows;
	int64_t		submits;		/* acknowledged, by themselves ... */
	int64_t		batched;		/* ... and in batches */
	int64_t		resolved;		/* ... of these submitted again: were new */
	int64_t		found;			/* ... had been applied before the crash */
	int64_t		seasons;
	int64_t		compared;		/* ranks, while others submit */
	int64_t		failed;
} Shared;

static Shared *shared;
static const char *bindir = NULL;
static const char *datadir = NULL;
static int	connections = 64;
static int	players = 2000;
static double seconds = 1800;
static double kill_every = 60;
static uint64_t seed = 1;
static pid_t pids[MAX_CONNECTIONS];
static int	me = -1;
static PGconn *conn;
static int64_t passed = 0;

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
	printf("FAILED in process %d (seed %" PRIu64 "): %s\n", me, seed, message);
	if (me < 0)
	{
		for (int i = 0; i < connections; i++)
		{
			if (pids[i] > 0)
				kill(pids[i], SIGTERM);
		}
		printf("%" PRId64 " passed, 1 failed\n", passed);
	}
	exit(1);
}

static void
add(int64_t * counter, int64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_SEQ_CST);
}

static int
get(int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void
set(int *flag, int value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

/* Connect, while the server may be down or starting. */
static void
connect_again(void)
{
	if (conn != NULL)
		PQfinish(conn);
	conn = connect_within("", "SET client_min_messages = error;"
						  "SET statement_timeout = '120s'", PATIENCE);
	if (PQstatus(conn) != CONNECTION_OK)
		fail("could not connect: %s", PQerrorMessage(conn));
}

/*
 * Run a statement.  NULL if the server was lost before the answer came; any
 * other error is a failure, but for the SQLSTATE expected.
 */
static PGresult *
run(const char *statement, const char *expected)
{
	PGresult   *res = PQexec(conn, statement);
	const char *sqlstate;

	if (is_ok(res))
		return res;
	sqlstate = sqlstate_of(res);
	if (expected != NULL && strcmp(sqlstate, expected) == 0)
		return res;
	if (PQstatus(conn) == CONNECTION_BAD || sqlstate[0] == '\0' ||
		is_shutdown(sqlstate))
	{
		PQclear(res);
		connect_again();
		return NULL;
	}
	fail("%s\n%s: %s", statement, sqlstate, PQresultErrorMessage(res));
}

/* Run a statement until the server answers; returns how often it was lost. */
static int
insist(const char *statement, const char *expected, PGresult **res)
{
	int			lost = 0;

	while ((*res = run(statement, expected)) == NULL)
		lost++;
	return lost;
}

/* ----------------------------------------------------------------
 *	Clients
 * ----------------------------------------------------------------
 */
static int64_t matches = 0;

static void
submit(void)
{
	int			player = 1 + rnd(percent(30) ? 20 : players);
	int			amount = 1 + rnd(100);
	char	   *statement;
	PGresult   *res;
	int			lost;
	bool		applied = false;

	statement = format("SELECT board, applied FROM lb_submit(%d, %d, 'incr', '%d-%"
					   PRId64 "')", player, amount, me, matches++);
	lost = insist(statement, NULL, &res);
	for (int i = 0; i < PQntuples(res); i++)
	{
		const char *board = PQgetvalue(res, i, 0);
		bool		here = PQgetvalue(res, i, 1)[0] == 't';

		if (strcmp(board, "global") == 0)
			applied = here;
		else if (here && strncmp(board, "load:", 5) == 0)
			add(&shared->windows[atoi(board + 5)], amount);
	}
	if (!applied && lost == 0)
		fail("%s was not applied", statement);
	if (lost > 0)
		add(applied ? &shared->resolved : &shared->found, 1);
	add(&shared->ledger[player], amount);
	add(&shared->submits, 1);
	PQclear(res);
	free(statement);
}

static void
submit_many(void)
{
	int			n = 2 + rnd(MAX_BATCH - 1);
	int			player[MAX_BATCH];
	int			amount[MAX_BATCH];
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);
	PGresult   *res;
	int			lost;
	int			applied;

	if (f == NULL)
		out_of_memory();
	fprintf(f, "SELECT lb_submit_many('{");
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%d", i > 0 ? "," : "", player[i] = 1 + rnd(players));
	fprintf(f, "}', '{");
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%d", i > 0 ? "," : "", amount[i] = 1 + rnd(100));
	fprintf(f, "}', 'incr', '{");
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%d-%" PRId64, i > 0 ? "," : "", me, matches++);
	fprintf(f, "}')");
	fclose(f);
	lost = insist(text, NULL, &res);
	applied = atoi(PQgetvalue(res, 0, 0));
	if (applied != n && !(applied == 0 && lost > 0))
		fail("%d of %d were applied: %s", applied, n, text);
	if (lost > 0)
		add(applied > 0 ? &shared->resolved : &shared->found, n);
	for (int i = 0; i < n; i++)
		add(&shared->ledger[player[i]], amount[i]);
	add(&shared->batched, n);
	PQclear(res);
	free(text);
}

static void
close_season(void)
{
	char	   *statement = format("SELECT lb_close_season('global', 'season %"
								   PRId64 "')", shared->seasons + 1);
	PGresult   *res;

	/* The answer to one that was lost may be that it is closed. */
	if (insist(statement, "23505", &res) == 0 &&
		PQresultStatus(res) != PGRES_TUPLES_OK)
		fail("%s\n%s", statement, PQresultErrorMessage(res));
	add(&shared->seasons, 1);
	PQclear(res);
	free(statement);
}

static void
open_window(void)
{
	char	   *statement;
	PGresult   *res;

	if (shared->nwindows == MAX_WINDOWS)
		return;
	statement = format("SELECT lb_open_window('load:%d', starts => now(),"
					   " ends => now() + interval '%d s', keep => '2 days',"
					   " late => '1 s', archive_top => NULL)",
					   shared->nwindows, 3 + rnd(15));
	(void) insist(statement, NULL, &res);
	shared->nwindows++;
	PQclear(res);
	free(statement);
}

/* Some of the last players are off all boards for a while; their scores go on. */
static void
hide_or_show(void)
{
	char	   *statement = format("SELECT lb_%s(%d)", percent(50) ? "hide" : "show",
								   players - rnd(HIDDEN));
	PGresult   *res;

	(void) insist(statement, NULL, &res);
	PQclear(res);
	free(statement);
}

/* A rank in one snapshot, by function and query, while others submit. */
static void
compare_rank(void)
{
	char	   *statement;
	PGresult   *res;

	statement = format("SELECT player_id, r, lb_rank(player_id) FROM (SELECT player_id,"
					   " row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r"
					   " FROM player_scores WHERE ranked) AS s WHERE player_id = %d",
					   1 + rnd(players));
	(void) insist(statement, NULL, &res);
	if (PQntuples(res) == 1 &&
		strcmp(PQgetvalue(res, 0, 1), PQgetvalue(res, 0, 2)) != 0)
		fail("player %s has rank %s, lb_rank() says %s", PQgetvalue(res, 0, 0),
			 PQgetvalue(res, 0, 1), PQgetvalue(res, 0, 2));
	add(&shared->compared, 1);
	PQclear(res);
	free(statement);
}

static void
client(int number)
{
	double		next_season = now() + 5;
	double		next_window = now();

	me = number;
	random_state = seed * UINT64_C(1000003) + (uint64_t) number;
	connect_again();
	while (!get(&shared->end))
	{
		if (get(&shared->pause))
		{
			set(&shared->waiting[me], 1);
			while (get(&shared->pause) && !get(&shared->end))
				usleep(5000);
			set(&shared->waiting[me], 0);
			continue;
		}
		if (me == 0 && now() >= next_season)
		{
			close_season();
			next_season = now() + 5 + rnd(10);
		}
		else if (me == 0 && now() >= next_window)
		{
			open_window();
			next_window = now() + 2 + rnd(8);
		}
		else if (percent(3))
			compare_rank();
		else if (percent(1))
			hide_or_show();
		else if (percent(15))
			submit_many();
		else
			submit();
	}
	PQfinish(conn);
	exit(0);
}

/* ----------------------------------------------------------------
 *	The server
 * ----------------------------------------------------------------
 */

/* The children of a process, from /proc; returns how many. */
static int
find_children(pid_t parent, pid_t *children, int max)
{
	DIR		   *dir = opendir("/proc");
	struct dirent *entry;
	int			n = 0;

	if (dir == NULL)
		fail("/proc: %s", strerror(errno));
	while ((entry = readdir(dir)) != NULL && n < max)
	{
		char		line[1000];
		char	   *path;
		char	   *close_paren;
		FILE	   *f;
		int			ppid;

		if (atoi(entry->d_name) <= 0)
			continue;
		path = format("/proc/%s/stat", entry->d_name);
		f = fopen(path, "r");
		free(path);
		if (f == NULL)
			continue;
		if (fgets(line, sizeof(line), f) != NULL &&
			(close_paren = strrchr(line, ')')) != NULL &&
			sscanf(close_paren + 1, " %*c %d", &ppid) == 1 && ppid == parent)
			children[n++] = atoi(entry->d_name);
		fclose(f);
	}
	closedir(dir);
	return n;
}

static void
kill_server(void)
{
	pid_t		children[2 * MAX_CONNECTIONS];
	char	   *path = format("%s/postmaster.pid", datadir);
	FILE	   *f = fopen(path, "r");
	int			postmaster;
	int			n;

	if (f == NULL || fscanf(f, "%d", &postmaster) != 1 || postmaster <= 1)
		fail("%s: no server", path);
	fclose(f);
	free(path);

	/* It must not see its children die, which would be a crash restart. */
	if (kill(postmaster, SIGSTOP) != 0)
		fail("kill: %s", strerror(errno));
	n = find_children(postmaster, children, 2 * MAX_CONNECTIONS);
	for (int i = 0; i < n; i++)
		kill(children[i], SIGKILL);
	kill(postmaster, SIGKILL);
	for (int i = 0; i < n; i++)
	{
		while (kill(children[i], 0) == 0)
			usleep(1000);
	}
}

static void
start_server(void)
{
	char	   *command = format("'%s/pg_ctl' -D '%s' -l '%s/../log' -w -t 300 start"
								 " >/dev/null", bindir, datadir, datadir);

	if (system(command) != 0)
		fail("the server does not start");
	free(command);
}

/* ----------------------------------------------------------------
 *	Checks, when no client has anything under way
 * ----------------------------------------------------------------
 */

/* A query that must return no row. */
static void
check_none(const char *what, const char *query)
{
	PGresult   *res;

	(void) insist(query, NULL, &res);
	if (PQntuples(res) > 0)
	{
		for (int i = 0; i < PQntuples(res) && i < 10; i++)
		{
			for (int c = 0; c < PQnfields(res); c++)
				printf("%s%s = %s", c > 0 ? ", " : "   ", PQfname(res, c),
					   PQgetvalue(res, i, c));
			printf("\n");
		}
		fail("%s: %d rows", what, PQntuples(res));
	}
	passed++;
	PQclear(res);
}

static void
check_ledger(void)
{
	PGresult   *res;
	char	   *query;
	int64_t		found = 0;
	int64_t		total = 0;

	(void) insist("SELECT player_id, sum(score) FROM ("
				  "SELECT player_id, score FROM player_scores UNION ALL "
				  "SELECT member::bigint, score::bigint FROM lb_archive WHERE board = 'global') AS s"
				  " GROUP BY player_id", NULL, &res);
	for (int i = 0; i < PQntuples(res); i++)
	{
		int			player = atoi(PQgetvalue(res, i, 0));
		int64_t		score = atoll(PQgetvalue(res, i, 1));

		if (player < 1 || player > players || shared->ledger[player] != score)
			fail("player %d has %" PRId64 ", the ledger %" PRId64, player, score,
				 player < 1 || player > players ? 0 : shared->ledger[player]);
		found += score;
		passed++;
	}
	for (int i = 1; i <= players; i++)
		total += shared->ledger[i];
	if (found != total)
		fail("the tables have %" PRId64 ", the ledger %" PRId64, found, total);
	PQclear(res);

	/* A player who is hidden at a window's end has no standing. */
	query = format("SELECT split_part(w.key, ':', 2), w.score, w.shown,"
				   " coalesce(a.score, w.shown)"
				   " FROM (SELECT window_key AS key, sum(score) AS score,"
				   " sum(score) FILTER (WHERE player_id <= %d) AS shown"
				   " FROM player_score_windows WHERE starts_with(window_key, 'load:')"
				   " GROUP BY window_key) AS w LEFT JOIN"
				   " (SELECT board, sum(score::bigint) AS score FROM lb_archive"
				   " WHERE member::bigint <= %d GROUP BY board) AS a"
				   " ON a.board IN (w.key, '*:' || w.key)",
				   players - HIDDEN, players - HIDDEN);
	(void) insist(query, NULL, &res);
	free(query);
	for (int i = 0; i < PQntuples(res); i++)
	{
		int			window = atoi(PQgetvalue(res, i, 0));

		if (atoll(PQgetvalue(res, i, 1)) < shared->windows[window])
			fail("window %d has %s, and %" PRId64 " was acknowledged", window,
				 PQgetvalue(res, i, 1), shared->windows[window]);
		if (strcmp(PQgetvalue(res, i, 2), PQgetvalue(res, i, 3)) != 0)
			fail("window %d has %s, and %s was archived", window,
				 PQgetvalue(res, i, 2), PQgetvalue(res, i, 3));
		passed++;
	}
	PQclear(res);
}

static void
check_ranks(void)
{
	PGresult   *res;

	(void) insist("SELECT lb_wait_ready('5 min')", NULL, &res);
	if (PQgetvalue(res, 0, 0)[0] != 't')
		fail("the boards do not become ready");
	PQclear(res);
	(void) insist("SELECT lb_stat_reset()", NULL, &res);
	PQclear(res);
	check_none("ranks",
			   "SELECT player_id, r, lb_rank(player_id) FROM (SELECT player_id,"
			   " row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r"
			   " FROM player_scores WHERE ranked) AS s"
			   " WHERE r IS DISTINCT FROM lb_rank(player_id)");
	check_none("first places",
			   "(SELECT member, score FROM lb_top(100) EXCEPT ALL"
			   " SELECT * FROM (SELECT player_id, score FROM player_scores"
			   " WHERE ranked ORDER BY score DESC, updated_at, player_id LIMIT 100) AS s)");
	check_none("ranks of windows",
			   "SELECT * FROM (SELECT player_id, window_key, row_number() OVER"
			   " (PARTITION BY window_key ORDER BY score DESC, updated_at, player_id) AS r"
			   " FROM player_score_windows WHERE ranked AND window_key IN (SELECT window_key"
			   " FROM player_score_windows GROUP BY window_key"
			   " ORDER BY max(updated_at) DESC LIMIT 5)) AS s"
			   " WHERE r IS DISTINCT FROM lb_rank(player_id, window_key)");
	check_none("lb_verify()", "SELECT * FROM lb_verify()");
	check_none("reads by query", "SELECT board, query_reads FROM lb_stat_board"
			   " WHERE query_reads > 0");
}

static void
wait_for_clients(void)
{
	double		end = now() + PATIENCE;

	for (int i = 0; i < connections; i++)
	{
		while (!get(&shared->waiting[i]))
		{
			int			status;

			if (waitpid(pids[i], &status, WNOHANG) == pids[i])
			{
				pids[i] = 0;
				fail("a client has ended");
			}
			if (now() > end)
				fail("a client does not come to an end");
			usleep(10000);
		}
	}
}

static void
check_all(const char *when, double start)
{
	double		began = now();

	set(&shared->pause, 1);
	wait_for_clients();
	check_ledger();
	check_ranks();
	printf("%6.0f s, %s: %" PRId64 " submits, %" PRId64 " in batches; %" PRId64
		   " of them submitted again, %" PRId64 " had been applied; %" PRId64
		   " seasons, %d windows; %" PRId64 " ranks compared under way;"
		   " checked in %.1f s\n", now() - start, when, shared->submits,
		   shared->batched, shared->resolved + shared->found, shared->found,
		   shared->seasons, shared->nwindows, shared->compared, now() - began);
	set(&shared->pause, 0);
}

int
main(int argc, char **argv)
{
	int			opt;
	int			kills = 0;
	double		start;
	double		next;

	while ((opt = getopt(argc, argv, "b:D:c:t:k:p:s:")) != -1)
	{
		switch (opt)
		{
			case 'b':
				bindir = optarg;
				break;
			case 'D':
				datadir = optarg;
				break;
			case 'c':
				connections = atoi(optarg);
				break;
			case 't':
				seconds = atof(optarg);
				break;
			case 'k':
				kill_every = atof(optarg);
				break;
			case 'p':
				players = atoi(optarg);
				break;
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			default:
				connections = 0;
		}
	}
	if (bindir == NULL || datadir == NULL || connections < 1 ||
		connections > MAX_CONNECTIONS || players < 20 || players > MAX_PLAYERS)
	{
		fprintf(stderr, "usage: load -b bindir -D datadir [-c connections]"
				" [-t seconds]\n            [-k seconds] [-p players] [-s seed]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("seed %" PRIu64 "\n", seed);
	random_state = seed;
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		out_of_memory();
	for (int i = 0; i < connections; i++)
	{
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork: %s", strerror(errno));
		if (pids[i] == 0)
			client(i);
	}
	connect_again();

	start = now();
	next = start + kill_every / 2 + rnd((int) (kill_every / 2) + 1);
	while (now() < start + seconds)
	{
		for (int i = 0; i < connections; i++)
		{
			int			status;

			if (waitpid(pids[i], &status, WNOHANG) == pids[i])
			{
				pids[i] = 0;
				fail("a client has ended");
			}
		}
		if (now() < next)
		{
			usleep(50000);
			continue;
		}
		next = now() + kill_every;
		kill_server();
		kills++;
		start_server();
		connect_again();
		check_all("after a kill", start);
	}
	check_all("at the end", start);
	set(&shared->end, 1);
	for (int i = 0; i < connections; i++)
	{
		int			status;

		if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
			fail("a client has failed");
	}
	printf("%d kills, %" PRId64 " submits acknowledged, none lost\n", kills,
		   shared->submits + shared->batched);
	printf("%" PRId64 " passed, 0 failed\n", passed + shared->compared);
	PQfinish(conn);
	return 0;
}
