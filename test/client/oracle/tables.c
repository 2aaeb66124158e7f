/*-------------------------------------------------------------------------
 *
 * tables.c
 *	  The tables, and what is ranked of them.
 *
 * Some tables are always the same.  They have integers, and columns in an order
 * that is no board's.  The others have columns of random types.  set_up() chooses
 * them.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "oracle.h"

/* No statement writes the last value of each. */
static const char *const kinds[] = {
	"A", "B", "", "x:y", "Gr\303\266\303\237e", "\"q\\, (", "never", NULL
};
static const char *const realms[] = {
	"7", "0", "-7", "2147483647", "-2147483648", "12345", NULL
};

/* Rows of kind, level and tier, and in another order.  Each text needs quotes. */
static const char *const list_rows[] = {
	"a,b", "0", "silver",
	"\"", "0", "Gr\303\266\303\237e",
	"a,b", "-2147483648", "a:b",
	"\\", "7", "7",
	"", "7", "gold",
	"(", "7", "gold",
	"never", "1", "never",
	NULL
};
static const char *const count_rows[] = {
	"0", "silver", "a,b",
	"0", "Gr\303\266\303\237e", "\"",
	"-2147483648", "a:b", "a,b",
	"7", "7", "\\",
	"7", "gold", " ",
	"1", "never", "never",
	NULL
};

#define NFIXED 12
#define NRANDOM 4

static const Table fixed_tables[NFIXED] = {
	{
		.name = "o_plain",
		.create = "CREATE TABLE o_plain (note text, player_id bigint UNIQUE,"
		" score bigint, updated_at timestamptz, kind text, large boolean,"
		" fine boolean) WITH (fillfactor = 80)",
		.board = "plain",
		.method = "row_number",
		.members = {{.name = "player_id",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "bigint",.descending = true},
		.ties = {{.name = "updated_at",.type_name = "timestamptz"}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
	},
	{
		/* A second board on the same table. */
		.name = "o_plain",
		.board = "worst",
		.method = "rank",
		.members = {{.name = "player_id",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "bigint"},
		.ties = {{.name = "updated_at",.type_name = "timestamptz",
		.descending = true}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.flagged = true,
	},
	{
		/* And one that keeps counts. */
		.name = "o_plain",
		.board = "plain_counts",
		.method = "rank",
		.members = {{.name = "player_id",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "bigint",.descending = true},
		.ties = {{.name = "updated_at",.type_name = "timestamptz"}},
		.nties = 1,
		.ties_unranked = true,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.counts = true,
	},
	{
		.name = "o_dense",
		.create = "CREATE TABLE o_dense (fine boolean, points integer,"
		" gone text, id integer UNIQUE, kind text, day date, large boolean)",
		.board = "dense",
		.method = "dense_rank",
		.members = {{.name = "id",.type_name = "integer"}},
		.nmembers = 1,
		.score = {.name = "points",.type_name = "integer"},
		.ties = {{.name = "day",.type_name = "date",.descending = true}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.flagged = true,
	},
	{
		.name = "o_dense",
		.board = "dense_counts",
		.method = "dense_rank",
		.members = {{.name = "id",.type_name = "integer"}},
		.nmembers = 1,
		.score = {.name = "points",.type_name = "integer"},
		.ties = {{.name = "day",.type_name = "date",.descending = true}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.flagged = true,
		.counts = true,
	},
	{
		.name = "o_family",
		.create = "CREATE TABLE o_family (player bigint, kind text,"
		" score smallint, at timestamp, large boolean, fine boolean,"
		" UNIQUE (kind, player))",
		.board = "fam",
		.method = "rank",
		.members = {{.name = "player",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "smallint",.descending = true},
		.ties = {{.name = "at",.type_name = "timestamp",.descending = true}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.values = kinds,
	},
	{
		.name = "o_family",
		.board = "fam_counts",
		.method = "rank",
		.members = {{.name = "player",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "smallint",.descending = true},
		.ties = {{.name = "at",.type_name = "timestamp",.descending = true}},
		.nties = 1,
		.ties_unranked = true,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.values = kinds,
		.counts = true,
	},
	{
		.name = "o_parts",
		.create = "CREATE TABLE o_parts (at timestamp, score integer,"
		" gone text, member smallint, realm integer, large boolean,"
		" fine boolean, UNIQUE (member, realm));"
		"ALTER TABLE o_parts DROP COLUMN gone",
		.create_partitioned = "CREATE TABLE o_parts (at timestamp,"
		" score integer, member smallint, realm integer, large boolean,"
		" fine boolean, UNIQUE (member, realm)) PARTITION BY LIST (member);"
		"CREATE TABLE o_parts1 PARTITION OF o_parts FOR VALUES IN (1, 2, 3);"
		"CREATE TABLE o_parts2 (fine boolean, gone text, realm integer,"
		" member smallint, at timestamp, large boolean, score integer,"
		" UNIQUE (member, realm));"
		"ALTER TABLE o_parts2 DROP COLUMN gone;"
		"ALTER TABLE o_parts ATTACH PARTITION o_parts2 DEFAULT",
		.board = "*",
		.method = "dense_rank",
		.members = {{.name = "member",.type_name = "smallint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "integer"},
		.ties = {{.name = "at",.type_name = "timestamp"}},
		.nties = 1,
		.ties_unranked = true,
		.groups = {{.name = "realm",.type_name = "integer"}},
		.ngroups = 1,
		.flag = "fine",
		.flagged = true,
		.values = realms,
	},
	{
		.name = "o_parts",
		.board = "parts_counts",
		.method = "rank",
		.members = {{.name = "member",.type_name = "smallint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "integer",.descending = true},
		.ties = {{.name = "at",.type_name = "timestamp"}},
		.nties = 1,
		.ties_unranked = true,
		.groups = {{.name = "realm",.type_name = "integer"}},
		.ngroups = 1,
		.flag = "fine",
		.flagged = true,
		.values = realms,
		.counts = true,
	},
	{
		/* What the boards of expressions.c are made of. */
		.name = "o_expr",
		.create = "CREATE TABLE o_expr (extra1 integer NOT NULL DEFAULT 3,"
		" name text, score bigint, id bigint UNIQUE, games integer,"
		" kind text, large boolean, fine boolean)",
		.board = "expr_base",
		.method = "row_number",
		.members = {{.name = "id",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "bigint",.descending = true},
		.ties = {{.name = "games",.type_name = "integer"},
		{.name = "name",.type_name = "text",.descending = true}},
		.nties = 2,
		.groups = {{.name = "kind",.type_name = "text"}},
		.ngroups = 1,
		.flag = "fine",
		.kinds = kinds,
	},
	{
		.name = "o_lists",
		.create = "CREATE TABLE o_lists (tier lbt.tier, at timestamp, player bigint,"
		" level integer, score integer, kind text, large boolean, fine boolean,"
		" UNIQUE (player, tier, kind, level))",
		.board = "lists",
		.method = "row_number",
		.members = {{.name = "player",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "integer",.descending = true},
		.ties = {{.name = "at",.type_name = "timestamp"}},
		.nties = 1,
		.groups = {{.name = "kind",.type_name = "text"},
		{.name = "level",.type_name = "integer"},
		{.name = "tier",.type_name = "lbt.tier"}},
		.ngroups = 3,
		.flag = "fine",
		.rows = list_rows,
	},
	{
		.name = "o_lists",
		.board = "lists_counts",
		.method = "dense_rank",
		.members = {{.name = "player",.type_name = "bigint"}},
		.nmembers = 1,
		.score = {.name = "score",.type_name = "integer"},
		.ties = {{.name = "at",.type_name = "timestamp"}},
		.nties = 1,
		.ties_unranked = true,
		.groups = {{.name = "level",.type_name = "integer"},
		{.name = "tier",.type_name = "lbt.tier"},
		{.name = "kind",.type_name = "text"}},
		.ngroups = 3,
		.flag = "fine",
		.flagged = true,
		.rows = count_rows,
		.counts = true,
	},
};

Table		tables[NFIXED + NRANDOM + NDERIVED];
const int	ntables = NFIXED + NRANDOM + NDERIVED;

const Table *
any_table(void)
{
	return &tables[rnd(percent(50) ? NFIXED + NRANDOM : ntables)];
}

static Type *types;
static int	ntypes;

char *
put_in(const char *s, const char *replacement)
{
	char	   *result = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&result, &size);

	if (f == NULL)
		out_of_memory();
	for (; *s != '\0'; s++)
	{
		if (strncmp(s, "{}", 2) == 0)
		{
			fputs(replacement, f);
			s++;
		}
		else
			fputc(*s, f);
	}
	fclose(f);
	return result;
}

const char *
condition_of(const char *alias, const char *condition)
{
	char	   *prefix = alias == NULL ? NULL : format("%s.", alias);
	const char *text = keep(put_in(condition, prefix == NULL ? "" : prefix));

	free(prefix);
	return text;
}

const char *
column_of(const char *alias, const Column *c)
{
	if (c->expression != NULL && !c->hidden)
		return condition_of(alias, c->expression);
	return alias == NULL ? c->name : keep(format("%s.%s", alias, c->name));
}

/* The elements of an array of texts, which the server unnests. */
static char **
load_texts(const char *query, int *n)
{
	PGresult   *res = run_copy(query, NULL);
	char	  **texts = calloc(PQntuples(res) + 1, sizeof(char *));

	if (texts == NULL)
		out_of_memory();
	*n = PQntuples(res);
	for (int i = 0; i < *n; i++)
		texts[i] = format("%s", PQgetvalue(res, i, 0));
	PQclear(res);
	return texts;
}

static void
load_values(Type *type)
{
	char	   *name = literal(type->name);
	char	   *value = put_in(type->value, "i");
	char	   *query;

	query = format("SELECT DISTINCT e COLLATE \"C\" FROM lbt.type, unnest(extremes) AS e"
				   " WHERE name = %s AND e IS NOT NULL ORDER BY 1", name);
	type->extremes = load_texts(query, &type->nextremes);
	free(query);
	query = format("SELECT DISTINCT e COLLATE \"C\" FROM lbt.type, unnest(operands) AS e"
				   " WHERE name = %s ORDER BY 1", name);
	type->operands = load_texts(query, &type->noperands);
	free(query);
	query = format("SELECT format('%%s', (%s)::%s) FROM generate_series(0, %d) AS i ORDER BY i",
				   value, type->name, members + 20);
	type->texts = load_texts(query, &type->ntexts);
	free(query);
	free(value);
	free(name);
}

void
load_types(void)
{
	static const char *const integers[] = {"smallint", "integer", "bigint"};
	PGresult   *res = run_copy("SELECT name, base, roles, words, value, step, asks,"
							   " name LIKE '%COLLATE \"C\"'"
							   " OR coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') = 'c'"
							   " AND d.datcollate IN ('C', 'POSIX')"
							   " FROM lbt.type, pg_database AS d"
							   " WHERE d.datname = current_database()"
							   " ORDER BY name COLLATE \"C\"",
							   NULL);

	ntypes = PQntuples(res);
	if (ntypes == 0 || (types = calloc(ntypes, sizeof(Type))) == NULL)
		fail("there are no types in lbt.type");
	for (int i = 0; i < ntypes; i++)
	{
		Type	   *type = &types[i];

		type->name = format("%s", PQgetvalue(res, i, 0));
		type->base = format("%s", PQgetvalue(res, i, 1));
		type->roles = format("%s", PQgetvalue(res, i, 2));
		type->words = atoi(PQgetvalue(res, i, 3));
		type->value = format("%s", PQgetvalue(res, i, 4));
		type->step = PQgetisnull(res, i, 5) ? NULL :
			format("%s", PQgetvalue(res, i, 5));
		type->asks = PQgetvalue(res, i, 6)[0] == 't';
		type->integer = is_one_of(type->base, integers, LENGTH(integers));
		type->is_text = strcmp(type->base, "text") == 0 ||
			strcmp(type->base, "character varying") == 0;
		type->by_bytes = !type->is_text || PQgetvalue(res, i, 7)[0] == 't';
		type->is_float = strcmp(type->base, "real") == 0 ||
			strcmp(type->base, "double precision") == 0;
		load_values(type);
	}
	PQclear(res);
}

const Type *
find_type(const char *name)
{
	for (int i = 0; i < ntypes; i++)
	{
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	}
	fail("there is no type %s in lbt.type", name);
}

/* A random type that can have a role. */
static const Type *
any_type(char role)
{
	const Type *type;

	do
		type = &types[rnd(ntypes)];
	while (strchr(type->roles, role) == NULL);
	return type;
}

/*
 * Whether a key has room for one more column.  It takes 16 words at most, or 127
 * if it has texts.
 */
static bool
fits(const Table *t, const Type *type)
{
	int			words = t->score.type->words + type->words;
	bool		texts = type->is_text;

	for (int i = 0; i < t->nmembers; i++)
	{
		words += t->members[i].type->words;
		texts |= t->members[i].type->is_text;
	}
	for (int i = 0; i < t->nties; i++)
	{
		words += t->ties[i].type->words;
		texts |= t->ties[i].type->is_text;
	}
	return words <= (texts ? 127 : 16);
}

static Column
any_column(const Table *t, char role, const char *name)
{
	Column		c = {.name = name};

	do
		c.type = any_type(role);
	while (t->score.type != NULL && !fits(t, c.type));
	c.descending = strchr("st", role) != NULL && percent(50);
	return c;
}

/* Choose the columns of a table of random types. */
static void
choose_columns(Table *t)
{
	static const char *const member_names[] = {
		"m1", "\"M, \"\"2\"\"\"", "m3", "m4"
	};
	static const char *const tie_names[] = {"t1", "t2", "t3"};
	int			nmembers = percent(55) ? 1 : 2 + rnd(MAX_MEMBERS - 1);
	int			nties = rnd(4);

	t->score = any_column(t, 's', "score");
	for (; t->nmembers < nmembers; t->nmembers++)
		t->members[t->nmembers] = any_column(t, 'm', member_names[t->nmembers]);
	for (; t->nties < nties; t->nties++)
		t->ties[t->nties] = any_column(t, 't', tie_names[t->nties]);
	t->groups[0].name = "grp";
	t->groups[0].type = any_type('b');
	t->ngroups = 1;
	t->spread_last = percent(50);
}

/* Whether a board of the table can keep counts: no text is counted. */
static bool
can_count(const Table *t)
{
	int			words = t->score.type->words;
	bool		texts = t->score.type->is_text;

	for (int i = 0; i < t->nties; i++)
	{
		words += t->ties[i].type->words;
		texts |= t->ties[i].type->is_text;
	}
	return !texts && words < 16;
}

/* The values of a board column: the last one is not written.  To be freed. */
static const char *const *
choose_values(const Type *type)
{
	const char **values = calloc(7, sizeof(char *));
	int			n = 0;

	if (values == NULL)
		out_of_memory();
	if (type->words == 0 || strcmp(type->name, "boolean") == 0)
	{
		/* The type has few values. */
		for (int i = 0; i < type->nextremes; i++)
			values[n++] = type->extremes[i];
		return values;
	}
	values[n++] = type->texts[3];
	values[n++] = type->texts[8];
	values[n++] = type->extremes[rnd(type->nextremes)];
	values[n++] = type->texts[11];
	values[n++] = type->texts[5];
	values[n++] = type->texts[members];
	return values;
}

/* Several board columns.  Texts are short: a row of them has 1024 bytes at most. */
static void
choose_groups(Table *t)
{
	static const char *const names[MAX_GROUPS] = {
		"grp", "\"G, \"\"2\"\"\"", "g3", "g4"
	};
	const char *const *lists[MAX_GROUPS];

	t->ngroups = 2 + rnd(MAX_GROUPS - 1);
	for (int i = 0; i < t->ngroups; i++)
	{
		t->groups[i].name = names[i];
		do
			t->groups[i].type = any_type('b');
		while (t->groups[i].type->words > 21);
		lists[i] = choose_values(t->groups[i].type);
	}
	choose_rows_of_lists(t, lists);
	for (int i = 0; i < t->ngroups; i++)
		free((void *) lists[i]);
}

static void
choose_table(Table *t, int number)
{
	static const char *const methods[] = {"row_number", "rank", "dense_rank"};

	free((char *) t->name);
	free((char *) t->board);
	if (t->ngroups == 1)
		free((void *) t->values);
	memset(t, 0, sizeof(*t));
	t->name = format("o_any%d", number);
	t->board = format("any%d", number);
	t->method = ANY(methods);
	choose_columns(t);
	if (can_count(t) && percent(40))
	{
		t->counts = true;
		t->indexed = percent(60);
		t->method = methods[1 + rnd(2)];
	}
	t->flag = "fine";
	t->flagged = percent(30);
	t->strict = percent(50);
	t->tidy = percent(50);
	if (percent(25))
		t->values = choose_values(t->groups[0].type);
	else if (percent(25))
		choose_groups(t);
}

/* A list of columns, to be freed. */
static char *
list(const Column *columns, int n, const char *separator,
	 void (*put) (FILE *f, const Column *c))
{
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	if (f == NULL)
		out_of_memory();
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			fputs(separator, f);
		put(f, &columns[i]);
	}
	fclose(f);
	return text;
}

static void
put_name(FILE *f, const Column *c)
{
	fputs(column_of(NULL, c), f);
}

static void
put_definition(FILE *f, const Column *c)
{
	fprintf(f, "%s %s", c->name, c->type->name);
}

static void
put_direction(FILE *f, const Column *c)
{
	fprintf(f, "%s %s", c->expression == NULL ? c->name :
			condition_of(NULL, c->expression), c->descending ? "DESC" : "ASC");
}

static void
put_order(FILE *f, const Column *c)
{
	fprintf(f, "%s%s %s", column_of(NULL, c),
			c->type->is_text ? " COLLATE \"C\"" : "",
			c->descending ? "DESC" : "ASC");
}

static void
put_tie(FILE *f, const Column *c)
{
	fprintf(f, "lbt.without_loss(%s)", column_of(NULL, c));
}

static void
put_not_null(FILE *f, const Column *c)
{
	fprintf(f, "%s IS NOT NULL", column_of(NULL, c));
}

/* The texts that follow from a table's columns. */
static void
describe(Table *t)
{
	int			nranked = t->ties_unranked ? 0 : t->nties;
	char	   *score = list(&t->score, 1, ", ", put_order);
	char	   *ties = list(t->ties, nranked, ", ", put_order);
	char	   *tie_texts = list(t->ties, nranked, ", ", put_tie);
	char	   *ranked = list(t->members, t->nmembers, " AND ", put_not_null);
	char	   *ties_ranked = list(t->ties, nranked, " AND ", put_not_null);
	char	   *tie_names = list(t->ties, t->nties, ", ", put_name);
	const char *comma = nranked > 0 ? ", " : "";

	t->member = list(t->members, t->nmembers, ", ", put_name);
	t->member_order = list(t->members, t->nmembers, ", ", put_order);
	t->tie_order = format("%s", nranked > 0 ? ties : "NULL::integer");
	t->tie_array = format("ARRAY[%s]::text[]", tie_texts);
	t->order = format("%s%s%s, %s", score, comma, ties, t->member_order);
	t->ranked = format("%s AND %s IS NOT NULL%s%s%s%s", ranked,
					   column_of(NULL, &t->score), nranked > 0 ? " AND " : "",
					   ties_ranked, t->flagged ? " AND " : "",
					   !t->flagged ? "" : t->condition == NULL ? t->flag :
					   condition_of(NULL, t->condition));
	t->group = list(t->groups, t->ngroups, ", ", put_name);
	t->conflict = t->values == NULL ? format("%s", t->member) :
		format("%s, %s", t->member, t->group);
	t->columns = t->written != t ? format("%s", t->written->columns) :
		format("%s, %s, %s%s%s, %s, large", t->member, t->group,
			   t->score.name, t->nties > 0 ? ", " : "", tie_names, t->flag);
	free(score);
	free(ties);
	free(tie_texts);
	free(ranked);
	free(ties_ranked);
	free(tie_names);
}

static char *
create_table(const Table *t)
{
	char	   *definitions = list(t->members, t->nmembers, ", ", put_definition);
	char	   *ties = list(t->ties, t->nties, ", ", put_definition);
	char	   *groups = list(t->groups, t->ngroups, ", ", put_definition);
	char	   *text;

	text = format("CREATE TABLE %s (%s %s, %s%s large boolean, %s,"
				  " %s boolean, %s, UNIQUE (%s))", t->name, t->score.name,
				  t->score.type->name, ties, t->nties > 0 ? "," : "",
				  groups, t->flag, definitions, t->conflict);

	free(definitions);
	free(ties);
	free(groups);
	return text;
}

static void
put_strict(FILE *f, const Column *c)
{
	fprintf(f, "ALTER %s SET NOT NULL", c->name);
}

/* The statement that makes a table strict. */
static char *
alter_table(const Table *t)
{
	char	   *score = list(&t->score, 1, ", ", put_strict);
	char	   *ties = list(t->ties, t->nties, ", ", put_strict);
	char	   *member = list(t->members, t->nmembers, ", ", put_strict);
	char	   *group = list(t->groups, t->values == NULL ? 0 : t->ngroups,
							 ", ", put_strict);
	char	   *text;

	text = format("ALTER TABLE %s %s, %s%s%s%s%s", t->name, score, member,
				  ties[0] ? ", " : "", ties, group[0] ? ", " : "", group);

	free(score);
	free(ties);
	free(member);
	free(group);
	return text;
}

static char *
create_board(const Table *t)
{
	char	   *rank_by = list(&t->score, 1, ", ", put_direction);
	char	   *ties = list(t->ties, t->ties_unranked ? 0 : t->nties, ", ",
							put_direction);
	char	   *order = format("%s%s%s", rank_by, ties[0] ? ", " : "", ties);
	char	   *quoted_order = literal(order);
	char	   *member = literal(t->member);
	char	   *group = literal(t->group);
	char	   *ranked_if = literal(t->condition == NULL ? t->flag :
									condition_of(NULL, t->condition));
	char	   *text;

	text = format("SELECT lb_create_board('%s', '%s', member => %s,"
				  " rank_by => %s, method => '%s'%s%s%s%s%s)",
				  t->board, t->name, member, quoted_order, t->method,
				  t->values ? ", board_column => " : "",
				  t->values ? group : "",
				  t->flagged ? ", ranked_if => " : "",
				  t->flagged ? ranked_if : "",
				  t->counts ? ", keeps => 'counts'" : "");

	free(rank_by);
	free(ties);
	free(order);
	free(quoted_order);
	free(member);
	free(group);
	free(ranked_if);
	return text;
}

/* The statement that makes an index in the board's order. */
static char *
create_index(const Table *t)
{
	char	   *score = list(&t->score, 1, ", ", put_order);
	char	   *ties = list(t->ties, t->ties_unranked ? 0 : t->nties, ", ",
							put_order);
	char	   *members = list(t->members, t->nmembers, ", ", put_order);
	char	   *text;

	text = format("CREATE INDEX ON %s (%s%s%s%s%s, %s)", t->name,
				  t->values ? t->group : "",
				  t->values ? ", " : "", score,
				  ties[0] ? ", " : "", ties, members);

	free(score);
	free(ties);
	free(members);
	return text;
}

/* Find the types of a table that is always the same. */
static void
find_types(Table *t)
{
	for (int c = 0; c < t->nmembers; c++)
		t->members[c].type = find_type(t->members[c].type_name);
	for (int c = 0; c < t->nties; c++)
		t->ties[c].type = find_type(t->ties[c].type_name);
	t->score.type = find_type(t->score.type_name);
	for (int c = 0; c < t->ngroups; c++)
		t->groups[c].type = find_type(t->groups[c].type_name);
}

static void
forget_texts(Table *t)
{
	free(t->member);
	free(t->order);
	free(t->tie_order);
	free(t->tie_array);
	free(t->member_order);
	free(t->ranked);
	free(t->conflict);
	free(t->group);
	free(t->columns);
}

void
choose_tables(void)
{
	for (int i = 0; i < nchanging && changing[i].member == NULL; i++)
	{
		changing[i].written = &changing[i];
		find_types(&changing[i]);
		describe(&changing[i]);
	}
	for (int i = 0; i < ntables; i++)
	{
		Table	   *t = &tables[i];

		forget_texts(t);
		if (i >= NFIXED + NRANDOM)
			choose_derived(t, i - NFIXED - NRANDOM);
		else if (i >= NFIXED)
		{
			choose_table(t, i - NFIXED + 1);
			t->written = t;
		}
		else
		{
			*t = fixed_tables[i];
			t->written = t;
			/* Any of several board columns may be null: mostly some are. */
			t->strict = percent(t->rows == NULL ? 50 : 20);
			t->tidy = percent(t->rows == NULL ? 50 : 20);
			if (i > 0 && strcmp(t->name, tables[i - 1].name) == 0)
			{
				t->strict = tables[i - 1].strict;
				t->tidy = tables[i - 1].tidy;
				if (t->rows != NULL)
					t->written = tables[i - 1].written;
			}
			find_types(t);
			if (t->rows != NULL)
				choose_rows(t, t->rows);
		}
		describe(t);
	}
}

bool
make_table(const Table *t)
{
	bool		ok;

	if (partitioned && t->create_partitioned != NULL)
		ok = run(t->create_partitioned);
	else if (t->create != NULL)
		ok = run(t->create);
	else if (strncmp(t->name, "o_any", 5) == 0)
		ok = run_free(create_table(t));
	else
		return true;
	return ok && (!t->strict || run_free(alter_table(t))) &&
		add_stored_columns(t);
}

bool
make_index(const Table *t)
{
	return !t->indexed || run_free(create_index(t));
}

bool
make_board(const Table *t)
{
	return run_free(create_board(t));
}

void
print_tables(FILE *f)
{
	for (int i = 0; i < ntables && tables[i].name != NULL; i++)
	{
		char	   *alter = alter_table(&tables[i]);
		char	   *table;
		char	   *index;
		char	   *board;

		if (i >= NFIXED && i < NFIXED + NRANDOM)
		{
			table = create_table(&tables[i]);
			fprintf(f, "%s;\n", table);
			free(table);
		}
		if (tables[i].strict && tables[i].written == &tables[i])
			fprintf(f, "%s;\n", alter);
		free(alter);
		print_stored_columns(f, &tables[i]);
		if (tables[i].indexed)
		{
			index = create_index(&tables[i]);
			fprintf(f, "%s;\n", index);
			free(index);
		}
		if (i >= NFIXED)
		{
			board = create_board(&tables[i]);
			fprintf(f, "%s;\n", board);
			free(board);
		}
	}
}
