#!/bin/bash
#
# peers.sh
#	Measures the extension beside what one would take instead, on the same
#	machine in the same run, with the same members and scores: Redis, Valkey, a
#	B-tree of the score, a materialized view, and a table of counts that a
#	trigger keeps.
#
#	SIZE		members, 10000000
#	RUN_SECONDS	length of a run, 5; may be a fraction (make bench-peers SECONDS=...)
#	ROUNDS		runs of each side, 3
#	SIZES		of the plot of rank latency, "1000 10000 ..." up to SIZE
#	CLIENTS		of the plot of throughput, "1 2 4 8 16 32"
#	BOARDS		small boards of 50 members, 100000 where SIZE is the default
#	LARGE		members of one more board, for its rank latency alone: 100000000
#				takes 20 GB of memory
#	OUT			Markdown file with marker comments between which the table goes,
#				with the plots beside it; docs/performance.md where SIZE is the
#				default, else none
#	AWAKE		"no" lets processors sleep between the answers to a single client
#	VALKEY_DIR	where the chroot with Valkey is, or is to be kept
#	MIRROR		Debian's mirror
#
# All are asked by client.c over a unix socket, PostgreSQL by prepared statements.
# Redis and Valkey run with their defaults but for the socket and what is said
# about durability.
#
# shellcheck disable=SC2016 # backquotes are Markdown's
# shellcheck disable=SC2154 # series are made by turns()
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$TREE/test/bench/common.sh"
# shellcheck source-path=SCRIPTDIR source=locks.sh
. "$TREE/test/bench/locks.sh"
# shellcheck source-path=SCRIPTDIR source=stores.sh
. "$TREE/test/bench/stores.sh"

size=${SIZE:-10000000}
seconds=${RUN_SECONDS:-5}
rounds=${ROUNDS:-3}
large=${LARGE:-0}
out=${OUT:-}
for v in size rounds large; do
	[[ ${!v} =~ ^[0-9]+$ ]] || die "${v^^} must be a number: \"${!v}\""
done
[ "$size" -ge 10000 ] || die "SIZE must be at least 10000: \"$size\""
[ "$rounds" -ge 3 ] || die "ROUNDS must be at least 3: \"$rounds\""
if ! [[ $seconds =~ ^[0-9]*\.?[0-9]+$ ]]; then
	die "SECONDS must be a number: \"$seconds\""
fi
sizes=()
for n in ${SIZES:-1000 10000 100000 1000000 10000000}; do
	[ "$n" -ge "$size" ] || sizes+=("$n")
done
sizes+=("$size")
# The large board is compared with one of 10,000.
if [ "$large" != 0 ]; then
	mapfile -t sizes < <(printf '%s\n' "${sizes[@]}" 10000 | sort -nu)
fi
read -ra client_counts <<<"${CLIENTS:-1 2 4 8 16 32}"
boards=${BOARDS:-$((size / 100))}
if [ -z "$out" ] && [ "$size" = 10000000 ]; then
	out=$TREE/docs/performance.md
fi
[ -z "$out" ] || out=$(realpath -m -- "$out")
[ -z "$out" ] || has_marks "$out" "make bench-peers"

command="make bench-peers"
[ "$size" = 10000000 ] || command="$command SIZE=$size"
[ "$seconds" = 5 ] || command="$command SECONDS=$seconds"
[ "$rounds" = 3 ] || command="$command ROUNDS=$rounds"
for v in SIZES CLIENTS; do
	[ -z "${!v:-}" ] || command="$command $v=\"${!v}\""
done
for v in BOARDS LARGE; do
	[ -z "${!v:-}" ] || command="$command $v=${!v}"
done

"$TREE/test/lib/prepare.sh" peers
lb_begin peers

#
# The servers.
#

stop_all()
{
	local rc=$?

	set +e
	trap '' INT TERM HUP
	probes_end
	stop_stores "$rc"
}
trap stop_all EXIT

find_redis
find_valkey
# The large board is not changed, and built once.
bench_server $((size + size / 5 + boards * 50 + large / 4))
bench_client
start_stores redis valkey

#
# The same rows for all.
#

# bench_counts: how many have a score in each thousand, kept by a trigger; who
# is better in one's own thousand is counted by the B-tree.  bench_empty has a
# trigger that does nothing.
say "$size rows into each of five tables"
tables=(bench_board bench_plain bench_btree bench_counts bench_empty)
for t in "${tables[@]}"; do
	bench_table "$t"
done
bench_rows bench_board "$size"
for t in "${tables[@]:1}"; do
	sql -c "INSERT INTO $t SELECT * FROM bench_board"
done
for t in "${tables[@]}"; do
	sql -c "ALTER TABLE $t ADD PRIMARY KEY (player_id)"
done
sql -c 'CREATE INDEX bench_btree_score ON bench_btree (score DESC)' \
	-c 'CREATE INDEX bench_btree_top ON bench_btree (score DESC, updated_at)' \
	-c 'CREATE INDEX bench_counts_score ON bench_counts (score DESC)'

empty_trigger bench_empty

# What makes the view and the counts of a table.
make_view()
{
	sql -c "CREATE MATERIALIZED VIEW $2 AS
		SELECT player_id, score, row_number() OVER
			(ORDER BY score DESC, updated_at, player_id) AS rank FROM $1" \
		-c "CREATE UNIQUE INDEX ON $2 (player_id)"
}

make_count()
{
	sql -c "CREATE TABLE $2 (thousand bigint PRIMARY KEY, n bigint NOT NULL)
			WITH (fillfactor = 10)" \
		-c "INSERT INTO $2 SELECT score / 1000, count(*) FROM $1 GROUP BY 1"
}

say "boards, a view, counts"
make_view bench_plain bench_view
make_count bench_counts bench_count
sql <<-'SQL'
	CREATE FUNCTION bench_counted() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE
		was bigint := OLD.score / 1000;
		becomes bigint := NEW.score / 1000;
	BEGIN
		IF was = becomes THEN
			RETURN NULL;
		END IF;
		-- In one order, or two sessions would wait for each other.
		IF was < becomes THEN
			UPDATE bench_count SET n = n - 1 WHERE thousand = was;
		END IF;
		INSERT INTO bench_count AS c VALUES (becomes, 1)
		ON CONFLICT (thousand) DO UPDATE SET n = c.n + 1;
		IF was > becomes THEN
			UPDATE bench_count SET n = n - 1 WHERE thousand = was;
		END IF;
		RETURN NULL;
	END $$;
	CREATE TRIGGER bench_counted AFTER UPDATE OF score ON bench_counts
		FOR EACH ROW EXECUTE FUNCTION bench_counted();
SQL
sql -o /dev/null -c "SELECT lb_create_board('global', 'bench_board',
	rank_by => 'score DESC, updated_at ASC')" -c 'SELECT lb_wait_ready()'

# Each smaller size has all of it over one table: it is only read.
for n in "${sizes[@]}"; do
	[ "$n" != "$size" ] || continue
	t=bench_$n
	bench_table "$t"
	sql -c "INSERT INTO $t SELECT * FROM bench_board WHERE player_id <= $n" \
		-c "ALTER TABLE $t ADD PRIMARY KEY (player_id)" \
		-c "CREATE INDEX ON $t (score DESC)"
	make_view "$t" "${t}_view"
	make_count "$t" "${t}_count"
	sql -o /dev/null -c "SELECT lb_create_board('n$n', '$t',
		rank_by => 'score DESC, updated_at ASC')"
done
sql -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT -o /dev/null \
	-c 'SELECT lb_wait_ready()'
prewarm "${tables[@]}" bench_view

say "the same into ${systems[*]:-nothing else}"
sql -c "COPY (SELECT player_id, score FROM bench_board ORDER BY player_id)
	TO STDOUT (FORMAT csv)" >members.csv
for s in "${systems[@]}"; do
	for n in "${sizes[@]}"; do
		[ "$n" = "$size" ] || head -n "$n" members.csv |
			"$client" -r "$WORK/$s/socket" -P 1000 -l "n$n" >/dev/null
	done
done

#
# Asking.
#

declare -A text=(
	[rank]='SELECT lb_rank({m})'
	[key]='SELECT score FROM bench_board WHERE player_id = {m}'
	[ranks]='SELECT rank FROM lb_ranks({M})'
	[zrank]='ZREVRANK global {m}'
	[top]='SELECT * FROM lb_top(100)'
	[top_btree]='SELECT row_number() OVER (ORDER BY score DESC, updated_at) AS rank,
		player_id, score FROM bench_btree ORDER BY score DESC, updated_at LIMIT 100'
	[top_series]='SELECT i AS rank, i AS member, i AS score
		FROM generate_series(1::bigint, 100) i'
	[json]='SELECT lb_top_json(100)'
	[ztop]='ZREVRANGE global 0 99 WITHSCORES'
	[batch]='UPDATE bench_board SET score = v.s FROM unnest({M}, {S}) AS v (m, s)
		WHERE player_id = v.m'
	[batch_plain]='UPDATE bench_plain SET score = v.s FROM unnest({M}, {S}) AS v (m, s)
		WHERE player_id = v.m'
	[zadd]='ZADD global {s} {m}'
	[zincrby]='ZINCRBY global {d} {m}'
	[key_plain]='SELECT score FROM bench_plain WHERE player_id = {m}')
for t in "${tables[@]}"; do
	text[update-$t]="UPDATE $t SET score = score + {d} WHERE player_id = {m}"
done

# rank_texts N TABLE-OF-BTREE TABLE-OF-COUNTS COUNTS VIEW BOARD KEY
rank_texts()
{
	text[rank-$1]="SELECT lb_rank({m}, '$6')"
	text[btree-$1]="SELECT count(*) + 1 FROM $2
		WHERE score > (SELECT score FROM $2 WHERE player_id = {m})"
	text[view-$1]="SELECT rank FROM $5 WHERE player_id = {m}"
	text[counts-$1]="SELECT 1 + (SELECT coalesce(sum(n), 0) FROM $4
			WHERE thousand > p.score / 1000) + (SELECT count(*) FROM $3
			WHERE score > p.score AND score < (p.score / 1000 + 1) * 1000)
		FROM (SELECT score FROM $3 WHERE player_id = {m}) p"
	text[zrank-$1]="ZREVRANK $7 {m}"
}
for n in "${sizes[@]}"; do
	rank_texts "$n" "bench_$n" "bench_$n" "bench_${n}_count" "bench_${n}_view" \
		"n$n" "n$n"
done
rank_texts "$size" bench_btree bench_counts bench_count bench_view global global

members=$size

# of NAME_more: the median of the runs' medians and 99th percentiles, in us.
median_of()
{
	local -n more=$1_more
	local column=$2 values

	mapfile -t values < <(printf '%s\n' "${more[@]}" | cut -d ' ' -f "$column")
	median "${values[@]}"
}

#
# Building everything again.
#

# Each prints the seconds it took.
timed()
{
	awk -v ms="$(statement_ms "$1")" 'BEGIN { print ms / 1000 }'
}

rebuild_btree()
{
	timed 'REINDEX INDEX bench_btree_score'
}

rebuild_view()
{
	timed 'REFRESH MATERIALIZED VIEW bench_view'
}

rebuild_counts()
{
	sql -c 'TRUNCATE bench_count'
	timed 'INSERT INTO bench_count SELECT score / 1000, count(*)
		FROM bench_counts GROUP BY 1'
}

# The bytes go to a file, by name.
rebuild_store()
{
	local before

	store "$1" UNLINK global >/dev/null
	while [ "$(store "$1" INFO memory | sed -n 's/^lazyfree_pending_objects:\([0-9]*\).*/\1/p')" != 0 ]; do
		sleep 0.1
	done
	before=$(used_memory "$1")
	"$client" -r "$WORK/$1/socket" -P 1000 -l global <members.csv
	echo $(($(used_memory "$1") - before)) >"$1.bytes"
}

# From its own file, as after a restart.
reload_store()
{
	local start

	[ -e "$WORK/$1/dump.rdb" ] || store "$1" SAVE >/dev/null
	start=$(date +%s.%N)
	store "$1" DEBUG RELOAD NOSAVE >/dev/null
	awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { print b - a }'
}

say "builds"
mapfile -t turn < <(per_store 'build_{} rebuild_store {}')
turns "build rebuild global" "build_btree rebuild_btree" "build_view rebuild_view" \
	"build_counts rebuild_counts" "${turn[@]}"
mapfile -t turn < <(per_store 'reload_{} reload_store {}')
turns "${turn[@]}"
bytes_built=$(bytes_per_member global)
relation_bytes()
{
	sql -Atc "SELECT ($1)::float8 / $size"
}
bytes_btree=$(relation_bytes "pg_relation_size('bench_btree_score')")
bytes_view=$(relation_bytes "pg_total_relation_size('bench_view')")
bytes_counts=$(relation_bytes "pg_relation_size('bench_counts_score')
	+ pg_total_relation_size('bench_count')")

#
# Ranks, by clients and by members.
#

say "ranks by clients: ${client_counts[*]}"
prewarm bench_board bench_board_pkey
turn=()
for c in "${client_counts[@]}"; do
	turn+=("rank$c ask pg $c rank" "key$c ask pg $c key")
	mapfile -t -O ${#turn[@]} turn < <(per_store "zrank${c}_{} ask {} $c zrank")
done
turns "${turn[@]}"
redis_bars=("" 0.95 1.3)
valkey_bars=("" 0.85 1.05)
for c in 1 2; do
	[[ " ${client_counts[*]} " = *" $c "* ]] || continue
	what="\`lb_rank\`, $c client$([ $c = 1 ] || echo s),"
	ratio_row "$what against the score by primary key" rank$c key$c /s 1.25
	stores_ratio "$what" rank$c zrank$c /s "${redis_bars[c]}" \
		"${valkey_bars[c]}" 'ZREVRANK'
done

say "ranks by members: ${sizes[*]}"
prewarm bench_btree bench_btree_score bench_btree_pkey bench_counts \
	bench_counts_score bench_counts_pkey bench_view bench_view_player_id_idx
for n in "${sizes[@]}"; do
	members=$n
	mapfile -t turn < <(per_store "n${n}_{} ask {} 1 zrank-$n")
	turns "n${n}_board ask pg 1 rank-$n" "n${n}_btree ask pg 1 btree-$n" \
		"n${n}_view ask pg 1 view-$n" "n${n}_counts ask pg 1 counts-$n" \
		"${turn[@]}"
done
members=$size
for s in btree counts view; do
	case $s in
		btree) what='`count(*) + 1` with btree (score DESC)' ;;
		counts) what='counts per 1,000 scores that a trigger keeps' ;;
		view) what='a materialized view, as of its last refresh' ;;
	esac
	ratio_row "\`lb_rank\`, 1 client, against $what" "n${size}_board" \
		"n${size}_$s" /s ""
done

if [ "$large" != 0 ]; then
	say "$large members"
	sql -c "CREATE UNLOGGED TABLE bench_large (player_id bigint, score bigint,
		updated_at timestamptz)"
	bench_rows bench_large "$large"
	sql -c 'ALTER TABLE bench_large ADD PRIMARY KEY (player_id)'
	sql -o /dev/null -c "SELECT lb_create_board('large', 'bench_large',
		rank_by => 'score DESC, updated_at ASC')" \
		-c "SELECT lb_wait_ready('1 hour')"
	text[rank-large]="SELECT lb_rank({m}, 'large')"
	rank_large()
	{
		members=$large
		ask pg 1 rank-large
	}
	rank_small()
	{
		members=10000
		ask pg 1 rank-10000
	}
	turns "n${large}_board rank_large" "small rank_small"
	ratio_row "\`lb_rank\`, $(number "$large") against 10,000 members" \
		"n${large}_board" small /s 0.75
	sql -c 'DROP TABLE bench_large'
fi

#
# Many ranks, and lists.
#

say "many ranks at once, and lists"
mapfile -t turn < <(per_store "zmany_{} ask {} 1 zrank -P 100")
turns "many ask pg 1 ranks -b 1000" "pipe ask pg 1 rank -P 100" "${turn[@]}"
stores_ratio '`lb_ranks` of 1,000 members a call, 1 client,' many zmany \
	"ranks/s" "" 8 'ZREVRANK in pipelines of 100'
stores_ratio '`lb_rank` in pipelines of 100, 1 client,' pipe zmany "/s" "" "" \
	'ZREVRANK in the same'
mapfile -t turn < <(per_store "ztop_{} ask {} 1 ztop")
turns "top ask pg 1 top" "top_btree ask pg 1 top_btree" \
	"top_series ask pg 1 top_series" "json ask pg 1 json" "${turn[@]}"
ratio_row '`lb_top(100)` against the top 100 with `row_number()` by btree (score DESC, updated_at)' \
	top top_btree /s 1.5
ratio_row '`lb_top(100)` against `generate_series` of 100 such rows' \
	top top_series /s 0.85
stores_ratio '`lb_top_json(100)`' json ztop /s "" 0.9 'ZREVRANGE 0 99 WITHSCORES'
sql -c 'DROP INDEX bench_btree_top' -c CHECKPOINT

#
# Updates.
#

say "updates"
for t in "${tables[@]}"; do
	prewarm "$t" "${t}_pkey"
done
log_pages "${tables[@]}"
export PGOPTIONS='-c synchronous_commit=off'
# The tables are so near to each other that they take turns of a tenth of a second,
# in the same connections.
for c in 1 2 32; do
	series=
	names=
	for v in board plain btree counts empty; do
		series+=,update_$v$c
		names+=,update-bench_$v
	done
	mapfile -t turn < <(per_store "zincrby${c}_{} ask {} $c zincrby")
	more_turns "${series#,} ask pg $c ${names#,} -T 0.1" "${turn[@]}"
done
for c in 1 2; do
	what="\`UPDATE\` of a score, synchronous_commit off, $c client$([ $c = 1 ] || echo s),"
	ratio_row "$what against no index and no trigger" update_board$c \
		update_plain$c /s 0.93
	ratio_row "the same with a row trigger in C that does nothing instead of the board" \
		update_empty$c update_plain$c /s ""
	ratio_row "$what against btree (score DESC)" update_board$c update_btree$c /s 1.2
	ratio_row "the same with no index and no trigger instead of the board" \
		update_plain$c update_btree$c /s ""
	ratio_row "$what against counts that a trigger keeps" update_board$c \
		update_counts$c /s ""
	stores_ratio "$what" update_board$c zincrby$c /s "" "" \
		"ZINCRBY, without a file"
done

say "32 clients, nine reads to one update"
turns "mixed ask pg 32 rank:9,update-bench_board:1" \
	"mixed_key ask pg 32 key_plain:9,update-bench_plain:1"
ratio_row "32 clients: \`UPDATE\` of a score against no index and no trigger" \
	update_board32 update_plain32 /s 0.85
ratio_row "the same with a row trigger in C that does nothing instead of the board" \
	update_empty32 update_plain32 /s ""
ratio_row "32 clients, nine reads to one update: \`lb_rank\` against the score by primary key" \
	mixed mixed_key /s 1.0
row "the same: 99th percentile of a statement" \
	"$(number "$(median_of mixed 2)") µs" "$(number "$(median_of mixed_key 2)") µs" \
	"$(number "$(quotient "$(median_of mixed 2)" "$(median_of mixed_key 2)")") ×" "" ""
what="the same: sleeping for the board's lock"
if probes_begin; then
	# perf takes its time to begin.
	lock_waits "$(awk -v s="$seconds" 'BEGIN { print s + 2 }')" >waits &
	v=$!
	sleep 1
	ask pg 32 rank:9,update-bench_board:1 >asked
	wait $v
	probes_end
	read -r n half p99 _ <waits
	read -r _ _ _ v <asked
	row "$what" \
		"$(number "$(quotient $((n * 1000)) "$v")") times in 1,000 statements, median $(number "$half") µs, 99 % $(number "$p99") µs" \
		"" "" "" ""
else
	row "$what" "not measured: $probes_why" "" "" "" ""
fi
unset PGOPTIONS

# Who waits for the disk waits for the host, whom idle loops would keep busy.
AWAKE=no
say "updates that are on disk"
mapfile -t turn < <(per_store "zadd_{} ask {} 1 zadd -P 100"
	per_store "zadd4_{} ask {} 4 zadd -P 100")
turns "batch ask pg 1 batch -b 1000" "batch4 ask pg 4 batch -b 1000" \
	"batch_plain ask pg 1 batch_plain -b 1000" \
	"batch_plain4 ask pg 4 batch_plain -b 1000" \
	"synced ask pg 1 update-bench_board" "${turn[@]}"
stores_ratio 'score changes in batches of 1,000, synchronous_commit on, 1 client,' \
	batch zadd /s "" 1.2 'ZADD in pipelines of 100, not durable'
stores_ratio 'the same with no index and no trigger instead of the board,' \
	batch_plain zadd /s "" "" 'ZADD in pipelines of 100, not durable'
stores_ratio 'score changes in batches of 1,000, synchronous_commit on, 4 clients,' \
	batch4 zadd4 /s "" 1.2 'ZADD in pipelines of 100, not durable'
ratio_row 'the same, against no index and no trigger' batch4 \
	batch_plain4 /s ""
stores_ratio 'the same with no index and no trigger instead of the board,' \
	batch_plain4 zadd4 /s "" "" 'ZADD in pipelines of 100, not durable'

# From here on the stores write a file too, first with one fsync a second.
for s in "${systems[@]}"; do
	store "$s" CONFIG SET appendonly yes >/dev/null
	while store "$s" INFO persistence | grep -q \
		'aof_rewrite_\(in_progress\|scheduled\):1'; do
		sleep 0.2
	done
done
ask_fsync()
{
	store "$2" CONFIG SET appendfsync "$1" >/dev/null
	ask "$2" 1 "$3" "${@:4}"
}
turn=()
for v in everysec always; do
	mapfile -t -O ${#turn[@]} turn < <(
		per_store "zincrby_${v}_{} ask_fsync $v {} zincrby"
		per_store "zadd_${v}_{} ask_fsync $v {} zadd -P 100")
done
turns "${turn[@]}"
for v in everysec always; do
	stores_ratio 'score changes in batches of 1,000, synchronous_commit on, 1 client,' \
		batch "zadd_$v" /s "" "" "ZADD in pipelines of 100, appendfsync $v"
done
stores_ratio '`UPDATE` of a score, synchronous_commit on, 1 client,' synced \
	zincrby_always /s "" "" 'ZINCRBY, appendfsync always'
stores_ratio '`UPDATE` of a score, synchronous_commit off, 1 client,' update_board1 \
	zincrby_everysec /s "" "" 'ZINCRBY, appendfsync everysec'

# bulk TABLE: rows per second of a statement that updates a tenth of the players,
# each time another tenth.
bulk()
{
	local n ms

	n=$(cat "bulk.$1" 2>/dev/null || echo 0)
	echo $(((n + 1) % 10)) >"bulk.$1"
	ms=$(statement_ms "UPDATE $1 SET score = floor(random() * 1000001)
		WHERE player_id % 10 = $n")
	awk -v n=$((size / 10)) -v ms="$ms" 'BEGIN { print n / ms * 1000 }'
}

say "updates of $((size / 10)) rows in one statement"
turns "bulk_board bulk bench_board" "bulk_plain bulk bench_plain" \
	"bulk_btree bulk bench_btree" "bulk_empty bulk bench_empty"
what="\`UPDATE\` of $(number $((size / 10))) rows in one statement"
ratio_row "$what against no index and no trigger" bulk_board bulk_plain "rows/s" 0.45
ratio_row "the same with a row trigger in C that does nothing instead of the board" \
	bulk_empty bulk_plain "rows/s" ""
ratio_row "$what against btree (score DESC)" bulk_board bulk_btree "rows/s" 1.8

say "$size random updates in statements of $((size / 100))"
random_updates bench_board
bytes_updated=$(bytes_per_member global)

#
# Memory and builds.
#

row "memory per member after the build; B-tree of the score; view; counts and their B-tree" \
	"$(number "$bytes_built") bytes" \
	"$(number "$bytes_btree"); $(number "$bytes_view"); $(number "$bytes_counts") bytes" \
	"" "≤ 44 bytes" "$(verdict "$bytes_built" '<=' 44)"
row "memory per member after $(number "$size") random updates" \
	"$(number "$bytes_updated") bytes" "" "" "≤ 56 bytes" \
	"$(verdict "$bytes_updated" '<=' 56)"
for s in "${systems[@]}"; do
	v=$(quotient "$(cat "$s.bytes")" "$size")
	row "memory per member against ${name_of[$s]}" "$(number "$bytes_built") bytes" \
		"$(number "$v") bytes" "$(number "$(quotient "$bytes_built" "$v")") ×" "" ""
done

# seconds_row MEASURE SERIES: of what the board's build is compared with.
seconds_row()
{
	local v

	v=$(median_series "$2")
	row "$1" "$(number "$(median "${build[@]}")") s" "$(number "$v") s" \
		"$(number "$(quotient "$(median "${build[@]}")" "$v")") ×" "" ""
}
v=$(median "${build[@]}")
row "build of $(number "$size")" "$(number "$v") s" "" "" "≤ 4.5 s" \
	"$(verdict "$v" '<=' 4.5)"
seconds_row "build against \`REINDEX\` of btree (score DESC)" build_btree
seconds_row "build against \`REFRESH\` of the view" build_view
seconds_row "build against counting again" build_counts
for s in "${systems[@]}"; do
	seconds_row "build against ${name_of[$s]}, ZADD in pipelines of 1,000" "build_$s"
	seconds_row "build against ${name_of[$s]}, from its own file" "reload_$s"
done

#
# Many small boards.
#

say "$boards boards of 50 members"
sql -c 'CREATE TABLE bench_many (player_id bigint PRIMARY KEY, board bigint NOT NULL,
		score bigint NOT NULL, updated_at timestamptz NOT NULL)
		WITH (fillfactor = 90)'
sql -o /dev/null -c "SELECT lb_create_board('many', 'bench_many',
	rank_by => 'score DESC, updated_at ASC', board_column => 'board')" \
	-c 'SELECT lb_wait_ready()'
small_boards()
{
	local ms

	sql -c 'DELETE FROM bench_many' -c 'VACUUM bench_many'
	ms=$(statement_ms "INSERT INTO bench_many SELECT i, (i - 1) / 50,
		floor(random() * 1000001), now() FROM generate_series(1, $((boards * 50))) i")
	awk -v n="$boards" -v ms="$ms" 'BEGIN { print n / ms * 1000 }'
}
small_build()
{
	sql -o /dev/null -c "SELECT lb_rebuild('many')" -c 'SELECT lb_wait_ready()'
	sql -Atc "SELECT $boards / build_seconds FROM lb_stat_board WHERE board = 'many'"
}
turns "created small_boards" "rebuilt small_build"
sql -c 'CREATE TABLE bench_many_plain (LIKE bench_many INCLUDING INDEXES)
		WITH (fillfactor = 90)' \
	-c 'INSERT INTO bench_many_plain TABLE bench_many' \
	-c 'VACUUM (FREEZE, ANALYZE) bench_many, bench_many_plain' -c CHECKPOINT
prewarm bench_many bench_many_pkey bench_many_plain bench_many_plain_pkey
log_pages bench_many bench_many_plain
v=$(sql -Atc "SELECT bytes::float8 / $boards FROM lb_stat_board WHERE board = 'many'")
row "$(number "$boards") boards of 50 members: memory of a board" \
	"$(number "$v") bytes" "" "" "≤ 4,096 bytes" "$(verdict "$v" '<=' 4096)"
row "the same: boards made by one \`INSERT\`" \
	"$(number "$(median "${created[@]}")") boards/s" "" "" "" ""
row "the same: boards built from the table" \
	"$(number "$(median "${rebuilt[@]}")") boards/s" "" "" "" ""
text[many_rank]="SELECT lb_rank(v.m, 'many:' || (v.m - 1) / 50)
	FROM (VALUES ({m})) AS v (m)"
text[many_key]='SELECT score FROM bench_many WHERE player_id = {m}'
for t in bench_many bench_many_plain; do
	text[update-$t]="UPDATE $t SET score = score + {d} WHERE player_id = {m}"
done
members=$((boards * 50))
export PGOPTIONS='-c synchronous_commit=off'
turns "many_rank ask pg 2 many_rank" "many_key ask pg 2 many_key" \
	"many_update ask pg 2 update-bench_many" \
	"many_plain ask pg 2 update-bench_many_plain"
unset PGOPTIONS
members=$size
ratio_row "the same: \`lb_rank\`, 2 clients, against the score by primary key" \
	many_rank many_key /s ""
ratio_row "the same: \`UPDATE\` of a score, synchronous_commit off, 2 clients, against no index and no trigger" \
	many_update many_plain /s ""

verify

#
# Plots.
#

plots=$WORK/plots
mkdir -p "$plots"

# The name that a plot gives to a system.
declare -A label=([board]=leaderboard [btree]="count(*), B-tree"
	[view]="materialized view" [counts]="counts by trigger"
	[key]="primary key lookup" [plain]="no index"
	[redis]="${name_of[redis]}" [valkey]="${name_of[valkey]}")

for s in board btree view counts "${systems[@]}"; do
	for n in "${sizes[@]}" $([ "$s" != board ] || [ "$large" = 0 ] || echo "$large"); do
		echo "$n $(median_of "n${n}_$s" 1)"
	done >"$plots/n-$s"
done
for c in "${client_counts[@]}"; do
	echo "$c $(median_series "rank$c")" >>"$plots/c-board"
	echo "$c $(median_series "key$c")" >>"$plots/c-key"
	for s in "${systems[@]}"; do
		echo "$c $(median_series "zrank${c}_$s")" >>"$plots/c-$s"
	done
done
# bars FILE: lines of "system value" become lines of a label and a value.
bars()
{
	local s v

	while read -r s v; do
		echo "\"${label[$s]}\" $v"
	done >"$plots/$1"
}
{
	printf '%s\n' "board $bytes_built" "btree $bytes_btree" "view $bytes_view" \
		"counts $bytes_counts"
	for s in "${systems[@]}"; do
		echo "$s $(quotient "$(cat "$s.bytes")" "$size")"
	done
} | bars memory
{
	echo "board $(median "${build[@]}")"
	for s in btree view counts "${systems[@]}"; do
		echo "$s $(median_series "build_$s")"
	done
} | bars build
{
	for s in board plain btree counts; do
		echo "$s $(median_series "update_${s}2")"
	done
	for s in "${systems[@]}"; do
		echo "$s $(median_series "zincrby2_$s")"
	done
} | bars update

# plot NAME TITLE XLABEL YLABEL FILE-PREFIX SYSTEM...: lines.
plot_lines()
{
	local name=$1 title=$2 x=$3 y=$4 prefix=$5 s curves=()

	shift 5
	for s in "$@"; do
		curves+=("'$plots/$prefix-$s' using 1:2 with linespoints lw 2 pt 7 ps 0.6 title \"${label[$s]}\"")
	done
	gnuplot <<-END
		set encoding utf8
		set terminal svg size 760,440 dynamic background "white" font "sans-serif,13"
		set output "$plots/$name.svg"
		set title "$title"
		set xlabel "$x"
		set ylabel "$y"
		$([ "$prefix" != n ] || echo "set xrange [${sizes[0]}:*]")
		set logscale x $([ "$prefix" = n ] && echo 10 || echo 2)
		$([ "$prefix" != n ] || echo 'set logscale y 10
		set format "10^{%L}"')
		$([ "$prefix" = n ] || echo 'set yrange [0:*]
		set format y "%.0f"')
		set key outside right
		set grid
		plot $(IFS=,; echo "${curves[*]}")
	END
}

# plot_bars NAME TITLE YLABEL
plot_bars()
{
	gnuplot <<-END
		set encoding utf8
		set terminal svg size 800,400 dynamic background "white" font "sans-serif,13"
		set output "$plots/$1.svg"
		set title "$2" noenhanced
		set ylabel "$3"
		set style fill solid 0.8
		set boxwidth 0.6
		set yrange [0:*]
		set offsets 0, 0, graph 0.06, 0
		set format y "%.0f"
		set grid y
		set xtics font ",11"
		unset key
		plot '$plots/${1#peers-}' using 0:2:xtic(1) with boxes lc rgb "#4472a8", \
			'' using 0:2:(sprintf(\$2 < 1000 ? "%.4g" : "%.0f", \$2)) with labels offset 0,0.7
	END
}

plot_lines peers-rank "Median time of a rank, 1 client" members "µs" n \
	board "${systems[@]}" view counts btree
plot_lines peers-clients "Ranks of $(number "$size") members" clients \
	"per second" c board key "${systems[@]}"
plot_bars peers-memory "Memory per member, $(number "$size") members" bytes
plot_bars peers-build "Time to build again, $(number "$size") members" seconds
plot_bars peers-update \
	"Updates of a score, 2 clients, synchronous_commit = off, no file in the stores" \
	"per second"

#
# The table.
#

table()
{
	cat <<-END
		\`$command\`, $(machine); $(number "$size") members with random
		scores from 0 to 1,000,000, ranked by \`score DESC, updated_at ASC\`; ${name_of[redis]}${missing[redis]:+ (left out: ${missing[redis]})},
		${name_of[valkey]}${missing[valkey]:+ (left out: ${missing[valkey]})}, both with their defaults, without a file unless a row names
		one. Medians of $rounds runs of $seconds s in turns. Updates have four times as many
		shorter runs, in which PostgreSQL's tables take turns of 0.1 s in the same
		connections. Ratios have their least and greatest value, too.

		| measure | leaderboard | against it | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
	printf '\n'
	for v in rank clients memory build update; do
		printf '![](peers-%s.svg)\n' "$v"
	done
}

echo
table
echo
echo "$(($(date +%s) - began)) s in all"

[ -n "$out" ] || exit 0
table >table.md
put_table "$out" "make bench-peers" "$WORK/table.md"
cp "$plots"/*.svg "$(dirname "$out")/"
