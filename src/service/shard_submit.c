/*-------------------------------------------------------------------------
 *
 * shard_submit.c
 *	  Submits on the server of a shard: lb_shard_submit().
 *
 * It does what lb_submit() does, with the shards in the place of the distributed tables
 * (shard.c), and without ranks, which this server does not know.  The caller needs the
 * same privileges, on the shards; Citus grants on them what is granted on the table.
 *
 * The time comes as a number, since Citus would send a timestamptz as a text in the style
 * of the session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "boards/spi.h"
#include "service/shard.h"
#include "service/submit.h"

PG_FUNCTION_INFO_V1(lb_shard_submit);

/* Arguments of lb_shard_submit(). */
enum
{
	ARG_PLAYER_ID,
	ARG_SHARD,
	ARG_LEADERBOARD,
	ARG_AMOUNT,
	ARG_OP,
	ARG_MATCH_ID,
	ARG_AT,
	ARG_BOARDS,
	ARG_METADATA
};

Datum
lb_shard_submit(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"player_id", "shard", "leaderboard",
	"amount", "op", NULL, "at", NULL, NULL};
	const LbPlayerArgument player = {{names[ARG_PLAYER_ID], "lb_submit"}, true};
	LbSubmit	s;
	LbSubmitItem item;
	int			nestlevel;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_shard_submit()");
	PreventCommandIfReadOnly("lb_shard_submit()");
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (names[i] != NULL && PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	lb_begin_leaderboard(&s, text_to_cstring(PG_GETARG_TEXT_PP(ARG_LEADERBOARD)));
	s.on_shard = PG_GETARG_TEXT_PP(ARG_PLAYER_ID);
	nestlevel = lb_begin_shard(s.leaderboard.name, s.on_shard,
							   PG_GETARG_INT64(ARG_SHARD));
	for (int i = 0; i < LB_NBESIDE; i++)
		s.beside[i] = lb_shard_beside(s.leaderboard.name, i, s.on_shard);
	s.op = lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(ARG_OP)), "");
	s.at = PG_GETARG_INT64(ARG_AT);
	lb_submission_set_boards(&s, PG_ARGISNULL(ARG_BOARDS) ? NULL :
							 PG_GETARG_ARRAYTYPE_P(ARG_BOARDS));
	if (!PG_ARGISNULL(ARG_METADATA))
		lb_set_metadata(&s, PG_GETARG_DATUM(ARG_METADATA));
	memset(&item, 0, sizeof(item));
	item.amount = PG_GETARG_INT64(ARG_AMOUNT);
	if (!PG_ARGISNULL(ARG_MATCH_ID))
		item.match_id = text_to_cstring(PG_GETARG_TEXT_PP(ARG_MATCH_ID));
	lb_set_player(&s, &item, PG_GETARG_DATUM(ARG_PLAYER_ID), &player);
	lb_submit_one(fcinfo, &s, &item);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
	return (Datum) 0;
}
