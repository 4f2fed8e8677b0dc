"""Reads and writes label files: one label per line, as JSONL or CSV."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from prompt_evaluator.app.clock import as_text
from prompt_evaluator.app.labelling.checks import NewLabel
from prompt_evaluator.app.spreadsheets import csv_line, original_text
from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.positions import stop_at_the_first
from prompt_evaluator.errors import InputError, InvalidLabelError
from prompt_evaluator.model.bounds import ATTEMPT_INDEX, PROBABILITY, SAMPLES
from prompt_evaluator.syntax.source import check_text, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
_FIELD = re.compile(r"(?:at `\$\.|field `)(\w+)`")


class LabelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file. Other fields are ignored: a file may have its own, such as the answer."""

    run_id: str
    test_case_id: str
    metric: str
    value: float | bool | str
    """As written: its meaning depends on the metric."""
    sample_id: str | None = None
    sample: Annotated[int, SAMPLES.meta] | None = None
    """Starts at 1; either this or `sample_id` is there."""
    attempt: Annotated[int, ATTEMPT_INDEX.meta] | None = None
    reviewer: str = ""
    created_at: str | None = None
    comment: str = ""
    rubric_hash: str | None = None
    answer_hash: str | None = None
    probability: Annotated[float, PROBABILITY.meta] | None = None
    judge_seen: bool | None = None
    withdrawn: bool = False


def read_labels(path: Path, reviewer: str | None) -> list[tuple[int, NewLabel]]:
    """Read the labels of a file, each with its line.

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
    labels = []
    for line, record in _csv_records(path) if suffix == ".csv" else _jsonl_records(path):
        try:
            labels.append((line, _label(record, (reviewer or "").strip())))
        except InvalidLabelError as error:
            raise InputError(error.what, advice=error.advice, path=path, line=line, field=error.field) from None
    if not labels:
        raise InputError("The file has no labels", path=path, advice="Add at least one.")
    return labels


def label_lines(labels: Iterable[Label], kind: str) -> Iterator[bytes]:
    """Labels as lines of a `jsonl` or `csv` file that `read_labels` can read."""
    if kind == "csv":
        yield csv_line(_EXPORTED)
    for label in labels:
        names = {"test_case_id": label.case_id, "sample_id": _sample_id(label.case_id, label.sample)}
        values = {**msgspec.structs.asdict(label), **names}
        record = {name: values[name] for name in _EXPORTED}
        yield csv_line(record.values()) if kind == "csv" else msgspec.json.encode(record) + b"\n"


def _label(record: dict[str, Any], reviewer: str) -> NewLabel:
    given = {name: value for name, value in record.items() if not _is_empty(value)}
    try:
        row = msgspec.convert(given, LabelRow, strict=False)
    except msgspec.ValidationError as error:
        found = _FIELD.search(str(error))
        field = found[1] if found else "run_id"
        if field not in given:
            raise InvalidLabelError(f"The label has no {field}", advice="Add it.", field=field) from None
        what = f"{field} cannot be {str(record[field])[:40]!r}"
        raise InvalidLabelError(what, advice="Correct it.", field=field) from None
    if not (row.reviewer or reviewer):
        advice = "Add who gave the label, or pass --reviewer."
        raise InvalidLabelError("The label has no reviewer", advice=advice, field="reviewer")
    return NewLabel(
        run_id=row.run_id,
        case_id=row.test_case_id,
        sample=_sample(row),
        attempt=row.attempt,
        metric=row.metric,
        value=row.value,
        reviewer=row.reviewer or reviewer,
        created_at=_in_utc(row.created_at) if row.created_at else None,
        comment=row.comment,
        rubric_hash=_digits(row.rubric_hash),
        answer_hash=_digits(row.answer_hash),
        probability=row.probability,
        judge_seen=row.judge_seen,
        withdrawn=row.withdrawn,
    )


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _sample(row: LabelRow) -> int:
    if row.sample is None and row.sample_id is None:
        advice = f"Write sample_id, such as {_sample_id(row.test_case_id, 0)!r}, or sample, starting at 1."
        raise InvalidLabelError("The label has no sample_id", advice=advice, field="sample_id")
    if row.sample_id is None:
        return (row.sample or 0) - 1
    case_id, _, number = row.sample_id.rpartition("-sample-")
    at = int(number) - 1 if re.fullmatch("[0-9]{1,9}", number) else None
    if at is None or case_id != row.test_case_id or row.sample not in (None, at + 1):
        which = f"sample {row.sample} of " if row.sample else "a sample of "
        what = f"sample_id {row.sample_id!r} is not {which}case {row.test_case_id!r}"
        advice = f"The first sample is {_sample_id(row.test_case_id, 0)!r}."
        raise InvalidLabelError(what, advice=advice, field="sample_id")
    return at


def _sample_id(case_id: str, sample: int) -> str:
    return f"{case_id}-sample-{sample + 1}"


def _digits(given: str | None) -> str | None:
    """The bare digits of a hash, without the prefix `sha256:` that artifacts have."""
    return given.strip().lower().removeprefix("sha256:") if given else None


def _in_utc(text: str) -> str:
    try:
        found = datetime.fromisoformat(text.strip())
        in_utc = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        advice = "Write it as 2026-01-31T12:00:00Z, or leave it out."
        raise InvalidLabelError(f"created_at cannot be {text[:40]!r}", advice=advice, field="created_at") from None
    return as_text(in_utc)


def _jsonl_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for lines, records in JsonlFile(path, stop_at_the_first).batches():
        yield from zip(lines, records, strict=True)


def _csv_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows, each with the number of its first line: a cell may span several lines."""
    text = check_text(read_bytes(path), path).decode()
    # Spreadsheets write semicolons in some locales; no column name contains any of these characters.
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] = []
    line = 1
    try:
        for cells in reader:
            if len(cells) > len(names) and names:
                what = f"The line has {len(cells)} cells, but the header has {len(names)} columns"
                raise InputError(what, path=path, line=line, advice="Put texts with commas in double quotes.")
            if not names:
                names = [name.strip() for name in cells]
                if twice := next((name for name in names if name and names.count(name) > 1), None):
                    raise InputError(f"Duplicate column {twice!r}", path=path, line=line, advice="Keep one of them.")
            elif any(cell.strip() for cell in cells):
                yield line, {name: original_text(cell) for name, cell in zip(names, cells, strict=False) if name}
            line = reader.line_num + 1
    except csv.Error as error:
        advice = "Put texts with quotes, commas or line breaks in double quotes, and double the quotes inside."
        raise InputError(f"Invalid CSV: {error}", path=path, line=line, advice=advice) from None
