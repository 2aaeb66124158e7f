/*-------------------------------------------------------------------------
 *
 * window_cost.c
 *	  What the first row of a window costs.
 *
 * SELECT id, count(*) OVER () FROM player WHERE guild = 7 ORDER BY score DESC
 * LIMIT 1 has to read all rows for the first one.  Up to version 16, the
 * planner takes the first rows of a window for as cheap as those of its
 * input.  Later versions look at the frame, but not at the functions that need
 * all of the partition whatever the frame is, and take a column that equals a
 * constant for one of many partitions.
 *
 * A scan of a board has cheap first rows, and costs more than a sort in the
 * end.  So the costs of the paths are corrected for queries that may have such
 * a scan.  Queries of other tables are planned as PostgreSQL does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

#include "planner/scan.h"
#include "planner/window_cost.h"

/*
 * Whether a path of a query, or of a subquery in FROM, reads a board in its
 * order.
 */
static bool
may_scan(const PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];
		ListCell   *lc;

		if (rel == NULL)
			continue;
		foreach(lc, rel->pathlist)
		{
			const Path *path = (const Path *) lfirst(lc);

			/* The planner has put the columns above it. */
			while (IsA(path, ProjectionPath))
				path = ((const ProjectionPath *) path)->subpath;
			if (lb_is_scan(path))
				return true;
		}
		if (rel->subroot != NULL && may_scan(rel->subroot))
			return true;
	}
	return false;
}

static bool
sorts(PlannerInfo *root, List *clauses)
{
	return make_pathkeys_for_sortclauses(root, clauses,
										 root->processed_tlist) != NIL;
}

/* Whether the frame of the first row ends with the partition. */
static bool
frame_is_partition(PlannerInfo *root, const WindowClause *window)
{
	int			options = window->frameOptions;

	if (options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING)
		return true;

	/* All rows are peers. */
	return (options & FRAMEOPTION_END_CURRENT_ROW) != 0 &&
		(options & FRAMEOPTION_ROWS) == 0 && !sorts(root, window->orderClause);
}

/* Whether a window needs all rows of its first partition for the first row. */
static bool
needs_partition(PlannerInfo *root, const WindowClause *window, List *funcs)
{
	ListCell   *lc;

	foreach(lc, funcs)
	{
		const WindowFunc *func = lfirst_node(WindowFunc, lc);

		if (func->winref != window->winref)
			continue;
		switch (func->winfnoid)
		{
			case F_PERCENT_RANK_:
			case F_CUME_DIST_:
			case F_NTILE:
				return true;
			case F_ROW_NUMBER:
			case F_RANK_:
			case F_DENSE_RANK_:
			case F_FIRST_VALUE:
			case F_LAG_ANYELEMENT:
			case F_LAG_ANYELEMENT_INT4:
			case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			case F_LEAD_ANYELEMENT:
			case F_LEAD_ANYELEMENT_INT4:
			case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
				break;
			default:
				if (frame_is_partition(root, window))
					return true;
		}
	}
	return false;
}

/* The share of a window's rows that its first partition has. */
static double
first_partition(PlannerInfo *root, const WindowClause *window, double rows)
{
	List	   *exprs;

	/* Columns that equal an operand are not sorted by. */
	if (!sorts(root, window->partitionClause))
		return 1;
	exprs = get_sortgrouplist_exprs(window->partitionClause,
									root->processed_tlist);
	return 1 / Max(estimate_num_groups(root, exprs, rows, NULL, NULL), 1);
}

/* The share of its input that a path needs for its first row. */
static double
needed_share(PlannerInfo *root, List *funcs, double rows)
{
	double		share = 0;
	ListCell   *lc;

	foreach(lc, root->parse->windowClause)
	{
		const WindowClause *window = lfirst_node(WindowClause, lc);

		if (needs_partition(root, window, funcs))
			share = Max(share, first_partition(root, window, rows));
	}
	return share;
}

static List *
find_window_funcs(const PlannerInfo *root)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) root->processed_tlist,
								PVC_INCLUDE_AGGREGATES |
								PVC_INCLUDE_WINDOWFUNCS |
								PVC_INCLUDE_PLACEHOLDERS))
	{
		if (IsA(lfirst(lc), WindowFunc))
			found = lappend(found, lfirst(lc));
	}
	return found;
}

void
lb_cost_windows(PlannerInfo *root, RelOptInfo *windowed)
{
	List	   *funcs;
	ListCell   *lc;

	if (!may_scan(root))
		return;
	funcs = find_window_funcs(root);
	foreach(lc, windowed->pathlist)
	{
		WindowAggPath *path = (WindowAggPath *) lfirst(lc);
		Cost		first;

		if (!IsA(path, WindowAggPath))
			continue;
		first = path->subpath->startup_cost +
			needed_share(root, funcs, path->path.rows) *
			(path->path.total_cost - path->subpath->startup_cost);
		path->path.startup_cost = Max(path->path.startup_cost, first);
	}
}
