/*-------------------------------------------------------------------------
 *
 * keyset.h
 *	  Recognizing quals that ask for what comes behind a key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_KEYSET_H
#define LB_KEYSET_H

#include "postgres.h"

#include "planner/columns.h"

/* Such a qual: operands for the first columns of the key. */
typedef struct LbKeyset
{
	int			strategy;		/* of the first column's B-tree operators */
	List	   *operands;		/* the query's own expressions */
	List	   *types;			/* their types */
	AttrNumber	first;			/* the first of these columns */
} LbKeyset;

/*
 * Whether an OR asks for the keys behind, or before, those that begin with
 * some operands.  quals are all quals on the table, clauses or RestrictInfos.
 * Lists are palloc'd.
 */
extern bool lb_find_keyset(const LbSource *source, const LbDefinition *defn,
						   BoolExpr *clause, List *quals, LbKeyset *keyset);

#endif							/* LB_KEYSET_H */
