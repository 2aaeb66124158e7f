#!/bin/bash
#
# bench.sh
#	Measures the extension on a private server: pgbench, psql and client.c over a
#	unix socket, prepared statements, fsync on.
#
#	SIZE		members of the large boards, 10000000
#	RUN_SECONDS	length of a pgbench run, 6 (make bench SECONDS=...)
#	ROUNDS		runs of each side, 5, or 3 where SIZE is small
#	AWAKE		"no" lets processors sleep between the answers to a single client
#	OUT			Markdown file with marker comments between which the table goes;
#				docs/performance.md where SIZE is the default, else none
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$TREE/test/bench/common.sh"

size=${SIZE:-10000000}
seconds=${RUN_SECONDS:-6}
out=${OUT:-}
if ! [[ $size =~ ^[1-9][0-9]*$ ]] || [ "$size" -lt 10000 ]; then
	die "SIZE must be a number, at least 10000: \"$size\""
fi
rounds=${ROUNDS:-$((size < 1000000 ? 3 : 5))}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "SECONDS must be a number: \"$seconds\""
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS must be a number: \"$rounds\""
if [ -z "$out" ] && [ "$size" = 10000000 ]; then
	out=$TREE/docs/performance.md
fi
[ -z "$out" ] || out=$(realpath -m -- "$out")
[ -z "$out" ] || has_marks "$out" "make bench"

command="make bench"
[ "$size" = 10000000 ] || command="$command SIZE=$size"
[ "$seconds" = 6 ] || command="$command SECONDS=$seconds"
[ -z "${ROUNDS:-}" ] || command="$command ROUNDS=$rounds"

"$TREE/test/lib/prepare.sh" bench
lb_begin bench

#
# The server, the tables, the boards.
#

bench_server "$size"
bench_client

# The boards' table and its rivals: one without any index of the score, one
# with the index that SQL rank queries want; one with a board and the trigger that
# keeps updated_at; and one with a trigger that does nothing.  All have the same
# rows.
tables="bench_board bench_plain bench_btree bench_stamp bench_empty"
for t in $tables bench_small; do
	bench_table "$t"
done
say "$size rows into each of five tables"
bench_rows bench_board "$size"
for t in ${tables#* }; do
	sql -c "INSERT INTO $t SELECT * FROM bench_board"
done
bench_rows bench_small 10000
for t in $tables bench_small; do
	sql -c "ALTER TABLE $t ADD PRIMARY KEY (player_id)"
done
sql -c 'CREATE INDEX bench_btree_score ON bench_btree (score DESC)'
sql -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
prewarm bench_board bench_board_pkey
empty_trigger bench_empty

say "boards"
sql -o /dev/null <<-'END'
	SELECT lb_create_board('global', 'bench_board',
		rank_by => 'score DESC, updated_at ASC');
	SELECT lb_create_board('small', 'bench_small',
		rank_by => 'score DESC, updated_at ASC');
	SELECT lb_create_board('stamp', 'bench_stamp',
		rank_by => 'score DESC, updated_at ASC');
	CREATE TRIGGER leaderboard_updated_at BEFORE UPDATE ON bench_stamp
		FOR EACH ROW EXECUTE FUNCTION leaderboard_internal.lb_set_updated_at();
	SELECT lb_wait_ready();
END

#
# Measuring.
#

# One pgbench run of a script; prints its transactions per second.
pgb()
{
	local clients=$1 script=$2

	awake "$clients" "$BIN/pgbench" -n -M prepared -c "$clients" -j "$clients" \
		-T "$seconds" -D size="$size" -f "$WORK/$script.sql" >pgbench.log 2>&1 ||
		{ cat pgbench.log >&2; die "pgbench has failed: $script"; }
	# A statement that failed would make the others look faster.
	if grep -q 'number of failed transactions: [1-9]' pgbench.log; then
		die "pgbench had failed transactions: $script"
	fi
	sed -n 's/^tps = \([0-9.]*\).*/\1/p' pgbench.log
}

# latencies NAME SCRIPT SECONDS: a pgbench run of one client, the latencies of
# all its transactions in order in NAME.us, in microseconds.
latencies()
{
	rm -f "$WORK/$1".log.*
	"$BIN/pgbench" -n -M prepared -c 1 -T "$3" -D size="$size" \
		-l --log-prefix="$WORK/$1.log" -f "$WORK/$2.sql" >"$1.out" 2>&1 ||
		{ cat "$1.out" >&2; die "pgbench has failed: $2"; }
	cat "$WORK/$1".log.* | awk '{ print $3 }' | sort -n >"$WORK/$1.us"
	rm -f "$WORK/$1".log.*
}

# of NAME.us, in milliseconds: percentile NAME P, and nth_longest NAME N.
percentile()
{
	awk -v p="$2" '{ v[NR] = $1 }
		END { i = int(NR * p / 100 + 0.999999); print v[i ? i : 1] / 1000 }' "$WORK/$1.us"
}

nth_longest()
{
	tail -n "$2" "$WORK/$1.us" | awk 'NR == 1 { print $1 / 1000 }'
}

script()
{
	cat >"$WORK/$1.sql"
}

#
# Build and memory, before anything has changed.
#

turns "build rebuild global"
bytes_built=$(bytes_per_member global)

#
# Reads.
#

script rank <<<'\set id random(1, :size)
SELECT lb_rank(:id);'
script key <<<'\set id random(1, :size)
SELECT score FROM bench_board WHERE player_id = :id;'
script small <<<"\\set id random(1, 10000)
SELECT lb_rank(:id, 'small');"
script count <<<'\set id random(1, :size)
SELECT count(*) + 1 FROM bench_btree
WHERE score > (SELECT score FROM bench_btree WHERE player_id = :id);'

say "ranks of random members"
prewarm bench_board bench_board_pkey bench_small bench_small_pkey \
	bench_btree_score bench_btree_pkey
turns "rank1 pgb 1 rank" "key1 pgb 1 key" "small1 pgb 1 small" \
	"count1 pgb 1 count" "rank2 pgb 2 rank" "key2 pgb 2 key"
ratio_row "\`lb_rank\`, 1 client, against the score by primary key" \
	rank1 key1 /s 1.1
ratio_row "\`lb_rank\`, 2 clients, against the score by primary key" \
	rank2 key2 /s 1.1
ratio_row "\`lb_rank\` against \`count(*) + 1\` with btree (score DESC)" \
	rank1 count1 /s 1000
ratio_row "\`lb_rank\`, $(number "$size") against 10,000 members" \
	rank1 small1 /s 0.85

say "ranks of many members in one statement"
many=$((size < 1000000 ? size : 1000000))
sql <<-END
	CREATE TABLE bench_sample AS
		SELECT 1 + floor(random() * $size)::bigint AS player_id
		FROM generate_series(1, $many);
	CREATE TABLE bench_arrays AS
		SELECT array_agg(player_id) AS ids
		FROM (SELECT player_id, row_number() OVER () AS n FROM bench_sample) s
		GROUP BY n / 1000;
	VACUUM ANALYZE bench_sample, bench_arrays;
END
prewarm bench_sample bench_arrays
per_second()
{
	awk -v n="$many" -v ms="$1" 'BEGIN { print n / ms * 1000 }'
}
v=$(per_second "$(median_ms 'SELECT sum(lb_rank(player_id)) FROM bench_sample')")
row "\`sum(lb_rank(player_id))\` over $(number "$many") random members" \
	"$(number "$v") ranks/s" "" "" "≥ 500,000/s" "$(verdict "$v" '>=' 500000)"
v=$(per_second "$(median_ms 'SELECT sum(r.rank) FROM bench_arrays, lb_ranks(ids) r')")
row "\`lb_ranks\` on arrays of 1,000" "$(number "$v") ranks/s" "" "" \
	"≥ 700,000/s" "$(verdict "$v" '>=' 700000)"

say "top lists"
skip=$((size * 9 / 10))
sql -c 'CREATE INDEX bench_btree_top ON bench_btree (score DESC, updated_at)' \
	-c CHECKPOINT
script top <<<'SELECT * FROM lb_top(100);'
script deep <<<"SELECT * FROM lb_top(100, skip => $skip);"
script list <<<'SELECT player_id, score FROM bench_btree
ORDER BY score DESC, updated_at LIMIT 100;'
turns "top pgb 1 top" "list pgb 1 list" "deep pgb 1 deep"
ratio_row "\`lb_top(100)\` against the top 100 by btree (score DESC, updated_at)" \
	top list /s 1
ratio_row "\`lb_top(100, skip => $(number $skip))\` against the same" \
	deep list /s 1
sql -c 'DROP INDEX bench_btree_top' -c CHECKPOINT

#
# Updates.
#

for t in $tables; do
	prewarm "$t" "${t}_pkey"
done
prewarm bench_btree_score
# shellcheck disable=SC2086 # words
log_pages $tables

reads=$(counter query_reads)
[ "$reads" = 0 ] || die "$reads reads did not use the index"

say "updates of the score, 2 clients"
export PGOPTIONS='-c synchronous_commit=off'
args=()
for t in $tables; do
	args+=(-q "UPDATE $t SET score = score + {d} WHERE player_id = {m}")
done
# As pgbench does it, but in turns of a tenth of a second in the same connections:
# these are so near to each other that what the machine does in between would decide.
updates()
{
	awake 2 "$client" -p "" -c 2 -n "$size" -t "$seconds" -T 0.1 "${args[@]}"
}
more_turns "board,plain,btree,stamp,empty updates"
ratio_row "\`UPDATE\` of the score with the board, against no board and no index of the score" \
	board plain /s 0.9
ratio_row "the same with a row trigger in C that does nothing instead of the board" \
	empty plain /s ""
ratio_row "the same against btree (score DESC) and no board" board btree /s 1.1
ratio_row "the same with the trigger that sets \`updated_at\`, against the board alone" \
	stamp board /s ""

#
# Reads beside writers.
#

say "reads beside writers"
script one <<<'SELECT 1;'
script update <<'END'
\set id random(1, :size)
\set d random(-1000, 1000)
UPDATE bench_board SET score = score + :d WHERE player_id = :id;
END
sql -c "CREATE TABLE bench_few AS SELECT * FROM bench_sample LIMIT 10000" \
	-c "VACUUM ANALYZE bench_few"
prewarm bench_few bench_board bench_board_pkey
rest=() beside=() rest_p99=() beside_p99=() alone=() busy=()
for ((i = 0; i < rounds; i++)); do
	awake 1 latencies rest rank "$seconds"
	rest[i]=$(wc -l <rest.us)
	rest_p99[i]=$(percentile rest 99)
	alone[i]=$(repeated_ms 20 'SELECT sum(lb_rank(player_id)) FROM bench_few')
	"$BIN/pgbench" -n -M prepared -c 2 -j 2 -T $((seconds + 3)) -D size="$size" \
		-f "$WORK/update.sql" >writers.out 2>&1 &
	writers=$!
	sleep 1
	latencies beside rank "$seconds"
	beside[i]=$(wc -l <beside.us)
	beside_p99[i]=$(percentile beside 99)
	kill $writers
	wait $writers || true
	"$BIN/pgbench" -n -M prepared -c 1 -T 60 -D size="$size" \
		-f "$WORK/update.sql" >writers.out 2>&1 &
	writers=$!
	sleep 1
	# The reader has a processor to himself, here as at rest.
	for v in $writers $(sql -Atc "SELECT pid FROM pg_stat_activity
		WHERE application_name = 'pgbench'"); do
		taskset -cp "$(processors | head -n 1)" "$v" >/dev/null
	done
	busy[i]=$(repeated_ms 20 'SELECT sum(lb_rank(player_id)) FROM bench_few')
	kill $writers || die "the statements have taken longer than a minute"
	wait $writers || true
done
v=$(median "${rest[@]}")
w=$(median "${beside[@]}")
row "\`lb_rank\`, 1 client, while 2 clients update (2 cores), against at rest" \
	"$(number "$(quotient "$w" "$seconds")") /s, p99 $(number "$(median "${beside_p99[@]}")") ms" \
	"$(number "$(quotient "$v" "$seconds")") /s, p99 $(number "$(median "${rest_p99[@]}")") ms" \
	"$(number "$(quotient "$w" "$v")") ×" "" ""
v=$(median "${alone[@]}")
w=$(median "${busy[@]}")
r=$(quotient "$w" "$v")
row "10,000 ranks in one statement while 1 client updates, a rank, against at rest" \
	"$(number "$(quotient "$w" 10)") µs" \
	"$(number "$(quotient "$v" 10)") µs" \
	"$(number "$r") ×" "≤ 1.5 ×" "$(verdict "$r" '<=' 1.5)"

say "an older snapshot"
sql >old.out <<-SQL
	BEGIN ISOLATION LEVEL REPEATABLE READ;
	SELECT sum(lb_rank(player_id)) FROM bench_few;
	\\timing on
	SELECT sum(lb_rank(player_id)) FROM bench_few;
	\\timing off
	\\! "$BIN/pgbench" -n -M prepared -c 2 -j 2 -t 5000 -D size="$size" -f "$WORK/update.sql" >/dev/null 2>&1
	\\timing on
	SELECT sum(lb_rank(player_id)) FROM bench_few;
	SELECT sum(lb_rank(player_id)) FROM bench_few;
	COMMIT;
SQL
mapfile -t times < <(sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' old.out)
row "10,000 ranks in a snapshot 10,000 commits old, a rank, against before these" \
	"$(number "$(quotient "${times[2]}" 10)") µs" \
	"$(number "$(quotient "${times[0]}" 10)") µs" \
	"$(number "$(quotient "${times[2]}" "${times[0]}")") ×" "" ""

# pause NAME BAR SECONDS STATEMENT: the longest read while a statement runs,
# which it does in that time, of those that the index has answered.
pause()
{
	local queries reader

	queries=$(counter query_reads)
	latencies probe one "$3" &
	latencies read rank "$3" &
	reader=$!
	sleep 1
	sql -o /dev/null -c "$4"
	kill -0 $reader || die "$1 has taken longer than $3 seconds"
	wait
	queries=$(($(counter query_reads) - queries))
	v=$(nth_longest read $((queries + 1)))
	row "longest \`lb_rank\` by index during $1; $queries by query besides" \
		"$(number "$v") ms" "SELECT 1: $(number "$(nth_longest probe 1)") ms" "" \
		"≤ $2 ms" "$(verdict "$v" '<=' "$2")"
}

say "reads during an UPDATE of $((size / 10)) rows, and during a rebuild"
pause "one UPDATE of $(number $((size / 10))) rows" 250 40 "UPDATE bench_board
	SET score = floor(random() * 1000001) WHERE player_id % 10 = 3"
pause "lb_rebuild" 50 15 "SELECT lb_rebuild('global')"

say "$size random updates in statements of $((size / 100))"
random_updates bench_board
unset PGOPTIONS
bytes_updated=$(bytes_per_member global)

row "memory per member after the build" "$(number "$bytes_built") bytes" "" "" \
	"≤ 52 bytes" "$(verdict "$bytes_built" '<=' 52)"
row "memory per member after $(number "$size") random updates" \
	"$(number "$bytes_updated") bytes" "" "" "≤ 64 bytes" \
	"$(verdict "$bytes_updated" '<=' 64)"
v=$(median_series build)
row "build of $(number "$size")" "$(number "$v") s" "" "" "≤ 6 s" \
	"$(verdict "$v" '<=' 6)"

verify

# shellcheck source-path=SCRIPTDIR source=submit.sh
. "$TREE/test/bench/submit.sh"

#
# The table.
#

table()
{
	cat <<-END
		\`$command\`, $(machine); $(number "$size") members with random
		scores from 0 to 1,000,000, ranked by \`score DESC, updated_at ASC\`.
		Medians of $rounds runs of $seconds s in turns. Updates have four times as many
		shorter runs, in which the tables take turns of 0.1 s in the same connections.
		Ratios have their least and greatest value, too.

		| measure | leaderboard | against it | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
}

echo
table
echo
echo "$(($(date +%s) - began)) s in all"

[ -n "$out" ] || exit 0
table >table.md
put_table "$out" "make bench" "$WORK/table.md"
