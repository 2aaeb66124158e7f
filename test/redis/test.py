#!/usr/bin/python3
"""test.py TREE SOCKET: the tests of docs/from-redis.md and examples/redis.

Redis listens on the socket, and PostgreSQL where the environment says.  Both are
empty.
"""

import sys

import psycopg
import redis

import copy_test
import page


class Tap:
    """Prints results in the Test Anything Protocol."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, true, title, details=""):
        self.count += 1
        print(f"{'ok' if true else 'not ok'} {self.count} - {title!s:.150}")
        if not true:
            self.failed += 1
            print("\n".join(f"# {line}" for line in str(details).splitlines()))

    def is_(self, got, expected, title, details=""):
        self.ok(got == expected, title, f"got      {got!r:.2000}\nexpected {expected!r:.2000}\n{details}")


def main():
    tree, socket = sys.argv[1:]
    t = Tap()
    url = f"unix://{socket}"
    r = redis.Redis.from_url(url)
    raw = redis.Redis.from_url(url)
    raw.response_callbacks.clear()
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("CREATE EXTENSION leaderboard")
        with open(f"{tree}/examples/redis/zset.sql", encoding="utf8") as script:
            conn.execute(script.read())
        conn.execute("SELECT lb_wait_ready()")
        page.check_page(t, raw, conn, tree)
        conn.execute("TRUNCATE zset, zset_expiry")
        r.flushall()
        copy_test.check_copy(t, r, conn, tree, url)
        t.is_(conn.execute("SELECT * FROM lb_verify_key()").fetchall(), [], "the boards are right")
    print(f"1..{t.count}")
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
