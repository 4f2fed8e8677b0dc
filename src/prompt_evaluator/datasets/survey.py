"""Reads a whole dataset file and collects its problems and a summary."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.datasets.dialects import GUIDE
from prompt_evaluator.datasets.duplicates import IdFilter, report_duplicates
from prompt_evaluator.datasets.fields import written_id
from prompt_evaluator.datasets.jsonl import BlockStart, JsonlFile
from prompt_evaluator.datasets.reading import (
    ALL_FORMATS,
    checked_format,
    document_cases,
    heading,
    jsonl_cases,
    no_cases,
    parse_document,
)
from prompt_evaluator.datasets.shared_checks import Reading
from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.source import read_bytes

if TYPE_CHECKING:
    from prompt_evaluator.datasets.shared_checks import Inspect

MAX_PROBLEMS = 1_000
"""How many problems of a file are kept; the rest are only counted."""


class CaseBlock(NamedTuple):
    """Where a block of a JSONL file begins, so that its cases can be read without those before it."""

    cases_before: int
    start: BlockStart


class Survey(msgspec.Struct, kw_only=True):
    """What a file contains and what is wrong with it."""

    path: Path
    format: str | None = None
    dialect: str | None = None
    title: str | None = None
    """The name inside the file, if it has one."""
    description: str | None = None
    count: int = 0
    """Cases that can be used."""
    hash: str | None = None
    fields: Counter[str] = msgspec.field(default_factory=Counter)
    """How many cases have a value in each field, by the field's name in the file."""
    problems: list[InputError] = []
    problem_count: int = 0
    blocks: list[CaseBlock] = []
    """Of a JSONL file; empty for a document."""

    @property
    def ok(self) -> bool:
        return not self.problem_count

    def add_problem(self, problem: InputError) -> None:
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def observe(self, record: dict[str, Any]) -> None:
        self.fields.update(name for name, value in record.items() if value not in (None, "", [], {}))


def survey(path: Path | str, *, inspect: Inspect | None = None) -> Survey:
    """Read a whole file and collect its problems instead of raising them.

    Args:
        path: The file.
        inspect: Returns a sentence for each problem with a case's metrics.
    """
    result = Survey(path=Path(path))
    return _surveyed(result, Reading(result.add_problem, strict=True, observe=result.observe, inspect=inspect))


def with_count(problem: InputError, reading: Reading) -> InputError:
    """Return the first problem of a file, with the number of problems if there are several.

    This reads the whole file again.

    Args:
        problem: The problem that stopped the reader; returned unchanged if it is the only one.
        reading: How strictly the file was read.
    """
    result = Survey(path=problem.path)
    _surveyed(result, replace(reading, report=result.add_problem))
    return result.problems[0].first_of(result.problem_count) if result.problem_count > 1 else problem


def _surveyed(result: Survey, reading: Reading) -> Survey:
    try:
        result.format = checked_format(result.path, ALL_FORMATS)
        if result.format == ".jsonl":
            _survey_jsonl(result, reading)
        else:
            _survey_document(result, reading)
        if not result.count and result.ok:
            result.add_problem(no_cases(result.path))
    except InputError as problem:
        result.add_problem(problem)
    result.problems.sort(key=lambda problem: problem.line or 0)
    return result


def _survey_jsonl(result: Survey, reading: Reading) -> None:
    file, ids = JsonlFile(result.path, result.add_problem), IdFilter()

    def unusable(record: dict[str, Any]) -> None:
        if (case_id := written_id(record)) is not None:
            ids.add_ids((case_id,))

    reading = replace(reading, unusable=unusable)
    result.dialect = GUIDE.name
    for cases in jsonl_cases(file, reading):
        ids.add(cases)
        result.blocks.append(CaseBlock(result.count, file.block))
        result.count += len(cases)
    result.hash = file.hash
    if twice := ids.repeated():
        report_duplicates(result.path, twice, result.add_problem)


def _survey_document(result: Survey, reading: Reading) -> None:
    data = read_bytes(result.path)
    result.hash = hashlib.sha256(data).hexdigest()
    document = parse_document(data, result.path, result.format or "")
    result.title, result.description = heading(document)
    dialect, cases = document_cases(document, result.path, reading)
    result.dialect, result.count = dialect.name, len(cases)
