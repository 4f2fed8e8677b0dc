"""Turns the content of a file into cases, for all readers, strict or lenient."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

from prompt_evaluator.datasets.dialects import GUIDE, recognise
from prompt_evaluator.datasets.dialects.guide import quick_case
from prompt_evaluator.datasets.fields import mappings, written_id
from prompt_evaluator.datasets.positions import Position, duplicate, stop_at_the_first
from prompt_evaluator.datasets.shared_checks import Reading, SharedChecks, read_shared_checks
from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.jsontext import parse_json
from prompt_evaluator.syntax.source import absolute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.datasets.dialects.dialect import Dialect
    from prompt_evaluator.datasets.jsonl import JsonlFile
    from prompt_evaluator.model import TestCase
    from prompt_evaluator.syntax.document import Document

GUIDE_FORMATS = (".jsonl", ".yaml", ".yml")
ALL_FORMATS = (*GUIDE_FORMATS, ".json")
LENIENT = Reading(stop_at_the_first)
"""As the format guide specifies: fields that do not have our structure are the author's own."""


def checked_format(path: Path, supported: tuple[str, ...]) -> str:
    """Return the extension in lower case. Raise if it is not supported, whether or not the file exists."""
    file_format = path.suffix.lower()
    if file_format in supported:
        return file_format
    what = f"Unsupported dataset file format: {path.suffix or '(none)'}. Supported formats: {', '.join(GUIDE_FORMATS)}"
    raise InputError(what, path=path, advice="Release-harness task lists are read from .json by commands.")


def no_cases(path: Path) -> InputError:
    return InputError("The dataset has no cases", path=path, advice="Add at least one case.")


def changed(path: Path) -> InputError:
    return InputError("The dataset changed while it was in use", path=path, advice="Start again.")


def jsonl_cases(file: JsonlFile, reading: Reading) -> Iterator[list[TestCase]]:
    """Yield the cases of a JSONL file, a block at a time. Callers must look for duplicate ids."""
    nothing_shared = SharedChecks(reading)
    for lines, records in file.batches():
        if reading.observe:
            for record in records:
                reading.observe(record)
        name = absolute(file.path)
        cases = list(map(quick_case, records, repeat(name), lines))
        if all(cases):  # true of most blocks; nothing more to do per case
            yield cast("list[TestCase]", cases)
            continue
        for position, case in enumerate(cases):
            if case is None:
                where = Position(file.path, lines[position], file=name)
                cases[position] = _case(GUIDE, records[position], where, nothing_shared)
                if cases[position] is None and reading.unusable:
                    reading.unusable(records[position])
        yield [case for case in cases if case is not None]


def document_cases(document: Document, path: Path, reading: Reading) -> tuple[Dialect, list[TestCase]]:
    """Return the dialect that claims a parsed file, and all its cases."""
    dialect = recognise(document, path)
    shared = read_shared_checks(document, path, reading)
    cases = []
    first: dict[str, Position] = {}
    for where, record in mappings(dialect.items(document.root), document, path, reading.report):
        if reading.observe:
            reading.observe(record)
        case = _case(dialect, record, where, shared)
        case_id = case.id if case else written_id(record)  # an unusable case takes its id too
        if case_id is not None and (earlier := first.setdefault(case_id, where)) is not where:
            reading.report(duplicate(case_id, where, earlier))
        if case:
            cases.append(case)
    return dialect, cases


def heading(document: Document) -> tuple[str | None, str | None]:
    """Return the name and the description written at the top of a parsed file."""
    root = document.root if isinstance(document.root, dict) else {}
    name, description = (root.get(key) for key in ("name", "description"))
    return _full_text(name), _full_text(description)


def _full_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _case(dialect: Dialect, record: dict[str, Any], where: Position, shared: SharedChecks) -> TestCase | None:
    case = dialect.case(record, where, shared.reading.report, strict=shared.reading.strict)
    return shared.add_to(case, where) if case else None


def parse_document(data: bytes, path: Path, file_format: str) -> Document:
    if file_format == ".json":
        return parse_json(data, path)
    from prompt_evaluator.syntax.yamltext import parse_yaml  # noqa: PLC0415 - not needed for JSONL

    return parse_yaml(data, path)
