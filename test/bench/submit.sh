# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # series and settings are bench.sh's
#
# submit.sh
#	The part of bench.sh that measures lb_submit and what becomes of windows;
#	sourced there, when its own tables are no longer needed.
#
# The rival is the same writes as hand-written SQL on tables of the same
# columns without boards and triggers.  The players are those of the day, one
# in ten; half of all have played this week.
#

say "tables of players and windows"
sql -o /dev/null <<-END
	SET client_min_messages = warning;
	SELECT lb_drop_board(board) FROM lb_board;
	DROP TABLE bench_board, bench_plain, bench_btree, bench_stamp, bench_small;
	SELECT lb_create_tables();
	SELECT lb_open_window('daily', keep => '1000 years'),
		lb_open_window('weekly', keep => '1000 years');
	CREATE TABLE plain_scores (LIKE player_scores INCLUDING ALL)
		WITH (fillfactor = 90);
	CREATE TABLE plain_windows (LIKE player_score_windows INCLUDING ALL)
		WITH (fillfactor = 90);
	SELECT lb_drop_board('global'), lb_drop_board('*');
	INSERT INTO player_scores
		SELECT i, floor(random() * 1000001), now() - random() * interval '90 days'
		FROM generate_series(1, $size) i;
	INSERT INTO player_score_windows
		SELECT i, 'weekly:202615', floor(random() * 10001), now()
		FROM generate_series(1, $size, 2) i;
	INSERT INTO player_score_windows
		SELECT i, 'daily:20260409', floor(random() * 1001), now()
		FROM generate_series(1, $size, 10) i;
	INSERT INTO plain_scores SELECT * FROM player_scores;
	INSERT INTO plain_windows SELECT * FROM player_score_windows;
	SELECT lb_create_tables();
	SELECT lb_wait_ready(NULL);
END
sql -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
prewarm player_scores player_scores_pkey player_score_windows \
	player_score_windows_pkey plain_scores plain_scores_pkey plain_windows \
	plain_windows_pkey
log_pages player_scores player_score_windows plain_scores plain_windows

# upsert TABLE KEYS ROWS: an increment by $3, of players and amounts.
upsert()
{
	echo "INSERT INTO $1 AS t (player_id, ${2:+window_key, }score) $3
		ON CONFLICT (player_id${2:+, window_key}) DO UPDATE
		SET score = t.score + excluded.score, updated_at = now() RETURNING score"
}

players='\set id 1 + 10 * random(0, (:size - 1) / 10)
\set d random(1, 100)'
script one <<<'SELECT 1;'
script submit <<<"$players
SELECT * FROM lb_submit(:id, :d, at => '2026-04-09');"
script hand <<<"$players
WITH g AS ($(upsert plain_scores '' 'VALUES (:id, :d)')),
d AS ($(upsert plain_windows key "VALUES (:id, 'daily:20260409', :d)")),
w AS ($(upsert plain_windows key "VALUES (:id, 'weekly:202615', :d)"))
SELECT g.score, d.score, w.score FROM g, d, w;"
batch='SELECT 1 + 10 * floor(random() * ((:size - 1) / 10 + 1))::bigint AS p,
	1 + floor(random() * 100)::bigint AS a FROM generate_series(1, 1000)'
script many <<<"SELECT lb_submit_many(array_agg(p), array_agg(a), at => '2026-04-09')
FROM ($batch) b;"
script manyhand <<<"WITH b AS MATERIALIZED (SELECT p, sum(a)::bigint AS a
	FROM ($batch) b GROUP BY p ORDER BY p),
g AS ($(upsert plain_scores '' 'SELECT p, a FROM b')),
d AS ($(upsert plain_windows key "SELECT p, 'daily:20260409', a FROM b")),
w AS ($(upsert plain_windows key "SELECT p, 'weekly:202615', a FROM b"))
SELECT (SELECT count(*) FROM g), (SELECT count(*) FROM d), (SELECT count(*) FROM w);"

events()
{
	sql -o /dev/null -c "ALTER SYSTEM SET leaderboard.events = $1" \
		-c 'SELECT pg_reload_conf()'
}

say "lb_submit, 2 clients"
events off
turns "submit pgb 2 submit" "hand pgb 2 hand"
ratio_row "\`lb_submit\`, three boards, against three upserts in one statement" \
	submit hand /s 0.8
export PGOPTIONS='-c synchronous_commit=off'
turns "submit pgb 2 submit" "hand pgb 2 hand"
ratio_row "the same, \`synchronous_commit = off\`" submit hand /s ""
unset PGOPTIONS
events on
turns "submit pgb 2 submit" "hand pgb 2 hand"
ratio_row "the same with \`lb_event\`, which the upserts do not write" submit hand /s ""

say "lb_submit_many in batches of 1,000, 2 clients"
events off
turns "many pgb 2 many" "manyhand pgb 2 manyhand"
thousands()
{
	local -n series=$1
	local i

	for i in "${!series[@]}"; do
		series[i]=$(awk -v v="${series[i]}" 'BEGIN { print v * 3000 }')
	done
}
thousands many
thousands manyhand
ratio_row "\`lb_submit_many\`, batches of 1,000, score changes, against three upserts of batches" \
	many manyhand /s 0.6
v=$(median "${many[@]}")
row "the same in score changes per second" "$(number "$v") /s" "" "" \
	"≥ 60,000/s" "$(verdict "$v" '>=' 60000)"
events on

# The key that submits write to changes in the middle of a run.  What is
# before the turn and after it is told by the times in pgbench's log.  Beside
# it somebody commits a change of one row, which waits for the disk as they do.
turn=$((size < 1000000 ? seconds * 3 : 60))
say "the turn of a day, $turn s before it and after it"
at=$(($(date +%s) + turn))
script turn <<<"$players
SELECT * FROM lb_submit(:id, :d, at => CASE WHEN clock_timestamp() <
	to_timestamp($at) THEN timestamptz '2026-04-09' ELSE '2026-04-10' END);"
script commit <<<'UPDATE bench_commit SET n = n + 1;'
sql -c 'CREATE TABLE bench_commit AS SELECT 1 AS n'
# turned NAME CLIENTS option ...: runs NAME.sql, and leaves its latencies in
# NAME-before.us and NAME-after.us.
turned()
{
	local name=$1 clients=$2

	shift 2
	rm -f "$WORK/$name".log.*
	"$BIN/pgbench" -n -M prepared -c "$clients" -j "$clients" -T $((2 * turn)) \
		-D size="$size" -l --log-prefix="$WORK/$name.log" "$@" \
		-f "$WORK/$name.sql" >"$name.out" 2>&1 ||
		{ cat "$name.out" >&2; die "pgbench has failed: $name"; }
	cat "$WORK/$name".log.* | awk -v at=$at '$5 < at { print $3 }' |
		sort -n >"$name-before.us"
	cat "$WORK/$name".log.* | awk -v at=$at '$5 >= at { print $3 }' |
		sort -n >"$name-after.us"
	rm -f "$WORK/$name".log.*
}
turned commit 1 -R 100 &
turned turn 2
wait $!
turn_row()
{
	local v w r

	v=$(percentile "$2-after" 99)
	w=$(percentile "$2-before" 99)
	r=$(quotient "$v" "$w")
	row "$1" "$(number "$v") ms" "$(number "$w") ms" "$(number "$r") ×" \
		"${3:+≤ $3 ×}" "${3:+$(verdict "$r" '<=' "$3")}"
}
turn_row "p99 of \`lb_submit\` in the $turn s after the turn of a day, against before" \
	turn 1.5
turn_row "the same of an \`UPDATE\` of a row of its own, beside it" commit ""

closing=$((size / 10))
say "closing a window of $closing rows"
sql -o /dev/null <<-END
	SELECT lb_open_window('tourney:bench', starts => '2026-01-01',
		ends => '2026-02-01', keep => '1000 years');
	INSERT INTO player_score_windows (player_id, window_key, score)
		SELECT i, 'tourney:bench', floor(random() * 1000001)
		FROM generate_series(1, $closing) i;
	ALTER SYSTEM SET leaderboard.maintenance_interval = '1s';
	SELECT pg_reload_conf();
	CHECKPOINT;
END
closing_seconds=$((size < 1000000 ? 10 : 90))
latencies probe one $closing_seconds &
latencies submits submit $closing_seconds &
sleep 1
began_closing=$(date +%s%N)
sql -c "UPDATE lb_window SET keep = '1 day' WHERE name = 'tourney:bench'"
while [ "$(sql -Atc "SELECT count(*) FROM lb_closed WHERE removed_at IS NOT NULL")" = 0 ]; do
	sleep 0.2
	kill -0 $! || die "the window was not removed in $closing_seconds seconds"
done
took=$((($(date +%s%N) - began_closing) / 1000000))
wait
v=$(nth_longest submits 1)
row "longest \`lb_submit\` while a window of $(number $closing) rows is closed and removed, in $(number "$(awk -v v=$took 'BEGIN { print v / 1000 }')") s" \
	"$(number "$v") ms" "SELECT 1: $(number "$(nth_longest probe 1)") ms" "" \
	"≤ 100 ms" "$(verdict "$v" '<=' 100)"
problems=$(sql -Atc 'SELECT count(*) FROM lb_verify()')
[ "$problems" = 0 ] || die "lb_verify() finds $problems problems"
