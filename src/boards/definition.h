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

struct LbSharedBoard;
struct TupleTableSlot;

/* A recorded board's name fits a name; a value of a family may be longer. */
#define LB_MAX_NAME (NAMEDATALEN - 1)

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

/* The definition that is recorded by that very name, not resolved, or NULL. */
extern LbDefinition *lb_find_defn(const char *name);

/* The definition that is recorded by that number, not resolved, or NULL. */
extern LbDefinition *lb_defn_by_id(int32 id);

/*
 * All definitions of the database in the order of their names, not resolved.
 * The array is in the current memory context.
 */
extern int	lb_all_defns(LbDefinition ***defns);

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
 * The definitions on a source in the order of their names, not resolved; the
 * array is valid until lb_board is read again.
 */
extern int	lb_defns_on(Oid source, LbDefinition ***defns);

/*
 * Have lb_board be read anew by the next caller that asks.  For those who know of a
 * transaction that has ended before its invalidations come in.
 */
extern void lb_forget_defns(void);

/* Number and source of a row of lb_board. */
extern int32 lb_recorded_id(struct TupleTableSlot *slot, Oid *source);

/* Name of a row of lb_board, palloc'd. */
extern char *lb_recorded_name(struct TupleTableSlot *slot);

/* Have lb_board read, if need be; whether nothing was invalidated since. */
extern void lb_load_defns(void);
extern bool lb_defns_valid(void);

/*
 * A number that changes when lb_board is read anew with another outcome, or a
 * definition is not resolved any more.
 */
extern uint64 lb_defns_changes(void);

/* The recorded definition by the first len bytes of name, or NULL. */
extern LbDefinition *lb_find_defn_len(const char *name, int len);

/* Have a name that a definition had freed at the end of the transaction. */
extern void lb_retire_name(char *name);

/* A definition has got to know its partitions. */
extern void lb_defns_have_parts(void);

/* Whether relid is among the partitions found. */
extern bool lb_is_part(const LbDefinition *defn, Oid relid);

/* Whether the caller may read every column the board uses. */
extern bool lb_may_read(LbDefinition *defn);

#endif							/* LB_DEFINITION_H */
