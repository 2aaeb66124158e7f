/*-------------------------------------------------------------------------
 *
 * table_scan.c
 *	  Reading the rows of a source into a sort.
 *
 * The keys of a plain board are sorted as they are.  Those of a family are
 * preceded by the number of their board's value, so that each board's keys
 * come together; the numbers are given in the order in which the scan meets
 * the values.  Rows off the board are counted.  With counts, so are those on
 * it (tally.c), by their keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "boards/board_value.h"
#include "boards/parts.h"
#include "capture/trigger.h"
#include "util/compat.h"
#include "workers/table_scan_internal.h"

/* An entry of LbValues.by_value. */
typedef struct ValueEntry
{
	LbScannedValue *scanned;
	uint32		hash;
	char		status;
} ValueEntry;

#define SH_PREFIX value
#define SH_ELEMENT_TYPE ValueEntry
#define SH_KEY_TYPE LbScannedValue *
#define SH_KEY scanned
#define SH_HASH_KEY(tb, key) ((key)->hash)
#define SH_EQUAL(tb, a, b) lb_value_equal(&(a)->value, &(b)->value)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, entry) ((entry)->hash)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A copy of a value, with the next number. */
static LbScannedValue *
add_value(LbValues *values, uint32 hash, const LbValue *value)
{
	LbScannedValue *scanned = palloc(sizeof(LbScannedValue) + value->len);
	char	   *data = (char *) (scanned + 1);

	if (values->nvalues == values->maxvalues)
	{
		values->maxvalues *= 2;
		values->values = repalloc_huge(values->values,
									   values->maxvalues * sizeof(LbScannedValue *));
	}
	memcpy(data, value->data, value->len);
	scanned->number = values->nvalues;
	scanned->hash = hash;
	scanned->ranked = false;
	scanned->off_board = 0;
	scanned->value.len = value->len;
	scanned->value.data = data;
	values->values[values->nvalues++] = scanned;
	return scanned;
}

/* The value as the scan has met it first. */
static LbScannedValue *
number_value(LbValues *values, const LbValue *value)
{
	LbScannedValue sought = {.hash = lb_value_hash(value),.value = *value};
	bool		found;
	ValueEntry *entry = value_insert(values->by_value, &sought, &found);

	if (!found)
		entry->scanned = add_value(values, sought.hash, value);
	return entry->scanned;
}

const LbScannedValue *
lb_values_find(const LbValues *values, uint32 hash, const LbValue *value)
{
	LbScannedValue sought = {.hash = hash,.value = *value};
	ValueEntry *entry = value_lookup(values->by_value, &sought);

	return entry == NULL ? NULL : entry->scanned;
}

void
lb_sort_counted(void *arg, const int64 *tuple)
{
	lb_sort_add((LbSort *) arg, tuple);
}

/* Count rows read, those since the last time. */
static void
note_progress(LbScan *s, uint64 *noted)
{
	if (s->progress != NULL)
		pg_atomic_fetch_add_u64(s->progress, s->nrows - *noted);
	*noted = s->nrows;
}

void
lb_scan_rows(LbScan *s, LbDefinition *defn, Relation rel, TableScanDesc scan)
{
	/* A plain board's keys have no number in front. */
	int			first = defn->family ? 0 : 1;
	TupleTableSlot *slot;
	uint64		noted = s->nrows;
	int64		tuple[LB_SORT_MAX_WORDS];
	MemoryContext row_context;
	MemoryContext old;
	LbScannedValue *last = NULL;

	row_context = AllocSetContextCreate(CurrentMemoryContext,
										"leaderboard row",
										ALLOCSET_DEFAULT_SIZES);
	slot = table_slot_create(rel, NULL);
	tuple[0] = 0;
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		LbValue		value;
		char		room[LB_ROW_ROOM];
		LbRowState	state;

		if (++s->nrows % POLL_ROWS == 0)
		{
			note_progress(s, &noted);
			s->poll();
		}
		old = MemoryContextSwitchTo(row_context);
		state = lb_row_key(defn, slot, tuple + 1, &value, room);
		MemoryContextSwitchTo(old);
		Assert(state != LB_UNNOTED);	/* the board is in shared memory */
		if (state != LB_NOT_RANKED && defn->family)
		{
			if (last == NULL || !lb_value_equal(&value, &last->value))
				last = number_value(s->values, &value);
			tuple[0] = last->number;
			last->ranked |= state == LB_RANKED;
		}
		if (state == LB_RANKED && s->tally != NULL)
			lb_tally_add(s->tally, tuple + first);
		else if (state == LB_RANKED)
			lb_sort_add(s->sort, tuple + first);
		else if (state != LB_NOT_RANKED)
			*(defn->family ? &last->off_board : &s->values->off_board) +=
				lb_row_off_board(state);
		MemoryContextReset(row_context);
	}
	note_progress(s, &noted);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(row_context);
}

/*
 * The tables that have the rows of a source: itself, or its partitions, which
 * the definition must have resolved.  Locks them.
 */
static Oid *
list_tables(LbDefinition *defn, Relation rel, int *n)
{
	List	   *all = list_make1_oid(RelationGetRelid(rel));
	Oid		   *tables;
	ListCell   *lc;

	/* The present partitions; the snapshot may be older. */
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		all = find_all_inheritors(RelationGetRelid(rel), NoLock, NULL);
	tables = palloc(list_length(all) * sizeof(Oid));
	*n = 0;
	foreach(lc, all)
	{
		if (lfirst_oid(lc) != RelationGetRelid(rel))
		{
			if (!lb_is_part(defn, lfirst_oid(lc)))
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_IN_USE),
						 errmsg("the partitions of table \"%s\" have changed",
								RelationGetRelationName(rel)),
						 errhint("Try again.")));
			LockRelationOid(lfirst_oid(lc), AccessShareLock);
		}
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_RELATION)
			tables[(*n)++] = lfirst_oid(lc);
	}
	return tables;
}

/*
 * How many parallel workers are worth it: one more for each threefold of
 * min_parallel_table_scan_size, as PostgreSQL has it for scans and for CREATE
 * INDEX.
 */
static int
count_workers(const Oid *tables, int ntables)
{
	int			workers = 0;
	double		pages = 0;
	double		least = Max(min_parallel_table_scan_size, 1);

	for (int i = 0; i < ntables; i++)
	{
		Relation	rel = table_open(tables[i], NoLock);

		pages += RelationGetNumberOfBlocks(rel);
		table_close(rel, NoLock);
	}
	for (; pages >= least && workers < max_parallel_maintenance_workers;
		 least *= 3)
		workers++;
	return workers;
}

/* Scan one table after the other. */
static void
scan_tables(LbScan *s, LbDefinition *defn, const Oid *tables, int ntables)
{
	for (int i = 0; i < ntables; i++)
	{
		Relation	rel = table_open(tables[i], NoLock);

		lb_scan_rows(s, tables[i] == defn->source ? defn :
					 lb_part_defn(defn, rel), rel,
					 LB_TABLE_BEGINSCAN(rel, s->snapshot));
		table_close(rel, NoLock);
	}
}

LbSort *
lb_sort_rows(LbDefinition *defn, Relation rel, Snapshot snapshot,
			 LbValues *values, bool parallel, pg_atomic_uint64 *progress,
			 void (*poll) (void))
{
	LbScan		s = {.values = values,.snapshot = snapshot,
	.progress = progress,.poll = poll};
	LbShape		shape = defn->shape;
	int			before = defn->family ? 1 : 0;
	Size		memory = (Size) maintenance_work_mem * 1024;
	int			ntables;
	Oid		   *tables = list_tables(defn, rel, &ntables);
	int			nworkers = 0;

	memset(values, 0, sizeof(*values));
	if (defn->family)
	{
		values->maxvalues = 64;
		values->values = palloc(values->maxvalues * sizeof(LbScannedValue *));
		values->by_value = value_create(CurrentMemoryContext,
										values->maxvalues, NULL);
	}
	if (shape.counts)
	{
		shape = lb_fixed_shape(shape.width + 1, 1);
		memory /= 2;
		if (parallel && !defn->family && ntables <= LB_MAX_SHARED_SCANS)
			nworkers = count_workers(tables, ntables);
	}
	s.sort = lb_sort_begin(&shape, before, memory);
	if (nworkers > 0)
		lb_scan_parallel(&s, defn, tables, ntables, nworkers);
	else
	{
		if (defn->shape.counts)
			s.tally = lb_tally_begin(before + defn->shape.width, memory,
									 lb_sort_counted, s.sort);
		scan_tables(&s, defn, tables, ntables);
		if (s.tally != NULL)
			lb_tally_end(s.tally);
	}
	lb_sort_perform(s.sort);
	return s.sort;
}
