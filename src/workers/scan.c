/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Reading the rows of a source into a sort.
 *
 * The keys of a plain board are sorted as they are.  Those of a family are
 * preceded by the number of their board's value, so that each board's keys come
 * together; the numbers are given in the order in which the scan meets the values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "boards/parts.h"
#include "capture/trigger.h"
#include "workers/scan.h"

/* Rows between two calls of poll. */
#define POLL_ROWS 8192

/* A scan of a source, over all its partitions. */
typedef struct Scan
{
	LbSort	   *sort;
	LbValues   *values;
	Snapshot	snapshot;
	uint64		nrows;
	pg_atomic_uint64 *progress; /* or NULL */
	void		(*poll) (void);
} Scan;

/* Twice the buckets, with all values entered anew. */
static void
enlarge_buckets(LbValues *values)
{
	int			nbuckets = Max(64, values->nbuckets * 2);
	int32	   *buckets = MemoryContextAllocHuge(CurrentMemoryContext,
												 nbuckets * sizeof(int32));

	memset(buckets, -1, nbuckets * sizeof(int32));
	for (int i = 0; i < values->nvalues; i++)
	{
		uint32		at = values->hashes[i] & (nbuckets - 1);

		while (buckets[at] >= 0)
			at = (at + 1) & (nbuckets - 1);
		buckets[at] = i;
	}
	if (values->buckets != NULL)
		pfree(values->buckets);
	values->buckets = buckets;
	values->nbuckets = nbuckets;
}

/* Append a copy of a value. */
static void
add_value(LbValues *values, uint32 hash, const LbValue *value)
{
	char	   *copy;

	if (values->nvalues == values->maxvalues)
	{
		values->maxvalues = Max(64, values->maxvalues * 2);
		if (values->values == NULL)
		{
			values->values = palloc(values->maxvalues * sizeof(LbValue));
			values->hashes = palloc(values->maxvalues * sizeof(uint32));
		}
		else
		{
			values->values = repalloc_huge(values->values,
										   values->maxvalues * sizeof(LbValue));
			values->hashes = repalloc_huge(values->hashes,
										   values->maxvalues * sizeof(uint32));
		}
	}
	copy = palloc(Max(1, value->len));
	memcpy(copy, value->data, value->len);
	values->values[values->nvalues].len = value->len;
	values->values[values->nvalues].data = copy;
	values->hashes[values->nvalues++] = hash;
}

/* The number of a value, added if it is new. */
static int
value_number(LbValues *values, const LbValue *value)
{
	uint32		hash = lb_value_hash(value);
	uint32		at;

	if (values->nvalues * 2 >= values->nbuckets)
		enlarge_buckets(values);
	at = hash & (values->nbuckets - 1);
	while (values->buckets[at] >= 0)
	{
		int			n = values->buckets[at];

		if (values->hashes[n] == hash && values->values[n].len == value->len &&
			memcmp(values->values[n].data, value->data, value->len) == 0)
			return n;
		at = (at + 1) & (values->nbuckets - 1);
	}
	values->buckets[at] = values->nvalues;
	add_value(values, hash, value);
	return values->nvalues - 1;
}

/* Add the keys of one table's rows. */
static void
sort_table(Scan *s, LbDefinition *defn, Relation rel)
{
	/* A plain board's keys have no number in front. */
	int			first = defn->family ? 0 : 1;
	TableScanDesc scan;
	TupleTableSlot *slot;
	int64		tuple[LB_SORT_MAX_WORDS];
	MemoryContext row_context;
	MemoryContext old;
	LbValue		last_value = {-1, NULL};

	row_context = AllocSetContextCreate(CurrentMemoryContext,
										"leaderboard row",
										ALLOCSET_DEFAULT_SIZES);
	slot = table_slot_create(rel, NULL);
	scan = table_beginscan(rel, s->snapshot, 0, NULL);
	tuple[0] = 0;
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		LbValue		value;
		char		digits[32];
		bool		ranked;

		if (++s->nrows % POLL_ROWS == 0)
		{
			if (s->progress != NULL)
				pg_atomic_write_u64(s->progress, s->nrows);
			s->poll();
		}
		old = MemoryContextSwitchTo(row_context);
		ranked = lb_row_key(defn, slot, tuple + 1, &value, digits);
		MemoryContextSwitchTo(old);
		if (ranked)
		{
			if (defn->family &&
				(value.len != last_value.len ||
				 memcmp(value.data, last_value.data, value.len) != 0))
			{
				tuple[0] = value_number(s->values, &value);
				last_value = s->values->values[tuple[0]];
			}
			lb_sort_add(s->sort, tuple + first);
		}
		if (defn->family)
			MemoryContextReset(row_context);
	}
	if (s->progress != NULL)
		pg_atomic_write_u64(s->progress, s->nrows);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(row_context);
}

/* Add those of all partitions, which the definition must have resolved. */
static void
sort_parts(Scan *s, LbDefinition *defn, Relation rel)
{
	ListCell   *lc;

	/* The present partitions; the snapshot may be older. */
	foreach(lc, find_all_inheritors(RelationGetRelid(rel), NoLock, NULL))
	{
		Relation	part;

		if (lfirst_oid(lc) == RelationGetRelid(rel))
			continue;
		if (!lb_is_part(defn, lfirst_oid(lc)))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("the partitions of table \"%s\" have changed",
							RelationGetRelationName(rel)),
					 errhint("Try again.")));
		part = table_open(lfirst_oid(lc), AccessShareLock);
		if (part->rd_rel->relkind == RELKIND_RELATION)
			sort_table(s, lb_part_defn(defn, part), part);
		table_close(part, NoLock);
	}
}

LbSort *
lb_sort_rows(LbDefinition *defn, Relation rel, Snapshot snapshot,
			 LbValues *values, pg_atomic_uint64 *progress, void (*poll) (void))
{
	Scan		s = {.values = values,.snapshot = snapshot,
	.progress = progress,.poll = poll};

	s.sort = lb_sort_begin(defn->shape.width + (defn->family ? 1 : 0),
						   (Size) maintenance_work_mem * 1024);
	memset(values, 0, sizeof(*values));
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		sort_parts(&s, defn, rel);
	else
		sort_table(&s, defn, rel);
	lb_sort_perform(s.sort);
	return s.sort;
}
