"""Positions of cases in a file, and errors about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Report = Callable[[InputError], None]
"""Called with each problem. Loading raises it; a survey collects it and continues."""


def stop_at_the_first(problem: InputError) -> NoReturn:
    """A `Report` that raises."""
    raise problem


@dataclass(frozen=True, slots=True)
class Position:
    """A case's position in its file."""

    path: Path
    line: int | None
    index: int | None = None
    """Set if cases are items of a list; None for JSONL, where the line identifies a case."""
    field_lines: Mapping[str | int, int] = field(default_factory=dict)
    file: str | None = None
    """The absolute path, for `TestCase.file`; None for cases that did not come from a file."""

    @property
    def label(self) -> str:
        """The position, worded as in the format guide."""
        return f"line {self.line}" if self.index is None else f"index {self.index}"

    def problem(self, what: str, *, advice: str, field: str | None = None, note: str = "") -> InputError:
        line = self.field_lines.get(field, self.line) if field else self.line
        return InputError(what, path=self.path, advice=advice, line=line, index=self.index, field=field, note=note)

    def missing(self, field: str, advice: str, *, instead: str | None = None, note: str = "") -> InputError:
        """Return an error about a missing field. `instead` is the field that was probably written by mistake."""
        what = f"Record at {self.label} is missing required field: {field}"
        return self.problem(what, advice=advice, field=instead or field, note=note)

    def invalid(self, field: str, why: str, advice: str) -> InputError:
        what = f"Invalid test case at {self.label}: {field} field validation failed: {why}"
        return self.problem(what, advice=advice, field=field)


def duplicate(case_id: str, where: Position, first: Position) -> InputError:
    place = first.label if first.line is None or first.index is None else f"{first.label}, line {first.line}"
    return where.problem(
        f"Duplicate test case ID '{case_id}' found at {where.label}",
        note=f"first at {place}",
        advice="Give each case its own id.",
        field="id",
    )
