"""Add labels and the attempt of a unit, and convert all judgements to one format."""

import msgspec
import sqlalchemy as sa
from alembic import op

from prompt_evaluator.store.migrations.first_format import plan_of, unit_of

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
    _convert(op.get_bind())


def _convert(connection: sa.Connection) -> None:
    """Keep old runs readable. Their units keep their old names, so they are not found for reuse."""
    runs = sa.table("runs", sa.column("run_id"), sa.column("plan"))
    for run_id, data in connection.execute(sa.select(runs.c.run_id, runs.c.plan)).all():
        plan = plan_of(bytes(data))
        connection.execute(sa.update(runs).where(runs.c.run_id == run_id).values(plan=plan))
        _convert_units(connection, run_id, msgspec.json.decode(plan))


def _convert_units(connection: sa.Connection, run_id: str, plan: dict[str, object]) -> None:
    units = sa.table("units", *map(sa.column, ("run_id", "case_id", "name", "kind", "data")))
    own = (units.c.run_id == run_id, units.c.kind.in_(("judgement", "score")))
    case_ids = connection.scalars(sa.select(units.c.case_id).where(*own).distinct()).all()
    for case_id in case_ids:
        found = sa.select(units.c.name, units.c.kind, units.c.data).where(*own, units.c.case_id == case_id)
        for name, kind, data in connection.execute(found).all():
            kind_now, data_now = unit_of(kind, case_id, bytes(data), plan)
            this = (units.c.run_id == run_id, units.c.case_id == case_id, units.c.name == name)
            connection.execute(sa.update(units).where(*this).values(kind=kind_now, data=data_now))
