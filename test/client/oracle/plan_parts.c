/*-------------------------------------------------------------------------
 *
 * plan_parts.c
 *	  What the queries of plan_forms.c consist of: conditions, operands, orders.
 *
 * Most queries have the conditions under which a board has the table's rows.  A few
 * lack one, or have another one: then a board must not answer.  On a tidy table many
 * ask for all rows: then a board may answer while no row is off it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "plans.h"

int
key_columns(const Table *t)
{
	return 1 + (t->ties_unranked ? 0 : t->nties) + t->nmembers;
}

const Column *
key_column(const Table *t, int i)
{
	int			nties = t->ties_unranked ? 0 : t->nties;

	return i < 1 ? &t->score : i <= nties ? &t->ties[i - 1] :
		&t->members[i - 1 - nties];
}

void
put_and(Question *q)
{
	fputs(q->has_where ? " AND " : " WHERE ", q->f);
	q->has_where = true;
}

void
put_column(Question *q, const Column *c)
{
	fputs(column_of(q->alias, c), q->f);
}

void
put_key(Question *q, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			fputs(", ", q->f);
		put_column(q, key_column(q->table, i));
	}
}

void
put_source(Question *q)
{
	fprintf(q->f, " FROM %s AS %s", q->table->name, q->alias);
	q->has_where = false;
}


/* ----------------------------------------------------------------
 *		Operands
 * ----------------------------------------------------------------
 */

/* Operands of another type than that of a column with integers. */
static const char *const other_numbers[] = {
	"%d::smallint", "%d", "%d::bigint", "%d.5", "%d.0", "%d::float8",
	"%d.5::float8", "%d.25::real", "-%d::bigint", "'NaN'::numeric",
	"'Infinity'::float8", "'-Infinity'::numeric", "'NaN'::float8", "1e30",
	"(-1e30)::float8", "9223372036854775807.5", "9007199254740993::float8",
	"9223372036854775807::float8", "2147483648", "-32769", "0.1", "0.1::real",
	"%d.005", "'-0'::float8"
};

/* The type of such an operand, for a parameter. */
static const char *
type_of_number(const char *number)
{
	static const char *const types[] = {
		"smallint", "bigint", "float8", "real", "numeric"
	};

	for (int i = 0; i < LENGTH(types); i++)
	{
		const char *cast = strstr(number, "::");

		if (cast != NULL && strcmp(cast + 2, types[i]) == 0)
			return types[i];
	}
	return strpbrk(number, ".e") != NULL ? "numeric" : "bigint";
}

static bool
is_number(const Type *type)
{
	return type->integer || type->is_float ||
		strcmp(type->base, "numeric") == 0;
}

static bool
is_time(const Type *type)
{
	return strcmp(type->base, "date") == 0 ||
		strncmp(type->base, "timestamp", 9) == 0;
}

/* An operand for a column, and its type. */
static const char *
any_operand(const Column *c, const char **type)
{
	const Type *t = c->type;

	*type = t->base;
	if (percent(3))
		return keep(format("NULL::%s", t->base));
	if (is_number(t) && percent(30))
	{
		const char *number = ANY(other_numbers);
		char		digits[20];
		const char *percent_d = strstr(number, "%d");

		*type = type_of_number(number);
		snprintf(digits, sizeof(digits), "%d", rnd(25));
		if (percent_d != NULL)
			number = keep(format("%.*s%s%s", (int) (percent_d - number),
								 number, digits, percent_d + 2));
		return keep(format("(%s)", number));
	}
	if (is_time(t) && percent(10))
	{
		static const char *const times[] = {"date", "timestamp", "timestamptz"};

		*type = ANY(times);
		return keep(format("(%s)::%s", value(t, rnd(22)), *type));
	}
	if (t->noperands > 0 && percent(8))
	{
		char	   *quoted = literal(t->operands[rnd(t->noperands)]);
		const char *text = keep(format("%s::%s", quoted, t->base));

		free(quoted);
		return text;
	}
	if (percent(8))
		return keep(format("(%s)::%s", extreme(t), t->base));
	return keep(format("(%s)::%s", value(t, rnd(percent(80) ? 22 : members)),
					   t->base));
}

void
put_param(Question *q, const char *type, const char *text)
{
	q->params[q->nparams] = format("(%s)::%s", text, type);
	q->types[q->nparams++] = format("%s", type);
	fprintf(q->f, "$%d", q->nparams);
}

void
put_operand(Question *q, const Column *c)
{
	const char *type;
	const char *text = any_operand(c, &type);
	int			n = rnd(100);

	if (q->outer != NULL && percent(60))
		fputs(column_of(q->outer, c), q->f);
	else if (n < 20 && q->nparams < MAX_PARAMS)
		put_param(q, type, text);
	else if (n < 28)
		fprintf(q->f, "(SELECT %s)", text);
	else if (n < 31)
		fprintf(q->f, "(SELECT %s FROM %s AS z ORDER BY 1%s LIMIT 1)",
				column_of("z", c), q->table->name, percent(50) ? " DESC" : "");
	else
		fputs(text, q->f);
}

void
put_number(Question *q, int n)
{
	int			kind = rnd(100);

	if (kind < 20 && q->nparams < MAX_PARAMS)
		put_param(q, "bigint", percent(5) ? "NULL" : keep(format("%d", n)));
	else if (kind < 25)
		fprintf(q->f, "(SELECT %d)", n);
	else if (kind < 27)
		fprintf(q->f, "(%d + %s)", n, percent(50) ? "1" : "NULL::int");
	else
		fprintf(q->f, "%d", n);
}


/* ----------------------------------------------------------------
 *		Conditions
 * ----------------------------------------------------------------
 */

static const char *
any_operator(void)
{
	static const char *const operators[] = {
		"<", "<=", "=", ">=", ">", "<", "<=", ">=", ">"
	};

	return percent(2) ? "<>" : ANY(operators);
}

void
put_not_null(Question *q, const Column *c)
{
	put_and(q);
	put_column(q, c);
	fputs(" IS NOT NULL", q->f);
}

/* A condition that does not depend on the row. */
static void
put_once(Question *q)
{
	static const char *const conditions[] = {
		"(SELECT true)", "current_setting('lbt.none', true) IS NULL",
		"now() > '-infinity'", "(SELECT NULL::bool)",
		"(now() = 'infinity' OR (SELECT true))"
	};

	put_and(q);
	if (percent(60) && q->nparams < MAX_PARAMS)
	{
		put_param(q, "integer",
				  percent(10) ? "NULL" : keep(format("%d", rnd(8))));
		fputs(percent(50) ? " > 0" : " IS NOT NULL", q->f);
	}
	else
		fputs(ANY(conditions), q->f);
}

/* A condition unless its parameter is null. */
static void
put_optional(Question *q, const Column *c, const char *operator,
			 const char *type, const char *text)
{
	put_and(q);
	fputs("(", q->f);
	put_param(q, type, text);
	fputs(percent(50) ? " IS NULL OR " : " IS NULL OR (SELECT false) OR ", q->f);
	put_column(q, c);
	fprintf(q->f, " %s $%d)", operator, q->nparams);
}

/* The rows may be those of all boards, which have no order together. */
static bool
has_no_order(const Question *q)
{
	return q->form->node != NULL && strcmp(q->form->node, "Aggregate") == 0;
}

/* The condition on a board column, and the text that it equals. */
static void
put_board_column(Question *q, const Column *c, const char *part)
{
	char	   *text = literal(part);

	if (percent(8) && q->nparams < MAX_PARAMS)
	{
		put_optional(q, c, "=", c->type->base,
					 has_no_order(q) && percent(30) ? "NULL" : text);
		free(text);
		return;
	}
	put_and(q);
	if (strcmp(c->type->base, "boolean") == 0 && percent(40))
	{
		fputs(part[0] == 't' ? "" : "NOT ", q->f);
		put_column(q, c);
	}
	else if (!q->complete && percent(30))
	{
		put_column(q, c);
		fprintf(q->f, percent(50) ? " IN (%s, NULL)" : " >= %s", text);
	}
	else if (percent(10))
	{
		fprintf(q->f, "%s::%s = ", text, c->type->base);
		put_column(q, c);
	}
	else
	{
		put_column(q, c);
		if (percent(10))
			fprintf(q->f, " = (SELECT %s::%s)", text, c->type->base);
		else if (c->type->integer && percent(20))
			fprintf(q->f, " = %s::bigint", text);
		else if (percent(15) && q->nparams < MAX_PARAMS)
		{
			fputs(" = ", q->f);
			put_param(q, c->type->base, text);
		}
		else
			fprintf(q->f, " = %s", text);
	}
	free(text);
}

/* In any order.  Where a column lacks its condition, rows are of several boards. */
void
put_group(Question *q)
{
	const Table *t = q->table;
	int			first = rnd(t->ngroups);
	int			step = percent(50) ? 1 : t->ngroups - 1;
	int			missing = !q->complete && t->ngroups > 1 && percent(40) ?
		rnd(t->ngroups) : -1;

	for (int i = 0; i < t->ngroups; i++)
	{
		int			c = (first + i * step) % t->ngroups;

		if (c != missing && (q->open & 1 << c) == 0)
			put_board_column(q, &t->groups[c],
							 part_of_value(t, q->value, c));
	}
}

/* The condition of ranked_if, or one that implies it, or one that does not. */
static void
put_ranked_if(Question *q)
{
	const Table *t = q->table;
	const char *condition = t->condition;

	put_and(q);
	if (condition == NULL)
	{
		fprintf(q->f, "%s.%s%s", q->alias, t->flag,
				percent(20) ? " IS TRUE" : "");
		return;
	}
	if (!q->complete && percent(20))
		condition = one_of(t->weaker);
	else if (percent(25))
		condition = one_of(t->implying);
	fputs(condition_of(q->alias, condition), q->f);
}

/* A condition that no board has. */
static void
put_strange(Question *q)
{
	const Table *t = q->table;

	put_and(q);
	switch (rnd(5))
	{
		case 0:
			fprintf(q->f, "%s.large IS NOT TRUE", q->alias);
			break;
		case 1:
			fprintf(q->f, "%s.%s IS DISTINCT FROM false", q->alias, t->flag);
			break;
		case 2:
			put_column(q, &t->score);
			fputs(" <> ", q->f);
			put_operand(q, &t->score);
			break;
		case 3:
			fputs("(", q->f);
			put_column(q, &t->score);
			fputs(" > ", q->f);
			put_operand(q, &t->score);
			fputs(" OR ", q->f);
			put_column(q, &t->members[0]);
			fputs(" IS NULL)", q->f);
			break;
		default:
			put_column(q, &t->members[0]);
			fputs(" > ", q->f);
			put_operand(q, &t->members[0]);
			break;
	}
}

void
put_board(Question *q)
{
	const Table *t = q->table;
	int			nkey = key_columns(t);
	int			missing = q->complete ? -1 :
		rnd(percent(60) ? nkey : nkey + 4);
	bool		all = t->tidy && percent(70);

	if (q->value != NULL && missing != nkey)
		put_group(q);
	if (percent(6))
		put_once(q);
	for (int i = 0; i < nkey; i++)
	{
		if (i != missing && !(all && percent(90)) &&
			(!t->strict || percent(10)))
			put_not_null(q, key_column(t, i));
	}
	if (t->flagged && missing != nkey + 1 && !(all && percent(90)))
		put_ranked_if(q);
	if (missing > nkey + 1)
		put_strange(q);
}

void
put_comparison(Question *q, const Column *c)
{
	if (percent(8) && q->nparams < MAX_PARAMS)
	{
		const char *type;
		const char *text = any_operand(c, &type);

		put_optional(q, c, any_operator(), type, percent(30) ? "NULL" : text);
		return;
	}
	put_and(q);
	switch (rnd(8))
	{
		case 0:
			put_operand(q, c);
			fprintf(q->f, " %s ", any_operator());
			put_column(q, c);
			break;
		case 1:
			put_column(q, c);
			fputs(" BETWEEN ", q->f);
			put_operand(q, c);
			fputs(" AND ", q->f);
			put_operand(q, c);
			break;
		default:
			put_column(q, c);
			fprintf(q->f, " %s ", any_operator());
			put_operand(q, c);
			break;
	}
}

/* (score, tie) > (1, 2) */
static void
put_row_comparison(Question *q)
{
	int			n = 2 + rnd(key_columns(q->table) - 1);

	put_and(q);
	fputs("(", q->f);
	put_key(q, n);
	fprintf(q->f, ") %s (", any_operator());
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			fputs(", ", q->f);
		put_operand(q, key_column(q->table, i));
	}
	fputs(")", q->f);
}

/* score = 1 AND tie > 2 */
static void
put_prefix(Question *q)
{
	int			n = 1 + rnd(key_columns(q->table) - 1);

	for (int i = 0; i < n; i++)
	{
		put_and(q);
		put_column(q, key_column(q->table, i));
		fputs(" = ", q->f);
		put_operand(q, key_column(q->table, i));
	}
	put_comparison(q, key_column(q->table, n));
}

/* Operands of a list. */
static void
put_operands(Question *q, const Column *c)
{
	for (int i = rnd(4); i >= 0; i--)
	{
		if (percent(10))
			fputs("NULL", q->f);
		else
			put_operand(q, c);
		if (i > 0)
			fputs(", ", q->f);
	}
}

/* An array of values, of which some may be null. */
static void
put_array(Question *q, const Column *c)
{
	const char *type = keep(format("%s[]", c->type->base));
	const char *text = "ARRAY[";

	for (int i = rnd(5); i > 0; i--)
		text = keep(format("%s%s%s", text,
						   percent(10) ? "NULL" : value(c->type, rnd(22)),
						   i > 1 ? ", " : ""));
	text = keep(format("%s]", text));

	if (percent(30) && q->nparams < MAX_PARAMS)
		put_param(q, type, percent(5) ? "NULL" : text);
	else
		fprintf(q->f, "%s::%s", text, type);
}

static void
put_compared(Question *q, const Column *c, const char *operator)
{
	put_column(q, c);
	fprintf(q->f, " %s ", operator);
	put_operand(q, c);
}

void
put_scattered(Question *q, int nequal)
{
	const Column *c = key_column(q->table, nequal);
	const Column *next = key_column(q->table,
									nequal + 1 < key_columns(q->table) ? nequal + 1 : 0);
	bool		behind = percent(50);

	for (int i = 0; i < nequal; i++)
	{
		put_and(q);
		put_compared(q, key_column(q->table, i), "=");
	}
	put_and(q);
	switch (rnd(6))
	{
		case 0:
			put_column(q, c);
			fputs(" IN (", q->f);
			put_operands(q, c);
			fputs(")", q->f);
			break;
		case 1:
			put_column(q, c);
			fprintf(q->f, " %s %s (", any_operator(), percent(80) ? "ANY" : "ALL");
			put_array(q, c);
			fputs(")", q->f);
			break;
		case 2:
			put_column(q, c);
			fputs(" BETWEEN SYMMETRIC ", q->f);
			put_operand(q, c);
			fputs(" AND ", q->f);
			put_operand(q, c);
			break;
		case 3:
			fputs("(", q->f);
			put_compared(q, c, behind ? "<" : ">=");
			fputs(" OR (", q->f);
			put_compared(q, c, "=");
			fputs(" AND ", q->f);
			put_compared(q, next, behind ? ">" : "<=");
			fputs("))", q->f);
			break;
		case 4:
			fputs("(", q->f);
			put_compared(q, c, any_operator());
			fputs(" OR ", q->f);
			put_compared(q, c, any_operator());
			fputs(" AND ", q->f);
			put_compared(q, c, any_operator());
			fputs(")", q->f);
			break;
		default:
			fputs("(", q->f);
			put_column(q, c);
			fputs(", ", q->f);
			put_column(q, next);
			fprintf(q->f, ") %s (", any_operator());
			put_operand(q, c);
			fputs(", ", q->f);
			put_operand(q, next);
			fputs(")", q->f);
			break;
	}
}

void
put_range(Question *q, Range range)
{
	const Column *score = &q->table->score;

	switch (range)
	{
		case RANGE_ANY:
			put_range(q, percent(30) ? RANGE_ALL : percent(75) ? RANGE_SCORE :
					  percent(60) ? RANGE_ROW : RANGE_PREFIX);
			break;
		case RANGE_ALL:
			break;
		case RANGE_SCORE:
			put_comparison(q, score);
			if (percent(25))
				put_comparison(q, score);
			if (percent(5))
				put_comparison(q, score);
			break;
		case RANGE_ROW:
			put_row_comparison(q);
			if (percent(20))
				put_range(q, percent(70) ? RANGE_SCORE : RANGE_ROW);
			break;
		case RANGE_PREFIX:
			put_prefix(q);
			if (percent(10))
				put_range(q, RANGE_ROW);
			break;
	}
}


/* ----------------------------------------------------------------
 *		Order
 * ----------------------------------------------------------------
 */

void
put_order_by(Question *q, int n, bool reverse)
{
	fputs(" ORDER BY ", q->f);
	for (int i = 0; i < n; i++)
	{
		const Column *c = key_column(q->table, i);

		if (i > 0)
			fputs(", ", q->f);
		put_column(q, c);
		if (c->type->is_text && percent(60))
			fputs(" COLLATE \"C\"", q->f);
		fputs(c->descending != reverse ? " DESC" : percent(30) ? " ASC" : "",
			  q->f);
		if (percent(6))
			fputs(percent(50) ? " NULLS FIRST" : " NULLS LAST", q->f);
	}
}

void
mark_everything(Question *q)
{
	fflush(q->f);
	free(q->everything);
	q->everything = format("%s", q->query);
}
