#!/bin/bash
#
# run-tests.sh [part ...]
#	Runs every test, or the parts that are named, and sums them up.
#
#	SHORT=yes	leaves out of the parts what takes long, for "make check"
#	TAP="027 036"	runs only these files of the part tap, or citus
#	PAUSE=build	runs only these specs of the part pause
#
# Each part is one function below, which fails or not.  Its output goes to a file,
# from which the script reads the number of single tests.  The script shows the
# output of a part that has failed.  Parts run side by side: schedule.sh.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source-path=SCRIPTDIR source=crash.sh
. "$TREE/test/lib/crash.sh"
# shellcheck source-path=SCRIPTDIR source=schedule.sh
. "$TREE/test/lib/schedule.sh"

# First those that run side by side, the long ones before the others.
ALL="build versions-compile tap planted unit deb regress modules faults pause quick shards examples valgrind isolation pgtap page queue redis sqlsmith monitoring oracle oracle-assert standby chaos citus"
# Only when named.
EXTRA="soak times load autopkgtest docker"
# A package is for Debian's server.
if [ -n "${PG_CONFIG:-}" ] || ! command -v apt-get >/dev/null; then
	ALL=${ALL/ deb/}
fi
# The headers of other versions are Debian's.
if ! command -v apt-get >/dev/null && [ $# = 0 ]; then
	echo "versions-compile: skipped, since only Debian's packages have the other versions' headers"
	ALL=${ALL/ versions-compile/}
fi

# How long the random client runs, and on how many connections.
seconds=${RUN_SECONDS:-20}
connections=${CONNECTIONS:-8}
transactions=${TRANSACTIONS:-0}
# How many random statements.
statements=${STATEMENTS:-1000}
# Which of the calls that can run out of memory do: every seventh.
every=${EVERY:-7}
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
# What "make check" leaves out of its parts.
SHORT=${SHORT:-}

parts=("$@")
[ $# -gt 0 ] || read -ra parts <<<"$ALL"
if [ "${parts[*]}" = list ]; then
	echo "$ALL $EXTRA"
	exit 0
fi
for part in "${parts[@]}"; do
	[[ " $ALL $EXTRA " = *" $part "* ]] ||
		die "no part \"$part\", there are: $ALL $EXTRA"
done

"$TREE/test/lib/prepare.sh" test "${parts[@]}"
# Not every PostgreSQL comes with PL/Proxy.
if [ $# = 0 ] && [ ! -e "$("$(find_postgres)" --sharedir)/extension/plproxy.control" ]; then
	read -ra parts <<<"${ALL/ shards/}"
fi
# Citus is in no release of Debian, and CITUS=no builds without what serves it.
if [[ " ${parts[*]} " = *" citus "* ]] && { [ "${CITUS:-}" = no ] ||
	[ ! -e "$("$(find_postgres)" --pkglibdir)/citus.so" ]; }; then
	echo "citus: skipped, since this server or this build does not have it"
	read -ra parts <<<"$(printf '%s\n' "${parts[@]}" | grep -vx citus | tr '\n' ' ')"
fi
# A PostgreSQL that was built without contrib has no other modules.
if [[ " ${parts[*]} " = *" modules "* ]] && [ ! -e "$("$(find_postgres)" --pkglibdir)/auto_explain.so" ]; then
	echo "modules: skipped, since this server does not have auto_explain"
	read -ra parts <<<"$(printf '%s\n' "${parts[@]}" | grep -vx modules | tr '\n' ' ')"
fi
lb_begin test
start=$(date +%s)

# Files that a test leaves in TMPDIR go here too.
as_server mkdir tmp log
export TMPDIR=$WORK/tmp
# A step of the isolation tester, or a part, that takes longer than this waits
# forever, also on a busy machine.
export PGISOLATIONTIMEOUT=300
limited()
{
	as_server timeout -k 30 7200 "$@"
}
copy_tree "$WORK/tree"

jobs=$(nproc)
server=$WORK/server
debug_server=$WORK/debug-server
kill_server=$WORK/kill-server
chaos_server=$WORK/chaos-server
chaos_debug_server=$WORK/chaos-debug-server
chaos_kill_server=$WORK/chaos-kill-server
fault_server=$WORK/fault-server

#
# Builds and servers, each made when the first part asks for it.
#

# make_install DIR OPTION ...: build in a directory, and install.  If there are warnings,
# that is a failure of the part "build" only: no_warning().
make_install()
{
	local dir=$1

	shift
	as_server make -s -C "$dir" -j"$jobs" WERROR=1 "$@" >"$dir.out" 2>&1 ||
		touch "$dir.warned"
	as_server make -s -C "$dir" -j"$jobs" "$@" install
}

no_warning()
{
	[ ! -e "$1.warned" ] || {
		cat "$1.out"
		false
	}
}

# In a tree of its own: what was built in it would be found by other builds.
build_install()
{
	private_postgres "$WORK/pg"
	echo "$BIN" >bin
	copy_tree "$WORK/build"
	(cd build && find . | sort) >build.before
	make_install build PG_CONFIG="$BIN/pg_config"
}

prepare_install()
{
	once installed build_install
}

# What is built for tests alone is compiled in two thirds of the time.
fast="-O1 -g1"

# The same with assertions and pause points.  Where the code treats few and many in
# different ways, small numbers are already many.  Without bitcode: that is the same
# code as in the other build.
build_debug_install()
{
	private_postgres "$WORK/pg-debug"
	echo "$BIN" >debug-bin
	as_server mkdir build-debug
	make_install build-debug -f ../tree/Makefile PG_CONFIG="$BIN/pg_config" with_llvm=no \
		COPT="$fast -DUSE_ASSERT_CHECKING -DLB_PAUSE_POINTS -DLB_REQUEST_BACKLOG=4 \
			-DLB_FEW_OWN=2 -DLB_FEW_CORRECTIONS=3 -DLB_SLICE_CHANGES=64 \
			-DLB_CHECK_LOCKED=3 -DLB_OWN_BATCH=50 -DLB_FEW_COMPARED=2 -DLB_COMPACT_MIN=3 \
			-DLB_MOST_LOOKUPS=20 \
			-DLB_NOTIFY_QUEUE_SHARE=0.0001"
}

prepare_debug_install()
{
	once debug-installed build_debug_install
}

# With the calls that can be made to fail, too.
build_fault_install()
{
	private_postgres "$WORK/pg-fault"
	echo "$BIN" >fault-bin
	as_server mkdir build-fault
	as_server make -s -C build-fault -f ../tree/Makefile -j"$jobs" \
		PG_CONFIG="$BIN/pg_config" with_llvm=no LB_FAULTS=1 \
		COPT="$fast -DUSE_ASSERT_CHECKING -DLB_PAUSE_POINTS -DLB_COMPACT_MIN=3" install
}

prepare_fault_install()
{
	once fault-installed build_fault_install
}

# Plans cost much where a test switches other plans off.  One that is about compiled plans
# switches that on.
server_settings()
{
	cat <<-END
		fsync = off
		jit = off
		autovacuum_naptime = 5s
		deadlock_timeout = 100ms
		log_line_prefix = '%m [%p] %q%a %d '
		max_prepared_transactions = 20
		max_worker_processes = 16
		leaderboard.maintenance_interval = 0
		leaderboard.wait_timeout = 5min
	END
}

# use_server BINFILE DIR: a server for one part or for several, of the installation
# whose programs are in the directory that BINFILE names.  If it has crashed in an
# earlier part, it is started again.
use_server()
{
	BIN=$(cat "$1")
	[ -e "$2" ] || server_settings | server_init "$2"
	export PGHOST=$2 PGUSER=postgres PGDATABASE=postgres
	"$BIN/pg_isready" -q || server_start "$2"
}

prepare_server()
{
	prepare_install
	use_server bin "$server"
}

# make_standby PRIMARY STANDBY, then settings on standard input: a streaming standby, in
# the second directory.  Like server_start, it directs libpq to it.
make_standby()
{
	as_server mkdir "$2"
	as_server "$BIN/pg_basebackup" -D "$2/data" -R -c fast \
		-d "host=$1 application_name=standby"
	{
		echo "unix_socket_directories = '$2'"
		cat
	} | as_server tee -a "$2/data/postgresql.conf" >/dev/null
	server_start "$2"
}

# use_standby DIR: a new standby of the server that libpq is directed to, for the random
# client.  Its sessions keep replay waiting, but not for long.
use_standby()
{
	local primary=$PGHOST

	rm -rf "$1"
	make_standby "$primary" "$1" <<-END
		hot_standby_feedback = on
		max_standby_streaming_delay = 2s
		wal_receiver_status_interval = 1s
	END
	export PGHOST=$primary
}

prepare_debug_server()
{
	prepare_debug_install
	use_server debug-bin "$debug_server"
}

# The server must have come through: a crash restart is a failure even where
# no test has noticed.  With a second argument, crashes that match it are meant.
check_server_log()
{
	if grep -E "$CRASH" "$1/log" |
		grep -v "${2:-^$}"; then
		echo "not ok - the server has crashed"
		return 1
	fi
	if grep -B 1 'Reason: the index did not hold' "$1/log"; then
		echo "not ok - an index was wrong"
		return 1
	fi
}

#
# The parts.
#

# how_ended CODE: what the exit code of a command that has failed says.
how_ended()
{
	case $1 in
		124 | 137) echo "exit code $1: out of time, or killed" ;;
		*) echo "exit code $1" ;;
	esac
}

# show_output FILE ...: after a command that has failed, what it has printed there.
# Fails likewise.
show_output()
{
	local rc=$?

	cat "$@"
	return $rc
}

# One check of a part that is not a test program.  The part goes on after a check
# that has failed, and ends with checks_passed.
checks_failed=0

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
		echo "not ok - $title ($(how_ended $rc))"
		checks_failed=$((checks_failed + 1))
	fi
}

checks_passed()
{
	[ "$checks_failed" = 0 ]
}

# objects [FOLDER]: what is made of each file of src, or of a folder of it
objects()
{
	(cd tree && find "${1:-src}" -name '*.c' | sed 's/c$/o/')
}

# Those of which the build has no bitcode: all, or those that it leaves out.
objects_without_bitcode()
{
	local object

	for object in $(objects); do
		[ -e "build/${object%.o}.bc" ] || echo "$object"
	done
}

# Everything must compile with this compiler and these options; the result is thrown
# away.
compile()
{
	rm -rf build-try
	as_server mkdir build-try
	as_server make -s -C build-try -f ../tree/Makefile -j"$jobs" WERROR=1 \
		PG_CONFIG="$(find_postgres)" with_llvm=no "$@"
}

# Without what was compiled to be installed, which nothing needs any more.
clean_leaves_nothing()
{
	as_server make -s -C build PG_CONFIG="$(find_postgres)" clean >/dev/null
	(cd build && find . | sort) | diff build.before -
}

# Of what was compiled for processors that have such instructions: SQL's results come
# from two operations.
no_fused_multiply_add()
{
	local object options=()

	[ "$(uname -m)" != x86_64 ] || options=(COPT=-march=haswell)
	# shellcheck disable=SC2046 # names without blanks
	compile "${options[@]}" $(objects src/reads)
	for object in build-try/src/reads/*.o; do
		objdump -d --no-show-raw-insn "$object" |
			grep -E '\s(vfn?m(add|sub)|fn?m(add|sub)|fml[as]|m[as][de]br|xsn?m(add|sub))' | {
			! grep . || { echo "in $object"; false; }
		}
	done
}

# The message that a build for 32 bits ends with.
refuses_32_bits()
{
	! gcc -fsyntax-only -I"$("$(find_postgres)" --includedir-server)" -Itree/src -D_GNU_SOURCE -xc - \
		>32-bits.out 2>&1 <<-'END' || return 1
		#include "postgres.h"
		#undef SIZEOF_DATUM
		#define SIZEOF_DATUM 4
		#include "boards/keys.h"
	END
	grep -q 'error "leaderboard needs a platform of 64 bits"' 32-bits.out || show_output 32-bits.out
}

part_build()
{
	check "make install" prepare_install
	check "no warning, in the tree" no_warning build
	[ -z "$SHORT" ] || { checks_passed; return; }
	# Clang has made bitcode without a warning; this is the rest.  It gets options of gcc,
	# with which PostgreSQL was built, and does not know the printf attribute in its
	# headers.  Its warnings need no code.
	# shellcheck disable=SC2046 # names without blanks
	check "clang, no warning" compile CC=clang \
		COPT="-fsyntax-only -Wno-unused-command-line-argument -Wno-unknown-warning-option -Wno-ignored-attributes -Wno-ignored-optimization-argument" \
		$(objects_without_bitcode)
	check "make clean leaves nothing" clean_leaves_nothing
	check "no fused multiply-add" no_fused_multiply_add
	check "32 bits are refused" refuses_32_bits
	check "make install, with assertions and pause points" prepare_debug_install
	check "gcc with these, no warning" no_warning build-debug
	checks_passed
}

# compile_for VERSION: every file compiles with the headers of that version, which come
# from the package of another release of Debian.  Its other packages are not needed.
compile_for()
{
	local version=$1 dir=$WORK/headers-$1 config

	RELEASES=$(release_of "$version") get_packages "$dir" "postgresql-server-dev-$version" ||
		show_output "$apt_log"
	# What configure has found there, and this compiler and library may not have.
	config=$dir/usr/include/postgresql/$version/server/pg_config.h
	as_server sed -i -E 's/^#define HAVE_DECL_(STRLCAT|STRLCPY) 1/#define HAVE_DECL_\1 0/
		s/^#define HAVE_TYPEOF_UNQUAL 1//' "$config"
	rm -rf build-try
	as_server mkdir build-try
	# Headers of 15 have what later versions warn of, and are no C23, which is the default
	# of later compilers.
	# shellcheck disable=SC2046 # names without blanks
	as_server make -s -k -C build-try -f ../tree/Makefile -j"$jobs" WERROR=1 \
		PG_CONFIG="$(find_postgres)" with_llvm=no COPT="-std=gnu17 -fsyntax-only -Wno-shadow=compatible-local -Wno-strict-prototypes" \
		includedir_server="$(dirname "$config")" $(objects)
}

# PostgreSQL's pgindent changes nothing.  It comes with the headers of a newer version than
# Debian 12 has, and runs with the C library of that release.
is_indented()
{
	local dir=$WORK/indent bin loader

	RELEASES=$(release_of 17) get_packages "$dir" postgresql-server-dev-17 libc6 ||
		show_output "$apt_log"
	bin=$dir/usr/lib/postgresql/17/bin
	loader=$(find "$dir/usr/lib/" -name 'ld-linux*' -o -name 'ld64.so*' | head -n 1)
	as_server tee "$dir/indent" >/dev/null <<-END
		#!/bin/sh
		exec $loader --library-path ${loader%/*} $bin/pg_bsd_indent "\$@"
	END
	chmod +x "$dir/indent"
	(
		cd tree && as_server "$bin/pgindent" --check --diff --indent="$dir/indent" \
			--typedefs="$dir/usr/share/postgresql/17/typedefs.list" \
			--list-of-typedefs="$(tr '\n' ' ' <src/typedefs.list)" src test
	) >indent.out 2>&1 || show_output indent.out
	# A file that it cannot read is no error of its.
	[ ! -s indent.out ] || { cat indent.out; false; }
}

part_versions_compile()
{
	local version own

	check "pgindent changes nothing" is_indented
	own=$("$(find_postgres)" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	for version in 15 17 18 19; do
		[ "$version" = "$own" ] ||
			check "PostgreSQL $version of Debian $(release_of "$version"), no warning" \
				compile_for "$version"
	done
	checks_passed
}

part_unit()
{
	if [ -n "$SHORT" ]; then
		limited make -C tree/test/unit check
	else
		limited make -C tree/test/unit check-long
	fi
}

part_valgrind()
{
	limited make -C tree/test/unit check-valgrind
}

# The figures are shown, and never make this fail: another compiler has others.
part_quick()
{
	limited tree/test/bench/quick.sh >quick.out || show_output quick.out
	cat quick.out
	sed 's/^/   /' quick.out >&3
	[ "$(grep -c ' ×' quick.out)" -ge 5 ]
	echo "ok - instructions counted"
}

# "make installcheck" as a user has it, one half at a time.
installcheck()
{
	limited make -C tree PG_CONFIG="$BIN/pg_config" installcheck "$@" ||
		show_output tree/regression.diffs tree/output_iso/regression.diffs
}

# The files of sql/ that take half of the time.
long_tests="bulk every_type keys partitions plan_costs types"

other_tests()
{
	(cd tree/sql && printf '%s\n' *.sql) | sed '/^leaderboard--/d; s/\.sql$//' |
		grep -vxF "${long_tests// /$'\n'}"
}

# set_autovacuum on|off: a plan in an expected file must not depend on whether the server
# has vacuumed a table between two statements.
set_autovacuum()
{
	sql -c "ALTER SYSTEM SET autovacuum = $1" -c 'SELECT pg_reload_conf()' >/dev/null
}

# Where there is the part modules as well, that one runs the long ones.
part_regress()
{
	prepare_server
	set_autovacuum off
	if [[ " ${parts[*]} " = *" modules "* ]]; then
		installcheck ISOLATION= REGRESS="$(other_tests | tr '\n' ' ')"
	else
		installcheck ISOLATION=
	fi
	set_autovacuum on
	check_server_log "$server"
}

# Two modules of PostgreSQL that look at each statement and at each plan.  Each plan is
# explained with what it has done; written to the log, these would be gigabytes.
modules_settings()
{
	server_settings
	cat <<-END
		autovacuum = off
		shared_preload_libraries = '$1'
		pg_stat_statements.track = all
		pg_stat_statements.track_planning = on
		auto_explain.log_min_duration = 0
		auto_explain.log_analyze = on
		auto_explain.log_timing = off
		auto_explain.log_nested_statements = on
		auto_explain.log_format = json
		auto_explain.log_level = debug1
	END
}

# beside_modules FILE ...: these files of sql/ on the present server, after the first one.
beside_modules()
{
	limited make -C modules -f ../tree/Makefile PG_CONFIG="$BIN/pg_config" installcheck \
		ISOLATION= REGRESS="00_install $*" ||
		show_output modules/regression.diffs
}

# Both modules have seen plans with boards.
modules_have_looked()
{
	local statement='SELECT count(*) + 1 FROM player_scores WHERE score > 7'

	"$BIN/createdb" modules
	sql -d modules -o /dev/null -c 'CREATE EXTENSION leaderboard' -c 'CREATE EXTENSION pg_stat_statements' \
		-c 'SELECT lb_create_tables()' -c 'INSERT INTO player_scores SELECT i, i FROM generate_series(1, 1000) i' \
		-c 'SELECT lb_wait_ready()' -c 'SET auto_explain.log_level = log' -c "$statement"
	grep -q '"Custom Plan Provider": "Leaderboard Aggregate"' "$PGHOST/log"
	[ "$(sql -d modules -Atc "SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%FROM player_scores WHERE score > %' AND plans > 0")" -gt 0 ]
}

# The regression tests beside these modules, all of them in one order of loading and those
# that look at plans also in the other.  Of the long ones only the statements themselves
# are explained, not the thousands that these run.
part_modules()
{
	prepare_install
	BIN=$(cat bin)
	as_server mkdir -p modules
	modules_settings "pg_stat_statements, auto_explain, leaderboard" | server_init "$WORK/modules-first"
	server_start "$WORK/modules-first"
	# shellcheck disable=SC2046 # names without blanks
	beside_modules $(other_tests | grep -vx 00_install)
	# shellcheck disable=SC2086 # likewise
	PGOPTIONS='-c auto_explain.log_nested_statements=off' beside_modules $long_tests
	check "plans are seen by modules that are loaded first" modules_have_looked
	server_stop "$WORK/modules-first"
	modules_settings "leaderboard, auto_explain, pg_stat_statements" | server_init "$WORK/modules-last"
	server_start "$WORK/modules-last"
	# shellcheck disable=SC2046 # likewise
	beside_modules $(cd tree/sql && grep -lE 'lbt\.(plan|nodes|answered_by)\(|EXPLAIN' [a-z]*.sql | sed 's/\.sql$//' | grep -vx plan_costs)
	check "plans are seen by modules that are loaded last" modules_have_looked
	server_stop "$WORK/modules-last"
	check_server_log "$WORK/modules-first"
	check_server_log "$WORK/modules-last"
	checks_passed
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

# What logs of TAP files say of tests that failed, and of files that died: those
# without a plan.
show_tap_failures()
{
	grep -A 20 'not ok ' "$@" || true
	grep -LE '[])] 1\.\.[0-9]+$' "$@" | xargs -r tail -n 30
}

part_tap()
{
	run_tap t
}

# Several servers with Citus, where there is one for this PostgreSQL
part_citus()
{
	run_tap citus
}

# The data directory that servers of TAP files begin with.
make_template()
{
	as_server "$BIN/initdb" -D template -E UTF8 -A trust -N >template.log 2>&1 ||
		show_output template.log
}

# run_tap FOLDER [PREPARE BINFILE]: its TAP files, with the binaries of an installation.
run_tap()
{
	local name files=() lib

	for name in ${TAP:-[0-9]}; do
		# shellcheck disable=SC2206  # it is a pattern
		files+=("tree/test/$1/"$name*.pl)
	done
	"${2:-prepare_install}"
	BIN=$(cat "${3:-bin}")
	lib=$(dirname "$(dirname "$("$BIN/pg_config" --pgxs)")")
	as_server mkdir -p tap
	once template-made make_template
	# For half of the time they wait: for workers, restarts, standbys.
	limited env -u PGHOST -u PGUSER -u PGDATABASE PATH="$BIN:$PATH" \
		TESTDIR="$WORK/tap" TESTDATADIR="$WORK/tap/tmp_check" \
		TESTLOGDIR="$WORK/tap/tmp_check/log" PERL5LIB="$lib/test/perl" \
		PG_REGRESS="$lib/test/regress/pg_regress" INITDB_TEMPLATE="$WORK/template" \
		PGCTLTIMEOUT=600 \
		bash -c 'ulimit -S -c hard; exec prove "$@"' \
		prove --verbose --timer --jobs $((2 * jobs)) "${files[@]}" ||
		show_output <(show_tap_failures tap/tmp_check/log/regress_log_*)
}

# Races: sessions stop at points that only this build has.
part_pause()
{
	local lib spec specs=()

	for spec in ${PAUSE:-tree/test/pause/specs/*.spec}; do
		specs+=("$(basename "$spec" .spec)")
	done
	prepare_debug_server
	lib=$(dirname "$(dirname "$("$BIN/pg_config" --pgxs)")")
	as_server mkdir -p pause
	# They stop a commit that applies a backlog, which the applier would do.
	set_applier off
	limited "$lib/test/isolation/pg_isolation_regress" --bindir="$BIN" \
		--inputdir=tree/test/pause --outputdir=pause --dbname=pause \
		"${specs[@]}" ||
		show_output pause/regression.diffs
	check_server_log "$debug_server"
	# What needs a standby
	[ -n "${PAUSE:-}" ] || TAP='' run_tap pause/t prepare_debug_install debug-bin
}

build_clients()
{
	as_server make -s -C tree/test/client -j"$jobs" PG_CONFIG="$(find_postgres)" WERROR=1
}

prepare_clients()
{
	once clients build_clients
}

prepare_oracle()
{
	"$BIN/dropdb" --if-exists oracle
	"$BIN/createdb" oracle
	sql -d oracle -c 'CREATE EXTENSION leaderboard' -f tree/test/lib/oracle.sql \
		-f tree/test/lib/plans.sql
	prepare_clients
}

# set_applier on|off: whether the server's applier is to work.
set_applier()
{
	sql -c "ALTER SYSTEM SET leaderboard.applier = $1" \
		-c 'SELECT pg_reload_conf()' >/dev/null
}

# oracle OPTION ...: the random client.
oracle()
{
	local applier=on

	# The scheduled mode must be repeatable, and the applier is not scheduled.
	[[ " $* " != *" -S "* ]] || applier=off
	set_applier $applier
	limited tree/test/client/oracle/oracle -d "dbname=oracle" -n "$transactions" "$@"
}

# No other part uses a server whose backends are killed.
prepare_kill_server()
{
	prepare_install
	use_server bin "$kill_server"
}

part_oracle()
{
	prepare_server
	prepare_oracle
	oracle -s "$seed" -c "$connections" -x -t "$seconds"
	[ -z "$SHORT" ] || { check_server_log "$server"; return; }
	limited tree/test/client/protocol -d "dbname=oracle"
	oracle -s "$seed" -c "$connections" -x -P 100 -t "$seconds"
	oracle -s "$seed" -S -c 5 -t $((seconds / 2))
	oracle -s "$seed" -L -c "$connections" -t $((seconds / 4))
	check_server_log "$server"
	prepare_kill_server
	prepare_oracle
	oracle -s "$seed" -c "$connections" -k -t $((seconds / 2))
	check_server_log "$kill_server" 'signal 9: Killed'
}

# A report: what takes longer with boards than without is no failure.
part_times()
{
	prepare_server
	prepare_oracle
	oracle -s "$seed" -T -m "${SIZE:-300000}" -t "$seconds" >times.out
	sed 's/^/   /' times.out >&3
	echo "1 passed, 0 failed"
}

part_oracle_assert()
{
	prepare_debug_server
	prepare_oracle
	oracle -s "$seed" -c "$connections" -x -p -t $((seconds / 2))
	oracle -s "$seed" -S -c 5 -t "$seconds"
	check_server_log "$debug_server"
}

# make_pair BINFILE DIR: a new primary there, and its standby in DIR-standby.  When that is
# promoted, there may be prepared transactions of both.
make_pair()
{
	BIN=$(cat "$1")
	rm -rf "$2"
	{
		server_settings
		echo "max_prepared_transactions = $((2 * connections + 10))"
		# A standby that is away for a moment finds what it has missed.
		echo "wal_keep_size = 4GB"
	} | server_init "$2"
	server_start "$2"
	use_standby "$2-standby"
}

# stop_pair DIR [CRASHES]: the end of both; as check_server_log.
stop_pair()
{
	server_stop "$1"
	server_stop "$1-standby"
	check_server_log "$1" "${2:-}"
	check_server_log "$1-standby" "${2:-}"
}

# oracle_on_pair OPTION ...: the random client on the present server and its standby.
# What it has compared on the standby is shown.
oracle_on_pair()
{
	oracle -R "host=$PGHOST-standby dbname=oracle" -I 90 -c "$connections" "$@" >pair.out 2>&1 ||
		show_output pair.out
	cat pair.out
	echo "   $(grep -m 1 '^seed' pair.out), $(grep '^all on the standby' pair.out)" >&3
}

# start_command DIR: what starts a server again that has been killed; fails while that
# is not quite gone.
start_command()
{
	echo "'$BIN/pg_ctl' -c -D '$1/data' -l '$1/log' -w start >/dev/null 2>&1"
}

# Comparisons on a streaming standby while its primary writes; while processes of both are
# killed; and on a standby with assertions that is promoted meanwhile.
part_standby()
{
	local pair=$WORK/standby debug_pair=$WORK/promoted

	prepare_install
	make_pair bin "$pair"
	prepare_oracle
	oracle_on_pair -s "$seed" -x -p -t "$seconds"
	stop_pair "$pair"
	make_pair bin "$pair"
	prepare_oracle
	oracle_on_pair -s "$seed" -x -m 40 -K "$(start_command "$pair-standby")" -t "$seconds"
	stop_pair "$pair" 'signal 9: Killed'
	prepare_debug_install
	make_pair debug-bin "$debug_pair"
	prepare_oracle
	oracle_on_pair -s "$seed" -F -t "$seconds"
	check "lb_verify() of the promoted server" [ 0 = \
		"$(PGHOST=$debug_pair-standby sql -d oracle -Atc 'SELECT count(*) FROM lb_verify()')" ]
	stop_pair "$debug_pair"
	checks_passed
}

# All the ways in turn, each time with another seed.
part_soak()
{
	local end round=0 left kind soak_seed

	end=$(($(date +%s) + ${RUN_SECONDS:-3600}))
	while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
		[ "$left" -le 60 ] || left=60
		soak_seed=$((seed + round))
		case $((round % 6)) in
			0) kind="free running" ;;
			1) kind="scheduled, with assertions" ;;
			2) kind="free running, with assertions" ;;
			3) kind="scheduled" ;;
			4) kind="killed" ;;
			5) kind="with a standby" ;;
		esac
		case $kind in
			killed) prepare_kill_server ;;
			*standby)
				prepare_install
				make_pair bin "$WORK/soak"
				;;
			*assertions) prepare_debug_server ;;
			*) prepare_server ;;
		esac
		prepare_oracle
		case $kind in
			free*) oracle -s $soak_seed -c "$connections" -x -p -t $left ;;
			scheduled*) oracle -s $soak_seed -S -c 5 -t $left ;;
			killed) oracle -s $soak_seed -c "$connections" -x -k -t $left ;;
			*standby) oracle_on_pair -s $soak_seed -x -p -F -t $left ;;
		esac >soak.out 2>&1 || show_output soak.out
		cat soak.out
		echo "   seed $soak_seed, $kind: $(tail -n 1 soak.out)," \
			"$(grep -o 'by index: .*' soak.out)" >&3
		if [ "$kind" = killed ]; then
			check_server_log "$kill_server" 'signal 9: Killed'
		elif [[ $kind = *standby ]]; then
			stop_pair "$WORK/soak"
		elif [[ $kind = *assertions ]]; then
			check_server_log "$debug_server"
		else
			check_server_log "$server"
		fi
		round=$((round + 1))
	done
}

# The random client while another program disturbs the server (chaos.c): in turn
# on a server as it is, on one with assertions, and on one where processes are
# killed as well, at most a minute each time.
part_chaos()
{
	local left=${RUN_SECONDS:-24} round=0 part most chaos_seed kill build least

	most=$(((left + 2) / 3))
	[ "$most" -le 60 ] || most=60
	while [ "$left" -gt 0 ]; do
		part=$((left < most ? left : most))
		left=$((left - part))
		chaos_seed=$((seed + round))
		kill=
		build=
		# On such a server many reads run their queries.  Counts of reads by index are
		# lost in a crash.
		least=2
		case $((round % 3)) in
			0)
				prepare_install
				use_server bin "$chaos_server"
				build=-b
				;;
			1)
				prepare_debug_install
				use_server debug-bin "$chaos_debug_server"
				;;
			2)
				prepare_install
				use_server bin "$chaos_kill_server"
				kill=-k
				least=0
				;;
		esac
		prepare_oracle
		limited tree/test/client/oracle/oracle -d dbname=oracle -x -p $kill -i $least \
			-c "$connections" -s $chaos_seed -t $part \
			-X "tree/test/client/chaos -d dbname=oracle -s $chaos_seed $kill $build" \
			>chaos.out 2>&1 || show_output chaos.out
		cat chaos.out
		echo "   seed $chaos_seed${kill:+, killed}: $(tail -n 1 chaos.out)," \
			"$(grep -o 'by index: .*' chaos.out), $(grep -o '[0-9]* actions' chaos.out)" >&3
		check_server_log "$PGHOST" ${kill:+'signal 9: Killed'}
		round=$((round + 1))
	done
}

# Calls that can run out of memory do (faults.c, test/fault/fault.c).
part_faults()
{
	prepare_fault_install
	use_server fault-bin "$fault_server"
	prepare_clients
	"$BIN/dropdb" --if-exists faults
	"$BIN/createdb" faults
	sql -d faults -c 'CREATE EXTENSION leaderboard'
	limited tree/test/client/faults -d dbname=faults -e "$every" -s "$seed" ||
		{ tail -n 40 "$fault_server/log"; false; }
	check_server_log "$fault_server"
}

# Submits on many connections while the server is killed every minute (load.c),
# or, in a short run, four times.  Written files survive that kill without fsync.
part_load()
{
	local time=${RUN_SECONDS:-60} kill_every

	prepare_install
	BIN=$(cat bin)
	prepare_clients
	{
		server_settings
		cat <<-END
			max_connections = $((${CONNECTIONS:-64} + 20))
			checkpoint_timeout = 30s
			max_wal_size = 4GB
			leaderboard.maintenance_interval = 2
		END
	} | server_init "$WORK/load-server"
	server_start "$WORK/load-server"
	"$BIN/createdb" load
	sql -d load -c 'CREATE EXTENSION leaderboard; SELECT lb_create_tables()'
	kill_every=$((time / 4))
	[ "$kill_every" -le 60 ] || kill_every=60
	as_server env PGDATABASE=load timeout -k 30 $((time + 1200)) \
		tree/test/client/load -b "$BIN" -D "$WORK/load-server/data" \
		-c "${CONNECTIONS:-64}" -t "$time" -k "$kill_every" -s "$seed" \
		>load.out 2>&1 || show_output load.out
	grep -v '^FATAL\|^pg_ctl' load.out
	grep -E 'acknowledged, none lost' load.out | sed 's/^/   /' >&3
	check_server_log "$WORK/load-server" 'signal 9: Killed'
}

# Tables, boards, and views whose plans use these, for random statements.  An
# ordinary role may use them.
prepare_sqlsmith()
{
	sql -c "DROP DATABASE IF EXISTS smith" -c "DROP ROLE IF EXISTS smith" \
		-c "CREATE ROLE smith LOGIN" -c "CREATE DATABASE smith"
	sql -d smith -o /dev/null <<-'END'
		CREATE EXTENSION leaderboard;
		SELECT lb_create_tables();
		SELECT lb_open_window('daily');
		INSERT INTO player_scores SELECT i, i * 7919 % 1001 FROM generate_series(1, 500) AS i;
		SELECT lb_submit(i, i) FROM generate_series(1, 50) AS i;
		CREATE TABLE fam (id bigint, kind text, score integer NOT NULL, at timestamptz DEFAULT now(),
			PRIMARY KEY (kind, id));
		INSERT INTO fam SELECT i, chr(65 + i % 5), i % 17 FROM generate_series(1, 200) AS i;
		SELECT lb_create_board('fam', 'fam', 'id', 'score DESC', 'kind', 'rank');
		CREATE TABLE parts (id integer PRIMARY KEY, score integer NOT NULL) PARTITION BY RANGE (id);
		CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (50);
		CREATE TABLE parts2 PARTITION OF parts DEFAULT;
		INSERT INTO parts SELECT i, i % 9 FROM generate_series(1, 100) AS i;
		SELECT lb_create_board('parts', 'parts', 'id', 'score ASC', NULL, 'dense_rank');
		CREATE VIEW ranked AS
			SELECT p.*, rank() OVER (ORDER BY score DESC) FROM player_scores p WHERE ranked;
		CREATE VIEW ranked_in_kind AS
			SELECT f.*, row_number() OVER (PARTITION BY kind ORDER BY score DESC, id) FROM fam f;
		CREATE VIEW mine AS SELECT * FROM ranked WHERE player_id = 7;
		CREATE VIEW podium AS SELECT * FROM ranked_in_kind WHERE kind = 'A' AND row_number <= 3;
		CREATE VIEW counts AS
			SELECT count(*), min(score), max(score) FILTER (WHERE score > 3), dense_rank(5) WITHIN GROUP (ORDER BY score) FROM parts;
		CREATE VIEW above AS
			SELECT player_id, (SELECT count(*) FROM player_scores q WHERE q.score > p.score AND ranked) FROM player_scores p;
		CREATE VIEW page AS
			SELECT * FROM player_scores WHERE ranked ORDER BY score DESC, updated_at, player_id OFFSET 100 LIMIT 20;
		CREATE VIEW sorted AS
			SELECT * FROM player_scores WHERE ranked AND updated_at IS NOT NULL ORDER BY score DESC, updated_at, player_id OFFSET 0;
		GRANT ALL ON player_scores, player_score_windows, fam, parts, ranked, ranked_in_kind, mine, podium, counts, above, page, sorted TO smith;
		SELECT lb_wait_ready();
		ANALYZE player_scores, fam, parts;

		-- These tables are small, so that statements are fast.  Boards are used nevertheless.
		ALTER DATABASE smith SET enable_seqscan = off;
		ALTER DATABASE smith SET enable_sort = off;
		ALTER DATABASE smith SET jit = off;
		-- Half of the statements would have casts to these types, which are errors.
		SET allow_system_table_mods = on;
		DELETE FROM pg_catalog.pg_operator
		WHERE oprleft IN ('anyrange'::regtype, 'anymultirange'::regtype) OR oprright IN ('anyrange'::regtype, 'anymultirange'::regtype);
	END
}

# The internal errors in a log: each with where it was raised, ours first.
internal_errors()
{
	awk -v files="$(find tree/src -name '*.c' -printf '%f ')" '
		BEGIN { n = split(files, f, " "); for (i = 1; i <= n; i++) ours[f[i]] = 1 }
		/ERROR:  XX/ { error = $0; sub(/.*ERROR:  /, "", error); next }
		/LOCATION:  / && error != "" {
			file = $NF; sub(/:.*/, "", file)
			where = $0; sub(/.*LOCATION:  /, "", where)
			print (file in ours ? "ours: " : "the server: ") error " (" where ")"
			error = ""
		}' "$1" | sort | uniq -c
}

# Random statements of sqlsmith (https://github.com/anse1/sqlsmith), half of them
# as superuser and half as a role that may do little.  Most are errors.  None may
# be an internal error of ours, nor crash the server, nor make a board wrong.
part_sqlsmith()
{
	local role found planned wrong

	command -v sqlsmith >/dev/null || { echo "sqlsmith is not installed"; return 1; }
	prepare_install
	if [ ! -e "$WORK/smith-server" ]; then
		BIN=$(cat bin)
		{
			server_settings
			echo "log_error_verbosity = verbose"
			echo "track_functions = all"
		} | server_init "$WORK/smith-server"
	fi
	use_server bin "$WORK/smith-server"
	prepare_sqlsmith
	for role in postgres smith; do
		timeout -k 30 $((600 + statements)) sqlsmith --exclude-catalog \
			--target="host=$PGHOST dbname=smith user=$role options='-c statement_timeout=1s'" \
			--max-queries=$((statements / 2)) --seed="$seed" >smith.out 2>&1 ||
			show_output smith.out
	done
	check_server_log "$PGHOST"
	internal_errors "$PGHOST/log" | tee internal.out
	found=$(sql -d smith -Atc "SELECT count(*) || ' functions of ours, ' || coalesce(sum(calls), 0) || ' calls'
		FROM pg_stat_user_functions WHERE funcname LIKE 'lb_%'")
	planned=$(sql -d smith -Atc "SELECT coalesce(sum(planned_reads), 0) FROM lb_stat_board WHERE kind <> 'family board'")
	echo "   seed $seed: $statements statements, $found, $planned reads of plans," \
		"$(grep -c 'the server:' internal.out || true) internal errors of the server's" >&3
	check "no internal error of ours" [ "$(grep -c 'ours:' internal.out || true)" = 0 ]
	check "$found were called" [ "${found%% *}" -gt 3 ]
	check "$planned reads of plans were answered by boards" [ "$planned" -gt 0 ]
	wrong=$(sql -d smith -Atc "SELECT lb_wait_ready('5 min')" \
		-c "SELECT * FROM lb_verify()")
	check "the boards are right: $wrong" [ "$wrong" = t ]
	checks_passed
}

# finds_bug TEXT OPTION ...: the random client must find the bug of this part's server
# and print the text.  If it does not, its output is indented, because its sums are not
# this part's.  Each planted bug was found within 5,000 steps with each of eight
# seeds; those of plans within 1,000 transactions.  The others are looked for without
# comparisons of plans.
finds_bug()
{
	local text=$1 next

	shift
	for next in 0 1 2; do
		if limited tree/test/client/oracle/oracle -d dbname=oracle \
			-s $((seed + next)) -t 0 "$@" >planted.out 2>&1
		then
			# The tables that a seed has chosen may not have such rows.
			[ $next = 2 ] || continue
			tail -n 20 planted.out | sed 's/^/   /'
			return 1
		fi
		if grep -q "$text" planted.out; then
			grep -E '^seed|^FAILED|are enough' planted.out
			return 0
		fi
		# Sessions that continued together raced: another history may fail again.
		grep -q '^Done again it does not fail' planted.out || break
	done
	sed 's/^/   /' planted.out
	return 1
}

# planted_search BUG: sets search to the arguments of finds_bug for a planted bug.  One of
# redo is looked for on a standby: then -R is among them.  The history of one is made
# short, those of the others are only done again.
planted_search()
{
	# What a server that is only slow does not print.
	local wrong='FAILED as it returns\|FAILED.*lb_verify_key'

	case $1 in
		1) search=('steps are enough' -S -r 12 -c 5 -P 0 -n 100000) ;;
		10) search=('FAILED.*o_stale' -c 1 -P 100 -n 1 -i 0) ;;
		1[1-4]) search=("$wrong" -c 4 -P 100 -n 5000) ;;
		16) search=("$wrong" -R "host=$standby dbname=oracle" -c 4 -n 5000) ;;
		[89]) search=('FAILED.*: index, ' -c 4 -P 100 -n 5000) ;;
		*) search=('steps are enough' -S -r 0 -c 5 -P 0 -n 100000) ;;
	esac
}

# t/048_feed_lives.pl finds 17, pause/t/001_redo.pl 18, t/049_feed_builds.pl 19, the
# isolation spec counts 20, and t/055_counts.pl 21.
part_planted()
{
	local n search=() title standby=$WORK/planted-standby

	private_postgres "$WORK/pg-planted"
	as_server mkdir build-planted
	as_server make -s -C build-planted -f ../tree/Makefile -j"$jobs" \
		PG_CONFIG="$BIN/pg_config" with_llvm=no \
		COPT="$fast -DLB_PAUSE_POINTS -DLB_PLANT_BUGS" install
	server_settings | server_init "$WORK/planted"
	server_start "$WORK/planted"
	prepare_oracle
	set_applier off
	PGOPTIONS='-c leaderboard.enable_index=off' \
		check "a server that does without the index is found out" \
		finds_bug 'used the index' -S -c 5 -n 500
	use_standby "$standby"
	PGOPTIONS='-c leaderboard.enable_index=off' \
		check "a standby that does without the index is found out" \
		finds_bug 'on the standby only .* used the index' -R "host=$standby dbname=oracle" -I 90 -i 0 -c 2 -n 100
	server_stop "$standby"
	for n in ${PLANTED:-1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 22}; do
		planted_search "$n"
		title="planted bug $n is found"
		[[ " ${search[*]} " != *" -S "* ]] || title+=", again when its steps are done again"
		server_stop "$WORK/planted"
		echo "leaderboard.plant_bug = $n" | as_server tee -a "$WORK/planted/data/postgresql.conf" >/dev/null
		server_start "$WORK/planted"
		[[ " ${search[*]} " != *" -R "* ]] || use_standby "$standby"
		check "$title" finds_bug "${search[@]}"
		[[ " ${search[*]} " != *" -R "* ]] || server_stop "$standby"
	done
	checks_passed
}

# docs/from-redis.md and its importer, beside a Redis of our own.
part_redis()
{
	"$TREE/test/lib/prepare.sh" redis
	prepare_server
	"$BIN/dropdb" --if-exists redis
	"$BIN/createdb" redis
	as_server mkdir -p redis
	# The server and the tool that checks files are one program.
	as_server ln -sf "$(command -v redis-check-rdb)" redis/redis-server
	as_server redis/redis-server --port 0 --unixsocket "$WORK/redis/socket" \
		--dir "$WORK/redis" --pidfile "$WORK/redis/pid" --save '' --daemonize yes
	trap 'kill "$(cat redis/pid)"' EXIT
	limited env PGDATABASE=redis PYTHONDONTWRITEBYTECODE=1 \
		tree/test/redis/test.py tree "$WORK/redis/socket"
	check_server_log "$server"
}

# examples/monitoring, with the real exporter and the tool of Prometheus, on a primary
# and a standby.
part_monitoring()
{
	local primary=$WORK/mon standby=$WORK/mon-standby

	if ! command -v prometheus-postgres-exporter || ! command -v promtool; then
		get_packages prometheus prometheus prometheus-postgres-exporter ||
			show_output "$apt_log"
		# Newer releases have it apart.
		[ -e prometheus/usr/bin/promtool ] || get_packages prometheus promtool ||
			show_output "$apt_log"
		PATH=$PATH:$WORK/prometheus/usr/bin
	fi
	prepare_install
	BIN=$(cat bin)
	server_settings | server_init "$primary"
	server_start "$primary"
	"$BIN/createdb" monitoring
	export PGDATABASE=monitoring
	sql -o /dev/null -c 'CREATE EXTENSION leaderboard' -c 'SELECT lb_create_tables()'
	make_standby "$primary" "$standby" </dev/null
	PGDATABASE=monitoring limited env PATH="$BIN:$PATH" /usr/bin/python3 \
		tree/test/monitoring/test.py tree "$primary" "$standby"
	server_stop "$standby"
	server_stop "$primary"
	check_server_log "$primary"
	check_server_log "$standby"
}

# shellcheck source-path=SCRIPTDIR source=../examples/parts.sh
. "$TREE/test/examples/parts.sh"
# shellcheck source-path=SCRIPTDIR source=../queue/parts.sh
. "$TREE/test/queue/parts.sh"
# shellcheck source-path=SCRIPTDIR source=../shards/parts.sh
. "$TREE/test/shards/parts.sh"
# shellcheck source-path=SCRIPTDIR source=../package/parts.sh
. "$TREE/test/package/parts.sh"

#
# Running and summing up.
#

# Reads the numbers of tests from the output of a part.
count_tests()
{
	awk '
		# The stand-alone tests and the client print such a line.  Failures outside of
		# it are added.
		/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3; line = 1 }
		# TAP; what is indented belongs to a subtest.
		/^ok / { tap_p++ }
		/^not ok / { if (/# TODO/) tap_p++; else tap_f++ }
		# pg_regress
		/^test .* \.\.\. ok/ { tap_p++ }
		/^test .* \.\.\. FAILED/ { tap_f++ }
		END {
			if (line) print p + 0, f + tap_f
			else print tap_p + 0, tap_f + 0
		}' "$1"
}

# Names the tests of a part's output that failed.  A part that has ended at an error
# has named none: then the end of its output.
failed_tests()
{
	local names

	names=$(grep -aE '^[[:space:]]*(not ok |# +Failed |# +at .* line |# Looks like |test .* FAILED|FAILED)|Wstat: [1-9]' \
		"$1" | grep -av '# TODO' | awk '!seen[$0]++' | head -n 30 || true)
	if [ -n "$names" ]; then
		echo "$names"
	else
		tail -n 10 "$1"
	fi
}

# What is known of crashes in a part, by its number: of its servers, and those of parts
# beside it, and of those of TAP files that failed, whose directories are still there.
# TAP files kill processes on purpose.
crashes()
{
	local log name

	for log in "$WORK"/*/log; do
		[ ! -f "$log" ] || [ ! "$log" -nt "$WORK/log/$1.began" ] ||
			crash_report "$log" "${log%/log}/data"
	done
	[ "${parts[$1]}" != tap ] || for log in tap/tmp_check/log/*.log; do
		name=$(basename "$log" .log)
		if [ -d "tap/tmp_check/t_${name}_data/pgdata" ] &&
			grep -aE "$CRASH" "$log" | grep -avq 'signal 9'; then
			crash_report "$log" "tap/tmp_check/t_${name}_data/pgdata"
		fi
	done
}

total_passed=0
total_failed=0
summary=()
failures=()

# Show and count the result of a part, by its number.
show_result()
{
	local log=$WORK/log/$1 part=${parts[$1]} rc took passed failed result

	read -r rc took <"$log.result"
	read -r passed failed < <(count_tests "$log")
	# A part that has lost its tests has failed too.
	if [ "$failed" = 0 ] && { [ "$rc" != 0 ] || [ "$passed" = 0 ]; }; then
		failed=1
	fi
	if [ "$failed" != 0 ]; then
		result=FAILED
		# The end of the output mostly says what went wrong.
		tail -n "${LOG_LINES:-400}" "$log" | sed 's/^/   | /'
		failures+=("$part:" "$(failed_tests "$log")" "$(crashes "$1")")
		printf '%s\n' "${failures[@]: -2}"
	else
		result=ok
	fi
	echo "   $result: $passed passed, $failed failed, $took s"
	summary+=("$(printf '%-14s %-9s %9d %7d %6d' "$part" "$result" "$passed" \
		"$failed" "$took")")
	total_passed=$((total_passed + passed))
	total_failed=$((total_failed + failed))
}

run_parts

echo
printf '%-14s %-9s %9s %7s %6s\n' part result passed failed s
printf '%s\n' "${summary[@]}"
echo
# Once more, for a reader who has only the end of the output.
if [ ${#failures[@]} != 0 ]; then
	printf '%s\n' "${failures[@]}"
	echo
fi
echo "$(($(date +%s) - start)) s"
echo "$total_passed passed, $total_failed failed"
[ $total_failed = 0 ]
