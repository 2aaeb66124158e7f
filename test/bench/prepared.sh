#!/bin/bash
#
# prepared.sh
#	What commits and reads of a board cost while other transactions, which have
#	changed many of its rows, stay open: prepared, or running.
#
#	SIZE=1000000	members of the board
#	ROUNDS=5		runs of each kind, of which the median counts
#	OUT=file		the Markdown file that the table goes to, by default
#					docs/performance.md of the tree
#
# Four connections update rows of random members, and four ask for ranks.  The
# same is measured of a table without a board, since PostgreSQL's own snapshots
# have all open transactions, too.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

size=${SIZE:-1000000}
rounds=${ROUNDS:-5}
seconds=5
# The open transactions, and the rows that each of them has changed.
open=94
rows_each=4091
out=$(realpath -m "${OUT:-$TREE/docs/performance.md}")
command="make bench-prepared${SIZE:+ SIZE=$SIZE}${ROUNDS:+ ROUNDS=$ROUNDS}"

has_marks "$out" "make bench-prepared"
[ "$size" -ge $((2 * open * rows_each)) ] ||
	die "SIZE must be $((2 * open * rows_each)) at least"
"$TREE/test/lib/prepare.sh" bench
lb_begin bench-prepared
bench_install
bench_buffers 1
{
	bench_settings
	cat <<-END
		leaderboard.memory = '$((size * 250 / 1000000 + 512))MB'
		max_connections = 150
		max_prepared_transactions = 100
		synchronous_commit = off
	END
} | server_init "$WORK/server"
server_start "$WORK/server"
sql -c 'CREATE EXTENSION leaderboard'

say "a board of $size members, and a table without a board"
for table in bench_board bench_plain; do
	bench_table $table
	bench_rows $table "$size"
	sql -c "ALTER TABLE $table ADD PRIMARY KEY (player_id)"
done
sql -o /dev/null <<-SQL
	SELECT lb_create_board('bench', 'bench_board', rank_by => 'score DESC');
	SELECT lb_wait_ready(NULL);
	VACUUM ANALYZE bench_board, bench_plain;
SQL
log_pages bench_board bench_plain

# open_one N: the statements that begin an open transaction.
open_one()
{
	echo "BEGIN;
		UPDATE $table SET score = score + 1
		WHERE player_id > $(($1 * rows_each)) AND player_id <= $((($1 + 1) * rows_each));"
}

begin_prepared()
{
	local i

	for ((i = 0; i < open; i++)); do
		open_one $i
		echo "PREPARE TRANSACTION 'open$i';"
	done | sql
}

end_prepared()
{
	sql -Atc "SELECT format('ROLLBACK PREPARED %L;', gid) FROM pg_prepared_xacts" | sql
}

# Each has a session of its own, which waits for more statements until the last
# writer of the pipe is gone.
begin_running()
{
	local i

	[ -p pipe ] || mkfifo pipe
	exec 9<>pipe
	for ((i = 0; i < open; i++)); do
		{ open_one $i; cat pipe; } 9>&- | sql >/dev/null 9>&- &
	done
	until [ "$(sql -Atc "SELECT count(*) FROM pg_stat_activity
			WHERE state = 'idle in transaction' AND query LIKE '%UPDATE%'")" = $open ]; do
		sleep 0.1
	done
}

end_running()
{
	exec 9>&-
	until [ "$(sql -Atc "SELECT count(*) FROM pg_stat_activity
			WHERE state = 'idle in transaction'")" = 0 ]; do
		sleep 0.1
	done
}

begin_nothing() { :; }
end_nothing() { :; }

# traffic OPEN TABLE READ: with what is open, updates per second, reads per
# second, and the 99th percentile of reads in ms.
traffic()
{
	local table=$2

	"begin_$1"
	cat >write.sql <<-END
		\set id random($((open * rows_each + 1)), $size)
		UPDATE $table SET score = score + 1 WHERE player_id = :id;
	END
	cat >read.sql <<-END
		\set id random(1, $size)
		SELECT $3 FROM $table WHERE player_id = :id;
	END
	rm -f times.*
	"$BIN/pgbench" -n -M prepared -c 4 -j 1 -T "$seconds" -f write.sql >write.out &
	"$BIN/pgbench" -n -M prepared -c 4 -j 1 -T "$seconds" -f read.sql \
		-l --log-prefix=times >read.out
	wait $!
	"end_$1"
	sql -c "VACUUM $table"
	sed -n 's/^tps = \([0-9.]*\).*/\1/p' write.out read.out
	sort -n -k 3,3 times.* | awk '{ t[NR] = $3 } END { print t[int(NR * 0.99)] / 1000 }'
}

say "commits and ranks beside open transactions"
turns "free,freereads,freetail traffic nothing bench_board lb_rank(player_id,'bench')" \
	"prepared,preparedreads,preparedtail traffic prepared bench_board lb_rank(player_id,'bench')" \
	"running,runningreads,runningtail traffic running bench_board lb_rank(player_id,'bench')" \
	"plain,plainreads,plaintail traffic nothing bench_plain score" \
	"plainprepared,plainpreparedreads,plainpreparedtail traffic prepared bench_plain score"

of="$open transactions with $(number $rows_each) rows each"
ratio_row "updates beside $of, prepared" prepared free "/s" 0.9
ratio_row "ranks, likewise" preparedreads freereads "/s" 0.9
times_row "99th percentile of a rank, likewise" preparedtail freetail ms ""
ratio_row "updates beside $of, running" running free "/s" 0.9
ratio_row "ranks, likewise" runningreads freereads "/s" 0.9
times_row "99th percentile of a rank, likewise" runningtail freetail ms ""
ratio_row "without a board: updates beside $of, prepared" plainprepared plain "/s" ""
ratio_row "without a board: rows read, likewise" plainpreparedreads plainreads "/s" ""
verify

{
	cat <<-END
		\`$command\`, $(machine), synchronous_commit off;
		$(number "$size") members. Four connections update, four read. Medians of $rounds runs in
		turns of $seconds s. Ratios have their least and greatest value, too.

		| measure | with open transactions | without | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
} >table
put_table "$out" "make bench-prepared" table
