"""Reads and writes label files: one label per line, as JSONL or CSV."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.labelling.fields import Fields
from prompt_evaluator.app.spreadsheets import csv_line, original_text
from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.positions import Position, stop_at_the_first
from prompt_evaluator.errors import InputError, InvalidLabelError
from prompt_evaluator.model.bounds import ATTEMPT_INDEX, SAMPLES
from prompt_evaluator.syntax.source import check_text, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.model import Label

_EXPORTED = (
    "run_id",
    "test_case_id",
    "sample_id",
    "attempt",
    "metric",
    "value",
    "reviewer",
    "created_at",
    "comment",
    "rubric_hash",
    "answer_hash",
    "probability",
    "judge_seen",
    "withdrawn",
)
_COLUMNS = (*_EXPORTED, "sample")
_CALLED = {"test_case_id": "case_id", "sample_id": "sample"}
"""Maps columns of files to the fields of a label."""
_REQUIRED = ("run_id", "test_case_id", "metric", "value")


class NoFile:
    """Where a label is from that is not from a file: its problems name only the field."""

    label = "the same request"

    def problem(self, what: str, *, advice: str, field: str | None = None, note: str = "") -> InvalidLabelError:
        what = f"{what} ({note})" if note else what
        return InvalidLabelError(what, advice=advice, field=_CALLED.get(field, field) if field else None)


class LabelLine(msgspec.Struct, frozen=True, kw_only=True):
    """A label as somebody wrote it: well formed, but not yet checked against its run."""

    where: Position | NoFile
    run_id: str
    case_id: str
    sample: int
    """Counted from 0."""
    attempt: int | None
    """None if the line does not say; it then means the attempt that counts, which is the one exports show."""
    metric: str
    value: Any
    """As written: its meaning depends on the metric."""
    reviewer: str
    created_at: str | None
    comment: str
    rubric_hash: str | None
    answer_hash: str | None
    probability: float | None
    judge_seen: bool | None
    withdrawn: bool


def read_labels(path: Path, reviewer: str | None) -> list[LabelLine]:
    """Read the labels of a file.

    Args:
        path: A `.jsonl` or `.csv` file.
        reviewer: The reviewer of lines that do not name one.

    Raises:
        InputError: The file has no labels, or a line is wrong; reports the first problem.
    """
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".csv"):
        what = f"Unsupported label file format: {path.suffix or '(none)'}. Supported formats: .jsonl, .csv"
        raise InputError(what, path=path, advice="Save the labels in one of these formats.")
    records = _csv_records(path) if suffix == ".csv" else _jsonl_records(path)
    lines = [_line(Fields(record, Position(path, number), _COLUMNS), reviewer) for number, record in records]
    if not lines:
        raise InputError("The file has no labels", path=path, advice="Add at least one.")
    return lines


def read_label(record: dict[str, Any]) -> LabelLine:
    """Read one label that is not from a file, with the names of columns.

    Raises:
        InvalidLabelError: A field is missing or wrong.
    """
    return _line(Fields(record, NoFile(), _COLUMNS), None)


def label_lines(labels: Iterable[Label], kind: str) -> Iterator[bytes]:
    """Labels as lines of a `jsonl` or `csv` file that `read_labels` can read."""
    if kind == "csv":
        yield csv_line(_EXPORTED)
    for label in labels:
        record = _record(label)
        yield csv_line(record.values()) if kind == "csv" else msgspec.json.encode(record) + b"\n"


def _line(fields: Fields, reviewer: str | None) -> LabelLine:
    case_id = fields.required("test_case_id")
    who = (fields.text("reviewer") or reviewer or "").strip()
    if not who:
        raise fields.missing("reviewer", "Add who gave the label, or pass --reviewer.")
    value = fields.get("value")
    if value is None:
        raise fields.missing("value", "Write the score, or remove the line.")
    return LabelLine(
        where=fields.where,
        run_id=fields.required("run_id"),
        case_id=case_id,
        sample=_sample(fields, case_id),
        attempt=fields.whole_number("attempt", ATTEMPT_INDEX),
        metric=fields.required("metric"),
        value=value,
        reviewer=who,
        created_at=fields.time("created_at"),
        comment=fields.text("comment") or "",
        rubric_hash=fields.hash("rubric_hash"),
        answer_hash=fields.hash("answer_hash"),
        probability=fields.probability(),
        judge_seen=fields.truth("judge_seen"),
        withdrawn=bool(fields.truth("withdrawn")),
    )


def _sample(fields: Fields, case_id: str) -> int:
    number, sample_id = fields.whole_number("sample", SAMPLES), fields.text("sample_id")
    if sample_id is not None:
        found = re.fullmatch(re.escape(case_id) + "-sample-([0-9]{1,9})", sample_id)
        if not found:
            advice = f"Write it as {_sample_id(case_id, 0)!r} for the first sample, or write sample: 1."
            raise fields.wrong("sample_id", f"{sample_id!r} is not a sample of case {case_id!r}", advice)
        if number not in (None, int(found[1])):
            raise fields.wrong("sample_id", f"{sample_id!r} is not sample {number}", "Keep the correct one.")
        number = int(found[1])
    if number is None:
        advice = f"Write sample_id, such as {_sample_id(case_id, 0)!r}, or sample, starting at 1."
        raise fields.missing("sample_id", advice)
    return number - 1


def _sample_id(case_id: str, sample: int) -> str:
    return f"{case_id}-sample-{sample + 1}"


def _record(label: Label) -> dict[str, Any]:
    places = {"test_case_id": label.case_id, "sample_id": _sample_id(label.case_id, label.sample)}
    values = {**msgspec.structs.asdict(label), **places}
    return {name: values[name] for name in _EXPORTED}


def _jsonl_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for lines, records in JsonlFile(path, stop_at_the_first).batches():
        yield from zip(lines, records, strict=True)


def _csv_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = _csv_rows(check_text(read_bytes(path), path).decode(), path)
    first, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    _check_header(names, Position(path, first))
    for number, cells in rows:
        if len(cells) > len(names):
            what = f"The line has {len(cells)} cells, but the header has {len(names)} columns"
            raise InputError(what, path=path, line=number, advice="Put texts with commas in double quotes.")
        yield number, {name: original_text(cell) for name, cell in zip(names, cells, strict=False) if name}


def _csv_rows(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Non-empty rows, each with the number of its first line: a cell may span several lines."""
    # Spreadsheets write semicolons in some locales; no column name contains any of these characters.
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        advice = "Put texts with quotes, commas or line breaks in double quotes, and double the quotes inside."
        raise InputError(f"Invalid CSV: {error}", path=path, line=number, advice=advice) from None


def _check_header(names: Sequence[str], where: Position) -> None:
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise where.problem(f"Duplicate column {twice!r}", advice="Keep one of them.")
    if absent := next((name for name in _REQUIRED if name not in names), None):
        advice = f"Name the columns on the first line: {', '.join(_REQUIRED)}, reviewer, and sample_id or sample."
        raise where.problem(f"Missing column {absent!r}", advice=advice)
