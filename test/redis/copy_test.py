"""examples/redis/import.py: what it copies has the scores and ranks of Redis."""

import os
import random
import signal
import subprocess
import time

import psycopg

MANY = 100_000


def fill(r):
    """Many members with ties, and members and scores that are not ordinary."""
    rnd = random.Random(1)
    with r.pipeline(transaction=False) as pipe:
        for start in range(0, MANY, 1000):
            pipe.zadd("import:many", {f"player:{i}": rnd.randrange(20000)
                                      for i in range(start, start + 1000)})
        pipe.zadd("import:odd", {
            "": 0, " ": 0, "a\tb": 0, "a\nb\\N": 0, "\\": 0, "\\N": 0, "\\.": 0, "a\r": 0,
            "é": 0, "Z": 0, "z": 0, "🂡": 0, "ﬀ": 0, '"': 0, "x" * 512: 0,
            "inf": "inf", "-inf": "-inf", "tiny": 5e-324, "third": 1 / 3, "big": 2 ** 53 + 2,
            "huge": 1.7976931348623157e308})
        pipe.expire("import:odd", 3600)
        pipe.set("import:string", "not a sorted set")
        pipe.execute()


def importer(tree, url, do, keys="import:*", **kwargs):
    return subprocess.run(
        ["make", "-s", "-C", tree, "import-redis", f"DO={do}", f"REDIS={url}", f"KEYS={keys}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)


def check_ranks(t, r, conn, key):
    """Member by member: the score, and the ranks from both ends."""
    members = [(m.decode(), s) for m, s in r.zrange(key, 0, -1, withscores=True)]
    board = conn.execute("SELECT member, score FROM zset WHERE key = %s ORDER BY score, member",
                         [key]).fetchall()
    t.ok(board == members, f"{key}: {len(members)} members in the order of Redis")
    conn.execute("SELECT lb_wait_ready()")
    names = [m for m, _ in members]
    ranks = conn.execute("SELECT member, rank - 1, score::float8 FROM lb_ranks_key(%s, %s)",
                         [names, f"zset:{key}"]).fetchall()
    t.ok(ranks == [(m, i, s) for i, (m, s) in enumerate(members)],
         f"{key}: each has the score and the rank of Redis")
    last = len(members) - 1
    for place in {0, last // 2, last}:
        revrank = conn.execute("SELECT revrank FROM zrank WHERE key = %s AND member = %s",
                               [key, names[place]]).fetchone()[0]
        t.is_(revrank, r.zrevrank(key, names[place]), f"{key}: ZREVRANK {names[place][:20]!r}")


def check_interrupted(t, conn, tree, url):
    """A copy that is killed leaves nothing behind, and is done again."""
    with psycopg.connect() as locker:
        locker.execute("LOCK TABLE zset IN SHARE MODE")
        # Not by make, which would leave the program alone.
        copy = subprocess.Popen([f"{tree}/examples/redis/import.py", "--redis", url,
                                 "--keys", "import:many"], stdout=subprocess.DEVNULL)
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'zset'::regclass"
        while conn.execute(waits).fetchone()[0] == 0 and copy.poll() is None:
            time.sleep(0.05)
        t.is_(copy.poll(), None, "the copy waits for a lock")
        copy.send_signal(signal.SIGKILL)
        copy.wait()
    t.is_(conn.execute("SELECT count(*) FROM zset WHERE key = 'import:many'").fetchone()[0], 0,
          "a copy that was killed has copied nothing")


def check_copy(t, r, conn, tree, url):
    fill(r)
    check_interrupted(t, conn, tree, url)
    conn.execute("INSERT INTO zset VALUES ('import:many', 'player:7', 1e6)")
    start = time.monotonic()
    done = importer(tree, url, "add")
    t.is_(done.returncode, 0, f"a copy of {MANY} members, {time.monotonic() - start:.1f} s", done.stdout)
    conn.execute("ANALYZE zset")
    t.is_(conn.execute("SELECT score FROM zset WHERE key = 'import:many' AND member = 'player:7'")
          .fetchone(), (1e6,), "\"add\" changes no member that was there")
    t.is_(conn.execute("SELECT round(extract(epoch FROM at - now()) / 60) FROM zset_expiry").fetchall(),
          [(60,)], "it copies when a key expires")

    done = importer(tree, url, "compare")
    t.ok(done.returncode != 0 and "import:many: 'player:7' has" in done.stdout
         and "import:many: 100000 members, 1 differ" in done.stdout, "\"compare\" finds it", done.stdout)
    conn.execute("INSERT INTO zset VALUES ('import:many', 'nobody', 1), ('import:gone', 'x', 1)")
    conn.execute("DELETE FROM zset WHERE member = 'player:8'")
    done = importer(tree, url, "repair")
    t.ok(done.returncode == 0 and "import:many: 100000 members, 3 written" in done.stdout
         and "import:gone: 0 members, 1 written" in done.stdout, "\"repair\" makes them equal", done.stdout)
    done = importer(tree, url, "compare")
    t.is_(done.returncode, 0, "\"compare\" finds nothing more", done.stdout)
    for key in "import:many", "import:odd":
        check_ranks(t, r, conn, key)

    r.zadd("import:bytes", {b"ok": 1, b"\xff\xfe": 2})
    r.zadd("import:zero", {b"a\0b": 2})
    for key, member in ("import:bytes", r"b'\xff\xfe'"), ("import:zero", r"b'a\x00b'"):
        done = importer(tree, url, "add", key)
        t.ok(done.returncode != 0 and f"the member {member} is no text" in done.stdout,
             f"{member} stops the copy", done.stdout)
        t.is_(conn.execute("SELECT count(*) FROM zset WHERE key = %s", [key]).fetchone()[0], 0,
              "nothing of its key is copied")
