/*-------------------------------------------------------------------------
 *
 * distributed.c
 *	  Tables that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "boards/captured.h"
#include "boards/distributed.h"
#include "boards/resolve.h"

const LbDistributed *lb_distributed = NULL;

const LbDistributed *
lb_require_distributed(void)
{
	if (lb_distributed == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this build of the library does not support distributed tables"),
				 errhint("Build it without CITUS=no.")));
	return lb_distributed;
}

bool
lb_serves(Oid source)
{
	return lb_distributed != NULL && lb_distributed->serves(source);
}

bool
lb_has_distributed_board(const LbDefinition *defn)
{
	return lb_serves(defn->source) && !lb_is_captured(defn->source) &&
		!defn->counts;
}

bool
lb_is_distributed(const LbDefinition *defn)
{
	return defn->problem == lb_engine_problem ||
		(defn->problem != NULL && lb_is_distributed_table(defn->source));
}

void
lb_refuse_distributed(const LbDefinition *defn)
{
	if (lb_is_distributed(defn))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this does not work on board \"%s\"", defn->name),
				 errdetail("Citus distributes its table \"%s\".",
						   get_rel_name(defn->source)),
				 errhint("docs/scale-out.md lists what works on distributed tables.")));
}

void
lb_check_both_distributed(const LbDefinition *a, const LbDefinition *b)
{
	bool		first = lb_is_distributed_table(a->source);
	Oid			distributed = first ? a->source : b->source;
	Oid			other = first ? b->source : a->source;

	if (first != lb_is_distributed_table(b->source))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("boards \"%s\" and \"%s\" cannot make a leaderboard",
						a->name, b->name),
				 errdetail("Citus distributes table \"%s\", but not table \"%s\".",
						   get_rel_name(distributed), get_rel_name(other)),
				 errhint("Distribute both tables or none. lb_drop_board() drops a board before its table is distributed, and undistribute_table() takes the boards of a table with it.")));
}

void
lb_begin_settings(const char *leaderboard)
{
	if (lb_distributed != NULL)
		lb_distributed->begin_settings(leaderboard);
}

void
lb_end_settings(const char *leaderboard)
{
	if (lb_distributed != NULL)
		lb_distributed->end_settings(leaderboard);
}
