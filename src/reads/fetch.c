/*-------------------------------------------------------------------------
 *
 * fetch.c
 *	  Rows of a table by members of a board.
 *
 * An index tells members, and the executor needs their rows.  A board's source
 * has a unique index on the member, or on the member and the board column, so
 * each row is one look-up there, with the executor's snapshot.  The snapshot
 * sees one row of a member at most, and it is the one that the board's view
 * has, with one exception: it still sees a row that another transaction has
 * deleted since, and whose member the own transaction has then given to
 * another row.
 *
 * Most of a look-up is the descent in the unique index, and the same rows are
 * read again and again: those of the first pages, of a player and those
 * around.  So each backend remembers where it has found rows.  A place that it
 * remembers proves nothing: the row may have moved, and others may be there by
 * now.  But if the snapshot sees a row there, and it is one of the member, it
 * is the row.  Else the index is asked.  It is always asked if the own
 * transaction has written.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "boards/expression.h"
#include "index/memberhash.h"
#include "reads/fetch.h"
#include "util/compat.h"

/* Whether a column of an index is the member's, or a board column. */
static bool
is_index_column(const LbDefinition *defn, AttrNumber attno)
{
	return lb_member_place(defn, attno) >= 0 ||
		lb_board_place(defn, attno) >= 0;
}


/* ----------------------------------------------------------------
 *		Places where rows have been found
 * ----------------------------------------------------------------
 */

/* Places that a backend remembers, a power of two. */
#define PLACES 4096

typedef struct Place
{
	Oid			table;
	uint32		hash;			/* of the member */
	ItemPointerData tid;		/* as in an index */
} Place;

static Place places[PLACES];

/* How long the values of a column are. */
static void
length_of(const LbFetch *fetch, const LbColumn *column, bool *byval, int *len)
{
	int16		typlen;

	if (unlikely(column->expression != NULL))
	{
		get_typlenbyval(column->oid, &typlen, byval);
		*len = typlen;
	}
	else
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(fetch->table),
											  column->attno - 1);

		*byval = att->attbyval;
		*len = att->attlen;
	}
}

/* A hash of the value of a column. */
static uint32
hash_value(const LbFetch *fetch, const LbColumn *column, Datum value)
{
	bool		byval;
	int			len;

	length_of(fetch, column, &byval, &len);
	return datum_image_hash(value, byval, len);
}

/*
 * Where the place of a member's row is remembered.  member is its words, so
 * many of them.
 */
static Place *
place_of(const LbFetch *fetch, const LbDefinition *defn, const int64 *member,
		 int nwords, const Datum *board_values, uint32 *hash)
{
	uint64		seed = RelationGetRelid(fetch->table);

	for (int i = 0; i < defn->nboard; i++)
		seed ^= (uint64) hash_value(fetch, &lb_board_columns(defn)[i],
									board_values[i]) << (32 + i);
	*hash = lb_hash_words(seed, member, nwords);
	return &places[*hash % PLACES];
}

/* Whether a slot has the row of the member that is looked up. */
static bool
is_row_of(const LbFetch *fetch, const LbDefinition *defn,
		  const Datum *board_values, TupleTableSlot *slot)
{
	/* The board columns stand behind the member's. */
	for (int i = 0; i < defn->nmember + defn->nboard; i++)
	{
		const LbColumn *column = &lb_member_columns(defn)[i];
		bool		byval;
		int			len;
		bool		isnull;
		Datum		value = lb_column_value(column, slot, &isnull);

		length_of(fetch, column, &byval, &len);
		if (isnull ||
			!datum_image_eq(value, i < defn->nmember ? fetch->members[i] :
							board_values[i - defn->nmember], byval, len))
			return false;
	}
	return true;
}

/*
 * Vacuum may have cut off the end of the table, but not while the executor has
 * it locked.
 */
static bool
fetch_from(const LbFetch *fetch, const Place *place, TupleTableSlot *slot)
{
	ItemPointerData tid = place->tid;
	bool		again = false;
	bool		all_dead;

	return ItemPointerGetBlockNumber(&tid) < fetch->nblocks &&
		table_index_fetch_tuple(fetch->heap, &tid, fetch->snapshot, slot,
								&again, &all_dead);
}


/* ----------------------------------------------------------------
 *		The index
 * ----------------------------------------------------------------
 */

static void
init_key(ScanKey key, Relation index, int i)
{
	Oid			family = index->rd_opfamily[i];
	Oid			type = index->rd_opcintype[i];
	Oid			equal = get_opfamily_member(family, type, type,
											BTEqualStrategyNumber);

	ScanKeyEntryInitialize(key, 0, (AttrNumber) (i + 1),
						   BTEqualStrategyNumber, type,
						   index->rd_indcollation[i], get_opcode(equal),
						   (Datum) 0);
}

/*
 * Whether a snapshot of this transaction may see rows that an index does not
 * lead to, since it was made after them.  The planner does not use it then.
 */
static bool
is_too_new(Relation index)
{
	return index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   TransactionXmin);
}

/*
 * Whether a column of an index has the equality of the defining query.  One
 * with a nondeterministic collation, or of an operator class that is not the
 * type's own, may lead to the row of another member.
 */
static bool
has_own_equality(Relation index, int i)
{
	Oid			collation = index->rd_indcollation[i];
	Oid			type = index->rd_opcintype[i];

	return (!OidIsValid(collation) ||
			get_collation_isdeterministic(collation)) &&
		get_opfamily_member(index->rd_opfamily[i], type, type,
							BTEqualStrategyNumber) ==
		lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
}

/*
 * Returns false if the index is not one on the member, or is too new.  With
 * counts, also if it may lead to another member; else the board has told that
 * the member is there, and the index is unique.
 */
static bool
begin_scan(LbFetch *fetch, const LbDefinition *defn)
{
	Relation	index = index_open(fetch->index, AccessShareLock);

	if (is_too_new(index))
	{
		index_close(index, NoLock);
		return false;
	}
	fetch->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	for (int i = 0; i < fetch->nkeys; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];

		if (i >= defn->nmember + defn->nboard || attno == InvalidAttrNumber ||
			!is_index_column(defn, attno) ||
			(defn->counts && !has_own_equality(index, i)))
		{
			index_close(index, NoLock);
			return false;
		}
		fetch->columns[i] = lb_member_place(defn, attno);
		if (fetch->columns[i] < 0)
			fetch->columns[i] = defn->nmember + lb_board_place(defn, attno);
		init_key(&fetch->keys[i], index, i);
	}
	fetch->scan = LB_INDEX_BEGINSCAN(fetch->table, index, fetch->snapshot,
									 fetch->nkeys);
	return true;
}

/*
 * Whether there may be a second row of a member: only if the own transaction
 * wrote.
 */
static inline bool
may_see_two(void)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/* Look the member up, and remember the place of its row. */
static LbFound
fetch_by_index(LbFetch *fetch, const LbDefinition *defn, const Datum *board_values,
			   Place *place, TupleTableSlot *slot)
{
	ItemPointer tid;

	if (fetch->scan == NULL && !begin_scan(fetch, defn))
		return LB_FOUND_UNSURE;
	for (int i = 0; i < fetch->nkeys; i++)
		fetch->keys[i].sk_argument = fetch->columns[i] < defn->nmember ?
			fetch->members[fetch->columns[i]] :
			board_values[fetch->columns[i] - defn->nmember];
	index_rescan(fetch->scan, fetch->keys, fetch->nkeys, NULL, 0);
	if (may_see_two())
	{
		if (!index_getnext_slot(fetch->scan, ForwardScanDirection, slot))
			return LB_FOUND_NONE;
		if (index_getnext_slot(fetch->scan, ForwardScanDirection, slot))
			return LB_FOUND_UNSURE;
		index_rescan(fetch->scan, fetch->keys, fetch->nkeys, NULL, 0);
	}
	while ((tid = index_getnext_tid(fetch->scan, ForwardScanDirection)) != NULL)
	{
		/* It becomes that of the row, which may be inside a HOT chain. */
		ItemPointerData root = *tid;

		if (index_fetch_heap(fetch->scan, slot))
		{
			place->tid = root;
			return LB_FOUND;
		}
	}
	return LB_FOUND_NONE;
}


/* ----------------------------------------------------------------
 *		Look-ups
 * ----------------------------------------------------------------
 */

void
lb_fetch_begin(LbFetch *fetch, Relation table, Oid index, Snapshot snapshot)
{
	fetch->table = table;
	fetch->index = index;
	fetch->snapshot = snapshot;
	fetch->nblocks = RelationGetNumberOfBlocks(table);
	fetch->heap = LB_INDEX_FETCH_BEGIN(table);
	fetch->values = AllocSetContextCreate(CurrentMemoryContext,
										  "leaderboard member",
										  ALLOCSET_SMALL_SIZES);
	fetch->scan = NULL;
}

void
lb_fetch_end(LbFetch *fetch)
{
	if (fetch->table == NULL)
		return;
	if (fetch->scan != NULL)
	{
		Relation	index = fetch->scan->indexRelation;

		index_endscan(fetch->scan);
		index_close(index, NoLock);
	}
	table_index_fetch_end(fetch->heap);
	MemoryContextDelete(fetch->values);
	fetch->table = NULL;
}

/* Decode the values of a member's columns. */
static void
set_members(LbFetch *fetch, const LbDefinition *defn, const int64 *member)
{
	MemoryContext old;

	MemoryContextReset(fetch->values);
	old = MemoryContextSwitchTo(fetch->values);
	for (int i = 0; i < defn->nmember; i++)
	{
		const LbColumn *column = &lb_member_columns(defn)[i];
		int64		words[LB_MAX_KEY_WORDS];
		int			n = lb_shape_varies(&defn->shape) ?
			lb_count_words(&defn->shape, defn->nrank_by + i,
						   defn->nrank_by + i + 1, member) :
			column->type->words;

		for (int w = 0; w < n; w++)
			words[w] = lb_directed(member[w], column->descending);
		fetch->members[i] = column->type->decode(column, words);
		member += n;
	}
	MemoryContextSwitchTo(old);
}

/* Look up the row of the member whose values are set. */
static LbFound
fetch_member(LbFetch *fetch, const LbDefinition *defn, const Datum *board_values,
			 Place *place, uint32 hash, TupleTableSlot *slot)
{
	LbFound		found;

	if (!may_see_two() && place->hash == hash &&
		place->table == RelationGetRelid(fetch->table) &&
		fetch_from(fetch, place, slot) &&
		is_row_of(fetch, defn, board_values, slot))
		return LB_FOUND;
	place->table = InvalidOid;
	found = fetch_by_index(fetch, defn, board_values, place, slot);
	if (found == LB_FOUND)
	{
		place->table = RelationGetRelid(fetch->table);
		place->hash = hash;
	}
	return found;
}

bool
lb_fetch(LbFetch *fetch, const LbDefinition *defn, const int64 *member,
		 const Datum *board_values, TupleTableSlot *slot)
{
	uint32		hash;
	Place	   *place = place_of(fetch, defn, member,
								 lb_member_length(&defn->shape, member),
								 board_values, &hash);

	Assert(!defn->shape.counts);
	set_members(fetch, defn, member);
	return fetch_member(fetch, defn, board_values, place, hash, slot) == LB_FOUND;
}

LbFound
lb_fetch_values(LbFetch *fetch, const LbDefinition *defn, const Datum *member,
				const Datum *board_values, TupleTableSlot *slot)
{
	int64		hashes[LB_MAX_MEMBER_COLUMNS];
	uint32		hash;
	Place	   *place;

	for (int i = 0; i < defn->nmember; i++)
	{
		hashes[i] = hash_value(fetch, &lb_member_columns(defn)[i], member[i]);
		fetch->members[i] = member[i];
	}
	place = place_of(fetch, defn, hashes, defn->nmember, board_values, &hash);
	return fetch_member(fetch, defn, board_values, place, hash, slot);
}
