/*-------------------------------------------------------------------------
 *
 * window_cost.c
 *	  What the first row of a window costs.
 *
 * SELECT id, count(*) OVER () FROM player WHERE guild = 7 ORDER BY score DESC
 * LIMIT 1 has to read all rows for the first one, and lead(id, 1000) that
 * many.  Up to version 16, the planner takes the first rows of a window for as
 * cheap as those of its input.  Later versions look at the frame, but not at
 * the functions that look ahead whatever the frame is, and take a column that
 * equals a constant for one of many partitions.
 *
 * A scan of a board has cheap first rows, and costs more than a sort in the
 * end.  So the costs of the paths are corrected for queries that may have such
 * a scan.  Queries of other tables are planned as PostgreSQL does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

#include "planner/columns.h"
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

/* What the first row of a window may need, in rows. */
typedef struct Reach
{
	const WindowClause *window;
	double		partition;		/* the rows of its partition */
	double		peers;			/* of its peers, with itself */
} Reach;

static double
count_groups(PlannerInfo *root, List *clauses, double rows)
{
	List	   *exprs = get_sortgrouplist_exprs(clauses, root->processed_tlist);

	return Max(estimate_num_groups(root, exprs, rows, NULL, NULL), 1);
}

static Reach
find_reach(PlannerInfo *root, const WindowClause *window, double rows)
{
	Reach		reach = {window, rows, rows};
	List	   *clauses = list_concat_copy(window->partitionClause,
										   window->orderClause);

	/* Columns that equal an operand are not sorted by. */
	if (sorts(root, window->partitionClause))
		reach.partition /= count_groups(root, window->partitionClause, rows);
	reach.peers = sorts(root, window->orderClause) ?
		rows / count_groups(root, clauses, rows) : reach.partition;
	return reach;
}

/*
 * The value of an offset, if it is an integer that is known.  A stable
 * function is not called for it: where the window has no row, nothing calls
 * it.
 */
static bool
is_known(Node *offset, double *value)
{
	Const	   *known = (Const *) offset;

	if (!IsA(known, Const) || !lb_is_integer(known->consttype))
		return false;
	*value = known->constisnull ? 0 :
		(double) lb_integer_of(known->consttype, known->constvalue);
	return true;
}

/*
 * The rows before those that an offset of a frame leads to.  Those of RANGE
 * have no more different values than the offset says, if it is an integer.
 */
static double
frame_offset(const Reach *reach, Node *offset)
{
	double		value;

	if (!is_known(offset, &value))
		return reach->partition;
	return value * ((reach->window->frameOptions & FRAMEOPTION_ROWS) ? 1 :
					reach->peers);
}

static double
frame_start(const Reach *reach)
{
	const WindowClause *window = reach->window;

	return (window->frameOptions & FRAMEOPTION_START_OFFSET_FOLLOWING) ?
		frame_offset(reach, window->startOffset) : 0;
}

static double
frame_end(const Reach *reach)
{
	const WindowClause *window = reach->window;
	int			options = window->frameOptions;

	if (options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING)
		return reach->partition;
	return ((options & FRAMEOPTION_ROWS) ? 1 : reach->peers) +
		((options & FRAMEOPTION_END_OFFSET_FOLLOWING) ?
		 frame_offset(reach, window->endOffset) : 0);
}

/* The rows that a function needs that looks ahead by an argument. */
static double
argument(const Reach *reach, const WindowFunc *func, double sign)
{
	double		value = 1;

	/* It is nearly always backward that lag() looks. */
	if (list_length(func->args) > 1 &&
		!is_known(lsecond(func->args), &value))
		return sign > 0 ? reach->partition : 0;
	return Max(sign * value, 0);
}

/* The rows that a function needs. */
static double
function_needs(const Reach *reach, const WindowFunc *func)
{
	switch (func->winfnoid)
	{
		case F_ROW_NUMBER:
		case F_RANK_:
		case F_DENSE_RANK_:
			return 0;
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return argument(reach, func, -1);
		case F_LEAD_ANYELEMENT:
		case F_LEAD_ANYELEMENT_INT4:
		case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return argument(reach, func, 1);
		case F_FIRST_VALUE:
		case F_NTH_VALUE:
			return frame_start(reach) + argument(reach, func, 1);
		case F_LAST_VALUE:
			return frame_end(reach);
		default:
			/* percent_rank() and others need all, or may. */
			return func->winagg ? frame_end(reach) : reach->partition;
	}
}

/*
 * The rows that PostgreSQL finds the frame by, whatever the functions are: see
 * begin_partition().
 */
static double
frame_needs(const Reach *reach)
{
	const WindowClause *window = reach->window;
	int			options = window->frameOptions;
	double		rows = 0;

	if (window->orderClause == NIL)
		return 0;
	if (options & (FRAMEOPTION_EXCLUDE_GROUP | FRAMEOPTION_EXCLUDE_TIES))
		rows = reach->peers;
	if (!(options & FRAMEOPTION_ROWS))
		rows = Max(rows, frame_start(reach));
	if (!(options & (FRAMEOPTION_ROWS | FRAMEOPTION_END_UNBOUNDED_FOLLOWING)))
		rows = Max(rows, frame_end(reach));
	return rows;
}

/*
 * The share of its input that a window needs for its first row.  PostgreSQL
 * reads all of a partition if what it needs exceeds work_mem.  Up to half of
 * the memory for a row is lost, since it comes in powers of two.
 */
static double
needed_share(PlannerInfo *root, const WindowClause *window, List *funcs,
			 const WindowAggPath *path)
{
	double		rows = path->path.rows;
	Reach		reach = find_reach(root, window, rows);
	int			width = path->subpath->pathtarget->width;
	double		needs = 0;
	ListCell   *lc;

	foreach(lc, funcs)
	{
		const WindowFunc *func = lfirst_node(WindowFunc, lc);

		if (func->winref == window->winref)
			needs = Max(needs, Max(frame_needs(&reach),
								   function_needs(&reach, func)));
	}
	if (needs * 2 * (MAXALIGN(width) + MAXALIGN(SizeofHeapTupleHeader)) >
		work_mem * 1024.0)
		needs = reach.partition;
	return Min(needs, reach.partition) / rows;
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
		double		share = 0;
		ListCell   *window;

		if (!IsA(path, WindowAggPath))
			continue;
		foreach(window, root->parse->windowClause)
			share = Max(share,
						needed_share(root, lfirst_node(WindowClause, window),
									 funcs, path));
		path->path.startup_cost =
			Max(path->path.startup_cost,
				path->subpath->startup_cost +
				share * (path->path.total_cost - path->subpath->startup_cost));
	}
}
