/*-------------------------------------------------------------------------
 *
 * open_boards.c
 *	  The boards of a family with given values of some board columns.
 *
 * Aggregates of rows WHERE country = 'FR' are made of those of the boards of
 * all levels, if the family has the board columns country and level.
 *
 * A board is there as long as a snapshot may see rows of it, or its stripe
 * says that it was given back (LbStripe.floor).  So in a stripe to which a
 * reader has access, under its lock, the boards are all that can have rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "boards/board_row.h"
#include "boards/live.h"
#include "capture/xactlog.h"
#include "planner/open_boards.h"

/* The most bytes that the text of a column takes in a row. */
#define MOST_BYTES(len) (2 * (len) + 3)

bool
lb_open_boards_begin(LbOpenBoards *boards, const LbTarget *target,
					 const Oid *types, Datum *values, int open,
					 bool *too_long)
{
	const LbDefinition *defn = target->defn;
	int			most = 1;

	boards->ncolumns = defn->nboard;
	boards->n = 0;
	boards->many = false;
	boards->room = palloc(LB_MAX_SEVERAL * LB_MAX_VALUE);
	*too_long = false;
	for (int i = 0; i < defn->nboard; i++)
	{
		const LbColumn *column = &lb_board_columns(defn)[i];
		char		room[LB_VALUE_ROOM];
		LbValue		value = {LB_VALUE_ROOM, NULL};

		boards->texts[i].data = NULL;
		if ((open & 1 << i) == 0)
		{
			LbValue		row;

			if (!lb_convert_value(column, types[i], &values[i]))
				return false;
			column->type->value(column, values[i], &value, room);

			/* Without the parentheses it is as in a row of several. */
			row = lb_make_row_text(&value, 1);
			boards->texts[i].data = row.data + 1;
			boards->texts[i].len = row.len - 2;
		}
		most += MOST_BYTES(value.len);
	}
	*too_long = most > LB_MAX_VALUE;
	return true;
}

static void
add_board(LbOpenBoards *boards, const LbValue *value)
{
	char	   *room = boards->room + boards->n * LB_MAX_VALUE;

	if (!lb_row_text_has(value, boards->texts, boards->ncolumns))
		return;
	if (boards->n == LB_MAX_SEVERAL)
	{
		boards->many = true;
		return;
	}
	Assert(value->len <= LB_MAX_VALUE);
	memcpy(room, value->data, value->len);
	boards->values[boards->n].data = room;
	boards->values[boards->n++].len = value->len;
}

/* visit of lb_stripe_walk() */
static bool
visit_board(uint32 hash, LbRef ref, void *arg)
{
	LbOpenBoards *boards = (LbOpenBoards *) arg;
	LbValue		value = lb_live_board_value(lb_live_board_at(ref));

	add_board(boards, &value);
	return !boards->many;
}

void
lb_open_boards_of_stripe(LbOpenBoards *boards, LbStripe *stripe)
{
	lb_stripe_walk(stripe, true, visit_board, boards);
}

void
lb_open_boards_of_xact(LbOpenBoards *boards, const LbDefinition *defn)
{
	LbXactDefn *xdefn = lb_xact_find_defn(defn);

	if (xdefn == NULL)
		return;
	for (LbXactBoard *board = xdefn->boards; board != NULL;
		 board = board->next_of_defn)
	{
		bool		found = false;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < boards->n && !found; i++)
			found = lb_value_equal(&boards->values[i], &board->value);
		if (!found)
			add_board(boards, &board->value);
	}
}
