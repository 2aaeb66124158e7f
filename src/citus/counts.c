/*-------------------------------------------------------------------------
 *
 * counts.c
 *	  Answers of a distributed table that are counts of its shards.
 *
 * How many rows come before a key is the sum of that over all shards, and so
 * is how many rows there are.  A rank is one more than such a sum, and
 * percentiles are made of them.  So a read of members has two statements: one
 * finds their keys, that of one member in the shard that has it, those of many
 * by asking all shards (ask.c).  The other asks all shards for the counts of
 * all keys at once.  Each is as of the moment when it runs: a rank is that of
 * the key that the first one has found.
 *
 * Distinct scores cannot be summed, since shards have the same ones: ranks by
 * dense_rank run the query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "citus/ask.h"
#include "citus/counts.h"
#include "citus/words.h"

/* The most members of an array: more of them run the query. */
#define MAX_MEMBERS 100000

/* Keys to count, and the counts. */
typedef struct Counts
{
	LbAsk		ask;
	int64	   *words;			/* LB_ASK_COUNTS */
	int			used;
	int			max;
	int			nkeys;
	int64		total;			/* rows of the board */
	int64	   *before;			/* those before each key */
} Counts;

static bool
begin(Counts *c, LbCall *call)
{
	memset(c, 0, sizeof(Counts));
	if (!lb_ask_begin(&c->ask, call))
		return false;
	c->max = 4 * LB_MAX_KEY_WORDS;
	c->words = palloc(c->max * sizeof(int64));
	c->words[c->used++] = LB_ASK_COUNTS;
	return true;
}

/* The words of a key that its rank depends on: those of its score, or all. */
static int
rank_words(const Counts *c, const int64 *key)
{
	return c->ask.call->method == LB_ROW_NUMBER ?
		lb_key_words(&c->ask.defn.shape, key) : 1;
}

static void
add_key(Counts *c, const int64 *key, int nwords, bool inclusive)
{
	int64	   *header;

	if (c->used + LB_KEY_HEADER + nwords > c->max)
	{
		c->max *= 2;
		c->words = repalloc_huge(c->words, c->max * sizeof(int64));
	}
	header = c->words + c->used;
	header[LB_KEY_NWORDS] = nwords;
	header[LB_KEY_INCLUSIVE] = inclusive ? 1 : 0;
	memcpy(header + LB_KEY_HEADER, key, nwords * sizeof(int64));
	c->used += LB_KEY_HEADER + nwords;
	c->nkeys++;
}

/* Count the keys.  Returns false if one of the shards has not answered. */
static bool
count(Counts *c)
{
	if (!lb_ask_shards(&c->ask, c->words, c->used))
		return false;
	c->total = 0;
	c->before = palloc0(Max(1, c->nkeys) * sizeof(int64));
	for (int i = 0; i < c->ask.n; i++)
	{
		const int64 *counts = c->ask.answers[i].words;

		CHECK_FOR_INTERRUPTS();
		if (c->ask.answers[i].n != c->nkeys + 1)
			return false;
		c->total += counts[0];
		for (int j = 0; j < c->nkeys; j++)
			c->before[j] += counts[j + 1];
	}
	return true;
}


/* ----------------------------------------------------------------
 *		One member
 * ----------------------------------------------------------------
 */

/* A member's key, and how many rows come before it. */
typedef struct Member
{
	int64	   *key;			/* NULL: it is not on the board */
	int64		before;			/* by the call's method */
	int64		better;			/* before its score */
} Member;

/*
 * Count for the member that is the first operand.  Returns false if the query
 * must be run; so it must for a dense rank.
 */
static bool
count_member(Counts *c, LbCall *call, bool rank, Member *m)
{
	if ((rank && call->method == LB_DENSE_RANK) || !begin(c, call) ||
		!lb_call_key(call, &m->key))
		return false;
	if (m->key != NULL)
	{
		add_key(c, m->key, 1, false);
		if (rank_words(c, m->key) > 1)
			add_key(c, m->key, rank_words(c, m->key), false);
		if (!count(c))
			return false;
		m->better = c->before[0];
		m->before = c->before[c->nkeys - 1];

		/* The member can have gone since its key was read. */
		if (c->total <= m->better)
			m->key = NULL;
	}
	lb_ask_end(&c->ask);
	return true;
}

bool
lb_rank_by_counts(LbCall *call, LbNumber *numbers, bool *isnull)
{
	Counts		c;
	Member		m;

	if (!count_member(&c, call, true, &m))
		return false;
	*isnull = m.key == NULL;
	numbers[0].integer = m.before + 1;
	return true;
}

static double
percentile(const Counts *c, int64 better)
{
	return 100 * ((double) (c->total - better) / (double) c->total);
}

bool
lb_percentile_by_counts(LbCall *call, LbNumber *numbers, bool *isnull)
{
	Counts		c;
	Member		m;

	if (!count_member(&c, call, false, &m))
		return false;
	*isnull = m.key == NULL;
	if (!*isnull)
		numbers[0].real = percentile(&c, m.better);
	return true;
}

bool
lb_player_by_counts(LbCall *call, LbNumber *numbers, bool *isnull)
{
	Counts		c;
	Member		m;

	if (!count_member(&c, call, true, &m))
		return false;
	*isnull = m.key == NULL;
	if (*isnull)
		return true;
	numbers[0].integer = m.before + 1;
	numbers[1].integer = lb_call_score(call, m.key);
	numbers[2].real = percentile(&c, m.better);
	numbers[3].integer = c.total;
	return true;
}

bool
lb_count_before_by_counts(LbCall *call, bool inclusive, int64 *result)
{
	Counts		c;

	/* Only a comparison of values says where other keys would be. */
	if (call->key == NULL || !begin(&c, call))
		return false;
	add_key(&c, call->key, lb_key_words(&c.ask.defn.shape, call->key),
			inclusive);
	if (!count(&c))
		return false;
	*result = c.before[0];
	lb_ask_end(&c.ask);
	return true;
}

bool
lb_scores_by_counts(LbCall *call, int64 n, const int64 *words, int64 *counts,
					int64 *others)
{
	Counts		c;

	if (!begin(&c, call))
		return false;
	for (int64 i = 0; i < n; i++)
	{
		add_key(&c, &words[2 * i], 1, false);
		add_key(&c, &words[2 * i + 1], 1, true);
	}
	if (!count(&c))
		return false;
	*others = c.total;
	for (int64 i = 0; i < n; i++)
	{
		counts[i] = c.before[2 * i + 1] - c.before[2 * i];
		*others -= counts[i];
	}
	lb_ask_end(&c.ask);
	return true;
}

bool
lb_ranks_of_keys_by_counts(LbCall *call, int n, const int64 *const *keys,
						   int64 *ranks)
{
	Counts		c;

	if (call->method == LB_DENSE_RANK || !begin(&c, call))
		return false;
	for (int i = 0; i < n; i++)
		add_key(&c, keys[i], rank_words(&c, keys[i]), false);
	if (!count(&c))
		return false;
	for (int i = 0; i < n; i++)
		ranks[i] = c.before[i] + 1;
	lb_ask_end(&c.ask);
	return true;
}


/* ----------------------------------------------------------------
 *		Many members
 * ----------------------------------------------------------------
 */

/* The keys of the members of an array that are on the board. */
typedef struct Found
{
	Counts		counts;
	int			n;
	const int64 **keys;			/* in the order of their members */
} Found;

/* Compare the members of two keys.  arg is the shape of these. */
static int
member_cmp(const void *a, const void *b, void *arg)
{
	const LbShape *shape = (const LbShape *) arg;

	return lb_member_cmp(shape, lb_key_member(shape, *(int64 *const *) a),
						 lb_key_member(shape, *(int64 *const *) b));
}

/* The number of a member's key, or -1. */
static int
find_member(const Found *f, const int64 *member)
{
	const LbShape *shape = &f->counts.ask.defn.shape;
	int			low = 0;
	int			high = f->n;

	while (low < high)
	{
		int			i = (low + high) / 2;
		int			c = lb_member_cmp(shape, member,
									  lb_key_member(shape, f->keys[i]));

		if (c == 0)
			return i;
		if (c < 0)
			high = i;
		else
			low = i + 1;
	}
	return -1;
}

/* The question for the keys of members; returns how many words it has. */
static int
member_words(const LbShape *shape, const LbMembers *members, int64 **words)
{
	int			used = 1;

	for (int i = 0; i < members->n; i++)
	{
		if (!members->absent[i])
			used += 1 + lb_member_length(shape, lb_member_at(members, i));
	}
	*words = palloc_extended(used * sizeof(int64), MCXT_ALLOC_HUGE);
	(*words)[0] = LB_ASK_KEYS;
	used = 1;
	for (int i = 0; i < members->n; i++)
	{
		const int64 *member = lb_member_at(members, i);
		int			n;

		if (members->absent[i])
			continue;
		n = lb_member_length(shape, member);
		(*words)[used++] = n;
		memcpy(*words + used, member, n * sizeof(int64));
		used += n;
	}
	return used;
}

/*
 * Ask all shards for the keys of the members.  Returns false if one does not
 * answer.
 */
static bool
find_keys(Found *f, const LbMembers *members)
{
	LbAsk	   *ask = &f->counts.ask;
	const LbShape *shape = &ask->defn.shape;
	int64	   *words;
	int			n = member_words(shape, members, &words);

	if (!lb_ask_shards(ask, words, n))
		return false;
	f->keys = palloc(Max(1, members->n) * sizeof(int64 *));
	for (int i = 0; i < ask->n; i++)
	{
		const int64 *key = ask->answers[i].words;
		const int64 *end = key + ask->answers[i].n;

		for (; key < end; key += lb_key_words(shape, key))
		{
			if (f->n == members->n)
				return false;
			f->keys[f->n++] = key;
		}
	}
	return true;
}

/* Find the members, and count what comes before each. */
static bool
count_members(Found *f, LbCall *call, const LbMembers *members)
{
	Counts	   *c = &f->counts;

	f->n = 0;
	if (call->method == LB_DENSE_RANK || members->n > MAX_MEMBERS ||
		!begin(c, call) || !find_keys(f, members))
		return false;
	qsort_interruptible(f->keys, f->n, sizeof(int64 *), member_cmp, &c->ask.defn.shape);
	for (int i = 0; i < f->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_key(c, f->keys[i], rank_words(c, f->keys[i]), false);
	}
	if (f->n > 0 && !count(c))
		return false;
	lb_ask_end(&c->ask);
	return true;
}

bool
lb_ranks_by_counts(LbCall *call, const LbMembers *members, LbRows *rows)
{
	Found		f;

	if (!count_members(&f, call, members))
		return false;
	lb_make_rows(rows, &f.counts.ask.defn.shape, members->n, LB_NO_TAIL);
	for (int i = 0; i < members->n; i++)
	{
		int64	   *row = lb_row(rows, i);
		int			key = members->absent[i] ? -1 :
			find_member(&f, lb_member_at(members, i));

		CHECK_FOR_INTERRUPTS();
		row[LB_ROW_RANK] = key < 0 ? 0 : f.counts.before[key] + 1;
		if (key >= 0)
			row[LB_ROW_SCORE] = lb_call_score(call, f.keys[key]);
	}
	rows->n = members->n;
	return true;
}

bool
lb_among_by_counts(LbCall *call, const LbMembers *members, LbRows *rows)
{
	Found		f;

	if (!count_members(&f, call, members))
		return false;
	lb_make_rows(rows, &f.counts.ask.defn.shape, f.n, LB_KEY_TAIL);
	for (int i = 0; i < f.n; i++)
	{
		int			words = lb_key_words(&f.counts.ask.defn.shape, f.keys[i]);
		int64	   *row;

		CHECK_FOR_INTERRUPTS();
		if (!lb_rows_have_room(rows, 1))
			lb_enlarge_rows(rows, 1);
		row = lb_add_row(rows, words);
		row[LB_ROW_RANK] = f.counts.before[i] + 1;
		row[LB_ROW_SCORE] = lb_call_score(call, f.keys[i]);
		memcpy(row + LB_ROW_MEMBER, f.keys[i], words * sizeof(int64));
	}
	return true;
}
