#!/usr/bin/python3
"""The leaderboard extension from Python: submit, read, retry, listen.

libpq's environment variables (PGHOST, PGDATABASE, ...) say where the database is.
"""

import json
import random
import time

import psycopg


def connect():
    return psycopg.connect(autocommit=True)


def submit(conn, player, amount, op="incr", match=None):
    """The player's score and rank after the change.  With a match, the same call can
    be repeated: it counts once."""
    return conn.execute(
        "SELECT score, rank FROM leaderboard.lb_submit(%s::bigint, %s::bigint, %s::text, %s::text)"
        " WHERE board = 'global'",
        (player, amount, op, match)).fetchone()


def top(conn, n):
    return conn.execute("SELECT rank, member, score FROM leaderboard.lb_top(%s::integer)", (n,)).fetchall()


def around(conn, player, radius):
    return conn.execute(
        "SELECT rank, member, score FROM leaderboard.lb_around(%s::bigint, radius => %s::integer)",
        (player, radius)).fetchall()


def retry(work, attempts=5):
    """Run work(conn, attempt) until no serialization failure, deadlock or lost
    connection gets in its way.  psycopg calls all of these operational errors.  A lost
    connection does not say whether its commit was done, so work should submit with a
    match."""
    for attempt in range(1, attempts + 1):
        try:
            with connect() as conn:
                return work(conn, attempt)
        except psycopg.OperationalError:
            if attempt == attempts:
                raise
            time.sleep(random.uniform(0, 0.02 * 2 ** attempt))


def conflicting(conn, attempt):
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        conn.execute("SELECT leaderboard.lb_score(42)")
        if attempt == 1:                    # another session is faster
            with connect() as other:
                submit(other, 42, 10)
        return *submit(conn, 42, 10), attempt


def disconnected(conn, attempt):
    result = submit(conn, 42, 10, match="match 2")
    if attempt == 1:                        # the answer does not arrive
        conn.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    return *result, attempt


def show(rows):
    for rank, member, score in rows:
        print(f"  {rank}. player {member} with {score}")


def main():
    with connect() as conn:
        for title in ("submit", "the same match again"):
            score, rank = submit(conn, 42, 80, match="match 1")
            print(f"{title}: player 42 has {score} points and rank {rank}")
        print("top:")
        show(top(conn, 3))
        print("around player 42:")
        show(around(conn, 42, 1))

        for title, work in (("serialization failure", conflicting), ("lost connection", disconnected)):
            score, _, attempts = retry(work)
            print(f"{title}: player 42 has {score} points after {attempts} attempts")

        # Listen first, then read or change: nothing is missed.
        conn.execute("LISTEN leaderboard")
        submit(conn, 42, 2 ** 53 + 1, op="set")
        for notification in conn.notifies():
            change = json.loads(notification.payload)
            places = [p["place"] for p in change.get("places", []) if p["player_id"] == 42]
            if places:
                print(f"listen: player 42 is at place {places[0]}")
                break

    with connect() as conn:
        score, = conn.execute("SELECT leaderboard.lb_score(42)").fetchone()
        print(f"2^53 + 1: player 42 has {score} points")


main()
