#!/bin/bash
#
# queue.sh
#	How many submits a second go through examples/queue, beside the broker alone.
#
#	SIZE=1000000	members of the board
#	SUBMITS=200000	in each run
#	ROUNDS=5		runs of each kind, of which the median counts
#	OUT=file		the Markdown file that the table goes to, by default
#					docs/performance.md of the tree
#
# Redis and PostgreSQL write to disk before they answer.  The broker alone has the same
# entries from the same producer, read and acknowledged by the same consumer, which does
# not submit them.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

size=${SIZE:-1000000}
submits=${SUBMITS:-200000}
rounds=${ROUNDS:-5}
out=$(realpath -m "${OUT:-$TREE/docs/performance.md}")
command="make bench-queue${SIZE:+ SIZE=$SIZE}${SUBMITS:+ SUBMITS=$SUBMITS}${ROUNDS:+ ROUNDS=$ROUNDS}"

has_marks "$out" "make bench-queue"
"$TREE/test/lib/prepare.sh" bench
"$TREE/test/lib/prepare.sh" redis
lb_begin bench-queue
bench_server "$size"

say "a board of $size members and its windows, and Redis"
sql -o /dev/null -c 'DROP EXTENSION leaderboard' -c 'CREATE SCHEMA leaderboard' \
	-c 'CREATE EXTENSION leaderboard SCHEMA leaderboard' \
	-c "ALTER DATABASE postgres SET search_path = public, leaderboard"
sql -o /dev/null <<-SQL
	SET client_min_messages = warning;
	SELECT lb_create_tables();
	SELECT lb_open_window('daily'), lb_open_window('weekly');
	INSERT INTO player_scores SELECT i, $random_row FROM generate_series(1, $size) i;
	SELECT lb_wait_ready(NULL);
	\i tree/examples/queue/queue.sql
SQL
sql -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
as_server mkdir redis
# The server and the tool that checks files are one program.
as_server ln -s "$(command -v redis-server || command -v redis-check-rdb)" redis/redis-server
as_server redis/redis-server --port 0 --unixsocket "$WORK/redis/socket" --dir "$WORK/redis" \
	--pidfile "$WORK/redis/pid" --save '' --appendonly yes --appendfsync always --daemonize yes >/dev/null
trap 'kill "$(cat "$WORK/redis/pid")"; lb_end' EXIT

# rate WAY CONSUMERS BATCH
rate()
{
	as_server timeout 600 env PGHOST="$PGHOST" PGUSER=queue_consumer "$WORK/tree/test/bench/consume.py" \
		"$WORK/tree/examples/queue" "unix://$WORK/redis/socket" "$@" "$submits" "$size"
}

say "$submits submits in each run"
turns "broker rate broker 1 1000" "one rate through 1 1000" "two rate through 2 1000" \
	"broker100 rate broker 1 100" "one100 rate through 1 100"
ratio_row "one consumer, batches of 1,000" one broker /s ""
ratio_row "two consumers, batches of 1,000" two broker /s ""
ratio_row "one consumer, batches of 100" one100 broker100 /s ""

[ "$(sql -Atc 'SELECT count(*) FROM lb_applied')" = $((submits * rounds * 3)) ] ||
	die "submits are missing"
verify

{
	cat <<-END
		\`$command\`, $(machine); Redis $(redis-cli --version | sed 's/^redis-cli //'), \`appendfsync always\`;
		$(number "$size") members, $(number "$submits") submits in each run, each for three boards.
		Medians of $rounds runs in turns; ratios have their least and greatest value, too.

		| measure | submits | the broker alone | ratio | | |
		|---|---:|---:|---:|---|---|
	END
	printf '%s\n' "${rows[@]}"
} >table
put_table "$out" "make bench-queue" table
