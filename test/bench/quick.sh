#!/bin/bash
#
# quick.sh
#	Counts the instructions of the data structure by itself, which a busy machine
#	does not disturb, and shows them beside the committed figures of quick.txt.
#
#	WRITE=yes	writes quick.txt
#
# The programs are test/unit/bench.c under valgrind's callgrind, with a cache of
# 1 MiB for a board of 8: as much of it is missed as with 10 million members and
# a large cache.  The figures are those of one compiler: another makes other
# code.  So nothing fails here for a figure, only for a program that does not run.
#
set -eu
# shellcheck source-path=SCRIPTDIR source=../lib/common.sh
. "$(dirname "$0")/../lib/common.sh"

members=200000
updates=15000
reads=15000
figures=$TREE/test/bench/quick.txt

"$TREE/test/lib/prepare.sh" quick
WORK=$(mktemp -d "${TMPDIR:-/tmp}/leaderboard-quick.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$WORK"

mkdir tree
tar -C "$TREE" --exclude=./.git --exclude=./test/unit/build -cf - src test |
	tar -C tree -xf -
make -s -C tree/test/unit benches

# Counts the instructions of a program, whose rows begin with a name, into a file.
count()
{
	local program=$1 name=$2 dump

	mkdir "$program"
	valgrind -q --tool=callgrind --callgrind-out-file="$program/out" \
		--cache-sim=yes \
		--I1=32768,8,64 --D1=32768,8,64 --LL=1048576,16,64 \
		"tree/test/unit/build/$program" $members $updates 1 $reads \
		>"$program/log" 2>&1 ||
		{ cat "$program/log" >&2; die "the program has failed"; }

	# A dump has the line "desc: Trigger: Client Request: NAME" and at its end
	# the sums: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw.
	for dump in $(printf '%s\n' "$program"/out.* | sort -V); do
		awk -v members=$members -v updates=$updates -v reads=$reads \
			-v prefix="$name" '
			/^desc: Trigger: Client Request: / {
				name = substr($0, length("desc: Trigger: Client Request: ") + 1)
			}
			/^totals: / {
				n = name ~ /build/ ? members : name ~ /^update/ ? updates : reads
				if (name != "")
					printf "%s%s\t%.1f\t%.2f\t%.2f\n", prefix, name, $2 / n,
						($6 + $7) / n, ($9 + $10) / n
			}' "$dump"
	done >"$program/figures"
}

# Two at a time.
pids=()
while read -r program name; do
	[ ${#pids[@]} -lt 2 ] || { wait "${pids[0]}"; pids=("${pids[@]:1}"); }
	count "$program" "${name:+$name: }" &
	pids+=($!)
	programs+=("$program")
done <<-END
	bench
	bench-two two words
	bench-uuid uuid
	bench-text20 text of 20 bytes
	bench-text36 text of 36 bytes
END
for pid in "${pids[@]}"; do wait "$pid"; done
for program in "${programs[@]}"; do cat "$program/figures"; done >figures
[ -s figures ] || die "callgrind has written no figures"

compiler=$(gcc -dumpfullversion)
if [ "${WRITE:-}" = yes ]; then
	{
		echo "# An operation of the data structure: instructions, misses of a first"
		echo "# cache of 32 KiB, of a last one of 1 MiB.  $members members, gcc $compiler."
		echo "# Written by \"make bench-quick WRITE=yes\"."
		cat figures
	} >"$figures"
	echo "written to $figures"
fi

echo "gcc $compiler; committed: $(sed -n 's/.*, gcc \(.*\)\.$/gcc \1/p' "$figures")"
awk -F '\t' '
	function ratio(now, then) {
		return then > 0 ? sprintf("%.3f ×", now / then) : ""
	}
	BEGIN {
		printf "%-54s %12s %12s %9s %8s %8s %8s %8s\n", "operation",
			"instructions", "committed", "ratio", "D1", "committed", "LL", "committed"
	}
	/^#/ { next }
	FNR == NR { ir[$1] = $2; d1[$1] = $3; ll[$1] = $4; next }
	{
		printf "%-54s %12s %12s %9s %8s %8s %8s %8s\n", $1, $2, ir[$1],
			ratio($2, ir[$1]), $3, d1[$1], $4, ll[$1]
	}' "$figures" figures
