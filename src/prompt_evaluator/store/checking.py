"""Looks for what should not be in a store: damage, rows of nothing, and results that disagree with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, distinct, func, null, select

from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_rows import ResultRows
from prompt_evaluator.store.result_tables import CASE_RESULTS, QUEUE, SAMPLE_RESULTS
from prompt_evaluator.store.run_tables import RUN_TABLES
from prompt_evaluator.store.sample_scores import read_judges, read_scores
from prompt_evaluator.store.schema import CASES, RUNS, UNITS
from prompt_evaluator.store.texts import hash_answer
from prompt_evaluator.store.unit_rows import read_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from prompt_evaluator.model import Unit
    from prompt_evaluator.store.result_rows import FinishedCase

_MOST = 20
"""Of each kind of finding: a damaged store may have thousands."""
_OPEN = ("waiting", "started")


_ANSWER = list(SAMPLE_RESULTS.c.keys()).index("answer")


class Strays(NamedTuple):
    """Rows that refer to something that is not there."""

    table: str
    run_id: str | None
    """None if the rows do not say."""
    rows: int
    missing: str
    """What they refer to."""


class RunCounts(NamedTuple):
    """How many rows a run has."""

    planned: int | None
    """Cases according to its plan; None for a run of an early version."""
    cases: int
    begun: int
    """Cases with units."""
    results: int
    """Cases with results."""
    by_status: dict[str, int]
    """Cases with results."""
    samples: dict[str, int]
    """Samples with results, by status."""


class Checking(Access):
    """The part of a store that finds faults. It changes nothing."""

    def damage(self, *, deep: bool) -> list[str]:
        """What the database itself finds wrong with a file; a server looks after its own."""
        if self._reading.dialect.name != "sqlite":
            return []
        how = "integrity_check" if deep else "quick_check"
        with self._read() as connection:
            found = [str(text) for (text,) in connection.exec_driver_sql(f"PRAGMA {how}({_MOST})")]
        lines = [line for text in found for line in text.splitlines() if not line.startswith("*** in database")]
        return [] if lines == ["ok"] else lines

    def strays(self) -> Iterator[list[Strays]]:
        """Rows that refer to something that is not there, one reference at a time."""
        for table, parent, link, missing in _references():
            of_run: Any = table.c.run_id if "run_id" in table.c else null()
            lost = select(of_run, func.count()).select_from(table)
            lost = lost.where(~select(1).select_from(parent).where(link).correlate(table).exists())
            if table is UNITS and parent is CASES:
                lost = lost.where(UNITS.c.case_id != "")  # what a metric prepared once belongs to no case
            if "run_id" in table.c:
                lost = lost.group_by(of_run)
            with self._read() as connection:
                rows = connection.execute(lost.limit(_MOST)).all()
            name = str(table.name).replace("_", " ")
            yield [Strays(name, run_id, count, missing) for run_id, count in rows if count]

    def requests_without_run(self) -> list[tuple[int, str]]:
        """Numbers and run ids of open requests in the queue whose run is not there."""
        gone = ~select(RUNS.c.run_id).where(RUNS.c.run_id == QUEUE.c.run_id).exists()
        wanted = select(QUEUE.c.id, QUEUE.c.run_id).where(QUEUE.c.state.in_(_OPEN), QUEUE.c.run_id.is_not(None), gone)
        with self._read() as connection:
            return [(number, run_id) for number, run_id in connection.execute(wanted.limit(_MOST))]

    def counts(self, run_id: str) -> RunCounts:
        with self._read() as connection:
            begun = (UNITS.c.run_id == run_id, UNITS.c.case_id != "")
            by_status = _by_status(connection, CASE_RESULTS, run_id)
            return RunCounts(
                planned=connection.scalar(select(RUNS.c.cases).where(RUNS.c.run_id == run_id)),
                cases=connection.scalar(select(func.count()).where(CASES.c.run_id == run_id)) or 0,
                begun=connection.scalar(select(func.count(distinct(UNITS.c.case_id))).where(*begun)) or 0,
                results=sum(by_status.values()),
                by_status=by_status,
                samples=_by_status(connection, SAMPLE_RESULTS, run_id),
            )

    def prepared_units(self, run_id: str) -> list[Unit]:
        """What metrics prepared once for the whole run."""
        with self._read() as connection:
            return read_units(connection, run_id, [""])[""]

    def different_rows(self, run_id: str, places: range, cases: Sequence[FinishedCase]) -> set[int]:
        """Positions within `places` where the stored results are not these; a case without units has none."""
        made = ResultRows()
        for case in cases:
            made.add(run_id, case)
        different: set[int] = set()
        with self._read() as connection:
            for table, rows in made.by_table():
                own = (table.c.run_id == run_id, table.c.position.between(places.start, places.stop - 1))
                alike = _alike_sample if table is SAMPLE_RESULTS else _alike
                stored = {alike(row) for row in connection.execute(select(table).where(*own))}
                different |= {row[1] for row in stored ^ {alike(row) for row in rows}}
        return different


def _alike(row: Sequence[Any]) -> tuple[Any, ...]:
    """The same row for numbers that differ only by rounding, as they may between versions of Python."""
    return tuple(float(f"{value:.12g}") if isinstance(value, float) else value for value in row)


def _alike_sample(row: Sequence[Any]) -> tuple[Any, ...]:
    """The same for scores that say the same: an upgraded store has them in another order and form."""
    *values, text, judged_by, passed = row
    answer, answer_hash = values[_ANSWER : _ANSWER + 2]
    values[_ANSWER + 1] = answer_hash or (None if answer is None else hash_answer(answer))
    judges = read_judges(judged_by)
    scores = [
        (name, score.value, score.passed, score.outcome, score.reason, score.repeats, repr(score.details))
        + (() if score.outcome == "skipped" else (judges.get(name),))
        for name, score in sorted(read_scores(text).items())
    ]
    return (*_alike(values), passed, *map(_alike, scores))


def _references() -> Iterator[tuple[Table, Table, ColumnElement[bool], str]]:
    """Each table that refers to another one, with the condition that they have in common, and what is missing."""
    for each in RUN_TABLES:
        table = each.table
        if each.parent is not None:
            column, parent = each.parent
            (key,) = parent.primary_key
            yield table, parent, column == key, str(parent.name).removesuffix("s").replace("_", " ")
        if "run_id" not in table.c:
            continue
        yield table, RUNS, table.c.run_id == RUNS.c.run_id, "run"
        if table is CASES:
            continue
        same = table.c.run_id == CASES.c.run_id
        if "case_id" in table.c:
            yield table, CASES, and_(same, table.c.case_id == CASES.c.case_id), "case"
        elif "position" in table.c:
            row = CASE_RESULTS.c
            yield table, CASE_RESULTS, and_(table.c.run_id == row.run_id, table.c.position == row.position), "result"


def _by_status(connection: Connection, table: Table, run_id: str) -> dict[str, int]:
    wanted = select(table.c.status, func.count()).where(table.c.run_id == run_id).group_by(table.c.status)
    return {status: count for status, count in connection.execute(wanted)}  # noqa: C416 - rows are not tuples
