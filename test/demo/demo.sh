#!/bin/bash
#
# demo.sh start|stop
#	A private server with a million players, what can be asked of it, a psql line
#	to go on with, and a page that ranks them (page/server.py), and plays matches
#	while it is open.  PLAYERS is the number of the million; CSV is a file with
#	player_id,score to load instead, with or without a header.  With STANDBY=yes
#	the server gets a standby, and is killed for that to take its place.
#
#	Nothing is written but packages, if any are missing, and a directory below
#	TMPDIR, which "stop" removes.  Where it is stands in test/demo/.running.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"

here=$TREE/test/demo
running=$here/.running

# The pid of the page's server, if it is still there.
page_pid()
{
	local pid

	{ read -r pid <"$1/page.pid"; } 2>/dev/null &&
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$1/page/server.py" &&
		echo "$pid"
}

stop()
{
	local dir pid

	dir=$(cat "$running")
	if [ -d "$dir" ]; then
		! pid=$(page_pid "$dir") || kill "$pid"
		stop_servers "$dir"
		rm -rf "$dir"
	fi
	rm -f "$running"
}

case ${1:-start} in
	stop)
		[ -e "$running" ] || die "no demo server of this tree is running"
		stop
		echo "The demo server is stopped and removed."
		exit 0
		;;
	start) ;;
	*) die "usage: demo.sh start|stop" ;;
esac

if [ -e "$running" ]; then
	dir=$(cat "$running")
	if server_pid "$dir/server/data/postmaster.pid" "$dir" >/dev/null ||
		server_pid "$dir/standby/data/postmaster.pid" "$dir" >/dev/null; then
		echo "A demo server is running already, in $dir."
		die 'Stop it with "make demo-stop" first.'
	fi
	stop						# it has gone with a reboot, say
fi

# Rather now than when all is done.
[ -w "$here" ] ||
	die "cannot write to \"$here\", where it is noted which server to stop"

players=${PLAYERS:-1000000}
csv=${CSV:-}
if [ -n "$csv" ]; then
	csv=$(realpath -e -- "$CSV" 2>/dev/null) || die "there is no file \"$CSV\""
	[ -r "$csv" ] || die "cannot read \"$csv\""
elif ! [[ $players =~ ^[1-9][0-9]*$ ]] || [ "$players" -lt 100 ]; then
	die "PLAYERS must be a number, at least 100: \"$players\""
fi

"$TREE/test/lib/prepare.sh" demo
lb_begin demo

if [ -t 1 ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
	bold='' plain=''
fi

step()
{
	printf '\n%s-- %s%s\n\n' "$bold" "$*" "$plain"
}

# Run one of the SQL files beside this, showing statements, results and times.
# Neither its pager nor its colours must depend on who is looking.
show()
{
	sql -P pager=off -P footer=off -P null=NULL -v bold="$bold" -v plain="$plain" \
		"$@" 2>&1
}

step "Building the extension and installing it into a private copy of PostgreSQL"
private_postgres "$WORK/pg"
copy_tree "$WORK/tree"
as_server make -s -C tree -j"$(nproc)" with_llvm=no \
	PG_CONFIG="$BIN/pg_config" install >make.log 2>&1 ||
	{ cat make.log >&2; die "the build has failed"; }
rm -rf tree

# Memory enough for whatever number of players: pages that are not touched
# cost nothing.
memory=$((players * 150 / 1000000 + 256))
if [ -n "$csv" ]; then
	memory=$(($(stat -Lc %s "$csv") * 30 / 1000000 + 256))
fi
server_init "$WORK/server" <<-END
	leaderboard.memory = '${memory}MB'
	shared_buffers = '512MB'
	max_wal_size = '4GB'
	leaderboard.notify_interval = '200ms'
END
server_start "$WORK/server"
"$BIN/createdb" demo
export PGDATABASE=demo
echo "$(sql -Atc 'SELECT version()' | cut -d, -f1), on a socket in $PGHOST"

step "Two tables with their boards, and one for each country"
show -f "$here/create.sql"

if [ -n "$csv" ]; then
	step "Loading $csv"
	header=
	if ! head -n 1 "$csv" | grep -Eq '^"?-?[0-9]+"?,'; then
		# PostgreSQL 14 reads over it, whatever it says.
		header=$(sql -Atc "SELECT CASE WHEN current_setting('server_version_num')::int >= 150000 THEN ', HEADER MATCH' ELSE ', HEADER' END")
	fi
	# Read here, by who gave the file: the server may not be allowed to.
	show -c '\timing on' -c "COPY player_scores (player_id, score) FROM STDIN (FORMAT csv$header)" <"$csv"
	[ "$(sql -Atc 'SELECT count(*) FROM player_scores')" != 0 ] ||
		die "there is no player in \"$csv\""
else
	step "Loading $players players; most scores are low, a few are very high"
	show -v players="$players" -f "$here/load.sql"
fi
sql -c 'VACUUM ANALYZE player_scores'

show -f "$here/queries.sql"

step "The index lives in memory, so a restart builds it again"
began=$(date +%s%N)
server_stop "$WORK/server"
server_start "$WORK/server"
export PGDATABASE=demo
echo "The server was restarted in $((($(date +%s%N) - began) / 1000000)) ms."
show -f "$here/restart.sql"

if [ "${STANDBY:-}" = yes ]; then
	step "A standby answers by indexes of its own"
	as_server mkdir standby
	as_server "$BIN/pg_basebackup" -h "$WORK/server" -U postgres -c fast -R \
		-D standby/data
	echo "unix_socket_directories = '$WORK/standby'" |
		as_server tee -a standby/data/postgresql.conf >/dev/null
	server_start "$WORK/standby"
	export PGDATABASE=demo
	show -f "$here/standby.sql"

	step "The primary is killed, and the standby promoted: from the promotion to a rank"
	server_stop "$WORK/server" immediate
	show -f "$here/promote.sql"
fi

# It is to be left running: forget that it was to be removed.
echo "$WORK" >"$running"
trap - EXIT

# The page's server is another user's, who may not be able to read the tree.
step "A live page: these players, moved by 50 matches a second"
sql -f "$here/page/schema.sql"
as_server mkdir page
tar -C "$here/page" -cf - . | as_server tar -C page --no-same-owner -xf -
# shellcheck disable=SC2016 # is for the other shell
as_server sh -c 'setsid /usr/bin/python3 "$0/page/server.py" --port-file "$0/page.address" \
	>"$0/page.log" 2>&1 </dev/null & echo $! >"$0/page.pid"' "$WORK"
for ((i = 0; i < 100; i++)); do
	[ ! -s page.address ] || break
	sleep 0.1
done
if [ -s page.address ]; then
	echo "  $(cat page.address)"
else
	echo "The page's server has not started:"
	tail -n 3 page.log
fi

as=
[ "$(id -u)" = 0 ] && [ -n "${SUDO_USER:-}" ] && as='sudo '
step "The server goes on running until \"make demo-stop\""
echo "  ${as}psql -h $PGHOST -U postgres demo"
