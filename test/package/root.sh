#!/bin/bash
#
# root.sh DIR COMMAND [ARGUMENT ...]
#	Runs a command as root on a copy of this machine, in which it may install and
#	remove packages.  As root.
#
# The machine's root directory is the lower layer of another one.  What the command
# changes goes to memory, and is gone with its last process.  There, DIR is
# /leaderboard, and the changed files are below /changed.  Temporary files go to /run.
#
set -eu

dir=$(realpath "$1")
layers=$(mktemp -d)
shift
trap 'rmdir "$layers"' EXIT
# In a chroot, mounts are already those of the one that entered it.
propagation=private
mountpoint -q / || propagation=unchanged

# shellcheck disable=SC2016 # is for the other shell
unshare --mount --propagation $propagation --pid --ipc --fork --kill-child -- sh -ec '
	layers=$1
	dir=$2
	shift 2
	mount -t tmpfs tmpfs "$layers"
	cd "$layers"
	mkdir upper work root
	mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root
	mkdir -p root/leaderboard root/changed
	mount --bind "$dir" root/leaderboard
	mount --bind upper root/changed
	mount -t proc proc root/proc
	mount --rbind /dev root/dev
	mount -t tmpfs -o mode=1777 tmpfs root/dev/shm
	mount -t tmpfs -o mode=1777 tmpfs root/run
	TMPDIR=/run exec chroot root "$@"' sh "$layers" "$dir" "$@"
