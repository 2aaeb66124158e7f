/*-------------------------------------------------------------------------
 *
 * player.c
 *	  Players: members of the boards that scores are submitted to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "service/player.h"

/* The longest player that is text, in bytes: a longer one is on no board. */
#define MAX_PLAYER 512

static const LbPlayerType types[] = {
	{INT8OID, INT8ARRAYOID, "int8", "bigint"},
	{UUIDOID, UUIDARRAYOID, "uuid", "uuid"},
	{TEXTOID, TEXTARRAYOID, "text", "text"}
};

/* The same by the type that domains are of. */
static const LbPlayerType *
find_type(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return &types[0];
		case UUIDOID:
			return &types[1];
		case VARCHAROID:
		case TEXTOID:
			return &types[2];
		default:
			return NULL;
	}
}

const LbPlayerType *
lb_player_type_of(Oid type)
{
	return find_type(getBaseType(type));
}

const LbPlayerType *
lb_player_type(const LbDefinition *defn)
{
	const LbType *type = lb_member_columns(defn)->type;

	return type == NULL || defn->nmember > 1 ? NULL : find_type(type->oid);
}

const LbPlayerType *
lb_require_player_type(const LbDefinition *defn)
{
	const LbPlayerType *type = lb_player_type(defn);

	if (type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("members of board \"%s\" cannot be players", defn->name),
				 errdetail("A player is one column of an integer type, uuid, text or varchar.")));
	return type;
}

static void
add_context(void *arg)
{
	errcontext("argument \"%s\"", (const char *) arg);
}

static Datum
from_text(const LbPlayerType *type, text *value, const char *name)
{
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = add_context,
		.arg = unconstify(char *, name)
	};
	Oid			input;
	Oid			param;
	Datum		player;

	if (type->oid == TEXTOID)
	{
		if (VARSIZE_ANY_EXHDR(value) > MAX_PLAYER)
			ereport(ERROR,
					(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
					 errmsg("argument \"%s\" is too long", name),
					 errdetail("It has %d bytes, the most is %d.",
							   (int) VARSIZE_ANY_EXHDR(value), MAX_PLAYER)));
		return PointerGetDatum(value);
	}
	getTypeInputInfo(type->oid, &input, &param);
	error_context_stack = &context;
	player = OidInputFunctionCall(input, text_to_cstring(value), param, -1);
	error_context_stack = context.previous;
	return player;
}

Datum
lb_player_from(const LbPlayerType *type, Datum argument, const char *name,
			   const char *twin)
{
	if (twin == NULL)
		return from_text(type, DatumGetTextPP(argument), name);
	if (type->oid != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("players are of type %s, not bigint", type->sql_name),
				 errhint("Use %s(), which takes them as text.", twin)));
	return argument;
}

text *
lb_player_to_text(const LbPlayerType *type, Datum player)
{
	char		digits[MAXINT8LEN + 1];
	Oid			output;
	bool		varlena;

	if (type->oid == INT8OID)
		return cstring_to_text_with_len(digits,
										pg_lltoa(DatumGetInt64(player), digits));
	if (type->oid == TEXTOID)
		return DatumGetTextPP(player);
	getTypeOutputInfo(type->oid, &output, &varlena);
	return cstring_to_text(OidOutputFunctionCall(output, player));
}

FmgrInfo *
lb_player_order(const LbPlayerType *type)
{
	return &lookup_type_cache(type->oid,
							  TYPECACHE_CMP_PROC_FINFO)->cmp_proc_finfo;
}
