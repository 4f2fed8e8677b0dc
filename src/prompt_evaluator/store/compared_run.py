"""A stored run to be compared, from its result rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import func, select

from prompt_evaluator.model.comparison import CaseScores, ComparedAnswer, ComparedCase, RunFacts
from prompt_evaluator.model.query import CaseFlag
from prompt_evaluator.model.run_facts import (
    SHORT_ID,
    definitions,
    input_hash,
    judge_parameters,
    parameters,
    rubric_text,
)
from prompt_evaluator.store.case_columns import StoredColumns
from prompt_evaluator.store.result_tables import CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import read_scores, read_values
from prompt_evaluator.store.schema import CASES
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import ColumnElement, Connection, Table

    from prompt_evaluator.model import RunPlan, RunRecord
    from prompt_evaluator.model.case_columns import CaseColumns, IdColumn
    from prompt_evaluator.model.query import RunLine

    Read = Callable[[], AbstractContextManager[Connection]]
    Where = Callable[[Table], ColumnElement[bool]]

_CASES_AT_ONCE = 512
_IDS_AT_ONCE = 4_096
_CASE = [CASES.c[name] for name in ("position", "case_id", "content_hash", "metadata", "input")]
_METRIC = [CASE_METRICS.c[name] for name in ("position", "metric", "mean", "std", "count", "passes", "missing")]
_FLAG = [CASE_FLAGS.c[name] for name in ("position", "flag", "raised", "asked")]
_AMOUNTS = [CASE_RESULTS.c[name] for name in ("position", "cost", "latency_ms")]


class AnswerPreview(NamedTuple):
    """How an answer begins."""

    answer: str | None
    error: str | None


_NO_PREVIEW = AnswerPreview(None, None)


class StoredRun:
    """Reads a few hundred cases at a time, each in the same few queries; decodes no units."""

    def __init__(self, read: Read, record: RunRecord, line: RunLine) -> None:
        """Take a way to read the store, and what it says about the run."""
        self._read, self._plan, self._line = read, record.plan, line
        self._run_id = record.plan.run_id
        self._columns = StoredColumns(read, self._run_id)
        self._order = {name: at for at, name in enumerate(_metric_names(record.plan, line))}

    @cached_property
    def facts(self) -> RunFacts:
        return _facts(self._plan, self._line, self._order, self._columns.mean_latency())

    def digests(self) -> Sequence[bytes]:
        """Hashes of the ids and contents of all cases, one for each piece of `columns`; None if one is unknown."""
        return self._columns.digests()

    def columns(self) -> Iterator[CaseColumns]:
        """All cases in file order, many thousand at a time."""
        return self._columns.pieces()

    def id_columns(self) -> Iterator[IdColumn]:
        """The ids of the same cases."""
        return self._columns.ids()

    def case_ids(self) -> Iterator[str]:
        """Ids of all cases, in file order."""
        for rows in self._pages([CASES.c.position, CASES.c.case_id], _IDS_AT_ONCE):
            yield from (case_id for _, case_id in rows)

    def batches(self) -> Iterator[Sequence[ComparedCase]]:
        """All cases in file order, some hundred at a time."""
        for rows in self._pages(_CASE, _CASES_AT_ONCE):
            with self._read() as connection:
                cases = self._cases(connection, rows, _between(rows[0].position, rows[-1].position))
            yield cases  # the connection is free again for the other run

    def find(self, case_ids: Sequence[str]) -> dict[str, ComparedCase]:
        """Those of these cases that the run has."""
        found: dict[str, ComparedCase] = {}
        for chunk in chunks(case_ids):
            with self._read() as connection:
                rows = connection.execute(select(*_CASE).where(self._own(CASES), CASES.c.case_id.in_(chunk))).all()
                cases = self._cases(connection, rows, _among([row.position for row in rows]))
            found |= {case.case_id: case for case in cases}
        return found

    def answers(self, case_id: str) -> Sequence[ComparedAnswer]:
        """All samples of a case, in order; empty if it has none."""
        samples = SAMPLE_RESULTS.c
        with self._read() as connection:
            position = connection.scalar(select(CASES.c.position).where(self._own(CASES), CASES.c.case_id == case_id))
            if position is None:
                return ()
            rows = connection.execute(
                select(samples.sample, samples.answer, samples.error_message, samples.flags, samples.scores)
                .where(self._own(SAMPLE_RESULTS), samples.position == position)
                .order_by(samples.sample)
            ).all()
        return [self._answer(row) for row in rows]

    def _answer(self, row: Any) -> ComparedAnswer:
        scores = self._sorted(read_scores(row.scores))
        return ComparedAnswer(
            sample=row.sample,
            answer=row.answer,
            error=row.error_message,
            scores={metric: score.value for metric, score in scores.items() if score.value is not None},
            reasons={metric: score.reason for metric, score in scores.items() if score.reason},
            flags=tuple(name for name, raised in _decoded(row.flags).items() if raised),
        )

    def previews(self, case_ids: Sequence[str], most: int) -> dict[str, AnswerPreview]:
        """The beginning of the first answer of each of these cases, and of the first error; at most `most` characters.

        Cases without a finished sample are left out.
        """
        samples = SAMPLE_RESULTS.c
        beginning, error = func.substr(samples.answer, 1, most), func.substr(samples.error_message, 1, most)
        found: dict[str, AnswerPreview] = {}
        for chunk in chunks(case_ids):
            places = select(CASES.c.position, CASES.c.case_id).where(self._own(CASES), CASES.c.case_id.in_(chunk))
            with self._read() as connection:
                ids = {row.position: row.case_id for row in connection.execute(places)}
                wanted = (
                    select(samples.position, beginning, error)
                    .where(self._own(SAMPLE_RESULTS), samples.position.in_(list(ids)))
                    .order_by(samples.position, samples.sample)
                )
                for position, answer, failure in connection.execute(wanted):
                    before = found.get(ids[position], _NO_PREVIEW)
                    found[ids[position]] = AnswerPreview(
                        answer if before.answer is None else before.answer, before.error or failure
                    )
        return found

    def input(self, case_id: str) -> str | None:
        """The input of a case, if it is known."""
        with self._read() as connection:
            found: str | None = connection.scalar(
                select(CASES.c.input).where(self._own(CASES), CASES.c.case_id == case_id)
            )
        return found

    def _pages(self, columns: list[Any], size: int) -> Iterator[Sequence[Any]]:
        start = 0
        while True:
            wanted = select(*columns).where(self._own(CASES), CASES.c.position >= start).order_by(CASES.c.position)
            with self._read() as connection:
                rows = connection.execute(wanted.limit(size)).all()
            if not rows:
                return
            yield rows
            start = rows[-1].position + 1

    def _cases(self, connection: Connection, rows: Sequence[Any], where: Where) -> list[ComparedCase]:
        values = self._values(connection, where)
        scores: dict[int, dict[str, CaseScores]] = {}
        unscored: dict[int, dict[str, int]] = {}
        measured = select(*_METRIC).where(self._own(CASE_METRICS), where(CASE_METRICS))
        for position, metric, mean, std, count, passes, missing in connection.execute(measured).all():
            if mean is None:
                if missing:
                    unscored.setdefault(position, {})[metric] = missing
                continue
            each = values.get((position, metric))
            known = tuple(each) if each else None
            scores.setdefault(position, {})[metric] = CaseScores(mean, std, count, passes, missing, known)
        flags: dict[int, dict[str, CaseFlag]] = {}
        judged = select(*_FLAG).where(self._own(CASE_FLAGS), where(CASE_FLAGS), CASE_FLAGS.c.asked > 0)
        for position, flag, raised, asked in connection.execute(judged).all():
            flags.setdefault(position, {})[flag] = CaseFlag(raised=raised, asked=asked)
        amounts = {
            position: (cost, latency)
            for position, cost, latency in connection.execute(
                select(*_AMOUNTS).where(self._own(CASE_RESULTS), where(CASE_RESULTS))
            ).all()
        }
        return [
            ComparedCase(
                case_id,
                content_hash,
                _decoded(metadata),
                self._sorted(scores.get(position, {})),
                flags.get(position, {}),
                input_hash(text) if text is not None else None,
                unscored.get(position, {}),
                *amounts.get(position, (None, None)),
            )
            for position, case_id, content_hash, metadata, text in rows
        ]

    def _values(self, connection: Connection, where: Where) -> dict[tuple[int, str], list[float]]:
        """The scores of all samples of some cases, in order."""
        found: dict[tuple[int, str], list[float]] = {}
        row = SAMPLE_RESULTS.c
        wanted = select(row.position, row.scores).where(self._own(SAMPLE_RESULTS), where(SAMPLE_RESULTS))
        for position, text in connection.execute(wanted.order_by(row.position, row.sample)):
            for metric, value in read_values(text).items():
                found.setdefault((position, metric), []).append(value)
        return found

    def _own(self, table: Table) -> ColumnElement[bool]:
        return table.c.run_id == self._run_id

    def _sorted(self, found: dict[str, Any]) -> dict[str, Any]:
        """Put metrics in the order of the run."""
        if len(found) < 2:  # noqa: PLR2004 - nothing to sort
            return found
        last = len(self._order)
        return {name: found[name] for name in sorted(found, key=lambda name: (self._order.get(name, last), name))}


def _between(first: int, last: int) -> Where:
    return lambda table: table.c.position.between(first, last)


def _among(positions: list[int]) -> Where:
    """A list in a statement takes long to write: cases that follow each other are named by the first and the last."""
    first, last = min(positions, default=0), max(positions, default=-1)
    if last - first + 1 == len(positions):
        return _between(first, last)
    return lambda table: table.c.position.in_(positions)


def _decoded(text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text) if text else {}
    return found


def _metric_names(plan: RunPlan, line: RunLine) -> list[str]:
    """All metrics known to be part of the run, in its order; metrics of single cases are in the summary."""
    criteria = [criterion.name for criterion in plan.rubric.metrics] if plan.rubric else []
    measured = line.summary.overall_metric_stats if line.summary else {}
    return list(dict.fromkeys((*criteria, *measured, *(use.key for use in plan.metrics))))


def _facts(plan: RunPlan, line: RunLine, metrics: Iterable[str], latency_ms: float | None) -> RunFacts:
    prompt, rubric, judge = plan.target.prompt, plan.rubric, plan.judge
    totals = line.summary.totals if line.summary else None
    attempted = sum(count for status, count in totals.samples.items() if status != "pending") if totals else None
    plain = msgspec.to_builtins
    return RunFacts(
        name=plan.run_id[:SHORT_ID],
        run_id=plan.run_id,
        status=line.status,
        started_at=line.started_at,
        dataset_name=line.dataset_name,
        dataset_hash=line.dataset_hash,
        prompt_path=prompt.path if prompt else None,
        prompt_hash=line.prompt_hash,
        prompt_version=line.prompt_version,
        prompt_text=prompt.text if prompt else None,
        generator_model=plan.target.model,
        parameters=parameters(plain(plan.target)),
        judge_model=line.judge_model,
        judge_hash=line.judge_hash,
        judge_parameters=judge_parameters(plain(judge) if judge else None, plain(plan.judges)),
        rubric_name=rubric.name if rubric else None,
        rubric_hash=line.rubric_hash,
        rubric_text=rubric_text(plain(rubric.metrics), plain(rubric.flags)) if rubric else None,
        metric_definitions=definitions(plan.metrics),
        tags=line.tags,
        note=line.note,
        num_samples=plan.num_samples,
        cases=line.cases,
        synthetic=plan.synthetic,
        scales={name: ((scale := plan.scale(name)).low, scale.high) for name in metrics},
        samples=attempted,
        errors=totals.errors if totals else None,
        failed_samples=attempted - totals.samples.get("completed", 0) if totals and attempted is not None else None,
        cost=line.cost,
        input_tokens=line.input_tokens,
        output_tokens=line.output_tokens,
        latency_ms=latency_ms,
    )
