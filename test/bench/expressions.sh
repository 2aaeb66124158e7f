#!/bin/bash
#
# expressions.sh
#	What boards on expressions cost, beside boards on stored generated columns.
#
#	SIZE=10000000	rows
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
rounds=${ROUNDS:-5}
seconds=6
out=$(realpath -m "${OUT:-$TREE/docs/performance.md}")
command="make bench-expressions${SIZE:+ SIZE=$SIZE}${ROUNDS:+ ROUNDS=$ROUNDS}"

has_marks "$out" "make bench-expressions"
"$TREE/test/lib/prepare.sh" bench
lb_begin bench-expressions
bench_server "$((2 * size))"
bench_client

# games TABLE [COLUMN]: the rows, with a stored column of the quotient.
games()
{
	sql -c "CREATE TABLE $1 (id bigint NOT NULL, points integer NOT NULL, games integer NOT NULL${2:+, $2}) WITH (fillfactor = 90)" \
		-c "INSERT INTO $1 (id, points, games) SELECT i, floor(random() * 100000000), 1 + floor(random() * 100) FROM generate_series(1, $size) AS i" \
		-c "ALTER TABLE $1 ADD PRIMARY KEY (id)" -c "VACUUM ANALYZE $1"
}

say "two tables of $size rows"
games computed
games stored "per_game integer GENERATED ALWAYS AS (points / games) STORED"
sql -o /dev/null <<-SQL
	SELECT lb_create_board('computed', 'computed', 'id', rank_by => '(points / games) DESC'),
		lb_create_board('stored', 'stored', 'id', rank_by => 'per_game DESC');
	SELECT lb_wait_ready(NULL);
SQL

# As log_pages, of these columns: no update is to write the first image of a page.
for t in computed stored; do
	sql -c "UPDATE $t SET points = points WHERE (ctid::text::point)[1]::int % 50 = 1"
done
prewarm computed stored computed_pkey stored_pkey

# shellcheck disable=SC2034 # in_turns reads it
declare -A text=(
	[count]='SELECT count(*) FROM computed WHERE points / games > {m}'
	[storedcount]='SELECT count(*) FROM stored WHERE per_game > {m}'
	[row]='SELECT points FROM computed WHERE id = {m}'
	[rank]="SELECT lb_rank({m}, 'computed')"
	[storedrank]="SELECT lb_rank({m}, 'stored')"
)

# updates TABLE: per second, by four clients.
updates()
{
	echo "\set id random(1, $size)
		UPDATE $1 SET points = floor(random() * 100000000) WHERE id = :id;" >write.sql
	PGOPTIONS='-c synchronous_commit=off' "$BIN/pgbench" -n -M prepared -c 4 -j 2 \
		-T "$seconds" -f write.sql 2>/dev/null | sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}

say "reads"
turns "count,storedcount,row in_turns count storedcount row" "rank,storedrank in_turns rank storedrank"
say "updates"
more_turns "computedupdates updates computed" "storedupdates updates stored"
say "builds"
turns "computedbuild rebuild computed" "storedbuild rebuild stored"
verify

ratio_row "\`UPDATE\`, against a board on a stored column" computedupdates storedupdates "/s" 0.95
build=$(median_series computedbuild)
stored_build=$(median_series storedbuild)
ratio=$(quotient "$stored_build" "$build")
row "build, against that" "$(number "$build") s" "$(number "$stored_build") s" "$(number "$ratio") ×" "≥ 0.80 ×" \
	"$(verdict "$ratio" '>=' 0.8)"
ratio_row "\`count(*) WHERE points / games > x\`, against a row by its primary key" count row "/s" 0.8
ratio_row "the same, against a stored column" count storedcount "/s"
ratio_row "\`lb_rank\`, against a board on a stored column" rank storedrank "/s"

{
	cat <<-END
		\`$command\`, $(machine), synchronous_commit off;
		$(number "$size") rows. Medians of $rounds runs in turns of $seconds s. Ratios have their least and greatest
		value, too.

		| measure | on \`(points / games)\` | other | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
} >table
put_table "$out" "make bench-expressions" table
