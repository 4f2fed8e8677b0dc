"""Means are sorted when somebody asks: keeping them in order took a third of the time of writing results."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.drop_index("ix_case_metrics_mean", "case_metrics")
