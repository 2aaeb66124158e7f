# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # WORK, BIN, probes_why
#
# locks.sh
#	How long a server's backends hold the boards' locks, and sleep for them.
#
# PostgreSQL as Debian builds it has static probes where LWLocks are taken, let
# go and waited for.  The kernel turns them into events that perf records: only
# sleeping is recorded for waits, so that it costs a sleeping backend a
# microsecond, and nobody else anything.  For the time that locks are held, every
# one that is taken and let go is recorded, which adds some two microseconds to
# each.
#
# Takes root, a tracefs, perf, and a server with these probes, whose program is
# laid out in its file as in memory.

tracing=/sys/kernel/tracing
probes=lb$$
probes_set=
probes_why=

# probes_begin: sets up the events of the server in BIN.  Where that cannot be,
# returns 1 with the reason in probes_why.
probes_begin()
{
	local name place semaphore argument register i=0

	if [ "$(id -u)" != 0 ]; then
		probes_why="tracing takes root"
		return 1
	fi
	if ! command -v perf >/dev/null; then
		probes_why="there is no perf"
		return 1
	fi
	[ -e $tracing/uprobe_events ] ||
		mount -t tracefs tracefs $tracing 2>/dev/null || true
	if [ ! -e $tracing/uprobe_events ]; then
		probes_why="the kernel has no uprobes"
		return 1
	fi
	while read -r name place semaphore argument; do
		i=$((i + 1))
		register=${argument#*@%}
		# As the kernel calls them: ax, but r14.
		[[ $register != r[a-z]* ]] || register=${register#r}
		if echo "p:$probes/${name#lwlock__}_$i $BIN/postgres:$place($semaphore) name=+0(%$register):string" \
			2>/dev/null >>$tracing/uprobe_events; then
			probes_set=yes
		fi
	done < <(readelf -nW "$BIN/postgres" | awk '
		/Name: / { name = "" }
		/Name: lwlock__(wait__start|wait__done|acquire|condacquire|release)$/ {
			name = $2
		}
		/Location:/ { gsub(",", ""); place = $2; semaphore = $6 }
		/Arguments:/ && name != "" { print name, place, semaphore, $2; name = "" }')
	if [ -z "$probes_set" ]; then
		probes_why="the server has no probes"
		return 1
	fi
}

probes_end()
{
	local e i

	[ -n "$probes_set" ] || return 0
	# A perf that is still running keeps them, for some seconds more.
	for ((i = 0; i < 100; i++)); do
		for e in "$tracing/events/$probes"/*/; do
			[ -e "$e" ] || continue
			echo "-:$probes/$(basename "$e")" \
				2>/dev/null >>$tracing/uprobe_events || true
		done
		[ -e "$tracing/events/$probes" ] || break
		sleep 0.2
	done
	probes_set=
}

# record_locks PATTERN COMMAND ...: events of the boards' locks while a command
# runs, as "pid time event".
record_locks()
{
	local e events=() pattern=$1

	shift
	for e in "$tracing/events/$probes"/*/; do
		e=$(basename "$e")
		if [[ $e =~ ^($pattern)_ ]]; then
			events+=(-e "$probes:$e" --filter 'name ~ "Leaderboard*"')
		fi
	done
	perf record -q -a -m 4M -o "$WORK/locks.data" "${events[@]}" \
		-- "$@" >/dev/null 2>&1
	perf script -F pid,time,event -i "$WORK/locks.data" 2>/dev/null |
		tr -d : | sed "s/$probes//; s/_[0-9]* *\$//"
	rm -f "$WORK/locks.data"
}

# spans: of lines "pid time event", the time from the first event of a pair to
# the second: how many, median, 99th percentile and longest, in us.
spans()
{
	awk -v first="$1" -v second="$2" '
		$3 ~ "^(" first ")$" { since[$1] = $2 }
		$3 ~ "^(" second ")$" && $1 in since {
			printf "%.1f\n", ($2 - since[$1]) * 1e6
			delete since[$1]
		}' | sort -g | awk '
		{ v[NR] = $1 }
		END {
			if (NR == 0) { print 0, 0, 0, 0; exit }
			print NR, v[int((NR + 1) / 2)], v[NR - int(NR / 100)], v[NR]
		}'
}

# lock_waits COMMAND ...: sleeps for a board's lock while a command runs.
lock_waits()
{
	record_locks 'wait__start|wait__done' "$@" | spans wait__start wait__done
}

# lock_holds COMMAND ...: times that a board's lock was held.
lock_holds()
{
	record_locks 'acquire|condacquire|release' "$@" |
		spans 'acquire|condacquire' release
}
