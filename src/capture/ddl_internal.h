/*-------------------------------------------------------------------------
 *
 * ddl_internal.h
 *	  What the files of ddl.h share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DDL_INTERNAL_H
#define LB_DDL_INTERNAL_H

#include "postgres.h"

#include "catalog/objectaccess.h"

#include "boards/definition.h"

/*
 * At the end of the statement the board is recorded anew, under the names that
 * its columns and expressions have then.  Can raise.
 */
extern void lb_note_renamed(const LbDefinition *defn);

/*
 * An object was altered, replaced or is dropped, which is neither a table nor
 * a trigger: what expressions of boards may name, or what keeps one.  Can
 * raise.
 */
extern void lb_object_altered(ObjectAccessType access, Oid classId,
							  Oid objectId);

/* The owner of a table was altered.  Can raise. */
extern void lb_owner_altered(Oid relid);

#endif							/* LB_DDL_INTERNAL_H */
