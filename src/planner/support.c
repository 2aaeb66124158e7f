/*-------------------------------------------------------------------------
 *
 * support.c
 *	  What the planner wants to know of the read functions: rows and costs.
 *
 * pg_proc has a constant number of rows and a constant cost for each
 * function.  This support function (PostgreSQL's supportnodes.h) estimates
 * both for a call.  Rows follow the arguments that are constants, or
 * parameters whose values are known, as lb_top(100) does; if they are not
 * known, pg_proc's number of rows is taken.  No call returns more rows of a
 * board than the board has.
 *
 * A call costs something by itself, each descent of the index costs something
 * for each level, which is the logarithm of the number of members, and each
 * row costs something.
 *
 * How many members a board has is shared memory's secret: a role that may not
 * read the source, or sees only some of its rows, does not get an estimate
 * from it, since EXPLAIN shows estimates.  Nor does one that would have to
 * wait for a lock, nor for a name that is wrong: planning raises no error
 * because of a board.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "boards/catalog.h"
#include "boards/directory.h"
#include "boards/live.h"
#include "boards/resolve.h"
#include "boards/state.h"
#include "boards/target.h"

PG_FUNCTION_INFO_V1(lb_support);

/*
 * What a call, a level of a descent and a row cost, in cpu_operator_cost, by
 * the time that they take beside a sequential scan.
 */
#define CALL_COST 400
#define LEVEL_COST 6
#define ROW_COST 25

/* The members of a board about which nothing is known. */
#define USUAL_MEMBERS 1000000

/* What an argument says about the number of rows. */
typedef enum Measure
{
	ROWS,						/* it is that number */
	ROWS_AROUND,				/* rows to either side of one */
	ELEMENTS					/* an array that has so many elements */
} Measure;

#define NO_ARGUMENT (-1)
#define OF_GLOBAL (-2)			/* no argument: the board "global" */

/* A function, by its arguments, counted from 0. */
typedef struct SetFunction
{
	const char *name;			/* its twin's ends with _key */
	int			nargs;
	Measure		measure;
	int			rows;			/* the argument that is the measure */
	int			skip;			/* the one with rows that are skipped */
	int			board;			/* the one with the name of a board */
	bool		own_rows;		/* the rows are rows of the board */
	int			descents;		/* of the index, for a call ... */
	int			row_descents;	/* ... and for each row */
} SetFunction;

static const SetFunction set_functions[] = {
	{"lb_top", 3, ROWS, 0, 2, 1, true, 1, 0},
	{"lb_page", 3, ROWS, 0, 2, 1, true, 1, 0},
	{"lb_top_json", 3, ROWS, 0, 2, 1, true, 1, 0},
	{"lb_around", 3, ROWS_AROUND, 2, NO_ARGUMENT, 1, true, 3, 0},
	{"lb_around", 2, ROWS_AROUND, 1, NO_ARGUMENT, OF_GLOBAL, true, 3, 0},
	{"lb_rank_json", 3, ROWS_AROUND, 2, NO_ARGUMENT, 1, true, 3, 0},
	{"lb_ranks", 3, ELEMENTS, 0, NO_ARGUMENT, 1, false, 0, 1},
	{"lb_among", 2, ELEMENTS, 0, NO_ARGUMENT, 1, true, 0, 2},
	{"lb_histogram", 2, ROWS, 0, NO_ARGUMENT, 1, false, 1, 1},
	{"lb_archive_top", 3, ROWS, 1, NO_ARGUMENT, NO_ARGUMENT, false, 0, 0}
};

/* A call to be estimated. */
typedef struct Call
{
	PlannerInfo *root;			/* or NULL */
	const SetFunction *function;
	const List *args;
	double		usual_rows;		/* pg_proc's; 0: it returns no set */
} Call;


/* ----------------------------------------------------------------
 *		The call
 * ----------------------------------------------------------------
 */

static const SetFunction *
find_function(const char *name, int nargs)
{
	size_t		len = strlen(name);

	if (len > 4 && strcmp(name + len - 4, "_key") == 0)
		len -= 4;
	for (int i = 0; i < (int) lengthof(set_functions); i++)
	{
		const SetFunction *function = &set_functions[i];

		if (function->nargs == nargs && strlen(function->name) == len &&
			strncmp(function->name, name, len) == 0)
			return function;
	}
	return NULL;
}

/*
 * Fill in *call, from what a request has of it.  Returns false if it is none.
 */
static bool
find_call(Call *call, PlannerInfo *root, Oid funcid, Node *node)
{
	HeapTuple	tuple;
	Form_pg_proc proc;
	bool		whole;

	if (node == NULL || !IsA(node, FuncExpr))
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	if (!HeapTupleIsValid(tuple))
		return false;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	call->root = root;
	call->function = find_function(NameStr(proc->proname), proc->pronargs);
	call->args = ((FuncExpr *) node)->args;
	call->usual_rows = proc->prorows;

	/* A call that has not been simplified lacks defaults. */
	whole = list_length(call->args) == proc->pronargs;
	ReleaseSysCache(tuple);
	return call->function != NULL && whole;
}

/* An argument, as a constant if its value can be estimated. */
static Node *
argument(const Call *call, int i)
{
	Node	   *arg = (Node *) list_nth(call->args, i);

	return call->root == NULL ? arg :
		estimate_expression_value(call->root, arg);
}

/* An argument that is a constant and not null; NULL if there is none. */
static const Const *
known_argument(const Call *call, int i)
{
	const Const *value;

	if (i == NO_ARGUMENT)
		return NULL;
	value = (const Const *) argument(call, i);
	return IsA(value, Const) && !value->constisnull ? value : NULL;
}

/* The name of the board; NULL if it is not known. */
static const text *
known_board(const Call *call)
{
	const Const *name;

	if (call->function->board == OF_GLOBAL)
		return cstring_to_text("global");
	name = known_argument(call, call->function->board);
	return name == NULL ? NULL : DatumGetTextPP(name->constvalue);
}

/*
 * How many rows the arguments ask for; -1 if that is not known.  A call with a
 * null there raises an error, or returns nothing.
 */
static double
asked_rows(const Call *call)
{
	Node	   *arg = argument(call, call->function->rows);
	const Const *value = (const Const *) arg;
	double		n;

	if (call->function->measure == ELEMENTS)
	{
		if (IsA(arg, ArrayCoerceExpr))
			arg = (Node *) ((ArrayCoerceExpr *) arg)->arg;
		if (IsA(arg, ArrayExpr) && !((ArrayExpr *) arg)->multidims)
			return list_length(((ArrayExpr *) arg)->elements);
	}
	if (!IsA(value, Const))
		return -1;
	if (value->constisnull)
		return 0;
	if (call->function->measure == ELEMENTS)
	{
		ArrayType  *array = DatumGetArrayTypeP(value->constvalue);

		return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	}
	n = Max(0, DatumGetInt32(value->constvalue));
	return call->function->measure == ROWS_AROUND ? 2 * n + 1 : n;
}


/* ----------------------------------------------------------------
 *		The board
 * ----------------------------------------------------------------
 */

/* Count the members of a board that is ready.  Returns false if it is not. */
static bool
count_members(LbTarget *target, double *members)
{
	LbSharedBoard *shared = lb_shared_board_attach(target->defn, false);
	LbStripe   *stripe;
	LbLiveBoard *board;
	LbRef		ref;
	bool		ready;

	if (shared == NULL || !lb_is_ready(shared) ||
		(target->has_value && target->value.len > LB_MAX_VALUE))
		return false;
	stripe = &shared->stripes[target->stripe];
	for (int spins = 0; !LWLockConditionalAcquire(&stripe->lock, LW_SHARED);
		 spins++)
	{
		if (spins == LB_READ_SPINS)
			return false;
		pg_spin_delay();
	}
	ready = lb_shared_board_is(shared, target->defn->generation) &&
		lb_is_ready(shared);
	if (ready)
	{
		board = lb_live_board_find(shared, stripe, target->hash,
								   &target->value, &ref);
		*members = board == NULL ? 0 : board->index.members;
	}
	LWLockRelease(&stripe->lock);
	return ready;
}

/*
 * Whether the current user sees all rows of the board, whose source is locked.
 */
static bool
sees_all(LbDefinition *defn)
{
	/* Whose lb_board outlives a source was written to by hand. */
	if (!lb_defns_valid() ||
		!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(defn->source)))
		return false;
	lb_resolve_defn(defn);
	return lb_defns_valid() && defn->resolved && lb_may_read(defn) &&
		(!defn->row_security ||
		 check_enable_rls(defn->source, InvalidOid, true) != RLS_ENABLED);
}

/*
 * The same of a name.  Returns false also if the user must not know, and if
 * the board keeps counts.
 */
static bool
find_members(const text *name, double *members)
{
	const LbCatalog *cat;
	LbTarget	target;
	Oid			source;
	bool		found;

	if (lb_shared == NULL)
		return false;
	cat = lb_catalog();
	if (cat == NULL || !cat->version_ok ||
		!lb_look_up_name(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name),
						 &target) ||
		target.has_value != target.defn->family ||
		!lb_has_members(target.defn))
		return false;
	source = target.defn->source;
	if (!ConditionalLockRelationOid(source, AccessShareLock))
		return false;
	found = sees_all(target.defn) && count_members(&target, members);
	UnlockRelationOid(source, AccessShareLock);
	return found;
}


/* ----------------------------------------------------------------
 *		Estimates
 * ----------------------------------------------------------------
 */

/* Estimate the rows of a call, and the members of its board. */
static void
estimate(const Call *call, double *rows, double *members)
{
	const SetFunction *function = call->function;
	const text *name = known_board(call);
	const Const *skip = known_argument(call, function->skip);
	double		left;

	*rows = asked_rows(call);
	if (*rows < 0)
		*rows = call->usual_rows;
	*members = USUAL_MEMBERS;
	if (name == NULL ||
		!find_members(name, members) ||
		!function->own_rows)
		return;
	left = *members;
	if (skip != NULL)
		left -= DatumGetInt64(skip->constvalue);
	*rows = Max(0, Min(*rows, left));
}

static bool
estimate_rows(SupportRequestRows *request)
{
	Call		call;
	double		members;

	if (!find_call(&call, request->root, request->funcid, request->node))
		return false;
	estimate(&call, &request->rows, &members);
	return true;
}

static bool
estimate_cost(SupportRequestCost *request)
{
	Call		call;
	double		rows;
	double		members;
	double		levels;

	if (!find_call(&call, request->root, request->funcid, request->node) ||
		call.function->board == NO_ARGUMENT)
		return false;
	estimate(&call, &rows, &members);
	levels = 1 + log2(1 + members);
	request->per_tuple = cpu_operator_cost *
		(CALL_COST + rows * ROW_COST +
		 (call.function->descents + rows * call.function->row_descents) *
		 levels * LEVEL_COST);
	return true;
}

/* The support function of set_functions[]. */
Datum
lb_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	bool		done = false;

	if (IsA(request, SupportRequestRows))
		done = estimate_rows((SupportRequestRows *) request);
	else if (IsA(request, SupportRequestCost))
		done = estimate_cost((SupportRequestCost *) request);
	PG_RETURN_POINTER(done ? request : NULL);
}
