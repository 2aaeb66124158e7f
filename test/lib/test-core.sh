#!/bin/bash
#
# test-core.sh
#	Runs PostgreSQL's own regression and isolation tests on a server that
#	preloads the library, in databases that have the extension; and the regression
#	tests again with boards on their tables.
#
# The server and its tests are built from Debian's source package, with
# assertions, in a temporary directory.  With CORE_DIR=DIR source and server are
# kept there, and the next run finds them.  Exits with 0 if all tests have
# passed, with 1 if one has failed, and with 77 if there is no such server.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

pg=${PG_MAJOR:-15}
dir=${CORE_DIR:-}
[[ $dir = /* || -z $dir ]] || dir=$PWD/$dir

skip()
{
	[ ! -s "${WORK:-}/build.log" ] || tail -n 20 "$WORK/build.log" | sed 's/^/   | /'
	echo "skipped: $*" >&2
	exit 77
}

command -v apt-get >/dev/null || skip "the source package takes apt-get"
unset PG_CONFIG
"$TREE/test/lib/prepare.sh" cassert || skip "packages are missing"

lb_begin core
[ -n "$dir" ] || dir=$WORK/pg
prefix=$dir/pgsql

build()
{
	cd "$dir/source" || return
	as_server ./configure --prefix="$prefix" --enable-cassert --enable-debug \
		--without-icu --without-readline --without-zlib &&
		as_server make -s -j"$(nproc)" -C src &&
		as_server make -s -C src install &&
		as_server make -s -C contrib/spi install &&
		as_server make -s -j"$(nproc)" -C src/test/regress &&
		as_server make -s -j"$(nproc)" -C src/test/isolation
}

if [ ! -e "$dir/complete-$pg" ]; then
	echo "Getting the source of PostgreSQL $pg"
	get_source "$pg" || skip "no source package postgresql-$pg"
	echo "Building it with --enable-cassert"
	mkdir -p "$dir"
	[ "$(id -u)" != 0 ] || chown "$SERVER_USER" "$dir"
	rm -rf "$prefix" "$dir/source" "$dir"/complete-*
	mv source/*/ "$dir/source"
	(build) >build.log 2>&1 || skip "the build has failed"
	as_server touch "$dir/complete-$pg"
fi

BIN=$prefix/bin
"$BIN/postgres" --version
copy_tree "$WORK/tree"
as_server mkdir build
as_server make -s -C build -f ../tree/Makefile -j"$(nproc)" with_llvm=no \
	PG_CONFIG="$BIN/pg_config" COPT=-DUSE_ASSERT_CHECKING install

# One test lists all event triggers, of which the extension has one.  Where that
# is not so any more, the test is wrong, or PostgreSQL's.
expected=$dir/source/src/test/regress/expected
# shellcheck disable=SC2016 # awk's
as_server awk '
	/^ sql_drop_command  \| event trigger sql_drop_command/ {
		print " leaderboard_drop  | event trigger leaderboard_drop  | event trigger | {leaderboard_drop}  | {}          | (\"event trigger\",,leaderboard_drop,leaderboard_drop)"
		added = 1
	}
	/^\(3 rows\)/ && added { $0 = "(4 rows)"; added = 0; all = 1 }
	{ print }
	END { exit !all }' "$expected/event_trigger.out" |
	as_server tee event_trigger.out >/dev/null
as_server cp event_trigger.out "$expected/event_trigger_1.out"

server_init "$WORK/server" <<-END
	fsync = off
	max_worker_processes = 16
	max_prepared_transactions = 10
END
server_start "$WORK/server"

# suite NAME TARGET: one of the two, and what it says.
suite()
{
	local rc=0

	echo "== $1"
	as_server timeout -k 30 3000 make -C "$dir/source/src/test/$1" "$2" \
		MAX_CONNECTIONS=10 EXTRA_REGRESS_OPTS=--load-extension=leaderboard \
		>"$1.out" 2>&1 || rc=1
	grep -E '^ (All [0-9]+ tests passed|[0-9]+ of [0-9]+ tests failed)' "$1.out" ||
		{ tail -n 20 "$1.out"; rc=1; }
	[ $rc = 0 ] || head -n 300 "$dir/source/src/test/$1/"*/regression.diffs \
		"$dir/source/src/test/$1/regression.diffs" 2>/dev/null || true
	return $rc
}

# The regression tests with boards on their tables (core.sql).  What they return is
# compared with what they return with the same boards, but plans that use none.  So it
# need not be what PostgreSQL expects: constraints and triggers are other ones.
regress=$dir/source/src/test/regress
prepare_boards()
{
	as_server mkdir boards
	as_server cp -r "$regress"/{sql,data,expected,resultmap} boards/
	as_server cp tree/test/lib/core.sql boards/sql/boards.sql
	as_server touch boards/expected/boards.out
	sed '/^test: create_index /a test: boards' "$regress/parallel_schedule" |
		as_server tee boards/schedule >/dev/null
	grep -q '^test: boards' boards/schedule
}

# with_boards NAME SETTING ...: the results are in $NAME/results.
with_boards()
{
	local name=$1

	shift
	as_server mkdir "$name"
	as_server env PGOPTIONS="${*/#/-c }" timeout -k 30 3000 \
		"$regress/pg_regress" --inputdir=boards --outputdir="$name" \
		--bindir="$BIN" --dlpath="$regress" --max-connections=10 \
		--schedule=boards/schedule --load-extension=leaderboard \
		>"$name.out" 2>&1 || true
	[ "$(sql -d regression -Atc "SELECT lb_wait_ready('5 min')" \
		-c "SELECT * FROM lb_verify()")" = t ] ||
		{ echo "$name: lb_verify() finds faults"; return 1; }
}

# A result without plans.  They have this heading, or that of a function that shows one.
without_plans()
{
	perl -0pe 's/^ *(QUERY PLAN|explain_\w+) *\n-+\n.*?^\(\d+ rows?\)\n/PLAN\n/msg' "$1"
}

# same_results NAME PLAIN READS EXCEPT: two runs agree in all tests but one, and plans
# have been answered by boards so many times.
same_results()
{
	local file test n=0 rc=0 reads

	for file in "$2"/results/*.out; do
		test=$(basename "$file" .out)
		[ "$test" != "$4" ] || continue
		n=$((n + 1))
		diff -U3 <(without_plans "$file") \
			<(without_plans "$1/results/$test.out") >"$1.diff" ||
			{ echo "$1: $test differs"; head -n 50 "$1.diff"; rc=1; }
	done
	reads=$(sql -d regression -Atc "SELECT sum(planned_reads) FROM lb_stat_board WHERE kind <> 'family board'")
	echo " $1: $n tests compared, $reads reads of boards by plans"
	[ "$n" -gt 200 ] && [ "$reads" -ge "$3" ] || rc=1
	return $rc
}

# PostgreSQL's own plans cost little on these tables, so boards are used more often where
# it is told to avoid them.  The rows of the test "window" have ties, and what it
# returns of them depends on the order in which a plan delivers them.
boards()
{
	local rc=0 off=leaderboard.enable_planner=off avoid=(enable_seqscan=off
		enable_indexscan=off enable_indexonlyscan=off enable_bitmapscan=off
		enable_sort=off)

	echo "== regress, with boards"
	prepare_boards || return
	with_boards plain $off || rc=1
	with_boards used || rc=1
	same_results used plain 20 '' || rc=1
	with_boards avoided $off "${avoid[@]}" || rc=1
	with_boards preferred "${avoid[@]}" || rc=1
	same_results preferred avoided 1000 window || rc=1
	with_boards eager leaderboard.debug_planner_child=eager "${avoid[@]}" || rc=1
	same_results eager avoided 1000 window || rc=1
	return $rc
}

rc=0
suite regress installcheck-parallel || rc=1
# It is there at the end, and has not been asked for anything.
[ "$(sql -d regression -Atc "SELECT count(*) FROM pg_extension WHERE extname = 'leaderboard'")" = 1 ] ||
	{ echo "the extension was not there"; rc=1; }
suite isolation installcheck || rc=1
boards || rc=1
if grep -E 'PANIC|TRAP:|was terminated by signal' "$WORK/server/log"; then
	rc=1
fi
exit $rc
