/*-------------------------------------------------------------------------
 *
 * faults.c
 *	  Has each call that can run out of memory do so once, in turn.
 *
 *	faults -d conninfo [-e every] [-s seed] [-o step] [-v]
 *
 * The server's library is built with LB_FAULTS (test/fault/fault.c).  The
 * database has the extension and nothing else.
 *
 * The scenario is a list of steps, which touch every function, each a few
 * statements of one session.  A step is repeated: the first time its first call
 * that can fail does so, then its second, until it ends without a failure.  It
 * runs in new sessions, whose caches are cold, and in sessions that have run it
 * before.  Then
 *
 *	  - a statement has either failed for want of memory or done what it should:
 *		whatever a step's query returns must be "t";
 *	  - a write to a table has not failed for want of the extension's memory;
 *	  - another session finds every answer right, and the boards become ready
 *		by themselves, and lb_verify() finds nothing;
 *	  - the server has not restarted.
 *
 * Likewise for build workers.  At the end the boards are dropped, and all shared
 * memory that they had must have been given back.
 *
 * -e 7 lets only every seventh call fail; the seed chooses the first.  -o
 * does one step only.  -v prints each failure.  The last line is "N passed, N
 * failed", in calls that have failed.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define MAX_STATEMENTS 12
#define MAX_CALLS 100000

/* What the statements of a step may do when a call fails. */
typedef enum Kind
{
	READ,						/* an error, or the right answer */
	WRITE,						/* none may fail but a COMMIT's own work */
	MANAGE						/* an error, and nothing has happened */
} Kind;

typedef struct Step
{
	const char *name;
	Kind		kind;
	const char *before;			/* what it needs, without failures */
	const char *statements[MAX_STATEMENTS];
	const char *after;			/* and what puts all back, likewise */
} Step;

#define RIGHT_RANKS \
	"SELECT NOT EXISTS (SELECT FROM (SELECT id, row_number() OVER" \
	" (ORDER BY score DESC, at, id) AS r FROM plain) AS s" \
	" WHERE r IS DISTINCT FROM lb_rank(id, 'plain'))"

#define KEYED_RANKS \
	"SELECT NOT EXISTS (SELECT FROM (SELECT uid, n, name, row_number() OVER" \
	" (ORDER BY score DESC, uid, n, name) AS r FROM keyed) AS s" \
	" WHERE r IS DISTINCT FROM lb_rank_key(ROW(uid, n, name)::text, 'keyed'))"

/* What boards that keep counts answer. */
#define RIGHT_COUNTS \
	"SELECT NOT EXISTS (SELECT FROM (SELECT id, rank() OVER (ORDER BY score DESC) AS r, 100 * cume_dist() OVER (ORDER BY score) AS p" \
	" FROM plain) AS s WHERE (r, p) IS DISTINCT FROM (lb_rank(id, 'plain_counts'), lb_percentile(id, 'plain_counts')))" \
	" AND NOT EXISTS (SELECT FROM (SELECT kind, count(*) AS n, dense_rank(3) WITHIN GROUP (ORDER BY score DESC) AS r FROM fam GROUP BY kind) AS s" \
	" WHERE (n, r) IS DISTINCT FROM (lb_count('fam_counts:' || kind), lb_rank_of_score(3, 'fam_counts:' || kind)))"

/* The board on expressions, one of which is a function of the user's. */
#define RIGHT_MADE \
	"SELECT NOT EXISTS (SELECT FROM (SELECT id, row_number() OVER (ORDER BY score / (id + 1) DESC, halved(score), id) AS r FROM plain WHERE id % 7 > 0) AS s" \
	" WHERE r IS DISTINCT FROM lb_rank(id, 'plain_made'))"

#define RIGHT_OTHER_COUNTS \
	"SELECT (lb_count('other_counts'), lb_rank_of_score(2, 'other_counts'), lb_score_at_percentile(40, 'other_counts'), lb_count_between(1, 2, 'other_counts'))" \
	" IS NOT DISTINCT FROM (SELECT (count(*), rank(2) WITHIN GROUP (ORDER BY score), percentile_disc(0.4) WITHIN GROUP (ORDER BY score DESC)," \
	" count(*) FILTER (WHERE score BETWEEN 1 AND 2)) FROM other)"

/* The first of the rows of keyed in their order, as one member and by place. */
#define KEYED(rows, offset, count) \
	"(SELECT " rows " FROM (SELECT ROW(uid, n, name)::text AS member, score FROM keyed" \
	" ORDER BY score DESC, uid, n, name OFFSET " #offset " LIMIT " #count ") AS s)"
#define KEYED_MEMBER(offset) KEYED("member", offset, 1)
#define KEYED_MEMBERS(offset, count) KEYED("array_agg(member)", offset, count)

static const Step steps[] = {
	/* Writes. */
	{"insert", WRITE, NULL,
		{"INSERT INTO plain VALUES (1001, 7, '2026-01-01')",
		"INSERT INTO plain SELECT i, i % 7, '2026-01-01' FROM generate_series(1002, 1010) AS i"},
	"DELETE FROM plain WHERE id > 1000"},
	{"update", WRITE, NULL,
		{"UPDATE plain SET score = score + 1 WHERE id = 5",
		"UPDATE plain SET score = score + 1, at = at + interval '1 s' WHERE id % 2 = 0"},
	NULL},
	{"delete", WRITE, NULL,
		{"DELETE FROM plain WHERE id % 5 = 0"},
	"INSERT INTO plain SELECT i, i % 9, '2026-01-01' FROM generate_series(5, 60, 5) AS i ON CONFLICT DO NOTHING"},
	{"family", WRITE, NULL,
		{"INSERT INTO fam VALUES (500, 'new', 3)",
			"UPDATE fam SET kind = 'other' WHERE kind = 'new'",
			"UPDATE fam SET score = score + 1",
		"DELETE FROM fam WHERE id = 500"},
	"DELETE FROM fam WHERE id = 500"},
	{"partitions", WRITE, NULL,
		{"INSERT INTO parts VALUES (700, 3)",
			"UPDATE parts SET id = 10 WHERE id = 700",
		"DELETE FROM parts WHERE id IN (10, 700)"},
	"DELETE FROM parts WHERE id IN (10, 700)"},
	{"truncate", WRITE, NULL,
		{"BEGIN", "UPDATE other SET score = 3", "TRUNCATE other",
		"INSERT INTO other SELECT i, i % 4 FROM generate_series(1, 20) AS i", "COMMIT"},
	"TRUNCATE other; INSERT INTO other SELECT i, i % 4 FROM generate_series(1, 20) AS i"},
	{"subtransactions", WRITE, NULL,
		{"BEGIN", "UPDATE plain SET score = score + 1 WHERE id < 10",
			"SAVEPOINT a", "UPDATE plain SET score = score + 1 WHERE id < 20",
			"SAVEPOINT b", "DELETE FROM plain WHERE id < 5", "ROLLBACK TO b",
			"UPDATE fam SET score = score + 1 WHERE id = 3",
		"RELEASE a", "UPDATE plain SET score = 3 WHERE id = 30", "COMMIT"},
	NULL},
	{"many subtransactions", WRITE, NULL,
		{"DO 'BEGIN FOR i IN 1 .. 40 LOOP BEGIN UPDATE plain SET score = score + 1 WHERE id = i;"
		" PERFORM 1 / (i % 3); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END'"},
	NULL},
	{"failures that a user catches", WRITE, NULL,
		{"BEGIN",
			"DO 'BEGIN BEGIN TRUNCATE other; EXCEPTION WHEN out_of_memory THEN NULL; END;"
			" BEGIN UPDATE plain SET score = score + 1 WHERE id < 9; EXCEPTION WHEN out_of_memory THEN NULL; END;"
			" BEGIN UPDATE fam SET kind = ''other'' WHERE id < 9; EXCEPTION WHEN out_of_memory THEN NULL; END;"
			" BEGIN INSERT INTO other SELECT i, 3 FROM generate_series(41, 44) AS i; EXCEPTION WHEN out_of_memory THEN NULL; END; END'",
		"COMMIT"},
	"TRUNCATE other; INSERT INTO other SELECT i, i % 4 FROM generate_series(1, 20) AS i"},
	{"large", WRITE, NULL,
		{"INSERT INTO other SELECT i, i FROM generate_series(1001, 6000) AS i",
		"DELETE FROM other WHERE id > 1000"},
	"DELETE FROM other WHERE id > 1000"},
	{"prepared", WRITE, NULL,
		{"BEGIN", "UPDATE plain SET score = score + 2 WHERE id < 9", "UPDATE fam SET score = score + 1",
		"PREPARE TRANSACTION 'faults'", "COMMIT PREPARED 'faults'"},
	NULL},
	{"serializable", WRITE, NULL,
		{"BEGIN ISOLATION LEVEL SERIALIZABLE", "UPDATE plain SET score = score + 2 WHERE id < 9",
		"UPDATE other SET score = score + 1", "COMMIT"},
	NULL},
	{"keys of several columns", WRITE, NULL,
		{"INSERT INTO keyed SELECT md5(i::text)::uuid, i, repeat('name ', i - 500), i / 4.0 FROM generate_series(501, 510) AS i",
			"UPDATE keyed SET score = score + 0.25 WHERE n % 2 = 0",
		"DELETE FROM keyed WHERE n > 500"},
	"DELETE FROM keyed WHERE n > 500"},
	{"default tables", WRITE, NULL,
		{"UPDATE player_scores SET score = score + 5 WHERE player_id < 4",
			"INSERT INTO player_score_windows VALUES (1, 'weekly:209901', 5) ON CONFLICT (player_id, window_key)"
		" DO UPDATE SET score = excluded.score + 1"},
	"DELETE FROM player_score_windows WHERE window_key = 'weekly:209901'"},

	/* Reads, which say whether the function and the query agree. */
	{"ranks", READ, NULL,
		{RIGHT_RANKS,
			"SELECT NOT EXISTS (SELECT FROM (SELECT id, kind, rank() OVER (PARTITION BY kind ORDER BY score DESC) AS r"
			" FROM fam) AS s WHERE r IS DISTINCT FROM lb_rank(id, 'fam:' || kind))",
			"SELECT NOT EXISTS (SELECT FROM (SELECT id, dense_rank() OVER (ORDER BY score) AS r FROM parts) AS s"
		" WHERE r IS DISTINCT FROM lb_rank(id, 'parts'))"},
	NULL},
	{"one member", READ, NULL,
		{"SELECT lb_score(7, 'plain') = (SELECT score FROM plain WHERE id = 7)",
			"SELECT lb_percentile(7, 'plain') = (SELECT p FROM (SELECT id, 100 * cume_dist() OVER (ORDER BY score) AS p FROM plain) AS s WHERE id = 7)",
			"SELECT (p.score, p.total) = (SELECT score, (SELECT count(*) FROM plain) FROM plain WHERE id = 7) FROM lb_player(7, 'plain') AS p",
		"SELECT lb_rank(7, 'plain', 'dense_rank') = (SELECT r FROM (SELECT id, dense_rank() OVER (ORDER BY score DESC) AS r FROM plain) AS s WHERE id = 7)"},
	NULL},
	{"lists", READ, NULL,
		{"SELECT (SELECT array_agg(member) FROM lb_top(10, 'plain', 3)) = (SELECT array_agg(id) FROM (SELECT id FROM plain ORDER BY score DESC, at, id OFFSET 3 LIMIT 10) AS s)",
			"SELECT (SELECT member FROM lb_at(4, 'plain')) = (SELECT id FROM plain ORDER BY score DESC, at, id OFFSET 3 LIMIT 1)",
			"SELECT (SELECT array_agg(member) FROM lb_around((SELECT member FROM lb_at(6, 'plain')), 'plain', 2)) = (SELECT array_agg(id) FROM (SELECT id FROM plain ORDER BY score DESC, at, id OFFSET 3 LIMIT 5) AS s)",
			"SELECT lb_top_json(2, 'plain') #>> '{entries,1,player_id}' = (SELECT plain.id::text FROM plain ORDER BY score DESC, at, plain.id OFFSET 1 LIMIT 1)",
			"SELECT (SELECT count(*) FROM lb_top(100000, 'plain')) = (SELECT count(*) FROM plain)",
		"SELECT lb_rank_json(7, 'plain', 2) ->> 'score' = (SELECT score::text FROM plain WHERE id = 7)"},
	NULL},
	{"counts", READ, NULL,
		{"SELECT lb_count('plain') = (SELECT count(*) FROM plain)",
			"SELECT lb_count_between(2, 20, 'plain') = (SELECT count(*) FROM plain WHERE score BETWEEN 2 AND 20)",
			"SELECT lb_rank_of_score(5, 'plain') = (SELECT rank(5) WITHIN GROUP (ORDER BY score DESC) FROM plain)",
			"SELECT lb_rank_of_score(5, 'plain', 'dense_rank') = (SELECT dense_rank(5) WITHIN GROUP (ORDER BY score DESC) FROM plain)",
			"SELECT lb_score_at_percentile(40, 'plain') = (SELECT percentile_disc(0.4) WITHIN GROUP (ORDER BY score) FROM plain)",
			"SELECT (SELECT array_agg(ties) FROM lb_page(10, 'plain', 3)) = (SELECT array_agg(ARRAY[at::text]) FROM (SELECT at FROM plain ORDER BY score DESC, at, id OFFSET 3 LIMIT 10) AS s)",
			"SELECT bool_and(lb_count_before(score, ties, member, 'plain') = rank - 1) FROM lb_page(10, 'plain', 3)",
		"SELECT (SELECT sum(members) FROM lb_histogram(5, 'plain')) = (SELECT count(*) FROM plain)"},
	NULL},
	{"arrays", READ, NULL,
		{"SELECT NOT EXISTS (SELECT FROM lb_ranks(ARRAY[1, 2, 3, 7, 99999], 'plain') AS l LEFT JOIN (SELECT id, row_number() OVER (ORDER BY score DESC, at, id) AS r FROM plain) AS s ON id = member WHERE l.rank IS DISTINCT FROM r)",
		"SELECT (SELECT array_agg(member ORDER BY place) FROM lb_among(ARRAY[1, 2, 3, 7, 99999], 'plain')) = (SELECT array_agg(id ORDER BY score DESC, at, id) FROM plain WHERE id IN (1, 2, 3, 7))"},
	NULL},
	{"counts boards", READ, NULL,
		{RIGHT_COUNTS, RIGHT_OTHER_COUNTS,
			"SELECT (SELECT sum(members) FROM lb_histogram(3, 'other_counts')) = (SELECT count(*) FROM other)",
			"SELECT NOT EXISTS (SELECT FROM lb_ranks(ARRAY[1, 2, 3, 7, 99999], 'plain_counts') AS l LEFT JOIN (SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM plain) AS s ON id = member WHERE l.rank IS DISTINCT FROM r)",
		"SELECT (SELECT array_agg(member) FROM lb_top(10, 'plain_counts', 3)) = (SELECT array_agg(id) FROM (SELECT id FROM plain ORDER BY score DESC, id OFFSET 3 LIMIT 10) AS s)"},
	NULL},
	{"expressions", READ, NULL,
		{RIGHT_MADE, "SELECT lb_count('plain_made') = count(*) FROM plain WHERE id % 7 > 0",
			"SELECT count(*) = (SELECT count(*) FROM lb_top(1000, 'plain_made') WHERE score > 0) FROM plain WHERE id % 7 > 0 AND score / (id + 1) > 0",
			"BEGIN", "UPDATE plain SET score = score + 30 WHERE id < 9", RIGHT_MADE, "ROLLBACK",
		"SET leaderboard.enable_index = off", RIGHT_MADE, "RESET leaderboard.enable_index"},
	NULL},
	{"own changes of counts boards", READ, NULL,
		{"BEGIN", "UPDATE plain SET score = score + 3 WHERE id % 3 = 0", "DELETE FROM fam WHERE id < 5", "UPDATE other SET score = 2 WHERE id < 9",
			RIGHT_COUNTS, "SAVEPOINT a", "DELETE FROM other WHERE id < 15", RIGHT_OTHER_COUNTS, "ROLLBACK TO a", RIGHT_OTHER_COUNTS,
		"ROLLBACK"},
	NULL},
	{"counts boards in an old snapshot", READ, NULL,
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) > 0 FROM plain",
			"@UPDATE plain SET score = score + 1 WHERE id % 4 = 1; UPDATE fam SET score = score + 1;"
			" UPDATE other SET score = score + 1 WHERE id % 4 = 2",
		RIGHT_COUNTS, RIGHT_OTHER_COUNTS, "@UPDATE plain SET score = score - 1 WHERE id % 4 = 1", RIGHT_COUNTS, "COMMIT"},
	NULL},
	{"twins: one member", READ, NULL,
		{KEYED_RANKS,
			"SELECT lb_score_key(" KEYED_MEMBER(3) ", 'keyed') = " KEYED("score::text", 3, 1),
			"SELECT lb_percentile_key(" KEYED_MEMBER(0) ", 'keyed') = 100",
			"SELECT (p.rank, p.score, p.total) = (4, " KEYED("score::text", 3, 1) ", 20) FROM lb_player_key(" KEYED_MEMBER(3) ", 'keyed') AS p",
		"SELECT lb_rank_json_key(" KEYED_MEMBER(3) ", 'keyed', 2) ->> 'score' = " KEYED("score::text", 3, 1)},
	NULL},
	{"twins: values with their types", READ, NULL,
		{"SELECT NOT EXISTS (SELECT FROM (SELECT uid, n, name, row_number() OVER (ORDER BY score DESC, uid, n, name) AS r FROM keyed) AS s"
			" WHERE r IS DISTINCT FROM lb_rank_key(ROW(uid, n, name), 'keyed'))",
			"SELECT lb_count_between_key(1.5, 4, 'keyed') = (SELECT count(*) FROM keyed WHERE score BETWEEN 1.5 AND 4)",
			"SELECT lb_rank_of_score_key(2.5::float8, 'keyed') = (SELECT rank(2.5) WITHIN GROUP (ORDER BY score DESC) FROM keyed)",
			"SELECT (SELECT array_agg(rank) FROM lb_around(3, 2)) IS NOT DISTINCT FROM (SELECT array_agg(rank) FROM lb_around(3, 'global', 2))",
		"SELECT (SELECT array_agg(rank) FROM lb_around_key(3, 2)) IS NOT DISTINCT FROM (SELECT array_agg(rank) FROM lb_around(3, 'global', 2))"},
	NULL},
	{"twins: lists", READ, NULL,
		{"SELECT (SELECT array_agg(member) FROM lb_top_key(10, 'keyed', 3)) = " KEYED_MEMBERS(3, 10),
			"SELECT (SELECT member FROM lb_at_key(4, 'keyed')) = " KEYED_MEMBER(3),
			"SELECT (SELECT array_agg(member) FROM lb_around_key(" KEYED_MEMBER(5) ", 'keyed', 2)) = " KEYED_MEMBERS(3, 5),
			"SELECT (SELECT array_agg(member) FROM lb_ranks_key(" KEYED_MEMBERS(3, 10) ", 'keyed')) = " KEYED_MEMBERS(3, 10),
			"SELECT (SELECT array_agg(member) FROM lb_among_key(" KEYED_MEMBERS(3, 10) ", 'keyed')) = " KEYED_MEMBERS(3, 10),
		"SELECT lb_top_json(2, 'keyed') #>> '{entries,1,score}' = " KEYED("score::text", 1, 1)},
	NULL},
	{"twins: counts", READ, NULL,
		{"SELECT lb_count_between_key('1.5', '4', 'keyed') = (SELECT count(*) FROM keyed WHERE score BETWEEN 1.5 AND 4)",
			"SELECT lb_rank_of_score_key('2.5', 'keyed') = (SELECT rank(2.5) WITHIN GROUP (ORDER BY score DESC) FROM keyed)",
			"SELECT lb_score_at_percentile_key(40, 'keyed') = (SELECT percentile_disc(0.4) WITHIN GROUP (ORDER BY score) FROM keyed)::text",
			"SELECT bool_and(lb_count_before_key(score, ties, member, 'keyed') = rank - 1) FROM lb_page_key(10, 'keyed', 3)",
			"SELECT (SELECT sum(members) FROM lb_histogram_key(5, 'keyed')) = (SELECT count(*) FROM keyed)",
		"SELECT lb_estimate_memory_key(1000, '{numeric}', '{uuid,integer,text}') > 0"},
	NULL},
	{"twins: by query", READ, NULL,
		{"BEGIN", "UPDATE keyed SET score = score + 3 WHERE n % 3 = 0", KEYED_RANKS,
			"SET LOCAL leaderboard.enable_index = off", KEYED_RANKS,
			"SELECT (SELECT array_agg(member) FROM lb_top_key(10, 'keyed', 3)) = " KEYED_MEMBERS(3, 10),
		"ROLLBACK"},
	NULL},
	{"own changes", READ, NULL,
		{"BEGIN", "UPDATE plain SET score = score + 3 WHERE id % 3 = 0",
			RIGHT_RANKS, "SAVEPOINT a", "DELETE FROM plain WHERE id < 4", RIGHT_RANKS,
			"SELECT (SELECT array_agg(member) FROM lb_top(10, 'plain')) = (SELECT array_agg(id) FROM (SELECT id FROM plain ORDER BY score DESC, at, id LIMIT 10) AS s)",
			"ROLLBACK TO a", RIGHT_RANKS,
			"SELECT lb_rank_of_score(5, 'plain', 'dense_rank') = (SELECT dense_rank(5) WITHIN GROUP (ORDER BY score DESC) FROM plain)",
		"COMMIT"},
	NULL},
	{"by query", READ, NULL,
		{"SET leaderboard.enable_index = off", RIGHT_RANKS,
			"SELECT (SELECT array_agg(member) FROM lb_top(10, 'plain')) = (SELECT array_agg(id) FROM (SELECT id FROM plain ORDER BY score DESC, at, id LIMIT 10) AS s)",
			"SELECT lb_count('fam:a') = (SELECT count(*) FROM fam WHERE kind = 'a')",
		"SELECT (SELECT sum(members) FROM lb_histogram(5, 'plain')) = (SELECT count(*) FROM plain)"},
	NULL},
	{"plain SQL", READ, NULL,
		{"SET leaderboard.enable_planner = on",
			"SELECT (SELECT count(*) FROM plain WHERE score > 5) = (SELECT count(*) FROM plain WHERE score + 0 > 5)",
			"SELECT bool_and((SELECT count(*) FROM plain q WHERE q.score > p.score) = r - 1) FROM (SELECT score, rank() OVER (ORDER BY score DESC) AS r FROM plain) AS p",
			"SELECT rank(2.5) WITHIN GROUP (ORDER BY score DESC) = lb_rank_of_score_key('2.5', 'keyed') FROM keyed",
			"SELECT count(*) = lb_count('fam:a') FROM fam WHERE kind = 'a'",
			"SELECT (percentile_disc(0.3) WITHIN GROUP (ORDER BY score), max(score)) IS NOT NULL FROM plain WHERE score > 1.5",
			"SELECT bool_or(reason LIKE '%GROUP BY%') FROM lb_explain('SELECT score, count(*) FROM plain GROUP BY score')",
			"SET leaderboard.log_misses = log",
			"SELECT count(*) >= 0 FROM plain WHERE score > 5 AND id % 2 = 0",
		"RESET leaderboard.log_misses"},
	NULL},
	/* The rows are changed by the checking session: see run_step(). */
	{"old snapshot", READ, NULL,
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) > 0 FROM plain",
			"@UPDATE plain SET score = score + 1 WHERE id % 4 = 1; UPDATE fam SET score = score + 1;"
			" UPDATE plain SET score = score + 1 WHERE id % 4 = 2",
			RIGHT_RANKS,
			"SELECT (SELECT array_agg(member) FROM lb_top(10, 'plain')) = (SELECT array_agg(id) FROM (SELECT id FROM plain ORDER BY score DESC, at, id LIMIT 10) AS s)",
			"@UPDATE plain SET score = score - 1 WHERE id % 4 = 1", RIGHT_RANKS,
			"SELECT lb_rank_of_score(5, 'plain', 'dense_rank') = (SELECT dense_rank(5) WITHIN GROUP (ORDER BY score DESC) FROM plain)",
		"COMMIT"},
	NULL},
	{"cursor", READ, NULL,
		{"BEGIN", "DECLARE c CURSOR FOR SELECT r = lb_rank(id, 'plain') FROM (SELECT id, row_number() OVER (ORDER BY score DESC, at, id) AS r FROM plain) AS s",
		"FETCH 1 FROM c", "UPDATE plain SET score = score + 1 WHERE id = 3", "FETCH 1 FROM c", "COMMIT"},
	NULL},
	{"statistics", READ, NULL,
		{"SELECT count(*) > 3 FROM lb_stat_board", "SELECT count(*) = 1 FROM lb_stat('plain')", "SELECT count(*) > 1 FROM lb_stat_memory",
			"SELECT history >= 0 AND backlog = 0 FROM lb_stat_ledger", "SELECT role = 'primary' FROM lb_stat_feed", "SELECT count(*) = 0 FROM lb_lag()", "SELECT count(*) = 0 FROM lb_stat_shards('plain')",
			"SELECT bool_and(leaderboard_internal.lb_shard_ask('plain', '', 0, 1, 1, 'plain'::regclass, '{}', question) IS NULL) FROM unnest(ARRAY[int8send(0), int8send(1), int8send(2) || int8send(0) || int8send(1) || int8send(0) || int8send(0)]) AS question",
			"SELECT lb_estimate_memory(1000) > 0", "SELECT lb_stat_reset()", "SELECT lb_resolve_board('plain') = 'plain'",
		"SELECT lb_window_at('daily', '2026-01-01') = 'daily:20260101'"},
	NULL},
	{"verify", READ, NULL,
		{"SELECT count(*) = 0 FROM lb_verify_key()", "SELECT count(*) = 0 FROM lb_verify('fam')",
		"SELECT lb_wait_ready('5 min')"},
	NULL},

	/* Boards. */
	{"create and drop", MANAGE, NULL,
		{"CREATE TABLE made (id bigint PRIMARY KEY, score integer, kind text)",
			"INSERT INTO made SELECT i, i % 5, 'a' FROM generate_series(1, 30) AS i",
			"SELECT lb_create_board('made', 'made', 'id', 'score DESC')",
			"SELECT lb_rank(1, 'made') = (SELECT r FROM (SELECT id, row_number() OVER (ORDER BY score DESC, id) AS r FROM made) AS s WHERE id = 1)",
			"UPDATE made SET score = score + 1",
			"SELECT lb_rank(1, 'made') = (SELECT r FROM (SELECT id, row_number() OVER (ORDER BY score DESC, id) AS r FROM made) AS s WHERE id = 1)",
		"SELECT lb_drop_board('made')", "DROP TABLE made"},
	"DROP TABLE IF EXISTS made; DELETE FROM lb_board WHERE board = 'made'"},
	{"create and drop counts", MANAGE, NULL,
		{"CREATE TABLE made (id bigint PRIMARY KEY, score integer, kind text)",
			"INSERT INTO made SELECT i, i % 5, 'a' FROM generate_series(1, 30) AS i",
			"SELECT lb_create_board('made', 'made', rank_by => 'score ASC', keeps => 'counts')",
			"SELECT lb_rank_of_score(2, 'made') = (SELECT rank(2) WITHIN GROUP (ORDER BY score) FROM made)",
			"UPDATE made SET score = score + 1", "SELECT lb_set_offline('made', 'query')",
			"SELECT lb_rank_of_score(2, 'made') = (SELECT rank(2) WITHIN GROUP (ORDER BY score) FROM made)",
		"SELECT lb_drop_board('made')", "DROP TABLE made"},
	"DROP TABLE IF EXISTS made; DELETE FROM lb_board WHERE board = 'made'"},
	{"create and drop expressions", MANAGE, NULL,
		{"CREATE TABLE made (id bigint PRIMARY KEY, score integer, kind text)",
			"INSERT INTO made SELECT i, i % 5, 'a' FROM generate_series(1, 30) AS i",
			"SELECT lb_create_board('made', 'made', 'id', '(score % 3) DESC, halved(score)', board_column => 'upper(kind)', ranked_if => 'id > 3')",
			"SELECT lb_count('made:A') = 27", "UPDATE made SET score = score + 1", "ALTER TABLE made RENAME score TO points",
			"SELECT lb_rank(4, 'made:A') = (SELECT r FROM (SELECT id, row_number() OVER (ORDER BY points % 3 DESC, halved(points), id) AS r FROM made WHERE id > 3) AS s WHERE id = 4)",
		"SELECT lb_drop_board('made')", "DROP TABLE made"},
	"DROP TABLE IF EXISTS made; DELETE FROM lb_board WHERE board = 'made'"},
	{"replace a function", MANAGE, NULL,
		{"CREATE OR REPLACE FUNCTION halved(score bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN score / 3; END'", RIGHT_MADE,
		"UPDATE plain SET score = score + 1 WHERE id = 5", RIGHT_MADE},
	"CREATE OR REPLACE FUNCTION halved(score bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN score / 2; END'"},
	{"create in a transaction", MANAGE, NULL,
		{"BEGIN", "CREATE TABLE made (id bigint PRIMARY KEY, score integer, kind text)",
			"SELECT lb_create_board('made', 'made', 'id', 'score DESC')",
			"INSERT INTO made SELECT i, i % 5, 'a' FROM generate_series(1, 30) AS i",
		"SELECT lb_count('made') = 30", "COMMIT", "DROP TABLE made"},
	"DROP TABLE IF EXISTS made"},
	{"rename a column", MANAGE, NULL,
		{"ALTER TABLE other RENAME score TO points", "UPDATE other SET points = points + 1 WHERE id = 4",
		"SELECT lb_count('other') = (SELECT count(*) FROM other)"},
	"DO 'BEGIN ALTER TABLE other RENAME points TO score; EXCEPTION WHEN undefined_column THEN NULL; END'"},
	{"alter the triggers", MANAGE, NULL,
		{"ALTER TABLE other DISABLE TRIGGER leaderboard_capture",
			"UPDATE other SET score = score + 1 WHERE id = 2",
			"SELECT lb_rank(2, 'other') = (SELECT r FROM (SELECT id, row_number() OVER (ORDER BY score DESC, id) AS r FROM other) AS s WHERE id = 2)",
			"ALTER TABLE other ENABLE ALWAYS TRIGGER leaderboard_capture",
		"SELECT lb_rank(2, 'other') = (SELECT r FROM (SELECT id, row_number() OVER (ORDER BY score DESC, id) AS r FROM other) AS s WHERE id = 2)"},
	"ALTER TABLE other ENABLE ALWAYS TRIGGER leaderboard_capture"},
	{"move a partition", MANAGE, NULL,
		{"BEGIN", "ALTER TABLE parts DETACH PARTITION parts1",
			"UPDATE parts1 SET score = 5 WHERE id = 3",
			"ALTER TABLE parts ATTACH PARTITION parts1 FOR VALUES FROM (0) TO (15)", "COMMIT",
		"BEGIN", "TRUNCATE parts1", "INSERT INTO parts SELECT i, i FROM generate_series(1, 14) AS i", "COMMIT"},
	NULL},
	{"rebuild", MANAGE, NULL, {"SELECT lb_rebuild('plain')", "SELECT lb_rebuild()"}, NULL},

	/* Submits. */
	{"submit", MANAGE, NULL,
		{"SELECT count(*) > 0 FROM lb_submit(3, 5)", "SELECT count(*) > 0 FROM lb_submit(900, 5, 'best', 'match 1')",
			"SELECT count(*) > 0 FROM lb_submit(4, 5, boards => ARRAY['daily', 'global'])",
		"SELECT lb_submit_json('{\"player_id\": 5, \"amount\": 3}') IS NOT NULL"},
	"DELETE FROM player_scores WHERE player_id = 900"},
	{"submit many", MANAGE, NULL,
		{"SELECT lb_submit_many(ARRAY[1, 2, 3, 901], ARRAY[1, 2, 3, 4]) > 0",
		"SELECT lb_submit_many(ARRAY[1, 1, 2], ARRAY[1, 2, 3], 'best', ARRAY['a', 'b', 'c']) >= 0"},
	"DELETE FROM player_scores WHERE player_id = 901"},
	{"submit as text", MANAGE, NULL,
		{"SELECT count(*) > 0 FROM lb_submit_key('3', 5)", "SELECT count(*) > 0 FROM lb_submit_key('900', 5, 'best', 'match 2')",
			"SELECT lb_submit_many_key(ARRAY['1', '1', '901'], ARRAY[1, 2, 3], 'best', ARRAY['d', 'e', 'f']) >= 0",
		"SELECT lb_hide_key('3') > 0", "SELECT lb_show_key('3') > 0"},
	"DELETE FROM player_scores WHERE player_id > 899; SELECT lb_show(3)"},
	{"windows", MANAGE, NULL,
		{"SELECT lb_open_window('hourly') IS NOT NULL", "SELECT count(*) > 0 FROM lb_submit(3, 5)",
		"SELECT lb_count('hourly') >= 0", "SELECT lb_close_window('hourly')"},
	"DO 'BEGIN PERFORM lb_close_window(''hourly''); EXCEPTION WHEN OTHERS THEN NULL; END'"},
	{"limits", MANAGE, NULL,
		{"SELECT lb_set_limit('much', 'global', 1000)", "SELECT count(*) > 0 FROM lb_submit(3, 5)",
		"SELECT lb_drop_limit('much')"},
	"DO 'BEGIN PERFORM lb_drop_limit(''much''); EXCEPTION WHEN OTHERS THEN NULL; END'"},
	{"hide and show", MANAGE, NULL,
		{"SELECT lb_hide(3) > 0", "SELECT count(*) > 0 FROM lb_submit(3, 5)",
		"SELECT count(*) > 0 FROM lb_hidden_player", "SELECT lb_show(3) > 0"},
	"SELECT lb_show(3)"},
	{"a season", MANAGE, NULL,
		{"SELECT lb_close_season('global', 'season ' || clock_timestamp()) > 0",
			"SELECT count(*) >= 0 FROM lb_archive_top('global', 3)",
			"SELECT count(*) >= 0 FROM lb_archive_top_key('global', 3)",
		"SELECT lb_maintain() IS NOT NULL"},
	NULL},
	{"leaderboards", MANAGE, NULL,
		{"SELECT lb_create_leaderboard('kills', windows => '{hourly}')",
			"SELECT count(*) > 0 FROM lb_submit(3, 5, leaderboard => 'kills')",
			"SELECT count(*) > 0 FROM lb_submit_match(3, '{\"global\": 1, \"kills\": 2}', 'm1')",
			"SELECT count(*) > 0 FROM lb_submit_match_key('4', '{\"global\": 1, \"kills\": 2}')",
		"INSERT INTO lb_leaderboard (name) VALUES ('global')", "SELECT lb_drop_leaderboard('kills')"},
	"DO 'BEGIN PERFORM lb_drop_leaderboard(''kills''); EXCEPTION WHEN OTHERS THEN NULL; END'"},
	{"tournaments", MANAGE, NULL,
		{"SELECT lb_open_window('cup:1', starts => '2020-01-01', ends => '9999-01-01')",
			"SELECT lb_set_entry('cup:1', 2, '-1 day')", "SELECT lb_join(3, 'cup:1') IS NOT NULL", "SELECT lb_join_key('4', 'cup:1') IS NOT NULL",
			"SELECT lb_submit_many(ARRAY[1, 2, 3], ARRAY[1, 2, 3]) = 3", "SELECT entrants >= 0 FROM lb_entry_status(3, 'cup:1')",
			"SELECT joined IS NOT NULL FROM lb_entry_status_key('3', 'cup:1')",
			"SELECT lb_leave(3, 'cup:1') IS NOT NULL", "SELECT lb_leave_key('4', 'cup:1') IS NOT NULL",
		"SELECT lb_drop_entry('cup:1')", "SELECT lb_close_window('cup:1')"},
	"DO 'BEGIN PERFORM lb_drop_entry(''cup:1''); EXCEPTION WHEN OTHERS THEN NULL; END'"},
	{"results of each", MANAGE, NULL,
		{"SELECT count(*) > 0 FROM lb_submit_each(ARRAY[1, 2, 902], ARRAY[1, 2, 3])",
			"SELECT count(*) > 0 FROM lb_submit_each_key(ARRAY['1', '2', '902'], ARRAY[1, 2, 3])",
			"SELECT lb_tier(1) IS NOT NULL", "SELECT lb_tier_key('1') IS NOT NULL",
		"SELECT lb_metadata(1) IS NULL", "SELECT lb_metadata_key('1') IS NULL"},
	"DELETE FROM player_scores WHERE player_id = 902"},
	{"forgetting", MANAGE, NULL,
		{"SELECT count(*) >= 0 FROM lb_forget_player(903)", "SELECT count(*) >= 0 FROM lb_forget_player_key('904')"},
	NULL},
	{"rewards", MANAGE, NULL,
		{"SELECT lb_open_window('hourly') IS NOT NULL", "SELECT lb_set_reward('hourly', NULL)", "SELECT lb_close_window('hourly')"},
	"DO 'BEGIN PERFORM lb_close_window(''hourly''); EXCEPTION WHEN OTHERS THEN NULL; END'"},
	{"watching", MANAGE, NULL,
		{"SELECT lb_watch('global', 3)", "SELECT lb_watch_member(3)", "UPDATE player_scores SET score = score + 1",
		"SELECT lb_notify() >= 0", "SELECT lb_unwatch_member(3) IS NOT NULL", "SELECT lb_unwatch('global') IS NOT NULL"},
	"DO 'BEGIN PERFORM lb_unwatch_member(3); PERFORM lb_unwatch(''global''); EXCEPTION WHEN OTHERS THEN NULL; END'"},
	{"watching keys", MANAGE, NULL,
		{"SELECT lb_watch('keyed', 3)", "SELECT lb_watch_member_key(" KEYED_MEMBER(19) ", 'keyed')",
			"UPDATE keyed SET score = 100 - score", "SELECT lb_notify() >= 0",
			"SELECT lb_unwatch_member_key(member, board) FROM lb_watched WHERE member IS NOT NULL",
		"SELECT lb_unwatch('keyed') IS NOT NULL"},
		"DO 'BEGIN PERFORM lb_unwatch_member_key(member, board) FROM lb_watched WHERE member IS NOT NULL;"
	" PERFORM lb_unwatch(''keyed''); EXCEPTION WHEN OTHERS THEN NULL; END'"},
};

#define NSTEPS ((int) (sizeof(steps) / sizeof(steps[0])))

static const char *conninfo = "";
static const char *only = NULL;
static int	every = 1;
static bool verbose = false;
static uint64_t seed = 1;
static PGconn *checker;			/* without failures */
static int64_t failures = 0;	/* calls that have failed */
static int64_t refused[2];		/* writes that did, cold and warm */
static int64_t problems = 0;

static void problem(const char *fmt,...)
			__attribute__((format(printf, 1, 2)));

/* One that leaves the server usable; go on. */
static void
problem(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	printf("not right: ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	if (++problems >= 30)
	{
		printf("%" PRId64 " passed, %" PRId64 " failed\n", failures, problems);
		exit(1);
	}
}

static void
give_up(const char *what, PGconn *c)
{
	printf("FAILED: %s: %s\n%" PRId64 " passed, %" PRId64 " failed\n", what,
		   PQerrorMessage(c), failures, problems + 1);
	exit(1);
}

static PGconn *
connect_session(void)
{
	PGconn	   *c = connect_within(conninfo, "SET client_min_messages = error;"
								   "SET statement_timeout = '10min';"
								   "SET track_functions = 'all';"
								   "SET leaderboard.fault_at = 0", 0);

	if (PQstatus(c) != CONNECTION_OK)
		give_up("could not connect", c);
	return c;
}

/* What must work, as nothing fails. */
static void
must(const char *statements)
{
	PGresult   *res;

	if (statements == NULL)
		return;
	res = PQexec(checker, statements);
	if (!is_ok(res))
		give_up(statements, checker);
	PQclear(res);
}

/* A query's first value, to be freed. */
static char *
ask(const char *query)
{
	PGresult   *res = PQexec(checker, query);
	char	   *value;

	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
		give_up(query, checker);
	value = format("%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	return value;
}

static bool
is_true(const char *query)
{
	char	   *value = ask(query);
	bool		result = strcmp(value, "t") == 0;

	free(value);
	return result;
}

static void
set_up(void)
{
	must("SELECT lb_create_tables()");
	must("ALTER TABLE player_scores ADD metadata jsonb");
	must("CREATE TABLE plain (id bigint PRIMARY KEY, score bigint NOT NULL, at timestamptz NOT NULL);"
		 "INSERT INTO plain SELECT i, i % 9, '2026-01-01' FROM generate_series(1, 60) AS i;"
		 "SELECT lb_create_board('plain', 'plain', 'id', 'score DESC, at ASC');"
		 "CREATE FUNCTION halved(score bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN score / 2; END';"
		 "SELECT lb_create_board('plain_made', 'plain', 'id', '(score / (id + 1)) DESC, halved(score)', ranked_if => 'id % 7 > 0')");
	must("CREATE TABLE fam (id bigint, kind text, score integer NOT NULL, PRIMARY KEY (kind, id));"
		 "INSERT INTO fam SELECT i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i % 7 FROM generate_series(1, 20) AS i;"
		 "SELECT lb_create_board('fam', 'fam', 'id', 'score DESC', 'kind', 'rank')");
	must("CREATE TABLE parts (id integer PRIMARY KEY, score integer) PARTITION BY RANGE (id);"
		 "CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (15);"
		 "CREATE TABLE parts2 PARTITION OF parts DEFAULT;"
		 "INSERT INTO parts SELECT i, i % 5 FROM generate_series(1, 30) AS i WHERE i <> 10;"
		 "SELECT lb_create_board('parts', 'parts', 'id', 'score ASC', NULL, 'dense_rank')");
	must("CREATE TABLE other (id bigint PRIMARY KEY, score bigint);"
		 "INSERT INTO other SELECT i, i % 4 FROM generate_series(1, 20) AS i;"
		 "SELECT lb_create_board('other', 'other', 'id', 'score DESC')");
	must("CREATE TABLE keyed (uid uuid, n integer, name text, score numeric(6,2) NOT NULL, PRIMARY KEY (uid, n, name));"
		 "INSERT INTO keyed SELECT md5((i % 5)::text)::uuid, i % 4, repeat('name ', i), i % 6 / 4.0 FROM generate_series(1, 20) AS i;"
		 "SELECT lb_create_board('keyed', 'keyed', 'uid, n, name', 'score DESC')");
	must("SELECT lb_create_board('plain_counts', 'plain', 'id', keeps => 'counts'),"
		 " lb_create_board('fam_counts', 'fam', board_column => 'kind', method => 'dense_rank', keeps => 'counts'),"
		 " lb_create_board('other_counts', 'other', rank_by => 'score ASC', keeps => 'counts')");
	must("INSERT INTO player_scores SELECT i, i * 7 % 31, '2026-01-01' FROM generate_series(1, 20) AS i;"
		 "SELECT lb_open_window('daily')");
}

/* Every answer about every board is right now. */
static const char *const answers[] = {
	RIGHT_RANKS,
	RIGHT_MADE,
	"SELECT NOT EXISTS (SELECT FROM (SELECT id, kind, rank() OVER (PARTITION BY kind ORDER BY score DESC) AS r"
	" FROM fam) AS s WHERE r IS DISTINCT FROM lb_rank(id, 'fam:' || kind))",
	"SELECT NOT EXISTS (SELECT FROM (SELECT id, dense_rank() OVER (ORDER BY score) AS r FROM parts) AS s"
	" WHERE r IS DISTINCT FROM lb_rank(id, 'parts'))",
	"SELECT NOT EXISTS (SELECT FROM (SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r"
	" FROM player_scores WHERE to_jsonb(player_scores) ->> 'ranked' IS DISTINCT FROM 'false') AS s"
	" WHERE r IS DISTINCT FROM lb_rank(player_id))",
	KEYED_RANKS,
	RIGHT_COUNTS,
	"SELECT lb_count('plain') = (SELECT count(*) FROM plain) AND lb_count('other') = (SELECT count(*) FROM other)"
	" AND lb_count('other_counts') = (SELECT count(*) FROM other) AND lb_count('parts') = (SELECT count(*) FROM parts)"
};

static void
check_answers(const char *after)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
	{
		if (!is_true(answers[i]))
			problem("wrong answers after %s: %s", after, answers[i]);
	}
}

/*
 * The boards become ready by themselves, but for those that believe that shared
 * memory is used up, which want to be told that there is more.
 */
static void
wait_ready(const char *after)
{
	if (!is_true("SELECT lb_wait_ready('5 min')"))
	{
		char	   *reasons = ask("SELECT coalesce(string_agg(board || ' ' || state ||"
								  " coalesce(': ' || reason, ''), ', '), '')"
								  " FROM lb_stat_board WHERE state <> 'ready'"
								  " AND reason IS DISTINCT FROM"
								  " 'the shared memory of leaderboard.memory is used up'");

		if (reasons[0] != '\0')
			problem("boards do not become ready after %s: %s", after, reasons);
		free(reasons);
		must("SELECT lb_rebuild()");
	}
}

static void
check_boards(const char *after)
{
	wait_ready(after);
	if (!is_true("SELECT count(*) = 0 FROM lb_verify_key()"))
		problem("lb_verify() finds something after %s", after);
}

/*
 * One time through the statements.  Returns false if the server is gone.
 */
static bool
run_statements(const Step *step, PGconn *c, const char *title, bool armed,
			   bool warm)
{
	bool		failed = false;

	for (int i = 0; i < MAX_STATEMENTS && step->statements[i] != NULL; i++)
	{
		const char *statement = step->statements[i];
		PGresult   *res;
		ExecStatusType status;

		/* What the other session does in between. */
		if (statement[0] == '@')
		{
			must(statement + 1);
			continue;
		}
		/* A transaction that has failed can only be ended. */
		if (PQtransactionStatus(c) == PQTRANS_INERROR)
		{
			PQclear(PQexec(c, "ROLLBACK"));
			return true;
		}
		res = PQexec(c, statement);
		status = PQresultStatus(res);
		if (PQstatus(c) == CONNECTION_BAD)
		{
			PQclear(res);
			return false;
		}
		if (status == PGRES_TUPLES_OK)
		{
			/* After one that has failed the next are about nothing. */
			if (!failed && PQntuples(res) == 1 && PQnfields(res) == 1 &&
				PQgetvalue(res, 0, 0)[0] == 'f')
				problem("%s: wrong answer: %s", title, statement);
		}
		else if (status != PGRES_COMMAND_OK)
		{
			const char *sqlstate = sqlstate_of(res);

			if (verbose)
				printf("   %s: %s", title, PQresultErrorMessage(res));
			if (!armed || (strcmp(sqlstate, "53200") != 0 && !failed))
				problem("%s: %s: %s", title, statement,
						PQresultErrorMessage(res));
			else if (step->kind == WRITE && !failed)
				refused[warm]++;
			failed = true;
		}
		PQclear(res);
	}
	if (PQtransactionStatus(c) != PQTRANS_IDLE)
		PQclear(PQexec(c, "ROLLBACK"));
	return PQstatus(c) == CONNECTION_OK;
}

/* Returns whether a call has failed. */
static bool
run_step(const Step *step, int at, bool warm)
{
	char	   *title = format("%s, %s, call %d", step->name,
							   warm ? "warm" : "cold", at);
	PGconn	   *c = connect_session();
	PGresult   *res;
	char	   *statement;
	bool		fired;

	must(step->before);
	if (warm)
	{
		(void) run_statements(step, c, title, false, true);
		must(step->after);
		must(step->before);
	}
	statement = format("SET leaderboard.fault_at = %d", at);
	PQclear(PQexec(c, statement));
	free(statement);
	if (!run_statements(step, c, title, true, warm))
		give_up(title, c);
	res = PQexec(c, "SHOW leaderboard.fault_at");
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		give_up("SHOW leaderboard.fault_at", c);
	fired = strcmp(PQgetvalue(res, 0, 0), "0") == 0;
	PQclear(res);

	/* The session goes on. */
	PQclear(PQexec(c, "SET leaderboard.fault_at = 0"));
	PQclear(PQexec(c, "RESET leaderboard.enable_index"));
	PQclear(PQexec(c, "SET leaderboard.enable_planner = off"));
	res = PQexec(c, RIGHT_RANKS);
	if (PQresultStatus(res) != PGRES_TUPLES_OK ||
		PQgetvalue(res, 0, 0)[0] != 't')
		problem("%s: the session's next answer: %s", title,
				PQresultErrorMessage(res));
	PQclear(res);
	PQfinish(c);

	if (!is_true("SELECT count(*) = 0 FROM pg_prepared_xacts"))
		must("COMMIT PREPARED 'faults'");
	check_answers(title);
	must(step->after);
	wait_ready(title);
	if (fired)
		failures++;
	free(title);
	return fired;
}

static void
run_steps(void)
{
	for (int s = 0; s < NSTEPS; s++)
	{
		const Step *step = &steps[s];
		double		start = now();
		int64_t		had = failures;

		if (only != NULL && strcmp(only, step->name) != 0)
			continue;
		for (int warm = 0; warm < 2; warm++)
		{
			int			at = 1 + rnd(every);

			while (at < MAX_CALLS && run_step(step, at, warm))
				at += every;
		}
		check_boards(step->name);
		printf("%-24s %4" PRId64 " calls have failed, %.1f s\n", step->name,
			   failures - had, now() - start);
	}
}

/* How many calls of processes of a type have failed. */
static int
count_failures(const char *type)
{
	char	   *query = format("SELECT count(*) FROM regexp_split_to_table("
							   "coalesce(pg_read_file('leaderboard.faults', 0, 1000000000, true), ''),"
							   " '\n') AS line WHERE starts_with(line, '%s:')",
							   type);
	char	   *value = ask(query);
	int			n = atoi(value);

	free(value);
	free(query);
	return n;
}

/* Gives a process something to do. */
static void
disturb_boards(void)
{
	PQclear(PQexec(checker, "SELECT lb_rebuild('plain')"));
	PQclear(PQexec(checker, "SELECT lb_rebuild('parts')"));
	must("UPDATE plain SET score = score + 1 WHERE id < 7;"
		 "UPDATE player_scores SET score = score + 1 WHERE player_id < 9;"
		 "UPDATE other SET score = score + 1;"
		 "CREATE TABLE made (id bigint PRIMARY KEY, score integer);"
		 "SELECT lb_create_board('made', 'made', 'id', 'score DESC')");
	must("SELECT lb_wait_ready('1 s')");
	must("DROP TABLE made");
}

/*
 * A process that starts, or that reads its settings again, has its at-th call
 * fail.  Until many in a row come to no end.
 */
static void
__attribute__((format(printf, 2, 0)))
run_processes(const char *type, const char *set, const char *reset, int step)
{
	double		start = now();
	int			before = count_failures(type);
	int			had = before;
	int			missed = 0;

	for (int at = 1 + rnd(step); missed < 5; at += step)
	{
		char	   *statement = format(set, at);
		char	   *title = format("%s, call %d", type, at);
		int			n;

		must(statement);
		must("SELECT pg_reload_conf()");
		disturb_boards();
		must(reset);
		must("SELECT pg_reload_conf()");
		check_answers(title);
		check_boards(title);
		n = count_failures(type);
		missed = n == had ? missed + 1 : 0;
		had = n;
		free(statement);
		free(title);
	}
	failures += had - before;
	printf("%-24s %4d calls have failed, %.1f s\n", type, had - before,
		   now() - start);
}

/*
 * The scenario has called every function of the extension, in one of the signatures
 * that are one function in C.  Calls of the planner's support functions are not
 * counted, and those for tables that Citus distributes, or of a server that follows
 * another one, cannot be made.
 */
static void
check_touched(void)
{
	static const char query[] =
		"SELECT coalesce(string_agg(p.proname, ', '), '') FROM pg_proc AS p"
		" JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid"
		" AND d.deptype = 'e'"
		" JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass"
		" AND d.refobjid = e.oid AND e.extname = 'leaderboard'"
		" WHERE NOT EXISTS (SELECT FROM pg_stat_user_functions AS f"
		" JOIN pg_proc AS c ON c.oid = f.funcid"
		" WHERE c.oid = p.oid OR (c.prosrc = p.prosrc AND c.probin = p.probin))"
		" AND NOT EXISTS (SELECT FROM pg_proc AS s WHERE s.prosupport = p.oid)"
		" AND p.proname <> ALL ('{lb_shard_submit, lb_shard_submit_many, lb_shard_set_ranked, lb_shard_forget, lb_record_board, lb_unrecord_board, lb_record_settings, lb_record_closed, lb_shard_windows, lb_wait_for}')";
	char	   *missing;

	must("SELECT pg_stat_force_next_flush()");
	missing = ask(query);
	if (missing[0] != '\0')
		problem("the scenario does not call %s", missing);
	free(missing);
}

/*
 * Without boards there is nothing left of what they had in shared memory, but for
 * their definitions: these are kept for others, 2 kB each.  There are 14 at once
 * here, and one more for each board that is dropped while a build of it still runs.
 */
static void
check_given_back(void)
{
	static const char used[] =
		"SELECT coalesce(sum(used), 0) % 2048 = 0"
		" AND coalesce(sum(used), 0) <= 18 * 2048 FROM lb_stat_memory"
		" WHERE datname = current_database()";
	double		end = now() + 60;

	must("DROP TABLE plain, fam, parts, other, keyed, player_scores,"
		 " player_score_windows CASCADE");
	while (!is_true(used) && now() < end)
		usleep(100000);
	if (!is_true(used))
	{
		char	   *bytes = ask("SELECT used::text FROM lb_stat_memory"
								" WHERE datname = current_database()");

		problem("without boards %s bytes of shared memory are still taken",
				bytes);
		free(bytes);
	}
}

int
main(int argc, char **argv)
{
	int			opt;
	char	   *value;

	while ((opt = getopt(argc, argv, "d:e:o:s:v")) != -1)
	{
		switch (opt)
		{
			case 'd':
				conninfo = optarg;
				break;
			case 'e':
				every = atoi(optarg);
				break;
			case 'o':
				only = optarg;
				break;
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			case 'v':
				verbose = true;
				break;
			default:
				every = 0;
				break;
		}
	}
	if (every < 1 || optind < argc)
	{
		fprintf(stderr, "usage: faults -d conninfo [-e every] [-s seed]"
				" [-o step] [-v]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	random_state = seed;
	printf("seed %" PRIu64 "\n", seed);
	checker = connect_session();
	value = ask("SELECT count(*) FROM pg_settings WHERE name = 'leaderboard.fault_at'");
	if (strcmp(value, "1") != 0)
		give_up("the server's library is not built with LB_FAULTS", checker);
	free(value);

	set_up();
	check_boards("the start");
	run_steps();
	if (only == NULL || strcmp(only, "processes") == 0)
	{
		char	   *database = format("%s", PQdb(checker));
		char	   *set = format("ALTER DATABASE %s SET leaderboard.fault_at = %%d", database);
		char	   *reset = format("ALTER DATABASE %s RESET leaderboard.fault_at", database);

		run_processes("leaderboard worker", set, reset, every);
		free(set);
		free(reset);
		free(database);
	}
	if (only == NULL)
		check_touched();
	check_given_back();
	printf("%" PRId64 " writes have failed in new sessions, %" PRId64
		   " in others\n", refused[0], refused[1]);

	printf("%" PRId64 " passed, %" PRId64 " failed\n", failures, problems);
	return problems > 0;
}
