/*-------------------------------------------------------------------------
 *
 * model.c
 *	  A model of the skip list, and random operations on both.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

#include "model.h"

int			same_hash = 0;

uint64
unmix(uint64 h)
{
	h ^= h >> 33;
	h *= UINT64CONST(0x9cb4b2f8129337db);
	h ^= h >> 33;
	h *= UINT64CONST(0x4f74430c22a54005);
	h ^= h >> 33;
	return h;
}

int64
word_of_hash(uint64 hash_seed, uint32 hash, uint32 n)
{
	return (int64) (unmix((uint64) n << 32 | (n ^ hash)) ^ hash_seed);
}

int64 *
model_key(const Model *model, int member)
{
	return model->keys + (Size) member * model->stride;
}

int64
extreme(void)
{
	static const int64 values[] = {
		INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX
	};

	return values[random_below(7)];
}

/* Whether the keys of a model have texts. */
static bool
has_texts(const Model *model)
{
	return lb_shape_varies(&model->index.shape);
}

static bool
same_key(const Model *model, const int64 *a, const int64 *b)
{
	return lb_key_cmp(&model->index.shape, a, b) == 0;
}

/* Copy a key of the model, or one that is as long, to where there is room. */
static void
copy_key(const Model *model, int64 *to, const int64 *from)
{
	memcpy(to, from,
		   lb_key_words(&model->index.shape, from) * sizeof(int64));
}

static void
copy_member(const Model *model, int64 *to, const int64 *key)
{
	const int64 *member = lb_key_member(&model->index.shape, key);

	memcpy(to, member,
		   lb_member_length(&model->index.shape, member) * sizeof(int64));
}

/* A word of a key that can be anything, member or not. */
static int64 *
some_word(const Model *model, int64 *key, bool of_member)
{
	if (has_texts(model))
		return key;
	return key + random_below(of_member ? model->width :
							  model->width - model->member_words);
}

static int64
make_score(Model *model)
{
	switch (model->scores)
	{
		case SCORES_RANDOM:
			return ~(int64) (next_random() % (uint64) model->score_range);
		case SCORES_EXTREME:
			return extreme();
		case SCORES_ASCENDING:
			return model->counter++ / model->score_range;
		default:
			return -(model->counter++ / model->score_range);
	}
}

/* A key with texts. */
static void
make_text_key(Model *model, int member, int64 *key)
{
	const LbShape *shape = &model->index.shape;
	int64	   *word = key;

	for (int i = 0; i < shape->ncolumns; i++)
	{
		uint8		chars[MAX_TEXT];
		uint8		column = shape->columns[i];
		int			length;

		if (column < LB_TEXT)
		{
			for (int j = 0; j < column; j++)
				*word++ = i == 0 ? make_score(model) :
					i < shape->nrank ? (int64) random_below(2) :
					j == 0 ? member : 0;
			continue;
		}
		length = i < shape->nrank ?
			tie_text(model->texts, model->max_text, chars) :
			member_text(model->texts, model->max_text, member, chars);
		word += encode_text(chars, length, column, word);
	}
	Assert(word - key == lb_key_words(shape, key));
}

void
make_key(Model *model, int member, int64 *key)
{
	int			first = model->width - model->member_words;
	int			i;

	if (has_texts(model))
	{
		make_text_key(model, member, key);
		return;
	}
	for (i = 0; i < first; i++)
		key[i] = i == 0 ? make_score(model) :
			model->scores == SCORES_EXTREME ? extreme() :
			(int64) random_below(3);
	for (i = first; i < model->width; i++)
		key[i] = member % 5;
	key[model->width - 1] = member == 0 ? INT64_MIN :
		member == 1 ? INT64_MAX : (int64) member / 5 * 3 - 100 + member % 2;
	if (model->member_words == 1)
		key[model->width - 1] = member == 0 ? INT64_MIN :
			member == 1 ? INT64_MAX : (int64) member * 3 - 100;
	if (same_hash > 0)
	{
		Assert(model->member_words == 1);
		key[model->width - 1] =
			word_of_hash(model->world.arena.hash_seed,
						 (uint32) (member / same_hash) * 2654435769U,
						 (uint32) (member % same_hash));
	}
}

bool
model_open(Model *model, int width, int member_words, int universe,
		   Scores scores, int64 score_range)
{
	LbShape		shape = lb_fixed_shape(width, member_words);

	return model_open_texts(model, &shape, TEXTS_NONE, universe, scores,
							score_range);
}

bool
model_open_texts(Model *model, const LbShape *shape, Texts texts,
				 int universe, Scores scores, int64 score_range)
{
	int			width = shape->width;
	int			ntexts = 0;
	int			i;

	memset(model, 0, sizeof(Model));
	lb_index_init(&model->index, shape);
	for (i = 0; i < shape->ncolumns; i++)
		ntexts += shape->columns[i] >= LB_TEXT;
	model->width = width;
	model->member_words = shape->member_words;
	model->stride = ntexts > 0 ? LB_MAX_KEY_WORDS : width;
	model->texts = texts;
	model->max_text = ntexts > 1 ? 900 / ntexts : MAX_TEXT;
	model->universe = universe;
	model->scores = scores;
	model->score_range = score_range;
	model->keys = allocate((Size) universe * model->stride * sizeof(int64));
	model->there = allocate(universe * sizeof(bool));
	model->order = allocate(universe * sizeof(int));
	REQUIRE(world_open(&model->world,
					   (uint64) universe * (width * 4 + 40) / LB_PAGE_SIZE +
					   (uint64) universe * width * 8 / LB_PAGE_SIZE +
					   (uint64) universe * ntexts * 520 / LB_PAGE_SIZE + 96));
	for (i = 0; i < universe; i++)
		make_key(model, i, model_key(model, i));
	model->before = model->index;
	return true;
}

bool
model_close(Model *model)
{
	lb_index_free(&model->world.mem, &model->index);
	free(model->keys);
	free(model->there);
	free(model->order);
	return world_close(&model->world);
}

/* What model_before looks for. */
typedef struct ModelBound
{
	const Model *model;
	const int64 *prefix;
	int			nwords;
	bool		inclusive;
} ModelBound;

static bool
member_is_before(uint64 i, const void *arg)
{
	const ModelBound *bound = (const ModelBound *) arg;
	const Model *model = bound->model;

	return lb_words_cmp(model_key(model, model->order[i]), bound->prefix,
						bound->nwords) < (bound->inclusive ? 1 : 0);
}

/* How many keys of the model come before prefix, or equal it if inclusive. */
static int
model_before(const Model *model, const int64 *prefix, int nwords,
			 bool inclusive)
{
	ModelBound	bound = {model, prefix, nwords, inclusive};

	if (has_texts(model) && nwords > 1)
		bound.nwords = lb_key_words(&model->index.shape, prefix);

	return (int) lb_lower_bound((uint64) model->n, member_is_before, &bound);
}

static uint64
model_distinct(const Model *model, int before)
{
	uint64		n = 0;
	int			i;

	for (i = 0; i < before; i++)
		n += i == 0 || model_key(model, model->order[i])[0] !=
			model_key(model, model->order[i - 1])[0];
	return n;
}

void
model_insert(Model *model, int member)
{
	const int64 *key = model_key(model, member);
	int			at = model_before(model, key, model->width, false);

	memmove(model->order + at + 1, model->order + at,
			(model->n - at) * sizeof(int));
	model->order[at] = member;
	model->there[member] = true;
	model->n++;
}

void
model_remove(Model *model, int member)
{
	const int64 *key = model_key(model, member);
	int			at = model_before(model, key, model->width, false);

	model->n--;
	memmove(model->order + at, model->order + at + 1,
			(model->n - at) * sizeof(int));
	model->there[member] = false;
}

bool
compare_index(const Model *model)
{
	const LbArena *arena = &model->world.arena;
	const LbIndex *index = &model->index;
	LbCursor	cursor;
	bool		more;
	int			i;

	REQUIRE_NULL(lb_index_check(arena, index));
	REQUIRE(lb_index_bytes(index) == model->world.arena.used);
	REQUIRE(index->members == (uint64) model->n);
	REQUIRE(index->distinct == model_distinct(model, model->n));
	more = lb_index_seek_place(arena, index, 0, &cursor);
	for (i = 0; i < model->n; i++)
	{
		int64		key[LB_MAX_KEY_WORDS];

		REQUIRE(more);
		lb_cursor_key(arena, index, &cursor, key);
		REQUIRE(same_key(model, key, model_key(model, model->order[i])));
		if (i + 1 < model->n)
			more = lb_cursor_next(arena, index, &cursor);
	}
	if (model->n == 0)
	{
		REQUIRE(!more);
		return true;
	}
	for (i = model->n - 2; i >= 0; i--)
	{
		int64		key[LB_MAX_KEY_WORDS];

		REQUIRE(lb_cursor_prev(arena, index, &cursor));
		lb_cursor_key(arena, index, &cursor, key);
		REQUIRE(same_key(model, key, model_key(model, model->order[i])));
	}
	REQUIRE(!lb_cursor_prev(arena, index, &cursor));
	REQUIRE(cursor.leaf == LB_NONE);
	REQUIRE(!lb_cursor_prev(arena, index, &cursor));
	REQUIRE(!lb_cursor_next(arena, index, &cursor));
	return true;
}

/* Several prefixes at once must get what each of them gets by itself. */
static bool
ask_many(Model *model, int nwords)
{
	const LbArena *arena = &model->world.arena;
	const LbIndex *index = &model->index;
	int64		keys[5][LB_MAX_KEY_WORDS];
	const int64 *prefixes[5];
	LbPath		paths[5];
	LbCursor	places[5];
	uint64		members[5];
	uint64		distinct[5];
	int			n = 1 + (int) random_below(5);
	bool		count_distinct = random_below(2) == 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		make_key(model, (int) random_below(model->universe), keys[i]);
		places[i].leaf = LB_NONE;
		if (random_below(8) == 0)
			*some_word(model, keys[i], true) = extreme();
		else if (random_below(4) > 0)
		{
			int64		member[LB_MAX_KEY_WORDS];

			copy_member(model, member, keys[i]);
			if (!lb_index_lookup(arena, index, member, keys[i], &places[i]))
				places[i].leaf = LB_NONE;
		}
		prefixes[i] = keys[i];
	}
	lb_index_prefetch_changes(arena, index, prefixes, n, paths);
	lb_index_spans_many(arena, index, prefixes, places, n, nwords, members,
						count_distinct ? distinct : NULL);
	for (i = 0; i < n; i++)
	{
		uint64		m;
		uint64		d;

		lb_index_spans(arena, index, keys[i], nwords, false, &m, &d);
		REQUIRE(members[i] == m);
		REQUIRE(!count_distinct || distinct[i] == d);
	}
	return true;
}

/* Look several members up at once. */
static bool
look_up_many(Model *model, int nwords)
{
	const LbIndex *index = &model->index;
	int			which[LB_PREFETCH_KEYS];
	int64		members[LB_PREFETCH_KEYS * LB_MAX_KEY_WORDS];
	int64		keys[LB_PREFETCH_KEYS * (LB_MAX_KEY_WORDS + 2)];
	bool		found[LB_PREFETCH_KEYS];
	LbCursor	places[LB_PREFETCH_KEYS];
	LbLookups	lookups = {
		.members = members,.member_stride = model->stride,
		.keys = keys,.found = found,.places = places
	};
	int			n = (int) random_below(LB_PREFETCH_KEYS + 1);
	const int64 *key;
	int			i;

	for (i = 0; i < n; i++)
	{
		which[i] = (int) random_below(model->universe);
		copy_member(model, members + i * model->stride,
					model_key(model, which[i]));
	}
	lookups.n = n;
	lookups.nwords = nwords;
	lookups.key_stride = nwords + (int) random_below(3);
	lb_index_lookup_many(&model->world.arena, index, &lookups);
	for (i = 0; i < n; i++)
	{
		int64		at[LB_MAX_KEY_WORDS];

		REQUIRE(found[i] == model->there[which[i]]);
		if (!found[i])
			continue;
		key = model_key(model, which[i]);
		REQUIRE(lb_words_cmp(keys + i * lookups.key_stride, key,
							 Min(nwords, lb_key_words(&index->shape, key))) == 0);
		lb_cursor_key(&model->world.arena, index, &places[i], at);
		REQUIRE(same_key(model, model_key(model, which[i]), at));
	}
	return true;
}

/* Look a member up. */
static bool
ask_member(Model *model, int member)
{
	const LbArena *arena = &model->world.arena;
	const LbIndex *index = &model->index;
	const int64 *key = model_key(model, member);
	int64		got[LB_MAX_KEY_WORDS];

	lb_index_prefetch_hash(arena, index, lb_key_member(&index->shape, key));
	REQUIRE(lb_index_lookup(arena, index, lb_key_member(&index->shape, key),
							got, NULL) == model->there[member]);
	if (model->there[member])
		REQUIRE(same_key(model, key, got));
	return true;
}

/* Count what comes before a prefix. */
static bool
ask_spans(Model *model, int member, int nwords, bool inclusive)
{
	const LbArena *arena = &model->world.arena;
	const LbIndex *index = &model->index;
	int64		key[LB_MAX_KEY_WORDS];
	int			before;
	uint64		members;
	uint64		distinct;

	copy_key(model, key, model_key(model, member));
	if (random_below(2) == 0)
		make_key(model, member, key);
	if (random_below(8) == 0)
		*some_word(model, key, true) = extreme();
	before = model_before(model, key, nwords, inclusive);
	if (before > 2000 && random_below(16) != 0)
	{
		lb_index_spans(arena, index, key, nwords, inclusive, &members, NULL);
		REQUIRE(members == (uint64) before);
		return true;
	}
	lb_index_spans(arena, index, key, nwords, inclusive, NULL, &distinct);
	REQUIRE(distinct == model_distinct(model, before));
	lb_index_spans(arena, index, key, nwords, inclusive, &members, &distinct);
	REQUIRE(members == (uint64) before);
	REQUIRE(distinct == model_distinct(model, before));
	return true;
}

/* The cursor is at the model's entry with this many before it. */
static bool
cursor_is_at(const Model *model, const LbCursor *cursor, int before)
{
	int64		got[LB_MAX_KEY_WORDS];

	lb_cursor_key(&model->world.arena, &model->index, cursor, got);
	REQUIRE(same_key(model, got, model_key(model, model->order[before])));
	return true;
}

/* Seek a place. */
static bool
ask_place(Model *model)
{
	int			before = (int) random_below(model->n + 2);
	LbCursor	cursor;

	REQUIRE(lb_index_seek_place(&model->world.arena, &model->index, before,
								&cursor) == (before < model->n));
	if (before < model->n)
		return cursor_is_at(model, &cursor, before);
	REQUIRE(cursor.leaf == LB_NONE);
	return true;
}

/* Seek a prefix, and move the cursor some entries forward or backward. */
static bool
ask_cursor(Model *model, int member, int nwords, bool forward)
{
	const LbArena *arena = &model->world.arena;
	const LbIndex *index = &model->index;
	int64		key[LB_MAX_KEY_WORDS];
	int			before;
	LbCursor	cursor;
	int			steps;

	copy_key(model, key, model_key(model, member));
	if (random_below(4) == 0)
		make_key(model, member, key);
	before = model_before(model, key, nwords, false);
	REQUIRE(lb_index_seek_key(arena, index, key, nwords, &cursor) ==
			(before < model->n));
	for (steps = (int) random_below(8); steps > 0; steps--)
	{
		if (before >= model->n || before < 0)
		{
			REQUIRE(cursor.leaf == LB_NONE);
			break;
		}
		REQUIRE(cursor_is_at(model, &cursor, before));
		if (forward)
		{
			before++;
			REQUIRE(lb_cursor_next(arena, index, &cursor) ==
					(before < model->n));
		}
		else
		{
			before--;
			REQUIRE(lb_cursor_prev(arena, index, &cursor) == (before >= 0));
		}
	}
	return true;
}

/* How many words a prefix has. */
static int
some_length(const Model *model)
{
	if (!has_texts(model))
		return 1 + (int) random_below(model->width);
	return random_below(2) == 0 ? 1 : model->width;
}

bool
ask(Model *model)
{
	int			member = (int) random_below(model->universe);
	int			nwords = some_length(model);
	bool		inclusive = random_below(2) == 0;

	operations++;
	if (random_below(8) == 0)
	{
		REQUIRE(ask_many(model, nwords));
		REQUIRE(look_up_many(model, nwords));
	}
	switch (random_below(4))
	{
		case 0:
			return ask_member(model, member);
		case 1:
			return ask_spans(model, member, nwords, inclusive);
		case 2:
			return ask_place(model);
		default:
			return ask_cursor(model, member, nwords, inclusive);
	}
}

bool
insert(Model *model, int member, bool starve)
{
	LbMem	   *mem = &model->world.mem;
	LbIndex    *index = &model->index;
	int64	   *key = model_key(model, member);
	LbResult	result = LB_NOMEM;
	uint32		chunks = 0;

	operations++;
	make_key(model, member, key);
	while (starve && result == LB_NOMEM)
	{
		uint64		distinct = index->distinct;

		world_limit(&model->world, chunks++);
		result = lb_index_insert(mem, index, key);
		if (result == LB_NOMEM)
		{
			REQUIRE(index->members == (uint64) model->n);
			REQUIRE(index->distinct == distinct);
			if (model->n < 300 || random_below(10) == 0)
				REQUIRE(compare_index(model));
		}
	}
	mem->limit = 0;
	if (!starve)
		result = lb_index_insert(mem, index, key);
	REQUIRE(result == LB_OK);
	model_insert(model, member);
	return true;
}

const LbPath *
make_hint(const LbArena *arena, const LbIndex *index, LbIndex *before,
		  const int64 *key, LbPath *path)
{
	if (random_below(20) == 0)
		*before = *index;
	switch (random_below(4))
	{
		case 0:
			return NULL;
		case 1:
			index = before;
			break;
		case 2:
			for (int i = 0; i < LB_MAX_HEIGHT; i++)
			{
				path->ref[i] = i == (int) index->height - 1 ? index->root :
					(LbRef) random_below(arena->nchunks * 2);
				path->slot[i] = (int) random_below(200) - 50;
			}
			return path;
	}
	lb_index_prefetch_changes(arena, index, &key, 1, path);
	return path;
}

bool
replace(Model *model, int member, bool starve)
{
	LbMem	   *mem = &model->world.mem;
	LbIndex    *index = &model->index;
	int64		old[LB_MAX_KEY_WORDS];
	int64		key[LB_MAX_KEY_WORDS];
	LbPath		paths[2];
	const LbPath *old_hint;
	const LbPath *new_hint;
	LbResult	result;

	operations++;
	copy_key(model, old, model_key(model, member));
	make_key(model, member, key);
	if (random_below(8) == 0)
	{
		/* Not far from where it was. */
		copy_key(model, key, old);
		*some_word(model, key, false) ^= 1;
	}
	if (same_key(model, old, key))
		return true;
	old_hint = make_hint(&model->world.arena, index, &model->before, old,
						 &paths[0]);
	new_hint = make_hint(&model->world.arena, index, &model->before, key,
						 &paths[1]);
	if (random_below(8) == 0)
	{
		*some_word(model, old, false) ^= 5;
		REQUIRE(lb_index_replace(mem, index, old, key, old_hint,
								 new_hint) == LB_NOTFOUND);
		copy_key(model, old, model_key(model, member));
	}
	if (!model->there[member])
	{
		REQUIRE(lb_index_replace(mem, index, old, key, old_hint,
								 new_hint) == LB_NOTFOUND);
		return true;
	}
	if (starve)
		world_limit(&model->world, 0);
	result = lb_index_replace(mem, index, old, key, old_hint, new_hint);
	mem->limit = 0;
	REQUIRE(result == LB_OK || (starve && result == LB_NOMEM));
	model_remove(model, member);
	if (result == LB_OK)
	{
		copy_key(model, model_key(model, member), key);
		model_insert(model, member);
	}
	return true;
}

/* One random change. */
static bool
change(Model *model, int percent_insert, bool starve)
{
	LbMem	   *mem = &model->world.mem;
	LbIndex    *index = &model->index;
	int			member = (int) random_below(model->universe);
	int64		key[LB_MAX_KEY_WORDS];

	if (random_below(3) == 0 && model->width > model->member_words)
	{
		if (model->n > 0 && random_below(20) != 0)
			member = model->order[random_below(model->n)];
		return replace(model, member, starve && random_below(4) == 0);
	}
	operations++;
	if ((int) random_below(100) < percent_insert)
	{
		if (model->there[member])
		{
			make_key(model, member, key);
			REQUIRE(lb_index_insert(mem, index, key) == LB_EXISTS);
			return true;
		}
		return insert(model, member, starve && random_below(4) == 0);
	}

	if (model->n > 0 && random_below(10) != 0)
		member = model->order[random_below(model->n)];
	copy_key(model, key, model_key(model, member));
	if (model->there[member])
	{
		if (random_below(8) == 0 && model->width > model->member_words)
		{
			*some_word(model, key, false) ^= 5;
			REQUIRE(lb_index_remove(mem, index, key) == LB_NOTFOUND);
			copy_key(model, key, model_key(model, member));
		}
		REQUIRE(lb_index_remove(mem, index, key) == LB_OK);
		model_remove(model, member);
	}
	else
		REQUIRE(lb_index_remove(mem, index, key) == LB_NOTFOUND);
	return true;
}

bool
exercise(Model *model, int steps, int check_every, bool starve)
{
	int			target = model->universe;
	int			step;

	for (step = 0; step < steps; step++)
	{
		int			percent = 50;

		if (step % Max(steps / 12, 1) == 0)
			target = step / Max(steps / 12, 1) % 2 == 0 ?
				model->universe * 9 / 10 :
				(int) random_below(model->universe / 2 + 1);
		if (model->n < target)
			percent = 85;
		else if (model->n > target)
			percent = 30;
		REQUIRE(change(model, percent, starve));
		if (random_below(2) == 0)
			REQUIRE(ask(model));
		if (step % check_every == 0)
			REQUIRE(compare_index(model));
	}
	REQUIRE(compare_index(model));
	return true;
}

bool
empty_again(Model *model)
{
	while (model->n > 0)
	{
		int			member = model->order[random_below(model->n)];

		operations++;
		REQUIRE(lb_index_remove(&model->world.mem, &model->index,
								model_key(model, member)) == LB_OK);
		model_remove(model, member);
		if (random_below(model->n + 50) == 0)
			REQUIRE(compare_index(model));
	}
	REQUIRE(compare_index(model));
	REQUIRE(model->world.arena.used == 0);
	return true;
}

LbResult
bulk_build(Model *model, uint64 expected)
{
	LbBulk		bulk;
	LbResult	result;
	int			i;

	result = lb_bulk_begin(&bulk, &model->world.mem, &model->index, expected);
	for (i = 0; i < model->n && result == LB_OK; i++)
	{
		operations++;
		result = lb_bulk_add(&bulk, model_key(model, model->order[i]));
	}
	if (result == LB_OK)
		result = lb_bulk_finish(&bulk);
	if (result != LB_OK)
		lb_index_free(&model->world.mem, &model->index);
	return result;
}

bool
exercise_all(Model *model, int steps, int check_every, bool starve)
{
	REQUIRE(exercise(model, steps, check_every, starve));
	REQUIRE(empty_again(model));
	REQUIRE(exercise(model, steps / 10, check_every, starve));
	return model_close(model);
}

void
flip_bits(const LbArena *arena, const LbIndex *index, int n)
{
	uint32		first = LB_PAGE_SIZE / LB_CHUNK_SIZE;
	uint64		bytes = (uint64) (arena->fresh - first) * LB_CHUNK_SIZE;

	for (int i = 0; i < n; i++)
	{
		char	   *byte = (char *) lb_ptr(arena, first) +
			next_random() % bytes;
		char		bit = (char) (1 << random_below(8));

		operations++;
		if (random_below(2) == 0)
			byte = (char *) lb_ptr(arena, first) +
				next_random() % (bytes / LB_PAGE_SIZE) * LB_PAGE_SIZE +
				random_below(64);
		*byte ^= bit;
		(void) lb_index_check(arena, index);
		*byte ^= bit;
	}
}
