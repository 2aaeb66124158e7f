#!/usr/bin/python3
"""test.py TREE DIR BIN SUBMITS SEED: the tests of examples/queue.

DIR/data is a server of BIN, whose socket is in DIR.  The test starts it and a Redis
there, and kills both and the consumers while so many submits pass.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import psycopg
import redis

TREE, DIR, BIN = sys.argv[1:4]
SUBMITS, SEED = int(sys.argv[4]), int(sys.argv[5])
URL = f"unix://{DIR}/redis.socket"
EXAMPLE = f"{TREE}/examples/queue"
PLAYERS = 500
# Nothing that is started outlives this process.
UNTIL_WE_END = ["setpriv", "--pdeathsig", "KILL"]
count = failed = 0


def ok(true, title, details=""):
    global count, failed
    count += 1
    print(f"{'ok' if true else 'not ok'} {count} - {title!s:.150}", flush=True)
    if not true:
        failed += 1
        print("\n".join(f"# {line}" for line in str(details).splitlines()), flush=True)


def is_(got, expected, title):
    ok(got == expected, title, f"got      {got!r:.2000}\nexpected {expected!r:.2000}")


def wait_until(condition, what, seconds=300):
    """For a condition that must become true.  The time only ends a test that hangs."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


class Broker:
    """A Redis that loses nothing that it has acknowledged."""

    def __init__(self):
        self.client = redis.Redis.from_url(URL)
        # The server and the tool that checks files are one program.
        os.symlink(shutil.which("redis-check-rdb"), f"{DIR}/redis-server")
        self.start()

    def start(self):
        with open(f"{DIR}/redis.log", "ab") as log:
            self.process = subprocess.Popen(UNTIL_WE_END + [
                f"{DIR}/redis-server", "--port", "0", "--unixsocket", f"{DIR}/redis.socket", "--dir", DIR,
                "--save", "", "--appendonly", "yes", "--appendfsync", "always"], stdout=log, stderr=log)
        wait_until(self.answers, "Redis does not start")

    def answers(self):
        try:
            return self.client.ping()
        except redis.RedisError:
            return False

    def kill(self, rnd):
        self.process.kill()
        self.process.wait()
        time.sleep(rnd.random() / 5)
        self.start()

    def length(self):
        try:
            return self.client.xlen("scores")
        except redis.RedisError:
            return None


class Server:
    """PostgreSQL, in DIR/data."""

    def __init__(self):
        self.start()

    def start(self):
        subprocess.run([f"{BIN}/pg_ctl", "-D", f"{DIR}/data", "-l", f"{DIR}/log", "-w", "-t", "120", "start"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, "the server does not start")

    def stop(self):
        subprocess.run([f"{BIN}/pg_ctl", "-D", f"{DIR}/data", "-w", "-m", "fast", "stop"], check=True,
                       stdout=subprocess.DEVNULL)

    def answers(self):
        try:
            self.sessions()
            return True
        except psycopg.OperationalError:
            return False

    def sessions(self):
        with psycopg.connect(autocommit=True) as conn:
            return [pid for pid, in conn.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'queue consumer'")]

    def kill(self, rnd):
        """The server with all its processes.  The first must not see the others die, which
        would be a crash restart."""
        with open(f"{DIR}/data/postmaster.pid", encoding="utf8") as file:
            postmaster = int(file.readline())
        os.kill(postmaster, signal.SIGSTOP)
        children = [int(pid) for pid in subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(postmaster)],
            capture_output=True, text=True, check=False).stdout.split()]
        for pid in children + [postmaster]:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children + [postmaster]),
                   "a process of the server does not end")
        time.sleep(rnd.random() / 5)
        self.start()

    def kill_session(self, rnd):
        """One session of a consumer, after which the server starts all over."""
        found = []
        wait_until(lambda: found.extend(self.sessions()) or found, "no consumer comes back")
        try:
            os.kill(rnd.choice(found), signal.SIGKILL)
        except ProcessLookupError:
            pass                            # it has just ended by itself
        wait_until(self.answers, "the server does not come back")


class Consumers:
    def __init__(self):
        self.processes = {}
        self.names = 0

    def start(self, name=None):
        if name is None:
            self.names += 1
            name = f"consumer{self.names}"
        with open(f"{DIR}/{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                UNTIL_WE_END + [f"{EXAMPLE}/consumer.py", "--redis", URL, "--name", name, "--batch", "200",
                                "--claim-after", "0.5", "--report", "1"], stderr=log,
                env={**os.environ, "PGUSER": "queue_consumer"})

    def kill(self, rnd):
        """Half of them come back by the same name.  What the others have read is claimed."""
        name = rnd.choice(list(self.processes))
        process = self.processes.pop(name)
        process.kill()
        process.wait()
        self.start(name if rnd.random() < 0.5 else None)

    def stop(self):
        """As an operator does: they end by themselves."""
        for process in self.processes.values():
            process.terminate()
        codes = [process.wait(300) for process in self.processes.values()]
        self.processes.clear()
        return codes


def query(statement, *parameters):
    with psycopg.connect(autocommit=True) as conn:
        cur = conn.execute(statement, parameters or None)
        return cur.fetchall() if cur.description else []


def value(statement, *parameters):
    return query(statement, *parameters)[0][0]


def sql_of(page, number):
    """A page's block of SQL."""
    with open(page, encoding="utf8") as file:
        return re.findall(r"^```sql\n(.*?)^```", file.read(), re.M | re.S)[number]


def prepare():
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("CREATE SCHEMA leaderboard")
        conn.execute("CREATE EXTENSION leaderboard SCHEMA leaderboard")
        conn.execute("SET search_path = public, leaderboard")
        conn.execute("SELECT lb_create_tables(), lb_create_leaderboard('best', op => 'best')")
        with open(f"{EXAMPLE}/queue.sql", encoding="utf8") as script:
            conn.execute(script.read())
        conn.execute("GRANT SELECT, INSERT, UPDATE ON best_scores, best_score_windows TO queue_consumer")
        conn.execute("SELECT lb_open_window('daily'), lb_open_window('weekly'),"
                     " lb_set_limit('burst', 'global', max_amount => 500)")
        conn.execute("""
            CREATE TABLE written (player_id bigint);
            CREATE FUNCTION write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                'BEGIN INSERT INTO public.written VALUES (new.player_id); RETURN NULL; END';
            CREATE TRIGGER written AFTER INSERT OR UPDATE ON player_scores FOR EACH ROW EXECUTE FUNCTION write()""")


def check_one_by_one(broker, consumers):
    """What a batch of known entries leaves behind."""
    r = broker.client

    # All of one time: what a second separates is submitted in two calls.
    now = int(time.time() * 1000)

    def add(player, amount, match, at=now, **more):
        r.xadd("scores", {"player": player, "amount": amount, "match": match, **more}, id=f"{at}-*")

    query("SELECT leaderboard.lb_set_limit('much', 'global', max_score => 100000)")
    yesterday = now - 86400 * 1000
    add(1, 7, "early", at=yesterday)
    r.xgroup_create("scores", "leaderboard", id="0")
    r.xreadgroup("leaderboard", "dead", {"scores": ">"}, count=1)
    # And what somebody has deleted, after this consumer had read it.  It comes back empty, or,
    # once it was claimed, never.
    add(1, 1, "gone")
    for entry, _ in r.xreadgroup("leaderboard", "consumer1", {"scores": ">"})[0][1]:
        r.xdel("scores", entry)
    for amount, match in ((300, "a"), (200, "b"), (-50, "c"), (200, "b")):
        add(2, amount, match)
    add(3, 99999, "d", leaderboard="best")
    for amount, match in ((50000, "e"), (501, "f"), (400, "g")):
        add(4, amount, match)
    for amount, match in ((500, "h"), (9, "i"), (501, "j")):
        add(5, amount, match)
    add(6, 1, "k", leaderboard="nowhere")
    add(6, 2 ** 63, "l")
    add(6, 1, "m" * 1001)
    add(6, 1, "")
    add(6, 1, "z\0")
    add("x", 1, "n")
    r.xadd("scores", {b"player": b"\xff\0", "amount": 1, "match": "o"}, id=f"{now}-*")
    r.xadd("scores", {"amount": 1, "match": "p"}, id=f"{now}-*")
    add(6, 3, "q")
    query("INSERT INTO player_scores VALUES (5, 99600), (7, 9223372036854775807)")
    add(7, 1, "r")
    consumers.start()
    wait_until(lambda: broker.length() == 0, "entries are left")
    is_(dict(query("SELECT player_id, score FROM player_scores")),
        {1: 7, 2: 450, 4: 400, 5: 99609, 6: 3, 7: 2 ** 63 - 1}, "scores")
    is_(value("SELECT score FROM player_scores WHERE player_id = 1"), 7, "one of them was read by a dead consumer")
    is_(query("SELECT player_id, score FROM best_scores"), [(3, 99999)], "the other leaderboard")
    is_(value("SELECT window_key FROM player_score_windows WHERE player_id = 1 AND window_key LIKE 'daily:%'"),
        time.strftime("daily:%Y%m%d", time.gmtime(yesterday / 1000)), "the day is that of the entry")
    is_(value("SELECT count(*) FROM written WHERE player_id = 2"), 1, "a player's changes are one")
    is_([match for match, in query("SELECT match_id FROM leaderboard.lb_applied WHERE player_id = '2' ORDER BY 1")],
        ["a", "b", "c"], "each match is kept")
    is_(query("""
            SELECT left(message->>'match', 2), reason FROM queue_refused WHERE message <> '{}'
            ORDER BY split_part(entry, '-', 1)::bigint, split_part(entry, '-', 2)::int"""),
        [("e", "limit burst"), ("f", "limit burst"), ("h", "limit much"), ("j", "limit burst"),
         ("k", '42704: leaderboard "nowhere" does not exist'),
         ("l", "ValueError: out of range: 9223372036854775808"), ("mm", "22001: match_id is too long"),
         ("", "ValueError: an empty match, or a zero byte"),
         ("z\ufffd", "ValueError: an empty match, or a zero byte"), ("n", "ValueError: invalid literal for int() with base 10: 'x'"),
         ("o", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
         ("p", "KeyError: 'player'"), ("r", "overflow")], "what is refused, and why")
    is_(broker.client.xpending("scores", "leaderboard")["pending"], 0, "all is acknowledged")


def check_again():
    """README: what a limit has refused is submitted again."""
    query("SELECT leaderboard.lb_set_limit('much', 'global', max_score => 200000)")
    is_([row[1:3] for row in query(sql_of(f"{EXAMPLE}/README.md", 0))][:1], [("global", 100109)],
        "what was refused is submitted again")
    is_(value("SELECT count(*) FROM queue_refused WHERE reason = 'limit much'"), 0, "and no longer set aside")


class Producer(threading.Thread):
    """Sends submits in pipelines.  One that has failed is sent again, as is each 50th."""

    def __init__(self, broker):
        super().__init__(daemon=True)
        self.broker = broker
        self.sent = 0
        self.sums, self.best, self.matches, self.refused = {}, {}, set(), set()

    def message(self, i, rnd):
        player, amount, match = rnd.randint(1, PLAYERS), rnd.randint(1, 100), f"match {i}"
        fields = {"player": player, "amount": amount, "match": match}
        if i % 97 == 0:
            fields["amount"] = 501
            self.refused.add(match)
        elif i % 1009 == 0:
            fields.update(rnd.choice(({"player": "x"}, {"amount": 2 ** 63}, {"leaderboard": "nowhere"})))
            self.refused.add(match)
        elif i % 5 == 0:
            fields["leaderboard"] = "best"
            self.best[player] = max(self.best.get(player, 0), amount)
            self.matches.add(match)
        else:
            self.sums[player] = self.sums.get(player, 0) + amount
            self.matches.add(match)
        return fields

    def run(self):
        rnd = random.Random(SEED)
        while self.sent < SUBMITS:
            messages = [self.message(i, rnd) for i in range(self.sent, min(self.sent + 100, SUBMITS))]
            messages += messages[::50]
            while not self.send(messages):
                time.sleep(0.01)
            self.sent = min(self.sent + 100, SUBMITS)
            # The consumers always have something to do, and it is never long ago.
            wait_until(lambda: (self.broker.length() or 0) < 5000, "nothing is consumed")

    def send(self, messages):
        try:
            with self.broker.client.pipeline(transaction=False) as pipeline:
                for fields in messages:
                    pipeline.xadd("scores", fields)
                pipeline.execute()
            return True
        except redis.RedisError:
            return False


def check_kills(broker, server, consumers):
    rnd = random.Random(SEED)
    query("TRUNCATE player_scores, player_score_windows, best_scores, best_score_windows, queue_refused,"
          " leaderboard.lb_applied")
    kinds = {"the broker": broker.kill, "a consumer": consumers.kill, "the server": server.kill,
             "a session": server.kill_session}
    kills = list(kinds) * max(6, SUBMITS // 8000)
    rnd.shuffle(kills)
    producer = Producer(broker)
    producer.start()
    for n, what in enumerate(kills):
        wait_until(lambda: producer.sent >= SUBMITS * n // len(kills), "nothing is produced")
        time.sleep(rnd.random() / 10)
        kinds[what](rnd)
    producer.join()
    wait_until(lambda: broker.length() == 0, "entries are left")
    print(f"# {SUBMITS} submits, {len(kills)} kills", flush=True)
    is_(dict(query("SELECT player_id, score FROM player_scores")), producer.sums, "each counts once")
    for window in "daily", "weekly":
        is_(dict(query("SELECT player_id, sum(score)::bigint FROM player_score_windows"
                       " WHERE window_key LIKE %s || ':%%' GROUP BY 1", window)), producer.sums,
            f"and once in the {window} windows")
    is_(dict(query("SELECT player_id, score FROM best_scores")), producer.best, "the best ones are the best")
    is_({match for match, in query("SELECT match_id FROM leaderboard.lb_applied")}, producer.matches,
        "the matches are remembered")
    is_({match for match, in query("SELECT message->>'match' FROM queue_refused")}, producer.refused,
        "what is refused is set aside")
    is_(broker.client.xpending("scores", "leaderboard")["pending"], 0, "all is acknowledged")
    is_(query("SELECT * FROM leaderboard.lb_verify()"), [], "the boards are right")


def main():
    os.environ.update(PGHOST=DIR, PGUSER="postgres", PGDATABASE="postgres", PYTHONDONTWRITEBYTECODE="1")
    broker, server, consumers = Broker(), Server(), Consumers()
    prepare()
    check_one_by_one(broker, consumers)
    check_again()
    consumers.start()
    check_kills(broker, server, consumers)
    is_(set(consumers.stop()), {0}, "consumers end when they are told to")
    server.stop()
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
