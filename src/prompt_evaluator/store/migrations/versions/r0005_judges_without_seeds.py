"""Hash judges without their seeds: a seed draws other judgements by the same standard."""

import msgspec
import sqlalchemy as sa
from alembic import op

from prompt_evaluator.model import RunPlan
from prompt_evaluator.store.run_rows import judge_hash

revision = "0005"
down_revision = "0004"

_RUNS = sa.table(
    "runs", sa.column("run_id", sa.Text), sa.column("plan", sa.LargeBinary), sa.column("judge_hash", sa.Text)
)
_plan = msgspec.json.Decoder(RunPlan).decode


def upgrade() -> None:
    connection = op.get_bind()
    for run_id in connection.scalars(sa.select(_RUNS.c.run_id).where(_RUNS.c.judge_hash.is_not(None))).all():
        plan = connection.scalars(sa.select(_RUNS.c.plan).where(_RUNS.c.run_id == run_id)).one()
        try:
            found = judge_hash(_plan(plan))
        except msgspec.MsgspecError:  # a plan of another version
            continue
        connection.execute(sa.update(_RUNS).where(_RUNS.c.run_id == run_id).values(judge_hash=found))
