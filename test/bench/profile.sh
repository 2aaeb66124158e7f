#!/bin/bash
#
# profile.sh
#	Where the time of the hot paths goes: a rank, a top list, the settling of one
#	change, an update of many rows, a build.  Makes the figures of
#	docs/internals.md.
#
#	SIZE		members of the board that is sampled, 1000000
#	RUN_SECONDS	length of a run, 5 (make bench-profile SECONDS=...)
#	ROUNDS		of what is compared in turns, 3
#	OUT			Markdown file with marker comments; docs/internals.md if SIZE is the
#				default
#
# Instructions are counted by valgrind's callgrind in a server of its own, where
# each statement's are those of 2n statements less those of n.  Functions are
# sampled by perf on the CPU's clock, since a virtual machine may have no counters
# of the hardware.  For the locks see locks.sh.
#
# shellcheck disable=SC2016 # backquotes are Markdown's
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$TREE/test/bench/common.sh"
# shellcheck source-path=SCRIPTDIR source=locks.sh
. "$TREE/test/bench/locks.sh"

size=${SIZE:-1000000}
seconds=${RUN_SECONDS:-5}
rounds=${ROUNDS:-3}
counted=50000
out=${OUT:-}
[[ $size =~ ^[1-9][0-9]*$ ]] || die "SIZE must be a number: \"$size\""
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "SECONDS must be a number: \"$seconds\""
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS must be a number: \"$rounds\""
if [ -z "$out" ] && [ "$size" = 1000000 ]; then
	out=$TREE/docs/internals.md
fi
[ -z "$out" ] || out=$(realpath -m -- "$out")
[ -z "$out" ] || has_marks "$out" "make bench-profile"
command="make bench-profile"
[ "$size" = 1000000 ] || command="$command SIZE=$size"

"$TREE/test/lib/prepare.sh" profile
lb_begin profile
profile_end()
{
	local rc=$?

	set +e
	probes_end
	(exit $rc)
	lb_end
}
trap profile_end EXIT

bench_server "$size"

# tables N: those that the statements name.
tables()
{
	local t

	for t in bench_board bench_plain; do
		bench_table "$t"
	done
	bench_rows bench_board "$1"
	sql -c 'INSERT INTO bench_plain SELECT * FROM bench_board'
	for t in bench_board bench_plain; do
		sql -c "ALTER TABLE $t ADD PRIMARY KEY (player_id)"
	done
	sql -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
	sql -o /dev/null -c "SELECT lb_create_board('global', 'bench_board',
		rank_by => 'score DESC, updated_at ASC')" \
		-c "SELECT lb_wait_ready('10 min')"
}

script()
{
	cat >"$WORK/$1.sql"
}
script one <<<'SELECT 1;'
script key <<<'\set id random(1, :size)
SELECT score FROM bench_board WHERE player_id = :id;'
script rank <<<'\set id random(1, :size)
SELECT lb_rank(:id);'
script top <<<'SELECT * FROM lb_top(100);'
script json <<<'SELECT lb_top_json(100);'
for t in board plain; do
	script "update-$t" <<<"\\set id random(1, :size)
\\set d random(-1000, 1000)
UPDATE bench_$t SET score = score + :d WHERE player_id = :id;"
	script "bulk-$t" <<<"UPDATE bench_$t SET score = (score * 7919 + 104729) % 1000001
WHERE player_id <= :rows;"
done
export PGOPTIONS='-c synchronous_commit=off'

# run_script SCRIPT option ...: of pgbench; as in "rank@9" it may have a weight.
run_script()
{
	local script=$1

	[[ $script = *@* ]] || script=$script@1
	shift
	"$BIN/pgbench" -n -M prepared -f "$WORK/${script/@/.sql@}" "$@" >pgbench.log 2>&1 ||
		{ cat pgbench.log >&2; die "pgbench has failed: $script"; }
}

#
# Functions, by samples.
#

say "$size members: samples"
tables "$size"
prewarm bench_board bench_board_pkey

# sampled WHAT COMMAND ...: the functions that the server was in meanwhile.
sampled()
{
	local what=$1 perf

	shift
	command -v perf >/dev/null || return 0
	# The processes that the server starts from now on.
	perf record -q -F 997 -e cpu-clock -o "$WORK/samples" \
		-p "$(head -n 1 "$WORK/server/data/postmaster.pid")" >/dev/null 2>&1 &
	perf=$!
	sleep 1
	"$@" >/dev/null 2>&1 || die "failed: $*"
	kill -INT $perf 2>/dev/null || true
	wait $perf 2>/dev/null || true
	[ -s "$WORK/samples" ] || return 0
	# Functions without a name are those of programs that come without one.
	perf script -F ip,sym,dso -i "$WORK/samples" 2>/dev/null | awk -v what="$what" '
		NF >= 3 {
			object = $NF; gsub(/[()]/, "", object); sub(/.*\//, "", object)
			if (object ~ /kernel|unknown/) object = "the kernel"
			n++
			part[object]++
			if (object == "leaderboard.so") by[$2]++
		}
		END {
			if (n == 0) exit
			printf "| %s | %.0f %% | %.0f %% | %.0f %% | %.0f %% |", what,
				100 * part["leaderboard.so"] / n, 100 * part["postgres"] / n,
				100 * part["libc.so.6"] / n, 100 * part["the kernel"] / n
			for (k = 0; k < 5; k++) {
				best = ""
				for (f in by) if (best == "" || by[f] > by[best]) best = f
				if (best == "") break
				printf "%s `%s` %.1f %%", k ? "," : "", best, 100 * by[best] / n
				delete by[best]
			}
			print " |"
		}' >>samples.md
}

: >samples.md
pgbench=("$BIN/pgbench" -n -M prepared -c 1 -T "$seconds" -D size="$size")
sampled "rank: \`lb_rank\`, 1 client" "${pgbench[@]}" -f "$WORK/rank.sql"
sampled "top: \`lb_top(100)\`, 1 client" "${pgbench[@]}" -f "$WORK/top.sql"
sampled "settling one change: \`UPDATE\` of a row, 1 client" "${pgbench[@]}" \
	-f "$WORK/update-board.sql"
sampled "bulk: \`UPDATE\` of $(number $((size / 2))) rows" "$BIN/pgbench" -n -t 1 \
	-D rows=$((size / 2)) -f "$WORK/bulk-board.sql"
sampled "build of $(number "$size") members" "$BIN/psql" -X -q -o /dev/null \
	-c "SELECT lb_rebuild('global')"

#
# Locks.
#

say "locks"
: >locks.md
if probes_begin; then
	lock_row()
	{
		local what=$1 n half p99 most per

		read -r n half p99 most
		per=$(awk -v a="$n" -v b="$2" 'BEGIN { printf "%.3f", a / b }')
		echo "| $what | $per | $half µs | $p99 µs | $most µs |" >>locks.md
	}
	transactions()
	{
		sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' \
			pgbench.log
	}
	# All of the load is recorded; perf takes its time to begin.
	with_load()
	{
		local how=$1

		shift
		"${how}" sleep "$((seconds + 2))" >spans.out &
		local recorder=$!
		sleep 1
		run_script "$@" -T "$seconds" -D size="$size"
		wait $recorder
		cat spans.out
	}
	for s in rank top update-board; do
		case $s in
			rank) what='held: `lb_rank`, 1 client' ;;
			top) what='held: `lb_top(100)`, 1 client' ;;
			*) what='held: `UPDATE` of a row (publish and settle), 1 client' ;;
		esac
		v=$(with_load lock_holds $s -c 1)
		lock_row "$what" "$(transactions)" <<<"$v"
	done
	nrows=$((size < 1000000 ? size : 1000000))
	v=$(lock_holds "$BIN/psql" -X -q -c "UPDATE bench_board
		SET score = score + 1 WHERE player_id <= $nrows")
	lock_row "held: one \`UPDATE\` of $(number "$nrows") rows" 1 <<<"$v"
	v=$(lock_holds "$BIN/psql" -X -q -o /dev/null -c "SELECT lb_rebuild('global')")
	lock_row 'held: `lb_rebuild`' 1 <<<"$v"
	v=$(with_load lock_waits update-board -c 32 -j 2)
	lock_row 'slept for: 32 clients, `UPDATE` of a row' "$(transactions)" <<<"$v"
	v=$(with_load lock_waits rank@9 -f "$WORK/update-board.sql@1" -c 32 -j 2)
	lock_row 'slept for: 32 clients, nine `lb_rank` to one `UPDATE`' \
		"$(transactions)" <<<"$v"
	probes_end
else
	say "locks are left out: $probes_why"
fi

#
# Huge pages.
#

say "huge pages"
sql -c "CREATE TABLE bench_sample AS SELECT 1 + floor(random() * $size)::bigint
	AS player_id FROM generate_series(1, 200000)" -c 'VACUUM ANALYZE bench_sample'
# Of a backend that has read all over the board: kB in huge pages.
huge_of()
{
	sql -o /dev/null <<-'SQL'
		SELECT pg_backend_pid() AS pid \gset
		SELECT sum(lb_rank(player_id)) FROM bench_sample;
		\setenv LB_PID :pid
		\! awk '/^ShmemPmdMapped/ { print $2 }' /proc/$LB_PID/smaps_rollup
	SQL
}
settings=(off try)
ranks_with()
{
	statement_ms 'SELECT sum(lb_rank(player_id)) FROM bench_sample' >/dev/null
	awk -v ms="$(median_ms 'SELECT sum(lb_rank(player_id)) FROM bench_sample')" \
		'BEGIN { print ms * 1000 / 200000 }'
}
declare -A huge_us=() huge_kb=()
for ((i = 0; i < rounds; i++)); do
	for v in "${settings[@]}"; do
		server_stop "$WORK/server"
		echo "huge_pages = $v" >"$WORK/huge.conf"
		grep -q '^include = .*huge.conf' "$WORK/server/data/postgresql.conf" ||
			echo "include = '$WORK/huge.conf'" >>"$WORK/server/data/postgresql.conf"
		chmod 644 "$WORK/huge.conf"
		server_start "$WORK/server"
		sql -o /dev/null -c "SELECT lb_wait_ready('10 min')"
		prewarm bench_board bench_board_pkey bench_sample
		# The launcher does it by and by.
		sleep 5
		huge_us[$v]+=" $(ranks_with)"
		huge_kb[$v]=$(huge_of)
	done
done

#
# Instructions.
#

server_stop "$WORK/server"
say "instructions, $counted members"
cat >>"$WORK/server/data/postgresql.conf" <<-END
	huge_pages = off
	shared_buffers = '128MB'
	leaderboard.memory = '128MB'
	log_min_messages = fatal
END
server_start "$WORK/server"
sql -c 'DROP EXTENSION leaderboard CASCADE' -c 'DROP TABLE bench_board, bench_plain,
	bench_sample' -c 'CREATE EXTENSION leaderboard' 2>/dev/null
tables $counted
server_stop "$WORK/server"
as_server mkdir -p callgrind
# Backends are forked, not executed: they are counted too, and write their
# figures when they end.
as_server valgrind -q --tool=callgrind --callgrind-out-file="$WORK/callgrind/%p" \
	"$BIN/postgres" -D "$WORK/server/data" </dev/null >valgrind.log 2>&1 &
valgrind_pid=$!
for ((i = 0; i < 600; i++)); do
	! "$BIN/pg_isready" -q || break
	kill -0 $valgrind_pid 2>/dev/null || { cat valgrind.log >&2; die "no server under valgrind"; }
	sleep 0.2
done
sql -o /dev/null -c "SELECT lb_wait_ready('5 min')"
# The worker that has built ends after that, and is none of those to be counted.
sleep 5

# The functions of the process with the most instructions of those that have
# ended since the file "mark" was made: a backend, or a worker.
counted_functions()
{
	local f i best=0 n

	# Its figures may still be being written.
	for ((i = 0; i < 100; i++)); do
		sleep 0.2
		[ -z "$(find callgrind -type f -newer mark -exec grep -L '^totals:' {} +)" ] &&
			[ -n "$(find callgrind -type f -newer mark)" ] && break
	done
	while read -r f; do
		n=$(sed -n 's/^totals: \([0-9]*\).*/\1/p' "$f" | tail -n 1)
		[ "$n" -gt "$best" ] || continue
		best=$n
		callgrind_annotate --threshold=100 --show=Ir --auto=no "$f" 2>/dev/null |
			awk '
			/^ *[0-9,]+ *\([ 0-9.]+%\) / && !/PROGRAM TOTALS/ {
				n = $1; gsub(",", "", n)
				line = $0; sub(/^[^%]*%\) */, "", line)
				object = "postgres"
				if (match(line, /\[[^]]*\]$/)) {
					object = substr(line, RSTART + 1, RLENGTH - 2)
					line = substr(line, 1, RSTART - 2)
				}
				sub(/.*\//, "", object)
				sub(/^.*:/, "", line)
				# Calls of itself are counted by depth.
				sub(/\047[0-9]+$/, "", line)
				print n "\t" line "\t" object
			}' >functions
	done < <(find callgrind -type f -newer mark)
	cat functions
	rm -f functions
}

# counted_row WHAT N COMMAND-FOR-N COMMAND-FOR-2N
: >instructions.md
counted_row()
{
	local what=$1 n=$2

	touch mark
	sleep 0.1
	eval "$3"
	counted_functions >once
	touch mark
	sleep 0.1
	eval "$4"
	counted_functions >twice
	awk -F '\t' -v n="$n" -v what="$what" '
		{
			d = (FNR == NR ? -$1 : $1) / n
			total += d
			if ($3 ~ /leaderboard/) { ours += d; by[$2] += d }
		}
		END {
			list = ""
			for (k = 0; k < 4; k++) {
				best = ""
				for (f in by) if (best == "" || by[f] > by[best]) best = f
				if (best == "" || by[best] <= 0) break
				list = list (list == "" ? "" : ", ") sprintf("`%s` %.0f", best, by[best])
				delete by[best]
			}
			if (ours < 0.5)
				ours = 0
			printf "| %s | %.0f | %.0f | %s |\n", what, total, ours, list
		}' once twice >>instructions.md
}
statements()
{
	counted_row "$1" "$3" "run_script $2 -c 1 -t $3 -D size=$counted" \
		"run_script $2 -c 1 -t $((2 * $3)) -D size=$counted"
}
statements '`SELECT 1`' one 500
statements 'score by primary key' key 500
statements '`lb_rank`' rank 500
statements '`lb_top(100)`' top 200
statements '`lb_top_json(100)`' json 200
statements '`UPDATE` of a row, no index and no trigger' update-plain 500
statements '`UPDATE` of a row, with the board' update-board 500
for t in plain board; do
	what='no index and no trigger'
	[ $t = plain ] || what='with the board'
	counted_row "a row of an \`UPDATE\` of many, $what" 4000 \
		"run_script bulk-$t -t 1 -D rows=4000" "run_script bulk-$t -t 1 -D rows=8000"
done
server_stop "$WORK/server"
wait $valgrind_pid || true

#
# What comes of it.
#

table()
{
	cat <<-END
		\`$command\`, $(date -u +%F), $(nproc) cores, $(sed -n \
			's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1).

		Instructions of a statement in its backend, $(number $counted) members; the last column has
		the functions of the library with the most instructions:

		| | in all | of the library | |
		|---|---:|---:|---|
	END
	cat instructions.md
	cat <<-END

		An operation of the data structure by itself, 200,000 members: instructions, misses of a
		first cache of 32 KiB and of a last one of 1 MiB, simulated (\`make bench-quick\`):

		| | instructions | first | last |
		|---|---:|---:|---:|
	END
	awk -F '\t' '!/^#/ { printf "| %s | %.0f | %.1f | %.1f |\n", $1, $2, $3, $4 }' \
		"$TREE/test/bench/quick.txt"
	if [ -s locks.md ]; then
		cat <<-END

			The boards' locks, $(number "$size") members; the times held include some two
			microseconds of the measurement itself:

			| | times a statement | median | 99 % | longest |
			|---|---:|---:|---:|---:|
		END
		cat locks.md
	fi
	cat <<-END

		Huge pages, $(number "$size") members, a rank in one statement with 200,000 random ones:

		| | a rank, medians of $rounds starts | in huge pages |
		|---|---:|---:|
	END
	for v in "${settings[@]}"; do
		# shellcheck disable=SC2086 # words
		echo "| \`huge_pages = $v\` | $(number "$(median ${huge_us[$v]})") µs | $((huge_kb[$v] / 1024)) MB |"
	done
	if [ -s samples.md ]; then
		cat <<-END

			Samples, $(number "$size") members, of the server's processes:

			| | leaderboard.so | postgres | libc | kernel | of the library |
			|---|---:|---:|---:|---:|---|
		END
		cat samples.md
	fi
}

echo
table
echo
echo "$(($(date +%s) - began)) s in all"

[ -n "$out" ] || exit 0
table >table.md
put_table "$out" "make bench-profile" "$WORK/table.md"
