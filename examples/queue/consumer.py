#!/usr/bin/python3
"""Submits that wait in a stream of Redis: each counts once.

    XADD scores * player 4711 amount 120 match match-8813 [leaderboard kills]

The consumer submits a batch of entries in one transaction, and acknowledges them after
the commit.  If it, the broker or the database ends in between, the entries come again,
and their match ids keep them from counting twice.  Start as many consumers as you like,
each with a name of its own.  queue.sql makes the table of what is refused.

libpq's environment variables (PGHOST, PGDATABASE, ...) say where the database is.
"""

import argparse
import collections
import itertools
import json
import logging
import random
import signal
import socket
import time

import psycopg
import redis

Submit = collections.namedtuple("Submit", "entry time leaderboard player amount match fields")

SUBMIT = """
SELECT item, CASE status WHEN 'limit' THEN 'limit ' || limit_name ELSE status END
FROM leaderboard.lb_submit_each(%s::bigint[], %s::bigint[], match_ids => %s::text[],
    at => least(to_timestamp(%s), now()), leaderboard => %s::text)
WHERE status IN ('limit', 'overflow')"""

REFUSED = "SELECT entry FROM queue_refused WHERE stream = %s AND entry = ANY(%s::text[])"

REFUSE = "INSERT INTO queue_refused (stream, entry, reason, message) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"

# Errors of what was sent: to try again does not help.  All others end the attempt.
WRONG = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.UndefinedObject, psycopg.errors.DatatypeMismatch)


def bigint(text):
    number = int(text)
    if not -2 ** 63 <= number < 2 ** 63:
        raise ValueError(f"out of range: {number}")
    return number


def parse(entry, fields):
    """The submit that an entry asks for.  Its time is when the broker got it."""
    text = {name.decode(): value.decode() for name, value in fields.items()}
    if not text["match"] or any("\0" in value for value in text.values()):
        raise ValueError("an empty match, or a zero byte")
    return Submit(entry, int(entry.partition("-")[0]) / 1000, text.get("leaderboard", "global"),
                  bigint(text["player"]), bigint(text["amount"]), text["match"], fields)


def readable(fields):
    """An entry's fields as JSON, whatever was sent."""
    return json.dumps({name.decode(errors="replace"): value.decode(errors="replace")
                       for name, value in fields.items()}).replace("\\u0000", "\\ufffd")


class Consumer:
    def __init__(self, options):
        self.options = options
        self.stopped = False
        self.submitted = self.refused = 0
        self.failures = 0
        self.claim_at = self.report_at = 0

    def run(self):
        """Consume until stopped.  After an error, all that is not acknowledged comes again."""
        while not self.stopped:
            try:
                with connect_redis(self.options) as broker, connect_database() as conn:
                    create_group(broker, self.options)
                    self.consume(broker, conn)
            except (redis.RedisError, psycopg.Error) as error:
                logging.warning("%s: %s", type(error).__name__, str(error).strip())
                time.sleep(random.uniform(0.05, 0.1 * 2 ** min(self.failures, 5)))
                self.failures += 1

    def consume(self, broker, conn):
        start = "0"                         # first what this name has read before
        while not self.stopped:
            entries = self.claim(broker) or self.read(broker, start)
            if entries:
                self.store_all(broker, conn, entries)
                self.failures = 0
            else:
                start = ">"                 # then what no consumer has read
            self.report(broker)

    def read(self, broker, start):
        o = self.options
        answer = broker.xreadgroup(o.group, o.name, {o.stream: start}, count=o.batch, block=1000)
        return answer[0][1] if answer else []

    def claim(self, broker):
        """What other consumers have read long ago, and not acknowledged."""
        o = self.options
        if time.monotonic() < self.claim_at:
            return []
        entries = broker.xautoclaim(o.stream, o.group, o.name, int(o.claim_after * 1000), count=o.batch)[1]
        if not entries:
            self.claim_at = time.monotonic() + o.claim_after / 2
        return [entry for entry in entries if entry[0]]

    def store_all(self, broker, conn, entries):
        """Submit the entries and acknowledge them, one transaction for those of a
        leaderboard and a second: a submit counts in the windows of its time."""
        submits, wrong = [], []
        for entry, fields in entries:
            try:
                submits.append(parse(entry.decode(), fields))
            except (KeyError, ValueError) as error:
                wrong.append((entry.decode(), f"{type(error).__name__}: {error}", fields or {}))
        if wrong:
            self.refuse(conn, wrong)
            self.acknowledge(broker, [entry for entry, _, _ in wrong])
        submits.sort(key=lambda s: (s.leaderboard, int(s.time)))
        for _, group in itertools.groupby(submits, key=lambda s: (s.leaderboard, int(s.time))):
            group = list(group)
            self.store(conn, group)
            self.acknowledge(broker, [s.entry for s in group])

    def store(self, conn, submits):
        """Submit what has one leaderboard and second.  An error that one of them causes
        is of all, so look for it in halves."""
        try:
            with conn.transaction():
                before = {entry for entry, in conn.execute(
                    REFUSED, (self.options.stream, [s.entry for s in submits]))}
                refused = self.submit(conn, [s for s in submits if s.entry not in before])
                self.refuse(conn, [(s.entry, reason, s.fields) for s, reason in refused])
        except WRONG as error:
            if len(submits) == 1:
                reason = f"{error.sqlstate}: {error.diag.message_primary or error}"
                self.refuse(conn, [(submits[0].entry, reason, submits[0].fields)])
            else:
                half = len(submits) // 2
                self.store(conn, submits[:half])
                self.store(conn, submits[half:])
        else:
            self.submitted += len(submits) - len(refused)

    def submit(self, conn, submits):
        """Submits; returns those that are refused, with the reason.  The function makes one
        change of all that a player has in the call: if that is refused, try them singly."""
        if not submits:
            return []
        rows = conn.execute(SUBMIT, (
            [s.player for s in submits], [s.amount for s in submits], [s.match for s in submits],
            submits[-1].time, submits[0].leaderboard)).fetchall()
        refused = [(submits[item - 1], reason) for item, reason in rows]
        several = collections.Counter(s.player for s, _ in refused)
        return [again for s, reason in refused
                for again in (self.submit(conn, [s]) if several[s.player] > 1 else [(s, reason)])]

    def refuse(self, conn, refused):
        if refused:
            conn.cursor().executemany(REFUSE, [
                (self.options.stream, entry, reason, readable(fields)) for entry, reason, fields in refused])
            self.refused += len(refused)

    def acknowledge(self, broker, entries):
        """The stream keeps only what is not done: its length says how far behind we are."""
        o = self.options
        with broker.pipeline(transaction=True) as pipeline:
            pipeline.xack(o.stream, o.group, *entries)
            pipeline.xdel(o.stream, *entries)
            pipeline.execute()

    def report(self, broker):
        if time.monotonic() >= self.report_at:
            self.report_at = time.monotonic() + self.options.report
            length, age = behind(broker, self.options.stream)
            logging.info("%d behind, the oldest for %.1f s; %d submitted and %d refused since the start",
                         length, age, self.submitted, self.refused)

    def stop(self, *_):
        self.stopped = True


def behind(broker, stream):
    """How many entries wait, and for how many seconds the oldest does."""
    length, oldest = broker.xlen(stream), broker.xrange(stream, count=1)
    seconds, microseconds = broker.time()
    return length, seconds + microseconds / 1e6 - int(oldest[0][0].partition(b"-")[0]) / 1000 if oldest else 0


def create_group(broker, options):
    try:
        broker.xgroup_create(options.stream, options.group, id="0", mkstream=True)
    except redis.ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


def connect_redis(options):
    return redis.Redis.from_url(options.redis, socket_timeout=10)


def connect_database():
    return psycopg.connect(autocommit=True, application_name="queue consumer", connect_timeout=10,
                           tcp_user_timeout=30000)


def main():
    parser = argparse.ArgumentParser(description="Submits that wait in a stream of Redis.")
    parser.add_argument("--redis", default="redis://localhost", help="the broker's address")
    parser.add_argument("--stream", default="scores")
    parser.add_argument("--group", default="leaderboard")
    parser.add_argument("--name", default=socket.gethostname(), help="this consumer's name: another for each")
    parser.add_argument("--batch", type=int, default=1000, help="entries that it reads at once")
    parser.add_argument("--claim-after", type=float, default=30, metavar="SECONDS",
                        help="a consumer that has not acknowledged for so long is taken for dead")
    parser.add_argument("--report", type=float, default=10, metavar="SECONDS", help="how often to log how far behind")
    parser.add_argument("--behind", action="store_true", help="only print how far behind, for Prometheus")
    options = parser.parse_args()
    if options.behind:
        length, age = behind(connect_redis(options), options.stream)
        print(f'leaderboard_queue_length{{stream="{options.stream}"}} {length}')
        print(f'leaderboard_queue_oldest_seconds{{stream="{options.stream}"}} {age:.3f}')
        return
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    consumer = Consumer(options)
    for number in signal.SIGTERM, signal.SIGINT:
        signal.signal(number, consumer.stop)
    consumer.run()


if __name__ == "__main__":
    main()
