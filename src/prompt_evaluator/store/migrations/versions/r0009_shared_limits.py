"""Add rate limits and budgets that processes keep together, and who asked for a queued run."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "store_salt",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "shared_limits",
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("free_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("key", "kind", name="pk_shared_limits"),
    )
    op.create_table(
        "budgets",
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("spent", sa.Float, nullable=False),
    )
    op.add_column("queue", sa.Column("asked_by", sa.Text, nullable=False, server_default=""))
    if op.get_bind().dialect.name == "sqlite":
        asked_by = "json_extract(request, '$.asked_by')"
    else:
        asked_by = "CAST(request AS json) ->> 'asked_by'"
    op.execute(f"UPDATE queue SET asked_by = coalesce({asked_by}, '')")  # noqa: S608 - a constant
    op.create_index("ix_queue_asked_by_state", "queue", ["asked_by", "state"])
    op.create_index("ix_queue_asked_by_started_at", "queue", ["asked_by", "started_at"])
