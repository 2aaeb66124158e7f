#!/bin/bash
#
# test-core.sh
#	Runs PostgreSQL's own regression and isolation tests on a server that
#	preloads the library, in databases that have the extension.
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

rc=0
suite regress installcheck-parallel || rc=1
# It is there at the end, and has not been asked for anything.
[ "$(sql -d regression -Atc "SELECT count(*) FROM pg_extension WHERE extname = 'leaderboard'")" = 1 ] ||
	{ echo "the extension was not there"; rc=1; }
suite isolation installcheck || rc=1
if grep -E 'PANIC|TRAP:|was terminated by signal' "$WORK/server/log"; then
	rc=1
fi
exit $rc
