/*-------------------------------------------------------------------------
 *
 * plans.c
 *	  Comparisons of a query in four ways: without boards, and by a board's index,
 *	  or a node's other plan.
 *
 * A comparison is a statement that calls a function of test/lib/plans.sql, which runs
 * the query in all ways and judges the answers.  So all have the statement's snapshot,
 * and in READ COMMITTED others write meanwhile.  Prepared statements and EXPLAIN need
 * a snapshot that lasts, or a lock that keeps the others from writing.
 *
 * Boards must answer: each form that the planner recognizes is asked for again at the
 * end, when all is quiet, until a board has answered it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "plans.h"

#define MAX_KEPT 4

/* Queries of each connection whose prepared statements are used again later. */
static Question kept[MAX_CONNECTIONS][MAX_KEPT];

void
forget_questions(void)
{
	for (int c = 0; c < MAX_CONNECTIONS; c++)
	{
		for (int i = 0; i < MAX_KEPT; i++)
			free_question(&kept[c][i]);
	}
}

/* Settings of the planner that a comparison turns off. */
static const char *
any_settings(void)
{
	static const char *const settings[] = {
		"enable_hashjoin", "enable_mergejoin", "enable_nestloop",
		"enable_memoize", "enable_material", "enable_indexscan",
		"enable_bitmapscan", "enable_hashagg", "enable_incremental_sort",
		"enable_hashjoin,enable_nestloop", "enable_hashjoin,enable_nestloop"
	};

	/* Small tables are better sorted, so that a board would not be used. */
	return keep(format("'{%s%s%s}'",
					   percent(80) ? "enable_seqscan,enable_sort," : "",
					   percent(30) ? keep(format("%s,", ANY(settings))) : "",
					   "enable_partition_pruning"));
}

/* An array of texts. */
static void
put_array(FILE *f, char *const *texts, int n)
{
	fputs("ARRAY[", f);
	for (int i = 0; i < n; i++)
	{
		char	   *text = literal(texts[i]);

		fprintf(f, "%s%s", i > 0 ? ", " : "", text);
		free(text);
	}
	fputs("]::text[]", f);
}

static void
put_text_or_null(FILE *f, const char *text)
{
	char	   *quoted = text == NULL ? format("NULL") : literal(text);

	fputs(quoted, f);
	free(quoted);
}

static char *
four_ways(const Question *q, const char *manner, const char *mode, bool explain)
{
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	if (f == NULL)
		out_of_memory();
	fputs(PLAN_COMPARISON "four_ways(", f);
	put_text_or_null(f, q->query);
	fputs(", ", f);
	put_text_or_null(f, q->everything);
	fprintf(f, ", %s, ", q->ordered ? "true" : "false");
	put_array(f, q->params, q->nparams);
	fputs(", ", f);
	put_array(f, q->types, q->nparams);
	fprintf(f, ", '%s', '%s', %s, %s)", manner, mode, any_settings(),
			explain ? "true" : "false");
	fclose(f);
	return text;
}

/* Whether the node that a form is for has answered by the index. */
static bool
answered_by_index(const Form *form, const char *answered)
{
	char	   *wanted = format("%s index", form->node == NULL ? "" : form->node);
	bool		found = strstr(answered, wanted) != NULL;

	free(wanted);
	return found;
}

/* Run a comparison.  Returns false after an expected error. */
static bool
run_comparison(const Question *q, const char *statement)
{
	PGresult   *res = run_copy(statement, NULL);
	int			form = q->form - forms;

	if (res == NULL)
		return false;
	for (int i = 0; i < PQntuples(res); i++)
	{
		const char *answered = PQgetvalue(res, i, 3);

		if (PQgetisnull(res, i, 3))
			continue;
		result.forms[form].asked++;
		if (answered[0] != '\0')
			result.forms[form].planned++;
		if (answered_by_index(q->form, answered))
			result.forms[form].answered++;
	}
	result.plans += PQntuples(res);
	compare_rows(res, statement);
	PQclear(res);
	return true;
}

static bool
ask(const Question *q, bool steady, bool explain)
{
	static const char *const manners[] = {"loop", "wrapped", "wrapped", "scroll"};
	static const char *const modes[] = {
		"force_generic_plan", "force_custom_plan", "auto"
	};
	char	   *statement = four_ways(q, q->form->writes ? "undone" :
									  steady && percent(40) ? "prepared" :
									  ANY(manners), ANY(modes), explain);
	bool		ok = run_comparison(q, statement);

	free(statement);
	return ok;
}

bool
compare_plans(const Table *t, int n, bool steady)
{
	while (n-- > 0)
	{
		Question   *q = &kept[me][rnd(MAX_KEPT)];

		if (q->table != t || !steady || percent(70))
		{
			do
			{
				free_question(q);
				make_question(q, &forms[rnd(nforms)], t);
			} while (q->form->writes && (!steady || on_standby));
		}

		/*
		 * What a statement writes is undone, and its locks are released with
		 * that. The old snapshot would see no row after another session's
		 * TRUNCATE.
		 */
		if (q->form->writes &&
			!run_free(format("LOCK TABLE %s IN ACCESS SHARE MODE", t->name)))
			return false;
		if (!ask(q, steady, steady && percent(40)))
			return false;
	}
	return true;
}


/* ----------------------------------------------------------------
 *		Cursors
 * ----------------------------------------------------------------
 */

/* Open cursors for all ways of a query. */
static bool
open_cursors(const Question *q, const char *function)
{
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	if (f == NULL)
		out_of_memory();
	fprintf(f, "SELECT lbt.%s(lbt.with_params(", function);
	put_text_or_null(f, q->query);
	fputs(", ", f);
	put_array(f, q->params, q->nparams);
	fputs("), lbt.with_params(", f);
	put_text_or_null(f, q->everything);
	fputs(", ", f);
	put_array(f, q->params, q->nparams);
	fprintf(f, "), %s, %d)", any_settings(),
			percent(50) ? 0 : rnd(percent(50) ? 8 : members));
	fclose(f);
	return run_free(text);
}

/* Read them, and compare. */
static bool
read_cursors(const Question *q)
{
	char	   *text = literal(q->query);
	char	   *statement = format(PLAN_COMPARISON "read_ways(%s, %s, %s)", text,
								   q->everything != NULL ? "true" : "false",
								   q->ordered ? "true" : "false");
	bool		ok = run_comparison(q, statement);

	free(text);
	free(statement);
	return ok;
}

/* An error would be in the cursor, or in the reading. */
static void
make_cursor_question(Question *q, const Table *t)
{
	do
	{
		free_question(q);
		make_question(q, &forms[rnd(nforms)], t);
	} while (q->form->writes ||
			 strstr(q->query, "percentile_disc") != NULL);
}

bool
compare_plans_through_cursors(const Table *t)
{
	Question	q = {0};

	make_cursor_question(&q, t);
	if (open_cursors(&q, "open_ways") && do_meanwhile(t) &&
		(!percent(50) || do_meanwhile(t)))
		read_cursors(&q);
	free_question(&q);
	return !tx_failed;
}

void
compare_plans_through_held_cursors(const Table *t)
{
	Question	q = {0};

	make_cursor_question(&q, t);
	if (open_cursors(&q, "hold_ways") && (!percent(60) || do_meanwhile(t)) &&
		run("COMMIT"))
	{
		result.committed++;
		if (percent(50))
			do_meanwhile(t);
		tx_failed = false;
		read_cursors(&q);
	}
	else
	{
		tx_failed = false;
		run("ROLLBACK");
		result.rolled_back++;
	}
	free_question(&q);
	tx_failed = false;
}


/* ----------------------------------------------------------------
 *		Which forms boards have answered
 * ----------------------------------------------------------------
 */

/* Queries of a form that may be asked for until one is answered by a board. */
#define MAX_QUERIES 500

/*
 * Whether all rows of a table are on one board, whatever they are, have its order by their
 * columns' own collations, and are in its index.  An expression may be null.
 */
static bool
is_bare(const Table *t)
{
	for (int i = 0; i < key_columns(t); i++)
	{
		if (!key_column(t, i)->type->by_bytes)
			return false;
	}
	return t->strict && !t->flagged && t->values == NULL && !t->counts &&
		t->written == t;
}

/* A table of whose boards one could answer a query of a form; or NULL. */
static const Table *
table_for(const Form *form)
{
	bool		possible = form->node != NULL && !form->bare;

	for (int i = 0; i < ntables; i++)
		possible |= form->node != NULL && is_bare(&tables[i]);
	while (possible)
	{
		const Table *t = &tables[rnd(ntables)];

		if (!form->bare || is_bare(t))
			return t;
	}
	return NULL;
}

/* Ask until a board has answered: of that table, or of any. */
static void
check_form(const Form *form, const Table *table)
{
	int64_t		before = result.forms[form - forms].answered;

	if (table_for(form) == NULL || (form->writes && on_standby))
		return;
	for (int i = 0; i < MAX_QUERIES; i++)
	{
		Question	q;

		make_question(&q, form, table != NULL ? table : table_for(form));
		if (!ask(&q, true, true))
			fail("%s\n%s", q.query, PQerrorMessage(conn));
		free_question(&q);
		if (result.forms[form - forms].answered > before)
			return;
	}
	result.failed++;
	fail("no board%s%s has answered one of %d queries of the form \"%s\"",
		 table != NULL ? " as " : "", table != NULL ? table->board : "",
		 MAX_QUERIES, form->name);
}

static void
check_some_forms(void)
{
	for (int i = 0; i < nforms; i++)
	{
		if (!forms[i].writes && take_next())
			check_form(&forms[i], NULL);
	}

	/* Plain SQL by a board's stored columns is not what it is of. */
	for (int i = 0; i < ntables; i++)
	{
		if (!tables[i].score.hidden && take_next())
			check_form(&forms[0], &tables[i]);
	}
}

void
check_forms(void)
{
	share_out(check_some_forms);
	/* Two of these at once could wait for each other. */
	for (int i = 0; i < nforms; i++)
	{
		if (forms[i].writes)
			check_form(&forms[i], NULL);
	}
}

/* A question by text, prepared. */
static void
ask_prepared(const char *query)
{
	Question	q = {.form = &forms[0],.query = (char *) query,.ordered = true};
	char	   *statement = four_ways(&q, "prepared", "force_generic_plan", false);

	if (!run_comparison(&q, statement))
		fail("%s\n%s", query, PQerrorMessage(conn));
	free(statement);
}

void
check_stale_plans(void)
{
	static const char *const orders[] = {"score DESC, at", "at, score DESC"};
	static const char *const queries[] = {
		"SELECT count(*), min(p.score), rank(2) WITHIN GROUP (ORDER BY p.score DESC) FROM o_stale AS p WHERE p.score > 3",
		"SELECT p.* FROM o_stale AS p ORDER BY p.score DESC, p.at, p.id LIMIT 5 OFFSET 20"
	};

	run("CREATE TABLE o_stale (id bigint PRIMARY KEY, score bigint NOT NULL, at bigint NOT NULL)");
	run("INSERT INTO o_stale SELECT i, i % 7, i % 11 FROM generate_series(1, 200) AS i");
	run_free(format("SELECT lb_create_board('stale', 'o_stale', 'id', '%s')",
					orders[0]));
	for (int i = 0; i < 4; i++)
	{
		run("SELECT lb_wait_ready('5 min')");
		for (int q = 0; q < LENGTH(queries); q++)
			ask_prepared(queries[q]);
		run_free(format("UPDATE lb_board SET rank_by = '%s' WHERE board = 'stale'",
						orders[(i + 1) % LENGTH(orders)]));
		run("SELECT lb_rebuild('stale')");
	}
	run("SELECT lb_drop_board('stale')");
	run("DROP TABLE o_stale");
}

void
print_forms(void)
{
	printf("form: queries, of which were planned with a board, and answered by its index\n");
	for (int i = 0; i < nforms; i++)
		printf("%s: %" PRId64 ", %" PRId64 ", %" PRId64 "\n", forms[i].name,
			   result.forms[i].asked, result.forms[i].planned,
			   result.forms[i].answered);
}
