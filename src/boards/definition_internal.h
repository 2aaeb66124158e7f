/*-------------------------------------------------------------------------
 *
 * definition_internal.h
 *	  What the files of definition.h share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DEFINITION_INTERNAL_H
#define LB_DEFINITION_INTERNAL_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"

#include "boards/definition.h"

/* Columns of lb_board, as the install script has them. */
enum
{
	Anum_lb_board_board = 1,
	Anum_lb_board_id,
	Anum_lb_board_source,
	Anum_lb_board_options,		/* the first of LB_NOPTIONS */
	Anum_lb_board_expressions = Anum_lb_board_options + LB_NOPTIONS,
	Natts_lb_board = Anum_lb_board_expressions
};

/*
 * Fill in a definition from a row of lb_board, with its columns and their
 * expressions in the current memory context.  Raises what a catalog lookup can
 * raise.
 */
extern void lb_read_row(LbDefinition *defn, HeapTuple tuple, TupleDesc desc,
						Oid lb_board);

#endif							/* LB_DEFINITION_INTERNAL_H */
