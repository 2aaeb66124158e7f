# shellcheck shell=bash
# shellcheck disable=SC2154 # the script that sources this has these variables
#
# schedule.sh
#	Runs the parts of run-tests.sh: those that keep one processor busy, or wait, side by
#	side, the others alone.  What they print is shown in the order of the parts.
#
# Each part runs in a process of its own.  In $WORK/log, N being the part's number, N has
# its output, N.lines what the user is to see at once, and N.result how it has ended.
#

# What no other part may have at the same time: "all", or what the part shares with
# others.  A part that runs for a given time, or keeps all processors busy from its
# beginning to its end, runs alone.
part_needs()
{
	case $1 in
		regress | isolation | pgtap | redis) echo server ;;
		examples | page) echo examples-server ;;
		unit | valgrind | quick | pause | modules | faults | sqlsmith | monitoring | queue | shards | deb | tap | planted | versions-compile)
			echo "$1" ;;
		*) echo all ;;
	esac
}

# Parts that mostly wait: for sessions that wait for each other, for a browser.
# One of them runs beside those that keep the processors busy.
mostly_waits()
{
	case $1 in
		isolation | page | queue | shards | examples | monitoring) return 0 ;;
		*) return 1 ;;
	esac
}

# The packages that a part installs, for prepare.sh.  apt-get must not run twice at the
# same time, so they are installed before.  If that fails, the part says so.
part_packages()
{
	case $1 in
		redis | examples | page) echo "$1" ;;
		queue) echo redis ;;
		deb | autopkgtest) echo test-packages ;;
	esac
}

install_packages()
{
	local part kinds=() kind

	for part in "${parts[@]}"; do
		kind=$(part_packages "$part")
		[ -z "$kind" ] || [[ " ${kinds[*]} " = *" $kind "* ]] || kinds+=("$kind")
	done
	for kind in "${kinds[@]}"; do
		"$TREE/test/lib/prepare.sh" "$kind" || true
	done
}

# once NAME COMMAND: runs the command unless that has been done.  Another part that
# needs the same waits.
once()
{
	(
		flock 9
		[ -e "$1" ] || {
			"$2" 9>&-
			touch "$1"
		}
	) 9>"$1.lock"
}

# States of the parts, by number.
pids=()							# of those that run
state=()						# waiting, running, ended, shown
announced=()

# A process and those that it has started
kill_tree()
{
	local child

	for child in $(ps -o pid= --ppid "$1"); do
		kill_tree "$child"
	done
	kill "$1" 2>/dev/null || true
}

# At the end of the script, however it comes: the parts that still run, then what
# lb_end() does.
end_parts()
{
	local rc=$? i

	trap '' INT TERM HUP
	set +e
	for i in "${!pids[@]}"; do
		kill_tree "${pids[i]}"
	done
	(exit "$rc")
	lb_end
}

# Whether a part can begin now.
fits()
{
	local i needs busy=0 waiting=0

	needs=$(part_needs "${parts[$1]}")
	[ ${#pids[@]} != 0 ] || return 0
	[ "$needs" != all ] || return 1
	for i in "${!pids[@]}"; do
		case $(part_needs "${parts[i]}") in
			all | "$needs") return 1 ;;
		esac
		if mostly_waits "${parts[i]}"; then
			waiting=1
		else
			busy=$((busy + 1))
		fi
	done
	if mostly_waits "${parts[$1]}"; then
		[ $waiting = 0 ]
	else
		[ $busy -lt "$jobs" ]
	fi
}

run_part()
{
	local log=$WORK/log/$1 part=${parts[$1]} rc
	# shellcheck disable=SC2034 # private_apt() has its files there
	local apt_dir=apt-$1 apt_log=apt-$1.log

	# Not in a condition: set -e would have no effect inside.
	set +e
	(
		set -e
		"part_${part//-/_}"
	) >"$log" 2>&1 </dev/null 4>&-
	rc=$?
	[ $rc = 0 ] || echo "# the part has ended with $(how_ended $rc)" >>"$log"
	echo "$rc $(($(date +%s) - $(cat "$log.began")))" >"$log.result"
	echo "$1" >&4
}

# Begin a part, with job control: without it the part and all that it runs would ignore
# SIGINT.  A part that runs alone shows its lines at once, since all before it are shown.
start_part()
{
	local log=$WORK/log/$1

	date +%s >"$log.began"
	touch "$log.lines"
	set -m
	if [ "$(part_needs "${parts[$1]}")" = all ]; then
		(set +m; run_part "$1") 3>&1 &
	else
		(set +m; run_part "$1") 3>"$log.lines" &
	fi
	pids[$1]=$!
	set +m
	state[$1]=running
}

# Show what has ended, up to a part that has not, and the name of that one.
show_parts()
{
	local i

	for i in "${!parts[@]}"; do
		case ${state[i]} in
			shown) continue ;;
			waiting) return ;;
		esac
		[ -n "${announced[i]:-}" ] || echo "== ${parts[i]}"
		announced[i]=yes
		[ "${state[i]}" = ended ] || return 0
		cat "$WORK/log/$i.lines"
		show_result "$i"
		state[i]=shown
	done
}

# Run all parts.  For each that has ended, show_result() is called with its number.
run_parts()
{
	local i left=${#parts[@]}

	install_packages
	mkfifo "$WORK/ended"
	exec 4<>"$WORK/ended"
	trap end_parts EXIT
	for i in "${!parts[@]}"; do
		state[i]=waiting
	done
	while [ "$left" != 0 ]; do
		for i in "${!parts[@]}"; do
			if [ "${state[i]}" = waiting ] && fits "$i"; then
				start_part "$i"
				show_parts
			fi
		done
		read -r i <&4
		unset "pids[$i]"
		state[i]=ended
		left=$((left - 1))
		show_parts
	done
}
