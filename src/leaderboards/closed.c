/*-------------------------------------------------------------------------
 *
 * closed.c
 *	  Windows that have been closed: lb_closed, and locks on keys.
 *
 * A window that is closed is entered in lb_closed.  A submit holds the lock on
 * the key of each window that it writes to, to the end of its transaction;
 * closing takes the lock exclusively.  So no row is written after the final
 * standings were read.
 *
 * A backend remembers keys that were not in lb_closed when it was last
 * changed. Closing a window invalidates the relcache entry of lb_closed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_collation.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "boards/cache.h"
#include "leaderboards/calendar.h"
#include "leaderboards/closed.h"
#include "sql/spi.h"

/*
 * Keys that were not in lb_closed when it was last changed.  When there is no
 * room for another, all of them are forgotten.
 */
#define MAX_NOT_CLOSED 64
static Oid	closed_relid = InvalidOid;
static char not_closed[MAX_NOT_CLOSED][LB_MAX_WINDOW_KEY + 1];
static int	nnot_closed = 0;
static uint64 nclosings = 0;	/* invalidations of lb_closed */

static void
invalidate(Oid relid, void *arg)
{
	if (relid == InvalidOid || relid == closed_relid)
	{
		nnot_closed = 0;
		nclosings++;
	}
}

/* Two keys with the same hash wait for each other, which is harmless. */
static void
key_locktag(const char *key, int len, LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, lb_own_table("lb_closed"),
					   hash_bytes((const unsigned char *) key, len), 0);
}

void
lb_window_lock(const char *key, int len, LOCKMODE mode)
{
	LOCKTAG		tag;

	key_locktag(key, len, &tag);
	(void) LockAcquire(&tag, mode, false, false);
}

bool
lb_window_try_lock(const char *key, int len, LOCKMODE mode)
{
	LOCKTAG		tag;

	key_locktag(key, len, &tag);
	return LockAcquire(&tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

bool
lb_window_is_closed(const char *key, int len)
{
	Relation	rel;
	Oid			index = lb_own_table("lb_closed_pkey");
	ScanKeyData skey;
	SysScanDesc scan;
	bool		closed;

	/* The newest state, whatever the caller's snapshot. */
	rel = table_open(lb_own_table("lb_closed"), AccessShareLock);
	ScanKeyInit(&skey, 1, BTEqualStrategyNumber, F_TEXTEQ,
				PointerGetDatum(cstring_to_text_with_len(key, len)));
	skey.sk_collation = C_COLLATION_OID;
	scan = systable_beginscan(rel, index, true, NULL, 1, &skey);
	closed = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return closed;
}

/*
 * A transaction that closes a key sends the invalidation of lb_closed before
 * it releases the lock on the key.
 */
bool
lb_window_locked_is_closed(const char *key, int len)
{
	Oid			relid = lb_own_table("lb_closed");
	uint64		before;

	lb_cache_register(invalidate, NULL);
	AcceptInvalidationMessages();
	if (closed_relid != relid)
	{
		closed_relid = relid;
		nnot_closed = 0;
	}
	for (int i = 0; i < nnot_closed; i++)
	{
		if (strncmp(not_closed[i], key, len) == 0 && not_closed[i][len] == '\0')
			return false;
	}
	before = nclosings;
	if (lb_window_is_closed(key, len))
		return true;
	if (len <= LB_MAX_WINDOW_KEY && before == nclosings)
	{
		if (nnot_closed == MAX_NOT_CLOSED)
			nnot_closed = 0;
		memcpy(not_closed[nnot_closed], key, len);
		not_closed[nnot_closed++][len] = '\0';
	}
	return false;
}
