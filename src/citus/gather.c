/*-------------------------------------------------------------------------
 *
 * gather.c
 *	  Calls of read functions for rows of distributed tables.
 *
 * Citus sends a query to the shards of its tables, with the functions that it
 * calls:
 *
 *	SELECT lb_rank(player_id) FROM scores WHERE guild = 'g1'
 *
 * There lb_rank() would ask all shards again, which Citus forbids: a query of
 * a shard sees nothing of what its transaction has written on other servers.
 * So such a query becomes
 *
 *	SELECT lb_rank(c1) FROM (SELECT player_id AS c1 FROM scores
 *		WHERE guild = 'g1' OFFSET 0), pg_catalog.pg_am WHERE oid = 2
 *
 * of which Citus first fetches the rows of the subquery, and then runs the
 * rest on the server that was asked, since that has the other table: one row
 * of a catalog.  This is done before Citus plans the query.
 *
 * What the subquery does not have stays outside: the calls, functions of FROM
 * that make them, conditions with either, and all that follows WHERE.  If
 * nothing of that can drop or merge rows, the subquery has the query's ORDER
 * BY and LIMIT, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "boards/catalog.h"
#include "citus/gather_internal.h"

/* ----------------------------------------------------------------
 *		One query
 * ----------------------------------------------------------------
 */

/* A query that is being taken apart. */
typedef struct Parts
{
	LbSearch   *search;
	Query	   *inner;			/* the subquery */
	Query	   *outer;
	Bitmapset  *moved;			/* range table entries that are not in inner
								 * ... */
	int		   *numbers;		/* ... and what they are in outer */
	List	   *conditions;		/* of outer */
	Index		level;			/* of the expression at hand, below outer */
} Parts;

static Bitmapset *
vars_of(Node *node)
{
	return pull_varnos_of_level(NULL, node, 0);
}

/* Whether an expression has to be outside. */
static bool
is_outside(const Parts *g, Node *node)
{
	return lb_has_call(node, g->search) || bms_overlap(vars_of(node), g->moved);
}

/* Move a function of FROM out of the subquery, if it makes calls.  */
static bool
move_function(Parts *g, Node *item)
{
	int			number;
	RangeTblEntry *rte;

	if (!IsA(item, RangeTblRef))
		return false;
	number = ((RangeTblRef *) item)->rtindex;
	rte = rt_fetch(number, g->inner->rtable);
	if (rte->rtekind != RTE_FUNCTION ||
		!is_outside(g, (Node *) rte->functions))
		return false;
	g->outer->rtable = lappend(g->outer->rtable, rte);
	g->numbers[number] = list_length(g->outer->rtable);
	g->moved = bms_add_member(g->moved, number);
	return true;
}

/*
 * Whether an item of FROM can be replaced by what it joins, and has functions
 * to move.
 */
static bool
is_joined(const Parts *g, const Node *item)
{
	const JoinExpr *join = (const JoinExpr *) item;
	int			number;

	if (IsA(item, RangeTblRef))
	{
		number = ((const RangeTblRef *) item)->rtindex;
		return lb_has_call((Node *) rt_fetch(number, g->inner->rtable)->functions,
						   g->search);
	}
	return IsA(item, JoinExpr) && join->jointype == JOIN_INNER &&
		join->usingClause == NIL && join->alias == NULL &&
		(is_joined(g, join->larg) || is_joined(g, join->rarg));
}

/*
 * Move the functions of an item of FROM, and append what is left of it to a
 * list.
 */
static void
move_functions(Parts *g, Node *item, List **items)
{
	JoinExpr   *join = (JoinExpr *) item;

	if (move_function(g, item))
		return;
	if (!IsA(item, JoinExpr) || !is_joined(g, item))
	{
		*items = lappend(*items, item);
		return;
	}
	move_functions(g, join->larg, items);
	move_functions(g, join->rarg, items);
	g->conditions = list_concat(g->conditions,
								make_ands_implicit((Expr *) join->quals));
	g->moved = bms_add_member(g->moved, join->rtindex);
}

/* The number of an expression in the target list of the subquery. */
static AttrNumber
inner_column(Parts *g, Expr *expr)
{
	ListCell   *lc;
	AttrNumber	n;

	foreach(lc, g->inner->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (equal(entry->expr, expr))
			return entry->resno;
	}
	n = list_length(g->inner->targetList) + 1;
	g->inner->targetList = lappend(g->inner->targetList,
								   makeTargetEntry(copyObject(expr), n,
												   psprintf("c%d", n), false));
	return n;
}

/*
 * The subquery's column of an expression, as outer has it that many levels
 * above.
 */
static Var *
outer_var(Parts *g, Expr *expr, Index level)
{
	return makeVar(1, inner_column(g, expr), exprType((Node *) expr),
				   exprTypmod((Node *) expr), exprCollation((Node *) expr),
				   level);
}

/*
 * Have what stays outside refer to the subquery's columns, and to moved
 * functions.
 */
static Node *
to_outer(Node *node, void *context)
{
	Parts	   *g = (Parts *) context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == g->level)
	{
		Var		   *var = copyObject((Var *) node);

		if (bms_is_member(var->varno, g->moved))
		{
			var->varno = var->varnosyn = g->numbers[var->varno];
			var->varattnosyn = var->varattno;
			return (Node *) var;
		}
		var->varlevelsup = 0;
		return (Node *) outer_var(g, (Expr *) var, g->level);
	}
	if (IsA(node, Query))
	{
		Query	   *query;

		g->level++;
		query = query_tree_mutator((Query *) node, to_outer, context, 0);
		g->level--;
		return (Node *) query;
	}
	return expression_tree_mutator(node, to_outer, context);
}

/*
 * Take the moved entries out of the subquery's range table.  Returns false if
 * something there refers to one.  Joins and lateral functions follow what they
 * refer to.
 */
static bool
renumber(Parts *g)
{
	for (int number = list_length(g->inner->rtable); number > 0; number--)
	{
		if (!bms_is_member(number, g->moved))
			continue;
		g->inner->rtable = list_delete_nth_cell(g->inner->rtable, number - 1);
		if (bms_is_member(number, vars_of((Node *) g->inner)))
			return false;
		for (int i = number; i <= list_length(g->inner->rtable); i++)
			ChangeVarNodes((Node *) g->inner, i + 1, i, 0);
	}
	return true;
}

/* Whether the subquery has a column of a type that only this backend knows. */
static bool
has_anonymous_column(const Parts *g)
{
	ListCell   *lc;

	foreach(lc, g->inner->targetList)
	{
		Oid			type = exprType((Node *) lfirst_node(TargetEntry, lc)->expr);

		if (type == RECORDOID || type == RECORDARRAYOID)
			return true;
	}
	return false;
}

/*
 * Have the subquery sort and limit its rows, if all that is outside keeps
 * them.
 */
static bool
move_limit(Parts *g)
{
	Query	   *outer = g->outer;
	ListCell   *lc;

	if ((outer->limitCount == NULL && outer->limitOffset == NULL) ||
		outer->hasAggs || outer->hasWindowFuncs || outer->hasTargetSRFs ||
		outer->groupClause != NIL || outer->groupingSets != NIL ||
		outer->havingQual != NULL || outer->distinctClause != NIL ||
		g->conditions != NIL || !bms_is_empty(g->moved))
		return false;
	foreach(lc, outer->sortClause)
	{
		Node	   *expr = get_sortgroupclause_expr(lfirst(lc),
													outer->targetList);

		/* What is volatile would have another value outside. */
		if (lb_has_call(expr, g->search) || contain_volatile_functions(expr))
			return false;
	}
	foreach(lc, outer->sortClause)
	{
		TargetEntry *entry = get_sortgroupclause_tle(lfirst(lc),
													 outer->targetList);
		Var		   *var = outer_var(g, entry->expr, 0);
		TargetEntry *column = list_nth(g->inner->targetList, var->varattno - 1);

		/* Two entries can be the same expression. */
		if (column->ressortgroupref != 0)
			return false;
		column->ressortgroupref = entry->ressortgroupref;
	}
	g->inner->sortClause = copyObject(outer->sortClause);
	g->inner->limitCount = outer->limitCount;
	g->inner->limitOffset = outer->limitOffset;
	g->inner->limitOption = outer->limitOption;
	outer->limitCount = outer->limitOffset = NULL;
	outer->limitOption = LIMIT_OPTION_COUNT;
	return true;
}

static Const *
zero(void)
{
	return makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0),
					 false, FLOAT8PASSBYVAL);
}

/* Whether all is known that such an entry of FROM can refer to. */
static bool
is_known(const RangeTblEntry *rte)
{
	if (rte->securityQuals != NIL || rte->tablesample != NULL)
		return false;
	switch (rte->rtekind)
	{
		case RTE_RELATION:
		case RTE_SUBQUERY:
		case RTE_JOIN:
		case RTE_FUNCTION:
		case RTE_VALUES:
		case RTE_CTE:
			return true;
		default:
			return false;
	}
}

/*
 * Whether that is true of an expression of the query, or of lateral functions
 * of FROM.
 */
static bool
is_true_of(Query *query, bool (*test) (Node *, void *), LbSearch *search)
{
	ListCell   *lc;

	if (test((Node *) query->targetList, search) ||
		test((Node *) query->jointree, search) ||
		test(query->havingQual, search))
		return true;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_FUNCTION && rte->lateral &&
			test((Node *) rte->functions, search))
			return true;
	}
	return false;
}

/*
 * Whether all rows would be fetched for calls that need none of them.  Shards
 * aggregate their rows, and Citus then makes such calls here, unless they are
 * in WHERE.
 */
static bool
aggregates_only(Query *query, LbSearch *search)
{
	return (query->hasAggs || query->groupClause != NIL ||
			query->groupingSets != NIL) &&
		!is_true_of(query, lb_has_call_of_column, search);
}

/* Whether the query can be taken apart, and needs it. */
static bool
can_gather(Query *query, LbSearch *search)
{
	ListCell   *lc;

	if (query->commandType != CMD_SELECT || query->setOperations != NULL ||
		query->rowMarks != NIL || query->hasModifyingCTE ||
		query->constraintDeps != NIL ||
		(query->cteList != NIL && query->hasSubLinks) ||
		query->jointree->fromlist == NIL)
		return false;
#if PG_VERSION_NUM >= 180000
	if (query->hasGroupRTE)
		return false;
#endif
	foreach(lc, query->rtable)
	{
		if (!is_known(lfirst_node(RangeTblEntry, lc)))
			return false;
	}
	return is_true_of(query, lb_has_call, search) &&
		(lb_reads_shards((Node *) query->rtable) ||
		 lb_reads_shards((Node *) query->cteList)) &&
		!lb_calls_aggregate((Node *) query->targetList, search) &&
		!lb_calls_aggregate(query->havingQual, search);
}

/* Begin the subquery: what is between FROM and GROUP BY. */
static Query *
begin_inner(Query *outer)
{
	Query	   *inner = makeNode(Query);

	inner->commandType = CMD_SELECT;
	inner->querySource = outer->querySource;
	inner->canSetTag = true;
	inner->hasSubLinks = outer->hasSubLinks;
	inner->hasRowSecurity = outer->hasRowSecurity;
	inner->hasRecursive = outer->hasRecursive;
	inner->cteList = outer->cteList;
	inner->rtable = outer->rtable;
	inner->jointree = outer->jointree;
	inner->stmt_location = -1;
	outer->cteList = NIL;
	outer->hasRecursive = false;
	outer->rtable = NIL;
#if PG_VERSION_NUM >= 160000
	inner->rteperminfos = outer->rteperminfos;
	outer->rteperminfos = NIL;
#endif
	return inner;
}

/* The range table entry of the subquery. */
static RangeTblEntry *
inner_entry(Query *inner)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	ListCell   *lc;

	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = inner;
	rte->alias = makeAlias("lb_rows", NIL);
	rte->eref = makeAlias("lb_rows", NIL);
	rte->inFromCl = true;
	foreach(lc, inner->targetList)
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(lfirst_node(TargetEntry, lc)->resname));
	return rte;
}

/*
 * Have Citus run a query here: join it with a row that only this server has.
 */
static void
stay_here(Query *query)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *item = makeNode(RangeTblRef);
	Relation	rel = table_open(AccessMethodRelationId, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	Expr	   *oid;
	Expr	   *one;

	rte->rtekind = RTE_RELATION;
	rte->relid = AccessMethodRelationId;
	rte->relkind = RELKIND_RELATION;
	rte->rellockmode = AccessShareLock;
	rte->alias = makeAlias("lb_here", NIL);
	rte->eref = makeAlias("lb_here", NIL);
	for (int i = 0; i < desc->natts; i++)
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(pstrdup(NameStr(TupleDescAttr(desc, i)->attname))));
	rte->inh = true;
	rte->inFromCl = true;
	table_close(rel, NoLock);
	query->rtable = lappend(query->rtable, rte);
#if PG_VERSION_NUM >= 160000
	/* An entry of a relation has one, also without a permission to check. */
	(void) addRTEPermissionInfo(&query->rteperminfos, rte);
#endif
	item->rtindex = list_length(query->rtable);
	query->jointree->fromlist = lappend(query->jointree->fromlist, item);
	oid = (Expr *) makeVar(item->rtindex, Anum_pg_am_oid, OIDOID, -1,
						   InvalidOid, 0);
	one = (Expr *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
							 ObjectIdGetDatum(HEAP_TABLE_AM_OID), false, true);
	query->jointree->quals = make_and_qual(query->jointree->quals,
										   (Node *) make_opclause(lookup_type_cache(OIDOID, TYPECACHE_EQ_OPR)->eq_opr,
																  BOOLOID, false, oid, one,
																  InvalidOid, InvalidOid));
}

/* Distribute FROM and WHERE over both. */
static void
divide(Parts *g)
{
	FromExpr   *from = g->inner->jointree;
	List	   *items = from->fromlist;
	List	   *conditions = make_ands_implicit((Expr *) from->quals);
	ListCell   *lc;

	from->fromlist = NIL;
	foreach(lc, items)
		move_functions(g, lfirst(lc), &from->fromlist);
	conditions = list_concat(conditions, g->conditions);
	g->conditions = NIL;
	from->quals = NULL;
	foreach(lc, conditions)
	{
		Node	   *condition = lfirst(lc);

		if (is_outside(g, condition))
			g->conditions = lappend(g->conditions, condition);
		else
			from->quals = (Node *) make_and_qual(from->quals, condition);
	}
}

/* The entries of the range table that an entry refers to. */
static Bitmapset *
vars_of_entry(RangeTblEntry *rte)
{
	if (rte->rtekind == RTE_SUBQUERY)
		return pull_varnos_of_level(NULL, (Node *) rte->subquery, 1);
	return bms_join(vars_of((Node *) rte->functions),
					vars_of((Node *) rte->values_lists));
}

/*
 * Whether something refers to a join that is gone, or the subquery to what is
 * outside, or makes a call.
 */
static bool
is_broken(const Parts *g)
{
	Bitmapset  *inside = vars_of((Node *) g->inner->jointree);
	Bitmapset  *outside = vars_of((Node *) g->outer->targetList);
	int			number = 0;
	ListCell   *lc;

	outside = bms_join(outside, vars_of(g->outer->havingQual));
	outside = bms_join(outside, vars_of((Node *) g->conditions));
	foreach(lc, g->inner->rtable)
	{
		RangeTblEntry *rte = lfirst(lc);

		number++;
		if (!bms_is_member(number, g->moved))
		{
			inside = bms_join(inside, vars_of_entry(rte));
			if (lb_has_call((Node *) rte->functions, g->search))
				return true;
		}
		else if (g->numbers[number] == 0 && bms_is_member(number, outside))
			return true;
		else if (rte->rtekind == RTE_FUNCTION)
			outside = bms_join(outside, vars_of_entry(rte));
	}
	return g->inner->jointree->fromlist == NIL ||
		bms_overlap(inside, g->moved) ||
		lb_has_call((Node *) g->inner->jointree, g->search);
}

/*
 * Returns a query in two parts that has the rows of this one; NULL if it
 * cannot be.
 */
static Query *
gather(Query *query, LbSearch *search)
{
	Query	   *outer = copyObject(query);
	Parts		g = {.search = search,.outer = outer};
	FromExpr   *from;

	g.numbers = palloc0((list_length(query->rtable) + 1) * sizeof(int));
	g.inner = begin_inner(outer);
	outer->rtable = list_make1(NULL);	/* for the subquery */
	divide(&g);
	if (is_broken(&g))
		return NULL;
	outer->jointree = makeFromExpr(NIL, NULL);
	if (!move_limit(&g))
		g.inner->limitOffset = (Node *) zero();

	outer->targetList = (List *) to_outer((Node *) outer->targetList, &g);
	outer->havingQual = to_outer(outer->havingQual, &g);
	outer->windowClause = (List *) to_outer((Node *) outer->windowClause, &g);
	from = outer->jointree;
	g.conditions = (List *) to_outer((Node *) g.conditions, &g);
	if (g.conditions != NIL)
		from->quals = (Node *) make_ands_explicit(g.conditions);
	for (int i = 1; i <= list_length(outer->rtable); i++)
	{
		RangeTblRef *item = makeNode(RangeTblRef);

		item->rtindex = i;
		from->fromlist = lappend(from->fromlist, item);
		if (i > 1)
		{
			RangeTblEntry *rte = rt_fetch(i, outer->rtable);

			rte->functions = (List *) to_outer((Node *) rte->functions, &g);
		}
	}
	if (g.inner->targetList == NIL)
		(void) inner_column(&g, (Expr *) zero());
	if (has_anonymous_column(&g) || !renumber(&g))
		return NULL;
	IncrementVarSublevelsUp((Node *) g.inner, 1, 1);
	lfirst(list_head(outer->rtable)) = inner_entry(g.inner);
	stay_here(outer);
	return outer;
}


/* ----------------------------------------------------------------
 *		All of them
 * ----------------------------------------------------------------
 */

/*
 * Have Citus fetch the rows of a subquery in the arguments of a call before
 * the call.
 */
static void
fence(SubLink *link, LbSearch *search)
{
	Query	   *query = (Query *) link->subselect;

	if (query->rowMarks != NIL || !lb_reads_shards((Node *) query))
		return;
	if (query->limitOffset == NULL && query->limitCount == NULL)
		query->limitOffset = (Node *) zero();
	search->fenced = true;
}

/*
 * Whether Citus fetches all rows of its tables in FROM before; not those of
 * WITH.
 */
static bool
is_fenced(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (lb_reads_citus((Node *) rte) &&
			(rte->rtekind != RTE_SUBQUERY ||
			 (rte->subquery->limitOffset == NULL &&
			  rte->subquery->limitCount == NULL)))
			return false;
	}
	return true;
}

/* The same query, with the rows of its calls fetched before, if need be. */
static Query *
gather_one(Query *query, LbSearch *search)
{
	bool		needed = can_gather(query, search);
	Query	   *gathered = NULL;

	if (needed && !aggregates_only(query, search) &&
		(!is_fenced(query) || !lb_reads_citus((Node *) query->rtable)))
		gathered = gather(query, search);
	if (gathered != NULL)
		return gathered;
	if ((needed || search->fenced) && query->commandType == CMD_SELECT &&
		query->setOperations == NULL && query->rowMarks == NIL &&
		is_fenced(query))
		stay_here(query);
	return query;
}

static Node *
gather_below(Node *node, void *context)
{
	LbSearch   *search = (LbSearch *) context;
	bool		before = search->inside;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		bool		fenced = search->fenced;
		Query	   *query;

		search->inside = false;
		search->fenced = false;
		query = query_tree_mutator((Query *) node, gather_below, context, 0);
		query = gather_one(query, search);
		search->inside = before;
		search->fenced = fenced;
		return (Node *) query;
	}
	search->inside = before || lb_is_call(node, search);
	node = expression_tree_mutator(node, gather_below, context);
	if (before && IsA(node, SubLink))
		fence((SubLink *) node, search);
	search->inside = before;
	return node;
}

Query *
lb_gather_calls(Query *query)
{
	LbSearch	search = {.inside = false};
	const LbCatalog *catalog;

	/* Without Citus that is all. */
	if (!OidIsValid(get_relname_relid("pg_dist_partition",
									  PG_CATALOG_NAMESPACE)) ||
		query->commandType == CMD_UTILITY)
		return query;
	catalog = lb_catalog();
	if (catalog == NULL)
		return query;
	search.extension = catalog->extension;
	search.schema = catalog->schema;
	if (!lb_has_call_below((Node *) query, &search))
		return query;
	return (Query *) gather_below((Node *) query, &search);
}

void
lb_explain_nested(const ErrorData *error)
{
	if (error->sqlerrcode != ERRCODE_INTERNAL_ERROR || error->message == NULL ||
		strcmp(error->message, "cannot execute a distributed query from a query on a shard") != 0)
		return;
	FlushErrorState();
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("boards of distributed tables cannot be read by a query of a shard"),
			 errdetail("Citus has sent the call of the function to a shard, with the query."),
			 errhint("Fetch the rows first: FROM (SELECT ... OFFSET 0).  docs/scale-out.md has examples.")));
}
