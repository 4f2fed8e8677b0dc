"""Converts the result of a case to rows, and writes them."""

from __future__ import annotations

from hashlib import sha256
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
    SCORES,
)
from prompt_evaluator.store.texts import as_json, clean, clean_or_none, is_clean, json_or_none, storable

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
    scores: list[Row]


def case_rows(run_id: str, case: FinishedCase) -> CaseRows:
    place, samples = (run_id, case.position), case.result.samples
    dirty = not is_clean(_texts(samples))
    return CaseRows(
        case.position,
        _case_row(run_id, case),
        _metric_rows(run_id, case),
        _flag_rows(run_id, case),
        _sample_rows(place, samples, dirty=dirty),
        _score_rows(place, samples, case.judges, dirty=dirty),
    )


def _texts(samples: Sequence[SampleResult]) -> list[str]:
    """All texts of the samples that come from outside and are stored in text columns."""
    found = [
        text
        for sample in samples
        for text in (sample.generator_output, sample.model, sample.finish_reason, sample.judge_overall_comment)
        if text
    ]
    found += [score.rationale for sample in samples for score in sample.judge_metrics.values()]
    return found + [score.reason for sample in samples for score in sample.scores.values()]


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
    insert_rows(connection, SCORES, [row for case in cases for row in case.scores])


def _case_row(run_id: str, case: FinishedCase) -> Row:
    """Make a case's own row.

    A case is flaky if, on any metric, some of its samples pass and others do not. It is failing if, on any metric,
    fewer than half of its samples pass. So one bad sample of five makes a case flaky, not failing: with several marks
    to reach, nearly every case has a sample that misses one, and a list of all of them would help nobody. Samples
    without a score count neither way: they are errors, which have their own filter.
    """
    result = case.result
    kinds = {sample.error.kind for sample in result.samples if sample.error}
    costs = [cost for sample in result.samples for cost in (sample.cost, sample.judge_cost) if cost is not None]
    latencies = [sample.latency_ms for sample in result.samples if sample.latency_ms is not None]
    passing = [(stats.passed, stats.count) for stats in result.per_metric_stats.values()]
    flakiness = max([min(passed, count - passed) / count for passed, count in passing], default=None)
    """On any metric, the share of samples in the minority on passing: 0 if all agree, at most a half."""
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
        any(passed * 2 < count for passed, count in passing),
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


def _sample_rows(place: tuple[str, int], samples: Sequence[SampleResult], *, dirty: bool) -> list[Row]:
    rows: list[Row] = []
    flags, flags_text = dict[str, bool](), None
    for number, sample in enumerate(samples):
        answer, comment, error = sample.generator_output, sample.judge_overall_comment, sample.error
        model, reason = sample.model, sample.finish_reason
        # As labels hash it: the text of the unit, which has no secrets but may contain NUL.
        masked = REDACTOR.text(answer) if answer and dirty else answer
        if dirty:
            answer, comment, model, reason = map(clean_or_none, (answer, comment, model, reason))
        if sample.judge_flags != flags:  # usually those of the sample before
            flags, flags_text = sample.judge_flags, json_or_none(sample.judge_flags)
        row = (
            *place,
            number,
            sample.attempt,
            sample.status,
            answer,
            None if masked is None else sha256(masked.encode("utf-8", "replace")).hexdigest(),
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
        )
        rows.append(row)
    return rows


def _score_rows(
    place: tuple[str, int], samples: Sequence[SampleResult], judges: Mapping[str, str], *, dirty: bool
) -> list[Row]:
    rows: list[Row] = []
    names: dict[str, tuple[str, str | None]] = {}
    """Maps score name to its stored name and judge, which are the same for every sample."""
    run_id, position = place
    for number, sample in enumerate(samples):
        for name, mark in sample.judge_metrics.items():
            stored, judge = names.get(name) or names.setdefault(name, (storable(name), judges.get(name)))
            repeats = _criterion_repeats(name, sample) if sample.judge_repeats else None
            reason = clean_or_none(mark.rationale) if dirty else mark.rationale
            rows.append(
                (run_id, position, number, stored, judge, mark.score, mark.passed, "scored", reason, None, repeats)
            )
        for name, score in sample.scores.items():
            named = names.get(name) or names.setdefault(name, (storable(name), judges.get(name)))
            reason = clean_or_none(score.reason) if dirty else score.reason
            details, repeats = json_or_none(score.details), json_or_none(score.repeats)
            measured = (score.score, score.passed, score.status, reason, details, repeats)
            rows.append((*place, number, *named, *measured))
    return rows


def _criterion_repeats(name: str, sample: SampleResult) -> str:
    scores = [repeat.metrics.get(name) if repeat.metrics else None for repeat in sample.judge_repeats or ()]
    return as_json([score.score if score else None for score in scores])
