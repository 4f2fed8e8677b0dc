"""A dataset: the cases of one file."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from prompt_evaluator.model.case import TestCase


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """Ordered, validated cases and the identity of their file."""

    name: str
    path: Path
    hash: str
    """SHA-256 of the file's bytes, as bare hexadecimal digits."""
    count: int
    format: str
    """The file's extension in lower case, with the dot."""
    dialect: str
    """The format the cases were written in. For display only."""
    cases: Iterable[TestCase]
    """In file order. Can be iterated repeatedly; a long JSONL file is read again each time."""
    description: str | None = None
