#!/bin/bash
#
# beside.sh
#	What boards on a small server beside the main one give and cost: ranks by foreign
#	tables, how far behind they are while the main server is written to, and how long
#	examples/beside takes until there are ranks.
#
#	SIZE=10000000	members of the board
#	ROUNDS=5		runs of each kind, of which the median counts
#	OUT=file		the Markdown file that the table goes to, by default
#					docs/performance.md of the tree
#
# Both servers run on this machine.  The main one does not load the library.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

size=${SIZE:-10000000}
rounds=${ROUNDS:-5}
seconds=6
# How long two clients update while the lag is measured.
loaded=30
out=$(realpath -m "${OUT:-$TREE/docs/performance.md}")
command="make bench-beside${SIZE:+ SIZE=$SIZE}${ROUNDS:+ ROUNDS=$ROUNDS}"

has_marks "$out" "make bench-beside"
"$TREE/test/lib/prepare.sh" bench
lb_begin bench-beside
bench_install
bench_buffers 2
{
	bench_settings
	echo "leaderboard.memory = '$((size * 250 / 1000000 + 256))MB'"
} | server_init "$WORK/small"
{
	bench_settings
	echo "shared_preload_libraries = ''"
	echo "wal_level = logical"
} | server_init "$WORK/main"
server_start "$WORK/small"
server_start "$WORK/main"
bench_client

on_small()
{
	PGHOST=$WORK/small "$@"
}

say "$size rows on the main server"
bench_table bench
bench_rows bench "$size"
sql -c 'ALTER TABLE bench ADD PRIMARY KEY (player_id)' -c 'VACUUM ANALYZE bench'

cat >beside.conf <<-END
	main = host=$WORK/main dbname=postgres user=postgres
	small = host=$WORK/small dbname=postgres user=postgres
	[bench]
	table = bench
	rank_by = score DESC, updated_at
	method = rank
	view = ranked
END

beside()
{
	bash "$TREE/examples/beside/beside.sh" "$@" beside.conf >beside.out 2>&1 ||
		{ cat beside.out >&2; die "beside.sh has failed"; }
}

since()
{
	awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { print b - a }'
}

# The copy by PostgreSQL alone, in seconds.
copy_alone()
{
	local began

	beside --undo
	on_small sql -c 'CREATE TABLE bench (player_id bigint PRIMARY KEY, score bigint, updated_at timestamptz)'
	sql -c 'CREATE PUBLICATION alone FOR TABLE bench'
	began=$(date +%s.%N)
	on_small sql -c "CREATE SUBSCRIPTION alone CONNECTION 'host=$WORK/main user=postgres dbname=postgres' PUBLICATION alone" 2>/dev/null
	until [ "$(on_small sql -Atc "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel")" = t ]; do
		sleep 0.1
	done
	since "$began"
	on_small sql -c 'DROP SUBSCRIPTION alone' -c 'DROP TABLE bench' 2>/dev/null
	sql -c 'DROP PUBLICATION alone'
}

# From the command to ranks.
to_ranks()
{
	local began

	began=$(date +%s.%N)
	beside
	since "$began"
}

say "from the command to ranks"
# shellcheck disable=SC2034 # times_row reads them
alone=() ranks=()
for ((i = 0; i < (rounds < 3 ? rounds : 3); i++)); do
	alone[i]=$(copy_alone)
	ranks[i]=$(to_ranks)
	say "the copy alone ${alone[i]} s, ranks after ${ranks[i]} s"
done

# A view over the function costs less to plan than one that ranks, and answers less.  No
# rank costs less than the row alone.
on_small sql -c 'CREATE VIEW beside.one AS SELECT 1 AS one' \
	-c "CREATE VIEW beside.plain AS SELECT player_id, score FROM bench" \
	-c "CREATE VIEW beside.quick AS SELECT player_id, leaderboard.lb_rank(player_id, 'bench') AS rank FROM bench" \
	-c 'GRANT SELECT ON bench TO beside_reader'
beside

# shellcheck disable=SC2034 # in_turns reads it
declare -A text=(
	[rank]='SELECT rank FROM ranked WHERE player_id = {m}'
	[quick]='SELECT rank FROM quick WHERE player_id = {m}'
	[plain]='SELECT score FROM plain WHERE player_id = {m}'
	[one]='SELECT one FROM one'
	[direct]='SELECT rank FROM beside.ranked WHERE player_id = {m}'
)
# Statements without a member are asked with one all the same.
direct()
{
	on_small in_turns direct
}

say "ranks"
turns "rank,one,quick,plain in_turns rank one quick plain" "direct direct"

cat >write.sql <<-END
	\set id random(1, $size)
	UPDATE bench SET score = score + 1 WHERE player_id = :id;
END

# The lag: a row is updated and committed, and asked for by the foreign table until it is
# the new one.  Milliseconds, one a line.
cat >lag.sql <<-SQL
	\set VERBOSITY terse
	DO \$\$
	DECLARE
		ending timestamptz := clock_timestamp() + interval '$loaded s';
		began timestamptz;
		seen timestamptz;
		place bigint;
	BEGIN
		WHILE clock_timestamp() < ending LOOP
			began := clock_timestamp();
			UPDATE bench SET updated_at = began WHERE player_id = 1;
			COMMIT;
			LOOP
				SELECT updated_at, rank INTO seen, place FROM ranked WHERE player_id = 1;
				COMMIT;
				EXIT WHEN seen = began;
			END LOOP;
			RAISE NOTICE 'lag %', extract(epoch FROM clock_timestamp() - began) * 1000;
			PERFORM pg_sleep(0.01);
			COMMIT;
		END LOOP;
	END \$\$;
SQL

say "lag while two clients update"
# What that has changed is not to be waited for.
log_pages bench
lsn=$(sql -Atc 'SELECT pg_current_wal_lsn()')
on_small sql -o /dev/null -c "SELECT leaderboard.lb_wait_for('$lsn', '10 min')"
on_small sql -o /dev/null -c 'SELECT lb_stat_reset()' 2>/dev/null ||
	on_small sql -o /dev/null -c 'SELECT leaderboard.lb_stat_reset()'
"$BIN/pgbench" -n -M prepared -c 2 -j 2 -T $((loaded + 2)) -f write.sql >updates.out 2>&1 &
sleep 1
sql -f lag.sql >lag.out 2>&1 || { cat lag.out >&2; die "the lag was not measured"; }
sed -n 's/.*lag \([0-9.]*\)$/\1/p' lag.out | sort -g >lags
wait $!
updates=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' updates.out)
[ -s lags ] || die "no lag was measured"
percentile()
{
	awk -v p="$1" '{ v[NR] = $1 } END { i = int(NR * p / 100 + 0.5); print v[i < 1 ? 1 : i] }' lags
}
lag=$(percentile 50) worst=$(percentile 99)
kept=$(on_small sql -Atc "SELECT CASE WHEN state = 'ready' AND planned_queries = 0 THEN 'yes' ELSE 'no' END
	FROM leaderboard.lb_stat_board WHERE board = 'bench'")
problems=$(on_small sql -Atc 'SELECT count(*) FROM leaderboard.lb_verify()')
[ "$problems" = 0 ] || die "lb_verify() finds $problems problems"

# Of rates the ratio is the other way round than of times.
compare_row '>=' "a rank by the foreign table, prepared, against \`SELECT 1\` by one: 1 / 1.5" rank one "/s" 0.6667
compare_row '>=' "the same by a view over \`lb_rank\`" quick one "/s" 0.6667
compare_row '>=' "a row by its primary key, without a rank, by a foreign table" plain one "/s" ''
compare_row '>=' "a rank by the foreign table against the rank asked of the small server directly" rank direct "/s" ''
row "lag while two clients update: median" "$(number "$lag") ms" "" "" "≤ 100 ms" "$(verdict "$lag" '<=' 100)"
row "the same: 99th percentile of $(wc -l <lags)" "$(number "$worst") ms" "" "" "≤ 1000 ms" "$(verdict "$worst" '<=' 1000)"
row "updates of the two clients meanwhile; the board answered every read" "$(number "$updates") /s" "" "" "" "$kept"
times_row "from the command to ranks, against the copy alone" ranks alone "s" 3

{
	cat <<-END
		\`$command\`, $(machine);
		$(number "$size") members, both servers on this machine. Medians of $rounds runs in
		turns of $seconds s. Ratios have their least and greatest value, too.

		| measure | by the foreign table | beside it | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
} >table
put_table "$out" "make bench-beside" table
