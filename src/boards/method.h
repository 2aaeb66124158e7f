/*-------------------------------------------------------------------------
 *
 * method.h
 *	  The ranking methods and their names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_METHOD_H
#define LB_METHOD_H

typedef enum LbMethod
{
	LB_ROW_NUMBER,
	LB_RANK,
	LB_DENSE_RANK
} LbMethod;

/* By LbMethod. */
extern const char *const lb_method_names[];

/* The method of that name; false if there is none. */
extern bool lb_find_method(const char *name, LbMethod *method);

/* The method of a name; raises 22023 if there is none. */
extern LbMethod lb_method_from_text(const char *name);

#endif							/* LB_METHOD_H */
