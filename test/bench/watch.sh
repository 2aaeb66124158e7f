#!/bin/bash
#
# watch.sh
#	What a round of the worker that notifies costs: SIZE players, of whom
#	WATCHED are watched on "global"; nothing has changed, or CHANGED of them
#	have other ranks.
#
# The rounds are lb_notify(), which is what the worker does, in a session of
# their own while the worker is off for an hour.  The medians of ROUNDS rounds
# are printed as rows of docs/performance.md.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"

size=${SIZE:-1000000}
watched=${WATCHED:-5000}
changed=${CHANGED:-649}
rounds=${ROUNDS:-21}

lb_begin watch
private_postgres "$WORK/pg"
as_server mkdir build
as_server make -s -C build -f "$TREE/Makefile" -j"$(nproc)" \
	PG_CONFIG="$BIN/pg_config" with_llvm=no install
server_init "$WORK/server" <<-END
	shared_buffers = 512MB
	leaderboard.notify_interval = '1h'
	leaderboard.maintenance_interval = 0
END
server_start "$WORK/server"
sql -o /dev/null <<-END
	CREATE EXTENSION leaderboard;
	CREATE TABLE players (player_id bigint PRIMARY KEY, score bigint NOT NULL)
		WITH (fillfactor = 90);
	INSERT INTO players SELECT i, 1000 * i FROM generate_series(1, $size) i;
	SELECT lb_create_board('global', 'players');
	SELECT lb_wait_ready('10 min');
	SELECT count(lb_watch_member(i::bigint * $size / $watched))
		FROM generate_series(1, $watched) i;
	VACUUM (FREEZE, ANALYZE);
	SELECT lb_notify();
END

# median: of numbers, one a line.
median()
{
	sort -n | awk '{ v[NR] = $1 } END { printf "%.1f\n", v[int((NR + 1) / 2)] }'
}

# timed SQL: what each of the rounds takes, in ms, after that SQL.  Each round
# is to notify as many as $2.
timed()
{
	local i

	for ((i = 0; i < rounds; i++)); do
		printf '%s\n' "$1"
		printf '%s\n' '\timing on' 'SELECT lb_notify() AS sent \gset' '\timing off'
		printf '%s\n' "SELECT 1 / (:sent = $2)::int;"
	done | sql -At >timed.out 2>timed.err ||
		{ cat timed.err >&2; die "rounds have failed"; }
	sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' timed.out | median
}

idle=$(timed 'SELECT 1;' 0)

# Each of them passes the one before it, and at the next round is passed again.
step=$((size / watched))
busy=$(timed "UPDATE players SET score = score + CASE WHEN score % 1000 = 0 THEN 1001 ELSE -1001 END
	WHERE player_id IN (SELECT i::bigint * $step FROM generate_series(1, $changed) i);" "$changed")
problems=$(sql -Atc 'SELECT count(*) FROM lb_verify()')
[ "$problems" = 0 ] || die "lb_verify() finds $problems problems"
echo "| a round over $watched watched members of a board of $size, nothing has changed | $idle ms | ≤ 50 ms |"
echo "| the same, the ranks of $changed of them have changed | $busy ms | ≤ 300 ms |"
