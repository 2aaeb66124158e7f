/*-------------------------------------------------------------------------
 *
 * event.c
 *	  The log of submits: lb_event.
 *
 * A row of lb_event is a change of a player, with the scores that it has led
 * to on the boards.  One change, the usual case, is inserted without a
 * statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "sql/spi.h"
#include "submit/event.h"
#include "util/compat.h"

/* Columns of lb_event, as the script has them. */
static const struct
{
	const char *name;
	Oid			type;
	bool		nullable;
}			event_columns[] =

{
	{"player_id", TEXTOID, false},
	{"op", TEXTOID, false},
	{"amount", INT8OID, false},
	{"match_id", TEXTOID, true},
	{"at", TIMESTAMPTZOID, false},
	{"boards", TEXTARRAYOID, false},
	{"scores", INT8ARRAYOID, false},
	{"submitted_at", TIMESTAMPTZOID, false},
};
#define Natts_lb_event ((int) lengthof(event_columns))

bool		lb_events = true;

/* The boards that player number p was written to, as an array of text. */
static LbArg
open_boards(const LbSubmit *s, int p)
{
	const LbSubmitTarget *t = s->target;
	Datum	   *names = palloc(Max(1, t->nboards) * sizeof(Datum));
	int			n = 0;

	for (int b = 0; b < t->nboards; b++)
	{
		if (!t->boards[b].closed && lb_takes_part(s, b, p))
			names[n++] = CStringGetTextDatum(t->boards[b].name);
	}
	return lb_arg_array(TEXTOID, names, NULL, n);
}

/* Whether a row of lb_event can be formed, and inserted, as it stands. */
static bool
event_table_is_ours(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relispartition || rel->rd_rel->relrowsecurity ||
		rel->rd_rel->relhasrules || rel->trigdesc != NULL ||
		RelationGetNumberOfAttributes(rel) != Natts_lb_event ||
		rel->rd_att->constr == NULL || rel->rd_att->constr->num_check > 0)
		return false;
	for (int i = 0; i < Natts_lb_event; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(rel->rd_att, i);

		if (attr->attisdropped || attr->attgenerated != '\0' ||
			attr->atttypid != event_columns[i].type ||
			(attr->attnotnull && event_columns[i].nullable) ||
			strcmp(NameStr(attr->attname), event_columns[i].name) != 0)
			return false;
	}
	return true;
}

/*
 * Append to lb_event without a statement, which would cost more than
 * everything else that a submit does beside its writes.  Returns false if the
 * table is not as the script has made it.
 */
static bool
append_event(const LbArg *args)
{
	Relation	rel = table_open(lb_own_table("lb_event"), RowExclusiveLock);
	ResultRelInfo *info;
	TupleTableSlot *slot;
	EState	   *estate;

	if (!event_table_is_ours(rel))
	{
		table_close(rel, NoLock);
		return false;
	}
	estate = CreateExecutorState();
	info = makeNode(ResultRelInfo);
	InitResultRelInfo(info, rel, 1, NULL, 0);
	ExecOpenIndices(info, false);
	slot = table_slot_create(rel, NULL);
	ExecClearTuple(slot);
	for (int i = 0; i < Natts_lb_event - 1; i++)
	{
		slot->tts_values[i] = args[i].value;
		slot->tts_isnull[i] = args[i].isnull;
	}
	slot->tts_values[Natts_lb_event - 1] =
		TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	slot->tts_isnull[Natts_lb_event - 1] = false;
	ExecStoreVirtualTuple(slot);
	simple_table_tuple_insert(rel, slot);
	if (info->ri_NumIndices > 0)
		(void) LB_INSERT_INDEX_TUPLES(info, slot, estate);
	ExecCloseIndices(info);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	table_close(rel, NoLock);
	CommandCounterIncrement();
	return true;
}

/*
 * The event of one change, of player number p, without the arrays of arrays.
 */
static void
log_one(LbSubmit *s, const LbSubmitItem *item, int p)
{
	static LbPlan plan;
	const LbSubmitTarget *t = s->target;
	Datum	   *scores = palloc(t->nopen * sizeof(Datum));
	bool	   *unknown = palloc(t->nopen * sizeof(bool));
	LbArg		args[Natts_lb_event - 1];
	int			k = 0;

	for (int b = 0; b < t->nboards; b++)
	{
		if (t->boards[b].closed || !lb_takes_part(s, b, p))
			continue;
		unknown[k] = !s->results[b].players[p].has_score;
		scores[k++] = Int64GetDatum(s->results[b].players[p].score);
	}
	args[0] = lb_arg(TEXTOID, PointerGetDatum(item->player_text));
	args[1] = lb_arg_text(lb_op_name(s->call->op));
	args[2] = lb_arg_int8(item->amount);
	args[3] = lb_arg_text(item->match_id);
	args[4] = lb_arg_time(s->call->at);
	args[5] = open_boards(s, p);
	args[6] = lb_arg_array(INT8OID, scores, unknown, k);
	if (!append_event(args))
		(void) lb_own_exec(&plan,
						   "INSERT INTO @.lb_event (player_id, op, amount, match_id, at, boards, scores) "
						   "VALUES ($1, $2, $3, $4, $5, $6, $7)",
						   lengthof(args), args);
}

/* The events of several changes, all to the same boards, in one statement. */
static void
log_all(LbSubmit *s)
{
	static LbPlan plan;
	const LbSubmitTarget *t = s->target;
	Datum	   *players = palloc(s->nitems * sizeof(Datum));
	Datum	   *amounts = palloc(s->nitems * sizeof(Datum));
	Datum	   *matches = palloc(s->nitems * sizeof(Datum));
	Datum	   *numbers = palloc(s->nitems * sizeof(Datum));
	bool	   *nulls = palloc(s->nitems * sizeof(bool));
	Datum	   *scores = palloc(t->nopen * s->nplayers * sizeof(Datum));
	bool	   *unknown = palloc(t->nopen * s->nplayers * sizeof(bool));
	int			k = 0;

	for (int p = 0; p < s->nplayers; p++)
	{
		for (int i = s->first[p]; i < s->first[p + 1]; i++)
		{
			CHECK_FOR_INTERRUPTS();
			players[i] = PointerGetDatum(s->items[i].player_text);
			amounts[i] = Int64GetDatum(s->items[i].amount);
			nulls[i] = s->items[i].match_id == NULL;
			matches[i] = nulls[i] ? (Datum) 0 :
				CStringGetTextDatum(s->items[i].match_id);
			numbers[i] = Int32GetDatum(p);
		}
		for (int b = 0; b < t->nboards; b++)
		{
			CHECK_FOR_INTERRUPTS();
			if (t->boards[b].closed)
				continue;
			unknown[k] = !s->results[b].players[p].has_score;
			scores[k++] = Int64GetDatum(s->results[b].players[p].score);
		}
	}

	/* Each player's scores are a slice of all. */
#define LOG_ALL(table, player) \
	"INSERT INTO " table " (player_id, op, amount, match_id, at, boards, scores) " \
	"SELECT " player ", $4, u.amount, u.match, $5, $6, " \
	"$7[u.number OPERATOR(pg_catalog.*) $8 OPERATOR(pg_catalog.+) 1:" \
	"(u.number OPERATOR(pg_catalog.+) 1) OPERATOR(pg_catalog.*) $8] " \
	"FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($9)) AS u (player, amount, match, number)"
	(void) lb_run_recording(s, LB_RECORD_EVENT, &plan,
							LOG_ALL("@.lb_event", "u.player"),
							LOG_ALL("%s", "CAST(u.player AS %s)"),
							LB_ARGS(lb_arg_array(TEXTOID, players, NULL, s->nitems),
									lb_arg_array(INT8OID, amounts, NULL, s->nitems),
									lb_arg_array(TEXTOID, matches, nulls, s->nitems),
									lb_arg_text(lb_op_name(s->call->op)),
									lb_arg_time(s->call->at),
									open_boards(s, 0),
									lb_arg_array(INT8OID, scores, unknown, k),
									lb_arg_int4(t->nopen),
									lb_arg_array(INT4OID, numbers, NULL, s->nitems)));
#undef LOG_ALL
}

void
lb_log_events(LbSubmit *s)
{
	bool		stands_in = s->call->stand_in != NULL;

	if (stands_in && !OidIsValid(lb_find_record(s, LB_RECORD_EVENT)))
		return;
	if (stands_in ||
		(s->nitems > 1 && s->items[0].joined == NULL))
	{
		log_all(s);
		return;
	}
	for (int p = 0; p < s->nplayers; p++)
	{
		for (int i = s->first[p]; i < s->first[p + 1]; i++)
		{
			CHECK_FOR_INTERRUPTS();
			log_one(s, &s->items[i], p);
		}
	}
}
