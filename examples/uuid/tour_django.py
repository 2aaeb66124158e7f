#!/usr/bin/python3
"""Keys that are uuids, with Django: F("pk") is a uuid, and so is the value of a UUIDField."""

import os
import uuid
from decimal import Decimal

import django
from django.conf import settings

# libpq's environment variables say where the database is.
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ.get("PGDATABASE", "game")}},
    SECRET_KEY="for the example only", USE_TZ=True)
django.setup()

from django.db import connection, models  # noqa: E402
from django.db.models import DecimalField, F, Func, Value  # noqa: E402


class LbRank(Func):
    """The rank of a member of any type on a board."""
    function = "leaderboard.lb_rank_key"
    output_field = models.BigIntegerField()


class LbCountBetween(Func):
    """How many have a score from one to another; None is open."""
    function = "leaderboard.lb_count_between_key"
    output_field = models.BigIntegerField()


class Account(models.Model):
    account_id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.TextField()
    balance = models.DecimalField(max_digits=12, decimal_places=2)

    class Meta:
        app_label = "game"
        db_table = "account"


class RankedAccount(models.Model):
    """The view: Django neither creates nor writes it."""
    account_id = models.UUIDField(primary_key=True)
    owner = models.TextField()
    rank = models.BigIntegerField()

    class Meta:
        app_label = "game"
        managed = False
        db_table = "ranked_account"


key = uuid.UUID("a1d0c6e83f027327d8461063f4ac58a6")
nobody = uuid.UUID(int=0)

account = Account.objects.annotate(rank=LbRank(F("pk"), Value("richest"))).get(pk=key)
print(f"rank {account.rank}, balance {account.balance}")
least = Value(Decimal("12387.50"), DecimalField())
n = Account.objects.annotate(n=LbCountBetween(least, None, Value("richest"))).values_list("n", flat=True)[0]
print(f"{n} accounts have 12387.50 or more")
with connection.cursor() as cursor:
    cursor.execute("SELECT rank, member::uuid, score FROM leaderboard.lb_around_key(%s, 'richest', 1)", [key])
    for rank, member, score in cursor:
        print(f"{rank}. {member.hex} with {score}")
    # An array is one of texts.
    cursor.execute("SELECT rank FROM leaderboard.lb_ranks_key(%s, 'richest')", [[str(key), str(nobody)]])
    print("of two:", ", ".join(str(rank or "none") for rank, in cursor))
ranked = RankedAccount.objects.get(pk=key)
print(f"plain SQL: {ranked.owner} has rank {ranked.rank}")
