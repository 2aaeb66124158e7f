/*-------------------------------------------------------------------------
 *
 * call_row.c
 *	  The rows of members, for boards that keep counts.
 *
 * Such a board does not know its members.  The table has a unique index on
 * them, and the member's row has the words that the board's index would have.
 * Row and counts are read in one snapshot.
 *
 * Of a partitioned table a query finds the row: PostgreSQL knows in which
 * partitions it can be.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "boards/board_value.h"
#include "capture/trigger.h"
#include "reads/call.h"
#include "reads/query.h"
#include "reads/text.h"

/* The query's only operand, for its step LB_STEP_KEY. */
static const LbQuery row_query = {
	.operands = {{.type = LB_MEMBER_TYPE,.null = LB_NULL_NO_ROW}}
};

/* The values of the member's columns.  Returns false if no row has them. */
static bool
member_values(const LbCall *call, Datum *values)
{
	const LbDefinition *defn = call->access.target.defn;
	int			more = lb_query_noperands(&call->function->query) - 1;

	if (call->form == LB_AS_BIGINT)
		return lb_member_from_bigint(defn, DatumGetInt64(call->operands[0]),
									 values);
	for (int i = 0; i < defn->nmember; i++)
		values[i] = call->operands[i == 0 ? 0 : more + i];
	return true;
}

/*
 * The values of the board columns on the call's board.  Returns false if no
 * row has them.
 */
static bool
find_board_values(const LbCall *call, Datum *values)
{
	const LbTarget *target = &call->access.target;
	const LbDefinition *defn = target->defn;
	char	   *name;
	char	  **texts;

	if (!defn->family)
		return true;
	name = lb_value_to_name(defn, &target->value);
	texts = name == NULL ? NULL : lb_texts_of_name(defn, name);
	if (texts == NULL)
		return false;
	for (int i = 0; i < defn->nboard; i++)
	{
		Oid			input;
		Oid			param;

		getTypeInputInfo(lb_board_columns(defn)[i].oid, &input, &param);
		values[i] = OidInputFunctionCall(input, texts[i], param, -1);
	}
	return true;
}

bool
lb_member_rows_begin(LbMemberRows *rows, LbCall *call)
{
	LbDefinition *defn = call->access.target.defn;

	rows->call = call;
	rows->by_query = defn->relkind == RELKIND_PARTITIONED_TABLE;
	rows->any = true;
	if (rows->by_query)
		return true;
	if (defn->relkind != RELKIND_RELATION || !OidIsValid(defn->member_index))
		return false;
	rows->any = find_board_values(call, rows->board_values);
	if (!rows->any)
		return true;
	rows->table = table_open(defn->source, NoLock);
	rows->slot = table_slot_create(rows->table, NULL);
	lb_fetch_begin(&rows->fetch, rows->table, defn->member_index,
				   GetActiveSnapshot());
	return true;
}

void
lb_member_rows_end(LbMemberRows *rows)
{
	if (rows->by_query)
		lb_call_begin_again(rows->call);
	if (rows->by_query || !rows->any)
		return;
	lb_fetch_end(&rows->fetch);
	ExecDropSingleTupleTableSlot(rows->slot);
	table_close(rows->table, NoLock);
}

/* Read the row of a member by a query. */
static bool
query_row(const LbMemberRows *rows, const Datum *member, int64 *key,
		  bool *found)
{
	const LbTarget *target = &rows->call->access.target;
	LbQueryArgs args = {
		.query = &row_query,
		.method = rows->call->method,
		.own_types = true,
		.params = member,
		.value = target->has_value ? &target->value : NULL
	};

	return lb_query_words(target->defn, &args, key, found);
}

bool
lb_member_rows_read(LbMemberRows *rows, const Datum *member, int64 *key,
					bool *found)
{
	const LbTarget *target = &rows->call->access.target;
	LbValue		value;
	char		room[LB_ROW_ROOM];

	*found = false;
	if (!rows->any)
		return true;
	if (rows->by_query)
		return query_row(rows, member, key, found);
	switch (lb_fetch_values(&rows->fetch, target->defn, member,
							rows->board_values, rows->slot))
	{
		case LB_FOUND:
			break;
		case LB_FOUND_NONE:
			return true;
		case LB_FOUND_UNSURE:
			return false;
	}
	switch (lb_row_key(target->defn, rows->slot, key, &value, room))
	{
		case LB_RANKED:
			*found = !target->defn->family ||
				lb_value_equal(&value, &target->value);
			return true;
		case LB_OFF_BOARD:
		case LB_NOT_RANKED:
			return true;
		case LB_NO_KEY:
		case LB_UNNOTED:
			return false;
	}
	return false;
}

bool
lb_read_member_row(LbCall *call)
{
	LbMemberRows rows;
	Datum		member[LB_MAX_MEMBER_COLUMNS];
	int64	   *key = palloc(LB_MAX_WIDTH * sizeof(int64));
	bool		found = false;
	bool		known;

	call->row_key = NULL;
	known = lb_member_rows_begin(&rows, call);
	if (known)
	{
		known = !member_values(call, member) ||
			lb_member_rows_read(&rows, member, key, &found);
		lb_member_rows_end(&rows);
	}
	if (known && found)
		call->row_key = key;
	if (!known)
		lb_access_fall_back(&call->access, LB_CAUSE_COUNTS);
	return !call->access.query;
}
