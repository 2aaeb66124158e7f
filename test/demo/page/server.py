#!/usr/bin/python3
"""The live page of "make demo": serves it, and streams a leaderboard to it.

    server.py [--port 0] [--matches 4] [--port-file FILE]

libpq's environment variables say where the database is.  The server makes the table
and the board if they are not there, plays a few matches a second, and listens to the
notifications of lb_watch() and lb_watch_member().  With each one, every open page gets
what its player sees, read in one statement and so of one moment.

It serves this machine only: it listens on the loopback address, and refuses requests
for other hosts and submits from other origins.
"""

import argparse
import json
import pathlib
import random
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
PLAYERS = 1000
MOST_PAGES = 50

STATE = """
SELECT json_build_object(
    'top', (
        SELECT json_agg(json_build_object('rank', t.rank, 'id', p.id, 'name', p.name, 'score', t.score) ORDER BY t.rank)
        FROM leaderboard.lb_top(10, 'arena') t JOIN arena_player p ON p.id = t.member),
    'around', (
        SELECT json_agg(json_build_object('rank', a.rank, 'id', p.id, 'name', p.name, 'score', a.score) ORDER BY a.rank)
        FROM leaderboard.lb_around(%(player)s::integer, 'arena', 2) a JOIN arena_player p ON p.id = a.member),
    'me', (
        SELECT json_build_object('id', p.id, 'name', p.name, 'rank', m.rank, 'score', m.score,
            'percentile', m.percentile, 'total', m.total)
        FROM leaderboard.lb_player(%(player)s::integer, 'arena') m, arena_player p WHERE p.id = %(player)s),
    'histogram', (
        SELECT json_agg(json_build_object('lo', h.lo, 'hi', h.hi, 'members', h.members) ORDER BY h.bucket)
        FROM leaderboard.lb_histogram(24, 'arena') h))::text"""


def connect():
    return psycopg.connect(autocommit=True)


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
                    for notification in conn.notifies():
                        if json.loads(notification.payload)["board"] == "arena":
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

    def enter(self, conn, player):
        with self.lock:
            if sum(self.pages.values()) >= MOST_PAGES:
                return False
            self.pages[player] = self.pages.get(player, 0) + 1
            conn.execute("SELECT leaderboard.lb_watch_member(%s::integer, 'arena')", (player,))
            return True

    def leave(self, conn, player):
        with self.lock:
            self.pages[player] -= 1
            if self.pages[player] == 0:
                del self.pages[player]
                conn.execute("SELECT leaderboard.lb_unwatch_member(%s::integer, 'arena')", (player,))


def play(conn, player, opponent):
    """One match.  Returns the opponent's name, and by how much the player's rating rises."""
    with conn.transaction():
        rows = {row[0]: row[1:] for row in conn.execute(
            "SELECT id, name, rating FROM arena_player WHERE id IN (%s, %s) ORDER BY id FOR UPDATE",
            (player, opponent))}
        expected = 1 / (1 + 10 ** ((rows[opponent][1] - rows[player][1]) / 400))
        won = random.random() < expected
        change = max(1, round(32 * (1 - expected))) if won else -max(1, round(32 * expected))
        conn.execute(
            "UPDATE arena_player SET rating = rating + CASE id WHEN %s THEN %s ELSE %s END, reached = clock_timestamp()"
            " WHERE id IN (%s, %s)", (player, change, -change, player, opponent))
    return rows[opponent][0], change


def neighbour(conn, player):
    """Somebody who is about as good."""
    return random.choice(conn.execute(
        "SELECT array_agg(member) FROM leaderboard.lb_around(%s::integer, 'arena', 40) WHERE member <> %s",
        (player, player)).fetchone()[0])


def simulate(matches):
    """Play so many matches a second; every fourth among the best, where it shows."""
    while True:
        try:
            with connect() as conn:
                while True:
                    time.sleep(random.expovariate(matches))
                    best = random.random() < 0.25
                    player, = conn.execute("SELECT member FROM leaderboard.lb_at(%s::integer, 'arena')",
                                           (random.randint(1, 15 if best else PLAYERS),)).fetchone()
                    play(conn, player, neighbour(conn, player))
        except psycopg.OperationalError:
            time.sleep(1)


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    changes = Changes()
    watched = Watched()

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

    def is_local(self):
        """Whether the page's own address was asked for: a name of another site may lead here too."""
        port = self.server.server_address[1]
        return self.headers.get("Host") in (f"127.0.0.1:{port}", f"localhost:{port}")

    def player(self, query):
        text = parse_qs(query).get("player", [""])[0]
        return int(text) if text.isascii() and text.isdigit() and 1 <= int(text[:5]) <= PLAYERS else None

    def do_GET(self):
        url = urlsplit(self.path)
        if not self.is_local():
            self.respond(403)
        elif url.path in FILES:
            name, kind = FILES[url.path]
            self.respond(200, (HERE / name).read_bytes(), kind)
        elif url.path == "/events" and self.player(url.query):
            self.stream(self.player(url.query))
        else:
            self.respond(404)

    def do_POST(self):
        url = urlsplit(self.path)
        player = self.player(url.query)
        if not self.is_local() or self.headers.get("Origin") != f"http://{self.headers['Host']}":
            self.respond(403)
        elif url.path != "/play" or player is None:
            self.respond(404)
        else:
            with connect() as conn:
                opponent, change = play(conn, player, neighbour(conn, player))
            self.respond(200, json.dumps({"opponent": opponent, "change": change}).encode(), "application/json")

    def stream(self, player):
        """Server-sent events: the state now, and after each change."""
        with connect() as conn:
            if not self.watched.enter(conn, player):
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
                    count = self.changes.wait(seen, 15)
                    if count == seen:       # whether the page is still there
                        self.wfile.write(b": \n\n")
                        continue
                    seen = count
                    state, = conn.execute(STATE, {"player": player}).fetchone()
                    self.wfile.write(f"data: {state}\n\n".encode())
            except (OSError, psycopg.OperationalError):
                self.close_connection = True
            finally:
                if not conn.closed:
                    self.watched.leave(conn, player)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file")
    parser.add_argument("--matches", type=float, default=4)
    arguments = parser.parse_args()

    with connect() as conn:
        if conn.execute("SELECT to_regclass('arena_player') IS NULL").fetchone()[0]:
            conn.execute((HERE / "schema.sql").read_text())
        conn.execute("SELECT leaderboard.lb_wait_ready('30 s')")

    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Page)
    threading.Thread(target=Page.changes.listen, daemon=True).start()
    if arguments.matches > 0:
        threading.Thread(target=simulate, args=(arguments.matches,), daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    if arguments.port_file:
        pathlib.Path(arguments.port_file).write_text(address + "\n")
    print(address, flush=True)
    server.serve_forever()


main()
