#!/usr/bin/python3
"""api.py TREE PORT [nowhere | between DIRECTORY]: the server of examples/http, from outside.

libpq's environment variables lead to its database, whose owner we are, and which has
run the SQL of docs/http.md.  Its token is "secret", and it has two streams at most.  Or
it has no database, and says so.  Or they lead to us, and the database has its socket in
that directory.  Prints TAP.
"""

import asyncio
import http.client
import json
import os
import re
import shlex
import sys
import time

import psycopg
import tornado.httpclient
import tornado.websocket

TREE, PORT = sys.argv[1], int(sys.argv[2])
count = failed = 0


def is_(got, expected, title):
    global count, failed
    count += 1
    print(f"{'ok' if got == expected else 'not ok'} {count} - {title}", flush=True)
    if got != expected:
        failed += 1
        print(f"# got      {got!r}\n# expected {expected!r}", flush=True)


def request(method, path, body=None, **headers):
    """The status, the headers, and the body as JSON."""
    conn = http.client.HTTPConnection("127.0.0.1", PORT, timeout=300)
    conn.request(method, path, body, headers)
    response = conn.getresponse()
    text = response.read()
    conn.close()
    return response.status, response.headers, json.loads(text) if text else None


def get(path, **headers):
    return request("GET", path, **headers)


def post(body, **headers):
    headers = {"Authorization": "Bearer secret", "Content-Type": "application/json", **headers}
    return request("POST", "/scores", body if isinstance(body, bytes) else json.dumps(body), **headers)


def short(answer):
    status, _, body = answer
    return status, body.get("code"), body.get("error")


def masked(value):
    return re.sub(r'(daily|weekly):\d+|("as_of": )"[^"]*"', r"\1\2", json.dumps(value))


def check_page():
    """The requests of docs/http.md for this server, and their answers."""
    with open(f"{TREE}/docs/http.md", encoding="utf8") as page:
        found = re.findall(r"^```sh\n(curl [^`]*localhost:8080[^`]*)```\n\n```\n(.*?)^```", page.read(), re.M | re.S)
    is_(len(found), 3, "docs/http.md has requests")
    for command, answer in found:
        words = shlex.split(command.replace("\\\n", ""))[1:]
        options = [(words[i], words[i + 1]) for i in range(len(words)) if words[i] in ("-H", "-d")]
        url, = (word for word in words if word.startswith("http:"))
        body = dict(options).get("-d")
        got = request("POST" if body else "GET", url.removeprefix("http://localhost:8080"), body,
                      **dict(value.split(": ") for name, value in options if name == "-H"))[2]
        is_(masked(got), masked(json.loads(answer)), url)


def check_routes(db):
    status, headers, body = get("/boards/global/top?n=2&skip=1")
    is_((status, [(e["rank"], e["player_id"], e["score"]) for e in body["entries"]]),
        (200, [(2, 999, 9990), (3, 998, 9980)]), "a page of the board")
    is_((headers["Cache-Control"], headers["Content-Type"]), ("public, max-age=5", "application/json"),
        "which others may keep for five seconds")
    status, again, body = get("/boards/global/top?n=2&skip=1", **{"If-None-Match": headers["Etag"]})
    is_((status, again["Etag"], body), (304, headers["Etag"], None), "it has not changed: 304, although it is later")
    is_(len(get("/boards/global/top?n=100")[2]["entries"]), 100, "a hundred at most")
    status, answer, body = get("/boards/global/rank/7?radius=1")
    is_((status, body["rank"], [e["player_id"] for e in body["surrounding_players"]]), (200, 994, [8, 7, 6]),
        "a player's rank, and neighbours")
    is_(answer["Cache-Control"], "private, no-cache", "which only the player may keep")

    submit = {"player_id": 999, "amount": 15, "match_id": "m1"}
    status, _, body = post(submit)
    is_((status, body["new_score"], body["rank"], body["previous_rank"], body["applied"]), (200, 10005, 1, 2, True),
        "a submit")
    status, _, body = post(submit)
    is_((status, body["new_score"], body["applied"]), (200, 10005, False), "the same match again")
    status, changed, body = get("/boards/global/top?n=2&skip=1", **{"If-None-Match": headers["Etag"]})
    is_((status, body["entries"][0]["player_id"], changed["Etag"] != headers["Etag"]), (200, 1000, True),
        "now the page has changed")
    is_(db.execute("SELECT score FROM player_scores WHERE player_id = 999").fetchone()[0], 10005, "the table has it")


def check_input(db):
    for path, error in ((("/boards/global/top?n=" + n), "n must be a number from 1 to 100")
                        for n in ("-5", "0", "101", "x", "1e1", "", "%D9%A1", "9" * 30)):
        is_(short(get(path)), (400, None, error), f"GET {path}")
    is_(short(get("/boards/global/top?skip=-1")),
        (400, None, f"skip must be a number from 0 to {10 ** 18 - 1}"), "skip")
    is_(short(get("/boards/global/rank/7?radius=21")), (400, None, "radius must be a number from 0 to 20"), "radius")
    is_(short(get("/boards/globl/top")), (404, "42704", 'board "globl" does not exist'), "an unknown board")
    is_(short(get("/boards/%00/top"))[:2], (400, "22021"), "a board that is no text")
    is_(short(get("/boards/*/top"))[:2], (404, "42809"), "a family")
    is_(short(get("/boards/secret/top")), (403, "42501", "not allowed"), "a board that clients may not read")
    is_(short(get("/boards/global/rank/5000")), (404, None, "not on the board"), "an unknown player")
    is_(short(get("/boards/global/rank/x"))[:2], (400, "22P02"), "a player who is no number")
    is_(short(get("/boards/global/rank/%27%3B%20DROP%20TABLE%20player_scores"))[:2], (400, "22P02"), "a hostile one")
    is_(short(get("/nothing")), (404, None, "no such page"), "an unknown page")
    is_(request("DELETE", "/scores")[0], 405, "another method")

    good = {"player_id": 1, "amount": 1}
    for token in "", "Bearer", "Bearer secreu", "Bearer \xe9":
        status, headers, body = post(good, Authorization=token)
        is_((status, headers["WWW-Authenticate"], body), (401, "Bearer", {"error": "game servers only"}),
            f"the token {token!a}")
    is_(short(post(good, **{"Content-Type": "text/plain"})), (415, None, "application/json only"), "another type")
    is_(short(post(b"\xff")), (400, None, "not UTF-8"), "no UTF-8")
    is_(short(post(b"{"))[:2], (400, "22P02"), "no JSON")
    is_(short(post([]))[:2], (400, "22023"), "no object")
    is_(short(post({"player_id": 1}))[:2], (400, "22004"), "no amount")
    is_(short(post({**good, "points": 1}))[:2], (400, "22023"), "another field")
    is_(short(post({**good, "amount": 2 ** 63}))[:2], (400, "22003"), "too large a number")
    is_(short(post({**good, "boards": ["nowhere"]}))[:2], (404, "42704"), "an unknown window")
    status, _, body = post({"player_id": 1, "amount": 501})
    is_((status, body), (422, {"error": "a limit refuses it", "code": "23514", "limit": "burst"}), "a limit")
    is_(db.execute("SELECT score FROM player_scores WHERE player_id = 1").fetchone()[0], 10, "nothing of it is written")


def check_errors(db):
    def fails(times, code):
        db.execute("ALTER SEQUENCE failures RESTART")
        db.execute(f"""
            CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
                IF nextval('failures') <= {times} THEN RAISE 'told to' USING errcode = '{code}'; END IF;
                RETURN new; END$$""")

    db.execute("CREATE SEQUENCE failures; GRANT ALL ON SEQUENCE failures TO api_owner")
    fails(2, "40001")
    db.execute("CREATE TRIGGER fail BEFORE UPDATE ON player_scores FOR EACH ROW EXECUTE FUNCTION fail()")
    is_(post({"player_id": 2, "amount": 1})[2]["new_score"], 21, "a serialization failure is tried again")
    fails(3, "40P01")
    status, headers, body = post({"player_id": 2, "amount": 1})
    is_((status, headers["Retry-After"], body), (503, "1", {"error": "try again later", "code": "40P01"}),
        "but not for ever")
    fails(1, "XX000")
    is_(short(post({"player_id": 2, "amount": 1})), (500, "XX000", "internal error"), "what is wrong is not told")
    db.execute("DROP TRIGGER fail ON player_scores")


def top(body):
    return [entry["player_id"] for entry in json.loads(body)["entries"][:3]]


class Stream:
    """A client of the Server-Sent Events."""

    def __init__(self, board):
        self.conn = http.client.HTTPConnection("127.0.0.1", PORT, timeout=300)
        self.conn.request("GET", f"/boards/{board}/events")
        self.response = self.conn.getresponse()

    def line(self):
        line = self.response.readline().decode().rstrip("\n")
        self.response.readline()
        return line

    def next(self):
        while not (line := self.line()).startswith("data: "):
            pass
        return top(line.removeprefix("data: "))


async def check_changes(db):
    def submit(player, amount):
        db.execute("SELECT leaderboard.lb_submit(%s::bigint, %s::bigint)", (player, amount))

    address = f"ws://127.0.0.1:{PORT}/boards/global/socket"
    is_(Stream("globl").response.status, 404, "an unknown board has no events")
    wrong = await tornado.websocket.websocket_connect(address.replace("global", "globl"))
    is_((await wrong.read_message(), wrong.close_code, wrong.close_reason),
        (None, 1008, 'board "globl" does not exist'), "nor messages")
    stream = Stream("global")
    is_((stream.response.status, stream.response.headers["Content-Type"]), (200, "text/event-stream"), "events")
    is_(stream.next(), [999, 1000, 998], "the list as it is")
    # From a page of another site, too.
    socket = await tornado.websocket.websocket_connect(
        tornado.httpclient.HTTPRequest(address, headers={"Origin": "https://game.example"}))
    is_(top(await socket.read_message()), [999, 1000, 998], "on a socket, too")
    is_(short(get("/boards/global/events")), (503, None, "too many clients"), "a third stream")
    third = await tornado.websocket.websocket_connect(address)
    is_((await third.read_message(), third.close_code, third.close_reason), (None, 1013, "too many clients"),
        "or socket")

    submit(500, 20000)
    is_(stream.next(), [500, 999, 1000], "a change is an event")
    is_(top(await socket.read_message()), [500, 999, 1000], "and a message")
    while stream.line() != ": ":
        pass
    is_(True, True, "without a change there are heartbeats")

    # The server loses its connections, and what happens meanwhile.
    db.execute("ALTER ROLE api_read NOLOGIN")
    db.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'api_read'")
    status, headers, body = get("/boards/global/top")
    is_((status, headers["Retry-After"], body["error"]), (503, "1", "try again later"), "no database, no list")
    submit(501, 30000)
    db.execute("ALTER ROLE api_read LOGIN")
    is_(stream.next(), [501, 500, 999], "once it is back, the events go on")
    is_(top(await socket.read_message()), [501, 500, 999], "and the messages")

    # A place is free when a client has left, which the next heartbeat shows.
    stream.conn.close()
    stream.response.close()
    socket.close()
    while (again := Stream("global")).response.status == 503:
        again.conn.close()
        time.sleep(0.01)
    is_(again.next(), [501, 500, 999], "another client takes the place")


def check_roles(db):
    """The roles may do what the functions do, and no more."""
    def may(role, statement):
        with db.transaction(force_rollback=True):
            db.execute(f"SET LOCAL ROLE {role}")
            try:
                db.execute(statement)
                return True
            except psycopg.errors.InsufficientPrivilege:
                return False

    submit = """SELECT api.score('{"player_id": 1, "amount": 1}')"""
    for role, statement, expected in (
            ("api_read", "SELECT api.top(), api.rank('1')", True),
            ("api_read", submit, False),
            ("api_read", "SELECT FROM player_scores", False),
            ("api_read", "SELECT leaderboard.lb_top()", False),
            ("api_submit", "SELECT api.top(), api.rank('1')", True),
            ("api_submit", submit, True),
            ("api_submit", "UPDATE player_scores SET score = 0", False)):
        is_(may(role, statement), expected, f"{role}: {statement}")
    db.execute("SET ROLE api_owner; CREATE FUNCTION api.more() RETURNS int LANGUAGE sql RETURN 1; RESET ROLE")
    is_(may("api_read", "SELECT api.more()"), False, "a function that is added is closed")


async def check_lost(directory):
    """The database says that it closes a connection, and the end comes later."""
    name = f".s.PGSQL.{os.environ.get('PGPORT', 5432)}"
    clients = []

    async def pump(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    async def serve(reader, writer):
        from_db, to_db = await asyncio.open_unix_connection(f"{directory}/{name}")
        clients.append(writer)
        await asyncio.gather(pump(reader, to_db), pump(from_db, writer))

    async def top():
        return (await asyncio.to_thread(get, "/boards/global/top"))[0]

    os.mkdir(os.environ["PGHOST"])
    async with await asyncio.start_unix_server(serve, f"{os.environ['PGHOST']}/{name}"):
        is_(await top(), 200, "a connection")
        error = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"
        for writer in clients:
            writer.write(b"E" + (len(error) + 4).to_bytes(4, "big") + error)
            await writer.drain()
        is_((await top(), await top()), (503, 200), "it is lost, and there is another")
        for writer in clients:
            writer.transport.abort()


def main():
    if sys.argv[3:4] == ["between"]:
        asyncio.run(check_lost(sys.argv[4]))
        return failed
    if sys.argv[3:] == ["nowhere"]:
        is_(short(get("/boards/global/top")), (503, None, "try again later"), "without a database")
        return failed
    with psycopg.connect(autocommit=True) as db:
        check_page()
        db.execute("""
            SET search_path = public, leaderboard;
            TRUNCATE player_scores, player_score_windows;
            INSERT INTO player_scores SELECT i, i * 10, '2026-01-01' FROM generate_series(1, 1000) i;
            CREATE TABLE secret (player_id bigint PRIMARY KEY, score bigint NOT NULL);
            SELECT lb_create_board('secret', 'secret', 'player_id', 'score DESC'),
                lb_set_limit('burst', 'global', max_amount => 500), lb_wait_ready()""")
        check_routes(db)
        check_input(db)
        check_errors(db)
        db.execute("SELECT lb_drop_limit('burst')")
        asyncio.run(check_changes(db))
        check_roles(db)
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
