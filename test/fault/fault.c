/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  Calls that can fail, and do so when a test wants it.
 *
 * Linked into the library by "make LB_FAULTS=1".  The linker leads the
 * library's own calls of the functions below, which are listed in wrap.opts, to
 * functions of this file (--wrap).  So no source of the library knows about it.
 *
 * Each call counts down the setting leaderboard.fault_at.  The one that reaches
 * zero fails as if memory had run out: it raises an error, or returns what
 * means "no memory" if its caller has asked for that.  Zero is the default, and
 * stays.  A process writes a line about each failure to the file
 * "leaderboard.faults" of the data directory: the type of the process and the
 * name of the function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "../../src/index/arena.h"

static int	fault_at = 0;

/* Whether this call is to fail. */
static bool
fails(const char *function)
{
	char		line[200];
	int			fd;

	if (fault_at <= 0 || --fault_at > 0)
		return false;
	snprintf(line, sizeof(line), "%s: %s\n",
			 MyBgworkerEntry != NULL ? MyBgworkerEntry->bgw_type : "session",
			 function);
	fd = open("leaderboard.faults", O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd >= 0)
	{
		if (write(fd, line, strlen(line)) < 0)
			elog(LOG, "could not write leaderboard.faults: %m");
		close(fd);
	}
	return true;
}

static void
fail(const char *function)
{
	if (fails(function))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("A test had %s() fail.", function)));
}

/* The functions that raise: name, result, parameters and arguments. */
#define WRAP(type, name, params, args) \
	extern type __real_##name params; \
	extern type __wrap_##name params; \
	type \
	__wrap_##name params \
	{ \
		fail(#name); \
		return __real_##name args; \
	}

#define WRAP_VOID(name, params, args) \
	extern void __real_##name params; \
	extern void __wrap_##name params; \
	void \
	__wrap_##name params \
	{ \
		fail(#name); \
		__real_##name args; \
	}

WRAP(void *, palloc, (Size size), (size))
WRAP(void *, palloc0, (Size size), (size))
WRAP(void *, repalloc, (void *p, Size size), (p, size))
WRAP(void *, repalloc_huge, (void *p, Size size), (p, size))
WRAP(void *, MemoryContextAlloc, (MemoryContext c, Size size), (c, size))
WRAP(void *, MemoryContextAllocZero, (MemoryContext c, Size size), (c, size))
#if PG_VERSION_NUM < 170000
WRAP(void *, MemoryContextAllocZeroAligned, (MemoryContext c, Size size),
	 (c, size))
#endif
WRAP(void *, MemoryContextAllocHuge, (MemoryContext c, Size size), (c, size))
WRAP(MemoryContext, AllocSetContextCreateInternal,
	 (MemoryContext parent, const char *name, Size least, Size first,
	  Size most),
	 (parent, name, least, first, most))
WRAP(char *, MemoryContextStrdup, (MemoryContext c, const char *s), (c, s))
WRAP(char *, pstrdup, (const char *s), (s))
WRAP(char *, pnstrdup, (const char *s, Size n), (s, n))
WRAP(text *, cstring_to_text, (const char *s), (s))
WRAP(text *, cstring_to_text_with_len, (const char *s, int n), (s, n))
WRAP(char *, text_to_cstring, (const text *t), (t))
WRAP(List *, lappend, (List *list, void *p), (list, p))
WRAP(List *, lappend_oid, (List *list, Oid oid), (list, oid))
WRAP(List *, lcons_oid, (Oid oid, List *list), (oid, list))
WRAP_VOID(initStringInfo, (StringInfo s), (s))
WRAP_VOID(enlargeStringInfo, (StringInfo s, int n), (s, n))
WRAP(HTAB *, hash_create,
	 (const char *name, long n, const HASHCTL *info, int flags),
	 (name, n, info, flags))
WRAP(HeapTuple, heap_form_tuple, (TupleDesc desc, Datum *v, bool *n),
	 (desc, v, n))
WRAP(MinimalTuple, heap_form_minimal_tuple, (TupleDesc desc, Datum *v, bool *n),
	 (desc, v, n))
WRAP(ArrayType *, construct_md_array,
	 (Datum *v, bool *nulls, int ndims, int *dims, int *lbs, Oid type, int len,
	  bool byval, char align),
	 (v, nulls, ndims, dims, lbs, type, len, byval, align))
WRAP_VOID(deconstruct_array,
		  (ArrayType *array, Oid type, int len, bool byval, char align,
		   Datum **v, bool **nulls, int *n),
		  (array, type, len, byval, align, v, nulls, n))
WRAP(struct varlena *, pg_detoast_datum, (struct varlena *d), (d))
WRAP(struct varlena *, pg_detoast_datum_packed, (struct varlena *d), (d))
WRAP(Tuplestorestate *, tuplestore_begin_heap,
	 (bool randomAccess, bool interXact, int maxKBytes),
	 (randomAccess, interXact, maxKBytes))
WRAP_VOID(tuplestore_putvalues,
		  (Tuplestorestate *s, TupleDesc desc, Datum *v, bool *n),
		  (s, desc, v, n))

/* What allocates in the server on our behalf. */
WRAP(int, SPI_connect, (void), ())
WRAP(SPIPlanPtr, SPI_prepare, (const char *sql, int n, Oid *types),
	 (sql, n, types))
WRAP(int, SPI_execute, (const char *sql, bool readonly, long n),
	 (sql, readonly, n))
WRAP(int, SPI_execute_plan,
	 (SPIPlanPtr plan, Datum *v, const char *n, bool readonly, long count),
	 (plan, v, n, readonly, count))
WRAP(int, SPI_execute_snapshot,
	 (SPIPlanPtr plan, Datum *v, const char *n, Snapshot s, Snapshot check,
	  bool readonly, bool triggers, long count),
	 (plan, v, n, s, check, readonly, triggers, count))
WRAP(Relation, table_open, (Oid oid, LOCKMODE mode), (oid, mode))
WRAP(Relation, relation_open, (Oid oid, LOCKMODE mode), (oid, mode))
WRAP(Relation, try_relation_open, (Oid oid, LOCKMODE mode), (oid, mode))
WRAP(Relation, RelationIdGetRelation, (Oid oid), (oid))
WRAP(HeapTuple, SearchSysCache1, (int cache, Datum key), (cache, key))
WRAP(HeapTuple, SearchSysCache2, (int cache, Datum key1, Datum key2),
	 (cache, key1, key2))
WRAP(Snapshot, RegisterSnapshot, (Snapshot s), (s))
WRAP_VOID(PushActiveSnapshot, (Snapshot s), (s))

/* Finding takes no memory, entering does. */
extern void *__real_hash_search(HTAB *table, const void *key, HASHACTION action,
								bool *found);
extern void *__wrap_hash_search(HTAB *table, const void *key, HASHACTION action,
								bool *found);

void *
__wrap_hash_search(HTAB *table, const void *key, HASHACTION action, bool *found)
{
	if (action == HASH_ENTER)
		fail("hash_search");
	else if (action == HASH_ENTER_NULL && fails("hash_search"))
		return NULL;
	return __real_hash_search(table, key, action, found);
}

extern char *__wrap_psprintf(const char *fmt,...) pg_attribute_printf(1, 2);

char *
__wrap_psprintf(const char *fmt,...)
{
	Size		size = 128;

	fail("psprintf");
	for (;;)
	{
		char	   *s = palloc(size);
		va_list		args;
		Size		needed;

		va_start(args, fmt);
		needed = pvsnprintf(s, size, fmt, args);
		va_end(args);
		if (needed < size)
			return s;
		pfree(s);
		size = needed;
	}
}

/* A caller that can do without gets NULL. */
extern void *__real_MemoryContextAllocExtended(MemoryContext c, Size size,
											   int flags);
extern void *__wrap_MemoryContextAllocExtended(MemoryContext c, Size size,
											   int flags);

void *
__wrap_MemoryContextAllocExtended(MemoryContext c, Size size, int flags)
{
	if ((flags & MCXT_ALLOC_NO_OOM) == 0)
		fail("MemoryContextAllocExtended");
	else if (fails("MemoryContextAllocExtended (no error)"))
		return NULL;
	return __real_MemoryContextAllocExtended(c, size, flags);
}

/* Shared memory. */
extern LbRef __real_lb_alloc(const LbMem *mem, int order);
extern LbRef __wrap_lb_alloc(const LbMem *mem, int order);

LbRef
__wrap_lb_alloc(const LbMem *mem, int order)
{
	if (fails("lb_alloc"))
		return LB_NONE;
	return __real_lb_alloc(mem, order);
}

/* Called by _PG_init(), which has been everywhere that settings are made. */
extern void __real_lb_xact_init(void);
extern void __wrap_lb_xact_init(void);

void
__wrap_lb_xact_init(void)
{
	DefineCustomIntVariable("leaderboard.fault_at",
							"Sets which of the next calls that can run out of memory does.",
							"For tests; zero is none.",
							&fault_at,
							0, 0, INT_MAX,
							PGC_USERSET, 0,
							NULL, NULL, NULL);
	__real_lb_xact_init();
}
