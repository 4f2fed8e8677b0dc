"""One pass over a dataset: its cases while reading, its hash and count at the end."""

from __future__ import annotations

import hashlib
import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.datasets.dialects import GUIDE
from prompt_evaluator.datasets.duplicates import IdFilter, report_duplicates
from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.positions import stop_at_the_first
from prompt_evaluator.datasets.reading import (
    ALL_FORMATS,
    changed,
    checked_format,
    document_cases,
    heading,
    jsonl_cases,
    no_cases,
    parse_document,
)
from prompt_evaluator.datasets.shared_checks import Reading
from prompt_evaluator.datasets.survey import with_count
from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.source import check_file, open_bytes, read_bytes, stem, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_evaluator.datasets.shared_checks import Inspect
    from prompt_evaluator.model import TestCase

_BLOCK = 1024 * 1024


class DatasetReader:
    """The checked cases of a file, which is read once, during iteration.

    A JSONL file is never completely in memory, so earlier cases are yielded before a problem further down is found: do
    not use any case before the last one is read. If the file grows meanwhile, cases and hash cover the part read.
    """

    def __init__(self, path: Path | str, *, inspect: Inspect | None = None) -> None:
        """Check the path; the content is read later.

        Args:
            path: The file.
            inspect: Returns a sentence for each problem with a case's metrics.

        Raises:
            InputError: The file does not exist, is not a regular file, or has an unknown extension.
        """
        self._file = Path(path)
        self.format = checked_format(self._file, ALL_FORMATS)
        check_file(self._file)
        self.path = self._file.resolve()
        self.name = stem(self._file)
        """The file's stem, until the first case is read; a YAML or JSON document may have its own name."""
        self.description: str | None = None
        self.dialect: str | None = GUIDE.name if self.format == ".jsonl" else None
        """None until a document is parsed."""
        self.count = 0
        self.hash = ""
        """SHA-256 of the bytes read; empty until the end."""
        self._reading = Reading(stop_at_the_first, strict=True, inspect=inspect)
        self._begun = False

    def __iter__(self) -> Iterator[TestCase]:
        """Iterate over the cases in file order. Can be called only once.

        Raises:
            InputError: The first problem found. A file without cases and, in JSONL, duplicate ids are found last.
        """
        if self._begun:
            raise RuntimeError("A dataset reader can be iterated only once: create another.")
        self._begun = True
        return chain.from_iterable(self._checked_blocks())

    def again(self) -> Iterable[TestCase]:
        """Read the cases again, for an error message that lists them."""
        return DatasetReader(self._file)

    def _checked_blocks(self) -> Iterator[list[TestCase]]:
        try:
            for cases in self._jsonl() if self.format == ".jsonl" else self._document():
                self.count += len(cases)
                yield cases
        except InputError as problem:
            raise with_count(problem, self._reading) from None
        if not self.count:
            raise no_cases(self._file)

    def _document(self) -> Iterator[list[TestCase]]:
        data = read_bytes(self._file)
        document = parse_document(data, self._file, self.format)
        dialect, cases = document_cases(document, self._file, self._reading)
        title, self.description = heading(document)
        self.name = title or self.name
        self.dialect, self.hash = dialect.name, hashlib.sha256(data).hexdigest()
        yield cases

    def _jsonl(self) -> Iterator[list[TestCase]]:
        file, ids = JsonlFile(self._file, stop_at_the_first), IdFilter()
        for cases in jsonl_cases(file, self._reading):
            ids.add(cases)
            yield cases
        self.hash = file.hash
        # The lines of duplicate ids were not kept, so look them up. If there are none now, the file has changed.
        if (twice := ids.repeated()) and report_duplicates(self._file, twice, stop_at_the_first) != self.hash:
            raise changed(self._file)


def file_hash(path: Path | str) -> str:
    """Return the same hash as a `DatasetReader`, without parsing the file.

    Raises:
        InputError: The file cannot be read.
    """
    path, digest = Path(path), hashlib.sha256()
    descriptor = open_bytes(path)
    try:
        while block := os.read(descriptor, _BLOCK):
            digest.update(block)
    except OSError as error:
        raise unreadable(path, error) from None
    finally:
        os.close(descriptor)
    return digest.hexdigest()
