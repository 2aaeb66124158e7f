/*-------------------------------------------------------------------------
 *
 * gather_search.c
 *	  What gather.c looks for in a query: calls of read functions of
 *	  distributed boards, and tables that Citus knows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "boards/resolve.h"
#include "boards/target.h"
#include "citus/gather_internal.h"
#include "citus/layout.h"

/* The board of a call that names none. */
#define DEFAULT_BOARD "global"

/*
 * The number of a function's argument "board"; -1 if it has none.  If its
 * board is the default always, it is a number that no argument has.
 */
static int
board_argument(HeapTuple function)
{
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			n = get_func_arg_info(function, &types, &names, &modes);
	int			input = 0;

	for (int i = 0; names != NULL && i < n; i++)
	{
		if (modes != NULL && modes[i] != PROARGMODE_IN)
			continue;
		if (strcmp(names[i], "board") == 0)
			return input;
		input++;
	}
	if (input == 2 && strncmp(NameStr(((Form_pg_proc) GETSTRUCT(function))->proname),
							  "lb_around", 9) == 0)
		return input;
	return -1;
}

/* That argument of a call; NULL if it has been left out. */
static Node *
find_argument(const FuncExpr *call, int number)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, call->args)
	{
		Node	   *arg = lfirst(lc);
		int			n = IsA(arg, NamedArgExpr) ?
			((NamedArgExpr *) arg)->argnumber : i;

		if (n == number)
			return IsA(arg, NamedArgExpr) ?
				(Node *) ((NamedArgExpr *) arg)->arg : arg;
		i++;
	}
	return NULL;
}

/*
 * Whether a name, as the planner knows it, can be that of a distributed
 * board.  A plan may be made for all values of a parameter.
 */
static bool
is_distributed_board(const Node *name)
{
	char	   *board = DEFAULT_BOARD;
	LbTarget	target;

	if (name != NULL && IsA(name, Param))
		return true;
	if (name != NULL)
	{
		if (!IsA(name, Const) || ((const Const *) name)->constisnull ||
			((const Const *) name)->consttype != TEXTOID)
			return false;
		board = TextDatumGetCString(((const Const *) name)->constvalue);
	}
	return lb_look_up_name(board, strlen(board), &target) &&
		lb_is_distributed_table(target.defn->source);
}

bool
lb_is_call(Node *node, const LbSearch *search)
{
	HeapTuple	tuple;
	Form_pg_proc function;
	int			board;

	if (!IsA(node, FuncExpr) ||
		get_func_namespace(((FuncExpr *) node)->funcid) != search->schema)
		return false;
	tuple = SearchSysCache1(PROCOID,
							ObjectIdGetDatum(((FuncExpr *) node)->funcid));
	if (!HeapTupleIsValid(tuple))
		return false;
	function = (Form_pg_proc) GETSTRUCT(tuple);

	/* What shards are asked has to be sent there. */
	board = function->provolatile != PROVOLATILE_STABLE ||
		strncmp(NameStr(function->proname), "lb_shard_", 9) == 0 ? -1 :
		board_argument(tuple);
	ReleaseSysCache(tuple);
	return board >= 0 &&
		is_distributed_board(find_argument((FuncExpr *) node, board)) &&
		getExtensionOfObject(ProcedureRelationId,
							 ((FuncExpr *) node)->funcid) == search->extension;
}

bool
lb_has_call(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	return lb_is_call(node, (const LbSearch *) context) ||
		expression_tree_walker(node, lb_has_call, context);
}

bool
lb_has_call_below(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, lb_has_call_below, context, 0);
	return lb_is_call(node, (const LbSearch *) context) ||
		expression_tree_walker(node, lb_has_call_below, context);
}

bool
lb_has_call_of_column(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	if (lb_is_call(node, (const LbSearch *) context) &&
		!bms_is_empty(pull_varnos_of_level(NULL, node, 0)))
		return true;
	return expression_tree_walker(node, lb_has_call_of_column, context);
}

/*
 * Whether it reads a table for which the function that context points to is
 * true.
 */
static bool
reads(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		return rte->rtekind == RTE_RELATION ?
			(*(bool (**) (Oid)) context) (rte->relid) :
			reads((Node *) rte->subquery, context);
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads, context,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, reads, context);
}

bool
lb_reads_citus(Node *node)
{
	bool		(*test) (Oid) = lb_is_distributed_table;

	return reads(node, &test);
}

bool
lb_reads_shards(Node *node)
{
	bool		(*test) (Oid) = lb_has_shards;

	return reads(node, &test);
}

bool
lb_calls_aggregate(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	if (lb_is_call(node, (const LbSearch *) context))
		return contain_agg_clause(node);
	return expression_tree_walker(node, lb_calls_aggregate, context);
}
