# shellcheck shell=bash
# shellcheck disable=SC2154 # the script that sources this has these variables
#
# parts.sh
#	Part of run-tests.sh: examples/shards on four servers, through PL/Proxy and through
#	postgres_fdw.  A fifth server has all players.  Each function of the extension gives
#	the same there and here: of loaded rows, after writers have stopped, and after one
#	shard has crashed.
#

# A server below $WORK/shards, as a copy of the first one.
copy_shard()
{
	as_server mkdir "$1"
	as_server cp -r shard_0/data "$1/data"
	echo "unix_socket_directories = '$1'" |
		as_server tee -a "$1/data/postgresql.conf" >/dev/null
	server_start "$1"
}

# Four shards, one server with all players, and one that clients connect to, with a
# database for each way.
make_shards()
{
	local dir=$WORK/shards

	as_server mkdir "$dir"
	cd "$dir" || exit
	{
		server_settings
		echo "shared_buffers = 16MB"
	} | server_init "$dir/shard_0"
	server_start "$dir/shard_0"
	sql -c 'CREATE DATABASE game' -c 'CREATE DATABASE fdw'
	server_stop "$dir/shard_0"
	for s in shard_1 shard_2 shard_3 one proxy; do
		copy_shard "$dir/$s"
	done
	server_start "$dir/shard_0"
	for s in shard_0 shard_1 shard_2 shard_3 one; do
		PGHOST=$dir/$s sql -d game -o /dev/null -f "$WORK/tree/examples/shards/database.sql" \
			-f "$WORK/tree/examples/shards/shard.sql"
	done
	PGHOST=$dir/proxy sql -d game -v shards="$dir" -f "$WORK/tree/test/shards/plproxy.sql"
	PGHOST=$dir/proxy sql -d fdw -v shards="$dir" -f "$WORK/tree/test/shards/fdw.sql"
}

# Run SQL on each shard, or on the server with all players.
on_shards()
{
	local s

	for s in 0 1 2 3; do
		PGHOST=$WORK/shards/shard_$s PGDATABASE=game sql -At "$@"
	done
}

on_one()
{
	PGHOST=$WORK/shards/one PGDATABASE=game sql -At "$@"
}

through()
{
	local database=$1

	shift
	PGHOST=$WORK/shards/proxy PGDATABASE=$database PGOPTIONS='-c search_path=shards' sql -At "$@"
}

# Each call of calls.sql gives the same everywhere.
compare_shards()
{
	local what=$1 players=$2 way

	on_one -c 'SELECT lb_wait_ready()' >/dev/null
	on_shards -c 'SELECT lb_wait_ready()' >/dev/null
	on_one -v players="$players" -f "$WORK/tree/test/shards/calls.sql" >one.out 2>&1 ||
		show_output one.out
	check "$what: calls return something" [ "$(wc -l <one.out)" -gt 1000 ]
	for way in game fdw; do
		through $way -v players="$players" -f "$WORK/tree/test/shards/calls.sql" >$way.out 2>&1 ||
			show_output $way.out
		check "$what, $way: as one server" diff one.out $way.out
	done
	check "$what: the boards are right" [ -z "$(on_one -c 'SELECT * FROM lb_verify()'; on_shards -c 'SELECT * FROM lb_verify()')" ]
}

# All rows of the shards to the one server.
gather_players()
{
	local t s

	for t in player_scores player_score_windows; do
		on_one -c "TRUNCATE $t"
		for s in 0 1 2 3; do
			PGHOST=$WORK/shards/shard_$s sql -d game -c "COPY $t TO STDOUT" |
				on_one -c "COPY $t FROM STDIN"
		done
	done
}

fails()
{
	! "$@"
}

# Submits on four connections, and reads that see them.
write_to_shards()
{
	echo "\\set player random(1, 3000)
		\\set amount random(1, 90)
		SELECT count(*) FROM shards.lb_submit(:player, :amount);
		SELECT shards.lb_rank(:player), count(*) FROM shards.lb_top(3, 'global', 1000);" |
		as_server tee submit.sql >/dev/null
	PGHOST=$WORK/shards/proxy "$BIN/pgbench" -n -c 4 -t "$1" -f submit.sql game >bench.out 2>&1 ||
		show_output bench.out
}

# snippet WORD LANGUAGE: what docs/scale-out.md has in the section whose title has that word.
snippet()
{
	awk -v word="$1" -v begin="^\`\`\`$2" '
		/^## / { ours = index($0, word) } /^```/ { code = $0 ~ begin; next } ours && code' \
		"$WORK/tree/docs/scale-out.md"
}

# The rank of a score on all shards, by the function for Python
from_a_service()
{
	{
		snippet service python
		cat <<-END
			import asyncpg

			async def main():
			    pools = [await asyncpg.create_pool(host=f"$PWD/shard_{i}", database="game", min_size=1, max_size=1)
			             for i in range(4)]
			    print(await global_rank(pools, 500))

			asyncio.run(main())
		END
	} | /usr/bin/python3 -
}

part_shards()
{
	local pid i s t writers

	prepare_install
	BIN=$(cat bin)
	[ -e "$("$BIN/pg_config" --sharedir)/extension/plproxy.control" ] ||
		{ echo "PL/Proxy is not installed"; return 1; }
	make_shards

	on_one -v players=4000 -f "$WORK/tree/test/shards/load.sql"
	for s in 0 1 2 3; do
		for t in player_scores player_score_windows; do
			on_one -c "COPY (SELECT * FROM $t WHERE hashint8(player_id) & 3 = $s) TO STDOUT" |
				PGHOST=$WORK/shards/shard_$s sql -d game -c "COPY $t FROM STDIN"
		done
	done
	compare_shards "loaded" 4000

	check "submits and reads go on together" write_to_shards 100
	gather_players
	compare_shards "after writers" 4000

	snippet PL/Proxy sql | PGHOST=$PWD/proxy sql -d game
	check "the example of docs/scale-out.md" [ "$(through game -c 'SELECT sum(n) FROM submits_of_today() AS n')" = \
		"$(on_shards -c 'SELECT count(*) FROM lb_event WHERE submitted_at >= CURRENT_DATE' | awk '{ n += $1 } END { print n }')" ]
	check "the service of docs/scale-out.md" [ "$(from_a_service)" = "$(on_one -c 'SELECT lb_rank_of_score(500)')" ]
	check "each submit has one event" [ "$(on_shards -c 'SELECT count(*) FROM lb_event' | awk '{ n += $1 } END { print n }')" = 400 ]

	# A shard whose postmaster is killed is an error, and no wrong answer.
	write_to_shards 1000000 &
	writers=$!
	for ((i = 0; i < 300; i++)); do
		[ "$(PGHOST=$PWD/shard_2 sql -Atc "SELECT count(*) FROM pg_stat_activity WHERE datname = 'game'")" -lt 4 ] || break
		sleep 0.1
	done
	pid=$(head -n 1 shard_2/data/postmaster.pid)
	kill -9 "$pid"
	wait $writers || true
	for way in game fdw; do
		check "$way: a count without a shard is an error" fails through $way -c 'SELECT lb_count()'
	done
	for ((i = 0; i < 100; i++)); do
		! as_server "$BIN/pg_ctl" -D shard_2/data -l shard_2/log -w start >/dev/null 2>&1 || break
		sleep 0.2
	done
	check "the shard is back" "$BIN/pg_isready" -q -h "$PWD/shard_2"
	check "submits go on" write_to_shards 20
	gather_players
	compare_shards "after a crash" 4000
	for s in shard_0 shard_1 shard_3 one proxy; do
		check_server_log "$PWD/$s"
	done
	checks_passed
}
