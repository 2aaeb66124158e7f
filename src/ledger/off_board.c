/*-------------------------------------------------------------------------
 *
 * off_board.c
 *	  How many rows of its table are not in a board's index.
 *
 * A row is off the board if ranked_if is not true for it, or a column of its
 * key is null.  While no row is off the board, a query of the table that does
 * not say "ranked" asks for the board's rows, and the index can answer it.
 *
 * A ranked row has no key if a text of it is too long.  While there is one,
 * all reads of its board run their queries.
 *
 * The index does not have such rows.  What is kept is their number, which is a
 * sum: each transaction publishes by how much it changes it, and settling adds
 * that, in whatever order.  Rows of a family without a value of the board
 * column are of none of its boards, and so are not counted: no query asks a
 * family for them.
 *
 * A snapshot wants the number without what has settled and it does not see,
 * and with what is pending and it sees.  The walks are those of collect.c,
 * which says why the one through the history may stop.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/directory.h"
#include "boards/live.h"
#include "boards/state.h"
#include "ledger/collect.h"
#include "ledger/off_board.h"
#include "ledger/queue.h"
#include "util/planted.h"

const char	lb_no_key_reason[] = "a row has a text that is too long for the index";

void
lb_add_off_board(LbSharedBoard *shared, LbLiveBoard *board, int64 rows)
{
	board->off_board += rows;
	pg_atomic_fetch_add_u64(&shared->off_board, rows);
}

void
lb_settle_off_board(LbSharedBoard *shared, LbStripe *stripe,
					LbLiveBoard *board, const LbPublication *pub)
{
	if (likely(pub->off_board == 0))
		return;
	if (LB_PLANTED(13) && pub->prepared)
		return;

	board->off_board_xid = lb_next_xid();

	/* Else a build makes the board anew. */
	if (lb_is_ready(shared))
		lb_add_off_board(shared, board, pub->off_board);
	if (stripe->queueing)
		lb_queue_off_board(shared, board, pub->xid, pub->off_board);
}

bool
lb_count_off_board(const LbLiveBoard *board, const LbSnapshot *snapshot,
				   const LbOutcomes *outcomes, int64 *rows)
{
	int			looks = 0;
	dlist_iter	iter;

	*rows = 0;
	if (board == NULL)
		return true;
	*rows = board->off_board;
	dlist_foreach(iter, &((LbLiveBoard *) board)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);
		LbOutcome	outcome;

		if (++looks > LB_MAX_LOOKS)
			return false;
		if (pub->off_board == 0 || !lb_had_ended(snapshot, pub->xid))
			continue;
		outcome = lb_find_outcome(outcomes, U64FromFullTransactionId(pub->xid));
		if (outcome == LB_OUTCOME_UNKNOWN)
			return false;
		if (outcome == LB_COMMITTED)
			*rows += pub->off_board;
	}

	/* The snapshot sees everything that has changed the number. */
	if (board->off_board_xid < snapshot->xmax)
		return true;
	dlist_reverse_foreach(iter, &((LbLiveBoard *) board)->history)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		if (pub->next_xid < snapshot->xmax)
			break;
		if (++looks > LB_MAX_LOOKS)
			return false;
		if (pub->off_board != 0 && !lb_had_ended(snapshot, pub->xid))
			*rows -= pub->off_board;
	}
	return true;
}

/* Whether rows are off at most a tenth of a family's boards now. */
static bool
few_are_incomplete(LbSharedBoard *shared, int64 rows)
{
	uint64		nboards = 0;

	for (int s = 0; s < LB_STRIPES; s++)
	{
		LWLockAcquire(&shared->stripes[s].lock, LW_SHARED);
		nboards += shared->stripes[s].boards.entries;
		LWLockRelease(&shared->stripes[s].lock);
	}
	return (uint64) rows <= nboards / 10;
}

int64
lb_off_board_now(LbDefinition *defn, const LbTarget *target)
{
	LbSharedBoard *shared = lb_shared_board_attach(defn, false);
	LbStripe   *stripe;
	const LbLiveBoard *board;
	int64		sum;
	LbRef		ref;

	sum = shared == NULL ? 0 : pg_atomic_read_u64(&shared->off_board);
	if (sum == 0 || target == NULL)
		return sum;
	sum = 0;
	stripe = &shared->stripes[target->stripe];
	LWLockAcquire(&stripe->lock, LW_SHARED);
	if (lb_shared_board_is(shared, defn->generation) && lb_is_ready(shared))
	{
		board = lb_live_board_find(shared, stripe, target->hash,
								   &target->value, &ref);
		if (board != NULL)
			sum = board->off_board;
	}
	LWLockRelease(&stripe->lock);
	return sum;
}

bool
lb_is_complete_now(LbDefinition *defn, const LbTarget *target, bool ranked)
{
	LbSharedBoard *shared = lb_shared_board_attach(defn, false);
	int64		sum = lb_off_board_now(defn, target);
	int64		rows = lb_rows_without_key(sum);

	if (!ranked)
		rows += lb_rows_off_board(sum);
	return rows == 0 ||
		(target == NULL && few_are_incomplete(shared, rows));
}
