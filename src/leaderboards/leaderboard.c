/*-------------------------------------------------------------------------
 *
 * leaderboard.c
 *	  Leaderboards: a board of scores with windows of its own.
 *
 * lb_leaderboard records them.  All else is found by names.  The board of the
 * scores has the name of the leaderboard, "kills".  The windows are boards of
 * the family "kills/", with which their keys begin.  So a key is unique in the
 * database, whatever table of the extension has it.  The first leaderboard is
 * "global", with the family "*", whose keys begin with anything else.
 *
 * Each backend caches the rows of lb_leaderboard.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "boards/board_value.h"
#include "boards/row_cache.h"
#include "boards/target.h"
#include "leaderboards/leaderboard.h"
#include "sql/spi.h"

/* Columns of lb_leaderboard, as the script has them. */
enum
{
	Anum_lb_leaderboard_name = 1,
	Anum_lb_leaderboard_op
};

static int
leaderboard_cmp(const void *a, const void *b)
{
	return strcmp((*(LbLeaderboard *const *) a)->name,
				  (*(LbLeaderboard *const *) b)->name);
}

static LbLeaderboard global_leaderboard = {.name = LB_GLOBAL,.family = "*",.op = LB_OP_INCR};

static void *
leaderboard_from_tuple(HeapTuple tuple, TupleDesc desc)
{
	LbLeaderboard *leaderboard = palloc0(sizeof(LbLeaderboard));
	bool		isnull;
	Datum		name = heap_getattr(tuple, Anum_lb_leaderboard_name, desc, &isnull);
	Datum		op = heap_getattr(tuple, Anum_lb_leaderboard_op, desc, &isnull);

	strlcpy(leaderboard->name, TextDatumGetCString(name),
			sizeof(leaderboard->name));
	if (strcmp(leaderboard->name, LB_GLOBAL) == 0)
		strlcpy(leaderboard->family, "*", sizeof(leaderboard->family));
	else
		snprintf(leaderboard->family, sizeof(leaderboard->family), "%s/",
				 leaderboard->name);
	leaderboard->op = lb_op_from_text(TextDatumGetCString(op), "");
	return leaderboard;
}

static LbRowCache cache = {.table = "lb_leaderboard",.from_tuple = leaderboard_from_tuple,.cmp = leaderboard_cmp};

int
lb_leaderboards(LbLeaderboard ***leaderboards)
{
	static LbLeaderboard *only[] = {&global_leaderboard};
	int			n = lb_cached_rows(&cache, (void ***) leaderboards);

	/* Tables of another version of the SQL objects are not read. */
	if (n == 0)
	{
		*leaderboards = only;
		n = lengthof(only);
	}
	return n;
}

int
lb_leaderboard_boards(const char ***names)
{
	LbLeaderboard **leaderboards;
	int			n = lb_leaderboards(&leaderboards);

	*names = palloc(2 * n * sizeof(char *));
	for (int i = 0; i < n; i++)
	{
		(*names)[2 * i] = pstrdup(leaderboards[i]->name);
		(*names)[2 * i + 1] = pstrdup(leaderboards[i]->family);
	}
	return 2 * n;
}

const LbLeaderboard *
lb_leaderboard_find(const char *name, int len)
{
	LbLeaderboard **leaderboards;
	int			n = lb_leaderboards(&leaderboards);

	return lb_find_by_name((void **) leaderboards, n,
						   offsetof(LbLeaderboard, name), name, len);
}

static pg_noinline void
raise_no_leaderboard(const char *name)
{
	LbNearest	nearest = lb_nearest_to(name);
	LbLeaderboard **leaderboards;
	int			n = lb_leaderboards(&leaderboards);
	const LbDefinition *defn = lb_find_defn(name);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		lb_nearest_try(&nearest, leaderboards[i]->name);
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("leaderboard \"%s\" does not exist", name),
			 defn != NULL ?
			 errhint("\"%s\" is a board of a table of your own: write the scores to table \"%s\".",
					 name, get_rel_name(defn->source)) :
			 errhint("%sThe table lb_leaderboard lists the leaderboards; lb_create_leaderboard() makes one.",
					 lb_nearest_hint(&nearest))));
}

const LbLeaderboard *
lb_require_leaderboard(const char *name)
{
	const LbLeaderboard *leaderboard = lb_leaderboard_find(name, strlen(name));

	if (leaderboard == NULL)
		raise_no_leaderboard(name);
	return leaderboard;
}

const LbLeaderboard *
lb_leaderboard_of_window(const char *name)
{
	int			len = strcspn(name, "/:");
	const LbLeaderboard *leaderboard = name[len] != '/' ? NULL :
		lb_leaderboard_find(name, len);

	return leaderboard != NULL ? leaderboard :
		lb_leaderboard_find(LB_GLOBAL, strlen(LB_GLOBAL));
}

const LbLeaderboard *
lb_leaderboard_of_board(const char *board, bool *windows)
{
	int			prefix = lb_windows_prefix(board);

	*windows = prefix >= 0;
	if (prefix < 0)
		return lb_leaderboard_find(board, strlen(board));
	return prefix == 0 ? lb_leaderboard_find(LB_GLOBAL, strlen(LB_GLOBAL)) :
		lb_leaderboard_find(board, prefix - 1);
}

const LbDefinition *
lb_require_window_owner(const char *name)
{
	const char *family = lb_leaderboard_of_window(name)->family;
	LbTarget	target;

	lb_find_target(family, strlen(family), &target);
	lb_require_owner(target.defn->source);
	return target.defn;
}

LbWindow *
lb_window_in_family(const LbDefinition *family, const char *key, LbSpan *span)
{
	if (strcmp(lb_leaderboard_of_window(key)->family, family->name) != 0)
		return NULL;
	return lb_window_of_key(key, strlen(key), span);
}

LbArg
lb_arg_family(const char *family)
{
	int			len = lb_windows_prefix(family);
	LbLeaderboard **leaderboards;
	int			n = lb_leaderboards(&leaderboards);
	Datum	   *names = palloc((n + 1) * sizeof(Datum));
	int			nnames = 0;

	names[nnames++] = PointerGetDatum(cstring_to_text_with_len(family, len));
	for (int i = 0; len == 0 && i < n; i++)
	{
		if (strcmp(leaderboards[i]->name, LB_GLOBAL) != 0)
			names[nnames++] = CStringGetTextDatum(leaderboards[i]->name);
	}
	return lb_arg_array(TEXTOID, names, NULL, nnames);
}
