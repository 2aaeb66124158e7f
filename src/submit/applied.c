/*-------------------------------------------------------------------------
 *
 * applied.c
 *	  Matches that have been applied: lb_applied.
 *
 * A row of lb_applied is a match of a player on a leaderboard.  It is inserted
 * before the scores are written, so that of two concurrent submits of one
 * match the second waits for the first, and finds the row.  It keeps what
 * lb_submit() has returned.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rls.h"

#include "boards/definition.h"
#include "sql/spi.h"
#include "submit/applied.h"

static int
match_cmp(const void *a, const void *b, void *submit)
{
	const LbSubmit *s = (const LbSubmit *) submit;
	const LbSubmitItem *ia = &s->items[*(const int *) a];
	const LbSubmitItem *ib = &s->items[*(const int *) b];
	int			c = lb_player_cmp(s->target, ia->player, ib->player);

	if (c == 0)
		c = strcmp(ia->match_id, ib->match_id);
	return c != 0 ? c : *(const int *) a - *(const int *) b;
}

/* Whether a row that was inserted is an item's. */
static bool
is_row_of(const LbSubmitItem *item, const SPITupleTable *rows, uint64 row)
{
	text	   *player = DatumGetTextPP(lb_row_datum(rows, row, 1));

	return VARSIZE_ANY_EXHDR(player) == VARSIZE_ANY_EXHDR(item->player_text) &&
		memcmp(VARDATA_ANY(player), VARDATA_ANY(item->player_text),
			   VARSIZE_ANY_EXHDR(player)) == 0 &&
		strcmp(TextDatumGetCString(lb_row_datum(rows, row, 2)), item->match_id) == 0;
}

void
lb_claim_matches(LbSubmit *s)
{
	static LbPlan plan;
	int		   *order = palloc(s->nitems * sizeof(int));
	Datum	   *players = palloc(s->nitems * sizeof(Datum));
	Datum	   *matches = palloc(s->nitems * sizeof(Datum));
	bool	   *repeated = palloc0(s->nitems * sizeof(bool));
	int			n = 0;
	int			kept = 0;
	uint64		row = 0;

	for (int i = 0; i < s->nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (s->items[i].match_id != NULL)
			order[n++] = i;
	}
	if (n == 0)
		return;
	if (s->call->stand_in != NULL && !OidIsValid(lb_find_record(s, LB_RECORD_APPLIED)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("leaderboard \"%s\" takes no match_id",
						s->call->leaderboard.name),
				 errdetail("Its table is distributed, and there is no table of its matches beside it."),
				 errhint("lb_create_tables(distributed => true) makes both.")));
	qsort_interruptible(order, n, sizeof(int), match_cmp, s);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		players[i] = PointerGetDatum(s->items[order[i]].player_text);
		matches[i] = CStringGetTextDatum(s->items[order[i]].match_id);
	}
	(void) lb_run_recording(s, LB_RECORD_APPLIED, &plan,
							"INSERT INTO @.lb_applied (player_id, match_id, leaderboard) "
							"SELECT u.player, u.match, $3 FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (player, match) "
							"ON CONFLICT (player_id, match_id, leaderboard) DO NOTHING RETURNING player_id, match_id",
							"INSERT INTO %s (player_id, match_id) "
							"SELECT CAST(u.player AS %s), u.match FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (player, match) "
							"ON CONFLICT (player_id, match_id) DO NOTHING RETURNING CAST(player_id AS pg_catalog.text), match_id",
							LB_ARGS(lb_arg_array(TEXTOID, players, NULL, n),
									lb_arg_array(TEXTOID, matches, NULL, n),
									lb_arg_text(s->call->leaderboard.name)));

	/* Rows come in our order; matches that were there are missing. */
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		repeated[order[i]] = row >= SPI_processed ||
			!is_row_of(&s->items[order[i]], SPI_tuptable, row);
		if (!repeated[order[i]])
			row++;
	}
	Assert(row == SPI_processed);
	SPI_freetuptable(SPI_tuptable);
	for (int i = 0; i < s->nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!repeated[i])
			s->items[kept++] = s->items[i];
	}
	s->nitems = kept;
}

void
lb_keep_answers(const LbSubmit *s, const LbSubmitItem *item,
				const LbAnswer *answers, int n)
{
	static LbPlan plan;
	Datum	   *names = palloc(Max(1, n) * sizeof(Datum));
	Datum	   *columns[3];
	bool	   *nulls[3];

	for (int i = 0; i < 3; i++)
	{
		columns[i] = palloc(Max(1, n) * sizeof(Datum));
		nulls[i] = palloc(Max(1, n) * sizeof(bool));
	}
	for (int i = 0; i < n; i++)
	{
		const LbAnswer *answer = &answers[i];

		CHECK_FOR_INTERRUPTS();
		names[i] = CStringGetTextDatum(answer->board);
		columns[0][i] = Int64GetDatum(answer->score);
		nulls[0][i] = !answer->has_score;
		columns[1][i] = Int64GetDatum(answer->rank);
		nulls[1][i] = !answer->has_rank;
		columns[2][i] = Int64GetDatum(answer->previous);
		nulls[2][i] = !answer->has_previous;
	}
	(void) lb_run_recording(s, LB_RECORD_APPLIED, &plan,
							"UPDATE @.lb_applied SET boards = $3, scores = $4, ranks = $5, previous_ranks = $6 "
							"WHERE player_id OPERATOR(pg_catalog.=) $1 AND match_id OPERATOR(pg_catalog.=) $2 AND leaderboard OPERATOR(pg_catalog.=) $7",
							"UPDATE %s SET boards = $3, scores = $4 "
							"WHERE player_id OPERATOR(pg_catalog.=) CAST($1 AS %s) AND match_id OPERATOR(pg_catalog.=) $2",
							LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(item->player_text)),
									lb_arg_text(item->match_id),
									lb_arg_array(TEXTOID, names, NULL, n),
									lb_arg_array(INT8OID, columns[0], nulls[0], n),
									lb_arg_array(INT8OID, columns[1], nulls[1], n),
									lb_arg_array(INT8OID, columns[2], nulls[2], n),
									lb_arg_text(s->call->leaderboard.name)));
}

/* Whether the caller may read what a board's scores and ranks were. */
static bool
may_be_told(LbDefinition *defn)
{
	return defn != NULL && lb_may_read(defn) &&
		check_enable_rls(defn->source, InvalidOid, true) != RLS_ENABLED;
}

int
lb_kept_answers(const LbSubmit *s, const LbSubmitItem *item,
				LbAnswer **answers)
{
	static LbPlan plan;
	const LbSubmitCall *call = s->call;
	const LbSubmitTarget *t = s->target;
	SPITupleTable *rows;
	uint64		n;
	bool		any_scores = false;
	bool		any_window = false;

	n = lb_run_recording(s, LB_RECORD_APPLIED, &plan,
						 "SELECT u.board, u.score, u.rank, u.previous FROM @.lb_applied a, "
						 "ROWS FROM (pg_catalog.unnest(a.boards), pg_catalog.unnest(a.scores), "
						 "pg_catalog.unnest(a.ranks), pg_catalog.unnest(a.previous_ranks)) AS u (board, score, rank, previous) "
						 "WHERE a.player_id OPERATOR(pg_catalog.=) $1 AND a.match_id OPERATOR(pg_catalog.=) $2 AND a.leaderboard OPERATOR(pg_catalog.=) $3",
						 "SELECT u.board, u.score, CAST(NULL AS pg_catalog.int8), CAST(NULL AS pg_catalog.int8) FROM %s a, "
						 "ROWS FROM (pg_catalog.unnest(a.boards), pg_catalog.unnest(a.scores)) AS u (board, score) "
						 "WHERE a.player_id OPERATOR(pg_catalog.=) CAST($1 AS %s) AND a.match_id OPERATOR(pg_catalog.=) $2",
						 LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(item->player_text)),
								 lb_arg_text(item->match_id),
								 lb_arg_text(call->leaderboard.name)));
	rows = SPI_tuptable;
	*answers = palloc0(Max(1, n) * sizeof(LbAnswer));
	for (uint64 i = 0; i < n; i++)
	{
		LbAnswer   *answer = &(*answers)[i];

		CHECK_FOR_INTERRUPTS();
		answer->board = lb_row_text(rows, i, 1);
		answer->has_score = lb_row_int8(rows, i, 2, &answer->score);
		answer->has_rank = lb_row_int8(rows, i, 3, &answer->rank);
		answer->has_previous = lb_row_int8(rows, i, 4, &answer->previous);
		if (strcmp(answer->board, call->leaderboard.name) == 0)
			any_scores = true;
		else
			any_window = true;
	}
	SPI_freetuptable(rows);

	/* They can be of boards that the caller has not named now. */
	if ((any_scores && !may_be_told(t->scores != NULL ? t->scores :
									lb_find_in(call->stand_in, call->leaderboard.name))) ||
		(any_window && !may_be_told(t->windows != NULL ? t->windows :
									lb_find_in(call->stand_in, call->leaderboard.family))))
		return 0;
	return (int) n;
}
