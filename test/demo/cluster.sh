#!/bin/bash
#
# cluster.sh start|stop
#	Four servers that share a million players, and one that clients connect to, which
#	asks them by PL/Proxy (examples/shards): exact ranks among all, a shard that is
#	killed and comes back, and a psql line to go on with.  PLAYERS is the number of the
#	million.
#
#	Nothing is written but packages, if any are missing, and a directory below
#	TMPDIR, which "stop" removes.  Where it is stands in test/demo/.cluster-running.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"

here=$TREE/test/demo
running=$here/.cluster-running

stop()
{
	local dir

	dir=$(cat "$running")
	if [ -d "$dir" ]; then
		stop_servers "$dir"
		rm -rf "$dir"
	fi
	rm -f "$running"
}

case ${1:-start} in
	stop)
		[ -e "$running" ] || die "no demo cluster of this tree is running"
		stop
		echo "The servers are stopped and removed."
		exit 0
		;;
	start) ;;
	*) die "usage: cluster.sh start|stop" ;;
esac

if [ -e "$running" ]; then
	dir=$(cat "$running")
	if server_pid "$dir/proxy/data/postmaster.pid" "$dir" >/dev/null; then
		echo "A demo cluster is running already, in $dir."
		die 'Stop it with "make demo-cluster-stop" first.'
	fi
	stop						# it has gone with a reboot, say
fi

# Rather now than when all is done.
[ -w "$here" ] ||
	die "cannot write to \"$here\", where it is noted which servers to stop"

players=${PLAYERS:-1000000}
if ! [[ $players =~ ^[1-9][0-9]*$ ]] || [ "$players" -lt 1000 ]; then
	die "PLAYERS must be a number, at least 1000: \"$players\""
fi

"$TREE/test/lib/prepare.sh" demo-cluster
lb_begin cluster

if [ -t 1 ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
	bold='' plain=''
fi

step()
{
	printf '\n%s-- %s%s\n\n' "$bold" "$*" "$plain"
}

# Run SQL on the server that clients connect to, showing statements, results and times.
show()
{
	PGHOST=$WORK/proxy PGDATABASE=game PGOPTIONS='-c search_path=shards' \
		sql -P pager=off -P footer=off -P null=NULL -v bold="$bold" -v plain="$plain" "$@" 2>&1
}

step "Building the extension and installing it into a private copy of PostgreSQL"
private_postgres "$WORK/pg"
copy_tree "$WORK/tree"
as_server make -s -C tree -j"$(nproc)" with_llvm=no \
	PG_CONFIG="$BIN/pg_config" install >make.log 2>&1 ||
	{ cat make.log >&2; die "the build has failed"; }

step "Four shards, and a server that clients connect to"
memory=$((players * 40 / 1000000 + 64))
for s in 0 1 2 3; do
	server_init "$WORK/shard_$s" <<-END
		leaderboard.memory = '${memory}MB'
		shared_buffers = '64MB'
	END
	server_start "$WORK/shard_$s"
	sql -c 'CREATE DATABASE game'
	sql -d game -o /dev/null -f tree/examples/shards/database.sql -f tree/examples/shards/shard.sql
	echo "shard_$s: psql -h $PGHOST -U postgres game"
done
server_init "$WORK/proxy" <<<"shared_preload_libraries = ''"
server_start "$WORK/proxy"
sql -c 'CREATE DATABASE game'
sql -d game -v shards="$WORK" -f tree/test/shards/plproxy.sql
rm -rf tree

step "Loading $players players, each into the shard that the hash of the number says"
for s in 0 1 2 3; do
	PGHOST=$WORK/shard_$s sql -d game -o /dev/null -v players="$players" -v shard="$s" \
		-f "$here/cluster-load.sql"
done
show -f "$here/cluster-queries.sql"

step "A shard is killed: no answer is better than one without its players"
read -r pid <shard_2/data/postmaster.pid
kill -9 "$pid"
show -v ON_ERROR_STOP=0 -c 'SELECT lb_rank(4711)' || true

step "It comes back, and builds its board again"
for ((i = 0; i < 100; i++)); do
	! as_server "$BIN/pg_ctl" -D shard_2/data -l shard_2/log -w start >/dev/null 2>&1 || break
	sleep 0.2
done
show -f "$here/cluster-again.sql"

# They are to be left running: forget that they were to be removed.
echo "$WORK" >"$running"
trap - EXIT

as=
[ "$(id -u)" = 0 ] && [ -n "${SUDO_USER:-}" ] && as='sudo '
step "The servers go on running until \"make demo-cluster-stop\""
echo "  ${as}PGOPTIONS='-c search_path=shards' psql -h $WORK/proxy -U postgres game"
