"""A table with a board, and a view of ranks."""

from sqlalchemy import BigInteger, Column, MetaData, Table, Text, func, select
from sqlalchemy.orm import column_property, declarative_base

Base = declarative_base()


class Player(Base):
    __tablename__ = "player"
    id = Column(BigInteger, primary_key=True)
    name = Column(Text, nullable=False)
    country = Column(Text, nullable=False)
    score = Column(BigInteger, nullable=False)

    # The rank among all, loaded with the player, whatever the query filters by.
    rank = column_property(func.leaderboard.lb_rank(id, "players", type_=BigInteger))


# A view: its metadata is not what Alembic and create_all() look at.
Ranked = Table(
    "ranked", MetaData(),
    Column("id", BigInteger, primary_key=True),
    Column("score", BigInteger),
    Column("rank", BigInteger))

# What a migration runs after it has created the table.
BOARD = (
    "CREATE SCHEMA leaderboard",
    "GRANT USAGE ON SCHEMA leaderboard TO PUBLIC",
    "CREATE EXTENSION leaderboard SCHEMA leaderboard",
    "SELECT leaderboard.lb_create_board('players', 'player', member => 'id',"
    " rank_by => 'score DESC', method => 'rank')",
    "CREATE VIEW ranked AS SELECT id, score, rank() OVER (ORDER BY score DESC) FROM player",
)


def ranking():
    """The best first, in plain SQL."""
    rank = func.rank().over(order_by=Player.score.desc())
    return select(Player.name, rank.label("rank")).order_by(Player.score.desc())
