"""Datasets that can be iterated more than once; every case is checked before the first is used."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.positions import stop_at_the_first
from prompt_evaluator.datasets.reader import DatasetReader
from prompt_evaluator.datasets.reading import LENIENT, changed, jsonl_cases
from prompt_evaluator.model import Dataset
from prompt_evaluator.syntax.source import check_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_evaluator.datasets.shared_checks import Inspect
    from prompt_evaluator.model import TestCase


def open_dataset(path: Path | str, *, inspect: Inspect | None = None) -> Dataset:
    """Check every case of a file, which must have at least one, and return the dataset.

    Args:
        path: The file.
        inspect: Returns a sentence for each problem with a case's metrics.

    Raises:
        InputError: The first problem found.
    """
    path = Path(path)
    reader = DatasetReader(path, inspect=inspect)
    cases: Iterable[TestCase] = _jsonl(path, reader) if reader.format == ".jsonl" else tuple(reader)
    return Dataset(
        name=reader.name,
        description=reader.description,
        path=reader.path,
        hash=reader.hash,
        count=reader.count,
        format=reader.format,
        dialect=reader.dialect or "",
        cases=cases,
    )


def _jsonl(path: Path, reader: DatasetReader) -> _CheckedJsonl:
    before = check_file(path)
    deque(reader, maxlen=0)
    return _CheckedJsonl(path, reader.hash, (before.st_size, before.st_mtime_ns))


class _CheckedJsonl:
    """The cases of a file that was checked before, read again on each iteration."""

    def __init__(self, path: Path, checked_hash: str, stamp: tuple[int, int]) -> None:
        self._path, self._hash, self._stamp = path, checked_hash, stamp

    def __iter__(self) -> Iterator[TestCase]:
        found = check_file(self._path)
        if (found.st_size, found.st_mtime_ns) != self._stamp:
            raise changed(self._path)
        file = JsonlFile(self._path, stop_at_the_first)
        for cases in jsonl_cases(file, LENIENT):
            yield from cases
        if file.hash != self._hash:
            raise changed(self._path)
