/*-------------------------------------------------------------------------
 *
 * section.c
 *	  What servers ask the boards of shards, and what these answer.
 *
 * Keys travel as the words that boards hold (keys.h), not as texts: they are compared
 * without the types' functions, and no setting of a session changes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "reads/section.h"

int32
lb_keys_hash(const LbDefinition *defn)
{
	StringInfoData buf;
	uint32		hash;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%d", GetDatabaseEncoding());
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbColumn *column = &defn->columns[i];

		appendStringInfo(&buf, "|%d%d%d %u %s", column->role,
						 column->descending, column->scale,
						 column->type == NULL ? InvalidOid : column->type->oid,
						 column->name);
	}
	hash = hash_bytes((const unsigned char *) buf.data, buf.len);
	pfree(buf.data);
	return (int32) hash;
}

Datum
lb_bigint_array(const int64 *elements, int n)
{
	Size		size = ARR_OVERHEAD_NONULLS(1) + n * sizeof(int64);
	ArrayType  *array;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(INT8OID));
	array = palloc(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = INT8OID;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	memcpy(lb_bigint_elements(array), elements, n * sizeof(int64));
	return PointerGetDatum(array);
}
