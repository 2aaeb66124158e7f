/*-------------------------------------------------------------------------
 *
 * tables.c
 *	  The tables of leaderboards: lb_create_tables(), lb_create_leaderboard().
 *
 * lb_create_tables() makes the tables player_scores and player_score_windows,
 * with the boards "global" and "*" and two windows, for players of the type
 * that the caller names.  What is there already is kept.
 * lb_create_leaderboard() makes tables of the same columns, always new ones,
 * with boards of other names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_type.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "admin/manage.h"
#include "admin/names.h"
#include "admin/triggers.h"
#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/options.h"
#include "boards/resolve.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/player.h"
#include "leaderboards/window_name.h"
#include "sql/spi.h"
#include "submit/submission.h"
#include "util/compat.h"

PG_FUNCTION_INFO_V1(lb_create_tables);
PG_FUNCTION_INFO_V1(lb_create_leaderboard);
PG_FUNCTION_INFO_V1(lb_drop_leaderboard);

/* A default table, and its board. */
typedef struct DefaultTable
{
	const char *name;
	const char *player;			/* what follows the type of player_id ... */
	const char *columns;		/* ... and the other columns, in CREATE TABLE */
	const char *index_columns;
	const char *board;
	const char *board_column;	/* or NULL */
	const char *rank_by;
} DefaultTable;

/* The type of players, by OID and by name; a domain's name is qualified. */
typedef struct KeyType
{
	Oid			oid;
	char	   *name;
} KeyType;

/* Whether and how to distribute a table: as LbDistributed.distribute. */
typedef struct Distribution
{
	bool		distributed;
	Oid			as;
	int			count;
} Distribution;

static const DefaultTable default_scores = {
	"player_scores",
	"PRIMARY KEY",
	"score bigint NOT NULL DEFAULT 0, "
	"updated_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(), "
	"ranked boolean NOT NULL DEFAULT true",
	"score DESC, updated_at",
	"global", NULL,
	"score DESC, updated_at ASC"
};

static const DefaultTable default_windows = {
	"player_score_windows",
	"NOT NULL",
	"window_key pg_catalog.text NOT NULL, "
	"score bigint NOT NULL DEFAULT 0, "
	"updated_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(), "
	"ranked boolean NOT NULL DEFAULT true, "
	"PRIMARY KEY (player_id, window_key)",
	"window_key, score DESC, updated_at",
	"*", "window_key",
	"score DESC, updated_at ASC"
};

/*
 * Raise 42P07 unless a table that has the name of a default table could have
 * been made by the caller's lb_create_tables().  If another role owned it, its
 * triggers would run when the caller submits.
 */
static void
check_default_table(const DefaultTable *table, Oid relid, const KeyType *key)
{
	const struct
	{
		const char *name;
		Oid			type;
	}			columns[] = {
		{"player_id", key->oid},
		{"score", INT8OID},
		{"updated_at", TIMESTAMPTZOID},
		{"window_key", TEXTOID},
	};
	int			ncolumns = table->board_column != NULL ? 4 : 3;
	Relation	rel = relation_open(relid, AccessShareLock);
	char	   *problem = NULL;

	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		problem = psprintf("It is not a table.");
	else if (rel->rd_rel->relowner != GetUserId())
		problem = psprintf("It belongs to role \"%s\".",
						   GetUserNameFromId(rel->rd_rel->relowner, false));
	for (int i = 0; i < ncolumns && problem == NULL; i++)
	{
		AttrNumber	attno = get_attnum(relid, columns[i].name);

		if (attno == InvalidAttrNumber ||
			get_atttype(relid, attno) != columns[i].type)
			problem = psprintf("It has no column \"%s\" of type %s.",
							   columns[i].name,
							   format_type_be(columns[i].type));
	}
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists",
						RelationGetRelationName(rel)),
				 errdetail_internal("%s", problem),
				 errhint("Rename it, use another schema, or make boards over tables of your own with lb_create_board().")));
	relation_close(rel, NoLock);
}

/* Raise 42710 if the board's name is taken by a board of something else. */
static void
check_default_board(const DefaultTable *table, Oid relid)
{
	LbDefinition *defn = lb_find_defn(table->board);
	char	   *name;

	if (defn == NULL)
		return;
	if (OidIsValid(relid) && defn->source == relid &&
		defn->family == (table->board_column != NULL) &&
		(!defn->family || (defn->nboard == 1 &&
						   strcmp(lb_board_column(defn)->name, table->board_column) == 0)))
		return;
	name = get_rel_name(defn->source);
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("board \"%s\" already exists", table->board),
			 name == NULL ? errdetail("Its table is gone.") :
			 errdetail("It ranks rows of table \"%s\".",
					   quote_qualified_identifier(get_namespace_name(get_rel_namespace(defn->source)),
												  name)),
			 errhint("Use lb_drop_board() first, or make boards over tables of your own with lb_create_board().")));
}

static char *
score_index_name(const DefaultTable *table)
{
	return psprintf("%s_score_idx", table->name);
}

/*
 * The OID of a default table, or InvalidOid if it is not there.  Raises if
 * another object has one of the names.
 */
static Oid
find_default_table(const DefaultTable *table, Oid schema, const KeyType *key,
				   bool score_index)
{
	Oid			relid = get_relname_relid(table->name, schema);
	Oid			index = get_relname_relid(score_index_name(table), schema);

	if (OidIsValid(relid))
		check_default_table(table, relid, key);
	if (score_index && OidIsValid(index) &&
		(get_rel_relkind(index) != RELKIND_INDEX ||
		 IndexGetRelation(index, true) != relid))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists",
						get_rel_name(index)),
				 errdetail("It is not an index of table \"%s\".", table->name),
				 errhint("Rename it, or use another schema.")));
	check_default_board(table, relid);
	return relid;
}

static void
make_default_board(const DefaultTable *table, Oid relid)
{
	LbDefinition defn;

	memset(&defn, 0, sizeof(defn));
	strlcpy(defn.name, table->board, NAMEDATALEN);
	defn.source = relid;
	lb_add_rank_by(&defn, table->rank_by);
	lb_add_member(&defn, "player_id");
	if (table->board_column != NULL)
		lb_add_board_column(&defn, table->board_column);
	defn.method = LB_ROW_NUMBER;

	/* A table that was there may lack the column. */
	if (get_attnum(relid, "ranked") != InvalidAttrNumber)
		lb_add_ranked_if(&defn, "ranked");
	lb_make_board(&defn, false);
}

/*
 * Make the table, its index and its board, unless they are there.  A
 * distributed table has no triggers: submits set updated_at without one.
 */
static void
make_default_table(const DefaultTable *table, Oid relid, const KeyType *key,
				   Oid schema, bool score_index,
				   const Distribution *distribution)
{
	char	   *name = quote_qualified_identifier(get_namespace_name(schema),
												  table->name);

	if (!OidIsValid(relid))
	{
		lb_execute_utility(psprintf("CREATE TABLE %s (player_id %s %s, %s) WITH (fillfactor = 90)",
									name, key->name, table->player,
									table->columns));
		relid = get_relname_relid(table->name, schema);
		if (distribution->distributed)
			lb_distributed->distribute(relid, distribution->as,
									   distribution->count);
		else
			lb_execute_utility(psprintf("CREATE TRIGGER leaderboard_updated_at BEFORE UPDATE ON %s "
										"FOR EACH ROW EXECUTE FUNCTION %s.lb_set_updated_at()",
										name, lb_internal_schema()));
	}
	if (score_index)
		lb_execute_utility(psprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)",
									quote_identifier(score_index_name(table)),
									name, table->index_columns));

	/* Again: the statements above may have waited for other transactions. */
	check_default_board(table, relid);

	if (lb_find_defn(table->board) == NULL)
		make_default_board(table, relid);
}

/* The type that a name means; raises 42804 if players cannot be of it. */
static void
find_key_type(const char *name, KeyType *key)
{
	int32		typmod;

	LB_PARSE_TYPE(name, &key->oid, &typmod);
	key->name = format_type_extended(key->oid, typmod,
									 FORMAT_TYPE_TYPEMOD_GIVEN |
									 FORMAT_TYPE_FORCE_QUALIFY);
	if (lb_player_type_of(key->oid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("players cannot be of type %s", key->name),
				 errhint("They are of an integer type, uuid, text or varchar, or of a domain over one.")));
}

/* The schema to create in, as CREATE TABLE finds it. */
static Oid
find_schema(void)
{
	List	   *path = fetch_search_path(false);

	if (path == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("no schema has been selected to create in")));
	return linitial_oid(path);
}

/* The arguments distributed, which has this number, and shard_count. */
static void
distribution_argument(FunctionCallInfo fcinfo, int arg,
					  Distribution *distribution)
{
	memset(distribution, 0, sizeof(*distribution));
	if (PG_ARGISNULL(arg))
		lb_null_argument("distributed");
	distribution->distributed = PG_GETARG_BOOL(arg);
	if (distribution->distributed)
		lb_require_distributed()->require_distributing();
	if (PG_ARGISNULL(arg + 1))
		return;
	distribution->count = PG_GETARG_INT32(arg + 1);
	lb_require_at_least("shard_count", distribution->count, 1,
						"what Citus does by default");
}

/* Raise 42P07 if a default table is there, and is not distributed. */
static void
require_distributed(const DefaultTable *table, Oid relid)
{
	if (OidIsValid(relid) && !lb_is_distributed_table(relid))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists", table->name),
				 errdetail("It is not distributed."),
				 errhint("Rename it, or use another schema.")));
}

/* Whether a default table, its board, and its index if wanted, are there. */
static bool
is_complete(const DefaultTable *table, Oid relid, Oid schema,
			bool score_index)
{
	return OidIsValid(relid) && lb_find_defn(table->board) != NULL &&
		(!score_index ||
		 OidIsValid(get_relname_relid(score_index_name(table), schema)));
}

Datum
lb_create_tables(PG_FUNCTION_ARGS)
{
	KeyType		key;
	Oid			schema;
	Oid			scores;
	Oid			windows;
	bool		score_index;
	Distribution distribution;
	static LbPlan plan;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("score_index");
	if (PG_ARGISNULL(1))
		lb_null_argument("player_type");
	score_index = PG_GETARG_BOOL(0);
	distribution_argument(fcinfo, 2, &distribution);
	find_key_type(text_to_cstring(PG_GETARG_TEXT_PP(1)), &key);
	schema = find_schema();
	scores = find_default_table(&default_scores, schema, &key, score_index);
	windows = find_default_table(&default_windows, schema, &key,
								 score_index);
	if (!is_complete(&default_scores, scores, schema, score_index) ||
		!is_complete(&default_windows, windows, schema, score_index))
	{
		/* Another session may be making them: wait for it, and look again. */
		LockRelationOid(lb_require_catalog()->lb_board, RowExclusiveLock);
		lb_window_lock_name(LB_GLOBAL);
		scores = find_default_table(&default_scores, schema, &key, score_index);
		windows = find_default_table(&default_windows, schema, &key,
									 score_index);
	}

	SPI_connect();
	if (distribution.distributed)
	{
		require_distributed(&default_scores, scores);
		require_distributed(&default_windows, windows);
	}
	make_default_table(&default_scores, scores, &key, schema, score_index,
					   &distribution);
	distribution.as = get_relname_relid(default_scores.name, schema);
	if (distribution.distributed && !OidIsValid(scores))
		lb_distributed->make_companions(distribution.as, key.name,
										lb_player_type_of(key.oid));
	make_default_table(&default_windows, windows, &key, schema, score_index,
					   &distribution);

	/*
	 * Open windows only if the table has just been made: the worker would
	 * remove rows of a table that was there.  Nor open one that a board's
	 * name hides, such as "daily" or "daily-1".
	 */
	if (!OidIsValid(windows))
	{
		lb_window_lock_name("daily");
		lb_window_lock_name("weekly");
		(void) lb_own_exec(&plan,
						   "INSERT INTO @.lb_window (name, period, keep) "
						   "SELECT v.name, v.name, v.keep "
						   "FROM (VALUES ('daily', pg_catalog.interval '48 hours'), "
						   "('weekly', pg_catalog.interval '14 days')) AS v (name, keep) "
						   "WHERE NOT EXISTS (SELECT FROM @.lb_window) "
						   "AND NOT EXISTS (SELECT FROM @.lb_board b WHERE b.board OPERATOR(pg_catalog.~) "
						   "('^' OPERATOR(pg_catalog.||) v.name OPERATOR(pg_catalog.||) '(-(0|[1-9][0-9]{0,3}))?$'))",
						   LB_NO_ARGS);
	}
	SPI_finish();
	PG_RETURN_VOID();
}


/* ----------------------------------------------------------------
 *		Other leaderboards
 * ----------------------------------------------------------------
 */

/* Arguments of lb_create_leaderboard(). */
enum
{
	ARG_NAME,
	ARG_OP,
	ARG_DIRECTION,
	ARG_WINDOWS,
	ARG_PLAYER_ID,
	ARG_DISTRIBUTED,
	ARG_SHARD_COUNT,
	ARG_IF_NOT_EXISTS
};

/* Raise 42602 or 42622 unless a name can be a leaderboard's. */
static void
check_leaderboard_name(const char *name)
{
	if (name[0] == '\0' || strpbrk(name, ":/*") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a leaderboard: \"%s\"", name),
				 errdetail("It has at least one character, and no colon, slash or asterisk."),
				 errhint("Windows are named by both: \"kills/daily\".")));
	if (strlen(name) > LB_MAX_LEADERBOARD)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("name of a leaderboard is too long: \"%s\"", name),
				 errdetail("It has at most %d bytes.", LB_MAX_LEADERBOARD)));
}

/*
 * Keep other sessions from recording boards and windows whose names begin with
 * this one, to the end of the transaction.  Boards first: a session that makes
 * or drops one locks them in this order.
 */
static void
lock_leaderboard_name(const char *name)
{
	LockRelationOid(lb_require_catalog()->lb_board, ShareRowExclusiveLock);
	lb_window_lock_name(name);
	LockRelationOid(lb_own_table("lb_window"), ShareRowExclusiveLock);
}

/* Whether a leaderboard is there and is to be left as it is; then say so. */
static bool
skips_existing(const char *name, bool if_not_exists)
{
	if (!if_not_exists || strcmp(name, LB_GLOBAL) == 0 ||
		lb_leaderboard_find(name, strlen(name)) == NULL)
		return false;
	ereport(NOTICE,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("leaderboard \"%s\" already exists, skipping", name)));
	return true;
}

/*
 * Raise 42710 if there is the leaderboard, or a board or a window whose name
 * begins with its name and a slash.
 */
static void
check_leaderboard_is_new(const char *name)
{
	if (lb_leaderboard_find(name, strlen(name)) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("leaderboard \"%s\" already exists", name),
				 strcmp(name, LB_GLOBAL) == 0 ?
				 errhint("lb_create_tables() makes its tables.") :
				 errhint("Use another name, or lb_drop_leaderboard() first; to leave it as it is, if_not_exists => true.")));
	lb_check_slash_names(name);
}

/* How rows are ranked, by an argument; raises 22023. */
static const char *
rank_by_direction(const char *direction)
{
	if (strcmp(direction, "desc") == 0)
		return "score DESC, updated_at ASC";
	if (strcmp(direction, "asc") == 0)
		return "score ASC, updated_at ASC";
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown direction \"%s\"", direction),
			 errhint("The directions are \"desc\", where the highest score is the best, and \"asc\".")));
}

/*
 * Make a table like this one under a free name, with a board; returns the
 * table.
 */
static Oid
make_leaderboard_table(const DefaultTable *like, const char *leaderboard,
					   const char *suffix, const char *board,
					   const char *rank_by, const KeyType *key,
					   const Distribution *distribution)
{
	Oid			schema = find_schema();
	DefaultTable table = *like;

	table.name = ChooseRelationName(leaderboard, NULL, suffix, schema, false);
	table.board = board;
	table.rank_by = rank_by;
	make_default_table(&table, InvalidOid, key, schema, false, distribution);
	return get_relname_relid(table.name, schema);
}

/*
 * Open windows that are named by their periods; raises 22023 for other names.
 */
static void
open_windows(const char *leaderboard, LbOp op, ArrayType *names)
{
	static LbPlan plan;
	Datum	   *elements;
	Datum	   *windows;
	Datum	   *keeps;
	bool	   *nulls;
	int			n;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements,
					  &nulls, &n);
	windows = palloc(Max(1, n) * sizeof(Datum));
	keeps = palloc(Max(1, n) * sizeof(Datum));
	for (int i = 0; i < n; i++)
	{
		LbPeriod	period;
		char	   *name;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			lb_null_element("windows");
		name = TextDatumGetCString(elements[i]);
		if (!lb_period_from_text(name, &period))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unknown period \"%s\"", name),
					 errhint("The periods are \"hourly\", \"daily\", \"weekly\" and \"monthly\"; lb_open_window() opens other windows.")));
		windows[i] = CStringGetTextDatum(psprintf("%s/%s", leaderboard, name));
		keeps[i] = CStringGetTextDatum(lb_periods[period].keep);
	}
	op = lb_window_default_op(op);
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_window (name, period, keep, op) "
					   "SELECT u.name, u.period, CAST(u.keep AS pg_catalog.interval), $4 "
					   "FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3)) AS u (name, period, keep) "
					   "ON CONFLICT (name) DO NOTHING",
					   LB_ARGS(lb_arg_array(TEXTOID, windows, NULL, n), lb_arg_array(TEXTOID, elements, NULL, n),
							   lb_arg_array(TEXTOID, keeps, NULL, n),
							   lb_arg_text(op == LB_OP_CHANGE ? NULL : lb_op_name(op))));
}

Datum
lb_create_leaderboard(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"leaderboard", "op", "direction", "windows",
	"player_type"};
	static LbPlan plan;
	char	   *name;
	LbOp		op;
	const char *rank_by;
	KeyType		key;
	Distribution distribution;
	bool		if_not_exists;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_create_leaderboard()");
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_NAME));
	check_leaderboard_name(name);
	op = lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(ARG_OP)), "");
	rank_by = rank_by_direction(text_to_cstring(PG_GETARG_TEXT_PP(ARG_DIRECTION)));
	find_key_type(text_to_cstring(PG_GETARG_TEXT_PP(ARG_PLAYER_ID)), &key);
	distribution_argument(fcinfo, ARG_DISTRIBUTED, &distribution);
	if (PG_ARGISNULL(ARG_IF_NOT_EXISTS))
		lb_null_argument("if_not_exists");
	if_not_exists = PG_GETARG_BOOL(ARG_IF_NOT_EXISTS);

	/* A call that does nothing leaves no locks to the transaction. */
	if (skips_existing(name, if_not_exists))
		PG_RETURN_VOID();
	lock_leaderboard_name(name);
	if (skips_existing(name, if_not_exists))
		PG_RETURN_VOID();
	check_leaderboard_is_new(name);

	SPI_connect();
	(void) lb_own_exec(&plan, "INSERT INTO @.lb_leaderboard (name, op) VALUES ($1, $2)",
					   LB_ARGS(lb_arg(TEXTOID, PG_GETARG_DATUM(ARG_NAME)), lb_arg(TEXTOID, PG_GETARG_DATUM(ARG_OP))));
	distribution.as = make_leaderboard_table(&default_scores, name, "scores", name,
											 rank_by, &key, &distribution);
	if (distribution.distributed)
		lb_distributed->make_companions(distribution.as, key.name,
										lb_player_type_of(key.oid));
	(void) make_leaderboard_table(&default_windows, name, "score_windows",
								  psprintf("%s/", name), rank_by, &key,
								  &distribution);
	open_windows(name, op, PG_GETARG_ARRAYTYPE_P(ARG_WINDOWS));
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * DROP TABLE removes the boards, and with them what is recorded under their
 * names.
 */
Datum
lb_drop_leaderboard(PG_FUNCTION_ARGS)
{
	LbLeaderboard leaderboard;
	const char *boards[2];
	StringInfoData sql;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_drop_leaderboard()");
	if (PG_ARGISNULL(0))
		lb_null_argument("leaderboard");
	leaderboard = *lb_require_leaderboard(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (strcmp(leaderboard.name, LB_GLOBAL) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("leaderboard \"%s\" cannot be dropped", LB_GLOBAL),
				 errhint("lb_drop_board() drops its boards \"global\" and \"*\".")));
	boards[0] = leaderboard.name;
	boards[1] = leaderboard.family;
	initStringInfo(&sql);
	for (int i = 0; i < (int) lengthof(boards); i++)
	{
		LbDefinition *defn = lb_read_defn(boards[i]);
		char	   *table = defn == NULL ? NULL : get_rel_name(defn->source);

		if (table == NULL)
			continue;
		lb_require_owner(defn->source);
		if (lb_is_distributed_table(defn->source))
			lb_require_distributed()->require_coordinator(defn, "lb_drop_leaderboard()");
		appendStringInfo(&sql, "%s%s", sql.len == 0 ? "DROP TABLE " : ", ",
						 quote_qualified_identifier(get_namespace_name(get_rel_namespace(defn->source)), table));
	}
	SPI_connect();
	lb_execute_utility(sql.data);
	SPI_finish();
	PG_RETURN_VOID();
}
