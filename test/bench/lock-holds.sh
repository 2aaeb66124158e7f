#!/bin/bash
#
# lock-holds.sh 'STATEMENT'
#	How long a board's lock is held while a statement runs: by probes in the
#	functions that take and release it.  As root; needs perf and a kernel with
#	uprobes.  The server is that of PGHOST, PGPORT and the like, the board the
#	one that BOARD names, global by default.
#
# What is measured reaches from the last call that asks for the lock to its
# release, so it is never too short.  A process that the kernel took off its
# processor meanwhile is in it too.
#
set -eu

[ $# = 1 ] || { echo "usage: $0 'STATEMENT'" >&2; exit 1; }
work=$(mktemp -d)
dir=$(pg_config --bindir)
library=$(pg_config --pkglibdir)/leaderboard.so
finish()
{
	perf probe -q -d 'probe_postgres:lb_*' -d 'probe_leaderboard:lb_*' \
		2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

# The stripe begins with its lock.
perf probe -q -x "$library" -a 'lb_unlock=lb_read_unlock stripe=r->stripe:x64'
perf record -q -a -o "$work/find" -e probe_leaderboard:lb_unlock -- \
	psql -Xq -o /dev/null -c "SELECT lb_count(${BOARD:+'$BOARD'})"
lock=$(perf script -i "$work/find" 2>/dev/null | sed -n 's/.*stripe=//p' | tail -n 1)
[ -n "$lock" ] || { echo "no read by index was seen" >&2; exit 1; }

perf probe -q -x "$dir/postgres" \
	-a 'lb_ask=LWLockAcquire lock=%di:x64' \
	-a 'lb_try=LWLockConditionalAcquire lock=%di:x64' \
	-a 'lb_release=LWLockRelease lock=%di:x64'
perf record -q -a -o "$work/run" \
	-e probe_postgres:lb_ask --filter "lock==$lock" \
	-e probe_postgres:lb_try --filter "lock==$lock" \
	-e probe_postgres:lb_release --filter "lock==$lock" -- \
	psql -Xq -o /dev/null -c "$1"
perf script -i "$work/run" -F pid,time,event 2>/dev/null |
	awk '{ sub(":", "", $2) }
		/lb_release/ { if (asked[$1]) print ($2 - asked[$1]) * 1e6
			asked[$1] = 0; next }
		{ asked[$1] = $2 }' | sort -n |
	awk '{ v[NR] = $1 }
		END { if (NR == 0) exit 1
			printf "held %d times; median %.0f us, p99 %.0f us, longest %.0f us\n",
				NR, v[int((NR + 1) / 2)], v[int(NR * 0.99 + 0.999)], v[NR] }'
