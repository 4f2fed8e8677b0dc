"""Cases that belong together."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from prompt_evaluator.model.case import TestCase


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """Ordered, checked cases and the identity of the file they came from."""

    name: str
    path: Path
    hash: str
    """SHA-256 of the file's bytes, as bare hexadecimal digits."""
    count: int
    format: str
    """The file's extension in lower case, with its dot."""
    dialect: str
    """How the cases were written. For people to read: nothing behaves differently because of it."""
    cases: Iterable[TestCase]
    """In file order. Can be gone through again and again; a long JSONL file is read anew each time."""
    description: str | None = None
