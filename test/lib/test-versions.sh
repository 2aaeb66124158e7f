#!/bin/bash
#
# test-versions.sh
#	Runs every test on other major versions of PostgreSQL: VERSIONS="17 18 19",
#	TESTS="part ..." for some of the parts of run-tests.sh only.
#
# Each version comes from the release of Debian that has it, which is put into
# a temporary directory and entered with chroot.  Mirror is MIRROR, by default
# http://deb.debian.org/debian.  Exits with 0 if all versions have passed, with
# 1 if a test has failed, and with 77 if nothing has failed but a version was
# not to be had.
#
# What runs inside has namespaces of its own for mounts, processes and System V
# IPC: with its first process all others end, and its mounts are gone.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

mirror=${MIRROR:-http://deb.debian.org/debian}
read -ra versions <<<"${VERSIONS:-17 18 19}"

[ "$(id -u)" = 0 ] ||
	die "Tests on other versions run in a chroot, which takes root."
for c in unshare chroot tar; do
	command -v "$c" >/dev/null || die "there is no program $c"
done

WORK=$(mktemp -d "${TMPDIR:-/tmp}/leaderboard-versions.XXXXXX")
running=

finish()
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
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$WORK"

# run LOG COMMAND ...: in namespaces of its own.  Not as a foreground process,
# which a signal to this shell would wait for.
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

# inside LOG COMMAND ...: in the chroot, with what a server and apt-get need.
inside()
{
	local log=$1 v vars=()

	shift
	for v in http_proxy https_proxy no_proxy TESTS RUN_SECONDS CONNECTIONS \
		TRANSACTIONS SEED LOG_LINES; do
		[ -z "${!v:-}" ] || vars+=("$v=${!v}")
	done
	# shellcheck disable=SC2016 # is for the other shell
	run "$log" sh -ec '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		chroot "$root" "$@"' sh "$root" \
		/usr/bin/env -i LC_ALL=C HOME=/root PG_MAJOR="$version" \
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

# add_release ROOT RELEASE: of this release too, the packages of the version only.
add_release()
{
	echo "deb $mirror $2 main" >"$1/etc/apt/sources.list.d/$2.list"
	cat >"$1/etc/apt/preferences.d/leaderboard" <<-END
		Package: *postgresql*-$version* libpq*
		Pin: release a=$2
		Pin-Priority: 600
	END
}

# borrow_pgtap: that of the version before, copied into this version.
borrow_pgtap()
{
	# shellcheck disable=SC2016 # is for the other shell
	inside "$log" sh -ec '
		cd /root
		apt-get -q -y download "postgresql-$1-pgtap"
		dpkg-deb -x postgresql-*-pgtap_*.deb pgtap
		cp pgtap/usr/share/postgresql/"$1"/extension/pgtap* \
			"/usr/share/postgresql/$2/extension/"' sh $((version - 1)) "$version"
}

# Each version ends as "ok", "FAILED" or "skipped", with the reason in $why.
result=
why=

skip()
{
	result=skipped
	why=$*
	[ ! -s "$log" ] || tail -n 15 "$log" | sed 's/^/   | /'
	echo "   skipped: $why"
}

test_version()
{
	local root=$WORK/root log=$WORK/log suite more script=() show parts rc=0

	result=FAILED
	why=
	passed=0
	failed=0
	: >"$log"
	if ! more=$(release_of "$version"); then
		skip "no release of Debian is known to have PostgreSQL $version"
		return
	fi
	read -r suite more <<<"$more"
	if ! command -v debootstrap >/dev/null; then
		skip "there is no debootstrap"
		return
	fi

	echo "   making a chroot with Debian $suite"
	# A release that is younger than debootstrap is like unstable.
	[ -e "/usr/share/debootstrap/scripts/$suite" ] ||
		script=(/usr/share/debootstrap/scripts/sid)
	if ! run "$log" debootstrap --variant=minbase "$suite" "$root" \
		"$mirror" "${script[@]}"; then
		skip "debootstrap: $(complaint "$log")"
		return
	fi
	# A mirror may be one of an earlier day.
	echo 'Acquire::Check-Valid-Until "false";' \
		>"$root/etc/apt/apt.conf.d/99leaderboard"
	[ -z "$more" ] || add_release "$root" "$more"
	# No package starts anything.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	mkdir "$root/leaderboard"
	tar -C "$TREE" --exclude=./.git --exclude='*.o' --exclude='*.bc' \
		--exclude='*.so' --exclude=./.deps --exclude=./test/unit/build \
		--exclude=./test/client/oracle/oracle --exclude=./test/bench/client \
		--exclude=./results --exclude=./output_iso -cf - . |
		tar -C "$root/leaderboard" --no-same-owner -xf -

	echo "   installing PostgreSQL $version and the tools in it"
	if ! inside "$log" /leaderboard/test/lib/prepare.sh test; then
		skip "packages: $(complaint "$log")"
		return
	fi

	# The next version's package comes later.  The extension is SQL, and runs on any.
	if ! [ -e "$root/usr/share/postgresql/$version/extension/pgtap.control" ]; then
		borrow_pgtap || { skip "pgtap: $(complaint "$log")"; return; }
	fi

	show=yes
	read -ra parts <<<"${TESTS:-}"
	inside "$log" /leaderboard/test/lib/run-tests.sh "${parts[@]}" || rc=$?
	read -r passed failed < <(sed -n \
		's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" |
		tail -n 1) || true
	if [ $rc = 0 ]; then
		result=ok
	elif [ "${failed:-0}" = 0 ]; then
		failed=1
	fi
	version_name=$(chroot "$root" \
		"/usr/lib/postgresql/$version/bin/postgres" --version 2>/dev/null |
		sed 's/.*) \([0-9].*\) (.*/\1/') || true
}

if ! command -v debootstrap >/dev/null && command -v apt-get >/dev/null; then
	echo "Installing: debootstrap"
	{
		apt-get -q -y update &&
			DEBIAN_FRONTEND=noninteractive apt-get -q -y install \
				--no-install-recommends debootstrap
	} >"$WORK/log" 2>&1 || tail -n 5 "$WORK/log" >&2
fi

nfailed=0
nskipped=0
summary=()
for version in "${versions[@]}"; do
	echo "=== PostgreSQL $version"
	began=$(date +%s)
	version_name=$version
	passed=0
	failed=0
	test_version
	case $result in
		FAILED) nfailed=$((nfailed + 1)) ;;
		skipped) nskipped=$((nskipped + 1)) ;;
	esac
	summary+=("$(printf '%-16s %-9s %9d %7d %6d  %s' \
		"PostgreSQL $version_name" "$result" "${passed:-0}" "${failed:-0}" \
		$(($(date +%s) - began)) "$why")")
	rm -rf --one-file-system "$WORK/root"
done

echo
printf '%-16s %-9s %9s %7s %6s\n' version result passed failed s
printf '%s\n' "${summary[@]}"
[ $nfailed = 0 ] || exit 1
[ $nskipped = 0 ] || exit 77
