/*-------------------------------------------------------------------------
 *
 * member.h
 *	  Members between SQL and keys.
 *
 * Read functions take and return a member as a value of one type, whatever
 * integer type the column has: bigint.  Keys have it as the definition's
 * member_words words.  All that depends on the type is here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEMBER_H
#define LB_MEMBER_H

#include "postgres.h"

#include "catalog/pg_type_d.h"

#include "boards/definition.h"

/* The type, an array of it, and its qualified name. */
static inline Oid
lb_member_type(const LbDefinition *defn)
{
	Assert(defn->member_words == 1);
	return INT8OID;
}

static inline Oid
lb_member_array_type(const LbDefinition *defn)
{
	Assert(defn->member_words == 1);
	return INT8ARRAYOID;
}

static inline const char *
lb_member_type_name(const LbDefinition *defn)
{
	Assert(defn->member_words == 1);
	return "pg_catalog.int8";
}

/* The words of a member. */
static inline void
lb_member_words(const LbDefinition *defn, Datum value, int64 *member)
{
	Assert(defn->member_words == 1);
	member[0] = DatumGetInt64(value);
}

/* And back. */
static inline Datum
lb_member_datum(const LbDefinition *defn, const int64 *member)
{
	Assert(defn->member_words == 1);
	return Int64GetDatum(member[0]);
}

#endif							/* LB_MEMBER_H */
