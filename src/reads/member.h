/*-------------------------------------------------------------------------
 *
 * member.h
 *	  Members between SQL and keys.
 *
 * The read functions serve members of one column of an integer type, and take
 * and return them as bigint, which is their word.
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
	return defn->plain_member;
}

/* The words of a member.  Does not raise. */
static inline void
lb_member_words(const LbDefinition *defn, Datum value, int64 *member)
{
	Assert(lb_member_is_bigint(defn));
	member[0] = DatumGetInt64(value);
}

/* And back. */
static inline Datum
lb_member_datum(const LbDefinition *defn, const int64 *member)
{
	Assert(lb_member_is_bigint(defn));
	return Int64GetDatum(member[0]);
}

/*
 * Write a member as JSON to where there is room for MAXINT8LEN + 1 bytes.
 * Returns the length.
 */
static inline int
lb_member_to_json(const LbDefinition *defn, const int64 *member, char *json)
{
	Assert(lb_member_is_bigint(defn));
	return pg_lltoa(member[0], json);
}

#endif							/* LB_MEMBER_H */
