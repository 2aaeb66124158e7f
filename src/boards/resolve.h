/*-------------------------------------------------------------------------
 *
 * resolve.h
 *	  Definitions resolved against their tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RESOLVE_H
#define LB_RESOLVE_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "boards/definition.h"

/*
 * Resolve a definition against its source, which must be locked.  Raises
 * ERRCODE_UNDEFINED_TABLE if the source is gone, and what a catalog lookup can
 * raise.
 */
extern void lb_resolve_anew(LbDefinition *defn);

/* Resolve a definition unless it is resolved. */
static inline void
lb_resolve_defn(LbDefinition *defn)
{
	if (!defn->resolved)
		lb_resolve_anew(defn);
}

/*
 * Settle the width of a definition that may not be resolved, by the types that
 * its columns have now.  Locks nothing; raises what a catalog lookup can
 * raise.
 */
extern void lb_settle_width(LbDefinition *defn);

/*
 * All definitions on a source, resolved, as lb_defns_on() returns them.  The
 * source must be locked.
 */
extern int	lb_defns_of(Oid source, LbDefinition ***defns);

/* The one of these with that lb_board and lb_board.id, resolved, or NULL. */
extern LbDefinition *lb_defn_of(Oid source, Oid catalog, int32 id);

/*
 * Values of LbDefinition.problem that callers distinguish, by their address.
 */
extern const char lb_partition_problem[];
extern const char lb_engine_problem[];
extern const char lb_index_problem[];

/*
 * Whether Citus keeps the rows of a table on other servers, and answers
 * queries from there.  The table itself, and its triggers, then do not see
 * what queries return.  Can raise.
 */
extern bool lb_is_distributed_table(Oid relid);

/* Number of a table's column, 0 if it does not exist. */
extern AttrNumber lb_find_column(TupleDesc desc, const char *name);

/*
 * Raise 55000 if a column of a resolved definition is missing or has a type
 * that does not fit: then there is not even a defining query.
 */
extern void lb_require_fit(const LbDefinition *defn);

/* Whether a resolved definition uses this column of its source. */
extern bool lb_uses_column(const LbDefinition *defn, AttrNumber attno);

/*
 * Raise 0A000 if a board has no member, which only one that keeps counts may
 * lack.
 */
extern void lb_require_member(const LbDefinition *defn);

/*
 * Raise 42703 unless the table of a board has a column "metadata" of type
 * jsonb, which submits write and lb_metadata() reads.
 */
extern void lb_require_metadata(const LbDefinition *defn);

#endif							/* LB_RESOLVE_H */
