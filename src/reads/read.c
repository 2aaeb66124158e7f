/*-------------------------------------------------------------------------
 *
 * read.c
 *	  Reads by the extension's own code.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "boards/distributed.h"
#include "boards/resolve.h"
#include "capture/ddl.h"
#include "reads/functions.h"
#include "reads/key.h"
#include "reads/members.h"
#include "reads/read.h"
#include "reads/rows.h"
#include "reads/text.h"
#include "reads/values.h"
#include "sql/spi.h"

/* Lock the board for lb_rank_now(). */
static bool
lock_now(LbCall *call)
{
	/* Its member's row is not read here. */
	if (call->access.target.defn->counts)
	{
		lb_access_begin_query(&call->access, LB_CAUSE_COUNTS);
		return false;
	}
	lb_access_begin(&call->access, GetActiveSnapshot(),
					call->method == LB_DENSE_RANK, LB_READER_WRITE);
	return lb_access_lock(&call->access);
}

/*
 * Whether the query would take too long: a large table may have no index.  The
 * servers of a distributed one have indexes.
 */
static bool
query_is_slow(const LbCall *call)
{
	switch (call->access.cause)
	{
		case LB_CAUSE_OFFLINE:
			return call->access.target.defn->problem != lb_engine_problem;
		case LB_CAUSE_TRIGGER:
		case LB_CAUSE_UNSETTLED:
			return true;
		case LB_CAUSE_LIMIT:
			return lb_access_lacks_row(&call->access);
		case LB_CAUSE_BUILDING:
			return !lb_created_here(call->access.target.defn);
		default:
			return false;
	}
}

void
lb_rank_now(const char *board, LbForm form, Datum member, bool written,
			LbRankNow *now)
{
	LbCall		call;
	LbNumber	number;
	bool		isnull;

	memset(now, 0, sizeof(*now));
	memset(&call, 0, sizeof(call));
	call.form = form;
	call.operands[0] = member;
	call.written = written;
	lb_call_find_own(&call, board, strlen(board), &lb_rank_function);
	if (lock_now(&call))
	{
		now->has_rank = now->has_score = lb_rank_value(&call, &number);
		if (now->has_rank)
		{
			now->rank = number.integer;
			lb_score_value(&call, &number);
			now->score = number.integer;
		}
		lb_access_unlock(&call.access);
	}
	else if (lb_distributed != NULL &&
			 lb_distributed->value(&call, &number, &isnull))
	{
		now->rank = isnull ? 0 : number.integer;
		now->has_rank = !isnull;
	}
	else if (!query_is_slow(&call))
	{
		now->rank = DatumGetInt64(lb_call_query(&call, &isnull));
		now->has_rank = !isnull;
	}
}

bool
lb_key_in(const char *board, text *member, LbDefinition *in, int64 **key)
{
	LbCall		call;

	memset(&call, 0, sizeof(call));
	call.form = LB_AS_TEXT;
	call.operands[0] = PointerGetDatum(member);
	lb_call_find_own(&call, board, strlen(board), &lb_rank_function);
	call.access.target.defn = in;
	return lb_call_key(&call, key);
}

/* Whether key a ranks before key b, by the call's method. */
static bool
ranks_before(const LbCall *call, const int64 *a, const int64 *b)
{
	return call->method == LB_ROW_NUMBER ?
		lb_key_cmp(&call->access.target.defn->shape, a, b) < 0 : a[0] < b[0];
}

void
lb_ranks_of_keys(const char *board, LbForm form, Datum member, bool written,
				 const int64 *former, const int64 *key, int64 *former_rank,
				 int64 *rank)
{
	LbCall		call;
	const int64 *keys[2];
	int64		ranks[2];
	int			n = 0;

	if (former != NULL)
		keys[n++] = former;
	if (key != NULL)
		keys[n++] = key;
	if (n == 0)
		return;
	memset(&call, 0, sizeof(call));
	call.form = form;
	call.operands[0] = member;
	call.written = written;
	lb_call_find_own(&call, board, strlen(board), &lb_rank_function);
	lb_access_begin(&call.access, GetActiveSnapshot(), false, LB_READER_WRITE);
	if (!lb_require_distributed()->ranks_of_keys(&call, n, keys, ranks))
	{
		for (int i = 0; i < n; i++)
		{
			LbStart		start = {.n = 0};

			lb_decode_rank_by(call.access.target.defn, keys[i], start.key);
			ranks[i] = lb_call_query_given(&call, &start);
		}
	}
	if (key != NULL)
		*rank = ranks[n - 1];
	if (former != NULL)
		*former_rank = ranks[0] -
			(key != NULL && ranks_before(&call, key, former) ? 1 : 0);
}

/* The rows of the index.  Those of lb_read_ranks_rows() have no member. */
static void
take_rows(const LbCall *call, const LbRows *from, bool has_member, LbRow *rows)
{
	const LbDefinition *defn = call->access.target.defn;

	for (int i = 0; i < from->n; i++)
	{
		const int64 *row = lb_row(from, i);

		CHECK_FOR_INTERRUPTS();
		rows[i].rank = row[LB_ROW_RANK];
		if (row[LB_ROW_RANK] == 0)
			continue;
		if (has_member)
			rows[i].member =
				TextDatumGetCString(lb_member_words_to_text(defn, row + LB_ROW_MEMBER));
		rows[i].score = TextDatumGetCString(lb_score_to_text(defn, row[LB_ROW_SCORE]));
	}
}

/* The rows of the query; returns how many there are. */
static int
query_rows(LbCall *call, LbRow **rows)
{
	const LbDefinition *defn = call->access.target.defn;
	bool		member_first = call->function->columns[0] == LB_MEMBER_TYPE;
	int			rank = member_first ? defn->nmember : 0;
	int			member = member_first ? 0 : 1;
	int			score = defn->nmember + 1;
	TupleTableSlot *slot;
	Tuplestorestate *store = lb_call_query_rows(call, &slot);
	int			n = 0;

	*rows = palloc0(Max(1, tuplestore_tuple_count(store)) * sizeof(LbRow));
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		LbRow	   *row = &(*rows)[n++];

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		if (slot->tts_isnull[rank])
			continue;
		row->rank = DatumGetInt64(slot->tts_values[rank]);
		row->member = TextDatumGetCString(lb_member_to_text(defn, slot->tts_values + member,
															slot->tts_isnull + member));
		row->score = TextDatumGetCString(lb_value_to_text(lb_score_column(defn)->type,
														  slot->tts_values[score]));
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
	return n;
}

int
lb_read_top(const char *board, int n, LbRow **rows)
{
	LbCall		call;
	LbRows		got;

	memset(&call, 0, sizeof(call));
	call.form = LB_AS_TEXT;
	call.operands[0] = Int32GetDatum(n);
	call.operands[1] = Int64GetDatum(0);
	lb_call_begin_own(&call, board, strlen(board), &lb_top_function);
	if (!lb_read_top_rows(&call, &got))
		return query_rows(&call, rows);
	*rows = palloc0(Max(1, got.n) * sizeof(LbRow));
	take_rows(&call, &got, true, *rows);
	pfree(got.words);
	return got.n;
}

int
lb_read_ranks(const char *board, char *const *members, int n, LbRow **rows)
{
	LbCall		call;
	LbRows		got;
	Datum	   *values = palloc(Max(1, n) * sizeof(Datum));
	LbMembers	wanted;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		values[i] = CStringGetTextDatum(members[i]);
	}
	memset(&call, 0, sizeof(call));
	call.form = LB_AS_TEXT;
	call.operands[0] = lb_make_array(TEXTOID, values, NULL, n);
	lb_call_begin_own(&call, board, strlen(board), &lb_ranks_function);
	lb_array_operand(&call, &wanted);
	if (lb_read_ranks_rows(&call, &wanted, &got))
	{
		*rows = palloc0(Max(1, n) * sizeof(LbRow));
		take_rows(&call, &got, false, *rows);
		pfree(got.words);
	}
	else if (query_rows(&call, rows) != n)
		elog(ERROR, "the defining query has lost a member");
	for (int i = 0; i < n; i++)
		(*rows)[i].member = members[i];
	return n;
}
