"""Add queues of samples to be labelled, and labels that take an earlier one back."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("labels", sa.Column("withdrawn", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "label_queues",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id", name="fk_label_queues_run_id"), nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("draw", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("population", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_label_queues_run_id", "label_queues", ["run_id"])
    op.create_table(
        "label_items",
        _queue("fk_label_items_queue_id"),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("probability", sa.Float),
        sa.Column("reserved_by", sa.Text),
        sa.Column("reserved_until", sa.Text),
        sa.Column("labelled_by", sa.Text),
        sa.Column("labelled_at", sa.Text),
        sa.PrimaryKeyConstraint("queue_id", "place", name="pk_label_items"),
    )
    op.create_table(
        "label_skips",
        _queue("fk_label_skips_queue_id"),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("reviewer", sa.Text, nullable=False),
        sa.Column("skipped_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("queue_id", "place", "reviewer", name="pk_label_skips"),
    )


def _queue(name: str) -> "sa.Column[int]":
    return sa.Column("queue_id", sa.Integer, sa.ForeignKey("label_queues.id", name=name), nullable=False)
