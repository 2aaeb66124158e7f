#!/usr/bin/python3
"""Boards over HTTP, for the schema that api.sql makes.

    POST /scores                               a submit, with the game servers' token
    GET  /boards/global/top?n=10&skip=0
    GET  /boards/global/rank/4711?radius=2
    GET  /boards/global/events                 the top list after each change: Server-Sent Events
    GET  /boards/global/socket                 the same on a WebSocket

The environment has GAME_TOKEN, HOST and PORT if they are not 127.0.0.1 and 8080, and
libpq's variables, which say where the database is.
"""

import asyncio
import collections
import contextlib
import hashlib
import hmac
import json
import logging
import os
import re
import signal

import asyncpg
import tornado.httpserver
import tornado.iostream
import tornado.netutil
import tornado.web
import tornado.websocket

TOKEN = os.environ["GAME_TOKEN"]
HOST = os.environ.get("HOST", "127.0.0.1")
PORT = int(os.environ.get("PORT", 8080))
HEARTBEAT = float(os.environ.get("HEARTBEAT", 15))      # seconds, to clients of events
PING = 15                               # to those of a socket, who are gone if none answers for as long
MOST_STREAMS = int(os.environ.get("MOST_STREAMS", 10000))
TOP = "SELECT api.top($1, $2, $3)"
RANK = "SELECT api.rank($1, $2, $3)"
SCORE = "SELECT api.score($1)"

# What the errors of the database mean to a client, by SQLSTATE or its class.
STATUS = {
    "42704": 404, "42809": 404,         # no such board
    "22": 400,                          # an argument or a field is wrong
    "23514": 422,                       # a limit refuses it
    "23505": 409,                       # the match was submitted to some of the leaderboards
    "42501": 403,                       # a board that clients may not read
    "25006": 503, "40": 503, "08": 503, "28": 503, "53": 503, "55": 503, "57": 503,    # try again later
}


class Failure(tornado.web.HTTPError):
    def __init__(self, status, message, **more):
        super().__init__(status)
        self.answer = {"error": message, **more}


def failure(error):
    """The answer to an error of the database.  What only an operator can mend is not told."""
    code = error.sqlstate or ""
    status = STATUS.get(code) or STATUS.get(code[:2], 500)
    if status in (400, 404, 409):
        return Failure(status, error.message, code=code)
    if status == 422:
        return Failure(status, "a limit refuses it", code=code, limit=error.constraint_name)
    if status >= 500:
        logging.error("%s: %s", code, error)
    return Failure(status, {403: "not allowed", 503: "try again later"}.get(status, "internal error"), code=code)


async def call(pool, statement, *arguments):
    """The result of a function, tried again after a deadlock or a serialization failure."""
    for attempt in range(3):
        try:
            return await pool.fetchval(statement, *arguments)
        except asyncpg.PostgresError as error:
            if attempt == 2 or not (error.sqlstate or "").startswith("40"):
                raise failure(error) from error
        except (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError, asyncio.TimeoutError) as error:
            raise Failure(503, "try again later") from error


class Changes:
    """Follows boards for all clients, by one connection that listens and one query for each
    change."""

    def __init__(self, pool):
        self.pool = pool
        self.clients = 0
        self.connected = 0              # how often: what changed in between was not heard
        self.count = collections.Counter()
        self.lists = {}
        self.news = asyncio.Event()

    async def listen(self):
        while True:
            try:
                conn = await asyncpg.connect(user="api_read")
                lost = asyncio.Event()
                conn.add_termination_listener(lambda _: lost.set())
                await conn.add_listener("leaderboard", self.hear)
                self.connected += 1
                self.wake()
                await lost.wait()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await asyncio.sleep(1)

    def hear(self, conn, pid, channel, payload):
        self.count[json.loads(payload)["board"]] += 1
        self.wake()

    def wake(self):
        self.news.set()
        self.news = asyncio.Event()

    def version(self, board):
        return self.connected, self.count[board]

    async def top(self, board):
        """The board's top list, read once for all who ask for the same version."""
        version = self.version(board)
        if self.lists.get(board, (None,))[0] != version:
            self.lists[board] = version, asyncio.ensure_future(call(self.pool, TOP, board, 10, 0))
            asyncio.get_running_loop().call_later(1, self.lists.pop, board, None)
        return version, await asyncio.shield(self.lists[board][1])

    async def follow(self, board):
        """The list now and after each change, or None after a while without one.  Who is slow
        misses versions, never the last one."""
        if self.clients >= MOST_STREAMS:
            raise Failure(503, "too many clients")
        self.clients += 1
        try:
            seen = None
            while True:
                news = self.news
                if seen != self.version(board):
                    seen, body = await self.top(board)
                    yield body
                    continue
                try:
                    await asyncio.wait_for(news.wait(), HEARTBEAT)
                except asyncio.TimeoutError:
                    yield None
        finally:
            self.clients -= 1


class Handler(tornado.web.RequestHandler):
    def set_default_headers(self):
        self.set_header("Cache-Control", "no-store")
        self.set_header("Access-Control-Allow-Origin", "*")

    def write_error(self, status_code, **kwargs):
        error = kwargs.get("exc_info", (None, None))[1]
        if status_code == 401:
            self.set_header("WWW-Authenticate", "Bearer")
        if status_code == 503:
            self.set_header("Retry-After", "1")
        self.finish(getattr(error, "answer", {"error": self._reason}))

    def number(self, name, default, least, most):
        text = self.get_query_argument(name, str(default))
        if not re.fullmatch("[0-9]{1,18}", text) or not least <= int(text) <= most:
            raise Failure(400, f"{name} must be a number from {least} to {most}")
        return int(text)

    def answer(self, body, cache):
        if body is None:
            raise Failure(404, "not on the board")
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", cache)
        self.body = body
        self.finish(body)

    def compute_etag(self):
        """Of what is on the board, without the time at which it was read: a weak one."""
        value = json.loads(self.body)
        value.pop("as_of", None)
        return f'W/"{hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]}"'


class Nothing(Handler):
    def prepare(self):
        raise Failure(404, "no such page")


class Top(Handler):
    async def get(self, board):
        n, skip = self.number("n", 10, 1, 100), self.number("skip", 0, 0, 10 ** 18 - 1)
        self.answer(await call(self.settings["read"], TOP, board, n, skip), "public, max-age=5")


class Rank(Handler):
    async def get(self, board, player):
        radius = self.number("radius", 2, 0, 20)
        self.answer(await call(self.settings["read"], RANK, player, board, radius), "private, no-cache")


class Score(Handler):
    async def post(self):
        token = self.request.headers.get("Authorization", "")
        if not hmac.compare_digest(token.encode(), f"Bearer {TOKEN}".encode()):
            raise Failure(401, "game servers only")
        if self.request.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise Failure(415, "application/json only")
        try:
            body = self.request.body.decode()
        except UnicodeDecodeError as error:
            raise Failure(400, "not UTF-8") from error
        self.answer(await call(self.settings["submit"], SCORE, body), "no-store")


class Events(Handler):
    async def get(self, board):
        self.set_header("Content-Type", "text/event-stream")
        with contextlib.suppress(tornado.iostream.StreamClosedError):
            async for body in self.settings["changes"].follow(board):
                self.write(": \n\n" if body is None else f"data: {body}\n\n")
                await self.flush()


class Socket(tornado.websocket.WebSocketHandler):
    def check_origin(self, origin):
        return True                     # what anyone may read

    def open(self, board):
        self.sender = asyncio.create_task(self.send(board))

    async def send(self, board):
        with contextlib.suppress(tornado.websocket.WebSocketClosedError):
            try:
                async for body in self.settings["changes"].follow(board):
                    if body is not None:
                        await self.write_message(body)
            except Failure as error:    # 1013: try again later
                self.close(1013 if error.status_code == 503 else 1008, error.answer["error"][:100])

    def on_close(self):
        self.sender.cancel()


async def main():
    options = {"min_size": 0, "max_size": 10, "command_timeout": 10}
    async with asyncpg.create_pool(user="api_read", **options) as read, \
            asyncpg.create_pool(user="api_submit", **options) as submit:
        changes = Changes(read)
        routes = [
            (r"/scores", Score),
            (r"/boards/([^/]+)/top", Top),
            (r"/boards/([^/]+)/rank/([^/]+)", Rank),
            (r"/boards/([^/]+)/events", Events),
            (r"/boards/([^/]+)/socket", Socket),
        ]
        app = tornado.web.Application(routes, default_handler_class=Nothing, read=read, submit=submit,
                                      changes=changes, websocket_ping_interval=PING)
        server = tornado.httpserver.HTTPServer(app, max_body_size=10000)
        sockets = tornado.netutil.bind_sockets(PORT, HOST)
        server.add_sockets(sockets)
        print(f"Listening on {HOST}, port {sockets[0].getsockname()[1]}", flush=True)
        listener = asyncio.create_task(changes.listen())
        stop = asyncio.Event()
        for number in signal.SIGTERM, signal.SIGINT:
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await stop.wait()
        server.stop()
        listener.cancel()
        await server.close_all_connections()
        for pool in read, submit:       # a connection that is lost meanwhile may keep its place
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(pool.close(), 5)


if __name__ == "__main__":
    asyncio.run(main())
