#!/bin/bash
#
# sql.sh
#	What plain SQL costs that the planner answers by a board, beside what everybody
#	knows the cost of; and what queries cost that have nothing to do with a board.
#
#	SIZE		rows of the large tables, 10000000
#	RUN_SECONDS	length of a run, 1; may be a fraction (make bench-sql SECONDS=...)
#	ROUNDS		runs of each side, 10
#	OUT			Markdown file with marker comments between which the table goes;
#				docs/performance.md where SIZE is the default, else none
#	AWAKE		"no" lets processors sleep between the answers to a single client
#
# A second server has the same settings and does not load the library.  On it are
# the tables that no board has, and the ten of the query that is only planned.
#
# shellcheck disable=SC2016 # backquotes are Markdown's
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$TREE/test/bench/common.sh"

size=${SIZE:-10000000}
seconds=${RUN_SECONDS:-1}
rounds=${ROUNDS:-10}
out=${OUT:-}
if ! [[ $size =~ ^[1-9][0-9]*$ ]] || [ "$size" -lt 10000 ]; then
	die "SIZE must be a number, at least 10000: \"$size\""
fi
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS must be a number: \"$rounds\""
if ! [[ $seconds =~ ^[0-9]*\.?[0-9]+$ ]]; then
	die "SECONDS must be a number: \"$seconds\""
fi
if [ -z "$out" ] && [ "$size" = 10000000 ]; then
	out=$TREE/docs/performance.md
fi
[ -z "$out" ] || out=$(realpath -m -- "$out")
[ -z "$out" ] || has_marks "$out" "make bench-sql"

command="make bench-sql"
[ "$size" = 10000000 ] || command="$command SIZE=$size"
[ "$seconds" = 1 ] || command="$command SECONDS=$seconds"
[ "$rounds" = 10 ] || command="$command ROUNDS=$rounds"

"$TREE/test/lib/prepare.sh" bench
lb_begin bench-sql

#
# The servers, and the tables of both.
#

bench_server "$size"
bench_client
{
	bench_settings
	echo "shared_preload_libraries = ''"
} | server_init "$WORK/without"
server_start "$WORK/without"
export PGHOST=$WORK/server

# on SERVER COMMAND ...: server, or without.
on()
{
	local -x PGHOST=$WORK/$1

	shift
	"$@"
}

# Transactions of each of two clients in a run of pgbench, which takes some tenths of
# a second.
selects=10000
tpcbs=1600

# Ten tables, of which the first one gets a board.  The query joins it with a chain
# of the others.
tens=10000
ten="SELECT p.name, t9.label FROM ten p JOIN ten1 t1 ON t1.id = p.next"
for i in {2..9}; do
	ten="$ten JOIN ten$i t$i ON t$i.id = t$((i - 1)).next"
done
ten="$ten WHERE p.team = 7 AND p.score > 1000 ORDER BY t9.label LIMIT 20"

ten_tables()
{
	local i

	sql -c "CREATE TABLE ten (player_id bigint PRIMARY KEY, score bigint NOT NULL,
			name text NOT NULL, team int NOT NULL, next bigint NOT NULL)" \
		-c "INSERT INTO ten SELECT i, i * 7919 % 10007, 'player ' || i, i % 100,
			i * 31 % $tens + 1 FROM generate_series(1, $tens) i" \
		-c 'CREATE INDEX ON ten (team)'
	for i in {1..9}; do
		sql -c "CREATE TABLE ten$i (id bigint PRIMARY KEY, label text NOT NULL,
				next bigint NOT NULL)" \
			-c "INSERT INTO ten$i SELECT i, 'label ' || i * 17 % 1009,
				i * 37 % $tens + 1 FROM generate_series(1, $tens) i"
	done
}

say "small tables on both servers"
for s in server without; do
	on $s "$BIN/pgbench" -i -q -s 10 >pgbench.log 2>&1 ||
		{ cat pgbench.log >&2; die "pgbench -i has failed"; }
	on $s ten_tables
	on $s sql -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
done

#
# The board, its rivals, and the view.
#

per_player=50
groups=10000
say "$size rows into each of two tables"
for t in player rival; do
	sql -c "CREATE TABLE $t (player_id bigint NOT NULL, score bigint NOT NULL,
		updated_at timestamptz NOT NULL, name text NOT NULL)"
done
sql -c "INSERT INTO player SELECT i, $random_row, 'player ' || i
		FROM generate_series(1, $size) i" \
	-c 'INSERT INTO rival SELECT * FROM player' \
	-c "CREATE TABLE friend (player_id bigint, friend_id bigint,
		PRIMARY KEY (player_id, friend_id))" \
	-c "INSERT INTO friend SELECT i / $per_player, 1 + floor(random() * $size)
		FROM generate_series(0, $((groups * per_player - 1))) i
		ON CONFLICT DO NOTHING" \
	-c 'ALTER TABLE player ADD PRIMARY KEY (player_id)' \
	-c 'CREATE INDEX rival_score ON rival (score DESC, updated_at)' \
	-c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
prewarm player player_pkey rival rival_score friend friend_pkey

say "boards"
sql -o /dev/null <<-'END'
	SELECT lb_create_board('player', 'player',
		rank_by => 'score DESC, updated_at ASC');
	SELECT lb_create_board('ten', 'ten');
	SELECT lb_wait_ready(NULL);
	CREATE VIEW ranked AS
		SELECT p.*, rank() OVER (ORDER BY score DESC) FROM player p;

	-- The default tables.  Their rows are ranked, but queries do not say so.
	SELECT lb_create_tables();
	ALTER TABLE player_scores DISABLE TRIGGER leaderboard_capture;
	INSERT INTO player_scores (player_id, score, updated_at)
	SELECT player_id, score, updated_at FROM player;
	ALTER TABLE player_scores ENABLE ALWAYS TRIGGER leaderboard_capture;
	SELECT lb_wait_ready(NULL);
	CREATE VIEW ranked_scores AS
		SELECT s.*, rank() OVER (ORDER BY score DESC) FROM player_scores s;
	VACUUM (FREEZE, ANALYZE) player_scores;
END
prewarm player_scores player_scores_pkey

# What in_turns() takes: {m} is a random player, {s} a random score.
declare -A text=(
	[count]='SELECT count(*) FROM player WHERE score > {s}'
	[key]='SELECT score, name FROM player WHERE player_id = {m}'
	[rank]='SELECT rank, score, name FROM ranked WHERE player_id = {m}'
	[default_count]='SELECT count(*) + 1 FROM player_scores WHERE score > {s}'
	[default_key]='SELECT score, updated_at FROM player_scores WHERE player_id = {m}'
	[default_rank]='SELECT rank, score, updated_at FROM ranked_scores WHERE player_id = {m}'
	[deep]="SELECT * FROM player ORDER BY score DESC, updated_at
		LIMIT 20 OFFSET $((size * 9 / 10))"
	[anywhere]="SELECT * FROM player ORDER BY score DESC, updated_at
		LIMIT 20 OFFSET {m}"
	[first]='SELECT * FROM rival ORDER BY score DESC, updated_at LIMIT 20'
	[joined]="SELECT r.rank, r.score, r.name FROM friend f
		JOIN ranked r ON r.player_id = f.friend_id
		WHERE f.player_id = {m} % $groups"
	[unranked]="SELECT p.score, p.name FROM friend f
		JOIN player p ON p.player_id = f.friend_id
		WHERE f.player_id = {m} % $groups")

# Every side is what it is taken for.
for s in "${!text[@]}"; do
	v=$(sql -Atc "EXPLAIN ${text[$s]//\{?\}/7}")
	case $s in
		count | rank | default_count | default_rank | deep | anywhere | joined) [[ $v = *'Custom Scan (Leaderboard'* ]] ;;
		*) [[ $v != *Leaderboard* ]] ;;
	esac || die "the plan of \"$s\" is not as expected: $v"
done

#
# Statements that a board answers.
#

say "counts and ranks"
turns "count,rank,key in_turns count rank key"
ratio_row '`count(*)` above a score, against a row by primary key' \
	count key /s 0.8
ratio_row 'rank, score and name of a view by primary key, against score and name of the table' \
	rank key /s 0.6

say "default tables"
turns "default_count,default_rank,default_key in_turns default_count default_rank default_key"
ratio_row '`count(*) + 1` of the default table, without `ranked`, against a row by primary key' \
	default_count default_key /s 0.8
ratio_row 'rank and score of a view of the default table, without `ranked`, likewise' \
	default_rank default_key /s 0.6

say "pages"
turns "deep,anywhere,first in_turns deep anywhere first"
ratio_row "page of 20 at \`OFFSET $((size * 9 / 10))\`, against the first page by B-tree" \
	deep first /s 0.9
ratio_row 'page of 20 at a random `OFFSET`, likewise' anywhere first /s ""

say "joins"
turns "joined,unranked in_turns joined unranked"
ratio_row "$per_player friends joined to the view with their ranks, against the table alone" \
	joined unranked /s 0.4

v=$(sql -Atc 'SELECT sum(planned_queries) FROM lb_stat_board')
[ "$v" = 0 ] || die "$v times the index did not answer"

#
# Statements that have nothing to do with a board.
#

# The C library returns freed memory to the system or keeps it, and which of them
# depends on what the process has allocated before.  A plan that finds no memory
# takes a quarter longer.  So both servers keep it.
export MALLOC_TRIM_THRESHOLD_=33554432 MALLOC_MMAP_THRESHOLD_=33554432
for s in without server; do
	server_stop "$WORK/$s"
	server_start "$WORK/$s"
done
sql -o /dev/null -c 'SELECT lb_wait_ready(NULL)'

# pgbench_on SERVER option ...: transactions per second of 2 clients.
pgbench_on()
{
	local server=$1

	shift
	on "$server" "$BIN/pgbench" -n -c 2 -j 2 "$@" >pgbench.log 2>&1 ||
		{ cat pgbench.log >&2; die "pgbench has failed"; }
	sed -n 's/^tps = \([0-9.]*\).*/\1/p' pgbench.log
}

say "pgbench"
export PGOPTIONS='-c synchronous_commit=off'
v=$rounds
rounds=$((v * 10))
turns "select pgbench_on server -S -t $selects" \
	"select_without pgbench_on without -S -t $selects"
turns "tpcb pgbench_on server -t $tpcbs" \
	"tpcb_without pgbench_on without -t $tpcbs"
rounds=$v
unset PGOPTIONS
ratio_row '`pgbench -S`, 2 clients, against a server without the library' \
	select select_without /s 0.99
ratio_row '`pgbench` (TPC-B), 2 clients, likewise' tpcb tpcb_without /s 0.99

# Microseconds that one backend plans the query in, with and without boards: the
# medians of so many times each.
plans=200
planned_on()
{
	on "$1" sql -At -F $'\n' <<-SQL
		CREATE TEMP TABLE took (boards bool, ms float8);
		DO \$\$
		DECLARE
			plan json;
		BEGIN
			FOR i IN 1 .. 2 * $plans LOOP
				PERFORM set_config('leaderboard.enable_planner', (i % 2)::text, false);
				EXECUTE \$_\$EXPLAIN (SUMMARY, FORMAT JSON) $ten\$_\$ INTO plan;
				INSERT INTO took VALUES (i % 2 = 1, (plan->0->>'Planning Time')::float8);
			END LOOP;
		END\$\$;
		SELECT 1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE boards),
			1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE NOT boards)
		FROM took;
	SQL
}

say "planning"
more_turns "plan,plan_off planned_on server" "plan_without,same planned_on without"
times_row 'planning ten joined tables, the first of which has a board, against `leaderboard.enable_planner = off`' \
	plan plan_off µs 1.03
times_row 'the same against a server without the library' \
	plan plan_without µs 1.03

#
# The table.
#

table()
{
	cat <<-END
		\`$command\`, $(machine); $(number "$size") rows with random
		scores from 0 to 1,000,000, ranked by \`score DESC, updated_at ASC\`. Medians of $rounds runs
		of $seconds s with their least and greatest ratio, prepared statements of 1 client in turns of 0.1 s in the
		same connection. \`pgbench\` has $((rounds * 10)) runs of $(number $((2 * selects))) (TPC-B: $(number $((2 * tpcbs)))) transactions on each
		server in turns, \`synchronous_commit = off\`. $((rounds * 4)) runs plan the query of ten tables, $plans times each.

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
put_table "$out" "make bench-sql" "$WORK/table.md"
