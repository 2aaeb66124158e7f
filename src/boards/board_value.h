/*-------------------------------------------------------------------------
 *
 * board_value.h
 *	  The values of board columns, and the names of a family's boards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BOARD_VALUE_H
#define LB_BOARD_VALUE_H

#include "boards/definition.h"

/* Room for a value that is not text, and for that of a row. */
#define LB_VALUE_ROOM 40
#define LB_ROW_ROOM (LB_MAX_VALUE + 1)

/*
 * For the types of board columns, LbType.value: fills in the value of a
 * datum.  It points into the datum, or into room, which has LB_VALUE_ROOM
 * bytes.  Does not raise; can palloc what it leaves to its memory context.
 */
extern void lb_text_value(const LbColumn *column, Datum datum,
						  LbValue *value, char *room);
extern void lb_int_value(const LbColumn *column, Datum datum,
						 LbValue *value, char *room);
extern void lb_uuid_value(const LbColumn *column, Datum datum,
						  LbValue *value, char *room);
extern void lb_date_value(const LbColumn *column, Datum datum,
						  LbValue *value, char *room);
extern void lb_bool_value(const LbColumn *column, Datum datum,
						  LbValue *value, char *room);
extern void lb_enum_value(const LbColumn *column, Datum datum,
						  LbValue *value, char *room);

/*
 * And LbType.is_value: whether a text is how the type's output function writes
 * a value, dates as ISO 8601 has them.
 */
extern bool lb_is_int_value(const LbColumn *column, const LbValue *value);
extern bool lb_is_uuid_value(const LbColumn *column, const LbValue *value);
extern bool lb_is_date_value(const LbColumn *column, const LbValue *value);
extern bool lb_is_bool_value(const LbColumn *column, const LbValue *value);
extern bool lb_is_enum_value(const LbColumn *column, const LbValue *value);

/*
 * The value of a family's board columns.  It points into one of the values, or
 * into room, which has LB_ROW_ROOM bytes; if that of several columns is too
 * long for it, it is cut, and longer than LB_MAX_VALUE.  Does not raise; can
 * palloc as LbType.value.
 */
extern void lb_board_value(const LbDefinition *defn, const Datum *values,
						   LbValue *value, char *room);

/*
 * Whether the values of a family's boards are the texts of one column, so that
 * any name can be one; also if its type is not known.
 */
extern bool lb_has_text_values(const LbDefinition *defn);

/*
 * What stands in a name as the value that it means, palloc'd where that is
 * another one, in a family whose board columns have types.  Returns false if
 * no board can have that name.  Raises what a catalog lookup can raise.
 */
extern bool lb_value_from_name(const LbDefinition *defn, LbValue *value);

/*
 * And back, palloc'd, or NULL if the type does not have that value.  Raises
 * what a catalog lookup can raise.
 */
extern char *lb_value_to_name(const LbDefinition *defn, const LbValue *value);

/*
 * The texts of the board columns in a name, palloc'd, or NULL if the name is
 * none of the family's.  With one column, the name is the text.
 */
extern char **lb_texts_of_name(const LbDefinition *defn, const char *name);

/*
 * The length of what the names of windows in a family begin with: 0 for "*",
 * all of it for "kills/".  The values of these families are names as a whole.
 * -1 for any other board's name.
 */
extern int	lb_windows_prefix(const char *family);

/* The name of a family's board with that value, palloc'd.  Raises likewise. */
extern char *lb_family_board_name(const LbDefinition *defn,
								  const LbValue *value);

#endif							/* LB_BOARD_VALUE_H */
