"""Store the cases of ended runs as columns, too."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "case_columns",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("digest", sa.LargeBinary),
        sa.Column("latency_ms", sa.Float, nullable=False),
        sa.Column("timed", sa.Integer, nullable=False),
        sa.Column("flaky", sa.Integer, nullable=False),
        sa.Column("errors", sa.Integer, nullable=False),
        sa.Column("ids", sa.LargeBinary, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "position", name="pk_case_columns"),
    )
