"""What a dataset file contains, read again only when the file changes."""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.datasets import CaseBlock, survey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prompt_evaluator.datasets import Survey
    from prompt_evaluator.errors import InputError
    from prompt_evaluator.model import TestCase

_MOST_FILES = 1_000
_CODE = ("python:", "command:")
_SETTLED = 1_000_000_000
"""Nanoseconds. A file may be written twice within one tick of its file system's clock; ticks are shorter than this."""


class DatasetProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem of a file, as `validate` says it, without the file."""

    line: int | None
    field: str | None
    what: str
    advice: str
    """How to fix it; empty if there is nothing to add."""


class DatasetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of one file."""

    title: str | None = None
    """The `name:` written inside the file."""
    description: str | None = None
    count: int = 0
    hash: str | None = None
    error: str | None = None
    """The file's first problem; it cannot be used."""
    dialect: str | None = None
    fields: dict[str, int] = {}
    """How many cases have a value in each field, in the order of the file."""
    problem_count: int = 0
    problems: tuple[DatasetProblem, ...] = ()
    """The first thousand, by line."""
    blocks: tuple[CaseBlock, ...] = ()
    """Where cases of a JSONL file can be read from; empty for a document."""


def read_facts(path: Path) -> DatasetFacts:
    """Read the whole file."""
    return _facts(survey(path))


def read_checked_facts(path: Path) -> DatasetFacts:
    """The same, with problems of metrics that cases ask for, as `validate` finds them."""
    return _facts(survey(path, inspect=problems_without_code))


def problems_without_code(case: TestCase) -> Iterator[str]:
    """Yield a sentence for each metric that cannot be used. A user's own code is not loaded for that."""
    from prompt_evaluator.app.planning.case_checks import problems_with_uses  # noqa: PLC0415 - imports the metrics

    uses = tuple(use for use in case.checks if not use.metric.startswith(_CODE))
    if uses:
        yield from problems_with_uses(msgspec.structs.replace(case, checks=uses))


def _facts(found: Survey) -> DatasetFacts:
    return DatasetFacts(
        title=_storable(found.title),
        description=_storable(found.description),
        count=found.count,
        hash=found.hash,
        error=None if found.ok else _storable(str(found.problems[0].first_of(found.problem_count))),
        dialect=found.dialect,
        fields={_storable(name) or "": count for name, count in found.fields.items()},
        problem_count=found.problem_count,
        problems=tuple(map(_problem, found.problems)),
        blocks=tuple(found.blocks),
    )


def _problem(found: InputError) -> DatasetProblem:
    what = f"{found.what} ({found.note})" if found.note else found.what
    return DatasetProblem(
        line=found.line,
        field=_storable(found.field),
        what=_storable(what) or "",
        advice=_storable(found.advice) or "",
    )


class DatasetFactsCache:
    """Facts of files for a process that lives long. Thread-safe: a file is read by one thread while others wait."""

    def __init__(
        self,
        read: Callable[[Path], DatasetFacts] = read_facts,
        *,
        most: int = _MOST_FILES,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        """Start empty.

        Args:
            read: Reads a file.
            most: How many files are remembered; the least recently used are forgotten.
            now: The time in nanoseconds since the epoch.
        """
        self._read, self._most, self._now = read, most, now
        self._lock = Lock()
        self._entries: OrderedDict[Path, _Entry] = OrderedDict()

    def __call__(self, path: Path) -> DatasetFacts:
        """Return the facts of a file as it is now."""
        try:
            found = path.stat()
        except OSError:  # reading it says why
            return self._read(path)
        entry = self._entry(path, (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev))
        with entry.lock:
            if entry.facts is None:
                began = self._now()
                facts = self._read(path)
                if began - max(found.st_mtime_ns, found.st_ctime_ns) < _SETTLED:
                    return facts
                entry.facts = facts
            return entry.facts

    def __len__(self) -> int:
        return len(self._entries)

    def _entry(self, path: Path, stamp: tuple[int, ...]) -> _Entry:
        with self._lock:
            entry = self._entries.get(path)
            if entry is None or entry.stamp != stamp:
                entry = self._entries[path] = _Entry(stamp)
            self._entries.move_to_end(path)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
            return entry


class _Entry:
    """The facts of one version of a file; None until they are read."""

    def __init__(self, stamp: tuple[int, ...]) -> None:
        self.stamp, self.lock = stamp, Lock()
        self.facts: DatasetFacts | None = None


def _storable(text: str | None) -> str | None:
    """Replace what cannot be encoded: paths and files may contain it."""
    return text and text.encode(errors="surrogatepass").decode(errors="replace")
