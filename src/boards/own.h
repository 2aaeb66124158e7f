/*-------------------------------------------------------------------------
 *
 * own.h
 *	  Statements on the extension's own tables, and plans that are kept.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_OWN_H
#define LB_OWN_H

#include "executor/spi.h"

#include "boards/catalog.h"
#include "boards/definition.h"
#include "util/compat.h"

/*
 * A statement whose plan is kept from call to call, in a static variable.
 * generation says which state of the definitions its text was made from.
 */
typedef struct LbPlan
{
	SPIPlanPtr	plan;
	uint64		generation;
	uint64		key;			/* of what else the text depends on */
	int			running;		/* how often it is under way */
	int			checked;		/* lb_own_run: the plan that was found to
								 * refer to nothing of others', by its number */
} LbPlan;

/* The user and the settings before another user's rights were taken. */
typedef struct LbUser
{
	Oid			user;
	int			context;
	int			nestlevel;		/* of settings; 0 if they were not saved */
} LbUser;

/* Makes the text of a statement, palloc'd. */
typedef char *(*LbPlanText) (const void *arg);

/*
 * Run a statement between SPI_connect and SPI_finish, with the caller's
 * privileges.  text makes its text from arg when there is no plan for this key
 * yet; it names two tables, either of which may be InvalidOid, by their names.
 * Returns the number of rows; they are in SPI_tuptable.  Raises what the
 * statement raises, and 40001 if a name has led to another table: to rename a
 * schema takes no lock that a lock on the table would keep away.
 */
extern uint64 lb_plan_run(LbPlan *kept, uint64 key, LbPlanText text,
						  const void *arg, Oid table, Oid other, int nargs,
						  const Oid *types, Datum *values, const char *nulls);

/*
 * The same of a text that is run once, planned for these values.  table may be
 * InvalidOid.
 */
extern uint64 lb_run_once(const char *text, Oid table, int nargs,
						  const Oid *types, Datum *values);

/*
 * Prepare a text, which names a table, or InvalidOid, by its name, with options of
 * cursors.  Raises what the parser raises, and 40001 if the table has another name
 * by now.
 */
extern SPIPlanPtr lb_prepare(const char *text, Oid table, int nargs,
							 const Oid *types, int options);

/*
 * Whether a table is among those that a plan which has been run was made for, or
 * nothing was run.
 */
extern bool lb_plan_has(SPIPlanPtr plan, Oid table);

/* Raise 40001: a name has led to another table than this one. */
pg_noreturn extern void lb_wrong_table(Oid table);

/*
 * An LbPlanText: the text arg with the extension's schema for "@", where a dot
 * follows.  Raises as lb_require_catalog().
 */
extern char *lb_own_text(const void *arg);

/*
 * Go on with the rights of a table's owner, for a statement in which code of that
 * owner can run (triggers, index expressions, policies) but which the owner has not
 * given: in a security-restricted operation, as VACUUM runs index expressions.
 * Such code cannot change the role back, make temporary objects, or leave a
 * deferred trigger to the role that commits (42501).  What it sets is undone by
 * lb_restore_user().
 *
 * search_path stays what it was if the current user has the owner's rights
 * anyway; else it becomes pg_catalog, pg_temp, since the current user could lead
 * the owner's code to other objects.  A background worker has the path that the
 * database's owner has given to the database, so there it stays only for owners
 * that are no superusers.
 *
 * Policies apply to the owner by FORCE ROW LEVEL SECURITY only, and not with
 * all_rows: for a current user whom policies do not apply to.
 *
 * Can raise.  An error needs no lb_restore_user(): the end of the transaction
 * or subtransaction does the same.
 */
extern void lb_switch_to_owner(LbUser *saved, Oid owner, bool all_rows);

/*
 * Have the constraints of a source and its partitions that are initially deferred
 * checked at once, from here to the end of the transaction: an owner's rights end
 * with the statement, so nothing of it can be left to the commit.  Between
 * SPI_connect and SPI_finish.  Raises what a pending check raises.
 */
extern void lb_check_at_once(const LbDefinition *defn);

/*
 * Whether the current user is a superuser but does not own the source: then code
 * of the owner runs with the owner's rights, not with the superuser's.
 */
extern bool lb_lends_no_rights(const LbDefinition *defn);

/*
 * Before a statement of ours on a source, given by the current user: where
 * lb_lends_no_rights(), go on with the rights of the owner, but without policies.
 * If the statement writes, lb_check_at_once().  Returns whether
 * lb_restore_user() must follow.  Between SPI_connect and SPI_finish; can raise.
 */
extern bool lb_switch_from_superuser(LbUser *saved, const LbDefinition *defn,
									 bool writes);

/*
 * Go on with the rights of the extension's owner, for a statement that consists
 * of this library's own text and touches the extension's own tables only.
 * search_path becomes pg_catalog, pg_temp.
 */
extern void lb_switch_to_extension(LbUser *saved, Oid owner);

/* Back to what lb_switch_to_owner() or lb_switch_to_extension() has saved. */
extern void lb_restore_user(const LbUser *saved);

/* The role that the extension's own tables belong to.  Can raise. */
extern Oid	lb_own_role(void);

/*
 * Whether a statement of lb_own_run() is running, as the extension's owner.  A
 * board's defining query, which can run functions of the user's, must not run
 * as that role then, but as the owner of the board's table; it raises 42501 if
 * policies apply to him.
 */
extern bool lb_own_running(void);

/*
 * The same on the extension's own tables, as their owner, with search_path
 * pg_catalog and pg_temp.  text names tables as @.lb_name.  Raises 42501 if a
 * name in it has led to an object that is neither PostgreSQL's nor the
 * extension's.
 */
extern uint64 lb_own_run(LbPlan *kept, const char *text, int nargs,
						 const Oid *types, Datum *values, const char *nulls);

/*
 * The same, planned for these values and not kept: which of many rows are old
 * is to be looked up in an index or not, as it may be.
 */
extern uint64 lb_own_run_once(const char *text, int nargs, const Oid *types,
							  Datum *values);

/* The same in the newest snapshot, whatever the transaction's isolation. */
extern uint64 lb_own_run_latest(const char *text, int nargs,
								const Oid *types, Datum *values,
								const char *nulls);

/*
 * A lock_timeout in milliseconds, at most so many: shorter than it takes until
 * the deadlock of one who waits for our lock is found, so that it is not he who
 * is cancelled.
 */
extern int	lb_lock_timeout(int most);

/* The extension as this database has it; raises 55000 if it cannot be used. */
extern const LbCatalog *lb_require_catalog(void);

/* The OID of one of the extension's own tables or indexes. */
extern Oid	lb_own_table(const char *name);

/* Raise 42501 unless the caller owns the relation. */
extern void lb_require_owner(Oid relid);

/* Raise 22004. */
extern void lb_null_argument(const char *name);

/* An array of values of a type; nulls may be NULL. */
extern Datum lb_make_array(Oid type, Datum *values, bool *nulls, int n);

#endif							/* LB_OWN_H */
