"""Count the owners of a run, and name the worker of a request."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("runs", sa.Column("owner_epoch", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("queue", sa.Column("worker", sa.Text))
