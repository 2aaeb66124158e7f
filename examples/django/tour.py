#!/usr/bin/python3
"""Ranks in Django: as an annotation, and from a view."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
django.setup()

from django.db.models import F  # noqa: E402
from game.models import Player, Ranked  # noqa: E402

Player.objects.all().delete()
Player.objects.bulk_create(
    Player(id=i, name=f"Player {i}", country=("FR", "JP", "BR")[i % 3], score=i * 10) for i in range(1, 1001))

player = Player.objects.with_rank().get(pk=42)
print(f"annotation: {player.name} has rank {player.rank}")
print("annotation, the best of a country:",
      [(p.name, p.rank) for p in Player.objects.with_rank().filter(country="FR").order_by("-score")[:2]])
print("window:", [(p.name, p.rank) for p in Player.objects.ranking()[:2]])
print(f"view: Player 42 has rank {Ranked.objects.get(pk=42).rank}")
print(f"view, by the player: {Player.objects.get(pk=42).ranked.rank}")
print("view, a range of ranks:",
      [(r.player.name, r.rank) for r in
       Ranked.objects.select_related("player").filter(rank__range=(500, 501)).order_by("rank")])

Player.objects.filter(pk=42).update(score=F("score") + 2 ** 53 + 1 - 420)
player = Player.objects.with_rank().get(pk=42)
print(f"2^53 + 1: {player.score}, rank {player.rank}")
