/*-------------------------------------------------------------------------
 *
 * shared.h
 *	  Shared memory: definitions, their stripes, live boards, and the rest.
 *
 * Lock order: the directory's lock, then one stripe's lock (several only by a
 * build, in ascending order), then the arena's lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SHARED_H
#define LB_SHARED_H

#include "postgres.h"

#include "access/transam.h"
#include "lib/ilist.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/s_lock.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "index/skiplist.h"
#include "util/compat.h"
#include "util/lock.h"

/* Why a read runs its defining query; columns of lb_stat_board. */
typedef enum LbCause
{
	LB_CAUSE_NONE = -1,			/* it does not */
	LB_CAUSE_DISABLED,			/* leaderboard.enable_index is off */
	LB_CAUSE_RECOVERY,			/* on a standby */
	LB_CAUSE_SNAPSHOT,			/* the index does not cover the snapshot */
	LB_CAUSE_ROW_SECURITY,		/* policies apply to the caller */
	LB_CAUSE_BUILDING,
	LB_CAUSE_OFFLINE,
	LB_CAUSE_TRIGGER,			/* a capture trigger is missing or disabled */
	LB_CAUSE_OWN_CHANGES,		/* own changes that are not known yet */
	LB_CAUSE_UNSETTLED,			/* others' changes that are not known yet */
	LB_CAUSE_LIMIT,				/* a name, a result or a row's text too long
								 * for the index, or a score that may be -0 */
	LB_CAUSE_COUNTS,			/* of a function: the board keeps counts,
								 * which do not tell */
	LB_CAUSE_OFF_BOARD,			/* of a node: it asks for all rows of a table,
								 * and some are off the board */
	LB_NCAUSES
} LbCause;

/* Stripes of a family's boards, a lock each. */
#define LB_STRIPES 8

/* Length of a reason shown in lb_stat_board, terminator included. */
#define LB_MAX_REASON 128

/*
 * What lb_stat_board counts: the causes, then these.  The last columns of its
 * functions are the counters in this order, but for lb_counter_is_shown().
 */
typedef enum LbCounter
{
	LB_COUNT_CHANGES = LB_NCAUSES,	/* rows settled */
	LB_COUNT_INDEX_READS,
	LB_COUNT_PLANNED_READS,		/* by nodes of plans */
	LB_COUNT_PLANNED_CAUSES,	/* the first of LB_NCAUSES: a node has run the
								 * plan without the index */
	LB_COUNT_LAST_PLANNED_CAUSE = LB_COUNT_PLANNED_CAUSES + LB_NCAUSES - 1,
	LB_NCOUNTERS
} LbCounter;

#define LB_INLINE_VALUE 64

/*
 * A range of full xids that contains all transactions whose changes were not
 * kept.  Zero if there is none.
 */
typedef struct LbUnknown
{
	slock_t		mutex;
	uint64		first;
	uint64		last;
} LbUnknown;

/*
 * What an index cannot undo any more: transactions up to this xid have left
 * its history, and when they settled, the next xid was at most next_xid.  Both
 * are full xids.  A snapshot is new enough if it was taken after that, or if
 * it sees all of these transactions anyway.
 */
typedef struct LbFloor
{
	uint64		next_xid;
	uint64		xid;
} LbFloor;

static inline void
lb_raise_floor(LbFloor *floor, uint64 next_xid, uint64 xid)
{
	floor->next_xid = Max(floor->next_xid, next_xid);
	floor->xid = Max(floor->xid, xid);
}

/*
 * A live board: a chunk of the arena.  It is reached through a stripe of its
 * definition, and the stripe's lock protects it.  (The counters change by
 * atomic additions under the shared lock.)
 */
typedef struct LbLiveBoard
{
	LbIndex		index;
	dlist_head	pending;		/* publications not settled, oldest first */
	dlist_head	history;		/* settled ones, in the order of settling */
	LbFloor		floor;			/* of what has left the history */
	uint64		version;		/* grows when the two lists or the index
								 * change; no other board ever has the same */
	uint64		applied;		/* the index has what settled up to this
								 * version */
	uint64		history_from;	/* what got into the index after this version
								 * is in the history */
	uint32		backlog;		/* entries that have settled since; a
								 * publication without any counts as one */
	int64		off_board;		/* rows of the table that are of this board
								 * and not in the index, as far as settled: a
								 * sum, see ledger/off_board.c */
	uint64		off_board_xid;	/* the next xid when that was changed last */
	bool		no_key;			/* the sum has had rows without a key */
	LbRef		queue_first;	/* settled while a build is running */
	LbRef		queue_last;
	LbRef		next_queued;	/* with a queue: the next in LbStripe.queued */
	uint32		hash;			/* of the value */
	uint32		nsettling;		/* large publications being settled now */
	uint32		value_len;
	LbRef		value_chunk;	/* of the value, if it is longer than inline */
	char		value[LB_INLINE_VALUE];
	pg_atomic_uint64 counters[LB_NCOUNTERS];
} LbLiveBoard;

/* Some of the boards of a definition, in cache lines of their own. */
typedef struct LbStripe
{
	LWLock		lock;			/* of all below, and of the boards */
	pg_atomic_uint32 nwaiting;	/* backends that wait to write */
	bool		queueing;		/* settled entries are also appended to the
								 * queue of the running build */
	bool		prefetching;	/* a process applies part of a backlog and has
								 * released the lock to prefetch: others apply
								 * all of a backlog or nothing */
	uint32		requested;		/* hash of the board whose backlog the applier
								 * is requested to apply, while
								 * LbSharedBoard.requested has this stripe */
	LbFloor		floor;			/* of boards that were given back */
	LbRef		queued;			/* the boards that have a queue, linked */
	LbRef		single;			/* the board, unless a family */
	LbHash		boards;			/* of a family: hash of value -> board */
	LbRef		spare;			/* chunks for publications, linked */
	int			nspare;
	int64		history_bytes;	/* not yet in LbSharedState.history_bytes */
}			pg_attribute_aligned(PG_CACHE_LINE_SIZE)
LbStripe;

/*
 * The definition of a board or a family in shared memory.  Its memory is
 * type-stable: it is only ever used for another LbSharedBoard.  So a backend
 * can keep its address, and see by the generation whether it is still the same
 * definition.  A generation ends under all stripes' locks and the mutex, so
 * each of these is enough to rely on it.
 */
typedef struct LbSharedBoard
{
	/* In the directory's list and hash tables; directory's lock. */
	dlist_node	node;
	dlist_node	node_by_id;
	dlist_node	node_by_source;
	dlist_node	node_by_catalog;
	uint64		generation;		/* 0: not in use */

	/* Fixed while the generation lasts. */
	Oid			database;
	Oid			catalog;		/* the lb_board it is recorded in */
	int32		id;				/* lb_board.id */
	Oid			source;
	uint32		fingerprint;	/* of what is recorded */
	LbAccount  *account;
	LbShape		shape;			/* of the keys */
	bool		family;
	char		name[NAMEDATALEN];

	/*
	 * A row may have, or have had, a score or a tie-breaker of -0, which is
	 * equal to 0 and has the same word: see lb_is_unsure().  Set before the
	 * row's change is published, or its build installed, and never cleared.
	 */
	bool		negative_zero;

	int64		taken;			/* bytes of all its boards, with publications;
								 * arena's lock */
	int64		grown_from;		/* taken at the launcher's last warning, or
								 * after the build; -1 if not known.  For the
								 * launcher alone */

	/*
	 * The state of the board and of its build: see state.c, which alone
	 * writes it, under the mutex.
	 */
	pg_atomic_uint32 state;

	/* Transactions whose changes the ledger does not hold: first and last. */
	LbUnknown	unknown;

	/*
	 * How many of these are between their PRE_COMMIT and the release of their
	 * locks.  Caches of other processes may not reflect their DDL yet.
	 */
	pg_atomic_uint32 nunknown;

	/*
	 * leaderboard.database_memory in the last session that published, for
	 * processes that are connected to no database.
	 */
	pg_atomic_uint32 memory_kb;

	/* Stripes that the applier is requested for, a bit each: request.c. */
	pg_atomic_uint32 requested;
	struct LbSharedBoard *next_requested;

	pg_atomic_uint64 build_done;	/* rows, for lb_stat_board */
	pg_atomic_uint64 build_total;
	pg_atomic_uint32 queue_lost;	/* the running build has to start over */
	pg_atomic_uint32 trim;		/* the launcher should trim the histories */
	pg_atomic_uint32 nprepared; /* publications of prepared transactions */
	pg_atomic_uint64 off_board; /* of all boards; for the planner */
	pg_atomic_uint64 looked;	/* when maintenance last read the whole table */
	pg_atomic_uint64 scan_began;	/* when it began to read it, 0: it does
									 * not */
	pg_atomic_uint32 scan_block;	/* where it goes on */

	/* Counters of reads that have found no live board. */
	pg_atomic_uint64 counters[LB_NCOUNTERS];

	ConditionVariable changed;	/* state, attempts, large publications */

	/* What belongs to the state; state.c alone writes it. */
	slock_t		mutex;			/* writes to state, and all of the below */
	int			builder;		/* pid of the worker that builds, or 0 */
	uint32		attempts;		/* builds that ended, either way */
	uint32		failures;		/* since the last one that succeeded */
	TimestampTz build_start;	/* of the last one */
	int64		failure_took;	/* its microseconds, if it has failed */
	double		build_seconds;	/* of the last one that succeeded */
	char		reason[LB_MAX_REASON];	/* why it is not ready */
	bool		passing;		/* a build may succeed later by itself */
	bool		awaiting;		/* ... when certain transactions have ended */
	uint64		refused_at;		/* leaderboard.memory when it was used up, if
								 * that is the reason; else 0 */
	uint64		limited_at;		/* likewise leaderboard.database_memory */
	bool		log_reason;		/* the launcher must log that */
	bool		release;		/* the launcher must free the indexes */

	LbStripe	stripes[LB_STRIPES];
} LbSharedBoard;

/* A definition, which is gone once its generation has changed. */
typedef struct LbSharedRef
{
	LbSharedBoard *shared;		/* NULL: not attached */
	uint64		generation;
} LbSharedRef;

#define LB_BOARD_ORDER 1

StaticAssertDecl(sizeof(LbLiveBoard) <= LB_CHUNK_SIZE << LB_BOARD_ORDER,
				 "a board fits its chunk");
StaticAssertDecl(sizeof(LbSharedBoard) <= LB_PAGE_SIZE, "a definition fits a page");

/*
 * Tables of the extension of which a database notes when they were last read.
 */
#define LB_LOOKED_TABLES 4

/* The account of a database.  Never freed, so that pointers stay valid. */
#define LB_MAX_DATABASES 256
typedef struct LbDatabase
{
	Oid			database;		/* InvalidOid: free */
	LbAccount	account;
	LbUnknown	unknown;		/* as in LbSharedBoard, for all its
								 * definitions */
	TimestampTz looked[LB_LOOKED_TABLES];	/* when maintenance last read such
											 * a table to its end, or 0 */
} LbDatabase;

/* Chains of each hash table of the directory. */
#define LB_DIRECTORY_BUCKETS 2048

/* Databases that the launcher is to have visited. */
#define LB_MAX_VISITS 16
typedef struct LbVisits
{
	slock_t		mutex;
	int			n;				/* LB_MAX_VISITS + 1: all databases */
	Oid			databases[LB_MAX_VISITS];
} LbVisits;

/*
 * What a primary feeds its standbys, and what a standby knows: see
 * feed/README.  Here since shared memory is set up here.
 */
typedef struct LbFeed
{
	bool		initialized;
	pg_atomic_uint32 feeding;	/* transactions write what they change to WAL */
	pg_atomic_uint64 since;		/* the full xid from which on they do; 0:
								 * since the server has started */
	pg_atomic_uint32 state;		/* LbFeedState, of a standby */
	pg_atomic_uint64 state_since;	/* TimestampTz */
	pg_atomic_uint32 anew;		/* how often a standby has begun to follow */
	pg_atomic_uint64 messages;	/* written, or replayed */
	pg_atomic_uint64 bytes;
	LbVisits	visits;			/* see lb_want_visit() */
	slock_t		mutex;			/* of all below */
	int64		lag;			/* microseconds from the last commit with
								 * changes to its settling, on a standby */
	TimestampTz settled;		/* when that was; 0: never */
} LbFeed;

/*
 * The last error of a subscription of logical replication, of any database:
 * see admin/apply_error.c.
 */
#define LB_MAX_APPLY_ERRORS 32
typedef struct LbApplyError
{
	Oid			subscription;	/* InvalidOid: free */
	Oid			relid;			/* the table that was being copied, if any */
	XLogRecPtr	lsn;			/* of the last message that the worker got */
	TimestampTz at;
	bool		conflict;		/* it comes back until someone acts */
	char		message[256];	/* cut */
} LbApplyError;

/* The fixed part of shared memory. */
typedef struct LbSharedState
{
	LWLock		directory_lock; /* the lists of definitions, databases */
	dlist_head	boards;			/* in order of their generations */
	dlist_head	free_boards;
	dlist_head	boards_by_id[LB_DIRECTORY_BUCKETS]; /* and database */
	dlist_head	boards_by_source[LB_DIRECTORY_BUCKETS];
	dlist_head	boards_by_catalog[LB_DIRECTORY_BUCKETS];
	uint64		next_generation;
	int			stripe_tranche; /* of the locks of all stripes */

	/*
	 * The next full xid when the launcher first ran.  Changes of transactions
	 * that were prepared before are in no list.
	 */
	pg_atomic_uint64 first_xid;
	LbArena		arena;
	LbLock		arena_lock;		/* behind the numbers that it protects */
	LbDatabase	databases[LB_MAX_DATABASES];
	pg_atomic_uint32 builds_begun;	/* of all boards, and those that ended */
	pg_atomic_uint32 builds_ended;
	pg_atomic_uint32 launcher_pid;
	Latch	   *launcher_latch; /* set while launcher_pid is */
	pg_atomic_uint32 follows;	/* a launcher has run on a standby, and none
								 * has done yet what a promotion asks for */
	pg_atomic_uint32 applier_pid;	/* 0: each settle applies backlogs itself */
	Latch	   *applier_latch;	/* set while applier_pid is */
	pg_atomic_uint64 requested; /* address of the first LbSharedBoard that the
								 * applier is requested for; see request.c */
	pg_atomic_uint64 versions;	/* where the next board's versions start */
	pg_atomic_uint64 history_bytes; /* chunks in histories */
	pg_atomic_uint32 histories_full;	/* the launcher should look through
										 * all */
	pg_atomic_uint64 horizon;	/* a full xid: every snapshot sees all
								 * transactions before it */
	pg_atomic_uint32 xid_wanted;	/* see lb_want_xid() */
	LbVisits	failed_visits;	/* see lb_visit_has_failed() */
	pg_atomic_uint32 visited;	/* the database that is in maintenance; that
								 * and these are in workers/turn.h */
	pg_atomic_uint32 visit_state;	/* LbVisitState */
	pg_atomic_uint32 visit_task;
	pg_atomic_uint32 visit_step;
	pg_atomic_uint32 visit_limit;
	pg_atomic_uint64 warn_at;	/* bytes in use at which the launcher warns */
	LbFeed		feed;
	slock_t		watch_mutex;	/* databases that have watches; see watch.c */
	int			nwatching;
	Oid			watching[LB_MAX_DATABASES];
	slock_t		apply_mutex;
	LbApplyError apply_errors[LB_MAX_APPLY_ERRORS];
} LbSharedState;

/* NULL unless the library was preloaded. */
extern LbSharedState *lb_shared;

/* Settings: leaderboard.memory, .max_memory and .database_memory. */
extern int	lb_memory_kb;
extern int	lb_max_memory_kb;
extern int	lb_database_memory_kb;

/* Request the shared memory, and set it up when the server starts. */
extern void lb_shared_init(void);

/*
 * Raise ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if the library was not
 * preloaded.
 */
extern void lb_require_preload(void);

/*
 * Where a definition's memory comes from.  The limit is this process's
 * setting; in a process without a database, that of the session that published
 * last.
 */
extern LbMem lb_mem(LbSharedBoard *shared);

/*
 * The next full xid, read at once without XidGenLock: the caller needs a value
 * at least as high as the transaction saw that led here, and the locks in
 * between are barriers.
 */
static inline uint64
lb_next_xid(void)
{
	return *(volatile uint64 *) &LB_TRANSAM->nextXid.value;
}

/* Wake the launcher, if there is one.  Safe after the commit record. */
extern void lb_wake_launcher(void);

/*
 * Let the launcher complete an xid, after a floor was raised to the next xid.
 * Otherwise no new snapshot would be above that floor on an idle server with
 * an old open transaction.  Never raises.
 */
extern void lb_want_xid(void);

/*
 * Tries of a writer before it sleeps, which take about as long as applying
 * some entries of a backlog; and of a reader before it goes ahead of waiting
 * writers.
 */
#define LB_WRITE_SPINS 500
#define LB_READ_SPINS 100

/*
 * Lock a stripe to settle or to publish.  When an LWLock is released, the
 * first process that asks gets it.  In a statement with many reads that is the
 * same reader again and again, while a writer that slept is still waking up.
 * So a writer spins for a while before it sleeps, and counts itself in
 * nwaiting.
 */
static inline void
lb_lock_to_write(LbStripe *stripe)
{
	int			spins = 0;

	if (LWLockConditionalAcquire(&stripe->lock, LW_EXCLUSIVE))
		return;
	pg_atomic_fetch_add_u32(&stripe->nwaiting, 1);
	while (!LWLockConditionalAcquire(&stripe->lock, LW_EXCLUSIVE))
	{
		pg_spin_delay();
		if (++spins < LB_WRITE_SPINS)
			continue;
		LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
		break;
	}
	pg_atomic_fetch_sub_u32(&stripe->nwaiting, 1);
}

/* Let waiting writers of the stripe go first.  Its lock is free. */
static inline void
lb_yield_to_writers(LbStripe *stripe)
{
	for (int spins = 0; spins < LB_READ_SPINS &&
		 pg_atomic_read_u32(&stripe->nwaiting) > 0; spins++)
		pg_spin_delay();
}

/*
 * Lock a stripe to read.  With again, the caller has just read it, and yields
 * to waiting writers.
 */
static inline void
lb_lock_to_read(LbStripe *stripe, bool again)
{
	if (again)
		lb_yield_to_writers(stripe);
	LWLockAcquire(&stripe->lock, LW_SHARED);
}

/*
 * Whether a generation has not ended.  The caller holds a stripe's lock, so
 * that the answer holds as long as the lock.
 */
static inline bool
lb_shared_board_is(const LbSharedBoard *shared, uint64 generation)
{
	return shared->generation == generation;
}

#endif							/* LB_SHARED_H */
