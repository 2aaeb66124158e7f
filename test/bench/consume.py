#!/usr/bin/python3
"""consume.py EXAMPLE URL through|broker CONSUMERS BATCH SUBMITS PLAYERS

Prints how many submits a second go through the stream: from the first entry that one
process adds, in pipelines of 500, to the last that the consumers of examples/queue
acknowledge.  Through the database, or with the broker alone.
"""

import argparse
import multiprocessing
import random
import signal
import sys
import time
import uuid

import redis

EXAMPLE, URL, WAY = sys.argv[1:4]
CONSUMERS, BATCH, SUBMITS, PLAYERS = map(int, sys.argv[4:])
sys.dont_write_bytecode = True
sys.path.insert(0, EXAMPLE)

import consumer     # noqa: E402  its folder is an argument


def produce():
    broker, run = redis.Redis.from_url(URL), uuid.uuid4().hex[:8]
    for begin in range(0, SUBMITS, 500):
        with broker.pipeline(transaction=False) as pipeline:
            for i in range(begin, min(begin + 500, SUBMITS)):
                pipeline.xadd("scores", {"player": random.randint(1, PLAYERS), "amount": random.randint(1, 100),
                                         "match": f"{run}-{i}"})
            pipeline.execute()


def consume(name):
    one = consumer.Consumer(argparse.Namespace(redis=URL, stream="scores", group="leaderboard", name=name,
                                               batch=BATCH, claim_after=60, report=3600))
    if WAY == "broker":
        one.store = lambda conn, submits: None
    signal.signal(signal.SIGTERM, one.stop)
    one.run()


def main():
    broker = redis.Redis.from_url(URL)
    broker.delete("scores")
    consumers = [multiprocessing.Process(target=consume, args=(f"consumer{i}",), daemon=True) for i in range(CONSUMERS)]
    for process in consumers:
        process.start()
    while not broker.exists("scores") or broker.xinfo_groups("scores")[0]["consumers"] < CONSUMERS:
        time.sleep(0.01)
    producer = multiprocessing.Process(target=produce)
    began = time.monotonic()
    producer.start()
    producer.join()
    while broker.xlen("scores"):
        time.sleep(0.005)
    print(SUBMITS / (time.monotonic() - began))
    for process in consumers:
        process.terminate()
        process.join()


main()
