#!/bin/bash
#
# test-cassert.sh
#	Runs every test on a PostgreSQL that checks its assertions, built from
#	Debian's source package: TESTS="part ..." for some of the parts of
#	run-tests.sh only.
#
# Everything happens in a temporary directory.  With CASSERT_DIR=DIR the server
# is installed there instead, and the next run finds it.  Exits with 0 if all
# tests have passed, with 1 if one has failed, and with 77 if there is no such
# server.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

pg=${PG_MAJOR:-15}
dir=${CASSERT_DIR:-}
[[ $dir = /* || -z $dir ]] || dir=$PWD/$dir

skip()
{
	[ ! -s "${WORK:-}/build.log" ] || tail -n 20 "$WORK/build.log" | sed 's/^/   | /'
	echo "skipped: $*" >&2
	exit 77
}

command -v apt-get >/dev/null ||
	skip "the source package takes apt-get; set PG_CONFIG and use make test"
unset PG_CONFIG
"$TREE/test/lib/prepare.sh" cassert || skip "packages are missing"
pgtap=$("$(find_postgres)" --sharedir)/extension

lb_begin cassert
[ -n "$dir" ] || dir=$WORK/pg
prefix=$dir/pgsql

# With what the tests use, and little that takes more packages.  The two of
# contrib are extensions that tests create.
build()
{
	local part

	cd source/*/ || return
	as_server ./configure --prefix="$prefix" --enable-cassert --enable-debug \
		--enable-tap-tests --with-icu --without-readline --without-zlib &&
		as_server make -s -j"$(nproc)" -C src &&
		as_server make -s -C src install &&
		as_server make -s -C config install || return
	for part in dblink pg_prewarm; do
		as_server make -s -C "contrib/$part" install || return
	done
	as_server cp "$pgtap"/pgtap* "$prefix/share/extension/"
}

if [ ! -e "$dir/complete-$pg" ]; then
	echo "Getting the source of PostgreSQL $pg"
	get_source "$pg" || skip "no source package postgresql-$pg"
	echo "Building it with --enable-cassert"
	mkdir -p "$dir"
	[ "$(id -u)" != 0 ] || chown "$SERVER_USER" "$dir"
	rm -rf "$prefix" "$dir"/complete-*
	(build) >build.log 2>&1 || skip "the build has failed"
	as_server touch "$dir/complete-$pg"
	rm -rf source apt
fi
"$prefix/bin/postgres" --version

rc=0
read -ra parts <<<"${TESTS:-}"
PG_CONFIG=$prefix/bin/pg_config \
	"$TREE/test/lib/run-tests.sh" "${parts[@]}" || rc=1
exit $rc
