/*-------------------------------------------------------------------------
 *
 * forward.c
 *	  Submits that are sent to the servers of shards.
 *
 * lb_submit() of a player whose leaderboard's tables Citus distributes sends
 * itself to the shard that has the player: as a call of lb_shard_submit(), in
 * a query that Citus routes there.  So it takes one round trip, and is part of
 * the caller's transaction.  lb_hide(), lb_show() and lb_forget_player() do
 * the same.
 *
 * To Citus, a query that calls a function only reads.  If its COMMIT failed on
 * the shard's server, Citus would only warn.  So the query has a WITH clause
 * that updates rows of the player in which a column is not itself: none.  That
 * makes it a write.  Citus then commits by two phases where several servers
 * take part, raises an error if a COMMIT fails, and holds the lock for which a
 * move or a split of the shard waits.
 *
 * That lock is taken here before Citus looks where the shard is.  So a submit
 * that has waited for a move or a split finds the shard that the player is in
 * then, and the server checks that it is the one that it has.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "boards/catalog.h"
#include "boards/distributed.h"
#include "boards/target.h"
#include "citus/companion.h"
#include "citus/forward.h"
#include "citus/layout.h"
#include "citus/shard.h"
#include "citus/words.h"
#include "sql/spi.h"
#include "submit/limit.h"

/* What is sent to a shard; the key of its plan. */
typedef struct ShardCall
{
	int64		shard;
	const char *call;			/* a constant: the query without its WITH */
} ShardCall;

/* What the text of such a query is made from. */
typedef struct CallText
{
	const LbDefinition *defn;
	const LbColumn *column;		/* that the call writes */
	text	   *player;
	const char *call;			/* a constant, in which @ is our schema */
} CallText;

/*
 * An LbPlanText: the query of the top comment.  Citus routes it by the first
 * player that is sent to that shard: a plan with a constant can be kept.
 */
static char *
call_text(const void *arg)
{
	const CallText *t = (const CallText *) arg;
	const LbColumn *member = lb_member_column(t->defn);
	const char *column = lb_quoted(t->column);
	const char *schema = lb_internal_schema();
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "WITH w AS (UPDATE %s AS t SET %s = t.%s WHERE t.%s OPERATOR(pg_catalog.=) CAST(%s AS %s) "
					 "AND t.%s OPERATOR(pg_catalog.<>) t.%s RETURNING 1) ",
					 t->defn->source_name, column, column, lb_quoted(member),
					 quote_literal_cstr(text_to_cstring(t->player)),
					 format_type_be_qualified(getBaseType(member->oid)), column,
					 column);
	for (const char *p = t->call; *p != '\0'; p++)
	{
		if (*p == '@')
			appendStringInfoString(&buf, schema);
		else
			appendStringInfoChar(&buf, *p);
	}
	return buf.data;
}

/* Raise an error of the shard's server again, as one of this server's. */
static void
rethrow(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	lb_explain_forwarded(error);
	ReThrowError(error);
}

/*
 * Send a call to a shard that is locked.  The first two arguments are the
 * player, or an array of players, and the shard.  Returns the number of rows.
 */
static int
send_call(CallText *t, int64 shard, int nargs, const LbArg *args)
{
	static LbPlans plans = {
		.name = "leaderboard plans for shards",.keysize = sizeof(ShardCall)
	};
	ShardCall	key = {.shard = shard,.call = t->call};
	MemoryContext context = CurrentMemoryContext;
	LbUser		saved;
	bool		switched;
	volatile uint64 n = 0;

	switched = lb_switch_from_superuser(&saved, t->defn, false);
	if (!lb_may_call_others())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("a superuser's distributed table cannot be submitted to"),
				 errdetail("The extension's schema belongs to a role that is no superuser, and could call other functions on the servers."),
				 errhint("Give table \"%s\" to a role that is no superuser, or the schema to a superuser.",
						 get_rel_name(t->defn->source))));
	PG_TRY();
	{
		n = lb_plan_exec(lb_plan_of(&plans, &key), t->defn->id, call_text, t,
						 t->defn->source, InvalidOid, nargs, args);
	}
	PG_CATCH();
	{
		rethrow(context);
	}
	PG_END_TRY();
	if (switched)
		lb_restore_user(&saved);
	return (int) n;
}

/*
 * The key in a column of a row, or NULL.  Raises 40001 if it is not of the
 * columns that the board has here.
 */
static const int64 *
take_key(const LbDefinition *defn, int row, int column)
{
	bool		isnull;
	Datum		value = lb_row_nullable(SPI_tuptable, row, column, &isnull);
	LbWords		words;

	if (isnull)
		return NULL;
	words = lb_datum_words(value);
	if (words.n < 2 || words.words[0] != lb_keys_hash(defn) ||
		!lb_is_key(&defn->shape, words.words + 1, words.n - 1))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("board \"%s\" has other columns on the shard's server",
						defn->name),
				 errhint("The transaction might succeed if retried.")));
	return words.words + 1;
}

/* Take the player's keys on a board from a row. */
static void
take_keys(LbSubmit *s, int row)
{
	const LbSubmitTarget *t = s->target;
	const char *board = lb_row_text(SPI_tuptable, row, 1);

	for (int b = 0; b < t->nboards; b++)
	{
		const LbDefinition *defn = lb_board_defn(t, &t->boards[b]);

		if (strcmp(t->boards[b].name, board) != 0)
			continue;
		s->results[b].former_key = take_key(defn, row, 5);
		s->results[b].key = take_key(defn, row, 6);
	}
}

int
lb_forward(LbSubmit *s, LbForwarded **rows)
{
	const LbSubmitCall *call = s->call;
	CallText	t = {
		.defn = s->target->players_of,
		.column = lb_score_column(s->target->players_of),
		.player = s->items->player_text,
		.call = "SELECT f.board, f.score, f.applied, f.repeated, f.former, f.key FROM @.lb_shard_submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS f"
	};
	const LbSubmitItem *item = s->items;
	bool		alone = !lb_in_distributed_transaction();
	int64		shard = lb_lock_shard(t.defn, t.player);
	int			n = send_call(&t, shard,
							  LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(item->player_text)), lb_arg_int8(shard),
									  lb_arg_text(call->leaderboard.name), lb_arg_int8(item->amount),
									  lb_arg_text(lb_op_name(call->op)), lb_arg_text(item->match_id), lb_arg_int8(call->at),
									  lb_arg_or_null(TEXTARRAYOID, PointerGetDatum(call->boards), call->boards == NULL),
									  lb_arg_or_null(JSONBOID, call->metadata, call->metadata == (Datum) 0),
									  lb_arg_bool(s->wants_keys)));
	int			nrows = 0;

	s->only_forwarded = alone;
	*rows = palloc0(Max(1, n) * sizeof(LbForwarded));
	for (int i = 0; i < n; i++)
	{
		LbForwarded *row = &(*rows)[nrows];
		bool		has_keys;

		(void) lb_row_nullable(SPI_tuptable, i, 3, &has_keys);
		if (has_keys)
		{
			take_keys(s, i);
			continue;
		}
		nrows++;
		row->answer.board = lb_row_text(SPI_tuptable, i, 1);
		row->answer.has_score = lb_row_int8(SPI_tuptable, i, 2, &row->answer.score);
		row->applied = lb_row_bool(SPI_tuptable, i, 3);
		row->repeated = lb_row_bool(SPI_tuptable, i, 4);
	}
	SPI_freetuptable(SPI_tuptable);
	return nrows;
}

/* An item, and the shard that it goes to. */
typedef struct Sent
{
	int64		shard;
	const LbSubmitItem *item;
} Sent;

static int
sent_cmp(const void *a, const void *b, void *arg)
{
	const Sent *sa = (const Sent *) a;
	const Sent *sb = (const Sent *) b;

	if (sa->shard != sb->shard)
		return sa->shard < sb->shard ? -1 : 1;
	return sa->item->number - sb->item->number;
}

/*
 * The items by shard, with these locked, in the order of their numbers: in
 * this order all batches lock them, and write to them.
 */
static Sent *
items_by_shard(const LbSubmit *s)
{
	int			n = s->nitems;
	Sent	   *sent = palloc(n * sizeof(Sent));
	Datum	   *players = palloc(n * sizeof(Datum));
	Datum	   *locks = palloc(n * sizeof(Datum));
	int64	   *shards = palloc(n * sizeof(int64));
	int64	   *before = palloc0(n * sizeof(int64));

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		players[i] = PointerGetDatum(s->items[i].player_text);
	}
	for (;;)
	{
		int			nlocks = 0;

		lb_shards_of(s->target->players_of, players, n, shards);
		if (memcmp(shards, before, n * sizeof(int64)) == 0)
			return sent;
		memcpy(before, shards, n * sizeof(int64));
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			sent[i].shard = shards[i];
			sent[i].item = &s->items[i];
		}
		qsort_interruptible(sent, n, sizeof(Sent), sent_cmp, NULL);
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (i == 0 || sent[i].shard != sent[i - 1].shard)
				locks[nlocks++] = Int64GetDatum(sent[i].shard);
		}
		lb_lock_shards(s->target->players_of, locks, nlocks);
	}
}

/* Send n items to their shard; returns the number of rows in SPI_tuptable. */
static int
send_items(const LbSubmit *s, const Sent *sent, int n, bool each)
{
	CallText	t = {
		.defn = s->target->players_of,
		.column = lb_score_column(s->target->players_of),
		.player = sent->item->player_text,
		.call = "SELECT f.number, f.status, f.score, f.limit_name FROM @.lb_shard_submit_many($1, $2, $3, $4, $5, $6, $7, $8, $9) AS f"
	};
	Datum	   *players = palloc(n * sizeof(Datum));
	Datum	   *amounts = palloc(n * sizeof(Datum));
	Datum	   *matches = palloc(n * sizeof(Datum));
	Datum	   *items = palloc(n * sizeof(Datum));
	bool	   *nulls = palloc(n * sizeof(bool));

	for (int i = 0; i < n; i++)
	{
		const LbSubmitItem *item = sent[i].item;

		CHECK_FOR_INTERRUPTS();
		players[i] = PointerGetDatum(item->player_text);
		amounts[i] = Int64GetDatum(item->amount);
		items[i] = Int32GetDatum(item->item);
		nulls[i] = item->match_id == NULL;
		matches[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(item->match_id);
	}
	return send_call(&t, sent->shard,
					 LB_ARGS(lb_arg_array(TEXTOID, players, NULL, n), lb_arg_int8(sent->shard),
							 lb_arg_text(s->call->leaderboard.name), lb_arg_array(INT8OID, amounts, NULL, n),
							 lb_arg_text(lb_op_name(s->call->op)),
							 lb_arg_array(TEXTOID, matches, nulls, n),
							 lb_arg_int8(s->call->at), lb_arg_bool(each), lb_arg_array(INT4OID, items, NULL, n)));
}

int64
lb_forward_many(const LbSubmit *s, LbItemOutcome *outcomes)
{
	const Sent *sent = items_by_shard(s);
	int64		total = 0;
	int			n;

	for (int first = 0; first < s->nitems; first += n)
	{
		int			nrows;

		for (n = 1; first + n < s->nitems; n++)
		{
			CHECK_FOR_INTERRUPTS();
			if (sent[first + n].shard != sent[first].shard)
				break;
		}
		nrows = send_items(s, sent + first, n, outcomes != NULL);
		for (int i = 0; i < nrows; i++)
		{
			int			number = DatumGetInt32(lb_row_datum(SPI_tuptable, i, 1));
			LbItemOutcome *outcome;

			CHECK_FOR_INTERRUPTS();
			if (outcomes == NULL)
			{
				total += number;
				continue;
			}
			outcome = &outcomes[sent[first + number - 1].item->number];
			outcome->status = lb_row_text(SPI_tuptable, i, 2);
			outcome->has_score = lb_row_int8(SPI_tuptable, i, 3, &outcome->score);
			outcome->limit = lb_row_text(SPI_tuptable, i, 4);
		}
		SPI_freetuptable(SPI_tuptable);
	}
	return total;
}

uint64
lb_forward_ranked(const LbDefinition *defn, text *player, bool ranked, bool all)
{
	CallText	t = {
		.defn = defn,
		.column = lb_ranked_if_column(defn),
		.player = player,
		.call = "SELECT f.n FROM @.lb_shard_set_ranked($1, $2, $3, $4, $5) AS f (n)"
	};
	int64		shard = lb_lock_shard(defn, player);
	int64		n;

	(void) send_call(&t, shard,
					 LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(player)), lb_arg_int8(shard),
							 lb_arg_text(defn->name), lb_arg_bool(ranked), lb_arg_bool(all)));
	(void) lb_row_int8(SPI_tuptable, 0, 1, &n);
	SPI_freetuptable(SPI_tuptable);
	return n;
}

/* The elements of an array of texts, as strings. */
static List *
list_of_texts(Datum array)
{
	List	   *list = NIL;
	Datum	   *texts;
	int			n;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false,
					  TYPALIGN_INT, &texts, NULL, &n);
	for (int i = 0; i < n; i++)
		list = lappend(list, TextDatumGetCString(texts[i]));
	return list;
}

/* The table that a row of lb_shard_forget() is about. */
static Oid
forgotten_table(const char *board, const char *suffix)
{
	const LbDefinition *defn;

	for (int i = 0; suffix != NULL && i < LB_NRECORDS; i++)
	{
		if (strcmp(lb_companions[i].suffix, suffix) == 0)
			return lb_companion_of(board, i);
	}
	defn = lb_find_recorded(board);
	return defn == NULL ? InvalidOid : defn->source;
}

bool
lb_is_in_shard(const LbDefinition *defn, text *player)
{
	return lb_find_shard_of(defn, player) != 0;
}

int
lb_forward_forget(const LbDefinition **defns, int nboards, text *player,
				  LbForgotten **rows)
{
	CallText	t = {
		.defn = defns[0],
		.column = lb_score_column(defns[0]),
		.player = player,
		.call = "SELECT f.board, f.beside, f.removed, f.keys FROM @.lb_shard_forget($1, $2, $3) AS f"
	};
	Datum	   *names = palloc(nboards * sizeof(Datum));
	int64		shard;
	int			n;

	for (int i = 0; i < nboards; i++)
		names[i] = CStringGetTextDatum(defns[i]->name);
	shard = lb_lock_shard(t.defn, t.player);
	n = send_call(&t, shard,
				  LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(player)), lb_arg_int8(shard),
						  lb_arg_array(TEXTOID, names, NULL, nboards)));
	*rows = palloc(Max(1, n) * sizeof(LbForgotten));
	for (int i = 0; i < n; i++)
	{
		LbForgotten *row = &(*rows)[i];
		bool		isnull;
		Datum		keys = lb_row_nullable(SPI_tuptable, i, 4, &isnull);

		row->table = forgotten_table(lb_row_text(SPI_tuptable, i, 1),
									 lb_row_text(SPI_tuptable, i, 2));
		(void) lb_row_int8(SPI_tuptable, i, 3, &row->removed);
		row->keys = isnull ? NIL : list_of_texts(keys);
	}
	SPI_freetuptable(SPI_tuptable);
	return n;
}
