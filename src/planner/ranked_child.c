/*-------------------------------------------------------------------------
 *
 * ranked_child.c
 *	  The plan below a node of a nested loop, run once and kept.
 *
 * A nested loop scans the node once for each row of another table.  The plan
 * below the node has to rank all rows, whatever it returns.  So it returns all
 * of them, and does not check the clauses of the nested loop.  The first scan
 * that needs it runs it once and keeps the rows, as a hash join would.
 *
 * The rows are in parts, by a hash of the columns that the clauses compare.  A
 * scan reads one part and checks the clauses.  Each part is a tuplestore, and
 * all together have the memory of a hash table; what does not fit is in
 * files.  There are as many parts as it takes to make them short, or as have
 * room for what a tuplestore takes at least.  Without a column that can be
 * hashed there is one part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "planner/ranked_child.h"

/* Rows of a part, unless there is no memory for that many parts. */
#define PART_ROWS 32

/*
 * The least memory of a part, and the most parts: each may have an open file.
 */
#define PART_MEMORY ((Size) 32 * 1024)
#define MAX_PARTS 512


/* ----------------------------------------------------------------
 *		Parts
 * ----------------------------------------------------------------
 */

/* A null may be anywhere: no clause is true of it. */
static uint32
add_hash(uint32 hash, FmgrInfo *function, Oid collation, Datum value,
		 bool isnull)
{
	return isnull ? hash :
		hash_combine(hash, DatumGetUInt32(FunctionCall1Coll(function, collation,
															value)));
}

/* The part that a row of the child belongs to. */
static Tuplestorestate *
part_of_row(LbRankedChild *child, TupleTableSlot *slot)
{
	uint32		hash = 0;

	for (int i = 0; i < child->nkeys; i++)
	{
		LbChildKey *key = &child->keys[i];
		bool		isnull;
		Datum		value = slot_getattr(slot, key->column, &isnull);

		hash = add_hash(hash, &key->hash_column, key->collation, value, isnull);
	}
	return child->parts[hash & (child->nparts - 1)];
}

/* The part with the rows of which the clauses may be true. */
static Tuplestorestate *
part_of_operands(LbRankedChild *child, ExprContext *context)
{
	uint32		hash = 0;

	for (int i = 0; i < child->nkeys; i++)
	{
		LbChildKey *key = &child->keys[i];
		bool		isnull;
		Datum		value = ExecEvalExpr(key->operand, context, &isnull);

		hash = add_hash(hash, &key->hash_operand, key->collation, value, isnull);
	}
	return child->parts[hash & (child->nparts - 1)];
}

static Plan *
plan_of(const LbRankedChild *child)
{
	return linitial(((CustomScan *) child->answer->css.ss.ps.plan)->custom_plans);
}

static void
make_parts(LbRankedChild *child)
{
	double		rows = plan_of(child)->plan_rows;
	Size		memory = get_hash_memory_limit();
	int			n = 1;

	while (child->nkeys > 0 && n < MAX_PARTS && n * PART_ROWS < rows &&
		   2 * n * PART_MEMORY <= memory)
		n *= 2;
	child->parts = palloc(n * sizeof(Tuplestorestate *));
	for (int i = 0; i < n; i++)
		child->parts[i] = tuplestore_begin_heap(false, false,
												(int) Min(memory / n / 1024, INT_MAX));
	child->nparts = n;
}


/* ----------------------------------------------------------------
 *		The child
 * ----------------------------------------------------------------
 */

static void
run_child(LbRankedChild *child)
{
	PlanState  *ps = &child->answer->css.ss.ps;
	EState	   *estate = ps->state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleTableSlot *slot;

	make_parts(child);
	while (slot = lb_answer_child(child->answer), !TupIsNull(slot))
	{
		Tuplestorestate *part;

		if (child->slot == NULL)
			child->slot = ExecInitExtraTupleSlot(estate,
												 slot->tts_tupleDescriptor,
												 &TTSOpsMinimalTuple);

		/* Hash functions may leave memory behind. */
		ResetExprContext(ps->ps_ExprContext);
		MemoryContextSwitchTo(ps->ps_ExprContext->ecxt_per_tuple_memory);
		part = part_of_row(child, slot);
		MemoryContextSwitchTo(estate->es_query_cxt);
		tuplestore_puttupleslot(part, slot);
	}
	MemoryContextSwitchTo(old);
}

LbRankedChild *
lb_child_begin(LbAnswer *a, List *joins, int nkeys)
{
	LbRankedChild *child = palloc0(sizeof(LbRankedChild));

	child->answer = a;
	child->quals = ExecInitQual(joins, &a->css.ss.ps);
	child->keys = palloc(nkeys * sizeof(LbChildKey));
	return child;
}

void
lb_child_add_key(LbRankedChild *child, AttrNumber column, Oid op,
				 Oid collation, ExprState *operand)
{
	LbChildKey *key = &child->keys[child->nkeys];
	RegProcedure left;
	RegProcedure right;

	if (!get_op_hash_functions(op, &left, &right))
		return;
	key->column = column;
	key->operand = operand;
	key->collation = collation;
	fmgr_info(left, &key->hash_column);
	fmgr_info(right, &key->hash_operand);
	child->nkeys++;
}

void
lb_child_scan(LbRankedChild *child)
{
	if (child->nparts == 0)
		run_child(child);
	child->part = part_of_operands(child, child->answer->css.ss.ps.ps_ExprContext);
	tuplestore_rescan(child->part);
}

TupleTableSlot *
lb_child_next(LbRankedChild *child)
{
	TupleTableSlot *row = child->slot;
	TupleTableSlot *slot = child->answer->css.ss.ss_ScanTupleSlot;
	int			n;

	ExecClearTuple(slot);
	if (row == NULL || !tuplestore_gettupleslot(child->part, true, false, row))
		return NULL;
	slot_getallattrs(row);
	n = row->tts_tupleDescriptor->natts;
	memcpy(slot->tts_values, row->tts_values, n * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, n * sizeof(bool));

	/* Columns that only quals in the child need. */
	for (int i = n; i < slot->tts_tupleDescriptor->natts; i++)
		slot->tts_isnull[i] = true;
	return ExecStoreVirtualTuple(slot);
}

bool
lb_child_is_kept(LbRankedChild *child, const Bitmapset *changed)
{
	if (child->nparts == 0)
		return false;
	if (!bms_overlap(changed, plan_of(child)->allParam))
		return true;
	lb_child_end(child);
	return false;
}

void
lb_child_end(LbRankedChild *child)
{
	if (child->slot != NULL)
		ExecClearTuple(child->slot);
	for (int i = 0; i < child->nparts; i++)
		tuplestore_end(child->parts[i]);
	if (child->nparts > 0)
		pfree(child->parts);
	child->nparts = 0;
}
