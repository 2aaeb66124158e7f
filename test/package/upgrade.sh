#!/bin/bash
#
# upgrade.sh PACKAGE
#	Installs the package of the version before, upgrades it to this one, with a
#	server that has a board, and purges it.  In root.sh.
#
# The package of the version before is this one with the older default version and
# without the script that upgrades to the new one.  So its library is ahead of its
# SQL, as it is on every server between the upgrade of the package and that of the
# extension.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"

package=$1
name=$(dpkg-deb -f "$package" Package)
BIN=/usr/lib/postgresql/${PG_MAJOR:-15}/bin
export DEBIAN_FRONTEND=noninteractive
failed=0

# is TITLE EXPECTED FOUND
is()
{
	if [ "$2" = "$3" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1: \"$3\" instead of \"$2\""
		failed=1
	fi
}

# Files that differ from the machine's, but for the records of dpkg and debconf.
changed()
{
	(cd /changed && find . -type d \( -path ./var/lib/dpkg -o -path ./var/log -o \
		-path ./var/cache/debconf \) -prune -o ! -type d -print) | sort
}

# old_package: of the version before, which it prints.
old_package()
{
	local script old

	dpkg-deb -R "$package" old
	script=$(echo old/usr/share/postgresql/*/extension/leaderboard--*--"$new.sql")
	old=${script##*/leaderboard--}
	old=${old%--*}
	rm "$script"
	sed -i "s/^default_version = .*/default_version = '$old'/" \
		"${script%/*}/leaderboard.control"
	sed -i "s/^Version: .*/Version: $old-0/" old/DEBIAN/control
	(cd old && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
	dpkg-deb -b old old.deb >/dev/null
	echo "$old"
}

# The version of the extension, the rank of a player by the index, and what is wrong.
state()
{
	# With another version the board is built again.
	sql -Atc "SELECT lb_wait_ready('1 min')" >/dev/null
	sql -AtF ' ' -c "
		SELECT extversion, lb_rank(7), (SELECT count(*) FROM lb_verify())
		FROM pg_extension WHERE extname = 'leaderboard'"
	sql -Atc "SELECT sum(index_reads) > 0 FROM lb_stat_board"
}

install()
{
	dpkg -i "$1" >dpkg.log 2>&1 || { cat dpkg.log; return 1; }
}

board="CREATE EXTENSION leaderboard;
	SELECT lb_create_tables();
	INSERT INTO player_scores (player_id, score) SELECT i, i % 10 FROM generate_series(1, 1000) i"

lb_begin upgrade
new=$(dpkg-deb -f "$package" Version)
new=${new%-*}
old=$(old_package)

# The machine may have what "make install" has left.
rm -rf "$("$BIN/pg_config" --pkglibdir)"/{leaderboard.so,bitcode/leaderboard*} \
	"$("$BIN/pg_config" --sharedir)"/extension/leaderboard*
changed >before

install old.deb
server_init "$WORK/server" </dev/null
server_start "$WORK/server"
sql -c "$board" >/dev/null
is "a board of $old" "$old 201 0
t" "$(state)"

install "$package"
server_stop "$WORK/server"
server_start "$WORK/server"
is "the library of $new with the extension of $old" "$old 201 0
t" "$(state)"
sql -c 'ALTER EXTENSION leaderboard UPDATE'
is "the extension of $new" "$new 201 0
t" "$(state)"

sql -c 'CREATE DATABASE another'
export PGDATABASE=another
sql -c "$board" >/dev/null
is "a board of $new in another database" "$new 201 0
t" "$(state)"
server_stop "$WORK/server"

dpkg --purge "$name" >dpkg.log 2>&1 || cat dpkg.log
changed >after
is "purging restores all files" '' "$(diff before after)"
is "purging leaves no directory" '' "$(find /changed/{usr,var} ! -type c -name '*leaderboard*')"
[ $failed = 0 ]
