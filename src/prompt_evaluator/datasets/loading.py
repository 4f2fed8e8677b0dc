"""`load_dataset`, exactly as the format guide specifies it."""

from __future__ import annotations

import gc
import hashlib
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.datasets.duplicates import report_duplicates
from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.positions import stop_at_the_first
from prompt_evaluator.datasets.reading import (
    GUIDE_FORMATS,
    LENIENT,
    checked_format,
    document_cases,
    jsonl_cases,
    parse_document,
)
from prompt_evaluator.datasets.survey import with_count
from prompt_evaluator.errors import InputError, InputNotFoundError
from prompt_evaluator.syntax.source import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model import TestCase


def load_dataset(dataset_path: Path | str) -> tuple[list[TestCase], dict[str, str | int]]:
    """Read and check every case of a `.jsonl`, `.yaml` or `.yml` file.

    Returns:
        The cases in file order, and a dictionary with the file's absolute `path`, the SHA-256 `hash` of its bytes,
        the `count` of its cases and its `format` (the extension).

    Raises:
        InputError: A `ValueError` with the first problem found: where, what is wrong, and what to do.
        InputNotFoundError: The file is missing; also a `FileNotFoundError`.
    """
    path = Path(dataset_path)
    file_format = checked_format(path, GUIDE_FORMATS)
    with _collector_paused():
        try:
            cases, digest = _load_jsonl(path) if file_format == ".jsonl" else _load_document(path, file_format)
        except InputNotFoundError:
            raise
        except InputError as problem:
            raise with_count(problem, LENIENT) from None
        return cases, {"path": str(path.resolve()), "hash": digest, "count": len(cases), "format": file_format}


def _load_jsonl(path: Path) -> tuple[list[TestCase], str]:
    file = JsonlFile(path, stop_at_the_first)
    cases = list(chain.from_iterable(jsonl_cases(file, LENIENT)))
    if len({case.id for case in cases}) != len(cases):
        report_duplicates(path, {case.id for case in cases}, stop_at_the_first)
    return cases, file.hash


def _load_document(path: Path, file_format: str) -> tuple[list[TestCase], str]:
    data = read_bytes(path)
    _, cases = document_cases(parse_document(data, path, file_format), path, LENIENT)
    return cases, hashlib.sha256(data).hexdigest()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause garbage collection: loading creates no garbage, and repeated collections would double its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
