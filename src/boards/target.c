/*-------------------------------------------------------------------------
 *
 * target.c
 *	  What a board's name leads to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

#include "boards/board_value.h"
#include "boards/catalog.h"
#include "boards/parts.h"
#include "boards/resolve.h"
#include "boards/target.h"

static const LbAliases *aliases = NULL;

void
lb_register_aliases(const LbAliases *registered)
{
	aliases = registered;
}

bool
lb_alias_has_prefix(const char *prefix, int len)
{
	return aliases != NULL && aliases->has_prefix(prefix, len);
}

/*
 * Have the value that a name contains be what it means.  Returns false if the
 * family can have no board of that name.  Any text is the name of a board, so
 * it can be mistyped; a value of another type is not.  Raises what a catalog
 * lookup can raise.
 */
static bool
translate_value(LbTarget *target)
{
	const char *name = target->value.data;

	if (!lb_value_from_name(target->defn, &target->value))
		return false;
	if (target->value.data != name)
		target->hash = lb_value_hash(&target->value);
	if (!lb_has_text_values(target->defn))
		target->prefix_len = 0;
	return true;
}

/* The beginning of a hint for a board's name, or a family's. */
static const char *
nearest_board(const char *name, bool family)
{
	LbNearest	nearest = lb_nearest_to(name);
	LbDefinition **defns;
	int			n = lb_catalog() == NULL ? 0 : lb_all_defns(&defns);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (defns[i]->family || !family)
			lb_nearest_try(&nearest, defns[i]->name);
	}
	if (n > 0 && aliases != NULL && !family)
		aliases->try_all(&nearest);
	return lb_nearest_hint(&nearest);
}

const char *
lb_nearest_family(const char *name)
{
	return nearest_board(name, true);
}

void
lb_board_not_found(const char *board, const char *hint)
{
	if (hint == NULL)
		hint = strchr(board, ':') != NULL ?
			"The boards of a family come and go with their rows; name the family itself." :
			"The table lb_board lists the boards.";
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("board \"%s\" does not exist", board),
			 errhint("%s%s", nearest_board(board, false), hint)));
}

static void
raise_no_value(const LbDefinition *defn, const char *name, int len)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("board \"%.*s\" does not exist", len, name),
			 defn->nboard > 1 ?
			 errdetail("The boards of \"%s\" are named by rows of its %d board columns in the form in which lb_stat_board has them, as in \"%s:(FR,10)\".",
					   defn->name, defn->nboard, defn->name) :
			 errdetail("The boards of \"%s\" are named by values of type %s in the form in which lb_stat_board has them.",
					   defn->name, format_type_be(lb_board_column(defn)->oid))));
}

/* A number is meant as another argument: lb_around(4711, '5'). */
static void
raise_no_board(const char *name, int len)
{
	int			digits = 0;

	while (digits < len && isdigit((unsigned char) name[digits]))
		digits++;
	lb_board_not_found(pnstrdup(name, len),
					   lb_catalog() == NULL ?
					   "The extension leaderboard is not installed in this database." :
					   len > 0 && digits == len ?
					   "The board comes before the options, which can be named: lb_around(4711, radius => 5), lb_top(10, skip => 20)." :
					   "The table lb_board lists the boards; lb_create_board() makes one.");
}

/*
 * The family whose values are names such as this one, whose colon is after len
 * bytes: "kills/" for "kills/daily:20260409", or else "*"; or NULL.
 */
static LbDefinition *
find_windows(const char *name, int len)
{
	const char *slash = memchr(name, '/', len);
	LbDefinition *defn = slash == NULL ? NULL :
		lb_find_defn_len(name, slash + 1 - name);

	if (defn == NULL || !defn->family)
		defn = lb_find_defn_len("*", 1);
	return defn != NULL && defn->family ? defn : NULL;
}

/*
 * Find the definition that a name leads to, or NULL, and fill in the target's
 * value, hash and prefix.
 */
static inline LbDefinition *
find_name(const char *name, int len, LbTarget *target)
{
	LbDefinition *defn = NULL;
	const char *given = name;
	const char *colon;

	lb_load_defns();
	target->has_value = false;
	target->hash = 0;
	target->prefix_len = 0;
	colon = memchr(name, ':', len);
	if (colon == NULL)
	{
		int			keylen;
		char	   *key;

		defn = lb_find_defn_len(name, len);
		if (defn != NULL)
			return defn;
		key = aliases == NULL ? NULL : aliases->resolve(name, len, &keylen);
		if (key == NULL)
			return NULL;

		/* From here on it is the name that the alias stands for. */
		name = key;
		len = keylen;
		colon = memchr(name, ':', len);
	}
	if (colon != NULL)
		defn = lb_find_defn_len(name, colon - name);
	if (defn != NULL && defn->family)
	{
		target->value.data = colon + 1;
		target->value.len = len - (colon + 1 - name);
	}
	else
	{
		defn = find_windows(name, colon - name);
		target->value.data = name;
		target->value.len = len;

		/* What an alias stands for is no mistake. */
		if (name == given)
			target->prefix_len = colon - name;
	}
	target->has_value = true;
	target->hash = lb_value_hash(&target->value);
	return defn;
}

bool
lb_look_up_name(const char *name, int len, LbTarget *target)
{
	target->defn = find_name(name, len, target);
	if (target->defn == NULL)
		return false;
	lb_settle_width(target->defn);
	if (target->has_value && !translate_value(target))
		return false;
	target->stripe = lb_value_stripe(target->defn->family, target->hash);
	return true;
}

/*
 * lb_find_target(), which returns false if the name leads nowhere, also if
 * that is so once the lock is there.  With recorded, a name leads to the
 * definition that is recorded by it.
 */
static inline bool
find_target(const char *name, int len, bool recorded, LbTarget *target)
{
	Oid			locked = InvalidOid;

	for (;;)
	{
		LbDefinition *defn = find_name(name, len, target);

		if (defn == NULL || (recorded && target->has_value))
			return false;

		/* If an invalidation came with the lock, start over. */
		if (defn->source != locked)
		{
			locked = defn->source;
			LockRelationOid(locked, AccessShareLock);
			if (!lb_defns_valid())
				continue;
		}
		lb_resolve_defn(defn);
		(void) lb_resolve_parts(defn, true);
		if (!lb_defns_valid() || !defn->resolved)
			continue;
		target->defn = defn;
		if (target->has_value && !translate_value(target))
			raise_no_value(defn, name, len);
		target->stripe = lb_value_stripe(defn->family, target->hash);
		return true;
	}
}

void
lb_find_target(const char *name, int len, LbTarget *target)
{
	if (!find_target(name, len, false, target))
		raise_no_board(name, len);
}

void
lb_require_one_board(const LbTarget *target)
{
	const LbDefinition *defn = target->defn;

	if (defn->family && !target->has_value)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", defn->name),
				 errhint("Name one of its boards, as in \"%s:%s\".", defn->name,
						 defn->nboard > 1 ? "(value,value)" : "value")));
}

void
lb_find_one_board(const char *board, LbTarget *target)
{
	lb_find_target(board, strlen(board), target);
	lb_require_one_board(target);
}

LbDefinition *
lb_find_recorded(const char *name)
{
	LbTarget	target;

	return find_target(name, strlen(name), true, &target) ? target.defn : NULL;
}
