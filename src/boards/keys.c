/*-------------------------------------------------------------------------
 *
 * keys.c
 *	  The columns of a board, and their names in SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "boards/keys.h"

const char *
lb_sql_type(const LbColumn *column)
{
	return column->type->oid == column->oid ?
		psprintf("pg_catalog.%s", column->type->name) :
		format_type_be_qualified(column->oid);
}

const char *
lb_quoted(const LbColumn *column)
{
	return quote_identifier(column->name);
}
