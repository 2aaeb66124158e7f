/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  Definitions of boards: what lb_board records.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DEFINITION_H
#define LB_DEFINITION_H

#include "postgres.h"

#include "boards/keys.h"
#include "boards/method.h"
#include "util/compat.h"

struct LbSharedBoard;
struct TupleTableSlot;

/*
 * The longest name of a definition.  The value of a family's board may be
 * longer.
 */
#define LB_MAX_NAME (NAMEDATALEN - 1)

/*
 * What a read does without an index, as a setting or lb_board.offline says.
 */
typedef enum LbPolicy
{
	LB_POLICY_NONE,				/* lb_board.offline is null */
	LB_POLICY_WAIT,				/* leaderboard.not_ready only */
	LB_POLICY_QUERY,
	LB_POLICY_ERROR
} LbPolicy;

/*
 * Options (options.h), in the order of arguments of lb_create_board() and of
 * columns of lb_board.
 */
typedef enum LbOption
{
	LB_OPTION_MEMBER,
	LB_OPTION_RANK_BY,
	LB_OPTION_BOARD_COLUMN,
	LB_OPTION_METHOD,
	LB_OPTION_RANKED_IF,
	LB_OPTION_KEEPS,
	LB_OPTION_OFFLINE,
	LB_NOPTIONS
} LbOption;

/*
 * What lb_board records of a board, resolved against its source table.  It is
 * in a cache of the backend and valid until the next invalidation: look it up
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
	char	   *from_name;		/* ... without tables that inherit from it */
	int			nrank_by;		/* columns of rank_by */
	int			nmember;		/* those of the member; 0 only with counts */
	int			nboard;			/* board columns; 0 if it is no family */
	int			ncolumns;		/* all columns, in this order: those of
								 * rank_by, those of the member, the board
								 * columns, ranked_if */
	LbColumn   *columns;		/* in the memory of the definition */
	bool		plain_member;	/* one column of an integer type, shown as a
								 * bigint; known when resolved, likewise: */
	bool		plain_score;	/* of an integer type */
	bool		signed_zeros;	/* a column of rank_by can have -0 */
	bool		family;			/* has board columns */
	bool		has_ranked_if;
	bool		counts;			/* keeps the number of rows of each score, and
								 * not the members */
	bool		misfit;			/* there can be no defining query */
	bool		checked_ok;		/* what lb_may_read() found for checked_user */
	LbMethod	method;
	LbPolicy	offline;		/* of reads while the board is offline; none:
								 * leaderboard.offline decides */

	/* Of the index. */
	TransactionId xmin;			/* what has written the row of lb_board */
	uint32		fingerprint;	/* of everything that the keys depend on */
	LbShape		shape;			/* of a key, by the types of the columns; its
								 * width is 0 until it is settled */
	Oid			member_index;	/* a unique index on the member */
	bool		captured;		/* all triggers are there and enabled */
	bool		keeps_rows;		/* a trigger may prevent that a row is written */
	bool		row_security;	/* the source has row-level security */
	bool		unlogged;		/* the source is unlogged */
	bool		unlogged_parts; /* a partition is; looked up with parts */
	bool		parts_valid;	/* parts are looked up, and their triggers */
	Oid		   *parts;			/* of a partitioned source: all tables below
								 * it, ordered by OID */
	int			nparts;
	Oid			checked_user;	/* the role checked last by lb_may_read() */
	const char *problem;		/* why there can be no index, a constant, or
								 * NULL */
	struct LbSharedBoard *shared;	/* in shared memory, or NULL until needed */
	uint64		generation;		/* of shared */
} LbDefinition;

/*
 * Whether a definition is one of the cache.  Others are in the memory of a
 * caller.
 */
extern bool lb_is_cached_defn(const LbDefinition *defn);

static inline const LbColumn *
lb_score_column(const LbDefinition *defn)
{
	return &defn->columns[0];
}

/* The nmember columns of the member, if there are any. */
static inline const LbColumn *
lb_member_columns(const LbDefinition *defn)
{
	return &defn->columns[defn->nrank_by];
}

/* The member's only column. */
static inline const LbColumn *
lb_member_column(const LbDefinition *defn)
{
	Assert(defn->nmember == 1);
	return lb_member_columns(defn);
}

/*
 * The place among the member's columns of an attribute of the source; -1: it
 * is none of them.
 */
static inline int
lb_member_place(const LbDefinition *defn, AttrNumber attno)
{
	for (int i = 0; i < defn->nmember; i++)
	{
		if (lb_member_columns(defn)[i].attno == attno)
			return i;
	}
	return -1;
}

/*
 * The columns that the order of the rows is made of: those of rank_by, and the
 * member's.  A row with a null in one of them is off the board.
 */
static inline int
lb_nkey_columns(const LbDefinition *defn)
{
	return defn->nrank_by + defn->nmember;
}

/* Whether the index has members.  One that keeps counts has scores only. */
static inline bool
lb_has_members(const LbDefinition *defn)
{
	return !defn->counts;
}

/*
 * The columns whose words a key of the index has, the first of those above.
 */
static inline int
lb_nindex_columns(const LbDefinition *defn)
{
	return lb_has_members(defn) ? lb_nkey_columns(defn) : defn->nrank_by;
}

/* The nboard columns by whose values the boards of a family differ. */
static inline const LbColumn *
lb_board_columns(const LbDefinition *defn)
{
	return &defn->columns[lb_nkey_columns(defn)];
}

/* The only one; NULL if the definition is no family. */
static inline const LbColumn *
lb_board_column(const LbDefinition *defn)
{
	Assert(defn->nboard <= 1);
	return defn->family ? lb_board_columns(defn) : NULL;
}

/* The place of an attribute of the source among them; -1: it is none. */
static inline int
lb_board_place(const LbDefinition *defn, AttrNumber attno)
{
	for (int i = 0; i < defn->nboard; i++)
	{
		if (lb_board_columns(defn)[i].attno == attno)
			return i;
	}
	return -1;
}

/*
 * Whether a standby cannot read the source.  Partitions count once they are
 * looked up: lb_resolve_parts().
 */
static inline bool
lb_is_unlogged(const LbDefinition *defn)
{
	return defn->unlogged || defn->unlogged_parts;
}

/* Whether an expression stands in the place of a column. */
static inline bool
lb_has_expressions(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		if (defn->columns[i].expression != NULL)
			return true;
	}
	return false;
}

/*
 * Whether a definition, which is resolved, has an expression that may run code
 * which is not PostgreSQL's.
 */
extern bool lb_runs_others(const LbDefinition *defn);

/* The column of ranked_if, or NULL. */
static inline const LbColumn *
lb_ranked_if_column(const LbDefinition *defn)
{
	return defn->has_ranked_if ? &defn->columns[defn->ncolumns - 1] : NULL;
}

/* Whether ranked_if is a column, which can be set. */
static inline bool
lb_can_hide(const LbDefinition *defn)
{
	return defn->has_ranked_if &&
		lb_ranked_if_column(defn)->expression == NULL;
}

/*
 * Whether the definition is a family, resolved, with one board column, of
 * text.
 */
static inline bool
lb_has_text_boards(const LbDefinition *defn)
{
	return defn->nboard == 1 && lb_board_column(defn)->type != NULL &&
		lb_board_column(defn)->type->is_text;
}

/*
 * Make *copy a copy of a definition, with columns of its own in the current
 * memory context.
 */
extern void lb_copy_defn(LbDefinition *copy, const LbDefinition *defn);

/* The definition of that name, not resolved, or NULL.  Can raise. */
extern LbDefinition *lb_find_defn(const char *name);

/* The definition with that lb_board.id, not resolved, or NULL.  Can raise. */
extern LbDefinition *lb_defn_by_id(int32 id);

/*
 * All definitions of the database, ordered by name, not resolved.  Returns
 * their number.  The array is in the current memory context.  Can raise.
 */
extern int	lb_all_defns(LbDefinition ***defns);

/*
 * Read the definition of that name from lb_board, into the current memory
 * context and not resolved, or NULL.  For a caller that has just written to
 * lb_board or is about to: this reads one row, where the cache would have to
 * read all.
 */
extern LbDefinition *lb_read_defn(const char *name);

/*
 * Whether a row of lb_board has that number, also one that a transaction has
 * written which has not ended.
 */
extern bool lb_number_is_used(int32 id);

/* Whether there are other definitions on the source of a recorded one. */
extern bool lb_has_others(const LbDefinition *defn);

/*
 * The definitions on a source, ordered by name, not resolved.  Returns their
 * number.  The array is valid until lb_board is read again.  Can raise.
 */
extern int	lb_defns_on(Oid source, LbDefinition ***defns);

/*
 * Let the next look-up read lb_board again.  For a caller that knows that a
 * transaction has ended, but may not have received its invalidations.
 */
extern void lb_forget_defns(void);

/* Number and source of a row of lb_board. */
extern int32 lb_recorded_id(struct TupleTableSlot *slot, Oid *source);

/* Name of a row of lb_board, palloc'd. */
extern char *lb_recorded_name(struct TupleTableSlot *slot);

/*
 * Whether two rows of lb_board are of the same board with the same index: they
 * may differ in what reads do without it.
 */
extern bool lb_recorded_same_index(struct TupleTableSlot *a,
								   struct TupleTableSlot *b);

/* Read lb_board, unless the cache is valid.  Can raise. */
extern void lb_load_defns(void);

/*
 * Load the definitions without waiting for the lock of lb_board.  Returns
 * whether the cache is valid now.
 */
extern bool lb_try_load_defns(void);

/* Whether lb_board and the extension are still as they were read. */
extern bool lb_defns_valid(void);

/*
 * A number that changes when the definitions in the cache change, and when an
 * invalidation makes one unresolved.
 */
extern uint64 lb_defns_version(void);

/*
 * The definition whose name is the first len bytes of name, or NULL.  The
 * caller has called lb_load_defns().
 */
extern LbDefinition *lb_find_defn_len(const char *name, int len);

/*
 * Free a former name of a definition at the end of the transaction, if it is
 * in the memory of the cache.
 */
extern void lb_retire_name(char *name);

/* Note that a definition in the cache has a list of partitions from now on. */
extern void lb_defns_have_parts(void);

/* Whether relid is in the list of partitions of a definition. */
extern bool lb_is_part(const LbDefinition *defn, Oid relid);

/* Whether the current user may read every column that the board uses. */
extern bool lb_may_read(LbDefinition *defn);

/*
 * Raise 42501, as PostgreSQL does where the current user lacks privileges on
 * the board's table; the hint names those that the function needs.
 */
pg_noreturn extern void lb_denied(const LbDefinition *defn,
								  const char *privileges);

#endif							/* LB_DEFINITION_H */
