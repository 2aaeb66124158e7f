/*-------------------------------------------------------------------------
 *
 * board.h
 *	  Definitions of boards, and the directory of live boards.
 *
 * Lock order: the directory's lock, then one stripe's lock (several only by a
 * build, in ascending order), then the arena's lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BOARD_H
#define LB_BOARD_H

#include "postgres.h"

#include "access/transam.h"
#include "lib/ilist.h"
#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/s_lock.h"
#include "storage/spin.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"
#include "utils/timestamp.h"

#include "boards/keys.h"
#include "index/skiplist.h"
#include "util/lock.h"

struct TupleTableSlot;

/* A recorded board's name fits a name; a value of a family may be longer. */
#define LB_MAX_NAME (NAMEDATALEN - 1)

/*
 * The longest value of a board column, in bytes, that gets an index.  Boards
 * with longer names are answered by their queries.
 */
#define LB_MAX_VALUE 1024

typedef enum LbMethod
{
	LB_ROW_NUMBER,
	LB_RANK,
	LB_DENSE_RANK
} LbMethod;

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
	LB_CAUSE_OWN_CHANGES,		/* own changes that cannot be told yet */
	LB_CAUSE_UNSETTLED,			/* changes of others that cannot be told yet */
	LB_CAUSE_LIMIT,				/* a name or a result too long for the index */
	LB_NCAUSES
} LbCause;

/*
 * What lb_board records of a board, resolved against its source table.  Kept
 * in a cache of the backend; valid until the next invalidation, so look it up
 * again after anything that can process one.
 */
typedef struct LbDefinition
{
	bool		resolved;		/* against the source as it is now */
	Oid			catalog;		/* the lb_board it is recorded in */
	int32		id;				/* lb_board.id */
	char		name[NAMEDATALEN];
	Oid			source;
	Oid			owner;			/* of the source */
	char		relkind;
	char	   *source_name;	/* qualified and quoted, for the queries ... */
	char	   *from_name;		/* ... without what inherits from it */
	char		member[NAMEDATALEN];
	AttrNumber	member_attno;
	Oid			member_type;
	int			ncolumns;		/* of rank_by */
	LbRankColumn columns[LB_MAX_RANK_COLUMNS];
	bool		family;
	char		board_column[NAMEDATALEN];	/* of a family */
	AttrNumber	board_attno;
	Oid			board_type;
	char		ranked_if[NAMEDATALEN]; /* empty if none */
	AttrNumber	ranked_attno;	/* 0 if none */
	LbMethod	method;

	/* Of the index. */
	uint32		fingerprint;	/* of all that its keys depend on */
	int			member_words;
	int			width;			/* words of a key */
	bool		captured;		/* all triggers are there and enabled */
	bool		keeps_rows;		/* a trigger may keep a row from being written */
	bool		row_security;	/* the source has row-level security */
	bool		parts_valid;	/* of a partitioned source: */
	int			nparts;
	Oid		   *parts;			/* all below it, in order of their OIDs */
	const char *problem;		/* why no index can be kept, or NULL */
	bool		misfit;			/* ... and there is no query either */
	struct LbSharedBoard *shared;	/* in shared memory, or NULL until needed */
	uint64		generation;		/* of shared */
	Oid			checked_user;	/* whose privileges were last looked up ... */
	bool		checked_ok;		/* ... and what came out */
} LbDefinition;

/*
 * The text of a board value as it stands in a board's name: the value of a
 * text column itself, of an integer column its decimal digits.
 */
typedef struct LbValue
{
	int			len;
	const char *data;
} LbValue;

/* Stripes of a family's boards, a lock each. */
#define LB_STRIPES 8

/* Length of a reason shown in lb_stat_board, terminator included. */
#define LB_MAX_REASON 128

typedef enum LbState
{
	LB_BUILDING,				/* no index yet; its build is asked for */
	LB_READY,					/* the index answers */
	LB_OFFLINE					/* no index until somebody rebuilds it */
} LbState;

/* What lb_stat_board counts, beside the causes. */
typedef enum LbCounter
{
	LB_COUNT_CHANGES = LB_NCAUSES,	/* rows settled */
	LB_COUNT_INDEX_READS,
	LB_NCOUNTERS
} LbCounter;

#define LB_INLINE_VALUE 64

/*
 * A range of full xids in which all transactions are whose changes nobody has
 * kept; zero if there is none.
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
 * are full xids.  A snapshot is new enough if it was taken after that, or sees
 * all of these transactions anyway.
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
 * A live board: a chunk of the arena, reachable through its definition's
 * stripe, under whose lock it is (the counters are added to atomically under
 * the shared lock).
 */
typedef struct LbLiveBoard
{
	LbIndex		index;
	dlist_head	pending;		/* publications not settled, oldest first */
	dlist_head	history;		/* settled ones, in the order of settling */
	LbFloor		floor;			/* of what has left the history */
	uint64		version;		/* changes with the two lists and the index;
								 * never the same again, not even of another
								 * board */
	uint64		applied;		/* what settled up to this version is in the
								 * index */
	uint32		backlog;		/* how many entries settled since */
	LbRef		queue_first;	/* settled while a build is running */
	LbRef		queue_last;
	uint32		hash;			/* of the value */
	uint32		nsettling;		/* large publications being settled now */
	uint32		value_len;
	LbRef		value_chunk;	/* value, where it is longer than inline */
	char		value[LB_INLINE_VALUE];
	pg_atomic_uint64 counters[LB_NCOUNTERS];
} LbLiveBoard;

/* A share of the boards of a definition, in a cache line of its own. */
typedef struct LbStripe
{
	LWLock		lock;			/* all below, and the boards themselves */
	pg_atomic_uint32 nwaiting;	/* backends about to write */
	bool		queueing;		/* a build wants what is settled from now on */
	bool		prefetching;	/* a process applies part of a backlog and has
								 * released the lock to prefetch: others apply
								 * all of a backlog or nothing */
	uint32		requested;		/* hash of the board whose backlog the applier
								 * is requested to apply, while
								 * LbSharedBoard.requested has this stripe */
	LbFloor		floor;			/* of boards that were given back */
	LbRef		single;			/* the board, unless a family */
	LbHash		boards;			/* of a family: hash of value -> board */
	LbRef		spare;			/* chunks for publications, linked */
	int			nspare;
	int64		history_bytes;	/* not yet in LbShared.history_bytes */
}			pg_attribute_aligned(PG_CACHE_LINE_SIZE)
LbStripe;

/*
 * The definition of a board or a family in shared memory.  Its memory is
 * type-stable: once taken it is only ever used for another LbSharedBoard, so that a
 * backend can keep its address and see by the generation whether it is still
 * the one it meant.  The generation changes only under all stripes' locks.
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
	uint8		width;
	uint8		member_words;
	bool		family;
	char		name[NAMEDATALEN];

	int64		taken;			/* bytes of all its boards, with publications;
								 * arena's lock */
	int64		grown_from;		/* what that was when the launcher warned
								 * last, or after the build; -1 if not known.
								 * The launcher's alone */

	/*
	 * LbState.  Becomes LB_READY under all stripes' exclusive locks; what is
	 * offline is said without one.
	 */
	pg_atomic_uint32 state;

	/* Transactions whose changes the ledger does not hold: first and last. */
	LbUnknown	unknown;

	/*
	 * How many of these are between their PRE_COMMIT and the release of their
	 * locks: what others have in their caches may be of before.
	 */
	pg_atomic_uint32 nunknown;

	/*
	 * leaderboard.database_memory as who published last has it, for processes
	 * that are in no database.
	 */
	pg_atomic_uint32 memory_kb;

	/* Stripes that the applier is requested for, one bit each: request.c. */
	pg_atomic_uint32 requested;
	struct LbSharedBoard *next_requested;

	pg_atomic_uint64 build_done;	/* rows, for lb_stat_board */
	pg_atomic_uint64 build_total;
	pg_atomic_uint32 queue_lost;	/* the running build must start over */
	pg_atomic_uint32 trim;		/* the launcher is to trim the histories */
	pg_atomic_uint32 nprepared; /* publications of prepared transactions */
	pg_atomic_uint64 looked;	/* when maintenance last read all of the table */

	/* Counters of reads that found no live board. */
	pg_atomic_uint64 counters[LB_NCOUNTERS];

	ConditionVariable changed;	/* state, attempts, large publications */

	slock_t		mutex;			/* the fields below */
	bool		wanted;			/* somebody asked for a build */
	int			builder;		/* pid of the worker building it, or 0 */
	uint32		attempts;		/* builds that ended, either way */
	bool		failed;			/* ... and how the last one did */
	bool		retry;			/* OFFLINE for a passing reason */
	bool		awaiting;		/* ... the end of transactions */
	bool		release;		/* the indexes' memory is to be given back */
	uint64		refused_at;		/* not 0: OFFLINE since leaderboard.memory is
								 * used up, which was this limit */
	bool		tell;			/* the log is to be told that it is OFFLINE */
	double		build_seconds;	/* of the last one that succeeded */
	TimestampTz build_start;
	char		reason[LB_MAX_REASON];

	LbStripe	stripes[LB_STRIPES];
} LbSharedBoard;

#define LB_BOARD_ORDER 1

StaticAssertDecl(sizeof(LbLiveBoard) <= LB_CHUNK_SIZE << LB_BOARD_ORDER,
				 "a board fits its chunk");
StaticAssertDecl(sizeof(LbSharedBoard) <= LB_PAGE_SIZE, "a definition fits a page");

/* Accounts of databases; never freed, so pointers stay good. */
#define LB_MAX_DATABASES 256
typedef struct LbDatabase
{
	Oid			database;		/* InvalidOid: free */
	LbAccount	account;
	LbUnknown	unknown;		/* as in LbSharedBoard, for all its
								 * definitions */
} LbDatabase;

/* Chains of each hash table of the directory. */
#define LB_DIRECTORY_BUCKETS 2048

/* The fixed part of shared memory. */
typedef struct LbShared
{
	LWLock		directory_lock; /* the lists of definitions, databases */
	dlist_head	defs;			/* in order of their generations */
	dlist_head	free_defs;
	dlist_head	defs_by_id[LB_DIRECTORY_BUCKETS];	/* and database */
	dlist_head	defs_by_source[LB_DIRECTORY_BUCKETS];
	dlist_head	defs_by_catalog[LB_DIRECTORY_BUCKETS];
	uint64		next_generation;

	/*
	 * Full xid that was next when the launcher first ran: prepared
	 * transactions from before may have changes that nobody has captured.
	 */
	pg_atomic_uint64 first_xid;
	LbArena		arena;
	LbLock		arena_lock;		/* behind the numbers that it protects */
	LbDatabase	databases[LB_MAX_DATABASES];
	pg_atomic_uint32 launcher_pid;
	Latch	   *launcher_latch; /* set while launcher_pid is */
	pg_atomic_uint32 applier_pid;	/* 0: each settle applies backlogs itself */
	Latch	   *applier_latch;	/* set while applier_pid is */
	pg_atomic_uint64 requested; /* address of the first LbSharedBoard that the
								 * applier is requested for; see request.c */
	pg_atomic_uint64 versions;	/* where the next board's versions start */
	pg_atomic_uint64 history_bytes; /* chunks in histories */
	pg_atomic_uint32 histories_full;	/* the launcher is to look through all */
	pg_atomic_uint64 horizon;	/* full xid before which all snapshots see all */
	pg_atomic_uint32 xid_wanted;	/* see lb_want_xid() */
	pg_atomic_uint64 warn_at;	/* bytes used at which the log is told */
	slock_t		watch_mutex;	/* databases that have watches; see watch.c */
	int			nwatching;
	Oid			watching[LB_MAX_DATABASES];
} LbShared;

/* NULL unless the library was preloaded. */
extern LbShared *lb_shared;

/*
 * A floor was raised to the next xid.  On an idle server with an old open
 * transaction, the snapshots that follow would not get above it: have the
 * launcher complete an xid.  Never raises.
 */
extern void lb_want_xid(void);

/*
 * Tries before a writer goes to sleep, about as long as it takes to bring in some
 * entries of a backlog; and before a reader goes ahead.
 */
#define LB_WRITE_SPINS 500
#define LB_READ_SPINS 100

/*
 * Lock a stripe to settle or to publish.  An LWLock that is released goes to
 * whoever comes next, which in the midst of a statement with many reads is the
 * same reader again and again, while a writer that slept is still waking up.
 * So writers try for a while, and say so.
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

/* Let backends go first that wait to write to the stripe, whose lock is free. */
static inline void
lb_yield_to_writers(LbStripe *stripe)
{
	for (int spins = 0; spins < LB_READ_SPINS &&
		 pg_atomic_read_u32(&stripe->nwaiting) > 0; spins++)
		pg_spin_delay();
}

/*
 * Lock a stripe to read.  With again, the caller has just read it, and lets
 * writers go first.
 */
static inline void
lb_lock_to_read(LbStripe *stripe, bool again)
{
	if (again)
		lb_yield_to_writers(stripe);
	LWLockAcquire(&stripe->lock, LW_SHARED);
}

/* Settings. */
extern int	lb_memory_kb;
extern int	lb_max_memory_kb;
extern int	lb_database_memory_kb;
extern int	lb_not_ready;
extern int	lb_offline;
extern bool lb_enable_index;
extern int	lb_wait_timeout_ms;
extern int	lb_history_size;
extern int	lb_build_workers;
extern int	lb_unknown_board;

enum
{
	LB_UNKNOWN_NOTICE,
	LB_UNKNOWN_ERROR,
	LB_UNKNOWN_IGNORE
};

enum
{
	LB_POLICY_WAIT,
	LB_POLICY_QUERY,
	LB_POLICY_ERROR
};

/* What a board's name leads to. */
typedef struct LbTarget
{
	LbDefinition *defn;
	bool		has_value;		/* a family's board */
	LbValue		value;			/* points into the name or the row */
	uint32		hash;			/* of the value */
	int			stripe;
	int			prefix_len;		/* what is before the colon of a name that is
								 * no family's, and so went to "*"; 0 if it is
								 * not so */
} LbTarget;

/* leaderboard.c */

/*
 * Raise ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE unless the library was
 * preloaded.
 */
extern void lb_require_preload(void);

/*
 * Where a definition's memory comes from, with this process's limit, or if it is
 * in no database, that of who published last.
 */
extern LbMem lb_mem(LbSharedBoard *shared);

/* Wake the launcher, if there is one.  Safe after the commit record. */
extern void lb_wake_launcher(void);

/* board.c: definitions */

/* The triggers that every source has, by the names that we give them. */
#define LB_ROW_TRIGGER "leaderboard_capture"
#define LB_TRUNCATE_TRIGGER "leaderboard_capture_truncate"

/* The extension as this database has it. */
typedef struct LbCatalog
{
	Oid			extension;
	Oid			schema;
	Oid			lb_board;		/* relation */
	Oid			capture;		/* function lb_capture */
	Oid			set_updated_at; /* function lb_set_updated_at */
	bool		version_ok;		/* script and library are of one version */
} LbCatalog;

/*
 * The catalog entry, or NULL if the database does not have the extension.
 * Valid until the next invalidation.
 */
extern const LbCatalog *lb_catalog(void);

/* Raise 55000 if script and library are of different versions. */
extern void lb_require_version(void);

/*
 * The definition a board's name leads to, with its source locked in
 * AccessShareLock to the end of the transaction and resolved.  Raises
 * ERRCODE_UNDEFINED_OBJECT and what locking can raise.  With a name that
 * names a family itself, value is absent; callers that need a board raise.
 * A name that no board has but a window is taken for the window's key now; the
 * value then is in the current memory context.
 */
extern void lb_find_target(const char *name, int len, LbTarget *target);

/*
 * The same without a look at the source: nothing is locked or resolved, and a
 * value of an integer column may be spelled in any way.  Returns false if there
 * is no such board.
 */
extern bool lb_look_up_name(const char *name, int len, LbTarget *target);

/*
 * A number that changes with what lb_board says and what it has been resolved
 * to: texts that were made from definitions hold as long as it is the same.
 */
extern uint64 lb_defns_generation(void);

/* All definitions on a source, resolved; the source must be locked. */
extern int	lb_defns_of(Oid source, LbDefinition ***defns);

/* The one of these that a catalog has by that number, resolved, or NULL. */
extern LbDefinition *lb_defn_of(Oid source, Oid catalog, int32 id);

/*
 * Have lb_board be read anew by the next caller that asks.  For those who know of a
 * transaction that has ended before its invalidations come in.
 */
extern void lb_forget_defns(void);

/* The definition that is recorded by that number, not resolved, or NULL. */
extern LbDefinition *lb_defn_by_id(int32 id);

/*
 * Read the definition that is recorded by that very name from lb_board, in the
 * current memory context and not resolved, or NULL.  For those who have just
 * written to it, or are about to: a look at one row where the cache would have
 * to look at all.
 */
extern LbDefinition *lb_read_defn(const char *name);

/* Whether others than a recorded definition are on its source. */
extern bool lb_has_others(const LbDefinition *defn);

/*
 * Resolve a definition against its source, which must be locked.  Raises
 * ERRCODE_UNDEFINED_TABLE if that is gone.
 */
extern void lb_resolve_defn(LbDefinition *defn);

/*
 * All definitions that rows of rel belong to, which is a source or a partition
 * of one.  For a partition they are copies, with its column numbers.  rel must
 * be locked.
 */
extern int	lb_defns_of_rows(Relation rel, LbDefinition ***defns);

/*
 * Look up the partitions of a partitioned source, if that is not known, and then
 * lock them in AccessShareLock to the end of the transaction.  Returns false if,
 * without wait, a lock was not to be had.  The source must be locked.
 *
 * So a read mostly locks the source alone: what others do to a partition
 * meanwhile gets into the board with their commit.
 */
extern bool lb_resolve_parts(LbDefinition *defn, bool wait);

/* Problems of a definition that can be told apart. */
extern const char lb_collation_problem[];
extern const char lb_partition_problem[];
extern const char lb_engine_problem[];
extern const char lb_index_problem[];

/*
 * Raise an error if a column of a resolved definition is missing or of another
 * type: then there is not even a query.
 */
extern void lb_require_fit(const LbDefinition *defn);

/* Whether relid is among the partitions found. */
extern bool lb_is_part(const LbDefinition *defn, Oid relid);

/*
 * A copy of a resolved definition with the column numbers of a partition, in
 * the current memory context.
 */
extern LbDefinition *lb_part_defn(const LbDefinition *defn, Relation part);

/* The definition that is recorded by that very name, not resolved, or NULL. */
extern LbDefinition *lb_find_defn(const char *name);

/*
 * All definitions of the database in the order of their names, not resolved.
 * The array is in the current memory context.
 */
extern int	lb_all_defns(LbDefinition ***defns);

/* Number and source of a row of lb_board. */
extern int32 lb_recorded_id(struct TupleTableSlot *slot, Oid *source);

/* Name of a row of lb_board, palloc'd. */
extern char *lb_recorded_name(struct TupleTableSlot *slot);

/*
 * The trigger by which an open relation is captured: for each row, or for
 * TRUNCATE.  It is known by its function, capture, and by what it fires for, since
 * others may give it another name.  Of several it is the first in the order of
 * their names, as all who ask must agree on one.  With fires it must also be
 * enabled as ALWAYS.  NULL if there is none.
 */
extern const Trigger *lb_capture_trigger(Relation rel, Oid capture, bool row,
										 bool fires);

/*
 * Whether a source and its partitions have all capture triggers, and these
 * fire.  Takes no lock.
 */
extern bool lb_is_captured(Oid source);

/* Whether what is written to a table is captured, for whatever boards. */
extern bool lb_has_row_trigger(Oid source);

/* Whether a resolved definition uses this column of its source. */
extern bool lb_uses_column(const LbDefinition *defn, AttrNumber attno);

/* Whether the caller may read every column the board uses. */
extern bool lb_may_read(LbDefinition *defn);

/* Hash and stripe of a board's value. */
extern uint32 lb_value_hash(const LbValue *value);
static inline int
lb_value_stripe(bool family, uint32 hash)
{
	return family ? hash >> 29 : 0;
}

StaticAssertDecl(LB_STRIPES == 8, "lb_value_stripe uses three bits");

/* End of transaction: drop what earlier invalidations left behind. */
extern void lb_board_at_xact_end(void);

/* Install the invalidation callbacks, once per process. */
extern void lb_board_init(void);

/* board.c: directory */

/* Make the directory empty, in shared memory that nobody else can reach. */
extern void lb_directory_init(void);

/*
 * The shared definition of defn, entered if it is not there (create).  NULL
 * if it is not there, or if the arena is used up.  Never raises.  Takes the
 * directory's lock.
 */
extern LbSharedBoard *lb_shared_board_attach(LbDefinition *defn, bool create);

/* Whether shared is still what generation stands for; with a stripe's lock. */
static inline bool
lb_shared_board_is(const LbSharedBoard *shared, uint64 generation)
{
	return shared->generation == generation;
}

/*
 * Ask for a build and wake the launcher; with again, even if one is running or
 * done.  Never raises.
 */
extern void lb_shared_board_want_build(LbSharedBoard *shared,
									   uint64 generation, bool again);

/*
 * The reason to give when a definition's memory could not be had.  A board that
 * is offline for the first of the two is built again when the limit is raised.
 */
extern const char *lb_memory_reason(const LbSharedBoard *shared);

/*
 * Take the index out of service.  Caller holds a stripe's exclusive lock, or
 * knows that shared lives.  Never raises; memory is given back by the launcher.
 * retry says that the launcher may try again by itself; a build that says no
 * leaves it at what others have said since it began.
 */
extern void lb_shared_board_offline(LbSharedBoard *shared, const char *reason,
									bool retry);

/*
 * Say that the index serves.  Caller holds all stripes' exclusive locks.  Never
 * raises.
 */
extern void lb_shared_board_ready(LbSharedBoard *shared);

/*
 * The next build need not be put off since the last one has failed: what has made
 * it fail is being put right.  Never raises.
 */
extern void lb_shared_board_try_soon(LbSharedBoard *shared);

/*
 * Say why the last build has failed, without a change of the state.  Never
 * raises.
 */
extern void lb_shared_board_reason(LbSharedBoard *shared, const char *reason);

/* Remove a definition with its boards.  Never raises. */
extern void lb_shared_board_remove(LbSharedBoard *shared, uint64 generation);

/* Widen a range so that a transaction is in it. */
extern void lb_note_unknown(LbUnknown *unknown, FullTransactionId xid);

/*
 * Note that a transaction has changed rows of a board of the current database
 * that could not be entered in the directory.  Takes the directory's lock.
 */
extern void lb_note_unknown_here(FullTransactionId xid);

/*
 * Remove what the current database has of a number of lb_board, of a source, or
 * of lb_board, or remove all of a database.  Where there are many, the
 * directory's lock is let go of in between.  Never raises.
 */
extern void lb_shared_board_remove_id(Oid catalog, int32 id);
extern void lb_shared_board_remove_source(Oid source);
extern void lb_shared_board_remove_catalog(Oid catalog);
extern void lb_shared_board_remove_database(Oid database);

/*
 * Whether a relation of the current database is the source of definitions in
 * the directory, and whether it is the lb_board of some.  Takes the directory's
 * lock.
 */
extern void lb_shared_board_look_up(Oid relation, bool *source, bool *catalog);

/*
 * Call visit for every definition of the current database with this source, or
 * in this lb_board.  Holds the directory's lock.
 */
extern void lb_shared_board_visit(
								  Oid relation, void (*visit) (LbSharedBoard *shared, void *arg), void *arg);

/* Give back the memory of a definition's indexes; it must not be ready. */
extern void lb_shared_board_free_indexes(LbSharedBoard *shared,
										 uint64 generation);

/*
 * Empty all boards of a definition, which the transaction xid has truncated,
 * history included.  Never raises.
 */
extern void lb_shared_board_clear(LbSharedBoard *shared, uint64 generation,
								  FullTransactionId xid);

/*
 * Give back the histories that no snapshot needs any more, having brought in the
 * backlogs among them, and the family's boards that wait for that.  Returns
 * whether some are left.  Takes one stripe's lock after the other, each several
 * times if there is much to do.
 */
extern bool lb_shared_board_trim(LbSharedBoard *shared, uint64 generation);

/*
 * The live board of a value in a stripe, or NULL.  Needs the stripe's lock.
 */
extern LbLiveBoard *lb_live_board_find(LbSharedBoard *shared, LbStripe *stripe,
									   uint32 hash, const LbValue *value,
									   LbRef *ref);

/* The same, made if it is not there; NULL if memory is used up. */
extern LbLiveBoard *lb_live_board_make(LbSharedBoard *shared, LbStripe *stripe,
									   uint32 hash, const LbValue *value,
									   LbRef *ref);

/* A new board in a hash that no other process can reach yet. */
extern LbRef lb_live_board_new(const LbMem *mem, const LbSharedBoard *shared,
							   uint32 hash, const LbValue *value);

/* The value of a live board. */
extern LbValue lb_live_board_value(const LbLiveBoard *board);

/*
 * Give a family's board back if it is empty, nothing waits for it, and no
 * snapshot needs its history.  Needs
 * the stripe's exclusive lock.
 */
extern void lb_live_board_release(LbSharedBoard *shared, LbStripe *stripe,
								  LbRef ref);

/* Free a board and all that hangs on it, its publications excepted. */
extern void lb_live_board_free(const LbMem *mem, LbRef ref);

static inline LbLiveBoard *
lb_live_board_at(LbRef ref)
{
	return (LbLiveBoard *) lb_ptr(&lb_shared->arena, ref);
}

/*
 * Call visit for every live board of a stripe, whose lock is held, until it
 * returns false.
 */
extern void lb_stripe_walk(LbStripe *stripe, bool family,
						   bool (*visit) (uint32 hash, LbRef ref, void *arg),
						   void *arg);

#endif							/* LB_BOARD_H */
