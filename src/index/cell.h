/*-------------------------------------------------------------------------
 *
 * cell.h
 *	  Cells: the words of keys that blocks have no room for.
 *
 * A block holds the first words of a key with texts, and its last word is a
 * handle of the cell with the other ones, or 0.  The handle says how many
 * words there are, so reading a cell reads nothing else.
 *
 * The cells of an index are in slabs, chunks of the arena that are cut into
 * cells of one size.  The caller has the lock of the index: at least shared
 * for functions that take a const LbCells, exclusive for the others.  None
 * raises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CELL_H
#define LB_CELL_H

#include "index/arena.h"
#include "index/shape.h"

/* The cells of one index, in shared memory (part of LbIndex). */
typedef struct LbCells
{
	LbRef		classes;		/* chunk with the lists of slabs, LB_NONE
								 * without cells */
	uint32		chunks;			/* memory, in units of LB_CHUNK_SIZE */
} LbCells;

/* Cells counted: how many, and the sum of a hash of each. */
typedef struct LbCellSum
{
	uint64		n;
	uint64		sum;
} LbCellSum;

/*
 * A handle has the chunk in its upper bits, then 8 bits for the cell's place
 * in the chunk, in words, and 8 bits for the number of words used.
 */
static inline int64
lb_cell_handle(LbRef slab, int place, int nwords)
{
	return (int64) slab << 16 | place << 8 | nwords;
}

static inline LbRef
lb_cell_slab(int64 cell)
{
	return (LbRef) (cell >> 16);
}

static inline int
lb_cell_place(int64 cell)
{
	return (int) (cell >> 8) & 0xff;
}

/* How many words a cell has. */
static inline int
lb_cell_length(int64 cell)
{
	return (int) cell & 0xff;
}

/* The words of a cell. */
static inline int64 *
lb_cell_words(const LbArena *arena, int64 cell)
{
	return (int64 *) lb_ptr(arena, lb_cell_slab(cell)) + lb_cell_place(cell);
}

/*
 * Make a cell with nwords words, 1 to LB_MAX_KEY_WORDS.  Returns its handle,
 * or 0 if there is no memory, and then nothing has changed.
 */
extern int64 lb_cell_new(const LbMem *mem, LbCells *cells, const int64 *words,
						 int nwords);

extern void lb_cell_free(const LbMem *mem, LbCells *cells, int64 cell);

/* Free all cells. */
extern void lb_cells_free(const LbMem *mem, LbCells *cells);

/*
 * The most memory, in bytes, that n cells of nwords words take if there never
 * were more of them.
 */
extern uint64 lb_cells_estimate(uint64 n, int nwords);

/* Count a cell. */
extern void lb_cell_count(const LbArena *arena, int64 cell, LbCellSum *sum);

/*
 * Whether a word is a handle that leads to a cell in use.  It may be anything.
 */
extern bool lb_cell_valid(const LbArena *arena, int64 cell);

/*
 * Check the slabs and their lists, and count all cells in use.  Returns NULL,
 * or a static string with a fault.
 */
extern const char *lb_cells_check(const LbArena *arena, const LbCells *cells,
								  LbCellSum *sum);

#endif							/* LB_CELL_H */
