/*-------------------------------------------------------------------------
 *
 * entry.c
 *	  Windows that players join: lb_entry.
 *
 * A tournament is a window, with all that windows have, and a row of
 * lb_entry: how many players can join each span of the window, and when.
 * windows/join.c has the players.
 *
 * Each backend caches the rows of lb_entry.  A submit asks the cache once
 * whether there are any.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "boards/row_cache.h"
#include "boards/target.h"
#include "leaderboards/entry.h"
#include "sql/spi.h"

/* Columns of lb_entry, as the script has them. */
enum
{
	Anum_lb_entry_name = 1,
	Anum_lb_entry_max_entrants,
	Anum_lb_entry_opens,
	Anum_lb_entry_closes,
	Natts_lb_entry = Anum_lb_entry_closes
};


/* ----------------------------------------------------------------
 *		The cache
 * ----------------------------------------------------------------
 */

static int
entry_cmp(const void *a, const void *b)
{
	return strcmp((*(LbEntry *const *) a)->name, (*(LbEntry *const *) b)->name);
}

static Interval *
copy_interval(Datum value, bool isnull)
{
	Interval   *copy;

	if (isnull)
		return NULL;
	copy = palloc(sizeof(Interval));
	*copy = *DatumGetIntervalP(value);
	return copy;
}

static void *
entry_from_tuple(HeapTuple tuple, TupleDesc desc)
{
	LbEntry    *entry = palloc0(sizeof(LbEntry));
	Datum		values[Natts_lb_entry];
	bool		nulls[Natts_lb_entry];

	lb_row_values(tuple, desc, Natts_lb_entry, values, nulls);
#define COLUMN(column) \
	values[Anum_lb_entry_##column - 1], nulls[Anum_lb_entry_##column - 1]
	strlcpy(entry->name, TextDatumGetCString(values[Anum_lb_entry_name - 1]),
			sizeof(entry->name));
	entry->has_max = !nulls[Anum_lb_entry_max_entrants - 1];
	if (entry->has_max)
		entry->max = DatumGetInt64(values[Anum_lb_entry_max_entrants - 1]);
	entry->opens = copy_interval(COLUMN(opens));
	entry->closes = copy_interval(COLUMN(closes));
#undef COLUMN
	return entry;
}

static LbRowCache cache = {.table = "lb_entry",.from_tuple = entry_from_tuple,.cmp = entry_cmp};

bool
lb_has_entries(void)
{
	void	  **entries;

	return lb_cached_rows(&cache, &entries) > 0;
}

const LbEntry *
lb_entry_find(const char *name)
{
	void	  **entries;
	int			n = lb_cached_rows(&cache, &entries);

	return lb_find_by_name(entries, n, offsetof(LbEntry, name), name,
						   strlen(name));
}


/* ----------------------------------------------------------------
 *		Spans
 * ----------------------------------------------------------------
 */

LbWindow *
lb_require_window(const char *board, LbSpan *span)
{
	int			len = strlen(board);
	LbWindow   *window = lb_window_find(board, len);

	if (window != NULL && window->calendar.period != LB_ONCE)
		(void) lb_window_span(window, GetCurrentTransactionStartTimestamp(), 0,
							  span);
	else
		window = lb_window_of_key(board, len, span);
	if (window == NULL)
		lb_window_not_found(board, NULL);
	return window;
}

void
lb_entry_times(const LbEntry *entry, const LbSpan *span, TimestampTz *opens,
			   TimestampTz *closes)
{
	*opens = DT_NOBEGIN;
	*closes = span->ends;
	if (entry->opens != NULL)
		*opens = lb_calendar_after(span->starts, entry->opens);
	if (entry->closes != NULL)
		*closes = Min(*closes, lb_calendar_after(span->starts, entry->closes));
}


void
lb_lock_entries_of(const char *table, Datum name, LOCKMODE mode)
{
	text	   *t = DatumGetTextPP(name);
	LOCKTAG		tag;

	/* Two names with one hash wait for each other, which is harmless. */
	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, lb_own_table(table),
					   hash_bytes((unsigned char *) VARDATA_ANY(t),
								  VARSIZE_ANY_EXHDR(t)),
					   0);
	(void) LockAcquire(&tag, mode, false, false);
}
