"""CSV that spreadsheets open without reading any text as a formula, and that can be read back unchanged."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from prompt_evaluator.reports.safe_text import csv_cell, csv_original

if TYPE_CHECKING:
    from collections.abc import Iterable


def csv_line(values: Iterable[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([csv_cell(value) if isinstance(value, str) else value for value in values])
    return line.getvalue().encode()


def original_text(cell: str) -> str:
    """The text that was passed to `csv_line`."""
    return csv_original(cell)
