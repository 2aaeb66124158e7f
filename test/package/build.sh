#!/bin/bash
#
# build.sh
#	Builds Debian's packages for PostgreSQL PG_MAJOR in a temporary directory, and
#	puts them into DEB_DIR.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"

dir=${DEB_DIR:-deb}
[[ $dir = /* ]] || dir=$PWD/$dir
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-parallel=$(nproc)}
# What pg_buildext builds for.  Otherwise it is the release's own version.
export PG_SUPPORTED_VERSIONS=${PG_MAJOR:-15}

command -v apt-get >/dev/null || die "Packages are only built on Debian."
"$TREE/test/lib/prepare.sh" deb
lb_begin deb
copy_tree "$WORK/source"
cd source

echo "Building the package, which takes a minute or two"
as_server pg_buildext updatecontrol
name=$(dpkg-parsechangelog -S Source)
version=$(dpkg-parsechangelog -S Version)
as_server tar --exclude=./debian -czf "../${name}_${version%-*}.orig.tar.gz" .
as_server dpkg-buildpackage -us -uc >"$WORK/build.log" 2>&1 ||
	{ tail -n 200 "$WORK/build.log"; die "the package does not build"; }

cd ..
mkdir -p "$dir"
for file in "${name}"*_"$version"* "${name}"*.orig.tar.gz postgresql-*.*deb; do
	cp "$file" "$dir/"
	echo "$dir/$file"
done
