#!/usr/bin/python3
"""Ranks in SQLAlchemy: as a column, and from a view."""

from sqlalchemy import create_engine, select, text, update
from sqlalchemy.orm import Session

from models import BOARD, Base, Player, Ranked, ranking

# libpq's environment variables say where the database is.
engine = create_engine("postgresql+psycopg2://", future=True)

Base.metadata.create_all(engine)
with engine.begin() as connection:
    for statement in BOARD:
        connection.execute(text(statement))

with Session(engine, future=True) as session:
    session.add_all(
        Player(id=i, name=f"Player {i}", country=("FR", "JP", "BR")[i % 3], score=i * 10) for i in range(1, 1001))
    session.commit()

    print(f"column: Player 42 has rank {session.get(Player, 42).rank}")
    best = select(Player.name, Player.rank).where(Player.country == "FR").order_by(Player.score.desc()).limit(2)
    print("column, the best of a country:", [tuple(row) for row in session.execute(best)])
    print("window:", [tuple(row) for row in session.execute(ranking().limit(2))])
    one = select(Ranked.c.rank).where(Ranked.c.id == 42)
    print(f"view: Player 42 has rank {session.execute(one).scalar()}")
    span = (select(Player.name, Ranked.c.rank).join(Ranked, Ranked.c.id == Player.id)
            .where(Ranked.c.rank.between(500, 501)).order_by(Ranked.c.rank))
    print("view, a range of ranks:", [tuple(row) for row in session.execute(span)])

    session.execute(update(Player).where(Player.id == 42).values(score=2 ** 53 + 1))
    session.commit()
    player = session.get(Player, 42)
    print(f"2^53 + 1: {player.score}, rank {player.rank}")
