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
	int			c = lb_player_cmp(s, ia->player, ib->player);

	if (c == 0)
		c = strcmp(ia->match_id, ib->match_id);
	return c != 0 ? c : *(const int *) a - *(const int *) b;
}

/* Whether a row that was inserted, which SPI has returned, is an item's. */
static bool
is_row_of(const LbSubmitItem *item, HeapTuple tuple, TupleDesc desc)
{
	bool		isnull;
	text	   *player = DatumGetTextPP(SPI_getbinval(tuple, desc, 1, &isnull));
	text	   *match = DatumGetTextPP(SPI_getbinval(tuple, desc, 2, &isnull));

	return VARSIZE_ANY_EXHDR(player) == VARSIZE_ANY_EXHDR(item->player_text) &&
		memcmp(VARDATA_ANY(player), VARDATA_ANY(item->player_text),
			   VARSIZE_ANY_EXHDR(player)) == 0 &&
		strcmp(text_to_cstring(match), item->match_id) == 0;
}

void
lb_claim_matches(LbSubmit *s)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTARRAYOID, TEXTARRAYOID, TEXTOID};
	int		   *order = palloc(s->nitems * sizeof(int));
	Datum	   *players = palloc(s->nitems * sizeof(Datum));
	Datum	   *matches = palloc(s->nitems * sizeof(Datum));
	bool	   *repeated = palloc0(s->nitems * sizeof(bool));
	Datum		values[3];
	int			n = 0;
	int			kept = 0;
	uint64		row = 0;

	for (int i = 0; i < s->nitems; i++)
	{
		if (s->items[i].match_id != NULL)
			order[n++] = i;
	}
	if (n == 0)
		return;
	if (s->stand_in != NULL && !OidIsValid(lb_find_record(s, LB_RECORD_APPLIED)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("leaderboard \"%s\" takes no match_id",
						s->leaderboard.name),
				 errdetail("Its table is distributed, and there is no table of its matches beside it."),
				 errhint("lb_create_tables(distributed => true) makes both.")));
	qsort_interruptible(order, n, sizeof(int), match_cmp, s);
	for (int i = 0; i < n; i++)
	{
		players[i] = PointerGetDatum(s->items[order[i]].player_text);
		matches[i] = CStringGetTextDatum(s->items[order[i]].match_id);
	}
	values[0] = lb_make_array(TEXTOID, players, NULL, n);
	values[1] = lb_make_array(TEXTOID, matches, NULL, n);
	values[2] = CStringGetTextDatum(s->leaderboard.name);
	(void) lb_run_recording(s, LB_RECORD_APPLIED, &plan,
							"INSERT INTO @.lb_applied (player_id, match_id, leaderboard) "
							"SELECT u.player, u.match, $3 FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (player, match) "
							"ON CONFLICT (player_id, match_id, leaderboard) DO NOTHING RETURNING player_id, match_id",
							"INSERT INTO %s (player_id, match_id) "
							"SELECT CAST(u.player AS %s), u.match FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (player, match) "
							"ON CONFLICT (player_id, match_id) DO NOTHING RETURNING CAST(player_id AS pg_catalog.text), match_id",
							3, types, values, NULL);

	/* Rows come in our order; matches that were there are missing. */
	for (int i = 0; i < n; i++)
	{
		repeated[order[i]] = row >= SPI_processed ||
			!is_row_of(&s->items[order[i]], SPI_tuptable->vals[row],
					   SPI_tuptable->tupdesc);
		if (!repeated[order[i]])
			row++;
	}
	Assert(row == SPI_processed);
	SPI_freetuptable(SPI_tuptable);
	for (int i = 0; i < s->nitems; i++)
	{
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
	static const Oid types[] = {TEXTOID, TEXTOID, TEXTARRAYOID, INT8ARRAYOID,
	INT8ARRAYOID, INT8ARRAYOID, TEXTOID};
	Datum	   *names = palloc(Max(1, n) * sizeof(Datum));
	Datum	   *columns[3];
	bool	   *nulls[3];
	Datum		values[7];

	for (int i = 0; i < 3; i++)
	{
		columns[i] = palloc(Max(1, n) * sizeof(Datum));
		nulls[i] = palloc(Max(1, n) * sizeof(bool));
	}
	for (int i = 0; i < n; i++)
	{
		const LbAnswer *answer = &answers[i];

		names[i] = CStringGetTextDatum(answer->board);
		columns[0][i] = Int64GetDatum(answer->score);
		nulls[0][i] = !answer->has_score;
		columns[1][i] = Int64GetDatum(answer->rank);
		nulls[1][i] = !answer->has_rank;
		columns[2][i] = Int64GetDatum(answer->previous);
		nulls[2][i] = !answer->has_previous;
	}
	values[0] = PointerGetDatum(item->player_text);
	values[1] = CStringGetTextDatum(item->match_id);
	values[2] = lb_make_array(TEXTOID, names, NULL, n);
	for (int i = 0; i < 3; i++)
		values[3 + i] = lb_make_array(INT8OID, columns[i], nulls[i], n);
	values[6] = CStringGetTextDatum(s->leaderboard.name);
	(void) lb_run_recording(s, LB_RECORD_APPLIED, &plan,
							"UPDATE @.lb_applied SET boards = $3, scores = $4, ranks = $5, previous_ranks = $6 "
							"WHERE player_id OPERATOR(pg_catalog.=) $1 AND match_id OPERATOR(pg_catalog.=) $2 AND leaderboard OPERATOR(pg_catalog.=) $7",
							"UPDATE %s SET boards = $3, scores = $4 "
							"WHERE player_id OPERATOR(pg_catalog.=) CAST($1 AS %s) AND match_id OPERATOR(pg_catalog.=) $2",
							7, types, values, NULL);
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
	static const Oid types[] = {TEXTOID, TEXTOID, TEXTOID};
	Datum		values[3];
	SPITupleTable *table;
	uint64		n;
	bool		any_global = false;
	bool		any_window = false;

	values[0] = PointerGetDatum(item->player_text);
	values[1] = CStringGetTextDatum(item->match_id);
	values[2] = CStringGetTextDatum(s->leaderboard.name);
	n = lb_run_recording(s, LB_RECORD_APPLIED, &plan,
						 "SELECT u.board, u.score, u.rank, u.previous FROM @.lb_applied a, "
						 "ROWS FROM (pg_catalog.unnest(a.boards), pg_catalog.unnest(a.scores), "
						 "pg_catalog.unnest(a.ranks), pg_catalog.unnest(a.previous_ranks)) AS u (board, score, rank, previous) "
						 "WHERE a.player_id OPERATOR(pg_catalog.=) $1 AND a.match_id OPERATOR(pg_catalog.=) $2 AND a.leaderboard OPERATOR(pg_catalog.=) $3",
						 "SELECT u.board, u.score, CAST(NULL AS pg_catalog.int8), CAST(NULL AS pg_catalog.int8) FROM %s a, "
						 "ROWS FROM (pg_catalog.unnest(a.boards), pg_catalog.unnest(a.scores)) AS u (board, score) "
						 "WHERE a.player_id OPERATOR(pg_catalog.=) CAST($1 AS %s) AND a.match_id OPERATOR(pg_catalog.=) $2",
						 3, types, values, NULL);
	table = SPI_tuptable;
	*answers = palloc0(Max(1, n) * sizeof(LbAnswer));
	for (uint64 i = 0; i < n; i++)
	{
		LbAnswer   *answer = &(*answers)[i];
		Datum		columns[4];
		bool		nulls[4];

		for (int c = 0; c < 4; c++)
			columns[c] = SPI_getbinval(table->vals[i], table->tupdesc, c + 1,
									   &nulls[c]);
		answer->board = TextDatumGetCString(columns[0]);
		answer->has_score = !nulls[1];
		answer->has_rank = !nulls[2];
		answer->has_previous = !nulls[3];
		answer->score = nulls[1] ? 0 : DatumGetInt64(columns[1]);
		answer->rank = nulls[2] ? 0 : DatumGetInt64(columns[2]);
		answer->previous = nulls[3] ? 0 : DatumGetInt64(columns[3]);
		if (strcmp(answer->board, s->leaderboard.name) == 0)
			any_global = true;
		else
			any_window = true;
	}
	SPI_freetuptable(table);

	/* They can be of boards that the caller has not named now. */
	if ((any_global && !may_be_told(s->scores_board != NULL ? s->scores_board :
									lb_find_in(s->stand_in, s->leaderboard.name))) ||
		(any_window && !may_be_told(s->windows != NULL ? s->windows :
									lb_find_in(s->stand_in, s->leaderboard.family))))
		return 0;
	return (int) n;
}
