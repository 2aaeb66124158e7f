"""A table with a board, and a view of ranks."""

from django.db import models
from django.db.models import F, Func, Window
from django.db.models.functions import Rank


class LbRank(Func):
    """The rank of a member on a board."""
    function = "leaderboard.lb_rank"
    output_field = models.BigIntegerField()


class PlayerQuerySet(models.QuerySet):
    def with_rank(self):
        """Each player with the rank among all, whatever the query filters by."""
        return self.annotate(rank=LbRank(F("pk"), models.Value("players")))

    def ranking(self):
        """The best first, in plain SQL; rank() counts the rows of the query."""
        return self.annotate(rank=Window(Rank(), order_by=F("score").desc())).order_by("-score")


class Player(models.Model):
    name = models.TextField()
    country = models.TextField()
    score = models.BigIntegerField()

    objects = PlayerQuerySet.as_manager()

    class Meta:
        db_table = "player"


class Ranked(models.Model):
    """The view of migration 0002; Django neither creates nor writes it."""
    player = models.OneToOneField(Player, models.DO_NOTHING, db_column="id", primary_key=True,
                                  related_name="ranked")
    score = models.BigIntegerField()
    rank = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "ranked"
