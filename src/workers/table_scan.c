/*-------------------------------------------------------------------------
 *
 * table_scan.c
 *	  Reading the rows of a source into a sort.
 *
 * The keys of a plain board are sorted as they are.  Those of a family are
 * preceded by the number of their board's value, so that each board's keys
 * come together; the numbers are given in the order in which the scan meets
 * the values.  Rows off the board are counted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "boards/board_value.h"
#include "boards/parts.h"
#include "capture/trigger.h"
#include "util/compat.h"
#include "workers/table_scan.h"

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
	bool		no_key;			/* a row has been met that no key can have */
} Scan;

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
	LbScannedValue *last = NULL;

	row_context = AllocSetContextCreate(CurrentMemoryContext,
										"leaderboard row",
										ALLOCSET_DEFAULT_SIZES);
	slot = table_slot_create(rel, NULL);
	scan = LB_TABLE_BEGINSCAN(rel, s->snapshot);
	tuple[0] = 0;
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		LbValue		value;
		char		room[LB_VALUE_ROOM];
		LbRowState	state;

		if (++s->nrows % POLL_ROWS == 0)
		{
			if (s->progress != NULL)
				pg_atomic_write_u64(s->progress, s->nrows);
			s->poll();
		}
		old = MemoryContextSwitchTo(row_context);
		state = lb_row_key(defn, slot, tuple + 1, &value, room);
		MemoryContextSwitchTo(old);
		if (state == LB_NO_KEY)
		{
			s->no_key = true;
			break;
		}
		if (state != LB_NOT_RANKED && defn->family)
		{
			if (last == NULL || !lb_value_equal(&value, &last->value))
				last = number_value(s->values, &value);
			tuple[0] = last->number;
			last->ranked |= state == LB_RANKED;
		}
		if (state == LB_RANKED)
			lb_sort_add(s->sort, tuple + first);
		else if (state == LB_OFF_BOARD && defn->family)
			last->off_board++;
		else if (state == LB_OFF_BOARD)
			s->values->off_board++;
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
		if (s->no_key)
			break;
	}
}

LbSort *
lb_sort_rows(LbDefinition *defn, Relation rel, Snapshot snapshot,
			 LbValues *values, pg_atomic_uint64 *progress, void (*poll) (void))
{
	Scan		s = {.values = values,.snapshot = snapshot,
	.progress = progress,.poll = poll};

	s.sort = lb_sort_begin(&defn->shape, defn->family ? 1 : 0,
						   (Size) maintenance_work_mem * 1024);
	memset(values, 0, sizeof(*values));
	if (defn->family)
	{
		values->maxvalues = 64;
		values->values = palloc(values->maxvalues * sizeof(LbScannedValue *));
		values->by_value = value_create(CurrentMemoryContext,
										values->maxvalues, NULL);
	}
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		sort_parts(&s, defn, rel);
	else
		sort_table(&s, defn, rel);
	if (s.no_key)
	{
		lb_sort_end(s.sort);
		return NULL;
	}
	lb_sort_perform(s.sort);
	return s.sort;
}
