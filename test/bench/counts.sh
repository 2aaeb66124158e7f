#!/bin/bash
#
# counts.sh
#	What boards that keep counts cost and give: memory, builds, ranks, updates.
#
#	SIZE=10000000	rows
#	BIG=0			rows of a table without a key, for memory and build: 500000000
#					takes 18 GB of disk and a quarter of an hour
#	ROUNDS=5		runs of each kind, of which the median counts
#	OUT=file		the Markdown file that the table goes to, by default
#					docs/performance.md of the tree
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

size=${SIZE:-10000000}
big=${BIG:-0}
rounds=${ROUNDS:-5}
seconds=6
out=$(realpath -m "${OUT:-$TREE/docs/performance.md}")
command="make bench-counts${SIZE:+ SIZE=$SIZE}${BIG:+ BIG=$BIG}${ROUNDS:+ ROUNDS=$ROUNDS}"

has_marks "$out" "make bench-counts"
"$TREE/test/lib/prepare.sh" bench
lb_begin bench-counts
bench_server "$size"
bench_client

# big_rows TABLE N: rows without a key, whose scores are random, from two sessions.
big_rows()
{
	local half

	sql -c "CREATE UNLOGGED TABLE $1 (score integer NOT NULL) PARTITION BY RANGE (score)" \
		-c "CREATE UNLOGGED TABLE $1_low PARTITION OF $1 FOR VALUES FROM (0) TO (500001)" \
		-c "CREATE UNLOGGED TABLE $1_high PARTITION OF $1 FOR VALUES FROM (500001) TO (1000001)"
	for half in "low floor(random() * 500001)" "high 500001 + floor(random() * 500000)"; do
		sql -c "INSERT INTO $1_${half%% *} SELECT ${half#* } FROM generate_series(1, $2 / 2)" &
	done
	wait
	sql -c "VACUUM ANALYZE $1"
}

# is_grouping TABLE BOARD: whether the board counts of each score what GROUP BY
# counts.  The planner must not answer GROUP BY by the board, and the function must.
is_grouping()
{
	[ "$(PGOPTIONS='-c leaderboard.enable_planner=off' sql -Atc "SELECT
		count(*) = (SELECT distinct_scores FROM lb_stat_board WHERE board = '$2')
		AND sum(n) = (SELECT members FROM lb_stat_board WHERE board = '$2')
		AND bool_and(n = lb_count_between(score, score, '$2'))
		FROM (SELECT score, count(*) AS n FROM $1 GROUP BY score) AS g")" = t ]
}

bytes_per_score()
{
	sql -Atc "SELECT bytes::float8 / distinct_scores FROM lb_stat_board WHERE board = '$1'"
}

# count_seconds TABLE: of count(*) by parallel workers, without a board.
count_seconds()
{
	quotient "$(PGOPTIONS='-c leaderboard.enable_planner=off' median_ms "SELECT count(*) FROM $1")" 1000
}

if [ "$big" -gt 0 ]; then
	say "$big rows without a key"
	big_rows large "$big"
	sql -o /dev/null -c "SELECT lb_create_board('large', 'large', keeps => 'counts')" \
		-c "SELECT lb_wait_ready(NULL)"
	large_bytes=$(sql -Atc "SELECT bytes FROM lb_stat_board WHERE board = 'large'")
	large_count=$(count_seconds large)
	large_build=$(rebuild large)
	say "comparing with GROUP BY"
	is_grouping large large || die "the board does not count what GROUP BY counts"
fi

say "$size rows without a key"
big_rows keyless "$size"
sql -o /dev/null -c "SELECT lb_create_board('keyless', 'keyless', keeps => 'counts')" -c "SELECT lb_wait_ready(NULL)"
some_count=$(count_seconds keyless)
builds=()
for ((i = 0; i < rounds; i++)); do
	builds[i]=$(rebuild keyless)
done
some_build=$(median "${builds[@]}")
built_bytes=$(bytes_per_score keyless)
sql -c 'DROP TABLE keyless'

say "tables of $size and of 10,000 members"
for t in bench plain empty other; do
	bench_table $t
	bench_rows $t "$size"
	sql -c "ALTER TABLE $t ADD PRIMARY KEY (player_id)" -c "VACUUM ANALYZE $t"
done
bench_table few
bench_rows few 10000
empty_trigger empty
sql -o /dev/null <<-SQL
	ALTER TABLE few ADD PRIMARY KEY (player_id);
	VACUUM ANALYZE few;
	SELECT lb_create_board('bench', 'bench', 'player_id', keeps => 'counts'),
		lb_create_board('other', 'other'), lb_create_board('few', 'few', 'player_id', keeps => 'counts');
	SELECT lb_wait_ready(NULL);
SQL
log_pages bench plain empty other
prewarm bench plain empty other bench_pkey plain_pkey empty_pkey other_pkey

# shellcheck disable=SC2034 # in_turns reads it
declare -A text=(
	[rank]="SELECT lb_rank({m}, 'bench')"
	[row]='SELECT score FROM bench WHERE player_id = {m}'
	[rankofmany]="SELECT lb_rank_of_score({m} % 1000000, 'bench')"
	[rankoffew]="SELECT lb_rank_of_score({m} % 1000000, 'few')"
	[rankofall]="SELECT lb_rank_of_score({m} % 1000000, 'large')"
	[page]="SELECT * FROM lb_top(20, 'bench', {m} - 1)"
	[memberspage]="SELECT * FROM lb_top(20, 'other', {m} - 1)"
	[plain]='SELECT player_id, score FROM bench ORDER BY score DESC, player_id LIMIT 20 OFFSET {m} - 1'
	[percentile]="SELECT lb_score_at_percentile(90, 'bench')"
)

# Two clients: two programs at once, the sums of what they measure.
two_clients()
{
	in_turns rank row >first &
	in_turns rank row >second
	wait
	paste first second | awk '{ print $1 + $(NF / 2 + 1) }'
}

# updates TABLE: per second, by four clients.
updates()
{
	echo "\set id random(1, $size)
		UPDATE $1 SET score = floor(random() * 1000001) WHERE player_id = :id;" >write.sql
	PGOPTIONS='-c synchronous_commit=off' "$BIN/pgbench" -n -M prepared -c 4 -j 2 \
		-T "$seconds" -f write.sql 2>/dev/null | sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}

# crowd EXPRESSION: updates by 32 clients, each of rows of its own, whose score
# becomes the expression.
crowd()
{
	echo "\set id :client_id * 1000 + random(1, 1000)
		UPDATE bench SET score = $1, updated_at = now() WHERE player_id = :id;" >crowd.sql
	PGOPTIONS='-c synchronous_commit=off' "$BIN/pgbench" -n -M prepared -c 32 -j 2 \
		-T "$seconds" -f crowd.sql 2>/dev/null | sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}

say "ranks"
turns "rank,row in_turns rank row" "rank2,row2 two_clients" \
	"rankofmany,rankoffew in_turns rankofmany rankoffew" "percentile in_turns percentile"
if [ "$big" -gt 0 ]; then
	turns "rankofall,rankofsome in_turns rankofall rankoffew"
	sql -c 'DROP TABLE large'
fi
say "updates"
more_turns "counted updates bench" "untracked updates plain" "emptied updates empty" \
	"kept updates other"
say "32 clients"
sql -c 'UPDATE bench SET score = 1500 WHERE player_id <= 33000'
more_turns "hot crowd 1500+(random()<0.5)::int" "spread crowd floor(random()*1000001)"
say "memory after random updates"
random_updates bench
sql -c 'VACUUM bench'
churned_bytes=$(bytes_per_score bench)
say "pages"
sql -c 'CREATE INDEX bench_page ON bench (score DESC, player_id)' -c 'VACUUM ANALYZE bench'
prewarm bench bench_page
turns "page,memberspage,plain in_turns page memberspage plain"
middle_ms=$(PGOPTIONS='-c leaderboard.enable_planner=off' median_ms "SELECT player_id, score FROM bench
	ORDER BY score DESC, player_id LIMIT 20 OFFSET $((size / 2))")
verify

# value_row MEASURE VALUE UNIT BAR
value_row()
{
	row "$1" "$(number "$2")$3" "" "" "≤ $4$3" "$(verdict "$2" '<=' "$4")"
}

value_row "memory a distinct score, built" "$built_bytes" " B" 20
value_row "the same after $(number "$size") random updates" "$churned_bytes" " B" 28
value_row "build of $(number "$size") rows without a key" "$some_build" " s" 1.6
row "… against \`count(*)\` by parallel workers" "$(number "$some_build") s" "$(number "$some_count") s" \
	"$(number "$(quotient "$some_build" "$some_count")") ×" "" ""
if [ "$big" -gt 0 ]; then
	value_row "memory of $(number "$big") rows with 1,000,001 scores, equal to \`GROUP BY\`" \
		"$(quotient "$large_bytes" 1000000)" " MB" 22
	ratio=$(quotient "$large_build" "$large_count")
	row "build of these, against \`count(*)\` by parallel workers" "$(number "$large_build") s" \
		"$(number "$large_count") s" "$(number "$ratio") ×" "≤ 1.50 ×" "$(verdict "$ratio" '<=' 1.5)"
fi
ratio_row "\`lb_rank\` of a member, against the row by its primary key" rank row "/s" 0.85
ratio_row "the same by two clients" rank2 row2 "/s" 0.85
ratio_row "\`lb_rank_of_score\` among $(number "$size") rows, against 10,000" rankofmany rankoffew "/s" 0.9
if [ "$big" -gt 0 ]; then
	ratio_row "\`lb_rank_of_score\` among $(number "$big") rows, against 10,000" rankofall rankofsome "/s" 0.9
fi
ratio_row "\`lb_top\`: 20 rows at a random place, with a B-tree, against a board of members" page memberspage "/s"
ratio_row "\`ORDER BY … OFFSET\`: the same rows, against that" plain memberspage "/s"
row "20 rows in the middle by the B-tree alone" "" "$(number "$(quotient 1000 "$middle_ms")") /s" "" "" ""
row "\`lb_score_at_percentile\`" "$(number "$(median_series percentile)") /s" "" "" "" ""
ratio_row "updates, against a trigger that does nothing" counted emptied "/s" 0.96
ratio_row "updates, against a board of members" counted kept "/s" 1
ratio_row "updates, against a table without a board" counted untracked "/s"
ratio_row "32 clients that update rows of one score, against spread scores" hot spread "/s" 0.95

{
	cat <<-END
		\`$command\`, $(machine), synchronous_commit off;
		$(number "$size") rows with 1,000,001 scores. Medians of $rounds runs in turns of $seconds s. Ratios have
		their least and greatest value, too.

		| measure | counts | other | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
} >table
put_table "$out" "make bench-counts" table
