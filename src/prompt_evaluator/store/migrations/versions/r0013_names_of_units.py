"""In a file, index the names of units only once units are looked up by name."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index("ix_units_name", "units", if_exists=True)
        where = sa.text("case_id = ''")
        op.create_index("ix_units_prepared", "units", ["name"], sqlite_where=where, if_not_exists=True)
