# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of the script that sources this
#
# stores.sh
#	Redis and Valkey beside the server of bench_server(), and what asks PostgreSQL
#	and them alike.
#
#	VALKEY_DIR	where the chroot with Valkey is, or is to be kept
#	MIRROR		Debian's mirror
#
# The script that sources this has sourced common.sh, calls bench_client and
# start_stores, and ends with stop_stores.  It sets members and the array text.
#
# Both run with their defaults but for the socket and what a script says about
# durability.

# How the programs of Redis are called; empty where there is none.
declare -A program=() missing=()

# Those that are compared, those of them that run, and their names with versions.
wanted=()
systems=()
declare -A name_of=()

# start_stores NAME ...: of those that have been found.
start_stores()
{
	local s i v

	wanted=("$@")
	for s in "${wanted[@]}"; do
		name_of[$s]=${s^}
		# shellcheck disable=SC2086 # words
		if [ -z "${program[$s]:-}" ]; then
			say "$s is left out: ${missing[$s]}"
			continue
		fi
		as_server mkdir -p "$WORK/$s"
		# shellcheck disable=SC2086 # words
		as_server ${program[$s]} --port 0 --unixsocket "$WORK/$s/socket" \
			--dir "$WORK/$s" --save "" --appendonly no --daemonize no \
			--enable-debug-command local --logfile "$WORK/$s/log" \
			</dev/null >"$s.out" 2>&1 &
		stores+=($!)
		for ((i = 0; i < 100; i++)); do
			[ "$(store "$s" PING 2>/dev/null)" != PONG ] || break
			sleep 0.1
		done
		[ "$(store "$s" PING 2>&1)" = PONG ] ||
			{ cat "$s.out" >&2; die "$s does not start"; }
		v=$(store "$s" INFO server | sed -n "s/^${s}_version:\([0-9.]*\).*/\1/p")
		name_of[$s]="${s^} $v"
		systems+=("$s")
	done
}

store()
{
	local s=$1

	shift
	redis-cli -s "$WORK/$s/socket" "$@"
}

# stop_stores RC: at the end of a script, which exits with that.
stores=()
stop_stores()
{
	local rc=$1 s

	set +e
	trap '' INT TERM HUP
	for s in "${systems[@]}"; do
		store "$s" SHUTDOWN NOSAVE >/dev/null 2>&1
	done
	[ ${#stores[@]} -eq 0 ] || kill "${stores[@]}" 2>/dev/null
	wait
	(exit "$rc")
	lb_end
}

have()
{
	[[ " ${systems[*]} " = *" $1 "* ]]
}

used_memory()
{
	store "$1" INFO memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p'
}

# Redis is Debian's; its server is one program with the tool that checks files,
# and by that name it comes without a service that starts.
find_redis()
{
	if command -v redis-server >/dev/null; then
		program[redis]=$(command -v redis-server)
	elif command -v redis-check-rdb >/dev/null; then
		ln -sf "$(command -v redis-check-rdb)" "$WORK/redis-server"
		program[redis]=$WORK/redis-server
	else
		missing[redis]="there is no redis-server"
	fi
}

valkey_dir=${VALKEY_DIR:-}
[ -z "$valkey_dir" ] || valkey_dir=$(realpath -m -- "$valkey_dir")

# Valkey is in Debian from the release after 12 on.  It runs outside its chroot,
# by the loader and the libraries in there.
find_valkey()
{
	local root=${valkey_dir:-$WORK/valkey-root} loader libraries

	if command -v valkey-server >/dev/null; then
		program[valkey]=$(command -v valkey-server)
		return
	fi
	if [ ! -e "$root/usr/bin/valkey-server" ]; then
		if [ "$(id -u)" != 0 ]; then
			missing[valkey]="a chroot takes root"
			return
		fi
		if ! command -v debootstrap >/dev/null; then
			DEBIAN_FRONTEND=noninteractive apt-get -q -y install \
				--no-install-recommends debootstrap >debootstrap.log 2>&1 || true
		fi
		if ! command -v debootstrap >/dev/null; then
			missing[valkey]="there is no debootstrap"
			return
		fi
		say "making a chroot with Debian trixie for Valkey"
		# With mounts of its own, so that none stays.
		if ! unshare --mount -- debootstrap --variant=minbase \
			--include=valkey-server trixie "$root" \
			"${MIRROR:-http://deb.debian.org/debian}" \
			>debootstrap.log 2>&1; then
			missing[valkey]="debootstrap: $(tail -n 1 debootstrap.log)"
			rm -rf --one-file-system "$root"
			return
		fi
		chmod 755 "$root"
	fi
	loader=$(find "$root"/lib*/ -maxdepth 1 -name 'ld-linux*.so.*' | head -n 1)
	libraries=$(dirname "$(find "$root/usr/lib" -name libc.so.6 | head -n 1)")
	program[valkey]="$loader --library-path $libraries $root/usr/bin/valkey-server"
}

# per_store PATTERN: for each store, with {} for its name.
per_store()
{
	local s

	for s in "${systems[@]}"; do
		echo "${1//\{\}/$s}"
	done
}

# ask SYSTEM CLIENTS NAME[,NAME...] [option ...]: things per second, latencies,
# with statements by their names in the array text.  A name may have a weight, as
# in "rank:9".
ask()
{
	local system=$1 clients=$2 names=$3 name args=()

	shift 3
	if [ "$system" = pg ]; then
		args=(-p "")
	else
		args=(-r "$WORK/$system/socket")
	fi
	for name in ${names//,/ }; do
		[[ $name = *:* ]] || name=$name:1
		args+=(-w "${name#*:}" -q "${text[${name%:*}]}")
	done
	awake "$clients" "$client" "${args[@]}" -c "$clients" -t "$seconds" -n "$members" "$@"
}

# stores_ratio MEASURE OURS THEIRS UNIT REDIS-BAR VALKEY-BAR COMMAND: THEIRS_redis
# and so on are series.
stores_ratio()
{
	local s bar

	for s in "${wanted[@]}"; do
		bar=$5
		[ "$s" = redis ] || bar=$6
		if have "$s"; then
			ratio_row "$1 against ${name_of[$s]} $7" "$2" "$3_$s" "$4" "$bar"
		elif [ -n "$bar" ]; then
			row "$1 against ${name_of[$s]} $7" "$(number "$(median_series "$2")") $4" \
				"" "" "≥ $(number "$bar") ×" "not measured"
		fi
	done
}
