#!/usr/bin/python3
"""The live page of "make demo": serves it, and tells it when to look again.

    server.py [--port 0] [--matches 50] [--port-file FILE]

libpq's environment variables say where the database is, with the tables of create.sql,
the players of load.sql and what schema.sql adds.  While a page is open, matches are
played: so many a second, one after the other.  The server listens to the notifications
of lb_watch() and lb_watch_member(), and passes them on to the pages.

It serves this machine only: it listens on the loopback address, and refuses requests
for other hosts and submits from other origins.
"""

import argparse
import contextlib
import json
import pathlib
import queue
import random
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import psycopg

HERE = pathlib.Path(__file__).parent
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                               "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
MOST_PAGES = 50
MOST_CONNECTIONS = 8
ROWS = 11

# The statements under the page's cards, which show them as they are.
PLAYER = "SELECT * FROM lb_player(%(player)s, %(board)s)"
WITH_NAMES = """SELECT t.rank, t.member, p.name, p.country, t.score
FROM {} t
JOIN player_scores p ON p.player_id = t.member
ORDER BY t.rank"""
PODIUM = WITH_NAMES.format("lb_top(3, %(board)s)")
AROUND = WITH_NAMES.format(f"lb_around(%(player)s, %(board)s, radius => {ROWS // 2})")
LIST = WITH_NAMES.format(f"lb_top({ROWS}, %(board)s, skip => %(skip)s)")
HISTOGRAM = "SELECT lo, hi, members FROM lb_histogram(24, %(board)s)"
# The best of those whose names begin so; of the first thousand, if there are more.
BY_NAME = WITH_NAMES.format("""(
    SELECT * FROM lb_among(ARRAY(
        SELECT player_id FROM player_scores
        WHERE lower(name) COLLATE "C" >= lower(%(text)s)
        AND lower(name) COLLATE "C" < lower(%(text)s) || chr(1114111)
        ORDER BY lower(name) COLLATE "C" LIMIT 1000))
    ORDER BY place LIMIT 8)""")
BY_NUMBER = WITH_NAMES.format("lb_among(ARRAY[%(number)s])")


def connect():
    conn = psycopg.connect(autocommit=True, options="-c search_path=public,leaderboard", prepare_threshold=0)
    conn.adapters.register_dumper(int, psycopg.types.numeric.Int8Dumper)
    return conn


class Pool:
    """A few connections for all requests.  One that has broken is made anew."""

    def __init__(self):
        self.idle = queue.LifoQueue()
        for _ in range(MOST_CONNECTIONS):
            self.idle.put(None)

    @contextlib.contextmanager
    def connection(self):
        conn = self.idle.get()
        try:
            if conn is None or conn.closed:
                conn = connect()
            yield conn
        finally:
            self.idle.put(conn)


class Changes:
    """How many notifications have come, for those who wait for the next one."""

    def __init__(self):
        self.count = 0
        self.changed = threading.Condition()

    def wait(self, seen, timeout):
        """The count, when it is another one than what the caller has seen or the time is up."""
        with self.changed:
            self.changed.wait_for(lambda: self.count != seen, timeout)
            return self.count

    def listen(self):
        while True:
            try:
                with connect() as conn:
                    conn.execute("LISTEN leaderboard")
                    self.add()              # what has changed before that is news too
                    for _ in conn.notifies():
                        self.add()
            except psycopg.OperationalError:
                time.sleep(1)

    def add(self):
        with self.changed:
            self.count += 1
            self.changed.notify_all()


class Watched:
    """The players of the pages that are open; the worker watches their ranks."""

    def __init__(self):
        self.pages = {}
        self.lock = threading.Lock()

    def enter(self, player):
        with self.lock, POOL.connection() as conn:
            if sum(self.pages.values()) >= MOST_PAGES:
                return False
            conn.execute("SELECT lb_watch_member(%s)", (player,))
            self.pages[player] = self.pages.get(player, 0) + 1
            return True

    def leave(self, player):
        with self.lock:
            self.pages[player] -= 1
            if self.pages[player] == 0:
                del self.pages[player]
                with POOL.connection() as conn:
                    conn.execute("SELECT lb_unwatch_member(%s)", (player,))

    def any(self):
        """The player of one of the pages, or None."""
        with self.lock:
            return random.choice(list(self.pages)) if self.pages else None


POOL = Pool()
CHANGES = Changes()
WATCHED = Watched()


def card(conn, statement, parameters):
    """What a card shows: the rows, the statement, and how long it took, there and back."""
    began = time.perf_counter()
    cursor = conn.execute(statement, parameters)
    rows = cursor.fetchall()
    took = time.perf_counter() - began
    names = [column.name for column in cursor.description]
    return {"rows": [dict(zip(names, row)) for row in rows], "ms": 1000 * took,
            "sql": psycopg.ClientCursor(conn).mogrify(statement, parameters) + ";"}


def state(conn, player, board, place):
    """All that a page shows, of one moment; None if there is no such player."""
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if player is None:                  # whoever comes without a name is a good player
            player, = conn.execute("SELECT (SELECT member FROM lb_at(least(4217, 1 + lb_count() / 3)))").fetchone()
        row = conn.execute("SELECT player_id, name, country FROM player_scores WHERE player_id = %s",
                           (player,)).fetchone()
        if row is None:
            return None
        total, = conn.execute("SELECT lb_count(%s)", (board,)).fetchone()
        parameters = {"player": player, "board": board}
        you = card(conn, PLAYER, parameters)
        if place is None and you["rows"][0]["rank"] is not None:
            listed = card(conn, AROUND, parameters)
        else:
            skip = max(0, min((place or 1) - 1, total - ROWS))
            listed = card(conn, LIST, {"board": board, "skip": skip})
        return {"player": dict(zip(("id", "name", "country"), row)), "total": total, "countries": COUNTRIES,
                "matches": arguments.matches, "you": you, "podium": card(conn, PODIUM, parameters), "list": listed,
                "histogram": card(conn, HISTOGRAM, parameters)}


def play(conn, player, others):
    """A match against one of the others, who are (member, score), for a hundredth of what the poorer one has."""
    (score,), = conn.execute("SELECT score FROM player_scores WHERE player_id = %s", (player,))
    opponent, opponents_score = random.choice(others)
    stake = max(1, min(score, opponents_score) // 100)
    won = random.random() < 0.5
    change = stake if won else -stake
    rows = {}
    with conn.transaction():
        # In the order of the players: two matches of the same two must not wait for each other.
        for member, amount in sorted(((player, change), (opponent, -change))):
            # A day or a week counts what was won in it.
            boards = ["global", "daily", "weekly"] if amount > 0 else ["global"]
            rows[member] = conn.execute("SELECT previous_rank, rank FROM lb_submit(%s, %s, boards => %s)"
                                        " WHERE board = 'global'", (member, amount, boards)).fetchone()
    return {"opponent": opponent, "change": change, "previous_rank": rows[player][0], "rank": rows[player][1]}


def neighbours(conn, player):
    """Those who are about as good."""
    return conn.execute("SELECT member, score FROM lb_around(%s, radius => 40) WHERE member <> %s",
                        (player, player)).fetchall()


def simulate(matches):
    """So many matches a second while a page is open: some near its player, the others more often near the top."""
    while True:
        try:
            with connect() as conn:
                while True:
                    time.sleep(random.expovariate(matches))
                    looking = WATCHED.any()
                    if looking is None:
                        continue
                    if random.random() < 0.25:
                        near = looking
                    else:
                        total, = conn.execute("SELECT lb_count()").fetchone()
                        place = int(total ** random.random())
                        near, = conn.execute("SELECT member FROM lb_at(%s)", (place,)).fetchone()
                    others = [row for row in neighbours(conn, near) if row[0] != looking]
                    random.shuffle(others)
                    if len(others) > 1:
                        play(conn, others[0][0], others[1:])
        except psycopg.Error:
            time.sleep(1)


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *args):
        pass

    def respond(self, status, body=b"", kind="text/plain; charset=utf-8"):
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def respond_json(self, value):
        if value is None:
            self.respond(404)
        else:
            self.respond(200, json.dumps(value).encode(), "application/json")

    def is_local(self):
        """Whether the page's own address was asked for: a name of another site may lead here too."""
        port = self.server.server_address[1]
        return self.headers.get("Host") in (f"127.0.0.1:{port}", f"localhost:{port}")

    def number(self, name):
        """The parameter as a number; None if there is none, ValueError if it is something else."""
        text = self.query.get(name)
        if text is not None and not re.fullmatch("-?[0-9]{1,18}", text, re.ASCII):
            raise ValueError(name)
        return None if text is None else int(text)

    def handle_request(self, answer):
        url = urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        try:
            if self.is_local():
                answer(url.path)
            else:
                self.respond(403)
        except ValueError:
            self.respond(400)
        except psycopg.OperationalError:
            self.respond(503)
        except OSError:                     # the page has gone
            self.close_connection = True

    def do_GET(self):
        self.handle_request(self.get)

    def do_POST(self):
        self.handle_request(self.post)

    def get(self, path):
        if path in FILES:
            name, kind = FILES[path]
            self.respond(200, (HERE / name).read_bytes(), kind)
        elif path == "/state":
            self.get_state()
        elif path == "/search":
            self.get_search()
        elif path == "/events":
            self.stream()
        else:
            self.respond(404)

    def get_state(self):
        board = self.query.get("board", "global")
        if board not in BOARDS:
            raise ValueError("board")
        player, place = self.number("player"), self.number("place")
        with POOL.connection() as conn:
            self.respond_json(state(conn, player, board, place))

    def get_search(self):
        text = self.query.get("text", "").strip()
        if not text or len(text) > 50 or "\0" in text:
            raise ValueError("text")
        with POOL.connection() as conn:
            if text.isdecimal() and len(text) <= 18:
                self.respond_json(card(conn, BY_NUMBER, {"number": int(text)}))
            else:
                self.respond_json(card(conn, BY_NAME, {"text": text}))

    def post(self, path):
        player = self.number("player")
        if self.headers.get("Origin") != f"http://{self.headers['Host']}":
            self.respond(403)
        elif path != "/play" or player is None:
            self.respond(404)
        else:
            with POOL.connection() as conn:
                others = neighbours(conn, player)
                self.respond_json(play(conn, player, others) if others else None)

    def stream(self):
        """Server-sent events: a number now, after each change, and each second: unwatched ranks change too."""
        player = self.number("player")
        with POOL.connection() as conn:
            if conn.execute("SELECT FROM player_scores WHERE player_id = %s", (player,)).fetchone() is None:
                self.respond(404)
                return
        if not WATCHED.enter(player):
            self.respond(503)
            return
        try:
            self.send_response(200)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            seen = -1
            while True:
                seen = CHANGES.wait(seen, 1)
                self.wfile.write(f"data: {seen}\n\n".encode())
                time.sleep(0.7)             # more often would be too much for the eye
        except OSError:
            self.close_connection = True
        finally:
            with contextlib.suppress(psycopg.OperationalError):
                WATCHED.leave(player)


parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--port-file")
parser.add_argument("--matches", type=float, default=50)
arguments = parser.parse_args()

with connect() as connection:
    connection.execute("SELECT lb_wait_ready('30 s')")
    connection.execute("SELECT lb_watch('global', 10)")
    # There are none in a file with scores only.
    COUNTRIES = [row[0] for row in connection.execute(
        "SELECT DISTINCT country FROM player_scores WHERE country IS NOT NULL ORDER BY country")]
BOARDS = {"global", "weekly", "daily", *("country:" + country for country in COUNTRIES)}

server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Page)
threading.Thread(target=CHANGES.listen, daemon=True).start()
if arguments.matches > 0:
    threading.Thread(target=simulate, args=(arguments.matches,), daemon=True).start()
address = f"http://127.0.0.1:{server.server_address[1]}/"
if arguments.port_file:
    pathlib.Path(arguments.port_file).write_text(address + "\n")
print(address, flush=True)
server.serve_forever()
