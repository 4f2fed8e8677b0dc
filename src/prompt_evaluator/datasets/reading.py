"""Datasets for those who run them: every case checked before the first is used, and long files never held whole."""

from __future__ import annotations

import hashlib
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from prompt_evaluator.datasets.dialects import GUIDE, recognise
from prompt_evaluator.datasets.dialects.guide import quick_case
from prompt_evaluator.datasets.duplicates import IdFilter, report_duplicates
from prompt_evaluator.datasets.fields import mappings
from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.positions import Position, duplicate, stop_at_the_first
from prompt_evaluator.datasets.shared_checks import Reading, SharedChecks, read_shared_checks
from prompt_evaluator.errors import InputError
from prompt_evaluator.model import Dataset, TestCase
from prompt_evaluator.syntax.jsontext import parse_json
from prompt_evaluator.syntax.source import absolute, check_file, read_bytes, stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.datasets.dialects.dialect import Dialect
    from prompt_evaluator.datasets.shared_checks import Inspect
    from prompt_evaluator.syntax.document import Document

GUIDE_FORMATS = (".jsonl", ".yaml", ".yml")
ALL_FORMATS = (*GUIDE_FORMATS, ".json")
LENIENT = Reading(stop_at_the_first)
"""As the format guide promises: whatever does not have our shape is the author's own."""


def open_dataset(path: Path | str, *, inspect: Inspect | None = None) -> Dataset:
    """A dataset whose every case has been checked, and which has at least one.

    Args:
        path: The file.
        inspect: Has a sentence for everything that is wrong with the metrics that a case asks for.

    Raises:
        InputError: The first problem found.
    """
    path = Path(path)
    file_format = checked_format(path, ALL_FORMATS)
    reading = Reading(stop_at_the_first, strict=True, inspect=inspect)
    dataset = _open_jsonl(path, reading) if file_format == ".jsonl" else _open_document(path, file_format, reading)
    if not dataset.count:
        raise no_cases(path)
    return dataset


def checked_format(path: Path, supported: tuple[str, ...]) -> str:
    """The extension in lower case. It is judged first, whether the file is there or not."""
    file_format = path.suffix.lower()
    if file_format in supported:
        return file_format
    what = f"Unsupported dataset file format: {path.suffix or '(none)'}. Supported formats: {', '.join(GUIDE_FORMATS)}"
    raise InputError(what, path=path, advice="Release-harness task lists are read from .json by commands.")


def no_cases(path: Path) -> InputError:
    return InputError("The dataset has no cases", path=path, advice="Add at least one case.")


def jsonl_cases(file: JsonlFile, reading: Reading) -> Iterator[list[TestCase]]:
    """The cases of one pass over a JSONL file, a block at a time; equal ids are the caller's to find."""
    nothing_shared = SharedChecks(reading)
    for lines, records in file.batches():
        if reading.observe:
            for record in records:
                reading.observe(record)
        name = absolute(file.path)
        cases = list(map(quick_case, records, repeat(name), lines))
        if all(cases):  # most blocks: nothing more is done per case
            yield cast("list[TestCase]", cases)
            continue
        for position, case in enumerate(cases):
            if case is None:
                where = Position(file.path, lines[position], file=name)
                cases[position] = _case(GUIDE, records[position], where, nothing_shared)
        yield [case for case in cases if case is not None]


def document_cases(document: Document, path: Path, reading: Reading) -> tuple[Dialect, list[TestCase]]:
    """All cases of a parsed file, with the dialect that claimed it."""
    dialect = recognise(document.root, path)
    shared = read_shared_checks(document, path, reading)
    cases = []
    first: dict[str, Position] = {}
    for where, record in mappings(dialect.items(document.root), document, path, reading.report):
        if reading.observe:
            reading.observe(record)
        if case := _case(dialect, record, where, shared):
            if (earlier := first.setdefault(case.id, where)) is not where:
                reading.report(duplicate(case.id, where, earlier))
            cases.append(case)
    return dialect, cases


def _case(dialect: Dialect, record: dict[str, Any], where: Position, shared: SharedChecks) -> TestCase | None:
    case = dialect.case(record, where, shared.reading.report, strict=shared.reading.strict)
    return shared.add_to(case, where) if case else None


def parse_document(data: bytes, path: Path, file_format: str) -> Document:
    if file_format == ".json":
        return parse_json(data, path)
    from prompt_evaluator.syntax.yamltext import parse_yaml  # noqa: PLC0415 - JSONL users never pay for YAML

    return parse_yaml(data, path)


def _open_document(path: Path, file_format: str, reading: Reading) -> Dataset:
    data = read_bytes(path)
    document = parse_document(data, path, file_format)
    dialect, cases = document_cases(document, path, reading)
    header = document.root if isinstance(document.root, dict) else {}
    return Dataset(
        name=_text(header.get("name")) or stem(path),
        description=_text(header.get("description")),
        path=path.resolve(),
        hash=hashlib.sha256(data).hexdigest(),
        count=len(cases),
        format=file_format,
        dialect=dialect.name,
        cases=tuple(cases),
    )


def _open_jsonl(path: Path, reading: Reading) -> Dataset:
    before = check_file(path)
    file, ids, count = JsonlFile(path, stop_at_the_first), IdFilter(), 0
    for cases in jsonl_cases(file, reading):
        ids.add(cases)
        count += len(cases)
    if ids.suspects:
        report_duplicates(path, ids.suspects, stop_at_the_first)
    return Dataset(
        name=stem(path),
        path=path.resolve(),
        hash=file.hash,
        count=count,
        format=".jsonl",
        dialect=GUIDE.name,
        cases=_CheckedJsonl(path, file.hash, (before.st_size, before.st_mtime_ns)),
    )


class _CheckedJsonl:
    """The cases of a file that was checked before, read anew each time."""

    def __init__(self, path: Path, checked_hash: str, stamp: tuple[int, int]) -> None:
        self._path, self._hash, self._stamp = path, checked_hash, stamp

    def __iter__(self) -> Iterator[TestCase]:
        found = check_file(self._path)
        if (found.st_size, found.st_mtime_ns) != self._stamp:
            raise self._changed()
        file = JsonlFile(self._path, stop_at_the_first)
        for cases in jsonl_cases(file, LENIENT):
            yield from cases
        if file.hash != self._hash:
            raise self._changed()

    def _changed(self) -> InputError:
        return InputError("The dataset changed while it was in use", path=self._path, advice="Start again.")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
