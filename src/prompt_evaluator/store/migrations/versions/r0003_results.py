"""Add columns to search runs and cases, result rows, baselines, verdicts, and a server's queue.

`prompt_evaluator.store.filling` fills the rows after this step, in the same transaction.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_RUN_TEXTS = (
    "dataset_name",
    "dataset_path",
    "dataset_hash",
    "prompt_hash",
    "prompt_version",
    "rubric_hash",
    "judge_hash",
    "generator_model",
    "judge_model",
    "tags",
    "note",
    "errors",
    "summary",
    "progress",
)


def upgrade() -> None:
    _widen_runs_and_cases()
    _make_case_tables()
    _make_sample_tables()
    _make_decision_tables()


def _widen_runs_and_cases() -> None:
    op.add_column("runs", sa.Column("kind", sa.Text, nullable=False, server_default="evaluation"))
    for name in _RUN_TEXTS:
        op.add_column("runs", sa.Column(name, sa.Text))
    for name in ("cases", "num_samples"):
        op.add_column("runs", sa.Column(name, sa.Integer))
    for name in ("input_tokens", "output_tokens"):
        op.add_column("runs", sa.Column(name, sa.BigInteger))
    op.add_column("runs", sa.Column("cost", sa.Float))
    op.add_column("runs", sa.Column("synthetic", sa.Boolean))
    op.create_index("ix_runs_dataset_name", "runs", ["dataset_name", "started_at"])
    op.create_index("ix_runs_dataset_hash", "runs", ["dataset_hash", "started_at"])
    for name in ("content_hash", "file", "input", "metadata"):
        op.add_column("cases", sa.Column(name, sa.Text))
    op.add_column("cases", sa.Column("line", sa.Integer))


def _place() -> tuple[sa.Column[str], sa.Column[int]]:
    return sa.Column("run_id", sa.Text, nullable=False), sa.Column("position", sa.Integer, nullable=False)


def _make_case_tables() -> None:
    op.create_table(
        "case_results",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id", name="fk_case_results_run_id"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("error_kinds", sa.Text),
        sa.Column("error_message", sa.Text),
        sa.Column("cost", sa.Float),
        sa.Column("latency_ms", sa.Float),
        sa.Column("flakiness", sa.Float),
        sa.Column("flaky", sa.Boolean, nullable=False),
        sa.Column("flagged", sa.Boolean, nullable=False),
        sa.Column("failing", sa.Boolean, nullable=False),
        sa.Column("started_at", sa.Text),
        sa.Column("ended_at", sa.Text),
        sa.PrimaryKeyConstraint("run_id", "position", name="pk_case_results"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "case_metrics",
        *_place(),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("mean", sa.Float),
        sa.Column("std", sa.Float),
        sa.Column("min", sa.Float),
        sa.Column("max", sa.Float),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("passes", sa.Integer, nullable=False),
        sa.Column("missing", sa.Integer, nullable=False),
        sa.Column("variability", sa.Text),
        sa.Column("repeat_std", sa.Float),
        sa.PrimaryKeyConstraint("run_id", "position", "metric", name="pk_case_metrics"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_case_metrics_mean", "case_metrics", ["run_id", "metric", "mean", "position"])
    op.create_table(
        "case_flags",
        *_place(),
        sa.Column("flag", sa.Text, nullable=False),
        sa.Column("raised", sa.Integer, nullable=False),
        sa.Column("asked", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "position", "flag", name="pk_case_flags"),
        sqlite_with_rowid=False,
    )


def _make_sample_tables() -> None:
    op.create_table(
        "sample_results",
        *_place(),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("answer_hash", sa.Text),
        sa.Column("cost", sa.Float),
        sa.Column("judge_cost", sa.Float),
        sa.Column("latency_ms", sa.Float),
        sa.Column("input_tokens", sa.BigInteger),
        sa.Column("output_tokens", sa.BigInteger),
        sa.Column("judge_input_tokens", sa.BigInteger),
        sa.Column("judge_output_tokens", sa.BigInteger),
        sa.Column("tries", sa.Integer),
        sa.Column("model", sa.Text),
        sa.Column("finish_reason", sa.Text),
        sa.Column("error_kind", sa.Text),
        sa.Column("error_message", sa.Text),
        sa.Column("error_metric", sa.Text),
        sa.Column("flags", sa.Text),
        sa.Column("comment", sa.Text),
        sa.Column("tool_calls", sa.Text),
        sa.Column("earlier_attempts", sa.Text),
        sa.Column("reused", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "position", "sample", name="pk_sample_results"),
    )
    op.create_table(
        "scores",
        *_place(),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("judge", sa.Text),
        sa.Column("value", sa.Float),
        sa.Column("passed", sa.Boolean),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("details", sa.Text),
        sa.Column("repeats", sa.Text),
        sa.PrimaryKeyConstraint("run_id", "position", "sample", "metric", name="pk_scores"),
        sqlite_with_rowid=False,
    )


def _make_decision_tables() -> None:
    op.create_table(
        "queue",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("requested_at", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text),
        sa.Column("ended_at", sa.Text),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("error", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_queue_state", "queue", ["state", "id"])
    op.create_table(
        "baselines",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id", name="fk_baselines_run_id"), nullable=False),
        sa.Column("pinned_at", sa.Text, nullable=False),
        sa.Column("note", sa.Text),
    )
    op.create_table(
        "verdicts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id", name="fk_verdicts_run_id"), nullable=False),
        sa.Column("baseline_run_id", sa.Text),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("reasons", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_verdicts_run_id", "verdicts", ["run_id"])
