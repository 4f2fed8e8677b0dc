"""Create runs, cases and units."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("parent_run_id", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sa.Column("stop_reason", sa.Text),
        sa.Column("plan", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_runs_started_at", "runs", ["started_at"])
    op.create_table(
        "cases",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id", name="fk_cases_run_id"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "case_id", name="pk_cases"),
        sa.UniqueConstraint("run_id", "position", name="uq_cases_position"),
    )
    op.create_table(
        "units",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id", name="fk_units_run_id"), nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("ok", sa.Boolean, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "case_id", "name", name="pk_units"),
    )
    op.create_index("ix_units_name", "units", ["name"])
