# shellcheck shell=bash
#
# crash.sh
#	What is known of a crash of a server: for a reader of a test's output, who has
#	no more than that.
#

# What a log says of it: a failed assertion, a PANIC, a process that died.
CRASH='PANIC:|TRAP:|was terminated by signal'

# crash_report LOG DATA: the lines around the first crash in a server's log, the last
# lines of the process that died, and the stacks of the core files in its data
# directory.  Nothing if it has not crashed.  That tests kill processes is told only
# of a server that has not crashed otherwise.
crash_report()
{
	local log=$1 data=$2 line pid core program

	line=$(grep -anE "$CRASH" "$log" | grep -av 'signal 9' | head -n 1)
	[ -n "$line" ] || line=$(grep -anE "$CRASH" "$log" | head -n 1)
	[ -n "$line" ] || return 0
	echo "Crash, $log:"
	line=${line%%:*}
	{
		sed -n "$((line > 10 ? line - 10 : 1)),$((line + 20))p" "$log"
		pid=$(tail -n "+$line" "$log" |
			sed -nE 's/.*\(PID ([0-9]+)\) was terminated by signal.*/\1/p' | head -n 1)
		[ -z "$pid" ] || grep -aA 3 -F "[$pid]" "$log" | head -n 500 | tail -n 10
	} | grep -av 'FATAL:  the database system is\|Consistent recovery state' |
		cut -c 1-1000 | sed 's/^/    /'
	read -r program _ <"$data/postmaster.opts" || program=postgres
	for core in "$data"/core*; do
		[ -e "$core" ] || continue
		if command -v gdb >/dev/null; then
			echo "Stack, $core:"
			gdb -batch -nx -ex 'bt 40' "$program" "$core" 2>&1 |
				grep -avE '^(\[New LWP|warning:|$)' | cut -c 1-400 | head -n 60 |
				sed 's/^/    /'
		else
			echo "There is $core, and no gdb."
		fi
	done
}
