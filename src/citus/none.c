/*-------------------------------------------------------------------------
 *
 * none.c
 *	  What a build with CITUS=no has in the place of the rest of this folder.
 *
 * Without routines, lower folders answer reads of distributed tables by their
 * queries, and raise an error for all else.  The SQL script is the same in
 * every build.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"

#include "admin/stat.h"
#include "boards/catalog.h"
#include "boards/distributed.h"
#include "boards/target.h"
#include "citus/citus.h"
#include "sql/spi.h"

void
lb_citus_init(void)
{
}

/* A function that only servers of distributed tables call. */
#define DOES(name) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) { (void) lb_require_distributed(); PG_RETURN_NULL(); }

DOES(lb_record_board)
DOES(lb_record_closed)
DOES(lb_record_settings)
DOES(lb_shard_forget)
DOES(lb_shard_set_ranked)
DOES(lb_shard_submit)
DOES(lb_shard_submit_many)
DOES(lb_shard_windows)
DOES(lb_unrecord_board)

PG_FUNCTION_INFO_V1(lb_shard_ask);
PG_FUNCTION_INFO_V1(lb_stat_shards);

/* Null is that this server cannot answer. */
Datum
lb_shard_ask(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}

/* No board has shards with boards. */
Datum
lb_stat_shards(PG_FUNCTION_ARGS)
{
	LbTarget	target;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	InitMaterializedSRF(fcinfo, 0);
	(void) lb_stat_look_up(PG_GETARG_TEXT_PP(0), &target);
	return (Datum) 0;
}
