"""CSV that spreadsheets open without reading any text as a formula, and that can be read back unchanged."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""Also with leading quotes: a text that already has some gets one more, so that removing one is always right."""


def csv_line(values: Iterable[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([_safe(value) for value in values])
    return line.getvalue().encode()


def original_text(cell: str) -> str:
    """The text that was passed to `csv_line`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _safe(value: Any) -> Any:
    """Quote a text that a spreadsheet would read as a formula."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
