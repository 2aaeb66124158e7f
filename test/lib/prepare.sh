#!/bin/bash
#
# prepare.sh demo|demo-cluster|test|cassert|redis|deb|bench|peers|profile|quick|examples|page|test-packages [part ...]
#	Installs what "make demo", "make demo-cluster", "make test", "make test-cassert", the tests beside Redis,
#	"make deb", "make bench", "make bench-peers", "make bench-profile" or "make
#	bench-quick" needs and is not there yet, from Debian's packages, as root or through
#	sudo.  On other systems it only says what is missing.  PG_MAJOR is the version of
#	PostgreSQL, PG_CONFIG one that is installed.  "examples", "page" and "test-packages"
#	are parts of the tests.  Behind "test" may stand the parts that are to run, if not all:
#	what only others need is not asked for where PG_CONFIG says which server it is.
#
set -eu

purpose=${1:-test}
parts=" ${*:2} "
pg=${PG_MAJOR:-15}

packages=(gcc make libc6-dev)
commands=(gcc make)
[ "$purpose" = quick ] ||
	packages+=("postgresql-$pg" "postgresql-server-dev-$pg")
# python_module NAME PACKAGE: Debian's Python is to have it.
python_module()
{
	/usr/bin/python3 -c "import $1" 2>/dev/null || packages+=("$2")
}

case $purpose in
	demo)
		python_module psycopg python3-psycopg
		;;
	demo-cluster)
		packages+=("postgresql-$pg-plproxy")
		;;
	test | cassert)
		# gcc includes the sanitizers' run-time libraries, libpq-dev what the
		# client is built with, the pgtap packages the extension and pg_prove, plproxy
		# what the part shards uses.
		# sqlsmith is for the part of that name.
		packages+=(libpq-dev clang valgrind perl libipc-run-perl libyaml-libyaml-perl sqlsmith
			"postgresql-$pg-pgtap" "postgresql-$pg-plproxy" libtap-parser-sourcehandler-pgtap-perl)
		commands+=(clang valgrind prove)
		# Only this part uses pgtap.
		use_pgtap=
		[[ -n "${parts// /}" && $parts != *" pgtap "* ]] || use_pgtap=yes
		[ -z "$use_pgtap" ] || commands+=(pg_prove)
		# And docs/scale-out.md.
		python_module asyncpg python3-asyncpg
		# It reads the cores of servers that crashed.
		command -v gdb >/dev/null || packages+=(gdb-minimal)
		;;&
	cassert)
		packages+=(dpkg-dev bison flex pkg-config libicu-dev)
		;;&
	cassert | redis)
		# redis-tools has the server's program, and starts none.
		packages+=(redis-tools python3-redis python3-hiredis python3-psycopg)
		commands+=(redis-check-rdb python3)
		;;
	deb | test-packages)
		packages+=(build-essential dpkg-dev debhelper postgresql-server-dev-all)
		;;&
	test-packages)
		packages+=(lintian git unzip)
		;;
	bench | peers)
		# What the client is built with.
		packages+=(libpq-dev libhiredis-dev)
		;;&
	peers)
		# redis-tools has the server's program, and starts none.
		packages+=(redis-tools gnuplot-nox)
		commands+=(redis-cli gnuplot)
		;;
	profile)
		packages+=(valgrind)
		commands+=(valgrind)
		# Not to be had for every kernel; what it measures is left out then.
		! apt-cache show linux-perf >/dev/null 2>&1 || packages+=(linux-perf)
		;;
	quick)
		packages+=(valgrind)
		commands+=(valgrind)
		;;
	examples)
		packages+=(libpq-dev)
		python_module psycopg python3-psycopg
		python_module psycopg2 python3-psycopg2
		python_module django python3-django
		python_module sqlalchemy python3-sqlalchemy
		python_module alembic python3-alembic
		python_module asyncpg python3-asyncpg
		python_module tornado python3-tornado
		command -v go >/dev/null || packages+=(golang-go)
		# Later releases have version 5 only.
		if ! [ -e /usr/share/gocode/src/github.com/jackc/pgx ]; then
			pgx=golang-github-jackc-pgx-v4-dev
			! apt-cache show ${pgx/v4/v5} >/dev/null 2>&1 || pgx=${pgx/v4/v5}
			packages+=("$pgx")
		fi
		# Another Node than Debian's may be installed as the package of that name, and
		# does not go with Debian's modules: the test then unpacks these.
		[[ $(dpkg-query -W -f '${Version}' nodejs 2>/dev/null) = *nodesource* ]] ||
			packages+=(nodejs node-pg)
		commands+=(node go)
		;;
	page)
		python_module psycopg python3-psycopg
		packages+=(chromium chromium-driver)
		commands+=(chromedriver)
		;;
esac

# With PG_CONFIG there is a server, and Debian's is not needed.
if [ -n "${PG_CONFIG:-}" ] || ! command -v apt-get >/dev/null ||
	! command -v dpkg-query >/dev/null; then
	missing=()
	for c in "${commands[@]}"; do
		command -v "$c" >/dev/null || missing+=("$c")
	done
	pgxs=$("${PG_CONFIG:-pg_config}" --pgxs 2>/dev/null) || pgxs=
	[ "$purpose" = quick ] || [ -e "$pgxs" ] ||
		missing+=("PostgreSQL with its server development files (pg_config in PATH, or PG_CONFIG=/path/to/it)")
	case $purpose in
		bench | peers)
			[ -e /usr/include/hiredis/hiredis.h ] ||
				missing+=("hiredis with its header")
			;;
	esac
	if [ "$purpose" = redis ]; then
		/usr/bin/python3 -c 'import psycopg, redis' 2>/dev/null ||
			missing+=("the modules psycopg and redis of /usr/bin/python3")
	fi
	if [ "$purpose" = test ] || [ "$purpose" = cassert ]; then
		for c in IPC::Run YAML::XS; do
			perl "-M$c" -e1 2>/dev/null || missing+=("perl module $c")
		done
		/usr/bin/python3 -c 'import asyncpg' 2>/dev/null ||
			missing+=("the module asyncpg of /usr/bin/python3")
		share=$("${PG_CONFIG:-pg_config}" --sharedir 2>/dev/null) || share=
		[ -z "$use_pgtap" ] || [ -e "$share/extension/pgtap.control" ] ||
			missing+=("extension pgtap in that PostgreSQL")
	fi
	if [ ${#missing[@]} -gt 0 ]; then
		{
			echo "Packages are only installed on Debian.  Please install:"
			printf '  %s\n' "${missing[@]}"
		} >&2
		exit 1
	fi
	exit 0
fi

installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for p in "${packages[@]}"; do
	installed "$p" || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "Not installed: ${missing[*]}.  Run this as root, or install them." >&2
		exit 1
	fi
	root=(sudo)
fi
apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
	-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)

log=$(mktemp)
conf=/etc/postgresql-common/createcluster.conf
conf_saved=
finish()
{
	if [ -n "$conf_saved" ]; then
		"${root[@]}" cp "$conf_saved" "$conf"
	fi
	rm -f "$log" "$conf_saved"
}
trap finish EXIT

# The output of apt-get is of interest only when it fails.
run()
{
	if ! "$@" >"$log" 2>&1; then
		cat "$log" >&2
		echo "failed: $*" >&2
		exit 1
	fi
}

echo "Installing: ${missing[*]}"
run "${apt[@]}" update
# Not every version has these; the part of the tests is left out then, or fails.
for name in plproxy pgtap; do
	p=postgresql-$pg-$name
	if [ "$purpose" != demo-cluster ] && ! apt-cache show "$p" >/dev/null 2>&1; then
		for i in "${!missing[@]}"; do
			[ "${missing[i]}" != "$p" ] || unset "missing[i]"
		done
		[ ${#missing[@]} -gt 0 ] || exit 0
	fi
done
if [ "$purpose" != quick ] &&
	! apt-cache show "postgresql-$pg" >/dev/null 2>&1; then
	cat >&2 <<END
There is no package postgresql-$pg here: Debian 12 has it for version 15.
Elsewhere install PostgreSQL $pg with its development files, and set PG_CONFIG.
END
	exit 1
fi

# Debian makes and starts a cluster when the server is first installed.  That
# is not what was asked for, so hold it back this once.
if [ "$purpose" != quick ] && ! installed "postgresql-$pg"; then
	run "${apt[@]}" install --no-install-recommends postgresql-common
	if [ -e $conf ]; then
		conf_saved=$(mktemp)
		cp $conf "$conf_saved"
		"${root[@]}" tee -a $conf >/dev/null <<<'create_main_cluster = false'
	fi
fi
run "${apt[@]}" install --no-install-recommends "${missing[@]}"
