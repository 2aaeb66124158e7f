#!/bin/bash
#
# boards.sh
#	Thousands of boards on one table: how long it takes to make and to drop them,
#	and what memory the session takes for it; and one row of statistics of a
#	family that has many boards.
#
#	BOARDS		on one table, 8000
#	SIZE		boards of the family, 30000
#	OUT			Markdown file with marker comments between which the table goes;
#				docs/performance.md where both are the default, else none
#
# Memory is the growth of the backend's data segment at its highest (VmPeak, which
# counts no shared memory that comes in later), so what a statement has taken and
# given back counts.  Without JIT, whose library is mapped when a plan is costly.
# Locks are as PostgreSQL has them by default.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$TREE/test/bench/common.sh"

boards=${BOARDS:-8000}
size=${SIZE:-30000}
rounds=1
[[ $boards =~ ^[1-9][0-9]*$ ]] || die "BOARDS must be a number: \"$boards\""
[[ $size =~ ^[1-9][0-9]*$ ]] || die "SIZE must be a number: \"$size\""
out=${OUT:-}
command="make bench-boards"
if [ "$boards" = 8000 ] && [ "$size" = 30000 ]; then
	out=${out:-$TREE/docs/performance.md}
fi
[ "$boards" = 8000 ] || command="$command BOARDS=$boards"
[ "$size" = 30000 ] || command="$command SIZE=$size"
[ -z "$out" ] || out=$(realpath -m -- "$out")
[ -z "$out" ] || has_marks "$out" "make bench-boards"

"$TREE/test/lib/prepare.sh" bench
lb_begin boards
bench_server 1000000
say "$boards boards on one table"

# step STATEMENT: runs it in a session of its own, which has looked at the boards
# before; prints the milliseconds, and the megabytes that the session grew by.
step()
{
	sql -At <<-SQL | awk -F '[ |]' '
		/^peak/ { peak[++n] = $2 }
		/^Time:/ { ms = $2 }
		END { printf "%.3f %.1f\n", ms, (peak[2] - peak[1]) / 1024 }'
		SET jit = off;
		SELECT count(*) FROM lb_board;
		SELECT 'peak', substring(pg_read_file('/proc/' || pg_backend_pid() ||
			'/status') FROM 'VmPeak:\s*(\d+)');
		\o /dev/null
		\timing on
		$1;
		\timing off
		\o
		SELECT 'peak', substring(pg_read_file('/proc/' || pg_backend_pid() ||
			'/status') FROM 'VmPeak:\s*(\d+)');
	SQL
}

# measure NAME BAR-SECONDS BAR-MEGABYTES STATEMENT
measure()
{
	local ms mb ok

	read -r ms mb < <(step "$4")
	ok=$(verdict "$ms" '<=' "${2:-0}000")
	[ "$ok" != ok ] || ok=$(verdict "$mb" '<=' "${3:-1000000}")
	row "$1" "$(awk -v ms="$ms" 'BEGIN { printf "%.2f s", ms / 1000 }'), $(number "$mb") MB" \
		"" "" "${2:+≤ $2 s}${3:+, ≤ $3 MB}" "${2:+$ok}"
}

settle()
{
	sql -Atc "SELECT lb_wait_ready('10 min')" | grep -qx t || die "boards are not ready"
}

table()
{
	sql <<-'END'
		CREATE TABLE many (player_id bigint PRIMARY KEY, score bigint NOT NULL);
		INSERT INTO many SELECT i, i FROM generate_series(1, 10) i;
	END
}

all="SELECT count(lb_create_board('b' || i, 'many')) FROM generate_series(1, $boards) i"

table
measure "$boards boards made in one transaction" 10 100 "$all"
settle
measure "an \`UPDATE\` of a row of the table, first in a session" "" "" \
	"UPDATE many SET score = score + 1 WHERE player_id = 1"
measure "all of them dropped by \`lb_drop_board\`, in one transaction" "" "" \
	"SELECT count(lb_drop_board('b' || i)) FROM generate_series(1, $boards) i"
measure "made by as many transactions" 10 100 \
	"DO \$\$ BEGIN FOR i IN 1 .. $boards LOOP PERFORM lb_create_board('b' || i, 'many'); COMMIT; END LOOP; END \$\$"
settle
measure "dropped by as many transactions" "" "" \
	"DO \$\$ BEGIN FOR i IN 1 .. $boards LOOP PERFORM lb_drop_board('b' || i); COMMIT; END LOOP; END \$\$"
sql -o /dev/null -c "$all"
settle
measure "\`DROP TABLE\`" 5 100 "DROP TABLE many"
table
sql -o /dev/null -c "$all"
settle
sql -c 'CREATE SCHEMA games' -c 'ALTER TABLE many SET SCHEMA games'
settle
measure "\`DROP SCHEMA ... CASCADE\`" 5 100 "DROP SCHEMA games CASCADE"
table
sql -o /dev/null -c "$all"
settle
measure "\`DROP EXTENSION ... CASCADE\`" 5 100 "DROP EXTENSION leaderboard CASCADE"
sql -c 'DROP TABLE many' -c 'CREATE EXTENSION leaderboard' -c 'CREATE DATABASE other'
sql -d other -o /dev/null -c 'CREATE EXTENSION leaderboard' \
	-c 'CREATE TABLE many (player_id bigint PRIMARY KEY, score bigint NOT NULL)' \
	-c "$all" -c "SELECT lb_wait_ready('10 min')"
measure "\`DROP DATABASE\`" 5 100 "DROP DATABASE other WITH (FORCE)"

say "a family of $size boards"
sql -o /dev/null <<-END
	CREATE TABLE family (player_id bigint, game text, score bigint NOT NULL,
		PRIMARY KEY (player_id, game));
	INSERT INTO family SELECT i, 'game' || i % $size, i FROM generate_series(1, 10 * $size) i;
	SELECT lb_create_board('family', 'family', board_column => 'game');
END
settle
one=$(repeated_ms 31 "SELECT * FROM lb_stat('family')")
row "row of statistics of a family of $size boards, median" "$(number "$one") ms" "" "" \
	"≤ 2 ms" "$(verdict "$one" '<=' 2)"
each=$(repeated_ms 5 "SELECT count(*) FROM lb_stat_board")
row "the rows of all of its boards" "$(number "$each") ms" "" "" "" ""
verify

{
	echo "\`$command\`, $(machine)."
	echo
	echo "| measure | leaderboard | bar | |"
	echo "|---|---:|---:|---|"
	for r in "${rows[@]}"; do
		awk -F ' *[|] *' '{ print "| " $2 " | " $3 " | " $6 " | " $7 " |" }' <<<"$r"
	done
} >table.md
if [ -n "$out" ]; then
	put_table "$out" "make bench-boards" table.md
else
	cat table.md
fi
