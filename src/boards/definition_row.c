/*-------------------------------------------------------------------------
 *
 * definition_row.c
 *	  Definitions from rows of lb_board.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"

#include "boards/definition.h"
#include "boards/definition_internal.h"
#include "boards/expression.h"
#include "boards/options.h"
#include "boards/row_cache.h"
#include "util/compat.h"

/* The names of the objects that keep the expressions, in their order. */
static void
read_expressions(LbDefinition *defn, Datum array)
{
	Datum	   *names;
	int			n;
	int			next = 0;

	deconstruct_array(DatumGetArrayTypeP(array), NAMEOID, NAMEDATALEN, false,
					  TYPALIGN_CHAR, &names, NULL, &n);
	for (int i = 0; i < defn->ncolumns && next < n; i++)
	{
		LbExpression *expression = defn->columns[i].expression;

		if (expression != NULL)
			expression->statistics = pstrdup(NameStr(*DatumGetName(names[next++])));
	}
}

/*
 * A hash of what the keys of an index depend on.  A definition that was
 * changed by hand must not be taken for the one that its index was built by.
 */
static uint32
fingerprint(const LbDefinition *defn)
{
	StringInfoData buf;
	uint32		hash;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%u", defn->source);
	if (defn->counts)
		appendStringInfoString(&buf, "|counts");
	for (int i = 0; i < defn->ncolumns; i++)
		appendStringInfo(&buf, "|%d%d%s", defn->columns[i].role,
						 defn->columns[i].descending,
						 defn->columns[i].expression == NULL ? defn->columns[i].name :
						 defn->columns[i].expression->text);
	hash = hash_bytes((const unsigned char *) buf.data, buf.len);
	pfree(buf.data);
	return hash;
}

void
lb_read_row(LbDefinition *defn, HeapTuple tuple, TupleDesc desc, Oid lb_board)
{
	Datum		values[Natts_lb_board];
	bool		nulls[Natts_lb_board];
	char	   *texts[LB_NOPTIONS];
	char	   *string;

	lb_row_values(tuple, desc, Natts_lb_board, values, nulls);
#define VALUE(column) (values[Anum_lb_board_##column - 1])
	memset(defn, 0, sizeof(LbDefinition));
	defn->catalog = lb_board;
	defn->xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	string = TextDatumGetCString(VALUE(board));
	strlcpy(defn->name, string, NAMEDATALEN);
	pfree(string);
	defn->id = DatumGetInt32(VALUE(id));
	defn->source = DatumGetObjectId(VALUE(source));
	for (int i = 0; i < LB_NOPTIONS; i++)
		texts[i] = nulls[Anum_lb_board_options - 1 + i] ? NULL :
			TextDatumGetCString(values[Anum_lb_board_options - 1 + i]);
	lb_read_options(defn, texts);
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		if (texts[i] != NULL)
			pfree(texts[i]);
	}
	if (!nulls[Anum_lb_board_expressions - 1])
		read_expressions(defn, VALUE(expressions));
#undef VALUE
	defn->fingerprint = fingerprint(defn);
}

int32
lb_recorded_id(TupleTableSlot *slot, Oid *source)
{
	bool		isnull;

	*source = DatumGetObjectId(slot_getattr(slot, Anum_lb_board_source,
											&isnull));
	return DatumGetInt32(slot_getattr(slot, Anum_lb_board_id, &isnull));
}

char *
lb_recorded_name(TupleTableSlot *slot)
{
	bool		isnull;

	return TextDatumGetCString(slot_getattr(slot, Anum_lb_board_board,
											&isnull));
}

/* Whether the index of a board depends on a column of lb_board. */
static bool
is_of_index(int attnum)
{
	int			option = attnum - Anum_lb_board_options;

	return option < 0 || option >= LB_NOPTIONS ||
		lb_board_options[option].of_index;
}

bool
lb_recorded_same_index(TupleTableSlot *a, TupleTableSlot *b)
{
	TupleDesc	desc = a->tts_tupleDescriptor;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		bool		null_a;
		bool		null_b;
		Datum		value_a = slot_getattr(a, i + 1, &null_a);
		Datum		value_b = slot_getattr(b, i + 1, &null_b);

		if (is_of_index(i + 1) &&
			(null_a != null_b ||
			 (!null_a && !datum_image_eq(value_a, value_b, att->attbyval,
										 att->attlen))))
			return false;
	}
	return true;
}
