/*-------------------------------------------------------------------------
 *
 * main.c
 *	  Random transactions on several connections, compared with SQL.
 *
 *	oracle [-d conninfo] [-c connections] [-t seconds] [-n transactions]
 *		   [-s seed] [-m members] [-i percent] [-P percent] [-S [-r replays]]
 *		   [-x] [-k] [-l] [-p] [-L] [-T] [-X command]
 *		   [-R conninfo [-I percent] [-F] [-K command]]
 *
 * The extension, the tables of test/lib/oracle.sql and the functions of plans.sql must
 * exist in the database, which needs nothing else.  Tables of earlier runs are dropped.  Several
 * connections, each with random numbers of its own, run transactions on the same
 * tables: every kind of statement that changes rows, few rows or thousands,
 * savepoints, rollbacks, two-phase commits, now and then a TRUNCATE or a
 * rebuild.  All the time every read function is compared with its defining query,
 * as test/lib/oracle.sql has it.
 *
 * Some tables are always the same, and their columns are integers.  The seed
 * chooses the others: members of one to four columns, scores, tie-breakers and
 * board columns of all types in test/lib/types.sql, which has their values, too.
 *
 * Some boards are made of random expressions and conditions, beside boards of stored
 * columns with the same ones: expressions.c has them.  It also replaces a function that
 * an expression calls by one of other values, and renames columns.
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
 *	  - at the end, when all is quiet, for every member, by several
 *		processes, and for a few also without the index; lb_verify() must
 *		find nothing.
 *
 * Of the comparisons, -P percent (40) are of plans: random queries that the planner
 * may answer by boards, each run without boards, by the index, and by the node's other
 * plan in two ways, in one snapshot.  Their forms are in plan_forms.c.
 *
 * A comparison of the query with itself would prove nothing.  So the index must
 * have answered at least -i percent (50) of all reads, going by lb_stat_board.
 * The share is printed.  No board may ever be offline because its index was wrong,
 * although reads are right then.
 *
 * There are two modes.
 *
 * Free running: each connection belongs to a process of its own, which is
 * deterministic for its seed as far as the others let it.  The races are real.
 * After a difference or an unexpected error the last statements of all
 * connections are printed.
 *
 * Scheduled (-S): one process has all connections and lets one of them take one
 * step, a statement, at a time.  The seed decides which one.  A statement that has
 * to wait for another connection's lock is left waiting.  In a server with pause
 * points (LB_PAUSE_POINTS) transactions also stop at these, inside their callbacks,
 * while others go on.  So a run, or parts of it, can be repeated.  The client
 * remembers the steps.  After a difference it leaves out the steps that the
 * difference does not need, and prints the rest.  It makes the tables anew every
 * few hundred steps, so there is not much to leave out.  Of -r (600) attempts to leave
 * some out it takes those that fail as well.  -n counts steps here.
 *
 * With -x the client terminates backends now and then.  With -k it kills them,
 * or the extension's launcher, and the server with them; it must run as the
 * server's user then.  A new connection replaces a lost one.  With -R this is
 * done to the standby, too, and with -k to the processes there that only a
 * standby has.  In the scheduled mode -x is always on, and -k is not possible.
 *
 * To tell an error that needs concurrency from one that does not, with -l only
 * transactions that hold a ShareLock on the table make comparisons in READ
 * COMMITTED, so that no other transaction has changes under way.
 *
 * With -p one of the tables is partitioned.
 *
 * With -L rows now and then get a text for which no key has room.  This takes their
 * board offline, so that the reads are by query until a rebuild without them.
 *
 * With -X a shell command runs beside the connections, from when the tables exist
 * until all connections have ended.  Then it gets a SIGTERM, and must exit with 0.
 * It may cancel, terminate, use up memory and stop workers.  Errors that this
 * explains are not failures.  Wrong answers are.  Not in the scheduled mode.
 *
 * With -R as many connections again go to a streaming standby of the server, and
 * compare there, in READ COMMITTED and REPEATABLE READ, while replay goes on.  The
 * primary also runs transactions of a hundred savepoints, empties families, and drops,
 * makes and alters some tables and their boards.  What a conflict with recovery cancels
 * is counted apart, and what asks for such a table or board that is not there.  Of the
 * standby's reads by function the index must have answered at least -I percent (0).  If
 * that is not 0, lb_verify() must work there, and when all is quiet the index must
 * answer all reads, and a query of each form.  With -F the standby is promoted when
 * half of the time has passed.  Its connections then write to it, too.  With -K,
 * which includes -k, the standby's startup process is killed as well, which ends
 * the server.  That shell command then starts it again.  Not in the scheduled
 * mode.
 *
 * With -T it only asks queries that the planner may answer by boards, for -t seconds on
 * tables of -m rows, and prints those that take more than three times as long as without
 * boards.  These are no failures.
 *
 * The last line is "N passed, N failed", in comparisons.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "oracle.h"

const char *conninfo = "";
int			connections = 8;
double		seconds = 20;
int64_t		transactions = 0;	/* 0: as many as there is time for */
uint64_t	seed;
int			members = 0;
bool		locked = false;
bool		can_prepare = false;
bool		partitioned = false;
bool		scheduled = false;
int			most_replays = 600; /* of a history that is made shorter */
bool		terminates = false;
bool		kills = false;
bool		long_texts = false;
int			least_share = 50;	/* percent of the reads by index */
int			plan_share = 40;	/* percent of the comparisons of plans */
const char *standby_conninfo = NULL;	/* of -R */
int			standby_share = 0;	/* percent of the reads by index there */
bool		fails_over = false; /* the standby is promoted meanwhile */
const char *standby_command = NULL; /* of -K */
const char *disturber = NULL;	/* the command of -X */
pid_t		disturber_pid = 0;

int			me = -1;			/* number of the process; -1 is the parent */
pid_t		pids[MAX_CONNECTIONS];	/* of the processes */
PGconn	   *conn;
Result		result;

bool		tx_failed;			/* only a rollback helps */
bool		lost;				/* the connection is gone */
bool		on_standby = false; /* it is to a server in recovery */

char		failure_kind[16] = "";
bool		can_pause = false;

static void
usage(void)
{
	fprintf(stderr, "usage: oracle [-d conninfo] [-c connections]"
			" [-t seconds] [-n transactions]\n"
			"              [-s seed] [-m members] [-i percent] [-P percent]"
			" [-S [-r replays]] [-x] [-k]\n"
			"              [-l] [-p] [-L] [-T] [-X command]"
			" [-R conninfo [-I percent] [-F] [-K command]]\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	bool		times = false;
	int			opt;

	seed = (uint64_t) time(NULL) ^ ((uint64_t) getpid() << 20);
	while ((opt = getopt(argc, argv, "d:c:Fi:I:kK:lLt:n:P:r:R:s:STm:pxX:")) != -1)
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
			case 'F':
				fails_over = true;
				break;
			case 'I':
				standby_share = atoi(optarg);
				break;
			case 'k':
				kills = true;
				break;
			case 'K':
				standby_command = optarg;
				kills = true;
				break;
			case 'l':
				locked = true;
				break;
			case 'L':
				long_texts = true;
				least_share = 0;
				break;
			case 't':
				seconds = atof(optarg);
				break;
			case 'n':
				transactions = atoll(optarg);
				break;
			case 'P':
				plan_share = atoi(optarg);
				break;
			case 'r':
				most_replays = atoi(optarg);
				break;
			case 'R':
				standby_conninfo = optarg;
				break;
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			case 'S':
				scheduled = true;
				terminates = true;
				break;
			case 'T':
				times = true;
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
	if (optind < argc || connections < 1 || nprocesses() > MAX_CONNECTIONS ||
		(members != 0 && members < 10) || (seconds <= 0 && transactions <= 0) ||
		(scheduled && (kills || disturber != NULL || standby_conninfo != NULL)) ||
		(standby_conninfo == NULL &&
		 (fails_over || standby_share > 0 || standby_command != NULL)) ||
		(fails_over && seconds <= 0))
		usage();

	/*
	 * Where connections take turns, few members make transactions meet more
	 * often.
	 */
	if (members == 0)
		members = scheduled ? 24 : 120;

	/* Writing to a backend that has ended must not end this program. */
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("seed %" PRIu64 "\n", seed);
	random_state = seed;
	conn = connect_or_fail(conninfo, 0);
	load_comparisons();
	load_types();
	if (times)
	{
		report_times();
		PQfinish(conn);
		return 0;
	}
	if (scheduled)
		run_scheduled();
	else
		run_free_mode();
	printf("%" PRId64 " passed, %" PRId64 " failed\n", result.passed,
		   result.failed);
	PQfinish(conn);
	return result.failed > 0;
}
