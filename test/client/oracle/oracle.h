/*-------------------------------------------------------------------------
 *
 * oracle.h
 *	  What the files of the random client share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ORACLE_H
#define LB_ORACLE_H

#include <sys/types.h>

#include "../client.h"

#define MAX_CONNECTIONS 256
#define MAX_FORMS 64

/* main.c: options, described at its top, and the state of a process */

extern const char *conninfo;
extern int	connections;
extern double seconds;
extern int64_t transactions;	/* 0: as many as there is time for */
extern uint64_t seed;
extern int	members;
extern bool locked;
extern bool partitioned;
extern bool scheduled;
extern int	most_replays;
extern bool terminates;
extern bool kills;
extern bool long_texts;			/* now and then one that no key has room for */
extern int	least_share;		/* percent of the reads by index */
extern int	plan_share;			/* percent of the comparisons of plans */
extern const char *standby_conninfo;	/* of -R, or NULL */
extern int	standby_share;		/* percent of the reads by index there */
extern bool fails_over;			/* the standby is promoted meanwhile */
extern const char *standby_command; /* of -K, or NULL */
extern const char *disturber;	/* the command of -X ... */
extern pid_t disturber_pid;		/* ... and its process, or 0 */

extern bool can_prepare;		/* the server allows prepared transactions */
extern bool can_pause;			/* the server has pause points */

/* Queries of a form, of those whose plans were looked at. */
typedef struct FormCount
{
	int64_t		asked;
	int64_t		planned;		/* with a board */
	int64_t		answered;		/* by its index */
} FormCount;

typedef struct Result
{
	int64_t		committed;
	int64_t		rolled_back;
	int64_t		errors;			/* expected ones */
	int64_t		lost;			/* connections */
	int64_t		passed;
	int64_t		failed;
	int64_t		plans;			/* of those passed */
	FormCount	forms[MAX_FORMS];

	/* Of the standby only. */
	int64_t		conflicts;		/* statements that recovery has cancelled */
	int64_t		absent;			/* those whose table or board was not there */
	int64_t		promoted;		/* of those passed, after the promotion */
} Result;

extern int	me;					/* number of the process; -1 is the parent */
extern pid_t pids[MAX_CONNECTIONS]; /* of the processes */
extern PGconn *conn;
extern Result result;
extern bool tx_failed;			/* only a rollback helps */
extern bool lost;				/* the connection is gone */
extern bool on_standby;			/* it is to a server in recovery */

/*
 * What went wrong, in a word.  The scheduled mode must see it again when it
 * leaves out steps.  "difference", "lost", "offline", "stuck", "verify", or an
 * SQLSTATE.
 */
extern char failure_kind[16];

/* tables.c */

/* A type that columns can have: a row of lbt.type, which test/lib/types.sql describes. */
typedef struct Type
{
	char	   *name;
	char	   *base;
	char	   *roles;
	int			words;
	char	   *value;
	char	   *step;			/* or NULL */
	bool		asks;
	bool		integer;		/* functions have it as bigint */
	bool		is_text;
	bool		by_bytes;		/* not a text, or one in C order by itself */
	bool		is_float;
	char	  **extremes;
	int			nextremes;
	char	  **operands;
	int			noperands;
	char	  **texts;			/* of the values of 0, 1, 2 ... */
	int			ntexts;
} Type;

typedef struct Column
{
	const char *name;			/* as SQL text */
	const char *type_name;		/* in fixed_tables */
	const Type *type;
	bool		descending;
	const char *expression;		/* in the place of the column, with {} before
								 * each column for the table's alias; or NULL */
	bool		hidden;			/* only the board's definition has it: name is
								 * a stored column of the same value */
} Column;

#define MAX_MEMBERS 4
#define MAX_TIES 3
#define MAX_GROUPS 4

/*
 * All tables have the same parts under different names and of different types, so
 * that the statements can be made for any of them.
 */
typedef struct Table
{
	const char *name;
	const char *create;			/* NULL: another entry has made the table, or
								 * its columns say how */
	const char *create_partitioned; /* instead, with -p; or NULL */

	const char *board;			/* as recorded */
	const char *method;
	Column		members[MAX_MEMBERS];
	int			nmembers;
	Column		score;
	Column		ties[MAX_TIES];
	int			nties;
	bool		ties_unranked;	/* rank_by has the score only */
	Column		groups[MAX_GROUPS]; /* the board columns where values is not
									 * NULL */
	int			ngroups;
	const char *flag;
	bool		flagged;		/* it is ranked_if */
	const char *condition;		/* is ranked_if instead, likewise with {}; or
								 * NULL */
	const char *const *implying;	/* conditions that imply it */
	const char *const *weaker;	/* conditions that do not */
	const char *const *values;	/* of the board columns, as names have them;
								 * NULL: no family */
	const char *const *rows;	/* given ones of several columns; the last one
								 * is not written */
	const struct Rows *boards;	/* where there are several columns */
	const char *const *kinds;	/* what statements write to the one of groups,
								 * where values is NULL; or NULL */
	const struct Table *written;	/* whose columns statements write: itself,
									 * or what the expressions are over */
	const struct Table *same;	/* whose columns have the same values, or NULL */
	bool		spread_last;	/* which of the members' columns has more
								 * values */
	bool		strict;			/* columns of the key are NOT NULL */
	bool		tidy;			/* few rows are off the boards, and not for
								 * long: queries need not leave them out */
	bool		redefined;		/* the board's method and order change */
	bool		counts;			/* the board keeps counts */
	bool		indexed;		/* likewise, and a B-tree has its order */

	/* What follows from these. */
	char	   *member;			/* columns of the member */
	char	   *group;			/* of the board */
	char	   *columns;		/* all of them */
	char	   *conflict;		/* those of the unique index */
	char	   *order;
	char	   *tie_order;		/* part of it, or a constant */
	char	   *tie_array;		/* the tie-breakers as texts */
	char	   *member_order;	/* the last part of order */
	char	   *ranked;			/* which rows are on a board */
} Table;

extern Table tables[];
extern const int ntables;

/* Any of them.  Those with expressions, which are many, are chosen less often. */
extern const Table *any_table(void);

/* Those that are dropped and made again meanwhile, and their boards; with -R only. */
extern Table changing[];
extern const int nchanging;

/* Read the types from the table of test/lib/types.sql. */
extern void load_types(void);

/* Choose the tables with random types anew. */
extern void choose_tables(void);

/* Make a table, unless another entry has; make its board.  False after an error. */
extern bool make_table(const Table *t);
extern bool make_index(const Table *t);
extern bool make_board(const Table *t);

/* Print the statements that have made the tables with random types. */
extern void print_tables(FILE *f);

/* Put a text for "{}", and return what is to be freed. */
extern char *put_in(const char *text, const char *replacement);

/* A condition, and a column or its expression, of an alias or NULL; freed after a while. */
extern const char *condition_of(const char *alias, const char *condition);
extern const char *column_of(const char *alias, const Column *c);

/* The type with a name. */
extern const Type *find_type(const char *name);

/* groups.c */

/*
 * Choose the boards of a family with several board columns: given rows and mixtures of
 * them, or rows of the columns' lists of values.  The last one is the last of those.
 */
extern void choose_rows(Table *t, const char *const *given);
extern void choose_rows_of_lists(Table *t, const char *const *const *lists);

/* The text of a board column, of one of the table's values. */
extern const char *part_of_value(const Table *t, const char *value, int column);

/* The condition for a row to be on that board; freed after a while. */
extern const char *on_board(const Table *t, const char *value);

/* expressions.c */

#define NDERIVED 10

/* Choose one of the boards with expressions, by its number; those before it are there. */
extern void choose_derived(Table *t, int number);

/* The functions that expressions call. */
extern void make_functions(void);
extern void drop_functions(void);

/* Give a table the stored columns of expressions, or print the statements for it. */
extern bool add_stored_columns(const Table *t);
extern void print_stored_columns(FILE *f, const Table *t);

/* Replace a function, or rename a column; and compare. */
extern void alter_expressions(void);

/* report.c */

/* Remember a statement that is about to run, and that it has ended. */
extern void remember(const char *statement);
extern void remember_end(void);

/* Let the processes that are forked from now on see each other's statements. */
extern void share_logs(void);

/* Report a failure and end the process. */
extern void fail(const char *fmt,...)
			__attribute__((format(printf, 1, 2), noreturn));

/* sql.c */

/*
 * A connection for preparations and checks, for which it tries so many seconds.
 * A failure is reported.
 */
extern PGconn *connect_or_fail(const char *server, double patience);

/* One of the connections that are tested; its number, or -1. */
extern PGconn *connect_tested(int number);

/* Whether a connection runs its statements by the extended protocol. */
extern bool is_extended(int number);

/*
 * Run a statement.  Returns NULL after an expected error or the loss of the
 * connection, which cannot be used from then on.  Other errors end the process.
 * copy_data is what a COPY FROM STDIN reads.
 */
extern PGresult *run_copy(const char *statement, const char *copy_data);

/* Run a statement; false after an expected error.  The second frees it. */
extern bool run(const char *statement);
extern bool run_free(char *statement);

/* Run a query that must not fail, and return its first value, to be freed. */
extern char *run_value(const char *statement);

/* Wait for all boards.  Returns NULL, or what keeps them, to be freed. */
extern char *wait_ready(void);

/* compare.c */

/* How statements begin that are comparisons of plans. */
#define PLAN_COMPARISON "SELECT call, got, want, answered FROM lbt."

/* What is compared: a table, for a family one of its boards, and how much. */
typedef struct Look
{
	const Table *table;
	const Table *by;			/* whose columns the query has: the same, or
								 * one with the same values */
	const char *value;			/* of the board columns, or NULL */
	bool		full;			/* every member, else a few */
	bool		twin;			/* ask the functions that have texts */
	bool		typed;			/* ... and pass them values of the columns'
								 * types */
} Look;

/* Read what is to be compared from the tables of test/lib/oracle.sql. */
extern void load_comparisons(void);

/* One that the table's boards can have; says in the look which function to ask. */
extern const struct Comparison *any_comparison(Look *look);

/* The same of a function whose query reads all rows, and finds none by its member. */
extern const struct Comparison *any_whole_comparison(Look *look);

/* The beginning of the statement of each comparison. */
extern const char *ranked_rows;

/* Literals for SQL, to be freed. */
extern char *literal(const char *s);
extern char *board_literal(const Look *look);

/* One of a list that ends with NULL. */
extern const char *one_of(const char *const *list);

/* Any value of the board columns of a family's table. */
extern const char *any_value(const Table *t);

/* A board of a table, for a family any one of its. */
extern Look any_look(const Table *t);

/*
 * The statement of a comparison, to be freed.  Its columns are the call, what
 * the function returns, and what the query returns.
 */
extern char *comparison_statement(const struct Comparison *c,
								  const Look *look);

/* The row where a column differs from a column of another result, or -1. */
extern int	find_difference(const PGresult *got, int got_col,
							const PGresult *want, int want_col);

/* A text about a difference, to be freed. */
extern char *describe_difference(const PGresult *got, int got_col,
								 const PGresult *want, int want_col, int row,
								 const char *statement);

/* Compare two columns, or those of a comparison's result; report a difference. */
extern void compare_results(const PGresult *got, int got_col,
							const PGresult *want, int want_col,
							const char *statement);
extern void compare_rows(const PGresult *res, const char *statement);

/*
 * Compare n functions on one board of a table.  Returns false after an expected
 * error.
 */
extern bool compare_some(const Table *table, int n);

/* The same with the columns of another table of the same values. */
extern bool compare_by(const Table *table, const Table *by, int n);

/*
 * Compare every function on every board: for every member by the index, or for
 * a few members by their queries.
 */
extern void compare_all(void);
extern void compare_by_query(void);

/* quiet.c */

/*
 * Have several processes call a function, and add up their results.  It calls
 * take_next() before each of its comparisons, always in the same order, and
 * makes those for which that returns true.
 */
extern void share_out(void (*compare) (void));
extern bool take_next(void);

/* random.c */

/* Run a random statement; false if the transaction has failed. */
extern bool do_something(const Table *board);

/* A statement that changes or deletes a row, or makes one, to be freed. */
extern char *a_write(const Table *board);

/* lb_verify(), beside all others; its rows are an error. */
extern bool do_verify(const Table *t);

/* Insert many rows, which also replaces what was deleted. */
extern bool do_fill(const Table *board);

/* Keep a string for a while, and then free it. */
extern const char *keep(char *s);

/* A value of a type that a number stands for, and any one at its ends; likewise. */
extern const char *value(const Type *type, int number);
extern const char *extreme(const Type *type);

/*
 * The values of the member's columns that a number stands for, with commas
 * between.  They, and those of the next ones, are freed after a while.
 */
extern const char *member_of(const Table *t, int number);

/* The same of one of the columns. */
extern const char *part_of_member(const Table *t, int column, int number);

/* The same of an expression. */
extern const char *member_of_expression(const Table *t, const char *number);

/* Values of the member's columns, some of them at the ends of their types. */
extern const char *extreme_member(const Table *t);

/* transaction.c */

/* Run a random transaction. */
extern void transaction(void);

/* Commit with this chance, else roll back. */
extern void end_transaction(int percent_commits);

/* Compare functions or plans.  Returns false after an expected error. */
extern bool compare_any(const Table *t, int n, bool steady);

/*
 * Compare through a cursor that is read when rows have changed, and one that is read
 * when the transaction has ended; the latter ends it.
 */
extern bool compare_through_cursor(const Table *t);
extern void compare_through_held_cursor(const Table *t);

/* Ask the function in one statement, and the query in another. */
extern void compare_in_two(const Table *t);

/* End what a process has prepared; false if that cannot be done now. */
extern bool end_prepared_of(int number);

/*
 * Replace a lost connection.  What the old one had prepared is ended.  If the
 * new one is lost at once, lost is set again.
 */
extern void connect_again(void);

/* What a process of the free running mode does; it leaves its result in shared memory. */
extern void worker(int number, Result *out) __attribute__((noreturn));

/* database.c */

/* Make the tables and boards; roll back what is still prepared. */
extern void set_up(void);
extern void end_prepared(void);

/* Add to the sums of reads, and set the server's counters to zero. */
extern void gather_share(PGconn *c);

/* Fail if too few reads used the index. */
extern void check_share(void);

/* Add the counts of another process to a result; and print the primary's. */
extern void add_result(Result *sum, const Result *part);
extern void print_result(void);

/* Wait until no backend of a tested connection is left, to count its reads. */
extern void wait_for_backends(PGconn *c);

/*
 * A board that is offline because its index was wrong, although its reads are
 * right: a text to be freed, or NULL.  The second reports it.
 */
extern char *find_wrong_index(PGconn *c);
extern void check_wrong_index(PGconn *c);

/*
 * Terminate any one of a server's backends that belong to tested connections;
 * kill one of them that runs a statement, or any process of another type.  False
 * if there was none to be killed.
 */
extern void terminate_any(PGconn *c);
extern bool kill_any(PGconn *c, const char *type);

/* Compare all while no board is built. */
extern void compare_between_builds(void);

/* Fail if the index did not answer all reads of the boards, which were quiet. */
extern void check_index_was_used(void);

/* Fail if a result of lb_verify() is an error, or has a row. */
extern void check_verified(const PGresult *res);

/*
 * Delete rows with texts for which no key has room.  Returns false after an
 * expected error.
 */
extern bool delete_long_texts(const Table *t);

/* When no transaction runs: compare all, with and without index, and verify. */
extern void final_comparison(void);

/* standby.c: the standby, with -R */

extern PGconn *standby_conn;	/* the parent's, or NULL */
extern Result standby_result;	/* of the connections to the standby */

/* All processes, and those of each kind, which have these numbers in this order. */
extern int	nprocesses(void);
extern bool is_of_standby(int number);
extern bool is_definer(int number);

/* Wait until the standby has replayed what the primary has written. */
extern void wait_for_replay(void);

/* Connect to it, and wait. */
extern void begin_standby(void);

/* What a connection to the standby does again and again. */
extern void standby_turn(void);

/* While these run: promote it when half of the time has passed, and look at its boards. */
extern void watch_standby(void);

/* On the standby let the primary go on; elsewhere run a random statement. */
extern bool do_meanwhile(const Table *t);

/* The table that is compared there is dropped and made again meanwhile. */
extern bool may_be_absent;

/* At the end: print what was done there, and compare all. */
extern void final_standby(void);

/* define.c: DDL of boards and tables, which the primary runs for the standby */

/* What the process does that runs it, until a SIGTERM ends it. */
extern void define(void) __attribute__((noreturn));

/* schedule.c, shrink.c, free.c: the two modes */

extern void run_scheduled(void);

/* times.c: queries that take much longer with boards than without. */
extern void report_times(void);
extern void run_free_mode(void);

/*
 * In a crowded episode, which only the scheduled mode has, most transactions are
 * short and write to few rows of this table.  Else NULL.
 */
extern const Table *crowded;

/* Run a statement on a connection's stack, which the function leaves for it. */
extern PGresult *scheduled_exec(const char *statement, const char *copy_data);

/* Replace a connection of the scheduled mode. */
extern void set_scheduled_connection(int number, PGconn *new_conn);

/* Report a failure of the scheduled mode with as few steps as it needs. */
extern void shrink_and_report(const char *message);

#endif							/* LB_ORACLE_H */
