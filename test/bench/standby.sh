#!/bin/bash
#
# standby.sh
#	What boards on a standby cost and give: ranks there beside the row by its
#	primary key; updates and WAL of a primary that feeds; replay; promotion.
#
#	SIZE=10000000	members of the board
#	ROUNDS=5		runs of each kind, of which the median counts
#	OUT=file		the Markdown file that the table goes to, by default
#					docs/performance.md of the tree
#
# The primary and two standbys run on this machine.  One standby has the library,
# the other has not.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

size=${SIZE:-10000000}
rounds=${ROUNDS:-5}
seconds=6
# Updates that are recorded for a replay.
recorded=1000000
out=$(realpath -m "${OUT:-$TREE/docs/performance.md}")
command="make bench-standby${SIZE:+ SIZE=$SIZE}${ROUNDS:+ ROUNDS=$ROUNDS}"

has_marks "$out" "make bench-standby"
"$TREE/test/lib/prepare.sh" bench
lb_begin bench-standby
bench_install
bench_buffers 3
{
	bench_settings
	cat <<-END
		leaderboard.memory = '$((size * 250 / 1000000 + 512))MB'
		max_connections = 50
		hot_standby_feedback = on
		wal_keep_size = '8GB'
	END
} | server_init "$WORK/primary"
server_start "$WORK/primary"
sql -c 'CREATE EXTENSION leaderboard'
bench_client

say "a board of $size members"
bench_table bench
bench_rows bench "$size"
sql -o /dev/null <<-SQL
	ALTER TABLE bench ADD PRIMARY KEY (player_id);
	SELECT lb_create_board('bench', 'bench', rank_by => 'score DESC, updated_at');
	SELECT lb_wait_ready(NULL);
	VACUUM ANALYZE bench;
SQL
log_pages bench

# on SERVER COMMAND ...: that server's libpq environment.
on()
{
	local server=$1

	shift
	PGHOST=$WORK/$server "$@"
}

make_standby()
{
	as_server mkdir "$1"
	as_server "$BIN/pg_basebackup" -h "$WORK/primary" -U postgres -c fast -R -D "$1/data"
	echo "unix_socket_directories = '$WORK/$1'
		$2" | as_server tee -a "$1/data/postgresql.conf" >/dev/null
	as_server "$BIN/pg_ctl" -D "$1/data" -l "$1.log" -w -t 300 start >/dev/null
}

say "two standbys"
make_standby standby ''
make_standby plain "shared_preload_libraries = ''"
standby_ready()
{
	[ "$(on "$1" sql -Atc "SELECT lb_wait_ready('10 min')")" = t ] ||
		die "the boards of the standby are not ready"
}
standby_ready standby
on standby sql -o /dev/null -c "SELECT sum(score) FROM bench"

# feed off|on: and wait until the primary does so.
feed()
{
	local state=feeding

	[ "$1" = on ] || state=off
	sql -c "ALTER SYSTEM SET leaderboard.feed_standbys = '$1'" \
		-o /dev/null -c 'SELECT pg_reload_conf()'
	until [ "$(sql -Atc 'SELECT state FROM lb_stat_feed')" = $state ]; do
		sleep 0.1
	done
}

cat >write.sql <<-END
	\set id random(1, $size)
	UPDATE bench SET score = score + 1 WHERE player_id = :id;
END

# updates FEED: with the standby paused, updates per second.
updates()
{
	feed "$1"
	"$BIN/pgbench" -n -M prepared -c 4 -j 2 -T "$seconds" -f write.sql 2>/dev/null |
		sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}

# wal FEED: bytes of WAL of an update.  Each of these rows has been changed
# before, so their pages have been logged.
wal()
{
	local before n=2000

	feed "$1"
	echo "\set id random(1, 100)
		UPDATE bench SET score = score + 1 WHERE player_id = :id;" >few.sql
	"$BIN/pgbench" -n -M prepared -c 1 -t 1000 -f few.sql >/dev/null 2>&1
	before=$(sql -Atc 'SELECT pg_current_wal_insert_lsn()')
	"$BIN/pgbench" -n -M prepared -c 1 -t $n -f few.sql >/dev/null 2>&1
	sql -Atc "SELECT ((pg_current_wal_insert_lsn() - '$before') / $n)::int"
}

# replayed SERVER: seconds of the replay of what it has received since it was
# paused.
replayed()
{
	on "$1" sql -Atq <<-SQL
		SELECT pg_last_wal_receive_lsn() AS target, clock_timestamp() AS began \gset
		SELECT pg_wal_replay_resume() \g /dev/null
		DO \$\$ BEGIN
			WHILE pg_last_wal_replay_lsn() < pg_last_wal_receive_lsn() LOOP
				PERFORM pg_sleep(0.005);
			END LOOP;
		END\$\$;
		SELECT extract(epoch FROM clock_timestamp() - :'began');
	SQL
}

pause()
{
	local server

	for server in standby plain; do
		on $server sql -o /dev/null -c 'SELECT pg_wal_replay_pause()'
		until [ "$(on $server sql -Atc 'SELECT pg_get_wal_replay_pause_state()')" = paused ]; do
			sleep 0.1
		done
	done
}

# Both have received all.
received()
{
	local lsn server

	lsn=$(sql -Atc 'SELECT pg_current_wal_flush_lsn()')
	for server in standby plain; do
		until [ "$(on $server sql -Atc "SELECT pg_last_wal_receive_lsn() >= '$lsn'")" = t ]; do
			sleep 0.1
		done
	done
}

# replays ROUND: records updates, and has both standbys replay them in turns.
replays()
{
	local order='standby plain' server

	[ $(($1 % 2)) = 0 ] || order='plain standby'
	pause
	PGOPTIONS='-c synchronous_commit=off' "$BIN/pgbench" -n -M prepared -c 4 -j 2 \
		-t $((recorded / 4)) -f write.sql >/dev/null 2>&1
	received
	for server in $order; do
		declare -g "speed_${server}[$1]=$(quotient "$recorded" "$(replayed "$server")")"
	done
}

# shellcheck disable=SC2034 # in_turns reads it
declare -A text=(
	[rank]="SELECT lb_rank({m}, 'bench')"
	[row]='SELECT score FROM bench WHERE player_id = {m}'
)

reads()
{
	on standby in_turns rank row
}

# The same while the primary updates as fast as one client can.
loaded_reads()
{
	"$BIN/pgbench" -n -M prepared -c 1 -T $((seconds * 3)) -f write.sql >/dev/null 2>&1 &
	reads
	kill $! 2>/dev/null || true
	wait $! 2>/dev/null || true
}

say "ranks on the standby"
turns "rank,row reads" "loadedrank,loadedrow loaded_reads"
say "replay of $recorded updates"
# shellcheck disable=SC2034 # ratio_row reads them
speed_standby=() speed_plain=()
for ((i = 0; i < rounds; i++)); do
	replays $i
done
say "updates and WAL of the primary"
pause
turns "fed updates on" "unfed updates off"
fedwal=$(wal on)
unfedwal=$(wal off)
feed on
on standby sql -o /dev/null -c 'SELECT pg_wal_replay_resume()'
on plain sql -o /dev/null -c 'SELECT pg_wal_replay_resume()'

# promote SERVER: milliseconds from the promotion to a rank by the index.
promote()
{
	local began ready

	began=$(date +%s%N)
	on "$1" sql -o /dev/null -c 'SELECT pg_promote()' \
		-c "SELECT lb_rank(1, 'bench')"
	echo $((($(date +%s%N) - began) / 1000000))
	ready=$(on "$1" sql -Atc "SELECT state = 'ready' AND query_reads = 0 FROM lb_stat_board WHERE board = 'bench'")
	[ "$ready" = t ] || die "the rank did not come from the index"
}

say "promotion"
as_server "$BIN/pg_ctl" -D plain/data -w stop >/dev/null
sed -i '/^[[:space:]]*shared_preload_libraries = .*$/d' plain/data/postgresql.conf
echo "shared_preload_libraries = 'leaderboard'" | as_server tee -a plain/data/postgresql.conf >/dev/null
as_server "$BIN/pg_ctl" -D plain/data -l plain.log -w -t 300 start >/dev/null
sleep 2
sql -c CHECKPOINT
standby_ready plain
standby_ready standby
on standby sql -o /dev/null -c 'SELECT lb_stat_reset()' || true
server_stop "$WORK/primary" immediate
crashed=$(promote standby)
server_start "$WORK/primary"
standby_ready plain
server_stop "$WORK/primary" fast
switched=$(promote plain)
export PGHOST=$WORK/plain
verify

ratio_row "\`lb_rank\` on a standby, against the row by its primary key there" rank row "/s" 1.1
ratio_row "the same while one client updates the primary" loadedrank loadedrow "/s" 0.9
ratio_row "updates of a primary that feeds a paused standby, against one that does not" fed unfed "/s" 0.95
row "WAL of an update, fed and not" "$fedwal B" "$unfedwal B" \
	"$(awk -v a="$fedwal" -v b="$unfedwal" 'BEGIN { printf "+%.0f B", a - b }')" "≤ +110 B" \
	"$(verdict "$(awk -v a="$fedwal" -v b="$unfedwal" 'BEGIN { print a - b }')" '<=' 110)"
ratio_row "replay of $(number $recorded) updates, with the board and without the library (1 / s)" \
	speed_standby speed_plain "/s" 0.85
row "from the promotion to a rank by the index, after a crash" "$crashed ms" "" "" "≤ 1000 ms" \
	"$(verdict "$crashed" '<=' 1000)"
row "the same after a switchover" "$switched ms" "" "" "≤ 1000 ms" "$(verdict "$switched" '<=' 1000)"

{
	cat <<-END
		\`$command\`, $(machine);
		$(number "$size") members, the primary and two standbys on this machine. Medians of $rounds runs in
		turns of $seconds s. Ratios have their least and greatest value, too.

		| measure | with boards | without | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
} >table
put_table "$out" "make bench-standby" table
