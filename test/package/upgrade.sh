#!/bin/bash
#
# upgrade.sh PACKAGE
#	Installs an older package, upgrades it to this one, with a server that has a
#	board, and purges it.  In root.sh.
#
# The older package has the same files: nothing has been released before.
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

# old_package: this one with an older version.
old_package()
{
	dpkg-deb -R "$package" old
	sed -i "s/^Version: .*/Version: 0-0/" old/DEBIAN/control
	dpkg-deb -b old old.deb >/dev/null
}

# The version of the extension, the rank of a player by the index, and what is wrong.
state()
{
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
old_package

# The machine may have what "make install" has left.
rm -rf "$("$BIN/pg_config" --pkglibdir)"/{leaderboard.so,bitcode/leaderboard*} \
	"$("$BIN/pg_config" --sharedir)"/extension/leaderboard*
changed >before

install old.deb
server_init "$WORK/server" </dev/null
server_start "$WORK/server"
sql -c "$board" >/dev/null
is "a board of the older package" "$new 201 0
t" "$(state)"

install "$package"
server_stop "$WORK/server"
server_start "$WORK/server"
is "the board with the library of $new" "$new 201 0
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
