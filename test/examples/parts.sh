# shellcheck shell=bash
#
# parts.sh
#	The parts "examples" and "page" of run-tests.sh: programs of users, each on a
#	database of its own.  Both share a server.
#
# Debian's Python, which has Debian's modules: another one may come first in PATH.
python=/usr/bin/python3

prepare_examples_server()
{
	prepare_install
	BIN=$(cat bin)
	[ -e "$WORK/examples-server" ] || {
		server_settings
		echo "leaderboard.notify_interval = '100ms'"
	} | server_init "$WORK/examples-server"
	use_server bin "$WORK/examples-server"
}

# in_example DIR COMMAND ...: what a program of examples/DIR prints, in a database of
# that name.  It prints each line at once: it may run out of time.
in_example()
{
	local dir=$1

	shift
	(
		cd "tree/examples/$dir" || exit
		as_server env PGDATABASE="example_$dir" PYTHONDONTWRITEBYTECODE=1 \
			PYTHONUNBUFFERED=1 timeout -k 10 300 stdbuf -oL "$@"
	)
}

# example DIR OUT COMMAND ...: the program prints what OUT has, and leaves boards that
# are right.
example()
{
	local dir=$1 out=$2

	shift 2
	in_example "$dir" "$@" >"$dir.out" || show_output "$dir.out"
	diff "tree/examples/$out" "$dir.out"
	[ -z "$(sql -d "example_$dir" -Atc 'SELECT * FROM leaderboard.lb_verify()')" ]
}

# uuid_example COMMAND ...: a program of examples/uuid.  All have one database, and
# print the same.
uuid_example()
{
	in_example uuid "$@" >uuid.out || show_output uuid.out
	diff tree/examples/uuid/tour.out uuid.out
}

# With PRISMA=1, since npm alone has it.  The client needs none of Prisma's programs, of
# which one would be downloaded.
prisma_example()
{
	local dir=$WORK/prisma

	as_server cp -r tree/examples/uuid/prisma "$dir"
	(
		cd "$dir" || exit
		as_server npm install --no-audit --no-fund --ignore-scripts
		as_server env PRISMA_SCHEMA_ENGINE_BINARY=/bin/true npx prisma generate --schema schema.prisma
	) >prisma.out || show_output prisma.out
	(
		cd "$dir" || exit
		as_server env PGDATABASE=example_uuid timeout -k 10 300 node tour.mjs
	) >uuid.out || show_output uuid.out
	diff tree/examples/uuid/tour.out uuid.out
}

# The module of Node: Debian's, which prepare.sh has installed.  A Node that is not
# Debian's does not go with that package, which is unpacked then, with all that it needs;
# elsewhere npm has it.
prepare_node()
{
	local apt names dir=$WORK/node

	export NODE_PATH=/usr/share/nodejs
	node -e 'require("pg")' 2>/dev/null && return
	as_server mkdir -p "$dir"
	if command -v apt-get >/dev/null; then
		private_apt deb
		names=$("${apt[@]}" --no-install-recommends -s install node-pg |
			sed -n '/^Inst node-/ s/^Inst \([^ ]*\).*/\1/p')
		# shellcheck disable=SC2086 # names
		get_packages "$dir" $names || show_output "$apt_log"
		NODE_PATH=$dir/usr/share/nodejs
	else
		as_server cp tree/examples/node/package.json "$dir"
		(cd "$dir" && as_server npm install --no-audit --no-fund)
		NODE_PATH=$dir/node_modules
	fi
}

# As its README says, the program is the same for pgx 5 but for two names.
go_build()
{
	(
		cd tree/examples/go || exit
		[ -e /usr/share/gocode/src/github.com/jackc/pgx/v4 ] ||
			as_server sed -i 's#jackc/pgx/v4#jackc/pgx/v5#; s#jackc/pgconn#jackc/pgx/v5/pgconn#' tour.go
		as_server env GO111MODULE=off GOPATH=/usr/share/gocode \
			GOCACHE="$WORK/go-cache" go build -o "$WORK/go-tour" tour.go
	)
}

# What tools take for the user's tables: with the extension in a schema of its own,
# none of ours.  In public they would see them, so these checks can fail.

sees_ours()
{
	sql -d example_public -c 'CREATE EXTENSION leaderboard'
	(
		cd tree/examples/sqlalchemy || exit
		PGDATABASE=example_public as_server "$python" ../../test/examples/introspection.py
	) >public.out || show_output public.out
	grep -q '^alembic:.*remove_table lb_board' public.out || show_output public.out
	grep -q "^information_schema:.*'lb_board'" public.out || show_output public.out
	(
		cd tree/examples/django || exit
		PGDATABASE=example_public as_server "$python" manage.py inspectdb
	) >public.out || show_output public.out
	grep -q 'class LbBoard(' public.out || show_output public.out
}

sees_none()
{
	in_example sqlalchemy "$python" ../../test/examples/introspection.py >own.out || show_output own.out
	printf '%s\n' "alembic: []" "information_schema: ['player', 'ranked']" "routines: []" |
		diff - own.out
	in_example django "$python" manage.py inspectdb --include-views |
		sed -n 's/^class \(.*\)(.*/\1/p' | diff <(printf '%s\n' DjangoMigrations Player Ranked) -
	in_example django "$python" manage.py makemigrations --check --dry-run
}

# sql_before TITLE PAGE: the page's SQL before that title.
sql_before()
{
	awk -v title="$1" '$0 == title { exit } /^```/ { code = $0 == "```sql"; next } code' "$2"
}

# with_http_server TEST ARGUMENT ...: a server of examples/http, until the test has ended.
# What it has run is added to what servers before it have.
with_http_server()
{
	local rc=0 port

	rm -f http.log
	in_background http env GAME_TOKEN=secret PORT=0 HEARTBEAT=0.2 MOST_STREAMS=2 PYTHONUNBUFFERED=1 \
		"$python" -m trace --count --missing --ignore-dir=/usr --file="$WORK/http.counts" \
		--coverdir="$WORK/http.cover" tree/examples/http/server.py
	wait_for grep -q '^Listening' http.log || rc=1
	port=$(sed -n 's/^Listening.*port //p' http.log)
	[ $rc != 0 ] || limited "$python" tree/test/examples/api.py tree "$port" "$@" || rc=$?
	kill "$(cat http.pid)"
	wait_for has_ended "$(cat http.pid)" || { rc=1; kill -KILL "$(cat http.pid)"; }
	wait $! || rc=$?
	[ $rc = 0 ] || tail -n 20 http.log
	return $rc
}

# Prints the lines of the server that no test has made it run.
each_line_has_run()
{
	! grep '^>>>>>>' http.cover/server.cover
}

part_examples()
{
	local name database

	"$TREE/test/lib/prepare.sh" examples
	prepare_examples_server
	database=$PGHOST
	for name in python node go c http django sqlalchemy uuid public; do
		"$BIN/createdb" "example_$name"
	done
	for name in python node go c; do
		sql -d "example_$name" -o /dev/null -f tree/examples/setup.sql
	done
	sql -d example_uuid -o /dev/null -f tree/examples/uuid/setup.sql
	check "python" example python tour.out "$python" tour.py
	prepare_node
	check "node $(node --version)" example node tour.out node tour.js
	check "go is built" go_build
	check "go" example go tour.out "$WORK/go-tour"
	check "c is built, no warning" as_server make -s -C tree/examples/c \
		PG_CONFIG="$(find_postgres)" CFLAGS="-O2 -Wall -Wextra -Werror"
	check "c" example c tour.out ./tour
	check "django's migrations" in_example django "$python" manage.py migrate
	check "django" example django django/tour.out "$python" tour.py
	check "sqlalchemy" example sqlalchemy sqlalchemy/tour.out "$python" tour.py
	for name in psycopg sqlalchemy django; do
		check "uuid, $name" uuid_example "$python" "tour_$name.py"
	done
	check "uuid, node" uuid_example node tour.js
	[ -z "${PRISMA:-}" ] || check "uuid, prisma" prisma_example
	sql_before '## PostgREST' tree/docs/http.md | sql -d example_http -o /dev/null
	PGHOST=/nowhere check "http, without a database" with_http_server nowhere
	PGDATABASE=example_http check "http" with_http_server
	PGHOST=$WORK/between PGDATABASE=example_http \
		check "http, a connection that is lost" with_http_server between "$database"
	check "the http server has run each of its lines" each_line_has_run
	check "its boards are right" [ -z "$(sql -d example_http -Atc 'SELECT * FROM leaderboard.lb_verify()')" ]
	check "in public, tools see tables of ours" sees_ours
	check "in a schema of its own, they see none" sees_none
	check_server_log "$WORK/examples-server"
	checks_passed
}

# in_background NAME COMMAND ...: the command's pid is in NAME.pid.
in_background()
{
	local name=$1

	shift
	# shellcheck disable=SC2016 # is for the other shell
	as_server sh -c 'echo $$ >"$0.pid"; exec "$@"' "$WORK/$name" "$@" >"$name.log" 2>&1 &
}

# has_ended PID: whether that process has.
has_ended()
{
	! kill -0 "$1" 2>/dev/null
}

# wait_for COMMAND ...: until it succeeds, two minutes at most.
wait_for()
{
	local i

	for ((i = 0; i < 1200; i++)); do
		! "$@" || return 0
		sleep 0.1
	done
	return 1
}

# The page of make demo, in a headless Chromium.
part_page()
{
	local driver

	"$TREE/test/lib/prepare.sh" page
	prepare_examples_server
	"$BIN/createdb" demo
	export PGDATABASE=demo PYTHONDONTWRITEBYTECODE=1
	sql -f tree/test/demo/create.sql >demo.out
	sql -v players=20000 -f tree/test/demo/load.sql >>demo.out
	sql -f tree/test/demo/page/schema.sql
	driver=$((20000 + RANDOM % 10000))
	trap 'kill $(cat page.pid plain.pid driver.pid)' EXIT
	# Only the second plays matches by itself.
	in_background page "$python" tree/test/demo/page/server.py --matches 0 \
		--port-file page.address
	in_background driver chromedriver --port=$driver
	wait_for grep -q 'started successfully' driver.log
	wait_for test -s page.address
	limited "$python" tree/test/examples/page.py "$(cat page.address)" "http://127.0.0.1:$driver" page
	# The players of a file have scores only.
	sql -c 'UPDATE player_scores SET name = NULL, country = NULL'
	in_background plain "$python" tree/test/demo/page/server.py --port-file plain.address
	wait_for test -s plain.address
	limited "$python" tree/test/examples/page.py "$(cat plain.address)" "http://127.0.0.1:$driver" plain
	check "the boards are right" [ -z "$(sql -Atc 'SELECT * FROM lb_verify()')" ]
	check "no board has run a query in the index's place" \
		[ "$(sql -Atc 'SELECT sum(query_reads) FROM lb_stat_board')" = 0 ]
	check_server_log "$WORK/examples-server"
	checks_passed
}
