/*-------------------------------------------------------------------------
 *
 * entrants.c
 *	  Submits to windows that players join: lb_entrant.
 *
 * A row of lb_entrant is a player who has joined a span of a window.  A
 * submit locks the rows of its players FOR KEY SHARE before all else, and
 * skips what they have not joined.  So a player who leaves waits for submits
 * under way, and later submits find the player gone.  windows/join.c has the
 * order of locks of players who join and leave.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "leaderboards/entry.h"
#include "sql/spi.h"
#include "submit/entrants.h"

/* A row of lb_entrant. */
typedef struct Entrant
{
	const char *board;
	const char *player;
} Entrant;

static int
entrant_cmp(const void *a, const void *b)
{
	const Entrant *ea = (const Entrant *) a;
	const Entrant *eb = (const Entrant *) b;
	int			c = strcmp(ea->board, eb->board);

	return c != 0 ? c : strcmp(ea->player, eb->player);
}

/*
 * Lock the rows of the items' players for n keys; returns how many, in that
 * order.
 */
static int
lock_rows(const LbSubmitItem *items, int nitems, Datum *keys, int n,
		  Entrant **entrants)
{
	static LbPlan plan;
	Datum	   *players = palloc(nitems * sizeof(Datum));
	SPITupleTable *rows;
	int			nrows;

	for (int i = 0; i < nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		players[i] = PointerGetDatum(items[i].player_text);
	}
	nrows = (int) lb_own_exec(&plan,
							  "SELECT t.board, t.player_id FROM @.lb_entrant t "
							  "WHERE t.player_id OPERATOR(pg_catalog.=) ANY ($1) AND t.board OPERATOR(pg_catalog.=) ANY ($2) "
							  "ORDER BY t.board, t.player_id FOR KEY SHARE",
							  LB_ARGS(lb_arg_array(TEXTOID, players, NULL, nitems),
									  lb_arg_array(TEXTOID, keys, NULL, n)));
	rows = SPI_tuptable;
	*entrants = palloc(Max(1, nrows) * sizeof(Entrant));
	for (int i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(*entrants)[i].board = lb_row_text(rows, i, 1);
		(*entrants)[i].player = lb_row_text(rows, i, 2);
	}
	SPI_freetuptable(rows);
	return nrows;
}

/*
 * Close or leave out the boards that players join, but none of these rows is
 * of.
 */
static void
leave_out(LbSubmitTarget *t, const Entrant *entrants, int nentrants)
{
	int			e = 0;
	int			n = 0;

	/* Both are in the order of keys, except that "global" comes first. */
	for (int b = 0; b < t->nboards; b++)
	{
		LbSubmitBoard *board = &t->boards[b];

		if (board->joined)
		{
			while (e < nentrants && strcmp(entrants[e].board, board->name) < 0)
			{
				CHECK_FOR_INTERRUPTS();
				e++;
			}
			if (e == nentrants || strcmp(entrants[e].board, board->name) != 0)
			{
				if (t->call->boards == NULL)
					continue;
				board->closed = true;
				board->joined = false;
			}
		}
		t->boards[n++] = *board;
	}
	t->nboards = n;
}

/* Set which boards each item is for. */
static void
set_joined(const LbSubmitTarget *t, LbSubmitItem *items, int nitems,
		   const Entrant *entrants, int nentrants)
{
	bool	   *joined = MemoryContextAllocHuge(CurrentMemoryContext,
												(Size) nitems * t->nboards);

	for (int i = 0; i < nitems; i++)
	{
		LbSubmitItem *item = &items[i];
		Entrant		wanted = {.player = text_to_cstring(item->player_text)};

		CHECK_FOR_INTERRUPTS();
		item->joined = joined;
		for (int b = 0; b < t->nboards; b++)
		{
			wanted.board = t->boards[b].name;
			*joined++ = !t->boards[b].joined ||
				bsearch(&wanted, entrants, nentrants, sizeof(Entrant),
						entrant_cmp) != NULL;
		}
	}
}

void
lb_lock_entrants(LbSubmitTarget *t, LbSubmitItem *items, int nitems)
{
	Datum	   *keys;
	Entrant    *entrants;
	int			nentrants;
	int			n = 0;

	/*
	 * Windows of distributed tables are no tournaments (lb_set_entry()).  A
	 * row of lb_entry that has come from a dump must not cost a score.
	 */
	if (t->call->stand_in != NULL || !lb_has_entries())
		return;
	keys = palloc(Max(1, t->nboards) * sizeof(Datum));
	for (int b = 0; b < t->nboards; b++)
	{
		LbSubmitBoard *board = &t->boards[b];

		board->joined = board->window && lb_entry_find(board->kind) != NULL;
		if (board->joined)
			keys[n++] = CStringGetTextDatum(board->name);
	}
	if (n == 0)
		return;
	nentrants = lock_rows(items, nitems, keys, n, &entrants);
	leave_out(t, entrants, nentrants);
	if (nentrants > 0)
		set_joined(t, items, nitems, entrants, nentrants);
}
