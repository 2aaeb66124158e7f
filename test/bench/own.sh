#!/bin/bash
#
# own.sh
#	What reads cost in transactions that have changed many rows themselves.
#
#	SIZE=1000000	members of the board
#	ROUNDS=5		runs of each kind, of which the median counts
#	OUT=file		the Markdown file that the table goes to, by default
#					docs/performance.md of the tree
#
# A transaction updates rows of random members, one by one, and after each update
# asks for the member's rank, or does not; one statement submits scores one by
# one.  All are rolled back.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

size=${SIZE:-1000000}
rounds=${ROUNDS:-5}
out=$(realpath -m "${OUT:-$TREE/docs/performance.md}")
command="make bench-own${SIZE:+ SIZE=$SIZE}${ROUNDS:+ ROUNDS=$ROUNDS}"

has_marks "$out" "make bench-own"
"$TREE/test/lib/prepare.sh" bench
lb_begin bench-own
bench_server "$size"

say "a board of $size members, and the default tables"
bench_table bench_board
bench_rows bench_board "$size"
sql -o /dev/null <<-SQL
	SET client_min_messages = warning;
	ALTER TABLE bench_board ADD PRIMARY KEY (player_id);
	SELECT lb_create_board('bench', 'bench_board', rank_by => 'score DESC, updated_at ASC');
	SELECT lb_create_board('dense', 'bench_board', method => 'dense_rank');
	SELECT lb_create_tables();
	SELECT lb_open_window('daily'), lb_open_window('weekly');
	INSERT INTO player_scores SELECT i, i % 1000 FROM generate_series(1, 100000) i;
	SELECT lb_wait_ready(NULL);

	CREATE FUNCTION changes(n int, board text) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
		id bigint;
	BEGIN
		FOR i IN 1 .. n LOOP
			id := 1 + i::bigint * 245489 % $size;
			UPDATE bench_board SET score = score + 1 + i % 100 WHERE player_id = id;
			IF board IS NOT NULL THEN
				PERFORM lb_rank(id, board);
			END IF;
		END LOOP;
	END\$\$;
	CREATE FUNCTION submits(n int) RETURNS bigint LANGUAGE sql AS \$\$
		SELECT count(*) FROM (SELECT lb_submit(i, 5) FROM generate_series(1, n) i) s\$\$;
SQL

# rolled_back EXPRESSION: seconds that it takes, in a transaction of its own.
rolled_back()
{
	sql -At <<-END
		VACUUM bench_board, player_scores, player_score_windows;
		BEGIN;
		SELECT clock_timestamp() AS began \gset
		SELECT $1 \g /dev/null
		SELECT extract(epoch FROM clock_timestamp() - :'began'::timestamptz);
		ROLLBACK;
	END
}

say "updates and ranks"
turns "few rolled_back changes(5000,NULL)" "many rolled_back changes(40000,NULL)" \
	"fewranks rolled_back changes(5000,'bench')" \
	"manyranks rolled_back changes(40000,'bench')" \
	"fewdense rolled_back changes(5000,'dense')" \
	"manydense rolled_back changes(40000,'dense')" \
	"fewsubmits rolled_back submits(4000)" "manysubmits rolled_back submits(32000)"

times_row "40,000 × (\`UPDATE\` of a row, \`lb_rank\` of its member), against the updates alone" \
	manyranks many s 2
times_row "the same against 5,000 of them" manyranks fewranks s 9
times_row "the updates alone, likewise" many few s ""
times_row "40,000 × with \`dense_rank\`, against the updates alone" manydense many s ""
times_row "the same against 5,000 of them" manydense fewdense s ""
times_row "32,000 × \`lb_submit\` in one statement, three boards, against 4,000" \
	manysubmits fewsubmits s 9

[ "$(sql -Atc 'SELECT sum(query_reads) FROM lb_stat_board')" = 0 ] ||
	die "some ranks were answered by queries"
verify

{
	cat <<-END
		\`$command\`, $(machine); $(number "$size") members.
		All in one transaction; medians of $rounds runs in turns. Ratios have their least and
		greatest value, too.

		| measure | takes | against it | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
} >table
put_table "$out" "make bench-own" table
