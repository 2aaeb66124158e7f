/*-------------------------------------------------------------------------
 *
 * tables.c
 *	  The default tables: lb_create_tables().
 *
 * lb_create_tables() makes the tables player_scores and player_score_windows,
 * with the boards "global" and "*" and two windows, for players of the type that
 * the caller names.  What is there already is kept.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "admin/manage.h"
#include "admin/triggers.h"
#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/spi.h"
#include "service/player.h"
#include "service/window_admin.h"
#include "util/compat.h"

PG_FUNCTION_INFO_V1(lb_create_tables);

/* A default table, and its board. */
typedef struct DefaultTable
{
	const char *name;
	const char *player;			/* what follows the type of player_id ... */
	const char *columns;		/* ... and the other columns, in CREATE TABLE */
	const char *index_columns;
	const char *board;
	const char *board_column;	/* or NULL */
} DefaultTable;

/* The type of players, by OID and by name; a domain's name is qualified. */
typedef struct KeyType
{
	Oid			oid;
	char	   *name;
} KeyType;

static const DefaultTable default_scores = {
	"player_scores",
	"PRIMARY KEY",
	"score bigint NOT NULL DEFAULT 0, "
	"updated_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(), "
	"ranked boolean NOT NULL DEFAULT true",
	"score DESC, updated_at",
	"global", NULL
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
	"*", "window_key"
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
		(!defn->family || strcmp(lb_board_column(defn)->name, table->board_column) == 0))
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

/*
 * The OID of a default table, or InvalidOid if it is not there.  Raises if
 * another object has one of the names.
 */
static Oid
find_default_table(const DefaultTable *table, Oid schema, const KeyType *key,
				   bool score_index)
{
	Oid			relid = get_relname_relid(table->name, schema);
	Oid			index = get_relname_relid(psprintf("%s_score_idx", table->name),
										  schema);

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
	lb_add_rank_by(&defn, "score DESC, updated_at ASC");
	lb_add_column(&defn, LB_ROLE_MEMBER, "player_id");
	if (table->board_column != NULL)
		lb_add_column(&defn, LB_ROLE_BOARD, table->board_column);
	defn.method = LB_ROW_NUMBER;

	/* A table of version 0.1.0 does not have the column. */
	if (get_attnum(relid, "ranked") != InvalidAttrNumber)
		lb_add_column(&defn, LB_ROLE_RANKED_IF, "ranked");
	lb_make_board(&defn);
}

/* Make the table, its index and its board, unless they are there. */
static void
make_default_table(const DefaultTable *table, Oid relid, const KeyType *key,
				   Oid schema, bool score_index)
{
	const char *extension =
		quote_identifier(get_namespace_name(lb_require_catalog()->schema));
	char	   *name = quote_qualified_identifier(get_namespace_name(schema),
												  table->name);

	if (!OidIsValid(relid))
	{
		lb_execute_utility(psprintf("CREATE TABLE %s (player_id %s %s, %s) WITH (fillfactor = 90)",
									name, key->name, table->player,
									table->columns));
		lb_execute_utility(psprintf("CREATE TRIGGER leaderboard_updated_at BEFORE UPDATE ON %s "
									"FOR EACH ROW EXECUTE FUNCTION %s.lb_set_updated_at()",
									name, extension));
		relid = get_relname_relid(table->name, schema);
	}
	if (score_index)
		lb_execute_utility(psprintf("CREATE INDEX IF NOT EXISTS %s_score_idx ON %s (%s)",
									table->name, name, table->index_columns));

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

Datum
lb_create_tables(PG_FUNCTION_ARGS)
{
	List	   *path = fetch_search_path(false);
	KeyType		key;
	Oid			schema;
	Oid			scores;
	Oid			windows;
	bool		score_index;
	static LbPlan plan;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("score_index");
	if (PG_ARGISNULL(1))
		lb_null_argument("player_id");
	score_index = PG_GETARG_BOOL(0);
	find_key_type(text_to_cstring(PG_GETARG_TEXT_PP(1)), &key);
	if (path == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("no schema has been selected to create in")));
	schema = linitial_oid(path);
	scores = find_default_table(&default_scores, schema, &key, score_index);
	windows = find_default_table(&default_windows, schema, &key,
								 score_index);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	make_default_table(&default_scores, scores, &key, schema, score_index);
	make_default_table(&default_windows, windows, &key, schema, score_index);

	/*
	 * Open windows only if the table has just been made: the worker would
	 * remove rows of a table that was there.  Nor open one that a board's
	 * name hides, such as "daily" or "daily-1".
	 */
	if (!OidIsValid(windows))
	{
		lb_window_lock_name("daily");
		lb_window_lock_name("weekly");
		(void) lb_own_run(&plan,
						  "INSERT INTO @.lb_window (name, period, keep) "
						  "SELECT v.name, v.name, v.keep "
						  "FROM (VALUES ('daily', pg_catalog.interval '48 hours'), "
						  "('weekly', pg_catalog.interval '14 days')) AS v (name, keep) "
						  "WHERE NOT EXISTS (SELECT FROM @.lb_window) "
						  "AND NOT EXISTS (SELECT FROM @.lb_board b WHERE b.board OPERATOR(pg_catalog.~) "
						  "('^' OPERATOR(pg_catalog.||) v.name OPERATOR(pg_catalog.||) '(-(0|[1-9][0-9]{0,3}))?$'))",
						  0, NULL, NULL, NULL);
	}
	SPI_finish();
	PG_RETURN_VOID();
}
