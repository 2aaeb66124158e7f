# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of the script that sources this
#
# common.sh
#	What the scripts that measure share: the server, runs in turns, medians,
#	and the table that comes of it.
#
# What is compared runs in turns, A B C C B A ..., a round beginning one further
# each time; a ratio is that of the two runs of a round, and of the rounds'
# ratios the median counts.  The least and the greatest are told too: where they
# are far apart the machine had something else to do.
#
# The script that sources this has sourced test/lib/common.sh, and sets size and
# rounds.

began=$(date +%s)

say()
{
	printf '%5d s  %s\n' $(($(date +%s) - began)) "$*"
}

# The lines of a Markdown file between which a table goes, by the command that
# makes it.
mark()
{
	echo "<!-- $1: $2 here -->"
}

# has_marks FILE COMMAND: so that an hour's work is not lost for want of them.
has_marks()
{
	if [ -e "$1" ] && ! { grep -qxF -e "$(mark "$2" from)" "$1" &&
		grep -qxF -e "$(mark "$2" to)" "$1"; }; then
		die "$1 has no lines \"$(mark "$2" from)\" and \"$(mark "$2" to)\" to put the table between"
	fi
}

# put_table FILE COMMAND TABLE: between these lines.
put_table()
{
	if [ ! -e "$1" ]; then
		mkdir -p "$(dirname "$1")"
		printf '# Performance\n\n%s\n%s\n' "$(mark "$2" from)" \
			"$(mark "$2" to)" >"$1"
	fi
	awk -v start="$(mark "$2" from)" -v end="$(mark "$2" to)" -v table="$3" '
		$0 == start { print; print ""
			while ((getline line < table) > 0) print line
			print ""; skip = 1 }
		$0 == end { skip = 0 }
		!skip && $0 != start { print }' "$1" >new.md
	cat new.md >"$1"
	echo "written to $1"
}

# The numbers of the processors that we may use.
processors()
{
	sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status |
		tr , '\n' | awk -F - '{ for (i = $1; i <= $NF; i++) print i }'
}

# awake CLIENTS COMMAND ...: runs it.  A virtual processor that has nothing to do
# is given back, and to get it again takes longer than a rank does: with fewer
# clients than processors, who wait as long as the server works, that is most of
# what one would see.  So then a loop for each processor runs whenever nothing
# else wants to.  AWAKE=no does without.
awake()
{
	local clients=$1 cpu loops=() rc=0

	shift
	if [ "${AWAKE:-yes}" = yes ] && [ "$clients" -lt "$(nproc)" ] &&
		command -v chrt >/dev/null && command -v taskset >/dev/null; then
		for cpu in $(processors); do
			# Should this script be killed, they end by themselves.
			# shellcheck disable=SC2016 # the inner shell's
			chrt --idle 0 taskset -c "$cpu" bash -c '
				while kill -0 "$0" 2>/dev/null; do
					for ((i = 0; i < 100000; i++)); do :; done
				done' $$ </dev/null >/dev/null 2>&1 &
			loops+=($!)
		done
	fi
	"$@" || rc=$?
	if [ ${#loops[@]} -gt 0 ]; then
		kill "${loops[@]}"
		wait "${loops[@]}" 2>/dev/null || true
	fi
	return $rc
}

# bench_install: builds and installs into a private copy of PostgreSQL.
bench_install()
{
	say "building and installing into a private copy of PostgreSQL"
	private_postgres "$WORK/pg"
	copy_tree "$WORK/tree"
	as_server make -s -C tree -j"$(nproc)" PG_CONFIG="$BIN/pg_config" install \
		>make.log 2>&1 || { cat make.log >&2; die "the build has failed"; }
}

# bench_buffers SERVERS: sets buffers, the megabytes of each of so many.
bench_buffers()
{
	local memory_mb

	# The tables that are updated in turns have to stay in memory together, or
	# the kernel's cache would be measured.
	memory_mb=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
	buffers=$((memory_mb / 4 / $1))
	[ $buffers -le 5120 ] || buffers=5120
}

# bench_server MEMBERS: a private server to measure boards of that size on.
bench_server()
{
	bench_install
	bench_buffers 1
	{
		bench_settings
		echo "leaderboard.memory = '$(($1 * 250 / 1000000 + 256))MB'"
	} | server_init "$WORK/server"
	server_start "$WORK/server"
	sql <<-END
		CREATE EXTENSION leaderboard;
		CREATE EXTENSION pg_prewarm;
		SET client_min_messages = warning;
	END
}

# Those of every server that is measured.
bench_settings()
{
	cat <<-END
		shared_buffers = '${buffers}MB'
		max_wal_size = '24GB'
		checkpoint_timeout = '1d'
		autovacuum = off
		maintenance_work_mem = '1GB'
	END
}

# bench_client: the program that asks PostgreSQL and the stores alike.
bench_client()
{
	as_server make -s -C tree/test/bench PG_CONFIG="$(find_postgres)" \
		>make.log 2>&1 || { cat make.log >&2; die "the client does not build"; }
	client=$WORK/tree/test/bench/client
}

# in_turns NAME ...: one client's prepared statements text[NAME], in turns of a tenth of
# a second in one connection; their arrays have "batch" members.  Prints a line for each:
# how many in a second, the median and the 99th percentile in µs.
in_turns()
{
	local name args=()

	for name in "$@"; do
		args+=(-q "${text[$name]}")
	done
	awake 1 "$client" -p "" -n "$size" -b "${batch:-1000}" -t "$seconds" -T 0.1 "${args[@]}"
}

# The machine and the server, for the table's head.
machine()
{
	cat <<-END
		$(date -u +%F), $(nproc) cores, $(sed -n \
			's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1),
		$(awk '/^MemTotal/ { printf "%.0f GiB of memory", $2 / 1048576 }' \
			/proc/meminfo), $(sql -Atc 'SELECT version()' | cut -d, -f1),
		shared_buffers ${buffers} MB, fsync on
	END
}

# bench_table NAME [TYPE]: a table that has a player's score.
bench_table()
{
	sql -c "CREATE TABLE $1 (player_id ${2:-bigint} NOT NULL,
		score bigint NOT NULL DEFAULT 0,
		updated_at timestamptz NOT NULL DEFAULT now())
		WITH (fillfactor = 90)"
}

# The columns of a row behind the player.
random_row="floor(random() * 1000001), now() - random() * interval '90 days'"

# bench_rows NAME N: with so many rows, whose scores are random.
bench_rows()
{
	sql -c "INSERT INTO $1 SELECT i, $random_row FROM generate_series(1, $2) i"
}

# empty_trigger TABLE: a row trigger in C that does nothing.  What the board's does
# for triggers that have not its name is just that.
empty_trigger()
{
	sql -c "CREATE TRIGGER empty AFTER INSERT OR UPDATE OR DELETE ON $1
		FOR EACH ROW EXECUTE FUNCTION leaderboard_internal.lb_capture()"
}

# random_updates TABLE: about as many as it has rows, in statements of a hundredth.
random_updates()
{
	sql <<-SQL
		DO \$\$
		BEGIN
			FOR i IN 1 .. 100 LOOP
				UPDATE $1 SET score = floor(random() * 1000001)
				WHERE random() < 0.01;
				COMMIT;
			END LOOP;
		END\$\$;
	SQL
}

# bytes_per_member BOARD: of a board that must be ready.
bytes_per_member()
{
	sql -Atc "SELECT bytes::float8 / members FROM lb_stat_board
		WHERE board = '$1' AND state = 'ready'"
}

# rebuild BOARD: prints the seconds of the build.
rebuild()
{
	sql -o /dev/null -c "SELECT lb_rebuild('$1')" \
		-c 'SELECT lb_wait_ready()'
	sql -Atc "SELECT build_seconds FROM lb_stat_board
		WHERE board = '$1'"
}

verify()
{
	local problems

	say "comparing index and table"
	problems=$(sql -Atc 'SELECT count(*) FROM lb_verify()')
	[ "$problems" = 0 ] || die "lb_verify() finds $problems problems"
}

prewarm()
{
	local t

	for t in "$@"; do
		sql -o /dev/null -c "SELECT pg_prewarm('$t')"
	done
}

# log_pages TABLE ...: changes a row or two on each page of tables that have not
# changed yet, so that it has been logged whole, as is its first change after a
# checkpoint.  Else that, which is most of what a change costs and meets those who
# are measured early, would be measured.
log_pages()
{
	local t

	for t in "$@"; do
		sql -c "UPDATE $t SET score = score + 1
			WHERE (ctid::text::point)[1]::int % 50 = 1"
	done
}

median()
{
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 }
		END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

median_series()
{
	local -n series=$1

	median "${series[@]}"
}

# ratios NAME NAME: of two series of runs, round by round.
ratios()
{
	local -n a=$1 b=$2
	local i

	for i in "${!a[@]}"; do
		# Some are run more often than others.
		[ -n "${b[i]:-}" ] || break
		quotient "${a[i]}" "${b[i]}"
	done
}

quotient()
{
	awk -v a="$1" -v b="$2" 'BEGIN { print a / b }'
}

# turns RUN ...: a RUN is "series command argument ..."; each gets an array of
# the series' name with one value for each round, the first word that the command
# has printed, and one named series_more with the other words.  A command that
# measures several things in turns of its own prints a line for each: their series
# are named with commas in between.
turns()
{
	local n=$# i j run series

	for run in "$@"; do
		for series in $(cut -d ' ' -f 1 <<<"$run" | tr , ' '); do
			declare -ga "$series=()" "${series}_more=()"
		done
	done
	for ((i = 0; i < rounds; i++)); do
		for ((j = 0; j < n; j++)); do
			# Every other round backwards: nobody always comes after the same.
			run=$(((i % 2 ? n - j + i : i + j) % n + 1))
			# shellcheck disable=SC2086 # words
			set_turn "$i" ${!run}
		done
	done
}

# more_turns RUN ...: four times as many runs of a quarter of the time, for what is
# so near to each other that what the machine does in between would decide.
more_turns()
{
	local all=$seconds n=$rounds

	seconds=$(awk -v s="$seconds" 'BEGIN {
		print s < 1 ? s : s < 6 ? 1 : int(s / 4 + 0.5) }')
	rounds=$((rounds * 4))
	turns "$@"
	seconds=$all
	rounds=$n
}

set_turn()
{
	local round=$1 names=$2 name lines

	shift 2
	lines=$("$@") || die "failed: $*"
	for name in ${names//,/ }; do
		read -r "${name}[$round]" "${name}_more[$round]"
	done <<<"$lines"
}

# Milliseconds of a statement.
statement_ms()
{
	sql -o /dev/null -c '\timing on' -c "$1" |
		sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'
}

# repeated_ms N STATEMENT: the median of so many times in one session, which has
# run it before, on the last processor.
repeated_ms()
{
	local times i

	# shellcheck disable=SC2016 # psql's and its shell's
	mapfile -t times < <({
		printf '%s\n' 'SELECT pg_backend_pid() AS pid \gset' '\setenv PID :pid' \
			'\! taskset -cp "$CPU" "$PID"' "$2;" '\timing on'
		for ((i = 0; i < $1; i++)); do
			printf '%s;\n' "$2"
		done
	} | CPU=$(processors | tail -n 1) sql -o /dev/null |
		sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p')
	[ ${#times[@]} -eq "$1" ] || die "failed: $2"
	median "${times[@]}"
}

# The median of a statement's times.
median_ms()
{
	local times=() i

	for ((i = 0; i < rounds; i++)); do
		times[i]=$(statement_ms "$1")
	done
	median "${times[@]}"
}

counter()
{
	sql -Atc "SELECT $1 FROM lb_stat_board WHERE board = 'global'"
}

rows=()

number()
{
	awk -v x="$1" 'BEGIN {
		if (x >= 1000) { s = sprintf("%.0f", x); while (s ~ /[0-9][0-9][0-9][0-9]/)
			sub(/[0-9][0-9][0-9]($|,)/, ",&", s); print s }
		else if (x >= 100) printf "%.0f\n", x
		else if (x >= 10) printf "%.1f\n", x
		else printf "%.2f\n", x }'
}

# verdict VALUE >=|<= BAR
verdict()
{
	awk -v v="$1" -v op="$2" -v bar="$3" 'BEGIN {
		ok = op == ">=" ? v >= bar : v <= bar
		print ok ? "ok" : "MISSED" }'
}

# row MEASURE OURS THEIRS RATIO BAR VERDICT
row()
{
	rows+=("| $1 | $2 | $3 | $4 | $5 | $6 |")
	printf '         %-62s %s  vs %s: %s (bar %s) %s\n' "$1" "$2" "${3:--}" \
		"${4:--}" "${5:--}" "$6"
}

# compare_row >=|<= MEASURE OURS-SERIES THEIRS-SERIES UNIT BAR
compare_row()
{
	local ours theirs ratio each range sign=≥
	local -n ours_runs=$3 theirs_runs=$4

	ours=$(median "${ours_runs[@]}")
	theirs=$(median "${theirs_runs[@]}")
	mapfile -t each < <(ratios "$3" "$4")
	ratio=$(median "${each[@]}")
	mapfile -t each < <(printf '%s\n' "${each[@]}" | sort -g)
	[ "$1" = '>=' ] || sign=≤
	range="$(number "${each[0]}")–$(number "${each[-1]}")"
	row "$2" "$(number "$ours") $5" "$(number "$theirs") $5" \
		"$(number "$ratio") × ($range)" \
		"${6:+$sign $(number "$6") ×}" \
		"${6:+$(verdict "$ratio" "$1" "${6:-0}")}"
}

# Of rates, which must reach a bar, or of times, which must not exceed one:
# ratio_row MEASURE OURS-SERIES THEIRS-SERIES UNIT BAR
ratio_row()
{
	compare_row '>=' "$@"
}

times_row()
{
	compare_row '<=' "$@"
}
