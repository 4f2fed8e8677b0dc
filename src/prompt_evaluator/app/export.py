"""Exports the samples of a run as JSONL, CSV or one JSON document."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.outcomes import results, stored_cases
from prompt_evaluator.app.row_documents import run_line_document
from prompt_evaluator.app.run_queries import interrupted_runs
from prompt_evaluator.app.spreadsheets import csv_line
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model import REDACTOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import CaseResult, SampleResult
    from prompt_evaluator.store import Store

_BEFORE = ("test_case_id", "sample_id", "status", "input", "output")
_AFTER = ("attempt", "model", "input_tokens", "output_tokens", "cost", "latency_ms", "tries", "error")
_encode = msgspec.json.Encoder().encode
_TAKEN = {*_BEFORE, "sample", *_AFTER}


def score_column(name: str) -> str:
    """The column of a metric or flag: its name, or `<name>_score` if a sample field has that name, such as `cost`."""
    return f"{name}_score" if name in _TAKEN else name


def export_run(settings: Settings, run_id: str, kind: str) -> Iterator[bytes]:
    """A run's samples: one per line as `jsonl` or `csv`, or all in one document as `json`.

    A few cases are in memory at a time. Raises `UnknownNameError` for an unknown run when called, not on the first
    line.
    """
    with closing(open_store(settings)) as store:
        record = store.run(run_id)
    return _lines(settings, record, kind)


def _lines(settings: Settings, record: RunRecord, kind: str) -> Iterator[bytes]:
    with closing(open_store(settings)) as store:
        cases = results(store, record)
        if kind == "csv":
            yield from _csv(cases, record, metric_names(store, record))
        elif kind == "json":
            line = store.run_line(record.plan.run_id, interrupted=interrupted_runs(store))
            yield from _json(cases, run_line_document(line))
        else:
            yield from (_encode(sample) + b"\n" for sample in _samples(cases))


def metric_names(store: Store, record: RunRecord) -> list[str]:
    """Metrics other than the rubric's: the run's, then those that single cases ask for."""
    own = [use.key for use in record.plan.metrics]
    asked = (use.key for stored in stored_cases(store, record.plan.run_id) for use in stored.case.checks)
    return list(dict.fromkeys((*own, *asked)))


def _samples(cases: Iterator[CaseResult]) -> Iterator[dict[str, Any]]:
    for case in cases:
        for sample in case.samples:
            yield {"test_case_id": case.test_case_id, **msgspec.to_builtins(sample)}


def _json(cases: Iterator[CaseResult], run: dict[str, Any]) -> Iterator[bytes]:
    """One document: the run as `runs list --json` has it, and its samples, one on each line."""
    yield b'{"run": ' + REDACTOR.json(_encode(run)) + b',\n"results": ['
    for at, sample in enumerate(_samples(cases)):
        yield (b",\n" if at else b"\n") + _encode(sample)
    yield b"\n]}\n"


def _csv(cases: Iterator[CaseResult], record: RunRecord, extra: list[str]) -> Iterator[bytes]:
    rubric = record.plan.rubric
    metrics = [criterion.name for criterion in rubric.metrics] if rubric else []
    flags = [flag.name for flag in rubric.flags] if rubric else []
    yield csv_line([*_BEFORE, *map(score_column, (*metrics, *flags, *extra)), *_AFTER])
    for case in cases:
        for sample in case.samples:
            yield csv_line(_row(case, sample, metrics, flags, extra))


def _row(case: CaseResult, sample: SampleResult, metrics: list[str], flags: list[str], extra: list[str]) -> list[Any]:
    return [
        case.test_case_id,
        sample.sample_id,
        sample.status,
        sample.input_text,
        sample.generator_output,
        *(sample.judge_metrics[name].score if name in sample.judge_metrics else None for name in metrics),
        *(sample.judge_flags.get(name) for name in flags),
        *(sample.scores[name].score if name in sample.scores else None for name in extra),
        sample.attempt,
        sample.model,
        sample.input_tokens,
        sample.output_tokens,
        sample.cost,
        sample.latency_ms,
        sample.tries,
        sample.error.message if sample.error else None,
    ]
