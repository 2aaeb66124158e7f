# shellcheck shell=bash
# shellcheck disable=SC2154 # the script that sources this has these variables
#
# parts.sh
#	Part of run-tests.sh: examples/queue, with a Redis and a server of its own, which the
#	test kills.  The log is not where crashes() would take them for a crash of a part that
#	runs beside this one.
#

# SUBMITS pass meanwhile.
part_queue()
{
	local submits=${SUBMITS:-80000}

	"$TREE/test/lib/prepare.sh" redis
	prepare_install
	BIN=$(cat bin)
	server_settings | server_init "$WORK/queue/server"
	echo "   seed $seed: $submits submits" >&3
	limited tree/test/queue/test.py "$WORK/tree" "$WORK/queue/server" "$BIN" "$submits" "$seed" || {
		tail -n 20 queue/server/log queue/server/*.log
		false
	}
	check_server_log "$WORK/queue/server" 'signal 9: Killed'
}
