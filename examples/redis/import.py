#!/usr/bin/python3
"""Copies sorted sets of Redis into the tables of zset.sql.

Commands:
  add      adds the members that the table does not have, and changes no others
  compare  shows how the table differs from Redis, and exits with 1 if it does
  repair   makes the table what Redis has: adds, changes and deletes

Each key is copied in a transaction of its own.  A copy that was interrupted is
run again: what it has done is done, and costs no writes the second time.

PostgreSQL is found as by psql: PGHOST, PGDATABASE and the like.  Debian has what
this needs as python3-psycopg, python3-redis and python3-hiredis.
"""

import argparse
import fnmatch
import sys
import time

import psycopg
import redis

# Members that ZSCAN looks at in one call.  Redis serves no one else meanwhile.
PAGE = 1000

STAGE = """
    CREATE TEMP TABLE stage (
        n bigint GENERATED ALWAYS AS IDENTITY, member text COLLATE "C", score double precision);
    -- A member that is changed during ZSCAN may come twice, the later value last.
    CREATE TEMP VIEW newest AS
        SELECT DISTINCT ON (member) member, score FROM stage ORDER BY member, n DESC;
"""

ADD = """
    INSERT INTO zset (key, member, score) SELECT %(key)s, member, score FROM newest
    ON CONFLICT (key, member) DO NOTHING
"""

CHANGE = """
    INSERT INTO zset (key, member, score) SELECT %(key)s, member, score FROM newest
    ON CONFLICT (key, member) DO UPDATE SET score = excluded.score
    WHERE zset.score <> excluded.score
"""

DELETE = """
    DELETE FROM zset z WHERE z.key = %(key)s
    AND NOT EXISTS (SELECT FROM stage s WHERE s.member = z.member)
"""

COMPARE = """
    SELECT member, r.score, z.score
    FROM newest r FULL JOIN (SELECT member, score FROM zset WHERE key = %(key)s) z USING (member)
    WHERE r.score IS DISTINCT FROM z.score ORDER BY member
"""

EXPIRE = """
    INSERT INTO zset_expiry (key, at) VALUES (%(key)s, clock_timestamp() + %(ms)s * interval '1 ms')
    ON CONFLICT (key) DO UPDATE SET at = excluded.at
"""


def escape(member):
    """A member in the text format of COPY."""
    return (member.replace(b"\\", b"\\\\").replace(b"\t", b"\\t")
            .replace(b"\n", b"\\n").replace(b"\r", b"\\r"))


def check(key, member):
    """Exits if PostgreSQL cannot have this member as a text."""
    try:
        if "\0" not in member.decode():
            return
    except UnicodeDecodeError:
        pass
    sys.exit(f"{key!r}: the member {member!r} is no text in UTF-8. "
             "Nothing of this key has been copied.")


def pages(r, key):
    """The members and scores of a key, a list for each page of ZSCAN."""
    cursor = b"0"
    while True:
        cursor, reply = r.execute_command("ZSCAN", key, cursor, "COUNT", PAGE)
        yield list(zip(reply[::2], reply[1::2]))
        if cursor == b"0":
            return


def fill_stage(r, cur, key):
    """Fills the stage from Redis.  Returns how many members came."""
    n = 0
    cur.execute("TRUNCATE stage RESTART IDENTITY")
    with cur.copy("COPY stage (member, score) FROM STDIN") as copy:
        for page in pages(r, key):
            block = b"".join(b"%b\t%b\n" % (escape(m), s) for m, s in page)
            try:
                if "\0" in block.decode():
                    raise ValueError
            except ValueError:
                for member, _ in page:
                    check(key, member)
            copy.write(block)
            n += len(page)
    cur.execute("ANALYZE stage")
    return n


def expire(r, cur, key):
    ms = r.execute_command("PTTL", key)
    if ms >= 0:
        cur.execute(EXPIRE, {"key": key, "ms": ms})
    else:
        cur.execute("DELETE FROM zset_expiry WHERE key = %s", [key])


def copy_key(r, cur, key, command):
    """Does the command for one key.  Returns how many members it has, and how many differed."""
    args = {"key": key}
    members = fill_stage(r, cur, key)
    if command == "compare":
        rows = cur.execute(COMPARE, args).fetchall()
        for member, in_redis, in_table in rows[:10]:
            print(f"{key}: {member!r} has {in_redis} in Redis, {in_table} in the table")
        return members, len(rows)
    expire(r, cur, key)
    if command == "add":
        return members, cur.execute(ADD, args).rowcount
    deleted = cur.execute(DELETE, args).rowcount
    return members, deleted + cur.execute(CHANGE, args).rowcount


def find_keys(r, cur, pattern, command):
    """The sorted sets of Redis, and if members can be missing there those of the table."""
    keys = {key.decode() for key in r.scan_iter(match=pattern, count=PAGE, _type="zset")}
    if command != "add":
        table = cur.execute("SELECT DISTINCT key FROM zset").fetchall()
        keys |= {key for key, in table if fnmatch.fnmatchcase(key, pattern)}
    return sorted(keys)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="add", choices=["add", "compare", "repair"])
    parser.add_argument("--redis", default="redis://localhost", metavar="URL",
                        help="redis://:password@host:6379/0, unix:///path/to/socket")
    parser.add_argument("--keys", default="*", metavar="PATTERN", help="as of SCAN: board:*")
    args = parser.parse_args()

    r = redis.Redis.from_url(args.redis)
    for name in ("ZSCAN", "PTTL"):
        r.response_callbacks.pop(name, None)
    differences = 0
    with psycopg.connect(autocommit=True, client_encoding="utf8") as conn, conn.cursor() as cur:
        cur.execute(STAGE)
        for key in find_keys(r, cur, args.keys, args.command):
            start = time.monotonic()
            with conn.transaction():
                members, n = copy_key(r, cur, key, args.command)
            seconds = time.monotonic() - start
            differences += n
            print(f"{key}: {members} members, {n} "
                  f"{'differ' if args.command == 'compare' else 'written'}, {seconds:.1f} s")
    return 1 if args.command == "compare" and differences else 0


if __name__ == "__main__":
    sys.exit(main())
