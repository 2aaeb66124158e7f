/*-------------------------------------------------------------------------
 *
 * scores_rows.c
 *	  Rows of scores that statements return, and reading those that are
 *	  missing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "submit/scores.h"

LbArg
lb_players_arg(const LbSubmit *s, Datum *players, int n)
{
	const LbType *type = s->target->type;

	return lb_arg(type->array, lb_make_array(type->oid, players, NULL, n));
}

void
lb_take_scores(LbSubmit *s, bool written)
{
	const LbSubmitTarget *t = s->target;
	SPITupleTable *rows = SPI_tuptable;
	int			b = -1;

	/* The leaderboard's board has no key. */
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		player = lb_row_nullable(rows, i, 1, &isnull);
		bool		scores;
		Datum		value = lb_row_nullable(rows, i, 4, &scores);
		LbPlayerScore *score;
		int			p;

		CHECK_FOR_INTERRUPTS();

		/* A trigger may have set it to null. */
		if (isnull)
			continue;
		p = lb_player_number(s, player);
		if (scores)
			b = 0;
		else
		{
			text	   *key = DatumGetTextPP(value);
			int			len = VARSIZE_ANY_EXHDR(key);

			/* Mostly the board of the row before. */
			if (b < 0 || (int) strlen(t->boards[b].name) != len ||
				memcmp(t->boards[b].name, VARDATA_ANY(key), len) != 0)
				b = lb_window_number(t, VARDATA_ANY(key), len);
		}
		if (p < 0 || b < 0)
			continue;
		score = &s->results[b].players[p];
		score->known = true;
		s->results[b].written |= written;
		score->has_score = lb_row_int8(rows, i, 2, &score->score);
		if (scores)
			s->ranked[p] = lb_row_bool(rows, i, 3);
	}
	SPI_freetuptable(rows);
}

void
lb_read_missing_scores(LbSubmit *s, int first, int n)
{
	const LbSubmitTarget *t = s->target;
	LbScoreStatement st = {
		.kind = LB_SCORES_READ,.defn = lb_board_defn(t, &t->boards[first])
	};
	Datum	   *keys = palloc(n * sizeof(Datum));
	Datum	   *players = palloc(s->nplayers * sizeof(Datum));
	int			nplayers = 0;

	for (int p = 0; p < s->nplayers; p++)
	{
		bool		missing = false;

		CHECK_FOR_INTERRUPTS();
		for (int b = first; b < first + n; b++)
			missing |= !s->results[b].players[p].known;
		if (missing)
			players[nplayers++] = s->players[p];
	}
	if (nplayers == 0)
		return;
	for (int b = 0; b < n; b++)
		keys[b] = CStringGetTextDatum(t->boards[first + b].name);
	(void) lb_run_scores(&st, LB_ARGS(lb_players_arg(s, players, nplayers),
									  lb_arg_array(TEXTOID, keys, NULL, n)));
	lb_take_scores(s, false);
}
