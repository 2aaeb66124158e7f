/*-------------------------------------------------------------------------
 *
 * method.c
 *	  The ranking methods and their names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/method.h"

const char *const lb_method_names[] = {
	[LB_ROW_NUMBER] = "row_number",
	[LB_RANK] = "rank",
	[LB_DENSE_RANK] = "dense_rank",
};

bool
lb_find_method(const char *name, LbMethod *method)
{
	for (int m = 0; m < (int) lengthof(lb_method_names); m++)
	{
		if (strcmp(name, lb_method_names[m]) == 0)
		{
			*method = m;
			return true;
		}
	}
	return false;
}

LbMethod
lb_method_from_text(const char *name)
{
	LbMethod	method;

	if (!lb_find_method(name, &method))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown ranking method \"%s\"", name),
				 errhint("The methods are \"row_number\", \"rank\" and \"dense_rank\".")));
	return method;
}
