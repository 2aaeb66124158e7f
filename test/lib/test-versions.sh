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
set -eu
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# shellcheck source-path=SCRIPTDIR source=chroot.sh
. "$(dirname "$0")/chroot.sh"

read -ra versions <<<"${VERSIONS:-17 18 19}"
chroot_begin versions

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
	local root=$WORK/root PG_MAJOR=$version log=$WORK/log suite more show parts rc=0

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
	if ! make_root "$suite" "$log"; then
		skip "debootstrap: $(complaint "$log")"
		return
	fi
	[ -z "$more" ] || add_release "$root" "$more"

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
