/*-------------------------------------------------------------------------
 *
 * cell.c
 *	  Cells: the words of keys that blocks have no room for.
 *
 * This is slab allocation (J. Bonwick, "The slab allocator: an object-caching
 * kernel memory allocator", USENIX Summer 1994).  Each size of cells has a
 * list of slabs.  A slab is a chunk of the arena with a header and cells of
 * this size; those that were freed are chained through their first words.  The
 * list is a circle in which slabs with room come before full ones, so the
 * first one has room if any has.  A slab whose last cell is freed goes back to
 * the arena.
 *
 * Differences to the paper.  There are no constructors and no coloring.  Sizes
 * go up by a word to 16 words, and then so that a page has one cell less.  The
 * first slab of a size is as small as can be and the next ones double, up to a
 * page, so that small indexes stay small.  The lists are in a chunk of their
 * own, which an index without cells does not have.
 *
 * Disadvantages.  After keys have become shorter or longer, slabs of the
 * former sizes may be nearly empty, and are not compacted.  A cell of more
 * than 16 words wastes up to a third of its slab's share.
 *
 * Invariants, checked by lb_cells_check:
 *	- every slab of a size is in its circle, and none is empty;
 *	- no slab with room comes after a full one;
 *	- cells numbered below "fresh" are in use or in the chain of free ones, the
 *	  others were never used;
 *	- an index without cells has no memory for them.
 *
 *-------------------------------------------------------------------------
 */
#include "index/cell.h"

/* Words of a cell, by class. */
static const uint8 class_words[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	18, 21, 25, 28, 31, 36, 42, 50, 63, 84, 127
};

#define NCLASSES ((int) sizeof(class_words))
#define EXACT_CLASSES 16		/* class i has i + 1 words */

/* The lists of an index. */
typedef struct CellClasses
{
	LbRef		first[NCLASSES];	/* slab, or LB_NONE */
	uint32		nslabs[NCLASSES];
} CellClasses;

typedef struct Slab
{
	LbRef		next;			/* in the circle of its class */
	LbRef		prev;
	uint8		class;
	uint8		order;			/* size of the chunk, see arena.h */
	uint16		used;			/* cells in use */
	uint16		fresh;			/* the first cell that was never used */
	uint16		free;			/* 1 + the first cell that was freed, or 0 */
} Slab;

#define HEADER_WORDS ((int) (sizeof(Slab) / sizeof(int64)))

StaticAssertDecl(sizeof(Slab) == 16, "a slab has no padding");
StaticAssertDecl(sizeof(CellClasses) <= LB_CHUNK_SIZE,
				 "the lists fit into a chunk");
StaticAssertDecl(LB_MAX_KEY_WORDS <= 127 &&
				 LB_PAGE_SIZE / sizeof(int64) <= 256,
				 "a handle has room for any place and length");

static inline CellClasses *
classes_of(const LbArena *arena, const LbCells *cells)
{
	return (CellClasses *) lb_ptr(arena, cells->classes);
}

static inline Slab *
slab_ptr(const LbArena *arena, LbRef ref)
{
	return (Slab *) lb_ptr(arena, ref);
}

/* The class of cells with this many words. */
static inline int
class_of(int nwords)
{
	int			class = EXACT_CLASSES;

	Assert(nwords >= 1 && nwords <= LB_MAX_KEY_WORDS);
	if (nwords <= EXACT_CLASSES)
		return nwords - 1;
	while (class_words[class] < nwords)
		class++;
	return class;
}

/* How many cells of a class fit into a slab of this order. */
static inline int
slab_capacity(int class, int order)
{
	return ((int) ((LB_CHUNK_SIZE << order) / sizeof(int64)) - HEADER_WORDS) /
		class_words[class];
}

static inline int
slab_cap(const Slab *slab)
{
	return slab_capacity(slab->class, slab->order);
}

/* Where in its slab a cell is, in words. */
static inline int
cell_place(const Slab *slab, int number)
{
	return HEADER_WORDS + number * class_words[slab->class];
}

/* The first word of a cell. */
static inline int64 *
cell_at(Slab *slab, int number)
{
	return (int64 *) slab + cell_place(slab, number);
}

/*--------------------------------------------------------------------------
 * Slabs and their lists
 *--------------------------------------------------------------------------
 */

/* Put a slab first into the circle of its class. */
static void
link_slab(const LbArena *arena, LbRef *first, LbRef ref)
{
	Slab	   *slab = slab_ptr(arena, ref);

	if (*first == LB_NONE)
		slab->next = slab->prev = ref;
	else
	{
		Slab	   *next = slab_ptr(arena, *first);

		slab->next = *first;
		slab->prev = next->prev;
		slab_ptr(arena, slab->prev)->next = ref;
		next->prev = ref;
	}
	*first = ref;
}

static void
unlink_slab(const LbArena *arena, LbRef *first, LbRef ref)
{
	Slab	   *slab = slab_ptr(arena, ref);

	if (slab->next == ref)
		*first = LB_NONE;
	else
	{
		slab_ptr(arena, slab->next)->prev = slab->prev;
		slab_ptr(arena, slab->prev)->next = slab->next;
		if (*first == ref)
			*first = slab->next;
	}
}

/* Take a chunk; LB_NONE if there is no memory. */
static LbRef
take_chunk(const LbMem *mem, LbCells *cells, int order)
{
	LbRef		ref = lb_alloc(mem, order);

	if (ref != LB_NONE)
		cells->chunks += (uint32) 1 << order;
	return ref;
}

static void
give_chunk(const LbMem *mem, LbCells *cells, LbRef ref, int order)
{
	lb_free(mem, ref, order);
	cells->chunks -= (uint32) 1 << order;
}

/* Free the lists if they have no slab. */
static void
trim_classes(const LbMem *mem, LbCells *cells)
{
	if (cells->chunks > 1)
		return;
	give_chunk(mem, cells, cells->classes, 0);
	cells->classes = LB_NONE;
}

/* The size of the slab to make if there are nslabs of its class. */
static int
slab_order(int class, uint32 nslabs)
{
	int			order = (int) Min(nslabs, LB_MAX_ORDER);

	while (slab_capacity(class, order) == 0)
		order++;
	return order;
}

/* Make a slab, first in the list of its class.  False: no memory. */
static bool
new_slab(const LbMem *mem, LbCells *cells, int class)
{
	CellClasses *classes = classes_of(mem->arena, cells);
	int			order = slab_order(class, classes->nslabs[class]);
	LbRef		ref = take_chunk(mem, cells, order);
	Slab	   *slab;

	if (ref == LB_NONE)
		return false;
	slab = slab_ptr(mem->arena, ref);
	slab->class = (uint8) class;
	slab->order = (uint8) order;
	slab->used = 0;
	slab->fresh = 0;
	slab->free = 0;
	link_slab(mem->arena, &classes->first[class], ref);
	classes->nslabs[class]++;
	return true;
}

/*--------------------------------------------------------------------------
 * Cells
 *--------------------------------------------------------------------------
 */

int64
lb_cell_new(const LbMem *mem, LbCells *cells, const int64 *words, int nwords)
{
	LbArena    *arena = mem->arena;
	int			class = class_of(nwords);
	int			number;
	LbRef	   *first;
	LbRef		ref;
	Slab	   *slab;

	if (cells->classes == LB_NONE)
	{
		cells->classes = take_chunk(mem, cells, 0);
		if (cells->classes == LB_NONE)
			return 0;
		memset(classes_of(arena, cells), 0, sizeof(CellClasses));
	}
	first = &classes_of(arena, cells)->first[class];
	slab = *first == LB_NONE ? NULL : slab_ptr(arena, *first);
	if (slab == NULL || slab->used == slab_cap(slab))
	{
		if (!new_slab(mem, cells, class))
		{
			trim_classes(mem, cells);
			return 0;
		}
	}

	ref = *first;
	slab = slab_ptr(arena, ref);
	if (slab->free != 0)
	{
		number = slab->free - 1;
		slab->free = (uint16) *cell_at(slab, number);
	}
	else
		number = slab->fresh++;
	slab->used++;
	memcpy(cell_at(slab, number), words, nwords * sizeof(int64));

	/* One step of the circle makes the full slab the last. */
	if (slab->used == slab_cap(slab))
		*first = slab->next;
	return lb_cell_handle(ref, cell_place(slab, number), nwords);
}

void
lb_cell_free(const LbMem *mem, LbCells *cells, int64 cell)
{
	LbArena    *arena = mem->arena;
	LbRef		ref = lb_cell_slab(cell);
	Slab	   *slab = slab_ptr(arena, ref);
	CellClasses *classes = classes_of(arena, cells);
	LbRef	   *first = &classes->first[slab->class];
	int			number = (lb_cell_place(cell) - HEADER_WORDS) /
		class_words[slab->class];
	bool		was_full = slab->used == slab_cap(slab);

	Assert(lb_cell_valid(arena, cell));
	*cell_at(slab, number) = slab->free;
	slab->free = (uint16) (number + 1);
	slab->used--;
	if (slab->used == 0)
	{
		classes->nslabs[slab->class]--;
		unlink_slab(arena, first, ref);
		give_chunk(mem, cells, ref, slab->order);
		trim_classes(mem, cells);
	}
	else if (was_full)
	{
		unlink_slab(arena, first, ref);
		link_slab(arena, first, ref);
	}
}

void
lb_cells_free(const LbMem *mem, LbCells *cells)
{
	LbArena    *arena = mem->arena;

	if (cells->classes == LB_NONE)
		return;
	for (int class = 0; class < NCLASSES; class++)
	{
		uint32		n = classes_of(arena, cells)->nslabs[class];
		LbRef		ref = classes_of(arena, cells)->first[class];

		while (n-- > 0)
		{
			const Slab *slab = slab_ptr(arena, ref);
			LbRef		next = slab->next;

			give_chunk(mem, cells, ref, slab->order);
			ref = next;
		}
	}
	trim_classes(mem, cells);
	Assert(cells->chunks == 0);
}

uint64
lb_cells_estimate(uint64 n, int nwords)
{
	int			class = class_of(nwords);
	uint64		bytes = n > 0 ? LB_CHUNK_SIZE : 0;
	uint32		nslabs = 0;
	uint64		cap;

	/* Slabs of growing sizes, and then pages. */
	while (n > 0 && nslabs < LB_MAX_ORDER)
	{
		int			order = slab_order(class, nslabs++);

		n -= Min(n, (uint64) slab_capacity(class, order));
		bytes += (uint64) LB_CHUNK_SIZE << order;
	}

	/* A slab that has been freed comes back larger. */
	if (bytes > 0)
		bytes += (uint64) LB_CHUNK_SIZE << slab_order(class, nslabs);
	cap = (uint64) slab_capacity(class, LB_MAX_ORDER);
	return bytes + (n + cap - 1) / cap * LB_PAGE_SIZE;
}

/*--------------------------------------------------------------------------
 * The check
 *--------------------------------------------------------------------------
 */

void
lb_cell_count(const LbArena *arena, int64 cell, LbCellSum *sum)
{
	uint64		h = (uint64) (cell >> 8) ^ arena->hash_seed;

	/* Two sets of cells have the same sum only if they are the same. */
	h *= UINT64CONST(0xff51afd7ed558ccd);
	h ^= h >> 32;
	h *= UINT64CONST(0xc4ceb9fe1a85ec53);
	h ^= h >> 29;
	sum->n++;
	sum->sum += h;
}

/* Whether a chunk that is handed out has the header of a slab. */
static bool
is_slab(const LbArena *arena, LbRef ref)
{
	const Slab *slab;

	if (ref == LB_NONE ||
		(uint64) ref + LB_PAGE_SIZE / LB_CHUNK_SIZE > arena->nchunks)
		return false;
	slab = slab_ptr(arena, ref);
	return slab->order <= LB_MAX_ORDER && slab->class < NCLASSES &&
		lb_arena_owns(arena, ref, slab->order) &&
		slab->fresh <= slab_cap(slab) && slab->used <= slab->fresh;
}

bool
lb_cell_valid(const LbArena *arena, int64 cell)
{
	const Slab *slab;
	int			words;
	int			place = lb_cell_place(cell) - HEADER_WORDS;

	if (cell < 0 || cell >> 48 != 0 || !is_slab(arena, lb_cell_slab(cell)))
		return false;
	slab = slab_ptr(arena, lb_cell_slab(cell));
	words = class_words[slab->class];
	return place >= 0 && place % words == 0 && place / words < slab->fresh &&
		lb_cell_length(cell) >= 1 && lb_cell_length(cell) <= words;
}

/* Check a slab, and count its cells. */
static const char *
check_slab(const LbArena *arena, LbRef ref, LbCellSum *sum)
{
	Slab	   *slab = slab_ptr(arena, ref);
	bool		is_free[LB_PAGE_SIZE / sizeof(int64)] = {false};
	int			nfree = 0;
	int64		number = slab->free;

	while (number != 0)
	{
		if (number < 0 || number > slab->fresh || is_free[number - 1])
			return "index: a slab's chain of free cells is wrong";
		is_free[number - 1] = true;
		nfree++;
		number = *cell_at(slab, (int) number - 1);
	}
	if (slab->used == 0 || slab->used + nfree != slab->fresh)
		return "index: a slab's number of cells is wrong";
	for (int i = 0; i < slab->fresh; i++)
	{
		if (!is_free[i])
			lb_cell_count(arena, lb_cell_handle(ref, cell_place(slab, i), 0),
						  sum);
	}
	return NULL;
}

/* Check the slabs of a class. */
static const char *
check_class(const LbArena *arena, const LbCells *cells, int class,
			uint32 *chunks, LbCellSum *sum)
{
	const CellClasses *classes = classes_of(arena, cells);
	LbRef		ref = classes->first[class];
	bool		full = false;

	if (classes->nslabs[class] == 0)
		return ref == LB_NONE ? NULL : "index: a list has a slab too many";
	for (uint32 i = 0; i < classes->nslabs[class]; i++)
	{
		const Slab *slab;
		const char *problem;

		if (!is_slab(arena, ref))
			return "index: a list leads to a chunk that is not a slab";
		slab = slab_ptr(arena, ref);
		if (slab->class != class || !is_slab(arena, slab->next) ||
			slab_ptr(arena, slab->next)->prev != ref)
			return "index: a slab is wrongly linked";
		if (full && slab->used < slab_cap(slab))
			return "index: a slab with room comes after a full one";
		full = slab->used == slab_cap(slab);
		*chunks += (uint32) 1 << slab->order;
		if (*chunks > cells->chunks)
			return "index: more slabs than accounted for";
		problem = check_slab(arena, ref, sum);
		if (problem != NULL)
			return problem;
		ref = slab->next;
	}
	return ref == classes->first[class] ? NULL :
		"index: a list of slabs is not a circle";
}

const char *
lb_cells_check(const LbArena *arena, const LbCells *cells, LbCellSum *sum)
{
	uint32		chunks = 1;

	if (cells->classes == LB_NONE)
		return cells->chunks == 0 ? NULL :
			"index: memory of cells without cells";
	if (!lb_arena_owns(arena, cells->classes, 0))
		return "index: the lists of slabs are not there";
	for (int class = 0; class < NCLASSES; class++)
	{
		const char *problem = check_class(arena, cells, class, &chunks, sum);

		if (problem != NULL)
			return problem;
	}
	if (chunks != cells->chunks || chunks == 1)
		return "index: wrong sum of the memory of cells";
	return NULL;
}
