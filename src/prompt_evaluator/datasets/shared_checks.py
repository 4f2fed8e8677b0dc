"""The metrics that a whole file asks for, and a look at what each of its cases asks for in the end."""

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
"""Sees each case as it was written, before anything is made of it."""
Inspect = Callable[[TestCase], Iterable[str]]
"""Looks at what a case asks for, and has a sentence for everything that is wrong with it."""
_LIST = "`prompt-evaluator metrics` lists all metrics and their options."


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read."""

    report: Report
    strict: bool = False
    """Whether a field that looks like ours but cannot be used is a problem. `load_dataset` promises that it is not."""
    observe: Observe | None = None
    inspect: Inspect | None = None
    """For cases that ask for metrics, which only others know."""
    unusable: Observe | None = None
    """Sees each record that no case could be made of, after its problems were reported."""


@dataclass(slots=True)
class SharedChecks:
    """What a file asks for on behalf of all its cases. Its problems are reported once, at its own line."""

    reading: Reading
    uses: tuple[MetricUse, ...] = ()
    where: Position | None = None
    problems: dict[str, bool] = field(default_factory=dict)
    """What is wrong with the shared uses taken alone, and whether it has been reported."""

    def add_to(self, case: TestCase, where: Position) -> TestCase | None:
        """The case with what it asks for in the end; None after reporting why it cannot be used."""
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
    """`checks` beside the list of cases, where the file is a mapping."""
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
