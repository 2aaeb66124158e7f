/*-------------------------------------------------------------------------
 *
 * sort.c
 *	  Sorting of keys, in memory or through temporary files.
 *
 * PostgreSQL's tuplesort forms a heap tuple of every row and compares datums
 * by a function; for ten million keys of three integers that is most of a
 * build's time.  These tuples are bare words.  They are sorted in place by
 * digits, the first digit first (McIlroy, Bostic and McIlroy 1993, "American
 * flag sort").  When memory is used up, a sorted run is written to a BufFile;
 * at the end the runs are merged.
 *
 * Keys with texts are in memory as an index has them: as many words as
 * LbShape.width, the last of which leads to the rest of the key, if it has
 * one.  Tuples are sorted as above, and then those that agree in all other
 * words by their rests.  In a run they are whole.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "util/sort.h"

/* Tuples read from a run's file at once. */
#define RUN_BUFFER 1024

/* The radix sort's digits; up to SMALL tuples take an insertion sort. */
#define RADIX_BITS 8
#define RADIX (1 << RADIX_BITS)
#define SMALL 24

typedef struct Run
{
	BufFile    *file;
	uint64		left;			/* tuples still in the file */
	int64	   *buffer;
	int			nbuffer;
	int			next;
} Run;

struct LbSort
{
	MemoryContext context;
	LbShape		shape;
	int			before;			/* words of a tuple before its key */
	int			nwords;			/* of a tuple in memory */
	int			stride;			/* of a tuple that is whole */
	Size		memory;
	int64	   *tuples;			/* with texts, their rests are at the end */
	uint64		ntuples;		/* in memory */
	uint64		nrests;			/* words of rests */
	uint64		maxwords;		/* room for both */
	uint64		total;
	uint64		next;
	Run		   *runs;
	int			nruns;
	int			maxruns;
	binaryheap *heap;
	int64		current[LB_SORT_MAX_WORDS];
};

static inline void
swap_words(int64 *a, int64 *b, int n)
{
	for (int i = 0; i < n; i++)
	{
		int64		word = a[i];

		a[i] = b[i];
		b[i] = word;
	}
}

static pg_attribute_always_inline void
insertion_sort(int64 *tuples, uint64 n, int nwords)
{
	for (uint64 i = 1; i < n; i++)
	{
		int64	   *at = tuples + i * nwords;
		int64		tuple[LB_SORT_MAX_WORDS];

		if (lb_words_cmp(at - nwords, at, nwords) <= 0)
			continue;
		memcpy(tuple, at, nwords * sizeof(int64));
		do
		{
			memcpy(at, at - nwords, nwords * sizeof(int64));
			at -= nwords;
		} while (at > tuples && lb_words_cmp(at - nwords, tuple, nwords) > 0);
		memcpy(at, tuple, nwords * sizeof(int64));
	}
}

/*
 * Sort n tuples that agree in all words before word.  The digit is taken from
 * the first bits in which the tuples differ at all, so that narrow ranges
 * (scores, dates) take few passes.  Each level of recursion sorts by one bit
 * at least, in practice by eight.
 *
 * Inlined into functions for the widths that matter most, which call
 * themselves: tuples of a known width are compared and moved without loops.
 */
static pg_attribute_always_inline void
sort_digits(int64 *tuples, uint64 n, int nwords, int word,
			void (*recurse) (int64 *tuples, uint64 n, int nwords, int word))
{
	uint64		starts[RADIX];
	uint64		ends[RADIX];
	uint64		differ = 0;
	uint64		sum = 0;
	int			shift;

	while (n > SMALL)
	{
		for (uint64 i = 1; i < n; i++)
			differ |= (uint64) (tuples[i * nwords + word] ^ tuples[word]);
		if (differ != 0)
			break;
		if (++word == nwords)
			return;
	}
	if (n <= SMALL)
	{
		insertion_sort(tuples, n, nwords);
		return;
	}
	shift = Max(0, pg_leftmost_one_pos64(differ) - (RADIX_BITS - 1));

	/* With the sign bit complemented, words sort as unsigned numbers. */
#define DIGIT(tuple) \
	((((uint64) (tuple)[word] ^ (UINT64CONST(1) << 63)) >> shift) & (RADIX - 1))

	memset(ends, 0, sizeof(ends));
	for (uint64 i = 0; i < n; i++)
		ends[DIGIT(tuples + i * nwords)]++;
	for (int d = 0; d < RADIX; d++)
	{
		starts[d] = sum;
		sum += ends[d];
		ends[d] = sum;
	}
	for (int d = 0; d < RADIX; d++)
	{
		while (starts[d] < ends[d])
		{
			int64	   *tuple = tuples + starts[d] * nwords;
			int			to = DIGIT(tuple);

			if (to == d)
				starts[d]++;
			else
				swap_words(tuple, tuples + starts[to]++ * nwords, nwords);
		}
	}
	CHECK_FOR_INTERRUPTS();
	sum = 0;
	for (int d = 0; d < RADIX; d++)
	{
		if (ends[d] - sum > 1)
			recurse(tuples + sum * nwords, ends[d] - sum, nwords, word);
		sum = ends[d];
	}
}

/* Members and numbers. */
static void
radix_sort_2(int64 *tuples, uint64 n, int nwords, int word)
{
	sort_digits(tuples, n, 2, word, radix_sort_2);
}

/* Keys of a score, a time and a member. */
static void
radix_sort_3(int64 *tuples, uint64 n, int nwords, int word)
{
	sort_digits(tuples, n, 3, word, radix_sort_3);
}

static void
radix_sort(int64 *tuples, uint64 n, int nwords, int word)
{
	sort_digits(tuples, n, nwords, word, radix_sort);
}

void
lb_sort_words(int64 *tuples, uint64 n, int nwords)
{
	if (n <= 1)
		return;
	if (nwords == 2)
		radix_sort_2(tuples, n, nwords, 0);
	else if (nwords == 3)
		radix_sort_3(tuples, n, nwords, 0);
	else
		radix_sort(tuples, n, nwords, 0);
}

/*
 * The last word of a tuple in memory, with texts: where its rest begins, in
 * words from the end of the room, and how many words that has; or 0.
 */
#define REST_BITS 8
#define REST(begin, nwords) ((int64) ((begin) << REST_BITS | (nwords)))
#define REST_WORDS(word) ((int) ((word) & ((1 << REST_BITS) - 1)))

StaticAssertDecl(LB_MAX_KEY_WORDS < 1 << REST_BITS, "these bits count words");

static inline int64 *
rest_at(const LbSort *sort, int64 word)
{
	return sort->tuples + sort->maxwords - ((uint64) word >> REST_BITS);
}

/* Compare tuples by their rests. */
static int
rest_cmp(const void *a, const void *b, void *arg)
{
	const LbSort *sort = (const LbSort *) arg;
	int64		ra = ((const int64 *) a)[sort->nwords - 1];
	int64		rb = ((const int64 *) b)[sort->nwords - 1];

	return lb_words_cmp(rest_at(sort, ra), rest_at(sort, rb),
						Min(REST_WORDS(ra), REST_WORDS(rb)));
}

/* Sort the tuples that agree in all words but the last by their rests. */
static void
sort_rests(LbSort *sort)
{
	int			nwords = sort->nwords;
	uint64		end;

	for (uint64 first = 0; first < sort->ntuples; first = end)
	{
		int64	   *tuple = sort->tuples + first * nwords;

		end = first + 1;
		while (end < sort->ntuples &&
			   lb_words_cmp(tuple, sort->tuples + end * nwords,
							nwords - 1) == 0)
		{
			CHECK_FOR_INTERRUPTS();
			end++;
		}
		CHECK_FOR_INTERRUPTS();
		if (end - first > 1)
			qsort_interruptible(tuple, end - first, nwords * sizeof(int64),
								rest_cmp, sort);
	}
}

static void
sort_memory(LbSort *sort)
{
	lb_sort_words(sort->tuples, sort->ntuples, sort->nwords);
	if (sort->nrests > 0)
		sort_rests(sort);
}

LbSort *
lb_sort_begin(const LbShape *shape, int before, Size memory)
{
	LbSort	   *sort = palloc0(sizeof(LbSort));

	sort->context = CurrentMemoryContext;
	sort->shape = *shape;
	sort->before = before;
	sort->nwords = before + shape->width;
	sort->stride = lb_shape_varies(shape) ? before + LB_MAX_KEY_WORDS :
		sort->nwords;
	Assert(sort->stride <= LB_SORT_MAX_WORDS);
	sort->memory = memory;
	sort->maxwords = 4096 * sort->nwords;
	sort->tuples = palloc(sort->maxwords * sizeof(int64));
	return sort;
}

/*
 * With texts: make a tuple in memory whole, in sort->current.  Zeros may
 * follow it.
 */
static const int64 *
whole_tuple(LbSort *sort, const int64 *tuple)
{
	int			ninline = sort->nwords - 1;
	int64		rest = tuple[ninline];

	memcpy(sort->current, tuple, ninline * sizeof(int64));
	memcpy(sort->current + ninline, rest_at(sort, rest),
		   REST_WORDS(rest) * sizeof(int64));
	return sort->current;
}

/* Write the tuples in memory to a file. */
static void
write_tuples(LbSort *sort, BufFile *file)
{
	if (!lb_shape_varies(&sort->shape))
	{
		BufFileWrite(file, sort->tuples,
					 sort->ntuples * sort->nwords * sizeof(int64));
		return;
	}
	for (uint64 i = 0; i < sort->ntuples; i++)
	{
		const int64 *tuple = whole_tuple(sort, sort->tuples + i * sort->nwords);
		uint8		nwords = sort->before +
			lb_key_words(&sort->shape, tuple + sort->before);

		CHECK_FOR_INTERRUPTS();
		BufFileWrite(file, (void *) &nwords, 1);
		BufFileWrite(file, (void *) tuple, nwords * sizeof(int64));
	}
}

/* Sort the tuples in memory and write them to a file. */
static void
write_run(LbSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);
	Run		   *run;

	sort_memory(sort);
	if (sort->nruns == sort->maxruns)
	{
		sort->maxruns = Max(16, sort->maxruns * 2);
		sort->runs = sort->runs == NULL ?
			palloc(sort->maxruns * sizeof(Run)) :
			repalloc(sort->runs, sort->maxruns * sizeof(Run));
	}
	run = &sort->runs[sort->nruns++];
	memset(run, 0, sizeof(Run));
	run->file = BufFileCreateTemp(false);
	run->left = sort->ntuples;
	write_tuples(sort, run->file);
	sort->ntuples = 0;
	sort->nrests = 0;
	MemoryContextSwitchTo(old);
}

/*
 * Make room for a number of words: enlarge the room, or write a run if memory
 * is used up.
 */
static void
make_room(LbSort *sort, uint64 nwords)
{
	uint64		used = sort->ntuples * sort->nwords + sort->nrests;
	uint64		allowed = sort->memory / sizeof(int64);
	uint64		maxwords = sort->maxwords;

	if (maxwords >= allowed && sort->ntuples > 0)
	{
		write_run(sort);
		used = 0;
		if (nwords <= maxwords)
			return;
	}
	sort->maxwords = Max(Min(maxwords * 2, allowed), used + nwords);
	sort->tuples = repalloc_huge(sort->tuples,
								 sort->maxwords * sizeof(int64));

	/* The rests stay at the end. */
	memmove(sort->tuples + sort->maxwords - sort->nrests,
			sort->tuples + maxwords - sort->nrests,
			sort->nrests * sizeof(int64));
}

/*
 * Put a tuple with texts, of nwords words, to where tuples are in memory.
 * What is beyond the words of the others becomes its rest.
 */
static void
split_tuple(LbSort *sort, int64 *to, const int64 *tuple, int nwords)
{
	int			ninline = sort->nwords - 1;
	int			nrest = nwords - ninline;

	for (int i = 0; i < ninline; i++)
		to[i] = i < nwords ? tuple[i] : 0;
	to[ninline] = 0;
	if (nrest <= 0)
		return;
	sort->nrests += nrest;
	to[ninline] = REST(sort->nrests, nrest);
	memcpy(rest_at(sort, to[ninline]), tuple + ninline,
		   nrest * sizeof(int64));
}

void
lb_sort_add(LbSort *sort, const int64 *tuple)
{
	bool		varies = lb_shape_varies(&sort->shape);
	int			nwords = sort->before +
		lb_key_words(&sort->shape, tuple + sort->before);
	uint64		room = varies ? sort->nwords + nwords : nwords;
	int64	   *to;

	if (sort->ntuples * sort->nwords + sort->nrests + room > sort->maxwords)
		make_room(sort, room);
	to = sort->tuples + sort->ntuples * sort->nwords;
	if (varies)
		split_tuple(sort, to, tuple, nwords);
	else
		memcpy(to, tuple, nwords * sizeof(int64));
	sort->ntuples++;
	sort->total++;
}

static void
read_run(Run *run, void *to, Size size)
{
	if (BufFileRead(run->file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from a temporary file")));
}

/* Read more of a run if its buffer is empty.  Returns false at its end. */
static bool
fill_run(LbSort *sort, Run *run)
{
	if (run->next < run->nbuffer)
		return true;
	if (run->left == 0)
		return false;
	run->next = 0;
	if (lb_shape_varies(&sort->shape))
	{
		uint8		nwords;

		run->nbuffer = 1;
		read_run(run, &nwords, 1);
		read_run(run, run->buffer, nwords * sizeof(int64));
	}
	else
	{
		run->nbuffer = Min(run->left, RUN_BUFFER);
		read_run(run, run->buffer,
				 run->nbuffer * sort->nwords * sizeof(int64));
	}
	run->left -= run->nbuffer;
	CHECK_FOR_INTERRUPTS();
	return true;
}

static inline const int64 *
run_tuple(const LbSort *sort, int i)
{
	return sort->runs[i].buffer +
		(Size) sort->runs[i].next * sort->stride;
}

/*
 * In reverse order, since binaryheap keeps the greatest on top.  Tuples differ
 * before the shorter one ends, or are equal.
 */
static int
run_cmp(Datum a, Datum b, void *arg)
{
	LbSort	   *sort = (LbSort *) arg;

	return -lb_words_cmp(run_tuple(sort, DatumGetInt32(a)),
						 run_tuple(sort, DatumGetInt32(b)), sort->stride);
}

void
lb_sort_perform(LbSort *sort)
{
	Size		buffer = sort->stride * sizeof(int64);
	MemoryContext old;

	if (sort->nruns == 0)
	{
		sort_memory(sort);
		return;
	}
	if (sort->ntuples > 0)
		write_run(sort);
	pfree(sort->tuples);
	sort->tuples = NULL;

	/* With texts, a buffer has room for one tuple. */
	if (!lb_shape_varies(&sort->shape))
		buffer *= RUN_BUFFER;
	old = MemoryContextSwitchTo(sort->context);
	sort->heap = binaryheap_allocate(sort->nruns, run_cmp, sort);
	for (int i = 0; i < sort->nruns; i++)
	{
		Run		   *run = &sort->runs[i];

		run->buffer = palloc0(buffer);
		if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not rewind a temporary file")));
		if (fill_run(sort, run))
			binaryheap_add_unordered(sort->heap, Int32GetDatum(i));
	}
	binaryheap_build(sort->heap);
	MemoryContextSwitchTo(old);
}

const int64 *
lb_sort_next(LbSort *sort)
{
	const int64 *tuple;
	int			i;

	if (sort->heap == NULL)
	{
		if (sort->next == sort->ntuples)
			return NULL;
		tuple = sort->tuples + sort->next++ * sort->nwords;
		return lb_shape_varies(&sort->shape) ? whole_tuple(sort, tuple) : tuple;
	}
	if (binaryheap_empty(sort->heap))
		return NULL;
	i = DatumGetInt32(binaryheap_first(sort->heap));
	tuple = run_tuple(sort, i);
	memcpy(sort->current, tuple,
		   (sort->before + lb_key_words(&sort->shape, tuple + sort->before)) *
		   sizeof(int64));
	sort->runs[i].next++;
	if (fill_run(sort, &sort->runs[i]))
		binaryheap_replace_first(sort->heap, Int32GetDatum(i));
	else
		(void) binaryheap_remove_first(sort->heap);
	return sort->current;
}

uint64
lb_sort_count(const LbSort *sort)
{
	return sort->total;
}

void
lb_sort_end(LbSort *sort)
{
	for (int i = 0; i < sort->nruns; i++)
		BufFileClose(sort->runs[i].file);
	if (sort->tuples != NULL)
		pfree(sort->tuples);
	pfree(sort);
}
