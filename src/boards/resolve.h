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
 * ERRCODE_UNDEFINED_TABLE if that is gone.
 */
extern void lb_resolve_defn(LbDefinition *defn);

/* All definitions on a source, resolved; the source must be locked. */
extern int	lb_defns_of(Oid source, LbDefinition ***defns);

/* The one of these that a catalog has by that number, resolved, or NULL. */
extern LbDefinition *lb_defn_of(Oid source, Oid catalog, int32 id);

/* Problems of a definition that can be told apart. */
extern const char lb_collation_problem[];
extern const char lb_partition_problem[];
extern const char lb_engine_problem[];
extern const char lb_index_problem[];

/*
 * Whether an engine answers queries of a table from rows that it keeps elsewhere:
 * what is in the table itself, and what its triggers see, is not what they return.
 */
extern bool lb_kept_elsewhere(Oid relid);

/* Number and type of a table's column; 0 and InvalidOid if there is none. */
extern AttrNumber lb_find_column(TupleDesc desc, const char *name, Oid *type);

/*
 * Raise an error if a column of a resolved definition is missing or of another
 * type: then there is not even a query.
 */
extern void lb_require_fit(const LbDefinition *defn);

/* Whether a resolved definition uses this column of its source. */
extern bool lb_uses_column(const LbDefinition *defn, AttrNumber attno);

#endif							/* LB_RESOLVE_H */
