"""Reads the errors of a run. Cases without one are passed over, so that a few errors are found fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from prompt_evaluator.model.error_pattern import pattern_id
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_SAMPLE = SAMPLE_RESULTS.c


class ErrorLine(NamedTuple):
    """The error of one sample."""

    position: int
    case_id: str
    ended_at: str | None
    """When its case ended."""
    kind: str
    metric: str | None
    """The metric that failed; None if there is no answer."""
    message: str


class ErrorRows(Access):
    """The part of the store that holds errors."""

    def error_lines(self, run_id: str) -> Iterator[ErrorLine]:
        """The errors of all samples of a run, in dataset order."""
        with self._read() as connection:
            yield from read_errors(connection, run_id)


def read_errors(connection: Connection, run_id: str) -> Iterator[ErrorLine]:
    """The errors of all samples of a run, in dataset order."""
    row = CASE_RESULTS.c
    wanted = select(row.position, row.case_id, row.ended_at).where(row.run_id == run_id, row.error_kinds.is_not(None))
    cases = {found.position: found for found in connection.execute(wanted.order_by(row.position))}
    for chunk in chunks(list(cases)):
        own = (_SAMPLE.run_id == run_id, _SAMPLE.position.in_(chunk), _SAMPLE.error_kind.is_not(None))
        columns = (_SAMPLE.position, _SAMPLE.error_kind, _SAMPLE.error_metric, _SAMPLE.error_message)
        for position, kind, metric, message in connection.execute(
            select(*columns).where(*own).order_by(_SAMPLE.position, _SAMPLE.sample)
        ):
            case = cases[position]
            yield ErrorLine(position, case.case_id, case.ended_at, kind, metric, message or "")


def positions_with(connection: Connection, run_id: str, kind: str, pattern: str) -> frozenset[int]:
    """The cases with an error of a kind whose message has this pattern."""
    return frozenset(
        line.position
        for line in read_errors(connection, run_id)
        if line.kind == kind and pattern_id(line.message) == pattern
    )
