#!/bin/bash
#
# keys.sh
#	What boards cost by the type of their members: memory, builds, ranks and
#	updates.
#
#	SIZE		members of each board, 10000000
#	RUN_SECONDS	length of a run, 5; may be a fraction (make bench-keys SECONDS=...)
#	ROUNDS		runs of each side, 5
#	OUT			Markdown file with marker comments between which the table goes;
#				docs/performance.md where SIZE is the default, else none
#	AWAKE		"no" lets processors sleep between the answers to a single client
#	VALKEY_DIR	where the chroot with Valkey is, or is to be kept
#	MIRROR		Debian's mirror
#
# All boards have the same scores.  A member is the random uuid that client.c makes
# of its number, or a part of its text; so all sides are asked for the same random
# members, by the same texts.
#
# shellcheck disable=SC2016 # backquotes are Markdown's
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$TREE/test/bench/common.sh"
# shellcheck source-path=SCRIPTDIR source=stores.sh
. "$TREE/test/bench/stores.sh"

size=${SIZE:-10000000}
seconds=${RUN_SECONDS:-5}
rounds=${ROUNDS:-5}
out=${OUT:-}
for v in size rounds; do
	[[ ${!v} =~ ^[1-9][0-9]*$ ]] || die "${v^^} must be a number: \"${!v}\""
done
if ! [[ $seconds =~ ^[0-9]*\.?[0-9]+$ ]]; then
	die "SECONDS must be a number: \"$seconds\""
fi
if [ -z "$out" ] && [ "$size" = 10000000 ]; then
	out=$TREE/docs/performance.md
fi
[ -z "$out" ] || out=$(realpath -m -- "$out")
[ -z "$out" ] || has_marks "$out" "make bench-keys"

command="make bench-keys"
[ "$size" = 10000000 ] || command="$command SIZE=$size"
[ "$seconds" = 5 ] || command="$command SECONDS=$seconds"
[ "$rounds" = 5 ] || command="$command ROUNDS=$rounds"

"$TREE/test/lib/prepare.sh" peers
lb_begin keys
trap 'stop_stores $?' EXIT
find_valkey
bench_server $((size * 2))
bench_client
start_stores valkey
declare -A store_bytes=()

#
# The same rows for all.
#

# Of each kind of members: the column's type, its value of a row of bench_uuid, and
# the bars of bytes per member after a build, and of seconds of one of 10 million.
kinds=(bigint uuid text20 text36)
declare -A \
	name=([bigint]='`bigint`' [uuid]='`uuid`' [text20]='`text`, 20 bytes'
		[text36]='`text`, 36 bytes') \
	type=([bigint]=bigint [uuid]=uuid [text20]=text [text36]=text) \
	value=([bigint]='row_number() OVER ()' [uuid]=player_id
		[text20]="left(replace(player_id::text, '-', ''), 20)"
		[text36]=player_id::text) \
	bytes_bar=([bigint]=44 [uuid]=56 [text20]=72 [text36]=92) \
	build_bar=([uuid]=4 [text20]=8)

# Those that a client asks for by the text of a uuid, with the bars of their ranks
# and updates.
asked=(uuid text36)
declare -A rank_bar=([uuid]=1.1) ranks_bar=([uuid]=4) update_bar=([uuid]=0.9)

# fill TABLE KIND: makes a table of the rows of bench_uuid.
fill()
{
	bench_table "$1" "${type[$2]}"
	sql -c "INSERT INTO $1 SELECT ${value[$2]}, score, updated_at FROM bench_uuid"
}

# A table bench_KIND for each board; the same without a board, plain_KIND; and
# empty_uuid with a trigger that does nothing.
say "$size rows into each of $((${#kinds[@]} + ${#asked[@]} + 1)) tables"
bench_table bench_uuid uuid
"$client" -n "$size" -u | sql -c 'CREATE TEMP TABLE member (uuid uuid)' \
	-c 'COPY member FROM STDIN' \
	-c "INSERT INTO bench_uuid SELECT uuid, $random_row FROM member"
tables=(bench_uuid)
for k in "${kinds[@]}"; do
	[ "$k" != uuid ] || continue
	fill "bench_$k" "$k"
	tables+=("bench_$k")
done
for k in "${asked[@]}"; do
	fill "plain_$k" "$k"
	tables+=("plain_$k")
done
fill empty_uuid uuid
empty_trigger empty_uuid
tables+=(empty_uuid)
for t in "${tables[@]}"; do
	sql -c "ALTER TABLE $t ADD PRIMARY KEY (player_id)"
done
sql -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT

say "boards"
for k in "${kinds[@]}"; do
	prewarm "bench_$k"
	sql -o /dev/null -c "SELECT lb_create_board('$k', 'bench_$k',
		rank_by => 'score DESC, updated_at ASC')" -c 'SELECT lb_wait_ready()'
done
for s in "${systems[@]}"; do
	say "the same uuids into ${name_of[$s]}"
	v=$(used_memory "$s")
	sql -c "COPY (SELECT player_id, score FROM bench_uuid) TO STDOUT (FORMAT csv)" |
		"$client" -r "$WORK/$s/socket" -P 1000 -l board >/dev/null
	store_bytes[$s]=$(quotient $(($(used_memory "$s") - v)) "$size")
done

#
# Memory and builds.
#

say "builds"
turn=()
for k in "${kinds[@]}"; do
	turn+=("build_$k rebuild $k")
done
turns "${turn[@]}"
for k in "${kinds[@]}"; do
	v=$(bytes_per_member "$k")
	row "memory per member, ${name[$k]}, after the build" "$(number "$v") bytes" \
		"" "" "≤ ${bytes_bar[$k]} bytes" "$(verdict "$v" '<=' "${bytes_bar[$k]}")"
done
for s in "${systems[@]}"; do
	for k in "${asked[@]}"; do
		v=$(bytes_per_member "$k")
		row "the same, ${name[$k]}, against ${name_of[$s]}" \
			"$(number "$v") bytes" "$(number "${store_bytes[$s]}") bytes" \
			"$(number "$(quotient "$v" "${store_bytes[$s]}")") ×" "" ""
	done
done
for k in "${kinds[@]}"; do
	v=$(median_series "build_$k")
	bar=${build_bar[$k]:-}
	row "build of $(number "$size"), ${name[$k]}" "$(number "$v") s" "" "" \
		"${bar:+≤ $bar s}" "${bar:+$(verdict "$v" '<=' "$bar")}"
done

#
# Ranks.
#

# What ask() takes.
# shellcheck disable=SC2034 # in stores.sh
declare -A text=(
	[zrank]='ZREVRANK board {u}'
	[ztop]='ZREVRANGE board 0 99 WITHSCORES'
	[top]="SELECT * FROM lb_top(100, 'bigint')")
for k in "${asked[@]}"; do
	text[rank-$k]="SELECT lb_rank_key({u}, '$k')"
	text[ranks-$k]="SELECT rank FROM lb_ranks_key({U}, '$k')"
	text[top-$k]="SELECT * FROM lb_top_key(100, '$k')"
	text[score-$k]="SELECT score FROM bench_$k WHERE player_id = {u}"
	for t in bench plain empty; do
		text[update-$t-$k]="UPDATE ${t}_$k SET score = score + {d}
			WHERE player_id = {u}"
	done
done
members=$size

for k in "${asked[@]}"; do
	say "ranks of random members, ${name[$k]}"
	prewarm "bench_$k" "bench_${k}_pkey"
	turns "rank1 ask pg 1 rank-$k" "score1 ask pg 1 score-$k" \
		"rank2 ask pg 2 rank-$k" "score2 ask pg 2 score-$k"
	for c in 1 2; do
		v="$c client$([ $c = 1 ] || echo s)"
		ratio_row "\`lb_rank_key\`, ${name[$k]}, $v, against the score by primary key" \
			rank$c score$c /s "${rank_bar[$k]:-}"
	done
done

say "many ranks, and the best 100"
turn=()
for k in "${asked[@]}"; do
	turn+=("ranks_$k ask pg 1 ranks-$k -b 1000" "top_$k ask pg 1 top-$k")
done
mapfile -t stores < <(per_store "zrank_{} ask {} 1 zrank -P 100"
	per_store "ztop_{} ask {} 1 ztop")
turns "${turn[@]}" "top ask pg 1 top" "${stores[@]}"
for k in "${asked[@]}"; do
	stores_ratio "\`lb_ranks_key\` of 1,000 members a call, ${name[$k]}, 1 client," \
		"ranks_$k" zrank "ranks/s" "" "${ranks_bar[$k]:-}" \
		'ZREVRANK of the same strings in pipelines of 100'
	ratio_row "\`lb_top_key(100)\`, ${name[$k]}, against \`lb_top(100)\`, \`bigint\`" \
		"top_$k" top /s ""
	stores_ratio "\`lb_top_key(100)\`, ${name[$k]}," "top_$k" ztop /s "" "" \
		'ZREVRANGE 0 99 WITHSCORES'
done
v=$(sql -Atc 'SELECT sum(query_reads) FROM lb_stat_board')
[ "$v" = 0 ] || die "$v reads did not use the index"

#
# Updates.
#

# update_turns KIND TABLE ...: the series are named like the tables.
update_turns()
{
	local k=$1 t names=() texts=()

	shift
	say "updates of the score, ${name[$k]}, 2 clients"
	for t in "$@"; do
		prewarm "${t}_$k" "${t}_${k}_pkey"
		names+=("$t")
		texts+=("update-$t-$k")
	done
	log_pages "${@/%/_$k}"
	export PGOPTIONS='-c synchronous_commit=off'
	more_turns "$(IFS=,; echo "${names[*]} ask pg 2 ${texts[*]} -T 0.1")"
	unset PGOPTIONS
	ratio_row "\`UPDATE\` of a score, ${name[$k]}, 2 clients, against no board" \
		bench plain /s "${update_bar[$k]:-}"
}

update_turns uuid bench plain empty
ratio_row 'the same with a row trigger in C that does nothing instead of the board' \
	empty plain /s ""
update_turns text36 bench plain

for k in "${kinds[@]}"; do
	say "$size random updates, ${name[$k]}"
	random_updates "bench_$k"
	row "memory per member, ${name[$k]}, after $(number "$size") random updates" \
		"$(number "$(bytes_per_member "$k")") bytes" "" "" "" ""
done

verify

#
# The table.
#

table()
{
	cat <<-END
		\`$command\`, $(machine); boards of $(number "$size") members with random
		scores from 0 to 1,000,000, ranked by \`score DESC, updated_at ASC\`; ${name_of[valkey]}${missing[valkey]:+ (left out: ${missing[valkey]})}
		with its defaults, without a file. Medians of $rounds runs of $seconds s in turns.
		Updates have four times as many shorter runs, in which the tables take turns of
		0.1 s in the same connections. Ratios have their least and greatest value, too.

		| measure | leaderboard | against it | ratio | bar | |
		|---|---:|---:|---:|---:|---|
	END
	printf '%s\n' "${rows[@]}"
}

echo
table
echo
echo "$(($(date +%s) - began)) s in all"

[ -n "$out" ] || exit 0
table >table.md
put_table "$out" "make bench-keys" "$WORK/table.md"
