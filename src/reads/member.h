/*-------------------------------------------------------------------------
 *
 * member.h
 *	  Members between SQL and keys.
 *
 * Read functions take and return a member as a value of the type that the
 * column's type is shown as: bigint, whatever integer type the column has.  Keys
 * have it as the definition's member_words words.  The table of types knows how
 * to convert it.  A bigint is its word, and is converted without a call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEMBER_H
#define LB_MEMBER_H

#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"

#include "boards/definition.h"

static inline bool
lb_member_is_bigint(const LbDefinition *defn)
{
	return likely(defn->member_type->oid == INT8OID);
}

/* The words of a member.  Does not raise. */
static inline void
lb_member_words(const LbDefinition *defn, Datum value, int64 *member)
{
	if (lb_member_is_bigint(defn))
		member[0] = DatumGetInt64(value);
	else
		defn->member_type->encode(value, member);
}

/* And back; palloc'd if the type is passed by reference. */
static inline Datum
lb_member_datum(const LbDefinition *defn, const int64 *member)
{
	return lb_member_is_bigint(defn) ? Int64GetDatum(member[0]) :
		defn->member_type->decode(member);
}

/*
 * Write a member as JSON to where there is room for member_type->json_len bytes.
 * Returns the length.
 */
static inline int
lb_member_to_json(const LbDefinition *defn, const int64 *member, char *json)
{
	return lb_member_is_bigint(defn) ? pg_lltoa(member[0], json) :
		defn->member_type->to_json(member, json);
}

#endif							/* LB_MEMBER_H */
