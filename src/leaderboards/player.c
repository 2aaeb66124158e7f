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
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "boards/resolve.h"
#include "boards/types.h"
#include "leaderboards/player.h"

const LbType *
lb_player_type_of(Oid type)
{
	LbColumn	column = {.role = LB_ROLE_MEMBER};

	lb_set_column_type(&column, type, -1);
	if (column.type == NULL || column.type->json == LB_JSON_DATETIME)
		return NULL;
	if (column.type->plain)
		lb_set_column_type(&column, INT8OID, -1);
	else if (column.type->is_text)
		lb_set_column_type(&column, TEXTOID, -1);
	return column.type;
}

const LbType *
lb_player_type(const LbDefinition *defn)
{
	const LbType *type = defn->nmember == 1 ? lb_member_column(defn)->type :
		NULL;

	return type == NULL ? NULL : lb_player_type_of(type->oid);
}

const LbType *
lb_require_player_type(const LbDefinition *defn)
{
	const LbType *type = lb_player_type(defn);

	lb_require_member(defn);
	if (type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("members of board \"%s\" cannot be players", defn->name),
				 errdetail("A player is one column of an integer type, uuid, text or varchar.")));
	return type;
}

const char *
lb_player_function(const LbPlayerArgument *argument)
{
	return psprintf("%s%s()", argument->argument.function,
					argument->as_text ? "_key" : "");
}

Datum
lb_player_from(const LbDefinition *defn, const LbType *type, Datum value,
			   const LbPlayerArgument *argument)
{
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = lb_argument_context,
		.arg = unconstify(LbArgument *, &argument->argument)
	};

	if (!argument->as_text)
	{
		if (!defn->plain_member)
			lb_raise_mistyped(defn, lb_member_column(defn),
							  argument->argument.function);
		return value;
	}
	error_context_stack = &context;
	value = lb_value_from_text(type, value);
	error_context_stack = context.previous;
	if (type->is_text && VARSIZE_ANY_EXHDR(DatumGetPointer(value)) > LB_MAX_TEXT)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("argument \"%s\" is too long",
						argument->argument.name),
				 errdetail("It has %d bytes, the most is %d.",
						   (int) VARSIZE_ANY_EXHDR(DatumGetPointer(value)),
						   LB_MAX_TEXT)));
	return value;
}

/*
 * A player as the board's column stores it.  Unless cut is set, raise if there
 * is no room for more than blanks.
 */
static Datum
as_stored(const LbDefinition *defn, Datum player, bool cut)
{
	const LbColumn *member = lb_member_columns(defn);
	Oid			type;
	int32		typmod;
	Oid			collation;

	if (member->oid != VARCHAROID)
		return player;
	get_atttypetypmodcoll(defn->source, member->attno, &type, &typmod,
						  &collation);
	(void) getBaseTypeAndTypmod(type, &typmod);
	return DirectFunctionCall3(varchar, player, Int32GetDatum(typmod),
							   BoolGetDatum(cut));
}

Datum
lb_player_as_stored(const LbDefinition *defn, Datum player)
{
	return as_stored(defn, player, false);
}

Datum
lb_player_as_sought(const LbDefinition *defn, Datum player)
{
	Datum		stored = as_stored(defn, player, true);
	text	   *whole;
	int			len;

	if (stored == player)
		return player;
	whole = DatumGetTextPP(player);
	len = VARSIZE_ANY_EXHDR(DatumGetTextPP(stored));
	while (len < (int) VARSIZE_ANY_EXHDR(whole) && VARDATA_ANY(whole)[len] == ' ')
		len++;
	return len == (int) VARSIZE_ANY_EXHDR(whole) ? stored : player;
}

FmgrInfo *
lb_player_order(const LbType *type)
{
	return &lookup_type_cache(type->oid,
							  TYPECACHE_CMP_PROC_FINFO)->cmp_proc_finfo;
}
