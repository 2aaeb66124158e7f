/*-------------------------------------------------------------------------
 *
 * window_name.c
 *	  Which names windows can have, and what else a window must be.
 *
 * A name is read as a window, a board or a board of a family by its form.  So
 * names of windows and of boards can clash, though they are in different
 * tables: both are recorded under a lock on the name (lb_window_lock_name).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/inval.h"

#include "boards/definition.h"
#include "leaderboards/window_name.h"
#include "sql/spi.h"

static void
lock_name(uint32 hash)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, lb_own_table("lb_window"), hash, 0);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/*
 * Names clash if they are the same up to a colon, or if one counts back from
 * the other.
 */
void
lb_window_lock_name(const char *name)
{
	int			len = strcspn(name, ":");
	uint32		hash = hash_bytes((const unsigned char *) name, len);
	uint32		other = hash;
	int			back;

	len = lb_split_alias(name, len, &back);
	if (len >= 0)
		other = hash_bytes((const unsigned char *) name, len);

	/* In one order, so that two sessions never wait for each other. */
	lock_name(Min(hash, other));
	if (other != hash)
		lock_name(Max(hash, other));
	AcceptInvalidationMessages();
}

/* The recorded window that a name counts back from, or NULL. */
static LbWindow *
window_of_alias(const char *name, int len)
{
	int			back;
	int			n = lb_split_alias(name, len, &back);
	LbWindow   *window = n < 0 ? NULL : lb_window_find(name, n);

	return window != NULL && window->calendar.period != LB_ONCE ? window : NULL;
}

/* Whether a name would count back from a window of that name. */
static bool
is_alias_of(const char *name, const char *window)
{
	int			back;
	int			n = lb_split_alias(name, strlen(name), &back);

	return n >= 0 && n == (int) strlen(window) &&
		strncmp(name, window, n) == 0;
}

/*
 * A new window must neither hide what the name "daily-1" means nor come to
 * mean what a board or a window of such a name is.
 */
static void
check_alias(const char *name, LbPeriod period)
{
	LbWindow   *window;
	LbWindow  **windows;
	int			nwindows;
	LbDefinition **defns;
	int			n;

	if (period == LB_ONCE || lb_window_find(name, strlen(name)) != NULL)
		return;
	window = window_of_alias(name, strlen(name));
	if (window != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a window: \"%s\"", name),
				 errdetail("Reads of \"%s\" are of the window \"%s\" as it was before.",
						   name, window->calendar.name),
				 errhint("Use another name.")));
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
	{
		if (is_alias_of(defns[i]->name, name))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("board \"%s\" already exists", defns[i]->name),
					 errdetail("Reads of \"%s\" would not find the window \"%s\" as it was before.",
							   defns[i]->name, name),
					 errhint("Use another name.")));
	}
	nwindows = lb_windows(&windows);
	for (int i = 0; i < nwindows; i++)
	{
		if (is_alias_of(windows[i]->calendar.name, name))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_NAME),
					 errmsg("invalid name of a window: \"%s\"", name),
					 errdetail("Reads of \"%s\" are of a window of that name.",
							   windows[i]->calendar.name),
					 errhint("Use another name.")));
	}
}

/* The form of a name; prefix is its length up to a colon. */
static void
check_form(const char *name, LbPeriod period, int prefix)
{
	bool		colon = name[prefix] == ':';

	if (period == LB_ONCE ? !colon || prefix == 0 || name[prefix + 1] == '\0' :
		colon || prefix == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a window: \"%s\"", name),
				 period == LB_ONCE ?
				 errhint("A window that comes once has a name with a colon, such as \"tourney:T123\"; one that comes again has a \"period\".") :
				 errhint("A window that comes again has a name without a colon; its keys are the name, a colon and digits.")));
	if (strlen(name) > LB_MAX_WINDOW_NAME || prefix > LB_MAX_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("name of a window is too long: \"%s\"", name),
				 errdetail("It has at most %d bytes, %d of them before a colon.",
						   LB_MAX_WINDOW_NAME, LB_MAX_NAME)));
}

/* No recorded board or family may be found where the window is meant. */
static void
check_boards(const char *name, int prefix)
{
	LbDefinition **defns;
	int			n = lb_all_defns(&defns);

	for (int i = 0; i < n; i++)
	{
		if ((int) strlen(defns[i]->name) == prefix &&
			strncmp(defns[i]->name, name, prefix) == 0 &&
			(name[prefix] == '\0' || defns[i]->family))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("board \"%s\" already exists", defns[i]->name),
					 errdetail("Reads of \"%s\" would not find the window.",
							   name)));
	}
}

/*
 * No key of a window that comes again may be the name of one that comes once.
 */
static void
check_keys(const char *name, LbPeriod period, int prefix)
{
	LbWindow  **windows;
	int			nwindows = lb_windows(&windows);
	LbPeriod	builtin;
	char	   *before;

	for (int i = 0; i < nwindows && period != LB_ONCE; i++)
	{
		if (strncmp(windows[i]->calendar.name, name, prefix) == 0 &&
			windows[i]->calendar.name[prefix] == ':')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_NAME),
					 errmsg("invalid name of a window: \"%s\"", name),
					 errdetail("Of the keys that begin with \"%s:\", \"%s\" is another window.",
							   name, windows[i]->calendar.name),
					 errhint("Use another name.")));
	}
	if (period != LB_ONCE)
		return;
	before = pnstrdup(name, prefix);
	if (lb_period_from_text(before, &builtin) ||
		lb_window_find(before, prefix) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a window: \"%s\"", name),
				 errdetail("Keys that begin with \"%s:\" belong to the window \"%s\".",
						   before, before)));
}

void
lb_window_check_name(const char *name, LbPeriod period)
{
	int			prefix = strcspn(name, ":");

	check_form(name, period, prefix);
	check_boards(name, prefix);
	check_alias(name, period);
	check_keys(name, period, prefix);
}

void
lb_window_check_board(const char *board, bool family)
{
	int			len = strlen(board);
	LbWindow   *window;
	LbWindow  **windows;
	int			nwindows;

	nwindows = lb_windows(&windows);
	for (int i = 0; i < nwindows; i++)
	{
		const char *name = windows[i]->calendar.name;

		if (strncmp(name, board, len) == 0 &&
			(name[len] == '\0' || (family && name[len] == ':')))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("window \"%s\" already exists", name),
					 errdetail("Reads of \"%s\" would not find the window.",
							   name),
					 errhint("Use another name.")));
	}
	window = window_of_alias(board, len);
	if (window != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("window \"%s\" already exists", window->calendar.name),
				 errdetail("Reads of \"%s\" are of that window as it was before.",
						   board),
				 errhint("Use another name.")));
}

void
lb_window_check(const LbWindow *window)
{
	const LbCalendar *calendar = &window->calendar;

	if (calendar->tz == NULL || !pg_tz_acceptable(calendar->tz))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" not recognized",
						calendar->time_zone)));
	if (calendar->first_day < 1 || calendar->first_day > 7)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "first_day",
						calendar->first_day),
				 errhint("A week begins on a day from 1, Monday, to 7, Sunday.")));
	if (calendar->period == LB_ONCE &&
		(TIMESTAMP_NOT_FINITE(calendar->starts) ||
		 TIMESTAMP_NOT_FINITE(calendar->ends) ||
		 calendar->starts >= calendar->ends))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("window \"%s\" must end after it starts",
						calendar->name)));
	lb_check_interval("keep", &window->keep);
	lb_check_interval("late", &window->late);
	if (calendar->period == LB_ONCE)
	{
		(void) lb_calendar_after(calendar->ends, &window->keep);
		(void) lb_calendar_after(calendar->ends, &window->late);
	}
}
