/*-------------------------------------------------------------------------
 *
 * nearest.c
 *	  The name that a mistyped one was meant for.
 *
 * PostgreSQL suggests a column by the same distance, but a less near one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/varlena.h"

#include "util/nearest.h"

/* As many characters may differ, and at most a third of the name. */
#define MOST_DIFFERENT 4

/* varstr_levenshtein_less_equal() takes no longer ones. */
#define MOST_BYTES 255

void
lb_nearest_try(LbNearest *nearest, const char *name)
{
	int			len = strlen(nearest->given);
	int			most = Min(MOST_DIFFERENT, (len + 1) / 3);
	int			distance;

	if (nearest->distance >= 0)
		most = Min(most, nearest->distance - 1);
	if (most < 1 || len > MOST_BYTES || strlen(name) > MOST_BYTES)
		return;
	distance = varstr_levenshtein_less_equal(nearest->given, len,
											 name, strlen(name), 1, 1, 1,
											 most, true);

	/* A name that is there can be unknown all the same where it is given. */
	if (distance > most || distance == 0)
		return;
	nearest->distance = distance;
	nearest->name = pstrdup(name);
}

const char *
lb_nearest_hint(const LbNearest *nearest)
{
	return nearest->name == NULL ? "" :
		psprintf("Perhaps you meant \"%s\". ", nearest->name);
}
