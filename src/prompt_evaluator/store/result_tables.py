"""Tables of results, which can be rebuilt from units at any time, of decisions by people, and of servers.

Rows of a case are keyed by run and position: a number is shorter than an id, and sorts in file order.
"""

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
    PrimaryKeyConstraint,
    Table,
    Text,
)

from prompt_evaluator.store.schema import METADATA, of_run

CASE_RESULTS = Table(
    "case_results",
    METADATA,
    of_run("case_results"),
    Column("position", Integer, nullable=False),
    Column("case_id", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("error_kinds", Text),
    Column("error_message", Text),
    Column("cost", Float),
    Column("latency_ms", Float),
    Column("flakiness", Float),
    Column("flaky", Boolean, nullable=False),
    Column("flagged", Boolean, nullable=False),
    Column("failing", Boolean, nullable=False),
    Column("started_at", Text),
    Column("ended_at", Text),
    PrimaryKeyConstraint("run_id", "position", name="pk_case_results"),
    sqlite_with_rowid=False,
)

CASE_METRICS = Table(
    "case_metrics",
    METADATA,
    of_run("case_metrics"),
    Column("position", Integer, nullable=False),
    Column("metric", Text, nullable=False),
    Column("mean", Float),
    Column("std", Float),
    Column("min", Float),
    Column("max", Float),
    Column("count", Integer, nullable=False),
    Column("passes", Integer, nullable=False),
    Column("missing", Integer, nullable=False),
    Column("variability", Text),
    Column("repeat_std", Float),
    PrimaryKeyConstraint("run_id", "position", "metric", name="pk_case_metrics"),
    sqlite_with_rowid=False,
)

CASE_FLAGS = Table(
    "case_flags",
    METADATA,
    of_run("case_flags"),
    Column("position", Integer, nullable=False),
    Column("flag", Text, nullable=False),
    Column("raised", Integer, nullable=False),
    Column("asked", Integer, nullable=False),
    PrimaryKeyConstraint("run_id", "position", "flag", name="pk_case_flags"),
    sqlite_with_rowid=False,
)

SAMPLE_RESULTS = Table(
    "sample_results",
    METADATA,
    of_run("sample_results"),
    Column("position", Integer, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("answer", Text),
    Column("answer_hash", Text),
    Column("cost", Float),
    Column("judge_cost", Float),
    Column("latency_ms", Float),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("judge_input_tokens", BigInteger),
    Column("judge_output_tokens", BigInteger),
    Column("tries", Integer),
    Column("model", Text),
    Column("finish_reason", Text),
    Column("error_kind", Text),
    Column("error_message", Text),
    Column("error_metric", Text),
    Column("flags", Text),
    Column("comment", Text),
    Column("tool_calls", Text),
    Column("earlier_attempts", Text),
    Column("reused", Boolean, nullable=False),
    Column("scores", Text),
    Column("judges", Text),
    Column("passed", Boolean),
    PrimaryKeyConstraint("run_id", "position", "sample", name="pk_sample_results"),
)
"""`answer_hash` is that of the answer before it was cleaned, if that changed it. `sample_scores` reads and writes
`scores` and `judges`, those who gave them. `passed` says whether all scores that have a mark to reach do, so that
samples can be counted without reading scores."""

RESULT_TABLES = (SAMPLE_RESULTS, CASE_FLAGS, CASE_METRICS, CASE_RESULTS)
"""Rows of cases, by run and position."""

CASE_COLUMNS = Table(
    "case_columns",
    METADATA,
    of_run("case_columns"),
    Column("position", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("latency_ms", Float, nullable=False),
    Column("timed", Integer, nullable=False),
    Column("flaky", Integer, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("ids", LargeBinary, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("run_id", "position", name="pk_case_columns"),
)

QUEUE = Table(
    "queue",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("state", Text, nullable=False),
    Column("requested_at", Text, nullable=False),
    Column("started_at", Text),
    Column("ended_at", Text),
    Column("request", Text, nullable=False),
    Column("run_id", Text, ForeignKey("runs.run_id", name="fk_queue_run_id", ondelete="CASCADE")),
    Column("error", Text),
    Column("asked_by", Text, nullable=False, server_default=""),
    Column("worker", Text),
    Index("ix_queue_state", "state", "id"),
    Index("ix_queue_asked_by_state", "asked_by", "state"),
    Index("ix_queue_asked_by_started_at", "asked_by", "started_at"),
    sqlite_autoincrement=True,
)

BASELINES = Table(
    "baselines",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id", name="fk_baselines_run_id"), nullable=False),
    Column("pinned_at", Text, nullable=False),
    Column("note", Text),
)

VERDICTS = Table(
    "verdicts",
    METADATA,
    Column("id", Integer, primary_key=True),
    of_run("verdicts"),
    Column("baseline_run_id", Text),
    Column("verdict", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("reasons", Text, nullable=False),
    Index("ix_verdicts_run_id", "run_id"),
    sqlite_autoincrement=True,
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("revoked_at", Text),
    Column("last_used_at", Text),
    Column("max_samples", Integer),
    Column("max_cost", Float),
    Column("max_concurrency", Integer),
)

REQUEST_KEYS = Table(
    "request_keys",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("request_hash", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("answer", Text),
)
