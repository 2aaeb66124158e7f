/*-------------------------------------------------------------------------
 *
 * database.c
 *	  The tables at the start, and the checks at the end.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"
#include "plans.h"

static void
drop_all(void)
{
	for (int i = 0; i < ntables; i++)
		run_free(format("SELECT lb_drop_board(board) FROM lb_board"
						" WHERE board = '%s'", tables[i].board));
	for (int i = 0; i < nchanging; i++)
		run_free(format("SELECT lb_drop_board(board) FROM lb_board WHERE board = '%s';"
						" DROP TABLE IF EXISTS %s", changing[i].board,
						changing[i].name));
	run("SELECT lb_drop_board(board) FROM lb_board WHERE board = 'stale'");
	run("DROP TABLE IF EXISTS o_stale");
	run("SELECT lb_drop_leaderboard(name) FROM lb_leaderboard WHERE name <> 'global'");
	/* A rule of lbt.act... may name it. */
	for (int i = 0; i < ntables; i++)
		run_free(format("DROP TABLE IF EXISTS %s CASCADE", tables[i].name));
	drop_functions();
}

void
end_prepared(void)
{
	PGresult   *res = run_copy("SELECT gid FROM pg_prepared_xacts"
							   " WHERE database = current_database()"
							   " AND starts_with(gid, 'oracle ')", NULL);

	for (int i = 0; i < PQntuples(res); i++)
		run_free(format("ROLLBACK PREPARED '%s'", PQgetvalue(res, i, 0)));
	PQclear(res);
}

void
set_up(void)
{
	char	   *value;

	value = run_value("SHOW max_prepared_transactions");
	can_prepare = atoi(value) >= nprocesses();
	free(value);

	forget_questions();

	/* An earlier run that did not reach its end may have left some. */
	end_prepared();
	for (int i = 0; i < ntables && long_texts; i++)
		delete_long_texts(&tables[i]);

	choose_tables();
	drop_all();
	make_functions();

	/*
	 * Boards come last: they would be built again after each of these
	 * changes.
	 */
	for (int i = 0; i < ntables; i++)
	{
		const Table *t = &tables[i];

		make_table(t);
		make_index(t);
		/* When an autovacuum worker visits a table must make no difference. */
		if (scheduled && !partitioned)
			run_free(format("ALTER TABLE %s SET (autovacuum_enabled = off)",
							t->name));
	}
	for (int i = 0; i < ntables; i++)
	{
		const Table *t = &tables[i];

		/* Some start with rows in the table, some without. */
		if (i % 2 == 0)
			do_fill(t);
		make_board(t);
		do_fill(t);
	}
	/* For comparisons in rules: compare_in_rule(). */
	for (int i = 0; i < nprocesses(); i++)
		run_free(format("CREATE TABLE IF NOT EXISTS lbt.act%d ();"
						" CREATE TABLE IF NOT EXISTS lbt.seen%d"
						" (call text, got text, want text, answered text);"
						" TRUNCATE lbt.seen%d", i, i, i));
	for (int i = 0; i < nchanging && standby_conninfo != NULL; i++)
	{
		make_table(&changing[i]);
		do_fill(&changing[i]);
		make_board(&changing[i]);
	}
	/* The scheduled mode makes its tables often. */
	if (!scheduled)
		run("SELECT lb_create_leaderboard('omatch'), lb_create_leaderboard('olap', 'best', 'asc')");
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

/* Whether some reads of a board run their queries: a column of rank_by can have -0. */
static bool
may_ask(const Table *t)
{
	bool		asks = t->score.type->asks;

	for (int i = 0; i < t->nties && !t->ties_unranked; i++)
		asks = asks || t->ties[i].type->asks;
	return asks;
}

/*
 * If queries ran instead of the index, the comparisons have proved nothing.
 * What counts cannot tell is by the query.
 */
void
check_index_was_used(void)
{
	for (int i = 0; i < ntables; i++)
	{
		char	   *statement;
		char	   *value;

		/*
		 * An expression can be too long where its columns are not.  What a
		 * report shows must say which counter it is.
		 */
		statement = format("SELECT CASE WHEN coalesce(sum(index_reads%s), 0) > 0 AND"
						   " (%s OR coalesce(sum(query_reads - query_counts%s), 0) = 0)"
						   " THEN 't' ELSE string_agg(to_jsonb(s)::text, ', ')"
						   " FILTER (WHERE index_reads = 0 OR query_reads > query_counts) END"
						   " FROM lb_stat_board AS s WHERE board = '%s'"
						   " OR starts_with(board, '%s:')",
						   long_texts ? " + query_limit" : "",
						   may_ask(&tables[i]) ? "true" : "false",
						   long_texts ? " - query_limit" : "",
						   tables[i].board, tables[i].board);
		value = run_value(statement);
		if (strcmp(value, "t") != 0)
		{
			print_statistics();
			fail("when all was quiet not every read of board \"%s\" used the index: %s",
				 tables[i].board, value);
		}
		free(value);
		free(statement);
	}
}

void
add_result(Result *sum, const Result *part)
{
	sum->committed += part->committed;
	sum->rolled_back += part->rolled_back;
	sum->errors += part->errors;
	sum->lost += part->lost;
	sum->passed += part->passed;
	sum->plans += part->plans;
	sum->conflicts += part->conflicts;
	sum->absent += part->absent;
	sum->promoted += part->promoted;
	for (int i = 0; i < MAX_FORMS; i++)
	{
		sum->forms[i].asked += part->forms[i].asked;
		sum->forms[i].planned += part->forms[i].planned;
		sum->forms[i].answered += part->forms[i].answered;
	}
}

void
print_result(void)
{
	printf("%" PRId64 " committed, %" PRId64 " rolled back, %" PRId64
		   " expected errors, %" PRId64 " connections lost, %" PRId64
		   " comparisons, of which %" PRId64 " of plans\n",
		   result.committed, result.rolled_back, result.errors, result.lost,
		   result.passed, result.plans);
}

/* Reads by index and by query of boards that exist, added up by gather_share(). */
static int64_t index_reads;
static int64_t query_reads;

void
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

void
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

void
wait_for_backends(PGconn *c)
{
	double		end = now() + PATIENCE;

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

		/* A killed backend takes all connections with it. */
		if (PQstatus(c) == CONNECTION_BAD)
			PQreset(c);
		usleep(1000);
	}
}

char *
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

void
check_wrong_index(PGconn *c)
{
	char	   *found = find_wrong_index(c);

	if (found == NULL)
		return;
	result.failed++;
	strcpy(failure_kind, "offline");
	fail("%s", found);
}

bool
delete_long_texts(const Table *t)
{
	const char *bytes = NULL;

	for (int c = 0; c < t->nmembers + t->nties; c++)
	{
		const Column *column = c < t->nmembers ? &t->members[c] :
			&t->ties[c - t->nmembers];

		if (!column->type->is_text)
			continue;
		if (!run_free(format("DELETE FROM %s WHERE octet_length(%s) > 512",
							 t->name, column_of(NULL, column))))
			return false;
		bytes = keep(format("%s%scoalesce(octet_length(%s), 0)",
							bytes == NULL ? "" : bytes,
							bytes == NULL ? "" : " + ",
							column_of(NULL, column)));
	}

	/* Several can be too long together. */
	return bytes == NULL ||
		run_free(format("DELETE FROM %s WHERE %s > 900", t->name, bytes));
}

/* How long the last build of each board took: that tells builds apart. */
static char *
last_builds(void)
{
	return run_value("SELECT string_agg(board || ' ' || build_seconds, ', ' ORDER BY board)"
					 " FROM lb_stat_board");
}

/* Wait until no worker is there: one that has installed a board has yet to commit. */
static void
wait_for_workers(void)
{
	double		end = now() + PATIENCE;
	char	   *value = NULL;

	do
	{
		if (value != NULL)
			usleep(10000);
		if (now() > end)
			fail("workers of boards do not leave: %s", value);
		free(value);
		value = run_value("SELECT count(*) FROM pg_stat_activity"
						  " WHERE backend_type = 'leaderboard worker'");
	} while (strcmp(value, "0") != 0);
	free(value);
}

/*
 * Compare while no board is built.  lb_rebuild() without a launcher leaves a request,
 * which the next launcher meets some seconds later, while the old index serves.  A
 * statement that began before the new index cannot use it, so begin again then.
 */
void
compare_between_builds(void)
{
	bool		same = false;

	for (int tries = 0; !same && tries < 10; tries++)
	{
		char	   *before;
		char	   *after;

		wait_for_workers();
		before = last_builds();

		run("SELECT lb_stat_reset()");
		compare_all();
		wait_for_workers();
		after = last_builds();
		same = strcmp(before, after) == 0;
		if (!same)
			printf("boards were built meanwhile: comparing again\n");
		free(before);
		free(after);
	}
	if (!same)
		fail("boards are built again and again, though nothing changes");
}

void
check_verified(const PGresult *res)
{
	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) > 0)
	{
		result.failed++;
		strcpy(failure_kind, "verify");
		fail("lb_verify() returns %d rows, the first: %s, %s, %s%s",
			 PQntuples(res), PQgetvalue(res, 0, 0), PQgetvalue(res, 0, 1),
			 PQgetvalue(res, 0, 2), PQresultErrorMessage(res));
	}
	result.passed++;
}

/* Delete the rows of do_large(), of all tables or those of many boards. */
static void
delete_large(bool all)
{
	for (int i = 0; i < ntables; i++)
	{
		if (all || tables[i].written != &tables[i])
			run_free(format("DELETE FROM %s WHERE large", tables[i].name));
	}
}

void
final_comparison(void)
{
	PGresult   *res;
	char	   *waiting;

	/* What fails from here on needs none of the steps. */
	scheduled = false;
	end_prepared();

	/* Tables with many boards would take long with many rows. */
	delete_large(false);
	waiting = wait_ready();
	if (waiting != NULL)
	{
		print_statistics();
		fail("%s", waiting);
	}
	print_statistics();
	compare_between_builds();
	check_index_was_used();
	check_forms();
	check_stale_plans();
	print_forms();
	res = run_copy("SELECT board, member, problem FROM lb_verify_key()", NULL);
	check_verified(res);
	PQclear(res);

	/* So would all tables without the index. */
	delete_large(true);
	compare_by_query();
	check_wrong_index(conn);

	drop_all();
}
