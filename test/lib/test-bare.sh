#!/bin/bash
#
# test-bare.sh
#	Runs what README says, make demo and make test, on a bare Debian 12: a chroot with
#	nothing but make and git, which is removed afterwards.  TESTS="part ..." for some of
#	the parts of run-tests.sh only.
#
# What is on a developer's machine and not on a bare one is found here.  What is first on
# a developer's PATH is too: in /usr/local/bin are programs that only fail.
#
# Exits with 0 if all has passed, with 1 if something has failed, and with 77 if such a
# chroot is not to be had.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source-path=SCRIPTDIR source=chroot.sh
. "$(dirname "$0")/chroot.sh"

chroot_begin bare
root=$WORK/root
log=$WORK/log

skip()
{
	tail -n 15 "$log" | sed 's/^/   | /'
	echo "skipped: $*"
	exit 77
}

command -v debootstrap >/dev/null || { echo "there is no debootstrap" >"$log"; skip "no chroot"; }
echo "== a chroot with Debian 12"
make_root bookworm "$log" || skip "debootstrap: $(complaint "$log")"
inside "$log" sh -ec 'apt-get -q -y update
	apt-get -q -y install --no-install-recommends make git' || skip "packages: $(complaint "$log")"
for name in node npm python3 go perl pg_config clang; do
	# shellcheck disable=SC2016 # is for that program
	printf '#!/bin/sh\necho "$0 is not the distribution'\''s" >&2\nexit 1\n' \
		>"$root/usr/local/bin/$name"
	chmod 755 "$root/usr/local/bin/$name"
done

show=yes
failed=0
echo "== make demo"
# The server ends with the namespace, so what is asked of it is asked there.
# shellcheck disable=SC2016 # is for the other shell
inside "$WORK/demo.log" bash -ec '
	cd /leaderboard
	make demo 2>&1 | tee /root/demo
	[ "${PIPESTATUS[0]}" = 0 ]
	psql=$(sed -n "s/^  \(psql .*\)/\1/p" /root/demo)
	players=$($psql -Atc "SELECT lb_count()")
	page=$(sed -n "s/^  \(http:.*\)/\1/p" /root/demo)
	/usr/bin/python3 -c "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())" "$page" |
		grep -i "<title>"
	make demo-stop
	[ ! -e test/demo/.running ]
	[ "$players" = "${PLAYERS:-1000000}" ]' || { echo "not ok - make demo"; failed=1; }

echo "== make test"
inside "$WORK/test.log" make -C /leaderboard test || failed=1
[ $failed = 0 ]
