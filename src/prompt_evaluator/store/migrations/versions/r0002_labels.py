"""What people say about answers, and which of several answers of a sample a unit is about."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("units", sa.Column("attempt", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "labels",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id", name="fk_labels_run_id"), nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("reviewer", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("rubric_hash", sa.Text),
        sa.Column("answer_hash", sa.Text, nullable=False),
        sa.Column("probability", sa.Float),
        sa.Column("judge_seen", sa.Boolean),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_labels_run_id_case_id", "labels", ["run_id", "case_id"])
