"""Converts the result of a case to rows, and writes them."""

from __future__ import annotations

from itertools import islice
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, select

from prompt_evaluator.model import REDACTOR
from prompt_evaluator.store.inserts import insert_rows
from prompt_evaluator.store.result_tables import (
    CASE_COLUMNS,
    CASE_FLAGS,
    CASE_METRICS,
    CASE_RESULTS,
    RESULT_TABLES,
    SAMPLE_RESULTS,
)
from prompt_evaluator.store.sample_scores import all_pass, clean_scores, is_judged, judges_text, plain_scores
from prompt_evaluator.store.texts import as_json, clean, clean_or_none, hash_answer, is_clean, json_or_none, storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from prompt_evaluator.model.result import CaseResult, SampleResult

    Row = tuple[Any, ...]

_CASES_AT_ONCE = 64
_KEYS_AT_ONCE = 256


class FinishedCase(NamedTuple):
    """A finished case and its judges."""

    position: int
    result: CaseResult
    judges: Mapping[str, str]
    """Maps score name to judge model; scores without a judge are absent."""


class CaseRows(NamedTuple):
    """The rows of one case, ready to write."""

    position: int
    case: Row
    metrics: list[Row]
    flags: list[Row]
    samples: list[Row]


def case_rows(run_id: str, case: FinishedCase) -> CaseRows:
    samples = case.result.samples
    scores = plain_scores(samples)
    dirty = scores is None or not is_clean(_texts(samples, scores))
    if scores is None or dirty:
        scores = [clean_scores(sample) for sample in samples]
    return CaseRows(
        case.position,
        _case_row(run_id, case),
        _metric_rows(run_id, case),
        _flag_rows(run_id, case),
        _sample_rows(run_id, case, scores, dirty=dirty),
    )


def _texts(samples: Sequence[SampleResult], scores: Sequence[str | None]) -> list[str]:
    """All texts of the samples that come from outside and are stored in text columns."""
    return [
        text
        for sample, judged in zip(samples, scores, strict=True)
        for text in (sample.generator_output, sample.model, sample.finish_reason, sample.judge_overall_comment, judged)
        if text
    ]


def write_cases(connection: Connection, run_id: str, cases: Sequence[CaseRows], *, new: bool = False) -> None:
    """Write the rows of cases, replacing all existing rows of the same cases.

    `new` means that the run has no rows of these cases yet, which saves looking for them.
    """
    latest = {case.position: case for case in cases}
    if not new:
        _forget(connection, run_id, list(latest))
    _add(connection, list(latest.values()))


def has_rows(connection: Connection, run_id: str) -> bool:
    found = select(CASE_RESULTS.c.position).where(CASE_RESULTS.c.run_id == run_id).limit(1)
    return connection.execute(found).first() is not None


def add_cases(connection: Connection, run_id: str, cases: Iterable[FinishedCase]) -> None:
    """Write the rows of a stream of finished cases that have no rows yet."""
    stream = iter(cases)
    while batch := list(islice(stream, _CASES_AT_ONCE)):
        _add(connection, [case_rows(run_id, case) for case in batch])


def delete_results(connection: Connection, run_id: str) -> None:
    for table in (CASE_COLUMNS, *RESULT_TABLES):
        connection.execute(delete(table).where(table.c.run_id == run_id))


def _forget(connection: Connection, run_id: str, positions: list[int]) -> None:
    for start in range(0, len(positions), _KEYS_AT_ONCE):
        chunk = positions[start : start + _KEYS_AT_ONCE]
        there = (CASE_RESULTS.c.run_id == run_id, CASE_RESULTS.c.position.in_(chunk))
        if found := connection.scalars(select(CASE_RESULTS.c.position).where(*there)).all():
            for table in RESULT_TABLES:
                connection.execute(delete(table).where(table.c.run_id == run_id, table.c.position.in_(found)))


def _add(connection: Connection, cases: Sequence[CaseRows]) -> None:
    insert_rows(connection, CASE_RESULTS, [case.case for case in cases])
    insert_rows(connection, CASE_METRICS, [row for case in cases for row in case.metrics])
    insert_rows(connection, CASE_FLAGS, [row for case in cases for row in case.flags])
    insert_rows(connection, SAMPLE_RESULTS, [row for case in cases for row in case.samples])


def _case_row(run_id: str, case: FinishedCase) -> Row:
    """Make a case's own row.

    A case is flaky if, on any metric, some of its samples pass and others do not. It is failing if, on any metric,
    fewer than half of its samples pass. So one bad sample of five makes a case flaky, not failing: with several marks
    to reach, nearly every case has a sample that misses one, and a list of all of them would help nobody. Samples
    without a score count neither way: they are errors, which have their own filter.
    """
    result = case.result
    kinds: set[str] = set()
    costs: list[float] = []
    latencies: list[float] = []
    for sample in result.samples:
        if sample.error is not None:
            kinds.add(sample.error.kind)
        if sample.cost is not None:
            costs.append(sample.cost)
        if sample.judge_cost is not None:
            costs.append(sample.judge_cost)
        if sample.latency_ms is not None:
            latencies.append(sample.latency_ms)
    flakiness, failing = None, False
    """On any metric, the share of samples in the minority on passing: 0 if all agree, at most a half."""
    for stats in result.per_metric_stats.values():
        share = min(stats.passed, stats.count - stats.passed) / stats.count
        flakiness = share if flakiness is None else max(flakiness, share)
        failing |= stats.passed * 2 < stats.count
    return (
        run_id,
        case.position,
        result.test_case_id,
        result.status,
        as_json(sorted(kinds)) if kinds else None,
        clean_or_none(result.error_message),
        sum(costs) if costs else None,
        fsum(latencies) / len(latencies) if latencies else None,
        flakiness,
        bool(flakiness),
        any(flag.true_count for flag in result.per_flag_stats.values()),
        failing,
        result.timestamp_start,
        result.timestamp_end,
    )


def _metric_rows(run_id: str, case: FinishedCase) -> list[Row]:
    missing = case.result.missing_scores
    rows: list[Row] = [
        (
            run_id,
            case.position,
            storable(name),
            stats.mean,
            stats.std,
            stats.min,
            stats.max,
            stats.count,
            stats.passed,
            missing.get(name, 0),
            stats.variability,
            stats.repeat_std,
        )
        for name, stats in case.result.per_metric_stats.items()
    ]
    unmeasured = missing.keys() - case.result.per_metric_stats.keys() if missing else ()
    return rows + [
        (run_id, case.position, storable(name), None, None, None, None, 0, 0, missing[name], None, None)
        for name in unmeasured
    ]


def _flag_rows(run_id: str, case: FinishedCase) -> list[Row]:
    flags = case.result.per_flag_stats.items()
    return [(run_id, case.position, storable(name), stats.true_count, stats.total_count) for name, stats in flags]


def _sample_rows(run_id: str, case: FinishedCase, scores: Sequence[str | None], *, dirty: bool) -> list[Row]:
    rows: list[Row] = []
    flags, flags_text = dict[str, bool](), None
    judges = judges_text(case.result, case.judges)
    for number, sample in enumerate(case.result.samples):
        answer, comment, error = sample.generator_output, sample.judge_overall_comment, sample.error
        model, reason = sample.model, sample.finish_reason
        changed_hash = None
        if dirty:
            if answer and clean(answer) != (masked := REDACTOR.text(answer)):
                changed_hash = hash_answer(masked)
            answer, comment, model, reason = map(clean_or_none, (answer, comment, model, reason))
        if sample.judge_flags != flags:  # usually those of the sample before
            flags, flags_text = sample.judge_flags, json_or_none(sample.judge_flags)
        row = (
            run_id,
            case.position,
            number,
            sample.attempt,
            sample.status,
            answer,
            changed_hash,
            sample.cost,
            sample.judge_cost,
            sample.latency_ms,
            sample.input_tokens,
            sample.output_tokens,
            sample.judge_input_tokens,
            sample.judge_output_tokens,
            sample.tries,
            model,
            reason,
            error.kind if error else None,
            clean(error.message) if error else None,
            sample.error_metric,
            flags_text,
            comment,
            json_or_none(sample.tool_calls),
            json_or_none(sample.earlier_attempts),
            sample.reused,
            scores[number],
            judges if judges and is_judged(sample, case.judges) else None,
            all_pass(sample),
        )
        rows.append(row)
    return rows
