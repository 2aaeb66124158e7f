/*-------------------------------------------------------------------------
 *
 * ask.c
 *	  Asking the boards of all shards of a distributed table.
 *
 * A question is one statement over the table of places, which has a row for
 * each shard (places.c).  Citus sends it to where the rows are, and so are the
 * shards: a function there (asked.c) asks the shards' boards.  It costs one
 * round trip, whatever is asked.
 *
 * What it costs grows with the number of rows that it reads, since each is a
 * statement of its own to Citus.  So it reads one row on each server, and the
 * function there answers for all shards of the server.  Citus finds the row by
 * its value of the distribution column, which the first question that reads
 * all rows has told.
 *
 * The rows of one server are all read over one connection only if nothing has
 * been written: in a transaction, Citus reads each shard over the connection
 * that has written to it, and no other one sees the changes.  So all rows are
 * read in a transaction that Citus has begun on other servers.  A submit is an
 * exception: it has written to the player's shard only.  Then the row to read
 * on that server is the one beside this shard, which Citus reads over the
 * connection that has written.
 *
 * A shard that cannot answer exactly, such as one that was just moved and has
 * no board yet, answers null, and then the caller runs the query.  So it does
 * if the rows are not those of all shards: the numbers in them are compared
 * after the statement with what Citus knows.  For one row on each server, that
 * is the layout, which must have been valid all the time; for all rows,
 * lb_are_all_shards().  So the table of places, which users own, can make
 * reads slow but not wrong.
 *
 * Keys travel as the words that boards hold (keys.h), not as texts: they are
 * compared without the types' functions, and no setting of a session changes
 * them.
 *
 * Statements run in the order of a function's calls, one at a time, with the
 * caller's rights, or for a superuser with those of the table's owner.  Each
 * is as of the moment when it runs, as the engine has it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "boards/board_value.h"
#include "boards/catalog.h"
#include "boards/counters.h"
#include "boards/resolve.h"
#include "citus/ask.h"
#include "citus/layout.h"
#include "citus/shard.h"
#include "citus/words.h"
#include "reads/query.h"
#include "reads/text.h"
#include "sql/spi.h"

/* How many plans of questions are kept, each for another table. */
#define KEPT_PLANS 8

/* The longest value of a place, in bytes, to ask for. */
#define MAX_PLACE 64

/*
 * The shard of the board's table to which this transaction has written, if
 * that is all that it has written on other servers; or 0.
 */
static int64
written_shard(const LbAsk *ask)
{
	const LbCall *call = ask->call;

	if (!call->written)
		return 0;
	if (call->form == LB_AS_BIGINT)
		return lb_find_shard_of(&ask->defn,
								cstring_to_text(psprintf(INT64_FORMAT,
														 DatumGetInt64(call->operands[0]))));
	return lb_find_shard_of(&ask->defn,
							DatumGetTextPP(lb_value_to_text(lb_member_column(&ask->defn)->type,
															call->operands[0])));
}

/* The same as lb_ask_begin(), whatever the operands are. */
static bool
begin(LbAsk *ask, LbCall *call)
{
	const LbTarget *target = &call->access.target;
	const LbDefinition *defn = target->defn;
	char	   *name = NULL;

	if (!call->access.query || defn->problem != lb_engine_problem ||
		defn->counts ||
		call->access.cause != LB_CAUSE_OFFLINE || lb_own_running())
		return false;
	if (defn->family)
	{
		name = lb_value_to_name(defn, &target->value);
		if (name == NULL)
			return false;
	}
	memset(ask, 0, sizeof(LbAsk));
	ask->call = call;
	ask->keys_hash = lb_keys_hash(defn);
	ask->value = CStringGetTextDatum(name == NULL ? "" : psprintf(":%s", name));
	lb_copy_defn(&ask->defn, defn);
	ask->written = written_shard(ask);
	return true;
}

bool
lb_ask_begin(LbAsk *ask, LbCall *call)
{
	return !call->nulls[0] && begin(ask, call);
}

/* What the text of a question depends on. */
typedef struct TextArg
{
	Oid			places;
	const LbLayout *layout;		/* NULL: ask each shard for itself */
	int64		written;		/* as in LbAsk */
	int64		only;			/* lb_only_shard() if places is the source, or
								 * 0 */
} TextArg;

/* How many shards the server of slot i has, which is its first one. */
static int
count_shards(const LbLayout *layout, int i)
{
	int			n = 1;

	while (i + n < layout->n &&
		   layout->slots[i + n].group == layout->slots[i].group)
		n++;
	return n;
}

/*
 * The slot to ask on a server whose n shards begin at slot i: that of the
 * shard that was written to, or else the first one.
 */
static int
asked_slot(const LbLayout *layout, int i, int n, int64 written)
{
	for (int j = i; written != 0 && j < i + n; j++)
	{
		if (layout->slots[j].shard == written)
			return j;
	}
	return i;
}

/* The next server behind slot i; sets *asked to the slot to ask on it. */
static int
next_server(const LbLayout *layout, int i, int64 written, int *asked)
{
	int			n = count_shards(layout, i);

	*asked = asked_slot(layout, i, n, written);
	return i + n;
}

/*
 * What shards each server has, the one that is asked first, as text of an
 * array.
 */
static void
append_servers(StringInfo buf, const LbLayout *layout, int64 written)
{
	int			asked;

	appendStringInfoString(buf, ", '{");
	for (int i = 0, next; layout != NULL && i < layout->n; i = next)
	{
		next = next_server(layout, i, written, &asked);
		appendStringInfo(buf, "%s%d," INT64_FORMAT, i > 0 ? "," : "", next - i,
						 layout->slots[asked].shard);
		for (int j = i; j < next; j++)
		{
			if (j != asked)
				appendStringInfo(buf, "," INT64_FORMAT,
								 layout->slots[j].shard);
		}
	}
	appendStringInfoString(buf, "}'");
}

/* Which rows to read. */
static void
append_condition(StringInfo buf, const LbLayout *layout, int64 written)
{
	const char *word = "WHERE";
	int			asked;

	for (int i = 0; i < layout->n;)
	{
		i = next_server(layout, i, written, &asked);
		appendStringInfo(buf, " %s p.place OPERATOR(pg_catalog.=) %s", word,
						 quote_literal_cstr(layout->slots[asked].place));
		word = "OR";
	}
}

static char *
question_text(const void *arg)
{
	const TextArg *a = (const TextArg *) arg;
	StringInfoData buf;

	char	   *shard = a->only == 0 ? "p.shard" :
		psprintf("CAST(" INT64_FORMAT " AS pg_catalog.int8)", a->only);
	char	   *self = a->only == 0 ? "p.self" : shard;

	initStringInfo(&buf);
	appendStringInfo(&buf, "SELECT %s, %s, %s.lb_shard_ask($1, $2, $3, %s, %s, p.tableoid",
					 shard, self, lb_internal_schema(), shard, self);
	append_servers(&buf, a->layout, a->written);
	appendStringInfo(&buf, ", $4)%s FROM %s AS p%s",
					 a->layout == NULL && a->only == 0 ?
					 ", CAST(p.place AS pg_catalog.text)" : "",
					 lb_qualified_name(a->places),
					 a->only == 0 ? "" : " LIMIT 1");
	if (a->layout != NULL)
		append_condition(&buf, a->layout, a->written);
	return buf.data;
}

/* Rows of places that a statement has read. */
typedef struct PlaceRows
{
	int			n;
	int64	   *shards;
	int64	   *selves;
} PlaceRows;

/*
 * Take the rows of the statement, with the answers in the memory context of
 * the caller.  Returns false if they have nulls.
 */
static bool
take_rows(LbAsk *ask, PlaceRows *rows, MemoryContext caller)
{
	bool		whole = true;

	rows->n = ask->n = (int) SPI_processed;
	rows->shards = palloc(Max(1, rows->n) * sizeof(int64));
	rows->selves = palloc(Max(1, rows->n) * sizeof(int64));
	ask->answers = MemoryContextAlloc(caller,
									  Max(1, rows->n) * sizeof(LbWords));
	for (int i = 0; whole && i < rows->n; i++)
	{
		bool		isnull;
		Datum		answer = lb_row_nullable(SPI_tuptable, i, 3, &isnull);

		CHECK_FOR_INTERRUPTS();
		whole = !isnull && lb_row_int8(SPI_tuptable, i, 1, &rows->shards[i]) &&
			lb_row_int8(SPI_tuptable, i, 2, &rows->selves[i]);
		if (whole)
		{
			MemoryContext old = MemoryContextSwitchTo(caller);

			ask->answers[i] = lb_datum_words(answer);
			MemoryContextSwitchTo(old);
		}
	}
	return whole;
}

/*
 * The layout, if the shards' servers can be asked by it: NULL if not, or not
 * yet.
 */
static LbLayout *
usable_layout(const LbAsk *ask)
{
	LbLayout   *layout;
	int			asked;

	if (ask->written == 0 && lb_in_distributed_transaction())
		return NULL;
	layout = lb_layout(ask->defn.source, ask->places);
	for (int i = 0; layout != NULL && i < layout->n;)
	{
		i = next_server(layout, i, ask->written, &asked);
		if (layout->slots[asked].place == NULL)
			return NULL;
	}
	return layout;
}

/*
 * Whether these are the rows of all servers in a layout, which is still valid.
 */
static bool
are_all_servers(const LbAsk *ask, const LbLayout *layout,
				const PlaceRows *rows)
{
	const LbLayout *now = lb_layout(ask->defn.source, ask->places);
	int			nservers = 0;
	int			asked;

	if (now == NULL || now->id != layout->id)
		return false;
	for (int i = 0; i < layout->n;)
	{
		int			row = 0;

		CHECK_FOR_INTERRUPTS();
		i = next_server(layout, i, ask->written, &asked);
		while (row < rows->n && (rows->shards[row] != layout->slots[asked].shard ||
								 rows->selves[row] != layout->slots[asked].self))
			row++;
		if (row == rows->n)
			return false;
		nservers++;
	}
	return rows->n == nservers;
}

/*
 * Each shard has been asked for itself: keep the places that the rows are at.
 */
static void
learn_places(const LbAsk *ask, const PlaceRows *rows)
{
	LbLayout   *layout;

	/* After a submit the places are those of others, too. */
	if (ask->written == 0 && lb_in_distributed_transaction())
		return;
	layout = lb_layout(ask->defn.source, ask->places);
	for (int i = 0; layout != NULL && i < rows->n; i++)
	{
		char	   *place = lb_row_text(SPI_tuptable, i, 4);

		CHECK_FOR_INTERRUPTS();
		if (place != NULL && strlen(place) <= MAX_PLACE)
			lb_layout_set_place(layout, rows->shards[i], rows->selves[i],
								place);
	}
}

/*
 * Whether the current user may run the statement, and it runs no policies.
 * The query needs none of these privileges.
 */
static bool
may_ask(Oid places)
{
	return pg_class_aclcheck(places, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		pg_namespace_aclcheck(lb_require_catalog()->schema, GetUserId(),
							  ACL_USAGE) == ACLCHECK_OK &&
		check_enable_rls(places, InvalidOid, true) != RLS_ENABLED &&
		lb_may_call_others();
}

/*
 * The table of places of a board's table, locked, or the table itself if it
 * has only one shard and no places; or InvalidOid.  It could be dropped by
 * whatever processes an invalidation.
 */
static Oid
lock_places(Oid source)
{
	Oid			places = lb_places(source);

	if (!OidIsValid(places))
		return lb_only_shard(source) != 0 ? source : InvalidOid;
	LockRelationOid(places, AccessShareLock);
	return lb_places(source) == places ? places : InvalidOid;
}

/* The plan of a question after a write to a shard. */
typedef struct WrittenKey
{
	int64		written;
	Oid			places;
} WrittenKey;

/*
 * The plan of a question: for each shard with layout NULL, or for each server.
 */
static LbPlan *
plan_of(const LbAsk *ask, const LbLayout *layout)
{
	static LbPlan of_servers[KEPT_PLANS];
	static LbPlan of_shards[KEPT_PLANS];
	static LbPlans of_written = {
		.name = "leaderboard questions after writes",
		.keysize = offsetof(WrittenKey, places) + sizeof(Oid)
	};
	WrittenKey	key = {ask->written, ask->places};
	int			slot = ask->places % KEPT_PLANS;

	if (layout == NULL)
		return &of_shards[slot];
	return ask->written == 0 ? &of_servers[slot] :
		lb_plan_of(&of_written, &key);
}

/*
 * Run the statement for a layout, or with layout NULL for each shard.  Returns
 * whether all shards have answered.
 */
static bool
ask_by(LbAsk *ask, const LbLayout *layout, Datum question, MemoryContext caller)
{
	TextArg		arg = {ask->places, layout, ask->written,
		ask->places == ask->defn.source ? lb_only_shard(ask->places) : 0
	};
	PlaceRows	rows;
	bool		whole;

	(void) lb_plan_exec_read(plan_of(ask, layout),
							 layout == NULL ? ask->places : layout->id,
							 question_text, &arg, ask->places,
							 LB_ARGS(lb_arg_text(ask->defn.name), lb_arg(TEXTOID, ask->value),
									 lb_arg_int4(ask->keys_hash), lb_arg(BYTEAOID, question)));
	if (!take_rows(ask, &rows, caller))
		return false;
	if (layout != NULL)
	{
		ask->nshards = layout->n;
		return are_all_servers(ask, layout, &rows);
	}
	ask->nshards = rows.n;
	whole = lb_are_all_shards(ask->defn.source, ask->places, rows.n,
							  rows.shards, rows.selves);
	if (whole)
		learn_places(ask, &rows);
	return whole;
}

/* Likewise for the servers, or if they do not all answer, for each shard. */
static bool
ask_all(LbAsk *ask, Datum question, MemoryContext caller)
{
	const LbLayout *layout = usable_layout(ask);

	if (layout != NULL)
	{
		if (ask_by(ask, layout, question, caller))
			return true;
		lb_layout_forget(ask->defn.source);
	}
	return ask_by(ask, NULL, question, caller);
}

void
lb_set_up_statement(bool sequential)
{
	static const char pool[] = "citus.max_adaptive_executor_pool_size";

	/* A count on a shard takes less time than another connection. */
	if (sequential)
		lb_set_locally("citus.multi_shard_modify_mode", "sequential");
	else if (GetConfigOption(pool, true, false) != NULL)
		lb_set_locally(pool, "1");
}

bool
lb_ask_shards(LbAsk *ask, const int64 *words, int n)
{
	MemoryContext caller = CurrentMemoryContext;
	Datum		question = lb_words_datum(words, n);
	int			nestlevel;
	bool		switched;
	LbUser		saved;
	bool		whole;

	ask->n = -1;
	ask->places = lock_places(ask->defn.source);
	if (!OidIsValid(ask->places))
		return false;
	SPI_connect();
	nestlevel = NewGUCNestLevel();
	lb_set_up_statement(false);
	switched = lb_switch_from_superuser(&saved, &ask->defn, false);
	whole = may_ask(ask->places) && ask_all(ask, question, caller);
	if (switched)
		lb_restore_user(&saved);
	SPI_finish();
	AtEOXact_GUC(true, nestlevel);
	return whole;
}

/* The statements can have made the definition another one. */
static void
find_again(const LbAsk *ask)
{
	LbTarget   *target = &ask->call->access.target;

	target->defn = lb_defn_of(ask->defn.source, ask->defn.catalog,
							  ask->defn.id);
	if (target->defn == NULL)
		lb_wrong_table(ask->defn.source);
}

void
lb_ask_end(const LbAsk *ask)
{
	find_again(ask);
	lb_count_read(&ask->call->access.target, NULL, LB_CAUSE_NONE, false);
}

/*
 * Raise 55000: boards of the shards of a definition's table are missing or
 * offline, or have a row whose text is too long for a key.
 */
pg_noreturn static void
raise_offline(const LbDefinition *defn)
{
	bool		by_board = lb_offline_by_board(defn);

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("board \"%s\" is offline", defn->name),
			 errdetail("Reason: some of its table's shards have no board that is ready, or have a row with a text that is too long for the index."),
			 errhint("lb_stat_shards() shows them. lb_wait_ready() waits for those that are being built, as after a change of partitions; lb_maintain() on the coordinator makes those that are missing. Shorten texts that are too long, or delete their rows. With \"%s\" set to \"%s\" reads run queries meanwhile.",
					 by_board ? "leaderboard.enable_index" : "leaderboard.offline",
					 by_board ? "off" : "query")));
}

/*
 * The boards are asked to count nothing: null is the answer of those that are
 * offline.
 */
void
lb_require_shards(LbCall *call)
{
	const int64 nothing = LB_ASK_COUNTS;
	LbAsk		ask;

	if (!begin(&ask, call))
		return;

	/*
	 * A table without places that has no row answers nothing, and costs
	 * nothing.
	 */
	if (!lb_ask_shards(&ask, &nothing, 1) &&
		!(ask.places == ask.defn.source && ask.n == 0))
		raise_offline(&ask.defn);
	find_again(&ask);
}
