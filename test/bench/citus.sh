#!/bin/bash
#
# citus.sh
#	What reads of a board cost whose table Citus distributes, beside a count of a tiny
#	distributed table with as many tasks, which is what asking all shards costs; and
#	what the boards cost an update.
#
#	SIZE		rows of the table, 4000000
#	RUN_SECONDS	length of a run, 2; may be a fraction (make bench-citus SECONDS=...)
#	SHARDS		of the table, 8
#	ROUNDS		runs of each side, 5
#	OUT			Markdown file with marker comments between which the table goes;
#				docs/scale-out.md where SIZE is the default, else none
#	AWAKE		"no" lets processors sleep between the answers to a single client
#
# A coordinator and two workers on this machine.  PG_CONFIG is a server that has Citus.
#
# shellcheck disable=SC2016 # backquotes are Markdown's
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$TREE/test/bench/common.sh"

size=${SIZE:-4000000}
seconds=${RUN_SECONDS:-2}
rounds=${ROUNDS:-5}
out=${OUT:-}
if ! [[ $size =~ ^[1-9][0-9]*$ ]] || [ "$size" -lt 10000 ]; then
	die "SIZE must be a number, at least 10000: \"$size\""
fi
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS must be a number: \"$rounds\""
if ! [[ $seconds =~ ^[0-9]*\.?[0-9]+$ ]]; then
	die "SECONDS must be a number: \"$seconds\""
fi
if [ -z "$out" ] && [ "$size" = 4000000 ]; then
	out=$TREE/docs/scale-out.md
fi
[ -z "$out" ] || out=$(realpath -m -- "$out")
[ -z "$out" ] || has_marks "$out" "make bench-citus"
[ -e "$("$(find_postgres)" --pkglibdir)/citus.so" ] ||
	die "bench-citus: PG_CONFIG must be of a server that has Citus"

command="make bench-citus"
[ "$size" = 4000000 ] || command="$command SIZE=$size"
[ "$seconds" = 2 ] || command="$command SECONDS=$seconds"
[ "${SHARDS:-8}" = 8 ] || command="$command SHARDS=$SHARDS"
[ "$rounds" = 5 ] || command="$command ROUNDS=$rounds"

"$TREE/test/lib/prepare.sh" bench
lb_begin bench-citus

#
# The servers.  Each has a port of its own, by which Citus finds it.
#

shards=${SHARDS:-8}
bench_install
bench_buffers 3
bench_client

mapfile -t ports < <(perl -MIO::Socket::INET -e '
	my @s = map { IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die "$!" } 1 .. 3;
	print $_->sockport, "\n" for @s')

# on NODE COMMAND ...: 0 is the coordinator.
on()
{
	local -x PGHOST=$WORK/node$1 PGPORT=${ports[$1]}

	shift
	"$@"
}

for i in 0 1 2; do
	{
		bench_settings
		echo "leaderboard.memory = '$((size * 125 / 1000000 + 256))MB'"
		echo "shared_preload_libraries = 'citus, leaderboard'"
		echo "listen_addresses = '127.0.0.1'"
		echo "port = ${ports[i]}"
		echo "wal_level = logical"
		echo "max_prepared_transactions = 100"
		echo "synchronous_commit = off"
		echo "citus.enable_statistics_collection = off"
	} | server_init "$WORK/node$i"
	server_start "$WORK/node$i"
	on $i sql -c 'SET client_min_messages = warning' -c 'CREATE EXTENSION citus'
done
export PGHOST=$WORK/node0 PGPORT=${ports[0]}
sql -o /dev/null -c "SELECT citus_set_coordinator_host('127.0.0.1', ${ports[0]})" \
	-c "SELECT citus_add_node('127.0.0.1', ${ports[1]}), citus_add_node('127.0.0.1', ${ports[2]})" \
	-c 'CREATE EXTENSION leaderboard'

#
# The tables: the default ones, with boards, one without, and a tiny one.
#

say "$size rows into each of two tables of $shards shards"
sql -o /dev/null <<-SQL
	SET client_min_messages = warning;
	SELECT lb_create_tables(distributed => true, shard_count => $shards);
	CREATE TABLE plain (LIKE player_scores INCLUDING ALL) WITH (fillfactor = 90);
	SELECT create_distributed_table('plain', 'player_id', shard_count => $shards);
	CREATE TABLE tiny (player_id bigint PRIMARY KEY);
	SELECT create_distributed_table('tiny', 'player_id', shard_count => $shards);
SQL
bench_rows player_scores "$size"
sql -c 'INSERT INTO plain SELECT * FROM player_scores' \
	-c 'INSERT INTO tiny SELECT i FROM generate_series(1, 100) i'
sql -o /dev/null -c "SELECT lb_maintain()" -c 'SELECT lb_wait_ready(NULL)' \
	-c "SELECT lb_close_window('daily')" -c "SELECT lb_close_window('weekly')"
log_pages player_scores plain
sql -c 'VACUUM (FREEZE, ANALYZE)'
for i in 0 1 2; do
	on $i sql -c CHECKPOINT
done
log_pages player_scores plain

# What in_turns() takes: {m} is a random player, {s} a random score.
deep=$((size * 3 / 4))
batch=50
declare -A text=(
	[base]='SELECT count(*) FROM tiny'
	[rank]='SELECT lb_rank({m})'
	[score_rank]='SELECT lb_rank_of_score({s})'
	[ranks]='SELECT * FROM lb_ranks({M})'
	[top]='SELECT * FROM lb_top(100)'
	[page]="SELECT * FROM lb_top(100, 'global', $deep)"
	[around]='SELECT * FROM lb_around({m})'
	[update]='UPDATE player_scores SET score = score + {d}, updated_at = now() WHERE player_id = {m}'
	[submit]='SELECT * FROM lb_submit({m}, {d})'
	[plain]='UPDATE plain SET score = score + {d}, updated_at = now() WHERE player_id = {m}')

# Milliseconds of each.
asks()
{
	in_turns "$@" | awk '{ print $2 / 1000 }'
}

say "reads"
turns "base,rank,score_rank,ranks,top,page,around asks base rank score_rank ranks top page around"
times_row "\`lb_rank(player)\`, against \`count(*)\` of a tiny table with as many shards" rank base ms 3
times_row '`lb_rank_of_score(score)`, likewise' score_rank base ms 3
times_row '`lb_ranks` of 50 players, likewise' ranks base ms 4
times_row '`lb_top(100)`, likewise' top base ms 5
times_row "\`lb_top(100, skip => $(number $deep))\`, likewise" page base ms 30
times_row '`lb_around(player)`, likewise' around base ms ""

say "updates"
turns "update,plain in_turns update plain"
ratio_row '`UPDATE` of a score, against a table without a board' update plain /s 0.85

# The same without ranks in what lb_submit() returns
unranked()
{
	PGOPTIONS='-c leaderboard.submit_ranks=off' "$@"
}

say "submits"
turns "one,submit unranked asks update submit" "ranked asks submit"
times_row '`lb_submit`, `leaderboard.submit_ranks = off`, against that `UPDATE`' submit one ms 3
times_row 'the same with ranks, which all shards are asked for' ranked one ms 8
sql -o /dev/null -c "SELECT lb_open_window('daily')" -c "SELECT lb_open_window('weekly')"
turns "windows unranked asks submit"
times_row 'the first with two windows' windows one ms ""
sql -o /dev/null -c "SELECT lb_close_window('daily')" -c "SELECT lb_close_window('weekly')"

# cpu NODE: microseconds that the server's processes have run, those that have ended and
# those that are there.
cpu()
{
	local pid

	read -r pid <"$WORK/node$1/data/postmaster.pid"
	{
		cut -d ' ' -f 16,17 "/proc/$pid/stat"
		ps -o pid= --ppid "$pid" | while read -r pid; do
			cut -d ' ' -f 14,15 "/proc/$pid/stat" 2>/dev/null || true
		done
	} | awk -v hz="$(getconf CLK_TCK)" '{ n += $1 + $2 } END { print n * 1000000 / hz }'
}

# cpu_row NAME CALL [COMMAND]: what a call takes on the coordinator and on the workers, if
# COMMAND runs the client.
cpu_rows=()
cpu_row()
{
	local before after n i

	for i in 0 1 2; do
		before[i]=$(cpu $i)
	done
	n=$("${@:3}" in_turns "$1" | awk '{ print $4 }')
	sleep 0.3	# the processes have ended
	for i in 0 1 2; do
		after[i]=$(cpu $i)
	done
	cpu_rows+=("$(awk -v what="$2" -v n="$n" -v c=$((after[0] - before[0])) \
		-v w=$((after[1] - before[1] + after[2] - before[2])) 'BEGIN {
			printf "| %s | %.0f µs | %.0f µs |", what, c / n, w / n }')")
}

say "processor time"
cpu_row base "\`count(*)\` of the tiny table"
cpu_row score_rank '`lb_rank_of_score(score)`'
cpu_row rank '`lb_rank(player)`'
cpu_row ranks '`lb_ranks` of 50 players'
cpu_row top '`lb_top(100)`'
cpu_row page "the page at $(number $deep)"
cpu_row around '`lb_around(player)`'
cpu_row update '`UPDATE` of a score'
cpu_row plain 'the same without a board'
cpu_row submit '`lb_submit` without ranks' unranked
cpu_row submit '`lb_submit`'
verify

table()
{
	cat <<-END
		\`$command\`, $(machine), Citus $(sql -Atc "SELECT extversion FROM pg_extension WHERE extname = 'citus'");
		a coordinator and two workers on this machine, $(number "$size") rows in $shards shards, ranked by
		\`score DESC, updated_at ASC\`. Medians of $rounds runs of $seconds s with their least and greatest ratio, prepared
		statements of 1 client in turns of 0.1 s in the same connection, \`synchronous_commit = off\`.

		| measure | leaderboard | against it | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
	cat <<-END

		Processor time of a call, on all $shards shards together:

		| call | coordinator | workers |
		|---|---:|---:|
	END
	printf '%s\n' "${cpu_rows[@]}"
}

echo
table
echo
echo "$(($(date +%s) - began)) s in all"

[ -n "$out" ] || exit 0
table >table.md
put_table "$out" "make bench-citus" "$WORK/table.md"
