/*-------------------------------------------------------------------------
 *
 * expressions.c
 *	  Boards made of expressions and conditions.
 *
 * Beside most of them there is a board of stored generated columns with the same
 * expressions.  A function of either board is compared with a query by the one or
 * by the other, so the two are compared with each other.  Plain SQL has the
 * expressions or the columns.
 *
 * Statements write the columns that the expressions are over.  No value of these makes
 * an expression raise an error.
 *
 * While others read, functions of expressions are replaced and columns are renamed.
 * Sessions read a table by no function that another one is about to replace: the lock
 * on the table keeps them from it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "oracle.h"

/* An expression, and its type. */
typedef struct Choice
{
	const char *expression;
	const char *type_name;
	const char *const *values;	/* of a board column */
	const char *column;			/* it is one, instead of an expression */
} Choice;

/* Of a score that is an integer of any type, and a flag: all tables here have these. */
static const Choice scores[] = {
	{.expression = "(({}score % 1000 / 3)::bigint)",.type_name = "bigint"},
	{.expression = "(({}score % 100)::integer * 5 - 7)",.type_name = "integer"},
	{.expression = "(CASE WHEN {}score > 7 THEN 7 WHEN {}fine THEN ({}score % 5)::integer END)",
	.type_name = "integer"},
	{.expression = "((({}score % 100000)::numeric / 7)::numeric(12,2))",
	.type_name = "numeric(12,2)"},
	{.expression = "(({}score % 977)::double precision / 8)",
	.type_name = "double precision"},
	{.expression = "o_step({}score)",.type_name = "bigint"},
	{.expression = "({}score % 3 = 0)",.type_name = "boolean"},
	{.expression = "(date '2000-01-01' + ({}score % 30)::integer)",
	.type_name = "date"},
	{.expression = "((coalesce({}score, -1) % 40)::bigint)",.type_name = "bigint"},
	{.expression = "(nullif({}score, 4)::bigint)",.type_name = "bigint"},
	{.expression = "(({}score % 100)::lbt.level)",.type_name = "lbt.level"},
	{.expression = "({}score::double precision)",.type_name = "double precision"},
	{.expression = "(({}score % 977)::real)",.type_name = "real"},
	{.expression = "(timestamp '2000-01-01' + ({}score % 100) * interval '1 hour')",
	.type_name = "timestamp"},
};

/* And of the other columns of o_expr. */
static const Choice more_scores[] = {
	{.expression = "({}score / (abs({}games % 50) + 1))",.type_name = "bigint"},
	{.expression = "(({}score % 1000)::integer + {}games % 7)",.type_name = "integer"},
	{.expression = "length({}name)",.type_name = "integer"},
	{.expression = "(greatest({}score % 9, {}games % 9)::smallint)",.type_name = "smallint"},
	{.expression = "(({}games % 10 * 0.1)::numeric(18,18))",.type_name = "numeric(18,18)"},
	{.expression = "(time '12:00' + ({}games % 10) * interval '1 hour')",.type_name = "time"},
};

static const Choice ties[] = {
	{.expression = "(({}score % 2)::integer)",.type_name = "integer"},
	{.expression = "({}fine IS NOT TRUE)",.type_name = "boolean"},
};

static const Choice more_ties[] = {
	{.expression = "lower({}name)",.type_name = "text"},
	{.expression = "substr({}name, 2)",.type_name = "text"},
	{.expression = "(({}games % 100)::numeric(12,2))",.type_name = "numeric(12,2)"},
	{.expression = "({}games % 3)",.type_name = "integer"},
	{.expression = "(CASE WHEN {}games > 1 THEN {}name ELSE {}kind || 'x' END)",
	.type_name = "text"},
	{.expression = "({}name COLLATE \"C\")",.type_name = "text COLLATE \"C\""},
	{.expression = "(left({}kind, 3)::lbt.nick)",.type_name = "lbt.nick"},
	{.expression = "(md5({}name)::uuid)",.type_name = "uuid"},
};

static const char *const first_letters[] = {"A", "B", "", "x", "G", "\"", "n", NULL};
static const char *const lower_kinds[] = {
	"a", "b", "", "x:y", "gr\303\266\303\237e", "\"q\\, (", "never", NULL
};
static const char *const remainders[] = {"0", "1", "2", "-1", "-2", "7", NULL};
static const char *const truths[] = {"t", "f", NULL};
static const char *const kinds[] = {
	"A", "B", "", "x:y", "Gr\303\266\303\237e", "\"q\\, (", "never", NULL
};
static const char *const tiers[] = {"gold", "silver", "never", NULL};
static const char *const games[] = {"0", "1", "2", "3", "-2147483648", "77", NULL};
static const char *const days[] = {
	"2000-01-01", "2000-01-02", "2000-01-03", "1999-12-30", "infinity", NULL
};

/* Of A and B, and of none. */
static const char *const kind_uuids[] = {
	"7fc56270-e7a7-0fa8-1a59-35b72eacbe29", "9d5ed678-fe57-bcca-6101-40957afab571",
	"d41d8cd9-8f00-b204-e980-0998ecf8427e", "00000000-0000-0000-0000-000000000000", NULL
};

static const Choice groups[] = {
	{.expression = "left({}kind, 1)",.type_name = "text",.values = first_letters},
	{.expression = "lower({}kind)",.type_name = "text",.values = lower_kinds},
	{.expression = "({}games % 3)",.type_name = "integer",.values = remainders},
	{.expression = "({}score > 10)",.type_name = "boolean",.values = truths},
	{.expression = "({}kind::varchar(40))",.type_name = "varchar(40)",.values = kinds},
	{.expression = "(CASE WHEN {}fine THEN 'gold'::lbt.tier ELSE 'silver' END)",.type_name = "lbt.tier",.values = tiers},
	{.expression = "(md5({}kind)::uuid)",.type_name = "uuid",.values = kind_uuids},
	{.expression = "(date '2000-01-01' + {}games % 4)",.type_name = "date",.values = days},

	/* In a list with expressions. */
	{.column = "kind",.type_name = "text",.values = kinds},
	{.column = "games",.type_name = "integer",.values = games},
};

/* How many of the last ones are columns. */
#define NCOLUMNS 2

/* Conditions, others that imply them, and others that do not. */
typedef struct Condition
{
	const char *text;
	const char *const *implying;
	const char *const *weaker;
} Condition;

static const char *const scored_fine[] = {
	"{}fine AND {}score > 3", "{}score > 5 AND {}fine", "{}fine IS TRUE AND 3 < {}score",
	"{}score BETWEEN 4 AND 100 AND {}fine", "({}fine AND {}score >= 4)", NULL
};
static const char *const scored_or_fine[] = {
	"{}score > 3", "{}fine", "({}score > 3 OR {}fine)", "{}score > 2 AND {}fine",
	"{}fine IS NOT FALSE AND {}score > 3", NULL
};
static const char *const few_scores[] = {
	"{}score = 1", "{}score IN (2, 5)", "({}score = 2 OR {}score = 1)",
	"{}score = ANY ('{1,2}')", NULL
};
static const char *const more_few_scores[] = {
	"{}score IN (1, 9)", "{}score <> 4", "{}score < 9", NULL
};
static const char *const small_large[] = {
	"NOT {}large", "{}large IS FALSE", "{}large = false",
	"NOT {}large AND {}score < 7", NULL
};
static const char *const not_small[] = {"{}large IS NOT TRUE", "{}fine", NULL};
static const char *const good_ones[] = {"o_good({}score, {}fine)", NULL};
static const char *const not_good_ones[] = {
	"o_good({}score, {}fine IS TRUE)", "o_good({}score + 1, {}fine)", NULL
};
static const char *const either[] = {
	"{}score > 9", "{}fine", "({}score > 9 OR {}fine)", "{}fine AND {}score < 7",
	"({}fine OR {}score > 9)", "({}score > 12 OR {}fine)", NULL
};
static const char *const more_than_either[] = {
	"({}score > 8 OR {}fine)", "{}score > 8", "{}fine IS NOT FALSE", NULL
};

static const char *const first_kinds[] = {
	"{}kind = 'A'", "{}kind = 'B' AND {}games > 1", "{}kind IN ('B', 'A')",
	"({}kind = 'A' OR {}kind = 'B')", "{}kind = ANY ('{A,B}')", NULL
};
static const char *const more_kinds[] = {
	"{}kind IN ('A', 'B', '')", "{}kind >= 'A'", "{}kind IS NOT NULL", NULL
};
static const char *const few_games[] = {
	"{}games = 1", "{}games > 0 AND {}games < 3", "{}games BETWEEN 1 AND 2",
	"{}games BETWEEN 0 AND 2", "2 >= {}games AND 0 <= {}games", NULL
};
static const char *const more_games[] = {
	"{}games BETWEEN 0 AND 3", "{}games >= 0", "{}games <= 2", NULL
};
static const char *const patterns[] = {
	"({}name LIKE '1%' OR {}name ~ 'a')", "{}name LIKE '1%'", "{}name ~ 'a'", NULL
};
static const char *const other_patterns[] = {"{}name LIKE '1a%'", "{}name ~ 'a|1'", NULL};

static const Condition more_conditions[] = {
	{"({}kind IN ('A', 'B'))", first_kinds, more_kinds},
	{"({}games BETWEEN 0 AND 2)", few_games, more_games},
	{"({}name ~ 'a' OR {}name LIKE '1%')", patterns, other_patterns},
};

static const Condition conditions[] = {
	{"({}score > 3 AND {}fine)", scored_fine, scored_or_fine},
	{"({}score IN (1, 2, 5, 8) IS TRUE)", few_scores, more_few_scores},
	{"({}score IN (1, 2, 5))", few_scores, more_few_scores},
	{"(NOT {}large)", small_large, not_small},
	{"o_good({}score, {}fine)", good_ones, not_good_ones},
	{"({}score > 9 OR {}fine)", either, more_than_either},
};

/* Which boards there are. */
typedef enum Kind
{
	KIND_RANDOM,
	KIND_STORED,				/* columns with the expressions of the one
								 * before */
	KIND_MOVING,				/* a function is replaced by one of other
								 * values */
	KIND_HIDDEN					/* a column is renamed, which no query has */
} Kind;

static const struct
{
	const char *table;
	const char *board;
	const char *prefix;			/* of the stored columns */
	Kind		kind;
	bool		counts;
	bool		lists;			/* several board columns */
}			derived[NDERIVED] = {
	{"o_expr", "expr", "s_expr", KIND_RANDOM, false, false},
	{"o_expr", "expr_stored", "s_expr", KIND_STORED, false, false},
	{"o_expr", "expr_counts", "s_counts", KIND_RANDOM, true, false},
	{"o_expr", "expr_counts_stored", "s_counts", KIND_STORED, true, false},
	{"o_expr", "expr_moving", NULL, KIND_MOVING, false, false},
	{"o_expr", "expr_hidden", "s_hidden", KIND_HIDDEN, false, false},
	{"o_parts", "expr_parts", "s_parts", KIND_RANDOM, false, false},
	{"o_parts", "expr_parts_stored", "s_parts", KIND_STORED, false, false},
	{"o_expr", "expr_lists", "s_lists", KIND_RANDOM, false, true},
	{"o_expr", "expr_lists_stored", "s_lists", KIND_STORED, false, true},
};

/* What stored columns have the expressions of: the score, ties, and these. */
#define STORED_GROUP (1 + MAX_TIES)
#define STORED_CONDITION (STORED_GROUP + MAX_GROUPS)
#define MAX_STORED (STORED_CONDITION + 1)

/* The texts of a board of stored columns. */
typedef struct Stored
{
	char		names[MAX_STORED][32];
	char		condition[40];
	const char *implying[3];
	const char *weaker[2];
} Stored;

static Stored stored[NDERIVED];

static void
name_columns(Stored *s, const char *prefix)
{
	for (int i = 0; i < MAX_STORED; i++)
		snprintf(s->names[i], sizeof(s->names[i]), "%s%d", prefix, i);
	snprintf(s->condition, sizeof(s->condition), "{}%s%d", prefix,
			 STORED_CONDITION);
}

static void
choose_column(Column *c, const Choice *choice)
{
	c->expression = choice->expression;
	if (choice->column != NULL)
		c->name = choice->column;
	c->type_name = choice->type_name;
	c->type = find_type(choice->type_name);
	c->descending = percent(50);
}

/* Another tie-breaker, unless the key has it, or would have two texts. */
static void
choose_tie(Table *t, const Choice *choice)
{
	bool		is_text = find_type(choice->type_name)->is_text;

	for (int i = 0; i < t->nties; i++)
	{
		if (strcmp(t->ties[i].expression, choice->expression) == 0 ||
			(t->ties[i].type->is_text && is_text))
			return;
	}
	choose_column(&t->ties[t->nties++], choice);
}

/* Several board columns, of which at least the first is an expression. */
static void
choose_groups(Table *t)
{
	const char *const *lists[MAX_GROUPS];
	bool		chosen[LENGTH(groups)] = {false};

	t->ngroups = 2 + rnd(MAX_GROUPS - 1);
	for (int i = 0; i < t->ngroups; i++)
	{
		int			n;

		do
			n = rnd(LENGTH(groups) - (i == 0 ? NCOLUMNS : 0));
		while (chosen[n]);
		chosen[n] = true;
		choose_column(&t->groups[i], &groups[n]);
		lists[i] = groups[n].values;
	}
	choose_rows_of_lists(t, lists);
}

static void
choose_expressions(Table *t, bool lists)
{
	bool		own = strcmp(t->name, "o_expr") == 0;
	const Condition *condition = own && percent(30) ? &ANY(more_conditions) :
		&ANY(conditions);

	choose_column(&t->score, own && percent(40) ? &ANY(more_scores) : &ANY(scores));
	for (int n = rnd(3); n > 0; n--)
		choose_tie(t, own && !t->counts && percent(70) ? &ANY(more_ties) :
				   &ANY(ties));
	if (lists)
		choose_groups(t);
	else if (own && percent(40))
	{
		const Choice *choice = &groups[rnd(LENGTH(groups) - NCOLUMNS)];

		choose_column(&t->groups[0], choice);
		t->values = choice->values;
	}
	t->flagged = percent(70);
	t->condition = condition->text;
	t->implying = condition->implying;
	t->weaker = condition->weaker;
	t->indexed = t->counts && percent(60);
}

static void
store_column(Column *c, const char *name)
{
	c->expression = NULL;
	c->name = name;
}

/* The board of the stored columns.  A query for it may have the condition itself. */
static void
choose_stored(Table *t, const Table *same, Stored *s)
{
	*t = *same;
	store_column(&t->score, s->names[0]);
	for (int i = 0; i < t->nties; i++)
		store_column(&t->ties[i], s->names[1 + i]);
	for (int i = 0; i < t->ngroups; i++)
	{
		if (t->groups[i].expression != NULL)
			store_column(&t->groups[i], s->names[STORED_GROUP + i]);
	}
	t->condition = s->condition;
	s->implying[0] = s->condition;
	s->implying[1] = same->condition;
	s->weaker[0] = same->weaker[0];
	t->implying = s->implying;
	t->weaker = s->weaker;
	t->same = same;
}

static void
hide(Column *c, const char *expression, const char *type, const char *name)
{
	c->expression = expression;
	c->hidden = true;
	c->name = name;
	c->type = find_type(type);
	c->descending = percent(50);
}

static const Table *
find_written(const char *name)
{
	const Table *t = tables;

	while (strcmp(t->name, name) != 0)
		t++;
	return t;
}

void
choose_derived(Table *t, int number)
{
	static const char *const methods[] = {"row_number", "rank", "dense_rank"};
	static const Choice moving = {.expression = "o_move({}score)",.type_name = "bigint"};
	const Table *written = find_written(derived[number].table);
	Stored	   *s = &stored[number];

	memset(t, 0, sizeof(*t));
	t->name = written->name;
	t->written = written;
	t->counts = derived[number].counts;
	t->method = methods[t->counts ? 1 + rnd(2) : rnd(3)];
	t->nmembers = written->nmembers;
	memcpy(t->members, written->members, sizeof(t->members));
	memcpy(t->groups, written->groups, sizeof(t->groups));
	t->ngroups = written->ngroups;
	t->values = written->values;
	t->flag = written->flag;
	t->strict = written->strict;
	t->tidy = written->tidy;
	if (derived[number].prefix != NULL)
		name_columns(s, derived[number].prefix);
	switch (derived[number].kind)
	{
		case KIND_RANDOM:
			choose_expressions(t, derived[number].lists);
			t->same = t + 1;
			break;
		case KIND_STORED:
			choose_stored(t, t - 1, s);
			break;
		case KIND_MOVING:
			choose_column(&t->score, &moving);
			t->flagged = percent(50);
			break;
		case KIND_HIDDEN:
			hide(&t->score, "({}score % 100 + {}extra1)", "bigint", s->names[0]);
			hide(&t->ties[0], "({}games % 7 - {}extra1)", "integer", s->names[1]);
			t->nties = 1;
			break;
	}
	t->board = derived[number].board;
}

static Table *
derived_table(int number)
{
	return &tables[ntables - NDERIVED + number];
}

static void
put_stored(FILE *f, const char *table, const char *name, const char *type,
		   const char *expression)
{
	fprintf(f, "%s ADD COLUMN %s %s GENERATED ALWAYS AS (%s) STORED",
			table == NULL ? "," : keep(format("ALTER TABLE %s", table)),
			name, type, condition_of(NULL, expression));
}

/* The columns with the expressions of a board. */
static void
put_stored_columns(FILE *f, const Table *t, const Stored *s)
{
	bool		grouped = false;

	put_stored(f, t->name, s->names[0], t->score.type->name,
			   t->score.expression);
	for (int i = 0; i < t->nties; i++)
		put_stored(f, NULL, s->names[1 + i], t->ties[i].type->name,
				   t->ties[i].expression);
	for (int i = 0; i < t->ngroups; i++)
	{
		if (t->groups[i].expression == NULL)
			continue;
		put_stored(f, NULL, s->names[STORED_GROUP + i], t->groups[i].type->name,
				   t->groups[i].expression);
		grouped = true;
	}
	if (t->condition != NULL)
		put_stored(f, NULL, s->names[STORED_CONDITION], "boolean", t->condition);
	if (grouped)
		fprintf(f, ", ADD UNIQUE (%s, %s)", t->member, s->names[STORED_GROUP]);
	fputs(";\n", f);
}

void
print_stored_columns(FILE *f, const Table *t)
{
	for (int i = 0; i < NDERIVED; i++)
	{
		const Table *d = derived_table(i);

		if (d->written != t || derived[i].prefix == NULL)
			continue;
		if (derived[i].kind == KIND_STORED)
			put_stored_columns(f, d->same, &stored[i]);
		else if (derived[i].kind == KIND_HIDDEN)
			put_stored_columns(f, d, &stored[i]);
	}
}

bool
add_stored_columns(const Table *t)
{
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	if (f == NULL)
		out_of_memory();
	print_stored_columns(f, t);
	fclose(f);
	if (text[0] != '\0')
		return run_free(text);
	free(text);
	return true;
}


/* ----------------------------------------------------------------
 *		Functions and columns that change
 * ----------------------------------------------------------------
 */

/* A function of a number in PL/pgSQL; the comment makes another function of it. */
static bool
make_function(const char *name, int divisor, int factor)
{
	return run_free(format("CREATE OR REPLACE FUNCTION %s(n bigint) RETURNS bigint"
						   " LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN /* %d */"
						   " RETURN n / %d * %d; END $$", name, rnd(1000),
						   divisor, factor));
}

void
make_functions(void)
{
	make_function("o_step", 4, 4);
	make_function("o_move", 2, 1);
	run("CREATE OR REPLACE FUNCTION o_good(n bigint, fine boolean) RETURNS boolean"
		" LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN fine AND n % 3 <> 0; END $$");
}

void
drop_functions(void)
{
	run("DROP FUNCTION IF EXISTS o_step(bigint), o_move(bigint), o_good(bigint, boolean)");
}

static const Table *
find_derived(Kind kind)
{
	int			i = 0;

	while (derived[i].kind != kind)
		i++;
	return derived_table(i);
}

/* Two sessions must not replace the function at the same time, either. */
static bool
lock_table(const Table *t)
{
	return run_free(format("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", t->name));
}

/* The function gives other values, perhaps only for a part of the transaction. */
static void
move_function(const Table *t)
{
	bool		undone = percent(25);

	if (!lock_table(t) || (percent(40) && !run_free(a_write(t))))
		return;
	if (undone)
		run("SAVEPOINT f");
	if (!make_function("o_move", 1 + rnd(6), 1) ||
		(percent(50) && !compare_any(t, 1, true)) ||
		(percent(30) && !do_something(t)))
		return;
	if (undone)
		run("ROLLBACK TO f");
	if (percent(30))
		compare_any(t, 1, true);
}

/* A column that no statement has gets another name, which stays. */
static void
rename_extra(const Table *t)
{
	if (run_free(format("DO $$ DECLARE n integer; BEGIN"
						" LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;"
						" SELECT substr(attname, 6) INTO STRICT n FROM pg_attribute"
						" WHERE attrelid = '%s'::regclass AND attname ~ '^extra';"
						" EXECUTE format('ALTER TABLE %s RENAME extra%%s TO extra%%s', n, n %% 3 + 1);"
						" END $$", t->name, t->name, t->name)) &&
		percent(50) && compare_any(t, 1, true) && percent(50) &&
		do_something(t))
		compare_any(t, 1, true);
}

/* A column that statements have gets another name for a part of the transaction. */
static void
rename_for_a_while(const Table *t)
{
	bool		undone = percent(40);

	if (!lock_table(t))
		return;
	if (undone)
		run("SAVEPOINT r");
	if (!run_free(format("ALTER TABLE %s RENAME games TO played", t->name)) ||
		(percent(50) && !compare_by(t, t->same, 1)) ||
		!run_free(format("UPDATE %s SET score = score + %d WHERE id %% %d = 0"
						 " AND score BETWEEN -20000 AND 20000", t->name,
						 1 + rnd(3), 5 + rnd(20))) ||
		(percent(50) && !compare_by(t, t->same, 1)))
		return;
	if (undone)
		run("ROLLBACK TO r");
	else if (!run_free(format("ALTER TABLE %s RENAME played TO games", t->name)))
		return;
	if (percent(50))
		compare_any(t, 1, true);
}

void
alter_expressions(void)
{
	run("BEGIN");
	switch (rnd(5))
	{
		case 0:
		case 1:
			move_function(find_derived(KIND_MOVING));
			break;
		case 2:
			if (lock_table(find_derived(KIND_RANDOM)))
				make_function("o_step", 4, 4);
			break;
		case 3:
			rename_extra(find_derived(KIND_HIDDEN));
			break;
		default:
			rename_for_a_while(find_derived(KIND_RANDOM));
			break;
	}
	end_transaction(75);
}
