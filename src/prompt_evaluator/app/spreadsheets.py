"""CSV that a spreadsheet opens without taking any text for a formula, and that can be read back as it was."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""With quotes in front, too: a text that has some by itself gets one more, so that taking one away is always right."""


def csv_line(values: Iterable[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([_safe(value) for value in values])
    return line.getvalue().encode()


def original_text(cell: str) -> str:
    """The text that `csv_line` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _safe(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is kept a text."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
