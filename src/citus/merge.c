/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  Answers of a distributed table's shards, merged.
 *
 * The boards of the shards are sorted lists that can tell the entry at a place
 * and the place of a key.  What is at a place of all of them is multiway
 * selection, as in G. N. Frederickson and D. B. Johnson, "The complexity of
 * selection and ranking in X + Y and matrices with sorted columns", JCSS 24
 * (1982), 197-208, and as external sorts split their runs (P. J. Varman et
 * al., "Merging multiple lists on hierarchical-memory multiprocessors", JPDC
 * 12 (1991), 171-177): each list gives entries at even distances, and their
 * places bound the place of each among all.  What is different here is the
 * cost: a question to all shards costs the same for one entry and for
 * hundreds.  So there are few rounds, with SAMPLES entries of each shard.  The
 * next round is between the last sample that is certainly not behind the place
 * wanted and the first one that certainly is.  N entries become about 2 N /
 * SAMPLES, whatever the scores and ties are, since keys are distinct.
 *
 * When few entries are between the sample and the place wanted, each shard
 * gives the page from there on, and the number of its entries before: the page
 * is exact in what these boards were at that moment, and so are its ranks.
 * Each round sees a later state of the tables, so the place may no longer be
 * where the round before has found it.  Then the search begins again,
 * MAX_TRIES times at most.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lib/binaryheap.h"

#include "citus/ask.h"
#include "citus/merge.h"
#include "citus/words.h"
#include "reads/rows.h"
#include "reads/values.h"

/* Entries of each shard in a round. */
#define SAMPLES 128

/* The most entries between a sample and the place wanted, to get the page. */
#define MAX_REST 512

#define MAX_ROUNDS 16
#define MAX_TRIES 4

/* What one shard has answered. */
typedef struct Shard
{
	const int64 *answer;		/* its first word */
	const int64 *row;			/* the next entry: its place, and its key */
	int64		left;			/* entries from this one on */
	int64		low;			/* least number of entries before the next
								 * sample */
	int64		high;			/* and the greatest */
} Shard;

/* A read of all shards. */
typedef struct Merge
{
	LbAsk		ask;
	LbSection	section;		/* what is asked; sums of what is answered */
	int			nshards;
	Shard	   *shards;
	binaryheap *heap;			/* those with entries left, the best key first */
} Merge;

/* What an attempt has come to. */
typedef enum Outcome
{
	DONE,
	AGAIN,						/* the rows have changed meanwhile */
	UNANSWERED					/* the query must be run */
} Outcome;


/* ----------------------------------------------------------------
 *		A statement on all shards
 * ----------------------------------------------------------------
 */

static bool
begin(Merge *m, LbCall *call)
{
	memset(m, 0, sizeof(Merge));
	return lb_ask_begin(&m->ask, call);
}

/*
 * Take what one shard has answered from the words up to end.  Returns what
 * follows it, or NULL if that is not all of an answer.
 */
static const int64 *
take_shard(Merge *m, const int64 *answer, const int64 *end)
{
	Shard	   *shard = &m->shards[m->nshards];

	if (end - answer < LB_SHARD_HEADER || m->nshards++ == m->ask.nshards)
		return NULL;
	shard->answer = answer;
	shard->row = answer + LB_SHARD_HEADER;
	shard->left = answer[LB_SHARD_ROWS];
	m->section.before += answer[LB_SHARD_BEFORE];
	m->section.before_upto += answer[LB_SHARD_UPTO];
	m->section.better += answer[LB_SHARD_BETTER];
	answer = shard->row;
	for (int64 i = 0; i < shard->left; i++)
	{
		if (answer >= end)
			return NULL;
		answer += 1 + lb_key_words(&m->ask.defn.shape, answer + 1);
	}
	return answer > end ? NULL : answer;
}

/* Take all of that; false if it is not whole. */
static bool
take_answers(Merge *m)
{
	m->nshards = 0;
	m->shards = palloc(Max(1, m->ask.nshards) * sizeof(Shard));
	m->section.before = m->section.before_upto = m->section.better = 0;
	for (int i = 0; i < m->ask.n; i++)
	{
		const int64 *answer = m->ask.answers[i].words;
		const int64 *end = answer + m->ask.answers[i].n;

		while (answer != NULL && answer < end)
			answer = take_shard(m, answer, end);
		if (answer == NULL)
			return false;
	}
	return m->nshards == m->ask.nshards;
}

/*
 * Compare the next entries of two shards, for a heap whose first is the
 * greatest.
 */
static int
compare_shards(Datum a, Datum b, void *arg)
{
	const Shard *one = (const Shard *) DatumGetPointer(a);
	const Shard *other = (const Shard *) DatumGetPointer(b);

	return -lb_key_cmp((const LbShape *) arg, one->row + 1, other->row + 1);
}

static void
make_heap(Merge *m)
{
	m->heap = binaryheap_allocate(Max(1, m->nshards), compare_shards,
								  &m->ask.defn.shape);
	for (int i = 0; i < m->nshards; i++)
	{
		if (m->shards[i].left > 0)
			binaryheap_add_unordered(m->heap, PointerGetDatum(&m->shards[i]));
	}
	binaryheap_build(m->heap);
}

/*
 * Ask all shards for a section.  Returns false if one of them has not
 * answered.
 */
static bool
ask(Merge *m)
{
	const LbSection *section = &m->section;
	int64		words[1 + LB_PAGE_HEADER + 2 * LB_MAX_KEY_WORDS] = {LB_ASK_PAGE};
	int64	   *page = words + 1;
	int64	   *keys = page + LB_PAGE_HEADER;

	page[LB_PAGE_BACK] = section->back;
	page[LB_PAGE_N] = section->n;
	page[LB_PAGE_EVEN] = section->even;
	page[LB_PAGE_FROM_WORDS] = section->from_words;
	if (section->from_words > 0)
		memcpy(keys, section->from, section->from_words * sizeof(int64));
	keys += section->from_words;
	if (section->upto_words > 0)
		memcpy(keys, section->upto, section->upto_words * sizeof(int64));
	keys += section->upto_words;
	if (!lb_ask_shards(&m->ask, words, (int) (keys - words)) ||
		!take_answers(m))
		return false;
	make_heap(m);
	return true;
}

/* The shard with the best key among the entries that are left, or NULL. */
static Shard *
next_entry(const Merge *m)
{
	return binaryheap_empty(m->heap) ? NULL :
		(Shard *) DatumGetPointer(binaryheap_first(m->heap));
}

/* Leave that entry behind. */
static void
pass(Merge *m, Shard *shard)
{
	shard->row += 1 + lb_key_words(&m->ask.defn.shape, shard->row + 1);
	if (--shard->left > 0)
		binaryheap_replace_first(m->heap, PointerGetDatum(shard));
	else
		(void) binaryheap_remove_first(m->heap);
}


/* ----------------------------------------------------------------
 *		The place
 * ----------------------------------------------------------------
 */

static const int64 *
use_key(const Merge *m, const Shard *shard, int *nwords)
{
	*nwords = lb_key_words(&m->ask.defn.shape, shard->row + 1);
	return shard->row + 1;
}

/* How many entries a shard has before its next sample. */
static int64
high_bound(const Shard *shard)
{
	return shard->left > 0 ? shard->row[0] - 1 : shard->answer[LB_SHARD_UPTO];
}

/*
 * Make the section that of the samples on either side of the entry that skip
 * others come before.  Returns how many entries, at most, are from the first
 * sample to that entry.
 */
static int64
narrow(Merge *m, int64 skip)
{
	int64		low = 0;
	int64		high = 0;
	int64		rest = skip - m->section.before;
	Shard	   *shard;

	for (int i = 0; i < m->nshards; i++)
	{
		shard = &m->shards[i];
		shard->low = shard->answer[LB_SHARD_BEFORE];
		shard->high = high_bound(shard);
		low += shard->low;
		high += shard->high;
	}
	while ((shard = next_entry(m)) != NULL)
	{
		/* So many entries at least, of all shards, come before this one. */
		int64		least = low - shard->low + shard->high;

		if (least > skip)
		{
			m->section.upto = use_key(m, shard, &m->section.upto_words);
			break;
		}
		if (high <= skip)
		{
			m->section.from = use_key(m, shard, &m->section.from_words);
			rest = skip - least;
		}
		low = least + 1;
		shard->low = shard->high + 1;
		pass(m, shard);
		high -= shard->high;
		shard->high = high_bound(shard);
		high += shard->high;
	}
	return rest;
}

/*
 * Find an entry from which on there are few, at most *rest, to that which skip
 * others come before.  The section begins there then; or *rest is -1, and
 * there is no such entry.  With a percentile that is not negative, this sets
 * *skip first.
 */
static Outcome
find_place(Merge *m, double percentile, int64 *skip, int64 *rest)
{
	m->section.from_words = m->section.upto_words = 0;
	m->section.back = 0;
	m->section.n = SAMPLES;
	m->section.even = true;
	for (int round = 0; round < MAX_ROUNDS; round++)
	{
		if (!ask(m))
			return UNANSWERED;
		if (round == 0 && percentile >= 0)
			*skip = lb_place_of_percentile(percentile, m->section.before_upto);
		if (*skip < m->section.before || *skip >= m->section.before_upto)
		{
			/* Behind the last entry of all, there is none. */
			*rest = -1;
			return m->section.upto_words == 0 &&
				*skip >= m->section.before_upto ? DONE : AGAIN;
		}
		*rest = narrow(m, *skip);
		if (*rest <= MAX_REST)
			return DONE;
	}
	return UNANSWERED;
}


/* ----------------------------------------------------------------
 *		The rows
 * ----------------------------------------------------------------
 */

/* Add the next entry of a shard to rows. */
static void
put_entry(const Merge *m, LbRows *rows, int64 rank, const Shard *shard)
{
	const LbShape *shape = &m->ask.defn.shape;
	const int64 *key = shard->row + 1;
	const int64 *tail = rows->tail == LB_KEY_TAIL ? key :
		lb_key_member(shape, key);
	int			words = key + lb_key_words(shape, key) - tail;
	int64	   *row;

	if (!lb_rows_have_room(rows, 1))
		lb_enlarge_rows(rows, 1);
	row = lb_add_row(rows, words);
	row[LB_ROW_RANK] = rank;
	row[LB_ROW_SCORE] = lb_directed(key[0], m->ask.defn.columns[0].descending);
	memcpy(row + LB_ROW_MEMBER, tail, words * sizeof(int64));
}

/*
 * Append n entries to rows, beginning skip entries after the one at place
 * before.  better entries have a better score than that entry.
 */
static void
put_entries(Merge *m, int64 before, int64 better, int64 skip, int64 n,
			LbRows *rows)
{
	int64		rank = better + 1;
	int64		word = 0;
	Shard	   *shard;

	for (int64 i = 0; i < skip + n && (shard = next_entry(m)) != NULL; i++)
	{
		if (m->ask.call->method == LB_ROW_NUMBER ||
			(i > 0 && shard->row[1] != word))
			rank = before + i + 1;
		word = shard->row[1];
		if (i >= skip)
			put_entry(m, rows, rank, shard);
		pass(m, shard);
	}
}

/* How many entries are left. */
static int64
count_left(const Merge *m)
{
	int64		n = 0;

	for (int i = 0; i < m->nshards; i++)
		n += m->shards[i].left;
	return n;
}

/*
 * The page that begins behind the first skip entries, of which at most rest
 * are in the section.
 */
static Outcome
read_page(Merge *m, int64 skip, int64 rest, int64 n, LbTail tail, LbRows *rows)
{
	LbSection  *section = &m->section;
	const int64 *from = section->from;
	bool		same;
	Shard	   *first;

	section->upto_words = 0;
	section->even = false;
	section->n = rest + n;
	if (!ask(m))
		return UNANSWERED;

	/* Entries may have come or gone. */
	rest = skip - section->before;
	if (rest < 0 || rest + n > section->n)
		return AGAIN;

	/* If its score is not that of the key, all with that score follow it. */
	first = next_entry(m);
	same = first != NULL && section->from_words > 0 && first->row[1] == from[0];
	lb_make_rows(rows, &m->ask.defn.shape, Min(n, count_left(m)), tail);
	put_entries(m, section->before,
				same ? section->better : section->before, rest, n, rows);
	return DONE;
}

/* The read is done, or was tried. */
static bool
finish(const Merge *m, Outcome outcome)
{
	if (outcome != DONE)
		return false;
	lb_ask_end(&m->ask);
	return true;
}

/* The page at a place, or at that of a percentile that is not negative. */
static bool
merge_page(LbCall *call, double percentile, int64 skip, int64 n, LbTail tail,
		   LbRows *rows)
{
	Outcome		outcome = AGAIN;
	Merge		m;

	if (n > LB_MAX_SHARD_ROWS - MAX_REST || !begin(&m, call))
		return false;
	for (int try = 0; outcome == AGAIN && try < MAX_TRIES; try++)
	{
		int64		rest = skip;

		m.section.from_words = 0;
		outcome = DONE;
		if (percentile >= 0 || skip > MAX_REST)
			outcome = find_place(&m, percentile, &skip, &rest);
		if (outcome == DONE && rest < 0)
			lb_make_rows(rows, &m.ask.defn.shape, 0, tail);
		else if (outcome == DONE)
			outcome = read_page(&m, skip, rest, n, tail, rows);
	}
	return finish(&m, outcome);
}

bool
lb_merge_page(LbCall *call, int64 skip, int64 n, int tail, LbRows *rows)
{
	return call->method != LB_DENSE_RANK &&
		merge_page(call, -1, skip, n, tail, rows);
}

bool
lb_merge_score_at_percentile(LbCall *call, LbNumber *numbers, bool *isnull)
{
	LbRows		rows;

	if (!merge_page(call, DatumGetFloat8(call->operands[0]), 0, 1,
					LB_MEMBER_TAIL, &rows))
		return false;
	*isnull = rows.n == 0;
	if (!*isnull)
		numbers[0].integer = lb_row(&rows, 0)[LB_ROW_SCORE];
	return true;
}


/* ----------------------------------------------------------------
 *		Around a member
 * ----------------------------------------------------------------
 */

/*
 * How many entries of all shards have a better score than the one of this key,
 * which is at place before.
 */
static Outcome
count_better(Merge *m, const int64 *key, int64 before, int64 *better)
{
	m->section.from = key;
	m->section.from_words = 1;
	m->section.n = 0;
	if (!ask(m))
		return UNANSWERED;

	/* Entries may have come since the others were read. */
	*better = Min(m->section.before, before);
	return DONE;
}

/* Whether row i is there and has the member of a key. */
static bool
has_member(const Merge *m, const LbRows *rows, int64 i, const int64 *key)
{
	const LbShape *shape = &m->ask.defn.shape;

	return i < rows->n &&
		lb_member_cmp(shape, lb_row(rows, i) + LB_ROW_MEMBER,
					  lb_key_member(shape, key)) == 0;
}

/*
 * The rows around a key.  If the member is no longer there, its row has
 * changed since its key was read.
 */
static Outcome
read_around(Merge *m, const int64 *key, int64 radius, LbRows *rows)
{
	LbSection  *section = &m->section;
	int64		behind = 0;		/* entries at hand before the key */
	int64		before;
	int64		better;
	Merge		copy;
	Shard	   *first;

	section->from = key;
	section->from_words = lb_key_words(&m->ask.defn.shape, key);
	section->back = radius;
	section->n = 2 * radius + 1;
	if (!ask(m))
		return UNANSWERED;
	for (int i = 0; i < m->nshards; i++)
		behind += Min(radius, m->shards[i].answer[LB_SHARD_BEFORE]);
	before = section->before - Min(radius, section->before);
	better = section->better;
	lb_make_rows(rows, &m->ask.defn.shape, Min(2 * radius + 1, count_left(m)),
				 LB_MEMBER_TAIL);

	/* Only the nearest to the key are in the order of all shards. */
	while (behind-- > section->before - before)
		pass(m, next_entry(m));
	first = next_entry(m);
	if (first == NULL)
		return AGAIN;
	if (m->ask.call->method == LB_RANK && first->row[1] != key[0])
	{
		copy = *m;
		if (count_better(&copy, first->row + 1, before, &better) != DONE)
			return UNANSWERED;
	}
	put_entries(m, before, better, 0,
				section->before - before + radius + 1, rows);
	return has_member(m, rows, section->before - before, key) ? DONE : AGAIN;
}

bool
lb_merge_around(LbCall *call, int64 radius, LbRows *rows)
{
	Outcome		outcome = AGAIN;
	Merge		m;

	if (call->method == LB_DENSE_RANK || radius > LB_MAX_SHARD_ROWS / 2 - 1 ||
		!begin(&m, call))
		return false;
	for (int try = 0; outcome == AGAIN && try < MAX_TRIES; try++)
	{
		int64	   *key;

		if (!lb_call_key(call, &key))
			return false;
		if (key != NULL)
			outcome = read_around(&m, key, radius, rows);
		else
		{
			lb_make_rows(rows, &m.ask.defn.shape, 0, LB_MEMBER_TAIL);
			outcome = DONE;
		}
	}
	return finish(&m, outcome);
}
