# shellcheck shell=bash
#
# parts.sh
#	The parts of "make test" about what is released: the archive for PGXN, Debian's
#	package, Dockerfile and compose.yaml.  For run-tests.sh.

# The archive for PGXN of a repository in which someone has built.  It goes into
# $WORK/dist, and its content beside it.
make_dist()
{
	copy_tree "$WORK/repository"
	as_server git -C repository init -q
	as_server git -C repository add -A
	as_server git -C repository -c user.name=test -c user.email=test@localhost \
		commit -q -m test
	as_server touch repository/src/leaderboard.o repository/leaderboard.so
	as_server mkdir dist
	as_server make -s -C dist -f ../repository/Makefile dist
	as_server unzip -q -d dist dist/*.zip
}

dist_is_complete()
{
	diff <(as_server git -C repository ls-files |
		grep -vE '^\.(ci/|editorconfig$|gitattributes$|gitignore$)' | sort) \
		<(cd dist/*/ && find . -type f -printf '%P\n' | sort)
}

# The built files of the package: the library with its bitcode, and all SQL scripts.
package_content()
{
	dpkg-deb --fsys-tarfile packages/*-leaderboard_*.deb | tar -t |
		sed -n 's/^\.\/usr\/\(lib\|share\/postgresql\)\/.*\/\([^/][^/]*\)$/\2/p' |
		sort >content
	{
		basename -a leaderboard.so leaderboard.index.bc leaderboard.control \
			tree/sql/leaderboard--*.sql
		# This one is for builds without src/citus only.
		find tree/src -name '*.c' ! -path '*/citus/none.c' -printf '%f\n' | sed 's/c$/bc/'
	} | sort | diff content -
}

# Packages, built from the archive: it has all that a build needs.
prepare_packages()
{
	[ ! -e packages ] || return 0
	[ -e dist ] || make_dist
	make -s -f dist/*/Makefile deb DEB_DIR="$WORK/packages"
}

# as_other_root SCRIPT FILE ...: a script of test/package and files below $WORK.
as_other_root()
{
	local root=() script=/leaderboard/tree/test/package/$1

	shift
	[ "$(id -u)" = 0 ] || root=(sudo)
	"${root[@]}" "$TREE/test/package/root.sh" "$WORK" env PG_MAJOR="${PG_MAJOR:-15}" \
		"$script" "${@/#//leaderboard/}"
}

part_deb()
{
	"$TREE/test/lib/prepare.sh" test-packages
	check "make dist" make_dist
	check "the archive has the committed files" dist_is_complete
	check "make deb" prepare_packages
	check "lintian" as_server lintian --fail-on error,warning packages/*.changes
	check "the package's content" package_content
	check "installation, upgrade and purge" as_other_root upgrade.sh \
		packages/*-leaderboard_*.deb
	checks_passed
}

# The tests that Debian runs on the installed package.
part_autopkgtest()
{
	"$TREE/test/lib/prepare.sh" test-packages
	prepare_packages
	check "autopkgtest" as_other_root autopkgtest.sh packages/*-leaderboard_*.deb \
		packages/*.dsc
	checks_passed
}

# What Dockerfile and compose.yaml say, without Docker.
part_docker()
{
	check "docker" as_other_root docker.sh tree
	checks_passed
}
