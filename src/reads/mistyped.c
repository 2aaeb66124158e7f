/*-------------------------------------------------------------------------
 *
 * mistyped.c
 *	  Names of boards that look mistyped.
 *
 * A board that does not exist is an error.  But if the family "*" exists, any
 * name with a colon is one of its boards: a mistyped family is an empty board,
 * and goes unnoticed.  So a name gets a notice if its first part is neither a
 * family, nor the prefix of a row's board, nor that of an alias.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/rls.h"

#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/live.h"
#include "boards/state.h"
#include "capture/xactlog.h"
#include "ledger/publication.h"
#include "feed/redo.h"
#include "reads/access.h"
#include "reads/mistyped.h"
#include "reads/query.h"
#include "sql/spi.h"

/* How many first parts of names a session remembers. */
#define MAX_PREFIXES 1000

/*
 * The most boards in a stripe that are searched, under its lock.  If there are
 * more, no name is reported.
 */
#define MAX_SEARCHED 20000

typedef struct Prefix
{
	char		name[NAMEDATALEN];	/* hash key */
	bool		known;			/* else it has been reported */
} Prefix;

typedef struct PrefixScan
{
	LbValue		prefix;			/* with the colon */
	bool		found;
} PrefixScan;

int			lb_unknown_board = LB_UNKNOWN_NOTICE;

/* Prefixes that the session has met, in the family with this lb_board.id. */
static HTAB *prefixes = NULL;
static int32 prefixes_of = 0;

/* Whether any row of the family has a board that begins with the value, $1. */
static const LbQuery prefix_query = {
	.text = {"SELECT EXISTS (SELECT 1 {from_prefix} LIMIT 1)"}
};

static bool
has_entries(dlist_head *list)
{
	dlist_iter	iter;

	dlist_foreach(iter, list)
	{
		if (dlist_container(LbPublication, node, iter.cur)->nentries > 0)
			return true;
	}
	return false;
}

/* Else a board lives only because rows are off it, as far as settled. */
static bool
may_have_members(LbLiveBoard *board)
{
	return board->index.members > 0 || board->no_key ||
		has_entries(&board->pending) || has_entries(&board->history);
}

static bool
has_prefix(uint32 hash, LbRef ref, void *arg)
{
	PrefixScan *scan = (PrefixScan *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);
	LbValue		value = lb_live_board_value(board);

	scan->found = value.len >= scan->prefix.len &&
		memcmp(value.data, scan->prefix.data, scan->prefix.len) == 0 &&
		may_have_members(board);
	return !scan->found;
}

/* Whether the live boards of the family may be searched. */
static bool
may_search(const LbDefinition *defn, LbSharedBoard *shared)
{
	return shared != NULL &&
		lb_is_ready(shared) &&
		lb_enable_index && lb_feed_answers(defn) &&
		defn->problem == NULL && defn->captured &&
		!(defn->row_security &&
		  check_enable_rls(defn->source, InvalidOid, true) == RLS_ENABLED);
}

/*
 * Whether a ranked row of the family has that prefix: by its live boards, or
 * else by the query.
 */
static bool
any_board_has(LbDefinition *defn, const LbValue *prefix)
{
	LbSharedBoard *shared = lb_shared_board_attach(defn, false);
	uint64		generation = defn->generation;
	PrefixScan	scan;

	if (!may_search(defn, shared))
	{
		LbQueryArgs args = {.query = &prefix_query,.value = prefix};
		bool		isnull;
		Datum		exists = lb_query_value(defn, &args, &isnull);

		return isnull || DatumGetBool(exists);
	}
	scan.prefix = *prefix;
	scan.found = false;
	for (int s = 0; s < LB_STRIPES && !scan.found; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];

		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(&stripe->lock, LW_SHARED);
		if (!lb_shared_board_is(shared, generation) ||
			stripe->boards.entries > MAX_SEARCHED)
			scan.found = true;
		else
			lb_stripe_walk(stripe, true, has_prefix, &scan);
		LWLockRelease(&stripe->lock);
	}
	return scan.found;
}

/* The session's entry of a prefix, entered if it is not there, or NULL. */
static Prefix *
prefix_entry(const char *name, int32 id, bool enter)
{
	Prefix	   *prefix;
	bool		found;

	if (prefixes != NULL &&
		(prefixes_of != id ||
		 (enter && hash_get_num_entries(prefixes) >= MAX_PREFIXES)))
	{
		hash_destroy(prefixes);
		prefixes = NULL;
	}
	if (prefixes == NULL)
	{
		HASHCTL		ctl;

		if (!enter)
			return NULL;
		memset(&ctl, 0, sizeof(ctl));
		ctl.keysize = NAMEDATALEN;
		ctl.entrysize = sizeof(Prefix);
		prefixes = hash_create("leaderboard prefixes", 16, &ctl,
							   HASH_ELEM | HASH_STRINGS);
		prefixes_of = id;
	}
	prefix = hash_search(prefixes, name, enter ? HASH_ENTER : HASH_FIND,
						 &found);
	if (enter && !found)
		prefix->known = false;
	return prefix;
}

static void
report_unknown(const LbDefinition *family, const LbValue *board,
			   const char *prefix)
{
	ereport(lb_unknown_board == LB_UNKNOWN_ERROR ? ERROR : NOTICE,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("board \"%.*s\" does not exist", board->len, board->data),
			 errdetail("There is no family \"%s\", and no window and no row of the family \"%s\" has a name that begins with \"%s:\".",
					   prefix, family->name, prefix),
			 errhint("%sThe table lb_board lists the families. To read any such name as an empty board, set \"leaderboard.unknown_board\" to \"ignore\".",
					 lb_nearest_family(prefix))));
}

bool
lb_check_prefix(LbTarget *target)
{
	/* The last prefix that was known: most calls repeat it. */
	static char last[NAMEDATALEN] = "";
	static int	last_len = 0;
	static int32 last_of = 0;
	LbDefinition *defn = target->defn;
	int32		id = defn->id;
	int			len = target->prefix_len;
	LbValue		with_colon = {len + 1, target->value.data};
	char		name[NAMEDATALEN];
	Prefix	   *prefix;
	bool		known;

	if (len == last_len && id == last_of &&
		memcmp(last, target->value.data, len) == 0)
		return false;
	if (lb_unknown_board == LB_UNKNOWN_IGNORE || len > LB_MAX_NAME ||
		lb_own_running() || lb_changed_here(defn->source) ||
		!lb_may_read(defn))
		return false;
	memcpy(name, target->value.data, len);
	name[len] = '\0';
	prefix = prefix_entry(name, id, false);
	if (prefix != NULL && !prefix->known &&
		lb_unknown_board == LB_UNKNOWN_NOTICE)
		return false;
	known = prefix != NULL && prefix->known;
	if (!known)
	{
		known = any_board_has(defn, &with_colon) ||
			lb_alias_has_prefix(name, len);
		prefix_entry(name, id, true)->known = known;
	}
	if (known)
	{
		memcpy(last, name, len);
		last_len = len;
		last_of = id;
	}
	else
		report_unknown(defn, &target->value, name);
	return true;
}
