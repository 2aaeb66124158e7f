/*-------------------------------------------------------------------------
 *
 * section.c
 *	  Sections of a board, and how a shard's server sends them.
 *
 * Keys travel as the words that boards hold (keys.h), not as texts: they are compared
 * without the types' functions, and no setting of a session changes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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
