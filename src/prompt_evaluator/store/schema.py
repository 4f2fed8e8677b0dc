"""Tables of primary data: runs, cases, units and labels. Derived data is in `result_tables`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

REVISION = "0002"
"""The revision of these tables. A store of another one is refused."""

METADATA = MetaData()


def of_run(table: str) -> Column[str]:
    """The column that says to which run a row of this table belongs. The row is deleted with the run."""
    run = ForeignKey("runs.run_id", name=f"fk_{table}_run_id", ondelete="CASCADE")
    return Column("run_id", Text, run, nullable=False)


RUNS = Table(
    "runs",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("group_id", Text, nullable=False),
    Column("parent_run_id", Text),
    Column("status", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("stop_reason", Text),
    Column("plan", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False, server_default="evaluation"),
    Column("dataset_name", Text),
    Column("dataset_path", Text),
    Column("dataset_hash", Text),
    Column("prompt_hash", Text),
    Column("prompt_version", Text),
    Column("rubric_hash", Text),
    Column("judge_hash", Text),
    Column("generator_model", Text),
    Column("judge_model", Text),
    Column("synthetic", Boolean),
    Column("tags", Text),
    Column("note", Text),
    Column("cases", Integer),
    Column("num_samples", Integer),
    Column("cost", Float),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("errors", Text),
    Column("summary", Text),
    Column("progress", Text),
    Column("stop_requested", Text),
    Column("owner_epoch", BigInteger, nullable=False, server_default="0"),
    Index("ix_runs_started_at", "started_at"),
    Index("ix_runs_dataset_name", "dataset_name", "started_at"),
    Index("ix_runs_dataset_hash", "dataset_hash", "started_at"),
)

CASES = Table(
    "cases",
    METADATA,
    of_run("cases"),
    Column("position", Integer, nullable=False),
    Column("case_id", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("file", Text),
    Column("line", Integer),
    Column("input", Text),
    Column("metadata", Text),
    PrimaryKeyConstraint("run_id", "case_id", name="pk_cases"),
    UniqueConstraint("run_id", "position", name="uq_cases_position"),
)

UNITS = Table(
    "units",
    METADATA,
    of_run("units"),
    Column("case_id", Text, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("ok", Boolean, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("attempt", Integer, nullable=False, server_default="0"),
    PrimaryKeyConstraint("run_id", "case_id", "name", name="pk_units"),
    # Names are random, so this index has another page to write for every unit: half of a writer's time in a file. There
    # it is made once units are looked up by name; those of preparations, which are few, always are.
    Index("ix_units_name", "name").ddl_if(dialect="postgresql"),
    Index("ix_units_prepared", "name", sqlite_where=text("case_id = ''")).ddl_if(dialect="sqlite"),
)

LABELS = Table(
    "labels",
    METADATA,
    Column("id", Integer, primary_key=True),
    of_run("labels"),
    Column("case_id", Text, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("metric", Text, nullable=False),
    Column("value", Float, nullable=False),
    Column("reviewer", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("rubric_hash", Text),
    Column("answer_hash", Text, nullable=False),
    Column("probability", Float),
    Column("judge_seen", Boolean),
    Column("withdrawn", Boolean, nullable=False, server_default=false()),
    Index("ix_labels_run_id_case_id", "run_id", "case_id"),
    sqlite_autoincrement=True,  # never reuse the id of a deleted row, as on a server
)
