# shellcheck shell=bash
# shellcheck disable=SC2034 # variables are for the script that sources this
#
# common.sh
#	What the scripts of test/ share: a private copy of PostgreSQL to install
#	into, and private servers.
#
# Nothing outside a temporary directory is written.  PostgreSQL finds its files
# from where its programs are, so a copy of the programs, with links to the
# rest, is an installation of its own: "make install" into it needs no
# privileges, disturbs no server of the machine and no other run of the tests,
# and leaves nothing behind.
#
# Servers do not run as root.  If root runs a script, user postgres does all work, in
# directories of its own, since it may not be able to read the tree.
#
# The script that sources this sets -eu, calls lb_begin, and works in $WORK.

TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# The environment may name another server, which no script may touch.
unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD PGPASSFILE PGSERVICE \
	PGOPTIONS PGDATA PGHOSTADDR PGSSLMODE PGTZ PGCLIENTENCODING PGAPPNAME \
	PGTARGETSESSIONATTRS PSQLRC PSQL_PAGER PAGER

# Make's own variables must not reach the builds that a script starts.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES

# On Debian a program that a test uses is Debian's own, whatever a developer's PATH finds
# first: a bare machine has no other.  PG_CONFIG may name any.
if command -v dpkg-query >/dev/null; then
	if [ -n "${PG_CONFIG:-}" ]; then
		PG_CONFIG=$(command -v "$PG_CONFIG" || echo "$PG_CONFIG")
	fi
	own_path=
	IFS=: read -ra dirs <<<"$PATH"
	for dir in "${dirs[@]}" /usr/sbin /usr/bin /sbin /bin; do
		case $dir in
			/usr/lib/* | /usr/sbin | /usr/bin | /sbin | /bin)
				[[ :$own_path: = *:$dir:* ]] || own_path+=${own_path:+:}$dir
				;;
		esac
	done
	export PATH=$own_path
	unset own_path dirs dir
	# What these name is not Debian's either.
	unset PYTHONPATH PYTHONHOME PERL5LIB PERL5OPT NODE_PATH NODE_OPTIONS GOROOT GOFLAGS
fi

# Messages are compared and numbers are parsed.
export LC_ALL=C

die()
{
	echo "$*" >&2
	exit 1
}

if [ "$(id -u)" = 0 ]; then
	SERVER_USER=postgres
else
	SERVER_USER=$(id -un)
fi

# Run a command as the user that owns the server.
as_server()
{
	if [ "$(id -u)" = 0 ]; then
		HOME=${WORK:-/} runuser -u "$SERVER_USER" -- "$@"
	else
		"$@"
	fi
}

# lb_begin NAME [keep]: makes $WORK, and unless it is to be kept removes it at
# the end, with all servers in it.
lb_begin()
{
	if [ "$(id -u)" = 0 ] && ! id "$SERVER_USER" >/dev/null 2>&1; then
		die "there is no user $SERVER_USER"
	fi
	# PostgreSQL's own makefiles and scripts take them for two.
	[[ $TREE != *[[:space:]]* ]] ||
		die "The path of this tree has a blank in it, which make cannot cope with: \"$TREE\""
	[[ ${TMPDIR:-/tmp} != *[[:space:]]* ]] ||
		die "TMPDIR must not have a blank in it: \"$TMPDIR\""
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/leaderboard-$1.XXXXXX")
	# A socket's path has to fit into 107 bytes.
	[ ${#WORK} -le 70 ] || { rmdir "$WORK"; die "TMPDIR is too long a path"; }
	if [ "$(id -u)" = 0 ]; then
		chown "$SERVER_USER" "$WORK"
	fi
	trap lb_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	cd "$WORK" || exit
}

# runs_from PID DIR: whether that process runs a program below DIR.  Its
# owner may always ask; in a container root may not.
runs_from()
{
	local exe

	exe=$(as_server readlink "/proc/$1/exe") && [[ $exe = "$(realpath "$2")"/* ]]
}

# server_pid PIDFILE DIR: the pid of the server that wrote the file, if it is
# still there: a program of a copy below DIR.  After a reboot, say, another
# process can have that pid.
server_pid()
{
	local pid

	{ read -r pid <"$1"; } 2>/dev/null && runs_from "$pid" "$2" && echo "$pid"
}

# Stops every server in a directory, by the pid that it wrote itself.
stop_servers()
{
	local pidfile pid i

	find "$1" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		pid=$(server_pid "$pidfile" "$1") || continue
		kill -INT "$pid" 2>/dev/null || continue
		for ((i = 0; i < 100; i++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		! runs_from "$pid" "$1" || kill -QUIT "$pid" 2>/dev/null || true
	done
}

lb_end()
{
	local rc=$?

	# An impatient user, or make beside the terminal, sends a signal twice.
	trap '' INT TERM HUP
	trap - EXIT
	cd /
	stop_servers "$WORK"
	rm -rf "$WORK"
	exit $rc
}

# Where the server's programs are that we make a copy of: PG_CONFIG's, or those
# of Debian's package of version PG_MAJOR.
find_postgres()
{
	local c=${PG_CONFIG:-}

	if [ -z "$c" ]; then
		c=/usr/lib/postgresql/${PG_MAJOR:-15}/bin/pg_config
		[ -x "$c" ] || c=pg_config
	fi
	c=$(command -v "$c") || die "there is no pg_config"
	echo "$c"
}

# private_postgres DIR: a copy of PostgreSQL below DIR that can be installed
# into.  Sets BIN, where its programs are.
private_postgres()
{
	local dir=$1 config bin lib share include f

	config=$(find_postgres)
	bin=$("$config" --bindir)
	lib=$("$config" --pkglibdir)
	share=$("$config" --sharedir)
	include=$("$config" --includedir-server)

	# The programs must be copies: each finds out where it really is.  Of what
	# is installed into, the directories must be our own.
	as_server mkdir -p "$dir$bin" "$dir$lib/bitcode" "$dir$share/extension" \
		"$dir$(dirname "$include")"
	as_server cp "$bin"/* "$dir$bin/"
	for f in "$lib"/*; do
		case $f in
			*/bitcode | */leaderboard.so) ;;
			# Where a plain prefix holds both, as in lib/postgresql/bin.
			"$bin" | "$share") ;;
			*) as_server ln -s "$f" "$dir$f" ;;
		esac
	done
	for f in "$lib"/bitcode/*; do
		case $f in
			*/leaderboard | */leaderboard.index.bc) ;;
			*) as_server ln -s "$f" "$dir$f" ;;
		esac
	done
	for f in "$share"/*; do
		case $f in
			*/extension) ;;
			*) [ -e "$dir$f" ] || as_server ln -s "$f" "$dir$f" ;;
		esac
	done
	find "$share/extension" -mindepth 1 -maxdepth 1 \
		! -name 'leaderboard.control' ! -name 'leaderboard--*' -print0 |
		as_server xargs -0 ln -s -t "$dir$share/extension"
	as_server ln -s "$include" "$dir$include"

	BIN=$dir$bin
	[ "$("$BIN/pg_config" --pkglibdir)" = "$dir$lib" ] ||
		die "this PostgreSQL cannot be moved: $config"
}

# copy_tree DIR: a clean copy of the tree.
copy_tree()
{
	as_server mkdir -p "$1"
	tar -C "$TREE" --exclude=./.git --exclude='*.o' --exclude='*.bc' \
		--exclude='*.so' --exclude=./.deps --exclude=./test/unit/build \
		--exclude=./test/client/oracle/oracle --exclude=./test/client/chaos \
		--exclude=./test/client/faults --exclude=./test/client/load \
		--exclude=./test/client/protocol --exclude=./test/bench/client --exclude=./examples/c/tour \
		--exclude=./results --exclude=./output_iso \
		--exclude=./deb --exclude='./leaderboard-*.zip' -cf - . |
		as_server tar -C "$1" --no-same-owner -xf -
}

# server_init DIR, then settings on standard input.
server_init()
{
	as_server mkdir -p "$1"
	as_server "$BIN/initdb" -D "$1/data" -U postgres -A trust -E UTF8 \
		--locale=C --no-sync >"$1.initdb.log" 2>&1 ||
		{ cat "$1.initdb.log" >&2; die "initdb failed"; }
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$1'"
		echo "unix_socket_permissions = 0700"
		echo "shared_preload_libraries = 'leaderboard'"
		cat
	} | as_server tee -a "$1/data/postgresql.conf" >/dev/null
}

# server_start DIR: starts it, and directs libpq to it.  If it crashes, it leaves a core.
server_start()
{
	as_server "$BIN/pg_ctl" -c -D "$1/data" -l "$1/log" -w -t 120 start \
		>/dev/null 2>&1 ||
		{ tail -20 "$1/log" >&2; die "the server does not start"; }
	export PGHOST=$1 PGUSER=postgres PGDATABASE=postgres
}

server_stop()
{
	as_server "$BIN/pg_ctl" -D "$1/data" -w -t 300 -m "${2:-fast}" stop \
		>/dev/null
}

# psql without a psqlrc, stopping at the first error.
sql()
{
	"$BIN/psql" -X -q -v ON_ERROR_STOP=1 "$@"
}

# release_of VERSION: the release of Debian that has this version of PostgreSQL, and the
# one where its packages are first.
release_of()
{
	case $1 in
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo forky ;;
		19) echo sid experimental ;;
		*) return 1 ;;
	esac
}

# private_apt KIND [RELEASE ...]: sets apt to apt-get with lists of our own, of packages
# (deb) or of their sources (deb-src) of these releases, by default the machine's,
# whatever the machine's lists name and is installed.  Its files are in the folder that
# apt_dir names, and what was said meanwhile in the file apt_log.
apt_dir=apt
apt_log=build.log

private_apt()
{
	local kind=$1 dir=$WORK/$apt_dir release

	shift
	# shellcheck disable=SC1091 # the system's
	[ $# != 0 ] || set -- "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")"
	as_server mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	for release in "$@"; do
		echo "$kind ${MIRROR:-http://deb.debian.org/debian} $release main"
	done | as_server tee "$dir/sources.list" >/dev/null
	apt=(apt-get -q -y -o Dir::Etc::sourcelist="$dir/sources.list"
		-o Dir::Etc::sourceparts=/dev/null -o Dir::State="$dir/state"
		-o Dir::State::status=/dev/null
		-o Dir::Cache="$dir/cache" -o Acquire::Check-Valid-Until=false)
	as_server "${apt[@]}" update >"$apt_log" 2>&1
}

# get_source VERSION: Debian's source of the server, below $WORK/source.
get_source()
{
	local apt

	as_server mkdir -p source
	# From a folder that its user can read.
	private_apt deb-src &&
		(cd source && as_server "${apt[@]}" source "postgresql-$1") >>"$apt_log" 2>&1
}

# get_packages DIR NAME ...: the files of Debian's packages, below DIR.  Nothing is
# installed, and no service starts.  They are of the releases that RELEASES names, or of
# the machine's.
get_packages()
{
	local apt dir=$1 deb releases

	shift
	read -ra releases <<<"${RELEASES:-}"
	as_server mkdir -p "$dir"
	private_apt deb "${releases[@]}" || return
	(
		cd "$dir" && as_server "${apt[@]}" download "$@" || exit
		for deb in *.deb; do
			as_server dpkg-deb -x "$deb" . || exit
		done
	) >>"$apt_log" 2>&1
}
