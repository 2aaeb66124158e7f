/*-------------------------------------------------------------------------
 *
 * manage.c
 *	  The SQL functions that make, drop and rebuild boards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "admin/manage.h"
#include "boards/own.h"
#include "boards/wait.h"
#include "capture/ddl.h"
#include "capture/xactlog.h"
#include "ledger/backlog.h"
#include "service/limit.h"
#include "service/window.h"
#include "util/compat.h"
#include "workers/build.h"

PG_FUNCTION_INFO_V1(lb_create_board);
PG_FUNCTION_INFO_V1(lb_drop_board);
PG_FUNCTION_INFO_V1(lb_rebuild);
PG_FUNCTION_INFO_V1(lb_wait_ready);
PG_FUNCTION_INFO_V1(lb_create_tables);
PG_FUNCTION_INFO_V1(lb_estimate_memory);
PG_FUNCTION_INFO_V1(lb_board_changed);
PG_FUNCTION_INFO_V1(lb_on_drop);

/*
 * Rows that have come by replication have numbers which our sequence has not
 * given, for sequences are not replicated.  Numbers that it has given stay given:
 * others may have taken more meanwhile.
 */
static void
skip_used_numbers(void)
{
	Oid			types[] = {REGCLASSOID};
	Datum		values[1];

	values[0] = ObjectIdGetDatum(lb_own_table("lb_board_id_seq"));
	(void) lb_own_run_latest("SELECT pg_catalog.setval($1, CAST(pg_catalog.max(b.id) AS pg_catalog.int8)) FROM @.lb_board AS b "
							 "HAVING pg_catalog.max(b.id) OPERATOR(pg_catalog.>=) (SELECT CASE WHEN s.is_called "
							 "THEN s.last_value OPERATOR(pg_catalog.+) 1 ELSE s.last_value END FROM @.lb_board_id_seq AS s)",
							 1, types, values, NULL);
}

static void
execute_utility(const char *sql)
{
	if (SPI_execute(sql, false, 0) < 0)
		elog(ERROR, "could not execute \"%s\"", sql);
}


/* ----------------------------------------------------------------
 *		lb_create_board
 * ----------------------------------------------------------------
 */

/* A column of the source that the board uses. */
static AttrNumber
require_column(Relation rel, const char *name, Oid *type)
{
	AttrNumber	attno = get_attnum(RelationGetRelid(rel), name);

	if (attno == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of table \"%s\" does not exist",
						name, RelationGetRelationName(rel))));
	if (attno < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot rank by system column \"%s\"", name)));
	if (LB_VIRTUAL_COLUMN(get_attgenerated(RelationGetRelid(rel), attno)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot rank by virtual generated column \"%s\"", name),
				 errdetail("A board is kept in step by row triggers, which see only what is stored."),
				 errhint("Use a generated column that is STORED.")));
	*type = get_atttype(RelationGetRelid(rel), attno);
	return attno;
}

static void
type_error(const char *role, const char *column, Oid type, const char *accepted)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s column \"%s\" is of unsupported type %s",
					role, column, format_type_be(type)),
			 errhint("Accepted types: %s.", accepted)));
}

static void
check_source(Relation rel)
{
	const char *name = RelationGetRelationName(rel);

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table", name),
					 errdetail("A board is kept in step by row triggers, which only tables have."),
					 errhint("Use the table below it.")));
	}
	if (IsCatalogRelation(rel) || IsToastRelation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot rank system table \"%s\"", name)));
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot rank temporary table \"%s\"", name),
				 errdetail("Its rows are seen by one session only."),
				 errhint("Use an unlogged table.")));
	if (rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" uses an unsupported access method", name),
				 errhint("Only the access method heap is supported.")));
}

/*
 * A partition has one row trigger of ours, which is its own or a clone of its
 * partitioned table's; it cannot have both.
 */
static void
check_partitions(Relation rel)
{
	List	   *above = NIL;
	LbDefinition **defns;
	int			n;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE &&
		!rel->rd_rel->relispartition)
		return;
	n = lb_all_defns(&defns);
	if (rel->rd_rel->relispartition)
		above = get_partition_ancestors(RelationGetRelid(rel));
	for (int i = 0; i < n; i++)
	{
		Oid			source = defns[i]->source;

		if (list_member_oid(above, source))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot rank partition \"%s\"",
							RelationGetRelationName(rel)),
					 errdetail("Its partitioned table \"%s\" has the board \"%s\".",
							   get_rel_name(source), defns[i]->name),
					 errhint("Drop that board first.")));
		if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE &&
			get_rel_relispartition(source) &&
			list_member_oid(get_partition_ancestors(source),
							RelationGetRelid(rel)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot rank partitioned table \"%s\"",
							RelationGetRelationName(rel)),
					 errdetail("Its partition \"%s\" has the board \"%s\" of its own.",
							   get_rel_name(source), defns[i]->name),
					 errhint("Drop that board first.")));
	}
}

static void
check_name(const char *board)
{
	if (board[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("a board's name must not be empty")));
	if (strchr(board, ':') != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("board name \"%s\" contains a colon", board),
				 errdetail("A colon separates a family's name from the value of one of its boards."),
				 errhint("Use another character.")));
	if (strlen(board) > LB_MAX_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("board name \"%s\" is too long", board),
				 errdetail("A board's name has at most %d bytes.", LB_MAX_NAME)));
}

/* Find out what keeps the board from having an index, and raise it. */
static void
check_definition(LbDefinition *defn, Relation rel)
{
	Oid			type;

	require_column(rel, defn->member, &type);
	if (!lb_member_type_ok(type))
		type_error("member", defn->member, type,
				   "smallint, integer, bigint");
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbRankColumn *column = &defn->columns[i];

		require_column(rel, column->name, &type);
		if (i == 0 && !lb_score_type_ok(type))
			type_error("score", column->name, type,
					   "smallint, integer, bigint");
		if (i > 0 && !lb_tie_type_ok(type))
			type_error("rank_by", column->name, type,
					   "smallint, integer, bigint, date, timestamp, timestamptz");
	}
	if (defn->family)
	{
		require_column(rel, defn->board_column, &type);
		if (!lb_board_type_ok(type))
			type_error("board", defn->board_column, type,
					   "text, varchar, smallint, integer, bigint");
	}
	if (defn->ranked_if[0] != '\0')
	{
		require_column(rel, defn->ranked_if, &type);
		if (type != BOOLOID)
			type_error("ranked_if", defn->ranked_if, type, "boolean");
	}
}

/* The name of a table in a statement. */
static char *
table_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/*
 * Make or enable one of the capture triggers of a table.  It is known by its
 * function and has whatever name others have given it.
 */
static void
make_trigger(Oid source, bool row)
{
	const LbCatalog *cat = lb_require_catalog();
	const char *schema = quote_identifier(get_namespace_name(cat->schema));
	const char *name = row ? LB_ROW_TRIGGER : LB_TRUNCATE_TRIGGER;
	char	   *table = table_name(source);
	Relation	rel = relation_open(source, NoLock);
	const Trigger *found = lb_capture_trigger(rel, cat->capture, row, false);
	bool		exists = found != NULL;
	bool		replace = false;
	bool		drop = false;

	if (exists)
		name = pstrdup(found->tgname);
	for (int i = 0; !exists && rel->trigdesc != NULL &&
		 i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgfoid != cat->capture ||
			strcmp(trigger->tgname, name) != 0)
			continue;

		/* To replace it, readers need not be waited for. */
		drop = OidIsValid(trigger->tgconstraint);
		replace = !drop;
	}

	/* ALTER TABLE refuses a table that is open. */
	relation_close(rel, NoLock);
	name = quote_identifier(name);
	if (drop)
		execute_utility(psprintf("DROP TRIGGER %s ON %s", name, table));
	if (!exists)
		execute_utility(psprintf("CREATE %s TRIGGER %s AFTER %s ON %s "
								 "FOR EACH %s EXECUTE FUNCTION %s.lb_capture()",
								 replace ? "OR REPLACE" : "", name,
								 row ? "INSERT OR UPDATE OR DELETE" : "TRUNCATE",
								 table, row ? "ROW" : "STATEMENT", schema));
	execute_utility(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", table,
							 name));
}

/*
 * Make or enable what a source and its partitions do not have of the capture
 * triggers.  It must be locked in ShareRowExclusiveLock.  Returns whether there
 * was something to do.
 */
static bool
make_triggers(Oid source)
{
	if (lb_is_captured(source))
		return false;
	make_trigger(source, true);
	make_trigger(source, false);
	return true;
}

/* Drop all triggers of our function that a table has of its own. */
static void
drop_triggers(Oid source)
{
	const LbCatalog *cat = lb_require_catalog();
	Relation	rel = relation_open(source, NoLock);
	List	   *names = NIL;
	ListCell   *lc;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgfoid == cat->capture && !trigger->tgisclone)
			names = lappend(names, pstrdup(trigger->tgname));
	}
	relation_close(rel, NoLock);
	foreach(lc, names)
		execute_utility(psprintf("DROP TRIGGER IF EXISTS %s ON %s",
								 quote_identifier(lfirst(lc)),
								 table_name(source)));
}

/* What to do about what keeps a new board from having an index. */
static int
problem_hint(const LbDefinition *defn)
{
	if (defn->problem == lb_collation_problem)
		return errhint("Give column \"%s\" a deterministic collation.",
					   defn->board_column);
	if (defn->problem == lb_partition_problem)
		return errhint("All partitions must be tables of the access method heap.");
	if (defn->problem == lb_engine_problem)
		return errhint("Make boards of the tables that have the rows, such as its shards.");
	if (defn->problem != lb_index_problem)
		return 0;
	return defn->family ?
		errhint("A unique index on (\"%s\", \"%s\") is needed: immediate, valid, and not partial.",
				defn->member, defn->board_column) :
		errhint("A unique index on \"%s\" alone is needed: immediate, valid, and not partial.",
				defn->member);
}

/* Boards of a family whose values begin with a prefix are looked for. */
typedef struct PrefixScan
{
	LbSharedBoard *shared;
	const char *prefix;
	int			len;
	bool		found;
} PrefixScan;

static bool
find_prefix(uint32 hash, LbRef ref, void *arg)
{
	PrefixScan *scan = (PrefixScan *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);
	LbValue		value = lb_live_board_value(board);

	if (value.len < scan->len ||
		memcmp(value.data, scan->prefix, scan->len) != 0)
		return true;
	lb_apply_backlog(scan->shared, board);
	scan->found = board->index.members > 0;
	return !scan->found;
}

/*
 * Whether a family has boards that begin with a prefix, by its index.  Returns
 * false if the index cannot tell: it is not ready, or the transaction may have
 * written rows that are not in it.
 */
static bool
has_boards(LbDefinition *family, const char *prefix, bool *result)
{
	PrefixScan	scan;

	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return false;
	scan.shared = lb_shared_board_attach(family, false);
	scan.prefix = prefix;
	scan.len = strlen(prefix);
	scan.found = false;
	if (scan.shared == NULL)
		return false;
	for (int s = 0; s < LB_STRIPES && !scan.found; s++)
	{
		LbStripe   *stripe = &scan.shared->stripes[s];
		bool		ready;

		LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
		ready = lb_shared_board_is(scan.shared, family->generation) &&
			pg_atomic_read_u32(&scan.shared->state) == LB_READY;
		if (ready)
			lb_stripe_walk(stripe, true, find_prefix, &scan);
		LWLockRelease(&stripe->lock);
		if (!ready)
			return false;
	}
	*result = scan.found;
	return true;
}

/* The same by the table's rows, hidden ones included, as their owner. */
static bool
has_rows(const LbDefinition *family, const char *prefix)
{
	Oid			types[] = {TEXTOID};
	Datum		values[1];
	char	   *sql = psprintf("SELECT FROM %s AS t WHERE pg_catalog.starts_with(CAST(t.%s AS pg_catalog.text), $1) LIMIT 1",
							   family->from_name,
							   quote_identifier(family->board_column));
	LbUser		saved;
	uint64		n;

	values[0] = CStringGetTextDatum(prefix);
	lb_switch_to_owner(&saved, family->owner, true);
	n = lb_run_once(sql, family->source, 1, types, values);
	lb_restore_user(&saved);
	return n > 0;
}

/*
 * Whether keys that begin with a prefix have been closed, or have standings that
 * are read through the family.
 */
static bool
has_past(const LbDefinition *family, const char *prefix)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTOID, TEXTOID, NAMEOID, REGCLASSOID};
	NameData	owner;
	Datum		values[4];
	char	   *end = pstrdup(prefix);

	/* These columns are in C order: so up to the next character. */
	end[strlen(end) - 1]++;
	namestrcpy(&owner, GetUserNameFromId(family->owner, false));
	values[0] = CStringGetTextDatum(prefix);
	values[1] = CStringGetTextDatum(end);
	values[2] = NameGetDatum(&owner);
	values[3] = ObjectIdGetDatum(family->source);
	return lb_own_run(&plan,
					  "SELECT FROM @.lb_closed c WHERE c.board OPERATOR(pg_catalog.>=) $1 "
					  "AND c.board OPERATOR(pg_catalog.<) $2 "
					  "UNION ALL "
					  "SELECT FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.>=) $1 "
					  "AND a.board OPERATOR(pg_catalog.<) $2 "
					  "AND (a.owner OPERATOR(pg_catalog.=) $3 OR a.source OPERATOR(pg_catalog.=) "
					  "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $4)) "
					  "LIMIT 1",
					  4, types, values, NULL) > 0;
}

static void
check_prefix(LbDefinition *family, const char *board, const char *name,
			 int len)
{
	char	   *prefix = psprintf("%.*s:", len, name);
	bool		found;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (!has_boards(family, prefix, &found))
		found = has_rows(family, prefix);
	if (!found)
		found = has_past(family, prefix);
	SPI_finish();
	if (found)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("names of board \"%s\" are in use", board),
				 errdetail("The family \"*\" has boards, or has had windows, whose names begin with \"%s\".",
						   prefix),
				 errhint("Use another name.")));
}

/*
 * A board must not take names that the family "*" answers: "country:FR", which
 * a family "country" would answer, nor "monthly" and "monthly-1", which mean
 * windows that need not be recorded.
 */
static void
check_answers(const char *board, bool family)
{
	LbDefinition *star;
	LbTarget	target;
	char	   *key;
	int			keylen;

	if (strcmp(board, "*") == 0)
		return;
	key = lb_window_alias(board, strlen(board), &keylen);
	if (key == NULL && !family)
		return;
	star = lb_read_defn("*");
	if (star == NULL ||
		!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(star->source)))
		return;
	lb_find_target("*", 1, &target);
	if (!target.defn->family || target.defn->misfit ||
		(target.defn->board_type != TEXTOID &&
		 target.defn->board_type != VARCHAROID))
		return;
	if (family)
		check_prefix(target.defn, board, board, strlen(board));
	if (key != NULL)
		check_prefix(target.defn, board, key, strcspn(key, ":"));
}

static void
create_board(const char *board, Oid source, const char *member,
			 const char *rank_by, const char *board_column,
			 const char *method, const char *ranked_if)
{
	const LbCatalog *cat = lb_require_catalog();
	LbDefinition defn;
	LbDefinition *recorded;
	Relation	rel;
	Oid			types[] = {TEXTOID, REGCLASSOID, NAMEOID, TEXTOID, NAMEOID,
	TEXTOID, NAMEOID};
	Datum		values[7];
	char		nulls[7] = {' ', ' ', ' ', ' ', ' ', ' ', ' '};
	NameData	names[3];

	PreventCommandDuringRecovery("lb_create_board()");
	check_name(board);
	if (strcmp(method, "row_number") != 0 && strcmp(method, "rank") != 0 &&
		strcmp(method, "dense_rank") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown ranking method \"%s\"", method),
				 errhint("The methods are \"row_number\", \"rank\" and \"dense_rank\".")));
	if (strcmp(board, "*") == 0 && board_column == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("board \"*\" must be a family"),
				 errhint("Give a \"board_column\".")));
	memset(&defn, 0, sizeof(defn));
	defn.ncolumns = lb_parse_rank_by(rank_by, defn.columns);
	strlcpy(defn.member, member, NAMEDATALEN);
	defn.family = board_column != NULL;
	if (board_column != NULL)
		strlcpy(defn.board_column, board_column, NAMEDATALEN);
	if (ranked_if != NULL)
		strlcpy(defn.ranked_if, ranked_if, NAMEDATALEN);

	/* Ownership before the lock, and again under it. */
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", source)));
	lb_require_owner(source);

	/* This can take as long as reading a table, so before the lock as well. */
	lb_window_check_board(board, defn.family);
	check_answers(board, defn.family);
	rel = relation_open(source, ShareRowExclusiveLock);
	lb_require_owner(source);
	check_source(rel);
	check_partitions(rel);

	/*
	 * Who writes to a partition itself holds no lock on the source.  The
	 * first board's triggers would see to that, but not the second one's.
	 */
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		list_free(find_all_inheritors(source, ShareRowExclusiveLock, NULL));
	check_definition(&defn, rel);
	relation_close(rel, NoLock);

	LockRelationOid(cat->lb_board, RowExclusiveLock);
	lb_window_lock_name(board);
	if (lb_read_defn(board) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("board \"%s\" already exists", board),
				 errhint("Use lb_drop_board() first, or another name.")));
	lb_window_check_board(board, defn.family);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	cat = lb_require_catalog();
	(void) make_triggers(source);

	values[0] = CStringGetTextDatum(board);
	values[1] = ObjectIdGetDatum(source);
	namestrcpy(&names[0], member);
	values[2] = NameGetDatum(&names[0]);
	values[3] = CStringGetTextDatum(lb_format_rank_by(defn.columns,
													  defn.ncolumns));
	namestrcpy(&names[1], board_column ? board_column : "");
	values[4] = NameGetDatum(&names[1]);
	if (board_column == NULL)
		nulls[4] = 'n';
	values[5] = CStringGetTextDatum(method);
	namestrcpy(&names[2], ranked_if ? ranked_if : "");
	values[6] = NameGetDatum(&names[2]);
	if (ranked_if == NULL)
		nulls[6] = 'n';
	skip_used_numbers();
	(void) lb_own_run_latest("INSERT INTO @.lb_board (board, source, member, rank_by, board_column, method, ranked_if) "
							 "VALUES ($1, $2, $3, $4, $5, $6, $7)",
							 7, types, values, nulls);
	SPI_finish();

	/* Our own changes are visible to us after this. */
	CommandCounterIncrement();

	recorded = lb_read_defn(board);
	if (recorded == NULL)
		elog(ERROR, "board \"%s\" was not recorded", board);
	lb_resolve_defn(recorded);
	(void) lb_resolve_parts(recorded, true);
	if (recorded->problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot make board \"%s\": %s", board,
						recorded->problem),
				 problem_hint(recorded)));
	if (!recorded->captured)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot make board \"%s\": a capture trigger of its table is disabled",
						board),
				 errhint("Use ALTER TABLE ... ENABLE ALWAYS TRIGGER %s.",
						 LB_ROW_TRIGGER)));
	if (strcmp(board, "*") == 0)
	{
		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		lb_windows_begin(recorded);
		SPI_finish();
	}
	lb_note_created(recorded);
}

Datum
lb_create_board(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"board", "source", "member",
	"rank_by"};

	for (int i = 0; i < 4; i++)
	{
		if (PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	if (PG_ARGISNULL(5))
		lb_null_argument("method");
	create_board(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_OID(1),
				 NameStr(*PG_GETARG_NAME(2)),
				 text_to_cstring(PG_GETARG_TEXT_PP(3)),
				 PG_ARGISNULL(4) ? NULL : NameStr(*PG_GETARG_NAME(4)),
				 text_to_cstring(PG_GETARG_TEXT_PP(5)),
				 PG_ARGISNULL(6) ? NULL : NameStr(*PG_GETARG_NAME(6)));
	PG_RETURN_VOID();
}


/* ----------------------------------------------------------------
 *		lb_drop_board
 * ----------------------------------------------------------------
 */

static void
board_not_found(const char *board)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("board \"%s\" does not exist", board),
			 strchr(board, ':') != NULL ?
			 errhint("The boards of a family come and go with their rows; name the family itself.") :
			 errhint("The table lb_board lists the boards.")));
}

Datum
lb_drop_board(PG_FUNCTION_ARGS)
{
	char	   *board;
	LbDefinition *found;
	LbDefinition defn;
	bool		exists;
	bool		others;
	Oid			types[] = {INT4OID};
	Datum		values[1];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_drop_board()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	found = lb_read_defn(board);
	if (found == NULL)
		board_not_found(board);
	exists = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(found->source));
	if (exists)
	{
		lb_require_owner(found->source);
		LockRelationOid(found->source, AccessExclusiveLock);
		exists = SearchSysCacheExists1(RELOID,
									   ObjectIdGetDatum(found->source));
		found = lb_read_defn(board);
		if (found == NULL)
			board_not_found(board);
		if (exists)
			lb_require_owner(found->source);
	}
	else if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to drop a board whose table is gone")));
	defn = *found;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	others = lb_has_others(&defn);
	if (exists && !others)
		drop_triggers(defn.source);
	else if (exists &&
			 get_rel_relkind(defn.source) == RELKIND_PARTITIONED_TABLE)
	{
		/*
		 * Who writes to a partition itself has no lock on the source.  With
		 * the triggers he would have been waited for.
		 */
		list_free(find_all_inheritors(defn.source, ShareRowExclusiveLock,
									  NULL));
	}
	values[0] = Int32GetDatum(defn.id);
	lb_note_dropped(&defn);
	(void) lb_own_run_latest("DELETE FROM @.lb_board WHERE id OPERATOR(pg_catalog.=) $1",
							 1, types, values, NULL);
	SPI_finish();
	PG_RETURN_VOID();
}


/* ----------------------------------------------------------------
 *		Columns that are renamed
 * ----------------------------------------------------------------
 */

/* The name that a column has now.  One that was not there keeps its own. */
static void
current_name(char *name, Oid source, AttrNumber attno)
{
	HeapTuple	tuple;

	if (attno == InvalidAttrNumber)
		return;
	tuple = SearchSysCacheAttNum(source, attno);
	if (!HeapTupleIsValid(tuple))
		return;
	strlcpy(name, NameStr(((Form_pg_attribute) GETSTRUCT(tuple))->attname),
			NAMEDATALEN);
	ReleaseSysCache(tuple);
}

void
lb_follow_rename(const LbDefinition *old)
{
	LbDefinition defn = *old;
	LbDefinition *recorded = lb_read_defn(old->name);
	Oid			types[] = {INT4OID, NAMEOID, TEXTOID, NAMEOID, NAMEOID};
	Datum		values[5];
	char		nulls[5] = {' ', ' ', ' ', ' ', ' '};
	NameData	names[3];

	if (recorded == NULL || recorded->id != old->id ||
		recorded->catalog != old->catalog)
		return;

	/* The new names are visible to us after this. */
	CommandCounterIncrement();
	current_name(defn.member, defn.source, defn.member_attno);
	for (int i = 0; i < defn.ncolumns; i++)
		current_name(defn.columns[i].name, defn.source,
					 defn.columns[i].attno);
	current_name(defn.board_column, defn.source, defn.board_attno);
	current_name(defn.ranked_if, defn.source, defn.ranked_attno);

	values[0] = Int32GetDatum(defn.id);
	namestrcpy(&names[0], defn.member);
	values[1] = NameGetDatum(&names[0]);
	values[2] = CStringGetTextDatum(lb_format_rank_by(defn.columns,
													  defn.ncolumns));
	/* What could not be parsed stays as it is. */
	if (defn.columns[0].name[0] == '\0')
		nulls[2] = 'n';
	namestrcpy(&names[1], defn.board_column);
	values[3] = NameGetDatum(&names[1]);
	if (!defn.family)
		nulls[3] = 'n';
	namestrcpy(&names[2], defn.ranked_if);
	values[4] = NameGetDatum(&names[2]);
	if (defn.ranked_if[0] == '\0')
		nulls[4] = 'n';

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	skip_used_numbers();
	lb_note_dropped(old);
	if (lb_own_run_latest("UPDATE @.lb_board SET id = DEFAULT, member = $2, "
						  "rank_by = COALESCE($3, rank_by), board_column = $4, ranked_if = $5 "
						  "WHERE id OPERATOR(pg_catalog.=) $1",
						  5, types, values, nulls) != 1)
		elog(ERROR, "board \"%s\" is not recorded", defn.name);
	SPI_finish();
	CommandCounterIncrement();

	recorded = lb_read_defn(defn.name);
	if (recorded == NULL)
		elog(ERROR, "board \"%s\" was not recorded", defn.name);
	lb_note_created(recorded);
}


/* ----------------------------------------------------------------
 *		lb_rebuild, lb_wait_ready
 * ----------------------------------------------------------------
 */

/* Names of all boards: while one is waited for, others can get new numbers. */
static int
board_names(char ***names)
{
	LbDefinition **defns;
	int			n = lb_all_defns(&defns);

	*names = palloc(Max(1, n) * sizeof(char *));
	for (int i = 0; i < n; i++)
		(*names)[i] = pstrdup(defns[i]->name);
	return n;
}

/*
 * Find a board as it is recorded now, or NULL, and its definition in shared
 * memory.  Nobody can drop the board or rename its columns as long as we hold
 * the lock, and only then it is safe to enter what is not there.  Whoever has
 * locked the table himself is not waited for: then shared may be NULL.
 */
static LbDefinition *
attach_board(const char *name, LbSharedBoard **shared, bool *locked)
{
	for (;;)
	{
		LbDefinition *defn = lb_find_defn(name);
		Oid			source;

		*shared = NULL;
		if (defn == NULL)
			return NULL;
		source = defn->source;
		*locked = ConditionalLockRelationOid(source, AccessShareLock);

		/* That may have brought in invalidations. */
		defn = lb_find_defn(name);
		if (defn != NULL && defn->source == source)
			*shared = lb_shared_board_attach(defn, *locked &&
											 !lb_created_here(defn));
		if (*locked)
			UnlockRelationOid(source, AccessShareLock);
		if (defn == NULL || defn->source == source)
			return defn;
	}
}

static void
rebuild_error(const char *name, const char *reason)
{
	ereport(ERROR,
			(errcode(strcmp(reason, LB_TABLE_LOCKED) == 0 ?
					 ERRCODE_LOCK_NOT_AVAILABLE :
					 ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("could not build board \"%s\"", name),
			 reason[0] != '\0' ? errdetail("Reason: %s.", reason) : 0,
			 errhint("Reads of the board run their queries until it is built.")));
}

/*
 * Make or enable the capture triggers of a board's source, if some are missing
 * or do not fire.  Returns false if there was nothing to do.  No worker sees them
 * before we commit; the launcher has the board built then.
 */
static bool
mend_triggers(const char *name)
{
	LbDefinition *defn = lb_find_defn(name);
	LbDefinition **defns;
	int			n;
	Oid			source;

	if (defn == NULL || lb_created_here(defn))
		return false;
	source = defn->source;
	if (lb_is_captured(source))
		return false;
	lb_require_owner(source);
	LockRelationOid(source, ShareRowExclusiveLock);
	defn = lb_find_defn(name);
	if (defn == NULL || defn->source != source ||
		!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		return false;
	lb_require_owner(source);
	if (get_rel_relkind(source) == RELKIND_PARTITIONED_TABLE)
		list_free(find_all_inheritors(source, ShareRowExclusiveLock, NULL));
	lb_resolve_defn(defn);
	if (defn->problem != NULL)
		rebuild_error(name, defn->problem);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (make_triggers(source))
		ereport(NOTICE,
				(errmsg("the capture triggers of table \"%s\" were missing or disabled, and have been put right",
						get_rel_name(source)),
				 errdetail("Its boards are built when the transaction has committed.")));
	SPI_finish();
	n = lb_defns_of(source, &defns);
	for (int i = 0; i < n; i++)
	{
		LbSharedBoard *shared = lb_shared_board_attach(defns[i], false);

		if (shared != NULL)
			lb_shared_board_try_soon(shared);
	}
	return true;
}

static void
rebuild(const char *name)
{
	LbSharedBoard *shared;
	char		reason[LB_MAX_REASON];
	int			tries = 0;

	for (;;)
	{
		bool		locked;
		LbDefinition *defn = attach_board(name, &shared, &locked);

		if (defn == NULL)
			board_not_found(name);
		lb_require_owner(defn->source);
		if (lb_created_here(defn) || lb_altered_here(defn))
			return;				/* it is built when we commit */
		if (shared == NULL && locked)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("could not build board \"%s\"", name),
					 errdetail("The shared memory of \"leaderboard.memory\" is used up."),
					 errhint("Set \"leaderboard.memory\" higher and reload the configuration.")));
		if (shared == NULL)
		{
			/* He may be about to commit. */
			if (++tries == LB_LOCK_TRIES)
			{
				strlcpy(reason, LB_TABLE_LOCKED, LB_MAX_REASON);
				break;
			}
			pg_usleep(10000L);
			CHECK_FOR_INTERRUPTS();
			continue;
		}
		if (lb_wait_build(shared, defn->generation, true, -1) == LB_WAIT_READY)
			return;
		SpinLockAcquire(&shared->mutex);
		strlcpy(reason, shared->reason, LB_MAX_REASON);
		SpinLockRelease(&shared->mutex);

		/* If it is gone, the board may have another one now. */
		if (shared->generation == defn->generation)
			break;
	}
	if (pg_atomic_read_u32(&lb_shared->launcher_pid) == 0)
		strlcpy(reason, "the launcher is not running", LB_MAX_REASON);
	rebuild_error(name, reason);
}

Datum
lb_rebuild(PG_FUNCTION_ARGS)
{
	LbDefinition **defns;
	char	  **names;
	char	   *name;
	int			n;
	List	   *mend = NIL;
	ListCell   *lc;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_rebuild()");
	if (!PG_ARGISNULL(0))
	{
		name = text_to_cstring(PG_GETARG_TEXT_PP(0));
		if (!mend_triggers(name))
			rebuild(name);
		PG_RETURN_VOID();
	}
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
		lb_require_owner(defns[i]->source);
	n = board_names(&names);

	/* Builds take their time: none is waited for with a table locked. */
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = lb_find_defn(names[i]);

		if (defn == NULL || lb_is_captured(defn->source))
			rebuild(names[i]);
		else
			mend = lappend(mend, names[i]);
	}
	foreach(lc, mend)
	{
		if (!mend_triggers(lfirst(lc)))
			rebuild(lfirst(lc));
	}
	PG_RETURN_VOID();
}

Datum
lb_wait_ready(PG_FUNCTION_ARGS)
{
	char	  **names;
	int			n;
	TimestampTz until = DT_NOEND;

	(void) lb_require_catalog();
	if (RecoveryInProgress())
		PG_RETURN_BOOL(false);
	if (!PG_ARGISNULL(0))
		until = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
														TimestampTzGetDatum(GetCurrentTimestamp()),
														PG_GETARG_DATUM(0)));
	n = board_names(&names);
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = NULL;
		LbSharedBoard *shared = NULL;

		for (;;)
		{
			uint32		state = LB_OFFLINE;
			bool		retry = true;
			long		left = -1;

			if (shared == NULL || shared->generation != defn->generation)
			{
				bool		locked;

				defn = attach_board(names[i], &shared, &locked);
				if (defn == NULL)
					break;		/* dropped */
				if (lb_created_here(defn) || (shared == NULL && locked))
					PG_RETURN_BOOL(false);
			}
			if (shared != NULL)
			{
				state = pg_atomic_read_u32(&shared->state);
				SpinLockAcquire(&shared->mutex);
				retry = shared->retry;
				SpinLockRelease(&shared->mutex);
				if (shared->generation != defn->generation)
					continue;
			}

			/* What nobody will build by himself is not waited for. */
			if (state == LB_READY)
				break;
			if (state == LB_OFFLINE && !retry)
				PG_RETURN_BOOL(false);
			if (until != DT_NOEND)
			{
				left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
													   until);
				if (left <= 0)
					PG_RETURN_BOOL(false);
			}
			if (pg_atomic_read_u32(&lb_shared->launcher_pid) == 0 ||
				state == LB_OFFLINE)
			{
				/* It may come, or come back. */
				pg_usleep(10000L);
				CHECK_FOR_INTERRUPTS();
				continue;
			}
			if (lb_wait_build(shared, defn->generation, false, left) ==
				LB_WAIT_FAILED)
			{
				pg_usleep(10000L);
				CHECK_FOR_INTERRUPTS();
			}
		}
	}
	PG_RETURN_BOOL(true);
}


/* ----------------------------------------------------------------
 *		The default tables
 * ----------------------------------------------------------------
 */

/* A default table, and its board. */
typedef struct DefaultTable
{
	const char *name;
	const char *columns;		/* as CREATE TABLE has them */
	const char *index_columns;
	const char *board;
	const char *board_column;	/* or NULL */
} DefaultTable;

static const DefaultTable default_scores = {
	"player_scores",
	"player_id bigint PRIMARY KEY, "
	"score bigint NOT NULL DEFAULT 0, "
	"updated_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(), "
	"ranked boolean NOT NULL DEFAULT true",
	"score DESC, updated_at",
	"global", NULL
};

static const DefaultTable default_windows = {
	"player_score_windows",
	"player_id bigint NOT NULL, "
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
 * been made by the caller's lb_create_tables(): whoever else owns it has its
 * triggers run when the caller submits.
 */
static void
check_default_table(const DefaultTable *table, Oid relid)
{
	static const struct
	{
		const char *name;
		Oid			type;
	}			columns[] = {
		{"player_id", INT8OID},
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
		(!defn->family || strcmp(defn->board_column, table->board_column) == 0))
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
 * What there is of a default table: its OID, or InvalidOid.  Raises if something
 * else has one of the names.
 */
static Oid
find_default_table(const DefaultTable *table, Oid schema, bool score_index)
{
	Oid			relid = get_relname_relid(table->name, schema);
	Oid			index = get_relname_relid(psprintf("%s_score_idx", table->name),
										  schema);

	if (OidIsValid(relid))
		check_default_table(table, relid);
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

/* Make what there is not. */
static void
make_default_table(const DefaultTable *table, Oid schema, Oid relid,
				   bool score_index, const char *extension)
{
	char	   *name = quote_qualified_identifier(get_namespace_name(schema),
												  table->name);

	if (!OidIsValid(relid))
	{
		execute_utility(psprintf("CREATE TABLE %s (%s) WITH (fillfactor = 90)",
								 name, table->columns));
		execute_utility(psprintf("CREATE TRIGGER leaderboard_updated_at BEFORE UPDATE ON %s "
								 "FOR EACH ROW EXECUTE FUNCTION %s.lb_set_updated_at()",
								 name, quote_identifier(extension)));
		relid = get_relname_relid(table->name, schema);
	}
	if (score_index)
		execute_utility(psprintf("CREATE INDEX IF NOT EXISTS %s_score_idx ON %s (%s)",
								 table->name, name, table->index_columns));

	/* Again: the statements above may have waited for other transactions. */
	check_default_board(table, relid);

	/* A table of version 0.1.0 does not have the column. */
	if (lb_find_defn(table->board) == NULL)
		create_board(table->board, relid, "player_id",
					 "score DESC, updated_at ASC", table->board_column,
					 "row_number",
					 get_attnum(relid, "ranked") == InvalidAttrNumber ?
					 NULL : "ranked");
}

Datum
lb_create_tables(PG_FUNCTION_ARGS)
{
	const LbCatalog *cat = lb_require_catalog();
	char	   *extension = get_namespace_name(cat->schema);
	List	   *path = fetch_search_path(false);
	Oid			schema;
	Oid			scores;
	Oid			windows;
	bool		score_index;
	static LbPlan plan;

	if (PG_ARGISNULL(0))
		lb_null_argument("score_index");
	score_index = PG_GETARG_BOOL(0);
	if (path == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("no schema has been selected to create in")));
	schema = linitial_oid(path);
	scores = find_default_table(&default_scores, schema, score_index);
	windows = find_default_table(&default_windows, schema, score_index);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	make_default_table(&default_scores, schema, scores, score_index, extension);
	make_default_table(&default_windows, schema, windows, score_index,
					   extension);

	/*
	 * Windows are opened over a table that has just been made, lest what
	 * somebody has be removed: not over one that was there.  Nor is one that
	 * a board's name hides, as "daily" does or "daily-1".
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

/* What a board takes at most, whatever updates there have been. */
Datum
lb_estimate_memory(PG_FUNCTION_ARGS)
{
	int64		members = PG_GETARG_INT64(0);
	int32		columns = PG_GETARG_INT32(1);

	if (members < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: " INT64_FORMAT,
						"members", members)));
	if (columns < 1 || columns > LB_MAX_RANK_COLUMNS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d",
						"columns", columns),
				 errhint("A board ranks by 1 to %d columns.",
						 LB_MAX_RANK_COLUMNS)));

	/* With all columns a member takes about half of that. */
	if (members > PG_INT64_MAX / 256)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range")));
	PG_RETURN_INT64((LB_CHUNK_SIZE << LB_BOARD_ORDER) +
					(int64) lb_index_estimate(members, columns + 1));
}


/* ----------------------------------------------------------------
 *		Triggers of the extension's own
 * ----------------------------------------------------------------
 */

/*
 * Who writes to the source without knowing what is recorded of it captures
 * nothing for its boards: wait until he has ended, and let the next one wait
 * for us.  In a restore there are no triggers yet, and COPY may take hours.
 */
static void
lock_captured(Oid source)
{
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)) ||
		!lb_has_row_trigger(source))
		return;
	LockRelationOid(source, ShareRowExclusiveLock);
	if (get_rel_relkind(source) == RELKIND_PARTITIONED_TABLE)
		list_free(find_all_inheritors(source, ShareRowExclusiveLock, NULL));
}

/*
 * A definition is taken away or replaced.  If that is not the doing of our
 * functions, its index must not be found again by a row with the same number.
 */
static void
erase_defn(LbDefinition *defn)
{
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(defn->source)))
		lb_note_erased(defn);
}

static void
erase_recorded(Oid lb_board, int32 id)
{
	LbDefinition *defn;

	/* First, since it does not need the cache. */
	if (lb_dropped_here(lb_board, id))
		return;
	defn = lb_defn_by_id(id);
	if (defn != NULL)
		erase_defn(defn);
}

/*
 * A board is gone, or has another table: what its name stood for in other tables
 * of the extension goes too.
 */
static void
end_name(const char *board)
{
	bool		windows = strcmp(board, "*") == 0;

	if (!windows && strcmp(board, "global") != 0)
		return;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	lb_limits_end(windows);
	if (windows)
		lb_windows_end();
	SPI_finish();
}

/*
 * The extension's table was written to: every backend must read it again.  For
 * each row, since no other triggers are fired for what a worker of logical
 * replication applies.
 */
Datum
lb_board_changed(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	const LbCatalog *cat;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"lb_board_changed")));
	cat = lb_shared == NULL ? NULL : lb_catalog();
	if (cat != NULL && cat->version_ok &&
		cat->lb_board == RelationGetRelid(trigger->tg_relation))
	{
		if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
		{
			LbDefinition **defns;
			int			n = lb_all_defns(&defns);
			Oid		   *sources = palloc(Max(1, n) * sizeof(Oid));

			/* A lock can make the definitions be read again. */
			for (int i = 0; i < n; i++)
				sources[i] = defns[i]->source;
			for (int i = 0; i < n; i++)
				lock_captured(sources[i]);
			n = lb_all_defns(&defns);
			for (int i = 0; i < n; i++)
			{
				if (!lb_dropped_here(defns[i]->catalog, defns[i]->id))
					erase_defn(defns[i]);
			}
			end_name("global");
			end_name("*");
		}
		else if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		{
			Oid			source;
			Oid			new_source;
			int32		id = lb_recorded_id(trigger->tg_trigslot, &source);
			char	   *name = lb_recorded_name(trigger->tg_trigslot);

			lock_captured(source);
			if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
				erase_recorded(RelationGetRelid(trigger->tg_relation), id);
			if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
			{
				(void) lb_recorded_id(trigger->tg_newslot, &new_source);
				lock_captured(new_source);
				if (new_source != source ||
					strcmp(name, lb_recorded_name(trigger->tg_newslot)) != 0)
					end_name(name);
			}
			else if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
				end_name(name);
		}
	}
	CacheInvalidateRelcache(trigger->tg_relation);
	PG_RETURN_POINTER(NULL);
}

/*
 * After a DROP: forget the boards whose tables are gone, or a dump would hold
 * rows that cannot be restored.
 */
Datum
lb_on_drop(PG_FUNCTION_ARGS)
{
	const LbCatalog *cat;
	LbDefinition **defns;
	int			n;
	Datum	   *gone;
	int			ngone = 0;
	Oid			looked = InvalidOid;
	bool		exists = false;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"lb_on_drop")));
	cat = lb_catalog();
	if (cat == NULL || !cat->version_ok)
		PG_RETURN_NULL();
	n = lb_all_defns(&defns);
	gone = palloc(Max(1, n) * sizeof(Datum));
	for (int i = 0; i < n; i++)
	{
		/* Boards of one table often have names that are alike. */
		if (defns[i]->source != looked)
		{
			looked = defns[i]->source;
			exists = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(looked));
		}
		if (!exists)
			gone[ngone++] = Int32GetDatum(defns[i]->id);
	}
	if (ngone > 0)
	{
		Oid			types[] = {INT4ARRAYOID};
		Datum		values[1];

		values[0] = lb_make_array(INT4OID, gone, NULL, ngone);
		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");

		/* All at once: each statement has every session read lb_board again. */
		(void) lb_own_run_latest("DELETE FROM @.lb_board WHERE id OPERATOR(pg_catalog.=) ANY ($1)",
								 1, types, values, NULL);
		SPI_finish();
	}
	PG_RETURN_NULL();
}
