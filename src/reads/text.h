/*-------------------------------------------------------------------------
 *
 * text.h
 *	  Members and scores as text, in the input and output form of their types.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TEXT_H
#define LB_TEXT_H

#include "postgres.h"

#include "fmgr.h"

#include "boards/definition.h"
#include "util/compat.h"

/*
 * A value of a type from text, and back.  The value is without a modifier: the
 * text of a varchar(3) can be longer.  Palloc'd, or the same datum.  Raises
 * what the type's input function raises.  Sessions with other settings take
 * the text for the same value.
 */
extern Datum lb_value_from_text(const LbType *type, Datum t);
extern Datum lb_value_to_text(const LbType *type, Datum value);

/*
 * An argument that is text in one signature of a function and of any type in
 * another: the type of its value, and the value in that type.  It is text, or
 * a type that lb_value_from() takes.  A value of another type, such as a row,
 * becomes text, so that nothing that converts it later looks up catalogs.
 * Raises 42804 if it is an array, and what the type's output function raises.
 */
extern Oid	lb_take_argument(FunctionCallInfo fcinfo, int argument,
							 Datum *value);

/*
 * The value of a type from one of the type that lb_take_argument() has
 * returned, and the values of a member: through text, unless it has the type
 * already.
 */
extern Datum lb_value_from(const LbType *type, Oid given, Datum value);
extern void lb_member_from(const LbDefinition *defn, Oid given, Datum value,
						   Datum *values, bool *nulls);

/*
 * Call a function whose first argument is such a one, with that argument as
 * text: body(fcinfo, true).
 */
extern Datum lb_call_with_text(FunctionCallInfo fcinfo,
							   Datum (*body) (FunctionCallInfo fcinfo,
											  bool as_text));

/*
 * Set what texts of values depend on, so that they are the same in all
 * sessions: also the time zone of times.  Until AtEOXact_GUC() of what is
 * returned.
 */
extern int	lb_begin_texts(void);

/*
 * An argument that is being converted, and its function, without _key.  For a
 * field of a submit in JSON the function is NULL.
 */
typedef struct LbArgument
{
	const char *name;
	const char *function;
} LbArgument;

/* An ErrorContextCallback for that; arg is an LbArgument. */
extern void lb_argument_context(void *arg);

/*
 * Raise 42804: the function takes or returns bigint, and the column of members
 * or scores is not of an integer type.  function is without _key.
 */
pg_noreturn extern void lb_raise_mistyped(const LbDefinition *defn,
										  const LbColumn *column,
										  const char *function);

/*
 * A member of several columns is text as a row is.  Converting the first one
 * in a while looks up catalogs: lb_member_ready() does that beforehand.  It
 * returns false if it may have processed an invalidation, so that the
 * definition must be looked up again.
 */
extern bool lb_member_ready(const LbDefinition *defn);

/*
 * The nmember values of a member from text, and back.  A member with a null
 * among them is on no board.
 */
extern void lb_member_from_text(const LbDefinition *defn, Datum t,
								Datum *values, bool *nulls);
extern Datum lb_member_to_text(const LbDefinition *defn, const Datum *values,
							   const bool *nulls);

/*
 * The value of a member of an integer type.  Returns false if the type does
 * not have it.
 */
extern bool lb_member_from_bigint(const LbDefinition *defn, int64 n,
								  Datum *value);

/*
 * The words of a member in a key; returns how many, or 0 if no key has the
 * member.  words has room for LB_MAX_KEY_WORDS.
 */
extern int	lb_encode_member(const LbDefinition *defn, const Datum *values,
							 int64 *words);

/* And back: nmember values, palloc'd where a type is by reference. */
extern void lb_decode_member(const LbDefinition *defn, const int64 *words,
							 Datum *values);

/* The text of a member's words. */
extern Datum lb_member_words_to_text(const LbDefinition *defn,
									 const int64 *words);

/*
 * A score as an integer is the word that a key of an ascending column would
 * have.  A value of the column's type that the column, which takes one word,
 * could not hold is between two of these: floor and ceil; otherwise these are
 * the same.
 */
extern void lb_word_from_value(const LbColumn *column, Datum value,
							   int64 *floor, int64 *ceil);
extern Datum lb_score_to_value(const LbDefinition *defn, int64 score);
extern Datum lb_score_to_text(const LbDefinition *defn, int64 score);

/*
 * The values of a row's tie-breakers as an array of texts that every session
 * takes for the same values.  Palloc'd.
 */
extern Datum lb_ties_to_text(const LbDefinition *defn, const Datum *values);

#endif							/* LB_TEXT_H */
