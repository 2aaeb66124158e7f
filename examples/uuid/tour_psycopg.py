#!/usr/bin/python3
"""Keys that are uuids, with psycopg: a UUID is sent with its type, and so is a Decimal."""

import uuid
from decimal import Decimal

import psycopg

# libpq's environment variables say where the database is.
account = uuid.UUID("a1d0c6e83f027327d8461063f4ac58a6")
nobody = uuid.UUID(int=0)

with psycopg.connect("", autocommit=True) as connection:
    rank, balance = connection.execute(
        "SELECT rank, score::numeric FROM leaderboard.lb_player_key(%s, 'richest')", (account,)).fetchone()
    print(f"rank {rank}, balance {balance}")
    n, = connection.execute(
        "SELECT leaderboard.lb_count_between_key(%s, NULL, 'richest')", (Decimal("12387.50"),)).fetchone()
    print(f"{n} accounts have 12387.50 or more")
    for row in connection.execute(
            "SELECT rank, member::uuid, score FROM leaderboard.lb_around_key(%s, 'richest', 1)", (account,)):
        print(f"{row[0]}. {row[1].hex} with {row[2]}")
    # An array is one of texts.
    ranks = connection.execute("SELECT rank FROM leaderboard.lb_ranks_key(%s, 'richest')",
                               ([str(account), str(nobody)],)).fetchall()
    print("of two:", ", ".join(str(rank or "none") for rank, in ranks))
    owner, rank = connection.execute(
        "SELECT owner, rank FROM ranked_account WHERE account_id = %s", (account,)).fetchone()
    print(f"plain SQL: {owner} has rank {rank}")
