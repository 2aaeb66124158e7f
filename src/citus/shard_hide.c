/*-------------------------------------------------------------------------
 *
 * shard_hide.c
 *	  Hiding players on the server of a shard: lb_shard_set_ranked().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "boards/catalog.h"
#include "citus/companion.h"
#include "citus/shard.h"
#include "leaderboards/leaderboard.h"
#include "players/hide.h"
#include "sql/spi.h"
#include "submit/hidden.h"

PG_FUNCTION_INFO_V1(lb_shard_set_ranked);

/* Remove what is recorded of a player on these boards, an array. */
static void
remove_hidden(Oid table, text *player, Datum boards)
{
	(void) lb_run_in(table,
					 "DELETE FROM %s WHERE player_id OPERATOR(pg_catalog.=) CAST($1 AS %s) AND board OPERATOR(pg_catalog.=) ANY ($2)",
					 LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(player)),
							 lb_arg(TEXTARRAYOID, boards)));
}

/* Whether a player is hidden on all boards. */
static bool
is_hidden_on_all(Oid table, text *player)
{
	uint64		n = lb_run_in(table,
							  "SELECT FROM %s WHERE player_id OPERATOR(pg_catalog.=) CAST($1 AS %s) AND board OPERATOR(pg_catalog.=) ''",
							  LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(player))));

	SPI_freetuptable(SPI_tuptable);
	return n > 0;
}

/*
 * Record in the companion of a shard that a player is hidden, or shown, on a
 * board of this leaderboard, or with all on all leaderboards.  The caller may
 * hide the player there.
 */
static void
record_hidden(Oid table, text *player, const char *board, bool hidden,
			  bool all)
{
	Datum		boards[] = {CStringGetTextDatum(board), CStringGetTextDatum(LB_ALL_BOARDS)};

	/* What is for all boards replaces what is for this one. */
	remove_hidden(table, player, lb_make_array(TEXTOID, boards, NULL,
											   all && !hidden ? 2 : 1));
	if (!hidden && (all || !is_hidden_on_all(table, player)))
		return;
	(void) lb_run_in(table,
					 "INSERT INTO %s (player_id, board, hidden) VALUES (CAST($1 AS %s), $2, $3) "
					 "ON CONFLICT (player_id, board) DO UPDATE SET hidden = excluded.hidden",
					 LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(player)),
							 lb_arg(TEXTOID, boards[all]), lb_arg_bool(hidden)));
}

/* Hide or show a player on one board. */
Datum
lb_shard_set_ranked(PG_FUNCTION_ARGS)
{
	LbStandIn	in;
	const LbLeaderboard *leaderboard;
	text	   *player;
	char	   *board;
	bool		ranked;
	bool		all;
	bool		windows;
	Oid			hidden;
	int			nestlevel;
	uint64		n;

	(void) lb_require_catalog();
	for (int i = 0; i < 5; i++)
	{
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	}
	player = PG_GETARG_TEXT_PP(0);
	board = text_to_cstring(PG_GETARG_TEXT_PP(2));
	ranked = PG_GETARG_BOOL(3);
	all = PG_GETARG_BOOL(4);
	SPI_connect();
	nestlevel = lb_begin_shard(board, NULL, player, PG_GETARG_INT64(1));
	lb_shard_stand_in(&in, player);
	lb_check_hide_in(&in, board);
	leaderboard = lb_leaderboard_of_board(board, &windows);
	hidden = leaderboard == NULL ? InvalidOid :
		lb_shard_companion(pstrdup(leaderboard->name), LB_RECORD_HIDDEN, player);
	if (OidIsValid(hidden))
		record_hidden(hidden, player, board, !ranked, all);
	n = lb_hide_in(&in, board, ranked, all);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
	PG_RETURN_INT64((int64) n);
}
