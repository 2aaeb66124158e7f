/*-------------------------------------------------------------------------
 *
 * words.c
 *	  What servers ask the boards of shards, and what these answer.
 *
 * Keys travel as the words that boards hold (keys.h), not as texts: they are
 * compared without the types' functions, and no setting of a session changes
 * them.  Citus sends parameters as text, for each shard anew, and a bytea
 * takes much less time for that than an array of bigint.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "port/pg_crc32c.h"

#include "citus/words.h"
#include "util/compat.h"

int32
lb_keys_hash(const LbDefinition *defn)
{
	StringInfoData buf;
	pg_crc32c	hash;

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

	/* Unlike hash_bytes(), the same whatever the byte order of the server. */
	INIT_CRC32C(hash);
	COMP_CRC32C(hash, buf.data, buf.len);
	FIN_CRC32C(hash);
	pfree(buf.data);
	return (int32) hash;
}

Datum
lb_words_datum(const int64 *words, int n)
{
	Size		size = VARHDRSZ + n * sizeof(int64);
	bytea	   *result = palloc(size);
	char	   *at = VARDATA(result);

	SET_VARSIZE(result, size);
	for (int i = 0; i < n; i++)
	{
		uint64		word = pg_hton64((uint64) words[i]);

		CHECK_FOR_INTERRUPTS();
		memcpy(at, &word, sizeof(word));
		at += sizeof(word);
	}
	return PointerGetDatum(result);
}

LbWords
lb_datum_words(Datum datum)
{
	bytea	   *value = DatumGetByteaPP(datum);
	Size		size = VARSIZE_ANY_EXHDR(value);
	const char *at = VARDATA_ANY(value);
	int64	   *words;
	LbWords		result;

	if (size % sizeof(int64) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("not a number of whole words")));
	result.n = (int) (size / sizeof(int64));
	result.words = words = palloc(Max(1, size));
	for (int i = 0; i < result.n; i++)
	{
		uint64		word;

		CHECK_FOR_INTERRUPTS();
		memcpy(&word, at, sizeof(word));
		words[i] = (int64) pg_ntoh64(word);
		at += sizeof(word);
	}
	return result;
}
