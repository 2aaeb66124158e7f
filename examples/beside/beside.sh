#!/bin/bash
#
# beside.sh [--dry-run] [--recopy] [--rotate] FILE
# beside.sh [--dry-run] --repair FILE
# beside.sh [--dry-run] --undo [--without-small] FILE
#
#	Boards beside a server that cannot load the extension: the tables are replicated
#	to a small server, which has the boards, and foreign tables on the main server
#	show the ranks.  README.md says what FILE has in it.
#
#	--dry-run		checks everything, and prints the statements instead of running them
#	--recopy		copies tables again whose boards need other columns than before
#	--rotate		gives the role that the main server connects as a new password
#	--repair		after a failover of the main server, or where the slot is lost: makes
#					the subscription again, and changes only the rows that differ
#	--undo			removes all of this from both servers, and nothing else
#	--without-small	the small server is gone: removes what is on the main server
#
#	BESIDE_PASSWORD	the password by which the small server connects to the main one.
#					This script's own connections take theirs as psql does: from
#					PGPASSFILE or a service file.  None is in FILE, or in an argument
#					of a program.
#
set -euo pipefail
umask 077
export PGAPPNAME=beside.sh PGCONNECT_TIMEOUT=${PGCONNECT_TIMEOUT:-15}

dry='' recopy='' rotate='' repair='' undo='' without_small='' file=''
for arg in "$@"; do
	case $arg in
		--dry-run) dry=yes ;;
		--recopy) recopy=yes ;;
		--rotate) rotate=yes ;;
		--repair) repair=yes ;;
		--undo) undo=yes ;;
		--without-small) without_small=yes ;;
		-*) sed -n '3,24s/^#[[:space:]]\{0,1\}//p' "$0"; exit 2 ;;
		*) file=$arg ;;
	esac
done

die()
{
	echo "beside.sh: $*" >&2
	exit 1
}

say()
{
	echo "-- $*"
}

# shellcheck source-path=SCRIPTDIR source=known.sh
. "$(dirname "$0")/known.sh"

[ -n "$file" ] || die "which file? See --help"
[ -r "$file" ] || die "cannot read $file"
read_file
name=${top[name]:-beside}
[[ $name =~ ^[a-z][a-z0-9_]{0,47}$ ]] || die "name = $name: small letters, digits and _ only, for it is a slot's name, too"
main=${top[main]:-} small=${top[small]:-}
[ -n "$main" ] || die "$file does not say where the main server is: main = host=..."
[ -n "$small" ] || die "$file does not say where the small server is: small = host=..."
for key in main small main_from_small small_from_main; do
	check_string "$key" "${top[$key]:-}"
done
schema=${top[schema]:-public}
timeout=${top[timeout]:-10s}
estimate=${top[use_remote_estimate]:-true}
reader=${name}_reader
# How what this script has made is known: by its comment.
mark="beside.sh $name"

#
# What is done.
#

small_schema()
{
	[ "$(on_small <<<"SELECT count(*) FROM pg_namespace WHERE nspname = $(ql "$1")")" = 1 ] ||
		echo "CREATE SCHEMA $(qi "$1"); COMMENT ON SCHEMA $(qi "$1") IS $(ql "$mark");"
}

# The statements that make what is not there on the small server, but for the boards.
small_tables()
{
	local t made=' '

	if [ -z "$library" ]; then
		small_schema leaderboard
		echo "CREATE EXTENSION leaderboard SCHEMA leaderboard; COMMENT ON EXTENSION leaderboard IS $(ql "$mark");"
	fi
	small_schema "$name"
	for t in "${tables[@]}"; do
		[ -z "${table[$t,there]}" ] || continue
		[[ $made = *" ${table[$t,schema]} "* ]] || small_schema "${table[$t,schema]}"
		made+="${table[$t,schema]} "
		echo "${table[$t,create]}"
	done
}

# compare_tables: what of them is there already, and whether that is what is needed.
compare_tables()
{
	local t there

	for t in "${tables[@]}"; do
		table[$t,there]=$(on_small <<<"SELECT coalesce(obj_description(c.oid, 'pg_class'), '-') || E'\n' || (SELECT string_agg(quote_ident(attname) || ' '
				|| format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute
				WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
			FROM pg_class c WHERE c.oid = to_regclass($(ql "${table[$t,name]}"))")
		[ -n "${table[$t,there]}" ] || continue
		[ "${table[$t,there]%%$'\n'*}" = "$mark" ] ||
			{ problem "the small server has another table ${table[$t,name]}: use another database there"; continue; }
		there=$(on_small <<-END
			BEGIN;
			CREATE TEMPORARY TABLE beside_columns ($(
				while read -r column; do printf '%s %s,' "$(qi "$column")" "${table[$t,type,$column]}"; done <<<"${table[$t,columns]%$'\n'}"
			) beside_end int);
			SELECT string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute
			WHERE attrelid = 'beside_columns'::regclass AND attnum > 0 AND attname <> 'beside_end';
			ROLLBACK;
		END
		)
		if [ "$there" != "${table[$t,there]#*$'\n'}" ]; then
			[ -n "$recopy" ] ||
				problem "${table[$t,name]} needs the columns $there on the small server, and has ${table[$t,there]#*$'\n'}: run again with --recopy"
			table[$t,again]=yes
		fi
	done
}

# forget_table TABLE: so that it is made and copied again.
forget_table()
{
	local board drop=''

	say "${table[$1,name]} is copied again, with other columns"
	change main "ALTER PUBLICATION $(qi "$name") DROP TABLE ${table[$1,name]};"
	change small "ALTER SUBSCRIPTION $(qi "$name") REFRESH PUBLICATION;"
	drop=$(on_small <<<"SELECT format('SELECT %I.lb_drop_board(%L) \\g /dev/null', $(ql "$known_library"), board)
		FROM $(qi "$known_library").lb_board WHERE source = to_regclass($(ql "${table[$1,name]}"))")
	change small "SET client_min_messages = warning; $drop
DROP TABLE ${table[$1,name]} CASCADE;"
	table[$1,there]=''
}

# What a run begins with: everything that can be wrong is said before anything is made.
check()
{
	local board t trial

	check_main
	check_small
	for board in "${boards[@]}"; do
		read_table "$board"
		read_board "$board"
	done
	for t in "${tables[@]}"; do
		finish_table "$t"
	done
	[ $problems = 0 ] || die "$problems missing; nothing was changed"
	for board in "${boards[@]}"; do
		finish_board "$board"
	done
	compare_tables
	[ $problems = 0 ] || die "$problems missing; nothing was changed"
	# The small server tries it, with empty tables, and forgets it.
	trial="BEGIN; SET LOCAL client_min_messages = warning; $(small_tables)
CREATE SCHEMA beside_trial; SET LOCAL search_path = $(qi "$known_library"), pg_catalog;
$(for board in "${boards[@]}"; do
		[ -z "${table[${of[$board,oid]},there]}" ] || continue
		echo "${of[$board,create]}"
		echo "${of[$board,create_view]//$(qi "$name")./beside_trial.}"
	done)
ROLLBACK;"
	trial=$(on_small 2>&1 <<<"$trial") || die "the small server cannot have these boards: $trial"
	say "both servers allow all that is needed"
	[ -n "$lists" ] || say "all columns of the tables will be sent"
}

# publish: the tables, and of the columns those that are needed.
publish()
{
	local t these='' sql=''

	if truth "NOT EXISTS (SELECT FROM pg_publication WHERE pubname = $(ql "$name"))"; then
		for t in "${tables[@]}"; do
			these+="${these:+,}"$'\n\t'"${table[$t,name]}${table[$t,lists]:+ (${table[$t,list]})}"
		done
		change main "CREATE PUBLICATION $(qi "$name") FOR TABLE$these
	WITH (publish_via_partition_root = true);
COMMENT ON PUBLICATION $(qi "$name") IS $(ql "$mark");"
		return
	fi
	for t in "${tables[@]}"; do
		truth "EXISTS (SELECT FROM pg_publication_rel JOIN pg_publication p ON p.oid = prpubid WHERE pubname = $(ql "$name") AND prrelid = $t)" ||
			sql+="ALTER PUBLICATION $(qi "$name") ADD TABLE ${table[$t,name]}${table[$t,lists]:+ (${table[$t,list]})};"
	done
	[ -z "$sql" ] || change main "$sql"
}

slot_state()
{
	on_main <<<"SELECT CASE WHEN wal_status = 'lost' THEN 'lost' ELSE 'there' END FROM pg_replication_slots WHERE slot_name = $(ql "$name")"
}

subscription_there()
{
	[ "$(on_small <<<"SELECT count(*) FROM pg_subscription WHERE subname = $(ql "$name")
		AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())")" = 1 ]
}

# The connection string of the subscription, as an expression.
connection()
{
	if [ -n "${BESIDE_PASSWORD:-}" ]; then
		# shellcheck disable=SC2016 # dollar quotes
		printf '%s || replace(replace(current_setting(%s), $q$\\$q$, $q$\\\\$q$), $q$%s$q$, $q$\\%s$q$) || $q$%s$q$' \
			"$(ql "$replica password='")" "'beside.password'" "'" "'" "'"
	else
		ql "$replica"
	fi
}

# create_subscription COPY: with a slot that is there, so that it may run in a function.
create_subscription()
{
	local failover=''

	# Then a standby can have the slot, too, and it survives a failover.
	[ "$main_version" -lt 17 ] || [ "$small_version" -lt 17 ] || failover=', failover = true'
	secret "CREATE SUBSCRIPTION $(qi "$name") CONNECTION %L PUBLICATION $(qi "$name")
	WITH (create_slot = false, slot_name = $(qi "$name"), enabled = false, copy_data = $1$failover)" "$(connection)"
	echo "COMMENT ON SUBSCRIPTION $(qi "$name") IS $(ql "$mark");"
}

subscribe()
{
	local slot t

	slot=$(slot_state)
	if ! subscription_there; then
		[ -z "$slot" ] || die "the main server has a slot $name already: of another small server, or of one that is gone, then --undo --without-small"
		for t in "${tables[@]}"; do
			[ -z "${table[$t,there]}" ] || [ "$(on_small <<<"SELECT EXISTS (SELECT FROM ${table[$t,name]})")" = f ] ||
				die "the small server has rows of ${table[$t,name]}, and no subscription: run with --repair"
		done
		say "a slot on the main server, and a subscription on the small one"
		[ -n "$dry" ] || as_replica '' -o /dev/null <<<"SELECT pg_create_logical_replication_slot($(ql "$name"), 'pgoutput')"
		change small "BEGIN;
$(create_subscription true)
COMMIT;
ALTER SUBSCRIPTION $(qi "$name") ENABLE;" "${BESIDE_PASSWORD:-none}" || {
			[ -n "$dry" ] || drop_slots
			die "the small server cannot subscribe: is main_from_small right?"
		}
		return
	fi
	[ "$slot" = there ] || die "the slot $name of the main server is gone or lost: run with --repair"
	# It may have another address or password now, and more tables.
	change small "$(secret "ALTER SUBSCRIPTION $(qi "$name") CONNECTION %L" "$(connection)")
ALTER SUBSCRIPTION $(qi "$name") ENABLE;
ALTER SUBSCRIPTION $(qi "$name") REFRESH PUBLICATION;" "${BESIDE_PASSWORD:-none}"
}

# wait_copy: until all rows have been copied, and what was written meanwhile has come.
wait_copy()
{
	local words left copied errors before='' told=0

	[ -z "$dry" ] || return 0
	while :; do
		words=$(on_small <<<"SELECT (SELECT count(*) FROM pg_subscription_rel WHERE srsubid = s.oid AND srsubstate <> 'r'),
				(SELECT coalesce(sum(tuples_processed), 0) FROM pg_stat_progress_copy WHERE datid = subdbid AND type = 'CALLBACK'),
				coalesce((SELECT sum(value::bigint) FROM pg_stat_subscription_stats e, jsonb_each_text(to_jsonb(e))
					WHERE e.subid = s.oid AND key LIKE '%error_count'), 0)
			FROM pg_subscription s WHERE subname = $(ql "$name")")
		IFS=$'\t' read -r left copied errors <<<"$words"
		[ "$left" != 0 ] || break
		before=${before:-$errors}
		[ $((errors - before)) -lt 3 ] ||
			die "the copy fails again and again, and is still tried: the log of the small server says why. Run this again then"
		[ $((SECONDS - told)) -lt 10 ] || { say "tables that are being copied: $left, rows: $copied"; told=$SECONDS; }
		sleep 0.2
	done
	say "the tables are copied"
}

# The boards, built from the copied tables, and the views.
make_boards()
{
	local board t sql='' view there

	for board in "${boards[@]}"; do
		t=${of[$board,oid]}
		view=$(on_small <<<"SELECT obj_description(to_regclass($(ql "$(qi "$name").$(qi "${of[$board,view]}")")), 'pg_class')")
		there=''
		[ -z "$library" ] || there=$(on_small <<<"SELECT source = to_regclass($(ql "${table[$t,name]}"))
			FROM $(qi "$library").lb_board WHERE board = $(ql "$board")")
		[ "$there" != f ] || die "the small server has a board $board on another table: choose another name"
		if [ "$there" = t ] && [ "$view" = "${of[$board,mark]}" ]; then
			continue
		fi
		[ -z "$view" ] || sql+="DROP VIEW $(qi "$name").$(qi "${of[$board,view]}");"$'\n'
		[ -z "$there" ] || sql+="SELECT lb_drop_board($(ql "$board")) \\g /dev/null"$'\n'
		sql+="${of[$board,create]}"$'\n'"${of[$board,create_view]}"$'\n'"ANALYZE ${table[$t,name]};"$'\n'
	done
	[ -z "$sql" ] || change small "SET search_path = $(qi "$known_library"), pg_catalog;
$sql"
	[ -z "$dry" ] || return 0
	[ "$(on_small <<<"SELECT $(qi "$known_library").lb_wait_ready('1 day')")" = t ] ||
		die "a board is not ready: SELECT board, state, reason FROM lb_stat_board on the small server"
	say "the boards are ready"
}

# The role that the main server connects as.  It can read the views, and nothing else.
make_reader()
{
	local there mappings role user roles=("$main_user") sql='' new=''

	there=$(on_small <<<"SELECT count(*) FROM pg_roles WHERE rolname = $(ql "$reader")")
	split "${top[roles]:-}"
	for role in "${list[@]}"; do
		role=$(unquoted "$role")
		has "$role" "${roles[@]}" || roles+=("$role")
	done
	mappings=$(on_main <<<"SELECT count(*) FROM pg_user_mappings WHERE srvname = $(ql "$name")")
	if [ "$there" = 0 ] || [ "$mappings" -lt ${#roles[@]} ] || [ -n "$rotate" ]; then
		new=$(od -An -N 24 -tx1 /dev/urandom | tr -d ' \n')
		[ "$there" = 1 ] || change small "CREATE ROLE $(qi "$reader") LOGIN;
COMMENT ON ROLE $(qi "$reader") IS $(ql "$mark");
ALTER ROLE $(qi "$reader") SET default_transaction_read_only = on;"
		change small "$(secret "ALTER ROLE $(qi "$reader") PASSWORD %L" "current_setting('beside.password')")" "$new"
	fi
	change small "ALTER ROLE $(qi "$reader") SET statement_timeout = $(ql "$timeout");
GRANT USAGE ON SCHEMA $(qi "$name") TO $(qi "$reader");
GRANT SELECT ON ALL TABLES IN SCHEMA $(qi "$name") TO $(qi "$reader");"

	# Where the provider gives it to another role, it stays after --undo.
	truth "EXISTS (SELECT FROM pg_extension WHERE extname = 'postgres_fdw')" ||
		sql+="CREATE EXTENSION postgres_fdw; DO \$\$ BEGIN COMMENT ON EXTENSION postgres_fdw IS $(ql "$mark"); EXCEPTION WHEN insufficient_privilege THEN NULL; END \$\$;"
	truth "EXISTS (SELECT FROM pg_foreign_server WHERE srvname = $(ql "$name"))" ||
		sql+="CREATE SERVER $(qi "$name") FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($(option_list), use_remote_estimate $(ql "$estimate")); COMMENT ON SERVER $(qi "$name") IS $(ql "$mark");"
	[ -z "$sql" ] || change main "$sql"
	[ -n "$new" ] || return 0
	sql=''
	for user in "${roles[@]}"; do
		if truth "EXISTS (SELECT FROM pg_user_mappings WHERE srvname = $(ql "$name") AND usename = $(ql "$user"))"; then
			sql+=$(secret "ALTER USER MAPPING FOR $(qi "$user") SERVER $(qi "$name") OPTIONS (SET password %L)" "current_setting('beside.password')")
		else
			sql+=$(secret "CREATE USER MAPPING FOR $(qi "$user") SERVER $(qi "$name") OPTIONS (user $(ql "$reader"), password %L)" \
				"current_setting('beside.password')")
		fi
		sql+=$'\n'
	done
	change main "$sql" "$new"
}

# A foreign table for each view of the schema: those of the boards, and yours.
make_foreign()
{
	local view text there sql='' role board shown

	if [ -n "$dry" ]; then
		for board in "${boards[@]}"; do
			change main "IMPORT FOREIGN SCHEMA $(qi "$name") LIMIT TO ($(qi "${of[$board,view]}")) FROM SERVER $(qi "$name") INTO $(qi "$schema");"
		done
		return
	fi
	while IFS=$'\t' read -r view text; do
		shown="$(qi "$schema").$(qi "$view")"
		there=$(on_main <<<"SELECT coalesce(obj_description(c.oid, 'pg_class'), '-') FROM pg_class c
				JOIN pg_foreign_table ON ftrelid = c.oid JOIN pg_foreign_server s ON s.oid = ftserver
			WHERE srvname = $(ql "$name") AND c.oid = to_regclass($(ql "$shown"))")
		if [ "$there" != "$text" ]; then
			[ -z "$there" ] || sql+="DROP FOREIGN TABLE $shown;"$'\n'
			sql+="IMPORT FOREIGN SCHEMA $(qi "$name") LIMIT TO ($(qi "$view")) FROM SERVER $(qi "$name") INTO $(qi "$schema"); COMMENT ON FOREIGN TABLE $shown IS $(ql "$text");"$'\n'
		fi
		split "${top[roles]:-}"
		for role in "${list[@]}"; do
			sql+="GRANT SELECT ON $shown TO $(qi "$(unquoted "$role")");"$'\n'
		done
	done < <(on_small <<<"SELECT relname, coalesce(obj_description(oid, 'pg_class'), $(ql "$mark: a view of yours")) FROM pg_class
		WHERE relnamespace = $(ql "$(qi "$name")")::regnamespace AND relkind = 'v'")
	[ -z "$sql" ] || change main "BEGIN;
$sql
COMMIT;" || die "the foreign tables cannot be made: is small_from_main right, and do a firewall and pg_hba.conf of the small server let the main one in?"
	for board in "${boards[@]}"; do
		shown="$(qi "$schema").$(qi "${of[$board,view]}")"
		on_main >/dev/null <<<"SELECT FROM $shown ORDER BY $(qi "${of[$board,rank_as]:-rank}") LIMIT 1" || die "$shown cannot be read"
		say "$shown has the ranks of board $board"
	done
}

# Makes the subscription again, with a new slot.  All rows are read as of that slot, and
# only those that differ are changed on the small server, whose boards go on.
do_repair()
{
	local t keys key column script=''

	if [ -n "$dry" ]; then
		say "would make the slot and the subscription again, and change the rows that differ"
		return
	fi
	if subscription_there; then
		on_small <<<"ALTER SUBSCRIPTION $(qi "$name") DISABLE"
		until [ "$(on_small <<<"SELECT count(*) FROM pg_stat_subscription WHERE subname = $(ql "$name") AND pid IS NOT NULL")" = 0 ]; do
			sleep 0.2
		done
		on_small <<<"SET client_min_messages = error; ALTER SUBSCRIPTION $(qi "$name") SET (slot_name = NONE); DROP SUBSCRIPTION $(qi "$name")"
	fi
	publish
	drop_slots
	for t in "${tables[@]}"; do
		script+="SELECT $(ql "COPY beside_$t (${table[$t,list]}) FROM STDIN;");
COPY (SELECT ${table[$t,list]} FROM ${table[$t,name]}) TO STDOUT;
SELECT '\\.';
"
	done
	say "all rows are read, and compared"
	{
		echo "BEGIN; SET client_min_messages = warning;"
		for t in "${tables[@]}"; do
			echo "CREATE TEMPORARY TABLE beside_$t (LIKE ${table[$t,name]});"
		done
		# If that fails, there is no COMMIT.
		as_replica replication=database <<<"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
CREATE_REPLICATION_SLOT $(qi "$name") LOGICAL pgoutput USE_SNAPSHOT \\g /dev/null
$script
COMMIT;" || exit 1
		for t in "${tables[@]}"; do
			mapfile -t key < <(printf '%s' "${table[$t,key]}")
			keys=''
			for column in "${key[@]}"; do
				keys+="${keys:+ AND }o.$(qi "$column") = n.$(qi "$column")"
			done
			echo "ALTER TABLE beside_$t ADD PRIMARY KEY ($(listed qi "${key[@]}")); ANALYZE beside_$t;
DELETE FROM ${table[$t,name]} o WHERE NOT EXISTS (SELECT FROM beside_$t n WHERE $keys);
DELETE FROM beside_$t n USING ${table[$t,name]} o WHERE $keys AND o.*::text = n.*::text;
DELETE FROM ${table[$t,name]} o USING beside_$t n WHERE $keys;
INSERT INTO ${table[$t,name]} (${table[$t,list]}) SELECT ${table[$t,list]} FROM beside_$t;"
		done
		create_subscription false
		echo "COMMIT; ALTER SUBSCRIPTION $(qi "$name") ENABLE;"
	} | with_password "${BESIDE_PASSWORD:-none}" on_small || {
		drop_slots
		die "the repair has failed. The boards are as they were; nothing is replicated until a repair succeeds"
	}
	say "the small server has what the main one has, and follows it"
}

drop_slots()
{
	# That of a connection that has just ended is active for a moment.
	as_replica '' >/dev/null <<<"DO \$\$ BEGIN
	FOR i IN 1 .. 100 LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $(ql "$name") AND active);
		PERFORM pg_sleep(0.1);
	END LOOP; END \$\$;
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $(ql "$name")"
}

do_undo()
{
	local sql sub

	sql=$(on_main <<<"SELECT format('DROP FOREIGN TABLE %s;', ftrelid::regclass) FROM pg_foreign_table JOIN pg_foreign_server s ON s.oid = ftserver
			WHERE srvname = $(ql "$name") AND obj_description(ftrelid, 'pg_class') LIKE $(ql "$mark%")
		UNION ALL SELECT format('DROP USER MAPPING FOR %I SERVER %I;', usename, s.srvname) FROM pg_user_mappings m JOIN pg_foreign_server s ON s.oid = srvid
			WHERE s.srvname = $(ql "$name") AND obj_description(s.oid, 'pg_foreign_server') = $(ql "$mark")
		UNION ALL SELECT format('DROP SERVER %I;', srvname) FROM pg_foreign_server
			WHERE srvname = $(ql "$name") AND obj_description(oid, 'pg_foreign_server') = $(ql "$mark")
		UNION ALL SELECT 'DROP EXTENSION postgres_fdw;' FROM pg_extension
			WHERE extname = 'postgres_fdw' AND obj_description(oid, 'pg_extension') = $(ql "$mark")
		UNION ALL SELECT format('DROP PUBLICATION %I;', pubname) FROM pg_publication
			WHERE pubname = $(ql "$name") AND obj_description(oid, 'pg_publication') = $(ql "$mark")")
	[ -z "$sql" ] || change main "BEGIN;
$sql
COMMIT;"
	if [ -z "$without_small" ]; then
		if subscription_there; then
			# Tables that are being copied have slots of their own, which go with it.
			sub="$(qi "$name")"
			change small "DROP SUBSCRIPTION $sub;" || {
				say "the small server cannot reach the main one: the slot is dropped from here"
				change small "ALTER SUBSCRIPTION $sub DISABLE; ALTER SUBSCRIPTION $sub SET (slot_name = NONE); DROP SUBSCRIPTION $sub;"
			}
		fi
		sql=$(on_small <<<"SELECT format('DROP SCHEMA %I CASCADE;', nspname) FROM pg_namespace
				WHERE nspname = $(ql "$name") AND obj_description(oid, 'pg_namespace') = $(ql "$mark")
			UNION ALL SELECT format('SELECT %I.lb_drop_board(%L) \\g /dev/null', n.nspname, board)
				FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace, $([ -n "$library" ] && echo "$(qi "$library").lb_board" || echo '(SELECT NULL::text AS board, 0 AS source) x')
				WHERE extname = 'leaderboard' AND obj_description(source, 'pg_class') = $(ql "$mark")
			UNION ALL SELECT format('DROP TABLE %s;', oid::regclass) FROM pg_class
				WHERE relkind = 'r' AND obj_description(oid, 'pg_class') = $(ql "$mark")
			UNION ALL SELECT 'DROP EXTENSION leaderboard;' FROM pg_extension
				WHERE extname = 'leaderboard' AND obj_description(oid, 'pg_extension') = $(ql "$mark")
			UNION ALL SELECT format('DROP SCHEMA %I;', nspname) FROM pg_namespace
				WHERE nspname <> $(ql "$name") AND obj_description(oid, 'pg_namespace') = $(ql "$mark")
			UNION ALL SELECT format('DROP OWNED BY %1\$I; DROP ROLE %1\$I;', rolname) FROM pg_roles
				WHERE rolname = $(ql "$reader") AND shobj_description(oid, 'pg_authid') = $(ql "$mark")")
		[ -z "$sql" ] || change small "BEGIN;
$sql
COMMIT;"
	fi
	if [ -n "$(slot_state)" ]; then
		if [ -n "$dry" ]; then say "would drop the slot $name"; else drop_slots; fi
	fi
	say "nothing of $name is left"
}

know_main
if [ -n "$undo" ]; then
	[ -n "$without_small" ] || know_small
	do_undo
	exit 0
fi
[ ${#boards[@]} -gt 0 ] || die "$file has no board: [name]"
know_small
check
for t in "${tables[@]}"; do
	[ -z "${table[$t,again]:-}" ] || forget_table "$t"
done
sql=$(small_tables)
[ -z "$sql" ] || change small "BEGIN;
$sql
COMMIT;"
if [ -n "$repair" ]; then
	do_repair
else
	publish
	subscribe
fi
wait_copy
[ -n "$dry" ] || know_small
make_boards
make_reader
make_foreign
