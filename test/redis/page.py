"""docs/from-redis.md: each command has the answer of its SQL, on the same data.

A block "redis" of the page is followed by a block "sql".  Each command of the one
and each statement of the other must have the same answer, and afterwards all sorted
sets must have the same members.  A comment behind a statement says how PostgreSQL
answers it.
"""

import re
import shlex

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.M | re.S)
STATEMENT = re.compile(r"(.*?);(?: *-- (board|primary key|sort))?(?=\n|$)", re.S)

# Redis 7.2 has it; an older one is asked twice.
WITHSCORE = " WITHSCORE"


def blocks(text):
    return [(m.group(1), m.group(2)) for m in BLOCK.finditer(text)]


def pairs(text):
    """The commands and the block of SQL that follows them."""
    found = blocks(text)
    return [(command.splitlines(), sql)
            for (kind, command), (after, sql) in zip(found, found[1:])
            if kind == "redis" and after == "sql"]


def statements(sql):
    """The statements of a block, each with what its comment says."""
    return [(m.group(1).strip(), m.group(2)) for m in STATEMENT.finditer(sql)]


def flat(value):
    """An answer as a list of numbers and texts; nothing found is an empty one."""
    if isinstance(value, (list, tuple)):
        return [v for element in value for v in (flat(element) or [None])]
    if value is None:
        return []
    if isinstance(value, bytes):
        value = value.decode()
    try:
        return [float(value)]
    except ValueError:
        return [value]


def nothing(answer):
    return [] if answer == [None] else answer


def ask_redis(r, command):
    if command.endswith(WITHSCORE):
        rank = shlex.split(command.removesuffix(WITHSCORE))
        return flat([r.execute_command(*rank), r.execute_command("ZSCORE", *rank[1:])])
    answer = r.execute_command(*shlex.split(command))
    if command.startswith("ZSCAN"):
        answer = answer[1]
    return nothing(flat(answer))


def ask_sql(conn, sql):
    """The answer of some statements: the rows of the last that is not COMMIT."""
    cur = conn.execute(sql)
    while True:
        if cur.statusmessage not in ("BEGIN", "COMMIT"):
            answer = cur.fetchall() if cur.description else cur.rowcount
        if not cur.nextset():
            return nothing(flat(answer))


def sets(r, conn):
    """All sorted sets of both, with the members in order."""
    in_redis = {key.decode(): flat(r.execute_command("ZRANGE", key, 0, -1, "WITHSCORES"))
                for key in r.keys()}
    in_table = {}
    for key, member, score in conn.execute(
            "SELECT key, member, score FROM zset ORDER BY key, score, member"):
        in_table.setdefault(key, []).extend(flat([member, score]))
    return in_redis, in_table


def is_read(statement):
    return statement.startswith("SELECT")


def check_random(t, r, conn, command, sql):
    """Random members: as many, and members of the set."""
    members = set(flat(r.zrange("leaders", 0, -1)))
    for answer in ask_redis(r, command), ask_sql(conn, sql):
        t.ok(set(answer) <= members and (len(set(answer)) == len(answer) or "-" in command),
             f"{command}: members of the set: {answer}")
    t.is_(len(ask_sql(conn, sql)), len(ask_redis(r, command)), f"{command}: as many")


def check_pairs(t, r, conn, text):
    for commands, sql in pairs(text):
        found = statements(sql)
        reads = all(is_read(s) for s, _ in found)
        for command in commands:
            if command.startswith("ZRANDMEMBER"):
                check_random(t, r, conn, command, sql)
                continue
            expected = ask_redis(r, command)
            for statement in [s for s, _ in found] if reads else [sql]:
                answer = ask_sql(conn, statement)
                t.is_(answer, expected, f"{command}: {expected}")
        if not reads:
            in_redis, in_table = sets(r, conn)
            t.is_(in_table, in_redis, f"the same sets after {commands[-1]}")


def check_complete(t, r, text):
    """The page has every command of sorted sets."""
    commands = {c.split()[0] for cs, _ in pairs(text) for c in cs}
    known = {c.decode().upper() for c in r.execute_command(
        "COMMAND", "LIST", "FILTERBY", "ACLCAT", "sortedset")}
    known = {c for c in known if c.startswith(("Z", "BZ"))}
    t.ok(len(known) > 30, "the server names its commands of sorted sets")
    t.is_(sorted(known - commands), [], "the page has all of them")


def check_plan(t, conn, statement, answered_by):
    plan = "\n".join(line for line, in conn.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {statement}"))
    # A page of most rows is sorted, whatever else could answer it.
    if re.search(r"Answered by: (index|query \(limit\))", plan) or re.match("SELECT .*lb_", statement):
        found = "board"
    elif "zset_pkey" in plan and not re.search("Sort|HashAggregate|Join|SetOp", plan):
        found = "primary key"
    elif re.search("zset_pkey.*\n *Index Cond: .*member", plan) and "Join" not in plan:
        found = "primary key"
    else:
        found = "sort"
    t.ok(found == answered_by, f"{answered_by}: {' '.join(statement.split())}", f"{found}\n{plan}")


def check_plans(t, conn, text):
    """With many members, a statement is answered as its comment says."""
    conn.execute("""
        INSERT INTO zset SELECT key, 'm' || i, i % 5003
        FROM unnest('{leaders,names,all,guests}'::text[]) key, generate_series(1, 20000) i
        ON CONFLICT DO NOTHING""")
    conn.execute("VACUUM ANALYZE zset")
    conn.execute("SELECT lb_wait_ready()")
    for _, sql in pairs(text):
        with conn.transaction(force_rollback=True):
            for statement, answered_by in statements(sql):
                if answered_by:
                    check_plan(t, conn, statement, answered_by)
                elif statement not in ("BEGIN", "COMMIT"):
                    conn.execute(statement)
    t.is_(conn.execute("SELECT query_reads, planned_queries - planned_limit FROM lb_stat('zset')").fetchone(),
          (0, 0), "no query has answered for the board")


def error_of(conn, statement):
    """The message, the SQLSTATE and the hint with which a statement fails."""
    try:
        conn.execute(statement)
        return None, None, None
    except conn.Error as e:
        return e.diag.message_primary, e.sqlstate, e.diag.message_hint


def check_calls(t, conn, text):
    """The table of calls that fail: each fails so, and the other one does not."""
    rows = re.findall(r"^\| `(lb_.*?)` \| (.*?) \| `(.*?)` \|$", text, re.M)
    t.ok(len(rows) > 10, "the page has calls that fail")
    for wrong, message, right in rows:
        t.is_(error_of(conn, f"SELECT {wrong}")[0], message, f"{wrong}: {message}")
        t.is_(error_of(conn, f"SELECT {right}")[0], None, f"{right} works")
    # Where the call reaches the function, its hint shows the way.
    t.ok("radius => 5" in error_of(conn, "SELECT lb_around(4711, '5')")[2], "a hint of radius")
    t.ok('named in "boards"' in error_of(conn, "SELECT lb_submit(4711, 120, 'weekly')")[2],
         "a hint of boards")


def check_differences(t, r, conn):
    """What the page says of numbers at the ends of their types."""
    def add(score):
        return error_of(conn, f"""
            INSERT INTO zset VALUES ('ends', 'x', {score}) ON CONFLICT (key, member)
            DO UPDATE SET score = zset.score + excluded.score""")[1]

    def redis_error(*command):
        try:
            r.execute_command(*command)
            return ""
        except Exception as e:
            return str(e)

    big = 2 ** 53
    r.execute_command("ZADD", "ends", big, "x")
    add(big)
    add(1)
    t.is_(float(r.execute_command("ZINCRBY", "ends", 1, "x")), float(big), "Redis: 2^53 + 1")
    t.is_(ask_sql(conn, "SELECT score FROM zset WHERE key = 'ends'"), [float(big)],
          "a double: 2^53 + 1")
    add("1.7e308")
    t.is_(add("1.7e308"), "22003", "too large a sum")
    r.execute_command("ZADD", "ends", "1.7e308", "x")
    t.is_(r.execute_command("ZINCRBY", "ends", "1.7e308", "x"), b"inf", "in Redis it is inf")
    add("'inf'")
    t.is_(add("'-inf'"), "23514", "inf - inf is not stored")
    t.ok("not a number" in redis_error("ZINCRBY", "ends", "-inf", "x"), "nor by Redis")
    t.is_(add("'NaN'"), "23514", "NaN is not stored")
    t.ok("not a valid float" in redis_error("ZADD", "ends", "nan", "y"), "nor by Redis")
    t.is_(error_of(conn, "INSERT INTO zset VALUES ('ends', repeat('é', 257), 1)")[1], "23514",
          "a member of more than 512 bytes is not stored")
    t.is_(error_of(conn, """INSERT INTO zset VALUES ('ends', 'z', 1), ('ends', 'z', 2)
          ON CONFLICT (key, member) DO UPDATE SET score = excluded.score""")[1], "21000",
          "a member only once in a statement")
    conn.execute("DELETE FROM zset WHERE key = 'ends'")
    r.delete("ends")


def check_others(t, r, conn, text, tree):
    """The page's SQL that belongs to no command."""
    found = blocks(text)
    others = [sql for (before, _), (kind, sql) in zip([("", "")] + found, found)
              if kind == "sql" and before != "redis"]
    script = open(f"{tree}/examples/redis/zset.sql", encoding="utf8").read()
    t.is_(others[0].strip(), script.partition("\n\n")[2].strip(), "the tables are those of zset.sql")
    conn.execute("INSERT INTO zset_expiry VALUES ('names', now() - interval '1 s'), ('all', 'infinity')")
    conn.execute("""
        INSERT INTO zset VALUES ('points', 'player:1', 10), ('points', 'player:2', 9007199254740992),
            ('points:20261123', 'player:2', 7)""")
    for sql in others[1:]:
        conn.execute(sql)
    t.is_(conn.execute("SELECT DISTINCT key FROM zset WHERE key IN ('all', 'names')").fetchall(),
          [("all",)], "what has expired is removed")
    t.is_(conn.execute("SELECT * FROM lb_top(10)").fetchall(),
          [(1, 2, 9007199254740992), (2, 1, 10)], "the default tables have their scores")
    t.is_(conn.execute("SELECT * FROM lb_top(10, 'daily:20261123')").fetchall(), [(1, 2, 7)],
          "and the days")


def check_page(t, r, conn, tree):
    with open(f"{tree}/docs/from-redis.md", encoding="utf8") as page:
        text = page.read()
    check_pairs(t, r, conn, text)
    check_complete(t, r, text)
    check_differences(t, r, conn)
    check_plans(t, conn, text)
    check_others(t, r, conn, text, tree)
    check_calls(t, conn, text)
