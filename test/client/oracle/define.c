/*-------------------------------------------------------------------------
 *
 * define.c
 *	  DDL of boards and tables, on the primary of a standby that compares.
 *
 * One process drops, makes and alters the tables of changing[] and their boards, and
 * writes to them.  No other process of the primary uses them.  A board is always made
 * with the same definition, so that its functions' queries are known.  The board of
 * a table that is marked as redefined changes its definition.  Only plain SQL is
 * compared there, which does not depend on it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "oracle.h"

static const char *const turn_kinds[] = {
	"A", "B", "", "x:y", "Gr\303\266\303\237e", "\"q\\, (", "never", NULL
};

Table		changing[] = {
	{
		.name = "o_change",
		.create = "CREATE TABLE o_change (large boolean, points bigint,"
		" id integer UNIQUE, day date, kind text, fine boolean)",
		.board = "change",
		.method = "rank",
		.members = {{.name = "id",.type_name = "integer"}},
		.nmembers = 1,
		.score = {.name = "points",.type_name = "bigint",.descending = true},
		.ties = {{.name = "day",.type_name = "date"}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.flagged = true,
	},
	{
		.name = "o_turn",
		.create = "CREATE TABLE o_turn (player bigint, kind text,"
		" score integer, at timestamp, large boolean, fine boolean,"
		" UNIQUE (kind, player))",
		.board = "turn",
		.method = "row_number",
		.members = {{.name = "player",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "integer"},
		.ties = {{.name = "at",.type_name = "timestamp",.descending = true}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.values = turn_kinds,
	},
	{
		.name = "o_redefined",
		.create = "CREATE TABLE o_redefined (id bigint UNIQUE, score bigint,"
		" at timestamp, kind text, large boolean, fine boolean)",
		.board = "redefined",
		.method = "row_number",
		.members = {{.name = "id",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "bigint",.descending = true},
		.ties = {{.name = "at",.type_name = "timestamp"}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.redefined = true,
	},
};
const int	nchanging = LENGTH(changing);

/* Whether a query returns true; false after an expected error. */
static bool
is_true(char *query)
{
	PGresult   *res = run_copy(query, NULL);
	bool		found = res != NULL && PQgetvalue(res, 0, 0)[0] == 't';

	PQclear(res);
	free(query);
	return found;
}

static bool
drop_board(const Table *t)
{
	return run_free(format("SELECT lb_drop_board('%s')", t->board));
}

/* Another order, and another method, by any of which the plain SQL may be answered. */
static void
redefine(const Table *t)
{
	static const char *const orders[] = {
		"score DESC, at", "at, score DESC", "score DESC", "score, at DESC"
	};
	static const char *const methods[] = {"row_number", "rank", "dense_rank"};

	run_free(format("UPDATE lb_board SET rank_by = '%s', method = '%s'"
					" WHERE board = '%s'", ANY(orders), ANY(methods), t->board));
}

static void
write_some(const Table *t)
{
	run("BEGIN");
	for (int n = 1 + rnd(6); n > 0 && !tx_failed; n--)
		run_free(a_write(t));
	end_transaction(85);
}

/* Drop the board, or make it; or both in one transaction. */
static void
drop_or_make_board(const Table *t, bool has_board)
{
	run("BEGIN");
	if (!has_board)
		make_board(t);
	else if (drop_board(t) && percent(50))
		make_board(t);
	end_transaction(85);
}

/* The table, mostly with its board. */
static void
make_again(const Table *t)
{
	run("BEGIN");
	if (make_table(t) && do_fill(t) && percent(85))
		make_board(t);
	end_transaction(90);
}

/* What rewrites the table, or makes it anew. */
static void
rewrite(const Table *t, bool has_board)
{
	switch (rnd(4))
	{
		case 0:
			run_free(format("VACUUM FULL %s", t->name));
			return;
		case 1:
			if (has_board)
				run_free(format("SELECT lb_rebuild('%s')", t->board));
			return;
		case 2:
			run("BEGIN");
			if (run_free(format("TRUNCATE %s", t->name)) && percent(50))
				do_fill(t);
			end_transaction(75);
			return;
		default:
			run("BEGIN");
			if ((!has_board || drop_board(t)) &&
				run_free(format("DROP TABLE %s", t->name)) && percent(30))
			{
				if (make_table(t) && do_fill(t))
					make_board(t);
			}
			end_transaction(75);
			return;
	}
}

static void
define_one(const Table *t)
{
	int			n = rnd(100);
	bool		has_board;

	tx_failed = false;
	if (!is_true(format("SELECT to_regclass('%s') IS NOT NULL", t->name)))
	{
		if (!tx_failed)
			make_again(t);
		return;
	}
	has_board = is_true(format("SELECT EXISTS (SELECT FROM lb_board WHERE board = '%s')",
							   t->board));
	if (tx_failed)
		return;
	if (n < 50)
		write_some(t);
	else if (n < 60)
		run_free(percent(50) ? format("DELETE FROM %s", t->name) :
				 format("DELETE FROM %s WHERE kind = 'A'", t->name));
	else if (n < 70)
		do_fill(t);
	else if (t->redefined && has_board && n < 85)
		redefine(t);
	else if (n < 90)
		drop_or_make_board(t, has_board);
	else
		rewrite(t, has_board);
}

void
define(void)
{
	for (;;)
	{
		define_one(&changing[rnd(nchanging)]);
		if (lost)
			connect_again();
		/* Each makes all sessions read the definitions again. */
		usleep(rnd(60000));
	}
}
