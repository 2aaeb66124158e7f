# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are for, or of, the script that sources this
#
# chroot.sh
#	What test-versions.sh and test-bare.sh share: a release of Debian in a temporary
#	directory, entered with chroot.
#
# What runs inside has namespaces of its own for mounts, processes and System V
# IPC: with its first process all others end, and its mounts are gone.
#
# The script that sources this has sourced common.sh, and calls chroot_begin.

mirror=${MIRROR:-http://deb.debian.org/debian}

# chroot_begin NAME: makes $WORK, which is removed at the end.
chroot_begin()
{
	local c

	[ "$(id -u)" = 0 ] || die "The tests run in a chroot, which takes root."
	for c in unshare chroot tar; do
		command -v "$c" >/dev/null || die "there is no program $c"
	done
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/leaderboard-$1.XXXXXX")
	running=
	trap chroot_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	cd "$WORK" || exit

	if ! command -v debootstrap >/dev/null && command -v apt-get >/dev/null; then
		echo "Installing: debootstrap"
		{
			apt-get -q -y update &&
				DEBIAN_FRONTEND=noninteractive apt-get -q -y install \
					--no-install-recommends debootstrap
		} >"$WORK/log" 2>&1 || tail -n 5 "$WORK/log" >&2
	fi
}

chroot_end()
{
	local rc=$? i

	trap '' INT TERM HUP
	trap - EXIT
	cd /
	if [ -n "$running" ]; then
		# Blocks weaker signals.  What it has started goes with it.
		kill -KILL "$running" 2>/dev/null || true
		wait 2>/dev/null || true
	fi
	# Who has just been killed may take a moment to let go.
	for ((i = 0; i < 20; i++)); do
		rm -rf --one-file-system "$WORK" 2>/dev/null && break
		sleep 0.5
	done
	[ ! -e "$WORK" ] || echo "not removed: $WORK" >&2
	exit $rc
}

# run LOG COMMAND ...: in namespaces of its own.  Not as a foreground process,
# which a signal to this shell would wait for.  With show=yes the log is shown.
run()
{
	local log=$1 rc=0

	shift
	unshare --mount --pid --ipc --fork --kill-child --mount-proc -- \
		"$@" >"$log" 2>&1 </dev/null &
	running=$!
	if [ "${show:-}" = yes ]; then
		tail -n +1 -f --pid=$running "$log" &
	fi
	wait $running || rc=$?
	running=
	wait
	return $rc
}

# inside LOG COMMAND ...: in the chroot $root, with what a server and apt-get need.
inside()
{
	local log=$1 v vars=()

	shift
	for v in http_proxy https_proxy no_proxy PG_MAJOR TESTS TAP RUN_SECONDS CONNECTIONS \
		TRANSACTIONS SEED LOG_LINES MIRROR PLAYERS; do
		[ -z "${!v:-}" ] || vars+=("$v=${!v}")
	done
	# shellcheck disable=SC2016 # is for the other shell
	run "$log" sh -ec '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		chroot "$root" "$@"' sh "$root" \
		/usr/bin/env -i LC_ALL=C HOME=/root \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		"${vars[@]}" "$@"
}

# The last complaint in a log.
complaint()
{
	local line

	line=$(grep -aE '^(E:|W: Failure|failed:|There is no)' "$1" | tail -n 1)
	echo "${line:-$(tail -n 1 "$1")}"
}

# make_root SUITE LOG: $root is a chroot with that release, and the tree in
# /leaderboard.
make_root()
{
	local script=()

	# A release that is younger than debootstrap is like unstable.
	[ -e "/usr/share/debootstrap/scripts/$1" ] ||
		script=(/usr/share/debootstrap/scripts/sid)
	run "$2" debootstrap --variant=minbase "$1" "$root" "$mirror" "${script[@]}" ||
		return
	# A mirror may be one of an earlier day.
	echo 'Acquire::Check-Valid-Until "false";' \
		>"$root/etc/apt/apt.conf.d/99leaderboard"
	# No package starts anything.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	mkdir "$root/leaderboard"
	tar -C "$TREE" --exclude=./.git --exclude='*.o' --exclude='*.bc' \
		--exclude='*.so' --exclude=./.deps --exclude=./test/unit/build \
		--exclude=./test/client/oracle/oracle --exclude=./test/bench/client \
		--exclude=./test/demo/.running \
		--exclude=./results --exclude=./output_iso -cf - . |
		tar -C "$root/leaderboard" --no-same-owner -xf -
}
