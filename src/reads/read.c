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
#include "utils/snapmgr.h"

#include "boards/spi.h"
#include "capture/ddl.h"
#include "reads/functions.h"
#include "reads/read.h"
#include "reads/rows.h"
#include "reads/values.h"

/*
 * Lock the board for lb_rank_now(): whatever the settings say, a write neither
 * fails nor waits because of the index.
 */
static bool
lock_now(LbCall *call)
{
	int			save_not_ready = lb_not_ready;
	int			save_offline = lb_offline;
	int			save_timeout = lb_wait_timeout_ms;
	volatile bool locked = false;

	PG_TRY();
	{
		lb_not_ready = LB_POLICY_QUERY;
		lb_offline = LB_POLICY_QUERY;
		lb_wait_timeout_ms = 0;
		lb_access_begin(&call->access, GetActiveSnapshot(),
						call->method == LB_DENSE_RANK, false);
		locked = lb_access_lock(&call->access);
	}
	PG_FINALLY();
	{
		lb_not_ready = save_not_ready;
		lb_offline = save_offline;
		lb_wait_timeout_ms = save_timeout;
	}
	PG_END_TRY();
	return locked;
}

/* Whether the query would take too long: a large table may have no index. */
static bool
query_is_slow(const LbCall *call)
{
	switch (call->access.cause)
	{
		case LB_CAUSE_OFFLINE:
		case LB_CAUSE_TRIGGER:
		case LB_CAUSE_UNSETTLED:
			return true;
		case LB_CAUSE_BUILDING:
			return !lb_created_here(call->access.target.defn);
		default:
			return false;
	}
}

bool
lb_rank_now(const char *board, int len, Datum member, int64 *rank,
			bool *isnull, int64 *score, bool *has_score)
{
	LbCall		call;
	LbNumber	number;

	*has_score = false;
	memset(&call, 0, sizeof(call));
	call.function = &lb_rank_function;
	call.operands[0] = member;
	lb_find_target(board, len, &call.access.target);
	call.method = call.access.target.defn->method;
	if (lock_now(&call))
	{
		*isnull = !lb_rank_value(&call, &number);
		if (!*isnull)
		{
			*rank = number.integer;
			lb_score_value(&call, &number);
			*score = number.integer;
		}
		*has_score = !*isnull;
		lb_access_unlock(&call.access);
		return true;
	}
	if (query_is_slow(&call))
		return false;
	*rank = DatumGetInt64(lb_call_query(&call, isnull));
	return true;
}

/* Rows whose member is a bigint: one of members, or if that is NULL, the row's. */
static void
copy_rows(const LbCall *call, const LbRows *from, const int64 *members,
		  LbRow *rows)
{
	Assert(call->form == LB_AS_BIGINT);
	for (int i = 0; i < from->n; i++)
	{
		const int64 *row = lb_row(from, i);

		rows[i].rank = row[LB_ROW_RANK];
		rows[i].member = members != NULL ? members[i] : row[LB_ROW_MEMBER];
		rows[i].score = row[LB_ROW_SCORE];
	}
}

int
lb_read_top(const char *board, int len, int n, LbRow **rows)
{
	LbCall		call;
	LbRows		got;

	memset(&call, 0, sizeof(call));
	call.operands[0] = Int32GetDatum(n);
	call.operands[1] = Int64GetDatum(0);
	lb_call_begin_own(&call, board, len, &lb_top_function);
	if (!lb_read_top_rows(&call, &got))
		lb_query_row_list(&call, &got);
	*rows = palloc(Max(1, got.n) * sizeof(LbRow));
	copy_rows(&call, &got, NULL, *rows);
	pfree(got.words);
	return got.n;
}

void
lb_read_ranks(const char *board, int len, const int64 *members, int n,
			  LbRow *rows)
{
	LbCall		call;
	LbRows		got;
	LbMembers	wanted = {
		.n = n,.width = 1,.words = members,
		.absent = palloc0(Max(1, n) * sizeof(bool))
	};

	memset(&call, 0, sizeof(call));
	lb_call_begin_own(&call, board, len, &lb_ranks_function);
	if (!lb_read_ranks_rows(&call, &wanted, &got))
	{
		Datum	   *values = palloc(Max(1, n) * sizeof(Datum));

		for (int i = 0; i < n; i++)
			values[i] = Int64GetDatum(members[i]);
		call.operands[0] = lb_make_array(INT8OID, values, NULL, n);
		lb_query_row_list(&call, &got);
		if (got.n != n)
			elog(ERROR, "the defining query has lost a member");
		pfree(values);
	}
	copy_rows(&call, &got, members, rows);
	pfree(got.words);
	pfree((bool *) wanted.absent);
}
