/*-------------------------------------------------------------------------
 *
 * sort.c
 *	  Sorting of int64 tuples, in memory or through temporary files.
 *
 * PostgreSQL's tuplesort forms a heap tuple of every row and compares datums by
 * a function; for ten million keys of three integers that is most of a build's
 * time.  These tuples are bare words.  They are sorted in place by digits, the
 * first digit first (McIlroy, Bostic and McIlroy 1993, "American flag sort").
 * When memory is used up, a sorted run is written to a BufFile; at the end the
 * runs are merged.
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
	int			nwords;
	Size		memory;
	int64	   *tuples;
	uint64		ntuples;		/* in memory */
	uint64		maxtuples;
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
 * (scores, dates) take few passes.  Each level of recursion sorts by one bit at
 * least, in practice by eight.
 *
 * Inlined into functions for the widths that matter most, which call themselves:
 * tuples of a known width are compared and moved without loops.
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

static void
sort_memory(LbSort *sort)
{
	lb_sort_words(sort->tuples, sort->ntuples, sort->nwords);
}

LbSort *
lb_sort_begin(int nwords, Size memory)
{
	LbSort	   *sort = palloc0(sizeof(LbSort));

	Assert(nwords >= 2 && nwords <= LB_SORT_MAX_WORDS);
	sort->context = CurrentMemoryContext;
	sort->nwords = nwords;
	sort->memory = memory;
	sort->maxtuples = 4096;
	sort->tuples = palloc(sort->maxtuples * nwords * sizeof(int64));
	return sort;
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
	BufFileWrite(run->file, sort->tuples,
				 sort->ntuples * sort->nwords * sizeof(int64));
	sort->ntuples = 0;
	MemoryContextSwitchTo(old);
}

void
lb_sort_add(LbSort *sort, const int64 *tuple)
{
	Size		size = sort->nwords * sizeof(int64);

	if (sort->ntuples == sort->maxtuples)
	{
		if (sort->maxtuples * size >= sort->memory)
			write_run(sort);
		else
		{
			sort->maxtuples = Min(sort->maxtuples * 2,
								  Max(sort->memory / size, sort->maxtuples + 1));
			sort->tuples = repalloc_huge(sort->tuples, sort->maxtuples * size);
		}
	}
	memcpy(sort->tuples + sort->ntuples * sort->nwords, tuple, size);
	sort->ntuples++;
	sort->total++;
}

/* Read more of a run if its buffer is empty.  Returns false at its end. */
static bool
fill_run(LbSort *sort, Run *run)
{
	Size		size = sort->nwords * sizeof(int64);

	if (run->next < run->nbuffer)
		return true;
	if (run->left == 0)
		return false;
	run->nbuffer = Min(run->left, RUN_BUFFER);
	run->next = 0;
	if (BufFileRead(run->file, run->buffer, run->nbuffer * size) !=
		run->nbuffer * size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from a temporary file")));
	run->left -= run->nbuffer;
	CHECK_FOR_INTERRUPTS();
	return true;
}

static inline const int64 *
run_tuple(const LbSort *sort, int i)
{
	return sort->runs[i].buffer +
		(Size) sort->runs[i].next * sort->nwords;
}

/* In reverse order, since binaryheap keeps the greatest on top. */
static int
run_cmp(Datum a, Datum b, void *arg)
{
	LbSort	   *sort = (LbSort *) arg;

	return -lb_words_cmp(run_tuple(sort, DatumGetInt32(a)),
						 run_tuple(sort, DatumGetInt32(b)), sort->nwords);
}

void
lb_sort_perform(LbSort *sort)
{
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

	old = MemoryContextSwitchTo(sort->context);
	sort->heap = binaryheap_allocate(sort->nruns, run_cmp, sort);
	for (int i = 0; i < sort->nruns; i++)
	{
		Run		   *run = &sort->runs[i];

		run->buffer = palloc(RUN_BUFFER * sort->nwords * sizeof(int64));
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
	int			i;

	if (sort->heap == NULL)
		return sort->next == sort->ntuples ? NULL :
			sort->tuples + sort->next++ * sort->nwords;

	if (binaryheap_empty(sort->heap))
		return NULL;
	i = DatumGetInt32(binaryheap_first(sort->heap));
	memcpy(sort->current, run_tuple(sort, i), sort->nwords * sizeof(int64));
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
