/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Names that differ between versions of PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COMPAT_H
#define LB_COMPAT_H

#include "catalog/pg_attribute.h"

/* Version 16 has the macros of varlena types apart from postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Version 16 has one function for all kinds of objects. */
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"

#define pg_namespace_aclcheck(oid, role, mode) \
	object_aclcheck(NamespaceRelationId, oid, role, mode)
#define pg_proc_aclcheck(oid, role, mode) \
	object_aclcheck(ProcedureRelationId, oid, role, mode)
#define pg_class_ownercheck(oid, role) \
	object_ownercheck(RelationRelationId, oid, role)
#endif

/* Version 16 can report errors without raising them. */
#if PG_VERSION_NUM >= 160000
#define LB_PARSE_TYPE(name, type, typmod) \
	parseTypeString(name, type, typmod, NULL)
#else
#define LB_PARSE_TYPE(name, type, typmod) \
	parseTypeString(name, type, typmod, false)
#endif

/* Version 17 can ask for stronger locks as well. */
#if PG_VERSION_NUM >= 170000
#define LB_LOCK_HELD_BY_ME(tag, mode) LockHeldByMe(tag, mode, false)
#else
#define LB_LOCK_HELD_BY_ME(tag, mode) LockHeldByMe(tag, mode)
#endif

/* Version 17 has the target of a statistics object as a smallint. */
#if PG_VERSION_NUM >= 170000
#define LB_STATISTICS_TARGET(target) Int16GetDatum(target)
#else
#define LB_STATISTICS_TARGET(target) Int32GetDatum(target)
#endif

/* Version 19 has workers of more kinds. */
#if PG_VERSION_NUM >= 190000
#define LB_FIND_APPLY_WORKER(subscription) \
	logicalrep_worker_find(WORKERTYPE_APPLY, subscription, InvalidOid, true)
#else
#define LB_FIND_APPLY_WORKER(subscription) \
	logicalrep_worker_find(subscription, InvalidOid, true)
#endif

/* Version 17 has another name for the shared state of transactions. */
#if PG_VERSION_NUM >= 170000
#define LB_TRANSAM TransamVariables
#else
#define LB_TRANSAM ShmemVariableCache
#endif

/* Version 18 has another name for it. */
#if PG_VERSION_NUM >= 180000
#define LB_STARTUP_INTERRUPTS() ProcessStartupProcInterrupts()
#else
#define LB_STARTUP_INTERRUPTS() HandleStartupProcInterrupts()
#endif

/* Version 18 has it as a prefix, and no longer as a suffix. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* Version 18 has generated columns that are not stored, nor are in a tuple. */
#ifdef ATTRIBUTE_GENERATED_VIRTUAL
#define LB_VIRTUAL_COLUMN(generated) \
	((generated) == ATTRIBUTE_GENERATED_VIRTUAL)
#else
#define LB_VIRTUAL_COLUMN(generated) false
#endif

/* Version 16 can do with only the indexes that summarize, 19 has flags. */
#if PG_VERSION_NUM >= 190000
#define LB_INSERT_INDEX_TUPLES(rri, slot, estate) \
	ExecInsertIndexTuples(rri, estate, 0, slot, NIL, NULL)
#elif PG_VERSION_NUM >= 160000
#define LB_INSERT_INDEX_TUPLES(rri, slot, estate) \
	ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL, false)
#else
#define LB_INSERT_INDEX_TUPLES(rri, slot, estate) \
	ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL)
#endif

/* Version 16 can skip columns that are missing. */
#if PG_VERSION_NUM >= 160000
#define LB_BUILD_ATTRMAP(in, out) build_attrmap_by_name(in, out, false)
#else
#define LB_BUILD_ATTRMAP(in, out) build_attrmap_by_name(in, out)
#endif

/* Version 18 counts searches, 19 has flags. */
#if PG_VERSION_NUM >= 190000
#define LB_INDEX_BEGINSCAN(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, 0, SO_NONE)
#elif PG_VERSION_NUM >= 180000
#define LB_INDEX_BEGINSCAN(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, 0)
#else
#define LB_INDEX_BEGINSCAN(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, nkeys, 0)
#endif

/* Version 19 has flags for these too. */
#if PG_VERSION_NUM >= 190000
#define LB_TABLE_BEGINSCAN(rel, snapshot) \
	table_beginscan(rel, snapshot, 0, NULL, SO_NONE)
#define LB_TABLE_BEGINSCAN_PARALLEL(rel, shared) \
	table_beginscan_parallel(rel, shared, SO_NONE)
#define LB_INDEX_FETCH_BEGIN(rel) table_index_fetch_begin(rel, SO_NONE)
#define LB_INIT_SCAN_SLOT(estate, scan, desc, ops) \
	ExecInitScanTupleSlot(estate, scan, desc, ops, 0)
#else
#define LB_TABLE_BEGINSCAN(rel, snapshot) \
	table_beginscan(rel, snapshot, 0, NULL)
#define LB_TABLE_BEGINSCAN_PARALLEL(rel, shared) \
	table_beginscan_parallel(rel, shared)
#define LB_INDEX_FETCH_BEGIN(rel) table_index_fetch_begin(rel)
#define LB_INIT_SCAN_SLOT(estate, scan, desc, ops) \
	ExecInitScanTupleSlot(estate, scan, desc, ops)
#endif

/* From version 16 on a short read raises, but for this. */
#if PG_VERSION_NUM >= 160000
#define LB_BUFFILE_READ(file, to, size) \
	BufFileReadMaybeEOF(file, to, size, true)
#else
#define LB_BUFFILE_READ(file, to, size) BufFileRead(file, to, size)
#endif

/*
 * Version 19 needs this call after the last TupleDescInitEntry(), and crashes
 * without it.
 */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) (desc))
#endif

/*
 * Version 19 tells the planner's hooks which EXPLAIN has asked for the plan.
 */
#if PG_VERSION_NUM >= 190000
#define LB_EXPLAIN_PARAM , struct ExplainState *explain
#define LB_EXPLAIN_ARG , explain
#else
#define LB_EXPLAIN_PARAM
#define LB_EXPLAIN_ARG
#endif

#if PG_VERSION_NUM >= 190000
#define LB_PLAN_QUERY(query, text, options) \
	pg_plan_query(query, text, options, NULL, NULL)
#else
#define LB_PLAN_QUERY(query, text, options) \
	pg_plan_query(query, text, options, NULL)
#endif

/* Version 16 has the privileges that a plan needs apart from its tables. */
#if PG_VERSION_NUM >= 160000
#define LB_CHECK_PERMISSIONS(stmt, raise) \
	ExecCheckPermissions((stmt)->rtable, (stmt)->permInfos, raise)
#else
#define LB_CHECK_PERMISSIONS(stmt, raise) \
	ExecCheckRTPerms((stmt)->rtable, raise)
#endif

/* Version 18 can leave room before it. */
#if PG_VERSION_NUM >= 180000
#define LB_FORM_MINIMAL_TUPLE(desc, values, nulls) \
	heap_form_minimal_tuple(desc, values, nulls, 0)
#else
#define LB_FORM_MINIMAL_TUPLE(desc, values, nulls) \
	heap_form_minimal_tuple(desc, values, nulls)
#endif

/* Version 18 has constraints that are not valid yet. */
#if PG_VERSION_NUM >= 180000
#define LB_NOT_NULL(desc, i) \
	(TupleDescCompactAttr(desc, i)->attnullability == ATTNULLABLE_VALID)
#else
#define LB_NOT_NULL(desc, i) (TupleDescAttr(desc, i)->attnotnull)
#endif

/*
 * Version 18 has numbers for comparisons of all access methods, the same ones.
 */
#if PG_VERSION_NUM >= 180000
#define LB_ROW_STRATEGY(row) ((int) (row)->cmptype)
#else
#define LB_ROW_STRATEGY(row) ((int) (row)->rctype)
#endif

#if PG_VERSION_NUM >= 180000
#define LB_PATHKEY_STRATEGY(key) ((int) (key)->pk_cmptype)
#else
#define LB_PATHKEY_STRATEGY(key) ((key)->pk_strategy)
#endif

/* Version 18 lists the members that are columns of a child apart. */
#if PG_VERSION_NUM >= 180000
#define LB_CHILD_MEMBERS(ec, relid) \
	((int) (relid) < (ec)->ec_childmembers_size ? \
	 (ec)->ec_childmembers[relid] : NIL)
#else
#define LB_CHILD_MEMBERS(ec, relid) NIL
#endif

/* Version 16 knows by itself what outer joins make null. */
#if PG_VERSION_NUM >= 160000
#define LB_EXPRESSION_PATHKEY(root, expr, op, relids) \
	build_expression_pathkey(root, expr, op, relids, false)
#else
#define LB_EXPRESSION_PATHKEY(root, expr, op, relids) \
	build_expression_pathkey(root, expr, NULL, op, relids, false)
#endif

/*
 * Whether a collation orders by bytes.  The header would include those of ICU,
 * which need not be installed.  Version 18 asks the locale.
 */
#undef USE_ICU
#include "utils/pg_locale.h"

#if PG_VERSION_NUM >= 180000
#define LB_COLLATES_BYTES(collation) \
	(pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define LB_COLLATES_BYTES(collation) lc_collate_is_c(collation)
#endif

/* Version 18 counts the disabled nodes of a path apart from its cost. */
#if PG_VERSION_NUM >= 180000
#define LB_CHEAPER(a, b) \
	((a)->disabled_nodes < (b)->disabled_nodes || \
	 ((a)->disabled_nodes == (b)->disabled_nodes && \
	  (a)->total_cost < (b)->total_cost))
#else
#define LB_CHEAPER(a, b) ((a)->total_cost < (b)->total_cost)
#endif

#if PG_VERSION_NUM >= 180000
#define LB_IS_DISABLED(path) ((path)->disabled_nodes > 0)
#else
#define LB_IS_DISABLED(path) ((path)->total_cost >= disable_cost)
#endif

/* Version 16 has constructors of JSON, and dates that are added in a zone. */
#if PG_VERSION_NUM >= 160000
#define LB_JSON_CONSTRUCTOR_ARGS(node) \
	(IsA(node, JsonConstructorExpr) ? ((JsonConstructorExpr *) (node))->args : NIL)
#define LB_ADDS_IN_ZONE(function) \
	((function) == F_DATE_ADD_TIMESTAMPTZ_INTERVAL_TEXT || \
	 (function) == F_DATE_SUBTRACT_TIMESTAMPTZ_INTERVAL_TEXT)
#else
#define LB_JSON_CONSTRUCTOR_ARGS(node) NIL
#define LB_ADDS_IN_ZONE(function) false
#endif

#endif							/* LB_COMPAT_H */
