#!/usr/bin/python3
"""Keys that are uuids, with SQLAlchemy: columns and values keep their types."""

import uuid
from decimal import Decimal

from sqlalchemy import BigInteger, Column, MetaData, Numeric, Table, Text, cast, create_engine, func, literal, null, select
from sqlalchemy.dialects.postgresql import UUID
from sqlalchemy.orm import Session, column_property, declarative_base

lb = func.leaderboard
Base = declarative_base()


class Account(Base):
    __tablename__ = "account"
    account_id = Column(UUID(as_uuid=True), primary_key=True)
    owner = Column(Text, nullable=False)
    balance = Column(Numeric(12, 2), nullable=False)

    # The rank among all, loaded with the account.
    rank = column_property(lb.lb_rank_key(account_id, "richest", type_=BigInteger))


RankedAccount = Table(
    "ranked_account", MetaData(),
    Column("account_id", UUID(as_uuid=True), primary_key=True),
    Column("owner", Text),
    Column("rank", BigInteger))

# libpq's environment variables say where the database is.
engine = create_engine("postgresql+psycopg2://", future=True)
key = uuid.UUID("a1d0c6e83f027327d8461063f4ac58a6")
nobody = uuid.UUID(int=0)

with Session(engine, future=True) as session:
    account = session.get(Account, key)
    print(f"rank {account.rank}, balance {account.balance}")
    n = session.scalar(select(lb.lb_count_between_key(Decimal("12387.50"), null(), "richest")))
    print(f"{n} accounts have 12387.50 or more")
    around = lb.lb_around_key(cast(key, UUID(as_uuid=True)), "richest", 1).table_valued("rank", "member", "score")
    for rank, member, score in session.execute(select(around)):
        print(f"{rank}. {uuid.UUID(member).hex} with {score}")
    # An array is one of texts.
    ranks = lb.lb_ranks_key(literal([str(key), str(nobody)]), "richest").table_valued("rank")
    print("of two:", ", ".join(str(rank or "none") for rank, in session.execute(select(ranks))))
    owner, rank = session.execute(
        select(RankedAccount.c.owner, RankedAccount.c.rank).where(RankedAccount.c.account_id == key)).one()
    print(f"plain SQL: {owner} has rank {rank}")
