"""What tools that read the schema of public see: Alembic and information_schema.

Run in examples/sqlalchemy, in a database that its tour has prepared.  Prints the
tables and views that a tool takes for the user's, and what Alembic would change.
"""

import sys

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

sys.path.insert(0, ".")
from models import Base  # noqa: E402

with create_engine("postgresql+psycopg2://").connect() as connection:
    changes = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    print("alembic:", sorted(f"{change[0]} {getattr(change[1], 'name', change[1])}" for change in changes))
    # As Prisma does.
    found = connection.execute(text(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name"))
    print("information_schema:", [row[0] for row in found])
    found = connection.execute(text(
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'public'"))
    print("routines:", [row[0] for row in found])
