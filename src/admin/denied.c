/*-------------------------------------------------------------------------
 *
 * denied.c
 *	  A hint for roles that may not call a function of the extension.
 *
 * Functions that create names are for roles that the database's owner has
 * authorised.  PostgreSQL checks that before it calls a function, when it
 * starts to execute a query, so that is where the error gets its hint.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "admin/denied.h"

static ExecutorStart_hook_type previous_executor_start = NULL;

/*
 * Whether a byte next to a name is part of a longer one.  Other bytes may be
 * of the message, which can be in any language.
 */
static bool
is_of_name(char c)
{
	return c == '_' || c == '$' || (c >= '0' && c <= '9') ||
		(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * The function that an error's message names, if it can be one of ours;
 * palloc'd.  Nothing is looked up: the transaction has failed.
 */
static char *
denied_function(const ErrorData *error)
{
	const char *name;
	size_t		len;

	if (error->sqlerrcode != ERRCODE_INSUFFICIENT_PRIVILEGE ||
		error->hint != NULL || error->message_id == NULL ||
		strcmp(error->message_id, "permission denied for function %s") != 0)
		return NULL;
	name = strstr(error->message, "lb_");
	if (name == NULL || (name > error->message && is_of_name(name[-1])))
		return NULL;
	len = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
	return is_of_name(name[len]) ? NULL : pnstrdup(name, len);
}

static char *
denied_hint(const char *function)
{
	/* Nodes call these of each other for a role that makes boards. */
	const char *schema = strncmp(function, "lb_record_", 10) == 0 ?
		"leaderboard_internal." : "";

	if (strcmp(function, "lb_stat_reset") == 0 ||
		strcmp(function, "lb_notify") == 0)
		return psprintf("The owner of the extension can allow it: GRANT EXECUTE ON FUNCTION %s TO the role.",
						function);

	/* A twin that takes one member has two signatures. */
	if (strcmp(function, "lb_watch_member_key") == 0)
		return psprintf("The owner of the database can allow it: GRANT EXECUTE ON FUNCTION %s(text, text), %s(anyelement, text) TO the role.",
						function, function);
	return psprintf("The owner of the database can allow it: GRANT EXECUTE ON FUNCTION %s%s TO the role.",
					schema, function);
}

static void
executor_start(QueryDesc *query, int eflags)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		if (previous_executor_start != NULL)
			previous_executor_start(query, eflags);
		else
			standard_ExecutorStart(query, eflags);
	}
	PG_CATCH();
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		ErrorData  *error;
		char	   *function;

		if (geterrcode() != ERRCODE_INSUFFICIENT_PRIVILEGE)
		{
			MemoryContextSwitchTo(old);
			PG_RE_THROW();
		}
		error = CopyErrorData();
		function = denied_function(error);
		if (function == NULL)
		{
			MemoryContextSwitchTo(old);
			PG_RE_THROW();
		}
		error->hint = denied_hint(function);
		FlushErrorState();
		ReThrowError(error);
	}
	PG_END_TRY();
}

void
lb_denied_init(void)
{
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
}
