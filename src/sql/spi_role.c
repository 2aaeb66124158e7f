/*-------------------------------------------------------------------------
 *
 * spi_role.c
 *	  Whose rights a statement has, and the settings that it runs with.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "sql/spi.h"

int
lb_lock_timeout(int most)
{
	return Max(1, Min(most, DeadlockTimeout / 2));
}

Oid
lb_table_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class rel;
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	rel = (Form_pg_class) GETSTRUCT(tuple);
	owner = rel->relkind == RELKIND_RELATION ||
		rel->relkind == RELKIND_PARTITIONED_TABLE ? rel->relowner : InvalidOid;
	ReleaseSysCache(tuple);
	return owner;
}

void
lb_switch_to_owner(LbUser *saved, Oid owner, bool all_rows)
{
	bool		same_path = has_privs_of_role(GetUserId(), owner) &&
		!(MyBgworkerEntry != NULL && superuser_arg(owner));

	lb_switch_user(saved, owner, SECURITY_RESTRICTED_OPERATION |
				   (all_rows ? SECURITY_NOFORCE_RLS : 0));
	if (!same_path)
		lb_set_locally("search_path", "pg_catalog, pg_temp");
}

/* Whether a table has a constraint that is checked at commit. */
static bool
has_deferred_constraint(Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);
	bool		found = false;

	if (rel == NULL)
		return false;
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
		found |= rel->trigdesc->triggers[i].tginitdeferred;
	RelationClose(rel);
	return found;
}

void
lb_check_at_once(const LbDefinition *defn)
{
	Oid			owner = defn->owner;
	int			n = 0;
	Datum	   *tables = palloc((defn->nparts + 1) * sizeof(Datum));
	char	   *names;
	LbUser		saved;

	if (has_deferred_constraint(defn->source))
		tables[n++] = ObjectIdGetDatum(defn->source);
	for (int i = 0; i < defn->nparts; i++)
	{
		if (has_deferred_constraint(defn->parts[i]))
			tables[n++] = ObjectIdGetDatum(defn->parts[i]);
	}
	if (n == 0)
		return;
	(void) lb_exec_once("SELECT pg_catalog.string_agg(DISTINCT pg_catalog.format('%I.%I', n.nspname, c.conname), ', ') "
						"FROM pg_catalog.pg_trigger t "
						"JOIN pg_catalog.pg_constraint c ON c.oid OPERATOR(pg_catalog.=) t.tgconstraint "
						"JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.connamespace "
						"WHERE t.tgrelid OPERATOR(pg_catalog.=) ANY ($1) AND t.tginitdeferred",
						InvalidOid, LB_ARGS(lb_arg_array(OIDOID, tables, NULL, n)));
	names = lb_row_text(SPI_tuptable, 0, 1);
	SPI_freetuptable(SPI_tuptable);
	if (names == NULL)
		return;
	lb_switch_to_owner(&saved, owner, false);
	(void) lb_exec_once(psprintf("SET CONSTRAINTS %s IMMEDIATE", names),
						InvalidOid, LB_NO_ARGS);
	lb_restore_user(&saved);
}

bool
lb_lends_no_rights(const LbDefinition *defn)
{
	return GetUserId() != defn->owner && superuser();
}

bool
lb_switch_from_superuser(LbUser *saved, const LbDefinition *defn, bool writes)
{
	if (!lb_lends_no_rights(defn))
		return false;
	if (writes)
		lb_check_at_once(defn);
	lb_switch_to_owner(saved, defn->owner, true);
	return true;
}

void
lb_switch_to_extension(LbUser *saved, Oid owner)
{
	lb_switch_user(saved, owner, SECURITY_LOCAL_USERID_CHANGE);
	lb_set_locally("search_path", "pg_catalog, pg_temp");
}
