"""Add what servers need: requests to stop a run, tokens, and the keys of requests that may be repeated."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("runs", sa.Column("stop_requested", sa.Text))
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.Column("revoked_at", sa.Text),
        sa.Column("last_used_at", sa.Text),
        sa.Column("max_samples", sa.Integer),
        sa.Column("max_cost", sa.Float),
        sa.Column("max_concurrency", sa.Integer),
    )
    op.create_table(
        "request_keys",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("request_hash", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("answer", sa.Text),
    )
