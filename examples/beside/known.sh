# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of the script that sources this
#
# known.sh
#	What beside.sh finds out before it changes anything: the file, the two servers, what
#	they allow, the tables, and what the boards need of them.
#

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

# SQL: an identifier, a literal.
qi()
{
	printf '"%s"' "${1//\"/\"\"}"
}

ql()
{
	printf "'%s'" "${1//\'/\'\'}"
}

or_null()
{
	if [ -n "$1" ]; then ql "$1"; else printf NULL; fi
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

# listed QUOTE WORD ...: the words as a list, each quoted by ql or qi.
listed()
{
	local quote=$1 text='' word

	shift
	for word in "$@"; do
		text+="${text:+, }$("$quote" "$word")"
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
	member=${of[$board,member]:-$(mapfile -t columns < <(printf '%s' "${table[$t,key]}"); listed qi "${columns[@]}")}
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
			AND (SELECT array_agg(attname::text) FROM pg_attribute
				WHERE attrelid = $t AND attnum = ANY ((indkey::int2[])[0:indnkeyatts - 1]))
			<@ ARRAY[$(listed ql "${columns[@]}")])"; then
		problem "board $board: no unique index of its table is on $(listed qi "${columns[@]}"), its members"
	elif [ -n "$(comm -23 <(printf '%s' "${table[$t,key]}" | sort) <(printf '%s' "${of[$board,keys]}" | sort))" ]; then
		table[$t,unique]+="$(listed qi "${columns[@]}")"$'\n'
	fi
}

# finish_table TABLE: its columns on the small server, in order, and its definition there.
finish_table()
{
	local t=$1 column text='' key unique used=() line missing

	mapfile -t used < <(printf '%s' "${table[$t,used]}")
	table[$t,columns]=''
	while read -r column; do
		if [ -z "$column" ] || [ "${table[$t,class,$column]}" = generated ]; then continue; fi
		[ -z "${table[$t,lists]}" ] || has "$column" "${used[@]}" || continue
		table[$t,columns]+="$column"$'\n'
		text+="${text:+,}"$'\n\t'"$(qi "$column") ${table[$t,type,$column]}"
	done <<<"${table[$t,all]}"
	mapfile -t key < <(printf '%s' "${table[$t,key]}")
	text+=$',\n\t'"PRIMARY KEY ($(listed qi "${key[@]}"))"
	while read -r unique; do
		[ -z "$unique" ] || text+=$',\n\t'"UNIQUE ($unique)"
	done < <(printf '%s' "${table[$t,unique]}" | sort -u)
	mapfile -t used < <(printf '%s' "${table[$t,columns]}")
	table[$t,list]=$(listed qi "${used[@]}")
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
		filter+=" AND ($(qi "$(unquoted "$item")")) IS NOT NULL"
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
	text="SELECT $(listed qi "${shown[@]}")${score:+, $score},
	$method() OVER (${partition:+PARTITION BY $partition }ORDER BY $order) AS $(qi "$rank"),
	count(*) OVER (${partition:+PARTITION BY $partition}) AS $(qi "$total")
FROM ${table[$t,name]}
WHERE $filter"
	of[$board,create]="SELECT lb_create_board($(ql "$board"), $(ql "${table[$t,name]}"), member => $(ql "${of[$board,member]}"),
	rank_by => $(ql "${of[$board,rank_by]}"), board_column => $(or_null "${of[$board,board_column]:-}"),
	method => $(ql "$method"), ranked_if => $(or_null "${of[$board,ranked_if]:-}")) \\g /dev/null"
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
