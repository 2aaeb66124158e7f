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

#
# The file.
#

declare -A top=() of=()
boards=()

read_file()
{
	local line key value board='' n=0
	local names=' name main small main_from_small small_from_main schema roles timeout use_remote_estimate columns '
	local board_names=' table member rank_by board_column method ranked_if show view rank_as total_as '

	while IFS= read -r line || [ -n "$line" ]; do
		n=$((n + 1))
		line=${line%$'\r'}
		if [[ $line =~ ^[[:space:]]*(#.*)?$ ]]; then
			continue
		elif [[ $line =~ ^\[(.+)\][[:space:]]*$ ]]; then
			board=${BASH_REMATCH[1]}
			[ -z "${of[$board,table]+x}" ] || die "$file:$n: board $board is there twice"
			of[$board,table]=''
			boards+=("$board")
		elif [[ $line =~ ^[[:space:]]*([a-z_]+)[[:space:]]*=[[:space:]]*(.*[^[:space:]])[[:space:]]*$ ]]; then
			key=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]}
			if [ -z "$board" ]; then
				[[ $names = *" $key "* ]] || die "$file:$n: no setting $key; there are:$names"
				top[$key]=$value
			else
				[[ $board_names = *" $key "* ]] || die "$file:$n: a board has no $key, but:$board_names"
				of[$board,$key]=$value
			fi
		else
			die "$file:$n: neither \"key = value\" nor [board]"
		fi
	done <"$file"
}

# keyword STRING NAME: what a connection string says of it.
keyword()
{
	local word value=''

	for word in $1; do
		[[ $word != "$2="* ]] || value=${word#*=}
	done
	echo "$value"
}

# A connection string that can be shown, and taken apart.
check_string()
{
	[[ $2 != *[\'\\]* ]] || die "$1: no quotes in it, please"
	[[ $2 != postgres*://* ]] || die "$1: write host=... port=... dbname=... user=..., not a URI"
	[[ " $2" != *" password="* ]] ||
		die "$1 has a password: put it into ~/.pgpass, and that of the subscription into BESIDE_PASSWORD"
}

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
new_password=

# SQL: an identifier, a literal.
qi()
{
	printf '"%s"' "${1//\"/\"\"}"
}

ql()
{
	printf "'%s'" "${1//\'/\'\'}"
}

# psql on either server.  Statements come by the standard input.
on_main()
{
	psql -XqAtw -F $'\t' -v ON_ERROR_STOP=1 -d "$main"
}

on_small()
{
	psql -XqAtw -F $'\t' -v ON_ERROR_STOP=1 -d "$small"
}

# The main server as the role that the small one connects as.
as_replica()
{
	local string="$main user=$replica_user $1"

	shift
	if [ -n "${BESIDE_PASSWORD:-}" ]; then
		PGPASSWORD=$BESIDE_PASSWORD psql -XqAtw -v ON_ERROR_STOP=1 -d "$string" "$@"
	else
		psql -XqAtw -v ON_ERROR_STOP=1 -d "$string" "$@"
	fi
}

# A password goes to a server as a setting of the session, in the packet that opens
# the connection.  So it is in no statement that a log could have.
with_password()
{
	local value=$1

	shift
	value=${value//\\/\\\\}
	PGOPTIONS="${PGOPTIONS:-} -c beside.password=${value// /\\ }" "$@"
}

# change main|small STATEMENTS [PASSWORD]: runs them, or shows them.
change()
{
	if [ -n "$dry" ]; then
		say "on the $1 server:"
		printf '%s\n' "$2"
	elif [ -n "${3:-}" ]; then
		with_password "$3" "on_$1" <<<"SET lock_timeout = '30s'; $2"
	else
		"on_$1" <<<"SET lock_timeout = '30s'; SET client_min_messages = warning; $2"
	fi
}

# secret FORMAT EXPRESSION: a statement with a password, for which there is an expression.
# The statement's text would be in an error, and so in the log; only the message is.
secret()
{
	# shellcheck disable=SC2016 # a dollar quote
	printf 'DO $beside$ BEGIN EXECUTE format(%s, %s);\nEXCEPTION WHEN OTHERS THEN RAISE EXCEPTION %s, SQLERRM;\nEND $beside$;\n' \
		"$(ql "$1")" "$2" "'%'"
}

problems=0

problem()
{
	echo "MISSING: $*" >&2
	problems=$((problems + 1))
}

# truth QUERY: of the main server.
truth()
{
	[ "$(on_main <<<"SELECT $1")" = t ]
}

# Parts of a list at its commas, but for those in parentheses and quotes: in "list".
split()
{
	local text=$1 i c depth=0 quote='' word=''

	list=()
	for ((i = 0; i < ${#text}; i++)); do
		c=${text:i:1}
		if [ -n "$quote" ]; then
			[ "$c" != "$quote" ] || quote=''
		elif [ "$c" = '"' ] || [ "$c" = "'" ]; then
			quote=$c
		elif [ "$c" = '(' ]; then
			depth=$((depth + 1))
		elif [ "$c" = ')' ]; then
			depth=$((depth - 1))
		elif [ "$c" = , ] && [ $depth = 0 ]; then
			list+=("$(trim "$word")")
			word=''
			continue
		fi
		word+=$c
	done
	[ -z "$(trim "$word")" ] || list+=("$(trim "$word")")
}

trim()
{
	local text=$1

	text=${text#"${text%%[![:space:]]*}"}
	printf '%s' "${text%"${text##*[![:space:]]}"}"
}

# The name that an identifier of SQL stands for.
unquoted()
{
	local text=$1

	if [[ $text = \"*\" ]]; then
		text=${text:1:${#text}-2}
		printf '%s' "${text//\"\"/\"}"
	else
		printf '%s' "${text,,}"
	fi
}

# has NAME NAMES ...
has()
{
	local name=$1 other

	shift
	for other in "$@"; do
		[ "$other" != "$name" ] || return 0
	done
	return 1
}

joined()
{
	local text='' word

	for word in "$@"; do
		text+="${text:+, }$(qi "$word")"
	done
	printf '%s' "$text"
}

#
# What the servers are.
#

know_main()
{
	local words

	words=$(on_main <<<"SELECT current_setting('server_version_num')::int / 10000, session_user, current_database(),
		(SELECT string_agg(rolname, ' ') FROM pg_roles
			WHERE rolname IN ('rds_replication', 'rds_superuser', 'cloudsqlsuperuser', 'azure_pg_admin', 'supabase_admin', 'neon_superuser'))") ||
		die "cannot connect to the main server: main = $main"
	IFS=$'\t' read -r main_version main_user main_db provider <<<"$words"
	replica=${top[main_from_small]:-$main}
	replica_user=$(keyword "$replica" user)
	[ -n "$replica_user" ] || { replica_user=$main_user; replica+=" user=$main_user"; }
	[ -n "$(keyword "$replica" dbname)" ] || replica+=" dbname=$main_db"
	lists=
	if [ "$main_version" -ge 15 ] && [ "${top[columns]:-needed}" != all ]; then
		lists=yes
	fi
}

know_small()
{
	local words

	words=$(on_small <<<"SELECT current_setting('server_version_num')::int / 10000, current_database(),
		(SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
		EXISTS (SELECT FROM pg_available_extensions WHERE name = 'leaderboard'),
		coalesce((SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'leaderboard'), '')") ||
		die "cannot connect to the small server: small = $small"
	IFS=$'\t' read -r small_version small_db small_super has_library library <<<"$words"
	known_library=${library:-leaderboard}
}

# option_list: the address of the small server, as options of a foreign server.
option_list()
{
	local word text=''

	for word in ${top[small_from_main]:-$small}; do
		case ${word%%=*} in
			user | password | passfile | service | application_name | client_encoding) ;;
			*) text+="${text:+, }${word%%=*} $(ql "${word#*=}")" ;;
		esac
	done
	[[ " ${top[small_from_main]:-$small}" = *" dbname="* ]] || text+="${text:+, }dbname $(ql "$small_db")"
	printf '%s' "$text"
}

# What the provider calls it.
how_to()
{
	case $1,$provider in
		logical,*rds_*) echo "set rds.logical_replication = 1 in the parameter group, and restart" ;;
		logical,*cloudsql*) echo "set the flag cloudsql.logical_decoding = on, and restart" ;;
		logical,*neon*) echo "enable logical replication in the project's settings" ;;
		logical,*) echo "set wal_level = logical, and restart" ;;
		replication,*rds_replication*) echo "GRANT rds_replication TO $(qi "$replica_user")" ;;
		replication,*) echo "ALTER ROLE $(qi "$replica_user") REPLICATION" ;;
	esac
}

#
# Rights and settings.  What is missing is said, all of it.
#

check_main()
{
	local free error

	[ "$main_version" -ge 13 ] || problem "the main server has PostgreSQL $main_version; 13 or later is needed"
	truth "current_setting('wal_level') = 'logical'" ||
		problem "wal_level of the main server is not logical: $(how_to logical)"
	# The copies take slots and senders, too: two at once, by default.
	free=$(on_main <<<"SELECT current_setting('max_replication_slots')::int
		- (SELECT count(*) FROM pg_replication_slots WHERE slot_name <> $(ql "$name"))")
	[ "$free" -ge 3 ] || problem "$free replication slots are free on the main server, 3 are needed: raise max_replication_slots"
	free=$(on_main <<<"SELECT current_setting('max_wal_senders')::int
		- (SELECT count(*) FROM pg_stat_replication WHERE application_name <> $(ql "$name"))")
	[ "$free" -ge 3 ] || problem "$free WAL senders are free on the main server, 3 are needed: raise max_wal_senders"
	truth "has_database_privilege(current_database(), 'CREATE')" ||
		problem "role $main_user may not create a publication: GRANT CREATE ON DATABASE $(qi "$main_db") TO $(qi "$main_user")"
	if ! error=$(as_replica replication=database -c 'IDENTIFY_SYSTEM' 2>&1 >/dev/null); then
		problem "role $replica_user cannot open a connection for replication: ${error//$'\n'/ }
	Often: $(how_to replication); a line of pg_hba.conf or a firewall; or BESIDE_PASSWORD"
	fi
	if ! truth "EXISTS (SELECT FROM pg_namespace WHERE nspname = $(ql "$schema"))"; then
		problem "the main server has no schema $schema"
	elif ! truth "has_schema_privilege($(ql "$schema"), 'CREATE')"; then
		problem "role $main_user may not create foreign tables: GRANT CREATE ON SCHEMA $(qi "$schema") TO $(qi "$main_user")"
	fi
	if truth "EXISTS (SELECT FROM pg_extension WHERE extname = 'postgres_fdw')"; then
		truth "has_foreign_data_wrapper_privilege('postgres_fdw', 'USAGE')" ||
			problem "role $main_user may not use postgres_fdw: GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO $(qi "$main_user")"
	elif ! truth "EXISTS (SELECT FROM pg_available_extensions WHERE name = 'postgres_fdw')"; then
		problem "the main server does not have postgres_fdw"
	elif ! error=$(on_main 2>&1 <<<"BEGIN; CREATE EXTENSION postgres_fdw; CREATE SERVER beside_try FOREIGN DATA WRAPPER postgres_fdw; ROLLBACK"); then
		problem "role $main_user cannot create the extension postgres_fdw: ${error//$'\n'/ }
	Let a role that may do so run: CREATE EXTENSION postgres_fdw; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO $(qi "$main_user")"
	fi
	if truth "EXISTS (SELECT FROM pg_publication WHERE pubname = $(ql "$name") AND obj_description(oid, 'pg_publication') IS DISTINCT FROM $(ql "$mark"))"; then
		problem "there is another publication $name: choose another name in $file"
	fi
	if truth "EXISTS (SELECT FROM pg_foreign_server WHERE srvname = $(ql "$name") AND coalesce(obj_description(oid, 'pg_foreign_server'), '') NOT LIKE $(ql "$mark%"))"; then
		problem "there is another foreign server $name: choose another name in $file"
	fi
	split "${top[roles]:-}"
	for role in "${list[@]}"; do
		truth "EXISTS (SELECT FROM pg_roles WHERE rolname = $(ql "$(unquoted "$role")"))" || problem "the main server has no role $role"
	done
}

check_small()
{
	[ "$small_version" -ge 15 ] || problem "the small server has PostgreSQL $small_version; 15 or later is needed"
	[ "$small_super" = t ] || problem "small = ... has to be a superuser of the small server, which is yours"
	[ "$has_library" = t ] || problem "the small server does not have the extension leaderboard"
	[ "$(on_small <<<"SELECT current_setting('shared_preload_libraries') LIKE '%leaderboard%'")" = t ] ||
		problem "the small server does not preload the library: shared_preload_libraries = 'leaderboard', and restart"
	[ "$(on_small <<<"SELECT least(current_setting('max_logical_replication_workers')::int, current_setting('max_replication_slots')::int)
		- (SELECT count(*) FROM pg_subscription WHERE subname <> $(ql "$name")) >= 3")" = t ] ||
		problem "the small server needs 3 free max_logical_replication_workers and max_replication_slots"
	[ "$(on_small <<<"SELECT count(*) FROM pg_subscription WHERE subname = $(ql "$name")
		AND obj_description(oid, 'pg_subscription') IS DISTINCT FROM $(ql "$mark")
		AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())")" = 0 ] ||
		problem "there is another subscription $name on the small server: choose another name in $file"
	[ "$(on_small <<<"SELECT count(*) FROM pg_roles WHERE rolname = $(ql "$reader")
		AND shobj_description(oid, 'pg_authid') IS DISTINCT FROM $(ql "$mark")")" = 0 ] ||
		problem "there is another role $reader on the small server: choose another name in $file"
	[ "$(on_small <<<"SELECT count(*) FROM pg_namespace WHERE nspname = $(ql "$name")
		AND obj_description(oid, 'pg_namespace') IS DISTINCT FROM $(ql "$mark")")" = 0 ] ||
		problem "there is another schema $name on the small server: choose another name in $file"
	[[ $(option_list) = *"host "* ]] || problem "small_from_main = host=... is missing: how the main server reaches the small one"
}

#
# The tables, and what the boards need of them.
#

declare -A table=()
tables=()

# read_table BOARD: facts of its table, once for all its boards.
read_table()
{
	local board=$1 facts words t line type class

	[ -n "${of[$board,table]}" ] || { problem "board $board has no table = ..."; return; }
	[ -n "${of[$board,rank_by]:-}" ] || { problem "board $board has no rank_by = ..."; return; }
	facts=$(on_main 2>&1 <<<"SELECT c.oid, nspname, relname, relkind, relreplident, relpersistence, pg_has_role(relowner, 'USAGE'),
			pg_get_userbyid(relowner), greatest(reltuples, 0)::bigint,
			relrowsecurity AND NOT (SELECT rolbypassrls OR rolsuper OR rolname = pg_get_userbyid(relowner) AND NOT relforcerowsecurity
				FROM pg_roles WHERE rolname = $(ql "$replica_user"))
		FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		WHERE c.oid = to_regclass($(ql "${of[$board,table]}"))") || { problem "board $board: $facts"; return; }
	[ -n "$facts" ] || { problem "board $board: the main server has no table ${of[$board,table]}"; return; }
	words=()
	IFS=$'\t' read -ra words <<<"$facts"
	t=${words[0]}
	of[$board,oid]=$t
	! has "$t" "${tables[@]}" || return 0
	tables+=("$t")
	table[$t,name]="$(qi "${words[1]}").$(qi "${words[2]}")"
	table[$t,schema]=${words[1]}
	table[$t,rows]=${words[8]}
	local shown="table ${words[1]}.${words[2]}"

	[[ ${words[3]} = [rp] ]] || problem "$shown is not a table"
	[ "${words[5]}" = p ] || problem "$shown is unlogged or temporary, and so is not replicated"
	[ "${words[6]}" = t ] ||
		problem "role $main_user does not own $shown: run this as ${words[7]}, or GRANT $(qi "${words[7]}") TO $(qi "$main_user")"
	[ "${words[9]}" = f ] ||
		problem "row-level security would hide rows of $shown from role $replica_user: give it BYPASSRLS, or use the owner"
	truth "has_schema_privilege($(ql "$replica_user"), $(ql "${words[1]}"), 'USAGE')" ||
		problem "role $replica_user cannot copy $shown: GRANT USAGE ON SCHEMA $(qi "${words[1]}") TO $(qi "$replica_user")"

	# Each column, the type it has on the small server, and what it can be used for.
	# Domains are what they are over; enums are texts; types of extensions, too.
	table[$t,all]='' table[$t,key]=''
	while IFS=$'\t' read -r line type class; do
		table[$t,all]+="$line"$'\n'
		table[$t,type,$line]=$type
		table[$t,class,$line]=$class
	done < <(on_main <<<"WITH RECURSIVE r AS (
			SELECT attnum, attname, attgenerated, attcollation, atttypid AS type, atttypmod AS typmod FROM pg_attribute
			WHERE attrelid = $t AND attnum > 0 AND NOT attisdropped
			UNION ALL
			SELECT attnum, attname, attgenerated, attcollation, typbasetype, typtypmod
			FROM r JOIN pg_type t ON t.oid = r.type WHERE typtype = 'd')
		SELECT attname,
			CASE WHEN typtype = 'e' OR foreign_type THEN 'text' ELSE format_type(r.type, typmod) END,
			CASE WHEN attgenerated <> '' THEN 'generated'
				WHEN typtype = 'e' THEN 'enum'
				WHEN foreign_type OR attcollation <> 0 AND NOT collisdeterministic THEN 'other'
				ELSE 'plain' END
		FROM r JOIN pg_type t ON t.oid = r.type LEFT JOIN pg_collation l ON l.oid = attcollation,
			LATERAL (SELECT typnamespace <> 'pg_catalog'::regnamespace OR typname ~ '^_?reg' AS foreign_type) f
		WHERE typtype <> 'd' ORDER BY attnum")
	while read -r line; do
		table[$t,key]+="$line"$'\n'
	done < <(on_main <<<"SELECT attname FROM pg_class c JOIN pg_index i ON indrelid = c.oid
			JOIN pg_attribute a ON attrelid = c.oid AND attnum = ANY (indkey)
		WHERE c.oid = $t AND indisvalid AND CASE relreplident WHEN 'i' THEN indisreplident ELSE indisprimary END
		ORDER BY array_position(indkey::int2[], attnum)")
	if [ "${words[4]}" = n ]; then
		problem "$shown has REPLICA IDENTITY NOTHING: updates and deletes would not be replicated"
	elif [ -z "${table[$t,key]}" ]; then
		problem "$shown has no primary key: give it one, or a unique index over columns that are not null, and ALTER TABLE ... REPLICA IDENTITY USING INDEX"
	fi
	table[$t,lists]=$lists
	# Then the old row is sent with all columns, and a list may leave none out.
	[ "${words[4]}" != f ] || table[$t,lists]=''
	table[$t,used]=${table[$t,key]}
	table[$t,unique]=''
}

# use TABLE COLUMN BOARD [any]: the board needs the column; to show it, any will do.
use()
{
	local class=${table[$1,class,$2]:-}

	if [ -z "$class" ]; then
		problem "board $3: its table has no column $2"
	elif [ "$class" = generated ]; then
		problem "board $3: column $2 is generated, and those are not replicated: write its expression instead"
	elif [ "$class" = other ] && [ -z "${4:-}" ]; then
		problem "board $3: column $2 has a type of an extension, or a collation that is not deterministic; it can be shown only"
	elif [ "$class" = enum ] && [ "${4:-}" = rank ]; then
		problem "board $3: column $2 is an enum, whose order the small server does not know"
	else
		table[$1,used]+="$2"$'\n'
	fi
}

# read_board BOARD: the columns that it needs.
read_board()
{
	local board=$1 t=${of[$1,oid]:-} item column columns types='' error member

	[ -n "$t" ] || return 0
	mapfile -t columns < <(printf '%s' "${table[$t,all]}")
	for column in "${columns[@]}"; do
		[ "${table[$t,class,$column]}" = generated ] || types+="${types:+, }$(qi "$column") ${table[$t,type,$column]}"
	done
	# PostgreSQL itself says which columns are in the expressions.
	error=$(on_small 2>&1 <<-END
		BEGIN;
		CREATE TEMPORARY TABLE beside_columns ($types);
		CREATE TEMPORARY VIEW beside_rank AS SELECT 1 AS one FROM beside_columns ORDER BY ${of[$board,rank_by]};
		CREATE TEMPORARY VIEW beside_if AS SELECT 1 AS one FROM beside_columns WHERE ${of[$board,ranked_if]:-true};
		SELECT attname, CASE ev_class WHEN 'beside_rank'::regclass THEN 'rank' END
		FROM pg_depend d JOIN pg_rewrite r ON r.oid = objid AND classid = 'pg_rewrite'::regclass
			JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
		WHERE ev_class IN ('beside_rank'::regclass, 'beside_if'::regclass) AND attrelid = 'beside_columns'::regclass;
		ROLLBACK;
	END
	) || { problem "board $board: rank_by or ranked_if: $error
	Generated columns are not replicated: write their expressions."; return; }
	while IFS=$'\t' read -r column item; do
		[ -z "$column" ] || use "$t" "$column" "$board" "$item"
	done <<<"$error"
	member=${of[$board,member]:-$(mapfile -t columns < <(printf '%s' "${table[$t,key]}"); joined "${columns[@]}")}
	of[$board,member]=$member
	of[$board,keys]=''
	split "$member, ${of[$board,board_column]:-}"
	for item in "${list[@]}"; do
		column=$(unquoted "$item")
		use "$t" "$column" "$board"
		of[$board,keys]+="$column"$'\n'
	done
	split "${of[$board,show]:-}"
	for item in "${list[@]}"; do
		use "$t" "$(unquoted "$item")" "$board" any
	done
	mapfile -t columns < <(printf '%s' "${of[$board,keys]}")
	if ! truth "EXISTS (SELECT FROM pg_index i WHERE indrelid = $t AND indisunique AND indisvalid AND indimmediate
			AND indpred IS NULL AND indexprs IS NULL
			AND (SELECT array_agg(attname::text ORDER BY attname::text COLLATE \"C\") FROM pg_attribute
				WHERE attrelid = $t AND attnum = ANY ((indkey::int2[])[0:indnkeyatts - 1]))
			= (SELECT array_agg(x ORDER BY x COLLATE \"C\") FROM unnest(ARRAY[$(
				item=''
				for column in "${columns[@]}"; do item+="${item:+, }$(ql "$column")"; done
				echo "$item")]::text[]) x))"; then
		problem "board $board: no unique index of its table is on $(joined "${columns[@]}"), its members"
	elif [ "$(printf '%s' "${of[$board,keys]}" | sort)" != "$(printf '%s' "${table[$t,key]}" | sort)" ]; then
		table[$t,unique]+="$(joined "${columns[@]}")"$'\n'
	fi
}

# finish_table TABLE: its columns on the small server, in order, and its definition there.
finish_table()
{
	local t=$1 column text='' key unique used=() line missing

	mapfile -t used < <(printf '%s' "${table[$t,used]}")
	table[$t,columns]=''
	while read -r column; do
		[ -n "$column" ] && [ "${table[$t,class,$column]}" != generated ] || continue
		[ -z "${table[$t,lists]}" ] || has "$column" "${used[@]}" || continue
		table[$t,columns]+="$column"$'\n'
		text+="${text:+,}"$'\n\t'"$(qi "$column") ${table[$t,type,$column]}"
	done <<<"${table[$t,all]}"
	mapfile -t key < <(printf '%s' "${table[$t,key]}")
	text+=$',\n\t'"PRIMARY KEY ($(joined "${key[@]}"))"
	while read -r unique; do
		[ -z "$unique" ] || text+=$',\n\t'"UNIQUE ($unique)"
	done < <(printf '%s' "${table[$t,unique]}" | sort -u)
	mapfile -t used < <(printf '%s' "${table[$t,columns]}")
	table[$t,list]=$(joined "${used[@]}")
	table[$t,create]="CREATE TABLE ${table[$t,name]} ($text) WITH (fillfactor = 90);
COMMENT ON TABLE ${table[$t,name]} IS $(ql "$mark");"
	for column in "${used[@]}"; do
		truth "has_column_privilege($(ql "$replica_user"), $t, $(ql "$column"), 'SELECT')" || missing+="${missing:+, }$column"
	done
	[ -z "${missing:-}" ] ||
		problem "role $replica_user cannot copy ${table[$t,name]} ($missing): GRANT SELECT ON ${table[$t,name]} TO $(qi "$replica_user")"
}

# finish_board BOARD: how it and its view are created.
finish_board()
{
	local board=$1 t=${of[$1,oid]} item column text='' order='' first='' filter='' partition='' shown=() columns expr score=''
	local method=${of[$1,method]:-row_number} rank=${of[$1,rank_as]:-rank} total=${of[$1,total_as]:-total}

	case $method in
		row_number | rank | dense_rank) ;;
		*) problem "board $board: method = row_number, rank or dense_rank" ;;
	esac
	mapfile -t columns < <(printf '%s' "${of[$board,keys]}")
	shown=("${columns[@]}")
	split "${of[$board,rank_by]}"
	for item in "${list[@]}"; do
		expr=$item
		if [[ ${item,,} =~ ^(.*[^[:space:]])[[:space:]]+(asc|desc)$ ]]; then
			expr=${item:0:${#BASH_REMATCH[1]}}
		fi
		column=$(unquoted "$expr")
		if [ -n "${table[$t,class,$column]:-}" ]; then
			has "$column" "${shown[@]}" || shown+=("$column")
			item="$(qi "$column")$(text_order "$t" "$column")${item:${#expr}}"
			expr=$(qi "$column")
		elif [ -z "$first" ]; then
			score="($expr) AS score"
		fi
		first=${first:-$item}
		order+="${order:+, }$item"
		filter+="${filter:+ AND }($expr) IS NOT NULL"
	done
	[ -z "${of[$board,ranked_if]:-}" ] || filter+=" AND (${of[$board,ranked_if]})"
	split "${of[$board,member]}"
	for item in "${list[@]}"; do
		column=$(unquoted "$item")
		has "$(qi "$column")" "$order" || order+=", $(qi "$column")$(text_order "$t" "$column")"
	done
	split "${of[$board,board_column]:-}"
	for item in "${list[@]}"; do
		partition+="${partition:+, }$(qi "$(unquoted "$item")")"
	done
	split "${of[$board,show]:-}"
	for item in "${list[@]}"; do
		column=$(unquoted "$item")
		has "$column" "${shown[@]}" || shown+=("$column")
	done
	for item in "$rank" "$total" ${score:+score}; do
		! has "$item" "${shown[@]}" ||
			problem "board $board: the view would have two columns $item: choose rank_as or total_as, or do not show it"
	done
	[ "$method" = row_number ] || order=$first
	of[$board,view]=${of[$board,view]:-ranked_$board}
	text="SELECT $(joined "${shown[@]}")${score:+, $score},
	$method() OVER (${partition:+PARTITION BY $partition }ORDER BY $order) AS $(qi "$rank"),
	count(*) OVER (${partition:+PARTITION BY $partition}) AS $(qi "$total")
FROM ${table[$t,name]}
WHERE $filter"
	of[$board,create]="SELECT lb_create_board($(ql "$board"), $(ql "${table[$t,name]}"), member => $(ql "${of[$board,member]}"),
	rank_by => $(ql "${of[$board,rank_by]}"), board_column => $([ -z "$partition" ] && echo NULL || ql "${of[$board,board_column]}"),
	method => $(ql "$method"), ranked_if => $([ -z "${of[$board,ranked_if]:-}" ] && echo NULL || ql "${of[$board,ranked_if]}")) \\g /dev/null"
	# A comment tells whether it is still this one.
	of[$board,mark]="$mark: $(md5sum <<<"${of[$board,create]} $text" | cut -c 1-32)"
	of[$board,create_view]="CREATE VIEW $(qi "$name").$(qi "${of[$board,view]}") AS
$text;
COMMENT ON VIEW $(qi "$name").$(qi "${of[$board,view]}") IS $(ql "${of[$board,mark]}");"
}

# Texts rank in the order of their bytes.
text_order()
{
	case ${table[$1,type,$2]} in
		text | character\ varying*) printf ' COLLATE "C"' ;;
	esac
}

#
# What is done.
#

# The statements that make what is not there on the small server, but for the boards.
small_tables()
{
	local t schema_name

	[ -n "$library" ] || echo "CREATE SCHEMA IF NOT EXISTS leaderboard; CREATE EXTENSION leaderboard SCHEMA leaderboard;
COMMENT ON EXTENSION leaderboard IS $(ql "$mark");"
	[ "$(on_small <<<"SELECT count(*) FROM pg_namespace WHERE nspname = $(ql "$name")")" = 1 ] ||
		echo "CREATE SCHEMA $(qi "$name"); COMMENT ON SCHEMA $(qi "$name") IS $(ql "$mark");"
	for t in "${tables[@]}"; do
		[ -z "${table[$t,there]}" ] || continue
		schema_name=${table[$t,schema]}
		[ "$(on_small <<<"SELECT count(*) FROM pg_namespace WHERE nspname = $(ql "$schema_name")")" = 1 ] ||
			echo "CREATE SCHEMA IF NOT EXISTS $(qi "$schema_name"); COMMENT ON SCHEMA $(qi "$schema_name") IS $(ql "$mark");"
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
	change main "ALTER PUBLICATION $(qi "$name") DROP TABLE ONLY ${table[$1,name]};"
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
	local t list='' sql=''

	if truth "NOT EXISTS (SELECT FROM pg_publication WHERE pubname = $(ql "$name"))"; then
		for t in "${tables[@]}"; do
			list+="${list:+,}"$'\n\t'"TABLE ONLY ${table[$t,name]}${table[$t,lists]:+ (${table[$t,list]})}"
		done
		change main "CREATE PUBLICATION $(qi "$name") FOR${list//$'\n'$'\t'TABLE ONLY/$'\n'$'\t'TABLE}
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
		printf '%s || replace(replace(current_setting(%s), $q$\$q$, $q$\\$q$), $q$%s$q$, $q$\%s$q$) || $q$%s$q$' \
			"$(ql "$replica password='")" "'beside.password'" "'" "'" "'"
	else
		ql "$replica"
	fi
}

# create_subscription COPY: with a slot that is there, so that it may run in a function.
create_subscription()
{
	secret "CREATE SUBSCRIPTION $(qi "$name") CONNECTION %L PUBLICATION $(qi "$name")
	WITH (create_slot = false, slot_name = $(qi "$name"), enabled = false, copy_data = $1)" "$(connection)"
	echo "COMMENT ON SUBSCRIPTION $(qi "$name") IS $(ql "$mark");"
}

subscribe()
{
	local slot

	slot=$(slot_state)
	if ! subscription_there; then
		[ -z "$slot" ] || die "the main server has a slot $name already. If it was left by a small server that is gone: --undo --without-small"
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
	local words left copied errors before='' shown=0

	[ -z "$dry" ] || return 0
	while :; do
		words=$(on_small <<<"SELECT (SELECT count(*) FROM pg_subscription_rel WHERE srsubid = s.oid AND srsubstate <> 'r'),
				(SELECT coalesce(sum(tuples_processed), 0) FROM pg_stat_progress_copy WHERE datid = subdbid AND type = 'CALLBACK'),
				coalesce((SELECT apply_error_count + sync_error_count FROM pg_stat_subscription_stats WHERE subid = s.oid), 0)
			FROM pg_subscription s WHERE subname = $(ql "$name")")
		IFS=$'\t' read -r left copied errors <<<"$words"
		[ "$left" != 0 ] || break
		before=${before:-$errors}
		[ $((errors - before)) -lt 3 ] ||
			die "the copy fails again and again, and is still tried: the log of the small server says why. Run this again then"
		[ $((SECONDS - shown)) -lt 10 ] || { say "tables that are being copied: $left, rows: $copied"; shown=$SECONDS; }
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

	truth "EXISTS (SELECT FROM pg_extension WHERE extname = 'postgres_fdw')" ||
		sql+="CREATE EXTENSION postgres_fdw;
COMMENT ON EXTENSION postgres_fdw IS $(ql "$mark");"$'\n'
	! truth "NOT EXISTS (SELECT FROM pg_foreign_server WHERE srvname = $(ql "$name"))" ||
		sql+="CREATE SERVER $(qi "$name") FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($(option_list), use_remote_estimate $(ql "$estimate"));
COMMENT ON SERVER $(qi "$name") IS $(ql "$mark");"$'\n'
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
			sql+="IMPORT FOREIGN SCHEMA $(qi "$name") LIMIT TO ($(qi "$view")) FROM SERVER $(qi "$name") INTO $(qi "$schema");
COMMENT ON FOREIGN TABLE $shown IS $(ql "$text");"$'\n'
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
SELECT E'\\\\\\\\.';
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
			echo "ALTER TABLE beside_$t ADD PRIMARY KEY ($(joined "${key[@]}")); ANALYZE beside_$t;
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
			UNION ALL SELECT format('DROP EXTENSION leaderboard; DROP SCHEMA leaderboard;') FROM pg_extension
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
