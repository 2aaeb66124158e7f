/*-------------------------------------------------------------------------
 *
 * board_value.c
 *	  The values of board columns, and the names of a family's boards.
 *
 * The boards of a family are named by the output form of their values:
 * "country:FR", "day:2026-04-09", "live:t".  Another spelling of the same
 * value is no board's name.  DateStyle does not matter: dates are as ISO 8601
 * has them.  Values of several columns are a row: "geo:(FR,10)".
 *
 * In memory a value is what stands in the name.  But the labels of an enum can
 * be renamed while transactions write rows, and no lock on the table keeps
 * that away.  So the value of an enum is the number of the label, pg_enum.oid,
 * which stays as it is, and names are translated where they come in and go
 * out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/syscache.h"
#include "utils/uuid.h"

#include "boards/board_row.h"
#include "boards/board_value.h"

/* Whether a byte of a uuid has a hyphen before it. */
#define HYPHEN_BEFORE(i) ((i) == 4 || (i) == 6 || (i) == 8 || (i) == 10)


/* ----------------------------------------------------------------
 *		Texts and integers
 * ----------------------------------------------------------------
 */

void
lb_text_value(const LbColumn *column, Datum datum, LbValue *value,
			  char *room)
{
	text	   *t = DatumGetTextPP(datum);

	value->data = VARDATA_ANY(t);
	value->len = VARSIZE_ANY_EXHDR(t);
}

static inline void
int_value(int64 n, LbValue *value, char *room)
{
	value->len = pg_lltoa(n, room);
	value->data = room;
}

void
lb_int_value(const LbColumn *column, Datum datum, LbValue *value, char *room)
{
	int64		n;

	column->type->encode(column, datum, &n);
	int_value(n, value, room);
}

bool
lb_is_int_value(const LbColumn *column, const LbValue *value)
{
	uint64		limit = column->type->max;
	const char *p = value->data;
	int			len = value->len;
	bool		negative = len > 0 && *p == '-';
	uint64		n = 0;

	if (negative)
	{
		p++;
		len--;
		limit++;
	}
	if (len < 1 || len > 19 || (*p == '0' && (len > 1 || negative)))
		return false;
	for (int i = 0; i < len; i++)
	{
		if (p[i] < '0' || p[i] > '9')
			return false;
		n = n * 10 + (p[i] - '0');
	}
	return n <= limit;
}


/* ----------------------------------------------------------------
 *		uuid, date, boolean
 * ----------------------------------------------------------------
 */

void
lb_uuid_value(const LbColumn *column, Datum datum, LbValue *value,
			  char *room)
{
	const pg_uuid_t *uuid = DatumGetUUIDP(datum);
	char	   *p = room;

	for (int i = 0; i < UUID_LEN; i++)
	{
		if (HYPHEN_BEFORE(i))
			*p++ = '-';
		p += hex_encode((const char *) &uuid->data[i], 1, p);
	}
	value->data = room;
	value->len = p - room;
}

bool
lb_is_uuid_value(const LbColumn *column, const LbValue *value)
{
	const char *p = value->data;

	if (value->len != UUID_LEN * 2 + 4)
		return false;
	for (int i = 0; i < UUID_LEN; i++)
	{
		if (HYPHEN_BEFORE(i) && *p++ != '-')
			return false;
		for (int digit = 0; digit < 2; digit++, p++)
		{
			if (*p == '\0' || strchr("0123456789abcdef", *p) == NULL)
				return false;
		}
	}
	return true;
}

void
lb_date_value(const LbColumn *column, Datum datum, LbValue *value,
			  char *room)
{
	DateADT		date = DatumGetDateADT(datum);
	struct pg_tm tm;

	if (DATE_NOT_FINITE(date))
		EncodeSpecialDate(date, room);
	else
	{
		j2date(date + POSTGRES_EPOCH_JDATE, &tm.tm_year, &tm.tm_mon,
			   &tm.tm_mday);
		EncodeDateOnly(&tm, USE_ISO_DATES, room);
	}
	value->data = room;
	value->len = strlen(room);
}

/* The date that a text may be, to see whether it would be written so. */
static bool
read_date(const char *text, DateADT *date)
{
	int			year;
	int			month;
	int			day;
	int			end = 0;

	if (strcmp(text, LATE) == 0)
		DATE_NOEND(*date);
	else if (strcmp(text, EARLY) == 0)
		DATE_NOBEGIN(*date);
	else
	{
		if (sscanf(text, "%7d-%2d-%2d%n", &year, &month, &day, &end) != 3 ||
			end == 0 || month < 1 || month > MONTHS_PER_YEAR)
			return false;
		if (text[end] != '\0')
			year = 1 - year;	/* BC: there is no year 0 */
		if (!IS_VALID_JULIAN(year, month, day))
			return false;
		*date = date2j(year, month, day) - POSTGRES_EPOCH_JDATE;
		if (!IS_VALID_DATE(*date))
			return false;
	}
	return true;
}

bool
lb_is_date_value(const LbColumn *column, const LbValue *value)
{
	char		iso[LB_VALUE_ROOM];
	char		room[LB_VALUE_ROOM];
	DateADT		date;
	LbValue		written;

	if (value->len >= LB_VALUE_ROOM)
		return false;
	memcpy(iso, value->data, value->len);
	iso[value->len] = '\0';
	if (!read_date(iso, &date))
		return false;
	lb_date_value(column, DateADTGetDatum(date), &written, room);
	return written.len == value->len &&
		memcmp(written.data, value->data, value->len) == 0;
}

void
lb_bool_value(const LbColumn *column, Datum datum, LbValue *value,
			  char *room)
{
	value->data = DatumGetBool(datum) ? "t" : "f";
	value->len = 1;
}

bool
lb_is_bool_value(const LbColumn *column, const LbValue *value)
{
	return value->len == 1 &&
		(value->data[0] == 't' || value->data[0] == 'f');
}


/* ----------------------------------------------------------------
 *		Enums
 * ----------------------------------------------------------------
 */

void
lb_enum_value(const LbColumn *column, Datum datum, LbValue *value,
			  char *room)
{
	int_value(DatumGetObjectId(datum), value, room);
}

/* The number of a label, or InvalidOid. */
static Oid
find_label(const LbColumn *column, const LbValue *label)
{
	NameData	name;

	if (label->len >= NAMEDATALEN ||
		memchr(label->data, '\0', label->len) != NULL)
		return InvalidOid;
	memset(&name, 0, sizeof(name));
	memcpy(NameStr(name), label->data, label->len);
	return GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid,
						   ObjectIdGetDatum(column->oid),
						   NameGetDatum(&name));
}

bool
lb_is_enum_value(const LbColumn *column, const LbValue *value)
{
	return OidIsValid(find_label(column, value));
}


/* ----------------------------------------------------------------
 *		Names
 * ----------------------------------------------------------------
 */

static bool
is_text(const LbColumn *column)
{
	return column->type == NULL || column->type->is_text;
}

static bool
is_enum(const LbColumn *column)
{
	return column->type != NULL && column->type->value == lb_enum_value;
}

bool
lb_has_text_values(const LbDefinition *defn)
{
	return defn->nboard == 1 && is_text(lb_board_column(defn));
}

static bool
column_from_name(const LbColumn *column, LbValue *value)
{
	Oid			label;

	if (is_text(column))
		return true;
	if (!is_enum(column))
		return column->type->is_value(column, value);
	label = find_label(column, value);
	if (!OidIsValid(label))
		return false;
	lb_enum_value(column, ObjectIdGetDatum(label), value,
				  palloc(LB_VALUE_ROOM));
	return true;
}

static char *
column_to_name(const LbColumn *column, const LbValue *value)
{
	char	   *name = pnstrdup(value->data, value->len);
	HeapTuple	tuple;

	if (is_text(column))
		return name;
	if (!is_enum(column))
		return column->type->is_value(column, value) ? name : NULL;
	tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(atooid(name)));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	name = pstrdup(NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel));
	ReleaseSysCache(tuple);
	return name;
}

/* The same for several columns.  A row in another spelling is none. */
static bool
row_from_name(const LbDefinition *defn, LbValue *value)
{
	LbValue		columns[LB_MAX_VALUE_COLUMNS];
	LbValue		row;

	if (!lb_read_row_text(value, columns, defn->nboard))
		return false;
	row = lb_make_row_text(columns, defn->nboard);
	if (row.len != value->len || memcmp(row.data, value->data, row.len) != 0)
		return false;
	for (int i = 0; i < defn->nboard; i++)
	{
		if (!column_from_name(&lb_board_columns(defn)[i], &columns[i]))
			return false;
	}
	row = lb_make_row_text(columns, defn->nboard);

	/* Where nothing changes, the name stays what the caller has. */
	if (row.len != value->len || memcmp(row.data, value->data, row.len) != 0)
		*value = row;
	return true;
}

static char *
row_to_name(const LbDefinition *defn, const LbValue *value)
{
	LbValue		columns[LB_MAX_VALUE_COLUMNS];

	if (!lb_read_row_text(value, columns, defn->nboard))
		return NULL;
	for (int i = 0; i < defn->nboard; i++)
	{
		char	   *name = column_to_name(&lb_board_columns(defn)[i],
										  &columns[i]);

		if (name == NULL)
			return NULL;
		columns[i].data = name;
		columns[i].len = strlen(name);
	}
	return unconstify(char *, lb_make_row_text(columns, defn->nboard).data);
}

bool
lb_value_from_name(const LbDefinition *defn, LbValue *value)
{
	return defn->nboard > 1 ? row_from_name(defn, value) :
		column_from_name(lb_board_column(defn), value);
}

char *
lb_value_to_name(const LbDefinition *defn, const LbValue *value)
{
	return defn->nboard > 1 ? row_to_name(defn, value) :
		column_to_name(lb_board_column(defn), value);
}

void
lb_board_value(const LbDefinition *defn, const Datum *values, LbValue *value,
			   char *room)
{
	const LbColumn *columns = lb_board_columns(defn);
	LbValue		parts[LB_MAX_VALUE_COLUMNS];
	char		rooms[LB_MAX_VALUE_COLUMNS][LB_VALUE_ROOM];

	if (likely(defn->nboard == 1))
	{
		columns[0].type->value(&columns[0], values[0], value, room);
		return;
	}
	for (int i = 0; i < defn->nboard; i++)
		columns[i].type->value(&columns[i], values[i], &parts[i], rooms[i]);
	value->data = room;
	value->len = Min(lb_write_row_text(parts, defn->nboard, room, LB_ROW_ROOM),
					 LB_ROW_ROOM);
}

char	  **
lb_texts_of_name(const LbDefinition *defn, const char *name)
{
	LbValue		columns[LB_MAX_VALUE_COLUMNS];
	LbValue		row = {strlen(name), name};
	char	  **texts = palloc(defn->nboard * sizeof(char *));

	if (defn->nboard == 1)
		columns[0] = row;
	else if (!lb_read_row_text(&row, columns, defn->nboard))
		return NULL;
	for (int i = 0; i < defn->nboard; i++)
		texts[i] = pnstrdup(columns[i].data, columns[i].len);
	return texts;
}

int
lb_windows_prefix(const char *family)
{
	int			len = strlen(family);

	if (strcmp(family, "*") == 0)
		return 0;
	return len > 1 && family[len - 1] == '/' ? len : -1;
}

/* Whether a value of a family of windows is the name of its board as it is. */
static bool
leads_back(const char *family, const char *value)
{
	int			prefix = lb_windows_prefix(family);

	return prefix >= 0 && strncmp(family, value, prefix) == 0 &&
		strchr(value + prefix, ':') != NULL;
}

char *
lb_family_board_name(const LbDefinition *defn, const LbValue *value)
{
	char	   *name = lb_value_to_name(defn, value);

	/* The type has changed, and the board is about to go. */
	if (name == NULL)
		name = pnstrdup(value->data, value->len);
	if (leads_back(defn->name, name))
		return name;
	return psprintf("%s:%s", defn->name, name);
}
