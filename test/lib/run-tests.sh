#!/bin/bash
#
# run-tests.sh [part ...]
#	Runs every test, or the parts that are named, and sums them up.
#
# A part's output goes to a file, and is shown when the part fails.  Of the
# parts each is one function below, which fails or not; what single tests it
# had is read from its output.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

ALL="build unit valgrind regress isolation pgtap tap pause oracle oracle-assert"

# How long the random client runs, and on how many connections.
seconds=${RUN_SECONDS:-20}
connections=${CONNECTIONS:-8}
transactions=${TRANSACTIONS:-0}
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}

parts=("$@")
[ $# -gt 0 ] || read -ra parts <<<"$ALL"
if [ "${parts[*]}" = list ]; then
	echo "$ALL"
	exit 0
fi
for part in "${parts[@]}"; do
	[[ " $ALL " = *" $part "* ]] || die "no part \"$part\", there are: $ALL"
done

"$TREE/test/lib/prepare.sh" test
lb_begin test
start=$(date +%s)

# What a test leaves where others would put it goes here too.
as_server mkdir tmp log
export TMPDIR=$WORK/tmp
# What takes longer than this waits for good: a step of the isolation tester, and
# a part.
export PGISOLATIONTIMEOUT=120
limited()
{
	as_server timeout -k 30 1200 "$@"
}
copy_tree "$WORK/tree"

jobs=$(nproc)
server=$WORK/server
debug_server=$WORK/debug-server

#
# Builds and servers, each made when the first part asks for it.
#

prepare_install()
{
	[ ! -e installed ] || return 0
	private_postgres "$WORK/pg"
	echo "$BIN" >bin
	# Outside the tree: what was built in it would be found by other builds.
	as_server mkdir build
	as_server make -s -C build -f ../tree/Makefile -j"$jobs" \
		PG_CONFIG="$BIN/pg_config" install
	touch installed
}

# The same with assertions, and with the points where tests can make it stop.
# Without bitcode: that is the same code as in the other build.
prepare_debug_install()
{
	[ ! -e debug-installed ] || return 0
	private_postgres "$WORK/pg-debug"
	echo "$BIN" >debug-bin
	as_server mkdir build-debug
	as_server make -s -C build-debug -f ../tree/Makefile -j"$jobs" \
		PG_CONFIG="$BIN/pg_config" with_llvm=no \
		COPT="-DUSE_ASSERT_CHECKING -DLB_PAUSE_POINTS" install
	touch debug-installed
}

server_settings()
{
	cat <<-END
		fsync = off
		autovacuum_naptime = 5s
		deadlock_timeout = 100ms
		log_line_prefix = '%m [%p] %q%a %d '
		max_prepared_transactions = 20
		max_worker_processes = 16
	END
}

# A server for one part or for several.  One that has crashed in an earlier
# part is no reason for the next to fail.
prepare_server()
{
	prepare_install
	BIN=$(cat bin)
	[ -e "$server" ] || server_settings | server_init "$server"
	export PGHOST=$server PGUSER=postgres PGDATABASE=postgres
	"$BIN/pg_isready" -q || server_start "$server"
}

prepare_debug_server()
{
	prepare_debug_install
	BIN=$(cat debug-bin)
	[ -e "$debug_server" ] || server_settings | server_init "$debug_server"
	export PGHOST=$debug_server PGUSER=postgres PGDATABASE=postgres
	"$BIN/pg_isready" -q || server_start "$debug_server"
}

# The server must have come through: a crash restart is a failure even where
# no test has noticed.
check_server_log()
{
	if grep -E 'PANIC|TRAP:|was terminated by signal' \
		"$1/log"; then
		echo "not ok - the server has crashed"
		tail -n 100 "$1/log"
		return 1
	fi
}

#
# The parts.
#

# One check of a part that is no test program itself.
check()
{
	local title=$1 rc

	shift
	# In a condition set -e would have no effect inside.
	set +e
	(
		set -e
		"$@"
	)
	rc=$?
	set -e
	if [ $rc = 0 ]; then
		echo "ok - $title"
	else
		echo "not ok - $title"
	fi
}

# Everything must compile with this compiler and these options; what comes out
# is thrown away.
compile()
{
	rm -rf build-try
	as_server mkdir build-try
	as_server make -s -C build-try -f ../tree/Makefile -j"$jobs" WERROR=1 \
		PG_CONFIG="$(find_postgres)" with_llvm=no "$@"
}

clean_leaves_nothing()
{
	local before after

	rm -rf clean
	copy_tree "$WORK/clean"
	before=$(cd clean && find . | sort)
	as_server make -s -C clean -j"$jobs" PG_CONFIG="$(find_postgres)" >/dev/null
	as_server make -s -C clean PG_CONFIG="$(find_postgres)" clean >/dev/null
	after=$(cd clean && find . | sort)
	[ "$before" = "$after" ] || { diff <(echo "$before") <(echo "$after"); false; }
}

same_version()
{
	local version

	version=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" \
		tree/leaderboard.control)
	[ -e "tree/sql/leaderboard--$version.sql" ] ||
		ls tree/sql/leaderboard--*--"$version.sql" >/dev/null
	[ "$(grep -c "\"version\": *\"$version\"" tree/META.json)" -ge 1 ]
}

part_build()
{
	check "make install" prepare_install
	check "gcc, no warning" compile
	# Clang is told options of gcc's, as PostgreSQL was built with, and does not
	# know the printf attribute in its headers.
	check "clang, no warning, outside the tree" compile CC=clang \
		COPT="-Wno-unknown-warning-option -Wno-ignored-attributes -Wno-ignored-optimization-argument"
	check "gcc with assertions" compile COPT=-DUSE_ASSERT_CHECKING
	check "make clean leaves nothing" clean_leaves_nothing
	check "one version everywhere" same_version
}

part_unit()
{
	limited make -C tree/test/unit check
}

part_valgrind()
{
	limited make -C tree/test/unit check-valgrind
}

# "make installcheck" as a user has it, one half at a time.
installcheck()
{
	limited make -C tree PG_CONFIG="$BIN/pg_config" installcheck "$@" ||
		{ cat tree/regression.diffs tree/output_iso/regression.diffs; false; }
}

part_regress()
{
	prepare_server
	installcheck ISOLATION=
	check_server_log "$server"
}

part_isolation()
{
	prepare_server
	installcheck REGRESS=
	check_server_log "$server"
}

part_pgtap()
{
	prepare_server
	"$BIN/dropdb" --if-exists pgtap
	"$BIN/createdb" pgtap
	sql -d pgtap -c 'CREATE EXTENSION pgtap; CREATE EXTENSION leaderboard'
	limited pg_prove --verbose --psql-bin "$BIN/psql" -d pgtap \
		tree/test/pgtap/*.sql
	check_server_log "$server"
}

part_tap()
{
	local lib

	prepare_install
	BIN=$(cat bin)
	lib=$(dirname "$(dirname "$("$BIN/pg_config" --pgxs)")")
	as_server mkdir -p tap
	limited env -u PGHOST -u PGUSER -u PGDATABASE PATH="$BIN:$PATH" \
		TESTDIR="$WORK/tap" TESTDATADIR="$WORK/tap/tmp_check" \
		TESTLOGDIR="$WORK/tap/tmp_check/log" PERL5LIB="$lib/test/perl" \
		PG_REGRESS="$lib/test/regress/pg_regress" \
		prove --verbose tree/test/t/*.pl ||
		{ tail -n 60 tap/tmp_check/log/*; false; }
}

# Races, stopped at points that only this build has.
part_pause()
{
	local lib spec specs=()

	for spec in tree/test/pause/specs/*.spec; do
		specs+=("$(basename "$spec" .spec)")
	done
	prepare_debug_server
	lib=$(dirname "$(dirname "$("$BIN/pg_config" --pgxs)")")
	as_server mkdir -p pause
	limited "$lib/test/isolation/pg_isolation_regress" --bindir="$BIN" \
		--inputdir=tree/test/pause --outputdir=pause --dbname=pause \
		"${specs[@]}" ||
		{ cat pause/regression.diffs; false; }
	check_server_log "$debug_server"
}

oracle()
{
	"$BIN/dropdb" --if-exists oracle
	"$BIN/createdb" oracle
	sql -d oracle -c 'CREATE EXTENSION leaderboard'
	as_server make -s -C tree/test/client PG_CONFIG="$(find_postgres)" WERROR=1
	limited tree/test/client/oracle -d "dbname=oracle" -s "$seed" \
		-c "$connections" -n "$transactions" -t "$1"
}

part_oracle()
{
	prepare_server
	oracle "$seconds"
	check_server_log "$server"
}

part_oracle_assert()
{
	prepare_debug_server
	oracle $((seconds / 2))
	check_server_log "$debug_server"
}

#
# Running and summing up.
#

# Reads the numbers of tests from the output of a part.
count_tests()
{
	awk '
		# The stand-alone tests and the client have a line of their own.
		/^[0-9]+ passed, [0-9]+ failed/ { p = $1; f = $3; line = 1 }
		# TAP; what is indented belongs to a subtest.
		/^ok / { tap_p++ }
		/^not ok / { if (/# TODO/) tap_p++; else tap_f++ }
		# pg_regress
		/^test .* \.\.\. ok/ { tap_p++ }
		/^test .* \.\.\. FAILED/ { tap_f++ }
		END {
			if (line) print p + 0, f + 0
			else print tap_p + 0, tap_f + 0
		}' "$1"
}

total_passed=0
total_failed=0
summary=()

for part in "${parts[@]}"; do
	echo "== $part"
	log=$WORK/log/$part
	began=$(date +%s)
	# Not in a condition: set -e would have no effect inside.
	set +e
	(
		set -e
		"part_${part//-/_}"
	) >"$log" 2>&1 </dev/null
	rc=$?
	set -e
	took=$(($(date +%s) - began))

	read -r passed failed < <(count_tests "$log")
	# A part that has lost its tests has failed too.
	if [ "$failed" = 0 ] && { [ $rc != 0 ] || [ "$passed" = 0 ]; }; then
		failed=1
	fi
	if [ "$failed" != 0 ]; then
		result=FAILED
		# Seldom does more than the end say what went wrong.
		tail -n "${LOG_LINES:-400}" "$log" | sed 's/^/   | /'
	else
		result=ok
	fi
	echo "   $result: $passed passed, $failed failed, $took s"
	summary+=("$(printf '%-14s %-9s %9d %7d %6d' "$part" "$result" "$passed" \
		"$failed" "$took")")
	total_passed=$((total_passed + passed))
	total_failed=$((total_failed + failed))
done

echo
printf '%-14s %-9s %9s %7s %6s\n' part result passed failed s
printf '%s\n' "${summary[@]}"
echo
echo "$(($(date +%s) - start)) s"
echo "$total_passed passed, $total_failed failed"
[ $total_failed = 0 ]
