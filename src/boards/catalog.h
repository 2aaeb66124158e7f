/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  The extension as this database has it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CATALOG_H
#define LB_CATALOG_H

#include "postgres.h"

/* The extension as this database has it. */
typedef struct LbCatalog
{
	Oid			extension;
	Oid			schema;
	Oid			lb_board;		/* relation */
	Oid			capture;		/* function lb_capture */
	Oid			set_updated_at; /* function lb_set_updated_at */
	bool		version_ok;		/* script and library are of one version */
} LbCatalog;

/*
 * The catalog entry, or NULL if the database does not have the extension.
 * Valid until the next invalidation.
 */
extern const LbCatalog *lb_catalog(void);

/* Whether nothing has been invalidated since the catalog entry was looked up. */
extern bool lb_catalog_valid(void);

/* Raise 55000 if script and library are of different versions. */
extern void lb_require_version(void);

/*
 * A number that changes with what lb_board says and what it has been resolved
 * to: texts that were made from definitions hold as long as it is the same.
 */
extern uint64 lb_defns_generation(void);

/* Have that number change. */
extern void lb_defns_changed(void);

/* Have the catalog entry looked up anew by the next caller that asks. */
extern void lb_catalog_forget(void);

#endif							/* LB_CATALOG_H */
