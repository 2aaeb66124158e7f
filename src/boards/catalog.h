/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  The extension in this database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CATALOG_H
#define LB_CATALOG_H

#include "postgres.h"

/* OIDs of the extension in this database. */
typedef struct LbCatalog
{
	Oid			extension;
	Oid			schema;
	Oid			internal_schema;	/* of functions that users do not call */
	Oid			lb_board;		/* relation */
	Oid			capture;		/* function lb_capture */
	Oid			set_updated_at; /* function lb_set_updated_at */
	bool		version_ok;		/* the SQL objects are of the library's
								 * version */
} LbCatalog;

/*
 * The extension, or NULL if the database does not have it.  Valid until the
 * next invalidation.  Can raise.
 */
extern const LbCatalog *lb_catalog(void);

/* Whether what lb_catalog() last returned has not been invalidated. */
extern bool lb_catalog_valid(void);

/* Raise 55000 if the SQL objects are of another version than the library. */
extern void lb_require_version(void);

/*
 * A number that changes with the extension, with what lb_board records, and
 * with what that is resolved to.  A text that was made from definitions is
 * valid as long as the number is the same.
 */
extern uint64 lb_defns_generation(void);

/* Change that number. */
extern void lb_next_generation(void);

/* Let the next lb_catalog() look the extension up again. */
extern void lb_catalog_forget(void);

#endif							/* LB_CATALOG_H */
