/*-------------------------------------------------------------------------
 *
 * spi.h
 *	  Statements that the library runs, as which role, and their plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SPI_H
#define LB_SPI_H

#include "executor/spi.h"
#include "utils/hsearch.h"

#include "boards/catalog.h"
#include "boards/definition.h"
#include "sql/args.h"
#include "sql/check.h"
#include "util/compat.h"
#include "util/user.h"

/*
 * A cursor option of the library's own statements, which the planner's hook
 * knows them by.  PostgreSQL and Citus have others.
 */
#define LB_CURSOR_OPT_OWN 0x40000000

/*
 * A statement whose plan is kept from call to call, in a static variable of
 * the code that runs it.
 */
typedef struct LbPlan
{
	SPIPlanPtr	plan;
	uint64		generation;		/* lb_defns_generation() of its text */
	uint64		key;			/* of what else the text depends on */
	int			running;		/* runs of it in progress; they nest */
	int			checked;		/* lb_own_exec(): generation of the plan that
								 * check_objects() has looked through */
} LbPlan;

/*
 * Plans that are kept by a key, in a static variable of the code that runs
 * them.
 */
typedef struct LbPlans
{
	const char *name;
	Size		keysize;		/* of keys, which are compared byte by byte */
	HTAB	   *hash;			/* NULL: none yet */
	uint64		generation;		/* lb_defns_generation() of all of them */
} LbPlans;

/* Makes the text of a statement, palloc'd.  Can raise. */
typedef char *(*LbPlanText) (const void *arg);

/*
 * The plan of a key, which is empty at first.  It is to be run at once: the
 * next call frees plans that are not running, if definitions have changed or
 * there are many.  Raises that memory is out.
 */
extern LbPlan *lb_plan_of(LbPlans *plans, const void *key);

/*
 * Run a statement between SPI_connect and SPI_finish, with the caller's
 * privileges.  If there is no plan for this key yet, text makes the text from
 * arg.  The text names two tables, table and other, each of which may be
 * InvalidOid.  The arguments have the same types at each call with the key;
 * LB_ARGS() makes them.  Returns the number of rows, which are in
 * SPI_tuptable.  Raises what the statement raises, and 40001 if a name has led
 * to another table: ALTER SCHEMA ... RENAME takes no lock that conflicts with
 * a lock on the table.
 */
extern uint64 lb_plan_exec(LbPlan *kept, uint64 key, LbPlanText text,
						   const void *arg, Oid table, Oid other, int nargs,
						   const LbArg *args);

/*
 * lb_plan_exec() of a statement that only reads, in the active snapshot.
 */
extern uint64 lb_plan_exec_read(LbPlan *kept, uint64 key, LbPlanText text,
								const void *arg, Oid table, int nargs,
								const LbArg *args);

/*
 * lb_plan_exec() of a text that is run once, planned for these values.  table
 * may be InvalidOid.
 */
extern uint64 lb_exec_once(const char *text, Oid table, int nargs,
						   const LbArg *args);

/*
 * Open a cursor for a text that is run once.  Raises what the parser raises,
 * and 40001 as above.
 */
extern Portal lb_open_cursor(const char *text, Oid table, int nargs,
							 const LbArg *args);

/*
 * Prepare a text that names a table, or none (InvalidOid), with the cursor
 * options.  Raises what the parser raises, and 40001 if the table has another
 * name by now.
 */
extern SPIPlanPtr lb_prepare(const char *text, Oid table, int nargs,
							 const Oid *types, int options);

/*
 * Whether a plan that has been run was made for a table among others, or
 * nothing was run.
 */
extern bool lb_plan_has(SPIPlanPtr plan, Oid table);

/*
 * Have PostgreSQL make a kept plan anew if a partition of this table is being
 * detached.  The plan has the partition or not, as the snapshot wanted with
 * which it was made; the next one may want it otherwise, and no invalidation
 * tells.  Can raise.
 */
extern void lb_refresh_plan(SPIPlanPtr plan, Oid table);

/* The text that a plan was made from.  It lives as long as the plan. */
extern const char *lb_plan_text(SPIPlanPtr plan);

/*
 * Take the line with our statement out of an error's context.  The lines of
 * the user's functions stay.
 */
extern void lb_hide_statement(ErrorData *error, const char *text);

/*
 * Whether an error says that a name in this text leads to no table.  If
 * something inside the statement raises the same error, such as a trigger of
 * the user's, the error carries another text.  So this one comes from parsing,
 * before anything was opened or pushed that would have to be undone.
 */
extern bool lb_is_missing_table(const ErrorData *error, const char *text);

/* The qualified name of a table, as SQL text, palloc'd; NULL if it is gone. */
extern char *lb_qualified_name(Oid table);

/* The owner of a table, partitioned or not; InvalidOid if it is none. */
extern Oid	lb_table_owner(Oid relid);

/* Raise 40001: the name of this table has led to another one. */
pg_noreturn extern void lb_wrong_table(Oid table);

/*
 * Switch to the role of a table's owner, for a statement that the owner has
 * not given but in which its code can run: triggers, index expressions,
 * policies.  It is a security-restricted operation, like index expressions in
 * VACUUM.  Such code cannot switch the role back, create temporary objects, or
 * leave a deferred trigger to the role that commits (42501).
 * lb_restore_user() undoes the settings that it changes.
 *
 * search_path stays the same if the current user has the owner's rights
 * anyway.  Otherwise it becomes pg_catalog, pg_temp, since the current user
 * could lead the owner's code to other objects.  In a background worker the
 * path is that of the database, which the database's owner can set; so there
 * it stays the same only for owners that are no superusers.
 *
 * Policies apply to the owner by FORCE ROW LEVEL SECURITY only.  With all_rows
 * they do not apply: for a current user to whom no policies apply.
 *
 * Can raise.  After an error lb_restore_user() is not needed: the end of the
 * transaction or subtransaction does the same.
 */
extern void lb_switch_to_owner(LbUser *saved, Oid owner, bool all_rows);

/*
 * Set the initially deferred constraints of a source and its partitions
 * IMMEDIATE until the end of the transaction: the owner's rights end with the
 * statement, so no check can be left to the commit.  Between SPI_connect and
 * SPI_finish.  Raises what a pending check raises.
 */
extern void lb_check_at_once(const LbDefinition *defn);

/*
 * Whether the current user is a superuser that does not own the source.  Code
 * of the owner must then run with the owner's rights, not with the
 * superuser's.
 */
extern bool lb_lends_no_rights(const LbDefinition *defn);

/*
 * Before a statement on a source for the current user: if
 * lb_lends_no_rights(), switch to the owner, without policies, and if the
 * statement writes, call lb_check_at_once() first.  Returns whether
 * lb_restore_user() must follow.  Between SPI_connect and SPI_finish; can
 * raise.
 */
extern bool lb_switch_from_superuser(LbUser *saved, const LbDefinition *defn,
									 bool writes);

/*
 * Switch to the extension's owner, for a statement whose text is this
 * library's own and that touches the extension's own tables only.  search_path
 * becomes pg_catalog, pg_temp.
 */
extern void lb_switch_to_extension(LbUser *saved, Oid owner);

/* The role that the extension's own tables belong to.  Can raise. */
extern Oid	lb_own_role(void);

/*
 * Whether a statement of lb_own_exec() is running, as the extension's owner.
 * A board's defining query can run functions of the user's.  So it must then
 * run as the owner of the board's table, and raises 42501 if policies apply to
 * that owner.
 */
extern bool lb_own_running(void);

/*
 * Run a statement on the extension's own tables, as their owner, with
 * search_path pg_catalog, pg_temp, and keep its plan.  text names tables as
 * @.lb_name.  Returns and raises as lb_plan_exec(), and 42501 if a name in it
 * has led to an object that belongs neither to PostgreSQL nor to the
 * extension.
 */
extern uint64 lb_own_exec(LbPlan *kept, const char *text, int nargs,
						  const LbArg *args);

/*
 * lb_own_exec() with a plan for these values, which is not kept: whether an
 * index serves to find old rows, for example, depends on how many there are.
 */
extern uint64 lb_own_exec_once(const char *text, int nargs,
							   const LbArg *args);

/*
 * lb_own_exec_once() in the newest snapshot, whatever the transaction's
 * isolation.
 */
extern uint64 lb_own_exec_latest(const char *text, int nargs,
								 const LbArg *args);

/*
 * A lock_timeout in milliseconds, at most most: shorter than deadlock_timeout,
 * so that the deadlock detector never cancels a session that waits for our
 * lock.
 */
extern int	lb_lock_timeout(int most);

/* The extension in this database; raises 55000 if it cannot be used. */
extern const LbCatalog *lb_require_catalog(void);

/*
 * The schema of the extension's internal functions, quoted.  Raises likewise.
 */
extern const char *lb_internal_schema(void);

/* The OID of one of the extension's own tables or indexes. */
extern Oid	lb_own_table(const char *name);

/* An array of values of a type; nulls may be NULL. */
extern Datum lb_make_array(Oid type, Datum *values, bool *nulls, int n);

/* Such an array as an argument. */
extern LbArg lb_arg_array(Oid type, Datum *values, bool *nulls, int n);

/* A list of strings as an array of text. */
extern LbArg lb_arg_text_list(const List *strings);

#endif							/* LB_SPI_H */
