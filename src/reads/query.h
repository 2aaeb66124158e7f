/*-------------------------------------------------------------------------
 *
 * query.h
 *	  The defining queries, run through SPI.
 *
 * Each read function can be answered by its query in the caller's snapshot,
 * with the caller's privileges and row-level security.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_QUERY_H
#define LB_QUERY_H

#include "access/tupdesc.h"
#include "utils/tuplestore.h"

#include "boards/live.h"
#include "reads/query_text.h"

/* What a query is run with. */
typedef struct LbQueryArgs
{
	const LbQuery *query;
	LbMethod	method;
	bool		own_types;
	const Datum *params;		/* see lb_query_params() */
	const bool *nulls;			/* of them, or NULL: none is null */
	const LbValue *value;		/* of the family's board, or NULL */
	bool		key;			/* for lb_query_words() */
	LbQueryStep step;			/* LB_STEP_WHOLE; LB_STEP_GIVEN, LB_STEP_TIES,
								 * LB_STEP_PAGE */
	const LbStart *start;		/* with the last three */
} LbQueryArgs;

/*
 * Run the query of a function that returns one value.  Its plan is kept as
 * long as definitions do not change (lb_defns_generation).  Raises whatever
 * the query raises.
 */
extern Datum lb_query_value(const LbDefinition *defn, const LbQueryArgs *args,
							bool *isnull);

/*
 * Run the query of a function that returns rows: they are added to tupstore,
 * whose descriptor is tupdesc.  Returns their number.
 */
extern uint64 lb_query_rows(const LbDefinition *defn, const LbQueryArgs *args,
							Tuplestorestate *tupstore, TupleDesc tupdesc);

/*
 * The words of the key of the member that is the first operand, as the board's
 * index has it, LB_MAX_KEY_WORDS at most, by a query for its row.  If another
 * engine keeps the table's rows, the query has LbQuery.given.  *found is
 * whether the member is on the board.  Returns false if only the defining
 * query can tell.
 */
extern bool lb_query_words(const LbDefinition *defn, LbQueryArgs *args,
						   int64 *key, bool *found);

/* Whether a query of this backend is under way. */
extern bool lb_query_running(void);

#endif							/* LB_QUERY_H */
