"""Metrics for all cases of a file, and the inspection of each case's metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from prompt_evaluator.datasets.optional_fields import CHECKS_ADVICE
from prompt_evaluator.datasets.positions import Position, Report
from prompt_evaluator.model import MetricUse, TestCase, merged_uses
from prompt_evaluator.syntax.metric_uses import is_meant_as_uses, parse_uses

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.errors import InputError
    from prompt_evaluator.syntax.document import Document

Observe = Callable[[dict[str, Any]], None]
"""Called with each case as written."""
Inspect = Callable[[TestCase], Iterable[str]]
"""Returns a sentence for each problem with a case's metrics."""
_LIST = "`prompt-evaluator list metrics` lists all metrics and their options."


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read."""

    report: Report
    strict: bool = False
    """Whether to report a field that looks like ours but cannot be used. `load_dataset` must not."""
    observe: Observe | None = None
    inspect: Inspect | None = None
    """Called with cases that have `checks`; metrics are not known here."""
    unusable: Observe | None = None
    """Called with each record that cannot be used, after its problems are reported."""


@dataclass(slots=True)
class SharedChecks:
    """Metrics for all cases of a file. Their problems are reported once, at their own line."""

    reading: Reading
    uses: tuple[MetricUse, ...] = ()
    where: Position | None = None
    problems: dict[str, bool] = field(default_factory=dict)
    """Problems with the shared uses alone, and whether each has been reported."""

    def add_to(self, case: TestCase, where: Position) -> TestCase | None:
        """Return the case with the shared uses added; None after reporting why it cannot be used."""
        try:
            whole = structs.replace(case, checks=merged_uses(self.uses, case.checks)) if self.uses else case
        except ValueError as error:
            if not self.reading.strict:
                return case
            self.reading.report(where.invalid("checks", str(error), CHECKS_ADVICE))
            return None
        return whole if self._inspected(whole, where) else None

    def _inspected(self, case: TestCase, where: Position) -> bool:
        inspect = self.reading.inspect
        fine = True
        for sentence in inspect(case) if inspect and case.checks else ():
            if sentence in self.problems:
                self._report_once(sentence)
            else:
                self.reading.report(where.invalid("checks", sentence.rstrip("."), _LIST))
                fine = False
        return fine

    def _report_once(self, sentence: str) -> None:
        if not self.problems[sentence] and self.where:
            self.problems[sentence] = True
            self.reading.report(_invalid(self.where, sentence.rstrip("."), _LIST))


def read_shared_checks(document: Document, path: Path, reading: Reading) -> SharedChecks:
    """Read `checks` next to the list of cases, if the file is a mapping."""
    root = document.root
    if not isinstance(root, dict) or "checks" not in root:
        return SharedChecks(reading)
    where = Position(path, None, field_lines=document.places.get(id(root), {}))
    try:
        uses = parse_uses(root["checks"])
    except ValueError as error:
        if reading.strict and is_meant_as_uses(root["checks"]):
            reading.report(_invalid(where, str(error), CHECKS_ADVICE))
        return SharedChecks(reading)
    alone = TestCase(id="", input="", checks=uses)
    problems = dict.fromkeys(reading.inspect(alone), False) if reading.inspect else {}
    return SharedChecks(reading, uses, where, problems)


def _invalid(where: Position, why: str, advice: str) -> InputError:
    return where.problem(f"Invalid checks of the dataset: {why}", advice=advice, field="checks")
