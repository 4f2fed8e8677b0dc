"""Converts the result of a case to rows, and writes them."""

from __future__ import annotations

from itertools import islice
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, select

from prompt_evaluator.model import REDACTOR
from prompt_evaluator.store.inserts import insert_values
from prompt_evaluator.store.result_tables import CASE_COLUMNS, CASE_RESULTS, RESULT_TABLES
from prompt_evaluator.store.sample_scores import all_pass, clean_scores, is_judged, judges_text, plain_scores
from prompt_evaluator.store.texts import as_json, clean, clean_or_none, hash_answer, is_clean, json_or_none, storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from prompt_evaluator.model.result import CaseResult, SampleResult

    Row = tuple[Any, ...]
    Key = tuple[str, int]
    """Run and position."""

_CASES_AT_ONCE = 64
_KEYS_AT_ONCE = 256


class FinishedCase(NamedTuple):
    """A finished case and its judges."""

    position: int
    result: CaseResult
    judges: Mapping[str, str]
    """Maps score name to judge model; scores without a judge are absent."""

    @property
    def weight(self) -> int:
        """How many samples it has; at least one."""
        return len(self.result.samples) or 1


class ResultRows:
    """The rows of several cases: for each table, the values of one row after the other, ready to be bound.

    Not a tuple or list for each row: these would stay until they are written, and the garbage collector would look at
    all of them again and again.
    """

    __slots__ = ("positions", "values")

    def __init__(self) -> None:
        self.positions: set[int] = set()
        self.values: tuple[list[Any], ...] = tuple([[] for _ in RESULT_TABLES])
        """In the order of `RESULT_TABLES`."""

    def add(self, run_id: str, case: FinishedCase) -> None:
        """Add a case that is not among them yet."""
        sizes = [*map(len, self.values)]
        samples, flags, metrics, cases = self.values
        key = (run_id, case.position)
        try:
            _add_samples(samples, key, case)
            _add_flags(flags, key, case.result)
            _add_metrics(metrics, key, case.result)
            _add_case(cases, key, case.result)
        except BaseException:
            for values, size in zip(self.values, sizes, strict=True):
                del values[size:]
            raise
        self.positions.add(case.position)


def write_cases(connection: Connection, run_id: str, rows: ResultRows, *, new: bool = False) -> None:
    """Write the rows of cases, replacing all existing rows of the same cases.

    `new` means that the run has no rows of these cases yet, which saves looking for them.
    """
    if not new:
        _forget(connection, run_id, list(rows.positions))
    for table, values in zip(RESULT_TABLES, rows.values, strict=True):
        insert_values(connection, table, values)


def has_rows(connection: Connection, run_id: str) -> bool:
    found = select(CASE_RESULTS.c.position).where(CASE_RESULTS.c.run_id == run_id).limit(1)
    return connection.execute(found).first() is not None


def add_cases(connection: Connection, run_id: str, cases: Iterable[FinishedCase]) -> None:
    """Write the rows of a stream of finished cases that have no rows yet."""
    stream = iter(cases)
    while batch := list(islice(stream, _CASES_AT_ONCE)):
        rows = ResultRows()
        for case in batch:
            rows.add(run_id, case)
        write_cases(connection, run_id, rows, new=True)


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


def _add_case(values: list[Any], key: Key, result: CaseResult) -> None:
    """Add a case's own row.

    A case is flaky if, on any metric, some of its samples pass and others do not. It is failing if, on any metric,
    fewer than half of its samples pass. So one bad sample of five makes a case flaky, not failing: with several marks
    to reach, nearly every case has a sample that misses one, and a list of all of them would help nobody. Samples
    without a score count neither way: they are errors, which have their own filter.
    """
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
    values += key
    values += (
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


def _add_metrics(values: list[Any], key: Key, result: CaseResult) -> None:
    missing = result.missing_scores
    for name, stats in result.per_metric_stats.items():
        values += key
        values += (
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
    unmeasured = missing.keys() - result.per_metric_stats.keys() if missing else ()
    for name in unmeasured:
        values += (*key, storable(name), None, None, None, None, 0, 0, missing[name], None, None)


def _add_flags(values: list[Any], key: Key, result: CaseResult) -> None:
    for name, stats in result.per_flag_stats.items():
        values += (*key, storable(name), stats.true_count, stats.total_count)


def _add_samples(values: list[Any], key: Key, case: FinishedCase) -> None:
    scores = plain_scores(case.result.samples)
    dirty = scores is None or not is_clean(_texts(case.result.samples, scores))
    if scores is None or dirty:
        scores = [clean_scores(sample) for sample in case.result.samples]
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
        values += key
        values += (
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
            as_json(sample.tool_calls) if sample.tool_calls else None,
            as_json(sample.earlier_attempts) if sample.earlier_attempts else None,
            sample.reused,
            scores[number],
            judges if judges and is_judged(sample, case.judges) else None,
            all_pass(sample),
        )


def _texts(samples: Sequence[SampleResult], scores: Iterable[str | None]) -> Iterable[str]:
    """All texts of the samples that come from outside and are stored in text columns."""
    texts = [*scores]
    for sample in samples:
        texts += (sample.generator_output, sample.model, sample.finish_reason, sample.judge_overall_comment)
    return filter(None, texts)
