"""A table is safe to open and can be read back unchanged."""

from __future__ import annotations

import csv
import io

from entries import each
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.app.spreadsheets import csv_line, original_text

TEXTS = st.lists(st.text(st.sampled_from("'=+-@\t\r\n,\"; aü☕"), max_size=8), min_size=1, max_size=4)


def cells(line: bytes) -> list[str]:
    (row,) = csv.reader(io.StringIO(line.decode(), newline=""), strict=True)
    return row


@given(TEXTS)
def test_no_cell_is_a_formula_and_every_text_comes_back(texts: list[str]) -> None:
    read = cells(csv_line(texts))

    assert not any(cell.startswith(tuple("=+-@\t\r")) for cell in read)
    assert [original_text(cell) for cell in read] == texts


@each("text", ["'tis so", "'", "it's -1", "plain"])
def test_a_quote_that_hides_no_formula_is_left_alone(text: str) -> None:
    assert cells(csv_line([text])) == [text]
    assert original_text(text) == text


def test_numbers_stay_numbers() -> None:
    assert csv_line([-1.5, 0, True, None]) == b"-1.5,0,True,\r\n"
