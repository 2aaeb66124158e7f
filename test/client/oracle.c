/*-------------------------------------------------------------------------
 *
 * oracle.c
 *	  Random transactions on several connections, compared with SQL.
 *
 *	oracle [-d conninfo] [-c connections] [-t seconds] [-n transactions]
 *		   [-s seed] [-m members] [-l] [-p]
 *
 * The extension must exist in the database, which needs nothing else; tables
 * of earlier runs are dropped.  Several processes, each with a connection and
 * random numbers of its own, run transactions on the same tables: every kind
 * of statement that changes rows, savepoints, rollbacks, now and then a
 * TRUNCATE or a rebuild.  At the end, and now and then before, every read
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
 *	  - through cursors that were opened before further own changes;
 *	  - while a prepared transaction waits to be ended;
 *	  - at the end, when all is quiet, for every member, with and without the
 *		index, and lb_verify() must find nothing.
 *
 * To tell an error that needs concurrency from one that does not, -l leaves
 * those in READ COMMITTED to transactions that hold a ShareLock on the table, so
 * that nobody else has changes under way.
 *
 * With -p one of the tables is partitioned.
 *
 * Each process is deterministic for its seed as far as the others let it.
 * After a difference or an unexpected error it prints its last statements.
 * The last line is "N passed, N failed", in comparisons.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libpq-fe.h"

#define MAX_CONNECTIONS 256
#define MAX_LOG 60				/* statements remembered for a report */
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
	const char *create;
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
static int	members = 120;
static bool locked = false;
static bool can_prepare = false;
static bool partitioned = false;

typedef struct Result
{
	int64_t		committed;
	int64_t		rolled_back;
	int64_t		errors;			/* expected ones */
	int64_t		passed;
	int64_t		failed;
} Result;

static int	me = -1;			/* number of the process; -1 is the parent */
static PGconn *conn;
static uint64_t random_state;
static Result result;

static char *statement_log[MAX_LOG];
static int	statement_count;

static bool tx_failed;			/* only a rollback helps */

/* ----------------------------------------------------------------
 *	Small things
 * ----------------------------------------------------------------
 */
static uint64_t
random64(void)
{
	/* splitmix64 */
	uint64_t	z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* 0 ... n - 1 */
static int
rnd(int n)
{
	return (int) (random64() % (uint64_t) n);
}

/* True in so many of a hundred cases. */
static bool
percent(int p)
{
	return rnd(100) < p;
}

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void
out_of_memory(void)
{
	fprintf(stderr, "out of memory\n");
	exit(1);
}

static char *format(const char *fmt,...) __attribute__((format(printf, 1, 2)));

static char *
format(const char *fmt,...)
{
	va_list		args;
	char	   *s;

	va_start(args, fmt);
	if (vasprintf(&s, fmt, args) < 0)
		out_of_memory();
	va_end(args);
	return s;
}

static void
remember(const char *statement)
{
	char	  **slot = &statement_log[statement_count++ % MAX_LOG];

	free(*slot);
	if ((*slot = strdup(statement)) == NULL)
		out_of_memory();
}

/* Tell what has gone wrong and end the process. */
static void fail(const char *fmt,...)
			__attribute__((format(printf, 1, 2), noreturn));

static void
fail(const char *fmt,...)
{
	va_list		args;
	int			first;
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	if (f == NULL)
		out_of_memory();
	fprintf(f, "\n");
	first = statement_count > MAX_LOG ? statement_count - MAX_LOG : 0;
	for (int i = first; i < statement_count; i++)
		fprintf(f, "[%d] %.2000s;\n", me, statement_log[i % MAX_LOG]);
	fprintf(f, "\nFAILED in process %d (seed %" PRIu64 "): ", me, seed);
	va_start(args, fmt);
	vfprintf(f, fmt, args);
	va_end(args);
	fprintf(f, "\n");
	fclose(f);

	/* All at once, for others write to the same place. */
	fputs(text, stdout);
	fflush(stdout);
	if (me < 0)
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
	return c;
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
 * Run a statement.  Returns NULL after an expected error; other errors end
 * the process.  copy_data is what a COPY FROM STDIN is to read.
 */
static PGresult *
run_copy(const char *statement, const char *copy_data, const char *tolerated)
{
	PGresult   *res;
	const char *sqlstate;

	remember(statement);
	res = PQexec(conn, statement);
	if (PQresultStatus(res) == PGRES_COPY_IN)
	{
		PQclear(res);
		remember(copy_data);
		if (PQputCopyData(conn, copy_data, strlen(copy_data)) != 1 ||
			PQputCopyEnd(conn, NULL) != 1)
			fail("COPY: %s", PQerrorMessage(conn));
		res = PQgetResult(conn);
		PQclear(PQgetResult(conn));
	}
	if (PQresultStatus(res) == PGRES_COMMAND_OK ||
		PQresultStatus(res) == PGRES_TUPLES_OK)
		return res;

	sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	if (sqlstate == NULL)
		sqlstate = "";
	if (!expected_error(sqlstate) &&
		(tolerated == NULL || strcmp(tolerated, sqlstate) != 0))
		fail("%s\n%s: %s", statement, sqlstate, PQerrorMessage(conn));
	remember(sqlstate);
	result.errors++;
	tx_failed = true;
	PQclear(res);
	return NULL;
}

static bool
run(const char *statement)
{
	PGresult   *res = run_copy(statement, NULL, NULL);

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
	PGresult   *res = run_copy(statement, NULL, NULL);
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
 */
static const char ranked_rows[] =
"WITH b AS MATERIALIZED (\n"
"SELECT {member}::bigint AS m, {score}::bigint AS s,\n"
" row_number() OVER (ORDER BY {order}) AS place,\n"
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
	" LEFT JOIN b ON m = i"},
	{"lb_score",
		"SELECT format('lb_score(%s, %L)', i, {board}),"
		" lb_score(i, {board})::text, s::text"
	" FROM {keys} AS k (i) LEFT JOIN b ON m = i"},
	{"lb_percentile",
		"SELECT format('lb_percentile(%s, %L)', i, {board}),"
		" lb_percentile(i, {board})::text, pct::text"
	" FROM {keys} AS k (i) LEFT JOIN b ON m = i"},
	{"lb_player",
		"SELECT format('lb_player(%s, %L)', i, {board}),"
		" row(p.rank, p.score, p.percentile, p.total)::text,"
		" row({k}, s, pct, n)::text"
		" FROM {keys} AS k (i) LEFT JOIN LATERAL lb_player(i, {board}) AS p"
	" ON true LEFT JOIN b ON m = i"},
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
	" LEFT JOIN LATERAL (SELECT place FROM b WHERE m = i) AS x (p) ON true"},
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
		" LEFT JOIN b ON m = i)"
	" FROM {arrays} AS x (a) CROSS JOIN " METHODS},
	{"lb_among",
		"SELECT format('lb_among(%L, %L)', a, {board}),"
		" (SELECT string_agg(row(t.place, t.member, t.score, t.rank)::text,"
		" ' ' ORDER BY t.ordinality)"
		" FROM lb_among(a, {board}) WITH ORDINALITY AS t),"
		" (SELECT string_agg(row(f.n, m, s, {k})::text, ' ' ORDER BY f.n)"
		" FROM (SELECT row_number() OVER (ORDER BY place) AS n, m, s, place, r, d"
		" FROM b WHERE m = ANY (a)) AS f)"
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

/* Compare the columns of each row of a comparison's result. */
static void
compare_rows(PGresult *res, const char *statement)
{
	for (int i = 0; i < PQntuples(res); i++)
	{
		bool		got_null = PQgetisnull(res, i, 1);
		bool		want_null = PQgetisnull(res, i, 2);

		if (got_null == want_null &&
			strcmp(PQgetvalue(res, i, 1), PQgetvalue(res, i, 2)) == 0)
		{
			result.passed++;
			continue;
		}
		result.failed++;
		fail("%s\n  returns   %s\n  should be %s\n\nin\n%s",
			 PQgetvalue(res, i, 0),
			 got_null ? "NULL" : PQgetvalue(res, i, 1),
			 want_null ? "NULL" : PQgetvalue(res, i, 2), statement);
	}
}

/* Returns false after an expected error. */
static bool
compare(const struct Comparison *c, const Look *look)
{
	char	   *statement = comparison_statement(c, look);
	PGresult   *res = run_copy(statement, NULL, NULL);

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
	res = run_copy(statement, data, NULL);
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

	if (run_free(format("DECLARE c NO SCROLL CURSOR FOR %s", query)) &&
		do_something(t) &&
		(!percent(50) || do_something(t)) &&
		(res = run_copy("FETCH ALL FROM c", NULL, NULL)) != NULL)
	{
		compare_rows(res, query);
		run("CLOSE c");
	}
	PQclear(res);
	free(query);
	return !tx_failed;
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
	if (!run_free(format("%s PREPARED 'oracle %d'",
						 commits ? "COMMIT" : "ROLLBACK", me)))
		fail("a prepared transaction could not be ended");
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
	bool		truncates = false;
	int			depth = 0;

	tx_failed = false;

	/* A build goes on while the others write. */
	if (rnd(400) == 0)
	{
		char	   *statement = format("SELECT lb_rebuild('%s')", t->board);

		/* It may not get its lock. */
		PQclear(run_copy(statement, NULL, "55006"));
		free(statement);
		return;
	}

	switch (rnd(20))
	{
		case 0:
			run("BEGIN ISOLATION LEVEL REPEATABLE READ");
			exact = true;
			break;
		case 1:
			run("BEGIN ISOLATION LEVEL SERIALIZABLE");
			exact = true;
			break;
		case 2:
		case 3:
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
			truncates = true;
		}

		if (!tx_failed)
		{
			if (exact && percent(40))
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
	if (!tx_failed && truncates && percent(70))
		do_fill(t);

	if (!tx_failed && can_prepare && percent(4))
	{
		prepare();
		return;
	}
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

/* The life of one process; its results go into the pipe. */
static void
worker(int number, int out)
{
	double		end = now() + seconds;

	me = number;
	random_state = seed * UINT64_C(1000003) + (uint64_t) number;
	conn = connect_or_fail();

	/*
	 * Whoever waits longer than the statement timeout waits for good: that is
	 * an error nobody expects.
	 */
	run("SET lock_timeout = '200ms'");
	run("SET statement_timeout = '60s'");
	run("SET deadlock_timeout = '50ms'");

	for (int64_t i = 0; transactions == 0 || i < transactions; i++)
	{
		if (seconds > 0 && now() >= end)
			break;
		transaction();
	}
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
set_up(void)
{
	char	   *value;
	PGresult   *res;

	run("SET client_min_messages = warning");
	value = run_value("SHOW max_prepared_transactions");
	can_prepare = atoi(value) >= connections;
	free(value);

	/* An earlier run that did not come to its end may have left some. */
	res = run_copy("SELECT gid FROM pg_prepared_xacts"
				   " WHERE database = current_database()"
				   " AND starts_with(gid, 'oracle ')", NULL, NULL);
	for (int i = 0; i < PQntuples(res); i++)
		run_free(format("ROLLBACK PREPARED '%s'", PQgetvalue(res, i, 0)));
	PQclear(res);

	for (int i = 0; i < NTABLES; i++)
	{
		const Table *t = &tables[i];
		char	   *recorded;
		char	   *statement;

		statement = format("SELECT count(*) FROM lb_board WHERE board = '%s'",
						   t->board);
		recorded = run_value(statement);
		free(statement);
		if (strcmp(recorded, "0") != 0)
			run_free(format("SELECT lb_drop_board('%s')", t->board));
		free(recorded);
		run_free(format("DROP TABLE IF EXISTS %s", t->name));
		run(partitioned && t->create_partitioned != NULL ?
			t->create_partitioned : t->create);
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
				   " FROM lb_stat_board ORDER BY board", NULL, NULL);
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

static void
final_comparison(void)
{
	PGresult   *res;
	char	   *value;

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

	res = run_copy("SELECT board, member, problem FROM lb_verify()", NULL,
				   NULL);
	if (res == NULL || PQntuples(res) > 0)
	{
		result.failed++;
		fail("lb_verify() returns %d rows, the first: %s, %s, %s",
			 PQntuples(res), PQgetvalue(res, 0, 0), PQgetvalue(res, 0, 1),
			 PQgetvalue(res, 0, 2));
	}
	PQclear(res);
	result.passed++;

	for (int i = 0; i < NTABLES; i++)
	{
		run_free(format("SELECT lb_drop_board('%s')", tables[i].board));
		run_free(format("DROP TABLE %s", tables[i].name));
	}
}

static void
usage(void)
{
	fprintf(stderr, "usage: oracle [-d conninfo] [-c connections]"
			" [-t seconds] [-n transactions]\n"
			"              [-s seed] [-m members] [-l] [-p]\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	pid_t		pids[MAX_CONNECTIONS];
	int			pipes[2];
	int			opt;
	bool		failed = false;
	Result		part;

	seed = (uint64_t) time(NULL) ^ ((uint64_t) getpid() << 20);
	while ((opt = getopt(argc, argv, "d:c:lt:n:s:m:p")) != -1)
	{
		switch (opt)
		{
			case 'd':
				conninfo = optarg;
				break;
			case 'c':
				connections = atoi(optarg);
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
			case 'm':
				members = atoi(optarg);
				break;
			case 'l':
				locked = true;
				break;
			case 'p':
				partitioned = true;
				break;
			default:
				usage();
		}
	}
	if (optind < argc || connections < 1 || connections > MAX_CONNECTIONS ||
		members < 10 || (seconds <= 0 && transactions <= 0))
		usage();

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("seed %" PRIu64 "\n", seed);
	random_state = seed;
	conn = connect_or_fail();
	set_up();

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

	for (int left = connections; left > 0; left--)
	{
		int			status;
		pid_t		pid = wait(&status);

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
	while (read(pipes[0], &part, sizeof(part)) == sizeof(part))
	{
		result.committed += part.committed;
		result.rolled_back += part.rolled_back;
		result.errors += part.errors;
		result.passed += part.passed;
	}
	printf("%" PRId64 " committed, %" PRId64 " rolled back, %" PRId64
		   " errors that were to be expected, %" PRId64 " comparisons\n",
		   result.committed, result.rolled_back, result.errors,
		   result.passed);
	if (failed)
	{
		printf("%" PRId64 " passed, 1 failed\n", result.passed);
		return 1;
	}

	final_comparison();
	printf("%" PRId64 " passed, %" PRId64 " failed\n", result.passed,
		   result.failed);
	PQfinish(conn);
	return result.failed > 0;
}
