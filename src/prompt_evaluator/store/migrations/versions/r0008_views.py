"""Add named views of the dashboard."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "views",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("saved_at", sa.Text, nullable=False),
        sa.Column("saved_by", sa.Text, nullable=False),
    )
