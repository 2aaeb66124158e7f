/*-------------------------------------------------------------------------
 *
 * protocol.c
 *	  What drivers and poolers do with the extended protocol.
 *
 *	protocol [-d conninfo]
 *
 * Prepares statements without the types of their parameters, as drivers do that ask the
 * server for them.  Each must get the types that are written here, and then return what
 * its query returns without boards: with parameters and results as text and in binary, by
 * plans for the values and for any, and by the index, the plan below a node or the
 * defining query.
 *
 * Then the connection is that of a pooler to the server, which serves one client after
 * the other.  They have the same statements and other roles, settings and uncommitted
 * changes; between two of them the session may be reset.
 *
 * The last line is "N passed, N failed", in comparisons.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>
#include <unistd.h>

#include "client.h"

#define MAX_PARAMS 3

/* Executions after which PostgreSQL may take a plan for any values by itself. */
#define REPEATED 7

typedef struct Statement
{
	const char *name;
	const char *types;			/* of the parameters, in an array */
	const char *params[MAX_PARAMS];
	const char *query;
	const char *without;		/* the defining query of a function; else the
								 * same is asked without boards */
} Statement;

static const Statement statements[] = {
	{"rank", "{int8,text}", {"77", "p"},
	"SELECT lb_rank($1, $2)",
	"SELECT (SELECT r FROM (SELECT id, row_number() OVER (ORDER BY score DESC, at, id) AS r FROM p) q WHERE id = $1) WHERE $2 = 'p'"},
	{"rank_key", "{text,text,text}", {"n77", "k", "rank"},
	"SELECT lb_rank_key($1, $2, $3)",
	"SELECT (SELECT r FROM (SELECT name, rank() OVER (ORDER BY points DESC) AS r FROM k) q WHERE name = $1) WHERE $2 = 'k' AND $3 = 'rank'"},
	{"absent", "{int8,text}", {NULL, "p"},
	"SELECT lb_rank($1, $2)", "SELECT (SELECT id FROM p WHERE id = $1) WHERE $2 = 'p'"},
	{"top", "{int4,text,int8}", {"4", "p", "7"},
	"SELECT member, score FROM lb_top($1, $2, $3)",
	"SELECT id, CAST(score AS bigint) FROM p WHERE $2 = 'p' ORDER BY score DESC, at, id LIMIT $1 OFFSET $3"},
	{"ranks", "{_int8,text}", {"{5,77,-1}", "p"},
	"SELECT member, score FROM lb_ranks($1, $2)",
	"SELECT u.id, CAST(score AS bigint) FROM unnest($1::bigint[]) WITH ORDINALITY AS u (id, i) LEFT JOIN p USING (id) WHERE $2 = 'p' ORDER BY i"},
	{"between", "{int8,int8,text}", {"100", NULL, "p"},
	"SELECT lb_count_between($1, $2, $3)",
	"SELECT count(*) FROM p WHERE score >= $1 AND $2 IS NULL AND $3 = 'p'"},
	{"percentile", "{float8,text}", {"25", "p"},
	"SELECT lb_score_at_percentile($1, $2)",
	"SELECT CAST(percentile_disc($1 / 100) WITHIN GROUP (ORDER BY score) AS bigint) FROM p WHERE $2 = 'p'"},
	{"page", "{int8,int8}", {"4", "500"},
	"SELECT id, score FROM p ORDER BY score DESC, at, id LIMIT $1 OFFSET $2", NULL},
	{"no limit", "{int8}", {NULL},
	"SELECT id FROM p WHERE score > 980 ORDER BY score DESC, at, id LIMIT $1", NULL},
	{"negative", "{int8}", {"-1"},
	"SELECT id FROM p ORDER BY score DESC, at, id LIMIT $1", NULL},
	{"below", "{int4,int8}", {"500", "4"},
	"SELECT id, score FROM p WHERE score < $1 ORDER BY score DESC, at, id LIMIT $2", NULL},
	{"keyset", "{int4,int8}", {"500", "77"},
	"SELECT id, score FROM p WHERE (score, id) < ($1, $2) ORDER BY score DESC, at, id LIMIT 4", NULL},
	{"wrong", "{int4}", {"4x"},
	"SELECT count(*) FROM p WHERE score > $1", NULL},
	{"count", "{int4,int4}", {"100", "800"},
	"SELECT count(*), min(score), count(*) FILTER (WHERE score > $2) FROM p WHERE score > $1", NULL},
	{"none", "{int4}", {NULL},
	"SELECT count(*), max(score) FROM p WHERE score > $1", NULL},
	{"one's rank", "{int8}", {"77"},
	"SELECT 1 + count(*) FROM p WHERE score > (SELECT score FROM p WHERE id = $1)", NULL},
	{"hypothetical", "{int4,float8}", {"500", "0.25"},
	"SELECT rank($1) WITHIN GROUP (ORDER BY score DESC), percentile_disc($2) WITHIN GROUP (ORDER BY score) FROM p", NULL},
	{"member", "{int8}", {"77"},
	"SELECT place FROM p_ranks WHERE id = $1", NULL},
	{"members", "{_int8}", {"{77,5}"},
	"SELECT id, place FROM p_ranks WHERE id = ANY ($1) ORDER BY place", NULL},
	{"ranks from", "{int8,int8}", {"100", "4"},
	"SELECT id, place FROM p_ranks WHERE place > $1 ORDER BY place LIMIT $2", NULL},
	{"texts", "{numeric,text}", {"100.50", "n7"},
	"SELECT name, points FROM k WHERE (points, name) < ($1, $2) ORDER BY points DESC, name DESC LIMIT 4", NULL},
	{"window", "{text,float8,int8}", {"w:3", "12.25", "4"},
	"SELECT id, score FROM w WHERE key = $1 AND score < $2 ORDER BY score DESC, id LIMIT $3", NULL},
	{"of a window", "{text,int8}", {"w:3", "8"},
	"SELECT place FROM (SELECT id, key, row_number() OVER (PARTITION BY key ORDER BY score DESC, id) AS place FROM w) q WHERE key = $1 AND id = $2", NULL},
};

static const char *const setup[] = {
	"SET client_min_messages = warning",
	"CREATE TABLE p (id bigint PRIMARY KEY, score integer NOT NULL, at timestamptz NOT NULL, guild integer NOT NULL)",
	"INSERT INTO p SELECT g, g * 7919 % 1000, timestamptz '2026-01-01' + g % 7 * interval '1 s', g % 10 FROM generate_series(1, 2000) g",
	"CREATE VIEW p_ranks AS SELECT id, row_number() OVER (ORDER BY score DESC, at, id) AS place FROM p",
	"CREATE TABLE k (name text COLLATE \"C\" PRIMARY KEY, points numeric(12,2) NOT NULL)",
	"INSERT INTO k SELECT 'n' || g, g * 31 % 997 / 4.0 FROM generate_series(1, 2000) g",
	"CREATE TABLE w (id bigint, key text, score float8 NOT NULL, PRIMARY KEY (id, key))",
	"INSERT INTO w SELECT g, 'w:' || g % 5, g * 37 % 1009 / 8.0 FROM generate_series(1, 2000) g",
	"SELECT lb_create_board('p', 'p', 'id', 'score DESC, at ASC')",
	"SELECT lb_create_board('k', 'k', 'name', 'points DESC')",
	"SELECT lb_create_board('w', 'w', 'id', 'score DESC', board_column => 'key')",
	"SELECT lb_wait_ready()",
	"ANALYZE p, k, w",
};

/* Those who may see all rows, some rows and none. */
static const char *const pool_setup[] = {
	"DROP ROLE IF EXISTS lb_protocol_all, lb_protocol_some, lb_protocol_none",
	"CREATE ROLE lb_protocol_all BYPASSRLS",
	"CREATE ROLE lb_protocol_some",
	"CREATE ROLE lb_protocol_none",
	"GRANT SELECT, UPDATE ON p, p_ranks, k, w TO lb_protocol_all, lb_protocol_some",
	"ALTER TABLE p ENABLE ROW LEVEL SECURITY",
	"CREATE POLICY few ON p TO lb_protocol_some USING (guild = 7)",
	"CREATE POLICY others ON p TO lb_protocol_none USING (false)",
};

static const char *const teardown[] = {
	"RESET SESSION AUTHORIZATION",
	"DROP TABLE p, k, w CASCADE",
	"DROP ROLE lb_protocol_all, lb_protocol_some, lb_protocol_none",
};

static PGconn *conn;
static int	passed = 0;
static int	failed = 0;

static void
die(const char *what)
{
	fprintf(stderr, "%s: %s", what, PQerrorMessage(conn));
	exit(1);
}

static void
run(const char *sql)
{
	PGresult   *res = PQexec(conn, sql);

	if (!is_ok(res))
		die(sql);
	PQclear(res);
}

static void
run_all(const char *const *sql, int n)
{
	for (int i = 0; i < n; i++)
		run(sql[i]);
}

static int
count_params(const Statement *s)
{
	int			n = 1;

	for (const char *p = s->types; *p != '\0'; p++)
		n += *p == ',';
	return n;
}

/* The prepared statements are the question, and the same without boards. */
static char *
prepared_name(int i, bool without)
{
	return format("%s%d", without ? "without" : "asked", i);
}

/* The types of a statement's parameters; returns their number. */
static int
find_types(const Statement *s, Oid *types)
{
	PGresult   *res = PQexecParams(conn, "SELECT t::oid FROM unnest($1::regtype[]) AS t",
								   1, NULL, &s->types, NULL, NULL, 0);
	int			n = PQntuples(res);

	if (!is_ok(res) || n > MAX_PARAMS)
		die(s->types);
	for (int i = 0; i < n; i++)
		types[i] = (Oid) strtoul(PQgetvalue(res, i, 0), NULL, 10);
	PQclear(res);
	return n;
}

/* Whether the server has found these types. */
static bool
has_types(const char *name, const Oid *types, int n)
{
	PGresult   *res = PQdescribePrepared(conn, name);
	bool		ok = PQresultStatus(res) == PGRES_COMMAND_OK &&
		PQnparams(res) == n;

	for (int i = 0; ok && i < n; i++)
		ok = PQparamtype(res, i) == types[i];
	PQclear(res);
	return ok;
}

static void
prepare(const char *name, const char *query, int ntypes, const Oid *types)
{
	PGresult   *res = PQprepare(conn, name, query, ntypes, types);

	if (!is_ok(res))
		die(query);
	PQclear(res);
}

/* Prepare all statements without types, and check which ones the server has found. */
static void
prepare_all(void)
{
	for (int i = 0; i < LENGTH(statements); i++)
	{
		const Statement *s = &statements[i];
		char	   *asked = prepared_name(i, false);
		char	   *without = prepared_name(i, true);
		Oid			types[MAX_PARAMS];
		int			n = find_types(s, types);

		prepare(asked, s->query, 0, NULL);
		prepare(without, s->without != NULL ? s->without : s->query, n, types);
		if (has_types(asked, types, n))
			passed++;
		else
		{
			failed++;
			printf("FAILED: the parameters of %s are not %s\n", s->query, s->types);
		}
		free(asked);
		free(without);
	}
}

/* A parameter in binary: the server converts it. */
static PGresult *
to_binary(const Statement *s, int i)
{
	PGresult   *res;
	char	   *query = format("SELECT format('SELECT CAST(%%L AS %%s)', $1::text, ($2::regtype[])[%d])",
							   i + 1);
	const char *values[] = {s->params[i], s->types};

	res = PQexecParams(conn, query, 2, NULL, values, NULL, NULL, 0);
	free(query);
	if (!is_ok(res))
		die(s->name);
	query = format("%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	res = PQexecParams(conn, query, 0, NULL, NULL, NULL, NULL, 1);
	free(query);
	return res;
}

static PGresult *
execute(const Statement *s, bool without, bool binary)
{
	const char *values[MAX_PARAMS] = {NULL};
	int			lengths[MAX_PARAMS] = {0};
	int			formats[MAX_PARAMS] = {0};
	PGresult   *converted[MAX_PARAMS] = {NULL};
	char	   *name = prepared_name(s - statements, without);
	int			n = count_params(s);
	PGresult   *res;

	for (int i = 0; i < n; i++)
	{
		values[i] = s->params[i];
		if (!binary || values[i] == NULL)
			continue;
		converted[i] = to_binary(s, i);

		/* What the server does not take stays a text. */
		if (!is_ok(converted[i]))
			continue;
		values[i] = PQgetvalue(converted[i], 0, 0);
		lengths[i] = PQgetlength(converted[i], 0, 0);
		formats[i] = 1;
	}
	res = PQexecPrepared(conn, name, n, values, lengths, formats, binary);
	for (int i = 0; i < n; i++)
		PQclear(converted[i]);
	free(name);
	return res;
}

static bool
is_same(const PGresult *a, const PGresult *b)
{
	if (strcmp(sqlstate_of(a), sqlstate_of(b)) != 0 ||
		PQntuples(a) != PQntuples(b) || PQnfields(a) != PQnfields(b))
		return false;
	for (int row = 0; row < PQntuples(a); row++)
	{
		for (int i = 0; i < PQnfields(a); i++)
		{
			if (PQgetisnull(a, row, i) != PQgetisnull(b, row, i) ||
				PQgetlength(a, row, i) != PQgetlength(b, row, i) ||
				memcmp(PQgetvalue(a, row, i), PQgetvalue(b, row, i),
					   PQgetlength(a, row, i)) != 0)
				return false;
		}
	}
	return true;
}

/* Of a result in binary this prints nothing useful but its size. */
static void
print_result(const char *what, const PGresult *res, bool binary)
{
	printf("  %s: %d rows %s", what, PQntuples(res), sqlstate_of(res));
	for (int row = 0; !binary && row < PQntuples(res) && row < 5; row++)
	{
		printf(";");
		for (int i = 0; i < PQnfields(res); i++)
			printf(" %s", PQgetvalue(res, row, i));
	}
	printf("\n");
}

/*
 * Compare a statement with the same without boards.  An error must be the same, and the
 * transaction goes on behind it.
 */
static void
compare(const Statement *s, const char *how, bool binary)
{
	PGresult   *answer;
	PGresult   *wanted;
	bool		nested = PQtransactionStatus(conn) == PQTRANS_INTRANS;

	if (nested)
		run("SAVEPOINT before");
	answer = execute(s, false, binary);
	if (nested)
		run("ROLLBACK TO before");
	run("SET leaderboard.enable_planner = off");
	wanted = execute(s, true, binary);
	if (nested)
		run("ROLLBACK TO before");
	run("SET leaderboard.enable_planner = on");
	if (is_same(answer, wanted))
		passed++;
	else
	{
		failed++;
		printf("FAILED: %s, %s, %s: %s\n", s->name, how, binary ? "binary" : "text",
			   s->query);
		print_result("answer", answer, binary);
		print_result("query", wanted, binary);
	}
	PQclear(answer);
	PQclear(wanted);
}

static void
compare_all(const char *how, bool binary)
{
	for (int i = 0; i < LENGTH(statements); i++)
		compare(&statements[i], how, binary);
}

/* Boards must answer: else the queries would be compared with themselves. */
static void
check_reads(void)
{
	PGresult   *res = PQexec(conn, "SELECT sum(index_reads) > 0 AND sum(planned_reads) > 0 FROM lb_stat_board");

	if (!is_ok(res))
		die("lb_stat_board");
	if (strcmp(PQgetvalue(res, 0, 0), "t") == 0)
		passed++;
	else
	{
		failed++;
		printf("FAILED: no board has answered\n");
	}
	PQclear(res);
}


/* ----------------------------------------------------------------
 *		Parameters
 * ----------------------------------------------------------------
 */

static void
test_parameters(void)
{
	static const char *const modes[] = {
		"force_custom_plan", "force_generic_plan", "auto"
	};
	static const char *const ways[] = {
		"SET leaderboard.enable_index = on; SET leaderboard.debug_planner_child = off",
		"SET leaderboard.enable_index = off; SET leaderboard.debug_planner_child = force"
	};

	for (int m = 0; m < LENGTH(modes); m++)
	{
		char	   *mode = format("SET plan_cache_mode = %s", modes[m]);

		run(mode);
		prepare_all();
		for (int w = 0; w < LENGTH(ways); w++)
		{
			run(ways[w]);
			for (int i = strcmp(modes[m], "auto") == 0 ? REPEATED : 2; i > 0; i--)
				compare_all(mode, i % 2 == 0);
		}
		run(ways[0]);
		run("DEALLOCATE ALL");
		free(mode);
	}
}


/* ----------------------------------------------------------------
 *		Pools
 * ----------------------------------------------------------------
 */

/* Begin as a client of the pool: with a role, and maybe with changes of its own. */
static void
begin_client(const char *role, bool changes)
{
	char	   *sql = format("SET LOCAL ROLE %s", role);

	run("BEGIN");
	if (changes)
	{
		run("UPDATE p SET score = score + 100 WHERE id % 1000 = 77");
		run("DELETE FROM k WHERE name = 'n77'");
	}
	run(sql);
	free(sql);
}

static void
test_pool(void)
{
	static const char *const roles[] = {
		"lb_protocol_all", "lb_protocol_none", "lb_protocol_some", "none"
	};
	static const char *const settings[] = {
		"SELECT", "SET LOCAL leaderboard.enable_index = off",
		"SET LOCAL leaderboard.debug_planner_child = force",
		"SET LOCAL plan_cache_mode = force_custom_plan"
	};
	static const char *const ends[] = {"COMMIT", "ROLLBACK"};
	static const char *const resets[] = {
		"SELECT", "DISCARD PLANS", "DEALLOCATE ALL", "DISCARD ALL"
	};

	run_all(pool_setup, LENGTH(pool_setup));
	for (int r = 0; r < LENGTH(resets); r++)
	{
		run("SET plan_cache_mode = force_generic_plan");
		prepare_all();
		for (int i = 0; i < 8; i++)
		{
			const char *role = roles[i % LENGTH(roles)];
			char	   *how = format("as %s, %s, after %s", role,
									 settings[(i + r) % LENGTH(settings)], resets[r]);

			begin_client(role, i % 3 == 0);
			run(settings[(i + r) % LENGTH(settings)]);
			compare_all(how, i % 2 == 0);
			run(ends[i % LENGTH(ends)]);
			free(how);
		}
		run(resets[r]);
		if (strcmp(resets[r], "DISCARD PLANS") == 0)
			compare_all("after DISCARD PLANS", false);
		run("DEALLOCATE ALL");
	}
	run("RESET ALL");
}

/* lb_verify() ends every test that changes a board. */
static void
verify(void)
{
	PGresult   *res = PQexec(conn, "SELECT board, problem FROM lb_verify()");

	if (!is_ok(res))
		die("lb_verify");
	for (int i = 0; i < PQntuples(res); i++)
	{
		failed++;
		printf("FAILED: board %s: %s\n", PQgetvalue(res, i, 0),
			   PQgetvalue(res, i, 1));
	}
	passed += PQntuples(res) == 0;
	PQclear(res);
}

int
main(int argc, char **argv)
{
	const char *conninfo = "";
	int			opt;

	while ((opt = getopt(argc, argv, "d:")) != -1)
	{
		if (opt != 'd')
			return 2;
		conninfo = optarg;
	}
	conn = connect_within(conninfo, "SET leaderboard.enable_planner = on", 10);
	if (PQstatus(conn) != CONNECTION_OK)
		die("could not connect");
	run_all(setup, LENGTH(setup));
	test_parameters();
	test_pool();
	check_reads();
	verify();
	run_all(teardown, LENGTH(teardown));
	PQfinish(conn);
	printf("%d passed, %d failed\n", passed, failed);
	return failed > 0;
}
