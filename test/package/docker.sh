#!/bin/bash
#
# docker.sh TREE
#	Runs what Dockerfile and compose.yaml say, without Docker: on this machine's
#	PostgreSQL PG_MAJOR, where the official image has that of postgresql.org.
#	In root.sh.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"

context=$1
export PG_MAJOR=${PG_MAJOR:-15} DEBIAN_FRONTEND=noninteractive
BIN=/usr/lib/postgresql/$PG_MAJOR/bin

# instruction NAME WORDS: one of the Dockerfile.  Both stages are in one root.
instruction()
{
	local words

	read -ra words <<<"$2"
	case $1 in
		ARG) ;;
		FROM) [[ ${words[0]} = "postgres:\${PG_MAJOR}-"* ]] && workdir=/ ;;
		WORKDIR) workdir=$2 && mkdir -p "$workdir" ;;
		RUN) (cd "$workdir" && sh -ec "$2") ;;
		COPY)
			if [ "${words[0]}" = --from=build ]; then
				cp -r "${words[1]}/." "${words[2]}"
			elif [ -d "$context/${words[0]}" ]; then
				cp -r "$context/${words[0]}" "$workdir/${words[1]}"
			else
				(cd "$context" && cp "${words[@]::${#words[@]}-1}" "$workdir/${words[-1]}")
			fi
			;;
		*) die "the Dockerfile has $1, which this script does not know" ;;
	esac
}

# compose KEY ...: an item of the service.
compose()
{
	perl -MYAML::XS=LoadFile -e '
		my $item = LoadFile(shift)->{services}{db};
		$item = ref $item eq "ARRAY" ? $item->[$_] : $item->{$_} for @ARGV;
		print $item' "$context/compose.yaml" "$@"
}

# Like the official image: its programs are in PATH, and one file is where a
# Dockerfile can change it.
PATH=$PATH:$BIN
sample=$("$BIN/pg_config" --sharedir)/postgresql.conf.sample
mv "$sample" /usr/share/postgresql/postgresql.conf.sample
ln -s ../postgresql.conf.sample "$sample"
# The machine may have what "make install" has left.
rm -rf "$("$BIN/pg_config" --pkglibdir)/leaderboard.so" \
	"$("$BIN/pg_config" --sharedir)"/extension/leaderboard*

lb_begin docker
while read -r name words; do
	echo "# $name $words"
	instruction "$name" "$words"
done < <(sed -e '/^#/d; /^$/d' -e ':more; /\\$/{N; s/\\\n */ /; b more}' "$context/Dockerfile")

# The entrypoint of the official image makes the server and runs the scripts.
as_server "$BIN/initdb" -D "$WORK/server/data" -U postgres -A trust >initdb.log
echo "unix_socket_directories = '$WORK/server'" >>"$WORK/server/data/postgresql.conf"
server_start "$WORK/server"
db=$(compose environment POSTGRES_DB)
"$BIN/createdb" "$db"
script=$(compose volumes 1)
sql -d "$db" -f "$context/${script%%:*}"
healthy=$(compose healthcheck test 1)
sh -c "${healthy/-h 127.0.0.1/-h $WORK\/server}"
echo "# healthy"
[ "$(sql -d "$db" -Atq -c 'SELECT lb_create_tables()' \
	-c 'INSERT INTO player_scores (player_id, score) VALUES (1, 300), (2, 100), (3, 200)' \
	-c 'SELECT lb_rank(3)' | tail -1)" = 2 ]
