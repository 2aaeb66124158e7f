/*-------------------------------------------------------------------------
 *
 * quals.c
 *	  Recognizing what the quals of a query ask of a board.
 *
 * Quals limit a range of the board's order if all columns before the last one
 * that they limit equal an operand.  One qual that is not recognized makes the
 * board useless for the query.
 *
 * A qual that does not depend on the row is evaluated once: it leaves all rows
 * or none.  PostgreSQL calls it a one-time filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "boards/expression.h"
#include "boards/lists.h"
#include "ledger/off_board.h"
#include "planner/generated.h"
#include "planner/keyset.h"
#include "planner/no_error.h"
#include "planner/optional.h"
#include "planner/quals.h"
#include "util/compat.h"
#include "util/planted.h"

List *
lb_make_cond(int first, int strategy, List *types)
{
	return list_concat(list_make2_int(first, strategy), types);
}

bool
lb_is_optional_cond(const List *cond, const List *operands)
{
	return IsA(cond, IntList) &&
		list_length(operands) > list_length(cond) - 2;
}

static bool
is_key_column(const LbDefinition *defn, int column)
{
	return column < lb_nindex_columns(defn);
}

/*
 * Texts of a key are in C order; the query's collation may have another one.
 */
static bool
is_text_key(const LbDefinition *defn, int column)
{
	return is_key_column(defn, column) &&
		defn->columns[column].type->words == LB_TEXT;
}

static void
add_cond(LbQuals *quals, List *cond, List *operands)
{
	int			at = 0;

	/* In the order of the key's columns. */
	while (at < list_length(quals->conds) &&
		   linitial_int(list_nth(quals->conds, at)) <= linitial_int(cond))
		at++;
	quals->conds = list_insert_nth(quals->conds, at, cond);
	quals->operands = list_insert_nth(quals->operands, at, operands);
}

bool
lb_add_board_qual(const LbDefinition *defn, LbQuals *quals, int place,
				  Expr *clause, Expr *value)
{
	List	   *all = NIL;

	if (quals->boards[place] != NULL)
		return false;
	quals->boards[place] = clause;
	quals->values[place] = value;
	for (int i = 0; i < defn->nboard && quals->boards[i] != NULL; i++)
		all = lappend(all, quals->boards[i]);
	if (list_length(all) == defn->nboard)
		quals->board = make_ands_explicit(all);
	return true;
}

int
lb_count_values(const LbQuals *quals)
{
	int			n = 0;

	while (n < LB_MAX_VALUE_COLUMNS && quals->values[n] != NULL)
		n++;
	return n;
}

/* A clause by which a column of the key compares with an operand. */
static void
add_key_cond(LbQuals *quals, const LbUse *use, Node *clause, int strategy,
			 Oid type, Expr *operand)
{
	quals->clauses = lappend(quals->clauses, clause);
	quals->not_null = bms_add_member(quals->not_null, use->attno);
	add_cond(quals, lb_make_cond(use->column, strategy, list_make1_int(type)),
			 list_make1(operand));
}

/* A clause on a board column.  A board is known by one for each. */
static bool
add_board(const LbDefinition *defn, LbQuals *quals, const LbUse *use,
		  Expr *clause, Expr *value)
{
	if (use->cast ||
		!lb_add_board_qual(defn, quals, use->board, clause, value))
		return false;
	quals->not_null = bms_add_member(quals->not_null, use->attno);
	return true;
}

/*
 * Whether a tie-breaker is the same in all rows of the board that the quals
 * are of.  It limits no range of these.
 */
static bool
is_constant(const LbUse *use, bool board)
{
	return board && use->column > 0;
}

bool
lb_is_plain_equality(Oid collation, Oid type)
{
	return OidIsValid(collation) ? get_collation_isdeterministic(collation) :
		!type_is_collatable(type);
}

static bool
add_op(const LbSource *source, const LbDefinition *defn, OpExpr *op,
	   LbQuals *quals)
{
	LbComparison found;
	const LbUse *use = &found.use;
	Oid			collation = op->inputcollid;
	bool		board = false;

	if (!lb_find_comparison(source, defn, op, &found))
		return false;
	if (use->board >= 0)
		board = found.order.strategy == BTEqualStrategyNumber &&
			lb_is_plain_equality(collation, use->type) &&
			add_board(defn, quals, use, (Expr *) found.clause, found.operand);
	if (!is_key_column(defn, use->column) || is_text_key(defn, use->column) ||
		is_constant(use, board))
		return board;
	add_key_cond(quals, use, (Node *) found.clause, found.order.strategy,
				 found.order.operand, found.operand);
	return true;
}

/*
 * (score, id) < (5, 7): the row's columns are the first ones of the key, all
 * in one direction.
 */
static bool
add_row_compare(const LbSource *source, const LbDefinition *defn,
				RowCompareExpr *row, LbQuals *quals)
{
	List	   *types = NIL;
	int			n = list_length(row->largs);
	int			strategy = LB_ROW_STRATEGY(row);

	if (n > lb_nindex_columns(defn) || strategy == BTEqualStrategyNumber ||
		strategy > BTMaxStrategyNumber)
		return false;
	for (int i = 0; i < n; i++)
	{
		LbUse		use;
		LbOrder		order;

		if (!lb_find_use(source, defn, list_nth(row->largs, i), &use) ||
			use.column != i || is_text_key(defn, i) ||
			!lb_is_operand(source, list_nth(row->rargs, i)) ||
			!lb_find_order(defn, &use, list_nth_oid(row->opnos, i), &order) ||
			!lb_is_exact(defn, &use, &order) ||
			order.strategy != strategy ||
			defn->columns[i].descending != defn->columns[0].descending)
			return false;
		types = lappend_int(types, order.operand);
		if (i == 0)
			quals->not_null = bms_add_member(quals->not_null, use.attno);
	}
	quals->clauses = lappend(quals->clauses, row);
	add_cond(quals, lb_make_cond(0, strategy, types), row->rargs);
	return true;
}

/* A boolean column, or its negation. */
static bool
add_boolean(const LbSource *source, const LbDefinition *defn, Expr *clause,
			LbQuals *quals)
{
	LbUse		use;
	bool		value;
	bool		board = false;
	Expr	   *operand;

	if (!lb_find_boolean(source, defn, clause, &use, &value))
		return false;
	operand = (Expr *) makeBoolConst(value, false);
	if (use.board >= 0)
		board = add_board(defn, quals, &use, clause, operand);
	if (defn->columns[use.column].role == LB_ROLE_RANKED_IF && value)
	{
		quals->ranked_if = clause;
		return true;
	}
	if (!is_key_column(defn, use.column) || is_constant(&use, board))
		return board;
	add_key_cond(quals, &use, (Node *) clause, BTEqualStrategyNumber, BOOLOID,
				 operand);
	return true;
}

static bool
add_not_null(const LbSource *source, const LbDefinition *defn, NullTest *test,
			 LbQuals *quals)
{
	LbUse		use;

	if (test->nulltesttype != IS_NOT_NULL || test->argisrow ||
		!lb_find_use(source, defn, (Node *) test->arg, &use))
		return false;
	quals->not_null = bms_add_member(quals->not_null, use.attno);
	quals->clauses = lappend(quals->clauses, test);
	return true;
}

/* What comes behind a key, or before it. */
static bool
add_keyset(const LbSource *source, const LbDefinition *defn, BoolExpr *clause,
		   List *clauses, LbQuals *quals)
{
	LbKeyset	keyset;

	if (!lb_find_keyset(source, defn, clause, clauses, &keyset))
		return false;
	quals->clauses = lappend(quals->clauses, clause);
	quals->not_null = bms_add_member(quals->not_null, keyset.first);
	add_cond(quals, lb_make_cond(0, keyset.strategy, keyset.types),
			 keyset.operands);
	return true;
}

static bool add_qual(const LbSource *source, const LbDefinition *defn,
					 Expr *clause, List *clauses, LbQuals *quals);

/*
 * A clause that is to be true unless an expression is.  Rows need not satisfy
 * it then, so it does not say that a column is not null, or that they are
 * ranked.
 *
 * PostgreSQL evaluates the clause for rows that are there, and the node also
 * if there are none.  So neither expression may raise an error, but in a
 * policy, which PostgreSQL evaluates for each row that it reads.
 */
static bool
add_optional(const LbSource *source, const LbDefinition *defn,
			 BoolExpr *whole, LbQuals *quals)
{
	LbQuals		found = {0};
	Expr	   *unless;
	Expr	   *clause;

	if (!lb_split_optional(source, whole, &unless, &clause) ||
		!add_qual(source, defn, clause, NIL, &found) ||
		found.unless != NULL ||
		(!quals->policy &&
		 lb_may_raise((Node *) list_make3(unless, found.values[0], found.operands),
					  source->root, NULL)))
		return false;

	/* With several board columns, the rows would be of several boards. */
	if (found.board != NULL)
	{
		if (!lb_add_board_qual(defn, quals, 0, (Expr *) whole, found.values[0]))
			return false;
		quals->unless = unless;
		return true;
	}
	if (found.conds == NIL)
		return false;
	quals->clauses = lappend(quals->clauses, whole);
	add_cond(quals, linitial(found.conds),
			 lappend(list_copy(linitial(found.operands)), unless));
	return true;
}

/* In the order in which PostgreSQL evaluates them: the cheapest one first. */
static void
add_one_time(const LbSource *source, Expr *clause, LbQuals *quals)
{
	QualCost	cost;
	QualCost	other;
	int			at = list_length(quals->one_time);

	cost_qual_eval_node(&cost, (Node *) clause, source->root);
	for (; at > 0; at--)
	{
		cost_qual_eval_node(&other, list_nth(quals->one_time, at - 1),
							source->root);
		if (other.per_tuple <= cost.per_tuple)
			break;
	}
	quals->one_time = list_insert_nth(quals->one_time, at, clause);
}

/* A qual, one of clauses. */
static bool
add_qual(const LbSource *source, const LbDefinition *defn, Expr *clause,
		 List *clauses, LbQuals *quals)
{
	if (add_boolean(source, defn, clause, quals))
		return true;
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			return add_op(source, defn, (OpExpr *) clause, quals);
		case T_RowCompareExpr:
			return add_row_compare(source, defn, (RowCompareExpr *) clause,
								   quals);
		case T_NullTest:
			return add_not_null(source, defn, (NullTest *) clause, quals);
		case T_BoolExpr:
			return is_orclause(clause) &&
				(add_keyset(source, defn, (BoolExpr *) clause, clauses,
							quals) ||
				 add_optional(source, defn, (BoolExpr *) clause, quals));
		default:
			return false;
	}
}

/*
 * Whether the conditions limit one range: each column before the last of those
 * that they limit equals an operand.  An operand that is compared with the
 * score cast to another type may equal several scores.
 */
static bool
is_range(const LbDefinition *defn, LbQuals *quals)
{
	ListCell   *lc;
	ListCell   *operands;

	forboth(lc, quals->conds, operands, quals->operands)
	{
		const List *cond = (const List *) lfirst(lc);
		int			first = linitial_int(cond);
		int			last = first + list_length(cond) - 3;
		LbUse		use = {.column = first};
		LbOrder		order = {.operand = (Oid) list_nth_int(cond, 2)};

		if (first > quals->nequal)
			return false;
		if (last > 0 && lb_shape_varies(&defn->shape))
			return false;
		if (first == quals->nequal &&
			lsecond_int(cond) == BTEqualStrategyNumber &&
			!lb_is_optional_cond(cond, lfirst(operands)) &&
			lb_is_exact(defn, &use, &order))
			quals->nequal++;
	}
	return true;
}

/*
 * Whether a qual may be one of a policy.  PostgreSQL gives these a level below
 * that of the query's own.
 */
static bool
is_policy(const LbSource *source, const RestrictInfo *info)
{
	return source->secured && IsA(info, RestrictInfo) &&
		info->security_level < source->root->qual_security_level;
}

/*
 * A policy may say which board it is, so that the rows that it hides are on
 * other boards, or that there are no rows.  Of other policies a node, or
 * another qual, might see rows that are hidden.
 */
bool
lb_sort_quals(const LbSource *source, const LbDefinition *defn,
			  List *clauses, LbQuals *quals, List **others)
{
	List	   *generated = lb_find_generated(source, defn, clauses);
	ListCell   *lc;

	memset(quals, 0, sizeof(LbQuals));
	if (generated != NIL)
		quals->ranked_if = make_ands_explicit(generated);
	foreach(lc, clauses)
	{
		Expr	   *clause = (Expr *) lfirst(lc);
		bool		policy = is_policy(source, lfirst(lc));
		Expr	   *boards[LB_MAX_VALUE_COLUMNS];

		memcpy(boards, quals->boards, sizeof(boards));
		if (IsA(clause, RestrictInfo))
			clause = ((RestrictInfo *) clause)->clause;
		if (lb_is_operand(source, (Node *) clause))
		{
			add_one_time(source, clause, quals);
			continue;
		}

		/* It has a subplan. */
		if (IsA(lfirst(lc), RestrictInfo) &&
			lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return lb_miss(source, defn, LB_MISS_CONSTANT);
		if (!policy && generated != NIL &&
			(list_member(generated, clause) ||
			 predicate_implied_by(list_make1(clause), generated, false)))
		{
			LbQuals		part = {0};

			/* All rows of the board satisfy it.  Nulls may not. */
			(void) add_qual(source, defn, clause, clauses, &part);
			quals->not_null = bms_add_members(quals->not_null, part.not_null);
			continue;
		}
		quals->policy = policy;
		if (add_qual(source, defn, clause, clauses, quals))
		{
			if (policy &&
				(memcmp(boards, quals->boards, sizeof(boards)) == 0 ||
				 contain_leaked_vars((Node *) clause)))
				return lb_miss(source, defn, LB_MISS_POLICIES);
			continue;
		}
		if (policy)
			return lb_miss(source, defn, LB_MISS_POLICIES);
		if (others == NULL)
			return lb_miss_expr(source, defn, LB_MISS_CONDITION, clause);
		*others = lappend(*others, lfirst(lc));
	}
	return is_range(defn, quals) || lb_miss(source, defn, LB_MISS_RANGE);
}

/* Whether a column is a test, which is true or false whatever it tests. */
static bool
is_test(const LbColumn *column)
{
	const Expr *expr = column->expression != NULL ?
		column->expression->simplified : NULL;

	return expr != NULL && (IsA(expr, NullTest) || IsA(expr, BooleanTest) ||
							IsA(expr, DistinctExpr));
}

/* Whether a column can be null in rows that satisfy the quals. */
static bool
may_be_null(const LbSource *source, const LbDefinition *defn, int column,
			const LbQuals *quals)
{
	AttrNumber	number = lb_column_number(defn, column);

	return !bms_is_member(number, source->not_null) &&
		!bms_is_member(number, quals->not_null) &&
		!is_test(&defn->columns[column]);
}

/*
 * Note which conditions would leave out the rows that are off the board, or
 * the family without a target.  Returns false.
 */
static bool
miss_off_board(const LbSource *source, LbDefinition *defn,
			   const LbQuals *quals, const LbTarget *target)
{
	const LbColumn *ranked_if = lb_ranked_if_column(defn);
	StringInfoData conditions;

	if (likely(lb_misses == NULL))
		return false;
	initStringInfo(&conditions);
	if (ranked_if != NULL && quals->ranked_if == NULL)
		appendStringInfoString(&conditions, lb_recorded(ranked_if));
	for (int i = 0; i < lb_nkey_columns(defn); i++)
	{
		if (!may_be_null(source, defn, i, quals))
			continue;
		appendStringInfo(&conditions, "%s%s IS NOT NULL",
						 conditions.len > 0 ? " AND " : "",
						 lb_recorded(&defn->columns[i]));
	}
	lb_note_off_board(source->root, source->rel->relid, defn,
					  lb_rows_off_board(lb_off_board_now(defn, target)),
					  conditions.data);
	return false;
}

/* Whether the board has all rows in its index that the quals ask for. */
static bool
has_rows_now(const LbSource *source, LbDefinition *defn,
			 const LbQuals *quals)
{
	LbTarget	target = {.defn = defn,.value = {0, ""}};
	const LbTarget *known = &target;
	char		room[LB_ROW_ROOM];
	Oid			types[LB_MAX_VALUE_COLUMNS];
	Datum		values[LB_MAX_VALUE_COLUMNS];

	if (lb_off_board_now(defn, NULL) == 0)
		return true;
	for (int i = 0; i < defn->nboard && known != NULL; i++)
	{
		const Const *value = (const Const *) quals->values[i];

		if (value == NULL || !IsA(value, Const) || value->constisnull)
			known = NULL;
		else
		{
			types[i] = value->consttype;
			values[i] = value->constvalue;
		}
	}
	if (defn->family && known != NULL &&
		!lb_set_target_value(&target, types, values, room))
		return true;
	if (!lb_is_complete_now(defn, known, true))
		return lb_miss(source, defn, LB_MISS_NOT_READY);
	return !quals->complete || lb_is_complete_now(defn, known, false) ||
		miss_off_board(source, defn, quals, known);
}

bool
lb_open_board_columns(const LbSource *source, const LbDefinition *defn,
					  LbQuals *quals)
{
	int			first = lb_nkey_columns(defn);
	List	   *known = NIL;

	for (int i = 0; i < defn->nboard; i++)
	{
		const LbColumn *column = &defn->columns[first + i];

		if (quals->boards[i] != NULL)
			known = lappend(known, quals->boards[i]);
		else if (column->type->is_text ||
				 may_be_null(source, defn, first + i, quals))
			return false;
		else
		{
			quals->open |= 1 << i;
			quals->values[i] = (Expr *) makeNullConst(column->oid, -1,
													  InvalidOid);
		}
	}
	if (known == NIL)
		return false;
	quals->board = make_ands_explicit(known);
	return true;
}

bool
lb_quals_imply_board(const LbSource *source, LbDefinition *defn,
					 LbQuals *quals, bool score_null)
{
	for (int i = 0; i < lb_nkey_columns(defn); i++)
	{
		if (!LB_PLANTED(8) &&
			may_be_null(source, defn, i, quals) && !(score_null && i == 0))
			quals->complete = true;
	}
	if (defn->has_ranked_if && quals->ranked_if == NULL)
		quals->complete = true;
	if (defn->family != (quals->board != NULL))
		return lb_miss(source, defn, LB_MISS_WHICH_BOARD);
	return has_rows_now(source, defn, quals);
}

bool
lb_limits_score_only(const List *conds)
{
	ListCell   *lc;

	foreach(lc, conds)
	{
		const List *cond = (const List *) lfirst(lc);

		if (linitial_int(cond) > 0 || list_length(cond) > 3)
			return false;
	}
	return true;
}
